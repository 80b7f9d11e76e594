//! The copy of a driven run's state file in the person's checkout.
//!
//! A run that warp drives has its state file in a workspace of its own, where other tools do not look. While it is the only
//! open run of the project, a copy lies where the original tools put the file. With several open runs there is none: `warp
//! status` tells them apart.
//!
//! What somebody else has put there is never touched: a note in the checkout's own directory has the digests of what warp
//! wrote.

use std::path::{Path, PathBuf};

use engine::{digest, view::state_file, workflow::StateFile};

use runs::Current;

use super::{Error, Workspace, lock::Lock, show::digest_of};
use crate::{Place, atomic, text};

/// The files that a run can have.
pub(super) const KINDS: [StateFile; 2] = [StateFile::WarpDrive, StateFile::AutonomousLoop];

/// The largest note that is read, in bytes.
const LARGEST_NOTE: u64 = 400;

impl Workspace {
    /// Brings the copy of a driven run's state file up to date, or takes it away.
    pub(super) fn copy_state_file(&mut self, current: &Current, text: Option<&str>) -> Result<(), Error> {
        let (Some(origin), Some(kind)) = (self.place.origin(), current.workflow.state_file) else {
            return Ok(());
        };
        // A checkout that is gone needs no copy.
        let Ok(checkout) = Place::at(origin) else { return Ok(()) };
        let is_alone = self.runs.is_alone(current)?;
        Copied::of(&checkout, kind).put(text.filter(|_| is_alone))
    }

    /// Brings up to date, or takes away, what a killed run has left in this checkout.
    pub(super) fn refresh_copies(&mut self) -> Result<(), Error> {
        for kind in KINDS {
            if !Copied::of(&self.place, kind).note.exists() {
                continue;
            }
            let has_own = self.current()?.is_some();
            let driven = self.driven()?;
            let only = match driven.as_slice() {
                [only] if !has_own && only.workflow.state_file == Some(kind) => Some(only),
                _ => None,
            };
            let view = only.and_then(|only| state_file(&only.workflow, &only.run));
            Copied::of(&self.place, kind).put(view.as_ref().map(|view| view.text.as_str()))?;
        }
        Ok(())
    }

    /// Tells whether a state file of this checkout is the copy of a driven run's.
    pub(super) fn is_copy(&self, kind: StateFile) -> bool {
        Copied::of(&self.place, kind).is_there()
    }

    /// Takes the copy away: a run of the checkout's own has its state file there.
    pub(super) fn remove_copy(&self, kind: StateFile) -> Result<(), Error> {
        Copied::of(&self.place, kind).remove()
    }
}

/// A copy in a checkout.
struct Copied<'a> {
    checkout: &'a Place,
    kind: StateFile,
    path: PathBuf,
    /// The digest of the copy, and that of the one before it, a line each.
    note: PathBuf,
}

impl<'a> Copied<'a> {
    fn of(checkout: &'a Place, kind: StateFile) -> Self {
        let path = checkout.root.join(kind.path());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let note = checkout.own.join(format!("copy-{}", name.trim_start_matches('.')));
        Self { checkout, kind, path, note }
    }

    /// Tells whether warp wrote what lies there.
    fn is_ours(&self, digest: &str) -> bool {
        text::read(&self.note, LARGEST_NOTE).is_ok_and(|note| note.lines().any(|line| line == digest))
    }

    fn is_there(&self) -> bool {
        digest_of(&self.path).ok().flatten().is_some_and(|digest| self.is_ours(&digest))
    }

    /// Writes the copy, or takes it away, unless somebody else's file is there or the checkout is in use just now: the next
    /// event or command tries again.
    fn put(&self, text: Option<&str>) -> Result<(), Error> {
        let is_linked = self.path.parent().is_some_and(Path::is_symlink);
        if is_linked || (text.is_none() && !self.note.exists()) {
            return Ok(());
        }
        let Some(_lock) = Lock::take_at_once(&self.checkout.own)? else { return Ok(()) };
        let Some(text) = text else { return self.remove() };
        let found = match digest_of(&self.path) {
            Ok(None) => None,
            Ok(Some(found)) if self.is_ours(&found) => Some(found),
            Ok(Some(_)) | Err(_) => return Ok(()),
        };
        let new = digest(text);
        if found.as_ref() == Some(&new) {
            return Ok(());
        }
        let failed = |path: &Path, source| Error::Write { path: path.to_owned(), source };
        let names = [format!("/{}", self.kind.path()), format!("/{}.new", self.kind.path())];
        self.checkout
            .exclude_from_git(&names.each_ref().map(String::as_str))
            .map_err(|source| failed(&self.path, source))?;
        // The note first: after a crash the copy is the one before or this one, and both are warp's.
        let note = format!("{new}\n{}\n", found.unwrap_or_default());
        atomic::replace(&self.note, &note).map_err(|source| failed(&self.note, source))?;
        atomic::replace(&self.path, text).map_err(|source| failed(&self.path, source))
    }

    fn remove(&self) -> Result<(), Error> {
        if !self.note.exists() {
            return Ok(());
        }
        let failed = |path: &Path, source| Error::Write { path: path.to_owned(), source };
        if self.is_there() {
            atomic::remove(&self.path).map_err(|source| failed(&self.path, source))?;
        }
        atomic::remove(&self.note).map_err(|source| failed(&self.note, source))
    }
}
