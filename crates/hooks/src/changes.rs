//! Which tool calls may change a file: before all of those a snapshot is taken.
//!
//! Only what plainly reads is let go without one. A snapshot that was not needed costs some milliseconds, one that is
//! missing costs somebody's work.

use crate::{Input, gate, input::Text, question};

/// Tools of clients that change no file themselves; what a subagent does passes the same hook.
const CHANGE_NOTHING: &[&str] = &[
    "BashOutput",
    "KillShell",
    "Task",
    "Agent",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Skill",
    "ExitPlanMode",
    question::TOOL,
];
/// Warp's own tools.
const OWN: &str = "mcp__warp__";
/// Programs that only read, whatever they are given.
const READ: &str = "\
    ls cat head tail wc grep egrep fgrep pwd cd test [ true false : echo printf which type stat du df ps \
    date whoami id uname basename dirname realpath readlink cut tr nl diff cmp sha256sum md5sum jq sleep";
/// Of git, what only reads.
const GIT_READS: &str = "status log show diff rev-parse ls-files blame describe";
/// What text may be written to without harm.
const NOWHERE: [&str; 7] =
    ["2>&1", "2>/dev/null", "2> /dev/null", ">/dev/null", "> /dev/null", "&>/dev/null", "1>&2"];

/// Tells whether a call may change a file.
pub(crate) fn may_change(input: &Input) -> bool {
    let name = input.tool_name.as_deref().unwrap_or_default();
    if gate::is_reader(name) || CHANGE_NOTHING.contains(&name) || name.starts_with(OWN) {
        return false;
    }
    match &input.tool_input.command {
        Some(Text::Whole(command)) if name != shell::PATCHES => !only_reads(command),
        Some(_) | None => true,
    }
}

/// Names a call, so that its end is known by it.
pub(crate) fn call(input: &Input) -> String {
    let session = input.session_id.as_deref().unwrap_or_default();
    format!("{session} {}", input.tool_use_id.as_deref().unwrap_or_default())
}

/// Tells whether every program of a command is known to read only, and nothing is redirected into a file.
fn only_reads(command: &str) -> bool {
    let mut text = command.to_owned();
    NOWHERE.iter().for_each(|nowhere| text = text.replace(nowhere, " "));
    if text.contains(['>', '`', '(', '{', '\\']) {
        return false;
    }
    text.split([';', '|', '&', '\n']).all(|part| {
        let mut words = part.split_whitespace();
        let Some(program) = words.next() else { return true };
        let writes = |word: &str| word.starts_with("-o") || word.starts_with("--out");
        let is_known = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
        match program {
            "git" => words.next().is_some_and(|word| is_known(GIT_READS, word)) && !words.any(writes),
            _ => is_known(READ, program),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_plainly_reads_needs_no_snapshot() {
        for command in [
            "ls -la src",
            "cat a.txt | grep x | wc -l",
            "cd src && pwd; git status",
            "grep -rn x . 2>/dev/null || true",
            "git log --oneline -5",
            "",
        ] {
            assert!(only_reads(command), "{command}");
        }
        for command in [
            "echo x > f",
            "cp a b",
            "sed -i s/a/b/ f",
            "cat $(rm f)",
            "cat `rm f`",
            "ls | xargs rm",
            "grep x f >| g",
            "git checkout f",
            "git diff --output=f",
            "git",
            "make clean",
            "ls; ./build.sh",
            "(rm f)",
            "{ rm f; }",
            "\\rm f",
            "FOO=1 rm f",
            "if true; then rm f; fi",
            "cat <(rm f)",
            "find . -delete",
            "sort -o f f",
        ] {
            assert!(!only_reads(command), "{command}");
        }
    }
}
