//! Issues from files: a file is one issue, however often it is imported.

use std::{collections::BTreeSet, sync::Arc};

use engine::{criterion, digest, open_boxes, read_boxes, split_title, with_ticks};

use crate::{Edit, FiledItem, ForgeError, Item, ItemId, NewItem, Refusal, Tracker};

/// A file to import as an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueFile {
    /// Path of the file; identifies it.
    pub file: String,
    /// Markdown; the first `# ` heading is the title.
    pub text: String,
    /// Required id.
    pub id: Option<ItemId>,
    /// Preferred id, if free.
    pub hoped_for: Option<ItemId>,
}

/// Result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    pub item: Arc<Item>,
    /// Whether an existing issue was updated.
    pub was_there: bool,
}

/// Files an issue from a file, or brings the one that was filed from it up to date.
///
/// A criterion that was ticked meanwhile stays so: importing again takes no work back.
pub fn import(tracker: &dyn Tracker, from: &IssueFile) -> Result<Imported, ForgeError> {
    let no_title = || Refusal::Text {
        what: "file",
        problem: format!("`{}` has no `# ` heading for a title", from.file),
    };
    let (title, body) = split_title(&from.text).ok_or_else(no_title)?;
    let marker = format!("import:{}", digest(&from.file));
    let filed = match tracker.filed(&marker)? {
        Some(id) => FiledItem { id, was_there: true, url: None },
        None => file(tracker, &NewItem::of(&title, &body, BTreeSet::new()), from, &marker)?,
    };
    if from.id.is_some_and(|id| id != filed.id) {
        return Err(Refusal::ImportedAs { file: from.file.clone(), id: filed.id }.into());
    }
    let mut item = tracker.get(filed.id)?;
    if filed.was_there {
        let body = keep_ticks(&item.body, &body);
        let edit = Edit { title: Some(title), body: Some(body), base: Some(item.body.clone()) };
        item = tracker.edit(filed.id, &edit)?;
    }
    Ok(Imported { item, was_there: filed.was_there })
}

fn file(
    tracker: &dyn Tracker,
    new: &NewItem,
    from: &IssueFile,
    marker: &str,
) -> Result<FiledItem, ForgeError> {
    let hoped_for = from.hoped_for.filter(|_| from.id.is_none() && tracker.capabilities().chooses_ids);
    if hoped_for.is_some() {
        match tracker.file(&NewItem { id: hoped_for, ..new.clone() }, Some(marker)) {
            Err(ForgeError::Refused(Refusal::Taken { .. } | Refusal::Number { .. })) => {}
            filed => return filed,
        }
    }
    tracker.file(&NewItem { id: from.id, ..new.clone() }, Some(marker))
}

/// Ticks the boxes of a text that were ticked in an older one.
fn keep_ticks(old: &str, new: &str) -> String {
    let ticked: BTreeSet<String> =
        read_boxes(old).items.into_iter().filter(|(ticked, _)| *ticked).map(|(_, text)| text).collect();
    let boxes = read_boxes(new).items.into_iter().enumerate();
    let criteria: Vec<String> =
        boxes.filter(|(_, (_, text))| ticked.contains(text)).map(|(index, _)| criterion(index)).collect();
    let open = open_boxes(new, &criteria);
    with_ticks(new, &open)
}
