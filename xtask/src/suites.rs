//! Runs the test suites: every test program that cargo has built, and each module of the large ones by itself, several at a
//! time.
//!
//! Most tests wait for programs that they have started, so one suite after the other would leave the machine idle. What a
//! suite prints is shown when it is over, and the ten slowest are named at the end. Each has a temporary directory of its
//! own, in which it must leave nothing.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::run::{Result, capture, cargo, say, shown};

/// How many suites run at a time.
const AT_ONCE: usize = 3;
/// How the names of programs end whose modules are suites of their own.
const LARGE: &str = " it";
/// Their longest modules, longest first: whatever runs last should be short.
const LONGEST: &[&str] =
    &["clients", "bypass", "run", "crash", "together", "corpus", "feature", "commands", "attach", "settings"];
/// How many of the slowest suites are named.
const NAMED: usize = 10;

/// What came of the tests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// A test program.
#[derive(Debug)]
struct Suite {
    /// Its crate and its name, as `cargo test -p CRATE --test NAME` takes them.
    name: String,
    program: PathBuf,
    /// The directory of its crate, in which cargo would run it.
    directory: PathBuf,
    /// The names of its tests; all that the program has if there are none.
    tests: Vec<String>,
}

/// What came of one.
struct Ran {
    name: String,
    took: Duration,
    printed: String,
    totals: Totals,
    /// Why it counts as failed although no test did.
    broken: Option<String>,
}

/// Builds all suites and runs them in the environment that `prepare` gives them.
pub(crate) fn run(prepare: &(dyn Fn(&mut Command) + Sync)) -> Result<Totals> {
    let mut suites = Vec::new();
    for suite in build()? {
        if suite.name.ends_with(LARGE) { suites.extend(suite.modules()?) } else { suites.push(suite) }
    }
    // Short, because paths of sockets below it are bounded.
    let temporary = tempfile::Builder::new().prefix("w").rand_bytes(4).tempdir();
    let temporary = temporary.map_err(|error| format!("no temporary directory could be made: {error}"))?;
    suites.sort_by_key(|suite| (suite.rank(), suite.name.clone()));
    say(&format!("running {} test suites, {AT_ONCE} at a time", suites.len()));
    let suites = suites.into_iter().enumerate();
    let waiting =
        Mutex::new(suites.map(|(number, suite)| (suite, temporary.path().join(number.to_string()))));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let (send, ran) = mpsc::channel();
    let mut totals = Totals::default();
    let mut slowest = Vec::new();
    let mut broken = Vec::new();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let send = send.clone();
            scope.spawn(move || {
                while let Some((suite, temporary)) = next() {
                    if send.send(suite.run(prepare, &temporary)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        for ran in ran {
            say(&format!("== {} ({:.1} s)\n{}", ran.name, ran.took.as_secs_f64(), ran.printed.trim()));
            totals.passed += ran.totals.passed;
            totals.failed += ran.totals.failed;
            totals.skipped += ran.totals.skipped;
            broken.extend(ran.broken.map(|why| format!("{}: {why}", ran.name)));
            slowest.push((ran.took, ran.name));
        }
    });
    slowest.sort_by(|one, other| other.cmp(one));
    say("slowest suites:");
    for (took, name) in slowest.iter().take(NAMED) {
        say(&format!("{:8.1} s  {name}", took.as_secs_f64()));
    }
    if broken.is_empty() { Ok(totals) } else { Err(broken.join("; ")) }
}

/// Builds every test program; returns them.
fn build() -> Result<Vec<Suite>> {
    let mut command =
        cargo(&["test", "--workspace", "--quiet", "--no-run", "--message-format", "json-render-diagnostics"]);
    let shown = shown(&command);
    say(&format!("$ {shown}"));
    let failed = |error| format!("`{shown}` could not be run: {error}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut suites = Vec::new();
    for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
        let message: Value = serde_json::from_str(&line.map_err(failed)?).unwrap_or_default();
        suites.extend(Suite::of(&message));
    }
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(suites) } else { Err(format!("`{shown}` failed ({status})")) }
}

impl Suite {
    /// Reads one of cargo's messages; nothing unless it is about a test program.
    fn of(message: &Value) -> Option<Self> {
        let is_test = message["profile"]["test"] == true;
        let program = message["executable"].as_str().filter(|_| is_test)?;
        let directory = PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned();
        let (package, target) = (directory.file_name()?.to_str()?, message["target"]["name"].as_str()?);
        let name = format!("{package} {target}");
        Some(Self { name, program: program.into(), directory, tests: Vec::new() })
    }

    /// Returns a suite for each module of the program.
    fn modules(self) -> Result<Vec<Self>> {
        let listed = capture(Command::new(&self.program).args(["--list", "--format", "terse"]))?;
        let mut modules = BTreeMap::<&str, Vec<String>>::new();
        for test in listed.lines().filter_map(|line| line.strip_suffix(": test")) {
            let module = test.split("::").next().unwrap_or(test);
            modules.entry(module).or_default().push(test.to_owned());
        }
        let suite = |(module, tests)| Self {
            name: format!("{} {module}", self.name),
            program: self.program.clone(),
            directory: self.directory.clone(),
            tests,
        };
        Ok(modules.into_iter().map(suite).collect())
    }

    /// Says how early it begins.
    fn rank(&self) -> usize {
        let module = self.name.rsplit(' ').next();
        let of_large = LONGEST.iter().position(|known| Some(*known) == module).unwrap_or(LONGEST.len());
        if self.tests.is_empty() { LONGEST.len() + 1 } else { of_large }
    }

    fn run(self, prepare: &(dyn Fn(&mut Command) + Sync), temporary: &Path) -> Ran {
        let mut command = Command::new(&self.program);
        if !self.tests.is_empty() {
            // A part of a name would find tests of other modules too.
            command.arg("--exact").args(&self.tests);
        }
        command.arg("--quiet").current_dir(&self.directory).stdin(Stdio::null());
        command.env("CARGO_MANIFEST_DIR", &self.directory);
        command.env("CARGO", env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        prepare(&mut command);
        command.env("TMPDIR", temporary);
        let begun = Instant::now();
        let output = fs::create_dir(temporary).and_then(|()| command.output());
        let (took, mut totals) = (begun.elapsed(), Totals::default());
        let (printed, broken) = match output {
            Ok(output) => {
                let printed =
                    [output.stdout, output.stderr].map(|out| String::from_utf8_lossy(&out).into_owned());
                let printed = printed.concat();
                printed.lines().for_each(|line| totals.add(line));
                let is_told = output.status.success() || totals.failed > 0;
                (printed, (!is_told).then(|| format!("ended with {}", output.status)))
            }
            Err(error) => (String::new(), Some(format!("could not be started: {error}"))),
        };
        let left = || match names(temporary) {
            Ok(names) => (!names.is_empty()).then(|| format!("left in $TMPDIR: {}", names.join(", "))),
            Err(error) => Some(format!("its $TMPDIR cannot be read: {error}")),
        };
        Ran { name: self.name, took, printed, totals, broken: broken.or_else(left) }
    }
}

/// Returns the names of what is in a directory.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
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
