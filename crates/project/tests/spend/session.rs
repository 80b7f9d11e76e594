//! Sessions of a person's own, booked from their transcripts.

use std::{fs, path::Path};

use adapters::machine;
use engine::{Actor, Event, Run, Time};
use project::{
    Dirs, Place, Request, Workspace,
    spend::{Ledger, transcripts::Transcripts},
};
use serde_json::{Value, json};
use testkit::Sandbox;

/// More than a run keeps of its history.
const CYCLES: usize = 22;

struct Session {
    sandbox: Sandbox,
    workspace: Workspace,
}

impl Session {
    fn begin() -> Self {
        let sandbox = Sandbox::new("warp");
        let dirs = Dirs::new(sandbox.home().join("state"), sandbox.home().join("config"));
        let mut workspace = Workspace::open(Place::at(&sandbox.root()).unwrap(), dirs).unwrap();
        let often = |name: &str| (name.to_owned(), "1000".to_owned());
        let set = ["max_coding_cycles", "max_retries_per_chunk"].map(often).to_vec();
        let issue = Some("42".to_owned());
        workspace.begin(Request { level: Some(2), issue, set, ..Request::default() }).unwrap();
        Self { sandbox, workspace }
    }

    fn ask(&mut self, event: &str, data: Value) {
        let Value::Object(data) = data else { panic!("data is a table") };
        self.workspace.ask_as(Actor::Engine, Event::Named(event.into()), data).unwrap();
    }

    fn run(&mut self) -> Run {
        self.workspace.current().unwrap().unwrap().run.as_ref().clone()
    }

    /// Writes an answer of 123 tokens into a transcript.
    fn write(&self, home: &Path, id: &str, at: Time) {
        let directory = home.join("projects").join(slug(&self.workspace.place.root));
        fs::create_dir_all(&directory).unwrap();
        let usage = r#"{"input_tokens":100,"output_tokens":23}"#;
        let line = format!(
            r#"{{"type":"assistant","timestamp":"{at}","message":{{"id":"{id}","model":"claude-opus-5-5","usage":{usage}}}}}"#
        );
        fs::write(directory.join(format!("{id}.jsonl")), line + "\n").unwrap();
    }

    /// Books what is written, and returns the phase and tokens of everything in the ledger.
    fn book(&mut self, home: &Path) -> Vec<(String, u64)> {
        let run = self.run();
        let mut transcripts =
            Transcripts::in_home(home, &self.workspace.place.root, Time::from_millis(0)).unwrap();
        transcripts.read().unwrap();
        self.workspace.book_session(&run, &transcripts).unwrap();
        let mut ledger = Ledger::open(&self.workspace.dirs).unwrap();
        ledger.follow(Time::from_millis(0)).unwrap();
        ledger.books().lines().map(|line| (line.tags.phase.clone(), line.usage.tokens())).collect()
    }
}

fn slug(root: &Path) -> String {
    root.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[test]
fn an_answer_is_booked_once_however_long_the_history_grows() {
    let mut session = Session::begin();
    let home = session.sandbox.home().join("agent");
    session.ask("prerequisites_ok", json!({}));
    session.ask("work_selected", json!({}));
    let (at, phase) = (machine::now(), session.run().phase.to_string());
    while machine::now() <= at {
        std::thread::yield_now();
    }
    session.write(&home, "a", at);
    assert_eq!(session.book(&home), [(phase.clone(), 123)]);

    session.ask("plan_ready", json!({}));
    session.ask("chunks_defined", json!({"acs": [["login works"]]}));
    session.sandbox.write("src/login.rs", "fn login() {}\n");
    for _ in 0..CYCLES {
        session.ask("code_complete", json!({}));
        session.ask("docs_updated", json!({}));
        session.ask("tests_failed", json!({}));
    }
    let run = session.run();
    assert!(run.history.iter().all(|row| row.phase.as_str() != phase), "the history has rolled over");
    assert_eq!(session.book(&home), [(phase.clone(), 123)]);
    // One that is found late belongs to the phase in which it came.
    session.write(&home, "b", at);
    assert_eq!(session.book(&home), [(phase.clone(), 123), (phase, 123)]);
}
