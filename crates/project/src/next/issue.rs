//! The issue of a run: its title, its open criteria, and ticking them.

use engine::{Run, Seen, criterion};

use super::NextError;
use crate::{Forge, issue_number};

/// Returns the title of a run's issue, if there is one.
pub(super) fn title(forge: &mut Forge<'_>, run: &Run) -> Result<Option<String>, NextError> {
    let Some(number) = run.issue.as_deref().and_then(issue_number) else { return Ok(None) };
    Ok(forge.item(number)?.map(|item| item.title.clone()))
}

/// Returns names for the criteria that are not ticked yet: `AC-03` is the third box of the issue.
pub(super) fn open_criteria(forge: &mut Forge<'_>, issue: &str) -> Result<Vec<String>, NextError> {
    let boxes = match forge.boxes(issue) {
        Seen::Value(boxes) => boxes,
        Seen::Absent(_) => return Ok(Vec::new()),
        Seen::Failed(why) => return Err(NextError::World(why)),
    };
    let numbered = boxes.items.iter().enumerate();
    Ok(numbered.filter(|(_, (ticked, _))| !ticked).map(|(index, _)| criterion(index)).collect())
}

/// Ticks criteria in an issue and returns how many of them are ticked now; none if there is no such issue.
pub(super) fn tick(
    forge: &mut Forge<'_>,
    issue: &str,
    criteria: &[String],
) -> Result<Option<usize>, NextError> {
    let Some(number) = issue_number(issue) else { return Ok(None) };
    if forge.item(number)?.is_none() {
        return Ok(None);
    }
    Ok(Some(forge.tick(number, criteria)?))
}

/// Takes the ticks from criteria of an issue, if there is such an issue.
pub(super) fn untick(forge: &mut Forge<'_>, issue: &str, criteria: &[String]) -> Result<(), NextError> {
    let Some(number) = issue_number(issue) else { return Ok(()) };
    if forge.item(number)?.is_some() {
        forge.untick(number, criteria)?;
    }
    Ok(())
}
