//! What a run spends. The model traffic of its agents goes through a proxy that books it and refuses more at a cap; what
//! cannot be sent that way is booked by the agent's own word.

use std::{env, sync::Arc};

use adapters::{
    agent::{MissingAccess, NoAnswer, ProviderFailure, Route, TurnResult, claude},
    clock::{Bell, Clock},
};
use engine::{
    Capped, Run, Settings, Time, Usage, keys,
    ledger::{CapReached, Scope, Tags},
};
use meter::{Book, Proxy, ProxyError, Refusal, Traffic, Upstreams};
use project::{
    Dirs, Error, Workspace,
    spend::{Ledger, LedgerError, Meter, Pause, caps},
};

/// Why the spend of a run cannot be watched. Nothing is spent then.
#[derive(Debug, thiserror::Error)]
pub enum SpendError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the connection to the models cannot be opened")]
    Proxy(#[from] ProxyError),
    #[error(transparent)]
    Failed(#[from] Error),
}

/// The spend of one run.
pub(crate) struct Spend {
    meter: Arc<Meter>,
    clock: Clock,
    project: String,
    name: String,
    /// The way through the proxy; opened for the first agent that can take it.
    way: Option<Way>,
    /// What the run had spent when the present turn began.
    before: Usage,
    /// How many requests of the present turn were seen and are forgotten.
    forgotten: u64,
    /// The cap that an agent has come to by its own word.
    told: Option<Capped>,
    /// The model that the agent says it uses.
    model: Option<String>,
}

/// What is spent for.
#[derive(Clone, Debug)]
pub(crate) struct Cause {
    /// The run; empty where there is none.
    pub(crate) run: String,
    pub(crate) issue: Option<String>,
    pub(crate) phase: String,
    pub(crate) chunk: u64,
    /// Since when the run may have spent something.
    pub(crate) since: Time,
}

impl Cause {
    /// Something that no run does.
    pub(crate) fn new(phase: &str, now: Time) -> Self {
        Self { run: String::new(), issue: None, phase: phase.to_owned(), chunk: 0, since: now }
    }

    /// What a run does where it stands.
    fn of(run: &Run) -> Self {
        Self {
            run: run.id.to_string(),
            issue: run.issue.clone(),
            phase: run.phase.to_string(),
            chunk: run.chunk.index,
            since: run.started_at,
        }
    }
}

/// A way to the models.
struct Way {
    proxy: Proxy,
    route: Route,
    upstreams: Upstreams,
}

/// Whoever spends.
#[derive(Clone, Copy)]
pub(crate) struct Spender<'a> {
    pub(crate) agent: &'a str,
    pub(crate) pool: &'a str,
    /// Whether its traffic can be sent through the proxy.
    pub(crate) is_metered: bool,
}

/// What kept an agent from its answer, and is not its fault.
pub(crate) enum Hurdle {
    Cap(Capped),
    /// The ledger cannot be written.
    Ledger(String),
    /// The provider serves nobody until a person has fixed a login or a balance.
    NoAccess {
        lack: MissingAccess,
        words: String,
    },
    Limit {
        resets_at: Option<Time>,
        words: String,
    },
    Outage(String),
}

/// Returns what a run has spent so far.
pub(crate) fn spent_by(dirs: &Dirs, run: &Run) -> Result<Usage, SpendError> {
    let Some(mut ledger) = Ledger::open_existing(dirs)? else { return Ok(Usage::default()) };
    ledger.follow(run.started_at)?;
    let tags = Tags { run: run.id.to_string(), ..Tags::default() };
    Ok(ledger.books().spent(Scope::Run, "", &tags))
}

impl Spend {
    /// Opens the ledger for a run.
    pub(crate) fn open(workspace: &Workspace, run: &Run) -> Result<Self, SpendError> {
        Self::open_for(workspace, &run.settings, &Cause::of(run))
    }

    /// Opens the ledger for something that may be no run's.
    pub(crate) fn open_for(
        workspace: &Workspace,
        settings: &Settings,
        cause: &Cause,
    ) -> Result<Self, SpendError> {
        let project = workspace.place.ensure_project_id().map_err(Error::from)?;
        let root = workspace.place.origin().unwrap_or(&workspace.place.root);
        let name = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let ledger = Ledger::open(&workspace.dirs)?;
        let meter = Meter::new(ledger, Tags::default(), caps(settings), cause.since)?;
        let (meter, before, clock) = (Arc::new(meter), Usage::default(), workspace.dirs.clock.clone());
        Ok(Self { meter, clock, project, name, way: None, before, forgotten: 0, told: None, model: None })
    }

    /// Says whose the spend is from here on; returns the cap that is reached already, if one is.
    pub(crate) fn begin(
        &mut self,
        run: &Run,
        role: Option<&str>,
        by: &Spender<'_>,
    ) -> Result<Option<Capped>, SpendError> {
        self.begin_for(&Cause::of(run), role, by)
    }

    /// Does the same for something that may be no run's.
    pub(crate) fn begin_for(
        &mut self,
        cause: &Cause,
        role: Option<&str>,
        by: &Spender<'_>,
    ) -> Result<Option<Capped>, SpendError> {
        let Cause { run, issue, phase, chunk, .. } = cause.clone();
        self.meter.set_tags(Tags {
            project: self.project.clone(),
            project_name: self.name.clone(),
            run,
            issue,
            phase,
            chunk,
            role: role.map(str::to_owned),
            agent: by.agent.to_owned(),
            pool: by.pool.to_owned(),
        });
        let refusal = self.meter.refusal()?;
        self.before = self.spent();
        self.forget();
        self.forgotten = 0;
        (self.told, self.model) = (None, None);
        Ok(refusal.map(|cap| self.capped(cap)))
    }

    /// Returns the way that an agent's model traffic takes; none where it cannot be sent anywhere.
    pub(crate) fn route(&mut self, run: &Run, by: &Spender<'_>) -> Result<Option<Route>, SpendError> {
        self.route_for(&run.settings, by)
    }

    /// Does the same by these settings.
    pub(crate) fn route_for(
        &mut self,
        settings: &Settings,
        by: &Spender<'_>,
    ) -> Result<Option<Route>, SpendError> {
        if !settings.get(keys::METERING) || !by.is_metered {
            return Ok(None);
        }
        let upstreams = upstreams(by.agent);
        let way = match self.way.take().filter(|way| way.upstreams == upstreams) {
            Some(way) => way,
            None => {
                let book = Arc::clone(&self.meter) as Arc<dyn Book>;
                let in_flight = usize::try_from(settings.get(keys::MAX_REQUESTS)).unwrap_or(usize::MAX);
                let proxy = Proxy::start(book, upstreams.clone(), in_flight)?;
                let route = Route { anthropic: proxy.anthropic_url(), openai: proxy.openai_url() };
                Way { proxy, route, upstreams }
            }
        };
        Ok(Some(self.way.insert(way).route.clone()))
    }

    /// Rings a bell when the proxy sees that something keeps the agent from its work.
    pub(crate) fn ring(&self, bell: &Bell) {
        if let Some(way) = &self.way {
            let bell = bell.clone();
            way.proxy.tell_to(move || bell.ring());
        }
    }

    /// Tells whether the present turn has asked no model by the way that it was given.
    pub(crate) fn is_unseen(&self) -> bool {
        self.forgotten + self.seen().requests == 0
    }

    /// Returns what the proxy has seen in the present turn so far.
    pub(crate) fn seen(&self) -> Traffic {
        self.way.as_ref().map(|way| way.proxy.seen()).unwrap_or_default()
    }

    /// Takes which model an agent says that it uses, for what it costs where nobody has chosen one.
    pub(crate) fn hear_model(&mut self, model: &str) {
        self.model = Some(model.to_owned());
        self.meter.note_model(model);
    }

    /// Returns what is to be said of models whose prices are guesses, each once.
    pub(crate) fn take_guesses(&self) -> Vec<String> {
        let guesses = self.meter.take_guesses().into_iter().filter(|(model, _)| !model.is_empty());
        let said =
            |(model, from): (String, String)| format!("`{model}` has no price in the list: {from} is taken");
        guesses.map(said).collect()
    }

    /// Takes what an agent says that it has used in the present turn; tells whether a cap is reached with it.
    pub(crate) fn hear(&mut self, usage: Usage, model: Option<&str>) -> bool {
        let model = model.or(self.model.as_deref()).unwrap_or_default();
        let cap = self.meter.refusal_after(usage, model);
        self.told = cap.map(|cap| self.capped(cap));
        self.told.is_some()
    }

    /// Books what a turn has used, and returns what is booked: as the proxy saw it, or else as the agent says.
    pub(crate) fn end(
        &mut self,
        turn: &str,
        reported: Usage,
        model: Option<&str>,
    ) -> Result<Usage, SpendError> {
        if !self.is_unseen() {
            self.meter.refusal()?;
            return Ok(minus(self.spent(), self.before));
        }
        if reported.is_zero() {
            return Ok(reported);
        }
        let model = model.or(self.model.as_deref()).unwrap_or_default();
        Ok(self.meter.book_report(turn, reported, model)?)
    }

    /// Forgets what the proxy has seen, but for how much it was.
    pub(crate) fn forget(&mut self) {
        if let Some(way) = &self.way {
            self.forgotten += way.proxy.take_seen().requests;
        }
    }

    /// Returns the cap that a request was refused at in the present turn.
    pub(crate) fn refused_at(&self) -> Option<Capped> {
        match self.seen().refused {
            Some(Refusal::Cap(cap)) => Some(self.capped(cap)),
            Some(Refusal::Failed(_)) | None => None,
        }
    }

    /// Says what kept an agent from its answer, if it was none of its own doing.
    pub(crate) fn hurdle(&self, ended: &TurnResult) -> Option<Hurdle> {
        let Err(no_answer) = &ended.answer else { return None };
        if let Some(capped) = &self.told {
            return Some(Hurdle::Cap(capped.clone()));
        }
        let seen = self.seen();
        match seen.refused {
            Some(Refusal::Cap(cap)) => return Some(Hurdle::Cap(self.capped(cap))),
            Some(Refusal::Failed(words)) => return Some(Hurdle::Ledger(words)),
            None => {}
        }
        let told = if let NoAnswer::Provider(failure) = no_answer { Some(failure.clone()) } else { None };
        if let Some(ProviderFailure::NoAccess { lack, words }) = seen.denied.or_else(|| told.clone()) {
            return Some(Hurdle::NoAccess { lack, words });
        }
        if let Some(limit) = seen.limit {
            let told = told.and_then(|told| match told {
                ProviderFailure::Limit { resets_at, .. } => resets_at,
                ProviderFailure::NoAccess { .. } | ProviderFailure::Outage { .. } => None,
            });
            return Some(Hurdle::Limit { resets_at: limit.resets_at.or(told), words: limit.words });
        }
        match (seen.outage, told) {
            (_, Some(ProviderFailure::Limit { resets_at, words })) => {
                Some(Hurdle::Limit { resets_at, words })
            }
            (Some(outage), _) => Some(Hurdle::Outage(outage.words)),
            (None, Some(ProviderFailure::Outage { words })) => Some(Hurdle::Outage(words)),
            (None, Some(ProviderFailure::NoAccess { .. }) | None) => None,
        }
    }

    /// Lets all runs of a pool wait.
    pub(crate) fn pause(&self, pool: &str, until: Time, why: &str) -> Result<(), SpendError> {
        Ok(self.meter.with(|ledger| ledger.pause(self.clock.now(), pool, until, why))?)
    }

    /// Closes a pool for all runs, until a person has fixed what is wrong with it.
    pub(crate) fn close(&self, pool: &str, why: &str) -> Result<(), SpendError> {
        Ok(self.meter.with(|ledger| ledger.close(self.clock.now(), pool, why))?)
    }

    /// Lets a pool be used again before its time.
    pub(crate) fn lift(&self, pool: &str) -> Result<(), SpendError> {
        Ok(self.meter.with(|ledger| ledger.lift(self.clock.now(), pool))?)
    }

    /// Returns until when a pool waits, and why.
    pub(crate) fn paused(&self, pool: &str) -> Result<Option<Pause>, SpendError> {
        Ok(self.meter.with(|ledger| ledger.paused(self.clock.now(), pool))?)
    }

    fn capped(&self, cap: CapReached) -> Capped {
        let tags = self.meter.tags();
        let name = match cap.cap {
            Scope::Run => tags.run,
            Scope::Project => tags.project,
            Scope::Pool => tags.pool,
            Scope::Day => String::new(),
        };
        Capped { cap, name }
    }

    fn spent(&self) -> Usage {
        let tags = self.meter.tags();
        self.meter.with(|ledger| ledger.books().spent(Scope::Run, "", &tags))
    }
}

/// Returns where models are asked: where the person's own settings for the agent or their environment say, or at their
/// providers.
fn upstreams(agent: &str) -> Upstreams {
    let own = |name: &str| env::var(name).ok().filter(|url| !url.trim().is_empty());
    let usual = Upstreams::default();
    let anthropic = if agent == "claude" { claude::base_url() } else { own("ANTHROPIC_BASE_URL") };
    Upstreams {
        anthropic: anthropic.unwrap_or(usual.anthropic),
        openai: own("OPENAI_BASE_URL").unwrap_or(usual.openai),
    }
}

fn minus(all: Usage, before: Usage) -> Usage {
    Usage {
        input_tokens: all.input_tokens.saturating_sub(before.input_tokens),
        output_tokens: all.output_tokens.saturating_sub(before.output_tokens),
        cache_read_tokens: all.cache_read_tokens.saturating_sub(before.cache_read_tokens),
        cache_write_tokens: all.cache_write_tokens.saturating_sub(before.cache_write_tokens),
        micro_usd: all.micro_usd.saturating_sub(before.micro_usd),
    }
}
