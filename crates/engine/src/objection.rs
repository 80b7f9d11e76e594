//! What advisory checks say against the work, and a person's decision to accept it all the same.
//!
//! A check that only advises adds an [`Objection`] and lets the event pass. One that is enforced refuses the event; when the
//! agent's retries do not help, the refused event is kept ([`RefusedEvent`]) while a person is asked. An accepted objection
//! holds for its check and its event until the chunk ends.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Actor, EventName, Run, Time};

/// The answer by which a person accepts what an advisory check refuses.
pub const ACCEPT: &str = "accept";

/// What an advisory check said against the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// The check's name.
    pub gate: String,
    pub event: EventName,
    pub reason: String,
    /// The chunk that it is about, from 1; 0 before there are any.
    pub chunk: u64,
    pub at: Time,
    /// The person who accepted it; none where the check only advises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_by: Option<String>,
    /// What that person said about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// An event that an advisory check has refused, while a person is asked about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedEvent {
    pub event: EventName,
    pub gate: String,
    pub reason: String,
    /// Who offered the event, and what came with it.
    pub actor: Actor,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
}

impl Objection {
    /// Tells whether it is of that check, about that event, in that chunk.
    pub(crate) fn is_of(&self, gate: &str, event: &EventName, chunk: u64) -> bool {
        self.gate == gate && self.event == *event && self.chunk == chunk
    }
}

impl std::fmt::Display for Objection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(who) = &self.accepted_by {
            write!(f, "accepted by {who}: ")?;
        }
        write!(f, "{}: {}", self.gate, self.reason)?;
        match &self.note {
            Some(note) => write!(f, " ({note})"),
            None => Ok(()),
        }
    }
}

impl Run {
    /// Returns a person's decision to accept what this check says against an event in the current chunk.
    pub fn accepted(&self, gate: &str, event: &EventName) -> Option<&Objection> {
        let is_it = |objection: &&Objection| objection.is_of(gate, event, self.chunk.index);
        self.objections.iter().rev().filter(is_it).find(|objection| objection.accepted_by.is_some())
    }

    /// Returns what advisory checks said against the current chunk, or before there were any.
    pub fn objections_here(&self) -> impl Iterator<Item = &Objection> {
        self.objections.iter().filter(|objection| [0, self.chunk.index].contains(&objection.chunk))
    }
}
