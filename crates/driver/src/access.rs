//! A provider that serves nobody: a login, a key or a balance is lost, or an outage lasts too long.
//!
//! Nothing is wrong with the work, so nothing of it is skipped. The pool of credentials is closed for all runs, and one
//! question is asked, which has no deadline. When a person has answered it, or a probe shows that the provider serves
//! the agent again, the pool is opened and the run goes on in the same conversation.

use std::time::Duration;

use adapters::{
    agent::{AgentUpdate, MissingAccess, probe},
    clock::after,
    process::{Control, Limits},
    secrets::redacted,
};
use engine::{Actor, Event, PROVIDER, Standing, Time};
use project::{Current, spend::Pause};
use serde_json::Map;

use crate::{
    agents::take_turn,
    crew::Hand,
    driver::{DriveError, Driver, Finish, Flow},
    ready::role,
    show::Shown,
    work::{Given, Talk},
};

/// How often it is tried whether the provider serves the agent again, while a person is waited for.
const PROBE_EVERY: Duration = Duration::from_secs(300);
/// How long one probe may take.
const PROBE_LIMIT: Duration = Duration::from_secs(120);

impl Driver<'_> {
    /// Handles a lost login or an empty balance.
    pub(crate) fn lose_access(
        &mut self,
        current: &Current,
        hand: &Hand,
        lack: MissingAccess,
        words: &str,
    ) -> Result<Flow, DriveError> {
        let remedy = match lack {
            MissingAccess::Login => hand.agent.login_hint(),
            MissingAccess::Credit => "add credit to the account, or log in to another one",
        };
        let problem = format!("{} has no access to its provider ({words}): {remedy}", hand.agent_name());
        self.give_up_on(current, hand, &problem)
    }

    /// Closes the agent's pool. Where no other agent can take over, a person is asked, and the run waits for as long as that
    /// takes.
    pub(crate) fn give_up_on(
        &mut self,
        current: &Current,
        hand: &Hand,
        problem: &str,
    ) -> Result<Flow, DriveError> {
        let problem = redacted(problem.to_owned());
        if let Some(spend) = &self.spend {
            spend.close(&hand.pool, &problem)?;
        }
        let hands = self.crew.hands(&current.run.settings, role(current))?;
        if let Ok(other) = self.choose(current, hands)? {
            let text = format!("{problem}; {} takes over", other.agent_name());
            self.show.show(Shown::Warned(&text));
            return Ok(Flow::On);
        }
        self.ask_about_provider(current, &problem)
    }

    fn ask_about_provider(&mut self, current: &Current, problem: &str) -> Result<Flow, DriveError> {
        if self.stands(current)? {
            let question = Event::QuestionAsked {
                kind: PROVIDER.to_owned(),
                question: format!("`{}` cannot continue: {problem}", current.run.phase),
                options: vec!["continue".to_owned()],
            };
            self.offer(Actor::Engine, question, Map::new())?;
            // It has just failed.
            self.probed = Some(self.now());
        }
        Ok(Flow::On)
    }

    /// Handles a pool that another run has closed: if its provider serves the agent again it is opened. Otherwise the person
    /// at the terminal is asked, and without one the run stays where it is: somebody was asked already.
    pub(crate) fn reopen(
        &mut self,
        current: &Current,
        pause: &Pause,
    ) -> Result<Result<Hand, Flow>, DriveError> {
        if let Some(hand) = self.probe(current)? {
            return Ok(Ok(hand));
        }
        Ok(Err(if self.show.is_attended() {
            self.ask_about_provider(current, &pause.why)?
        } else {
            Flow::End(Finish::Blocked(pause.why.clone()))
        }))
    }

    /// Ends the run's question about its provider, if a probe shows that it serves the agent again; tells whether it does.
    pub(crate) fn is_served_again(&mut self, current: &Current) -> Result<bool, DriveError> {
        if !self.asks_about_provider(current)
            || self.now() < self.next_probe()
            || self.probe(current)?.is_none()
        {
            return Ok(false);
        }
        self.offer(Actor::Engine, Event::WaitOver, Map::new())?;
        Ok(true)
    }

    /// Tells whether a person is asked about the provider.
    pub(crate) fn asks_about_provider(&self, current: &Current) -> bool {
        matches!(&current.run.standing, Standing::Parked { decision } if decision.reason == PROVIDER)
    }

    /// Returns when it makes sense to ask the agent for a word again.
    pub(crate) fn next_probe(&self) -> Time {
        self.probed.map_or(self.now(), |probed| after(probed, PROBE_EVERY))
    }

    /// Asks the agent for one word. If its provider answers, its pool is open again.
    fn probe(&mut self, current: &Current) -> Result<Option<Hand>, DriveError> {
        self.probed = Some(self.now());
        let run = &current.run;
        let role = role(current);
        let Some(hand) = self.crew.hands(&run.settings, role)?.into_iter().next() else { return Ok(None) };
        if !probe::can(hand.agent.as_ref()) {
            return Ok(None);
        }
        let spender = hand.spender();
        let spend = self.open_spend(run)?;
        if spend.begin(run, role, &spender)?.is_some() {
            // There is no money for it.
            return Ok(None);
        }
        let route = spend.route(run, &spender)?;
        self.show.show(Shown::Did(&format!(
            "asks {} for one word, to see whether it has access again",
            hand.agent_name()
        )));
        let durable = self.workspace.sync()?;
        let (confined, schema) = (self.confined.clone(), probe::schema());
        let facts = confined.facts(run);
        let given = Given { model: hand.agent.cheap_model(), effort: Some("low"), route: route.as_ref() };
        let talk = Talk { prompt: probe::PROMPT, schema: &schema, resume: None, session: None };
        let mut turn = confined.turn(run, talk, &facts, &given);
        turn.limits = Limits { whole: PROBE_LIMIT, silence: PROBE_LIMIT };
        turn.mcp = None;
        let interrupts = self.interrupts.clone();
        let mut show = |said: AgentUpdate| {
            if matches!(said, AgentUpdate::Tick(_)) {
                self.show.show(Shown::Tick);
            }
            interrupts.go()
        };
        let ended = take_turn(hand.agent.as_ref(), &turn, &mut |said| show(said).max(Control::On), &durable);
        let id = format!("{}.probe.{}", run.id, self.now().millis());
        let spend = self.open_spend(run)?;
        spend.end(&id, crate::agents::used(&ended, None), given.model)?;
        if !probe::is_served(&ended) {
            return Ok(None);
        }
        spend.lift(&hand.pool)?;
        Ok(Some(hand))
    }
}
