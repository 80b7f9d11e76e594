//! Warp Drive by its state reference, and by the decisions where that is silent.

use super::{Answer, Model, Named, Why};

/// What a session has to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) chunk: u64,
    pub(crate) chunks: u64,
    pub(crate) committed: bool,
    pub(crate) report_filed: bool,
    pub(crate) aborted: bool,
    pub(crate) commits: u64,
    pub(crate) reports: u64,
    pub(crate) tests: u64,
    pub(crate) chunks_completed: u64,
}

/// Starting, aborting, answering a budget and cleaning up are never redirected.
const EXEMPT: [&str; 8] = [
    "start",
    "abort",
    "budget_continue",
    "budget_abort",
    "session_ended",
    "abort_resolved",
    "abort_cleanup_failed",
    "restart",
];

pub(super) fn take(model: &mut Model, named: &Named, to: &'static str, at: i64) -> Answer {
    if ["code_complete", "docs_updated"].contains(&named.name) && !named.clears {
        return Answer::Refused(Why::Gate);
    }
    if named.name == "chunks_defined" && named.chunks == 0 {
        return Answer::Refused(Why::Data);
    }
    happened(model, named, at);
    let reasons = if EXEMPT.contains(&named.name) { Vec::new() } else { exceeded(model, at) };
    if reasons.is_empty() {
        model.enter(to, at);
        return Answer::Moved;
    }
    exceed(model, reasons, at)
}

/// An event is a fact: what it says holds even where a budget sends the run elsewhere.
fn happened(model: &mut Model, named: &Named, at: i64) {
    match named.name {
        "work_selected" => {
            (model.drive.chunk, model.drive.chunks, model.drive.committed, model.drive.report_filed) =
                (0, 0, false, false)
        }
        "chunks_defined" => {
            model.drive.chunks = named.chunks;
            take_chunk(model, 1);
        }
        "next_chunk" => take_chunk(model, (model.drive.chunk + 1).min(model.drive.chunks.max(1))),
        "tests_passed" => {
            model.drive.tests += 1;
            model.failure = None;
        }
        "tests_failed" => {
            model.drive.tests += 1;
            failed(model, named);
        }
        "drift_blocked" => failed(model, named),
        "merge_failed" | "push_failed" => model.raise("retry_count"),
        "committed" | "commit_with_doc_gate" => {
            model.drive.commits += 1;
            (model.drive.committed, model.drive.report_filed) = (true, false);
        }
        "report_filed" => {
            model.drive.reports += 1;
            model.drive.report_filed = true;
            model.drive.chunks_completed += 1;
            model.raise("total_chunks");
        }
        "abort" | "budget_abort" => model.drive.aborted = true,
        "budget_continue" => go_on(model, at),
        "restart" | "start" => {
            model.counters.clear();
            model.failure = None;
            model.session_clock = at;
            let Progress { commits, reports, tests, chunks_completed, .. } = model.drive;
            model.drive = Progress { commits, reports, tests, chunks_completed, ..Progress::default() };
        }
        _ => {}
    }
}

/// Retries, cycles and failures are those of one chunk.
fn take_chunk(model: &mut Model, chunk: u64) {
    model.drive.chunk = chunk;
    (model.drive.committed, model.drive.report_filed) = (false, false);
    model.clear(&["coding_cycles", "retry_count"]);
    model.failure = None;
}

fn failed(model: &mut Model, named: &Named) {
    model.raise("coding_cycles");
    model.raise("retry_count");
    model.failure = named.failure.map(|(text, tree)| match model.failure {
        Some((last_text, last_tree, times)) if (last_text, last_tree) == (text, tree) => {
            (text, tree, times + 1)
        }
        _ => (text, tree, 1),
    });
}

fn go_on(model: &mut Model, at: i64) {
    for reason in model.trip.clone().map(|trip| trip.reasons).unwrap_or_default() {
        match reason {
            "retry_exceeded" => model.clear(&["retry_count"]),
            "coding_cycles_exceeded" => model.clear(&["coding_cycles"]),
            "no_progress" => model.failure = None,
            "total_chunks_exceeded" => model.clear(&["total_chunks"]),
            "session_timeout" => model.session_clock = at,
            _ => {}
        }
    }
    if model.drive.report_filed && model.drive.chunk < model.drive.chunks {
        take_chunk(model, model.drive.chunk + 1);
    }
}

fn exceeded(model: &Model, at: i64) -> Vec<&'static str> {
    let late = Model::is_late(at, model.phase_clock, model.limit("max_phase_minutes"));
    let same = model.failure.map(|failure| failure.2).unwrap_or(0);
    let all = [
        ("phase_timeout", late && model.limits.enforcement != "warn"),
        ("retry_exceeded", model.is_above("retry_count", "max_retries_per_chunk")),
        ("coding_cycles_exceeded", model.is_above("coding_cycles", "max_coding_cycles")),
        ("no_progress", same >= model.limit("max_no_progress").max(1)),
        ("total_chunks_exceeded", model.is_above("total_chunks", "max_total_chunks")),
        ("session_timeout", Model::is_late(at, model.session_clock, model.limit("max_session_minutes"))),
    ];
    all.into_iter().filter(|(_, exceeded)| *exceeded).map(|(reason, _)| reason).collect()
}

fn exceed(model: &mut Model, reasons: Vec<&'static str>, at: i64) -> Answer {
    let aborts = reasons.contains(&"phase_timeout") && model.limits.enforcement == "abort";
    let answer = model.redirect("budget_exceeded", reasons, at);
    if aborts {
        abort(model, at);
    }
    answer
}

pub(super) fn abort(model: &mut Model, at: i64) {
    model.drive.aborted = true;
    model.enter("aborted", at);
}

pub(super) fn minutes(model: &Model) -> u64 {
    model.limit(match model.phase {
        "idle" => "max_session_minutes",
        "awaiting_continue" | "budget_exceeded" => "decision_timeout_minutes",
        _ => "max_phase_minutes",
    })
}

pub(super) fn due(model: &mut Model, at: i64) -> Answer {
    match model.phase {
        "idle" | "budget_exceeded" => return model.park("deadline"),
        "awaiting_continue" => model.enter("session_ending", at),
        "aborted" => model.enter("completed", at),
        _ if model.limits.enforcement == "warn" => return Answer::Noted,
        _ => return exceed(model, vec!["phase_timeout"], at),
    }
    Answer::Moved
}
