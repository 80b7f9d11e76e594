use std::path::PathBuf;

use clap::ValueEnum;
use project::{
    Dirs, Workspace,
    setup::{self, Action, Agent, FilePlan, Options, Plan, Skills},
};
use serde::Serialize;

use super::place;
use crate::{error::CommandError, exit::Exit, output};

/// Set up a project: hooks, permission rules, skills, settings
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The coding agent to set up
    #[arg(long, value_name = "AGENT", default_value = "claude")]
    agent: Client,
    /// Write this automation level down: 1 asks, 2 opens a pull request, 3 merges
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u64).range(1..=3))]
    level: Option<u64>,
    /// Leave the skills out, as where the plugin brings them
    #[arg(long)]
    no_skills: bool,
    /// Show what would change and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Take everything back that was set up
    #[arg(long, conflicts_with_all = ["agent", "level", "no_skills"])]
    undo: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Client {
    Claude,
    Codex,
}

/// What is printed with `--json`.
#[derive(Debug, Serialize)]
struct Report<'a> {
    version: u32,
    dry_run: bool,
    undo: bool,
    changed: bool,
    files: Vec<ReportFile<'a>>,
    git: &'a [String],
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct ReportFile<'a> {
    name: &'a str,
    action: &'static str,
    purpose: &'a str,
    diff: String,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let place = place(project)?;
    let plan = if arguments.undo {
        let dirs = Dirs::from_environment()?;
        let open = Workspace::open(place.clone(), dirs).and_then(|mut workspace| workspace.current());
        let current = open.as_ref().ok().and_then(Option::as_ref);
        let mut plan = setup::plan_undo(&place, current.map(|current| &*current.run))?;
        // A journal that cannot be read keeps nobody from taking the hooks out.
        plan.notes.extend(
            open.as_ref().err().map(|error| format!("whether a run is open here is not known: {error}")),
        );
        plan
    } else {
        let agent = match arguments.agent {
            Client::Claude => Agent::Claude,
            Client::Codex => Agent::Codex,
        };
        let skills = if arguments.no_skills { Skills::Elsewhere } else { Skills::Project };
        let options = Options { agent, level: arguments.level, skills, program: setup::this_program()? };
        setup::plan(&place, &Dirs::from_environment()?, &options)?
    };
    let left = if arguments.dry_run { Vec::new() } else { setup::carry_out(&place, &plan)? };
    if arguments.json {
        output::print_json(&report(arguments, &plan))?;
    } else {
        output::print(&render(arguments, &plan))?;
        plan.notes.iter().chain(&left).for_each(|note| output::note(note));
    }
    Ok(Exit::Done)
}

fn report<'a>(arguments: &Arguments, plan: &'a Plan) -> Report<'a> {
    let file = |file: &'a FilePlan| ReportFile {
        name: &file.name,
        action: match file.action {
            Action::Create => "create",
            Action::Change => "change",
            Action::Keep => "keep",
            Action::Remove => "remove",
        },
        purpose: &file.purpose,
        diff: file.diff(),
    };
    Report {
        version: 1,
        dry_run: arguments.dry_run,
        undo: arguments.undo,
        changed: !plan.is_empty() && !arguments.dry_run,
        files: plan.files.iter().map(file).collect(),
        git: &plan.git,
        notes: &plan.notes,
    }
}

fn render(arguments: &Arguments, plan: &Plan) -> String {
    let mut text = String::new();
    if arguments.dry_run {
        text.extend(plan.files.iter().map(FilePlan::diff));
        text.push_str(if text.is_empty() { "" } else { "\n" });
    }
    for file in &plan.files {
        let word = match (file.action, arguments.dry_run) {
            (Action::Create, false) => "created",
            (Action::Create, true) => "would create",
            (Action::Change, false) => "changed",
            (Action::Change, true) => "would change",
            (Action::Remove, false) => "removed",
            (Action::Remove, true) => "would remove",
            (Action::Keep, _) => "unchanged",
        };
        text.push_str(&format!("{word} {} ({})\n", file.name, file.purpose));
    }
    for step in &plan.git {
        text.push_str(&format!("git: {step}\n"));
    }
    let last = match (
        arguments.undo,
        plan.files.is_empty() && plan.git.is_empty(),
        plan.is_empty(),
        arguments.dry_run,
    ) {
        (true, true, _, _) => "Nothing to undo: `warp init` has set nothing up here.",
        (true, false, true, _) => "Nothing had to be changed.",
        (true, false, false, false) => "The set-up is taken back.",
        (false, _, true, _) => "Everything is set up already; nothing was changed.",
        (false, _, false, false) => {
            "Next: `warp issue new` files an issue, and `warp run` works on it.\n\
             `warp init --undo` takes it all back."
        }
        (_, _, false, true) => "Nothing was written.",
    };
    text.push_str(last);
    text.push('\n');
    text
}
