//! A run of `autonomous-loop` whose model ends its turn after every phase, in a project without a remote.

use std::path::Path;

use serde_json::Value;
use testkit::{
    Sandbox,
    agents::Claude,
    model::{Model, Turn},
    terminal::Terminal,
};

use super::{
    project::{launch, project, with_warp},
    script::{Move, bash, play, write},
};
use crate::support::{Ends as _, InProject as _};

const FEATURE: &str = "add a greeting";
const BRANCH: &str = "feature/add-a-greeting";
const PLAN: &str = "docs/plans/greet.md";
const TESTS: &str = "tests/acceptance/greet.sh";
const SOLUTION: &str = "docs/solutions/shell/greet.md";
const COMMIT: &str = r#""git_sha":"'$(git rev-parse HEAD)'""#;

fn says(event: &str, data: &str) -> String {
    format!("warp state transition . {event} --data '{{{data}}}'")
}

/// A turn that ends after a phase is left: it is kept going in the next one.
fn ends(told: &'static [&'static str]) -> Move {
    Move { turn: Turn::say("That is done."), told }
}

/// A trusted project on `main`, without a remote, with warp's hooks.
fn at_level(level: &str) -> Sandbox {
    let sandbox = project();
    Claude::trust(&sandbox);
    sandbox.warp_ok(&["init", "--level", level]);
    sandbox.commit("chore: set up");
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.git(&["merge", "--quiet", "--ff-only", "feature/issue-42-parser"]);
    sandbox
}

/// Goes from the plan to `deepen` and no further.
fn first_moves(root: &Path) -> Vec<Move> {
    let file = |name: &str| root.join(name).to_str().unwrap().to_owned();
    vec![
        write(&file(PLAN), "# Plan\n\nSay hello.\n", &[]),
        bash("git add docs && git commit -q -m 'docs: plan the greeting'", &[]),
        bash(
            &says("plan_written", &format!(r#""artifact":"{PLAN}","summary":"planned""#)),
            // The answer says where the run is, what is to be done there, and how that ends.
            &[
                "plan -> spec_test",
                "It stands in phase `spec_test`",
                "there is no implementation yet",
                "warp state transition . tests_written --data '{\"artifact\":\"tests/acceptance/",
            ],
        ),
        ends(&["It stands in phase `spec_test`", "warp state transition . tests_approved --data"]),
        write(&file(TESTS), "./greet | grep hello\n", &[]),
        bash("git add tests && git commit -q -m 'test: the greeting is wanted'", &[]),
        bash(
            &says("tests_approved", &format!(r#""artifact":"{TESTS}",{COMMIT},"summary":"one test""#)),
            &["spec_test -> deepen", "warp state transition . plan_deepened --data"],
        ),
    ]
}

/// Goes from `deepen` to `ship`, with a turn for every phase.
fn later_moves(root: &Path) -> Vec<Move> {
    let file = |name: &str| root.join(name).to_str().unwrap().to_owned();
    vec![
        ends(&["It stands in phase `deepen`", "warp state transition . plan_deepened --data"]),
        write(&file(PLAN), "# Plan\n\nSay hello, loudly.\n", &[]),
        bash("git add docs && git commit -q -m 'docs: deepen the plan'", &[]),
        bash(
            &says("plan_deepened", r#""summary":"deeper""#),
            &["deepen -> work", "warp state transition . work_finished --data"],
        ),
        ends(&["It stands in phase `work`"]),
        write(&file("greet"), "#!/bin/sh\necho hello\n", &[]),
        bash("chmod +x greet && git add greet && git commit -q -m 'feat: greet'", &[]),
        bash(
            &says("work_finished", &format!(r#"{COMMIT},"summary":"greets""#)),
            &["work -> review", "warp state transition . review_clean --data"],
        ),
        ends(&["It stands in phase `review`"]),
        bash(
            &says("review_clean", r#""summary":"nothing to fix""#),
            &["review -> compound", "warp state transition . solution_noted --data"],
        ),
        ends(&["It stands in phase `compound`"]),
        write(&file(SOLUTION), "# A greeting\n", &[]),
        bash("git add docs/solutions && git commit -q -m 'docs: what was learnt'", &[]),
        bash(
            &says("solution_noted", &format!(r#""artifact":"{SOLUTION}","summary":"learnt""#)),
            &["compound -> test", "warp state transition . tests_passed --data"],
        ),
        ends(&["It stands in phase `test`"]),
        bash(&says("tests_passed", r#""summary":"greets""#), &["test -> ship", "warp next"]),
        ends(&["It stands in phase `ship`", "`warp next`"]),
        // Every receipt holds: nobody has to promise anything.
        bash("warp next", &["opened pull request #43", "every receipt holds: <promise>SHIPPED</promise>"]),
        Move { turn: Turn::say("It is shipped."), told: &[] },
    ]
}

/// Plays a loop through the client, with `prompt` as what the person types.
fn play_loop(claude: &Claude, sandbox: &Sandbox, moves: Vec<Move>, prompt: &str) {
    let wanted = moves.len();
    let (script, done) = play(moves);
    let model = Model::start(script);
    launch(claude, sandbox, &model, prompt).run().ends(0);
    assert_eq!(*done.lock().unwrap(), wanted, "{}", model.text());
}

/// Returns the events of the run, oldest first.
fn events(sandbox: &Sandbox) -> Vec<Value> {
    serde_json::from_str(&sandbox.warp_ok(&["log", "--json"])).unwrap()
}

/// Sees that the loop has ended with its promise, with every phase gone through by its own event.
fn is_shipped(sandbox: &Sandbox) {
    let events = events(sandbox);
    assert_eq!(events.last().unwrap()["event"], "shipped");
    let deepened = events.iter().find(|row| row["event"] == "plan_deepened").unwrap();
    assert_eq!(deepened["actor"], "agent", "{deepened}");
    assert_eq!(sandbox.git(&["branch", "--show-current"]), BRANCH);
    assert_eq!(sandbox.warp(&["status"]).code, Some(2), "the run is over");
}

fn prompt() -> String {
    format!("/auto-loop {FEATURE} --skip-brainstorm --skip-test-review")
}

#[test]
fn at_level_two_a_loop_with_a_turn_for_every_phase_ends_with_a_pull_request() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = at_level("2");
    let main = sandbox.git(&["rev-parse", "main"]);
    let moves = first_moves(&sandbox.root()).into_iter().chain(later_moves(&sandbox.root())).collect();
    play_loop(&claude, &sandbox, moves, &prompt());
    is_shipped(&sandbox);
    let pull = sandbox.warp_ok(&["pr", "show", "43"]);
    assert!(pull.contains(FEATURE) && pull.contains(&format!("{BRANCH} -> main")), "{pull}");
    assert!(!pull.contains("Left by force"), "{pull}");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), main, "nothing is merged");
}

#[test]
fn at_level_three_a_loop_with_a_turn_for_every_phase_is_merged() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = at_level("3");
    let moves = first_moves(&sandbox.root()).into_iter().chain(later_moves(&sandbox.root())).collect();
    play_loop(&claude, &sandbox, moves, &prompt());
    is_shipped(&sandbox);
    assert_eq!(sandbox.git(&["rev-parse", "main"]), sandbox.git(&["rev-parse", BRANCH]));
    assert!(sandbox.warp_ok(&["pr", "show", "43"]).contains("merged"));
}

#[test]
fn an_edited_plan_does_not_unfreeze_tests_that_nobody_looks_at() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = at_level("2");
    let root = sandbox.root();
    let file = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let finished = || says("work_finished", &format!(r#"{COMMIT},"summary":"greets""#));
    let mut moves = first_moves(&root);
    moves.extend([
        write(&file(PLAN), "# Plan\n\nSay hello, loudly.\n", &[]),
        bash(&says("plan_deepened", r#""summary":"deeper""#), &["deepen -> work"]),
        write(&file(PLAN), "# Plan\n\nSay ok.\n", &[]),
        write(&file(TESTS), "echo ok\n", &[]),
        bash("git add -A && git commit -q -m 'test: expect less'", &[]),
        bash(&finished(), &["the acceptance tests are frozen", TESTS, "put them back"]),
        write(&file("greet"), "#!/bin/sh\necho hello\n", &[]),
        write(&file(TESTS), "./greet | grep hello\n", &[]),
        bash("chmod +x greet && git add -A && git commit -q -m 'feat: greet'", &[]),
        bash(&finished(), &["work -> review"]),
        Move { turn: Turn::Silence, told: &[] },
    ]);
    let wanted = moves.len();
    let (script, done) = play(moves);
    let model = Model::start(script);
    let mut running = launch(&claude, &sandbox, &model, &prompt()).start();
    assert!(model.wait_for_requests(wanted, std::time::Duration::from_secs(120)), "{}", running.out());
    running.kill();
    running.wait();
    assert_eq!(*done.lock().unwrap(), wanted, "{}", model.text());
    assert_eq!(sandbox.read(TESTS).as_deref(), Some("./greet | grep hello\n"));
}

#[test]
fn in_a_terminal_a_trusted_project_goes_through_the_loop() {
    let (Some(claude), false) = (Claude::or_skip(), Terminal::is_skipped()) else { return };
    for level in ["2", "3"] {
        let sandbox = at_level(level);
        let moves: Vec<Move> =
            first_moves(&sandbox.root()).into_iter().chain(later_moves(&sandbox.root())).collect();
        let wanted = moves.len();
        let (script, done) = play(moves);
        let model = Model::start(script);
        let terminal = with_warp(claude.interactive(&sandbox, &model), &sandbox).in_terminal((150, 50));
        terminal.wait_for("accept edits on");
        terminal.type_line(&prompt());
        terminal.wait_for("It is shipped.");
        assert_eq!(*done.lock().unwrap(), wanted, "{}", terminal.screen());
        is_shipped(&sandbox);
        let pull = sandbox.warp_ok(&["pr", "show", "43"]);
        assert_eq!(pull.contains("merged"), level == "3", "{pull}");
    }
}
