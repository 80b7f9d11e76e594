//! A project on a person's machine, worked on twice: by an agent that does it right, and by one that breaks it.

use std::{env, fs, path::Path, time::Duration};

use tempfile::TempDir;
use testkit::{Sandbox, agents::output};

use super::shape::{Expected, Shape};

/// How long a run may take: environments are made and compilers run, beside other tests.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the only open run shows of itself in the project; git does not see it.
const STATE_FILE: &str = ".claude/.warp-drive-state.json";

/// What became of a project's issue.
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) skipped: Option<String>,
    pub(crate) right: String,
    pub(crate) broken: String,
    /// What is not as it should be, with all that was said.
    pub(crate) wrong: Option<String>,
}

/// How a run ended.
struct Ran {
    code: Option<i32>,
    is_merged: bool,
    said: String,
    /// What of the person's own was changed, if anything.
    touched: Option<String>,
}

pub(crate) fn try_out(shape: &Shape) -> Outcome {
    let missing = shape.needs.iter().find(|program| !is_there(program));
    let mut outcome = Outcome {
        name: shape.name,
        skipped: missing.map(|program| format!("`{program}` is not installed")),
        right: String::new(),
        broken: String::new(),
        wrong: None,
    };
    if outcome.skipped.is_some() {
        return outcome;
    }
    let right = run(shape, shape.code.right, shape.code.tests_after);
    let broken = run(shape, shape.code.broken, shape.code.tests_before);
    outcome.right = right.told();
    outcome.broken = broken.told();
    let is_right = match shape.right {
        Expected::Merged => right.is_merged && right.code == Some(0),
        Expected::Refused(words) => !right.is_merged && right.code != Some(0) && right.said.contains(words),
    };
    let is_untouched = right.touched.is_none() && broken.touched.is_none();
    if !is_right || broken.is_merged || broken.code == Some(0) || !is_untouched {
        outcome.wrong = Some(format!(
            "{}:\nright work, exit {:?}, merged: {}, touched: {:?}\n{}\nbroken work, exit {:?}, merged: {}, touched: {:?}\n{}",
            shape.name,
            right.code,
            right.is_merged,
            right.touched,
            right.said,
            broken.code,
            broken.is_merged,
            broken.touched,
            broken.said,
        ));
    }
    outcome
}

/// Tells whether a program is there, or what a variable names that the tests are given.
fn is_there(program: &str) -> bool {
    if program.starts_with("WARP_TEST_") {
        return env::var_os(program).is_some();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Lays the project out, and lets an agent do this to it.
fn run(shape: &Shape, source: &str, tests: &str) -> Ran {
    let (parent, project) = shape.place.parts();
    let sandbox = Sandbox::below(env!("CARGO_BIN_EXE_warp"), &parent, project);
    let code = &shape.code;
    for (path, text) in &shape.files {
        sandbox.write(path, text);
    }
    for (path, text) in [(code.source, code.before), (code.tests, code.tests_before)] {
        if !path.is_empty() {
            sandbox.write(path, text);
        }
    }
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: begin"]);
    let outside = TempDir::with_prefix_in("warp-test-", &parent).unwrap();
    let environment = (shape.set_up)(&sandbox, outside.path());
    sandbox.issue(1, shape.issue);
    fs::write(sandbox.home().join("agent.toml"), script(shape, source, tests)).unwrap();
    let agent = format!("script:{}", sandbox.home().join("agent.toml").display());
    let before = sandbox.git(&["rev-parse", "main"]);
    let own = files(&sandbox.root());
    let arguments = ["run", "1", "--level", "3", "--once", "--set", "max_coding_cycles=1", "--agent", &agent];
    let mut command = sandbox.warp_command(&arguments);
    command.envs(environment);
    let output = output(command, PATIENCE);
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let is_merged = sandbox.git(&["rev-parse", "main"]) != before;
    Ran { code: output.status.code(), is_merged, said, touched: touched(&sandbox, &own, is_merged) }
}

/// Says what of the person's checkout has changed that should not: ignored files, and whatever is not committed.
fn touched(sandbox: &Sandbox, before: &[String], is_merged: bool) -> Option<String> {
    let changed = sandbox.git(&["status", "--porcelain", "--untracked-files=all"]);
    if !changed.is_empty() {
        return Some(changed);
    }
    let gone: Vec<&String> = before.iter().filter(|file| !sandbox.root().join(file).exists()).collect();
    if !gone.is_empty() {
        return Some(format!("{gone:?} is gone"));
    }
    let new: Vec<String> = files(&sandbox.root()).into_iter().filter(|file| !before.contains(file)).collect();
    let is_tracked = |file: &String| !sandbox.git(&["ls-files", "--", file]).is_empty();
    let is_stray = |file: &&String| *file != STATE_FILE && (!is_merged || !is_tracked(file));
    let stray: Vec<&String> = new.iter().filter(is_stray).collect();
    (!stray.is_empty()).then(|| format!("{stray:?} is new"))
}

/// Lists the files of a checkout, its repository left out.
fn files(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let relative = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let is_directory = path.symlink_metadata().unwrap().is_dir();
            if is_directory && path.file_name().is_some_and(|name| name != ".git") {
                directories.push(path);
            } else if !is_directory {
                found.push(relative);
            }
        }
    }
    found
}

/// Writes what the agent does, whenever it is asked to code.
fn script(shape: &Shape, source: &str, tests: &str) -> String {
    let code = &shape.code;
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let write = |path: &str, text: &str| format!("{{ write = {}, text = {} }}", quoted(path), quoted(text));
    let mut steps = vec![write(code.source, source)];
    if !code.tests.is_empty() {
        steps.push(write(code.tests, tests));
    }
    let line = source.lines().position(|line| line.contains("double")).unwrap() + 1;
    format!(
        "[[turn]]\nphase = \"coding\"\nsteps = [{}]\nanswer = {{ summary = \"It doubles.\", evidence = [{{ ac = \"AC-01\", \
         file = {}, line = {line} }}] }}\n",
        steps.join(", "),
        quoted(code.source)
    )
}

impl Ran {
    /// Says in a few words how it ended.
    fn told(&self) -> String {
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| format!("exit {code}"));
        let lines = ["tests_failed", "baseline", "no test was reported", "No test command"];
        let why = lines.iter().find(|why| self.said.contains(**why)).filter(|_| !self.is_merged);
        match (self.is_merged, why) {
            (true, _) => format!("merged, {code}"),
            (false, Some(why)) => format!("not merged, {code} ({why})"),
            (false, None) => format!("not merged, {code}"),
        }
    }
}
