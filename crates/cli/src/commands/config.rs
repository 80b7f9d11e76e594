use std::path::PathBuf;

use engine::Settings;
use project::{
    Dirs, Place,
    config::{self, Config},
    spelled,
};
use serde_json::{Map, Value, json};

use super::place;
use crate::{error::CommandError, exit::Exit, output};

/// Show settings and where each came from, or set them for this project
///
/// `KEY` alone shows one setting with its purpose. `KEY VALUE`, or `KEY=VALUE` several times, sets it for this project, on
/// this machine only; `KEY=` without a value takes yours back.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The setting to show or to set
    #[arg(value_name = "KEY [VALUE]|KEY=VALUE")]
    words: Vec<String>,
    /// Try a setting out, as `state init` takes it
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A setting as it is shown.
struct Row {
    key: &'static str,
    purpose: &'static str,
    value: Value,
    origin: String,
    /// What a run would use; nothing if none could begin.
    run_value: Option<Value>,
    run_origin: Option<String>,
}

impl Arguments {
    /// Tells whether nothing is changed: then it is an agent's as well.
    pub(super) fn only_looks(&self) -> bool {
        match self.words.as_slice() {
            [] => true,
            [key] => !key.contains('='),
            _ => false,
        }
    }

    /// Returns what is to be set.
    fn changes(&self) -> Result<Vec<(String, String)>, CommandError> {
        let wrong = |problem: String| CommandError::new(Exit::Usage, problem);
        if !self.set.is_empty() {
            return Err(wrong("`--set` tries a setting out, so nothing can be set beside it".to_owned()));
        }
        match self.words.as_slice() {
            [key, value] if !key.contains('=') => Ok(vec![(key.trim().to_owned(), value.trim().to_owned())]),
            words => words
                .iter()
                .map(|word| key_value(word).map_err(|why| wrong(format!("`{word}`: {why}"))))
                .collect(),
        }
    }
}

/// Reads `KEY=VALUE`.
pub(crate) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let place = place(project)?;
    let dirs = Dirs::from_environment()?;
    if !arguments.only_looks() {
        return keep(&place, &dirs, &arguments.changes()?);
    }
    let key = arguments.words.first().map(String::as_str);
    key.map_or(Ok(()), config::check_key)?;
    let here = config::load(&place, &dirs, None, &arguments.set)?;
    let (runs, differs) = match config::of_runs(&place, &dirs, &arguments.set) {
        Ok((runs, differs)) => (Some(runs), differs),
        Err(error) => (None, Some(format!("no run could begin: {}", spelled(&error)))),
    };
    for warning in here.warnings.iter().chain(&differs) {
        output::note(warning);
    }
    let mut rows = rows(&here, runs.as_ref());
    rows.retain(|row| key.is_none_or(|key| key == row.key));
    match rows.as_slice() {
        rows if arguments.json => {
            output::print_json(&rows.iter().map(Row::json).collect::<Map<String, Value>>())?;
        }
        [row] => output::print(&row.text())?,
        rows => output::print(&table(&place.name(), rows))?,
    }
    Ok(Exit::Done)
}

/// Sets settings for this project, or takes them back.
fn keep(place: &Place, dirs: &Dirs, settings: &[(String, String)]) -> Result<Exit, CommandError> {
    for (key, value) in settings {
        let value = Some(value.as_str()).filter(|value| !value.is_empty());
        let file = config::remember(place, dirs, key, value)?;
        let said = match value {
            Some(value) => format!("{key} = {value} for this project, in {}", file.display()),
            None => format!("{key} is no longer set in {}", file.display()),
        };
        output::print(&said)?;
    }
    Ok(Exit::Done)
}

fn rows(here: &Config, runs: Option<&Config>) -> Vec<Row> {
    let of = |config: &Config, key: &str| {
        let value = config.settings.value(key).cloned().unwrap_or(Value::Null);
        (value, config.origins.get(key).map(ToString::to_string).unwrap_or_default())
    };
    let row = |setting: &engine::Setting| {
        let (value, origin) = of(here, setting.key);
        let (run_value, run_origin) = runs.map(|runs| of(runs, setting.key)).unzip();
        Row { key: setting.key, purpose: setting.purpose, value, origin, run_value, run_origin }
    };
    Settings::TABLE.iter().map(row).collect()
}

fn table(project: &str, rows: &[Row]) -> String {
    let mut text =
        format!("Settings ({project})\n\n{:<26} {:<10} {:<10} from\n", "setting", "here", "in runs");
    for Row { key, value, origin, run_value, run_origin, .. } in rows {
        let value = word(value);
        let in_runs = run_value.as_ref().map_or_else(|| "-".to_owned(), word);
        let from = match run_origin {
            Some(run_origin) if value != in_runs => format!("{origin}; runs: {run_origin}"),
            Some(_) | None => origin.clone(),
        };
        text.push_str(&format!("{key:<26} {value:<10} {in_runs:<10} {from}\n"));
    }
    text
}

/// Writes a value as it is set.
fn word(value: &Value) -> String {
    value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string())
}

impl Row {
    fn text(&self) -> String {
        let Self { key, purpose, value, origin, run_value, run_origin } = self;
        let mut text = format!("{key} = {}\nfrom: {origin}\n", word(value));
        if let (Some(run_value), Some(run_origin)) = (run_value, run_origin)
            && run_value != value
        {
            text.push_str(&format!("in runs: {} (from {run_origin})\n", word(run_value)));
        }
        text.push_str(&format!("\n{purpose}\n\n`warp config {key} VALUE` sets it for this project.\n"));
        text
    }

    fn json(&self) -> (String, Value) {
        let Self { key, purpose, value, origin, run_value, run_origin } = self;
        let row = json!({
            "value": value,
            "origin": origin,
            "run_value": run_value,
            "run_origin": run_origin,
            "purpose": purpose,
        });
        ((*key).to_owned(), row)
    }
}
