//! Requests to a forge or a CI server, by the machine's HTTP client.

use std::{fmt, time::Duration};

use adapters::{
    clock::Clock,
    http::{self, Client, ClientError, HeaderMap, HeaderName, HeaderValue, HttpError},
    secrets::redacted,
};
use engine::Time;
use forge::http::{Method, Net, Request, Response, SendError, Target};

use super::Token;

/// How long an answer may take. A list of a hundred issues takes a second or two; a log of some megabytes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// The way to one server. The token goes to its API and nowhere else.
pub struct ForgeNet {
    base: String,
    client: Client,
    token: Option<Token>,
    clock: Clock,
}

impl ForgeNet {
    /// Prepares requests to addresses that begin with `base`.
    pub fn new(base: &str, token: Option<Token>, clock: Clock) -> Result<Self, ClientError> {
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self { client: Client::new(base.clone())?, base, token, clock })
    }

    fn headers(&self, request: &Request) -> Result<HeaderMap, SendError> {
        let bad = |name: &str| SendError::NotSent(format!("the header `{name}` cannot be sent"));
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let value = HeaderValue::from_str(value).map_err(|_| bad(name))?;
            headers.insert(HeaderName::from_static(name), value);
        }
        headers.insert(HeaderName::from_static("user-agent"), HeaderValue::from_static("warp"));
        if let (Target::Api(_), Some(token)) = (&request.target, &self.token) {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.reveal()));
            let mut value = value.map_err(|_| bad("authorization"))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static("authorization"), value);
        }
        Ok(headers)
    }
}

impl Net for ForgeNet {
    fn send(&self, request: &Request) -> Result<Response, SendError> {
        let headers = self.headers(request)?;
        let method = match request.method {
            Method::Get => http::Method::GET,
            Method::Post => http::Method::POST,
            Method::Put => http::Method::PUT,
            Method::Patch => http::Method::PATCH,
            Method::Delete => http::Method::DELETE,
        };
        let body = request.body.clone().unwrap_or_default().into();
        let whole = |path: &str| http::Request {
            method: method.clone(),
            path: path.to_owned(),
            headers: headers.clone(),
            body,
            deadline: PATIENCE,
            largest: request.largest,
        };
        let answered = match &request.target {
            Target::Api(path) => self.client.send(whole(path)),
            Target::Elsewhere(address) => {
                let is_safe = address.starts_with("https://") || self.base.starts_with("http://");
                if !is_safe {
                    return Err(SendError::NotSent("the server names an address without TLS".to_owned()));
                }
                let other =
                    Client::new(address.as_str()).map_err(|error| SendError::NotSent(error.to_string()))?;
                other.send(whole(""))
            }
        };
        let answered = answered.map_err(failed)?;
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        Ok(Response {
            status: answered.status.as_u16(),
            headers: answered.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: answered.body.to_vec(),
        })
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn redact(&self, text: String) -> String {
        redacted(text)
    }
}

impl fmt::Debug for ForgeNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForgeNet").field("base", &self.base).finish_non_exhaustive()
    }
}

fn failed(error: HttpError) -> SendError {
    let why = format!("the forge: {error}");
    match error {
        HttpError::BadAddress | HttpError::NoConnection => SendError::NotSent(why),
        HttpError::Broken | HttpError::CutOff | HttpError::TooLarge(_) | HttpError::TimedOut => {
            SendError::NoAnswer(why)
        }
    }
}
