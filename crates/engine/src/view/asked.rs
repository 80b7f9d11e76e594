//! The question that a run has for a person, whether it is parked on one or stands in a phase that is theirs.

use serde::Serialize;

use crate::{Run, Standing, Time, Workflow, workflow::Activity};

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
    let about = match &run.trip {
        Some(trip) if trip.at == run.phase_started_at => {
            format!("{} in `{}`: ", trip.reasons.join(", "), trip.from_phase)
        }
        Some(_) | None => String::new(),
    };
    let question = phase.question.as_ref().unwrap_or(&phase.purpose);
    let words = run.phase_reason.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
    Some(Asked {
        id: format!("{}.{}", run.id, effect.id),
        question: format!("{about}{question}{words}"),
        options,
        deadline: run.deadline(workflow),
    })
}
