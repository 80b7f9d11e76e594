//! The rails in git itself: what stops a move without leave, what sees one, and what puts it back.
//!
//! - [`backstop`] installs warp's hooks in git beside the user's own;
//! - [`guard`] answers them: an agent's git is held to the phase, a person's is never disturbed;
//! - [`Known`] remembers where every ref was when it was in order;
//! - [`outside`] looks at the person's repository while an agent works elsewhere without a sandbox;
//! - [`after_tool`] compares, and in a workspace of the run's own puts back what was moved without permission;
//! - [`snapshot`] keeps everything before something that may destroy it; in a person's checkout, outside of it ([`vault`]).
//!
//! Leave is always read from the store, never from a file that stands in the workspace.

pub mod backstop;
mod detector;
pub mod guard;
mod known;
pub mod outside;
pub mod rescue;
mod script;
pub mod vault;

use std::{
    io,
    path::{Path, PathBuf},
};

use adapters::{
    git::{Location, salvage, slot::Kind, vault::Purpose},
    refs::GitError,
    sandbox::{self, NoSandbox, Sandbox},
};
use engine::{Owner, Run};

pub use detector::{After, Broken, Committed, DetectError, after_others_tool, after_tool};
pub use known::{Known, KnownError, Moved};
pub use vault::VaultError;

use crate::{Dirs, Place, atomic, setup, text};

/// The longest name of a session, in bytes.
const LONGEST_SESSION: u64 = 200;

/// Why a snapshot could not be made.
#[derive(Debug, thiserror::Error)]
#[error("uncommitted work could not be kept, so nothing that may destroy it should be done")]
pub struct SnapshotError(#[source] VaultError);

/// Keeps all uncommitted work of a workspace under `refs/warp/salvage/RUN/N`, and returns that ref: in a workspace that was
/// made for runs in its repository, in a person's checkout outside of it, together with everything else that is there.
///
/// Nothing if there is no repository, or nothing that is not kept already. Ignored files are not kept.
pub fn snapshot(place: &Place, dirs: &Dirs, run: &str) -> Result<Option<String>, SnapshotError> {
    unblock_git(place)?;
    match place.location() {
        Some(location) if place.git_dir().is_some() => {
            salvage::snapshot(&place.root, &location, run).map_err(|error| SnapshotError(error.into()))
        }
        Some(_) | None => vault::take(place, dirs, run, Purpose::Salvage).map_err(SnapshotError),
    }
}

/// Copies the state of a person's checkout before an ordinary write, without an entry in the list of salvage.
///
/// Files that cannot be read do not stand in the way of one.
pub fn snapshot_before_write(place: &Place, dirs: &Dirs, run: &str) -> Result<(), SnapshotError> {
    if place.git_dir().is_some() {
        return Ok(());
    }
    unblock_git(place)?;
    match vault::take(place, dirs, run, Purpose::History) {
        Ok(_) | Err(VaultError::Git(GitError::Partly { .. })) => Ok(()),
        Err(error) => Err(SnapshotError(error)),
    }
}

fn unblock_git(place: &Place) -> Result<(), SnapshotError> {
    let failed = |source| SnapshotError(VaultError::Write { path: place.root.clone(), source });
    sandbox::unblock_git(&place.root).map_err(failed)
}

/// Takes all refs of a workspace as they are: a run begins.
pub fn begin(place: &Place) -> Result<(), KnownError> {
    let Some(location) = place.location() else { return Ok(()) };
    if let (Some(Kind::Clone), Some(warp)) = (place.kind(), program()) {
        let failed = |source| KnownError::Write { path: location.git_dir.join("hooks"), source };
        backstop::install_in_slot(&location.git_dir, &warp).map_err(failed)?;
    }
    Known::now(&location, backstop::guard_in_force(place))?.store(&place.own)
}

/// Returns the program that git's hooks call, if it is this one: what else uses this library answers no hooks.
fn program() -> Option<PathBuf> {
    std::env::current_exe().ok().filter(|path| path.file_name().is_some_and(|name| name == "warp"))
}

/// Sees to it that a run that has begun has its refs written down.
///
/// A hook of git's takes the list away when it finds no run, as it may just before the first event is recorded.
pub(crate) fn ensure_begun(place: &Place) -> Result<(), KnownError> {
    if known::file(&place.own).exists() { Ok(()) } else { begin(place) }
}

/// Says which rails hold the agent of a run, and whether it is behind walls.
pub fn in_force(place: &Place, run: &Run) -> &'static str {
    if run.owner.session.as_deref() == Some(Owner::DRIVER_WITHOUT_WALLS) {
        return "in the agent and in git, no sandbox: it was started with --no-sandbox";
    }
    if run.owns_workspace {
        return match Sandbox::find() {
            Ok(_) => "in the sandbox (bubblewrap), in the agent and in git",
            Err(NoSandbox::Missing) => "in the agent and in git, no sandbox: bubblewrap is not installed",
            Err(NoSandbox::Fails { .. } | NoSandbox::Open) => {
                "in the agent and in git, no sandbox: bubblewrap fails; `warp doctor` says why"
            }
        };
    }
    let in_git = matches!(backstop::state(place), Ok(backstop::State::Installed { .. }));
    match (setup::registered(place).is_some(), is_by_plugin(place, run), in_git) {
        (true, _, true) => "in the agent and in git, no sandbox",
        (true, _, false) => "in the agent only, no sandbox",
        (false, true, true) => "in the agent (by the plugin) and in git, no sandbox",
        (false, true, false) => {
            "in the agent only (by the plugin), no sandbox; `warp init` adds those in git"
        }
        (false, false, true) => "in git only, no sandbox",
        (false, false, false) => "none; `warp init` puts them in",
    }
}

/// The file in a workspace's own directory that names the session whose hooks are the plugin's.
const PLUGIN_SESSION: &str = "plugin-session";

/// Notes that the hooks of an agent's session come from the plugin: no file of the project names them.
pub fn note_plugin(own: &Path, session: &str) -> io::Result<()> {
    atomic::replace(&own.join(PLUGIN_SESSION), session)
}

fn is_by_plugin(place: &Place, run: &Run) -> bool {
    let noted = text::read(&place.own.join(PLUGIN_SESSION), LONGEST_SESSION).ok();
    noted.is_some() && noted == run.owner.session
}

/// Tells whether everything is where it is known to be, without a look at the store.
///
/// Only then is there nothing to do for [`after_tool`]; whatever cannot be read is not quiet.
pub fn is_quiet(place: &Place) -> bool {
    let Some(location) = place.location() else { return true };
    let look = || -> Result<bool, KnownError> {
        let Some(known) = Known::load(&place.own)? else { return Ok(false) };
        Ok(known.commits.is_empty() && known.compare(&adapters::refs::read(&location)?).is_empty())
    };
    look().unwrap_or(false)
}

/// Takes all refs of a workspace as they are, after warp itself has moved some.
///
/// Other workspaces of the repository are told of what moved.
pub fn remember(place: &Place) -> Result<(), KnownError> {
    let Some(location) = place.location() else { return Ok(()) };
    let refs = adapters::refs::read(&location)?;
    let mut moves = Vec::new();
    known::change(&place.own, |known| {
        moves = known.compare(&refs);
        known.refs = refs.clone();
    })?;
    for own in watched(&location).into_iter().filter(|own| *own != place.own) {
        known::change(&own, |known| {
            for moved in &moves {
                if let Moved::Ref { name, to, .. } = moved {
                    known.confirm(name, to.clone());
                }
            }
            known.refs.stashes.clone_from(&refs.stashes);
        })?;
    }
    Ok(())
}

/// Takes one ref as it is, after warp itself has moved it, in all workspaces of a repository.
pub fn confirm(place: &Place, name: &str, to: &str) -> Result<(), KnownError> {
    let Some(location) = place.location() else { return Ok(()) };
    for own in watched(&location) {
        known::change(&own, |known| known.confirm(name, Some(to.to_owned())))?;
    }
    Ok(())
}

/// Returns every directory with known refs of a repository: those of its workspaces and of runs that work elsewhere.
fn watched(location: &Location) -> Vec<PathBuf> {
    let mut all = workspaces(location);
    all.extend(outside::notes(&location.common_dir));
    all
}

/// Returns the own directories of all workspaces of a repository, the given one's first.
fn workspaces(location: &Location) -> Vec<PathBuf> {
    let mut all = vec![location.git_dir.join("warp")];
    let mut add = |git_dir: &Path| {
        let own = git_dir.join("warp");
        if !all.contains(&own) {
            all.push(own);
        }
    };
    add(&location.common_dir);
    if let Ok(entries) = std::fs::read_dir(location.common_dir.join("worktrees")) {
        entries.flatten().for_each(|entry| add(&entry.path()));
    }
    all
}
