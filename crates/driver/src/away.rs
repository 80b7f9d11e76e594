//! Whoever is away hears of the run, and is asked, in a thread of its own: nothing here waits for a channel but the end.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use engine::{Act, Run};
use journal::Durable;
use notify::{AwayMode, Notifier, RunRef, Wake};
use project::{Answer, Dirs, Place, Recorded, spelled};

use crate::{driver::Driver, show::Shown};

/// How often it is looked whether the person has gone, or is back.
const LOOKING: Duration = Duration::from_secs(2);
/// How long the end of a run waits for its last notices to be sent.
const LAST_NOTICES: Duration = Duration::from_secs(5);

/// The way to a person who is away.
#[derive(Default)]
pub(crate) struct Away {
    bridge: Option<Notifier>,
    /// What wakes it when something is recorded.
    nudge: Arc<Nudge>,
    looked: Option<Instant>,
    /// Why they cannot be reached, once it was said.
    told: Option<String>,
}

/// Wakes whoever tells the person of what is recorded in this process.
#[derive(Debug, Default)]
pub(crate) struct Nudge(Mutex<Option<Wake>>);

impl Recorded for Nudge {
    /// What the loop may answer by itself is told when it is asked.
    fn recorded(&self, _: &Place, _: &Dirs, answer: &Answer) {
        if !is_answered_here(&answer.current.run)
            && let Some(wake) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner)
        {
            wake.signal();
        }
    }
}

/// Tells whether the loop may answer by itself what is asked.
pub(crate) fn is_answered_here(run: &Run) -> bool {
    matches!(run.act(), Act::Person { unattended: Some(_), .. })
}

impl Away {
    /// Tells the thread that speaks to the person of what is recorded by these directories.
    pub(crate) fn follow(dirs: &mut Dirs) -> Self {
        let away = Self::default();
        dirs.recorded = Some(Arc::clone(&away.nudge) as Arc<dyn Recorded>);
        away
    }

    fn set(&mut self, bridge: Option<Notifier>) {
        let wake = bridge.as_ref().map(Notifier::wake);
        *self.nudge.0.lock().unwrap_or_else(PoisonError::into_inner) = wake;
        self.bridge = bridge;
    }
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
                    self.away.set(None);
                    self.pass_over(&reach, run);
                }
                AwayMode::Unreachable(why) => {
                    self.away.set(None);
                    if self.away.told.as_ref() != Some(why) {
                        self.show.show(Shown::Warned(&format!("away: {why}")));
                        self.away.told = Some(why.clone());
                    }
                }
                AwayMode::Telegram(_) if self.away.bridge.is_none() => {
                    let of = RunRef::run(&workspace.place, run);
                    let bridge = Notifier::start(&workspace.dirs, &reach, of);
                    bridge.iter().for_each(|bridge| bridge.ring(self.wake.bell.clone()));
                    self.away.set(bridge);
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
