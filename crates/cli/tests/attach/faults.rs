//! Agents that crash, hang at their prompt or are killed, and drivers that are.

use std::{env, fs, os::unix::fs::symlink, process::Command};

use testkit::driven::Driven;

use super::support::{Attached, is_skipped};

#[test]
fn without_tmux_it_is_said_how_to_install_it() {
    let driven = Driven::with_issue(env!("CARGO_BIN_EXE_warp"), 1, 1);
    let bin = driven.sandbox.home().join("bin");
    fs::create_dir(&bin).unwrap();
    let path = env::var_os("PATH").unwrap();
    let git = env::split_paths(&path).map(|directory| directory.join("git")).find(|file| file.is_file());
    symlink(git.unwrap(), bin.join("git")).unwrap();
    let mut command = driven.sandbox.warp_command(&["run", "42", "--attach", "--agent", "command:true"]);
    let output = command.env("PATH", &bin).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(78), "{said}");
    assert!(said.contains("tmux is not installed") && said.contains("apt-get install tmux"), "{said}");
}

#[test]
fn an_agent_that_has_no_terminal_is_refused_before_anything_begins() {
    if is_skipped() {
        return;
    }
    let driven = Driven::with_issue(env!("CARGO_BIN_EXE_warp"), 1, 1);
    let said = driven.run(&["42", "--attach"]);
    assert_eq!(said.code, Some(64), "{said:?}");
    assert!(said.err.contains("cannot be talked to in a terminal"), "{said:?}");
    assert_eq!(driven.sandbox.warp(&["status", "42"]).code, Some(2));
}

#[test]
fn a_run_of_another_workflow_is_left_to_its_own_driver() {
    if is_skipped() {
        return;
    }
    let driven = Driven::with_issue(env!("CARGO_BIN_EXE_warp"), 1, 1);
    driven
        .script("[[turn]]\nphase = \"PLANNING\"\nanswer = { event = \"submit_plan\", question = { kind = \"scope\", text = \"All?\" } }\n");
    let said = driven.run(&["42", "--workflow", "coder", "--set", "decision_timeout_minutes=0"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    let mut command = driven.sandbox.warp_command(&["run", "42", "--attach", "--agent", "command:cat"]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("of `coder` is not for a terminal"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_crashed_agent_is_started_again_with_what_there_is_to_know() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new(
        r#"
if [ -e file1.txt ]; then
  heard 'was started again after a crash'
  heard 'Last known phase: awaiting_ci'
  heard 'CI failed'
  heard '+word1'
  rm -f broken
  phase awaiting_ci
  heard 'never'
fi
heard 'Neither commit nor push'
echo word1 > file1.txt
touch broken
phase awaiting_ci
heard 'CI failed'
exit 3
"#,
    );
    attached.start(&[]);
    attached.event("ci_failed");
    attached.event("agent_crashed");
    attached.event("ci_passed");
    assert_eq!(attached.log("agent_crashed").len(), 1);
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    attached.is_clean();
}

#[test]
fn an_agent_that_only_crashes_uses_its_restarts_up() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new("heard 'Neither commit nor push'; echo 'no such model'; exit 1");
    attached.start(&["--set", "max_agent_restarts=2"]);
    assert_eq!(attached.end(), Some(1));
    let crashes = attached.log("agent_crashed");
    assert_eq!(crashes.len(), 3);
    assert!(crashes[0]["data"]["failure"].to_string().contains("no such model"), "{crashes:?}");
    attached.is_clean();
}

#[test]
fn an_agent_that_stands_at_its_prompt_is_reminded_and_then_given_up() {
    if is_skipped() {
        return;
    }
    let mut attached =
        Attached::new("stty -echo; heard 'Neither commit nor push'; clear; printf '❯ '; cat > /dev/null");
    attached.start(&["--set", "agent_silence_seconds=1"]);
    for _ in 0..2 {
        attached.until("a reminder", |line| line["text"].to_string().contains("sent a reminder"));
    }
    let failed = attached.event("failed");
    assert_eq!((&failed["actor"], &failed["data"]["reason"]), (&"engine".into(), &"idle_prompt".into()));
    assert_eq!(attached.end(), Some(1));
    attached.is_clean();
}

#[test]
fn a_killed_driver_leaves_nothing_that_the_next_one_does_not_end() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new(
        r#"
if [ -e file1.txt ]; then
  heard 'Last known phase: needs_human'
  phase failed
  heard 'never'
fi
heard 'Neither commit nor push'
echo word1 > file1.txt
phase needs_human
heard 'never'
"#,
    );
    attached.start(&[]);
    let id = attached.asked()["id"].as_str().unwrap().to_owned();
    attached.child().kill().unwrap();
    attached.end();
    attached.driven.sandbox.warp_ok(&["answer", &id, "continue"]);
    attached.start(&[]);
    attached.event("failed");
    assert_eq!(attached.end(), Some(1));
    attached.is_clean();
}

#[test]
fn a_killed_drivers_terminal_is_ended_by_a_run_of_another_issue() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new("heard 'Neither commit nor push'; phase needs_human; heard 'never'");
    attached.start(&[]);
    attached.asked();
    attached.child().kill().unwrap();
    attached.end();
    assert!(attached.tmux(&["has-session"]).status.success());
    attached.driven.issue(43, 1, "");
    let other = ["run", "43", "--once", "--agent", "command:true", "--set", "decision_timeout_minutes=0"];
    let said = attached.driven.sandbox.warp(&other);
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(!attached.tmux(&["has-session"]).status.success());
    attached.is_clean();
}

#[test]
fn an_interrupted_driver_ends_the_agent_and_goes_on_later() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new("heard 'Neither commit nor push'; phase needs_human; heard 'never'");
    attached.start(&[]);
    attached.asked();
    let pid = attached.child().id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(attached.end(), Some(130));
    attached.is_clean();
    assert_eq!(attached.phase(), "needs_human");
}

#[test]
fn an_agent_that_plants_links_and_a_pipe_reaches_nothing_outside_and_stops_nobody() {
    if is_skipped() {
        return;
    }
    let mut attached = Attached::new(
        r#"
heard 'Neither commit nor push'
directory=$(dirname "$PHASE_FILE")
for name in last-phase tmux.conf launch.sh said.txt claude.json; do
  ln -sf "@TEMPORARY@/outside" "$directory/$name"
  ln -sf "@TEMPORARY@/outside" "$directory/../$name"
done
rm "$PHASE_FILE"
mkfifo "$PHASE_FILE"
echo > "$directory/other"
heard 'now a link'
rm "$PHASE_FILE"
ln -s "@TEMPORARY@/outside" "$PHASE_FILE"
echo 'PHASE:needs_human' > "@TEMPORARY@/dev-session-$PROJECT_NAME-$ISSUE.phase"
heard 'never'
"#,
    );
    let outside = attached.elsewhere().with_file_name("outside");
    fs::write(&outside, "PHASE:failed\n").unwrap();
    attached.start(&[]);
    attached.until("a warning", |line| line["text"].to_string().contains("it is no plain file"));
    assert!(attached.tmux(&["send-keys", "-t", "dev-demo-42", "now a link", "Enter"]).status.success());
    let id = attached.asked()["id"].as_str().unwrap().to_owned();
    attached.child().kill().unwrap();
    attached.end();
    attached.driven.sandbox.warp_ok(&["answer", &id, "continue"]);
    attached.start(&[]);
    attached.until("a terminal", |line| line["text"].to_string().contains("looks on"));
    attached.driven.sandbox.warp_ok(&["stop", "42"]);
    assert_eq!(attached.end(), Some(0));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "PHASE:failed\n");
    attached.is_clean();
}
