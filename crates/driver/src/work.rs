//! What an agent works with: the walls around it, the hooks that watch it, its limits and what it is told of the run.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use adapters::{
    agent::{Extras, HOOK_SOCKET, HOOK_TOKEN, Hooks, Mcp, Route, Turn},
    process::Limits,
    sandbox::Walls,
};
use engine::{Key, Run, keys};
use hooks::Server;
use project::Shell;
use serde_json::Value;

/// How long an agent may take for one turn where no phase limits it: a working day.
const LONGEST: Duration = Duration::from_secs(8 * 60 * 60);

/// Everything about an agent's place that stays the same from turn to turn.
#[derive(Clone)]
pub(crate) struct Confined {
    pub(crate) tree: PathBuf,
    pub(crate) walls: Option<Walls>,
    /// How what agents have written is run; it has the environment variables of the run.
    pub(crate) shell: Shell,
    /// None for an agent that asks for leave without a process of its own.
    pub(crate) hooks: Option<Hooks>,
    /// The server by whose tools an agent talks back.
    pub(crate) mcp: Option<Mcp>,
    /// Shell commands that an agent without walls may run unasked.
    pub(crate) allowed: Vec<String>,
    /// Answers the hooks for as long as the loop runs, and knows what was refused.
    pub(crate) server: Option<Arc<Server>>,
}

/// What is said to an agent, and in which conversation.
#[derive(Clone, Copy)]
pub(crate) struct Talk<'a> {
    pub(crate) prompt: &'a str,
    pub(crate) schema: &'a Value,
    /// The conversation to resume.
    pub(crate) resume: Option<&'a str>,
    /// The id of a new one, where it can be chosen.
    pub(crate) session: Option<&'a str>,
}

/// What a turn is given beside its question.
#[derive(Clone, Copy, Default)]
pub(crate) struct Given<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) effort: Option<&'a str>,
    /// Where its model traffic goes.
    pub(crate) route: Option<&'a Route>,
}

/// What an agent is offered beside the tools that it needs: what a person has asked for, because each is paid for with every
/// request.
pub(crate) struct Offered {
    tools: Vec<String>,
    servers: Vec<String>,
}

impl Offered {
    pub(crate) fn of(run: &Run) -> Self {
        Self { tools: run.settings.get(keys::AGENT_TOOLS), servers: run.settings.get(keys::MCP_TOOLS) }
    }

    /// Limits a turn to that. The brief asks for an answer and not for calls, so warp's own server is for those who have listed its
    /// tools.
    pub(crate) fn to<'a>(&'a self, turn: Turn<'a>) -> Turn<'a> {
        let is_warps = |entry: &&String| entry.split('/').next() == Some(Mcp::NAME);
        let warps = self.servers.iter().filter(is_warps).count();
        Turn {
            mcp: turn.mcp.filter(|_| warps > 0),
            extras: Extras { tools: &self.tools, servers: self.servers.len() > warps },
            ..turn
        }
    }
}

/// The tree of a run, which is given back to its person at the end: they, or an agent that they start, may resume in it.
pub(crate) struct Lent(pub(crate) Option<Walls>);

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(walls) = &self.0 {
            // What stays the sandbox user's, git names when somebody works there.
            let _ = walls.give_back();
        }
    }
}

impl Confined {
    /// Returns where the agent sees its tree.
    pub(crate) fn place(&self) -> &Path {
        self.walls.as_ref().map_or(&self.tree, Walls::inside)
    }

    /// Returns a text for the agent, in which paths are those that it sees.
    pub(crate) fn told<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.walls {
            Some(walls) => Cow::Owned(walls.view().inside_text(text).into_owned()),
            None => Cow::Borrowed(text),
        }
    }

    /// Sets what a conversation of the present turn is told if it forgets its brief.
    pub(crate) fn set_reminder(&self, text: String) {
        if let Some(server) = &self.server {
            server.set_reminder(text);
        }
    }

    /// Tells whether a conversation has forgotten its brief since this was last asked.
    pub(crate) fn take_forgotten(&self) -> bool {
        self.server.as_ref().is_some_and(|server| server.take_compacted())
    }

    /// Returns what an agent and its commands are told of the run, as variables.
    pub(crate) fn facts(&self, run: &Run) -> Vec<(String, String)> {
        let fact = |name: &str, value: String| (name.to_owned(), value);
        let mut all = self.shell.env();
        all.extend([
            fact("WARP_RUN", run.id.to_string()),
            fact("WARP_ISSUE", run.issue.clone().unwrap_or_default()),
            fact("WARP_WORKFLOW", run.workflow.clone()),
            fact("WARP_PHASE", run.phase.to_string()),
            fact("WARP_CHUNK", run.chunk.index.to_string()),
            fact("WARP_CYCLE", (run.counter("coding_cycles") + run.counter("fix_review_cycles")).to_string()),
        ]);
        all
    }

    /// Returns one question to an agent.
    pub(crate) fn turn<'a>(
        &'a self,
        run: &'a Run,
        talk: Talk<'a>,
        facts: &'a [(String, String)],
        given: &Given<'a>,
    ) -> Turn<'a> {
        let minutes = |key: Key<u64>| Duration::from_secs(60 * run.settings.get(key).max(1));
        let whole = match run.settings.get(keys::PHASE_TIMEOUT_ENFORCEMENT) {
            "warn" => LONGEST.min(minutes(keys::MAX_SESSION_MINUTES)),
            _ => minutes(keys::MAX_PHASE_MINUTES),
        };
        let silence = Duration::from_secs(run.settings.get(keys::AGENT_SILENCE_SECONDS).max(1));
        Turn {
            tree: &self.tree,
            prompt: talk.prompt,
            schema: talk.schema,
            resume: talk.resume,
            session: talk.session,
            effort: given.effort,
            model: given.model,
            route: given.route,
            mcp: self.mcp.as_ref(),
            extras: Extras::default(),
            facts,
            walls: self.walls.as_ref(),
            limits: Limits { whole, silence: silence.min(whole) },
            hooks: self.hooks.as_ref(),
            allowed: &self.allowed,
            mark: run.id.as_str(),
        }
    }
}

/// Returns the server by whose tools an agent talks back. Not every client hands its environment on, so it is told how
/// its calls are answered.
pub(crate) fn tools(hooks: &Hooks) -> Mcp {
    Mcp {
        program: hooks.program.clone(),
        arguments: vec!["mcp".to_owned()],
        environment: vec![
            (HOOK_SOCKET.to_owned(), hooks.socket.display().to_string()),
            (HOOK_TOKEN.to_owned(), hooks.token.clone()),
        ],
    }
}
