//! What requests are expected to use, held against the caps while they are under way, and freed when whoever sent them
//! is gone.

use std::{collections::BTreeSet, process};

use adapters::machine;
use engine::{Owner, Time, Usage, ledger::Entry};

use super::{Ledger, LedgerError};

/// What a request may use. What is given as one usage has nothing unknown in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    pub least: Usage,
    pub most: Usage,
}

impl From<Usage> for Expected {
    fn from(usage: Usage) -> Self {
        Self { least: usage, most: usage }
    }
}

impl Expected {
    /// Returns what it will use if its answer is a typical one; the longest where nothing is known of others.
    pub(super) fn usual(self, typical_output: Option<u64>) -> Usage {
        let most = self.most.output_tokens;
        Usage { output_tokens: typical_output.map_or(most, |typical| typical.min(most)), ..self.least }
    }
}

/// Returns a name under which this process holds something. Another process can tell from it whether it is alive.
pub(super) fn holder() -> String {
    let Owner { pid, boot_id, start_ticks, .. } = machine::owner(process::id());
    format!("{pid} {} {boot_id}", start_ticks.unwrap_or_default())
}

/// Tells whether a holder is alive.
fn is_live(holder: &str) -> bool {
    let mut parts = holder.splitn(3, ' ');
    let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok());
    let (Some(pid), Some(ticks)) = (number().and_then(|pid| u32::try_from(pid).ok()), number()) else {
        return false;
    };
    let boot_id = parts.next().unwrap_or_default().to_owned();
    machine::is_live(&Owner { pid, boot_id, start_ticks: Some(ticks), host: None, session: None })
}

impl Ledger {
    /// Frees what processes hold that are gone; tells whether there were any.
    pub(super) fn release_the_dead(&mut self, now: Time, today: &str) -> Result<bool, LedgerError> {
        let dead: BTreeSet<String> =
            self.books.holders().into_iter().filter(|holder| !is_live(holder)).map(str::to_owned).collect();
        if dead.is_empty() {
            return Ok(false);
        }
        self.record::<LedgerError, _>(now, today, |_| {
            Ok(dead.iter().map(|holder| Entry::Released { holder: holder.clone() }).collect::<Vec<_>>())
        })?;
        Ok(true)
    }
}
