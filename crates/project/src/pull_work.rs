//! What a pull request comes to, for whoever reviews it: its criteria with their evidence, its size, its tests and its cost.
//!
//! All of it is read from the journal, the ledger and git when somebody looks; the pull request's own text stays as it was
//! written.

use std::collections::BTreeMap;

use adapters::git::Git;
use engine::{
    Record, Usage, criterion,
    workflow::{JobOutcome, Meaning},
};
use forge::Item;
use serde::Serialize;
use serde_json::Value;

use crate::{
    Account, Error, Stint, Workspace,
    spend::{Ledger, LedgerError},
};

/// What a pull request comes to.
#[derive(Debug, Default, Serialize)]
pub struct PullWork {
    pub criteria: Vec<Met>,
    /// What git says of the change: a line for each file, and one for all.
    pub changes: String,
    /// The commit that passed the last test.
    pub tested: Option<String>,
    /// How many tests were seen to pass by name before that commit was made.
    pub tests: usize,
    /// What its runs have spent; nothing if nothing was metered.
    pub spent: Option<Usage>,
}

/// A criterion that is met.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Met {
    pub name: String,
    /// What the issue says, as long as it is there.
    pub text: String,
    /// Lines and tests that show it.
    pub evidence: Vec<String>,
}

/// Why it cannot be said.
#[derive(Debug, thiserror::Error)]
pub enum PullWorkError {
    #[error(transparent)]
    Failed(#[from] Error),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// What the records of a pull request's runs say.
#[derive(Default)]
struct Shown {
    /// By criterion.
    evidence: BTreeMap<String, Vec<String>>,
    tests: usize,
}

impl Workspace {
    /// Says what a pull request comes to.
    pub fn pull_work(&mut self, item: &Item) -> Result<PullWork, PullWorkError> {
        let Some(pull) = &item.pull else { return Ok(PullWork::default()) };
        let account = match (pull.issue, &pull.run) {
            (Some(issue), _) => self.account(issue)?,
            (None, Some(run)) => match self.select(Some(run))? {
                Some(current) => Account { stints: self.stints(&current)? },
                None => Account::default(),
            },
            (None, None) => Account::default(),
        };
        let stints: Vec<&Stint> =
            if pull.issue.is_some() { account.of_pull(item.id) } else { account.stints.iter().collect() };
        let issue =
            pull.issue.map(|issue| self.tracker().item(issue)).transpose().map_err(Error::from)?.flatten();
        let boxes = issue.map(|issue| issue.boxes().items).unwrap_or_default();
        let texts: BTreeMap<String, String> =
            boxes.into_iter().enumerate().map(|(index, (_, text))| (criterion(index), text)).collect();
        let mut shown = Shown::default();
        for stint in &stints {
            self.read_work(stint, &mut shown)?;
        }
        let mut names: Vec<&String> = stints.iter().flat_map(|stint| stint.criteria()).collect();
        names.sort();
        names.dedup();
        let met = |name: &String| Met {
            name: name.clone(),
            text: texts.get(name).cloned().unwrap_or_default(),
            evidence: shown.evidence.get(name).cloned().unwrap_or_default(),
        };
        let merge = stints.iter().find_map(|stint| stint.merge.clone()).filter(|_| pull.merged.is_some());
        let (base, tip) = merge.unwrap_or_else(|| (format!("refs/heads/{}", pull.target), pull.head.clone()));
        // Where the branch or its commits are gone there is nothing to count.
        let git = Git::new(self.place.origin().unwrap_or(&self.place.root));
        let changes = git.change_between(&base, &tip, &["--stat", "--merge-base"]).ok();
        Ok(PullWork {
            criteria: names.into_iter().map(met).collect(),
            changes: changes.map(|(text, _)| text).unwrap_or_default(),
            tested: stints.iter().rev().find_map(|stint| stint.tested.clone()),
            tests: shown.tests,
            spent: self.spent_on(&stints)?,
        })
    }

    /// Reads what was shown for each criterion, and how many tests have passed. What came last counts.
    fn read_work(&mut self, stint: &Stint, shown: &mut Shown) -> Result<(), Error> {
        let Some(current) = self.select(Some(&stint.run))? else { return Ok(()) };
        for (seq, record) in self.records(&current)?.iter().enumerate() {
            if !stint.events.contains(&(seq as u64)) {
                continue;
            }
            let phase = record.from.as_ref().unwrap_or(&record.phase);
            match current.workflow.meaning(phase, record.event.as_str()) {
                Some(Meaning::Outcome(JobOutcome::TestsPassed)) => {
                    let tests = record.data.get("tests").and_then(Value::as_array);
                    shown.tests = tests.map_or(shown.tests, Vec::len);
                }
                Some(Meaning::Outcome(_) | Meaning::Plan) => {}
                Some(Meaning::Work) | None => shown.evidence.extend(evidence(record)),
            }
        }
        Ok(())
    }

    fn spent_on(&self, stints: &[&Stint]) -> Result<Option<Usage>, PullWorkError> {
        let Some(mut ledger) = Ledger::open_existing(&self.dirs)? else { return Ok(None) };
        let mut runs: Vec<&str> = stints.iter().map(|stint| stint.run.as_str()).collect();
        runs.dedup();
        let mut spent = Usage::default();
        let began =
            runs.iter().filter_map(|run| self.runs.by_id(run).ok().flatten()).map(|run| run.run.started_at);
        if let Some(began) = began.min() {
            ledger.follow(began)?;
        }
        let lines = ledger.books().lines();
        lines.filter(|line| runs.contains(&line.tags.run.as_str())).for_each(|line| spent.add(&line.usage));
        Ok((!spent.is_zero()).then_some(spent))
    }
}

/// Returns what an event shows for each criterion.
fn evidence(record: &Record) -> BTreeMap<String, Vec<String>> {
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in record.data.get("evidence").and_then(Value::as_array).into_iter().flatten() {
        let word = |field: &str| entry.get(field).and_then(Value::as_str);
        let line = word("file").map(|file| match entry.get("line").and_then(Value::as_u64) {
            Some(line) => format!("{file}:{line}"),
            None => file.to_owned(),
        });
        let test = word("test").map(|test| format!("test `{test}`"));
        if let Some(name) = word("ac") {
            shown.entry(name.to_owned()).or_default().extend(line.into_iter().chain(test));
        }
    }
    shown
}
