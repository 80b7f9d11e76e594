use std::{env, path::PathBuf};

use mcp::ServeError;

use crate::{error::CommandError, exit::Exit, person::AWAY};

/// Offer an agent the tools by which it talks back (Model Context Protocol)
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    // The run is looked for around the current directory.
    if let Some(project) = project {
        env::set_current_dir(&project).map_err(|error| {
            CommandError::new(Exit::Usage, format!("`{}` cannot be gone to: {error}", project.display()))
        })?;
    }
    mcp::serve(&AWAY)?;
    Ok(Exit::Done)
}

impl From<ServeError> for CommandError {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Client(_) => Self::of(Exit::BadData, &error)
                .hint("an agent's client starts this; `warp init` registers it with Claude Code and Codex"),
            ServeError::Start(_) | ServeError::Failed(_) => Self::of(Exit::Failed, &error),
        }
    }
}
