//! What became of the issues of a session, in a line each.

use forge::{ForgeError, ItemId, Query};
use project::{Workspace, counted};

use crate::{
    driver::Finish,
    show::{Show, Shown},
};

/// What became of every issue so far, in the order in which they were taken.
#[derive(Default)]
pub(super) struct Summary {
    rows: Vec<(&'static str, String)>,
}

impl Summary {
    /// Takes down how a run has ended; `issue` is nothing if there was none to be had.
    pub(super) fn add(
        &mut self,
        here: &mut Workspace,
        issue: Option<&str>,
        finish: &Finish,
    ) -> Result<(), ForgeError> {
        let Some(number) = issue.and_then(ItemId::typed) else { return Ok(()) };
        let title = here.tracker().item(number)?.map(|item| item.title.clone()).unwrap_or_default();
        let about = format!("#{number} {title}");
        self.rows.push(match finish {
            Finish::Done => match handed_over(here, number)? {
                Some(pull) => ("ready for review", format!("{about}: `warp pr show {pull}`")),
                None => ("merged", about),
            },
            Finish::PutOff(chunks) => {
                ("skipped", format!("{about}: {}", counted(*chunks as u64, "chunk", "chunks")))
            }
            Finish::Parked(asked) => ("waits for you", format!("{about}: {}", asked.inline_commands())),
            Finish::Interrupted => ("interrupted", format!("{about}: `warp run {number}` resumes")),
            Finish::Aborted | Finish::Stopped => ("stopped", about),
            Finish::Ended(how) => ("over", format!("{about} ({how})")),
            Finish::Blocked(why) => ("waits", format!("{about}: {why}")),
            Finish::Refused(problem) => ("not started", format!("{about}: {problem}")),
        });
        Ok(())
    }

    /// Takes down why an issue was left to somebody else.
    pub(super) fn pass_over(&mut self, why: &str) {
        self.rows.push(("skipped", why.to_owned()));
    }

    /// Shows all of it, if there is any.
    pub(super) fn show(&self, show: &mut dyn Show) {
        if self.rows.is_empty() {
            return;
        }
        let row = |(what, about): &(&str, String)| format!("  {what:<16}  {about}\n");
        let rows: String = self.rows.iter().map(row).collect();
        show.show(Shown::Plain(&format!("\nThis session:\n{rows}")));
    }
}

/// Returns the pull request by which an issue waits to be merged.
fn handed_over(here: &mut Workspace, number: ItemId) -> Result<Option<ItemId>, ForgeError> {
    let pulls = here.forge().pulls(Query::Open)?;
    let is_about = |pull: &forge::Pull| pull.issue == Some(number);
    Ok(pulls.iter().find(|item| item.pull.as_ref().is_some_and(is_about)).map(|pull| pull.id))
}
