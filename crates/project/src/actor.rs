//! Who gives a command: a person, or an agent.
//!
//! An agent is told by descent: the run knows the process that carries it on, and what that process started is the
//! agent. What was cut off from its parents since then, and has no terminal of its own, is not known to be a person's.
//! Clients that say so in the environment of the commands they run are believed as well. Nobody says
//! "I am a person" that way, so leaving the variable out gains nothing. Codex may put walls around its commands, behind
//! which no descent is to be seen; then the walls tell.

use std::{env, path::Path};

use adapters::machine;
use engine::{Actor, Owner};

use crate::{HeadLookup, quick_head};

/// Tells who runs this process in the workspace at `root`.
pub fn actor(root: &Path) -> Actor {
    if looks_like_an_agent() || descends_from_agent(root) { Actor::Agent } else { Actor::Person }
}

/// Tells whether the environment is that of an agent, or of the client that runs it.
///
/// What a client marks as its own is not told apart here: an agent could mark itself so.
pub fn looks_like_an_agent() -> bool {
    let is_set = |name: &&str| env::var_os(name).is_some_and(|value| !value.is_empty());
    ["AI_AGENT", "CLAUDECODE", "CODEX_THREAD_ID", "CODEX_SANDBOX"].iter().any(is_set)
        || machine::is_walled_in()
}

/// Tells whether a hook was called by an agent's command instead of by the client of the person at the keyboard.
///
/// A client starts its hooks itself. A process between the two, or another client that the agent has started, is the
/// agent's.
pub fn is_forged(root: &Path) -> bool {
    if env::var("AI_AGENT").is_ok_and(|name| name.ends_with("_agent")) {
        return true;
    }
    match quick_head(root) {
        HeadLookup::Known(head) => {
            let owner = &head.owner;
            owner.session.is_some() && machine::parent() != owner.pid && is_of_agent(owner)
        }
        HeadLookup::NoRun | HeadLookup::Unsure => false,
    }
}

/// Tells whether this process is one of those that an agent's client has started, as far as that can be told.
pub(crate) fn is_of_agent(owner: &Owner) -> bool {
    machine::descends_from(owner) || machine::is_cut_off_from(owner)
}

fn descends_from_agent(root: &Path) -> bool {
    match quick_head(root) {
        HeadLookup::Known(head) => head.owner.session.is_some() && is_of_agent(&head.owner),
        // Without a head there is no telling which process carries the run on; the engine asks again later.
        HeadLookup::NoRun | HeadLookup::Unsure => false,
    }
}
