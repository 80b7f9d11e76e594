//! One issue, or one after the other until none is ready.
//!
//! Every issue has a run of its own, so that each can be looked at, told something and undone by itself. What one of them
//! comes to does not keep the others waiting: a run that waits for a person stays where it is.

use std::{collections::BTreeSet, time::Instant};

use journal::sqlite::Keeping;
use project::{ClaimError, Dirs, Place, Workspace, slots::SlotError};

use crate::{
    driver::{DriveError, Driver, Finish},
    interrupts::Interrupts,
    show::{Show, Shown},
    start::{After, Options, StartError},
};

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
    // Every run opens the project's journal, and the user's.
    let _keeping = Keeping::begin();
    let one = |options: Options, show: &mut dyn Show| -> Result<(Finish, u64), SessionError> {
        let mut driver = Driver::start(place, dirs, options, interrupts.clone(), show)?;
        let finish = driver.drive()?;
        let chunks = driver.chunks()?;
        driver.finish()?;
        Ok((finish, chunks))
    };
    if options.after != After::UntilEmpty {
        return Ok(one(options.clone(), show)?.0);
    }
    // Somebody else may be faster. What a person has named is what they want, and nothing else instead.
    let (mut worst, chunks) = match one(options.clone(), show) {
        Err(error) if options.issue.is_none() && error.is_about_this_one() => {
            pass_over(&error, show);
            (Finish::Done, 0)
        }
        done => done?,
    };
    let mut limits = Limits::read(place, dirs, options, chunks)?;
    let mut taken = BTreeSet::new();
    while worst != Finish::Interrupted {
        let Some(issue) = limits.next(&mut taken, show)? else { break };
        let next = Options { issue: Some(issue), ..options.clone() };
        let (finish, chunks) = match one(next, show) {
            Err(error) if error.is_about_this_one() => {
                pass_over(&error, show);
                continue;
            }
            done => done?,
        };
        limits.done += chunks;
        if finish.weight() > worst.weight() {
            worst = finish;
        }
    }
    Ok(worst)
}

fn pass_over(error: &SessionError, show: &mut dyn Show) {
    show.show(Shown::Warned(&format!("{error}; the next one is taken")));
}

impl Finish {
    /// Says how much a person has to look at it.
    fn weight(&self) -> u8 {
        match self {
            Finish::Done => 0,
            Finish::Ended(_) | Finish::Aborted | Finish::Stopped => 1,
            Finish::PutOff(_) => 2,
            Finish::Refused(_) => 3,
            Finish::Parked(_) => 4,
            Finish::Interrupted => 5,
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
}

impl Limits {
    fn read(place: &Place, dirs: &Dirs, options: &Options, done: u64) -> Result<Self, StartError> {
        let mut here = Workspace::open(place.clone(), dirs.clone())?;
        let config = here.configuration(&options.set).map_err(project::BeginError::Config)?;
        let count = |key: &str| config.settings.count(key);
        Ok(Self {
            began: Instant::now(),
            minutes: count("max_session_minutes"),
            chunks: count("max_total_chunks"),
            done,
            here,
        })
    }

    /// Returns the next issue that is ready and free, each once; nothing when the session has used up what it may.
    fn next(&mut self, taken: &mut BTreeSet<u64>, show: &mut dyn Show) -> Result<Option<String>, StartError> {
        let Some(number) = self.here.first_free(taken)? else { return Ok(None) };
        let over = if self.began.elapsed().as_secs() > self.minutes.saturating_mul(60) {
            Some(format!("max_session_minutes ({})", self.minutes))
        } else if self.done > self.chunks {
            Some(format!("max_total_chunks ({})", self.chunks))
        } else {
            None
        };
        if let Some(limit) = over {
            show.show(Shown::Warned(&format!(
                "{limit} is used up; `warp run --until-empty` goes on with #{number}"
            )));
            return Ok(None);
        }
        taken.insert(number);
        Ok(Some(number.to_string()))
    }
}
