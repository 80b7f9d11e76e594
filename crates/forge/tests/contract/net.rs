//! Requests to doubles, by the machine's HTTP client.

use std::time::Duration;

use adapters::{
    http::{self, Client, HeaderMap, HeaderName, HeaderValue, HttpError},
    machine,
};
use engine::Time;
use forge::http::{Method, Net, Request, Response, SendError, Target};

/// Longer than any answer takes, and short enough that a test of lost answers ends.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Web {
    base: String,
    client: Client,
    token: String,
    patience: Duration,
}

impl Web {
    pub(crate) fn new(base: &str, token: &str) -> Self {
        let (base, token) = (base.to_owned(), token.to_owned());
        Self { client: Client::new(base.clone()).unwrap(), base, token, patience: PATIENCE }
    }

    /// The same, which gives an answer only so long.
    pub(crate) fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    fn ask(
        &self,
        client: &Client,
        path: &str,
        with_token: bool,
        request: &Request,
    ) -> Result<Response, HttpError> {
        let method = match request.method {
            Method::Get => http::Method::GET,
            Method::Post => http::Method::POST,
            Method::Put => http::Method::PUT,
            Method::Patch => http::Method::PATCH,
            Method::Delete => http::Method::DELETE,
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        headers.insert(HeaderName::from_static("user-agent"), HeaderValue::from_static("warp"));
        if with_token {
            let value = HeaderValue::from_str(&format!("Bearer {}", self.token)).unwrap();
            headers.insert(HeaderName::from_static("authorization"), value);
        }
        let body = request.body.clone().unwrap_or_default().into();
        let (path, deadline, largest) = (path.to_owned(), self.patience, request.largest);
        let answered = client.send(http::Request { method, path, headers, body, deadline, largest })?;
        let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
        Ok(Response {
            status: answered.status.as_u16(),
            headers: answered.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: answered.body.to_vec(),
        })
    }
}

impl Net for Web {
    fn send(&self, request: &Request) -> Result<Response, SendError> {
        let answered = match &request.target {
            Target::Api(path) => self.ask(&self.client, path, true, request),
            Target::Elsewhere(address) => {
                assert!(
                    address.starts_with("http://127.0.0.1") || !self.base.contains("127.0.0.1"),
                    "{address}"
                );
                self.ask(&Client::new(address.as_str()).unwrap(), "", false, request)
            }
        };
        answered.map_err(|error| match error {
            HttpError::BadAddress | HttpError::NoConnection => SendError::NotSent(error.to_string()),
            HttpError::Broken | HttpError::CutOff | HttpError::TooLarge(_) | HttpError::TimedOut => {
                SendError::NoAnswer(error.to_string())
            }
        })
    }

    fn now(&self) -> Time {
        machine::now()
    }
}
