//! A home with a repository in it, and `warp` there: within its deadline and its memory, and with an exit code of the table.

use std::{
    ffi::OsStr,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use serde_json::Value;
use tempfile::TempDir;

use super::bad::trace;

/// The codes of the table that the help shows. An internal error is not among them: bad input is none.
const CODES: [i32; 9] = [0, 1, 2, 3, 4, 5, 64, 65, 78];
/// How long a command may take. It is far beyond what any of them needs, on a busy machine too.
const DEADLINE: Duration = Duration::from_secs(120);
/// More memory than this, in kilobytes, is needed only by what reads a device to its end.
const MEMORY: u32 = 4_000_000;

/// A temporary home with a repository in it.
pub(crate) struct Home {
    pub(crate) directory: TempDir,
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { directory: TempDir::with_prefix("warp-bad-input-").unwrap() };
        fs::create_dir(home.root()).unwrap();
        home.git(&["init", "--quiet", "--initial-branch", "main"]);
        home.git(&["commit", "--quiet", "--allow-empty", "-m", "chore: begin"]);
        home.git(&["switch", "--quiet", "-c", "feature/issue-42"]);
        home
    }

    /// A home whose repository has a run in `discovering`.
    pub(crate) fn with_run() -> Self {
        let home = Self::new();
        home.warp(["state", "init", ".", "--level", "2", "--issue", "42"]).is(0, &[]);
        home.warp(["state", "transition", ".", "prerequisites_ok"]).is(0, &[]);
        home
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("demo")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let home = self.directory.path();
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.root()).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home);
        command.env("XDG_STATE_HOME", home.join("state")).env("XDG_CONFIG_HOME", home.join("config"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "Test");
            command.env(format!("GIT_{role}_EMAIL"), "test@localhost");
        }
        command
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        assert!(self.command("git").args(arguments).status().unwrap().success(), "git {arguments:?}");
    }

    /// Runs `warp` within its deadline and its memory.
    pub(crate) fn warp<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Said {
        let mut command = self.command("sh");
        let script = format!("ulimit -v {MEMORY}; exec \"$@\"");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_warp")]).args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, err) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
        let (out, err) = (in_time(&mut child, &out), in_time(&mut child, &err));
        let status = child.wait().unwrap();
        let said = Said { code: status.code().unwrap_or(-1), out, err };
        assert!(CODES.contains(&said.code), "{status}: {said:?}");
        assert!(!said.err.contains("panicked"), "{said:?}");
        said
    }

    pub(crate) fn transition(&self, event: &str, data: impl AsRef<OsStr>) -> Said {
        self.warp(
            ["state", "transition", ".", event, "--data"].map(OsStr::new).into_iter().chain([data.as_ref()]),
        )
    }

    /// Returns the run's events as the log shows them, without those that only say what was set aside.
    pub(crate) fn history(&self) -> Vec<Value> {
        let said = self.warp(["log", "--json"]);
        said.is(0, &[]);
        let rows: Vec<Value> = serde_json::from_str(&said.out).unwrap();
        let mut rows: Vec<Value> =
            rows.into_iter().filter(|row| row["event"] != "state_file_set_aside").collect();
        for row in &mut rows {
            row.as_object_mut().unwrap().remove("seq");
        }
        rows
    }

    /// Returns the project's directory in the state directory.
    pub(crate) fn store(&self) -> PathBuf {
        let projects = self.directory.path().join("state/warp/projects");
        fs::read_dir(projects).unwrap().next().unwrap().unwrap().path()
    }

    /// Asserts that what was at `path` still is, or lies among the files set aside.
    pub(crate) fn keeps(&self, path: &Path, before: &str) {
        let aside = fs::read_dir(self.root().join(".git/warp/set-aside"));
        let aside = aside.into_iter().flatten().map(|entry| entry.unwrap().path());
        let kept = std::iter::once(path.to_owned()).chain(aside).any(|path| trace(&path) == before);
        assert!(kept, "{} ({before}) is lost", path.display());
    }
}

impl Said {
    /// Asserts the exit code, and that the message has all of these words.
    #[track_caller]
    pub(crate) fn is(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {}", self.err);
        }
    }
}

fn read_all(pipe: Option<impl Read + Send + 'static>) -> Receiver<io::Result<String>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = pipe.map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut bytes));
        sender.send(read.map(|_| String::from_utf8_lossy(&bytes).into_owned()))
    });
    receiver
}

fn in_time(child: &mut Child, output: &Receiver<io::Result<String>>) -> String {
    match output.recv_timeout(DEADLINE) {
        Ok(text) => text.unwrap(),
        Err(_) => {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it has not ended after {} seconds", DEADLINE.as_secs());
        }
    }
}
