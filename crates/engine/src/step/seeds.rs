//! Seed data: tables that a change makes and no seed file fills.
//!
//! An agent is told once in a chunk, while it can still add some; handed in again, its work is taken as it is. A person is
//! told and believed.

use super::Refused;
use crate::{
    Actor, Ask, Observations, Probe, Run, Seen, keys,
    workflow::{Row, SemanticGate},
};

/// Names the look at tables, where a row takes in a change.
pub(super) fn probe(run: &Run, row: &Row) -> Option<Probe> {
    let looks = row.gate == Some(SemanticGate::DiffRelevanceCheck) && run.settings.get(keys::DEV_SEED_CHECK);
    looks.then(|| Probe::Seeds { base: run.chunk.base.clone() })
}

/// Refuses an agent's work the first time that seed data is missing; returns advice for everybody else.
pub(super) fn check(run: &Run, row: &Row, ask: &Ask) -> Result<Option<String>, Refused> {
    let Some(reason) = missing(&ask.observations) else { return Ok(None) };
    match ask.actor {
        Actor::Agent if run.facts.chunk.was_told_of_seeds => Ok(None),
        Actor::Agent => Err(Refused::Once {
            phase: run.phase.clone(),
            event: row.event.clone(),
            // The gate goes by its setting.
            gate: keys::DEV_SEED_CHECK.name().to_owned(),
            reason,
        }),
        Actor::Person | Actor::Engine => Ok(Some(reason)),
    }
}

/// Says which tables no seed data fills.
pub(crate) fn missing(observations: &Observations) -> Option<String> {
    let Some(Seen::Value(tables)) = &observations.unseeded else { return None };
    (!tables.is_empty())
        .then(|| format!("no seed data for {}: add some in the same commit", tables.join(", ")))
}
