//! A person's answer to a decision, by whatever channel it comes.
//!
//! The terminal, `warp answer` and every remote channel offer it as [`Given::event`]. The engine takes the first answer that
//! is one of the options and refuses any other, so it does not matter how many channels ask at once.

use engine::{Actor, Event, Inquiry, Record, RunId};
use serde_json::{Map, Value, json};

use crate::{AskError, Current, Error, Runs, Views};

/// The field that says for which call of the agent's client a question was asked.
const CALL: &str = "call";

/// An answer that a person has given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// The decision's id.
    pub decision: String,
    pub option: String,
    pub note: Option<String>,
    /// Who has decided.
    pub by: String,
    /// Where they did so.
    pub via: String,
}

/// What became of a decision that is not open any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    pub option: String,
    pub by: Option<String>,
    pub via: Option<String>,
    pub note: Option<String>,
}

impl Given {
    /// Returns the event that offers the answer to its run.
    pub fn event(&self) -> (Event, Map<String, Value>) {
        let mut data = Map::from_iter([("by".to_owned(), json!(self.by))]);
        data.insert("via".to_owned(), json!(self.via));
        if let Some(note) = &self.note {
            data.insert("note".to_owned(), json!(note));
        }
        (Event::DecisionAnswered { decision: self.decision.clone(), option: self.option.clone() }, data)
    }
}

impl Runs {
    /// Makes what a call of the agent's client asks a decision of a run, in the agent's name, and returns its id.
    ///
    /// A client that was told twice to ask warp has two hooks for one call. Whichever is later gets the first one's
    /// decision, open or not.
    pub fn ask_for<V: Views>(
        &self,
        views: &mut V,
        run: &RunId,
        call: Option<&str>,
        question: Event,
    ) -> Result<String, AskError<V::Error>> {
        let asked = |current: &Current| {
            let is_its =
                |asked: &&Inquiry| call.is_some() && asked.data.get(CALL).and_then(Value::as_str) == call;
            let before = current.run.facts.questions.iter().rfind(is_its);
            before.and_then(|asked| asked.data.get("decision").cloned())
        };
        let data = call.map(|call| (CALL.to_owned(), json!(call))).into_iter().collect();
        let decision = match self.ask_unless(views, run, Actor::Agent, question, data, asked)? {
            Ok(answer) => answer.records.iter().find_map(|record| record.data.get("decision").cloned()),
            Err(before) => Some(before),
        };
        Ok(decision.as_ref().and_then(Value::as_str).expect("a question is a decision").to_owned())
    }

    /// Returns what was decided, if the run has recorded an answer to that decision.
    pub fn decided(&self, current: &Current, decision: &str) -> Result<Option<Decided>, Error> {
        let records = self.records(current)?;
        // What an answer stands for may have a name of its own, as in a phase that is a person's.
        let is_meant = |record: &&Record| {
            record.actor == Actor::Person
                && record.data.contains_key("option")
                && record.data.get("decision") == Some(&json!(decision))
        };
        let text =
            |record: &Record, field: &str| record.data.get(field).and_then(Value::as_str).map(str::to_owned);
        Ok(records.iter().rev().find(is_meant).map(|record| Decided {
            option: text(record, "option").unwrap_or_default(),
            by: text(record, "by"),
            via: text(record, "via"),
            note: text(record, "note"),
        }))
    }
}
