//! Compares paths by their text alone: no file is looked at, links are the caller's to resolve.
//!
//! A path may hold [`UNKNOWN`] text or a [`GLOB`]; it is then a pattern, and the question is whether it may
//! become a given path.

use super::parse::{GLOB, UNKNOWN};

/// How a path that a command names lies to one that is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Relation {
    /// It is the protected path or lies below it.
    pub(super) within: bool,
    /// It is a directory above the protected path.
    pub(super) above: bool,
}

impl Relation {
    pub(super) fn any(self) -> bool {
        self.within || self.above
    }
}

/// Joins `path` to `base` and takes out `.`, `..` and doubled slashes.
pub(super) fn normalise(base: &str, path: &str) -> String {
    let is_normal = |rest: &str| rest.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if path.strip_prefix('/').is_some_and(is_normal) {
        return path.to_owned();
    }
    let absolute = path.starts_with('/') || path.starts_with(UNKNOWN);
    let mut parts: Vec<&str> = Vec::new();
    let bases = if absolute { "" } else { base };
    for part in bases.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            // What is above unknown text is unknown.
            ".." if parts.last().is_none_or(|last| !last.contains(UNKNOWN)) => _ = parts.pop(),
            ".." => {}
            _ => parts.push(part),
        }
    }
    let rooted = parts.first().is_none_or(|first| !first.starts_with(UNKNOWN));
    let joined = parts.join("/");
    if rooted { format!("/{joined}") } else { joined }
}

/// Tells how `pattern` may lie to `path`. Case is ignored, as some file systems do.
pub(super) fn relation(pattern: &str, path: &str) -> Relation {
    let path: Vec<char> = path.chars().collect();
    let mut reached = vec![false; path.len() + 1];
    reached[0] = true;
    let mut below = false;
    let mut before = '/';
    for (index, character) in pattern.char_indices() {
        let mut next = vec![false; path.len() + 1];
        match character {
            UNKNOWN => spread(&reached, &mut next, |_| true),
            GLOB => {
                // A pattern at the start of a name does not match a dot there.
                let starts_name = pattern[..index].ends_with('/');
                spread(&reached, &mut next, |at| {
                    path[at] != '/' && !(starts_name && path[at] == '.' && at > 0 && path[at - 1] == '/')
                });
            }
            // That unknown text may be the whole path says nothing: it may be any path.
            '/' if reached[path.len()] && before != UNKNOWN => below = true,
            _ => {}
        }
        if character == UNKNOWN && reached[path.len()] {
            below = true;
        }
        if character != UNKNOWN && character != GLOB {
            for at in 0..path.len() {
                next[at + 1] = reached[at] && path[at].eq_ignore_ascii_case(&character);
            }
        }
        reached = next;
        before = character;
    }
    let is_root = pattern == "/";
    let above = is_root || (1..path.len()).any(|at| reached[at] && path[at] == '/');
    Relation { within: below || reached[path.len()], above }
}

/// Lets every reached position run on over the characters that `passes` accepts.
fn spread(reached: &[bool], next: &mut [bool], passes: impl Fn(usize) -> bool) {
    for at in 0..reached.len() {
        next[at] = reached[at] || (at > 0 && next[at - 1] && passes(at - 1));
    }
}

/// Whether a directory called `.git` is on the way.
pub(super) fn is_in_git(path: &str) -> bool {
    path.split('/').any(|part| part.eq_ignore_ascii_case(".git"))
}

/// Returns the directory that holds the `.git` on the way of a path.
pub(super) fn repository_of(path: &str) -> &str {
    let mut at = 0;
    for part in path.split('/') {
        if part.eq_ignore_ascii_case(".git") {
            return path[..at].trim_end_matches('/');
        }
        at += part.len() + 1;
    }
    path
}

/// Whether a path goes up again after it has gone down.
pub(super) fn has_inner_parent(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.by_ref().find(|part| *part != "..").is_some() && parts.any(|part| part == "..")
}

/// Returns the last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_by_their_text() {
        assert_eq!(normalise("/w/main", "src/../.claude//x"), "/w/main/.claude/x");
        assert_eq!(normalise("/w/main", "/etc/./x"), "/etc/x");
        assert_eq!(normalise("/w", "../../.."), "/");
        assert_eq!(normalise("/w", "\0/../x"), "\0/x");
    }

    #[test]
    fn a_path_is_within_or_above_a_protected_one() {
        let relation = |pattern| relation(pattern, "/w/.claude/settings.json");
        assert!(relation("/w/.claude/settings.json").within);
        assert!(relation("/w/.claude/settings.json/x").within);
        assert!(relation("/w/.CLAUDE/Settings.json").within);
        assert!(relation("/w/.claude").above);
        assert!(relation("/").above);
        assert_eq!(relation("/w/.claude/settings.jsonl"), Relation::default());
        assert_eq!(relation("/w/.claud"), Relation::default());
    }

    #[test]
    fn a_pattern_matches_within_one_name() {
        let relation = |pattern| relation(pattern, "/w/.claude/settings.json");
        assert!(relation("/w/.claude/\u{1}").within);
        assert!(relation("/w/.cl\u{1}").above);
        assert!(!relation("/w/\u{1}").any());
        assert!(!relation("/\u{1}json").any());
        assert!(relation("\0.json").within);
        assert!(relation("\0/.claude/settings.json/x").within);
        assert!(!relation("\0/x").any());
    }
}
