//! `warp run --attach`: an agent in a terminal, where a person can look on.
//!
//! The agent works in a tmux session and says where it is by its phase file; each line that it writes there becomes an event
//! of the run. It is put to work as any other agent is, and lives on while its run waits: what has come of its work is typed
//! into the terminal. Nothing is remembered that the run does not know, but for the terminal itself: one that is gone is made
//! again, with all that the agent before it had.

mod context;
mod idle;
mod left;
mod pull;
mod sentinel;
mod terminal;

use std::{env, path::PathBuf, time::Duration};

use adapters::{
    agent::{NamedError, interactive::Interactive},
    clock::after,
    process,
    tmux::{self, Session},
    watch::Alarm,
};
use engine::{
    Actor, Event, Record, Standing, Time, Worker, keys,
    workflow::{ATTACHED, JobOutcome, Meaning, Means},
};
use project::{Answer, BeginError, Current, Dirs, Place, Workspace, admission::Seat, find_workflow, spelled};
use serde_json::{Map, json};

pub(crate) use self::left::remove as remove_left;
use self::{
    idle::Idle,
    left::Left,
    sentinel::{PhaseFile, Sentinel},
};
use crate::{
    driver::{DriveError, Driver, Finish, Flow, LATE},
    session::SessionError,
    show::Shown,
    start::{Options, StartError},
};

/// How long an agent may take until it can be typed to.
const READY: Duration = Duration::from_secs(120);
/// How often it is looked whether it can.
const READY_EVERY: Duration = Duration::from_millis(200);
/// How many of a crashed agent's last lines are kept.
const LAST_WORDS: usize = 20;
/// How often an agent that has stopped at its prompt is reminded.
const MOST_NUDGES: u32 = 2;

const NUDGE: &str = "You have stopped without saying where you are. Write one of the lines PHASE:awaiting_ci, \
    PHASE:needs_human or PHASE:failed to $PHASE_FILE, or continue.";
const GO_ON: &str = "The model could not be reached. Continue.";
const MORE: &str = "The cap was raised. Continue.";
const PASSED: &str = "CI passed. Write PHASE:awaiting_review to $PHASE_FILE, and wait for the review.";

/// Finds the agent that is to live in a terminal, if one is wanted: the one that is named, or the one that is set. The
/// workflow is the one for terminals, unless another is named.
pub(crate) fn prepare(
    place: &Place,
    dirs: &Dirs,
    options: &mut Options,
) -> Result<Option<Interactive>, StartError> {
    if !options.attach {
        return Ok(None);
    }
    if !tmux::is_installed() {
        return Err(StartError::NoTmux);
    }
    let mut here = Workspace::open(place.clone(), dirs.clone())?;
    let workflow = find_workflow(place, options.workflow.get_or_insert_with(|| ATTACHED.to_owned()))?;
    if !workflow.is_for_terminal() {
        return Err(StartError::NotForTerminal { about: format!("`{}`", workflow.name) });
    }
    let wanted = match &options.agent {
        Some(agent) => agent.clone(),
        None => {
            let config = here.configuration(&options.set).map_err(BeginError::Config)?;
            config.settings.get(keys::AGENT).to_owned()
        }
    };
    let agent = Interactive::named(&wanted).ok_or(StartError::NoTerminal(wanted))?;
    agent.look_for().map_err(NamedError::NotInstalled)?;
    Ok(Some(agent))
}

/// What woke the loop.
enum Happening {
    Wrote(Sentinel),
    Ended,
    Nothing,
}

/// The terminal of a run, and the agent that lives in it.
pub(crate) struct Terminal {
    /// The person's checkout.
    place: Place,
    agent: Interactive,
    name: String,
    files: PhaseFile,
    session: Option<Session>,
    /// Rings when the agent has ended.
    alarm: Option<Alarm>,
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

impl Driver<'_> {
    /// Gives the run a terminal for its agent, which is started when there is something for it to do.
    pub(crate) fn open_terminal(&mut self, agent: Interactive, place: &Place) -> Result<(), SessionError> {
        let current = self.workspace.current().map_err(StartError::from)?;
        let current = current.ok_or_else(|| StartError::from(project::AskError::NoRun))?;
        self.terminal = Some(Box::new(Terminal::of(self, &current, agent, place)?));
        Ok(())
    }

    /// Lets the terminal act, if there is one.
    pub(crate) fn with_terminal<T>(&mut self, act: impl FnOnce(&mut Terminal, &mut Self) -> T) -> Option<T> {
        let mut terminal = self.terminal.take()?;
        let acted = act(&mut terminal, self);
        self.terminal = Some(terminal);
        Some(acted)
    }

    /// Ends the terminal, and all that was started in it.
    pub(crate) fn close_terminal(&mut self, finish: &Result<Finish, DriveError>) -> Result<(), DriveError> {
        let Some(mut terminal) = self.terminal.take() else { return Ok(()) };
        let how = match finish {
            Ok(Finish::Done) => "done".to_owned(),
            Ok(finish) => format!("{finish:?}"),
            Err(error) => error.to_string(),
        };
        terminal.end_session(self, &how)?;
        process::end_leftovers(&self.run);
        Ok(())
    }
}

impl Terminal {
    fn of(
        driver: &mut Driver<'_>,
        current: &Current,
        agent: Interactive,
        place: &Place,
    ) -> Result<Self, SessionError> {
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
        let files = PhaseFile::make(&directory, &elsewhere, driver.wake.bell.clone());
        let files = files.map_err(|source| StartError::PhaseFile { path: directory.clone(), source })?;
        let mut name = format!("dev-{project}-{issue}");
        // What an earlier driver has left is ended by now; this is one of another project that has the same name.
        if Session::is_there(&name).map_err(|error| DriveError::World(spelled(&error)))? {
            name = format!("{name}-{}", run.id);
        }
        let outside: Vec<PathBuf> = files.elsewhere.iter().cloned().chain([tmux::socket(&name)]).collect();
        let left = Left::note(&directory, &outside);
        let _left = left.map_err(|source| StartError::PhaseFile { path: directory, source })?;
        let (idle, place) = (Idle::new(run, driver.now()), place.clone());
        let (session, alarm, seat, told, owed, told_unread) = (None, None, None, None, None, false);
        Ok(Self { place, agent, name, files, session, alarm, seat, told, owed, told_unread, idle, _left })
    }

    /// Takes an agent's turn: it works until the run stands elsewhere.
    pub(crate) fn turn(&mut self, driver: &mut Driver<'_>, current: &Current) -> Result<Flow, DriveError> {
        if self.session.is_none() && !self.may_begin(driver, current)? {
            return Ok(Flow::On);
        }
        self.tell(driver, current)?;
        if let Some(text) = self.owed.take() {
            self.type_in(driver, text)?;
            self.idle.begin(driver.now());
        }
        loop {
            let due = self.due(driver, current);
            match self.wait(driver, due)? {
                Happening::Wrote(sentinel) => self.obey(driver, current, &sentinel)?,
                Happening::Ended => return self.ended(driver, current),
                Happening::Nothing => {}
            }
            self.look_at_spend(driver, current)?;
            if !Self::is_still(driver, current)? {
                return Ok(Flow::On);
            }
            self.look_at_idle(driver, current)?;
        }
    }

    /// Returns when a turn has to be looked at, whatever happens: at the phase's deadline, and where the agent may be idle.
    fn due(&self, driver: &Driver<'_>, current: &Current) -> Option<Time> {
        let idle = self.agent.prompt.map(|_| self.idle.due());
        let deadline = current.run.deadline(&current.workflow).map(|due| after(due, LATE));
        idle.into_iter().chain(deadline.filter(|due| *due > driver.now())).min()
    }

    /// Waits as the run does, for no longer than until a time, and obeys the agent meanwhile.
    pub(crate) fn sleep(&mut self, driver: &mut Driver<'_>, until: Option<Time>) -> Result<(), DriveError> {
        match self.wait(driver, until)? {
            Happening::Wrote(sentinel) => {
                let current = driver.workspace.current()?;
                match current.filter(|current| current.run.standing == Standing::Active) {
                    Some(current) => self.obey(driver, &current, &sentinel),
                    None => Ok(()),
                }
            }
            // It is started again when there is something for it to do.
            Happening::Ended => self.end_session(driver, "ended while it waited"),
            Happening::Nothing => Ok(()),
        }
    }

    /// Tells the agent what has come of its work, where it does not learn that as it is put to work again.
    pub(crate) fn hear(&mut self, driver: &mut Driver<'_>, answer: &Answer) -> Result<(), DriveError> {
        let has_passed = |record: &Record| {
            let phase = record.from.as_ref().unwrap_or(&record.phase);
            let meaning = answer.current.workflow.meaning(phase, record.event.as_str());
            meaning == Some(Meaning::Outcome(JobOutcome::ChecksPassed))
        };
        if answer.records.iter().any(has_passed) { self.type_in(driver, PASSED) } else { Ok(()) }
    }

    /// Sees to it that there is an agent, and that it knows what is to be done in this stay.
    fn tell(&mut self, driver: &mut Driver<'_>, current: &Current) -> Result<(), DriveError> {
        let stay = current.run.stay();
        if self.told.as_ref() == Some(&stay) && self.session.is_some() {
            return Ok(());
        }
        let worker = Worker { agent: self.agent.name.to_owned(), ..Worker::default() };
        let began = Event::TurnStarted { worker };
        let Some(answer) = driver.offer(Actor::Engine, began, Map::new())? else {
            self.seat = self.seat.take().filter(|_| self.session.is_some());
            return Ok(());
        };
        let is_first = current.run.turn.is_none();
        let current = answer.current;
        let workspace = &mut driver.workspace;
        let text = match &self.session {
            Some(_) => context::came_back(&current)?,
            None if is_first => context::first(workspace, &current)?,
            None => context::recovery(workspace, &current, self.files.last.as_ref())?,
        };
        if self.session.is_none() {
            self.start(driver, &current)?;
        }
        self.type_in(driver, &text)?;
        self.idle.begin(driver.now());
        self.told = Some(stay);
        Ok(())
    }

    fn wait(&mut self, driver: &mut Driver<'_>, until: Option<Time>) -> Result<Happening, DriveError> {
        if self.session.as_ref().is_some_and(|session| session.process().is_none()) {
            return Ok(Happening::Ended);
        }
        let process = self.session.as_ref().and_then(Session::process);
        let redraw = driver.show.redraws().map(|every| after(driver.now(), every));
        driver.wake.bell.wait(until.into_iter().chain(redraw).min());
        let woken = self.files.watch.wait(process, Duration::ZERO);
        let woken =
            woken.map_err(|error| DriveError::World(format!("the phase file cannot be watched: {error}")))?;
        driver.show.show(Shown::Tick);
        if woken.written
            && let Some(sentinel) = self.written(driver)
        {
            self.idle.begin(driver.now());
            return Ok(Happening::Wrote(sentinel));
        }
        Ok(if woken.ended { Happening::Ended } else { Happening::Nothing })
    }

    /// Returns what the agent has written. What it has put in place of its file is left alone, which is said once.
    fn written(&mut self, driver: &mut Driver<'_>) -> Option<Sentinel> {
        match self.files.take() {
            Ok(sentinel) => sentinel,
            Err(error) => {
                if !self.told_unread {
                    self.told_unread = true;
                    let path = self.files.path().display().to_string();
                    driver.show.show(Shown::Warned(&format!("`{path}` is not read: {error}")));
                }
                None
            }
        }
    }

    /// Makes an event of what the agent has written.
    fn obey(
        &mut self,
        driver: &mut Driver<'_>,
        current: &Current,
        sentinel: &Sentinel,
    ) -> Result<(), DriveError> {
        driver.show.show(Shown::Did(&format!("the agent writes PHASE:{}", sentinel.word)));
        match current.workflow.means(&current.run, &sentinel.word) {
            Means::Known => Ok(()),
            Means::HandedIn(event) => self.hand_in(driver, current, event),
            Means::Over => self.is_it_over(driver, current),
            Means::Said(event) => {
                let reason = sentinel.reason.iter().map(|reason| ("reason".to_owned(), json!(reason)));
                let data = reason.collect();
                driver.offer(Actor::Agent, Event::Named(event), data)?;
                Ok(())
            }
            Means::Nothing => {
                let phase = &current.run.phase;
                let text = format!("PHASE:{} means nothing while the run is in `{phase}`.", sentinel.word);
                self.type_in(driver, &text)
            }
        }
    }

    /// Looks whether the run still stands where `current` saw it: not stopped, not moved, not due.
    fn is_still(driver: &mut Driver<'_>, current: &Current) -> Result<bool, DriveError> {
        if driver.interrupts.is_asked() {
            return Ok(false);
        }
        driver.check_claim()?;
        if !driver.stands(current)? {
            return Ok(false);
        }
        driver.pass_deadline(current)?;
        Ok(driver.stands(current)?)
    }
}
