//! What of a run's work leaves the machine: the setting `push`, the person's answer to it, and every push that warp makes.
//!
//! Invariants:
//! - Every push and every pull request at a forge asks [`Outlet`] first; without a yes nothing leaves.
//! - Commits of the person's own that are not at the remote are never pushed without their word.
//! - What was pushed, or why nothing was and what pushes it later, is said.

mod choice;
mod consent;
mod policy;

use adapters::{
    git::{
        integrate::PushError,
        outgoing::{Against, Outgoing},
        sight::Need,
    },
    refs::GitError,
};
use engine::{Run, Settings, keys};
use journal::Durable;

pub(crate) use choice::undecided;
pub use choice::{Ask, Decides};
pub use consent::Consent;
pub use policy::{Goal, Leaves, Push};

use crate::{NextError, Workspace, config, next::hooks, slots::Slot, spelled};

/// The name of the setting, and the kind of the questions about it.
pub const PUSH: &str = keys::PUSH.name();
/// Answers to questions about a push.
pub const PUSH_IT: &str = "push";
pub const KEEP_LOCAL: &str = "keep_local";
pub const HAND_OVER: &str = "hand_over";
pub const RETRY: &str = "retry";
/// The marker of the comment that says that the remote has refused the merge target.
pub(crate) const REFUSED_PUSH: &str = "refused-push:";

/// What may leave the machine, and where it would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlet {
    pub push: Push,
    pub goal: Goal,
    pub leaves: Leaves,
    /// The person's remote, if there is one.
    pub remote: Option<String>,
    /// Set if a person has chosen to keep this work here.
    is_kept_here: bool,
}

/// What became of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The remote has it; this says what it got. Nothing where there is no remote.
    Done(Option<String>),
    /// Nothing was pushed, for this reason.
    Kept(String),
    /// The remote did not take it, or was not reached.
    Refused(String),
}

impl Outlet {
    /// Finds out what may leave by settings that are in force now.
    pub(crate) fn of(settings: &Settings, goal: Goal, remote: Option<String>) -> Self {
        Self::by(Push::parse(settings.get(keys::PUSH)), goal, remote)
    }

    fn by(push: Push, goal: Goal, remote: Option<String>) -> Self {
        Self { push, goal, leaves: policy::leaves(push, goal), remote, is_kept_here: false }
    }

    /// Returns the remote that the merge target is pushed to, if it is.
    pub fn target_remote(&self) -> Option<&str> {
        self.remote.as_deref().filter(|_| self.leaves == Leaves::Target)
    }

    /// Returns the remote that a branch is pushed to, if it is.
    pub fn branch_remote(&self) -> Option<&str> {
        self.remote.as_deref().filter(|_| self.leaves != Leaves::Nothing)
    }

    /// Returns the same for a branch that is handed over instead of the target.
    pub(crate) fn for_branch(&self) -> Self {
        let leaves = if self.leaves == Leaves::Nothing { Leaves::Nothing } else { Leaves::Branch };
        Self { leaves, ..self.clone() }
    }

    /// Returns the same for a person who has chosen that this work stays here.
    pub(crate) fn kept_here(self) -> Self {
        Self { leaves: Leaves::Nothing, is_kept_here: true, ..self }
    }

    /// Says why a branch is not pushed, and what pushes it; nothing where there is no remote.
    pub fn kept(&self, branch: &str) -> Option<String> {
        let remote = self.remote.as_ref()?;
        Some(format!("not pushed: {}; `git push {remote} {branch}` pushes it", self.why_kept()))
    }

    /// Says how a person lets warp push what the goal would push.
    pub fn how_to_allow(&self) -> &'static str {
        match self.goal {
            Goal::Merge => "`warp config push=branch` or `push=target` allows it",
            Goal::Stay | Goal::HandOver => "`warp config push=branch` allows it",
        }
    }

    /// Says why nothing is pushed.
    pub(crate) fn why_kept(&self) -> String {
        match self.push {
            _ if self.is_kept_here => "you chose to keep it here".to_owned(),
            Push::Ask => format!("you have not said whether warp may push ({})", self.how_to_allow()),
            push @ (Push::Never | Push::Branch | Push::Target) => format!("push = \"{}\"", push.as_str()),
        }
    }
}

impl Workspace {
    /// Finds out what of a run's work may leave the machine: by the settings that it began with, and by what the person has
    /// set for the project since.
    pub fn outlet(&self, run: &Run, goal: Goal) -> Result<Outlet, NextError> {
        let began = Push::parse(run.settings.get(keys::PUSH));
        let answered = config::answered(&self.place, &self.dirs, PUSH);
        let since = answered
            .map_err(|error| NextError::World(spelled(&error)))?
            .filter(|(_, written)| began == Push::Ask || *written > run.started_at);
        let push = since.map_or(began, |(answer, _)| Push::parse(&answer));
        Ok(Outlet::by(push, goal, self.remote()))
    }

    /// Returns the name of the person's remote, if there is one.
    pub(crate) fn remote(&self) -> Option<String> {
        match &self.slot {
            Some(slot) => slot.remote(),
            None => self.place.git().remote().ok().map(|(name, _)| name),
        }
    }

    /// Pushes the branch of a run from this workspace or another slot, if that may leave. The run's own commits come
    /// after the merge target.
    pub(crate) fn push_branch(
        &mut self,
        other: Option<&Slot>,
        outlet: &Outlet,
        target: &str,
        (commit, branch): (&str, &str),
        _: &Durable,
    ) -> Result<Pushed, NextError> {
        let Some(remote) = outlet.branch_remote() else {
            return Ok(outlet.kept(branch).map_or(Pushed::Done(None), Pushed::Kept));
        };
        let world = |error: &dyn std::error::Error| NextError::World(spelled(error));
        let between = match other {
            Some(slot) => slot.between().clone(),
            None => self.between()?,
        };
        let base = between.bring_target(target, None, Need::Remote).map_err(|error| world(&error))?.commit;
        let outgoing = between
            .outgoing(remote, branch, (&base, commit), Against::Remote)
            .map_err(|error| world(&error))?;
        if let Some(kept) = self.keep_own(&outgoing)? {
            return Ok(Pushed::Kept(kept));
        }
        if other.is_none() && self.slot.is_none() {
            self.ask_pre_push(remote, branch)?;
        }
        pushed(between.push(remote, commit, branch, None), &outgoing)
    }

    /// Asks the person's own hook before a branch of their checkout is pushed.
    fn ask_pre_push(&self, remote: &str, branch: &str) -> Result<(), NextError> {
        let git = self.place.git();
        let (_, address) = git.remote().map_err(NextError::World)?;
        let line = git.push_line(remote, branch).map_err(NextError::World)?;
        hooks::pre_push(&self.shell, &self.place, (remote, &address), &line)
    }

    /// Pushes the branch of a run, if that may leave; returns what is said of it. A branch that the remote does not take
    /// stays in the person's repository, unless they want it tried again.
    pub(crate) fn push_or_keep(
        &mut self,
        other: Option<&Slot>,
        outlet: &Outlet,
        target: &str,
        work: (&str, &str),
        durable: &Durable,
    ) -> Result<Option<String>, NextError> {
        let why = match self.push_branch(other, outlet, target, work, durable)? {
            Pushed::Done(said) => return Ok(said),
            Pushed::Kept(said) => return Ok(Some(said)),
            Pushed::Refused(why) => why,
        };
        let branch = work.1;
        let question = format!("{why}. Push `{branch}` again, or keep it in your repository only?");
        match self.choose(&question, &[RETRY, KEEP_LOCAL])?.as_deref() {
            // It was tried again just now.
            Some(RETRY) => Err(undecided(&question, &[RETRY, KEEP_LOCAL])),
            Some(_) | None => {
                let remote = outlet.remote.as_deref().unwrap_or("origin");
                Ok(Some(format!("not pushed: {why}; `git push {remote} {branch}` pushes it")))
            }
        }
    }

    /// Asks about commits of the person's own that a push would take along; returns why nothing is pushed, if so.
    pub(crate) fn keep_own(&mut self, outgoing: &Outgoing) -> Result<Option<String>, NextError> {
        let Outgoing { remote, branch, yours, .. } = outgoing;
        if *yours == 0 {
            return Ok(None);
        }
        let own = commits(*yours);
        let question = format!(
            "A push of `{branch}` takes {own} of your own along that {remote} does not have: {outgoing}. Push it?"
        );
        Ok(match self.choose(&question, &[PUSH_IT, KEEP_LOCAL])?.as_deref() {
            Some(PUSH_IT) => None,
            Some(_) | None => Some(format!(
                "not pushed: that would take {own} of your own along; `git push {remote} {branch}` pushes it"
            )),
        })
    }
}

/// Says what became of a push. One that a person has interrupted is tried again later.
fn pushed(result: Result<(), PushError>, outgoing: &Outgoing) -> Result<Pushed, NextError> {
    match result {
        Ok(()) => Ok(Pushed::Done(Some(format!("pushed: {outgoing}")))),
        Err(PushError::Git(error @ GitError::Interrupted { .. })) => Err(NextError::World(spelled(&error))),
        Err(error) => Ok(Pushed::Refused(spelled(&error))),
    }
}

pub(crate) fn commits(count: usize) -> String {
    crate::counted(count as u64, "commit", "commits")
}
