//! Whether an agent that asks may use a tool: the rails are asked, as a hook of a client would ask them.

use std::{path::PathBuf, time::Duration};

use agent_client_protocol::v1::schema::{
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, ToolCallContent, ToolCallUpdate, ToolKind,
};
use serde_json::{Value, json};

use super::heard;
use crate::{
    agent::{AgentUpdate, HOOK_SOCKET, HOOK_TOKEN, Hooks, Notice, Turn},
    process::{self, Control, End, Environment, Job, Limits, Signal, SignalTarget},
};

/// How long a hook may take: more than it gives itself.
const LIMITS: Limits = Limits { whole: Duration::from_secs(60), silence: Duration::from_secs(60) };
const LADDER: &[(Signal, Duration)] = &[(Signal::TERM, Duration::from_secs(1))];
/// The fields by which agents name a file.
const PATHS: [&str; 5] = ["file_path", "filePath", "filepath", "path", "abs_path"];

/// A tool under the name, and with the fields, that the rails know.
struct Tool {
    name: String,
    input: Value,
}

/// Decides; a refusal says what is to be shown of it.
pub(super) fn decide(turn: &Turn<'_>, call: &ToolCallUpdate) -> Result<(), AgentUpdate> {
    let tools = tools(call);
    let kind = call.fields.kind.unwrap_or_default();
    let name = tools.first().map_or_else(|| heard::word(kind).to_owned(), |tool| tool.name.clone());
    let refused = |why: &str| AgentUpdate::Notice(Notice::refused(name.clone(), why));
    if turn.walls.is_none() {
        stays_within(turn, kind, &tools).map_err(|why| refused(&why))?;
    }
    if let Some(hooks) = turn.hooks {
        tools.iter().try_for_each(|tool| ask(turn, hooks, tool)).map_err(|why| refused(&why))?;
    }
    Ok(())
}

/// Returns the answer that says so, for this time only if there is such a one.
pub(super) fn response(request: &RequestPermissionRequest, is_allowed: bool) -> RequestPermissionResponse {
    let kinds = if is_allowed {
        [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]
    } else {
        [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]
    };
    let option = kinds.iter().find_map(|kind| request.options.iter().find(|option| option.kind == *kind));
    RequestPermissionResponse::new(match option {
        Some(option) => {
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
        }
        None => RequestPermissionOutcome::Cancelled,
    })
}

/// Without walls an agent reads and edits, and runs what is allowed.
fn stays_within(turn: &Turn<'_>, kind: ToolKind, tools: &[Tool]) -> Result<(), String> {
    let is_allowed = |command: &str| {
        let starts = |allowed: &String| {
            command
                .strip_prefix(allowed.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        turn.allowed.iter().any(starts)
    };
    let is_inside = |path: &str| turn.tree.join(path).starts_with(turn.tree) && !path.contains("..");
    let may = |tool: &Tool| match (tool.name.as_str(), kind) {
        ("Bash", _) => tool.input["command"].as_str().is_some_and(is_allowed),
        ("Edit", _) => tool.input["file_path"].as_str().is_some_and(is_inside),
        (_, ToolKind::Read | ToolKind::Search | ToolKind::Think) => true,
        (_, _) => false,
    };
    if !tools.is_empty() && tools.iter().all(may) {
        Ok(())
    } else {
        Err("without the sandbox an agent edits its tree and runs the tests of the project".to_owned())
    }
}

/// Reads what an agent wants to do.
fn tools(call: &ToolCallUpdate) -> Vec<Tool> {
    let fields = &call.fields;
    let input = fields.raw_input.clone().unwrap_or_default();
    let command = command(&input);
    let kind = fields.kind.unwrap_or_default();
    match (kind, command) {
        (_, Some(command)) => vec![Tool { name: "Bash".to_owned(), input: json!({ "command": command }) }],
        (ToolKind::Execute, None) => {
            let command = fields.title.clone().unwrap_or_default();
            vec![Tool { name: "Bash".to_owned(), input: json!({ "command": command }) }]
        }
        (ToolKind::Edit | ToolKind::Delete | ToolKind::Move, None) => {
            let edit = |path: PathBuf| Tool { name: "Edit".to_owned(), input: json!({ "file_path": path }) };
            paths(call, &input).into_iter().map(edit).collect()
        }
        (kind, None) => {
            let name = fields.name.clone().unwrap_or_else(|| heard::word(kind).to_owned());
            vec![Tool { name, input }]
        }
    }
}

/// Returns a command that is to be run: a text, or a list of words of which a shell's last is the text.
fn command(input: &Value) -> Option<String> {
    let command = input.get("command")?;
    if let Some(text) = command.as_str() {
        return Some(text.to_owned());
    }
    let words: Vec<&str> = command.as_array()?.iter().filter_map(Value::as_str).collect();
    match words[..] {
        [_, "-c" | "-lc", text] => Some(text.to_owned()),
        _ => Some(words.join(" ")),
    }
}

/// Returns the files that a call is about, however it names them.
fn paths(call: &ToolCallUpdate, input: &Value) -> Vec<PathBuf> {
    let named = PATHS.iter().filter_map(|field| input[*field].as_str()).map(PathBuf::from);
    let places = call.fields.locations.iter().flatten().map(|location| location.path.clone());
    let contents = call.fields.content.iter().flatten();
    let changed = contents.filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(diff.path.clone()),
        ToolCallContent::Content(_) | ToolCallContent::Terminal(_) | _ => None,
    });
    let mut all: Vec<PathBuf> = named.chain(places).chain(changed).collect();
    all.sort();
    all.dedup();
    all
}

/// Asks the rails; whatever goes wrong is a refusal.
fn ask(turn: &Turn<'_>, hooks: &Hooks, tool: &Tool) -> Result<(), String> {
    let input = json!({
        "hook_event_name": "PreToolUse",
        "cwd": turn.place(),
        "tool_name": tool.name,
        "tool_input": tool.input,
    });
    let job = Job {
        program: hooks.program.clone().into(),
        arguments: vec!["hook".into(), "pre-tool-use".into()],
        directory: turn.tree,
        environment: Environment::Inherited(vec![
            (HOOK_SOCKET.into(), hooks.socket.clone().into()),
            (HOOK_TOKEN.into(), hooks.token.clone().into()),
        ]),
        input: input.to_string().into_bytes(),
        limits: LIMITS,
        ladder: LADDER,
        reach: SignalTarget::Group,
        mark: turn.mark,
    };
    match process::follow(job, &mut |_| Control::On) {
        Ok(followed) if followed.end == End::Exit(0) => Ok(()),
        Ok(followed) => Err(String::from_utf8_lossy(&followed.stderr).trim().to_owned()),
        Err(error) => Err(format!("the rails cannot be asked: {error}")),
    }
}
