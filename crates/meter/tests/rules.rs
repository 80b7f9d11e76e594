//! What the proxy lets through, what it refuses, and what it sees of the provider.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::{
    io::Write as _,
    net::TcpStream,
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use adapters::agent::ProviderFailure;
use engine::Time;
use meter::{Book, BookError, Opening, Refusal, Stage, Ticket, Tokens, Upstreams};
use support::{Notes, Provider, answer, ask, post, proxy, send, tokens};

const REQUEST: &str = r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#;

#[test]
fn a_wrong_token_gets_nothing_and_nobody_hears_of_it() {
    let provider = Provider::saying(answer("text/plain", "secret"));
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let url = proxy.anthropic_url();
    let (base, _) = url.rsplit_once("/anthropic").unwrap();
    let (address, token) = base.rsplit_once('/').unwrap();
    let other = token.replace(|c: char| c != 'z', "z");
    for base in [format!("{address}/{other}"), address.to_owned(), format!("{base}x")] {
        for path in ["/anthropic/v1/messages", "/openai/v1/models", "/"] {
            let said = post(&format!("{base}{path}"), REQUEST);
            assert_eq!(said.status(), 404, "{path}");
            assert!(!said.text().contains(token));
        }
    }
    assert_eq!(provider.connections(), 0);
    assert!(notes.kept().openings.is_empty());
}

#[test]
fn what_costs_nothing_passes_unbooked() {
    let provider = Provider::saying(answer("application/json", r#"{"input_tokens":5}"#));
    let notes = Notes::with_cap(0);
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let count = format!("{}/v1/messages/count_tokens", proxy.anthropic_url());
    assert_eq!(post(&count, REQUEST).text(), r#"{"input_tokens":5}"#);
    let count = format!("{}/responses/input_tokens", proxy.openai_url());
    assert_eq!(post(&count, r#"{"model":"m","input":"x"}"#).status(), 200);
    assert_eq!(ask("GET", &format!("{}/models", proxy.openai_url()), "", b"").status(), 200);
    assert_eq!(ask("GET", &format!("{}/v1/messages", proxy.anthropic_url()), "", b"").status(), 200);
    assert!(notes.kept().openings.is_empty());
    assert_eq!(proxy.take_seen(), meter::Traffic::default());
}

#[test]
fn what_may_cost_money_and_cannot_be_metered_is_refused() {
    let provider = Provider::saying(answer("text/plain", "never"));
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let words = |what: &str| {
        format!("warp does not meter {what}, so it is not let through; `metering = false` lets it")
    };

    let said = post(&format!("{}/v1/messages/batches", proxy.anthropic_url()), REQUEST);
    assert_eq!(said.status(), 402);
    let error = format!(r#""message":"{}""#, words("/v1/messages/batches"));
    assert!(said.text().contains(&error) && said.text().starts_with(r#"{"type":"error""#), "{}", said.text());

    let background = r#"{"model":"m","input":"x","background":true}"#;
    for (path, body, what) in [
        ("/embeddings", REQUEST, "/v1/embeddings"),
        ("/responses", background, "/v1/responses with `background`"),
    ] {
        let said = post(&format!("{}{path}", proxy.openai_url()), body);
        assert_eq!(said.status(), 400);
        assert!(said.head.contains("x-should-retry: false\r\n"));
        let error = format!(r#"{{"error":{{"message":"{}","#, words(what));
        assert!(said.text().starts_with(&error), "{}", said.text());
    }
    assert_eq!(provider.connections(), 0);
    assert!(notes.kept().openings.is_empty());
}

#[test]
fn at_a_cap_a_request_is_refused_in_the_providers_own_words() {
    let provider = Provider::saying(answer("text/plain", "never"));
    let proxy = proxy(Notes::with_cap(0), &provider.url);
    let words = "warp: the cap of this run is reached: 0 tokens of 0 tokens";
    let said = post(&format!("{}/v1/messages", proxy.anthropic_url()), REQUEST);
    assert_eq!(said.status(), 402);
    let expected = format!(r#"{{"type":"error","error":{{"type":"billing_error","message":"{words}"}}}}"#);
    assert_eq!(said.text(), expected);
    for path in ["/responses", "/responses/compact", "/chat/completions"] {
        let said = post(&format!("{}{path}", proxy.openai_url()), REQUEST);
        assert_eq!(said.status(), 400);
        assert!(said.head.contains("x-should-retry: false\r\n"));
        let error = format!(r#"{{"error":{{"message":"{words}","type":"invalid_request_error","#);
        assert!(said.text().starts_with(&error), "{}", said.text());
    }
    assert_eq!(provider.connections(), 0);
    let seen = proxy.take_seen();
    assert_eq!(seen.requests, 0);
    assert!(
        matches!(seen.refused, Some(Refusal::Cap(cap)) if cap.cap == engine::ledger::Scope::Run),
        "the cap is seen"
    );
}

#[test]
fn twenty_clients_never_pass_a_cap_by_more_than_what_is_in_flight() {
    const CLIENTS: usize = 20;
    const EACH: u64 = 100;
    const CAP: u64 = 2500;
    let in_flight = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now, peak) = (Arc::clone(&in_flight), Arc::clone(&most));
    let provider = Provider::start(move |_, stream| {
        peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let body = r#"{"content":[],"usage":{"input_tokens":60,"output_tokens":40}}"#;
        now.fetch_sub(1, Ordering::SeqCst);
        stream.write_all(answer("application/json", body).as_bytes()).unwrap();
    });
    let notes = Notes::with_cap(CAP);
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let url = format!("{}/v1/messages", proxy.anthropic_url());
    let start = Barrier::new(CLIENTS);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                start.wait();
                // A client that is refused stops; no client is served for ever.
                for _ in 0..1000 {
                    match post(&url, REQUEST).status() {
                        200 => {}
                        402 => return,
                        other => panic!("{other}"),
                    }
                }
                panic!("it is never refused");
            });
        }
    });
    let kept = notes.kept();
    assert_eq!((kept.open(), kept.refusals), (0, CLIENTS));
    let allowed = CAP + EACH * CLIENTS as u64;
    assert!((CAP..=allowed).contains(&kept.total()), "{} is not within {CAP} and {allowed}", kept.total());
    assert_eq!(kept.total(), EACH * provider.connections() as u64);
    assert!(most.load(Ordering::SeqCst) <= CLIENTS);
    // Afterwards nothing is let through.
    assert_eq!(post(&url, REQUEST).status(), 402);
    assert_eq!(notes.kept().openings.len(), kept.openings.len());
}

#[test]
fn no_more_requests_are_in_flight_than_there_are_places() {
    const PLACES: usize = 3;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, peak, together) = (Arc::clone(&now), Arc::clone(&most), Barrier::new(PLACES));
    let provider = Provider::start(move |_, stream| {
        peak.fetch_max(count.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        together.wait();
        count.fetch_sub(1, Ordering::SeqCst);
        let body = r#"{"content":[],"usage":{"input_tokens":60,"output_tokens":40}}"#;
        stream.write_all(answer("application/json", body).as_bytes()).unwrap();
    });
    let notes = Notes::new();
    let upstreams = Upstreams { anthropic: provider.url.clone(), openai: provider.url.clone() };
    let proxy = meter::Proxy::start(Arc::<Notes>::clone(&notes), upstreams, PLACES).unwrap();
    let url = format!("{}/v1/messages", proxy.anthropic_url());
    thread::scope(|scope| {
        for _ in 0..PLACES * 4 {
            scope.spawn(|| assert_eq!(post(&url, REQUEST).status(), 200));
        }
    });
    assert_eq!(most.load(Ordering::SeqCst), PLACES);
    assert_eq!(notes.kept().total(), 100 * 4 * PLACES as u64);
}

#[test]
fn a_usage_limit_is_passed_on_and_its_reset_is_seen() {
    let body = r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","resets_at":1800000000}}"#;
    let head = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nconnection: close\r\n\r\n";
    let provider = Provider::saying(format!("{head}{body}"));
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let said = post(&format!("{}/responses", proxy.openai_url()), r#"{"model":"m","input":"x"}"#);
    assert_eq!((said.status(), said.text().as_str()), (429, body));
    assert!(said.head.contains("retry-after: 7\r\n"));
    let limit = proxy.take_seen().limit.unwrap();
    assert_eq!(limit.resets_at, Some(Time::from_millis(1_800_000_000_000)));
    assert_eq!((limit.status, limit.words.as_str()), (429, "The usage limit has been reached"));
    assert_eq!(notes.only(), tokens(0, 0, 0, 0));
}

#[test]
fn an_outage_is_seen_until_the_provider_answers_again() {
    let calls = AtomicUsize::new(0);
    let provider = Provider::start(move |_, stream| {
        let overloaded =
            "HTTP/1.1 529 Overloaded\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"Overloaded\"}}";
        let fine = answer("application/json", r#"{"usage":{"input_tokens":1,"output_tokens":1}}"#);
        let is_first = calls.fetch_add(1, Ordering::SeqCst) == 0;
        stream.write_all(if is_first { overloaded.as_bytes() } else { fine.as_bytes() }).unwrap();
    });
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let url = format!("{}/v1/messages", proxy.anthropic_url());
    assert_eq!(post(&url, REQUEST).status(), 529);
    assert_eq!(proxy.take_seen().outage.unwrap().words, "127.0.0.1 answers 529: Overloaded");
    assert_eq!(post(&url, REQUEST).status(), 200);
    assert_eq!(proxy.take_seen().outage, None);
    let kept = notes.wait("both over", |kept| kept.bookings.len() == 2 && kept.open() == 0);
    assert_eq!(kept.total(), 2);
}

#[test]
fn a_provider_that_cannot_be_reached_is_an_outage_and_costs_nothing() {
    let nobody = testkit::machine::port();
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &format!("http://127.0.0.1:{nobody}"));
    let said = post(&format!("{}/v1/messages", proxy.anthropic_url()), REQUEST);
    assert_eq!(said.status(), 502);
    assert!(said.text().contains("warp: 127.0.0.1 cannot be reached"), "{}", said.text());
    assert!(proxy.take_seen().outage.is_some());
    assert_eq!(notes.only(), tokens(0, 0, 0, 0));
}

#[test]
fn a_connection_that_breaks_before_any_byte_of_an_answer_costs_nothing() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for sent in ["", "HTTP/1.1 2", HEAD] {
        let provider = Provider::saying(sent);
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
        let url = format!("{}/v1/messages", proxy.anthropic_url());
        let mut said = send("POST", &url, "Connection: close\r\n", REQUEST.as_bytes());
        // The client may see an error, or a connection that breaks as it would have without a proxy.
        let _ = std::io::Read::read_to_end(&mut said, &mut Vec::new());
        assert_eq!(notes.only(), tokens(0, 0, 0, 0), "{sent:?}");
        assert!(proxy.take_seen().outage.unwrap().words.contains("broke off"), "{sent:?}");
    }
}

#[test]
fn a_request_that_is_not_fully_sent_costs_nothing() {
    let provider = Provider::saying(answer("text/plain", "never"));
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let (mut stream, path) = support::connect(&format!("{}/v1/messages", proxy.anthropic_url()));
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{{\"model\":");
    stream.write_all(head.as_bytes()).unwrap();
    drop(stream);
    drop(proxy);
    assert_eq!((notes.kept().openings.len(), provider.connections()), (0, 0));
}

#[test]
fn denied_access_is_seen_costs_nothing_and_is_over_when_a_later_request_is_let_in() {
    let denials = [
        ("401 Unauthorized", r#"{"error":{"type":"authentication_error","message":"invalid x-api-key"}}"#),
        ("403 Forbidden", r#"{"error":{"type":"permission_error","message":"not for you"}}"#),
        ("400 Bad Request", r#"{"error":{"message":"Your credit balance is too low to access the API"}}"#),
        ("402 Payment Required", ""),
        ("429 Too Many Requests", r#"{"error":{"code":"insufficient_quota","message":"no more"}}"#),
    ];
    for (status, body) in denials {
        let calls = AtomicUsize::new(0);
        let provider = Provider::start(move |_, stream| {
            let denied = format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n{body}");
            let fine = answer("application/json", r#"{"usage":{"input_tokens":1,"output_tokens":1}}"#);
            let is_first = calls.fetch_add(1, Ordering::SeqCst) == 0;
            stream.write_all(if is_first { denied.as_bytes() } else { fine.as_bytes() }).unwrap();
        });
        let notes = Notes::new();
        let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
        let url = format!("{}/v1/messages", proxy.anthropic_url());
        let said = post(&url, REQUEST);
        assert_eq!(
            (format!("{status} ").starts_with(&format!("{} ", said.status())), said.text()),
            (true, body.to_owned())
        );
        let denied = proxy.seen().denied.expect(status);
        assert!(matches!(denied, ProviderFailure::NoAccess { .. }), "{denied:?}");
        assert!(denied.words().starts_with(&format!("127.0.0.1 answers {}", &status[..3])), "{denied:?}");
        assert_eq!(notes.only(), tokens(0, 0, 0, 0), "{status}");
        assert_eq!(post(&url, REQUEST).status(), 200);
        assert_eq!(proxy.take_seen().denied, None, "{status}");
    }
    // An error of the request itself is the client's own.
    let body = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n{\"error\":{\"message\":\"too long\"}}";
    let provider = Provider::saying(body);
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    post(&format!("{}/v1/messages", proxy.anthropic_url()), REQUEST);
    let seen = proxy.take_seen();
    assert_eq!((seen.denied, seen.limit, seen.outage), (None, None, None));
    assert_eq!(notes.only(), tokens(0, 0, 0, 0));
}

#[test]
fn an_error_in_the_middle_of_a_stream_is_seen() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let provider = Provider::saying(answer("text/event-stream", &support::event(error)));
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    post(&format!("{}/v1/messages", proxy.anthropic_url()), REQUEST);
    assert_eq!(proxy.take_seen().outage.unwrap().words, "Overloaded");
    assert_eq!(notes.only(), tokens(0, 0, 0, 0));
}

#[test]
fn a_request_that_is_too_large_is_refused_before_it_is_read() {
    let provider = Provider::saying(answer("text/plain", "never"));
    let proxy = proxy(Notes::new(), &provider.url);
    let (mut stream, path) = support::connect(&format!("{}/v1/messages", proxy.anthropic_url()));
    let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 70000000\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 413 ") && text.contains("request_too_large"), "{text}");
    assert_eq!(provider.connections(), 0);
}

#[test]
fn a_websocket_is_sent_back_to_plain_http() {
    let provider = Provider::saying(answer("text/plain", "never"));
    let proxy = proxy(Notes::new(), &provider.url);
    let headers = "Upgrade: websocket\r\n";
    let said = ask("GET", &format!("{}/responses", proxy.openai_url()), headers, b"");
    assert_eq!(said.status(), 426);
    assert_eq!(provider.connections(), 0);
}

#[test]
fn the_end_of_the_proxy_is_the_end_of_its_port_and_of_its_requests() {
    let provider = Provider::start(|_, stream| drop(std::io::Read::read(stream, &mut [0; 16])));
    let notes = Notes::new();
    let proxy = proxy(Arc::<Notes>::clone(&notes), &provider.url);
    let url = proxy.anthropic_url();
    let _waiting = send("POST", &format!("{url}/v1/messages"), "", REQUEST.as_bytes());
    notes.wait("an open request", |kept| kept.open() == 1);
    drop(proxy);
    assert_eq!(notes.kept().open(), 0);
    let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
    assert!(TcpStream::connect(address).is_err());
}

/// A book whose first bookings fail.
struct Failing {
    notes: Arc<Notes>,
    left: AtomicUsize,
}

impl Book for Failing {
    fn open(&self, opening: &Opening) -> Result<Option<Ticket>, Refusal> {
        self.notes.open(opening)
    }

    fn book(&self, ticket: &Ticket, tokens: Tokens, stage: Stage) -> Result<(), BookError> {
        let is_broken = |left: usize| left.checked_sub(1);
        match self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_broken) {
            Ok(_) => Err(BookError("the disk is full".to_owned())),
            Err(_) => self.notes.book(ticket, tokens, stage),
        }
    }
}

#[test]
fn a_last_booking_that_fails_is_seen_and_made_when_the_proxy_ends() {
    let body = r#"{"content":[],"usage":{"input_tokens":60,"output_tokens":40}}"#;
    let provider = Provider::saying(answer("application/json", body));
    for (failures, booked) in [(3, 100), (usize::MAX, 0)] {
        let notes = Notes::new();
        let book = Failing { notes: Arc::clone(&notes), left: AtomicUsize::new(failures) };
        let proxy = proxy(Arc::new(book), &provider.url);
        assert_eq!(post(&format!("{}/v1/messages", proxy.anthropic_url()), REQUEST).status(), 200);
        let failed = Some(Refusal::Failed("the disk is full".to_owned()));
        assert_eq!((proxy.seen().requests, proxy.seen().refused), (1, failed));
        drop(proxy);
        let bookings = notes.kept().bookings.remove(0);
        assert_eq!(bookings.last().map_or(0, |(tokens, _)| tokens.total()), booked);
        assert_eq!(bookings.len(), usize::from(booked > 0), "it is booked once, as over");
    }
}

#[test]
fn an_address_that_is_none_is_refused_at_the_start() {
    let upstreams = Upstreams { anthropic: "nowhere".to_owned(), ..Upstreams::default() };
    let error = meter::Proxy::start(Notes::new(), upstreams, 1).unwrap_err();
    assert!(error.to_string().starts_with("`nowhere` is not the address of a provider"), "{error}");
}
