use std::{collections::BTreeMap, path::PathBuf};

use dev::{DataKind, Dev, DevError, Health, Manifest, StartReport};
use driver::Interrupts;
use project::{
    Dirs, Place, Shell,
    slots::{Pool, SlotError},
};
use serde::Serialize;

use super::place;
use crate::{error::CommandError, exit::Exit, output};

/// Bring the dev environment up, as dev.json describes it, and take it down
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write a dev.json for what is found here, and seed files to begin with
    Init {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring up what is not up: migrations, server, seed data, users
    Up {
        /// Only ask whether the server is healthy
        #[arg(long, conflicts_with = "again")]
        check: bool,
        /// Apply seed data and users again that were applied before
        #[arg(long)]
        again: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask whether the server is healthy
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Apply seed data that has changed, or check that every table has some
    Seeds {
        /// Only name tables of the schema that no seed file fills; nothing is applied
        #[arg(long, conflicts_with = "again")]
        check: bool,
        /// Apply seed data again that was applied before
        #[arg(long)]
        again: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put users in who have changed
    Users {
        /// Put users in again who were put in before
        #[arg(long)]
        again: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End the server, and servers that runs have left behind
    Down {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Keep the server running, as `up` has started this process for
    #[command(hide = true)]
    Keep {
        #[arg(long)]
        port: u16,
        #[arg(long)]
        mark: String,
    },
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let place = place(project)?;
    match &arguments.command {
        Command::Init { json } => init(&place, *json),
        Command::Up { check: true, json, .. } | Command::Check { json } => check(&place, *json),
        Command::Up { again, json, .. } => up(&place, *again, *json),
        Command::Seeds { check: true, json, .. } => check_seeds(&place, *json),
        Command::Seeds { again, json, .. } => fill(&place, DataKind::Seeds, *again, *json),
        Command::Users { again, json } => fill(&place, DataKind::Users, *again, *json),
        Command::Down { json } => down(&place, *json),
        Command::Keep { port, mark } => {
            let interrupts = Interrupts::listen().map_err(|error| {
                CommandError::new(Exit::Internal, format!("signals cannot be listened to: {error}"))
            })?;
            dev::keep(&place, *port, mark, &|| interrupts.go())?;
            Ok(Exit::Done)
        }
    }
}

#[derive(Debug, Serialize)]
struct ShownInit<'a> {
    version: u32,
    written: &'a [String],
    found: &'a [String],
}

fn init(place: &Place, json: bool) -> Result<Exit, CommandError> {
    let drafted = dev::draft(&place.root)?;
    if json {
        output::print_json(&ShownInit { version: 1, written: &drafted.written, found: &drafted.found })?;
    } else {
        let found = drafted.found.iter().map(|line| format!("found {line}\n"));
        let written = drafted.written.iter().map(|file| format!("wrote {file}\n"));
        output::print(&found.chain(written).collect::<String>())?;
    }
    if drafted.is_open {
        output::note("nothing was found that starts a server: fill in `server.command` in dev.json");
    }
    output::say("look through dev.json, then `warp dev up`; what the server writes belongs into .gitignore");
    Ok(Exit::Done)
}

#[derive(Debug, Serialize)]
struct ShownUp<'a> {
    version: u32,
    migrated: bool,
    server: Option<ShownServer<'a>>,
    seeds: &'a [String],
    seeds_before: usize,
    users: Option<bool>,
    access: &'a BTreeMap<String, String>,
    warnings: &'a [String],
    log: String,
}

#[derive(Debug, Serialize)]
struct ShownServer<'a> {
    port: u16,
    started: bool,
    /// Whose it is, if it is not warp's.
    others: Option<&'a str>,
}

fn read<'a>(place: &'a Place, shell: &'a Shell) -> Result<Dev<'a>, CommandError> {
    let dev = Dev::of(place, shell)?.ok_or_else(|| DevError::None { root: place.root.clone() })?;
    for warning in &dev.manifest.warnings {
        output::note(warning);
    }
    Ok(dev)
}

fn up(place: &Place, again: bool, json: bool) -> Result<Exit, CommandError> {
    let shell = Shell::default();
    let dev = read(place, &shell)?;
    if dev.manifest.docs {
        output::note(dev::DOCS_NOT_SERVED);
    }
    if let Some(seed) = dev.manifest.seed.as_ref().filter(|seed| !place.root.join(&seed.directory).is_dir()) {
        output::note(&format!("dev.json: `seed.directory` is {}, which is not there", seed.directory));
    }
    if let Some(server) = &dev.manifest.server {
        let log = dev.log().display().to_string();
        output::say(&format!("the server has {} s to come up; its output is in {log}", server.start_seconds));
    }
    let up = dev.up(again)?;
    if json {
        return show(&dev, &up).map(|()| Exit::Done);
    }
    let mut lines = up.said();
    if up.seeds_before > 0 && up.seeds.is_empty() {
        output::note("`warp dev up --again` applies seed data and users again");
    }
    if lines.is_empty() {
        lines.push("dev.json names nothing to bring up".to_owned());
    }
    lines.extend(dev.manifest.access.iter().map(|(name, address)| format!("{name}: {address}")));
    output::print(&lines.join("\n"))?;
    if up.server.is_some_and(|came| came.others.is_none()) {
        output::say("`warp dev down` ends it");
    }
    Ok(Exit::Done)
}

fn fill(place: &Place, what: DataKind, again: bool, json: bool) -> Result<Exit, CommandError> {
    let shell = Shell::default();
    let dev = read(place, &shell)?;
    let up = dev.fill_with(what, again)?;
    if json {
        return show(&dev, &up).map(|()| Exit::Done);
    }
    let said = up.said();
    output::print(&if said.is_empty() { "no seed data to load".to_owned() } else { said.join("\n") })?;
    Ok(Exit::Done)
}

#[derive(Debug, Serialize)]
struct ShownCoverage<'a> {
    version: u32,
    /// Tables that no seed file fills.
    missing: &'a [String],
}

fn check_seeds(place: &Place, json: bool) -> Result<Exit, CommandError> {
    let shell = Shell::default();
    let missing = read(place, &shell)?.uncovered()?;
    if json {
        output::print_json(&ShownCoverage { version: 1, missing: &missing })?;
    } else if missing.is_empty() {
        output::print("every table of the schema has seed data")?;
    } else {
        output::print(&format!("no seed data for {}", missing.join(", ")))?;
        output::say("add some in the same commit as the schema");
    }
    Ok(if missing.is_empty() { Exit::Done } else { Exit::Failed })
}

fn show(dev: &Dev<'_>, up: &StartReport) -> Result<(), CommandError> {
    let Manifest { access, warnings, .. } = &dev.manifest;
    output::print_json(&ShownUp {
        version: 1,
        migrated: up.migrated,
        server: up.server.as_ref().map(|came| ShownServer {
            port: came.port,
            started: came.started,
            others: came.others.as_deref(),
        }),
        seeds: &up.seeds,
        seeds_before: up.seeds_before,
        users: up.users,
        access,
        warnings,
        log: dev.log().display().to_string(),
    })
}

#[derive(Debug, Serialize)]
struct ShownHealth<'a> {
    version: u32,
    healthy: bool,
    port: Option<u16>,
    why: Option<&'a str>,
    /// Whose it is, if it is not warp's.
    others: Option<&'a str>,
}

fn check(place: &Place, json: bool) -> Result<Exit, CommandError> {
    let shell = Shell::default();
    let dev = read(place, &shell)?;
    let health = dev.check();
    let others = match &health {
        Health::Healthy { others, .. } => others.as_deref(),
        Health::NoServer | Health::Unhealthy { .. } => None,
    };
    let (exit, port, why, text) = match &health {
        Health::NoServer => (Exit::Done, None, None, "dev.json has no server to ask".to_owned()),
        Health::Healthy { port, others } => {
            let whose = others.as_ref().map(|others| format!("; it is not warp's, but that of {others}"));
            let text = format!("healthy on port {port}{}", whose.unwrap_or_default());
            (Exit::Done, Some(*port), None, text)
        }
        Health::Unhealthy { port, why } => {
            (Exit::Failed, Some(*port), Some(why.as_str()), format!("not healthy: {why}"))
        }
    };
    if json {
        output::print_json(&ShownHealth { version: 1, healthy: exit == Exit::Done, port, why, others })?;
    } else {
        output::print(&text)?;
    }
    if exit != Exit::Done {
        output::say(&format!("`warp dev up` brings it up; its output is in {}", dev.log().display()));
    }
    Ok(exit)
}

#[derive(Debug, Serialize)]
struct ShownDown {
    version: u32,
    /// The port of the server that was ended.
    port: Option<u16>,
    left_behind: Vec<u16>,
    of_runs: Vec<u16>,
}

/// Returns the workspaces of the project's runs; without a repository there are none.
fn trees(place: &Place) -> Result<Vec<PathBuf>, CommandError> {
    if place.project_id()?.is_none() {
        return Ok(Vec::new());
    }
    match Pool::of(place, &Dirs::from_environment()?) {
        Err(SlotError::NoRepository { .. }) => Ok(Vec::new()),
        pool => Ok(pool?.trees()?),
    }
}

fn down(place: &Place, json: bool) -> Result<Exit, CommandError> {
    if place.origin().is_some() {
        return Err(DevError::InSlot { root: place.root.clone() }.into());
    }
    let stopped = dev::down(place, &trees(place)?)?;
    if json {
        output::print_json(&ShownDown {
            version: 1,
            port: stopped.port,
            left_behind: stopped.left_behind,
            of_runs: stopped.of_runs,
        })?;
        return Ok(Exit::Done);
    }
    output::print(&match stopped.port {
        Some(port) => format!("the dev server on port {port} is ended"),
        None => "no dev server was running here".to_owned(),
    })?;
    for port in &stopped.left_behind {
        output::print(&format!("what a run has left of a server on port {port} is ended"))?;
    }
    for port in &stopped.of_runs {
        output::note(&format!("the server on port {port} is a run's, and ends with it (`warp status`)"));
    }
    Ok(Exit::Done)
}
