//! An agent in a terminal, where a person can look on and type: the same walls, hooks and variables as for a turn.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{NoAnswer, Turn, claude, command, environment, locate, show_login};
use crate::{
    process::{MARK, name},
    sandbox::{SandboxUser, Walls},
    tmux::SessionProgram,
};

/// How an agent's terminal looks when it waits for somebody to type.
const CLAUDE_PROMPT: &str = "❯";

/// What a client shows under a choice.
const CHOICE: &str = "Enter to confirm";
/// The file of the home in which Claude Code keeps what a person has agreed to.
const CLAUDE_STATE: &str = ".claude.json";

/// An agent as it is started in a terminal.
#[derive(Clone, Debug)]
pub struct Interactive {
    pub name: &'static str,
    /// What its terminal shows when it waits; none if nobody can tell.
    pub prompt: Option<&'static str>,
    program: OsString,
    arguments: Vec<OsString>,
    hint: &'static str,
}

impl Interactive {
    /// Finds an agent that can be talked to in a terminal, by its name: `claude`, `codex` or `command:LINE`.
    pub fn named(text: &str) -> Option<Self> {
        let agent = |name, prompt, program: &str, hint| Self {
            name,
            prompt,
            program: program.into(),
            arguments: Vec::new(),
            hint,
        };
        match text.split_once(':') {
            None if text == "claude" => Some(agent("claude", Some(CLAUDE_PROMPT), "claude", claude::INSTALL)),
            None if text == "codex" => {
                let hint = "`npm install --global @openai/codex` installs it";
                Some(agent("codex", Some("›"), "codex", hint))
            }
            Some(("command", line)) if !line.trim().is_empty() => {
                let mut shell = agent("command", Some(CLAUDE_PROMPT), "sh", "a POSIX shell is needed");
                shell.arguments = vec!["-c".into(), line.trim().into()];
                Some(shell)
            }
            Some(_) | None => None,
        }
    }

    /// Looks whether its program is there, before anything is begun for it.
    pub fn look_for(&self) -> Result<(), NoAnswer> {
        match locate(&self.program, Path::new("/")) {
            Some(_) => Ok(()),
            None => Err(self.missing()),
        }
    }

    /// Returns whose models it asks, as the agent without a terminal does.
    pub fn provider(&self) -> &'static str {
        match self.name {
            "claude" => "anthropic",
            "codex" => "openai",
            _ => "other",
        }
    }

    /// Tells whether its model traffic takes the way that it is given.
    pub fn is_metered(&self) -> bool {
        match self.name {
            "claude" => claude::takes_route(),
            "codex" => false,
            _ => true,
        }
    }

    /// Returns what is run in the terminal; `directory` is one for files of the session's own. The prompt and the schema
    /// of the turn are not used: it is typed to.
    pub fn inside(&self, turn: &Turn<'_>, directory: &Path) -> Result<SessionProgram, NoAnswer> {
        let found = locate(&self.program, turn.tree).ok_or_else(|| self.missing())?;
        let mut own = match self.name {
            "claude" => claude::variables(turn),
            "command" => command::route(turn.route),
            _ => Vec::new(),
        };
        own.push((MARK.into(), name(turn.mark, "terminal").into()));
        let environment = environment(turn, self.name, own);
        let arguments = self.arguments(turn);
        let Some(walls) = turn.walls else {
            return Ok(SessionProgram { program: self.program.clone(), arguments, environment });
        };
        let (mut walls, program) = turn.shown(walls, &self.program, &found, &[])?;
        show_login(&mut walls, self.name, &arguments);
        if self.name == "claude" {
            let state = consent(&walls, directory);
            let state = state.map_err(|error| NoAnswer::NotStarted(Box::new(error)))?;
            walls.instead.push((state, walls.home.join(CLAUDE_STATE)));
        }
        let wrapped = walls.wrap(SandboxUser::Agent, &program, arguments);
        let (program, arguments) = wrapped.map_err(|error| NoAnswer::NotStarted(Box::new(error)))?;
        Ok(SessionProgram { program, arguments, environment })
    }

    /// Tells whether a terminal shows that the agent can be typed to: its prompt, and no choice that a person has to make.
    pub fn is_ready(&self, seen: &str) -> bool {
        self.prompt.is_none_or(|prompt| seen.contains(prompt)) && !self.asks(seen)
    }

    /// Tells whether a terminal shows a choice that a person has to make.
    pub fn asks(&self, seen: &str) -> bool {
        self.name != "command" && seen.contains(CHOICE)
    }

    fn arguments(&self, turn: &Turn<'_>) -> Vec<OsString> {
        let walled = turn.walls.is_some();
        match self.name {
            "claude" => {
                let mode = if walled { "bypassPermissions" } else { "acceptEdits" };
                let settings = claude::settings(turn).to_string();
                let mut all: Vec<OsString> =
                    ["--permission-mode", mode, "--settings", &settings].map(OsString::from).into();
                if let Some(mcp) = turn.mcp {
                    all.extend(["--mcp-config".into(), claude::servers(turn, mcp).to_string().into()]);
                }
                all
            }
            "codex" if walled => vec!["--dangerously-bypass-approvals-and-sandbox".into()],
            _ => self.arguments.clone(),
        }
    }

    fn missing(&self) -> NoAnswer {
        let program = self.program.to_string_lossy().into_owned();
        NoAnswer::Missing { program, hint: self.hint.to_owned() }
    }
}

/// Writes what Claude Code knows of the person, with their consent to work in the tree, which is warp's: behind walls
/// nobody has to be asked for that, as nobody is when the client runs without a terminal.
fn consent(walls: &Walls, directory: &Path) -> io::Result<PathBuf> {
    let known = fs::read_to_string(walls.home.join(CLAUDE_STATE)).unwrap_or_default();
    let mut known: Value = serde_json::from_str(&known).unwrap_or_default();
    if !known.is_object() {
        known = json!({});
    }
    known["bypassPermissionsModeAccepted"] = json!(true);
    if !known["projects"].is_object() {
        known["projects"] = json!({});
    }
    let tree = walls.inside().canonicalize()?.display().to_string();
    known["projects"][tree] = json!({ "hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["warp"] });
    let file = directory.join("claude.json");
    let mut private = fs::OpenOptions::new();
    let mut opened = private.create(true).write(true).truncate(true).mode(0o600).open(&file)?;
    io::Write::write_all(&mut opened, known.to_string().as_bytes())?;
    Ok(file)
}
