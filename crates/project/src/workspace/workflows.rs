//! Finding workflows: those built in, and those of the project, which add or replace.

use std::{fs, io, path::PathBuf};

use engine::{
    Workflow, WorkflowError,
    workflow::{BUILT_IN, LARGEST},
};

use super::BeginError;
use crate::{Place, text};

/// The workflow of a run for which none is named.
pub const DEFAULT_WORKFLOW: &str = engine::workflow::DEFAULT;

const DIRECTORY: &str = ".warp/workflows";

/// Returns the project's workflow files as they are in the workspace: name and path.
pub fn workflow_files(place: &Place) -> io::Result<Vec<(String, PathBuf)>> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{DIRECTORY}: {error}"));
    let entries = match fs::read_dir(place.root.join(DIRECTORY)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(named)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(named)?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned);
        files.extend(name.filter(|_| path.extension().is_some_and(|end| end == "toml")).zip(Some(path)));
    }
    files.sort();
    Ok(files)
}

/// Finds the workflow that a new run of this project goes by.
///
/// The project's own is read from the merge target's newest commit if it is there, so that an agent cannot change
/// the rules of its own run; else from the workspace.
pub fn find_workflow(place: &Place, name: &str) -> Result<Workflow, BeginError> {
    if let Some((origin, text)) = project_workflow(place, name) {
        let bad = |source| BeginError::Workflow { place: origin.clone(), source };
        let workflow = Workflow::parse(&text?).map_err(bad)?;
        if workflow.name != name {
            let problem = format!("it is named `{}`; name and file name must be the same", workflow.name);
            return Err(bad(WorkflowError::Syntax(problem)));
        }
        return Ok(workflow);
    }
    if let Some(workflow) = Workflow::built_in(name) {
        return Ok(workflow);
    }
    let failed = |source| BeginError::ReadState { file: place.root.join(DIRECTORY), source };
    let mut known: Vec<String> = BUILT_IN.iter().map(|built_in| built_in.name.to_owned()).collect();
    known.extend(workflow_files(place).map_err(failed)?.into_iter().map(|(name, _)| name));
    known.dedup();
    Err(BeginError::NoWorkflow { name: name.to_owned(), known })
}

type Text = Result<String, BeginError>;

fn project_workflow(place: &Place, name: &str) -> Option<(String, Text)> {
    let path = format!("{DIRECTORY}/{name}.toml");
    if name.contains(['/', '\\']) || name.starts_with('.') {
        return None;
    }
    if place.git_dir().is_some() || place.root.join(".git").exists() {
        let git = place.git();
        let target = git.branches().merge_target;
        let origin = format!("{target}:{path}");
        let failed =
            |problem| BeginError::ReadState { file: (&origin).into(), source: io::Error::other(problem) };
        if let Some(text) = git.file_in(&target, &path).map_err(failed).transpose() {
            return Some((origin, text));
        }
    }
    let file = place.root.join(&path);
    let text = match text::read(&file, LARGEST as u64) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        read => read.map_err(|source| BeginError::ReadState { file, source }),
    };
    Some((path, text))
}
