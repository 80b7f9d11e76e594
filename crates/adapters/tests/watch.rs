//! Whoever waits by a clock is woken by what happens outside of it: a file that is written, a process that ends.

use std::{
    env, fs,
    process::{Command, Stdio},
    sync::mpsc::{RecvTimeoutError, channel},
    time::Duration,
};

use adapters::{
    clock::Clock,
    watch::{Alarm, Watch},
};

/// Longer than anything here takes: reaching it is a failure.
const LONG: Duration = Duration::from_secs(60);
/// Set in the process whose parent ends, to what it writes to when it listens.
const LISTENS: &str = "WARP_TEST_LISTENS";

#[test]
fn a_file_that_is_put_in_place_calls_back_until_the_alarm_is_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let (send, called) = channel();
    let alarm = Watch::over(&[directory.path()]).unwrap().call(move || _ = send.send(())).unwrap();
    for name in ["one", "two"] {
        let new = directory.path().join("new");
        fs::write(&new, name).unwrap();
        fs::rename(new, directory.path().join(name)).unwrap();
        called.recv_timeout(LONG).unwrap();
    }
    drop(alarm);
    // Its end of the channel is gone with it.
    while let Ok(()) = called.try_recv() {}
    fs::write(directory.path().join("three"), "").unwrap();
    assert_eq!(called.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn the_end_of_the_parent_rings_a_bell() {
    let test = "the_end_of_the_parent_rings_a_bell";
    if let Some(listens) = env::var_os(LISTENS) {
        let bell = Clock::default().bell();
        let rung = bell.clone();
        let _alarm = Alarm::at_parents_end(move || rung.ring()).unwrap();
        fs::write(listens, "yes\n").unwrap();
        println!("{:?}", bell.wait(Some(adapters::clock::after(Clock::default().now(), LONG))));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut parent = Command::new("sh");
    parent.args(["-c", "\"$0\" --exact \"$1\" --nocapture & read said < \"$2\""]);
    parent.arg(env::current_exe().unwrap()).arg(test).arg(&pipe).env(LISTENS, &pipe).stdin(Stdio::null());
    let said = String::from_utf8(parent.output().unwrap().stdout).unwrap();
    assert!(said.contains("Rung") && said.contains("1 passed"), "{said}");
}
