//! Which crate may depend on which: the table in `docs/architecture.md` is the rule, cargo's metadata the fact.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::Value;

use crate::run::{Result, capture, cargo, root};

const PAGE: &str = "docs/architecture.md";
/// The head of the table.
const HEAD: &str = "| crate | owns | depends on |";

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Fails if a crate depends on another that the page does not name, or the page names one that it does not depend on.
pub(crate) fn check() -> Result {
    let text =
        fs::read_to_string(root().join(PAGE)).map_err(|error| format!("{PAGE} cannot be read: {error}"))?;
    let (told, found) = (told(&text), found()?);
    let mut faults = Vec::new();
    for name in told.keys().chain(found.keys()).collect::<BTreeSet<_>>() {
        let (Some(told), Some(found)) = (told.get(name), found.get(name)) else {
            let where_ = if told.contains_key(name) { "only on the page" } else { "not on the page" };
            faults.push(format!("`{name}` is {where_}"));
            continue;
        };
        faults.extend(
            found
                .difference(told)
                .map(|other| format!("`{name}` depends on `{other}`, which the page forbids")),
        );
        faults.extend(told.difference(found).map(|other| format!("`{name}` does not depend on `{other}`")));
    }
    if faults.is_empty() { Ok(()) } else { Err(format!("{PAGE}, table of crates:\n{}", faults.join("\n"))) }
}

/// Reads the page's table: the names in backticks of the first and the last column.
fn told(text: &str) -> Arrows {
    let rows = text.lines().skip_while(|line| *line != HEAD).skip(2).take_while(|line| line.starts_with('|'));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
    rows.filter_map(|row| {
        let mut cells = row.trim_matches('|').split(" | ");
        let name = names(cells.next()?).pop_first()?;
        Some((name, names(cells.last()?)))
    })
    .collect()
}

/// Asks cargo what every crate of ours depends on, but for its tests.
fn found() -> Result<Arrows> {
    let text = capture(&mut cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata names no packages")?;
    let ours: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let arrows = packages.iter().filter_map(|package| {
        let needed = package["dependencies"].as_array()?.iter().filter(|needed| needed["kind"].is_null());
        let needed = needed.filter_map(|needed| needed["name"].as_str()).filter(|name| ours.contains(name));
        Some((package["name"].as_str()?.to_owned(), needed.map(str::to_owned).collect()))
    });
    Ok(arrows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_first_and_the_last_column_are_read() {
        let page = format!(
            "text\n\n{HEAD}\n|---|---|---|\n| `one` | says `what` | nothing of ours |\n| `two` | more | `one`, `three` |\n\n| `four` | no | `one` |\n"
        );
        let two = ["one", "three"].map(str::to_owned).into();
        let expected: Arrows = [("one".to_owned(), BTreeSet::new()), ("two".to_owned(), two)].into();
        assert_eq!(told(&page), expected);
    }
}
