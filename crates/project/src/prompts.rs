//! What an agent is told about the phase that it works in.
//!
//! A text for every phase of the built-in workflows that is an agent's is compiled in. A project's own, in
//! `.warp/prompts/WORKFLOW/PHASE.md`, comes first: for a built-in workflow as for one of the project's.

use std::{
    io,
    path::{Path, PathBuf},
};

use adapters::git::Git;

use crate::text;

/// The largest text of a project's own, in bytes: with the run's state it has to fit into what a client takes.
pub const LARGEST: u64 = 6_000;

/// Why a project's own text cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("failed to read the prompt `{}`", path.display())]
pub struct PromptError {
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

/// Returns the text for a phase: the project's own, else the built-in one; none for a phase that has neither.
pub fn prompt(root: &Path, workflow: &str, phase: &str) -> Result<Option<String>, PromptError> {
    let is_name = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    if !is_name(workflow) || !is_name(phase) {
        return Ok(None);
    }
    let path = root.join(".warp/prompts").join(workflow).join(format!("{phase}.md"));
    match text::read(&path, LARGEST) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(built_in(workflow, phase).map(str::to_owned))
        }
        Err(source) => Err(PromptError { path, source }),
    }
}

/// Returns the project's own text for a phase as the merge target has it: what an agent writes into its tree says nothing
/// to the next, and no link that it makes there is followed.
pub fn pinned(
    git: &Git<'_>,
    target: &str,
    workflow: &str,
    phase: &str,
) -> Result<Option<String>, PromptError> {
    let path = format!(".warp/prompts/{workflow}/{phase}.md");
    let failed = |problem: String| PromptError { path: (&path).into(), source: io::Error::other(problem) };
    match git.file_in(target, &path).map_err(failed)? {
        Some(text) if text.len() as u64 > LARGEST => Err(failed(format!("it has more than {LARGEST} bytes"))),
        text => Ok(text),
    }
}

/// Returns the built-in text for a phase.
pub fn built_in(workflow: &str, phase: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|entry| entry.0 == workflow && entry.1 == phase).map(|entry| entry.2)
}

macro_rules! prompts {
    ($($workflow:literal: $($phase:literal),+;)+) => {
        &[$($(($workflow, $phase, include_str!(concat!("../../../prompts/", $workflow, "/", $phase, ".md"))),)+)+]
    };
}

/// Workflow, phase, text.
const BUILT_IN: &[(&str, &str, &str)] = prompts! {
    "warp-drive": "planning", "coding";
    "coder": "PLANNING", "PLAN_REVIEW", "CODING", "FIXING", "CODE_REVIEW", "BUDGET_REVIEW";
    "autonomous-loop": "brainstorm", "plan", "spec_test", "deepen", "work", "review", "fix", "re_review", "compound",
        "test", "ship";
    "factory": "in_progress", "awaiting_review";
};

#[cfg(test)]
mod tests {
    use engine::{Workflow, workflow};

    use super::*;

    #[test]
    fn every_phase_of_an_agent_has_a_text_that_names_its_events() {
        let mut texts = 0;
        for built in workflow::BUILT_IN {
            let workflow = Workflow::parse(built.text).unwrap();
            for phase in workflow.phases.iter().filter(|phase| phase.role.is_some()) {
                let text = built_in(built.name, phase.name.as_str())
                    .unwrap_or_else(|| panic!("{} {} has no text", built.name, phase.name));
                texts += 1;
                assert!(text.len() as u64 <= LARGEST, "{} {}", built.name, phase.name);
                for row in phase.rows.iter().filter(|row| row.event.as_str() != "abort") {
                    assert!(text.contains(row.event.as_str()), "{} {} {}", built.name, phase.name, row.event);
                }
            }
        }
        assert_eq!(texts, BUILT_IN.len());
    }

    #[test]
    fn every_example_is_valid_json() {
        for (workflow, phase, text) in BUILT_IN {
            for line in text.lines() {
                let Some((_, data)) = line.split_once(" --data '") else { continue };
                let data = data.strip_suffix('\'').unwrap();
                serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(data)
                    .unwrap_or_else(|error| panic!("{workflow} {phase}: {error}: {data}"));
            }
        }
    }

    #[test]
    fn a_projects_own_text_comes_first() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join(".warp/prompts/warp-drive");
        std::fs::create_dir_all(&own).unwrap();
        assert_eq!(
            prompt(root.path(), "warp-drive", "coding").unwrap().as_deref(),
            built_in("warp-drive", "coding")
        );
        std::fs::write(own.join("coding.md"), "Write Ada.\n").unwrap();
        assert_eq!(prompt(root.path(), "warp-drive", "coding").unwrap().as_deref(), Some("Write Ada.\n"));
        assert_eq!(prompt(root.path(), "warp-drive", "testing").unwrap(), None);
        assert_eq!(prompt(root.path(), "..", "coding").unwrap(), None);
    }

    #[test]
    fn a_text_that_is_too_large_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join(".warp/prompts/coder");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("CODING.md"), "x".repeat(LARGEST as usize + 1)).unwrap();
        let error = prompt(root.path(), "coder", "CODING").unwrap_err();
        assert_eq!(error.source.to_string(), "it has more than 6000 bytes");
    }
}
