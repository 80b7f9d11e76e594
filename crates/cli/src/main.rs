//! The `warp` command: arguments, a file per command, text, exit codes. It decides nothing.
//!
//! What agents call most is looked for in the bare arguments before anything else is started; everything else goes
//! through the ordinary parser.

mod commands;
mod error;
mod exit;
mod live;
mod output;
mod quick;

use std::{env, ffi::OsString, process::ExitCode};

use clap::Parser as _;

use crate::exit::Exit;

/// Every command is a short process, and musl's own allocator maps and unmaps memory a hundred times in one.
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    #[cfg(debug_assertions)]
    die_in_time();
    let arguments: Vec<OsString> = env::args_os().collect();
    if let Some(code) = quick::hook(&arguments).or_else(|| quick::gate(&arguments)) {
        return code.into();
    }
    let bare = quick::state(&arguments).or_else(|| commands::Arguments::git_hook(&arguments));
    let parsed = match bare {
        Some(arguments) => Ok(arguments),
        None => commands::Arguments::try_parse_from(&arguments),
    };
    let code = match parsed {
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
