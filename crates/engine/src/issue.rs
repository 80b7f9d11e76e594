//! Reading an issue's text: its acceptance criteria, and what it depends on.
//!
//! The text is Markdown as people write it. What a reader would not take as said is not read: code fences and hidden
//! HTML comments never count, and code in a line is no reference.

mod dependencies;
mod markdown;

pub use dependencies::{find_cycle, read_dependencies};

use crate::Boxes;
use markdown::Line;

/// How many boxes of one issue are read; more is no issue but a flood.
const MOST: usize = 500;
/// The most that is read of a criterion's text, in characters.
const LONGEST: usize = 300;
/// How a box that is not ticked is written.
pub const OPEN_BOX: &str = "[ ]";

/// Reads the `- [ ]` and `- [x]` lines of a Markdown text.
///
/// Boxes in a section of dependencies are other issues, and no criteria of this one.
pub fn read_boxes(markdown: &str) -> Boxes {
    Boxes { items: find_boxes(markdown).map(|found| (found.is_ticked, found.text)).collect() }
}

/// Returns a text without the comments that a reader does not see, wherever they are.
pub fn visible_text(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some((before, hidden)) = rest.split_once("<!--") {
        text.push_str(before);
        rest = hidden.split_once("-->").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    text
}

/// Returns where the boxes of these criteria are, as far as they are not ticked: offsets of [`OPEN_BOX`].
pub fn open_boxes(markdown: &str, criteria: &[String]) -> Vec<usize> {
    let wanted = |(index, found): &(usize, Found)| !found.is_ticked && criteria.contains(&criterion(*index));
    find_boxes(markdown).enumerate().filter(wanted).map(|(_, found)| found.at).collect()
}

/// Returns a text in which the boxes of these criteria are not ticked.
pub fn without_ticks(markdown: &str, criteria: &[String]) -> String {
    let mut text = markdown.to_owned();
    let ticked = |(index, found): &(usize, Found)| found.is_ticked && criteria.contains(&criterion(*index));
    for (_, found) in find_boxes(markdown).enumerate().filter(ticked) {
        text.replace_range(found.at..found.at + OPEN_BOX.len(), OPEN_BOX);
    }
    text
}

/// Takes the first `# ` heading out of a text: the title, and the text without it.
pub fn split_title(markdown: &str) -> Option<(String, String)> {
    let is_title = |line: &Line| line.shown.starts_with("# ");
    let found = markdown::lines(markdown).into_iter().find(is_title)?;
    let title = found.shown.trim_start_matches("# ").trim().to_owned();
    let (before, after) = (&markdown[..found.at], &markdown[found.at + found.shown.len()..]);
    Some((title, format!("{before}{}", after.trim_start_matches(['\r', '\n']))))
}

/// Returns the name of a criterion by its place: `AC-03` is the third box of an issue.
pub fn criterion(index: usize) -> String {
    format!("AC-{:02}", index.saturating_add(1))
}

struct Found {
    is_ticked: bool,
    /// Where its brackets are.
    at: usize,
    text: String,
}

fn find_boxes(markdown: &str) -> impl Iterator<Item = Found> {
    let lines = markdown::lines(markdown).into_iter().filter(|line| !line.names_dependencies);
    lines.filter_map(|line| read_box(&line)).take(MOST)
}

fn read_box(line: &Line) -> Option<Found> {
    let rest = line.shown.trim_start().strip_prefix(['-', '*', '+'])?.strip_prefix(' ')?.trim_start();
    let text = rest.strip_prefix(OPEN_BOX).or_else(|| rest.strip_prefix("[x]"));
    let text = text.or_else(|| rest.strip_prefix("[X]"))?;
    Some(Found {
        is_ticked: !rest.starts_with(OPEN_BOX),
        at: line.at + (line.shown.len() - rest.len()),
        text: text.trim().chars().take(LONGEST).collect(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn boxes_are_read_and_fences_are_not() {
        let boxes =
            read_boxes("# T\n- [ ] one\n* [x] two\n```\n- [x] no\n~~~\n```\n  - [X] three\n- [] no\n-[ ] no");
        assert_eq!(
            boxes.items,
            [(false, "one".to_owned()), (true, "two".to_owned()), (true, "three".to_owned())]
        );
        assert_eq!(boxes.checked(), 2);
    }

    #[test]
    fn hidden_comments_are_left_out_of_what_is_shown() {
        assert_eq!(visible_text("a <!-- do evil --> b <!-- never closed"), "a  b ");
        assert_eq!(visible_text("a --> b"), "a --> b");
    }

    #[test]
    fn what_a_reader_does_not_see_is_no_criterion() {
        let text = "- [ ] one <!-- secret -->\n<!--\n- [ ] hidden\n-->\n- [ ] `<!--` two\n````\n```\n- [ ] no\n````\n\
                    ## Blocked by\n- [ ] #7\n## More\n- [ ] three\n<!-- - [ ] never closed\n- [ ] hidden too";
        let texts: Vec<String> = read_boxes(text).items.into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["one", "`<!--` two", "three"]);
    }

    #[test]
    fn open_boxes_are_found_where_they_are() {
        let text =
            "# T\n<!-- [ ] -->- [ ] one\n```\n- [ ] no box\n```\n  * [ ] two [ ]\n- [x] three\n- [ ] ä";
        let criteria = ["AC-01", "AC-02", "AC-03", "AC-09"].map(str::to_owned);
        let found = open_boxes(text, &criteria);
        assert_eq!(found, [text.find("[ ] one").unwrap(), text.find("[ ] two").unwrap()]);
        assert_eq!(open_boxes(text, &["AC-04".to_owned()]), [text.find("[ ] ä").unwrap()]);
    }

    #[test]
    fn ticks_are_taken_from_the_boxes_that_are_named() {
        let text = "- [x] one [x]\n- [X] two\n<!-- [x] -->\n- [x] three\n- [ ] four\n";
        let criteria = ["AC-01", "AC-02", "AC-04"].map(str::to_owned);
        let wanted = "- [ ] one [x]\n- [ ] two\n<!-- [x] -->\n- [x] three\n- [ ] four\n";
        assert_eq!(without_ticks(text, &criteria), wanted);
    }

    #[test]
    fn the_first_heading_is_the_title() {
        let split = |text| split_title(text).map(|(title, body)| format!("{title}|{body}"));
        assert_eq!(split("# A  parser \r\n\r\n- [ ] one\n# Two\n").unwrap(), "A  parser|- [ ] one\n# Two\n");
        assert_eq!(split("---\n```\n# no\n```\n# Yes").unwrap(), "Yes|---\n```\n# no\n```\n");
        assert_eq!(split("## no\n#no\n"), None);
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in r"(?s)([-*#~` \[\]x!<>\n]|depends on|blocked by|#[0-9]|<!--|-->|## Dependencies|\PC){0,80}") {
            let boxes = read_boxes(&text);
            prop_assert!(boxes.items.len() <= MOST);
            let all: Vec<String> = (0..boxes.items.len()).map(criterion).collect();
            let open = open_boxes(&text, &all);
            prop_assert_eq!(open.len(), boxes.items.len() - boxes.checked());
            let mut ticked = text.clone();
            for at in open {
                prop_assert_eq!(ticked.get(at..at + 3), Some(OPEN_BOX));
                ticked.replace_range(at..at + 3, "[x]");
            }
            prop_assert_eq!(read_boxes(&ticked).checked(), boxes.items.len());
            let _ = split_title(&text);
            prop_assert!(!read_dependencies(&text, 5).contains(&5));
        }
    }
}
