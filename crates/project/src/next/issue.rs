//! An issue as a file of the project: its open criteria, and ticking them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use engine::{Seen, read_boxes};

use super::NextError;
use crate::{atomic, probe};

/// Returns names for the criteria that are not ticked yet: `AC-03` is the third box of the issue.
pub(super) fn open_criteria(root: &Path, issue: &str) -> Result<Vec<String>, NextError> {
    let boxes = match probe::boxes(root, issue) {
        Seen::Value(boxes) => boxes,
        Seen::Absent(_) => return Ok(Vec::new()),
        Seen::Failed(why) => return Err(NextError::World(why)),
    };
    let numbered = boxes.items.iter().enumerate();
    Ok(numbered.filter(|(_, (checked, _))| !checked).map(|(index, _)| label(index)).collect())
}

fn label(index: usize) -> String {
    format!("AC-{:02}", index + 1)
}

/// Ticks criteria in an issue's file and returns how many of them are ticked now; none if there is no file.
pub(super) fn tick(root: &Path, issue: &str, criteria: &[String]) -> Result<Option<usize>, NextError> {
    match probe::boxes(root, issue) {
        Seen::Value(_) => {}
        Seen::Absent(_) => return Ok(None),
        Seen::Failed(why) => return Err(NextError::World(why)),
    }
    let path = probe::issue_file(root, issue);
    let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
    let ticked = ticked(&text, criteria);
    if ticked != text {
        atomic::replace(&path, &ticked).map_err(|error| failed(&path, &error))?;
    }
    let boxes = read_boxes(&ticked);
    let wanted =
        |(index, (checked, _)): &(usize, &(bool, String))| *checked && criteria.contains(&label(*index));
    Ok(Some(boxes.items.iter().enumerate().filter(wanted).count()))
}

fn failed(path: &Path, error: &std::io::Error) -> NextError {
    NextError::World(format!("{}: {error}", PathBuf::from(path).display()))
}

/// Ticks the boxes of these criteria; every other byte stays.
fn ticked(text: &str, criteria: &[String]) -> String {
    let mut boxes = 0;
    let mut done = String::with_capacity(text.len());
    let mut before = String::new();
    for line in text.split_inclusive('\n') {
        before.push_str(line);
        let now = read_boxes(&before).items.len();
        let is_box = now > boxes;
        boxes = now;
        if is_box && criteria.contains(&label(boxes - 1)) {
            done.push_str(&line.replacen("[ ]", "[x]", 1));
        } else {
            done.push_str(line);
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_boxes_are_ticked_and_nothing_else_changes() {
        let text = "# T\r\n- [ ] one\n```\n- [ ] no box\n```\n  * [ ] two [ ]\n- [x] three\n- [ ] four";
        let criteria = ["AC-02", "AC-03"].map(str::to_owned);
        let wanted = "# T\r\n- [ ] one\n```\n- [ ] no box\n```\n  * [x] two [ ]\n- [x] three\n- [ ] four";
        assert_eq!(ticked(text, &criteria), wanted);
    }
}
