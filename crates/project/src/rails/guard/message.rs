//! The form of an agent's commit message: `type(scope)!: text`.

use std::path::Path;

use engine::is_deceptive;

use super::{Verdict, refuse};
use crate::text;

/// The largest message that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;
/// The longest first line, in characters.
const LONGEST: usize = 100;
/// The types that a message may begin with.
const TYPES: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];

/// Judges the message in the file that git names.
pub(super) fn judge(arguments: &[&str]) -> Verdict {
    let Some(file) = arguments.first() else { return refuse("git named no file with the message") };
    let message = match text::bytes(Path::new(file), LARGEST) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => return refuse(&format!("the commit message cannot be read: {error}")),
    };
    let subject = message.lines().map(str::trim_end).find(|line| !line.is_empty() && !line.starts_with('#'));
    match problem(subject.unwrap_or_default()) {
        None => Verdict::Pass,
        Some(problem) => refuse(&format!(
            "{problem}. The form is `type(scope): text`, e.g. `feat(parser): read nested lists`"
        )),
    }
}

/// Says what is wrong with a first line.
pub fn problem(subject: &str) -> Option<String> {
    if subject.is_empty() {
        return Some("the commit message is empty".to_owned());
    }
    if subject.contains(|c| c == '\n' || is_deceptive(c)) {
        return Some("the first line of the commit message has characters that cannot be seen".to_owned());
    }
    let length = subject.chars().count();
    if length > LONGEST {
        return Some(format!(
            "the first line of the commit message has {length} characters; the most is {LONGEST}"
        ));
    }
    let Some((kind, text)) = subject.split_once(": ") else {
        return Some("the first line of the commit message has no `type: `".to_owned());
    };
    if text.trim().is_empty() {
        return Some("the first line of the commit message says nothing after its type".to_owned());
    }
    let kind = kind.strip_suffix('!').unwrap_or(kind);
    let (kind, scope) = match kind.split_once('(') {
        Some((kind, scope)) => (kind, Some(scope)),
        None => (kind, None),
    };
    if !TYPES.contains(&kind) {
        return Some(format!("`{kind}` is no type of commit; there are {}", TYPES.join(", ")));
    }
    let is_scope = |scope: &str| {
        let inner = scope.strip_suffix(')');
        inner.is_some_and(|inner| !inner.trim().is_empty() && !inner.contains(['(', ')']))
    };
    if scope.is_some_and(|scope| !is_scope(scope)) {
        return Some("the scope of the commit message is not one word or name in parentheses".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn conventional_subjects_pass_and_others_say_what_is_wrong() {
        for subject in ["feat: a", "fix(parser): b", "feat(api)!: c", "chore!: d", "docs(a b): e"] {
            assert_eq!(problem(subject), None, "{subject}");
        }
        for (subject, wrong) in [
            ("", "is empty"),
            ("add things", "has no `type: `"),
            ("feat:", "has no `type: `"),
            ("feature: a", "`feature` is no type of commit"),
            ("Feat: a", "`Feat` is no type"),
            ("fix(): a", "the scope"),
            ("fix(a: b", "the scope"),
            ("fix((a)): b", "the scope"),
            ("fix:  ", "says nothing"),
        ] {
            let said = problem(subject).unwrap();
            assert!(said.contains(wrong), "{subject}: {said}");
        }
        assert!(problem(&format!("feat: {}", "x".repeat(95))).unwrap().contains("101 characters"));
    }
}
