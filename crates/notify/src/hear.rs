//! Listening: what people do becomes an answer to the run that asks, once.
//!
//! A message counts as heard after it was acted on. One that comes again because a process died in between is offered
//! again, and the run tells that it has this very answer already.

use std::{path::Path, time::Duration};

use adapters::machine;
use engine::view;
use project::{
    AskError, Current, DecideError, Dirs, Error, Given, Place, Workspace, read_reply, spelled, spend::More,
};

use crate::{
    memory::{AwayError, Memory, TrackedRun, UnknownSender},
    port::{Channel, Message, PersonAction, Trouble},
};

/// The longest name of a person that is kept, in characters.
const LONGEST_NAME: usize = 80;

/// Result of a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PollResult {
    /// So many messages were acted on.
    Messages(usize),
    Trouble(Trouble),
}

/// Waits for messages and acts on them. Only who has the right to listen does so.
pub fn hear(
    dirs: &Dirs,
    memory: &mut Memory,
    channel: &mut dyn Channel,
    patience: Duration,
) -> Result<PollResult, AwayError> {
    let known = memory.listening()?;
    let mut messages = match channel.listen(known.from(machine::now()), patience) {
        Ok(messages) => messages,
        Err(trouble) => return Ok(PollResult::Trouble(trouble)),
    };
    memory.reached()?;
    messages.sort_by_key(|message| message.number);
    let places = channel.places();
    let mut acted = 0;
    for message in &messages {
        if memory.listening()?.has_heard(message.number) {
            continue;
        }
        let is_stranger = !places.contains(&message.place);
        if !is_stranger && let Some(words) = act(dirs, memory, channel.key().as_str(), message)? {
            // Whoever does not get a word sees by the question what became of it.
            if let Err(error @ (Trouble::Later { .. } | Trouble::NoEntry(_))) =
                channel.respond(message, &words)
            {
                memory.failed(&error.to_string())?;
            }
        }
        memory.listened("away_heard", |known| {
            known.hear(message.number, machine::now());
            if is_stranger {
                known.strangers += 1;
                known.stranger = Some(UnknownSender {
                    place: message.place.clone(),
                    name: message.from.chars().take(LONGEST_NAME).collect(),
                    at: machine::now(),
                });
            }
        })?;
        acted += 1;
    }
    Ok(PollResult::Messages(acted))
}

/// Does what a message means; returns what is said to whoever sent it.
fn act(dirs: &Dirs, memory: &mut Memory, key: &str, message: &Message) -> Result<Option<String>, AwayError> {
    let (followed, id, choice) = match &message.what {
        PersonAction::Other => return Ok(None),
        PersonAction::Chose { decision, option } => {
            let run = decision.rsplit_once('.').map_or(decision.as_str(), |(run, _)| run);
            let Some(followed) = memory.followed(run)? else {
                return Ok(Some("this decision is not known on this machine".to_owned()));
            };
            (followed, decision.clone(), Choice::Number(*option))
        }
        PersonAction::Wrote { to, text } => {
            let found = match to {
                Some(to) => find(memory, &message.place, to)?,
                None => None,
            };
            let Some((followed, id)) = found else {
                return Ok(Some("Reply to a question, or press one of its buttons.".to_owned()));
            };
            (followed, id, Choice::Words(text))
        }
    };
    let answer = Given {
        decision: id,
        by: message.from.chars().take(LONGEST_NAME).collect(),
        via: format!("{key}/{}", message.number),
        ..Given::default()
    };
    let said = decide(dirs, &followed, &choice, answer);
    Ok(Some(said.unwrap_or_else(|error| format!("The run cannot be reached: {}", spelled(&error)))))
}

/// Finds the question that a message in a place was.
fn find(memory: &mut Memory, place: &str, message: &str) -> Result<Option<(TrackedRun, String)>, AwayError> {
    for followed in memory.runs()? {
        let is_it = |(at, name): &(String, String)| at == place && name == message;
        let id = followed.asked.iter().find(|asked| asked.messages.iter().any(is_it));
        if let Some(id) = id.map(|asked| asked.id.clone()) {
            return Ok(Some((followed, id)));
        }
    }
    Ok(None)
}

/// What was chosen, before it is known what can be.
enum Choice<'a> {
    Number(usize),
    Words(&'a str),
}

impl Choice<'_> {
    /// Returns the option that is meant and the note to it; none if it is no option.
    fn pick(&self, options: &[String]) -> Option<(String, Option<String>)> {
        match self {
            Self::Number(number) => options.get(*number).map(|option| (option.clone(), None)),
            Self::Words(text) => read_reply(text, options),
        }
    }
}

/// Offers an answer to the run that asks, and says what came of it.
///
/// What can be chosen is the run's to say: an answer may be here before it is written down that the question was sent.
fn decide(dirs: &Dirs, followed: &TrackedRun, choice: &Choice<'_>, answer: Given) -> Result<String, Error> {
    let mut project = Workspace::open(Place::at(Path::new(&followed.project))?, dirs.clone())?;
    let Some(current) = project.select(Some(&followed.run))? else {
        return Ok("This run is not in the journal of its project any more.".to_owned());
    };
    let is_it = |asked: &view::Asked| asked.id == answer.decision;
    let Some(asked) = view::asked(&current.workflow, &current.run).filter(is_it) else {
        return closed(&mut project, &current, &answer);
    };
    let Some((option, note)) = choice.pick(&asked.options) else {
        return Ok(format!("That is no option. Possible: {}", asked.options.join(", ")));
    };
    let given = Given { option, note, ..answer };
    match project.decide_run(&current, &given, More::default()) {
        Ok(_) => Ok(format!("Taken: {}", given.option)),
        // Somebody was faster.
        Err(DecideError::Ask(AskError::Refused(_) | AskError::NoRun)) => {
            closed(&mut project, &current, &given)
        }
        Err(error @ (DecideError::More(_) | DecideError::Ask(AskError::Failed(_)))) => Ok(format!(
            "Not recorded: {}. Answer again, or with `warp answer {}`.",
            spelled(&error),
            given.decision
        )),
    }
}

/// Says what became of a decision that is not open any more. This very answer may have been taken before a crash.
fn closed(project: &mut Workspace, current: &Current, answer: &Given) -> Result<String, Error> {
    Ok(match project.decided(current, &answer.decision)? {
        Some(decided) if decided.via.as_ref() == Some(&answer.via) => format!("Taken: {}", decided.option),
        Some(decided) => {
            let by = decided.by.as_deref().unwrap_or("somebody");
            format!("Already answered: {}, by {by}", decided.option)
        }
        None => "This is not asked any more.".to_owned(),
    })
}
