//! Telegram's bot API over HTTP. The token is a part of every address, so no error here shows one.

use std::time::Duration;

use adapters::http::{Client, ClientError, HttpError, Method as Verb, Request, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::types::{GetUpdates, Method, Refusal};
use crate::Wake;

/// How long an answer may take; one to a wait for messages takes as much longer as is waited.
const ANSWERING: Duration = Duration::from_secs(30);
/// The largest answer that is read, in bytes: a hundred updates of the largest kind.
const LARGEST: usize = 8 * 1024 * 1024;

/// A bot's side of the API.
pub(super) struct Api {
    client: Client,
    wake: Wake,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("Telegram says: {words} ({code})")]
    Refused { code: u64, words: String, wait: Option<Duration> },
    #[error("Telegram cannot be reached: {0}")]
    Network(String),
    #[error("Telegram's answer cannot be read: {0}")]
    Answer(String),
    #[error("the request cannot be written: {0}")]
    Request(String),
    #[error("the wait was ended")]
    Woken,
}

impl Api {
    pub(super) fn new(address: &str, token: &str, wake: Wake) -> Result<Self, ClientError> {
        Ok(Self { client: Client::new(format!("{address}/bot{token}"))?, wake })
    }

    /// Asks for something, and returns what came of it.
    pub(super) fn ask<M: Method>(&self, method: &M) -> Result<M::Result, CallError> {
        answered(self.client.send(request(method, ANSWERING)?))
    }

    /// Waits for updates, until it is woken.
    pub(super) fn updates(&self, method: &GetUpdates, patience: Duration) -> Result<Vec<Value>, CallError> {
        let request = request(method, ANSWERING + patience)?;
        self.client.send_unless(request, self.wake.notified()).map_or(Err(CallError::Woken), answered)
    }
}

fn request<M: Method>(method: &M, deadline: Duration) -> Result<Request, CallError> {
    let request = Request::new(Verb::POST, format!("/{}", M::NAME), deadline, LARGEST);
    request.json(method).map_err(|error| CallError::Request(error.to_string()))
}

fn answered<T: DeserializeOwned>(answer: Result<Response, HttpError>) -> Result<T, CallError> {
    match answer {
        Ok(response) => read(&response.body),
        Err(error @ HttpError::BadAddress) => Err(CallError::Request(error.to_string())),
        Err(error) => Err(CallError::Network(error.to_string())),
    }
}

/// Reads an answer: a result, or why there is none.
fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, CallError> {
    let bad = |error: serde_json::Error| CallError::Answer(error.to_string());
    let mut value: Value = serde_json::from_slice(body).map_err(bad)?;
    if value.get("ok") == Some(&Value::Bool(true)) {
        let result = value.get_mut("result").map(Value::take).unwrap_or_default();
        return serde_json::from_value(result).map_err(bad);
    }
    let Refusal { error_code, description, parameters } = serde_json::from_value(value).map_err(bad)?;
    let wait = parameters.and_then(|parameters| parameters.retry_after).map(Duration::from_secs);
    Err(CallError::Refused { code: error_code, words: description, wait })
}
