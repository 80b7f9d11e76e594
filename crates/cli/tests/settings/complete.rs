//! That no setting of the documents that Warp Drive follows goes without a test by its name.

use std::{
    fs,
    path::{Path, PathBuf},
};

use engine::Settings;

/// The rows of the original's table of settings, in its order, and what stands beside the table.
pub(crate) const WARP_DRIVE: &[&str] = &[
    "max_acs_per_commit",
    "test_before_commit",
    "auto_merge",
    "max_phase_minutes",
    "max_coding_cycles",
    "max_retries_per_chunk",
    "max_edits_per_file",
    "pre_exit_verification",
    "decision_timeout_minutes",
    "heartbeat_on_commit",
    "reconcile_per_chunk",
    "dev_health_check",
    "dev_seed_check",
    "max_total_chunks",
    "max_session_minutes",
    "phase_timeout_enforcement",
    "doc_drift_gate",
    "verification_gates",
    "reasoning_budget",
    "max_no_progress",
    "automation.active_level",
    "rdb.enabled",
];

/// The flags of autonomous-loop, and the budgets of coder.
const LOOPS: &[&str] = &[
    "max_iterations",
    "max_phase_iterations",
    "max_fix_cycles",
    "skip_brainstorm",
    "skip_test_review",
    "completion_promise",
    "budget_limit_usd",
    "planning_iterations",
    "coding_iterations",
    "fixing_iterations",
    "max_budget_answers",
];

/// Settings whose tests stand with the rest of what they are about.
const ELSEWHERE: &[(&str, &str)] = &[
    ("heartbeat_on_commit", "tests/run"),
    ("rdb.enabled", "tests/run"),
    ("dev_health_check", "tests/dev"),
    ("dev_seed_check", "tests/dev"),
];

#[test]
fn every_setting_of_the_documents_has_a_test_by_its_name() {
    for key in WARP_DRIVE.iter().chain(LOOPS) {
        assert!(Settings::row(key).is_some(), "`{key}` is no setting");
        let elsewhere = ELSEWHERE.iter().find(|(other, _)| other == key);
        let place = elsewhere.map_or("tests/settings", |(_, place)| place);
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(place);
        let begins = format!("fn {}_", key.replace('.', "_"));
        let is_tested = sources(&place).iter().any(|source| has_test(source, &begins));
        assert!(is_tested, "no test in {} begins with `{begins}`", place.display());
    }
}

fn sources(directory: &Path) -> Vec<String> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "rs")).collect();
    paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn has_test(source: &str, begins: &str) -> bool {
    let lines: Vec<&str> = source.lines().collect();
    lines.windows(2).any(|pair| pair[0] == "#[test]" && pair[1].starts_with(begins))
}
