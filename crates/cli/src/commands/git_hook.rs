use std::{
    ffi::OsString,
    io::{self, Read as _},
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
};

use adapters::git::hooks;
use project::rails::{
    backstop::USER_HOOK,
    guard::{self, Verdict},
};

use super::deny;
use crate::{error::CommandError, exit::Exit};

/// The most that git writes to a hook, in bytes; a fetch of very many refs has that.
const LARGEST: u64 = 256 * 1024 * 1024;

/// Answer one of git's hooks; the scripts that `warp init` installs call this
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The hook: reference-transaction, pre-commit, pre-merge-commit, commit-msg, pre-push, pre-rebase,
    /// post-checkout
    name: String,
    /// What git gave the hook
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let reads = arguments.name == "reference-transaction";
    let mut input = Vec::new();
    let read = if reads { io::stdin().lock().take(LARGEST).read_to_end(&mut input) } else { Ok(0) };
    let verdict = match read {
        Ok(_) => answer(arguments, &input),
        Err(error) if project::looks_like_an_agent() => {
            Verdict::Refuse(format!("warp: what git says cannot be read: {error}"))
        }
        Err(_) => Verdict::Pass,
    };
    match verdict {
        Verdict::Refuse(reason) => Ok(deny(&reason)),
        Verdict::Pass => pass_on(arguments, reads.then_some(input.as_slice())),
    }
}

/// A fault of our own refuses an agent, and lets a person pass.
fn answer(arguments: &Arguments, input: &[u8]) -> Verdict {
    let given: Vec<&str> = arguments.arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let judge = || guard::answer(&arguments.name, &given, input);
    match panic::catch_unwind(AssertUnwindSafe(judge)) {
        Ok(verdict) => verdict,
        Err(_) if project::looks_like_an_agent() => {
            Verdict::Refuse("warp: this is a fault of warp; nothing was moved".to_owned())
        }
        Err(_) => Verdict::Pass,
    }
}

/// Becomes the user's own hook, if there is one.
fn pass_on(arguments: &Arguments, input: Option<&[u8]>) -> Result<Exit, CommandError> {
    let hook = std::env::var_os(USER_HOOK).map(PathBuf::from);
    let Some(hook) = hook.filter(|hook| hooks::is_runnable(hook)) else { return Ok(Exit::Done) };
    let error = hooks::become_hook(&hook, &arguments.arguments, input, USER_HOOK);
    let problem = format!("your own hook `{}` could not be run: {error}", hook.display());
    Err(CommandError::new(Exit::Failed, problem).hint("its first line must name a program that is there"))
}
