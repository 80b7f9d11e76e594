//! The agent's terminal: it is started, typed to, and looked at.

use std::os::fd::OwnedFd;

use adapters::{
    agent::{Route, interactive::Interactive},
    boundary,
    clock::after,
    secrets,
    tmux::{Session, TmuxError},
    watch::Alarm,
};
use engine::{Actor, Event, Run, Usage, WaitKind, keys};
use meter::Refusal;
use project::{Current, spelled};
use serde_json::{Map, Value, json};

use super::{GO_ON, LAST_WORDS, MORE, MOST_NUDGES, NUDGE, READY, READY_EVERY, Terminal, context};
use crate::{
    crew::Hand,
    driver::{DriveError, Driver, Flow},
    ready::waits_at_limits,
    show::Shown,
    spend::{Spend, Spender},
    work::{Given, Talk},
};

impl Terminal {
    /// Looks whether the agent can begin: its pool has no pause, and there is money and a place for it. If it cannot, the
    /// run waits or asks.
    pub(super) fn may_begin(
        &mut self,
        driver: &mut Driver<'_>,
        current: &Current,
    ) -> Result<bool, DriveError> {
        let run = &current.run;
        let by = spender(&self.agent, run);
        driver.open_spend(run)?;
        driver.lift(current, [by.pool].into_iter())?;
        let paused = driver.open_spend(run)?.paused(by.pool)?;
        // A login is fixed by the person in this very terminal.
        if let Some(pause) = paused.filter(|pause| waits_at_limits(current) && !pause.is_closed) {
            driver.suspend(current, WaitKind::Limit, pause.why, Some(pause.until))?;
            return Ok(false);
        }
        let role = current.workflow.phase(&run.phase).and_then(|phase| phase.role.as_deref());
        if let Some(capped) = driver.open_spend(run)?.begin(run, role, &by)? {
            driver.ask_for_more(current, capped)?;
            return Ok(false);
        }
        self.sit_down(driver, current, by.pool)
    }

    /// Takes a place for the agent; where there is none, the run waits.
    fn sit_down(
        &mut self,
        driver: &mut Driver<'_>,
        current: &Current,
        pool: &str,
    ) -> Result<bool, DriveError> {
        let settings = &current.run.settings;
        let mut hands = driver.crew.hands(settings, None)?;
        let hand = Hand { pool: pool.to_owned(), ..hands.swap_remove(0) };
        let asked = driver.asked_seat.take();
        match driver.seat(current, &hand, asked)? {
            Ok(seat) => {
                self.seat = Some(seat);
                Ok(true)
            }
            Err(full) => {
                let until = driver.now().plus_minutes(settings.get(keys::MAX_SESSION_MINUTES));
                driver.suspend(current, WaitKind::Admission, full.to_string(), Some(until))?;
                Ok(false)
            }
        }
    }

    pub(super) fn start(&mut self, driver: &mut Driver<'_>, current: &Current) -> Result<(), DriveError> {
        let mut confined = driver.confined.clone();
        if let Some(walls) = &mut confined.walls {
            walls.writable.push(self.files.shared.clone());
            walls.writable.extend(self.files.elsewhere.clone());
        }
        confined.set_reminder(context::first(&mut driver.workspace, current)?);
        let run = &current.run;
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let mut facts = confined.facts(run);
        facts.push(fact("PHASE_FILE", self.files.path().display().to_string()));
        facts.push(fact("PROJECT_NAME", self.place.name()));
        facts.push(fact("ISSUE", run.issue.clone().unwrap_or_default()));
        let route = self.route(driver, run)?;
        let schema = Value::Null;
        let given = Given { route: route.as_ref(), ..Given::default() };
        let talk = Talk { prompt: "", schema: &schema, resume: None, session: None };
        let turn = confined.turn(run, talk, &facts, &given);
        let inside = self
            .agent
            .inside(&turn, &self.files.directory)
            .map_err(|error| DriveError::World(spelled(&error)))?;
        driver.workspace.sync()?;
        let session = boundary::around("terminal", || {
            Session::start(&self.name, &confined.tree, &self.files.directory, &inside)
        })
        .map_err(world)?;
        let attach = Session::attach(&self.name);
        driver.show.show(Shown::Did(&format!("the agent works in a terminal: `{attach}` looks on")));
        let bell = driver.wake.bell.clone();
        let process = session.process().map(OwnedFd::try_clone).transpose();
        let alarm = process
            .and_then(|process| process.map(|it| Alarm::at_end_of(it, move || bell.ring())).transpose());
        self.alarm =
            alarm.map_err(|error| DriveError::World(format!("the terminal cannot be watched: {error}")))?;
        self.session = Some(session);
        if self.agent.name != "command" {
            self.wait_until_ready(driver, current)?;
        }
        Ok(())
    }

    /// Opens the way for the agent's model traffic.
    fn route(&mut self, driver: &mut Driver<'_>, run: &Run) -> Result<Option<Route>, DriveError> {
        let by = spender(&self.agent, run);
        let bell = driver.wake.bell.clone();
        let spend = driver.open_spend(run)?;
        let route = spend.route(run, &by)?;
        spend.ring(&bell);
        if route.is_none() && self.agent.provider() != "other" && !driver.told_unmetered {
            driver.told_unmetered = true;
            let text = format!(
                "{} is not metered: what it spends in a terminal is not known, and caps hold only before it starts",
                by.agent
            );
            driver.show.show(Shown::Warned(&text));
        }
        Ok(route)
    }

    /// Parks the run if its agent was refused more money. At a limit that lasts for longer than a client waits by itself the
    /// agent is ended, and the run waits.
    pub(super) fn look_at_spend(
        &mut self,
        driver: &mut Driver<'_>,
        current: &Current,
    ) -> Result<(), DriveError> {
        let soon = driver.now().plus_minutes(1);
        let Some(spend) = driver.spend.as_mut() else { return Ok(()) };
        let seen = spend.seen();
        if let Some(capped) = spend.refused_at() {
            spend.forget();
            self.owed = Some(MORE);
            driver.ask_for_more(current, capped)?;
        } else if let Some(Refusal::Failed(words)) = seen.refused {
            spend.forget();
            self.owed = Some(GO_ON);
            driver.escalate(current, &words, &["continue"])?;
        } else if let Some(limit) = seen.limit.filter(|_| waits_at_limits(current))
            && let Some(until) = limit.resets_at.filter(|until| *until > soon)
        {
            let why = format!("the provider's usage limit ({})", limit.words);
            spend.pause(spender(&self.agent, &current.run).pool, until, &why)?;
            self.end_session(driver, "usage limit")?;
            driver.suspend(current, WaitKind::Limit, why, Some(until))?;
        }
        Ok(())
    }

    /// Tells whether the agent's provider keeps it from its work, as far as the proxy sees.
    fn is_kept_waiting(driver: &Driver<'_>, current: &Current) -> bool {
        let seen = driver.spend.as_ref().map(Spend::seen).unwrap_or_default();
        seen.outage.is_some() || (seen.limit.is_some() && waits_at_limits(current))
    }

    /// Waits until the agent can be typed to. One that shows no prompt is typed to all the same; one that asks a person
    /// something waits for them.
    pub(super) fn wait_until_ready(
        &mut self,
        driver: &mut Driver<'_>,
        current: &Current,
    ) -> Result<(), DriveError> {
        let ready = after(driver.now(), READY);
        let mut said = false;
        while let Some(session) = &self.session {
            let seen = session.seen().map_err(world)?;
            let asks = self.agent.asks(&seen);
            if self.agent.is_ready(&seen) || (!asks && driver.now() > ready) {
                return Ok(());
            }
            let Some(process) = session.process() else { return Ok(()) };
            let woken = self.files.watch.wait(Some(process), READY_EVERY);
            if woken.map_err(|error| DriveError::World(error.to_string()))?.ended {
                return Ok(());
            }
            if asks && !said {
                said = true;
                let attach = Session::attach(&self.name);
                let text = format!("the agent asks something before it begins: `{attach}` lets you answer");
                driver.show.show(Shown::Warned(&text));
            }
            if !Self::is_still(driver, current)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Types into the terminal. An agent that has just ended is noticed by the next wait.
    pub(super) fn type_in(&mut self, driver: &mut Driver<'_>, text: &str) -> Result<(), DriveError> {
        let text = driver.confined.told(text);
        match self.session.as_ref().map(|session| session.inject(&text)) {
            None | Some(Ok(())) => Ok(()),
            Some(Err(TmuxError::Failed(why))) => {
                driver.show.show(Shown::Warned(&format!("the terminal did not take it: {why}")));
                Ok(())
            }
            Some(Err(error)) => Err(world(error)),
        }
    }

    /// The agent has ended by itself: a crash, unless it was kept from its work.
    pub(super) fn ended(&mut self, driver: &mut Driver<'_>, current: &Current) -> Result<Flow, DriveError> {
        self.look_at_spend(driver, current)?;
        if driver.stands(current)? {
            return self.crashed(driver, current);
        }
        self.end_session(driver, "ended by itself")?;
        Ok(Flow::On)
    }

    /// Counts a crash. As long as the budget lasts, the agent is started again with what there is to know.
    fn crashed(&mut self, driver: &mut Driver<'_>, current: &Current) -> Result<Flow, DriveError> {
        let words = match self.session.as_ref().map(|session| session.last_words(LAST_WORDS)) {
            Some(Ok(words)) => words,
            Some(Err(error)) => format!("its last words cannot be read: {}", spelled(&error)),
            None => String::new(),
        };
        let words = secrets::redacted(words);
        driver.show.show(Shown::Warned(&format!("the agent exited on its own\n{words}")));
        self.end_session(driver, "crashed")?;
        let workflow = &current.workflow;
        let crashed = workflow.crash_event.as_ref();
        if let Some(tick) = crashed.and_then(|event| workflow.ticks(&current.run.phase, event.as_str())) {
            let data = Map::from_iter([("failure".to_owned(), json!(words))]);
            driver.offer(Actor::Engine, Event::Named(tick.event.clone()), data)?;
        }
        Ok(Flow::On)
    }

    /// An agent that stands at its prompt and says nothing is reminded, and at last given up.
    pub(super) fn look_at_idle(
        &mut self,
        driver: &mut Driver<'_>,
        current: &Current,
    ) -> Result<(), DriveError> {
        let (Some(session), Some(prompt)) = (&self.session, self.agent.prompt) else { return Ok(()) };
        let now = driver.now();
        if now < self.idle.due() {
            return Ok(());
        }
        // A terminal that cannot be seen is one whose program has just ended.
        let Ok(seen) = session.seen() else { return Ok(()) };
        if !self.idle.look(now, &seen, prompt) {
            return Ok(());
        }
        if Self::is_kept_waiting(driver, current) {
            // No fault of the agent's: its client has given up, and tries again when it is typed to.
            self.idle.begin(now);
            driver.show.show(Shown::Warned("provider error; asking the agent to continue"));
            return self.type_in(driver, GO_ON);
        }
        if self.idle.nudges < MOST_NUDGES {
            self.idle.nudged(now);
            driver.show.show(Shown::Warned("the agent is idle; sent a reminder"));
            return self.type_in(driver, NUDGE);
        }
        let data = Map::from_iter([("reason".to_owned(), json!("idle_prompt"))]);
        if let Some(event) = current.workflow.failing_event(&current.run) {
            driver.offer(Actor::Engine, Event::Named(event.clone()), data)?;
        }
        Ok(())
    }

    pub(super) fn end_session(&mut self, driver: &mut Driver<'_>, how: &str) -> Result<(), DriveError> {
        if self.session.take().is_none() {
            return Ok(());
        }
        (self.told, self.owed, self.seat, self.alarm) = (None, None, None, None);
        let usage = match driver.spend.as_mut() {
            Some(spend) => spend.end(&self.name, Usage::default(), None)?,
            None => Usage::default(),
        };
        let (how, brief) = (how.to_owned(), Vec::new());
        let over = Event::TurnEnded { how, session: None, brief, usage, context: 0, is_idle: false };
        driver.offer(Actor::Engine, over, Map::new())?;
        Ok(())
    }
}

/// Says who spends when the agent works.
fn spender<'r>(agent: &Interactive, run: &'r Run) -> Spender<'r> {
    let pool = match run.settings.get(keys::POOL) {
        "auto" => agent.provider(),
        pool => pool,
    };
    Spender { agent: agent.name, pool, is_metered: agent.is_metered() }
}

fn world(error: TmuxError) -> DriveError {
    DriveError::World(spelled(&error))
}
