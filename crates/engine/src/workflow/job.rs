//! Jobs: what a program does in a phase that is the engine's own.
//!
//! A workflow names the job of such a phase (`does`), and may have its own words for what comes of it (`says`). Which
//! outcomes a job has is known here, so that a workflow which could not go on is refused before it is run.

use serde::{Deserialize, Serialize};

use super::Activity;
use crate::WaitKind;

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Job {
    /// Looks whether everything is there: a level, a branch, a test command.
    CheckPrerequisites,
    /// Takes an issue, and begins its branch.
    SelectWork,
    /// Splits the open criteria.
    DefineChunks,
    /// Ticks the chunk's criteria in the issue.
    TickCriteria,
    /// Runs the project's tests on what is to be committed.
    RunTests,
    /// Commits what was tested.
    Commit,
    /// Looks after the documentation.
    CheckDocs,
    /// Files the chunk's report.
    FileReport,
    /// Takes the next chunk, if one is left.
    TakeChunk,
    /// Runs the tests on what is committed.
    RunFinalTests,
    /// Brings what was tested to the merge target, or hands it over.
    Merge,
    /// Commits everything, then does as `merge`.
    CommitAndMerge,
    /// Files the session's summary.
    Summarise,
    /// Keeps what is unfinished, and files the abort report.
    CleanUp,
    /// Pushes the branch where it may leave, and offers it as a pull request; then the agent goes on.
    OpenPullRequest,
    /// Takes the run's own issue, and begins its branch.
    Claim,
    /// Waits until the issues are closed that the run's own depends on.
    AwaitDependencies,
    /// Offers what was handed in as a pull request, unless that is done, and waits for its checks.
    AwaitChecks,
    /// Waits until the pull request is merged, closed or sent back.
    AwaitReview,
}

impl Job {
    /// Tells whose a phase may be that begins with the job, or is all of it.
    pub(super) fn fits(self, activity: Activity) -> bool {
        match activity {
            // Of a reviewer's phase warp waits for the end, whoever has started the reviewer.
            Activity::Agent => [Job::OpenPullRequest, Job::AwaitReview].contains(&self),
            Activity::Engine => self != Job::OpenPullRequest,
            Activity::Person => false,
        }
    }

    /// Returns what the job waits for, if waiting is all it does.
    pub fn awaits(self) -> Option<WaitKind> {
        let waits = [(Job::AwaitDependencies, WaitKind::Dependencies), (Job::AwaitReview, WaitKind::Review)];
        waits.into_iter().find_map(|(job, kind)| (job == self).then_some(kind))
    }

    /// Returns the outcomes that a workflow must have an event for, and those that it may.
    pub fn outcomes(self) -> (&'static [&'static str], &'static [&'static str]) {
        match self {
            Job::CheckPrerequisites => (&["prerequisites_ok"], &[]),
            Job::SelectWork => (&["work_selected"], &["no_work"]),
            Job::DefineChunks => (&["chunks_defined"], &[]),
            Job::TickCriteria => (&["docs_updated"], &[]),
            Job::RunTests => (&["tests_passed", "tests_failed"], &[]),
            Job::Commit => (&["committed"], &["commit_with_doc_gate"]),
            Job::CheckDocs => (&["drift_clean"], &["drift_blocked"]),
            Job::FileReport => (&["report_filed"], &[]),
            Job::TakeChunk => (&["next_chunk", "requirement_done"], &[]),
            Job::RunFinalTests => (&["merge_ready"], &[]),
            Job::Merge | Job::CommitAndMerge => (&["merged", "merge_failed"], &["push_failed"]),
            Job::Summarise => (&["session_ended"], &[]),
            // The run knows its pull request then, and stays where it is.
            Job::OpenPullRequest => (&[], &[]),
            Job::Claim => (&["claimed"], &["dependency_unmet", "already_done"]),
            Job::AwaitDependencies => (&["dependencies_closed"], &[]),
            Job::AwaitChecks => (&["checks_passed", "checks_failed"], &["checks_broken"]),
            Job::AwaitReview => (&["merged", "changes_requested"], &["merge_conflicted", "undecided"]),
            Job::CleanUp => (&["abort_resolved"], &["abort_cleanup_failed"]),
        }
    }
}
