//! Secrets, and texts without them.
//!
//! A secret is known by its value (the environment of this process, and the files in which forges and agents' clients
//! keep their logins) or by its looks (`pattern`). Where text of others becomes a record or is shown, [`redact`] puts
//! [`REMOVED`] in its place. Those places are few, and everything else is a view of what they let through:
//! - `runs`: events on their way into the journal;
//! - `project`: what commands printed, the texts of issues and pull requests;
//! - `driver`: what an agent says while it works, and its answer;
//! - `sandbox`: the configuration of git and of package managers that is shown behind walls.
//!
//! Invariants:
//! - A text without a secret stays as it is, and one that was redacted is not changed again.
//! - The work grows with the length of the text, whatever is in it.
//!
//! What git keeps is left alone: a commit holds what somebody has written, to the byte. A value of fewer than
//! [`SHORTEST`] characters, or a short word of plain letters, is not looked for: it would be found everywhere.

mod hidden;
mod named;
mod pattern;
mod source;

use std::{borrow::Cow, env, ops::Range, path::Path, sync::OnceLock};

use serde_json::{Map, Value};

use hidden::Visible;
pub use source::SecretMatch;

/// What stands in the place of a secret. It cannot overlap with itself, so it is always found again as a whole.
pub const REMOVED: &str = "[secret removed]";

/// The shortest value that is looked for, in bytes.
pub const SHORTEST: usize = 8;
/// The shortest beginning of a value that is looked for where dots say that the rest was cut off.
const LEAST_BEFORE_DOTS: usize = 4;
/// The longest word of plain letters that is taken for a word: `postgres`, `development`.
const WORD: usize = 11;
/// The shortest line of a value of several lines that is looked for by itself.
const LINE: usize = 16;
/// How many values are looked for, and how long one may be, in bytes.
const MOST: usize = 500;
const LONGEST: usize = 16 * 1024;
/// How often a text is looked at again after something was taken out of it.
const ROUNDS: usize = 4;

/// Values that nobody is to see.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Each in every spelling that it may have in a text.
    values: Vec<String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("values", &self.values.len()).finish()
    }
}

/// Takes the secrets out of a text, as this process knows them.
pub fn redact(text: &str) -> Cow<'_, str> {
    static KNOWN: OnceLock<Secrets> = OnceLock::new();
    // Most texts are names and numbers: for those nothing is read.
    if text.len() < SHORTEST {
        return Cow::Borrowed(text);
    }
    KNOWN.get_or_init(Secrets::of_environment).redact(text)
}

/// Takes the secrets out of a text that somebody owns.
pub fn redacted(text: String) -> String {
    match redact(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(text) => text,
    }
}

/// Takes the secrets out of the names and the texts of a table.
pub fn redact_fields(fields: &mut Map<String, Value>) {
    if fields.keys().any(|name| matches!(redact(name), Cow::Owned(_))) {
        let renamed = std::mem::take(fields).into_iter().map(|(name, value)| (redacted(name), value));
        *fields = renamed.collect();
    }
    fields.values_mut().for_each(redact_value);
}

/// Takes the secrets out of all texts of a value.
pub fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = redacted(std::mem::take(text)),
        Value::Array(entries) => entries.iter_mut().for_each(redact_value),
        Value::Object(fields) => redact_fields(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Takes the secrets out of a file of settings, those included that it names as such.
pub(crate) fn redact_settings(text: &str) -> Cow<'_, str> {
    let mut secrets = Secrets::of_environment();
    named::in_lines(text).for_each(|value| secrets.add(value));
    secrets.redact(text)
}

impl Secrets {
    /// Returns what this process's environment and the person's home hold.
    pub fn of_environment() -> Self {
        let variables = env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        let named = variables.filter(|(name, _)| named::is_secret(name));
        let values = named.filter_map(|(_, value)| value.into_string().ok());
        let mut secrets = Self::of(values.filter(|value| !named::is_place(value)));
        if let Some(home) = env::var_os("HOME") {
            named::in_home(Path::new(&home)).into_iter().for_each(|value| secrets.add(&value));
        }
        secrets
    }

    /// Returns these values as secrets.
    pub fn of(values: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut secrets = Self::default();
        values.into_iter().for_each(|value| secrets.add(value.as_ref()));
        secrets
    }

    fn add(&mut self, value: &str) {
        let value = value.trim();
        self.add_spellings(value);
        if value.contains('\n') {
            // Lines are often seen one by one.
            value
                .lines()
                .map(str::trim)
                .filter(|line| line.len() >= LINE)
                .for_each(|line| self.add_spellings(line));
        }
    }

    fn add_spellings(&mut self, value: &str) {
        let is_word = value.len() <= WORD
            && (value.bytes().all(|byte| byte.is_ascii_lowercase())
                || value.bytes().all(|byte| byte.is_ascii_uppercase()));
        // A secret that is part of the mark could never be removed.
        if !(SHORTEST..=LONGEST).contains(&value.len()) || is_word || REMOVED.contains(value) {
            return;
        }
        let json = Value::from(value).to_string();
        let json = json.get(1..json.len() - 1).unwrap_or_default().to_owned();
        for spelling in
            [value.to_owned(), json, percent(value, b"0123456789ABCDEF"), percent(value, b"0123456789abcdef")]
        {
            if self.values.len() < MOST && !self.values.contains(&spelling) {
                self.values.push(spelling);
            }
        }
    }

    /// Takes these secrets, and all that look like one, out of a text.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Cow::Owned(mut clean) = self.redact_once(text) else { return Cow::Borrowed(text) };
        // Where a secret stood within something invisible, what is visible has changed with it.
        for _ in 0..ROUNDS {
            match self.redact_once(&clean) {
                Cow::Borrowed(_) => break,
                Cow::Owned(again) => clean = again,
            }
        }
        Cow::Owned(clean)
    }

    fn redact_once<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut removed = self.find(text);
        if let Some(visible) = Visible::of(text) {
            removed.extend(self.find(&visible.text).iter().filter_map(|part| visible.place(part)));
            removed = merged(removed);
        }
        if removed.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::with_capacity(text.len());
        let mut end = 0;
        for span in removed {
            clean.push_str(&text[end..span.start]);
            clean.push_str(REMOVED);
            end = span.end;
        }
        clean.push_str(&text[end..]);
        Cow::Owned(clean)
    }

    /// Finds these secrets, and all that look like one, in the order of the text.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let marks: Vec<Range<usize>> = found(text, 0, REMOVED).collect();
        let mut known = Vec::new();
        for gap in gaps(text, &marks) {
            for value in &self.values {
                known.extend(found(&text[gap.clone()], gap.start, value));
            }
        }
        // One that reaches into a mark was cut by that, and is gone already.
        let is_apart =
            |span: &Range<usize>| !marks.iter().any(|mark| mark.start < span.end && span.start < mark.end);
        known.extend(self.cut_off(text).into_iter().filter(is_apart));
        let mut known = merged(known);
        // What remains is looked at piece by piece, so that a second look finds the same.
        let around = merged([marks, known.clone()].concat());
        for gap in gaps(text, &around) {
            let looks = pattern::find(&text[gap.clone()]).into_iter();
            known.extend(looks.map(|span| span.start + gap.start..span.end + gap.start));
        }
        merged(known)
    }

    /// Finds what a text that was cut to its length has left of a value, at its start and at its end.
    fn cut_off(&self, text: &str) -> Vec<Range<usize>> {
        let end = text.trim_end_matches('…');
        let least = if end == text { SHORTEST } else { LEAST_BEFORE_DOTS };
        let mut spans = Vec::new();
        for value in &self.values {
            let cuts = || value.char_indices().map(|(at, _)| at);
            let tail = cuts().find(|at| value.len() - at >= SHORTEST && text.starts_with(&value[*at..]));
            spans.extend(tail.map(|at| 0..value.len() - at));
            let head = cuts().filter(|at| *at >= least).rfind(|at| end.ends_with(&value[..*at]));
            spans.extend(head.map(|at| end.len() - at..end.len()));
        }
        spans
    }
}

/// Lines of one text that are seen one after the other: the lines of a key look like nothing by themselves.
#[derive(Debug, Default)]
pub struct Lines {
    is_in_key: bool,
}

impl Lines {
    /// Takes the secrets out of the next line.
    pub fn redacted(&mut self, line: String) -> String {
        let begins = pattern::begins_key(&line);
        let goes_on = self.is_in_key && pattern::belongs_to_key(&line);
        self.is_in_key = (begins || goes_on) && !pattern::ends_key(&line);
        if goes_on { REMOVED.to_owned() } else { redacted(line) }
    }
}

/// Finds a value in a piece of a text that begins at `start`.
fn found<'a>(piece: &'a str, start: usize, value: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    piece.match_indices(value).map(move |(at, value)| start + at..start + at + value.len())
}

/// Returns the pieces of a text between spans, which are in order and apart.
fn gaps(text: &str, spans: &[Range<usize>]) -> Vec<Range<usize>> {
    let starts = std::iter::once(0).chain(spans.iter().map(|span| span.end));
    let ends = spans.iter().map(|span| span.start).chain(std::iter::once(text.len()));
    starts.zip(ends).map(|(start, end)| start..end).filter(|gap| !gap.is_empty()).collect()
}

/// Puts spans in order, and those together that touch.
fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| (span.start, span.end));
    let mut all: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match all.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            Some(_) | None => all.push(span),
        }
    }
    all
}

/// Spells a text as it stands in an address.
fn percent(text: &str, digits: &[u8; 16]) -> String {
    let mut spelled = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            spelled.push(char::from(byte));
        } else {
            let digit = |value: u8| char::from(digits[usize::from(value)]);
            spelled.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    spelled
}

#[cfg(test)]
mod tests;
