//! Before anything else: is the repository still there?

use std::{env, path::PathBuf};

use project::{
    Dirs,
    rails::rescue::{RescueError, rescue},
};

use crate::{Event, Input, changes};

/// Puts a repository back that a tool call has deleted or damaged; says what was done.
pub(crate) fn before(event: Event, input: &Input) -> Result<Option<String>, RescueError> {
    let looks = matches!(event, Event::PreToolUse | Event::PostToolUse | Event::PostToolUseFailure);
    if !looks || !changes::may_change(input) {
        return Ok(None);
    }
    let Ok(dirs) = Dirs::from_environment() else { return Ok(None) };
    let cwd = input.cwd.clone().filter(|cwd| cwd.is_absolute()).or_else(|| env::current_dir().ok());
    let project = env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    rescue(&dirs, &[cwd, project].into_iter().flatten().collect::<Vec<_>>())
}
