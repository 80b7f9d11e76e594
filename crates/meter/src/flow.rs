//! An answer on its way to the client: every frame as it comes, and a look at a copy of it.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use adapters::{agent::ProviderFailure, machine};
use bytes::Bytes;
use hyper::{
    HeaderMap, StatusCode,
    body::{Body, Frame, Incoming, SizeHint},
};
use tokio::{
    sync::{
        OwnedSemaphorePermit,
        oneshot::{self, error::TryRecvError},
    },
    time::{Sleep, sleep},
};

use crate::{
    Api, Limit, Tokens, UsageReader, desk::Permit, limit, read_on::read_on, seen::TrafficLog, usage::Trouble,
};

/// How long a provider may say nothing: a model may think for minutes.
pub(crate) const SILENCE: Duration = Duration::from_secs(600);
/// How long the last frame of an answer waits for its booking. A disk takes milliseconds; a store that somebody else
/// holds for longer is no reason to keep an answer.
const BOOKING: Duration = Duration::from_secs(2);
/// How many more tokens a model writes before they are booked while it goes on.
const BOOKED_EVERY: u64 = 1024;
/// How much of a failure's body is read, in bytes.
const LONGEST_COMPLAINT: usize = 64 * 1024;

/// Why an answer breaks off.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FlowError {
    #[error("the provider's answer broke off")]
    Broken(#[source] hyper::Error),
    #[error("the provider has said nothing for {} s", SILENCE.as_secs())]
    Silent,
}

/// A body that passes.
#[derive(Debug)]
pub(crate) struct Flow {
    /// Taken when the rest is read on for nobody.
    body: Option<Incoming>,
    /// Set when nothing comes, rather than with every frame: most frames come together.
    silence: Option<Pin<Box<Sleep>>>,
    look: Observer,
    held: Option<HeldFrame>,
}

/// Parses a copy of the answer.
#[derive(Debug)]
pub(crate) enum Observer {
    Nobody,
    /// The answer is paid for.
    Metering(Box<Metering>),
    /// The provider refuses or fails.
    Complaint(Box<Complaint>),
}

/// A frame (or the end) that waits for its booking.
#[derive(Debug)]
struct HeldFrame {
    frame: Option<Frame<Bytes>>,
    receipt: oneshot::Receiver<()>,
    patience: Pin<Box<Sleep>>,
}

impl Flow {
    pub(crate) fn new(body: Incoming, look: Observer) -> Self {
        Self { body: Some(body), silence: None, look, held: None }
    }

    /// Waits for what is held; returns it when it is booked or has waited long enough.
    fn poll_held(&mut self, context: &mut Context<'_>) -> Poll<Option<Option<Frame<Bytes>>>> {
        let Some(held) = &mut self.held else { return Poll::Ready(None) };
        let is_booked = Pin::new(&mut held.receipt).poll(context).is_ready();
        if !is_booked {
            ready!(held.patience.as_mut().poll(context));
        }
        Poll::Ready(self.held.take().map(|held| held.frame))
    }

    /// Looks at a frame, or at the end; returns what it has to wait for.
    fn look_at(&mut self, frame: Option<&Frame<Bytes>>) -> Option<oneshot::Receiver<()>> {
        let is_last = frame.is_none() || self.body.as_ref().is_none_or(Body::is_end_stream);
        let data = frame.and_then(Frame::data_ref);
        match &mut self.look {
            Observer::Nobody => None,
            Observer::Metering(metering) => {
                let receipt = data.and_then(|data| metering.read(data));
                if is_last { metering.finish().or(receipt) } else { receipt }
            }
            Observer::Complaint(complaint) => {
                complaint.read(data.map_or(&[], |data| data));
                None
            }
        }
    }

    fn broken(&mut self, error: FlowError) -> FlowError {
        if let Observer::Metering(metering) = &mut self.look {
            metering.broken(&error);
        }
        error
    }
}

impl Body for Flow {
    type Data = Bytes;
    type Error = FlowError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, FlowError>>> {
        if let Some(frame) = ready!(self.poll_held(context)) {
            return Poll::Ready(frame.map(Ok));
        }
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let Poll::Ready(next) = Pin::new(body).poll_frame(context) else {
            if let Observer::Metering(metering) = &mut self.look {
                metering.catch_up(context);
            }
            let silence = self.silence.get_or_insert_with(|| Box::pin(sleep(SILENCE)));
            ready!(silence.as_mut().poll(context));
            return Poll::Ready(Some(Err(self.broken(FlowError::Silent))));
        };
        self.silence = None;
        let frame = match next {
            Some(Ok(frame)) => Some(frame),
            Some(Err(error)) => return Poll::Ready(Some(Err(self.broken(FlowError::Broken(error))))),
            None => None,
        };
        let Some(receipt) = self.look_at(frame.as_ref()) else { return Poll::Ready(frame.map(Ok)) };
        self.held = Some(HeldFrame { frame, receipt, patience: Box::pin(sleep(BOOKING)) });
        let frame = ready!(self.poll_held(context)).flatten();
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_none() && self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for Flow {
    /// The client hung up, unless the answer is over.
    fn drop(&mut self) {
        if let Observer::Metering(metering) = std::mem::replace(&mut self.look, Observer::Nobody)
            && !metering.is_over()
            && let Some(body) = self.body.take()
        {
            read_on(body, metering);
        }
    }
}

/// One request that is paid for, from its leave to its end. Dropped before that, it is booked at its upper bound.
#[derive(Debug)]
pub(crate) struct Metering {
    leave: Permit,
    watch: Arc<TrafficLog>,
    /// The request's number on the watch.
    number: u64,
    reader: UsageReader,
    booked: Tokens,
    /// A booking on the way that nobody waits for; until it is done there is no other.
    on_the_way: Option<oneshot::Receiver<()>>,
    /// Set once a byte of the answer has come.
    has_begun: bool,
    /// Its place among the requests in flight.
    _place: OwnedSemaphorePermit,
}

impl Metering {
    pub(crate) fn new(api: Api, leave: Permit, place: OwnedSemaphorePermit, watch: &Arc<TrafficLog>) -> Self {
        Self {
            reader: UsageReader::new(api, leave.estimate()),
            booked: leave.estimate(),
            leave,
            watch: Arc::clone(watch),
            number: watch.let_through(),
            on_the_way: None,
            has_begun: false,
            _place: place,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.leave.is_over()
    }

    /// Notes how the provider answers. A request that was not taken costs nothing.
    pub(crate) fn answered(&mut self, status: StatusCode) {
        if !status.is_server_error() {
            self.watch.answered(self.number);
        }
        if status.is_success() {
            self.watch.let_in(self.number);
        } else {
            self.costs_nothing();
        }
    }

    /// Notes that the request never reached the provider, or was not taken.
    pub(crate) fn costs_nothing(&mut self) {
        // There is nothing to wait for: less is spent than was thought.
        drop(self.over(Tokens::default()));
    }

    /// Reads a piece; returns what to wait for before it is passed on.
    pub(crate) fn read(&mut self, piece: &[u8]) -> Option<oneshot::Receiver<()>> {
        if self.leave.is_over() {
            return None;
        }
        self.has_begun |= !piece.is_empty();
        self.reader.read(piece);
        if let Some(trouble) = self.reader.take_trouble() {
            self.note(trouble);
        }
        if self.reader.is_over() {
            return Some(self.end());
        }
        self.book_on_the_way();
        None
    }

    pub(crate) fn finish(&mut self) -> Option<oneshot::Receiver<()>> {
        if self.leave.is_over() {
            return None;
        }
        self.reader.finish();
        if let Some(trouble) = self.reader.take_trouble() {
            self.note(trouble);
        }
        Some(self.end())
    }

    fn broken(&mut self, error: &FlowError) {
        if self.leave.is_over() {
            return;
        }
        self.watch.failed(error.to_string());
        match error {
            FlowError::Broken(_) => self.cut(),
            // The provider may still be at it.
            FlowError::Silent => drop(self.end()),
        }
    }

    /// Notes that the connection broke. Before a byte of the answer it has brought nothing that is charged.
    pub(crate) fn cut(&mut self) {
        if self.has_begun {
            drop(self.end());
        } else {
            self.costs_nothing();
        }
    }

    /// Books what the answer has told, or else the most that it can have used.
    fn end(&mut self) -> oneshot::Receiver<()> {
        if let Some(told) = self.reader.told() {
            return self.over(told);
        }
        let most = self.reader.at_most(self.leave.bound());
        self.watch.used(most);
        self.leave.end_at_most(most)
    }

    /// Books what has become known, or has grown, unless the last such booking is not done yet.
    fn book_on_the_way(&mut self) {
        let is_busy =
            self.on_the_way.as_mut().is_some_and(|receipt| receipt.try_recv() == Err(TryRecvError::Empty));
        let tokens = self.reader.tokens();
        if !is_busy && self.is_due(tokens) {
            self.on_the_way = Some(self.leave.book(tokens));
            self.booked = tokens;
        }
    }

    fn is_due(&self, tokens: Tokens) -> bool {
        let is_known = Tokens { output: 0, ..tokens } != Tokens { output: 0, ..self.booked };
        is_known || tokens.output >= self.booked.output.saturating_add(BOOKED_EVERY)
    }

    /// Books what had to wait for the booking before it, while nothing else comes.
    fn catch_up(&mut self, context: &mut Context<'_>) {
        if self.leave.is_over() || !self.is_due(self.reader.tokens()) {
            return;
        }
        if self.on_the_way.as_mut().is_none_or(|receipt| Pin::new(receipt).poll(context).is_ready()) {
            self.on_the_way = None;
            self.book_on_the_way();
        }
    }

    fn over(&mut self, tokens: Tokens) -> oneshot::Receiver<()> {
        self.watch.used(tokens);
        self.leave.end(tokens)
    }

    /// Notes a failure that came in the middle of an answer.
    fn note(&self, trouble: Trouble) {
        let is_limit = ["rate_limit", "usage_limit", "quota"].iter().any(|part| trouble.kind.contains(part));
        let is_outage = ["overloaded", "api_error", "server_error", "timeout"].iter();
        if is_limit {
            let status = StatusCode::TOO_MANY_REQUESTS.as_u16();
            self.watch.limited(Limit { status, resets_at: None, words: trouble.words });
        } else if is_outage.into_iter().any(|part| trouble.kind.contains(part)) {
            self.watch.failed(trouble.words);
        }
    }
}

impl Drop for Metering {
    /// Nobody reads the rest: the provider may still be at it.
    fn drop(&mut self) {
        if !self.leave.is_over() {
            drop(self.end());
        }
    }
}

/// A provider's refusal or failure, read for its words.
#[derive(Debug)]
pub(crate) struct Complaint {
    watch: Arc<TrafficLog>,
    host: String,
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Complaint {
    /// Begins to read an error; what the status alone says is noted at once. None: it is no error.
    pub(crate) fn of(
        watch: &Arc<TrafficLog>,
        host: &str,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<Self> {
        if !status.is_client_error() && !status.is_server_error() {
            return None;
        }
        let (watch, host, headers) = (Arc::clone(watch), host.to_owned(), headers.clone());
        let complaint = Self { watch, host, status, headers, body: Vec::new() };
        complaint.note();
        Some(complaint)
    }

    fn read(&mut self, piece: &[u8]) {
        if self.body.len() + piece.len() <= LONGEST_COMPLAINT {
            self.body.extend_from_slice(piece);
            self.note();
        }
    }

    fn note(&self) {
        let status = self.status.as_u16();
        let said = limit::complaint(&self.body).map(|words| format!(": {words}")).unwrap_or_default();
        let words = format!("{} answers {status}{said}", self.host);
        match ProviderFailure::from_status(status, &limit::signs(&self.body)) {
            Some(ProviderFailure::NoAccess { lack, .. }) => {
                self.watch.denied(ProviderFailure::NoAccess { lack, words });
            }
            Some(ProviderFailure::Limit { .. }) => {
                self.watch.limited(limit::read(self.status, &self.headers, &self.body, machine::now()));
            }
            Some(ProviderFailure::Outage { .. }) => self.watch.failed(words),
            // The request itself was at fault.
            None => {}
        }
    }
}
