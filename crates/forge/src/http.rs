//! What the adapters of servers are given of the world: requests, the time and redaction.
//!
//! Only values cross this port, so that the crate links no network and tests script every answer. Whoever carries requests
//! out adds the credentials, to requests to the API alone.

use std::{fmt, sync::Arc};

use engine::Time;

/// The way to one server's API.
pub trait Net: fmt::Debug + Send + Sync {
    /// Carries a request out, once; redirects are answers like any other.
    fn send(&self, request: &Request) -> Result<Response, SendError>;

    /// Returns the time.
    fn now(&self) -> Time;

    /// Takes secrets out of a text before it is published.
    fn redact(&self, text: String) -> String {
        text
    }
}

/// How a server is reached.
pub type SharedNet = Arc<dyn Net>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A path of the API, behind its base address; sent with credentials.
    Api(String),
    /// An address that the server named, such as that of a log; sent without credentials.
    Elsewhere(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    pub target: Target,
    /// Names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// JSON, if there is any.
    pub body: Option<Vec<u8>>,
    /// The largest answer that is read, in bytes.
    pub largest: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// Returns a header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// It did not leave, so nothing has happened.
    #[error("{0}")]
    NotSent(String),
    /// It may have been carried out.
    #[error("{0}")]
    NoAnswer(String),
}

impl Method {
    /// Returns whether a request of this kind changes nothing.
    pub fn is_read(self) -> bool {
        self == Self::Get
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Api(path) => f.write_str(path.split('?').next().unwrap_or_default()),
            // What a server names may carry a signature.
            Self::Elsewhere(_) => f.write_str("a redirect"),
        }
    }
}

#[cfg(test)]
pub(crate) mod scripted {
    use std::{
        collections::VecDeque,
        sync::{
            Mutex,
            atomic::{AtomicI64, Ordering},
        },
    };

    use super::*;

    /// A server whose answers are written down before: each for one request, in their order.
    #[derive(Debug, Default)]
    pub(crate) struct Scripted {
        answers: Mutex<VecDeque<(String, Result<Response, SendError>)>>,
        asked: Mutex<Vec<Request>>,
        now: AtomicI64,
    }

    impl Scripted {
        /// The request that begins like this, such as `GET /user`, is answered with this status and text.
        pub(crate) fn answer(&self, request: &str, status: u16, body: &str) -> &Self {
            self.answer_with(request, status, &[], body)
        }

        pub(crate) fn answer_with(
            &self,
            request: &str,
            status: u16,
            headers: &[(&str, &str)],
            body: &str,
        ) -> &Self {
            let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let response = Response { status, headers: headers.collect(), body: body.as_bytes().to_owned() };
            self.push(request, Ok(response))
        }

        pub(crate) fn fail(&self, request: &str, error: SendError) -> &Self {
            self.push(request, Err(error))
        }

        fn push(&self, request: &str, answer: Result<Response, SendError>) -> &Self {
            self.answers.lock().unwrap().push_back((request.to_owned(), answer));
            self
        }

        pub(crate) fn set_now(&self, millis: i64) {
            self.now.store(millis, Ordering::Relaxed);
        }

        /// Returns what was asked, and that nothing is left of the script.
        pub(crate) fn finish(&self) -> Vec<Request> {
            let left = std::mem::take(&mut *self.answers.lock().unwrap());
            assert!(left.is_empty(), "never asked: {left:?}");
            std::mem::take(&mut *self.asked.lock().unwrap())
        }
    }

    impl Net for Scripted {
        fn send(&self, request: &Request) -> Result<Response, SendError> {
            self.asked.lock().unwrap().push(request.clone());
            let path = match &request.target {
                Target::Api(path) => path.clone(),
                Target::Elsewhere(address) => address.clone(),
            };
            let asked = format!("{} {path}", request.method);
            let next = self.answers.lock().unwrap().pop_front();
            let (wanted, answer) = next.unwrap_or_else(|| panic!("{asked} is not in the script"));
            assert!(asked.starts_with(&wanted), "asked was {asked}, and not {wanted}");
            answer
        }

        fn now(&self) -> Time {
            Time::from_millis(self.now.load(Ordering::Relaxed))
        }
    }
}
