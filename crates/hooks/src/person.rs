//! Waiting for a person: for what they decide, or until the time for that is up.
//!
//! A run in the agent can wait in a hook: in one that the client waits for if the person is away, else in one in the
//! background. What comes of it is the run's alone: an answer counts by whatever way it came, and a question that nobody has
//! answered in time is put off.

use std::{sync::Arc, time::Duration};

use adapters::{clock::after, machine, watch::Alarm};
use engine::{Actor, Event, Standing, Time, keys, view};
use project::{AskError, Current, Decided, Overdue, Workspace};
use serde_json::Map;

use crate::Failure;

/// The longest that a hook waits, whatever the settings say: the client would end it after an hour, and go on.
pub(crate) const AN_HOUR: Duration = Duration::from_secs(55 * 60);
/// The longest that a hook in the background waits: the client would end it after a day.
pub(crate) const A_DAY: Duration = Duration::from_secs(23 * 60 * 60);
/// How often it is looked whether the client is there, where the system does not tell of its end.
const LOOKING: Duration = Duration::from_secs(1);
/// A question is overdue so much later than its deadline.
const A_MOMENT: Duration = Duration::from_millis(1);
/// How long the end waits for what is left to be sent.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(3);

/// How a question ended.
pub(crate) enum End {
    Decided(Decided),
    /// Nobody has answered in time, and its chunk is put off; why.
    PutOff(String),
    /// Nobody has answered in time, and the run goes on as its workflow says.
    Over,
    /// Nobody has answered yet, and the run waits on.
    Late,
    /// The run went on without an answer.
    Gone,
}

/// Returns the decision that is open, and until when it is waited for.
pub(crate) fn open(current: &Current) -> Option<(String, Time)> {
    let run = &current.run;
    let asked = view::asked(&current.workflow, run)?;
    let since = match &run.standing {
        Standing::Parked { decision } => decision.asked_at,
        Standing::Active | Standing::Suspended { .. } | Standing::Stopped | Standing::Ended { .. } => {
            run.phase_started_at
        }
    };
    let minutes = run.settings.get(keys::DECISION_TIMEOUT_MINUTES);
    Some((asked.id, run.question_deadline().unwrap_or_else(|| since.plus_minutes(minutes))))
}

/// Waits until a decision is made or its time is up, and acts on that. It ends when the client does.
pub(crate) fn wait(workspace: &mut Workspace, id: &str, latest: Time) -> Result<End, Failure> {
    let client = machine::parent();
    let clock = workspace.dirs.clock.clone();
    let bell = clock.bell();
    let (rung, ended) = (bell.clone(), bell.clone());
    let _journals = workspace.subscribe(Arc::new(move || rung.ring()))?;
    let watched = Alarm::at_parents_end(move || ended.ring());
    loop {
        let open = workspace.current()?.and_then(|current| open(&current)).filter(|(open, _)| open == id);
        let Some((_, until)) = open else {
            let run = id.rsplit_once('.').map_or(id, |(run, _)| run);
            let Some(current) = workspace.select(Some(run))? else { return Ok(End::Gone) };
            return Ok(workspace.decided(&current, id)?.map_or(End::Gone, End::Decided));
        };
        if clock.now() > until {
            return match put_off(workspace)? {
                End::Late => end_phase(workspace),
                ended @ (End::Decided(_) | End::PutOff(_) | End::Over | End::Gone) => Ok(ended),
            };
        }
        if clock.now() >= latest || machine::parent() != client {
            return Ok(End::Late);
        }
        let look = watched.is_err().then(|| after(clock.now(), LOOKING));
        bell.wait([latest, after(until, A_MOMENT)].into_iter().chain(look).min());
    }
}

/// Acts on an open question whose time is up.
pub(crate) fn put_off(workspace: &mut Workspace) -> Result<End, Failure> {
    Ok(match workspace.put_off()? {
        Some(Overdue::PutOff { why, .. }) => End::PutOff(why),
        Some(Overdue::Decided(decided)) => End::Decided(decided),
        Some(Overdue::Gone) => End::Gone,
        None => End::Late,
    })
}

/// Leaves a phase that is a person's if its time is up.
fn end_phase(workspace: &mut Workspace) -> Result<End, Failure> {
    match workspace.ask_as(Actor::Engine, Event::DeadlinePassed, Map::new()) {
        Ok(answer) if open(&answer.current).is_none() => Ok(End::Over),
        // It waits on for a person, or its time is not up.
        Ok(_) | Err(AskError::Refused(_)) => Ok(End::Late),
        Err(AskError::NoRun) => Ok(End::Gone),
        Err(AskError::Failed(error)) => Err(error.into()),
    }
}

/// Says that a chunk is put off, to the agent that worked on it.
pub(crate) fn put_off_words(why: &str) -> String {
    format!("The person is away: {why}. The chunk is skipped; leave it, and continue without asking again.")
}
