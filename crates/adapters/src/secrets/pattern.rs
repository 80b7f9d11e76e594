//! What a secret looks like: tokens by how they begin, keys, and passwords where addresses and headers have them.
//!
//! A finding begins where its text says so and takes in all that may belong to it, and no rule asks what comes after. So
//! a piece of a text that is cut off at a finding holds no other finding than before.

use std::ops::Range;

/// How far a run of characters is looked at before it is decided whether it is a secret.
const LOOK: usize = 256;
/// The longest name and password in an address.
const LONGEST_LOGIN: usize = 1024;
/// The longest kind of key in the first line of one.
const LONGEST_KIND: usize = 40;

/// A token that is known by how it begins.
struct Token {
    start: &'static str,
    /// How many characters follow at least.
    least: usize,
    may_hold: fn(u8) -> bool,
    sure: Certainty,
}

/// How reliably a prefix marks a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    /// Nothing else begins like that.
    Always,
    /// It has to begin a word.
    AtStart,
    /// Besides, what follows has to look random.
    IfRandom,
}

const fn token(start: &'static str, least: usize, may_hold: fn(u8) -> bool, sure: Certainty) -> Token {
    Token { start, least, may_hold, sure }
}

const TOKENS: &[Token] = &[
    token("sk-ant-", 20, dashed, Certainty::Always),
    token("sk-", 32, dashed, Certainty::IfRandom),
    token("sk_live_", 20, plain, Certainty::Always),
    token("rk_live_", 20, plain, Certainty::Always),
    token("ghp_", 30, plain, Certainty::Always),
    token("gho_", 30, plain, Certainty::Always),
    token("ghs_", 30, plain, Certainty::Always),
    token("ghu_", 30, plain, Certainty::Always),
    token("ghr_", 30, plain, Certainty::Always),
    token("github_pat_", 30, dashed, Certainty::Always),
    token("glpat-", 20, dashed, Certainty::Always),
    token("gldt-", 20, dashed, Certainty::AtStart),
    token("xoxa-", 20, dashed, Certainty::Always),
    token("xoxb-", 20, dashed, Certainty::Always),
    token("xoxe-", 20, dashed, Certainty::Always),
    token("xoxp-", 20, dashed, Certainty::Always),
    token("xoxr-", 20, dashed, Certainty::Always),
    token("xoxs-", 20, dashed, Certainty::Always),
    token("xapp-", 20, dashed, Certainty::IfRandom),
    token("AKIA", 16, upper, Certainty::AtStart),
    token("ASIA", 16, upper, Certainty::AtStart),
    token("AIza", 35, dashed, Certainty::AtStart),
    token("AGE-SECRET-KEY-1", 40, upper, Certainty::Always),
    token("npm_", 36, plain, Certainty::Always),
    token("pypi-", 50, dashed, Certainty::IfRandom),
    token("hf_", 30, plain, Certainty::AtStart),
    token("dckr_pat_", 20, dashed, Certainty::Always),
    token("dop_v1_", 40, plain, Certainty::Always),
    token("ya29.", 20, dashed, Certainty::AtStart),
];

fn plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn dashed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

/// Finds all that looks like a secret, in order.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let from = spans.last().map_or(0, |span| span.end);
        let found = match bytes[at] {
            b':' => login(bytes, at),
            b'-' => private_key(text, at),
            b'e' if begins_word(bytes, from, at) => web_token(bytes, at),
            b'a' | b'A' => authorization(bytes, at).or_else(|| token_at(bytes, from, at)),
            b'b' | b'B' => bearer(bytes, from, at),
            _ => token_at(bytes, from, at),
        };
        at = match found {
            Some(span) => {
                spans.push(span.clone());
                span.end
            }
            None => at + 1,
        };
    }
    spans
}

fn token_at(bytes: &[u8], from: usize, at: usize) -> Option<Range<usize>> {
    if !may_begin_token(&bytes[at..]) {
        return None;
    }
    TOKENS.iter().filter(|token| bytes[at..].starts_with(token.start.as_bytes())).find_map(|token| {
        if token.sure != Certainty::Always && !begins_word(bytes, from, at) {
            return None;
        }
        let start = at + token.start.len();
        let head = run(bytes, start, start + LOOK.max(token.least), token.may_hold);
        let is_sure = token.sure != Certainty::IfRandom || is_random(&bytes[start..head]);
        (head - start >= token.least && is_sure).then(|| at..run(bytes, head, bytes.len(), token.may_hold))
    })
}

/// Tells by the first two letters whether it is worth to look at all tokens: nearly nowhere it is.
fn may_begin_token(bytes: &[u8]) -> bool {
    match bytes {
        [b's' | b'r', second, ..] => *second == b'k',
        [b'g', second, ..] => b"hil".contains(second),
        [b'x', second, ..] => b"oa".contains(second),
        [b'A', second, ..] => b"KSIG".contains(second),
        [b'n', second, ..] => *second == b'p',
        [b'p', second, ..] => *second == b'y',
        [b'h', second, ..] => *second == b'f',
        [b'd', second, ..] => b"co".contains(second),
        [b'y', second, ..] => *second == b'a',
        _ => false,
    }
}

/// Three parts in base64, of which the first is a table.
fn web_token(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    const LEAST: usize = 10;
    if !bytes[at..].starts_with(b"eyJ") {
        return None;
    }
    let mut end = at;
    for part in 0..3 {
        let start = if part == 0 { end } else { end + 1 };
        if part > 0 && bytes.get(end) != Some(&b'.') {
            return None;
        }
        end = run(bytes, start, bytes.len(), dashed);
        if end - start < LEAST {
            return None;
        }
    }
    Some(at..end)
}

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const KEY: &str = "PRIVATE KEY";

/// Tells whether the armour of a private key begins in a line.
pub(super) fn begins_key(line: &str) -> bool {
    line.split_once(BEGIN).is_some_and(|(_, rest)| rest.contains(KEY))
}

/// Tells whether the armour of a key ends in a line.
pub(super) fn ends_key(line: &str) -> bool {
    line.contains(END)
}

/// Tells whether a line may be one of a key.
pub(super) fn belongs_to_key(line: &str) -> bool {
    line.bytes().all(in_key)
}

/// Escaped ends of lines and a header belong to a key; a quote ends it.
fn in_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=-\\:, \t\r\n".contains(&byte)
}

/// A private key in its armour; one that was cut off, for as far as it goes.
fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes()[at..].strip_prefix(BEGIN.as_bytes())?;
    let kind = run(rest, 0, LONGEST_KIND, |byte| upper(byte) || byte == b' ');
    let kind = std::str::from_utf8(&rest[..kind]).ok()?;
    let start = at + BEGIN.len() + kind.find(KEY)? + KEY.len();
    let end = run(text.as_bytes(), start, text.len(), in_key);
    let last = text[start..end].find(END).map(|found| start + found + END.len());
    let last = last.and_then(|last| Some(last + text[last..end].find("-----")? + 5));
    Some(at..last.unwrap_or(end))
}

/// The login in `://name:password@` or `://token@`, name included: some have their token in the name's place.
fn login(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    const LEAST_TOKEN: usize = 20;
    if !bytes[at..].starts_with(b"://") {
        return None;
    }
    let start = at + 3;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"/?#@\"'<>\\`".contains(byte);
    let length = bytes[start..].iter().take(LONGEST_LOGIN).position(ends)?;
    let login = &bytes[start..start + length];
    if bytes[start + length] != b'@' {
        return None;
    }
    let is_secret = match login.iter().position(|byte| *byte == b':') {
        Some(colon) => login.get(colon + 1).is_some_and(|first| !is_placeholder(*first)),
        None => length >= LEAST_TOKEN && !login.first().is_some_and(|first| is_placeholder(*first)),
    };
    is_secret.then_some(start..start + length)
}

/// What follows `Authorization:`, with the name of a scheme or without.
fn authorization(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    const NAME: &[u8] = b"authorization";
    if !has_word(bytes, at, NAME) {
        return None;
    }
    let between = |byte: u8| byte == b' ' || byte == b'"' || byte == b'\'';
    let colon = run(bytes, at + NAME.len(), at + NAME.len() + 3, between);
    if !matches!(bytes.get(colon), Some(b':' | b'=')) {
        return None;
    }
    let start = run(bytes, colon + 1, colon + 4, between);
    let schemes: [&[u8]; 4] = [b"bearer ", b"basic ", b"token ", b"digest "];
    match schemes.into_iter().find(|scheme| has_word(bytes, start, scheme)) {
        Some(scheme) => credential(bytes, start + scheme.len(), 8),
        None => credential(bytes, start, 20),
    }
}

/// What follows `Bearer`, if it looks random.
fn bearer(bytes: &[u8], from: usize, at: usize) -> Option<Range<usize>> {
    const NAME: &[u8] = b"bearer ";
    if !begins_word(bytes, from, at) || !has_word(bytes, at, NAME) {
        return None;
    }
    let span = credential(bytes, at + NAME.len(), 20)?;
    is_random(&bytes[span.start..span.end.min(span.start + LOOK)]).then_some(span)
}

fn credential(bytes: &[u8], start: usize, least: usize) -> Option<Range<usize>> {
    let may_hold = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=:".contains(&byte);
    let head = run(bytes, start, start + LOOK, may_hold);
    let has_digit = bytes.get(start..head)?.iter().any(u8::is_ascii_digit);
    let length = head - start;
    let is_one = length >= least && (has_digit || length >= 40);
    is_one.then(|| start..run(bytes, head, bytes.len(), may_hold))
}

/// Tells whether somebody shows where a secret goes, and not the secret.
fn is_placeholder(first: u8) -> bool {
    b"${<*[%".contains(&first)
}

fn has_word(bytes: &[u8], at: usize, word: &[u8]) -> bool {
    bytes.get(at..at + word.len()).is_some_and(|found| found.eq_ignore_ascii_case(word))
}

/// Returns where a run of characters ends that begins at `start`, at most at `most`.
fn run(bytes: &[u8], start: usize, most: usize, belongs: impl Fn(u8) -> bool) -> usize {
    let most = most.min(bytes.len());
    let rest = bytes.get(start..most).unwrap_or_default();
    start + rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
}

/// Tells whether a word begins at `at`, where `from` is the end of what was found before. In JSON an end of line is a
/// letter after a backslash.
fn begins_word(bytes: &[u8], from: usize, at: usize) -> bool {
    let before = &bytes[from..at];
    match before {
        [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f'] => true,
        [.., last] => !dashed(*last),
        [] => true,
    }
}

/// Tells whether letters and digits are mixed as people do not mix them: for a while, and without a break.
fn is_random(run: &[u8]) -> bool {
    const WHILE: usize = 16;
    run.split(|byte| !byte.is_ascii_alphanumeric()).any(|part| {
        part.len() >= WHILE && part.iter().any(u8::is_ascii_digit) && part.iter().any(u8::is_ascii_alphabetic)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_looked_for() {
        for token in TOKENS {
            assert!(may_begin_token(token.start.as_bytes()), "{}", token.start);
            let text = format!("{}{}", token.start, "AB12".repeat(20));
            assert_eq!(find(&text).first(), Some(&(0..text.len())), "{}", token.start);
        }
    }
}
