use std::path::PathBuf;

use drift::{Docs, Finding, FixKind};
use engine::keys;
use project::{Dirs, Place, Shell, config, counted};
use serde::Serialize;

use super::place;
use crate::{error::CommandError, exit::Exit, output};

/// Find what the docs say that is no longer true, and fix it
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Fix what needs no judgement: links to files that moved, anchors, counts, tables
    Sync {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List every finding; nothing is changed
    Audit {
        /// Exit with 1 if a finding is of high severity
        #[arg(long)]
        fail_on_drift: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What `--json` shows.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    version: u32,
    /// Those that were fixed, or those that are there.
    findings: &'a [Finding],
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let place = place(project)?;
    let shell = Shell::default();
    let docs = Docs::new(&place, &shell, &programs(&place)?)?;
    match arguments.command {
        Command::Sync { json } => {
            let fixed = docs.sync()?;
            show(&fixed, json)?;
            output::say(&format!("{} fixed", places(&fixed)));
            Ok(Exit::Done)
        }
        Command::Audit { fail_on_drift, json } => {
            let audit = docs.audit()?;
            show(&audit.findings, json)?;
            let mechanical = audit.findings.iter().filter(|finding| finding.fix_kind == FixKind::Mechanical);
            let fixes = match mechanical.count() {
                0 => String::new(),
                count => format!(", {count} of which `warp docs sync` fixes"),
            };
            let pages = counted(audit.pages as u64, "page", "pages");
            output::say(&format!("{} found on {pages}{fixes}", places(&audit.findings)));
            Ok(if fail_on_drift && audit.has_high() { Exit::Failed } else { Exit::Done })
        }
    }
}

fn programs(place: &Place) -> Result<String, CommandError> {
    let config = config::load(place, &Dirs::from_environment()?, None, &[])?;
    Ok(config.settings.get(keys::DOCS_PROGRAMS).to_owned())
}

fn places(findings: &[Finding]) -> String {
    counted(findings.len() as u64, "drift", "drifts")
}

fn show(findings: &[Finding], json: bool) -> Result<(), CommandError> {
    if json {
        return output::print_json(&Shown { version: 1, findings });
    }
    let text: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
    output::print(&text)
}
