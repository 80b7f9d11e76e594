//! No crate knows a workflow, a phase or an event by its name: only the engine's workflows, prompts and slash commands do.

use std::{collections::BTreeSet, fs, process::Command};

use engine::{Workflow, workflow::BUILT_IN};

use crate::{
    run::{Result, capture, root},
    tidy::shown,
};

/// Where names belong: the workflows themselves, prompts, slash commands, and state files of an earlier program.
const AT_HOME: &[&str] = &[
    "crates/engine/src/workflow.rs",
    "crates/engine/src/workflow/",
    "crates/engine/src/view/adopt.rs",
    "crates/hooks/src/prompt.rs",
    "crates/project/src/prompts.rs",
    "crates/testkit/",
];

/// Words of the trade that workflows use as names too: answers to a question, states of tests and branches, words of the
/// shell and of git, fields of JSON.
const WORDS: &[&str] = &[
    "ERROR",
    "abort",
    "answer",
    "answered",
    "approve",
    "blocked",
    "changes",
    "committed",
    "continue",
    "deepen",
    "done",
    "failed",
    "fix",
    "merged",
    "plan",
    "restart",
    "review",
    "start",
    "test",
    "testing",
    "work",
];

/// Names that stand for something else in one place.
const MEANT_OTHERWISE: &[(&str, &str)] = &[
    // The label of what this program files.
    ("crates/jobs/src/clean_up.rs", "warp-drive"),
    ("crates/jobs/src/file_report.rs", "warp-drive"),
    ("crates/jobs/src/summarise.rs", "warp-drive"),
    ("crates/project/src/decide.rs", "warp-drive"),
    // A slash command.
    ("crates/project/src/setup/skills.rs", "warp-drive"),
    // A role, by the name that settings give it.
    ("crates/driver/src/review_pull/turn.rs", "coder"),
    // Words of servers.
    ("crates/forge/src/forgejo/actions.rs", "completed"),
    ("crates/forge/src/github/actions.rs", "completed"),
    ("crates/forge/src/github/actions.rs", "in_progress"),
    // What agents write instead of a verdict's own word.
    ("crates/review/src/answer.rs", "changes_requested"),
    // Labels, with their colours.
    ("crates/forge/src/remote/labels.rs", "backlog"),
    ("crates/forge/src/remote/labels.rs", "underspecified"),
    ("crates/forge/src/remote/labels.rs", "warp-drive"),
    // A gate, by the name that a person's consent to it has in the journal.
    ("crates/jobs/src/check_docs.rs", "doc_drift_check"),
];

pub(crate) fn check() -> Result {
    let names = names()?;
    let files = capture(
        Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "crates/*.rs"])
            .current_dir(root()),
    )?;
    let mut faults = Vec::new();
    for file in files.lines() {
        // One that was removed but not yet committed is not looked at.
        let Ok(text) = fs::read_to_string(root().join(file)) else { continue };
        faults.extend(check_file(file, &text, &names));
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("names of workflows:\n{}", faults.join("\n"))) }
}

/// Returns the names of the workflows that come with warp, of their phases and of their events.
fn names() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for built_in in BUILT_IN {
        let workflow =
            Workflow::parse(built_in.text).map_err(|error| format!("{}: {error}", built_in.name))?;
        names.insert(workflow.name.clone());
        names.extend(workflow.phases.iter().map(|phase| phase.name.to_string()));
        names.extend(workflow.events().iter().map(ToString::to_string));
    }
    Ok(names)
}

fn check_file(file: &str, text: &str, names: &BTreeSet<String>) -> Vec<String> {
    let is_test = !file.contains("/src/") || file.ends_with("tests.rs") || file.contains("/tests/");
    if is_test || AT_HOME.iter().any(|home| file.starts_with(home)) {
        return Vec::new();
    }
    let is_name = |literal: &str| {
        names.contains(literal) && !WORDS.contains(&literal) && !MEANT_OTHERWISE.contains(&(file, literal))
    };
    let named = shown(text, false).into_iter().filter(|(_, literal)| is_name(literal.as_ref()));
    named
        .map(|(line, literal)| {
            format!("{file}:{line}: `{literal}` is a name of a workflow, which only workflows know")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_name_is_found_where_no_workflow_is_known() {
        let names = names().unwrap();
        let found = |file: &str, text: &str| check_file(file, text, &names);
        let code = "// \"tests_failed\"\nlet a = (\"tests_failed\", \"CODING\", \"factory\");\nlet b = \"failed\";\n\
            #[cfg(test)]\nmod tests { \"coding\" }\n";
        let faults = found("crates/jobs/src/advance.rs", code);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].starts_with("crates/jobs/src/advance.rs:2: `tests_failed`"), "{faults:?}");
        for home in
            ["crates/engine/src/workflow/job.rs", "crates/project/src/prompts.rs", "crates/jobs/tests/it.rs"]
        {
            assert_eq!(found(home, code), Vec::<String>::new());
        }
        let label = "[\"warp-drive\"]";
        let counts =
            ["crates/jobs/src/summarise.rs", "crates/jobs/src/land.rs"].map(|file| found(file, label).len());
        assert_eq!(counts, [0, 1]);
    }

    /// A word that no workflow uses any more would hide one that does.
    #[test]
    fn what_is_let_through_is_a_name() {
        let names = names().unwrap();
        let mut let_through = WORDS.iter().chain(MEANT_OTHERWISE.iter().map(|(_, name)| name));
        assert_eq!(let_through.find(|word| !names.contains(**word)), None);
    }
}
