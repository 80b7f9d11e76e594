//! The model's side of the conversation: what was asked is noted, and the script says what comes of it.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use serde_json::{Value, json};

use super::{
    Api, Call, Gate, Manner, Place, Request, Script, Sent, Turn,
    answer::{Answer, Marks, Speech, fail, limit, no_such_path, render, tokens},
    http::Incoming,
};

/// What side requests are answered with.
const ASIDE: &str = "noted";

/// How the brief of a second look at a whole issue begins, and what it is answered with, by a tool where the client has it.
const SECOND_LOOK: &str = "look at the whole issue once more";
const STRUCTURED: &str = "StructuredOutput";
const NOTHING_UNMET: &str = r#"{"unmet":[]}"#;

/// What the models serve, by how paths end: whatever comes before it is a prefix that a client was given.
const PATHS: [(&str, Served); 4] = [
    ("/v1/messages", Served::Model(Api::Anthropic)),
    ("/v1/messages/count_tokens", Served::Count),
    ("/v1/responses", Served::Model(Api::OpenAi)),
    ("/v1/chat/completions", Served::Model(Api::Chat)),
];

#[derive(Clone, Copy)]
enum Served {
    Model(Api),
    /// How many tokens a request would have.
    Count,
}

type Panic = Box<dyn Any + Send>;

#[derive(Default)]
pub(super) struct Seen {
    record: Mutex<Record>,
    pub(super) changed: Condvar,
}

#[derive(Default)]
pub(super) struct Record {
    /// Everything that a model was asked, side requests included.
    pub(super) sent: Vec<Sent>,
    pub(super) requests: Vec<Request>,
    pub(super) aside: usize,
    pub(super) strays: Vec<String>,
}

impl Seen {
    pub(super) fn lock(&self) -> MutexGuard<'_, Record> {
        // The record is whole after each push, so a panic elsewhere does not spoil it.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, change: impl FnOnce(&mut Record)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

/// The script, asked by one connection at a time, and what was seen.
pub(super) struct Player {
    pub(super) seen: Seen,
    play: Mutex<Play>,
}

struct Play {
    script: Script,
    panic: Option<Panic>,
}

impl Player {
    pub(super) fn new(script: Script) -> Self {
        Self { seen: Seen::default(), play: Mutex::new(Play { script, panic: None }) }
    }

    /// Takes the script's panic, if it had one.
    pub(super) fn take_panic(&self) -> Option<Panic> {
        self.play().panic.take()
    }

    pub(super) fn answer(&self, incoming: &Incoming) -> (Answer, Manner) {
        let path = incoming.path();
        let found = PATHS.iter().find(|(end, _)| incoming.method == "POST" && path.ends_with(end));
        match (found, serde_json::from_slice::<Value>(&incoming.body)) {
            (None, _) => {
                let stray = format!("{} {path}", incoming.method);
                self.seen.add(|record| record.strays.push(stray));
                plain(no_such_path())
            }
            (Some((_, Served::Count)), body) => {
                let tokens = body.map_or(0, |body| tokens(&body.to_string()));
                plain(Answer::json(200, &json!({ "input_tokens": tokens })))
            }
            (Some((_, Served::Model(api))), Ok(body)) => {
                self.answer_model(Request::parse(*api, path, &incoming.headers, body))
            }
            (Some((_, Served::Model(api))), Err(error)) => {
                plain(fail(*api, 400, &format!("the request is not JSON: {error}")))
            }
        }
    }

    fn answer_model(&self, request: Request) -> (Answer, Manner) {
        // The script is asked in the order in which requests are noted.
        let mut play = self.play();
        let sent = Sent { at: Instant::now(), request: request.clone() };
        self.seen.add(|record| record.sent.push(sent));
        let usage = play.script.default_usage();
        if request.tools.is_empty() {
            self.seen.add(|record| record.aside += 1);
            return plain(render(&request, &Marks { label: "aside", usage }, &Speech::Text(ASIDE)));
        }
        if request.text().contains(SECOND_LOOK) {
            self.seen.add(|record| record.aside += 1);
            let call = Call { tool: STRUCTURED.to_owned(), input: json!({ "unmet": [] }) };
            let is_tool = request.tools.iter().any(|tool| tool == STRUCTURED);
            let speech = if is_tool {
                Speech::Calls(std::slice::from_ref(&call))
            } else {
                Speech::Text(NOTHING_UNMET)
            };
            return plain(render(&request, &Marks { label: "second_look", usage }, &speech));
        }
        // A conversation may be taken up again with another server, and one server may have several conversations:
        // only both numbers together are unique in each.
        let label = format!("{}_{}", request.entries.len(), self.seen.lock().requests.len());
        self.seen.add(|record| record.requests.push(request.clone()));
        let (turn, mut manner) = play.turn(&request).apart();
        drop(play);
        let marks = Marks { label: &label, usage: manner.usage.or(usage) };
        let speak = |speech: &Speech<'_>| render(&request, &marks, speech);
        let answer = match turn {
            Turn::Say(text) => speak(&Speech::Text(&text)),
            Turn::Call { tool, input } => speak(&Speech::Calls(&[Call { tool, input }])),
            Turn::Calls(calls) => speak(&Speech::Calls(&calls)),
            Turn::Fail { status, message } => fail(request.api, status, &message),
            Turn::Limit { resets_at, retry_after } => limit(request.api, resets_at, retry_after),
            // No turn is left with a manner of its own here.
            Turn::Silence | Turn::With { .. } => {
                manner.held = Some((Place::After(0), Gate::new()));
                fail(request.api, 500, "the model is silent")
            }
        };
        (answer, manner)
    }

    fn play(&self) -> MutexGuard<'_, Play> {
        // A panic of the script is caught and kept, so it spoils nothing.
        self.play.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Play {
    /// Takes the next turn. A script that panics once is not asked again.
    fn turn(&mut self, request: &Request) -> Turn {
        if self.panic.is_none() {
            match catch_unwind(AssertUnwindSafe(|| self.script.next(request))) {
                Ok(turn) => return turn,
                Err(panic) => self.panic = Some(panic),
            }
        }
        // Clients do not try again after this status, so the test ends soon.
        Turn::Fail { status: 400, message: "the script failed".to_owned() }
    }
}

fn plain(answer: Answer) -> (Answer, Manner) {
    (answer, Manner::default())
}
