//! Commands that mention dangerous words and do nothing dangerous.

use super::{
    corpus::{HARMLESS, named, unescaped},
    judged, word,
};

#[test]
fn harmless_commands_are_not_refused() {
    let mut wrong = Vec::new();
    for (expected, command) in named(HARMLESS) {
        let judgement = judged(&unescaped(command));
        if word(&judgement) != expected {
            wrong.push(format!("{expected}: {command}\n    {judgement:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} judged otherwise:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn enough_harmless_commands_are_listed() {
    let count = |kind: &str| named(HARMLESS).filter(|(expected, _)| *expected == kind).count();
    println!("allowed {}, commit {}, risky {}", count("allowed"), count("commit"), count("risky"));
    assert_eq!(count("denied"), 0);
    assert!(named(HARMLESS).count() >= 150);
}
