//! A scripted agent: a file says what it does, turn by turn. For demonstrations, tests and simulation.
//!
//! [`Scripted`] is the agent as a process of its own, `warp agent-script FILE`, which a fault can happen to like to any
//! other; [`Player`] does the same in this process. Both behave like a client with hooks: they ask before each
//! edit and each command, obey a refusal and go on, and tell afterwards. The format is in `docs/agents.md`.

mod file;
mod play;

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use file::{Script, ScriptError};
pub use play::{Act, Played, Reply, Stage};

use super::{
    Agent, Capabilities, Client, Ended, NoAnswer, Said, Turn, Usage, brief, failed, last_words, tail,
};
use crate::process::{End, Go, Seen, Signal};

/// The variable that tells a scripted agent which conversation it goes on with.
pub const RESUME: &str = "WARP_RESUME";

const LADDER: &[(Signal, Duration)] = &[(Signal::TERM, Duration::from_secs(2))];

/// A script asks no model: there is nothing to choose, and nothing to measure but what it says itself.
const CAPABILITIES: Capabilities = Capabilities {
    resume: true,
    structured_answer: true,
    hooks: true,
    mcp: false,
    effort: false,
    model: false,
    usage: true,
    metered: false,
};

/// A scripted agent in a process of its own.
#[derive(Clone, Debug)]
pub struct Scripted {
    /// The script.
    pub file: PathBuf,
    /// The `warp` program.
    pub warp: PathBuf,
}

/// One line that the process prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    Said(Said),
    /// The last one: the answer.
    Answer(Value),
    /// The last one instead: there is no such turn in the script.
    NoTurn(String),
}

impl Agent for Scripted {
    fn name(&self) -> &'static str {
        "script"
    }

    fn provider(&self) -> &'static str {
        "other"
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(Said) -> Go) -> Ended {
        let resume = turn.resume.map(|session| (RESUME.into(), session.into()));
        let client = Client {
            program: self.warp.clone().into(),
            arguments: vec!["agent-script".into(), turn.seen(&self.file).into()],
            variables: resume.into_iter().collect(),
            input: turn.prompt.as_bytes().to_vec(),
            files: vec![self.file.clone()],
            ladder: LADDER,
            hint: "`warp` itself is gone; install it again",
        };
        let mut heard = Heard::default();
        let mut show = |seen: Seen<'_>| match seen {
            Seen::Out(line) => heard.line(line).map_or(Go::On, &mut *watch),
            Seen::Err(line) => watch(Said::Text(brief(line))),
            Seen::Tick { quiet } => watch(Said::Tick(quiet)),
        };
        match client.follow(turn, self.name(), &mut show) {
            Ok(mut followed) => {
                followed.stdout = spoken(&followed.stdout);
                heard.ended(&followed.end, last_words(&followed))
            }
            Err(why) => Ended::without(why),
        }
    }
}

/// Leaves out what only warp reads.
fn spoken(stdout: &[u8]) -> Vec<u8> {
    let is_spoken = |line: &&[u8]| serde_json::from_slice::<Line>(line).is_err();
    stdout.split(|byte| *byte == b'\n').filter(is_spoken).collect::<Vec<_>>().join(&b'\n')
}

/// What was heard of a scripted agent.
#[derive(Default)]
struct Heard {
    session: Option<String>,
    usage: Usage,
    answer: Option<Value>,
    no_turn: Option<String>,
}

impl Heard {
    /// Takes a line; returns what of it is to be shown.
    fn line(&mut self, line: &str) -> Option<Said> {
        match serde_json::from_str(line) {
            Ok(Line::Said(said)) => {
                self.said(&said);
                Some(said)
            }
            Ok(Line::Answer(answer)) => {
                self.answer = Some(answer);
                None
            }
            Ok(Line::NoTurn(what)) => {
                self.no_turn = Some(what);
                None
            }
            Err(_) => Some(Said::Text(brief(line))),
        }
    }

    fn said(&mut self, said: &Said) {
        match said {
            Said::Session(session) => self.session = Some(session.clone()),
            Said::Usage(usage) => self.usage = *usage,
            Said::Text(_) | Said::Tool { .. } | Said::Notice(_) | Said::Model(_) | Said::Tick(_) => {}
        }
    }

    fn ended(self, end: &End, last_words: String) -> Ended {
        let answer = match (end, self.no_turn, self.answer) {
            (_, Some(words), _) => Err(NoAnswer::Failed { end: end.clone(), words }),
            (End::Exit(0), None, Some(answer)) => Ok(answer),
            (End::Exit(0), None, None) => Err(NoAnswer::NotJson),
            (end, None, _) => Err(failed(end, &last_words)),
        };
        Ended { answer, session: self.session, usage: self.usage, cost_usd: None, last_words }
    }
}

/// Answers a scripted agent's hook: `pre-tool-use`, `post-tool-use` or `post-tool-use-failure`, with its input.
pub type Hook = dyn Fn(&str, &Value) -> Reply + Send + Sync;

/// A scripted agent in this process. Only the commands of its script are processes; nothing is waited for.
pub struct Player {
    script: Script,
    hook: Box<Hook>,
}

impl Player {
    pub fn new(script: Script, hook: Box<Hook>) -> Self {
        Self { script, hook }
    }
}

impl std::fmt::Debug for Player {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Player").field("script", &self.script).finish_non_exhaustive()
    }
}

impl Agent for Player {
    fn name(&self) -> &'static str {
        "script"
    }

    fn provider(&self) -> &'static str {
        "other"
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(Said) -> Go) -> Ended {
        let mut heard = Heard::default();
        let mut words = String::new();
        let mut act = |act: Act| match act {
            Act::Say(said) => {
                heard.said(&said);
                watch(said)
            }
            Act::Print(line) => {
                words = tail(&format!("{words}\n{line}"), super::LAST_WORDS);
                watch(Said::Text(brief(&line)))
            }
            Act::Flood { .. } | Act::Wait(_) => watch(Said::Tick(Duration::ZERO)),
        };
        let stage = Stage { tree: turn.tree, facts: turn.facts, resume: turn.resume, hook: &*self.hook };
        let played = stage.play(&self.script, &mut act);
        let (end, answer) = match played {
            Played::Answer(answer) => (End::Exit(0), Some(answer)),
            Played::Nothing => (End::Exit(0), None),
            Played::NoTurn(what) => {
                heard.no_turn = Some(what);
                (End::Exit(1), None)
            }
            Played::Exit(code) => (End::Exit(code), None),
            Played::Hang => (End::Silent(turn.limits.silence), None),
            Played::Killed => (End::Signal(Signal::KILL.as_raw()), None),
            Played::Stopped => (End::Stopped, None),
        };
        heard.answer = answer;
        heard.ended(&end, words)
    }
}

#[cfg(test)]
mod tests;
