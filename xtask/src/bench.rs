//! The benchmark: the hot paths against a process that does nothing and against the original scripts.
//!
//! Times differ from machine to machine and from minute to minute, so everything is measured in one run, row by
//! row in a shuffled order, and judged by ratios. Instructions, system calls and page faults stand beside the
//! times because they hardly vary. A time never makes the benchmark fail; a program that answers wrongly does.

mod count;
mod drive;
mod measure;
mod original;
mod program;
mod project;
mod proxy;
mod report;
mod sandbox;
mod shares;
mod tokens;

use crate::{
    bench::{measure::Row, project::Warp, sandbox::Sandbox},
    run::{Result, say},
};

/// How many rounds are measured unless the caller says otherwise.
const ROUNDS: usize = 500;
/// Rows that take tens of milliseconds are measured in every round of this number only.
const SLOW: usize = 10;
/// The histories between which the product must not slow down.
const SHORT: u64 = 10;
const LONG: u64 = 100_000;

/// Runs the benchmark: `cargo xtask bench [ROUNDS]`, or only a part: `cargo xtask bench run [ISSUES]`, `cargo xtask bench
/// proxy [REQUESTS]`, `cargo xtask bench tokens`.
pub(crate) fn run(arguments: &[&str]) -> Result {
    let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
    match arguments {
        [] => all(ROUNDS),
        ["run"] => whole_runs(drive::ISSUES),
        ["run", issues] => whole_runs(number(issues)?),
        ["proxy"] => proxy::run(&[]),
        ["proxy", requests] => number(requests).and_then(|_| proxy::run(&[requests])),
        ["tokens"] => tokens::run(),
        [rounds] => all(number(rounds)?),
        _ => Err(
            "usage: cargo xtask bench [ROUNDS], or: bench run [ISSUES], bench proxy [REQUESTS], bench tokens"
                .to_owned(),
        ),
    }
}

fn whole_runs(issues: usize) -> Result {
    let sandbox = Sandbox::new()?;
    let programs = program::build(&sandbox)?;
    drive::run(&sandbox, &programs.warp, issues)?;
    sandbox.remove()
}

fn all(rounds: usize) -> Result {
    let sandbox = Sandbox::new()?;
    let programs = program::build(&sandbox)?;
    say("making projects");
    let warp = Warp { sandbox: &sandbox, program: &programs.warp };

    let mut rows = vec![Row::new("empty process", "", sandbox.call(&programs.empty), 0)];
    rows.extend(warp.rows()?);
    rows.extend(original::rows(&sandbox)?);

    measure::warm_up(&mut rows)?;
    let before = load();
    measure::rounds(&mut rows, rounds)?;
    let after = load();
    count::all(&mut rows, &sandbox)?;

    say("");
    report::print(&rows);
    say(&format!("warp and the empty process: {}", programs.how));
    say(&format!("the original runs on: {}", original::versions()));
    say(&format!("load of the machine before and after: {before}, {after}\n"));
    report::print_ratios(&rows);
    drop(rows);
    say("");
    drive::run(&sandbox, &programs.warp, drive::ISSUES)?;
    sandbox.remove()?;
    say("");
    proxy::run(&[])
}

/// Returns how many processes wanted to run in the last minute: above one, times are not to be trusted.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("-").to_owned()
}
