//! Telegram's bot API over HTTP. The token is a part of every address, so no error here shows one.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{Request, header::CONTENT_TYPE};
use hyper_rustls::HttpsConnector;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use meter::Way;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::types::{GetUpdates, Method, Refusal};
use crate::Wake;

/// How long an answer may take; one to a wait for messages takes as much longer as is waited.
const ANSWERING: Duration = Duration::from_secs(30);
/// The largest answer that is read, in bytes: a hundred updates of the largest kind.
const LARGEST: usize = 8 * 1024 * 1024;

/// A bot's side of the API.
pub(super) struct Api {
    base: String,
    client: Client<HttpsConnector<Way>, Full<Bytes>>,
    runtime: Runtime,
    wake: Wake,
}

/// Why nothing can be said at all.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("no connection can be made")]
    Runtime(#[from] std::io::Error),
    #[error(transparent)]
    Way(#[from] meter::WayError),
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
    pub(super) fn new(address: &str, token: &str, wake: Wake) -> Result<Self, StartError> {
        let connector = meter::connector(address.starts_with("https:"))?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { base: format!("{address}/bot{token}"), client, runtime, wake })
    }

    /// Asks for something, and returns what came of it.
    pub(super) fn ask<M: Method>(&self, method: &M) -> Result<M::Result, CallError> {
        self.runtime.block_on(self.call(method, ANSWERING))
    }

    /// Waits for updates, until it is woken.
    pub(super) fn updates(&self, method: &GetUpdates, patience: Duration) -> Result<Vec<Value>, CallError> {
        self.runtime.block_on(async {
            tokio::select! {
                answered = self.call(method, ANSWERING + patience) => answered,
                () = self.wake.notified() => Err(CallError::Woken),
            }
        })
    }

    async fn call<M: Method>(&self, method: &M, patience: Duration) -> Result<M::Result, CallError> {
        let body = serde_json::to_vec(method).map_err(|error| CallError::Request(error.to_string()))?;
        let request = Request::post(format!("{}/{}", self.base, M::NAME))
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body)))
            // What hyper has to say would show the address.
            .map_err(|_| CallError::Request(format!("`{}` has no valid address", M::NAME)))?;
        let answer = async {
            let response = self.client.request(request).await.map_err(|error| {
                let kind = if error.is_connect() { "no connection" } else { "the connection broke" };
                CallError::Network(kind.to_owned())
            })?;
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            let body = body.map_err(|_| CallError::Network("the answer was cut off".to_owned()))?;
            Ok::<_, CallError>(body.to_bytes())
        };
        match tokio::time::timeout(patience, answer).await {
            Ok(answer) => read(&answer?),
            Err(_) => Err(CallError::Network("no answer in time".to_owned())),
        }
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
