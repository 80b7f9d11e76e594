//! A project with a remote: what is merged goes there too.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use crate::support::{GOOD, Project};

/// A project with a remote that has its `main`.
fn project() -> (Project, PathBuf) {
    let project = Project::new(GOOD);
    let sandbox = &project.sandbox;
    sandbox.write("greeting.txt", "base\n");
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: base"]);
    let remote = sandbox.home().join("remote.git");
    sandbox.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    (project, remote)
}

/// Returns what the newest commit of `main` is about, here and at the remote.
fn newest(project: &Project, remote: &PathBuf) -> (String, String) {
    let git =
        |git_dir: &str| project.sandbox.git(&["--git-dir", git_dir, "log", "-1", "--format=%s", "main"]);
    (git(".git"), git(remote.to_str().unwrap()))
}

fn is_open(project: &Project) -> bool {
    project.sandbox.warp_ok(&["issue", "show", "1"]).contains("\nopen, ")
}

#[test]
fn a_file_that_is_in_the_way_keeps_the_work_from_the_remote_too() {
    let (project, remote) = project();
    project.sandbox.write("greeting.txt", "mine\n");
    let ended = project.run(&[]);
    assert_eq!(ended.code, Some(5), "{}", ended.said);
    assert!(ended.said.contains("greeting.txt is uncommitted and would be overwritten"), "{}", ended.said);
    let base = "chore: base".to_owned();
    assert_eq!(newest(&project, &remote), (base.clone(), base.clone()));
    let (question, _) = project.question();
    project.sandbox.warp_ok(&["answer", &question, "abort"]);
    let ended = project.run(&[]);
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert_eq!(newest(&project, &remote), (base.clone(), base));
    assert!(is_open(&project));
    assert_eq!(project.sandbox.read("greeting.txt").unwrap(), "mine\n");
}

#[test]
fn what_the_remote_has_is_merged_though_the_checkout_is_behind() {
    let (project, remote) = project();
    // Somebody begins to change the file while the work is pushed.
    let hook = remote.join("hooks/post-receive");
    let file = project.sandbox.root().join("greeting.txt");
    fs::write(&hook, format!("#!/bin/sh\necho mine > '{}'\n", file.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = project.run(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let (here, there) = newest(&project, &remote);
    assert_eq!((here.as_str(), there.starts_with("feat: A greeting")), ("chore: base", true), "{there}");
    assert!(ended.said.contains("only `origin` has it: `main` is checked out in "), "{}", ended.said);
    assert!(ended.said.contains("`git pull origin main` brings your own `main` along"), "{}", ended.said);
    assert!(!is_open(&project), "it is merged");
    assert_eq!(project.sandbox.read("greeting.txt").unwrap(), "mine\n");
}
