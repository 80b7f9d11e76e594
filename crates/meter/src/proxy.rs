//! The proxy as a whole: it listens on loopback in a thread of its own, until it is dropped.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        mpsc::{self, Receiver},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use adapters::{
    http::{ConnectorError, connector},
    machine,
};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo, TokioTimer},
};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Builder,
    sync::{Semaphore, oneshot},
    task::JoinSet,
    time::timeout,
};

use crate::{
    Book, Traffic, Upstreams,
    desk::BookkeeperHandle,
    route::{Provider, Routes},
    seen::TrafficLog,
    serve::Server,
};

/// How many connections clients may have at once; others wait. An agent with its subagents has a few dozen.
const MOST_CONNECTIONS: usize = 256;
/// How long a connection to a provider is kept for the next request.
const KEPT: Duration = Duration::from_secs(90);
/// How long a client may keep a connection without asking for anything: longer than any keeps one.
const IDLE: Duration = Duration::from_secs(900);
/// How long nobody is let in after the machine could not take a connection.
const PAUSE: Duration = Duration::from_millis(50);
/// How long requests in flight are read on when the proxy ends, for what they used.
const ENDING: Duration = Duration::from_secs(3);
/// How long the end of the proxy is waited for: [`ENDING`], and as long as a store that somebody else holds.
const PATIENCE: Duration = Duration::from_secs(13);

/// A metering proxy for one run; ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    paths: [String; 2],
    watch: Arc<TrafficLog>,
    /// Dropped, it ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    ended: Receiver<()>,
}

/// Why the proxy cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    #[error("`{address}` is not the address of a provider: {reason}")]
    Upstream { address: String, reason: String },
    #[error("failed to listen on loopback")]
    Listen(#[source] io::Error),
    #[error(transparent)]
    Connector(#[from] ConnectorError),
}

impl Proxy {
    /// Begins to listen on a free port of loopback. Of the metered requests no more than `in_flight` are under way at
    /// once; others wait.
    pub fn start(book: Arc<dyn Book>, upstreams: Upstreams, in_flight: usize) -> Result<Self, ProxyError> {
        let token = machine::random_text(32).map_err(ProxyError::Listen)?;
        let routes = Routes::new(token, &upstreams)?;
        let paths = [Provider::Anthropic, Provider::OpenAi].map(|provider| routes.path(provider));
        let connector = connector(routes.are_encrypted())?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(ProxyError::Listen)?;
        let listener =
            runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).map_err(ProxyError::Listen)?;
        let address = listener.local_addr().map_err(ProxyError::Listen)?;
        let (tell, ended) = mpsc::channel();
        let watch = Arc::new(TrafficLog::default());
        let desk = BookkeeperHandle::open(book, Arc::clone(&watch), tell).map_err(ProxyError::Listen)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(KEPT)
            .http1_preserve_header_case(true)
            .build(connector);
        let in_flight = in_flight.clamp(1, MOST_CONNECTIONS);
        let places = Arc::new(Semaphore::new(in_flight));
        let server = Server { routes, client, desk, watch: Arc::clone(&watch), places: Arc::clone(&places) };
        let (stop, stopped) = oneshot::channel();
        let thread = thread::Builder::new()
            .name("meter".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        // Whatever it is told, by a message or by an end: it stops.
                        _ = stopped => {}
                        () = listen(&listener, Arc::new(server)) => {}
                    }
                    // What is left of the requests in flight is booked at its upper bound.
                    let _ = timeout(ENDING, places.acquire_many(in_flight as u32)).await;
                });
                // A look-up of a name that hangs is not waited for.
                runtime.shutdown_background();
            })
            .map_err(ProxyError::Listen)?;
        Ok(Self { address, paths, watch, stop: Some(stop), thread: Some(thread), ended })
    }

    /// Returns the base address for clients of Anthropic's API, to which they add `/v1/messages`.
    ///
    /// The run's token is the first part of the path, so no header of a client changes.
    pub fn anthropic_url(&self) -> String {
        format!("http://{}{}", self.address, self.paths[0])
    }

    /// Returns the base address for clients of OpenAI's API, to which they add `/responses` or `/chat/completions`.
    pub fn openai_url(&self) -> String {
        format!("http://{}{}", self.address, self.paths[1])
    }

    /// Calls `listener` whenever something keeps the agent from its work: a refusal, a limit, an outage.
    pub fn tell_to(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.watch.tell_to(Arc::new(listener));
    }

    /// Returns the traffic without resetting it.
    pub fn seen(&self) -> Traffic {
        self.watch.look()
    }

    /// Returns the traffic and resets it.
    pub fn take_seen(&self) -> Traffic {
        self.watch.take()
    }
}

impl Drop for Proxy {
    /// Ends every stream, and waits until what they used is booked.
    fn drop(&mut self) {
        drop(self.stop.take());
        if self.ended.recv_timeout(PATIENCE).is_ok()
            && let Some(thread) = self.thread.take()
        {
            // The book's thread ends after this one; a panic in it was shown when it happened.
            let _ = thread.join();
        }
    }
}

/// Lets clients in until it is dropped, and every connection with it.
async fn listen(listener: &TcpListener, server: Arc<Server>) {
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut served = JoinSet::new();
    while let Ok(permit) = Arc::clone(&connections).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Those that have ended are forgotten.
        while served.try_join_next().is_some() {}
        let server = Arc::clone(&server);
        served.spawn(async move {
            // A client that breaks off has its own reasons; what it used is booked.
            let _ = serve(stream, &server).await;
            drop(permit);
        });
    }
}

async fn serve(stream: TcpStream, server: &Server) -> Result<(), hyper::Error> {
    // A stream is as fast without it, only less even.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| async { Ok::<_, Infallible>(server.answer(request).await) });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .preserve_header_case(true)
        .serve_connection(TokioIo::new(stream), service)
        .await
}
