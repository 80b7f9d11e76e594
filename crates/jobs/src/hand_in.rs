//! Taking in what an agent of a driven loop has left in the tree: warp commits it, as far as the phase may write it.
//!
//! What a phase may write follows from its receipt. Until the acceptance tests are written only documents are, so
//! whoever writes the tests finds the project as it was before, and the plan. Once they are frozen they are put back.

use std::{collections::BTreeSet, path::Path};

use engine::{
    Run, Seen, digest, is_document,
    workflow::{Phase, ReceiptKind},
};
use project::{Current, rails};
use serde_json::Value;

use workspace::text;

use crate::{
    Context, JobError, report,
    words::{list, short},
};

/// The largest plan that is looked at, in bytes.
const LARGEST_PLAN: u64 = 16 * 1024 * 1024;
/// Directories, and parts of names, by which tests are known.
const TEST_PARTS: &[&str] =
    &["test", "tests", "spec", "specs", "e2e", "acceptance", "features", "fixtures", "testdata", "snapshots"];

/// The message of a commit that has nothing but frozen tests as they were.
const RESTORED: &str = "test: put the acceptance tests back";

/// What became of the frozen tests.
enum Frozen {
    /// They are as they may be.
    Same,
    /// They were changed in the tree, and put back; what the agent is told.
    PutBack(String),
    /// They are as they were in the tree, but not in the branch, where an agent that commits by itself has changed them.
    Restored(Vec<String>),
}

/// What was taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedIn {
    /// The commit that has it all.
    pub head: String,
    /// What was done, a line each.
    pub said: Vec<String>,
    /// What the phase may not write, and where it is kept.
    pub taken_out: Option<String>,
}

impl Context<'_> {
    /// Commits what an agent has left in the tree, with the message that it proposes if that has the form of one.
    ///
    /// What the phase may not write is taken out, and kept. The inner error is for the agent, whose answer cannot be taken.
    pub fn hand_in(
        &mut self,
        current: &Current,
        proposed: Option<&Value>,
    ) -> Result<Result<HandedIn, String>, JobError> {
        self.sync()?;
        let run = &current.run;
        let Some(phase) = current.workflow.phase(&run.phase) else {
            return Ok(Err(format!("`{}` is no phase", run.phase)));
        };
        let (restored, refused) = match self.put_frozen_back(current)? {
            Frozen::Same => (Vec::new(), None),
            // The rest is work, and stays even if the phase is left by force.
            Frozen::PutBack(why) => (Vec::new(), Some(why)),
            Frozen::Restored(files) => (files, None),
        };
        let (mut said, mut taken_out) = (Vec::new(), None);
        let changed = self.changed_files(run)?;
        let (new, files): (Vec<String>, Vec<String>) =
            changed.into_iter().partition(|file| may_write(phase, file) || restored.contains(file));
        if !files.is_empty() {
            let kept = self.take_out(run, "HEAD", &files)?;
            let what = written(phase);
            taken_out =
                Some(format!("`{}` writes {what}: {} was taken out again{kept}", run.phase, list(&files)));
        }
        // What warp itself writes is no work.
        if !new.is_empty() {
            let message = if new.iter().all(|file| restored.contains(file)) {
                RESTORED.to_owned()
            } else {
                message(current, phase, proposed)
            };
            if let Err(error) = self.commit_all(run, &message) {
                return Ok(Err(self.told_or_held(error)?));
            }
            let head = self.git().head_commit().map_err(JobError::World)?;
            said.push(format!("{} {message}{}", short(&head), self.size_of(&head)));
        }
        let head = self.git().head_commit().map_err(JobError::World)?;
        Ok(match refused {
            Some(why) => Err(why),
            None => Ok(HandedIn { head, said, taken_out }),
        })
    }

    /// Puts the frozen tests back after a person has rejected others, before an agent goes on; returns what was done.
    pub fn put_rejected_back(&mut self, current: &Current) -> Result<Option<String>, JobError> {
        if !current.run.has_rejected_tests(&current.workflow) {
            return Ok(None);
        }
        self.sync()?;
        Ok(match self.put_frozen_back(current)? {
            Frozen::PutBack(said) => Some(said),
            Frozen::Same | Frozen::Restored(_) => None,
        })
    }

    /// Says why a phase that writes acceptance tests cannot begin: something but documents was written before.
    pub fn why_not_isolated(&self, current: &Current) -> Result<Option<String>, JobError> {
        let run = &current.run;
        let phase = current.workflow.phase(&run.phase);
        // Once its tests are there, the phase goes on with them.
        let writes_tests = phase.is_some_and(|phase| phase.receipt == Some(ReceiptKind::Tests));
        if !writes_tests || run.artifacts.acceptance_tests_file.is_some() {
            return Ok(None);
        }
        let Some(base) = self.git().fork_of(&run.branches.merge_target) else { return Ok(None) };
        let mut files: BTreeSet<String> =
            self.git().names(&[&base, "HEAD"]).map_err(JobError::World)?.into_iter().collect();
        files.extend(self.changed_files(run)?);
        files.retain(|file| !is_document(file) && !is_test(file));
        if files.is_empty() {
            return Ok(None);
        }
        let files: Vec<String> = files.into_iter().collect();
        Ok(Some(format!(
            "The acceptance tests are written before anything else, and {} was changed on this branch already: `accept` lets \
             it be; or take it off the branch, then `continue`",
            list(&files)
        )))
    }

    /// Returns the files that are not committed, without those that are a person's or warp's own.
    pub(crate) fn changed_files(&self, run: &Run) -> Result<BTreeSet<String>, JobError> {
        let look = || -> Result<BTreeSet<String>, String> {
            let theirs = self.git().unchanged(&run.dirty)?;
            let own = run.artifacts.progress_file.as_ref();
            let changed = self.git().not_committed()?.into_keys();
            Ok(changed.filter(|file| !theirs.contains(file) && Some(file) != own).collect())
        };
        look().map_err(JobError::World)
    }

    /// Puts frozen tests back that were changed, unless a person is going to look at them because the plan was changed too.
    fn put_frozen_back(&mut self, current: &Current) -> Result<Frozen, JobError> {
        let run = &current.run;
        let Some(frozen) = run.frozen_tests(&current.workflow) else { return Ok(Frozen::Same) };
        let changed = match self.git().frozen(&frozen.file, &frozen.at, frozen.since.as_deref()) {
            Seen::Value(changed) if changed.is_empty() => return Ok(Frozen::Same),
            Seen::Value(changed) => changed,
            Seen::Absent(why) | Seen::Failed(why) => return Err(JobError::World(why)),
        };
        let plan = run.artifacts.plan_file.as_ref();
        let plan =
            plan.and_then(|plan| text::bytes(&self.place.root.join(plan), LARGEST_PLAN).ok()).map(digest);
        let before = run.frozen_plan(&current.workflow);
        let may_change = run.may_change_tests(&current.workflow);
        if may_change && before.is_some() && plan.is_some() && before != plan.as_deref() {
            return Ok(Frozen::Same);
        }
        let against: Vec<&str> =
            [&frozen.at, "--"].into_iter().chain(changed.iter().map(String::as_str)).collect();
        if self.git().names(&against).map_err(JobError::World)?.is_empty() {
            return Ok(Frozen::Restored(changed));
        }
        let kept = self.take_out(run, &frozen.at, &changed)?;
        Ok(Frozen::PutBack(format!(
            "the acceptance tests are frozen: {} was put back as it is in {}{kept}; the work has to meet the tests{}",
            list(&changed),
            short(&frozen.at),
            if may_change { ", unless the plan is changed first" } else { "" }
        )))
    }

    /// Takes files back to what a commit has of them, and says where they are kept as they were.
    fn take_out(&self, run: &Run, commit: &str, files: &[String]) -> Result<String, JobError> {
        let kept = rails::snapshot(&self.place, &self.dirs, run.id.as_str())?;
        self.git().put_back(commit, files).map_err(JobError::World)?;
        Ok(kept.map(|kept| format!(" (kept as {kept})")).unwrap_or_default())
    }
}

/// Tells whether a phase may write a file.
fn may_write(phase: &Phase, file: &str) -> bool {
    writes_anything(phase)
        && match phase.receipt {
            Some(ReceiptKind::File | ReceiptKind::Revision) => is_document(file),
            Some(ReceiptKind::Tests) => is_test(file) || is_document(file),
            Some(ReceiptKind::Commit) => true,
            Some(ReceiptKind::Summary) | None => false,
        }
}

fn writes_anything(phase: &Phase) -> bool {
    let writes = match phase.receipt {
        Some(ReceiptKind::File | ReceiptKind::Revision | ReceiptKind::Tests | ReceiptKind::Commit) => true,
        Some(ReceiptKind::Summary) | None => false,
    };
    writes && phase.may.iter().any(|operation| operation == "git_commit")
}

fn written(phase: &Phase) -> &'static str {
    match phase.receipt {
        _ if !writes_anything(phase) => "nothing",
        Some(ReceiptKind::File | ReceiptKind::Revision) => {
            "documents (`docs/` and Markdown) and nothing else"
        }
        Some(ReceiptKind::Tests) => "tests and nothing else",
        Some(ReceiptKind::Commit | ReceiptKind::Summary) | None => "all that is needed",
    }
}

/// Tells whether a file is known for a test by its directory or its name: `tests/a.rs`, `a_test.go`, `a.spec.ts`.
fn is_test(file: &str) -> bool {
    let is_part = |part: &str| TEST_PARTS.contains(&part.trim_matches('_').to_lowercase().as_str());
    let path = Path::new(file);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut directories = path.parent().into_iter().flat_map(Path::components);
    directories.any(|part| part.as_os_str().to_str().is_some_and(is_part))
        || name.split(['.', '_', '-']).any(is_part)
}

/// Returns the message of a commit: the agent's if it has the form of one, else one that the phase suggests.
fn message(current: &Current, phase: &Phase, proposed: Option<&Value>) -> String {
    let run = &current.run;
    if let Some(subject) = proposed.and_then(report::proposed_subject) {
        return subject;
    }
    let (kind, verb) = match (phase.receipt, phase.name.as_str()) {
        (Some(ReceiptKind::File | ReceiptKind::Revision), name) => ("docs", format!("{name} of ")),
        (Some(ReceiptKind::Tests), _) => ("test", "acceptance tests of ".to_owned()),
        (Some(ReceiptKind::Commit), _) if current.workflow.mends(&phase.name) => {
            ("fix", "findings about ".to_owned())
        }
        (Some(ReceiptKind::Commit | ReceiptKind::Summary) | None, _) => ("feat", String::new()),
    };
    let feature = engine::one_line(run.feature.as_deref().unwrap_or("the feature"));
    let subject = format!("{kind}: {verb}{feature}");
    subject.chars().take(report::LONGEST_SUBJECT).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_known_by_their_directory_or_their_name() {
        for file in
            ["tests/a.rs", "src/a_test.go", "web/a.spec.ts", "test_a.py", "x/__tests__/a.js", "spec/a.rb"]
        {
            assert!(is_test(file), "{file}");
        }
        for file in ["src/a.rs", "contest/a.rs", "latest.txt", "Makefile", "src/attest.go"] {
            assert!(!is_test(file), "{file}");
        }
        assert!(is_document("docs/plans/a.md") && is_document("README.md") && !is_document("src/doc.rs"));
    }
}
