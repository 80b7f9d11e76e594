//! The tables of the four workflows, copied by hand from the documents that define them.
//!
//! They are the second opinion: nothing here is read from `workflows/*.toml` or from the engine.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::LazyLock,
};

/// The table of one workflow.
pub(crate) struct Oracle {
    pub(crate) name: &'static str,
    pub(crate) initial: &'static str,
    pub(crate) finals: &'static [&'static str],
    /// Every allowed move: phase, event, next phase. An event that has several next phases in one phase
    /// returns to where that phase was entered from.
    pub(crate) rows: &'static [(&'static str, &'static str, &'static str)],
    /// Events that count where they happen: phase, event, and the phase in which the run then stands.
    pub(crate) ticks: &'static [(&'static str, &'static str, &'static str)],
    /// Events that ask a person to look: phase, event, and where an approval leads.
    pub(crate) asks: &'static [(&'static str, &'static str, &'static str)],
    /// The event that ends a run in its final phase, where entering it does not.
    pub(crate) close: Option<&'static str>,
}

impl std::fmt::Debug for Oracle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

pub(crate) const ALL: [&Oracle; 4] = [&WARP_DRIVE, &CODER, &AUTONOMOUS_LOOP, &FACTORY];

impl Oracle {
    pub(crate) fn of(name: &str) -> &'static Oracle {
        ALL.into_iter().find(|oracle| oracle.name == name).expect("a built-in workflow")
    }

    pub(crate) fn phases(&self) -> BTreeSet<&'static str> {
        self.rows.iter().flat_map(|(from, _, to)| [*from, *to]).collect()
    }

    /// Returns the events of a phase, each once.
    pub(crate) fn events(&self, phase: &str) -> Vec<&'static str> {
        let mut events: Vec<&str> = Vec::new();
        for (_, event, _) in self.rows.iter().filter(|(from, _, _)| *from == phase) {
            if !events.contains(event) {
                events.push(event);
            }
        }
        events
    }

    pub(crate) fn targets(&self, phase: &str, event: &str) -> Vec<&'static str> {
        let fits = |row: &&(&str, &str, &str)| row.0 == phase && row.1 == event;
        self.rows.iter().filter(fits).map(|row| row.2).collect()
    }

    /// Tells whether a phase is left for where it was entered from.
    pub(crate) fn returns(&self, phase: &str) -> bool {
        self.events(phase).iter().any(|event| self.targets(phase, event).len() > 1)
    }

    /// Returns where an event leads from a phase that was entered from `origin`.
    pub(crate) fn target(&self, phase: &str, event: &str, origin: Option<&str>) -> Option<&'static str> {
        match self.targets(phase, event).as_slice() {
            [] => None,
            [to] => Some(to),
            several => several.iter().copied().find(|to| Some(*to) == origin),
        }
    }

    pub(crate) fn tick(&self, phase: &str, event: &str) -> Option<&'static str> {
        self.ticks.iter().find(|tick| tick.0 == phase && tick.1 == event).map(|tick| tick.2)
    }

    pub(crate) fn ask(&self, phase: &str, event: &str) -> Option<&'static str> {
        self.asks.iter().find(|ask| ask.0 == phase && ask.1 == event).map(|ask| ask.2)
    }

    /// Returns the events of a shortest way between two phases, over rows with one target and no budget.
    pub(crate) fn way(&self, from: &str, to: &str) -> Option<Vec<&'static str>> {
        let mut ways: BTreeMap<&str, Vec<&'static str>> = BTreeMap::from([(from, Vec::new())]);
        let mut queue = VecDeque::from([from]);
        while let Some(phase) = queue.pop_front() {
            if phase == to {
                return ways.remove(phase);
            }
            for (_, event, next) in self.rows.iter().filter(|(start, _, _)| *start == phase) {
                let plain = self.targets(phase, event).len() == 1 && *event != "budget_exceeded";
                if plain && !ways.contains_key(next) {
                    let mut way = ways[phase].clone();
                    way.push(event);
                    ways.insert(next, way);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

/// Every event name of every workflow, and one that no workflow has.
pub(crate) static ALL_EVENTS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let rows = ALL.into_iter().flat_map(|oracle| oracle.rows.iter().map(|row| row.1));
    let ticks = ALL.into_iter().flat_map(|oracle| oracle.ticks.iter().map(|tick| tick.1));
    let closes = ALL.into_iter().filter_map(|oracle| oracle.close);
    let asks = ALL.into_iter().flat_map(|oracle| oracle.asks.iter().map(|ask| ask.1));
    let names: BTreeSet<&str> =
        rows.chain(ticks).chain(closes).chain(asks).chain(["never_heard_of"]).collect();
    names.into_iter().collect()
});

/// The 46 rows of the state reference.
pub(crate) const WARP_DRIVE: Oracle = Oracle {
    name: "warp-drive",
    initial: "prerequisites",
    finals: &["completed"],
    ticks: &[],
    asks: &[],
    close: None,
    rows: &[
        ("idle", "start", "prerequisites"),
        ("idle", "abort", "aborted"),
        ("prerequisites", "prerequisites_ok", "discovering"),
        ("prerequisites", "abort", "aborted"),
        ("discovering", "work_selected", "planning"),
        ("discovering", "no_work", "session_ending"),
        ("discovering", "abort", "aborted"),
        ("planning", "plan_ready", "chunking"),
        ("planning", "abort", "aborted"),
        ("chunking", "chunks_defined", "coding"),
        ("chunking", "abort", "aborted"),
        ("coding", "code_complete", "updating_docs"),
        ("coding", "abort", "aborted"),
        ("updating_docs", "docs_updated", "testing"),
        ("updating_docs", "abort", "aborted"),
        ("testing", "tests_passed", "committing"),
        ("testing", "tests_failed", "coding"),
        ("testing", "abort", "aborted"),
        ("committing", "committed", "reporting"),
        ("committing", "commit_with_doc_gate", "doc_drift_check"),
        ("committing", "abort", "aborted"),
        ("doc_drift_check", "drift_clean", "reporting"),
        ("doc_drift_check", "drift_blocked", "coding"),
        ("doc_drift_check", "abort", "aborted"),
        ("reporting", "report_filed", "chunk_complete"),
        ("reporting", "abort", "aborted"),
        ("chunk_complete", "next_chunk", "coding"),
        ("chunk_complete", "requirement_done", "requirement_complete"),
        ("chunk_complete", "abort", "aborted"),
        ("requirement_complete", "merge_ready", "merging"),
        ("requirement_complete", "abort", "aborted"),
        ("merging", "merged", "awaiting_continue"),
        ("merging", "merge_failed", "merging"),
        ("merging", "push_failed", "merging"),
        ("merging", "abort", "aborted"),
        ("awaiting_continue", "continue_yes", "discovering"),
        ("awaiting_continue", "continue_no", "session_ending"),
        ("awaiting_continue", "abort", "aborted"),
        ("session_ending", "session_ended", "completed"),
        ("session_ending", "abort", "aborted"),
        ("budget_exceeded", "budget_continue", "coding"),
        ("budget_exceeded", "budget_abort", "aborted"),
        ("budget_exceeded", "abort", "aborted"),
        ("aborted", "abort_resolved", "completed"),
        ("aborted", "abort_cleanup_failed", "completed"),
        ("aborted", "restart", "idle"),
    ],
};

/// The 35 pairs of the coder's table, rev F, by the events of its diagram. `continue` and `pivot` are two
/// answers for the same three pairs.
pub(crate) const CODER: Oracle = Oracle {
    name: "coder",
    initial: "WAITING",
    finals: &["DONE"],
    ticks: &[
        ("PLANNING", "turn_finished", "PLANNING"),
        ("CODING", "turn_finished", "CODING"),
        ("FIXING", "turn_finished", "FIXING"),
    ],
    asks: &[("PLANNING", "mark_story_complete", "DONE")],
    close: None,
    rows: &[
        ("WAITING", "receive_task", "SETUP"),
        ("SETUP", "workspace_ready", "PLANNING"),
        ("SETUP", "workspace_setup_failed", "ERROR"),
        ("PLANNING", "submit_plan", "PLAN_REVIEW"),
        ("PLANNING", "completion_approved", "DONE"),
        ("PLANNING", "clarification", "QUESTION"),
        ("PLANNING", "budget_exceeded", "BUDGET_REVIEW"),
        ("PLAN_REVIEW", "approve", "CODING"),
        ("PLAN_REVIEW", "changes", "PLANNING"),
        ("PLAN_REVIEW", "abandon", "ERROR"),
        ("CODING", "code_complete", "TESTING"),
        ("CODING", "clarification", "QUESTION"),
        ("CODING", "budget_exceeded", "BUDGET_REVIEW"),
        ("CODING", "unrecoverable_error", "ERROR"),
        ("TESTING", "tests_pass", "CODE_REVIEW"),
        ("TESTING", "tests_fail", "FIXING"),
        ("FIXING", "fix_done", "TESTING"),
        ("FIXING", "clarification", "QUESTION"),
        ("FIXING", "budget_exceeded", "BUDGET_REVIEW"),
        ("FIXING", "unrecoverable_error", "ERROR"),
        ("CODE_REVIEW", "approve", "AWAIT_MERGE"),
        ("CODE_REVIEW", "changes", "FIXING"),
        ("CODE_REVIEW", "abandon", "ERROR"),
        ("BUDGET_REVIEW", "continue", "PLANNING"),
        ("BUDGET_REVIEW", "continue", "CODING"),
        ("BUDGET_REVIEW", "continue", "FIXING"),
        ("BUDGET_REVIEW", "pivot", "PLANNING"),
        ("BUDGET_REVIEW", "pivot", "CODING"),
        ("BUDGET_REVIEW", "pivot", "FIXING"),
        ("BUDGET_REVIEW", "escalate", "CODE_REVIEW"),
        ("BUDGET_REVIEW", "abandon", "ERROR"),
        ("AWAIT_MERGE", "merge_successful", "DONE"),
        ("AWAIT_MERGE", "merge_conflicts", "FIXING"),
        ("QUESTION", "answer", "PLANNING"),
        ("QUESTION", "answer", "CODING"),
        ("QUESTION", "answer", "FIXING"),
        ("QUESTION", "abandon", "ERROR"),
        ("ERROR", "cleanup_and_restart", "DONE"),
    ],
};

/// The eleven phases of the loop, version 2, and their thirteen moves.
pub(crate) const AUTONOMOUS_LOOP: Oracle = Oracle {
    name: "autonomous-loop",
    initial: "brainstorm",
    finals: &["ship"],
    ticks: &[
        ("brainstorm", "turn_finished", "brainstorm"),
        ("plan", "turn_finished", "plan"),
        ("spec_test", "turn_finished", "spec_test"),
        // A single pass: it always goes on after one iteration.
        ("deepen", "turn_finished", "work"),
        ("work", "turn_finished", "work"),
        ("review", "turn_finished", "review"),
        ("fix", "turn_finished", "fix"),
        ("re_review", "turn_finished", "re_review"),
        ("compound", "turn_finished", "compound"),
        ("test", "turn_finished", "test"),
        ("ship", "turn_finished", "ship"),
    ],
    asks: &[("spec_test", "tests_written", "deepen")],
    close: Some("shipped"),
    rows: &[
        ("brainstorm", "brainstorm_written", "plan"),
        ("plan", "plan_written", "spec_test"),
        ("spec_test", "tests_approved", "deepen"),
        ("deepen", "plan_deepened", "work"),
        ("work", "work_finished", "review"),
        ("review", "p1_found", "fix"),
        ("review", "review_clean", "compound"),
        ("fix", "fixes_made", "re_review"),
        ("re_review", "p1_found", "fix"),
        ("re_review", "review_clean", "compound"),
        ("compound", "solution_noted", "test"),
        ("test", "tests_passed", "ship"),
        ("test", "tests_failed", "fix"),
    ],
};

/// The life of an issue in the factory.
pub(crate) const FACTORY: Oracle = Oracle {
    name: "factory",
    initial: "backlog",
    finals: &["done", "failed"],
    ticks: &[("in_progress", "agent_crashed", "in_progress")],
    asks: &[],
    close: None,
    rows: &[
        ("backlog", "claimed", "in_progress"),
        ("backlog", "dependency_unmet", "blocked"),
        ("backlog", "too_large", "underspecified"),
        ("backlog", "already_done", "done"),
        ("blocked", "dependencies_closed", "backlog"),
        ("blocked", "needs_human", "needs_human"),
        ("underspecified", "clarified", "backlog"),
        ("underspecified", "withdrawn", "failed"),
        ("in_progress", "pushed", "awaiting_ci"),
        ("in_progress", "needs_human", "needs_human"),
        ("in_progress", "dependency_unmet", "blocked"),
        ("in_progress", "too_large", "underspecified"),
        ("in_progress", "already_done", "done"),
        ("in_progress", "failed", "failed"),
        ("awaiting_ci", "ci_passed", "awaiting_review"),
        ("awaiting_ci", "ci_failed", "in_progress"),
        ("awaiting_ci", "ci_infra_failed", "awaiting_ci"),
        ("awaiting_ci", "needs_human", "needs_human"),
        ("awaiting_ci", "failed", "failed"),
        ("awaiting_review", "merged", "done"),
        ("awaiting_review", "changes_requested", "in_progress"),
        ("awaiting_review", "merge_conflicted", "in_progress"),
        ("awaiting_review", "needs_human", "needs_human"),
        ("awaiting_review", "failed", "failed"),
        ("needs_human", "answered", "in_progress"),
        ("needs_human", "merged", "done"),
        ("needs_human", "failed", "failed"),
    ],
};
