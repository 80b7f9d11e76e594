//! The processes that work in a project: each has its home in its environment.

use std::{
    fs,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use testkit::Sandbox;

use super::project::PATIENCE;

/// The program that builds walls.
const WALLS: &str = "bwrap";
/// How often nothing has to be found before nothing is there: a process that is just becoming another program shows no
/// environment for a moment.
const LOOKS: usize = 3;

/// Kills the client that warp has started: the first that was put behind the walls, and nothing else.
pub(crate) fn kill_client(warp: u32) {
    let all: Vec<Process> = numbers().filter_map(Process::read).collect();
    let find = |pid: i32| all.iter().find(|process| process.pid == pid);
    let is_below_warp = |process: &Process| {
        let mut above = Some(process);
        // As many as there are processes, at most.
        (0..all.len()).any(|_| {
            above = above.and_then(|process| find(process.parent));
            above.is_some_and(|process| u32::try_from(process.pid) == Ok(warp))
        })
    };
    let is_client = |process: &&Process| {
        process.name != WALLS
            && find(process.parent).is_some_and(|parent| parent.name == WALLS)
            && is_below_warp(process)
    };
    let client = all.iter().filter(is_client).min_by_key(|process| process.begun);
    let client = client.expect("the client has no end at this moment");
    pidfd_send_signal(handle(client.pid).expect("the client runs"), Signal::KILL).unwrap();
}

/// Waits until nothing works in a project any more; tells whether it came to that.
pub(crate) fn are_gone(sandbox: &Sandbox) -> bool {
    let until = Instant::now() + PATIENCE;
    let mut quiet = 0;
    while quiet < LOOKS {
        let Some(pid) = numbers().find(|pid| works_in(*pid, sandbox)) else {
            quiet += 1;
            continue;
        };
        quiet = 0;
        // One that cannot be opened any more is gone.
        let Some(process) = handle(pid) else { continue };
        if !ends_within(&process, until.saturating_duration_since(Instant::now())) {
            return false;
        }
    }
    true
}

/// Tells whether a process works in a project. Of one that is dead the environment is empty.
fn works_in(pid: i32, sandbox: &Sandbox) -> bool {
    let home = format!("HOME={}", sandbox.home().display());
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
}

fn ends_within(process: &OwnedFd, patience: Duration) -> bool {
    let timeout = Timespec { tv_sec: patience.as_secs().try_into().unwrap(), tv_nsec: 0 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout)).unwrap() > 0
}

fn handle(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

fn numbers() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

struct Process {
    pid: i32,
    name: String,
    parent: i32,
    /// When it began, in the system's own count.
    begun: u64,
}

impl Process {
    /// Reads what the system says of a process; none if it is gone.
    fn read(pid: i32) -> Option<Self> {
        let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name is between brackets, and may have some of its own.
        let (before, after) = line.rsplit_once(") ")?;
        let name = before.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = after.split(' ').collect();
        Some(Self { pid, name, parent: fields.get(1)?.parse().ok()?, begun: fields.get(19)?.parse().ok()? })
    }
}
