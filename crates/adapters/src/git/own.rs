//! Warp's own git: no hooks, no monitor, nothing of the caller's environment decides where it works.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use super::{Location, lfs, nested};
use crate::process::{self, End, Finished, RunError, StopCheck};

/// The program's name.
const GIT: &str = "git";

/// Variables that would lead git to another repository, or let a program of the caller's decide what it sees. Most are
/// those that git itself drops on its way into another repository; who a person is and how they log in stays.
const ELSEWHERE: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_ATTR_SOURCE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// Returns those of [`ELSEWHERE`] that are set, looked for once: nobody sets any while the program runs.
pub(super) fn elsewhere() -> &'static [&'static str] {
    static SET: OnceLock<Vec<&str>> = OnceLock::new();
    SET.get_or_init(|| ELSEWHERE.iter().copied().filter(|name| env::var_os(name).is_some()).collect())
}

/// Returns where git is, looked for once: a program that is only named is looked for at every start.
pub(crate) fn program() -> &'static str {
    static FOUND: OnceLock<String> = OnceLock::new();
    FOUND.get_or_init(|| {
        let path = env::var_os("PATH").unwrap_or_default();
        let mut candidates = env::split_paths(&path).map(|directory| directory.join(GIT));
        let found = candidates.find(|path| {
            // A relative directory is another one from where git is started.
            path.is_absolute() && path.metadata().is_ok_and(|data| data.is_file() && data.mode() & 0o111 != 0)
        });
        found.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or_else(|| GIT.to_owned())
    })
}

/// Runs git, with options before its command. It looks into no repository but its own. What talks to a remote can be
/// interrupted, and asks nobody anything.
pub(super) fn call(
    input: Vec<u8>,
    options: Vec<OsString>,
    arguments: &[&str],
    hidden: &[&str],
    directory: &Path,
    set: &[(&str, &str)],
    (limit, stop): (Duration, Option<&StopCheck>),
) -> Result<Finished, RunError> {
    let all = |arguments: &[&str]| -> Vec<OsString> {
        options.iter().cloned().chain(nested::guarded(arguments).into_iter().map(OsString::from)).collect()
    };
    if !talks(arguments) {
        return process::run_reading(input, hidden, program(), all(arguments), directory, set, limit);
    }
    let mut set = set.to_vec();
    let asked = || {
        let asked = all(&["config", "--get", "core.sshCommand"]);
        process::run_without(hidden, program(), asked, directory, &set, limit)
    };
    // A person's own way of logging in stays. Nobody can type a passphrase here, so the usual way does not ask for one.
    if !has_own_login(directory, asked)? {
        set.push(("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"));
    }
    process::run_interruptible(hidden, program(), all(arguments), directory, &set, limit, stop)
}

/// Tells whether a person has said how `ssh` is called: everywhere, or for the repository in a directory, for which git is
/// asked once.
fn has_own_login(
    directory: &Path,
    ask: impl FnOnce() -> Result<Finished, RunError>,
) -> Result<bool, RunError> {
    static KNOWN: Mutex<BTreeMap<PathBuf, bool>> = Mutex::new(BTreeMap::new());
    if ["GIT_SSH_COMMAND", "GIT_SSH"].iter().any(|name| env::var_os(name).is_some()) {
        return Ok(true);
    }
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let before = known().get(directory).copied();
    if let Some(before) = before {
        return Ok(before);
    }
    let is_set = ask()?.is_success();
    known().insert(directory.to_owned(), is_set);
    Ok(is_set)
}

/// Tells whether git talks to a remote for this. A repository on this machine, named by its path, is none.
fn talks(arguments: &[&str]) -> bool {
    match command(arguments) {
        "ls-remote" | "push" | "lfs" => true,
        "fetch" => {
            let mut from = arguments.iter().skip_while(|word| **word != "--").skip(1);
            from.next().is_none_or(|from| !from.starts_with('/'))
        }
        _ => false,
    }
}

/// Returns git's command: the first word that is neither a setting nor belongs to one.
fn command<'w>(arguments: &[&'w str]) -> &'w str {
    let mut words = arguments.iter().copied();
    let mut command = words.next();
    while command == Some("-c") {
        command = words.nth(1);
    }
    command.unwrap_or_default()
}

/// Why git did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("`git {command}` ended with {end}: {words}")]
    Said { command: String, end: String, words: String },
    #[error("git took longer than {seconds} seconds; is the disk full or slow?")]
    TooSlow { seconds: u64 },
    #[error("`git {command}` was interrupted")]
    Interrupted { command: String },
    #[error("the path of `{0}` is not text")]
    NotText(PathBuf),
    #[error("more than {most} repositories inside this one have uncommitted work; commit some of it first")]
    TooManyNested { most: usize },
    #[error(
        "not everything can be kept{}: {words}",
        kept.as_ref().map(|kept| format!(" (the rest is, as {kept})")).unwrap_or_default()
    )]
    Partly { kept: Option<String>, words: String },
    #[error("failed to read or write `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("no room for an index of its own")]
    Index(#[source] std::io::Error),
}

/// A repository whose git commands share one deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repository<'a> {
    root: Option<&'a Path>,
    /// Where git is started, if not in the tree or the repository.
    directory: Option<&'a Path>,
    location: &'a Location,
    limit: Duration,
    until: Instant,
    /// Asked while a remote is waited for.
    stop: Option<&'a StopCheck>,
}

impl<'a> Repository<'a> {
    /// Takes a working tree; all calls together may take `limit`.
    pub(crate) fn new(root: &'a Path, location: &'a Location, limit: Duration) -> Self {
        Self { root: Some(root), ..Self::bare(location, limit) }
    }

    /// Takes a repository without its working tree.
    pub(crate) fn bare(location: &'a Location, limit: Duration) -> Self {
        let (until, stop) = (Instant::now() + limit, None);
        Self { root: None, directory: None, location, limit, until, stop }
    }

    /// Starts git in this directory: git takes a remote's relative path from there.
    pub(crate) fn started_in(self, directory: &'a Path) -> Self {
        Self { directory: Some(directory), ..self }
    }

    /// Lets waits for remotes be interrupted.
    pub(crate) fn stopped_by(self, stop: &'a StopCheck) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// Runs git to its end, whatever it says.
    pub(crate) fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Finished, GitError> {
        self.run_reading(Vec::new(), arguments, environment)
    }

    /// Changes refs, all of them or none: each line is a command of `git update-ref --stdin`.
    pub(crate) fn change_refs(&self, lines: &[String]) -> Result<(), GitError> {
        if lines.is_empty() {
            return Ok(());
        }
        let input = format!("{}\n", lines.join("\n")).into_bytes();
        let finished = self.run_reading(input, &["update-ref", "--no-deref", "--stdin"], &[])?;
        expected("update-ref", finished).map(drop)
    }

    /// Counts the commits of a range.
    pub(super) fn count<T: FromStr>(&self, range: &[&str]) -> Result<T, GitError> {
        let words = self.text(&[&["rev-list", "--count"], range, &["--"]].concat(), &[])?;
        let (command, end) = ("rev-list".to_owned(), "exit 0".to_owned());
        words.trim().parse().map_err(|_| GitError::Said { command, end, words })
    }

    /// Does the same with something to read.
    pub(super) fn run_reading(
        &self,
        input: Vec<u8>,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Result<Finished, GitError> {
        let slow = || GitError::TooSlow { seconds: self.limit.as_secs() };
        let left = self.until.checked_duration_since(Instant::now()).ok_or_else(slow)?;
        let text =
            |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| GitError::NotText(path.to_owned()));
        let mut options = vec![
            format!("--git-dir={}", text(&self.location.git_dir)?).into(),
            OsString::from("--no-replace-objects"),
        ];
        if let Some(root) = self.root {
            options.push(format!("--work-tree={}", text(root)?).into());
        }
        let quiet = ["gc.auto=0", "maintenance.auto=false"];
        for setting in nested::SETTINGS.iter().chain(lfs::settings()).chain(&quiet) {
            options.extend(["-c", setting].map(OsString::from));
        }
        let index = text(&self.location.git_dir.join("index"))?;
        let mut set = vec![
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_COUNT", "0"),
            ("GIT_CONFIG_PARAMETERS", ""),
            ("GIT_AUTHOR_NAME", "warp"),
            ("GIT_AUTHOR_EMAIL", "warp@localhost"),
            ("GIT_COMMITTER_NAME", "warp"),
            ("GIT_COMMITTER_EMAIL", "warp@localhost"),
            ("GIT_INDEX_FILE", index.as_str()),
        ];
        set.extend_from_slice(environment);
        let directory = self.directory.or(self.root).unwrap_or(&self.location.git_dir);
        let finished = call(input, options, arguments, elsewhere(), directory, &set, (left, self.stop))?;
        match finished.end {
            End::TimedOut(_) => Err(slow()),
            End::Stopped => Err(GitError::Interrupted { command: command(arguments).to_owned() }),
            End::Exit(_) | End::Signal(_) | End::Silent(_) => Ok(finished),
        }
    }

    /// Runs git, expects success and returns what it printed.
    pub(crate) fn text(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Result<String, GitError> {
        let finished = self.run(arguments, environment)?;
        expected(command(arguments), finished)
    }
}

/// Returns what git printed, if it succeeded.
pub(super) fn expected(command: &str, finished: Finished) -> Result<String, GitError> {
    if finished.is_success() {
        return Ok(finished.text());
    }
    let (end, words) = (finished.end.to_string(), finished.last_words(300));
    Err(GitError::Said { command: command.to_owned(), end, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_told_from_a_repository_on_this_machine() {
        for (line, is_remote) in [
            ("ls-remote -- origin refs/heads/main", true),
            ("push --porcelain -- origin x:y", true),
            ("-c protocol.file.allow=always fetch --quiet -- origin +a:b", true),
            ("-c protocol.file.allow=always fetch --quiet -- /home/p/.git +a:b", false),
            ("lfs push origin 1234", true),
            ("-c a=push log -- fetch", false),
            ("", false),
        ] {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(talks(&words), is_remote, "{line}");
        }
    }
}
