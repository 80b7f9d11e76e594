//! What is done besides where warp runs as root.
//!
//! A superuser without capabilities still owns the kernel's files: whoever may write `/proc/sys/kernel/core_pattern` runs
//! a program outside. So these are mounted read-only, what only root may read is not there, as far as [`private`] finds it,
//! and programs run as another user where that can be had. Where it cannot, no user namespace can be made inside, in which
//! the kernel's files could be mounted anew.

mod private;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use super::user;

/// Privileges with which the sandbox is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Privilege {
    /// An ordinary user, whom the kernel lets change nothing of the machine.
    User,
    /// Root, whose programs inside run as [another user](super::user).
    RootAsUser,
    /// Root, in a user namespace in which no other can be made.
    RootAlone,
    /// Root, where user namespaces are not to be had.
    Root,
}

/// Parts of `/proc` by which root changes the machine.
const READ_ONLY: [&str; 9] = ["sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi", "driver", "mtrr"];

/// Files that show the kernel's memory, or keys of others, to root.
const NOT_THERE: [&str; 12] = [
    "/proc/kcore",
    "/proc/kmem",
    "/proc/kmsg",
    "/proc/keys",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/slabinfo",
    "/proc/timer_list",
    "/proc/vmallocinfo",
];

/// How the trial ends where the machine's settings can be written.
pub(super) const OPEN: i32 = 9;
/// Looks whether the machine's settings can be opened for writing; nothing is written.
pub(super) const TRIAL: &str = "for file in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe \\
    /proc/sysrq-trigger; do if (true >>$file) 2>/dev/null; then exit 9; fi; done; exit 0";

/// Returns the kinds of sandbox that are to be tried, the best first.
pub(super) fn ranks() -> &'static [Privilege] {
    match geteuid().is_root() {
        true if user::is_available() => &[Privilege::RootAsUser, Privilege::RootAlone, Privilege::Root],
        true => &[Privilege::RootAlone, Privilege::Root],
        false => &[Privilege::User],
    }
}

/// Returns arguments for what is covered. They come after those for `/proc`.
pub(super) fn mounts(rank: Privilege) -> Vec<OsString> {
    if rank == Privilege::User {
        return Vec::new();
    }
    let proc = READ_ONLY.iter().map(|name| Path::new("/proc").join(name)).filter(|path| path.exists());
    let read_only = proc.map(|path| ["--ro-bind".into(), path.clone().into_os_string(), path.into()]);
    let mut all: Vec<OsString> = read_only.flatten().collect();
    let private = private::places().iter().map(PathBuf::as_path);
    for path in NOT_THERE.iter().map(Path::new).chain(private).filter(|path| path.exists()) {
        if path.is_dir() {
            all.extend(["--size", "4096", "--tmpfs"].map(OsString::from));
        } else {
            all.extend(["--ro-bind", "/dev/null"].map(OsString::from));
        }
        all.push(path.into());
    }
    all
}

/// Returns what stands before the first program inside.
pub(super) fn switch(rank: Privilege) -> Vec<OsString> {
    if rank == Privilege::RootAsUser { user::switch() } else { Vec::new() }
}

/// Returns arguments for namespaces and capabilities besides those of every sandbox.
pub(super) fn namespaces(rank: Privilege) -> &'static [&'static str] {
    match rank {
        Privilege::RootAlone => &["--unshare-user", "--disable-userns"],
        // What it takes to become another user; nothing of it is left to that one.
        Privilege::RootAsUser => {
            &["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
        }
        Privilege::Root | Privilege::User => &[],
    }
}
