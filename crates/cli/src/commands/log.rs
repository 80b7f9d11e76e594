use std::path::PathBuf;

use engine::view::{LogRow, render_log};

use super::open;
use crate::{error::CommandError, exit::Exit, output};

/// Show every phase transition of a run, oldest first
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue; without it, this workspace's run, or the newest that warp drives
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// Also show events that moved nothing and that no check said anything about
    #[arg(long)]
    all: bool,
    /// Print all events as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let name = workspace.place.name();
    let selector = arguments.selector.as_deref();
    let current = workspace.select(selector)?.ok_or_else(|| CommandError::no_run(selector, "run"))?;
    let records = workspace.records(&current)?;
    let rows = records.iter().enumerate().map(|(seq, record)| LogRow::of(seq as u64, record));
    if arguments.json {
        output::print_json(&rows.collect::<Vec<_>>())?;
    } else {
        let rows: Vec<LogRow> =
            rows.filter(|row| row.moved || !row.checks.is_empty() || arguments.all).collect();
        output::print(&render_log(&name, &rows))?;
    }
    Ok(Exit::Done)
}
