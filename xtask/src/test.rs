//! What CI runs: everything that can fail without being asked for the time.

use std::time::Instant;

use crate::{
    agents::{self, Versions},
    arrows,
    fuzz::{self, Looked},
    generate, hermetic, names,
    run::{Result, capture, cargo, check, say},
    suites::{self, Totals},
    system, tidy,
};

/// Crates that must not be linked into the pure core.
const NOT_IN_ENGINE: &[&str] = &["rusqlite", "rustix", "tokio", "tempfile", "clap"];

pub(crate) fn run(clients: Versions) -> Result {
    let begun = Instant::now();
    check(&mut cargo(&["fmt", "--all", "--check"]))?;
    tidy::check()?;
    names::check()?;
    check(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"]))?;
    engine_is_pure()?;
    arrows::check()?;
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
    let Totals { passed, failed, skipped } = totals;
    let seconds = begun.elapsed().as_secs();
    say(&format!(
        "{passed} passed, {failed} failed, {skipped} skipped; {} min {} s",
        seconds / 60,
        seconds % 60
    ));
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

/// Runs all tests in an environment without anything of the user's.
fn tests(clients: Versions) -> Result<Totals> {
    let home = tempfile::tempdir().map_err(|error| format!("the tests' home could not be made: {error}"))?;
    let agents = agents::install(clients)?;
    suites::run(&|command| {
        hermetic::apply(command, home.path());
        command.envs(agents.iter().map(|(name, value)| (name, value)));
    })
}
