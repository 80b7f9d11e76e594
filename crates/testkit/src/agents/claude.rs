//! Claude Code, without a person (`claude -p`) and in a terminal.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Found, Launch, find_or_skip};
use crate::{Sandbox, model::Model};

/// An installed Claude Code.
#[derive(Debug, Clone)]
pub struct Claude {
    program: PathBuf,
}

impl Claude {
    /// Finds the client that `WARP_TEST_CLAUDE` names; where there is none that starts, says so and returns none.
    pub fn or_skip() -> Option<Self> {
        static FOUND: Found = Found::new();
        find_or_skip(&FOUND, "WARP_TEST_CLAUDE").map(|program| Self { program })
    }

    /// Returns the client at this path.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Returns the client's program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Prepares a command of the client's that asks no model, as `plugin validate` does.
    pub fn plain(&self, sandbox: &Sandbox, arguments: &[&str]) -> Launch<Self> {
        let mut launch = Launch::new(&self.program, sandbox);
        launch
            .command
            .args(arguments)
            .env("CLAUDE_CODE_TMPDIR", launch.home.join("tmp"))
            .env("DISABLE_TELEMETRY", "1")
            .env("DISABLE_ERROR_REPORTING", "1")
            .env("DISABLE_AUTOUPDATER", "1")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        launch
    }

    /// Prepares a client in the sandbox's project whose tools run without asking anyone.
    pub fn launch(&self, sandbox: &Sandbox, model: &Model, prompt: &str) -> Launch<Self> {
        // The prompt comes first: some options take all that follows.
        let mut launch = self.plain(sandbox, &["-p", prompt, "--output-format", "stream-json", "--verbose"]);
        launch
            .command
            .args(["--permission-mode", "bypassPermissions"])
            // Without it, a superuser may not bypass permissions.
            .env("IS_SANDBOX", "1");
        launch.asks(model)
    }

    /// Makes the home that of a person who has used the client before: the project and its MCP server are trusted, and
    /// the client has put its own settings file on the person's list of ignored files.
    pub fn trust(sandbox: &Sandbox) {
        let root = sandbox.root().canonicalize().expect("the project is there");
        let mut known = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "customApiKeyResponses": { "approved": [KEY], "rejected": [] },
        });
        known["projects"][root.to_string_lossy().as_ref()] =
            json!({ "hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["warp"] });
        let write = |path: &str, text: &str| {
            let path = sandbox.home().join(path);
            fs::create_dir_all(path.parent().expect("a file has a directory"))
                .expect("directories can be made");
            fs::write(path, text).expect("the file can be written");
        };
        write(".claude.json", &known.to_string());
        // Where git looks for it depends on whether XDG_CONFIG_HOME is set.
        for directory in ["config", ".config"] {
            write(&format!("{directory}/git/ignore"), "**/.claude/settings.local.json\n");
        }
    }

    /// Prepares a client for a terminal, in the sandbox's project, which is [trusted](Self::trust). Tools that change
    /// something run without asking.
    pub fn interactive(&self, sandbox: &Sandbox, model: &Model) -> Launch<Self> {
        Self::trust(sandbox);
        let arguments = ["--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write"];
        let launch = self.plain(sandbox, &arguments);
        launch.asks(model)
    }
}

/// The key that the model is asked with.
const KEY: &str = "dummy";

impl Launch<Claude> {
    /// Has the client ask this model.
    fn asks(self, model: &Model) -> Self {
        self.env("ANTHROPIC_BASE_URL", model.url())
            .env("ANTHROPIC_API_KEY", KEY)
            // Ten tries, the default, would outlast every test.
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
    }

    /// Adds a settings file, or settings as JSON text.
    #[must_use]
    pub fn settings(self, settings: impl AsRef<Path>) -> Self {
        self.argument("--settings").argument(settings.as_ref())
    }

    /// Loads a plugin from a directory.
    #[must_use]
    pub fn plugin_dir(self, directory: impl AsRef<Path>) -> Self {
        self.argument("--plugin-dir").argument(directory.as_ref())
    }

    /// Gives the session an identifier, which is a UUID.
    #[must_use]
    pub fn session_id(self, id: &str) -> Self {
        self.argument("--session-id").argument(id)
    }

    /// Goes on with an earlier session of the same home and directory.
    #[must_use]
    pub fn resume(self, id: &str) -> Self {
        self.argument("--resume").argument(id)
    }

    /// Changes who is asked before a tool runs; given twice, the last counts.
    #[must_use]
    pub fn permission_mode(self, mode: &str) -> Self {
        self.argument("--permission-mode").argument(mode)
    }

    /// Lets some tools run without asking, as in `Bash(git:*)`.
    #[must_use]
    pub fn allowed_tools(self, tools: &str) -> Self {
        self.argument("--allowedTools").argument(tools)
    }

    /// Ends the run after this many turns of the model.
    #[must_use]
    pub fn max_turns(self, turns: u32) -> Self {
        self.argument("--max-turns").argument(turns.to_string())
    }
}
