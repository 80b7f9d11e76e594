//! Offering a loop's branch as a pull request, and pushing it where it may leave; then the agent goes on. A loop in a person's
//! checkout and one in a workspace of its own take the same way.

use std::time::Duration;

use adapters::git::outgoing::HistoryScope;
use engine::{Run, keys};
use forge::{Forge as _, ForgeError, ItemId, NewPull};
use journal::Durable;
use project::{
    Error, Place,
    pushing::{Goal, Outlet},
    slots::Pool,
    spelled,
};

use crate::{
    Context, JobError,
    job::{Report, Task},
    publish,
    pushing::Pushed,
    report, review,
};

/// How long GitHub may take to open a pull request.
const PULL_LIMIT: Duration = Duration::from_secs(60);

/// A branch of a person's own checkout, after it was to be pushed.
enum PushedHere {
    /// The remote has it; this says what it got.
    Done(String),
    /// It stays here; why, where that is worth a word.
    Kept(Option<String>),
}

/// A pull request that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `#12`, or a page at a forge.
    pub address: String,
    /// What was offered and pushed, a line each.
    pub said: Vec<String>,
}

impl Outcome {
    /// The run learns its pull request, and stays where it is.
    pub(crate) fn report(self) -> Report {
        Report::noted().with("pr_url", self.address).say_all(self.said)
    }
}

pub(crate) fn carry_out(
    cx: &mut Context<'_>,
    task: Task<'_>,
    durable: &Durable,
) -> Result<Outcome, JobError> {
    cx.show_now()?;
    let branch = cx.own_branch(task.run())?;
    let (said, address) = cx.offer_feature(task.run(), &branch, durable)?;
    Ok(Outcome { address, said })
}

/// It is done if the run's pull request offers the commit that is there. It is opened after its branch was pushed.
pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    let run = task.run();
    let branch = cx.own_branch(run)?;
    let head = cx.git().head_commit().map_err(JobError::World)?;
    let Some(number) = cx.offers(run, &head)? else { return Ok(None) };
    let said = cx.told_of_offer(run, &branch, &head, number)?;
    Ok(Some(Outcome { address: format!("#{number}"), said }))
}

impl Context<'_> {
    /// Returns the branch on which the work is, which is none that others work on.
    fn own_branch(&self, run: &Run) -> Result<String, JobError> {
        let branch = self.git().branch();
        let branches = &run.branches;
        if branch.is_empty() {
            return Err(JobError::World(
                "HEAD is on no branch: `git switch -c feature/NAME` makes one to push".to_owned(),
            ));
        }
        let is_shared = [branches.merge_target.as_str(), branches.main_branch.as_str(), "main", "master"]
            .contains(&branch.as_str());
        if is_shared {
            return Err(JobError::World(format!(
                "`{branch}` is where the work goes in the end, and is not pushed: `git switch -c feature/NAME` makes a \
                 branch for it"
            )));
        }
        Ok(branch)
    }

    /// Returns the run's open pull request, if all is done that opening it for this commit takes.
    pub(crate) fn offers(&mut self, run: &Run, commit: &str) -> Result<Option<ItemId>, JobError> {
        let Some(item) = self.pull_of(run)?.filter(|item| item.is_open()) else { return Ok(None) };
        if item.pull.as_ref().is_none_or(|pull| pull.head != commit) {
            return Ok(None);
        }
        let issue = run.issue.as_deref().and_then(ItemId::typed);
        let issue = issue.map(|issue| self.tracker().item(issue)).transpose()?.flatten();
        let is_told = issue.is_none_or(|issue| issue.has_comment(&publish::handed_over(run)));
        Ok(is_told.then_some(item.id))
    }

    /// Says what is offered, and what becomes of it.
    fn told_of_offer(
        &self,
        run: &Run,
        branch: &str,
        commit: &str,
        number: ItemId,
    ) -> Result<Vec<String>, JobError> {
        let for_review = self.for_review(run, commit)?;
        let then = match goal(run) {
            Goal::Merge if !for_review.is_empty() => {
                format!("{}: `warp pr merge {number}` merges it", review::reason(&for_review))
            }
            Goal::Merge => "it is merged when the promise is given".to_owned(),
            Goal::Stay | Goal::HandOver => format!("`warp pr merge {number}` merges it"),
        };
        Ok(vec![
            format!("`{branch}`: opened pull request #{number}"),
            format!("`warp pr show {number}` shows it; {then}"),
        ])
    }

    /// Pushes the branch if it may leave, and opens its pull request; returns what was done, and the address. The pull
    /// request is the project's own, unless GitHub's command line opens one for a branch that was pushed from here.
    fn offer_feature(
        &mut self,
        run: &Run,
        branch: &str,
        durable: &Durable,
    ) -> Result<(Vec<String>, String), JobError> {
        let commit = self.git().head_commit().map_err(JobError::World)?;
        let goal = goal(run);
        let outlet = self.outlet(run, goal)?;
        // Whoever works in a workspace that was made for runs, but did not open it as one, opens it here.
        let opened = match (&self.slot, self.place.origin()) {
            (None, Some(origin)) => {
                let origin = Place::at(origin).map_err(Error::from)?;
                Some(Pool::of(&origin, &self.dirs)?.reopen(&self.place.root)?)
            }
            (Some(_), _) | (None, None) => None,
        };
        let mut said = Vec::new();
        let branch = match self.slot.as_ref().or(opened.as_ref()) {
            Some(slot) => {
                let branch = slot.deliver(run.id.as_str(), &commit, branch, durable)?;
                // What is merged reaches the remote with the merge target.
                if outlet.target_remote().is_none() {
                    let target = run.branches.merge_target.clone();
                    said.extend(self.push_or_keep(opened.as_ref(), &outlet, &target, (&commit, &branch))?);
                }
                branch
            }
            None if outlet.target_remote().is_some() => branch.to_owned(),
            None => {
                match self.push_here(run, branch, &outlet)? {
                    PushedHere::Done(pushed) => {
                        said.push(pushed);
                        match self.open_at_forge(run, branch, goal, durable) {
                            Some(Ok(url)) => {
                                said.push(format!("the pull request is {url}"));
                                return Ok((said, url));
                            }
                            Some(Err(why)) => said.push(format!("`gh` opened no pull request: {why}")),
                            None => {}
                        }
                    }
                    PushedHere::Kept(why) => said.extend(why.map(|why| format!("not pushed: {why}"))),
                }
                branch.to_owned()
            }
        };
        drop(opened);
        let number = self.offer_pull(run, &branch, &commit)?;
        let mut told = self.told_of_offer(run, &branch, &commit, number)?;
        told.extend(said);
        Ok((told, format!("#{number}")))
    }

    /// Opens a pull request by GitHub's command line, where there is one and somebody else is to merge it.
    fn open_at_forge(
        &self,
        run: &Run,
        branch: &str,
        goal: Goal,
        _: &Durable,
    ) -> Option<Result<String, ForgeError>> {
        let gh = project::gh(&self.place.root, PULL_LIMIT).filter(|_| goal == Goal::HandOver)?;
        let title = run.feature.as_deref().map_or_else(|| branch.to_owned(), report::title_of);
        let pull = NewPull {
            body: title.clone(),
            title,
            branch: branch.to_owned(),
            target: run.branches.merge_target.clone(),
            run: Some(run.id.to_string()),
            ..NewPull::default()
        };
        let filed = gh.ensure_pull(&pull, &publish::marker(run));
        Some(filed.map(|filed| filed.url.unwrap_or_else(|| format!("#{}", filed.id))))
    }

    /// Pushes a branch of a person's own checkout, if there is a remote and it may leave.
    fn push_here(&mut self, run: &Run, branch: &str, outlet: &Outlet) -> Result<PushedHere, JobError> {
        let Ok((remote, _)) = self.git().remote() else { return Ok(PushedHere::Kept(None)) };
        if outlet.branch_remote().is_none() {
            let why = (goal(run) != Goal::Stay).then(|| outlet.why_kept());
            return Ok(PushedHere::Kept(why));
        }
        let world = |error: &dyn std::error::Error| JobError::World(spelled(error));
        let between = self.between()?;
        let head = self.git().head_commit().map_err(JobError::World)?;
        let base = self.git().commit_of(&format!("refs/heads/{}", run.branches.merge_target));
        let base = base.unwrap_or_else(|_| head.clone());
        let outgoing = between.outgoing(&remote, branch, (&base, &head), HistoryScope::Remote);
        let outgoing = outgoing.map_err(|error| world(&error))?;
        if let Some(kept) = self.keep_own(&outgoing)? {
            return Ok(PushedHere::Kept(Some(kept)));
        }
        let commit = match self.git().commit_of(&format!("refs/heads/{branch}")) {
            Ok(commit) => commit,
            Err(why) => return Ok(PushedHere::Kept(Some(why))),
        };
        Ok(match self.push_leased(&between, &outgoing, &commit, true)? {
            Pushed::Done(said) => PushedHere::Done(said.unwrap_or_default()),
            Pushed::Kept(why) | Pushed::Refused(why) => PushedHere::Kept(Some(why)),
        })
    }
}

/// Returns how a loop's work ends.
pub(crate) fn goal(run: &Run) -> Goal {
    Goal::of(run.level, run.settings.get(keys::AUTO_MERGE))
}
