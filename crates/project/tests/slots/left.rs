//! What an agent leaves in a slot that git cannot see, or waits for: it is gone before the next agent comes.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use testkit::agents::skip;

use crate::{salvage, sandbox, take};

/// Set where the test runs as an ordinary user.
const ORDINARY: &str = "WARP_TEST_ORDINARY";
const NOBODY: &str = "65534";

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Runs a test again as an ordinary user if this one is root, whom no permission stops. Tells whether it is to run here.
fn is_ordinary(test: &str) -> bool {
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if !is_root || env::var_os(ORDINARY).is_some() {
        return true;
    }
    let own = env::current_exe().unwrap();
    let mut again = Command::new("setpriv");
    again.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]).arg(&own);
    let can_start = again.arg("--list").output().is_ok_and(|said| said.status.success());
    if !can_start {
        skip("an ordinary user cannot start this test");
        return false;
    }
    let mut again = Command::new("setpriv");
    again.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]).arg(own);
    // The suite's temporary directory is root's alone.
    let said = again.args(["--exact", test, "--nocapture"]).env(ORDINARY, "1").env_remove("TMPDIR");
    let said = said.env("HOME", "/nonexistent");
    let said = said.output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
    assert!(said.status.success() && text.contains("1 passed"), "{text}");
    false
}

#[test]
fn what_cannot_be_read_is_kept_and_not_handed_to_the_next_agent() {
    if !is_ordinary("left::what_cannot_be_read_is_kept_and_not_handed_to_the_next_agent") {
        return;
    }
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let root = slot.root().to_owned();
    for (directory, mode) in
        [("closed", 0o000), ("no-entry", 0o600), ("no-list", 0o300), ("no-write", 0o500), ("ignored", 0o000)]
    {
        fs::create_dir_all(root.join(directory).join("deep/er")).unwrap();
        fs::write(root.join(directory).join("deep/er/planted"), "for the next agent").unwrap();
        permit(&root.join(directory).join("deep"), mode);
        permit(&root.join(directory), mode);
    }
    fs::write(root.join("unreadable.txt"), "work").unwrap();
    permit(&root.join("unreadable.txt"), 0o000);
    permit(&root, 0o000);
    drop(slot);

    let slot = take(&sandbox);
    assert_eq!(slot.number(), 1, "it is used again");
    let mut names: Vec<String> = fs::read_dir(slot.root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, [".git", ".gitignore", "a.txt", "b.txt"]);
    let kept = salvage(&sandbox);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let files = sandbox.git(&["ls-tree", "-r", "--name-only", &kept[0]]);
    for file in ["closed/deep/er/planted", "no-list/deep/er/planted", "unreadable.txt"] {
        assert!(files.lines().any(|line| line == file), "{file}: {files}");
    }
}

#[test]
fn a_named_pipe_in_a_slot_costs_no_time() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let root = slot.root().to_owned();
    fs::create_dir_all(root.join("deep/er")).unwrap();
    fs::write(root.join("deep/er/work"), "work").unwrap();
    fs::remove_file(root.join(".gitignore")).unwrap();
    for path in [
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        "deep/.gitignore",
        "deep/er/.gitattributes",
        "warp.toml",
    ] {
        pipe(&root.join(path));
    }
    drop(slot);
    let begun = Instant::now();
    let slot = take(&sandbox);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(slot.number(), 1, "it is used again");
    assert_eq!(fs::read_to_string(slot.root().join(".gitignore")).unwrap(), "ignored\n");
    assert!(!slot.root().join("deep").exists() && !slot.root().join("warp.toml").exists());
    assert_eq!(salvage(&sandbox).len(), 1, "the work beside it is kept");
}
