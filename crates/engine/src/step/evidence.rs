//! Evidence: what an agent shows for each criterion before it may say that the work is done.
//!
//! An entry names a line or a test. A line counts if this chunk (or this issue) changed it. A test counts if
//! its name occurs in a recorded run: in what the verification commands of the event print, among the names
//! that a person or warp itself reported with `tests`, or among those that were recorded before. What an
//! agent says about its own test run is no record. Evidence that is given is checked whoever gives it; only
//! an agent has to give it, and only while `pre_exit_verification` is on.
//!
//! A test that an agent has just written is in no record yet. Where warp runs the tests later, it is taken down
//! ([`expected`]), and `tests_passed` is refused unless a test of that name has passed.

use serde_json::{Map, Value};

use super::{Advice, Refused};
use crate::{
    Actor, Ask, EventName, Line, NamedTest, Probe, Run, Seen, Workflow, keys, names_test,
    view::in_words,
    workflow::{Act, EvidenceScope, Job, Phase, Row},
};

/// The gate's name in refusals.
const GATE: &str = "self_verification";
const MOST_ENTRIES: usize = 500;
const LONGEST_NAME: usize = 200;
/// The most names of tests that one event may bring along.
const MOST_TESTS: usize = 20_000;

/// What is shown for one criterion.
struct Entry {
    criterion: String,
    line: Option<Line>,
    test: Option<String>,
}

/// Names what has to be looked up for the evidence that comes with a row.
pub(super) fn probes(run: &Run, row: &Row, data: &Map<String, Value>) -> Vec<Probe> {
    let (Some(scope), Ok(Some(entries))) = (row.evidence, read(data)) else { return Vec::new() };
    let mut probes = Vec::new();
    let lines: Vec<Line> = entries.iter().filter_map(|entry| entry.line.clone()).collect();
    if !lines.is_empty() {
        probes.push(Probe::Lines { base: base(run, scope), lines });
    }
    let names: Vec<String> = entries.into_iter().filter_map(|entry| entry.test).collect();
    if !names.is_empty() {
        probes.push(Probe::TestNames(names));
    }
    probes
}

/// Judges the evidence that comes with a row, and refuses an agent that brings none. A person may have accepted that.
pub(super) fn check(workflow: &Workflow, run: &Run, row: &Row, ask: &Ask) -> Result<Vec<Advice>, Refused> {
    match (judge(workflow, run, row, ask), run.accepted(GATE, &row.event)) {
        (Err(Refused::Advisory { .. }), Some(objection)) => Ok(vec![Advice(objection.to_string())]),
        (judged, _) => judged,
    }
}

fn judge(workflow: &Workflow, run: &Run, row: &Row, ask: &Ask) -> Result<Vec<Advice>, Refused> {
    let Some(scope) = row.evidence else { return Ok(Vec::new()) };
    let given = read(&ask.data)?;
    reported(&ask.data)?;
    let wanted = criteria(run, scope);
    let refuse = |reason: String| refusal(run, &row.event, reason);
    if row.acts.contains(&Act::MarkTestsPassed) && ask.actor == Actor::Engine {
        let names = reported(&ask.data)?.unwrap_or_default();
        if let Some(missing) = run.unproved(&names).first() {
            return Err(refuse(missing.to_string()));
        }
    }
    let Some(entries) = given else {
        if ask.actor == Actor::Agent && run.settings.get(keys::PRE_EXIT_VERIFICATION) && !wanted.is_empty() {
            return Err(refuse(missing(run, &wanted)));
        }
        return Ok(Vec::new());
    };
    let mut problems = Vec::new();
    for entry in &entries {
        if !wanted.is_empty() && !wanted.iter().any(|criterion| is_same(criterion, &entry.criterion)) {
            let known = wanted.join(", ");
            problems.push(format!("`{}` is no criterion here; there are {known}", entry.criterion));
        }
    }
    let is_shown = |criterion: &&str| entries.iter().any(|entry| is_same(criterion, &entry.criterion));
    let unshown: Vec<&str> = wanted.iter().copied().filter(|criterion| !is_shown(criterion)).collect();
    if !unshown.is_empty() && run.settings.get(keys::PRE_EXIT_VERIFICATION) {
        problems.push(missing(run, &unshown));
    }
    let mut advice = Vec::new();
    for entry in &entries {
        if let Some(line) = &entry.line {
            match judge_line(run, scope, line, ask) {
                Ok(word) => advice.extend(word.filter(|word| !advice.contains(word))),
                Err(problem) => problems.push(format!("{}: {problem}", entry.criterion)),
            }
        }
        if let Some(test) = &entry.test
            && !is_recorded(run, test, ask)
            && !is_tested_later(workflow, run, row, ask)
        {
            problems.push(format!(
                "{}: test `{test}` is in no recorded run; run the tests with `warp next`, or show a changed line",
                entry.criterion
            ));
        }
    }
    if problems.is_empty() { Ok(advice) } else { Err(refuse(problems.join("; "))) }
}

/// Tells whether warp runs the tests after this event, and before anything is committed.
fn is_tested_later(workflow: &Workflow, run: &Run, row: &Row, ask: &Ask) -> bool {
    let runs_tests = |phase: &Phase| {
        phase.job == Some(Job::RunTests)
            && phase.rows.iter().any(|row| row.acts.contains(&Act::MarkTestsPassed))
    };
    ask.actor == Actor::Agent
        && row.evidence == Some(EvidenceScope::Chunk)
        && !row.acts.contains(&Act::MarkTestsPassed)
        && run.settings.get(keys::TEST_BEFORE_COMMIT)
        && workflow.phases.iter().any(runs_tests)
}

/// Returns the tests that were named as evidence by an accepted event and are in no record yet.
pub(super) fn expected(run: &Run, row: &Row, ask: &Ask) -> Option<Vec<NamedTest>> {
    if row.evidence != Some(EvidenceScope::Chunk) {
        return None;
    }
    if row.acts.contains(&Act::MarkTestsPassed) {
        return Some(Vec::new());
    }
    let entries = read(&ask.data).ok().flatten().unwrap_or_default();
    let named = |entry: Entry| Some(NamedTest { criterion: entry.criterion, test: entry.test? });
    let tests = entries.into_iter().filter_map(named).filter(|named| !is_recorded(run, &named.test, ask));
    Some(tests.collect())
}

/// Returns the names of tests that an accepted event puts on record; those that evidence named come last.
pub(super) fn names(run: &Run, ask: &Ask) -> Vec<String> {
    let mut names = match ask.actor {
        Actor::Person | Actor::Engine => reported(&ask.data).ok().flatten().unwrap_or_default(),
        Actor::Agent => Vec::new(),
    };
    let shown = read(&ask.data).ok().flatten().unwrap_or_default().into_iter().filter_map(|entry| entry.test);
    let shown = shown.filter(|name| is_recorded(run, name, ask)).collect::<Vec<_>>();
    for name in shown {
        names.retain(|known| *known != name);
        names.push(name);
    }
    let first = names.len().saturating_sub(crate::run::TESTS_KEPT);
    names.split_off(first)
}

/// Returns what an example of evidence for these criteria looks like.
pub(crate) fn example(criteria: &[&str]) -> String {
    let entry = |index: usize, criterion: &str| {
        let criterion = Value::from(criterion);
        match index % 2 {
            0 => format!("{{\"ac\":{criterion},\"file\":\"src/a.rs\",\"line\":12}}"),
            _ => format!("{{\"ac\":{criterion},\"test\":\"name_of_a_test\"}}"),
        }
    };
    let entries: Vec<String> =
        criteria.iter().take(2).enumerate().map(|(index, criterion)| entry(index, criterion)).collect();
    format!("{{\"evidence\":[{}]}}", entries.join(","))
}

/// Returns the criteria that evidence has to cover.
pub(crate) fn criteria(run: &Run, scope: EvidenceScope) -> Vec<&str> {
    match scope {
        EvidenceScope::Chunk => run.current_criteria().iter().map(String::as_str).collect(),
        EvidenceScope::Issue => run.chunk.acs.iter().flatten().map(String::as_str).collect(),
    }
}

fn base(run: &Run, scope: EvidenceScope) -> Option<String> {
    match scope {
        EvidenceScope::Chunk => run.chunk.base.clone(),
        // A run that is older than this field has only its current chunk's.
        EvidenceScope::Issue => run.chunk.first_base.clone().or_else(|| run.chunk.base.clone()),
    }
}

fn refusal(run: &Run, event: &EventName, reason: String) -> Refused {
    Refused::Advisory { phase: run.phase.clone(), event: event.clone(), gate: GATE.to_owned(), reason }
}

fn missing(run: &Run, criteria: &[&str]) -> String {
    let mut text = format!(
        "evidence is wanted for {}: a line that was changed or a test of the recorded run, like --data '{}'",
        criteria.join(", "),
        example(criteria)
    );
    let in_words: Vec<String> = criteria.iter().map(|criterion| in_words(run, criterion)).collect();
    if in_words != criteria {
        text.push_str(&format!(". Read each again, and confirm that it is met: {}", in_words.join("; ")));
    }
    text
}

/// `ac-01` is `AC-01`.
fn is_same(criterion: &str, given: &str) -> bool {
    criterion.trim().eq_ignore_ascii_case(given)
}

fn judge_line(run: &Run, scope: EvidenceScope, line: &Line, ask: &Ask) -> Result<Option<Advice>, String> {
    match &ask.observations.lines {
        Some(Seen::Value(changed)) if changed.contains(line) => Ok(None),
        Some(Seen::Value(_)) => {
            let base = base(run, scope);
            let since =
                base.as_deref().map(|base| base.get(..10).unwrap_or(base)).unwrap_or("the last commit");
            Err(format!("`{line}` is no line that was changed since {since}; show one that was"))
        }
        Some(Seen::Absent(why)) => Ok(Some(Advice(format!("not checked: evidence: {why}")))),
        Some(Seen::Failed(why)) => Err(format!("`{line}` could not be looked at: {why}")),
        None => Err(format!("`{line}` was not looked at")),
    }
}

fn is_recorded(run: &Run, test: &String, ask: &Ask) -> bool {
    let printed = ask.observations.commands.iter().any(|command| command.names.contains(test));
    let told = match ask.actor {
        Actor::Person | Actor::Engine => {
            reported(&ask.data).ok().flatten().is_some_and(|names| has(&names, test))
        }
        Actor::Agent => false,
    };
    printed || told || has(&run.test_names, test)
}

fn has(names: &[String], test: &str) -> bool {
    names.iter().any(|name| names_test(test, name))
}

impl Run {
    /// Returns the tests that were named as evidence for the chunk and are not among those that passed.
    pub fn unproved(&self, passed: &[String]) -> Vec<&NamedTest> {
        let is_proved = |named: &&NamedTest| has(passed, &named.test) || has(&self.test_names, &named.test);
        self.named_tests.iter().filter(|named| !is_proved(named)).collect()
    }
}

/// Reads `tests`: the names of the tests that were run.
fn reported(data: &Map<String, Value>) -> Result<Option<Vec<String>>, Refused> {
    // In other workflows the word may mean something else.
    let Some(Value::Array(list)) = data.get("tests") else { return Ok(None) };
    if list.len() > MOST_TESTS {
        return Err(Refused::data("tests", format!("has {} names; the most is {MOST_TESTS}", list.len())));
    }
    let names: Option<Vec<String>> = list.iter().map(|name| name.as_str().map(str::to_owned)).collect();
    let names = names.ok_or_else(|| Refused::data("tests", "must be a list of names"))?;
    Ok(Some(names.into_iter().filter(|name| name.len() <= LONGEST_NAME).collect()))
}

/// Reads `evidence`.
fn read(data: &Map<String, Value>) -> Result<Option<Vec<Entry>>, Refused> {
    let Some(value) = data.get("evidence") else { return Ok(None) };
    let shape = || {
        Refused::data(
            "evidence",
            format!(
                "must be a list of criteria with a line or a test, like {}",
                example(&["AC-01", "AC-02"])
            ),
        )
    };
    let list = value.as_array().filter(|list| list.len() <= MOST_ENTRIES).ok_or_else(shape)?;
    list.iter().map(|entry| read_entry(entry).ok_or_else(shape)).collect::<Result<_, _>>().map(Some)
}

fn read_entry(entry: &Value) -> Option<Entry> {
    let text = |field: &str| -> Option<Option<String>> {
        match entry.get(field) {
            None | Some(Value::Null) => Some(None),
            Some(Value::String(text)) if !text.trim().is_empty() && text.len() <= 2000 => {
                Some(Some(text.trim().to_owned()))
            }
            Some(_) => None,
        }
    };
    let criterion = text("ac")??;
    let (file, test) = (text("file")?, text("test")?.filter(|test| test.len() <= LONGEST_NAME));
    let line = match (file, entry.get("line")) {
        (Some(file), Some(line)) => {
            let file = file.strip_prefix("./").unwrap_or(&file).to_owned();
            Some(Line { file, line: line.as_u64().filter(|line| *line > 0)? })
        }
        (None, None) => None,
        // A file without a line shows nothing.
        (Some(_), None) | (None, Some(_)) => return None,
    };
    if line.is_none() && test.is_none() {
        return None;
    }
    Some(Entry { criterion, line, test })
}
