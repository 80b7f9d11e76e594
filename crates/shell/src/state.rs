//! What is known of the shell while a command is read: variables, directory, functions, files just written.
//!
//! A text that is not known holds [`UNKNOWN`]. Where a branch may or may not be taken, what it changes becomes
//! unknown, never one of the two.

use std::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use brush_parser::ast;

use super::{Scene, parse::UNKNOWN, paths::normalise};

/// How many directories a command may be in before it counts as unknown.
const DIRECTORIES: usize = 8;

/// The longest text that is followed, longer than systems take in one command; a variable doubled again and again becomes
/// unknown.
pub(super) const LONGEST: usize = 136 * 1024;

/// Whether what happens is sure to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Sure,
    Perhaps,
}

/// A repository created by the judged command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CreatedRepository {
    pub(super) path: String,
    pub(super) remotes: Vec<String>,
    /// Whether it is there only if what comes before has succeeded.
    pub(super) perhaps: bool,
}

/// The shell, as far as it is known.
#[derive(Clone, Debug)]
pub(super) struct State {
    variables: BTreeMap<String, Rc<[String]>>,
    /// Variables that programs are sure to be given.
    pub(super) exported: BTreeSet<String>,
    /// Directories outside the workspace that this command has made.
    pub(super) there: BTreeSet<String>,
    /// Whether the shell ends with the first command that fails.
    pub(super) ends_at_errors: bool,
    /// Repositories that this command has made: where, and what it has called their remotes that are on this machine.
    pub(super) made: Vec<CreatedRepository>,
    /// `$1` and on; `None` if unknown.
    pub(super) positional: Option<Vec<String>>,
    pub(super) functions: BTreeMap<String, Rc<ast::FunctionBody>>,
    pub(super) aliases: BTreeMap<String, String>,
    /// Where the shell may be; empty if unknown.
    pub(super) directories: Vec<String>,
    /// Where the shell still is if the last `cd` failed.
    before_cd: Vec<String>,
    /// What was written in this command, by path.
    pub(super) files: BTreeMap<String, Rc<str>>,
}

impl State {
    pub(super) fn new(scene: &Scene<'_>) -> Self {
        let mut state = Self::in_directories(vec![normalise("/", &scene.cwd.to_string_lossy())]);
        if let Some(home) = scene.home {
            state.set("HOME", vec![home.to_string_lossy().into_owned()], Certainty::Sure);
        }
        state
    }

    /// A shell of which nothing is known but where it may be.
    pub(super) fn in_directories(directories: Vec<String>) -> Self {
        Self {
            variables: BTreeMap::new(),
            exported: BTreeSet::new(),
            there: BTreeSet::new(),
            ends_at_errors: false,
            made: Vec::new(),
            positional: None,
            functions: BTreeMap::new(),
            aliases: BTreeMap::new(),
            directories,
            before_cd: Vec::new(),
            files: BTreeMap::new(),
        }
    }

    /// Returns a variable's elements, if this command has set it.
    pub(super) fn get(&self, name: &str) -> Option<&[String]> {
        self.variables.get(name).map(|value| &**value)
    }

    /// Returns a variable as one text.
    pub(super) fn text(&self, name: &str) -> String {
        match (name, self.directories.as_slice()) {
            ("PWD", [directory]) => directory.clone(),
            // Whatever it is, it is a shell.
            ("SHELL" | "BASH" | "0", _) if self.get(name).is_none() => "bash".to_owned(),
            _ => self.get(name).and_then(<[String]>::first).cloned().unwrap_or_else(|| UNKNOWN.to_string()),
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Vec<String>, certainty: Certainty) {
        let known = match (certainty, self.variables.get(name)) {
            (Certainty::Perhaps, Some(old)) if **old != *value => vec![UNKNOWN.to_string()],
            (Certainty::Perhaps | Certainty::Sure, _) => value,
        };
        self.variables.insert(name.to_owned(), bounded(known).into());
    }

    /// Makes a variable what it was before.
    pub(super) fn restore(&mut self, name: &str, value: Option<Vec<String>>) {
        match value {
            Some(value) => _ = self.variables.insert(name.to_owned(), value.into()),
            None => {
                self.variables.remove(name);
                self.exported.remove(name);
            }
        }
    }

    /// Takes away what programs are given, as `env -i` and `sudo` do.
    pub(super) fn clear_exported(&mut self) {
        for name in std::mem::take(&mut self.exported) {
            self.variables.remove(&name);
        }
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.variables.insert(name.to_owned(), [UNKNOWN.to_string()].into());
    }

    /// Returns how many things are known: what it costs to copy them.
    pub(super) fn weight(&self) -> usize {
        let positional = self.positional.as_ref().map_or(0, Vec::len);
        self.variables.len() + self.functions.len() + self.aliases.len() + self.files.len() + positional
    }

    /// Goes to `directory`, which may not be there.
    pub(super) fn change_directory(&mut self, directory: &str) {
        let targets: Vec<String> = if directory.contains(UNKNOWN) || self.get("CDPATH").is_some() {
            Vec::new()
        } else {
            self.resolve(directory)
        };
        let old = std::mem::replace(&mut self.directories, targets);
        merge(&mut self.before_cd, old);
    }

    /// Goes to a directory that is there, or nowhere at all.
    pub(super) fn change_directory_surely(&mut self, directory: &str) {
        let before = std::mem::take(&mut self.before_cd);
        self.change_directory(directory);
        self.before_cd = before;
    }

    /// Whether a directory was made by this command, and not in vain.
    pub(super) fn is_there(&self, directory: &str) -> bool {
        let is_made = |path: &String| {
            let of_mktemp = path.strip_prefix("/tmp/").and_then(|rest| rest.split_once("XXX"));
            of_mktemp.is_some_and(|(_, rest)| {
                rest.trim_start_matches('X').bytes().all(|byte| byte.is_ascii_digit())
            }) || self.there.contains(path)
                || self.made.iter().any(|made| made.path == *path && !made.perhaps)
        };
        !directory.contains(UNKNOWN) && self.resolve(directory).iter().all(is_made)
    }

    /// Goes nobody knows where.
    pub(super) fn lose_directory(&mut self) {
        self.directories.clear();
        self.before_cd.clear();
    }

    /// Counts in that the last `cd` may have failed: what follows does not depend on it.
    pub(super) fn settle(&mut self) {
        self.made.retain(|made| !made.perhaps);
        let old = std::mem::take(&mut self.before_cd);
        if !self.directories.is_empty() {
            merge(&mut self.directories, old);
        }
        if self.directories.len() > DIRECTORIES {
            self.directories.clear();
        }
    }

    /// Returns what `path` may stand for, from wherever the shell may be.
    pub(super) fn resolve(&self, path: &str) -> Vec<String> {
        let path = without_process(path);
        if self.directories.is_empty() {
            return vec![normalise(&UNKNOWN.to_string(), path)];
        }
        let mut found: Vec<String> = Vec::new();
        merge(&mut found, self.directories.iter().map(|base| normalise(base, path)).collect());
        found
    }

    /// Takes in what a part that may or may not have run in this shell has changed.
    pub(super) fn join(&mut self, other: Self) {
        for (name, value) in other.variables {
            if self.variables.get(&name) != Some(&value) {
                self.forget(&name);
            }
        }
        self.exported.retain(|name| other.exported.contains(name));
        self.there.retain(|path| other.there.contains(path));
        self.ends_at_errors &= other.ends_at_errors;
        self.made.retain(|made| other.made.contains(made));
        if self.positional != other.positional {
            self.positional = None;
        }
        self.functions.extend(other.functions);
        self.aliases.extend(other.aliases);
        self.files.extend(other.files);
        if other.directories.is_empty() {
            self.directories.clear();
        } else if !self.directories.is_empty() {
            merge(&mut self.directories, other.directories);
        }
    }
}

/// Takes out `/proc/self/cwd` and `/proc/self/root`, which are other names for `.` and `/`.
fn without_process(path: &str) -> &str {
    let inside = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
    let parts =
        |name: &str| inside.and_then(|rest| rest.strip_prefix(name)).filter(|rest| rest.starts_with('/'));
    parts("cwd").map(|rest| &rest[1..]).or_else(|| parts("root")).unwrap_or(path)
}

fn merge(into: &mut Vec<String>, from: Vec<String>) {
    for text in from {
        if !into.contains(&text) {
            into.push(text);
        }
    }
}

fn bounded(value: Vec<String>) -> Vec<String> {
    let length: usize = value.iter().map(String::len).sum();
    if length > LONGEST { vec![UNKNOWN.to_string()] } else { value }
}

/// Returns `text`, or unknown text if it is too long to be followed.
pub(super) fn bounded_text(text: String) -> String {
    if text.len() > LONGEST { UNKNOWN.to_string() } else { text }
}
