//! What a commit in the making changes: which files, how large they are, and what was in them before and is after.
//!
//! Contents come from git's objects and not from the working tree, so they are those of the commit.

use std::collections::{BTreeMap, BTreeSet};

use super::{Git, LIMIT, Prepared};

/// How many bytes of contents are asked for at once: what git prints is kept up to a limit.
const AT_ONCE: u64 = 800 * 1024;
/// How many names are given to git at once.
const NAMES_AT_ONCE: usize = 500;

/// What a commit in the making changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Staged {
    pub files: Vec<StagedFile>,
    /// Whether all files are listed; there may be too many.
    pub is_whole: bool,
}

/// A file that a commit in the making changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedFile {
    pub path: String,
    /// Where it was before, if it was moved.
    pub from: Option<String>,
    pub before: Option<Object>,
    pub after: Option<Object>,
}

/// What git keeps of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub kind: ObjectKind,
    pub id: String,
    /// In bytes.
    pub size: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    File,
    Link,
    /// Another repository, by its commit.
    Submodule,
}

impl Prepared<'_> {
    /// Lists what the commit changes. Files that were moved are found by their content.
    pub fn staged(&self) -> Result<Staged, String> {
        let base = self.git.base(None)?;
        let how = ["diff-index", "--cached", "--raw", "-z", "--find-renames", "--no-abbrev", &base];
        let listed = self.git.run(&how, &self.environment())?;
        if !listed.is_success() {
            return Err(format!("`git diff-index` ended with {}: {}", listed.end, listed.last_words(300)));
        }
        let mut staged =
            Staged { files: entries(&String::from_utf8_lossy(&listed.stdout)), is_whole: !listed.cut };
        let sides = staged.files.iter_mut().flat_map(|file| [&mut file.before, &mut file.after]);
        let mut objects: Vec<&mut Object> =
            sides.flatten().filter(|object| object.kind != ObjectKind::Submodule).collect();
        let ids: Vec<&str> = objects.iter().map(|object| object.id.as_str()).collect();
        let sizes = self.git.sizes(&ids)?;
        for object in &mut objects {
            object.size = sizes.get(&object.id).copied().unwrap_or(0);
        }
        Ok(staged)
    }
}

impl Git<'_> {
    /// Returns the sizes of objects, as far as they are there.
    fn sizes(&self, ids: &[&str]) -> Result<BTreeMap<String, u64>, String> {
        let mut sizes = BTreeMap::new();
        for ids in ids.chunks(NAMES_AT_ONCE) {
            let said = self.run_reading(&["cat-file", "--batch-check=%(objectname) %(objectsize)"], ids)?;
            for line in String::from_utf8_lossy(&said).lines() {
                if let Some((id, size)) = line.split_once(' ')
                    && let Ok(size) = size.parse()
                {
                    sizes.insert(id.to_owned(), size);
                }
            }
        }
        Ok(sizes)
    }

    /// Returns the contents of objects. Those that are larger than what git can be asked for at once are left out.
    pub fn contents(&self, objects: &[&Object]) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let mut contents = BTreeMap::new();
        let (mut ids, mut sum): (Vec<&str>, u64) = (Vec::new(), 0);
        for object in objects.iter().filter(|object| object.size <= AT_ONCE) {
            if sum + object.size > AT_ONCE || ids.len() >= NAMES_AT_ONCE {
                self.read_into(&ids, &mut contents)?;
                (ids, sum) = (Vec::new(), 0);
            }
            ids.push(&object.id);
            sum += object.size;
        }
        self.read_into(&ids, &mut contents)?;
        Ok(contents)
    }

    fn read_into(&self, ids: &[&str], contents: &mut BTreeMap<String, Vec<u8>>) -> Result<(), String> {
        if ids.is_empty() {
            return Ok(());
        }
        let said = self.run_reading(&["cat-file", "--batch"], ids)?;
        let mut rest = said.as_slice();
        // A line with id, type and size, then the content and an end of line.
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let words: Vec<&str> = head.split(' ').collect();
            let [id, _, size] = words.as_slice() else { return Err(format!("git says {head:?}")) };
            let size: usize = size.parse().map_err(|_| format!("git says {head:?}"))?;
            let content = rest.get(end + 1..end + 1 + size).ok_or("git's answer was cut off")?;
            contents.insert((*id).to_owned(), content.to_vec());
            rest = rest.get(end + 2 + size..).unwrap_or_default();
        }
        Ok(())
    }

    /// Tells which of these directories the current commit has.
    pub fn directories_before(&self, directories: &[&str]) -> Result<BTreeSet<String>, String> {
        let base = self.base(None)?;
        let mut known = BTreeSet::new();
        for names in directories.chunks(NAMES_AT_ONCE) {
            let fixed = ["ls-tree", "-d", "-z", "--name-only", "--full-tree", &base, "--"];
            let listed = self.text(&[&fixed[..], names].concat(), &[("GIT_LITERAL_PATHSPECS", "1")])?;
            known.extend(listed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned));
        }
        Ok(known)
    }

    /// Tells which of these files the tree's attributes leave to Git LFS.
    pub fn files_of_lfs(&self, paths: &[&str]) -> Result<BTreeSet<String>, String> {
        if paths.is_empty() {
            return Ok(BTreeSet::new());
        }
        let asked = ["check-attr", "-z", "--stdin", "filter"];
        let finished = self.run_with(paths.join("\0").into_bytes(), LIMIT, &asked, &[])?;
        if !finished.is_success() || finished.cut {
            let words = finished.last_words(300);
            return Err(format!("`git check-attr` ended with {}: {words}", finished.end));
        }
        // Path, attribute and value, each with its end.
        let said = String::from_utf8_lossy(&finished.stdout).into_owned();
        let fields: Vec<&str> = said.split_terminator('\0').collect();
        let of_lfs = fields.chunks_exact(3).filter(|entry| entry[2] == "lfs");
        Ok(of_lfs.map(|entry| entry[0].to_owned()).collect())
    }

    /// Returns how many files two commits differ in, and how many lines were added and removed.
    pub fn counted(&self, base: &str, tip: &str) -> Result<(u64, u64, u64), String> {
        let (text, _) = self.change_between(base, tip, &["--shortstat"])?;
        let number = |word: &str| {
            let part = text.split(',').find(|part| part.contains(word))?;
            part.split_whitespace().next()?.parse::<u64>().ok()
        };
        Ok((number("file").unwrap_or(0), number("insertion").unwrap_or(0), number("deletion").unwrap_or(0)))
    }

    fn run_reading(&self, arguments: &[&str], lines: &[&str]) -> Result<Vec<u8>, String> {
        let mut input = lines.join("\n").into_bytes();
        input.push(b'\n');
        let finished = self.run_with(input, LIMIT, arguments, &[])?;
        if !finished.is_success() || finished.cut {
            let name = arguments.first().copied().unwrap_or_default();
            return Err(format!("`git {name}` ended with {}: {}", finished.end, finished.last_words(300)));
        }
        Ok(finished.stdout)
    }
}

/// Reads `:OLD-MODE NEW-MODE OLD-ID NEW-ID STATUS`, then the path; two paths if it was moved.
fn entries(raw: &str) -> Vec<StagedFile> {
    let mut fields = raw.split('\0');
    let mut files = Vec::new();
    while let Some(entry) = fields.next().filter(|entry| !entry.is_empty()) {
        let words: Vec<&str> = entry.trim_start_matches(':').split(' ').collect();
        let [old_mode, mode, old_id, id, status] = words.as_slice() else { break };
        let Some(first) = fields.next() else { break };
        let is_moved = status.starts_with('R') || status.starts_with('C');
        let (from, path) = match is_moved {
            true => (Some(first.to_owned()), fields.next().unwrap_or_default().to_owned()),
            false => (None, first.to_owned()),
        };
        files.push(StagedFile { path, from, before: object(old_mode, old_id), after: object(mode, id) });
    }
    files
}

fn object(mode: &str, id: &str) -> Option<Object> {
    let kind = match mode {
        "000000" => return None,
        "120000" => ObjectKind::Link,
        "160000" => ObjectKind::Submodule,
        _ => ObjectKind::File,
    };
    Some(Object { kind, id: id.to_owned(), size: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_changed_moved_and_removed_files_are_told_apart() {
        let (zero, a, b) = ("0".repeat(40), "a".repeat(40), "b".repeat(40));
        let raw = format!(
            ":000000 100644 {zero} {a} A\0new one\0:100644 120000 {a} {b} T\0link\0:100644 100644 {a} {b} R080\0old\0moved\0\
             :160000 000000 {a} {zero} D\0module\0"
        );
        let shown: Vec<String> = entries(&raw)
            .iter()
            .map(|file| {
                let kind = |side: &Option<Object>| side.as_ref().map(|object| format!("{:?}", object.kind));
                format!(
                    "{} {:?} {:?} {:?}",
                    file.path,
                    file.from.as_deref().unwrap_or_default(),
                    kind(&file.before).unwrap_or_default(),
                    kind(&file.after).unwrap_or_default()
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                r#"new one "" "" "File""#,
                r#"link "" "File" "Link""#,
                r#"moved "old" "File" "File""#,
                r#"module "" "Submodule" """#
            ]
        );
    }
}
