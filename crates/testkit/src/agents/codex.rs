//! Codex, without a person: `codex exec`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{Found, Launch, find_or_skip};
use crate::{Sandbox, model::Model};

/// Where the client keeps what is its own, below the home.
const DIRECTORY: &str = ".codex";

/// An installed Codex.
#[derive(Debug, Clone)]
pub struct Codex {
    program: PathBuf,
}

impl Codex {
    /// Finds the client that `WARP_TEST_CODEX` names; where there is none that starts, says so and returns none.
    pub fn or_skip() -> Option<Self> {
        static FOUND: Found = Found::new();
        find_or_skip(&FOUND, "WARP_TEST_CODEX").map(|program| Self { program })
    }

    /// Returns the client's program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Prepares a client in the sandbox's project whose tools run without asking anyone and without walls.
    ///
    /// Its own directory is `.codex` in the sandbox's home; its configuration is written anew each time.
    pub fn launch(&self, sandbox: &Sandbox, model: &Model, prompt: &str) -> Launch<Self> {
        let open = ["--dangerously-bypass-approvals-and-sandbox".to_owned()];
        self.prepare(sandbox, model, prompt, &open)
    }

    /// Like [`Codex::launch`], but tools run within walls: they write to the project without its `.git`, and to the
    /// directories given.
    pub fn launch_walled(
        &self,
        sandbox: &Sandbox,
        model: &Model,
        prompt: &str,
        writable: &[PathBuf],
    ) -> Launch<Self> {
        let setting = format!("sandbox_workspace_write.writable_roots={writable:?}");
        let walls = ["--sandbox", "workspace-write", "--config", &setting].map(ToOwned::to_owned);
        self.prepare(sandbox, model, prompt, &walls)
    }

    /// Writes the configuration by which every client of this home finds the model, as a person would have it. Its key
    /// is in `OPENAI_API_KEY`.
    pub fn configure(sandbox: &Sandbox, model: &Model) {
        let directory = sandbox.home().join(DIRECTORY);
        fs::create_dir_all(&directory).expect("the client's directory can be made");
        let project = sandbox.root().canonicalize().expect("the project is there");
        fs::write(directory.join("config.toml"), configuration(&model.url(), &project))
            .expect("the client's configuration can be written");
    }

    fn prepare(&self, sandbox: &Sandbox, model: &Model, prompt: &str, walls: &[String]) -> Launch<Self> {
        Self::configure(sandbox, model);
        let mut launch = Launch::new(&self.program, sandbox);
        let directory = launch.codex_home();
        launch
            .command
            .args(["exec", "--json", "--skip-git-repo-check"])
            .args(walls)
            // Plugins would be looked for in the network; lost connections would be waited for without end.
            .args(["--disable", "plugins", "--disable", "unbounded_connection_retries"])
            .env("CODEX_HOME", directory)
            .env("OPENAI_API_KEY", "dummy");
        launch.last = vec![prompt.into()];
        launch
    }
}

impl Launch<Codex> {
    /// Installs hooks for this home, in the form of a `hooks.json`, and trusts them.
    #[must_use]
    pub fn hooks(self, hooks: &Value) -> Self {
        fs::write(self.codex_home().join("hooks.json"), hooks.to_string()).expect("hooks can be written");
        self.trust_hooks()
    }

    /// Trusts all hooks that the client finds; others are passed over without a word.
    #[must_use]
    pub fn trust_hooks(self) -> Self {
        self.argument("--dangerously-bypass-hook-trust")
    }

    /// Goes on with an earlier thread of the same home.
    #[must_use]
    pub fn resume(mut self, thread: &str) -> Self {
        self.last.splice(0..0, ["resume".into(), thread.into()]);
        self
    }

    fn codex_home(&self) -> PathBuf {
        self.home.join(DIRECTORY)
    }
}

fn configuration(url: &str, project: &Path) -> String {
    // The model is one of the client's catalogue: to an unknown one it offers fewer tools. A login shell would
    // replace the search path with the machine's.
    format!(
        "\
model = 'gpt-5.5'
model_provider = 'scripted'
check_for_update_on_startup = false
allow_login_shell = false

[model_providers.scripted]
name = 'scripted'
base_url = '{url}/v1'
wire_api = 'responses'
env_key = 'OPENAI_API_KEY'
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false

[projects.'{}']
trust_level = 'trusted'
",
        project.display()
    )
}
