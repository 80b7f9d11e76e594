//! The end of a turn: what the Stop hook decides, and a test for each defect of the original loop.

use engine::{
    Event, Run, Standing, Time, step,
    turn::{TurnAsk, TurnDecision, TurnEnd, asked, end},
    view::{reanchor, state_file, state_json},
};
use insta::assert_snapshot;

use crate::{
    script::{play, play_to},
    support::{clear, find_all, workflow},
};

const LOOP: &str = "autonomous-loop";
const PROMISE: &str = "All is done.\n<promise>SHIPPED</promise>";

fn turn(last_message: &str) -> TurnEnd<'_> {
    TurnEnd {
        last_message,
        stop_hook_active: true,
        background_tasks: 0,
        session_is_owner: true,
        blocks: 0,
        now: Time::from_millis(crate::support::START + crate::support::MINUTE),
    }
}

/// Ends a turn as the hook does: events are offered, answers handed back. Returns the run and the decision.
fn finish(run: &Run, turn: &TurnEnd<'_>) -> (Run, TurnDecision) {
    let workflow = workflow(&run.workflow);
    let (mut run, mut decision) = (run.clone(), end(workflow, run, turn));
    for _ in 0..2 {
        let TurnDecision::Ask(ask) = &decision else { break };
        let TurnAsk { event, data, actor, .. } = &**ask;
        let mut ask = clear(event.name().as_str(), run.updated_at);
        ask.data.clone_from(data);
        (ask.event, ask.actor) = (event.clone(), *actor);
        find_all(workflow, &run, &mut ask);
        let answer = step(workflow, &run, &ask);
        let refused = answer.as_ref().err().cloned();
        if let Ok(step) = answer {
            run = step.run;
        }
        let TurnDecision::Ask(ask) = &decision else { break };
        decision = asked(workflow, &run, ask, refused.as_ref(), turn);
    }
    assert!(!matches!(decision, TurnDecision::Ask(_)), "two events are enough");
    (run, decision)
}

fn reason(decision: &TurnDecision) -> &str {
    match decision {
        TurnDecision::Block { reason } => reason,
        TurnDecision::Allow { .. } | TurnDecision::Ask(_) => panic!("{decision:?}"),
    }
}

fn note(decision: &TurnDecision) -> Option<&str> {
    match decision {
        TurnDecision::Allow { note } => note.as_deref(),
        TurnDecision::Block { .. } | TurnDecision::Ask(_) => panic!("{decision:?}"),
    }
}

fn at(phase: &str) -> Run {
    play_to(&format!("autonomous-loop: @{phase}")).0
}

fn shipping() -> Run {
    play_to("autonomous-loop: @ship, noted pr_url=https://forge.example/pull/7").0
}

#[test]
fn a_turn_counts_and_the_loop_goes_on() {
    let (run, decision) = finish(&at("work"), &turn("Done for now."));
    assert_eq!((run.phase.as_str(), run.counter("phase_iteration")), ("work", 1));
    assert_snapshot!(reason(&decision), @r#"
    Run r1 of autonomous-loop resumes. It stands in phase `work`.
    Feature: Add a login
    Purpose of the phase: Implements the plan until the acceptance tests pass.
    Iteration 1/50 of the loop, 1/10 of the phase, fix cycles 0/3; minutes in the phase: 1.
    Done: brainstorm → plan → spec_test → deepen.
    branch: feature/issue-42-title
    What proves the phase done: a commit made in this phase (`git_sha`), or a `note` why there is none.
    Commits are allowed in this phase. Warp pushes and opens the pull request.
    Say so with:
      warp state transition . work_finished --data '{"git_sha":"COMMIT","summary":"WHAT WAS DONE","failed_approaches":["WHAT DID NOT WORK, AND WHY"]}'
    "#);
}

#[test]
fn a_turn_that_leads_to_a_phase_is_no_iteration_of_it() {
    let mut run = at("deepen");
    run.facts.moved_by_agent = true;
    let (run, decision) = finish(&run, &turn("The tests are approved."));
    assert_eq!((run.phase.as_str(), run.counter("phase_iteration")), ("deepen", 0));
    assert_eq!(run.counter("global_iteration"), 1);
    assert!(reason(&decision).contains("warp state transition . plan_deepened --data"), "{decision:?}");
    // The next one is, and is the only one.
    let (run, _) = finish(&run, &turn("The plan is fine."));
    assert_eq!(run.phase, "work");
}

#[test]
fn only_the_agents_own_last_move_since_its_last_turn_counts_as_one() {
    let moved = |script: &str| play_to(script).0.facts.moved_by_agent;
    assert!(!moved("autonomous-loop: "), "the run has begun");
    assert!(moved("autonomous-loop: agent brainstorm_written artifact=a.md file=a"));
    assert!(moved("autonomous-loop: agent brainstorm_written artifact=a.md file=a, noted error=x"));
    assert!(!moved("autonomous-loop: agent brainstorm_written artifact=a.md file=a, engine turn_finished"));
    assert!(!moved("autonomous-loop: agent brainstorm_written artifact=a.md file=a, plan_written"));
}

#[test]
fn defect_1_every_phase_is_known_and_none_loses_the_run() {
    for phase in workflow(LOOP).phases.iter().map(|phase| phase.name.as_str()) {
        let (run, decision) = finish(&at(phase), &turn("Done for now."));
        assert!(run.is_open(), "{phase}");
        assert!(state_file(workflow(LOOP), &run).is_some(), "{phase}");
        assert!(matches!(decision, TurnDecision::Block { .. }), "{phase}");
    }
}

#[test]
fn defect_2_force_out_of_plan_leads_to_the_acceptance_tests() {
    let (run, _) = play_to("autonomous-loop max_phase_iterations=1: @plan");
    let (run, decision) = finish(&run, &turn(""));
    assert_eq!(run.phase, "spec_test");
    assert!(reason(&decision).contains("phase `spec_test`"), "told where it stands after the move");
    // And force never leads past a person's look at them.
    let (run, decision) = finish(&run, &turn(""));
    assert_eq!(run.phase, "spec_test");
    assert!(note(&decision).unwrap().contains("waits for a person"));
}

#[test]
fn defect_3_a_promise_counts_in_ship_alone_with_receipts_and_pull_request() {
    for phase in ["brainstorm", "plan", "spec_test", "work", "review", "fix", "re_review", "compound", "test"]
    {
        let (run, decision) = finish(&at(phase), &turn(PROMISE));
        assert_eq!(run.standing, Standing::Active, "{phase}");
        let told = reason(&decision);
        assert!(told.starts_with("The promise counts only in `ship`"), "{phase}: {told}");
    }
    let (run, decision) = finish(&at("ship"), &turn(PROMISE));
    assert_eq!((run.phase.as_str(), &run.standing), ("ship", &Standing::Active));
    assert_snapshot!(reason(&decision).lines().next().unwrap(), @r#"The promise is not kept yet: `shipped` is refused in `ship` by promise: `pr_url` is not set; send it along as --data '{"pr_url":"https://…"}'."#);
    assert_eq!(run.counter("phase_iteration"), 1, "a promise that is not kept is a turn too");
    let (run, decision) = finish(&shipping(), &turn(PROMISE));
    assert_eq!(run.standing, Standing::Ended { how: "shipped".to_owned() });
    assert_snapshot!(note(&decision).unwrap(), @"Run r1 is over (shipped)");
}

#[test]
fn defect_4_the_word_without_tags_is_no_promise() {
    for message in ["SHIPPED", "  SHIPPED\n", "All done.\n\nSHIPPED", "<promise>SHIPPED", "SHIPPED</promise>"]
    {
        let (run, decision) = finish(&shipping(), &turn(message));
        assert_eq!(run.standing, Standing::Active, "{message:?}");
        assert!(matches!(decision, TurnDecision::Block { .. }), "{message:?}");
    }
    let (_, decision) = finish(&shipping(), &turn("SHIPPED"));
    assert_snapshot!(reason(&decision).lines().next().unwrap(), @"`SHIPPED` without tags is no promise; it counts only as <promise>SHIPPED</promise>.");
}

#[test]
fn defect_5_a_loop_that_is_over_blocks_no_later_stop_and_leaves_no_state_file() {
    let (run, _) = finish(&shipping(), &turn(PROMISE));
    assert!(state_file(workflow(LOOP), &run).is_none());
    let (after, decision) = finish(&run, &turn("Something else."));
    assert_eq!(after, run);
    assert!(note(&decision).is_some());
    // Out of turns it waits for a person, and blocks nothing either.
    let (run, _) = play_to("autonomous-loop max_iterations=1: @work");
    let (run, decision) = finish(&run, &turn(""));
    assert_snapshot!(note(&decision).unwrap(), @"Run r1 waits for a person: The loop has taken 1 turn (limit 1). Continue, or stop? (`warp answer r1.5 continue` or `warp answer r1.5 stop`)");
    let (after, decision) = finish(&run, &turn(""));
    assert_eq!(after, run);
    assert!(note(&decision).is_some());
}

#[test]
fn defect_6_a_promise_is_found_wherever_it_stands_in_the_last_text() {
    for message in [
        "<promise>SHIPPED</promise>",
        "<promise>\n  SHIPPED \n</promise>\nThe tool call above was the last.",
        "Not <promise>this</promise> but <promise>SHIPPED</promise>",
        "a < b <promise>SHIPPED</promise> ünïcode",
    ] {
        let (run, _) = finish(&shipping(), &turn(message));
        assert!(!run.is_open(), "{message:?}");
    }
    // The last one counts.
    let (run, _) = finish(&shipping(), &turn("<promise>SHIPPED</promise>, no: <promise>NOT YET</promise>"));
    assert!(run.is_open());
    let (mut run, _) = play_to("autonomous-loop: @ship, noted pr_url=https://forge.example/pull/7");
    run.settings.set("completion_promise", "ALL  IS DONE".into()).unwrap();
    assert!(!finish(&run, &turn("<promise>ALL IS\nDONE</promise>")).0.is_open(), "spaces are all the same");
}

#[test]
fn defect_7_fix_cycles_run_out() {
    let (run, _) = play_to("autonomous-loop max_fix_cycles=1: @review, p1_found, fixes_made, p1_found");
    assert_eq!((run.phase.as_str(), run.counter("fix_review_cycles")), ("compound", 1));
    assert!(run.receipt(&"re_review".into()).unwrap().forced, "and a person will be asked at the end");
}

#[test]
fn defect_8_the_way_back_from_the_test_is_counted_too() {
    let script = "autonomous-loop max_fix_cycles=1: @test, tests_failed, fixes_made, review_clean, solution_noted, tests_failed";
    let (run, _) = play_to(script);
    assert_eq!(run.phase, "test");
    assert!(matches!(run.standing, Standing::Parked { .. }));
    assert!(note(&finish(&run, &turn("")).1).is_some());
}

#[test]
fn defect_9_a_loop_begins_with_its_feature_and_skips_what_it_is_told_to() {
    let (run, _) = play_to("autonomous-loop skip_test_review=true skip_brainstorm=true: ");
    let shown = state_json(workflow(LOOP), &run);
    assert_eq!(shown["version"], 2);
    assert_eq!(shown["feature"], "Add a login");
    assert_eq!((&shown["phase"], &shown["skip_test_review"]), (&"plan".into(), &true.into()));
}

#[test]
fn defect_10_another_session_and_background_work_are_left_alone() {
    let run = at("work");
    let other = TurnEnd { session_is_owner: false, ..turn(PROMISE) };
    assert_eq!(finish(&run, &other), (run.clone(), TurnDecision::Allow { note: None }));
    let busy = TurnEnd { background_tasks: 1, ..turn("Waiting for the build.") };
    assert_eq!(finish(&run, &busy), (run.clone(), TurnDecision::Allow { note: None }));
    // A turn that was kept going too often without a tool call is let go, and nothing is lost.
    let seventh = TurnEnd { blocks: 7, ..turn("…") };
    let (after, decision) = finish(&run, &seventh);
    assert_eq!(after, run);
    assert_snapshot!(note(&decision).unwrap(), @"The turn was kept going 7 times without a tool call and may end now. Run r1 stays in `work` and resumes with the next prompt");
    assert!(matches!(finish(&run, &TurnEnd { blocks: 6, ..turn("…") }).1, TurnDecision::Block { .. }));
    // A new turn starts the count again; a kept promise counts whatever the count.
    let fresh = TurnEnd { stop_hook_active: false, ..seventh.clone() };
    assert!(matches!(finish(&run, &fresh).1, TurnDecision::Block { .. }));
    assert!(!finish(&shipping(), &TurnEnd { blocks: 7, ..turn(PROMISE) }).0.is_open());
    assert!(note(&finish(&at("ship"), &TurnEnd { blocks: 7, ..turn(PROMISE) }).1).is_some());
}

#[test]
fn defect_11_a_fix_cycle_is_counted_when_its_fixes_go_to_the_review() {
    assert_snapshot!(play("autonomous-loop: @review, p1_found, fixes_made, review_clean"), @"
    p1_found: fix e6
    fixes_made: re_review [fix_review_cycles 1] e7
    review_clean: compound [fix_review_cycles 1] e8
    ");
}

#[test]
fn a_run_that_rests_lets_every_turn_end() {
    for script in ["autonomous-loop: @work, stop", "autonomous-loop: @work, +481m, deadline"] {
        let (run, _) = play_to(script);
        let (after, decision) = finish(&run, &turn(PROMISE));
        assert_eq!(after, run);
        assert!(note(&decision).is_some());
    }
}

#[test]
fn warp_drive_keeps_a_turn_going_for_a_report_that_is_due_and_for_nothing_else() {
    let (run, _) = play_to(
        r#"@chunking, chunks_defined acs=[["AC-01"]], code_complete, docs_updated, tests_passed, committed"#,
    );
    let (after, decision) = finish(&run, &turn("Done."));
    assert_eq!(after, run);
    assert_snapshot!(reason(&decision), @"The chunk report is missing: chunk 1 of 1 is committed and its report is not filed. File the chunk report first: `warp next` does it and tells what comes then. The run is in `reporting`; possible: report_filed, abort.");
    assert!(note(&finish(&run, &TurnEnd { blocks: 7, ..turn("") }).1).is_some());
    let (run, _) = play_to("@coding");
    assert_snapshot!(note(&finish(&run, &turn("Done.")).1).unwrap(), @"Run r1 of warp-drive is in `coding`. Consider running session end protocol before stopping: `/stop-warp-drive` saves the work and files a report. The next session resumes the run otherwise");
    // What only a person can decide, and what is aborted, keeps nobody.
    let (run, _) = play_to("warp-drive max_session_minutes=10: @committing, +11m, committed");
    assert_eq!((run.phase.as_str(), run.committed), ("budget_exceeded", true));
    assert!(note(&finish(&run, &turn("")).1).is_some());
    let (run, _) = play_to("@reporting, abort");
    assert!(note(&finish(&run, &turn("")).1).is_some());
}

#[test]
fn the_re_anchor_text_says_where_the_loop_stands_and_stays_short() {
    let script = r#"autonomous-loop: agent brainstorm_written artifact=docs/b.md summary=thought failed_approaches=["a_cache"],
        agent plan_written artifact=docs/p.md, noted error=the_build_broke"#;
    let (run, _) = play_to(script);
    assert_snapshot!(reanchor(workflow(LOOP), &run, run.updated_at), @r#"
    Run r1 of autonomous-loop resumes. It stands in phase `spec_test`.
    Feature: Add a login
    Purpose of the phase: Writes acceptance tests from plan and brainstorm alone; they must fail; a person looks at them.
    Iteration 0/50 of the loop, 0/10 of the phase, fix cycles 0/3; minutes in the phase: 0.
    Done: brainstorm → plan.
    brainstorm_file: docs/b.md
    plan_file: docs/p.md
    progress_file: docs/progress.md
    branch: feature/issue-42-title
    What proves the phase done: the committed acceptance tests (`artifact`, `git_sha`): warp runs them, and every one fails and none errors (where it cannot, `run` says so).
    Commits are allowed in this phase. Warp pushes and opens the pull request.
    Say so with:
      warp state transition . tests_written --data '{"artifact":"tests/acceptance/DATE-FEATURE-acceptance.EXT","git_sha":"COMMIT","run":{"failed":7,"errored":0},"summary":"WHAT WAS DONE","failed_approaches":["WHAT DID NOT WORK, AND WHY"]}'
    Then a person looks at it; the run waits for their answer.
    Errors on record, the newest first:
    - spec_test: the_build_broke
    Approaches that failed; another is wanted:
    - a_cache
    Checkpoints, the newest first:
    - brainstorm: thought
    "#);
    assert_snapshot!(reanchor(workflow(LOOP), &shipping(), shipping().updated_at), @r#"
    Run r1 of autonomous-loop resumes. It stands in phase `ship`.
    Feature: Add a login
    Purpose of the phase: Pushes, opens the pull request and keeps the promise.
    Iteration 0/50 of the loop, 0/10 of the phase, fix cycles 0/3; minutes in the phase: 0.
    Done: brainstorm → plan → spec_test → deepen → work → review → compound → test.
    pr_url: https://forge.example/pull/7
    branch: feature/issue-42-title
    Commits are allowed in this phase. Warp pushes and opens the pull request.
    `warp next` opens the pull request, pushes what may leave, and ends the loop if every receipt holds.
    A person who opened it says: warp state transition . noted --data '{"pr_url":"https://…"}'
    If it does not end, the last message of the turn ends it, with this in it: <promise>SHIPPED</promise>
    "#);
    let mut long = run;
    long.feature = Some("ü".repeat(20_000));
    let mut tries = clear("noted", long.updated_at);
    tries.data.insert("summary".to_owned(), "s".repeat(2000).into());
    tries.data.insert("failed_approaches".to_owned(), vec!["f".repeat(2000); 100].into());
    tries.data.insert("error".to_owned(), "e".repeat(2000).into());
    for _ in 0..30 {
        long = step(workflow(LOOP), &long, &tries).unwrap().run;
    }
    let told = reanchor(workflow(LOOP), &long, long.updated_at);
    assert!(told.chars().count() < 9_000);
    assert!(told.contains("tests_written --data"), "what proves the phase done is never cut");
}

#[test]
fn an_event_of_the_turn_is_the_engines_and_the_promise_the_agents() {
    let TurnDecision::Ask(ask) = end(workflow(LOOP), &at("work"), &turn("")) else { panic!("an ask") };
    assert_eq!((ask.event, ask.actor), (Event::Named("turn_finished".into()), engine::Actor::Engine));
    let TurnDecision::Ask(ask) = end(workflow(LOOP), &shipping(), &turn(PROMISE)) else { panic!("an ask") };
    assert_eq!((ask.event, ask.actor), (Event::Named("shipped".into()), engine::Actor::Agent));
}
