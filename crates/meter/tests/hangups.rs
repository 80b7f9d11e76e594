//! Clients that hang up and providers that cut their answers: what is booked is never less than what was finished.
//!
//! The provider here charges for every answer that it has begun, to the end, whoever listens.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use meter::{Proxy, Stage, Tokens};
use proptest::prelude::*;
use support::{Notes, PATIENCE, Provider, event, post, proxy, send, tokens};

/// The most that a request allows for its answer.
const MOST: u64 = 9000;

/// An API as a client uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Messages,
    MessagesWhole,
    /// Nothing but pings until the end: a model that thinks.
    Pings,
    Responses,
    ResponsesWhole,
    Chat,
    /// A chat that never says what it used.
    ChatSilent,
    ChatWhole,
}

const KINDS: [Kind; 8] = [
    Kind::Messages,
    Kind::MessagesWhole,
    Kind::Pings,
    Kind::Responses,
    Kind::ResponsesWhole,
    Kind::Chat,
    Kind::ChatSilent,
    Kind::ChatWhole,
];

impl Kind {
    fn url(self, proxy: &Proxy) -> String {
        match self {
            Self::Messages | Self::MessagesWhole | Self::Pings => {
                format!("{}/v1/messages", proxy.anthropic_url())
            }
            Self::Responses | Self::ResponsesWhole => format!("{}/responses", proxy.openai_url()),
            Self::Chat | Self::ChatSilent | Self::ChatWhole => {
                format!("{}/chat/completions", proxy.openai_url())
            }
        }
    }

    fn request(self, name: &str) -> String {
        let most = match self {
            Self::Responses | Self::ResponsesWhole => "max_output_tokens",
            Self::Messages | Self::MessagesWhole | Self::Pings => "max_tokens",
            Self::Chat | Self::ChatSilent | Self::ChatWhole => "max_completion_tokens",
        };
        // Long enough that no estimate of its length comes near what it says that it used.
        let text = "word ".repeat(20);
        format!(r#"{{"model":"{name}","{most}":{MOST},"messages":[{{"role":"user","content":"{text}"}}]}}"#)
    }

    /// Returns an answer that used so much.
    fn answer(self, used: Tokens) -> String {
        let Tokens { input, output, .. } = used;
        let anthropic = format!(r#"{{"input_tokens":{input},"output_tokens":{output}}}"#);
        let start = format!(
            r#"{{"type":"message_start","message":{{"usage":{{"input_tokens":{input},"output_tokens":1}}}}}}"#
        );
        let text = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"héllo"}}"#;
        let delta = format!(r#"{{"type":"message_delta","usage":{{"output_tokens":{output}}}}}"#);
        let stop = r#"{"type":"message_stop"}"#;
        let ping = r#"{"type":"ping"}"#;
        let chat = format!(r#"{{"prompt_tokens":{input},"completion_tokens":{output}}}"#);
        let chunk = r#"{"choices":[{"delta":{"content":"hello"}}],"usage":null}"#;
        let events = |events: &[&str]| events.iter().map(|data| event(data)).collect::<String>();
        match self {
            Self::Messages => events(&[&start, ping, text, text, &delta, stop]),
            Self::Pings => events(&[&start, ping, ping, ping, ping, &delta, stop]),
            Self::MessagesWhole => format!(r#"{{"content":[{{"text":"hello"}}],"usage":{anthropic}}}"#),
            Self::ResponsesWhole => format!(r#"{{"output":[{{"text":"hello"}}],"usage":{anthropic}}}"#),
            Self::ChatWhole => format!(r#"{{"choices":[{{"text":"hello"}}],"usage":{chat}}}"#),
            Self::Responses => events(&[
                r#"{"type":"response.created","response":{"usage":null}}"#,
                r#"{"type":"response.output_text.delta","delta":"hello"}"#,
                &format!(r#"{{"type":"response.completed","response":{{"usage":{anthropic}}}}}"#),
            ]),
            Self::Chat => events(&[chunk, chunk, &format!(r#"{{"choices":[],"usage":{chat}}}"#), "[DONE]"]),
            Self::ChatSilent => events(&[chunk, chunk, "[DONE]"]),
        }
    }
}

/// What becomes of a request at the provider.
#[derive(Clone, Debug)]
struct Fate {
    kind: Kind,
    used: Tokens,
    /// Where the answer stops, in bytes of its body: until the client is gone, or for ever.
    stop: Option<(usize, Stop)>,
    /// Whether the answer comes in chunks, or ends with the connection.
    is_chunked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// The client hangs up here, and the provider goes on.
    HangUp,
    /// The client hangs up before the answer has a head.
    HangUpBeforeHead,
    /// The provider cuts the connection here.
    Cut,
}

/// A provider that knows the fate of each model, and what it has finished.
struct Upstream {
    provider: Provider,
    fates: Arc<Mutex<BTreeMap<String, Fate>>>,
    finished: Arc<Mutex<BTreeMap<String, Tokens>>>,
    /// Told when an answer has come as far as its client shall wait.
    stopped: Receiver<String>,
    gone: Arc<Mutex<BTreeMap<String, Sender<()>>>>,
}

impl Upstream {
    fn start() -> Self {
        let fates: Arc<Mutex<BTreeMap<String, Fate>>> = Arc::default();
        let finished: Arc<Mutex<BTreeMap<String, Tokens>>> = Arc::default();
        let gone: Arc<Mutex<BTreeMap<String, Sender<()>>>> = Arc::default();
        let (tell, stopped) = channel();
        let tell = Mutex::new(tell);
        let (known, done, wait) = (Arc::clone(&fates), Arc::clone(&finished), Arc::clone(&gone));
        let provider = Provider::start(move |request, stream| {
            let text = request.text();
            let name = text.split('"').nth(3).unwrap().to_owned();
            let fate = known.lock().unwrap()[&name].clone();
            let (hang_up, hung_up) = channel();
            wait.lock().unwrap().insert(name.clone(), hang_up);
            let tell = || tell.lock().unwrap().send(name.clone()).unwrap();
            let body = fate.kind.answer(fate.used);
            let framing = if fate.is_chunked { "transfer-encoding: chunked\r\n" } else { "" };
            let head = format!("HTTP/1.1 200 OK\r\n{framing}connection: close\r\n\r\n");
            let (at, stop) = fate.stop.map_or((body.len(), None), |(at, stop)| (at, Some(stop)));
            if stop == Some(Stop::HangUpBeforeHead) {
                tell();
                hung_up.recv_timeout(PATIENCE).unwrap();
            }
            if stop != Some(Stop::Cut) || at > 0 {
                done.lock().unwrap().insert(name.clone(), fate.used);
            }
            let at = at.min(body.len());
            // Nobody may listen any more, which the provider does not mind.
            let _ = stream.write_all(head.as_bytes());
            let _ = say(stream, &body.as_bytes()[..at], fate.is_chunked);
            match stop {
                Some(Stop::Cut) => return,
                Some(Stop::HangUp) => {
                    tell();
                    hung_up.recv_timeout(PATIENCE).unwrap();
                }
                Some(Stop::HangUpBeforeHead) | None => {}
            }
            let _ = say(stream, &body.as_bytes()[at..], fate.is_chunked);
            if fate.is_chunked {
                let _ = stream.write_all(b"0\r\n\r\n");
            }
        });
        Self { provider, fates, finished, stopped, gone }
    }

    fn expect(&self, name: &str, fate: Fate) {
        self.fates.lock().unwrap().insert(name.to_owned(), fate);
    }

    /// Lets a provider go on whose client is gone.
    fn go_on(&self, name: &str) {
        self.gone.lock().unwrap()[name].send(()).unwrap();
    }

    fn finished(&self, name: &str) -> Tokens {
        self.finished.lock().unwrap().get(name).copied().unwrap_or_default()
    }
}

fn say(stream: &mut TcpStream, bytes: &[u8], is_chunked: bool) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if !is_chunked {
        return stream.write_all(bytes);
    }
    stream.write_all(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat())
}

/// Returns what was booked of each model, when all are over.
fn booked(notes: &Notes, count: usize) -> BTreeMap<String, (Tokens, Stage)> {
    let kept = notes.wait("all are over", |kept| kept.bookings.len() == count && kept.open() == 0);
    let names = kept.openings.into_iter().map(|opening| opening.model);
    names.zip(kept.bookings.into_iter().map(|bookings| *bookings.last().unwrap())).collect()
}

fn covers(booked: Tokens, finished: Tokens) -> bool {
    booked.input >= finished.input && booked.output >= finished.output
}

#[test]
fn a_client_that_hangs_up_anywhere_pays_what_the_provider_finished() {
    let upstream = Upstream::start();
    let used = tokens(77, 4321, 0, 0);
    for kind in KINDS {
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &upstream.provider.url);
        let length = kind.answer(used).len();
        let mut points = vec![(0, Stop::HangUpBeforeHead), (0, Stop::HangUp)];
        points.extend((1..12).map(|part| (length * part / 12, Stop::HangUp)));
        points.push((length, Stop::HangUp));
        for (number, point) in points.iter().enumerate() {
            let name = format!("m{number}");
            upstream.expect(&name, Fate { kind, used, stop: Some(*point), is_chunked: number % 2 == 0 });
            let reader = send("POST", &kind.url(&proxy), "", kind.request(&name).as_bytes());
            assert_eq!(upstream.stopped.recv_timeout(PATIENCE).unwrap(), name);
            drop(reader);
            upstream.go_on(&name);
        }
        let booked = booked(&notes, points.len());
        for (name, (booked, stage)) in booked {
            if kind == Kind::ChatSilent {
                assert_eq!(stage, Stage::OverAtMost, "{kind:?} {name}");
                assert!(covers(booked, used) && booked.output == MOST, "{kind:?} {name}: {booked:?}");
            } else {
                assert_eq!((booked, stage), (used, Stage::Over), "{kind:?} {name}");
            }
        }
        assert_eq!(proxy.take_seen().outage, None, "{kind:?}: that nobody listens is no outage");
    }
}

#[test]
fn an_answer_that_the_provider_cuts_is_booked_at_its_upper_bound() {
    let upstream = Upstream::start();
    let used = tokens(77, 4321, 0, 0);
    for kind in KINDS {
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &upstream.provider.url);
        let length = kind.answer(used).len();
        let points: Vec<usize> = (0..12).map(|part| length * part / 12).chain([length - 1]).collect();
        for (number, at) in points.iter().enumerate() {
            let name = format!("m{number}");
            let fate = Fate { kind, used, stop: Some((*at, Stop::Cut)), is_chunked: number % 2 == 0 };
            upstream.expect(&name, fate);
            let mut reader =
                send("POST", &kind.url(&proxy), "Connection: close\r\n", kind.request(&name).as_bytes());
            // It ends in the middle, or fails.
            let _ = reader.read_to_end(&mut Vec::new());
        }
        for (name, (booked, stage)) in booked(&notes, points.len()) {
            let finished = upstream.finished(&name);
            assert!(covers(booked, finished), "{kind:?} {name}: {booked:?} of {finished:?}");
            let is_known = booked == finished;
            assert!(is_known || stage == Stage::OverAtMost, "{kind:?} {name}: {booked:?} is not marked");
            assert!(booked.output <= MOST, "{kind:?} {name}: {booked:?}");
        }
    }
}

#[test]
fn a_client_that_tries_again_pays_for_every_try() {
    let upstream = Upstream::start();
    let used = tokens(77, 4321, 0, 0);
    for kind in KINDS {
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &upstream.provider.url);
        for (number, stop) in
            [Some((40, Stop::Cut)), Some((0, Stop::Cut)), Some((60, Stop::Cut)), None].into_iter().enumerate()
        {
            let name = format!("m{number}");
            upstream.expect(&name, Fate { kind, used, stop, is_chunked: true });
            let mut reader =
                send("POST", &kind.url(&proxy), "Connection: close\r\n", kind.request(&name).as_bytes());
            // It ends in the middle, or fails, until the last.
            let _ = reader.read_to_end(&mut Vec::new());
        }
        let booked = booked(&notes, 4);
        assert_eq!(booked["m1"], (Tokens::default(), Stage::Over), "{kind:?}: nothing had come");
        for name in ["m0", "m2", "m3"] {
            assert!(covers(booked[name].0, upstream.finished(name)), "{kind:?} {name}: {:?}", booked[name]);
        }
    }
}

#[test]
fn a_client_that_hangs_up_while_tokens_are_counted_pays_nothing() {
    let (tell, asked) = channel();
    let tell = Mutex::new(tell);
    let provider = Provider::start(move |_, stream| {
        tell.lock().unwrap().send(()).unwrap();
        // The end of the connection is the proxy's word that nobody listens any more.
        let _ = stream.read(&mut [0]);
    });
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let count = format!("{}/v1/messages/count_tokens", proxy.anthropic_url());
    let reader = send("POST", &count, "", Kind::Messages.request("m").as_bytes());
    asked.recv_timeout(PATIENCE).unwrap();
    drop(reader);
    drop(proxy);
    assert!(notes.kept().openings.is_empty());
}

#[test]
fn a_connection_that_breaks_before_a_byte_costs_nothing_whether_its_client_waits_or_not() {
    for is_patient in [true, false] {
        let (tell, asked) = channel();
        let (go_on, wait) = channel::<()>();
        let (tell, wait) = (Mutex::new(tell), Mutex::new(wait));
        let provider = Provider::start(move |_, _| {
            tell.lock().unwrap().send(()).unwrap();
            wait.lock().unwrap().recv_timeout(PATIENCE).unwrap();
        });
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
        let kind = Kind::Messages;
        let mut reader = Some(send("POST", &kind.url(&proxy), "", kind.request("m").as_bytes()));
        asked.recv_timeout(PATIENCE).unwrap();
        if !is_patient {
            drop(reader.take());
        }
        go_on.send(()).unwrap();
        assert_eq!(notes.last(), (Tokens::default(), Stage::Over), "{is_patient}");
    }
}

#[test]
fn a_client_that_hangs_up_before_its_request_is_sent_pays_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &url);
    let reader = send("POST", &Kind::Messages.url(&proxy), "", Kind::Messages.request("m").as_bytes());
    // A connection that is never encrypted: the request waits for it.
    let _connection = listener.accept().unwrap();
    drop(reader);
    assert_eq!(notes.last(), (Tokens::default(), Stage::Over));
}

#[test]
fn a_provider_that_answers_nobody_is_booked_at_its_upper_bound_when_the_proxy_ends() {
    for begins in ["", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"] {
        let (tell, asked) = channel();
        let tell = Mutex::new(tell);
        let provider = Provider::start(move |_, stream| {
            stream.write_all(begins.as_bytes()).unwrap();
            tell.lock().unwrap().send(()).unwrap();
            // Until the proxy is gone.
            let _ = stream.read(&mut [0]);
        });
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
        let request = Kind::Pings.request("m");
        let reader = send("POST", &Kind::Pings.url(&proxy), "", request.as_bytes());
        asked.recv_timeout(PATIENCE).unwrap();
        drop(reader);
        drop(proxy);
        let most = tokens(request.len() as u64, MOST, 0, 0);
        assert_eq!(notes.last(), (most, Stage::OverAtMost), "{begins:?}");
    }
}

#[test]
fn an_endless_answer_is_read_on_no_further_than_its_bound() {
    let (tell, flooding) = channel();
    let tell = Mutex::new(tell);
    let provider = Provider::start(move |_, stream| {
        let start =
            Kind::Pings.answer(tokens(77, 1, 0, 0)).split_inclusive("\n\n").next().unwrap().to_owned();
        stream.write_all(support::answer("text/event-stream", &start).as_bytes()).unwrap();
        tell.lock().unwrap().send(()).unwrap();
        let ping = event(r#"{"type":"ping"}"#).repeat(1000);
        while stream.write_all(ping.as_bytes()).is_ok() {}
    });
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let reader = send("POST", &Kind::Pings.url(&proxy), "", Kind::Pings.request("m").as_bytes());
    flooding.recv_timeout(PATIENCE).unwrap();
    drop(reader);
    assert_eq!(notes.last(), (tokens(77, MOST, 0, 0), Stage::OverAtMost));
}

#[test]
fn an_error_in_the_middle_of_an_answer_costs_what_was_told_or_the_upper_bound() {
    let start = r#"{"type":"message_start","message":{"usage":{"input_tokens":77,"output_tokens":1}}}"#;
    let text = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"hello"}}"#;
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"no"}}"#;
    for (events, booked) in [
        (vec![error], (Tokens::default(), Stage::Over)),
        (vec![start, error], (tokens(77, 1, 0, 0), Stage::Over)),
        (vec![start, text, error], (tokens(77, MOST, 0, 0), Stage::OverAtMost)),
    ] {
        let body: String = events.iter().map(|data| event(data)).collect();
        let provider = Provider::saying(support::answer("text/event-stream", &body));
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
        assert_eq!(post(&Kind::Messages.url(&proxy), &Kind::Messages.request("m")).text(), body);
        assert_eq!(notes.last(), booked, "{events:?}");
    }
}

fn fate() -> impl Strategy<Value = Fate> {
    let stop = prop_oneof![
        2 => Just(None),
        3 => (0..900_usize).prop_map(|at| Some((at, Stop::HangUp))),
        1 => Just(Some((0, Stop::HangUpBeforeHead))),
        3 => (0..900_usize).prop_map(|at| Some((at, Stop::Cut))),
    ];
    (prop::sample::select(KINDS.to_vec()), 1..120_u64, 1..=MOST, stop, any::<bool>()).prop_map(
        |(kind, input, output, stop, is_chunked)| {
            // A cut behind the end is none.
            let length = kind.answer(tokens(input, output, 0, 0)).len();
            let stop = stop.filter(|(at, stop)| *stop != Stop::Cut || *at < length);
            Fate { kind, used: tokens(input, output, 0, 0), stop, is_chunked }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_becomes_of_many_requests_at_once_no_less_is_booked_than_was_finished(
        fates in prop::collection::vec(fate(), 1..40),
    ) {
        let upstream = Upstream::start();
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &upstream.provider.url);
        let mut waiting = BTreeMap::new();
        thread::scope(|scope| {
            for (number, fate) in fates.iter().enumerate() {
                let name = format!("m{number}");
                upstream.expect(&name, fate.clone());
                let (url, request) = (fate.kind.url(&proxy), fate.kind.request(&name));
                let mut reader = send("POST", &url, "Connection: close\r\n", request.as_bytes());
                match fate.stop {
                    Some((_, Stop::HangUp | Stop::HangUpBeforeHead)) => {
                        waiting.insert(name, reader);
                    }
                    Some((_, Stop::Cut)) | None => {
                        // It ends in the middle, or fails.
                        scope.spawn(move || reader.read_to_end(&mut Vec::new()).is_ok());
                    }
                }
            }
            while !waiting.is_empty() {
                let name = upstream.stopped.recv_timeout(PATIENCE).unwrap();
                drop(waiting.remove(&name));
                upstream.go_on(&name);
            }
        });
        for (name, (booked, stage)) in booked(&notes, fates.len()) {
            let finished = upstream.finished(&name);
            prop_assert!(covers(booked, finished), "{}: {:?} of {:?}", name, booked, finished);
            prop_assert!(booked == finished || stage == Stage::OverAtMost, "{}: {:?} {:?}", name, booked, stage);
        }
    }
}
