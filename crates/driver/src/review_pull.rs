//! An agent reviews a pull request: another role than its author's, in a fresh conversation, with a tree that it can only read.
//!
//! The change is put to it in parts of a bounded size, and what it says becomes one verdict by the rules of [`review`]. That is
//! posted as a comment, then as a formal review of the commit that was looked at. The comments are all that is kept: who comes
//! again reads there what was reviewed, what was found, and how often a review has failed.
//!
//! Invariants:
//! - A review that failed says nothing about the change: it leaves a comment that says so, and no verdict.
//! - Nothing is approved of which a part was not read.
//! - Only comments of the reviewer's own account are read back.

mod change;
mod phase;
mod post;
mod prompt;
mod turn;

use std::path::Path;

use adapters::agent::NamedError;
use engine::{Run, Settings, keys, visible_text};
use forge::{Author, ForgeError, Item, ItemId, Pull};
use project::{Error, Workspace, admission::AdmissionError, counted, slots::SlotError};
use review::{Answer, Judgement, Known, PastReview, Verdict, comment, judge, rules::Case};

use crate::{
    brief,
    interrupts::Interrupts,
    show::Show,
    spend::SpendError,
    start::{StartError, Walled},
};
use change::Change;
use post::{Conclusion, Posting};
use prompt::{Again, Asked, Facts};
use turn::{Reviewer, Trouble};

/// How often a review of one commit may fail before a person is asked.
const MOST_FAILURES: usize = 3;

/// What a person wants of a review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewOptions {
    /// Who reviews; without one, as it is set.
    pub agent: Option<String>,
    pub model: Option<String>,
    /// Whether a commit is reviewed again that was, and whatever the limits say.
    pub is_forced: bool,
    pub walled: Walled,
}

/// How a review ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewEnd {
    Reviewed(Box<Reviewed>),
    /// The reviewer has said nothing that can be used, so many times by now.
    Failed {
        why: String,
        times: usize,
        most: usize,
    },
    /// A person has to decide.
    ForPerson {
        why: String,
    },
    /// Nobody can review now.
    Held {
        why: String,
    },
    Interrupted,
}

/// A review of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reviewed {
    pub number: ItemId,
    pub head: String,
    pub round: u64,
    pub verdict: Verdict,
    pub reason: String,
    pub findings: Vec<Known>,
    /// The issues that its follow-ups are.
    pub follow_ups: Vec<ItemId>,
    /// What a person should know, a line each.
    pub notes: Vec<String>,
    /// What the author is asked for, where changes are requested.
    pub requested: String,
    /// Whether the forge has it as a formal review; otherwise the comment is all.
    pub is_formal: bool,
    /// Whether it was made just now.
    pub is_new: bool,
}

/// Why a review could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReviewError {
    #[error("#{number} is merged already")]
    Merged { number: ItemId },
    #[error("#{number} is closed")]
    Closed { number: ItemId },
    #[error("commit {head} of #{number} cannot be had: {why}")]
    NoCommit { number: ItemId, head: String, why: String },
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Slot(#[from] SlotError),
    #[error(transparent)]
    Agent(#[from] NamedError),
    #[error(transparent)]
    Spend(#[from] SpendError),
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    #[error(transparent)]
    Failed(#[from] Error),
    #[error("{0}")]
    World(String),
}

/// Lets an agent review a pull request, and says so on the forge.
pub fn review_pull(
    here: &mut Workspace,
    settings: &Settings,
    number: ItemId,
    options: &ReviewOptions,
    interrupts: &Interrupts,
    show: &mut dyn Show,
) -> Result<ReviewEnd, ReviewError> {
    let forge = here.forge_as(Author::reviewer());
    let (item, pull) = forge.get(number)?;
    match (&pull.merged, item.is_open()) {
        (Some(_), _) => return Err(ReviewError::Merged { number }),
        (None, false) => return Err(ReviewError::Closed { number }),
        (None, true) => {}
    }
    let me = forge.whoami()?;
    let history = comment_history(&item, &me);
    let posting = Posting { forge: forge.as_ref(), number, pull: &pull, history: &history };
    let known = history.of(&pull.head);
    if let Some(known) = known.filter(|_| !options.is_forced) {
        return Ok(ReviewEnd::Reviewed(Box::new(posting.settle(known)?)));
    }
    let before = history.before(&pull.head);
    let most_rounds = settings.get(keys::MAX_REVIEW_ROUNDS).max(1);
    let round = round_after(&history.reviews, &pull.head);
    if !options.is_forced {
        if history.failures_of(&pull.head) >= MOST_FAILURES {
            let times = counted(MOST_FAILURES as u64, "time", "times");
            return Ok(ReviewEnd::ForPerson { why: format!("the review of #{number} has failed {times}") });
        }
        if round > most_rounds {
            let rounds = counted(most_rounds, "round of review has", "rounds of review have");
            let why = format!("{rounds} come to no end for #{number} (max_review_rounds)");
            return Ok(ReviewEnd::ForPerson { why });
        }
    }
    let slot = change::take(here, number, &pull)?;
    let mut sight = Sight { item: &item, pull: &pull, me: &me, before, round, notes: Vec::new() };
    let asked = sight.ask((here, settings), &slot, options, interrupts, show);
    let judged = asked.map(|asked| {
        asked.map(|told| {
            let judged = sight.judge(&told, slot.root());
            (told, judged)
        })
    });
    slot.discard(&pull.target)?;
    match judged? {
        Err(Trouble::ForPerson(why)) => Ok(ReviewEnd::ForPerson { why }),
        Err(Trouble::Interrupted) => Ok(ReviewEnd::Interrupted),
        Err(Trouble::Held(why)) => Ok(ReviewEnd::Held { why }),
        Err(Trouble::Failed(why)) => posting.fail(why),
        Ok((Told { change, by, .. }, judged)) => {
            let conclusion = Conclusion { change: &change, judged: &judged, by: &by, notes: &sight.notes };
            let reviewed = posting.post(here.tracker().as_ref(), (round, most_rounds), &conclusion)?;
            Ok(ReviewEnd::Reviewed(Box::new(reviewed)))
        }
    }
}

/// Reads the reviews off a pull request's comments.
fn comment_history(item: &Item, me: &Author) -> review::History {
    review::History::read(item.comments.iter().map(|said| (said.author == *me, said.text.as_str())))
}

/// Returns the number of the next round: another commit begins one.
fn round_after(reviews: &[PastReview], head: &str) -> u64 {
    let Some(last) = reviews.last() else { return 1 };
    let round = last.ledger.as_ref().map_or(reviews.len() as u64, |ledger| ledger.round);
    if last.head == head { round } else { round + 1 }
}

/// What is known of a pull request before it is looked at.
struct Sight<'a> {
    item: &'a Item,
    pull: &'a Pull,
    me: &'a Author,
    /// The last review of another commit.
    before: Option<&'a PastReview>,
    round: u64,
    /// What a person should know, a line each.
    notes: Vec<String>,
}

/// What a reviewer has said about all parts.
struct Told {
    change: Change,
    answers: Vec<Answer>,
    by: String,
}

impl Sight<'_> {
    /// Puts the whole change to a reviewer, part by part.
    fn ask(
        &mut self,
        (here, settings): (&mut Workspace, &Settings),
        slot: &project::slots::Slot,
        options: &ReviewOptions,
        interrupts: &Interrupts,
        show: &mut dyn Show,
    ) -> Result<Result<Told, Trouble>, ReviewError> {
        let change = match change::read(slot, self.pull, self.before.map(|before| before.head.as_str()))? {
            Ok(change) => change,
            Err(why) => return Ok(Err(Trouble::ForPerson(why))),
        };
        self.notes.extend(change.notes.iter().cloned());
        let run = made_by(here, self.pull)?;
        let facts = self.facts(here, &change)?;
        let earlier = self.earlier();
        let number = self.item.id.to_string();
        let found = Reviewer::find(
            here,
            slot,
            (settings, options),
            (run.as_ref(), &number),
            interrupts,
            show,
            &mut self.notes,
        )?;
        let mut reviewer = match found {
            Ok(reviewer) => reviewer,
            Err(trouble) => return Ok(Err(trouble)),
        };
        let by = reviewer.who();
        let count = change.parts.len();
        let of = |parts: usize| counted(parts as u64, "part", "parts");
        reviewer.tell(&format!("{by} reviews #{number} at {}, in {}", short(&self.pull.head), of(count)));
        let mut answers = Vec::new();
        for (index, part) in change.parts.iter().enumerate() {
            if count > 1 {
                reviewer.tell(&format!("part {} of {count}: {}", index + 1, part.files.join(", ")));
            }
            let earlier: Vec<&Known> =
                earlier.iter().filter(|known| part_of(known, &change) == index).collect();
            let asked = Asked { part, index, count, earlier: &earlier };
            match reviewer.ask(&facts, &asked)? {
                Ok(answer) => answers.push(answer),
                Err(trouble) => return Ok(Err(trouble)),
            }
        }
        Ok(Ok(Told { change, answers, by }))
    }

    /// Judges the change by what was said of its parts.
    fn judge(&self, told: &Told, root: &Path) -> Judgement {
        let Told { change, answers, .. } = told;
        let earlier = self.earlier();
        let ledger = self.before.and_then(|before| before.ledger.as_ref());
        let next = ledger.map_or(1, |ledger| ledger.next);
        let case = Case { answers, earlier: &earlier, next, delta: change.delta.as_ref() };
        judge(case, |place| change.is_place(root, place))
    }

    /// Returns the findings of the rounds before that are open.
    fn earlier(&self) -> Vec<Known> {
        let ledger = self.before.and_then(|before| before.ledger.as_ref());
        let findings = ledger.map(|ledger| ledger.findings.clone()).unwrap_or_default();
        findings.into_iter().filter(|known| known.status.is_open()).collect()
    }

    fn facts(&self, here: &Workspace, change: &Change) -> Result<Facts, ReviewError> {
        let issue = match self.pull.issue {
            Some(number) => here.tracker().item(number)?,
            None => None,
        };
        let after = self.before.map_or(0, |before| before.index + 1);
        let said = self.item.comments.iter().skip(after).filter(|said| said.author != *self.me);
        let said = said.map(|said| format!("{}: {}", said.author.name, visible_text(&said.text).trim()));
        Ok(Facts {
            mark: brief::mark_of(&format!("review of {} at {}", self.item.id, self.pull.head)),
            number: self.item.id.to_string(),
            title: self.item.title.clone(),
            body: visible_text(&self.item.body),
            issue: issue.map(|issue| {
                (issue.id.to_string(), format!("# {}\n\n{}", issue.title, visible_text(&issue.body)))
            }),
            head: short(&self.pull.head).to_owned(),
            base: short(&change.base).to_owned(),
            said: said.collect(),
            files: change.files.clone(),
            binary: change.binary.clone(),
            generated: change.generated.clone(),
            again: self
                .before
                .map(|before| Again { round: self.round, since: short(&before.head).to_owned() }),
        })
    }
}

/// Returns the part that an earlier finding is asked about in: the first that shows its file, else the first of all.
fn part_of(known: &Known, change: &Change) -> usize {
    let path = review::Place::parse(&known.location).path;
    change.parts.iter().position(|part| part.files.contains(&path)).unwrap_or(0)
}

/// Returns the run that has made a pull request, if one has.
fn made_by(here: &mut Workspace, pull: &Pull) -> Result<Option<Run>, ReviewError> {
    let Some(run) = &pull.run else { return Ok(None) };
    Ok(here.select(Some(run))?.map(|current| Run::clone(&current.run)))
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// Returns what an author was asked for by a review that is known from its comment.
fn requested_by(past: &PastReview) -> String {
    past.ledger.as_ref().map(comment::requested_by).unwrap_or_default()
}
