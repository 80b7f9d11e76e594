//! Jobs: what a program does in a phase that is the engine's own.
//!
//! A workflow names the job of such a phase (`does`), and may have its own words for what comes of it (`says`). Which
//! outcomes a job has is known here, so that a workflow which could not go on is refused before it is run.

use std::fmt;

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

    /// Returns what the job waits for, if waiting is all it does. Checks are waited for from the moment on at which they run
    /// somewhere else ([`crate::PullFacts::awaited`]); the project's own command is run.
    pub fn awaits(self) -> Option<WaitKind> {
        let waits = [
            (Job::AwaitDependencies, WaitKind::Dependencies),
            (Job::AwaitChecks, WaitKind::Checks),
            (Job::AwaitReview, WaitKind::Review),
        ];
        waits.into_iter().find_map(|(job, kind)| (job == self).then_some(kind))
    }

    /// Returns the outcomes that a workflow must have an event for, and those that it may.
    pub fn outcomes(self) -> (&'static [JobOutcome], &'static [JobOutcome]) {
        use JobOutcome::*;
        match self {
            Job::CheckPrerequisites => (&[PrerequisitesOk], &[]),
            Job::SelectWork => (&[WorkSelected], &[NoWork]),
            Job::DefineChunks => (&[ChunksDefined], &[]),
            Job::TickCriteria => (&[DocsUpdated], &[]),
            Job::RunTests => (&[TestsPassed, TestsFailed], &[]),
            Job::Commit => (&[Committed], &[CommitWithDocGate]),
            Job::CheckDocs => (&[DriftClean], &[DriftBlocked]),
            Job::FileReport => (&[ReportFiled], &[]),
            Job::TakeChunk => (&[NextChunk, RequirementDone], &[]),
            Job::RunFinalTests => (&[MergeReady], &[]),
            Job::Merge | Job::CommitAndMerge => (&[Merged, MergeFailed], &[PushFailed]),
            Job::Summarise => (&[SessionEnded], &[]),
            // The run knows its pull request then, and stays where it is.
            Job::OpenPullRequest => (&[], &[]),
            Job::Claim => (&[Claimed], &[DependencyUnmet, AlreadyDone]),
            Job::AwaitDependencies => (&[DependenciesClosed], &[]),
            Job::AwaitChecks => (&[ChecksPassed, ChecksFailed], &[ChecksBroken]),
            Job::AwaitReview => (&[Merged, ChangesRequested], &[MergeConflicted, Undecided]),
            Job::CleanUp => (&[AbortResolved], &[AbortCleanupFailed]),
        }
    }
}

macro_rules! outcomes {
    ($($(#[$doc:meta])* $outcome:ident = $word:literal),* $(,)?) => {
        /// What a job came to, in the words of workflows that have none of their own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum JobOutcome {
            $($(#[$doc])* $outcome),*
        }

        impl JobOutcome {
            const ALL: &[Self] = &[$(Self::$outcome),*];

            /// Returns the outcome's own word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$outcome => $word),*
                }
            }
        }
    };
}

outcomes! {
    /// Everything that the run needs is there.
    PrerequisitesOk = "prerequisites_ok",
    /// An issue was taken, and its branch begun.
    WorkSelected = "work_selected",
    /// No issue is ready.
    NoWork = "no_work",
    /// The open criteria are split into chunks.
    ChunksDefined = "chunks_defined",
    /// The chunk's criteria are ticked.
    DocsUpdated = "docs_updated",
    /// The project's tests passed.
    TestsPassed = "tests_passed",
    /// The project's tests failed.
    TestsFailed = "tests_failed",
    /// What was tested is committed.
    Committed = "committed",
    /// What was tested is committed, and the docs are looked at next.
    CommitWithDocGate = "commit_with_doc_gate",
    /// The docs say what is so.
    DriftClean = "drift_clean",
    /// The docs say what is not so any more.
    DriftBlocked = "drift_blocked",
    /// The chunk's report is filed.
    ReportFiled = "report_filed",
    /// Another chunk was taken.
    NextChunk = "next_chunk",
    /// No chunk is left.
    RequirementDone = "requirement_done",
    /// What is committed passed the tests.
    MergeReady = "merge_ready",
    /// The work is in the merge target, or handed over.
    Merged = "merged",
    /// The merge target moved, or the work does not fit onto it.
    MergeFailed = "merge_failed",
    /// The remote did not take the work.
    PushFailed = "push_failed",
    /// The session's summary is filed.
    SessionEnded = "session_ended",
    /// The run's own issue was taken, and its branch begun.
    Claimed = "claimed",
    /// An issue is open that the run's own depends on.
    DependencyUnmet = "dependency_unmet",
    /// The run's own issue is closed.
    AlreadyDone = "already_done",
    /// The issues are closed that the run's own depends on.
    DependenciesClosed = "dependencies_closed",
    /// The pull request's checks passed.
    ChecksPassed = "checks_passed",
    /// The pull request's checks failed.
    ChecksFailed = "checks_failed",
    /// The pull request's checks could not be run.
    ChecksBroken = "checks_broken",
    /// The pull request was sent back.
    ChangesRequested = "changes_requested",
    /// The pull request does not fit onto its target.
    MergeConflicted = "merge_conflicted",
    /// The pull request was closed and not merged.
    Undecided = "undecided",
    /// What is unfinished is kept, and the abort report filed.
    AbortResolved = "abort_resolved",
    /// What is unfinished could not be kept.
    AbortCleanupFailed = "abort_cleanup_failed",
}

impl JobOutcome {
    /// Returns the outcome with that word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|outcome| outcome.as_str() == word).copied()
    }
}

impl fmt::Display for JobOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
