//! The dev environment of a run: it is up while an agent works, and the agent is told where it is.
//!
//! What goes wrong here is only said: between chunks it is looked at again, and then a person decides.

use dev::URL;
use engine::workflow::Job;
use jobs::JobError;
use project::{Current, Dirs, Place, slots::Pool};

use crate::{
    driver::{DriveError, Driver},
    show::Shown,
    start::StartError,
};

impl Driver<'_> {
    /// Brings the environment up again where an earlier process of warp's has taken it along.
    pub(crate) fn ready_dev(&mut self, current: &Current) -> Result<(), DriveError> {
        match jobs::on(&mut self.workspace).ready_dev(&current.run) {
            Ok(done) => done.iter().for_each(|said| self.show.show(Shown::Did(said))),
            Err(JobError::Dev(why)) => self.show.show(Shown::Warned(&why)),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Does the same before a phase of warp's own in which the project's tests are run: they may ask the server.
    pub(crate) fn ready_dev_for_tests(&mut self, current: &Current, job: Job) -> Result<(), DriveError> {
        match job {
            Job::RunTests
            | Job::Commit
            | Job::CheckDocs
            | Job::RunFinalTests
            | Job::AwaitChecks
            | Job::Merge
            | Job::CommitAndMerge => self.ready_dev(current),
            Job::CheckPrerequisites
            | Job::SelectWork
            | Job::DefineChunks
            | Job::TickCriteria
            | Job::FileReport
            | Job::TakeChunk
            | Job::Summarise
            | Job::CleanUp
            | Job::OpenPullRequest
            | Job::Claim
            | Job::AwaitDependencies
            | Job::AwaitReview => Ok(()),
        }
    }

    /// Returns what an agent is told of the environment, as variables.
    pub(crate) fn dev_facts(&self) -> Option<(String, String)> {
        self.workspace.dev_server().map(|(url, _)| (URL.to_owned(), url))
    }
}

/// Ends servers that runs of the project have left behind when they were killed.
pub(crate) fn end_left_behind(place: &Place, dirs: &Dirs) -> Result<(), StartError> {
    // Without workspaces there is nothing; where there cannot be any, that is said when one is needed.
    let Ok(trees) = Pool::of(place, dirs).and_then(|pool| pool.trees()) else { return Ok(()) };
    dev::end_left_behind(&trees)?;
    Ok(())
}
