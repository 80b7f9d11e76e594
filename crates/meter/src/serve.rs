//! One request: where it goes, whether it may, and what becomes of its answer.

use std::{
    error::Error,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use adapters::http::Connector;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited, combinators::UnsyncBoxBody};
use hyper::{
    HeaderMap, Request, Response, StatusCode, Uri,
    body::{Body, Frame, Incoming, SizeHint},
    header::{
        ACCEPT_ENCODING, CONNECTION, HOST, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
        TRANSFER_ENCODING, UPGRADE,
    },
    http::request::Parts,
};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::{Client, Error as ClientError};
use serde::Deserialize;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::{Instant, timeout},
};

use crate::{
    Api, Refusal,
    desk::{BookkeeperHandle, Permit, PermitReply, PermitRequest},
    flow::{Complaint, Flow, FlowError, Metering, Observer, SILENCE},
    read_on,
    refuse::{fail, refuse, refuse_unmetered},
    route::{Billing, Provider, Route, Routes},
    seen::TrafficLog,
};

/// The largest request that is metered, in bytes. Providers take half of it.
const LARGEST: usize = 64 * 1024 * 1024;
/// How long a client may take to send its request.
const SENDING: Duration = Duration::from_secs(120);
/// How long a request waits for others to end before it may go out.
const WAITING: Duration = SILENCE;
/// How often a request that waits asks again: requests of other processes end unheard.
const ASKING_AGAIN: Duration = Duration::from_secs(1);
/// Headers that belong to one connection.
const OF_ONE_CONNECTION: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// Body of a forwarded request: buffered if it was parsed.
pub(crate) type RequestBody = Either<BufferedBody, Incoming>;
pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, FlowError>>;

/// Everything that a request meets.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) routes: Routes,
    pub(crate) client: Client<HttpsConnector<Connector>, RequestBody>,
    pub(crate) desk: BookkeeperHandle,
    pub(crate) watch: Arc<TrafficLog>,
    /// The places of requests in flight.
    pub(crate) places: Arc<Semaphore>,
}

/// A buffered request body that records whether it was sent.
#[derive(Debug)]
pub(crate) struct BufferedBody {
    body: Full<Bytes>,
    is_sent: Arc<AtomicBool>,
}

impl Body for BufferedBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.is_sent.store(true, Ordering::Relaxed);
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Server {
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let Some(route) = self.routes.find(request.method(), request.uri()) else {
            return own(fail(Provider::OpenAi, StatusCode::NOT_FOUND, "there is nothing at this address"));
        };
        if request.headers().get(UPGRADE).is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket")) {
            let words = "traffic by a websocket cannot be metered: use plain HTTP";
            return own(fail(route.provider, StatusCode::UPGRADE_REQUIRED, words));
        }
        match route.toll {
            Billing::Metered(api) => self.meter(api, &route, request).await,
            Billing::Free => self.pass(&route, request).await,
            Billing::Unknown => own(refuse_unmetered(route.provider, route.target.path())),
        }
    }

    /// Passes a request that costs nothing.
    async fn pass(&self, route: &Route, request: Request<Incoming>) -> Answer {
        let (parts, body) = request.into_parts();
        match send(&self.client, &route.target, parts, Either::Right(body)).await {
            Ok(response) => flow(response, Observer::Nobody),
            Err(failure) => own(fail(route.provider, failure.status, &failure.words)),
        }
    }

    /// Sends a request if there is leave to, and meters its answer.
    async fn meter(&self, api: Api, route: &Route, request: Request<Incoming>) -> Answer {
        let (mut parts, body) = request.into_parts();
        let body = match read(body).await {
            Ok(body) => body,
            Err((status, words)) => return own(fail(route.provider, status, words)),
        };
        if api == Api::Responses && is_background(&body) {
            let what = format!("{} with `background`", route.target.path());
            return own(refuse_unmetered(route.provider, &what));
        }
        let (place, leave) = match self.admit(api, &body).await {
            Ok(admitted) => admitted,
            Err(Denied::Refused(refusal)) => return self.refused(route.provider, &refusal),
            Err(Denied::Late) => {
                let words = "too many requests of this run are under way: try again";
                return own(fail(route.provider, StatusCode::SERVICE_UNAVAILABLE, words));
            }
        };
        // Whatever the client could read, the copy is read as it is.
        parts.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let errand = ForwardedRequest {
            client: self.client.clone(),
            provider: route.provider,
            target: route.target.clone(),
            metering: Box::new(Metering::new(api, leave, place, &self.watch)),
            watch: Arc::clone(&self.watch),
        };
        let (reply, answer) = oneshot::channel();
        // In a task of its own, so that it is not dropped when the client hangs up.
        tokio::spawn(errand.run(parts, body, reply));
        let ended = || own(fail(route.provider, StatusCode::SERVICE_UNAVAILABLE, "the proxy ends"));
        answer.await.unwrap_or_else(|_| ended())
    }

    /// Waits for a place among the requests in flight, and for leave.
    async fn admit(&self, api: Api, body: &Bytes) -> Result<(OwnedSemaphorePermit, Permit), Denied> {
        let deadline = Instant::now() + WAITING;
        let place = timeout(WAITING, Arc::clone(&self.places).acquire_owned()).await;
        let place = place.ok().and_then(Result::ok).ok_or(Denied::Late)?;
        let mut wanted = PermitRequest::Body(api, body.clone());
        while Instant::now() < deadline {
            let freed = self.desk.freed().notified();
            match self.desk.ask(wanted).await.map_err(Denied::Refused)? {
                PermitReply::Leave(leave) => return Ok((place, leave)),
                PermitReply::Wait(opening) => wanted = PermitRequest::Again(opening),
            }
            // Whether something ended here or not, it is asked again.
            let _ = timeout(ASKING_AGAIN, freed).await;
        }
        Err(Denied::Late)
    }

    fn refused(&self, provider: Provider, refusal: &Refusal) -> Answer {
        self.watch.refused(refusal);
        own(refuse(provider, &refusal.to_string()))
    }
}

/// Why a request was refused.
enum Denied {
    Refused(Refusal),
    /// Others took too long.
    Late,
}

/// A metered request; it completes even if the client disconnects.
struct ForwardedRequest {
    client: Client<HttpsConnector<Connector>, RequestBody>,
    provider: Provider,
    target: Uri,
    metering: Box<Metering>,
    watch: Arc<TrafficLog>,
}

impl ForwardedRequest {
    /// Sends the request and replies with its answer. Without a client the answer is waited for all the same, for what
    /// it uses; a request that was not sent by then is given up.
    async fn run(mut self, parts: Parts, body: Bytes, mut reply: oneshot::Sender<Answer>) {
        let is_sent = Arc::new(AtomicBool::new(false));
        let body = BufferedBody { body: Full::new(body), is_sent: Arc::clone(&is_sent) };
        let client = self.client.clone();
        let target = self.target.clone();
        let mut sending = Box::pin(send(&client, &target, parts, Either::Left(body)));
        let answered = tokio::select! {
            answered = &mut sending => answered,
            () = reply.closed() => {
                if !is_sent.load(Ordering::Relaxed) {
                    return self.metering.costs_nothing();
                }
                match timeout(read_on::LONGEST, sending).await {
                    Ok(answered) => answered,
                    // Dropped, it is booked at its upper bound.
                    Err(_) => return,
                }
            }
        };
        // If the client has hung up, the answer is read on where it is dropped.
        let _ = reply.send(match answered {
            Ok(response) => self.answered(response),
            Err(failure) => self.failed(&failure),
        });
    }

    fn answered(mut self, response: Response<Incoming>) -> Answer {
        self.metering.answered(response.status());
        let host = host(&self.target);
        let complaint = Complaint::of(&self.watch, host, response.status(), response.headers());
        let look = complaint
            .map_or(Observer::Metering(self.metering), |complaint| Observer::Complaint(Box::new(complaint)));
        flow(response, look)
    }

    fn failed(mut self, failure: &Failure) -> Answer {
        if !failure.may_cost {
            self.metering.costs_nothing();
        }
        self.watch.failed(failure.words.clone());
        own(fail(self.provider, failure.status, &failure.words))
    }
}

async fn send(
    client: &Client<HttpsConnector<Connector>, RequestBody>,
    target: &Uri,
    mut parts: Parts,
    body: RequestBody,
) -> Result<Response<Incoming>, Failure> {
    strip(&mut parts.headers);
    // It named the proxy.
    parts.headers.remove(HOST);
    parts.uri = target.clone();
    let host = host(target);
    match timeout(SILENCE, client.request(Request::from_parts(parts, body))).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(Failure::of(host, &error)),
        Err(_) => Err(Failure {
            status: StatusCode::GATEWAY_TIMEOUT,
            words: format!("{host} has not answered for {} s", SILENCE.as_secs()),
            may_cost: true,
        }),
    }
}

/// Why there is no answer.
struct Failure {
    status: StatusCode,
    words: String,
    /// Whether the provider may charge for it: it has the whole request and was still at it.
    may_cost: bool,
}

impl Failure {
    fn of(host: &str, error: &ClientError) -> Self {
        let is_sent = !error.is_connect();
        // The innermost cause says most; the others say only that something went wrong.
        let mut cause: &dyn Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        let what = if is_sent { "broke off" } else { "cannot be reached" };
        // A connection that broke before a byte of an answer has brought nothing, however much of the request was sent.
        let words = format!("{host} {what}: {cause}");
        Self { status: StatusCode::BAD_GATEWAY, words, may_cost: false }
    }
}

fn host(target: &Uri) -> &str {
    target.host().unwrap_or_default()
}

/// Reads a whole request.
async fn read(body: Incoming) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LARGE: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "the request is larger than 64 MB");
    if body.size_hint().lower() > LARGEST as u64 {
        return Err(TOO_LARGE);
    }
    match timeout(SENDING, Limited::new(body, LARGEST).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(TOO_LARGE),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the request broke off")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the request was not sent in time")),
    }
}

/// Tells whether a request's answer is to be fetched later, past the copy that is read.
fn is_background(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct BackgroundFlag {
        background: Option<bool>,
    }
    serde_json::from_slice::<BackgroundFlag>(body).is_ok_and(|asked| asked.background == Some(true))
}

/// Passes an answer on.
fn flow(response: Response<Incoming>, look: Observer) -> Answer {
    let mut answer = response.map(|body| Flow::new(body, look).boxed_unsync());
    strip(answer.headers_mut());
    answer
}

/// Gives an answer of the proxy's own.
fn own(response: Response<Bytes>) -> Answer {
    response.map(|body| Full::new(body).map_err(|never| match never {}).boxed_unsync())
}

/// Removes what belongs to one connection only.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        // Trailers reach both ends, so both may speak of them.
        .filter(|name| name != "te")
        .collect();
    for name in named.iter().chain(&OF_ONE_CONNECTION) {
        headers.remove(name);
    }
}
