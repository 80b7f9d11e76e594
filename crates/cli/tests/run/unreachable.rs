//! A remote that does not answer, or that wants something typed: nobody is kept waiting, and nothing is left.

use std::{env, fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use rustix::process::Signal;
use testkit::processes::has_begun;

use super::support::{GOOD, Project, Running, is_running, mark};
use crate::support::Ends as _;

/// A project whose remote is reached by `ssh`.
fn project() -> Project {
    let project = Project::new(GOOD);
    project.sandbox.git(&["remote", "add", "origin", "ssh://git@example.invalid/x.git"]);
    project
}

/// Makes a program for the tests.
fn program(project: &Project, name: &str, script: &str) -> PathBuf {
    let path = project.sandbox.home().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Begins a run whose remote never answers.
fn waits(project: &Project, mark: &str) -> Running {
    let mut command = project.command(&[]);
    command.env("GIT_SSH", program(project, "ssh", &format!("exec sleep {mark}")));
    let running = Running::start(command);
    assert!(has_begun(mark));
    running
}

#[test]
fn a_signal_ends_the_wait_for_a_remote() {
    let (project, mark) = (project(), mark());
    let running = waits(&project, &mark);
    running.signal(Signal::INT);
    let ended = running.end().ends(130);
    assert!(ended.said.contains("interrupted; `warp run"), "{}", ended.said);
    assert!(!is_running(&mark));
    project.sandbox.git(&["remote", "remove", "origin"]);
    project.goes_on();
}

#[test]
fn what_a_killed_driver_left_waiting_for_a_remote_is_ended_by_the_next() {
    let (project, mark) = (project(), mark());
    let running = waits(&project, &mark);
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    assert!(is_running(&mark));
    project.sandbox.git(&["remote", "remove", "origin"]);
    project.goes_on();
    assert!(!is_running(&mark));
}

#[test]
fn nobody_is_asked_for_a_passphrase_unless_the_person_has_an_own_way_to_log_in() {
    for has_own_way in [false, true] {
        let project = project();
        let (said, own) = (project.sandbox.home().join("said"), project.sandbox.home().join("own"));
        program(&project, "bin/ssh", &format!("echo \"$*\" > {}; exit 1", said.display()));
        let mine = program(&project, "mine", &format!("touch {}; exit 1", own.display()));
        if has_own_way {
            project.sandbox.git(&["config", "core.sshCommand", mine.to_str().unwrap()]);
        }
        let path = env::join_paths(
            std::iter::once(project.sandbox.home().join("bin"))
                .chain(env::split_paths(&env::var_os("PATH").unwrap())),
        );
        let mut command = project.command(&[]);
        command.env("PATH", path.unwrap());
        let ended = Running::start(command).end();
        assert_eq!((own.exists(), said.exists()), (has_own_way, !has_own_way), "{}", ended.said);
        if !has_own_way {
            let words = fs::read_to_string(&said).unwrap();
            assert!(words.contains("-oBatchMode=yes"), "{words} {}", ended.said);
        }
    }
}
