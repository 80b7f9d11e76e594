use std::path::{Path, PathBuf};

use engine::{Event, Standing};
use project::{Place, Workspace};
use serde_json::{Map, json};

use super::{exit_of, open, say, summary};
use crate::{error::CommandError, exit::Exit, output};

/// Answer a decision that a run waits for
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The decision's id, as `warp status` shows it
    id: String,
    /// One of its options
    option: String,
    /// A word to go with the answer
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let asks = |standing: &Standing| match standing {
        Standing::Parked { decision } => decision.id == arguments.id,
        Standing::Active | Standing::Stopped | Standing::Ended { .. } => false,
    };
    let runs = workspace.runs()?;
    let asking = runs.iter().find(|current| asks(&current.run.standing));
    let Some(asking) = asking else {
        let open: Vec<String> = runs
            .iter()
            .filter_map(|current| match &current.run.standing {
                Standing::Parked { decision } => Some(decision.id.clone()),
                Standing::Active | Standing::Stopped | Standing::Ended { .. } => None,
            })
            .collect();
        let known = if open.is_empty() {
            "no decision is open".to_owned()
        } else {
            format!("open: {}", open.join(", "))
        };
        return Err(CommandError::new(
            Exit::Refused,
            format!("decision `{}` is not open; {known}", arguments.id),
        ));
    };
    let place = Place::at(Path::new(&asking.run.root))?;
    let mut workspace = Workspace::open(place, workspace.dirs.clone())?;
    let event = Event::DecisionAnswered { decision: arguments.id.clone(), option: arguments.option.clone() };
    let mut data = Map::new();
    if let Some(note) = &arguments.note {
        data.insert("note".to_owned(), json!(note));
    }
    let answer = workspace.ask(event, data)?;
    say(&answer.advice);
    output::print(&summary(&answer))?;
    Ok(exit_of(&answer.outcome))
}
