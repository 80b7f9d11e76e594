use std::path::{Path, PathBuf};

use adapters::machine;
use engine::view::{self, Owned};
use project::{Current, Place, rails};

use super::open;
use crate::{error::CommandError, exit::Exit, output};

/// Show what phase the run is in, and how far it has come
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
    let name = workspace.place.name();
    let current = match &arguments.selector {
        Some(selector) => workspace.select(Some(selector))?,
        None => workspace.current()?,
    };
    let Some(current) = current else {
        if arguments.json {
            output::print("null")?;
        } else {
            output::print(&nothing_here(&mut workspace, &name, arguments.selector.as_deref())?)?;
        }
        return Ok(Exit::NoSessionOrDenied);
    };
    let rails = Place::at(Path::new(&current.run.root)).map_or("", |place| rails::in_force(&place));
    let status = view::status(&current.workflow, &current.run, &name, owned(&current), rails);
    if arguments.json {
        output::print_json(&status)?;
    } else {
        output::print(&view::render_status(&status))?;
    }
    Ok(Exit::Done)
}

/// Tells whether the process that carries a run on is still there.
pub(crate) fn owned(current: &Current) -> Owned {
    if machine::is_live(&current.run.owner) { Owned::Live } else { Owned::Stale }
}

fn nothing_here(
    workspace: &mut project::Workspace,
    name: &str,
    selector: Option<&str>,
) -> Result<String, CommandError> {
    let mut text = match selector {
        Some(selector) => format!("No run or issue `{selector}` in {name}.\n"),
        None => format!("No active session in {name}.\n"),
    };
    for file in workspace.stray_state_files() {
        text.push_str(&format!("{0} is there; `warp adopt {0}` takes it over.\n", file.display()));
    }
    let others = workspace.runs()?;
    for other in others.iter().filter(|other| other.run.is_open()) {
        let run = &other.run;
        let about = run.issue.as_deref().or(run.feature.as_deref()).unwrap_or("no issue");
        text.push_str(&format!("Run {} ({about}) is in {} at {}.\n", run.id, run.phase, run.root));
    }
    Ok(text)
}
