//! Commands that mention dangerous words and do nothing dangerous: the real gate lets all of them pass.

use std::{sync::PoisonError, thread};

use crate::{
    TURN, WORKERS,
    corpus::{HARMLESS, named, unescaped},
    project::{Project, Uncommitted, Workplace},
    tally::say,
};

#[test]
fn every_harmless_command_passes_the_real_gate() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<String> = named(HARMLESS).map(|(_, text)| unescaped(text)).collect();
    let denied: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = lines
            .chunks(lines.len().div_ceil(WORKERS))
            .map(|lines| {
                scope.spawn(move || {
                    let mut project = Project::new(Workplace::Own, Uncommitted::Everything);
                    // A commit is harmless where it has leave.
                    project.go_to_committing();
                    let asked = lines.iter().map(|line| (line, project.gate(line)));
                    asked
                        .filter(|(_, answered)| answered.code != Some(0))
                        .map(|(line, answered)| format!("{line:?}: {answered:?}"))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    say(&format!("harmless commands: {} of {} pass the gate", lines.len() - denied.len(), lines.len()));
    assert!(denied.is_empty(), "{denied:#?}");
}
