//! What comes next, in words.

use super::{next, project, to_coding, to_committing};
use crate::support::{Ends as _, InProject as _};

#[test]
fn a_text_that_cannot_be_used_is_named_and_the_built_in_one_follows() {
    let sandbox = project();
    to_coding(&sandbox, "3");
    let built_in = sandbox.warp_ok(&["state", "inject", "."]);
    sandbox.write(".warp/prompts/warp-drive/coding.md", "x".repeat(6001));
    let told = sandbox.warp_ok(&["state", "inject", "."]);
    assert!(told.contains("coding.md`: it has more than 6000 bytes; the built-in text follows."), "{told}");
    let last = built_in.trim_end().lines().last().unwrap();
    assert!(told.trim_end().ends_with(last), "{told}");
    assert!(told.chars().count() < 10_000);
}

#[test]
fn the_end_is_told_as_the_end() {
    let sandbox = project();
    to_committing(&sandbox, "3");
    let mut said = String::new();
    for _ in 0..20 {
        if sandbox.warp(&["status"]).code != Some(0) {
            break;
        }
        if super::phase(&sandbox) == "awaiting_continue" {
            sandbox.transitions(&["continue_no"]);
        }
        said = next(&sandbox);
    }
    insta::assert_snapshot!(sandbox.stable(&said), @"
    the session's summary is #44
    #14 session_ending -> completed (session_ended)
    The warp-drive run of this project is over (completed). Nothing is left to do in it.
    ");
}

#[test]
fn failed_approaches_of_refused_turns_are_remembered() {
    let sandbox = project();
    let workflow = ["--workflow", "autonomous-loop", "--level", "3", "--feature", "Add a parser"];
    sandbox.warp_ok(&[&["state", "init", "."], &workflow[..]].concat());
    sandbox.transitions(&["brainstorm_written", "plan_written", "tests_approved", "plan_deepened"]);
    for turn in 0..10 {
        let tried = format!(r#"{{"summary":"turn {turn}","failed_approaches":["a cache", "way {turn}"]}}"#);
        sandbox.as_agent(&["state", "transition", ".", "work_finished", "--data", &tried]).ends(3);
    }
    let progress = sandbox.read("docs/progress.md").unwrap();
    assert!(!progress.contains("Nothing so far"), "{progress}");
    for turn in 0..10 {
        assert!(progress.contains(&format!("- work: way {turn}\n")), "{progress}");
    }
    assert_eq!(progress.matches("- work: a cache\n").count(), 1, "{progress}");
    assert!(progress.contains("work: `work_finished` was refused: turn 9"), "{progress}");
}
