use std::path::PathBuf;

use engine::view::{LogRow, render_log};
use forge::ItemId;
use project::{Current, Workspace};

use super::open;
use crate::{error::CommandError, exit::Exit, local_time, output};

/// Show every phase transition of an issue or a run, oldest first
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// An issue, with all runs that worked on it, or a run id; without it, this workspace's run, or the newest that warp
    /// drives
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// Also show events that moved nothing and that no check said anything about
    #[arg(long)]
    all: bool,
    /// Print all events as JSON
    #[arg(long)]
    json: bool,
}

/// The rows of one run, or of what it did for one issue.
struct Part {
    run: String,
    rows: Vec<LogRow>,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let name = workspace.place.name();
    let selector = arguments.selector.as_deref();
    let mut parts = parts(&mut workspace, selector)?;
    let is_alone = parts.len() == 1;
    if arguments.json {
        for part in parts.iter_mut().filter(|_| !is_alone) {
            part.rows.iter_mut().for_each(|row| row.run = Some(part.run.clone()));
        }
        output::print_json(&parts.into_iter().flat_map(|part| part.rows).collect::<Vec<_>>())?;
        return Ok(Exit::Done);
    }
    for (index, Part { run, rows }) in parts.into_iter().enumerate() {
        let rows: Vec<LogRow> =
            rows.into_iter().filter(|row| row.moved || !row.checks.is_empty() || arguments.all).collect();
        if !is_alone {
            let gap = if index == 0 { "" } else { "\n" };
            output::print(&format!("{gap}Run {run}"))?;
        }
        output::print(&render_log(&name, &rows, local_time::second))?;
    }
    Ok(Exit::Done)
}

fn parts(workspace: &mut Workspace, selector: Option<&str>) -> Result<Vec<Part>, CommandError> {
    let named = workspace.select(selector)?;
    let is_by_id = |current: &Current| selector == Some(current.run.id.as_str());
    let issue = match &named {
        Some(current) if is_by_id(current) => None,
        Some(_) | None => selector.and_then(ItemId::typed),
    };
    let Some(issue) = issue else {
        let current = named.ok_or_else(|| CommandError::no_run(selector, "run"))?;
        let rows = rows(workspace, &current)?;
        return Ok(vec![Part { run: current.run.id.to_string(), rows }]);
    };
    let mut parts = Vec::new();
    for stint in workspace.account(issue)?.stints {
        let Some(current) = workspace.select(Some(&stint.run))? else { continue };
        let is_its = |row: &LogRow| stint.events.contains(&row.seq);
        let rows = rows(workspace, &current)?.into_iter().filter(is_its).collect();
        parts.push(Part { run: stint.run, rows });
    }
    if parts.is_empty() {
        return Err(CommandError::no_run(selector, "run"));
    }
    Ok(parts)
}

fn rows(workspace: &mut Workspace, current: &Current) -> Result<Vec<LogRow>, CommandError> {
    let records = workspace.records(current)?;
    Ok(records.iter().enumerate().map(|(seq, record)| LogRow::of(seq as u64, record)).collect())
}
