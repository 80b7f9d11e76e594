//! Any agent that speaks the Agent Client Protocol on its standard input and output.
//!
//! The agent is a process like any other, and [`process::converse`](crate::process::converse) carries its lines. The
//! protocol's crate turns them into messages: it is run on this thread whenever a line has come, as far as it gets, and
//! never waits. What it learns comes as events, in order, and is answered here.
//!
//! The agent is offered no files and no terminals of warp's: it works on its tree itself, behind its walls.

mod heard;
mod login;
mod permission;
mod talk;

use std::{
    ffi::OsString,
    io,
    time::{Duration, Instant},
};

use agent_client_protocol::v1::schema::StopReason;

use super::{
    Agent, AgentUpdate, Capabilities, Client, MissingAccess, NoAnswer, Notice, ProviderFailure, Route, Turn,
    TurnResult, Usage, answer, claude, failed, last_words, opencode, tail, words,
};
use crate::process::{Control, End, ProgramEvent, ProgramResult, Signal};

use heard::Transcript;
use talk::{AcpEvent, NoReply, Reply, Talk};

/// An agent may have commands of its own to end first.
const LADDER: &[(Signal, Duration)] =
    &[(Signal::INT, Duration::from_secs(3)), (Signal::TERM, Duration::from_secs(3))];
/// How long an agent may take to end its turn when it is asked to, and to end itself when all is said.
const GRACE: Duration = Duration::from_secs(3);
/// The code by which a shell says that there is no such program.
const NOT_FOUND: i32 = 127;
/// What stands before the program in a line, and starts it.
const LAUNCHERS: [&str; 8] = ["env", "exec", "npx", "bunx", "pnpx", "npm", "pnpm", "dlx"];

/// An agent that is started by a line of shell.
#[derive(Clone, Debug)]
pub struct Acp {
    pub line: String,
}

impl Acp {
    /// Returns the name of the program that the line starts.
    fn program(&self) -> &str {
        let is_program =
            |word: &&str| !word.starts_with('-') && !word.contains('=') && !LAUNCHERS.contains(word);
        let program = self.line.split_whitespace().find(is_program).unwrap_or_default();
        program.rsplit('/').next().unwrap_or_default()
    }

    /// Tells whether it is Claude Code within, which takes its route from the environment.
    fn is_claude(&self) -> bool {
        self.program() == "claude" || self.program().starts_with("claude-")
    }

    /// Makes what OpenCode needs: a plugin that asks the rails and tells of retries. Within walls also a place where its
    /// conversations last: it keeps them beside its login, where nothing else does.
    fn made_for_opencode(&self) -> io::Result<Option<opencode::TurnFiles>> {
        let is_opencode = matches!(self.program().split('@').next(), Some("opencode" | "opencode-ai"));
        is_opencode.then(opencode::TurnFiles::new).transpose()
    }

    fn missing(&self, words: &str) -> NoAnswer {
        let hint = "install it, or name it by its whole path";
        NoAnswer::Missing { program: self.line.clone(), hint: format!("{hint} ({})", tail(words, 200)) }
    }
}

impl Agent for Acp {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn provider(&self) -> &'static str {
        if self.is_claude() { "anthropic" } else { "other" }
    }

    /// What depends on the agent itself counts as there: it is found out when it is asked, and said where it is not.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            structured_answer: false,
            // Which tools it asks for, an agent decides itself.
            hooks: false,
            mcp: true,
            effort: true,
            model: true,
            usage: true,
            metered: self.is_claude() && !claude::is_led_by_settings(),
        }
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult {
        let made = match self.made_for_opencode() {
            Ok(made) => made,
            Err(error) => return TurnResult::without(NoAnswer::NotStarted(Box::new(error))),
        };
        let mut variables = turn.route.map(variables).unwrap_or_default();
        if let Some(made) = &made {
            variables.extend(made.hooked(turn));
            variables.extend(turn.walls.is_some().then(|| made.within_walls()).into_iter().flatten());
        }
        let client = Client {
            program: "sh".into(),
            arguments: vec!["-c".into(), self.line.clone().into()],
            variables,
            input: Vec::new(),
            files: made.iter().flat_map(opencode::TurnFiles::files).collect(),
            ladder: LADDER,
            hint: "a POSIX shell is needed",
        };
        let (talk, more) = Talk::begin(turn, turn.prompt.to_owned());
        let mut asking =
            Asking { turn, talk: Some(talk), heard: Transcript::default(), reply: None, stopped: None };
        let followed = client.converse(turn, self.name(), Some(more), &mut |seen| asking.see(seen, watch));
        match followed {
            Ok(followed) => asking.ended(&followed, |words| self.missing(words)),
            Err(why) => TurnResult::without(why),
        }
    }
}

/// The variables by which most clients are told where their models are.
fn variables(route: &Route) -> Vec<(OsString, OsString)> {
    vec![
        ("ANTHROPIC_BASE_URL".into(), route.anthropic.clone().into()),
        ("OPENAI_BASE_URL".into(), route.openai.clone().into()),
        // Claude Code's own ten tries would take minutes to say that a key is wrong.
        ("CLAUDE_CODE_MAX_RETRIES".into(), "4".into()),
    ]
}

/// A turn that is under way.
struct Asking<'a> {
    turn: &'a Turn<'a>,
    /// None when all is said: the agent's input is then at its end.
    talk: Option<Talk>,
    heard: Transcript,
    /// What came of the turn, and when.
    reply: Option<(Reply, Instant)>,
    /// Since when the agent is asked to end its turn.
    stopped: Option<Instant>,
}

impl Asking<'_> {
    /// Takes what is seen of the agent, and says how it goes on.
    fn see(&mut self, seen: ProgramEvent<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> Control {
        let go = match seen {
            ProgramEvent::Out(line) => {
                if let Some(talk) = &mut self.talk {
                    talk.hear(line);
                }
                self.answer(watch)
            }
            ProgramEvent::Err(line) => match opencode::retry_line(line) {
                Some(notice) => watch(AgentUpdate::Notice(notice)),
                None => Control::On,
            },
            ProgramEvent::Tick { quiet } => {
                if let Some(talk) = &mut self.talk {
                    talk.tick();
                }
                self.answer(watch).max(watch(AgentUpdate::Tick(quiet)))
            }
        };
        match go {
            Control::On => {}
            Control::Stop => self.stop(),
            Control::Kill => return Control::Kill,
        }
        let is_over = |since: Option<Instant>| since.is_some_and(|since| since.elapsed() >= GRACE);
        let replied = self.reply.as_ref().map(|(_, at)| *at);
        let is_answered = self.stopped.is_some() && replied.is_some();
        if is_answered || is_over(self.stopped) || is_over(replied) { Control::Stop } else { Control::On }
    }

    /// Asks the agent to end its turn.
    fn stop(&mut self) {
        if self.stopped.is_none() {
            self.stopped = Some(Instant::now());
            if let Some(talk) = &mut self.talk {
                talk.cancel();
            }
        }
    }

    /// Deals with all that has happened.
    fn answer(&mut self, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> Control {
        let mut go = Control::On;
        while let Some(happened) = self.talk.as_mut().and_then(Talk::next) {
            let said = match happened {
                AcpEvent::Opened(session) => self.heard.open(&session),
                AcpEvent::LogsIn(way) => {
                    vec![AgentUpdate::Notice(Notice::Wait { why: format!("it logs in: {way}") })]
                }
                AcpEvent::Updated(update) => self.heard.update(&update),
                AcpEvent::Asked { request, responder } => {
                    let decided = permission::decide(self.turn, &request.tool_call);
                    // An agent that is gone needs no answer.
                    let _ = responder.respond(permission::response(&request, decided.is_ok()));
                    decided.err().into_iter().collect()
                }
                AcpEvent::Over(reply) => {
                    self.reply = Some((reply, Instant::now()));
                    self.talk = None;
                    self.heard.end()
                }
            };
            go = said.into_iter().map(&mut *watch).fold(go, Ord::max);
        }
        go
    }

    fn ended(mut self, followed: &ProgramResult, missing: impl Fn(&str) -> NoAnswer) -> TurnResult {
        // What the agent said last may not have been looked at.
        self.answer(&mut |_| Control::On);
        let last = if self.heard.words.is_empty() { last_words(followed) } else { self.heard.words.clone() };
        let reply = self.reply.map(|(reply, _)| reply);
        let told = reply.as_ref().and_then(|reply| reply.as_ref().ok()).map(|(_, usage)| *usage);
        let usage = told.filter(|usage| *usage != Usage::default()).unwrap_or_else(|| self.heard.least());
        let answer = match (reply, &followed.end) {
            _ if self.stopped.is_some() => Err(NoAnswer::Stopped),
            (Some(Ok((StopReason::EndTurn, _))), _) => answer::find(&self.heard.text, self.turn.schema),
            (Some(Ok(_)), end @ (End::TimedOut(_) | End::Silent(_))) => Err(failed(end, &last)),
            (Some(Ok((reason, _))), _) => Err(NoAnswer::Failed {
                end: followed.end.clone(),
                words: format!("it ended its turn: {reason:?}"),
            }),
            (Some(Err(NoReply::NoConversation)), _) => Err(NoAnswer::NoConversation),
            (Some(Err(NoReply::NoLogin(why))), _) => {
                Err(ProviderFailure::NoAccess { lack: MissingAccess::Login, words: why }.into())
            }
            (_, End::Exit(NOT_FOUND)) => Err(missing(&last)),
            (Some(Err(NoReply::Refused(why))), end) => Err(refused(end, why)),
            // It is not the person who stopped it: it was given up.
            (Some(Err(NoReply::Lost(why))), End::Stopped) => {
                Err(NoAnswer::Failed { end: followed.end.clone(), words: words::first_line(&why) })
            }
            (Some(Err(NoReply::Lost(_))) | None, end) => Err(failed(end, &last)),
        };
        let (session, context, cost_usd) = (self.heard.session, self.heard.context, self.heard.cost_usd);
        TurnResult { answer, session, usage, context, cost_usd, last_words: last }
    }
}

/// Tells by what an agent says why it refused: its provider fails, or it does.
fn refused(end: &End, why: String) -> NoAnswer {
    match (ProviderFailure::from_words(&why), end) {
        (Some(failure), _) => failure.into(),
        (None, End::TimedOut(_) | End::Silent(_)) => failed(end, &why),
        (None, End::Exit(_) | End::Signal(_) | End::Stopped) => {
            NoAnswer::Failed { end: end.clone(), words: why }
        }
    }
}

#[cfg(test)]
mod tests;
