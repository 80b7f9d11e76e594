//! A session starts: it takes over a run that nobody carries on, and is told where the run stands.

use adapters::machine;
use engine::{Actor, Event, Owner};
use project::{AskError, Current, HeadLookup, Workspace};
use serde_json::Map;

use crate::{
    Answer, Failure, HookContext, Input, caller, note_plugin,
    person::{self, End},
};

pub(crate) fn start(here: &HookContext, input: &Input) -> Result<Answer, Failure> {
    if here.head == HeadLookup::NoRun {
        return Ok(Answer::silent());
    }
    let mut workspace = here.open()?;
    workspace.refresh()?;
    let Some(current) = workspace.current()? else { return Ok(Answer::silent()) };
    let was = current.run.owner.clone();
    // A client that clears its conversation goes on as another session, but it is the same process.
    let is_same = Owner { session: was.session.clone(), ..caller(input) } == was;
    let is_other =
        was.session.is_some() && !is_same && was.session != input.session_id && machine::is_live(&was);
    if is_other {
        let text = format!(
            "Another session carries on the {} run of this project. Its rails hold here too: {}",
            current.run.workflow, "commits are refused while its phase does not allow them."
        );
        return Ok(Answer::context("SessionStart", &text));
    }
    let current = match person::put_off(&mut workspace)? {
        End::PutOff(_) => {
            here.tell_of(&workspace, &current.run);
            workspace.current()?
        }
        End::Decided(_) | End::Over | End::Gone => workspace.current()?,
        End::Late => Some(current),
    };
    let Some(current) = current else { return Ok(Answer::silent()) };
    // Told before the session joins: a run that nobody carries on any more is worth a word.
    let told = workspace.described(&current, Actor::Agent);
    if may_join(here, input) {
        join(&mut workspace, current, input)?;
    }
    note_plugin(here, input)?;
    Ok(Answer::context("SessionStart", &told))
}

/// Tells whether the caller is a client's session. One without a name, or one that the agent of this run has started, would take
/// the run from its agent, whose commands then looked like a person's.
fn may_join(here: &HookContext, input: &Input) -> bool {
    let has_name = input.session_id.as_deref().is_some_and(|name| !name.trim().is_empty());
    has_name && !project::is_forged(&here.root)
}

/// Makes the calling agent the one that carries the run on.
fn join(workspace: &mut Workspace, current: Current, input: &Input) -> Result<(), Failure> {
    let owner = caller(input);
    if owner == current.run.owner {
        return Ok(());
    }
    match workspace.ask_as(Actor::Engine, Event::OwnerChanged { owner }, Map::new()) {
        Ok(_) | Err(AskError::NoRun | AskError::Refused(_)) => Ok(()),
        Err(AskError::Failed(error)) => Err(error.into()),
    }
}

/// Tells whether the calling session is the one that carries the run on. A run that a person began by hand has no
/// session yet.
pub(crate) fn is_owner(owner: &Owner, input: &Input) -> bool {
    owner.session.is_none() || owner.is_driver() || owner.session == input.session_id
}
