//! The `warp` command: arguments, a file per command, text, exit codes. It decides nothing.

mod colour;
mod commands;
mod error;
mod exit;
mod live;
mod local_time;
mod output;
mod person;
mod progress;

use std::{env, ffi::OsString, process::ExitCode};

use clap::Parser as _;

use crate::exit::Exit;

fn main() -> ExitCode {
    #[cfg(debug_assertions)]
    die_in_time();
    let arguments: Vec<OsString> = env::args_os().collect();
    if let Some(event) = hook(&arguments) {
        return commands::answer_hook(event).into();
    }
    let code = match commands::Arguments::try_parse_from(&arguments) {
        Ok(arguments) => arguments.run(),
        // A gate that is called in a wrong way is still a gate: any other answer would let the agent through.
        Err(error) if arguments.iter().any(|word| word == "pre-tool-use") => {
            output::usage(&error);
            Exit::NoSessionOrDenied
        }
        Err(error) => output::usage(&error),
    };
    code.into()
}

/// Returns the event of `warp hook EVENT`. An agent waits for every one of its hooks, and to set up the parser of all
/// commands takes longer than most answers; nothing else is read by hand.
fn hook(arguments: &[OsString]) -> Option<&str> {
    let [_, command, event] = arguments else { return None };
    event.to_str().filter(|event| command == "hook" && !event.starts_with('-'))
}

/// With `WARP_CRASH_AT=N` the process dies at the N-th point between its acts, as if it were killed. For tests.
#[cfg(debug_assertions)]
fn die_in_time() {
    let Some(mut left) = env::var("WARP_CRASH_AT").ok().and_then(|at| at.parse::<u64>().ok()) else { return };
    adapters::boundary::watch(move |_| {
        left = left.saturating_sub(1);
        if left == 0 {
            adapters::machine::kill_self();
        }
    });
}
