//! A change, split by file into parts that fit into a prompt.

use std::{collections::BTreeMap, fmt::Write as _, ops::RangeInclusive};

use crate::Place;

/// The most of a change that is put to a reviewer at once, in bytes.
pub const PART: usize = 24_000;
/// The most parts of a review. What is larger is for a person to split or to review.
pub const MOST_PARTS: usize = 24;

/// Names of files that programs write: they are named to a reviewer, not shown.
const GENERATED: [&str; 14] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "bun.lock",
    "composer.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

/// Lines of files, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines(BTreeMap<String, Vec<RangeInclusive<u64>>>);

impl Lines {
    /// Tells whether a place is among them; a whole file is if any line of it is.
    pub fn has(&self, place: &Place) -> bool {
        let Some(ranges) = self.0.get(&place.path) else { return false };
        match place.lines {
            None => true,
            Some((first, last)) => ranges.iter().any(|range| *range.start() <= last && first <= *range.end()),
        }
    }

    /// Returns the lines that are in both.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        let shared = |path: &String, ranges: &Vec<RangeInclusive<u64>>| {
            let theirs = other.0.get(path)?;
            let both = ranges.iter().flat_map(|mine| {
                let shared = |its: &RangeInclusive<u64>| {
                    (*mine.start()).max(*its.start())..=(*mine.end()).min(*its.end())
                };
                theirs.iter().map(shared).filter(|range| !range.is_empty())
            });
            let both: Vec<_> = both.collect();
            (!both.is_empty()).then(|| (path.clone(), both))
        };
        Self(self.0.iter().filter_map(|(path, ranges)| shared(path, ranges)).collect())
    }
}

/// One file of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Its path after the change; of a removed file, that before.
    pub path: String,
    /// Whether git shows no lines of it.
    pub is_binary: bool,
    /// What stands before the first hunk.
    header: String,
    hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Hunk {
    old: u64,
    new: u64,
    /// What stands behind the second `@@`.
    about: String,
    /// The lines, each with its sign.
    lines: Vec<String>,
}

impl Hunk {
    /// Returns the lines of the file after the change that the hunk shows. One that only removes stands between two.
    fn range(&self) -> RangeInclusive<u64> {
        let count = self.lines.iter().filter(|line| line.starts_with(['+', ' '])).count() as u64;
        if count == 0 { self.new..=self.new + 1 } else { self.new..=self.new + count - 1 }
    }
}

impl FileDiff {
    /// Returns all of its text.
    fn len(&self) -> usize {
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        self.header.len() + lines.map(|line| line.len() + 1).sum::<usize>() + 40 * self.hunks.len()
    }
}

/// Tells whether a file is one that programs write, by its name.
pub fn is_generated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    GENERATED.contains(&name)
        || [".min.js", ".min.css", ".js.map", ".css.map"].iter().any(|end| name.ends_with(end))
}

/// Reads what `git diff` prints with the prefixes `a/` and `b/`.
pub fn parse(diff: &str) -> Vec<FileDiff> {
    let mut files: Vec<FileDiff> = Vec::new();
    // How many lines of the present hunk are still to come, before and after the change: only they tell a removed
    // line `-- x` from the header `--- x`.
    let mut open = (0, 0);
    for line in diff.split('\n') {
        if open != (0, 0) || line.starts_with('\\') {
            let Some(hunk) = files.last_mut().and_then(|file| file.hunks.last_mut()) else { continue };
            match line.as_bytes().first() {
                Some(b'+') => open.1 -= 1.min(open.1),
                Some(b'-') => open.0 -= 1.min(open.0),
                Some(b'\\') => {}
                // git prints an empty line of context as a blank, and some print nothing.
                Some(_) | None => open = (open.0 - 1.min(open.0), open.1 - 1.min(open.1)),
            }
            hunk.lines.push(if line.is_empty() { " ".to_owned() } else { line.to_owned() });
            continue;
        }
        if let Some(names) = line.strip_prefix("diff --git ") {
            files.push(FileDiff { path: path_of(names), ..FileDiff::default() });
        }
        let Some(file) = files.last_mut() else { continue };
        if let Some((old, new, about)) = line.strip_prefix("@@ -").and_then(hunk_header) {
            open = (old.1, new.1);
            file.hunks.push(Hunk { old: old.0, new: new.0, about, lines: Vec::new() });
            continue;
        }
        if line.is_empty() {
            continue;
        }
        file.is_binary |= line.starts_with("Binary files ") || line.starts_with("GIT binary patch");
        if let Some(path) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("rename to ")) {
            let path = unquoted(path);
            let path = path.strip_prefix("b/").unwrap_or(&path);
            if path != "/dev/null" {
                file.path = path.to_owned();
            }
        }
        file.header.push_str(line);
        file.header.push('\n');
    }
    files
}

/// Reads `1,2 +3,4 @@ fn x`: where a hunk begins and how long it is, before and after.
#[expect(clippy::type_complexity, reason = "two pairs of numbers, and a text")]
fn hunk_header(text: &str) -> Option<((u64, u64), (u64, u64), String)> {
    let (places, about) = text.split_once(" @@")?;
    let (old, new) = places.split_once(" +")?;
    let range = |text: &str| match text.split_once(',') {
        Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    Some((range(old)?, range(new)?, about.trim().to_owned()))
}

/// Returns the path in `a/x b/x`, which counts where no later line says it: both sides are the same then.
fn path_of(names: &str) -> String {
    if names.starts_with('"') {
        let second = names.rsplit_once(" \"").map_or(names, |(_, second)| second);
        let path = unquoted(&format!("\"{}", second.trim_start_matches('"')));
        return path.strip_prefix("b/").unwrap_or(&path).to_owned();
    }
    let half = names.len().saturating_sub(1) / 2;
    let second = names.get(half + 1..).unwrap_or_default();
    second.strip_prefix("b/").unwrap_or(names).to_owned()
}

/// Takes a path out of git's quotes.
fn unquoted(path: &str) -> String {
    let path = path.trim_end_matches(['\t', '\r']);
    let Some(inner) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else {
        return path.to_owned();
    };
    let mut bytes = Vec::new();
    let mut rest = inner.as_bytes();
    while let [first, after @ ..] = rest {
        let octal = |digits: &[u8]| {
            let digits = std::str::from_utf8(digits.get(..3)?).ok()?;
            u8::from_str_radix(digits, 8).ok()
        };
        (*first != b'\\').then(|| bytes.push(*first));
        rest = match (first, after) {
            (b'\\', digits) if octal(digits).is_some() => {
                bytes.extend(octal(digits));
                &digits[3..]
            }
            (b'\\', [b't', after @ ..]) => {
                bytes.push(b'\t');
                after
            }
            (b'\\', [b'n', after @ ..]) => {
                bytes.push(b'\n');
                after
            }
            (b'\\', [other, after @ ..]) => {
                bytes.push(*other);
                after
            }
            (_, after) => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the lines of the files after the change that its hunks show.
pub fn lines(files: &[FileDiff]) -> Lines {
    let mut all = BTreeMap::new();
    for file in files {
        let ranges: Vec<_> = file.hunks.iter().map(Hunk::range).collect();
        all.entry(file.path.clone()).or_insert_with(Vec::new).extend(ranges);
    }
    Lines(all)
}

/// What is put to a reviewer at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The files of which it shows something.
    pub files: Vec<String>,
    pub text: String,
}

/// Splits a change into parts of at most `most` bytes. Files stay whole where they can; a larger one is split between
/// hunks, lines, and at last within a line. Nothing is left out.
pub fn parts(files: &[FileDiff], most: usize) -> Vec<Part> {
    let mut packer = Packer { most: most.max(2 * SMALLEST), parts: Vec::new() };
    for file in files {
        if file.len() > packer.room() {
            packer.begin();
        }
        packer.add(file);
    }
    packer.parts
}

/// The least that is worth to be put into a part that has something in it already, in bytes.
const SMALLEST: usize = 500;

struct Packer {
    most: usize,
    parts: Vec<Part>,
}

impl Packer {
    /// Returns how many bytes the part that is open has left.
    fn room(&self) -> usize {
        self.parts.last().map_or(0, |part| self.most.saturating_sub(part.text.len()))
    }

    fn begin(&mut self) {
        self.parts.push(Part::default());
    }

    fn add(&mut self, file: &FileDiff) {
        self.push(&file.path, &file.header, &file.header);
        for hunk in &file.hunks {
            let (mut old, mut new) = (hunk.old, hunk.new);
            let mut head = hunk_head(old, new, &hunk.about);
            let whole: usize = hunk.lines.iter().map(|line| line.len() + 1).sum();
            // A hunk that fits into a part of its own is not split.
            let fits_alone = file.header.len() + head.len() + whole <= self.most;
            if fits_alone && head.len() + whole > self.room() {
                self.begin_with(file, "");
            }
            self.push(&file.path, &head, &file.header);
            for line in &hunk.lines {
                if line.len() + 1 > self.room() {
                    head = hunk_head(old, new, &hunk.about);
                    self.begin_with(file, &head);
                }
                let mut rest = line.as_str();
                while rest.len() + 1 > self.room() {
                    let cut = floor(rest, self.room().saturating_sub(1));
                    if cut == 0 {
                        break;
                    }
                    self.push(&file.path, &format!("{}\n", &rest[..cut]), "");
                    rest = &rest[cut..];
                    self.begin_with(file, &head);
                }
                self.push(&file.path, &format!("{rest}\n"), "");
                old += u64::from(line.starts_with(['-', ' ']));
                new += u64::from(line.starts_with(['+', ' ']));
            }
        }
    }

    /// Begins a part that goes on with a file.
    fn begin_with(&mut self, file: &FileDiff, head: &str) {
        self.begin();
        // A header may name paths of any length; its place is in the first part of the file.
        let header = if file.header.len() <= SMALLEST { &file.header } else { "" };
        self.push(&file.path, &format!("{header}{head}"), "");
    }

    /// Adds a text about a file to the part that is open, if it fits; otherwise to another, after `again`.
    fn push(&mut self, path: &str, text: &str, again: &str) {
        if self.parts.is_empty() || (!again.is_empty() && text.len() > self.room()) {
            self.begin();
            if again != text && again.len() <= SMALLEST {
                self.push(path, again, "");
            }
        }
        let Some(part) = self.parts.last_mut() else { return };
        if !part.files.iter().any(|file| file == path) {
            part.files.push(path.to_owned());
        }
        part.text.push_str(text);
    }
}

fn hunk_head(old: u64, new: u64, about: &str) -> String {
    let mut head = format!("@@ -{old} +{new} @@");
    if !about.is_empty() {
        let _ = write!(head, " {about}");
    }
    head.push('\n');
    head
}

/// Returns the last boundary of a character at or before a byte.
fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests;
