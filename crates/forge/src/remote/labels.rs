//! Labels: found by their exact names, created with a colour on first use, and of every name only one.

use std::collections::BTreeMap;

use super::{
    mirror::{Covers, Mirror},
    server::{Label, Server},
};
use crate::client::Failure;

/// Colours of the labels that warp uses, without `#`.
const COLOURS: [(&str, &str); 24] = [
    ("action", "c5def5"),
    ("approved", "0e8a16"),
    ("backlog", "0e8a16"),
    ("blocked", "b60205"),
    ("bug", "d73a4a"),
    ("cap", "5319e7"),
    ("decision", "d4c5f9"),
    ("in-progress", "fbca04"),
    ("lesson", "c2e0c6"),
    ("lessons", "c2e0c6"),
    ("p1-critical", "b60205"),
    ("p2-high", "d93f0b"),
    ("p3-medium", "fbca04"),
    ("p4-low", "c2e0c6"),
    ("prediction", "bfd4f2"),
    ("priority", "d93f0b"),
    ("report", "bfdadc"),
    ("req", "1d76db"),
    ("risk", "e99695"),
    ("session-summary", "bfdadc"),
    ("tech-debt", "6b7280"),
    ("todo", "fef2c0"),
    ("underspecified", "f9d0c4"),
    ("warp-drive", "0052cc"),
];
const OTHER: &str = "ededed";

fn colour(name: &str) -> &'static str {
    COLOURS.iter().find(|(of, _)| *of == name).map_or(OTHER, |(_, colour)| colour)
}

/// Returns the labels with these names, and creates those that there are not.
pub(super) fn ensure(server: &dyn Server, names: &[String]) -> Result<Vec<Label>, Failure> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut known = lowest(server.labels()?);
    let mut labels = Vec::with_capacity(names.len());
    for name in names {
        let label = match known.remove(name) {
            Some(label) => label,
            None => create(server, name)?,
        };
        labels.push(label);
    }
    Ok(labels)
}

/// Creates a label. If somebody else does so at the same time, theirs or ours goes: the one with the higher number.
fn create(server: &dyn Server, name: &str) -> Result<Label, Failure> {
    let created = match server.create_label(name, colour(name)) {
        Ok(label) => Some(label),
        // GitHub says so if it is there; after a lost answer it may be.
        Err(failure) if failure.leaves_open() || failure.status() == Some(422) => {
            let found = lowest(server.labels()?).remove(name);
            return found.ok_or(failure);
        }
        Err(failure) => return Err(failure),
    };
    let mut all = server.labels()?;
    all.retain(|label| label.name == name);
    all.sort_by_key(|label| label.id);
    let Some(first) = all.first().cloned() else {
        return Err(Failure::Bad(format!("the label `{name}` was created and is not there")));
    };
    if let Some(ours) = created.filter(|ours| ours.id != first.id) {
        // Nothing has it yet. If it cannot be deleted, it is left alone: what is attached is the first one.
        match server.delete_label(&ours) {
            Ok(()) | Err(Failure::Status { .. }) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(first)
}

/// Gives every issue the first of the labels of one name, and deletes the others. Labels that approve are left alone,
/// because attaching one is an act of its own.
pub(super) fn heal(
    server: &dyn Server,
    mirror: &mut Mirror,
    names: &[String],
    approving: &[String],
) -> Result<(), Failure> {
    let all = server.labels()?;
    let first = lowest(all.clone());
    let is_meant = |label: &&Label| {
        names.contains(&label.name)
            && !approving.contains(&label.name)
            && first.get(&label.name).is_some_and(|first| first.id != label.id)
    };
    let surplus: Vec<&Label> = all.iter().filter(is_meant).collect();
    if surplus.is_empty() {
        return Ok(());
    }
    mirror.refresh(server, Covers::All)?;
    for label in surplus {
        let Some(first) = first.get(&label.name) else { continue };
        for issue in mirror.issues().filter(|issue| issue.labels.contains(label)) {
            if !issue.labels.contains(first) {
                server.attach(issue.number, std::slice::from_ref(first))?;
            }
        }
        match server.delete_label(label) {
            // Who may not delete labels goes on with the first one.
            Ok(()) | Err(Failure::Status { .. }) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

/// Returns of every name the label with the lowest number.
fn lowest(labels: Vec<Label>) -> BTreeMap<String, Label> {
    let mut lowest: BTreeMap<String, Label> = BTreeMap::new();
    for label in labels {
        let known = lowest.entry(label.name.clone()).or_insert_with(|| label.clone());
        if label.id < known.id {
            *known = label;
        }
    }
    lowest
}
