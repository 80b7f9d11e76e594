//! The short ways of what agents call most: `warp hook EVENT`, `warp state gate ROOT OPERATION` and
//! `warp state transition ROOT EVENT`, read from the bare arguments.

use std::{ffi::OsString, path::Path};

use engine::view::OPERATIONS;
use project::{Quick, quick_gate};

use crate::{commands, exit::Exit};

/// Answers a hook if that is what was asked.
pub(crate) fn hook(arguments: &[OsString]) -> Option<Exit> {
    let [_, hook, event] = arguments else { return None };
    let event = event.to_str().filter(|event| hook == "hook" && !event.starts_with('-'))?;
    Some(commands::answer_hook(event))
}

/// Answers a gate if that is what was asked and the head can tell; else leaves it to the ordinary way.
pub(crate) fn gate(arguments: &[OsString]) -> Option<Exit> {
    let [_, state, gate, root, operation] = arguments else { return None };
    if state != "state" || gate != "gate" {
        return None;
    }
    let operation = operation.to_str().filter(|operation| OPERATIONS.contains(operation))?;
    match quick_gate(Path::new(root), operation) {
        Quick::Known(reason) => Some(commands::deny(&reason)),
        Quick::NoRun => Some(Exit::Done),
        Quick::Unsure => None,
    }
}

/// Returns what the ordinary parser would make of a bare transition or gate, which takes it longer than all the rest.
pub(crate) fn state(arguments: &[OsString]) -> Option<commands::Arguments> {
    let [_, state, action, root, name] = arguments else { return None };
    if state != "state" || is_option(root) || is_option(name) {
        return None;
    }
    let (root, name) = (root.into(), name.to_str()?.to_owned());
    match action.to_str()? {
        "transition" => Some(commands::Arguments::transition(root, name)),
        "gate" => Some(commands::Arguments::gate(root, name)),
        _ => None,
    }
}

fn is_option(argument: &OsString) -> bool {
    argument.as_encoded_bytes().starts_with(b"-")
}
