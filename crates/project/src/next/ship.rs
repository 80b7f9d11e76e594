//! The pull request of the built-in loop, which warp pushes and opens.

use adapters::{boundary, forge, git::outgoing::Against};
use engine::{Actor, Event, EventName, Run};
use serde_json::{Map, json};

use super::{NextError, hooks, report};
use crate::{Answer, Current, Error, Place, Workspace, pushing::Goal, slots::Pool, spelled};

impl Workspace {
    /// Pushes the branch and opens a pull request, which the run then knows.
    pub(super) fn open_pull_request(
        &mut self,
        current: &Current,
    ) -> Result<(Vec<String>, Option<Answer>), NextError> {
        self.sync()?;
        let run = &current.run;
        let branch = self.git().branch();
        let told = "warp state transition . noted --data '{\"pr_url\":\"URL\"}'";
        let by_person = |problem: String| {
            NextError::World(format!(
                "{problem}; a person pushes `{branch}`, opens the pull request and says so: {told}"
            ))
        };
        let branches = &run.branches;
        if branch.is_empty() {
            return Err(NextError::World(
                "HEAD is on no branch: `git switch -c feature/NAME` makes one to push".to_owned(),
            ));
        }
        let is_shared = [branches.merge_target.as_str(), branches.main_branch.as_str(), "main", "master"]
            .contains(&branch.as_str());
        if is_shared {
            return Err(NextError::World(format!(
                "`{branch}` is where the work goes in the end, and is not pushed: `git switch -c feature/NAME` makes a \
                 branch for it"
            )));
        }
        let is_own = self.place.git_dir().is_some();
        if is_own || run.owner.is_driver() {
            return self.offer_feature(run, &branch);
        }
        if !(2..=3).contains(&run.level) {
            return Err(by_person(format!("at level {} warp does not push", run.level)));
        }
        self.git().remote().map_err(by_person)?;
        let pushed = self.push_here(run, &branch)?.map_err(by_person)?;
        let title = run.feature.as_deref().map_or_else(|| branch.clone(), report::title_of);
        let url = forge::pull_request(&self.place.root, &run.branches.merge_target, &branch, &title)
            .map_err(|problem| {
                NextError::World(format!(
                    "`{branch}` is pushed, but {problem}; a person opens the pull request: {told}"
                ))
            })?;
        let said = vec![pushed.unwrap_or_default(), format!("the pull request is {url}")];
        let data = Map::from_iter([("pr_url".to_owned(), json!(url))]);
        let answer = self.ask_as(Actor::Engine, Event::Named(EventName::new(Event::NOTED)), data)?;
        Ok((said, Some(answer)))
    }
    /// Offers the branch as a pull request of the project's own, and pushes it if there is a remote.
    fn offer_feature(&mut self, run: &Run, branch: &str) -> Result<(Vec<String>, Option<Answer>), NextError> {
        let commit = self.git().head_commit().map_err(NextError::World)?;
        // Whoever works in a workspace that was made for runs, but did not open it as one, opens it here.
        let opened = match (&self.slot, self.place.origin()) {
            (None, Some(origin)) => {
                let origin = Place::at(origin).map_err(Error::from)?;
                Some(Pool::of(&origin, &self.dirs)?.reopen(&self.place.root)?)
            }
            (Some(_), _) | (None, None) => None,
        };
        let (branch, pushed) = match self.slot.as_ref().or(opened.as_ref()) {
            Some(slot) => {
                let branch = slot.deliver(run.id.as_str(), &commit, branch)?;
                let outlet = self.outlet(run, Goal::of(run.level, false))?;
                let target = run.branches.merge_target.clone();
                let pushed = self.push_or_keep(opened.as_ref(), &outlet, &target, (&commit, &branch))?;
                (branch, pushed)
            }
            None => {
                let pushed =
                    self.push_here(run, branch)?.unwrap_or_else(|why| Some(format!("not pushed: {why}")));
                (branch.to_owned(), pushed)
            }
        };
        drop(opened);
        let number = self.offer_pull(run, &branch, &commit)?;
        let mut said = vec![
            format!("`{branch}` is offered as pull request #{number}"),
            format!("`warp pr show {number}` shows it; `warp pr merge {number}` merges it"),
        ];
        said.extend(pushed);
        let data = Map::from_iter([("pr_url".to_owned(), json!(format!("#{number}")))]);
        let answer = self.ask_as(Actor::Engine, Event::Named(EventName::new(Event::NOTED)), data)?;
        Ok((said, Some(answer)))
    }

    /// Pushes a branch of a person's own checkout, if there is a remote and it may leave; returns what was pushed, or why
    /// nothing was.
    fn push_here(&mut self, run: &Run, branch: &str) -> Result<Result<Option<String>, String>, NextError> {
        let Ok((remote, address)) = self.git().remote() else { return Ok(Ok(None)) };
        let outlet = self.outlet(run, Goal::of(run.level, false))?;
        if outlet.branch_remote().is_none() {
            return Ok(match run.level {
                0 | 1 => Ok(None),
                _ => Err(outlet.why_kept()),
            });
        }
        let world = |error: &dyn std::error::Error| NextError::World(spelled(error));
        let between = self.place.between().map_err(|error| world(&error))?;
        let head = self.git().head_commit().map_err(NextError::World)?;
        let base = self.git().commit_of(&format!("refs/heads/{}", run.branches.merge_target));
        let base = base.unwrap_or_else(|_| head.clone());
        let outgoing = between.outgoing(&remote, branch, (&base, &head), Against::Remote);
        let outgoing = outgoing.map_err(|error| world(&error))?;
        if let Some(kept) = self.keep_own(&outgoing)? {
            return Ok(Err(kept));
        }
        let line = match self.git().push_line(&remote, branch) {
            Ok(line) => line,
            Err(why) => return Ok(Err(why)),
        };
        hooks::pre_push(&self.shell, &self.place, (&remote, &address), &line)?;
        let pushed = boundary::around("push", || self.git().push(&remote, branch));
        Ok(pushed.map(|()| Some(format!("pushed: {outgoing}"))))
    }
}
