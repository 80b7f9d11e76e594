//! The demo project, and `warp` in it.

use std::{
    env, fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};
use serde_json::{Value, json};
use testkit::{Said, Sandbox};

use super::demo::line;
use crate::support::InProject as _;
pub(crate) use crate::support::{Ended, Running};

/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(120);

/// The demo project on its main branch.
pub(crate) struct Demo {
    pub(crate) sandbox: Sandbox,
    pub(crate) port: u16,
}

impl Demo {
    /// Makes the project; its server takes its port from `$PORT`, and is never started again by itself.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// Makes the project with another `dev.json`.
    pub(crate) fn with(change: impl FnOnce(&mut Value)) -> Self {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
        sandbox.git(&["switch", "--quiet", "main"]);
        let port = testkit::machine::port();
        let demo = Self { sandbox, port };
        let mut dev = json!({
            "server": { "command": format!("PORT=$PORT {}", line("serve")), "port": port, "health": "/health",
                "restart": "never" },
            "migrations": { "command": line("migrate"), "auto_run": true },
            "seed": { "directory": "seed", "runner": format!("FILE=\"$1\" {}", line("seed")), "order": "numeric" },
            "auth": { "adapter": "sqlite", "users_file": "seed/users.json", "table": "people" },
        });
        change(&mut dev);
        let sandbox = &demo.sandbox;
        sandbox.write("dev.json", format!("{dev:#}\n"));
        sandbox.write(".gitignore", "dev.db\n");
        sandbox.write(
            "migrations/001.sql",
            "CREATE TABLE teas (id INTEGER PRIMARY KEY, name TEXT);\nCREATE TABLE people (email TEXT UNIQUE, admin INT);\n",
        );
        sandbox.write("seed/2-sencha.sql", "INSERT OR IGNORE INTO teas VALUES (1, 'sencha');\n");
        sandbox.write("seed/10-assam.sql", "INSERT OR IGNORE INTO teas VALUES (2, 'assam');\n");
        sandbox.write("seed/users.json", r#"[{"email": "ann@localhost", "admin": true}]"#);
        sandbox.write("warp.toml", "[workflow]\ntest_command = \"true\"\nmax_acs_per_commit = 1\n");
        demo.commit("chore: demo");
        demo
    }

    pub(crate) fn commit(&self, subject: &str) {
        self.sandbox.commit(subject);
    }

    /// Files an issue with two criteria, and lets the agent do in each chunk these steps and what is wanted.
    pub(crate) fn issue(&self, number: u64, steps: [&str; 2]) {
        let criteria = "- [ ] file1.txt has a word\n- [ ] file2.txt has a word\n";
        self.sandbox.issue(number, &format!("# Words {number}\n\n{criteria}"));
        self.script(steps);
    }

    /// Gives the agent other steps.
    pub(crate) fn script(&self, steps: [&str; 2]) {
        let turn = |(index, steps): (usize, &&str)| {
            let chunk = index + 1;
            format!(
                "[[turn]]\nphase = \"coding\"\nchunk = {chunk}\nsteps = [\n{steps}\n\
                 {{ write = \"file{chunk}.txt\", text = \"word\\n\" }},\n]\n\
                 answer = {{ summary = \"a word\", evidence = [{{ ac = \"AC-0{chunk}\", file = \"file{chunk}.txt\", line = 1 }}] }}\n"
            )
        };
        let script: String = steps.iter().enumerate().map(turn).collect();
        fs::write(self.sandbox.home().join("script.toml"), script).unwrap();
    }

    /// Makes `warp run`, behind walls where there can be any.
    fn run_command(&self, more: &[&str]) -> Command {
        let agent = format!("script:{}", self.sandbox.home().join("script.toml").display());
        let mut arguments = vec!["run", "--once", "--level", "3"];
        if !more.contains(&"--agent") {
            arguments.extend(["--agent", &agent]);
        }
        arguments.extend(["--set", "decision_timeout_minutes=0"]);
        if adapters::sandbox::Sandbox::find().is_err() && !more.contains(&"--no-sandbox") {
            arguments.push("--no-sandbox");
        }
        arguments.extend(more);
        self.warp_command(&arguments)
    }

    /// Makes a command of warp that shows the demo, which may be below `/tmp`, in the sandbox.
    fn warp_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.warp_command(arguments);
        command.env("WARP_SANDBOX_SHOW", env::current_exe().unwrap());
        command
    }

    /// Runs to the end.
    pub(crate) fn run(&self, more: &[&str]) -> Ended {
        self.start(more).end()
    }

    /// Runs to the end, with more variables.
    pub(crate) fn run_with(&self, more: &[&str], variables: &[(&str, &str)]) -> Ended {
        let mut command = self.run_command(more);
        command.envs(variables.iter().copied());
        Running::start(command).end()
    }

    pub(crate) fn start(&self, more: &[&str]) -> Running {
        Running::start(self.run_command(more))
    }

    /// Waits until warp keeps a file of that name for the environment of the first workspace.
    pub(crate) fn waits_for_file(&self, name: &str) {
        let until = Instant::now() + PATIENCE;
        let is_there = || {
            let slot = self
                .sandbox
                .read(".git/warp/project-id")
                .map(|_| self.sandbox.journal().with_file_name("slots/1/git/warp/dev").join(name));
            slot.is_some_and(|path| path.exists())
        };
        while !is_there() {
            assert!(Instant::now() < until, "there is never a `{name}`");
            thread::yield_now();
        }
    }

    pub(crate) fn warp(&self, arguments: &[&str]) -> Said {
        self.sandbox.warp(arguments)
    }

    /// Returns what was seen of the environment in a run, each with its words.
    pub(crate) fn seen(&self, issue: &str) -> Vec<(String, String)> {
        let log = self.sandbox.json(&["log", issue, "--json"]);
        let is_seen = |event: &str| event.starts_with("dev_") || event == "seeds_missing";
        let rows = log.as_array().unwrap().iter().map(|row| {
            let text = row["data"]["text"].as_str().unwrap_or_default();
            (row["event"].as_str().unwrap().to_owned(), text.to_owned())
        });
        rows.filter(|(event, _)| is_seen(event)).collect()
    }

    /// Returns the names of what was seen.
    pub(crate) fn seen_names(&self, issue: &str) -> Vec<String> {
        self.seen(issue).into_iter().map(|(event, _)| event).collect()
    }

    /// Returns the question that a run asks: its id and its words.
    pub(crate) fn question(&self, issue: &str) -> (String, String, Value) {
        let status = self.sandbox.json(&["status", issue, "--json"]);
        let asked = &status["asked"];
        let text = |key: &str| asked[key].as_str().unwrap_or_else(|| panic!("{status:#}")).to_owned();
        (text("id"), text("question"), asked["options"].clone())
    }

    /// Waits until nothing runs for the project any more.
    pub(crate) fn is_quiet(&self) {
        let until = Instant::now() + PATIENCE;
        while let Some((pid, line)) = processes_of(self.sandbox.home()).into_iter().next() {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "it is still running: {line}");
            wait_for(pid, left);
        }
    }

    /// Returns the processes of servers that run for the project.
    pub(crate) fn servers(&self) -> Vec<Pid> {
        let all = processes_of(self.sandbox.home());
        let is_server = |pid: &Pid| {
            let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|entry| entry == b"DEMO=serve")
        };
        all.into_iter().map(|(pid, _)| pid).filter(is_server).collect()
    }

    /// Asks a server, and returns the text of its answer.
    pub(crate) fn ask(port: u16, path: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text.rsplit("\r\n\r\n").next().unwrap().to_owned()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // A test that fails leaves nothing behind.
        for (pid, _) in processes_of(self.sandbox.home()) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Waits until a process has ended.
pub(crate) fn wait_for(pid: Pid, limit: Duration) {
    // One that cannot be opened any more is gone.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let timeout = Timespec { tv_sec: limit.as_secs().try_into().unwrap(), tv_nsec: 1_000_000 };
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timeout)).unwrap();
}

/// Returns the processes that know this home, but for this test itself.
fn processes_of(home: &Path) -> Vec<(Pid, String)> {
    let home = home.to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
        else {
            continue;
        };
        let Ok(environment) = fs::read(entry.path().join("environ")) else { continue };
        if String::from_utf8_lossy(&environment).contains(home) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push((pid, String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    found
}

/// A step by which an agent makes the server quit.
pub(crate) fn quit() -> String {
    format!("{{ run = '''{}''' }},", line("quit"))
}

/// Returns the database of a workspace.
pub(crate) fn rows(root: PathBuf, query: &str) -> Vec<String> {
    let database = rusqlite::Connection::open(root.join("dev.db")).unwrap();
    let mut select = database.prepare(query).unwrap();
    let rows = select.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(Result::unwrap).collect()
}
