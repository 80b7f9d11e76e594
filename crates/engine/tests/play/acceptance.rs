//! Acceptance tests, as warp has run them and looked at them: they fail first, stay as they are, and pass in the end.

use engine::{Event, EventName, Probe, Run, needs};
use insta::assert_snapshot;
use serde_json::Map;

use crate::{
    script::{play, play_to},
    support::workflow,
};

fn last(script: &str) -> String {
    let lines = play(script);
    let line = lines.lines().rev().find(|line| !line.starts_with("  ")).expect("a line");
    lines[lines.find(line).expect("it is there")..].split_once(": ").expect("an answer").1.to_owned()
}

/// What an agent says of its own run is not asked for where warp has run the tests.
const WRITTEN: &str = "artifact=tests/a.sh git_sha=abcd summary=one";

fn written(tests: &str) -> String {
    let lines = play(&format!("autonomous-loop: @spec_test, agent tests_written {WRITTEN} ran={tests}"));
    lines.split_once("ran=").expect("the ask").1.split_once(": ").expect("an answer").1.to_owned()
}

#[test]
fn new_tests_must_fail_and_neither_pass_nor_error() {
    assert_snapshot!(written("failed"), @"spec_test, parked on r1.3: The acceptance tests are written, and they fail. Do they say what is wanted? (tests/a.sh)");
    assert_snapshot!(written("passed"), @"
    refused: `tests_written` is refused in `spec_test` by receipt: the tests pass before anything is written, so they show nothing; every new test must fail (`sh a.sh` ended with exit 0)
    not ok
    ");
    assert_snapshot!(written("some"), @"
    refused: `tests_written` is refused in `spec_test` by receipt: 1 of the tests pass before anything is written; every new test must fail (`sh a.sh` ended with exit 1)
    not ok
    ");
    assert_snapshot!(written("errored"), @"
    refused: `tests_written` is refused in `spec_test` by receipt: the tests could not run, which is no failure; every new test must fail, and none by an error (`sh a.sh` ended with exit 1)
    not ok
    ");
    assert_snapshot!(written("broken"), @"refused: `tests_written` is refused in `spec_test` by receipt: the tests could not be run: sh: gone");
    // Where warp could not run them, the agent has to say what came of them.
    assert!(written("absent").contains("`run` is missing"));
    let lied = play(
        "autonomous-loop: @spec_test, agent tests_written artifact=tests/a.sh git_sha=abcd run={\"failed\":7,\"errored\":0} ran=passed",
    );
    assert!(lied.contains("the tests pass before anything is written"), "{lied}");
}

#[test]
fn a_person_is_believed_whatever_the_tests_say() {
    let lines = play("autonomous-loop: @spec_test, tests_approved, @work, work_finished ran=failed");
    assert!(lines.ends_with("review e5"), "{lines}");
}

#[test]
fn the_work_is_finished_when_its_tests_pass() {
    let finished =
        |tests: &str| play(&format!("autonomous-loop: @work, agent work_finished summary=did ran={tests}"));
    assert_snapshot!(finished("passed;failed"), @"
    agent work_finished summary=did ran=passed;failed: refused: `work_finished` is refused in `work` by tests: the tests do not pass (`sh a.sh` ended with exit 1)
    not ok
    ");
    assert_snapshot!(finished("passed;passed"), @"agent work_finished summary=did ran=passed;passed: review e5");
    assert_snapshot!(finished("absent"), @"agent work_finished summary=did ran=absent: review e5");
    assert!(play("autonomous-loop: @fix, agent fixes_made ran=failed").contains("refused in `fix` by tests"));
    let lied = play("autonomous-loop: @test, agent tests_passed summary=fine ran=errored");
    assert!(lied.contains("refused in `test` by tests"), "{lied}");
    let told = play("autonomous-loop: @test, agent tests_failed summary=no ran=failed");
    assert!(!told.contains("refused"), "{told}");
}

#[test]
fn tests_that_warp_has_run_once_are_not_believed_unrun() {
    let loop_of = |ran: &str, told: &str| {
        format!(
            "autonomous-loop skip_test_review=true: @plan, plan_written artifact=docs/p.md file=p1,
            agent tests_approved artifact=tests/a.sh git_sha=abcd summary=one file=t1 {told}ran={ran},
            agent plan_deepened file=p2, agent work_finished summary=did frozen=same ran=absent"
        )
    };
    let gone = last(&loop_of("failed", ""));
    assert!(
        gone.contains("the acceptance tests could be run when they were written, and cannot any more"),
        "{gone}"
    );
    let never = last(&loop_of("absent", "run={\"failed\":7,\"errored\":0} "));
    assert!(never.starts_with("review"), "{never}");
}

/// A loop whose plan has content `p1`, and whose tests were approved and frozen.
fn frozen(skip: bool) -> String {
    format!(
        "autonomous-loop skip_test_review={skip}: @plan, plan_written artifact=docs/p.md file=p1,
        tests_approved artifact=tests/a.sh git_sha=abcd file=t1, agent plan_deepened file=p2"
    )
}

#[test]
fn frozen_tests_stay_as_they_are() {
    let work = |seen: &str| {
        let lines = play(&format!("{}, agent work_finished summary=did {seen}", frozen(true)));
        lines.lines().skip(3).collect::<Vec<_>>().join("\n")
    };
    assert_snapshot!(work("file=p2 frozen=tests/a.sh;tests/b.sh"), @"agent work_finished summary=did file=p2 frozen=tests/a.sh;tests/b.sh: refused: `work_finished` is refused in `work` by frozen_tests: the acceptance tests are frozen, and these have changed since abcd: `tests/a.sh`, `tests/b.sh`; put them back: no person looks at the tests of this run (`skip_test_review`), so they stay as they are even if the plan changes");
    assert_snapshot!(work("file=p2 frozen=same"), @"agent work_finished summary=did file=p2 frozen=same: review e5");
    assert_snapshot!(work("file=p2 frozen=broken"), @"agent work_finished summary=did file=p2 frozen=broken: refused: `work_finished` is refused in `work` by frozen_tests: the acceptance tests could not be looked at: git: exit 128");
}

#[test]
fn tests_may_change_with_the_plan_and_a_person_looks_again() {
    let changed = "agent work_finished summary=did file=p3 frozen=tests/a.sh head=ef01";
    let (run, lines) = play_to(&format!("{}, {changed}", frozen(false)));
    assert_snapshot!(lines.lines().last().expect("it is there"), @"agent work_finished summary=did file=p3 frozen=tests/a.sh head=ef01: work, parked on r1.5: The plan and the acceptance tests were changed in `work`. Do they still say what is wanted?");
    assert_eq!(frozen_at(&run), ("abcd".to_owned(), Some("p2".to_owned())), "nobody has looked yet");
    let (run, lines) = play_to(&format!("{}, {changed}, answer approve", frozen(false)));
    assert!(lines.ends_with("answer approve, then work_finished: review e7"), "{lines}");
    assert_eq!(frozen_at(&run), ("ef01".to_owned(), Some("p3".to_owned())));
    let receipt =
        run.receipts.iter().rev().find(|receipt| receipt.phase == "spec_test").expect("it is there");
    assert_eq!(receipt.note.as_deref(), Some("changed in `work`, with the plan"));
    assert_eq!(run.checkpoints.last().map(|checkpoint| checkpoint.summary.as_str()), Some("did"));
    assert_eq!(run.offered_tests, None);
}

#[test]
fn a_changed_plan_changes_no_tests_where_nobody_looks_at_them() {
    let changed = "agent work_finished summary=did file=p3 frozen=tests/a.sh head=ef01";
    let (run, lines) = play_to(&format!("{}, {changed}", frozen(true)));
    assert!(lines.contains("by frozen_tests: the acceptance tests are frozen"), "{lines}");
    assert!(lines.contains("no person looks at the tests of this run (`skip_test_review`)"), "{lines}");
    assert_eq!(run.phase, "work");
    assert_eq!(frozen_at(&run), ("abcd".to_owned(), Some("p2".to_owned())));
    // The plan itself may change.
    let same = last(&format!("{}, agent work_finished summary=did file=p3 frozen=same", frozen(true)));
    assert!(same.starts_with("review"), "{same}");
}

/// Returns the commit of the frozen tests, and the plan that they belong to.
fn frozen_at(run: &Run) -> (String, Option<String>) {
    let workflow = workflow("autonomous-loop");
    let at = run.frozen_tests(workflow).expect("they are frozen").at;
    (at, run.frozen_plan(workflow).map(str::to_owned))
}

#[test]
fn a_person_who_rejects_changed_tests_gets_the_others_back() {
    let changed = "agent work_finished summary=did file=p3 frozen=tests/a.sh head=ef01";
    let rejected = format!("{}, {changed}, answer reject note=too-little", frozen(false));
    let (run, lines) = play_to(&rejected);
    assert!(lines.ends_with(": work"), "{lines}");
    assert_eq!(frozen_at(&run), ("abcd".to_owned(), Some("p3".to_owned())), "for the changed plan too");
    assert!(run.has_rejected_tests(workflow("autonomous-loop")) && run.checkpoints.is_empty());
    let told = &run.errors.last().expect("it is told").message;
    assert!(told.contains("rejected by a person: too-little; those stay frozen"), "{told}");
    // The same tests are refused from then on, and others with another plan are asked about.
    assert!(last(&format!("{rejected}, {changed}")).contains("by frozen_tests"));
    let more = last(&format!("{rejected}, agent work_finished summary=did file=p4 frozen=tests/a.sh"));
    assert!(more.contains("parked on r1.7: The plan and the acceptance tests were changed"), "{more}");
}

#[test]
fn a_person_who_stops_at_changed_tests_is_asked_again() {
    let changed = "agent work_finished summary=did file=p3 frozen=tests/a.sh head=ef01";
    let (run, lines) = play_to(&format!("{}, {changed}, answer stop, resume", frozen(false)));
    assert!(lines.ends_with("resume: work"), "{lines}");
    assert_eq!(frozen_at(&run), ("abcd".to_owned(), Some("p2".to_owned())));
    let again = last(&format!("{}, {changed}, answer stop, resume, {changed}", frozen(false)));
    assert!(again.contains("parked on r1.8: The plan and the acceptance tests were changed"), "{again}");
}

#[test]
fn what_only_warp_can_say_does_not_come_in_with_an_approval() {
    let changed = "agent work_finished summary=did pr_url=#7 file=p3 frozen=tests/a.sh head=ef01";
    let (run, lines) = play_to(&format!("{}, {changed}, answer approve", frozen(false)));
    assert_eq!(run.phase, "review", "{lines}");
    assert!(!run.has_proved_pr() && run.artifacts.pr_url.is_none());
}

#[test]
fn tests_that_nobody_has_looked_at_are_a_doubt_in_the_end() {
    let shipped = |skip| {
        play(&format!(
            "{}, @ship, engine noted pr_url=#7, agent shipped file=p3 frozen=tests/a.sh",
            frozen(skip)
        ))
    };
    let words = "the acceptance tests were changed with the plan, and nobody has looked at them";
    assert!(shipped(false).contains(words));
    assert!(shipped(true).contains("the acceptance tests are frozen"), "nobody looks at them");
}

#[test]
fn a_promise_stands_on_frozen_tests_too() {
    let lines = play(&format!(
        "{}, @ship, engine noted pr_url=#7, agent shipped file=p2 frozen=tests/a.sh",
        frozen(true)
    ));
    assert!(
        lines.contains("the acceptance tests are frozen, and these have changed since abcd: `tests/a.sh`"),
        "{lines}"
    );
}

#[test]
fn tests_are_run_with_the_command_that_they_were_first_run_with() {
    let command_of = |ran: &str| {
        let (run, lines) = play_to(&format!(
            "autonomous-loop skip_test_review=true: @plan, plan_written artifact=docs/p.md file=p1,
            agent tests_approved artifact=tests/a.sh git_sha=abcd summary=one file=t1 {ran},
            agent plan_deepened file=p2"
        ));
        assert_eq!(run.phase, "work", "{lines}");
        let event = Event::Named(EventName::new("work_finished"));
        let probes = needs(workflow("autonomous-loop"), &run, engine::Actor::Agent, &event, &Map::new());
        let tests = probes
            .into_iter()
            .find_map(|probe| if let Probe::Tests { command, .. } = probe { Some(command) } else { None });
        tests.expect("the tests are run")
    };
    assert_eq!(command_of("ran=failed").as_deref(), Some("sh a.sh"));
    assert_eq!(command_of("ran=absent run={\"failed\":7,\"errored\":0}"), None);
}
