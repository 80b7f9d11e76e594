//! The no-progress signature: what stays the same when the same failure happens again.
//!
//! Two test runs of the same failure differ in times, process ids, temporary paths, addresses and line
//! numbers. Those are taken out; what is left is hashed.

use crate::digest;

/// How much of a failure text counts. The end of a long log is where the failure is.
const LONGEST: usize = 64 * 1024;

/// Returns the signature of a failure text: a digest that stays the same over noise.
pub fn failure_signature(text: &str) -> String {
    digest(normalise(text))
}

fn normalise(text: &str) -> String {
    let cut = text.len().saturating_sub(LONGEST);
    let start = (cut..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let plain = without_escapes(&text[start..]);
    let mut lines = Vec::new();
    for line in plain.lines() {
        let words: Vec<String> = line.split_whitespace().map(normalise_word).collect();
        if !words.is_empty() {
            lines.push(words.join(" "));
        }
    }
    lines.join("\n")
}

/// Removes terminal colour and cursor sequences.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\u{1b}' {
            plain.push(character);
            continue;
        }
        if characters.next_if_eq(&'[').is_some() {
            // A control sequence ends with its first byte from `@` to `~`.
            for part in characters.by_ref() {
                if ('@'..='~').contains(&part) {
                    break;
                }
            }
        } else {
            characters.next();
        }
    }
    plain
}

fn normalise_word(word: &str) -> String {
    if ["/tmp/", "/var/tmp/", "/var/folders/", "/private/"].iter().any(|place| word.contains(place)) {
        return "PATH".to_owned();
    }
    let mut out = String::with_capacity(word.len());
    let mut run = String::new();
    for character in word.chars() {
        if character.is_ascii_alphanumeric() {
            run.push(character);
        } else {
            push_run(&mut out, &mut run);
            out.push(character);
        }
    }
    push_run(&mut out, &mut run);
    out
}

/// Numbers, measures such as `12ms` and long hexadecimal runs become `#`; words stay.
fn push_run(out: &mut String, run: &mut String) {
    let is_number = run.starts_with(|c: char| c.is_ascii_digit());
    let is_hex = run.len() >= 7
        && run.chars().all(|c| c.is_ascii_hexdigit())
        && run.chars().any(|c| c.is_ascii_digit());
    if is_number || is_hex {
        if !out.ends_with('#') {
            out.push('#');
        }
    } else {
        out.push_str(run);
    }
    run.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_has_the_same_signature_over_noise() {
        let first =
            "\u{1b}[31mFAIL\u{1b}[0m login_works at src/auth.rs:42:7 (12ms) pid 991 0x7ffee3b1 /tmp/a1b2/x";
        let second = "FAIL login_works at src/auth.rs:57:9 (130ms) pid 14 0x7ffd0001  /tmp/zz/x";
        assert_eq!(failure_signature(first), failure_signature(second));
    }

    #[test]
    fn different_failures_have_different_signatures() {
        assert_ne!(failure_signature("FAIL login_works"), failure_signature("FAIL logout_works"));
        assert_ne!(
            failure_signature("expected Some, found None"),
            failure_signature("expected None, found Some")
        );
    }

    #[test]
    fn odd_text_does_no_harm() {
        for text in ["", "\u{1b}", "\u{1b}[", "\u{1b}[31", "é\u{1b}[é", &"ü".repeat(70_000)] {
            failure_signature(text);
        }
    }
}
