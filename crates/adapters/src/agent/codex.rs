//! Codex, without a person: `codex exec --json`.
//!
//! The prompt is on standard input, what happens comes as one JSON object per line, and everything that a turn needs is
//! said by `-c`, so that no file of the person's is written. The tree is named as one that is not trusted: else the
//! client would note it as trusted, and run hooks that an agent may have put there. Tokens are those of the whole
//! thread, so what stood before is taken off.

mod login;
mod rollout;
mod stream;
mod strict;

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use engine::Time;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{
    Agent, AgentUpdate, Capabilities, Client, Mcp, NoAnswer, ProviderFailure, Route, Turn, TurnResult, Usage,
    answer, effort_word, failed, last_words,
};
use crate::{
    process::{Control, End, ProgramResult, Signal},
    scratch,
};

use login::Login;
use rollout::Rollout;
use stream::{Outcome, Transcript};

pub(super) const INSTALL: &str = "`npm install --global @openai/codex` installs it";
/// An interrupted client takes its tool along, a terminated one leaves it running.
const LADDER: &[(Signal, Duration)] =
    &[(Signal::INT, Duration::from_secs(5)), (Signal::TERM, Duration::from_secs(2))];
/// The events that warp answers while it drives, by the client's name and by warp's.
const EVENTS: [(&str, &str); 2] = [("PreToolUse", "pre-tool-use"), ("PostToolUse", "post-tool-use")];
/// How long the client waits for a hook, in seconds: far more than one needs, because one that takes longer decides
/// nothing.
const HOOK_TIMEOUT: u32 = 60;
/// How often the client asks its model again.
const RETRIES: u32 = 4;
/// The name of the provider that stands for the route.
const PROVIDER: &str = "warp";
/// What the client leaves alone: it fetches no plugins, looks for no connectors, reports to nobody, and gives up in time.
const QUIET: [&str; 5] = [
    "features.plugins=false",
    "features.apps=false",
    "features.unbounded_connection_retries=false",
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
];
/// What the client's model is not offered unless it is asked for: a name, and the setting that leaves it out.
const EXTRAS: [(&str, &str); 8] = [
    ("goals", "features.goals=false"),
    ("image_generation", "features.image_generation=false"),
    ("multi_agent", "features.multi_agent=false"),
    ("skill_search", "features.skill_search=false"),
    ("skills", "skills.include_instructions=false"),
    ("sleep", "features.sleep_tool=false"),
    ("tool_suggest", "features.tool_suggest=false"),
    ("web_search", "web_search=\"disabled\""),
];
/// How often the client's file is looked at for what it has used.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How the client begins to say that there is nothing to resume.
const NO_CONVERSATION: &str = "no rollout found";
/// Where temporary files go if the client's own directory lies where they usually do: it refuses to work there fully.
const OTHER_TEMPORARY: &str = "/var/tmp";

/// Codex.
#[derive(Clone, Debug)]
pub struct Codex {
    /// The client's program: a path, or a name in `PATH`.
    pub program: PathBuf,
}

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn provider(&self) -> &'static str {
        "openai"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { metered: Login::of_person().takes_route(), ..Capabilities::ALL }
    }

    fn login_hint(&self) -> &'static str {
        "log in again (`codex login`), or set a valid OPENAI_API_KEY"
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult {
        let strict = strict::schema(turn.schema);
        let schema_file = match strict.as_ref().map(written).transpose() {
            Ok(file) => file,
            Err(error) => return TurnResult::without(NoAnswer::NotStarted(Box::new(error))),
        };
        let client = Client {
            program: self.program.clone().into(),
            arguments: arguments(
                turn,
                schema_file.as_ref().map(|file| file.path.as_path()),
                Login::of_person(),
            ),
            variables: variables(),
            input: turn.prompt.as_bytes().to_vec(),
            files: schema_file.iter().map(|file| file.path.clone()).collect(),
            ladder: LADDER,
            hint: INSTALL,
        };
        let mut kept = ThreadFile::new(turn, self.takes_route(turn.model) && turn.route.is_some());
        let mut heard = Transcript::default();
        let followed =
            client.hear(turn, self.name(), &mut |line| heard.line(line).into_iter().collect(), &mut |said| {
                kept.see(said, watch)
            });
        let followed = match followed {
            Ok(followed) => followed,
            Err(why) => return TurnResult::without(why),
        };
        // A turn that did not come to its end says nothing of what it has used, and none says by which model.
        let told = heard.thread.as_deref().map(|thread| kept.told(thread)).unwrap_or_default();
        if let Some(model) = told.model.clone() {
            let _ = watch(AgentUpdate::Model(model));
        }
        let usage = heard.usage.or(told.usage).map(|whole| share(whole, kept.before));
        if let Some(usage) = usage {
            // It has ended: there is nothing left to stop.
            let _ = watch(AgentUpdate::Usage(usage));
        }
        let ended = ended(heard, usage.unwrap_or_default(), told.resets_at, &followed, turn.schema);
        TurnResult { context: told.context, ..ended }
    }
}

/// Codex's thread file. Without the metering proxy it is the only source of usage while the
/// client runs.
struct ThreadFile {
    sessions: PathBuf,
    /// What the thread had used before the turn.
    before: Usage,
    is_metered: bool,
    thread: Option<String>,
    looked: Instant,
}

impl ThreadFile {
    fn new(turn: &Turn<'_>, is_metered: bool) -> Self {
        let sessions = rollout::sessions(turn.walls);
        let before = turn.resume.and_then(|thread| rollout::told(&sessions, thread).usage);
        let (before, looked) = (before.unwrap_or_default(), Instant::now());
        Self { sessions, before, is_metered, thread: None, looked }
    }

    fn told(&self, thread: &str) -> Rollout {
        rollout::told(&self.sessions, thread)
    }

    /// Passes on what is seen of the client, and now and then what its file tells.
    fn see(&mut self, said: AgentUpdate, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> Control {
        if let AgentUpdate::Session(thread) = &said {
            self.thread = Some(thread.clone());
        }
        let is_due =
            matches!(said, AgentUpdate::Tick(_)) && !self.is_metered && self.looked.elapsed() >= LOOK_EVERY;
        let mut go = watch(said);
        if let Some(thread) = self.thread.clone().filter(|_| is_due) {
            self.looked = Instant::now();
            let told = self.told(&thread);
            let usage = told.usage.map(|whole| AgentUpdate::Usage(share(whole, self.before)));
            for said in told.model.map(AgentUpdate::Model).into_iter().chain(usage) {
                go = go.max(watch(said));
            }
        }
        go
    }
}

/// Writes the schema where the client can read it for as long as it runs.
fn written(schema: &Value) -> io::Result<SchemaFile> {
    let directory = scratch::directory()?;
    let path = directory.path().join("answer.json");
    fs::write(&path, schema.to_string())?;
    Ok(SchemaFile { path, _directory: directory })
}

/// The schema of the answer, in a directory that is gone with it.
struct SchemaFile {
    path: PathBuf,
    _directory: TempDir,
}

fn arguments(turn: &Turn<'_>, schema: Option<&Path>, login: Login) -> Vec<OsString> {
    let mut all = Arguments(Vec::new());
    all.add(["exec", "--json", "--skip-git-repo-check"]);
    match turn.walls {
        Some(_) => all.add(["--dangerously-bypass-approvals-and-sandbox"]),
        None => all.add(["--sandbox", "workspace-write"]),
    }
    let left_out = EXTRAS.iter().filter(|(name, _)| !turn.extras.has(name)).map(|(_, setting)| *setting);
    for setting in QUIET.into_iter().chain(left_out) {
        all.add(["-c", setting]);
    }
    all.set("projects", &json!({ (turn.place().to_string_lossy()): { "trust_level": "untrusted" } }));
    if let Some(hooks) = turn.hooks {
        all.add(["--dangerously-bypass-hook-trust"]);
        all.set("hooks", &registered(&turn.seen(&hooks.program)));
    }
    if let Some(schema) = schema {
        all.0.extend(["--output-schema".into(), schema.into()]);
    }
    if let Some(effort) = turn.effort {
        all.set("model_reasoning_effort", &json!(effort_word(effort)));
    }
    if let Some(model) = turn.model {
        all.add(["--model", model]);
    }
    if let Some(provider) = turn.route.and_then(|route| provider(route, login)) {
        all.set("model_provider", &json!(PROVIDER));
        all.set(&format!("model_providers.{PROVIDER}"), &provider);
    }
    if let Some(mcp) = turn.mcp {
        all.set(&format!("mcp_servers.{}", Mcp::NAME), &server(turn, mcp));
    }
    if let Some(thread) = turn.resume {
        all.add(["resume", thread]);
    }
    // The prompt comes from standard input.
    all.add(["-"]);
    all.0
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<const COUNT: usize>(&mut self, words: [&str; COUNT]) {
        self.0.extend(words.map(OsString::from));
    }

    /// Sets a value of the client's configuration.
    fn set(&mut self, key: &str, value: &Value) {
        let value = toml::Value::try_from(value).expect("what is set holds no null");
        self.add(["-c", &format!("{key}={value}")]);
    }
}

/// Describes the hooks as the client reads them; a command is a line of shell to it.
fn registered(program: &Path) -> Value {
    let program = program.to_string_lossy().replace('\'', r"'\''");
    let each = EVENTS.map(|(event, argument)| {
        let command = format!("'{program}' hook {argument}");
        let handler = json!({ "type": "command", "command": command, "timeout": HOOK_TIMEOUT });
        (event.to_owned(), json!([{ "hooks": [handler] }]))
    });
    Value::Object(each.into_iter().collect())
}

/// Describes the route as a provider, with the login that the person has; nothing if that login does not take it.
fn provider(route: &Route, login: Login) -> Option<Value> {
    let mut provider = json!({
        "name": PROVIDER,
        "base_url": route.openai,
        "wire_api": "responses",
        "request_max_retries": RETRIES,
        "stream_max_retries": RETRIES,
    });
    match login {
        Login::Own => provider["requires_openai_auth"] = json!(true),
        Login::Variable(name) => provider["env_key"] = json!(name),
        Login::Elsewhere => return None,
    }
    Some(provider)
}

fn server(turn: &Turn<'_>, mcp: &Mcp) -> Value {
    let environment: Map<String, Value> =
        mcp.environment.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "command": turn.seen(&mcp.program),
        "args": mcp.arguments,
        "env": environment,
        "default_tools_approval_mode": "approve",
    })
}

fn variables() -> Vec<(OsString, OsString)> {
    let is_temporary = env::var_os("HOME").is_some_and(|home| Path::new(&home).starts_with("/tmp"));
    is_temporary.then(|| ("TMPDIR".into(), OTHER_TEMPORARY.into())).into_iter().collect()
}

/// Returns what a turn has used of what its whole thread has.
fn share(whole: Usage, before: Usage) -> Usage {
    Usage {
        input: whole.input.saturating_sub(before.input),
        output: whole.output.saturating_sub(before.output),
        cache_read: whole.cache_read.saturating_sub(before.cache_read),
        cache_write: whole.cache_write.saturating_sub(before.cache_write),
    }
}

fn ended(
    heard: Transcript,
    usage: Usage,
    resets_at: Option<Time>,
    followed: &ProgramResult,
    wanted: &Value,
) -> TurnResult {
    let last_words = if heard.words.is_empty() { last_words(followed) } else { heard.words.clone() };
    let errors = String::from_utf8_lossy(&followed.stderr).into_owned();
    let answer = match (&followed.end, heard.outcome) {
        (End::TimedOut(_) | End::Silent(_) | End::Stopped | End::Signal(_), _) => {
            Err(failed(&followed.end, &errors))
        }
        (End::Exit(_), Some(Outcome::Done)) => answer::last_object(&heard.answer)
            .map(|found| strict::without_nulls(wanted, found))
            .ok_or(NoAnswer::NotJson),
        (End::Exit(_), Some(Outcome::Provider(ProviderFailure::Limit { words, .. }))) => {
            Err(ProviderFailure::Limit { resets_at, words }.into())
        }
        (End::Exit(_), Some(Outcome::Provider(failure))) => Err(failure.into()),
        (End::Exit(_), Some(Outcome::Failed { words })) => Err(failed(&followed.end, &words)),
        (End::Exit(_), None) if errors.contains(NO_CONVERSATION) => Err(NoAnswer::NoConversation),
        (End::Exit(_), None) => Err(failed(&followed.end, &errors)),
    };
    TurnResult { answer, session: heard.thread, usage, context: 0, cost_usd: None, last_words }
}

#[cfg(test)]
mod tests;
