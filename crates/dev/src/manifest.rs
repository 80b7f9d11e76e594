//! `dev.json`: what it may say, checked.
//!
//! The file may be read by others too, so what is not known there is only a warning, with the nearest name that is. What is
//! known and cannot be used is an error that names its place.

use std::collections::BTreeMap;

use adapters::service::Policy;
use serde_json::{Map, Value};

use super::DevError;

/// The largest file that is read, in bytes.
pub(super) const LARGEST: u64 = 256 * 1024;
/// How long a server may take to come up where the file does not say, in seconds.
const START_SECONDS: u64 = 120;
/// The longest that it may take.
const LONGEST_START: u64 = 60 * 60;
/// How alike a name must be to be named.
const ALIKE: f64 = 0.8;

/// A parsed `dev.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    pub server: Option<Server>,
    /// The command that migrates, if it is to be run.
    pub migrate: Option<String>,
    /// Whether there are docs that would be served.
    pub docs: bool,
    pub seed: Option<Seed>,
    pub auth: Option<Auth>,
    /// Addresses, by name.
    pub access: BTreeMap<String, String>,
    /// Warnings about unknown fields.
    pub warnings: Vec<String>,
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub command: String,
    pub port: u16,
    /// The path that is asked; without one it is enough that the port is open.
    pub health: Option<String>,
    pub restart: Policy,
    pub env: BTreeMap<String, String>,
    pub start_seconds: u64,
}

/// Seed data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    pub directory: String,
    pub runner: String,
    pub order: Order,
    pub d1_database: Option<String>,
}

/// Order of seed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Alphabetical,
    Numeric,
}

/// Initial users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Auth {
    pub users_file: String,
    pub table: String,
    pub by: Provision,
}

/// How users are created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provision {
    /// By rows of a table, in the way of seed files.
    Rows,
    Command(String),
}

/// The parts of the file, each with what it may hold.
const KNOWN: &[(&str, &[&str])] = &[
    ("server", &["command", "port", "health", "restart", "env", "start_seconds"]),
    ("migrations", &["command", "auto_run"]),
    ("docs", &["enabled", "engine", "port"]),
    ("seed", &["directory", "runner", "order", "d1_database"]),
    ("auth", &["adapter", "users_file", "table", "provision_command"]),
    ("access", &[]),
];

impl Manifest {
    /// Parses a `dev.json`.
    pub fn parse(text: &str) -> Result<Self, DevError> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| DevError::Syntax { problem: error.to_string() })?;
        let Value::Object(parts) = value else {
            return Err(DevError::Syntax {
                problem: "it must be an object with parts like `server`".to_owned(),
            });
        };
        let mut warnings = Vec::new();
        for (name, part) in &parts {
            warn_unknown(name, part, &mut warnings);
        }
        let part = |name: &'static str| Part::of(&parts, name);
        let seed = part("seed")?.map(|part| part.seed()).transpose()?;
        let auth = part("auth")?.map(|part| part.auth()).transpose()?;
        let rows = auth.as_ref().is_some_and(|auth| auth.by == Provision::Rows);
        if rows && seed.is_none() {
            let problem = "needs a part `seed`, whose `runner` puts the rows in, or a `provision_command`";
            return Err(bad("auth.adapter", problem));
        }
        Ok(Self {
            server: part("server")?.map(|part| part.server()).transpose()?,
            migrate: part("migrations")?.map(|part| part.migrate()).transpose()?.flatten(),
            docs: part("docs")?.map(|part| part.docs()).transpose()?.unwrap_or(false),
            seed,
            auth,
            access: part("access")?.map(|part| part.texts()).transpose()?.unwrap_or_default(),
            warnings,
        })
    }
}

fn warn_unknown(name: &str, part: &Value, warnings: &mut Vec<String>) {
    let Some((_, keys)) = KNOWN.iter().find(|(known, _)| *known == name) else {
        // Editors look there for a schema.
        if name != "$schema" {
            let parts: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
            warnings.push(format!("dev.json: `{name}` is not known{}", nearest(name, &parts)));
        }
        return;
    };
    let unknown =
        part.as_object().into_iter().flat_map(Map::keys).filter(|key| !keys.contains(&key.as_str()));
    // Addresses have names of the project's own.
    for key in unknown.filter(|_| name != "access") {
        warnings.push(format!("dev.json: `{name}.{key}` is not known{}", nearest(key, keys)));
    }
}

/// Says which known name is meant, if one is like it at all.
fn nearest(name: &str, known: &[&str]) -> String {
    let likeness = |known: &&&str| strsim::jaro_winkler(known, name);
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match best.filter(|best| likeness(best) > ALIKE) {
        Some(best) => format!("; did you mean `{best}`?"),
        None => String::new(),
    }
}

fn bad(key: &str, problem: impl Into<String>) -> DevError {
    DevError::Key { key: key.to_owned(), problem: problem.into() }
}

/// A part of the file.
struct Part<'a> {
    name: &'static str,
    fields: &'a Map<String, Value>,
}

impl<'a> Part<'a> {
    /// Finds a part; one that is null is not there.
    fn of(parts: &'a Map<String, Value>, name: &'static str) -> Result<Option<Self>, DevError> {
        match parts.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(Self { name, fields })),
            Some(other) => Err(bad(name, format!("must be an object, and is {other}"))),
        }
    }

    fn bad(&self, key: &str, problem: impl Into<String>) -> DevError {
        bad(&format!("{}.{key}", self.name), problem)
    }

    fn text(&self, key: &str) -> Result<Option<String>, DevError> {
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.contains('\0') => Err(self.bad(key, "holds a null character")),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(self.bad(key, format!("must be a text, and is {other}"))),
        }
    }

    /// Reads a text that must say something.
    fn words(&self, key: &str, what: &str) -> Result<String, DevError> {
        match self.text(key)? {
            Some(text) if !text.trim().is_empty() => Ok(text),
            Some(_) => Err(self.bad(key, format!("is empty; it is {what}"))),
            None => Err(self.bad(key, format!("is missing; it is {what}"))),
        }
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool, DevError> {
        match self.fields.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(self.bad(key, format!("must be true or false, and is {other}"))),
        }
    }

    fn number(&self, key: &str, most: u64) -> Result<Option<u64>, DevError> {
        let Some(value) = self.fields.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
        let number = value.as_u64().filter(|number| (1..=most).contains(number));
        let problem = || format!("must be a number from 1 to {most}, and is {value}");
        number.map(Some).ok_or_else(|| self.bad(key, problem()))
    }

    /// Reads one of several words; the first is the default.
    fn one_of<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<T, DevError> {
        let Some(word) = self.text(key)? else { return Ok(words[0].1) };
        let found = words.iter().find(|(known, _)| *known == word);
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        let problem =
            || format!("must be one of {}, and is \"{word}\"{}", known.join(", "), nearest(&word, &known));
        found.map(|(_, value)| *value).ok_or_else(|| self.bad(key, problem()))
    }

    /// Reads a path that leads to something in the project.
    fn path(&self, key: &str, what: &str) -> Result<String, DevError> {
        let path = self.words(key, what)?;
        let leads_out = path.starts_with('/') || path.split('/').any(|part| part == "..");
        if leads_out {
            return Err(self.bad(key, format!("must be a path in the project, and is \"{path}\"")));
        }
        Ok(path.trim_end_matches('/').to_owned())
    }

    /// Reads a table of texts.
    fn texts(&self) -> Result<BTreeMap<String, String>, DevError> {
        self.fields.keys().map(|key| Ok((key.clone(), self.text(key)?.unwrap_or_default()))).collect()
    }

    fn env(&self) -> Result<BTreeMap<String, String>, DevError> {
        let fields = match self.fields.get("env") {
            None | Some(Value::Null) => return Ok(BTreeMap::new()),
            Some(Value::Object(fields)) => fields,
            Some(other) => return Err(self.bad("env", format!("must be an object, and is {other}"))),
        };
        let mut env = BTreeMap::new();
        for (name, value) in fields {
            let key = format!("env.{name}");
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(self.bad(&key, "is no name of a variable"));
            }
            let text = match value {
                Value::String(text) if !text.contains('\0') => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => {
                    return Err(self.bad(&key, format!("must be a text, and is {value}")));
                }
            };
            env.insert(name.clone(), text);
        }
        Ok(env)
    }

    fn server(&self) -> Result<Server, DevError> {
        let health = self.text("health")?;
        let is_path = |path: &String| path.starts_with('/') && path.chars().all(|c| c.is_ascii_graphic());
        if let Some(path) = health.as_ref().filter(|path| !is_path(path)) {
            return Err(self.bad("health", format!("must be a path like /health, and is \"{path}\"")));
        }
        let port = self.number("port", u64::from(u16::MAX))?;
        let port = port.and_then(|port| u16::try_from(port).ok());
        Ok(Server {
            command: self.words("command", "the command that starts your server in the foreground")?,
            port: port.ok_or_else(|| self.bad("port", "is missing; it is where your server listens"))?,
            health,
            restart: self.one_of(
                "restart",
                &[("on-failure", Policy::OnFailure), ("always", Policy::Always), ("never", Policy::Never)],
            )?,
            env: self.env()?,
            start_seconds: self.number("start_seconds", LONGEST_START)?.unwrap_or(START_SECONDS),
        })
    }

    fn migrate(&self) -> Result<Option<String>, DevError> {
        let wanted = self.flag("auto_run", true)?;
        let command = self.text("command")?.filter(|command| !command.trim().is_empty());
        Ok(command.filter(|_| wanted))
    }

    fn docs(&self) -> Result<bool, DevError> {
        self.text("engine")?;
        self.number("port", u64::from(u16::MAX))?;
        self.flag("enabled", true)
    }

    fn seed(&self) -> Result<Seed, DevError> {
        Ok(Seed {
            directory: self.path("directory", "where your seed files are, such as \"seed\"")?,
            runner: self.text("runner")?.filter(|text| !text.trim().is_empty()).unwrap_or("node".to_owned()),
            order: self
                .one_of("order", &[("alphabetical", Order::Alphabetical), ("numeric", Order::Numeric)])?,
            d1_database: self.text("d1_database")?.filter(|name| !name.is_empty()),
        })
    }

    fn auth(&self) -> Result<Auth, DevError> {
        let rows = self.one_of(
            "adapter",
            &[("sqlite", true), ("d1", true), ("supabase", false), ("script", false), ("custom", false)],
        )?;
        let command = self.text("provision_command")?.filter(|command| !command.trim().is_empty());
        let by = match command {
            Some(command) => Provision::Command(command),
            None if rows => Provision::Rows,
            None => {
                let adapter = self.text("adapter")?.unwrap_or_default();
                let problem =
                    format!("is missing; the adapter `{adapter}` puts users in by a command of yours");
                return Err(self.bad("provision_command", problem));
            }
        };
        let table = self.text("table")?.unwrap_or_else(|| "users".to_owned());
        if !super::users::is_name(&table) {
            return Err(self.bad("table", format!("must be the name of a table, and is \"{table}\"")));
        }
        Ok(Auth {
            users_file: self.path("users_file", "a list of users, such as \"seed/users.json\"")?,
            table,
            by,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WHOLE: &str = r#"{
        "server": { "command": "npm run dev", "port": 5173, "health": "/health", "restart": "always",
            "env": { "DEBUG": "1", "LEVEL": 3 }, "start_seconds": 30 },
        "migrations": { "command": "npm run migrate", "auto_run": true },
        "docs": { "engine": "vitepress", "port": 5174 },
        "seed": { "directory": "seed/", "runner": "npx tsx", "order": "numeric", "d1_database": null },
        "auth": { "adapter": "sqlite", "users_file": "seed/users.json", "table": "accounts", "provision_command": null },
        "access": { "localhost": "http://localhost:5173" }
    }"#;

    fn error(text: &str) -> String {
        Manifest::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_whole_file_is_read() {
        let manifest = Manifest::parse(WHOLE).unwrap();
        let server = manifest.server.unwrap();
        assert_eq!((server.port, server.restart, server.start_seconds), (5173, Policy::Always, 30));
        assert_eq!(server.env["LEVEL"], "3");
        assert_eq!(manifest.migrate.as_deref(), Some("npm run migrate"));
        assert!(manifest.docs);
        let seed = manifest.seed.unwrap();
        assert_eq!((seed.directory.as_str(), seed.order), ("seed", Order::Numeric));
        assert_eq!(manifest.auth.unwrap().by, Provision::Rows);
        assert_eq!(manifest.warnings, [""; 0]);
    }

    proptest! {
        #[test]
        fn whatever_a_key_holds_it_is_read_or_named(part in 0..KNOWN.len(), key in 0..6_usize, value in 0..7_usize) {
            let (part, keys) = KNOWN[part];
            let key = keys.get(key).copied().unwrap_or("other");
            let values = ["null", "true", "-1", "\"\"", "\"/x\"", "[]", "{\"a\": 1e99}"];
            let text = format!("{{\"{part}\": {{\"{key}\": {}}}}}", values[value]);
            if let Err(error) = Manifest::parse(&text) {
                prop_assert!(error.to_string().starts_with(&format!("dev.json: `{part}.")), "{error}");
            }
        }
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let manifest = Manifest::parse(r#"{"server": {"command": "./serve", "port": 1}}"#).unwrap();
        let server = manifest.server.unwrap();
        assert_eq!((server.health, server.restart, server.start_seconds), (None, Policy::OnFailure, 120));
        assert_eq!(Manifest::parse("{}").unwrap(), Manifest::default());
        let off =
            r#"{"migrations": {"command": "make migrate", "auto_run": false}, "docs": {"enabled": false}}"#;
        let off = Manifest::parse(off).unwrap();
        assert_eq!((off.migrate, off.docs), (None, false));
    }

    #[test]
    fn what_is_not_known_is_a_warning_with_the_nearest_name() {
        let text = r#"{"$schema": "x", "sever": {}, "server": {"command": "a", "port": 1, "healthy": "/"}, "access": {"lan": "http://x"}}"#;
        let warnings = Manifest::parse(text).unwrap().warnings;
        assert_eq!(
            warnings,
            [
                "dev.json: `sever` is not known; did you mean `server`?",
                "dev.json: `server.healthy` is not known; did you mean `health`?",
            ]
        );
    }

    #[test]
    fn what_cannot_be_used_is_an_error_that_names_its_place() {
        for (text, expected) in [
            ("[]", "dev.json cannot be read: it must be an object with parts like `server`"),
            (r#"{"server": 3}"#, "dev.json: `server` must be an object, and is 3"),
            (
                r#"{"server": {"port": 1}}"#,
                "dev.json: `server.command` is missing; it is the command that starts your server in the foreground",
            ),
            (
                r#"{"server": {"command": " ", "port": 1}}"#,
                "dev.json: `server.command` is empty; it is the command that starts your server in the foreground",
            ),
            (
                r#"{"server": {"command": "a"}}"#,
                "dev.json: `server.port` is missing; it is where your server listens",
            ),
            (
                r#"{"server": {"command": "a", "port": "3000"}}"#,
                "dev.json: `server.port` must be a number from 1 to 65535, and is \"3000\"",
            ),
            (
                r#"{"server": {"command": "a", "port": 70000}}"#,
                "dev.json: `server.port` must be a number from 1 to 65535, and is 70000",
            ),
            (
                r#"{"server": {"command": "a", "port": 1, "health": "health"}}"#,
                "dev.json: `server.health` must be a path like /health, and is \"health\"",
            ),
            (
                r#"{"server": {"command": "a", "port": 1, "restart": "allways"}}"#,
                "dev.json: `server.restart` must be one of on-failure, always, never, and is \"allways\"; did you mean `always`?",
            ),
            (
                r#"{"server": {"command": "a", "port": 1, "env": {"A": []}}}"#,
                "dev.json: `server.env.A` must be a text, and is []",
            ),
            (
                r#"{"seed": {"directory": "../seed"}}"#,
                "dev.json: `seed.directory` must be a path in the project, and is \"../seed\"",
            ),
            (
                r#"{"migrations": {"auto_run": "yes"}}"#,
                "dev.json: `migrations.auto_run` must be true or false, and is \"yes\"",
            ),
            (
                r#"{"auth": {"adapter": "supabase", "users_file": "u.json"}}"#,
                "dev.json: `auth.provision_command` is missing; the adapter `supabase` puts users in by a command of yours",
            ),
            (
                r#"{"auth": {"users_file": "u.json"}}"#,
                "dev.json: `auth.adapter` needs a part `seed`, whose `runner` puts the rows in, or a `provision_command`",
            ),
            (
                r#"{"auth": {"users_file": "u.json", "table": "a; drop"}}"#,
                "dev.json: `auth.table` must be the name of a table, and is \"a; drop\"",
            ),
        ] {
            assert_eq!(error(text), expected, "{text}");
        }
        assert!(error("{").starts_with("dev.json cannot be read: EOF"));
    }
}
