//! Programs that pass text on, so that what comes out of a pipe into a shell is known where it can be.
//!
//! What drops or reorders lines is followed for one line only: without its first line, a here-document is a
//! program. A line that is dropped altogether is read all the same.

use super::{call::Call, parse::UNKNOWN, programs::is_one_of, word::Field};

/// Options that leave a line as it is, or drop it.
const KEEP_LINES: &str = "-1 -i -v -E -F -u -r -q";

/// The shortest word in which a command can be hidden, in bytes.
const SHORTEST: usize = 8;

/// Returns what a filter makes of its input; `None` if that is not known.
pub(super) fn filtered(call: &Call<'_>) -> Option<String> {
    let text = Some(call.stdin).filter(|text| !text.contains(UNKNOWN))?;
    let only = |known: &str| call.arguments.iter().all(|field| is_one_of(known, &field.text));
    let decodes = |options: &str| call.arguments.iter().any(|field| is_one_of(options, &field.text));
    match call.program {
        "head" | "tail" | "sort" | "uniq" | "tac" if is_line(text) && only(KEEP_LINES) => {
            Some(text.to_owned())
        }
        "grep" if is_line(text) && is_plain_grep(call.arguments) => Some(text.to_owned()),
        "rev" if call.arguments.is_empty() => {
            Some(text.lines().map(|line| line.chars().rev().chain(['\n']).collect::<String>()).collect())
        }
        "base64" if decodes("-d -D --decode -di") && only("-d -D --decode -di -i") => base64(text),
        "openssl" if decodes("-d") && only("base64 enc -base64 -a -A -d") => base64(text),
        "xxd" if decodes("-r -rp -r -p") && only("-r -rp -p") => hexadecimal(text),
        "tr" => translated(call.arguments, text),
        _ => None,
    }
}

fn is_line(text: &str) -> bool {
    !text.trim_end_matches('\n').contains('\n')
}

/// Whether `grep` is given a pattern and no files.
fn is_plain_grep(arguments: &[Field]) -> bool {
    let names = arguments.iter().filter(|field| !field.text.starts_with('-')).count();
    let plain = |field: &Field| !field.text.starts_with('-') || is_one_of(KEEP_LINES, &field.text);
    names <= 1 && arguments.iter().all(plain)
}

/// Reads a word that may be text in disguise; `None` if it is nothing that somebody could have meant.
pub(super) fn disguised(word: &str) -> Option<String> {
    let decoded = if word.len() < SHORTEST { None } else { hexadecimal(word).or_else(|| base64(word)) };
    let is_text = |text: &String| text.chars().all(|letter| !letter.is_control() || letter.is_whitespace());
    decoded.filter(is_text)
}

fn base64(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    readable(bytes)
}

fn hexadecimal(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    readable(digits.chunks(2).map(pair).collect::<Option<Vec<u8>>>()?)
}

fn readable(bytes: Vec<u8>) -> Option<String> {
    String::from_utf8(bytes).ok().filter(|text| !text.contains([UNKNOWN, super::parse::GLOB]))
}

/// Does what `tr` does with letters, ranges and the two classes of letters.
fn translated(arguments: &[Field], text: &str) -> Option<String> {
    let sets: Vec<&str> = arguments.iter().map(|field| field.text.as_str()).collect();
    match sets.as_slice() {
        ["-d" | "--delete", set] => {
            let set = letters(set)?;
            Some(text.chars().filter(|letter| !set.contains(letter)).collect())
        }
        [from, to] => {
            let (from, to) = (letters(from)?, letters(to)?);
            let last = *to.last()?;
            let become_of = |letter: char| match from.iter().rposition(|known| *known == letter) {
                Some(at) => to.get(at).copied().unwrap_or(last),
                None => letter,
            };
            Some(text.chars().map(become_of).collect())
        }
        _ => None,
    }
}

/// Spells out a set of `tr`; `None` for what is neither a letter nor a range of them.
fn letters(set: &str) -> Option<Vec<char>> {
    match set {
        "[:upper:]" => return Some(('A'..='Z').collect()),
        "[:lower:]" => return Some(('a'..='z').collect()),
        _ if set.starts_with('-') || set.contains(['[', '\\', UNKNOWN]) || !set.is_ascii() => return None,
        _ => {}
    }
    let mut spelled = Vec::new();
    let mut rest: Vec<char> = set.chars().rev().collect();
    while let Some(first) = rest.pop() {
        match rest.as_slice() {
            [.., last, '-'] if first <= *last => {
                spelled.extend(first..=*last);
                rest.truncate(rest.len() - 2);
            }
            _ => spelled.push(first),
        }
    }
    Some(spelled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_text_is_decoded() {
        assert_eq!(base64("Z2l0IHB1c2gK").as_deref(), Some("git push\n"));
        assert_eq!(base64("Z2l0IHB1c2g=\n").as_deref(), Some("git push"));
        assert_eq!(base64("Z2l0-").as_deref(), None);
        assert_eq!(hexadecimal("6769 7420\n").as_deref(), Some("git "));
        assert_eq!(hexadecimal("676").as_deref(), Some("g\u{6}"));
        assert_eq!(base64("AAAA").as_deref(), None);
    }

    #[test]
    fn a_word_is_text_in_disguise_only_if_it_can_be_read() {
        assert_eq!(disguised("Z2l0IHB1c2g=").as_deref(), Some("git push"));
        assert_eq!(disguised("6769742070757368").as_deref(), Some("git push"));
        for word in ["git", "README.md", "abcdefgh", "0123456789abcdef0123456789abcdef01234567"] {
            assert_eq!(disguised(word), None, "{word}");
        }
    }

    #[test]
    fn letters_are_translated_as_tr_does_it() {
        let tr = |sets: &[&str], text: &str| {
            translated(&sets.iter().map(|set| Field::plain(*set)).collect::<Vec<_>>(), text)
        };
        assert_eq!(tr(&["A-Za-z", "N-ZA-Mn-za-m"], "tvg chfu").as_deref(), Some("git push"));
        assert_eq!(tr(&["A-Z", "a-z"], "GIT push").as_deref(), Some("git push"));
        assert_eq!(tr(&["[:lower:]", "[:upper:]"], "git").as_deref(), Some("GIT"));
        assert_eq!(tr(&["_-", " x"], "git_push-").as_deref(), Some("git pushx"));
        assert_eq!(tr(&["xyz", "ab"], "xyz").as_deref(), Some("abb"));
        assert_eq!(tr(&["-d", "_"], "g_it").as_deref(), Some("git"));
        assert_eq!(tr(&["\\n", " "], "a"), None);
        assert_eq!(tr(&["-s", "a"], "a"), None);
        assert_eq!(tr(&["a"], "a"), None);
    }
}
