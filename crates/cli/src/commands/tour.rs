use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::process;
use tempfile::TempDir;

use crate::{error::CommandError, exit::Exit, output};

/// How long one command of the tour may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Drive a run of each workflow in a temporary project, and show what it looks like
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {}

/// What the tour types, workflow by workflow. `!` begins a shell command, `?` says that a refusal is expected.
const STOPS: &[(&str, &[&str])] = &[
    (
        "warp-drive: an issue of three criteria in two chunks",
        &[
            "state init . --level 2 --issue 42",
            "state transition . prerequisites_ok",
            "state transition . work_selected",
            "state transition . plan_ready",
            "state transition . chunks_defined --data {\"acs\":[[\"AC-01\",\"AC-02\"],[\"AC-03\"]]}",
            "?state gate . git_commit",
            "?state transition . code_complete",
            "!echo 'fn parse() {}' > parser.rs",
            "state transition . code_complete",
            "state transition . docs_updated",
            "state transition . tests_failed --data {\"failure\":\"parses_a_mail: expected Some, found None\"}",
            "state transition . code_complete",
            "state transition . docs_updated",
            "state transition . tests_passed",
            "state gate . git_commit",
            "!git add parser.rs && git commit --quiet -m 'feat(parser): parse a mail'",
            "state transition . committed",
            "state transition . report_filed",
            "state transition . next_chunk",
            "status",
            "log",
            "explain",
            "!head -c 700 .claude/.warp-drive-state.json; echo ...",
            "stop",
            "state transition . abort_resolved",
        ],
    ),
    (
        "coder: a question, a budget review and a fix",
        &[
            "state init . --workflow coder --issue 7 --set planning_iterations=2",
            "state transition . receive_task",
            "state transition . workspace_ready",
            "state transition . clarification",
            "state transition . answer",
            "state transition . submit_plan",
            "state transition . changes",
            "status",
            "state transition . continue",
            "state transition . submit_plan",
            "state transition . approve",
            "state transition . code_complete",
            "state transition . tests_fail",
            "status",
            "state reset .",
        ],
    ),
    (
        "autonomous-loop: a phase that is advanced by force",
        &[
            "state init . --workflow autonomous-loop --feature Login --set max_phase_iterations=2",
            "state transition . turn_finished",
            "state transition . turn_finished",
            "log --all",
            "!head -c 500 .claude/autonomous-loop.json; echo ...",
            "state reset .",
        ],
    ),
    (
        "factory: checks that fail, a review, a merge",
        &[
            "state init . --workflow factory --issue 9",
            "state transition . claimed",
            "state transition . pushed",
            "state transition . ci_failed",
            "state transition . pushed",
            "state transition . ci_passed",
            "state transition . merged",
            "log",
        ],
    ),
];

pub(crate) fn run(_: &Arguments) -> Result<Exit, CommandError> {
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        CommandError::new(Exit::OutsideSaidNo, format!("the tour failed: {what}: {error}"))
    };
    let warp = env::current_exe().map_err(|error| failed("warp itself cannot be found", &error))?;
    let temporary =
        TempDir::with_prefix("warp-tour-").map_err(|error| failed("no temporary directory", &error))?;
    let project = temporary.path().join("demo");
    fs::create_dir(&project).map_err(|error| failed("no project", &error))?;
    let tour = Tour { warp, home: temporary.path().to_owned(), project };
    tour.shell("git init --quiet --initial-branch main && git commit --quiet --allow-empty -m 'chore: begin' && git switch --quiet -c feature/issue-42-parser")?;
    for (title, lines) in STOPS {
        output::print(&format!("\n=== {title} ===\n"))?;
        for line in *lines {
            tour.type_line(line)?;
        }
    }
    output::print("\nThat was a tour in a temporary project, which is gone now.")?;
    output::print(
        "To drive a run of your own: cd into a project, then `warp state init . --level 2 --issue 42`.",
    )?;
    Ok(Exit::Done)
}

struct Tour {
    warp: PathBuf,
    home: PathBuf,
    project: PathBuf,
}

impl Tour {
    fn type_line(&self, line: &str) -> Result<(), CommandError> {
        if let Some(command) = line.strip_prefix('!') {
            output::print(&format!("$ {command}"))?;
            return self.shell(command);
        }
        let (refusal, line) = match line.strip_prefix('?') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let arguments: Vec<&str> = match line.split_once(" --data ") {
            Some((before, data)) => before.split(' ').chain(["--data", data]).collect(),
            None => line.split(' ').collect(),
        };
        let quoted: Vec<String> = arguments.iter().map(|argument| quote(argument)).collect();
        output::print(&format!("$ warp {}", quoted.join(" ")))?;
        let program = self.warp.to_str().unwrap_or("warp");
        let success = self.run(program, &arguments)?;
        if success == refusal {
            let problem = format!("the tour failed: `warp {line}` did not end as expected");
            return Err(CommandError::new(Exit::Internal, problem));
        }
        Ok(())
    }

    fn shell(&self, command: &str) -> Result<(), CommandError> {
        if self.run("sh", &["-c", command])? {
            Ok(())
        } else {
            Err(CommandError::new(Exit::OutsideSaidNo, format!("the tour failed: `{command}`")))
        }
    }

    /// Runs a program in the temporary project, with a home of its own, and shows what it prints.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<bool, CommandError> {
        let home = self.home.to_str().unwrap_or("/");
        let state = path_text(&self.home.join("state"));
        let config = path_text(&self.home.join("config"));
        let environment = [
            ("HOME", home),
            ("XDG_STATE_HOME", &state),
            ("XDG_CONFIG_HOME", &config),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_AUTHOR_NAME", "Tour"),
            ("GIT_AUTHOR_EMAIL", "tour@localhost"),
            ("GIT_COMMITTER_NAME", "Tour"),
            ("GIT_COMMITTER_EMAIL", "tour@localhost"),
        ];
        let finished = process::run(program, arguments, &self.project, &environment, LIMIT)
            .map_err(|error| CommandError::new(Exit::OutsideSaidNo, error.to_string()))?;
        let words = finished.last_words(20_000);
        if !words.is_empty() {
            output::print(&words)?;
        }
        Ok(finished.is_success())
    }
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn quote(argument: &str) -> String {
    if argument.contains(['{', '"', ' ']) { format!("'{argument}'") } else { argument.to_owned() }
}
