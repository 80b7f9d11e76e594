//! What a waiting run sleeps on: events in the journals, a signal, an answer that is typed, and the time.

use std::sync::Arc;

use adapters::clock::{Bell, Busy, after};
use engine::Time;
use journal::Subscription;
use project::{Error, Workspace};

use crate::{
    driver::{DriveError, Driver},
    interrupts::Interrupts,
    show::Shown,
};

/// The bell of a run, and what rings it.
#[derive(Debug)]
pub(crate) struct Wake {
    pub(crate) bell: Bell,
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
        let redraw = self.show.redraws().map(|every| after(self.now(), every));
        self.wake.bell.wait(until.into_iter().chain(redraw).min());
        Ok(())
    }
}
