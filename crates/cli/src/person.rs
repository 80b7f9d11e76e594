//! How hooks reach a person who is not at the terminal: by the channels of away mode.

use std::time::Duration;

use hooks::{AwayChannel, Exchange, Reachability};
use notify::{Notifier, RunRef};
use project::{Dirs, Place};

/// What hooks and tools are given.
pub(crate) const AWAY: Channels = Channels;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Channels;

impl AwayChannel for Channels {
    fn reach(&self, place: &Place, dirs: &Dirs) -> Reachability {
        match notify::AwayMode::of(place, dirs, &[]) {
            notify::AwayMode::Off(_) => Reachability::Off,
            notify::AwayMode::Unreachable(why) => Reachability::Unreachable(why),
            notify::AwayMode::Telegram(_) => Reachability::Reachable,
        }
    }

    fn tell(&self, place: &Place, dirs: &Dirs, run: &str) {
        // What is wrong with the channel is in `warp rdb status`; the agent has nothing to do with it.
        notify::tell(place, dirs, run);
    }

    fn begin(&self, place: &Place, dirs: &Dirs, run: &str) -> Option<Box<dyn Exchange>> {
        let reach = notify::AwayMode::of(place, dirs, &[]);
        Some(Box::new(Open(Notifier::start(dirs, &reach, RunRef::run(place, run))?)))
    }
}

struct Open(Notifier);

impl Exchange for Open {
    fn nudge(&self) {
        self.0.nudge();
    }

    fn finish(self: Box<Self>, patience: Duration) {
        self.0.finish(patience);
    }
}
