//! A first `dev.json`, for what is found in a project.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::Path,
};

use adapters::boundary;
use serde_json::{Map, Value, json};

use super::{DevError, FILE};
use workspace::text;

/// The largest file that is looked at, in bytes.
const LARGEST: u64 = 1024 * 1024;
/// Where seed files may be, the first being where they are put.
const SEEDS: [&str; 4] = ["seed", "seeds", "db/seeds", "db/seed"];
/// Ports that tools listen on where nobody says otherwise, by a word of their command.
const PORTS: [(&str, u16); 7] = [
    ("wrangler", 8787),
    ("astro", 4321),
    ("vitepress", 5173),
    ("vite", 5173),
    ("ng serve", 4200),
    ("next", 3000),
    ("nuxt", 3000),
];
/// Seed files to begin with.
const TEMPLATES: [(&str, &str); 3] = [
    ("users.json", "[]\n"),
    (
        "001-base-data.sql",
        "-- What every environment needs: roles, settings, categories.\n\
         -- INSERT OR IGNORE INTO categories (id, name) VALUES (1, 'Green tea');\n",
    ),
    (
        "002-sample-entities.sql",
        "-- Examples to work with, at least one for each state that a thing can be in.\n\
         -- INSERT OR IGNORE INTO teas (id, category_id, name, state) VALUES (1, 1, 'Sencha', 'draft');\n",
    ),
];

/// Report of the generated draft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftReport {
    /// Written files, in order.
    pub written: Vec<String>,
    /// Findings, a line each.
    pub found: Vec<String>,
    /// Whether `server.command` is still to be filled in.
    pub is_open: bool,
}

/// Writes a `dev.json` for what is found in `root`, and seed files to begin with if there are none. Nothing that is there
/// is written over.
pub fn draft(root: &Path) -> Result<DraftReport, DevError> {
    if root.join(FILE).symlink_metadata().is_ok() {
        return Err(DevError::Exists);
    }
    let project = Project { root };
    let mut drafted = DraftReport::default();
    let (command, port) = match project.server() {
        Some((command, port, why)) => {
            drafted.found.push(format!("server: `{command}` on port {port}, as {why}"));
            (command, port)
        }
        None => {
            drafted.is_open = true;
            (String::new(), 3000)
        }
    };
    let migrate = project.migrations();
    if let Some((command, why)) = &migrate {
        drafted.found.push(format!("migrations: `{command}`, as {why}"));
    }
    let database = project.d1_database();
    let seeds = SEEDS.into_iter().find(|directory| root.join(directory).is_dir());
    let directory = seeds.unwrap_or(SEEDS[0]);
    if seeds.is_some() {
        drafted.found.push(format!("seed data: `{directory}/`"));
    }
    let text = json!({
        "server": { "command": command, "port": port, "health": "/", "restart": "on-failure", "env": {} },
        "migrations": { "command": migrate.map(|(command, _)| command), "auto_run": true },
        "seed": {
            "directory": directory, "runner": project.runner(directory), "order": "alphabetical",
            "d1_database": database,
        },
        "auth": {
            "adapter": if database.is_some() { "d1" } else { "sqlite" },
            "users_file": format!("{directory}/users.json"), "table": "users", "provision_command": null,
        },
        "access": { "localhost": super::up::url(port) },
    });
    let text = serde_json::to_string_pretty(&text).expect("it can be written as JSON") + "\n";
    write(root, FILE, &text, &mut drafted)?;
    if seeds.is_none() {
        for (name, text) in TEMPLATES {
            write(root, &format!("{directory}/{name}"), text, &mut drafted)?;
        }
    }
    Ok(drafted)
}

/// Writes a file that is not there; one that is there stays as it is.
fn write(root: &Path, name: &str, text: &str, drafted: &mut DraftReport) -> Result<(), DevError> {
    let path = root.join(name);
    let make = || -> io::Result<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        File::create_new(&path)?.write_all(text.as_bytes())
    };
    match boundary::around("dev draft", make) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(source) => Err(DevError::File { path, source }),
        Ok(()) => {
            drafted.written.push(name.to_owned());
            Ok(())
        }
    }
}

/// A project that is looked at.
struct Project<'a> {
    root: &'a Path,
}

impl Project<'_> {
    fn has(&self, name: &str) -> bool {
        self.root.join(name).exists()
    }

    fn text(&self, name: &str) -> String {
        text::read(&self.root.join(name), LARGEST).unwrap_or_default()
    }

    /// Returns the scripts of a `package.json`.
    fn scripts(&self) -> Map<String, Value> {
        let package: Value = serde_json::from_str(&self.text("package.json")).unwrap_or_default();
        package.get("scripts").and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// Finds what starts the server, its port, and what says so.
    fn server(&self) -> Option<(String, u16, String)> {
        let scripts = self.scripts();
        let script = ["dev", "start", "serve"].into_iter().find_map(|name| {
            let line = scripts.get(name)?.as_str()?;
            Some((name, line))
        });
        if let Some((name, line)) = script {
            let run = if name == "start" { "npm start".to_owned() } else { format!("npm run {name}") };
            return Some((run, port_of(line), format!("package.json has a script `{name}`")));
        }
        if self.has("manage.py") {
            let command = "python manage.py runserver $PORT".to_owned();
            return Some((command, 8000, "there is a manage.py".to_owned()));
        }
        if self.has("bin/rails") {
            let command = "bin/rails server --port $PORT".to_owned();
            return Some((command, 3000, "there is a bin/rails".to_owned()));
        }
        if self.has("Cargo.toml") && self.has("src/main.rs") {
            return Some(("cargo run".to_owned(), 8080, "there is a src/main.rs".to_owned()));
        }
        if self.has("go.mod") && self.has("main.go") {
            return Some(("go run .".to_owned(), 8080, "there is a main.go".to_owned()));
        }
        None
    }

    /// Finds what migrates, and what says so.
    fn migrations(&self) -> Option<(String, String)> {
        let scripts = self.scripts();
        let named = ["db:migrate", "migrate", "db:migrations:apply"];
        if let Some(name) = named.into_iter().find(|name| scripts.contains_key(*name)) {
            return Some((format!("npm run {name}"), format!("package.json has a script `{name}`")));
        }
        let cargo = self.text("Cargo.toml");
        let found = |file: &str, command: &str| (command.to_owned(), format!("there is {file}"));
        if let Some(database) = self.d1_database().filter(|_| self.has("migrations")) {
            let command = format!("npx wrangler d1 migrations apply {database} --local");
            return Some((command, "wrangler has a database".to_owned()));
        }
        if self.has("manage.py") {
            return Some(found("a manage.py", "python manage.py migrate"));
        }
        if self.has("bin/rails") {
            return Some(found("a bin/rails", "bin/rails db:migrate"));
        }
        if self.has("prisma/schema.prisma") {
            return Some(found("a prisma/schema.prisma", "npx prisma migrate deploy"));
        }
        if self.has("alembic.ini") {
            return Some(found("an alembic.ini", "alembic upgrade head"));
        }
        if self.has("migrations") && cargo.contains("sqlx") {
            return Some(found("sqlx in Cargo.toml", "sqlx migrate run"));
        }
        if self.has("migrations") && cargo.contains("diesel") {
            return Some(found("diesel in Cargo.toml", "diesel migration run"));
        }
        None
    }

    /// Finds the database that wrangler knows.
    fn d1_database(&self) -> Option<String> {
        let name = |text: &str| {
            let rest = text.split_once("database_name")?.1.trim_start_matches(['"', ' ', '=', ':']);
            let name: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect();
            Some(name).filter(|name| !name.is_empty())
        };
        ["wrangler.toml", "wrangler.json", "wrangler.jsonc"].iter().find_map(|file| name(&self.text(file)))
    }

    /// Finds what runs the seed files, by how their names end.
    fn runner(&self, directory: &str) -> &'static str {
        let entries = fs::read_dir(self.root.join(directory)).into_iter().flatten().flatten();
        let names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let has = |ending: &str| names.iter().any(|name| name.ends_with(ending));
        if has(".ts") {
            "npx tsx"
        } else if has(".js") || has(".mjs") || self.d1_database().is_some() {
            "node"
        } else if has(".py") {
            "python"
        } else {
            "sqlite3 dev.db < \"$1\""
        }
    }
}

/// Reads the port off a command line, or guesses it.
fn port_of(line: &str) -> u16 {
    let words: Vec<&str> = line.split(|c: char| c.is_whitespace() || c == '=').collect();
    let named = words.windows(2).find_map(|pair| match pair {
        ["--port" | "-p" | "PORT", port] => port.parse().ok().filter(|port| *port != 0),
        _ => None,
    });
    let guess = || PORTS.iter().find(|(word, _)| line.contains(word)).map_or(3000, |(_, port)| *port);
    named.unwrap_or_else(guess)
}

#[cfg(test)]
mod tests {
    use super::{super::Manifest, *};

    fn drafted(files: &[(&str, &str)]) -> (tempfile::TempDir, DraftReport, Manifest) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let drafted = draft(root.path()).unwrap();
        let text = fs::read_to_string(root.path().join(FILE)).unwrap();
        let manifest = Manifest::parse(&text.replace("\"command\": \"\"", "\"command\": \"x\"")).unwrap();
        (root, drafted, manifest)
    }

    #[test]
    fn what_a_project_has_is_found() {
        let package = r#"{"scripts": {"dev": "vite --port 5199", "migrate": "node migrate.js"}}"#;
        let (_root, drafted, manifest) = drafted(&[("package.json", package), ("seeds/1.ts", "")]);
        let server = manifest.server.unwrap();
        assert_eq!((server.command.as_str(), server.port), ("npm run dev", 5199));
        assert_eq!(manifest.migrate.as_deref(), Some("npm run migrate"));
        let seed = manifest.seed.unwrap();
        assert_eq!((seed.directory.as_str(), seed.runner.as_str()), ("seeds", "npx tsx"));
        assert_eq!(drafted.written, [FILE]);
        assert!(!drafted.is_open && manifest.warnings.is_empty());
    }

    #[test]
    fn other_projects_have_their_own_commands() {
        for (file, text, command, port) in [
            ("manage.py", "", "python manage.py runserver $PORT", 8000),
            ("package.json", r#"{"scripts": {"start": "wrangler dev"}}"#, "npm start", 8787),
            ("go.mod", "", "x", 3000),
        ] {
            let (_root, _, manifest) = drafted(&[(file, text)]);
            let server = manifest.server.unwrap();
            assert_eq!((server.command.as_str(), server.port), (command, port), "{file}");
        }
        let wrangler = "[[d1_databases]]\ndatabase_name = \"tea-db\"\n";
        let (_root, _, manifest) = drafted(&[("wrangler.toml", wrangler), ("migrations/1.sql", "")]);
        assert_eq!(manifest.migrate.as_deref(), Some("npx wrangler d1 migrations apply tea-db --local"));
        assert_eq!(manifest.seed.unwrap().d1_database.as_deref(), Some("tea-db"));
    }

    #[test]
    fn templates_are_put_where_there_are_no_seeds_and_nothing_is_written_over() {
        let (root, drafted, _) = drafted(&[]);
        let names = [FILE, "seed/users.json", "seed/001-base-data.sql", "seed/002-sample-entities.sql"];
        assert_eq!(
            (drafted.written.as_slice(), drafted.is_open),
            (names.map(str::to_owned).as_slice(), true)
        );
        for (name, text) in TEMPLATES.iter().skip(1) {
            assert!(super::super::seeds::is_empty(name, text), "{name}");
        }
        fs::write(root.path().join(FILE), "mine").unwrap();
        assert!(matches!(draft(root.path()), Err(DevError::Exists)));
        assert_eq!(fs::read_to_string(root.path().join(FILE)).unwrap(), "mine");
    }
}
