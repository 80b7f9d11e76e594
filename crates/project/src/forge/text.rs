//! The texts of items: cleaned, without secrets, and of a bounded length.

use adapters::secrets::redacted;

use super::{ForgeError, Item};

/// The longest title, name, label and marker, in characters.
const TITLE: usize = 200;
const NAME: usize = 200;
const LABEL: usize = 50;
const MARKER: usize = 200;
/// The longest text of an item and of a comment, in bytes.
pub(crate) const BODY: usize = 256 * 1024;
const COMMENT: usize = 64 * 1024;
/// How much an item may hold: an item is read whole.
const COMMENTS: usize = 1000;
const ALL_COMMENTS: usize = 1024 * 1024;
const LABELS: usize = 50;

pub(super) fn title(text: &str) -> Result<String, ForgeError> {
    line("title", text, TITLE)
}

/// A name in one line: of a branch, a commit, somebody.
pub(super) fn name(what: &'static str, text: &str) -> Result<String, ForgeError> {
    line(what, text, NAME)
}

pub(super) fn label(text: &str) -> Result<String, ForgeError> {
    let label = line("label", text, LABEL)?;
    if label.contains(',') {
        return Err(bad("label", format!("`{label}` has a comma")));
    }
    Ok(label)
}

/// A marker is compared, so it is taken as it is or not at all.
pub(super) fn marker(text: &str) -> Result<String, ForgeError> {
    if text.chars().any(char::is_control) {
        return Err(bad("marker", "has characters that cannot be shown".to_owned()));
    }
    line("marker", text, MARKER).map(|_| text.to_owned())
}

pub(super) fn body(text: &str) -> Result<String, ForgeError> {
    block("text", text, BODY)
}

pub(super) fn comment(text: &str) -> Result<String, ForgeError> {
    let text = block("comment", text, COMMENT)?;
    if text.trim().is_empty() { Err(bad("comment", "is empty".to_owned())) } else { Ok(text) }
}

/// Sees to it that an item does not outgrow what can be read whole.
pub(super) fn check_room(item: &Item) -> Result<(), ForgeError> {
    let full = |problem: String| Err(ForgeError::Full { number: item.number, problem });
    if item.comments.len() > COMMENTS {
        return full(format!("it has {COMMENTS} comments"));
    }
    if item.comments.iter().map(|comment| comment.text.len()).sum::<usize>() > ALL_COMMENTS {
        return full(format!("its comments may have {ALL_COMMENTS} bytes in all"));
    }
    if item.labels.len() > LABELS { full(format!("it may have {LABELS} labels")) } else { Ok(()) }
}

/// Makes a text one line, without what cannot be shown.
fn line(what: &'static str, text: &str, most: usize) -> Result<String, ForgeError> {
    let visible: String = text.chars().filter(|c| c.is_whitespace() || !c.is_control()).collect();
    let line = redacted(visible.split_whitespace().collect::<Vec<_>>().join(" "));
    match line.chars().count() {
        0 => Err(bad(what, "is empty".to_owned())),
        length if length > most => Err(bad(what, format!("has {length} characters; the most is {most}"))),
        _ => Ok(line),
    }
}

/// Takes out what cannot be shown, but for ends of lines and tabs.
fn block(what: &'static str, text: &str, most: usize) -> Result<String, ForgeError> {
    let text: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    let text = redacted(text);
    if text.len() > most {
        return Err(bad(what, format!("has {} bytes; the most is {most}", text.len())));
    }
    Ok(text)
}

fn bad(what: &'static str, problem: String) -> ForgeError {
    ForgeError::Text { what, problem }
}
