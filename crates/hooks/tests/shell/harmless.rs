//! Commands that mention dangerous words and do nothing dangerous.

use super::{judged, lines, unescaped, word};

const HARMLESS: &str = include_str!("../harmless.txt");

#[test]
fn harmless_commands_are_not_refused() {
    let mut wrong = Vec::new();
    for line in lines(HARMLESS) {
        let (expected, command) = line.split_once('\t').unwrap();
        let judgement = judged(&unescaped(command));
        if word(&judgement) != expected {
            wrong.push(format!("{expected}: {command}\n    {judgement:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} judged otherwise:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn enough_harmless_commands_are_listed() {
    let count = |kind: &str| lines(HARMLESS).filter(|line| line.starts_with(kind)).count();
    println!("allowed {}, commit {}, risky {}", count("allowed\t"), count("commit\t"), count("risky\t"));
    assert!(lines(HARMLESS).count() >= 150);
}
