//! Checks by Woodpecker, on its double.

use std::{collections::BTreeSet, sync::Arc};

use forge::{Checks as _, ChecksState, ForgeError, Woodpecker};
use testkit::forges::{BuildState, WoodpeckerDouble};

use crate::net::Web;

const COMMIT: &str = "97165b483c97165b483c97165b483c97165b483c";

fn started() -> (WoodpeckerDouble, u64, Woodpecker) {
    let double = WoodpeckerDouble::start();
    let repo = double.add_repo("acme/shop");
    let net = Web::new(&format!("{}/api", double.url()), WoodpeckerDouble::TOKEN);
    let checks = Woodpecker::new(Arc::new(net), repo, BTreeSet::new());
    (double, repo, checks)
}

/// Asks again while a log is not there yet, as callers do.
fn settled(checks: &Woodpecker) -> ChecksState {
    for _ in 0..5 {
        match checks.state(COMMIT) {
            Err(ForgeError::Later { .. }) => {}
            state => return state.unwrap(),
        }
    }
    panic!("the log never came");
}

#[test]
fn a_pipeline_is_followed_from_its_begin_to_its_restart() {
    let (double, repo, checks) = started();
    assert_eq!(checks.state(COMMIT).unwrap(), ChecksState::NotStarted);
    let number = double.push(repo, COMMIT, "feature/a", &["clone", "unit"]);
    let state = checks.state(COMMIT).unwrap();
    assert!(matches!(state, ChecksState::NotStarted | ChecksState::Running), "{state:?}");
    double.end_step(repo, number, "clone", 0, "");
    double.run_step(repo, number, "unit");
    assert_eq!(checks.state(COMMIT).unwrap(), ChecksState::Running);
    double.end_step(repo, number, "unit", 1, "test a\n1 failed");
    let early = checks.state(COMMIT);
    assert!(matches!(early, Err(ForgeError::Later { .. })), "the log is null at first: {early:?}");
    let ChecksState::Failed(steps) = settled(&checks) else { panic!("the code is wrong") };
    assert_eq!(checks.log(&steps[0]).unwrap(), "test a\n1 failed\n");
    checks.restart(COMMIT).unwrap();
    assert!(matches!(checks.state(COMMIT).unwrap(), ChecksState::NotStarted | ChecksState::Running));
    let again = number + 1;
    double.end_step(repo, again, "clone", 0, "");
    double.end_step(repo, again, "unit", 0, "");
    assert_eq!(checks.state(COMMIT).unwrap(), ChecksState::Passed);
}

#[test]
fn broken_machines_are_told_from_wrong_code() {
    for (step, exit, log, is_infra) in [
        ("clone", 128, "fatal: unable to access", true),
        ("unit", 137, "Killed", true),
        ("unit", 1, "curl: (28) connection timed out", true),
        ("unit", 1, "1 failed", false),
    ] {
        let (double, repo, checks) = started();
        let number = double.push(repo, COMMIT, "feature/a", &[step]);
        double.end_step(repo, number, step, exit, log);
        let state = settled(&checks);
        assert_eq!(matches!(state, ChecksState::Infra(_)), is_infra, "{step} {exit} {log}: {state:?}");
    }
    let (double, repo, checks) = started();
    let number = double.push(repo, COMMIT, "feature/a", &["unit"]);
    double.set_step(repo, number, "unit", BuildState::Killed, 0, "");
    assert!(matches!(settled(&checks), ChecksState::Infra(_)));
}

#[test]
fn a_workflow_file_that_cannot_be_read_is_the_codes_fault() {
    let (double, repo, checks) = started();
    double.broken(repo, COMMIT, "feature/a", "yaml: did not find expected key");
    let ChecksState::Failed(steps) = settled(&checks) else { panic!("the file is wrong") };
    assert!(checks.log(&steps[0]).unwrap().contains("did not find expected key"));
}

#[test]
fn both_pipelines_of_a_commit_count() {
    let (double, repo, checks) = started();
    let push = double.push(repo, COMMIT, "feature/a", &["unit"]);
    let pull = double.pull_request(repo, COMMIT, "feature/a", 1, &["unit"]);
    double.end_step(repo, push, "unit", 0, "");
    assert_ne!(checks.state(COMMIT).unwrap(), ChecksState::Passed);
    double.end_step(repo, pull, "unit", 0, "");
    assert_eq!(checks.state(COMMIT).unwrap(), ChecksState::Passed);
}
