//! The table, and the ratios against the aims.

use super::{LONG, SHORT, measure::Row, project::grouped};
use crate::run::say;

const COLUMNS: [&str; 9] = [
    "What",
    "History",
    "Median µs",
    "10–90 %",
    "× empty",
    "Instructions",
    "System calls",
    "Page faults",
    "Runs",
];

/// What a ratio should be.
enum Aim {
    AtLeast(f64),
    AtMost(f64),
    /// None; the ratio is worth knowing.
    Nothing,
}

/// Prints the table.
pub(super) fn print(rows: &[Row<'_>]) {
    say(&table(rows));
    for row in rows {
        if let Some(reason) = &row.missing {
            say(&format!("not measured: {}, {}: {reason}", row.name, row.history));
        }
    }
    say("");
}

/// Prints the ratios, and whether they are what they should be.
pub(super) fn print_ratios(rows: &[Row<'_>]) {
    for line in ratios(rows) {
        say(&line);
    }
}

fn table(rows: &[Row<'_>]) -> String {
    let empty = rows.first().and_then(median);
    let mut lines = vec![COLUMNS.map(str::to_owned)];
    lines.extend(rows.iter().map(|row| cells(row, empty)));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS.len()] = std::array::from_fn(width);
    // The first two columns are words, the others numbers.
    let rule: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| if column < 2 { "-".repeat(*width) } else { "-".repeat(width - 1) + ":" })
        .collect();
    let mut texts: Vec<String> = lines.iter().map(|line| format!("| {} |", padded(line, &widths))).collect();
    texts.insert(1, format!("| {} |", rule.join(" | ")));
    texts.join("\n")
}

fn padded(cells: &[String; COLUMNS.len()], widths: &[usize; COLUMNS.len()]) -> String {
    let pad = |(column, cell): (usize, &String)| {
        let width = widths[column];
        if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    };
    cells.iter().enumerate().map(pad).collect::<Vec<_>>().join(" | ")
}

fn cells(row: &Row<'_>, empty: Option<f64>) -> [String; COLUMNS.len()] {
    let none = || "-".to_owned();
    let micros = |part| row.samples.micros(part).map(whole);
    let spread = micros(0.1).zip(micros(0.9)).map(|(low, high)| format!("{low}–{high}"));
    let times = median(row).zip(empty).map(|(median, empty)| format!("{:.1}", median / empty));
    let number = |number: Option<u64>| number.map(grouped).unwrap_or_else(none);
    [
        row.name.clone(),
        row.history.clone(),
        micros(0.5).unwrap_or_else(none),
        spread.unwrap_or_else(none),
        times.unwrap_or_else(none),
        number(row.counts.instructions),
        number(row.counts.system_calls),
        number(row.samples.faults()),
        row.samples.count().to_string(),
    ]
}

fn ratios(rows: &[Row<'_>]) -> Vec<String> {
    let find = |name: &str, history: String| {
        rows.iter().find(|row| row.name == name && row.history == history).and_then(median)
    };
    let warp = |name: &str, events| find(&format!("warp {name}"), format!("{} events", grouped(events)));
    let original =
        |name: &str, events| find(&format!("original {name}"), format!("{} rows", grouped(events)));
    let (gate, transition) = ("gate (bash, jq)", "transition (bash, node)");
    let flat = |name: &str| {
        let text = format!("{name}, {} events against {}", grouped(LONG), grouped(SHORT));
        (text, warp(name, LONG).zip(warp(name, SHORT)), Aim::AtMost(1.2))
    };
    let against = |name: &str, other: &str, rows: u64, aim: Aim| {
        let text = format!("{name}, faster than the original {other}, {} rows", grouped(rows));
        (text, original(other, rows).zip(warp(name, SHORT)), aim)
    };
    let (tracker, detector) = ("edit tracker (bash, jq, node)", "commit detector (bash, jq)");
    let bare = |name: &str| {
        let empty = rows.first().and_then(median);
        (format!("{name}, against an empty process"), warp(name, SHORT).zip(empty), Aim::AtMost(3.0))
    };
    let lines = [
        against("gate, denied", gate, SHORT, Aim::Nothing),
        against("gate, denied", gate, 10_000, Aim::Nothing),
        against("gate, denied", "gate (node)", SHORT, Aim::Nothing),
        against("gate, allowed", gate, SHORT, Aim::Nothing),
        against("transition", transition, SHORT, Aim::AtLeast(10.0)),
        against("transition", transition, 10_000, Aim::Nothing),
        bare("hook, commit denied"),
        bare("hook, command allowed"),
        against("hook, commit denied", gate, SHORT, Aim::AtLeast(40.0)),
        against("hook, command allowed", gate, SHORT, Aim::AtLeast(40.0)),
        against("hook, edit counted", tracker, SHORT, Aim::AtLeast(40.0)),
        against("hook, command watched", detector, SHORT, Aim::AtLeast(40.0)),
        flat("hook, commit denied"),
        flat("hook, command allowed"),
        flat("hook, edit counted"),
        flat("hook, command watched"),
        flat("gate, denied"),
        flat("gate, allowed"),
        flat("transition"),
    ];
    lines.into_iter().map(|(text, ratio, aim)| line(&text, ratio, aim)).collect()
}

fn line(text: &str, terms: Option<(f64, f64)>, aim: Aim) -> String {
    let Some((over, under)) = terms else { return format!("{text}: -") };
    let ratio = over / under;
    let word = |met: bool| if met { "aim met" } else { "aim missed" };
    match aim {
        Aim::AtLeast(least) => {
            format!("{text}: {ratio:.1} times (aim: at least {least}): {}", word(ratio >= least))
        }
        Aim::AtMost(most) => {
            format!("{text}: {ratio:.2} times (aim: at most {most}): {}", word(ratio <= most))
        }
        Aim::Nothing => format!("{text}: {ratio:.1} times"),
    }
}

fn median(row: &Row<'_>) -> Option<f64> {
    row.samples.micros(0.5)
}

fn whole(micros: f64) -> String {
    grouped(micros.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_aim_is_said_and_a_missing_row_is_no_aim() {
        assert_eq!(
            line("a", Some((50.0, 1.0)), Aim::AtLeast(80.0)),
            "a: 50.0 times (aim: at least 80): aim missed"
        );
        assert_eq!(
            line("a", Some((1.1, 1.0)), Aim::AtMost(1.2)),
            "a: 1.10 times (aim: at most 1.2): aim met"
        );
        assert_eq!(line("a", None, Aim::AtMost(1.2)), "a: -");
    }
}
