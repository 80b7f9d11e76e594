//! The dev environment of a run: it is up while an agent works, and the agent is told where it is.
//!
//! What goes wrong here is only said: between chunks it is looked at again, and then a person decides.

use dev::URL;
use std::sync::Arc;

use engine::{Record, workflow::Job};
use project::{Current, Dirs, NextError, Place, Workspace, slots::Pool};
use serde_json::Value;

use crate::{
    driver::{DriveError, Driver},
    show::Shown,
    start::StartError,
};

impl Driver<'_> {
    /// Brings the environment up again where an earlier process of warp's has taken it along.
    pub(crate) fn ready_dev(&mut self, current: &Current) -> Result<(), DriveError> {
        match self.workspace.ready_dev(&current.run) {
            Ok(done) => done.iter().for_each(|said| self.show.show(Shown::Did(said))),
            Err(NextError::Dev(why)) => self.show.show(Shown::Warned(&why)),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Does the same before a phase of warp's own in which the project's tests are run: they may ask the server.
    pub(crate) fn ready_dev_for_tests(&mut self, current: &Current) -> Result<(), DriveError> {
        let job = current.workflow.phase(&current.run.phase).and_then(|phase| phase.job);
        match job {
            Some(
                Job::RunTests
                | Job::Commit
                | Job::CheckDocs
                | Job::RunFinalTests
                | Job::Merge
                | Job::CommitAndMerge,
            ) => self.ready_dev(current),
            Some(
                Job::CheckPrerequisites
                | Job::SelectWork
                | Job::DefineChunks
                | Job::TickCriteria
                | Job::FileReport
                | Job::TakeChunk
                | Job::Summarise
                | Job::CleanUp
                | Job::OpenPullRequest,
            )
            | None => Ok(()),
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

/// Says what an agent has to know of the environment: where the server is, and which tables were left without seed data.
pub(crate) fn told(workspace: &Workspace, records: &[Arc<Record>]) -> String {
    let mut told = Vec::new();
    if let Some((url, log)) = workspace.dev_server() {
        told.push(format!(
            "The dev server runs at {url} (`{URL}`); what it says is in `{log}`. Leave it to warp to start and end it."
        ));
    }
    told.extend(missing_seeds(records).map(|text| format!("Advice on the code so far: {text}.")));
    told.join("\n")
}

/// Returns the advice on seed data that the newest code was given.
fn missing_seeds(records: &[Arc<Record>]) -> Option<&str> {
    let last = records
        .iter()
        .rev()
        .find(|record| ["code_complete", "seeds_missing"].contains(&record.event.as_str()));
    last.filter(|record| record.event == *"seeds_missing")?.data.get("text").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(event: &str) -> Record {
        let record = json!({
            "version": 1, "event": event, "at": "2026-05-08T15:56:59.401Z", "from": "coding", "phase": "coding",
            "data": { "text": "no seed data for cups" }, "changes": [],
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn advice_on_seed_data_holds_until_there_is_other_code() {
        for (events, expected) in [
            (vec!["code_complete", "seeds_missing", "docs_updated", "dev_checked"], true),
            (vec!["code_complete", "seeds_missing", "code_complete", "tests_passed"], false),
            (vec!["code_complete"], false),
        ] {
            let records: Vec<Arc<Record>> = events.iter().map(|event| Arc::new(record(event))).collect();
            assert_eq!(missing_seeds(&records).is_some(), expected, "{events:?}");
        }
    }
}
