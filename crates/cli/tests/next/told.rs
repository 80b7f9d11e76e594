//! What comes next, in words.

use crate::{next, project, to_coding, to_committing};

#[test]
fn a_text_that_cannot_be_used_is_named_and_the_built_in_one_follows() {
    let sandbox = project();
    to_coding(&sandbox, "3");
    let built_in = next(&sandbox);
    sandbox.write(".warp/prompts/warp-drive/coding.md", "x".repeat(6001));
    let told = next(&sandbox);
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
        if crate::phase(&sandbox) == "awaiting_continue" {
            sandbox.transitions(&["continue_no"]);
        }
        said = next(&sandbox);
    }
    assert!(said.contains("is over (completed)") && !said.contains("under way"), "{said}");
}
