//! A project, a feature to build in it, and an agent that builds it: a shell script that does what its phase wants.

use std::{fs, path::PathBuf, process::Command};

use serde_json::Value;
use testkit::{Said, Sandbox};

use crate::support::InProject as _;
pub(crate) use crate::support::said;

pub(crate) const FEATURE: &str = "Add a greeting";
pub(crate) const PLAN: &str = "docs/plans/2026-11-16-feat-greet-plan.md";
pub(crate) const TESTS: &str = "tests/acceptance/2026-11-16-greet-acceptance.sh";

/// An agent that goes straight through the loop. `$n` counts the turns of a phase; what a test wants otherwise is put
/// before the phases. Every prompt is kept where git does not look.
const AGENT: &str = r##"
mkdir -p .agent
n=$(($(cat ".agent/$WARP_PHASE" 2>/dev/null || echo 0) + 1))
echo "$n" > ".agent/$WARP_PHASE"
cat > ".agent/prompt-$WARP_PHASE-$n"
put() { mkdir -p "$(dirname "$1")"; printf '%s\n' "$2" > "$1"; }
answer() { printf '%s\n' "$1"; exit 0; }
plan=docs/plans/2026-11-16-feat-greet-plan.md
tests=tests/acceptance/2026-11-16-greet-acceptance.sh
greet() { put greet '#!/bin/sh
echo hello'; chmod +x greet; }
failing='./greet | grep -q hello'

# OTHERWISE

case $WARP_PHASE in
brainstorm)
    put docs/brainstorms/2026-11-16-greet-brainstorm.md '# Ways to greet'
    answer '{"artifact":"docs/brainstorms/2026-11-16-greet-brainstorm.md","summary":"a script will do"}' ;;
plan)
    put $plan '# A greeting'
    answer "{\"artifact\":\"$plan\",\"summary\":\"planned\"}" ;;
spec_test)
    put $tests "$failing"
    answer "{\"artifact\":\"$tests\",\"summary\":\"one test\"}" ;;
deepen)
    put $plan '# A greeting, with its edge cases'
    answer '{"summary":"edge cases"}' ;;
work)
    greet
    answer '{"summary":"it greets","failed_approaches":["a file that cannot be run"],"commit":{"type":"feat","scope":"greet","subject":"say hello"}}' ;;
review) answer '{"summary":"nothing to fix","findings":[{"severity":"p3","text":"short"}]}' ;;
fix)
    echo "# fixed $n" >> greet
    answer '{"summary":"fixed"}' ;;
re_review) answer '{"summary":"fixed indeed","findings":[]}' ;;
compound)
    put docs/solutions/shell/greet.md '# A script needs a shebang'
    answer '{"artifact":"docs/solutions/shell/greet.md","summary":"learnt"}' ;;
test) answer '{"event":"tests_passed","summary":"it greets as a user would see"}' ;;
ship) answer '{"promise":"SHIPPED","summary":"all done"}' ;;
esac
"##;

/// A project on `main`, with tests, in which an agent can work.
pub(crate) struct Project {
    pub(crate) sandbox: Sandbox,
}

impl Project {
    pub(crate) fn new() -> Self {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
        sandbox.git(&["switch", "--quiet", "main"]);
        prepare(&sandbox);
        let project = Self { sandbox };
        project.otherwise("");
        project
    }

    /// Lets the agent do something else first, in lines of shell.
    pub(crate) fn otherwise(&self, lines: &str) {
        fs::write(self.agent(), AGENT.replace("# OTHERWISE", lines)).unwrap();
    }

    pub(crate) fn agent(&self) -> PathBuf {
        self.sandbox.home().join("agent.sh")
    }

    /// Makes a `warp run` that begins the feature.
    pub(crate) fn command(&self, more: &[&str]) -> Command {
        self.command_of(&[&["--workflow", "autonomous-loop", FEATURE], more].concat())
    }

    /// Makes a `warp run` with the agent, behind walls where there can be any.
    pub(crate) fn command_of(&self, arguments: &[&str]) -> Command {
        let agent = format!("command:sh {}", self.agent().display());
        let mut all = vec!["run", "--agent", &agent];
        all.extend(arguments);
        if adapters::sandbox::Sandbox::find().is_err() {
            all.push("--no-sandbox");
        }
        self.sandbox.warp_command(&all)
    }

    /// Begins the feature, or goes on with it, until `warp run` ends.
    pub(crate) fn run(&self, more: &[&str]) -> Said {
        said(self.command(more))
    }

    /// Begins the feature with nobody to look at the tests.
    pub(crate) fn run_alone(&self, more: &[&str]) -> Said {
        self.run(&[&["--skip-brainstorm", "--skip-test-review"], more].concat())
    }

    /// Returns where the run works.
    pub(crate) fn tree(&self) -> PathBuf {
        self.sandbox.journal().with_file_name("slots/1/tree")
    }

    /// Returns a file of the run's workspace.
    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.tree().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Returns what the agent was told in a turn of a phase.
    pub(crate) fn prompt(&self, phase: &str, turn: u64) -> String {
        self.read(&format!(".agent/prompt-{phase}-{turn}"))
    }

    /// Returns the run as the state file shows it.
    pub(crate) fn state(&self) -> Value {
        serde_json::from_str(&self.read(".claude/autonomous-loop.json")).unwrap()
    }

    /// Returns the run's records, oldest first.
    pub(crate) fn log(&self) -> Vec<Value> {
        serde_json::from_str(&self.sandbox.warp_ok(&["log", "--json"])).unwrap()
    }

    /// Returns the phases that the run went through.
    pub(crate) fn phases(&self) -> Vec<String> {
        let mut phases: Vec<String> =
            self.log().iter().map(|row| row["phase"].as_str().unwrap().to_owned()).collect();
        phases.dedup();
        phases
    }

    /// Returns the open question: its id and its words.
    pub(crate) fn question(&self) -> (String, String) {
        let status = self.sandbox.json(&["status", "--json"]);
        let asked = [&status["asked"], &status["decision"]].into_iter().find(|asked| asked.is_object());
        let asked = asked.unwrap_or_else(|| panic!("no question is open: {status:#}"));
        (asked["id"].as_str().unwrap().to_owned(), asked["question"].as_str().unwrap().to_owned())
    }

    pub(crate) fn answer(&self, option: &str, more: &[&str]) {
        let (id, _) = self.question();
        self.sandbox.warp_ok(&[&["answer", &id, option], more].concat());
    }

    /// Sees that the loop has ended with its promise kept.
    pub(crate) fn is_shipped(&self) {
        assert_eq!(self.log().last().unwrap()["event"], "shipped");
        self.is_offered();
    }

    /// Sees that the feature is offered as a pull request whose branch has all of it, and nothing else was touched.
    pub(crate) fn is_offered(&self) {
        let pull = self.sandbox.warp_ok(&["pr", "show", "1"]);
        assert!(pull.contains(FEATURE) && pull.contains("feature/add-a-greeting -> main"), "{pull}");
        let files = self.sandbox.git(&["ls-tree", "-r", "--name-only", "feature/add-a-greeting"]);
        for file in [PLAN, TESTS, "greet", "docs/solutions/shell/greet.md"] {
            assert!(files.lines().any(|line| line == file), "{file}: {files}");
        }
        assert_eq!(self.sandbox.git(&["status", "--porcelain"]), "");
        assert_eq!(self.sandbox.git(&["log", "--format=%s", "main"]), "chore: tests\nchore: begin");
    }
}

/// Writes what the feature is built on, and commits it.
pub(crate) fn prepare(sandbox: &Sandbox) {
    sandbox.write("Makefile", "test:\n\t@for test in tests/*.sh; do sh $$test || exit 1; done\n");
    sandbox.write("tests/begin.sh", "test -e Makefile\n");
    sandbox.write(".gitignore", ".agent\n");
    sandbox.commit("chore: tests");
}
