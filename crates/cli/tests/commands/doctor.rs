use std::fs;

use super::{coding, json, sandbox};
use crate::support::Ends as _;

#[test]
fn doctor_checks_every_need_and_the_whole_journal() {
    let sandbox = coding();
    let said = sandbox.warp(&["doctor"]).ends(0);
    for name in [
        "git",
        "repository",
        "claude",
        "codex",
        "opencode",
        "hooks",
        "backstop",
        "gh",
        "cgroups",
        "sandbox",
        "bounds",
        "configuration",
        "journal",
    ] {
        assert!(
            said.out.lines().any(|line| line.split_whitespace().nth(1) == Some(name)),
            "{name}: {}",
            said.out
        );
    }
    assert!(said.out.contains("1 stream, 5 events, chain verified"), "{}", said.out);
}

#[test]
fn a_project_with_a_setting_and_no_run_is_in_order() {
    let sandbox = sandbox();
    sandbox.warp(&["config", "push=never"]).ends(0);
    let said = sandbox.warp(&["doctor"]);
    assert!(said.out.contains("ok    journal "), "{said:?}");
}

#[test]
fn a_damaged_journal_is_reported_and_repaired_without_losing_a_byte() {
    let sandbox = coding();
    let journal = sandbox.journal();
    let mut bytes = fs::read(&journal).unwrap();
    bytes.extend(fs::read(journal.with_extension("db-wal")).unwrap_or_default());
    fs::remove_file(journal.with_extension("db-wal")).ok();
    fs::remove_file(journal.with_extension("db-shm")).ok();
    fs::write(&journal, "this is no database, but it is long enough to be looked at".repeat(100)).unwrap();
    let said = sandbox.warp(&["status"]).ends(65);
    assert!(said.err.contains("it is not a database"), "{}", said.err);
    assert!(said.err.contains("hint: `warp doctor --repair`"), "{}", said.err);
    let said = sandbox.warp(&["doctor", "--json"]).ends(1);
    let checks = json(&said.out);
    let check = checks.as_array().unwrap().iter().find(|check| check["name"] == "journal").unwrap();
    assert_eq!(
        (check["result"].as_str(), check["fix"].as_str()),
        (Some("failed"), Some("warp doctor --repair"))
    );
    let said = sandbox.warp(&["doctor", "--repair"]).ends(0);
    assert!(said.out.contains("the damaged files are kept in"), "{}", said.out);
    assert!(said.out.contains("nothing of the journal could be read"), "{}", said.out);
}

#[test]
fn a_journal_that_may_not_be_written_is_told_with_what_lets_it() {
    if !testkit::machine::has_walls_or_skip() {
        return;
    }
    let sandbox = coding();
    let journal = sandbox.journal();
    let directory = journal.parent().unwrap();
    // Permissions do not bind root, so the whole place is read-only.
    let said = |command: &str| {
        let mut walled = sandbox.command("bwrap");
        walled.args(["--dev-bind", "/", "/", "--ro-bind"]).args([directory, directory]);
        let output = walled.args([env!("CARGO_BIN_EXE_warp"), command]).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let fix = format!("let yourself write there, e.g. `chmod -R u+rwX {}`", directory.display());
    for command in ["status", "doctor"] {
        let (code, said) = said(command);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("may not be written") && said.contains(&fix), "{said}");
        assert!(!said.contains("--repair"), "{said}");
    }
    sandbox.warp(&["status"]).ends(0);
}

#[test]
fn a_journal_that_was_lost_is_missed_and_not_taken_for_an_empty_project() {
    for lost in ["state", "state/warp", "state/warp/projects"] {
        let sandbox = sandbox();
        sandbox.warp_ok(&["state", "init", ".", "--level", "2"]);
        fs::remove_dir_all(sandbox.home().join(lost)).unwrap();
        for command in [
            &["status"][..],
            &["log"],
            &["issue", "list"],
            &["pr", "list"],
            &["next"],
            &["state", "init", "."],
        ] {
            let said = sandbox.warp(command);
            assert_eq!(said.code, Some(65), "{command:?}: {said:?}");
            assert!(said.err.contains("the journal of this project is gone"), "{command:?}: {said:?}");
            assert!(said.err.contains("`warp doctor --repair` begins an empty journal instead"), "{said:?}");
        }
        let doctor = sandbox.warp(&["doctor"]);
        assert!(doctor.out.contains("journal.db is gone"), "{doctor:?}");
        let repaired = sandbox.warp(&["doctor", "--repair"]);
        assert!(repaired.out.contains("begins an empty journal"), "{repaired:?}");
        sandbox.warp_ok(&["issue", "list"]);
    }
}
