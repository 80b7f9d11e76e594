//! Finding the commit on which a run's work begins.

use adapters::git::{
    integrate::TargetError,
    sight::{Need, Relation},
};
use engine::{Run, keys};
use project::{
    Place,
    base::{self, Start},
    pushing::{Goal, Leaves},
    spelled,
};

use crate::{Context, JobError};

impl Context<'_> {
    /// Returns the person's checkout.
    fn checkout(&self) -> &Place {
        self.slot.as_ref().map_or(&self.place, |slot| slot.person())
    }

    /// Finds the commit on which a run's work begins, and brings it into the workspace. It is remembered for whoever begins
    /// the branch, so that a remote is asked once.
    pub fn look_at_base(&mut self, run: &Run) -> Result<Option<Start>, JobError> {
        if self.slot.is_none() {
            return Ok(None);
        }
        let start = self.start_of(run)?;
        self.seen_base = Some((run.id.to_string(), start.clone()));
        Ok(Some(start))
    }

    /// Returns the commit on which a run's work begins.
    pub(crate) fn base_commit(&mut self, run: &Run) -> Result<String, JobError> {
        let start = match self.seen_base.take().filter(|(of, _)| of == run.id.as_str()) {
            Some((_, start)) => start,
            None => self.start_of(run)?,
        };
        Ok(start.commit)
    }

    fn start_of(&self, run: &Run) -> Result<Start, JobError> {
        let world = |error: &dyn std::error::Error| JobError::World(spelled(error));
        let (target, remote) = (&run.branches.merge_target, self.remote());
        let name = run.settings.get(keys::BASE);
        let git = self.checkout().git();
        let full = match name {
            "" | base::AUTO => format!("refs/heads/{target}"),
            name => base::full_name(&git, name).map_err(|error| world(&error))?,
        };
        if base::local_branch(&full).is_none() {
            return self.named_start(name, &full);
        }
        let sight = self
            .between()?
            .bring_target(target, remote.as_deref(), Need::Local)
            .map_err(|error: TargetError| world(&error))?;
        let goal = Goal::of(run.level, run.settings.get(keys::AUTO_MERGE));
        if let Relation::Diverged { remote } = &sight.relation
            && self.outlet(run, goal)?.leaves == Leaves::Target
        {
            let (target, remote) = (target.clone(), remote.clone());
            return Err(world(&TargetError::Diverged { target, remote }));
        }
        let unreached = match &sight.relation {
            Relation::Unreached { why, .. } => Some(why.clone()),
            Relation::NoRemote
            | Relation::NotThere { .. }
            | Relation::OnlyThere { .. }
            | Relation::Same { .. }
            | Relation::Ahead { .. }
            | Relation::Behind { .. }
            | Relation::Diverged { .. } => None,
        };
        let about = sight.relation.describe(target);
        Ok(Start { name: target.clone(), commit: sight.commit, about, unreached })
    }

    /// Begins at what is no branch of the person's. A remote's branch is asked for first.
    fn named_start(&self, name: &str, full: &str) -> Result<Start, JobError> {
        let world = |error: &dyn std::error::Error| JobError::World(spelled(error));
        let between = self.between()?;
        let tracked = full.strip_prefix("refs/remotes/").and_then(|rest| rest.split_once('/'));
        let unreached = match tracked.map(|(remote, branch)| between.ask_remote(remote, branch)) {
            Some(Err(error)) if error.is_interrupted() => return Err(world(&error)),
            Some(Err(error)) => Some(spelled(&error)),
            Some(Ok(_)) | None => None,
        };
        let git = self.checkout().git();
        let commit = git.commit_of(full).map_err(JobError::World)?;
        between.bring_in(full).map_err(|error| world(&error))?;
        let about = match (tracked, &unreached) {
            (Some((remote, _)), Some(_)) => format!("{remote} not reached, as it was last seen"),
            (Some((remote, _)), None) => format!("as {remote} has it"),
            (None, _) if full.starts_with("refs/tags/") => "a tag".to_owned(),
            (None, _) => "a commit".to_owned(),
        };
        Ok(Start { name: name.to_owned(), commit, about, unreached })
    }
}
