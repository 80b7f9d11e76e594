//! Brace expansion, `{git,push}` and `{a..e}`, and the escapes of `$'…'`.

use super::{
    parse::{GLOB, UNKNOWN},
    scan::{Extglob, Quoted, Scanner},
};

/// The most words that one brace expansion may become before it counts as unknown.
const WORDS: usize = 128;

/// Steps per byte of a word. Braces that are never closed are looked for again and again.
const STEPS: usize = 64;

/// Expands the braces of a word that is still quoted. A word without any is returned as it is.
pub(super) fn expand_braces(word: &str) -> Vec<String> {
    let mut steps = STEPS * (word.len() + STEPS);
    let mut words = vec![word.to_owned()];
    let mut done = Vec::new();
    while let Some(word) = words.pop() {
        let brace = first_brace(&word, &mut steps);
        if words.len() + done.len() > WORDS || steps == 0 {
            return vec![UNKNOWN.to_string()];
        }
        match brace {
            Some((start, end, members)) => {
                let member = |text: &String| format!("{}{text}{}", &word[..start], &word[end..]);
                words.extend(members.iter().map(member).rev());
            }
            None => done.push(word),
        }
    }
    done
}

/// Finds the first `{…}` that is an expansion: its place, and what it stands for.
fn first_brace(word: &str, steps: &mut usize) -> Option<(usize, usize, Vec<String>)> {
    let mut scanner = Scanner::new(word, 0, Extglob::Off);
    while let Some(byte) = scanner.byte(0) {
        let start = scanner.at;
        if byte == b'{'
            && let Some((end, members)) = members(word, start, steps)
        {
            return Some((start, end, members));
        }
        scanner.piece(Quoted::No).ok()?;
    }
    None
}

/// Reads the members of the brace at `start`; `None` if it is plain text, or if `steps` run out.
fn members(word: &str, start: usize, steps: &mut usize) -> Option<(usize, Vec<String>)> {
    let mut scanner = Scanner::new(word, start + 1, Extglob::Off);
    let (mut open, mut begin, mut members) = (0_usize, start + 1, Vec::new());
    while let Some(byte) = scanner.byte(0) {
        *steps = steps.saturating_sub(1);
        if *steps == 0 {
            return None;
        }
        let at = scanner.at;
        match byte {
            b'{' => open += 1,
            b'}' if open > 0 => open -= 1,
            b',' if open == 0 => {
                members.push(word.get(begin..at)?.to_owned());
                begin = at + 1;
            }
            b'}' => {
                let last = word.get(begin..at)?;
                if members.is_empty() {
                    return sequence(last).map(|members| (at + 1, members));
                }
                members.push(last.to_owned());
                return Some((at + 1, members));
            }
            _ => {}
        }
        scanner.piece(Quoted::No).ok()?;
    }
    None
}

/// Reads `a..e`, `1..9` and `1..9..2`.
fn sequence(text: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, "1"),
        [first, last, step] => (*first, *last, *step),
        _ => return None,
    };
    let step = step.parse::<i64>().ok()?.unsigned_abs().max(1);
    let letter = |text: &str| match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(i64::from(*byte)),
        _ => None,
    };
    let (first, last, letters) = match (letter(first), letter(last)) {
        (Some(first), Some(last)) => (first, last, true),
        _ => (first.parse::<i64>().ok()?, last.parse::<i64>().ok()?, false),
    };
    if first.abs_diff(last) / step >= WORDS as u64 {
        return Some(vec![UNKNOWN.to_string()]);
    }
    let step = i64::try_from(step).ok()?;
    let count = i64::try_from(first.abs_diff(last)).ok()? / step;
    let direction = if first <= last { step } else { -step };
    let show = |value: i64| match u8::try_from(value) {
        Ok(byte) if letters => char::from(byte).to_string(),
        Ok(_) | Err(_) => value.to_string(),
    };
    Some((0..=count).map(|index| show(first + index * direction)).collect())
}

/// Decodes the text inside `$'…'`.
pub(super) fn decode_ansi(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        decoded.push_str(&rest[..at]);
        let (character, length) = escape(&rest[at + 1..]);
        match character {
            // To bash a NUL ends the text; what follows is not part of the word.
            Some('\0') => return decoded,
            Some(GLOB) => decoded.push(char::REPLACEMENT_CHARACTER),
            Some(character) => decoded.push(character),
            None => decoded.push('\\'),
        }
        rest = &rest[at + 1 + length..];
    }
    decoded.push_str(rest);
    decoded
}

/// Reads what follows a backslash: the character, and how many bytes it takes.
fn escape(rest: &str) -> (Option<char>, usize) {
    let Some(first) = rest.chars().next() else { return (None, 0) };
    let number = |skip: usize, most: usize, radix: u32, mask: u32| {
        let digits: String = rest[skip..].chars().take(most).take_while(|c| c.is_digit(radix)).collect();
        let value = u32::from_str_radix(&digits, radix).ok();
        (value.and_then(|value| char::from_u32(value & mask)), skip + digits.len())
    };
    const BYTE: u32 = 0xff;
    let plain = |character: char| (Some(character), 1);
    match first {
        'a' => plain('\u{7}'),
        'b' => plain('\u{8}'),
        'e' | 'E' => plain('\u{1b}'),
        'f' => plain('\u{c}'),
        'n' => plain('\n'),
        'r' => plain('\r'),
        't' => plain('\t'),
        'v' => plain('\u{b}'),
        '\\' | '\'' | '"' | '?' => plain(first),
        '0'..='7' => number(0, 3, 8, BYTE),
        'x' if rest[1..].starts_with('{') => {
            let (character, length) = number(2, 8, 16, BYTE);
            (character, length + usize::from(rest[length..].starts_with('}')))
        }
        'x' => number(1, 2, 16, BYTE),
        'u' => number(1, 4, 16, u32::MAX),
        'U' => number(1, 8, 16, u32::MAX),
        'c' => (Some(char::REPLACEMENT_CHARACTER), 1 + rest[1..].chars().next().map_or(0, char::len_utf8)),
        _ => (None, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_become_words_in_order() {
        assert_eq!(expand_braces("{git,commit,-m,x}"), ["git", "commit", "-m", "x"]);
        assert_eq!(expand_braces("a{b,c{d,e}}f"), ["abf", "acdf", "acef"]);
        assert_eq!(expand_braces("p{u..w}"), ["pu", "pv", "pw"]);
        assert_eq!(expand_braces("{3..1}"), ["3", "2", "1"]);
        assert_eq!(expand_braces("{a,}b"), ["ab", "b"]);
    }

    #[test]
    fn braces_that_are_no_expansion_stay() {
        for word in ["{}", "HEAD@{1}", "{a}", "'{a,b}'", "${x:-a,b}", "\\{a,b\\}", "\"{a,b}\"", "stash@{0}"] {
            assert_eq!(expand_braces(word), [word]);
        }
    }

    #[test]
    fn a_long_expansion_is_unknown() {
        assert_eq!(expand_braces("{1..100000}"), ["\0"]);
        assert_eq!(expand_braces("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"), ["\0"]);
        assert_eq!(expand_braces("{1..99999999999999999999}"), ["{1..99999999999999999999}"]);
    }

    #[test]
    fn ansi_escapes_are_decoded() {
        assert_eq!(decode_ansi(r"\147it"), "git");
        assert_eq!(decode_ansi(r"\x67\u0069\U00000074"), "git");
        assert_eq!(decode_ansi(r"\547\x{69}t"), "git");
        assert_eq!(decode_ansi(r"it\'s\n\q"), "it's\n\\q");
        assert_eq!(decode_ansi(r"git\0push"), "git");
    }
}
