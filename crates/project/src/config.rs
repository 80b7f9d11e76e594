//! Settings, layer by layer: defaults, the user's file, `warp.toml`, `.claude/settings.local.json`, what the person has
//! answered or set for this project (`warp config KEY=VALUE`), the environment, flags. Each value remembers where it came
//! from.
//!
//! A project's file is whatever was merged last: it may tighten what the person or a safety default says, never loosen it
//! ([`engine::Rule`]).

mod own;
mod runs;
mod seen;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use adapters::git::Git;
use engine::{BadSetting, Limited, SetBy, Setting, Settings, Tighter, Workflow, keys, workflow::BUILT_IN};
use serde_json::{Map, Value};

pub(crate) use own::answered;
pub use own::{check_key, remember, watch};
pub(crate) use runs::pinned;
pub use runs::{for_runs, of_runs};
pub(crate) use seen::{changed_since_last_run, remember_seen};

use own::own_file;

use crate::{Dirs, Place, base::BaseError, find_workflow, workflow_files};

/// The largest configuration file that is read, in bytes.
const LARGEST: u64 = 1024 * 1024;
/// Settings that live in a section of their own; all others are in `[workflow]`.
const SECTIONS: &[&str] = &["workflow", "automation", "rdb"];
/// The section that is one setting as a whole.
const ROLES: &str = keys::ROLES.name();

/// What the variables begin with that are settings.
const VARIABLES: &str = "WARP_";

/// The file of an agent in which a person may keep settings of warp.
const LOCAL_SETTINGS: &str = ".claude/settings.local.json";

/// Whose layer it is.
#[derive(Clone, Copy)]
enum Layer<'a> {
    Person,
    /// The person's, in the project's directory, where others can write: it sets nothing that is the person's alone.
    Local,
    /// It may only tighten. Roles must be those of this project's workflows.
    Project(&'a Place),
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(String),
    Environment(String),
    Flag,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(name) => f.write_str(name),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::Flag => f.write_str("flag"),
        }
    }
}

/// The settings in force, with their origins.
#[derive(Clone, Debug)]
pub struct Config {
    pub settings: Settings,
    pub origins: BTreeMap<&'static str, Origin>,
    pub warnings: Vec<String>,
    /// The person's own file for all projects.
    user: PathBuf,
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("failed to read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` has {size} bytes; the most is {LARGEST}", path.display())]
    TooLarge { path: PathBuf, size: u64 },
    #[error("the project's settings are not known: {problem}")]
    Pinned { problem: String },
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error("your own settings for this project cannot be read or written: {problem}")]
    Project { problem: String },
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{file} cannot be read: {problem}")]
    Syntax { file: String, problem: String },
    #[error("{place}: {error}{}", .nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    Setting { place: String, error: BadSetting, nearest: Option<&'static str> },
    #[error(
        "{place}: no workflow has a role `{role}`{}; there are {}",
        .nearest.as_ref().map(|name| format!(", did you mean `{name}`?")).unwrap_or_default(),
        known.join(", ")
    )]
    Role { place: String, role: String, nearest: Option<String>, known: Vec<String> },
    #[error("{file}: `{key}` is yours to set, not a project's: it goes into `{}`", user.display())]
    NotTheProjects { file: String, key: &'static str, user: PathBuf },
    #[error(
        "{place}: `{section}` is not a section; there are `[workflow]`, `[automation]`, `[rdb]` and `[roles.NAME]`"
    )]
    Section { place: String, section: String },
}

/// Puts the layers together. `warp_toml` is the project's file where it is not the one in the workspace.
pub fn load(
    place: &Place,
    dirs: &Dirs,
    warp_toml: Option<(String, String)>,
    flags: &[(String, String)],
) -> Result<Config, ConfigError> {
    let user = dirs.config.join("config.toml");
    let mut config = Config {
        settings: Settings::default(),
        origins: BTreeMap::new(),
        warnings: Vec::new(),
        user: user.clone(),
    };
    for setting in Settings::TABLE {
        config.origins.insert(setting.key, Origin::Default);
    }
    if let Some(text) = read(&user)? {
        // It may name roles that only another project's workflows have.
        config.add_toml(&user.display().to_string(), &text, Layer::Person)?;
    }
    // In a workspace of a run's own the person's settings are where the person works.
    let root = place.origin().unwrap_or(&place.root);
    match warp_toml {
        Some((name, text)) => config.add_toml(&name, &text, Layer::Project(place))?,
        None => {
            if let Some(text) = read(&root.join("warp.toml"))? {
                config.add_toml("warp.toml", &text, Layer::Project(place))?;
            }
        }
    }
    if let Some(text) = read(&root.join(LOCAL_SETTINGS))? {
        // One that is committed comes from a merge like `warp.toml` does.
        let is_committed =
            place.location().is_some() && Git::new(root).is_tracked(LOCAL_SETTINGS).unwrap_or(true);
        let layer = if is_committed { Layer::Project(place) } else { Layer::Local };
        config.add_claude_settings(LOCAL_SETTINGS, &text, layer)?;
    }
    let own = own_file(place, dirs)?;
    if let Some(own) = &own
        && let Some(text) = read(own)?
    {
        config.add_toml(&own.display().to_string(), &text, Layer::Person)?;
    }
    config.add_environment()?;
    for (key, text) in flags {
        let value = Settings::row(key).map(|row| row.kind.read(text)).unwrap_or(Value::Null);
        config.set(key, value, "--set", Origin::Flag)?;
    }
    Ok(config)
}

impl Config {
    fn add_environment(&mut self) -> Result<(), ConfigError> {
        // Mostly there is none, so the names of all settings are seldom made.
        let is_ours = |name: &OsString| name.as_encoded_bytes().starts_with(VARIABLES.as_bytes());
        if !env::vars_os().any(|(name, _)| is_ours(&name)) {
            return Ok(());
        }
        for setting in Settings::TABLE {
            let name = format!("{VARIABLES}{}", setting.key.replace('.', "_").to_uppercase());
            let Some(text) = env::var_os(&name) else { continue };
            let value = setting.kind.read(&text.to_string_lossy());
            let place = format!("environment variable {name}");
            self.set(setting.key, value, &place, Origin::Environment(name))?;
        }
        Ok(())
    }

    fn set(&mut self, key: &str, value: Value, place: &str, origin: Origin) -> Result<(), ConfigError> {
        self.settings.set(key, value).map_err(|error| ConfigError::Setting {
            place: place.to_owned(),
            nearest: nearest(key).filter(|_| matches!(error, BadSetting::Unknown { .. })),
            error,
        })?;
        if let Some(row) = Settings::row(key) {
            self.origins.insert(row.key, origin);
        }
        Ok(())
    }

    /// Sets `key` as far as the layer may.
    fn set_from(
        &mut self,
        layer: Layer<'_>,
        key: &str,
        value: Value,
        (place, file): (&str, &str),
    ) -> Result<(), ConfigError> {
        let value = match (layer, Settings::row(key)) {
            (Layer::Local | Layer::Project(_), Some(row)) if row.rule.set_by == SetBy::Person => {
                let (file, user) = (file.to_owned(), self.user.clone());
                return Err(ConfigError::NotTheProjects { file, key: row.key, user });
            }
            (Layer::Project(_), Some(row)) => self.within(row, value, place)?,
            (Layer::Person | Layer::Local | Layer::Project(_), Some(_) | None) => Some(value),
        };
        match value {
            Some(value) => self.set(key, value, place, Origin::File(file.to_owned())),
            None => Ok(()),
        }
    }

    /// Returns what counts of a project's value; nothing if what holds already stays, which is then said.
    fn within(&mut self, row: &Setting, value: Value, place: &str) -> Result<Option<Value>, ConfigError> {
        let Setting { key, rule, .. } = row;
        // A value of another kind is an error, not something that loosens.
        let checked = Settings::default().set(key, value.clone());
        checked.map_err(|error| ConfigError::Setting { place: place.to_owned(), nearest: None, error })?;
        let origin = self.origins.get(*key).unwrap_or(&Origin::Default);
        let holds = self.settings.value(key).filter(|_| rule.default_holds || *origin != Origin::Default);
        let limited = holds.map_or(Limited::Taken, |holds| rule.limit(holds, &value));
        match limited {
            Limited::Taken => Ok(Some(value)),
            // Adding to the entries that hold is what a project may do.
            Limited::Instead(all) if rule.tighter == Tighter::MoreEntries => Ok(Some(all)),
            Limited::Instead(holds) => {
                let by = said_by(origin);
                let wanted = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.warnings.push(format!(
                    "{place}: `{key}` stays {holds} ({by}): a project may only tighten it; `warp config {key}={wanted}` \
                     sets it for you"
                ));
                Ok(None)
            }
        }
    }

    /// Puts roles over those that are there: each is replaced as a whole.
    fn roles_with(&self, roles: &Value) -> Value {
        let before = self.settings.get(keys::ROLES);
        match (before, roles) {
            (Some(before), Value::Object(roles)) => {
                let mut all = before.clone();
                all.extend(roles.clone());
                Value::Object(all)
            }
            _ => roles.clone(),
        }
    }

    /// Adds a file of our own: what is not known there is an error.
    fn add_toml(&mut self, file: &str, text: &str, layer: Layer<'_>) -> Result<(), ConfigError> {
        let syntax = |problem: String| ConfigError::Syntax { file: file.to_owned(), problem };
        let tables: Map<String, Value> =
            toml::from_str(text).map_err(|error| syntax(error.to_string().trim_end().to_owned()))?;
        for (section, values) in &tables {
            let place = place_of(file, text, section);
            if section == ROLES {
                if let Layer::Project(project) = layer {
                    check_roles(values, file, text, project)?;
                }
                let roles = self.roles_with(values);
                self.set(ROLES, roles, &place, Origin::File(file.to_owned()))?;
                continue;
            }
            if !SECTIONS.contains(&section.as_str()) {
                return Err(ConfigError::Section { place, section: section.clone() });
            }
            let values = values.as_object().ok_or_else(|| syntax(format!("`{section}` must be a table")))?;
            for (name, value) in values {
                let key = if section == "workflow" { name.clone() } else { format!("{section}.{name}") };
                let place = place_of(file, text, name);
                self.set_from(layer, &key, value.clone(), (&place, file))?;
            }
        }
        Ok(())
    }

    /// Adds Claude Code's own file: what is not known there is somebody else's, and only a warning.
    fn add_claude_settings(&mut self, file: &str, text: &str, layer: Layer<'_>) -> Result<(), ConfigError> {
        let syntax = |problem: String| ConfigError::Syntax { file: file.to_owned(), problem };
        let fields: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| syntax(error.to_string()))?;
        for section in SECTIONS {
            let Some(values) = fields.get(&format!("_{section}")) else { continue };
            let values =
                values.as_object().ok_or_else(|| syntax(format!("`_{section}` must be an object")))?;
            for (name, value) in values {
                let key = if *section == "workflow" { name.clone() } else { format!("{section}.{name}") };
                if Settings::row(&key).is_none() {
                    let hint =
                        nearest(&key).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
                    self.warnings.push(format!("{file}: `_{section}.{name}` is not a setting{hint}"));
                    continue;
                }
                self.set_from(layer, &key, value.clone(), (file, file))?;
            }
        }
        Ok(())
    }
}

/// Says who has set what holds.
fn said_by(origin: &Origin) -> String {
    match origin {
        Origin::Default => "the built-in safety default".to_owned(),
        Origin::File(_) | Origin::Environment(_) | Origin::Flag => format!("set in {origin}"),
    }
}

/// Refuses roles that no workflow has: nobody would ever work in them.
fn check_roles(roles: &Value, file: &str, text: &str, project: &Place) -> Result<(), ConfigError> {
    let Some(roles) = roles.as_object().filter(|roles| !roles.is_empty()) else { return Ok(()) };
    let known = known_roles(project)?;
    let Some(role) = roles.keys().find(|role| !known.contains(role)) else { return Ok(()) };
    let nearest = most_like(role, known.iter().map(String::as_str)).map(str::to_owned);
    let place = place_of(file, text, &format!("{ROLES}.{role}"));
    Err(ConfigError::Role { place, role: role.clone(), nearest, known })
}

/// Returns the roles of all workflows that a run of the project can go by. One that cannot be read is told when it is used.
fn known_roles(project: &Place) -> Result<Vec<String>, ConfigError> {
    let built_in = BUILT_IN.iter().filter_map(|built_in| Workflow::built_in(built_in.name));
    let path = project.root.clone();
    let files = workflow_files(project).map_err(|source| ConfigError::Read { path, source })?;
    let own = files.into_iter().filter_map(|(name, _)| find_workflow(project, &name).ok());
    let phases = built_in.chain(own).flat_map(|workflow| workflow.phases);
    let roles: BTreeSet<String> = phases.filter_map(|phase| phase.role).collect();
    Ok(roles.into_iter().collect())
}

/// Names a file and the line on which `name` is set, as far as that can be told from the text.
fn place_of(file: &str, text: &str, name: &str) -> String {
    let starts = |line: &str| {
        let line = line.trim_start().trim_start_matches(['[', '"', '\'']);
        line.strip_prefix(name)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    match text.lines().position(starts) {
        Some(index) => format!("{file}:{}", index + 1),
        None => file.to_owned(),
    }
}

/// Returns the known name that is most like `key`, if one is like it at all.
fn nearest(key: &str) -> Option<&'static str> {
    most_like(key, Settings::TABLE.iter().map(|row| row.key))
}

fn most_like<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |known: &&str| strsim::jaro_winkler(known, name);
    let best = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) > 0.8).then_some(best)
}

fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed(source)),
        Ok(data) if !data.is_file() => Err(failed(io::Error::other("it is not a file"))),
        Ok(data) if data.len() > LARGEST => {
            Err(ConfigError::TooLarge { path: path.to_owned(), size: data.len() })
        }
        Ok(_) => fs::read_to_string(path).map(Some).map_err(failed),
    }
}
