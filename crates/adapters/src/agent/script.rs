//! A scripted agent: a file says what it does, turn by turn. For demonstrations, tests and simulation.
//!
//! [`ScriptProcess`] is the agent as a process of its own, `warp agent-script FILE`, which a fault can happen to like to any
//! other; [`Player`] does the same in this process. Both behave like a client with hooks: they ask before each
//! edit and each command, obey a refusal and go on, and tell afterwards. The format is in `docs/agents.md`.

mod file;
mod play;

use std::{path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use file::{Script, ScriptError};
pub use play::{Act, Reply, Stage, TurnOutcome};

use super::{
    Agent, AgentUpdate, Capabilities, Client, NoAnswer, Turn, TurnResult, Usage, brief, failed, last_words,
    tail,
};
use crate::process::{Control, End, ProgramEvent, Signal};

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

/// A scripted agent that runs as a child process.
#[derive(Clone, Debug)]
pub struct ScriptProcess {
    /// The script.
    pub file: PathBuf,
    /// The `warp` program.
    pub warp: PathBuf,
}

/// One line that the process prints.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    Said(AgentUpdate),
    /// The last one: the answer.
    Answer(Value),
    /// The last one instead: there is no such turn in the script.
    NoTurn(String),
}

impl Agent for ScriptProcess {
    fn name(&self) -> &'static str {
        "script"
    }

    fn provider(&self) -> &'static str {
        "other"
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult {
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
        let mut heard = Transcript::default();
        let mut show = |seen: ProgramEvent<'_>| match seen {
            ProgramEvent::Out(line) => heard.line(line).map_or(Control::On, &mut *watch),
            ProgramEvent::Err(line) => watch(AgentUpdate::Text(brief(line))),
            ProgramEvent::Tick { quiet } => watch(AgentUpdate::Tick(quiet)),
        };
        match client.follow(turn, self.name(), &mut show) {
            Ok(mut followed) => {
                followed.stdout = spoken(&followed.stdout);
                heard.ended(&followed.end, last_words(&followed))
            }
            Err(why) => TurnResult::without(why),
        }
    }
}

/// Leaves out what only warp reads.
fn spoken(stdout: &[u8]) -> Vec<u8> {
    let is_spoken = |line: &&[u8]| serde_json::from_slice::<Line>(line).is_err();
    stdout.split(|byte| *byte == b'\n').filter(is_spoken).collect::<Vec<_>>().join(&b'\n')
}

/// Output of a scripted agent.
#[derive(Default)]
struct Transcript {
    session: Option<String>,
    usage: Usage,
    answer: Option<Value>,
    no_turn: Option<String>,
}

impl Transcript {
    /// Takes a line; returns what of it is to be shown.
    fn line(&mut self, line: &str) -> Option<AgentUpdate> {
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
            Err(_) => Some(AgentUpdate::Text(brief(line))),
        }
    }

    fn said(&mut self, said: &AgentUpdate) {
        match said {
            AgentUpdate::Session(session) => self.session = Some(session.clone()),
            AgentUpdate::Usage(usage) => self.usage = *usage,
            AgentUpdate::Text(_)
            | AgentUpdate::Tool { .. }
            | AgentUpdate::Notice(_)
            | AgentUpdate::Model(_)
            | AgentUpdate::Tick(_) => {}
        }
    }

    fn ended(self, end: &End, last_words: String) -> TurnResult {
        let answer = match (end, self.no_turn, self.answer) {
            (_, Some(words), _) => Err(NoAnswer::Failed { end: end.clone(), words }),
            (End::Exit(0), None, Some(answer)) => Ok(answer),
            (End::Exit(0), None, None) => Err(NoAnswer::NotJson),
            (end, None, _) => Err(failed(end, &last_words)),
        };
        TurnResult {
            answer,
            session: self.session,
            usage: self.usage,
            context: 0,
            cost_usd: None,
            last_words,
        }
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

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult {
        let mut heard = Transcript::default();
        let mut words = String::new();
        let mut act = |act: Act| match act {
            Act::Say(said) => {
                heard.said(&said);
                watch(said)
            }
            Act::Print(line) => {
                words = tail(&format!("{words}\n{line}"), super::LAST_WORDS);
                watch(AgentUpdate::Text(brief(&line)))
            }
            Act::Flood { .. } | Act::Wait(_) => watch(AgentUpdate::Tick(Duration::ZERO)),
        };
        let stage = Stage { tree: turn.tree, facts: turn.facts, resume: turn.resume, hook: &*self.hook };
        let played = stage.play(&self.script, &mut act);
        let (end, answer) = match played {
            TurnOutcome::Answer(answer) => (End::Exit(0), Some(answer)),
            TurnOutcome::Nothing => (End::Exit(0), None),
            TurnOutcome::NoTurn(what) => {
                heard.no_turn = Some(what);
                (End::Exit(1), None)
            }
            TurnOutcome::Exit(code) => (End::Exit(code), None),
            TurnOutcome::Hang => (End::Silent(turn.limits.silence), None),
            TurnOutcome::Killed => (End::Signal(Signal::KILL.as_raw()), None),
            TurnOutcome::Stopped => (End::Stopped, None),
        };
        heard.answer = answer;
        heard.ended(&end, words)
    }
}

#[cfg(test)]
mod tests;
