//! What an agent's session is told about the run in its workspace: facts, not orders.

use std::fmt::Write as _;

use super::{Owned, explain};
use crate::{Run, Standing, Time, Workflow, workflow::Activity};

/// The most that a client takes as context, in characters.
const LONGEST: usize = 9_900;

/// Returns the context for a new session in a run's workspace.
pub fn inject(workflow: &Workflow, run: &Run, owner: Owned, now: Time) -> String {
    let explanation = explain(workflow, run, now);
    let mut text = format!("A {} run is under way in this project", run.workflow);
    let mut add = |part: String| text.write_str(&part).expect("writing to a string cannot fail");
    if let Some(issue) = &run.issue {
        add(format!(", for issue {issue}"));
    }
    if let Some(feature) = &run.feature {
        add(format!(", for the feature: {feature}"));
    }
    add(format!(".\nIt stands in phase `{}`: {}.\n", run.phase, explanation.purpose));
    if owner == Owned::Stale {
        add("The process that began it has ended (stale); the run goes on from here.\n".to_owned());
    }
    if run.aborted && run.phase == "aborted" {
        add("It was aborted. What is left is to save uncommitted work and to file the abort report.\n"
            .to_owned());
    }
    if let Standing::Parked { decision } = &run.standing {
        add(format!("It waits for a person's decision: {}\n", decision.question));
    }
    if !run.chunk.acs.is_empty() {
        add(format!("Chunk {} of {}:\n", run.chunk.index, run.chunk.acs.len()));
        for criterion in run.current_criteria() {
            let text = run.criterion_text(criterion);
            let text = if text == criterion { String::new() } else { format!(": {text}") };
            add(format!("- {criterion}{text}\n"));
        }
    }
    if run.committed && !run.report_filed {
        add("A commit was made and its chunk report is not filed yet.\n".to_owned());
    }
    if let Some(level) = reasoning(run) {
        add(format!("Reasoning budget of this phase: {level}.\n"));
    }
    add(match workflow.phase(&run.phase).map(|phase| phase.activity) {
        Some(Activity::Engine) => {
            "`warp next` does the work of this phase. What can come of it:\n".to_owned()
        }
        Some(Activity::Person) => "A person decides here. What can happen next:\n".to_owned(),
        Some(Activity::Agent) | None => {
            "`warp state transition . EVENT --data JSON` reports what happened. Events of this phase:\n"
                .to_owned()
        }
    });
    for possible in &explanation.possible {
        let needs = if possible.needs.is_empty() {
            String::new()
        } else {
            format!(" (needs {})", possible.needs.join(", "))
        };
        add(format!("- {}{needs}\n", possible.event));
    }
    match workflow
        .phases
        .iter()
        .filter(|phase| phase.may.iter().any(|may| may == "git_commit"))
        .map(|phase| phase.name.as_str())
        .collect::<Vec<_>>()
    {
        phases if phases.is_empty() => add("Commits, pushes and merges are warp's.\n".to_owned()),
        phases => add(format!(
            "Commits are only allowed during {} phase; pushes and merges are warp's.\n",
            phases.join(" or ")
        )),
    }
    text.chars().take(LONGEST).collect()
}

fn reasoning(run: &Run) -> Option<&str> {
    run.settings.value("reasoning_budget")?.get(run.phase.as_str())?.as_str()
}
