//! Programs that look harmless and run another, or write over work: for real, in a namespace in which nothing but the
//! scratch home can be written.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, sync::PoisonError};

use testkit::machine::has_walls_or_skip;

use super::{
    TURN,
    corpus::{CARRIERS, PRIMITIVES, carried, named},
    passes::{Line, ran, tried},
    project::{Project, Uncommitted, Workplace},
    tally::Stop,
};

/// What the carriers run.
const RUN: [&str; 5] = ["commit", "reset-hard", "tag-delete", "branch-force", "clean"];

/// The script that carriers run, as they call it.
const SCRIPT: &str = "/tmp/run.sh";

/// A command, and what its script does.
struct Carried {
    line: Line,
    script: String,
}

fn all() -> Vec<Carried> {
    let mut all = Vec::new();
    for (way, carrier) in named(CARRIERS) {
        let takes_one = carrier.contains(SCRIPT)
            || carrier.contains('{') && carrier.contains("{rest}")
            || carrier.contains("{q}");
        let primitives = named(PRIMITIVES).filter(|(name, _)| RUN.contains(name));
        let commands: Vec<(&str, &str)> = if takes_one { primitives.collect() } else { vec![("", "true")] };
        for (what, command) in commands {
            all.push(Carried {
                line: Line {
                    name: format!("{what} by {way}"),
                    text: carried(carrier, command),
                    is_bomb: false,
                },
                script: command.to_owned(),
            });
        }
    }
    all
}

/// Spells a command so that it runs where only `home` can be written.
fn contained(home: &Path, text: &str) -> String {
    let quoted = text.replace('\'', r"'\''");
    let home = home.display();
    // Whatever is still at work in the background keeps its output open, and is waited for.
    format!(
        "bwrap --ro-bind / / --dev-bind /dev /dev --bind '{home}' '{home}' --setenv TMPDIR '{home}/tmp' \
         --setenv GO_TELEMETRY_CHILD 2 bash -c '{quoted}' 2>&1 | cat; exit ${{PIPESTATUS[0]}}"
    )
}

fn write_script(project: &Project, command: &str) {
    let script = project.contained(SCRIPT);
    let script = Path::new(&script);
    fs::create_dir_all(script.parent().unwrap()).unwrap();
    fs::write(script, format!("#!/bin/sh\ncd '{}' && {command}\n", project.root().display())).unwrap();
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let words: Vec<String> = command.split(' ').map(|word| format!("{word:?}")).collect();
    let (first, rest) = words.split_first().unwrap();
    let text = format!("require('child_process').spawnSync({first}, [{}])\n", rest.join(", "));
    fs::write(script.with_extension("js"), text).unwrap();
}

#[test]
fn no_carrier_moves_a_ref_or_loses_work() {
    if !has_walls_or_skip() {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let all = all();
    let prepared = || Project::new(Workplace::Own, Uncommitted::Everything);
    let tally = tried(&all, prepared, |project, _, carried, tally| {
        write_script(project, &carried.script);
        let text = project.contained(&carried.line.text);
        let answered = project.gate(&text);
        match answered.code {
            Some(2) => {
                tally.count(Stop::Gate);
                project.put_back();
            }
            Some(0) => {
                let contained = contained(project.home(), &text);
                ran(project, &carried.line, &contained, tally);
            }
            _ => tally.through.push(format!("{text:?}: {answered:?}")),
        }
    });
    assert_eq!(tally.total(), all.len());
    tally.report("programs that run or write");
}
