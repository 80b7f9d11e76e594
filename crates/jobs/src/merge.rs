//! Bringing what was tested to the merge target, or handing it over as a pull request.

use adapters::git::resume::MoveError;
use engine::{Run, keys, workflow::JobOutcome};
use forge::{ForgeError, Item, ItemId, NewPull, Refusal};
use journal::Durable;
use project::{
    ROUND, merge_key,
    pushing::{Goal, HAND_OVER, KEEP_LOCAL, Leaves, Outlet, REFUSED_PUSH, RETRY},
    rails, spelled,
};
use serde_json::json;

use crate::{
    Context, JobError, Landed, Mend, issue,
    job::{Report, Task},
    publish,
    pushing::undecided,
    report, review,
    words::short,
};

/// How the question ends whether refused work is handed over.
const HAND_OVER_INSTEAD: &str = ". Nothing was moved. Hand the work over as a pull request, or try again?";

/// Where the work is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Merged {
        target: String,
        commit: String,
        /// What was pushed, or why nothing was, a line each.
        said: Vec<String>,
    },
    /// It is offered as a new pull request.
    HandedOver {
        branch: String,
        pull: ItemId,
        target: String,
        /// What was pushed, or why nothing was.
        said: Option<String>,
        /// Why it was not merged, where it was to be.
        why: Option<NotMerged>,
    },
    /// It is the next round of a pull request that an earlier run has opened.
    Offered { branch: String, pull: ItemId, commit: String, said: Option<String> },
    /// The target has moved on too often meanwhile.
    Overtaken { why: String },
}

/// Why work was handed over that was to be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotMerged {
    /// Only a person merges changes of these files.
    ForReview(Vec<String>),
    /// The remote refused the target.
    Refused(String),
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        let handed_over = |branch: String, pull: ItemId| {
            Report::new(JobOutcome::Merged).with("handed_over", branch).with("pull", json!(pull))
        };
        match self {
            Self::Merged { target, commit, said } => {
                let merged = format!("`{target}` is at {} now, which was tested", short(&commit));
                Report::new(JobOutcome::Merged).with("commit", commit).say(merged).say_all(said)
            }
            Self::HandedOver { branch, pull, target, said, why } => {
                let why = why.map(|why| match why {
                    NotMerged::ForReview(files) => format!("not merged: {}", review::reason(&files)),
                    NotMerged::Refused(why) => {
                        format!("{why}; nothing was moved, a pull request is opened instead")
                    }
                });
                let offered = format!("`{branch}` is ready for review as pull request #{pull}");
                let shown = format!(
                    "`warp pr show {pull}` shows it; `warp pr merge {pull}` merges it into `{target}`"
                );
                handed_over(branch, pull).say_all(why).say(offered).say(shown).say_all(said)
            }
            Self::Offered { branch, pull, commit, said } => {
                let offered =
                    format!("pull request #{pull} is at {} now, and waits for review", short(&commit));
                let shown = format!("`warp pr show {pull}` shows it; `warp pr merge {pull}` merges it");
                handed_over(branch, pull).say(offered).say(shown).say_all(said)
            }
            Self::Overtaken { why } => {
                Report::new(JobOutcome::MergeFailed).with("failure", why.clone()).say(why)
            }
        }
    }
}

pub(crate) fn carry_out(
    cx: &mut Context<'_>,
    task: Task<'_>,
    durable: &Durable,
) -> Result<Outcome, JobError> {
    let run = task.run();
    let commit = tested(run)?;
    // What is offered already is merged when its reviewer has seen it.
    if let Some(item) = cx.offered(run)? {
        return cx.hand_over_again(run, &item, commit, durable);
    }
    cx.bring(run, commit, durable)
}

/// It is done if the target has what was tested, or a pull request offers it.
pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    let run = task.run();
    let commit = tested(run)?;
    let Some(item) = cx.offered(run)? else { return cx.merged_or_offered(run, commit) };
    let is_done = item.has_comment(&round(run)) && item.pull.as_ref().is_some_and(|pull| pull.head == commit);
    let branch = item.pull.as_ref().map(|pull| pull.branch.clone()).unwrap_or_default();
    Ok(is_done.then(|| Outcome::Offered { branch, pull: item.id, commit: commit.to_owned(), said: None }))
}

/// Returns the commit that has passed the final test.
fn tested(run: &Run) -> Result<&str, JobError> {
    run.tested_commit.as_deref().ok_or_else(|| {
        let (branch, target) = (&run.branches.branch, &run.branches.merge_target);
        JobError::World(format!(
            "it is not known which commit passed the final test: a person merges `{branch}` into `{target}`"
        ))
    })
}

/// Returns the marker of the comment that says that a run has offered another round of a pull request.
fn round(run: &Run) -> String {
    format!("{ROUND}{}", run.id)
}

impl Context<'_> {
    /// Looks whether the run's work is merged or offered already, by an attempt that could not report it.
    pub(crate) fn merged_or_offered(&mut self, run: &Run, commit: &str) -> Result<Option<Outcome>, JobError> {
        let goal = Goal::of(run.level, run.settings.get(keys::AUTO_MERGE));
        let target = run.branches.merge_target.clone();
        if goal != Goal::Merge {
            let Some(pull) = self.offers(run, commit)? else { return Ok(None) };
            let item = self.forge().pull(pull)?;
            let branch = item.and_then(|item| item.pull.as_ref().map(|pull| pull.branch.clone()));
            let branch = branch.unwrap_or_default();
            return Ok(Some(Outcome::HandedOver { branch, pull, target, said: None, why: None }));
        }
        let outlet = self.outlet(run, goal)?;
        // A branch that is pushed beside a merge comes after it, and the remote alone knows whether it did.
        if outlet.leaves == Leaves::Branch && outlet.remote.is_some() {
            return Ok(None);
        }
        let between = self.between()?;
        let world = |error: &dyn std::error::Error| JobError::World(spelled(error));
        let noted = between.merge_of(&merge_key(run.id.as_str(), run.issue.as_deref()));
        let Some((_, commit)) = noted.map_err(|error| world(&error))? else { return Ok(None) };
        // The person's own target moves last: a remote's has moved before.
        let tip = adapters::refs::one(&between.origin, &format!("refs/heads/{target}"));
        let Some(tip) = tip.map_err(|error| world(&error))? else { return Ok(None) };
        if !between.is_part(&commit, &tip).map_err(|error| world(&error))? {
            return Ok(None);
        }
        if let Some(slot) = &self.slot {
            rails::confirm(slot.person(), &format!("refs/heads/{target}"), &commit)?;
        }
        self.finish_merge(run, &commit)?;
        Ok(Some(Outcome::Merged { target, commit, said: Vec::new() }))
    }

    /// Does what follows once the target has moved.
    fn finish_merge(&mut self, run: &Run, commit: &str) -> Result<(), JobError> {
        self.finish_issue(run, commit)?;
        if self.slot.is_none() {
            rails::remember(&self.place)?;
        }
        Ok(())
    }

    /// Brings a commit to the merge target, or hands it over, as the level says.
    pub(crate) fn bring(&mut self, run: &Run, commit: &str, durable: &Durable) -> Result<Outcome, JobError> {
        let goal = Goal::of(run.level, run.settings.get(keys::AUTO_MERGE));
        let mut outlet = self.outlet(run, goal)?;
        let choices = self.choices()?;
        if choices.first().is_some_and(|newest| newest.option == KEEP_LOCAL) {
            outlet = outlet.kept_here();
        }
        if let Some(choice) = choices.iter().find(|choice| choice.option == HAND_OVER) {
            let why = choice.question.strip_suffix(HAND_OVER_INSTEAD).unwrap_or(&choice.question);
            return self.hand_over(run, commit, &outlet.for_branch(), Some(why.to_owned()), durable);
        }
        if goal != Goal::Merge {
            return self.hand_over(run, commit, &outlet, None, durable);
        }
        let for_review = self.for_review(run, commit)?;
        if !for_review.is_empty() {
            let mut outcome = self.hand_over(run, commit, &outlet.for_branch(), None, durable)?;
            if let Outcome::HandedOver { why, .. } = &mut outcome {
                *why = Some(NotMerged::ForReview(for_review));
            }
            return Ok(outcome);
        }
        let branch = self.git().branch();
        match self.land(run, &branch, commit, &outlet)? {
            Landed::At { commit, behind, mut said } => {
                self.finish_merge(run, &commit)?;
                said.extend(behind);
                Ok(Outcome::Merged { target: run.branches.merge_target.clone(), commit, said })
            }
            Landed::NotTaken { why, commit: Some(commit) } => {
                self.hand_over_refused(run, &commit, &outlet, why)
            }
            Landed::NotTaken { why, commit: None } => {
                let target = &run.branches.merge_target;
                Err(undecided(
                    &format!("{why}. Try again, or merge into your own `{target}` without a push?"),
                    &[RETRY, KEEP_LOCAL],
                ))
            }
            Landed::Overtaken(why) => Ok(Outcome::Overtaken { why }),
            Landed::Stuck { why, mend } => Err(JobError::World(format!("{why}{}", self.in_workspace(&mend)))),
        }
    }

    /// The remote refused the merge target, and nothing has moved: the work is handed over instead, unless a person wants it
    /// tried again.
    fn hand_over_refused(
        &mut self,
        run: &Run,
        commit: &str,
        outlet: &Outlet,
        why: String,
    ) -> Result<Outcome, JobError> {
        let question = format!("{why}{HAND_OVER_INSTEAD}");
        match self.choose(&question, &[HAND_OVER, RETRY])?.as_deref() {
            // It was tried again just now.
            Some(RETRY) => Err(undecided(&question, &[HAND_OVER, RETRY])),
            Some(_) | None => {
                let durable = &self.sync_journal()?;
                let mut outcome =
                    self.hand_over(run, commit, &outlet.for_branch(), Some(why.clone()), durable)?;
                if let Outcome::HandedOver { why: reason, .. } = &mut outcome {
                    *reason = Some(NotMerged::Refused(why));
                }
                Ok(outcome)
            }
        }
    }

    /// Says what a person does in the run's own workspace about a branch that is only there.
    fn in_workspace(&self, mend: &Mend) -> String {
        let root = self.place.root.display();
        let then = if self.slot.is_some() { "answer `continue`" } else { "`warp next`" };
        match mend {
            Mend::Conflict { onto } => format!(
                ". Bring them together in the run's workspace: `cd {root}`, `git rebase {}`, fix the files, `git add --all`, \
                 `git rebase --continue`; then {then}",
                short(onto)
            ),
            Mend::Branch => {
                format!("\nFix and commit it in the run's workspace (`cd {root}`), then {then}")
            }
            Mend::Target => String::new(),
        }
    }

    /// Hands the work over as a pull request, whose branch is in the person's repository. `refused` says why the remote did
    /// not take the merge target, if that is the reason.
    fn hand_over(
        &mut self,
        run: &Run,
        commit: &str,
        outlet: &Outlet,
        refused: Option<String>,
        durable: &Durable,
    ) -> Result<Outcome, JobError> {
        // A workspace that an older version has left on no branch still has the run's.
        let branch = Some(self.git().branch()).filter(|branch| !branch.is_empty());
        let (mut branch, target) =
            (branch.unwrap_or_else(|| run.branches.branch.clone()), run.branches.merge_target.clone());
        if let Some(slot) = &self.slot {
            branch = slot.deliver(run.id.as_str(), commit, &branch, durable)?;
        }
        let pushed = self.push_to_offer(outlet, &target, (commit, &branch))?;
        let issue = run.issue.as_deref().and_then(ItemId::typed);
        let title = match issue {
            Some(number) => self.tracker().item(number)?.map(|item| item.title.clone()),
            None => run.feature.clone(),
        };
        let criteria = issue::criteria(&*self.tracker(), run)?;
        let pull = NewPull {
            title: title.unwrap_or_else(|| branch.clone()),
            body: review::on_top(&self.for_review(run, commit)?, report::pull(run, &criteria)),
            branch: branch.clone(),
            target: target.clone(),
            head: commit.to_owned(),
            issue,
            run: Some(run.id.to_string()),
        };
        let filed = self.forge().ensure_pull(&pull, &publish::marker(run))?;
        if let Some(number) = issue {
            let words = format!("Ready for review as pull request #{}.", filed.id);
            self.comment(number, &words, &publish::handed_over(run))?;
        }
        if let Some(why) = refused {
            let remote = outlet.remote.as_deref().unwrap_or("the remote");
            let words = format!("{why}\n\n`{remote}` refuses pushes to `{target}`: merge `{branch}` there.");
            self.comment(filed.id, &words, &format!("{REFUSED_PUSH}{}", run.id))?;
        }
        Ok(Outcome::HandedOver { branch, pull: filed.id, target, said: pushed, why: None })
    }

    /// Moves the branch of a pull request on to what was tested, and offers that for review.
    fn hand_over_again(
        &mut self,
        run: &Run,
        item: &Item,
        commit: &str,
        durable: &Durable,
    ) -> Result<Outcome, JobError> {
        let number = item.id;
        let pull = item.pull.as_ref().ok_or(Refusal::NotAPull { id: number }).map_err(ForgeError::from)?;
        // In a person's checkout the branch is where they have it.
        let moved =
            self.slot.as_ref().map(|slot| slot.move_on(run.id.as_str(), &pull.branch, commit, durable));
        match moved.transpose() {
            Ok(_) => {}
            Err(MoveError::Moved { branch, now }) => {
                return Err(JobError::World(format!(
                    "somebody has moved `{branch}` to {0} meanwhile. Bring both together in the run's workspace: `cd {1}`, \
                     `git rebase {0}`, fix the files, `git add --all`, `git rebase --continue`; then answer `continue`",
                    short(&now),
                    self.place.root.display()
                )));
            }
            Err(error) => {
                return Err(JobError::World(format!("{}; then answer `continue`", spelled(&error))));
            }
        }
        let outlet = self.outlet(run, Goal::HandOver)?;
        let pushed = match self.slot.is_some() {
            true => self.push_moved(None, &outlet, &pull.target, (commit, &pull.branch))?,
            false => None,
        };
        self.forge().offer_head(number, commit, None)?;
        let words = format!("Run {} offers {} (before: {}).", run.id, short(commit), short(&pull.head));
        self.comment(number, &words, &round(run))?;
        Ok(Outcome::Offered {
            branch: pull.branch.clone(),
            pull: number,
            commit: commit.to_owned(),
            said: pushed,
        })
    }
}
