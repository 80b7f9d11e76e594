//! Every primitive in every wrapper: none may pass as if it were harmless.

use hooks::shell::Judgement;

use super::{judged, named, unescaped, word};

const PRIMITIVES: &str = include_str!("../corpus/primitives.txt");
const WRAPPERS: &str = include_str!("../corpus/wrappers.txt");

/// Puts a command into a wrapper; `None` if the wrapper is only for git and the command is not.
fn wrapped(wrapper: &str, command: &str) -> Option<String> {
    let (first, rest) = command.split_once(' ')?;
    if wrapper.contains("git") && first != "git" {
        return None;
    }
    let json = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
    let list: Vec<String> = command.split(' ').map(json).collect();
    let octal: String = first.bytes().map(|byte| format!("\\{byte:03o}")).collect();
    let (left, right) = first.split_at(1);
    let text = unescaped(wrapper)
        .replace("{q}", &format!("'{command}'"))
        .replace("{json}", &json(command))
        .replace("{list}", &format!("[{}]", list.join(", ")))
        .replace("{b64}", &base64(command))
        .replace("{octal}", &format!("$'{octal}' {rest}"))
        .replace("{split}", &format!("{left}''{right} {rest}"))
        .replace("{first}", first)
        .replace("{rest}", rest)
        .replace("{}", command);
    Some(text)
}

fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index) & 63) as usize];
            encoded.push(if index <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    encoded
}

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
