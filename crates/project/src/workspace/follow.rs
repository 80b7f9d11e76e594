//! Following the runs of a project while events are recorded, by whatever process.

use std::time::Duration;

use engine::Record;
use journal::{
    Store as _,
    sqlite::{Scope, Watch},
};

use super::{Current, Error, RUNS, Workspace, parse_record};

/// A place in the journal, from which on it is followed.
#[derive(Debug)]
pub struct Follower {
    watch: Watch,
    position: u64,
}

/// An event that was recorded, and its run as it stands by now.
#[derive(Debug)]
pub struct Followed {
    pub record: Record,
    pub current: Current,
}

impl Workspace {
    /// Begins to follow the project's journal; nothing while it has none.
    pub fn follower(&mut self) -> Result<Option<Follower>, Error> {
        let (Some(path), Some(store)) = (self.store_path()?, &mut self.store) else { return Ok(None) };
        let position = store.last_position()?;
        Ok(Some(Follower { watch: Watch::open(path, Scope::Store)?, position }))
    }

    /// Waits for events of runs, and returns them in order; none if `patience` ends first, or others came.
    pub fn follow(&mut self, follower: &mut Follower, patience: Duration) -> Result<Vec<Followed>, Error> {
        let mut followed = Vec::new();
        for event in follower.watch.wait(follower.position, patience)? {
            follower.position = event.position;
            if !event.stream.as_str().starts_with(RUNS) {
                continue;
            }
            let record = parse_record(&event.stream, event.seq, &event.body)?;
            if let Some(view) = self.store()?.view(&event.stream)? {
                followed.push(Followed { record, current: self.load(view)? });
            }
        }
        Ok(followed)
    }
}
