//! Running the project's tests, and saying what came of it.
//!
//! Before the tests run, what they need is installed if that has changed. A failure that no change of the code can fix is an
//! error that a person sees to, and no failed attempt.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime},
};

use adapters::{boundary, machine, process::End, secrets::redacted};
use engine::{Held, Run, keys};

use super::{
    SuiteError,
    cache::{self, Cache, TestRecord},
    command::{self, REMEDY, cannot_run},
    failure,
    fault::{self, Fault},
    judge::{self, Judgement},
    modes,
    plan::Plan,
    prepare::{self, PrepareError, Prepared},
    report::{TestReport, read_reports, report_environment, without_escapes, without_passes},
    vanished::{self, Doubt},
};
use workspace::{Place, Shell, counted};

/// How much of what the tests print is kept.
const OUTPUT_KEPT: usize = 4000;

/// The directory beside a slot's tree that runners write their reports into.
const REPORTS: &str = "reports";
/// The file in a slot's git directory with all that failing tests have printed.
const LOG: &str = "warp-tests.log";

/// What a command prints that has found no tests to run, because what runs them is not installed.
const NO_RUNNER: &[(&str, &str)] = &[("-m pytest", "No module named pytest")];

/// What came of the tests.
#[derive(Debug)]
pub struct Outcome {
    /// Whether they pass, or fail only where they failed before the work began.
    pub passed: bool,
    /// How they ended, in words.
    pub said: String,
    /// The last of what they printed.
    pub output: String,
    pub report: TestReport,
    pub end: End,
    pub took: Duration,
    /// All that is known of what they printed, to find faults in.
    printed: String,
    /// The tests that failed before the work began, where that is known.
    before: Option<Vec<String>>,
    /// The fingerprint of the environment in which they ran.
    environment: String,
    /// Why they do not count as passed although the command did, for a person to decide about.
    pub held: Option<Held>,
}

impl Outcome {
    /// Returns the fault of the environment that made them fail, if one did.
    pub fn fault(&self) -> Option<Fault> {
        fault::classify(&self.end, &self.printed)
    }

    /// Says why they fail, to an agent. What they print says nothing of it if the command passed.
    pub fn failure(&self) -> String {
        if self.end == End::Exit(0) {
            return format!("{}\n{}", self.said, self.output);
        }
        failure::told(&self.printed, &self.report, self.before.as_deref())
    }

    /// Keeps the whole output of tests that fail, for an agent to read. It is told the most of it without that.
    fn keep_log(&self, place: &Place) {
        let Some(file) = log_file(place) else { return };
        let _ = if self.passed { fs::remove_file(&file) } else { fs::write(&file, &self.printed) };
    }

    fn doubt(&mut self, doubt: Option<Doubt>) {
        let Some(doubt) = doubt else { return };
        self.passed = false;
        self.said = format!("{}, but {doubt}", self.said);
        if let Doubt::NotRun(held) = doubt {
            self.held = Some(held);
        }
    }

    /// Returns what is remembered of them.
    pub fn measured(&self) -> TestRecord {
        TestRecord {
            passed: self.passed,
            second: false,
            report: self.report.clone(),
            flaky: Vec::new(),
            seconds: self.took.as_secs(),
            at: machine::now(),
            said: self.said.clone(),
            output: self.output.clone(),
        }
    }
}

/// Runs the project's tests for a run.
pub fn run(shell: &Shell, place: &Place, run: &Run) -> Result<Outcome, SuiteError> {
    let plan = Plan::of(&place.root, run)?;
    let prepared = match prepare::prepare(shell, place, &plan) {
        Ok(prepared) => prepared,
        Err(PrepareError::Fault(problem)) => return Err(SuiteError(problem)),
        Err(PrepareError::Other(error)) => return Err(error),
        // It was possible before the work began, so what the work asks for cannot be installed.
        Err(PrepareError::Failed { said, output }) if run.baseline.is_some() => {
            return Ok(not_prepared(said, output));
        }
        Err(PrepareError::Failed { said, output }) => {
            return Err(SuiteError(format!("{said}\n{output}")));
        }
    };
    let baseline = run.baseline.as_deref();
    let known = baseline.and_then(|baseline| Cache::of(&place.root)?.baseline(&baseline.key));
    let known = known.as_ref().map(|known| &known.report);
    let mut outcome = line(shell, place, &plan)?;
    outcome.environment = prepared.environment;
    let is_worth_another = if outcome.passed {
        // A runner that tries tests again may report a failure of the first try.
        baseline.is_some_and(|baseline| !vanished::failing(baseline, known, &outcome.report).is_empty())
    } else {
        judge::is_flaky(baseline, &outcome.report)
    };
    if is_worth_another {
        outcome = Outcome { environment: outcome.environment, ..line(shell, place, &plan)? };
    }
    if let Some(fault) =
        outcome.fault().filter(Fault::outlives_a_baseline).filter(|_| outcome.report.failed.is_empty())
    {
        return Err(SuiteError(format!("{}: {fault}\n{}", outcome.said, outcome.output)));
    }
    outcome.before = baseline.map(|baseline| baseline.failing.clone());
    match judge::judge(baseline, known, &outcome.end, &outcome.report) {
        // A person who has changed the command meanwhile has changed what it runs.
        Judgement::Passed => {
            if let Some(baseline) = baseline.filter(|baseline| baseline.command == plan.test) {
                let in_source = || commit_guard::tests_in(place);
                let doubt = vanished::doubt(baseline, known, &outcome.report, &run.accepted_held, in_source);
                outcome.doubt(doubt.map_err(SuiteError)?);
            }
        }
        Judgement::AsBefore { failing } => {
            outcome.passed = true;
            let failures = counted(failing as u64, "failure was", "failures were");
            outcome.said = format!("{}; its {failures} there before the work began", outcome.said);
        }
        Judgement::Failed { why: Some(why) } => outcome.said = format!("{}: {why}", outcome.said),
        Judgement::Failed { why: None } => {}
    }
    outcome.keep_log(place);
    Ok(outcome)
}

/// Returns where the whole output of the last run of the tests lies, if they failed in it.
pub fn log(place: &Place) -> Option<PathBuf> {
    log_file(place).filter(|file| file.is_file())
}

/// Returns where a slot's failing tests leave their output: in its git directory, which agents can read and not write.
fn log_file(place: &Place) -> Option<PathBuf> {
    adapters::git::slot::marker(&place.root)?;
    Some(place.git_dir()?.join(LOG))
}

/// Runs a test command once, in the environment that is there. Its end alone says whether it passed.
pub(crate) fn line(shell: &Shell, place: &Place, plan: &Plan) -> Result<Outcome, SuiteError> {
    let outcome = execute(shell, &place.root, plan, "tests")?;
    if !outcome.passed
        && let Some(why) = cannot_run_here(plan).or_else(|| has_no_runner(&plan.test, &outcome.printed))
    {
        return Err(SuiteError(why));
    }
    Ok(outcome)
}

/// Runs the test command in a tree, which may be a copy of a slot's, and reads what it says and which reports it writes.
pub(crate) fn execute(
    shell: &Shell,
    tree: &Path,
    plan: &Plan,
    boundary: &'static str,
) -> Result<Outcome, SuiteError> {
    let command = &plan.test;
    let beside = ReportDirectory::of(tree).map_err(|error| SuiteError(error.to_string()))?;
    let shell = beside.as_ref().map_or_else(|| shell.clone(), |beside| shell.writing(&beside.directory));
    let mut environment = vec![("CI".to_owned(), "true".to_owned())];
    if let Some(beside) = &beside {
        environment.extend(report_environment(&beside.directory, |name| shell.inherited(name)));
    }
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let (since, began) = (SystemTime::now(), Instant::now());
    let executable = beside.as_ref().map(|beside| beside.executable.as_slice()).unwrap_or_default();
    let run = || shell.line(tree, command, &environment, plan.patience);
    let finished = modes::with(tree, executable, || boundary::around(boundary, run));
    let took = began.elapsed();
    let finished = finished.map_err(|error| SuiteError(error.to_string()))?;
    let mut finished =
        finished.map_err(|error| SuiteError(format!("`{command}` could not be run: {error}")))?;
    if finished.end == End::Stopped {
        return Err(SuiteError(format!("`{command}` was stopped before it could say anything")));
    }
    // Some runners colour what they print although nobody looks on.
    let text = |bytes: &[u8]| without_escapes(&String::from_utf8_lossy(bytes));
    let printed = redacted(format!("{}\n{}", text(&finished.stdout), text(&finished.stderr)));
    let directory = beside.as_ref().map_or(Path::new(""), |beside| &beside.directory);
    let report = TestReport::parse(&printed, &read_reports(tree, directory, &plan.report, since));
    finished.stdout = without_passes(&finished.stdout);
    let idle = Some(&printed).filter(|_| report.ran() == 0).and_then(|text| ran_nothing(command, text));
    let why = idle.map(|why| format!(": {why}")).unwrap_or_default();
    Ok(Outcome {
        passed: finished.is_success() && why.is_empty(),
        said: format!("`{command}` ended with {}{why}", finished.end),
        output: without_escapes(&finished.last_words(OUTPUT_KEPT)),
        report: if finished.cut { report.of_cut_output() } else { report },
        end: finished.end,
        took,
        printed,
        before: None,
        environment: String::new(),
        held: None,
    })
}

/// What a slot has for a run of its tests: a directory beside the tree into which runners write their reports, which is
/// removed with this.
struct ReportDirectory {
    directory: PathBuf,
    /// Files that the tests need to be executable.
    executable: Vec<String>,
}

impl ReportDirectory {
    /// Makes the directory; nothing for a tree that is no slot's nor beside one.
    fn of(tree: &Path) -> std::io::Result<Option<Self>> {
        let Some(above) = tree.parent() else { return Ok(None) };
        let slot = above.join(adapters::git::slot::TREE);
        if adapters::git::slot::marker(&slot).is_none() {
            return Ok(None);
        }
        let executable = Prepared::read(&slot).map(|prepared| prepared.executable).unwrap_or_default();
        let beside = Self { directory: above.join(REPORTS), executable };
        beside.clear()?;
        fs::create_dir(&beside.directory)?;
        Ok(Some(beside))
    }

    fn clear(&self) -> std::io::Result<()> {
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for ReportDirectory {
    fn drop(&mut self) {
        // What stays is removed before the next run.
        let _ = self.clear();
    }
}

/// Remembers tests that passed on a commit: a later run that builds on it need not run them again.
pub fn remember(place: &Place, run: &Run, commit: &str, outcome: &Outcome) -> Result<(), SuiteError> {
    let Some(cache) = Cache::of(&place.root).filter(|_| outcome.end == End::Exit(0)) else { return Ok(()) };
    let command = command::command(&place.root, run)?;
    let key = cache::key(&[commit, &command, &outcome.environment]);
    let failed = |error: std::io::Error| SuiteError(format!("how the tests ended cannot be noted: {error}"));
    cache.keep_baseline(&key, &outcome.measured()).map_err(failed)
}

/// Runs the project's tests outside of any phase, and returns what was said of it; a failure comes with what they printed.
/// The tree is warp's own making, so the commands are what the tree suggests.
pub fn test_project(shell: &Shell, place: &Place, by: &Run) -> Result<String, String> {
    let set = Some(by.settings.get(keys::TEST_COMMAND)).filter(|set| *set != "auto");
    let found = command::in_tree(&place.root, set);
    if set.is_none() && found.test.is_none() {
        return Ok("the project has no tests that warp could run".to_owned());
    }
    let by = Run { found_test_command: found.test, found_setup_command: found.setup, ..by.clone() };
    match run(shell, place, &by) {
        Ok(outcome) if outcome.passed => Ok(outcome.said),
        Ok(outcome) => Err(format!("{}\n{}", outcome.said, outcome.output)),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns what the work comes to whose dependencies cannot be installed.
fn not_prepared(said: String, output: String) -> Outcome {
    Outcome {
        passed: false,
        said,
        printed: output.clone(),
        output,
        report: TestReport::default(),
        end: End::Exit(1),
        took: Duration::ZERO,
        before: None,
        environment: String::new(),
        held: None,
    }
}

/// Says that a run cannot begin on this machine, because what tests the project or prepares it for that is not there.
pub fn cannot_begin(test: &str, run: &Run) -> Option<String> {
    let setup = command::setup_command(run).filter(|_| run.owns_workspace);
    if let Some(setup) = &setup
        && let Some(why) = prepare::cannot_run(setup)
    {
        return Some(why);
    }
    cannot_run(test).filter(|_| !brings(setup.as_deref(), test))
}

/// Says that a test command cannot run on this machine. What a virtual environment brings need not be installed besides.
fn cannot_run_here(plan: &Plan) -> Option<String> {
    cannot_run(&plan.test).filter(|_| !brings(plan.setup.as_deref(), &plan.test))
}

/// Tells whether the program of a test command comes with the preparation.
fn brings(setup: Option<&str>, test: &str) -> bool {
    let program = command::program(test).unwrap_or_default();
    setup.is_some() && ["python", "python3", "pytest", "py.test", "tox", "nox"].contains(&program)
}

/// Says that make took a target of the test command for a file that is up to date, and ran nothing.
fn ran_nothing(command: &str, printed: &str) -> Option<String> {
    let is_idle = |target: &str, line: &str| {
        let said =
            line.split_once(": ").filter(|(make, _)| make.contains("make")).map_or("", |(_, said)| said);
        // Old versions of make begin a quotation with a backtick.
        let said = said.trim_end_matches('.').replace('`', "'");
        said == format!("'{target}' is up to date") || said == format!("Nothing to be done for '{target}'")
    };
    let targets = || command.split_whitespace().skip(1).filter(|word| !word.starts_with('-'));
    let target = targets().find(|target| printed.lines().any(|line| is_idle(target, line.trim())))?;
    Some(format!(
        "make has run no test, because it takes `{target}` for a file that is up to date; `.PHONY: {target}` in the Makefile \
         makes it run"
    ))
}

fn has_no_runner(command: &str, printed: &str) -> Option<String> {
    let (_, sign) = NO_RUNNER.iter().find(|(part, sign)| command.contains(part) && printed.contains(sign))?;
    Some(format!("`{command}` cannot run here: {sign}: {REMEDY}"))
}

#[cfg(test)]
mod tests {
    use super::ran_nothing;

    #[test]
    fn a_target_that_make_did_not_run_is_no_test() {
        for printed in [
            "make: 'test' is up to date.\n",
            "\nmake: `test' is up to date.",
            "make[1]: Entering directory '/a'\nmake[1]: Nothing to be done for 'test'.\n",
            "gmake: 'test' is up to date.",
        ] {
            let why = ran_nothing("make -s test", printed).expect(printed);
            assert!(why.contains("`.PHONY: test`"), "{why}");
        }
        for (command, printed) in [
            ("make test", "make: 'lib.o' is up to date.\nall good"),
            ("make test", "ok"),
            ("sh test", "the file 'test' is up to date."),
        ] {
            assert_eq!(ran_nothing(command, printed), None, "{printed}");
        }
    }
}
