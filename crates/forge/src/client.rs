//! A server's API: JSON out and in, every page, what has not changed, and what the server allows.
//!
//! Invariants:
//! - Nothing is repeated here. [`Failure`] says whether a write may have happened; who made it looks for its marker.
//! - While the server wants to be left alone, no request leaves.
//! - The next page is asked for under the path that was asked first, whatever address the server names for it.

mod etags;

use std::sync::{Mutex, MutexGuard, PoisonError};

use engine::Time;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    ForgeError, Refusal,
    http::{Method, Request, Response, SendError, SharedNet, Target},
};
use etags::Etags;

/// The largest answer that is read. A page of a hundred issues with texts of 64 kB has 6 MB.
const LARGEST: usize = 32 * 1024 * 1024;
/// The largest log that is read; a longer one is refused by the transport.
pub(crate) const LARGEST_LOG: usize = 64 * 1024 * 1024;
/// How many pages a list may have: a hundred thousand items.
const MOST_PAGES: usize = 2000;
/// How long a server that refuses without saying for how long is left alone, in milliseconds: what GitHub asks for.
const BACK_OFF: i64 = 60_000;
/// The longest piece of a server's own words that is shown.
const LONGEST_MESSAGE: usize = 500;

/// What a server still allows, and what it was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Requests that are allowed in a window, if the server has said so.
    pub limit: Option<u64>,
    /// What is left of them.
    pub remaining: Option<u64>,
    /// When the window ends.
    pub resets_at: Option<Time>,
    /// The requests that were sent.
    pub asked: u64,
    /// Those of them that the server answered with "unchanged", which GitHub does not count.
    pub unchanged: u64,
    /// Until when the server wants to be left alone.
    pub blocked_until: Option<Time>,
}

/// A client of one API.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) net: SharedNet,
    headers: Vec<(&'static str, String)>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    etags: Etags,
    budget: Budget,
}

/// Why a call has not done what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The server said no.
    Status { status: u16, message: String },
    /// It may be asked again at this time. Nothing has happened.
    Later { until: Option<Time>, why: String },
    /// The request did not leave.
    NotSent(String),
    /// Whether a write has happened is not known.
    Lost(String),
    /// The server failed, and whether a write has happened is not known. The cause may be the request itself.
    Broken(String),
    /// The answer cannot be read; a write has happened.
    Bad(String),
}

/// One page of an answer.
struct Page {
    body: Vec<u8>,
    link: Option<String>,
    total: Option<u64>,
}

impl Client {
    /// Creates a client that sends these headers with every request.
    pub(crate) fn new(net: SharedNet, headers: Vec<(&'static str, String)>) -> Self {
        Self { net, headers, state: Mutex::default() }
    }

    /// Returns what the server still allows.
    pub(crate) fn budget(&self) -> Budget {
        self.state().budget
    }

    /// Reads one object.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let page = self.page(path)?;
        parse(path, &page.body)
    }

    /// Reads one object; none if the server says that there is none.
    pub(crate) fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Failure> {
        match self.get(path) {
            Ok(found) => Ok(Some(found)),
            Err(failure) if failure.is_absent() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Reads every page of a list. What is `null` in it is left out.
    pub(crate) fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Failure> {
        self.list_in(path, |page: Vec<Option<T>>| page)
    }

    /// Reads every page of a list that is inside of an object.
    pub(crate) fn list_in<P: DeserializeOwned, T>(
        &self,
        path: &str,
        items: impl Fn(P) -> Vec<Option<T>>,
    ) -> Result<Vec<T>, Failure> {
        let (mut all, mut count, mut asked) = (Vec::new(), 0_u64, path.to_owned());
        for number in 2..MOST_PAGES + 2 {
            let page = self.page(&asked)?;
            let found = items(parse(path, &page.body)?);
            let is_empty = found.is_empty();
            count = count.saturating_add(found.len() as u64);
            all.extend(found.into_iter().flatten());
            let next = page.link.as_deref().and_then(next_query);
            asked = match (next, page.total) {
                (Some(query), _) => format!("{}?{query}", before_query(path)),
                (None, Some(total)) if count < total && !is_empty => with_page(path, number),
                (None, _) => return Ok(all),
            };
        }
        Err(Failure::Bad(format!("{} has more than {MOST_PAGES} pages", before_query(path))))
    }

    /// Returns how many there are of something, from a list's first page.
    pub(crate) fn count<T: DeserializeOwned>(&self, path: &str) -> Result<u64, Failure> {
        let page = self.page(path)?;
        if let Some(total) = page.total {
            return Ok(total);
        }
        let found: Vec<Option<T>> = parse(path, &page.body)?;
        Ok(page.link.as_deref().and_then(last_page).unwrap_or(found.len() as u64))
    }

    /// Writes, and reads the object that the server answers.
    pub(crate) fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let response = self.write_only(method, path, body)?;
        parse(path, &response.body)
    }

    /// Writes; whatever the server answers.
    pub(crate) fn write_only(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response, Failure> {
        let body = serde_json::to_vec(body).map_err(|error| Failure::NotSent(error.to_string()))?;
        let body = (body != b"null").then_some(body);
        self.ask(method, Target::Api(path.to_owned()), body, None)
    }

    /// Reads a text, such as a log, which may be somewhere else.
    pub(crate) fn text(&self, path: &str) -> Result<Option<String>, Failure> {
        let mut response = self.ask(Method::Get, Target::Api(path.to_owned()), None, None);
        if let Ok(moved) = &response
            && matches!(moved.status, 301 | 302 | 303 | 307 | 308)
        {
            let location = moved.header("location").filter(|to| to.starts_with("http"));
            let to = location.ok_or_else(|| Failure::Bad(format!("{path} leads nowhere")))?.to_owned();
            response = self.ask(Method::Get, Target::Elsewhere(to), None, None);
        }
        match response {
            Ok(response) => Ok(Some(String::from_utf8_lossy(&response.body).into_owned())),
            Err(failure) if failure.is_absent() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn page(&self, path: &str) -> Result<Page, Failure> {
        let known = self.state().etags.get(path);
        let etag = known.as_ref().map(|known| known.etag.clone());
        let response = self.ask(Method::Get, Target::Api(path.to_owned()), None, etag)?;
        if response.status == 304 {
            let known =
                known.ok_or_else(|| Failure::Bad(format!("{path} is unchanged, which nobody asked")))?;
            return Ok(Page { body: known.body, link: known.link, total: None });
        }
        if response.status >= 300 {
            let to = response.header("location").unwrap_or("an address that is not named");
            return Err(Failure::Bad(format!("{} has moved to {to}", before_query(path))));
        }
        let link = response.header("link").map(str::to_owned);
        let total = response.header("x-total-count").and_then(|value| value.parse().ok());
        if let Some(etag) = response.header("etag") {
            self.state().etags.put(path, etag, &response.body, link.clone());
        }
        Ok(Page { body: response.body, link, total })
    }

    fn ask(
        &self,
        method: Method,
        target: Target,
        body: Option<Vec<u8>>,
        etag: Option<String>,
    ) -> Result<Response, Failure> {
        let is_api = matches!(target, Target::Api(_));
        if is_api {
            self.check_block()?;
        }
        let mut headers = if is_api { self.headers.clone() } else { Vec::new() };
        headers.extend(etag.map(|etag| ("if-none-match", etag)));
        headers.extend(body.as_ref().map(|_| ("content-type", "application/json".to_owned())));
        let largest = if is_api { LARGEST } else { LARGEST_LOG };
        let what = format!("{method} {target}");
        let request = Request { method, target, headers, body, largest };
        self.state().budget.asked += 1;
        let response = self.net.send(&request).map_err(|error| match error {
            SendError::NotSent(why) => Failure::NotSent(why),
            SendError::NoAnswer(why) => Failure::Lost(why),
        })?;
        if is_api {
            self.note(&response);
        }
        self.judge(&what, method, response)
    }

    fn check_block(&self) -> Result<(), Failure> {
        let now = self.net.now();
        let mut state = self.state();
        match state.budget.blocked_until {
            Some(until) if until > now => {
                let why = "the forge allows no more requests for a while".to_owned();
                Err(Failure::Later { until: Some(until), why })
            }
            Some(_) => {
                state.budget.blocked_until = None;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Remembers what the server says about its limits.
    fn note(&self, response: &Response) {
        let number =
            |name: &str| -> Option<u64> { response.header(name).and_then(|value| value.trim().parse().ok()) };
        let mut state = self.state();
        if response.status == 304 {
            state.budget.unchanged += 1;
        }
        // Searches and the like have limits of their own.
        if response.header("x-ratelimit-resource").is_some_and(|of| of != "core") {
            return;
        }
        if let Some(limit) = number("x-ratelimit-limit") {
            state.budget.limit = Some(limit);
        }
        if let Some(remaining) = number("x-ratelimit-remaining") {
            state.budget.remaining = Some(remaining);
        }
        if let Some(reset) = number("x-ratelimit-reset") {
            state.budget.resets_at = Some(Time::from_millis(seconds(reset)));
        }
    }

    fn judge(&self, what: &str, method: Method, response: Response) -> Result<Response, Failure> {
        let status = response.status;
        if status < 400 {
            return Ok(response);
        }
        let message = message_of(&response);
        if let Some(until) = self.limited(&response, &message) {
            self.state().budget.blocked_until = Some(until);
            let why = format!("the forge allows no more requests for a while: {message}");
            return Err(Failure::Later { until: Some(until), why });
        }
        let said = format!("{what} was answered with {status}: {message}");
        Err(match status {
            500.. if method.is_read() => Failure::Lost(said),
            502..=504 => Failure::Lost(said),
            500.. => Failure::Broken(said),
            _ => Failure::Status { status, message },
        })
    }

    /// Returns until when a server that was asked too often wants to be left alone.
    fn limited(&self, response: &Response, message: &str) -> Option<Time> {
        let now = self.net.now();
        let after = response.header("retry-after").and_then(|value| value.trim().parse::<u64>().ok());
        let after = after.map(|after| Time::from_millis(now.millis().saturating_add(seconds(after))));
        let reset = response.header("x-ratelimit-reset").and_then(|value| value.trim().parse::<u64>().ok());
        let is_used_up = response.header("x-ratelimit-remaining").map(str::trim) == Some("0");
        let reset = reset.filter(|_| is_used_up).map(|reset| Time::from_millis(seconds(reset)));
        let soon = Time::from_millis(now.millis().saturating_add(BACK_OFF));
        let lower = message.to_ascii_lowercase();
        let is_told = lower.contains("rate limit") || lower.contains("abuse detection");
        match response.status {
            429 => Some(after.or(reset).unwrap_or(soon)),
            403 if after.is_some() || is_used_up || is_told => Some(after.or(reset).unwrap_or(soon)),
            503 => after,
            _ => None,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failure {
    /// Returns whether there is no such thing, as far as this account can see.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Status { status: 404 | 410, .. })
    }

    pub(crate) fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::Later { .. } | Self::NotSent(_) | Self::Lost(_) | Self::Broken(_) | Self::Bad(_) => None,
        }
    }

    /// Returns whether a write may have been carried out.
    pub(crate) fn leaves_open(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Broken(_) | Self::Bad(_))
    }
}

impl From<Failure> for ForgeError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Status { status: 401, message } => Refusal::Credentials { why: message }.into(),
            Failure::Status { status: 403, message } => Refusal::Forbidden { why: message }.into(),
            Failure::Status { status: 404 | 410, message } => Self::BadAnswer {
                problem: format!("the forge does not know what it was asked for: {message}"),
            },
            Failure::Status { status: 412, message } => {
                Self::Later { until: None, why: format!("the forge waits for something else: {message}") }
            }
            Failure::Status { status, message } => {
                Refusal::Said { why: format!("the forge refused it ({status}): {message}") }.into()
            }
            Failure::Later { until, why } => Self::Later { until, why },
            Failure::NotSent(why) | Failure::Lost(why) => Self::unreachable(why),
            Failure::Broken(problem) | Failure::Bad(problem) => Self::BadAnswer { problem },
        }
    }
}

/// Escapes a text for a segment of a path or a value of a query.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

fn parse<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, Failure> {
    let bad = |error| Failure::Bad(format!("the answer to {} cannot be read: {error}", before_query(path)));
    serde_json::from_slice(body).map_err(bad)
}

fn before_query(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

/// Returns the query of the address that a `Link` header calls the next page.
fn next_query(link: &str) -> Option<String> {
    query_of(link, "next")
}

/// Returns the number of the page that a `Link` header calls the last.
fn last_page(link: &str) -> Option<u64> {
    let query = query_of(link, "last")?;
    query.split('&').find_map(|pair| pair.strip_prefix("page="))?.parse().ok()
}

fn query_of(link: &str, wanted: &str) -> Option<String> {
    link.split(',').find_map(|part| {
        let (address, parameters) = part.split_once(';')?;
        let is_it = parameters.split(';').any(|it| it.trim() == format!("rel=\"{wanted}\""));
        let address = address.trim().strip_prefix('<')?.strip_suffix('>')?;
        is_it.then(|| address.split_once('?').map(|(_, query)| query.to_owned()))?
    })
}

fn with_page(path: &str, number: usize) -> String {
    let (before, query) = path.split_once('?').unwrap_or((path, ""));
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.starts_with("page="))
        .map(str::to_owned)
        .collect();
    pairs.push(format!("page={number}"));
    format!("{before}?{}", pairs.join("&"))
}

fn seconds(seconds: u64) -> i64 {
    i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1000)
}

/// Returns what a server says in an answer that refuses: its message, and those of the fields.
fn message_of(response: &Response) -> String {
    let value: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let mut parts: Vec<String> =
        value.get("message").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
    for error in value.get("errors").and_then(Value::as_array).into_iter().flatten() {
        match error {
            Value::String(text) => parts.push(text.clone()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {}
            Value::Object(fields) => {
                let told = ["message", "resource", "field", "code"]
                    .iter()
                    .filter_map(|name| fields.get(*name)?.as_str());
                parts.push(told.collect::<Vec<_>>().join(" "));
            }
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    let text = if parts.is_empty() { "no reason was given".to_owned() } else { parts.join("; ") };
    text.chars().filter(|c| !c.is_control()).take(LONGEST_MESSAGE).collect()
}

#[cfg(test)]
mod tests;
