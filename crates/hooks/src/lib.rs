//! A coding agent's hook in, one question to the engine, that agent's answer out.
//!
//! [`answer()`] is all there is to it: the event's name, what the client wrote to standard input, and back comes the
//! exit code and what to print. Gates refuse when anything goes wrong, because a client lets an agent go on after
//! any answer but a refusal. Everything else only watches: whatever goes wrong there, the agent is not disturbed.
//!
//! Where no run is open, every hook is silent. The head of the workspace tells most of what is asked; the store is
//! opened for leave, and for what is recorded.

mod answer;
mod gate;
mod input;
mod observe;
mod prompt;
mod protected;
mod session;
pub mod shell;
mod stop;

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

use adapters::{git, machine};
use engine::{Owner, view::Head};
use project::{Dirs, Error, Place, Quick, Workspace, quick_head, quick_root, rails, setup::SetupError};

pub use answer::Answer;
pub use input::{Input, LARGEST};

/// What can be answered. Clients have more events than these; what is not here passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    SessionStart,
    UserPromptSubmit,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PermissionRequest,
    Stop,
    StopFailure,
    SubagentStop,
    PreCompact,
    SessionEnd,
}

impl Event {
    const ALL: [(&str, Self); 11] = [
        ("session-start", Self::SessionStart),
        ("user-prompt-submit", Self::UserPromptSubmit),
        ("pre-tool-use", Self::PreToolUse),
        ("post-tool-use", Self::PostToolUse),
        ("post-tool-use-failure", Self::PostToolUseFailure),
        ("permission-request", Self::PermissionRequest),
        ("stop", Self::Stop),
        ("stop-failure", Self::StopFailure),
        ("subagent-stop", Self::SubagentStop),
        ("pre-compact", Self::PreCompact),
        ("session-end", Self::SessionEnd),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, event)| *event)
    }
}

/// Answers a hook. Never panics.
pub fn answer(event: &str, input: &[u8]) -> Answer {
    let Some(event) = Event::named(event) else {
        return Answer::note(format!("warp has no answer to the hook `{event}`"));
    };
    let answered = catch_unwind(AssertUnwindSafe(|| match Input::parse(input) {
        Ok(input) => decide(event, input),
        Err(error) => failed(event, &error.to_string()),
    }));
    answered.unwrap_or_else(|_| failed(event, "the hook itself has failed"))
}

/// What is answered when a hook cannot do its work.
fn failed(event: Event, why: &str) -> Answer {
    match event {
        Event::PreToolUse => {
            Answer::deny(format!("{why}; nothing is let through until `warp doctor` is content"))
        }
        Event::PermissionRequest => Answer::deny_permission(why),
        Event::SessionStart
        | Event::UserPromptSubmit
        | Event::PostToolUse
        | Event::PostToolUseFailure
        | Event::Stop
        | Event::StopFailure
        | Event::SubagentStop
        | Event::PreCompact
        | Event::SessionEnd => Answer::note(why),
    }
}

fn decide(event: Event, input: Input) -> Answer {
    let Some(here) = Here::of(&input) else { return Answer::silent() };
    let answered = match event {
        Event::PreToolUse => gate::pre_tool_use(&here, input),
        Event::PermissionRequest => gate::permission_request(&here, input),
        Event::PostToolUse => observe::post_tool_use(&here, input),
        Event::PostToolUseFailure => observe::post_tool_use_failure(&here, &input),
        Event::SessionStart => session::start(&here, &input),
        Event::UserPromptSubmit => prompt::submitted(&here, &input),
        Event::Stop => stop::stop(&here, &input),
        Event::StopFailure => stop::failure(&here, &input),
        // A subagent is a part of its session, and what a compaction forgets is told again when the session starts
        // anew; a session that has ended is told by its process.
        Event::SubagentStop | Event::PreCompact | Event::SessionEnd => Ok(Answer::silent()),
    };
    answered.unwrap_or_else(|error| failed(event, &spelled(&error)))
}

/// Where an agent works, and the run that is there.
struct Here {
    root: PathBuf,
    /// The workspace's own directory.
    own: PathBuf,
    cwd: PathBuf,
    head: Quick<Head>,
}

impl Here {
    /// Finds the workspace; none if there is nothing that could have a run.
    fn of(input: &Input) -> Option<Self> {
        let cwd = input.cwd.clone().filter(|cwd| cwd.is_absolute()).or_else(|| env::current_dir().ok())?;
        let root = quick_root(&cwd)?;
        let head = quick_head(&root);
        let own = match git::locate(&root) {
            Some(location) => location.git_dir.join("warp"),
            None => root.join(".warp/local"),
        };
        Some(Self { root, own, cwd, head })
    }

    fn open(&self) -> Result<Workspace, Error> {
        Workspace::open(Place::at(&self.root)?, Dirs::from_environment()?)
    }
}

/// Why a hook could not do its work.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Project(#[from] Error),
    #[error(transparent)]
    Detect(#[from] rails::DetectError),
    #[error(transparent)]
    Snapshot(#[from] rails::SnapshotError),
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("failed to count in `{}`", file.display())]
    Count {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// Describes the agent that called the hook: the process and its session.
fn caller(input: &Input) -> Owner {
    let named = env::var("CLAUDE_PID").ok().and_then(|pid| pid.parse().ok());
    let pid = named.unwrap_or_else(machine::parent);
    Owner { session: input.session_id.clone(), ..machine::owner(pid) }
}

/// Spells out an error with its causes.
fn spelled(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}
