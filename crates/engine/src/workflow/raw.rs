//! A workflow as it is written, before anything about it is checked.
//!
//! One that is built in is such a value from the start, made by the build script: it is read with every event, and parsing
//! it would take longer than all the rest that is done with it.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::{
    Act, Activity, EvidenceScope, Job, Limit, List, ReceiptKind, SemanticGate, StateFile, Subject, Text,
    Tool, Trips,
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkflow {
    pub(super) name: Text,
    pub(super) purpose: Text,
    pub(super) initial: Text,
    pub(super) initial_when: Option<RawInitialWhen>,
    #[serde(rename = "final")]
    pub(super) finals: List<Text>,
    #[serde(default)]
    pub(super) levels: List<u64>,
    pub(super) state_file: Option<StateFile>,
    #[serde(default = "about_an_issue")]
    pub(super) subject: Subject,
    pub(super) stop_event: Option<Text>,
    pub(super) close_event: Option<Text>,
    pub(super) deadline: Option<RawDeadline>,
    #[serde(default)]
    pub(super) phase_counters: List<Text>,
    #[serde(rename = "phase", default)]
    pub(super) phases: List<RawPhase>,
    #[serde(rename = "tick", default)]
    pub(super) ticks: List<RawTick>,
    #[serde(rename = "question", default)]
    pub(super) questions: List<RawQuestion>,
    #[serde(rename = "budget", default)]
    pub(super) budgets: List<RawBudget>,
    pub(super) deferral: Option<RawDeferral>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDeferral {
    pub(super) next: Text,
    pub(super) done: Text,
    pub(super) none: Text,
}

fn about_an_issue() -> Subject {
    Subject::Issue
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawInitialWhen {
    pub(super) setting: Text,
    pub(super) phase: Text,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDeadline {
    pub(super) minutes: Limit,
    pub(super) outcome: Text,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPhase {
    pub(super) name: Text,
    pub(super) purpose: Text,
    pub(super) activity: Activity,
    pub(super) does: Option<Job>,
    #[serde(default, deserialize_with = "pairs")]
    pub(super) says: List<(Text, Text)>,
    pub(super) question: Option<Text>,
    pub(super) role: Option<Text>,
    pub(super) label: Option<Text>,
    #[serde(default)]
    pub(super) may: List<Text>,
    pub(super) receipt: Option<ReceiptKind>,
    pub(super) artifact: Option<Text>,
    pub(super) deadline: Option<RawDeadline>,
    #[serde(default)]
    pub(super) on: List<RawRow>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRow {
    pub(super) event: Text,
    pub(super) to: Option<Text>,
    #[serde(default)]
    pub(super) to_origin: bool,
    pub(super) by: Option<RawBy>,
    pub(super) unless: Option<Text>,
    pub(super) gate: Option<SemanticGate>,
    pub(super) evidence: Option<EvidenceScope>,
    pub(super) tests: Option<RawTests>,
    #[serde(default)]
    pub(super) acts: List<Act>,
    #[serde(default)]
    pub(super) raises: List<Text>,
    #[serde(default)]
    pub(super) resets: List<Text>,
    #[serde(default)]
    pub(super) exempt: bool,
    pub(super) reason: Option<Text>,
    pub(super) status: Option<Text>,
    pub(super) answer: Option<Text>,
    pub(super) tool: Option<Tool>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawBy {
    Person,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawTests {
    Pass,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTick {
    pub(super) event: Text,
    #[serde(default)]
    pub(super) phases: List<Text>,
    pub(super) raises: List<Text>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawQuestion {
    pub(super) event: Text,
    pub(super) phase: Text,
    pub(super) text: Text,
    pub(super) approves: Text,
    pub(super) unless: Option<Text>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBudget {
    pub(super) reason: Text,
    pub(super) counter: Option<Text>,
    pub(super) measure: Option<RawMeasure>,
    pub(super) limit: Limit,
    #[serde(default = "above")]
    pub(super) trips: Trips,
    pub(super) enforcement: Option<Text>,
    #[serde(default)]
    pub(super) forced: bool,
    pub(super) outcomes: List<RawOutcome>,
}

fn above() -> Trips {
    Trips::Above
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawMeasure {
    PhaseMinutes,
    SessionMinutes,
    SameFailures,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOutcome {
    pub(super) phase: Option<Text>,
    pub(super) event: Option<Text>,
    pub(super) when: Option<Text>,
    pub(super) unless: Option<Text>,
    pub(super) redirect: Option<Text>,
    pub(super) follow: Option<Text>,
    #[serde(default)]
    pub(super) park: bool,
}

/// Reads a table of texts.
fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<List<(Text, Text)>, D::Error> {
    let pairs = BTreeMap::<Text, Text>::deserialize(deserializer)?;
    Ok(pairs.into_iter().collect())
}
