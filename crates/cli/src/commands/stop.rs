use std::path::PathBuf;

use adapters::machine;
use engine::{Event, Standing, view, workflow::Job};
use jobs::{Left, Wanted};
use project::{Answer, Current, Place, Workspace, slots::Pool};
use serde_json::Map;

use super::{exit_of, open, say, selected, summary};
use crate::{error::CommandError, exit::Exit, output};

/// Stop a run: gracefully, or at once with --hard
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue; without it, this workspace's run, or the only one that warp drives
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// Take the run off its workspace and archive its state file; uncommitted work stays in the tree
    #[arg(long)]
    hard: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut here = open(project)?;
    // A state file that belongs to no run stands in the way here, whatever runs elsewhere.
    if arguments.hard && arguments.selector.is_none() && !here.stray_state_files().is_empty() {
        return reset(&mut here);
    }
    let current = selected(&mut here, arguments.selector.as_deref())?;
    let Some(mut workspace) = here.of_run(&current)? else {
        return stop_elsewhere(&mut here, &current, arguments.hard);
    };
    if arguments.hard {
        return reset(&mut workspace);
    }
    let stopped = stop(&mut workspace)?;
    let cleaned = clean_up(&mut workspace)?;
    if let Some(current) = workspace.current()?.filter(|current| current.run.standing == Standing::Stopped) {
        let waits = view::explain(&current.workflow, &current.run, machine::now()).waits_for;
        output::say(&format!("it stays where it is, and waits for {waits}"));
    }
    Ok(if stopped == Exit::Done { cleaned } else { stopped })
}

/// Cleans up after a run that warp drove, if nobody does so any more.
fn clean_up(workspace: &mut Workspace) -> Result<Exit, CommandError> {
    let Some(current) = workspace.current()? else { return Ok(Exit::Done) };
    let run = &current.run;
    let is_left = current.workflow.phase(&run.phase).is_some_and(|phase| phase.job == Some(Job::CleanUp));
    let Some(origin) = workspace.place.origin().filter(|_| is_left && !machine::is_live(&run.owner)) else {
        return Ok(Exit::Done);
    };
    let slot = Pool::of(&Place::at(origin)?, &workspace.dirs)?.reopen(run.root.as_ref())?;
    let mut slot = Workspace::open_slot(slot, workspace.dirs.clone())?;
    let done = jobs::on(&mut slot).next(&Wanted { is_single: true, ..Wanted::default() })?;
    for line in done.steps.iter().flat_map(|step| &step.said) {
        output::print(line)?;
    }
    let Some(answer) = done.taken() else { return Ok(Exit::Done) };
    output::print(&summary(answer))?;
    let has_failed = answer.records.iter().any(|record| record.data.contains_key("failure"));
    Ok(if has_failed { Exit::Failed } else { Exit::Done })
}

/// Stops a run whose workspace is not on this machine.
fn stop_elsewhere(here: &mut Workspace, current: &Current, hard: bool) -> Result<Exit, CommandError> {
    let run = current.run.id.as_str();
    let event = if hard { Event::ResetRequested } else { Event::StopRequested };
    let answer = here.ask_run(current, event, Map::new())?;
    if hard {
        say_reset(here, run)?;
        return Ok(Exit::Done);
    }
    let stopped = say_stopped(&answer)?;
    if answer.current.run.is_open() {
        output::say(&format!(
            "its workspace is not on this machine: `warp recover {run}` makes a lost one again, `warp stop --hard {run}` ends \
             the run without it"
        ));
    }
    Ok(stopped)
}

/// Stops the run of a workspace as its workflow has it.
pub(crate) fn stop(workspace: &mut Workspace) -> Result<Exit, CommandError> {
    let answer = workspace.ask(Event::StopRequested, Map::new())?;
    say_stopped(&answer)
}

fn say_stopped(answer: &Answer) -> Result<Exit, CommandError> {
    say(&answer.advice);
    output::print(&summary(answer))?;
    Ok(exit_of(&answer.outcome))
}

/// Takes the run off a workspace.
pub(crate) fn reset(workspace: &mut Workspace) -> Result<Exit, CommandError> {
    let reset = workspace.reset()?;
    for file in &reset.archived {
        output::print(&format!("archived {}", file.display()))?;
    }
    match &reset.run {
        Some(run) => {
            say_reset(workspace, run)?;
        }
        None if reset.archived.is_empty() => return Err(CommandError::no_session()),
        None => {}
    }
    Ok(Exit::Done)
}

/// Keeps the work of a run that was reset, and says where it is.
fn say_reset(workspace: &mut Workspace, run: &str) -> Result<(), CommandError> {
    output::print(&format!("run {run} is reset; `warp log {run}` still shows it"))?;
    let Some(current) = workspace.select(Some(run))? else { return Ok(()) };
    let Left { kept, open_again, is_held } = jobs::on(workspace).keep_left(&current.run)?;
    if !open_again.is_empty() {
        output::print(&format!("open again in the issue: {}", open_again.join(", ")))?;
    }
    for name in &kept {
        let name = name.strip_prefix("refs/warp/salvage/").unwrap_or(name);
        output::print(&format!("its work is kept: `warp salvage show {name}`"))?;
    }
    if is_held {
        output::print(
            "its process is ending, and keeps what it has done: `warp salvage list` shows it then",
        )?;
    }
    Ok(())
}
