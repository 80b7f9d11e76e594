//! Committing: everything that is the run's, and only what was tested.

use adapters::git::Prepared;
use engine::{Run, keys};
use project::{
    Current, counted,
    rails::{self, guard},
    slots::SlotError,
};
use serde_json::Value;

use crate::{
    Context, JobError,
    advance::{Report, Wanted},
    git_hooks, issue, report, rework,
    words::{and_left_out, are, short},
};

impl Context<'_> {
    /// Commits everything that is the run's, if it is what was tested.
    pub(crate) fn commit(&mut self, current: &Current, wanted: &Wanted) -> Result<Report, JobError> {
        let run = &current.run;
        let event = if run.settings.get(keys::DOC_DRIFT_GATE) { "commit_with_doc_gate" } else { "committed" };
        let message = match &wanted.message {
            Some(message) => message.clone(),
            None => {
                let word = |field: &str| run.facts.chunk.accounts.last().and_then(|said| said.get(field));
                let selected = &run.facts.issue.selected;
                let title = match rework::commit_title(selected) {
                    Some(title) => Some(title),
                    None => issue::title(&*self.tracker(), run)?,
                };
                let again = word("message").and_then(Value::as_str).map(str::to_owned);
                // It was committed before, and is only committed again.
                match again.or_else(|| rework::kept_message(selected)) {
                    Some(message) => message,
                    None => report::commit_message(title.as_deref(), word("commit"), run),
                }
            }
        };
        let laid = self.laid.take();
        // From here on something is changed.
        self.sync_journal()?;
        let tested = laid.map(|laid| self.place.git().take_up(laid)).transpose();
        let tested = tested.map_err(JobError::World)?.flatten();
        let (left_out, mut prepared) = match tested {
            Some(prepared) => (Vec::new(), prepared),
            None => self.prepare_commit(run)?,
        };
        if let Some(why) = self.left_out_by_git(&prepared) {
            return Err(JobError::World(why));
        }
        if let Some(hash) = self.made_already(run, &prepared)? {
            prepared.put_index().map_err(JobError::World)?;
            rails::remember(&self.place)?;
            self.keep_outside(run, &hash)?;
            return Ok(
                Report::new(event).say(format!("{} was made before, and is recorded now", short(&hash)))
            );
        }
        if prepared.is_empty().map_err(JobError::World)? {
            return Err(JobError::World(format!("there is nothing to commit{}", and_left_out(&left_out))));
        }
        if git_hooks::pre_commit(&self.shell, &self.place, &prepared)? {
            // It may have changed files, as those do that format.
            prepared.take_in().map_err(JobError::World)?;
        }
        let message = git_hooks::commit_msg(&self.shell, &self.place, &mut prepared, &message)?;
        if let Some(problem) = guard::message::problem(message.lines().next().unwrap_or_default()) {
            return Err(JobError::World(format!(
                "{problem}: `warp next -m 'feat(scope): text'` gives another"
            )));
        }
        self.check_tested(run, &prepared)?;
        self.check_held(run, &prepared)?;
        let hash = prepared.commit(&message).map_err(JobError::World)?;
        rails::remember(&self.place)?;
        self.keep_outside(run, &hash)?;
        self.tick_accepted(run)?;
        let subject = message.lines().next().unwrap_or_default();
        let size = self.size_of(&hash);
        let mut report = Report::new(event).say(format!("{} {subject}{size}", short(&hash)));
        report.said.extend(drift::advice_on_commit(&self.git().changed_in(&hash).map_err(JobError::World)?));
        Ok(if left_out.is_empty() {
            report
        } else {
            report.say(format!("committed{}", and_left_out(&left_out)))
        })
    }

    /// Sees that the commit guard has looked at what is committed: what was tested it has, and a hook may have changed it.
    fn check_held(&self, run: &Run, prepared: &Prepared<'_>) -> Result<(), JobError> {
        let tree = prepared.tree().map_err(JobError::World)?;
        let was_looked_at = run.settings.get(keys::TEST_BEFORE_COMMIT) && run.tested_tree == Some(tree);
        let held = if was_looked_at { Vec::new() } else { self.held(run, prepared)? };
        if held.is_empty() { Ok(()) } else { Err(JobError::Held(held)) }
    }

    /// Says how much a commit changes, as ` (3 files, +41 -2)`. Nothing where git does not tell.
    pub(crate) fn size_of(&self, commit: &str) -> String {
        let counted = self.git().counted(&format!("{commit}^"), commit).ok();
        counted.map(|size| format!(" ({})", sized(size))).unwrap_or_default()
    }

    /// Prepares a commit of all but what was there when the run began and has not changed since.
    pub(crate) fn prepare_commit(&self, run: &Run) -> Result<(Vec<String>, Prepared<'_>), JobError> {
        let look = || -> Result<(Vec<String>, Prepared<'_>), String> {
            let left_out = self.git().unchanged(&run.dirty)?;
            let prepared = self.git().prepare(left_out.clone())?;
            Ok((left_out, prepared))
        };
        look().map_err(JobError::World)
    }

    /// In a workspace of the run's own, says which files git would not commit although they are part of the work.
    pub(crate) fn left_out_by_git(&self, prepared: &Prepared<'_>) -> Option<String> {
        let embedded = prepared.embedded();
        if self.slot.is_none() || embedded.is_empty() {
            let why = prepared.whole().err()?;
            return Some(format!("{why}; see to it that every file can be read, or remove it"));
        }
        Some(format!(
            "{} a git repository of its own, whose files would not be committed: move them out of it, or remove it",
            are(embedded)
        ))
    }

    /// Returns the chunk's commit, if it was made and a crash kept it from being recorded.
    fn made_already(&self, run: &Run, prepared: &Prepared<'_>) -> Result<Option<String>, JobError> {
        let Some(base) = &run.chunk.base else { return Ok(None) };
        let look = || -> Result<Option<String>, String> {
            let head = self.git().head_commit()?;
            if head == *base || run.commit_hashes.contains(&head) {
                return Ok(None);
            }
            let (head, tree) = self.git().head_and_tree()?;
            if prepared.tree()? != tree || !self.git().follows(base)? {
                return Ok(None);
            }
            Ok(Some(head))
        };
        let made = look().map_err(JobError::World)?;
        if made.is_some() {
            self.check_tested(run, prepared)?;
        }
        Ok(made)
    }

    /// Only the tree that passed its tests is committed; another one is tested first.
    fn check_tested(&self, run: &Run, prepared: &Prepared<'_>) -> Result<(), JobError> {
        if !run.settings.get(keys::TEST_BEFORE_COMMIT) {
            return Ok(());
        }
        let tree = prepared.tree().map_err(JobError::World)?;
        if run.tested_tree.as_ref() == Some(&tree) {
            return Ok(());
        }
        let outcome = suite::run(&self.shell, &self.place, run)?;
        if let Some(held) = outcome.held {
            return Err(JobError::Held(vec![held]));
        }
        if !outcome.passed {
            return Err(JobError::World(format!(
                "the files have changed since the tests passed, and the tests fail now; mend that first\n{}",
                outcome.output
            )));
        }
        if self.prepare_commit(run)?.1.tree().map_err(JobError::World)? == tree {
            return Ok(());
        }
        Err(JobError::World(
            "the files have changed while the tests ran; let nothing else write here, then `warp next`"
                .to_owned(),
        ))
    }

    /// Makes a commit reachable outside a workspace of the run's own, so that it outlives that.
    pub(crate) fn keep_outside(&self, run: &Run, commit: &str) -> Result<(), JobError> {
        match &self.slot {
            Some(slot) => Ok(slot.keep_outside(commit, run.id.as_str()).map_err(SlotError::from)?),
            None => Ok(()),
        }
    }
}

/// Says how many files a commit changes, and how many lines.
fn sized((files, added, removed): (u64, u64, u64)) -> String {
    format!("{}, +{added} -{removed}", counted(files, "file", "files"))
}
