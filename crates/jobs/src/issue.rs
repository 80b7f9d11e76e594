//! The issue of a run: its title, its open criteria, and ticking them.

use std::collections::BTreeMap;

use engine::{Run, Seen, criterion};
use forge::{ItemId, Tracker};

use crate::JobError;

/// Returns the title of a run's issue, if there is one.
pub(crate) fn title(tracker: &dyn Tracker, run: &Run) -> Result<Option<String>, JobError> {
    let Some(number) = run.issue.as_deref().and_then(ItemId::typed) else { return Ok(None) };
    Ok(tracker.item(number)?.map(|item| item.title.clone()))
}

/// Returns the criteria of the run's issue in words, by their names.
pub(crate) fn criteria(tracker: &dyn Tracker, run: &Run) -> Result<BTreeMap<String, String>, JobError> {
    let Some(number) = run.issue.as_deref().and_then(ItemId::typed) else { return Ok(BTreeMap::new()) };
    let Some(item) = tracker.item(number)? else { return Ok(BTreeMap::new()) };
    let boxes = item.boxes().items.into_iter().enumerate();
    Ok(boxes.map(|(index, (_, text))| (criterion(index), text)).collect())
}

/// Returns names for the criteria that are not ticked yet: `AC-03` is the third box of the issue.
pub(crate) fn open_criteria(tracker: &dyn Tracker, issue: &str) -> Result<Vec<String>, JobError> {
    let boxes = match tracker.boxes(issue) {
        Seen::Value(boxes) => boxes,
        Seen::Absent(_) => return Ok(Vec::new()),
        Seen::Failed(why) => return Err(JobError::World(why)),
    };
    let numbered = boxes.items.iter().enumerate();
    Ok(numbered.filter(|(_, (ticked, _))| !ticked).map(|(index, _)| criterion(index)).collect())
}

/// Ticks criteria in an issue and returns how many of them are ticked now; none if there is no such issue.
pub(crate) fn tick(
    tracker: &dyn Tracker,
    issue: &str,
    criteria: &[String],
) -> Result<Option<usize>, JobError> {
    let Some(number) = ItemId::typed(issue) else { return Ok(None) };
    if tracker.item(number)?.is_none() {
        return Ok(None);
    }
    Ok(Some(tracker.tick(number, criteria)?.count_ticked(criteria)))
}

/// Takes the ticks from criteria of an issue, if there is such an issue.
pub(crate) fn untick(tracker: &dyn Tracker, issue: &str, criteria: &[String]) -> Result<(), JobError> {
    let Some(number) = ItemId::typed(issue) else { return Ok(()) };
    if tracker.item(number)?.is_some() {
        tracker.untick(number, criteria)?;
    }
    Ok(())
}
