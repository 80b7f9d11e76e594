//! From single checks to how a commit stands.

use std::collections::BTreeSet;

use super::{Cause, ChecksState, StepId};

/// Which checks count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contexts {
    /// The branch whose protection says so; none if nothing is asked of the server.
    pub target: Option<String>,
    /// Names that the project itself has said; with them, the protection is not asked. `*` stands for anything.
    pub named: BTreeSet<String>,
}

/// One check of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) name: String,
    pub(crate) state: CheckState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CheckState {
    /// It waits for a runner, or for somebody's word.
    Waiting,
    Running,
    Passed,
    Skipped,
    Failed(Vec<(String, Cause)>),
}

/// What a server knows about checks that have not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Configured {
    No,
    Yes,
}

/// Judges the checks of a commit. `required` are the names that count; if there are none, all do.
pub(crate) fn judge(
    commit: &str,
    checks: &[Check],
    required: &BTreeSet<String>,
    configured: Configured,
) -> ChecksState {
    let counts =
        |check: &&Check| required.is_empty() || required.iter().any(|name| matches(name, &check.name));
    let relevant: Vec<&Check> = checks.iter().filter(counts).collect();
    if relevant.is_empty() {
        let is_expected = configured == Configured::Yes || !required.is_empty();
        return if is_expected { ChecksState::NotStarted } else { ChecksState::None };
    }
    let is_missing = required.iter().any(|name| !relevant.iter().any(|check| matches(name, &check.name)));
    let is_under_way = |check: &&Check| matches!(check.state, CheckState::Waiting | CheckState::Running);
    if is_missing || relevant.iter().any(is_under_way) {
        let has_begun = relevant.iter().any(|check| check.state != CheckState::Waiting);
        return if has_begun { ChecksState::Running } else { ChecksState::NotStarted };
    }
    let (mut infra, mut code) = (Vec::new(), Vec::new());
    for check in &relevant {
        let CheckState::Failed(steps) = &check.state else { continue };
        for (name, cause) in steps {
            let step = StepId { commit: commit.to_owned(), name: name.clone() };
            match cause {
                Cause::Infra => infra.push(step),
                Cause::Code => code.push(step),
            }
        }
    }
    // Only if nothing says that the code is wrong, running it again is the answer.
    if !code.is_empty() {
        return ChecksState::Failed(code);
    }
    if !infra.is_empty() {
        return ChecksState::Infra(infra);
    }
    let is_skipped = relevant.iter().all(|check| check.state == CheckState::Skipped);
    if is_skipped { ChecksState::Skipped } else { ChecksState::Passed }
}

/// Compares a name with a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(begin) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, state: CheckState) -> Check {
        Check { name: name.to_owned(), state }
    }

    fn failed(name: &str, cause: Cause) -> Check {
        check(name, CheckState::Failed(vec![(name.to_owned(), cause)]))
    }

    fn judged(checks: &[Check], required: &[&str]) -> String {
        let required = required.iter().map(|name| (*name).to_owned()).collect();
        match judge("c", checks, &required, Configured::Yes) {
            ChecksState::Failed(steps) => {
                format!("failed {}", steps.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(" "))
            }
            ChecksState::Infra(steps) => format!("infra {}", steps.len()),
            state @ (ChecksState::None
            | ChecksState::NotStarted
            | ChecksState::Running
            | ChecksState::Passed
            | ChecksState::Skipped) => format!("{state:?}"),
        }
    }

    #[test]
    fn none_is_neither_green_nor_late() {
        let none = BTreeSet::new();
        assert_eq!(judge("c", &[], &none, Configured::No), ChecksState::None);
        assert_eq!(judge("c", &[], &none, Configured::Yes), ChecksState::NotStarted);
        assert_eq!(judged(&[], &["unit"]), "NotStarted");
        let required = BTreeSet::from(["unit".to_owned()]);
        let other = [check("lint", CheckState::Passed)];
        assert_eq!(judge("c", &other, &required, Configured::No), ChecksState::NotStarted);
    }

    #[test]
    fn only_what_is_required_counts() {
        let checks = [
            check("unit", CheckState::Passed),
            failed("nightly", Cause::Code),
            check("docs", CheckState::Running),
        ];
        assert_eq!(judged(&checks, &["unit"]), "Passed");
        assert_eq!(judged(&checks, &["unit", "lint"]), "Running", "one has not come yet");
        assert_eq!(judged(&checks, &[]), "Running");
        assert_eq!(judged(&checks[..2], &[]), "failed nightly");
        let pattern = [check("ci / unit (push)", CheckState::Passed)];
        assert_eq!(judged(&pattern, &["ci / * (push)"]), "Passed");
        assert_eq!(judged(&pattern, &["*(pull_request)"]), "NotStarted");
    }

    #[test]
    fn a_skipped_check_is_no_failure() {
        let skipped = check("unit", CheckState::Skipped);
        assert_eq!(judged(std::slice::from_ref(&skipped), &["unit"]), "Skipped");
        assert_eq!(judged(&[skipped, check("lint", CheckState::Passed)], &["unit", "lint"]), "Passed");
    }

    #[test]
    fn it_is_the_machine_only_if_nothing_says_that_it_is_the_code() {
        let (infra, code) = (failed("clone", Cause::Infra), failed("unit", Cause::Code));
        assert_eq!(judged(&[infra.clone(), code.clone()], &[]), "failed unit");
        assert_eq!(judged(std::slice::from_ref(&infra), &[]), "infra 1");
        assert_eq!(judged(&[infra, check("lint", CheckState::Running)], &[]), "Running");
        assert_eq!(judged(&[check("unit", CheckState::Waiting)], &[]), "NotStarted");
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, is_match) in [
            ("ci", "ci", true),
            ("ci", "ci2", false),
            ("ci/*", "ci/woodpecker/push", true),
            ("*/push/*", "ci/push/unit", true),
            ("*/push/*", "ci/pr/unit", false),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, name), is_match, "{pattern} {name}");
        }
    }
}
