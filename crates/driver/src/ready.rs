//! Before a turn: who works, whether there is money for it, and whether there is a place. After it: what kept the agent
//! from its answer without being its fault.

use adapters::{
    agent::{NoAnswer, TurnResult},
    clock::after,
    secrets,
};
use engine::{Act, Actor, Capped, Event, Setbacks, Time, WaitKind, keys};
use project::{
    Current,
    admission::{self, Limits, Seat},
    spend::Pause,
};
use serde_json::Map;
use std::time::Duration;

use crate::{
    crew::Hand,
    driver::{DriveError, Driver, Flow},
    show::Shown,
    spend::Hurdle,
};

/// How long to wait after the first sign of trouble, and at most, in seconds.
const FIRST_PAUSE: u64 = 2;
const LONGEST_PAUSE: u64 = 300;

/// An agent that can begin.
pub(crate) struct Ready {
    pub(crate) hand: Hand,
    /// None if a person wants it to go on without one.
    _seat: Option<Seat>,
}

/// A place that was asked for, and is waited for.
pub(crate) struct Asked {
    limits: Limits,
    project: String,
    pool: String,
    seat: Option<Seat>,
}

/// Returns when it makes sense to try again after waits that came to nothing: later each time.
fn next_try(setbacks: &Setbacks, now: Time) -> Time {
    let doubled = u32::try_from(setbacks.count).ok().and_then(|count| 1_u64.checked_shl(count));
    let seconds = FIRST_PAUSE.saturating_mul(doubled.unwrap_or(u64::MAX)).min(LONGEST_PAUSE);
    after(now, Duration::from_secs(seconds))
}

fn is_too_long(setbacks: &Setbacks, current: &Current, now: Time) -> bool {
    let longest = current.run.settings.get(keys::OUTAGE_MINUTES);
    setbacks.since.is_some_and(|since| now >= since.plus_minutes(longest))
}

impl Driver<'_> {
    /// Finds an agent that can begin; where none can, the run waits or asks, and the loop looks again.
    pub(crate) fn ready(&mut self, current: &Current) -> Result<Result<Ready, Flow>, DriveError> {
        // A place that was waited for is taken or given back: nobody holds one who does not begin.
        let asked = self.asked_seat.take();
        let run = &current.run;
        let role = role(current);
        let hands = self.crew.hands(&run.settings, role)?;
        self.open_spend(run)?;
        let hand = match self.choose(current, hands)? {
            Ok(hand) => hand,
            Err(pause) if pause.is_closed => match self.reopen(current, &pause)? {
                Ok(hand) => hand,
                Err(flow) => return Ok(Err(flow)),
            },
            Err(pause) => {
                return Ok(Err(self.suspend(current, WaitKind::Limit, pause.why, Some(pause.until))?));
            }
        };
        let spend = self.spend.as_mut().expect("it was opened above");
        if let Some(capped) = spend.begin(run, role, &hand.spender())? {
            return Ok(Err(self.ask_for_more(current, capped)?));
        }
        Ok(match self.seat(current, &hand, asked)? {
            Ok(seat) => Ok(Ready { hand, _seat: Some(seat) }),
            Err(_) if current.run.facts.access.lifted == Some(WaitKind::Admission) => {
                Ok(Ready { hand, _seat: None })
            }
            Err(full) => {
                let until = self.now().plus_minutes(run.settings.get(keys::MAX_SESSION_MINUTES));
                Err(self.suspend(current, WaitKind::Admission, full.to_string(), Some(until))?)
            }
        })
    }

    /// Returns the best that may work now, or when the first of them may and why not before.
    pub(crate) fn choose(
        &mut self,
        current: &Current,
        mut hands: Vec<Hand>,
    ) -> Result<Result<Hand, Pause>, DriveError> {
        if hands.len() > 1 {
            // Whoever's provider has just failed steps back.
            let failed = current.run.facts.access.outages.count as usize % hands.len();
            hands.rotate_left(failed);
        }
        self.lift(current, hands.iter().map(|hand| hand.pool.as_str()))?;
        let waits = waits_at_limits(current);
        let spend = self.spend.as_ref().expect("it is opened before anybody is chosen");
        let mut first: Option<Pause> = None;
        for hand in hands {
            let Some(pause) = spend.paused(&hand.pool)?.filter(|pause| waits || pause.is_closed) else {
                return Ok(Ok(hand));
            };
            if first.as_ref().is_none_or(|first| pause.until < first.until) {
                first = Some(pause);
            }
        }
        Ok(Err(first.expect("a crew has at least one")))
    }

    pub(crate) fn seat(
        &mut self,
        current: &Current,
        hand: &Hand,
        asked: Option<Asked>,
    ) -> Result<Result<Seat, admission::Full>, DriveError> {
        let asked = asked.filter(|asked| asked.pool == hand.pool);
        if let Some(seat) = asked.and_then(|asked| asked.seat) {
            return Ok(Ok(seat));
        }
        let limits = Limits::of(&current.run.settings);
        let project = self.workspace.place.ensure_project_id().map_err(project::Error::from)?;
        let entered = admission::enter(&self.workspace.dirs, &limits, &project, &hand.pool)?;
        if entered.is_err() {
            self.asked_seat = Some(Asked { limits, project, pool: hand.pool.clone(), seat: None });
        }
        Ok(entered)
    }

    /// Tells whether the place that is waited for is there. Where nothing is known of it, the loop asks again.
    pub(crate) fn has_seat(&mut self) -> Result<bool, DriveError> {
        let Some(asked) = self.asked_seat.as_mut() else { return Ok(true) };
        if asked.seat.is_none() {
            let entered = admission::enter(&self.workspace.dirs, &asked.limits, &asked.project, &asked.pool)?;
            asked.seat = entered.ok();
        }
        Ok(asked.seat.is_some())
    }

    /// Asks a person whether more may be spent.
    pub(crate) fn ask_for_more(&mut self, current: &Current, capped: Capped) -> Result<Flow, DriveError> {
        if self.stands(current)? {
            self.offer(Actor::Engine, Event::CapReached { capped }, Map::new())?;
        }
        Ok(Flow::On)
    }

    /// Handles what kept an agent from its answer, if the agent did not cause it: a cap, a usage limit, an outage.
    pub(crate) fn handle_provider_failure(
        &mut self,
        current: &Current,
        hand: &Hand,
        ended: &TurnResult,
    ) -> Result<Option<Flow>, DriveError> {
        let Some(hurdle) = self.spend.as_ref().and_then(|spend| spend.hurdle(ended)) else { return Ok(None) };
        Ok(match hurdle {
            Hurdle::Cap(capped) => Some(self.ask_for_more(current, capped)?),
            Hurdle::Ledger(words) => Some(self.escalate(current, &words, &["continue"])?),
            Hurdle::NoAccess { lack, words } => Some(self.lose_access(current, hand, lack, &words)?),
            Hurdle::Limit { resets_at, words } if waits_at_limits(current) => {
                Some(self.wait_for_reset(current, hand, resets_at, &words)?)
            }
            Hurdle::Limit { words, .. } => {
                let problem = format!("the provider's usage limit ({words})");
                Some(self.give_up_on(current, hand, &problem)?)
            }
            Hurdle::Outage(words) => Some(self.sit_out(current, hand, &words)?),
        })
    }

    /// Lets every run of a pool wait until its provider lets it in again. What has no end that is told and takes too long is
    /// put to a person.
    fn wait_for_reset(
        &mut self,
        current: &Current,
        hand: &Hand,
        resets_at: Option<Time>,
        words: &str,
    ) -> Result<Flow, DriveError> {
        let why = format!("the provider's usage limit ({words})");
        let limits = &current.run.facts.access.limits;
        if resets_at.is_none() && is_too_long(limits, current, self.now()) {
            return self.give_up_on(current, hand, &why);
        }
        // A time that is past, or a moment away, must not make the agents start again and again.
        let until = resets_at
            .map_or(next_try(limits, self.now()), |resets_at| resets_at.max(next_try(limits, self.now())));
        if let Some(spend) = &self.spend {
            spend.pause(&hand.pool, until, &why)?;
        }
        let hands = self.crew.hands(&current.run.settings, role(current))?;
        match self.choose(current, hands)? {
            // Another takes over.
            Ok(_) => Ok(Flow::On),
            Err(pause) => self.suspend(current, WaitKind::Limit, pause.why, Some(pause.until)),
        }
    }

    /// Does without an agent that turned out not to be installed, if another can take over; tells whether one can.
    pub(crate) fn is_replaced(
        &mut self,
        current: &Current,
        hand: &Hand,
        ended: &TurnResult,
    ) -> Result<bool, DriveError> {
        let Err(missing @ NoAnswer::Missing { .. }) = &ended.answer else { return Ok(false) };
        let is_replaced = self.crew.lose(&current.run.settings, role(current), &hand.name)?;
        if is_replaced {
            let text = secrets::redacted(format!("{missing}; another takes over"));
            self.show.show(Shown::Warned(&text));
        }
        Ok(is_replaced)
    }

    /// Waits for a provider that fails, longer each time; in the end a person is asked.
    fn sit_out(&mut self, current: &Current, hand: &Hand, words: &str) -> Result<Flow, DriveError> {
        let outages = &current.run.facts.access.outages;
        if is_too_long(outages, current, self.now()) {
            let longest = current.run.settings.get(keys::OUTAGE_MINUTES);
            let problem = format!("the provider has failed for longer than {longest} minutes: {words}");
            return self.give_up_on(current, hand, &problem);
        }
        let why = format!("the provider fails ({words})");
        self.suspend(current, WaitKind::Outage, why, Some(next_try(outages, self.now())))
    }

    /// Lets pools be used again before their time, if the run's wait for one or its question about one was just ended.
    pub(crate) fn lift<'p>(
        &mut self,
        current: &Current,
        mut pools: impl Iterator<Item = &'p str>,
    ) -> Result<(), DriveError> {
        let access = &current.run.facts.access;
        if (access.lifted == Some(WaitKind::Limit) || access.was_asked)
            && let Some(spend) = &self.spend
        {
            pools.try_for_each(|pool| spend.lift(pool))?;
        }
        Ok(())
    }
}

/// Returns the role that the phase asks for.
pub(crate) fn role(current: &Current) -> Option<&str> {
    match current.run.act() {
        Act::Agent { role, .. } => role.as_deref(),
        // A second look.
        Act::Nothing | Act::Job(_) | Act::Person { .. } | Act::Wait { .. } => None,
    }
}

pub(crate) fn waits_at_limits(current: &Current) -> bool {
    current.run.settings.get(keys::PAUSE_AT_LIMIT)
}
