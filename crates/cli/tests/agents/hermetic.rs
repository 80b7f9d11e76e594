//! A driver in a process of its own.
//!
//! What drives an agent takes the home and the state directory from its environment, which a test must not change for
//! those beside it. So a test starts itself again, alone and with the environment of its sandbox.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use adapters::{
    agent::{Agent, AgentUpdate, Extras, Hooks, Route, Turn, TurnResult},
    process::{Control, Limits},
    sandbox::{self, Line, Walls},
};
use serde_json::{Value, json};
use testkit::{Sandbox, model::Model};

use crate::support::InProject as _;

const ROOT: &str = "WARP_TEST_ROOT";
const MODEL: &str = "WARP_TEST_MODEL";
/// How long an agent may take, and how long it may say nothing.
pub(crate) const LIMITS: Limits =
    Limits { whole: Duration::from_secs(120), silence: Duration::from_secs(60) };

/// A project whose run stands in `coding`.
pub(crate) fn project() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.write("Makefile", "test:\n\t@true\n");
    sandbox.commit("chore: tests");
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42"]);
    sandbox.transitions(&["prerequisites_ok", "work_selected", "plan_ready", "chunks_defined"]);
    sandbox
}

/// Runs `inside` as the driver of a run, in a process that `outside` prepares; what else that returns lives as long.
pub(crate) fn drive<T>(
    test: &str,
    outside: impl FnOnce() -> Option<(T, Command)>,
    inside: impl FnOnce(&Driver),
) {
    if let Some(root) = env::var_os(ROOT) {
        inside(&Driver::new(root.into()));
        return;
    }
    let Some((_kept, mut command)) = outside() else { return };
    let test = format!("agents::{test}");
    let output = command.args(["--exact", &test, "--nocapture"]).stdin(Stdio::null()).output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Makes the command by which a test starts itself again in a sandbox.
pub(crate) fn again(sandbox: &Sandbox) -> Command {
    let mut command = sandbox.command(env::current_exe().unwrap());
    command.env(ROOT, sandbox.root().canonicalize().unwrap());
    command
}

/// Makes that command with the model that the agent's traffic is led to.
pub(crate) fn again_with(sandbox: &Sandbox, model: &Model) -> Command {
    let mut command = again(sandbox);
    command.env(MODEL, model.url());
    command
}

/// What drives an agent.
pub(crate) struct Driver {
    pub(crate) root: PathBuf,
    pub(crate) server: hooks::Server,
    pub(crate) walls: Option<Walls>,
    route: Option<Route>,
}

impl Driver {
    fn new(root: PathBuf) -> Self {
        let home = PathBuf::from(env::var_os("HOME").unwrap());
        let state = home.join("state/warp");
        let walls = sandbox::Sandbox::find().ok().map(|found| {
            let mut walls = found.walls(&root, &home, &state.join("kept"));
            walls.hidden = vec![state];
            // A run does this with the command line of its agent.
            if let Ok(program) = env::var(super::acp::PROGRAM) {
                walls.show_files_of(&program, Line::Typed);
            }
            walls
        });
        let route = env::var(MODEL).ok().map(|url| Route { openai: format!("{url}/v1"), anthropic: url });
        Self {
            server: hooks::Server::start(
                &project::Place::at(&root).unwrap(),
                &project::Dirs::from_environment().unwrap(),
                Default::default(),
                project::Shell::default(),
            )
            .unwrap(),
            walls,
            route,
            root,
        }
    }

    pub(crate) fn warp() -> &'static Path {
        Path::new(env!("CARGO_BIN_EXE_warp"))
    }

    /// Returns what the rails refused, whether or not the client tells of it.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.server.take_refusals().iter().map(ToString::to_string).collect()
    }

    pub(crate) fn hooks(&self) -> Hooks {
        self.server.hooks(Self::warp())
    }

    /// Asks an agent; returns also what was said.
    pub(crate) fn ask(
        &self,
        agent: &dyn Agent,
        prompt: &str,
        resume: Option<&str>,
    ) -> (TurnResult, Vec<AgentUpdate>) {
        self.ask_within(agent, prompt, resume, LIMITS)
    }

    pub(crate) fn ask_within(
        &self,
        agent: &dyn Agent,
        prompt: &str,
        resume: Option<&str>,
        limits: Limits,
    ) -> (TurnResult, Vec<AgentUpdate>) {
        let facts =
            [("WARP_PHASE", "coding"), ("WARP_ISSUE", "42"), ("WARP_CHUNK", "1"), ("WARP_CYCLE", "0")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let hooks = self.hooks();
        let turn = Turn {
            tree: &self.root,
            prompt,
            schema: &schema(),
            resume,
            session: None,
            effort: Some("standard"),
            model: None,
            route: self.route.as_ref(),
            mcp: None,
            extras: Extras::default(),
            facts: &facts,
            walls: self.walls.as_ref(),
            limits,
            hooks: Some(&hooks),
            allowed: &[],
            mark: "r-test",
        };
        let mut said = Vec::new();
        let ended = agent.run(&turn, &mut |heard| {
            if !matches!(heard, AgentUpdate::Tick(_)) && said.len() < 1000 {
                said.push(heard);
            }
            Control::On
        });
        (ended, said)
    }
}

fn schema() -> Value {
    json!({ "type": "object", "required": ["summary"], "properties": { "summary": { "type": "string" } } })
}
