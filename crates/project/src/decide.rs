//! A person's answer to a decision, and what is filed when none comes in time.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use engine::{
    Actor, Decision, Event, Standing, keys,
    view::{self, Asked},
};
use forge::{Edit, Item, ItemId, NewItem, Query};
use runs::{Answer, Current, Decided, Given};
use serde_json::{Map, Value};

use crate::{
    AskError, Error, Workspace,
    late::late,
    person_in,
    spend::{More, MoreError},
};

/// The longest title of the issue that a question becomes, in characters of the question.
const LONGEST_TITLE: usize = 80;

/// The label of the issue that a question becomes.
const TODO: &str = "todo";

/// Why an answer was not taken.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    #[error(transparent)]
    More(#[from] MoreError),
    #[error(transparent)]
    Ask(#[from] AskError),
}

/// What became of a question whose time was up.
#[derive(Debug)]
pub enum Overdue {
    /// It is an issue of its own, and its chunk is skipped, or the agent's own default was taken.
    PutOff { why: String, answer: Box<Answer> },
    /// Somebody has decided after all.
    Decided(Decided),
    /// It is not open any more.
    Gone,
}

impl Workspace {
    /// Offers a person's answer to the run of this workspace.
    pub fn decide(&mut self, given: &Given, more: More) -> Result<Answer, DecideError> {
        let current = self.current().map_err(AskError::Failed)?.ok_or(AskError::NoRun)?;
        self.decide_run(&current, given, more)
    }

    /// Offers a person's answer to a run of the project, wherever it works. At a cap, `more` may be spent.
    pub fn decide_run(
        &mut self,
        current: &Current,
        given: &Given,
        more: More,
    ) -> Result<Answer, DecideError> {
        let open = match &current.run.standing {
            Standing::Parked { decision } if decision.id == given.decision => Some(decision),
            Standing::Parked { .. }
            | Standing::Active
            | Standing::Suspended { .. }
            | Standing::Stopped
            | Standing::Ended { .. } => None,
        };
        let asked = view::asked(&current.workflow, &current.run).filter(|asked| asked.id == given.decision);
        let option = asked.as_ref().and_then(|asked| asked.option(&given.option));
        let given = Given { option: option.unwrap_or(&given.option).to_owned(), ..given.clone() };
        more.raise(&self.dirs, open, &given.option)?;
        let (event, data) = given.event();
        Ok(self.ask_run(current, event, data)?)
    }

    /// Makes what a call of the agent's client asks a decision of the run, in the agent's name, and returns its id.
    pub fn ask_for(&mut self, call: Option<&str>, question: Event) -> Result<String, AskError> {
        let (runs, run) = (self.runs.clone(), self.open_run()?);
        runs.ask_for(self, &run, call, question)
    }

    /// Returns what was decided, if the run has recorded an answer to that decision.
    pub fn decided(&mut self, current: &Current, decision: &str) -> Result<Option<Decided>, Error> {
        Ok(self.runs.decided(current, decision)?)
    }

    /// Returns the name of the person whose project it is. Git is asked for it once: a process is one person's.
    pub fn person(&self) -> String {
        static KNOWN: Mutex<Option<(PathBuf, String)>> = Mutex::new(None);
        let root = self.place.origin().unwrap_or(&self.place.root);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        match known.as_ref().filter(|(of, _)| of == root) {
            Some((_, name)) => name.clone(),
            None => known.insert((root.to_owned(), person_in(root).name)).1.clone(),
        }
    }

    /// Acts on the open question if its time is up: it becomes an issue of its own, assigned to the person, and its chunk
    /// is put off. Nothing if no question is overdue.
    ///
    /// The issue comes first, because why a chunk was put off names it: a process that dies in between leaves the question
    /// open, and whoever comes next finds the same issue. An answer that comes in between counts, and closes the issue.
    pub fn put_off(&mut self) -> Result<Option<Overdue>, Error> {
        let Some(current) = self.current()? else { return Ok(None) };
        let Standing::Parked { decision } = &current.run.standing else { return Ok(None) };
        if decision.deadline.is_none_or(|deadline| self.dirs.clock.now() < deadline) {
            return Ok(None);
        }
        let default = default_of(&current, decision);
        let todo = self.file_todo(&current, decision, default.as_deref())?;
        let mut why = format!("nobody decided in time; see #{todo}");
        let mut data = Map::new();
        let event = match default {
            Some(option) => {
                why = format!(
                    "nobody decided in time, so the agent's default `{option}` was taken; see #{todo}"
                );
                data.insert("note".to_owned(), Value::from(why.as_str()));
                Event::DecisionAnswered { decision: decision.id.clone(), option }
            }
            None => Event::ChunkDeferred { why: why.clone() },
        };
        match self.ask_as(Actor::Engine, event, data) {
            Ok(answer) => return Ok(Some(Overdue::PutOff { why, answer: Box::new(answer) })),
            Err(AskError::Refused(_) | AskError::NoRun) => {}
            Err(AskError::Failed(error)) => return Err(error),
        }
        let now = self.select(Some(current.run.id.as_str()))?.unwrap_or_else(|| current.clone());
        let Some(decided) = self.decided(&now, &decision.id)? else { return Ok(Some(Overdue::Gone)) };
        self.tracker().close(todo, Some(&format!("decided after all: {}", decided.option)))?;
        Ok(Some(Overdue::Decided(decided)))
    }

    /// Returns the open issues that questions about an issue have become, oldest first, each with its question.
    pub fn todos(&mut self, number: ItemId) -> Result<Vec<(ItemId, String)>, Error> {
        let (marker, begins) = (marker(&number.to_string()), about(&number.to_string()));
        let todos = self.tracker().items(Query::Marked(&marker))?.into_iter().filter(|item| item.is_open());
        let question = |item: &Item| item.title.strip_prefix(&begins).unwrap_or(&item.title).to_owned();
        Ok(todos.map(|item| (item.id, question(&item))).collect())
    }

    /// Makes an open question an issue of its own, assigned to the person, once; returns its number.
    fn file_todo(
        &mut self,
        current: &Current,
        decision: &Decision,
        default: Option<&str>,
    ) -> Result<ItemId, Error> {
        let issue = current.run.issue.as_deref().unwrap_or_default();
        let short: String = decision.question.chars().take(LONGEST_TITLE).collect();
        let short = short.lines().next().unwrap_or_default().to_owned();
        let todo = NewItem {
            title: format!("{}{short}", about(issue)),
            body: todo(current, decision, default),
            labels: [TODO, "warp-drive"].into_iter().map(str::to_owned).collect(),
            ..NewItem::default()
        };
        let filed = self.tracker().file(&todo, Some(&format!("{}{}", marker(issue), decision.id)))?;
        self.name_answers(filed.id, decision, issue)?;
        let person = self.person();
        self.tracker().assign(filed.id, Some(&person))?;
        Ok(filed.id)
    }
}

impl Workspace {
    /// Says in a question's own issue which commands answer it; its number is known once it is filed.
    fn name_answers(&mut self, todo: ItemId, decision: &Decision, issue: &str) -> Result<(), Error> {
        let Some(issue) = ItemId::typed(issue) else { return Ok(()) };
        let Some(item) = self.tracker().item(todo)? else { return Ok(()) };
        let commands = Asked { id: todo.to_string(), ..late(decision) }.command_lines();
        if item.body.contains(&commands) {
            return Ok(());
        }
        let body = format!(
            "{}\nTo answer:\n\n```sh\n{commands}```\n\nThen `warp run {issue}` takes it up; its agent is told.\n",
            item.body
        );
        self.tracker().edit(todo, &Edit { body: Some(body), ..Edit::default() })?;
        Ok(())
    }
}

/// Returns the option that the asker of an open question would take, where that is taken if nobody answers.
fn default_of(current: &Current, decision: &Decision) -> Option<String> {
    let run = &current.run;
    let asked = run.facts.questions.iter().rfind(|asked| asked.word("decision") == decision.id)?;
    let default = Some(asked.word("default")).filter(|_| run.settings.get(keys::ON_TIMEOUT) == "default")?;
    decision.options.iter().find(|option| *option == default).cloned()
}

/// Returns how the marker of an issue begins that a question about another one has become.
pub(crate) fn marker(issue: &str) -> String {
    format!("{TODO}:{issue}:")
}

/// Returns how the title of an issue begins that a question about another one has become.
fn about(issue: &str) -> String {
    format!("Decide for #{issue}: ")
}

fn todo(current: &Current, decision: &Decision, default: Option<&str>) -> String {
    let run = &current.run;
    let Decision { question, options, .. } = decision;
    let mut text = format!("{question}\n\nOptions: {}\n", options.join(", "));
    if let Some(issue) = &run.issue {
        text.push_str(&format!("\nIt came up in run {} while working on #{issue}", run.id));
    }
    if !run.current_criteria().is_empty() {
        text.push_str(&format!(", chunk {} ({})", run.chunk.index, run.current_criteria().join(", ")));
    }
    text.push_str(&match default {
        Some(option) => format!(
            ".\nNobody answered in time, so the agent's default `{option}` was taken. Close this if that is right.\n"
        ),
        None => ".\nThe chunk was skipped.\n".to_owned(),
    });
    text
}
