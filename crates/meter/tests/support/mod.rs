//! A book in memory, a provider that says exactly what a test wants, and a client that sees every byte.

#![allow(dead_code, reason = "every test binary uses its own part")]

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use engine::ledger::{CapReached, Scope, Unit};
use meter::{Book, BookError, Opening, Proxy, Refusal, Stage, Ticket, Tokens, Upstreams};

/// How long anything is waited for before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How many requests a proxy has in flight at once.
pub(crate) const IN_FLIGHT: usize = 64;

/// A book that keeps everything in memory, with a cap on all tokens.
pub(crate) struct Notes {
    cap: u64,
    kept: Mutex<Kept>,
    changed: Condvar,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) openings: Vec<Opening>,
    /// By ticket: every booking.
    pub(crate) bookings: Vec<Vec<(Tokens, Stage)>>,
    pub(crate) refusals: usize,
}

impl Kept {
    /// What is booked now, over all requests; one that nothing is booked for counts with its estimate.
    pub(crate) fn total(&self) -> u64 {
        let each = self.openings.iter().zip(&self.bookings);
        each.map(|(opening, bookings)| bookings.last().map_or(opening.estimate, |last| last.0).total()).sum()
    }

    pub(crate) fn open(&self) -> usize {
        self.bookings.iter().filter(|bookings| !bookings.last().is_some_and(|last| last.1.is_over())).count()
    }
}

impl Notes {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_cap(u64::MAX)
    }

    pub(crate) fn with_cap(cap: u64) -> Arc<Self> {
        Arc::new(Self { cap, kept: Mutex::default(), changed: Condvar::new() })
    }

    pub(crate) fn kept(&self) -> Kept {
        self.kept.lock().unwrap().clone()
    }

    /// Waits until what is kept is as it should be.
    pub(crate) fn wait(&self, what: &str, is_so: impl Fn(&Kept) -> bool) -> Kept {
        let kept = self.kept.lock().unwrap();
        let (kept, waited) = self.changed.wait_timeout_while(kept, PATIENCE, |kept| !is_so(kept)).unwrap();
        assert!(!waited.timed_out(), "{what}: {kept:?}");
        kept.clone()
    }

    /// Waits until every request is over, and returns the last booking of the only one.
    pub(crate) fn only(&self) -> Tokens {
        self.last().0
    }

    /// The same, with how it is booked.
    pub(crate) fn last(&self) -> (Tokens, Stage) {
        let kept = self.wait("one request that is over", |kept| kept.bookings.len() == 1 && kept.open() == 0);
        *kept.bookings[0].last().unwrap()
    }
}

impl Book for Notes {
    fn open(&self, opening: &Opening) -> Result<Option<Ticket>, Refusal> {
        let mut kept = self.kept.lock().unwrap();
        let spent = kept.total();
        if spent >= self.cap {
            kept.refusals += 1;
            let cap = CapReached { cap: Scope::Run, unit: Unit::Tokens, limit: self.cap, spent };
            return Err(Refusal::Cap(cap));
        }
        kept.openings.push(opening.clone());
        kept.bookings.push(Vec::new());
        self.changed.notify_all();
        Ok(Some(Ticket((kept.openings.len() - 1).to_string())))
    }

    fn book(&self, ticket: &Ticket, tokens: Tokens, stage: Stage) -> Result<(), BookError> {
        let mut kept = self.kept.lock().unwrap();
        let bookings = &mut kept.bookings[ticket.0.parse::<usize>().unwrap()];
        assert!(
            !bookings.iter().any(|(_, stage)| stage.is_over()),
            "a request that is over is not booked again"
        );
        bookings.push((tokens, stage));
        self.changed.notify_all();
        Ok(())
    }
}

pub(crate) fn tokens(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Tokens {
    Tokens { input, output, cache_read, cache_write }
}

/// Starts a proxy whose providers are both at one address.
pub(crate) fn proxy(book: Arc<dyn Book>, provider: &str) -> Proxy {
    let upstreams = Upstreams { anthropic: provider.to_owned(), openai: format!("{provider}/v1") };
    Proxy::start(book, upstreams, IN_FLIGHT).unwrap()
}

/// A message of HTTP as it was on the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Reads a message with a body of a known length.
    fn read(reader: &mut BufReader<TcpStream>) -> Self {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap() == 0 {
                break;
            }
        }
        let lower = head.to_ascii_lowercase();
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length:"));
        let mut body = vec![0; length.map_or(0, |length| length.trim().parse().unwrap())];
        reader.read_exact(&mut body).unwrap();
        Self { head, body }
    }
}

/// A provider at a socket: each connection is given to a function with its first request.
pub(crate) struct Provider {
    pub(crate) url: String,
    connections: Arc<AtomicUsize>,
}

impl Provider {
    /// Listens until the test ends; the thread waits for connections and nothing else.
    pub(crate) fn start(serve: impl Fn(Message, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, serve) = (Arc::clone(&connections), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                count.fetch_add(1, Ordering::SeqCst);
                let serve = Arc::clone(&serve);
                thread::spawn(move || {
                    let request = Message::read(&mut BufReader::new(stream.try_clone().unwrap()));
                    serve(request, &mut stream);
                });
            }
        });
        Self { url, connections }
    }

    /// Answers every connection with the same bytes, and closes it.
    pub(crate) fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |_, stream| stream.write_all(&answer).unwrap())
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Returns an answer with a body of this kind, up to the end of the connection.
pub(crate) fn answer(kind: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{body}")
}

/// Connects to where a URL leads; returns the connection and the path.
pub(crate) fn connect(url: &str) -> (TcpStream, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (address, path) = rest.split_once('/').unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    (stream, format!("/{path}"))
}

/// Sends a request and returns the connection, with nothing read from it.
pub(crate) fn send(method: &str, url: &str, headers: &str, body: &[u8]) -> BufReader<TcpStream> {
    let (mut stream, path) = connect(url);
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{headers}\r\n");
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    BufReader::new(stream)
}

/// Sends a request and reads the whole answer, chunks joined.
pub(crate) fn ask(method: &str, url: &str, headers: &str, body: &[u8]) -> Message {
    let mut reader = send(method, url, &format!("{headers}Connection: close\r\n"), body);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let body = &bytes[end..];
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    Message { head, body: if is_chunked { dechunked(body) } else { body.to_vec() } }
}

pub(crate) fn post(url: &str, body: &str) -> Message {
    ask("POST", url, "Content-Type: application/json\r\n", body.as_bytes())
}

fn dechunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n").expect("a chunk has a length");
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&rest[line + 2..line + 2 + length]);
        rest = &rest[line + 4 + length..];
    }
}

/// Renders an event of a stream.
pub(crate) fn event(data: &str) -> String {
    format!("event: x\ndata: {data}\n\n")
}
