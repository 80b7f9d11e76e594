//! Processes that carry a mark in their environment: a job's descendants, wherever they went.
//!
//! A program may leave its process group and its session, and outlive its parent; what it was started with stays
//! readable in `/proc`. Only one that throws its whole environment away is not found by that: its control group
//! ([`Cgroup`](super::Cgroup)) tells whose it is, and within a sandbox it ends with its namespace.

use std::{
    env, fs,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    sync::OnceLock,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use super::{cgroup, pid_of};
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

/// Returns this process as the driver of its children: where it is from, its number there and when it began.
pub(crate) fn driver() -> &'static str {
    static DRIVER: OnceLock<String> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let pid = std::process::id();
        let began = machine::owner(pid).start_ticks.unwrap_or_default();
        format!("{}-{pid}-{began}", origin())
    })
}

/// Returns where this process is from: the namespace in which it has its number, and the home that it works for.
fn origin() -> String {
    let namespace = machine::pid_namespace();
    let home = env::var_os("HOME").and_then(|home| fs::metadata(home).ok());
    let (device, file) = home.map_or((0, 0), |home| (home.dev(), home.ino()));
    format!("{namespace}-{device}-{file}")
}

/// Names a child: the run that it belongs to, the process that drives it, and what tells it from its siblings.
pub(crate) fn name(mark: &str, own: &str) -> String {
    format!("{mark}.{}.{own}", driver())
}

/// Tells whether the driver in a child's name is no more. Of one in another namespace that cannot be told, and one that
/// worked for another home is not ours.
pub(super) fn is_orphan(name: &str) -> bool {
    let mut parts = name.rsplit('.').nth(1).unwrap_or_default().rsplitn(3, '-');
    let (Some(began), Some(pid), Some(from)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (Ok(began), Ok(pid)) = (began.parse::<u64>(), pid.parse()) else { return false };
    from == origin() && machine::owner(pid).start_ticks != Some(began)
}

/// Tells whether the driver in a child's name is no more, whatever home it worked for. Good enough to remove what is empty.
pub(super) fn has_no_driver(name: &str) -> bool {
    let mut parts = name.rsplit('.').nth(1).unwrap_or_default().rsplitn(3, '-');
    let (Some(began), Some(pid), Some(from)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let (Ok(began), Ok(pid)) = (began.parse::<u64>(), pid.parse()) else { return false };
    let is_here = from.split('-').next() == Some(machine::pid_namespace().to_string().as_str());
    is_here && machine::owner(pid).start_ticks != Some(began)
}

/// Ends what an earlier driver of a run left behind, and returns how many processes that were.
///
/// `mark` is what the jobs of that run were marked with. This process and those above it are never ended.
pub fn end_leftovers(mark: &str) -> usize {
    let start = format!("{mark}.");
    end_known(|name| name.starts_with(&start))
}

/// Ends what drivers left behind that are no more and worked for the same home, and returns how many processes that were.
pub fn end_orphans() -> usize {
    end_known(is_orphan)
}

fn end_known(is_ours: impl Fn(&str) -> bool) -> usize {
    let is_known = |pid: u32| carries(pid, &is_ours) || cgroup::holds(pid, &is_ours);
    let ended = end_all(is_known, || machine::processes().collect(), 1);
    cgroup::remove_all(&is_ours);
    ended
}

/// Ends every process of one job, whose first process was `first` and began that long ago. There are none when that was
/// seen so many times in a row: one that is just becoming another program shows no environment for a moment.
pub(super) fn end_job(name: &str, (first, age): (u32, Duration), looks: usize) -> usize {
    let begun = Instant::now();
    end_all(|pid| carries(pid, &|found| found == name), || since(first, age + begun.elapsed()), looks)
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

/// Kills all processes that are ours, until none is left or the time is up: one may be starting another.
pub(super) fn end_all(
    is_ours: impl Fn(u32) -> bool,
    candidates: impl Fn() -> Vec<u32>,
    looks: usize,
) -> usize {
    let begun = Instant::now();
    let above = OnceLock::new();
    let is_above = |pid: u32| above.get_or_init(machine::lineage).contains(&pid);
    let mut ended = Vec::new();
    let mut quiet = 0;
    loop {
        let mut killed = Vec::new();
        for pid in candidates().into_iter().filter(|pid| is_ours(*pid) && !is_above(*pid)) {
            if let Some(held) = kill_if(pid, &is_ours) {
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

/// Kills a process if it is still ours, and returns what tells its end. It is held first, so that no other is hit that
/// got its number.
fn kill_if(pid: u32, is_ours: &impl Fn(u32) -> bool) -> Option<OwnedFd> {
    let held = pidfd_open(pid_of(pid)?, PidfdFlags::empty()).ok()?;
    (is_ours(pid) && pidfd_send_signal(&held, Signal::KILL).is_ok()).then_some(held)
}

/// Tells whether a process carries such a name.
fn carries(pid: u32, is_ours: &impl Fn(&str) -> bool) -> bool {
    // The environment of one that has ended is empty.
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut entries = environment.split(|byte| *byte == 0).filter_map(|entry| str::from_utf8(entry).ok());
    entries.any(|entry| {
        let name = entry.strip_prefix(MARK).and_then(|rest| rest.strip_prefix('='));
        name.is_some_and(is_ours)
    })
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

    #[test]
    fn an_orphan_is_told_by_its_driver() {
        assert!(!is_orphan(&name("r-1", "x")));
        let (origin, own) = (origin(), std::process::id());
        assert!(is_orphan(&format!("r-1.{origin}-{own}-1.x")));
        assert!(!is_orphan(&format!("r-1.0-0-0-{own}-1.x")), "another namespace counts anew");
        let here = machine::pid_namespace();
        assert!(has_no_driver(&format!("r-1.{here}-1-2-{own}-1.x")), "whatever its home");
        assert!(!has_no_driver(&name("r-1", "x")) && !has_no_driver(&format!("r-1.0-0-0-{own}-1.x")));
        for other in ["", "r-1.keeper", "r-1.a-b-c.x", "r.1-2.x"] {
            assert!(!is_orphan(other), "{other}");
        }
    }
}
