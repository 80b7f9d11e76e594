//! The fold: entries in, sums out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::Usage;

use super::{CapReached, Caps, Entry, Scope, Tags, typical::Outputs};

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
    /// Processes that are gone: they hold nothing.
    released: BTreeSet<String>,
}

#[derive(Clone, Debug, Default)]
struct Day {
    requests: BTreeMap<String, Request>,
    /// The requests that are not over.
    open: BTreeSet<String>,
    /// By model: how much it writes.
    outputs: BTreeMap<String, Outputs>,
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
    /// What it holds against the caps until it is over.
    reserve: Option<Usage>,
    holder: String,
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
    /// Set when the usage was never told, and this is the most that it can be.
    pub is_bound: bool,
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
    /// Set when the usage was never told, and is booked at its upper bound.
    pub is_bound: bool,
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
            Entry::Opened { request, tags, model, estimate, reserve, holder, is_price_estimated } => {
                let tags = shared(&mut self.tags, tags);
                sums.change(request, |request| {
                    request.tags = Some(tags);
                    request.model = model;
                    request.estimate = bounded(estimate);
                    request.reserve = reserve.map(bounded);
                    request.holder = holder;
                    request.is_price_estimated = is_price_estimated;
                });
            }
            Entry::Booked { request, number, usage, is_over, is_bound } => {
                let booking = Booking { number, usage: bounded(usage), is_over, is_bound };
                sums.change(request, |request| request.book(booking));
            }
            Entry::Reported { report, tags, model, usage, is_price_estimated } => {
                let tags = shared(&mut self.tags, tags);
                let (number, usage) = (usage.tokens(), bounded(usage));
                let booking = Booking { number, usage, is_over: true, is_bound: false };
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
            Entry::Released { holder } => {
                self.released.insert(holder);
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

    /// Returns the cap that has no room for so much more, what requests under way hold included.
    pub fn full(&self, today: &str, tags: &Tags, caps: &Caps, wanted: &Usage) -> Option<CapReached> {
        Scope::ALL.into_iter().find_map(|scope| {
            let (micro_usd, tokens) = self.raised(scope, today, tags);
            let cap = caps.of(scope).raised(micro_usd, tokens);
            let mut spent = self.spent(scope, today, tags);
            spent.add(&self.held(scope, today, tags));
            spent.add(wanted);
            let (unit, limit, spent) = cap.reached(&spent)?;
            Some(CapReached { cap: scope, unit, limit, spent })
        })
    }

    /// Returns what requests under way hold against a cap, beyond what is counted of them.
    fn held(&self, scope: Scope, today: &str, tags: &Tags) -> Usage {
        let mut held = Usage::default();
        for (_, request) in self.open().filter(|(day, _)| scope == Scope::Run || *day == today) {
            let is_one = request.tags.as_ref().is_some_and(|own| match scope {
                Scope::Run => own.run == tags.run,
                Scope::Project => own.project == tags.project,
                Scope::Pool => own.pool == tags.pool,
                Scope::Day => true,
            });
            if let Some(reserve) = request.reserve.filter(|_| is_one && self.is_held(request)) {
                held.add(&each(&reserve, &request.counted(), u64::saturating_sub));
            }
        }
        held
    }

    /// Tells whether an agent has a request under way.
    pub fn is_busy(&self, holder: &str, tags: &Tags) -> bool {
        let is_of = |own: &Tags| own.run == tags.run && own.agent == tags.agent && own.role == tags.role;
        self.open().any(|(_, request)| request.holder == holder && request.tags.as_deref().is_some_and(is_of))
    }

    /// Returns the processes that hold something, by their names.
    pub fn holders(&self) -> BTreeSet<&str> {
        let held = self.open().filter(|(_, request)| request.reserve.is_some() && self.is_held(request));
        held.map(|(_, request)| request.holder.as_str()).collect()
    }

    /// Returns how much nine of ten answers of a model stay below, rounded up; none if there are none.
    pub fn typical_output(&self, model: &str) -> Option<u64> {
        let days = self.days.values().filter_map(|day| day.outputs.get(model));
        Outputs::typical(days)
    }

    /// Returns the requests that are not over, by day.
    fn open(&self) -> impl Iterator<Item = (&str, &Request)> {
        self.days.iter().flat_map(|(day, sums)| {
            sums.open.iter().filter_map(|id| Some((day.as_str(), sums.requests.get(id)?)))
        })
    }

    fn is_held(&self, request: &Request) -> bool {
        !self.released.contains(&request.holder)
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
                    is_open: !request.is_over(),
                    is_bound: request.booking.is_some_and(|booking| booking.is_bound),
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
        if let Some(output) = request.told_output() {
            self.outputs.entry(request.model.clone()).or_default().remove(output);
        }
        change(&mut request);
        self.count(&request, Usage::add);
        if let Some(output) = request.told_output() {
            self.outputs.entry(request.model.clone()).or_default().add(output);
        }
        if request.is_over() {
            self.open.remove(&id);
        } else {
            self.open.insert(id.clone());
        }
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

    fn is_over(&self) -> bool {
        self.booking.is_some_and(|booking| booking.is_over)
    }

    /// Returns how much the model wrote, where that was told.
    fn told_output(&self) -> Option<u64> {
        let booking = self.booking.filter(|booking| booking.is_over && !booking.is_bound)?;
        let output = booking.usage.output_tokens;
        (output > 0 && !self.is_unmetered && self.tags.is_some()).then_some(output)
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
