//! Doing the work of the phase that a run is in, if a program can do it, and reporting what came of it.

use adapters::process::Go;
use engine::{Act, Actor, Event, Refused, Run, Standing, VERIFICATION_GATES, WaitKind, workflow::Job};
use project::{Answer, AskError, Current, Overdue};
use serde_json::{Map, Value};

use crate::{Context, JobError};

/// The outcomes of a phase that send its work back to the agent with what failed.
const FAILURES: &[&str] = &["tests_failed", "drift_blocked"];
/// How a shell says that a command is not there or cannot be run.
const NOT_RUN: &[&str] = &["(exit 126)", "(exit 127)"];

/// What is said when unfinished work could not be kept as it should.
pub(crate) const CLEANUP_FAILED: &str = "abort_cleanup_failed";

/// What a person or an agent may add.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The commit's message, in the phase that commits.
    pub message: Option<String>,
}

/// What was done.
#[derive(Debug)]
pub struct Done {
    /// What happened, a line each.
    pub said: Vec<String>,
    /// The event that was reported, if the phase was mechanical.
    pub taken: Option<Answer>,
    /// What comes next: facts for whoever works on the phase that the run is in now.
    pub next: String,
}

/// What a phase's work came to: the event to report, and what comes with it.
pub(crate) struct Report {
    pub(crate) event: &'static str,
    pub(crate) data: Map<String, Value>,
    pub(crate) said: Vec<String>,
}

impl Report {
    pub(crate) fn new(event: &'static str) -> Self {
        Self { event, data: Map::new(), said: Vec::new() }
    }

    pub(crate) fn with(mut self, field: &str, value: Value) -> Self {
        self.data.insert(field.to_owned(), value);
        self
    }

    pub(crate) fn say(mut self, text: impl Into<String>) -> Self {
        self.said.push(text.into());
        self
    }
}

impl Context<'_> {
    /// Does the work of the current phase if a program can do it, and says what comes next. A question that nobody has
    /// answered in time is put off first.
    pub fn next(&mut self, wanted: &Wanted) -> Result<Done, JobError> {
        let (said, taken) = match self.put_off()? {
            Some(Overdue::PutOff { why, answer }) => (vec![why], Some(*answer)),
            Some(Overdue::Decided(_) | Overdue::Gone) | None => match self.advance(wanted) {
                Err(JobError::Dev(problem)) => self.ask_about_dev(problem)?,
                done => done?,
            },
        };
        let next = match &taken {
            Some(answer) => self.described(&answer.current),
            None => {
                let current = self.current()?.ok_or(AskError::NoRun)?;
                self.described(&current)
            }
        };
        Ok(Done { said, taken, next })
    }

    /// Does the work of the current phase if a program can do it; returns what happened and what was reported. Where the phase
    /// only waits, and what it waits for has not happened, that is said.
    pub fn advance(&mut self, wanted: &Wanted) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let current = self.current()?.ok_or(AskError::NoRun)?;
        let is_open = current.run.standing == Standing::Active;
        let report = match *current.run.act() {
            Act::Job(Job::OpenPullRequest) if is_open => return self.open_pull_request(&current),
            Act::Job(job) if is_open => match self.work(&current, job, wanted) {
                Err(JobError::Held(held)) => return self.ask_about_held(&current, &held),
                report => Ok(report?),
            },
            Act::Wait { on: WaitKind::Dependencies, .. } if is_open => {
                self.await_dependencies(&current.run)?
            }
            Act::Wait { on: WaitKind::Review, .. } if is_open => self.await_review(&current.run)?,
            Act::Nothing | Act::Job(_) | Act::Agent { .. } | Act::Person { .. } | Act::Wait { .. } => {
                return Ok((Vec::new(), None));
            }
        };
        match report {
            Ok(report) => self.report(&current, report),
            Err(waits) => Ok((vec![waits], None)),
        }
    }

    /// Reports what a phase's work has come to, as the event that the workflow has for it.
    pub(crate) fn report(
        &mut self,
        current: &Current,
        report: Report,
    ) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let phase = current.workflow.phase(&current.run.phase);
        let Some(event) = phase.and_then(|phase| phase.said(report.event)) else {
            let (phase, said) = (&current.run.phase, report.said.join("; "));
            return Err(JobError::World(format!("`{phase}` has no event for `{}`: {said}", report.event)));
        };
        match self.ask_as(Actor::Engine, Event::Named(event.clone()), outcome_of(current, report.data)) {
            Ok(answer) => Ok((report.said, Some(answer))),
            Err(AskError::Refused(refused)) if self.has_failed(&refused) => {
                self.send_back(current, refused, report.said)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Tells whether an event is refused because a verification command has failed, and an agent can do something about it.
    fn has_failed(&self, refused: &Refused) -> bool {
        let Refused::Gate { gate, reason, .. } = refused else { return false };
        // A command that is not there or was cut short says nothing about the work.
        let has_run = !NOT_RUN.iter().any(|end| reason.contains(end)) && self.shell.go() == Go::On;
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
        let failure = phase.and_then(|phase| FAILURES.iter().find_map(|outcome| phase.said(outcome)));
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

    /// Does a phase's work.
    fn work(&mut self, current: &Current, job: Job, wanted: &Wanted) -> Result<Report, JobError> {
        let run = &current.run;
        match reach(job) {
            Reach::Journal | Reach::LastStep => {}
            Reach::Content => self.show_now()?,
            Reach::World => {
                self.sync_journal()?;
            }
        }
        Ok(match job {
            Job::CheckPrerequisites => {
                let report = self.prerequisites(run)?;
                self.prepare_dev(run, report)?
            }
            Job::SelectWork => self.discover(current)?,
            Job::DefineChunks => self.chunk(current)?,
            Job::TickCriteria => self.tick(run)?,
            Job::RunTests => self.test(current)?,
            Job::Commit => self.commit(current, wanted)?,
            Job::CheckDocs => self.check_docs(current)?,
            Job::FileReport => self.report_chunk(current)?,
            Job::TakeChunk => {
                let mut said = self.check_dev_after_chunk(current)?;
                let mut report = take_chunk(run);
                said.append(&mut report.said);
                Report { said, ..report }
            }
            Job::RunFinalTests => self.test_finally(run)?,
            // It moves nothing, so it has no report.
            Job::OpenPullRequest => return Err(JobError::World("the pull request is open".to_owned())),
            Job::Claim => self.claim_issue(run)?,
            Job::AwaitChecks => self.await_checks(current)?,
            // What only waits is looked at, not done.
            Job::AwaitDependencies | Job::AwaitReview => {
                return Err(JobError::World("what it waits for has not happened".to_owned()));
            }
            Job::Merge => self.merge(current)?,
            Job::CommitAndMerge => self.commit_and_merge(current)?,
            Job::Summarise => self.summarise(run)?,
            Job::CleanUp => {
                let phase = current.workflow.phase(&run.phase);
                self.clean_up(run, phase.is_some_and(|phase| phase.said(CLEANUP_FAILED).is_some()))?
            }
        })
    }
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
        question: format!("`{}` cannot go on: {problem}", run.phase),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
    }
}

/// How far a job reaches.
enum Reach {
    /// It stays within the journal, or changes nothing but a workspace of the run's own, and looks for what it has done there
    /// before it does it again.
    Journal,
    /// It runs what the repository holds, which may look at views, and can be run again.
    Content,
    /// It changes what is outside at last, and waits itself until all that led to it is on disk before it does.
    LastStep,
    /// It changes what is outside, so all that led to it has to be on disk before.
    World,
}

fn reach(job: Job) -> Reach {
    match job {
        Job::CheckPrerequisites
        | Job::DefineChunks
        | Job::TickCriteria
        | Job::FileReport
        | Job::TakeChunk
        | Job::Summarise
        | Job::Claim
        | Job::AwaitDependencies
        | Job::AwaitReview
        | Job::SelectWork => Reach::Journal,
        Job::RunTests | Job::RunFinalTests => Reach::Content,
        Job::Commit | Job::Merge | Job::CommitAndMerge | Job::AwaitChecks => Reach::LastStep,
        Job::CheckDocs | Job::CleanUp | Job::OpenPullRequest => Reach::World,
    }
}

fn take_chunk(run: &Run) -> Report {
    if run.chunk.index < run.chunk.acs.len() as u64 {
        Report::new("next_chunk").say(format!("chunk {} of {}", run.chunk.index + 1, run.chunk.acs.len()))
    } else {
        Report::new("requirement_done").say("every chunk is done")
    }
}
