use std::{fs, path::PathBuf};

use engine::{
    Workflow,
    workflow::{BUILT_IN, LARGEST, Proof},
};
use project::{Place, workflow_files};
use serde_json::json;

use super::place;
use crate::{error::CommandError, exit::Exit, output};

/// List, show, check and draw workflows
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the workflows of this project
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a workflow
    Show {
        name: String,
        /// Print JSON: name, initial, final, phases, transitions
        #[arg(long)]
        json: bool,
    },
    /// Prove that a workflow can be run, or show the path on which it cannot
    Check {
        /// A workflow file, or the name of a workflow
        #[arg(value_name = "FILE|NAME")]
        file: PathBuf,
    },
    /// Draw a workflow as a Mermaid diagram
    Graph { name: String },
    /// Print a workflow's tables in Markdown
    Table { name: String },
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let place = place(project)?;
    match &arguments.action {
        Action::List { json } => list(&place, *json)?,
        Action::Show { name, json: true } => output::print_json(&find(&place, name)?.shown())?,
        Action::Show { name, json: false } => show(&find(&place, name)?)?,
        Action::Check { file } => check(&place, file)?,
        Action::Graph { name } => output::print(&find(&place, name)?.graph())?,
        Action::Table { name } => output::print(&find(&place, name)?.table())?,
    }
    Ok(Exit::Done)
}

fn list(place: &Place, json: bool) -> Result<(), CommandError> {
    let files = files(place)?;
    let replaced = |name: &str| files.iter().any(|(file, _)| file == name);
    let mut rows: Vec<(String, String, String)> = Vec::new();
    for name in BUILT_IN.iter().map(|built_in| built_in.name).filter(|name| !replaced(name)) {
        let purpose = Workflow::built_in(name).map(|workflow| workflow.purpose).unwrap_or_default();
        rows.push((name.to_owned(), "built in".to_owned(), purpose));
    }
    for (name, path) in &files {
        let origin = path.strip_prefix(&place.root).unwrap_or(path).display().to_string();
        let purpose = match find(place, name) {
            Ok(workflow) => workflow.purpose,
            Err(error) => format!("not usable: {}", error.to_string().lines().next().unwrap_or_default()),
        };
        rows.push((name.clone(), origin, purpose));
    }
    if json {
        let row = |(name, origin, purpose): &(String, String, String)| json!({ "name": name, "origin": origin, "purpose": purpose });
        return output::print_json(&rows.iter().map(row).collect::<Vec<_>>());
    }
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let text: String = rows
        .iter()
        .map(|(name, origin, purpose)| format!("{name:<width$}  {origin:<10}  {purpose}\n"))
        .collect();
    output::print(&text)
}

fn show(workflow: &Workflow) -> Result<(), CommandError> {
    let mut text = format!("{}: {}\n\n", workflow.name, workflow.purpose);
    for phase in &workflow.phases {
        let label = if phase.name == workflow.initial {
            " (initial)"
        } else if workflow.is_final(&phase.name) {
            " (final)"
        } else {
            ""
        };
        text.push_str(&format!("{}{label}: {}\n", phase.name, phase.purpose));
        for row in &phase.rows {
            let targets = workflow.targets(&phase.name, row);
            let targets: Vec<&str> = targets.into_iter().map(engine::PhaseName::as_str).collect();
            text.push_str(&format!("  {} -> {}\n", row.event, targets.join(" or ")));
        }
    }
    output::print(&text)
}

fn check(place: &Place, file: &PathBuf) -> Result<(), CommandError> {
    let name = file.to_str().filter(|name| !name.contains('/') && !file.exists());
    let workflow = match name {
        Some(name) => find(place, name)?,
        None => read(file)?,
    };
    output::print(&format!("{}: {}", workflow.name, Proof::of(&workflow)))
}

/// Finds a workflow as it is in the workspace, which is the one a person is editing.
fn find(place: &Place, name: &str) -> Result<Workflow, CommandError> {
    let files = files(place)?;
    if let Some((_, path)) = files.iter().find(|(file, _)| file == name) {
        return read(path);
    }
    Workflow::built_in(name).ok_or_else(|| {
        let known = BUILT_IN
            .iter()
            .map(|built_in| built_in.name.to_owned())
            .chain(files.iter().map(|(name, _)| name.clone()));
        let known = known.collect::<Vec<_>>().join(", ");
        CommandError::new(Exit::Usage, format!("there is no workflow `{name}`; there are {known}"))
    })
}

fn files(place: &Place) -> Result<Vec<(String, PathBuf)>, CommandError> {
    workflow_files(place).map_err(|error| CommandError::new(Exit::BadData, error.to_string()))
}

fn read(path: &PathBuf) -> Result<Workflow, CommandError> {
    let shown = path.display();
    let bad = |problem: String| CommandError::new(Exit::BadData, format!("{shown}: {problem}"));
    let data =
        fs::metadata(path).map_err(|error| CommandError::new(Exit::Usage, format!("{shown}: {error}")))?;
    if !data.is_file() {
        return Err(CommandError::new(Exit::Usage, format!("{shown} is not a file")));
    }
    if data.len() > LARGEST as u64 {
        return Err(bad(format!("the workflow has {} bytes; the most is {LARGEST}", data.len())));
    }
    let text = fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
    Workflow::parse(&text).map_err(|error| {
        CommandError::new(Exit::BadData, format!("{shown} is no workflow that can be run:\n{error}"))
    })
}
