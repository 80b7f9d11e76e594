//! Transcripts of sessions that warp does not drive.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use project::spend::transcripts::Transcripts;

use crate::support::at;

/// An agent's own directory with the transcripts of `/home/ada/my.shop`.
struct Agent(tempfile::TempDir);

impl Agent {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("projects/-home-ada-my-shop").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn find(&self) -> Option<Transcripts> {
        Transcripts::in_home(self.0.path(), Path::new("/home/ada/my.shop"), at(1, 0))
    }

    fn read(&self) -> Transcripts {
        let mut transcripts = self.find().unwrap();
        transcripts.read().unwrap();
        transcripts
    }
}

fn line(id: &str, day: u32, output: u64) -> String {
    let usage = format!(
        r#"{{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":{output}}}"#
    );
    format!(
        "{}\n",
        format_args!(
            r#"{{"type":"assistant","timestamp":"{}","message":{{"id":"{id}","model":"claude-opus-5-5","usage":{usage}}}}}"#,
            at(day, 9)
        )
    )
}

fn tokens(transcripts: &Transcripts) -> u64 {
    transcripts.messages().map(|message| message.usage.tokens()).sum()
}

#[test]
fn an_answer_of_several_lines_counts_once_also_in_a_resumed_session() {
    let agent = Agent::new();
    agent.write("one.jsonl", &[line("a", 16, 1), line("a", 16, 7), line("b", 16, 2)].concat());
    agent.write("two.jsonl", &[line("a", 16, 7), line("c", 16, 0)].concat());
    let transcripts = agent.read();
    assert_eq!(transcripts.messages().count(), 3);
    assert_eq!(tokens(&transcripts), 3 * 123 + 9);
    let first = transcripts.messages().next().unwrap();
    assert_eq!((first.usage.cache_read_tokens, first.usage.cache_write_tokens), (100, 20));
    assert_eq!((first.model.as_str(), first.at), ("claude-opus-5-5", at(16, 9)));
}

#[test]
fn subagents_are_counted_and_what_was_before_is_not() {
    let agent = Agent::new();
    agent.write("one.jsonl", &[line("a", 16, 0), line("old", 1, 0).replace("11-01", "10-31")].concat());
    agent.write("one/subagents/agent-7.jsonl", &line("b", 16, 0));
    agent.write("one/tool-results/x.txt", &line("c", 16, 0));
    assert_eq!(agent.read().messages().count(), 2);
}

#[test]
fn reading_again_reads_what_is_new_and_a_line_when_it_is_whole() {
    let agent = Agent::new();
    let whole = line("b", 16, 2);
    let (begun, rest) = whole.split_at(40);
    agent.write("one.jsonl", &line("a", 16, 1));
    agent.write("one.jsonl", begun);
    let mut transcripts = agent.read();
    assert_eq!((tokens(&transcripts), transcripts.broken), (124, 0));
    agent.write("one.jsonl", rest);
    transcripts.read().unwrap();
    transcripts.read().unwrap();
    assert_eq!((tokens(&transcripts), transcripts.broken), (124 + 125, 0));
}

#[test]
fn lines_that_cannot_be_read_are_passed_over_and_counted() {
    let agent = Agent::new();
    let odd = [
        "not json\n",
        "{\"type\":\"assistant\",\"usage\"\n",
        "{\"type\":\"assistant\",\"message\":{\"usage\":{\"input_tokens\":-1}}}\n",
        "{\"type\":\"assistant\",\"timestamp\":\"soon\",\"message\":{\"usage\":{}}}\n",
        "\n",
        "{\"type\":\"user\",\"message\":{\"content\":\"a \\\"usage\\\" in words\"}}\n",
        "{\"type\":\"assistant\",\"message\":{\"id\":\"x\",\"usage\":{\"input_tokens\":1}}}\n",
    ];
    agent.write("one.jsonl", &odd.concat());
    agent.write("one.jsonl", &line("a", 16, 0));
    let transcripts = agent.read();
    assert_eq!((transcripts.messages().count(), transcripts.broken), (1, 4));
    assert!(!transcripts.is_cut);
}

#[test]
fn a_workspace_in_which_the_agent_never_worked_has_none() {
    assert!(Agent::new().find().is_none());
}
