//! A tool that an agent has called: answered by the run that is here, or by whoever drives it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use project::{Current, Error, Shell, spelled, tools::Called};
use serde_json::Value;

use crate::{AwayChannel, HookContext, Input, socket};

/// The largest input of a tool, in bytes: more than any event takes.
pub(crate) const LARGEST_TOOL: usize = 1024 * 1024;

/// Why a call has no answer. Its effect is unknown; the tool `status` shows it.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error("the input has {0} bytes; the most is {LARGEST_TOOL}")]
    TooLarge(usize),
    #[error("the input is no JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("warp's driver does not answer ({0})")]
    Driver(#[source] std::io::Error),
    #[error("{}", spelled(.0))]
    Failed(#[from] Error),
    #[error("the tool itself has failed")]
    Panicked,
}

/// Answers a tool call, through the driver's socket if the environment names one. Never panics.
pub fn call_tool(name: &str, input: &[u8], away: &'static dyn AwayChannel) -> Result<Called, ToolError> {
    if input.len() > LARGEST_TOOL {
        return Err(ToolError::TooLarge(input.len()));
    }
    match socket::Address::from_environment() {
        Some(address) => socket::forward_tool(&address, name, input).map_err(ToolError::Driver),
        None => match HookContext::of(&Input::default(), away) {
            Some(here) => call_here(&here, Shell::default(), name, input),
            None => Ok(Called::refused("there is no project here: call it from inside of one")),
        },
    }
}

/// Answers a tool by the run that is `here`.
pub(crate) fn call_here(
    here: &HookContext,
    shell: Shell,
    name: &str,
    input: &[u8],
) -> Result<Called, ToolError> {
    let answered = catch_unwind(AssertUnwindSafe(|| {
        let input: Value = serde_json::from_slice(input)?;
        let mut workspace = here.open()?;
        workspace.shell = shell;
        let before = workspace.current()?;
        let called = workspace.call_tool(name, &input)?;
        if let Some(before) = before {
            let is_same = |now: Current| now.events() == before.events();
            // A call may ask a person, which moves nothing.
            if !workspace.current()?.is_some_and(is_same) {
                here.tell_of(&workspace, &before.run);
            }
        }
        Ok(called)
    }));
    answered.unwrap_or(Err(ToolError::Panicked))
}
