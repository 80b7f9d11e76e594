//! Walks a program as the shell would run it, and keeps the worst that was found.
//!
//! Every branch counts as taken. Every function here takes what is known of standard input and returns what is
//! known of standard output, so that text which one command prints and another runs is read too.

use std::path::{Path, PathBuf};

use brush_parser::ast;

use super::{
    Judgement, Scene,
    parse::{self, GLOB, UNKNOWN},
    paths::normalise,
    scan::Extglob,
    state::{Certainty, State, bounded_text},
};

/// How deep texts, compound commands and calls may lie in one another; bounds the stack.
const DEEPEST: u8 = 40;

/// How deep a call lies that stands by itself: in a text, in a command.
const TOP: u8 = 3;

/// What a command may cost. A call costs a few units and long texts cost more; functions and loops multiply them.
const FUEL: usize = 16_000;

/// How many bytes of text cost one unit.
const BYTES_PER_UNIT: usize = 256;

/// How many variables, functions and files cost one unit, whenever they have to be copied.
const WEIGHT_PER_UNIT: usize = 64;

/// How many bytes are parsed in all: eight times the longest command, for texts that are run again and again.
const BYTES: usize = 256 * 1024;

/// A path that no agent writes, resolved.
pub(super) struct Guarded {
    pub(super) path: String,
    pub(super) instead: String,
}

/// The judge on its way through a command.
pub(super) struct Walker<'s> {
    pub(super) root: String,
    pub(super) repository: &'s dyn Fn(&Path) -> Option<PathBuf>,
    pub(super) guarded: Vec<Guarded>,
    pub(super) certainty: Certainty,
    /// The functions that are being run.
    pub(super) active: Vec<String>,
    pub(super) streams: u32,
    worst: Judgement,
    depth: u8,
    fuel: usize,
    bytes: usize,
}

const TOO_MUCH: &str = "does more than can be followed: split it up";

impl<'s> Walker<'s> {
    pub(super) fn new(scene: &Scene<'s>) -> Self {
        let root = normalise("/", &scene.root.to_string_lossy());
        let guard = |protected: &super::Protected| Guarded {
            path: normalise(&root, &protected.path.to_string_lossy()),
            instead: protected.instead.clone(),
        };
        let guarded = scene.protected.iter().map(guard).collect();
        Self {
            root,
            repository: scene.repository,
            guarded,
            certainty: Certainty::Sure,
            active: Vec::new(),
            streams: 0,
            worst: Judgement::Allowed,
            depth: 0,
            fuel: FUEL,
            bytes: BYTES,
        }
    }

    pub(super) fn verdict(self) -> Judgement {
        self.worst
    }

    /// Whether nothing worse can be found.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.worst, Judgement::Denied(_))
    }

    pub(super) fn found(&mut self, judgement: Judgement) {
        if judgement.rank() > self.worst.rank() {
            self.worst = judgement;
        }
    }

    /// Counts what something costs, and refuses the command if that is too much.
    pub(super) fn spend(&mut self, units: usize) {
        self.fuel = self.fuel.saturating_sub(units);
        if self.fuel == 0 {
            self.deny(TOO_MUCH);
        }
    }

    /// Counts what it costs to look through `text`.
    pub(super) fn spend_on(&mut self, text: &str) {
        self.spend(text.len() / BYTES_PER_UNIT);
    }

    /// Runs `inner`, of which only commits and refusals count.
    pub(super) fn certainly(&mut self, inner: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.worst, Judgement::Allowed);
        inner(self);
        match std::mem::replace(&mut self.worst, before) {
            Judgement::Allowed | Judgement::Risky(_) => {}
            found @ (Judgement::Commit | Judgement::Denied(_)) => self.found(found),
        }
    }

    /// Tells whether `inner` would be refused, without counting it.
    pub(super) fn would_deny(&mut self, inner: impl FnOnce(&mut Self)) -> bool {
        let before = std::mem::replace(&mut self.worst, Judgement::Allowed);
        inner(self);
        let found = std::mem::replace(&mut self.worst, before);
        matches!(found, Judgement::Denied(_))
    }

    pub(super) fn deny(&mut self, reason: impl Into<String>) {
        self.found(Judgement::Denied(reason.into()));
    }

    pub(super) fn risky(&mut self, reason: impl Into<String>) {
        self.found(Judgement::Risky(reason.into()));
    }

    /// Runs `inner` one level deeper, or refuses the command if that is too deep.
    pub(super) fn deeper<T: Default>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= DEEPEST {
            self.deny("commands are nested too deeply to be followed: run them one by one");
            return T::default();
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Whether a command stands by itself, in no group, loop, function or other text.
    pub(super) fn is_at_top(&self) -> bool {
        self.depth <= TOP
    }

    /// Runs `inner` as something that may or may not happen.
    pub(super) fn perhaps<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.certainty, Certainty::Perhaps);
        let result = inner(self);
        self.certainty = before;
        result
    }

    /// Judges `text` as a program of its own.
    pub(super) fn run(&mut self, text: &str, state: &mut State, stdin: &str) -> String {
        if self.is_over() || text.trim().is_empty() {
            return String::new();
        }
        if text.contains([UNKNOWN, GLOB]) {
            self.risky("it runs text that is only known once it runs");
            // An unset variable stands for the unknown text; it is unknown when it is expanded.
            let text = text.replace(UNKNOWN, "${_}").replace(GLOB, "*");
            // With the unknown text in its place it may be a program all the same.
            return if self.is_program(&text) { self.read(&text, state, stdin) } else { UNKNOWN.to_string() };
        }
        self.read(text, state, stdin)
    }

    /// Whether `text` can be read as a program at all.
    pub(super) fn is_program(&mut self, text: &str) -> bool {
        self.parse(text).is_ok()
    }

    fn parse(&mut self, text: &str) -> Result<parse::Reading, String> {
        match self.bytes.checked_sub(parse::length(text)) {
            Some(left) => self.bytes = left,
            None => self.deny(TOO_MUCH),
        }
        if self.is_over() { Err(TOO_MUCH.to_owned()) } else { parse::parse(text) }
    }

    fn read(&mut self, text: &str, state: &mut State, stdin: &str) -> String {
        match self.parse(text) {
            Ok(reading) => {
                if reading.extglob == Extglob::On {
                    self.risky("it uses extended patterns");
                }
                self.deeper(|walker| {
                    let mut printed = String::new();
                    for list in &reading.program.complete_commands {
                        printed.push_str(&walker.list(list, state, stdin));
                    }
                    printed
                })
            }
            Err(error) => {
                self.deny(format!("could not be read as a shell command: {error}; split it up"));
                String::new()
            }
        }
    }

    /// Judges `text` in a shell of its own, and returns what it prints.
    pub(super) fn capture(&mut self, text: &str, state: &mut State) -> String {
        let mut inner = state.clone();
        let printed = self.deeper(|walker| walker.run(text, &mut inner, &UNKNOWN.to_string()));
        state.files.append(&mut inner.files);
        printed.trim_end_matches('\n').to_owned()
    }

    pub(super) fn list(&mut self, list: &ast::CompoundList, state: &mut State, stdin: &str) -> String {
        let mut printed = String::new();
        for ast::CompoundListItem(and_or, _) in &list.0 {
            printed.push_str(&self.and_or(and_or, state, stdin));
            printed = bounded_text(printed);
            state.settle();
        }
        printed
    }

    fn and_or(&mut self, list: &ast::AndOrList, state: &mut State, stdin: &str) -> String {
        let mut printed = self.pipeline(&list.first, state, stdin);
        for part in &list.additional {
            let pipeline = match part {
                ast::AndOr::And(pipeline) => pipeline,
                ast::AndOr::Or(pipeline) => {
                    state.settle();
                    pipeline
                }
            };
            let more = self.perhaps(|walker| walker.pipeline(pipeline, state, stdin));
            printed = either(printed, more);
        }
        printed
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, state: &mut State, stdin: &str) -> String {
        if let [command] = pipeline.seq.as_slice() {
            return self.command(command, state, stdin);
        }
        let mut text = stdin.to_owned();
        let last = pipeline.seq.len().saturating_sub(1);
        for (index, command) in pipeline.seq.iter().enumerate() {
            let mut inner = state.clone();
            text = self.command(command, &mut inner, &text);
            state.files.append(&mut inner.files);
            // Some shells run the last part themselves.
            if index == last {
                state.join(inner);
            }
        }
        text
    }

    pub(super) fn command(&mut self, command: &ast::Command, state: &mut State, stdin: &str) -> String {
        if self.is_over() {
            return String::new();
        }
        self.spend(1 + state.weight() / WEIGHT_PER_UNIT + stdin.len() / BYTES_PER_UNIT);
        self.deeper(|walker| match command {
            ast::Command::Simple(simple) => walker.simple(simple, state, stdin),
            ast::Command::Compound(compound, redirections) => {
                walker.redirected(redirections.as_ref(), state, stdin, |walker, state, stdin| {
                    walker.compound(compound, state, stdin)
                })
            }
            ast::Command::Function(function) => walker.define(function, state),
            ast::Command::ExtendedTest(test, redirections) => {
                walker.redirected(redirections.as_ref(), state, stdin, |walker, state, _| {
                    walker.test(&test.expr, state);
                    String::new()
                })
            }
        })
    }
}

/// What is printed where one of two parts runs, or both.
pub(super) fn either(one: String, other: String) -> String {
    match (one.is_empty(), other.is_empty()) {
        (true, _) => other,
        (false, true) => one,
        (false, false) if one == other => one,
        (false, false) => UNKNOWN.to_string(),
    }
}
