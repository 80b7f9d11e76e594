//! Every primitive in every wrapper: none may pass as if it were harmless.

use shell::Judgement;

use super::{
    corpus::{PRIMITIVES, WRAPPERS, named, wrapped},
    judged, word,
};

#[test]
fn every_primitive_is_refused_or_asks_for_leave_by_itself() {
    for (name, command) in named(PRIMITIVES) {
        let expected = if matches!(name, "commit" | "commit-empty") { "commit" } else { "denied" };
        let judgement = judged(command);
        assert_eq!(word(&judgement), expected, "{command}: {judgement:?}");
    }
}

#[test]
fn no_wrapper_lets_a_primitive_pass_as_harmless() {
    let (mut denied, mut commit, mut risky, mut passed) = (0, 0, 0, Vec::new());
    let mut only_risky: Vec<String> = Vec::new();
    for (name, wrapper) in named(WRAPPERS) {
        let mut seen = 0;
        for (_, command) in named(PRIMITIVES) {
            let Some(text) = wrapped(wrapper, command) else { continue };
            match judged(&text) {
                Judgement::Denied(_) => denied += 1,
                Judgement::Commit => commit += 1,
                Judgement::Risky(_) => {
                    risky += 1;
                    seen += 1;
                }
                Judgement::Allowed => passed.push(text),
            }
        }
        if seen > 0 {
            only_risky.push(format!("{name} {seen}"));
        }
    }
    println!("denied {denied}, commit {commit}, risky {risky}, allowed {}", passed.len());
    println!("risky by wrapper: {}", only_risky.join(", "));
    assert!(passed.is_empty(), "{} pass, first: {:?}", passed.len(), &passed[..passed.len().min(20)]);
    assert!(named(PRIMITIVES).count() >= 25 && named(WRAPPERS).count() >= 15);
}
