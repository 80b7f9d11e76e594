//! Spend: an agent's requests go through warp, are booked, and stop at a cap; limits, outages and full machines are
//! waited out.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::PathBuf,
    process::Command,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::process::Signal;
use serde_json::Value;
use testkit::{
    driven::Driven,
    model::{Gate, Model, Script, Turn},
};

use super::support::{Running, has_walls};
use crate::support::{Ends as _, InProject as _};

/// How long anything is waited for before a test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// An agent that asks the model once for each chunk, and does the chunk if it gets an answer.
const AGENT: &str = r#"
url=${ANTHROPIC_BASE_URL#http://}
host=${url%%/*}
body='{"model":"claude-sonnet-4-5","max_tokens":9,"tools":[{"name":"t"}],"messages":[{"role":"user","content":"do it"}]}'
exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
printf 'POST /%s/v1/messages HTTP/1.1\r\nHost: %s\r\nX-Api-Key: k\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
    "${url#*/}" "$host" "${#body}" "$body" >&3
answer=$(tr -d '\r' <&3)
case $answer in
*' 200 '*) ;;
*) printf '%s\n' "$answer" >&2; exit 1 ;;
esac
echo "word$WARP_CHUNK" > "file$WARP_CHUNK.txt"
printf '{"summary":"done","evidence":[{"ac":"AC-0%d","file":"file%d.txt","line":1}]}\n' "$WARP_CHUNK" "$WARP_CHUNK"
"#;

/// A project with an issue of three chunks, an agent, and the model that it asks.
struct Spending {
    driven: Driven,
    model: Model,
}

impl Spending {
    fn new(script: impl Into<Script>) -> Self {
        let driven = Driven::new(env!("CARGO_BIN_EXE_warp"));
        driven.issue(42, 3, "");
        let agent = driven.sandbox.home().join("agent.sh");
        fs::write(&agent, AGENT).unwrap();
        fs::set_permissions(agent, fs::Permissions::from_mode(0o755)).unwrap();
        Self { driven, model: Model::start(script) }
    }

    fn agent(&self) -> String {
        format!("command:bash {}", self.driven.sandbox.home().join("agent.sh").display())
    }

    fn run(&self, more: &[&str]) -> Command {
        self.run_issue("42", "3", more)
    }

    fn run_issue(&self, issue: &str, level: &str, more: &[&str]) -> Command {
        let mut command = self.driven.sandbox.warp_command(&["run", issue, "--level", level, "--once"]);
        let agent = format!("agent={}", self.agent());
        // Each chunk is a request, and there is none that looks at all of them again.
        command.args(["--set", "max_acs_per_commit=1", "--set", "pre_exit_verification=false"]);
        command.args(["--set", &agent]).args(more);
        command.env("ANTHROPIC_BASE_URL", self.model.url());
        command
    }

    /// Makes a search path of what is needed and nothing else: no client of an agent is in it.
    fn without_clients(&self) -> PathBuf {
        let tools = self.driven.sandbox.home().join("tools");
        fs::create_dir(&tools).unwrap();
        let path = env::var_os("PATH").unwrap();
        for tool in ["git", "sh", "bash", "tr", "make"] {
            let found = env::split_paths(&path).map(|place| place.join(tool)).find(|path| path.is_file());
            if let Some(found) = found {
                symlink(found, tools.join(tool)).unwrap();
            }
        }
        tools
    }

    fn finish(&self, more: &[&str]) -> (Option<i32>, String) {
        let ended = Running::start(self.run(more)).end();
        (ended.code, ended.said)
    }

    fn records(&self, event: &str) -> Vec<Value> {
        self.records_of("42", event)
    }

    fn records_of(&self, issue: &str, event: &str) -> Vec<Value> {
        let log = self.driven.sandbox.rows(&["log", issue, "--json"]);
        log.into_iter().filter(|record| record["event"] == event).collect()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.driven.sandbox.warp_ok(&["status", "42", "--json"])).unwrap()
    }

    fn decision(&self) -> String {
        self.status()["standing"]["decision"]["id"].as_str().unwrap().to_owned()
    }
}

/// Seconds since 1970, so many from now.
fn in_seconds(seconds: u64) -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + seconds
}

#[test]
fn a_run_stops_at_its_cap_and_goes_on_with_more() {
    let spending = Spending::new(Script::function(|_| Turn::say("well").usage(0, 100_000, 0, 0)));
    // A hundred thousand tokens of output cost 1.50 dollars.
    let (code, said) = spending.finish(&["--set", "budget_limit_usd=2"]);
    assert_eq!(code, Some(5), "{said}");
    assert_eq!(spending.model.requests().len(), 2, "the third is not let out");
    assert!(said.contains("$3.00 of $2.00"), "{said}");
    let decision = spending.decision();
    let too_little = spending.driven.sandbox.warp(&["answer", &decision, "more", "--usd", "0.5"]);
    assert_eq!(too_little.code, Some(64), "{}", too_little.err);
    spending.driven.sandbox.warp_ok(&["answer", &decision, "more", "--usd", "5"]);
    let (code, said) = spending.finish(&[]);
    assert_eq!(code, Some(0), "{said}");
    let cost = spending.driven.sandbox.warp_ok(&["cost", "42"]);
    assert!(cost.contains("$4.50"), "{cost}");
}

#[test]
fn an_agent_that_hangs_up_pays_for_the_whole_answer() {
    let spending = Spending::new(Script::function(|_| Turn::say("well").usage(0, 1000, 0, 0)));
    // Each request is sent twice; the first time the agent is gone before the answer is.
    let twice = " >&3\n}\nask\nread -r status <&3\nexec 3<&-\nask\nanswer=";
    let agent = AGENT.replace("exec 3<>", "ask() {\nexec 3<>").replace(" >&3\nanswer=", twice);
    let agent = agent.replace(r#""max_tokens":9"#, r#""max_tokens":5000,"stream":true"#);
    fs::write(spending.driven.sandbox.home().join("agent.sh"), agent).unwrap();
    let (code, said) = spending.finish(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(spending.model.requests().len(), 6, "{said}");
    let cost = spending.driven.sandbox.warp_ok(&["cost", "42", "--json"]);
    let cost: Value = serde_json::from_str(&cost).unwrap();
    let total = &cost["total"];
    assert_eq!((&total["output_tokens"], &total["open"]), (&6000.into(), &0.into()), "{cost}");
}

#[test]
fn an_answer_that_is_cut_off_is_marked_and_costs_the_most_that_it_can() {
    let asked = AtomicUsize::new(0);
    let spending = Spending::new(Script::function(move |_| {
        let turn = Turn::say("well").usage(0, 1000, 0, 0);
        if asked.fetch_add(1, Ordering::Relaxed) == 0 { turn.cut_after(2) } else { turn }
    }));
    let agent = AGENT.replace(r#""max_tokens":9"#, r#""max_tokens":100000,"stream":true"#);
    fs::write(spending.driven.sandbox.home().join("agent.sh"), agent).unwrap();
    let (code, said) = spending.finish(&[]);
    assert_eq!(code, Some(0), "{said}");
    let cost = spending.driven.sandbox.warp_ok(&["cost", "42"]);
    // A hundred thousand tokens of output cost 1.50 dollars, and two answers 3 cents.
    assert!(cost.contains("$1.53") && cost.contains('^'), "{cost}");
    assert!(cost.contains("^ 1 cut off before the usage was told: counted at the most it can be"), "{cost}");
}

#[test]
fn max_requests_is_how_many_requests_of_a_run_are_in_flight() {
    for (most, together) in [("1", 1), ("3", 3)] {
        let gate = Gate::new();
        let held = gate.clone();
        let spending = Spending::new(Script::function(move |_| Turn::say("well").held_after(0, &held)));
        // The agent asks three times at once.
        let agent = AGENT.replace("exec 3<>", "for i in 1 2 3; do (\nexec 3<>");
        let agent = agent.replace(" ;;\nesac\n", " ;;\nesac\n) & done\nwait\n");
        fs::write(spending.driven.sandbox.home().join("agent.sh"), agent).unwrap();
        let running = Running::start(spending.run(&["--set", &format!("max_requests={most}")]));
        assert!(gate.wait_until_reached(together, PATIENCE), "{most}");
        assert!(spending.model.requests().len() <= together, "{most}");
        gate.open();
        let ended = running.end().ends(0);
        assert_eq!(spending.model.requests().len(), 9, "{}", ended.said);
    }
}

#[test]
fn a_model_without_a_price_is_said_to_be_a_guess_once_and_at_the_start() {
    let spending = Spending::new(Script::function(|_| Turn::say("well").usage(0, 1000, 0, 0)));
    let agent = AGENT.replace("claude-sonnet-4-5", "gpt-6.1-sol");
    fs::write(spending.driven.sandbox.home().join("agent.sh"), agent).unwrap();
    let roles = serde_json::json!({ "coder": { "agent": spending.agent(), "model": "claude-opus-9" } });
    let (code, said) = spending.finish(&["--set", &format!("roles={roles}")]);
    assert_eq!(code, Some(0), "{said}");
    let header = "claude-opus-9, which has no price: the highest price of the claude-opus models is taken";
    assert!(said.contains(header), "{said}");
    let used = "`gpt-6.1-sol` has no price in the list: the highest price of the gpt-sol models is taken";
    assert_eq!(said.matches(used).count(), 1, "{said}");
    // Three thousand tokens of output at $45 for a million.
    let cost = spending.driven.sandbox.warp_ok(&["cost", "42", "--by", "model"]);
    assert!(cost.contains("$0.14") && cost.contains('~'), "{cost}");
}

#[test]
fn the_runs_of_a_session_share_the_cap_that_was_given_for_it() {
    let spending = Spending::new(Script::function(|_| Turn::say("well").usage(0, 100_000, 0, 0)));
    let sandbox = &spending.driven.sandbox;
    sandbox.warp_ok(&["issue", "close", "42"]);
    for issue in [1, 2, 3] {
        spending.driven.issue(issue, 1, "");
    }
    // Each run changes the same line.
    let agent = AGENT.replace("\"word$WARP_CHUNK\"", "\"word$WARP_CHUNK $RANDOM$RANDOM\"");
    fs::write(sandbox.home().join("agent.sh"), agent).unwrap();
    let mut command = sandbox.warp_command(&["run", "--until-empty", "--level", "3", "--budget", "2"]);
    command.args(["--agent", &spending.agent()]).env("ANTHROPIC_BASE_URL", spending.model.url());
    let ended = Running::start(command).end();
    let says = |text: &str| assert!(ended.said.contains(text), "`{text}` in {}", ended.said);
    says("cap      $2.00 for this session\n");
    // Each request costs 1.50 dollars.
    says("cap      $0.50 left for this session\n");
    says("Session cap reached (budget_limit_usd)");
    assert_eq!(spending.model.requests().len(), 2, "{}", ended.said);
    let listed = sandbox.warp_ok(&["issue", "show", "3"]);
    assert!(listed.contains("\nopen, ready\n"), "{listed}");
}

#[test]
fn a_cap_of_tokens_and_one_of_the_day_stop_a_run_too() {
    let spending = Spending::new(Script::function(|_| Turn::say("well").usage(10, 990, 0, 0)));
    // One request passes the cap, so that a day may begin in between.
    let (code, said) = spending.finish(&["--set", "daily_tokens=500"]);
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("of this day reached (1000 tokens of 500 tokens). Raise it?"), "{said}");
    let sandbox = &spending.driven.sandbox;
    insta::assert_snapshot!(sandbox.refused(64, &["answer", &spending.decision(), "more", "--usd", "5"]), @"error: the cap is one of tokens, so more of it is wanted: `--tokens N`");
    sandbox.warp_ok(&["answer", &spending.decision(), "tomorrow"]);
    let explained = sandbox.warp_ok(&["explain", "42"]);
    assert!(explained.contains("a person lets it resume tomorrow, until"), "{explained}");
}

#[test]
fn a_usage_limit_is_waited_out_and_costs_no_retry() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let spending = Spending::new(Script::function(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        1 => Turn::Limit { resets_at: in_seconds(2), retry_after: 2 },
        _ => Turn::say("well"),
    }));
    let (code, said) = spending.finish(&[]);
    assert_eq!(code, Some(0), "{said}");
    let waits = spending.records("suspended");
    assert_eq!(waits.len(), 1, "{said}");
    assert_eq!(waits[0]["data"]["kind"], "limit");
    assert_eq!(spending.records("wait_over").len(), 1);
    assert_eq!(asked.load(Ordering::Relaxed), 4);
    assert!(spending.records("tests_failed").is_empty() && spending.records("question_asked").is_empty());
}

#[test]
fn three_processes_wait_for_one_reset_and_all_of_them_finish() {
    let resets_at = Arc::new(OnceLock::new());
    let told = Arc::clone(&resets_at);
    // Whoever asks before the reset is refused; it begins with the first who does.
    let spending = Spending::new(Script::function(move |_| {
        let resets_at = *told.get_or_init(|| in_seconds(4));
        match resets_at.saturating_sub(in_seconds(0)) {
            0 => Turn::say("well"),
            retry_after => Turn::Limit { resets_at, retry_after },
        }
    }));
    let issues = ["42", "43", "44"];
    spending.driven.issue(43, 1, "");
    spending.driven.issue(44, 1, "");
    let runs = issues.map(|issue| Running::start(spending.run_issue(issue, "2", &[])));
    for (issue, running) in issues.into_iter().zip(runs) {
        let ended = running.end();
        assert_eq!(ended.code, Some(0), "{issue}: {}", ended.said);
        for charged in ["tests_failed", "question_asked", "turn_finished"] {
            assert!(spending.records_of(issue, charged).is_empty(), "{issue} {charged}: {}", ended.said);
        }
    }
    let waits: Vec<Value> = issues.iter().flat_map(|issue| spending.records_of(issue, "suspended")).collect();
    assert!(!waits.is_empty() && waits.iter().all(|wait| wait["data"]["kind"] != "outage"), "{waits:?}");
}

#[test]
fn a_person_who_ends_a_wait_at_a_limit_ends_the_pause_of_its_pool() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let spending = Spending::new(Script::function(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Turn::Limit { resets_at: in_seconds(3600), retry_after: 3600 },
        _ => Turn::say("well"),
    }));
    let mut running = Running::start(spending.run(&[]));
    running.until("waits:");
    let sandbox = &spending.driven.sandbox;
    // Whoever begins anew waits for the pool too.
    sandbox.warp_ok(&["stop", "42"]);
    running.end();
    let mut running = Running::start(spending.run(&[]));
    running.until("waits:");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let status = spending.status();
    let root = status["root"].as_str().unwrap().replace("[HOME]", sandbox.home().to_str().unwrap());
    assert_eq!(status["deadline"], Value::Null, "its clocks stand still: {status:#}");
    let explained = sandbox.warp_ok(&["-C", &root, "explain"]);
    assert!(!explained.contains("then phase_timeout"), "{explained}");
    sandbox.warp_ok(&["state", "resume", &root]);
    running.end().ends(0);
    // Once in the run that was stopped, and once in this.
    assert_eq!((spending.records("suspended").len(), asked.load(Ordering::Relaxed)), (2, 4));
}

#[test]
fn a_usage_limit_asks_a_person_where_waiting_is_off() {
    let spending =
        Spending::new(Script::function(|_| Turn::Limit { resets_at: in_seconds(2), retry_after: 2 }));
    let (_, said) =
        spending.finish(&["--set", "pause_at_limit=false", "--set", "decision_timeout_minutes=0"]);
    assert!(spending.records("suspended").is_empty(), "{said}");
    assert!(!spending.records("question_asked").is_empty(), "{said}");
}

#[test]
fn a_full_machine_is_waited_for_and_explained() {
    let spending = Spending::new(Script::function(|_| Turn::say("well")));
    let sandbox = &spending.driven.sandbox;
    let mut running = Running::start(spending.run(&["--set", "min_free_mb=4000000000"]));
    running.until("waits:");
    let explained = sandbox.warp_ok(&["explain", "42"]);
    assert!(explained.contains("min_free_mb"), "{explained}");
    assert_eq!(spending.model.requests().len(), 0);
    sandbox.warp_ok(&["stop", "42"]);
    running.end();
}

#[test]
fn an_outage_is_waited_out_and_then_put_to_a_person() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let spending = Spending::new(Script::function(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Turn::Fail { status: 529, message: "overloaded".to_owned() },
        _ => Turn::say("well"),
    }));
    let (code, said) = spending.finish(&[]);
    assert_eq!(code, Some(0), "{said}");
    let waits = spending.records("suspended");
    assert_eq!((waits.len(), &waits[0]["data"]["kind"]), (1, &Value::from("outage")), "{said}");
    assert!(spending.records("question_asked").is_empty());

    let fail = Turn::Fail { status: 500, message: "no".to_owned() };
    let spending = Spending::new(Script::function(move |_| fail.clone()));
    let (_, said) = spending.finish(&["--set", "outage_minutes=0", "--set", "decision_timeout_minutes=0"]);
    let asked = spending.records("question_asked");
    assert!(asked[0]["data"]["question"].as_str().unwrap().contains("longer than 0 minutes"), "{said}");
}

#[test]
fn a_fallback_takes_over_at_the_limit_that_the_run_itself_comes_to() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let spending = Spending::new(Script::function(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Turn::Limit { resets_at: in_seconds(3600), retry_after: 3600 },
        _ => Turn::say("well"),
    }));
    let other = format!("{} again", spending.agent());
    let roles = serde_json::json!({ "coder": { "agent": spending.agent(), "fallbacks": [other] } });
    let (code, said) = spending.finish(&["--set", &format!("roles={roles}")]);
    assert_eq!(code, Some(0), "{said}");
    assert!(spending.records("suspended").is_empty(), "{said}");
    assert_eq!((spending.records("turn_started").len(), asked.load(Ordering::Relaxed)), (4, 4), "{said}");
}

#[test]
fn a_fallback_takes_over_from_a_line_that_names_no_program() {
    for line in ["command:no-such-thing --fast", "acp:no-such-thing --acp"] {
        let spending = Spending::new(Script::function(|_| Turn::say("well")));
        let roles = serde_json::json!({ "coder": { "agent": line, "fallbacks": [spending.agent()] } });
        let (code, said) = spending.finish(&["--set", &format!("roles={roles}")]);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(said.matches("another takes over").count(), 1, "it is asked once: {said}");
        assert_eq!(spending.records("turn_started").len(), 4, "{said}");
    }
}

#[test]
fn a_command_that_asks_its_model_elsewhere_is_said_to_be_unmetered() {
    let spending = Spending::new(Script::function(|_| Turn::say("well")));
    let (code, said) = spending.finish(&[]);
    assert_eq!((code, said.contains("is not metered")), (Some(0), false), "{said}");
    assert!(spending.records("turn_ended").iter().all(|record| record["data"]["unmetered"].is_null()));

    let spending = Spending::new(Script::function(|_| Turn::say("well")));
    let agent = spending.driven.sandbox.home().join("agent.sh");
    let (_, work) = AGENT.split_once("esac\n").unwrap();
    fs::write(agent, work).unwrap();
    let (code, said) = spending.finish(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said.matches("command is not metered: no requests seen").count(), 1, "{said}");
    let turns = spending.records("turn_ended");
    assert!(turns.len() == 3 && turns.iter().all(|record| record["data"]["unmetered"] == true), "{turns:?}");
}

#[test]
fn claude_code_is_led_to_the_address_that_the_persons_settings_name() {
    if !has_walls() {
        return;
    }
    let spending = Spending::new(Script::function(|_| Turn::say("well").usage(0, 1000, 0, 0)));
    let home = spending.driven.sandbox.home();
    let tools = home.join("tools");
    fs::create_dir(&tools).unwrap();
    // A client that asks its model where it is told to, and answers in its own form.
    let answer = r#"printf '{"type":"result","is_error":false,"session_id":"s","result":"{\\"summary\\":\\"done\\",\\"evidence\\":[{\\"ac\\":\\"AC-0%d\\",\\"file\\":\\"file%d.txt\\",\\"line\\":1}]}"}\n' "$WARP_CHUNK" "$WARP_CHUNK""#;
    let (work, _) = AGENT.split_once("printf '{\"summary\"").unwrap();
    fs::write(tools.join("claude"), format!("#!/bin/bash\n{work}{answer}\n")).unwrap();
    fs::set_permissions(tools.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(home.join(".claude")).unwrap();
    let settings = serde_json::json!({ "env": { "ANTHROPIC_BASE_URL": spending.model.url() } });
    fs::write(home.join(".claude/settings.json"), settings.to_string()).unwrap();
    let mut command = spending.run(&["--agent", "claude"]);
    let mut path = tools.into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap());
    // Nobody listens at the address that the environment names.
    command.env("PATH", path).env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    Running::start(command).end().ends(0);
    assert_eq!(spending.model.requests().len(), 3);
    let cost = spending.driven.sandbox.warp_ok(&["cost", "42", "--json"]);
    assert_eq!(serde_json::from_str::<Value>(&cost).unwrap()["total"]["output_tokens"], 3000, "{cost}");
}

#[test]
fn what_an_unmetered_agent_says_is_in_the_run_as_it_is_in_the_ledger() {
    let driven = Driven::with_issue(env!("CARGO_BIN_EXE_warp"), 1, 1);
    let turn = Driven::coding_turn(1, 1..=1, "");
    driven.script(&format!("{turn}usage = {{ input = 1200, output = 300 }}\n"));
    driven.run(&["42", "--level", "3", "--once"]).ends(0);
    let json =
        |arguments: &[&str]| -> Value { serde_json::from_str(&driven.sandbox.warp_ok(arguments)).unwrap() };
    let log = json(&["log", "42", "--json"]);
    let ended = log.as_array().unwrap().iter().find(|record| record["event"] == "turn_ended").unwrap();
    let (told, booked) = (&ended["data"]["usage"]["micro_usd"], &json(&["cost", "42", "--json"])["total"]);
    assert!(told.as_u64().unwrap() > 0 && *told == booked["micro_usd"], "{ended:#} {booked:#}");
}

/// A client that works with an account, so that no proxy sees its requests: it writes down what it has used, and goes on.
const ACCOUNT: &str = r#"#!/bin/bash
directory=$HOME/.codex/sessions/2026/11/17
mkdir -p "$directory"
file=$directory/rollout-2026-11-17T10-00-00-t1.jsonl
echo '{"type":"turn_context","payload":{"model":"gpt-5.5"}}' > "$file"
echo '{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":5000,"output_tokens":100}},"rate_limits":RATE}}' >> "$file"
echo '{"type":"thread.started","thread_id":"t1"}'
echo '{"type":"turn.started"}'
THEN
"#;

/// Makes the account's client the one in the search path.
fn with_account(spending: &Spending, rate: &str, then: &str) -> Command {
    let home = spending.driven.sandbox.home();
    let tools = home.join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("codex"), ACCOUNT.replace("RATE", rate).replace("THEN", then)).unwrap();
    fs::set_permissions(tools.join("codex"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir_all(home.join(".codex")).unwrap();
    fs::write(home.join(".codex/auth.json"), r#"{"tokens":{"access_token":"t"}}"#).unwrap();
    let mut path = tools.into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap());
    let mut command = spending.run(&["--agent", "codex"]);
    command.env("PATH", path);
    command
}

#[test]
fn codex_with_an_account_is_stopped_at_a_cap_in_the_middle_of_its_turn() {
    if !has_walls() {
        return;
    }
    let spending = Spending::new(Script::function(|_| Turn::say("well")));
    let mut command = with_account(&spending, "null", "exec sleep 600");
    command.args(["--set", "budget_limit_tokens=4000"]);
    let ended = Running::start(command).end().ends(5);
    assert!(ended.said.contains("5100 tokens of 4000 tokens"), "{}", ended.said);
    let by_model = spending.driven.sandbox.warp_ok(&["cost", "42", "--by", "model"]);
    assert!(by_model.contains("gpt-5.5"), "{by_model}");
}

#[test]
fn a_limit_of_an_account_is_waited_out_until_its_window_begins_anew() {
    if !has_walls() {
        return;
    }
    let spending = Spending::new(Script::function(|_| Turn::say("well")));
    let resets_at = in_seconds(7200);
    let rate =
        format!(r#"{{"primary":{{"used_percent":100.0,"window_minutes":300,"resets_at":{resets_at}}}}}"#);
    let failed = r#"{"type":"turn.failed","error":{"message":"You have hit your usage limit."}}"#;
    let mut running = Running::start(with_account(&spending, &rate, &format!("echo '{failed}'; exit 1")));
    running.until("waits:");
    let status = spending.driven.sandbox.warp_command(&["status", "42", "--json"]).output().unwrap();
    let standing = &serde_json::from_slice::<Value>(&status.stdout).unwrap()["standing"];
    let wanted = engine::Time::from_millis(i64::try_from(resets_at).unwrap() * 1000);
    assert_eq!(standing["wait"]["kind"], "limit", "{standing:#}");
    assert_eq!(standing["wait"]["until"], serde_json::json!(wanted), "{standing:#}");
    spending.driven.sandbox.warp_ok(&["stop", "42"]);
    running.end();
}

#[test]
fn a_role_names_its_agent_and_who_takes_over() {
    let spending = Spending::new(Script::function(|_| Turn::say("well").usage(1, 2, 3, 4)));
    Running::start(spending.run(&["--set", r#"roles={"coder":{"agent":"gpt"}}"#])).end().ends(64);
    let tools = spending.without_clients();
    let roles = serde_json::json!({ "coder": { "agent": "codex", "fallbacks": [spending.agent()] } });
    let mut command = spending.run(&["--no-sandbox", "--set", &format!("roles={roles}")]);
    command.env("PATH", &tools);
    Running::start(command).end().ends(0);
    let started = spending.records("turn_started");
    assert!(
        started.iter().all(|record| record["data"]["agent"] == "command:bash [HOME]/agent.sh"),
        "{started:?}"
    );
    let by_role = spending.driven.sandbox.warp_ok(&["cost", "42", "--by", "role"]);
    assert!(by_role.contains("coder"), "{by_role}");
}

#[test]
fn a_conversation_is_not_gone_on_with_by_another_agent_of_the_same_kind() {
    let driven = Driven::with_issue(env!("CARGO_BIN_EXE_warp"), 1, 1);
    let script = |name: &str, text: &str| {
        let file = driven.sandbox.home().join(name);
        fs::write(&file, text).unwrap();
        format!("script:{}", file.display())
    };
    let asks = "[[turn]]\nphase = \"coding\"\nanswer = { summary = \"\", question = { kind = \"scope\", text = \"All?\", options = [\"yes\"] } }\n";
    let one = script("one.toml", asks);
    // Another fits only where it begins.
    let two = script("two.toml", &Driven::coding_turn(1, 1..=1, "").replace("chunk = 1", "resumed = false"));
    let run = |agent: &str| {
        let arguments = ["run", "42", "--level", "3", "--once", "--agent", agent];
        Running::start(driven.sandbox.warp_command(&arguments))
    };
    let mut running = run(&one);
    running.until("answer with");
    running.signal(Signal::INT);
    assert_eq!(running.end().code, Some(130));
    let status = driven.sandbox.warp_ok(&["status", "42", "--json"]);
    let status: Value = serde_json::from_str(&status).unwrap();
    driven.sandbox.warp_ok(&["answer", status["standing"]["decision"]["id"].as_str().unwrap(), "yes"]);
    run(&two).end().ends(0);
}

#[test]
fn a_role_for_which_nobody_is_there_is_noticed_before_anything_begins() {
    let spending = Spending::new(Script::function(|_| Turn::say("well")));
    let tools = spending.without_clients();
    let roles = serde_json::json!({ "coder": { "agent": spending.agent() } });
    let roles = format!("roles={roles}");
    let run = |more: &[&str]| {
        let mut command = spending.run(&["--no-sandbox", "--set", "agent=codex", "--set", &roles]);
        command.args(more).env("PATH", &tools);
        Running::start(command).end()
    };
    let ended = run(&["--workflow", "coder"]).ends(78);
    assert!(ended.said.contains("`codex` is not installed"), "{}", ended.said);
    assert_eq!(spending.driven.sandbox.warp(&["status", "42"]).code, Some(2), "nothing was begun");
    // Where all that is done is a coder's, nobody else is needed.
    run(&[]).ends(0);
}
