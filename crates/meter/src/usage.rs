//! What a request uses, read from a copy of its answer while that flows.
//!
//! The three APIs have the same shape: one JSON object, or a stream of events that are such objects. Their fields differ in
//! name only, so all of them are looked for in all. What is not there or cannot be read is estimated from the text.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Api, Tokens, length::TextLength, sse::Events};

/// The longest answer in one piece that is read, in bytes.
const LONGEST: usize = 32 * 1024 * 1024;
/// How much is kept of what a provider says when it fails, in characters.
const LONGEST_WORDS: usize = 300;

/// Parses the usage of one request from its streamed answer. It never fails.
#[derive(Debug)]
pub struct UsageReader {
    api: Api,
    /// What is booked as input until the answer says what it was.
    estimate: Tokens,
    form: Form,
    /// What the answer has said, the latest of each.
    known: Option<Tokens>,
    /// The length of the text that was written so far.
    written: TextLength,
    /// Whether `known` holds what the model has read.
    has_input: bool,
    /// Whether `known` holds what the model has written, as its last word.
    is_exact: bool,
    is_over: bool,
    trouble: Option<Trouble>,
}

/// What an answer turned out to be, by its first byte.
#[derive(Debug)]
enum Form {
    Unknown,
    Events(Events),
    Whole(Vec<u8>),
    /// One piece that is too long.
    Endless,
}

/// A failure that an answer speaks of, although it began well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// The provider's name for it.
    pub(crate) kind: String,
    pub(crate) words: String,
}

impl UsageReader {
    /// Creates a reader; `estimate` is the lower bound of the request.
    pub fn new(api: Api, estimate: Tokens) -> Self {
        Self {
            api,
            estimate,
            form: Form::Unknown,
            known: None,
            written: TextLength::default(),
            has_input: false,
            is_exact: false,
            is_over: false,
            trouble: None,
        }
    }

    /// Feeds the next chunk of the answer.
    pub fn read(&mut self, piece: &[u8]) {
        if !matches!(self.form, Form::Unknown) {
            return self.take(piece);
        }
        let piece = piece.trim_ascii_start();
        self.form = match piece.first() {
            Some(b'{') => Form::Whole(Vec::new()),
            Some(_) => Form::Events(Events::default()),
            None => Form::Unknown,
        };
        self.take(piece);
    }

    /// Marks the end of the answer.
    pub fn finish(&mut self) {
        match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Events(mut events) => events.finish(|data| self.event(data)),
            Form::Whole(text) => self.whole(&text),
            Form::Unknown | Form::Endless => {}
        }
        self.is_over = true;
    }

    /// Returns the usage so far, estimated where it is not reported.
    pub fn tokens(&self) -> Tokens {
        let written = self.written.tokens();
        match self.known {
            Some(known) if self.is_exact => known,
            Some(known) => Tokens { output: known.output.max(written), ..known },
            // What fails before a word is said is not charged.
            None if self.trouble.is_some() && written == 0 => Tokens::default(),
            None => Tokens { output: written, ..self.estimate },
        }
    }

    /// Returns the reported usage of a complete answer, or `None`.
    ///
    /// An answer that fails before a word is said uses nothing that it does not tell.
    pub fn told(&self) -> Option<Tokens> {
        let is_told = self.has_input && self.is_exact;
        let is_failed = self.trouble.is_some() && self.written.tokens() == 0;
        (self.is_over && (is_told || is_failed)).then(|| self.tokens())
    }

    /// Returns the upper bound of the usage, at most `bound`.
    pub fn at_most(&self, bound: Tokens) -> Tokens {
        let so_far = self.tokens();
        let input = if self.has_input { so_far } else { Tokens { output: 0, ..bound } };
        let output = if self.is_over && self.is_exact { 0 } else { bound.output };
        Tokens { output: output.max(so_far.output), ..input }
    }

    /// Returns whether the usage is complete.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the failure that the answer has spoken of since this was last asked.
    pub(crate) fn take_trouble(&mut self) -> Option<Trouble> {
        // It has to be remembered that there was one.
        let trouble = self.trouble.as_mut().filter(|trouble| !trouble.words.is_empty())?;
        Some(Trouble { kind: trouble.kind.clone(), words: std::mem::take(&mut trouble.words) })
    }

    fn take(&mut self, piece: &[u8]) {
        // The form is taken out for as long as what is found in it changes the rest.
        let form = match std::mem::replace(&mut self.form, Form::Unknown) {
            Form::Unknown => Form::Unknown,
            Form::Events(mut events) => {
                events.read(piece, |data| self.event(data));
                Form::Events(events)
            }
            Form::Whole(mut text) => {
                self.written.0 = self.written.0.saturating_add(piece.len() as u64);
                text.extend_from_slice(piece);
                if text.len() <= LONGEST { Form::Whole(text) } else { Form::Endless }
            }
            Form::Endless => {
                self.written.0 = self.written.0.saturating_add(piece.len() as u64);
                Form::Endless
            }
        };
        self.form = form;
    }

    fn whole(&mut self, text: &[u8]) {
        match serde_json::from_slice::<Object>(text) {
            Ok(object) if object.usage.is_some() => {
                self.know_all(object.usage);
            }
            Ok(object) => {
                let parts = [object.content, object.output, object.choices];
                self.written = TextLength(parts.into_iter().flatten().map(|part| part.0).sum());
                self.note(object.error);
            }
            Err(_) => {}
        }
    }

    fn event(&mut self, data: &[u8]) {
        if data == b"[DONE]" {
            self.is_over = true;
            return;
        }
        let Ok(object) = serde_json::from_slice::<Object>(data) else { return };
        for part in [object.delta, object.choices].into_iter().flatten() {
            self.written.0 = self.written.0.saturating_add(part.0);
        }
        let kind = object.kind.as_deref().unwrap_or_default();
        match kind {
            "message_start" => self.know(object.message.and_then(Message::usage)),
            "message_delta" => self.know_all(object.usage),
            "message_stop" => self.is_over = true,
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = object.response.unwrap_or_default();
                self.know_all(response.usage);
                self.note(response.error);
                self.is_over = true;
            }
            "error" => {
                let words = object.message.and_then(Message::words);
                let told = json!({ "code": object.code, "message": words });
                self.note(Some(object.error.unwrap_or(told)));
                self.is_over = true;
            }
            _ if self.api == Api::Chat => {
                self.know_all(object.usage);
                self.note(object.error);
            }
            _ => {}
        }
    }

    fn know_all(&mut self, usage: Option<Usage>) {
        self.is_exact |= usage.as_ref().is_some_and(|usage| usage.output_tokens.is_some());
        self.know(usage);
    }

    /// Takes what the answer says: counts only grow, and one that is left out stays.
    fn know(&mut self, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        self.has_input |= usage.input_tokens.is_some();
        let told = usage.tokens();
        let known = self.known.unwrap_or_default();
        self.known = Some(Tokens {
            input: known.input.max(told.input),
            output: known.output.max(told.output),
            cache_read: known.cache_read.max(told.cache_read),
            cache_write: known.cache_write.max(told.cache_write),
        });
    }

    fn note(&mut self, failure: Option<Value>) {
        let Some(failure) = failure else { return };
        let field = |name: &str| failure[name].as_str().unwrap_or_default();
        let kind = format!("{} {}", field("code"), field("type")).trim().to_owned();
        let words = [failure.as_str().unwrap_or_default(), field("message"), &kind, "no reason is given"];
        let words = words.into_iter().find(|words| !words.is_empty()).unwrap_or_default();
        let words = words.chars().take(LONGEST_WORDS).collect();
        self.trouble = Some(Trouble { kind, words });
    }
}

/// An answer or an event, as far as it is looked at.
#[derive(Debug, Deserialize)]
struct Object {
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<Message>,
    response: Option<Response>,
    usage: Option<Usage>,
    delta: Option<TextLength>,
    choices: Option<TextLength>,
    content: Option<TextLength>,
    output: Option<TextLength>,
    error: Option<Value>,
    code: Option<Value>,
}

/// Messages begin with an object; an error of Responses says a text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Message {
    Begun { usage: Option<Usage> },
    Words(String),
}

#[derive(Debug, Default, Deserialize)]
struct Response {
    usage: Option<Usage>,
    error: Option<Value>,
}

/// Usage in the words of all three APIs.
#[derive(Debug, Default, Deserialize)]
struct Usage {
    #[serde(alias = "prompt_tokens")]
    input_tokens: Option<u64>,
    #[serde(alias = "completion_tokens")]
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    #[serde(alias = "prompt_tokens_details")]
    input_tokens_details: Option<Details>,
}

#[derive(Debug, Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

impl Message {
    fn usage(self) -> Option<Usage> {
        match self {
            Self::Begun { usage } => usage,
            Self::Words(_) => None,
        }
    }

    fn words(self) -> Option<String> {
        match self {
            Self::Begun { .. } => None,
            Self::Words(words) => Some(words),
        }
    }
}

impl Usage {
    fn tokens(self) -> Tokens {
        let input = self.input_tokens.unwrap_or_default();
        // OpenAI counts what it has read from its cache as input too.
        let cached = self.input_tokens_details.and_then(|details| details.cached_tokens).unwrap_or_default();
        Tokens {
            input: input.saturating_sub(cached),
            output: self.output_tokens.unwrap_or_default(),
            cache_read: self.cache_read_input_tokens.unwrap_or_default().max(cached.min(input)),
            cache_write: self.cache_creation_input_tokens.unwrap_or_default(),
        }
    }
}
