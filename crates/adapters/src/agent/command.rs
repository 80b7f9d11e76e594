//! Any program as an agent: a shell command that reads the prompt and prints its answer.
//!
//! The prompt is on standard input, with the answer's schema at its end; the facts are variables. The last JSON object
//! on standard output is the answer. Where models are to be asked is in `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL`. Such a program has no conversation to go on with: what it is told when it is
//! asked again is all that it knows.

use std::{ffi::OsString, time::Duration};

use super::{
    Agent, AgentUpdate, Capabilities, Client, NoAnswer, Route, Turn, TurnResult, Usage, answer, brief,
    failed, last_words, tail,
};
use crate::process::{Control, End, ProgramEvent, Signal};

/// A program that is asked to end may have commands of its own to end first.
const LADDER: &[(Signal, Duration)] =
    &[(Signal::INT, Duration::from_secs(3)), (Signal::TERM, Duration::from_secs(3))];

/// The code by which a shell says that there is no such program.
const NOT_FOUND: i32 = 127;

/// An agent that is a shell command.
#[derive(Clone, Debug)]
pub struct Command {
    pub line: String,
}

impl Command {
    fn missing(&self, words: &str) -> NoAnswer {
        let hint = "install it, or name it by its whole path";
        NoAnswer::Missing { program: self.line.clone(), hint: format!("{hint} ({})", tail(words, 200)) }
    }
}

pub(super) fn route(route: Option<&Route>) -> Vec<(OsString, OsString)> {
    let Some(route) = route else { return Vec::new() };
    [("ANTHROPIC_BASE_URL", &route.anthropic), ("OPENAI_BASE_URL", &route.openai)]
        .map(|(name, url)| (name.into(), url.into()))
        .into()
}

impl Agent for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn provider(&self) -> &'static str {
        "other"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { metered: true, ..Capabilities::default() }
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult {
        let client = Client {
            program: "sh".into(),
            arguments: vec!["-c".into(), self.line.clone().into()],
            variables: route(turn.route),
            input: turn.prompt.as_bytes().to_vec(),
            files: Vec::new(),
            ladder: LADDER,
            hint: "a POSIX shell is needed",
        };
        let mut show = |seen: ProgramEvent<'_>| match seen {
            ProgramEvent::Out(line) | ProgramEvent::Err(line) if !line.trim().is_empty() => {
                watch(AgentUpdate::Text(brief(line)))
            }
            ProgramEvent::Out(_) | ProgramEvent::Err(_) => Control::On,
            ProgramEvent::Tick { quiet } => watch(AgentUpdate::Tick(quiet)),
        };
        let followed = match client.follow(turn, self.name(), &mut show) {
            Ok(followed) => followed,
            Err(why) => return TurnResult::without(why),
        };
        let last_words = last_words(&followed);
        let answer = match &followed.end {
            End::Exit(0) => answer::find(&String::from_utf8_lossy(&followed.stdout), turn.schema),
            End::Exit(NOT_FOUND) => Err(self.missing(&last_words)),
            end @ (End::Exit(_) | End::Signal(_) | End::TimedOut(_) | End::Silent(_) | End::Stopped) => {
                Err(failed(end, &last_words))
            }
        };
        TurnResult { answer, session: None, usage: Usage::default(), context: 0, cost_usd: None, last_words }
    }
}
