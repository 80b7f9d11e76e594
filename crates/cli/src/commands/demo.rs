use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::{
    process::{self, Control, End, Environment, Job, Limits, ProgramEvent, ProgramResult, SignalTarget},
    sandbox::Sandbox,
};
use serde_json::Value;

use crate::{error::CommandError, exit::Exit, output};

/// How long one command of the demonstration may take.
const LIMIT: Duration = Duration::from_secs(120);

/// The project that is worked on: a path, and what is in it.
const PROJECT: &[(&str, &str)] = &[
    ("convert.sh", include_str!("../../demo/project/convert.sh")),
    ("test/run.sh", include_str!("../../demo/project/test/run.sh")),
    ("test/shell.test", include_str!("../../demo/project/test/shell.test")),
    ("warp.toml", include_str!("../../demo/project/warp.toml")),
];
const ISSUE: &str = include_str!("../../demo/issue.md");
const AGENT: &str = include_str!("../../demo/agent.toml");

/// Where the run is killed: in the third chunk, while the agent works on it.
const KILLED_IN: &str = "coding 3/3";
const KILLED_AT: &str = "> Write";

/// Show the whole loop in a small project of its own: no account, no network, no model
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A directory that is not there yet; without it, a temporary one. It stays
    directory: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, CommandError> {
    let demo = Demo::make(arguments.directory.as_deref())?;
    output::print(&format!("A project with one issue, in {}\n\n", demo.directory.display()))?;
    demo.show("git", &["log", "--oneline"])?;
    demo.show("warp", &["issue", "import", "../1.md", "--approve"])?;
    demo.show("warp", &["issue", "show", "1"])?;

    let mut line = vec!["run", "1", "--level", "3", "--once", "--agent", "script:../agent.toml"];
    if let Err(none) = Sandbox::find() {
        output::print(&format!("There is no sandbox here ({none}); {}. So without one:", none.fix()))?;
        line.push("--no-sandbox");
    }
    demo.kill_midway(&line)?;
    output::print("\nThat was `kill -9` in the middle of the agent's work. The same command resumes it:\n")?;
    demo.show("warp", &line)?;

    output::print("\nWhat is left of it:\n")?;
    demo.show("warp", &["log", "1"])?;
    demo.show("warp", &["issue", "show", "1"])?;
    demo.show("warp", &["issue", "list", "--state", "all"])?;
    demo.show("git", &["log", "--oneline", "main"])?;
    demo.show("sh", &["test/run.sh"])?;
    demo.check()?;
    output::print(&demo.what_next())?;
    Ok(Exit::Done)
}

struct Demo {
    warp: PathBuf,
    directory: PathBuf,
    project: PathBuf,
}

impl Demo {
    /// Makes the project, with a home and a journal of its own.
    fn make(directory: Option<&Path>) -> Result<Self, CommandError> {
        let warp = env::current_exe().map_err(|error| failed("warp itself cannot be found", &error))?;
        let directory = match directory {
            Some(directory) => {
                fs::create_dir(directory).map_err(|error| {
                    failed(&format!("`{}` cannot be made", directory.display()), &error)
                        .hint("name a directory that is not there yet")
                })?;
                directory.canonicalize()
            }
            None => tempfile::Builder::new().prefix("warp-demo-").tempdir().map(tempfile::TempDir::keep),
        };
        let directory = directory.map_err(|error| failed("there is no room for it", &error))?;
        let demo = Self { warp, project: directory.join("converter"), directory };
        demo.write("1.md", ISSUE)?;
        demo.write("agent.toml", AGENT)?;
        demo.write("home/.keep", "")?;
        for (name, text) in PROJECT {
            demo.write(&format!("converter/{name}"), text)?;
        }
        for arguments in [
            &["init", "--quiet", "--initial-branch", "main"] as &[&str],
            &["add", "--all"],
            &["commit", "--quiet", "--message", "chore: begin"],
        ] {
            demo.finished("git", arguments, |_| Control::On)?;
        }
        Ok(demo)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), CommandError> {
        let path = self.directory.join(name);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(&self.directory))?;
            fs::write(&path, text)
        };
        write().map_err(|error| failed(&format!("`{}` cannot be written", path.display()), &error))
    }

    /// Says a command, runs it and shows what it prints; it has to succeed.
    fn show(&self, program: &str, arguments: &[&str]) -> Result<(), CommandError> {
        say(program, arguments)?;
        self.finished(program, arguments, |line| {
            output::line(line);
            Control::On
        })
    }

    /// Runs until the agent is at work on the third chunk, and kills it there.
    fn kill_midway(&self, arguments: &[&str]) -> Result<(), CommandError> {
        say("warp", arguments)?;
        let mut is_there = false;
        let followed = self.follow("warp", arguments, |line| {
            output::line(line);
            is_there |= line.contains(KILLED_IN);
            if is_there && line.contains(KILLED_AT) { Control::Kill } else { Control::On }
        })?;
        if followed.end == End::Stopped {
            return Ok(());
        }
        Err(failed("the run ended by itself", &followed.end))
    }

    /// Runs something that has to succeed.
    fn finished(
        &self,
        program: &str,
        arguments: &[&str],
        line: impl FnMut(&str) -> Control,
    ) -> Result<(), CommandError> {
        let end = self.follow(program, arguments, line)?.end;
        if end == End::Exit(0) { Ok(()) } else { Err(failed(&format!("`{program}` failed"), &end)) }
    }

    /// Runs a program in the project, which knows nothing of the person's home.
    fn follow(
        &self,
        program: &str,
        arguments: &[&str],
        mut line: impl FnMut(&str) -> Control,
    ) -> Result<ProgramResult, CommandError> {
        let path = |name: &str| self.directory.join(name).into_os_string();
        let mut environment: Vec<(OsString, OsString)> = vec![
            ("HOME".into(), path("home")),
            ("XDG_STATE_HOME".into(), path("state")),
            ("XDG_CONFIG_HOME".into(), path("config")),
            ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        for role in ["AUTHOR", "COMMITTER"] {
            environment.push((format!("GIT_{role}_NAME").into(), "Demo".into()));
            environment.push((format!("GIT_{role}_EMAIL").into(), "demo@localhost".into()));
        }
        let job = Job {
            program: if program == "warp" { self.warp.clone().into() } else { program.into() },
            arguments: arguments.iter().map(OsString::from).collect(),
            directory: &self.project,
            environment: Environment::Inherited(environment),
            input: Vec::new(),
            limits: Limits { whole: LIMIT, silence: LIMIT },
            ladder: &[],
            reach: SignalTarget::Group,
            mark: "demo",
        };
        let mut watch = |seen: ProgramEvent<'_>| match seen {
            ProgramEvent::Out(text) | ProgramEvent::Err(text) => line(text),
            ProgramEvent::Tick { .. } => Control::On,
        };
        process::follow(job, &mut watch).map_err(|error| CommandError::of(Exit::Failed, &error))
    }

    /// Sees to it that everything came out as it should.
    fn check(&self) -> Result<(), CommandError> {
        let out = |program: &str, arguments: &[&str]| -> Result<String, CommandError> {
            let followed = self.follow(program, arguments, |_| Control::On)?;
            Ok(String::from_utf8_lossy(&followed.stdout).into_owned())
        };
        let commits = out("git", &["rev-list", "--count", "main"])?;
        let issue: Value =
            serde_json::from_str(&out("warp", &["issue", "show", "1", "--json"])?).unwrap_or_default();
        let is_closed = issue.get("state").and_then(Value::as_str) == Some("closed");
        if commits.trim() == "4" && is_closed {
            return Ok(());
        }
        Err(failed("it did not come out as expected", &format!("{} commits, issue: {issue}", commits.trim())))
    }

    fn what_next(&self) -> String {
        let directory = self.directory.display();
        format!(
            "\nFive criteria, three commits, every report filed once, merged after its tests passed; one kill on the way.\n\
             The project stays in {directory}; `rm -rf {directory}` removes it.\n\n\
             In a project of your own, with Claude Code installed:\n\n\
             \x20 cargo install --path crates/cli --profile dist\n\
             \x20 warp issue new --title \"Add a parser\" --body \"- [ ] empty files are read\"\n\
             \x20 warp run 1                 # level 2: ends with a pull request that you merge\n\
             \x20 warp run 1 --level 3       # ends with a merged branch\n\
             \x20 warp watch                 # from another terminal: what the agent says and does\n"
        )
    }
}

fn say(program: &str, arguments: &[&str]) -> Result<(), CommandError> {
    output::print(&format!("\n$ {program} {}\n", arguments.join(" ")))
}

fn failed(what: &str, why: &dyn std::fmt::Display) -> CommandError {
    CommandError::new(Exit::Failed, format!("the demonstration failed: {what}: {why}"))
}
