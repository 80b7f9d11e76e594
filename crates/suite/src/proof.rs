//! The proof that the tests can fail: with every source file broken, the test command must fail.
//!
//! Where the sandbox mounts a tree over the project's own path, a copy is broken, so that nothing that is installed in the
//! slot is touched. Elsewhere what is installed names the slot by its path, so a copy would be tested with the slot's own
//! files: there the slot's tree itself is broken, which nobody has worked in yet, and put back.
//!
//! Both leave a trace beside the tree while they last. What a killed process left is cleared when the slot is opened next.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use adapters::{
    boundary, copying,
    git::slot::{self, Marker},
    process::End,
};
use engine::Baseline;

use super::{
    SuiteError, breaking,
    cache::TestRecord,
    fault::Fault,
    judge::{self, Judgement},
    plan::Plan,
    report::TestReport,
    running::{self, Outcome},
};
use workspace::{Place, Shell, counted, spelled};

/// The broken copy, beside the tree.
const COPY: &str = "proof";
/// The mark beside a tree that is broken itself.
const BREAKING: &str = "breaking";

/// Result of running the tests on broken source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProofResult {
    /// They failed, with so many files broken.
    Yes { files: usize, seconds: u64 },
    /// Nothing shows that they test this tree.
    No { why: String },
}

/// Finds out whether tests that ended as `measured` fail when the source is broken. `baseline` names failures that are there
/// anyway.
pub(crate) fn prove(
    shell: &Shell,
    place: &Place,
    plan: &Plan,
    measured: &TestRecord,
    baseline: Option<&Baseline>,
) -> Result<ProofResult, SuiteError> {
    let command = &plan.test;
    if measured.report.ran() == 0 {
        return Ok(ProofResult::No { why: format!("`{command}` passes, and no test was reported") });
    }
    let files = place.git().tracked().map_err(SuiteError)?;
    let read = |name: &str| fs::read_to_string(place.root.join(name)).ok();
    let makefile = read("Makefile").or_else(|| read("makefile")).or_else(|| read("GNUmakefile"));
    let mentioned = breaking::mentioned(command, makefile.as_deref(), read("package.json").as_deref());
    let sources = breaking::to_break(&files, &mentioned);
    if sources.is_empty() {
        return Ok(ProofResult::No {
            why: format!(
                "none of the {} tracked files is known to be source code, so nothing could be broken to see whether `{command}` notices",
                files.len()
            ),
        });
    }
    let (outcome, count) = if shell.inside(&place.root) == place.root {
        in_place(shell, place, plan, &sources)?
    } else {
        in_copy(shell, place, plan, &sources)?
    };
    let Some(outcome) = outcome else {
        return Ok(ProofResult::No { why: "no source file could be broken".to_owned() });
    };
    judged(plan, &outcome, count, &measured.report, baseline)
}

fn judged(
    plan: &Plan,
    outcome: &Outcome,
    files: usize,
    known: &TestReport,
    baseline: Option<&Baseline>,
) -> Result<ProofResult, SuiteError> {
    let command = &plan.test;
    let broken = counted(files as u64, "source file", "source files");
    if let Some(fault) = outcome.fault().filter(Fault::proves_nothing) {
        return Err(SuiteError(format!(
            "whether the tests can fail could not be found out: with {broken} broken, {}: {fault}\n{}",
            outcome.said, outcome.output
        )));
    }
    Ok(match judge::judge(baseline, Some(known), &outcome.end, &outcome.report) {
        Judgement::Passed => {
            ProofResult::No { why: format!("with {broken} broken, `{command}` still passes") }
        }
        Judgement::AsBefore { .. } => ProofResult::No {
            why: format!("with {broken} broken, `{command}` fails no test that passed before"),
        },
        Judgement::Failed { .. } if matches!(outcome.end, End::TimedOut(_) | End::Silent(_)) => {
            ProofResult::No {
                why: format!("with {broken} broken, `{command}` did not end: {}", outcome.said),
            }
        }
        Judgement::Failed { .. } => ProofResult::Yes { files, seconds: outcome.took.as_secs() },
    })
}

/// Breaks a copy of the tree, and runs the tests with the copy in the tree's place.
fn in_copy(
    shell: &Shell,
    place: &Place,
    plan: &Plan,
    sources: &[String],
) -> Result<(Option<Outcome>, usize), SuiteError> {
    let copy = beside(&place.root, COPY);
    let world = |error: copying::CopyError| SuiteError(spelled(&error));
    copying::remove(&copy).map_err(world)?;
    let done = boundary::around("proof_copy", || copying::copy(&place.root, &copy))
        .map_err(world)
        .and_then(|()| run_broken(&shell.over(&copy), &copy, plan, sources));
    let removed = copying::remove(&copy).map_err(world);
    let done = done?;
    removed?;
    Ok(done)
}

/// Breaks the tree itself, runs the tests and puts it back.
fn in_place(
    shell: &Shell,
    place: &Place,
    plan: &Plan,
    sources: &[String],
) -> Result<(Option<Outcome>, usize), SuiteError> {
    let Some(marker) = slot::marker(&place.root) else {
        return Err(SuiteError("only a workspace of a run's own may be broken".to_owned()));
    };
    let failed = |error: io::Error| SuiteError(format!("the source cannot be broken: {error}"));
    fs::write(beside(&place.root, BREAKING), "").map_err(failed)?;
    let done = run_broken(shell, &place.root, plan, sources);
    clear(&place.root, &marker).map_err(SuiteError)?;
    done
}

/// Breaks files in a tree and runs the tests there; returns how many were broken.
fn run_broken(
    shell: &Shell,
    tree: &Path,
    plan: &Plan,
    sources: &[String],
) -> Result<(Option<Outcome>, usize), SuiteError> {
    let failed = |error: io::Error| SuiteError(format!("the source cannot be broken: {error}"));
    let mut count = 0;
    for source in sources {
        let path = tree.join(source);
        // What is behind a link may be anywhere.
        if path.symlink_metadata().is_ok_and(|data| data.is_file()) {
            let text = fs::read(&path).map_err(failed)?;
            fs::write(&path, breaking::broken(source, &text)).map_err(failed)?;
            count += 1;
        }
    }
    if count == 0 {
        return Ok((None, 0));
    }
    Ok((Some(running::execute(shell, tree, plan, "proof")?), count))
}

/// Clears what a proof has left in the slot whose tree is `root`, if it was cut short.
pub fn clear_leftovers(root: &Path) -> Result<(), String> {
    let Some(marker) = slot::marker(root) else { return Ok(()) };
    if beside(root, BREAKING).exists() {
        clear(root, &marker)?;
    }
    copying::remove(&beside(root, COPY)).map_err(|error| spelled(&error))
}

fn clear(root: &Path, marker: &Marker) -> Result<(), String> {
    slot::discard(root, &marker.location).map_err(|error| spelled(&error))?;
    fs::remove_file(beside(root, BREAKING))
        .map_err(|error| format!("the mark of broken source stays: {error}"))
}

fn beside(root: &Path, name: &str) -> PathBuf {
    root.parent().unwrap_or(root).join(name)
}
