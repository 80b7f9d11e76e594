//! Processes that a test has caused: marked so that no other test's are taken for them, and waited for.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

/// How long a process may take to be there, or to be gone.
const PATIENCE: Duration = Duration::from_secs(90);

/// Returns an argument for `sleep` that no other process on this machine has: a long time.
pub fn mark() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("9{:07}{:03}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Tells whether some process has this among its arguments.
pub fn is_running(argument: &str) -> bool {
    with(argument).is_some()
}

/// Waits until some process has this among its arguments; tells whether it came to that.
pub fn has_begun(argument: &str) -> bool {
    let until = Instant::now() + PATIENCE;
    while !is_running(argument) {
        if Instant::now() >= until {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// Waits until no process has this among its arguments; tells whether it came to that.
pub fn is_gone(argument: &str) -> bool {
    wait_until_none(|| with(argument)).is_none()
}

/// Waits until there is none of these processes any more; returns one that is there nevertheless.
pub fn wait_until_none(one: impl Fn() -> Option<Pid>) -> Option<Pid> {
    let until = Instant::now() + PATIENCE;
    loop {
        let pid = one()?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Some(pid);
        }
        // One that cannot be opened any more is gone.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
        let timeout = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: 1_000_000 };
        // An interrupted wait is a shorter one.
        let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout));
    }
}

/// Finds a process whose arguments are like this.
pub fn find(is_it: impl Fn(&[&[u8]]) -> bool) -> Option<Pid> {
    let mut processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.find_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        is_it(&words).then_some(pid)
    })
}

fn with(argument: &str) -> Option<Pid> {
    find(|words| words.contains(&argument.as_bytes()))
}
