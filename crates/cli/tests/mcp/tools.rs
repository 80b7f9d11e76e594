//! Every tool, in its phase and out of it, in the workflows that have it.

use serde_json::json;

use super::client::{Client, newest, phase, standing, status};
use crate::support::InProject as _;

const CODER_PLANNING: &[&str] = &["receive_task", "workspace_ready"];
const CODER_CODING: &[&str] = &["receive_task", "workspace_ready", "submit_plan", "approve"];

#[test]
fn a_plan_is_handed_in_where_one_is_asked_for() {
    let sandbox = standing("warp-drive", &["prerequisites_ok"]);
    let mut client = Client::start(&sandbox);
    let plan = json!({ "plan": "word by word", "confidence": "HIGH", "todos": ["one", "two"] });
    client.call("submit_plan", plan.clone()).is_refused(&[
        "`submit_plan` is not possible in `discovering`",
        "possible now:",
        "status",
    ]);
    sandbox.transitions(&["work_selected"]);
    client.call("done", json!({ "summary": "x" })).is_refused(&["possible now: submit_plan (plan_ready)"]);
    client.call("submit_plan", plan.clone()).is_taken(&["planning -> chunking (plan_ready)"]);
    let record = newest(&sandbox);
    assert_eq!((&record["actor"], &record["data"]["approach"]), (&json!("agent"), &json!("word by word")));
    client.call("submit_plan", plan).is_refused(&["not possible in `chunking`"]);
}

#[test]
fn a_person_who_wants_to_see_the_plan_is_asked() {
    let sandbox = standing("warp-drive", &["prerequisites_ok", "work_selected"]);
    sandbox.warp_ok(&["state", "reset", "."]);
    let begin = ["state", "init", ".", "--level", "3", "--issue", "42", "--set", "approve_plan=true"];
    sandbox.warp_ok(&begin);
    sandbox.transitions(&["prerequisites_ok", "work_selected"]);
    let mut client = Client::start(&sandbox);
    client
        .call("submit_plan", json!({ "plan": "word by word" }))
        .is_taken(&["A person is asked: Is this plan right?\nword by word", "end your turn"]);
    assert_eq!(phase(&sandbox), "planning");
    client.call("submit_plan", json!({ "plan": "other" })).is_refused(&["waits for decision"]);
}

#[test]
fn what_is_done_needs_the_same_proof_as_any_answer() {
    let sandbox = standing("warp-drive", &["prerequisites_ok", "work_selected", "plan_ready"]);
    let data = r#"{"acs":[["AC-01"]],"texts":{"AC-01":"parser reads lines"}}"#;
    sandbox.warp_ok(&["state", "transition", ".", "chunks_defined", "--data", data]);
    let mut client = Client::start(&sandbox);
    client.call("done", json!({ "summary": "x" })).is_refused(&["`code_complete` is refused in `coding`"]);
    sandbox.write("parser.txt", "parser\n");
    client.call("done", json!({ "summary": "x" })).is_refused(&["AC-01"]);
    let evidence = json!([{ "ac": "AC-01", "file": "parser.txt", "line": 1 }]);
    client
        .call("done", json!({ "summary": "done", "evidence": evidence }))
        .is_taken(&["coding -> updating_docs (code_complete)", "updating_docs"]);
    client.call("done", json!({ "summary": "x" })).is_refused(&["not possible in `updating_docs`"]);
}

#[test]
fn a_question_parks_any_run_and_moves_the_coder_to_its_question() {
    let sandbox = standing("warp-drive", &["prerequisites_ok", "work_selected"]);
    let mut client = Client::start(&sandbox);
    let question = json!({ "question": "Which store?", "options": ["sqlite", "files"], "urgency": "HIGH" });
    client.call("ask_question", question.clone()).is_taken(&["A person is asked: Which store?"]);
    let asked = &status(&sandbox)["asked"];
    assert_eq!(asked["options"], json!(["sqlite", "files", "skip", "abort"]));
    client.call("ask_question", question.clone()).is_refused(&["waits for decision"]);

    let sandbox = standing("coder", CODER_PLANNING);
    let mut client = Client::start(&sandbox);
    client.call("ask_question", question).is_taken(&["PLANNING -> QUESTION (clarification)", "Which store?"]);
    let asked = status(&sandbox)["asked"].clone();
    assert_eq!(asked["question"], "The coder asks: Which store?");
    // It is not the agent's to answer.
    let mut agent = sandbox.warp_command(&["state", "transition", ".", "answer"]);
    let said = agent.env("AI_AGENT", "claude").output().unwrap();
    assert!(!said.status.success() && phase(&sandbox) == "QUESTION");
    let id = asked["id"].as_str().unwrap();
    sandbox.warp_ok(&["answer", id, "answer", "--note", "sqlite"]);
    assert_eq!(phase(&sandbox), "PLANNING");
    assert_eq!(newest(&sandbox)["data"]["note"], "sqlite");
}

#[test]
fn a_story_that_is_complete_already_is_a_persons_to_close() {
    let sandbox = standing("coder", CODER_PLANNING);
    let mut client = Client::start(&sandbox);
    let input = json!({ "reason": "it is there", "evidence": "src/a.rs:1", "confidence": "HIGH" });
    client.call("mark_story_complete", input.clone()).is_taken(&["Is the story complete?", "end your turn"]);
    let id = status(&sandbox)["asked"]["id"].as_str().unwrap().to_owned();
    sandbox.warp_ok(&["answer", &id, "reject", "--note", "look again"]);
    assert_eq!(phase(&sandbox), "PLANNING");
    client.call("mark_story_complete", input.clone()).is_taken(&[]);
    let id = status(&sandbox)["asked"]["id"].as_str().unwrap().to_owned();
    sandbox.warp_ok(&["answer", &id, "approve"]);
    client.call("mark_story_complete", input.clone()).is_refused(&["no run is open here"]);

    let sandbox = standing("coder", CODER_CODING);
    let mut client = Client::start(&sandbox);
    client
        .call("mark_story_complete", input)
        .is_refused(&["not possible in `CODING`", "done (code_complete)"]);
}

#[test]
fn the_coder_codes_and_fixes_until_it_is_done() {
    let sandbox = standing("coder", CODER_CODING);
    let mut client = Client::start(&sandbox);
    client.call("submit_plan", json!({ "plan": "x" })).is_refused(&["not possible in `CODING`"]);
    client.call("done", json!({ "summary": "coded" })).is_taken(&["CODING -> TESTING (code_complete)"]);
    client.call("done", json!({ "summary": "tested" })).is_refused(&["not possible in `TESTING`"]);
    sandbox.transitions(&["tests_fail"]);
    client.call("done", json!({ "summary": "fixed" })).is_taken(&["FIXING -> TESTING (fix_done)"]);
}

#[test]
fn a_phase_with_several_ends_wants_to_know_which() {
    let sandbox = standing("coder", &["receive_task", "workspace_ready", "submit_plan"]);
    let mut client = Client::start(&sandbox);
    client.call("done", json!({ "summary": "x" })).is_refused(&[
        "not possible in `PLAN_REVIEW`",
        "done with `event` as one of approve, changes, abandon",
    ]);
    client.call("done", json!({ "summary": "x", "event": "merge" })).is_refused(&["possible now"]);
    client.call("done", json!({ "summary": "x", "event": "changes" })).is_taken(&["PLAN_REVIEW -> PLANNING"]);
}

#[test]
fn a_finding_is_kept_and_a_bad_one_forbids_approval() {
    let sandbox = standing("coder", &["receive_task", "workspace_ready", "submit_plan"]);
    let mut client = Client::start(&sandbox);
    let minor = json!({ "severity": "p3", "text": "a typo", "file": "plan.md", "line": 3 });
    client.call("report_finding", minor).is_taken(&["recorded in `PLAN_REVIEW` (finding_reported)"]);
    let bad = json!({ "severity": "p1", "text": "loses data" });
    client.call("report_finding", bad).is_taken(&[]);
    assert_eq!(phase(&sandbox), "PLAN_REVIEW");
    client
        .call("done", json!({ "summary": "fine", "event": "approve" }))
        .is_refused(&["`approve` is refused in `PLAN_REVIEW` by findings", "P1: loses data"]);
    let explained = sandbox.warp_ok(&["explain"]);
    assert!(explained.contains("P3 plan.md:3: a typo (in `PLAN_REVIEW`)"), "{explained}");
    let record = newest(&sandbox);
    assert_eq!((&record["event"], &record["actor"]), (&json!("finding_reported"), &json!("agent")));
    assert_eq!(record["data"]["finding"], "P1: loses data");
    // What was found in an earlier look says nothing about the next plan.
    client.call("done", json!({ "summary": "no", "event": "changes" })).is_taken(&[]);
    client.call("submit_plan", json!({ "plan": "safer" })).is_taken(&[]);
    client.call("done", json!({ "summary": "fine", "event": "approve" })).is_taken(&["-> CODING"]);
}

#[test]
fn status_says_what_the_commands_say_and_what_is_possible() {
    let sandbox = standing("coder", CODER_CODING);
    let mut client = Client::start(&sandbox);
    let told = client.call("status", json!({}));
    told.is_taken(&["Phase: CODING", "Why: `approve` led here", "possible now: done (code_complete)"]);
    let explained = sandbox.warp_ok(&["explain"]);
    for line in explained.lines().filter(|line| !line.contains("Until:")) {
        let line = line.split(" at [TIME]").next().unwrap();
        assert!(told.text.contains(line), "`{line}` is not in: {}", told.text);
    }
}

#[test]
fn a_workflow_that_knows_nothing_of_tools_has_them_all_the_same() {
    let sandbox = testkit::Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let own = "name = \"own\"\npurpose = \"One step\"\ninitial = \"work\"\nfinal = [\"over\"]\n\n[deadline]\n\
        minutes = 60\noutcome = \"park\"\n\n[[phase]]\nname = \"work\"\npurpose = \"Works\"\nactivity = \"agent\"\n\
        on = [{ event = \"worked\", to = \"over\" }]\n\n[[phase]]\nname = \"over\"\npurpose = \"Over\"\n\
        activity = \"engine\"\n";
    sandbox.write(".warp/workflows/own.toml", own);
    sandbox.commit("chore: own");
    sandbox.git(&["branch", "--force", "main", "HEAD"]);
    sandbox.warp_ok(&["state", "init", ".", "--level", "3", "--issue", "42", "--workflow", "own"]);
    let mut client = Client::start(&sandbox);
    client.call("status", json!({})).is_taken(&["done (worked)"]);
    client.call("done", json!({ "summary": "x" })).is_taken(&["work -> over (worked)"]);
}
