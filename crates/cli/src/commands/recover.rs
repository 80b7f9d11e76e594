use std::path::PathBuf;

use adapters::machine;
use project::{Current, Workspace, slots::SlotError};

use super::{open, pool, refresh};
use crate::{error::CommandError, exit::Exit, output};

/// Make a lost workspace of a run again, with all of its commits that can be found
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue; without it, the open run whose workspace is gone
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let pool = pool(&workspace)?;
    let current = match &arguments.selector {
        Some(selector) => {
            let named = workspace.select(Some(selector))?;
            named.ok_or_else(|| CommandError::no_run(Some(selector), "run"))?
        }
        None => the_lost_one(&mut workspace)?,
    };
    let run = &current.run;
    if !run.is_open() {
        return Err(CommandError::new(
            Exit::Refused,
            format!("run `{}` is over and needs no workspace", run.id),
        )
        .hint("`warp salvage list` shows what was kept of it"));
    }
    if !run.owns_workspace {
        return Err(CommandError::new(
            Exit::Refused,
            format!(
                "run `{}` works in a checkout of yours, {}, which warp does not make again",
                run.id, run.root
            ),
        ));
    }
    if run.owner.is_driver() && machine::is_live(&run.owner) {
        return Err(CommandError::new(
            Exit::Claimed,
            format!("process {} still works on run `{}`", run.owner.pid, run.id),
        )
        .hint("it will fail by itself, or `warp stop` ends it; then recover"));
    }
    let Some(recovered) = pool.recover(run)? else {
        output::print(&format!("The workspace of run {} is whole: {}", run.id, run.root))?;
        return Ok(Exit::Done);
    };
    let mut lines = vec![format!("{} is there again, at {}", run.root, recovered.tip)];
    for (commits, what) in [
        (&recovered.found, "is part of it"),
        (&recovered.elsewhere, "is kept, but does not continue what the run began on"),
        (&recovered.missing, "was found nowhere"),
    ] {
        lines.extend(commits.iter().map(|commit| format!("commit {commit} {what}")));
    }
    lines.extend(recovered.unasked.iter().map(|remote| format!("this remote could not be asked: {remote}")));
    if let Some(kept) = &recovered.kept {
        lines.push(format!("files that were not committed are kept as {kept}"));
    }
    if let Some(remains) = &recovered.remains {
        lines.push(format!("what was left of the old workspace is in {}", remains.display()));
    }
    let mut again = Workspace::open(recovered.slot.place.clone(), workspace.dirs.clone())?;
    refresh(&mut again);
    output::print(&lines.join("\n"))?;
    Ok(if recovered.missing.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Finds the open run whose workspace is gone; there must be exactly one.
fn the_lost_one(workspace: &mut Workspace) -> Result<Current, CommandError> {
    let pool = pool(workspace)?;
    let mut lost = Vec::new();
    for current in workspace.runs()? {
        let is_candidate = current.run.is_open() && current.run.owns_workspace;
        if is_candidate && matches!(pool.reopen(current.run.root.as_ref()), Err(SlotError::Lost { .. })) {
            lost.push(current);
        }
    }
    match lost.len() {
        0 => Err(CommandError::new(Exit::NoSessionOrDenied, "no open run has lost its workspace")
            .hint("`warp status` shows the runs")),
        1 => Ok(lost.remove(0)),
        _ => {
            let names: Vec<&str> = lost.iter().map(|current| current.run.id.as_str()).collect();
            Err(CommandError::new(
                Exit::Usage,
                format!("these runs have lost their workspace: {}", names.join(", ")),
            )
            .hint("`warp recover RUN` takes one"))
        }
    }
}
