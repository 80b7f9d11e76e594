//! A text as a person sees it: without colours and other characters that do not show, which may stand within a secret.

use std::ops::Range;

use super::REMOVED;

/// How a program writes the escape character where it cannot be written as it is.
const SPELLED: [&str; 6] = ["\\u001b", "\\u001B", "\\x1b", "\\x1B", "\\033", "\\e"];
/// The longest sequence that is taken for one, in bytes.
const LONGEST: usize = 256;

/// What shows of a text, and where in the text it stands.
pub(super) struct Visible {
    pub(super) text: String,
    /// The place of each byte.
    places: Vec<usize>,
}

impl Visible {
    /// Returns what shows of a text; none if that is all of it.
    pub(super) fn of(text: &str) -> Option<Self> {
        if !text.contains(|c| is_hidden(c) || c == '\\') {
            return None;
        }
        let mut visible = Self { text: String::with_capacity(text.len()), places: Vec::new() };
        let mut marks = text.match_indices(REMOVED).map(|(at, _)| at).peekable();
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            while marks.next_if(|mark| *mark < at).is_some() {}
            // A sequence that reaches into a mark would make it unknown.
            let room = marks.peek().map_or(usize::MAX, |mark| mark - at);
            let sequence = sequence(&text[at..]).filter(|length| *length <= room);
            let skipped = sequence.or_else(|| is_hidden(c).then_some(c.len_utf8()));
            let length = skipped.unwrap_or(c.len_utf8());
            if skipped.is_none() {
                visible.text.push(c);
                visible.places.extend(at..at + length);
            }
            at += length;
        }
        (visible.text.len() < text.len()).then_some(visible)
    }

    /// Returns where a part of what shows stands in the text, with all that is hidden within it.
    pub(super) fn place(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let start = *self.places.get(part.start)?;
        let end = *self.places.get(part.end.checked_sub(1)?)?;
        Some(start..end + 1)
    }
}

/// Tells whether a character does not show: controls, marks of direction, and what has no width.
fn is_hidden(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    is_control
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns the length of the sequence for a terminal that a text begins with, if it does.
fn sequence(text: &str) -> Option<usize> {
    if let Some(rest) = text.strip_prefix('\u{9b}') {
        return Some(text.len() - rest.len() + control(rest)?);
    }
    if let Some(rest) = text.strip_prefix('\u{1b}') {
        let begin = text.len() - rest.len();
        return match rest.bytes().next()? {
            b'[' => Some(begin + 1 + control(&rest[1..])?),
            b']' | b'P' | b'X' | b'^' | b'_' => Some(begin + 1 + string(&rest[1..])?),
            // The choice of a character set, and whatever else takes one more character.
            b' '..=b'/' => rest.chars().nth(1).map(|last| begin + 1 + last.len_utf8()),
            _ => None,
        };
    }
    let spelled = SPELLED.iter().find(|spelled| text.starts_with(**spelled))?;
    let rest = text[spelled.len()..].strip_prefix('[')?;
    Some(spelled.len() + 1 + control(rest)?)
}

/// Returns the length of what a control sequence has after its beginning: parameters, and a last letter.
fn control(rest: &str) -> Option<usize> {
    let end = rest.bytes().take(LONGEST).position(|byte| !(b' '..=b'?').contains(&byte))?;
    rest.as_bytes().get(end).filter(|byte| (b'@'..=b'~').contains(*byte)).map(|_| end + 1)
}

/// Returns the length of a text for the terminal, up to what ends it.
fn string(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let end = bytes.iter().take(LONGEST * 16).position(|byte| matches!(byte, 7 | 0x1b))?;
    match bytes[end] {
        7 => Some(end + 1),
        _ => (bytes.get(end + 1) == Some(&b'\\')).then_some(end + 2),
    }
}
