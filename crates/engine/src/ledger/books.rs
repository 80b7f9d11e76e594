//! The fold: entries in, sums out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::Usage;

use super::{CapReached, Caps, Entry, Scope, Tags};

/// The most that one request counts for, in tokens of a kind: no sum of any number of requests overflows.
const MOST_TOKENS: u64 = 1_000_000_000_000;
/// The same in millionths of a dollar.
const MOST_MICRO_USD: u64 = 1_000_000_000_000_000;

/// The ledger of some days, folded.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// By date.
    days: BTreeMap<String, Day>,
    /// Every combination of tags that was met, once.
    tags: BTreeSet<Arc<Tags>>,
}

#[derive(Clone, Debug, Default)]
struct Day {
    requests: BTreeMap<String, Request>,
    raises: BTreeMap<String, Raise>,
    runs: BTreeMap<String, Usage>,
    projects: BTreeMap<String, Usage>,
    pools: BTreeMap<String, Usage>,
    all: Usage,
}

/// A request, or an agent's report, which counts as one.
#[derive(Clone, Debug, Default)]
struct Request {
    tags: Option<Arc<Tags>>,
    model: String,
    estimate: Usage,
    booking: Option<Booking>,
    is_price_estimated: bool,
    is_unmetered: bool,
}

/// What was booked of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booking {
    /// Which booking of the request it is, from 1.
    pub number: u64,
    pub usage: Usage,
    pub is_over: bool,
}

#[derive(Clone, Debug)]
struct Raise {
    cap: Scope,
    name: String,
    micro_usd: u64,
    tokens: u64,
}

/// What one request has used.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub day: &'a str,
    pub tags: &'a Tags,
    pub model: &'a str,
    pub usage: Usage,
    /// Set while the request is under way, and for ever if it was never booked to its end.
    pub is_open: bool,
    /// Set when an agent's word is all there is.
    pub is_unmetered: bool,
    /// Set when the model's price is not known.
    pub is_price_estimated: bool,
}

impl Books {
    /// Takes an entry of a day.
    pub fn apply(&mut self, day: &str, entry: Entry) {
        if !self.days.contains_key(day) {
            self.days.insert(day.to_owned(), Day::default());
        }
        let Some(sums) = self.days.get_mut(day) else { return };
        match entry {
            Entry::Opened { request, tags, model, estimate, is_price_estimated } => {
                let tags = shared(&mut self.tags, tags);
                sums.change(request, |request| {
                    request.tags = Some(tags);
                    request.model = model;
                    request.estimate = bounded(estimate);
                    request.is_price_estimated = is_price_estimated;
                });
            }
            Entry::Booked { request, number, usage, is_over } => {
                let booking = Booking { number, usage: bounded(usage), is_over };
                sums.change(request, |request| request.book(booking));
            }
            Entry::Reported { report, tags, model, usage, is_price_estimated } => {
                let tags = shared(&mut self.tags, tags);
                let booking = Booking { number: usage.tokens(), usage: bounded(usage), is_over: true };
                sums.change(report, |request| {
                    request.tags = Some(tags);
                    request.model = model;
                    request.is_unmetered = true;
                    request.is_price_estimated = is_price_estimated;
                    request.book(booking);
                });
            }
            Entry::Raised { decision, cap, name, micro_usd, tokens } => {
                sums.raises.insert(decision, Raise { cap, name, micro_usd, tokens });
            }
            Entry::Paused { .. } | Entry::Lifted { .. } | Entry::Unknown => {}
        }
    }

    /// Returns why no further request may go out, if there is a cap that says so.
    pub fn refusal(&self, today: &str, tags: &Tags, caps: &Caps) -> Option<CapReached> {
        self.refusal_after(today, tags, caps, &Usage::default())
    }

    /// Returns the cap that is reached once so much more is spent, if there is one.
    pub fn refusal_after(&self, today: &str, tags: &Tags, caps: &Caps, more: &Usage) -> Option<CapReached> {
        Scope::ALL.into_iter().find_map(|scope| {
            let (micro_usd, tokens) = self.raised(scope, today, tags);
            let cap = caps.of(scope).raised(micro_usd, tokens);
            let mut spent = self.spent(scope, today, tags);
            spent.add(more);
            let (unit, limit, spent) = cap.reached(&spent)?;
            Some(CapReached { cap: scope, unit, limit, spent })
        })
    }

    /// Returns what counts against a cap.
    pub fn spent(&self, scope: Scope, today: &str, tags: &Tags) -> Usage {
        let mut spent = Usage::default();
        for (_, day) in self.days.iter().filter(|(day, _)| scope == Scope::Run || *day == today) {
            let sum = match scope {
                Scope::Run => day.runs.get(&tags.run),
                Scope::Project => day.projects.get(&tags.project),
                Scope::Pool => day.pools.get(&tags.pool),
                Scope::Day => Some(&day.all),
            };
            spent.add(&sum.copied().unwrap_or_default());
        }
        spent
    }

    /// Returns by how much people have raised a cap: millionths of a dollar, and tokens.
    pub fn raised(&self, scope: Scope, today: &str, tags: &Tags) -> (u64, u64) {
        let name = match scope {
            Scope::Run => &tags.run,
            Scope::Project => &tags.project,
            Scope::Pool => &tags.pool,
            Scope::Day => "",
        };
        let days = self.days.iter().filter(|(day, _)| scope == Scope::Run || *day == today);
        let raises = days.flat_map(|(_, day)| day.raises.values());
        raises.filter(|raise| raise.cap == scope && raise.name == name).fold((0, 0), |sum, raise| {
            (u64::saturating_add(sum.0, raise.micro_usd), u64::saturating_add(sum.1, raise.tokens))
        })
    }

    /// Tells whether a raise is known by its decision.
    pub fn has_raise(&self, decision: &str) -> bool {
        self.days.values().any(|day| day.raises.contains_key(decision))
    }

    /// Tells whether a report is known.
    pub fn has_report(&self, report: &str) -> bool {
        self.days.values().any(|day| day.requests.contains_key(report))
    }

    /// Returns a request of a day: its model, and the newest booking.
    pub fn request(&self, day: &str, id: &str) -> Option<(&str, Option<Booking>)> {
        let request = self.days.get(day)?.requests.get(id)?;
        Some((&request.model, request.booking))
    }

    /// Returns every request and report, by day.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        self.days.iter().flat_map(|(day, sums)| {
            sums.requests.values().filter_map(move |request| {
                Some(Line {
                    day,
                    tags: request.tags.as_deref()?,
                    model: &request.model,
                    usage: request.counted(),
                    is_open: request.booking.is_none_or(|booking| !booking.is_over),
                    is_unmetered: request.is_unmetered,
                    is_price_estimated: request.is_price_estimated,
                })
            })
        })
    }
}

impl Day {
    /// Changes a request, and with it the sums that it counts in.
    fn change(&mut self, id: String, change: impl FnOnce(&mut Request)) {
        let mut request = self.requests.remove(&id).unwrap_or_default();
        self.count(&request, Usage::remove);
        change(&mut request);
        self.count(&request, Usage::add);
        self.requests.insert(id, request);
    }

    fn count(&mut self, request: &Request, count: impl Fn(&mut Usage, &Usage)) {
        // One whose tags are not known yet is counted once they are.
        let Some(tags) = &request.tags else { return };
        let usage = request.counted();
        count(&mut self.all, &usage);
        for (sums, name) in
            [(&mut self.runs, &tags.run), (&mut self.projects, &tags.project), (&mut self.pools, &tags.pool)]
        {
            match sums.get_mut(name) {
                Some(sum) => count(sum, &usage),
                None => count(sums.entry(name.clone()).or_default(), &usage),
            }
        }
    }
}

impl Request {
    fn book(&mut self, booking: Booking) {
        if self.booking.is_none_or(|known| known.number < booking.number) {
            self.booking = Some(booking);
        }
    }

    fn counted(&self) -> Usage {
        match self.booking {
            Some(booking) if booking.is_over => booking.usage,
            Some(booking) => higher(&self.estimate, &booking.usage),
            None => self.estimate,
        }
    }
}

fn shared(known: &mut BTreeSet<Arc<Tags>>, tags: Tags) -> Arc<Tags> {
    if let Some(tags) = known.get(&tags) {
        return Arc::clone(tags);
    }
    let tags = Arc::new(tags);
    known.insert(Arc::clone(&tags));
    tags
}

fn bounded(usage: Usage) -> Usage {
    let most = Usage {
        input_tokens: MOST_TOKENS,
        output_tokens: MOST_TOKENS,
        cache_read_tokens: MOST_TOKENS,
        cache_write_tokens: MOST_TOKENS,
        micro_usd: MOST_MICRO_USD,
    };
    each(&usage, &most, u64::min)
}

fn higher(one: &Usage, other: &Usage) -> Usage {
    each(one, other, u64::max)
}

fn each(one: &Usage, other: &Usage, choose: impl Fn(u64, u64) -> u64) -> Usage {
    Usage {
        input_tokens: choose(one.input_tokens, other.input_tokens),
        output_tokens: choose(one.output_tokens, other.output_tokens),
        cache_read_tokens: choose(one.cache_read_tokens, other.cache_read_tokens),
        cache_write_tokens: choose(one.cache_write_tokens, other.cache_write_tokens),
        micro_usd: choose(one.micro_usd, other.micro_usd),
    }
}
