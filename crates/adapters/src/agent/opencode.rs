//! OpenCode, without a person: `opencode run --format json`.
//!
//! The prompt is on standard input, what happens comes as one JSON object per line, and everything that a turn needs is
//! said by variables. Hooks are a plugin, a file without dependencies. What the tree holds is no configuration: an agent
//! may have written it, and the client would install packages next to it.

mod places;
mod stream;

use std::{env, ffi::OsString, fs, io, path::PathBuf, time::Duration};

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{
    Agent, AgentUpdate, Capabilities, Client, Mcp, NoAnswer, Route, Turn, TurnResult, answer, failed,
    last_words,
};
use crate::{
    process::{Control, End, ProgramResult, Signal},
    scratch,
};

use places::Places;
pub(super) use stream::retry_line;
use stream::{Outcome, Transcript};

pub(super) const INSTALL: &str = "`npm install --global opencode-ai` installs it";
/// The client may leave its tool running whatever it is sent; what is left is found by its mark.
const LADDER: &[(Signal, Duration)] =
    &[(Signal::INT, Duration::from_secs(5)), (Signal::TERM, Duration::from_secs(2))];
const PLUGIN: &str = include_str!("opencode/plugin.js");
/// The variable that tells the plugin whom to ask.
const HOOK_PROGRAM: &str = "WARP_HOOK_PROGRAM";
/// The variable that tells the plugin where to write about retries; else it writes to standard output.
const RETRIES: &str = "WARP_RETRIES";
/// The variable that holds the configuration of the highest rank.
const CONFIGURATION: &str = "OPENCODE_CONFIG_CONTENT";
/// What the client is told about itself: it fetches nothing, shares nothing, and does not replace itself.
const QUIET: [(&str, &str); 6] = [
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_PROJECT_CONFIG", "1"),
    ("OPENCODE_DISABLE_SHARE", "1"),
];
/// The providers whose traffic takes a route, and the one that stands for a server of the person's own.
const ROUTED: [&str; 3] = ["anthropic", "openai", COMPATIBLE];
const COMPATIBLE: &str = "warp";
/// Tools of the client's that its model is not offered unless they are asked for.
const EXTRAS: [&str; 7] = ["codesearch", "question", "skill", "task", "todowrite", "webfetch", "websearch"];
/// What the tree says to every agent; the first that is there counts.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// OpenCode.
#[derive(Clone, Debug)]
pub struct OpenCode {
    /// The client's program: a path, or a name in `PATH`.
    pub program: PathBuf,
}

impl Agent for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn provider(&self) -> &'static str {
        "other"
    }

    fn capabilities(&self) -> Capabilities {
        let metered = !Places::of_person().has_other_models();
        Capabilities { structured_answer: false, metered, ..Capabilities::ALL }
    }

    fn takes_route(&self, model: Option<&str>) -> bool {
        self.capabilities().metered && !model.is_some_and(is_other)
    }

    fn login_hint(&self) -> &'static str {
        "log in again (`opencode auth login`), or set a valid key of the provider"
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult {
        let made = match TurnFiles::new() {
            Ok(made) => made,
            Err(error) => return TurnResult::without(NoAnswer::NotStarted(Box::new(error))),
        };
        let route = turn.route.filter(|_| self.takes_route(turn.model));
        let own = own_server(turn.model.filter(|_| route.is_some()));
        let configuration = configuration(turn, route, own, &made.plugin_url());
        let client = Client {
            program: self.program.clone().into(),
            arguments: arguments(turn, own),
            variables: variables(turn, &made, &configuration),
            input: turn.prompt.as_bytes().to_vec(),
            files: made.files(),
            ladder: LADDER,
            hint: INSTALL,
        };
        let mut heard = Transcript::default();
        match client.hear(turn, self.name(), &mut |line| heard.line(line), watch) {
            Ok(followed) => ended(heard, &followed, turn.schema),
            Err(why) => TurnResult::without(why),
        }
    }
}

/// Tells whether a model is one of a provider whose traffic takes no route.
fn is_other(model: &str) -> bool {
    model.split_once('/').is_some_and(|(provider, _)| !ROUTED.contains(&provider))
}

/// Temporary files of one turn.
pub(super) struct TurnFiles {
    directory: TempDir,
    places: Places,
}

impl TurnFiles {
    pub(super) fn new() -> io::Result<Self> {
        let made = Self { directory: scratch::directory()?, places: Places::of_person() };
        fs::write(made.plugin(), PLUGIN)?;
        made.places.copy_configuration(&made.configuration_home())?;
        Ok(made)
    }

    /// Returns what the client has to see.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        vec![self.directory.path().to_owned()]
    }

    /// Returns the variables by which the client asks the rails, and tells of retries on standard error: for a client that
    /// is started in another way than by [`OpenCode`].
    pub(super) fn hooked(&self, turn: &Turn<'_>) -> Vec<(OsString, OsString)> {
        let Some(hooks) = turn.hooks else { return Vec::new() };
        let content = json!({ "plugin": [self.plugin_url()] });
        let mut all: Vec<(OsString, OsString)> =
            QUIET.iter().map(|(name, value)| (name.into(), value.into())).collect();
        all.push((CONFIGURATION.into(), content.to_string().into()));
        all.push((HOOK_PROGRAM.into(), turn.seen(&hooks.program).into()));
        all.push((RETRIES.into(), "stderr".into()));
        all
    }

    fn plugin_url(&self) -> String {
        format!("file://{}", self.plugin().display())
    }

    /// Returns the variables by which the client finds its configuration within walls, and keeps its conversations there.
    pub(super) fn within_walls(&self) -> Vec<(OsString, OsString)> {
        self.places.within_walls(&self.configuration_home())
    }

    fn plugin(&self) -> PathBuf {
        self.directory.path().join("plugin.js")
    }

    fn configuration_home(&self) -> PathBuf {
        self.directory.path().join("config")
    }
}

fn arguments(turn: &Turn<'_>, own: Option<&str>) -> Vec<OsString> {
    let mut all: Vec<OsString> = ["run", "--format", "json"].map(OsString::from).into();
    match (own, turn.model) {
        (Some(name), _) => all.extend(["--model".into(), format!("{COMPATIBLE}/{name}").into()]),
        (None, Some(model)) => all.extend(["--model".into(), model.into()]),
        (None, None) => {}
    }
    // What is standard is what the client does unasked.
    if let Some(effort) = turn.effort.filter(|effort| *effort != "standard") {
        all.extend(["--variant".into(), effort.into()]);
    }
    if let Some(session) = turn.resume {
        all.extend(["--session".into(), session.into()]);
    }
    all
}

/// Returns the name of a model that a server of the person's own has. Such a server speaks Chat and has models that
/// the client does not know.
fn own_server(model: Option<&str>) -> Option<&str> {
    let is_set = env::var_os("OPENAI_BASE_URL").is_some_and(|url| !url.is_empty());
    model.and_then(|model| model.strip_prefix("openai/")).filter(|_| is_set)
}

/// The configuration of the highest rank.
fn configuration(turn: &Turn<'_>, route: Option<&Route>, own: Option<&str>, plugin: &str) -> Value {
    let mut all = json!({
        "autoupdate": false,
        "share": "disabled",
        // Warp keeps what is worth keeping.
        "snapshot": false,
        "permission": permissions(turn),
    });
    if turn.hooks.is_some() {
        all["plugin"] = json!([plugin]);
    }
    if let Some(route) = route {
        all["enabled_providers"] = json!(ROUTED);
        all["provider"] = providers(route, own);
    }
    if let Some(name) = own {
        all["small_model"] = json!(format!("{COMPATIBLE}/{name}"));
    }
    if let Some(mcp) = turn.mcp {
        all["mcp"] = json!({ (Mcp::NAME): server(turn, mcp) });
    }
    if let Some(name) = INSTRUCTIONS.iter().find(|name| turn.tree.join(name).is_file()) {
        all["instructions"] = json!([turn.place().join(name)]);
    }
    all
}

fn providers(route: &Route, own: Option<&str>) -> Value {
    let mut all = json!({
        "anthropic": { "options": { "baseURL": format!("{}/v1", route.anthropic) } },
        "openai": { "options": { "baseURL": route.openai } },
    });
    if let Some(name) = own {
        all[COMPATIBLE] = json!({
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": route.openai, "apiKey": "{env:OPENAI_API_KEY}" },
            "models": { (name): {} },
        });
    }
    all
}

/// Behind walls anything may run: the walls and the hooks hold it. Without them files of the tree may be edited, and
/// what is allowed may run.
fn permissions(turn: &Turn<'_>) -> Value {
    let mut all = Map::new();
    if turn.walls.is_some() {
        all.insert("*".to_owned(), json!("allow"));
    } else {
        // The last rule that fits counts.
        let mut commands = Map::from_iter([("*".to_owned(), json!("deny"))]);
        for command in turn.allowed {
            commands.insert(command.clone(), json!("allow"));
            commands.insert(format!("{command} *"), json!("allow"));
        }
        all.insert("edit".to_owned(), json!("allow"));
        all.insert("bash".to_owned(), json!(commands));
        all.insert("external_directory".to_owned(), json!("deny"));
    }
    // The client's model is not told of what is denied.
    let left_out = EXTRAS.iter().filter(|tool| !turn.extras.has(tool));
    all.extend(left_out.map(|tool| ((*tool).to_owned(), json!("deny"))));
    Value::Object(all)
}

fn server(turn: &Turn<'_>, mcp: &Mcp) -> Value {
    let command: Vec<String> = std::iter::once(turn.seen(&mcp.program).display().to_string())
        .chain(mcp.arguments.iter().cloned())
        .collect();
    let environment: Map<String, Value> =
        mcp.environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({ "type": "local", "command": command, "environment": environment, "enabled": true })
}

fn variables(turn: &Turn<'_>, made: &TurnFiles, content: &Value) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> =
        QUIET.iter().map(|(name, value)| (name.into(), value.into())).collect();
    all.push((CONFIGURATION.into(), content.to_string().into()));
    if let Some(hooks) = turn.hooks {
        all.push((HOOK_PROGRAM.into(), turn.seen(&hooks.program).into()));
    }
    if turn.walls.is_some() {
        all.extend(made.within_walls());
    }
    all
}

fn ended(heard: Transcript, followed: &ProgramResult, schema: &Value) -> TurnResult {
    let last_words = if heard.words.is_empty() { last_words(followed) } else { heard.words.clone() };
    let errors = String::from_utf8_lossy(&followed.stderr).into_owned();
    let answer = match (&followed.end, heard.outcome) {
        (End::TimedOut(_) | End::Silent(_) | End::Stopped | End::Signal(_), _) => {
            Err(failed(&followed.end, &errors))
        }
        (End::Exit(_), Some(Outcome::Provider(failure))) => Err(failure.into()),
        (End::Exit(_), Some(Outcome::Failed { words })) => Err(failed(&followed.end, &words)),
        (End::Exit(0), None) => answer::find(&heard.answer, schema),
        (End::Exit(_), None) if errors.contains("Session not found") => Err(NoAnswer::NoConversation),
        (End::Exit(_), None) => Err(failed(&followed.end, &errors)),
    };
    TurnResult {
        answer,
        session: heard.session,
        usage: heard.usage,
        context: heard.context,
        cost_usd: None,
        last_words,
    }
}

#[cfg(test)]
mod tests;
