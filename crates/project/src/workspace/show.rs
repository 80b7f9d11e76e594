//! Writing what is shown of a run into the workspace: the head, the state file and a loop's progress file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use engine::{
    Advice, Run, Workflow, digest,
    view::{Head, PROGRESS_FILE, PROGRESS_MARK, StateFileView, progress, state_file},
    workflow::StateFile,
};

use runs::Current;

use super::{Error, Workspace, copy::KINDS};
use crate::{atomic, text};

/// The largest state file that is compared; a larger one is not ours.
const LARGEST: u64 = 8 * 1024 * 1024;

/// What was found where a state file belongs.
pub(super) enum Found {
    /// As it should be, or not there.
    Ours,
    /// An earlier view, or none at all: to be written again.
    Old,
    /// Something that we did not write.
    Foreign,
}

impl Workspace {
    /// Returns where a state file belongs; nothing if its directory is a link, which may lead anywhere.
    pub(super) fn state_file_place(&self, kind: StateFile) -> Option<PathBuf> {
        let path = self.place.root.join(kind.path());
        let is_linked = path.parent().is_some_and(Path::is_symlink);
        (!is_linked).then_some(path)
    }

    /// Compares the state file with what was last shown.
    pub(super) fn find_state_file(&self, current: &Current) -> Found {
        let place = current.workflow.state_file.and_then(|kind| self.state_file_place(kind));
        let Some(path) = place else { return Found::Ours };
        match digest_of(&path) {
            Ok(None) if current.run.is_open() => Found::Old,
            Ok(None) => Found::Ours,
            Ok(Some(digest)) if Some(&digest) == current.shown.current.as_ref() => Found::Ours,
            Ok(Some(digest)) if Some(&digest) == current.shown.before.as_ref() => Found::Old,
            // After a repair nothing is known about earlier views; compare with the view itself.
            Ok(Some(digest))
                if current.shown.current.is_none() && Some(&digest) == view_digest(current).as_ref() =>
            {
                Found::Ours
            }
            Ok(Some(_)) | Err(_) => Found::Foreign,
        }
    }

    /// Writes the views of a run whose last event is recorded.
    pub(super) fn show(&mut self, current: &Current, view: Option<&StateFileView>) -> Result<(), Error> {
        let head = self.place.head_file();
        let failed = |path: &Path, source| Error::Write { path: path.to_owned(), source };
        if let Some(path) = current.workflow.state_file.and_then(|kind| self.state_file_place(kind)) {
            let shown = match view {
                Some(view) => atomic::replace(&path, &view.text),
                None => atomic::remove(&path),
            };
            shown.map_err(|source| failed(&path, source))?;
        }
        self.copy_state_file(current, view.map(|view| view.text.as_str()))?;
        self.show_progress(&current.run)?;
        if current.run.is_open() {
            let text = Head::of(&current.workflow, &current.run).render();
            atomic::replace(&head, &text).map_err(|source| failed(&head, source))
        } else {
            Ok(())
        }
    }

    /// Writes the progress file of a loop that has something to remember.
    ///
    /// It is a file of the project: whatever is under its name and not warp's own stays as it is.
    fn show_progress(&self, run: &Run) -> Result<(), Error> {
        let Some(file) = &run.artifacts.progress_file else { return Ok(()) };
        let path = self.place.root.join(file);
        let text = progress(run);
        let old = text::read(&path, LARGEST);
        if old.as_ref().is_ok_and(|old| *old == text) {
            return Ok(());
        }
        let is_inside = |directory: &Path| {
            let real = directory.ancestors().find_map(|ancestor| ancestor.canonicalize().ok());
            real.is_some_and(|real| real.starts_with(&self.place.root))
        };
        if !path.parent().is_some_and(is_inside) {
            return Ok(());
        }
        let is_ours = old.is_ok_and(|old| old.contains(PROGRESS_MARK));
        if !is_ours && path.symlink_metadata().is_ok() {
            return Ok(());
        }
        atomic::replace(&path, &text).map_err(|source| Error::Write { path, source })
    }

    /// Writes the views after an event was recorded. If that fails, the event stays recorded: there is no head
    /// then, so gates ask the store, and the next command tries again.
    pub(super) fn show_if_possible(
        &mut self,
        current: &Current,
        view: Option<&StateFileView>,
    ) -> Option<Advice> {
        let error = self.show(current, view).err()?;
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Some(Advice(format!("the event is recorded, but its views are not: {error}{cause}")))
    }

    /// Takes the head away before an event is recorded, so that a crash leaves none rather than an old one.
    pub(super) fn hide_head(&self) -> Result<(), Error> {
        let path = self.place.head_file();
        match atomic::remove(&path) {
            // Whatever it is, it is no head, and it is not ours to delete.
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                self.set_aside(&path, &self.dirs.clock.now().millis().to_string()).map(|_| ())
            }
            removed => removed.map_err(|source| Error::Write { path, source }),
        }
    }

    /// Moves a file out of the workspace, into the place for files set aside.
    pub(super) fn set_aside(&self, path: &Path, label: &str) -> Result<PathBuf, Error> {
        let directory = self.place.own.join("set-aside");
        atomic::set_aside(path, &directory, label)
            .map_err(|source| Error::Write { path: path.to_owned(), source })
    }

    /// Returns state files that are there although no run is open.
    pub fn stray_state_files(&self) -> Vec<PathBuf> {
        let kinds = KINDS.into_iter().filter(|kind| !self.is_copy(*kind));
        let paths = kinds.filter_map(|kind| self.state_file_place(kind));
        paths.filter(|path| path.symlink_metadata().is_ok()).collect()
    }

    /// Keeps what is written into the workspace out of commits.
    pub fn exclude(&self, workflow: &Workflow) -> Result<(), Error> {
        let Some(kind) = workflow.state_file else { return Ok(()) };
        let mut names = vec![format!("/{}", kind.path()), format!("/{}.new", kind.path())];
        // Every loop has one: committed, the second pull request could not be merged after the first.
        if self.slot.is_some() && kind == StateFile::AutonomousLoop {
            names.push(format!("/{PROGRESS_FILE}"));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let failed = |source| Error::Write { path: self.place.own.join("../info/exclude"), source };
        self.place.exclude_from_git(&names).map_err(failed)
    }
}

/// Returns the digest of a run's state file as it should be.
pub(super) fn view_digest(current: &Current) -> Option<String> {
    state_file(&current.workflow, &current.run).map(|view| digest(view.text))
}

/// Returns the digest of a file; an error if it is no ordinary file of a sensible size.
pub(super) fn digest_of(path: &Path) -> io::Result<Option<String>> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(data) if !data.is_file() || data.len() > LARGEST => Err(io::ErrorKind::InvalidData.into()),
        Ok(_) => fs::read(path).map(|bytes| Some(digest(bytes))),
    }
}
