//! What an agent in a terminal may spend, and what keeps it from its work.

use std::time::{SystemTime, UNIX_EPOCH};

use testkit::model::{Model, Script, Turn};

use super::support::{Attached, is_skipped};

/// Asks the model once; needs bash.
const ASK: &str = r#"
ask() {
  url=${ANTHROPIC_BASE_URL#http://}
  host=${url%%/*}
  body='{"model":"claude-sonnet-4-5","max_tokens":9,"tools":[{"name":"t"}],"messages":[{"role":"user","content":"do it"}]}'
  exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
  printf 'POST /%s/v1/messages HTTP/1.1\r\nHost: %s\r\nX-Api-Key: k\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
    "${url#*/}" "$host" "${#body}" "$body" >&3
  cat <&3 > /dev/null
}
heard 'Neither commit nor push'
ask
"#;

/// An agent that asks this model once, and then does the rest of the script.
fn asking(model: &Model, then: &str) -> Attached {
    let mut attached = Attached::new(&format!("{ASK}{then}"));
    attached.agent = "command:bash ./agent.sh".to_owned();
    attached.environment = vec![("ANTHROPIC_BASE_URL".to_owned(), model.url())];
    attached
}

#[test]
fn an_agent_is_not_started_again_once_a_cap_is_reached() {
    if is_skipped() {
        return;
    }
    let model = Model::start(Script::function(|_| Turn::say("well").usage(0, 1000, 0, 0)));
    let mut attached = asking(&model, "exit 1");
    attached.start(&["--set", "budget_limit_tokens=500"]);
    attached.event("agent_crashed");
    let asked = attached.asked();
    assert!(asked["question"].to_string().contains("1000 tokens of 500 tokens"), "{asked}");
    assert_eq!(attached.log("turn_started").len(), 1);
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    assert_eq!(model.requests().len(), 1);
    attached.is_clean();
}

#[test]
fn an_agent_at_a_cap_is_told_when_there_is_more_and_what_it_used_is_recorded() {
    if is_skipped() {
        return;
    }
    let model = Model::start(Script::function(|_| Turn::say("well").usage(0, 1000, 0, 0)));
    let mut attached = asking(&model, "ask; heard 'The cap was raised. Continue.'; ask; exit 1");
    attached.start(&["--set", "budget_limit_tokens=500"]);
    let asked = attached.asked();
    assert_eq!(model.requests().len(), 1, "the second is refused");
    attached.driven.sandbox.warp_ok(&["answer", asked["id"].as_str().unwrap(), "more", "--tokens", "5000"]);
    attached.event("agent_crashed");
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    let turns = attached.log("turn_ended");
    assert_eq!(turns[0]["data"]["usage"]["output_tokens"], 2000, "{turns:?}");
    attached.is_clean();
}

#[test]
fn a_usage_limit_ends_the_agent_until_its_pool_may_work_again() {
    if is_skipped() {
        return;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let limit = Turn::Limit { resets_at: now + 3600, retry_after: 3600 };
    let model = Model::start(Script::function(move |_| limit.clone()));
    let mut attached = asking(&model, "heard 'never'");
    attached.start(&[]);
    assert_eq!(attached.event("suspended")["data"]["kind"], "limit");
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    attached.is_clean();
    // The pause is the pool's, whoever begins.
    attached.start(&[]);
    attached.until("a wait", |line| line["text"].to_string().contains("waits: "));
    assert_eq!((attached.log("turn_started").len(), attached.log("agent_crashed").len()), (1, 0));
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn an_agent_is_not_started_on_a_full_machine() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new("heard 'never'");
    attached.start(&["--set", "min_free_mb=4000000000"]);
    assert_eq!(attached.event("suspended")["data"]["kind"], "admission");
    assert_eq!(attached.log("turn_started").len(), 0);
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    attached.is_clean();
}
