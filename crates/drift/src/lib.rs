//! Drift: what the docs say, and the project does not bear out any more.
//!
//! [`Docs::audit`] looks at every page and finds links that lead nowhere, commands and flags that a program's `--help` does not
//! know, paths that are gone, and counts and tables between warp's own marks that are no longer right. [`Docs::sync`] mends
//! what can be mended without judgement; all else is a person's or an agent's.
//!
//! The pages are taken apart and judged by pure functions ([`page`], `links`, `usage`); files are read, and programs run, here.

mod commits;
mod links;
mod myst;
pub mod page;
mod tree;
pub mod usage;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
    fmt, fs, io,
    io::Write as _,
    ops::Range,
    rc::Rc,
    time::Duration,
};

use adapters::{
    boundary,
    git::{self, Location},
    history,
    process::{End, Finished},
    refs::GitError,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

pub use self::commits::{advice_on_commit, is_document};
use self::{
    myst::Sphinx,
    page::{Mark, Page, line_of},
    tree::{Tree, last},
    usage::{Help, HelpAnswer},
};
use workspace::{Place, Shell, text};

/// The largest page that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;
/// How many findings of a kind are told of one page.
const MOST_FOUND: usize = 200;
/// How long a program may take to say what it can do, or to print a table.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often programs are asked in one audit.
const MOST_ASKED: usize = 400;
/// How many docs that Sphinx builds are looked at, and how many pages of each for labels.
const MOST_SPHINXES: usize = 10;
const MOST_SOURCES: usize = 2000;
/// Directories whose pages are there to be read by tests, or are somebody else's.
const NOT_DOCS: [&str; 8] =
    ["fixtures", "node_modules", "seeds", "snapshots", "testdata", "tests", "third_party", "vendor"];

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Low,
    Medium,
    /// Whoever follows the docs fails.
    High,
}

/// Who can fix a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FixKind {
    /// `sync` does.
    Mechanical,
    Manual,
}

/// A place where the docs have drifted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Kind of drift plus a digest of its subject; stable while lines move.
    pub id: String,
    pub file: String,
    pub line: usize,
    pub severity: Severity,
    pub fix_kind: FixKind,
    pub expected: String,
    pub actual: String,
    #[serde(skip)]
    fix: Option<(Range<usize>, String)>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, file, line, severity, fix_kind, expected, actual, fix: _ } = self;
        let fixed = match fix_kind {
            FixKind::Mechanical => ", `warp docs sync` fixes it",
            FixKind::Manual => "",
        };
        let severity = match severity {
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        };
        write!(f, "{file}:{line}: `{}` should be {} [{severity}, {id}{fixed}]", flat(actual), flat(expected))
    }
}

/// Result of an audit.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Number of pages checked.
    pub pages: usize,
    /// Findings, sorted by file and line.
    pub findings: Vec<Finding>,
}

impl Audit {
    /// Returns whether a finding blocks the run.
    pub fn has_high(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::High)
    }
}

/// Why the docs could not be audited.
#[derive(Debug, thiserror::Error)]
pub enum DocsError {
    #[error("there is no git repository, so it is not known which files are the project's")]
    NoRepository,
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(
        "`docs_programs` has `{0}`; it is a list such as `tea` or `tea=./target/debug/tea`, separated by commas"
    )]
    Program(String),
    #[error("`{0}` was stopped before it could say anything")]
    Stopped(String),
    #[error("failed to read `{file}`")]
    Read {
        file: String,
        #[source]
        source: io::Error,
    },
    #[error("failed to write `{file}`")]
    Write {
        file: String,
        #[source]
        source: io::Error,
    },
}

/// A drift while it is looked for.
struct Drift {
    kind: Kind,
    at: usize,
    severity: Severity,
    expected: String,
    actual: String,
    fix: Option<(Range<usize>, String)>,
}

/// What kinds of drift there are.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Link,
    Anchor,
    Command,
    Flag,
    Path,
    Count,
    Table,
    Mark,
    Program,
    Page,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Link => "link",
            Kind::Anchor => "anchor",
            Kind::Command => "command",
            Kind::Flag => "flag",
            Kind::Path => "path",
            Kind::Count => "count",
            Kind::Table => "table",
            Kind::Mark => "mark",
            Kind::Program => "program",
            Kind::Page => "page",
        }
    }
}

/// The docs of a project.
#[derive(Debug)]
pub struct Docs<'a> {
    place: &'a Place,
    location: Location,
    shell: &'a Shell,
    /// The project's own programs, by name, and how each is run.
    programs: BTreeMap<String, String>,
    /// The command that was stopped by whoever watches the run.
    stopped: RefCell<Option<String>>,
}

impl<'a> Docs<'a> {
    /// Creates an audit of a workspace; `programs` is the setting `docs_programs`.
    pub fn new(place: &'a Place, shell: &'a Shell, programs: &str) -> Result<Self, DocsError> {
        let location = git::locate(&place.root).ok_or(DocsError::NoRepository)?;
        Ok(Self { place, location, shell, programs: read_programs(programs)?, stopped: RefCell::default() })
    }

    /// Finds drift without changing files.
    pub fn audit(&self) -> Result<Audit, DocsError> {
        let root = &self.place.root;
        let listed = history::files(root, &self.location)?;
        let past = history::past(root, &self.location)?;
        let tree = Tree::new(listed, past, |path| root.join(path).symlink_metadata().is_ok());
        let files: Vec<&String> = tree.files().filter(|file| self.is_page(file)).collect();
        let desk = HelpCache { docs: self, help: RefCell::default(), left: Cell::new(MOST_ASKED) };
        let mut audit = Audit { pages: files.len(), findings: Vec::new() };
        let anchors = Anchors { docs: self, known: RefCell::default() };
        let sphinxes = self.sphinxes(&tree);
        for file in files {
            let (text, drifts) = match self.read(file) {
                Ok(text) => {
                    // Of docs inside of docs the inner ones are meant.
                    let built = sphinxes.iter().filter(|sphinx| sphinx.has(file));
                    let sphinx = built.max_by_key(|sphinx| sphinx.root.len());
                    let drifts = self.check(file, &text, &tree, sphinx, &anchors, &desk);
                    (text, drifts)
                }
                Err(error) => (String::new(), vec![unreadable(&error)]),
            };
            audit.findings.extend(named(file, &text, drifts));
            if let Some(line) = self.stopped.take() {
                return Err(DocsError::Stopped(line));
            }
        }
        Ok(audit)
    }

    /// Fixes what can be fixed automatically and returns it.
    pub fn sync(&self) -> Result<Vec<Finding>, DocsError> {
        let mut fixed = self.audit()?.findings;
        fixed.retain(|finding| finding.fix.is_some());
        let files: BTreeSet<&String> = fixed.iter().map(|finding| &finding.file).collect();
        for file in files {
            let read = self.read(file);
            let mut text = read.map_err(|source| DocsError::Read { file: file.clone(), source })?;
            let mut fixes: Vec<_> =
                fixed.iter().filter(|finding| finding.file == *file).filter_map(|f| f.fix.as_ref()).collect();
            fixes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
            let mut end = text.len();
            for (place, new) in fixes {
                // Two that would change the same place are left to the next time.
                if place.end <= end && text.get(place.clone()).is_some() {
                    text.replace_range(place.clone(), new);
                    end = place.start;
                }
            }
            self.write(file, &text).map_err(|source| DocsError::Write { file: file.clone(), source })?;
        }
        Ok(fixed)
    }

    /// Returns whether a file is a page: a README, Markdown at the root, or a file below a docs directory.
    pub fn is_page(&self, file: &str) -> bool {
        let (directories, name) = file.rsplit_once('/').unwrap_or(("", file));
        let mut above = directories.split('/').filter(|part| !part.is_empty());
        let is_docs = directories.is_empty()
            || name.eq_ignore_ascii_case("README.md")
            || above.clone().any(|part| ["doc", "docs"].contains(&part));
        let is_markdown = name.len() > 3 && name.to_ascii_lowercase().ends_with(".md");
        is_markdown
            && is_docs
            && !above.any(|part| NOT_DOCS.contains(&part))
            && self.place.root.join(file).symlink_metadata().is_ok_and(|data| data.is_file())
    }

    fn read(&self, file: &str) -> io::Result<String> {
        text::read_inside(&self.place.root, file, LARGEST)
    }

    /// Replaces a page whole, by way of the workspace's own directory: a crash leaves nothing in the tree.
    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.place.root.join(file);
        fs::create_dir_all(&self.place.own)?;
        let mut draft = tempfile::NamedTempFile::new_in(&self.place.own)?;
        draft.write_all(text.as_bytes())?;
        draft.as_file().set_permissions(fs::metadata(&path)?.permissions())?;
        boundary::around("docs_sync", || draft.persist(&path))?;
        Ok(())
    }

    /// Returns the docs that Sphinx builds from MyST, with their labels. What cannot be read defines none.
    fn sphinxes(&self, tree: &Tree<'_>) -> Vec<Sphinx> {
        let confs = tree.files().filter(|file| last(file) == "conf.py");
        let meant = confs.filter(|file| self.read(file).is_ok_and(|text| Sphinx::is_meant(&text)));
        let mut sphinxes = Vec::new();
        for root in meant.map(|file| tree::parent(file).to_owned()).take(MOST_SPHINXES) {
            let mut sphinx = Sphinx { root, labels: BTreeSet::new() };
            let is_source = |file: &&String| file.ends_with(".md") || file.ends_with(".rst");
            let sources = tree.files().filter(is_source).filter(|file| sphinx.has(file)).take(MOST_SOURCES);
            let labels = sources.filter_map(|file| self.read(file).ok()).flat_map(|text| myst::labels(&text));
            sphinx.labels = labels.collect();
            sphinxes.push(sphinx);
        }
        sphinxes
    }

    fn check(
        &self,
        file: &str,
        text: &str,
        tree: &Tree<'_>,
        sphinx: Option<&Sphinx>,
        anchors: &Anchors<'_>,
        desk: &HelpCache<'_>,
    ) -> Vec<Drift> {
        let page = Page::read(text);
        let mut drifts = links::check(&page, file, tree, sphinx, &|other| anchors.of(other));
        drifts.extend(page.marks.iter().filter_map(|mark| self.check_mark(mark, text, tree)));
        // A list of changes tells of what was there at its time.
        if !is_history(file) {
            let paths = page.codes.iter().filter_map(|part| links::check_path(part, text, file, tree));
            drifts.extend(paths.take(MOST_FOUND));
            let lines = usage::command_lines(&page.lines);
            let codes = page.codes.iter().map(|part| (part.at.start, part.text.clone()));
            let mut calls = Vec::new();
            for (at, line) in lines.into_iter().chain(codes) {
                desk.check(at, &line, &mut calls);
                if calls.len() >= MOST_FOUND {
                    break;
                }
            }
            drifts.append(&mut calls);
        }
        drifts.sort_by_key(|drift| drift.at);
        drifts
    }

    /// Compares what is between two marks with what should be there.
    fn check_mark(&self, mark: &Mark, text: &str, tree: &Tree<'_>) -> Option<Drift> {
        let wrong = |expected: String| Drift {
            kind: Kind::Mark,
            at: mark.at,
            severity: Severity::Medium,
            expected,
            actual: format!("<!-- warp:{} {} -->", mark.name, mark.argument),
            fix: None,
        };
        if !["count", "table", "ignore"].contains(&mark.name.as_str()) {
            return Some(wrong("one of `warp:count`, `warp:table` and `warp:ignore`".to_owned()));
        }
        let Some(body) = mark.body.clone() else {
            return Some(wrong(format!("followed by `<!-- /warp:{} -->`", mark.name)));
        };
        let (kind, expected) = if mark.name == "count" {
            if mark.argument.is_empty() {
                return Some(wrong("a pattern, such as `src/**/*.rs`".to_owned()));
            }
            (Kind::Count, tree.count(&mark.argument).to_string())
        } else {
            match self.table(&mark.argument) {
                Ok(table) => (Kind::Table, format!("\n{table}\n")),
                Err(why) => return Some(wrong(why)),
            }
        };
        let actual = text[body.clone()].to_owned();
        (actual != expected).then(|| Drift {
            kind,
            at: mark.at,
            severity: Severity::Medium,
            fix: Some((body, expected.clone())),
            expected,
            actual,
        })
    }

    /// Returns what one of the project's own programs prints.
    fn table(&self, line: &str) -> Result<String, String> {
        let (program, arguments) = line.split_once(' ').unwrap_or((line, ""));
        let Some(program) = self.programs.get(program) else {
            return Err("a command of a program that `docs_programs` names".to_owned());
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " _-./=,:@+".contains(c);
        if !arguments.chars().all(is_plain) {
            return Err("a command of plain words".to_owned());
        }
        let finished = self.run(&format!("{program} {arguments}"))?;
        if !finished.is_success() || finished.cut {
            return Err(format!("a command that succeeds: it ended with {}", finished.end));
        }
        let printed = finished.text();
        if printed.contains("<!--") {
            return Err("a command whose output has no comments".to_owned());
        }
        Ok(printed)
    }

    /// Runs a command line of one of the project's own programs.
    fn run(&self, line: &str) -> Result<Finished, String> {
        let environment = [("NO_COLOR", "1"), ("TERM", "dumb"), ("PAGER", "cat"), ("COLUMNS", "100")];
        let finished = self.shell.line(&self.place.root, line, &environment, PATIENCE)?;
        if finished.end == End::Stopped {
            self.stopped.replace(Some(line.to_owned()));
        }
        Ok(finished)
    }
}

/// What links to other pages can lead to, each page read once.
struct Anchors<'a> {
    docs: &'a Docs<'a>,
    known: RefCell<BTreeMap<String, Option<Rc<BTreeSet<String>>>>>,
}

impl Anchors<'_> {
    /// Returns the anchors of a page; nothing if it is none that can be read.
    fn of(&self, file: &str) -> Option<Rc<BTreeSet<String>>> {
        if let Some(known) = self.known.borrow().get(file) {
            return known.clone();
        }
        let is_markdown = file.to_ascii_lowercase().ends_with(".md");
        let text = if is_markdown { self.docs.read(file).ok() } else { None };
        let anchors = text.map(|text| Rc::new(Page::read(&text).anchors));
        self.known.borrow_mut().insert(file.to_owned(), anchors.clone());
        anchors
    }
}

/// Cache of `--help` output by command.
struct HelpCache<'a> {
    docs: &'a Docs<'a>,
    help: RefCell<BTreeMap<(String, Vec<String>), HelpAnswer>>,
    left: Cell<usize>,
}

impl HelpCache<'_> {
    /// Checks the calls of the project's own programs in a line.
    fn check(&self, at: usize, line: &str, drifts: &mut Vec<Drift>) {
        for (program, run) in &self.docs.programs {
            for call in usage::calls(line, program) {
                if !matches!(self.help(program, run, &[]), HelpAnswer::Help(_)) {
                    drifts.push(Drift {
                        kind: Kind::Program,
                        at,
                        severity: Severity::Low,
                        expected: format!("checked, but `{run} --help` does not succeed"),
                        actual: program.clone(),
                        fix: None,
                    });
                    continue;
                }
                let unknown = usage::check(program, &call, &mut |path| self.help(program, run, path));
                drifts.extend(unknown.into_iter().map(|unknown| Drift {
                    kind: if unknown.is_flag { Kind::Flag } else { Kind::Command },
                    at,
                    severity: Severity::High,
                    expected: match unknown.nearest {
                        Some(nearest) => format!("known to `{} --help`; it has `{nearest}`", unknown.under),
                        None => format!("known to `{} --help`", unknown.under),
                    },
                    actual: format!("{} {}", unknown.under, unknown.word),
                    fix: None,
                }));
            }
        }
    }

    fn help(&self, program: &str, run: &str, path: &[String]) -> HelpAnswer {
        let key = (program.to_owned(), path.to_vec());
        if let Some(known) = self.help.borrow().get(&key) {
            return known.clone();
        }
        let Some(left) = self.left.get().checked_sub(1) else { return HelpAnswer::Nothing };
        self.left.set(left);
        let line = [&[run.to_owned()], path, &["--help".to_owned()]].concat().join(" ");
        let told = match self.docs.run(&line) {
            Ok(finished) if finished.is_success() => HelpAnswer::Help(Rc::new(Help::read(&finished.text()))),
            Ok(Finished { end: End::Exit(_), .. }) => HelpAnswer::No,
            Ok(_) | Err(_) => HelpAnswer::Nothing,
        };
        self.help.borrow_mut().insert(key, told.clone());
        told
    }
}

/// Reads the setting `docs_programs`: names, and after a `=` how each is run.
fn read_programs(text: &str) -> Result<BTreeMap<String, String>, DocsError> {
    let mut programs = BTreeMap::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty() && *entry != "none") {
        let (name, run) = entry.split_once('=').unwrap_or((entry, entry));
        let (name, run) = (name.trim(), run.trim());
        if name.is_empty() || run.is_empty() || name.contains(char::is_whitespace) {
            return Err(DocsError::Program(entry.to_owned()));
        }
        programs.insert(name.to_owned(), run.to_owned());
    }
    Ok(programs)
}

/// A page that cannot be read at all.
fn unreadable(error: &io::Error) -> Drift {
    Drift {
        kind: Kind::Page,
        at: 0,
        severity: Severity::Medium,
        expected: format!("a text in UTF-8 of at most {LARGEST} bytes"),
        actual: error.to_string(),
        fix: None,
    }
}

/// Tells whether a page is a list of changes.
fn is_history(file: &str) -> bool {
    let name = last(file).to_ascii_lowercase();
    ["changelog.md", "changes.md", "history.md", "releases.md", "news.md"].contains(&name.as_str())
}

/// Gives drifts their ids and lines.
fn named(file: &str, text: &str, drifts: Vec<Drift>) -> Vec<Finding> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut findings = Vec::new();
    for drift in drifts {
        let about = format!("{}\0{file}\0{}", drift.kind.name(), drift.actual);
        let times = seen.entry(about.clone()).and_modify(|times| *times += 1).or_default();
        let digest = Sha256::digest(format!("{about}\0{times}"));
        let digest: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        findings.push(Finding {
            id: format!("{}-{digest}", drift.kind.name()),
            file: file.to_owned(),
            line: line_of(text, drift.at),
            severity: drift.severity,
            fix_kind: if drift.fix.is_some() { FixKind::Mechanical } else { FixKind::Manual },
            expected: drift.expected,
            actual: drift.actual,
            fix: drift.fix,
        });
    }
    findings
}

/// Returns the beginning of a text on one line.
fn flat(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(120) {
        Some((at, _)) => format!("{}…", &words[..at]),
        None => words,
    }
}
