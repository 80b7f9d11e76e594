//! Tables that a change has brought, and that no seed file fills.
//!
//! Advice, so a guess is enough: files are read as words, not as a language.

use std::{collections::BTreeSet, path::Path};

use super::{manifest::Seed, seeds};
use workspace::text;

/// The largest file that is looked at, in bytes.
const LARGEST: u64 = 1024 * 1024;
/// What follows `create table` and is no name.
const BETWEEN: [&str; 4] = ["if", "not", "exists", "only"];
/// Tables that migration tools keep for themselves.
const OWN: [&str; 4] = ["schema_migrations", "_prisma_migrations", "d1_migrations", "sqlite_sequence"];

/// Returns the tables that the changed files make and no seed file mentions, by name.
pub(super) fn missing(root: &Path, seed: &Seed, changed: &[String]) -> Vec<String> {
    let read = |path: &str| text::read_inside(root, path, LARGEST).unwrap_or_default();
    let in_seeds = |path: &str| path.starts_with(&format!("{}/", seed.directory));
    let schema = changed.iter().filter(|path| is_schema(path) && !in_seeds(path));
    let made: BTreeSet<String> = schema.flat_map(|path| tables(&read(path))).collect();
    if made.is_empty() {
        return Vec::new();
    }
    let names = seeds::files(root, seed, None).unwrap_or_default();
    let users = format!("{}/users.json", seed.directory);
    let files = names.iter().map(|name| format!("{}/{name}", seed.directory)).chain([users]);
    let filled: BTreeSet<String> = files.flat_map(|path| words(&read(&path))).collect();
    made.into_iter().filter(|table| !filled.contains(&table.to_lowercase())).collect()
}

/// Tells whether a file says what tables there are.
fn is_schema(path: &str) -> bool {
    let lower = path.to_lowercase();
    let has = |name: &str| lower.split('/').any(|part| part == name);
    lower.ends_with(".sql") || lower.ends_with(".prisma") || has("migrations") || has("migrate")
}

/// Reads the names of tables that a text makes: in SQL, and as common tools write it.
fn tables(text: &str) -> Vec<String> {
    let words = split(text);
    let mut found = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let rest = &words[index + 1..];
        let last = word.rsplit('.').next().unwrap_or(word);
        let name = match last.to_lowercase().as_str() {
            // `create [temporary] table [if not exists] NAME`
            "table" if is_created(&words[..index]) => {
                let mut rest = rest.iter().filter(|word| !BETWEEN.contains(&word.to_lowercase().as_str()));
                // A name may have that of its schema before it.
                rest.next().map(|name| name.rsplit('.').next().unwrap_or(name).to_owned())
            }
            "createtable" | "create_table" => rest.first().cloned(),
            "model" if text.contains("datasource ") || text.contains("@id") => rest.first().cloned(),
            _ => None,
        };
        found.extend(name.filter(|name| !OWN.contains(&name.to_lowercase().as_str())));
    }
    found
}

fn is_created(before: &[String]) -> bool {
    before.iter().rev().take(2).any(|word| word.eq_ignore_ascii_case("create"))
}

/// Splits a text into names, without SQL's comments; a name keeps its dots.
fn split(text: &str) -> Vec<String> {
    let without = text.lines().map(|line| line.split("--").next().unwrap_or_default());
    let without: String = without.collect::<Vec<_>>().join("\n");
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let quoted = without.replace(['"', '`', '[', ']'], " ");
    let words = quoted.split(|c: char| !is_part(c)).map(|word| word.trim_matches('.'));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> + use<> {
    split(text).into_iter().flat_map(|word| word.split('.').map(str::to_lowercase).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        super::manifest::{Order, Seed},
        *,
    };

    #[test]
    fn tables_are_read_as_common_tools_write_them() {
        for (text, expected) in [
            ("CREATE TABLE teas (id INTEGER);", "teas"),
            ("create temp table if not exists \"cups\" (a);", "cups"),
            ("CREATE TABLE public.pots (a);", "pots"),
            ("-- create table nothing\nALTER TABLE teas ADD a;", ""),
            ("DROP TABLE teas;", ""),
            ("knex.schema.createTable('leaves', t => t)", "leaves"),
            ("create_table :kettles do |t|", "kettles"),
            ("model Sugar {\n  id Int @id\n}", "Sugar"),
            ("CREATE TABLE schema_migrations (a);", ""),
        ] {
            assert_eq!(tables(text).join(","), expected, "{text}");
        }
    }

    #[test]
    fn a_table_that_no_seed_mentions_is_missing() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("migrations/1.sql", "CREATE TABLE teas (a); CREATE TABLE cups (a); CREATE TABLE users (a);");
        write("migrations/2.sql", "CREATE TABLE pots (a);");
        write("seed/1.sql", "INSERT INTO Teas VALUES (1); -- cups come later\n");
        write("seed/users.json", "{\"users\": []}");
        write("src/a.rs", "// CREATE TABLE nothing");
        let seed = Seed {
            directory: "seed".to_owned(),
            runner: "node".to_owned(),
            order: Order::Alphabetical,
            d1_database: None,
        };
        let changed = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
            missing(root.path(), &seed, &files)
        };
        assert_eq!(changed(&["migrations/1.sql", "src/a.rs"]), ["cups"]);
        assert_eq!(changed(&["migrations/2.sql", "seed/1.sql"]), ["pots"]);
        assert_eq!(changed(&["src/a.rs", "migrations/gone.sql"]), [""; 0]);
    }
}
