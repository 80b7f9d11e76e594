//! The texts of items: cleaned, without secrets, and of a bounded length.

use crate::{ForgeError, Item, Refusal};

/// The longest marker and label, in characters.
const MARKER: usize = 200;
const LABEL: usize = 50;
/// Maximum size of an item's or comment's text, in bytes.
pub const BODY: usize = 256 * 1024;
const COMMENT: usize = 64 * 1024;
/// How much an item may hold: an item is read whole.
const COMMENTS: usize = 1000;
const ALL_COMMENTS: usize = 1024 * 1024;
const LABELS: usize = 50;

/// A kind of one-line text.
#[derive(Clone, Copy)]
pub(super) struct Line {
    what: &'static str,
    /// How long it may be, in characters.
    most: usize,
}

pub(super) const TITLE: Line = Line { what: "title", most: 200 };
pub(super) const NAME: Line = Line { what: "name", most: 200 };
pub(super) const BRANCH: Line = Line { what: "branch", most: 200 };
pub(super) const TARGET: Line = Line { what: "target branch", most: 200 };
pub(super) const COMMIT: Line = Line { what: "commit", most: 200 };

pub(super) fn label(text: &str, redact: impl Fn(String) -> String) -> Result<String, ForgeError> {
    let label = line(Line { what: "label", most: LABEL }, text, redact)?;
    if label.contains(',') {
        return Err(bad("label", format!("`{label}` has a comma")));
    }
    Ok(label)
}

/// A marker is compared, so it is taken as it is or not at all.
pub(super) fn marker(text: &str, redact: impl Fn(String) -> String) -> Result<String, ForgeError> {
    if text.chars().any(char::is_control) {
        return Err(bad("marker", "has characters that cannot be shown".to_owned()));
    }
    line(Line { what: "marker", most: MARKER }, text, redact).map(|_| text.to_owned())
}

pub(super) fn body(text: &str, redact: impl Fn(String) -> String) -> Result<String, ForgeError> {
    block("text", text, BODY, redact)
}

pub(super) fn comment(text: &str, redact: impl Fn(String) -> String) -> Result<String, ForgeError> {
    let text = block("comment", text, COMMENT, redact)?;
    if text.trim().is_empty() { Err(bad("comment", "is empty".to_owned())) } else { Ok(text) }
}

/// Sees to it that an item does not outgrow what can be read whole.
pub(super) fn check_room(item: &Item) -> Result<(), ForgeError> {
    let full = |problem: String| Err(Refusal::Full { id: item.id, problem }.into());
    if item.comments.len() > COMMENTS {
        return full(format!("it has {COMMENTS} comments"));
    }
    if item.comments.iter().map(|comment| comment.text.len()).sum::<usize>() > ALL_COMMENTS {
        return full(format!("its comments may have {ALL_COMMENTS} bytes in all"));
    }
    if item.labels.len() > LABELS { full(format!("it may have {LABELS} labels")) } else { Ok(()) }
}

/// Makes a text one line, without what cannot be shown.
pub(super) fn line(
    Line { what, most }: Line,
    text: &str,
    redact: impl Fn(String) -> String,
) -> Result<String, ForgeError> {
    let visible: String = text.chars().filter(|c| c.is_whitespace() || !c.is_control()).collect();
    let line = redact(visible.split_whitespace().collect::<Vec<_>>().join(" "));
    match line.chars().count() {
        0 => Err(bad(what, "is empty".to_owned())),
        length if length > most => Err(bad(what, format!("has {length} characters; the most is {most}"))),
        _ => Ok(line),
    }
}

/// Takes out what cannot be shown, but for ends of lines and tabs.
fn block(
    what: &'static str,
    text: &str,
    most: usize,
    redact: impl Fn(String) -> String,
) -> Result<String, ForgeError> {
    let text: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    let text = redact(text);
    if text.len() > most {
        return Err(bad(what, format!("has {} bytes; the most is {most}", text.len())));
    }
    Ok(text)
}

fn bad(what: &'static str, problem: String) -> ForgeError {
    Refusal::Text { what, problem }.into()
}
