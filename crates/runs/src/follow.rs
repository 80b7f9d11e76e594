//! Following the runs of a project while events are recorded, by whatever process.

use std::time::Duration;

use engine::Record;
use journal::{Scope, Watch};

use crate::{
    Current, Error, Runs,
    current::{RUNS, parse_record},
};

/// A place in the journal, from which on it is followed.
#[derive(Debug)]
pub struct Follower {
    watch: Box<dyn Watch>,
}

/// An event that was recorded, and its run as it stands by now.
#[derive(Debug)]
pub struct Followed {
    pub record: Record,
    pub current: Current,
}

impl Runs {
    /// Begins to follow the project's journal; nothing while it has none.
    pub fn follower(&self) -> Result<Option<Follower>, Error> {
        let Some(store) = self.store() else { return Ok(None) };
        Ok(Some(Follower { watch: store.watch(Scope::Store, store.last_position()?)? }))
    }

    /// Waits for events of runs, and returns them in order; none if `patience` ends first, or others came.
    pub fn follow(&self, follower: &mut Follower, patience: Duration) -> Result<Vec<Followed>, Error> {
        let mut followed = Vec::new();
        for event in follower.watch.wait(patience)? {
            if !event.stream.as_str().starts_with(RUNS) {
                continue;
            }
            let record = parse_record(&event.stream, event.seq, &event.body)?;
            if let Some(view) = self.stored()?.load(&event.stream)? {
                followed.push(Followed { record, current: self.load(view)? });
            }
        }
        Ok(followed)
    }
}
