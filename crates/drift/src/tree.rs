//! The files of a project, as the docs see them: what is there, what was there once, and where it went.

use std::collections::{BTreeMap, BTreeSet};

use adapters::history::FileHistory;

/// How often a file is followed from one name to the next.
const MOST_MOVES: usize = 20;

/// Names of files, without what follows a dot, that any directory may have.
const EVERYWHERE: &[&str] = &["index", "_index", "readme", "mod", "main", "license", "changelog"];

/// The files of a project.
pub(super) struct Tree<'a> {
    files: BTreeSet<String>,
    directories: BTreeSet<String>,
    /// Files by the last part of their name.
    named: BTreeMap<String, Vec<String>>,
    past: FileHistory,
    /// Looks on the disk: what git ignores is there all the same.
    is_on_disk: Box<dyn Fn(&str) -> bool + 'a>,
}

impl<'a> Tree<'a> {
    /// Takes the files that git knows, and what it remembers.
    pub(super) fn new(
        listed: BTreeSet<String>,
        mut past: FileHistory,
        is_on_disk: impl Fn(&str) -> bool + 'a,
    ) -> Self {
        let (files, gone): (BTreeSet<String>, _) = listed.into_iter().partition(|file| is_on_disk(file));
        past.gone.extend(gone);
        let mut directories = BTreeSet::new();
        let mut named: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for file in &files {
            let parents = file.match_indices('/').map(|(at, _)| file[..at].to_owned());
            directories.extend(parents);
            named.entry(last(file).to_owned()).or_default().push(file.clone());
        }
        Self { files, directories, named, past, is_on_disk: Box::new(is_on_disk) }
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &String> {
        self.files.iter()
    }

    /// Tells whether there is a file or a directory. The root has an empty path.
    pub(super) fn has(&self, path: &str) -> bool {
        path.is_empty()
            || self.files.contains(path)
            || self.directories.contains(path)
            || (self.is_on_disk)(path)
    }

    pub(super) fn has_directory(&self, path: &str) -> bool {
        self.directories.contains(path)
    }

    /// Tells whether there is a file or a directory whose path ends so.
    pub(super) fn has_ending(&self, path: &str) -> bool {
        let ends = |known: &String| known.strip_suffix(path).is_some_and(|before| before.ends_with('/'));
        match self.named.get(last(path)) {
            Some(files) => files.iter().any(ends),
            None => self.directories.iter().any(ends),
        }
    }

    /// Tells whether git remembers a file of this name, or files under it, that are not there any more.
    pub(super) fn has_had(&self, path: &str) -> bool {
        let under = format!("{path}/");
        self.past.gone.contains(path)
            || self.past.gone.range(under.clone()..).next().is_some_and(|gone| gone.starts_with(&under))
    }

    /// Returns where a file went, as far as git remembers.
    pub(super) fn moved(&self, path: &str) -> Option<&str> {
        let mut moved = self.past.moved.get(path)?;
        for _ in 0..MOST_MOVES {
            if self.files.contains(moved) {
                return Some(moved);
            }
            moved = self.past.moved.get(moved)?;
        }
        None
    }

    /// Returns the only file that has the name of one that never was: somebody got its directory wrong.
    ///
    /// What git remembers as removed is not meant by another file of that name, nor does a name tell anything that
    /// every directory may have.
    pub(super) fn namesake(&self, path: &str) -> Option<&str> {
        let stem = last(path).split('.').next().unwrap_or_default();
        if self.has_had(path) || EVERYWHERE.iter().any(|name| stem.eq_ignore_ascii_case(name)) {
            return None;
        }
        match self.named.get(last(path)).map(Vec::as_slice) {
            Some([only]) => Some(only),
            Some(_) | None => None,
        }
    }

    /// Counts the files that a pattern fits.
    pub(super) fn count(&self, pattern: &str) -> usize {
        let mut pattern: Vec<&str> = pattern.trim_start_matches("./").split('/').collect();
        if pattern.last() == Some(&"**") {
            // What is under a directory is at least one name.
            pattern.push("*");
        }
        self.files.iter().filter(|file| fits(&pattern, &file.split('/').collect::<Vec<_>>())).count()
    }
}

/// Returns the last part of a path.
pub(super) fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the directory that a path is in.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// Puts a path onto a directory; nothing if it leads out of the project.
pub(super) fn join(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Returns how a file is reached from a directory.
pub(super) fn relative(directory: &str, file: &str) -> String {
    let from: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = file.split('/').collect();
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = vec![".."; from.len() - shared];
    up.into_iter().chain(to[shared..].iter().copied()).collect::<Vec<_>>().join("/")
}

/// Tells whether a pattern fits a path, part by part; `**` stands for any number of directories.
fn fits(pattern: &[&str], path: &[&str]) -> bool {
    // For every part of the path: which parts of the pattern may stand for the rest.
    let mut open: BTreeSet<usize> = [0].into();
    for part in path {
        let open_now = past_stars(pattern, &open);
        open = BTreeSet::new();
        for at in open_now {
            match pattern.get(at) {
                Some(&"**") => {
                    open.insert(at);
                }
                Some(wanted) if fits_part(wanted, part) => {
                    open.insert(at + 1);
                }
                Some(_) | None => {}
            }
        }
    }
    open.contains(&pattern.len())
}

/// Adds what is reached if every `**` stands for nothing.
fn past_stars(pattern: &[&str], open: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut reached = open.clone();
    for (at, part) in pattern.iter().enumerate() {
        if *part == "**" && reached.contains(&at) {
            reached.insert(at + 1);
        }
    }
    reached
}

/// Tells whether `*` and `?` fit a name.
fn fits_part(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut open: BTreeSet<usize> = [0].into();
    for c in name.chars() {
        let mut next = BTreeSet::new();
        for at in open {
            // Each `*` may also stand for nothing.
            let mut at = at;
            while pattern.get(at) == Some(&'*') {
                next.insert(at);
                at += 1;
            }
            if pattern.get(at).is_some_and(|wanted| *wanted == '?' || *wanted == c) {
                next.insert(at + 1);
            }
        }
        open = next;
    }
    open.iter().any(|at| pattern[*at..].iter().all(|c| *c == '*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_as_in_a_shell() {
        let fits = |pattern: &str, path: &str| {
            fits(&pattern.split('/').collect::<Vec<_>>(), &path.split('/').collect::<Vec<_>>())
        };
        for (pattern, path) in [
            ("a.rs", "a.rs"),
            ("*.rs", "a.rs"),
            ("src/*.rs", "src/a.rs"),
            ("**/*.rs", "a.rs"),
            ("**/*.rs", "src/deep/a.rs"),
            ("src/**/*", "src/deep/a.rs"),
            ("src/**/a.rs", "src/a.rs"),
            ("a?c*", "abcdef"),
            ("*a*b*", "xxaxxbxx"),
        ] {
            assert!(fits(pattern, path), "{pattern} {path}");
        }
        for (pattern, path) in [
            ("*.rs", "src/a.rs"),
            ("src/*", "src/deep/a.rs"),
            ("*.rs", "a.rs.bak"),
            ("a?", "a"),
            ("src/**/*", "src"),
        ] {
            assert!(!fits(pattern, path), "{pattern} {path}");
        }
    }

    #[test]
    fn paths_are_joined_and_taken_apart() {
        assert_eq!(join("docs/design", "../run.md").as_deref(), Some("docs/run.md"));
        assert_eq!(join("docs", "../../x"), None);
        assert_eq!(relative("docs/design", "docs/run.md"), "../run.md");
        assert_eq!(relative("", "docs/run.md"), "docs/run.md");
        assert_eq!(relative("docs", "docs/run.md"), "run.md");
    }
}
