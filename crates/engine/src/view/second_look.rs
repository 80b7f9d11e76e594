//! Self-verification: what an agent is asked with an event that says that work is done.

use std::fmt::Write as _;

use crate::{
    Run, Workflow, keys,
    step::evidence,
    workflow::{EvidenceScope, JobOutcome},
};

/// Returns the criteria that an agent has to look at again before an event, in the issue's own words, and what to do if one
/// is not met; nothing for an event that needs no evidence.
pub fn second_look(workflow: &Workflow, run: &Run, event: &str) -> Option<String> {
    let scope = workflow.row(&run.phase, event)?.evidence?;
    let criteria = evidence::criteria(run, scope);
    let is_early = scope == EvidenceScope::Issue && run.chunk.index < run.chunk.acs.len() as u64;
    if criteria.is_empty() || is_early || !run.settings.get(keys::PRE_EXIT_VERIFICATION) {
        return None;
    }
    let mut text = format!(
        "Self-verification before `{event}`: read each criterion again, and confirm that it is genuinely satisfied, not just \
         that code exists.\n"
    );
    for criterion in criteria {
        writeln!(text, "- {}", in_words(run, criterion)).expect("writing to a string cannot fail");
    }
    text.push_str(&match workflow.phase(&run.phase).and_then(|phase| phase.said(JobOutcome::TestsFailed)) {
        Some(event) => format!("If one is not, `warp state transition . {event}` leads back to the code."),
        None if scope == EvidenceScope::Chunk => "If one is not, finish it first.".to_owned(),
        None => "If one is not, tell the person which.".to_owned(),
    });
    Some(text)
}

/// Returns a criterion with its words, as far as they are known.
pub fn in_words(run: &Run, criterion: &str) -> String {
    match run.criterion_text(criterion) {
        // It may begin with its own label.
        text if text.starts_with(criterion) => text.to_owned(),
        text => format!("{criterion}: {text}"),
    }
}
