//! The pull request: the work is handed in, checked, reviewed and merged.

use engine::{Actor, Event, EventName, Settings, keys};
use forge::{Author, ItemId, Review};
use jobs::{JobError, MergeError, Published};
use project::{Current, Workspace, slots::Pool, spelled};
use serde_json::{Map, Value, json};

use super::{Attached, Happening};
use crate::{
    content_shell,
    driver::{DriveError, Finish, Flow},
    sandbox,
    show::Shown,
};

impl Attached<'_, '_> {
    /// Hands the work in; what stands in the way is typed to the agent.
    pub(super) fn hand_in(&mut self, current: &Current, event: EventName) -> Result<(), DriveError> {
        let data = match self.publish(current)? {
            Ok(published) => json!({
                "pull": published.number, "branch": published.branch, "commit": published.commit,
            }),
            Err(why) => return self.type_in(&format!("The work could not be handed in: {why}")),
        };
        let data = data.as_object().cloned().unwrap_or_default();
        self.driver.offer(Actor::Agent, Event::Named(event), data)?;
        Ok(())
    }

    /// Commits what is there, and offers it; or says what stands in the way.
    fn publish(&mut self, current: &Current) -> Result<Result<Published, String>, DriveError> {
        let durable = self.driver.workspace.sync()?;
        match jobs::on(&mut self.driver.workspace).publish(current, &durable) {
            Ok(published) => {
                self.driver.show.show(Shown::Did(&published.said()));
                Ok(Ok(published))
            }
            Err(JobError::World(why)) => {
                self.driver.show.show(Shown::Warned(&why));
                Ok(Err(why))
            }
            Err(JobError::Held(held)) => {
                if let (_, Some(asked)) =
                    jobs::on(&mut self.driver.workspace).ask_about_held(current, &held)?
                {
                    self.driver.took(&asked);
                }
                Ok(Err("a person is asked about what the commit guard holds; wait".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Closes the issue whose work is merged: whoever approved that has seen what it meets.
    fn close_issue(&mut self, current: &Current) -> Result<(), DriveError> {
        if let Some(number) = current.run.issue.as_deref().and_then(ItemId::typed) {
            self.driver.workspace.tracker().close(number, Some("merged"))?;
        }
        Ok(())
    }

    /// The agent says that the pull request is merged, which is looked up.
    pub(super) fn is_it_over(&mut self, current: &Current) -> Result<(), DriveError> {
        let pull = jobs::on(&mut self.driver.workspace).pull_of(&current.run)?;
        let merged = pull.as_ref().and_then(|item| item.pull.as_ref()?.merged.clone());
        let event = EventName::new("merged");
        let can = current.workflow.row(&current.run.phase, event.as_str()).is_some();
        match (merged, pull) {
            (Some(commit), _) if can => {
                let data = Map::from_iter([("commit".to_owned(), json!(commit))]);
                self.close_issue(current)?;
                self.driver.offer(Actor::Engine, Event::Named(event), data)?;
                Ok(())
            }
            (_, Some(pull)) => self.type_in(&format!("Pull request #{} is not merged yet. Wait.", pull.id)),
            (_, None) => self.type_in(
                "Nothing is handed in yet: write PHASE:awaiting_ci to $PHASE_FILE when the work can be checked.",
            ),
        }
    }

    pub(super) fn check(&mut self, current: &Current) -> Result<Flow, DriveError> {
        let named = |event: &str| Event::Named(EventName::new(event));
        let failed = |why: String| Map::from_iter([("failure".to_owned(), json!(why))]);
        // It is handed in already, unless a tool of the agent's has said so.
        let is_there = jobs::on(&mut self.driver.workspace).is_published(&current.run)?;
        if !is_there && let Err(why) = self.publish(current)? {
            self.driver.offer(Actor::Engine, named("ci_failed"), failed(why))?;
            return Ok(Flow::On);
        }
        let (event, data) = match jobs::on(&mut self.driver.workspace).check_pull(&current.run) {
            Ok(checked) if checked.passed => {
                self.driver.show.show(Shown::Did(checked.said()));
                ("ci_passed", Map::new())
            }
            Ok(checked) => {
                self.driver.show.show(Shown::Warned(checked.said()));
                ("ci_failed", failed(checked.log))
            }
            Err(JobError::World(_)) if self.driver.interrupts.is_asked() => {
                return Ok(Flow::End(Finish::Interrupted));
            }
            Err(JobError::World(why)) => {
                self.driver.show.show(Shown::Warned(&why));
                ("ci_infra_failed", failed(why))
            }
            Err(error) => return Err(error.into()),
        };
        if self.driver.offer(Actor::Engine, named(event), data)?.is_some() && event == "ci_passed" {
            self.type_in("CI passed. Write PHASE:awaiting_review to $PHASE_FILE, and wait for the review.")?;
        }
        Ok(Flow::On)
    }

    pub(super) fn wait_for_review(&mut self, current: &Current) -> Result<Flow, DriveError> {
        let mut said = false;
        loop {
            let Some(item) = jobs::on(&mut self.driver.workspace).pull_of(&current.run)? else {
                return Ok(Flow::End(Finish::Refused("the pull request is not there any more".to_owned())));
            };
            let (number, is_open) = (item.id, item.is_open());
            let words = item.comments.last().map(|comment| comment.text.clone()).unwrap_or_default();
            let pull = item
                .pull
                .clone()
                .ok_or_else(|| DriveError::World(format!("#{number} is no pull request")))?;
            if !said {
                said = true;
                self.driver.show.show(Shown::Did(&format!(
                    "#{number} waits for a review: `warp pr approve {number}`, `warp pr request-changes {number} TEXT`"
                )));
            }
            let data = |field: &str, value: &str| Map::from_iter([(field.to_owned(), json!(value))]);
            let next = match (&pull.merged, is_open, pull.review) {
                (Some(commit), ..) => Some(("merged", data("commit", commit))),
                (None, false, _) => Some(("needs_human", data("reason", "the pull request was closed"))),
                (None, true, Review::ChangesRequested) => Some(("changes_requested", data("review", &words))),
                (None, true, Review::Approved) if self.merges(current) => Some(self.merge(number)?),
                (None, true, Review::Approved | Review::Pending) => None,
            };
            if let Some((event, data)) = next {
                if event == "merged" {
                    self.close_issue(current)?;
                }
                self.driver.offer(Actor::Engine, Event::Named(EventName::new(event)), data)?;
                return Ok(Flow::On);
            }
            match self.wait()? {
                Happening::Wrote(sentinel) => self.obey(current, &sentinel)?,
                // It is started again when there is something for it to do.
                Happening::Ended => self.end_session("ended while it waited")?,
                Happening::Nothing => {}
            }
            if !self.is_still(current)? {
                return Ok(Flow::On);
            }
        }
    }

    /// Tells whether an approval is enough to merge.
    pub(super) fn merges(&self, current: &Current) -> bool {
        current.run.level >= 3 && current.run.settings.get(keys::AUTO_MERGE)
    }

    pub(super) fn merge(&mut self, number: ItemId) -> Result<(&'static str, Map<String, Value>), DriveError> {
        let dirs = self.driver.workspace.dirs.clone();
        self.driver.workspace.sync()?;
        let mut here = Workspace::open(self.place.clone(), dirs.clone())?;
        let pool = Pool::of(&self.place, &dirs)?;
        let data = |field: &str, value: &str| Map::from_iter([(field.to_owned(), json!(value))]);
        let sandbox = match sandbox(self.driver.options.walled) {
            Ok(sandbox) => sandbox,
            Err(error) => return Ok(("needs_human", data("reason", &spelled(&error)))),
        };
        let settings = match self.driver.workspace.select(Some(&self.driver.run))? {
            Some(current) => current.run.settings.clone(),
            None => Settings::default(),
        };
        let merged =
            jobs::on(&mut here).merge_pull(&pool, number, Author::warp(), &settings, |place, dirs, run| {
                content_shell(sandbox.as_ref(), place, dirs, run)
            });
        match merged {
            Ok(merged) => {
                let said = format!("`{}` is at {} now", merged.target, merged.commit);
                self.driver.show.show(Shown::Did(&said));
                for said in &merged.said {
                    self.driver.show.show(Shown::Did(said));
                }
                if let Some(behind) = &merged.behind {
                    self.driver.show.show(Shown::Warned(behind));
                }
                Ok(("merged", data("commit", &merged.commit)))
            }
            Err(MergeError::Merged { commit, .. }) => Ok(("merged", data("commit", &commit))),
            Err(MergeError::Stuck { why, .. }) => Ok(("merge_conflicted", data("failure", &why))),
            Err(error) => Ok(("needs_human", data("reason", &spelled(&error)))),
        }
    }
}
