//! What was spent, as a person reads it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    TimeFormat, Usage,
    ledger::{By, Pause, Report, Row, Scope, Unit, dollars},
};

/// How wide a bar may become, in characters.
const BAR: u64 = 20;
/// The parts of a character that a bar ends with, in eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// What was spent.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    pub version: u32,
    /// Whose spending it is, in words.
    pub of: String,
    /// The first day that was looked at; none if all were.
    pub since: Option<String>,
    pub by: By,
    #[serde(flatten)]
    pub report: Report,
    pub caps: Vec<CapUse>,
    /// Pools that wait for their provider.
    pub pauses: BTreeMap<String, Pause>,
    /// The date of the price list that is in force.
    pub prices: String,
}

/// How much of a cap is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CapUse {
    pub cap: Scope,
    /// The run, project or pool; a day has no name.
    pub name: String,
    pub unit: Unit,
    /// Millionths of a dollar, or tokens, with what people have added.
    pub limit: u64,
    pub spent: u64,
}

/// Writes what was spent as a table with bars.
pub fn render_cost(cost: &Cost, write: TimeFormat) -> String {
    let since = cost.since.as_ref().map(|day| format!(" since {day}")).unwrap_or_default();
    if cost.report.rows.is_empty() {
        let mut text = format!("Nothing was spent on {}{since}.\n", cost.of);
        text.push_str("What agents use is booked while `warp run` drives them.\n");
        push_caps(&mut text, cost, write);
        return text;
    }
    let mut text = format!("Spent on {}{since}\n\n", cost.of);
    push_table(&mut text, cost);
    push_caps(&mut text, cost, write);
    push_notes(&mut text, cost);
    text
}

fn push_table(text: &mut String, cost: &Cost) {
    let report = &cost.report;
    let head = [heading(cost.by), "Input", "Output", "Cache read", "Cache write", "Cost"].map(str::to_owned);
    let row = |name: String, row: &Row| {
        let usage = &row.usage;
        let tokens =
            [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens];
        let [input, output, cache_read, cache_write] = tokens.map(count);
        [name, input, output, cache_read, cache_write, dollars(usage.micro_usd)]
    };
    let mut rows = vec![head];
    rows.extend(report.rows.iter().map(|sum| row(label(cost.by, &sum.name), sum)));
    rows.push(row("all".to_owned(), &report.total));
    let size = |row: &Row| size(&row.usage, &report.total.usage);
    let largest = report.rows.iter().map(size).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let all = marks(&report.total).chars().count();
    let last = rows.len() - 1;
    for (index, cells) in rows.iter().enumerate() {
        if index == 1 || index == last {
            let lines: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            text.push_str(&format!("{}\n", lines.join("  ")));
        }
        let (marks, bar) = match index {
            0 => (String::new(), String::new()),
            _ if index == last => (marks(&report.total), String::new()),
            _ => (marks(&report.rows[index - 1]), bar(size(&report.rows[index - 1]), largest)),
        };
        let mut line = format!("{:<width$}", cells[0], width = widths[0]);
        for (cell, width) in cells.iter().zip(&widths).skip(1) {
            line.push_str(&format!("  {cell:>width$}"));
        }
        line.push_str(&format!("{marks:<all$}  {bar}"));
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

fn push_caps(text: &mut String, cost: &Cost, write: TimeFormat) {
    if !cost.caps.is_empty() {
        text.push_str("\nCaps\n");
    }
    let rows: Vec<[String; 2]> = cost
        .caps
        .iter()
        .map(|cap| {
            let name = match cap.cap {
                Scope::Run | Scope::Project | Scope::Pool => format!("{} {}", cap.cap, cap.name),
                Scope::Day => "today".to_owned(),
            };
            let used = match cap.unit {
                Unit::Usd => format!("{} of {}", dollars(cap.spent), dollars(cap.limit)),
                Unit::Tokens => format!("{} of {} tokens", count(cap.spent), count(cap.limit)),
            };
            [name, used]
        })
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (names, amounts) = (width(0), width(1));
    for ([name, used], cap) in rows.iter().zip(&cost.caps) {
        let percent = u128::from(cap.spent) * 100 / u128::from(cap.limit.max(1));
        let full = usize::try_from(BAR).unwrap_or(0);
        let bar = bar(cap.spent.min(cap.limit), cap.limit);
        text.push_str(&format!("{name:<names$}  {used:<amounts$}  {bar:<full$}  {percent} %\n"));
    }
    for (pool, pause) in &cost.pauses {
        let until = write(pause.until);
        text.push_str(&format!("\nPool {pool} waits until {until}: {}\n", pause.why));
    }
}

/// Explains the marks that stand in the table.
fn push_notes(text: &mut String, cost: &Cost) {
    let total = &cost.report.total;
    let mut notes = Vec::new();
    if total.unmetered_tokens > 0 {
        notes
            .push("* unmetered: what an agent or its transcript says; the requests were not seen".to_owned());
    }
    if total.estimated_micro_usd > 0 {
        notes.push(format!(
            "~ estimated price: a model that is not in the list of {} counts as the dearest that is",
            cost.prices
        ));
    }
    if total.open > 0 {
        notes.push("+ under way, or never booked to its end: counted as estimated".to_owned());
    }
    if total.bounded > 0 {
        let count = total.bounded;
        notes.push(format!("^ {count} cut off before the usage was told: counted at the most it can be"));
    }
    if !notes.is_empty() {
        text.push_str(&format!("\n{}\n", notes.join("\n")));
    }
}

fn marks(row: &Row) -> String {
    let marks = [
        (row.unmetered_tokens > 0, '*'),
        (row.estimated_micro_usd > 0, '~'),
        (row.open > 0, '+'),
        (row.bounded > 0, '^'),
    ];
    marks.into_iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| mark).collect()
}

fn heading(by: By) -> &'static str {
    match by {
        By::Phase => "Phase",
        By::Chunk => "Chunk",
        By::Role => "Role",
        By::Model => "Model",
        By::Agent => "Agent",
        By::Issue => "Issue",
        By::Run => "Run",
        By::Day => "Day",
        By::Project => "Project",
    }
}

fn label(by: By, name: &str) -> String {
    let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    match by {
        By::Issue if is_number => format!("#{name}"),
        By::Issue if name.is_empty() => "no issue".to_owned(),
        By::Chunk if name.is_empty() => "before the first".to_owned(),
        By::Role if name.is_empty() => "no role".to_owned(),
        By::Phase | By::Model | By::Agent | By::Run | By::Day | By::Project if name.is_empty() => {
            "unknown".to_owned()
        }
        By::Phase
        | By::Chunk
        | By::Role
        | By::Model
        | By::Agent
        | By::Issue
        | By::Run
        | By::Day
        | By::Project => name.to_owned(),
    }
}

/// What a bar is as long as: money, or tokens where there is none.
fn size(usage: &Usage, total: &Usage) -> u64 {
    if total.micro_usd > 0 { usage.micro_usd } else { usage.tokens() }
}

fn bar(part: u64, whole: u64) -> String {
    if whole == 0 || part == 0 {
        return String::new();
    }
    let eighths = u128::from(part) * u128::from(BAR) * 8 / u128::from(whole);
    // What there is at all is seen.
    let eighths = usize::try_from(eighths).unwrap_or(0).max(1);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Writes a number of tokens so that it is read at a glance.
fn count(tokens: u64) -> String {
    let scaled = |unit: u64, sign: char| {
        let tenths = tokens / (unit / 10);
        format!("{}.{}{sign}", tenths / 10, tenths % 10)
    };
    match tokens {
        0..=9_999 => tokens.to_string(),
        10_000..=999_999 => scaled(1_000, 'k'),
        1_000_000..=999_999_999 => scaled(1_000_000, 'M'),
        1_000_000_000.. => scaled(1_000_000_000, 'G'),
    }
}
