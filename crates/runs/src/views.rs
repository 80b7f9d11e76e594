//! What is shown of runs elsewhere.

use engine::{Advice, ClaimSeen, CommandResult, Observations, Probe, Record, Seen};

use crate::{Current, Error, Shown};

/// Where a run is shown and looked at, as a directory in which it works: what is shown there has to agree with what is
/// recorded, and only there a probe can be answered.
pub trait Views {
    /// Why something could not be shown or looked up.
    type Error: From<Error>;
    /// Keeps others from what is shown, for as long as it lives.
    type Lock;

    /// Keeps others out while an event is decided and recorded.
    fn lock(&mut self) -> Result<Self::Lock, Self::Error>;

    /// Looks up what the engine has to know. It may take minutes, and nobody is kept out meanwhile.
    fn look(
        &mut self,
        current: &Current,
        probes: &[Probe],
    ) -> Result<(Observations, Vec<Advice>), Self::Error>;

    /// Records what was noted there and is not in the journal yet.
    fn settle(&mut self, current: Current) -> Result<(Current, Vec<Advice>), Self::Error> {
        Ok((current, Vec::new()))
    }

    /// Takes away what would be too old as soon as `after` is recorded, and returns what will be shown then.
    fn before_record(&mut self, before: &Current, after: &Current) -> Result<Shown, Self::Error> {
        let _ = after;
        Ok(before.shown.left_behind())
    }

    /// Shows a run after these records. What cannot be shown stays recorded.
    fn after_record(&mut self, current: &Current, records: &[Record]) -> Result<Vec<Advice>, Self::Error>;
}

/// Answers probes where there is nothing to look at.
pub fn unseen(probes: &[Probe], why: &str) -> Observations {
    fn absent<T>(why: &str) -> Option<Seen<T>> {
        Some(Seen::Absent(why.to_owned()))
    }
    let mut seen = Observations::default();
    for probe in probes {
        match probe {
            Probe::Diff { .. } => seen.diff = absent(why),
            Probe::Boxes { .. } => seen.boxes = absent(why),
            Probe::Head => seen.head = absent(why),
            Probe::Commits { .. } => seen.commits = absent(why),
            Probe::Tree => seen.tree = absent(why),
            Probe::Commands(commands) => {
                let failed = |command: &String| CommandResult {
                    command: command.clone(),
                    passed: false,
                    end: why.to_owned(),
                    output: String::new(),
                    names: Vec::new(),
                };
                seen.commands = commands.iter().map(failed).collect();
            }
            Probe::TestNames(_) => {}
            Probe::Lines { .. } => seen.lines = absent(why),
            Probe::Receipt(claim) => {
                let claim = claim.clone();
                seen.receipts.push(ClaimSeen { claim, file: absent(why), commit: absent(why) });
            }
            Probe::Tests { .. } => seen.tests = absent(why),
            Probe::Frozen { .. } => seen.frozen = absent(why),
            Probe::Usage { .. } => seen.usage = absent(why),
            Probe::Seeds { .. } => seen.unseeded = absent(why),
            Probe::Criteria { .. } => seen.has_criteria = absent(why),
        }
    }
    seen
}
