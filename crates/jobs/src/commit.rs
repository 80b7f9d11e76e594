//! Committing: everything that is the run's, and only what was tested.

use adapters::git::Prepared;
use engine::{Run, keys, workflow::JobOutcome};
use journal::Durable;
use project::{
    counted,
    rails::{self, guard},
    slots::SlotError,
};
use serde_json::Value;

use crate::{
    Context, JobError, git_hooks, issue,
    job::{Report, Task},
    report, rework,
    words::{and_left_out, are, short},
};

/// The chunk's commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub hash: String,
    pub made: Made,
    /// Whether the docs are looked at next.
    pub is_gated: bool,
}

/// When a commit was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    Now {
        subject: String,
        /// Files, and lines added and removed, where git tells.
        size: Option<(u64, u64, u64)>,
        advice: Option<String>,
        /// What was there before the run, and is not in it.
        left_out: Vec<String>,
    },
    /// By an attempt that could not report it.
    Before,
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        let hash = short(&self.hash);
        let report =
            Report::new(if self.is_gated { JobOutcome::CommitWithDocGate } else { JobOutcome::Committed });
        match self.made {
            Made::Before => report.say(format!("{hash} was made before, and is recorded now")),
            Made::Now { subject, size, advice, left_out } => {
                let size = size.map(sized).unwrap_or_default();
                let left_out =
                    (!left_out.is_empty()).then(|| format!("committed{}", and_left_out(&left_out)));
                report.say(format!("{hash} {subject}{size}")).say_all(advice).say_all(left_out)
            }
        }
    }
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let run = task.run();
    let message = match task.message {
        Some(message) => message.to_owned(),
        None => cx.message_for(run)?,
    };
    let laid = cx.laid.take();
    let tested = laid.map(|laid| cx.place.git().take_up(laid)).transpose();
    let tested = tested.map_err(JobError::World)?.flatten();
    let (left_out, mut prepared) = match tested {
        Some(prepared) => (Vec::new(), prepared),
        None => cx.prepare_commit(run)?,
    };
    if let Some(why) = cx.left_out_by_git(&prepared) {
        return Err(JobError::World(why));
    }
    if prepared.is_empty().map_err(JobError::World)? {
        return Err(JobError::World(format!("there is nothing to commit{}", and_left_out(&left_out))));
    }
    if git_hooks::pre_commit(&cx.shell, &cx.place, &prepared)? {
        // It may have changed files, as those do that format.
        prepared.take_in().map_err(JobError::World)?;
    }
    let message = git_hooks::commit_msg(&cx.shell, &cx.place, &mut prepared, &message)?;
    if let Some(problem) = guard::message::problem(message.lines().next().unwrap_or_default()) {
        return Err(JobError::World(format!("{problem}: `warp next -m 'feat(scope): text'` gives another")));
    }
    cx.check_tested(run, &prepared)?;
    cx.check_held(run, &prepared)?;
    // Hooks and tests take their time: whoever has lost the claim meanwhile commits nothing.
    cx.sync_journal()?;
    let hash = prepared.commit(&message).map_err(JobError::World)?;
    rails::remember(&cx.place)?;
    cx.keep_outside(run, &hash)?;
    cx.tick_accepted(run)?;
    let changed = cx.git().changed_in(&hash).map_err(JobError::World)?;
    let subject = message.lines().next().unwrap_or_default().to_owned();
    let made =
        Made::Now { subject, size: cx.counted(&hash), advice: drift::advice_on_commit(&changed), left_out };
    Ok(Outcome { hash, made, is_gated: is_gated(run) })
}

/// It is done if the branch has the commit of what was tested.
pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    let run = task.run();
    if run.chunk.base.as_ref().is_none_or(|base| cx.git().head_commit().is_ok_and(|head| head == *base)) {
        return Ok(None);
    }
    let (_, prepared) = cx.prepare_commit(run)?;
    let Some(hash) = cx.made_already(run, &prepared)? else { return Ok(None) };
    // What follows a commit may not have been done any more.
    prepared.put_index().map_err(JobError::World)?;
    cx.laid = None;
    rails::remember(&cx.place)?;
    cx.keep_outside(run, &hash)?;
    Ok(Some(Outcome { hash, made: Made::Before, is_gated: is_gated(run) }))
}

fn is_gated(run: &Run) -> bool {
    run.settings.get(keys::DOC_DRIFT_GATE)
}

impl Context<'_> {
    /// Makes the message of the chunk's commit.
    fn message_for(&self, run: &Run) -> Result<String, JobError> {
        let word = |field: &str| run.facts.chunk.accounts.last().and_then(|said| said.get(field));
        let selected = &run.facts.issue.selected;
        let title = match rework::commit_title(selected) {
            Some(title) => Some(title),
            None => issue::title(&*self.tracker(), run)?,
        };
        let again = word("message").and_then(Value::as_str).map(str::to_owned);
        // It was committed before, and is only committed again.
        Ok(match again.or_else(|| rework::kept_message(selected)) {
            Some(message) => message,
            None => report::commit_message(title.as_deref(), word("commit"), run),
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
        self.counted(commit).map(sized).unwrap_or_default()
    }

    fn counted(&self, commit: &str) -> Option<(u64, u64, u64)> {
        self.git().counted(&format!("{commit}^"), commit).ok()
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
                "the files have changed since the tests passed, and the tests fail now; fix that first\n{}",
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

/// Says how many files a commit changes, and how many lines, as ` (3 files, +41 -2)`.
fn sized((files, added, removed): (u64, u64, u64)) -> String {
    format!(" ({}, +{added} -{removed})", counted(files, "file", "files"))
}
