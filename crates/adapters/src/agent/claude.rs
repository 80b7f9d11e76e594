//! Claude Code, without a person: `claude -p`.
//!
//! The prompt is on standard input, what happens comes as one JSON object per line, and the last line of type `result`
//! tells how it ended. Its `subtype` says `success` even after an error of the API; `is_error` does not lie. Costs
//! are those of the whole conversation, tokens those of this turn.
//!
//! While a command runs in the background the client does not end, and when one does it asks its model once more and prints
//! another `result`. So the last structured answer counts, and a client that is still there some seconds after it is ended.

mod stream;

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Map, Value, json};

use super::{
    Agent, AgentUpdate, Capabilities, Client, Mcp, NoAnswer, Turn, TurnResult, answer, effort_word, failed,
    last_words,
};
use crate::{
    machine,
    process::{Control, End, ProgramEvent, ProgramResult, Signal},
};

use stream::{Outcome, Transcript};

/// A terminated client takes its tool along, a killed one leaves it running; five seconds are enough for its own end.
const LADDER: &[(Signal, Duration)] = &[(Signal::TERM, Duration::from_secs(5))];
pub(super) const INSTALL: &str = "`npm install --global @anthropic-ai/claude-code` installs it";
/// How long the client may take to end by itself once it has given its answer.
const AFTER_ANSWER: Duration = Duration::from_secs(5);
/// The events that warp answers while it drives, by the client's name and by warp's.
const EVENTS: [(&str, &str); 3] = [
    ("PreToolUse", "pre-tool-use"),
    ("PostToolUse", "post-tool-use"),
    ("PostToolUseFailure", "post-tool-use-failure"),
];
/// The event that warp answers when the client has compacted the conversation: the brief is given again.
const COMPACTED: (&str, &str, &str) = ("SessionStart", "compact", "compacted");
/// How the client begins to say that there is nothing to resume.
const NO_CONVERSATION: &str = "No conversation found";
/// How long the client waits for a hook, in seconds. One that takes longer decides nothing, so it has far more than it
/// needs.
const HOOK_TIMEOUT: u32 = 60;
/// The variable that says where the client's model is.
const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// The file of the home with the person's settings.
const SETTINGS: &str = ".claude/settings.json";
/// The variables by which a person has the client ask a cloud's models, which speak otherwise.
const ELSEWHERE: [&str; 3] = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
/// Its tools that write, which a turn that only reads does not have.
const WRITING: &str = "Edit,MultiEdit,Write,NotebookEdit";
/// How often the client asks its model again. Its own ten tries would take minutes to say that a key is wrong.
const RETRIES: (&str, &str) = ("CLAUDE_CODE_MAX_RETRIES", "4");
/// What the client is told about itself, where the person has not: it reports to nobody, does not replace itself and keeps no
/// notes.
const QUIET: [(&str, &str); 5] = [
    // Warp keeps lessons itself, for every agent.
    ("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "1"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

/// The tools with which the client's model reads, writes and runs commands; it answers by another, which is always there.
const TOOLS: [&str; 4] = ["Bash", "Edit", "Read", "Write"];
/// The tool that skills need.
const SKILL: &str = "Skill";

/// Claude Code.
#[derive(Clone, Debug)]
pub struct Claude {
    /// The client's program: a path, or a name in `PATH`.
    pub program: PathBuf,
}

impl Agent for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { metered: takes_route(), ..Capabilities::ALL }
    }

    fn new_session(&self) -> io::Result<Option<String>> {
        machine::random_uuid().map(Some)
    }

    fn login_hint(&self) -> &'static str {
        "log in again (`claude`, then `/login`), or set a valid ANTHROPIC_API_KEY"
    }

    fn cheap_model(&self) -> Option<&'static str> {
        Some("haiku")
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult {
        let client = Client {
            program: self.program.clone().into(),
            arguments: arguments(turn),
            variables: variables(turn),
            input: turn.prompt.as_bytes().to_vec(),
            files: Vec::new(),
            ladder: LADDER,
            hint: INSTALL,
        };
        let mut heard = Transcript::default();
        let mut answered: Option<Instant> = None;
        let followed = client.follow(turn, self.name(), &mut |seen| {
            let go = match seen {
                ProgramEvent::Out(line) => {
                    let said = heard.line(line);
                    if matches!(heard.outcome, Some(Outcome::Answered(_))) {
                        answered.get_or_insert_with(Instant::now);
                    }
                    said.into_iter().map(&mut *watch).max().unwrap_or(Control::On)
                }
                ProgramEvent::Err(_) => Control::On,
                ProgramEvent::Tick { quiet } => watch(AgentUpdate::Tick(quiet)),
            };
            let is_overdue = answered.is_some_and(|at| at.elapsed() >= AFTER_ANSWER);
            if is_overdue { go.max(Control::Stop) } else { go }
        });
        match followed {
            Ok(followed) => ended(heard, &followed, turn.schema),
            Err(why) => TurnResult::without(why),
        }
    }
}

fn arguments(turn: &Turn<'_>) -> Vec<OsString> {
    let mode = if turn.walls.is_some() { "bypassPermissions" } else { "acceptEdits" };
    let mut all: Vec<OsString> =
        ["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", mode]
            .map(OsString::from)
            .into();
    let mut settings = settings(turn);
    // Warp commits and opens pull requests.
    settings["includeGitInstructions"] = json!(false);
    all.extend(["--settings".into(), settings.to_string().into()]);
    all.extend(["--json-schema".into(), turn.schema.to_string().into()]);
    if let Some(session) = turn.resume {
        all.extend(["--resume".into(), session.into()]);
    } else if let Some(session) = turn.session {
        all.extend(["--session-id".into(), session.into()]);
    }
    if let Some(effort) = turn.effort {
        all.extend(["--effort".into(), effort_word(effort).into()]);
    }
    if let Some(model) = turn.model {
        all.extend(["--model".into(), model.into()]);
    }
    if let Some(mcp) = turn.mcp {
        all.extend(["--mcp-config".into(), servers(turn, mcp).to_string().into()]);
    }
    if turn.walls.is_some_and(|walls| walls.reads_only) {
        all.extend(["--disallowedTools".into(), WRITING.into()]);
    }
    if turn.walls.is_none() || !turn.extras.servers {
        // Servers that the tree names are programs that an agent may have written; only walls hold those.
        all.push("--strict-mcp-config".into());
    }
    if !turn.extras.has_all() {
        let more = turn.extras.tools.iter().map(String::as_str);
        let tools: Vec<&str> = TOOLS.into_iter().chain(more).collect();
        all.extend(["--tools".into(), tools.join(",").into()]);
        if !turn.extras.has(SKILL) {
            all.push("--disable-slash-commands".into());
        }
    }
    all
}

/// Describes a server as the client reads it.
pub(super) fn servers(turn: &Turn<'_>, mcp: &Mcp) -> Value {
    let environment: Map<String, Value> =
        mcp.environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({ "mcpServers": { (Mcp::NAME): {
        "type": "stdio", "command": turn.seen(&mcp.program), "args": mcp.arguments, "env": environment,
    } } })
}

/// Settings of the highest rank: a file in the tree cannot turn the hooks off, nor lead the traffic elsewhere.
pub(super) fn settings(turn: &Turn<'_>) -> Value {
    let registered = turn.hooks.map(|hooks| {
        let program = turn.seen(&hooks.program);
        let handler = |argument: &str| {
            json!({
                "type": "command", "command": program, "args": ["hook", argument], "timeout": HOOK_TIMEOUT,
            })
        };
        let each =
            EVENTS.map(|(event, argument)| (event.to_owned(), json!([{ "hooks": [handler(argument)] }])));
        let (event, matcher, argument) = COMPACTED;
        let compacted = json!([{ "matcher": matcher, "hooks": [handler(argument)] }]);
        Value::Object(each.into_iter().chain([(event.to_owned(), compacted)]).collect())
    });
    let commands = turn.allowed.iter();
    let rules = commands.flat_map(|command| [format!("Bash({command})"), format!("Bash({command} *)")]);
    let rules = rules.chain(turn.mcp.map(|_| format!("mcp__{}", Mcp::NAME)));
    json!({
        "disableAllHooks": false,
        "hooks": registered.unwrap_or_else(|| json!({})),
        "permissions": { "allow": rules.collect::<Vec<_>>() },
        "env": routed(turn).map_or_else(|| json!({}), |url| json!({ (BASE_URL): url })),
    })
}

/// Returns where the client's model is to be found, if it takes a route at all.
fn routed<'a>(turn: &Turn<'a>) -> Option<&'a str> {
    turn.route.filter(|_| takes_route()).map(|route| route.anthropic.as_str())
}

/// Tells whether the client can be led elsewhere: not if the person has it ask the models of a cloud.
pub(super) fn takes_route() -> bool {
    let is_on = |value: &str| !value.is_empty() && value != "0" && value != "false";
    !ELSEWHERE.iter().any(|name| own(name).is_some_and(|value| is_on(&value)))
}

/// Returns where the person has the client ask for its models, if they have said so.
pub fn base_url() -> Option<String> {
    own(BASE_URL).filter(|url| !url.trim().is_empty())
}

/// Tells whether the person's settings say where the models are: they count more than the environment.
pub(super) fn is_led_by_settings() -> bool {
    set(BASE_URL).is_some()
}

/// Returns a variable of the client's, as it sees it.
fn own(name: &str) -> Option<String> {
    set(name).or_else(|| env::var(name).ok())
}

/// Returns a variable that the person's settings name. A file that cannot be read is one that the client cannot read either.
fn set(name: &str) -> Option<String> {
    let file = Path::new(&env::var_os("HOME")?).join(SETTINGS);
    let settings: Value = serde_json::from_str(&fs::read_to_string(file).ok()?).ok()?;
    settings["env"][name].as_str().map(ToOwned::to_owned)
}

pub(super) fn variables(turn: &Turn<'_>) -> Vec<(OsString, OsString)> {
    // What the person has set is left as it is.
    let mut all: Vec<(OsString, OsString)> = QUIET
        .iter()
        .filter(|(name, _)| env::var_os(name).is_none())
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    all.push((RETRIES.0.into(), RETRIES.1.into()));
    if let Some(url) = routed(turn) {
        all.push((BASE_URL.into(), url.into()));
    }
    if turn.walls.is_some() {
        // Without it, a superuser may not bypass permissions.
        all.push(("IS_SANDBOX".into(), "1".into()));
    }
    all
}

fn ended(heard: Transcript, followed: &ProgramResult, schema: &Value) -> TurnResult {
    let last_words = if heard.words.is_empty() { last_words(followed) } else { heard.words.clone() };
    let errors = String::from_utf8_lossy(&followed.stderr).into_owned();
    let answer = match (&followed.end, heard.outcome) {
        // However it ended after that.
        (_, Some(Outcome::Answered(answer))) => Ok(answer),
        (End::TimedOut(_) | End::Silent(_) | End::Stopped | End::Signal(_), _) => {
            Err(failed(&followed.end, &errors))
        }
        (End::Exit(_), Some(Outcome::Done { text })) => answer::find(&text, schema),
        (End::Exit(_), Some(Outcome::Provider(failure))) => Err(failure.into()),
        (End::Exit(_), Some(Outcome::Failed { words })) if words.starts_with(NO_CONVERSATION) => {
            Err(NoAnswer::NoConversation)
        }
        (End::Exit(_), Some(Outcome::Failed { words })) => Err(failed(&followed.end, &words)),
        (End::Exit(_), None) => Err(failed(&followed.end, &errors)),
    };
    TurnResult {
        answer,
        session: heard.session,
        usage: heard.usage,
        context: heard.context,
        cost_usd: heard.cost_usd,
        last_words,
    }
}

#[cfg(test)]
mod tests;
