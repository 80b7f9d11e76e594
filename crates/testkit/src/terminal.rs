//! A program in a terminal: tmux, with a server of its own.
//!
//! ```no_run
//! use testkit::{Sandbox, agents::Claude, model::{Model, Turn}, terminal::Terminal};
//!
//! let (Some(claude), false) = (Claude::or_skip(), Terminal::is_skipped()) else { return };
//! let (sandbox, model) = (Sandbox::new("warp"), Model::start([Turn::say("hello")]));
//! let terminal = claude.interactive(&sandbox, &model).in_terminal((120, 40));
//! terminal.type_line("Greet.");
//! terminal.wait_for("hello");
//! ```
//!
//! The server runs in the foreground as a [`Running`], so it and all that was started in it end when the terminal is
//! dropped.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::agents::{PATIENCE, Running, output, skip};

/// How long to wait between two looks at the screen.
const POLL: Duration = Duration::from_millis(50);
/// How much of a typed text has to be on the screen before it is sent.
const SHOWN: usize = 20;

/// A terminal with one program in it.
#[derive(Debug)]
pub struct Terminal {
    server: Running,
    /// Holds the server's socket.
    directory: TempDir,
}

impl Terminal {
    /// Tells whether tmux is missing, and says then that the test is skipped.
    pub fn is_skipped() -> bool {
        let is_missing = Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err();
        if is_missing {
            skip("tmux is not installed");
        }
        is_missing
    }

    /// Starts a command in a terminal of this many columns and rows. It sees the environment that the command sets,
    /// and nothing of this process's.
    pub fn start(command: &Command, (columns, rows): (u16, u16)) -> Self {
        // A socket's path may have 107 bytes, so it is not in the sandbox's home.
        let directory =
            TempDir::with_prefix("warp-test-terminal-").expect("a temporary directory can be made");
        let mut server = tmux(directory.path());
        server.env_clear().envs(environment(command));
        server.env("TERM", "screen-256color").arg("-D").stdin(Stdio::null());
        let server = Running::start(server, PATIENCE).expect("tmux can be started");
        let terminal = Self { server, directory };
        let size = [columns, rows].map(|number| number.to_string());
        let mut session: Vec<&OsStr> =
            ["new-session", "-d", "-s", "test", "-x", &size[0], "-y", &size[1]].map(OsStr::new).to_vec();
        if let Some(directory) = command.get_current_dir() {
            session.extend([OsStr::new("-c"), directory.as_os_str()]);
        }
        session.extend([OsStr::new("--"), command.get_program()]);
        session.extend(command.get_args());
        // The program's last words stay readable after its end.
        session.extend([";", "set", "-g", "remain-on-exit", "on"].map(OsStr::new));
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut call = terminal.call(&session);
            // A program that a call starts is given the search path of that call, not that of the server.
            call.env_clear().envs(environment(command));
            if output(call, PATIENCE).status.success() {
                return terminal;
            }
            assert!(Instant::now() < deadline, "tmux does not start: {}", terminal.server.out());
            thread::sleep(POLL);
        }
    }

    /// Types a text, waits until the screen shows it, and presses return.
    pub fn type_line(&self, text: &str) {
        self.done(&["send-keys", "-t", "test", "-l", "--", text]);
        // A return that comes together with the text is taken for a part of what was pasted.
        let typed = dense(text);
        let end: String = typed.chars().skip(typed.chars().count().saturating_sub(SHOWN)).collect();
        self.wait_until(&format!("what was typed, `{text}`"), |screen| dense(screen).contains(&end));
        self.press("Enter");
    }

    /// Presses a key by tmux's name for it, as in `Enter`, `Escape`, `C-c`.
    pub fn press(&self, key: &str) {
        self.done(&["send-keys", "-t", "test", key]);
    }

    /// Waits until the screen contains a text; returns the screen.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("`{text}`"), |screen| screen.contains(text))
    }

    /// Waits until the screen is as wanted; returns it.
    pub fn wait_until(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if is_wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "{what} is not on the screen:\n{screen}");
            thread::sleep(POLL);
        }
    }

    /// Returns what is on the screen, without empty lines at its end.
    pub fn screen(&self) -> String {
        let captured = self.done(&["capture-pane", "-p", "-t", "test"]);
        String::from_utf8_lossy(&captured.stdout).trim_end().to_owned()
    }

    fn done(&self, arguments: &[&str]) -> Output {
        let call = self.call(&arguments.iter().map(OsStr::new).collect::<Vec<_>>());
        let output = output(call, PATIENCE);
        assert!(output.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn call(&self, arguments: &[&OsStr]) -> Command {
        let mut command = tmux(self.directory.path());
        // Without `-N` a call that comes before the server listens would start another, with this process's environment.
        command.arg("-N").args(arguments).stdin(Stdio::null());
        command
    }
}

/// Returns the variables that a command sets.
fn environment(command: &Command) -> impl Iterator<Item = (&OsStr, &OsStr)> {
    command.get_envs().filter_map(|(name, value)| Some((name, value?)))
}

/// Makes a call of the server whose socket is in a directory.
fn tmux(directory: &Path) -> Command {
    let mut command = Command::new("tmux");
    command.env_remove("TMUX").args(["-f", "/dev/null", "-S"]).arg(directory.join("socket"));
    command
}

/// Takes white space out of a text, which a program in a terminal wraps where it likes.
fn dense(text: &str) -> String {
    text.split_whitespace().collect()
}
