//! Commands that do nothing dangerous, and what agents do every day: the real gate lets them pass.

use std::{sync::PoisonError, thread};

use super::{
    TURN, WORKERS,
    corpus::{EVERYDAY, HARMLESS, named, unescaped},
    project::{Project, Uncommitted, Workplace},
    tally::say,
};

#[test]
fn every_harmless_command_passes_the_real_gate() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<String> = named(HARMLESS).map(|(_, text)| unescaped(text)).collect();
    // A commit is harmless where it has leave.
    let denied = denied(&lines, Project::go_to_committing);
    say(&format!("harmless commands: {} of {} pass the gate", lines.len() - denied.len(), lines.len()));
    assert!(denied.is_empty(), "{denied:#?}");
}

#[test]
fn fewer_than_two_of_a_hundred_everyday_commands_are_refused() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<String> = named(EVERYDAY).map(|(_, text)| unescaped(text)).collect();
    let denied = denied(&lines, |_| ());
    let share = denied.len() as f64 * 100.0 / lines.len() as f64;
    say(&format!("everyday commands: {} of {} are refused ({share:.1} %)", denied.len(), lines.len()));
    assert!(lines.len() >= 300 && share < 2.0, "{denied:#?}");
}

/// Asks the real gate about commands, and returns what it refuses.
fn denied(lines: &[String], prepare: impl Fn(&mut Project) + Sync) -> Vec<String> {
    let prepare = &prepare;
    thread::scope(|scope| {
        let workers: Vec<_> = lines
            .chunks(lines.len().div_ceil(WORKERS))
            .map(|lines| {
                scope.spawn(move || {
                    let mut project = Project::new(Workplace::Own, Uncommitted::Everything);
                    prepare(&mut project);
                    let asked = lines.iter().map(|line| (line, project.gate(line)));
                    asked
                        .filter(|(_, answered)| answered.code != Some(0))
                        .map(|(line, answered)| format!("{line:?}: {answered:?}"))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}
