//! The end of a turn: the agent may stop, or is told what is left to do.
//!
//! A client overrules a hook that keeps its agent going too often without any work in between, and does not say so.
//! So blocks are counted here, in a small file that every use of a tool takes away.
//!
//! A turn ends when the agent has asked a person, too. If that person is away, the end waits for them; else a hook in the
//! background does. What they decide, or that nobody has, is what the agent goes on with.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::{clock, hold::FileLock, machine};
use engine::{
    Actor, Event, EventName, Standing,
    turn::{self, TurnDecision, TurnEnd},
};
use project::{AskError, Current, HeadLookup, Workspace};
use serde_json::{Map, json};

use crate::{
    Answer, Failure, HookContext, Input, Reachability,
    person::{self, End, put_off_words},
    prompt::VIA,
    question::told,
    session::is_owner,
};

/// The file that counts blocks in a row.
const BLOCKS: &str = "stop-blocks";
/// The file that one process in the background holds while it waits for a person.
const WAITING: &str = "waiting";
/// How long it waits for the one before, which has to notice that its question is answered.
const ONE_BEFORE: Duration = Duration::from_secs(2);
/// How many events one end of a turn may ask for.
const MOST_ASKED: usize = 2;

pub(crate) fn stop(here: &HookContext, input: &Input) -> Result<Answer, Failure> {
    if here.head == HeadLookup::NoRun {
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
    let decision = match if waits { heard(here, &mut workspace, &current)? } else { None } {
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
fn heard(
    here: &HookContext,
    workspace: &mut Workspace,
    current: &Current,
) -> Result<Option<String>, Failure> {
    let Some((id, _)) = person::open(current) else { return Ok(None) };
    let run = current.run.id.as_str();
    let ended = match here.away.begin(&workspace.place, &workspace.dirs, run) {
        Some(exchange) => {
            let ended =
                person::wait(workspace, &id, clock::after(workspace.dirs.clock.now(), person::AN_HOUR));
            exchange.finish(person::LAST_WORDS);
            ended?
        }
        // Nobody can be asked from here; a question that is overdue is put off all the same.
        None => person::put_off(workspace)?,
    };
    Ok(in_words(ended))
}

/// Says how a question ended; nothing if it is still open.
fn in_words(ended: End) -> Option<String> {
    match ended {
        End::Decided(decided) => {
            let note = decided.note.map(|note| format!(" ({note})")).unwrap_or_default();
            let by = decided.by.unwrap_or_else(|| "A person".to_owned());
            Some(format!("{by} has decided: {}{note}.", decided.option))
        }
        End::PutOff(why) => Some(put_off_words(&why)),
        End::Over => Some("Nobody has answered in time, and the run continues.".to_owned()),
        End::Gone => Some("The question is not open any more.".to_owned()),
        End::Late => None,
    }
}

/// After a turn that has ended with a question, waits in the background for what becomes of it, and wakes the agent with
/// that. What the person says in the chat, the agent hears by itself; in away mode the end of the turn has waited.
pub(crate) fn after(here: &HookContext, input: &Input) -> Result<Answer, Failure> {
    if here.head == HeadLookup::NoRun {
        return Ok(Answer::silent());
    }
    let mut workspace = here.open()?;
    let Some(current) = workspace.current()? else { return Ok(Answer::silent()) };
    let is_mine = is_owner(&current.run.owner, input) && !current.run.owner.is_driver();
    let Some((id, _)) = person::open(&current).filter(|_| is_mine) else { return Ok(Answer::silent()) };
    if here.away.reach(&workspace.place, &workspace.dirs) == Reachability::Reachable {
        return Ok(Answer::silent());
    }
    let file = here.own.join(WAITING);
    let one = File::create(&file).and_then(|one| FileLock::take(one, ONE_BEFORE));
    let Some(_one) = one.map_err(|source| Failure::Count { file, source })? else {
        return Ok(Answer::silent());
    };
    let latest = clock::after(workspace.dirs.clock.now(), person::A_DAY);
    let words = match person::wait(&mut workspace, &id, latest)? {
        End::Decided(decided) if decided.via.as_deref() == Some(VIA) => None,
        ended @ (End::Decided(_) | End::PutOff(_) | End::Over) => in_words(ended),
        End::Gone | End::Late => None,
    };
    Ok(match words {
        Some(words) => Answer::wake(&told(&mut workspace, &words)?),
        None => Answer::silent(),
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
    let mut merged = None;
    for _ in 0..MOST_ASKED {
        let TurnDecision::Ask(ask) = decision else { break };
        let refused = match workspace.ask_as(ask.actor, ask.event.clone(), ask.data.clone()) {
            Ok(answer) => {
                current = answer.current;
                merged = Some(jobs::on(workspace).merge_kept(&current)).filter(|said| !said.is_empty());
                None
            }
            Err(AskError::Refused(refused)) => Some(refused),
            Err(AskError::NoRun) => return Ok(TurnDecision::Allow { note: None }),
            Err(AskError::Failed(error)) => return Err(error.into()),
        };
        decision = turn::asked(&current.workflow, &current.run, &ask, refused.as_ref(), end);
    }
    Ok(match (decision, merged) {
        (TurnDecision::Allow { note }, Some(merged)) => {
            let note = note.into_iter().chain(merged).collect::<Vec<_>>().join("\n");
            TurnDecision::Allow { note: Some(note) }
        }
        (decision, _) => decision,
    })
}

/// Notes that a turn ended because the model could not be reached.
pub(crate) fn failure(here: &HookContext, input: &Input) -> Result<Answer, Failure> {
    if here.head == HeadLookup::NoRun {
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
