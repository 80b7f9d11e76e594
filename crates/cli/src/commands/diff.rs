use std::path::{Path, PathBuf};

use adapters::git::Git;
use engine::Run;

use super::{open, person_place, pool};
use crate::{error::CommandError, exit::Exit, output};

/// Show what a run has changed since it began, committed and not
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue; without it, this workspace's run, or the newest that warp drives
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// Show only which files, and how much of them
    #[arg(long)]
    stat: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let selector = arguments.selector.as_deref();
    let current = workspace.select(selector)?.ok_or_else(|| CommandError::no_run(selector, "run"))?;
    let how: &[&str] = if arguments.stat { &["--stat"] } else { &["--patch"] };
    let run = &current.run;
    let root = Path::new(&run.root);
    let shown = if run.is_open() && root.is_dir() {
        live(root, run, how)
    } else {
        committed(&person_place(&workspace)?.root, run, how)
    };
    let (text, cut) = shown.map_err(|problem| CommandError::new(Exit::OutsideSaidNo, problem))?;
    output::print(&text)?;
    if !run.is_open() && run.owns_workspace {
        for name in pool(&workspace)?.kept_of(run.id.as_str())? {
            let name = name.strip_prefix("refs/warp/salvage/").unwrap_or(&name).to_owned();
            output::note(&format!("`warp salvage show {name}` shows what was kept when it was over"));
        }
    }
    if cut {
        output::note("the middle is left out; `warp diff --stat` names every file");
    }
    Ok(Exit::Done)
}

/// Shows what lies in the run's workspace now.
fn live(root: &Path, run: &Run, how: &[&str]) -> Result<(String, bool), String> {
    let git = Git::new(root);
    let fork = || git.fork_of(&run.branches.merge_target).filter(|_| run.owns_workspace);
    let base = run.chunk.first_base.clone().or_else(fork).unwrap_or_else(|| "HEAD".to_owned());
    git.change(&base, how)
}

/// Shows what a run has committed whose workspace serves another by now.
fn committed(root: &Path, run: &Run, how: &[&str]) -> Result<(String, bool), String> {
    let tip = run.tested_commit.as_ref().or(run.commit_hashes.last());
    match (&run.chunk.first_base, tip) {
        (Some(base), Some(tip)) => Git::new(root).change_between(base, tip, how),
        (Some(_) | None, _) => Ok((String::new(), false)),
    }
}
