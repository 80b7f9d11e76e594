//! A provider that stops serving in the middle of a session of three issues: one question, no issue skipped, no issue filed,
//! and the session goes on with the same issues when that is fixed.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use serde_json::{Value, json};
use testkit::{
    agents::{Ended, Running},
    model::{Model, Request, Script, Turn},
};

use super::{
    client::Client,
    project::{PATIENCE, Project, has_walls},
};

/// How the probe asks.
const PROBE: &str = "Use no tools. Answer at once";

/// How many tokens every answer is.
const TOKENS: u64 = 1000;

/// A provider that fails from issue 2 on, until that is fixed.
#[derive(Clone, Default)]
struct Trouble {
    failure: Arc<Mutex<Option<Turn>>>,
    /// How many requests of the conversations were answered.
    served: Arc<AtomicU64>,
}

impl Trouble {
    fn of(status: u16, message: &str) -> Self {
        let failure = Turn::Fail { status, message: message.to_owned() };
        Self { failure: Arc::new(Mutex::new(Some(failure))), ..Self::default() }
    }

    fn end(&self) {
        *self.failure.lock().unwrap() = None;
    }

    /// Plays a model that does each issue, apart from the trouble.
    fn script(&self) -> Script {
        let trouble = self.clone();
        Script::function(move |request| {
            let text = request.text();
            let is_late = text.contains(PROBE) || !text.contains("file1.txt");
            match trouble.failure.lock().unwrap().clone().filter(|_| is_late) {
                Some(failure) => failure,
                None => {
                    trouble.served.fetch_add(1, Ordering::Relaxed);
                    next(request, &text)
                }
            }
        })
    }
}

/// Does the issue that the model is asked about.
fn next(request: &Request, text: &str) -> Turn {
    let has = |tool: &str| request.tools.iter().any(|other| other == tool);
    let say = |answer: Value| {
        if has("StructuredOutput") {
            Turn::call("StructuredOutput", answer)
        } else {
            Turn::say(answer.to_string())
        }
    };
    if text.contains(PROBE) {
        return say(json!({ "ok": true }));
    }
    let issue =
        (1..=3).find(|issue| text.contains(&format!("file{issue}.txt"))).expect("the prompt names it");
    let write = format!("echo word{issue} > file{issue}.txt");
    let is_done = request.last_tool_result().is_some();
    match (is_done, has("Bash"), has("exec_command")) {
        (true, ..) => say(json!({
            "summary": "the word is there",
            "evidence": [{ "ac": "AC-01", "file": format!("file{issue}.txt"), "line": 1 }],
        })),
        (false, true, _) => Turn::bash(&write),
        (false, false, true) => Turn::exec_command(&write),
        (false, false, false) => Turn::call("bash", json!({ "command": write, "description": "Write" })),
    }
}

/// A session of three issues with a client.
struct Session<'a> {
    project: Project,
    client: &'a Client,
    model: Model,
    trouble: Trouble,
    /// Whether the client has a key.
    has_key: bool,
}

impl<'a> Session<'a> {
    fn new(client: &'a Client, trouble: &Trouble) -> Self {
        let project = Project::with_issues(3);
        let model = Model::start(trouble.script().usage(0, TOKENS, 0, 0));
        project.client(client, &model);
        Self { project, client, model, trouble: trouble.clone(), has_key: true }
    }

    fn run(&self, more: &[&str]) -> Ended {
        let mut command = self.project.run_all(self.client, &self.model);
        command.args(more);
        if !self.has_key {
            command.env_remove("ANTHROPIC_API_KEY");
        }
        Running::start(command, PATIENCE).unwrap().wait()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.project.sandbox.warp_ok(arguments)).unwrap()
    }

    /// Sees that the session stands still at an issue with one question, and that nothing was skipped or filed; returns the
    /// question's id.
    fn waits(&self, ended: &Ended, issue: u64, about: &str) -> String {
        let said = format!("{}\n{}", ended.out, ended.err);
        assert_eq!(ended.code, Some(5), "{said}");
        assert!(said.contains("waits for you") && said.contains(about), "`{about}` in {said}");
        assert!(!said.contains("skipped"), "{said}");
        let issues = self.json(&["issue", "list", "--json"]);
        let open: Vec<u64> =
            issues.as_array().unwrap().iter().map(|item| item["number"].as_u64().unwrap()).collect();
        assert_eq!(open, (issue..=3).collect::<Vec<_>>(), "no issue is filed, none is closed: {issues:#}");
        let mut questions = 0;
        for issue in 1..=3 {
            let log = self.project.sandbox.warp(&["log", &issue.to_string(), "--json"]);
            questions +=
                log.out.matches("\"question_asked\"").count() + log.out.matches("\"cap_reached\"").count();
        }
        assert_eq!(questions, 1, "{said}");
        if issue < 3 {
            let next = format!("`warp run --until-empty` continues with #{}", issue + 1);
            assert!(said.contains(&next), "{said}");
        }
        let status = self.json(&["status", &issue.to_string(), "--json"]);
        let decision = &status["standing"]["decision"];
        assert_eq!(decision["deadline"], Value::Null, "{decision:#}");
        decision["id"].as_str().unwrap().to_owned()
    }

    /// Sees that every issue is done, each once, and that nothing but answers was paid for.
    fn is_done(&self, ended: &Ended) {
        assert_eq!(ended.code, Some(0), "{}\n{}", ended.out, ended.err);
        let git = |arguments: &[&str]| self.project.sandbox.git(arguments);
        assert_eq!(git(&["log", "--format=%s", "main"]).lines().count(), 5);
        for issue in 1..=3 {
            assert_eq!(git(&["show", &format!("main:file{issue}.txt")]), format!("word{issue}"));
        }
        assert_eq!(self.json(&["issue", "list", "--json"]), json!([]));
    }

    /// Sees that answers are booked, and that nothing else is.
    fn is_booked(&self) {
        let cost = self.json(&["cost", "--all", "--json"]);
        // OpenCode has an address of its own here, so it is not metered, and does not tell of the titles that it asks for.
        let side_requests =
            if self.client.agent == "opencode" { 0 } else { self.model.side_requests() as u64 };
        let answers = self.trouble.served.load(Ordering::Relaxed) + side_requests;
        let booked = (&cost["total"]["input_tokens"], &cost["total"]["output_tokens"]);
        assert_eq!(booked, (&json!(0), &json!(TOKENS * answers)), "{cost:#}");
    }
}

/// The trouble is found, asked about once, and the session goes on when the question is answered.
fn is_asked_once(client: &Client, status: u16, message: &str, about: &str) {
    let trouble = Trouble::of(status, message);
    let session = Session::new(client, &trouble);
    let question = session.waits(&session.run(&["--set", "outage_minutes=0"]), 2, about);
    session.is_booked();
    // Nothing has changed: it is the same question.
    assert_eq!(session.waits(&session.run(&[]), 2, about), question);
    session.is_booked();
    trouble.end();
    session.project.sandbox.warp_ok(&["answer", &question, "continue"]);
    session.is_done(&session.run(&[]));
}

#[test]
fn claude_code_loses_its_key() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    is_asked_once(&client, 401, "invalid x-api-key", "answers 401");
}

#[test]
fn claude_code_is_forbidden() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    is_asked_once(&client, 403, "your organization does not have access", "answers 403");
}

#[test]
fn claude_code_has_an_empty_balance() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    is_asked_once(&client, 400, "Your credit balance is too low to access the Anthropic API.", "add credit");
}

#[test]
fn claude_code_meets_a_storm_of_529() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    is_asked_once(&client, 529, "Overloaded", "failed for longer than 0 minutes");
}

#[test]
fn codex_loses_its_key() {
    let Some(client) = Client::codex().filter(|_| has_walls()) else { return };
    is_asked_once(&client, 401, "Incorrect API key provided", "codex login");
}

#[test]
fn opencode_loses_its_key() {
    let Some(client) = Client::opencode().filter(|_| has_walls()) else { return };
    is_asked_once(&client, 401, "Incorrect API key provided", "opencode auth login");
}

#[test]
fn an_agent_of_the_protocol_loses_its_key() {
    let Some(client) = Client::acp().filter(|_| has_walls()) else { return };
    is_asked_once(&client, 401, "invalid x-api-key", "no access to its provider");
}

#[test]
fn a_session_goes_on_by_itself_when_the_login_works_again() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    let trouble = Trouble::of(401, "invalid x-api-key");
    let session = Session::new(&client, &trouble);
    session.waits(&session.run(&[]), 2, "answers 401");
    // Another run asks nothing more, and waits where it is.
    let ended = session.run(&["3"]);
    let said = format!("{}\n{}", ended.out, ended.err);
    assert!(ended.code == Some(5) && said.contains("waits: claude has no access"), "{said}");
    trouble.end();
    // Nobody answers: the person has logged in, and runs it again.
    session.is_done(&session.run(&[]));
}

#[test]
fn claude_code_is_not_logged_in_at_all() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    let trouble = Trouble::default();
    let mut session = Session::new(&client, &trouble);
    session.has_key = false;
    let question = session.waits(&session.run(&[]), 1, "Not logged in");
    assert_eq!(session.model.requests().len(), 0);
    assert_eq!(session.waits(&session.run(&[]), 1, "Not logged in"), question);
    session.has_key = true;
    session.is_done(&session.run(&[]));
}

#[test]
fn a_session_whose_budget_is_used_up_asks_once_and_goes_on_with_more() {
    let Some(client) = Client::claude().filter(|_| has_walls()) else { return };
    let session = Session::new(&client, &Trouble::default());
    // The first issue takes two answers of a thousand tokens.
    let ended = session.run(&["--set", "budget_limit_tokens=2500"]);
    let question = session.waits(&ended, 2, "cap reached");
    session.project.sandbox.warp_ok(&["answer", &question, "more", "--tokens", "1000000"]);
    session.is_done(&session.run(&[]));
}

#[test]
fn doctor_tries_the_login_of_claude_code() {
    let Some(client) = Client::claude() else { return };
    let trouble = Trouble::of(401, "invalid x-api-key");
    let session = Session::new(&client, &trouble);
    let doctor = || Running::start(session.project.doctor(&client, &session.model), PATIENCE).unwrap().wait();
    let said = doctor();
    let line = "FAIL  login         claude: its provider denies access: ";
    let remedy = "fix: log in again (`claude`, then `/login`), or set a valid ANTHROPIC_API_KEY\n";
    assert!(said.code == Some(1) && said.out.contains(line) && said.out.contains(remedy), "{}", said.out);
    trouble.end();
    let said = doctor();
    assert!(said.out.contains("ok    login         claude: its provider answers\n"), "{}", said.out);
    let cost = session.json(&["cost", "--all", "--json"]);
    assert_eq!(cost["total"]["output_tokens"], json!(TOKENS), "it is booked: {cost:#}");
}

#[test]
fn doctor_says_that_the_price_of_codexs_default_model_is_a_guess() {
    let Some(client) = Client::codex() else { return };
    let session = Session::new(&client, &Trouble::default());
    // Without a model in its configuration, the client takes its own default.
    let file = session.project.sandbox.home().join(".codex/config.toml");
    let configuration = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, configuration.replace("model = 'gpt-5.5'\n", "")).unwrap();
    let said = Running::start(session.project.doctor(&client, &session.model), PATIENCE).unwrap().wait();
    assert!(said.out.contains("ok    login         codex: its provider answers\n"), "{}", said.out);
    let prices: Vec<&str> = said.out.lines().filter(|line| line.contains(" prices ")).collect();
    assert!(
        prices.len() == 1 && prices[0].contains("has no price: the highest price of the gpt-"),
        "{}",
        said.out
    );
}
