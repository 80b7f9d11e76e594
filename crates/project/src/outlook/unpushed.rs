//! Work that is in the person's repository and not at its remote: which command pushes it.

use adapters::git::outgoing::HistoryScope;

use super::{Is, Remedy};
use crate::{Place, Workspace};

impl Workspace {
    /// Says how a person pushes what a run has left here, if the remote did not have it when it was last seen. Whatever
    /// cannot be looked up is not said.
    pub(super) fn unpushed(&self, is: &Is) -> Option<Remedy> {
        let place = match self.place.origin() {
            Some(origin) => Place::at(origin).ok()?,
            None => self.place.clone(),
        };
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
        let (remote, _) = git.remote().ok()?;
        let outgoing =
            place.between().ok()?.outgoing(&remote, &branch, (&commit, &commit), HistoryScope::Branch);
        (outgoing.ok()?.commits > 0).then(|| Remedy {
            command: format!("git push {remote} {branch}"),
            does: format!("pushes it; {remote} does not have it"),
        })
    }
}
