//! A project's dev environment, as `dev.json` describes it: migrations, a server, seed data, users.
//!
//! [`Dev::up`] brings all of it up and does nothing twice; [`Dev::check`] only asks whether the server is healthy. In a
//! workspace of a run's own the server is a child of whoever drives the run, behind the same walls as the tests, and ends
//! with it. For a person it goes on in the background, kept by a process of its own, until [`down`].
//!
//! Invariants:
//! - What is running can be found: its mark is on disk before it is started.
//! - A port that somebody else has is never freed by force.
//! - Docs (`docs`) are read and not served: which program serves them, and from where, the file does not say.

mod coverage;
mod draft;
mod manifest;
mod seeds;
mod server;
mod up;
mod users;

use std::{
    io,
    path::{Path, PathBuf},
};

use adapters::git::Git;

pub use draft::{DraftReport, draft};
pub use manifest::Manifest;
pub use server::{Keeper, ServerHandle, log as log_of};
pub use server::{StoppedServers, down, end_left_behind, keep};
pub use up::url;
pub use up::{DataKind, Health, ServerStart, StartReport};

use workspace::{Place, Shell, text};

/// The file that describes the environment.
pub const FILE: &str = "dev.json";

/// The variable by which tests and agents are told where the server is.
pub const URL: &str = "WARP_DEV_URL";

/// What is said of docs that would be served.
pub const DOCS_NOT_SERVED: &str =
    "dev.json: `docs` is read and not served; start it yourself where you want it";

/// Why the environment is not up.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    #[error("there is no {FILE} in `{}`", root.display())]
    None { root: PathBuf },
    #[error("{FILE} is there already; nothing was changed")]
    Exists,
    #[error("{FILE} cannot be read: {problem}")]
    Syntax { problem: String },
    #[error("{FILE}: `{key}` {problem}")]
    Key { key: String, problem: String },
    #[error("`{}` is a run's own workspace: its server is started and ended by the run", root.display())]
    InSlot { root: PathBuf },
    #[error("another process brings the environment up or down")]
    Busy,
    #[error("port {port} is taken by {by}")]
    PortTaken { port: u16, by: String },
    #[error("the server did not come up: {why}{}", said(words))]
    NotUp { why: String, words: String },
    #[error("{what} failed: {why}{}", said(words))]
    Failed { what: String, why: String, words: String },
    #[error("stopped before the environment was up")]
    Interrupted,
    #[error("failed to read or write `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Puts what a program said last below why it is quoted.
fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("\n{words}") }
}

impl DevError {
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

/// A project's dev environment.
#[derive(Debug)]
pub struct Dev<'a> {
    place: &'a Place,
    shell: &'a Shell,
    pub manifest: Manifest,
    /// The run that it is for; none for a person.
    run: Option<&'a str>,
}

impl<'a> Dev<'a> {
    /// Reads the environment of a person's checkout; nothing if there is no [`FILE`].
    pub fn of(place: &'a Place, shell: &'a Shell) -> Result<Option<Self>, DevError> {
        let manifest = read(&place.root)?;
        Ok(manifest.map(|manifest| Self { place, shell, manifest, run: None }))
    }

    /// Reads the environment for a run in a workspace of its own, as the merge target has it: what an agent writes into
    /// its tree changes nothing for its own run.
    pub fn pinned(
        place: &'a Place,
        shell: &'a Shell,
        target: &str,
        run: &'a str,
    ) -> Result<Option<Self>, DevError> {
        let manifest = pinned(&place.root, target)?;
        Ok(manifest.map(|manifest| Self { place, shell, manifest, run: Some(run) }))
    }

    /// Returns the tables that the changed files make and no seed file fills, by name.
    pub fn tables_without_seeds(&self, changed: &[String]) -> Vec<String> {
        let Some(seed) = &self.manifest.seed else { return Vec::new() };
        let mut missing = coverage::missing(&self.place.root, seed, changed);
        // Users are put into theirs.
        let filled = self.manifest.auth.as_ref().map(|auth| auth.table.as_str());
        missing.retain(|table| filled.is_none_or(|filled| !filled.eq_ignore_ascii_case(table)));
        missing
    }

    /// Returns where warp keeps what belongs to the environment.
    fn directory(&self) -> PathBuf {
        directory(self.place)
    }
}

/// Reads [`FILE`] as a branch has it.
pub fn pinned(root: &Path, target: &str) -> Result<Option<Manifest>, DevError> {
    let text = Git::new(root).file_in(target, FILE).map_err(|problem| DevError::Syntax { problem })?;
    text.map(|text| Manifest::parse(&text)).transpose()
}

fn directory(place: &Place) -> PathBuf {
    place.own.join("dev")
}

/// Reads [`FILE`] as it is in a directory.
fn read(root: &Path) -> Result<Option<Manifest>, DevError> {
    let path = root.join(FILE);
    match text::read(&path, manifest::LARGEST) {
        Ok(text) => Manifest::parse(&text).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DevError::Syntax { problem: error.to_string() }),
    }
}
