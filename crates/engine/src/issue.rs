//! Reading acceptance criteria from an issue's text.

use crate::Boxes;

/// How many boxes of one issue are read; more is no issue but a flood.
const MOST: usize = 500;

/// Reads the `- [ ]` and `- [x]` lines of a Markdown text. Lines in code fences do not count.
pub fn read_boxes(markdown: &str) -> Boxes {
    let mut items = Vec::new();
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let line = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark)) {
            match fence {
                None => fence = Some(mark),
                Some(open) if open == mark => fence = None,
                Some(_) => {}
            }
            continue;
        }
        if fence.is_none()
            && let Some(item) = read_box(line)
            && items.len() < MOST
        {
            items.push(item);
        }
    }
    Boxes { items }
}

fn read_box(line: &str) -> Option<(bool, String)> {
    let rest = line.strip_prefix(['-', '*', '+'])?.strip_prefix(' ')?.trim_start();
    let (checked, text) = if let Some(text) = rest.strip_prefix("[ ]") {
        (false, text)
    } else {
        (true, rest.strip_prefix("[x]").or_else(|| rest.strip_prefix("[X]"))?)
    };
    Some((checked, text.trim().chars().take(300).collect()))
}

#[cfg(test)]
mod tests {
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
}
