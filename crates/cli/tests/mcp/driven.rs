//! An agent that `warp run` drives, behind walls: its calls go through the driver's socket, and are its answer.

use std::process::Command;

use serde_json::Value;
use testkit::{Said, driven::Driven};

use crate::support::{Ends as _, InProject as _};

/// A program that calls tools from the commands of an agent: `call TOOL INPUT` prints what it answers.
const CALL: &str = r#"
call() {
  {
    echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$1" "$2"
  } | "$WARP" mcp | tail -n 1
}
"#;

/// A project with an issue of so many criteria, and an agent that is this script.
fn driven(criteria: u64, script: &str) -> (Driven, String) {
    let driven = Driven::new(env!("CARGO_BIN_EXE_warp"));
    driven.issue(42, criteria, "");
    let agent = format!("WARP={}\n{CALL}\n{script}", env!("CARGO_BIN_EXE_warp"));
    driven.sandbox.write("agent.sh", agent);
    driven.sandbox.commit("chore: agent");
    (driven, "command:sh ./agent.sh".to_owned())
}

fn run(driven: &Driven, agent: &str, arguments: &[&str]) -> Said {
    let sandbox = &driven.sandbox;
    let mut command: Command = sandbox.command("timeout");
    command.args([
        "--foreground",
        "--kill-after=5",
        "120",
        env!("CARGO_BIN_EXE_warp"),
        "run",
        "--agent",
        agent,
    ]);
    command.args(["42", "--once", "--set", "decision_timeout_minutes=0"]).args(arguments);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn log(driven: &Driven) -> Vec<Value> {
    serde_json::from_str(&driven.sandbox.warp_ok(&["log", "42", "--json"])).unwrap()
}

fn named<'a>(log: &'a [Value], event: &str) -> Vec<&'a Value> {
    log.iter().filter(|record| record["event"] == event).collect()
}

#[test]
fn calls_are_the_answer_whatever_is_said_at_the_end() {
    let (driven, agent) = driven(
        4,
        r#"
if [ "$WARP_PHASE" = planning ]; then
  call submit_plan '{"plan":"word by word","chunks":[["AC-01","AC-02"],["AC-03","AC-04"]]}'
  echo '{"approach":"another one"}'
  exit 0
fi
test "$WARP_PHASE" != chunk_complete || exec echo '{"unmet":[]}'
case $WARP_CHUNK in 1) set -- 1 2 ;; *) set -- 3 4 ;; esac
evidence=
for k in "$@"; do
  echo "word$k" > "file$k.txt"
  evidence="$evidence{\"ac\":\"AC-0$k\",\"file\":\"file$k.txt\",\"line\":1},"
done
call report_finding '{"severity":"p2","text":"words are few","file":"file1.txt","line":1}'
call done "{\"summary\":\"by tool\",\"evidence\":[${evidence%,}]}"
echo 'There is no answer here.'
"#,
    );
    run(&driven, &agent, &["--level", "3"]).ends(0);
    let log = log(&driven);
    let plans = named(&log, "plan_ready");
    assert_eq!(plans.len(), 1);
    assert_eq!(
        (&plans[0]["actor"], &plans[0]["data"]["approach"]),
        (&"agent".into(), &"word by word".into())
    );
    let done = named(&log, "code_complete");
    assert_eq!(done.iter().filter(|record| record["data"]["summary"] == "by tool").count(), 2, "{done:?}");
    // One turn for each phase, one that looks at all of it, and none of them was asked again.
    assert_eq!(named(&log, "turn_started").len(), 4);
    assert_eq!(named(&log, "turn_ended").len(), 4);
    assert_eq!(named(&log, "finding_reported").len(), 2);
    assert_eq!(driven.sandbox.git(&["show", "main:file4.txt"]), "word4");
}

#[test]
fn what_a_call_makes_run_is_behind_the_walls_too() {
    let (driven, agent) = driven(
        1,
        r#"
echo word1 > file1.txt
echo 'echo out > "$HOME/escaped"' > check.sh
call done '{"summary":"by tool","evidence":[{"ac":"AC-01","file":"file1.txt","line":1}]}'
"#,
    );
    let gates = r#"verification_gates={"code_complete":["sh ./check.sh"]}"#;
    run(&driven, &agent, &["--level", "3", "--set", gates]).ends(0);
    let log = log(&driven);
    let done = named(&log, "code_complete");
    assert_eq!(done[0]["actor"], "agent");
    assert!(!driven.sandbox.home().join("escaped").exists(), "a gate was run outside");
}

#[test]
fn a_turn_that_has_said_its_word_has_no_other() {
    let (driven, agent) = driven(
        1,
        r#"
echo word1 > file1.txt
input='{"summary":"by tool","evidence":[{"ac":"AC-01","file":"file1.txt","line":1}]}'
call done "$input" > first.log
call done "$input" > second.log
call status '{}' > third.log
echo '{"summary":"again"}'
"#,
    );
    run(&driven, &agent, &[]).ends(0);
    let branch = driven.sandbox.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/feature"]);
    let show = |file: &str| driven.sandbox.git(&["show", &format!("{branch}:{file}")]);
    assert!(show("first.log").contains("Your turn is over"), "{}", show("first.log"));
    assert!(show("second.log").contains("is refused: your turn is over"), "{}", show("second.log"));
    assert!(show("third.log").contains("possible now: status"), "{}", show("third.log"));
    assert_eq!(named(&log(&driven), "code_complete").len(), 1);
}

#[test]
fn a_question_by_tool_ends_the_turn_and_its_answer_reaches_the_next() {
    let (driven, agent) = driven(
        1,
        r#"
if grep -q 'Tabs or spaces? tabs'; then
  call done '{"summary":"seen","event":"unrecoverable_error"}' > /dev/null
  call submit_plan '{"plan":"with tabs"}' > /dev/null
else
  call ask_question '{"question":"Tabs or spaces?"}' > /dev/null
fi
[ "$WARP_PHASE" = PLANNING ] || call done '{"summary":"enough","event":"abandon"}' > /dev/null
echo '{}'
"#,
    );
    let said = run(&driven, &agent, &["--workflow", "coder"]).ends(5);
    assert!(said.out.contains("clarification"), "{said:?}");
    insta::assert_snapshot!(driven.sandbox.stable(&said.err), @"
    waits for you: The coder asks: Tabs or spaces?
    answer with:
      warp answer [RUN].e5 answer
      warp answer [RUN].e5 abandon
    then `warp run`
    ");
    let status = driven.sandbox.json(&["status", "42", "--json"]);
    assert_eq!(status["phase"], "QUESTION");
    let id = status["asked"]["id"].as_str().unwrap();
    driven.sandbox.warp_ok(&["answer", id, "answer", "--note", "tabs"]);
    let said = run(&driven, &agent, &[]);
    let log = log(&driven);
    assert_eq!(named(&log, "submit_plan")[0]["data"]["approach"], "with tabs", "{said:?}");
    assert_eq!(named(&log, "clarification").len(), 1);
}

#[test]
fn an_agent_that_reviews_does_not_review_its_own_plan() {
    let (driven, agent) = driven(
        1,
        r#"
case $WARP_PHASE in
  PLANNING)
    call submit_plan '{"plan":"mine"}' > /dev/null
    call done '{"summary":"fine","event":"approve"}' > own.log
    ;;
  PLAN_REVIEW) call done '{"summary":"seen","event":"abandon"}' > /dev/null ;;
esac
echo '{}'
"#,
    );
    let said = run(&driven, &agent, &["--workflow", "coder"]);
    let log = log(&driven);
    assert!(named(&log, "approve").is_empty(), "{said:?}");
    assert_eq!(named(&log, "submit_plan").len(), 1, "{said:?}");
    assert_eq!(named(&log, "abandon")[0]["actor"], "agent");
}

#[test]
fn a_plan_by_a_tool_proposes_criteria_where_the_issue_has_none() {
    let (driven, agent) = driven(
        0,
        r#"
if [ "$WARP_PHASE" = planning ]; then
  call submit_plan '{"plan":"word by word"}' >> plans.txt
  call done '{"summary":"planned"}' >> plans.txt
  call submit_plan '{"plan":"word by word","criteria":["it has a word"]}' >> plans.txt
  mv plans.txt "$HOME/plans.txt" 2>/dev/null || rm plans.txt
  exit 0
fi
echo word > file1.txt
call done '{"summary":"by tool","evidence":[{"ac":"AC-01","file":"file1.txt","line":1}]}'
"#,
    );
    run(&driven, &agent, &["--level", "2"]).ends(0);
    let log = log(&driven);
    assert_eq!(named(&log, "question_asked")[0]["data"]["kind"], "criteria");
    assert_eq!(named(&log, "criteria_unconfirmed").len(), 1);
    assert_eq!(named(&log, "plan_ready").len(), 1, "what had no criteria was refused");
    let issue = driven.sandbox.warp_ok(&["issue", "show", "42"]);
    assert!(issue.contains("nobody has confirmed them.\n\n- [x] it has a word"), "{issue}");
}
