use std::path::PathBuf;

use engine::view::{self, Asked};
use project::{Current, Given, spend::More};

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
    /// At a cap: how many dollars more may be spent; without it, as much again
    #[arg(long, value_name = "N", value_parser = dollars)]
    usd: Option<u64>,
    /// At a cap of tokens: how many more may be used
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,
}

/// Reads dollars as whole millionths.
fn dollars(text: &str) -> Result<u64, String> {
    let amount: f64 = text.trim_start_matches('$').parse().map_err(|_| "it is no amount".to_owned())?;
    let micro = (amount * 1e6).round();
    if !(1.0..=1e15).contains(&micro) {
        return Err("an amount above zero is wanted".to_owned());
    }
    format!("{micro:.0}").parse().map_err(|_| "it is no amount".to_owned())
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let runs = workspace.runs()?;
    let questions: Vec<(&Current, Asked)> = runs
        .iter()
        .filter_map(|current| Some((current, view::asked(&current.workflow, &current.run)?)))
        .collect();
    let Some((asking, _)) = questions.iter().find(|(_, asked)| asked.id == arguments.id) else {
        let open: Vec<&str> = questions.iter().map(|(_, asked)| asked.id.as_str()).collect();
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
    let given = Given {
        decision: arguments.id.clone(),
        option: arguments.option.clone(),
        note: arguments.note.clone(),
        by: workspace.person(),
        via: "terminal".to_owned(),
    };
    let more = More { micro_usd: arguments.usd, tokens: arguments.tokens };
    let answer = workspace.decide_run(asking, &given, more)?;
    say(&answer.advice);
    output::print(&summary(&answer))?;
    Ok(exit_of(&answer.outcome))
}
