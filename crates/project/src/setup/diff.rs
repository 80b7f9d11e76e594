//! What changes in a file, as a unified diff.
//!
//! What is shown here differs in a few runs of lines, so the lines that both texts begin and end with are set aside
//! and the rest is compared by the longest common subsequence. Where that would be a great deal of work the whole
//! middle is shown as replaced, which is as true.

use std::fmt::Write as _;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;
/// The most cells of the comparison: 16 MB of memory.
const MOST_CELLS: usize = 4_000_000;

/// A line of either text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// Returns the unified diff of two texts; empty if they are equal. None is a file that is not there.
pub(super) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    let lines = compare(&split(before), &split(after));
    if before == after {
        return String::new();
    }
    let label = |text: Option<&str>| text.map_or("/dev/null", |_| name).to_owned();
    let mut shown = format!("--- {}\n+++ {}\n", label(before), label(after));
    for (start, end) in hunks(&lines) {
        let counted =
            |lines: &[Line<'_>], side: fn(&Line<'_>) -> bool| lines.iter().filter(|line| side(line)).count();
        let range = |side: fn(&Line<'_>) -> bool| {
            let (first, count) = (counted(&lines[..start], side), counted(&lines[start..end], side));
            let first = if count == 0 { first } else { first + 1 };
            if count == 1 { first.to_string() } else { format!("{first},{count}") }
        };
        let old = range(|line| !matches!(line, Line::New(_)));
        let new = range(|line| !matches!(line, Line::Gone(_)));
        let mut add = |part: &str| shown.write_str(part).expect("writing to a string cannot fail");
        add(&format!("@@ -{old} +{new} @@\n"));
        for line in &lines[start..end] {
            let (sign, text) = match line {
                Line::Same(text) => (" ", text),
                Line::Gone(text) => ("-", text),
                Line::New(text) => ("+", text),
            };
            add(sign);
            add(text);
            if !text.ends_with('\n') {
                add("\n\\ No newline at end of file\n");
            }
        }
    }
    shown
}

fn split(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split_inclusive('\n').collect()
}

/// Returns the runs of lines to show: each change with its surroundings, joined where they touch.
fn hunks(lines: &[Line<'_>]) -> Vec<(usize, usize)> {
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    let changed = lines.iter().enumerate().filter(|(_, line)| !matches!(line, Line::Same(_)));
    for (index, _) in changed {
        let (start, end) = (index.saturating_sub(CONTEXT), (index + 1 + CONTEXT).min(lines.len()));
        match hunks.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            Some(_) | None => hunks.push((start, end)),
        }
    }
    hunks
}

fn compare<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Line<'a>> {
    let first = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - first;
    let last = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (old, new) = (&before[first..before.len() - last], &after[first..after.len() - last]);
    let mut lines: Vec<Line<'a>> = before[..first].iter().map(|line| Line::Same(line)).collect();
    lines.extend(middle(old, new));
    lines.extend(before[before.len() - last..].iter().map(|line| Line::Same(line)));
    lines
}

fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    let width = new.len() + 1;
    if old.is_empty() || new.is_empty() || width.saturating_mul(old.len() + 1) > MOST_CELLS {
        return old
            .iter()
            .map(|line| Line::Gone(line))
            .chain(new.iter().map(|line| Line::New(line)))
            .collect();
    }
    // `common[i][j]` is the length of the longest common subsequence of what is left from `i` and `j` on.
    let mut common = vec![0_u32; width * (old.len() + 1)];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(Line::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(Line::Gone(old[i]));
            i += 1;
        } else {
            lines.push(Line::New(new[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_their_surroundings() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
        let after = before.replace("b\n", "").replace("l\n", "l\nnew\nlines\n");
        assert_eq!(
            unified("f", Some(before), Some(&after)),
            "--- f\n+++ f\n@@ -1,5 +1,4 @@\n a\n-b\n c\n d\n e\n@@ -10,4 +9,6 @@\n j\n k\n l\n+new\n+lines\n m\n"
        );
    }

    #[test]
    fn files_that_come_and_go_are_shown_whole() {
        assert_eq!(
            unified("f", None, Some("a")),
            "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("f", Some("a\n"), None), "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        assert_eq!(unified("f", Some("a\n"), Some("a\n")), "");
    }

    #[test]
    fn a_middle_that_is_too_large_is_replaced_whole() {
        let before: String = (0..3000).map(|n| format!("{n}\n")).collect();
        let after: String = (0..3000).map(|n| format!("{}\n", n + 1_000_000)).collect();
        let shown = unified("f", Some(&before), Some(&after));
        assert_eq!(shown.lines().filter(|line| line.starts_with('-')).count(), 3001);
    }
}
