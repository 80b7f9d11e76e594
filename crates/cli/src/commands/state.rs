use std::path::{Path, PathBuf};

use engine::{
    Actor, Event, EventName, Outcome, Record, Verdict,
    view::{self, OPERATIONS, Permission},
};
use project::{Answer, HeadLookup, Place, Request, Workspace, quick_gate};
use serde_json::{Map, Value, json};

use super::{config::key_value, deny, dirs, exit_of, say, stop, summary};
use crate::{error::CommandError, exit::Exit, output};

/// Drive a run by hand: the state machine's own commands
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

impl Arguments {
    /// Returns the workspace that is meant, if only a person may do it.
    pub(super) fn persons_root(&self) -> Option<&Path> {
        match &self.action {
            Action::Init(init) => Some(&init.root),
            Action::Abort { root } | Action::Resume { root } | Action::Reset { root } => Some(root),
            Action::Status { .. }
            | Action::Transition { .. }
            | Action::Inject { .. }
            | Action::Gate { .. }
            | Action::Verify { .. } => None,
        }
    }
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Begin a run in a workspace
    Init(Init),
    /// Show the run's state as JSON
    Status {
        root: PathBuf,
        /// The default; accepted for symmetry
        #[arg(long)]
        json: bool,
    },
    /// Offer an event to the run
    Transition {
        root: PathBuf,
        event: String,
        /// What comes with the event, as a JSON object
        #[arg(long, value_name = "JSON")]
        data: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what an agent's session is told about the run
    Inject { root: PathBuf },
    /// Tell whether an operation is allowed: git_commit, git_push, git_merge
    Gate { root: PathBuf, operation: String },
    /// Run the verification commands that are configured for an event
    Verify { root: PathBuf, event: String },
    /// Abort the run, as `transition ROOT abort` does
    Abort { root: PathBuf },
    /// Resume a stopped run
    Resume { root: PathBuf },
    /// Take the run off its workspace and archive its state file
    Reset { root: PathBuf },
}

#[derive(Debug, clap::Args)]
struct Init {
    root: PathBuf,
    /// Automation level: 2 opens a pull request, 3 merges
    #[arg(long)]
    level: Option<u64>,
    /// The issue to work on
    #[arg(long)]
    issue: Option<String>,
    /// The process that carries the run on; without it, the caller
    #[arg(long)]
    pid: Option<u32>,
    /// The workflow to go by
    #[arg(long, value_name = "NAME", default_value = project::DEFAULT_WORKFLOW)]
    workflow: String,
    /// What to build, for workflows that are about a feature
    #[arg(long, value_name = "TEXT")]
    feature: Option<String>,
    /// The workspace was made for this run: a branch that the agent moves without permission is moved back
    #[arg(long)]
    own: bool,
    /// A setting for this run alone
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// Print the run's state as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let project = project.unwrap_or_default();
    let open = |root: PathBuf| open(&project.join(root));
    match arguments.action {
        Action::Init(init) => begin(open(init.root.clone())?, init),
        Action::Status { root, json: _ } => status(open(root)?),
        Action::Transition { root, event, data, json } => {
            transition(&mut open(root)?, &event, data.as_deref(), json)
        }
        Action::Inject { root } => inject(open(root)?),
        Action::Gate { root, operation } => {
            check_operation(&operation)?;
            match quick_gate(&project.join(&root), &operation) {
                HeadLookup::Known(reason) => Ok(deny(&reason)),
                HeadLookup::NoRun => Ok(Exit::Done),
                HeadLookup::Unsure => gate(open(root)?, &operation),
            }
        }
        Action::Verify { root, event } => verify(open(root)?, &event),
        Action::Abort { root } => stop::stop(&mut open(root)?),
        Action::Resume { root } => ask(&mut open(root)?, Event::Resumed, Map::new(), false),
        Action::Reset { root } => stop::reset(&mut open(root)?),
    }
}

fn open(root: &Path) -> Result<Workspace, CommandError> {
    Ok(Workspace::open(Place::at(root)?, dirs()?)?)
}

fn begin(mut workspace: Workspace, init: Init) -> Result<Exit, CommandError> {
    let answer = workspace.begin(Request {
        workflow: Some(init.workflow),
        level: init.level,
        issue: init.issue.map(|issue| issue.trim_start_matches('#').to_owned()),
        feature: init.feature,
        pid: init.pid,
        session: None,
        owns_workspace: init.own,
        target: None,
        set: init.set,
    })?;
    say(&answer.advice);
    let current = &answer.current;
    if init.json {
        output::print_json(&view::state_json(&current.workflow, &current.run))?;
    } else {
        output::print(&format!(
            "{}\nrun {} of {} has begun",
            summary(&answer),
            current.run.id,
            current.run.workflow
        ))?;
    }
    Ok(Exit::Done)
}

fn status(mut workspace: Workspace) -> Result<Exit, CommandError> {
    super::refresh(&mut workspace);
    let current = workspace.current()?.ok_or_else(CommandError::no_session)?;
    output::print_json(&view::state_json(&current.workflow, &current.run))?;
    Ok(Exit::Done)
}

fn transition(
    workspace: &mut Workspace,
    event: &str,
    data: Option<&str>,
    json: bool,
) -> Result<Exit, CommandError> {
    let data = match data {
        None => Map::new(),
        Some(text) => parse_data(text)?,
    };
    let event = parse_event(event, &data)?;
    ask(workspace, event, data, json)
}

fn ask(
    workspace: &mut Workspace,
    event: Event,
    data: Map<String, Value>,
    json: bool,
) -> Result<Exit, CommandError> {
    let actor = project::actor(&workspace.place.root);
    let answer = workspace.ask_as(actor, event, data)?;
    say(&answer.advice);
    if json {
        output::print_json(&answer_json(&answer))?;
    } else {
        output::print(&summary(&answer))?;
        // An agent goes on at once, so it is told what its new phase wants and how that ends.
        if actor == Actor::Agent && answer.records.iter().any(Record::moves) {
            output::print(workspace.news(&answer.current, actor).trim_end())?;
        }
    }
    Ok(exit_of(&answer.outcome))
}

fn answer_json(answer: &Answer) -> Value {
    let first = answer.current.events() - answer.records.len() as u64;
    let rows = answer.records.iter().enumerate();
    let rows: Vec<_> = rows.map(|(index, record)| view::LogRow::of(first + index as u64, record)).collect();
    let outcome = match &answer.outcome {
        Outcome::Moved => "moved",
        Outcome::Redirected { .. } => "redirected",
        Outcome::Noted => "noted",
        Outcome::Parked { .. } => "parked",
    };
    let advice: Vec<&str> = answer.advice.iter().map(|advice| advice.0.as_str()).collect();
    json!({ "outcome": outcome, "phase": answer.current.run.phase, "events": rows, "advice": advice })
}

/// Reads `--data`; what is wrong is said with its place.
fn parse_data(text: &str) -> Result<Map<String, Value>, CommandError> {
    let bad = |problem: String| {
        CommandError::new(Exit::BadData, format!("--data {problem}"))
            .hint("write a JSON object, like '{\"acs\":[[\"AC-01\",\"AC-02\"],[\"AC-03\"]]}'")
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(data)) => Ok(data),
        Ok(_) => Err(bad("is JSON, but not an object".to_owned())),
        Err(error) => Err(bad(format!("is not JSON: {error}"))),
    }
}

/// Reads an event's name: one of the workflow's own, or one of those that observers report.
fn parse_event(name: &str, data: &Map<String, Value>) -> Result<Event, CommandError> {
    let text = |field: &str| {
        data.get(field).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| {
            CommandError::new(Exit::BadData, format!("`{name}` needs `{field}`"))
                .hint(format!("--data '{{\"{field}\":\"…\"}}'"))
        })
    };
    match name {
        "file_edited" => Ok(Event::FileEdited { file: text("file")? }),
        "deadline_passed" => Ok(Event::DeadlinePassed),
        "attempt_started" => Ok(Event::AttemptStarted { effect: text("effect")? }),
        _ => Ok(Event::Named(EventName::new(name))),
    }
}

fn inject(mut workspace: Workspace) -> Result<Exit, CommandError> {
    super::refresh(&mut workspace);
    let current = workspace.current()?.ok_or_else(CommandError::no_session)?;
    let actor = project::actor(&workspace.place.root);
    output::print(workspace.described_whole(&current, actor).trim_end())?;
    Ok(Exit::Done)
}

fn check_operation(operation: &str) -> Result<(), CommandError> {
    if OPERATIONS.contains(&operation) {
        return Ok(());
    }
    let known = OPERATIONS.join(", ");
    Err(CommandError::new(Exit::Usage, format!("`{operation}` is not an operation; there are {known}")))
}

/// Asks the store for leave, which the head cannot give.
fn gate(mut workspace: Workspace, operation: &str) -> Result<Exit, CommandError> {
    super::refresh(&mut workspace);
    Ok(match workspace.current()? {
        None => Exit::Done,
        Some(current) => match current.run.permission(&current.workflow, operation) {
            Permission::Allowed => Exit::Done,
            Permission::Denied(reason) => deny(&reason),
        },
    })
}

fn verify(mut workspace: Workspace, event: &str) -> Result<Exit, CommandError> {
    let Some((current, observations)) = workspace.verify(event)? else {
        return Err(
            CommandError::no_session().hint("`warp state init . --level 2 --issue 42` starts one here")
        );
    };
    let results = &observations.commands;
    if !current.workflow.events().iter().any(|known| **known == *event) {
        let problem = format!("`{event}` is not an event of {}", current.run.workflow);
        return Err(CommandError::new(Exit::Usage, problem));
    }
    for result in results {
        let word = if result.passed { "passed" } else { "failed" };
        output::print(&format!("{word}: {} ({})", result.command, result.end))?;
    }
    match current.run.verify(event, &observations) {
        Verdict::Cleared | Verdict::NotChecked(_) => {
            if results.is_empty() {
                output::print(&format!("no verification gate is configured for {event}"))?;
            }
            Ok(Exit::Done)
        }
        Verdict::Doubted(reason) | Verdict::Refused(reason) => Err(CommandError::new(Exit::Failed, reason)),
    }
}
