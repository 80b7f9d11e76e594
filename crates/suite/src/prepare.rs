//! Preparation: what the tests need is installed in the slot, by a command that runs in the sandbox.
//!
//! What was installed, and for which fingerprint, is noted beside the tree. While the fingerprint stays as it is nothing is
//! installed again, and the slot keeps its ignored files from one run to the next. What the preparation leaves in the tree is
//! kept out of commits.

use std::{env, fs, io, path::Path, time::Instant};

use adapters::{
    boundary,
    git::{lfs, slot, submodules},
    process::{End, is_installed},
    secrets::redacted,
};
use serde::{Deserialize, Serialize};

use super::{
    SuiteError, command,
    fault::{self, Fault},
    fingerprint::fingerprint,
    modes,
    plan::Plan,
};
use workspace::{Place, Shell, atomic, counted, spelled, text};

/// The file beside a slot's tree that notes what is installed in it.
const NOTE: &str = "prepared";
const LARGEST_NOTE: u64 = 64 * 1024;
/// The slot's own virtual environment.
const VENV: &str = ".venv";
/// What running tests leaves in a tree, and nobody commits, whether the project ignores it or not.
const CACHES: &[&str] = &["__pycache__/", ".pytest_cache/"];
/// How much is shown of what a failed preparation printed.
const OUTPUT_KEPT: usize = 4000;
/// How many files without their content are named.
const MOST_NAMED: usize = 5;

/// What is installed in a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    fingerprint: String,
    /// Where commands saw the tree.
    inside: String,
    pub setup: String,
    test: String,
    pub seconds: u64,
    has_venv: bool,
    /// Files that are executable while the tests run.
    #[serde(default)]
    pub executable: Vec<String>,
}

/// What the preparation did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Preparation {
    /// What a person is told, a line each.
    pub said: Vec<String>,
    /// The fingerprint of the environment as it is now.
    pub environment: String,
}

/// Why there is no environment.
#[derive(Debug)]
pub(crate) enum PrepareError {
    /// A person has to see to it.
    Fault(String),
    /// The command failed: its end, and the last that it printed.
    Failed {
        said: String,
        output: String,
    },
    Other(SuiteError),
}

impl From<SuiteError> for PrepareError {
    fn from(error: SuiteError) -> Self {
        Self::Other(error)
    }
}

impl Prepared {
    /// Reads what is installed in the slot whose tree is `root`.
    pub fn read(root: &Path) -> Option<Self> {
        slot::marker(root)?;
        serde_json::from_str(&text::read(&root.parent()?.join(NOTE), LARGEST_NOTE).ok()?).ok()
    }

    fn write(&self, root: &Path) -> io::Result<()> {
        let note = root.parent().unwrap_or(root).join(NOTE);
        atomic::replace(&note, &serde_json::to_string(self)?)
    }

    /// Forgets what is installed, so that it is installed anew.
    pub fn forget(root: &Path) -> io::Result<()> {
        match fs::remove_file(root.parent().unwrap_or(root).join(NOTE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Tells whether what is installed in a slot is what its tree asks for.
pub fn is_prepared(place: &Place) -> bool {
    let Some(prepared) = Prepared::read(&place.root) else { return false };
    let now = fingerprint(
        &place.git(),
        &place.root,
        Path::new(&prepared.inside),
        Some(&prepared.setup),
        &prepared.test,
    );
    now.is_ok_and(|now| now == prepared.fingerprint) && (!prepared.has_venv || has_venv(&place.root))
}

/// Installs what the tests need in the slot at `place`, unless it is there, and lets the shell use it. In a person's own
/// checkout nothing is installed.
pub(crate) fn prepare(shell: &Shell, place: &Place, plan: &Plan) -> Result<Preparation, PrepareError> {
    let root = place.root.as_path();
    let world = |error: String| PrepareError::Other(SuiteError(error));
    let inside = shell.inside(root);
    let look = || fingerprint(&place.git(), root, &inside, plan.setup.as_deref(), &plan.test).map_err(world);
    if place.git_dir().is_none() {
        return Ok(Preparation::default());
    }
    exclude(place, CACHES).map_err(world)?;
    let mut said = fill_submodules(place, plan)?;
    said.extend(fill_lfs(place)?);
    let environment = look()?;
    let Some(setup) = plan.setup.as_deref() else { return Ok(Preparation { said, environment }) };
    let before = Prepared::read(root);
    let is_there =
        |prepared: &Prepared| prepared.fingerprint == environment && (!prepared.has_venv || has_venv(root));
    if let Some(before) = before.filter(is_there) {
        use_environment(shell, root, &before);
        said.push(format!("prepared before with `{setup}`; nothing that it depends on has changed"));
        return Ok(Preparation { said, environment });
    }
    if let Some(why) = cannot_run(setup) {
        return Err(PrepareError::Fault(why));
    }
    let untracked = place.git().untracked().map_err(world)?;
    let executable = place.git().made_executable().map_err(world)?;
    let began = Instant::now();
    // Whatever is there of before is not known any more.
    let failed = |source: io::Error| world(format!("what is installed cannot be noted: {source}"));
    Prepared::forget(root).map_err(failed)?;
    let finished =
        boundary::around("prepare", || shell.line(root, setup, &[("CI", "true")], plan.setup_patience));
    let finished = finished.map_err(|error| world(format!("`{setup}` could not be run: {error}")))?;
    if finished.end == End::Stopped {
        return Err(world(format!("`{setup}` was stopped before it was done")));
    }
    let seconds = began.elapsed().as_secs();
    if !finished.is_success() {
        let all = redacted(format!(
            "{}\n{}",
            String::from_utf8_lossy(&finished.stdout),
            String::from_utf8_lossy(&finished.stderr)
        ));
        let said = format!("`{setup}` ended with {}", finished.end);
        let output = finished.last_words(OUTPUT_KEPT);
        if let End::TimedOut(_) = finished.end {
            let how = "`setup_minutes` under [workflow] in warp.toml gives it more time";
            return Err(PrepareError::Fault(format!("{said}: {how}\n{output}")));
        }
        return Err(match fault::classify(&finished.end, &all).filter(Fault::outlives_a_baseline) {
            Some(fault) => PrepareError::Fault(format!("{said}: {fault}\n{output}")),
            None => PrepareError::Failed { said, output },
        });
    }
    keep_out(place, &untracked).map_err(world)?;
    let executable = modes::added(&executable, place.git().made_executable().map_err(world)?);
    modes::unset(root, &executable).map_err(failed)?;
    let prepared = Prepared {
        // As it was before: what the command has changed in a lock file does not ask for something else.
        fingerprint: environment.clone(),
        inside: inside.display().to_string(),
        setup: setup.to_owned(),
        test: plan.test.clone(),
        seconds,
        has_venv: has_venv(root),
        executable,
    };
    prepared.write(root).map_err(failed)?;
    use_environment(shell, root, &prepared);
    said.push(format!("prepared with `{setup}` in {seconds} s"));
    Ok(Preparation { said, environment })
}

/// Lets all that is run from now on use what is installed in a slot, if anything is.
pub fn use_prepared(shell: &Shell, root: &Path) {
    if let Some(prepared) = Prepared::read(root) {
        use_environment(shell, root, &prepared);
    }
}

fn use_environment(shell: &Shell, root: &Path, prepared: &Prepared) {
    if !prepared.has_venv {
        return;
    }
    let venv = shell.inside(root).join(VENV);
    let path = env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(venv.join("bin")).chain(env::split_paths(&path));
    if let Some(path) = env::join_paths(all).ok().and_then(|path| path.into_string().ok()) {
        shell.set_env("PATH", Some(path));
        shell.set_env("VIRTUAL_ENV", Some(venv.display().to_string()));
    }
}

/// Tells whether there is a virtual environment in a tree. Its own links lead to where it is seen, so they are not followed.
fn has_venv(root: &Path) -> bool {
    root.join(VENV).join("pyvenv.cfg").is_file()
}

/// Says that a setup cannot run on this machine, if that is plain.
pub(crate) fn cannot_run(setup: &str) -> Option<String> {
    let program = missing_program(setup)?;
    Some(format!(
        "`{program}` is not installed, and `{setup}` prepares this project for its tests: install it, or set \
         `setup_command` under [workflow] in warp.toml and begin anew"
    ))
}

/// Returns the first program of a setup that is not installed.
fn missing_program(setup: &str) -> Option<&str> {
    setup.split("&&").filter_map(|part| command::program(part.trim())).find(|program| !is_installed(program))
}

/// Keeps what the preparation or the tests have made out of commits, as far as the project does not ignore it.
pub(crate) fn keep_out(place: &Place, before: &[String]) -> Result<(), String> {
    let after = place.git().untracked()?;
    let new: Vec<String> = after
        .iter()
        .filter(|path| !before.contains(path))
        .map(|path| format!("/{}", escaped(path)))
        .collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    exclude(place, &new)
}

/// Lets git ignore paths in a clone. The list of a worktree is the person's own, which is not touched.
fn exclude(place: &Place, paths: &[&str]) -> Result<(), String> {
    if place.kind() != Some(slot::Kind::Clone) {
        return Ok(());
    }
    place
        .exclude_from_git(paths)
        .map_err(|error| format!("what the tests leave cannot be kept out of commits: {error}"))
}

/// Escapes what has a meaning in patterns of ignored files.
fn escaped(path: &str) -> String {
    let special = |letter: char| "\\*?[ ".contains(letter);
    path.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}

/// Puts the files of submodules into the tree, from repositories on this machine.
fn fill_submodules(place: &Place, plan: &Plan) -> Result<Vec<String>, PrepareError> {
    let Some(marker) = slot::marker(&place.root) else { return Ok(Vec::new()) };
    let world = |error: String| PrepareError::Other(SuiteError(error));
    let person = Place::at(&marker.origin).map_err(|error| world(spelled(&error)))?;
    let Some(location) = adapters::git::locate(&person.root) else { return Ok(Vec::new()) };
    let origin = submodules::Origin { root: &person.root, location: &location };
    let missing = submodules::fill(&place.root, &marker.location, &plan.target, origin)
        .map_err(|error| world(spelled(&error)))?;
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "{} empty here ({}): `git submodule update --init --recursive` in your checkout brings them",
        counted(missing.len() as u64, "submodule is", "submodules are"),
        missing.join(", ")
    )])
}

/// Puts the contents of Git LFS into the tree, from the person's own repository.
fn fill_lfs(place: &Place) -> Result<Option<String>, PrepareError> {
    let Some(marker) = slot::marker(&place.root) else { return Ok(None) };
    let Some(origin) = adapters::git::locate(&marker.origin) else { return Ok(None) };
    let missing = lfs::fill(&place.root, &marker.location, &origin)
        .map_err(|error| PrepareError::Other(SuiteError(spelled(&error))))?;
    if missing.is_empty() {
        return Ok(None);
    }
    let how = if lfs::is_there() {
        "`git lfs pull` in your checkout brings them"
    } else {
        "git-lfs is not installed; install it, then `git lfs install` and `git lfs pull` in your checkout bring them"
    };
    let some: Vec<&str> = missing.iter().take(MOST_NAMED).map(String::as_str).collect();
    let more = if missing.len() > some.len() { ", …" } else { "" };
    Ok(Some(format!(
        "{} here without the content ({}{more}): {how}",
        counted(missing.len() as u64, "file of Git LFS is", "files of Git LFS are"),
        some.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_would_take_for_a_pattern_is_escaped() {
        assert_eq!(escaped("a b/[x]*.egg-info/"), r"a\ b/\[x]\*.egg-info/");
    }

    #[test]
    fn a_setup_needs_the_programs_that_its_parts_begin_with() {
        assert_eq!(
            missing_program("no-such-program-here install && sh -c true"),
            Some("no-such-program-here")
        );
        assert_eq!(missing_program("sh -c true && printf x > .venv/y && .venv/bin/python -m pip"), None);
    }
}
