//! The lines of a Markdown text that a reader sees.

/// How the headings of sections with dependencies read.
const DEPENDENCIES: [&str; 3] = ["dependencies", "depends on", "blocked by"];

/// A line outside of code fences, as long as in the text: what does not count is blanks.
pub(super) struct Line {
    /// Where it begins in the text.
    pub(super) at: usize,
    /// The line without hidden comments.
    pub(super) shown: String,
    /// The line without hidden comments and without code.
    pub(super) prose: String,
    /// Whether it is in a section of dependencies.
    pub(super) names_dependencies: bool,
}

/// Returns the lines of a text that a reader sees.
pub(super) fn lines(markdown: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut fence: Option<Fence> = None;
    let mut in_comment = false;
    let mut section: Option<usize> = None;
    let mut at = 0;
    for whole in markdown.split_inclusive('\n') {
        let begin = at;
        at += whole.len();
        let line = whole.trim_end_matches(['\n', '\r']);
        if let Some(open) = &fence {
            if open.is_closed_by(line) {
                fence = None;
            }
            continue;
        }
        if !in_comment {
            fence = Fence::opened_by(line);
            if fence.is_some() {
                continue;
            }
        }
        let (shown, prose) = hide(line, &mut in_comment);
        let heading = heading(&prose);
        if let Some((level, title)) = &heading {
            let is_below = section.is_some_and(|section| *level > section);
            if !is_below {
                section = DEPENDENCIES.contains(&title.as_str()).then_some(*level);
            }
        }
        let names_dependencies = section.is_some() && heading.is_none();
        lines.push(Line { at: begin, shown, prose, names_dependencies });
    }
    lines
}

/// The beginning of a block of code.
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let mark = line.chars().next().filter(|mark| ['`', '~'].contains(mark))?;
        let length = run(line, mark);
        // Backticks that come again in the same line are code in a line.
        let is_inline = mark == '`' && line[length..].contains(mark);
        (length >= 3 && !is_inline).then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        let length = run(line, self.mark);
        length >= self.length && length == line.len()
    }
}

/// Returns how many bytes of `mark` a text begins with.
fn run(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}

/// Blanks out hidden comments, and in the second text code as well.
fn hide(line: &str, in_comment: &mut bool) -> (String, String) {
    let mut shown = line.as_bytes().to_vec();
    let mut prose = shown.clone();
    let mut at = 0;
    while at < line.len() {
        if *in_comment {
            let found = line[at..].find("-->");
            *in_comment = found.is_none();
            let end = found.map_or(line.len(), |found| at + found + 3);
            shown[at..end].fill(b' ');
            prose[at..end].fill(b' ');
            at = end;
            continue;
        }
        let Some(found) = line[at..].find(['`', '<']) else { break };
        at += found;
        let rest = &line[at..];
        if rest.starts_with("<!--") {
            shown[at..at + 4].fill(b' ');
            prose[at..at + 4].fill(b' ');
            *in_comment = true;
            at += 4;
        } else if rest.starts_with('<') {
            at += 1;
        } else {
            let length = run(rest, '`');
            match code_end(rest, length) {
                Some(end) => {
                    prose[at..at + end].fill(b' ');
                    at += end;
                }
                None => at += length,
            }
        }
    }
    let text = |bytes| String::from_utf8(bytes).expect("only whole characters are blanked out");
    (text(shown), text(prose))
}

/// Returns where code ends that begins with so many backticks: after as many.
fn code_end(text: &str, length: usize) -> Option<usize> {
    let mut at = length;
    while let Some(found) = text[at..].find('`') {
        let begin = at + found;
        let close = run(&text[begin..], '`');
        at = begin + close;
        if close == length {
            return Some(at);
        }
    }
    None
}

/// Reads a heading: its level, and its words in small letters.
fn heading(line: &str) -> Option<(usize, String)> {
    let line = line.trim();
    let level = run(line, '#');
    let text = &line[level..];
    if !(1..=6).contains(&level) || !(text.is_empty() || text.starts_with([' ', '\t'])) {
        return None;
    }
    let is_ornament = |c: char| c.is_whitespace() || "#:*_".contains(c);
    Some((level, text.trim_matches(is_ornament).to_lowercase()))
}
