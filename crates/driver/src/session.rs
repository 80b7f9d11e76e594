//! One issue, or one after the other until none is ready.
//!
//! Every issue has a run of its own, so that each can be looked at, told something and undone by itself. What one of them
//! comes to does not keep the others waiting: a run that waits for a person stays where it is.

mod summary;

use std::{collections::BTreeSet, fmt, time::Instant};

use engine::{Usage, keys};
use forge::ItemId;
use project::{ClaimError, Dirs, Interrupted, Place, When, Workspace, counted, slots::SlotError};

use crate::{
    attach,
    consent::ask_push,
    driver::{DriveError, Driver, Finish},
    header::SessionCap,
    interrupts::Interrupts,
    show::{Show, Shown},
    start::{After, Options, StartError},
};
use summary::Summary;

/// Why a session ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Drive(#[from] DriveError),
}

impl SessionError {
    /// Tells whether only this issue or run cannot be worked on, because somebody else has it or it is not ready any more;
    /// anything else would keep the next one from it too.
    fn is_about_this_one(&self) -> bool {
        match self {
            Self::Start(error) => matches!(
                error,
                StartError::NotReady { .. }
                    | StartError::Claimed { .. }
                    | StartError::Claim(ClaimError::Held { .. })
                    | StartError::InCheckout { .. }
                    | StartError::Slot(SlotError::InUse { .. })
            ),
            Self::Drive(error) => {
                matches!(error, DriveError::TakenOver { .. } | DriveError::Claim(ClaimError::Held { .. }))
            }
        }
    }
}

/// Drives what is meant by `options`; returns how it ended, and of several the one that a person has to look at first.
pub fn drive(
    place: &Place,
    dirs: &Dirs,
    options: &Options,
    interrupts: &Interrupts,
    show: &mut dyn Show,
) -> Result<Finish, SessionError> {
    // Every run uses the project's journal and the user's, which stay open between two runs.
    let _stores = dirs.open_stores(place);
    let mut options = options.clone();
    // Before anything is begun: without an agent there is nothing to begin.
    attach::prepare(place, dirs, &mut options)?;
    let options = &options;
    ask_push(place, dirs, options, interrupts, show)?;
    if interrupts.is_asked() {
        return Ok(Finish::Interrupted);
    }
    if options.after != After::UntilEmpty {
        return Ok(one(place, dirs, options.clone(), interrupts, show)?.finish);
    }
    let mut summary = Summary::default();
    let finish = until_empty(place, dirs, options, interrupts, &mut summary, show);
    summary.show(show);
    finish
}

/// One run of a session.
struct Ran {
    run: String,
    issue: Option<String>,
    finish: Finish,
    /// How many chunks it has done.
    chunks: u64,
    /// What it has spent in this session.
    spent: Usage,
    /// Whether every other run would have to wait for the same as this one.
    is_stuck: bool,
}

fn one(
    place: &Place,
    dirs: &Dirs,
    mut options: Options,
    interrupts: &Interrupts,
    show: &mut dyn Show,
) -> Result<Ran, SessionError> {
    let is_capped = options.session_cap.is_some();
    let agent = attach::prepare(place, dirs, &mut options)?;
    let mut driver = Driver::start(place, dirs, options, interrupts.clone(), show)?;
    if let Some(agent) = agent {
        driver.open_terminal(agent, place)?;
    }
    let before = if is_capped { driver.spent()? } else { Usage::default() };
    let finish = driver.drive()?;
    let spent = if is_capped { driver.spent()?.since(&before) } else { Usage::default() };
    let (issue, chunks) = driver.worked_on()?;
    let is_stuck = matches!(finish, Finish::Blocked(_)) || driver.waits_for_all()?;
    let run = driver.run.clone();
    driver.finish()?;
    Ok(Ran { run, issue, finish, chunks, spent, is_stuck })
}

fn until_empty(
    place: &Place,
    dirs: &Dirs,
    options: &Options,
    interrupts: &Interrupts,
    summary: &mut Summary,
    show: &mut dyn Show,
) -> Result<Finish, SessionError> {
    let began = Instant::now();
    let mut cap = SessionCap::of(&options.set);
    let options = &Options { session_cap: Some(cap), ..options.clone() };
    // Somebody else may be faster. What a person has named is what they want, and nothing else instead.
    let first = match one(place, dirs, options.clone(), interrupts, show) {
        Err(error) if options.issue.is_none() && error.is_about_this_one() => {
            pass_over(&error, summary, show);
            Ran {
                run: String::new(),
                issue: None,
                finish: Finish::Done,
                chunks: 0,
                spent: Usage::default(),
                is_stuck: false,
            }
        }
        done => done?,
    };
    let mut limits = Limits::read(place, dirs, options, began, first.chunks)?;
    summary.add(&mut limits.here, first.issue.as_deref(), &first.finish).map_err(StartError::from)?;
    cap = cap.after(&first.spent);
    limits.is_stuck = first.is_stuck;
    let mut worst = first.finish;
    // Each run and each issue is taken once, whatever became of it.
    let mut taken = Taken::default();
    taken.add(&first.run, first.issue.as_deref());
    while worst != Finish::Interrupted {
        let Some(named) = limits.next(&mut taken, &cap, show)? else { break };
        show.show(Shown::Plain("\n"));
        let mut next = Options { issue: Some(named), session_cap: Some(cap), ..options.clone() };
        cap.limit(&mut next.set);
        let ran = match one(place, dirs, next, interrupts, show) {
            Err(error) if error.is_about_this_one() => {
                pass_over(&error, summary, show);
                continue;
            }
            done => done?,
        };
        taken.add(&ran.run, ran.issue.as_deref());
        limits.done += ran.chunks;
        limits.is_stuck = ran.is_stuck;
        cap = cap.after(&ran.spent);
        summary.add(&mut limits.here, ran.issue.as_deref(), &ran.finish).map_err(StartError::from)?;
        if ran.finish.weight() > worst.weight() {
            worst = ran.finish;
        }
    }
    Ok(worst)
}

fn pass_over(error: &SessionError, summary: &mut Summary, show: &mut dyn Show) {
    summary.pass_over(&error.to_string());
    show.show(Shown::Warned(&format!("{error}; trying the next one")));
}

impl Finish {
    /// Says how much a person has to look at it.
    fn weight(&self) -> u8 {
        match self {
            Finish::Done => 0,
            Finish::Ended(_) | Finish::Aborted | Finish::Stopped => 1,
            Finish::PutOff(_) => 2,
            Finish::Refused(_) => 3,
            Finish::Parked(_) | Finish::Blocked(_) => 4,
            Finish::Interrupted => 5,
        }
    }
}

/// What a session has taken already.
#[derive(Default)]
struct Taken {
    runs: BTreeSet<String>,
    issues: BTreeSet<ItemId>,
}

impl Taken {
    fn add(&mut self, run: &str, issue: Option<&str>) {
        self.runs.insert(run.to_owned());
        self.issues.extend(issue.and_then(ItemId::typed));
    }

    /// Takes what comes next; returns the name by which it is started.
    fn take(&mut self, next: Next) -> String {
        match next {
            Next::Issue(issue) => {
                self.issues.insert(issue);
                issue.to_string()
            }
            Next::Run(Interrupted { run, issue }) => {
                self.issues.extend(issue);
                self.runs.insert(run.clone());
                run
            }
        }
    }
}

/// What a session works on next.
enum Next {
    Issue(ItemId),
    Run(Interrupted),
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Issue(issue) | Self::Run(Interrupted { issue: Some(issue), .. }) => write!(f, "#{issue}"),
            Self::Run(Interrupted { run, issue: None }) => write!(f, "run {run}"),
        }
    }
}

/// What all runs of a session may use together, as one may by itself.
struct Limits {
    here: Workspace,
    began: Instant,
    minutes: u64,
    chunks: u64,
    /// How many chunks the runs of this session have done.
    done: u64,
    /// Set when the last run waits for what every other would have to wait for.
    is_stuck: bool,
}

impl Limits {
    fn read(
        place: &Place,
        dirs: &Dirs,
        options: &Options,
        began: Instant,
        done: u64,
    ) -> Result<Self, StartError> {
        let mut here = Workspace::open(place.clone(), dirs.clone())?;
        let config = here.configuration(&options.set).map_err(project::BeginError::Config)?;
        Ok(Self {
            began,
            minutes: config.settings.get(keys::MAX_SESSION_MINUTES),
            chunks: config.settings.get(keys::MAX_TOTAL_CHUNKS),
            done,
            is_stuck: false,
            here,
        })
    }

    /// Returns the next run or issue by its name, each once: a run that nobody carries on, or else an issue that is ready and free,
    /// or at last a run that waits for a time. Nothing when the session has used up what it may.
    fn next(
        &mut self,
        taken: &mut Taken,
        cap: &SessionCap,
        show: &mut dyn Show,
    ) -> Result<Option<String>, StartError> {
        let Some(next) = self.first(taken)? else { return Ok(None) };
        let over = if self.began.elapsed().as_secs() > self.minutes.saturating_mul(60) {
            Some(format!("Session limit reached ({})", counted(self.minutes, "minute", "minutes")))
        } else if self.done > self.chunks {
            Some(format!("Session limit reached ({})", counted(self.chunks, "chunk", "chunks")))
        } else {
            cap.used_up().map(|key| format!("Session cap reached ({key})"))
        };
        let stuck = self.is_stuck.then(|| "not starting another issue: same blocker".to_owned());
        if let Some(why) = over.or(stuck) {
            show.show(Shown::Warned(&format!("{why}; `warp run --until-empty` continues with {next}")));
            return Ok(None);
        }
        Ok(Some(taken.take(next)))
    }

    fn first(&mut self, taken: &Taken) -> Result<Option<Next>, StartError> {
        if let Some(left) = self.here.first_left(&taken.runs, When::Now)? {
            return Ok(Some(Next::Run(left)));
        }
        if let Some(issue) = self.here.first_free(&taken.issues)? {
            return Ok(Some(Next::Issue(issue)));
        }
        Ok(self.here.first_left(&taken.runs, When::Later)?.map(Next::Run))
    }
}
