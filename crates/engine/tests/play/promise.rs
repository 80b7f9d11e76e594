//! The end of the loop: a promise is believed when everything it stands on still stands; and notes.

use insta::assert_snapshot;

use crate::script::{play, play_to};

/// A loop in `ship`, every phase of which was shown to be done.
const SHIP: &str = r#"agent plan_written artifact=docs/p.md,
    agent tests_written artifact=tests/a.rs git_sha=abcd run={"failed":7,"errored":0}, answer approve,
    agent plan_deepened file=d2, agent work_finished git_sha=abce, agent review_clean summary=fine,
    agent solution_noted artifact=docs/solutions/s.md, agent tests_passed summary=green"#;

fn ship(settings: &str, rest: &str) -> String {
    format!("autonomous-loop skip_brainstorm=true {settings}: {SHIP}, {rest}")
}

fn last(script: &str) -> String {
    let lines = play(script);
    let line = lines.lines().rev().find(|line| !line.starts_with("  ")).expect("a line");
    line.split_once(": ").expect("an answer").1.to_owned()
}

#[test]
fn a_promise_with_everything_it_stands_on_ends_the_loop() {
    for actor in ["engine ", ""] {
        let noted = format!("{actor}noted pr_url=https://forge.example/pull/9, agent shipped pr_url=null");
        let (run, _) = play_to(&ship("", &noted));
        assert_eq!(run.standing, engine::Standing::Ended { how: "shipped".to_owned() }, "{actor}");
        assert_eq!(run.artifacts.pr_url.as_deref(), Some("https://forge.example/pull/9"));
    }
    assert_snapshot!(last(&ship("", "shipped")), @"ship, ended (shipped)");
}

#[test]
fn a_pull_request_that_only_the_agent_has_seen_is_a_persons_to_accept() {
    let asked = "ship, parked on r1.10: The agent says so: is https://forge.example/pull/7 the pull request?";
    assert_eq!(last(&ship("", "agent shipped")), asked);
    assert_snapshot!(last(&ship("", "agent noted pr_url=https://x.example/1, agent shipped pr_url=null")), @"ship, parked on r1.11: The agent says so: is https://x.example/1 the pull request?");
    assert_snapshot!(last(&ship("", r#"agent noted artifacts={"pr_url":"https://x.example/1"}, agent shipped pr_url=null"#)), @"ship, parked on r1.11: The agent says so: is https://x.example/1 the pull request?");
    assert_snapshot!(last(&ship("", "agent shipped, answer accept")), @"ship, ended (shipped)");
    assert_snapshot!(last(&ship("", "agent shipped, answer continue, agent shipped")), @"ship, parked on r1.12: The agent says so: is https://forge.example/pull/7 the pull request?");
    assert_snapshot!(last(&ship("", "agent shipped, answer continue, noted pr_url=https://forge.example/pull/7, agent shipped")), @"ship, ended (shipped)");
    // What is proved is not replaced by what is not.
    let (run, lines) = play_to(&ship("", "engine noted pr_url=https://x.example/1, agent shipped"));
    assert_eq!(run.artifacts.pr_url.as_deref(), Some("https://x.example/1"));
    assert!(lines.contains("`pr_url` stays https://x.example/1"), "{lines}");
}

#[test]
fn without_a_pull_request_nobody_ships() {
    assert_snapshot!(last(&ship("", "agent shipped pr_url=null")), @r#"refused: `shipped` is refused in `ship` by promise: `pr_url` is not set; send it along as --data '{"pr_url":"https://…"}'"#);
    assert!(last(&ship("", "shipped pr_url=null")).starts_with("refused"));
    assert!(last(&ship("", "agent shipped pr_url=7")).starts_with("refused"));
}

#[test]
fn receipts_are_looked_at_again_and_what_is_missing_is_listed() {
    assert_snapshot!(last(&ship("", "agent shipped file=missing")), @"refused: `shipped` is refused in `ship` by promise: receipt of `plan`: `docs/p.md` does not exist, neither in the working tree nor in the commit; receipt of `spec_test`: `tests/a.rs` does not exist, neither in the working tree nor in the commit; receipt of `compound`: `docs/solutions/s.md` does not exist, neither in the working tree nor in the commit");
    assert_snapshot!(last(&ship("", "agent shipped commit=foreign")), @"refused: `shipped` is refused in `ship` by promise: receipt of `spec_test`: commit `abcd` is not in the history of the current commit; receipt of `work`: commit `abce` is not in the history of the current commit");
    // A person is told, and believed.
    assert_snapshot!(play(&ship("", "shipped file=missing")).lines().skip(8).collect::<Vec<_>>().join("\n"), @"
    shipped file=missing: ship, ended (shipped)
      ended all the same: receipt of `plan`: `docs/p.md` does not exist, neither in the working tree nor in the commit
      ended all the same: receipt of `spec_test`: `tests/a.rs` does not exist, neither in the working tree nor in the commit
      ended all the same: receipt of `compound`: `docs/solutions/s.md` does not exist, neither in the working tree nor in the commit
    ");
}

#[test]
fn a_plan_that_was_not_deepened_is_a_persons_to_accept() {
    let deepened = |file: &str| {
        last(&format!(
            r#"autonomous-loop skip_brainstorm=true: agent plan_written artifact=docs/p.md file=d1,
            agent tests_written artifact=tests/a.rs git_sha=abcd run={{"failed":7,"errored":0}}, answer approve,
            engine turn_finished file={file}, agent work_finished git_sha=abce, agent review_clean summary=fine,
            agent solution_noted artifact=docs/solutions/s.md, agent tests_passed summary=green,
            engine noted pr_url=https://forge.example/pull/7, agent shipped"#
        ))
    };
    assert_snapshot!(deepened("d1"), @"ship, parked on r1.12: nothing was shown in `deepen`. Is the work done all the same? [global_iteration 1]");
    assert_snapshot!(deepened("d2"), @"ship, ended (shipped) [global_iteration 1]");
}

#[test]
fn a_phase_that_was_left_by_force_is_a_persons_to_accept() {
    let forced = r#"autonomous-loop skip_brainstorm=true max_phase_iterations=1: agent plan_written artifact=docs/p.md,
        agent tests_written artifact=tests/a.rs git_sha=abcd run={"failed":7,"errored":0}, answer approve,
        agent plan_deepened file=d2, engine turn_finished, agent review_clean summary=fine,
        agent solution_noted artifact=docs/solutions/s.md, agent tests_passed summary=green"#;
    let forced = format!("{forced}, engine noted pr_url=https://forge.example/pull/7");
    assert_snapshot!(last(&format!("{forced}, agent shipped")), @"ship, parked on r1.12: `work` was left by force. Is the work done all the same? [global_iteration 1]");
    assert_snapshot!(last(&format!("{forced}, agent shipped, answer accept")), @"ship, ended (shipped) [global_iteration 1]");
    assert_snapshot!(last(&format!("{forced}, agent shipped, answer continue")), @"ship [global_iteration 1]");
    assert_snapshot!(last(&format!("{forced}, agent shipped, answer stop")), @"ship, stopped [global_iteration 1]");
    assert!(last(&format!("{forced}, agent shipped, agent answer accept")).starts_with("refused"));
    assert_snapshot!(last(&format!("{forced}, agent shipped file=missing")), @"refused: `shipped` is refused in `ship` by promise: receipt of `plan`: `docs/p.md` does not exist, neither in the working tree nor in the commit; receipt of `spec_test`: `tests/a.rs` does not exist, neither in the working tree nor in the commit; receipt of `compound`: `docs/solutions/s.md` does not exist, neither in the working tree nor in the commit; `work` was left by force");
}

#[test]
fn an_adopted_loop_without_receipts_is_a_persons_to_accept_too() {
    let (mut run, _) = play_to("autonomous-loop: @ship");
    run.receipts.truncate(6);
    let workflow = crate::support::workflow("autonomous-loop");
    let mut ask = crate::support::clear("shipped", run.updated_at);
    ask.actor = engine::Actor::Agent;
    crate::support::find_all(workflow, &run, &mut ask);
    let step = engine::step(workflow, &run, &ask).unwrap();
    let engine::Standing::Parked { decision } = step.run.standing else { panic!("{:?}", step.run.standing) };
    assert_snapshot!(decision.question, @"`compound` has no receipt, `test` has no receipt. Is the work done all the same? The agent says so: is https://forge.example/pull/7 the pull request?");
}

#[test]
fn a_note_adds_and_moves_nothing() {
    let (run, lines) = play_to(
        r#"autonomous-loop: @work, agent noted pr_url=https://forge.example/pull/7 error=the_build_broke
        checkpoint={"summary":"half","failed_approaches":["a_cache"]}"#
            .replace("\n        ", " ")
            .as_str(),
    );
    assert_snapshot!(lines.split_once(": ").unwrap().1.split(": ").last().unwrap(), @"work");
    assert_eq!((run.phase.as_str(), run.phases_completed.len()), ("work", 4));
    assert_eq!(run.artifacts.pr_url.as_deref(), Some("https://forge.example/pull/7"));
    assert_eq!(run.artifacts.progress_file.as_deref(), Some("docs/progress.md"));
    assert_eq!((run.errors[0].message.as_str(), run.errors[0].phase.as_str()), ("the_build_broke", "work"));
    assert_eq!(run.checkpoints[0].failed_approaches, ["a_cache"]);
}

#[test]
fn a_note_must_have_something_to_note() {
    let noted = |data: &str| last(&format!("autonomous-loop: noted {data}"));
    assert_snapshot!(noted("x=1"), @"refused: `data` has nothing to note; wanted are brainstorm_file, plan_file, acceptance_tests_file, progress_file, pr_url, branch, checkpoint or error");
    assert_snapshot!(noted("checkpoint=7"), @"refused: `checkpoint` must be a table with `summary` and `failed_approaches`");
    assert_snapshot!(noted(r#"failed_approaches=["a"]"#), @"refused: `summary` is missing beside `failed_approaches`");
    assert_snapshot!(noted("error=[]"), @"refused: `error` must be a text of at most 2000 bytes");
    for path in [
        "/etc/passwd.md",
        "../x.md",
        "docs/../../x.md",
        ".git/x.md",
        ".claude/skills/x.md",
        "docs//x.md",
        "x.rs",
    ] {
        assert!(noted(&format!("progress_file={path}")).starts_with("refused: `progress_file`"), "{path}");
    }
    assert!(!noted("progress_file=notes/progress.md").starts_with("refused"));
}

#[test]
fn progress_is_what_did_not_work_first() {
    let script = r#"autonomous-loop: @work, noted error=the_build_broke,
        noted summary=first failed_approaches=["a_cache","a_queue"], agent work_finished git_sha=abcd summary=second failed_approaches=["a_lock"]"#;
    assert_snapshot!(engine::view::progress(&play_to(script).0), @"
    # Progress

    Add a login

    Written by warp; changes made here are written over. Phase: `review`.

    ## What did not work

    - work: a_lock
    - work: a_cache
    - work: a_queue

    ## Errors

    - 2026-05-08T15:56:59Z, work, iteration 0: the_build_broke

    ## Checkpoints

    - 2026-05-08T15:56:59Z, work: second
    - 2026-05-08T15:56:59Z, work: first
    ");
    assert_snapshot!(engine::view::progress(&play_to("autonomous-loop: ").0), @"
    # Progress

    Add a login

    Written by warp; changes made here are written over. Phase: `brainstorm`.

    ## What did not work

    Nothing so far.

    ## Checkpoints

    None so far.
    ");
}
