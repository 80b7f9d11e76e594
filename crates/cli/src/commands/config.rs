use std::path::PathBuf;

use engine::Settings;
use project::{Dirs, config};
use serde_json::{Map, Value, json};

use super::place;
use crate::{error::CommandError, exit::Exit, output};

/// Show every setting with its value and where it came from
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Try a setting out, as `state init` takes it
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Reads `KEY=VALUE`.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let place = place(project)?;
    let config = config::load(&place, &Dirs::from_environment()?, None, &arguments.set)?;
    for warning in &config.warnings {
        output::note(warning);
    }
    let rows = Settings::TABLE.iter().map(|setting| {
        let value = config.settings.value(setting.key).cloned().unwrap_or(Value::Null);
        let origin = config.origins.get(setting.key).map(ToString::to_string).unwrap_or_default();
        (setting, value, origin)
    });
    if arguments.json {
        let shown = |(setting, value, origin): (&engine::Setting, Value, String)| {
            (setting.key.to_owned(), json!({ "value": value, "origin": origin, "purpose": setting.purpose }))
        };
        output::print_json(&rows.map(shown).collect::<Map<String, Value>>())?;
        return Ok(Exit::Done);
    }
    let mut text = format!("Settings ({})\n\n", place.name());
    for (setting, value, origin) in rows {
        let value = value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string());
        text.push_str(&format!("{:<26} {value:<10} {origin}\n", setting.key));
    }
    output::print(&text)?;
    Ok(Exit::Done)
}
