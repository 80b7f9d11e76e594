//! Protected files, the repository's own files, and whose repository a place belongs to.

use std::path::Path;

use super::{
    parse::UNKNOWN,
    paths::{has_inner_parent, is_in_git, relation, repository_of},
    state::State,
    walk::Walker,
};

/// How many bytes of a path cost one unit: each is compared with every character of every protected path.
const BYTES_PER_UNIT: usize = 24;

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Made if it is not there, and otherwise left as it is.
    Make,
    Write,
    /// Removed, moved away, or changed with all that is below.
    Remove,
}

impl Walker<'_> {
    /// Judges a write to `path`.
    pub(super) fn touch(&mut self, path: &str, access: Access, state: &State) {
        if path.is_empty() {
            return;
        }
        for target in state.resolve(path) {
            self.spend(1 + target.len() / BYTES_PER_UNIT);
            if self.is_over() {
                return;
            }
            self.touch_one(path, &target, access, state);
        }
    }

    fn touch_one(&mut self, shown: &str, target: &str, access: Access, state: &State) {
        let is_other = is_in_git(target) && self.is_in_other_git(target, state);
        if is_other {
            self.risky(format!("`{}` belongs to another repository", readable(shown)));
        } else if is_in_git(target) {
            let shown = readable(shown);
            return self.deny(format!("`{shown}` belongs to git: change it with git's own commands"));
        }
        if target.starts_with(UNKNOWN)
            && target.chars().all(|character| character == UNKNOWN || character == '/')
        {
            return self.risky("it writes to a file that is only known once it runs");
        }
        let hits = |path: &str| {
            let relation = relation(target, path);
            relation.within || (access == Access::Remove && relation.above)
        };
        let takes_repository = hits(&format!("{}/.git", self.root));
        if takes_repository && !target.contains(UNKNOWN) {
            return self.deny(format!(
                "`{}` would take the repository with it: name a file or a directory inside, as in `rm -r build`",
                readable(shown)
            ));
        }
        if let Some(guarded) = self.guarded.iter().find(|guarded| hits(&guarded.path)) {
            let reason = format!("`{}` is not an agent's to write: {}", readable(shown), guarded.instead);
            let inside = guarded.path.strip_prefix(&self.root).unwrap_or(&guarded.path);
            // Unknown text before the whole of a protected path is the project's directory.
            let spelled = target.starts_with(UNKNOWN) && target.ends_with(inside);
            return if spelled { self.deny(reason) } else { self.decide(target, reason) };
        }
        if access != Access::Make && (target.contains(UNKNOWN) || relation(target, &self.root).within) {
            self.risky(format!("`{}` is written, and may hold work", readable(shown)));
        }
        if takes_repository {
            self.risky("it may take the repository with it");
        }
    }

    /// Denies what is certain; what depends on unknown text is risky.
    fn decide(&mut self, target: &str, reason: String) {
        if target.contains(UNKNOWN) {
            self.risky("it may write to a protected file");
        } else {
            self.deny(reason);
        }
    }

    /// Whether a path is in a `.git` that is outside the workspace or was made by this command.
    fn is_in_other_git(&self, target: &str, state: &State) -> bool {
        let holder = repository_of(target);
        let is_made = |made: &super::state::CreatedRepository| relation(holder, &made.path).within;
        let is_outside = || !relation(target, &self.root).within && self.is_other(holder);
        !target.contains(UNKNOWN) && (state.made.iter().any(is_made) || is_outside())
    }

    /// Whether a directory is in another repository, or in none.
    fn is_other(&self, directory: &str) -> bool {
        match (self.repository)(Path::new(directory)) {
            Some(found) => (self.repository)(Path::new(&self.root)) != Some(found),
            None => !relation(directory, &self.root).within,
        }
    }

    /// Whether git is at work in another repository than the project's, wherever `path` may lead.
    pub(super) fn is_elsewhere(&self, path: &str, state: &State) -> bool {
        // A link in front of `..`, or an open file, leads where no text tells.
        if has_inner_parent(path) || path.starts_with("/proc/") || path.starts_with("/dev/") {
            return false;
        }
        state.resolve(path).iter().all(|target| {
            let is_guarded = self.guarded.iter().any(|guarded| relation(target, &guarded.path).within);
            let is_made = |made: &super::state::CreatedRepository| relation(target, &made.path).within;
            let is_known = !target.contains([UNKNOWN, super::parse::GLOB]);
            is_known
                && !is_guarded
                && *target != self.root
                && (state.made.iter().any(is_made) || self.is_other(target))
        })
    }

    /// Whether every place that `path` may stand for lies outside the workspace.
    pub(super) fn is_outside(&self, path: &str, state: &State) -> bool {
        let inside = |target: &String| {
            let relation = relation(target, &self.root);
            target.contains(UNKNOWN) || relation.within
        };
        !state.resolve(path).iter().any(inside)
    }
}

/// Shows a path that may hold unknown text.
pub(super) fn readable(text: &str) -> String {
    text.replace(UNKNOWN, "…").replace(super::parse::GLOB, "*")
}
