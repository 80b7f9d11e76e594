//! Seed files: which there are, in which order, and what applies each.

use std::{cmp::Ordering, fs, io, path::Path};

use super::manifest::{Order, Seed};

/// The most seed files that are taken.
const MOST: usize = 1000;

/// Returns the seed files of a directory in their order, by name. A directory that is not there has none.
pub(super) fn files(root: &Path, seed: &Seed, users_file: Option<&str>) -> io::Result<Vec<String>> {
    let directory = root.join(&seed.directory);
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{}/{name}", seed.directory);
        if entry.file_type()?.is_file() && is_seed(&name) && users_file != Some(path.as_str()) {
            names.push(name);
        }
        if names.len() > MOST {
            return Err(io::Error::other(format!("it has more than {MOST} files")));
        }
    }
    sort(&mut names, seed.order);
    Ok(names)
}

/// Hidden files, texts for people and lists of users are not applied.
fn is_seed(name: &str) -> bool {
    !name.starts_with('.') && !name.ends_with(".md") && !name.ends_with('~') && name != "users.json"
}

pub(super) fn sort(names: &mut [String], order: Order) {
    match order {
        Order::Alphabetical => names.sort(),
        Order::Numeric => names.sort_by(|a, b| by_number(a, b)),
    }
}

/// Orders names by the number that they begin with; those without one come last.
fn by_number(a: &str, b: &str) -> Ordering {
    let number = |name: &str| {
        let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
        let digits = digits.trim_start_matches('0').to_owned();
        // Of two numbers the longer is greater, however long they are.
        name.starts_with(|c: char| c.is_ascii_digit()).then_some((digits.len(), digits))
    };
    let key = |name: &str| (number(name).is_none(), number(name));
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

/// Returns the command line that applies a file, which is its first argument.
pub(super) fn line(seed: &Seed, file: &str) -> Result<String, String> {
    let is_sql = file.ends_with(".sql");
    if is_sql && let Some(database) = &seed.d1_database {
        let database = database.replace('\'', "'\\''");
        return Ok(format!("npx wrangler d1 execute '{database}' --local --file \"$1\""));
    }
    let runner = seed.runner.trim();
    if is_sql && ["node", "npx tsx"].contains(&runner) {
        return Err(format!(
            "`{runner}` does not run SQL: set `seed.d1_database`, or a `seed.runner` like `sqlite3 dev.db < \"$1\"`"
        ));
    }
    let names_file = runner.contains("$1") || runner.contains("${1}");
    Ok(if names_file { runner.to_owned() } else { format!("{runner} \"$1\"") })
}

/// Tells whether there is nothing in a file but comments.
pub(super) fn is_empty(name: &str, text: &str) -> bool {
    let comment = if name.ends_with(".sql") { "--" } else { "//" };
    text.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with(comment))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seed(runner: &str, d1_database: Option<&str>) -> Seed {
        Seed {
            directory: "seed".to_owned(),
            runner: runner.to_owned(),
            order: Order::Numeric,
            d1_database: d1_database.map(str::to_owned),
        }
    }

    fn sorted(names: &[&str], order: Order) -> Vec<String> {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        sort(&mut names, order);
        names
    }

    #[test]
    fn numbers_are_ordered_by_value_and_letters_by_letter() {
        let names = ["10-b.sql", "9-a.sql", "base.sql", "010-a.sql", "2.sql", "18446744073709551616.sql"];
        assert_eq!(
            sorted(&names, Order::Numeric),
            ["2.sql", "9-a.sql", "010-a.sql", "10-b.sql", "18446744073709551616.sql", "base.sql"]
        );
        assert_eq!(sorted(&["b", "10", "9"], Order::Alphabetical), ["10", "9", "b"]);
    }

    proptest! {
        #[test]
        fn every_order_is_one(names in prop::collection::vec("[0-9]{0,3}[-a-z]{0,2}", 0..12)) {
            for order in [Order::Alphabetical, Order::Numeric] {
                let mut once = names.clone();
                sort(&mut once, order);
                let mut backwards: Vec<String> = once.iter().rev().cloned().collect();
                sort(&mut backwards, order);
                prop_assert_eq!(&once, &backwards);
                let numbers: Vec<u32> = once.iter().filter_map(|name| {
                    name.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
                }).collect();
                prop_assert!(order == Order::Alphabetical || numbers.is_sorted());
            }
        }
    }

    #[test]
    fn a_file_is_given_to_the_runner_where_that_wants_it() {
        assert_eq!(line(&seed("node", None), "1.js").unwrap(), "node \"$1\"");
        assert_eq!(line(&seed("sqlite3 dev.db < \"$1\"", None), "1.sql").unwrap(), "sqlite3 dev.db < \"$1\"");
        let d1 = line(&seed("node", Some("my db")), "1.sql").unwrap();
        assert_eq!(d1, "npx wrangler d1 execute 'my db' --local --file \"$1\"");
        assert!(line(&seed("node", None), "1.sql").unwrap_err().contains("does not run SQL"));
    }

    #[test]
    fn files_that_are_no_seeds_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("seed/old")).unwrap();
        for name in ["2.sql", "10.sql", ".hidden", "README.md", "users.json", "people.json", "1.sql~"] {
            fs::write(root.path().join("seed").join(name), "").unwrap();
        }
        let found = files(root.path(), &seed("node", None), Some("seed/people.json")).unwrap();
        assert_eq!(found, ["2.sql", "10.sql"]);
        let none = Seed { directory: "nowhere".to_owned(), ..seed("node", None) };
        assert_eq!(files(root.path(), &none, None).unwrap(), [""; 0]);
    }

    #[test]
    fn comments_alone_are_nothing_to_apply() {
        assert!(is_empty("1.sql", "-- nothing yet\n\n  -- still nothing\n"));
        assert!(!is_empty("1.sql", "-- one\nINSERT INTO a VALUES (1);\n"));
    }
}
