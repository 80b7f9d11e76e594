//! Which functions a short command runs. The linker puts them side by side, so that few pages of a large program are
//! mapped for each: to map one takes longer than most of these functions run.
//!
//! Functions are named without what differs from build to build. One that is new or has another name is put where all
//! others are; that costs a little time and nothing else, so the list need not be made with every change.
//!
//! Those that every command runs come first, then those that the same commands run, so that a command touches few pages
//! that it has no use for.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{count, measure::Row, project::Warp, sandbox::Sandbox};
use crate::{
    run::{Result, root, say},
    system::found,
};

/// The linker's list, which the build script of the command names to it.
const FILE: &str = "crates/cli/layout.ld";

const HEAD: &str = "\
/* Made by `cargo xtask bench layout`: the functions that hooks, gates and transitions run, to be put side by side. */
SECTIONS
{
    .text.short :
    {
";
const TAIL: &str = "    }\n}\nINSERT BEFORE .text;\n";

/// Runs the rows of the product once each, and writes down what they ran.
pub(super) fn write(sandbox: &Sandbox, warp: &Path) -> Result {
    let valgrind = found("valgrind").ok_or("valgrind is not installed")?;
    let mut rows: Vec<Row<'_>> = Warp { sandbox, program: warp }.rows()?;
    let mut run: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in &mut rows {
        for text in count::callgrind(row, &valgrind, sandbox)? {
            for pattern in text.lines().filter_map(function).map(pattern) {
                run.entry(pattern).or_default().insert(row.name.clone());
            }
        }
    }
    let mut run: Vec<_> =
        run.into_iter().map(|(pattern, rows)| (Reverse(rows.len()), rows, pattern)).collect();
    run.sort();
    let lines = run.iter().map(|(_, _, pattern)| format!("        *(.text.{pattern})\n"));
    let text: String = [HEAD.to_owned()].into_iter().chain(lines).chain([TAIL.to_owned()]).collect();
    fs::write(root().join(FILE), text).map_err(|error| format!("{FILE}: {error}"))?;
    say(&format!("{FILE}: {} functions", run.len()));
    Ok(())
}

/// Returns the function that a line of callgrind's names, the first time that it does.
fn function(line: &str) -> Option<&str> {
    let named = line.strip_prefix("fn=(").or_else(|| line.strip_prefix("cfn=("))?;
    let (_, name) = named.split_once(") ")?;
    // What calls itself is counted by how deep it is.
    let name = name.split('\'').next().unwrap_or(name);
    // Places without a name have their address instead, or words.
    (!name.starts_with("0x") && !name.contains(' ')).then_some(name)
}

/// Replaces what differs from build to build in a function's name by a star: the digest at the end of one, or the numbers
/// of crates within it.
fn pattern(name: &str) -> String {
    const DIGEST: &str = "17h";
    if let Some(at) = name.rfind(DIGEST).filter(|at| name.len() == at + DIGEST.len() + 17) {
        return format!("{}*E", &name[..at + DIGEST.len()]);
    }
    let mut parts = name.split("Cs");
    let mut pattern = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(part.len());
        let is_crate = number > 5 && part[number..].starts_with('_');
        pattern.push_str(if is_crate { "Cs*" } else { "Cs" });
        pattern.push_str(if is_crate { &part[number..] } else { part });
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_named_without_what_differs_from_build_to_build() {
        assert_eq!(pattern("_ZN6engine4step17h0123456789abcdefE"), "_ZN6engine4step17h*E");
        assert_eq!(pattern("_RNvNtCs4fqI2P2rA04_4core3fmt5write"), "_RNvNtCs*_4core3fmt5write");
        assert_eq!(pattern("sqlite3_step"), "sqlite3_step");
        assert_eq!(pattern("xCsv_read"), "xCsv_read");
        assert_eq!(function("fn=(12) sqlite3_step"), Some("sqlite3_step"));
        assert_eq!(function("cfn=(13) walk'2"), Some("walk"));
        assert_eq!(function("fn=(12)"), None);
        assert_eq!(function("fn=(14) 0x0000000000401000"), None);
        assert_eq!(function("fn=(15) (below main)"), None);
        assert_eq!(function("calls=1 2"), None);
    }
}
