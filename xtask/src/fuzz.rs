//! Fuzzing: every parser is given made-up input for a while, with cargo-fuzz on the nightly compiler.
//!
//! The targets are in `fuzz/targets/`, a file each. What is found to be interesting is kept in `fuzz/corpus/`, what
//! breaks something in `fuzz/artifacts/`; neither is committed. `fuzz/seeds/` is, and is where every target starts.

use std::{
    collections::VecDeque,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::run::{Result, capture, cargo, check, root, say, shown};

const SECONDS: u64 = 20;
/// A parser that needs more memory than this, in megabytes, has a fault.
const MEMORY: u32 = 2048;
/// A parser that needs longer than this for one input, in seconds, has a fault. Targets are slow: they are
/// instrumented, and most do much more than parse.
const PATIENCE: u32 = 20;
/// The longest input that is made up, in bytes. What is longer only takes longer.
const LONGEST: u32 = 16 * 1024;
/// How many lines are shown of what the fuzzer says when it finds something.
const LINES_SHOWN: usize = 12;

pub(crate) fn run(arguments: &[&str]) -> Result {
    let (seconds, wanted) = match arguments {
        [] => (SECONDS, arguments),
        [first, rest @ ..] => match first.parse() {
            Ok(seconds) => (seconds, rest),
            Err(_) => (SECONDS, arguments),
        },
    };
    let targets = choose(&all_targets()?, wanted)?;
    check_compiler()?;
    let fuzzer = Fuzzer { program: cargo_fuzz()?, seconds };
    check(&mut fuzzer.command(&["build"]))?;
    let mut broken = Vec::new();
    for target in &targets {
        if let Err(finding) = fuzzer.run(target)? {
            say(&finding);
            broken.push(target.as_str());
        }
    }
    if broken.is_empty() { Ok(()) } else { Err(format!("fuzzing broke {}", broken.join(", "))) }
}

/// Whether the targets could be looked at.
#[derive(PartialEq, Eq)]
pub(crate) enum Looked {
    Done,
    Skipped,
}

/// Checks the types of every target, with the compiler of the product and without building the fuzzer.
///
/// The targets have dependencies of their own. Where those cannot be had, that is said and nothing more.
pub(crate) fn check_types() -> Result<Looked> {
    let targets = ["--locked", "--manifest-path", "fuzz/Cargo.toml"];
    match capture(cargo(&["fetch", "--quiet"]).args(targets)) {
        // A lock file that is out of date is a fault of the repository.
        Err(error) if error.contains("lock file") => return Err(error),
        Err(error) => {
            say(&format!("skipped: the types of the fuzz targets: {}", error.trim_end()));
            return Ok(Looked::Skipped);
        }
        Ok(_) => {}
    }
    let mut command = cargo(&["check", "--quiet", "--bins", "--target-dir", "target"]);
    // With a fuzzer that is said to be there, none is compiled; it is not looked for before something is linked.
    command.args(targets).env("CUSTOM_LIBFUZZER_PATH", "/nonexistent/libfuzzer.a");
    check(&mut command)?;
    Ok(Looked::Done)
}

fn all_targets() -> Result<Vec<String>> {
    let directory = root().join("fuzz/targets");
    let failed = |error| format!("`{}` cannot be read: {error}", directory.display());
    let mut targets = Vec::new();
    for entry in fs::read_dir(&directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        targets.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    targets.sort();
    Ok(targets)
}

fn choose(all: &[String], wanted: &[&str]) -> Result<Vec<String>> {
    match wanted.iter().find(|name| !all.iter().any(|target| target == *name)) {
        Some(name) => Err(format!(
            "usage: cargo xtask fuzz [SECONDS] [TARGET...]; `{name}` is none of {}",
            all.join(", ")
        )),
        None if wanted.is_empty() => Ok(all.to_vec()),
        None => Ok(wanted.iter().map(|name| (*name).to_owned()).collect()),
    }
}

fn check_compiler() -> Result {
    let asked = capture(nightly("rustc").arg("--version"));
    asked.map(|_| ()).map_err(|error| {
        format!(
            "fuzzing needs the nightly compiler ({}); `rustup toolchain install nightly --profile minimal` gets it",
            error.trim_end()
        )
    })
}

/// Makes a command that runs with the nightly compiler, whatever started this program.
fn nightly(program: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", program]).current_dir(root());
    for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(name);
    }
    command
}

/// Returns where cargo-fuzz is, installing it where it is missing.
fn cargo_fuzz() -> Result<PathBuf> {
    let tools = root().join("target/tools");
    let program = tools.join("bin/cargo-fuzz");
    if !program.is_file() {
        say("cargo-fuzz is missing and is installed into target/tools");
        let install = ["install", "cargo-fuzz", "--locked", "--root", "target/tools"];
        check(&mut cargo(&install))?;
    }
    Ok(program)
}

struct Fuzzer {
    program: PathBuf,
    seconds: u64,
}

impl Fuzzer {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = nightly(&self.program.to_string_lossy());
        let [verb, rest @ ..] = arguments else { return command };
        command.args([verb, "--fuzz-dir", "fuzz"]).args(rest);
        command
    }

    /// Runs a target; what it finds is the inner error.
    fn run(&self, target: &str) -> Result<Result> {
        // Absolute: some targets leave the directory that they are started in.
        let corpus = root().join("fuzz/corpus").join(target).display().to_string();
        let seeds = root().join("fuzz/seeds").join(target).display().to_string();
        let failed = |what: &str, error| format!("{what}: {error}");
        fs::create_dir_all(&corpus).map_err(|error| failed(&corpus, error))?;
        // Targets that need files leave them behind, and are several times faster in memory.
        let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let scratch = scratch.map_err(|error| failed("a temporary directory", error))?;
        let limits = [
            format!("-max_total_time={}", self.seconds),
            format!("-rss_limit_mb={MEMORY}"),
            format!("-timeout={PATIENCE}"),
            format!("-max_len={LONGEST}"),
            "-print_final_stats=1".to_owned(),
        ];
        let mut command = self.command(&["run", target, &corpus, &seeds, "--"]);
        command
            .args(limits)
            .env("TMPDIR", scratch.path())
            .env("XDG_STATE_HOME", scratch.path().join("state"))
            .env("XDG_CONFIG_HOME", scratch.path().join("config"))
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| failed(&shown(&command), error))?;
        let mut report = Report::default();
        for line in child.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).split(b'\n')) {
            let line = line.map_err(|error| failed("the fuzzer's output", error))?;
            report.add(&String::from_utf8_lossy(&line));
        }
        let status = child.wait().map_err(|error| failed(&shown(&command), error))?;
        if status.success() {
            let kept = fs::read_dir(&corpus).map(Iterator::count).unwrap_or_default();
            say(&format!("{target:<11} ok: {report}, {kept} inputs kept"));
            return Ok(Ok(()));
        }
        Ok(Err(self.finding(target, &report)))
    }

    /// Says what a target found, and how to see it again.
    fn finding(&self, target: &str, report: &Report) -> String {
        let lines = if report.cause.is_empty() { &report.last_lines } else { &report.cause };
        let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        text.push_str(&format!("{target:<11} BROKEN: {report}\n"));
        match &report.input {
            Some(input) => {
                let again = typed(&self.command(&["run", target, input]));
                text.push_str(&format!("the input is kept as {input}; to see it again:\n  {again}"));
            }
            None => text.push_str("no input was kept; the lines above say why it ended"),
        }
        text
    }
}

/// Returns a command as a person would type it in the workspace's root.
fn typed(command: &Command) -> String {
    let root = format!("{}/", root().display());
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().replace(&root, ""));
    let program = command.get_program().to_string_lossy().into_owned();
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// What the fuzzer says of itself.
#[derive(Default)]
struct Report {
    executions: Option<u64>,
    seconds: Option<u64>,
    /// The input that broke the target.
    input: Option<String>,
    /// The lines that say what went wrong.
    cause: VecDeque<String>,
    last_lines: VecDeque<String>,
}

impl Report {
    fn add(&mut self, line: &str) {
        if let Some(count) = line.strip_prefix("stat::number_of_executed_units:") {
            self.executions = count.trim().parse().ok();
        } else if let Some((_, seconds)) = line.strip_prefix("Done ").and_then(|rest| rest.split_once(" in "))
        {
            self.seconds = seconds.split(' ').next().and_then(|count| count.parse().ok());
        } else if let Some((_, input)) = line.split_once("Test unit written to ") {
            self.input = Some(relative(input.trim()));
        }
        let is_cause = line.contains(" panicked at ") || line.contains("ERROR: ");
        if (is_cause || !self.cause.is_empty()) && self.cause.len() < LINES_SHOWN {
            self.cause.push_back(line.to_owned());
        }
        self.last_lines.push_back(line.to_owned());
        if self.last_lines.len() > LINES_SHOWN {
            self.last_lines.pop_front();
        }
    }
}

fn relative(path: &str) -> String {
    let path = Path::new(path);
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.executions {
            Some(count) => write!(f, "{count} executions")?,
            None => write!(f, "it is not known how many executions")?,
        }
        match self.seconds {
            Some(seconds) => write!(f, " in {seconds} s"),
            None => Ok(()),
        }
    }
}
