//! What of a run's work leaves the machine: the setting `push`, the person's answer to it, and where it would go.
//!
//! Invariants:
//! - Every push and every pull request at a forge asks [`Outlet`] first; without a yes nothing leaves.
//! - Commits of the person's own that are not at the remote are never pushed without their word.
//! - What was pushed, or why nothing was and what pushes it later, is said.

mod choice;
mod consent;
mod policy;

use engine::{Run, Settings, keys};

pub use choice::{Ask, Decides};
pub use consent::Consent;
pub use policy::{Goal, Leaves, Push};

use crate::{
    Workspace,
    config::{self, ConfigError},
};

/// The name of the setting, and the kind of the questions about it.
pub const PUSH: &str = keys::PUSH.name();
/// Answers to questions about a push.
pub const PUSH_IT: &str = "push";
pub const KEEP_LOCAL: &str = "keep_local";
pub const HAND_OVER: &str = "hand_over";
pub const RETRY: &str = "retry";
/// The marker of the comment that says that the remote has refused the merge target.
pub const REFUSED_PUSH: &str = "refused-push:";

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

impl Outlet {
    /// Finds out what may leave by settings that are in force now.
    pub fn of(settings: &Settings, goal: Goal, remote: Option<String>) -> Self {
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
    pub fn for_branch(&self) -> Self {
        let leaves = if self.leaves == Leaves::Nothing { Leaves::Nothing } else { Leaves::Branch };
        Self { leaves, ..self.clone() }
    }

    /// Returns the same for a person who has chosen that this work stays here.
    pub fn kept_here(self) -> Self {
        Self { leaves: Leaves::Nothing, is_kept_here: true, ..self }
    }

    /// Returns the same for a person who has said of this branch that it may leave.
    pub fn allowed(&self) -> Self {
        Self { leaves: Leaves::Branch, is_kept_here: false, ..self.clone() }
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
    pub fn why_kept(&self) -> String {
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
    pub fn outlet(&self, run: &Run, goal: Goal) -> Result<Outlet, ConfigError> {
        let began = Push::parse(run.settings.get(keys::PUSH));
        let answered = config::answered(&self.place, &self.dirs, PUSH);
        let since = answered?.filter(|(_, written)| began == Push::Ask || *written > run.started_at);
        let push = since.map_or(began, |(answer, _)| Push::parse(&answer));
        Ok(Outlet::by(push, goal, self.remote()))
    }

    /// Returns the name of the person's remote, if there is one.
    pub fn remote(&self) -> Option<String> {
        match &self.slot {
            Some(slot) => slot.remote(),
            None => self.place.git().remote().ok().map(|(name, _)| name),
        }
    }
}

pub fn commits(count: usize) -> String {
    crate::counted(count as u64, "commit", "commits")
}
