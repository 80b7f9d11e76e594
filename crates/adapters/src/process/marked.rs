//! Processes that carry a mark in their environment: a job's descendants, wherever they went.
//!
//! A program may leave its process group and its session, and outlive its parent; what it was started with stays
//! readable in `/proc`. Only one that throws its whole environment away is not found, and within a sandbox even
//! that one ends with its namespace.

use std::{
    fs,
    os::fd::OwnedFd,
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use super::pid_of;
use crate::machine;

/// The variable that holds the mark.
pub const MARK: &str = "WARP_CHILD";
/// How long processes may take to be gone after they were killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// More processes than any machine can begin in a second.
const BEGUN_A_SECOND: u64 = 1_000_000;
/// Up to so many numbers are tried one by one: a list of all processes takes longer.
const FEW: u32 = 200;

/// Ends what an earlier driver of a run left behind, and returns how many processes that were.
///
/// `mark` is what the jobs of that run were marked with. This process and those above it are never ended.
pub fn end_leftovers(mark: &str) -> usize {
    let start = format!("{MARK}={mark}.");
    end_all(|entry| entry.starts_with(start.as_bytes()), || machine::processes().collect(), 1)
}

/// Ends every process of one job, whose first process was `first` and began that long ago. There are none when that was
/// seen so many times in a row: one that is just becoming another program shows no environment for a moment.
pub(super) fn end_job(name: &str, (first, age): (u32, Duration), looks: usize) -> usize {
    let entry = format!("{MARK}={name}");
    let begun = Instant::now();
    end_all(|found| found == entry.as_bytes(), || since(first, age + begun.elapsed()), looks)
}

/// Returns the numbers of all processes that began after `first`, among others.
///
/// Numbers are given out in order, until the highest is reached. Before that can have happened, whatever has a lower
/// one is older.
fn since(first: u32, age: Duration) -> Vec<u32> {
    let newest = machine::newest_process().filter(|newest| *newest >= first && are_in_order(age));
    match newest {
        Some(newest) if newest - first <= FEW => (first..=newest).collect(),
        Some(_) => machine::processes().filter(|pid| *pid >= first).collect(),
        None => machine::processes().collect(),
    }
}

/// Tells whether fewer processes than there are numbers can have begun in a time.
fn are_in_order(age: Duration) -> bool {
    static MOST: OnceLock<u64> = OnceLock::new();
    let most = MOST.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/kernel/pid_max").unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    });
    age.as_secs_f64() * (BEGUN_A_SECOND as f64) < *most as f64
}

/// Kills all processes with such an entry, until none is left or the time is up: one may be starting another.
fn end_all(is_marked: impl Fn(&[u8]) -> bool, candidates: impl Fn() -> Vec<u32>, looks: usize) -> usize {
    let begun = Instant::now();
    let above = OnceLock::new();
    let is_above = |pid: u32| above.get_or_init(machine::lineage).contains(&pid);
    let mut ended = Vec::new();
    let mut quiet = 0;
    loop {
        let mut killed = Vec::new();
        for pid in candidates().into_iter().filter(|pid| has_mark(*pid, &is_marked) && !is_above(*pid)) {
            if let Some(held) = kill_if_marked(pid, &is_marked) {
                killed.push(held);
                if !ended.contains(&pid) {
                    ended.push(pid);
                }
            }
        }
        quiet = if killed.is_empty() { quiet + 1 } else { 0 };
        if quiet >= looks || begun.elapsed() > PATIENCE {
            return ended.len();
        }
        pause(&killed);
    }
}

/// Waits a little, or until all that were killed are gone.
fn pause(killed: &[OwnedFd]) {
    let until = Instant::now() + PAUSE;
    for held in killed {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: 0, tv_nsec: left.subsec_nanos().into() };
        // An interrupted wait is a shorter one.
        let _ = poll(&mut [PollFd::new(held, PollFlags::IN)], Some(&left));
    }
    if killed.is_empty() {
        thread::sleep(PAUSE);
    }
}

/// Kills a process if it is still marked, and returns what tells its end. It is held first, so that no other is hit that
/// got its number.
fn kill_if_marked(pid: u32, is_marked: &impl Fn(&[u8]) -> bool) -> Option<OwnedFd> {
    let held = pidfd_open(pid_of(pid)?, PidfdFlags::empty()).ok()?;
    (has_mark(pid, is_marked) && pidfd_send_signal(&held, Signal::KILL).is_ok()).then_some(held)
}

fn has_mark(pid: u32, is_marked: &impl Fn(&[u8]) -> bool) -> bool {
    // The environment of one that has ended is empty.
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(is_marked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_in_order_while_their_numbers_last() {
        assert!(!are_in_order(Duration::from_secs(24 * 3600)));
        let own = std::process::id();
        assert!(since(own, Duration::from_secs(24 * 3600)).contains(&1));
        assert!(since(own, Duration::ZERO).contains(&own));
    }
}
