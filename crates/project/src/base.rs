//! Where a run's work begins, and which branch it goes to: the setting `base`.
//!
//! A base that is a branch of the person's is the merge target as well. Any other base (a tag, a commit, a remote's branch)
//! is only where the work begins: it goes to the merge target that is found, rebased as any other work.

use adapters::git::{
    Git,
    integrate::TargetError,
    sight::{Need, Relation},
};
use engine::{Run, Settings, keys};

use crate::{
    NextError, Place, Workspace,
    pushing::{Goal, Leaves},
    spelled,
};

/// The value by which work begins at the merge target.
const AUTO: &str = "auto";

/// Why a base cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    #[error("`base` is \"{name}\", and that is no branch, tag or commit of this repository")]
    Unknown { name: String },
    #[error("`base` cannot be looked up: {words}")]
    Git { words: String },
}

/// Where work begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// As it was named, or the merge target.
    pub name: String,
    pub commit: String,
    /// How it relates to a remote, or what it is.
    pub about: String,
    /// Why the remote was not asked, if it did not answer.
    pub unreached: Option<String>,
}

/// Returns the merge target of work that begins now; an error if its base is not there.
pub fn merge_target(place: &Place, settings: &Settings) -> Result<String, BaseError> {
    let git = place.git();
    let found = git.branches().merge_target;
    Ok(match settings.get(keys::BASE) {
        AUTO => found,
        name => local_branch(&full_name(&git, name)?).unwrap_or(found),
    })
}

/// Returns the whole name of a ref, or the hash of a commit that is named by it.
fn full_name(git: &Git<'_>, name: &str) -> Result<String, BaseError> {
    let found = git.named(name).map_err(|words| BaseError::Git { words })?;
    found.ok_or_else(|| BaseError::Unknown { name: name.to_owned() })
}

fn local_branch(full: &str) -> Option<String> {
    full.strip_prefix("refs/heads/").map(str::to_owned)
}

impl Workspace {
    /// Tells whether the work has a branch already: its base was chosen then.
    pub fn has_branch(&self) -> bool {
        self.slot.is_none() || !self.place.git().branch().is_empty()
    }

    /// Returns the person's checkout.
    fn checkout(&self) -> &Place {
        self.slot.as_ref().map_or(&self.place, |slot| slot.person())
    }

    /// Finds the commit on which a run's work begins, and brings it into the workspace. It is remembered for whoever begins
    /// the branch, so that a remote is asked once.
    pub fn look_at_base(&mut self, run: &Run) -> Result<Option<Start>, NextError> {
        if self.slot.is_none() {
            return Ok(None);
        }
        let start = self.start_of(run)?;
        self.seen_base = Some((run.id.to_string(), start.clone()));
        Ok(Some(start))
    }

    /// Returns the commit on which a run's work begins.
    pub(crate) fn base_commit(&mut self, run: &Run) -> Result<String, NextError> {
        let start = match self.seen_base.take().filter(|(of, _)| of == run.id.as_str()) {
            Some((_, start)) => start,
            None => self.start_of(run)?,
        };
        Ok(start.commit)
    }

    fn start_of(&self, run: &Run) -> Result<Start, NextError> {
        let world = |error: &dyn std::error::Error| NextError::World(spelled(error));
        let (target, remote) = (&run.branches.merge_target, self.remote());
        let name = run.settings.get(keys::BASE);
        let git = self.checkout().git();
        let full = match name {
            "" | AUTO => format!("refs/heads/{target}"),
            name => full_name(&git, name).map_err(|error| world(&error))?,
        };
        if local_branch(&full).is_none() {
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
    fn named_start(&self, name: &str, full: &str) -> Result<Start, NextError> {
        let world = |error: &dyn std::error::Error| NextError::World(spelled(error));
        let between = self.between()?;
        let tracked = full.strip_prefix("refs/remotes/").and_then(|rest| rest.split_once('/'));
        let unreached = match tracked.map(|(remote, branch)| between.ask_remote(remote, branch)) {
            Some(Err(error)) if error.is_interrupted() => return Err(world(&error)),
            Some(Err(error)) => Some(spelled(&error)),
            Some(Ok(_)) | None => None,
        };
        let git = self.checkout().git();
        let commit = git.commit_of(full).map_err(NextError::World)?;
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
