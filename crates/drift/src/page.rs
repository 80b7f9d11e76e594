//! A Markdown page, taken apart: what leads elsewhere, what can be led to, what is said in code, and warp's own marks.
//!
//! Pure: a text goes in, parts with their places come out. Every place is a range of bytes of that text, so that a part can
//! be replaced exactly and nothing else changes.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Options, Parser, Tag, TagEnd};

/// How warp's own marks begin.
const MARK: &str = "<!-- warp:";
/// How many of them are looked at on a page.
const MOST_MARKS: usize = 500;

/// A parsed page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Link targets: anchors of headings as GitHub derives them, and HTML ids.
    pub anchors: BTreeSet<String>,
    pub links: Vec<Link>,
    /// Undefined labels of links (`[text][label]`).
    pub undefined: Vec<Part>,
    /// Code inside of a text.
    pub codes: Vec<Part>,
    /// Lines of code blocks in which commands are given.
    pub lines: Vec<CodeLine>,
    pub marks: Vec<Mark>,
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub at: Range<usize>,
    pub text: String,
}

/// A link or an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub at: usize,
    /// The decoded target.
    pub target: String,
    /// Where that is written, if it is written as it is meant.
    pub place: Option<Range<usize>>,
}

/// A line of a code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine {
    pub at: usize,
    pub text: String,
    /// Index of its code block.
    pub block: usize,
    /// Whether commands are told from what they print by a prompt alone.
    pub needs_prompt: bool,
}

/// A mark of warp's own: `<!-- warp:NAME ARGUMENT -->BODY<!-- /warp:NAME -->`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub at: usize,
    pub name: String,
    pub argument: String,
    /// Range between the two comments; `None` if the second is missing.
    pub body: Option<Range<usize>>,
}

impl Page {
    /// Parses a page.
    pub fn read<'a>(text: &'a str) -> Self {
        let mut undefined = Vec::new();
        let mut note = |link: BrokenLink<'a>| -> Option<(CowStr<'a>, CowStr<'a>)> {
            // After a word or a bracket it is an index, as in `m[i][j]`.
            let before = text[..link.span.start].chars().next_back();
            let is_index = before.is_some_and(|c| c.is_alphanumeric() || "_)]".contains(c));
            if link.link_type == LinkType::Reference && !is_index {
                undefined.push(Part { at: link.span, text: link.reference.to_string() });
            }
            None
        };
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_GFM
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
        let mut reading = Reading { text, ..Reading::default() };
        let parser = Parser::new_with_broken_link_callback(text, options, Some(&mut note));
        for (_, definition) in parser.reference_definitions().iter() {
            reading.link(&definition.dest, definition.span.clone(), "]:");
        }
        for (event, at) in parser.into_offset_iter() {
            reading.take(event, at);
        }
        let mut page = reading.page;
        page.anchors.extend(labels(text, &reading.code));
        page.undefined = undefined;
        page.marks = marks(text, &reading.code);
        page.leave_out_ignored();
        page.links.sort_by_key(|link| link.at);
        page
    }

    /// Leaves out what a person does not want to have checked.
    fn leave_out_ignored(&mut self) {
        let ignored: Vec<Range<usize>> = self
            .marks
            .iter()
            .filter(|mark| mark.name == "ignore")
            .filter_map(|mark| mark.body.clone())
            .collect();
        let counts = |at: usize| !ignored.iter().any(|range| range.contains(&at));
        self.links.retain(|link| counts(link.at));
        self.undefined.retain(|part| counts(part.at.start));
        self.codes.retain(|part| counts(part.at.start));
        self.lines.retain(|line| counts(line.at));
        self.marks.retain(|mark| counts(mark.at) && (mark.name != "ignore" || mark.body.is_none()));
    }
}

/// Returns the line of a place, counted from one.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

/// A page while it is read.
#[derive(Default)]
struct Reading<'a> {
    text: &'a str,
    page: Page,
    /// The text of the heading that is being read.
    heading: Option<String>,
    /// The next number for a heading of the same name.
    numbers: BTreeMap<String, usize>,
    /// The code block that is being read: whether its commands need a prompt; nothing if it holds none.
    block: Option<Option<bool>>,
    blocks: usize,
    /// Where there is code.
    code: Vec<Range<usize>>,
}

impl Reading<'_> {
    fn take(&mut self, event: Event<'_>, at: Range<usize>) {
        match event {
            Event::Start(Tag::Heading { .. }) => self.heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let heading = self.heading.take().unwrap_or_default();
                self.add_anchor(&heading);
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                self.block = Some(needs_prompt(&kind));
                self.blocks += 1;
                self.code.push(at);
            }
            Event::End(TagEnd::CodeBlock) => self.block = None,
            Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. })
                if link_type == LinkType::Inline =>
            {
                self.link(&dest_url, at, "](");
            }
            Event::Start(Tag::HtmlBlock) => self.html(at),
            Event::InlineHtml(_) => self.html(at),
            Event::Text(text) => match (self.block, &mut self.heading) {
                (Some(Some(needs_prompt)), _) => self.code_lines(&text, at.start, needs_prompt),
                (Some(None), _) => {}
                (None, Some(heading)) => heading.push_str(&text),
                (None, None) => {}
            },
            Event::Code(text) => {
                if let Some(heading) = &mut self.heading {
                    heading.push_str(&text);
                }
                self.code.push(at.clone());
                self.page.codes.push(Part { at, text: text.to_string() });
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut self.heading {
                    heading.push(' ');
                }
            }
            Event::Start(_)
            | Event::End(_)
            | Event::Html(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }

    /// Adds the anchor of a heading; one that is there already gets a number.
    fn add_anchor(&mut self, heading: &str) {
        let anchor = anchor(heading);
        let number = self.numbers.entry(anchor.clone()).or_insert(1);
        let mut free = anchor.clone();
        while self.page.anchors.contains(&free) {
            free = format!("{anchor}-{number}");
            *number += 1;
        }
        self.page.anchors.insert(free);
    }

    /// Adds a link whose target is written somewhere after `before`.
    fn link(&mut self, target: &str, at: Range<usize>, before: &str) {
        let written = self.text.get(at.clone()).unwrap_or_default();
        let found = written.rmatch_indices(before).find_map(|(start, _)| {
            let start = start + before.len();
            let rest = &written[start..];
            let skipped = rest.len() - rest.trim_start().trim_start_matches('<').len();
            let start = start + skipped;
            written[start..].starts_with(target).then(|| at.start + start..at.start + start + target.len())
        });
        self.page.links.push(Link { at: at.start, target: target.to_owned(), place: found });
    }

    fn code_lines(&mut self, text: &str, start: usize, needs_prompt: bool) {
        let mut at = start;
        for line in text.split_inclusive('\n') {
            let text = line.trim_end_matches(['\n', '\r']).to_owned();
            self.page.lines.push(CodeLine { at, text, block: self.blocks, needs_prompt });
            at += line.len();
        }
    }

    /// Takes ids and links out of HTML.
    fn html(&mut self, at: Range<usize>) {
        let Some(html) = self.text.get(at.clone()) else { return };
        for (name, value) in attributes(html) {
            let text = &html[value.clone()];
            match name {
                "id" | "name" => {
                    self.page.anchors.insert(text.to_owned());
                }
                "href" | "src" => {
                    let place = at.start + value.start..at.start + value.end;
                    let target = text.to_owned();
                    self.page.links.push(Link { at: place.start, target, place: Some(place) });
                }
                _ => {}
            }
        }
    }
}

/// Tells of a code block whether its commands need a prompt; nothing if it is in another language.
fn needs_prompt(kind: &CodeBlockKind<'_>) -> Option<bool> {
    let CodeBlockKind::Fenced(language) = kind else { return None };
    let language = match language.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        // A directive of MyST; only these show code in the language that follows.
        Some(("code-block" | "code" | "sourcecode", language)) => language.trim(),
        Some(_) => return None,
        None => language.split([' ', ',', '{']).next().unwrap_or_default(),
    };
    match language {
        "sh" | "bash" | "shell" | "zsh" | "text" | "" => Some(false),
        "console" | "shell-session" | "shellsession" => Some(true),
        _ => None,
    }
}

/// Returns the labels of MyST: `(name)=` on a line of its own.
fn labels(text: &str, code: &[Range<usize>]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let name = line.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(")="));
        if let Some(name) = name.filter(|_| !code.iter().any(|range| range.contains(&at))) {
            found.push(name.to_owned());
        }
        at += line.len();
    }
    found
}

/// Returns a heading's anchor, as GitHub makes it.
pub(super) fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns the quoted attributes of tags, with the places of their values. Comments have none.
fn attributes(html: &str) -> Vec<(&str, Range<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = html[at..].find('<').map(|start| at + start) {
        if html[start..].starts_with("<!--") {
            let Some(end) = html[start..].find("-->") else { break };
            at = start + end + 3;
            continue;
        }
        let Some(end) = tag_end(html, start) else { break };
        let mut from = start;
        while let Some(equals) = html[from..end].find('=').map(|equals| from + equals) {
            let name_start = html[..equals].rfind(|c: char| !is_name(c)).map_or(0, |at| at + 1);
            // What comes before a name is one byte: a space, a line's end or the like.
            let name = html.get(name_start..equals).unwrap_or_default();
            let Some(quote) = html[equals + 1..end].chars().next().filter(|c| ['"', '\''].contains(c)) else {
                from = equals + 1;
                continue;
            };
            let value = equals + 2;
            let Some(length) = html[value..end].find(quote) else { break };
            found.push((name, value..value + length));
            from = value + length + 1;
        }
        at = end;
    }
    found
}

/// Returns where a tag ends; a `>` in quotes does not end it.
fn tag_end(html: &str, start: usize) -> Option<usize> {
    let mut quote = None;
    for (at, c) in html[start..].char_indices() {
        match (quote, c) {
            (None, '>') => return Some(start + at),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (Some(_) | None, _) => {}
        }
    }
    None
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Finds warp's own marks, but for those that are shown as code.
fn marks(text: &str, code: &[Range<usize>]) -> Vec<Mark> {
    let mut found = Vec::new();
    let mut from = 0;
    for _ in 0..MOST_MARKS {
        let Some(at) = text[from..].find(MARK).map(|at| from + at) else { break };
        from = at + MARK.len();
        if code.iter().any(|range| range.contains(&at)) {
            continue;
        }
        let Some(end) = text[from..].find("-->").map(|end| from + end) else { break };
        let inside = text[from..end].trim();
        let (name, argument) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
        let start = end + 3;
        let close = format!("<!-- /warp:{name} -->");
        let body = text[start..].find(&close).map(|end| start..start + end);
        // Another mark before the end belongs to itself: this one was never closed.
        let body = body.filter(|body| name == "ignore" || !text[body.clone()].contains(MARK));
        from = body.as_ref().filter(|_| name != "ignore").map_or(start, |body| body.end);
        found.push(Mark { at, name: name.to_owned(), argument: argument.trim().to_owned(), body });
    }
    found
}
