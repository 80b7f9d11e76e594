//! Bad input, on the real binary: whatever lies where a file of ours belongs, and whatever comes with an event, gets
//! an exit code of the table and a message that names the place; nothing hangs, and nothing is lost.

mod bad;
mod home;

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::symlink},
};

use serde_json::{Value, json};

use bad::{Bad, clear, trace};
use home::Home;

const STATE_FILE: &str = ".claude/.warp-drive-state.json";

#[test]
fn a_state_file_that_is_not_ours_is_set_aside_whole_and_the_run_goes_on() {
    let home = Home::with_run();
    let path = home.path(STATE_FILE);
    let (ours, history) = (trace(&path), home.history());
    for bad in Bad::all() {
        let before = bad.put(&path);
        home.warp(["status"]).is(0, &["differed from the journal and was set aside as", STATE_FILE]);
        home.keeps(&path, &before);
        assert!(trace(&path).starts_with("file"), "{bad:?}: it is written again");
        assert_eq!(home.history(), history, "{bad:?}");
    }
    assert_ne!(ours, "nothing");
    assert_eq!(fs::read_dir(home.root().join(".git/warp/set-aside")).unwrap().count(), Bad::all().count());
}

#[test]
fn an_event_over_a_bad_state_file_is_taken_and_the_file_is_kept() {
    for bad in [Bad::Cut, Bad::Pipe, Bad::Directory, Bad::Device] {
        let home = Home::with_run();
        let path = home.path(STATE_FILE);
        let (before, history) = (bad.put(&path), home.history().len());
        home.warp(["state", "transition", ".", "work_selected"]).is(0, &[]);
        home.keeps(&path, &before);
        assert_eq!(home.history().len(), history + 1, "{bad:?}");
    }
}

#[test]
fn a_state_file_without_a_run_is_refused_where_it_lies() {
    let home = Home::new();
    let path = home.path(STATE_FILE);
    let name = path.to_str().unwrap();
    for bad in Bad::all() {
        fs::write(&path, r#"{"session":{"level":2},"phase":"coding","requirement":"42"}"#).unwrap();
        let before = bad.put(&path);
        let init = home.warp(["state", "init", ".", "--level", "2"]);
        init.is(3, &["Active session exists", name, "`warp adopt", "`warp stop --hard` archives it"]);
        home.warp(["adopt", name]).is(65, &[name]);
        home.warp(["status"]).is(2, &[]);
        assert_eq!(trace(&path), before, "{bad:?}: it is as it was");
        clear(&path);
    }
    assert!(!home.root().join(".git/warp/project-id").exists(), "no run was begun");
}

#[test]
fn adopting_says_what_is_wrong_and_where() {
    let home = Home::new();
    let path = home.path(STATE_FILE);
    let deep = format!(r#"{{"session":{{}},"phase":"coding","x":{}{}}}"#, "[".repeat(100), "]".repeat(100));
    for (text, words) in [
        ("{\n  \"phase\":\n", &["not JSON", "line 3 column 0"] as &[&str]),
        ("\"coding\"", &["no JSON object"]),
        ("{}", &["`session`", "`feature`", "`phase`"]),
        (r#"{"session":{},"phase":"dreaming"}"#, &["phase `dreaming`", "warp-drive"]),
        (r#"{"session":[],"phase":"coding"}"#, &["`session` must be a table"]),
        (r#"{"session":{"level":-1},"phase":"coding"}"#, &["`level`", "-1"]),
        (r#"{"session":{"started_at":"soon"},"phase":"coding"}"#, &["`started_at`", "soon"]),
        (r#"{"session":{},"phase":"coding","chunk":{"acs":[1]}}"#, &["`chunk.acs`"]),
        (r#"{"session":{},"phase":"completed"}"#, &["`phase`", "that run is over"]),
        (r#"{"feature":"x","phase":"plan","max_iterations":1e99}"#, &["`max_iterations`", "whole number"]),
        (&deep, &["nested deeper than 64 levels"]),
    ] {
        fs::write(&path, text).unwrap();
        home.warp(["adopt", STATE_FILE]).is(65, &[&[STATE_FILE], words].concat());
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "it is as it was");
    }
    home.warp(["adopt", "no-such-file.json"]).is(65, &["no-such-file.json", "No such file"]);
    home.warp(["status"]).is(2, &[]);
}

#[test]
fn a_configuration_that_cannot_be_read_is_named_and_stops_only_what_needs_it() {
    let home = Home::with_run();
    let other = Home::new();
    let history = home.history();
    for name in ["warp.toml", ".claude/settings.local.json", "../config/warp/config.toml"] {
        let good = if name.ends_with("json") { "{\"_workflow\":{}}" } else { "[workflow]\n" };
        for bad in Bad::FILES.into_iter().chain(Bad::NO_FILES).chain([Bad::Loop]) {
            // An empty TOML file is a good one.
            let code = if bad == Bad::Empty && name.ends_with("toml") { 0 } else { 78 };
            let shown = name.trim_start_matches("../");
            let words: &[&str] = if code == 0 { &[] } else { &[shown, "hint: "] };
            for home in [&home, &other] {
                fs::write(home.path(name), good).unwrap();
                let before = bad.put(&home.path(name));
                home.warp(["config"]).is(code, words);
                assert_eq!(trace(&home.path(name)), before, "{name} {bad:?}: it is as it was");
            }
            home.warp(["status"]).is(0, &[]);
            if code != 0 {
                other.warp(["state", "init", ".", "--level", "2"]).is(78, words);
                let doctor = other.warp(["doctor"]);
                doctor.is(1, &[]);
                assert!(doctor.out.contains("FAIL  configuration"), "{}", doctor.out);
                assert!(doctor.out.contains(shown), "{}", doctor.out);
            }
            for home in [&home, &other] {
                clear(&home.path(name));
            }
        }
    }
    assert_eq!(home.history(), history);
    other.warp(["status"]).is(2, &[]);
}

#[test]
fn a_setting_that_is_wrong_is_named_with_its_place_and_the_nearest_known_name() {
    let home = Home::new();
    for (name, text, words) in [
        (
            "warp.toml",
            "[workflow]\nmax_coding_cycles = \"three\"\n",
            &["warp.toml:2", "`max_coding_cycles`", "\"three\""] as &[&str],
        ),
        (
            "warp.toml",
            "\n[workflow]\nmax_coding_cycle = 3\n",
            &["warp.toml:3", "did you mean `max_coding_cycles`?"],
        ),
        ("warp.toml", "[workflows]\n", &["warp.toml:1", "`workflows` is not a section"]),
        ("warp.toml", "workflow = 3\n", &["warp.toml", "`workflow` must be a table"]),
        ("warp.toml", "[workflow]\nauto_merge = \n", &["warp.toml", "line 2, column 14"]),
        ("warp.toml", "[workflow]\nmax_no_progress = 99999999999\n", &["warp.toml:2", "`max_no_progress`"]),
        ("warp.toml", "[workflow]\nbudget_limit_usd = nan\n", &["warp.toml:2", "`budget_limit_usd`"]),
        (
            ".claude/settings.local.json",
            "{\n \"_workflow\": [\n",
            &["settings.local.json", "line 3 column 0"],
        ),
        (".claude/settings.local.json", "{\"_rdb\":7}", &["settings.local.json", "`_rdb` must be an object"]),
        (
            ".claude/settings.local.json",
            "{\"_workflow\":{\"auto_merge\":1}}",
            &["settings.local.json", "`auto_merge`"],
        ),
    ] {
        let path = home.path(name);
        fs::write(&path, text).unwrap();
        home.warp(["config"]).is(78, words);
        home.warp(["state", "init", ".", "--level", "2"]).is(78, words);
        clear(&path);
    }
    home.warp(["config", "--set", "max_retrys_per_chunk=1"]).is(78, &["--set", "`max_retries_per_chunk`"]);
    home.warp(["config", "--set", "nonsense"]).is(64, &["KEY=VALUE"]);
    fs::write(home.path(".claude/settings.local.json"), "{\"_workflow\":{\"max_coding_cycle\":1}}").unwrap();
    home.warp(["config"]).is(0, &["`_workflow.max_coding_cycle` is not a setting", "`max_coding_cycles`"]);
}

#[test]
fn a_pipe_in_place_of_a_committed_warp_toml_is_not_waited_for() {
    let home = Home::new();
    fs::write(home.path("warp.toml"), "[workflow]\nmax_coding_cycles = 7\n").unwrap();
    home.git(&["add", "warp.toml"]);
    home.git(&["commit", "--quiet", "-m", "chore: settings"]);
    home.git(&["branch", "--force", "main"]);
    Bad::Pipe.put(&home.path("warp.toml"));
    let init = home.warp(["state", "init", ".", "--level", "2"]);
    init.is(0, &["warp.toml differs from the one in `main`; the run goes by `main`"]);
}

#[test]
fn a_workflow_file_that_is_none_is_named_and_never_run() {
    let home = Home::new();
    let path = home.path(".warp/workflows/own.toml");
    let name = path.to_str().unwrap();
    for bad in Bad::FILES.into_iter().chain(Bad::NO_FILES).chain([Bad::Loop, Bad::Unreadable]) {
        fs::write(&path, "name = \"own\"\npurpose = \"Is cut\"\ninitial = \"a\"\nfinal = [\"b\"]\n").unwrap();
        let before = bad.put(&path);
        let is_file = !Bad::NO_FILES.contains(&bad) && bad != Bad::Loop;
        let code = if is_file { 65 } else { 64 };
        home.warp(["workflow", "check", name]).is(code, &[name]);
        home.warp(["workflow", "show", "own"]).is(code, &["own.toml"]);
        let list = home.warp(["workflow", "list"]);
        list.is(0, &[]);
        assert!(list.out.contains("own.toml  not usable: "), "{}", list.out);
        let init = ["state", "init", ".", "--level", "2", "--workflow", "own"];
        home.warp(init).is(65, &["own.toml"]);
        assert_eq!(trace(&path), before, "{bad:?}: it is as it was");
        clear(&path);
    }
    home.warp(["status"]).is(2, &[]);
}

#[test]
fn a_workflow_with_a_fault_is_refused_with_the_line_or_the_path_that_shows_it() {
    let home = Home::new();
    let path = home.path("own.toml");
    let head = "name = \"own\"\npurpose = \"p\"\ninitial = \"a\"\nfinal = [\"b\"]\n";
    let phase = |name: &str, on: &str| {
        format!("[[phase]]\nname = \"{name}\"\npurpose = \"p\"\nactivity = \"agent\"\non = [{on}]\n")
    };
    let deadline = "[deadline]\nminutes = 1\noutcome = \"park\"\n";
    let go = r#"{ event = "go", to = "b" }"#;
    let round = r#"{ event = "again", to = "a" }, { event = "go", to = "b" }"#;
    for (text, words) in [
        (format!("{head}nonsense = 1\n"), &["line 5, column 1", "unknown field `nonsense`"] as &[&str]),
        (format!("{head}[[phase]]\nname = 7\n"), &["line 6", "expected a string"]),
        (format!("{head}{deadline}{}", phase("a", go)), &["unknown phase `b`", "a --go--> b"]),
        (format!("{head}{}{}", phase("a", go), phase("b", "")), &["wait without a deadline", "`a`"]),
        (
            format!("{head}{deadline}{}{}", phase("a", round), phase("b", "")),
            &["unbounded cycle", "a --again--> a"],
        ),
        (
            format!("{head}{deadline}{}", phase("a b\\u0000", go)),
            &["phase name \"a b\\0\"", "letters, digits"],
        ),
    ] {
        fs::write(&path, &text).unwrap();
        home.warp(["workflow", "check", "./own.toml"]).is(65, &[&["own.toml"], words].concat());
    }
}

#[test]
fn a_workflow_near_the_limits_is_judged_in_time_and_one_beyond_them_is_refused() {
    let home = Home::new();
    let path = home.path("own.toml");
    fs::write(&path, wide_workflow(100, 15, 10)).unwrap();
    home.warp(["workflow", "check", "./own.toml"]).is(0, &[]);
    // With nothing that is raised every cycle is unbounded, and the shortest is looked for.
    fs::write(&path, wide_workflow(199, 15, 4).replace("raises", "resets")).unwrap();
    home.warp(["workflow", "check", "./own.toml"]).is(65, &["unbounded cycle"]);
    for (phases, rows, budgets, words) in [
        (199, 12, 50, "ways from phase to phase"),
        (50, 1, 101, "more than 100 outcomes of budgets"),
        (201, 1, 1, "there are 202 phases; the most is 200"),
        (199, 21, 1, "more than 4000 rows"),
        (199, 30, 100, "bytes; the most is 262144"),
    ] {
        fs::write(&path, wide_workflow(phases, rows, budgets)).unwrap();
        home.warp(["workflow", "check", "./own.toml"]).is(65, &["own.toml", words]);
    }
}

/// A workflow in which everything hangs together with everything.
fn wide_workflow(phases: usize, rows: usize, budgets: usize) -> String {
    let mut text = "name = \"own\"\npurpose = \"p\"\ninitial = \"p0\"\nfinal = [\"end\"]\n".to_owned();
    text.push_str("[deadline]\nminutes = 1\noutcome = \"park\"\n");
    for budget in 0..budgets {
        let outcome = "limit = 1\noutcomes = [{ redirect = \"end\" }]";
        text.push_str(&format!("[[budget]]\nreason = \"r{budget}\"\ncounter = \"c{budget}\"\n{outcome}\n"));
    }
    for phase in 0..phases {
        let head = "purpose = \"p\"\nactivity = \"agent\"";
        text.push_str(&format!("[[phase]]\nname = \"p{phase}\"\n{head}\non = [\n"));
        for row in 1..=rows {
            let (to, counter) = ((phase * row + row) % phases, (phase + row) % budgets);
            text.push_str(&format!("{{ event = \"e{row}\", to = \"p{to}\", raises = [\"c{counter}\"] }},\n"));
        }
        text.push_str("{ event = \"stop\", to = \"end\" }]\n");
    }
    text.push_str("[[phase]]\nname = \"end\"\npurpose = \"p\"\nactivity = \"engine\"\n");
    text
}

#[test]
fn data_that_is_not_a_json_object_is_refused_with_its_place() {
    let home = Home::with_run();
    let history = home.history();
    for (data, words) in [
        (String::new(), &["--data is not JSON", "line 1 column 0"] as &[&str]),
        ("{\"requirement\":".to_owned(), &["--data is not JSON", "line 1 column 15"]),
        ("[1]".to_owned(), &["not an object"]),
        ("\u{1}\u{7f}".to_owned(), &["--data is not JSON", "line 1 column 1"]),
        (format!("{{\"a\":{}", "[".repeat(100_000)), &["--data is not JSON", "recursion limit", "column"]),
        (format!("{{\"a\":\"{}", "x".repeat(120_000)), &["--data is not JSON", "line 1 column 120006"]),
        ("{\"a\":1e999}".to_owned(), &["--data is not JSON", "out of range"]),
    ] {
        home.transition("work_selected", data).is(65, &[words, &["hint: write a JSON object"]].concat());
    }
    home.transition("work_selected", OsStr::from_bytes(b"{\"a\":\"\xff\xfe\"}")).is(64, &["invalid UTF-8"]);
    assert_eq!(home.history(), history);
}

#[test]
fn data_of_the_wrong_shape_is_refused_by_its_field_and_nothing_changes() {
    let home = Home::with_run();
    home.warp(["state", "transition", ".", "work_selected"]).is(0, &[]);
    home.warp(["state", "transition", ".", "plan_ready"]).is(0, &[]);
    let history = home.history();
    let many: Vec<Vec<String>> = (0..501).map(|number| vec![format!("AC-{number}")]).collect();
    for (data, words) in [
        (json!({"acs": 7}), &["`acs` must be a list of lists"] as &[&str]),
        (json!({"acs": []}), &["`acs` must be a list of lists"]),
        (json!({"acs": [[]]}), &["`acs` has no criterion in chunk 1"]),
        (json!({"acs": [["a"], ["a"]]}), &["`acs` has `a` twice"]),
        (json!({"acs": [["a", "b", "c", "d"]]}), &["`acs` has 4 criteria in chunk 1", "max_acs_per_commit"]),
        (json!({"acs": [["x".repeat(3000)]]}), &["`acs`", "2000 bytes"]),
        (json!({"acs": many}), &["`acs` has 501 chunks"]),
        (json!({"effect": 7}), &["`effect` must be"]),
        (json!({"effect": "e1"}), &["`attempt` must be"]),
    ] {
        home.transition("chunks_defined", data.to_string()).is(65, words);
    }
    let deep = format!("{{\"note\":{}{}}}", "[".repeat(100), "]".repeat(100));
    home.transition("chunks_defined", deep).is(65, &["`data` is nested deeper than 64 levels"]);
    home.transition("file_edited", "{}").is(65, &["needs `file`", "hint: --data"]);
    home.transition("file_edited", "{\"file\":[]}").is(65, &["needs `file`"]);
    home.transition("attempt_started", "{\"effect\":\"\"}").is(3, &["is not under way"]);
    let odd = "no such\nevent \u{1b}[31m";
    home.transition(odd, "{}").is(3, &["is not possible in `chunking`", "possible: chunks_defined"]);
    assert_eq!(home.history(), history);
}

#[test]
fn data_that_is_taken_is_read_again_as_it_was_written() {
    let home = Home::with_run();
    let deep = format!("{}1{}", "[".repeat(63), "]".repeat(63));
    let numbers = r#""big":18446744073709551615,"small":-0.5e-7,"odd":90.42225290942383"#;
    let data = format!(r#"{{"deep":{deep},"text":"\u0000\ud83d\ude80",{numbers}}}"#);
    home.transition("work_selected", &data).is(0, &[]);
    let history = home.history();
    let kept = &history.last().unwrap()["data"];
    assert_eq!(*kept, serde_json::from_str::<Value>(&data).unwrap());
    assert_eq!(kept["odd"].to_string(), "90.42225290942383");
}

#[test]
fn a_project_id_that_is_none_is_named_and_the_journal_waits_for_its_return() {
    let home = Home::with_run();
    let history = home.history();
    let path = home.path(".git/warp/project-id");
    let id = fs::read_to_string(&path).unwrap();
    for bad in Bad::FILES.into_iter().chain(Bad::NO_FILES).chain([Bad::Unreadable]) {
        fs::write(&path, if bad == Bad::Cut { "too" } else { &id }).unwrap();
        let before = bad.put(&path);
        for arguments in [&["status"] as &[&str], &["state", "transition", ".", "work_selected"], &["doctor"]]
        {
            let said = home.warp(arguments);
            assert!(said.code == 65 || (said.code == 1 && bad == Bad::Unreadable), "{bad:?}: {said:?}");
            said.is(said.code, &["project-id"]);
            assert!(said.code == 1 || said.err.contains("hint: "), "{}", said.err);
        }
        home.warp(["state", "gate", ".", "git_commit"]).is(2, &["committing"]);
        assert_eq!(trace(&path), before, "{bad:?}: it is as it was");
        clear(&path);
    }
    // An id of another shape is not taken for a path.
    fs::write(&path, "../../../../etc\n").unwrap();
    home.warp(["status"]).is(65, &["project-id"]);
    fs::write(&path, id).unwrap();
    assert_eq!(home.history(), history);
}

#[test]
fn a_bad_head_never_gives_leave_and_is_written_again_with_the_next_event() {
    let home = Home::with_run();
    let path = home.path(".git/warp/head");
    for bad in Bad::all() {
        let before = bad.put(&path);
        home.warp(["state", "gate", ".", "git_commit"])
            .is(2, &["git_commit is only allowed during committing"]);
        home.warp(["status"]).is(0, &[]);
        let event = home.transition("file_edited", "{\"file\":\"a.rs\"}");
        event.is(0, &[]);
        let head = fs::read_to_string(&path).unwrap();
        assert!(head.starts_with("warp-head 2\nrun ") && head.ends_with("end\n"), "{bad:?}: {head}");
        if bad == Bad::Directory {
            home.keeps(&path, &before);
        }
    }
}

#[test]
fn a_head_that_allows_what_the_journal_does_not_is_not_believed() {
    let home = Home::with_run();
    let path = home.path(".git/warp/head");
    let head = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        head.replace("phase discovering", "phase committing").replace("may \n", "may git_commit\n"),
    )
    .unwrap();
    home.warp(["state", "gate", ".", "git_commit"]).is(2, &["committing", "the run is in discovering"]);
}

#[test]
fn a_damaged_journal_is_named_left_alone_and_set_aside_whole_by_a_repair() {
    for bad in [Bad::Cut, Bad::Binary, Bad::Huge, Bad::Nested, Bad::Empty] {
        let home = Home::with_run();
        let state = fs::read(home.path(STATE_FILE)).unwrap();
        let journal = home.store().join("journal.db");
        // Without the log, which by itself would make the database whole again.
        clear(&home.store().join("journal.db-wal"));
        clear(&home.store().join("journal.db-shm"));
        let before = bad.put(&journal);
        let name = journal.file_name().unwrap().to_str().unwrap();
        for arguments in [
            &["status"] as &[&str],
            &["log"],
            &["explain"],
            &["state", "transition", ".", "work_selected"],
            &["state", "init", ".", "--level", "2"],
            &["stop"],
        ] {
            home.warp(arguments).is(65, &[name, "is damaged", "hint: `warp doctor` names every fault"]);
        }
        let doctor = home.warp(["doctor"]);
        doctor.is(1, &[]);
        assert!(doctor.out.contains("fix: warp doctor --repair"), "{}", doctor.out);
        assert_eq!(trace(&journal), before, "{bad:?}: it is as it was");
        assert_eq!(fs::read(home.path(STATE_FILE)).unwrap(), state, "the state file stays");

        let repair = home.warp(["doctor", "--repair"]);
        assert_eq!(repair.code, 0, "{repair:?}");
        let aside = fs::read_dir(home.store().join("set-aside")).unwrap();
        let kept: Vec<String> = aside.map(|entry| trace(&entry.unwrap().path().join("journal.db"))).collect();
        assert!(kept.contains(&before), "{bad:?}: the damaged file is kept whole: {kept:?}");
        home.warp(["status"]).is(2, &[]);
    }
}

#[test]
fn a_journal_that_is_no_file_is_never_read_as_an_empty_one() {
    for bad in [Bad::Device, Bad::Pipe, Bad::Dangling] {
        let home = Home::with_run();
        let history = home.history();
        let journal = home.store().join("journal.db");
        let saved = home.store().join("saved");
        fs::rename(&journal, &saved).unwrap();
        let before = bad.put(&journal);
        for arguments in [&["status"] as &[&str], &["state", "init", ".", "--level", "2"], &["log"]] {
            home.warp(arguments).is(65, &["journal.db", "is damaged", "hint: "]);
        }
        home.warp(["doctor"]).is(1, &[]);
        assert_eq!(trace(&journal), before, "{bad:?}: it is as it was");
        clear(&journal);
        fs::rename(&saved, &journal).unwrap();
        assert_eq!(home.history(), history, "{bad:?}");
    }
}

#[test]
fn what_lies_beside_our_files_is_neither_followed_nor_waited_for() {
    let home = Home::with_run();
    let mine = home.path("mine.txt");
    fs::write(&mine, "keep me").unwrap();
    // The names under which files are written before they are renamed into place.
    symlink(&mine, home.path(".claude/.warp-drive-state.json.new")).unwrap();
    Bad::Pipe.put(&home.path(".git/warp/head.new"));
    Bad::Pipe.put(&home.path(".git/warp/lock"));
    home.warp(["state", "transition", ".", "work_selected"]).is(0, &[]);
    assert_eq!(fs::read_to_string(&mine).unwrap(), "keep me");
    assert!(trace(&home.path(STATE_FILE)).starts_with("file"));
}

#[test]
fn names_that_git_ignores_need_not_be_text() {
    let home = Home::new();
    let exclude = home.path(".git/info/exclude");
    fs::write(&exclude, b"caf\xe9\n").unwrap();
    home.warp(["state", "init", ".", "--level", "2"]).is(0, &[]);
    assert!(fs::read(&exclude).unwrap().starts_with(b"caf\xe9\n/.claude/"));
}

#[test]
fn an_issue_comes_from_no_file_that_cannot_be_read() {
    let home = Home::with_run();
    // A link in the change leads to a pipe; it is not followed.
    Bad::Pipe.put(&home.path(".warp/pipe"));
    symlink(".warp/pipe", home.path("link.rs")).unwrap();
    for event in ["work_selected", "plan_ready", "chunks_defined"] {
        home.warp(["state", "transition", ".", event]).is(0, &[]);
    }
    fs::write(home.path("a.rs"), "fn a() {}\n").unwrap();
    home.warp(["state", "transition", ".", "code_complete"]).is(0, &[]);
    let file = home.path("7.md");
    for bad in [Bad::Huge, Bad::Binary, Bad::Device, Bad::Pipe, Bad::Directory, Bad::Loop] {
        let before = bad.put(&file);
        home.warp(["issue", "import", "7.md"]).is(65, &["7.md", "cannot be read"]);
        home.warp(["issue", "new", "--title", "T", "--body-file", "7.md"])
            .is(65, &["7.md", "cannot be read"]);
        assert_eq!(trace(&file), before, "{bad:?}: it is as it was");
    }
    home.warp(["issue", "list", "--json"]).is(0, &[]);
}

#[test]
fn a_repository_link_that_is_none_is_not_waited_for() {
    for bad in [Bad::Pipe, Bad::Device, Bad::Huge, Bad::Binary] {
        let home = Home::new();
        let git = home.path(".git");
        let before = bad.put(&git);
        home.warp(["status"]).is(2, &[]);
        home.warp(["state", "gate", ".", "git_commit"]).is(0, &[]);
        assert_eq!(trace(&git), before, "{bad:?}: it is as it was");
    }
}

#[test]
fn a_root_that_cannot_be_used_is_wrong_usage() {
    let home = Home::new();
    fs::write(home.path("file"), "").unwrap();
    Bad::Pipe.put(&home.path("pipe"));
    for root in ["no-such-directory", "file", "pipe"] {
        let said = home.warp(["state", "init", root, "--level", "2"]);
        said.is(64, &["is not a directory"]);
    }
    let odd = OsStr::from_bytes(b"not-\xff-text");
    fs::create_dir(home.root().join(odd)).unwrap();
    let said = home.warp(["state".as_ref(), "init".as_ref(), odd, "--level".as_ref(), "2".as_ref()]);
    said.is(64, &["is not text"]);
}
