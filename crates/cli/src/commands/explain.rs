use std::path::PathBuf;

use adapters::machine;
use engine::view;

use super::open;
use crate::{error::CommandError, exit::Exit, output};

/// Say where a run is, why, what it waits for and what can happen next
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue; without it, this workspace's run
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let current = workspace.select(arguments.selector.as_deref())?.ok_or_else(CommandError::no_session)?;
    let explanation = view::explain(&current.workflow, &current.run, machine::now());
    if arguments.json {
        output::print_json(&explanation)?;
    } else {
        output::print(&explanation.render())?;
    }
    Ok(Exit::Done)
}
