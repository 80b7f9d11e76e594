//! Protected files, the repository's own files, and the environment of the programs that are called.

use super::{
    git::config,
    parse::UNKNOWN,
    paths::{is_in_git, relation},
    programs::is_one_of,
    state::State,
    walk::Walker,
};

/// How many bytes of a path cost one unit: each is compared with every character of every protected path.
const BYTES_PER_UNIT: usize = 24;

/// Variables by which programs, and what they load first, are found.
const FINDS_PROGRAMS: &str = "\
    PATH BASH_ENV ENV LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PROMPT_COMMAND DYLD_INSERT_LIBRARIES \
    DYLD_LIBRARY_PATH HOME XDG_CONFIG_HOME ZDOTDIR BASH_ALIASES BASH_CMDS PS0 PS1 PS2 PS4";

/// Variables that make git read other settings, run other programs or keep its objects elsewhere.
const FOREIGN: &str = "\
    GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_EXEC_PATH \
    GIT_TEMPLATE_DIR GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS \
    GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_NAMESPACE";

/// Variables that name a program.
const PROGRAMS: &str = "GIT_PAGER PAGER GIT_EDITOR EDITOR VISUAL GIT_SEQUENCE_EDITOR LESSOPEN";

/// What is done to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Write,
    /// Removed, moved away, or changed with all that is below.
    Remove,
}

impl Walker {
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
            self.touch_one(path, &target, access);
        }
    }

    fn touch_one(&mut self, shown: &str, target: &str, access: Access) {
        if is_in_git(target) {
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
        if let Some(guarded) = self.guarded.iter().find(|guarded| hits(&guarded.path)) {
            let reason = format!("`{}` is not an agent's to write: {}", readable(shown), guarded.instead);
            let inside = guarded.path.strip_prefix(&self.root).unwrap_or(&guarded.path);
            // Unknown text before the whole of a protected path is the project's directory.
            let spelled = target.starts_with(UNKNOWN) && target.ends_with(inside);
            return if spelled { self.deny(reason) } else { self.decide(target, reason) };
        }
        if hits(&format!("{}/.git", self.root)) {
            let reason = format!("`{}` would take the repository with it: name the files", readable(shown));
            self.decide(target, reason);
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

    /// Whether every place that `path` may stand for lies outside the workspace.
    pub(super) fn is_outside(&self, path: &str, state: &State) -> bool {
        let inside = |target: &String| {
            let relation = relation(target, &self.root);
            target.contains(UNKNOWN) || relation.within
        };
        !state.resolve(path).iter().any(inside)
    }

    /// Judges a variable for what it means to git and to the way programs are found.
    pub(super) fn environment(&mut self, name: &str, value: &str, state: &State) {
        if is_one_of(FINDS_PROGRAMS, name) {
            self.risky(format!("`{name}` changes what the programs after it are or do"));
        } else if name.starts_with("GIT_TRACE") && value.starts_with('/') {
            self.touch(value, Access::Write, state);
        } else if is_one_of("GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM", name) && value == "/dev/null" {
            // Nothing is read instead of something.
        } else if is_one_of(FOREIGN, name)
            || name.starts_with("GIT_CONFIG_KEY_")
            || name.starts_with("GIT_CONFIG_VALUE_")
        {
            self.deny(format!("`{name}` changes what git runs or reads: leave it unset"));
        } else if is_one_of(PROGRAMS, name) && !config::is_harmless_program(value) {
            self.risky(format!("`{name}` names a program that other programs run"));
            self.perhaps_command(value);
        }
    }
}

/// Shows a path that may hold unknown text.
pub(super) fn readable(text: &str) -> String {
    text.replace(UNKNOWN, "…").replace(super::parse::GLOB, "*")
}
