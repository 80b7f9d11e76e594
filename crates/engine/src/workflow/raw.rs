//! A workflow as it is written, before anything about it is checked.
//!
//! One type for both: a project's own is read from TOML, one that is built in from the JSON that the build script has made
//! of its TOML, because it is read with every event.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    Act, Activity, Answer, EvidenceScope, Job, ReceiptKind, SemanticGate, StateFile, Subject, Tool, Trips,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorkflow {
    pub(super) name: String,
    pub(super) purpose: String,
    pub(super) initial: String,
    pub(super) initial_when: Option<RawPhaseWhen>,
    #[serde(rename = "final")]
    pub(super) finals: Vec<String>,
    #[serde(default)]
    pub(super) levels: Vec<u64>,
    pub(super) state_file: Option<StateFile>,
    #[serde(default = "about_an_issue")]
    pub(super) subject: Subject,
    pub(super) stop_event: Option<String>,
    pub(super) close_event: Option<String>,
    pub(super) turn_event: Option<String>,
    pub(super) crash_event: Option<String>,
    #[serde(default)]
    pub(super) hands_in: bool,
    #[serde(default)]
    pub(super) retries_until_budget: bool,
    #[serde(default)]
    pub(super) measures_usage: bool,
    pub(super) progress_file: Option<String>,
    pub(super) deadline: Option<RawDeadline>,
    #[serde(default)]
    pub(super) phase_counters: Vec<String>,
    #[serde(rename = "phase", default)]
    pub(super) phases: Vec<RawPhase>,
    #[serde(rename = "tick", default)]
    pub(super) ticks: Vec<RawTick>,
    #[serde(rename = "question", default)]
    pub(super) questions: Vec<RawQuestion>,
    #[serde(rename = "budget", default)]
    pub(super) budgets: Vec<RawBudget>,
    pub(super) deferral: Option<RawDeferral>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDeferral {
    pub(super) next: String,
    pub(super) done: String,
    pub(super) none: String,
}

fn about_an_issue() -> Subject {
    Subject::Issue
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPhaseWhen {
    pub(super) setting: String,
    pub(super) phase: String,
}

/// A number, or the name of the setting that holds it.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum RawLimit {
    Setting(String),
    Number(u32),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDeadline {
    pub(super) minutes: RawLimit,
    pub(super) outcome: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPhase {
    pub(super) name: String,
    pub(super) purpose: String,
    pub(super) activity: Activity,
    pub(super) does: Option<Job>,
    #[serde(default)]
    pub(super) says: BTreeMap<String, String>,
    pub(super) question: Option<String>,
    pub(super) unattended: Option<String>,
    #[serde(default)]
    pub(super) answer: Answer,
    pub(super) role: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) label: Option<String>,
    #[serde(default)]
    pub(super) may: Vec<String>,
    pub(super) receipt: Option<ReceiptKind>,
    pub(super) artifact: Option<String>,
    #[serde(default)]
    pub(super) fails: bool,
    pub(super) deadline: Option<RawDeadline>,
    #[serde(default)]
    pub(super) on: Vec<RawRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRow {
    pub(super) event: String,
    pub(super) to: Option<String>,
    #[serde(default)]
    pub(super) to_origin: bool,
    pub(super) to_when: Option<RawPhaseWhen>,
    pub(super) by: Option<RawBy>,
    pub(super) unless: Option<String>,
    pub(super) gate: Option<SemanticGate>,
    pub(super) evidence: Option<EvidenceScope>,
    pub(super) tests: Option<RawTests>,
    #[serde(default)]
    pub(super) acts: Vec<Act>,
    #[serde(default)]
    pub(super) raises: Vec<String>,
    #[serde(default)]
    pub(super) resets: Vec<String>,
    #[serde(default)]
    pub(super) exempt: bool,
    #[serde(default)]
    pub(super) aborts: bool,
    pub(super) reason: Option<String>,
    pub(super) status: Option<String>,
    pub(super) answer: Option<String>,
    pub(super) tool: Option<Tool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawBy {
    Person,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawTests {
    Pass,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTick {
    pub(super) event: String,
    #[serde(default)]
    pub(super) phases: Vec<String>,
    pub(super) raises: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawQuestion {
    pub(super) event: Option<String>,
    pub(super) phase: String,
    pub(super) text: String,
    pub(super) approves: String,
    pub(super) tool: Option<Tool>,
    pub(super) when: Option<String>,
    pub(super) unless: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawBudget {
    pub(super) reason: String,
    pub(super) counter: Option<String>,
    pub(super) measure: Option<RawMeasure>,
    pub(super) limit: RawLimit,
    #[serde(default = "above")]
    pub(super) trips: Trips,
    pub(super) enforcement: Option<String>,
    #[serde(default)]
    pub(super) forced: bool,
    pub(super) question: Option<String>,
    pub(super) outcomes: Vec<RawOutcome>,
}

fn above() -> Trips {
    Trips::Above
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawMeasure {
    PhaseMinutes,
    SessionMinutes,
    SameFailures,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawOutcome {
    pub(super) phase: Option<String>,
    pub(super) event: Option<String>,
    pub(super) when: Option<String>,
    pub(super) unless: Option<String>,
    pub(super) redirect: Option<String>,
    pub(super) follow: Option<String>,
    #[serde(default)]
    pub(super) park: bool,
}
