//! What a push would bring to a remote, and whose commits those are.
//!
//! A commit is the person's unless warp made it: what a run adds comes after the commit that it was put on top of, and what
//! warp merged before is noted under `refs/warp/merged` and `refs/warp/undone`.

use std::{collections::BTreeSet, fmt};

use super::{
    integrate::RepositoryPair,
    own::{GitError, Repository},
};
use crate::refs;

/// The most commits of the person's that are looked at; whoever has more is asked all the same.
const MOST: &str = "--max-count=1000";
/// How many characters of a hash are shown.
const SHOWN: usize = 7;

/// The commits that a push would send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingCommits {
    pub remote: String,
    pub branch: String,
    /// Where the remote's branch is; nothing if the remote has none of that name.
    pub from: Option<String>,
    pub to: String,
    /// How many commits the remote gets.
    pub commits: usize,
    /// How many of them the person made and has not pushed.
    pub yours: usize,
}

impl fmt::Display for OutgoingCommits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |hash: &str| hash.get(..SHOWN).unwrap_or(hash).to_owned();
        let Self { remote, branch, from, to, commits, yours } = self;
        write!(f, "{remote} {branch} ")?;
        match from {
            Some(from) => write!(f, "{}..{}", short(from), short(to))?,
            None => write!(f, "{} (new branch)", short(to))?,
        }
        write!(f, ", {commits} commit{}", if *commits == 1 { "" } else { "s" })?;
        if *yours > 0 {
            write!(f, ", {yours} of them yours")?;
        }
        Ok(())
    }
}

/// The remote history to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryScope {
    /// The branch that is pushed to: a commit that another branch has is new to it.
    Branch,
    /// All branches of the remote.
    Remote,
}

impl RepositoryPair {
    /// Looks at what a push of `to` would bring to a remote's branch, as far as the remote was seen last. The run's own
    /// commits come after `base`.
    pub fn outgoing(
        &self,
        remote: &str,
        branch: &str,
        (base, to): (&str, &str),
        against: HistoryScope,
    ) -> Result<OutgoingCommits, GitError> {
        let git = self.theirs();
        let from = refs::one(&self.origin, &format!("refs/remotes/{remote}/{branch}")).ok().flatten();
        let known = match (&from, against) {
            (Some(from), HistoryScope::Branch) => from.clone(),
            (_, HistoryScope::Remote) | (None, HistoryScope::Branch) => format!("--remotes={remote}"),
        };
        let commits = git.count(&[to, "--not", &known])?;
        let yours = if commits == 0 { 0 } else { self.by_person(&git, base, &known)? };
        let (remote, branch, to) = (remote.to_owned(), branch.to_owned(), to.to_owned());
        Ok(OutgoingCommits { remote, branch, from, to, commits, yours })
    }

    /// Counts the commits up to `tip` that are not `known` and that warp did not make.
    fn by_person(&self, git: &Repository<'_>, tip: &str, known: &str) -> Result<usize, GitError> {
        let listed = git.text(&["rev-list", MOST, tip, "--not", known, "--"], &[])?;
        let mut left: BTreeSet<&str> = listed.lines().collect();
        if left.is_empty() {
            return Ok(0);
        }
        let format = "--format=%(refname) %(objectname)";
        let noted = git.text(&["for-each-ref", format, "refs/warp/merged", "refs/warp/undone"], &[])?;
        let of = |end: &'static str| {
            let lines = noted.lines().filter_map(|line| line.split_once(' '));
            lines.filter_map(move |(name, commit)| Some((name.strip_suffix(end)?, commit)))
        };
        for (run, to) in of("/to").filter(|(_, to)| listed.contains(to)) {
            let Some((_, from)) = of("/from").find(|(other, _)| *other == run) else { continue };
            let made = git.text(&["rev-list", MOST, to, "--not", from, "--"], &[])?;
            for commit in made.lines() {
                left.remove(commit);
            }
        }
        Ok(left.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_said_exactly() {
        let outgoing = |from: Option<&str>, commits, yours| OutgoingCommits {
            remote: "origin".to_owned(),
            branch: "main".to_owned(),
            from: from.map(str::to_owned),
            to: "1b03800aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned(),
            commits,
            yours,
        };
        let from = Some("672971dbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb");
        let said = outgoing(from, 2, 1).to_string();
        assert_eq!(said, "origin main 672971d..1b03800, 2 commits, 1 of them yours");
        assert_eq!(outgoing(from, 1, 0).to_string(), "origin main 672971d..1b03800, 1 commit");
        assert_eq!(outgoing(None, 3, 0).to_string(), "origin main 1b03800 (new branch), 3 commits");
    }
}
