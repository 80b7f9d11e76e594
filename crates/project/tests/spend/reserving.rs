//! Requests that go out at once: what they are expected to use is held against the cap until they are over.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use adapters::machine;
use engine::ledger::{Cap, Caps, Scope};
use meter::{Proxy, Upstreams};
use project::{
    Dirs,
    spend::{AdmitError, Expected, Ledger, Meter},
};
use proptest::prelude::*;
use testkit::model::{Model, Script, Turn};

use crate::support::{Home, MODEL, at, day_cap, run_cap, spent, tags, tokens};

const STATE: &str = "SPEND_TEST_RESERVE_STATE";
const PATIENCE: Duration = Duration::from_secs(60);

fn expected(least: u64, most: u64) -> Expected {
    Expected { least: tokens(least, 0), most: tokens(least, most) }
}

fn is_full(admitted: &Result<String, AdmitError>) -> bool {
    matches!(admitted, Err(AdmitError::Full(_)))
}

#[test]
fn a_small_cap_lets_one_request_out_and_the_next_when_that_is_over() {
    let home = Home::new();
    let (now, tags, caps) = (at(16, 9), tags("r"), run_cap(50));
    let mut ledger = home.ledger();
    let first = ledger.admit(now, &tags, &caps, MODEL, expected(10, 1000)).unwrap();
    for _ in 0..3 {
        assert!(is_full(&ledger.admit(now, &tags, &caps, MODEL, expected(10, 1000))));
    }
    // One that failed has used nothing, and there is room again.
    ledger.book(now, &first, tokens(0, 0), true).unwrap();
    let second = ledger.admit(now, &tags, &caps, MODEL, expected(10, 1000)).unwrap();
    ledger.book(now, &second, tokens(10, 60), true).unwrap();
    let third = ledger.admit(now, &tags, &caps, MODEL, expected(10, 1000));
    assert!(matches!(third, Err(AdmitError::Cap(_))), "{third:?}");
}

#[test]
fn each_agent_has_one_request_that_needs_no_room() {
    let home = Home::new();
    let (now, caps) = (at(16, 9), day_cap(1000));
    let mut ledger = home.ledger();
    let own = |run: &str, agent: &str, role: &str| {
        let mut tags = tags(run);
        (tags.agent, tags.role) = (agent.to_owned(), Some(role.to_owned()));
        tags
    };
    for tags in [
        own("r", "claude", "coder"),
        own("r", "claude", "judge"),
        own("r", "codex", "coder"),
        own("s", "codex", "coder"),
    ] {
        ledger.admit(now, &tags, &caps, MODEL, expected(10, 5000)).unwrap();
        assert!(is_full(&ledger.admit(now, &tags, &caps, MODEL, expected(10, 5000))), "{tags:?}");
    }
}

#[test]
fn what_is_held_is_what_answers_of_the_model_usually_take() {
    let home = Home::new();
    let (now, tags, caps) = (at(16, 9), tags("r"), run_cap(100_000));
    let mut ledger = home.ledger();
    for _ in 0..10 {
        let ticket = ledger.admit(now, &tags, &caps, MODEL, expected(10, 64_000)).unwrap();
        ledger.book(now, &ticket, tokens(10, 900), true).unwrap();
    }
    // What was never told, and what another model writes, says nothing.
    let ticket = ledger.admit(now, &tags, &caps, MODEL, expected(10, 64_000)).unwrap();
    ledger.book_at_most(now, &ticket, tokens(10, 64_000)).unwrap();
    let ticket = ledger.admit(now, &tags, &caps, "other", expected(10, 64_000)).unwrap();
    ledger.book(now, &ticket, tokens(10, 5), true).unwrap();
    assert_eq!(spent(&home.read(), now).tokens(), 10 * 910 + 64_010 + 15);

    let left = 100_000 - (10 * 910 + 64_010 + 15);
    let mut out = 0;
    while ledger.admit(now, &tags, &caps, MODEL, expected(10, 64_000)).is_ok() {
        out += 1;
    }
    // Each holds 1024 tokens of output and its input.
    assert_eq!(out, (left - 1) / (1024 + 10));
    // What is held is not spent.
    assert!(spent(&home.read(), now).tokens() < 100_000);
}

/// Not a test: what the process that is killed does. Holds all that there is, and says so.
#[test]
fn holds_until_killed() {
    let Some(state) = std::env::var_os(STATE).map(PathBuf::from) else { return };
    let mut ledger = Ledger::open(&Dirs::new(state.clone(), state.join("config"))).unwrap();
    ledger.admit(at(16, 9), &tags("r"), &day_cap(1000), MODEL, expected(10, 900)).unwrap();
    let mut stdout = std::io::stdout();
    writeln!(stdout, "holds").and_then(|()| stdout.flush()).unwrap();
    // Until it is killed, or the test is gone.
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn what_a_killed_process_held_is_free() {
    let home = Home::new();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "reserving::holds_until_killed", "--nocapture"])
        .env(STATE, &home.dirs.state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains("holds")));
    let mut ledger = home.ledger();
    let (now, caps, own) = (at(16, 9), day_cap(1000), tags("other"));
    ledger.admit(now, &own, &caps, MODEL, expected(10, 50)).unwrap();
    assert!(is_full(&ledger.admit(now, &own, &caps, MODEL, expected(10, 50))));
    child.kill().unwrap();
    child.wait().unwrap();
    ledger.admit(now, &own, &caps, MODEL, expected(10, 50)).unwrap();
    // Another process sees it at once, and what was under way still counts as far as it is known.
    let mut other = home.read();
    other.admit(now, &tags("third"), &caps, MODEL, expected(10, 50)).unwrap();
    other.admit(now, &tags("third"), &caps, MODEL, expected(10, 50)).unwrap();
    assert_eq!(spent(&home.read(), now).tokens(), 50);
    assert_eq!(home.read().books().lines().filter(|line| line.is_open).count(), 5);
}

/// Asks the model by way of a proxy; returns the status of the answer.
fn ask(base: &str, most: u64) -> u16 {
    let mut answer = String::new();
    send(base, most).read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Asks the model by way of a proxy, and hangs up at the first byte of the answer.
fn hang_up(base: &str, most: u64) {
    // A client that is refused has a first byte too.
    send(base, most).read_exact(&mut [0]).unwrap();
}

fn send(base: &str, most: u64) -> TcpStream {
    let (host, path) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let body = format!(
        r#"{{"model":"{MODEL}","max_tokens":{most},"tools":[{{"name":"t"}}],"messages":[{{"role":"user","content":"go"}}]}}"#
    );
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(
        stream,
        "POST /{path}/v1/messages HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    stream
}

#[test]
fn a_hundred_and_fifty_that_hang_up_at_once_hold_the_cap_too() {
    const EACH: u64 = 1000;
    const CAP: u64 = 20_500;
    let home = Home::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    // Every fifth answer is cut off, and is booked as if it were the longest.
    let model = Model::start(Script::function(move |_| {
        let turn = Turn::say("well").usage(0, EACH, 0, 0);
        if count.fetch_add(1, Ordering::SeqCst).is_multiple_of(5) { turn.cut_after(1) } else { turn }
    }));
    let caps = Caps { run: Cap { tokens: Some(CAP), micro_usd: None }, ..Caps::default() };
    let since = machine::now();
    let meter = Meter::new(home.ledger(), tags("r"), caps, since).unwrap();
    let upstreams = Upstreams { anthropic: model.url(), openai: model.url() };
    let proxy = Proxy::start(Arc::new(meter), upstreams, 16).unwrap();
    let url = proxy.anthropic_url();
    thread::scope(|scope| {
        for _ in 0..150 {
            scope.spawn(|| hang_up(&url, EACH));
        }
    });
    // Whatever is still read for nobody is over with the proxy.
    drop(proxy);
    let finished = EACH * model.requests().len() as u64;
    let mut ledger = home.ledger();
    ledger.follow(since).unwrap();
    assert_eq!(ledger.books().lines().filter(|line| line.is_open).count(), 0);
    let output = ledger.books().spent(Scope::Run, "", &tags("r")).output_tokens;
    assert!(output >= finished, "{output} of {finished}");
    assert!((CAP - 2 * EACH..CAP + EACH).contains(&output), "{output} of {CAP}");
}

#[test]
fn a_hundred_and_fifty_at_once_pass_a_cap_by_no_more_than_one_request() {
    const AT_ONCE: usize = 150;
    const EACH: u64 = 1000;
    const CAP: u64 = 20_500;
    let home = Home::new();
    let now = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (count, peak) = (Arc::clone(&now), Arc::clone(&most));
    let model = Model::start(Script::function(move |_| {
        peak.fetch_max(count.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        count.fetch_sub(1, Ordering::SeqCst);
        Turn::say("well").usage(0, EACH, 0, 0)
    }));
    let caps = Caps { run: Cap { tokens: Some(CAP), micro_usd: None }, ..Caps::default() };
    let since = machine::now();
    let meter = Meter::new(home.ledger(), tags("r"), caps, since).unwrap();
    let upstreams = Upstreams { anthropic: model.url(), openai: model.url() };
    let proxy = Proxy::start(Arc::new(meter), upstreams, 16).unwrap();
    let url = proxy.anthropic_url();
    let answered: usize = thread::scope(|scope| {
        let asked: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(|| ask(&url, EACH))).collect();
        let statuses = asked.into_iter().map(|asked| asked.join().unwrap());
        statuses
            .inspect(|status| assert!([200, 402].contains(status), "{status}"))
            .filter(|status| *status == 200)
            .count()
    });
    drop(proxy);
    assert_eq!(model.requests().len(), answered, "what was refused never went out");
    let mut ledger = home.ledger();
    ledger.follow(since).unwrap();
    let spent = ledger.books().spent(Scope::Run, "", &tags("r")).tokens();
    assert_eq!(spent, EACH * answered as u64);
    assert!((CAP..CAP + EACH).contains(&spent), "{spent} of {CAP}");
    assert!(most.load(Ordering::SeqCst) <= 16);
}

/// What happens next in a schedule.
#[derive(Clone, Debug)]
enum Act {
    /// An agent wants to send a request that allows so much output.
    Send { agent: u8, most: u64 },
    /// One that is under way ends, and has used this share of what it allows; or is refused, or never told.
    End { which: prop::sample::Index, share: u64, is_told: bool },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => (0..3_u8, 1..2000_u64).prop_map(|(agent, most)| Act::Send { agent, most }),
        1 => (any::<prop::sample::Index>(), 0..=100_u64, any::<bool>())
            .prop_map(|(which, share, is_told)| Act::End { which, share, is_told }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn in_any_schedule_a_cap_is_passed_by_no_more_than_one_request_of_each_agent(
        cap in 1..20_000_u64,
        acts in prop::collection::vec(act(), 1..60),
    ) {
        const INPUT: u64 = 10;
        let home = Home::new();
        let mut ledger = home.ledger();
        let (now, caps) = (at(16, 9), day_cap(cap));
        let mut under_way: Vec<(String, u64)> = Vec::new();
        let (mut finished, mut longest) = (0, 0);
        for act in acts {
            match act {
                Act::Send { agent, most } => {
                    let mut tags = tags("r");
                    tags.agent = agent.to_string();
                    // A model of its own each time: nothing is known of it, so it holds the most that it can use.
                    let model = format!("m{most}");
                    let admitted = ledger.admit(now, &tags, &caps, &model, expected(INPUT, most));
                    if let Ok(ticket) = admitted {
                        longest = longest.max(most);
                        under_way.push((ticket, most));
                    }
                }
                Act::End { which, share, is_told } => {
                    if under_way.is_empty() {
                        continue;
                    }
                    let (ticket, most) = under_way.swap_remove(which.index(under_way.len()));
                    let used = if share == 0 { 0 } else { INPUT + most * share / 100 };
                    finished += used;
                    if is_told {
                        ledger.book(now, &ticket, tokens(used, 0), true).unwrap();
                    } else {
                        ledger.book_at_most(now, &ticket, tokens(INPUT, most)).unwrap();
                    }
                }
            }
        }
        // The rest uses all that it may.
        for (ticket, most) in under_way {
            finished += INPUT + most;
            ledger.book(now, &ticket, tokens(INPUT, most), true).unwrap();
        }
        let spent = spent(&home.read(), now).tokens();
        prop_assert!(spent >= finished, "{} of {}", spent, finished);
        // Three agents: of each one request may pass the cap.
        prop_assert!(spent < cap + 3 * (INPUT + longest), "{} of {}", spent, cap);
    }
}
