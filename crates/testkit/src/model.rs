//! A model that says what a test wants, for real clients that do not know the difference.
//!
//! [`Model::start`] listens on loopback and answers Anthropic's Messages API and OpenAI's Responses API from a
//! [`Script`]: a list of turns, or a function of the conversation so far. Everything that a client tells the model is
//! kept as [`Request`]s, so that a test can say what must have reached it: the result of a tool, the reason of a hook
//! that denied one, the context that a session began with.
//!
//! A request that offers no tools is a side request (a title, a summary): it gets a short fixed answer and the script
//! does not move. A subagent's requests do offer tools and take turns from the same script, at a time that cannot be
//! foreseen: with subagents, use a function and [`Request::is_subagent`].

mod anthropic;
mod conversation;
mod openai;
mod script;

use std::{
    any::Any,
    fmt, io,
    net::SocketAddr,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};
use tiny_http::{Header, Method, Response, Server};

pub use conversation::{Api, Entry, Part, Request, Role};
pub use script::{Call, Script, Turn};

/// What side requests are answered with.
const ASIDE: &str = "noted";
/// How long the end of the server's thread is waited for; it only ever waits for requests and for the script.
const PATIENCE: Duration = Duration::from_secs(5);

/// A scripted model server; ends when it is dropped.
pub struct Model {
    server: Arc<Server>,
    address: SocketAddr,
    seen: Arc<Seen>,
    thread: Option<JoinHandle<Option<Panic>>>,
    ended: Receiver<()>,
}

type Panic = Box<dyn Any + Send>;

#[derive(Default)]
struct Seen {
    record: Mutex<Record>,
    changed: Condvar,
}

#[derive(Default)]
struct Record {
    requests: Vec<Request>,
    aside: usize,
    strays: Vec<String>,
}

impl Model {
    /// Listens on a free port of loopback and plays `script`: a list of turns or a [`Script`].
    pub fn start(script: impl Into<Script>) -> Self {
        let server = Arc::new(Server::http("127.0.0.1:0").expect("loopback has a free port"));
        let address = server.server_addr().to_ip().expect("the server listens on TCP");
        let seen = Arc::new(Seen::default());
        let (end, ended) = channel();
        let player = Player {
            server: Arc::clone(&server),
            seen: Arc::clone(&seen),
            script: script.into(),
            panic: None,
        };
        let thread = thread::Builder::new()
            .name("model".to_owned())
            .spawn(move || {
                let panic = player.serve();
                // Nobody listens any more when the owner has lost its patience.
                let _ = end.send(());
                panic
            })
            .expect("a thread can be started");
        Self { server, address, seen, thread: Some(thread), ended }
    }

    /// Returns the base address, without a path: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every request of the main conversation, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.seen.lock().requests.clone()
    }

    /// Returns the last tool result that the model was told.
    pub fn last_tool_result(&self) -> Option<String> {
        self.seen.lock().requests.last()?.last_tool_result().map(ToOwned::to_owned)
    }

    /// Returns every text that the model was told, whoever it came from, a line each; a conversation is resent with
    /// each request and is here as often.
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.seen.lock().requests.iter().map(Request::text).collect();
        texts.join("\n")
    }

    /// Returns how many requests had no tools and were answered without the script.
    pub fn side_requests(&self) -> usize {
        self.seen.lock().aside
    }

    /// Returns the requests that no model serves, as `METHOD PATH`; they were answered with 404.
    pub fn strays(&self) -> Vec<String> {
        self.seen.lock().strays.clone()
    }

    /// Waits until the main conversation has `count` requests; says whether it came to that in time.
    ///
    /// A request is counted before it is answered.
    #[must_use = "a test must not go on as if the client had asked"]
    pub fn wait_for_requests(&self, count: usize, patience: Duration) -> bool {
        let record = self.seen.lock();
        let waited =
            self.seen.changed.wait_timeout_while(record, patience, |record| record.requests.len() < count);
        let (record, _) = waited.unwrap_or_else(PoisonError::into_inner);
        record.requests.len() >= count
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Model").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Model {
    /// Ends the server. A panic of the script, such as a failed assertion, becomes the test's.
    fn drop(&mut self) {
        self.server.unblock();
        if self.ended.recv_timeout(PATIENCE).is_err() {
            return;
        }
        let panic = self.thread.take().and_then(|thread| thread.join().unwrap_or_else(Some));
        if let Some(panic) = panic
            && !thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, Record> {
        // The record is whole after each push, so a panic elsewhere does not spoil it.
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, change: impl FnOnce(&mut Record)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

/// The server's side of the conversation, in its own thread.
struct Player {
    server: Arc<Server>,
    seen: Arc<Seen>,
    script: Script,
    panic: Option<Panic>,
}

/// An answer before it is put on the wire.
struct Answer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl Answer {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, kind: "application/json", body: body.to_string() }
    }

    fn events(body: String) -> Self {
        Self { status: 200, kind: "text/event-stream", body }
    }
}

impl Player {
    fn serve(mut self) -> Option<Panic> {
        // Requests that get no answer stay open until the server ends.
        let mut held = Vec::new();
        while let Ok(mut request) = self.server.recv() {
            match self.answer(&mut request) {
                // A client that has gone away needs no answer.
                Some(answer) => drop(send(request, answer)),
                None => held.push(request),
            }
        }
        self.panic
    }

    fn answer(&mut self, http: &mut tiny_http::Request) -> Option<Answer> {
        let path = http.url().split('?').next().unwrap_or_default().to_owned();
        let post = *http.method() == Method::Post;
        let api = match path.as_str() {
            "/v1/messages" if post => Api::Anthropic,
            "/v1/messages/count_tokens" if post => {
                let tokens = read(http).map_or(0, |body| tokens(&body.to_string()));
                return Some(Answer::json(200, &json!({ "input_tokens": tokens })));
            }
            "/v1/responses" if post => Api::OpenAi,
            _ => {
                let stray = format!("{} {path}", http.method());
                self.seen.add(|record| record.strays.push(stray));
                return Some(Answer::json(404, &json!({ "error": { "message": "no such path" } })));
            }
        };
        match read(http) {
            Ok(body) => self.answer_model(api, body),
            Err(error) => Some(fail(api, 400, &format!("the request is not JSON: {error}"))),
        }
    }

    fn answer_model(&mut self, api: Api, body: Value) -> Option<Answer> {
        let request = Request::parse(api, body);
        if request.tools.is_empty() {
            self.seen.add(|record| record.aside += 1);
            return Some(render(&request, "aside", &Speech::Text(ASIDE)));
        }
        // A conversation may be taken up again with another server, and one server may have several conversations:
        // only both numbers together are unique in each.
        let label = format!("{}_{}", request.entries.len(), self.seen.lock().requests.len());
        self.seen.add(|record| record.requests.push(request.clone()));
        match self.turn(&request) {
            Turn::Say(text) => Some(render(&request, &label, &Speech::Text(&text))),
            Turn::Call { tool, input } => {
                Some(render(&request, &label, &Speech::Calls(&[Call { tool, input }])))
            }
            Turn::Calls(calls) => Some(render(&request, &label, &Speech::Calls(&calls))),
            Turn::Fail { status, message } => Some(fail(api, status, &message)),
            Turn::Silence => None,
        }
    }

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

/// What a successful turn consists of.
enum Speech<'a> {
    Text(&'a str),
    Calls(&'a [Call]),
}

/// Renders a turn in the client's language; `label` makes its identifiers unique.
fn render(request: &Request, label: &str, speech: &Speech<'_>) -> Answer {
    match request.api {
        Api::Anthropic => anthropic::render(request, label, speech),
        Api::OpenAi => openai::render(request, label, speech),
    }
}

fn fail(api: Api, status: u16, message: &str) -> Answer {
    match api {
        Api::Anthropic => anthropic::fail(status, message),
        Api::OpenAi => openai::fail(status, message),
    }
}

fn read(http: &mut tiny_http::Request) -> io::Result<Value> {
    let mut body = Vec::new();
    http.as_reader().read_to_end(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

fn send(http: tiny_http::Request, answer: Answer) -> io::Result<()> {
    let kind = Header::from_bytes("content-type", answer.kind).expect("a content type is a header");
    http.respond(Response::from_string(answer.body).with_status_code(answer.status).with_header(kind))
}

/// Estimates how many tokens a text has; four characters each is near enough to be plausible.
fn tokens(text: &str) -> usize {
    text.len() / 4 + 1
}

/// Renders one event of a stream.
fn event(kind: &str, mut data: Value) -> String {
    data["type"] = kind.into();
    format!("event: {kind}\ndata: {data}\n\n")
}
