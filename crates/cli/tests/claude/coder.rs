//! A model that works for `warp run`: what it does follows from what it is asked, and it is asked anew in each phase.

use serde_json::{Value, json};
use testkit::model::{Part, Request, Role, Script, Turn};

/// How every prompt of a run begins.
pub(crate) const PROMPT: &str = "You work in the phase `";
/// How the client tells its model where it works.
const DIRECTORY: &str = "working directory: ";
/// What the model says when its answer was taken.
const THAT_IS_ALL: &str = "That is all.";

const GREETS: &str = "#!/bin/sh\nname=${1:-you}\necho \"hello, $name\"\n";
const GREETS_WELL: &str = "#!/bin/sh\ncase \"$1\" in\n--version) echo 'greet 1'; exit ;;\n-*) echo \"greet: $1?\" >&2; exit 64 ;;\nesac\nname=${1:-you}\necho \"hello, $name\"\n";
const HELLO: &str = "sh greet.sh | grep -q 'hello, you' && echo 'ok 1 - says hello'\nsh greet.sh Ada | grep -q 'hello, Ada' && echo 'ok 2 - says the name'\n";
const OPTIONS: &str = "sh greet.sh --no-such 2>/dev/null && exit 1\nsh greet.sh --version | grep -q 'greet 1' || { echo 'not ok 4 - version is printed'; exit 1; }\necho 'ok 4 - version is printed'\n";

/// What the model is asked, and how far it is with it.
pub(crate) struct Asked {
    pub(crate) phase: String,
    /// The prompt.
    pub(crate) prompt: String,
    /// How often the model has spoken since.
    pub(crate) moves: usize,
    directory: String,
}

impl Asked {
    pub(crate) fn of(request: &Request) -> Self {
        let said = |index: usize| request.entries[index].part.text().unwrap_or_default();
        let is_prompt =
            |index: &usize| request.entries[*index].role == Role::User && said(*index).contains(PROMPT);
        let last = (0..request.entries.len()).rfind(is_prompt).expect("every turn begins with a prompt");
        let spoken = request.entries[last..].iter().filter(|entry| {
            entry.role == Role::Assistant && matches!(entry.part, Part::Text(_) | Part::Call { .. })
        });
        let prompt = said(last).to_owned();
        let phase = prompt.split(PROMPT).nth(1).and_then(|rest| rest.split('`').next()).unwrap().to_owned();
        let everything = request.text();
        let directory = everything.split(DIRECTORY).nth(1).and_then(|rest| rest.lines().next());
        Self { phase, moves: spoken.count(), directory: directory.unwrap_or_default().to_owned(), prompt }
    }

    fn write(&self, file: &str, content: &str) -> Turn {
        Turn::call("Write", json!({ "file_path": format!("{}/{file}", self.directory), "content": content }))
    }

    /// Returns what a good model does next.
    pub(crate) fn next(&self, request: &Request) -> Turn {
        let failed = self.prompt.contains("## What failed");
        let second = self.prompt.contains("chunk 2 of 2");
        let mut moves = match (self.phase.as_str(), second, failed) {
            ("planning", ..) => vec![Turn::bash("ls && git log --oneline"), plan()],
            ("coding", false, _) => vec![
                Turn::bash("git commit --allow-empty -m 'feat: too early'"),
                self.write("greet.sh", GREETS),
                self.write("tests/hello.sh", HELLO),
                Turn::bash("make test && echo \"phase $WARP_PHASE of issue $WARP_ISSUE\""),
                done(&["AC-01", "AC-02"], "greet.sh", "greet by name"),
            ],
            ("coding", true, false) => vec![
                self.write("tests/options.sh", OPTIONS),
                done(&["AC-03", "AC-04"], "tests/options.sh", "know options"),
            ],
            ("coding", true, true) => vec![
                Turn::bash(&format!("cat > greet.sh <<'END'\n{GREETS_WELL}END")),
                done(&["AC-03", "AC-04"], "greet.sh", "know options"),
            ],
            (phase, ..) => panic!("nobody asks a model in `{phase}`"),
        };
        if self.phase == "coding" && !second {
            self.check(request);
        }
        if self.moves < moves.len() { moves.swap_remove(self.moves) } else { Turn::say(THAT_IS_ALL) }
    }

    /// Sees to it that the model was told what came of its moves.
    fn check(&self, request: &Request) {
        let wanted = match self.moves {
            1 => "git_commit is only allowed during committing phase",
            4 => "phase coding of issue 42",
            _ => return,
        };
        let news = request.news();
        assert!(news.contains(wanted), "`{wanted}` is not in: {news}");
    }
}

/// Plays a model that does everything right, apart from a chunk whose tests fail at first.
pub(crate) fn good() -> Script {
    Script::function(|request| Asked::of(request).next(request))
}

fn answer(fields: Value) -> Turn {
    Turn::call("StructuredOutput", fields)
}

fn plan() -> Turn {
    answer(json!({
        "approach": "A shell script, and a test for each criterion.",
        "chunks": [["AC-01", "AC-02"], ["AC-03", "AC-04"]],
    }))
}

fn done(criteria: &[&str], file: &str, subject: &str) -> Turn {
    let evidence: Vec<Value> =
        criteria.iter().map(|criterion| json!({ "ac": criterion, "file": file, "line": 2 })).collect();
    answer(json!({
        "summary": "done as asked",
        "evidence": evidence,
        "commit": { "type": "feat", "scope": "greet", "subject": subject },
    }))
}
