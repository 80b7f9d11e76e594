//! Streams through the proxy: untouched, unbuffered, and booked whatever becomes of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::{
    io::{BufRead as _, Read as _, Write as _},
    sync::mpsc::{Receiver, channel},
    sync::{Arc, Mutex},
};

use meter::Stage;
use support::{Notes, PATIENCE, Provider, answer, ask, event, post, proxy, send, tokens};
use testkit::model::{Model, Script, Turn};

const MESSAGES_START: &str = r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":40,"cache_creation_input_tokens":300,"cache_read_input_tokens":2000,"output_tokens":1}}}"#;
const MESSAGES_DELTA: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"12345678"}}"#;
const MESSAGES_END: &str =
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}"#;
const MESSAGES_STOP: &str = r#"{"type":"message_stop"}"#;
const REQUEST: &str =
    r#"{"model":"m-1","max_tokens":500,"stream":true,"messages":[{"role":"user","content":"12345678"}]}"#;

/// Lets a provider's thread wait for the test.
fn gate() -> (impl Fn(), impl Fn() + Send + Sync) {
    let (open, opened) = channel::<()>();
    let opened: Mutex<Receiver<()>> = Mutex::new(opened);
    (move || open.send(()).unwrap(), move || opened.lock().unwrap().recv_timeout(PATIENCE).unwrap())
}

#[test]
fn a_stream_is_booked_at_its_start_and_again_at_its_end() {
    let body = [MESSAGES_START, MESSAGES_DELTA, MESSAGES_END, MESSAGES_STOP].map(event).concat();
    let provider = Provider::saying(answer("text/event-stream", &body));
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let said = post(&format!("{}/v1/messages?beta=true", proxy.anthropic_url()), REQUEST);
    assert_eq!((said.status(), said.text()), (200, body));
    assert_eq!(notes.only(), tokens(40, 15, 2000, 300));
    let opening = &notes.kept().openings[0];
    assert_eq!((opening.model.as_str(), opening.estimate), ("m-1", tokens(2, 0, 0, 0)));
    let seen = proxy.take_seen();
    assert_eq!((seen.requests, seen.tokens), (1, tokens(40, 15, 2000, 300)));
    assert_eq!(proxy.take_seen(), meter::Traffic::default());
}

#[test]
fn the_first_chunk_is_there_and_booked_before_the_last_is_sent() {
    let (go_on, wait) = gate();
    let provider = Provider::start(move |_, stream| {
        stream.write_all(answer("text/event-stream", &event(MESSAGES_START)).as_bytes()).unwrap();
        wait();
        stream.write_all([MESSAGES_END, MESSAGES_STOP].map(event).concat().as_bytes()).unwrap();
    });
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let mut reader = send("POST", &format!("{}/v1/messages", proxy.anthropic_url()), "", REQUEST.as_bytes());
    let mut line = String::new();
    while !line.contains("message_start") {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0);
    }
    notes.wait("the input", |kept| kept.bookings[0] == [(tokens(40, 1, 2000, 300), Stage::UnderWay)]);
    go_on();
    while !line.contains("message_stop") {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0);
    }
    // Whoever has seen the end can count on its being booked.
    assert_eq!(notes.kept().bookings[0].last(), Some(&(tokens(40, 15, 2000, 300), Stage::Over)));
}

#[test]
fn every_byte_and_every_header_passes_as_it_is() {
    let heard = Arc::new(Mutex::new(None));
    let body: Vec<u8> =
        (0..200_000_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (keep, send) = (Arc::clone(&heard), body.clone());
    let provider = Provider::start(move |request, stream| {
        *keep.lock().unwrap() = Some(request);
        let head = "HTTP/1.1 200 Fine\r\nX-Odd-Case: a  b\r\nx-twice: 1\r\nx-twice: 2\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        for chunk in send.chunks(7919) {
            stream
                .write_all(&[format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat())
                .unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let headers = "X-Api-Key: s3cret\r\nanthropic-Beta: a\r\nAccept-Encoding: gzip, br\r\nKeep-Alive: 5\r\n";
    let url = format!("{}/v1/messages?beta=true", proxy.anthropic_url());
    let said = ask("POST", &url, headers, REQUEST.as_bytes());
    assert!(said.body == body, "the body has changed");
    for line in ["X-Odd-Case: a  b\r\n", "x-twice: 1\r\n", "x-twice: 2\r\n"] {
        assert!(said.head.contains(line), "{line} is not in {}", said.head);
    }
    let heard = heard.lock().unwrap().clone().unwrap();
    assert_eq!(heard.text(), REQUEST);
    assert!(heard.head.starts_with("POST /v1/messages?beta=true HTTP/1.1\r\n"), "{}", heard.head);
    for line in ["X-Api-Key: s3cret\r\n", "anthropic-Beta: a\r\n"] {
        assert!(heard.head.contains(line), "{line} is not in {}", heard.head);
    }
    let lower = heard.head.to_ascii_lowercase();
    assert!(lower.contains("accept-encoding: identity\r\n") && !lower.contains("gzip"), "{lower}");
    assert!(!lower.contains("keep-alive"), "{lower}");
    assert_eq!(lower.matches("host: ").count(), 1);
    // What cannot be read is booked at its upper bound.
    assert_eq!(notes.last(), (tokens(REQUEST.len() as u64, 500, 0, 0), Stage::OverAtMost));
}

#[test]
fn a_stream_that_breaks_off_is_booked_at_its_upper_bound() {
    let provider = Provider::start(move |_, stream| {
        let body = [MESSAGES_START, MESSAGES_DELTA].map(event).concat();
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(format!("{head}{:x}\r\n{body}\r\n", body.len()).as_bytes()).unwrap();
    });
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let mut reader = send("POST", &format!("{}/v1/messages", proxy.anthropic_url()), "", REQUEST.as_bytes());
    let mut text = String::new();
    // The client sees that it was cut, as it would have without a proxy.
    reader.read_to_string(&mut text).unwrap();
    assert!(text.contains("12345678") && !text.ends_with("0\r\n\r\n"), "{text}");
    assert_eq!(notes.last(), (tokens(40, 500, 2000, 300), Stage::OverAtMost));
    assert_eq!(proxy.take_seen().outage.unwrap().words, "the provider's answer broke off");
}

#[test]
fn a_long_answer_is_booked_while_it_goes_on() {
    let (go_on, wait) = gate();
    let provider = Provider::start(move |_, stream| {
        let long = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"TEXT"}}"#;
        let long = long.replace("TEXT", &"word".repeat(2000));
        let body = [MESSAGES_START, &long].map(event).concat();
        stream.write_all(answer("text/event-stream", &body).as_bytes()).unwrap();
        wait();
    });
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let _reader = send("POST", &format!("{}/v1/messages", proxy.anthropic_url()), "", REQUEST.as_bytes());
    notes.wait("the words so far", |kept| {
        kept.bookings
            .first()
            .is_some_and(|first| first.contains(&(tokens(40, 2000, 2000, 300), Stage::UnderWay)))
    });
    // The end of the proxy is the end of the stream, and the model may have written more than it said it would.
    drop(proxy);
    assert_eq!(notes.last(), (tokens(40, 2000, 2000, 300), Stage::OverAtMost));
    go_on();
}

#[test]
fn responses_are_booked_with_cached_tokens_apart() {
    let usage = r#"{"input_tokens":1000,"input_tokens_details":{"cached_tokens":900},"output_tokens":70,"output_tokens_details":{"reasoning_tokens":50},"total_tokens":1070}"#;
    for kind in ["completed", "incomplete", "failed"] {
        let last =
            format!(r#"{{"type":"response.{kind}","response":{{"id":"r","usage":{usage},"error":null}}}}"#);
        let body = [r#"{"type":"response.output_text.delta","delta":"hi"}"#, &last].map(event).concat();
        let provider = Provider::saying(answer("text/event-stream", &body));
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
        let said = post(&format!("{}/responses", proxy.openai_url()), r#"{"model":"g","input":"hi"}"#);
        assert_eq!(said.text(), body);
        assert_eq!(notes.only(), tokens(100, 70, 900, 0), "{kind}");
    }
}

#[test]
fn chats_are_booked_by_their_last_chunk_or_at_their_upper_bound() {
    let chunk = r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"12345678"},"finish_reason":null}],"usage":null}"#;
    let usage = r#"{"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":30,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":10}}}"#;
    let url = |proxy: &meter::Proxy| format!("{}/chat/completions", proxy.openai_url());
    let body = r#"{"model":"c","max_tokens":70,"stream":true,"messages":[{"role":"user","content":"1234"}]}"#;
    let most = tokens(body.len() as u64, 70, 0, 0);
    for (events, booked) in [
        (vec![chunk, usage, "[DONE]"], (tokens(20, 9, 10, 0), Stage::Over)),
        (vec![chunk, "[DONE]"], (most, Stage::OverAtMost)),
    ] {
        let stream: String = events.into_iter().map(|data| format!("data: {data}\n\n")).collect();
        let provider = Provider::saying(answer("text/event-stream", &stream));
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
        assert_eq!(post(&url(&proxy), body).text(), stream);
        assert_eq!(notes.last(), booked);
    }
}

#[test]
fn an_answer_in_one_piece_is_booked_before_it_is_there() {
    let whole = [
        ("/v1/messages", r#"{"type":"message","content":[],"usage":{"input_tokens":3,"output_tokens":4}}"#),
        ("/responses", r#"{"object":"response","usage":{"input_tokens":3,"output_tokens":4}}"#),
        ("/chat/completions", r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}"#),
    ];
    for (path, body) in whole {
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n");
        let provider = Provider::saying(head + body);
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
        let base = if path.starts_with("/v1") { proxy.anthropic_url() } else { proxy.openai_url() };
        assert_eq!(post(&format!("{base}{path}"), REQUEST).text(), body);
        assert_eq!(notes.kept().bookings, [[(tokens(3, 4, 0, 0), Stage::Over)]], "{path}");
    }
}

#[test]
fn the_scripted_model_is_booked_as_it_says() {
    let model = Model::start(Script::list([]).then(Turn::say("a few words")));
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &model.url());
    let messages = format!("{}/v1/messages", proxy.anthropic_url());
    let responses = format!("{}/responses", proxy.openai_url());
    let tools = r#""tools":[{"name":"t","input_schema":{}}]"#;
    for is_stream in [true, false] {
        let request = format!(r#"{{"model":"m","stream":{is_stream},"messages":[],{tools}}}"#);
        let said = post(&messages, &request).text();
        assert!(said.contains("a few words"), "{said}");
        let request = format!(r#"{{"model":"m","stream":{is_stream},"input":[],{tools}}}"#);
        let said = post(&responses, &request).text();
        assert!(said.contains("a few words"), "{said}");
    }
    let kept = notes.wait("four requests", |kept| kept.bookings.len() == 4 && kept.open() == 0);
    for bookings in kept.bookings {
        let (booked, _) = bookings.last().unwrap();
        assert!(booked.input > 10 && booked.output > 5, "{booked:?}");
    }
}
