use std::path::PathBuf;

use project::Request;

use super::{open, say, summary};
use crate::{error::CommandError, exit::Exit, output};

/// Begin a run where a state file of the original tools says it stands
///
/// The file may be `.claude/.warp-drive-state.json` or `.claude/autonomous-loop.json`, also of version 1.
/// Unknown fields are kept, receipts are not carried over, and the original file is set aside.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The state file
    file: PathBuf,
    /// The process that carries the run on; without it, the caller
    #[arg(long)]
    pid: Option<u32>,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let request = Request { pid: arguments.pid, ..Request::default() };
    let answer = workspace.adopt(&arguments.file, request)?;
    say(&answer.advice);
    output::print(&format!(
        "{}\nrun {} stands in {}",
        summary(&answer),
        answer.current.run.id,
        answer.current.run.phase
    ))?;
    Ok(Exit::Done)
}
