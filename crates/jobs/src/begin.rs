//! Beginning the work on an issue: on a new branch, on what an earlier run has left, or on a pull request's branch.
//!
//! Until `work_selected` is recorded, all that lies in the run's workspace comes from the person's repository, so everything
//! here may be done again after a crash or an answered question.

use adapters::git::{
    integrate::Rebase,
    resume::{ReplayResult, subject_and_parent},
    salvage,
    sight::Need,
    slug,
};
use engine::{
    Actor, Event, EventName, Run,
    workflow::{Job, Subject},
};
use forge::ItemId;
use project::{
    Current, Left, Leftover, Rework, counted, rails,
    slots::{Slot, SlotError},
    spelled, unfinished_subject,
};
use serde_json::{Map, Value, json};

use crate::{
    Context, JobError, issue,
    words::{are, list, short},
};

/// Work that was begun.
#[derive(Clone, Debug)]
pub struct Begun {
    pub branch: String,
    /// What is recorded with the event.
    pub(crate) data: Map<String, Value>,
    pub(crate) said: Vec<String>,
}

impl Begun {
    fn on(branch: String, onto: &str) -> Self {
        let mut begun = Self { said: vec![format!("branch {branch}")], branch, data: Map::new() };
        begun.put("onto", json!(onto));
        begun
    }

    fn put(&mut self, field: &str, value: Value) {
        self.data.insert(field.to_owned(), value);
    }
}

impl Context<'_> {
    /// Begins the work on an issue. `is_another` says that the run has done one before.
    pub(crate) fn begin_work(&mut self, run: &Run, issue: &str, is_another: bool) -> Result<Begun, JobError> {
        if self.slot.is_none() {
            return self.begin_here(run, issue, is_another);
        }
        if let Some(number) = ItemId::typed(issue) {
            if let Some(rework) = self.rework(number)? {
                return self.begin_rework(run, number, &rework);
            }
            if let Some(leftover) = self.settle_left(number)? {
                if let Some(left) = &leftover.left {
                    return self.resume(run, number, &leftover, left);
                }
                let mut begun = self.begin_new(run, issue)?;
                begun.said.extend(gone(&leftover));
                return Ok(begun);
            }
        }
        self.begin_new(run, issue)
    }

    /// Begins the branch of a feature, if there is none yet, and notes it. In a person's checkout it begins where they stand
    /// on the merge target, and any other branch is taken for the one that they want.
    pub fn begin_feature(&mut self, current: &Current) -> Result<(), JobError> {
        let run = &current.run;
        let Some(feature) = run.feature.as_ref().filter(|_| current.workflow.subject == Subject::Feature)
        else {
            return Ok(());
        };
        let mut branch = self.git().branch();
        let name = format!("feature/{}", slug(feature));
        if self.slot.is_some() && branch.is_empty() {
            let base = self.base_commit(run)?;
            let Some(slot) = &self.slot else { return Ok(()) };
            branch = slot.begin_branch(&name, &base)?;
        } else if self.slot.is_none() && branch == run.branches.merge_target {
            let free = self.git().free_branch(&name).map_err(JobError::World)?;
            self.git().begin_branch(&free, &branch).map_err(JobError::World)?;
            rails::remember(&self.place)?;
            branch = free;
        }
        if run.artifacts.branch.as_ref() != Some(&branch) {
            let data = Map::from_iter([("branch".to_owned(), json!(branch))]);
            self.ask_as(Actor::Engine, Event::Named(EventName::new(Event::NOTED)), data)?;
        }
        Ok(())
    }

    fn begin_new(&mut self, run: &Run, issue: &str) -> Result<Begun, JobError> {
        let name = self.branch_name(issue)?;
        let onto = self.base_commit(run)?;
        let branch = self.own_slot()?.begin_branch(&name, &onto)?;
        Ok(Begun::on(branch, &onto))
    }

    fn newest_target(&self, run: &Run) -> Result<String, JobError> {
        let slot = self.own_slot()?;
        let newest = slot.bring_seen(&run.branches.merge_target, slot.remote().as_deref(), Need::Local);
        Ok(newest.map_err(|error| JobError::World(spelled(&error)))?.commit)
    }

    fn own_slot(&self) -> Result<&Slot, JobError> {
        self.slot.as_ref().ok_or_else(|| JobError::World("there is no workspace for it".to_owned()))
    }

    /// In a person's checkout the first issue is worked on where they stand, unless that is where the work goes in the end;
    /// every other issue gets a branch of its own.
    fn begin_here(&mut self, run: &Run, issue: &str, is_another: bool) -> Result<Begun, JobError> {
        let branch = self.git().branch();
        let wanted = self.branch_name(issue)?;
        let branches = &run.branches;
        let is_shared = branch == branches.main_branch || branch == branches.merge_target;
        if branch == wanted || !(is_another || is_shared) {
            let mut said = vec![format!("branch {branch}")];
            said.extend(self.restore_here(issue)?);
            return Ok(Begun { said, branch, data: Map::new() });
        }
        let git = self.git();
        let left_out = git.unchanged(&run.dirty).map_err(JobError::World)?;
        let changed = git.not_committed().map_err(JobError::World)?;
        let changed: Vec<String> = changed.into_keys().filter(|file| !left_out.contains(file)).collect();
        if !changed.is_empty() {
            return Err(JobError::World(format!(
                "issue {issue} gets a branch of its own, and {} not committed: commit or stash that, then `warp next`",
                are(&changed)
            )));
        }
        let onto = self.base_commit(run)?;
        self.git().begin_branch(&wanted, &onto).map_err(|why| {
            JobError::World(format!(
                "the branch for issue {issue} cannot be made: {why}; `git switch -c {wanted} {}` makes it, then `warp next`",
                short(&onto)
            ))
        })?;
        rails::remember(&self.place)?;
        let restored = self.restore_here(issue)?;
        let mut begun = Begun::on(wanted, &onto);
        begun.said.extend(restored);
        Ok(begun)
    }

    /// Takes the commit of unfinished work off the branch of a person's checkout, so that its changes lie in the tree and are
    /// tested and committed like any other; returns what is said of it.
    fn restore_here(&self, issue: &str) -> Result<Option<String>, JobError> {
        let between = self.between()?;
        let head = self.git().head_commit().map_err(JobError::World)?;
        let newest =
            subject_and_parent(&between.origin, &head).map_err(|error| JobError::World(spelled(&error)))?;
        if newest.0 != unfinished_subject(issue) {
            return Ok(None);
        }
        between.take_off_newest().map_err(SlotError::from)?;
        rails::remember(&self.place)?;
        Ok(Unfinished::Restored.said())
    }

    /// Returns the name of an issue's branch.
    pub(crate) fn branch_name(&mut self, issue: &str) -> Result<String, JobError> {
        let title = match ItemId::typed(issue) {
            Some(number) => self.tracker().item(number)?.map(|item| item.title.clone()).unwrap_or_default(),
            None => String::new(),
        };
        Ok(format!("feature/issue-{issue}-{}", slug(&title)))
    }

    /// Continues what an earlier run has left: its finished chunks on top of the newest target, and its unfinished work as
    /// changes that are not committed, so that the agent and the tests see them and nothing untested is in the history.
    fn resume(
        &mut self,
        run: &Run,
        issue: ItemId,
        leftover: &Leftover,
        left: &Left,
    ) -> Result<Begun, JobError> {
        let onto = self.newest_target(run)?;
        let slot = self.own_slot()?;
        let branch = take_up(slot, run, &leftover.branch, left)?;
        let target = &run.branches.merge_target;
        match slot.rebase(&branch, &onto).map_err(|error| JobError::World(spelled(&error)))? {
            Rebase::Nothing | Rebase::Done { .. } => {}
            Rebase::Conflicts { files } => {
                return Err(JobError::World(format!(
                    "what is left of issue {issue} on `{0}` and `{target}` have changed the same lines of {1}. Bring them \
                     together in your checkout: `git switch {0}`, `git rebase {2}`, fix the files, `git add --all`, `git rebase \
                     --continue`; or begin anew with `git branch -D {0}`. Then answer `continue`",
                    leftover.branch,
                    list(&files),
                    short(&onto)
                )));
            }
        }
        let unfinished = restore(slot, leftover, left)?;
        let mut begun = Begun::on(branch, &onto);
        begun.said = vec![format!(
            "resumes from {}: {} of {} done",
            begun.branch,
            leftover.done,
            counted(leftover.planned as u64, "chunk", "chunks")
        )];
        begun.said.extend(unfinished.said());
        begun.said.extend(gone(leftover));
        let open = issue::open_criteria(&*self.tracker(), &issue.to_string())?;
        // Other workflows have no chunks: their agent finds the work on the branch.
        let has_chunks = self.current()?.is_some_and(|current| current.workflow.has_job(Job::DefineChunks));
        let is_done = has_chunks
            && !open.is_empty()
            && open.iter().all(|criterion| leftover.on_branch.contains(criterion));
        let slot = self.own_slot()?;
        if is_done && slot.between().git().head_commit().map_err(JobError::World)? != onto {
            let message = slot.between().take_off_newest().map_err(SlotError::from)?;
            rails::remember(&self.place)?;
            begun.said.push("every chunk is done: the last one is tested and committed again".to_owned());
            begun.put("as_is", json!(message));
        }
        begun.put(
            "resumes",
            json!({ "run": leftover.run, "done": leftover.done, "planned": leftover.planned, "unfinished": unfinished.told() }),
        );
        Ok(begun)
    }

    /// Takes up the branch of a pull request, for changes that were requested or to bring it onto its target.
    fn begin_rework(&mut self, run: &Run, issue: ItemId, rework: &Rework) -> Result<Begun, JobError> {
        let newest = self.newest_target(run)?;
        let earlier = self.left_over(issue)?.filter(|leftover| leftover.branch == rework.branch);
        let slot = self.own_slot()?;
        let at = adapters::refs::one(&slot.between().origin, &format!("refs/heads/{}", rework.branch))
            .map_err(SlotError::from)?;
        let at = at.ok_or_else(|| {
            JobError::World(format!(
                "branch `{0}` of pull request #{1} is gone: `git branch {0} {2}` brings it back, `warp pr close {1}` closes it; \
                 then answer `continue`",
                rework.branch,
                rework.pull,
                short(&rework.head)
            ))
        })?;
        let left = earlier.as_ref().and_then(|leftover| leftover.left.clone()).unwrap_or_else(|| Left {
            name: format!("refs/heads/{}", rework.branch),
            finished: at.clone(),
            unfinished: None,
            branch_at: Some(at.clone()),
        });
        let branch = take_up(slot, run, &rework.branch, &left)?;
        if branch != rework.branch {
            return Err(JobError::World(format!(
                "`{}` is checked out elsewhere: switch to another branch there, then answer `continue`",
                rework.branch
            )));
        }
        let tip = left.finished.as_str();
        let mut begun = if rework.is_update {
            let mut begun = Begun::on(branch.clone(), &newest);
            let replayed = slot.between().replay(&branch, tip, &newest);
            let ReplayResult { conflicts, rest } =
                replayed.map_err(|error| JobError::World(spelled(&error)))?;
            rails::remember(&self.place)?;
            let target = &run.branches.merge_target;
            begun.said.push(format!("#{} is brought onto `{target}`", rework.pull));
            if conflicts.is_empty() && rework.comments.is_empty() {
                begun.put("as_is", json!(rest.last()));
            } else if !conflicts.is_empty() {
                begun.said.push(format!("both have changed the same lines of {}", list(&conflicts)));
            }
            begun.put("conflicts", json!(conflicts));
            begun.put("rest", json!(rest));
            begun
        } else {
            let onto = slot.between().git().fork_of_commit(&newest).unwrap_or_else(|| newest.clone());
            let mut begun = Begun::on(branch, &onto);
            if let Some(earlier) = &earlier {
                begun.said.extend(restore(slot, earlier, &left)?.said());
                begun.put("resumes", json!({ "run": earlier.run }));
            }
            begun
        };
        let comments = counted(rework.comments.len() as u64, "comment", "comments");
        begun.said.insert(0, format!("reworks pull request #{}: {comments}", rework.pull));
        begun.put("pull", json!(rework.pull));
        begun.put("comments", json!(rework.comments));
        Ok(begun)
    }
}

/// Brings what was left into the workspace, and stands on its branch where the finished chunks end.
fn take_up(slot: &Slot, run: &Run, branch: &str, left: &Left) -> Result<String, JobError> {
    slot.between().bring_ref(&left.name).map_err(SlotError::from)?;
    let branch = slot.take_up_branch(branch, &left.finished)?;
    if let Some(at) = &left.branch_at {
        slot.between().adopt(run.id.as_str(), at).map_err(SlotError::from)?;
    }
    Ok(branch)
}

/// What became of unfinished work.
enum Unfinished {
    None,
    /// It lies in the tree, not committed.
    Restored,
    /// It does not fit any more, or was cut short: it is kept under this ref.
    Kept(String),
}

impl Unfinished {
    fn said(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Restored => Some("its unfinished work is in the tree, not committed".to_owned()),
            Self::Kept(name) => {
                let name = name.strip_prefix("refs/warp/salvage/").unwrap_or(name);
                Some(format!("its unfinished work is not in the tree: `warp salvage show {name}` shows it"))
            }
        }
    }

    fn told(&self) -> Option<&str> {
        match self {
            Self::None => None,
            Self::Restored => Some("restored"),
            Self::Kept(name) => Some(name),
        }
    }
}

/// Puts unfinished work into the tree, on top of the finished chunks as they are now.
fn restore(slot: &Slot, leftover: &Leftover, left: &Left) -> Result<Unfinished, JobError> {
    let between = slot.between();
    let Some(unfinished) = &left.unfinished else {
        // A run that was stopped hard has left its files as salvage, maybe in the middle of a change.
        let kept = salvage::list(&between.origin).map_err(SlotError::from)?;
        let newest = kept.into_iter().rev().find(|entry| entry.run == leftover.run);
        return Ok(newest.map_or(Unfinished::None, |entry| Unfinished::Kept(entry.name)));
    };
    let merged = between.merge_trees(&left.finished, "HEAD", unfinished);
    let merged = merged.map_err(|error| JobError::World(spelled(&error)))?;
    if merged.conflicts.is_empty() {
        between.put_files(&merged.tree).map_err(SlotError::from)?;
        return Ok(Unfinished::Restored);
    }
    let kept = salvage::keep(&between.origin, &leftover.run, unfinished).map_err(SlotError::from)?;
    Ok(kept.map_or(Unfinished::None, Unfinished::Kept))
}

/// Says what is not continued.
fn gone(leftover: &Leftover) -> Vec<String> {
    let mut said = Vec::new();
    if !leftover.merged.is_empty() {
        said.push(format!("merged already: {}", leftover.merged.join(", ")));
    }
    if !leftover.lost.is_empty() {
        said.push(format!("open again, because its commits are gone: {}", leftover.lost.join(", ")));
    }
    said
}
