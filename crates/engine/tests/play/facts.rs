//! What a run knows of the work so far: by what events mean in its workflow, not by their names.

use engine::{CheckResult, Inquiry, NoteKind, Run, Workflow};

use crate::script::play_to;

const PLANNED: &str =
    "work_selected requirement=1, plan_ready approach=one, chunks_defined acs=[[\"AC-01\"],[\"AC-02\"]], ";

fn run(script: &str) -> Run {
    play_to(&format!("prerequisites_ok, {script}")).0
}

#[test]
fn an_issue_and_its_plan_are_known_until_the_next_one_is_taken() {
    let known = run(PLANNED.trim_end_matches(", ")).facts.issue;
    assert_eq!((known.selected["requirement"].as_u64(), known.began_after), (Some(1), 2));
    assert_eq!(known.plan.unwrap()["approach"], "one");
    let next = run(&format!("{PLANNED}@awaiting_continue, continue_yes"));
    assert!(next.facts.wants_another && next.facts.issue.is_merged);
    let next = run(&format!("{PLANNED}@awaiting_continue, continue_yes, work_selected requirement=2"));
    assert!(!next.facts.wants_another && !next.facts.issue.is_merged && next.facts.issue.plan.is_none());
}

#[test]
fn a_plan_that_was_approved_for_another_issue_is_not_taken() {
    let asked = "work_selected requirement=1, question Right?, answer yes";
    let option = |run: &Run| run.facts.answered("scope").and_then(Inquiry::option).map(str::to_owned);
    assert_eq!(option(&run(asked)).as_deref(), Some("yes"));
    assert_eq!(run(asked).facts.answered("plan"), None);
    let next = format!("{asked}, @awaiting_continue, continue_yes, work_selected requirement=2");
    assert_eq!(option(&run(&next)), None);
}

#[test]
fn the_last_failure_and_the_accounts_of_a_chunk_are_known() {
    let failed = run(&format!("{PLANNED}code_complete summary=a, @testing, tests_failed failure=red"));
    let failure = failed.facts.issue.failure.clone().unwrap();
    assert_eq!((failure.text.as_str(), failure.is_of_tests), ("red", true));
    assert_eq!(failed.facts.chunk.accounts.len(), 1);
    assert_eq!(failed.facts.entry.clone().unwrap().event, *"tests_failed");
    let next = run(&format!("{PLANNED}code_complete summary=a, @chunk_complete, next_chunk"));
    assert!(next.facts.chunk.accounts.is_empty());
}

#[test]
fn advice_on_seed_data_holds_until_there_is_other_code() {
    let advised = format!("{PLANNED}code_complete summary=a, advice no seed data for cups");
    let seeds = |script: &str| run(script).facts.chunk.seeds;
    assert_eq!(seeds(&advised).as_deref(), Some("no seed data for cups"));
    assert!(seeds(&format!("{advised}, @testing, tests_failed failure=red")).is_some());
    assert_eq!(
        seeds(&format!("{advised}, @testing, tests_failed failure=red, code_complete summary=b")),
        None
    );
}

#[test]
fn words_of_another_workflow_mean_the_same() {
    let coder = |script: &str| play_to(&format!("coder: {script}")).0.facts;
    let taken = coder("receive_task requirement=1, workspace_ready, submit_plan approach=one, approve");
    assert!(taken.issue.began_at.is_some());
    assert_eq!(taken.issue.plan.unwrap()["approach"], "one");
    let failed = coder("@TESTING, tests_fail failure=red");
    assert_eq!(failed.issue.failure.unwrap().text, "red");
}

#[test]
fn a_verdict_stays_known_with_what_was_answered_to_it() {
    let coder = |script: &str| play_to(&format!("coder: {script}")).0.facts.issue;
    let planned = "receive_task requirement=1, workspace_ready, submit_plan plan=one, ";
    let known = coder(&format!("{planned}changes feedback=smaller, submit_plan plan=two, approve"));
    let events: Vec<&str> = known.reviews.iter().map(|review| review.event.as_str()).collect();
    assert_eq!(events, ["changes", "approve"]);
    assert!(known.reviews[0].wants_changes && !known.reviews[1].wants_changes);
    assert_eq!(known.plan.unwrap()["plan"], "two");
    let work =
        "approve, code_complete summary=done, tests_fail failure=red, fix_done summary=fixed, tests_pass, ";
    let fixed = format!("{planned}{work}changes feedback=slow, fix_done summary=faster");
    let known = coder(&fixed);
    assert!(known.failure.is_none(), "its tests passed since: {:?}", known.failure);
    let last = known.reviews.last().unwrap();
    assert_eq!((last.data["feedback"].as_str(), last.reply.as_deref()), (Some("slow"), Some("faster")));
}

#[test]
fn what_people_say_and_agents_note_stays_until_the_next_issue() {
    let noted = format!(
        "{PLANNED}tell use tabs, code_complete summary=a lessons=[{{\"title\":\"T\",\"text\":\"t\"}}], @chunk_complete, next_chunk"
    );
    let known = run(&noted).facts.issue;
    assert_eq!(known.told, ["use tabs"]);
    assert_eq!((known.notes[0].kind, known.notes[0].title.as_str()), (NoteKind::Lesson, "T"));
    let next = run(&format!("{noted}, @awaiting_continue, continue_yes, work_selected requirement=2"));
    assert!(next.facts.issue.told.is_empty() && next.facts.issue.notes.is_empty());
}

#[test]
fn what_came_of_a_pull_request_is_known_until_it_is_claimed_anew() {
    let pull = |script: &str| play_to(&format!("factory: claimed, pushed, {script}")).0.facts.issue.pull;
    let failed = pull("ci_failed failure=red");
    assert_eq!(failed.checks, Some(CheckResult::Failed("red".to_owned())));
    let sent_back = pull("ci_passed, changes_requested review=shorter");
    assert_eq!((sent_back.checks, sent_back.review.as_deref()), (Some(CheckResult::Passed), Some("shorter")));
    let again =
        pull("ci_passed, merge_conflicted failure=both, dependency_unmet, dependencies_closed, claimed");
    assert_eq!(again.conflict.as_deref(), Some("both"));
}

#[test]
fn words_of_an_agent_in_a_terminal_mean_events_by_what_phases_are_for() {
    let means = |script: &str, word: &str| {
        let run = play_to(&format!("factory: {script}")).0;
        format!("{:?}", Workflow::built_in("factory").unwrap().means(&run, word))
    };
    for (phase, word, expected) in [
        ("@in_progress", "awaiting_ci", "HandedIn(EventName(\"pushed\"))"),
        ("@in_progress", "awaiting_review", "HandedIn(EventName(\"pushed\"))"),
        ("@in_progress", "needs_human", "Said(EventName(\"needs_human\"))"),
        ("@in_progress", "failed", "Said(EventName(\"failed\"))"),
        ("@in_progress", "too_large", "Said(EventName(\"too_large\"))"),
        ("@in_progress", "underspecified", "Said(EventName(\"too_large\"))"),
        ("@in_progress", "in_progress", "Known"),
        ("@in_progress", "holiday", "Nothing"),
        ("@awaiting_ci", "awaiting_ci", "Known"),
        ("@awaiting_ci", "awaiting_review", "Nothing"),
        ("@awaiting_review", "awaiting_review", "Known"),
        ("@awaiting_review", "awaiting_ci", "Nothing"),
        ("@awaiting_review", "merged", "Nothing"),
        ("@awaiting_review", "done", "Over"),
        ("@needs_human", "needs_human", "Known"),
        ("@needs_human", "failed", "Said(EventName(\"failed\"))"),
    ] {
        assert_eq!(means(phase, word), expected, "{phase} {word}");
    }
}

#[test]
fn waits_in_a_row_are_counted_until_somebody_answers() {
    let driven = "driven, work_selected requirement=1, turn claude, ";
    let waited = run(&format!("{driven}suspend full, over, suspend full"));
    assert_eq!(waited.facts.access.limits.count, 2);
    assert_eq!(run(&format!("{driven}suspend full, resume")).facts.access.lifted, waited.facts.access.wait);
    assert_eq!(run(&format!("{driven}suspend full, over")).facts.access.lifted, None);
    let answered = run(&format!("{driven}suspend full, over, turned s1"));
    assert_eq!(answered.facts.access.limits.count, 0);
    assert!(answered.facts.issue.has_worked);
    assert_eq!(answered.facts.last_turn.as_deref(), Some("answered"));
}

#[test]
fn an_effect_says_what_is_to_be_done() {
    let act = |script: &str| format!("{:?}", play_to(script).0.act());
    let wait = "prerequisites_ok, suspend full";
    for (script, expected) in [
        ("prerequisites_ok", "Job(SelectWork)"),
        ("@planning", "Agent { role: Some(\"coder\"), asks: Plan }"),
        ("@coding", "Agent { role: Some(\"coder\"), asks: Work }"),
        (
            "@awaiting_continue",
            "Person { question: Some(\"Continue to next task?\"), unattended: Some(\"no\") }",
        ),
        ("coder: @PLANNING", "Agent { role: Some(\"coder\"), asks: Event }"),
        ("autonomous-loop: @review", "Agent { role: Some(\"reviewer\"), asks: Verdict }"),
        ("autonomous-loop: @ship", "Job(OpenPullRequest)"),
        ("autonomous-loop: @ship, engine noted pr_url=#1", "Agent { role: Some(\"coder\"), asks: Promise }"),
        ("factory: ", "Job(Claim)"),
        ("factory: @awaiting_ci", "Job(AwaitChecks)"),
    ] {
        assert_eq!(act(script), expected, "{script}");
    }
    for (script, on) in [
        (wait, "Limit, until: Some("),
        ("factory: @blocked", "Dependencies, until: Some("),
        ("factory: @awaiting_review", "Review, until: Some("),
    ] {
        assert!(act(script).starts_with(&format!("Wait {{ on: {on}")), "{}", act(script));
    }
}
