//! Coding agents, one file each.
//!
//! A [`Turn`] is one question to an agent: a prompt, a tree to work in, the schema of the answer. [`Agent::run`] asks
//! it, shows what happens while it works, and returns the answer, checked. The agent is a process like any other:
//! behind walls if there are any, within its limits, and gone afterwards.

pub mod acp;
pub mod answer;
pub mod claude;
pub mod codex;
pub mod command;
pub mod interactive;
mod named;
pub mod notice;
pub mod opencode;
pub mod probe;
mod provider;
pub mod schema;
pub mod script;
mod words;

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::mpsc::Receiver,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use named::{KNOWN, Known, NamedError, named};
pub use notice::Notice;
pub use provider::{MissingAccess, ProviderFailure};

use crate::{
    process::{
        self, Control, End, Environment, Job, Limits, ProgramEvent, ProgramResult, Signal, SignalTarget,
    },
    sandbox::{self, SandboxUser, Walls},
};

/// How much of an agent's last words is kept, in characters.
const LAST_WORDS: usize = 4_000;
/// What a command that the agent runs is told, so that warp knows an agent's command from a person's.
const AGENT: &str = "AI_AGENT";

/// The variable that tells a hook which socket answers it, and the one with the token that the socket wants.
pub const HOOK_SOCKET: &str = "WARP_HOOK_SOCKET";
pub const HOOK_TOKEN: &str = "WARP_HOOK_TOKEN";

/// The variables that name the hosts to be reached without a proxy, and those that every route is on.
const NO_PROXY: [&str; 2] = ["no_proxy", "NO_PROXY"];
const LOOPBACK: &str = "127.0.0.1,localhost";

/// A coding agent.
pub trait Agent: Send + Sync {
    fn name(&self) -> &'static str;

    /// Returns whose models it asks: `anthropic`, `openai`, or `other` where that cannot be said.
    fn provider(&self) -> &'static str;

    fn capabilities(&self) -> Capabilities;

    /// Says how a person gives it a login that its provider accepts.
    fn login_hint(&self) -> &'static str {
        "log in again with the agent's own command, or give it a valid key"
    }

    /// Names its cheapest model, where there is a name for it that stays.
    fn cheap_model(&self) -> Option<&'static str> {
        None
    }

    /// Tells whether its model traffic takes the way that it is given, if it is to use this model.
    fn takes_route(&self, _model: Option<&str>) -> bool {
        self.capabilities().metered
    }

    /// Makes up the id of a new conversation, where the client lets others choose it. The client then works in it however
    /// soon it is killed.
    fn new_session(&self) -> std::io::Result<Option<String>> {
        Ok(None)
    }

    /// Asks the agent; `watch` is shown what it does, and can stop it. It is called several times a second.
    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult;
}

/// What works with an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Capabilities {
    /// A conversation can be gone on with.
    pub resume: bool,
    /// The client holds its model to the answer's schema.
    pub structured_answer: bool,
    /// The rails are asked before a tool runs.
    pub hooks: bool,
    /// It can be given an MCP server.
    pub mcp: bool,
    pub effort: bool,
    pub model: bool,
    /// It says what it has used.
    pub usage: bool,
    /// Its model traffic takes the way that it is given.
    pub metered: bool,
}

impl Capabilities {
    const ALL: Self = Self {
        resume: true,
        structured_answer: true,
        hooks: true,
        mcp: true,
        effort: true,
        model: true,
        usage: true,
        metered: true,
    };
}

/// One question to an agent.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Where it works.
    pub tree: &'a Path,
    pub prompt: &'a str,
    /// What its answer may look like, for clients that hold their model to that; the prompt says what is wanted. See [`schema`].
    pub schema: &'a Value,
    /// The conversation to go on with.
    pub resume: Option<&'a str>,
    /// The id that a new conversation gets; see [`Agent::new_session`].
    pub session: Option<&'a str>,
    /// How hard it is to think: `low`, `standard`, `high`, or what the agent itself knows.
    pub effort: Option<&'a str>,
    /// The model that it is to use; without one, the one that it is set to.
    pub model: Option<&'a str>,
    /// Where its model traffic goes; without one, its own way.
    pub route: Option<&'a Route>,
    /// A server that it may talk to.
    pub mcp: Option<&'a Mcp>,
    /// What it is offered beside what it needs.
    pub extras: Extras<'a>,
    /// Variables that it and its commands are given.
    pub facts: &'a [(String, String)],
    /// The walls that it works behind; without any, only what `allowed` names runs unasked.
    pub walls: Option<&'a Walls>,
    pub limits: Limits,
    /// Who is asked before a tool runs.
    pub hooks: Option<&'a Hooks>,
    /// Shell commands that an agent without walls may run, each by how it starts.
    pub allowed: &'a [String],
    /// The run that it works for; leftovers are found by that.
    pub mark: &'a str,
}

/// What a client offers its model beside the tools that read, write and run commands: each is paid for with every request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
    /// More of the client's own, by its names; [`Extras::ALL`] leaves the choice to the client.
    pub tools: &'a [String],
    /// Whether servers are started that the person or the tree names.
    pub servers: bool,
}

impl Extras<'_> {
    /// The word for everything that the client has.
    pub const ALL: &'static str = "all";

    /// Tells whether everything is offered that the client has.
    fn has_all(&self) -> bool {
        self.tools.iter().any(|tool| tool == Self::ALL)
    }

    /// Tells whether something is offered by its name.
    fn has(&self, name: &str) -> bool {
        self.has_all() || self.tools.iter().any(|tool| tool == name)
    }
}

impl Turn<'_> {
    /// Returns where the agent sees its tree.
    fn place(&self) -> &Path {
        self.walls.map_or(self.tree, Walls::inside)
    }

    /// Returns where the agent sees a file that warp shows it.
    fn seen(&self, path: &Path) -> PathBuf {
        self.walls.map_or_else(|| path.to_owned(), |walls| walls.seen_at(path))
    }

    /// Returns the sandbox with all that this agent needs to see (its program, which was `found`, files for the turn, and
    /// warp itself) and the program's name inside.
    fn shown(
        &self,
        walls: &Walls,
        program: &OsStr,
        found: &Path,
        files: &[PathBuf],
    ) -> Result<(Walls, OsString), NoAnswer> {
        let mut walls = walls.clone();
        let by_name = Path::new(program).components().count() == 1;
        let own = walls.project.as_ref().and_then(|project| found.strip_prefix(project).ok());
        match own.filter(|_| by_name) {
            // One that the project brings along is the tree's own.
            Some(own) if walls.tree.join(own).exists() => {}
            Some(_) => {
                let hint =
                    "it lies in your checkout, which agents do not see: install it elsewhere".to_owned();
                return Err(NoAnswer::Missing { program: found.display().to_string(), hint });
            }
            None => {
                walls.tools.push(found.to_owned());
                walls.visible.push(found.to_owned());
            }
        }
        walls.visible.extend(files.iter().cloned());
        walls.visible.extend(self.hooks.into_iter().flat_map(Hooks::files));
        walls.visible.extend(self.mcp.map(|mcp| mcp.program.clone()));
        let program = if by_name { program.to_owned() } else { self.seen(Path::new(program)).into() };
        Ok((walls, program))
    }
}

/// Where model traffic goes, by whose interface it speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// What Anthropic's `/v1/messages` is added to.
    pub anthropic: String,
    /// What OpenAI's `/responses` and `/chat/completions` are added to.
    pub openai: String,
}

/// A server of the Model Context Protocol that an agent starts and talks to on its standard input and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mcp {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub environment: Vec<(String, String)>,
}

impl Mcp {
    /// What agents know the server by.
    pub const NAME: &str = "warp";
}

/// How an agent's hooks reach warp.
#[derive(Clone, Debug)]
pub struct Hooks {
    /// The `warp` program.
    pub program: PathBuf,
    pub socket: PathBuf,
    pub token: String,
}

impl Hooks {
    /// Returns what has to be there for a hook to be answered.
    fn files(&self) -> [PathBuf; 2] {
        [self.program.clone(), self.socket.clone()]
    }
}

/// Progress of an agent's turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentUpdate {
    /// The name of its conversation.
    Session(String),
    Text(String),
    /// It uses a tool, and what for.
    Tool {
        name: String,
        about: String,
    },
    /// What is told in the same words for every client.
    Notice(Notice),
    /// The model that it uses, where nobody has chosen one for it.
    Model(String),
    /// What the turn has used so far.
    Usage(Usage),
    /// Some time has passed, and it has printed nothing for so long.
    Tick(Duration),
}

/// Result of an agent's turn.
#[derive(Debug)]
pub struct TurnResult {
    pub answer: Result<Value, NoAnswer>,
    pub session: Option<String>,
    pub usage: Usage,
    /// Tokens that the last request of the conversation held; 0 where the client does not say.
    pub context: u64,
    /// What the whole conversation has cost, earlier turns included.
    pub cost_usd: Option<f64>,
    /// The end of what it said, for a person who wants to know why.
    pub last_words: String,
}

/// Tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

/// Why an agent gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    #[error("it answered with no JSON object")]
    NotJson,
    #[error("it failed ({end}){}", after(words))]
    Failed { end: End, words: String },
    #[error("it was stopped after {} s", .0.as_secs())]
    TimedOut(Duration),
    #[error("it was stopped because it had said nothing for {} s", .0.as_secs())]
    Silent(Duration),
    #[error("it was stopped")]
    Stopped,
    /// Not the agent's fault: the run waits or asks a person, and no retry is counted.
    #[error(transparent)]
    Provider(#[from] ProviderFailure),
    #[error("`{program}` is not installed: {hint}")]
    Missing { program: String, hint: String },
    #[error("the conversation is not there any more")]
    NoConversation,
    #[error("it could not be started")]
    NotStarted(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl NoAnswer {
    /// Tells whether it may help to ask again at once.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NotJson
            | Self::Failed { .. }
            | Self::TimedOut(_)
            | Self::Silent(_)
            | Self::NoConversation => true,
            Self::Stopped | Self::Provider(_) | Self::Missing { .. } | Self::NotStarted(_) => false,
        }
    }
}

/// Puts words behind what they belong to, if there are any.
fn after(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

impl TurnResult {
    fn without(why: NoAnswer) -> Self {
        Self {
            answer: Err(why),
            session: None,
            usage: Usage::default(),
            context: 0,
            cost_usd: None,
            last_words: String::new(),
        }
    }
}

/// An agent's program.
struct Client<'a> {
    program: OsString,
    arguments: Vec<OsString>,
    /// Variables of its own, besides those that every agent gets.
    variables: Vec<(OsString, OsString)>,
    input: Vec<u8>,
    /// Files that it has to see, wherever they are.
    files: Vec<PathBuf>,
    ladder: &'a [(Signal, Duration)],
    /// What to do when it is not there.
    hint: &'a str,
}

impl Client<'_> {
    /// Runs it for a turn.
    fn follow(
        self,
        turn: &Turn<'_>,
        name: &str,
        watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control,
    ) -> Result<ProgramResult, NoAnswer> {
        self.converse(turn, name, None, watch)
    }

    /// Runs it for a turn; `read` tells what each line that it prints means, and `watch` is shown that.
    fn hear(
        self,
        turn: &Turn<'_>,
        name: &str,
        read: &mut dyn FnMut(&str) -> Vec<AgentUpdate>,
        watch: &mut dyn FnMut(AgentUpdate) -> Control,
    ) -> Result<ProgramResult, NoAnswer> {
        self.follow(turn, name, &mut |seen| match seen {
            ProgramEvent::Out(line) => read(line).into_iter().map(&mut *watch).max().unwrap_or(Control::On),
            ProgramEvent::Err(_) => Control::On,
            ProgramEvent::Tick { quiet } => watch(AgentUpdate::Tick(quiet)),
        })
    }

    /// Runs it for a turn; it is told what comes by `more` while it works.
    fn converse(
        self,
        turn: &Turn<'_>,
        name: &str,
        more: Option<Receiver<Vec<u8>>>,
        watch: &mut dyn FnMut(ProgramEvent<'_>) -> Control,
    ) -> Result<ProgramResult, NoAnswer> {
        let environment = environment(turn, name, self.variables);
        // Walls would start without it, so it is looked for before.
        let Some(found) = locate(&self.program, turn.tree) else {
            let program = self.program.to_string_lossy().into_owned();
            return Err(NoAnswer::Missing { program, hint: self.hint.to_owned() });
        };
        let (program, arguments, reach) = match turn.walls {
            Some(walls) => {
                let (mut walls, program) = turn.shown(walls, &self.program, &found, &self.files)?;
                show_login(&mut walls, name, &self.arguments);
                let (program, arguments) = walls
                    .wrap(SandboxUser::Agent, &program, self.arguments)
                    .map_err(|error| NoAnswer::NotStarted(Box::new(error)))?;
                (program, arguments, SignalTarget::Within(walls.bounds))
            }
            None => (self.program, self.arguments, SignalTarget::Group),
        };
        let job = Job {
            program,
            arguments,
            directory: turn.tree,
            environment: Environment::Exactly(environment),
            input: self.input,
            limits: turn.limits,
            ladder: self.ladder,
            reach,
            mark: turn.mark,
        };
        let ended = process::converse(job, more, watch);
        if turn.walls.is_some() {
            // What cannot be made ordinary is reported by whoever looks at the tree next.
            let _ = sandbox::tidy(turn.tree);
        }
        ended.map_err(|error| NoAnswer::NotStarted(Box::new(error)))
    }
}

/// Shows an agent the login of its client.
fn show_login(walls: &mut Walls, agent: &str, arguments: &[OsString]) {
    let line: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let own = sandbox::clients(agent, &line.join(" "), &walls.home);
    walls.logins.extend(own.into_iter().map(str::to_owned));
}

/// Looks whether a program is there, before anything is begun for it.
fn look_for(program: &Path, hint: &str) -> Result<(), NoAnswer> {
    match locate(program.as_os_str(), Path::new("/")) {
        Some(_) => Ok(()),
        None => Err(NoAnswer::Missing { program: program.display().to_string(), hint: hint.to_owned() }),
    }
}

/// Finds a program by its path, or by its name in `PATH`.
fn locate(program: &OsStr, directory: &Path) -> Option<PathBuf> {
    let path = Path::new(program);
    let places = std::env::var_os("PATH").unwrap_or_default();
    let mut candidates: Vec<PathBuf> = match path.components().count() {
        1 => std::env::split_paths(&places).map(|place| place.join(path)).collect(),
        _ => vec![directory.join(path)],
    };
    candidates.retain(|path| path.is_file());
    candidates.into_iter().next()
}

fn environment(turn: &Turn<'_>, name: &str, own: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut all = sandbox::environment(SandboxUser::Agent, &[]);
    all.retain(|(variable, _)| {
        variable.to_str().is_none_or(|variable| !sandbox::is_for_another(name, variable))
    });
    all.push((AGENT.into(), name.into()));
    all.extend(own);
    if turn.route.is_some() {
        // A proxy of the person's would look for the route on its own machine.
        let direct = |name: &str| match std::env::var(name) {
            Ok(hosts) if !hosts.is_empty() => format!("{hosts},{LOOPBACK}"),
            Ok(_) | Err(_) => LOOPBACK.to_owned(),
        };
        all.extend(NO_PROXY.map(|name| (name.into(), direct(name).into())));
    }
    all.extend(turn.facts.iter().map(|(name, value)| (name.into(), value.into())));
    if let Some(hooks) = turn.hooks {
        all.push((HOOK_SOCKET.into(), turn.seen(&hooks.socket).into()));
        all.push((HOOK_TOKEN.into(), hooks.token.clone().into()));
    }
    all
}

/// Turns the end of a program that gave no usable answer into the reason.
fn failed(end: &End, words: &str) -> NoAnswer {
    match end {
        End::TimedOut(after) => NoAnswer::TimedOut(*after),
        End::Silent(after) => NoAnswer::Silent(*after),
        End::Stopped => NoAnswer::Stopped,
        End::Exit(_) | End::Signal(_) => NoAnswer::Failed { end: end.clone(), words: words::message(words) },
    }
}

/// Returns the last `most` characters of a text.
fn tail(text: &str, most: usize) -> String {
    let text = text.trim();
    let skip = text.chars().count().saturating_sub(most);
    text.chars().skip(skip).collect()
}

/// Returns a text as one short line, to be shown.
fn brief(text: &str) -> String {
    const MOST: usize = 120;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MOST) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}

/// Returns the effort in the words that most clients use.
fn effort_word(effort: &str) -> &str {
    if effort == "standard" { "medium" } else { effort }
}

/// Returns the last words of both outputs of a program.
fn last_words(followed: &ProgramResult) -> String {
    let text =
        [&followed.stdout, &followed.stderr].map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
    let [out, err] = text;
    let joined = if out.is_empty() || err.is_empty() { out + &err } else { format!("{out}\n{err}") };
    tail(&joined, LAST_WORDS)
}
