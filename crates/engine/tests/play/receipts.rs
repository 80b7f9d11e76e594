//! Receipts: what an agent has to show before it may leave a phase of the loop.

use insta::assert_snapshot;

use crate::script::{play, play_to};

fn last(script: &str) -> String {
    let lines = play(script);
    let line = lines.lines().rev().find(|line| !line.starts_with("  ")).expect("a line");
    line.split_once(": ").expect("an answer").1.to_owned()
}

fn plan(data: &str) -> String {
    last(&format!("autonomous-loop: @plan, +5m, agent plan_written {data}"))
}

#[test]
fn a_phase_that_makes_a_file_wants_that_file() {
    assert_snapshot!(plan("summary=planned"), @r#"refused: `plan_written` is refused in `plan` by receipt: `artifact` is missing; it wants a file in the repository that is not empty (`artifact`), like --data '{"artifact":"docs/plans/DATE-TYPE-NAME-plan.md","summary":"WHAT WAS DONE","failed_approaches":["WHAT DID NOT WORK, AND WHY"]}'"#);
    assert_snapshot!(plan("artifact=docs/plan.md"), @"spec_test e2");
    for (phase, event) in [("brainstorm", "brainstorm_written"), ("compound", "solution_noted")] {
        let answer = last(&format!("autonomous-loop: @{phase}, agent {event}"));
        assert!(answer.contains("by receipt: `artifact` is missing"), "{answer}");
    }
}

#[test]
fn a_file_must_exist_inside_the_repository_and_not_be_empty() {
    for file in ["missing", "empty", "outside", "unseen"] {
        assert!(plan(&format!("artifact=docs/plan.md file={file}")).starts_with("refused"), "{file}");
    }
    assert_snapshot!(plan("artifact=docs/plan.md file=missing"), @"refused: `plan_written` is refused in `plan` by receipt: `docs/plan.md` does not exist, neither in the working tree nor in the commit");
    assert_snapshot!(plan("artifact=docs/plan.md file=empty"), @"refused: `plan_written` is refused in `plan` by receipt: `docs/plan.md` is empty");
    assert_snapshot!(plan("artifact=../plan.md file=outside"), @"refused: `plan_written` is refused in `plan` by receipt: `../plan.md` is not a file inside the repository");
    // It may still be uncommitted.
    assert!(plan("artifact=docs/plan.md git_sha=abcd file=uncommitted").starts_with("spec_test"));
}

#[test]
fn a_commit_must_exist_and_be_in_the_history() {
    assert_snapshot!(plan("artifact=docs/plan.md git_sha=abcd commit=missing"), @"refused: `plan_written` is refused in `plan` by receipt: commit `abcd` cannot be used: there is no such commit");
    assert_snapshot!(plan("artifact=docs/plan.md git_sha=abcd commit=foreign"), @"refused: `plan_written` is refused in `plan` by receipt: commit `abcd` is not in the history of the current commit");
    assert_snapshot!(plan("artifact=docs/plan.md git_sha=--all"), @"refused: `git_sha` must be a commit's hash, 4 to 64 hexadecimal digits");
    assert_snapshot!(plan("artifact=docs/plan.md git_sha=abcd commit=absent"), @"refused: `plan_written` is refused in `plan` by receipt: commit `abcd`: there is no git repository");
}

#[test]
fn a_receipt_is_not_older_than_its_phase() {
    assert_snapshot!(plan("artifact=docs/plan.md timestamp=2026-05-08T15:56:58Z"), @"refused: `plan_written` is refused in `plan` by receipt: `timestamp` is not between the phase's beginning (2026-05-08T15:56:59Z) and now (2026-05-08T16:01:59Z)");
    assert!(plan("artifact=docs/plan.md timestamp=2026-05-08T15:56:59Z").starts_with("spec_test"));
    assert!(plan("artifact=docs/plan.md timestamp=2026-05-08T17:00:00Z").starts_with("refused"));
    assert_snapshot!(plan("artifact=docs/plan.md timestamp=yesterday"), @"refused: `timestamp` must be a time, like 2026-02-13T10:30:00Z");
}

#[test]
fn a_receipt_that_a_person_gives_is_checked_and_none_is_wanted() {
    let person = |data: &str| last(&format!("autonomous-loop: @plan, plan_written {data}"));
    assert!(person("").starts_with("spec_test"));
    assert!(person("artifact=docs/plan.md file=missing").starts_with("refused"));
    assert!(person("git_sha=abcd commit=foreign").starts_with("refused"));
    assert!(
        person("receipt={\"artifact\":\"docs/plan.md\",\"git_sha\":\"abcd\"} file=empty")
            .starts_with("refused")
    );
    assert!(person("receipt=7").starts_with("refused"));
    assert!(
        play("autonomous-loop: @plan, plan_written git_sha=abcd commit=absent")
            .ends_with("not checked: receipt: commit `abcd`: there is no git repository")
    );
}

#[test]
fn the_artifact_of_a_phase_is_kept_under_its_name() {
    let script = r#"autonomous-loop: agent brainstorm_written artifact=docs/b.md,
        agent plan_written receipt={"artifact":"docs/p.md","git_sha":"abcd"} commit=abcdef0123"#;
    let (run, _) = play_to(script);
    assert_eq!(run.artifacts.brainstorm_file.as_deref(), Some("docs/b.md"));
    assert_eq!(run.artifacts.plan_file.as_deref(), Some("docs/p.md"));
    assert_eq!(run.receipts[1].git_sha.as_deref(), Some("abcdef0123"), "the whole hash");
}

#[test]
fn work_wants_a_commit_of_its_own_or_a_word_why_there_is_none() {
    let work = |data: &str| last(&format!("autonomous-loop: @work, agent work_finished summary=did {data}"));
    assert_snapshot!(work("commit=old"), @"refused: `work_finished` is refused in `work` by receipt: commit `old` was made before `work` began; commit the work, or say why there is none with `note`");
    assert_snapshot!(work("commit=absent"), @"refused: `work_finished` is refused in `work` by receipt: there is no commit to look at; say why with `note`");
    assert!(work("git_sha=abcd").starts_with("review"));
    assert!(work("").starts_with("review"), "the newest commit is meant");
    assert!(work("note=nothing_to_do").starts_with("review"));
    assert!(
        work("git_sha=abcd commit=earlier").starts_with("refused"),
        "by its time, where nothing else is known"
    );
    let fix = last("autonomous-loop: @fix, agent fixes_made commit=old");
    assert!(fix.contains("was made before `fix` began"), "{fix}");
}

#[test]
fn a_commit_is_new_if_it_comes_after_the_phases_first() {
    let (run, _) = play_to("autonomous-loop: @deepen, plan_deepened head=aaaa");
    assert_eq!((run.phase.as_str(), run.phase_head.as_deref()), ("work", Some("aaaa")));
    let event = engine::Event::Named("work_finished".into());
    let probes = engine::needs(
        crate::support::workflow("autonomous-loop"),
        &run,
        engine::Actor::Agent,
        &event,
        &Default::default(),
    );
    let claim =
        engine::Claim { artifact: None, git_sha: Some("HEAD".to_owned()), since: Some("aaaa".to_owned()) };
    assert!(probes.contains(&engine::Probe::Receipt(claim)), "{probes:?}");
}

#[test]
fn deepening_wants_another_plan_or_a_word_why_it_stays() {
    let planned = "autonomous-loop: @plan, plan_written artifact=docs/p.md file=d1, tests_approved";
    let deepen = |data: &str| last(&format!("{planned}, agent plan_deepened {data}"));
    assert_snapshot!(deepen("file=d1"), @"refused: `plan_deepened` is refused in `deepen` by receipt: the plan's content is what it was; deepen it, or say why not with `note`");
    assert!(deepen("file=d2").starts_with("work"));
    assert!(deepen("file=d1 note=good_as_it_is").starts_with("work"));
    assert_snapshot!(last("autonomous-loop: @deepen, agent plan_deepened"), @"refused: `plan_deepened` is refused in `deepen` by receipt: the plan could not be found; name it with `artifact`, or say why not with `note`");
}

#[test]
fn a_single_pass_leaves_a_receipt_that_says_what_it_saw() {
    let planned = "autonomous-loop: @plan, plan_written artifact=docs/p.md file=d1, tests_approved";
    let receipt = |file: &str| {
        let (run, _) = play_to(&format!("{planned}, engine turn_finished file={file}"));
        assert_eq!(run.phase, "work");
        let receipt = run.receipts.last().unwrap().clone();
        (receipt.phase.to_string(), receipt.artifact, receipt.digest, receipt.note, receipt.forced)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(receipt("d2"), ("deepen".to_owned(), text("docs/p.md"), text("d2"), None, false));
    assert_eq!(receipt("d1").3, text("single_pass: nothing was shown"));
}

#[test]
fn reviews_and_tests_want_a_summary() {
    for (phase, event) in [
        ("review", "p1_found"),
        ("review", "review_clean"),
        ("re_review", "review_clean"),
        ("test", "tests_passed"),
        ("test", "tests_failed"),
    ] {
        let answer = last(&format!("autonomous-loop: @{phase}, agent {event}"));
        assert!(answer.contains("by receipt: `summary` is missing"), "{answer}");
        assert!(
            !last(&format!("autonomous-loop: @{phase}, agent {event} summary=looked")).starts_with("refused")
        );
    }
}

const WRITTEN: &str =
    r#"artifact=tests/acceptance/login.rs git_sha=abcd run={"failed":7,"errored":0} summary=seven"#;

#[test]
fn acceptance_tests_must_be_committed_and_all_fail() {
    let written = |data: &str| last(&format!("autonomous-loop: @spec_test, agent tests_written {data}"));
    assert_snapshot!(written(""), @r#"refused: `tests_written` is refused in `spec_test` by receipt: `artifact` is missing; it wants the committed acceptance tests (`artifact`, `git_sha`): warp runs them, and every one fails and none errors (where it cannot, `run` says so), like --data '{"artifact":"tests/acceptance/DATE-FEATURE-acceptance.EXT","git_sha":"COMMIT","run":{"failed":7,"errored":0},"summary":"WHAT WAS DONE","failed_approaches":["WHAT DID NOT WORK, AND WHY"]}'"#);
    assert_snapshot!(written("artifact=tests/a.rs git_sha=abcd"), @r#"refused: `tests_written` is refused in `spec_test` by receipt: `run` is missing; it wants the committed acceptance tests (`artifact`, `git_sha`): warp runs them, and every one fails and none errors (where it cannot, `run` says so), like --data '{"artifact":"tests/acceptance/DATE-FEATURE-acceptance.EXT","git_sha":"COMMIT","run":{"failed":7,"errored":0},"summary":"WHAT WAS DONE","failed_approaches":["WHAT DID NOT WORK, AND WHY"]}'"#);
    assert_snapshot!(written(r#"artifact=tests/a.rs git_sha=abcd run={"failed":0,"errored":0}"#), @"refused: `tests_written` is refused in `spec_test` by receipt: no test failed in the run: tests come first, so each must fail");
    assert_snapshot!(written(r#"artifact=tests/a.rs git_sha=abcd run={"failed":6,"errored":1}"#), @"refused: `tests_written` is refused in `spec_test` by receipt: passed: 0, errors: 1; every new test must fail, and none by an error");
    assert_snapshot!(written(r#"artifact=tests/a.rs git_sha=abcd run={"failed":6,"errored":0,"passed":1}"#), @"refused: `tests_written` is refused in `spec_test` by receipt: passed: 1, errors: 0; every new test must fail, and none by an error");
    assert_snapshot!(written(r#"artifact=tests/a.rs git_sha=abcd run={"failed":6}"#), @r#"refused: `run` must tell how the tests ended, like {"failed":7,"errored":0}"#);
    assert_snapshot!(written(&format!("{WRITTEN} file=uncommitted")), @"refused: `tests_written` is refused in `spec_test` by receipt: the tests are not in the commit `git_sha`: commit them first");
    assert_snapshot!(written(WRITTEN), @"spec_test, parked on r1.3: The acceptance tests are written, and they fail. Do they say what is wanted? (tests/acceptance/login.rs)");
}

#[test]
fn a_person_approves_the_tests_and_the_agent_does_not() {
    assert_snapshot!(play(&format!("autonomous-loop: @spec_test, agent tests_approved {WRITTEN},
        agent tests_written {WRITTEN}, agent answer approve, turn_finished, answer approve")), @r#"
    agent tests_approved artifact=tests/acceptance/login.rs git_sha=abcd run={"failed":7,"errored":0} summary=seven: refused: `tests_approved` is refused in `spec_test`: it needs a person; tell them, and wait
    agent tests_written artifact=tests/acceptance/login.rs git_sha=abcd run={"failed":7,"errored":0} summary=seven: spec_test, parked on r1.3: The acceptance tests are written, and they fail. Do they say what is wanted? (tests/acceptance/login.rs)
    agent answer approve: refused: `decision_answered` is refused in `spec_test`: it needs a person; tell them, and wait
    turn_finished: refused: `turn_finished` is refused: the run waits for decision r1.3: The acceptance tests are written, and they fail. Do they say what is wanted? (tests/acceptance/login.rs) (approve, reject, stop)
    answer approve, then tests_approved: deepen e5
    "#);
    let (run, _) =
        play_to(&format!("autonomous-loop: @spec_test, agent tests_written {WRITTEN}, answer approve"));
    let receipts: Vec<&str> = run.receipts.iter().map(|receipt| receipt.phase.as_str()).collect();
    assert_eq!(receipts, ["brainstorm", "plan", "spec_test"], "one receipt, as it was shown");
    assert_eq!(run.receipts[2].artifact.as_deref(), Some("tests/acceptance/login.rs"));
    assert_eq!(run.artifacts.acceptance_tests_file.as_deref(), Some("tests/acceptance/login.rs"));
    assert_eq!(run.checkpoints[0].summary, "seven");
}

#[test]
fn a_rejection_returns_its_reason_and_the_phase_goes_on() {
    let script =
        format!("autonomous-loop: @spec_test, agent tests_written {WRITTEN}, answer reject note=no_logout");
    let (run, lines) = play_to(&script);
    assert_snapshot!(lines, @r#"
    agent tests_written artifact=tests/acceptance/login.rs git_sha=abcd run={"failed":7,"errored":0} summary=seven: spec_test, parked on r1.3: The acceptance tests are written, and they fail. Do they say what is wanted? (tests/acceptance/login.rs)
    answer reject note=no_logout: spec_test
    "#);
    assert_eq!((run.phase.as_str(), &run.standing), ("spec_test", &engine::Standing::Active));
    assert_eq!(run.errors[0].message, "`tests_written` was rejected by a person: no_logout");
    let told = engine::view::reanchor(crate::support::workflow("autonomous-loop"), &run, run.updated_at);
    assert!(told.contains("no_logout"), "{told}");
    assert!(last(&format!("{script}, agent tests_written {WRITTEN}, answer approve")).starts_with("deepen"));
}

#[test]
fn without_a_persons_look_the_agent_approves_its_tests_itself() {
    let skip = "autonomous-loop skip_test_review=true: @spec_test";
    assert_snapshot!(play(&format!("{skip}, agent tests_approved, agent tests_approved {WRITTEN}")), @r#"
    agent tests_approved: refused: `tests_approved` is refused in `spec_test` by receipt: `artifact` is missing; it wants the committed acceptance tests (`artifact`, `git_sha`): warp runs them, and every one fails and none errors (where it cannot, `run` says so), like --data '{"artifact":"tests/acceptance/DATE-FEATURE-acceptance.EXT","git_sha":"COMMIT","run":{"failed":7,"errored":0},"summary":"WHAT WAS DONE","failed_approaches":["WHAT DID NOT WORK, AND WHY"]}'
    agent tests_approved artifact=tests/acceptance/login.rs git_sha=abcd run={"failed":7,"errored":0} summary=seven: deepen e3
    "#);
    let (run, lines) = play_to(&format!("{skip}, agent tests_written {WRITTEN}"));
    assert_snapshot!(lines, @r#"agent tests_written artifact=tests/acceptance/login.rs git_sha=abcd run={"failed":7,"errored":0} summary=seven, then tests_approved: deepen e4"#);
    assert_eq!(run.receipts.iter().filter(|receipt| receipt.phase == "spec_test").count(), 1);
}

#[test]
fn the_agent_may_commit_where_it_makes_something() {
    use engine::view::Permission;
    let workflow = crate::support::workflow("autonomous-loop");
    for phase in [
        "brainstorm",
        "plan",
        "spec_test",
        "deepen",
        "work",
        "review",
        "fix",
        "re_review",
        "compound",
        "test",
        "ship",
    ] {
        let (run, _) = play_to(&format!("autonomous-loop: @{phase}"));
        let may = run.permission(workflow, "git_commit") == Permission::Allowed;
        assert_eq!(may, !["review", "re_review", "test"].contains(&phase), "{phase}");
        for operation in ["git_push", "git_merge"] {
            assert_ne!(run.permission(workflow, operation), Permission::Allowed, "{phase}");
        }
    }
}
