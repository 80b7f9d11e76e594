//! What an agent's session is told about the run in its workspace: facts, not orders.

use std::fmt::Write as _;

use super::{Owned, explain, progress::one_line};
use crate::{
    Run, Standing, Time, Workflow,
    workflow::{Activity, Job},
};

/// The most that is said, in characters. A client takes less than 10,000, and the phase's own text may have 6,000.
const LONGEST: usize = 3_800;
/// The most that is said of a feature, an issue, a criterion or a question.
const LONGEST_FIELD: usize = 250;
/// The most that is said of what one event needs.
const LONGEST_NEED: usize = 300;
/// How many criteria of a chunk are told whole.
const CRITERIA_SHOWN: usize = 5;
/// How many failed approaches and checkpoints are told, and the most that is said of one.
const TRIED_SHOWN: usize = 5;
const CHECKPOINTS_SHOWN: usize = 3;
const LONGEST_BEHIND: usize = 160;

/// Returns the context for a new session in a run's workspace.
pub fn inject(workflow: &Workflow, run: &Run, owner: Owned, now: Time) -> String {
    let explanation = explain(workflow, run, now);
    if let Standing::Ended { how } = &run.standing {
        return format!(
            "The {} run of this project is over ({how}). Nothing is left to do in it.\n",
            run.workflow
        );
    }
    let mut text = format!("A {} run is under way in this project", run.workflow);
    let mut add = |part: String| text.write_str(&part).expect("writing to a string cannot fail");
    if let Some(issue) = &run.issue {
        add(format!(", for issue {}", short(issue, LONGEST_FIELD)));
    }
    if let Some(feature) = &run.feature {
        add(format!(", for the feature: {}", short(feature, LONGEST_FIELD)));
    }
    add(format!(".\nIt stands in phase `{}`: {}.\n", run.phase, explanation.purpose));
    if owner == Owned::Stale {
        add("The process that began it has ended (stale); the run resumes here.\n".to_owned());
    }
    if run.aborted && workflow.phase(&run.phase).is_some_and(|phase| phase.job == Some(Job::CleanUp)) {
        add("It was aborted. What is left is to save uncommitted work and to file the abort report.\n"
            .to_owned());
    }
    if let Standing::Parked { decision } = &run.standing {
        add(format!("It waits for a person's decision: {}\n", short(&decision.question, LONGEST_FIELD)));
    }
    if !run.chunk.acs.is_empty() {
        add(format!("Chunk {} of {}:\n", run.chunk.index, run.chunk.acs.len()));
        let criteria = run.current_criteria();
        for criterion in criteria.iter().take(CRITERIA_SHOWN) {
            let text = run.criterion_text(criterion);
            let text = if text == criterion { String::new() } else { format!(": {text}") };
            add(format!("- {}\n", short(&format!("{criterion}{text}"), LONGEST_FIELD)));
        }
        if criteria.len() > CRITERIA_SHOWN {
            add(format!("- and {} more: `warp status` tells them\n", criteria.len() - CRITERIA_SHOWN));
        }
    }
    for line in behind(run) {
        add(line);
    }
    if run.committed && !run.report_filed {
        add("A commit was made and its chunk report is not filed yet.\n".to_owned());
    }
    if let Some(level) = run.effort(workflow) {
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
            format!(" (needs {})", short(&possible.needs.join(", "), LONGEST_NEED))
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

/// Says what is behind a run and a conversation may have forgotten: the plan, what failed, checkpoints; a line each.
fn behind(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    let of = |name: &str| run.artifacts.entry(name).map(|path| short(path, LONGEST_FIELD));
    lines.extend(of("plan_file").map(|path| format!("The plan is in {path}.\n")));
    lines.extend(of("progress_file").map(|path| format!("What was tried is in {path}.\n")));
    let tried = run.checkpoints.iter().rev().flat_map(|checkpoint| &checkpoint.failed_approaches);
    let tried = tried.take(TRIED_SHOWN).map(|tried| short(tried, LONGEST_BEHIND));
    let checkpoints = run.checkpoints.iter().rev().take(CHECKPOINTS_SHOWN);
    let checkpoints = checkpoints
        .map(|checkpoint| short(&format!("{}: {}", checkpoint.phase, checkpoint.summary), LONGEST_BEHIND));
    let mut list = |title: &str, entries: Vec<String>| {
        if !entries.is_empty() {
            lines.push(format!("{title}\n"));
            lines.extend(entries.into_iter().map(|entry| format!("- {entry}\n")));
        }
    };
    list("Approaches that failed; another is wanted:", tried.collect());
    list("Checkpoints, the newest first:", checkpoints.collect());
    lines
}

/// Cuts a text that would leave no room for the rest.
fn short(text: &str, most: usize) -> String {
    let text = one_line(text);
    if text.chars().count() <= most {
        return text;
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
