//! Merging a pull request where a server moves the branches.
//!
//! Warp puts the branch on top of the newest target and tests that. The server's checks of the same commit have to be
//! green, and the server merges exactly that commit or refuses. "No checks" is not green: what nothing has tested is not
//! merged.

use std::fmt;

use adapters::{
    git::sight::{Need, Relation},
    refs,
};
use engine::{Run, Settings};
use forge::{Author, ChecksState, ForgeError, ItemId, Merge, Pull, StepId};
use project::{Dirs, Error, Place, Shell, rails, slots::Pool};

use crate::{Context, JobError, Mend, MergeError, MergedPull, UpdatedPull, land, words::short};

/// Why the checks of a commit forbid its merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotGreen {
    /// They have not finished.
    Running,
    /// They have not started.
    NotStarted,
    /// These steps failed.
    Failed(Vec<StepId>),
    /// These steps failed, and not because of the code.
    Infra(Vec<StepId>),
    /// Neither the server nor warp has tested the commit.
    Untested,
}

impl fmt::Display for NotGreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            |steps: &[StepId]| steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>().join(", ");
        match self {
            Self::Running => f.write_str("its checks are still running"),
            Self::NotStarted => f.write_str("its checks have not started"),
            Self::Failed(steps) => write!(f, "its checks failed: {}", names(steps)),
            Self::Infra(steps) => {
                write!(f, "its checks failed, but not because of the code: {}", names(steps))
            }
            Self::Untested => f.write_str("nothing has tested it: it has no checks and no test command"),
        }
    }
}

impl Context<'_> {
    /// Merges a pull request of a run: rebased and tested if its target has moved on, checked, and merged by the server.
    pub(crate) fn merge_at_server(
        &mut self,
        pool: &Pool,
        (number, pull): (ItemId, &Pull),
        by: Author,
        settings: &Settings,
        shell: impl FnOnce(&Place, &Dirs, &Run) -> Result<Shell, Error>,
    ) -> Result<MergedPull, MergeError> {
        let mut said = Vec::new();
        let (head, is_tested) = match self.update_pull(pool, number, settings, shell)? {
            UpdatedPull::Current { is_tested, .. } => (pull.head.clone(), is_tested),
            UpdatedPull::Moved { target, commit, tests, is_tested, said: pushed, .. } => {
                said.push(format!("put on top of the newest `{target}`: {tests}"));
                self.is_at_server(&pull.branch, &commit).map_err(|why| MergeError::NotTaken {
                    number,
                    target,
                    why: pushed.clone().unwrap_or(why),
                })?;
                said.extend(pushed);
                (commit, is_tested)
            }
            UpdatedPull::Conflicts { files } => {
                let (branch, target) = (pull.branch.clone(), &pull.target);
                let why =
                    format!("`{branch}` and `{target}` have changed the same lines of {}", files.join(", "));
                return Err(MergeError::Stuck {
                    number,
                    branch,
                    why,
                    mend: Mend::Conflict { onto: target.clone() },
                });
            }
        };
        self.merge_head(number, pull, &head, is_tested, by, said)
    }

    /// Merges a pull request that no run of this machine has made. Only the server's checks say that it is good.
    pub(crate) fn merge_unseen(
        &mut self,
        number: ItemId,
        pull: &Pull,
        by: Author,
    ) -> Result<MergedPull, MergeError> {
        self.merge_head(number, pull, &pull.head, false, by, Vec::new())
    }

    fn merge_head(
        &mut self,
        number: ItemId,
        pull: &Pull,
        head: &str,
        is_tested: bool,
        by: Author,
        mut said: Vec<String>,
    ) -> Result<MergedPull, MergeError> {
        if let Some(why) = self.not_green(head, is_tested)? {
            return Err(MergeError::NotGreen { number, why });
        }
        self.sync_journal()?;
        let item = self.forge_as(by).merge(number, &Merge { head, landed: None })?;
        let commit = item.pull.as_ref().and_then(|pull| pull.merged.clone());
        let commit = commit.ok_or_else(|| ForgeError::BadAnswer {
            problem: format!("the forge says that #{number} is merged, and not as which commit"),
        })?;
        if let Some(current) = self.made_by(pull)? {
            let mut run = Run::clone(&current.run);
            run.issue = pull.issue.map(|issue| issue.to_string());
            self.tick_again(number, pull, &run)?;
            self.finish_issue(&run, &commit)?;
        }
        let behind = self.bring_home(&pull.target);
        // The branch may be protected, or deleted by the server itself; the merge stands all the same.
        if let Err(error) = self.forge().ensure_branch_removed(number) {
            said.push(format!("`{}` was not deleted at the server: {error}", pull.branch));
        }
        let closed = match pull.issue {
            Some(issue) => self.tracker().item(issue)?.filter(|item| !item.is_open()).map(|item| item.id),
            None => None,
        };
        let (target, branch) = (pull.target.clone(), pull.branch.clone());
        Ok(MergedPull { target, commit, branch, behind, said, closed })
    }

    /// Tells whether the server's branch is at a commit; why not, otherwise.
    fn is_at_server(&self, branch: &str, commit: &str) -> Result<(), String> {
        let remote = self.remote().ok_or_else(|| "there is no remote".to_owned())?;
        let between = self.place.between().map_err(|error| error.to_string())?;
        match between.remote_tip(&remote, branch).map_err(|error| error.to_string())? {
            Some(tip) if tip == commit => Ok(()),
            Some(_) | None => Err(format!("`{branch}` at `{remote}` is not at {}", short(commit))),
        }
    }

    /// Returns why a commit may not be merged; none if its checks are green.
    fn not_green(&mut self, commit: &str, is_tested: bool) -> Result<Option<NotGreen>, JobError> {
        let state = match self.checks() {
            Some(checks) => checks.state(commit)?,
            None => ChecksState::None,
        };
        Ok(match state {
            ChecksState::Passed | ChecksState::Skipped => None,
            ChecksState::None if is_tested => None,
            ChecksState::None => Some(NotGreen::Untested),
            ChecksState::NotStarted => Some(NotGreen::NotStarted),
            ChecksState::Running => Some(NotGreen::Running),
            ChecksState::Failed(steps) => Some(NotGreen::Failed(steps)),
            ChecksState::Infra(steps) => Some(NotGreen::Infra(steps)),
        })
    }

    /// Brings the person's own target to what the server has merged; returns why it is not there, and what brings it there.
    fn bring_home(&self, target: &str) -> Option<String> {
        let remote = self.remote()?;
        let by_hand = |why: String| {
            format!("your own `{target}` does not have it yet: {why}; `git pull {remote} {target}` brings it")
        };
        let between = match self.place.between() {
            Ok(between) => between,
            Err(error) => return Some(by_hand(error.to_string())),
        };
        let sight = match between.bring_target(target, Some(&remote), Need::Local) {
            Ok(sight) => sight,
            Err(error) => return Some(by_hand(error.to_string())),
        };
        match &sight.relation {
            Relation::Same { .. } | Relation::OnlyThere { .. } | Relation::NoRemote => None,
            Relation::Behind { .. } => {
                let full = format!("refs/heads/{target}");
                let here = match refs::one(&between.origin, &full) {
                    Ok(here) => here?,
                    Err(error) => return Some(by_hand(error.to_string())),
                };
                match between.fast_forward(None, None, target, &here, &sight.commit) {
                    Ok(_) => {
                        // A list of refs that cannot be written makes the next look take this for somebody else's move,
                        // no worse.
                        let _ = rails::confirm(&self.place, &full, &sight.commit);
                        None
                    }
                    Err(error) => Some(land::behind(&remote, target, &error)),
                }
            }
            Relation::Unreached { .. }
            | Relation::NotThere { .. }
            | Relation::Ahead { .. }
            | Relation::Diverged { .. } => Some(by_hand(sight.relation.describe(target))),
        }
    }
}
