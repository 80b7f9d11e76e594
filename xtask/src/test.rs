//! What CI runs: everything that can fail without being asked for the time.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use crate::{
    agents::{self, Versions},
    fuzz::{self, Looked},
    generate, hermetic,
    run::{Result, capture, cargo, check, say, shown},
    system, tidy,
};

/// Crates that must not be linked into the pure core.
const NOT_IN_ENGINE: &[&str] = &["rusqlite", "rustix", "tokio", "tempfile", "clap"];

pub(crate) fn run(clients: Versions) -> Result {
    check(&mut cargo(&["fmt", "--all", "--check"]))?;
    tidy::check()?;
    check(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"]))?;
    engine_is_pure()?;
    let looked = fuzz::check_types()?;
    check(&mut cargo(&["build", "--quiet", "--package", "cli"]))?;
    // Without these two, tests of the sandbox and of terminals skip themselves.
    system::package("bwrap", "bubblewrap");
    system::package("tmux", "tmux");
    system::package("make", "make");
    // Small projects in these are made and tested; what is missing is skipped.
    system::package("go", "golang-go");
    let mut totals = tests(clients)?;
    totals.skipped += u64::from(looked == Looked::Skipped);
    check(
        cargo(&["doc", "--workspace", "--no-deps", "--quiet", "--document-private-items"])
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )?;
    generate::check()?;
    say(&format!("{} passed, {} failed, {} skipped", totals.passed, totals.failed, totals.skipped));
    if totals.failed > 0 { Err("tests failed".to_owned()) } else { Ok(()) }
}

/// The core does no I/O: what does it must not even be linked.
fn engine_is_pure() -> Result {
    let tree =
        capture(&mut cargo(&["tree", "--package", "engine", "--edges", "normal", "--prefix", "none"]))?;
    match NOT_IN_ENGINE.iter().find(|name| tree.lines().any(|line| line.starts_with(&format!("{name} ")))) {
        Some(name) => Err(format!("`engine` depends on `{name}`; it must do no I/O")),
        None => Ok(()),
    }
}

#[derive(Default)]
struct Totals {
    passed: u64,
    failed: u64,
    skipped: u64,
}

/// Runs all tests, showing what they print, and adds up their totals.
fn tests(clients: Versions) -> Result<Totals> {
    let mut command = cargo(&["test", "--workspace", "--quiet", "--no-fail-fast"]);
    let home = tempfile::tempdir().map_err(|error| format!("the tests' home could not be made: {error}"))?;
    hermetic::apply(&mut command, home.path());
    command.envs(agents::install(clients)?);
    say(&format!("$ {}", shown(&command)));
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    let mut totals = Totals::default();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let line = line.map_err(|error| format!("the tests' output could not be read: {error}"))?;
        totals.add(&line);
        say(&line);
    }
    let status = child.wait().map_err(|error| format!("the tests could not be waited for: {error}"))?;
    if !status.success() && totals.failed == 0 {
        return Err(format!("the tests ended with {status}"));
    }
    Ok(totals)
}

impl Totals {
    /// Reads a line like `test result: ok. 3 passed; 0 failed; 1 ignored; …`; a test that skips says so itself.
    fn add(&mut self, line: &str) {
        if line.starts_with("skipped: ") {
            self.skipped += 1;
        }
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        let count = |word: &str| {
            let part = counts.split([';', '.']).find(|part| part.trim_end().ends_with(word));
            part.and_then(|part| part.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
        };
        self.passed += count("passed");
        self.failed += count("failed");
        self.skipped += count("ignored");
    }
}
