//! Hermetic projects for tests: a home, a git configuration and a state directory of their own.
//!
//! Nothing of the person who runs the tests is read or written, and nothing outside the temporary directory.
//! [`agents`] runs real coding agents in such a project, against a [`model`] that says what the test wants.

pub mod agents;
pub mod driven;
pub mod forges;
pub mod machine;
pub mod model;
pub mod processes;
pub mod telegram;
pub mod terminal;

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

use crate::agents::{PATIENCE, output};

/// A temporary home with a project in it.
#[derive(Debug)]
pub struct Sandbox {
    warp: PathBuf,
    directory: TempDir,
    /// Where the project is in the home.
    project: PathBuf,
    /// Whether runs check that the project's tests can fail. Most tests are about something else, and theirs are `true`.
    proves: bool,
}

/// What a command printed, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Sandbox {
    /// Makes a home with an empty git repository named `demo`, on a feature branch. `warp` is the program to test.
    pub fn new(warp: impl AsRef<Path>) -> Self {
        let mut sandbox = Self::below(warp, &std::env::temp_dir(), "demo");
        sandbox.proves = false;
        sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "chore: begin"]);
        sandbox.git(&["switch", "--quiet", "-c", "feature/issue-42-parser"]);
        sandbox
    }

    /// Makes a home below `parent`, with a git repository at `project` that has no commit yet, on `main`.
    pub fn below(warp: impl AsRef<Path>, parent: &Path, project: &str) -> Self {
        let directory =
            TempDir::with_prefix_in("warp-test-", parent).expect("a temporary directory can be made");
        let sandbox =
            Self { warp: warp.as_ref().to_owned(), directory, project: project.into(), proves: true };
        fs::create_dir_all(sandbox.root()).expect("the project's directory can be made");
        fs::create_dir(sandbox.temporary()).expect("a directory for temporary files can be made");
        sandbox.git(&["init", "--quiet", "--initial-branch", "main"]);
        sandbox
    }

    /// Lets runs check that the project's tests can fail, as they do for people.
    #[must_use]
    pub fn proving(mut self) -> Self {
        self.proves = true;
        self
    }

    /// Returns the project's root.
    pub fn root(&self) -> PathBuf {
        self.home().join(&self.project)
    }

    /// Returns the temporary home.
    pub fn home(&self) -> &Path {
        self.directory.path()
    }

    /// Returns where commands put temporary files: what a killed one leaves behind goes with the home.
    fn temporary(&self) -> PathBuf {
        self.home().join("tmp")
    }

    /// Makes a command that knows only this home.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.root()).stdin(Stdio::null());
        // Without PATH neither git nor a shell would be found.
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("LANG", "C.UTF-8").env("COLUMNS", "100").env("TZ", "UTC");
        command
            .env("TMPDIR", self.temporary())
            .env("XDG_STATE_HOME", self.home().join("state"))
            .env("XDG_CONFIG_HOME", self.home().join("config"));
        // How much memory is free depends on what else runs.
        command.env("WARP_MIN_FREE_MB", "0");
        if !self.proves {
            command.env("WARP_TEST_PROOF", "false");
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "Test")
                .env(format!("GIT_{role}_EMAIL"), "test@localhost");
        }
        command
    }

    /// Makes a `warp` command in the project.
    pub fn warp_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.warp);
        command.args(arguments);
        command
    }

    /// Runs `warp` in the project.
    pub fn warp(&self, arguments: &[&str]) -> Said {
        self.said(&output(self.warp_command(arguments), PATIENCE))
    }

    /// Runs `warp` and expects success; returns what it printed.
    pub fn warp_ok(&self, arguments: &[&str]) -> String {
        let said = self.warp(arguments);
        assert_eq!(said.code, Some(0), "warp {arguments:?}: {said:?}");
        said.out
    }

    /// Offers events to the project's run, one after the other, and expects each to be taken.
    pub fn transitions(&self, events: &[&str]) {
        for event in events {
            self.warp_ok(&["state", "transition", ".", event]);
        }
    }

    /// Files or updates an issue of the project from a text with a title as heading.
    pub fn issue(&self, number: u64, markdown: &str) {
        let file = self.home().join(format!("issues/{number}.md"));
        fs::create_dir_all(file.parent().expect("a file has a directory")).expect("directories can be made");
        fs::write(&file, markdown).expect("the file can be written");
        self.warp_ok(&["issue", "import", file.to_str().expect("the home is text"), "--approve"]);
    }

    /// Runs git in the project and expects success.
    pub fn git(&self, arguments: &[&str]) -> String {
        let mut command = self.command("git");
        command.args(arguments);
        let output = output(command, PATIENCE);
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directories can be made");
        fs::write(path, text).expect("the file can be written");
    }

    /// Writes a program, to be found in the project's directory or at an absolute path; returns where it is.
    ///
    /// Another process writes it: a descriptor of this one, inherited by a program that another test starts just then,
    /// would keep it from being run ("text file busy").
    pub fn program(&self, path: impl AsRef<Path>, text: &str) -> PathBuf {
        let path = self.root().join(path);
        let write = "mkdir -p \"${2%/*}\" && printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"";
        let mut command = self.command("sh");
        command.args(["-c", write, "sh", text]).arg(&path);
        let output = output(command, PATIENCE);
        assert!(output.status.success(), "{}: {output:?}", path.display());
        path
    }

    /// Reads a file of the project; none if it is not there.
    pub fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    /// Returns the project's journal.
    pub fn journal(&self) -> PathBuf {
        let id = self.read(".git/warp/project-id").expect("the project has an id");
        self.home().join("state/warp/projects").join(id.trim()).join("journal.db")
    }

    /// Takes what changes from run to run out of a text: times, run ids, process ids, the directory.
    pub fn plain(&self, text: &str) -> String {
        let home = self.home().canonicalize().expect("the home is there");
        let text = text.replace(home.to_str().expect("the home is text"), "[HOME]");
        let plain: String = text.split_inclusive(char::is_whitespace).map(plain_word).collect();
        without_local_times(&plain)
    }

    fn said(&self, output: &Output) -> Said {
        let text = |bytes: &[u8]| self.plain(&String::from_utf8_lossy(bytes));
        Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// Takes out times as people read them: day, time of day and zone, which is UTC in every sandbox.
fn without_local_times(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(" UTC") {
        let is_time = |form: &str| {
            let time = before.get(before.len().checked_sub(form.len())?..)?;
            let fits =
                |(byte, form): (u8, u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
            time.bytes().zip(form.bytes()).all(fits).then_some(time.len())
        };
        match is_time("0000-00-00 00:00:00").or_else(|| is_time("0000-00-00 00:00")) {
            Some(length) => plain.push_str(&format!("{}[TIME]", &before[..before.len() - length])),
            None => plain.push_str(&format!("{before} UTC")),
        }
        rest = after;
    }
    plain + rest
}

fn plain_word(word: &str) -> String {
    let core = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let is_time = core.len() >= 20 && core.as_bytes()[4] == b'-' && core.ends_with('Z') && core.contains('T');
    if is_time { word.replace(core, "[TIME]") } else { word.to_owned() }
}
