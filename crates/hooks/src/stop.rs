//! The end of a turn: the agent may stop, or is told what is left to do.
//!
//! A client overrules a hook that keeps its agent going too often without any work in between, and does not say so.
//! So blocks are counted here, in a small file that every use of a tool takes away.
//!
//! A turn ends when the agent has asked a person, too. If that person is away, the end waits for them: what they decide, or
//! that nobody has, is what the agent goes on with.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Instant,
};

use adapters::machine;
use away::{Bridge, Of, Reach};
use engine::{
    Actor, Event, EventName, Standing,
    turn::{self, TurnDecision, TurnEnd},
};
use project::{AskError, Current, Quick, Workspace};
use serde_json::{Map, json};

use crate::{
    Answer, Failure, Here, Input,
    person::{self, End, put_off_words},
    question::told,
    session::is_owner,
    tell_away,
};

/// The file that counts blocks in a row.
const BLOCKS: &str = "stop-blocks";
/// How many events one end of a turn may ask for.
const MOST_ASKED: usize = 2;

pub(crate) fn stop(here: &Here, input: &Input) -> Result<Answer, Failure> {
    if here.head == Quick::NoRun {
        return Ok(Answer::silent());
    }
    let mut workspace = here.open()?;
    let Some(current) = workspace.current()? else { return Ok(Answer::silent()) };
    let end = TurnEnd {
        last_message: input.last_assistant_message.as_deref().unwrap_or_default(),
        stop_hook_active: input.stop_hook_active.unwrap_or(true),
        background_tasks: input.background_tasks.as_ref().map_or(0, Vec::len),
        session_is_owner: is_owner(&current.run.owner, input),
        blocks: blocks(&here.own)?,
        now: machine::now(),
    };
    let waits = turn::waits(&current.workflow, &current.run, &end);
    let decision = match if waits { heard(&mut workspace, &current)? } else { None } {
        Some(words) => go_on(&mut workspace, &words, &end)?,
        None => decide(&mut workspace, current, &end)?,
    };
    match decision {
        TurnDecision::Allow { note } => {
            if end.session_is_owner {
                tool_was_used(&here.own)?;
            }
            Ok(note.map_or_else(Answer::silent, |note| Answer::message(&note)))
        }
        TurnDecision::Block { reason } => {
            let blocks = if end.stop_hook_active { end.blocks } else { 0 };
            let file = here.own.join(BLOCKS);
            fs::write(&file, (blocks + 1).to_string()).map_err(|source| Failure::Count { file, source })?;
            let first = reason.lines().next().unwrap_or_default();
            Ok(Answer::keep_going(&reason, &format!("warp: {first}")))
        }
        TurnDecision::Ask(_) => {
            Ok(Answer::note("the end of the turn asked for more events than one end can mean"))
        }
    }
}

/// Waits for a person who is away; returns what came of it, if the run does not wait for them any more.
fn heard(workspace: &mut Workspace, current: &Current) -> Result<Option<String>, Failure> {
    let Some((id, _)) = person::open(current) else { return Ok(None) };
    let reach = Reach::of(&workspace.place, &workspace.dirs, &[]);
    let of = Of::run(&workspace.place, current.run.id.as_str());
    let ended = match Bridge::start(&workspace.dirs, &reach, of) {
        Some(bridge) => {
            let ended = person::wait(workspace, &id, Instant::now());
            bridge.finish(person::LAST_WORDS);
            ended?
        }
        // Nobody can be asked from here; a question that is overdue is put off all the same.
        None => person::put_off(workspace)?,
    };
    Ok(match ended {
        End::Decided(decided) => {
            let note = decided.note.map(|note| format!(" ({note})")).unwrap_or_default();
            let by = decided.by.unwrap_or_else(|| "A person".to_owned());
            Some(format!("{by} has decided: {}{note}.", decided.option))
        }
        End::PutOff(why) => Some(put_off_words(&why)),
        End::Gone => Some("The question is not open any more.".to_owned()),
        End::Late => None,
    })
}

/// Keeps the agent going after a person was waited for, if the run goes on by that.
fn go_on(workspace: &mut Workspace, words: &str, end: &TurnEnd<'_>) -> Result<TurnDecision, Failure> {
    let Some(current) = workspace.current()? else {
        return Ok(TurnDecision::Allow { note: Some(format!("{words} The run is over.")) });
    };
    let waits = current.run.standing != Standing::Active || person::open(&current).is_some();
    if waits {
        return decide(workspace, current, end);
    }
    Ok(TurnDecision::Block { reason: told(workspace, words)? })
}

/// Decides, offering the events that the end of the turn stands for.
fn decide(
    workspace: &mut Workspace,
    mut current: Current,
    end: &TurnEnd<'_>,
) -> Result<TurnDecision, Failure> {
    let mut decision = turn::end(&current.workflow, &current.run, end);
    for _ in 0..MOST_ASKED {
        let TurnDecision::Ask(ask) = decision else { return Ok(decision) };
        let refused = match workspace.ask_as(ask.actor, ask.event.clone(), Map::new()) {
            Ok(answer) => {
                tell_away(workspace, &answer);
                current = answer.current;
                None
            }
            Err(AskError::Refused(refused)) => Some(refused),
            Err(AskError::NoRun) => return Ok(TurnDecision::Allow { note: None }),
            Err(AskError::Failed(error)) => return Err(error.into()),
        };
        decision = turn::asked(&current.workflow, &current.run, &ask, refused.as_ref(), end);
    }
    Ok(decision)
}

/// Notes that a turn ended because the model could not be reached.
pub(crate) fn failure(here: &Here, input: &Input) -> Result<Answer, Failure> {
    if here.head == Quick::NoRun {
        return Ok(Answer::silent());
    }
    let mut workspace = here.open()?;
    let Some(current) = workspace.current()? else { return Ok(Answer::silent()) };
    if !is_owner(&current.run.owner, input) {
        return Ok(Answer::silent());
    }
    let error = input.error.as_deref().unwrap_or("the turn failed");
    let data =
        Map::from_iter([("error".to_owned(), json!(format!("the agent's turn ended early: {error}")))]);
    match workspace.ask_as(Actor::Engine, Event::Named(EventName::new(Event::NOTED)), data) {
        Ok(_) | Err(AskError::NoRun) => Ok(Answer::silent()),
        Err(AskError::Refused(refused)) => Ok(Answer::note(refused.to_string())),
        Err(AskError::Failed(error)) => Err(error.into()),
    }
}

fn blocks(own: &Path) -> Result<u32, Failure> {
    let file = own.join(BLOCKS);
    match fs::read_to_string(&file) {
        Ok(text) => Ok(text.trim().parse().unwrap_or(0)),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(source) => Err(Failure::Count { file, source }),
    }
}

/// Notes that the agent has worked since it was last kept going.
pub(crate) fn tool_was_used(own: &Path) -> Result<(), Failure> {
    let file: PathBuf = own.join(BLOCKS);
    match fs::remove_file(&file) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(Failure::Count { file, source }),
        Ok(()) | Err(_) => Ok(()),
    }
}
