//! What an agent's session is told about the run in its workspace: where it stands, and how it says what has happened.

use std::fmt::Write as _;

use super::{Owned, explain, progress::one_line};
use crate::{
    Act, Run, Standing, Time, Workflow,
    workflow::{Activity, Job},
};

/// The most that is said of a feature, an issue or a question.
const LONGEST_FIELD: usize = 250;
/// The most that is said of what one event needs.
const LONGEST_NEED: usize = 300;

/// Returns where a run stands.
pub fn standing(workflow: &Workflow, run: &Run, owner: Owned, now: Time) -> String {
    if let Standing::Ended { how } = &run.standing {
        return format!(
            "The {} run of this project is over ({how}). Nothing is left to do in it.\n",
            run.workflow
        );
    }
    let mut text = format!("{} {} run is under way in this project", article(&run.workflow), run.workflow);
    let mut add = |part: String| text.write_str(&part).expect("writing to a string cannot fail");
    if let Some(issue) = &run.issue {
        add(format!(", for issue {}", short(issue, LONGEST_FIELD)));
    }
    if let Some(feature) = &run.feature {
        add(format!(", for the feature: {}", short(feature, LONGEST_FIELD)));
    }
    add(format!(".\nIt stands in phase `{}`: {}", run.phase, explain(workflow, run, now).purpose));
    add(match run.chunk.acs.len() {
        0 => ".\n".to_owned(),
        count => format!(", chunk {} of {count}.\n", run.chunk.index),
    });
    if owner == Owned::Stale {
        add("The process that began it has exited; the run resumes here.\n".to_owned());
    }
    if run.aborted && workflow.phase(&run.phase).is_some_and(|phase| phase.job == Some(Job::CleanUp)) {
        add("It was aborted. What is left is to save uncommitted work and to file the abort report.\n"
            .to_owned());
    }
    if let Standing::Parked { decision } = &run.standing {
        add(format!("It waits for a person's decision: {}\n", short(&decision.question, LONGEST_FIELD)));
    }
    if run.committed && !run.report_filed {
        add("A commit was made and its chunk report is not filed yet.\n".to_owned());
    }
    if let Some(level) = run.effort(workflow) {
        add(format!("Reasoning budget of this phase: {level}.\n"));
    }
    text
}

/// Returns how a session says what has happened in the phase that a run is in.
pub fn reports(workflow: &Workflow, run: &Run, now: Time) -> String {
    let act = run.act_of_phase(workflow);
    let is_agents = matches!(act, Act::Agent { .. });
    let mut text = match (act, workflow.phase(&run.phase).map(|phase| phase.activity)) {
        (Act::Job(_), _) | (_, Some(Activity::Engine)) => {
            "`warp next` does the work of this phase. What can come of it:\n"
        }
        (_, Some(Activity::Person)) => "A person decides here. What can happen next:\n",
        (_, Some(Activity::Agent) | None) => {
            "`warp state transition . EVENT --data JSON` reports what happened. Events of this phase:\n"
        }
    }
    .to_owned();
    for possible in explain(workflow, run, now).possible {
        let row = workflow.row(&run.phase, possible.event.as_str());
        if is_agents && row.is_some_and(|row| row.needs_person(&run.settings)) {
            // A person's word is not the session's to give.
            continue;
        }
        let needs = if possible.needs.is_empty() {
            String::new()
        } else {
            format!(" (needs {})", short(&possible.needs.join(", "), LONGEST_NEED))
        };
        writeln!(text, "- {}{needs}", possible.event).expect("writing to a string cannot fail");
    }
    text
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']) { "An" } else { "A" }
}

/// Cuts a text that would leave no room for the rest.
fn short(text: &str, most: usize) -> String {
    let text = one_line(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
