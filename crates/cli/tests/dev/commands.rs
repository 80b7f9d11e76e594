//! `warp dev`, as a person types it.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::Sandbox;

use super::support::{Demo, rows, wait_for};
use crate::support::{Ends as _, InProject as _};

const LONG: std::time::Duration = std::time::Duration::from_secs(60);

fn json_of(demo: &Demo, arguments: &[&str]) -> (Value, Option<i32>) {
    let said = demo.warp(arguments);
    (serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}")), said.code)
}

/// Returns the process that keeps the person's server.
fn keeper(demo: &Demo) -> Pid {
    let record: Value =
        serde_json::from_str(&demo.sandbox.read(".git/warp/dev/server.json").unwrap()).unwrap();
    Pid::from_raw(i32::try_from(record["owner"]["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

#[test]
fn an_environment_is_brought_up_once_and_goes_on_until_it_is_taken_down() {
    let demo = Demo::with(|dev| dev["access"] = json!({"localhost": "http://localhost:1"}));
    let said = demo.sandbox.warp_ok(&["dev", "up"]);
    let url = format!("http://localhost:{}", demo.port);
    let expected = format!(
        "migrations are run\nthe dev server is up at {url}\nseed data is applied: 2-sencha.sql, 10-assam.sql\n\
         users are put in\nlocalhost: http://localhost:1\n"
    );
    assert_eq!(said, expected);
    assert_eq!(Demo::ask(demo.port, "/teas"), "sencha,assam");
    let (shown, code) = json_of(&demo, &["dev", "up", "--json"]);
    assert_eq!((&shown["server"]["started"], &shown["seeds"], code), (&json!(false), &json!([]), Some(0)));
    assert_eq!((&shown["seeds_before"], &shown["users"]), (&json!(2), &json!(false)));
    let (shown, code) = json_of(&demo, &["dev", "up", "--check", "--json"]);
    assert_eq!((&shown["healthy"], &shown["port"], code), (&json!(true), &json!(demo.port), Some(0)));

    // What has changed is applied, and what was added.
    demo.sandbox.write("seed/3-oolong.sql", "INSERT INTO teas VALUES (3, 'oolong');\n");
    let said = demo.sandbox.warp_ok(&["dev", "up"]);
    assert!(said.contains("seed data is applied: 3-oolong.sql\n"), "{said}");
    assert_eq!(rows(demo.sandbox.root(), "SELECT name FROM teas ORDER BY id"), ["sencha", "assam", "oolong"]);

    let said = demo.sandbox.warp_ok(&["dev", "down"]);
    assert_eq!(said, format!("the dev server on port {} is ended\n", demo.port));
    demo.is_quiet();
    assert_eq!(demo.sandbox.warp_ok(&["dev", "down"]), "no dev server was running here\n");
    let said = demo.warp(&["dev", "check"]);
    assert_eq!(
        (said.code, said.out),
        (Some(1), format!("not healthy: nothing listens on port {}\n", demo.port))
    );
}

#[test]
fn a_server_whose_keeper_was_killed_is_found_by_its_mark() {
    for command in ["up", "down"] {
        let demo = Demo::new();
        demo.sandbox.warp_ok(&["dev", "up"]);
        let servers = demo.servers();
        assert_eq!(servers.len(), 1);
        let keeper = keeper(&demo);
        kill_process(keeper, Signal::KILL).unwrap();
        wait_for(keeper, LONG);
        let said = demo.sandbox.warp_ok(&["dev", command]);
        wait_for(servers[0], LONG);
        if command == "up" {
            assert!(said.contains("the dev server is up"), "{said}");
            demo.sandbox.warp_ok(&["dev", "down"]);
        }
        demo.is_quiet();
    }
}

#[test]
fn a_server_that_nobody_waits_for_before_it_is_up_is_ended() {
    let demo = Demo::with(|dev| dev["server"]["command"] = json!("sleep 600"));
    let mut up = demo.sandbox.warp_command(&["dev", "up"]).stderr(Stdio::null()).spawn().unwrap();
    while demo.sandbox.read(".git/warp/dev/server.json").is_none() {
        assert!(up.try_wait().unwrap().is_none());
        thread::yield_now();
    }
    up.kill().unwrap();
    up.wait().unwrap();
    demo.is_quiet();
}

#[test]
fn a_server_that_fails_is_started_again_by_its_policy() {
    let demo = Demo::with(|dev| dev["server"]["restart"] = json!("on-failure"));
    demo.sandbox.warp_ok(&["dev", "up"]);
    let servers = demo.servers();
    kill_process(servers[0], Signal::KILL).unwrap();
    wait_for(servers[0], LONG);
    demo.sandbox.warp_ok(&["dev", "check"]);
    assert_ne!(demo.servers(), servers);
    demo.sandbox.warp_ok(&["dev", "down"]);
    demo.is_quiet();
}

#[test]
fn a_server_that_does_not_come_up_is_quoted_and_not_left_behind() {
    let demo = Demo::new();
    demo.sandbox.write("broken", "");
    let said = demo.warp(&["dev", "up"]).ends(1);
    insta::assert_snapshot!(demo.sandbox.stable(&said.err), @"
    the server has 120 s to come up; its output is in [HOME]/demo/.git/warp/dev/server.log
    error: the server did not come up: `PORT=$PORT DEMO=serve exec [TEST] --exact dev::demo::program --nocapture` has ended
      running 1 test
      the demo is broken
      [warp] it ended with exit 3
    hint: fix `server` in dev.json, or what it starts
    ");
    demo.is_quiet();
    let slow = Demo::with(|dev| {
        dev["server"]["command"] = json!("sleep 600");
        dev["server"]["start_seconds"] = json!(1);
    });
    let said = slow.warp(&["dev", "up"]);
    insta::assert_snapshot!(slow.sandbox.stable(&said.err), @"
    the server has 1 s to come up; its output is in [HOME]/demo/.git/warp/dev/server.log
    error: the server did not come up: after 1 s nothing listens on port [PORT]
    hint: fix `server` in dev.json, or what it starts
    ");
    slow.is_quiet();
}

#[test]
fn a_port_that_somebody_has_is_not_freed_by_force() {
    let demo = Demo::new();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, demo.port)).unwrap();
    let said = demo.warp(&["dev", "up"]).ends(1);
    let words = format!("port {} is taken by process {}", demo.port, std::process::id());
    assert!(said.err.contains(&words), "{said:?}");
    drop(taken);
    demo.is_quiet();
}

/// Answers on a port as a healthy server does, for as long as `work` takes.
fn while_somebody_serves(port: u16, work: impl FnOnce()) {
    let (listener, is_over) =
        (TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            for stream in listener.incoming().take_while(|_| !is_over.load(Ordering::SeqCst)) {
                let mut stream = stream.unwrap();
                // Whoever only knocks has gone by now.
                let _ = stream.read(&mut [0; 1024]);
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            }
        });
        let done = catch_unwind(AssertUnwindSafe(work));
        is_over.store(true, Ordering::SeqCst);
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        done.unwrap_or_else(|panicked| resume_unwind(panicked));
    });
}

#[test]
fn a_healthy_server_that_the_person_has_started_is_as_good_as_warps() {
    let demo = Demo::new();
    while_somebody_serves(demo.port, || {
        let whose = format!("it is not warp's, but that of process {}", std::process::id());
        let said = demo.sandbox.warp_ok(&["dev", "check"]);
        assert!(said.starts_with(&format!("healthy on port {}; {whose}", demo.port)), "{said}");
        let said = demo.sandbox.warp_ok(&["dev", "up"]);
        let runs = format!("the dev server runs already at http://localhost:{}; {whose}", demo.port);
        assert!(said.contains(&runs) && said.contains("seed data is applied"), "{said}");
        assert_eq!(demo.servers(), []);
        let (shown, _) = json_of(&demo, &["dev", "up", "--json"]);
        assert_eq!(shown["server"]["started"], false, "{shown}");
        assert!(shown["server"]["others"].as_str().unwrap().starts_with("process "), "{shown}");
        // A run in the checkout begins with it, and nobody ends it.
        demo.sandbox.git(&["switch", "--quiet", "-c", "feature/words"]);
        demo.sandbox.warp_ok(&["state", "init", ".", "--level", "2"]);
        let said = demo.sandbox.warp_ok(&["next", "--step"]);
        assert!(said.contains(&runs) && said.contains("discovering"), "{said}");
        assert_eq!(demo.sandbox.warp_ok(&["dev", "down"]), "no dev server was running here\n");
        demo.sandbox.warp_ok(&["dev", "check"]);
    });
    // Once it is gone, warp starts one of its own.
    assert!(demo.sandbox.warp_ok(&["dev", "up"]).contains("the dev server is up at"));
    demo.sandbox.warp_ok(&["dev", "down"]);
    demo.is_quiet();
}

#[test]
fn what_leads_out_of_the_project_is_not_read() {
    let demo = Demo::new();
    let outside = demo.sandbox.home().join("elsewhere");
    fs::rename(demo.sandbox.root().join("seed"), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, demo.sandbox.root().join("seed")).unwrap();
    let said = demo.warp(&["dev", "up"]).ends(78);
    insta::assert_snapshot!(demo.sandbox.stable(&said.err), @"
    the server has 120 s to come up; its output is in [HOME]/demo/.git/warp/dev/server.log
    error: dev.json: `seed` leads out of the project
    hint: docs/dev.md has a whole one
    ");
    demo.sandbox.warp_ok(&["dev", "down"]);
}

#[test]
fn a_seed_file_that_fails_is_named_and_tried_again() {
    let demo = Demo::with(|dev| dev["server"] = json!(null));
    demo.sandbox.write("seed/5-bad.sql", "INSERT INTO nowhere VALUES (1);\n");
    let said = demo.warp(&["dev", "up"]).ends(1);
    assert!(
        said.err.contains("seed file `5-bad.sql` failed") && said.err.contains("no such table"),
        "{said:?}"
    );
    demo.sandbox.write("seed/5-bad.sql", "INSERT INTO teas VALUES (5, 'fixed');\n");
    insta::assert_snapshot!(demo.sandbox.seen(&["dev", "up"]), @"
    migrations are run
    seed data is applied: 5-bad.sql, 10-assam.sql
    users are put in
    ");
    assert_eq!(demo.sandbox.warp_ok(&["dev", "check"]), "dev.json has no server to ask\n");
}

#[test]
fn bad_files_are_configuration_errors() {
    let demo = Demo::new();
    for (text, code, words) in [
        ("{", 78, "dev.json cannot be read"),
        ("{\"server\": []}", 78, "`server` must be an object"),
        ("{\"seed\": {}}", 78, "`seed.directory` is missing"),
        ("{\"sever\": {}}", 0, "did you mean `server`?"),
    ] {
        demo.sandbox.write("dev.json", text);
        for command in ["up", "check"] {
            let said = demo.warp(&["dev", command]);
            assert_eq!(said.code, Some(code), "{text}: {said:?}");
            assert!(said.err.contains(words), "{text}: {said:?}");
        }
    }
    fs::remove_file(demo.sandbox.root().join("dev.json")).unwrap();
    let said = demo.warp(&["dev", "up"]).ends(78);
    insta::assert_snapshot!(demo.sandbox.stable(&said.err), @"
    error: there is no dev.json in `[HOME]/demo`
    hint: `warp dev init` writes one for what it finds in the project
    ");
}

#[test]
fn a_first_file_is_written_for_what_is_found_and_never_over_another() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.write("package.json", r#"{"scripts": {"dev": "vite"}}"#);
    let said = sandbox.warp(&["dev", "init", "--json"]).ends(0);
    let shown: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(shown["written"][0], "dev.json");
    assert_eq!(shown["found"][0], "server: `npm run dev` on port 5173, as package.json has a script `dev`");
    let written = sandbox.read("dev.json").unwrap();
    assert!(sandbox.read("seed/001-base-data.sql").is_some());
    let said = sandbox.warp(&["dev", "init"]);
    assert_eq!((said.code, sandbox.read("dev.json")), (Some(3), Some(written)), "{said:?}");
}

/// Takes a run in the checkout to the end of its chunk, and kills the server then.
fn kill_after_a_chunk(demo: &Demo) {
    demo.sandbox.git(&["switch", "--quiet", "-c", "feature/words"]);
    demo.sandbox.warp_ok(&["state", "init", ".", "--level", "2"]);
    let said = demo.sandbox.warp_ok(&["next", "--step"]);
    assert!(said.contains(&format!("the dev server is up at http://localhost:{}", demo.port)), "{said}");
    demo.sandbox.transitions(&["work_selected", "plan_ready", "chunks_defined"]);
    demo.sandbox.write("word.txt", "word\n");
    demo.sandbox.transitions(&["code_complete", "docs_updated", "tests_passed", "committed", "report_filed"]);
    let servers = demo.servers();
    kill_process(servers[0], Signal::KILL).unwrap();
    wait_for(servers[0], LONG);
}

#[test]
fn in_a_checkout_a_server_that_does_not_come_up_again_is_a_persons_to_decide_on() {
    let demo = Demo::new();
    kill_after_a_chunk(&demo);
    demo.sandbox.write("broken", "x\n");
    demo.sandbox.warp(&["next", "--step"]).ends(5);
    let question = || {
        let status = demo.sandbox.json(&["status", "--json"]);
        status["asked"].clone()
    };
    let asked = question();
    assert!(asked["question"].as_str().unwrap().contains("restarted 2 times without success"), "{asked}");
    assert_eq!(asked["options"], json!(["continue", "skip", "abort"]));
    demo.sandbox.warp_ok(&["answer", asked["id"].as_str().unwrap(), "continue"]);
    demo.sandbox.warp(&["next", "--step"]).ends(5);
    demo.sandbox.warp_ok(&["answer", question()["id"].as_str().unwrap(), "skip"]);
    let said = demo.sandbox.warp_ok(&["next", "--step"]);
    assert!(said.contains("left as it is, as a person has decided"), "{said}");
    demo.sandbox.warp(&["dev", "down"]);
    demo.is_quiet();
}

#[test]
fn in_a_checkout_an_agent_is_told_once_of_a_table_without_seed_data() {
    let demo = Demo::new();
    demo.sandbox.git(&["switch", "--quiet", "-c", "feature/words"]);
    demo.sandbox.warp_ok(&["state", "init", ".", "--level", "2"]);
    demo.sandbox.transitions(&["prerequisites_ok", "work_selected", "plan_ready"]);
    let chunks = r#"{"acs":[["AC-01"]],"texts":{"AC-01":"there are cups"}}"#;
    demo.sandbox.warp_ok(&["state", "transition", ".", "chunks_defined", "--data", chunks]);
    demo.sandbox.write("migrations/002.sql", "CREATE TABLE cups (id INT);\n");
    let done = r#"{"evidence":[{"ac":"AC-01","file":"migrations/002.sql","line":1}]}"#;
    let say = || {
        let mut agent =
            demo.sandbox.warp_command(&["state", "transition", ".", "code_complete", "--data", done]);
        let said = agent.env("AI_AGENT", "claude").output().unwrap();
        (said.status.code(), String::from_utf8(said.stderr).unwrap())
    };
    let (code, said) = say();
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("no seed data for cups: add some in the same commit, or hand it in again"),
        "{said}"
    );
    let (code, said) = say();
    assert_eq!(code, Some(0), "{said}");
    assert!(demo.sandbox.warp_ok(&["status"]).contains("updating_docs"));
}

#[test]
fn in_a_checkout_the_next_command_brings_the_environment_up() {
    let demo = Demo::new();
    kill_after_a_chunk(&demo);
    let said = demo.sandbox.warp_ok(&["next", "--step"]);
    assert!(said.contains("the dev server is not healthy") && said.contains("is up at"), "{said}");
    demo.sandbox.warp_ok(&["dev", "down"]);
    demo.is_quiet();
}

#[test]
fn seed_data_and_users_are_put_in_without_the_server() {
    let demo = Demo::new();
    demo.sandbox.warp_ok(&["dev", "up"]);
    demo.sandbox.warp_ok(&["dev", "down"]);
    demo.sandbox.write("seed/3-oolong.sql", "INSERT INTO teas VALUES (3, 'oolong');\n");
    assert_eq!(demo.sandbox.warp_ok(&["dev", "seeds"]), "seed data is applied: 3-oolong.sql\n");
    assert_eq!(demo.sandbox.warp_ok(&["dev", "seeds"]), "3 seed files applied before\n");
    assert_eq!(demo.sandbox.warp_ok(&["dev", "users"]), "users were put in before\n");
    assert_eq!(demo.sandbox.warp_ok(&["dev", "users", "--again"]), "users are put in\n");
    let (shown, code) = json_of(&demo, &["dev", "users", "--json"]);
    assert_eq!((&shown["users"], &shown["server"], code), (&json!(false), &json!(null), Some(0)));
    demo.is_quiet();
}

#[test]
fn seed_coverage_can_be_checked_by_itself() {
    let demo = Demo::new();
    let checked = || demo.warp(&["dev", "seeds", "--check"]);
    assert_eq!(
        (checked().code, checked().out.as_str()),
        (Some(0), "every table of the schema has seed data\n")
    );
    demo.sandbox.write("migrations/2.sql", "CREATE TABLE cups (id INTEGER);\n");
    assert_eq!((checked().code, checked().out.as_str()), (Some(1), "no seed data for cups\n"));
    let (shown, code) = json_of(&demo, &["dev", "seeds", "--check", "--json"]);
    assert_eq!((&shown["missing"], code), (&json!(["cups"]), Some(1)));
    demo.sandbox.write("seed/4-cups.sql", "INSERT INTO cups VALUES (1);\n");
    assert_eq!(checked().code, Some(0));
    assert!(!demo.sandbox.root().join("dev.db").exists(), "nothing was applied");
}

#[test]
fn what_dev_json_does_not_name_cannot_be_put_in() {
    let demo = Demo::with(|dev| _ = dev.as_object_mut().unwrap().remove("auth"));
    let said = demo.warp(&["dev", "users"]).ends(78);
    insta::assert_snapshot!(demo.sandbox.stable(&said.err), @"
    error: dev.json: `auth` is not there, so there is nothing to put in
    hint: docs/dev.md has a whole one
    ");
}
