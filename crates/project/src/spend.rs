//! What was spent, and whether more may be: the ledger in the user's store.
//!
//! All processes of a user write into one ledger, so that a cap of a project, of a pool or of a day holds for all of
//! them together. It has a stream for each day in UTC. A request belongs to the day on which it went out, whenever it
//! is booked. Each process folds the days that it needs once, and from then on only what is new.
//!
//! Invariants:
//! - A request goes out only after it is on disk, decided on all that was on disk before it: of two processes that
//!   ask at once one is recorded first, and the other is decided again with it in the sums.
//! - What was booked survives the death of whoever booked it.
//! - A ledger that cannot be read or written lets nothing out.

mod meter;
mod more;
mod pools;
mod reserve;
pub(crate) mod session;
pub mod transcripts;

use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc};

use adapters::{boundary, machine};
use engine::{
    Key, Settings, Time, Usage, keys,
    ledger::{BadPrices, Books, CapReached, Entry},
};
use journal::{
    Appended, NewEvent, OpenError, Query, Store, StoreError, StreamId, Version, View,
    streams::{append, read_all, retry},
};
use serde::{Deserialize, Serialize};

pub use engine::ledger::{Cap, Caps, Pause, Prices, Scope, Tags};
pub use meter::Meter;
pub use more::{More, MoreError};
pub use reserve::Expected;
pub use session::BookSessionError;

use crate::{Dirs, text};
use transcripts::Message;

/// How the names of the days' streams begin.
const DAYS: &str = "ledger:";
/// The largest price list that is read, in bytes.
const LARGEST_PRICES: u64 = 1024 * 1024;
/// The form in which entries are written. One that counts otherwise has a higher number, and is refused.
const FORMAT: u32 = 1;

/// The ledger, open.
#[derive(Debug)]
pub struct Ledger {
    store: Arc<dyn Store>,
    prices: Prices,
    books: Books,
    /// The name under which requests that are sent from here hold what they are expected to use.
    holder: String,
    /// How far each day has been read.
    read: BTreeMap<String, Version>,
    /// From which day on days are followed, if any are.
    since: Option<String>,
    /// The day on which it was last looked which days there are.
    looked: String,
}

/// Why the ledger cannot be used. Nothing is spent without it.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the ledger cannot be opened; `warp doctor` says what is wrong with it")]
    Open(#[from] OpenError),
    #[error("the ledger cannot be used; `warp doctor` says what is wrong with it")]
    Store(#[from] StoreError),
    #[error("entry {seq} of {day} in the ledger cannot be read: {problem}")]
    Entry { day: String, seq: u64, problem: String },
    #[error("entry {seq} of {day} in the ledger has form {found}, this program knows {FORMAT}: upgrade warp")]
    Newer { day: String, seq: u64, found: u32 },
    #[error("the price list `{}` cannot be used; correct it or take it away", path.display())]
    Prices {
        path: PathBuf,
        #[source]
        source: BadPrices,
    },
    #[error("the price list `{}` cannot be read; correct it or take it away", path.display())]
    ReadPrices {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the ledger knows no request `{ticket}`")]
    NoRequest { ticket: String },
    #[error("the ledger is busy; try again")]
    Contended,
    #[error("no random number could be had for a request's name")]
    Random(#[source] io::Error),
}

/// Why a request does not go out.
#[derive(Debug, thiserror::Error)]
pub enum AdmitError {
    #[error("{0}")]
    Cap(CapReached),
    /// The cap has no room for what it is expected to use, until requests that are under way have ended.
    #[error("{0}, with what is under way")]
    Full(CapReached),
    #[error(transparent)]
    Failed(#[from] LedgerError),
}

/// Reads the caps from settings; zero is none.
pub fn caps(settings: &Settings) -> Caps {
    let cap = |usd: Key<f64>, tokens| {
        // What is less than the smallest amount is a cap all the same, and so is what does not fit.
        let micro_usd = (settings.get(usd) * 1_000_000.0).ceil() as u64;
        let some = |limit: u64| Some(limit).filter(|limit| *limit > 0);
        Cap { micro_usd: some(micro_usd), tokens: some(settings.get(tokens)) }
    };
    Caps {
        run: cap(keys::BUDGET_LIMIT_USD, keys::BUDGET_LIMIT_TOKENS),
        project: cap(keys::PROJECT_DAILY_USD, keys::PROJECT_DAILY_TOKENS),
        pool: cap(keys::POOL_DAILY_USD, keys::POOL_DAILY_TOKENS),
        day: cap(keys::DAILY_USD, keys::DAILY_TOKENS),
    }
}

impl Ledger {
    /// Opens the user's ledger, and makes it if there is none.
    pub fn open(dirs: &Dirs) -> Result<Self, LedgerError> {
        Ok(Self::of(dirs.stores.open(dirs.user_store())?, prices(dirs)?))
    }

    /// Opens the user's ledger; none if nothing was ever spent.
    pub fn open_existing(dirs: &Dirs) -> Result<Option<Self>, LedgerError> {
        let prices = prices(dirs)?;
        Ok(dirs.stores.open_existing(dirs.user_store())?.map(|store| Self::of(store, prices)))
    }

    fn of(store: Arc<dyn Store>, prices: Prices) -> Self {
        Self {
            store,
            prices,
            books: Books::default(),
            holder: reserve::holder(),
            read: BTreeMap::new(),
            since: None,
            looked: String::new(),
        }
    }

    /// Reads the days from `since` on, and follows them from then on. A run is counted over the days that are followed.
    pub fn follow(&mut self, since: Time) -> Result<(), LedgerError> {
        let since = since.day();
        let earlier = self.since.take().filter(|known| *known < since);
        self.find_days(earlier.unwrap_or(since))?;
        self.refresh()
    }

    /// Follows what days there are from `since` on.
    fn find_days(&mut self, since: String) -> Result<(), LedgerError> {
        for head in self.store.find(Query::Names(DAYS))? {
            if let Some(day) = head.stream.as_str().strip_prefix(DAYS)
                && day >= since.as_str()
            {
                self.read.entry(day.to_owned()).or_insert(Version::NONE);
            }
        }
        self.since = Some(since);
        Ok(())
    }

    /// Reads what others have written since, also on days that have begun and passed since it was last looked.
    fn refresh_on(&mut self, today: &str) -> Result<(), LedgerError> {
        if let Some(since) = self.since.clone()
            && self.looked != today
        {
            self.find_days(since)?;
            today.clone_into(&mut self.looked);
        }
        self.refresh()
    }

    /// Reads what others have written since.
    pub fn refresh(&mut self) -> Result<(), LedgerError> {
        let days: Vec<String> = self.read.keys().cloned().collect();
        days.iter().try_for_each(|day| self.catch_up(day))
    }

    /// Returns what was spent on the days that are followed, as far as they were read.
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// Returns the price list.
    pub fn prices(&self) -> &Prices {
        &self.prices
    }

    /// Returns why no further request may go out, if there is a cap that says so.
    pub fn refusal(
        &mut self,
        now: Time,
        tags: &Tags,
        caps: &Caps,
    ) -> Result<Option<CapReached>, LedgerError> {
        let today = now.day();
        self.catch_up(&today)?;
        self.refresh_on(&today)?;
        Ok(self.books.refusal(&today, tags, caps))
    }

    /// Lets a request out, and records it with what it will use at least; refuses it at a cap. Returns its ticket.
    ///
    /// An agent's only request goes out until the cap is reached. Any other one needs room for what it is expected to
    /// use, which it holds until it is over.
    pub fn admit(
        &mut self,
        now: Time,
        tags: &Tags,
        caps: &Caps,
        model: &str,
        expected: impl Into<Expected>,
    ) -> Result<String, AdmitError> {
        let today = now.day();
        let request = machine::random_text(16).map_err(LedgerError::Random)?;
        let price = self.prices.of(model);
        let cost = |usage: Usage| Usage { micro_usd: price.cost(&usage), ..usage };
        let expected: Expected = expected.into();
        let holder = self.holder.clone();
        // Earlier days of the run change only by what is still booked there.
        self.refresh_on(&today)?;
        loop {
            let admitted = self.record(now, &today, |books| {
                if let Some(reached) = books.refusal(&today, tags, caps) {
                    return Err(AdmitError::Cap(reached));
                }
                let reserve = cost(expected.usual(books.typical_output(model)));
                let needs_room = books.is_busy(&holder, tags);
                if let Some(full) = books.full(&today, tags, caps, &reserve).filter(|_| needs_room) {
                    return Err(AdmitError::Full(full));
                }
                Ok(Some(Entry::Opened {
                    request: request.clone(),
                    tags: tags.clone(),
                    model: model.to_owned(),
                    estimate: cost(expected.least),
                    reserve: Some(reserve),
                    holder: holder.clone(),
                    is_price_estimated: price.is_estimated,
                }))
            });
            match admitted {
                Ok(()) => return Ok(format!("{today}/{request}")),
                Err(AdmitError::Full(_)) if self.release_the_dead(now, &today)? => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Records what a request has used so far, the whole of it. To book the same again changes nothing.
    pub fn book(&mut self, now: Time, ticket: &str, usage: Usage, is_over: bool) -> Result<(), LedgerError> {
        self.book_as(now, ticket, usage, is_over, false)
    }

    /// Records that a request is over whose usage was never told, and the most that it can be.
    pub fn book_at_most(&mut self, now: Time, ticket: &str, most: Usage) -> Result<(), LedgerError> {
        self.book_as(now, ticket, most, true, true)
    }

    fn book_as(
        &mut self,
        now: Time,
        ticket: &str,
        usage: Usage,
        is_over: bool,
        is_bound: bool,
    ) -> Result<(), LedgerError> {
        let unknown = || LedgerError::NoRequest { ticket: ticket.to_owned() };
        let (day, request) = ticket.split_once('/').ok_or_else(unknown)?;
        let prices = self.prices.clone();
        self.record(now, day, |books| {
            let (model, booking) = books.request(day, request).ok_or_else(unknown)?;
            let usage = Usage { micro_usd: prices.of(model).cost(&usage), ..usage };
            let is_known =
                |booking: engine::ledger::Booking| booking.is_over || (booking.usage == usage && !is_over);
            let number = match booking {
                Some(booking) if is_known(booking) => return Ok(None),
                Some(booking) => booking.number + 1,
                None => 1,
            };
            Ok(Some(Entry::Booked { request: request.to_owned(), number, usage, is_over, is_bound }))
        })
    }

    /// Records what an agent says that it has used, where its requests could not be seen; returns it with its price.
    /// `report` names the piece of work: the same is booked once.
    pub fn book_report(
        &mut self,
        now: Time,
        report: &str,
        tags: &Tags,
        usage: Usage,
        model: &str,
    ) -> Result<Usage, LedgerError> {
        let price = self.prices.of(model);
        let own = usage.micro_usd > 0;
        let usage = if own { usage } else { Usage { micro_usd: price.cost(&usage), ..usage } };
        let report = format!("report:{report}");
        self.record::<LedgerError, _>(now, &now.day(), |books| {
            if books.has_report(&report) {
                return Ok(None);
            }
            Ok(Some(Entry::Reported {
                report: report.clone(),
                tags: tags.clone(),
                model: model.to_owned(),
                usage,
                is_price_estimated: !own && price.is_estimated,
            }))
        })?;
        Ok(usage)
    }

    /// Records what an agent's transcripts say of a run's answers of one day, the whole of each. To book the same again
    /// changes nothing, whatever its tags: an answer is known by its id, and counts where it was first booked.
    pub fn book_answers(
        &mut self,
        now: Time,
        day: &str,
        answers: &[(Tags, &Message)],
    ) -> Result<(), LedgerError> {
        let prices = self.prices.clone();
        self.record(now, day, |books| {
            let entry = |(tags, message): &(Tags, &Message)| {
                let report = format!("session:{}:{}", tags.run, message.id);
                let known = books.request(day, &report).and_then(|(_, booking)| booking);
                if known.is_some_and(|known| known.usage.tokens() >= message.usage.tokens()) {
                    return None;
                }
                let price = prices.of(&message.model);
                Some(Entry::Reported {
                    report,
                    tags: tags.clone(),
                    model: message.model.clone(),
                    usage: Usage { micro_usd: price.cost(&message.usage), ..message.usage },
                    is_price_estimated: price.is_estimated,
                })
            };
            Ok(answers.iter().filter_map(entry).collect::<Vec<_>>())
        })
    }

    /// Lets more be spent than a cap says, by a person's decision: for a run while it lasts, for anything else on this
    /// day. The same decision, asked for at `asked`, raises once, whatever day it is answered on. `name` is the run,
    /// project or pool; a day has none.
    pub fn raise(
        &mut self,
        now: Time,
        (decision, asked): (&str, Time),
        cap: Scope,
        name: &str,
        micro_usd: u64,
        tokens: u64,
    ) -> Result<(), LedgerError> {
        self.follow(asked)?;
        self.record(now, &now.day(), |books| {
            let raised = || Entry::Raised {
                decision: decision.to_owned(),
                cap,
                name: if cap == Scope::Day { String::new() } else { name.to_owned() },
                micro_usd,
                tokens,
            };
            Ok((!books.has_raise(decision)).then(raised))
        })
    }

    /// Reads a day as far as it goes.
    fn catch_up(&mut self, day: &str) -> Result<(), LedgerError> {
        let stream = stream(day);
        let version = self.store.load(&stream)?.map_or(Version::NONE, |view| view.version);
        let known = self.read.get(day).cloned().unwrap_or(Version::NONE);
        if version == known && self.read.contains_key(day) {
            return Ok(());
        }
        read_all(&*self.store, &stream, known.events(), version.events(), |event| {
            self.books.apply(day, parse(day, event.seq, &event.body)?);
            Ok::<(), LedgerError>(())
        })?;
        self.read.insert(day.to_owned(), version);
        Ok(())
    }

    /// Decides on all that the day holds, and records what was decided if nobody else was faster.
    fn record<E: From<LedgerError>, D: IntoIterator<Item = Entry>>(
        &mut self,
        now: Time,
        day: &str,
        decide: impl Fn(&Books) -> Result<D, E>,
    ) -> Result<(), E> {
        retry(LedgerError::Contended, || {
            self.catch_up(day)?;
            let entries: Vec<Entry> = decide(&self.books)?.into_iter().collect();
            Ok((entries.is_empty() || self.append(now, day, entries)?).then_some(()))
        })
    }

    /// Appends entries to a day, all or none; tells whether it was still as it was read.
    fn append(&mut self, now: Time, day: &str, entries: Vec<Entry>) -> Result<bool, LedgerError> {
        let version = self.read.get(day).cloned().unwrap_or(Version::NONE);
        let events: Vec<NewEvent> = entries.iter().map(|entry| event(now, entry)).collect();
        let kind = entries.first().map_or("", Entry::kind);
        let store = &*self.store;
        match boundary::around(kind, || append(store, &stream(day), &version, &events, View::default()))? {
            Appended::Done(version) => {
                store.flush()?;
                entries.into_iter().for_each(|entry| self.books.apply(day, entry));
                self.read.insert(day.to_owned(), version);
                Ok(true)
            }
            Appended::Moved => Ok(false),
            Appended::MarkTaken(_) => unreachable!("a day has no mark"),
        }
    }
}

/// An entry as it is written.
#[derive(Serialize)]
struct Kept<'a> {
    format: u32,
    #[serde(flatten)]
    entry: &'a Entry,
}

#[derive(Deserialize)]
struct Format {
    #[serde(default)]
    format: u32,
}

fn event(now: Time, entry: &Entry) -> NewEvent {
    NewEvent {
        at: now.millis(),
        kind: entry.kind().to_owned(),
        body: serde_json::to_vec(&Kept { format: FORMAT, entry }).expect("an entry can be written as JSON"),
    }
}

fn parse(day: &str, seq: u64, body: &[u8]) -> Result<Entry, LedgerError> {
    let bad = |error: serde_json::Error| {
        let problem = error.to_string();
        LedgerError::Entry { day: day.to_owned(), seq, problem }
    };
    let Format { format } = serde_json::from_slice(body).map_err(bad)?;
    if format > FORMAT {
        return Err(LedgerError::Newer { day: day.to_owned(), seq, found: format });
    }
    serde_json::from_slice(body).map_err(bad)
}

fn stream(day: &str) -> StreamId {
    StreamId::parse(format!("{DAYS}{day}")).expect("a day is made of digits and dashes")
}

/// Reads the price list: what warp comes with, and before it what the user has written.
pub fn prices(dirs: &Dirs) -> Result<Prices, LedgerError> {
    let path = dirs.prices();
    match text::read(&path, LARGEST_PRICES) {
        Ok(own) => match Prices::parse(&own) {
            Ok(own) => Ok(Prices::built_in().with(own)),
            Err(source) => Err(LedgerError::Prices { path, source }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Prices::built_in()),
        Err(source) => Err(LedgerError::ReadPrices { path, source }),
    }
}
