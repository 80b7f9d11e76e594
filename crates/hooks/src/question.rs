//! A question that the agent puts to the person in front of it, while that person is away.
//!
//! The client would show it at a terminal where nobody is. Instead it becomes a decision of the run, is asked wherever
//! the person can be reached, and the hook waits: its answer is what the client then takes for the person's own.

use adapters::clock::after;
use engine::{Actor, Event, Standing};
use project::{AskError, Decided, HeadLookup, OTHER, Workspace};
use serde_json::{Map, Value, json};

use crate::{
    Answer, Exchange, Failure, HookContext, Input, Reachability,
    person::{AN_HOUR, End, LAST_WORDS, put_off_words, wait},
    session::is_owner,
};

/// The tool by which a client's agent asks its person.
pub(crate) const TOOL: &str = "AskUserQuestion";
/// The kind of such questions.
const KIND: &str = "ambiguity";
/// The most that is shown of a question, in characters: no run keeps much more, and no channel posts it.
const LONGEST_SHOWN: usize = 3000;
/// What is said with a question that takes more than one option: a button is one.
const SEVERAL: &str = "More than one may be chosen: reply with all of them, with commas between.";

/// Asks the person who is away; nothing if the client is to ask at the terminal.
pub(crate) fn asked(here: &HookContext, input: &Input) -> Result<Option<Answer>, Failure> {
    if input.tool_name.as_deref() != Some(TOOL) || here.head == HeadLookup::NoRun {
        return Ok(None);
    }
    let mut workspace = here.open()?;
    let Some(current) = workspace.current()? else { return Ok(None) };
    if current.run.owner.is_driver() || !is_owner(&current.run.owner, input) {
        return Ok(None);
    }
    if let Reachability::Unreachable(why) = here.away.reach(&workspace.place, &workspace.dirs) {
        return Ok(Some(Answer::message(&format!("warp: away mode is on, but {why}"))));
    }
    let Some(questions) = questions(&input.tool_input.questions) else { return Ok(None) };
    let run = current.run.id.as_str();
    let Some(exchange) = here.away.begin(&workspace.place, &workspace.dirs, run) else { return Ok(None) };
    let answered = answers(&mut workspace, &*exchange, &questions, input.tool_use_id.as_deref());
    exchange.finish(LAST_WORDS);
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
#[derive(Debug, Default)]
struct Question {
    /// As the client knows it.
    text: String,
    /// As a person reads it: with what its options mean.
    shown: String,
    labels: Vec<String>,
    /// Whether more than one option may be chosen.
    takes_several: bool,
}

impl Question {
    /// Tells whether it was recorded as this.
    fn is(&self, recorded: &str) -> bool {
        self.shown.trim() == recorded
    }
}

/// Reads what the tool was given; none if it is not what is known of it.
fn questions(value: &Option<Value>) -> Option<Vec<Question>> {
    let questions: Vec<Question> = value.as_ref()?.as_array()?.iter().map(question).collect::<Option<_>>()?;
    (!questions.is_empty()).then_some(questions)
}

fn question(question: &Value) -> Option<Question> {
    let text = question.get("question")?.as_str()?.to_owned();
    let options = question.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let takes_several = question.get("multiSelect").and_then(Value::as_bool).unwrap_or(false);
    let (mut labels, mut shown) = (Vec::new(), vec![text.clone()]);
    for option in options {
        let of = |field: &str| option.get(field).and_then(Value::as_str);
        let Some(label) = of("label") else { continue };
        let about = of("description").filter(|about| !about.trim().is_empty());
        shown.extend(about.map(|about| format!("{label}: {about}")));
        labels.push(label.to_owned());
    }
    if takes_several {
        shown.push(SEVERAL.to_owned());
    }
    let shown = shown.join("\n").chars().take(LONGEST_SHOWN).collect();
    Some(Question { text, shown, labels, takes_several })
}

fn answers(
    workspace: &mut Workspace,
    exchange: &dyn Exchange,
    questions: &[Question],
    call: Option<&str>,
) -> Result<Outcome, Failure> {
    let latest = after(workspace.dirs.clock.now(), AN_HOUR);
    let mut answers = Map::new();
    for (number, question) in questions.iter().enumerate() {
        let call = call.map(|call| format!("{call}.{number}"));
        let Some(id) = park(workspace, question, call.as_deref())? else { return Ok(Outcome::AtTheTerminal) };
        exchange.nudge();
        match wait(workspace, &id, latest)? {
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
            End::Over | End::Gone => {
                return Ok(Outcome::Not(told(workspace, "The question is not open any more.")?));
            }
        }
    }
    Ok(Outcome::Answers(answers))
}

/// Makes a question a decision of the run; one that is open already is gone on with.
fn park(
    workspace: &mut Workspace,
    question: &Question,
    call: Option<&str>,
) -> Result<Option<String>, Failure> {
    let mut options = question.labels.clone();
    options.push(OTHER.to_owned());
    let event = Event::QuestionAsked { kind: KIND.to_owned(), question: question.shown.clone(), options };
    match workspace.ask_for(call, event) {
        Ok(decision) => Ok(Some(decision)),
        Err(AskError::NoRun) => Ok(None),
        Err(AskError::Refused(_)) => {
            Ok(workspace.current()?.and_then(|current| match &current.run.standing {
                Standing::Parked { decision } if question.is(&decision.question) => Some(decision.id.clone()),
                Standing::Parked { .. }
                | Standing::Active
                | Standing::Suspended { .. }
                | Standing::Stopped
                | Standing::Ended { .. } => None,
            }))
        }
        Err(AskError::Failed(error)) => Err(error.into()),
    }
}

/// Returns the answer as the client wants it; none if it is about the run and not about the question.
fn meant(decided: &Decided, question: &Question) -> Option<String> {
    let (option, note) = (decided.option.as_str(), decided.note.as_deref());
    if question.takes_several {
        let all = match note {
            Some(note) if option == OTHER => note.to_owned(),
            Some(note) => format!("{option}, {note}"),
            None => option.to_owned(),
        };
        if let Some(labels) = several(&all, &question.labels) {
            return Some(labels.join(", "));
        }
    }
    if option == OTHER {
        return Some(note.unwrap_or(OTHER).to_owned());
    }
    // A long label was cut to become an option.
    let is_same = |label: &&String| label.trim() == option;
    let is_cut = |label: &&String| label.trim().starts_with(option);
    let label = question.labels.iter().find(is_same).or_else(|| question.labels.iter().find(is_cut))?;
    Some(match note {
        Some(note) => format!("{label} ({note})"),
        None => label.clone(),
    })
}

/// Reads a list of labels, or of their numbers from 1; none if there is anything else in it.
fn several<'a>(text: &str, labels: &'a [String]) -> Option<Vec<&'a str>> {
    let mut longest: Vec<&String> = labels.iter().collect();
    longest.sort_by_key(|label| std::cmp::Reverse(label.len()));
    let mut found: Vec<&str> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let after = |word: &str| {
            let head = rest.get(..word.len())?;
            let tail = &rest[word.len()..];
            let ends = !tail.starts_with(|letter: char| letter.is_alphanumeric());
            (head.to_lowercase() == word.to_lowercase() && ends).then_some(tail)
        };
        let named = longest.iter().find_map(|label| Some((label.as_str(), after(label.trim())?)));
        let numbered = || {
            let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
            let label = labels.get(rest[..digits].parse::<usize>().ok()?.checked_sub(1)?)?;
            Some((label.as_str(), after(&rest[..digits])?))
        };
        let (label, tail) = named.or_else(numbered)?;
        if !found.contains(&label) {
            found.push(label);
        }
        let tail = tail.trim_start_matches([',', ';', '+', '&', '.']).trim_start();
        rest = tail.strip_prefix("and ").unwrap_or(tail).trim_start_matches([',', ';', '+', '&']).trim();
    }
    (!found.is_empty()).then_some(found)
}

/// Says something to the agent, and where the run stands.
pub(crate) fn told(workspace: &mut Workspace, words: &str) -> Result<String, Failure> {
    let standing = match workspace.current()? {
        Some(current) => workspace.news(&current, Actor::Agent),
        None => "The run is over.".to_owned(),
    };
    Ok(format!("{words}\n{standing}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_options_are_a_list_of_labels_or_numbers() {
        let labels: Vec<String> = ["yes", "yes, but small", "no"].map(str::to_owned).into();
        let several = |text: &str| several(text, &labels).map(|labels| labels.join("|"));
        assert_eq!(several("yes, no").as_deref(), Some("yes|no"));
        assert_eq!(several("Yes, but small; NO").as_deref(), Some("yes, but small|no"));
        assert_eq!(several("1, 3").as_deref(), Some("yes|no"));
        assert_eq!(several("no and 1 and no").as_deref(), Some("no|yes"));
        assert_eq!(several("no\nyes").as_deref(), Some("no|yes"));
        for other in ["", "yes, perhaps", "nobody", "4", "0", "é", "yes: but only for the tests"] {
            assert_eq!(several(other), None, "{other}");
        }
    }

    #[test]
    fn a_note_is_one_where_it_is_no_list() {
        let question = Question {
            labels: ["red", "blue"].map(str::to_owned).into(),
            takes_several: true,
            ..Question::default()
        };
        let meant = |option: &str, note: Option<&str>| {
            let note = note.map(str::to_owned);
            meant(&Decided { option: option.to_owned(), note, by: None, via: None }, &question)
        };
        assert_eq!(meant("red", Some("blue")).as_deref(), Some("red, blue"));
        assert_eq!(meant("red", Some("a dark one")).as_deref(), Some("red (a dark one)"));
        assert_eq!(meant("other", Some("2, 1")).as_deref(), Some("blue, red"));
        assert_eq!(meant("other", Some("green")).as_deref(), Some("green"));
        assert_eq!(meant("red", None).as_deref(), Some("red"));
        assert_eq!(meant("skip", None), None);
    }
}
