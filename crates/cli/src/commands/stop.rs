use std::path::{Path, PathBuf};

use engine::Event;
use project::{Place, Workspace};
use serde_json::Map;

use super::{exit_of, open, say, summary};
use crate::{error::CommandError, exit::Exit, output};

/// Stop a run: gracefully, or at once with --hard
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue; without it, this workspace's run
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// Take the run off its workspace and archive its state file; uncommitted work stays in the tree
    #[arg(long)]
    hard: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    if let Some(selector) = &arguments.selector {
        let current = workspace.select(Some(selector))?.ok_or_else(CommandError::no_session)?;
        let place = Place::at(Path::new(&current.run.root))?;
        workspace = Workspace::open(place, workspace.dirs.clone())?;
    }
    if arguments.hard { reset(&mut workspace) } else { stop(&mut workspace) }
}

/// Stops the run of a workspace as its workflow has it.
pub(crate) fn stop(workspace: &mut Workspace) -> Result<Exit, CommandError> {
    let answer = workspace.ask(Event::StopRequested, Map::new())?;
    say(&answer.advice);
    output::print(&summary(&answer))?;
    Ok(exit_of(&answer.outcome))
}

/// Takes the run off a workspace.
pub(crate) fn reset(workspace: &mut Workspace) -> Result<Exit, CommandError> {
    let reset = workspace.reset()?;
    for file in &reset.archived {
        output::print(&format!("archived {}", file.display()))?;
    }
    match &reset.run {
        Some(run) => output::print(&format!("run {run} is reset; `warp log {run}` still shows it"))?,
        None if reset.archived.is_empty() => return Err(CommandError::no_session()),
        None => {}
    }
    Ok(Exit::Done)
}
