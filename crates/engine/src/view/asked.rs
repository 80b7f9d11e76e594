//! The question that a run has for a person, whether it is parked on one or stands in a phase that is theirs.

use serde::Serialize;

use super::explain;
use crate::{
    Run, Standing, Time, Workflow,
    workflow::{Activity, Budget},
};

/// A question that `warp answer` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Asked {
    pub id: String,
    pub question: String,
    pub options: Vec<String>,
    /// When it is too late, where something happens then.
    pub deadline: Option<Time>,
}

/// Returns what the run asks a person; nothing if it waits for nobody.
pub fn asked(workflow: &Workflow, run: &Run) -> Option<Asked> {
    match &run.standing {
        Standing::Parked { decision } => Some(Asked {
            id: decision.id.clone(),
            question: decision.question.clone(),
            options: decision.options.clone(),
            deadline: decision.deadline,
        }),
        Standing::Active => of_phase(workflow, run),
        Standing::Suspended { .. } | Standing::Stopped | Standing::Ended { .. } => None,
    }
}

fn of_phase(workflow: &Workflow, run: &Run) -> Option<Asked> {
    let phase = workflow.phase(&run.phase).filter(|phase| phase.activity == Activity::Person)?;
    let options: Vec<String> =
        phase.rows.iter().filter_map(|row| row.answer.as_deref()).map(str::to_owned).collect();
    if options.is_empty() {
        return None;
    }
    let effect = run.effect.as_ref()?;
    let trip = run.trip.as_ref().filter(|trip| trip.at == run.phase_started_at);
    let tripped = trip.and_then(|trip| {
        let budget = workflow.budgets.iter().find(|budget| trip.reasons.contains(&budget.reason))?;
        let used = budget.used(run, explain::entered(run, trip), trip.at);
        let otherwise = phase.question.as_deref().unwrap_or(Budget::CONTINUE);
        Some(budget.question(run, &trip.from_phase, used, otherwise))
    });
    let question = tripped.unwrap_or_else(|| phase.question.as_ref().unwrap_or(&phase.purpose).clone());
    let words = run.phase_reason.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    Some(Asked {
        id: format!("{}.{}", run.id, effect.id),
        question: format!("{question}{words}"),
        options,
        deadline: run.deadline(workflow),
    })
}
