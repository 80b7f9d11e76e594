//! Bringing tested work to where it belongs: a pull request, or the merge target itself.
//!
//! In a workspace of the run's own nothing of the person's repository is touched until the work was tested on top of
//! the newest target; then one branch moves, from the commit that was looked at to the one that was tested.

use std::{fs::File, time::Duration};

use adapters::{
    clock::after,
    git::{
        integrate::{PushError, Rebase, RebaseError, RepositoryPair, TargetError},
        outgoing::HistoryScope,
        sight::{Need, Relation},
        target::{ForwardError, Forwarded},
    },
    hold::FileLock,
    process::Control,
    refs::GitError,
};
use engine::Run;
use forge::{ForgeError, Item, ItemId, Refusal};
use journal::Durable;
use project::{
    Error, merge_key,
    pushing::{Leaves, Outlet},
    rails,
    slots::SlotError,
    spelled,
};

use crate::{
    Context, JobError,
    words::{are, list, short},
};

/// How often it is tried at once because somebody else was faster: each time that is one run less to wait for.
const TRIES: usize = 3;

/// How long a run waits at most while others land, and how often it looks whether it is to stop.
const LONGEST_TURN: Duration = Duration::from_secs(20 * 60);
const LOOK: Duration = Duration::from_secs(1);

/// What became of a branch that was to be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// The target is at this commit now.
    At {
        commit: String,
        /// Why the person's own branch is not there yet, and what brings it there: the remote has the commit.
        behind: Option<String>,
        /// What was pushed, or why nothing was, a line each.
        said: Vec<String>,
    },
    /// The remote did not take the target, or did not answer; nothing has moved.
    NotTaken {
        why: String,
        /// The commit that was tested on top of the newest target, if it came to that.
        commit: Option<String>,
    },
    /// Somebody else was faster: it is worth another try.
    Overtaken(String),
    /// It needs a person.
    Stuck { why: String, mend: Mend },
}

/// What a person has to put right before a branch can be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mend {
    /// The branch, which does not go on top of this commit by itself.
    Conflict { onto: String },
    /// The branch: with it, the tests fail.
    Branch,
    /// Where the branch is to go, in the person's repository.
    Target,
}

impl Context<'_> {
    /// Puts a branch on top of the newest target, tests that if it is not what was tested, and moves the target there.
    pub fn land(
        &mut self,
        run: &Run,
        branch: &str,
        tested: &str,
        outlet: &Outlet,
    ) -> Result<Landed, JobError> {
        let mut tested = tested.to_owned();
        // One after the other: whoever rebases and tests while another merges does it in vain.
        let _turn = self.landing_turn()?;
        for _ in 1..TRIES {
            match self.land_once(run, branch, &mut tested, outlet)? {
                Landed::Overtaken(_) => {}
                landed @ (Landed::At { .. } | Landed::NotTaken { .. } | Landed::Stuck { .. }) => {
                    return Ok(landed);
                }
            }
        }
        self.land_once(run, branch, &mut tested, outlet)
    }

    /// Waits until no other run of the project is landing. That spares work and is needed for nothing else, so one that takes
    /// too long is not waited for.
    fn landing_turn(&self) -> Result<Option<FileLock>, JobError> {
        let id = self.place.ensure_project_id().map_err(Error::from)?;
        let path = self.dirs.project(&id).join("landing.lock");
        let failed = |error| JobError::World(format!("failed to lock `{}`: {error}", path.display()));
        let until = after(self.dirs.clock.now(), LONGEST_TURN);
        while self.shell.go() == Control::On && self.dirs.clock.now() < until {
            let file =
                File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
            if let Some(turn) = FileLock::take(file, LOOK).map_err(failed)? {
                return Ok(Some(turn));
            }
        }
        Ok(None)
    }

    fn land_once(
        &mut self,
        run: &Run,
        branch: &str,
        tested: &mut String,
        outlet: &Outlet,
    ) -> Result<Landed, JobError> {
        let target = &run.branches.merge_target;
        let between = self.between()?;
        let need = if outlet.target_remote().is_some() { Need::Remote } else { Need::Local };
        let sight = match between.bring_target(target, outlet.remote.as_deref(), need) {
            Ok(sight) => sight,
            Err(error @ (TargetError::NoSuchBranch { .. } | TargetError::Diverged { .. })) => {
                return Ok(Landed::Stuck { why: spelled(&error), mend: Mend::Target });
            }
            Err(TargetError::Git(error)) if need == Need::Remote && !is_interrupted(&error) => {
                let remote = outlet.remote.as_deref().unwrap_or_default();
                let why = format!("`{remote}` cannot be reached: {}", spelled(&error));
                return Ok(Landed::NotTaken { why, commit: None });
            }
            Err(error) => return Err(JobError::World(spelled(&error))),
        };
        let (newest, mut said) = (sight.commit, local_only(&sight.relation, target));
        // In a person's checkout there may be commits after the one that was tested; those are not the run's.
        let is_ready = self.slot.is_none()
            && between.is_part(&newest, tested).map_err(|error| JobError::World(spelled(&error)))?;
        let head = if is_ready {
            tested.clone()
        } else {
            match self.rebase(branch, &newest)? {
                Rebase::Nothing | Rebase::Done { .. } => {}
                Rebase::Conflicts { files } => {
                    let files = list(&files);
                    let why = format!("`{branch}` and `{target}` have changed the same lines of {files}");
                    return Ok(Landed::Stuck { why, mend: Mend::Conflict { onto: newest } });
                }
            }
            self.git().head_commit().map_err(JobError::World)?
        };
        if head != *tested {
            self.show_now()?;
            let outcome = suite::run(&self.shell, &self.place, run)?;
            if let Some(held) = outcome.held {
                return Err(JobError::Held(vec![held]));
            }
            if !outcome.passed {
                let why = format!(
                    "on top of the newest `{target}` the tests fail: {}\n{}",
                    outcome.said, outcome.output
                );
                return Ok(Landed::Stuck { why, mend: Mend::Branch });
            }
            suite::remember(&self.place, run, &head, &outcome)?;
            tested.clone_from(&head);
        }
        self.keep_outside(run, &head)?;
        let mut remote = outlet.target_remote();
        let mut pushed = None;
        if let Some(name) = remote {
            let base = self.first_of(run, &newest, &head)?;
            let outgoing = between.outgoing(name, target, (&base, &head), HistoryScope::Branch);
            let outgoing = outgoing.map_err(|error| JobError::World(spelled(&error)))?;
            match self.keep_own(&outgoing)? {
                Some(kept) => {
                    said.push(kept);
                    remote = None;
                }
                None => pushed = Some(format!("pushed: {outgoing}")),
            }
        }
        // With each try: the claim may have been lost while the tests ran or a push was refused.
        let durable = &self.sync_journal()?;
        if head != newest {
            // Before anything moves: whoever looks after a crash finds the target moved, and not from where.
            for key in [run.id.as_str(), &merge_key(run.id.as_str(), run.issue.as_deref())] {
                between.note_merge(key, &newest, &head).map_err(SlotError::from)?;
            }
        }
        let behind = match self.fast_forward(&between, run, remote, target, (&newest, &head), durable) {
            Ok(Forwarded::Everywhere) => None,
            Ok(Forwarded::AtRemote(error)) => Some(behind(remote.unwrap_or_default(), target, &error)),
            Err(error) if error.is_overtaken() => return Ok(Landed::Overtaken(spelled(&error))),
            Err(ForwardError::Push(PushError::Git(error))) if is_interrupted(&error) => {
                return Err(JobError::World(spelled(&error)));
            }
            Err(ForwardError::Push(error @ PushError::Locked { .. })) => {
                return Err(JobError::RemoteLocked(spelled(&error)));
            }
            Err(ForwardError::Push(error)) => {
                return Ok(Landed::NotTaken { why: spelled(&error), commit: Some(head) });
            }
            Err(error) => return Ok(Landed::Stuck { why: spelled(&error), mend: Mend::Target }),
        };
        said.extend(pushed);
        match outlet.leaves {
            Leaves::Target => {}
            Leaves::Branch => said.extend(self.push_or_keep(None, outlet, target, (&head, branch))?),
            Leaves::Nothing => said.extend(outlet.kept(target)),
        }
        Ok(Landed::At { commit: head, behind, said })
    }

    /// Moves the merge target to what was tested: the remote's, if one is named, the person's, and a working tree that
    /// stands on it.
    fn fast_forward(
        &self,
        between: &RepositoryPair,
        run: &Run,
        remote: Option<&str>,
        target: &str,
        (old, new): (&str, &str),
        durable: &Durable,
    ) -> Result<Forwarded, ForwardError> {
        if let Some(slot) = &self.slot {
            return slot.fast_forward(remote, target, (old, new), durable);
        }
        between.fast_forward(Some(run.id.as_str()), remote, target, old, new)
    }

    /// Puts the branch's commits on top of `onto`. A rebase that a person has under way in their own checkout is theirs.
    fn rebase(&self, branch: &str, onto: &str) -> Result<Rebase, JobError> {
        let world = |error: &dyn std::error::Error| JobError::World(spelled(error));
        if let Some(slot) = &self.slot {
            return slot.rebase(branch, onto).map_err(|error| world(&error));
        }
        let between = self.between()?;
        if between.is_rebasing() {
            return Err(JobError::World(
                "a rebase is under way in this checkout: finish it with `git rebase --continue` or end it with \
                 `git rebase --abort`, then `warp next`"
                    .to_owned(),
            ));
        }
        let done = between.rebase(branch, onto).map_err(|error| match error {
            RebaseError::Dirty { files } => JobError::World(format!(
                "`{branch}` has to be rebased onto the newest `{}`, and {} not committed: commit or stash that, then \
                 `warp next`",
                short(onto),
                are(&files)
            )),
            error @ (RebaseError::Said { .. } | RebaseError::Git(_)) => world(&error),
        })?;
        rails::remember(&self.place)?;
        Ok(done)
    }

    /// Returns the commit after which all of `head` is the run's own. A branch in a person's checkout may have begun with
    /// commits of theirs.
    fn first_of(&self, run: &Run, newest: &str, head: &str) -> Result<String, JobError> {
        let first = run.chunk.first_base.as_deref().filter(|_| self.slot.is_none());
        let Some(first) = first else { return Ok(newest.to_owned()) };
        let between = self.between()?;
        let is_part = |commit: &str, of: &str| {
            between.is_part(commit, of).map_err(|error| JobError::World(spelled(&error)))
        };
        let is_later = is_part(newest, first)? && is_part(first, head)?;
        Ok(if is_later { first } else { newest }.to_owned())
    }

    /// Closes an issue whose criteria are all met by what was merged, and says so in it.
    pub(crate) fn finish_issue(&mut self, run: &Run, commit: &str) -> Result<(), JobError> {
        let Some(number) = run.issue.as_deref().and_then(ItemId::typed) else { return Ok(()) };
        let Some(item) = self.tracker().item(number)? else { return Ok(()) };
        let left = unticked(&item);
        let words = if left.is_empty() {
            format!("Merged as {}.", short(commit))
        } else {
            format!("Merged as {}. Still open: {}.", short(commit), left.join("; "))
        };
        let marker = format!("merged:{}:{commit}", run.id);
        if !left.is_empty() {
            return self.comment(number, &words, &marker);
        }
        self.close_todos(number, &words)?;
        self.comment(number, &words, &marker)?;
        self.tracker().close(number, Some("merged"))?;
        Ok(())
    }

    /// Closes the issues that questions about an issue have become, which is merged.
    fn close_todos(&mut self, number: ItemId, words: &str) -> Result<(), JobError> {
        for (todo, _) in self.todos(number)? {
            let said = format!("#{number} is done without an answer. {words}");
            self.comment(todo, &said, &format!("settled:{number}"))?;
            self.tracker().close(todo, Some(&format!("#{number} is merged")))?;
        }
        Ok(())
    }

    /// Comments on an issue; one that is full goes without.
    pub(crate) fn comment(&mut self, number: ItemId, words: &str, marker: &str) -> Result<(), JobError> {
        match self.tracker().comment(number, words, Some(marker)) {
            Ok(_) | Err(ForgeError::Refused(Refusal::Full { .. })) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the criteria of an issue that are not ticked.
fn unticked(item: &Item) -> Vec<String> {
    item.boxes().items.into_iter().filter(|(ticked, _)| !ticked).map(|(_, text)| text).collect()
}

/// Says why the person's own branch is not where the remote's is, and what brings it there.
pub(crate) fn behind(remote: &str, target: &str, error: &ForwardError) -> String {
    let why = spelled(error);
    format!("only `{remote}` has it: {why}; `git pull {remote} {target}` brings your own `{target}` along")
}

/// Says that the person's own branch was taken instead of the remote's, where that is so.
fn local_only(relation: &Relation, target: &str) -> Vec<String> {
    match relation {
        Relation::Unreached { remote, why } => {
            vec![format!("`{remote}` was not reached, so your own `{target}` was taken as it is: {why}")]
        }
        Relation::Diverged { remote } => vec![format!(
            "`{target}` and `{remote}/{target}` have each commits that the other has not; your own was taken"
        )],
        Relation::NoRemote
        | Relation::NotThere { .. }
        | Relation::OnlyThere { .. }
        | Relation::Same { .. }
        | Relation::Ahead { .. }
        | Relation::Behind { .. } => Vec::new(),
    }
}

fn is_interrupted(error: &GitError) -> bool {
    matches!(error, GitError::Interrupted { .. })
}
