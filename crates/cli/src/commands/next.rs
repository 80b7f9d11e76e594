use std::path::PathBuf;

use jobs::{JobError, Wanted};
use serde_json::json;

use super::{exit_of, open, say, summary};
use crate::{error::CommandError, exit::Exit, output};

/// Do the work of the current phase if a program can, and say what comes next
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The commit's message, where a commit is next
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let done = jobs::on(&mut workspace).next(&Wanted { message: arguments.message.clone() })?;
    if let Some(answer) = &done.taken {
        say(&answer.advice);
    }
    if arguments.json {
        let event = done
            .taken
            .as_ref()
            .and_then(|answer| answer.records.first())
            .map(|record| record.event.to_string());
        output::print_json(&json!({ "said": done.said, "event": event, "next": done.next }))?;
    } else {
        for line in &done.said {
            output::print(line)?;
        }
        if let Some(answer) = &done.taken {
            output::print(&summary(answer))?;
        }
        output::print(done.next.trim_end())?;
    }
    Ok(done.taken.as_ref().map_or(Exit::Done, |answer| exit_of(&answer.outcome)))
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
