//! Markers: what warp writes into texts on a server to find them again.
//!
//! A marker is an HTML comment, which no reader sees and every forge keeps. Those of warp stand together at the end of a
//! text. Anybody can write one, so whoever reads them asks first who the author is.

use std::fmt::Write as _;

use engine::Actor;

/// What a text of warp says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// What it is found by.
    pub(crate) marker: Option<String>,
    /// Who wrote it, in the account's name.
    pub(crate) by: Actor,
    /// The issue that a pull request resolves, and the run that opened it.
    pub(crate) issue: Option<String>,
    pub(crate) run: Option<String>,
    /// Commits of a pull request that are the same work: the one that was reviewed, and the one that took its place.
    pub(crate) same: Vec<(String, String)>,
}

/// The pairs of commits that are kept.
const MOST_PAIRS: usize = 50;

const BY: &str = "warp-by:";
const ISSUE: &str = "warp-issue:";
const RUN: &str = "warp-run:";
const SAME: &str = "warp-same:";
const MARKER: &str = "warp:";

impl Marks {
    /// The marks of a text that is found again by `marker`.
    pub(crate) fn new(marker: Option<&str>, by: Actor) -> Self {
        Self { marker: marker.map(str::to_owned), by, ..Self::default() }
    }

    /// Puts the marks at the end of a text.
    pub(crate) fn append(&self, text: &str) -> String {
        let lines = self.lines();
        match (lines.is_empty(), text.is_empty()) {
            (true, _) => text.to_owned(),
            (false, true) => lines.join("\n"),
            (false, false) => format!("{text}\n\n{}", lines.join("\n")),
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |name: &str, value: &str| lines.push(format!("<!-- {name}{} -->", escaped(value)));
        if let Some(marker) = &self.marker {
            line(MARKER, marker);
        }
        match self.by {
            Actor::Person => {}
            Actor::Agent => line(BY, "agent"),
            Actor::Engine => line(BY, "engine"),
        }
        for (name, value) in [(ISSUE, &self.issue), (RUN, &self.run)] {
            if let Some(value) = value {
                line(name, value);
            }
        }
        if !self.same.is_empty() {
            let skipped = self.same.len().saturating_sub(MOST_PAIRS);
            let pairs = self.same.iter().skip(skipped);
            let pairs: Vec<String> = pairs.map(|(old, new)| format!("{old}={new}")).collect();
            line(SAME, &pairs.join(" "));
        }
        lines
    }
}

/// Splits a text into what its author wrote and the marks at its end. The marks are only as good as the author.
pub(crate) fn split(text: &str) -> (&str, Marks) {
    let (mut rest, mut marks) = (text, Marks::default());
    let mut end = text.len();
    while let Some((before, name, value)) = last_mark(rest) {
        match name {
            BY if value == "engine" => marks.by = Actor::Engine,
            BY if value == "agent" => marks.by = Actor::Agent,
            ISSUE => marks.issue = Some(value),
            RUN => marks.run = Some(value),
            SAME => {
                let pairs = value.split(' ').filter_map(|pair| pair.split_once('='));
                marks.same = pairs.map(|(old, new)| (old.to_owned(), new.to_owned())).collect();
            }
            MARKER => marks.marker = Some(value),
            _ => break,
        }
        end = before.len();
        rest = before;
    }
    let text = &text[..end];
    let is_marked = marks != Marks::default();
    (
        if is_marked {
            text.strip_suffix("\n\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
        } else {
            text
        },
        marks,
    )
}

/// Returns whether a text may hold marks; a cheap look before its author is looked up.
pub(crate) fn may_have_marks(text: &str) -> bool {
    text.trim_end().ends_with("-->") && text.contains("<!-- warp")
}

/// Takes the last mark off a text.
fn last_mark(text: &str) -> Option<(&str, &'static str, String)> {
    let inner = text.trim_end().strip_suffix(" -->")?;
    let at = inner.rfind("<!-- ")?;
    let content = inner.get(at + "<!-- ".len()..)?;
    let name = [BY, ISSUE, RUN, SAME, MARKER].into_iter().find(|name| content.starts_with(name))?;
    let value = unescaped(content.strip_prefix(name)?)?;
    let before = &text[..at];
    // The line break between two marks belongs to them.
    let before = if last_mark_ends(before) { before.trim_end_matches(['\n', '\r']) } else { before };
    Some((before, name, value))
}

fn last_mark_ends(before: &str) -> bool {
    let line = before.trim_end().rsplit('\n').next().unwrap_or_default();
    line.starts_with("<!-- warp") && line.ends_with("-->")
}

/// Writes a value so that it cannot end its comment.
fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '<' | '>' | '%') || (c == '-' && escaped.ends_with('-')) {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{:02X}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn unescaped(value: &str) -> Option<String> {
    let mut text = String::with_capacity(value.len());
    let mut parts = value.split('%');
    text.push_str(parts.next()?);
    for part in parts {
        let code = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        text.push(char::from(code));
        text.push_str(part.get(2..)?);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Marks {
        Marks {
            marker: Some("pull:run-a:1".to_owned()),
            by: Actor::Engine,
            issue: Some("5".to_owned()),
            run: Some("run-a".to_owned()),
            same: vec![("a1".to_owned(), "b2".to_owned())],
        }
    }

    #[test]
    fn what_is_appended_is_split_off_again() {
        for text in ["", "Words.", "Words.\n", "a\n\n\n", "<!-- seen --> a", "a <!-- warp:x -->\n\nb"] {
            for marks in [full(), Marks::new(Some("c"), Actor::Person), Marks::new(None, Actor::Agent)] {
                assert_eq!(split(&marks.append(text)), (text, marks), "{text:?}");
            }
            assert_eq!(split(text), (text, Marks::default()));
        }
        let marks = full();
        let again = format!("{}\r\n", marks.append("Words."));
        assert_eq!(split(&again), ("Words.", marks), "a server may add the end of a line");
    }

    #[test]
    fn a_marker_cannot_end_its_comment() {
        for marker in ["--> x <!--", "a--b", "100%", "-", "%2", "ä --- >"] {
            let text = Marks::new(Some(marker), Actor::Person).append("");
            assert_eq!(text.matches("-->").count(), 1, "{text}");
            assert_eq!(split(&text).1.marker.as_deref(), Some(marker));
        }
    }

    #[test]
    fn what_is_written_behind_the_marks_makes_them_text() {
        let text = format!("{}\nand more", full().append("Words."));
        assert_eq!(split(&text), (text.as_str(), Marks::default()));
        assert!(!may_have_marks(&text));
        assert!(may_have_marks(&full().append("")));
        let broken = "x\n\n<!-- warp:%zz -->";
        assert_eq!(split(broken), (broken, Marks::default()));
    }
}
