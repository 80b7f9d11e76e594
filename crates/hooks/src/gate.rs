//! The gate: what a tool is about to do, before it does it.
//!
//! A shell command is read by [`shell::judge`]. One that is short and hardly nested is read at once; any other in a
//! thread of its own, where it has a second, and a stack that nesting cannot exhaust. Whatever is not answered by
//! then is refused.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use adapters::{git, sandbox::View};
use engine::{
    PhaseName, Run, Workflow, keys,
    view::{self, Head, Permission},
    workflow::Activity,
};
use project::{HeadLookup, rails};
use shell::{Judgement, PATCHES, Scene, perhaps_patched};

use crate::{
    Answer, Failure, HookContext, Input, changes, mcp, protected, question, session::is_owner, watched,
};

/// How long reading a command may take. A debug build is many times as slow.
const PATIENCE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });
/// The longest command that is read at once, in bytes, and the most characters in it that may open something.
const PLAIN: usize = 1000;
const PLAIN_OPENERS: usize = 4;
/// The stack for reading a command, in bytes. Only what is used of it is ever real.
const STACK: usize = 64 * 1024 * 1024;

/// Tools of the clients that only look. Whatever else names a file may write it.
const READERS: &[&str] = &[
    "Read",
    "NotebookRead",
    "Glob",
    "Grep",
    "LS",
    "LSP",
    "TodoRead",
    "TaskOutput",
    "ToolSearch",
    "ListMcpResourcesTool",
    "ReadMcpResourceTool",
];
/// Tools whose other fields are known to hold no path that is written.
const KNOWN: &[&str] = &[
    "Bash",
    "BashOutput",
    "Edit",
    "MultiEdit",
    "Write",
    "NotebookEdit",
    "Task",
    "Agent",
    "TodoWrite",
    "WebFetch",
    "WebSearch",
    "Skill",
    question::TOOL,
    "ExitPlanMode",
    PATCHES,
];
/// How the name of the tool ends by which an agent says that a phase's work is done.
const DONE: &str = "__done";

/// What a gate has found.
enum Finding {
    Free,
    /// Work may be lost that is not committed: it is kept before the tool runs.
    Risky,
    Commit,
    Denied(String),
}

impl Finding {
    /// Returns the worse of two.
    fn or(self, other: Self) -> Self {
        let rank = |finding: &Self| match finding {
            Self::Free => 0,
            Self::Risky => 1,
            Self::Commit => 2,
            Self::Denied(_) => 3,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }
}

/// Who asks the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    /// A tool that is about to run.
    Tool,
    /// A client that is about to ask a person for permission.
    Permission,
}

pub(crate) fn pre_tool_use(here: &HookContext, input: Input) -> Result<Answer, Failure> {
    if let Some(answer) = question::asked(here, &input)? {
        return Ok(answer);
    }
    let second_look = second_look(here, &input)?;
    Ok(match (judge(here, input, Ask::Tool)?, second_look) {
        (Some(reason), _) => Answer::deny(reason),
        (None, Some(text)) => Answer::context("PreToolUse", &text),
        (None, None) => Answer::silent(),
    })
}

/// Returns what the agent is asked to look at again, if the call is to report that work is done.
fn second_look(here: &HookContext, input: &Input) -> Result<Option<String>, Failure> {
    let command = match &input.tool_input.command {
        Some(crate::input::Text::Whole(command)) => command.as_str(),
        Some(_) | None => "",
    };
    let is_done = input.tool_name.as_deref().is_some_and(|name| name.ends_with(DONE));
    if here.head == HeadLookup::NoRun || !(is_done || command.contains("warp ")) {
        return Ok(None);
    }
    let Some(current) = here.open()?.current()? else { return Ok(None) };
    let (workflow, run) = (&current.workflow, &current.run);
    if run.owner.is_driver() || !is_owner(&run.owner, input) {
        return Ok(None);
    }
    if command.contains("warp next") && is_warps(workflow, &run.phase) {
        return Ok(ahead(workflow, run));
    }
    let mut events = workflow.rows(&run.phase).iter().map(|row| row.event.as_str());
    Ok(events.find_map(|event| {
        let is_reported = is_done || command.split_whitespace().any(|word| word == event);
        if is_reported { view::second_look(workflow, run, event) } else { None }
    }))
}

/// Returns what the agent is asked to look at again before the phases that one `warp next` may go through: the last of them
/// asks for the most.
fn ahead(workflow: &Workflow, run: &Run) -> Option<String> {
    let mut phases = vec![run.phase.clone()];
    let mut asked = None;
    let mut next = 0;
    while let Some(phase) = phases.get(next).cloned() {
        next += 1;
        let there = Run { phase: phase.clone(), ..run.clone() };
        for row in workflow.rows(&phase) {
            asked = view::second_look(workflow, &there, row.event.as_str()).or(asked);
            let targets = workflow.targets(&phase, row);
            let warps = targets.into_iter().filter(|target| is_warps(workflow, target));
            let new: Vec<PhaseName> = warps.filter(|target| !phases.contains(target)).cloned().collect();
            phases.extend(new);
        }
    }
    asked
}

/// Tells whether a phase is one whose work `warp next` does.
fn is_warps(workflow: &Workflow, phase: &PhaseName) -> bool {
    workflow.phase(phase).is_some_and(|phase| phase.activity == Activity::Engine)
}

/// What a person is asked to permit passes the same gate: nobody should be asked for what is never allowed.
pub(crate) fn permission_request(here: &HookContext, input: Input) -> Result<Answer, Failure> {
    Ok(match judge(here, input, Ask::Permission)? {
        Some(reason) => Answer::deny_permission(&reason),
        None => Answer::silent(),
    })
}

/// Returns why a tool may not run, if it may not.
fn judge(here: &HookContext, input: Input, ask: Ask) -> Result<Option<String>, Failure> {
    if here.head == HeadLookup::NoRun {
        return Ok(None);
    }
    let call = changes::may_change(&input).then(|| changes::call(&input));
    let finding = look(here, input)?;
    if matches!(finding, Finding::Free) && call.is_none() {
        return Ok(None);
    }
    let head = match &here.head {
        HeadLookup::Known(head) => head.clone(),
        HeadLookup::NoRun => return Ok(None),
        HeadLookup::Unsure => match here.open()?.current()? {
            Some(current) => Head::of(&current.workflow, &current.run),
            None => return Ok(None),
        },
    };
    let refused = match &finding {
        Finding::Free | Finding::Risky => None,
        Finding::Denied(reason) => Some(reason.clone()),
        Finding::Commit => match head.permission("git_commit") {
            Permission::Denied(reason) => Some(format!("{reason}. {}", way_on(&head))),
            Permission::Allowed => leave(here)?,
        },
    };
    if refused.is_none() {
        keep(here, &head, &finding, call.as_deref(), ask)?;
    }
    Ok(refused)
}

/// Keeps everything that a call may change, before it is made.
fn keep(
    here: &HookContext,
    head: &Head,
    finding: &Finding,
    call: Option<&str>,
    ask: Ask,
) -> Result<(), Failure> {
    let (place, dirs) = here.place()?;
    match finding {
        Finding::Free => rails::snapshot_before_write(&place, &dirs, &head.run)?,
        // A commit may be one part of a command of which others remove files.
        Finding::Risky | Finding::Commit | Finding::Denied(_) => {
            rails::snapshot(&place, &dirs, &head.run)?;
        }
    }
    rails::rescue::mark(&place, &dirs)?;
    match (ask, call) {
        (Ask::Tool, Some(call)) => watched::before(&place, &dirs, call)?,
        (Ask::Permission, _) => watched::asked(&place, &dirs)?,
        (Ask::Tool, None) => {}
    }
    Ok(())
}

/// Asks the store for leave: a head's "yes" is not enough.
fn leave(here: &HookContext) -> Result<Option<String>, Failure> {
    let Some(current) = here.open()?.current()? else { return Ok(None) };
    Ok(match current.run.permission(&current.workflow, "git_commit") {
        Permission::Allowed => None,
        Permission::Denied(reason) => Some(reason),
    })
}

fn way_on(head: &Head) -> String {
    match head.standing.as_str() {
        "active" if head.owner.is_driver() => "Warp itself does that after your answer".to_owned(),
        "active" => "`warp next` or `warp explain` show what leads there".to_owned(),
        standing => format!("The run is {standing}: `warp explain` shows what it waits for"),
    }
}

fn look(here: &HookContext, input: Input) -> Result<Finding, Failure> {
    let name = input.tool_name.as_deref().unwrap_or_default();
    let tool = input.tool_input;
    if is_reader(name) {
        return Ok(Finding::Free);
    }
    let command = tool.command.map(crate::input::Text::into_text);
    if name == PATCHES {
        let command = command.unwrap_or_default();
        let hit = perhaps_patched(&command).find_map(|path| refused(here, Path::new(path)));
        return Ok(hit.map_or(Finding::Free, Finding::Denied));
    }
    let mut worst = Finding::Free;
    let is_known = KNOWN.contains(&name);
    if !is_known {
        match look_at_server(here, name, command.is_some() || !tool.scripts.is_empty())? {
            // What only looks may look anywhere.
            Some(mcp::ToolAccess::Own | mcp::ToolAccess::Reads) => return Ok(Finding::Free),
            Some(known @ (mcp::ToolAccess::Never | mcp::ToolAccess::No)) => {
                let parts = mcp::parts(name).unwrap_or_default();
                return Ok(Finding::Denied(mcp::refusal(parts, known)));
            }
            Some(mcp::ToolAccess::Files | mcp::ToolAccess::Listed) => worst = Finding::Risky,
            None => {}
        }
        let path =
            |text: &&String| !text.contains(['\n', '\0']) && (text.contains('/') || text.starts_with('.'));
        let mut paths = tool.others.iter().filter(path);
        if let Some(reason) = paths.find_map(|text| refused(here, Path::new(text))) {
            return Ok(Finding::Denied(reason));
        }
    }
    for path in [&tool.file_path, &tool.notebook_path].into_iter().flatten() {
        if let Some(reason) = refused(here, path) {
            return Ok(Finding::Denied(reason));
        }
    }
    let others = tool.scripts.into_iter().filter(|_| !is_known);
    let commands: Vec<String> = command.into_iter().chain(others).collect();
    let directories = tool.directories.iter().filter(|_| !is_known).map(|directory| here.outside(directory));
    for cwd in std::iter::once(here.cwd.clone()).chain(directories) {
        for command in &commands {
            worst = worst.or(read(here, &cwd, command.clone()));
        }
    }
    Ok(worst)
}

/// Tells what is known of a tool that some server offers; nothing of one that is the client's own.
///
/// A tool that is like a shell is judged by its command, as the client's own shell is.
fn look_at_server(
    here: &HookContext,
    name: &str,
    is_shell: bool,
) -> Result<Option<mcp::ToolAccess>, Failure> {
    let Some(parts) = mcp::parts(name) else { return Ok(None) };
    let mut known = mcp::built_in(parts);
    if known == mcp::ToolAccess::No {
        let current = here.open()?.current()?;
        let entries = current.map(|current| current.run.settings.get(keys::MCP_TOOLS)).unwrap_or_default();
        known = mcp::listed(parts, &entries);
    }
    let is_judged_by_command =
        is_shell && matches!(known, mcp::ToolAccess::No | mcp::ToolAccess::Never) && mcp::is_shell(parts);
    Ok(Some(if is_judged_by_command { mcp::ToolAccess::Listed } else { known }))
}

fn refused(here: &HookContext, path: &Path) -> Option<String> {
    protected::refused(here, &protected::of(&here.root), path)
}

/// Tells whether a tool only looks.
pub(crate) fn is_reader(name: &str) -> bool {
    READERS.contains(&name)
}

fn read(here: &HookContext, cwd: &Path, command: String) -> Finding {
    let judged = if is_plain(&command) {
        judge_command(&here.root, cwd, &here.view, &command)
    } else {
        match judge_apart(here, cwd, command) {
            Ok(judged) => judged,
            Err(reason) => Judgement::Denied(reason),
        }
    };
    match judged {
        Judgement::Allowed => Finding::Free,
        Judgement::Risky(_) => Finding::Risky,
        Judgement::Commit => Finding::Commit,
        Judgement::Denied(reason) => Finding::Denied(reason),
    }
}

/// Tells whether reading a command can take neither long nor deep.
fn is_plain(command: &str) -> bool {
    let opens = |letter: &char| matches!(letter, '(' | '{' | '[' | '`' | '<');
    command.len() <= PLAIN && command.chars().filter(opens).count() <= PLAIN_OPENERS
}

/// Judges a command as the agent's shell would read it: by the paths inside.
fn judge_command(root: &Path, cwd: &Path, view: &View, command: &str) -> Judgement {
    let project = root;
    let protected = protected::seen(root, view);
    let home = env::home_dir();
    let (root, cwd) = (view.inside(root), view.inside(cwd));
    let repository = |path: &Path| repository(project, &view.outside(path));
    let scene = Scene {
        root: &root,
        cwd: &cwd,
        home: home.as_deref(),
        protected: &protected,
        repository: &repository,
    };
    shell::judge(command, &scene)
}

/// Returns the repository that a directory is in, by the directory that all of its working trees share. The remotes of
/// the project at `root` that are on this machine count as the project's.
fn repository(root: &Path, path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize();
    let path = real.as_deref().unwrap_or(path);
    let common = |path: &Path| {
        let location = path.ancestors().find_map(git::locate)?;
        Some(location.common_dir.canonicalize().unwrap_or(location.common_dir))
    };
    let own = common(root)?;
    let is_remote = || remotes(root, &own).iter().any(|remote| path.starts_with(remote));
    if path != root && is_remote() { Some(own) } else { common(path) }
}

/// Returns the remotes of a project that are directories of this machine.
fn remotes(root: &Path, common: &Path) -> Vec<PathBuf> {
    // Where there are no settings to be read there is no remote.
    let settings = fs::read_to_string(common.join("config")).unwrap_or_default();
    let lines = settings.lines().filter_map(|line| line.trim().split_once('='));
    let addresses =
        lines.filter(|(key, _)| matches!(key.trim().to_ascii_lowercase().as_str(), "url" | "pushurl"));
    let paths = addresses.map(|(_, address)| address.trim().trim_matches('"'));
    let paths = paths.map(|address| root.join(address.strip_prefix("file://").unwrap_or(address)));
    paths.filter_map(|path| path.canonicalize().ok()).filter(|path| path.is_dir()).collect()
}

/// Reads a command in a thread of its own.
fn judge_apart(here: &HookContext, cwd: &Path, command: String) -> Result<Judgement, String> {
    let (tell, told) = mpsc::channel();
    let (root, cwd, view) = (here.root.clone(), cwd.to_owned(), here.view.clone());
    let read = move || {
        // Nobody listens any more once the time is up.
        let _ = tell.send(judge_command(&root, &cwd, &view, &command));
    };
    let thread = thread::Builder::new().stack_size(STACK).spawn(read);
    thread.map_err(|error| format!("the command cannot be read: {error}"))?;
    let late = |_| "reading the command took more than a second: split it up".to_owned();
    told.recv_timeout(PATIENCE).map_err(late)
}
