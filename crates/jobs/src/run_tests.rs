//! Testing what is to be committed. Criteria whose tests fail are not met.

use engine::{Held, NamedTest, Run, keys, names_test, workflow::JobOutcome};
use journal::Durable;
use project::counted;
use serde_json::json;

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError,
    job::{Report, Task},
    rework,
};

/// How many names of tests are recorded.
const NAMES_KEPT: usize = 500;

/// What the tests say.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Tests are switched off.
    Off,
    Passed {
        /// Names of those that passed.
        tests: Vec<String>,
        /// What was tested.
        tree: String,
        said: String,
    },
    /// The work goes back to the agent, which is told why.
    Failed {
        failure: String,
        /// What has failed, where it was not the tests.
        check: Option<&'static str>,
        /// What the commit guard holds.
        held: Vec<Held>,
        said: Vec<String>,
    },
}

impl Outcome {
    fn failed(why: String) -> Self {
        Self::Failed { said: vec![why.clone()], failure: why, check: None, held: Vec::new() }
    }

    /// Adds what a person is told of a failure.
    fn and_said(mut self, line: String) -> Self {
        if let Self::Failed { said, .. } = &mut self {
            said.push(line);
        }
        self
    }

    pub(crate) fn report(self) -> Report {
        match self {
            Self::Off => {
                Report::new(JobOutcome::TestsPassed).say("tests are switched off (test_before_commit)")
            }
            Self::Passed { tests, tree, said } => Report::new(JobOutcome::TestsPassed)
                .with("tests", json!(tests))
                .with("tree", json!(tree))
                .say(said),
            Self::Failed { failure, check, held, said } => {
                let mut report = Report::new(JobOutcome::TestsFailed).with("failure", failure).say_all(said);
                if let Some(check) = check {
                    report = report.with("check", check);
                }
                if held.is_empty() { report } else { report.with("held", json!(held)) }
            }
        }
    }
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let run = task.run();
    // What is run now may look at views.
    cx.show_now()?;
    let conflict = cx.left_conflict(run);
    if conflict.is_none()
        && let Some(held) = cx.look_at_tree(run)?
    {
        return Ok(held);
    }
    let outcome = match conflict {
        Some(why) => Outcome::failed(why),
        None => cx.test_tree(run)?,
    };
    match outcome {
        Outcome::Failed { .. } => cx.untick(run)?,
        Outcome::Off | Outcome::Passed { .. } => cx.tick_accepted(run)?,
    }
    Ok(outcome)
}

impl Context<'_> {
    /// Sends the work back before it is tested, if the commit guard holds something of it.
    fn look_at_tree(&mut self, run: &Run) -> Result<Option<Outcome>, JobError> {
        if !run.settings.get(keys::COMMIT_GUARD) {
            return Ok(None);
        }
        let (_, prepared) = self.prepare_commit(run)?;
        let held = self.held(run, &prepared)?;
        drop(prepared);
        if held.is_empty() {
            return Ok(None);
        }
        self.send_back_held(run, held).map(Some)
    }

    /// Says which of the files that did not fit together still have markers in them: tests need not look at every file.
    fn left_conflict(&self, run: &Run) -> Option<String> {
        let files = run.facts.issue.selected.get("conflicts").cloned();
        let files: Vec<String> =
            files.and_then(|files| serde_json::from_value(files).ok()).unwrap_or_default();
        let left = rework::has_markers(&self.place.root, &files);
        left.map(|file| format!("`{file}` still has lines that begin with <<<<<<< or >>>>>>>"))
    }

    fn test_tree(&mut self, run: &Run) -> Result<Outcome, JobError> {
        if !run.settings.get(keys::TEST_BEFORE_COMMIT) {
            return Ok(Outcome::Off);
        }
        let (_, prepared) = self.prepare_commit(run)?;
        if let Some(why) = self.left_out_by_git(&prepared) {
            return Ok(Outcome::failed(why));
        }
        let tree = prepared.tree().map_err(JobError::World)?;
        let laid = prepared.lay_aside();
        let outcome = suite::run(&self.shell, &self.place, run)?;
        self.laid = laid.filter(|_| outcome.passed && self.slot.is_some());
        if let Some(held) = outcome.held {
            return Ok(self.send_back_held(run, vec![held])?.and_said(outcome.output));
        }
        let unproved = if outcome.passed { run.unproved(&outcome.report.passed) } else { Vec::new() };
        if !unproved.is_empty() {
            return Ok(unproved_evidence(&unproved, &outcome.report.passed).and_said(outcome.said));
        }
        Ok(if outcome.passed {
            let tests = recorded(run, &outcome.report.passed);
            Outcome::Passed { tests, tree, said: outcome.said }
        } else {
            let failure = outcome.failure();
            let said = vec![outcome.said, outcome.output];
            Outcome::Failed { failure, check: None, held: Vec::new(), said }
        })
    }
}

/// Returns the names that are recorded: of tests that evidence named, then of the others.
fn recorded(run: &Run, passed: &[String]) -> Vec<String> {
    let is_named = |name: &&String| run.named_tests.iter().any(|named| names_test(&named.test, name));
    let (named, others): (Vec<&String>, Vec<&String>) = passed.iter().partition(is_named);
    named.into_iter().chain(others).take(NAMES_KEPT).cloned().collect()
}

/// Sends the work back whose evidence names tests that have not passed.
fn unproved_evidence(unproved: &[&NamedTest], passed: &[String]) -> Outcome {
    let lines: Vec<String> = unproved.iter().map(|named| format!("- {named}")).collect();
    let how = match passed.len() {
        0 => "The tests passed, but they name none of them: show a changed line instead.".to_owned(),
        count => format!(
            "{} passed, the first of them `{}`: write the test, or give its name as the runner reports it.",
            counted(count as u64, "test", "tests"),
            passed[0]
        ),
    };
    let failure = format!("{}\n{how}", lines.join("\n"));
    let said = vec![failure.clone()];
    Outcome::Failed { failure, check: Some("evidence"), held: Vec::new(), said }
}
