//! The gate's short way: `warp state gate ROOT OPERATION`, read from the bare arguments.

use std::{ffi::OsString, path::Path};

use engine::view::OPERATIONS;
use project::{Quick, quick_gate};

use crate::{commands, exit::Exit};

/// Answers a gate if that is what was asked and the head can tell; else leaves it to the ordinary way.
pub(crate) fn gate(arguments: &[OsString]) -> Option<Exit> {
    let [_, state, gate, root, operation] = arguments else { return None };
    if state != "state" || gate != "gate" {
        return None;
    }
    let operation = operation.to_str().filter(|operation| OPERATIONS.contains(operation))?;
    match quick_gate(Path::new(root), operation) {
        Quick::Denied(reason) => Some(commands::deny(&reason)),
        Quick::NoRun => Some(Exit::Done),
        Quick::Unsure => None,
    }
}
