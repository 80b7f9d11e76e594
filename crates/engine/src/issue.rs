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
/// How boxes are written: one that is not ticked, the same without its space, and one that is ticked.
const OPEN: &str = "[ ]";
const EMPTY: &str = "[]";
const TICKED: &str = "[x]";
/// The most digits of a list's number, as in CommonMark.
const MOST_DIGITS: usize = 9;

/// Reads the `- [ ]` and `- [x]` lines of a Markdown text. The bullet may be `-`, `*`, `+` or a number, and the space
/// in an open box may be missing.
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

/// Returns where the boxes of these criteria are, as far as they are not ticked: offsets of their brackets.
pub fn open_boxes(markdown: &str, criteria: &[String]) -> Vec<usize> {
    let wanted = |(index, found): &(usize, Found)| !found.is_ticked && criteria.contains(&criterion(*index));
    find_boxes(markdown).enumerate().filter(wanted).map(|(_, found)| found.at).collect()
}

/// Returns a text in which the open boxes at these offsets are ticked; where there is none, nothing changes.
pub fn with_ticks(markdown: &str, at: &[usize]) -> String {
    let mut text = markdown.to_owned();
    let mut places = at.to_vec();
    places.sort_unstable();
    places.dedup();
    // A box without its space gets longer, so the last one comes first.
    for place in places.into_iter().rev() {
        let rest = text.get(place..).unwrap_or_default();
        if let Some(open) = [OPEN, EMPTY].into_iter().find(|open| rest.starts_with(open)) {
            text.replace_range(place..place + open.len(), TICKED);
        }
    }
    text
}

/// Returns a text in which each box has given way to its criterion's name, so that it reads the same however many are ticked.
pub fn with_names(markdown: &str) -> String {
    let mut text = markdown.to_owned();
    for (index, found) in find_boxes(markdown).collect::<Vec<_>>().iter().enumerate().rev() {
        let end = markdown[found.at..].find(']').map_or(found.at, |end| found.at + end + 1);
        let name = criterion(index);
        // A text may begin with its own name.
        let name = if found.text.starts_with(&name) { String::new() } else { format!("{name}:") };
        let end = if name.is_empty() { end + 1 } else { end };
        text.replace_range(found.at..end.min(text.len()), &name);
    }
    text
}

/// Returns a text in which the boxes of these criteria are not ticked.
pub fn without_ticks(markdown: &str, criteria: &[String]) -> String {
    let mut text = markdown.to_owned();
    let ticked = |(index, found): &(usize, Found)| found.is_ticked && criteria.contains(&criterion(*index));
    for (_, found) in find_boxes(markdown).enumerate().filter(ticked) {
        text.replace_range(found.at..found.at + OPEN.len(), OPEN);
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
    let rest = after_bullet(line.shown.trim_start())?.strip_prefix([' ', '\t'])?.trim_start();
    let whole = [OPEN, TICKED, "[X]"].into_iter().find_map(|form| rest.strip_prefix(form));
    // `[](page.md)` is a link.
    let empty = || rest.strip_prefix(EMPTY).filter(|text| text.starts_with([' ', '\t']));
    let text = whole.or_else(empty)?;
    Some(Found {
        is_ticked: !(rest.starts_with(OPEN) || rest.starts_with(EMPTY)),
        at: line.at + (line.shown.len() - rest.len()),
        text: text.trim().chars().take(LONGEST).collect(),
    })
}

/// Returns what follows the bullet or the number of a list's entry.
fn after_bullet(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix(['-', '*', '+']) {
        return Some(rest);
    }
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    rest.strip_prefix(['.', ')']).filter(|_| (1..=MOST_DIGITS).contains(&digits))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_criterion_is_named_whether_its_box_is_ticked_or_not() {
        let text = with_names("# T\n- [ ] one\n* [x] two\n- [ ] AC-03: three\n```\n- [ ] no\n```\n");
        assert_eq!(text, "# T\n- AC-01: one\n* AC-02: two\n- AC-03: three\n```\n- [ ] no\n```\n");
    }

    #[test]
    fn boxes_are_read_and_fences_are_not() {
        let boxes = read_boxes(
            "# T\n- [ ] one\n* [x] two\n```\n- [x] no\n~~~\n```\n  - [X] three\n- [y] no\n-[ ] no",
        );
        assert_eq!(
            boxes.items,
            [(false, "one".to_owned()), (true, "two".to_owned()), (true, "three".to_owned())]
        );
        assert_eq!(boxes.checked(), 2);
    }

    #[test]
    fn every_form_of_a_box_is_read_ticked_and_unticked_in_place() {
        let text = "- [] one\n* [ ] two\n+ [ ] three\n1. [ ] four\n12) [] five\n-\t[ ] six\n- [X] seven\n\
                    ```\n- [] no\n1. [ ] no\n```\n- [](page.md)\n- [][1]\n1 [ ] no\n1234567890. [ ] no\nv1. [ ] no\n- []\n";
        let boxes = read_boxes(text);
        let texts: Vec<&str> = boxes.items.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["one", "two", "three", "four", "five", "six", "seven"]);
        assert_eq!(boxes.checked(), 1);
        let all: Vec<String> = (0..7).map(criterion).collect();
        let ticked = with_ticks(text, &open_boxes(text, &all));
        assert!(ticked.starts_with(
            "- [x] one\n* [x] two\n+ [x] three\n1. [x] four\n12) [x] five\n-\t[x] six\n- [X] seven\n```\n- [] no\n"
        ));
        assert_eq!(read_boxes(&ticked).checked(), 7);
        let open = without_ticks(&ticked, &all);
        assert!(open.starts_with(
            "- [ ] one\n* [ ] two\n+ [ ] three\n1. [ ] four\n12) [ ] five\n-\t[ ] six\n- [ ] seven\n"
        ));
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
        fn any_text_can_be_read(text in r"(?s)([-*#~` \[\]x1.!<>\n]|- \[\] |1\. \[ \] |depends on|blocked by|#[0-9]|<!--|-->|## Dependencies|\PC){0,80}") {
            let boxes = read_boxes(&text);
            prop_assert!(boxes.items.len() <= MOST);
            let all: Vec<String> = (0..boxes.items.len()).map(criterion).collect();
            let open = open_boxes(&text, &all);
            prop_assert_eq!(open.len(), boxes.items.len() - boxes.checked());
            let ticked = with_ticks(&text, &open);
            prop_assert_eq!(read_boxes(&ticked).checked(), boxes.items.len());
            prop_assert_eq!(read_boxes(&without_ticks(&ticked, &all)).checked(), 0);
            let _ = split_title(&text);
            prop_assert!(!read_dependencies(&text, 5).contains(&5));
        }
    }
}
