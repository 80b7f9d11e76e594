//! `warp run --attach`: an agent in a terminal, where a person can look on, and the life of its pull request.
//!
//! The agent works in a tmux session and says where it is by its phase file; each line that it writes there becomes an event
//! of the run. The engine does the rest: it hands the work in, checks it, waits for the review, and types what came of it
//! into the terminal. The loop remembers nothing that the run does not know, but for the terminal itself: one that is gone
//! is made again, with all that the agent before it had.

mod context;
mod idle;
mod left;
mod pull;
mod sentinel;
mod terminal;

use std::{env, path::PathBuf, time::Duration};

use adapters::{
    agent::{NamedError, interactive::Interactive},
    process,
    tmux::{self, Session},
};
use engine::{Actor, Event, EventName, Standing, Worker, keys, workflow::Activity};
use project::{BeginError, Current, Dirs, Place, Workspace, admission::Seat, spelled};
use serde_json::{Map, Value, json};

pub(crate) use self::left::remove as remove_left;
use self::{
    idle::Idle,
    left::Left,
    sentinel::{Means, PhaseFile, Sentinel},
};
use crate::{
    consent::ask_push,
    driver::{DriveError, Driver, Finish, Flow, ending},
    interrupts::Interrupts,
    session::SessionError,
    show::{Show, Shown},
    start::{Options, StartError},
};

/// The workflow with the phases that agents write to their phase file.
const WORKFLOW: &str = "factory";
/// The tick that counts crashes.
const CRASHED: &str = "agent_crashed";
/// The event that ends a run for good.
const FAILED: &str = "failed";
/// How long one wait for the phase file takes at most: then everything else is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long an agent may take until it can be typed to.
const READY: Duration = Duration::from_secs(120);
/// How often it is looked whether it can.
const READY_EVERY: Duration = Duration::from_millis(200);
/// How many of a crashed agent's last lines are kept.
const LAST_WORDS: usize = 20;
/// How often an agent that has stopped at its prompt is reminded.
const MOST_NUDGES: u32 = 2;

const NUDGE: &str = "You have stopped without saying where you are. Write one of the lines PHASE:awaiting_ci, \
    PHASE:needs_human or PHASE:failed to $PHASE_FILE, or go on.";
const GO_ON: &str = "The model could not be reached. Go on.";
const MORE: &str = "There is more. Go on.";

/// Takes an issue through its life with an agent in a terminal.
pub fn attach(
    place: &Place,
    dirs: &Dirs,
    options: &Options,
    interrupts: &Interrupts,
    show: &mut dyn Show,
) -> Result<Finish, SessionError> {
    if !tmux::is_installed() {
        return Err(StartError::NoTmux.into());
    }
    let options = Options { workflow: Some(WORKFLOW.to_owned()), ..options.clone() };
    // Before anything is begun: without an agent there is nothing to begin.
    let agent = agent(place, dirs, &options)?;
    ask_push(place, dirs, &options, interrupts, show)?;
    if interrupts.is_asked() {
        return Ok(Finish::Interrupted);
    }
    let mut driver = Driver::start(place, dirs, options, interrupts.clone(), show)?;
    let finish = match driver.workspace.current().map_err(StartError::from)? {
        Some(current) if current.run.workflow != WORKFLOW => {
            let (run, workflow) = (&current.run, &current.run.workflow);
            Finish::Refused(format!(
                "run {} of `{workflow}` is not for a terminal: `warp run` goes on with it",
                run.id
            ))
        }
        Some(_) | None => Attached::of(&mut driver, agent, place)?.drive()?,
    };
    driver.finish()?;
    Ok(finish)
}

/// Finds the agent that is wanted: the one that is named, or the one that is set.
fn agent(place: &Place, dirs: &Dirs, options: &Options) -> Result<Interactive, StartError> {
    let wanted = match &options.agent {
        Some(agent) => agent.clone(),
        None => {
            let mut here = Workspace::open(place.clone(), dirs.clone())?;
            let config = here.configuration(&options.set).map_err(BeginError::Config)?;
            config.settings.get(keys::AGENT).to_owned()
        }
    };
    let agent = Interactive::named(&wanted).ok_or(StartError::NoTerminal(wanted))?;
    agent.look_for().map_err(NamedError::NotInstalled)?;
    Ok(agent)
}

/// What woke the loop.
enum Happening {
    Wrote(Sentinel),
    Ended,
    Nothing,
}

struct Attached<'d, 'a> {
    driver: &'d mut Driver<'a>,
    /// The person's checkout.
    place: Place,
    agent: Interactive,
    name: String,
    files: PhaseFile,
    session: Option<Session>,
    /// The place that the agent takes, for as long as it lives.
    seat: Option<Seat>,
    /// The stay for which the agent was told what there is to do.
    told: Option<String>,
    /// What the agent is told when a run goes on that was parked because its model was refused to it.
    owed: Option<&'static str>,
    /// Whether it was said that the phase file cannot be read.
    told_unread: bool,
    idle: Idle,
    /// Last, because what is noted is gone before the note is.
    _left: Left,
}

impl<'d, 'a> Attached<'d, 'a> {
    fn of(driver: &'d mut Driver<'a>, agent: Interactive, place: &Place) -> Result<Self, SessionError> {
        let current = driver.workspace.current().map_err(StartError::from)?;
        let current = current.ok_or_else(|| StartError::from(project::AskError::NoRun))?;
        driver.tell_of(&current.run);
        let run = &current.run;
        let issue = run.issue.clone().unwrap_or_default();
        let project: String =
            place.name().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let id = driver
            .workspace
            .place
            .ensure_project_id()
            .map_err(|error| StartError::from(project::Error::from(error)))?;
        let directory = driver.workspace.dirs.project(&id).join("attach").join(run.id.as_str());
        let elsewhere = env::temp_dir().join(format!("dev-session-{project}-{issue}.phase"));
        let files = PhaseFile::make(&directory, &elsewhere);
        let files = files.map_err(|source| StartError::PhaseFile { path: directory.clone(), source })?;
        let mut name = format!("dev-{project}-{issue}");
        // What an earlier driver has left is ended by now; this is one of another project that has the same name.
        if Session::is_there(&name).map_err(|error| DriveError::World(spelled(&error)))? {
            name = format!("{name}-{}", run.id);
        }
        let outside: Vec<PathBuf> = files.elsewhere.iter().cloned().chain([tmux::socket(&name)]).collect();
        let left = Left::note(&directory, &outside);
        let _left = left.map_err(|source| StartError::PhaseFile { path: directory, source })?;
        let (idle, place) = (Idle::new(run), place.clone());
        let (session, seat, told, owed, told_unread) = (None, None, None, None, false);
        Ok(Self { driver, place, agent, name, files, session, seat, told, owed, told_unread, idle, _left })
    }

    fn drive(&mut self) -> Result<Finish, DriveError> {
        let finish = self.rounds();
        let how = match &finish {
            Ok(Finish::Done) => "done".to_owned(),
            Ok(finish) => format!("{finish:?}"),
            Err(error) => error.to_string(),
        };
        self.end_session(&how)?;
        process::end_leftovers(&self.driver.run);
        let finish = finish?;
        self.driver.keep_left(&finish)?;
        Ok(finish)
    }

    fn rounds(&mut self) -> Result<Finish, DriveError> {
        loop {
            if self.driver.interrupts.is_asked() {
                return Ok(Finish::Interrupted);
            }
            self.driver.check_claim()?;
            let Some(current) = self.driver.workspace.current()? else { return self.over() };
            let flow = match &current.run.standing {
                Standing::Ended { .. } => return self.over(),
                Standing::Stopped => return Ok(Finish::Stopped),
                Standing::Parked { .. } => self.wait_for_person(&current)?,
                Standing::Suspended { wait } => self.driver.wait(wait)?,
                Standing::Active => self.phase(&current)?,
            };
            if let Flow::End(finish) = flow {
                return Ok(finish);
            }
        }
    }

    /// Does what the phase wants, by the events that it can be left with.
    fn phase(&mut self, current: &Current) -> Result<Flow, DriveError> {
        let has = |event: &str| current.workflow.row(&current.run.phase, event).is_some();
        let activity = current.workflow.phase(&current.run.phase).map(|phase| phase.activity);
        match activity {
            Some(Activity::Engine) if has("claimed") => {
                self.driver.workspace.sync()?;
                let answer =
                    jobs::on(&mut self.driver.workspace).claim_work(current, &EventName::new("claimed"))?;
                self.driver.took(&answer);
                Ok(Flow::On)
            }
            Some(Activity::Engine) if has("ci_passed") => self.check(current),
            Some(Activity::Agent) if has("changes_requested") => self.wait_for_review(current),
            Some(Activity::Agent) => self.work(current),
            Some(Activity::Person) => self.wait_for_person(current),
            Some(Activity::Engine) | None => {
                let why = format!("`{}` is not for an agent in a terminal", current.run.phase);
                Ok(Flow::End(Finish::Refused(why)))
            }
        }
    }

    fn over(&mut self) -> Result<Finish, DriveError> {
        let Some(last) = self.driver.workspace.select(Some(&self.driver.run))? else {
            return Ok(Finish::Stopped);
        };
        Ok(match &last.run.standing {
            Standing::Ended { how } if *how == *FAILED => Finish::Ended(Self::why_failed(&last)),
            Standing::Ended { how } => ending(&last.workflow, &last.run, how),
            Standing::Active | Standing::Parked { .. } | Standing::Suspended { .. } | Standing::Stopped => {
                Finish::Stopped
            }
        })
    }

    /// Says how a run has failed, in the words of the protocol: `PHASE:failed`, `crashed`, `idle_prompt`, `idle_timeout`.
    fn why_failed(last: &Current) -> String {
        let Some(entry) = &last.run.facts.entry else { return FAILED.to_owned() };
        let reason = entry.data.get("reason").and_then(Value::as_str);
        match (entry.event.as_str(), entry.actor, reason) {
            ("deadline_passed", ..) => "idle_timeout".to_owned(),
            (FAILED, Actor::Agent, Some(reason)) => format!("PHASE:failed: {reason}"),
            (FAILED, Actor::Agent, None) => "PHASE:failed".to_owned(),
            (FAILED, _, Some(reason)) => reason.to_owned(),
            (FAILED, _, None) => "crashed".to_owned(),
            (event, ..) => event.to_owned(),
        }
    }

    fn work(&mut self, current: &Current) -> Result<Flow, DriveError> {
        if self.session.is_none() && !self.may_begin(current)? {
            return Ok(Flow::On);
        }
        self.tell(current)?;
        if let Some(text) = self.owed.take() {
            self.type_in(text)?;
            self.idle.begin();
        }
        loop {
            match self.wait()? {
                Happening::Wrote(sentinel) => self.obey(current, &sentinel)?,
                Happening::Ended => return self.ended(current),
                Happening::Nothing => {}
            }
            self.look_at_spend(current)?;
            if !self.is_still(current)? {
                return Ok(Flow::On);
            }
            self.look_at_idle(current)?;
        }
    }

    /// Sees to it that there is an agent, and that it knows what is to be done in this stay.
    fn tell(&mut self, current: &Current) -> Result<(), DriveError> {
        let stay = current.run.stay();
        if self.told.as_ref() == Some(&stay) && self.session.is_some() {
            return Ok(());
        }
        let worker = Worker { agent: self.agent.name.to_owned(), ..Worker::default() };
        let began = Event::TurnStarted { worker };
        let Some(answer) = self.driver.offer(Actor::Engine, began, Map::new())? else {
            self.seat = self.seat.take().filter(|_| self.session.is_some());
            return Ok(());
        };
        let is_first = current.run.turn.is_none();
        let current = answer.current;
        let workspace = &mut self.driver.workspace;
        let text = match &self.session {
            Some(_) => context::came_back(workspace, &current)?,
            None if is_first => context::first(workspace, &current)?,
            None => context::recovery(workspace, &current, self.files.last.as_ref())?,
        };
        if self.session.is_none() {
            self.start(&current)?;
        }
        self.type_in(&text)?;
        self.idle.begin();
        self.told = Some(stay);
        Ok(())
    }

    fn wait(&mut self) -> Result<Happening, DriveError> {
        if self.session.as_ref().is_some_and(|session| session.process().is_none()) {
            return Ok(Happening::Ended);
        }
        let process = self.session.as_ref().and_then(Session::process);
        let woken = self.files.watch.wait(process, LOOK_EVERY);
        let woken =
            woken.map_err(|error| DriveError::World(format!("the phase file cannot be watched: {error}")))?;
        self.driver.show.show(Shown::Tick);
        if woken.written
            && let Some(sentinel) = self.written()
        {
            self.idle.begin();
            return Ok(Happening::Wrote(sentinel));
        }
        Ok(if woken.ended { Happening::Ended } else { Happening::Nothing })
    }

    /// Returns what the agent has written. What it has put in place of its file is left alone, which is said once.
    fn written(&mut self) -> Option<Sentinel> {
        match self.files.take() {
            Ok(sentinel) => sentinel,
            Err(error) => {
                if !self.told_unread {
                    self.told_unread = true;
                    let path = self.files.path().display().to_string();
                    self.driver.show.show(Shown::Warned(&format!("`{path}` is not read: {error}")));
                }
                None
            }
        }
    }

    /// Makes an event of what the agent has written.
    fn obey(&mut self, current: &Current, sentinel: &Sentinel) -> Result<(), DriveError> {
        self.driver.show.show(Shown::Did(&format!("the agent writes PHASE:{}", sentinel.word)));
        match sentinel.means(&current.workflow, &current.run) {
            Means::Known => Ok(()),
            Means::HandedIn(event) => self.hand_in(current, event),
            Means::Over => self.is_it_over(current),
            Means::Said(event) => {
                let reason = sentinel.reason.iter().map(|reason| ("reason".to_owned(), json!(reason)));
                let data = reason.collect();
                self.driver.offer(Actor::Agent, Event::Named(event), data)?;
                Ok(())
            }
            Means::Nothing => {
                let phase = &current.run.phase;
                self.type_in(&format!("PHASE:{} means nothing while the run is in `{phase}`.", sentinel.word))
            }
        }
    }

    fn wait_for_person(&mut self, current: &Current) -> Result<Flow, DriveError> {
        let Some(asked) = Driver::asked(current) else {
            let why = format!("`{}` is a person's: `warp explain` says what is possible", current.run.phase);
            return Ok(Flow::End(Finish::Refused(why)));
        };
        let durable = self.driver.workspace.sync()?;
        self.driver.show.show(Shown::Asked(&asked));
        if self.driver.ask_away(current.run.id.as_str(), &durable) {
            self.driver.show.show(Shown::Did("it is asked in Telegram too"));
        }
        loop {
            if let Some(reply) = self.driver.show.reply(&asked) {
                return self.driver.answer(&asked.id, reply);
            }
            match self.wait()? {
                Happening::Wrote(sentinel) if current.run.standing == Standing::Active => {
                    self.obey(current, &sentinel)?
                }
                Happening::Ended => self.end_session("ended while it waited")?,
                Happening::Wrote(_) | Happening::Nothing => {}
            }
            let now = self.driver.workspace.current()?;
            if now.is_none_or(|now| Driver::asked(&now).is_none_or(|open| open.id != asked.id)) {
                return Ok(Flow::On);
            }
            if self.driver.interrupts.is_asked() {
                return Ok(Flow::End(Finish::Interrupted));
            }
            self.driver.check_claim()?;
            self.driver.hear_away();
            self.pass_deadline(current)?;
        }
    }

    /// Looks whether the run still stands where `current` saw it: not stopped, not moved, not due.
    fn is_still(&mut self, current: &Current) -> Result<bool, DriveError> {
        if self.driver.interrupts.is_asked() {
            return Ok(false);
        }
        self.driver.check_claim()?;
        if !self.driver.stands(current)? {
            return Ok(false);
        }
        self.pass_deadline(current)?;
        Ok(self.driver.stands(current)?)
    }

    fn pass_deadline(&mut self, current: &Current) -> Result<(), DriveError> {
        if current.run.deadline(&current.workflow).is_some_and(|due| self.driver.now() > due)
            && current.run.standing == Standing::Active
        {
            self.driver.offer(Actor::Engine, Event::DeadlinePassed, Map::new())?;
        }
        Ok(())
    }
}
