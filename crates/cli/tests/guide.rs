//! The commands of docs/guide.md, run one after the other in a home of their own, as a new person would.
//!
//! A block of the language `console` is run: a line that begins with `$ ` is a command, lines that begin with `> ` go on
//! with it, and the rest is what it prints. In what is printed `…` stands for any text, and alone on a line for any
//! lines. Times, days, and names that warp and git make up (runs, commits) may differ; where the guide uses such a name in
//! a command, the one that was printed in its place is taken. A command that fails is followed by `$ echo $?`.
//!
//! In place of a model a scripted agent works (`agent.toml`).

mod page;
mod shown;

use std::{fs, path::PathBuf, time::Duration};

use testkit::{Sandbox, agents::output, machine::has_walls_or_skip};

use page::{Call, calls};
use shown::Names;

const WARP: &str = env!("CARGO_BIN_EXE_warp");
/// How long a command of the guide may take.
const PATIENCE: Duration = Duration::from_secs(240);

#[test]
fn the_commands_of_the_guide_print_what_it_says() {
    if !has_walls_or_skip() {
        return;
    }
    let guide = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide.md");
    let calls = calls(&fs::read_to_string(guide).unwrap());
    assert!(calls.len() > 20, "the guide has {} commands", calls.len());
    let mut person = Person::new();
    for (index, call) in calls.iter().enumerate() {
        let is_expected = calls.get(index + 1).is_some_and(|next| next.command == "echo $?");
        person.does(call, is_expected);
    }
}

/// Somebody who types what the guide says.
struct Person {
    sandbox: Sandbox,
    directory: PathBuf,
    code: i32,
    names: Names,
}

impl Person {
    fn new() -> Self {
        let sandbox = Sandbox::new(WARP).proving();
        fs::write(sandbox.home().join("agent.toml"), include_str!("guide/agent.toml")).unwrap();
        Self { directory: sandbox.home().to_owned(), sandbox, code: 0, names: Names::default() }
    }

    fn does(&mut self, call: &Call, may_fail: bool) {
        let home = self.sandbox.home().canonicalize().unwrap();
        let typed = self.names.put_into(&call.command);
        // The code of the command before is there, and the directory stays for the next one.
        let line =
            format!("exec 2>&1; (exit {}); {typed}\ncode=$?; pwd > ~/.directory; exit $code", self.code);
        let mut command = self.sandbox.command("sh");
        command.args(["-c", &line]).current_dir(&self.directory);
        let programs = PathBuf::from(WARP).parent().unwrap().display().to_string();
        command.env("PATH", format!("{programs}:{}", std::env::var("PATH").unwrap()));
        command.env("WARP_AGENT", format!("script:{}", home.join("agent.toml").display()));
        let output = output(command, PATIENCE);
        self.code = output.status.code().unwrap_or(-1);
        self.directory = fs::read_to_string(home.join(".directory")).unwrap().trim_end().into();
        let printed = String::from_utf8_lossy(&output.stdout).replace(home.to_str().unwrap(), "/home/you");
        let (line, command) = (call.line, &call.command);
        if let Err((line, wanted)) = self.names.compare(call, &printed) {
            panic!("docs/guide.md:{line}: `{command}` does not print `{wanted}`, but:\n{printed}");
        }
        assert!(self.code == 0 || may_fail, "docs/guide.md:{line}: `{command}` ends with {}", self.code);
    }
}
