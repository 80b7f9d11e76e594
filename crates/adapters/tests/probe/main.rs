//! Attempts to get out of the sandbox, as root and as an ordinary user.
//!
//! The attempts are in `attempts.txt`. They run in the product's sandbox, and that runs in an outer one, in which the
//! world is read-only: if the product fails, an attempt is seen to succeed, and nothing on the machine changes. Kernel
//! files are only ever opened.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod world;

use std::{
    env,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use adapters::sandbox::{Sandbox, SandboxUser};
use testkit::agents::skip;
use world::World;

/// Set in the outer sandbox, to whom the attempts are made as.
const INSIDE: &str = "WARP_PROBE_INSIDE";
/// A variable of the driver's environment that must not be seen.
const PRIVATE: &str = "WARP_PROBE_PRIVATE";
/// Where the test's own program is in the outer sandbox: an ordinary user may not be able to reach it where it is.
const PROGRAM: &str = "/tmp/warp-probe-test";
/// Directories of the system that can be written in the outer sandbox, and must not be in the product's.
const SCRATCH: [&str; 7] = ["/tmp", "/var/tmp", "/run", "/srv", "/mnt", "/media", "/home"];
/// A user without any rights.
const NOBODY: &str = "65534";
const TEST: &str = "no_attempt_gets_out";

#[test]
fn no_attempt_gets_out() {
    if let Ok(who) = env::var(INSIDE) {
        return attempt_all(&who);
    }
    if let Err(why) = Sandbox::find() {
        return skip(&why.to_string());
    }
    if is_root() {
        in_outer_sandbox("root", Proc::Shared, &[]);
        // What warp makes cannot be read by another user then, so it runs as root inside.
        let closed = ["sh", "-c", "umask 077; exec \"$@\"", "sh"];
        in_outer_sandbox("root inside", Proc::Shared, &closed);
        in_outer_sandbox("root inside, without user namespaces", Proc::Covered, &closed);
        let drop = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"];
        in_outer_sandbox("user", Proc::Shared, &drop);
    } else {
        in_outer_sandbox("user", Proc::Shared, &[]);
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout == b"0\n"
}

/// Which `/proc` the outer sandbox has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proc {
    /// That of the machine.
    Shared,
    /// One of its own, parts of which are covered: the kernel then lets no user namespace mount another.
    Covered,
}

/// Runs this test again in a sandbox of its own, in which nothing that lasts can be written.
fn in_outer_sandbox(who: &str, proc: Proc, by: &[&str]) {
    let mut outer = Command::new("bwrap");
    outer.args(["--ro-bind", "/", "/", "--dev", "/dev"]);
    match proc {
        Proc::Shared => outer.args(["--bind", "/proc", "/proc"]),
        Proc::Covered => outer.args(["--proc", "/proc", "--unshare-pid"]),
    };
    for directory in SCRATCH.iter().filter(|path| Path::new(path).is_dir() && !Path::new(path).is_symlink()) {
        outer.args(["--perms", "1777", "--tmpfs", directory]);
    }
    let own = env::current_exe().unwrap();
    outer.args(["--perms", "1777", "--tmpfs", "/dev/shm"]);
    outer.arg("--ro-bind").args([own.as_path(), Path::new(PROGRAM)]);
    outer.args(["--unshare-ipc", "--unshare-uts", "--unshare-net", "--die-with-parent"]);
    outer.arg("--").args(by).arg(PROGRAM).args(["--exact", TEST, "--nocapture"]);
    // Without these the test would look for what the machine's user has.
    outer.env_clear().env("PATH", env::var_os("PATH").unwrap()).env("HOME", "/tmp");
    outer.env(INSIDE, who).env(PRIVATE, "1").env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    let done = outer.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    for line in text.lines().filter(|line| line.starts_with("sandbox probe")) {
        say(line);
    }
    assert!(done.status.success() && text.contains("0 escapes"), "as {who}:\n{text}");
}

/// Says something even if the test passes, which a print macro does not.
fn say(line: &str) {
    std::io::stdout().write_all(format!("\n{line}\n").as_bytes()).unwrap();
}

/// Makes all attempts, as an agent and as what a repository holds, and counts.
fn attempt_all(who: &str) {
    let world = World::new();
    assert_eq!(world.is_root_inside(), who.starts_with("root inside"), "as {who}");
    for (name, as_whom) in [("agent", SandboxUser::Agent), ("content", SandboxUser::Content)] {
        let made = world.attempt(as_whom);
        let escaped: Vec<&str> =
            made.iter().filter(|(_, held)| !held).map(|(name, _)| name.as_str()).collect();
        let (count, escapes) = (made.len(), escaped.len());
        let held = count - escapes;
        say(&format!("sandbox probe as {who}, {name}: {count} attempts, {held} held, {escapes} escapes"));
        assert!(escaped.is_empty(), "as {who}, {name}, these got out: {escaped:?}");
    }
}
