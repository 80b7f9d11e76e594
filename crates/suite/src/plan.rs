//! How a project is tested: what a run is pinned to, in one value.

use std::{path::Path, time::Duration};

use engine::{Run, Settings, keys};

use super::SuiteError;
use super::command::{command, found, setup_command};

/// How a project is tested.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The command that tests it.
    pub test: String,
    /// The command that installs what the tests need.
    pub setup: Option<String>,
    /// How long the tests may take, and the setup.
    pub patience: Duration,
    pub setup_patience: Duration,
    /// The branch whose files say how it is made ready.
    pub target: String,
    /// The report that the tests write, as it is set; empty if none is.
    pub report: String,
    /// Whether it is checked that the tests can fail.
    pub proof: bool,
}

impl Plan {
    /// Returns how a run tests its project.
    pub fn of(root: &Path, run: &Run) -> Result<Self, SuiteError> {
        Ok(Self {
            test: command(root, run)?,
            setup: setup_command(run),
            patience: patience(run),
            setup_patience: setup_patience(&run.settings),
            target: run.branches.merge_target.clone(),
            report: run.settings.get(keys::TEST_REPORT).to_owned(),
            proof: run.settings.get(keys::TEST_PROOF),
        })
    }

    /// Returns how a run would test the project that begins now.
    pub fn new(root: &Path, settings: &Settings, target: &str) -> Result<Option<Self>, String> {
        let set = Some(settings.get(keys::TEST_COMMAND)).filter(|set| *set != "auto");
        let found = found(root, target, set)?;
        let Some(test) = set.map(str::to_owned).or(found.test) else { return Ok(None) };
        Ok(Some(Self {
            test,
            setup: match settings.get(keys::SETUP_COMMAND) {
                "none" => None,
                "auto" => found.setup,
                set => Some(set.to_owned()),
            },
            patience: Duration::from_secs(60 * settings.get(keys::MAX_PHASE_MINUTES).max(1)),
            setup_patience: setup_patience(settings),
            target: target.to_owned(),
            report: settings.get(keys::TEST_REPORT).to_owned(),
            proof: settings.get(keys::TEST_PROOF),
        }))
    }
}

fn setup_patience(settings: &Settings) -> Duration {
    Duration::from_secs(60 * settings.get(keys::SETUP_MINUTES))
}

/// How long the project's tests may take: as long as the phase, and at least a minute.
pub fn patience(run: &Run) -> Duration {
    Duration::from_secs(60 * run.settings.get(keys::MAX_PHASE_MINUTES).max(1))
}
