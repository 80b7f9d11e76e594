//! The ledger as the proxy sees it: one run's, with its tags and caps.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ::meter::{Book, BookError, Opening, Refusal, Stage, Ticket, Tokens};
use adapters::machine;
use engine::{Time, Usage, ledger};

use super::{AdmitError, Caps, Expected, Ledger, LedgerError, Tags};
use crate::spelled;

/// The ledger, for the requests of one run.
#[derive(Debug)]
pub struct Meter {
    ledger: Mutex<Ledger>,
    whose: Mutex<(Tags, Caps)>,
    /// Models whose prices are guesses, and what from; those that were told are empty.
    guesses: Mutex<BTreeMap<String, Option<String>>>,
}

impl Meter {
    /// Takes the ledger for a run that began at `since`.
    pub fn new(mut ledger: Ledger, tags: Tags, caps: Caps, since: Time) -> Result<Self, LedgerError> {
        ledger.follow(since)?;
        Ok(Self { ledger: Mutex::new(ledger), whose: Mutex::new((tags, caps)), guesses: Mutex::default() })
    }

    /// Says whose the next requests are. Those under way keep their tags.
    pub fn set_tags(&self, tags: Tags) {
        lock(&self.whose).0 = tags;
    }

    /// Returns whose the next requests are.
    pub fn tags(&self) -> Tags {
        lock(&self.whose).0.clone()
    }

    /// Does something with the ledger itself.
    pub fn with<T>(&self, act: impl FnOnce(&mut Ledger) -> T) -> T {
        act(&mut lock(&self.ledger))
    }

    /// Notes that a model is used; its price may be a guess.
    pub fn note_model(&self, model: &str) {
        if lock(&self.guesses).contains_key(model) {
            return;
        }
        let guess = self.with(|ledger| ledger.prices().guessed_from(model));
        lock(&self.guesses).entry(model.to_owned()).or_insert(guess);
    }

    /// Takes the models whose prices are guesses, each once, and what each is guessed from.
    pub fn take_guesses(&self) -> Vec<(String, String)> {
        let mut guesses = lock(&self.guesses);
        guesses.iter_mut().filter_map(|(model, from)| Some((model.clone(), from.take()?))).collect()
    }

    /// Returns why no further request may go out, if there is a cap that says so.
    pub fn refusal(&self) -> Result<Option<ledger::CapReached>, LedgerError> {
        let (tags, caps) = lock(&self.whose).clone();
        self.with(|ledger| ledger.refusal(machine::now(), &tags, &caps))
    }

    /// Returns the cap that is reached with what an agent says that it has used so far, and is not booked yet.
    pub fn refusal_after(&self, usage: Usage, model: &str) -> Option<ledger::CapReached> {
        let (tags, caps) = lock(&self.whose).clone();
        self.with(|ledger| {
            let own = usage.micro_usd > 0;
            let cost = if own { usage.micro_usd } else { ledger.prices().of(model).cost(&usage) };
            let usage = Usage { micro_usd: cost, ..usage };
            ledger.books().refusal_after(&machine::now().day(), &tags, &caps, &usage)
        })
    }

    /// Records what an agent says that it has used, where its requests could not be seen; returns it with its price.
    pub fn book_report(&self, report: &str, usage: Usage, model: &str) -> Result<Usage, LedgerError> {
        let tags = self.tags();
        self.with(|ledger| ledger.book_report(machine::now(), report, &tags, usage, model))
    }
}

impl Book for Meter {
    fn open(&self, opening: &Opening) -> Result<Option<Ticket>, Refusal> {
        self.note_model(&opening.model);
        let (tags, caps) = lock(&self.whose).clone();
        let expected = Expected { least: usage(opening.estimate), most: usage(opening.bound) };
        let admitted =
            self.with(|ledger| ledger.admit(machine::now(), &tags, &caps, &opening.model, expected));
        match admitted {
            Ok(ticket) => Ok(Some(Ticket(ticket))),
            Err(AdmitError::Full(_)) => Ok(None),
            Err(AdmitError::Cap(reached)) => Err(Refusal::Cap(reached)),
            Err(AdmitError::Failed(error)) => Err(Refusal::Failed(spelled(&error))),
        }
    }

    fn book(&self, ticket: &Ticket, tokens: Tokens, stage: Stage) -> Result<(), BookError> {
        let (now, usage) = (machine::now(), usage(tokens));
        let booked = self.with(|ledger| match stage {
            Stage::UnderWay => ledger.book(now, &ticket.0, usage, false),
            Stage::Over => ledger.book(now, &ticket.0, usage, true),
            Stage::OverAtMost => ledger.book_at_most(now, &ticket.0, usage),
        });
        booked.map_err(|error| BookError(spelled(&error)))
    }
}

fn usage(tokens: Tokens) -> Usage {
    Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cache_read_tokens: tokens.cache_read,
        cache_write_tokens: tokens.cache_write,
        micro_usd: 0,
    }
}

/// What a thread that panicked has left is whole: the ledger changes only by what is on disk.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
