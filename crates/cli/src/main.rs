//! The `warp` command: arguments, a file per command, text, exit codes. It decides nothing.
//!
//! A gate is asked before every commit of an agent, so it is looked for in the bare arguments before anything
//! else is started; everything else goes through the ordinary parser.

mod commands;
mod error;
mod exit;
mod output;
mod quick;

use std::{env, ffi::OsString, process::ExitCode};

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    if let Some(code) = quick::gate(&arguments) {
        return code.into();
    }
    let code = match commands::Arguments::try_parse_from(&arguments) {
        Ok(arguments) => arguments.run(),
        Err(error) => output::usage(&error),
    };
    code.into()
}
