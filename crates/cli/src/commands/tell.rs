use std::path::PathBuf;

use engine::Event;
use serde_json::Map;

use super::{open, selected};
use crate::{error::CommandError, exit::Exit, output};

/// Say something to the agent that works on a run, before its next turn
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue
    #[arg(value_name = "RUN|ISSUE")]
    selector: String,
    /// What it should know
    text: String,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let current = selected(&mut workspace, Some(&arguments.selector))?;
    let answer = workspace.ask_run(&current, Event::Told { text: arguments.text.clone() }, Map::new())?;
    let run = &answer.current.run;
    output::print(&format!("run {} gets it with its next turn, in `{}`", run.id, run.phase))?;
    Ok(Exit::Done)
}
