//! The end of a loop: its branch is pushed where it may leave, offered as a pull request, and merged where the
//! level says so. A loop in a person's checkout and one in a workspace of its own take the same way.

use std::time::Duration;

use adapters::{boundary, git::outgoing::Against};
use engine::{Actor, Event, EventName, Run, Standing, keys};
use forge::{By, Forge as _, ForgeError, ItemId, NewPull};
use journal::Durable;
use project::{
    Answer, Current, Dirs, Error, Place, Shell, Workspace,
    pushing::{Goal, Outlet, PUSH},
    slots::Pool,
    spelled,
};
use serde_json::{Map, json};

use crate::{Context, JobError, MergeError, MergedPull, git_hooks, on, publish, report, review};

/// How long GitHub may take to open a pull request.
const PULL_LIMIT: Duration = Duration::from_secs(60);

/// A branch of a person's own checkout, after it was to be pushed.
enum PushedHere {
    /// The remote has it; this says what it got.
    Done(String),
    /// It stays here; why, where that is worth a word.
    Kept(Option<String>),
}

impl Context<'_> {
    /// Offers the loop's branch as a pull request, which the run then knows, and pushes it if it may leave.
    pub(crate) fn open_pull_request(
        &mut self,
        current: &Current,
    ) -> Result<(Vec<String>, Option<Answer>), JobError> {
        let durable = self.sync()?;
        let run = &current.run;
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
        let (said, address) = self.offer_feature(run, &branch, &durable)?;
        let data = Map::from_iter([("pr_url".to_owned(), json!(address))]);
        let answer = self.ask_as(Actor::Engine, Event::Named(EventName::new(Event::NOTED)), data)?;
        Ok((said, Some(answer)))
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
                    said.extend(self.push_or_keep(
                        opened.as_ref(),
                        &outlet,
                        &target,
                        (&commit, &branch),
                        durable,
                    )?);
                }
                branch
            }
            None if outlet.target_remote().is_some() => branch.to_owned(),
            None => {
                match self.push_here(run, branch, &outlet, durable)? {
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
        said.insert(0, format!("`{branch}` is offered as pull request #{number}"));
        let for_review = self.for_review(run, &commit)?;
        let then = match goal {
            Goal::Merge if !for_review.is_empty() => {
                format!("{}: `warp pr merge {number}` merges it", review::reason(&for_review))
            }
            Goal::Merge => "it is merged when the promise is given".to_owned(),
            Goal::Stay | Goal::HandOver => format!("`warp pr merge {number}` merges it"),
        };
        said.insert(1, format!("`warp pr show {number}` shows it; {then}"));
        Ok((said, format!("#{number}")))
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
    fn push_here(
        &mut self,
        run: &Run,
        branch: &str,
        outlet: &Outlet,
        _: &Durable,
    ) -> Result<PushedHere, JobError> {
        let Ok((remote, address)) = self.git().remote() else { return Ok(PushedHere::Kept(None)) };
        if outlet.branch_remote().is_none() {
            let why = (goal(run) != Goal::Stay).then(|| outlet.why_kept());
            return Ok(PushedHere::Kept(why));
        }
        let world = |error: &dyn std::error::Error| JobError::World(spelled(error));
        let between = self.place.between().map_err(|error| world(&error))?;
        let head = self.git().head_commit().map_err(JobError::World)?;
        let base = self.git().commit_of(&format!("refs/heads/{}", run.branches.merge_target));
        let base = base.unwrap_or_else(|_| head.clone());
        let outgoing = between.outgoing(&remote, branch, (&base, &head), Against::Remote);
        let outgoing = outgoing.map_err(|error| world(&error))?;
        if let Some(kept) = self.keep_own(&outgoing)? {
            return Ok(PushedHere::Kept(Some(kept)));
        }
        let line = match self.git().push_line(&remote, branch) {
            Ok(line) => line,
            Err(why) => return Ok(PushedHere::Kept(Some(why))),
        };
        git_hooks::pre_push(&self.shell, &self.place, (&remote, &address), &line)?;
        let pushed = boundary::around("push", || self.git().push(&remote, branch));
        Ok(match pushed {
            Ok(()) => PushedHere::Done(format!("pushed: {outgoing}")),
            Err(why) => PushedHere::Kept(Some(why)),
        })
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
            return self.merge_pull(&pool, number, By::warp(), &settings, shell);
        };
        let origin = Place::at(origin).map_err(Error::from)?;
        let pool = Pool::of(&origin, &self.dirs)?;
        let mut there = Workspace::open(origin, self.dirs.clone())?;
        on(&mut there).merge_pull(&pool, number, By::warp(), &settings, shell)
    }
}

/// Returns how a loop's work ends.
fn goal(run: &Run) -> Goal {
    Goal::of(run.level, run.settings.get(keys::AUTO_MERGE))
}
