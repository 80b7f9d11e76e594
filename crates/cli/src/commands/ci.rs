use std::{path::PathBuf, sync::Arc};

use forge::{Checks, ChecksState, Item, ItemId, Query, StepId};
use project::Workspace;
use serde_json::{Value, json};

use super::{issue::number, items, open};
use crate::{error::CommandError, exit::Exit, output};

/// The most of a log that is printed where nobody asks for all of it, in lines and in bytes.
const LOG_LINES: usize = 80;
const LOG_BYTES: usize = 8_000;

/// Show the server's checks: of pull requests, and of the merge target
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the open pull requests and the merge target with the state of their checks
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the state of the checks of a pull request
    Status {
        /// A pull request or its issue [default: the merge target]
        #[arg(value_parser = number)]
        number: Option<ItemId>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what a check printed
    Logs {
        /// A pull request or its issue
        #[arg(value_parser = number)]
        number: ItemId,
        /// The check, as `warp ci status` names it
        check: String,
    },
    /// Print the end of what every failed check printed
    Failures {
        /// A pull request or its issue [default: the merge target]
        #[arg(value_parser = number)]
        number: Option<ItemId>,
    },
    /// Run the checks of a pull request again
    Restart {
        /// A pull request or its issue
        #[arg(value_parser = number)]
        number: ItemId,
    },
}

impl Arguments {
    /// Tells whether nothing is changed: then it is an agent's as well.
    pub(super) fn only_looks(&self) -> bool {
        match self.action {
            Action::List { .. } | Action::Status { .. } | Action::Logs { .. } | Action::Failures { .. } => {
                true
            }
            Action::Restart { .. } => false,
        }
    }
}

/// What is checked, in words, and its commit.
struct Subject {
    name: String,
    commit: String,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let checks = workspace.checks().ok_or_else(no_checks)?;
    match &arguments.action {
        Action::List { json } => list(&mut workspace, &*checks, *json)?,
        Action::Status { number, json } => {
            let subject = subject(&mut workspace, *number)?;
            let state = checks.state(&subject.commit)?;
            if *json {
                output::print_json(&shown(&subject, &state))?;
            } else {
                output::print(&said(&subject, &state))?;
            }
        }
        Action::Logs { number, check } => {
            let subject = subject(&mut workspace, Some(*number))?;
            let step = StepId { commit: subject.commit, name: check.clone() };
            output::print(&checks.log(&step)?)?;
        }
        Action::Failures { number } => {
            let subject = subject(&mut workspace, *number)?;
            failures(&*checks, &subject)?;
        }
        Action::Restart { number } => {
            let subject = subject(&mut workspace, Some(*number))?;
            checks.restart(&subject.commit)?;
            output::print(&format!("the checks of {} run again", subject.name))?;
        }
    }
    Ok(Exit::Done)
}

fn no_checks() -> CommandError {
    CommandError::new(Exit::Refused, "this project has no server whose checks could be shown".to_owned())
        .hint("warp runs the project's own tests: `warp doctor --tests` shows them")
        .hint("`warp forge check` says which forge is in use")
}

fn list(workspace: &mut Workspace, checks: &dyn Checks, as_json: bool) -> Result<(), CommandError> {
    let mut subjects = vec![target(workspace)?];
    let pulls = workspace.forge().pulls(Query::Open)?;
    subjects.extend(pulls.iter().filter_map(|item| of_pull(item)));
    let mut rows = Vec::new();
    for subject in &subjects {
        let state = checks.state(&subject.commit)?;
        rows.push((subject, state));
    }
    if as_json {
        let rows: Vec<Value> = rows.iter().map(|(subject, state)| shown(subject, state)).collect();
        return output::print_json(&rows);
    }
    let rows: Vec<String> =
        rows.iter().map(|(subject, state)| format!("{:12} {}", word(state), subject.name)).collect();
    output::print(&rows.join("\n"))
}

fn failures(checks: &dyn Checks, subject: &Subject) -> Result<(), CommandError> {
    let steps = match checks.state(&subject.commit)? {
        ChecksState::Failed(steps) | ChecksState::Infra(steps) => steps,
        state @ (ChecksState::None
        | ChecksState::NotStarted
        | ChecksState::Running
        | ChecksState::Passed
        | ChecksState::Skipped) => {
            return output::print(&format!("no check of {} failed ({})", subject.name, word(&state)));
        }
    };
    for step in steps {
        output::print(&format!("== {}", step.name))?;
        output::print(&tail(&checks.log(&step)?))?;
    }
    Ok(())
}

/// Returns the end of a log.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let kept = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
    let mut from = kept.len().saturating_sub(LOG_BYTES);
    while !kept.is_char_boundary(from) {
        from += 1;
    }
    kept[from..].to_owned()
}

fn subject(workspace: &mut Workspace, number: Option<ItemId>) -> Result<Subject, CommandError> {
    let Some(number) = number else { return target(workspace) };
    let item: Arc<Item> = items::pull(workspace, number)?;
    of_pull(&item).ok_or_else(|| {
        CommandError::new(Exit::Refused, format!("#{number} is an issue, and has no pull request"))
    })
}

fn of_pull(item: &Item) -> Option<Subject> {
    let pull = item.pull.as_ref()?;
    Some(Subject { name: format!("#{} {}", item.id, item.title), commit: pull.head.clone() })
}

/// Returns the newest commit of the merge target that is known here.
fn target(workspace: &mut Workspace) -> Result<Subject, CommandError> {
    let (_, target) = workspace.configuration_and_target(&[])?;
    let remote = workspace.remote().unwrap_or_else(|| "origin".to_owned());
    let git = workspace.place.git();
    let commit = git
        .commit_of(&format!("refs/remotes/{remote}/{target}"))
        .or_else(|_| git.commit_of(&format!("refs/heads/{target}")))
        .map_err(|why| CommandError::new(Exit::Failed, why))?;
    Ok(Subject { name: format!("`{target}`"), commit })
}

fn steps(state: &ChecksState) -> &[StepId] {
    match state {
        ChecksState::Failed(steps) | ChecksState::Infra(steps) => steps,
        ChecksState::None
        | ChecksState::NotStarted
        | ChecksState::Running
        | ChecksState::Passed
        | ChecksState::Skipped => &[],
    }
}

fn word(state: &ChecksState) -> &'static str {
    match state {
        ChecksState::None => "none",
        ChecksState::NotStarted => "not started",
        ChecksState::Running => "running",
        ChecksState::Failed(_) => "failed",
        ChecksState::Infra(_) => "infra failed",
        ChecksState::Passed => "passed",
        ChecksState::Skipped => "skipped",
    }
}

fn said(subject: &Subject, state: &ChecksState) -> String {
    let short = subject.commit.get(..10).unwrap_or(&subject.commit);
    let mut text = format!("{}: {} ({short})", subject.name, word(state));
    for step in steps(state) {
        text.push_str(&format!("\n  failed: {}", step.name));
    }
    if *state == ChecksState::None {
        text.push_str("\n  no check is configured at the server; that is not taken for green");
    }
    text
}

fn shown(subject: &Subject, state: &ChecksState) -> Value {
    json!({
        "subject": subject.name,
        "commit": subject.commit,
        "state": word(state).replace(' ', "_"),
        "failed": steps(state).iter().map(|step| &step.name).collect::<Vec<_>>(),
    })
}
