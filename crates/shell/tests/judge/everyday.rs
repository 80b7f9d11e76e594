//! What agents do every day: false alarms are what people feel.

use std::time::{Duration, Instant};

use super::{
    corpus::{EVERYDAY, named, unescaped},
    judged, word,
};

/// Of a hundred commands, how many may be refused or taken for a commit.
const MOST_ALARMS: f64 = 2.0;

#[test]
fn everyday_commands_raise_no_alarm() {
    let (mut allowed, mut risky, mut alarms) = (0, 0, Vec::new());
    let mut slowest = (Duration::ZERO, "");
    for (kind, command) in named(EVERYDAY) {
        let began = Instant::now();
        let judgement = judged(&unescaped(command));
        slowest = slowest.max((began.elapsed(), command));
        match word(&judgement) {
            "allowed" => allowed += 1,
            "risky" => risky += 1,
            _ => alarms.push(format!("{kind}: {command}\n    {judgement:?}")),
        }
    }
    let all = allowed + risky + alarms.len();
    let share = alarms.len() as f64 * 100.0 / all as f64;
    println!(
        "everyday commands: {all}, {allowed} allowed, {risky} after a snapshot, {} refused ({share:.1} %); slowest {slowest:?}",
        alarms.len()
    );
    assert!(all >= 300, "{all}");
    assert!(share < MOST_ALARMS, "{share:.1} % refused:\n{}", alarms.join("\n"));
}
