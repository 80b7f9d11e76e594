//! Effects: what has to be done in the world now, said whole, so that whoever does it needs no names.
//!
//! What a run's effect is follows from its workflow and from where it stands ([`Run::direct`]). It is worked out with every
//! record, live as in replay, and kept in the run. An outcome that names its effect and attempt counts only as long as neither
//! was replaced.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    PhaseName, Run, Standing, Time, WaitKind, Workflow, keys,
    workflow::{Activity, Answer, Job},
};

/// Work that has to be done in the world, by id; each try has a number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    pub id: String,
    pub attempt: u32,
    pub phase: PhaseName,
    #[serde(default, skip_serializing_if = "Act::is_nothing")]
    pub act: Act,
}

/// What is to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Nothing that warp can do: somebody says what has happened.
    #[default]
    Nothing,
    /// A program does it.
    Job(Job),
    /// An agent in a role works, and answers with what is asked for.
    Agent { role: Option<String>, asks: Answer },
    /// A person decides; with nobody there, one answer may count.
    Person { question: Option<String>, unattended: Option<String> },
    /// What ends by itself is waited for.
    Wait { on: WaitKind, until: Option<Time> },
}

impl Act {
    fn is_nothing(&self) -> bool {
        *self == Self::Nothing
    }
}

impl Effect {
    /// Adds to the data of an outcome which effect and attempt it is of.
    #[must_use]
    pub fn outcome(&self, mut data: Map<String, Value>) -> Map<String, Value> {
        data.insert("effect".to_owned(), json!(self.id));
        data.insert("attempt".to_owned(), json!(self.attempt));
        data
    }
}

impl Run {
    /// Returns what is to be done; nothing once the run is over.
    pub fn act(&self) -> &Act {
        self.effect.as_ref().map_or(&Act::Nothing, |effect| &effect.act)
    }

    /// Returns how hard an agent is to think where the run stands: as the settings say for the phase, else as the workflow does.
    pub fn effort<'a>(&'a self, workflow: &'a Workflow) -> Option<&'a str> {
        let set =
            self.settings.get(keys::REASONING_BUDGET).and_then(|efforts| efforts.get(self.phase.as_str()));
        set.and_then(Value::as_str).or_else(|| workflow.phase(&self.phase)?.effort.as_deref())
    }

    /// Works out what is to be done where the run stands.
    pub(crate) fn direct(&mut self, workflow: &Workflow) {
        if self.effect.is_none() {
            return;
        }
        let act = match &self.standing {
            Standing::Active => self.act_of_phase(workflow),
            Standing::Parked { decision } => {
                Act::Person { question: Some(decision.question.clone()), unattended: None }
            }
            Standing::Suspended { wait } => Act::Wait { on: wait.kind, until: wait.until },
            Standing::Stopped | Standing::Ended { .. } => Act::Nothing,
        };
        if let Some(effect) = &mut self.effect {
            effect.act = act;
        }
    }

    /// Returns what is to be done in the phase that the run is in, if nothing stands in the way.
    pub fn act_of_phase(&self, workflow: &Workflow) -> Act {
        let Some(phase) = workflow.phase(&self.phase) else { return Act::Nothing };
        let waits = |on: &WaitKind| *on != WaitKind::Checks || self.facts.issue.pull.awaited.is_some();
        if let Some(on) = phase.job.and_then(Job::awaits).filter(waits) {
            return Act::Wait { on, until: self.deadline(workflow) };
        }
        match phase.activity {
            Activity::Engine => phase.job.map_or(Act::Nothing, Act::Job),
            // The pull request comes first: the agent's promise stands on it.
            Activity::Agent if phase.job == Some(Job::OpenPullRequest) && !self.has_proved_pr() => {
                Act::Job(Job::OpenPullRequest)
            }
            Activity::Agent => Act::Agent { role: phase.role.clone(), asks: phase.answer },
            Activity::Person => {
                Act::Person { question: phase.question.clone(), unattended: phase.unattended.clone() }
            }
        }
    }
}
