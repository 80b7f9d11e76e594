//! Agents that have to show what they say, in a real project.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use engine::{
    Actor, Event, Run, Standing,
    turn::{TurnDecision, TurnEnd, asked, end},
};
use project::{AskError, Dirs, Place, Request, Workspace};
use serde_json::{Value, json};
use testkit::Sandbox;

struct Driven {
    sandbox: Sandbox,
    workspace: Workspace,
}

impl Driven {
    fn begin(request: Request) -> Self {
        let sandbox = Sandbox::new("warp");
        let dirs = Dirs::new(sandbox.home().join("state"), sandbox.home().join("config"));
        let mut workspace = Workspace::open(Place::at(&sandbox.root()).unwrap(), dirs).unwrap();
        workspace.begin(request).unwrap();
        Self { sandbox, workspace }
    }

    fn ask(&mut self, actor: Actor, event: &str, data: Value) -> Result<String, String> {
        let Value::Object(data) = data else { panic!("data is a table") };
        match self.workspace.ask_as(actor, Event::Named(event.into()), data) {
            Ok(answer) => Ok(answer.current.run.phase.to_string()),
            Err(AskError::Refused(refused)) => Err(refused.to_string()),
            Err(AskError::NoRun) => Err("no run".to_owned()),
            Err(AskError::Failed(error)) => panic!("{error}"),
        }
    }

    fn agent(&mut self, event: &str, data: Value) -> Result<String, String> {
        self.ask(Actor::Agent, event, data)
    }

    fn run(&mut self) -> Run {
        self.workspace.current().unwrap().unwrap().run.as_ref().clone()
    }

    fn commit(&self, path: &str, text: &str) -> String {
        self.sandbox.write(path, text);
        self.sandbox.git(&["add", "."]);
        self.sandbox.git(&["commit", "--quiet", "-m", "feat: work"]);
        self.sandbox.git(&["rev-parse", "HEAD"])
    }
}

#[test]
fn an_agent_shows_changed_lines_and_printed_tests_before_its_code_is_complete() {
    let gates = r#"{"code_complete":["echo test logs_in ... ok; echo test logs_out_twice ... ok"]}"#;
    let mut driven = Driven::begin(Request {
        level: Some(2),
        issue: Some("42".to_owned()),
        // Without tests before the commit nothing would show later that a named test has passed.
        set: vec![
            ("verification_gates".to_owned(), gates.to_owned()),
            ("test_before_commit".to_owned(), "false".to_owned()),
        ],
        ..Request::default()
    });
    for event in ["prerequisites_ok", "work_selected", "plan_ready"] {
        driven.ask(Actor::Engine, event, json!({})).unwrap();
    }
    driven.ask(Actor::Engine, "chunks_defined", json!({"acs": [["login works"]]})).unwrap();
    driven.sandbox.write("src/login.rs", "fn login() {}\n");
    let refused = driven.agent("code_complete", json!({})).unwrap_err();
    assert!(refused.contains("by self_verification: evidence is wanted for login works"), "{refused}");
    let evidence =
        |line: u64| json!({"evidence": [{"ac": "login works", "file": "src/login.rs", "line": line}]});
    let refused = driven.agent("code_complete", evidence(2)).unwrap_err();
    assert!(refused.contains("`src/login.rs:2` is no line that was changed"), "{refused}");
    let test = |name: &str| json!({"evidence": [{"ac": "login works", "test": name}]});
    for name in ["logs_out", "never_run", "logs"] {
        let refused = driven.agent("code_complete", test(name)).unwrap_err();
        assert!(refused.contains("is in no recorded run"), "{name}: {refused}");
    }
    let shown =
        json!({"evidence": [{"ac": "login works", "test": "logs_in", "file": "src/login.rs", "line": 1}]});
    assert_eq!(driven.agent("code_complete", shown).unwrap(), "updating_docs");
    assert_eq!(driven.run().test_names, ["logs_in"]);
    driven.ask(Actor::Engine, "docs_updated", json!({})).unwrap();
    let refused = driven.agent("tests_passed", json!({})).unwrap_err();
    assert!(refused.contains("is warp's own work in `testing`: `warp next` does it"), "{refused}");
}

#[test]
fn a_whole_loop_by_an_agent_with_real_files_and_commits() {
    let mut driven = Driven::begin(Request {
        workflow: Some("autonomous-loop".to_owned()),
        feature: Some("Add a login".to_owned()),
        set: vec![("skip_brainstorm".to_owned(), "true".to_owned())],
        ..Request::default()
    });
    let refused = driven.agent("plan_written", json!({"artifact": "docs/plans/p.md"})).unwrap_err();
    assert!(refused.contains("does not exist"), "{refused}");
    driven.sandbox.write("docs/plans/p.md", "a plan\n");
    driven.agent("plan_written", json!({"artifact": "docs/plans/p.md", "summary": "planned"})).unwrap();

    driven.sandbox.write("tests/acceptance/a.rs", "fails\n");
    let run = json!({"failed": 1, "errored": 0});
    let sha = driven.sandbox.git(&["rev-parse", "HEAD"]);
    let tests = |sha: &str| json!({"artifact": "tests/acceptance/a.rs", "git_sha": sha, "run": run});
    let refused = driven.agent("tests_written", tests(&sha)).unwrap_err();
    assert!(refused.contains("commit them first"), "{refused}");
    let sha = driven.commit("tests/acceptance/a.rs", "fails\n");
    driven.agent("tests_written", tests(&sha)).unwrap();
    let Standing::Parked { decision } = driven.run().standing else { panic!("it waits for a person") };
    let answer = Event::DecisionAnswered { decision: decision.id, option: "approve".to_owned() };
    assert!(driven.workspace.ask_as(Actor::Agent, answer.clone(), Default::default()).is_err());
    driven.workspace.ask(answer, Default::default()).unwrap();

    let refused = driven.agent("plan_deepened", json!({})).unwrap_err();
    assert!(refused.contains("the plan's content is what it was"), "{refused}");
    driven.sandbox.write("docs/plans/p.md", "a deeper plan\n");
    driven.agent("plan_deepened", json!({})).unwrap();

    let refused = driven.agent("work_finished", json!({"git_sha": sha})).unwrap_err();
    assert!(refused.contains("was made before `work` began"), "{refused}");
    let sha = driven.commit("src/login.rs", "fn login() {}\n");
    driven.agent("work_finished", json!({"git_sha": &sha[..12], "summary": "built"})).unwrap();
    assert_eq!(driven.run().receipts.last().unwrap().git_sha.as_ref(), Some(&sha));

    driven.agent("review_clean", json!({"summary": "fine"})).unwrap();
    driven.sandbox.write("docs/solutions/auth/login.md", "learnt\n");
    driven.agent("solution_noted", json!({"artifact": "docs/solutions/auth/login.md"})).unwrap();
    assert_eq!(driven.agent("tests_passed", json!({"summary": "green"})).unwrap(), "ship");

    // The promise is kept only with the pull request, and with all files where they were.
    assert!(stop(&mut driven, "<promise>SHIPPED</promise>").contains("`pr_url` is not set"));
    let url = json!({"pr_url": "https://forge.example/pull/7"});
    driven.agent("noted", url.clone()).unwrap();
    assert!(!driven.run().has_proved_pr(), "an agent's word proves nothing");
    driven.ask(Actor::Engine, "noted", url).unwrap();
    std::fs::remove_dir_all(driven.sandbox.root().join("docs/solutions")).unwrap();
    let told = stop(&mut driven, "<promise>SHIPPED</promise>");
    assert!(told.contains("receipt of `compound`: `docs/solutions/auth/login.md` does not exist"), "{told}");
    driven.sandbox.write("docs/solutions/auth/login.md", "learnt\n");
    assert!(stop(&mut driven, "SHIPPED").contains("without tags is no promise"));
    assert!(stop(&mut driven, "<promise>SHIPPED</promise>").contains("is over (shipped)"));
    assert!(driven.workspace.current().unwrap().is_none());
    assert_eq!(driven.sandbox.read(".claude/autonomous-loop.json"), None);
}

/// Ends a turn as the Stop hook does, and returns what is said.
fn stop(driven: &mut Driven, last_message: &str) -> String {
    let current = driven.workspace.current().unwrap().unwrap();
    let (workflow, mut run) = (current.workflow, current.run);
    let now = run.updated_at;
    let turn = TurnEnd {
        last_message,
        stop_hook_active: false,
        background_tasks: 0,
        session_is_owner: true,
        blocks: 0,
        now,
    };
    let mut decision = end(&workflow, &run, &turn);
    for _ in 0..3 {
        match decision {
            TurnDecision::Allow { note } => return note.unwrap_or_default(),
            TurnDecision::Block { reason } => return reason,
            TurnDecision::Ask(ask) => {
                let refused = match driven.workspace.ask_as(ask.actor, ask.event.clone(), Default::default())
                {
                    Ok(answer) => {
                        run = answer.current.run;
                        None
                    }
                    Err(AskError::Refused(refused)) => Some(refused),
                    Err(error) => panic!("{error}"),
                };
                decision = asked(&workflow, &run, &ask, refused.as_ref(), &turn);
            }
        }
    }
    panic!("two events are enough");
}
