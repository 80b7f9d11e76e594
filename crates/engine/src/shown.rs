//! Text of others, made fit to be shown: nothing in it moves the cursor, changes colours or turns the order of letters.

use std::borrow::Cow;

/// Tells whether a character would not be seen, or would change how others are seen. An end of a line and a tab are
/// seen; what joins letters of some scripts, and emoji, is left alone.
pub fn is_deceptive(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\t');
    let is_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_line = matches!(c, '\u{2028}' | '\u{2029}');
    let is_invisible = matches!(c, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    is_control || is_direction || is_line || is_invisible
}

/// Writes deceptive characters as `\u001b`, which is seen, and in JSON means the same as before.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        if c == '\r' && letters.peek() == Some(&'\n') {
            continue;
        }
        if !is_deceptive(c) {
            clean.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            clean.push_str(&format!("\\u{unit:04x}"));
        }
    }
    Cow::Owned(clean)
}

/// Makes one line of a text, without deceptive characters.
pub fn one_line(text: &str) -> String {
    let visible: String = text
        .chars()
        .filter(|c| c.is_whitespace() && *c != '\u{2028}' && *c != '\u{2029}' || !is_deceptive(*c))
        .collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_deceptive_is_seen_and_the_rest_stays() {
        for (text, seen) in [
            ("plain, é, 漢字, 👩\u{200d}👩, \ttab\nline", "plain, é, 漢字, 👩\u{200d}👩, \ttab\nline"),
            ("\x1b[2Jgone", "\\u001b[2Jgone"),
            ("a\u{202e}b\u{2066}c", "a\\u202eb\\u2066c"),
            ("one\r\ntwo\rthree", "one\ntwo\\u000dthree"),
            ("\u{9b}31m\u{7f}\u{85}\0\x07\x08", "\\u009b31m\\u007f\\u0085\\u0000\\u0007\\u0008"),
            ("\u{e0041}\u{200b}\u{feff}\u{2028}", "\\udb40\\udc41\\u200b\\ufeff\\u2028"),
        ] {
            assert_eq!(shown(text), seen);
            assert_eq!(shown(seen), seen);
        }
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let text = "a\u{202e}b\u{e0041}\x7f\u{9b}é";
        let json = serde_json::to_string(text).unwrap();
        assert_eq!(serde_json::from_str::<String>(&shown(&json)).unwrap(), text);
    }

    #[test]
    fn a_line_has_no_ends_of_lines() {
        assert_eq!(one_line(" a\n\nb\r\tc\u{2028}\x1b[1md\u{202e} "), "a b c[1md");
    }
}
