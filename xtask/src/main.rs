//! `cargo xtask`: tests everything, installs what tests drive, generates the reference, packages, fuzzes, benchmarks.

mod agents;
mod arrows;
mod bench;
mod build;
mod dist;
mod fuzz;
mod generate;
mod hermetic;
mod names;
mod run;
mod strangers;
mod suites;
mod system;
mod test;
mod tidy;

use std::{env, process::ExitCode};

use agents::Versions;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test            format, lints, tests, docs, generated files; what CI runs
  agents          install the coding agents that tests drive, outside the repository
                  both take --newest-clients: the agents' newest versions instead of the pinned ones
  generate        write the generated parts of docs/
  dist            build archives and a Debian package for x86-64 (and arm64, with aarch64-linux-musl-gcc), with completions, man
                  pages and checksums, in target/packages; some ten minutes on two cores
  fuzz [SECONDS]  fuzz every parser for a while (default: 20 seconds each)
  bench [ROUNDS]  measure the hot paths against a bare process and the original scripts, whole runs and the proxy
  bench run [N]   measure whole runs of N issues against git alone (default: 200)
  bench proxy [N] measure the metering proxy against no proxy, N requests each way (default: 500)
  bench tokens    measure what Claude Code sends to its model by itself, in a loop, driven by warp and with warp in it
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["test", rest @ ..] => versions(rest).and_then(test::run),
        ["agents", rest @ ..] => versions(rest).and_then(agents::run),
        ["generate"] => generate::write(),
        ["dist", rest @ ..] => dist::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["bench", rest @ ..] => bench::run(rest),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            run::say(&format!("xtask: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Reads which versions of the agents are wanted.
fn versions(arguments: &[&str]) -> run::Result<Versions> {
    match arguments {
        [] => Ok(Versions::Pinned),
        ["--newest-clients"] => Ok(Versions::Newest),
        _ => Err(USAGE.to_owned()),
    }
}
