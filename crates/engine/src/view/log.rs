//! The log: every event of a run, oldest first.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Actor, EventName, PhaseName, Record, Time, TimeFormat};

/// One event, as `warp log --json` prints it.
#[derive(Debug, Serialize)]
pub struct LogRow {
    /// The run, where rows of several are printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    pub seq: u64,
    pub phase: PhaseName,
    pub event: EventName,
    pub from: Option<PhaseName>,
    pub at: Time,
    /// Who asked.
    pub actor: Actor,
    /// Whether the event moved the run, if only back to where it was.
    pub moved: bool,
    /// The budgets that sent the run elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exceeded: Option<Vec<String>>,
    /// What advisory checks said, and who has accepted it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
}

impl LogRow {
    /// Makes a row of the record with that number.
    pub fn of(seq: u64, record: &Record) -> Self {
        Self {
            run: None,
            seq,
            phase: record.phase.clone(),
            event: record.event.clone(),
            from: record.from.clone(),
            at: record.at,
            actor: record.actor,
            moved: record.moves(),
            exceeded: record.trip().map(|trip| trip.reasons.clone()),
            checks: record.objections().map(ToString::to_string).collect(),
            data: record.data.clone(),
        }
    }
}

/// Writes the phase history as a table.
pub fn render_log(project: &str, rows: &[LogRow], write: TimeFormat) -> String {
    let mut text = format!("Phase History ({project})\n\n");
    let widest = |width: usize, of: fn(&LogRow) -> usize| rows.iter().map(of).max().unwrap_or(0).max(width);
    let phase = widest(24, |row| row.phase.as_str().chars().count());
    let event = widest(19, |row| row.event.as_str().chars().count());
    let mut line = |seq: &str, name: &str, what: &str, at: &str| {
        let line = format!("{seq:<3} {name:<phase$} {what:<event$} {at}");
        writeln!(text, "{}", line.trim_end()).expect("writing to a string cannot fail");
    };
    line("#", "Phase", "Event", "Time");
    line("───", &"─".repeat(phase), &"─".repeat(event), &"─".repeat(21));
    for row in rows {
        line(&row.seq.to_string(), row.phase.as_str(), row.event.as_str(), &write(row.at));
        for said in row.checks.iter().flat_map(|said| said.lines()) {
            line("", said, "", "");
        }
    }
    text
}
