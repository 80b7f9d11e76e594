//! What is known of a channel over the lives of processes: kept in the user's store, which all of them share.
//!
//! There is a stream for what was heard, and one for each run that is told about. Every event holds the whole of what is
//! known then, so the newest is enough.

use std::{path::PathBuf, sync::Arc};

use adapters::{boundary, machine};
use engine::{Owner, Time};
use journal::{
    Appended, LeaseError, NewEvent, OpenError, Query, State, Store, StoreError, StoredEvent, StreamId,
    StreamView, Streams, Version, View,
    streams::{append, retry},
};
use project::{Dirs, Error};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{RunRef, port::Question};

/// How long a lease holds unless it is kept up: longer than any wait for messages.
const HOLDS_MS: i64 = 90_000;
/// How often a lease is tried because its holder is gone.
const TRIES: usize = 5;
/// How many messages are remembered as heard, for those that come again.
const MOST_HEARD: usize = 300;
/// How many questions of a run are remembered after they are closed.
const MOST_CLOSED: usize = 30;
/// How many runs are looked through for a message or for what was left unsent.
pub(crate) const MOST_RUNS: usize = 50;
/// How long it is no news that the channel has answered, or that it has not, in milliseconds.
const NEWS_MS: i64 = 5 * 60 * 1000;
const JUST_NOW_MS: i64 = 60 * 1000;
/// After a week without messages their numbers may begin anew, and lower: a day before that no number is counted on.
const NUMBERS_HOLD_MS: i64 = 6 * 24 * 60 * 60 * 1000;
/// The form in which all of it is written; a higher number is refused.
const FORMAT: u32 = 1;

/// Why notifications do not work.
#[derive(Debug, thiserror::Error)]
pub enum AwayError {
    #[error("the user's store cannot be opened; `warp doctor` says what is wrong with it")]
    Open(#[from] OpenError),
    #[error("the user's store cannot be used; `warp doctor` says what is wrong with it")]
    Store(#[from] StoreError),
    #[error("what is kept of `{stream}` cannot be read: {problem}")]
    Kept { stream: String, problem: String },
    #[error("no random number could be had")]
    Random(#[source] std::io::Error),
    #[error("another process keeps sending for the same run")]
    Contended,
    #[error(transparent)]
    Project(#[from] Error),
}

/// Listening state of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Listening {
    /// The lowest number that was not heard yet.
    pub next: i64,
    heard: Vec<i64>,
    /// When the last message was heard.
    heard_at: Option<Time>,
    /// How many messages came from people who may not decide, and the last of them.
    pub strangers: u64,
    pub stranger: Option<UnknownSender>,
    /// When the channel last answered.
    pub contact: Option<Time>,
    /// What went wrong with it since, and when.
    pub trouble: Option<(String, Time)>,
}

/// Sender of a message that was ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownSender {
    pub place: String,
    pub name: String,
    pub at: Time,
}

impl Listening {
    /// Returns whether a message was already handled.
    pub fn has_heard(&self, number: i64) -> bool {
        self.heard.contains(&number)
    }

    /// Returns the number from which messages are wanted; nothing if the next one may have any. To ask from too high a
    /// number is to have those below it dropped unheard.
    pub(crate) fn from(&self, now: Time) -> Option<i64> {
        let heard_at = self.heard_at.filter(|at| now.millis_since(*at) < NUMBERS_HOLD_MS);
        heard_at.map(|_| self.next)
    }

    pub(crate) fn hear(&mut self, number: i64, now: Time) {
        let after = number.saturating_add(1);
        self.next = self.from(now).map_or(after, |next| next.max(after));
        self.heard_at = Some(now);
        self.heard.push(number);
        let surplus = self.heard.len().saturating_sub(MOST_HEARD);
        self.heard.drain(..surplus);
    }
}

/// Delivery state of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackedRun {
    pub run: String,
    /// A checkout of the run's project.
    pub project: PathBuf,
    /// The number of the event that is to be told next.
    pub next: u64,
    /// How many events the run had when the person went away: of those only where it stands is told.
    #[serde(default)]
    pub(crate) since: u64,
    /// What of that event was posted, and where.
    pub(crate) done: Vec<String>,
    /// Questions that were posted, the newest last.
    pub(crate) asked: Vec<PostedQuestion>,
    /// Whether the run is over, and all of it told.
    pub is_over: bool,
}

/// A posted question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PostedQuestion {
    pub(crate) id: String,
    /// What was asked; not kept once it is closed.
    pub(crate) question: Option<Question>,
    /// Place and name of each message.
    pub(crate) messages: Vec<(String, String)>,
}

impl TrackedRun {
    pub(crate) fn new(of: &RunRef, next: u64, since: u64) -> Self {
        Self {
            run: of.run.clone(),
            project: of.project.clone(),
            next,
            since,
            done: Vec::new(),
            asked: Vec::new(),
            is_over: false,
        }
    }

    pub(crate) fn asked(&self, id: &str) -> Option<&PostedQuestion> {
        self.asked.iter().rev().find(|asked| asked.id == id)
    }

    pub(crate) fn ask(&mut self, question: &Question, place: &str, message: String) {
        let message = (place.to_owned(), message);
        match self.asked.iter_mut().find(|asked| asked.id == question.id) {
            Some(asked) => asked.messages.push(message),
            None => self.asked.push(PostedQuestion {
                id: question.id.clone(),
                question: Some(question.clone()),
                messages: vec![message],
            }),
        }
        let surplus = self.asked.len().saturating_sub(MOST_CLOSED);
        self.asked.drain(..surplus);
    }

    pub(crate) fn close(&mut self, id: &str) {
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.id == id) {
            asked.question = None;
        }
    }

    pub(crate) fn close_all_but(&mut self, open: Option<&str>) {
        for asked in self.asked.iter_mut().filter(|asked| Some(asked.id.as_str()) != open) {
            asked.question = None;
        }
    }

    /// Returns whether a posted question is open.
    pub fn has_open_question(&self) -> bool {
        self.asked.iter().any(|asked| asked.question.is_some())
    }
}

/// Persistent state of one channel.
#[derive(Debug)]
pub struct Memory {
    store: Arc<dyn Store>,
    key: String,
    /// Who has its rights: this process, and this memory of it.
    owner: Owner,
    held: Vec<ChannelLease>,
}

impl Drop for Memory {
    /// Gives back the rights that it still has.
    fn drop(&mut self) {
        for hold in std::mem::take(&mut self.held) {
            // One that stays is taken from this process when it is gone.
            let _ = self.release(&hold);
        }
    }
}

/// A lease for sending or listening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChannelLease {
    name: String,
    generation: u64,
}

#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    format: u32,
    #[serde(flatten)]
    known: T,
}

impl Memory {
    /// Opens the state of the channel with this key.
    pub fn open(dirs: &Dirs, key: String) -> Result<Self, AwayError> {
        let name = machine::random_text(10).map_err(AwayError::Random)?;
        let owner = Owner { session: Some(name), ..machine::owner(std::process::id()) };
        Ok(Self { store: dirs.stores.open(dirs.user_store())?, key, owner, held: Vec::new() })
    }

    /// Returns the channel's listening state.
    pub fn listening(&mut self) -> Result<Listening, AwayError> {
        let stream = self.stream("")?;
        Ok(self.read(&stream)?.map(|(known, _)| known).unwrap_or_default())
    }

    /// Changes what is known of the channel's messages. Only who listens does so, but for what was said last.
    pub(crate) fn listened(
        &mut self,
        name: &str,
        change: impl Fn(&mut Listening),
    ) -> Result<Listening, AwayError> {
        let stream = self.stream("")?;
        retry(AwayError::Contended, || {
            let (mut known, version): (Listening, _) =
                self.read(&stream)?.unwrap_or((Listening::default(), Version::NONE));
            let before = known.clone();
            change(&mut known);
            let is_done = known == before || self.append(name, &stream, &version, &known)?;
            Ok(is_done.then_some(known))
        })
    }

    /// Notes that the channel has answered.
    pub(crate) fn reached(&mut self) -> Result<(), AwayError> {
        let now = machine::now();
        let is_news = |contact: Time| now.millis_since(contact) > NEWS_MS;
        self.listened("away_reached", |known| {
            if known.trouble.is_some() || known.contact.is_none_or(is_news) {
                (known.contact, known.trouble) = (Some(now), None);
            }
        })?;
        Ok(())
    }

    /// Notes that the channel has not answered, or not as it should.
    pub(crate) fn failed(&mut self, why: &str) -> Result<(), AwayError> {
        let now = machine::now();
        let is_news = |(known, at): &(String, Time)| known != why || now.millis_since(*at) > JUST_NOW_MS;
        self.listened("away_failed", |known| {
            if known.trouble.as_ref().is_none_or(is_news) {
                known.trouble = Some((why.to_owned(), now));
            }
        })?;
        Ok(())
    }

    /// Tells whether the channel could not be reached a moment ago.
    pub(crate) fn has_just_failed(&mut self) -> Result<bool, AwayError> {
        let now = machine::now();
        let trouble = self.listening()?.trouble;
        Ok(trouble.is_some_and(|(_, at)| now.millis_since(at) < JUST_NOW_MS))
    }

    /// Returns the delivery state of a run.
    pub fn followed(&mut self, run: &str) -> Result<Option<TrackedRun>, AwayError> {
        let stream = self.stream(run)?;
        Ok(self.read(&stream)?.map(|(known, _)| known))
    }

    /// Keeps what is known of a run. Only who has the right to send does so.
    pub(crate) fn keep(&mut self, name: &str, followed: &TrackedRun) -> Result<(), AwayError> {
        let stream = self.stream(&followed.run)?;
        let version = self.store.load(&stream)?.map_or(Version::NONE, |view| view.version);
        if self.append(name, &stream, &version, followed)? { Ok(()) } else { Err(AwayError::Contended) }
    }

    /// Returns the runs that were told about last, the newest first.
    pub fn runs(&mut self) -> Result<Vec<TrackedRun>, AwayError> {
        let prefix = format!("{}:", self.stream("")?);
        let mut runs = Vec::new();
        for head in self.store.find(Query::Names(&prefix))?.into_iter().take(MOST_RUNS) {
            runs.extend(self.read(&head.stream)?.map(|(known, _)| known));
        }
        Ok(runs)
    }

    /// Takes the right to do something, if no live process has it.
    pub(crate) fn hold(&mut self, what: &str) -> Result<Option<ChannelLease>, AwayError> {
        let name = format!("{}:{what}", self.stream("")?);
        let text = serde_json::to_string(&self.owner).expect("an owner can be written as JSON");
        for _ in 0..TRIES {
            let now = machine::now().millis();
            match self.store.acquire(&name, &text, now, now.saturating_add(HOLDS_MS)) {
                Ok(lease) => {
                    let hold = ChannelLease { name, generation: lease.generation };
                    self.held.push(hold.clone());
                    return Ok(Some(hold));
                }
                Err(LeaseError::Held { owner, .. }) => {
                    let owner: Option<Owner> = serde_json::from_str(&owner).ok();
                    if owner.as_ref().is_none_or(machine::is_live) {
                        return Ok(None);
                    }
                    if let Some(lease) = self.store.lease(&name)? {
                        self.release(&ChannelLease { name: name.clone(), generation: lease.generation })?;
                    }
                }
                Err(LeaseError::Stale { .. }) => {}
                Err(LeaseError::Store(error)) => return Err(error.into()),
            }
        }
        Ok(None)
    }

    /// Keeps a right up; tells whether it is still this process's.
    pub(crate) fn renew(&mut self, hold: &ChannelLease) -> Result<bool, AwayError> {
        let until = machine::now().millis().saturating_add(HOLDS_MS);
        match self.store.renew(&hold.name, hold.generation, until) {
            Ok(_) => Ok(true),
            Err(LeaseError::Store(error)) => Err(error.into()),
            Err(LeaseError::Stale { .. } | LeaseError::Held { .. }) => Ok(false),
        }
    }

    /// Gives a right back. One that was lost is not this process's to give back.
    pub(crate) fn release(&mut self, hold: &ChannelLease) -> Result<(), AwayError> {
        self.held.retain(|held| held != hold);
        match self.store.release(&hold.name, hold.generation) {
            Err(LeaseError::Store(error)) => Err(error.into()),
            Ok(()) | Err(LeaseError::Stale { .. } | LeaseError::Held { .. }) => Ok(()),
        }
    }

    /// Returns the process that holds the listening lease.
    pub fn listener(&mut self) -> Result<Option<u32>, AwayError> {
        let name = format!("{}:{LISTEN}", self.stream("")?);
        let now = machine::now().millis();
        let lease = self.store.lease(&name)?.filter(|lease| now < lease.expires_at);
        let owner: Option<Owner> = lease.and_then(|lease| serde_json::from_str(&lease.owner).ok());
        Ok(owner.filter(machine::is_live).map(|owner| owner.pid))
    }

    fn stream(&self, run: &str) -> Result<StreamId, AwayError> {
        let name =
            if run.is_empty() { format!("away:{}", self.key) } else { format!("away:{}:{run}", self.key) };
        StreamId::parse(name.clone())
            .map_err(|error| AwayError::Kept { stream: name, problem: error.to_string() })
    }

    fn read<T: DeserializeOwned>(&self, stream: &StreamId) -> Result<Option<(T, Version)>, AwayError> {
        let loaded = Streams::<LatestEvent<T>>::of(Arc::clone(&self.store)).load(stream)?;
        Ok(loaded.map(|loaded| (loaded.state.0, loaded.version)))
    }

    /// Appends what is known; tells whether nobody else was faster.
    fn append<T: Serialize>(
        &self,
        name: &str,
        stream: &StreamId,
        version: &Version,
        known: &T,
    ) -> Result<bool, AwayError> {
        let body =
            serde_json::to_vec(&Versioned { format: FORMAT, known }).expect("it can be written as JSON");
        let event = NewEvent { at: machine::now().millis(), kind: name.to_owned(), body: body.clone() };
        let view = View { snapshot: &body, ..View::default() };
        let store = &*self.store;
        match boundary::around(name, || append(store, stream, version, &[event], view))? {
            Appended::Done(_) => {
                store.flush()?;
                Ok(true)
            }
            Appended::Moved => Ok(false),
            Appended::MarkTaken(_) => unreachable!("there is no mark"),
        }
    }
}

/// The state in a stream's newest event.
struct LatestEvent<T>(T);

impl<T: DeserializeOwned> LatestEvent<T> {
    fn parse(stream: &StreamId, bytes: &[u8]) -> Result<Self, AwayError> {
        let bad = |problem: String| AwayError::Kept { stream: stream.to_string(), problem };
        let kept: Versioned<serde_json::Value> =
            serde_json::from_slice(bytes).map_err(|error| bad(error.to_string()))?;
        if kept.format > FORMAT {
            return Err(bad(format!(
                "it has form {}, this program knows {FORMAT}: upgrade warp",
                kept.format
            )));
        }
        serde_json::from_value(kept.known).map(Self).map_err(|error| bad(error.to_string()))
    }
}

impl<T: DeserializeOwned> State for LatestEvent<T> {
    type Fold = Vec<u8>;
    type Error = AwayError;

    fn from_snapshot(view: &StreamView) -> Result<Option<Self>, AwayError> {
        // A repair may keep none.
        if view.snapshot.is_empty() { Ok(None) } else { Self::parse(&view.stream, &view.snapshot).map(Some) }
    }

    fn add(newest: &mut Vec<u8>, event: &StoredEvent) -> Result<(), AwayError> {
        newest.clone_from(&event.body);
        Ok(())
    }

    fn finish(stream: &StreamId, newest: Vec<u8>) -> Result<Self, AwayError> {
        Self::parse(stream, &newest)
    }
}

/// The right to listen.
pub(crate) const LISTEN: &str = "listen";

/// The right to send for a run.
pub(crate) fn send(run: &str) -> String {
    format!("send:{run}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_week_of_silence_lower_numbers_are_heard_too() {
        let begun = Time::parse("2026-03-01T12:00:00Z").unwrap();
        let days = |days: u64| begun.plus_minutes(days * 24 * 60);
        let mut listening = Listening::default();
        assert_eq!(listening.from(begun), None);
        listening.hear(900, begun);
        // What comes late is no newer.
        listening.hear(899, begun);
        assert_eq!(listening.from(days(5)), Some(901));
        assert_eq!(listening.from(days(7)), None);
        listening.hear(12, days(7));
        assert_eq!(listening.from(days(8)), Some(13));
    }
}
