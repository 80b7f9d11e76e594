//! What a model is asked, and what its input costs: warp beside the client alone.
//!
//! The client is the real one, the model is scripted and does the same work in every arm. What is sent is counted where it
//! arrives. A token is reckoned as four bytes; prices are those of the list for the model that the client names, and the provider's cache is
//! [`Cache`]'s. Answers of the model are left out: they are the same in every arm.

mod arms;
mod cache;
mod worker;

use std::{
    collections::{HashMap, HashSet},
    env, fs,
    path::Path,
};

use engine::{Usage, ledger::Prices};
use serde_json::Value;
use testkit::{agents::Claude, model::Sent};

use self::{
    arms::{ARMS, Arm},
    cache::{Block, Cache, blocks, in_common},
};
use crate::{
    agents::{self, Versions},
    build::target,
    run::{Result, cargo, check, say},
};

/// How many criteria the issues have.
const ISSUES: [usize; 3] = [1, 3, 9];
/// How many bytes a token has.
const TOKEN: usize = 4;
/// The variable by which the client is known.
const CLIENT: &str = "WARP_TEST_CLAUDE";
/// The directory in which requests are kept, if a person wants to look at them.
const KEPT: &str = "WARP_BENCH_REQUESTS";

/// What came of one arm.
struct Row {
    arm: &'static Arm,
    criteria: usize,
    sum: Sum,
}

/// What was sent, in bytes, and what it costs.
#[derive(Clone, Copy, Default)]
struct Sum {
    sessions: usize,
    requests: usize,
    bytes: usize,
    /// What a request has in common with the one before it in its conversation.
    stable: usize,
    /// What the provider did not have.
    uncached: usize,
    micro_usd: u64,
}

/// Runs all arms, and prints the table.
pub(super) fn run() -> Result {
    let clients = agents::install(Versions::Pinned)?;
    let client = clients.iter().find(|(variable, _)| *variable == CLIENT);
    let claude = Claude::at(&client.ok_or("Claude Code could not be installed")?.1);
    check(&mut cargo(&["build", "--package", "cli"]))?;
    let warp = target().join("debug/warp");
    let mut rows = Vec::new();
    for criteria in ISSUES {
        for arm in &ARMS {
            say(&format!("{}: {}", counted(criteria), arm.name));
            let sent = arm.run(&claude, &warp, criteria)?;
            keep(&sent, arm, criteria)?;
            rows.push(Row { arm, criteria, sum: sum(&sent) });
        }
    }
    say(&format!("\n{}\n", table(&rows)));
    for line in judged(&rows) {
        say(&line);
    }
    Ok(())
}

/// Sums up what was sent.
fn sum(sent: &[Sent]) -> Sum {
    let prices = Prices::built_in();
    let mut cache = Cache::default();
    let mut before: HashMap<(String, String), Vec<Block>> = HashMap::new();
    let mut sum = Sum { requests: sent.len(), ..Sum::default() };
    for Sent { at, request } in sent {
        let body = &request.body;
        let model = body["model"].as_str().unwrap_or_default();
        let blocks = blocks(body);
        let paid = cache.ask(model, &blocks, *at);
        sum.bytes += paid.read + paid.written + paid.plain;
        sum.uncached += paid.written + paid.plain;
        let tokens = |bytes: usize| u64::try_from(bytes / TOKEN).unwrap_or(u64::MAX);
        let usage = Usage {
            input_tokens: tokens(paid.plain),
            cache_read_tokens: tokens(paid.read),
            cache_write_tokens: tokens(paid.written),
            ..Usage::default()
        };
        sum.micro_usd += prices.of(model).cost(&usage);
        let conversation = (session(body), model.to_owned());
        if let Some(last) = before.get(&conversation) {
            sum.stable += in_common(last, &blocks);
        }
        before.insert(conversation, blocks);
    }
    let sessions: HashSet<&String> = before.keys().map(|(session, _)| session).collect();
    Sum { sessions: sessions.len(), ..sum }
}

/// Returns the conversation that a request is of, as the client names it in a text that is JSON.
fn session(body: &Value) -> String {
    let user = body["metadata"]["user_id"].as_str().unwrap_or_default();
    let named: Value = serde_json::from_str(user).unwrap_or_default();
    named["session_id"].as_str().unwrap_or(user).to_owned()
}

/// Keeps what was sent, a file each, if a person wants that.
fn keep(sent: &[Sent], arm: &Arm, criteria: usize) -> Result {
    let Some(directory) = env::var_os(KEPT) else { return Ok(()) };
    let directory = Path::new(&directory).join(format!("{}-{criteria}", arm.name.replace(' ', "-")));
    let failed = |error| format!("{}: {error}", directory.display());
    fs::create_dir_all(&directory).map_err(failed)?;
    for (number, Sent { request, .. }) in sent.iter().enumerate() {
        let file = directory.join(format!("{number:03}.json"));
        fs::write(&file, format!("{:#}\n", request.body)).map_err(failed)?;
    }
    Ok(())
}

const COLUMNS: [&str; 9] = [
    "Criteria",
    "Arm",
    "Sessions",
    "Requests",
    "KB sent",
    "Stable prefix KB",
    "Not cached KB",
    "Input $",
    "× plain",
];

fn table(rows: &[Row]) -> String {
    let kilobytes = |bytes: usize| format!("{:.1}", bytes as f64 / 1000.0);
    let mut lines = vec![COLUMNS.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| {
        [
            row.criteria.to_string(),
            row.arm.name.to_owned(),
            row.sum.sessions.to_string(),
            row.sum.requests.to_string(),
            kilobytes(row.sum.bytes),
            kilobytes(row.sum.stable),
            kilobytes(row.sum.uncached),
            format!("{:.4}", row.sum.micro_usd as f64 / 1e6),
            ratio(rows, row).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
        ]
    }));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let padded = |line: &[String; COLUMNS.len()]| {
        let cells = line.iter().enumerate().map(|(column, cell)| {
            let width = width(column);
            if column == 1 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = (0..COLUMNS.len()).map(|column| {
        let dashes = "-".repeat(width(column) - 1);
        if column == 1 { format!("-{dashes}") } else { format!("{dashes}:") }
    });
    let rule = format!("| {} |", rule.collect::<Vec<_>>().join(" | "));
    let mut texts: Vec<String> = lines.iter().map(padded).collect();
    texts.insert(1, rule);
    texts.join("\n")
}

fn counted(criteria: usize) -> String {
    if criteria == 1 { "1 criterion".to_owned() } else { format!("{criteria} criteria") }
}

/// Returns what an arm costs against the client alone.
fn ratio(rows: &[Row], row: &Row) -> Option<f64> {
    let plain = rows.iter().find(|other| other.criteria == row.criteria && other.arm.is_plain())?;
    Some(row.sum.micro_usd as f64 / plain.sum.micro_usd as f64)
}

/// Says which aims are met.
fn judged(rows: &[Row]) -> Vec<String> {
    let aims = rows.iter().filter_map(|row| Some((row, ratio(rows, row)?, (row.arm.aim)(row.criteria)?)));
    aims.map(|(row, ratio, aim)| {
        // As it is printed.
        let met = if (ratio * 100.0).round() <= (aim * 100.0).round() { "aim met" } else { "aim missed" };
        format!(
            "{}, {}, against plain: {ratio:.2} times (aim: at most {aim}): {met}",
            row.arm.name,
            counted(row.criteria)
        )
    })
    .collect()
}
