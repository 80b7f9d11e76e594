//! Signals that were ignored when this process was started.
//!
//! A shell without job control starts what goes to the background (`warp run &`, a CI job) with SIGINT and SIGQUIT ignored,
//! and every program that it starts inherits that: an agent would not hear that it is to end. A signal with a handler is
//! reset to its default by exec, so a handler that does nothing keeps the signal ignored here and not in children.
//!
//! SIGHUP stays as it is: `nohup` means the children too.

use std::{
    fs,
    sync::{Arc, Once, atomic::AtomicBool},
};

use rustix::process::Signal;

/// Signals that warp sends to programs or that a person sends to them.
const RESET: [Signal; 3] = [Signal::INT, Signal::QUIT, Signal::TERM];

/// Makes programs that are started from here on begin with the default action for the signals that warp sends.
pub(crate) fn reset_in_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = ignored();
        for signal in RESET.into_iter().filter(|signal| is_in(ignored, *signal)) {
            // The flag is not looked at. Without the handler the program starts as this one did, which is no worse.
            let _ = signal_hook::flag::register(signal.as_raw(), Arc::new(AtomicBool::new(false)));
        }
    });
}

/// Tells whether this process ignores a signal.
pub fn is_ignored(signal: Signal) -> bool {
    is_in(ignored(), signal)
}

/// Returns the mask of signals that are ignored; nothing is, where the kernel does not tell.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    mask(&status)
}

fn mask(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

fn is_in(mask: u64, signal: Signal) -> bool {
    // Signals are counted from one.
    mask >> (signal.as_raw() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_kernels_mask() {
        let mask = mask("Name:\tsh\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000000006\nSigCgt:\t0\n");
        assert!(is_in(mask, Signal::INT) && is_in(mask, Signal::QUIT));
        assert!(!is_in(mask, Signal::HUP) && !is_in(mask, Signal::TERM));
        assert_eq!(super::mask("Name:\tsh\n"), 0);
    }
}
