//! Agents, proxies, the ledger and a model together: many at once against one cap.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
    thread,
    time::Duration,
};

use adapters::machine;
use engine::ledger::{Cap, Caps, Scope};
use meter::{Proxy, Upstreams};
use project::spend::Meter;
use testkit::model::{Model, Script, Turn};

use crate::support::{Home, MODEL, tags};

const PROXIES: usize = 4;
const AGENTS: usize = 5;
/// What an answer uses, and what all of them may.
const EACH: u64 = 1000;
const CAP: u64 = 50_000;
/// No agent asks more often, whatever it is answered.
const MOST: usize = 100;
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks the model by way of a proxy; returns the status of the answer.
fn ask(base: &str) -> u16 {
    let (host, path) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let body = format!(
        r#"{{"model":"{MODEL}","max_tokens":9,"tools":[{{"name":"t"}}],"messages":[{{"role":"user","content":"go"}}]}}"#
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
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn twenty_agents_pass_a_cap_by_no_more_than_what_was_under_way() {
    let home = Home::new();
    let model = Model::start(Script::function(|_| Turn::say("well").usage(0, EACH, 0, 0)));
    // Of one run, because that lasts over midnight.
    let caps = Caps { run: Cap { tokens: Some(CAP), micro_usd: None }, ..Caps::default() };
    let upstreams = || Upstreams { anthropic: model.url(), openai: model.url() };
    let since = machine::now();
    let proxies: Vec<Proxy> = (0..PROXIES)
        .map(|_| {
            let meter = Meter::new(home.ledger(), tags("r"), caps, since).unwrap();
            Proxy::start(Arc::new(meter), upstreams(), 16).unwrap()
        })
        .collect();
    let agents: Vec<_> = proxies
        .iter()
        .flat_map(|proxy| (0..AGENTS).map(|_| proxy.anthropic_url()))
        .map(|url| {
            thread::spawn(move || (0..MOST).map(|_| ask(&url)).take_while(|status| *status == 200).count())
        })
        .collect();
    let answered: usize = agents.into_iter().map(|agent| agent.join().unwrap()).sum();

    let refused: Vec<u16> = proxies.iter().map(|proxy| ask(&proxy.anthropic_url())).collect();
    assert_eq!(refused, [402; PROXIES], "nothing is let out afterwards");
    drop(proxies);
    let mut ledger = home.ledger();
    ledger.follow(since).unwrap();
    let spent = ledger.books().spent(Scope::Run, "", &tags("r")).tokens();
    assert_eq!(spent, EACH * answered as u64, "every answer is booked, and nothing else");
    assert_eq!(model.requests().len(), answered, "what was refused never went out");
    let under_way = (PROXIES * AGENTS) as u64 * EACH;
    assert!((CAP..CAP + under_way).contains(&spent), "{spent} of {CAP}");
}
