//! The loop itself.

use std::time::Duration;

use adapters::{agent::NamedError, clock::after};
use engine::{
    Act, Actor, Capped, Event, PROVIDER, Refused, RefusedEvent, Run, Standing, Time, Usage, Workflow,
    ledger::Scope,
    view,
    view::Asked,
    workflow::{Answer as Asks, Job},
};
use forge::ForgeError;
use jobs::{ABOUT_DEV, JobError, Wanted, escalation};
use project::{
    Answer, AskError, ClaimError, Current, Error, Workspace,
    admission::AdmissionError,
    pushing::{Decides, PUSH},
    slots::SlotError,
    spelled,
    spend::MoreError,
};
use serde_json::{Map, Value};

use crate::{
    attach::Terminal,
    away::{Away, is_answered_here},
    crew::Crew,
    interrupts::Interrupts,
    ready,
    show::{Show, Shown},
    spend::{Spend, SpendError, spent_by},
    start::{Options, content_shell, sandbox},
    wake::Wake,
    work::{Confined, Lent},
};

/// How long after a deadline it is past.
pub(crate) const LATE: Duration = Duration::from_millis(1);

/// A run, a place to work in, and all that is needed to take it to its end.
pub struct Driver<'a> {
    /// Given back before the workspace is, which another run may take then: fields are dropped in order.
    pub(crate) _lent: Lent,
    pub(crate) workspace: Workspace,
    /// The run's id.
    pub(crate) run: String,
    pub(crate) crew: Crew,
    /// What the run spends; opened before its first agent.
    pub(crate) spend: Option<Spend>,
    /// Whether it was said that an agent's requests do not go through warp.
    pub(crate) told_unmetered: bool,
    /// When it was last tried whether the provider serves the agent.
    pub(crate) probed: Option<Time>,
    /// The place for an agent that is waited for.
    pub(crate) asked_seat: Option<ready::Asked>,
    pub(crate) confined: Confined,
    pub(crate) away: Away,
    pub(crate) options: Options,
    pub(crate) interrupts: Interrupts,
    /// What wakes the run while it waits.
    pub(crate) wake: Wake,
    /// The terminal in which its agent lives, where it has one.
    pub(crate) terminal: Option<Box<Terminal>>,
    /// The stay for which it was said what the run waits for.
    pub(crate) told_wait: Option<String>,
    /// When what it waits for in that stay is looked at again, where no journal tells of it.
    pub(crate) next_look: Option<Time>,
    pub(crate) show: &'a mut dyn Show,
}

/// How the loop ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Finish {
    /// All of it is done.
    Done,
    /// It is over, but so many chunks were put off.
    PutOff(usize),
    /// It was stopped for good; what was done is kept.
    Aborted,
    /// It is over in another way.
    Ended(String),
    /// It waits for a person.
    Parked(Asked),
    /// A person stopped it where it stands.
    Stopped,
    /// A signal ended the loop; the run can go on.
    Interrupted,
    /// It could not begin, and was taken off its workspace again.
    Refused(String),
    /// No agent can work until a person has fixed a login, a balance or the like; another run has asked for that.
    Blocked(String),
}

/// Why the loop cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error(transparent)]
    Failed(#[from] Error),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Next(#[from] JobError),
    #[error(transparent)]
    Claim(#[from] ClaimError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error(transparent)]
    Agent(#[from] NamedError),
    #[error(transparent)]
    Spend(#[from] SpendError),
    #[error(transparent)]
    More(#[from] MoreError),
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    #[error("another process has taken {about} over; nothing more was done here")]
    TakenOver { about: String },
    #[error("{0}")]
    World(String),
}

/// Whether the loop goes on.
pub(crate) enum Flow {
    On,
    End(Finish),
}

impl Driver<'_> {
    /// Takes the run to its end, or to where a person is needed.
    pub fn drive(&mut self) -> Result<Finish, DriveError> {
        // Whatever a lost claim has led to, that is the reason.
        let finish = self.rounds().map_err(|error| self.check_claim().err().unwrap_or(error));
        let closed = self.close_terminal(&finish);
        let finish = finish?;
        closed?;
        self.keep_left(&finish)?;
        Ok(finish)
    }

    fn rounds(&mut self) -> Result<Finish, DriveError> {
        if self.show.is_attended() {
            self.workspace.decides = Decides::InRun;
        }
        loop {
            if self.interrupts.is_asked() {
                return Ok(Finish::Interrupted);
            }
            self.check_claim()?;
            let Some(current) = self.workspace.current()? else { return self.over() };
            if !is_answered_here(&current.run) {
                self.tell_away(current.run.id.as_str());
            }
            let flow = match (&current.run.standing, current.run.act()) {
                (Standing::Ended { how }, _) => Flow::End(ending(&current.workflow, &current.run, how)),
                (Standing::Stopped, _) => Flow::End(Finish::Stopped),
                (Standing::Suspended { wait }, _) => self.wait(wait)?,
                (Standing::Parked { .. }, _) | (_, Act::Person { .. }) => self.person(&current)?,
                (Standing::Active, Act::Agent { asks: Asks::Promise, .. }) if self.promises(&current)? => {
                    Flow::On
                }
                (Standing::Active, Act::Agent { .. }) => {
                    match self.with_terminal(|terminal, driver| terminal.turn(driver, &current)) {
                        Some(flow) => flow?,
                        None => self.agent_phase(&current)?,
                    }
                }
                (Standing::Active, Act::Job(Job::TakeChunk)) if self.looks_again(&current)? => {
                    self.agent_phase(&current)?
                }
                (Standing::Active, Act::Job(job)) => {
                    self.ready_dev_for_tests(&current, *job)?;
                    self.mechanical(&current)?
                }
                (Standing::Active, Act::Nothing | Act::Wait { .. }) => self.mechanical(&current)?,
            };
            if let Flow::End(finish) = flow {
                return Ok(finish);
            }
        }
    }

    /// Tells how a run has ended that is no longer in its workspace. One that somebody has taken off it has left its work
    /// there, which is kept.
    fn over(&mut self) -> Result<Finish, DriveError> {
        let Some(last) = self.workspace.select(Some(&self.run))? else { return Ok(Finish::Stopped) };
        self.merge_shipped(&last);
        Ok(match &last.run.standing {
            Standing::Ended { how } => ending(&last.workflow, &last.run, how),
            Standing::Active | Standing::Parked { .. } | Standing::Suspended { .. } | Standing::Stopped => {
                Finish::Stopped
            }
        })
    }

    /// Merges what a loop has shipped, where its level says so. A merge that fails leaves the pull request open, for a person.
    fn merge_shipped(&mut self, current: &Current) {
        let sandbox = match sandbox(self.options.walled) {
            Ok(sandbox) => sandbox,
            Err(error) => return self.show.show(Shown::Warned(&spelled(&error))),
        };
        let merged = jobs::on(&mut self.workspace)
            .merge_shipped(current, |place, dirs, run| content_shell(sandbox.as_ref(), place, dirs, run));
        match merged {
            Ok(None) => {}
            Ok(Some(merged)) => merged.lines().iter().for_each(|line| self.show.show(Shown::Did(line))),
            Err(error) => {
                let pull = current.run.artifacts.pr_url.as_deref().unwrap_or_default();
                let number = pull.trim_start_matches('#');
                let words = format!("{}; `warp pr merge {number}` tries again", spelled(&error));
                self.show.show(Shown::Warned(&words));
            }
        }
    }

    /// Gives the promise that ends a loop, if it is kept; says whether it was.
    fn promises(&mut self, current: &Current) -> Result<bool, DriveError> {
        let (said, kept) = jobs::on(&mut self.workspace).keep_promise(current)?;
        said.iter().for_each(|said| self.show.show(Shown::Did(said)));
        if let Some(answer) = &kept {
            self.took(answer);
        }
        Ok(kept.is_some())
    }

    /// Keeps the work of a run that was ended before it was done.
    pub(crate) fn keep_left(&mut self, finish: &Finish) -> Result<(), DriveError> {
        if let (Finish::Ended(_), Some(slot)) = (finish, &self.workspace.slot) {
            for name in slot.keep()? {
                self.show.show(Shown::Did(&format!("its work is kept as {name}")));
            }
        }
        Ok(())
    }

    /// Does what is the engine's own.
    pub(crate) fn mechanical(&mut self, current: &Current) -> Result<Flow, DriveError> {
        match self.advance(current) {
            Ok((waits, None)) if matches!(current.run.act(), Act::Wait { .. }) => {
                match self.review_by_agent(current)? {
                    Some(flow) => Ok(flow),
                    None => self.wait_on(current, &waits),
                }
            }
            advanced => self.took_advance(current, advanced),
        }
    }

    /// Goes on with what a phase's work has come to.
    pub(crate) fn took_advance(
        &mut self,
        current: &Current,
        advanced: Result<(Vec<String>, Option<Answer>), JobError>,
    ) -> Result<Flow, DriveError> {
        match advanced {
            Ok((done, taken)) => {
                for said in &done {
                    self.show.show(Shown::Did(said));
                }
                match taken {
                    Some(answer) => {
                        self.took(&answer);
                        self.with_terminal(|terminal, driver| terminal.hear(driver, &answer)).transpose()?;
                        self.follow_issue(&answer.current)?;
                    }
                    None => {
                        let problem = format!("warp has no program for the phase `{}`", current.run.phase);
                        return self.escalate(current, &problem, &["continue"]);
                    }
                }
                Ok(Flow::On)
            }
            // What was done may have been cut short; the phase is done again later.
            Err(
                JobError::World(_)
                | JobError::RemoteLocked(_)
                | JobError::Dev(_)
                | JobError::Ask(AskError::Refused(_)),
            ) if self.interrupts.is_asked() => Ok(Flow::End(Finish::Interrupted)),
            Err(JobError::World(problem) | JobError::Dev(problem)) if current.run.history.len() <= 1 => {
                // Nothing was done yet, so there is nothing to go on with.
                self.workspace.reset()?;
                Ok(Flow::End(Finish::Refused(problem)))
            }
            Err(JobError::Undecided { question, options }) => {
                let kind = PUSH.to_owned();
                if self.stands(current)? {
                    self.offer(Actor::Engine, Event::QuestionAsked { kind, question, options }, Map::new())?;
                }
                Ok(Flow::On)
            }
            // Nobody is there, and every other issue would end here as well.
            Err(JobError::RemoteLocked(problem)) if !self.show.is_attended() => {
                Ok(Flow::End(Finish::Blocked(problem)))
            }
            Err(JobError::World(problem) | JobError::RemoteLocked(problem)) => {
                self.escalate(current, &problem, &["continue"])
            }
            Err(JobError::Dev(problem)) => self.escalate(current, &problem, ABOUT_DEV),
            // Somebody else has gone on meanwhile; the loop looks again.
            Err(JobError::Ask(AskError::Refused(Refused::StaleAttempt { .. }))) => Ok(Flow::On),
            Err(JobError::Ask(AskError::Refused(refused))) => {
                match refused.to_overrule(Actor::Engine, &Map::new()) {
                    Some(refused) => self.raise(current, refused),
                    None => self.escalate(current, &self.with_place(&refused.to_string()), &["continue"]),
                }
            }
            // Somebody ended the run meanwhile; the loop looks again.
            Err(JobError::Ask(AskError::NoRun)) => Ok(Flow::On),
            Err(error) => Err(error.into()),
        }
    }

    /// Does the work of the phase, or looks what has come of what it waits for.
    fn advance(&mut self, current: &Current) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let Some(number) = jobs::on(&mut self.workspace).to_merge(current)? else {
            let is_told = self.told_wait.as_ref() == Some(&current.run.stay());
            let waits = matches!(current.run.act(), Act::Wait { .. }) && is_told;
            if waits && self.next_look.is_some_and(|look| self.now() < look) {
                return Ok((Vec::new(), None));
            }
            let mut jobs = jobs::on(&mut self.workspace);
            let done = jobs.advance(&Wanted::default());
            self.next_look = jobs.next_look();
            return done;
        };
        let sandbox = sandbox(self.options.walled).map_err(|error| JobError::World(spelled(&error)))?;
        jobs::on(&mut self.workspace).merge_approved(current, number, |place, dirs, run| {
            content_shell(sandbox.as_ref(), place, dirs, run)
        })
    }

    /// Waits until something has happened that the phase may wait for. Past its deadline, the engine is told.
    fn wait_on(&mut self, current: &Current, waits: &[String]) -> Result<Flow, DriveError> {
        self.workspace.sync()?;
        if self.told_wait.replace(current.run.stay()) != self.told_wait {
            waits.iter().for_each(|said| self.show.show(Shown::Did(said)));
        }
        if !self.pass_deadline(current)? {
            let due = current.run.deadline(&current.workflow);
            self.sleep(due.map(|due| after(due, LATE)).into_iter().chain(self.next_look).min())?;
        }
        Ok(Flow::On)
    }

    /// Tells the engine that the phase's deadline has passed, if it has; returns whether it was told.
    pub(crate) fn pass_deadline(&mut self, current: &Current) -> Result<bool, DriveError> {
        let due = current.run.deadline(&current.workflow).is_some_and(|due| self.now() > due);
        let is_due = due && current.run.standing == Standing::Active;
        if is_due {
            self.offer(Actor::Engine, Event::DeadlinePassed, Map::new())?;
        }
        Ok(is_due)
    }

    /// Puts a problem that nobody here can solve to a person. It is none if somebody has stopped the run meanwhile.
    pub(crate) fn escalate(
        &mut self,
        current: &Current,
        problem: &str,
        options: &[&str],
    ) -> Result<Flow, DriveError> {
        if !self.stands(current)? {
            return Ok(Flow::On);
        }
        self.offer(Actor::Engine, escalation(&current.run, problem, options), Map::new())?;
        Ok(Flow::On)
    }

    /// Asks a person whether to accept what an advisory check refuses.
    pub(crate) fn raise(&mut self, current: &Current, refused: RefusedEvent) -> Result<Flow, DriveError> {
        if self.stands(current)? {
            let event = Event::RefusalRaised { refused: Box::new(refused) };
            self.offer(Actor::Engine, event, Map::new())?;
        }
        Ok(Flow::On)
    }

    /// Adds to a problem that a person has to solve where the work lies.
    fn with_place(&self, problem: &str) -> String {
        let root = self.workspace.place.root.display();
        format!("{problem}\n`continue` checks again in {root}")
    }

    /// Offers an event and shows what came of it. One that came too late is no error: the loop looks again.
    pub(crate) fn offer(
        &mut self,
        actor: Actor,
        event: Event,
        data: Map<String, Value>,
    ) -> Result<Option<Answer>, DriveError> {
        match self.workspace.ask_as(actor, event, data) {
            Ok(answer) => {
                self.took(&answer);
                Ok(Some(answer))
            }
            Err(AskError::NoRun) => Ok(None),
            Err(AskError::Refused(refused)) => {
                self.show.show(Shown::Warned(&refused.to_string()));
                Ok(None)
            }
            Err(AskError::Failed(error)) => Err(error.into()),
        }
    }

    pub(crate) fn took(&mut self, answer: &Answer) {
        let (run, workflow) = (&answer.current.run, &*answer.current.workflow);
        for record in &answer.records {
            self.show.show(Shown::Recorded { record, run, workflow });
        }
        for advice in &answer.advice {
            self.show.show(Shown::Warned(&advice.0));
        }
    }

    /// Returns the time.
    pub(crate) fn now(&self) -> Time {
        self.workspace.dirs.clock.now()
    }

    /// Stops at once if somebody else has taken the claim.
    pub(crate) fn check_claim(&self) -> Result<(), DriveError> {
        match self.workspace.lost_claim()? {
            Some(about) => Err(DriveError::TakenOver { about: about.to_owned() }),
            None => Ok(()),
        }
    }

    /// Claims the issue that the run has turned to, if it is another one.
    fn follow_issue(&mut self, current: &Current) -> Result<(), DriveError> {
        match &current.run.issue {
            Some(issue) => Ok(self.workspace.claim(issue)?),
            None => Ok(()),
        }
    }

    /// Tells whether the run still stands where `current` saw it.
    pub(crate) fn stands(&mut self, current: &Current) -> Result<bool, Error> {
        Ok(self.still(current)?.is_some())
    }

    /// Returns the run as it is by now, if it still stands where `current` saw it.
    pub(crate) fn still(&mut self, current: &Current) -> Result<Option<Current>, Error> {
        let stands =
            |now: &Current| now.run.standing == Standing::Active && now.run.stay() == current.run.stay();
        Ok(self.workspace.current()?.filter(stands))
    }

    /// Returns what the run asks a person.
    pub(crate) fn asked(current: &Current) -> Option<Asked> {
        view::asked(&current.workflow, &current.run)
    }

    /// Tells whether the run waits for something that every other run of a session would wait for too: a provider that serves
    /// nobody, or money that all of them share.
    pub(crate) fn waits_for_all(&mut self) -> Result<bool, DriveError> {
        let Some(current) = self.workspace.select(Some(&self.run))? else { return Ok(false) };
        let Standing::Parked { decision } = &current.run.standing else { return Ok(false) };
        let is_shared = |capped: &Capped| {
            let of_session =
                self.options.session_cap.is_some_and(|cap| cap.micro_usd.or(cap.tokens).is_some());
            capped.cap.cap != Scope::Run || of_session
        };
        Ok(decision.reason == PROVIDER || decision.capped.as_ref().is_some_and(is_shared))
    }

    /// Opens the ledger for the run, if that was not done yet.
    pub(crate) fn open_spend(&mut self, run: &Run) -> Result<&mut Spend, DriveError> {
        if self.spend.is_none() {
            self.spend = Some(Spend::open(&self.workspace, run)?);
        }
        Ok(self.spend.as_mut().expect("it was opened above"))
    }

    /// Returns which issue the run is about, and how many chunks it has done.
    pub(crate) fn worked_on(&mut self) -> Result<(Option<String>, u64), DriveError> {
        let Some(current) = self.workspace.select(Some(&self.run))? else { return Ok((None, 0)) };
        Ok((current.run.issue.clone(), current.run.metrics.chunks_completed))
    }

    /// Returns what the run has spent so far, as the ledger has it.
    pub(crate) fn spent(&mut self) -> Result<Usage, DriveError> {
        let Some(current) = self.workspace.select(Some(&self.run))? else { return Ok(Usage::default()) };
        Ok(spent_by(&self.workspace.dirs, &current.run)?)
    }

    /// Gives back what was taken for the run, as far as it is over.
    pub fn finish(mut self) -> Result<(), DriveError> {
        self.end_away();
        let Self { mut workspace, confined, .. } = self;
        drop(confined);
        workspace.sync()?;
        Ok(workspace.release()?)
    }
}

/// Tells how a run has ended.
pub(crate) fn ending(workflow: &Workflow, run: &Run, how: &str) -> Finish {
    let before = run.history.last().and_then(|row| row.from.as_ref());
    let cleaned_up =
        before.and_then(|phase| workflow.phase(phase)).is_some_and(|phase| phase.job == Some(Job::CleanUp));
    match how {
        _ if run.aborted || cleaned_up => Finish::Aborted,
        _ if workflow.phase(&run.phase).is_some_and(|phase| phase.fails) => Finish::Ended(why_failed(run)),
        _ if !run.deferred.is_empty() => Finish::PutOff(run.deferred.len()),
        how if run.phase == *how || workflow.close_event.as_ref().is_some_and(|close| *close == *how) => {
            Finish::Done
        }
        how => Finish::Ended(how.to_owned()),
    }
}

/// Says how a run has failed: by its agent's word, a crash, or a wait that was too long.
fn why_failed(run: &Run) -> String {
    let Some(entry) = &run.facts.entry else { return run.phase.to_string() };
    let reason = entry.data.get("reason").and_then(Value::as_str);
    match (entry.actor, reason) {
        _ if entry.event == Event::DeadlinePassed.name() => "idle_timeout".to_owned(),
        (Actor::Agent, reason) => {
            [Some("the agent gave up"), reason].into_iter().flatten().collect::<Vec<_>>().join(": ")
        }
        (Actor::Engine | Actor::Person, Some(reason)) => reason.to_owned(),
        (Actor::Engine, None) => "crashed".to_owned(),
        (Actor::Person, None) => entry.event.to_string(),
    }
}
