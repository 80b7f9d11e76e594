//! OpenCode, without a person: `opencode run`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{Found, Launch, find_or_skip};
use crate::{Sandbox, model::Model};

/// What keeps the client from the network, and from what takes it seconds: lists of models, newer versions of itself,
/// plugins, servers of languages.
const QUIET: [&str; 4] = [
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
];

/// An installed OpenCode.
#[derive(Debug, Clone)]
pub struct OpenCode {
    program: PathBuf,
}

impl OpenCode {
    /// Finds the client that `WARP_TEST_OPENCODE` names; where there is none that starts, says so and returns none.
    pub fn or_skip() -> Option<Self> {
        static FOUND: Found = Found::new();
        find_or_skip(&FOUND, "WARP_TEST_OPENCODE").map(|program| Self { program })
    }

    /// Returns the client's program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Writes the configuration by which every client of this home finds the model, as a person would have it.
    ///
    /// The model speaks OpenAI's chats: what it takes for that is built into the client.
    pub fn configure(sandbox: &Sandbox, model: &Model) {
        let configuration = json!({
            "model": "scripted/scripted",
            "small_model": "scripted/scripted",
            "provider": { "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "scripted",
                "options": { "baseURL": format!("{}/v1", model.url()), "apiKey": "dummy" },
                "models": { "scripted": {
                    "name": "scripted",
                    "tool_call": true,
                    "limit": { "context": 200_000, "output": 8_000 },
                } },
            } },
            "autoupdate": false,
            "share": "disabled",
        });
        let directory = sandbox.home().join("config/opencode");
        fs::create_dir_all(&directory).expect("the client's directory can be made");
        fs::write(directory.join("opencode.json"), configuration.to_string())
            .expect("the client's configuration can be written");
    }

    /// Prepares a client in the sandbox's project whose tools run without asking anyone.
    pub fn launch(&self, sandbox: &Sandbox, model: &Model, prompt: &str) -> Launch<Self> {
        Self::configure(sandbox, model);
        let mut launch = Launch::new(&self.program, sandbox);
        launch.command.args(["run", "--format", "json"]).envs(QUIET.map(|name| (name, "1")));
        launch.last = vec![prompt.into()];
        launch
    }
}

impl Launch<OpenCode> {
    /// Goes on with an earlier session of the same home.
    #[must_use]
    pub fn resume(self, session: &str) -> Self {
        self.argument("--session").argument(session)
    }
}
