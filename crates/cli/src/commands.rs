//! The commands. Each file holds the arguments, whose comments are the help, and the function that runs them.

mod adopt;
mod answer;
mod config;
mod doctor;
mod explain;
mod git_hook;
mod hook;
mod init;
mod log;
mod next;
mod state;
mod status;
mod stop;
mod tour;
mod workflow;

use std::{
    env,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::{Parser, Subcommand};
use engine::{Actor, Advice, Outcome};
use project::{Answer, Dirs, Place, Workspace, actor, quick_roots};

pub(crate) use hook::answer as answer_hook;

use crate::{error::CommandError, exit::Exit, output};

/// Drive coding agents through phases that they cannot step out of
#[derive(Debug, Parser)]
#[command(name = "warp", version, after_help = exit_codes(), arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Work in this directory instead of the current one
    #[arg(short = 'C', long, value_name = "DIR", global = true)]
    project: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Arguments),
    Status(status::Arguments),
    Log(log::Arguments),
    Explain(explain::Arguments),
    Next(next::Arguments),
    Config(config::Arguments),
    Stop(stop::Arguments),
    Answer(answer::Arguments),
    Adopt(adopt::Arguments),
    Doctor(doctor::Arguments),
    Workflow(workflow::Arguments),
    State(state::Arguments),
    Tour(tour::Arguments),
    GitHook(git_hook::Arguments),
    Hook(hook::Arguments),
}

impl Arguments {
    pub(crate) fn transition(root: PathBuf, event: String) -> Self {
        Self { project: None, command: Command::State(state::Arguments::transition(root, event)) }
    }

    /// Reads the bare arguments of one of git's hooks, which a commit runs several of.
    pub(crate) fn git_hook(arguments: &[std::ffi::OsString]) -> Option<Self> {
        let arguments = git_hook::Arguments::bare(arguments)?;
        Some(Self { project: None, command: Command::GitHook(arguments) })
    }

    pub(crate) fn run(self) -> Exit {
        let project = self.project;
        if let Err(error) = self.command.check_actor(project.as_deref()) {
            output::error(&error);
            return error.exit;
        }
        let result = match self.command {
            Command::Init(arguments) => init::run(&arguments, project),
            Command::Status(arguments) => status::run(&arguments, project),
            Command::Log(arguments) => log::run(&arguments, project),
            Command::Explain(arguments) => explain::run(&arguments, project),
            Command::Next(arguments) => next::run(&arguments, project),
            Command::Config(arguments) => config::run(&arguments, project),
            Command::Stop(arguments) => stop::run(&arguments, project),
            Command::Answer(arguments) => answer::run(&arguments, project),
            Command::Adopt(arguments) => adopt::run(&arguments, project),
            Command::Doctor(arguments) => doctor::run(&arguments, project),
            Command::Workflow(arguments) => workflow::run(&arguments, project),
            Command::State(arguments) => state::run(arguments, project),
            Command::Tour(arguments) => tour::run(&arguments),
            Command::GitHook(arguments) => git_hook::run(&arguments),
            Command::Hook(arguments) => Ok(hook::run(&arguments)),
        };
        result.unwrap_or_else(|error| {
            output::error(&error);
            error.exit
        })
    }
}

impl Command {
    /// Refuses what only a person may do to an agent.
    fn check_actor(&self, project: Option<&Path>) -> Result<(), CommandError> {
        let root = match self {
            Self::Init(_) | Self::Stop(_) | Self::Answer(_) | Self::Adopt(_) => None,
            Self::Doctor(arguments) if arguments.repair => None,
            Self::State(arguments) => match arguments.persons_root() {
                Some(root) => Some(root),
                None => return Ok(()),
            },
            Self::Status(_)
            | Self::Log(_)
            | Self::Explain(_)
            | Self::Next(_)
            | Self::Config(_)
            | Self::Doctor(_)
            | Self::Workflow(_)
            | Self::Tour(_)
            | Self::GitHook(_)
            | Self::Hook(_) => return Ok(()),
        };
        let base = project.map_or_else(|| env::current_dir().unwrap_or_default(), Path::to_owned);
        let root = base.join(root.unwrap_or(Path::new("")));
        let found = quick_roots(&root).next();
        let root = found.unwrap_or(root);
        match actor(&root) {
            Actor::Person | Actor::Engine => Ok(()),
            Actor::Agent => Err(CommandError::new(
                Exit::NoSessionOrDenied,
                "this command is a person's, and it was given by an agent",
            )
            .hint("a person runs it in a terminal of their own")),
        }
    }
}

fn exit_codes() -> String {
    let mut text = String::from("Exit codes:\n");
    for (exit, meaning) in Exit::TABLE {
        text.push_str(&format!("  {:<3} {meaning}\n", *exit as u8));
    }
    text
}

/// Finds the workspace around the current directory, or around the one that was given.
fn place(project: Option<PathBuf>) -> Result<Place, CommandError> {
    let here = || {
        env::current_dir().map_err(|error| {
            CommandError::new(Exit::OutsideSaidNo, format!("the current directory cannot be read: {error}"))
        })
    };
    let directory = match project {
        Some(directory) => directory,
        None => here()?,
    };
    Ok(Place::around(&directory)?)
}

/// Opens the workspace around the current directory and brings its views up to date.
fn open(project: Option<PathBuf>) -> Result<Workspace, CommandError> {
    let mut workspace = Workspace::open(place(project)?, Dirs::from_environment()?)?;
    refresh(&mut workspace);
    Ok(workspace)
}

/// Views that cannot be written do not stand in the way of looking at the run.
fn refresh(workspace: &mut Workspace) {
    match workspace.refresh() {
        Ok(advice) => say(&advice),
        Err(error) => output::note(&CommandError::from(error).to_string()),
    }
}

fn say(advice: &[Advice]) {
    for Advice(text) in advice {
        output::note(text);
    }
}

/// Denies an operation, in words that an agent is shown.
pub(crate) fn deny(reason: &str) -> Exit {
    // The exit code denies even if nobody reads the reason.
    let _ = writeln!(std::io::stderr().lock(), "{reason}");
    Exit::NoSessionOrDenied
}

/// Returns the exit code of an event that was taken.
fn exit_of(outcome: &Outcome) -> Exit {
    match outcome {
        Outcome::Moved | Outcome::Noted => Exit::Done,
        Outcome::Redirected { .. } => Exit::Redirected,
        Outcome::Parked { .. } => Exit::Parked,
    }
}

/// Says in a few words what an event did.
fn summary(answer: &Answer) -> String {
    let first = answer.current.events() - answer.records.len() as u64;
    let mut lines = Vec::new();
    for (index, record) in answer.records.iter().enumerate() {
        let seq = first + index as u64;
        let event = &record.event;
        let line = match (&record.from, record.trip()) {
            (Some(from), Some(trip)) => {
                format!(
                    "#{seq} {from} -> {} ({event}, redirected: {})",
                    record.phase,
                    trip.reasons.join(", ")
                )
            }
            (Some(from), None) if record.moves() => format!("#{seq} {from} -> {} ({event})", record.phase),
            (Some(_), None) => format!("#{seq} {} ({event})", record.phase),
            (None, _) => format!("#{seq} {} ({event})", record.phase),
        };
        lines.push(line);
    }
    if let Outcome::Parked { decision } = &answer.outcome {
        lines.push(format!("waits for decision {decision}: `warp status` shows the question"));
    }
    lines.join("\n")
}
