//! What a waiting run sleeps on: events in the journals, a signal, an answer that is typed, and the time.

use std::{sync::Arc, time::Duration};

use adapters::clock::{Bell, Busy, after};
use engine::Time;
use journal::Subscription;
use project::{Error, Workspace};

use crate::{
    driver::{DriveError, Driver},
    interrupts::Interrupts,
    show::Shown,
};

/// How often a terminal is looked at, where a person may type an answer.
const TYPING: Duration = Duration::from_millis(250);
/// How often notes of a channel are looked for, while there is one.
const NOTES: Duration = Duration::from_secs(1);

/// The bell of a run, and what rings it.
#[derive(Debug)]
pub(crate) struct Wake {
    bell: Bell,
    _journals: Vec<Subscription>,
    /// The run's thread is one that a simulated clock waits for.
    _busy: Busy,
}

impl Wake {
    /// Listens to the journals that a run depends on, and to whoever interrupts it.
    pub(crate) fn of(workspace: &Workspace, interrupts: &Interrupts) -> Result<Self, Error> {
        let (clock, bell) = (&workspace.dirs.clock, workspace.dirs.clock.bell());
        let rung = bell.clone();
        let journals = workspace.subscribe(Arc::new(move || rung.ring()))?;
        interrupts.ring(bell.clone());
        Ok(Self { bell, _journals: journals, _busy: clock.enter() })
    }
}

impl Driver<'_> {
    /// Sleeps until something has happened that the run may depend on, or until a time.
    pub(crate) fn sleep(&mut self, until: Option<Time>) -> Result<(), DriveError> {
        self.check_claim()?;
        self.hear_away();
        if let Some(slept) = self.with_terminal(|terminal, driver| terminal.sleep(driver, until)) {
            return slept;
        }
        self.show.show(Shown::Tick);
        let look = match (self.show.is_attended(), self.has_channel()) {
            (true, _) => Some(TYPING),
            (false, true) => Some(NOTES),
            (false, false) => None,
        };
        let look = look.map(|look| after(self.now(), look));
        self.wake.bell.wait(until.into_iter().chain(look).min());
        Ok(())
    }
}
