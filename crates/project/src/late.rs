//! Answers to questions that have become issues: a person decides after the run went on without them.
//!
//! The answer is a comment on the issue that the question was about, so the next run of that issue is told, whatever workflow
//! it has. Only the comments' markers are read back; what people write has none.

use engine::{Change, Decision, Standing, one_line, view::Asked};
use forge::{Author, Item, ItemId, Query};
use runs::Given;

use crate::{Error, Workspace, decide::marker};

/// How the marker of a comment begins that is an answer.
const DECIDED: &str = "decided:";

/// A question that has become an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateQuestion {
    /// The question, under the number of its issue. Its options are those that answer it.
    pub asked: Asked,
    /// The issue that it is about.
    pub about: ItemId,
    /// The decision that nobody has made.
    decision: String,
}

/// An answer that was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateAnswer {
    pub option: String,
    /// The issue that it is about.
    pub about: ItemId,
    /// Whether there is anything left to do for that issue.
    pub is_open: bool,
}

/// Why there was nothing to answer.
#[derive(Debug, thiserror::Error)]
pub enum LateError {
    #[error("there is no issue #{0}")]
    Missing(ItemId),
    #[error("#{0} is not a question that a run has left")]
    NotAQuestion(ItemId),
    #[error("#{id} is closed{}", because.as_ref().map(|why| format!(" ({why})")).unwrap_or_default())]
    Closed { id: ItemId, because: Option<String> },
    #[error("`{option}` is no option of #{}", asked.id)]
    NoOption { option: String, asked: Asked },
    #[error(transparent)]
    Failed(#[from] Error),
}

impl Workspace {
    /// Returns the question that an issue asks.
    pub fn late_question(&mut self, todo: ItemId) -> Result<LateQuestion, LateError> {
        let item = self.tracker().item(todo).map_err(Error::from)?.ok_or(LateError::Missing(todo))?;
        let about = self.asked_about(&item)?.ok_or(LateError::NotAQuestion(todo))?;
        if !item.is_open() {
            return Err(LateError::Closed { id: todo, because: item.closed_because.clone() });
        }
        let decision = self.decision_of(todo, about)?.ok_or(LateError::NotAQuestion(todo))?;
        let asked = Asked { id: todo.to_string(), deadline: None, ..late(&decision) };
        Ok(LateQuestion { asked, about, decision: decision.id })
    }

    /// Records a person's answer to the question that an issue asks, for the issue that it is about, and closes the former.
    pub fn answer_late(&mut self, todo: ItemId, given: &Given) -> Result<LateAnswer, LateError> {
        let LateQuestion { asked, about, decision } = self.late_question(todo)?;
        let Some(option) = asked.option(&given.option).map(str::to_owned) else {
            return Err(LateError::NoOption { option: given.option.clone(), asked });
        };
        let note = given.note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
        let words = format!("{}: {option}{note}", asked.question.trim_end());
        let marker = format!("{DECIDED}{decision}");
        let tracker = self.tracker_as(Author::person(given.by.clone()));
        // The answer comes first: whoever is killed in between can answer again.
        let item = tracker.comment(about, &words, Some(&marker)).map_err(Error::from)?;
        tracker.comment(todo, &format!("Answered: {option}{note}"), Some(&marker)).map_err(Error::from)?;
        tracker.close(todo, Some(&one_line(&format!("answered: {option}")))).map_err(Error::from)?;
        Ok(LateAnswer { option, about, is_open: item.is_open() })
    }

    /// Returns what was answered late about an issue, oldest first.
    pub fn late_answers(&self, issue: ItemId) -> Result<Vec<String>, Error> {
        let item = self.tracker().item(issue)?;
        let comments = item.iter().flat_map(|item| &item.comments);
        let is_answer =
            |marker: &Option<String>| marker.as_ref().is_some_and(|marker| marker.starts_with(DECIDED));
        Ok(comments
            .filter(|comment| is_answer(&comment.marker))
            .map(|comment| comment.text.clone())
            .collect())
    }

    /// Returns the issue that a question is about. It is named in the question's own; the marker says whether that is right.
    fn asked_about(&mut self, todo: &Item) -> Result<Option<ItemId>, Error> {
        let named = [&todo.title, &todo.body].into_iter().flat_map(|text| text.split('#').skip(1));
        let mut numbers: Vec<ItemId> = named
            .filter_map(|rest| {
                let end = rest.find(|next: char| !next.is_ascii_alphanumeric()).unwrap_or(rest.len());
                ItemId::typed(&rest[..end])
            })
            .collect();
        numbers.dedup();
        for number in numbers {
            let of_it = self.tracker().items(Query::Marked(&marker(&number.to_string())))?;
            if of_it.iter().any(|item| item.id == todo.id) {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Returns the decision that has become an issue, from the runs of the issue that it is about.
    fn decision_of(&mut self, todo: ItemId, about: ItemId) -> Result<Option<Decision>, Error> {
        let begins = marker(&about.to_string());
        let mut runs: Vec<String> = self.account(about)?.stints.into_iter().map(|stint| stint.run).collect();
        runs.dedup();
        for run in runs.iter().rev() {
            let Some(current) = self.select(Some(run))? else { continue };
            for record in self.records(&current)?.iter().rev() {
                for decision in record.changes.iter().filter_map(parked) {
                    if self.tracker().filed(&format!("{begins}{}", decision.id))? == Some(todo) {
                        return Ok(Some(decision.clone()));
                    }
                }
            }
        }
        Ok(None)
    }
}

/// Returns the question as it can still be answered: whether its run skips something or stops is past.
pub(crate) fn late(decision: &Decision) -> Asked {
    let mut asked = Asked::from(decision);
    let answers: Vec<String> =
        asked.options.iter().filter(|option| !Decision::leaves(option)).cloned().collect();
    if !answers.is_empty() {
        asked.options = answers;
    }
    asked
}

fn parked(change: &Change) -> Option<&Decision> {
    if let Change::StandingSet { standing: Standing::Parked { decision } } = change {
        Some(decision)
    } else {
        None
    }
}
