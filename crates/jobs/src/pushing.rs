//! Every push that warp makes, and asking a person about one.

use adapters::{
    git::{
        integrate::{PushError, RepositoryPair},
        outgoing::{HistoryScope, OutgoingCommits},
        sight::Need,
    },
    refs::GitError,
    secrets::redact,
};
use engine::Inquiry;
use project::{
    pushing::{Decides, KEEP_LOCAL, Outlet, PUSH, PUSH_IT, RETRY, commits},
    slots::Slot,
    spelled,
};

use crate::{Context, JobError, git_hooks};

/// The longest question, in characters.
const LONGEST: usize = 2000;

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

impl Context<'_> {
    /// Pushes the branch of a run from this workspace or another slot, if that may leave. The run's own commits come
    /// after the merge target.
    pub(crate) fn push_branch(
        &mut self,
        other: Option<&Slot>,
        outlet: &Outlet,
        target: &str,
        (commit, branch): (&str, &str),
    ) -> Result<Pushed, JobError> {
        let Some(remote) = outlet.branch_remote() else {
            return Ok(outlet.kept(branch).map_or(Pushed::Done(None), Pushed::Kept));
        };
        let world = |error: &dyn std::error::Error| JobError::World(spelled(error));
        let between = match other {
            Some(slot) => slot.between().clone(),
            None => self.between()?,
        };
        let base = between.bring_target(target, None, Need::Remote).map_err(|error| world(&error))?.commit;
        let outgoing = between
            .outgoing(remote, branch, (&base, commit), HistoryScope::Remote)
            .map_err(|error| world(&error))?;
        if let Some(kept) = self.keep_own(&outgoing)? {
            return Ok(Pushed::Kept(kept));
        }
        let is_checkout = other.is_none() && self.slot.is_none();
        self.push_leased(&between, &outgoing, commit, is_checkout)
    }

    /// Pushes a commit to a remote's branch, if that is where it was when the claim was last looked at. The person's own
    /// hook is asked before a branch of their checkout is pushed.
    pub(crate) fn push_leased(
        &self,
        between: &RepositoryPair,
        outgoing: &OutgoingCommits,
        commit: &str,
        is_checkout: bool,
    ) -> Result<Pushed, JobError> {
        let OutgoingCommits { remote, branch, .. } = outgoing;
        let there = match between.remote_tip(remote, branch) {
            Ok(there) => there,
            Err(error) => return pushed(Err(PushError::Git(error)), outgoing),
        };
        if is_checkout {
            let (_, address) = self.git().remote().map_err(JobError::World)?;
            let line = git_hooks::push_line(branch, commit, there.as_deref());
            git_hooks::pre_push(&self.shell, &self.place, (remote, &address), &line)?;
        }
        // Questions, hooks and remotes take their time: whoever has lost the claim meanwhile pushes nothing, and who loses
        // it from here on is refused by the remote.
        self.sync_journal()?;
        let pushed = pushed(between.push(remote, commit, branch, there.as_deref()), outgoing)?;
        // So that whoever is refused because of that offers nothing for review either.
        self.sync_journal()?;
        Ok(pushed)
    }

    /// Pushes the branch of a run, if that may leave; returns what is said of it. A branch that the remote does not take
    /// stays in the person's repository, unless they want it tried again.
    pub(crate) fn push_or_keep(
        &mut self,
        other: Option<&Slot>,
        outlet: &Outlet,
        target: &str,
        work: (&str, &str),
    ) -> Result<Option<String>, JobError> {
        let why = match self.push_branch(other, outlet, target, work)? {
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

    /// Pushes a branch that a server is to offer: there is no pull request for a branch that it does not have.
    pub(crate) fn push_to_offer(
        &mut self,
        outlet: &Outlet,
        target: &str,
        work: (&str, &str),
    ) -> Result<Option<String>, JobError> {
        let forge = self.forge().capabilities();
        if !forge.moves_branches {
            return self.push_or_keep(None, outlet, target, work);
        }
        let why = match self.push_branch(None, outlet, target, work)? {
            Pushed::Done(said) => return Ok(said),
            Pushed::Kept(why) | Pushed::Refused(why) => why,
        };
        let branch = work.1;
        let question = format!(
            "There is no pull request at {} without `{branch}` there, and it is {why}. Push it now, or try again later?",
            forge.name
        );
        match self.choose(&question, &[PUSH_IT, RETRY])?.as_deref() {
            Some(PUSH_IT) => match self.push_branch(None, &outlet.allowed(), target, work)? {
                Pushed::Done(said) => Ok(said),
                Pushed::Kept(_) | Pushed::Refused(_) => Err(undecided(&question, &[PUSH_IT, RETRY])),
            },
            Some(_) | None => Err(undecided(&question, &[PUSH_IT, RETRY])),
        }
    }

    /// Asks about commits of the person's own that a push would take along; returns why nothing is pushed, if so.
    pub(crate) fn keep_own(&mut self, outgoing: &OutgoingCommits) -> Result<Option<String>, JobError> {
        let OutgoingCommits { remote, branch, yours, .. } = outgoing;
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
fn pushed(result: Result<(), PushError>, outgoing: &OutgoingCommits) -> Result<Pushed, JobError> {
    match result {
        Ok(()) => Ok(Pushed::Done(Some(format!("pushed: {outgoing}")))),
        Err(PushError::Git(error @ GitError::Interrupted { .. })) => Err(JobError::World(spelled(&error))),
        Err(error) => Ok(Pushed::Refused(spelled(&error))),
    }
}

impl Context<'_> {
    /// Lets a person choose; nothing if nobody is there. The same question is asked once.
    pub(crate) fn choose(&mut self, question: &str, options: &[&str]) -> Result<Option<String>, JobError> {
        match &mut self.decides {
            Decides::Nobody => Ok(None),
            Decides::Here(ask) => Ok(ask(question, options)),
            Decides::InRun => {
                let asked = plain(question);
                let answer = self.choices()?.into_iter().find(|choice| choice.question == asked);
                match answer {
                    Some(choice) => Ok(Some(choice.option)),
                    None => Err(undecided(question, options)),
                }
            }
        }
    }

    /// Returns what a person has answered about a push in the phase that the run is in, newest first.
    pub(crate) fn choices(&mut self) -> Result<Vec<Choice>, JobError> {
        let Some(current) = self.current()? else { return Ok(Vec::new()) };
        let run = &current.run;
        let here = run.facts.questions.iter().rev().take_while(|asked| asked.at >= run.came_here_at());
        let choice = |asked: &Inquiry| {
            let question = asked.word("question").to_owned();
            asked.option().map(|option| Choice { question, option: option.to_owned() })
        };
        Ok(here.filter(|asked| asked.kind() == PUSH).filter_map(choice).collect())
    }
}

/// What a person has answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) question: String,
    pub(crate) option: String,
}

/// The error of work that waits for a person's choice.
pub(crate) fn undecided(question: &str, options: &[&str]) -> JobError {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    JobError::Undecided { question: plain(question), options }
}

/// Writes a question as it is recorded, so that it is found again: a remote's words may hold anything.
fn plain(question: &str) -> String {
    let question = redact(question);
    let kept = question.chars().filter(|c| !c.is_control() || *c == '\n').take(LONGEST).collect::<String>();
    kept.trim().to_owned()
}
