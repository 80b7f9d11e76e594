//! A terminal that outlives whoever looks at it: tmux, with a server of its own for each session.
//!
//! A server of its own means: a person's sessions and configuration are never touched, what runs in it has exactly the
//! environment that it was started with, and ending the server ends all of it. A person looks on with [`Session::attach`].

use std::{
    env,
    ffi::OsString,
    fs, io,
    os::fd::OwnedFd,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, pidfd_open},
};

use crate::{
    machine,
    process::{self, Cgroup, Finished, MARK, RunError},
};

const PROGRAM: &str = "tmux";
/// How long one call may take.
const LIMIT: Duration = Duration::from_secs(20);
/// A client that is typed to takes a return that follows at once for a part of what was pasted.
const BEFORE_RETURN: Duration = Duration::from_millis(300);
/// What tmux writes under the last words of a program that has ended.
const DEAD: &str = "Pane is dead";
/// How long these may take to be there, and how long to wait between two looks.
const LAST_OUTPUT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(30);
/// What the server is told: a pane whose program has ended stays until its last words are read.
const CONFIGURATION: &str =
    "set -g remain-on-exit on\nset -g history-limit 5000\nset -g default-terminal screen-256color\n";
/// The size of the terminal until somebody looks at it.
const SIZE: [&str; 4] = ["-x", "160", "-y", "50"];
/// The variable that says where the sockets of servers are.
const SOCKETS: &str = "TMUX_TMPDIR";

/// A session, with the one program that runs in it. Its server ends when this is dropped.
#[derive(Debug)]
pub struct Session {
    name: String,
    directory: PathBuf,
    /// The program's process; none if it had ended before it could be held.
    held: Option<OwnedFd>,
    /// The control group of the server and of all that runs in it; it ends after the server.
    _group: Option<Cgroup>,
}

/// The program of a tmux session.
#[derive(Clone, Debug)]
pub struct SessionProgram {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    #[error("tmux is not installed")]
    Missing,
    #[error("a session `{0}` is there already")]
    Taken(String),
    #[error("tmux has failed: {0}")]
    Failed(String),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Tells whether tmux is installed.
pub fn is_installed() -> bool {
    process::is_installed(PROGRAM)
}

/// Returns where the socket of a session's server is.
pub fn socket(name: &str) -> PathBuf {
    let base = machine::absolute(SOCKETS).unwrap_or_else(|| PathBuf::from("/tmp"));
    base.join(format!("tmux-{}", machine::user())).join(name)
}

impl Session {
    /// Starts a program in a new session, in the tree; `directory` is for files of the session's own.
    pub fn start(
        name: &str,
        tree: &Path,
        directory: &Path,
        inside: &SessionProgram,
    ) -> Result<Self, TmuxError> {
        if !is_installed() {
            return Err(TmuxError::Missing);
        }
        if Self::is_there(name)? {
            return Err(TmuxError::Taken(name.to_owned()));
        }
        let (configuration, launcher) = (directory.join("tmux.conf"), directory.join("launch.sh"));
        write(&configuration, CONFIGURATION)?;
        // In a file, because a call of tmux holds only a few thousand characters. There is no secret in it.
        let words = std::iter::once(&inside.program).chain(&inside.arguments);
        let line: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
        write(&launcher, &format!("exec {}\n", line.join(" ")))?;
        let mark = inside.environment.iter().find(|(name, _)| name == MARK);
        let group = mark.and_then(|(_, mark)| mark.to_str()).and_then(Cgroup::new);
        let pane = begin(name, tree, [&configuration, &launcher], inside, group.as_ref())?;
        let number = pane.trim().parse().ok().and_then(Pid::from_raw);
        let number = number.ok_or_else(|| TmuxError::Failed(format!("`{pane}` is no process")))?;
        let held = match pidfd_open(number, PidfdFlags::empty()) {
            Ok(held) => Some(held),
            Err(Errno::SRCH) => None,
            Err(error) => return Err(TmuxError::Failed(format!("its process cannot be watched: {error}"))),
        };
        Ok(Self { name: name.to_owned(), directory: directory.to_owned(), held, _group: group })
    }

    /// Tells whether there is a session of that name.
    pub fn is_there(name: &str) -> Result<bool, TmuxError> {
        Ok(call(name, &["has-session", "-t", name])?.is_success())
    }

    /// Returns the command by which a person looks on.
    pub fn attach(name: &str) -> String {
        format!("{PROGRAM} -L {name} attach")
    }

    /// Returns a descriptor that becomes readable when the program has ended; none if it has already.
    pub fn process(&self) -> Option<&OwnedFd> {
        self.held.as_ref()
    }

    /// Tells whether the program has ended.
    fn has_ended(&self) -> bool {
        let Some(held) = &self.held else { return true };
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(held, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// Types a text into the terminal, and a return. To a program that has ended nothing is typed: tmux itself may die
    /// of that.
    pub fn inject(&self, text: &str) -> Result<(), TmuxError> {
        let file = self.directory.join("said.txt");
        write(&file, text.trim_end())?;
        self.done(&["load-buffer", "-b", "warp", &file.to_string_lossy()])?;
        if self.has_ended() {
            return Ok(());
        }
        self.done(&["paste-buffer", "-d", "-p", "-b", "warp", "-t", &self.name])?;
        thread::sleep(BEFORE_RETURN);
        if self.has_ended() {
            return Ok(());
        }
        self.done(&["send-keys", "-t", &self.name, "Enter"])
    }

    /// Returns what is to be seen in the terminal, without empty lines at its end.
    pub fn seen(&self) -> Result<String, TmuxError> {
        self.capture(&[])
    }

    fn capture(&self, more: &[&str]) -> Result<String, TmuxError> {
        let finished = call(&self.name, &[&["capture-pane", "-p", "-t", &self.name], more].concat())?;
        if !finished.is_success() {
            return Err(TmuxError::Failed(finished.last_words(300)));
        }
        Ok(finished.text().trim_end().to_owned())
    }

    /// Returns the last lines of a program that has ended, once all of them are there.
    pub fn last_words(&self, most: usize) -> Result<String, TmuxError> {
        let begun = Instant::now();
        loop {
            // With what has left the screen: the notice of the end moves all of it up. Lines are as long as they were
            // written, so that a secret in them is known again.
            let seen = self.capture(&["-J", "-S", "-100"])?;
            let is_all = seen.lines().any(|line| line.starts_with(DEAD));
            if is_all || begun.elapsed() > LAST_OUTPUT {
                let lines = seen.lines().filter(|line| !line.starts_with(DEAD) && !line.trim().is_empty());
                let lines: Vec<&str> = lines.collect();
                return Ok(lines[lines.len().saturating_sub(most)..].join("\n"));
            }
            thread::sleep(PAUSE);
        }
    }

    fn done(&self, arguments: &[&str]) -> Result<(), TmuxError> {
        let finished = call(&self.name, arguments)?;
        if finished.is_success() { Ok(()) } else { Err(TmuxError::Failed(finished.last_words(300))) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A server that is gone already is what is wanted.
        let _ = call(&self.name, &["kill-server"]);
        // It leaves its socket, which nobody can use any more.
        let _ = fs::remove_file(socket(&self.name));
    }
}

fn begin(
    name: &str,
    tree: &Path,
    [configuration, launcher]: [&PathBuf; 2],
    inside: &SessionProgram,
    group: Option<&Cgroup>,
) -> Result<String, TmuxError> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (configuration, launcher, tree) = (text(configuration), text(launcher), text(tree));
    let mut arguments =
        vec!["-L", name, "-f", &configuration, "new-session", "-d", "-P", "-F", "#{pane_pid}"];
    arguments.extend(SIZE);
    arguments.extend(["-s", name, "-c", &tree, "sh", &launcher]);
    let environment: Vec<(&str, &str)> = inside
        .environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
        .filter(|(name, _)| *name != "TMUX")
        .collect();
    let ours: Vec<String> = env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let hidden: Vec<&str> = ours
        .iter()
        .map(String::as_str)
        .filter(|name| *name != SOCKETS && !environment.iter().any(|(known, _)| known == name))
        .collect();
    let arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
    let (program, arguments) = match group {
        Some(group) => group.stage(PROGRAM.as_ref(), &arguments),
        None => (PROGRAM.into(), arguments),
    };
    let program = program.to_string_lossy();
    let begun = process::run_without(&hidden, &program, arguments, Path::new("/"), &environment, LIMIT)?;
    if begun.is_success() { Ok(begun.text()) } else { Err(TmuxError::Failed(begun.last_words(300))) }
}

fn call(name: &str, arguments: &[&str]) -> Result<Finished, RunError> {
    let all = [&["-L", name], arguments].concat();
    process::run_without(&["TMUX"], PROGRAM, all, Path::new("/"), &[], LIMIT)
}

fn write(path: &Path, text: &str) -> Result<(), TmuxError> {
    let failed = |source| TmuxError::Write { path: path.to_owned(), source };
    let mut options = fs::OpenOptions::new();
    let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(path).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
