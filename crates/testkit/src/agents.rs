//! Real coding agents in a hermetic project, talking to a scripted [`Model`](crate::model::Model).
//!
//! A client is a program of some hundred megabytes that a test cannot count on: [`Claude::or_skip`] and its like return
//! none, and say `skipped: …`, where it is not there or does not start. `cargo xtask test` installs them all and tells
//! tests where by the variables `WARP_TEST_CLAUDE`, `WARP_TEST_CODEX`, `WARP_TEST_OPENCODE` and `WARP_TEST_ACP`.
//!
//! ```no_run
//! use testkit::{Sandbox, agents::Claude, model::{Model, Turn}};
//!
//! let Some(claude) = Claude::or_skip() else { return };
//! let sandbox = Sandbox::new("warp");
//! let model = Model::start([Turn::bash("echo hello > greeting"), Turn::say("greeted")]);
//! let ended = claude.launch(&sandbox, &model, "Greet.").run();
//! assert_eq!(ended.code, Some(0), "{ended:?}");
//! assert_eq!(sandbox.read("greeting").as_deref(), Some("hello\n"));
//! ```
//!
//! A client sees an environment built from nothing, the sandbox's home and the model; it needs no network but loopback.

mod acp;
mod claude;
mod codex;
mod launch;
mod opencode;
mod running;

use std::{
    env,
    ffi::OsString,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
};

pub use acp::Acp;
pub use claude::Claude;
pub use codex::Codex;
pub use launch::Launch;
pub use opencode::OpenCode;
pub use running::{Ended, Running, output};
pub(crate) use running::{PATIENCE, ends_before};

/// Says that the present test is skipped, on a line of its own that `cargo xtask test` counts.
pub fn skip(reason: &str) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let mut out = std::io::stdout().lock();
    // Not a print macro, whose output is swallowed when the test passes; and first an end of line, because the
    // runner may have left its dots without one. There is nowhere to complain if this fails.
    let _ = out.write_all(format!("\nskipped: {test}: {reason}\n").as_bytes()).and_then(|()| out.flush());
}

/// What was found of a client, looked for once.
type Found = OnceLock<Result<PathBuf, String>>;

/// Finds a client, or says that the test is skipped, and why.
fn find_or_skip(found: &Found, variable: &str) -> Option<PathBuf> {
    match found.get_or_init(|| find(variable)) {
        Ok(program) => Some(program.clone()),
        Err(reason) => {
            skip(reason);
            None
        }
    }
}

/// Finds a client by its environment variable and makes sure that it starts.
fn find(variable: &str) -> Result<PathBuf, String> {
    let program = PathBuf::from(env::var_os(variable).ok_or(format!("{variable} is not set"))?);
    let home = tempfile::tempdir().map_err(|error| format!("there is no temporary directory: {error}"))?;
    let mut command = Command::new(&program);
    command
        .arg("--version")
        .env_clear()
        // Without it, a client that is a script would not find what runs it.
        .env("PATH", search_path(&[]))
        .env("HOME", home.path())
        .current_dir(home.path())
        .stdin(Stdio::null());
    let ended = Running::start(command, PATIENCE).map(|mut running| running.wait());
    let reason = match ended {
        Ok(Ended { code: Some(0), .. }) => return Ok(program),
        Ok(Ended { overdue: true, .. }) => "it does not end".to_owned(),
        Ok(Ended { code: Some(code), .. }) => format!("it ends with {code}"),
        Ok(Ended { code: None, signal, .. }) => format!("it ends with signal {}", signal.unwrap_or_default()),
        Err(error) => error.to_string(),
    };
    Err(format!("`{} --version` does not work: {reason}", program.display()))
}

/// Returns the search path of this process with `first` before it.
fn search_path(first: &[PathBuf]) -> OsString {
    let inherited = env::var_os("PATH").unwrap_or_default();
    let all = first.iter().cloned().chain(env::split_paths(&inherited));
    env::join_paths(all).expect("a directory of the search path has no separator in its name")
}
