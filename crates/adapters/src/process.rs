//! Running a program to its end, whatever it does.

use std::{
    ffi::OsStr,
    io::{self, Read},
    os::unix::process::{CommandExt as _, ExitStatusExt as _},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};

/// How much of each end of an output is kept.
const HEAD_KEPT: usize = 1024 * 1024;
const TAIL_KEPT: usize = 64 * 1024;
/// How long a program that was asked to end may take to do so.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait for output after the end; a child that left the group may hold it open for ever.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Exit(i32),
    Signal(i32),
    /// It was stopped because its time was up.
    TimedOut(Duration),
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

    /// Returns the last lines of both outputs, at most `most` characters.
    pub fn last_words(&self, most: usize) -> String {
        let mut text = String::from_utf8_lossy(&self.stdout).trim_end().to_owned();
        let errors = String::from_utf8_lossy(&self.stderr).trim_end().to_owned();
        if !text.is_empty() && !errors.is_empty() {
            text.push('\n');
        }
        text.push_str(&errors);
        let skip = text.chars().count().saturating_sub(most);
        text.chars().skip(skip).collect()
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exit(code) => write!(f, "exit {code}"),
            End::Signal(signal) => write!(f, "signal {signal}"),
            End::TimedOut(after) => write!(f, "stopped after {} s", after.as_secs()),
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
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).envs(environment.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child =
        command.spawn().map_err(|source| RunError::Start { program: program.to_owned(), source })?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let ended = wait(child);

    let mut timed_out = false;
    let status = match ended.recv_timeout(limit) {
        Ok(status) => status,
        Err(_) => {
            timed_out = true;
            signal(group, Signal::TERM);
            match ended.recv_timeout(GRACE) {
                Ok(status) => status,
                Err(_) => {
                    signal(group, Signal::KILL);
                    ended.recv().unwrap_or_else(|_| Err(io::Error::other("the waiting thread is gone")))
                }
            }
        }
    };
    // Whatever it left behind in its group ends with it.
    signal(group, Signal::KILL);
    let status = status.map_err(|source| RunError::Wait { program: program.to_owned(), source })?;
    let end = if timed_out { End::TimedOut(limit) } else { end_of(status) };
    let (stdout, cut) = stdout.recv_timeout(LAST_OUTPUT).unwrap_or_default();
    let (stderr, _) = stderr.recv_timeout(LAST_OUTPUT).unwrap_or_default();
    Ok(Finished { end, stdout, stderr, cut })
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

fn wait(mut child: Child) -> Receiver<io::Result<ExitStatus>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait()));
    receiver
}

/// Reads an output to its end, keeping its head and its tail.
fn collect(output: Option<impl Read + Send + 'static>) -> Receiver<(Vec<u8>, bool)> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut head = Vec::new();
        let mut tail: Vec<u8> = Vec::new();
        let mut cut = false;
        let mut buffer = [0; 16 * 1024];
        let Some(mut output) = output else { return };
        while let Ok(count) = output.read(&mut buffer) {
            if count == 0 {
                break;
            }
            let room = HEAD_KEPT.saturating_sub(head.len()).min(count);
            head.extend_from_slice(&buffer[..room]);
            tail.extend_from_slice(&buffer[room..count]);
            if tail.len() > 2 * TAIL_KEPT {
                tail.drain(..tail.len() - TAIL_KEPT);
                cut = true;
            }
        }
        head.append(&mut tail);
        // Nobody listens any more if the program outlived its limit.
        let _ = sender.send((head, cut));
    });
    receiver
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
        assert!(finished.cut && finished.stdout.len() < 2 * HEAD_KEPT);
        assert!(finished.stdout.ends_with(b"xend\n"));
    }

    #[test]
    fn a_missing_program_is_an_error_that_names_it() {
        let error = run("no-such-program-here", ["x"], Path::new("/"), &[], GRACE).unwrap_err();
        assert_eq!(error.to_string(), "failed to start `no-such-program-here`");
    }
}
