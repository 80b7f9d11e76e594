//! The end of a loop: a promise is believed when everything it stands on still stands.

use serde_json::{Map, Value};

use super::{
    Refused, Step,
    acceptance::{self, Frozen},
    acts,
    draft::Draft,
    receipts,
};
use crate::{Actor, Ask, Change, Probe, Run, Standing, Workflow};

/// The gate's name in refusals.
const GATE: &str = "promise";
/// Why a run is parked whose phases were left by force, or were never shown.
pub(super) const FORCED: &str = "forced_receipts";
/// Why a run is parked whose pull request is an agent's word alone.
pub(super) const UNPROVED: &str = "unproved_pull_request";
/// The answer that ends it all the same.
pub(super) const ACCEPT: &str = "accept";

/// Names what has to be looked up before a run may end: all that its receipts name.
pub(super) fn probes(workflow: &Workflow, run: &Run) -> Vec<Probe> {
    let required = receipts::required(workflow, run);
    let mut probes: Vec<Probe> = Vec::new();
    for claim in required.into_iter().filter_map(|(_, receipt)| receipts::claim_of(receipt?)) {
        let probe = Probe::Receipt(claim);
        if !probes.contains(&probe) {
            probes.push(probe);
        }
    }
    probes.extend(acceptance::frozen_probes(workflow, run));
    probes
}

/// Ends a run whose final phase still had work to do, if what it stands on can be shown.
///
/// Warp itself ends it only if nothing is missing or in doubt. A person is told what is missing and believed. An agent is refused, or, where all that is wrong is that
/// phases were left by force, show nothing or have no receipt, or that nobody else has seen the pull request, a person is asked.
pub(super) fn close(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Step, Refused> {
    let artifacts = acts::artifacts(run, ask)?;
    let mut missing = Vec::new();
    // What an agent cannot mend, a person has to accept.
    let mut doubts: Vec<String> = Vec::new();
    let mut advice = Vec::new();
    let no_link = artifacts.pr_url.as_deref().is_none_or(|url| url.trim().is_empty());
    if no_link {
        missing.push("`pr_url` is not set".to_owned());
    }
    for (phase, receipt) in receipts::required(workflow, run) {
        match receipt {
            None => doubts.push(format!("`{phase}` has no receipt")),
            Some(receipt) if receipt.forced => doubts.push(format!("`{phase}` was left by force")),
            Some(receipt) => match receipts::judge_again(receipt, ask) {
                Ok(word) => advice.extend(word),
                Err(problem) => missing.push(format!("receipt of `{phase}`: {problem}")),
            },
        }
    }
    doubts.extend(run.shown_nothing().into_iter().map(|phase| format!("nothing was shown in `{phase}`")));
    match acceptance::judge_frozen(workflow, run, ask) {
        Ok(Frozen::WithPlan) => {
            doubts.push(
                "the acceptance tests were changed with the plan, and nobody has looked at them".to_owned(),
            );
        }
        Ok(Frozen::Same) => {}
        Err(problem) => missing.push(problem),
    }
    let is_agent = ask.actor == Actor::Agent;
    let is_refused = match ask.actor {
        Actor::Person => false,
        Actor::Agent => !missing.is_empty(),
        Actor::Engine => !missing.is_empty() || !doubts.is_empty() || !run.has_proved_pr(),
    };
    if no_link || is_refused {
        missing.extend(doubts);
        let example = if no_link { "; send it along as --data '{\"pr_url\":\"https://…\"}'" } else { "" };
        return Err(Refused::Gate {
            phase: run.phase.clone(),
            event: ask.event.name(),
            gate: GATE.to_owned(),
            reason: format!("{}{example}", missing.join("; ")),
        });
    }
    let mut draft = Draft::new(workflow, run, ask);
    advice.dedup();
    draft.advise_all(advice);
    for problem in missing {
        draft.advise(format!("ended all the same: {problem}"));
    }
    acts::keep_artifacts(&mut draft, artifacts, ask);
    let mut questions = Vec::new();
    if !doubts.is_empty() {
        questions.push(format!("{}. Is the work done all the same?", doubts.join(", ")));
    }
    if !draft.run.has_proved_pr() {
        let url = draft.run.artifacts.pr_url.clone().unwrap_or_default();
        questions.push(format!("The agent says so: is {url} the pull request?"));
    }
    if is_agent && !questions.is_empty() {
        let reason = if doubts.is_empty() { UNPROVED } else { FORCED };
        draft.park(reason, questions.join(" "), &[ACCEPT, "continue", "stop"]);
        return Ok(draft.finish());
    }
    end(&mut draft, ask.event.name().as_str());
    Ok(draft.finish())
}

/// Ends the run.
pub(super) fn end(draft: &mut Draft<'_>, how: &str) {
    draft.change(Change::EffectSet { effect: None });
    draft.change(Change::StandingSet { standing: Standing::Ended { how: how.to_owned() } });
}

/// Takes a note: artifacts, a checkpoint, an error. Nothing moves.
pub(super) fn noted(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Step, Refused> {
    let artifacts = acts::artifacts(run, ask)?;
    let (checkpoint, error) = (checkpoint_fields(&ask.data)?, acts::text(&ask.data, "error")?);
    let checkpoint = acts::checkpoint(run, checkpoint, ask.at)?;
    if artifacts == run.artifacts && checkpoint.is_none() && error.is_none() && !names_artifact(&ask.data) {
        let known = crate::Artifacts::FIELDS.join(", ");
        return Err(Refused::data(
            "data",
            format!("has nothing to note; wanted are {known}, checkpoint or error"),
        ));
    }
    let mut draft = Draft::new(workflow, run, ask);
    acts::keep_artifacts(&mut draft, artifacts, ask);
    if let Some(checkpoint) = checkpoint {
        acts::add_checkpoint(&mut draft, checkpoint);
    }
    if let Some(message) = error {
        acts::add_error(&mut draft, message);
    }
    Ok(draft.finish())
}

fn names_artifact(data: &Map<String, Value>) -> bool {
    data.contains_key("artifacts") || crate::Artifacts::FIELDS.iter().any(|field| data.contains_key(*field))
}

/// A checkpoint may be given as a table, or by its fields.
fn checkpoint_fields(data: &Map<String, Value>) -> Result<&Map<String, Value>, Refused> {
    match data.get("checkpoint") {
        None | Some(Value::Null) => Ok(data),
        Some(Value::Object(fields)) => Ok(fields),
        Some(_) => Err(Refused::data("checkpoint", "must be a table with `summary` and `failed_approaches`")),
    }
}
