use std::path::PathBuf;

use daemon::{Walled, content_shell, sandbox};
use project::slots::{RevertError, Reverted};

use super::{consent, open, pool};
use crate::{error::CommandError, exit::Exit, output};

/// Undo a merged run by one commit on top of its merge target, tested before it goes there
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue
    #[arg(value_name = "RUN|ISSUE")]
    selector: String,
    /// Run the project's tests, which an agent may have changed, without walls around them
    #[arg(long)]
    no_sandbox: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let pool = pool(&workspace)?;
    let selector = arguments.selector.as_str();
    let current =
        workspace.select(Some(selector))?.ok_or_else(|| CommandError::no_run(Some(selector), "run"))?;
    let sandbox = sandbox(Walled::unless(arguments.no_sandbox))?;
    let settings = consent::ask(&mut workspace)?;
    let reverted = workspace.revert(&pool, &current.run, &settings, |place, dirs, run| {
        content_shell(sandbox.as_ref(), place, dirs, run)
    })?;
    let Reverted { commit, target, tests, behind, said, reopened } = reverted;
    output::print(&format!("`{target}` is at {commit} now, which undoes run {}; {tests}", current.run.id))?;
    for line in said {
        output::print(&line)?;
    }
    if let Some(behind) = behind {
        output::note(&behind);
    }
    if let Some(issue) = reopened {
        output::print(&format!("issue {issue} is open again; `warp run {issue}` tries once more"))?;
    }
    Ok(Exit::Done)
}

impl From<RevertError> for CommandError {
    fn from(error: RevertError) -> Self {
        match error {
            RevertError::Open { .. } => Self::of(Exit::Refused, &error).hint("`warp stop` ends it"),
            RevertError::NotMerged { .. } => Self::of(Exit::Refused, &error)
                .hint("what was never merged has nothing to undo; `warp diff RUN` shows its commits"),
            RevertError::Undone { .. } => Self::of(Exit::Refused, &error),
            RevertError::Conflicts { .. } => Self::of(Exit::OutsideSaidNo, &error)
                .hint("`git revert --no-commit` lets a person sort that out"),
            RevertError::TestsFail { .. } => Self::new(Exit::OutsideSaidNo, error.to_string())
                .hint("nothing was changed; the commit is among `warp salvage list`"),
            RevertError::Slot(error) => error.into(),
            RevertError::Undo(_) | RevertError::Forward(_) => Self::of(Exit::OutsideSaidNo, &error),
            RevertError::Forge(error) => error.into(),
            RevertError::Next(error) => error.into(),
            RevertError::Failed(error) => error.into(),
        }
    }
}
