//! The life of a pull request: every sentinel, and what comes of it.

use std::fs;

use super::support::{Attached, is_skipped};

const LIFE: &str = r#"
heard 'Implement issue #42'
heard 'Neither commit nor push'
echo word1 > file1.txt
touch broken
phase awaiting_ci
heard 'CI failed'
rm broken
phase awaiting_ci
heard 'CI passed'
phase awaiting_review
heard 'A reviewer wants changes'
heard 'more words'
echo more >> file1.txt
phase awaiting_review
heard 'CI passed'
phase done
heard 'is not merged yet'
heard 'never'
"#;

/// Takes an agent through a failure, a review and the merge.
fn lives(mut attached: Attached) {
    attached.start(&["--level", "3"]);
    let shown = attached.until("how to look on", |line| line["text"].to_string().contains("looks on"));
    assert!(shown["text"].to_string().contains("`tmux -L dev-demo-42 attach`"), "{shown}");
    let pushed = attached.event("pushed");
    assert_eq!(pushed["actor"], "agent");
    let number = pushed["data"]["pull"].to_string();
    let failed = attached.event("ci_failed");
    assert!(failed["data"]["failure"].to_string().contains("make test"), "{failed}");
    attached.event("pushed");
    attached.event("ci_passed");
    attached.until("the agent's word", |line| line["text"].to_string().contains("PHASE:awaiting_review"));
    attached.driven.sandbox.warp_ok(&["pr", "request-changes", &number, "more words, please"]);
    assert!(attached.event("changes_requested")["data"]["review"].to_string().contains("more words"));
    attached.event("pushed");
    attached.event("ci_passed");
    attached.until("the agent's word", |line| line["text"].to_string().contains("PHASE:done"));
    attached.driven.sandbox.warp_ok(&["pr", "approve", &number]);
    attached.event("merged");
    assert_eq!(attached.end(), Some(0));
    let sandbox = &attached.driven.sandbox;
    assert_eq!(sandbox.git(&["show", "main:file1.txt"]), "word1\nmore");
    assert!(sandbox.warp_ok(&["issue", "show", "42"]).contains("closed (merged)"));
    assert_eq!(attached.log("pushed").len(), 3);
    attached.is_clean();
}

#[test]
fn work_is_handed_in_checked_reviewed_and_merged() {
    if !is_skipped() {
        lives(Attached::new(LIFE));
    }
}

#[test]
fn a_workflow_by_other_names_goes_the_same_way() {
    if !is_skipped() {
        lives(Attached::renamed(LIFE));
    }
}

#[test]
fn work_that_is_handed_in_by_a_tool_is_offered_too() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new(&format!(
        r#"
heard 'Neither commit nor push'
echo word1 > file1.txt
{{
  echo '{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":"sh","version":"1"}}}}}}'
  echo '{{"jsonrpc":"2.0","method":"notifications/initialized"}}'
  echo '{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"done","arguments":{{"summary":"by tool"}}}}}}'
}} | {} mcp > /dev/null
heard 'CI passed'
phase needs_human
heard 'never'
"#,
        env!("CARGO_BIN_EXE_warp")
    ));
    attached.start(&[]);
    attached.until("the pull request", |line| line["text"].to_string().contains("opened pull request"));
    attached.event("ci_passed");
    attached.event("needs_human");
    let pushed = attached.log("pushed");
    assert_eq!((&pushed[0]["actor"], &pushed[0]["data"]["summary"]), (&"agent".into(), &"by tool".into()));
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    attached.is_clean();
}

#[test]
fn a_person_is_asked_and_the_answer_is_typed_to_the_agent_that_waits() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new(
        r#"
heard 'Neither commit nor push'
printf 'PHASE:needs_human\nReason: tabs or spaces?\n' > "$PHASE_FILE"
heard 'A person answers: tabs'
echo word1 > file1.txt
phase awaiting_ci
heard 'never'
"#,
    );
    attached.start(&[]);
    let asked = attached.asked();
    assert!(asked["question"].to_string().contains("tabs or spaces?"), "{asked}");
    assert_eq!(attached.phase(), "needs_human");
    let id = asked["id"].as_str().unwrap();
    attached.driven.sandbox.warp_ok(&["answer", id, "continue", "--note", "tabs"]);
    let number = attached.event("pushed")["data"]["pull"].to_string();
    attached.event("ci_passed");
    // At level 2 nothing is merged without a person.
    attached.driven.sandbox.warp_ok(&["pr", "merge", &number]);
    attached.event("merged");
    assert_eq!(attached.end(), Some(0));
    assert_eq!(attached.log("agent_crashed").len(), 0);
    attached.is_clean();
}

#[test]
fn an_agent_that_fails_says_why() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new(
        r#"
heard 'Neither commit nor push'
printf 'PHASE:failed\nReason: %s\n' 'no compiler' > "$PHASE_FILE"
heard 'never'
"#,
    );
    attached.start(&[]);
    let failed = attached.event("failed");
    assert_eq!((&failed["actor"], &failed["data"]["reason"]), (&"agent".into(), &"no compiler".into()));
    assert_eq!(attached.end(), Some(1));
    attached.is_clean();
}

#[test]
fn the_file_of_the_protocols_own_name_is_watched_too() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new(
        r#"
heard 'Neither commit nor push'
echo 'PHASE:needs_human' > "@TEMPORARY@/dev-session-$PROJECT_NAME-$ISSUE.phase"
heard 'never'
"#,
    );
    attached.start(&[]);
    attached.asked();
    let elsewhere = attached.elsewhere();
    assert!(elsewhere.exists());
    // Anybody who may write it can say it.
    fs::write(&elsewhere, "PHASE:failed\n").unwrap();
    attached.event("failed");
    assert_eq!(attached.end(), Some(1));
    attached.is_clean();
}

#[test]
fn what_means_nothing_is_said_so_and_nothing_moves() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new(
        r#"
heard 'Neither commit nor push'
phase holiday
heard 'PHASE:holiday means nothing while the run is in `in_progress`'
phase done
heard 'Nothing is handed in yet'
phase awaiting_ci
heard 'nothing is changed, so there is nothing to hand in'
phase failed
heard 'never'
"#,
    );
    attached.start(&[]);
    assert_eq!(attached.event("failed")["actor"], "agent");
    assert_eq!(attached.end(), Some(1));
    assert_eq!(attached.log("pushed").len(), 0);
}
