//! Away mode: a person who is not there is told, asked and heard by Telegram.

use std::{fs, path::Path, process::Command};

use rustix::process::Signal;
use testkit::telegram::{Fault, TOKEN, Telegram};

use super::support::{GOOD, Project, Running, has_walls};
use crate::support::Ends as _;

const ANN: (i64, &str) = (501, "Ann");
const CHUNKS: [&str; 2] = ["--set", "max_acs_per_commit=1"];

/// An agent that asks about the first criterion, and knows what to do about the second.
const ASKS: &str = r#"
[[turn]]
phase = "coding"
chunk = 1
resumed = false
answer = { summary = "", question = { kind = "scope", text = "Which greeting?", options = ["hello", "good day"] } }
[[turn]]
phase = "coding"
chunk = 1
steps = [{ write = "greeting.txt", text = "hello\n" }]
answer = { summary = "It greets.", evidence = [{ ac = "AC-01", file = "greeting.txt", line = 1 }] }
[[turn]]
phase = "coding"
chunk = 2
steps = [{ write = "world.txt", text = "world\n" }]
answer = { summary = "It names the world.", evidence = [{ ac = "AC-02", file = "world.txt", line = 1 }] }
"#;

/// An agent that never gets its tests to pass.
const STUCK: &str = r#"
[[turn]]
phase = "coding"
steps = [{ write = "broken", text = "x" }, { write = "greeting.txt", text = "hello\nworld\n" }]
answer = { summary = "It greets.", evidence = [
    { ac = "AC-01", file = "greeting.txt", line = 1 }, { ac = "AC-02", file = "greeting.txt", line = 2 },
] }
"#;

fn command(project: &Project, telegram: &Telegram, more: &[&str]) -> Command {
    let mut command = project.command(more);
    command.envs(telegram.variables("501"));
    command
}

fn start(project: &Project, telegram: &Telegram, more: &[&str]) -> Running {
    Running::start(command(project, telegram, more))
}

/// Returns the phases that were told, in order: neither commits nor questions.
fn phases(texts: &[String]) -> Vec<String> {
    let word = |text: &String| text.strip_prefix("[warp-drive] ")?.split(" -- ").next().map(str::to_owned);
    texts.iter().filter_map(word).filter(|word| word != "commit" && word != "decision").collect()
}

/// Runs another issue to its end.
fn run_another(project: &Project, telegram: &Telegram) {
    project.script(&GOOD.replace("greeting.txt", "another.txt"));
    project.sandbox.issue(9, "# Another\n\n- [ ] AC-01: it says hello\n- [ ] AC-02: it names the world\n");
    let agent = format!("script:{}", project.sandbox.home().join("script.toml").display());
    let mut next = project.sandbox.warp_command(&["run", "9", "--level", "3", "--once", "--agent", &agent]);
    next.envs(telegram.variables("501"));
    Running::start(next).end().ends(0);
}

#[test]
fn a_question_is_answered_by_a_button_and_every_phase_is_told() {
    let (project, telegram) = (Project::new(ASKS), Telegram::start());
    let mut running = start(&project, &telegram, &CHUNKS);
    running.until("it is asked in Telegram too");
    let question = telegram.until_sent("Which greeting?");
    telegram.press(ANN, question.id, "hello");
    running.end().ends(0);
    let (_, data) = project.log().into_iter().find(|(event, _)| event == "decision_answered").unwrap();
    assert_eq!((data["option"].as_str(), data["by"].as_str()), (Some("hello"), Some("Ann")));
    let texts = telegram.texts(501);
    let has = |text: &str| texts.iter().any(|told| told == text);
    assert!(has("[warp-drive] coding -- chunk 1/2 for #1 in demo"), "{texts:#?}");
    assert!(has("[warp-drive] coding -- chunk 2/2 for #1 in demo"), "{texts:#?}");
    assert!(has("[warp-drive] session ending -- 2 commits, 2 chunks in demo"), "{texts:#?}");
    assert!(texts[texts.len() - 1].starts_with("[warp-drive] completed -- "), "{texts:#?}");
    assert_eq!(
        texts.iter().filter(|text| text.starts_with("[warp-drive] commit -- ")).count(),
        2,
        "{texts:#?}"
    );
    assert_eq!(phases(&texts), project.phases("1"));
    assert!(telegram.until_sent("Which greeting?").text.contains("=> hello -- Ann, "));
}

#[test]
fn rdb_enabled_off_says_nothing_to_anybody() {
    let (project, telegram) = (Project::new(GOOD), Telegram::start());
    start(&project, &telegram, &["--set", "rdb.enabled=false"]).end().ends(0);
    assert_eq!(telegram.texts(501), Vec::<String>::new());
}

#[test]
fn what_a_run_did_before_away_mode_is_not_told_by_the_next_one() {
    let (project, telegram) = (Project::new(ASKS), Telegram::start());
    let running = start(&project, &telegram, &CHUNKS);
    telegram.until_sent("Which greeting?");
    running.signal(Signal::KILL);
    running.end();
    // The person is back, and the run comes to its end at the terminal.
    project.sandbox.warp_ok(&["answer", &project.question().0, "hello"]);
    start(&project, &telegram, &[&CHUNKS[..], &["--set", "rdb.enabled=false"]].concat()).end().ends(0);
    let told = telegram.texts(501);
    run_another(&project, &telegram);
    assert_eq!(phases(&telegram.texts(501)[told.len()..]), project.phases("9"));
}

#[test]
fn heartbeat_on_commit_off_says_no_word_about_commits() {
    let (project, telegram) = (Project::new(GOOD), Telegram::start());
    start(&project, &telegram, &["--set", "heartbeat_on_commit=false"]).end().ends(0);
    let texts = telegram.texts(501);
    assert!(texts.len() > 5 && !texts.iter().any(|text| text.contains("] commit -- ")), "{texts:#?}");
}

#[test]
fn at_a_limit_a_run_with_nobody_there_waits_for_an_answer_from_away() {
    let (project, telegram) = (Project::new(STUCK), Telegram::start());
    let running = start(&project, &telegram, &[]);
    let question = telegram.until_sent("The same failures came back");
    project.script(GOOD);
    telegram.press(ANN, question.id, "abort");
    let ended = running.end().ends(1);
    assert!(ended.said.contains("stopped for good"), "{}", ended.said);
    assert!(telegram.texts(501).iter().any(|text| text.starts_with("[warp-drive] aborted -- ")));

    // When nobody answers, it ends as it would have at once.
    let (project, telegram) = (Project::new(STUCK), Telegram::start());
    let ended = start(&project, &telegram, &["--set", "decision_timeout_minutes=0"]).end().ends(5);
    assert!(ended.said.contains("answer with:\n  warp answer"), "{}", ended.said);
    telegram.until_sent("The same failures came back");
}

#[test]
fn a_question_that_nobody_answers_is_put_off_and_says_so() {
    let (project, telegram) = (Project::new(ASKS), Telegram::start());
    let nobody = [CHUNKS.as_slice(), &["--set", "decision_timeout_minutes=0"]].concat();
    start(&project, &telegram, &nobody).end().ends(5);
    let texts = telegram.texts(501);
    assert!(texts.iter().any(|text| text.contains("1 skipped")), "{texts:#?}");
    assert!(!texts.iter().any(|text| text.contains("Press a button")), "{texts:#?}");
}

#[test]
fn a_killed_run_asks_once_and_hears_what_was_answered_meanwhile() {
    let (project, telegram) = (Project::new(ASKS), Telegram::start());
    let running = start(&project, &telegram, &CHUNKS);
    let question = telegram.until_sent("Which greeting?");
    telegram.until("a poll", |state| (state.polls > 0).then_some(()));
    running.signal(Signal::KILL);
    running.end();
    telegram.press(ANN, question.id, "hello");
    start(&project, &telegram, &CHUNKS).end().ends(0);
    assert_eq!(project.count("decision_answered"), 1);
    let asked = telegram.texts(501).iter().filter(|text| text.contains("Which greeting?")).count();
    assert_eq!(asked, 1, "{:#?}", telegram.texts(501));
}

#[test]
fn a_channel_that_cannot_be_reached_does_not_hold_the_run_up() {
    let (project, telegram) = (Project::new(GOOD), Telegram::start());
    for _ in 0..50 {
        telegram.fail("sendMessage", Fault::Lost);
    }
    let ended = start(&project, &telegram, &[]).end().ends(0);
    assert!(ended.said.contains("away: Telegram cannot be reached"), "{}", ended.said);
    assert!(ended.said.contains("the last notices are not sent yet"), "{}", ended.said);
    assert!(telegram.texts(501).is_empty());
    // Whoever runs next sends them, in order, before its own.
    telegram.forgive("sendMessage");
    run_another(&project, &telegram);
    let texts = telegram.texts(501);
    assert_eq!(phases(&texts), [project.phases("1"), project.phases("9")].concat());
}

#[test]
fn two_runs_ask_at_once_and_one_of_them_listens_for_both() {
    let (project, telegram) = (Project::new(ASKS), Telegram::start());
    project.sandbox.issue(9, "# Another\n\n- [ ] AC-01: it says hello\n- [ ] AC-02: it names the world\n");
    let other = ASKS.replace("Which greeting?", "Which other?").replace(".txt", ".text");
    fs::write(project.sandbox.home().join("other.toml"), other).unwrap();
    let agent = format!("script:{}", project.sandbox.home().join("other.toml").display());
    let mut second = project.sandbox.warp_command(&["run", "9", "--level", "3", "--once", "--agent", &agent]);
    second.args(CHUNKS).envs(telegram.variables("501"));
    let first = start(&project, &telegram, &CHUNKS);
    let asked = telegram.until_sent("Which greeting?");
    telegram.until("a poll", |state| (state.polls > 0).then_some(()));
    let second = Running::start(second);
    // Whoever listens answers for the other: the first run has not been answered when the second goes on.
    let other = telegram.until_sent("Which other?");
    telegram.press(ANN, other.id, "hello");
    second.end().ends(0);
    telegram.press(ANN, asked.id, "hello");
    first.end().ends(0);
    // Two that listen at once would be in conflict at every poll; one may be left where listening is handed over.
    let conflicts = telegram.look(|state| state.conflicts);
    assert!(conflicts <= 1, "{conflicts} conflicts");
}

#[test]
fn the_token_is_seen_by_nobody() {
    if !has_walls() {
        return;
    }
    let (project, telegram) = (Project::new(""), Telegram::start());
    telegram.set_up(&project.sandbox, "501");
    let line = r#"command:{ echo hello world; env; cat $XDG_CONFIG_HOME/warp/*; } > greeting.txt 2>&1; echo '{"summary":"x","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":1}]}'"#;
    // Variables of a machine may look like secrets, and are not what this is about.
    let nobody = ["--agent", line, "--set", "decision_timeout_minutes=0", "--set", "commit_guard=false"];
    let ended = Running::start(command(&project, &telegram, &nobody)).end().ends(0);
    assert!(!ended.said.contains(TOKEN));
    let seen = project.sandbox.git(&["show", "main:greeting.txt"]);
    assert!(seen.contains("HOME=") && !seen.contains(TOKEN), "{seen}");
    fs::remove_file(project.sandbox.home().join("config/warp/telegram-token")).unwrap();
    assert_eq!(holding(project.sandbox.home(), TOKEN), Vec::<String>::new());
}

/// Returns the files below a directory that hold a text.
fn holding(directory: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(holding(&entry.path(), text));
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(entry.path().display().to_string());
            }
        }
    }
    found
}
