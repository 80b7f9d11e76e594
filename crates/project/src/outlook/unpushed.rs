//! Work that is in the person's repository and not at its remote: which command pushes it.

use adapters::git::outgoing::HistoryScope;

use serde::Serialize;

use super::{Is, Remedy};
use crate::{Place, Workspace};

impl Workspace {
    /// Says how a person pushes what a run has left here, if the remote did not have it when it was last seen. Whatever
    /// cannot be looked up is not said.
    pub(super) fn unpushed(&self, is: &Is) -> Option<Remedy> {
        let place = self.persons_place()?;
        let git = place.git();
        let (branch, commit) = if let Is::HandedOver(handed) | Is::PullRequest(handed) = is
            && handed.is_open
        {
            (handed.branch.clone(), git.commit_of(&format!("refs/heads/{}", handed.branch)).ok()?)
        } else if let Is::Done { merged, .. } = is {
            (git.branches().merge_target, git.commit_of(merged).ok()?)
        } else {
            return None;
        };
        let at = at_remote(&place, &branch, &commit).filter(|at| !at.has_it)?;
        Some(Remedy { command: at.push(), does: format!("pushes it; {} does not have it", at.remote) })
    }

    /// Says whether the remote had a commit on a branch when it was last seen; nothing if there is no remote, or that cannot be
    /// looked up.
    pub(crate) fn at_remote(&self, branch: &str, commit: &str) -> Option<AtRemote> {
        at_remote(&self.persons_place()?, branch, commit)
    }

    fn persons_place(&self) -> Option<Place> {
        match self.place.origin() {
            Some(origin) => Place::at(origin).ok(),
            None => Some(self.place.clone()),
        }
    }
}

/// Whether a remote has what is on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AtRemote {
    pub remote: String,
    pub branch: String,
    pub has_it: bool,
}

impl AtRemote {
    /// Returns the command that brings it there.
    pub fn push(&self) -> String {
        format!("git push {} {}", self.remote, self.branch)
    }
}

fn at_remote(place: &Place, branch: &str, commit: &str) -> Option<AtRemote> {
    let (remote, _) = place.git().remote().ok()?;
    let outgoing = place.between().ok()?.outgoing(&remote, branch, (commit, commit), HistoryScope::Branch);
    let has_it = outgoing.ok()?.commits == 0;
    Some(AtRemote { remote, branch: branch.to_owned(), has_it })
}
