//! Doing the work of the phase that a run is in, if a program can do it, and reporting what came of it.

use std::collections::BTreeSet;

use adapters::process::Control;
use engine::{
    Act, Actor, Event, Refused, Run, Standing, VERIFICATION_GATES, WaitKind, keys,
    workflow::{Answer as Asks, Job, JobOutcome},
};
use project::{Answer, AskError, Current, Dirs, Overdue, Place, Shell, spelled};
use serde_json::{Map, Value};

use crate::{
    Context, JobError, Outcome, await_checks, await_dependencies, await_review,
    job::{self, Report, Says, Task},
};

/// The field of an outcome that was found to be done.
const SETTLED: &str = "settled";

/// The outcomes of a phase that send its work back to the agent with what failed.
const FAILURES: &[JobOutcome] = &[JobOutcome::TestsFailed, JobOutcome::DriftBlocked];
/// How a shell says that a command is not there or cannot be run.
const NOT_RUN: &[&str] = &["(exit 126)", "(exit 127)"];

/// How long a call begins another phase, in minutes. Clients end a command that takes longer than two, and one phase may run
/// all of a project's tests.
const LONGEST_CALL: u64 = 1;

/// What a person or an agent may add.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The commit's message, in the phase that commits.
    pub message: Option<String>,
    /// Whether to stop after one phase.
    pub is_single: bool,
}

/// What was done.
#[derive(Debug)]
pub struct Done {
    /// The phases that were gone through, the oldest first.
    pub steps: Vec<Stepped>,
    /// What comes next: facts for whoever works on the phase that the run is in now. Where a phase failed after others were
    /// gone through, why.
    pub next: Result<String, JobError>,
}

/// What was done in one phase.
#[derive(Debug)]
pub struct Stepped {
    /// What happened, a line each.
    pub said: Vec<String>,
    /// The event that was reported, if the phase was mechanical.
    pub taken: Option<Answer>,
}

impl Done {
    /// Returns the last event that was reported.
    pub fn taken(&self) -> Option<&Answer> {
        self.steps.iter().rev().find_map(|step| step.taken.as_ref())
    }
}

impl Context<'_> {
    /// Does the work of the current phase and of those after it, until one is an agent's or a person's, and says what comes
    /// next. A question that nobody has answered in time is put off first.
    ///
    /// No phase comes twice in a call: one that leads back to itself has failed, and whoever called decides when it is tried
    /// again.
    pub fn next(&mut self, wanted: &Wanted) -> Result<Done, JobError> {
        let began = self.dirs.clock.now();
        let mut steps: Vec<Stepped> = Vec::new();
        let mut passed = BTreeSet::new();
        let mut current = self.current()?.ok_or(AskError::NoRun)?;
        if let Some(Overdue::PutOff { why, answer }) = self.put_off()? {
            current = answer.current.clone();
            steps.push(Stepped { said: vec![why], taken: Some(*answer) });
        }
        loop {
            let is_late = self.dirs.clock.now().minutes_since(began) >= LONGEST_CALL;
            let is_enough = wanted.is_single || is_late || passed.contains(&current.run.phase);
            if !steps.is_empty() && (is_enough || !is_mechanical(&current.run)) {
                return Ok(Done { steps, next: Ok(self.told(&current)) });
            }
            passed.insert(current.run.phase.clone());
            let (said, taken) = match self.step(wanted) {
                Ok(done) => done,
                Err(error) if steps.is_empty() => return Err(error),
                Err(error) => return Ok(Done { steps, next: Err(error) }),
            };
            let Some(answer) = taken else {
                steps.push(Stepped { said, taken: None });
                return Ok(Done { steps, next: Ok(self.told(&current)) });
            };
            // Once the run is over, it is not the workspace's any more.
            current = answer.current.clone();
            steps.push(Stepped { said, taken: Some(answer) });
            let merged = self.merge_kept(&current);
            if !merged.is_empty() {
                steps.push(Stepped { said: merged, taken: None });
            }
        }
    }

    /// Returns what comes next, as far as whoever called was not told it before.
    fn told(&mut self, current: &Current) -> String {
        let caller = project::actor(&self.place.root);
        self.news(current, caller)
    }

    fn step(&mut self, wanted: &Wanted) -> Result<(Vec<String>, Option<Answer>), JobError> {
        match self.advance(wanted) {
            Err(JobError::Dev(problem)) => self.ask_about_dev(problem),
            done => done,
        }
    }

    /// Does the work of the current phase if a program can do it; returns what happened and what was reported. Where the phase
    /// only waits, and what it waits for has not happened, that is said.
    pub fn advance(&mut self, wanted: &Wanted) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let current = self.current()?.ok_or(AskError::NoRun)?;
        let is_open = current.run.standing == Standing::Active;
        let task = Task { current: &current, message: wanted.message.as_deref() };
        let job = match *current.run.act() {
            Act::Job(job) if is_open => job,
            Act::Wait { on: WaitKind::Dependencies, .. } if is_open => {
                return match await_dependencies::settle(self, task)? {
                    Some(outcome) => self.report(&current, Outcome::AwaitDependencies(outcome), false),
                    None => Ok((vec![await_dependencies::waits(self, &current.run)?], None)),
                };
            }
            Act::Wait { on: WaitKind::Checks, .. } if is_open => {
                return match await_checks::settle(self, task)? {
                    Some(outcome) => self.report(&current, Outcome::AwaitChecks(outcome), false),
                    None => Ok((await_checks::waits(&current.run), None)),
                };
            }
            Act::Wait { on: WaitKind::Review, .. } if is_open => {
                return match await_review::settle(self, task)? {
                    Some(outcome) => self.report(&current, Outcome::AwaitReview(outcome), false),
                    None => Ok((vec![await_review::waits(self, &current.run)?], None)),
                };
            }
            Act::Agent { asks: Asks::Promise, .. } if is_open => return self.keep_promise(&current),
            Act::Nothing | Act::Job(_) | Act::Agent { .. } | Act::Person { .. } | Act::Wait { .. } => {
                return Ok((Vec::new(), None));
            }
        };
        let (mut said, taken) = match self.settle_or_carry_out(job, task) {
            Err(JobError::Held(held)) => return self.ask_about_held(&current, &held),
            Err(error) => return Err(error),
            Ok((outcome, is_settled)) => self.report(&current, outcome, is_settled)?,
        };
        let answer = match taken {
            Some(answer) if job == Job::OpenPullRequest => answer,
            taken => return Ok((said, taken)),
        };
        let (more, kept) = self.keep_promise(&answer.current)?;
        said.extend(more);
        Ok((said, kept.or(Some(answer))))
    }

    /// Gives the promise that ends a loop, if it is kept: the pull request is known, everything is committed and every receipt
    /// still holds. Otherwise nothing happens, and an agent is asked.
    pub fn keep_promise(&mut self, current: &Current) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let run = &current.run;
        let close = current.workflow.close_event.as_ref().filter(|_| current.workflow.is_final(&run.phase));
        let is_open = run.standing == Standing::Active && run.has_proved_pr();
        let Some(close) = close.filter(|_| is_open) else { return Ok((Vec::new(), None)) };
        if !self.changed_files(run)?.is_empty() {
            return Ok((Vec::new(), None));
        }
        let outcome = outcome_of(current, Map::new());
        match self.ask_as(Actor::Engine, Event::Named(close.clone()), outcome) {
            Ok(answer) => {
                let promise = run.settings.get(keys::COMPLETION_PROMISE);
                let said = format!("every receipt holds: <promise>{promise}</promise>");
                Ok((vec![said], Some(answer)))
            }
            Err(AskError::Refused(_)) => Ok((Vec::new(), None)),
            Err(error) => Err(error.into()),
        }
    }

    /// Merges what a loop that has just ended has shipped, where its level says so; returns what came of it. A merge that
    /// fails leaves the pull request open, for a person.
    pub fn merge_kept(&mut self, current: &Current) -> Vec<String> {
        let shell = |_: &Place, _: &Dirs, run: &Run| Ok(Shell::within(None, run.id.as_str(), || Control::On));
        match self.merge_shipped(current, shell) {
            Ok(merged) => merged.map(|merged| merged.lines()).unwrap_or_default(),
            Err(error) => {
                let pull = current.run.artifacts.pr_url.as_deref().unwrap_or_default();
                let number = pull.trim_start_matches('#');
                vec![format!("{}; `warp pr merge {number}` tries again", spelled(&error))]
            }
        }
    }

    /// Reports what a phase's work has come to, as the event that the workflow has for it.
    pub(crate) fn report(
        &mut self,
        current: &Current,
        outcome: Outcome,
        is_settled: bool,
    ) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let Report { says, mut data, said } = outcome.report();
        if is_settled {
            data.insert(SETTLED.to_owned(), Value::from(true));
        }
        let phase = current.workflow.phase(&current.run.phase);
        let event = match says {
            Says::Own(event) => event,
            Says::Outcome(outcome) => match phase.and_then(|phase| phase.said(outcome)) {
                Some(event) => Event::Named(event.clone()),
                None => {
                    let (phase, said) = (&current.run.phase, said.join("; "));
                    return Err(JobError::World(format!("`{phase}` has no event for `{outcome}`: {said}")));
                }
            },
        };
        match self.ask_as(Actor::Engine, event, outcome_of(current, data)) {
            Ok(answer) => Ok((said, Some(answer))),
            Err(AskError::Refused(refused)) if self.has_failed(&refused) => {
                self.send_back(current, refused, said)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns what a job came to, and whether an attempt before this one has done it: any process may have been killed
    /// between an act and its event.
    fn settle_or_carry_out(&mut self, job: Job, task: Task<'_>) -> Result<(Outcome, bool), JobError> {
        if let Some(outcome) = job::settle(self, job, task)? {
            return Ok((outcome, true));
        }
        // On disk before anything is done about it.
        let durable = self.sync_journal()?;
        Ok((job::carry_out(self, job, task, &durable)?, false))
    }

    /// Begins a new attempt at what the run is to do, if that is under way: whoever carried it on before may still be at it,
    /// and no outcome of theirs counts any more.
    pub fn start_attempt(&mut self) -> Result<(), JobError> {
        let current = self.current()?.ok_or(AskError::NoRun)?;
        let Some(effect) = current.run.effect.as_ref().filter(|_| current.run.standing == Standing::Active)
        else {
            return Ok(());
        };
        let event = Event::AttemptStarted { effect: effect.id.clone() };
        match self.ask_as(Actor::Engine, event, Map::new()) {
            Ok(_) => Ok(()),
            // Somebody has reported the outcome meanwhile.
            Err(AskError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells whether an event is refused because a verification command has failed, and an agent can do something about it.
    fn has_failed(&self, refused: &Refused) -> bool {
        let Refused::Gate { gate, reason, .. } = refused else { return false };
        // A command that is not there or was cut short says nothing about the work.
        let has_run = !NOT_RUN.iter().any(|end| reason.contains(end)) && self.shell.go() == Control::On;
        gate == VERIFICATION_GATES && has_run
    }

    /// Reports a failed verification command as the failure that the phase has an event for, like failed tests: the agent is
    /// told its output. Where the phase has none, the refusal stands and a person has to look.
    fn send_back(
        &mut self,
        current: &Current,
        refused: Refused,
        mut said: Vec<String>,
    ) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let phase = current.workflow.phase(&current.run.phase);
        let failure = phase.and_then(|phase| FAILURES.iter().find_map(|outcome| phase.said(*outcome)));
        let (Some(event), Refused::Gate { reason, .. }) = (failure.cloned(), &refused) else {
            return Err(AskError::Refused(refused).into());
        };
        let reason = reason.clone();
        self.untick(&current.run)?;
        let data = Map::from_iter([
            ("failure".to_owned(), Value::from(reason.clone())),
            ("check".to_owned(), Value::from(VERIFICATION_GATES)),
        ]);
        said.push(reason);
        let answer = self.ask_as(Actor::Engine, Event::Named(event), outcome_of(current, data))?;
        Ok((said, Some(answer)))
    }
}

/// Tells whether a program does what comes next, or looks whether it has happened.
fn is_mechanical(run: &Run) -> bool {
    let is_job =
        matches!(run.act(), Act::Job(_) | Act::Wait { on: WaitKind::Dependencies | WaitKind::Review, .. });
    is_job && run.standing == Standing::Active
}

/// Says with an outcome which try of which effect it is of: one that was replaced meanwhile does not count.
fn outcome_of(current: &Current, data: Map<String, Value>) -> Map<String, Value> {
    match &current.run.effect {
        Some(effect) => effect.outcome(data),
        None => data,
    }
}

/// Returns the question that a problem becomes which nobody here can solve.
pub fn escalation(run: &Run, problem: &str, options: &[&str]) -> Event {
    Event::QuestionAsked {
        kind: "escalation".to_owned(),
        question: format!("`{}` cannot continue: {problem}", run.phase),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
    }
}
