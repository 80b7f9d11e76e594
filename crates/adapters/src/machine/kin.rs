//! How this process is related to the one that carries a run on: whether an agent started it, as far as that can be told.
//!
//! Descent is one sign, the controlling terminal another. A process that was cut off from its parents (`setsid`, a second fork,
//! a namespace of its own) shows no descent; without a terminal of its own it is not known to be a person's. One that makes
//! itself a terminal cannot be told from a person who has opened one.

use std::{fs, path::PathBuf};

use engine::Owner;

use super::{Process, boot_id, is_live, process};

/// More generations than this are not looked at. A process that hides so deep is taken for a descendant.
const GENERATIONS: usize = 4096;

/// Programs that take in the children of those that have ended.
const INITS: &[&str] = &["systemd", "init", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan"];

/// Tells whether this process was started by `owner`, or by something that was.
pub fn descends_from(owner: &Owner) -> bool {
    let Some(ticks) = owner.start_ticks else { return false };
    let Some(mut pid) = itself().and_then(process).map(|process| process.parent) else { return false };
    for _ in 0..GENERATIONS {
        let Some(process) = process(pid) else { return false };
        if pid == owner.pid {
            return process.start_ticks == ticks && owner.boot_id == boot_id();
        }
        if process.parent == 0 {
            return false;
        }
        pid = process.parent;
    }
    true
}

/// Tells whether this process was cut off from whoever started it some time after `owner` began, and has no terminal by which
/// it would be somebody else's.
pub fn is_cut_off_from(owner: &Owner) -> bool {
    let Some(ticks) = owner.start_ticks else { return false };
    let boot = boot_id();
    let Some(own) = itself().and_then(process).filter(|_| !boot.is_empty()) else {
        // Without `/proc` nothing can be told.
        return true;
    };
    if boot != owner.boot_id {
        return false;
    }
    let owners = process(owner.pid).filter(|process| process.start_ticks == ticks);
    let has_own_terminal =
        own.terminal != 0 && owners.as_ref().is_none_or(|owners| owners.terminal != own.terminal);
    if has_own_terminal || !is_broken(&own, owner, ticks) {
        return false;
    }
    // Being cut off changes neither the control group nor the service.
    match (cgroup("self"), is_live(owner).then(|| cgroup(&owner.pid.to_string())).flatten()) {
        (Some(own), Some(owners)) => own == owners,
        (Some(own), None) => !own.trim_end().ends_with(".service"),
        (None, _) => true,
    }
}

/// Tells whether the line of ancestors ends with a process that only took in a child of another.
fn is_broken(own: &Process, owner: &Owner, ticks: u64) -> bool {
    let mut top = itself().unwrap_or_default();
    let mut pid = own.parent;
    for _ in 0..GENERATIONS {
        if pid == 0 {
            // The first process of a namespace that began after the owner did. Others without a parent came in from outside.
            return top == 1;
        }
        match process(pid) {
            Some(older) if older.start_ticks < ticks => {
                let took_in = || older.terminal != own.terminal && is_above(pid, owner);
                return pid == 1 || INITS.contains(&older.name.as_str()) || took_in();
            }
            Some(process) => (top, pid) = (pid, process.parent),
            None => return true,
        }
    }
    true
}

/// Tells whether a process is an ancestor of `owner`.
fn is_above(ancestor: u32, owner: &Owner) -> bool {
    let mut pid = owner.pid;
    for _ in 0..GENERATIONS {
        match process(pid) {
            Some(process) if process.parent == ancestor => return true,
            Some(process) if process.parent != 0 => pid = process.parent,
            Some(_) | None => return false,
        }
    }
    false
}

/// Returns the number that this process has in `/proc`, which may be that of another namespace.
fn itself() -> Option<u32> {
    fs::read_link("/proc/self").ok()?.to_str()?.parse().ok()
}

fn cgroup(pid: &str) -> Option<String> {
    fs::read_to_string(PathBuf::from("/proc").join(pid).join("cgroup")).ok()
}
