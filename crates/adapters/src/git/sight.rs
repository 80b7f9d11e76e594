//! Where a branch of the person's stands, and how it relates to the branch of the same name at a remote.

use std::fmt;

use super::{
    integrate::{RepositoryPair, TargetError, branch, is_ancestor},
    own::GitError,
};
use crate::refs;

/// The commit to start from or rebase onto.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseCommit {
    pub commit: String,
    pub relation: Relation,
}

/// How a branch of the person's relates to the same one at a remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    NoRemote,
    /// The remote did not answer, for this reason.
    Unreached {
        remote: String,
        why: String,
    },
    /// The remote has no branch of that name.
    NotThere {
        remote: String,
    },
    /// The person has none of that name; the remote's counts.
    OnlyThere {
        remote: String,
    },
    Same {
        remote: String,
    },
    /// The person's has so many commits that the remote's has not.
    Ahead {
        remote: String,
        by: u64,
    },
    /// The remote's has so many commits that the person's has not; it counts.
    Behind {
        remote: String,
        by: u64,
    },
    /// Each has commits that the other has not; the person's counts.
    Diverged {
        remote: String,
    },
}

impl Relation {
    /// Says it of a branch.
    pub fn describe(&self, target: &str) -> String {
        let commits = |by: &u64| format!("{by} commit{}", if *by == 1 { "" } else { "s" });
        match self {
            Self::NoRemote => "no remote".to_owned(),
            Self::Unreached { remote, .. } => format!("{remote} not reached, local {target}"),
            Self::NotThere { remote } => format!("{remote} has no {target}"),
            Self::OnlyThere { remote } => format!("from {remote}/{target}"),
            Self::Same { remote } => format!("same as {remote}/{target}"),
            Self::Ahead { remote, by } => format!("{} ahead of {remote}/{target}", commits(by)),
            Self::Behind { remote, by } => {
                format!("from {remote}/{target}, {} ahead of your {target}", commits(by))
            }
            Self::Diverged { remote } => format!("local {target}, which has diverged from {remote}/{target}"),
        }
    }
}

impl fmt::Display for BaseCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.commit.get(..7).unwrap_or(&self.commit))
    }
}

/// Whether work can go on without an answer from the remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Nothing is pushed there, so the person's own branch is enough.
    Local,
    /// The branch is pushed there: it has to be reached, and must not have diverged.
    Remote,
}

impl RepositoryPair {
    /// Looks for the newest commit of `target`, here and at a remote if one is named.
    pub fn look(&self, target: &str, remote: Option<&str>, need: Need) -> Result<BaseCommit, TargetError> {
        let here = refs::one(&self.origin, &branch(target))?;
        let none = || TargetError::NoSuchBranch { target: target.to_owned() };
        let Some(remote) = remote else {
            return Ok(BaseCommit { commit: here.ok_or_else(none)?, relation: Relation::NoRemote });
        };
        let name = remote.to_owned();
        let there = match (self.ask_remote(remote, target), need) {
            (Err(TargetError::Git(error)), Need::Local)
                if !matches!(error, GitError::Interrupted { .. }) && here.is_some() =>
            {
                let relation = Relation::Unreached { remote: name, why: error.to_string() };
                return Ok(BaseCommit { commit: here.ok_or_else(none)?, relation });
            }
            (asked, _) => asked?,
        };
        let git = self.theirs();
        let count = |from: &str, to: &str| -> Result<u64, TargetError> {
            Ok(git.count(&[&format!("{from}..{to}")])?)
        };
        let (commit, relation) = match (here, there) {
            (None, None) => return Err(none()),
            (Some(here), None) => (here, Relation::NotThere { remote: name }),
            (None, Some(there)) => (there, Relation::OnlyThere { remote: name }),
            (Some(here), Some(there)) if here == there => (here, Relation::Same { remote: name }),
            (Some(here), Some(there)) if is_ancestor(&git, &here, &there)? => {
                let by = count(&here, &there)?;
                (there, Relation::Behind { remote: name, by })
            }
            (Some(here), Some(there)) if is_ancestor(&git, &there, &here)? => {
                let by = count(&there, &here)?;
                (here, Relation::Ahead { remote: name, by })
            }
            (Some(_), Some(_)) if need == Need::Remote => {
                return Err(TargetError::Diverged { target: target.to_owned(), remote: name });
            }
            (Some(here), Some(_)) => (here, Relation::Diverged { remote: name }),
        };
        Ok(BaseCommit { commit, relation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_says_where_it_comes_from() {
        let remote = || "origin".to_owned();
        let said = [
            Relation::NoRemote,
            Relation::Unreached { remote: remote(), why: "no route".to_owned() },
            Relation::NotThere { remote: remote() },
            Relation::Same { remote: remote() },
            Relation::Ahead { remote: remote(), by: 2 },
            Relation::Behind { remote: remote(), by: 1 },
            Relation::Diverged { remote: remote() },
        ];
        let said: Vec<String> = said.iter().map(|relation| relation.describe("main")).collect();
        assert_eq!(
            said,
            [
                "no remote",
                "origin not reached, local main",
                "origin has no main",
                "same as origin/main",
                "2 commits ahead of origin/main",
                "from origin/main, 1 commit ahead of your main",
                "local main, which has diverged from origin/main",
            ]
        );
    }
}
