use std::path::PathBuf;

use adapters::machine;
use engine::view;
use forge::ItemId;
use project::{Current, Workspace, outlook::Is};

use super::open;
use crate::{error::CommandError, exit::Exit, local_time, output};

/// Say why an issue or a run is where it is, and what to do next
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// An issue or a run id; without it, this workspace's run, or what `warp run` would do now
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let json = arguments.json;
    let Some(selector) = &arguments.selector else {
        return match workspace.current()? {
            Some(current) => explain(&current, json),
            None => explain_next(&mut workspace, json),
        };
    };
    let named = workspace.select(Some(selector))?;
    let is_by_id = named.as_ref().is_some_and(|current| current.run.id.as_str() == selector);
    let issue = match &named {
        Some(current) if is_by_id && !current.run.is_open() => None,
        Some(current) if is_by_id => current.run.issue.as_deref().and_then(ItemId::typed),
        Some(_) | None => ItemId::typed(selector),
    };
    match (issue, named) {
        (Some(number), named) => explain_issue(&mut workspace, number, named, json),
        (None, Some(current)) => explain(&current, json),
        (None, None) => Err(CommandError::unknown(selector, &workspace.place.name())),
    }
}

fn explain_issue(
    workspace: &mut Workspace,
    number: ItemId,
    last: Option<Current>,
    json: bool,
) -> Result<Exit, CommandError> {
    let outlook = workspace.outlook(number)?;
    let is_missing = matches!(outlook.is, Is::Missing);
    if let Some(last) = last.filter(|_| is_missing) {
        return explain(&last, json);
    }
    if json {
        output::print_json(&outlook)?;
    } else {
        output::print(&outlook.render(local_time::minute))?;
    }
    Ok(if is_missing { Exit::NoSessionOrDenied } else { Exit::Done })
}

/// Says what `warp run` would do, in a workspace that has no run.
fn explain_next(workspace: &mut Workspace, json: bool) -> Result<Exit, CommandError> {
    let is_slot = workspace.place.origin().is_some();
    if let Some(last) = workspace.select(None)?.filter(|_| is_slot) {
        return explain(&last, json);
    }
    let prospect = workspace.prospect()?;
    if json {
        output::print_json(&prospect)?;
    } else {
        output::print(&prospect.render())?;
    }
    Ok(Exit::Done)
}

fn explain(current: &Current, json: bool) -> Result<Exit, CommandError> {
    let explanation = view::explain(&current.workflow, &current.run, machine::now());
    if json {
        output::print_json(&explanation)?;
    } else {
        output::print(&explanation.render(local_time::minute))?;
    }
    Ok(Exit::Done)
}
