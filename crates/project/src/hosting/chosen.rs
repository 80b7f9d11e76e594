//! What the settings of a project say about its forge and its checks.

use std::collections::BTreeSet;

use engine::keys;
use forge::{Contexts, MergeMethod, Settings, SiteKind};

use super::Choice;
use crate::{
    Dirs, Place,
    config::{self, ConfigError},
};

/// What a project says about its forge.
#[derive(Clone, Debug, Default)]
pub struct ForgeSettings {
    pub choice: Choice,
    pub access: Settings,
    pub checks: CheckSource,
}

/// What has to be green before a server merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckSource {
    /// What the server runs, and what others report to it.
    Server(Contexts),
    Woodpecker {
        url: String,
        /// The repository's number there.
        repository: u64,
        required: BTreeSet<String>,
    },
    /// The project's own test command, and nothing of a server's.
    Command,
    /// Nothing, as the project says itself.
    None,
}

impl Default for CheckSource {
    fn default() -> Self {
        Self::Server(Contexts::default())
    }
}

impl ForgeSettings {
    /// Reads the settings that are in force for runs of a project.
    pub fn read(place: &Place, dirs: &Dirs) -> Result<Self, ConfigError> {
        let (config, target) = config::for_runs(place, dirs, &[])?;
        let settings = &config.settings;
        let choice = match settings.get(keys::FORGE) {
            "local" => Choice::Local,
            "github" => Choice::Server(Some(SiteKind::GitHub)),
            "forgejo" => Choice::Server(Some(SiteKind::Forgejo)),
            _ => Choice::Auto,
        };
        let merge = match settings.get(keys::MERGE_METHOD) {
            "squash" => MergeMethod::Squash,
            "rebase" => MergeMethod::Rebase,
            _ => MergeMethod::Merge,
        };
        let trusted = settings.get(keys::FORGE_TRUSTED).to_vec();
        let access = Settings { trusted, merge, ..Settings::default() };
        let named: BTreeSet<String> = settings.get(keys::REQUIRED_CHECKS).iter().cloned().collect();
        let repository = settings.get(keys::WOODPECKER_REPO_ID);
        let url = settings.get(keys::WOODPECKER_URL);
        let woodpecker = CheckSource::Woodpecker { url: url.to_owned(), repository, required: named.clone() };
        let server = CheckSource::Server(Contexts { target: Some(target), named });
        let checks = match settings.get(keys::CHECKS) {
            "command" => CheckSource::Command,
            "none" => CheckSource::None,
            // A project that names Woodpecker and no repository there has no checks.
            "woodpecker" if repository == 0 => CheckSource::None,
            "woodpecker" => woodpecker,
            "auto" if repository != 0 && url != "none" => woodpecker,
            _ => server,
        };
        Ok(Self { choice, access, checks })
    }
}
