//! The server below a double: connections on loopback and on a Unix socket, faults, and a log of what was asked.

use std::{
    collections::VecDeque,
    io,
    net::TcpListener,
    os::unix::net::UnixListener,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use axum::{Router, body::Body, extract::State, response::Response};
use http_body_util::BodyExt as _;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::sync::oneshot;
use tower_service::Service as _;

use super::{
    faults::{Fault, FaultKind},
    hooks::{Delivery, deliver},
    http::{Answer, Request, pairs},
};

/// How long a double waits for its own work to end, when it is dropped or asked for what it has delivered.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a double does with a request that has come in whole.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Returns the path without what stands before it for the API, by which faults and the log name it.
    fn route(&self, path: &str) -> String;
    /// Carries a request out.
    fn answer(&self, request: &Request) -> Handled;
}

impl<H: Handler> Handler for Arc<H> {
    fn route(&self, path: &str) -> String {
        (**self).route(path)
    }

    fn answer(&self, request: &Request) -> Handled {
        (**self).answer(request)
    }
}

/// An answer, with what else a request has led to.
pub(crate) struct Handled {
    pub(crate) answer: Answer,
    pub(crate) account: Option<String>,
    pub(crate) deliveries: Vec<Delivery>,
}

/// A request and its answer, as the double saw them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    pub method: String,
    /// The path without the prefix of the API.
    pub path: String,
    pub query: String,
    /// Whose token came along, if the double knows it.
    pub account: Option<String>,
    /// Whether it asked only for what has changed.
    pub is_conditional: bool,
    /// The answer's status; none if the connection broke or nothing was answered.
    pub status: Option<u16>,
    pub request: Vec<u8>,
    /// The answer's body, as it was sent.
    pub response: Vec<u8>,
    pub content_type: String,
    /// Whether the answer was spoilt on purpose.
    pub is_faulty: bool,
}

impl Exchange {
    /// Returns the request's body as JSON; null if it is none.
    pub fn sent(&self) -> Value {
        serde_json::from_slice(&self.request).unwrap_or_default()
    }

    /// Returns the answer's body as JSON; null if it is none.
    pub fn answered(&self) -> Value {
        serde_json::from_slice(&self.response).unwrap_or_default()
    }
}

#[derive(Default)]
struct Traffic {
    /// Faults, and how many matching requests have come since.
    faults: Vec<(Fault, usize)>,
    exchanges: Vec<Exchange>,
    deliveries: Vec<Delivery>,
    queue: VecDeque<Delivery>,
    /// How many are queued or on their way.
    undelivered: usize,
}

/// What connections and tests share.
pub(crate) struct Shared {
    handler: Box<dyn Handler>,
    origin: String,
    traffic: Mutex<Traffic>,
    delivered: Condvar,
}

/// A running server; it ends when this is dropped.
pub(crate) struct Server {
    pub(crate) shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What becomes of a request.
enum Fate {
    Answer(Answer),
    /// The connection is closed without an answer.
    Cut,
    /// Nothing comes.
    Hang,
}

/// Marks a response that is not to be sent.
#[derive(Clone)]
struct Cut;

impl Server {
    /// Binds loopback first, because the handler has to know its address.
    pub(crate) fn bind() -> (TcpListener, String) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        let address = listener.local_addr().expect("a listener has an address");
        (listener, format!("http://{address}"))
    }

    pub(crate) fn start(
        listener: TcpListener,
        socket: &Path,
        origin: &str,
        handler: Box<dyn Handler>,
    ) -> Self {
        let unix = UnixListener::bind(socket).expect("a socket can be made");
        let shared = Arc::new(Shared {
            handler,
            origin: origin.to_owned(),
            traffic: Mutex::default(),
            delivered: Condvar::new(),
        });
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a runtime can be made");
            runtime.block_on(accept(listener, unix, served, stopped)).expect("connections can be accepted");
            runtime.shutdown_timeout(PATIENCE);
        });
        Self { shared, stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Whoever does not listen any more has ended already.
        let _ = self.stop.take().map(|stop| stop.send(()));
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the double has failed");
        }
    }
}

async fn accept(
    listener: TcpListener,
    unix: UnixListener,
    shared: Arc<Shared>,
    mut stopped: oneshot::Receiver<()>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    unix.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let unix = tokio::net::UnixListener::from_std(unix)?;
    let router = Router::new().fallback(entry).with_state(shared);
    loop {
        tokio::select! {
            _ = &mut stopped => return Ok(()),
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    // A client that asks twice on one connection must not wait for a delayed acknowledgement.
                    stream.set_nodelay(true)?;
                    tokio::spawn(converse(TokioIo::new(stream), router.clone()));
                }
            }
            accepted = unix.accept() => {
                if let Ok((stream, _)) = accepted {
                    tokio::spawn(converse(TokioIo::new(stream), router.clone()));
                }
            }
        }
    }
}

async fn converse<S>(stream: S, router: Router)
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut router = router.clone();
        async move {
            let Ok(response) = router.call(request.map(Body::new)).await;
            if response.extensions().get::<Cut>().is_some() {
                return Err(io::Error::other("cut on purpose"));
            }
            Ok(response)
        }
    });
    // A connection that breaks is the client's affair, or was cut on purpose.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await;
}

async fn entry(State(shared): State<Arc<Shared>>, request: axum::extract::Request) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = body.collect().await else { return cut() };
    let text = |value: &hyper::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let query_text = head.uri.query().unwrap_or_default().to_owned();
    let request = Request {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: pairs(&query_text),
        query_text,
        headers: head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
        body: body.to_bytes(),
        origin: shared.origin.clone(),
    };
    // Handlers run git and take locks: not on the thread that serves all connections.
    match tokio::task::spawn_blocking(move || shared.carry_out(&request)).await {
        Ok(Fate::Answer(answer)) => response(answer),
        Ok(Fate::Hang) => std::future::pending().await,
        Ok(Fate::Cut) => cut(),
        Err(failed) => {
            let panic = failed.into_panic();
            let words = panic.downcast_ref::<String>().map(String::as_str);
            response(Answer::text(599, words.unwrap_or("the double has failed")))
        }
    }
}

fn cut() -> Response {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(Cut);
    response
}

fn response(answer: Answer) -> Response {
    let mut builder = hyper::Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        builder = builder.header(name, value);
    }
    builder.body(Body::from(answer.body)).expect("a double's headers are valid")
}

impl Shared {
    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        // Each change is whole, so a panic elsewhere does not spoil the log.
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn carry_out(self: &Arc<Self>, request: &Request) -> Fate {
        let route = self.handler.route(&request.path);
        let fault = self.traffic().take_fault(&request.method, &route);
        let mut account = None;
        let mut act = || {
            let handled = self.handler.answer(request);
            account = handled.account;
            self.deliver(handled.deliveries);
            handled.answer
        };
        let is_write = request.method != "GET" && request.method != "HEAD";
        let retry = |status: u16, seconds: u64, words: &str| {
            Fate::Answer(Answer::refuse(status, words).with("retry-after", seconds.to_string()))
        };
        let html = |status: u16| {
            let answer = Answer::text(status, "<html><body><h1>Server Error</h1></body></html>");
            Fate::Answer(Answer {
                headers: vec![("content-type".to_owned(), "text/html".to_owned())],
                ..answer
            })
        };
        let fate = match fault {
            None => Fate::Answer(act()),
            Some(FaultKind::ErrorBefore) => Fate::Cut,
            Some(FaultKind::ErrorAfterWrite) => {
                act();
                Fate::Cut
            }
            Some(FaultKind::Timeout) => {
                act();
                Fate::Hang
            }
            Some(FaultKind::RateLimited429 { retry_after }) => retry(429, retry_after, "Too Many Requests"),
            Some(FaultKind::Secondary403 { retry_after }) => retry(
                403,
                retry_after,
                "You have exceeded a secondary rate limit. Please wait a few minutes.",
            ),
            Some(FaultKind::ServerError5xx(status)) => html(status),
            Some(FaultKind::ServerErrorAfterWrite(status)) => {
                act();
                html(status)
            }
            Some(FaultKind::NullBody) => Fate::Answer(Answer { body: b"null".to_vec(), ..act() }),
            Some(FaultKind::Duplicate) if is_write => {
                act();
                Fate::Answer(act())
            }
            Some(FaultKind::Duplicate) => Fate::Answer(first_twice(act())),
        };
        self.traffic().exchanges.push(exchange(request, route, account, &fate, fault.is_some()));
        fate
    }

    /// Tells those who want to be told, one after the other, without keeping the one who asked waiting.
    fn deliver(self: &Arc<Self>, deliveries: Vec<Delivery>) {
        if deliveries.is_empty() {
            return;
        }
        let mut traffic = self.traffic();
        let is_idle = traffic.undelivered == 0;
        traffic.undelivered += deliveries.len();
        traffic.queue.extend(deliveries);
        drop(traffic);
        if is_idle {
            let shared = Arc::clone(self);
            thread::spawn(move || shared.work_off());
        }
    }

    /// Sends what is queued until nothing is left.
    fn work_off(&self) {
        loop {
            let Some(delivery) = self.traffic().queue.pop_front() else { return };
            let delivery = deliver(delivery);
            let mut traffic = self.traffic();
            traffic.deliveries.push(delivery);
            traffic.undelivered -= 1;
            self.delivered.notify_all();
            if traffic.undelivered == 0 {
                return;
            }
        }
    }

    /// Tells those who want to be told of what a test has done.
    pub(crate) fn deliver_later(self: &Arc<Self>, deliveries: Vec<Delivery>) {
        self.deliver(deliveries);
    }

    /// Returns what was delivered, once nothing is on its way.
    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        let begun = Instant::now();
        let mut traffic = self.traffic();
        while traffic.undelivered > 0 {
            let left = PATIENCE.saturating_sub(begun.elapsed());
            assert!(!left.is_zero(), "{} deliveries have not ended", traffic.undelivered);
            traffic = self.delivered.wait_timeout(traffic, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        traffic.deliveries.clone()
    }

    pub(crate) fn set_fault(&self, fault: Fault) {
        self.traffic().faults.push((fault, 0));
    }

    pub(crate) fn clear_faults(&self) {
        self.traffic().faults.clear();
    }

    pub(crate) fn exchanges(&self) -> Vec<Exchange> {
        self.traffic().exchanges.clone()
    }

    pub(crate) fn clear_exchanges(&self) {
        self.traffic().exchanges.clear();
    }
}

impl Traffic {
    /// Counts a request for every fault that is for it, and takes the first whose turn it is.
    fn take_fault(&mut self, method: &str, route: &str) -> Option<FaultKind> {
        let mut due = None;
        for (index, (fault, seen)) in self.faults.iter_mut().enumerate() {
            if fault.call.matches(method, route) {
                *seen += 1;
                if *seen >= fault.nth && due.is_none() {
                    due = Some(index);
                }
            }
        }
        due.map(|index| self.faults.remove(index).0.kind)
    }
}

/// Shows a list's first entry twice, as happens when something is added while pages are read.
fn first_twice(mut answer: Answer) -> Answer {
    if let Value::Array(mut list) = answer.value()
        && let Some(first) = list.first().cloned()
    {
        list.insert(0, first);
        answer.body = Value::Array(list).to_string().into_bytes();
    }
    answer
}

fn exchange(
    request: &Request,
    path: String,
    account: Option<String>,
    fate: &Fate,
    is_faulty: bool,
) -> Exchange {
    let answer = match fate {
        Fate::Answer(answer) => Some(answer),
        Fate::Cut | Fate::Hang => None,
    };
    Exchange {
        method: request.method.clone(),
        path,
        query: request.query_text.clone(),
        account,
        is_conditional: request.header("if-none-match").is_some(),
        status: answer.map(|answer| answer.status),
        request: request.body.to_vec(),
        response: answer.map(|answer| answer.body.clone()).unwrap_or_default(),
        content_type: answer.and_then(|answer| answer.header("content-type")).unwrap_or_default().to_owned(),
        is_faulty,
    }
}
