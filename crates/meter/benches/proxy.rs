//! The metering proxy against no proxy: what it adds to the first event and to every chunk, and how much goes through.
//!
//! A client, a provider and the proxy are threads of this program, so one clock times them all: the provider writes into
//! every event when it was sent. The ways are taken in turn, so that whatever else the machine does hits all of them.

use std::{
    env,
    error::Error,
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use meter::{Book, BookError, Opening, Proxy, Refusal, Stage, Ticket, Tokens, Upstreams};

/// How many requests are sent each way unless the caller says otherwise.
const REQUESTS: usize = 500;
/// How many chunks an answer has whose chunks are timed, and how far apart they are: a fast model's pace.
const CHUNKS: u64 = 20;
const APART: Duration = Duration::from_millis(1);
/// How many bytes a request has: a conversation of some length.
const REQUEST: usize = 64 * 1024;
/// How many bytes an answer has that is sent as fast as it can be.
const FLOOD: usize = 32 * 1024 * 1024;
/// How many clients take such answers at once.
const CLIENTS: usize = 20;
/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// One way from the client to the provider.
struct Way {
    name: &'static str,
    address: SocketAddr,
    path: String,
    connection: BufReader<TcpStream>,
    /// From the request's first byte to the first event, and from a chunk's sending to its arrival, in microseconds.
    first: Vec<f64>,
    chunks: Vec<f64>,
}

type Result<T = ()> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result {
    // Cargo adds words of its own.
    let requests = env::args().skip(1).find_map(|argument| argument.parse().ok());
    measure(requests.unwrap_or(REQUESTS))
}

fn measure(requests: usize) -> Result {
    let clock = Instant::now();
    let provider = Provider::start(clock)?;
    let upstreams = || {
        let address = format!("http://{}", provider.address);
        Upstreams { anthropic: address.clone(), openai: address }
    };
    let start = |book| Proxy::start(book, upstreams(), 64);
    let (quick, synced) = (start(Arc::new(Paper::none()))?, start(Arc::new(Paper::in_file()?))?);
    let mut ways = vec![
        Way::new("direct", &format!("http://{}", provider.address))?,
        Way::new("through the proxy", &quick.anthropic_url())?,
        Way::new("through the proxy, every booking synced", &synced.anthropic_url())?,
    ];
    say(&format!("sending {requests} requests each way"))?;
    for number in 0..requests + requests / 10 {
        for way in &mut ways {
            way.time(clock)?;
            if number == requests / 10 {
                // What was timed until here was the warm-up.
                (way.first, way.chunks) = (Vec::new(), Vec::new());
            }
        }
    }
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for way in &ways {
        one.push(way.flood(1)?);
        many.push(way.flood(CLIENTS)?);
    }
    report(&ways, &one, &many)?;
    drop((quick, synced));
    provider.stop()
}

fn report(ways: &[Way], one: &[f64], many: &[f64]) -> Result {
    say(
        "\n| Way                                     | First event, median µs |   p99 | A chunk, median µs |   p99 | One stream | 20 streams |",
    )?;
    say(
        "| --------------------------------------- | ---------------------: | ----: | -----------------: | ----: | ---------: | ---------: |",
    )?;
    for ((way, one), many) in ways.iter().zip(one).zip(many) {
        let [first, late] = quantiles(&way.first);
        let [chunk, tardy] = quantiles(&way.chunks);
        say(&format!(
            "| {:<39} | {first:>22.0} | {late:>5.0} | {chunk:>18.0} | {tardy:>5.0} | {one:>5.0} MB/s | {many:>5.0} MB/s |",
            way.name
        ))?;
    }
    let [direct, proxied, ..] = ways else { return Ok(()) };
    let added = |direct: &[f64], proxied: &[f64]| {
        let ([median, last], [median_direct, last_direct]) = (quantiles(proxied), quantiles(direct));
        [median - median_direct, last - last_direct]
    };
    let [median, last] = added(&direct.first, &proxied.first);
    let met = if median < 1000.0 { "aim met" } else { "aim missed" };
    say(&format!(
        "\nadded to the first event: {median:.0} µs, p99 {last:.0} µs (aim: less than 1,000): {met}"
    ))?;
    let [median, last] = added(&direct.chunks, &proxied.chunks);
    say(&format!("added to a chunk: {median:.0} µs, p99 {last:.0} µs"))
}

/// Returns the median and the 99th percentile.
fn quantiles(samples: &[f64]) -> [f64; 2] {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1) as f64;
    [0.5, 0.99].map(|part| sorted.get((last * part).round() as usize).copied().unwrap_or(f64::NAN))
}

fn say(text: &str) -> Result {
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

impl Way {
    fn new(name: &'static str, url: &str) -> Result<Self> {
        let rest = url.trim_start_matches("http://");
        let (address, path) =
            rest.split_once('/').map_or((rest, String::new()), |(a, path)| (a, format!("/{path}")));
        let address = address.parse()?;
        let connection = connect(address)?;
        Ok(Self { name, address, path, connection, first: Vec::new(), chunks: Vec::new() })
    }

    /// Sends a request and times its answer.
    fn time(&mut self, clock: Instant) -> io::Result<()> {
        let request = self.request("timed");
        let sent = clock.elapsed();
        self.connection.get_mut().write_all(&request)?;
        let mut events = 0;
        answer(&mut self.connection, |line| {
            let Some(at) = sent_at(line) else { return };
            let now = clock.elapsed();
            if events == 0 {
                self.first.push((now - sent).as_secs_f64() * 1e6);
            }
            events += 1;
            self.chunks.push(now.saturating_sub(at).as_secs_f64() * 1e6);
        })?;
        if events == CHUNKS { Ok(()) } else { Err(io::Error::other(format!("{events} chunks have come"))) }
    }

    /// Takes long answers with so many clients at once; returns how many megabytes came a second.
    fn flood(&self, clients: usize) -> Result<f64> {
        let each = FLOOD / clients;
        let request = self.request(&format!("flood={each}"));
        let started = Instant::now();
        let whole = thread::scope(|scope| {
            let take = || -> io::Result<u64> {
                let mut connection = connect(self.address)?;
                connection.get_mut().write_all(&request)?;
                let mut bytes = 0;
                answer(&mut connection, |line| bytes += line.len() as u64)?;
                Ok(bytes)
            };
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(take)).collect();
            let ended =
                clients.into_iter().map(|client| client.join().unwrap_or(Err(io::ErrorKind::Other.into())));
            ended.sum::<io::Result<u64>>()
        });
        Ok(whole? as f64 / started.elapsed().as_secs_f64() / 1e6)
    }

    fn request(&self, what: &str) -> Vec<u8> {
        let text = "word ".repeat(REQUEST / 5);
        let body =
            format!(r#"{{"model":"m","stream":true,"messages":[{{"role":"user","content":"{text}"}}]}}"#);
        let (path, length) = (&self.path, body.len());
        let head =
            format!("POST {path}/v1/messages?{what} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
        (head + &body).into_bytes()
    }
}

fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(BufReader::with_capacity(64 * 1024, stream))
}

/// Reads an answer in chunks, line by line, to its end.
fn answer(connection: &mut BufReader<TcpStream>, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut line = Vec::new();
    let mut is_last = false;
    loop {
        line.clear();
        if connection.read_until(b'\n', &mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if is_last && line == b"\r\n" {
            return Ok(());
        }
        // The last chunk has no bytes.
        is_last = line == b"0\r\n";
        each(&line);
    }
}

/// Returns when an event was sent.
fn sent_at(line: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(line).ok()?;
    let (_, rest) = text.split_once(r#""at":"#)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().map(Duration::from_nanos)
}

/// A provider that answers every request at once: with chunks apart, or with as many bytes as it is asked for.
struct Provider {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: thread::JoinHandle<()>,
}

impl Provider {
    fn start(clock: Instant) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            for stream in listener.incoming().map_while(io::Result::ok) {
                if until.load(Ordering::SeqCst) {
                    return;
                }
                // A connection ends when its client does; what fails is missed by the client.
                thread::spawn(move || drop(serve(stream, clock)));
            }
        });
        Ok(Self { address, is_over, thread })
    }

    fn stop(self) -> Result {
        self.is_over.store(true, Ordering::SeqCst);
        TcpStream::connect(self.address)?;
        self.thread.join().map_err(|_| "the provider has failed".into())
    }
}

fn serve(stream: TcpStream, clock: Instant) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        io::copy(&mut reader.by_ref().take(length), &mut io::sink())?;
        writer.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        let flood = head.split_once("flood=").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
        match flood {
            Some(bytes) => flood_with(&mut writer, bytes)?,
            None => timed(&mut writer, clock)?,
        }
        writer.write_all(&[event(r#"{"type":"message_stop"}"#).as_bytes(), b"0\r\n\r\n"].concat())?;
    }
}

fn timed(writer: &mut TcpStream, clock: Instant) -> io::Result<()> {
    for number in 0..CHUNKS {
        if number > 0 {
            thread::sleep(APART);
        }
        let at = clock.elapsed().as_nanos();
        let data = if number == 0 {
            format!(
                r#"{{"type":"message_start","at":{at},"message":{{"usage":{{"input_tokens":16000,"output_tokens":1}}}}}}"#
            )
        } else {
            format!(
                r#"{{"type":"content_block_delta","at":{at},"delta":{{"type":"text_delta","text":"some words"}}}}"#
            )
        };
        writer.write_all(event(&data).as_bytes())?;
    }
    Ok(())
}

fn flood_with(writer: &mut TcpStream, bytes: usize) -> io::Result<()> {
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a few words at once"}}"#;
    let events = event(delta).repeat(100);
    for _ in 0..bytes / events.len() {
        writer.write_all(events.as_bytes())?;
    }
    Ok(())
}

/// Renders an event as a chunk.
fn event(data: &str) -> String {
    let event = format!("event: x\ndata: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// A book that gives permission to everyone, and may put every line on disk.
struct Paper {
    file: Option<Mutex<File>>,
    count: AtomicU64,
}

impl Paper {
    fn none() -> Self {
        Self { file: None, count: AtomicU64::new(0) }
    }

    fn in_file() -> io::Result<Self> {
        // On the disk of the build: where temporary files usually are is often memory, where syncing costs nothing.
        let file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR"))?;
        Ok(Self { file: Some(Mutex::new(file)), ..Self::none() })
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(file, "{line}")?;
        file.sync_data()
    }
}

impl Book for Paper {
    fn open(&self, opening: &Opening) -> std::result::Result<Option<Ticket>, Refusal> {
        let ticket = self.count.fetch_add(1, Ordering::SeqCst).to_string();
        self.write(&format!("{ticket} {opening:?}")).map_err(|error| Refusal::Failed(error.to_string()))?;
        Ok(Some(Ticket(ticket)))
    }

    fn book(&self, ticket: &Ticket, tokens: Tokens, stage: Stage) -> std::result::Result<(), BookError> {
        self.write(&format!("{} {tokens:?} {stage:?}", ticket.0))
            .map_err(|error| BookError(error.to_string()))
    }
}
