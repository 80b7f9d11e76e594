//! Merging, updating or closing a pull request that was handed over, at a person's word.
//!
//! A merge goes the way of a run that merges by itself: put on top of the newest target in a workspace of its own, tested
//! there, and then the target moved forward. What was ticked for a pull request that is closed without it is open again,
//! because the next run begins at the target.

use std::{mem, sync::Arc};

use adapters::git::{
    self, Git,
    integrate::Rebase,
    resume::{MoveError, commits_between},
    sight::Need,
};
use engine::{
    EventName, Run, Settings, Standing, keys,
    view::{self, Asked},
};
use forge::{Author, ForgeError, Item, ItemId, Merge, Pull, Query, Review};
use journal::Durable;
use project::{
    Current, Dirs, Error, Place, Shell, StintOutcome, Workspace,
    pushing::{Goal, Outlet, PUSH},
    slots::{Kind, Pool, Slot, SlotError},
    spelled,
};

use crate::{Context, JobError, Landed, Mend, NotGreen, on, open_pull_request::goal, review, words::short};

/// How many commits of a pull request are named.
const MOST_COMMITS: usize = 50;

/// A pull request that was merged.
#[derive(Debug, PartialEq, Eq)]
pub struct MergedPull {
    pub target: String,
    pub commit: String,
    pub branch: String,
    /// Why the person's own target is not there yet, and what brings it there: a remote's is.
    pub behind: Option<String>,
    /// What was pushed, or why nothing was, a line each.
    pub said: Vec<String>,
    /// The issue that is closed by it.
    pub closed: Option<ItemId>,
}

/// What became of a pull request that was to be brought onto its target.
#[derive(Debug, PartialEq, Eq)]
pub enum UpdatedPull {
    /// It is on top of it already.
    Current { target: String, is_tested: bool },
    /// Its branch is at a commit that was tested.
    Moved {
        target: String,
        branch: String,
        commit: String,
        tests: String,
        is_tested: bool,
        /// What was pushed, or why nothing was.
        said: Option<String>,
    },
    /// Both have changed the same lines of these files; nothing was moved.
    Conflicts { files: Vec<String> },
}

/// Why a pull request was not merged or brought onto its target, which is where it was.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error("#{number} is merged already, as {commit}")]
    Merged { number: ItemId, commit: String },
    #[error("#{number} is closed")]
    Closed { number: ItemId },
    #[error("{by} wants changes in #{number} before it is merged")]
    ChangesRequested { number: ItemId, by: String, issue: Option<ItemId> },
    #[error("the run that has made #{number} waits for an answer: {}", asked.question)]
    Undecided { number: ItemId, asked: Asked },
    #[error("it is not known which run has made #{number}")]
    NoRun { number: ItemId },
    #[error("branch `{branch}` of #{number} is not available: {why}")]
    NoBranch { number: ItemId, branch: String, why: String },
    #[error("#{number} is not merged: {why}")]
    Stuck { number: ItemId, branch: String, why: String, mend: Mend },
    #[error("#{number} is not merged, and nothing was moved: {why}")]
    NotTaken { number: ItemId, target: String, why: String },
    #[error("#{number} is not merged: {why}")]
    NotGreen { number: ItemId, why: NotGreen },
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Next(#[from] JobError),
    #[error(transparent)]
    Failed(#[from] Error),
}

impl MergedPull {
    /// Says what was merged and pushed, a line each.
    pub fn lines(&self) -> Vec<String> {
        let merged = format!("`{}` is at {} now, which was tested", self.target, self.commit);
        [merged].into_iter().chain(self.said.iter().cloned()).chain(self.behind.clone()).collect()
    }
}

impl Context<'_> {
    /// Merges a pull request in a person's name. `settings` say what is pushed; `shell` says how its tests are run in the
    /// workspace that is taken.
    pub fn merge_pull(
        &mut self,
        pool: &Pool,
        number: ItemId,
        by: Author,
        settings: &Settings,
        shell: impl FnOnce(&Place, &Dirs, &Run) -> Result<Shell, Error>,
    ) -> Result<MergedPull, MergeError> {
        let pull = self.mergeable(number)?;
        let moves_branches = self.forge().capabilities().moves_branches;
        let current = match self.made_by(&pull)? {
            Some(current) => current,
            None if moves_branches => return self.merge_unseen(number, &pull, by),
            None => return Err(MergeError::NoRun { number }),
        };
        // A loop asks whether its work is good enough. One that is about an issue may ask what to do next.
        if pull.issue.is_none()
            && let Some(asked) = view::asked(&current.workflow, &current.run)
        {
            return Err(MergeError::Undecided { number, asked });
        }
        if moves_branches {
            return self.merge_at_server(pool, (number, &pull), by, settings, shell);
        }
        let mut run = Run::clone(&current.run);
        run.issue = pull.issue.map(|issue| issue.to_string());
        run.branches.merge_target.clone_from(&pull.target);
        let slot = pool.take(Kind::Clone, &pull.target)?;
        let mut workspace = Workspace::open_slot(slot, self.dirs.clone())?;
        workspace.shell = shell(&workspace.place, &self.dirs, &run)?;
        workspace.decides = mem::take(&mut self.decides);
        let push = settings.get(keys::PUSH);
        run.settings.set(PUSH, push.into()).map_err(|error| JobError::World(error.to_string()))?;
        let landed = on(&mut workspace).land_pull(&run, number, &pull);
        let discarded = workspace.slot.take().map(|slot| slot.discard(&pull.target));
        let (commit, behind, said) = landed?;
        self.forge_as(by).merge(number, &Merge { head: &pull.head, landed: Some(&commit) })?;
        self.tick_again(number, &pull, &run)?;
        self.finish_issue(&run, &commit)?;
        discarded.transpose()?;
        let closed = match pull.issue {
            Some(issue) => self.tracker().item(issue)?.filter(|item| !item.is_open()).map(|item| item.id),
            None => None,
        };
        Ok(MergedPull { target: pull.target, commit, branch: pull.branch, behind, said, closed })
    }

    /// Merges the pull request of a loop that has ended with its promise, where its level says so; nothing where that is a
    /// person's to do. `shell` says how its tests are run in the workspace that is taken.
    pub fn merge_shipped(
        &mut self,
        current: &Current,
        shell: impl FnOnce(&Place, &Dirs, &Run) -> Result<Shell, Error>,
    ) -> Result<Option<MergedPull>, MergeError> {
        let run = &current.run;
        let close = current.workflow.close_event.as_ref().map(EventName::as_str);
        let Standing::Ended { how } = &run.standing else { return Ok(None) };
        let number = run.artifacts.pr_url.as_deref().and_then(|url| ItemId::typed(url.strip_prefix('#')?));
        let (Some(number), true, Goal::Merge) = (number, close == Some(how.as_str()), goal(run)) else {
            return Ok(None);
        };
        if let Some(pull) = self.tracker().item(number)?.and_then(|item| item.pull.clone()) {
            let for_review = self.for_review(run, &pull.head)?;
            if !for_review.is_empty() {
                let why = format!("#{number} is not merged: {}", review::reason(&for_review));
                return Err(JobError::World(why).into());
            }
        }
        self.merge_for(run, number, shell).map(Some)
    }

    /// Merges a pull request by itself, in the name of the run that has made it.
    pub(crate) fn merge_for(
        &mut self,
        run: &Run,
        number: ItemId,
        shell: impl FnOnce(&Place, &Dirs, &Run) -> Result<Shell, Error>,
    ) -> Result<MergedPull, MergeError> {
        let mut settings = run.settings.clone();
        let push = self.outlet(run, Goal::Merge).map_err(JobError::from)?.push.as_str();
        settings.set(PUSH, push.into()).map_err(|error| JobError::World(error.to_string()))?;
        let Some(origin) = self.place.origin() else {
            let pool = Pool::of(&self.place, &self.dirs)?;
            return self.merge_pull(&pool, number, Author::warp(), &settings, shell);
        };
        let origin = Place::at(origin).map_err(Error::from)?;
        let pool = Pool::of(&origin, &self.dirs)?;
        let mut there = Workspace::open(origin, self.dirs.clone())?;
        on(&mut there).merge_pull(&pool, number, Author::warp(), &settings, shell)
    }

    /// Puts a pull request on top of its newest target, tests that, and moves its branch there. Where that does not go by
    /// itself, the files are named and nothing is changed. `settings` say what is pushed; `shell` says how its tests are run in
    /// the workspace that is taken.
    pub fn update_pull(
        &mut self,
        pool: &Pool,
        number: ItemId,
        settings: &Settings,
        shell: impl FnOnce(&Place, &Dirs, &Run) -> Result<Shell, Error>,
    ) -> Result<UpdatedPull, MergeError> {
        let (item, pull) = self.forge().get(number)?;
        match (&pull.merged, item.is_open()) {
            (Some(commit), _) => return Err(MergeError::Merged { number, commit: commit.clone() }),
            (None, false) => return Err(MergeError::Closed { number }),
            (None, true) => {}
        }
        let current = self.made_by(&pull)?.ok_or(MergeError::NoRun { number })?;
        let mut run = Run::clone(&current.run);
        run.branches.merge_target.clone_from(&pull.target);
        let slot = pool.take(Kind::Clone, &pull.target)?;
        let shell = shell(&slot.place, &self.dirs, &run);
        let outlet = Outlet::of(settings, Goal::HandOver, slot.remote());
        let durable = self.sync_journal()?;
        let remote = slot.remote().filter(|_| self.forge().capabilities().moves_branches);
        let mut updated = shell.map_err(MergeError::from).and_then(|shell| {
            update_in(&slot, &shell, &mut run, (number, &pull), remote.as_deref(), &durable)
        });
        let mut failed = None;
        if let Ok(UpdatedPull::Moved { commit, said, .. }) = &mut updated {
            self.forge().offer_head(number, commit, Some(&pull.head))?;
            match self.push_moved(Some(&slot), &outlet, &pull.target, (commit, &pull.branch)) {
                Ok(pushed) => *said = pushed,
                Err(error) => failed = Some(error),
            }
        }
        let discarded = slot.discard(&pull.target);
        let updated = updated?;
        discarded?;
        failed.map_or(Ok(()), Err)?;
        Ok(updated)
    }

    /// Returns the pull request of an issue: the one that is open, else the last one.
    pub fn pull_about(&mut self, issue: ItemId) -> Result<Option<ItemId>, Error> {
        let pulls = self.forge().pulls(Query::Open)?;
        let is_about = |item: &&Arc<Item>| item.pull.as_ref().is_some_and(|pull| pull.issue == Some(issue));
        if let Some(open) = pulls.iter().find(is_about) {
            return Ok(Some(open.id));
        }
        let stints = self.account(issue)?.stints;
        Ok(stints.iter().rev().find_map(|stint| match stint.outcome {
            StintOutcome::HandedOver(pull) => Some(pull),
            StintOutcome::Pending | StintOutcome::Merged(_) => None,
        }))
    }

    /// Names the commits of a pull request, oldest first: those that it offers, or those that it was merged as.
    pub fn pull_commits(&mut self, item: &Item) -> Result<Vec<String>, Error> {
        let Some(pull) = &item.pull else { return Ok(Vec::new()) };
        let merge = match (&pull.merged, pull.issue) {
            (Some(_), Some(issue)) => {
                let account = self.account(issue)?;
                account.of_pull(item.id).into_iter().find_map(|stint| stint.merge.clone())
            }
            (Some(_) | None, _) => None,
        };
        let (base, tip) = merge.unwrap_or_else(|| (format!("refs/heads/{}", pull.target), pull.head.clone()));
        let origin = git::locate(self.place.origin().unwrap_or(&self.place.root));
        // Where the branch or its commits are gone there is nothing to name.
        let named = origin.and_then(|origin| commits_between(&origin, &base, &tip, MOST_COMMITS).ok());
        Ok(named.unwrap_or_default())
    }

    /// Closes a pull request without merging it, in a person's name. Criteria of its issue that only its branch meets are
    /// open again; returns those.
    pub fn close_pull(
        &mut self,
        number: ItemId,
        by: Author,
        reason: Option<&str>,
    ) -> Result<Vec<String>, JobError> {
        let (_, pull) = self.forge().get(number)?;
        self.forge_as(by).close(number, reason)?;
        let Some(issue) = pull.issue.filter(|_| pull.merged.is_none()) else { return Ok(Vec::new()) };
        if self.is_taken_back(number, &pull)? || self.is_in_target(&pull)? {
            return Ok(Vec::new());
        }
        let Some(current) = self.made_by(&pull)? else { return Ok(Vec::new()) };
        // A person's own branch keeps what is committed on it, and a later run begins there.
        if !current.run.owns_workspace {
            return Ok(Vec::new());
        }
        let criteria = self.met_by(number, &current.run, issue)?;
        self.tracker().untick(issue, &criteria)?;
        // Last, because it says that all of it was done.
        let words = format!("Pull request #{number} is closed without a merge: what it met is open again.");
        self.comment(issue, &words, &taken_back(number))?;
        Ok(criteria)
    }

    /// Ticks again what was open since the pull request was closed: it is merged after all.
    pub(crate) fn tick_again(&mut self, number: ItemId, pull: &Pull, run: &Run) -> Result<(), JobError> {
        let Some(issue) = pull.issue else { return Ok(()) };
        if self.is_taken_back(number, pull)? {
            let criteria = self.met_by(number, run, issue)?;
            self.tracker().tick(issue, &criteria)?;
        }
        Ok(())
    }

    /// Returns the criteria of an issue that a pull request meets, whatever runs have worked on it.
    fn met_by(&mut self, number: ItemId, run: &Run, issue: ItemId) -> Result<Vec<String>, JobError> {
        let account = self.account(issue)?;
        let criteria: Vec<String> =
            account.of_pull(number).into_iter().flat_map(|stint| stint.criteria()).cloned().collect();
        let is_about = run.issue.as_deref().and_then(ItemId::typed) == Some(issue);
        if !criteria.is_empty() || !is_about {
            return Ok(criteria);
        }
        Ok(run.completed_chunks.iter().flat_map(|chunk| &chunk.acs).cloned().collect())
    }

    /// Tells whether the ticks of a pull request were taken back when it was closed.
    fn is_taken_back(&mut self, number: ItemId, pull: &Pull) -> Result<bool, JobError> {
        let Some(issue) = pull.issue else { return Ok(false) };
        let item = self.tracker().item(issue)?;
        Ok(item.is_some_and(|item| item.has_comment(&taken_back(number))))
    }

    /// Tells whether somebody has merged a pull request with git.
    fn is_in_target(&self, pull: &Pull) -> Result<bool, JobError> {
        let root = self.place.origin().unwrap_or(&self.place.root);
        Git::new(root).is_part(&pull.head, &pull.target).map_err(JobError::World)
    }

    /// Returns a pull request that may be merged.
    fn mergeable(&mut self, number: ItemId) -> Result<Pull, MergeError> {
        let (item, pull) = self.forge().get(number)?;
        match (&pull.merged, item.is_open(), pull.review) {
            (Some(commit), _, _) => Err(MergeError::Merged { number, commit: commit.clone() }),
            (None, false, _) => Err(MergeError::Closed { number }),
            (None, true, Review::ChangesRequested) => {
                let by = pull.reviewed_by.unwrap_or_else(|| "somebody".to_owned());
                Err(MergeError::ChangesRequested { number, by, issue: pull.issue })
            }
            (None, true, Review::Pending | Review::Approved) => Ok(pull),
        }
    }

    /// Returns the run that has made a pull request, else one about its issue.
    pub(crate) fn made_by(&mut self, pull: &Pull) -> Result<Option<Current>, JobError> {
        match (&pull.run, pull.issue) {
            (Some(run), _) => Ok(self.select(Some(run))?),
            (None, Some(issue)) => Ok(self.select(Some(&issue.to_string()))?),
            (None, None) => Ok(None),
        }
    }

    /// Returns as which commit it is merged, and why the person's own target is not there yet, if it is not.
    fn land_pull(
        &mut self,
        run: &Run,
        number: ItemId,
        pull: &Pull,
    ) -> Result<(String, Option<String>, Vec<String>), MergeError> {
        let slot = self.slot.as_ref().ok_or_else(|| SlotError::Lost { path: self.place.root.clone() })?;
        slot.note_run(run.id.as_str())?;
        let no_branch = |why: String| MergeError::NoBranch { number, branch: pull.branch.clone(), why };
        let tip = slot.bring_target(&pull.branch, None).map_err(|error| no_branch(spelled(&error)))?;
        let branch = slot.begin_branch(&pull.branch, &tip)?;
        // The merge target may have gone on since the run began; where it has no tests, those are run that come with this.
        let stuck = |why: String, mend: Mend| {
            let branch = pull.branch.clone();
            MergeError::Stuck { number, branch, why, mend }
        };
        let set = Some(run.settings.get(keys::TEST_COMMAND)).filter(|set| *set != "auto");
        let found =
            suite::found(&self.place.root, &pull.target, set).map_err(|why| stuck(why, Mend::Target))?;
        let run = &Run { found_test_command: found.test, found_setup_command: found.setup, ..run.clone() };
        // What a loop offers is whatever its agent had committed by then, after the tests too: nobody has tested just that.
        let is_tested = pull.issue.is_some() || suite::test_command(&self.place.root, run).is_none();
        let tested = if is_tested { pull.head.as_str() } else { "" };
        let outlet = Outlet::of(&run.settings, Goal::Merge, self.remote());
        match self.land(run, &branch, tested, &outlet)? {
            Landed::At { commit, behind, said } => Ok((commit, behind, said)),
            Landed::NotTaken { why, .. } => {
                Err(MergeError::NotTaken { number, target: pull.target.clone(), why })
            }
            Landed::Stuck { why, mend } => Err(stuck(why, mend)),
            Landed::Overtaken(why) => Err(stuck(why, Mend::Target)),
        }
    }
}

/// Names the comment that says that the ticks of a pull request were taken back.
fn taken_back(number: ItemId) -> String {
    format!("closed-unmerged:{number}")
}

/// Brings a pull request's branch onto its target in a workspace that is taken for it. `server` names the remote whose branch
/// is offered, where it is not the person's own.
fn update_in(
    slot: &Slot,
    shell: &Shell,
    run: &mut Run,
    (number, pull): (ItemId, &Pull),
    server: Option<&str>,
    durable: &Durable,
) -> Result<UpdatedPull, MergeError> {
    let stuck =
        |why: String, mend: Mend| MergeError::Stuck { number, branch: pull.branch.clone(), why, mend };
    let no_branch = |why: String| MergeError::NoBranch { number, branch: pull.branch.clone(), why };
    let tip = slot.bring_target(&pull.branch, server).map_err(|error| no_branch(spelled(&error)))?;
    if server.is_some() && tip != pull.head {
        let why = format!(
            "your own `{}` is at {}, which is not what #{number} offers: push it, or `git branch -f {0} {}`",
            pull.branch,
            short(&tip),
            short(&pull.head)
        );
        return Err(stuck(why, Mend::Target));
    }
    let onto = slot.bring_seen(&pull.target, slot.remote().as_deref(), Need::Local);
    let onto = onto.map_err(|error| stuck(spelled(&error), Mend::Target))?.commit;
    if let Some(at) = slot.between().stands_at(&pull.branch).map_err(SlotError::from)? {
        let why = format!(
            "`{}` is checked out in {}: switch to another branch there first",
            pull.branch,
            at.display()
        );
        return Err(stuck(why, Mend::Target));
    }
    let branch = slot.begin_branch(&pull.branch, &tip)?;
    let target = pull.target.clone();
    let moved = match slot.rebase(&branch, &onto).map_err(|error| stuck(spelled(&error), Mend::Branch))? {
        Rebase::Nothing if server.is_none() || run.tested_commit.as_ref() == Some(&tip) => {
            return Ok(UpdatedPull::Current { target, is_tested: run.tested_commit.as_ref() == Some(&tip) });
        }
        Rebase::Nothing => None,
        Rebase::Done { to, .. } => Some(to),
        Rebase::Conflicts { files } => return Ok(UpdatedPull::Conflicts { files }),
    };
    let set = Some(run.settings.get(keys::TEST_COMMAND)).filter(|set| *set != "auto");
    let found = suite::found(slot.root(), &pull.target, set).map_err(|why| stuck(why, Mend::Target))?;
    (run.found_test_command, run.found_setup_command) = (found.test, found.setup);
    let tests = suite::test_project(shell, &slot.place, run).map_err(|words| {
        stuck(format!("on top of the newest `{}` the tests fail: {words}", pull.target), Mend::Branch)
    })?;
    let is_tested = suite::test_command(slot.root(), run).is_some();
    let Some(commit) = moved else { return Ok(UpdatedPull::Current { target, is_tested }) };
    slot.keep_outside(&commit, run.id.as_str()).map_err(SlotError::from)?;
    slot.between().adopt(run.id.as_str(), &tip).map_err(SlotError::from)?;
    match slot.move_on(run.id.as_str(), &pull.branch, &commit, durable) {
        Ok(()) => {}
        // Whoever works on another machine has no branch of that name here.
        Err(MoveError::Gone { .. }) if server.is_some() => {}
        Err(error) => return Err(stuck(spelled(&error), Mend::Target)),
    }
    Ok(UpdatedPull::Moved { target, branch, commit, tests, is_tested, said: None })
}
