//! A model that says what a test wants, for real clients that do not know the difference.
//!
//! [`Model::start`] listens on loopback and answers Anthropic's Messages API, OpenAI's Responses API and OpenAI's Chat
//! Completions API from a [`Script`]: a list of turns, or a function of the conversation so far. Everything that a
//! client tells the model is kept as [`Request`]s, so that a test can say what must have reached it: the result of a
//! tool, the reason of a hook that denied one, the context that a session began with.
//!
//! A request that offers no tools is a side request (a title, a summary): it gets a short fixed answer and the script
//! does not move. A subagent's requests do offer tools and take turns from the same script, at a time that cannot be
//! foreseen: with subagents, use a function and [`Request::is_subagent`].
//!
//! A turn says what it has used ([`Turn::usage`]), and how it comes: whole, or cut off ([`Turn::cut_after`]), held
//! until the test lets it go ([`Turn::held_after`]), or with pauses ([`Turn::slowly`]). Every connection has a thread of
//! its own, so one answer never waits for another; only the script is asked by one at a time.

mod answer;
mod anthropic;
mod chat;
mod conversation;
mod gate;
pub(crate) mod http;
mod openai;
mod play;
mod script;
mod server;

use std::{
    fmt,
    panic::resume_unwind,
    sync::{Arc, PoisonError},
    thread,
    time::Duration,
};

pub use conversation::{Api, Entry, Part, Request, Role, Sent};
pub use gate::Gate;
pub use script::{Call, Manner, Place, Script, Turn, Usage};

use play::{Player, Seen};
use server::Server;

/// A scripted model server; ends when it is dropped.
pub struct Model {
    server: Server,
    player: Arc<Player>,
}

impl Model {
    /// Listens on a free port of loopback and plays `script`: a list of turns or a [`Script`].
    pub fn start(script: impl Into<Script>) -> Self {
        let player = Arc::new(Player::new(script.into()));
        let server = Server::start(Arc::clone(&player));
        Self { server, player }
    }

    /// Returns the base address, without a path: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Returns every request of the main conversation, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.seen().lock().requests.clone()
    }

    /// Returns every request that a model was asked, in order: those of the main conversation and side requests.
    pub fn sent(&self) -> Vec<Sent> {
        self.seen().lock().sent.clone()
    }

    /// Returns the last tool result that the model was told.
    pub fn last_tool_result(&self) -> Option<String> {
        self.seen().lock().requests.last()?.last_tool_result().map(ToOwned::to_owned)
    }

    /// Returns every text that the model was told, whoever it came from, a line each; a conversation is resent with
    /// each request and is here as often.
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.seen().lock().requests.iter().map(Request::text).collect();
        texts.join("\n")
    }

    /// Returns how many requests were answered without the script: those without tools, and second looks at an issue.
    pub fn side_requests(&self) -> usize {
        self.seen().lock().aside
    }

    /// Returns the requests that no model serves, as `METHOD PATH`; they were answered with 404.
    pub fn strays(&self) -> Vec<String> {
        self.seen().lock().strays.clone()
    }

    /// Waits until the main conversation has `count` requests; says whether it came to that in time.
    ///
    /// A request is counted before it is answered.
    #[must_use = "a test must not go on as if the client had asked"]
    pub fn wait_for_requests(&self, count: usize, patience: Duration) -> bool {
        let record = self.seen().lock();
        let waited =
            self.seen().changed.wait_timeout_while(record, patience, |record| record.requests.len() < count);
        let (record, _) = waited.unwrap_or_else(PoisonError::into_inner);
        record.requests.len() >= count
    }

    fn seen(&self) -> &Seen {
        &self.player.seen
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Model").field("address", &self.server.address()).finish_non_exhaustive()
    }
}

impl Drop for Model {
    /// Ends the server. A panic of the script, such as a failed assertion, becomes the test's.
    fn drop(&mut self) {
        if self.server.end()
            && let Some(panic) = self.player.take_panic()
            && !thread::panicking()
        {
            resume_unwind(panic);
        }
    }
}
