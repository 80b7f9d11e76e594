//! The commands of a run: the one that tests the project, and the one that installs what the tests need.
//!
//! Each is the one that is set, the one that was found when the run began, or the one that the merge target's files suggest.
//! What an agent writes into its tree is no word in that.

use std::{cell::RefCell, collections::BTreeMap, convert::Infallible, fs, path::Path};

use adapters::{git::Git, process::is_installed};
use engine::{Run, keys};

use super::SuiteError;
use super::find::{self, Files};

/// First words of a command that are the shell's own.
const SHELLS_OWN: &[&str] = &[
    "alias", "case", "cd", "command", "echo", "eval", "exec", "exit", "export", "false", "for", "if",
    "printf", "pwd", "read", "return", "set", "shift", "source", "test", "time", "trap", "true", "type",
    "ulimit", "umask", "unset", "until", "wait", "while",
];

/// What a person does about a test command that cannot run.
pub(crate) const REMEDY: &str =
    "install it, or set `test_command` under [workflow] in warp.toml and begin anew";

/// Commands suggested by a project's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuggestedCommands {
    pub test: Option<String>,
    pub setup: Option<String>,
}

/// Returns the test command of a run.
pub fn command(root: &Path, run: &Run) -> Result<String, SuiteError> {
    let set = run.settings.get(keys::TEST_COMMAND);
    if set != "auto" {
        return Ok(set.to_owned());
    }
    let target = &run.branches.merge_target;
    let found = match &run.found_test_command {
        Some(found) => Some(found.clone()),
        None => in_branch(root, target, None).map_err(SuiteError)?.test,
    };
    found.ok_or_else(|| {
        SuiteError(format!(
            "No test command was found in `{target}`, nor here when the run began: commit one there, or set `test_command` \
             under [workflow] in warp.toml and begin anew"
        ))
    })
}

/// Returns the command that installs what the tests need; nothing if they need nothing.
pub(crate) fn setup_command(run: &Run) -> Option<String> {
    match run.settings.get(keys::SETUP_COMMAND) {
        "none" => None,
        "auto" => run.found_setup_command.clone(),
        set => Some(set.to_owned()),
    }
}

/// Returns whether the run has a setup command.
pub fn prepares(run: &Run) -> bool {
    setup_command(run).is_some()
}

/// Returns the test command, or `None` without one or with tests switched off.
pub fn test_command(root: &Path, run: &Run) -> Option<String> {
    command(root, run).ok().filter(|_| run.settings.get(keys::TEST_BEFORE_COMMIT))
}

/// Says that a test command cannot run on this machine, if that is plain: no agent can do anything about it.
pub(crate) fn cannot_run(command: &str) -> Option<String> {
    let program = program(command).filter(|program| !is_installed(program))?;
    Some(format!("`{program}` is not installed, and `{command}` is how this project is tested: {REMEDY}"))
}

/// Returns the program that a command begins with, if it is one that lies in `PATH`.
pub(crate) fn program(command: &str) -> Option<&str> {
    let is_name = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let is_plain =
        |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "._+-".contains(letter));
    for word in command.split_whitespace() {
        match word.split_once('=') {
            Some((name, value)) if is_name(name) && is_plain(value) && name != "PATH" => {}
            Some(_) => return None,
            None => return Some(word).filter(|word| is_plain(word) && !SHELLS_OWN.contains(word)),
        }
    }
    None
}

/// Finds both commands, before an agent has written anything: in the merge target, or else in a tree. `set` is the test
/// command that a person has set.
pub fn found(root: &Path, target: &str, set: Option<&str>) -> Result<SuggestedCommands, String> {
    let branch = in_branch(root, target, set)?;
    if branch.test.is_some() || branch.setup.is_some() {
        return Ok(branch);
    }
    Ok(in_tree(root, set))
}

fn in_branch(root: &Path, branch: &str, set: Option<&str>) -> Result<SuggestedCommands, String> {
    let files = Branch { git: Git::new(root), branch, listed: RefCell::default() };
    suggested(&files, set)
}

/// Finds both commands in a tree that is warp's own making.
pub(crate) fn in_tree(root: &Path, set: Option<&str>) -> SuggestedCommands {
    let Ok(found) = suggested(&Tree(root), set);
    found
}

fn suggested<F: Files>(files: &F, set: Option<&str>) -> Result<SuggestedCommands, F::Error> {
    let installed = |program: &str| is_installed(program);
    let test = match set {
        Some(set) => Some(set.to_owned()),
        None => find::test(files, &installed)?,
    };
    let setup = find::setup(files, test.as_deref(), &installed)?.line();
    Ok(SuggestedCommands { test: test.filter(|_| set.is_none()), setup })
}

/// The files of a branch's newest commit.
struct Branch<'a> {
    git: Git<'a>,
    branch: &'a str,
    listed: RefCell<BTreeMap<String, Vec<String>>>,
}

impl Files for Branch<'_> {
    type Error = String;

    fn read(&self, path: &str) -> Result<Option<String>, String> {
        if !self.has(path)? {
            return Ok(None);
        }
        // It is there; one that is too large or no text says nothing.
        Ok(Some(self.git.file_in(self.branch, path).ok().flatten().unwrap_or_default()))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, String> {
        if let Some(known) = self.listed.borrow().get(directory) {
            return Ok(known.clone());
        }
        let is_below = |(above, name): (&str, &str)| {
            Ok::<_, String>(self.list(above)?.iter().any(|found| found == name))
        };
        let is_there =
            directory.is_empty() || is_below(directory.rsplit_once('/').unwrap_or(("", directory)))?;
        let names = if is_there { self.git.names_in(self.branch, directory)? } else { Vec::new() };
        self.listed.borrow_mut().insert(directory.to_owned(), names.clone());
        Ok(names)
    }
}

/// The files of a directory.
struct Tree<'a>(&'a Path);

impl Files for Tree<'_> {
    type Error = Infallible;

    fn read(&self, path: &str) -> Result<Option<String>, Infallible> {
        let path = self.0.join(path);
        // Only a file is read: a pipe would never answer.
        Ok(path.is_file().then(|| fs::read_to_string(path).unwrap_or_default()))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, Infallible> {
        let entries = fs::read_dir(self.0.join(directory)).into_iter().flatten().flatten();
        Ok(entries.filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn the_program_that_runs_the_tests_is_told_where_that_is_plain() {
        for (command, expected) in [
            ("make test", Some("make")),
            ("CI=true RUST_LOG=debug cargo test", Some("cargo")),
            ("python3.12 -m pytest", Some("python3.12")),
            ("npm test && npm run lint", Some("npm")),
            ("./run-tests", None),
            ("cd api && cargo test", None),
            ("PATH=$PATH:bin check", None),
            ("NAME='a b' check", None),
            ("\"$TESTER\" all", None),
            ("(make test)", None),
            ("test -f a=b", None),
            ("", None),
        ] {
            assert_eq!(program(command), expected, "{command}");
        }
    }
}
