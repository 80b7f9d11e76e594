//! The originals' state files: their field names, nesting and order, at the start and after a budget tripped.

mod support;

use engine::{
    Ask, Event, Run, Seen, Settings, Time, Usage, Workflow, step,
    view::{session_usage, state_file, state_json},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use support::{MINUTE, START, begun, clear, settings, workflow};

const WARP_DRIVE: &str = include_str!("fixtures/warp-drive-state.json");
const AUTONOMOUS_LOOP: &str = include_str!("fixtures/autonomous-loop.json");

/// Lists the fields of a JSON value in their order, as dotted paths. Entries of a list count once.
fn fields(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    match value {
        Value::Object(table) => {
            for (name, inner) in table {
                found.push(name.clone());
                found.extend(fields(inner).into_iter().map(|field| format!("{name}.{field}")));
            }
        }
        Value::Array(entries) => {
            for field in entries.iter().flat_map(fields) {
                if !found.contains(&field) {
                    found.push(field);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("a fixture is JSON")
}

/// Plays events, one a minute.
fn play(workflow: &Workflow, run: Run, events: &[&str]) -> Run {
    events.iter().fold(run, |run, event| {
        let mut ask = clear(event, Time::from_millis(run.updated_at.millis() + MINUTE));
        if *event == "chunks_defined" {
            ask.data.insert("acs".to_owned(), json!([["AC-01", "AC-02"], ["AC-03"]]));
        }
        step(workflow, &run, &ask).expect("an event of the way").run
    })
}

const TO_CODING: [&str; 4] = ["prerequisites_ok", "work_selected", "plan_ready", "chunks_defined"];

#[test]
fn the_warp_drive_file_has_the_fields_of_the_state_reference_in_its_order() {
    let workflow = workflow("warp-drive");
    let run = play(workflow, begun(workflow, Settings::default()), &TO_CODING);
    let edited = Event::FileEdited { file: "src/file.ts".to_owned() };
    let run = step(workflow, &run, &Ask::new(edited, run.updated_at)).unwrap().run;
    let mut found = fields(&state_json(workflow, &run));
    // The reference's recovery section needs it, though its example leaves it out.
    let commits = found.iter().position(|field| field == "commit_hashes").expect("commit_hashes");
    assert_eq!(found[commits - 1], "completed_chunks");
    found.remove(commits);
    assert_eq!(found, fields(&read(WARP_DRIVE)));
}

#[test]
fn after_a_trip_the_budgets_gain_three_fields() {
    let workflow = workflow("warp-drive");
    let run = begun(workflow, settings([("max_coding_cycles", json!(0))]));
    let before = fields(&state_json(workflow, &run));
    let run =
        play(workflow, play(workflow, run, &TO_CODING), &["code_complete", "docs_updated", "tests_failed"]);
    let value = state_json(workflow, &run);
    let budgets: Vec<&String> = value["budgets"].as_object().unwrap().keys().collect();
    let gained = ["exceeded_reasons", "exceeded_at", "exceeded_from_phase"];
    assert_eq!(budgets[3..], gained);
    let without = fields(&value).into_iter().filter(|field| !field.starts_with("budgets.exceeded_"));
    let without: Vec<String> = without.filter(|field| !field.starts_with("history.")).collect();
    let before: Vec<String> = before.into_iter().filter(|field| !field.starts_with("history.")).collect();
    assert_eq!(without, before);
    assert_eq!(value["budgets"]["exceeded_reasons"], json!(["coding_cycles_exceeded"]));
    assert_eq!(value["budgets"]["exceeded_from_phase"], json!("testing"));
    assert_eq!(value["budgets"]["exceeded_at"], value["budgets"]["phase_started_at"]);
    // Going on keeps the record of the trip.
    let run = play(workflow, run, &["budget_continue"]);
    assert_eq!(state_json(workflow, &run)["budgets"]["exceeded_reasons"], json!(["coding_cycles_exceeded"]));
}

#[test]
fn the_warp_drive_file_as_it_is_at_the_start() {
    let workflow = workflow("warp-drive");
    let gates = json!({"code_complete": ["make lint"], "tests_passed": ["make type-check"]});
    let run = begun(workflow, settings([("verification_gates", gates)]));
    let file = state_file(workflow, &run).unwrap();
    assert_eq!(file.path, ".claude/.warp-drive-state.json");
    assert!(file.text.ends_with("}\n"));
    assert_snapshot!(file.text, @r#"
    {
      "version": 1,
      "session": {
        "started_at": "2026-05-08T15:56:59.401Z",
        "started_at_epoch": 1778255819401,
        "pid": 51506,
        "level": 3,
        "github_user": "ann"
      },
      "phase": "prerequisites",
      "requirement": "42",
      "branch": "feature/issue-42-title",
      "chunk": {
        "index": 0,
        "total": 0,
        "acs": []
      },
      "checklist": {
        "docs_updated": false,
        "tests_passed": false,
        "committed": false,
        "report_filed": false
      },
      "budgets": {
        "phase_started_at": "2026-05-08T15:56:59.401Z",
        "retry_count": 0,
        "coding_cycles": 0
      },
      "aborted": false,
      "edit_counts": {},
      "doom_loop_events": [],
      "gates": {
        "code_complete": {
          "semantic": "diff_relevance_check",
          "targets": [
            "make lint"
          ]
        },
        "docs_updated": {
          "semantic": "ac_count_check"
        },
        "tests_passed": {
          "targets": [
            "make type-check"
          ]
        }
      },
      "completed_chunks": [],
      "commit_hashes": [],
      "history": [
        {
          "phase": "prerequisites",
          "at": "2026-05-08T15:56:59.401Z"
        }
      ],
      "metrics": {
        "commits": 0,
        "reports_filed": 0,
        "tests_run": 0,
        "chunks_completed": 0,
        "session_duration_minutes": 0
      },
      "token_usage": {
        "session_total": null,
        "chunk_snapshots": [],
        "current_chunk_started_at": null
      },
      "main_branch": "master",
      "session_branch": null,
      "merge_target": "master",
      "merge_strategy": "ff-only"
    }
    "#);
}

#[test]
fn values_follow_the_run() {
    let workflow = workflow("warp-drive");
    let run = play(workflow, begun(workflow, Settings::default()), &TO_CODING);
    let run =
        play(workflow, run, &["code_complete", "docs_updated", "tests_passed", "committed", "report_filed"]);
    let value = state_json(workflow, &run);
    assert_eq!(value["phase"], "chunk_complete");
    assert_eq!(value["chunk"], json!({"index": 1, "total": 2, "acs": [["AC-01", "AC-02"], ["AC-03"]]}));
    assert_eq!(
        value["checklist"],
        json!({"docs_updated": true, "tests_passed": true, "committed": true, "report_filed": true})
    );
    assert_eq!(
        value["metrics"],
        json!({"commits": 1, "reports_filed": 1, "tests_run": 1, "chunks_completed": 1, "session_duration_minutes": 9})
    );
    assert_eq!(
        value["completed_chunks"],
        json!([{"index": 1, "acs": ["AC-01", "AC-02"], "at": "2026-05-08T16:05:59.401Z"}])
    );
    assert_eq!(
        value["history"][1],
        json!({"phase": "discovering", "at": "2026-05-08T15:57:59.401Z", "from": "prerequisites", "event": "prerequisites_ok"})
    );
    assert_eq!(value["token_usage"]["current_chunk_started_at"], "2026-05-08T16:00:59.401Z");
}

/// Takes an event by which time this much was used in all.
fn used(workflow: &Workflow, run: &Run, event: &str, input_tokens: u64) -> Run {
    let mut ask = clear(event, Time::from_millis(run.updated_at.millis() + MINUTE));
    let total = Usage { input_tokens, output_tokens: 1, micro_usd: input_tokens * 10, ..Usage::default() };
    ask.observations.usage = Some(Seen::Value(total));
    if event == "chunks_defined" {
        ask.data.insert("acs".to_owned(), json!([["AC-01"], ["AC-02"]]));
    }
    step(workflow, run, &ask).expect("an event of the way").run
}

const TO_REPORTED: [&str; 5] = ["code_complete", "docs_updated", "tests_passed", "committed", "report_filed"];

#[test]
fn each_chunk_is_shown_with_what_it_used_and_the_session_with_all_of_it() {
    let workflow = workflow("warp-drive");
    let run = play(workflow, begun(workflow, Settings::default()), &TO_CODING[..3]);
    let run = used(workflow, &run, "chunks_defined", 100);
    let run = play(workflow, run, &TO_REPORTED);
    let run = used(workflow, &run, "next_chunk", 350);
    let run = play(workflow, run, &TO_REPORTED);
    let run = used(workflow, &run, "requirement_done", 400);
    let value = state_json(workflow, &run);
    assert_eq!(value["token_usage"]["session_total"], Value::Null);
    assert_eq!(
        value["token_usage"]["chunk_snapshots"],
        json!([
            {
                "chunk": 1,
                "requirement": "42",
                "started_at": "2026-05-08T16:00:59.401Z",
                "ended_at": "2026-05-08T16:06:59.401Z",
                "input_tokens": 250,
                "output_tokens": 0,
                "cache_read_tokens": 0,
                "cache_write_tokens": 0,
                "total_tokens": 250,
                "cost_usd": 0.0025,
            },
            {
                "chunk": 2,
                "requirement": "42",
                "started_at": "2026-05-08T16:06:59.401Z",
                "ended_at": "2026-05-08T16:12:59.401Z",
                "input_tokens": 50,
                "output_tokens": 0,
                "cache_read_tokens": 0,
                "cache_write_tokens": 0,
                "total_tokens": 50,
                "cost_usd": 0.0005,
            },
        ])
    );
    assert_eq!(session_usage(workflow, &run, "bodmail"), None);
    let run = play(workflow, run, &["abort"]);
    let run = used(workflow, &run, "abort_resolved", 410);
    assert_eq!(state_json(workflow, &run)["token_usage"]["session_total"]["total_tokens"], 411);
    let line = session_usage(workflow, &run, "bodmail").unwrap();
    let line = read(&line);
    assert_eq!((line["run"].as_str(), line["how"].as_str()), (Some("r1"), Some("completed")));
    assert_eq!(line["session_total"]["input_tokens"], 410);
    assert_eq!(line["chunk_snapshots"].as_array().unwrap().len(), 2);
}

#[test]
fn what_was_used_never_becomes_less() {
    let workflow = workflow("warp-drive");
    let run = play(workflow, begun(workflow, Settings::default()), &TO_CODING[..3]);
    let run = used(workflow, &run, "chunks_defined", 100);
    let run = play(workflow, run, &TO_REPORTED);
    assert_eq!(used(workflow, &run, "next_chunk", 30).usage.input_tokens, 100);
}

#[test]
fn the_loop_file_has_the_fields_of_its_schema_in_its_order() {
    let workflow = workflow("autonomous-loop");
    let mut run = begun(workflow, Settings::default());
    for event in ["brainstorm_written", "plan_written"] {
        let mut ask = clear(event, Time::from_millis(START));
        ask.data.insert("artifact".to_owned(), json!("docs/a.md"));
        ask.data.insert("summary".to_owned(), json!("Done"));
        support::find_all(workflow, &run, &mut ask);
        run = step(workflow, &run, &ask).unwrap().run;
    }
    assert_eq!(fields(&state_json(workflow, &run)), fields(&read(AUTONOMOUS_LOOP)));
}

#[test]
fn the_loop_file_as_it_is_at_the_start() {
    let workflow = workflow("autonomous-loop");
    let file = state_file(workflow, &begun(workflow, Settings::default())).unwrap();
    assert_eq!(file.path, ".claude/autonomous-loop.json");
    assert_snapshot!(file.text, @r#"
    {
      "version": 2,
      "feature": "Add a login",
      "phase": "brainstorm",
      "phase_iteration": 0,
      "global_iteration": 0,
      "max_iterations": 50,
      "max_phase_iterations": 10,
      "fix_review_cycles": 0,
      "max_fix_cycles": 3,
      "phases_completed": [],
      "artifacts": {
        "brainstorm_file": null,
        "plan_file": null,
        "acceptance_tests_file": null,
        "progress_file": null,
        "pr_url": null,
        "branch": "feature/issue-42-title"
      },
      "receipts": [],
      "checkpoints": [],
      "errors": [],
      "budget_limit_usd": 20,
      "completion_promise": "SHIPPED",
      "skip_brainstorm": false,
      "skip_test_review": false,
      "started_at": "2026-05-08T15:56:59.401Z",
      "last_updated": "2026-05-08T15:56:59.401Z"
    }
    "#);
}

#[test]
fn a_forced_receipt_and_its_error_have_the_fields_of_the_schema_and_the_mark() {
    let workflow = workflow("autonomous-loop");
    let run = begun(workflow, settings([("max_phase_iterations", json!(1))]));
    let run = play(workflow, run, &["turn_finished"]);
    let value = state_json(workflow, &run);
    assert_eq!(fields(&value["receipts"]), ["phase", "artifact", "git_sha", "timestamp", "forced"]);
    assert_eq!(fields(&value["errors"]), ["phase", "message", "iteration", "timestamp"]);
}

#[test]
fn a_workflow_without_a_seed_file_has_none_and_still_shows_its_state() {
    for name in ["coder", "factory"] {
        let workflow = workflow(name);
        let run = begun(workflow, Settings::default());
        assert_eq!(state_file(workflow, &run), None);
        assert_eq!(fields(&state_json(workflow, &run))[..4], ["version", "workflow", "run", "phase"]);
    }
}

#[test]
fn the_file_goes_when_the_run_is_over_and_stays_when_it_is_stopped() {
    let drive = workflow("warp-drive");
    let run = play(drive, begun(drive, Settings::default()), &["abort"]);
    assert!(state_file(drive, &run).is_some());
    assert_eq!(state_file(drive, &play(drive, run, &["abort_resolved"])), None);

    let looping = workflow("autonomous-loop");
    let run = begun(looping, Settings::default());
    let take = |run: &Run, event: Event| step(looping, run, &Ask::new(event, run.updated_at)).unwrap().run;
    let run = take(&run, Event::StopRequested);
    assert!(state_file(looping, &run).is_some());
    assert_eq!(state_file(looping, &take(&run, Event::ResetRequested)), None);
}
