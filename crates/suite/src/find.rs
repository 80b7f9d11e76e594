//! Finding how a project is tested and what has to be installed for that, by the files at its root.
//!
//! Pure: [`Files`] says what is there. It is asked of the merge target when a run begins, so what an agent writes later
//! decides nothing. A project without dependencies needs no preparation, and then nothing is reached for.

mod node;
mod python;
mod setup;
mod test;

use std::fmt;

pub(crate) use setup::setup;
pub(crate) use test::test;

/// What detection looks at: the files of a commit or of a directory.
pub(crate) trait Files {
    type Error;

    /// Returns a file's text; nothing if it is not there.
    fn read(&self, path: &str) -> Result<Option<String>, Self::Error>;

    /// Returns the names in a directory, which is named from the root; the root is empty.
    fn list(&self, directory: &str) -> Result<Vec<String>, Self::Error>;

    /// Tells whether a file is there.
    fn has(&self, path: &str) -> Result<bool, Self::Error> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        Ok(self.list(directory)?.iter().any(|found| found == name))
    }

    /// Returns the first of these files that is there.
    fn first<'n>(&self, names: &[&'n str]) -> Result<Option<&'n str>, Self::Error> {
        for name in names {
            if self.has(name)? {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

/// Looks up whether a program is installed.
pub(crate) type ProgramLookup<'a> = &'a dyn Fn(&str) -> bool;

/// Quotes a word for the shell if it needs that.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/=+:@,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Words of a command line, with a blank between them.
#[derive(Default)]
struct Words(String);

impl Words {
    fn add(&mut self, words: impl fmt::Display) {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        self.0.push_str(&words.to_string());
    }
}

#[cfg(test)]
pub(crate) mod fake {
    use std::{collections::BTreeMap, convert::Infallible};

    /// A project that is only described: paths, and what is in them.
    pub(crate) struct Project(BTreeMap<String, String>);

    impl Project {
        pub(crate) fn of(files: &[(&str, &str)]) -> Self {
            Self(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect())
        }
    }

    impl super::Files for Project {
        type Error = Infallible;

        fn read(&self, path: &str) -> Result<Option<String>, Infallible> {
            Ok(self.0.get(path).cloned())
        }

        fn list(&self, directory: &str) -> Result<Vec<String>, Infallible> {
            let start = if directory.is_empty() { String::new() } else { format!("{directory}/") };
            let below = self.0.keys().filter_map(|path| path.strip_prefix(&start));
            let mut names: Vec<String> =
                below.map(|path| path.split('/').next().unwrap_or(path).to_owned()).collect();
            names.dedup();
            Ok(names)
        }
    }
}
