//! A step in the making: changes are applied as they are decided, so that what is recorded and what is
//! computed can never differ.

use serde_json::Value;

use super::{Advice, Outcome, Step};
use crate::{
    Act, Actor, Ask, Change, Decision, Effect, EventName, Observations, PhaseName, Record, Run, Standing,
    Time, Workflow, workflow::Row,
};

pub(super) struct Draft<'a> {
    pub(super) workflow: &'a Workflow,
    pub(super) run: Run,
    pub(super) at: Time,
    /// What was looked up for the event that was asked.
    pub(super) seen: Observations,
    record: Record,
    records: Vec<Record>,
    effects: Vec<Effect>,
    advice: Vec<Advice>,
    outcome: Outcome,
}

impl<'a> Draft<'a> {
    pub(super) fn new(workflow: &'a Workflow, run: &Run, ask: &Ask) -> Self {
        let mut record = Record::new(ask.event.name(), ask.at, Some(run.phase.clone()), run.phase.clone());
        record.actor = ask.actor;
        record.data.clone_from(&ask.data);
        record.observations.clone_from(&ask.observations);
        Self {
            workflow,
            run: run.clone(),
            at: ask.at,
            seen: ask.observations.clone(),
            record,
            records: Vec::new(),
            effects: Vec::new(),
            advice: Vec::new(),
            outcome: Outcome::Noted,
        }
    }

    pub(super) fn change(&mut self, change: Change) {
        self.run.apply(&change, &self.record.event, self.at);
        self.record.changes.push(change);
    }

    /// Puts something down with the event, for whoever reads the log.
    pub(super) fn note(&mut self, field: &str, value: Value) {
        self.record.data.insert(field.to_owned(), value);
    }

    pub(super) fn advise(&mut self, advice: String) {
        self.advice.push(Advice(advice));
    }

    pub(super) fn advise_all(&mut self, advice: Vec<Advice>) {
        self.advice.extend(advice);
    }

    pub(super) fn is_redirected(&self) -> bool {
        matches!(self.outcome, Outcome::Redirected { .. })
    }

    pub(super) fn redirected(&mut self, reasons: Vec<String>) {
        self.outcome = Outcome::Redirected { reasons };
    }

    /// Raises and resets the counters that a row names.
    pub(super) fn count(&mut self, row: &Row) {
        for name in row.resets.iter() {
            self.set_counter(name, 0);
        }
        for name in row.raises.iter() {
            self.raise(name);
        }
    }

    pub(super) fn raise(&mut self, name: &str) {
        self.set_counter(name, self.run.counter(name).saturating_add(1));
    }

    pub(super) fn set_counter(&mut self, name: &str, value: u64) {
        if self.run.counter(name) != value {
            self.change(Change::CounterSet { name: name.to_owned(), value });
        }
    }

    /// Moves the run, starts the new phase's effect, and ends the run in a final phase.
    pub(super) fn enter(&mut self, to: &PhaseName, reason: Option<&str>) {
        let from = self.run.phase.clone();
        // A detour that leads back leads back to the same work, for the same reason.
        let keeps_reason = self.workflow.remembers_origin(to) || self.run.origin.as_ref() == Some(to);
        if from != *to {
            for name in self.workflow.phase_counters.iter() {
                self.set_counter(name, 0);
            }
        }
        self.change(Change::Moved { to: to.clone() });
        if self.workflow.remembers_origin(to) {
            self.change(Change::OriginSet { phase: Some(from) });
        } else if self.run.origin.is_some() {
            self.change(Change::OriginSet { phase: None });
        }
        let reason = match reason {
            None if keeps_reason => self.run.phase_reason.clone(),
            reason => reason.map(str::to_owned),
        };
        if self.run.phase_reason != reason {
            self.change(Change::ReasonSet { reason });
        }
        let ends = self.workflow.ends_in(to);
        let id = format!("e{}", self.run.events);
        let effect = (!ends).then(|| Effect { id, attempt: 1, phase: to.clone(), act: Act::Nothing });
        self.change(Change::EffectSet { effect: effect.clone() });
        self.effects = effect.into_iter().collect();
        if ends {
            self.change(Change::StandingSet { standing: Standing::Ended { how: to.to_string() } });
        }
        if !self.is_redirected() {
            self.outcome = Outcome::Moved;
        }
    }

    /// Parks the run on a decision.
    pub(super) fn park(&mut self, reason: &str, question: String, options: &[&str]) {
        let id = format!("{}.{}", self.run.id, self.run.events);
        let decision = Decision {
            id,
            question,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
            reason: reason.to_owned(),
            asked_at: self.at,
            deadline: None,
            capped: None,
        };
        self.park_on(decision);
    }

    /// Parks the run on a question that somebody asked, until a time.
    pub(super) fn park_until(
        &mut self,
        reason: &str,
        question: String,
        options: Vec<String>,
        deadline: Option<Time>,
    ) {
        let id = format!("{}.{}", self.run.id, self.run.events);
        let (reason, asked_at) = (reason.to_owned(), self.at);
        self.park_on(Decision { id, question, options, reason, asked_at, deadline, capped: None });
    }

    pub(super) fn park_on(&mut self, decision: Decision) {
        self.outcome = Outcome::Parked { decision: decision.id.clone() };
        self.change(Change::StandingSet { standing: Standing::Parked { decision } });
    }

    /// Closes the current record and opens one for an event that follows by itself.
    pub(super) fn next_record(&mut self, event: &EventName) {
        let mut next =
            Record::new(event.clone(), self.at, Some(self.run.phase.clone()), self.run.phase.clone());
        next.actor = Actor::Engine;
        let mut done = std::mem::replace(&mut self.record, next);
        done.phase = self.run.phase.clone();
        self.run.learn(self.workflow, &done);
        self.run.close_record(self.at);
        self.records.push(done);
    }

    pub(super) fn finish(mut self) -> Step {
        self.record.phase = self.run.phase.clone();
        self.run.learn(self.workflow, &self.record);
        self.run.close_record(self.at);
        self.records.push(self.record);
        // What the new effect is to do is known once all of it is decided.
        if !self.effects.is_empty() {
            self.effects = self.run.effect.clone().into_iter().collect();
        }
        Step {
            run: self.run,
            records: self.records,
            effects: self.effects,
            advice: self.advice,
            outcome: self.outcome,
        }
    }
}
