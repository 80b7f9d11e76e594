//! Running a program to its end, whatever it does.
//!
//! [`run`] waits for a program and returns what it said; [`follow()`] hands out every line while the program runs, and
//! can stop it. Both give it a process group of its own and a deadline, keep the head and the tail of what it prints,
//! and end whatever it leaves behind; what is followed has a control group of its own too, where one can be made.

mod attend;
mod bounds;
mod cgroup;
mod follow;
mod marked;
mod output;
mod signals;

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt, io,
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::process::{Pid, kill_process_group};

pub use bounds::{Bounds, in_force as bounds_in_force, share_of_memory};
pub use cgroup::has_cgroups;
pub use follow::{
    Control, Environment, Job, Limits, ProgramEvent, ProgramResult, SignalTarget, converse, follow,
};
pub use marked::{MARK, end_leftovers, end_orphans};
pub use rustix::process::Signal;
pub use signals::is_ignored;

pub(crate) use cgroup::Cgroup;
pub(crate) use marked::name;
pub(crate) use signals::reset_in_children;

use crate::secrets;
use attend::{AttendedChild, WaitResult};
use follow::follow_trusted;
use output::OutputBuffer;

/// How long a program that was asked to end may take to do so.
const GRACE: Duration = Duration::from_secs(2);
/// How long a killed program may take to be gone.
const LAST: Duration = Duration::from_secs(5);
/// How long to wait for output after the end; a child that left the group may hold it open for ever.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// It was stopped because its time was up.
    TimedOut(Duration),
    /// It was stopped because it had said nothing for so long.
    Silent(Duration),
    /// It was stopped by whoever watched it.
    Stopped,
}

/// What a program did.
#[derive(Clone, Debug)]
pub struct Finished {
    pub end: End,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Set when the middle of the standard output was left out.
    pub cut: bool,
}

/// Why a program could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("failed to start `{program}`")]
    Start {
        program: String,
        #[source]
        source: io::Error,
    },
    #[error("failed to wait for `{program}`")]
    Wait {
        program: String,
        #[source]
        source: io::Error,
    },
}

impl Finished {
    /// Tells whether it ended by itself, with success.
    pub fn is_success(&self) -> bool {
        self.end == End::Exit(0)
    }

    /// Returns the standard output as text, without the line end.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }

    /// Returns the last lines of both outputs, at most `most` characters, without secrets.
    pub fn last_words(&self, most: usize) -> String {
        let mut text = String::from_utf8_lossy(&self.stdout).trim_end().to_owned();
        let errors = String::from_utf8_lossy(&self.stderr).trim_end().to_owned();
        if !text.is_empty() && !errors.is_empty() {
            text.push('\n');
        }
        text.push_str(&errors);
        // Before it is cut: half a secret is not known any more.
        let text = secrets::redacted(text);
        let skip = text.chars().count().saturating_sub(most);
        text.chars().skip(skip).collect()
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Shells and sandboxes pass a signal on in this way.
            End::Exit(code @ 129..=159) => write!(f, "exit {code}, as by signal {}", code - 128),
            End::Exit(code) => write!(f, "exit {code}"),
            End::Signal(signal) => write!(f, "signal {signal}"),
            End::TimedOut(after) => write!(f, "stopped after {} s", after.as_secs()),
            End::Silent(after) => write!(f, "stopped after {} s without a word", after.as_secs()),
            End::Stopped => f.write_str("stopped"),
        }
    }
}

/// Runs a program in `directory` without input, for at most `limit`, and ends its whole process group.
pub fn run<S: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = S>,
    directory: &Path,
    environment: &[(&str, &str)],
    limit: Duration,
) -> Result<Finished, RunError> {
    run_without(&[], program, arguments, directory, environment, limit)
}

/// Runs a program as [`run`] does, but hides these variables of the caller's environment from it.
pub fn run_without<S: AsRef<OsStr>>(
    hidden: &[&str],
    program: &str,
    arguments: impl IntoIterator<Item = S>,
    directory: &Path,
    environment: &[(&str, &str)],
    limit: Duration,
) -> Result<Finished, RunError> {
    run_reading(Vec::new(), hidden, program, arguments, directory, environment, limit)
}

/// Runs a program at the terminal of this one, for as long as the person there needs it: an editor has no deadline.
pub fn run_at_terminal<S: AsRef<OsStr>>(
    program: &str,
    arguments: impl IntoIterator<Item = S>,
) -> Result<End, RunError> {
    reset_in_children();
    let status = Command::new(program).args(arguments).status();
    status.map(end_of).map_err(|source| RunError::Start { program: program.to_owned(), source })
}

/// Runs a program as [`run_without`] does, and lets it read an input.
pub(crate) fn run_reading<S: AsRef<OsStr>>(
    input: Vec<u8>,
    hidden: &[&str],
    program: &str,
    arguments: impl IntoIterator<Item = S>,
    directory: &Path,
    environment: &[(&str, &str)],
    limit: Duration,
) -> Result<Finished, RunError> {
    let mut command = Command::new(program);
    // What is not there need not be hidden, and a list of it costs more than looking.
    for name in hidden.iter().filter(|name| env::var_os(name).is_some()) {
        command.env_remove(name);
    }
    command.args(arguments).current_dir(directory).envs(environment.iter().copied());
    command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    reset_in_children();
    let child = command.spawn().map_err(|source| RunError::Start { program: program.to_owned(), source })?;
    let group = pid_of(child.id());
    let mut said = RunningProgram {
        child: AttendedChild::new(child, input, None),
        out: OutputBuffer::default(),
        err: OutputBuffer::default(),
    };
    let mut timed_out = false;
    let mut status = said.until_it_ends(limit);
    for (sent, patience) in [(Signal::TERM, GRACE), (Signal::KILL, LAST)] {
        if status.is_some() {
            break;
        }
        timed_out = true;
        signal(group, sent);
        status = said.until_it_ends(patience);
    }
    // Whatever it left behind in its group ends with it.
    signal(group, Signal::KILL);
    let gone = || Err(io::Error::new(io::ErrorKind::TimedOut, "it does not end, although it was killed"));
    let status = status.unwrap_or_else(gone);
    let status = status.map_err(|source| RunError::Wait { program: program.to_owned(), source })?;
    let end = if timed_out { End::TimedOut(limit) } else { end_of(status) };
    said.last_words();
    let ((stdout, cut), (stderr, _)) = (said.out.finish(), said.err.finish());
    Ok(Finished { end, stdout, stderr, cut })
}

/// Says whether a program that waits for others may go on. Clones ask the same; by default everything may.
#[derive(Clone, Default)]
pub struct StopCheck(Option<Arc<dyn Fn() -> Control + Send + Sync>>);

impl StopCheck {
    /// Returns one that asks `go`.
    pub fn new(go: impl Fn() -> Control + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(go)))
    }

    /// Tells whether a program may go on.
    pub fn go(&self) -> Control {
        self.0.as_ref().map_or(Control::On, |go| go())
    }
}

impl fmt::Debug for StopCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StopCheck")
    }
}

/// Runs a program as [`run_without`] does, but one that may wait for others: `stop` can interrupt it, and the next `warp`
/// ends it if this one is killed.
pub(crate) fn run_interruptible(
    hidden: &[&str],
    program: &str,
    arguments: Vec<OsString>,
    directory: &Path,
    environment: &[(&str, &str)],
    limit: Duration,
    stop: Option<&StopCheck>,
) -> Result<Finished, RunError> {
    let shown = env::vars_os().filter(|(name, _)| !hidden.iter().any(|hidden| name == hidden));
    let own = environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let job = Job {
        program: program.into(),
        arguments,
        directory,
        environment: Environment::Exactly(shown.chain(own).collect()),
        input: Vec::new(),
        limits: Limits { whole: limit, silence: limit },
        ladder: &[(Signal::TERM, GRACE)],
        reach: SignalTarget::Group,
        mark: "call",
    };
    let followed = follow_trusted(job, &mut |_| stop.map_or(Control::On, StopCheck::go))?;
    let ProgramResult { end, stdout, stderr, cut, left_behind: _ } = followed;
    Ok(Finished { end, stdout, stderr, cut })
}

/// Tells whether there is a program of that name.
pub fn is_installed(program: impl AsRef<Path>) -> bool {
    installed(program).is_some()
}

/// Returns the path of the program of that name.
pub(crate) fn installed(program: impl AsRef<Path>) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|directory| directory.join(program.as_ref())).find(|path| path.is_file())
}

/// A running program with its captured output.
struct RunningProgram {
    child: AttendedChild,
    out: OutputBuffer,
    err: OutputBuffer,
}

impl RunningProgram {
    /// Listens until the program has ended; nothing if the time is up before.
    fn until_it_ends(&mut self, limit: Duration) -> Option<io::Result<ExitStatus>> {
        let until = Instant::now() + limit;
        loop {
            match self.child.wait(until) {
                WaitResult::Out(bytes) => self.out.add(bytes),
                WaitResult::Err(bytes) => self.err.add(bytes),
                WaitResult::OutClosed | WaitResult::ErrClosed => {}
                WaitResult::Ended(status) => return Some(status),
                WaitResult::Nothing => return None,
            }
            if Instant::now() >= until {
                return None;
            }
        }
    }

    /// Takes what was said and not yet read.
    fn last_words(&mut self) {
        let until = Instant::now() + LAST_OUTPUT;
        while !self.child.is_silent() && Instant::now() < until {
            match self.child.wait(until) {
                WaitResult::Out(bytes) => self.out.add(bytes),
                WaitResult::Err(bytes) => self.err.add(bytes),
                WaitResult::OutClosed | WaitResult::ErrClosed => {}
                WaitResult::Ended(_) | WaitResult::Nothing => return,
            }
        }
    }
}

fn end_of(status: ExitStatus) -> End {
    match status.code() {
        Some(code) => End::Exit(code),
        None => End::Signal(status.signal().unwrap_or(0)),
    }
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // The group may be gone already, which is what is wanted.
        let _ = kill_process_group(group, signal);
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Finished {
        run("sh", ["-c", script], Path::new("/"), &[], limit).unwrap()
    }

    #[test]
    fn a_program_that_ends_is_reported_with_its_words() {
        let finished = sh("echo out; echo err >&2; exit 3", Duration::from_secs(20));
        assert_eq!(finished.end, End::Exit(3));
        assert_eq!(finished.last_words(100), "out\nerr");
        assert_eq!(finished.last_words(3), "err");
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_its_children() {
        let finished = sh("trap '' TERM; sleep 600 & sleep 600", Duration::from_millis(100));
        assert_eq!(finished.end, End::TimedOut(Duration::from_millis(100)));
    }

    #[test]
    fn a_flood_is_cut_in_the_middle() {
        let finished = sh("head -c 5000000 /dev/zero | tr '\\0' x; echo end", Duration::from_secs(60));
        assert!(finished.cut && finished.stdout.len() < 2 * output::HEAD_KEPT);
        assert!(finished.stdout.ends_with(b"xend\n"));
    }

    #[test]
    fn a_missing_program_is_an_error_that_names_it() {
        let error = run("no-such-program-here", ["x"], Path::new("/"), &[], GRACE).unwrap_err();
        assert_eq!(error.to_string(), "failed to start `no-such-program-here`");
    }
}
