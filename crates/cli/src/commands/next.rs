use std::path::PathBuf;

use jobs::{Done, JobError, Wanted};
use project::Answer;
use serde_json::json;

use super::{exit_of, open, say, summary};
use crate::{error::CommandError, exit::Exit, output};

/// Do the work of every phase that a program can do, and say what comes next
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The commit's message, where a commit is next
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Stop after one phase
    #[arg(long)]
    step: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let wanted = Wanted { message: arguments.message.clone(), is_single: arguments.step };
    let done = jobs::on(&mut workspace).next(&wanted)?;
    if arguments.json {
        print_json(&done)?;
    } else {
        print(&done)?;
    }
    let exit = done.taken().map_or(Exit::Done, |answer| exit_of(&answer.outcome));
    done.next?;
    Ok(exit)
}

fn print(done: &Done) -> Result<(), CommandError> {
    for step in &done.steps {
        if let Some(answer) = &step.taken {
            say(&answer.advice);
        }
        for line in &step.said {
            output::print(line)?;
        }
        if let Some(answer) = &step.taken {
            output::print(&summary(answer))?;
        }
    }
    if let Ok(next) = &done.next {
        output::print(next.trim_end())?;
    }
    Ok(())
}

fn print_json(done: &Done) -> Result<(), CommandError> {
    let first = |answer: &Answer| answer.records.first().map(|record| record.event.to_string());
    let taken: Vec<&Answer> = done.steps.iter().filter_map(|step| step.taken.as_ref()).collect();
    taken.iter().for_each(|answer| say(&answer.advice));
    let events: Vec<String> = taken.iter().copied().filter_map(first).collect();
    let said: Vec<&String> = done.steps.iter().flat_map(|step| &step.said).collect();
    let next = done.next.as_ref().ok();
    let value = json!({ "said": said, "event": events.last(), "events": events, "next": next });
    output::print_json(&value)
}

impl From<JobError> for CommandError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Ask(error) => error.into(),
            JobError::Failed(error) => error.into(),
            JobError::Forge(error) => error.into(),
            JobError::Slot(error) => error.into(),
            JobError::Known(error) => Self::of(Exit::Failed, &error),
            JobError::Snapshot(error) => Self::of(Exit::Failed, &error),
            JobError::Dev(problem) => Self::new(Exit::Failed, problem)
                .hint("`warp dev up` brings it up; `dev_health_check = false` leaves it out of runs"),
            held @ JobError::Held(_) => Self::new(Exit::Failed, held.to_string())
                .hint("fix what is held; `warp config commit_guard=false` switches the guard off"),
            JobError::Undecided { .. } => Self::of(Exit::Parked, &error),
            JobError::World(problem) | JobError::RemoteLocked(problem) => Self::new(Exit::Failed, problem),
        }
    }
}
