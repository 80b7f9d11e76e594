//! What ends by itself: a provider's limit or outage, a day whose money is spent, a full machine. The loop waits, and
//! nothing of it is charged to the run.

use std::time::Duration;

use adapters::{agent::Notice, clock::after};
use engine::{Actor, Event, Standing, Time, Wait, WaitKind};
use project::Current;
use serde_json::Map;

use crate::{
    driver::{DriveError, Driver, Finish, Flow},
    show::Shown,
};

/// How often it is looked whether there is a place for an agent. Places of other processes are locks of the kernel, which
/// gives them back without a word, and memory becomes free in the same way.
const LOOK_FOR_SEAT: Duration = Duration::from_secs(1);

impl Driver<'_> {
    /// Lets the run wait for something that ends by itself.
    pub(crate) fn suspend(
        &mut self,
        current: &Current,
        kind: WaitKind,
        why: String,
        until: Option<Time>,
    ) -> Result<Flow, DriveError> {
        if self.stands(current)? {
            self.offer(Actor::Engine, Event::Suspended { kind, why, until }, Map::new())?;
        }
        Ok(Flow::On)
    }

    /// Waits until it is over, or until a person has said something else.
    pub(crate) fn wait(&mut self, wait: &Wait) -> Result<Flow, DriveError> {
        self.show.show(Shown::Notice(&Notice::Wait { why: wait.to_string() }));
        self.workspace.sync()?;
        loop {
            if self.interrupts.is_asked() {
                return Ok(Flow::End(Finish::Interrupted));
            }
            let now = self.workspace.current()?;
            let waits = |now: &Current| match &now.run.standing {
                Standing::Suspended { wait: open } => open == wait,
                Standing::Active | Standing::Parked { .. } | Standing::Stopped | Standing::Ended { .. } => {
                    false
                }
            };
            if !now.as_ref().is_some_and(waits) {
                return Ok(Flow::On);
            }
            if self.is_there(wait)? {
                self.offer(Actor::Engine, Event::WaitOver, Map::new())?;
                return Ok(Flow::On);
            }
            if wait.kind == WaitKind::Admission && self.is_past(wait) {
                self.offer(Actor::Engine, Event::WaitOver, Map::new())?;
                let Some(now) = self.workspace.current()? else { return Ok(Flow::On) };
                return self.escalate(&now, &wait.why, &["continue"]);
            }
            let look = (wait.kind == WaitKind::Admission).then(|| after(self.now(), LOOK_FOR_SEAT));
            self.sleep(wait.until.into_iter().chain(look).min())?;
        }
    }

    /// Tells whether what is waited for is there.
    fn is_there(&mut self, wait: &Wait) -> Result<bool, DriveError> {
        match wait.kind {
            WaitKind::Admission => self.has_seat(),
            WaitKind::Limit | WaitKind::Outage | WaitKind::Spend => Ok(self.is_past(wait)),
            // A phase waits for these; no run is suspended for them.
            WaitKind::Dependencies | WaitKind::Checks | WaitKind::Review => Ok(true),
        }
    }

    fn is_past(&self, wait: &Wait) -> bool {
        wait.until.is_none_or(|until| self.now() >= until)
    }
}
