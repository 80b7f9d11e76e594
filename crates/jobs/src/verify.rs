//! Ticking criteria, and testing: what is to be committed, and what is to be merged.

use engine::{NamedTest, Run, keys, names_test};
use project::{Current, counted};
use serde_json::json;

use crate::{
    Context, JobError,
    advance::Report,
    issue, rework,
    words::{are, short},
};

/// How many names of tests are recorded.
const NAMES_KEPT: usize = 500;

impl Context<'_> {
    /// Ticks the criteria of the chunk in the issue.
    pub(crate) fn tick(&mut self, run: &Run) -> Result<Report, JobError> {
        let report = Report::new("docs_updated");
        let Some(issue) = &run.issue else {
            return Ok(report.say("the run has no issue to tick criteria in"));
        };
        Ok(match issue::tick(&*self.tracker(), issue, run.current_criteria())? {
            Some(ticked) => report
                .say(format!("ticked in issue {issue}: {}", counted(ticked as u64, "criterion", "criteria"))),
            None => report.say(format!("there is no issue {issue} to tick criteria in")),
        })
    }

    /// Takes the ticks back that the chunk's criteria were given before it was tested: its work is not there.
    pub(crate) fn untick(&mut self, run: &Run) -> Result<(), JobError> {
        let Some(issue) = run.issue.as_deref().filter(|_| run.docs_updated && !run.committed) else {
            return Ok(());
        };
        issue::untick(&*self.tracker(), issue, run.current_criteria())
    }

    /// Takes the ticks back from criteria whose work is not committed, and returns those: finished chunks stay done, because
    /// the next run continues their branch.
    ///
    /// An issue of which every chunk is done keeps the last one open until it is merged, so that there is something left to
    /// take up.
    pub(crate) fn untick_unfinished(&mut self, run: &Run) -> Result<Vec<String>, JobError> {
        let Some(issue) = run.issue.as_deref().filter(|_| !run.facts.issue.is_merged) else {
            return Ok(Vec::new());
        };
        let is_own = self.place.origin().is_some();
        // What warp has ticked in a workspace of its own counts even if the event was refused afterwards.
        let open = issue::open_criteria(&*self.tracker(), issue)?;
        let is_ticked = |criterion: &String| is_own && !open.contains(criterion);
        let mut criteria = run.current_criteria().to_vec();
        criteria.retain(|criterion| !run.committed && (run.docs_updated || is_ticked(criterion)));
        issue::untick(&*self.tracker(), issue, &criteria)?;
        if is_own && criteria.is_empty() && self.offered(run)?.is_none() && self.is_all_ticked(issue)? {
            let is_open = run.committed && !run.current_criteria().is_empty();
            let last = run.completed_chunks.last().map(|chunk| chunk.acs.as_slice());
            criteria = if is_open { run.current_criteria() } else { last.unwrap_or_default() }.to_vec();
            issue::untick(&*self.tracker(), issue, &criteria)?;
        }
        Ok(criteria)
    }

    fn is_all_ticked(&mut self, issue: &str) -> Result<bool, JobError> {
        Ok(issue::open_criteria(&*self.tracker(), issue)?.is_empty())
    }

    /// Looks at what is to be committed, and tests it. Criteria whose tests fail are not met.
    pub(crate) fn test(&mut self, current: &Current) -> Result<Report, JobError> {
        let run = &current.run;
        let conflict = self.left_conflict(run);
        if conflict.is_none()
            && let Some(report) = self.look_at_tree(current)?
        {
            return Ok(report);
        }
        let report = match conflict {
            Some(why) => Report::new("tests_failed").with("failure", json!(why)).say(why),
            None => self.test_tree(current)?,
        };
        if report.event == "tests_failed" {
            self.untick(run)?;
        } else {
            self.tick_accepted(run)?;
        }
        Ok(report)
    }

    /// Sends the work back before it is tested, if the commit guard holds something of it.
    fn look_at_tree(&mut self, current: &Current) -> Result<Option<Report>, JobError> {
        let run = &current.run;
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

    fn test_tree(&mut self, current: &Current) -> Result<Report, JobError> {
        let run = &current.run;
        if !run.settings.get(keys::TEST_BEFORE_COMMIT) {
            return Ok(Report::new("tests_passed").say("tests are switched off (test_before_commit)"));
        }
        let (_, prepared) = self.prepare_commit(run)?;
        if let Some(why) = self.left_out_by_git(&prepared) {
            return Ok(Report::new("tests_failed").with("failure", json!(why)).say(why));
        }
        let tree = prepared.tree().map_err(JobError::World)?;
        let laid = prepared.lay_aside();
        let outcome = suite::run(&self.shell, &self.place, run)?;
        self.laid = laid.filter(|_| outcome.passed && self.slot.is_some());
        if let Some(held) = outcome.held {
            return Ok(self.send_back_held(run, vec![held])?.say(outcome.output));
        }
        let unproved = if outcome.passed { run.unproved(&outcome.report.passed) } else { Vec::new() };
        if !unproved.is_empty() {
            return Ok(unproved_evidence(&unproved, &outcome.report.passed).say(outcome.said));
        }
        Ok(if outcome.passed {
            Report::new("tests_passed")
                .with("tests", json!(recorded(run, &outcome.report.passed)))
                .with("tree", json!(tree))
                .say(outcome.said)
        } else {
            Report::new("tests_failed")
                .with("failure", json!(outcome.failure()))
                .say(outcome.said)
                .say(outcome.output)
        })
    }

    /// Tests what is committed: nothing else may lie in the tree, but for what was there when the run began.
    pub(crate) fn test_finally(&self, run: &Run) -> Result<Report, JobError> {
        let look = || -> Result<(Vec<String>, String), JobError> {
            if self.slot.is_some() && self.git().is_all_committed().map_err(JobError::World)? {
                return Ok((Vec::new(), self.git().head_commit().map_err(JobError::World)?));
            }
            let (left_out, prepared) = self.prepare_commit(run)?;
            let (head, tree) = self.git().head_and_tree().map_err(JobError::World)?;
            if prepared.tree().map_err(JobError::World)? == tree {
                return Ok((left_out, head));
            }
            let files = self.git().not_committed().map_err(JobError::World)?;
            let files: Vec<String> = files.into_keys().filter(|file| !left_out.contains(file)).collect();
            Err(JobError::World(format!(
                "what is merged is what is committed, and {} not: a person commits or removes them, then `warp next`",
                are(&files)
            )))
        };
        self.put_away(run)?;
        let (left_out, head) = look()?;
        let outcome = suite::run(&self.shell, &self.place, run)?;
        if let Some(held) = outcome.held {
            return Err(JobError::Held(vec![held]));
        }
        if !outcome.passed {
            return Err(JobError::World(format!(
                "{}; a person has to look at it\n{}",
                outcome.said, outcome.output
            )));
        }
        suite::remember(&self.place, run, &head, &outcome)?;
        if self.git().head_commit().map_err(JobError::World)? != head {
            return Err(JobError::World(
                "HEAD has moved while the tests ran; `warp next` tests again".to_owned(),
            ));
        }
        let report = Report::new("merge_ready").with("commit", json!(head)).say(format!(
            "{}: {}",
            short(&head),
            outcome.said
        ));
        Ok(if left_out.is_empty() {
            report
        } else {
            report.say(format!("{} not committed, and lay there during the test", are(&left_out)))
        })
    }

    /// In a workspace of the run's own, keeps what a chunk that was put off has left in the tree, and clears it away.
    /// Returns the ref that keeps it.
    pub fn put_away(&self, run: &Run) -> Result<Option<String>, JobError> {
        match &self.slot {
            Some(slot) if run.comes_from_deferral() => Ok(slot.clear(run.id.as_str())?),
            Some(_) | None => Ok(None),
        }
    }
}

/// Returns the names that are recorded: of tests that evidence named, then of the others.
fn recorded(run: &Run, passed: &[String]) -> Vec<String> {
    let is_named = |name: &&String| run.named_tests.iter().any(|named| names_test(&named.test, name));
    let (named, others): (Vec<&String>, Vec<&String>) = passed.iter().partition(is_named);
    named.into_iter().chain(others).take(NAMES_KEPT).cloned().collect()
}

/// Sends the work back whose evidence names tests that have not passed.
fn unproved_evidence(unproved: &[&NamedTest], passed: &[String]) -> Report {
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
    Report::new("tests_failed").with("failure", json!(failure)).with("check", json!("evidence")).say(failure)
}
