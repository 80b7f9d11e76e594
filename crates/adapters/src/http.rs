//! HTTP requests to services: a deadline, a bounded answer, and the proxies that the environment names.
//!
//! Redirects are not followed and nothing is retried: only the caller knows what may be repeated. No error shows the
//! address, which may hold a secret. Answers that stream are not for this client; the metering proxy has its own, on
//! the same [`connector()`].

mod connector;

use std::{future::Future, io, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::header::{CONTENT_TYPE, USER_AGENT};
use hyper_rustls::HttpsConnector;
use hyper_util::{client::legacy, rt::TokioExecutor};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    runtime::{Builder, Runtime},
    time::timeout,
};

pub use self::connector::{Connector, ConnectorError, connector};
pub use hyper::{
    Method, StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue},
};

/// A client of one service. It keeps its connections, and blocks the thread that asks.
#[derive(Debug)]
pub struct Client {
    base: String,
    pool: legacy::Client<HttpsConnector<Connector>, Full<Bytes>>,
    runtime: Runtime,
}

/// A request, and what is allowed to its answer.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    /// What comes after the service's address.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// How long the whole answer may take.
    pub deadline: Duration,
    /// The largest body that is read, in bytes.
    pub largest: usize,
}

/// An answer that was read to its end.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Why there can be no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("no connection can be made")]
    Runtime(#[from] io::Error),
    #[error(transparent)]
    Connector(#[from] ConnectorError),
}

/// Why a request has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    #[error("the address is not valid")]
    BadAddress,
    #[error("no connection")]
    NoConnection,
    #[error("the connection broke")]
    Broken,
    #[error("the answer was cut off")]
    CutOff,
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("no answer in time")]
    TimedOut,
}

impl Request {
    pub fn new(method: Method, path: impl Into<String>, deadline: Duration, largest: usize) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static("warp"));
        Self { method, path: path.into(), headers, body: Bytes::new(), deadline, largest }
    }

    /// Gives the request a body.
    pub fn json(mut self, body: &impl Serialize) -> serde_json::Result<Self> {
        self.body = serde_json::to_vec(body)?.into();
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(self)
    }
}

impl Response {
    pub fn json<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.body)
    }
}

impl Client {
    /// Prepares a client of the service whose addresses begin with `base`.
    pub fn new(base: impl Into<String>) -> Result<Self, ClientError> {
        let base = base.into();
        let connector = connector(base.starts_with("https:"))?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self { base, pool: legacy::Client::builder(TokioExecutor::new()).build(connector), runtime })
    }

    /// Asks, and reads the answer, whatever its status.
    pub fn send(&self, request: Request) -> Result<Response, HttpError> {
        self.runtime.block_on(self.exchange(request))
    }

    /// Asks; none if `cancelled` ends before there is an answer.
    pub fn send_unless(
        &self,
        request: Request,
        cancelled: impl Future<Output = ()>,
    ) -> Option<Result<Response, HttpError>> {
        self.runtime.block_on(async {
            tokio::select! {
                answered = self.exchange(request) => Some(answered),
                () = cancelled => None,
            }
        })
    }

    async fn exchange(&self, request: Request) -> Result<Response, HttpError> {
        let Request { method, path, headers, body, deadline, largest } = request;
        let mut request = hyper::Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = format!("{}{path}", self.base).parse().map_err(|_| HttpError::BadAddress)?;
        *request.headers_mut() = headers;
        let answer = async {
            let response = self.pool.request(request).await.map_err(|error| {
                if error.is_connect() { HttpError::NoConnection } else { HttpError::Broken }
            })?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, largest).collect().await.map_err(|error| {
                if error.is::<LengthLimitError>() { HttpError::TooLarge(largest) } else { HttpError::CutOff }
            })?;
            Ok(Response { status: head.status, headers: head.headers, body: body.to_bytes() })
        };
        timeout(deadline, answer).await.unwrap_or(Err(HttpError::TimedOut))
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader, Read as _, Write as _},
        net::{Ipv4Addr, TcpListener},
        thread::{self, JoinHandle},
    };

    use hyper::header::{AUTHORIZATION, RETRY_AFTER};
    use serde_json::{Value, json};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    /// A service for one request: answers this, and returns what it heard. Without an answer it only listens.
    fn service(answer: &'static str) -> (Client, JoinHandle<String>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = Client::new(format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let heard = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut heard, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let line = line.trim_end().to_ascii_lowercase();
                length = line.strip_prefix("content-length: ").map_or(length, |value| value.parse().unwrap());
                heard.push_str(&line);
                heard.push('\n');
                if line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            heard.push_str(&String::from_utf8(body).unwrap());
            stream.write_all(answer.as_bytes()).unwrap();
            // Until the client has had enough.
            let _ = reader.read(&mut [0]);
            heard
        });
        (client, heard)
    }

    #[test]
    fn json_goes_out_and_comes_back_with_its_status_and_headers() {
        let (client, heard) = service(
            "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 8\r\n\r\n{\"a\": 1}",
        );
        let mut request = Request::new(Method::PATCH, "/v1/x?y=1", LONG, 100).json(&json!({"b": 2})).unwrap();
        request.headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer t"));
        let response = client.send(request).unwrap();
        assert_eq!(response.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers[RETRY_AFTER], "7");
        assert_eq!(response.json::<Value>().unwrap(), json!({"a": 1}));
        drop(client);
        let heard = heard.join().unwrap();
        assert!(heard.starts_with("patch /v1/x?y=1 http/1.1\n"), "{heard}");
        assert!(
            heard.contains("authorization: bearer t\n") && heard.contains("user-agent: warp\n"),
            "{heard}"
        );
        assert!(
            heard.contains("content-type: application/json\n") && heard.ends_with("\n{\"b\":2}"),
            "{heard}"
        );
    }

    #[test]
    fn what_goes_wrong_is_told_apart() {
        let get = |deadline| Request::new(Method::GET, "/", deadline, 4);
        let failed = |answer, deadline| {
            let (client, heard) = service(answer);
            let error = client.send(get(deadline)).unwrap_err();
            drop(client);
            heard.join().unwrap();
            error
        };
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde";
        assert_eq!(failed(whole, LONG), HttpError::TooLarge(4));
        assert_eq!(failed("", Duration::from_millis(50)), HttpError::TimedOut);
        assert_eq!(failed("nonsense\r\n\r\n", LONG), HttpError::Broken);
        let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        let client = |base: &str| Client::new(base).unwrap();
        assert_eq!(client(&format!("http://{nobody}")).send(get(LONG)).unwrap_err(), HttpError::NoConnection);
        assert_eq!(client("http://a b").send(get(LONG)).unwrap_err(), HttpError::BadAddress);
    }

    #[test]
    fn a_request_can_be_cancelled() {
        // Nobody accepts the connection.
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let client = Client::new(format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let request = Request::new(Method::GET, "/", LONG, 4);
        assert!(client.send_unless(request, async {}).is_none());
    }
}
