//! A question that the agent puts to the person in front of it, while that person is away.
//!
//! The client would show it at a terminal where nobody is. Instead it becomes a decision of the run, is asked wherever
//! the person can be reached, and the hook waits: its answer is what the client then takes for the person's own.

use std::time::Instant;

use adapters::machine;
use away::{Bridge, Of, Reach};
use engine::{Actor, Event, Standing, Time};
use project::{AskError, Current, Decided, Quick, Workspace};
use serde_json::{Map, Value, json};

use crate::{
    Answer, Failure, Here, Input,
    person::{End, LAST_WORDS, open, put_off_words, wait},
    session::is_owner,
};

/// The tool by which a client's agent asks its person.
pub(crate) const TOOL: &str = "AskUserQuestion";
/// How many events are looked through for an answer to the same call.
const RECENT: usize = 50;
/// The kind of such questions, and the option that stands for an answer in words.
const KIND: &str = "ambiguity";
const OTHER: &str = "other";

/// Asks the person who is away; nothing if the client is to ask at the terminal.
pub(crate) fn asked(here: &Here, input: &Input) -> Result<Option<Answer>, Failure> {
    if input.tool_name.as_deref() != Some(TOOL) || here.head == Quick::NoRun {
        return Ok(None);
    }
    let mut workspace = here.open()?;
    let Some(current) = workspace.current()? else { return Ok(None) };
    if current.run.owner.is_driver() || !is_owner(&current.run.owner, input) {
        return Ok(None);
    }
    let reach = Reach::of(&workspace.place, &workspace.dirs, &[]);
    if let Reach::Unreachable(why) = &reach {
        return Ok(Some(Answer::message(&format!("warp: away mode is on, but {why}"))));
    }
    let Some(questions) = questions(&input.tool_input.questions) else { return Ok(None) };
    let of = Of::run(&workspace.place, current.run.id.as_str());
    let Some(bridge) = Bridge::start(&workspace.dirs, &reach, of) else { return Ok(None) };
    let answered = answers(&mut workspace, &bridge, &questions);
    bridge.finish(LAST_WORDS);
    Ok(match answered? {
        Outcome::Answers(answers) => {
            let input = json!({ "questions": input.tool_input.questions, "answers": answers });
            Some(Answer::allow_with("A person has answered from afar", &input))
        }
        Outcome::Not(why) => Some(Answer::deny(why)),
        Outcome::AtTheTerminal => None,
    })
}

/// What came of all questions.
enum Outcome {
    Answers(Map<String, Value>),
    Not(String),
    AtTheTerminal,
}

/// A question, and its options.
struct Question {
    text: String,
    labels: Vec<String>,
}

/// Reads what the tool was given; none if it is not what is known of it.
fn questions(value: &Option<Value>) -> Option<Vec<Question>> {
    let read = |question: &Value| {
        let text = question.get("question")?.as_str()?.to_owned();
        let options = question.get("options").and_then(Value::as_array).cloned().unwrap_or_default();
        let label = |option: &Value| option.get("label")?.as_str().map(str::to_owned);
        Some(Question { text, labels: options.iter().filter_map(label).collect() })
    };
    let questions: Vec<Question> = value.as_ref()?.as_array()?.iter().map(read).collect::<Option<_>>()?;
    (!questions.is_empty()).then_some(questions)
}

fn answers(workspace: &mut Workspace, bridge: &Bridge, questions: &[Question]) -> Result<Outcome, Failure> {
    let (begun, since) = (Instant::now(), machine::now());
    let mut answers = Map::new();
    for question in questions {
        if let Some(answer) = heard(workspace, question, since)? {
            answers.insert(question.text.clone(), json!(answer));
            continue;
        }
        let Some(current) = park(workspace, question)? else { return Ok(Outcome::AtTheTerminal) };
        bridge.nudge();
        let Some((id, until)) = open(&current) else { return Ok(Outcome::AtTheTerminal) };
        match wait(workspace, &id, until, begun)? {
            End::Decided(decided) => match meant(&decided, question) {
                Some(answer) => _ = answers.insert(question.text.clone(), json!(answer)),
                None => {
                    let why = format!("The person has answered `{}` instead.", decided.option);
                    return Ok(Outcome::Not(told(workspace, &why)?));
                }
            },
            End::PutOff(why) => return Ok(Outcome::Not(told(workspace, &put_off_words(&why))?)),
            End::Late => {
                return Ok(Outcome::Not(format!(
                    "Nobody has answered yet. The run waits for decision {id}: end your turn, and do not ask again."
                )));
            }
            End::Gone => {
                return Ok(Outcome::Not(told(workspace, "The question is not open any more.")?));
            }
        }
    }
    Ok(Outcome::Answers(answers))
}

/// Returns the answer to a question that was asked and answered since this hook began: where the client was told twice to
/// ask warp, there is another hook for the same call.
fn heard(workspace: &mut Workspace, question: &Question, since: Time) -> Result<Option<String>, Failure> {
    let Some(current) = workspace.current()? else { return Ok(None) };
    let records = workspace.newest_records(&current, RECENT)?;
    let is_it = |record: &&engine::Record| {
        record.event == *"question_asked"
            && record.at >= since
            && record.data.get("question").and_then(Value::as_str) == Some(question.text.trim())
    };
    let id = records.iter().rev().find(is_it).and_then(|record| record.data.get("decision")?.as_str());
    Ok(match id {
        Some(id) => workspace.decided(&current, id)?.and_then(|decided| meant(&decided, question)),
        None => None,
    })
}

/// Makes a question a decision of the run; one that is open already is gone on with.
fn park(workspace: &mut Workspace, question: &Question) -> Result<Option<Current>, Failure> {
    let mut options = question.labels.clone();
    options.push(OTHER.to_owned());
    let event = Event::QuestionAsked { kind: KIND.to_owned(), question: question.text.clone(), options };
    match workspace.ask_as(Actor::Agent, event, Map::new()) {
        Ok(answer) => Ok(Some(answer.current)),
        Err(AskError::NoRun) => Ok(None),
        Err(AskError::Refused(_)) => {
            let is_it = |current: &Current| match &current.run.standing {
                Standing::Parked { decision } => decision.question == question.text.trim(),
                Standing::Active
                | Standing::Suspended { .. }
                | Standing::Stopped
                | Standing::Ended { .. } => false,
            };
            Ok(workspace.current()?.filter(is_it))
        }
        Err(AskError::Failed(error)) => Err(error.into()),
    }
}

/// Returns the answer as the client wants it; none if it is about the run and not about the question.
fn meant(decided: &Decided, question: &Question) -> Option<String> {
    if decided.option == OTHER {
        return Some(decided.note.clone().unwrap_or_else(|| OTHER.to_owned()));
    }
    // A long label was cut to become an option.
    let is_same = |label: &&String| label.trim() == decided.option;
    let is_cut = |label: &&String| label.trim().starts_with(&decided.option);
    let label = question.labels.iter().find(is_same).or_else(|| question.labels.iter().find(is_cut))?;
    Some(match &decided.note {
        Some(note) => format!("{label} ({note})"),
        None => label.clone(),
    })
}

/// Says something to the agent, and where the run stands.
pub(crate) fn told(workspace: &mut Workspace, words: &str) -> Result<String, Failure> {
    let standing = match workspace.current()? {
        Some(current) => workspace.described(&current),
        None => "The run is over.".to_owned(),
    };
    Ok(format!("{words}\n{standing}"))
}
