//! Whoever is away hears of the run, and is asked, in a thread of its own: nothing here waits for a channel but the end.

use std::time::{Duration, Instant};

use journal::Durable;
use notify::{AwayMode, Notifier, RunRef};
use project::spelled;

use crate::{driver::Driver, show::Shown};

/// How often it is looked whether the person has gone, or is back.
const LOOKING: Duration = Duration::from_secs(2);
/// How long the end of a run waits for its last notices to be sent.
const LAST_NOTICES: Duration = Duration::from_secs(5);

/// The way to a person who is away.
#[derive(Default)]
pub(crate) struct Away {
    bridge: Option<Notifier>,
    looked: Option<Instant>,
    /// Why they cannot be reached, once it was said.
    told: Option<String>,
}

impl Driver<'_> {
    /// Sees to it that whoever is away hears of what was recorded. The run's own settings are not asked: a person may
    /// leave, or come back, at any time.
    pub(crate) fn tell_away(&mut self, run: &str) {
        if self.away.looked.is_none_or(|looked| looked.elapsed() > LOOKING) {
            self.away.looked = Some(Instant::now());
            let workspace = &self.workspace;
            let reach = AwayMode::of(&workspace.place, &workspace.dirs, &self.options.set);
            match &reach {
                AwayMode::Off(_) => {
                    self.away.bridge = None;
                    self.pass_over(&reach, run);
                }
                AwayMode::Unreachable(why) => {
                    self.away.bridge = None;
                    if self.away.told.as_ref() != Some(why) {
                        self.show.show(Shown::Warned(&format!("away: {why}")));
                        self.away.told = Some(why.clone());
                    }
                }
                AwayMode::Telegram(_) if self.away.bridge.is_none() => {
                    let of = RunRef::run(&workspace.place, run);
                    let bridge = Notifier::start(&workspace.dirs, &reach, of);
                    bridge.iter().for_each(|bridge| bridge.ring(self.wake.bell.clone()));
                    self.away.bridge = bridge;
                }
                AwayMode::Telegram(_) => {}
            }
        }
        if let Some(bridge) = &self.away.bridge {
            bridge.nudge();
        }
        self.hear_away();
    }

    /// Shows what there is to say about the way to the person.
    pub(crate) fn hear_away(&mut self) {
        let notes = self.away.bridge.as_ref().map(Notifier::notes).unwrap_or_default();
        for note in notes {
            self.show.show(Shown::Warned(&note));
        }
    }

    /// Asks whoever is away; tells whether they can answer.
    pub(crate) fn ask_away(&mut self, run: &str, _: &Durable) -> bool {
        self.away.looked = None;
        self.tell_away(run);
        self.away.bridge.is_some()
    }

    /// Lets what was recorded while away mode is off go untold.
    fn pass_over(&mut self, reach: &AwayMode, run: &str) {
        let of = RunRef::run(&self.workspace.place, run);
        if let Err(error) = notify::pass_over(&self.workspace.dirs, reach, of) {
            self.show.show(Shown::Warned(&format!("away: {}", spelled(&error))));
        }
    }

    /// Lets the last notices go out, for as long as that makes sense.
    pub(crate) fn end_away(&mut self) {
        let Some(bridge) = self.away.bridge.take() else {
            // What was recorded since it was last looked is not left for whoever is told next.
            let (workspace, run) = (&self.workspace, self.run.clone());
            let reach = AwayMode::of(&workspace.place, &workspace.dirs, &self.options.set);
            return self.pass_over(&reach, &run);
        };
        for note in bridge.finish(LAST_NOTICES) {
            self.show.show(Shown::Warned(&note));
        }
    }
}
