//! A client that is running: its deadline, its death and what it said.
//!
//! A client leads a process group of its own, and is not reaped before the [`Running`] is dropped: until then its
//! group's number cannot be given to anything else, so ending the group never hits a stranger. Clients start their
//! tools in further groups; those are found by a variable that all of them inherit.
//!
//! Output goes to files, not to pipes: a tool that outlives the client cannot keep a reader waiting.

use std::{
    fs::{self, File},
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::{fs::FileExt as _, process::CommandExt as _},
    },
    process::{Child, Command, Output},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, pidfd_open,
        pidfd_send_signal, waitid,
    },
};
use serde_json::Value;

/// How long a client or a command may run unless a test says otherwise. One or two seconds are usual; machines are
/// shared.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);
/// How long a killed process may take to be gone.
const DYING: Duration = Duration::from_secs(5);
/// How often what is left is looked for: a process can start another while it is being killed.
const ROUNDS: u32 = 5;
/// The variable by which everything that a client started can be told from everything else.
const MARK: &str = "WARP_TEST_CLIENT";

/// A running client. Everything that it started is killed when this is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    handle: OwnedFd,
    deadline: Instant,
    mark: String,
    out: File,
    err: File,
}

/// How a client ended, and what it said.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the deadline passed, and the client was killed for it.
    pub overdue: bool,
    /// The JSON objects that it printed, a line each. A line cut off by a signal is not among them.
    pub lines: Vec<Value>,
    /// All that it printed.
    pub out: String,
    /// What it said on standard error.
    pub err: String,
}

/// Runs a command that has to end within `patience`; what it leaves running is left alone.
pub fn output(mut command: Command, patience: Duration) -> Output {
    let (out, err) = files().expect("a command's output can be kept");
    let kept = |file: &File| file.try_clone().expect("a command's output can be kept");
    command.process_group(0).stdout(kept(&out)).stderr(kept(&err));
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
    let ends = ends_before(&child, Instant::now() + patience);
    if !ends {
        // A group that is empty already is as good as one that was killed.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    }
    let status = child.wait().expect("a command's end can be read");
    assert!(ends, "{command:?} does not end: {}{}", text(&out), text(&err));
    Output { status, stdout: bytes(&out), stderr: bytes(&err) }
}

fn files() -> io::Result<(File, File)> {
    Ok((tempfile::tempfile()?, tempfile::tempfile()?))
}

impl Running {
    /// Starts a command that has to end within `patience`.
    pub fn start(mut command: Command, patience: Duration) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let (out, err) = files()?;
        command.env(MARK, &mark).process_group(0).stdout(out.try_clone()?).stderr(err.try_clone()?);
        let mut child = command.spawn()?;
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(handle) => Ok(Self { child, handle, deadline: Instant::now() + patience, mark, out, err }),
            Err(error) => {
                child.kill()?;
                child.wait()?;
                Err(error.into())
            }
        }
    }

    /// Returns the client's process number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the client alone, as a crash would: what it started goes on until this is dropped.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Asks the client alone to end, as a service manager would.
    pub fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Interrupts the client alone, as a person at a terminal would.
    pub fn interrupt(&self) {
        self.signal(Signal::INT);
    }

    /// Waits until the client has ended; past the deadline, kills it and all that it started.
    pub fn wait(&mut self) -> Ended {
        let overdue = !is_over(&self.handle, self.deadline);
        if overdue {
            self.end_all();
        }
        let status = self.status();
        let out = text(&self.out);
        Ended {
            code: status.exit_status(),
            signal: status.terminating_signal(),
            overdue,
            lines: out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
            out,
            err: text(&self.err),
        }
    }

    /// Returns what the client has printed so far.
    pub fn out(&self) -> String {
        text(&self.out)
    }

    /// Returns the processes that the client started and that still run, the client itself left out.
    pub fn leftovers(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers.filter(|number| *number != self.id() && self.is_ours(*number)).collect()
    }

    fn is_ours(&self, number: u32) -> bool {
        let mark = format!("{MARK}={}", self.mark);
        // The environment of a process that has ended, or of another person's, cannot be read.
        let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    }

    fn signal(&self, signal: Signal) {
        match pidfd_send_signal(&self.handle, signal) {
            // A client that has ended by itself needs no signal.
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => panic!("the client cannot be sent {signal:?}: {error}"),
        }
    }

    /// Waits for the end, which is certain by now, and leaves the client to be reaped.
    fn status(&self) -> WaitIdStatus {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::PidFd(self.handle.as_fd()), options) {
                Ok(Some(status)) => return status,
                Ok(None) | Err(Errno::INTR) => {}
                Err(error) => panic!("the client's end cannot be read: {error}"),
            }
        }
    }

    /// Kills the client, its group and whatever carries its mark, and sees them dead.
    fn end_all(&self) {
        // A group that is empty already is as good as one that was killed.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        for _ in 0..ROUNDS {
            let left = self.leftovers();
            if left.is_empty() {
                return;
            }
            left.into_iter().for_each(|number| self.end(number));
        }
    }

    fn end(&self, number: u32) {
        let Some(pid) = number.try_into().ok().and_then(Pid::from_raw) else { return };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        // Asked again with the handle open: from here on the number cannot pass to a stranger unnoticed.
        if self.is_ours(number) && pidfd_send_signal(&handle, Signal::KILL).is_ok() {
            is_over(&handle, Instant::now() + DYING);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end_all();
        // It is dead, so this does not wait; a destructor has nobody to tell of a failure.
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Returns the printed objects whose `type` is `kind`.
    pub fn of_type(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["type"] == kind).collect()
    }

    /// Returns the last `result` object of Claude Code.
    pub fn result(&self) -> Option<&Value> {
        self.of_type("result").pop()
    }
}

/// Waits for a child that is not reaped yet to end; says whether it did before the deadline.
pub(crate) fn ends_before(child: &Child, deadline: Instant) -> bool {
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
    is_over(&handle.expect("a child that is not reaped can be watched"), deadline)
}

/// Waits for a process to end; says whether it did before the deadline.
fn is_over(handle: &OwnedFd, deadline: Instant) -> bool {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a deadline is not centuries away");
        let mut watched = [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)];
        match poll(&mut watched, Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(Errno::INTR) => {}
            Err(error) => panic!("a process cannot be waited for: {error}"),
        }
    }
}

fn text(file: &File) -> String {
    String::from_utf8_lossy(&bytes(file)).into_owned()
}

/// Reads a file from its beginning without moving the place where its writers go on.
fn bytes(file: &File) -> Vec<u8> {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = vec![0; usize::try_from(length).expect("output fits into memory")];
    file.read_exact_at(&mut bytes, 0).expect("output can be read");
    bytes
}
