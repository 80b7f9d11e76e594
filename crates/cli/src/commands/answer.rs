use std::path::PathBuf;

use engine::view::{self, Asked};
use forge::ItemId;
use project::{Current, Given, LateError, Workspace, spend::More};

use super::{exit_of, open, say, summary};
use crate::{error::CommandError, exit::Exit, output};

/// Answer a decision that a run waits for, or a TODO that a question has become
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The decision's id, as `warp status` shows it, or the number of a TODO; without it, every open question is shown
    id: Option<String>,
    /// One of its options, or the number of one; without it, the options are shown
    option: Option<String>,
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
    let Some(id) = &arguments.id else { return show(questions.iter().map(|(_, asked)| asked)) };
    let Some((asking, asked)) = questions.iter().find(|(_, asked)| asked.id == *id) else {
        if let Some(todo) = ItemId::typed(id) {
            return late(&mut workspace, arguments, todo);
        }
        let open: Vec<&str> = questions.iter().map(|(_, asked)| asked.id.as_str()).collect();
        let known = if open.is_empty() {
            "no decision is open".to_owned()
        } else {
            format!("open: {}", open.join(", "))
        };
        return Err(CommandError::new(Exit::Refused, format!("decision `{id}` is not open; {known}")));
    };
    let Some(given) = given(&workspace, arguments) else { return show([asked].into_iter()) };
    let more = More { micro_usd: arguments.usd, tokens: arguments.tokens };
    let answer = workspace.decide_run(asking, &given, more)?;
    say(&answer.advice);
    output::print(&summary(&answer))?;
    Ok(exit_of(&answer.outcome))
}

/// Returns the answer that was typed, if there was one.
fn given(workspace: &Workspace, arguments: &Arguments) -> Option<Given> {
    Some(Given {
        decision: arguments.id.clone()?,
        option: arguments.option.clone()?,
        note: arguments.note.clone(),
        by: workspace.person(),
        via: "terminal".to_owned(),
    })
}

/// Shows questions with the commands that answer them.
fn show<'a>(questions: impl Iterator<Item = &'a Asked>) -> Result<Exit, CommandError> {
    let question = |asked: &Asked| format!("{}\n{}", asked.question.trim_end(), asked.command_lines());
    let shown: Vec<String> = questions.map(question).collect();
    output::print(&if shown.is_empty() { "No decision is open.".to_owned() } else { shown.join("\n") })?;
    Ok(Exit::Done)
}

/// Answers the question that a TODO asks, after its run continued without an answer.
fn late(workspace: &mut Workspace, arguments: &Arguments, todo: ItemId) -> Result<Exit, CommandError> {
    let Some(given) = given(workspace, arguments) else {
        return show([workspace.late_question(todo)?.asked].iter());
    };
    let answered = workspace.answer_late(todo, &given)?;
    let about = answered.about;
    output::print(&format!("#{todo} is answered for issue {about}: {}", answered.option))?;
    if answered.is_open {
        output::print(&format!("`warp run {about}` takes it up, and so does `warp run --until-empty`"))?;
    }
    Ok(Exit::Done)
}

impl From<LateError> for CommandError {
    fn from(error: LateError) -> Self {
        match error {
            LateError::Missing(_) | LateError::NotAQuestion(_) => {
                Self::of(Exit::Refused, &error).hint("`warp answer` shows every open question")
            }
            LateError::Closed { id, .. } => Self::of(Exit::Refused, &error)
                .hint(format!("`warp issue show {id}` shows how it was answered")),
            LateError::NoOption { ref asked, .. } => {
                let commands = asked.inline_commands();
                Self::of(Exit::BadData, &error).hint(format!("{commands} answers it"))
            }
            LateError::Failed(error) => error.into(),
        }
    }
}
