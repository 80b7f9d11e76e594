//! Agents of the protocol: samples of real ones, and a small one in shell.

use std::fs;

use agent_client_protocol::v1::schema::{SessionId, SessionNotification};
use serde_json::{Value, json};

use super::*;
use crate::agent::{Extras, Notice};
use crate::process::Limits;

const SAMPLES: [&str; 3] = [
    include_str!("samples/claude-agent-acp.jsonl"),
    include_str!("samples/codex-acp.jsonl"),
    include_str!("samples/opencode-acp.jsonl"),
];

/// An agent that asks for leave to run a command, and answers with the option that was chosen.
const DOUBLE: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
chunk() { say '"method":"session/update","params":{"sessionId":"s-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}'; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -nE 's/.*"id":("[^"]*"|[0-9]+).*/\1/p')
  case $line in
    *'"initialize"'*) say '"id":'$id',"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"authMethods":['"$(cat needs-login 2>/dev/null)"']}' ;;
    *'"authenticate"'*api-key*) touch logged-in; say '"id":'$id',"result":{}' ;;
    *'"authenticate"'*) say '"id":'$id',"error":{"code":-32603,"message":"there is no browser"}' ;;
    *'"session/new"'*) if test -e needs-login && ! test -e logged-in; then say '"id":'$id',"error":{"code":-32000,"message":"Authentication required"}'; continue; fi
      say '"id":'$id',"result":{"sessionId":"s-1"}' ;;
    *'"session/load"'*gone*) say '"id":'$id',"error":{"code":-32002,"message":"not found"}' ;;
    *'"session/load"'*) chunk '{\"summary\":\"of another turn\"}'; say '"id":'$id',"result":{}' ;;
    *'"session/prompt"'*Wait*) prompt=$id; chunk 'I wait.' ;;
    *'"session/prompt"'*Trace*) say '"id":'$id',"error":{"code":-32603,"message":"Internal error","data":{"details":"Error: no such tool\n    at run (/opt/agent/index.js:1:2)\n    at main (/opt/agent/index.js:2:3)"}}' ;;
    *'"session/prompt"'*Fail*) say '"id":'$id',"error":{"code":-32603,"message":"Internal error","data":"the model is gone"}' ;;
    *'"session/prompt"'*)
      prompt=$id
      chunk 'I ask.'
      say '"id":77,"method":"session/request_permission","params":{"sessionId":"s-1","toolCall":{"toolCallId":"t","kind":"execute","title":"make","rawInput":{"command":"make it"}},"options":[{"optionId":"always","name":"a","kind":"allow_always"},{"optionId":"once","name":"o","kind":"allow_once"},{"optionId":"no","name":"n","kind":"reject_once"}]}' ;;
    *'"session/cancel"'*) say '"id":'$prompt',"result":{"stopReason":"cancelled"}' ;;
    *'"optionId"'*)
      chosen=$(printf '%s' "$line" | sed -nE 's/.*"optionId":"([^"]*)".*/\1/p')
      chunk '{\"sum'; chunk 'mary\":\"'$chosen'\"}'
      say '"id":'$prompt',"result":{"stopReason":"end_turn","usage":{"totalTokens":9,"inputTokens":7,"outputTokens":2}}' ;;
  esac
done
"#;

/// Asks the agent in shell; one that is to wait is stopped.
fn ask(prompt: &str, resume: Option<&str>, allowed: &[String]) -> (TurnResult, Vec<AgentUpdate>) {
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("agent.sh"), DOUBLE).unwrap();
    ask_line("sh agent.sh", tree.path(), prompt, resume, allowed)
}

fn ask_line(
    line: &str,
    tree: &std::path::Path,
    prompt: &str,
    resume: Option<&str>,
    allowed: &[String],
) -> (TurnResult, Vec<AgentUpdate>) {
    let turn = Turn {
        tree,
        prompt,
        schema: &json!({ "type": "object", "required": ["summary"] }),
        resume,
        session: None,
        effort: Some("high"),
        model: None,
        route: None,
        mcp: None,
        extras: Extras::default(),
        facts: &[],
        walls: None,
        limits: Limits { whole: Duration::from_secs(60), silence: Duration::from_secs(60) },
        hooks: None,
        allowed,
        mark: "test",
    };
    let mut said = Vec::new();
    let ended = Acp { line: line.to_owned() }.run(&turn, &mut |heard| {
        // It is prompted as soon as it has a conversation, and stopped when that is told.
        let is_asked = matches!(heard, AgentUpdate::Session(_));
        let go = if prompt == "Wait." && is_asked { Control::Stop } else { Control::On };
        if !matches!(heard, AgentUpdate::Tick(_)) {
            said.push(heard);
        }
        go
    });
    (ended, said)
}

#[test]
fn what_real_agents_tell_is_heard() {
    let shown = SAMPLES.map(|sample| {
        let mut heard = Transcript::default();
        heard.open(&SessionId::new("s"));
        let lines = sample.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let updates = lines.filter(|line| line["method"] == "session/update");
        let mut said: Vec<AgentUpdate> = updates
            .map(|line| serde_json::from_value::<SessionNotification>(line["params"].clone()).unwrap())
            .flat_map(|told| heard.update(&told.update))
            .collect();
        said.extend(heard.end());
        let used = said.iter().rfind(|said| matches!(said, AgentUpdate::Usage(_))).cloned();
        assert_eq!(used, Some(AgentUpdate::Usage(heard.least())));
        said.retain(|said| !matches!(said, AgentUpdate::Usage(_)));
        (said, heard.least().input, heard.cost_usd)
    });
    let tool = |name: &str, about: &str| AgentUpdate::Tool { name: name.to_owned(), about: about.to_owned() };
    let done = AgentUpdate::Text("all done".to_owned());
    let [claude, codex, opencode] = shown;
    assert_eq!(
        claude,
        (vec![tool("Bash", "touch RAN && python3 -c pass"), done.clone()], 11806, Some(0.09478))
    );
    assert_eq!(codex, (vec![tool("exec_command", "touch RAN"), done.clone()], 10813, None));
    assert_eq!(opencode.0.last(), Some(&done), "{opencode:?}");
}

#[test]
fn an_agent_that_asks_is_answered_and_its_answer_taken() {
    let (ended, said) = ask("Do it.", None, &[]);
    assert_eq!(ended.answer.unwrap(), json!({ "summary": "no" }), "{said:?}");
    assert_eq!((ended.session.as_deref(), ended.usage.input, ended.usage.output), (Some("s-1"), 7, 2));
    let why = "without the sandbox an agent edits its tree and runs the tests of the project";
    let expected = [
        AgentUpdate::Session("s-1".to_owned()),
        AgentUpdate::Notice(Notice::refused("Bash", why)),
        AgentUpdate::Text("I ask.{\"summary\":\"no\"}".to_owned()),
    ];
    assert_eq!(said, expected);
    let (ended, _) = ask("Do it.", None, &["make".to_owned()]);
    assert_eq!(ended.answer.unwrap(), json!({ "summary": "once" }));
}

#[test]
fn a_conversation_is_gone_on_with_and_what_was_said_in_it_does_not_count() {
    let (ended, said) = ask("Do it.", Some("s-0"), &[]);
    assert_eq!(ended.answer.unwrap(), json!({ "summary": "no" }));
    assert_eq!(said[0], AgentUpdate::Session("s-0".to_owned()));
    let (ended, _) = ask("Do it.", Some("gone"), &[]);
    assert!(matches!(ended.answer, Err(NoAnswer::NoConversation)), "{ended:?}");
}

#[test]
fn an_agent_is_stopped_by_a_word_and_its_failure_is_told() {
    let (ended, _) = ask("Wait.", None, &[]);
    assert!(matches!(ended.answer, Err(NoAnswer::Stopped)), "{ended:?}");
    assert_eq!(ended.session.as_deref(), Some("s-1"), "it can be resumed");
    let (ended, _) = ask("Fail.", None, &[]);
    let why = ended.answer.unwrap_err().to_string();
    assert!(why.starts_with("it failed") && why.ends_with("Internal error: the model is gone"), "{why}");
    let tree = tempfile::tempdir().unwrap();
    let (ended, _) = ask_line("no-such-agent --acp", tree.path(), "Do it.", None, &[]);
    assert!(matches!(ended.answer, Err(NoAnswer::Missing { .. })), "{ended:?}");
    let (ended, _) = ask_line("echo Hello; exit 3", tree.path(), "Do it.", None, &[]);
    assert_eq!(ended.answer.unwrap_err().to_string(), "it failed (exit 3): Hello");
}

/// Asks an agent that wants a login and offers these ways.
fn ask_for_login(ways: &str) -> (TurnResult, Vec<AgentUpdate>) {
    let tree = tempfile::tempdir().unwrap();
    fs::write(tree.path().join("agent.sh"), DOUBLE).unwrap();
    fs::write(tree.path().join("needs-login"), ways).unwrap();
    ask_line("sh agent.sh", tree.path(), "Do it.", None, &["make".to_owned()])
}

#[test]
fn an_agent_that_wants_a_login_is_logged_in_by_the_key_that_is_there() {
    let (ended, said) = ask_for_login(r#"{"id":"web","name":"Browser"},{"id":"api-key","name":"API key"}"#);
    assert_eq!(ended.answer.unwrap(), json!({ "summary": "once" }), "{said:?}");
    assert_eq!(said[0], AgentUpdate::Notice(Notice::Wait { why: "it logs in: API key".to_owned() }));
}

#[test]
fn a_person_is_told_how_to_log_in_where_nothing_works_without_them() {
    let (ended, _) = ask_for_login(r#"{"id":"web","name":"Browser","description":"Run `agent login`"}"#);
    let why = ended.answer.unwrap_err().to_string();
    let expected =
        "Authentication required; start the agent yourself once and log in: Browser (Run `agent login`)";
    assert!(why.ends_with(expected), "{why}");
    let (ended, _) = ask_for_login("");
    assert!(ended.answer.unwrap_err().to_string().contains("Authentication required; start the agent"));
}

#[test]
fn an_overload_is_the_providers_failure_whatever_the_agent_is_called() {
    let told = |error: &str| {
        let error = serde_json::from_str::<agent_client_protocol::Error>(error).unwrap();
        match NoReply::from(error) {
            NoReply::Refused(why) => refused(&End::Exit(0), why).to_string(),
            NoReply::NoLogin(why) => format!("no login: {why}"),
            other @ (NoReply::NoConversation | NoReply::Lost(_)) => panic!("{other:?}"),
        }
    };
    let errors = [
        r#"{"code":-32603,"message":"Internal error: API Error: 529 Overloaded.","data":{"errorKind":"overloaded"}}"#,
        r#"{"code":-32603,"message":"Internal error","data":{"details":"503 Service Unavailable"}}"#,
        r#"{"code":-32603,"message":"Internal error","data":{"errorKind":"rate_limit"}}"#,
        r#"{"code":-32000,"message":"Authentication required"}"#,
        r#"{"code":-32603,"message":"Internal error","data":{"error":{"message":"no such tool"}}}"#,
    ];
    assert_eq!(
        errors.map(told),
        [
            "its provider fails: Internal error: API Error: 529 Overloaded.: overloaded",
            "its provider fails: Internal error: 503 Service Unavailable",
            "its provider refuses more for now: Internal error: rate_limit",
            "no login: Authentication required",
            "it failed (exit 0): Internal error: no such tool",
        ]
    );
}

#[test]
fn an_error_is_told_by_its_message_and_not_by_its_stack_trace() {
    let (ended, _) = ask("Trace.", None, &[]);
    let why = ended.answer.unwrap_err().to_string();
    assert!(why.ends_with(": Internal error: Error: no such tool"), "{why}");
}

#[test]
fn claude_code_is_known_by_the_name_of_the_program() {
    let is_claude = |line: &str| Acp { line: line.to_owned() }.is_claude();
    for line in [
        "claude-agent-acp",
        "npx -y @agentclientprotocol/claude-agent-acp@0.99.1",
        "MODE=x exec /opt/claude/bin/claude-code-acp --debug",
    ] {
        assert!(is_claude(line), "{line}");
    }
    for line in [
        "",
        "gemini --acp --model claude-like",
        "/home/claude/bin/codex-acp",
        "cd /srv/claude-x && goose acp",
    ] {
        assert!(!is_claude(line), "{line}");
    }
}
