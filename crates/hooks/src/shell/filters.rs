//! Programs that pass text on, so that what comes out of a pipe into a shell is known where it can be.
//!
//! A filter that drops lines is taken to pass them all: more is read than runs, never less.

use super::{call::Call, parse::UNKNOWN, word::Field};

/// Returns what a filter makes of its input; `None` if that is not known.
pub(super) fn filtered(call: &Call<'_>) -> Option<String> {
    let text = Some(call.stdin).filter(|text| !text.contains(UNKNOWN))?;
    let has = |options: &[&str]| call.arguments.iter().any(|field| options.contains(&field.text.as_str()));
    match call.program {
        "head" | "tail" | "sort" | "uniq" | "grep" if reads_input(call) => Some(text.to_owned()),
        "rev" => {
            Some(text.lines().map(|line| line.chars().rev().chain(['\n']).collect::<String>()).collect())
        }
        "base64" | "openssl" if has(&["-d", "-D", "--decode", "-di"]) => base64(text),
        "xxd" if has(&["-r", "-rp", "-r -p"]) => hexadecimal(text),
        "tr" => lower_or_upper(call.arguments, text),
        _ => None,
    }
}

/// Whether a filter is given no files.
fn reads_input(call: &Call<'_>) -> bool {
    let names = call.arguments.iter().filter(|field| !field.text.starts_with('-')).count();
    names <= usize::from(call.program == "grep")
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

fn lower_or_upper(arguments: &[Field], text: &str) -> Option<String> {
    let sets: Vec<&str> = arguments.iter().map(|field| field.text.as_str()).collect();
    match sets.as_slice() {
        ["A-Z", "a-z"] | ["[:upper:]", "[:lower:]"] => Some(text.to_ascii_lowercase()),
        ["a-z", "A-Z"] | ["[:lower:]", "[:upper:]"] => Some(text.to_ascii_uppercase()),
        _ => None,
    }
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
}
