//! A coding agent's hook in, one question to the engine, that agent's answer out.
//!
//! [`answer()`] is all there is to it: the event's name, what the client wrote to standard input, and back comes the
//! exit code and what to print. Gates refuse when anything goes wrong, because a client lets an agent go on after
//! any answer but a refusal. Everything else only watches: whatever goes wrong there, the agent is not disturbed.
//!
//! A person who is not at the terminal is told and asked by way of [`AwayChannel`], which the caller gives.
//!
//! Where no run is open, every hook is silent. The head of the workspace tells most of what is asked; the store is
//! opened for leave, and for what is recorded.
//!
//! Behind walls there is neither head nor store. There the driver answers, by a [`Server`] that a hook reaches through
//! a socket. What an agent there calls by one path may be at another outside: `Here` knows both, the server translates
//! what is answered.

mod answer;
mod away;
mod changes;
mod chat;
mod gate;
mod input;
mod mcp;
mod observe;
mod person;
mod prompt;
mod protected;
mod question;
mod rescue;
mod session;
mod socket;
mod stop;
mod tool;
pub mod watched;

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
};

use adapters::{git, machine, sandbox::View};
use engine::{Outcome, Owner, Run, view::Head};
use project::{
    Dirs, Error, HeadLookup, Place, Recorded, Workspace, quick_head, quick_roots, rails, setup::SetupError,
    spelled,
};

pub use answer::Answer;
pub use away::{AwayChannel, Exchange, NoAwayChannel, Reachability};
pub use input::{Input, LARGEST};
pub use socket::{Server, ServerError};
pub use tool::{ToolError, call_tool};

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
    /// A turn has ended: waits in the background for a person who was asked something. It is registered for `Stop` too.
    AfterStop,
    StopFailure,
    SubagentStop,
    PreCompact,
    SessionEnd,
    /// A driven conversation was compacted. It is no client's own event: `SessionStart` is registered for it, while the same
    /// event in a project's settings stays silent.
    Compacted,
}

impl Event {
    const ALL: [(&str, Self); 13] = [
        ("session-start", Self::SessionStart),
        ("user-prompt-submit", Self::UserPromptSubmit),
        ("pre-tool-use", Self::PreToolUse),
        ("post-tool-use", Self::PostToolUse),
        ("post-tool-use-failure", Self::PostToolUseFailure),
        ("permission-request", Self::PermissionRequest),
        ("stop", Self::Stop),
        ("after-stop", Self::AfterStop),
        ("stop-failure", Self::StopFailure),
        ("subagent-stop", Self::SubagentStop),
        ("pre-compact", Self::PreCompact),
        ("session-end", Self::SessionEnd),
        ("compacted", Self::Compacted),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, event)| *event)
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, event)| *event == self).map_or("", |(name, _)| name)
    }

    /// Returns the name by which clients call the hooks of tools.
    fn client_name(self) -> &'static str {
        if self == Self::PreToolUse {
            "PreToolUse"
        } else if self == Self::PostToolUseFailure {
            "PostToolUseFailure"
        } else {
            "PostToolUse"
        }
    }

    /// Tells whether a driver answers it. A driven agent is told everything else by its prompt.
    fn is_driven(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PostToolUse | Self::PostToolUseFailure | Self::Compacted)
    }
}

/// Answers a hook, through the driver's socket if the environment names one. Never panics.
pub fn answer(event: &str, input: &[u8], away: &'static dyn AwayChannel) -> Answer {
    let Some(event) = Event::named(event) else {
        return Answer::note(format!("warp has no answer to the hook `{event}`"));
    };
    match socket::Address::from_environment() {
        Some(address) => socket::forward(&address, event, input),
        None => answer_here(event, input, |input| HookContext::of(input, away)),
    }
}

/// Answers a hook by the run that `here` finds.
fn answer_here(event: Event, input: &[u8], here: impl FnOnce(&Input) -> Option<HookContext>) -> Answer {
    let answered = catch_unwind(AssertUnwindSafe(|| match Input::parse(input) {
        Ok(input) => {
            let rescued = match rescue::before(event, &input) {
                Ok(rescued) => rescued,
                Err(error) => return failed(event, &spelled(&error)),
            };
            let answer = match here(&input) {
                Some(here) => match turn_ended(event, &here) {
                    Ok(()) => decide(event, &here, input),
                    Err(error) => failed(event, &spelled(&error)),
                },
                None => Answer::silent(),
            };
            match rescued {
                Some(what) => answer.and_told(event.client_name(), &what),
                None => answer,
            }
        }
        Err(error) => failed(event, &error.to_string()),
    }));
    answered.unwrap_or_else(|_| failed(event, "the hook itself has failed"))
}

/// Outside of an agent's turn what happens to the files is the person's business.
fn turn_ended(event: Event, here: &HookContext) -> Result<(), Failure> {
    let is_over =
        matches!(event, Event::Stop | Event::UserPromptSubmit | Event::SessionStart | Event::SessionEnd);
    if is_over && here.head != HeadLookup::NoRun {
        let (place, dirs) = here.place()?;
        rails::rescue::unmark(&dirs, &place.root)?;
        watched::forget(&place, &dirs)?;
    }
    Ok(())
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
        | Event::AfterStop
        | Event::StopFailure
        | Event::SubagentStop
        | Event::PreCompact
        | Event::SessionEnd
        | Event::Compacted => Answer::note(why),
    }
}

fn decide(event: Event, here: &HookContext, input: Input) -> Answer {
    let answered = match event {
        Event::PreToolUse => gate::pre_tool_use(here, input),
        Event::PermissionRequest => gate::permission_request(here, input),
        Event::PostToolUse => observe::post_tool_use(here, input),
        Event::PostToolUseFailure => observe::post_tool_use_failure(here, &input),
        Event::SessionStart => session::start(here, &input),
        Event::UserPromptSubmit => prompt::submitted(here, &input),
        Event::Stop => stop::stop(here, &input),
        Event::AfterStop => stop::after(here, &input),
        Event::StopFailure => stop::failure(here, &input),
        // A subagent is a part of its session, and what a compaction forgets is told again when the session starts
        // anew; a session that has ended is told by its process; only a driver knows the brief of a conversation.
        Event::SubagentStop | Event::PreCompact | Event::SessionEnd | Event::Compacted => {
            Ok(Answer::silent())
        }
    };
    answered.unwrap_or_else(|error| failed(event, &spelled(&error)))
}

/// Context of a hook call: the workspace, its run and the agent's view.
struct HookContext {
    root: PathBuf,
    /// The workspace's own directory.
    own: PathBuf,
    /// The agent's directory, as it is outside.
    cwd: PathBuf,
    /// What the agent calls otherwise than it is called outside.
    view: View,
    head: HeadLookup<Head>,
    /// The driver's; a process of its own finds them in its environment.
    dirs: Option<Dirs>,
    away: &'static dyn AwayChannel,
}

impl HookContext {
    /// Finds the workspace; none if there is nothing that could have a run.
    ///
    /// An agent may have gone elsewhere, into a repository inside the project or out of it altogether, and may name
    /// files of the project from there. So the workspace that has a run is looked for around the directory, around
    /// the client's own project, and around the file that a tool names.
    fn of(input: &Input, away: &'static dyn AwayChannel) -> Option<Self> {
        let cwd = input.cwd.clone().filter(|cwd| cwd.is_absolute()).or_else(|| env::current_dir().ok())?;
        let project = env::var_os("CLAUDE_PROJECT_DIR").map(PathBuf::from);
        let named = [&input.tool_input.file_path, &input.tool_input.notebook_path].into_iter().flatten();
        let around =
            [Some(cwd.clone()), project].into_iter().flatten().chain(named.map(|file| cwd.join(file)));
        let mut found = None;
        for root in around.flat_map(|path| quick_roots(&path).collect::<Vec<_>>()) {
            let head = quick_head(&root);
            if head != HeadLookup::NoRun {
                found = Some((root, head));
                break;
            }
            found = found.or(Some((root, head)));
        }
        let (root, head) = found?;
        Some(Self::with(root, cwd, View::default(), head, None, away))
    }

    /// Takes the workspace of a run that is driven: the agent's calls are this run's, wherever the agent went.
    fn at(root: &Path, view: &View, dirs: &Dirs, input: &Input) -> Self {
        let cwd = input.cwd.as_ref().filter(|cwd| cwd.is_absolute());
        let cwd = cwd.map_or_else(|| root.to_owned(), |cwd| view.outside(cwd));
        // Its driver tells the person.
        Self::with(root.to_owned(), cwd, view.clone(), quick_head(root), Some(dirs.clone()), &NoAwayChannel)
    }

    fn with(
        root: PathBuf,
        cwd: PathBuf,
        view: View,
        head: HeadLookup<Head>,
        dirs: Option<Dirs>,
        away: &'static dyn AwayChannel,
    ) -> Self {
        let own = match git::locate(&root) {
            Some(location) => location.git_dir.join("warp"),
            None => root.join(".warp/local"),
        };
        Self { root, own, cwd, view, head, dirs, away }
    }

    /// Returns where a file is outside that the agent names.
    fn outside(&self, path: &Path) -> PathBuf {
        self.view.outside(&self.view.inside(&self.cwd).join(path))
    }

    fn place(&self) -> Result<(Place, Dirs), Error> {
        let dirs = match &self.dirs {
            Some(dirs) => dirs.clone(),
            None => Dirs::from_environment()?.told_to(Arc::new(TellsAway(self.away))),
        };
        Ok((Place::at(&self.root)?, dirs))
    }

    fn open(&self) -> Result<Workspace, Error> {
        let (place, dirs) = self.place()?;
        Workspace::open(place, dirs)
    }

    /// Tells a person who is away of a run.
    fn tell_of(&self, workspace: &Workspace, run: &Run) {
        tell_of(self.away, &workspace.place, &workspace.dirs, run);
    }
}

/// Tells a person who is away of a run. Whoever drives a run does so itself.
fn tell_of(away: &dyn AwayChannel, place: &Place, dirs: &Dirs, run: &Run) {
    if !run.owner.is_driver() {
        away.tell(place, dirs, run.id.as_str());
    }
}

/// Tells a person who is away what becomes of a run, and what it asks.
#[derive(Debug)]
struct TellsAway(&'static dyn AwayChannel);

impl Recorded for TellsAway {
    fn recorded(&self, place: &Place, dirs: &Dirs, answer: &project::Answer) {
        let asks = matches!(answer.outcome, Outcome::Parked { .. });
        if asks || answer.records.iter().any(engine::Record::moves) {
            tell_of(self.0, place, dirs, &answer.current.run);
        }
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
    Watch(#[from] watched::WatchError),
    #[error(transparent)]
    Rescue(#[from] rails::rescue::RescueError),
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error("failed to write `{}`", file.display())]
    Count {
        file: PathBuf,
        #[source]
        source: std::io::Error,
    },
}

/// Notes whose hooks these are, if a plugin of Claude Code brings them.
fn note_plugin(here: &HookContext, input: &Input) -> Result<(), Failure> {
    match (env::var_os("CLAUDE_PLUGIN_ROOT"), &input.session_id) {
        (Some(_), Some(session)) => rails::note_plugin(&here.own, session)
            .map_err(|source| Failure::Count { file: here.own.clone(), source }),
        (None, _) | (_, None) => Ok(()),
    }
}

/// Describes the agent that called the hook: the process and its session.
fn caller(input: &Input) -> Owner {
    let named = env::var("CLAUDE_PID").ok().and_then(|pid| pid.parse::<u32>().ok());
    // Anybody can set a variable: a process that has not started this one is not its client.
    let is_client = |pid: &u32| *pid > 1 && machine::descends_from(&machine::owner(*pid));
    let pid = named.filter(is_client).unwrap_or_else(machine::parent);
    Owner { session: input.session_id.clone(), ..machine::owner(pid) }
}
