use std::{path::Path, time::Duration};

use adapters::{
    agent::{Capabilities, KNOWN, Known},
    process,
};
use serde::Serialize;

use crate::{error::CommandError, exit::Exit, output};

/// How long a client may take to tell its version: some start slowly.
const LIMIT: Duration = Duration::from_secs(30);

/// List the agents that can work, whether they are installed, and what works with each
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// An agent as it is here.
#[derive(Debug, Serialize)]
struct Shown {
    name: &'static str,
    /// How it is written in `--agent` and in the settings.
    written: &'static str,
    /// None for one whose program is named with it.
    installed: Option<bool>,
    version: Option<String>,
    /// What installs it.
    install: Option<&'static str>,
    capabilities: Capabilities,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let all: Vec<Shown> = KNOWN.iter().map(look).collect();
    if arguments.json {
        output::print_json(&all)?;
        return Ok(Exit::Done);
    }
    let mut text = String::from("Agents\n\n");
    for agent in &all {
        let state = match (agent.installed, &agent.version) {
            (Some(true), Some(version)) => version.clone(),
            (Some(true), None) => "does not start".to_owned(),
            (Some(false), _) => "not installed".to_owned(),
            (None, _) => "-".to_owned(),
        };
        text.push_str(&format!("{:<13} {state:<14} {}\n", agent.written, works(agent.capabilities)));
        if let (Some(false), Some(install)) = (agent.installed, agent.install) {
            text.push_str(&format!("{:<13} {install}\n", ""));
        }
    }
    text.push_str("\n`warp run --agent AGENT` lets one work; docs/agents.md says what each word means.\n");
    output::print(&text)?;
    Ok(Exit::Done)
}

fn look(known: &Known) -> Shown {
    let program = known.program();
    Shown {
        name: known.name,
        written: known.written,
        installed: known.client.map(|_| program.is_some()),
        version: program.as_deref().and_then(version),
        install: known.client.map(|(_, install)| install),
        capabilities: known.capabilities(),
    }
}

/// Asks a client for its version: the first word that begins with a digit.
fn version(program: &Path) -> Option<String> {
    let finished =
        process::run(&program.to_string_lossy(), ["--version"], Path::new("/"), &[], LIMIT).ok()?;
    let text = finished.text();
    let number = text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    number.filter(|_| finished.is_success()).map(str::to_owned)
}

fn works(can: Capabilities) -> String {
    let words = [
        (can.resume, "resume"),
        (can.structured_answer, "schema"),
        (can.hooks, "hooks"),
        (can.mcp, "mcp"),
        (can.effort, "effort"),
        (can.model, "model"),
        (can.usage, "usage"),
        (can.metered, "metered"),
        (!can.metered, "unmetered"),
    ];
    let there: Vec<&str> = words.iter().filter(|(is_there, _)| *is_there).map(|(_, word)| *word).collect();
    there.join(", ")
}
