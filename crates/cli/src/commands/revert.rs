use std::path::PathBuf;

use driver::{Walled, content_shell, sandbox};
use jobs::{RevertError, Reverted};

use super::{consent, open, pool};
use crate::{error::CommandError, exit::Exit, output, progress};

/// Undo a merged issue or run by one commit on top of its merge target, tested first
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// An issue, all of whose commits are undone whatever runs made them, or a run id
    #[arg(value_name = "RUN|ISSUE")]
    selector: String,
    /// Run the project's tests, which an agent may have changed, outside the sandbox
    #[arg(long)]
    no_sandbox: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let pool = pool(&workspace)?;
    let undo = jobs::on(&mut workspace).to_undo(&arguments.selector)?;
    let sandbox = sandbox(Walled::unless(arguments.no_sandbox))?;
    let settings = consent::ask(&mut workspace)?;
    let progress = progress::start(&format!("reverting {} and testing that", undo.about));
    let reverted = jobs::on(&mut workspace).revert(&pool, &undo, &settings, |place, dirs, run| {
        content_shell(sandbox.as_ref(), place, dirs, run)
    })?;
    drop(progress);
    let Reverted { commit, target, tests, behind, said, issues, reopened } = reverted;
    output::print(&format!("`{target}` is at {commit} now, which undoes {}; {tests}", undo.about))?;
    for line in said {
        output::print(&line)?;
    }
    if let Some(behind) = behind {
        output::note(&behind);
    }
    if issues.len() > 1 {
        let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
        output::print(&format!("it did the work of issues {}", issues.join(", ")))?;
    }
    for issue in reopened {
        output::print(&format!("issue {issue} is open again; `warp run {issue}` tries once more"))?;
    }
    Ok(Exit::Done)
}

impl From<RevertError> for CommandError {
    fn from(error: RevertError) -> Self {
        match error {
            RevertError::Unknown { ref selector } => Self::no_run(Some(selector), "run"),
            RevertError::Open { .. } => Self::of(Exit::Refused, &error).hint("`warp stop` ends it"),
            RevertError::NotMerged { .. } => Self::of(Exit::Refused, &error)
                .hint("what was never merged has nothing to undo; `warp diff` shows its commits"),
            RevertError::Undone { .. } => Self::of(Exit::Refused, &error),
            RevertError::Conflicts { .. } => Self::of(Exit::Failed, &error)
                .hint("nothing was changed; `git revert --no-commit` lets a person sort that out"),
            RevertError::TestsFail { .. } => Self::new(Exit::Failed, error.to_string())
                .hint("nothing was changed; fix what still needs the work, then revert again"),
            RevertError::Slot(error) => error.into(),
            RevertError::Undo(_) | RevertError::Forward(_) => Self::of(Exit::Failed, &error),
            RevertError::Forge(error) => error.into(),
            RevertError::Next(error) => error.into(),
            RevertError::Failed(error) => error.into(),
        }
    }
}
