mod login;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::{git::Git, machine, process, sandbox::Sandbox};
use driver::{Tests, Walled, check_tests};
use engine::BaselineState;
use journal::{
    OpenError,
    sqlite::{self, Outcome, RepairReport},
};
use project::{
    Dirs, Place, config, counted,
    rails::backstop::{self, State},
    setup,
    slots::Pool,
};
use serde::Serialize;

use super::{open, person_place, place};
use crate::{
    colour::Colour,
    error::{self, CommandError},
    exit::Exit,
    output, progress,
};

/// How long a program may take to say that it is there.
const LIMIT: Duration = Duration::from_secs(10);

/// Check what warp needs, whether the agent is logged in, and the whole journal
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Set a damaged journal aside and keep all that can be verified
    #[arg(long)]
    pub(super) repair: bool,
    /// Prepare the project in a workspace of its own, run its tests there, and see whether they fail on broken source
    #[arg(long)]
    tests: bool,
    /// With --tests: run them without a sandbox
    #[arg(long, requires = "tests")]
    no_sandbox: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Finding {
    Ok,
    /// Something is missing that not everybody needs.
    Absent,
    Failed,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    result: Finding,
    found: String,
    /// What fixes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, result: Finding::Ok, found: found.into(), fix: None }
    }

    fn absent(name: &'static str, found: impl Into<String>, fix: &str) -> Self {
        Self { name, result: Finding::Absent, found: found.into(), fix: Some(fix.to_owned()) }
    }

    fn failed(name: &'static str, found: impl Into<String>, fix: &str) -> Self {
        Self { name, result: Finding::Failed, found: found.into(), fix: Some(fix.to_owned()) }
    }
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let place = place(project)?;
    let dirs = Dirs::from_environment()?;
    if arguments.repair {
        repair(&place, &dirs)?;
    }
    let progress = progress::start("checking agents, login, sandbox and journal");
    let mut checks = vec![git(&place), repository(&place)];
    checks.extend(agents(&place));
    checks.push(hooks(&place));
    checks.push(backstop(&place));
    checks.push(forge(&place));
    checks.push(cgroups());
    checks.push(sandbox());
    checks.push(bounds());
    checks.push(configuration(&place, &dirs));
    if let Ok(config) = config::load(&place, &dirs, None, &[]) {
        checks.extend(login::checks(&place, &dirs, &config.settings));
    }
    checks.extend(journal(&place, &dirs)?);
    if dirs.user_store().exists() {
        checks.extend(verify("ledger", &dirs.user_store()));
    }
    if arguments.tests {
        checks.extend(tests(&place, &dirs, Walled::unless(arguments.no_sandbox))?);
    }
    drop(progress);
    let failed = checks.iter().any(|check| check.result == Finding::Failed);
    if arguments.json {
        output::print_json(&checks)?;
    } else {
        output::print_painted(&render(&checks), painted)?;
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Gives the word that a check begins with its colour.
fn painted(line: &str) -> String {
    for (word, colour) in [("ok ", Colour::Good), ("FAIL ", Colour::Bad)] {
        if let Some(rest) = line.strip_prefix(word) {
            return format!("{} {rest}", colour.paint(word.trim_end()));
        }
    }
    line.to_owned()
}

fn render(checks: &[Check]) -> String {
    let mut text = String::new();
    for check in checks {
        let word = match check.result {
            Finding::Ok => "ok",
            Finding::Absent => "-",
            Finding::Failed => "FAIL",
        };
        text.push_str(&format!("{word:<5} {:<13} {}\n", check.name, check.found));
        if let Some(fix) = &check.fix {
            text.push_str(&format!("{:<19} fix: {fix}\n", ""));
        }
    }
    text
}

/// Prepares the project and runs its tests, as a run does before an agent works.
fn tests(place: &Place, dirs: &Dirs, walled: Walled) -> Result<Vec<Check>, CommandError> {
    const SET: &str = "set `test_command` or `setup_command` under [workflow] in warp.toml; docs/tests.md";
    let mut here = open(Some(place.root.clone()))?;
    here.ensure_store()?;
    let pool = Pool::of(&person_place(&here)?, dirs)?;
    let checked = match check_tests(&mut here, &pool, dirs, walled)? {
        Tests::None => return Ok(vec![Check::failed("tests", "no test command was found", SET)]),
        Tests::Problem(problem) => return Ok(vec![Check::failed("tests", problem, SET)]),
        Tests::Checked(checked) => *checked,
    };
    let mut checks: Vec<Check> = checked.said.into_iter().map(|said| Check::ok("tests", said)).collect();
    let baseline = format!("`{}`: {}", checked.baseline.command, checked.baseline);
    checks.push(match checked.baseline.state {
        BaselineState::Green | BaselineState::Flaky => Check::ok("tests", baseline),
        BaselineState::Red if checked.baseline.tolerated => {
            Check::absent("tests", baseline, "fix them; until then only new failures count in a run")
        }
        BaselineState::Red => {
            Check::failed("tests", baseline, "fix them, or let the command report names of tests")
        }
    });
    if let Some(why) = checked.unproved {
        checks.push(Check::failed("tests", format!("nothing shows that they test this code: {why}"), SET));
    }
    Ok(checks)
}

fn git(place: &Place) -> Check {
    match Git::new(&place.root).version() {
        Some(version) => Check::ok("git", version),
        None => Check::failed("git", "git cannot be run", "install git, e.g. `apt-get install git`"),
    }
}

fn repository(place: &Place) -> Check {
    if place.root.join(".git").exists() {
        Check::ok("repository", place.root.display().to_string())
    } else {
        let found =
            format!("{} has no git repository; diffs and commits are not checked", place.root.display());
        Check::absent("repository", found, "git init")
    }
}

fn agents(place: &Place) -> Vec<Check> {
    let agents = [
        ("claude", "npm install --global @anthropic-ai/claude-code"),
        ("codex", "npm install --global @openai/codex"),
        ("opencode", "npm install --global opencode-ai"),
    ];
    let version =
        |program: &'static str, install: &str| match first_line(program, &["--version"], &place.root) {
            Some(line) => Check::ok(program, line),
            None => Check::absent(program, "not installed", install),
        };
    agents.into_iter().map(|(program, install)| version(program, install)).collect()
}

/// Tells whether an agent's client asks warp before the agent acts in this project.
fn hooks(place: &Place) -> Check {
    match setup::registered(place) {
        Some(file) => Check::ok("hooks", format!("registered in {file}")),
        None => {
            let found = "not registered: phases are not enforced inside an agent".to_owned();
            Check::absent("hooks", found, "warp init")
        }
    }
}

/// Tells whether git asks warp before an agent moves a branch.
fn backstop(place: &Place) -> Check {
    match backstop::state(place) {
        Ok(State::NoRepository) => Check::ok("backstop", "not needed: there is no git repository"),
        Ok(State::Installed { directory }) => {
            Check::ok("backstop", format!("git asks warp: {}", directory.display()))
        }
        Ok(State::Missing { what }) => {
            let found = format!("not installed: git itself stops no agent (missing: {})", what.join(", "));
            Check::absent("backstop", found, "warp init")
        }
        Err(error) => {
            let found = CommandError::of(Exit::Failed, &error).to_string();
            Check::failed("backstop", found, "warp init")
        }
    }
}

fn forge(place: &Place) -> Check {
    match process::run("gh", ["auth", "status"], &place.root, &[("GH_PROMPT_DISABLED", "1")], LIMIT) {
        Ok(finished) if finished.is_success() => Check::ok("gh", "logged in"),
        Ok(_) => Check::absent("gh", "installed, not logged in", "gh auth login"),
        Err(_) => Check::absent("gh", "not installed", "install GitHub's `gh`, then `gh auth login`"),
    }
}

/// Tells whether all that an agent without the sandbox has started ends with it, whatever it does to get away.
fn cgroups() -> Check {
    if process::has_cgroups() {
        return Check::ok("cgroups", "each job has a control group of its own: nothing outlives it");
    }
    let found = "none can be made: without the sandbox, a process that throws its environment away may outlive its job";
    Check::absent("cgroups", found, "`systemd-run --user --scope -p Delegate=yes warp run …` has them")
}

/// Tells which level of sandbox is in force for agents that work without a person.
fn sandbox() -> Check {
    match Sandbox::find() {
        Ok(sandbox) if sandbox.is_root_inside() => Check::ok(
            "sandbox",
            "bubblewrap works: agents run in a sandbox, but with root's user id, without capabilities: install \
             `setpriv` (util-linux) and set `umask 022`, or run warp as an ordinary user",
        ),
        Ok(_) if machine::user() == 0 => Check::ok(
            "sandbox",
            "bubblewrap works: agents run in a sandbox, as a user of their own, not as root",
        ),
        Ok(_) => Check::ok("sandbox", "bubblewrap works: agents run in a sandbox"),
        Err(why) => Check::absent("sandbox", format!("{why}: agents run without a sandbox"), why.fix()),
    }
}

/// Tells how much of the machine what runs in the sandbox may use, and what the system cannot bound.
fn bounds() -> Check {
    let (memory, processes) = process::bounds_in_force();
    // The kernel counts an ordinary user's processes; root's it does not.
    let processes = processes || Sandbox::find().is_ok_and(|sandbox| !sandbox.is_root_inside());
    let mut open = Vec::new();
    open.extend((!memory).then_some("memory"));
    open.extend((!processes).then_some("processes"));
    if open.is_empty() {
        let found = "memory, processes, temporary files and the size of a file; not disk space as a whole";
        return Check::ok("bounds", found);
    }
    let found =
        format!("the system does not let warp bound {}, nor disk space as a whole", open.join(" and "));
    let fix = "`systemd-run --user --scope -p MemoryMax=75% -p TasksMax=8192 warp run …` bounds all of a run";
    Check::absent("bounds", found, fix)
}

fn configuration(place: &Place, dirs: &Dirs) -> Check {
    match config::load(place, dirs, None, &[]) {
        Ok(config) if config.warnings.is_empty() => Check::ok("configuration", "every file can be read"),
        Ok(config) => {
            Check::absent("configuration", config.warnings.join("; "), "correct the names, or remove them")
        }
        Err(error) => Check::failed(
            "configuration",
            CommandError::from(error).to_string(),
            "correct that; docs/reference/settings.md lists every setting",
        ),
    }
}

fn journal(place: &Place, dirs: &Dirs) -> Result<Vec<Check>, CommandError> {
    let Some(id) = place.project_id()? else {
        return Ok(vec![Check::ok("journal", "there is none yet: the project never had a run")]);
    };
    let path = dirs.journal(&id);
    if !path.exists() && !place.had_journal(&path) {
        return Ok(vec![Check::ok("journal", "there is none yet: the project never had a run")]);
    }
    if !path.exists() {
        let found = format!("{} is gone", path.display());
        return Ok(vec![Check::failed(
            "journal",
            found,
            "put it back from a backup; `warp doctor --repair` begins an empty one instead",
        )]);
    }
    Ok(verify("journal", &path))
}

/// Checks a whole store.
fn verify(name: &'static str, path: &Path) -> Vec<Check> {
    let fix = "warp doctor --repair";
    match sqlite::verify(path) {
        Ok(verification) if verification.is_sound() => {
            let found = format!(
                "{}, {}, chain verified ({})",
                counted(verification.streams, "stream", "streams"),
                counted(verification.events, "event", "events"),
                path.display()
            );
            vec![Check::ok(name, found)]
        }
        Ok(verification) => verification
            .faults
            .iter()
            .take(50)
            .map(|fault| Check::failed(name, fault.to_string(), fix))
            .collect(),
        Err(error) => {
            let outside = match &error {
                OpenError::Store(error) => error::outside(error),
                OpenError::Directory { .. } | OpenError::Foreign { .. } | OpenError::Newer { .. } => None,
            };
            let found = CommandError::of(Exit::BadData, &error).to_string();
            vec![Check::failed(name, found, outside.as_deref().unwrap_or(fix))]
        }
    }
}

fn repair(place: &Place, dirs: &Dirs) -> Result<(), CommandError> {
    let mut id = place.project_id()?;
    if let Some(path) = id.as_ref().map(|id| dirs.journal(id)).filter(|path| !path.exists()) {
        place.forget_journal()?;
        output::print(&format!(
            "{} is gone: the next run or issue begins an empty journal\n",
            path.display()
        ))?;
        id = None;
    }
    let journal = id.map(|id| ("journal", dirs.journal(&id), dirs.project(&id)));
    let ledger = Some(("ledger", dirs.user_store(), dirs.state.clone())).filter(|(_, path, _)| path.exists());
    for (name, path, directory) in journal.into_iter().chain(ledger) {
        let report = sqlite::repair(path, directory.join("set-aside"), machine::now().millis())
            .map_err(|error| CommandError::of(Exit::Failed, &error))?;
        output::print(&render_repair(name, &report))?;
    }
    Ok(())
}

fn render_repair(name: &str, report: &RepairReport) -> String {
    let mut text = match report.outcome {
        Outcome::Sound => format!("the {name} is sound; nothing was done\n"),
        Outcome::Rebuilt => format!("the {name} was rebuilt from what could be verified\n"),
        Outcome::Unreadable => format!("nothing of the {name} could be read; a new one was created\n"),
    };
    if let Some(directory) = &report.set_aside {
        text.push_str(&format!("the damaged files are kept in {}\n", directory.display()));
    }
    for stream in &report.streams {
        let lost = match stream.lost {
            Some(lost) => format!("{lost} lost"),
            None => "it is not known how many were lost".to_owned(),
        };
        text.push_str(&format!(
            "{}: {} kept, {lost}\n",
            stream.stream,
            counted(stream.kept, "event", "events")
        ));
    }
    text
}

fn first_line(program: &str, arguments: &[&str], directory: &Path) -> Option<String> {
    let finished = process::run(program, arguments, directory, &[], LIMIT).ok()?;
    let line = finished.text().lines().next().unwrap_or_default().to_owned();
    (finished.is_success() && !line.is_empty()).then_some(line)
}
