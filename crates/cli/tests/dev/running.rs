//! The demo project goes through whole runs.

use std::net::{Ipv4Addr, TcpListener};

use rustix::process::Signal;
use serde_json::json;

use super::support::{Demo, quit, rows};
use crate::support::Ends as _;

/// A step after which the agent works for ever.
const HANG: &str = "{ say = \"about to hang\" }, { hang = true },";

#[test]
fn a_server_that_was_killed_in_the_middle_is_brought_up_again() {
    let demo = Demo::new();
    let check = format!("{{ run = '{} dev check > health.txt' }},", env!("CARGO_BIN_EXE_warp"));
    demo.issue(1, [&quit(), &check]);
    let ended = demo.run(&["1", "--set", "test_command=test -n \"$WARP_DEV_URL\""]).ends(0);
    assert_eq!(demo.seen_names("1"), ["dev_came_up", "dev_recovered", "dev_checked"], "{}", ended.said);
    let health = demo.sandbox.git(&["show", "main:health.txt"]);
    assert!(health.starts_with("healthy on port"), "{health}");
    for words in [
        "migrations are run",
        "the dev server is up at http://localhost:",
        "seed data is applied: 2-sencha.sql, 10-assam.sql",
        "users are put in",
        "the dev server is not healthy: it ended with exit 4",
        "2 seed files applied before",
        "the dev server is healthy at http://localhost:",
    ] {
        assert!(ended.said.contains(words), "`{words}` was not said:\n{}", ended.said);
    }
    demo.is_quiet();
    assert_eq!(demo.sandbox.git(&["show", "main:file2.txt"]), "word");
    let tree = demo.sandbox.journal().with_file_name("slots/1/tree");
    assert_eq!(rows(tree.clone(), "SELECT name FROM teas ORDER BY id"), ["sencha", "assam"]);
    assert_eq!(rows(tree, "SELECT email FROM people"), ["ann@localhost"]);
}

#[test]
fn a_server_that_is_started_again_by_its_policy_needs_no_recovery() {
    let demo = Demo::with(|dev| dev["server"]["restart"] = json!("on-failure"));
    demo.issue(1, [&quit(), ""]);
    let ended = demo.run(&["1"]).ends(0);
    assert_eq!(demo.seen_names("1"), ["dev_came_up", "dev_checked", "dev_checked"], "{}", ended.said);
    demo.is_quiet();
}

#[test]
fn a_server_that_does_not_come_up_again_is_a_persons_to_decide_on() {
    let demo = Demo::new();
    let broken = format!("{{ write = \"broken\", text = \"x\\n\" }}, {}", quit());
    demo.issue(1, [&broken, "{ remove = \"broken\" },"]);
    let ended = demo.run(&["1"]).ends(5);
    let expected = ["dev_came_up", "dev_failed", "dev_failed"];
    assert_eq!(demo.seen_names("1"), expected, "{}", ended.said);
    demo.is_quiet();
    let (id, question, options) = demo.question("1");
    assert!(question.contains("restarted 2 times without success"), "{question}");
    assert!(question.contains("the demo is broken"), "{question}");
    assert_eq!(options, json!(["continue", "skip", "abort"]));
    let status = demo.sandbox.warp_ok(&["status", "1"]);
    assert!(status.contains("Dev: the server did not come up"), "{status}");

    // Another try comes to the same.
    demo.sandbox.warp_ok(&["answer", &id, "continue"]);
    demo.run(&["1"]).ends(5);
    demo.is_quiet();

    // Without the server the work goes on; what comes next may mend it.
    let (id, _, _) = demo.question("1");
    demo.sandbox.warp_ok(&["answer", &id, "skip"]);
    let ended = demo.run(&["1"]).ends(0);
    assert!(ended.said.contains("left as it is, as a person has decided"), "{}", ended.said);
    assert_eq!(demo.seen_names("1").last().map(String::as_str), Some("dev_recovered"), "{}", ended.said);
    demo.is_quiet();
}

#[test]
fn a_run_does_not_begin_without_its_environment() {
    let demo = Demo::with(|dev| dev["migrations"]["command"] = json!("echo no such table; exit 9"));
    demo.issue(1, ["", ""]);
    let ended = demo.run(&["1"]).ends(1);
    assert!(ended.said.contains("ended with exit 9\n  no such table"), "{}", ended.said);
    demo.is_quiet();
    let bad = Demo::with(|dev| dev["server"]["port"] = json!("3000"));
    bad.issue(1, ["", ""]);
    let ended = bad.run(&["1"]).ends(78);
    assert!(ended.said.contains("`server.port` must be a number"), "{}", ended.said);
}

#[test]
fn dev_health_check_off_leaves_the_server_alone() {
    let demo = Demo::with(|dev| dev["server"]["command"] = json!("exit 9"));
    demo.issue(1, ["", ""]);
    let ended = demo.run(&["1", "--set", "dev_health_check=false"]);
    assert_eq!((ended.code, demo.seen_names("1").len()), (Some(0), 0), "{}", ended.said);
}

#[test]
fn dev_seed_check_advises_on_a_table_without_seed_data() {
    let migration = "{ write = \"migrations/002.sql\", text = \"CREATE TABLE cups (id INT);\\n\" },";
    let seeded = "{ write = \"seed/3-cups.sql\", text = \"INSERT INTO cups VALUES (1);\\n\" },";
    for (steps, more, expected) in [
        (migration.to_owned(), "dev_seed_check=true", 1),
        (migration.to_owned(), "dev_seed_check=false", 0),
        (format!("{migration}{seeded}"), "dev_seed_check=true", 0),
    ] {
        let demo = Demo::new();
        demo.issue(1, [&steps, ""]);
        let ended = demo.run(&["1", "--set", more]).ends(0);
        let seen = demo.seen("1");
        let missing: Vec<&str> = seen
            .iter()
            .filter(|(event, _)| event == "seeds_missing")
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!(missing.len(), expected, "{more}: {}", ended.said);
        if let Some(text) = missing.first() {
            assert_eq!(*text, "no seed data for cups: add some in the same commit");
            assert!(ended.said.contains(text), "{}", ended.said);
        }
        demo.is_quiet();
    }
}

/// An agent that keeps its prompts, makes a table at once, and fills it when it is told to.
const HEEDS: &str = r#"command:n=$(ls prompts 2>/dev/null | wc -l); mkdir -p prompts migrations
cat > "prompts/$n.txt"
echo 'CREATE TABLE cups (id INT);' > migrations/002.sql; echo word > word.txt
if grep -q 'no seed data for cups' "prompts/$n.txt"; then echo 'INSERT INTO cups VALUES (1);' > seed/3-cups.sql; fi
echo '{"summary":"cups","evidence":[{"ac":"AC-01","file":"word.txt","line":1}]}'"#;

#[test]
fn an_agent_hears_of_a_table_without_seed_data_while_it_can_still_add_some() {
    let demo = Demo::new();
    demo.sandbox.issue(1, "# Cups\n\n- [ ] there is a word\n");
    let ended = demo.run(&["1", "--agent", HEEDS]).ends(0);
    let shown = |file: &str| demo.sandbox.git(&["show", &format!("main:{file}")]);
    let advice = "Advice on the code so far: no seed data for cups: add some in the same commit.";
    assert!(!shown("prompts/0.txt").contains(advice), "{}", shown("prompts/0.txt"));
    assert!(shown("prompts/1.txt").contains(advice), "{}", shown("prompts/1.txt"));
    assert_eq!(shown("seed/3-cups.sql"), "INSERT INTO cups VALUES (1);");
    assert!(!ended.said.contains("asking again"), "{}", ended.said);
    demo.is_quiet();
}

#[test]
fn two_runs_at_once_have_a_server_each() {
    let demo = Demo::new();
    demo.issue(1, [HANG, ""]);
    let mut first = demo.start(&["1"]);
    first.until("about to hang");
    demo.issue(2, ["", ""]);
    demo.run(&["2"]).ends(0);
    let said = |issue: &str| demo.seen(issue)[0].1.clone();
    assert!(said("1").starts_with("the dev server is up at http://localhost:"), "{}", said("1"));
    assert_ne!(said("1"), said("2"));
    assert!(!demo.servers().is_empty());
    first.signal(Signal::INT);
    assert_eq!(first.end().code, Some(130));
    demo.is_quiet();
}

#[test]
fn a_port_that_is_somebody_elses_is_named_with_its_holder() {
    let demo = Demo::with(|dev| {
        let command = dev["server"]["command"].as_str().unwrap().replace("PORT=$PORT ", "");
        dev["server"]["command"] = json!(command);
    });
    demo.issue(1, ["", ""]);
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, demo.port)).unwrap();
    let ended = demo.run(&["1"]).ends(1);
    let words = format!("port {} is taken by process {}", demo.port, std::process::id());
    assert!(ended.said.contains(&words), "{}", ended.said);
    drop(taken);
    let ended = demo.run(&["1"]).ends(0);
    assert!(ended.said.contains(&format!("http://localhost:{}", demo.port)), "{}", ended.said);
    demo.is_quiet();
}
