//! The commands. Each file holds the arguments, whose comments are the help, and the function that runs them.

mod adopt;
mod agent_script;
mod agents;
mod answer;
mod ci;
mod completions;
mod config;
mod consent;
mod cost;
mod demo;
mod dev;
mod diff;
mod docs;
mod doctor;
mod explain;
mod forge;
mod git_hook;
mod hook;
mod init;
mod issue;
mod items;
mod log;
mod mcp;
mod next;
mod overview;
mod pr;
mod rdb;
mod recover;
mod report;
mod revert;
mod review;
mod run;
mod salvage;
mod state;
mod status;
mod stop;
mod tell;
mod watch;
mod workflow;

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Parser, Subcommand};
use engine::{Actor, Advice, Outcome};
use project::{Answer, Current, Dirs, Place, Recorded, Workspace, actor, quick_roots, slots::Pool};

pub(crate) use hook::answer as answer_hook;

use crate::{error::CommandError, exit::Exit, output};

/// Drive coding agents through phases that they cannot step out of
#[derive(Debug, Parser)]
#[command(name = "warp", version, after_help = exit_codes(), help_template = help(), disable_help_subcommand = false)]
pub(crate) struct Arguments {
    /// Work in this directory instead of the current one
    #[arg(short = 'C', long, value_name = "DIR", global = true)]
    project: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

/// The commands as the help groups them; those in none are plumbing that other programs call.
const GROUPS: &[(&str, &[&str])] = &[
    ("Everyday commands", &["run", "issue", "pr", "review", "answer", "tell", "stop", "demo"]),
    ("Status commands", &["status", "watch", "report", "explain", "log", "diff", "ci", "cost"]),
    ("Setup commands", &["init", "forge", "config", "doctor", "agents", "workflow", "rdb", "completions"]),
    ("Project commands", &["docs", "dev"]),
    ("Repair commands", &["revert", "salvage", "recover", "adopt"]),
    ("Agent and script commands", &["next", "state", "mcp"]),
];

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Arguments),
    Init(init::Arguments),
    Status(status::Arguments),
    Watch(watch::Arguments),
    Log(log::Arguments),
    Explain(explain::Arguments),
    Cost(cost::Arguments),
    Completions(completions::Arguments),
    Next(next::Arguments),
    Issue(issue::Arguments),
    Pr(pr::Arguments),
    Ci(ci::Arguments),
    Forge(forge::Arguments),
    Review(review::Arguments),
    Diff(diff::Arguments),
    Docs(docs::Arguments),
    Dev(dev::Arguments),
    Salvage(salvage::Arguments),
    Recover(recover::Arguments),
    Report(report::Arguments),
    Revert(revert::Arguments),
    Agents(agents::Arguments),
    Config(config::Arguments),
    Stop(stop::Arguments),
    Tell(tell::Arguments),
    Answer(answer::Arguments),
    Rdb(rdb::Arguments),
    Adopt(adopt::Arguments),
    Doctor(doctor::Arguments),
    Workflow(workflow::Arguments),
    State(state::Arguments),
    Demo(demo::Arguments),
    #[command(hide = true)]
    GitHook(git_hook::Arguments),
    #[command(hide = true)]
    Hook(hook::Arguments),
    Mcp(mcp::Arguments),
    AgentScript(agent_script::Arguments),
}

impl Arguments {
    pub(crate) fn run(self) -> Exit {
        let project = self.project;
        let ended = |error: CommandError| {
            output::error(&error);
            error.exit
        };
        let Some(command) = self.command else { return overview::run(project).unwrap_or_else(ended) };
        if let Err(error) = command.check_actor(project.as_deref()) {
            return ended(error);
        }
        let result = match command {
            Command::Run(arguments) => run::run(&arguments, project),
            Command::Init(arguments) => init::run(&arguments, project),
            Command::Status(arguments) => status::run(&arguments, project),
            Command::Watch(arguments) => watch::run(&arguments, project),
            Command::Log(arguments) => log::run(&arguments, project),
            Command::Explain(arguments) => explain::run(&arguments, project),
            Command::Cost(arguments) => cost::run(&arguments, project),
            Command::Completions(arguments) => completions::run(&arguments),
            Command::Next(arguments) => next::run(&arguments, project),
            Command::Issue(arguments) => issue::run(&arguments, project),
            Command::Pr(arguments) => pr::run(&arguments, project),
            Command::Ci(arguments) => ci::run(&arguments, project),
            Command::Forge(arguments) => forge::run(&arguments, project),
            Command::Review(arguments) => review::run(&arguments, project),
            Command::Diff(arguments) => diff::run(&arguments, project),
            Command::Docs(arguments) => docs::run(&arguments, project),
            Command::Dev(arguments) => dev::run(&arguments, project),
            Command::Salvage(arguments) => salvage::run(&arguments, project),
            Command::Recover(arguments) => recover::run(&arguments, project),
            Command::Report(arguments) => report::run(&arguments, project),
            Command::Revert(arguments) => revert::run(&arguments, project),
            Command::Agents(arguments) => agents::run(&arguments),
            Command::Config(arguments) => config::run(&arguments, project),
            Command::Stop(arguments) => stop::run(&arguments, project),
            Command::Tell(arguments) => tell::run(&arguments, project),
            Command::Answer(arguments) => answer::run(&arguments, project),
            Command::Rdb(arguments) => rdb::run(&arguments, project),
            Command::Adopt(arguments) => adopt::run(&arguments, project),
            Command::Doctor(arguments) => doctor::run(&arguments, project),
            Command::Workflow(arguments) => workflow::run(&arguments, project),
            Command::State(arguments) => state::run(arguments, project),
            Command::Demo(arguments) => demo::run(&arguments),
            Command::GitHook(arguments) => git_hook::run(&arguments),
            Command::Hook(arguments) => Ok(hook::run(&arguments)),
            Command::Mcp(arguments) => mcp::run(&arguments, project),
            Command::AgentScript(arguments) => agent_script::run(&arguments),
        };
        result.unwrap_or_else(ended)
    }
}

impl Command {
    /// Refuses what only a person may do to an agent.
    fn check_actor(&self, project: Option<&Path>) -> Result<(), CommandError> {
        let root = match self {
            Self::Run(_)
            | Self::Init(_)
            | Self::Stop(_)
            | Self::Tell(_)
            | Self::Answer(_)
            | Self::Adopt(_)
            | Self::Recover(_)
            | Self::Revert(_)
            | Self::Review(_) => None,
            Self::Salvage(arguments) if arguments.is_persons() => None,
            Self::Doctor(arguments) if arguments.repair => None,
            Self::Config(arguments) if !arguments.only_looks() => None,
            Self::Rdb(arguments) if !arguments.only_looks() => None,
            Self::Issue(arguments) if !arguments.is_agents() => None,
            Self::Pr(arguments) if !arguments.only_looks() => None,
            Self::Ci(arguments) if !arguments.only_looks() => None,
            Self::Forge(_) => None,
            Self::State(arguments) => match arguments.persons_root() {
                Some(root) => Some(root),
                None => return Ok(()),
            },
            Self::Status(_)
            | Self::Watch(_)
            | Self::Log(_)
            | Self::Explain(_)
            | Self::Cost(_)
            | Self::Completions(_)
            | Self::Next(_)
            | Self::Issue(_)
            | Self::Pr(_)
            | Self::Ci(_)
            | Self::Diff(_)
            | Self::Docs(_)
            | Self::Dev(_)
            | Self::Salvage(_)
            | Self::Report(_)
            | Self::Agents(_)
            | Self::Config(_)
            | Self::Doctor(_)
            | Self::Rdb(_)
            | Self::Workflow(_)
            | Self::Demo(_)
            | Self::GitHook(_)
            | Self::Hook(_)
            | Self::Mcp(_)
            | Self::AgentScript(_) => return Ok(()),
        };
        let base = project.map_or_else(|| env::current_dir().unwrap_or_default(), Path::to_owned);
        let root = base.join(root.unwrap_or(Path::new("")));
        let found = quick_roots(&root).next();
        let root = found.unwrap_or(root);
        match actor(&root) {
            Actor::Person | Actor::Engine => Ok(()),
            Actor::Agent => {
                Err(CommandError::new(Exit::NoSessionOrDenied, "only a person may run this command")
                    .hint("a person runs it in a terminal of their own"))
            }
        }
    }
}

/// Lays the help out: the commands in their groups, each with its first line.
fn help() -> String {
    let all = Command::augment_subcommands(clap::Command::new("warp"));
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut text = "{about}\n\n{usage-heading} {usage}\n".to_owned();
    for (group, names) in GROUPS {
        text.push_str(&format!("\n{group}:\n"));
        for name in *names {
            let about = all.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:<width$}  {about}\n"));
        }
    }
    text.push_str("\nOptions:\n{options}{after-help}");
    text
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
            CommandError::new(Exit::Failed, format!("the current directory cannot be read: {error}"))
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
    let mut workspace = Workspace::open(place(project)?, dirs()?)?;
    refresh(&mut workspace);
    Ok(workspace)
}

/// Returns the checkout of the person's that a workspace is, or was made for.
fn person_place(workspace: &Workspace) -> Result<Place, CommandError> {
    match workspace.place.origin() {
        Some(origin) => Ok(Place::at(origin)?),
        None => Ok(workspace.place.clone()),
    }
}

/// Returns the workspaces for runs of the project, which must have had a run.
fn pool(workspace: &Workspace) -> Result<Pool, CommandError> {
    if workspace.store_path()?.is_none() {
        return Err(CommandError::no_session());
    }
    Ok(Pool::of(&person_place(workspace)?, &workspace.dirs)?)
}

/// Views that cannot be written do not stand in the way of looking at the run.
fn refresh(workspace: &mut Workspace) {
    match workspace.refresh() {
        Ok(advice) => say(&advice),
        Err(error) => output::note(&CommandError::from(error).to_string()),
    }
}

/// Returns the open run that is meant; without a selector, this workspace's, or the only one that warp drives.
fn selected(workspace: &mut Workspace, selector: Option<&str>) -> Result<Current, CommandError> {
    let current = match selector {
        Some(_) => workspace.select(selector)?.filter(|current| current.run.is_open()),
        None => match workspace.current()? {
            Some(current) => Some(current),
            None => {
                let mut driven = workspace.driven()?;
                if driven.len() > 1 {
                    return Err(several(&driven));
                }
                driven.pop()
            }
        },
    };
    current.ok_or_else(|| CommandError::no_run(selector, "open run"))
}

/// The error of a command that is about one run, where several could be meant.
fn several(runs: &[Current]) -> CommandError {
    let names: Vec<String> = runs
        .iter()
        .map(|current| match (&current.run.issue, &current.run.feature) {
            (Some(issue), _) => format!("{} (issue {issue})", current.run.id),
            (None, Some(feature)) => format!("{} ({})", current.run.id, status::shortened(feature)),
            (None, None) => current.run.id.to_string(),
        })
        .collect();
    CommandError::new(Exit::Usage, format!("several runs are open: {}", names.join(", ")))
        .hint("name one of them, or its issue; `warp status` shows them all")
}

fn say(advice: &[Advice]) {
    for Advice(text) in advice {
        output::note(text);
    }
}

/// Returns the user's directories; what is recorded by them is told to a person who is away.
fn dirs() -> Result<Dirs, CommandError> {
    Ok(Dirs::from_environment()?.told_to(Arc::new(TellsAway)))
}

/// Tells a person who is away what becomes of a run.
#[derive(Debug)]
struct TellsAway;

impl Recorded for TellsAway {
    fn recorded(&self, place: &Place, dirs: &Dirs, answer: &Answer) {
        if !notify::is_set_up(dirs) {
            return;
        }
        for note in notify::tell(place, dirs, answer.current.run.id.as_str()) {
            output::note(&note);
        }
    }
}

/// Denies an operation, in words that an agent is shown.
pub(crate) fn deny(reason: &str) -> Exit {
    // The exit code denies even if nobody reads the reason.
    output::say(reason);
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_that_people_call_is_in_one_group() {
        let root = Arguments::command();
        let shown = root.get_subcommands().filter(|command| !command.is_hide_set());
        let mut shown: Vec<&str> = shown.map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, shown);
    }
}
