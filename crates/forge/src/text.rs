//! The texts that are written into items: cleaned, without secrets, and of a bounded length.

use crate::{ForgeError, Item, ItemId, Refusal};

/// The longest marker and label, in characters.
const MARKER: usize = 200;
const LABEL: usize = 50;
/// Maximum size of an item's or comment's text, in bytes.
pub const BODY: usize = 256 * 1024;
pub(crate) const COMMENT: usize = 64 * 1024;
/// How much an item may hold: an item is read whole.
const COMMENTS: usize = 1000;
const ALL_COMMENTS: usize = 1024 * 1024;
const LABELS: usize = 50;

/// A kind of one-line text.
#[derive(Clone, Copy)]
pub(crate) struct Line {
    what: &'static str,
    /// How long it may be, in characters.
    most: usize,
}

pub(crate) const TITLE: Line = Line { what: "title", most: 200 };
pub(crate) const NAME: Line = Line { what: "name", most: 200 };
pub(crate) const BRANCH: Line = Line { what: "branch", most: 200 };
pub(crate) const TARGET: Line = Line { what: "target branch", most: 200 };
pub(crate) const COMMIT: Line = Line { what: "commit", most: 200 };

pub(crate) fn label(text: &str, redact: impl Fn(String) -> String) -> Result<String, ForgeError> {
    let label = line(Line { what: "label", most: LABEL }, text, redact)?;
    if label.contains(',') {
        return Err(bad("label", format!("`{label}` has a comma")));
    }
    Ok(label)
}

/// A marker is compared, so it is taken as it is or not at all.
pub(crate) fn marker(text: &str, redact: impl Fn(String) -> String) -> Result<String, ForgeError> {
    if text.chars().any(char::is_control) {
        return Err(bad("marker", "has characters that cannot be shown".to_owned()));
    }
    line(Line { what: "marker", most: MARKER }, text, redact).map(|_| text.to_owned())
}

pub(crate) fn body(text: &str, most: usize, redact: impl Fn(String) -> String) -> Result<String, ForgeError> {
    block("text", text, most, redact)
}

pub(crate) fn comment(
    text: &str,
    most: usize,
    redact: impl Fn(String) -> String,
) -> Result<String, ForgeError> {
    let text = block("comment", text, most, redact)?;
    if text.trim().is_empty() { Err(bad("comment", "is empty".to_owned())) } else { Ok(text) }
}

/// Sees to it that an item does not outgrow what can be read whole.
pub(crate) fn check_room(item: &Item) -> Result<(), ForgeError> {
    check_comments(item.id, item.comments.iter().map(|comment| comment.text.len()))?;
    let full = || Refusal::Full { id: item.id, problem: format!("it may have {LABELS} labels") };
    if item.labels.len() > LABELS { Err(full().into()) } else { Ok(()) }
}

/// Does so for comments of these lengths.
pub(crate) fn check_comments(id: ItemId, lengths: impl Iterator<Item = usize>) -> Result<(), ForgeError> {
    let (count, bytes) = lengths.fold((0, 0), |(count, bytes), length| (count + 1, bytes + length));
    let full = |problem: String| Err(Refusal::Full { id, problem }.into());
    if count > COMMENTS {
        return full(format!("it has {COMMENTS} comments"));
    }
    if bytes > ALL_COMMENTS {
        return full(format!("its comments may have {ALL_COMMENTS} bytes in all"));
    }
    Ok(())
}

/// Makes a text one line, without what cannot be shown.
pub(crate) fn line(
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
