use std::path::PathBuf;

use daemon::{Walled, content_shell, sandbox};
use project::{By, Mend, MergeError, MergedPull, Readiness, Review, Workspace};

use super::{
    consent,
    issue::number,
    items::{self, State},
    open, pool,
};
use crate::{error::CommandError, exit::Exit, output};

/// List, show, review and merge the pull requests of this project
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List pull requests, oldest first
    List {
        /// Which ones
        #[arg(long, value_name = "STATE", default_value = "open")]
        state: State,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a pull request with its comments
    Show {
        /// Its number, as `warp pr list` shows it
        #[arg(value_parser = number)]
        number: u64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve a pull request
    Approve {
        /// Its number, as `warp pr list` shows it
        #[arg(value_parser = number)]
        number: u64,
        /// A word to go with it
        text: Option<String>,
    },
    /// Say what has to change before a pull request is merged
    RequestChanges {
        /// Its number, as `warp pr list` shows it
        #[arg(value_parser = number)]
        number: u64,
        /// What to say
        text: String,
    },
    /// Test a pull request on top of its target, and merge it
    Merge {
        /// Its number, as `warp pr list` shows it
        #[arg(value_parser = number)]
        number: u64,
        /// Run the project's tests, which an agent may have changed, without walls around them
        #[arg(long)]
        no_sandbox: bool,
    },
    /// Close a pull request without merging it
    Close {
        /// Its number, as `warp pr list` shows it
        #[arg(value_parser = number)]
        number: u64,
        /// Why, in a few words
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

impl Arguments {
    /// Tells whether nothing is changed: then it is an agent's as well.
    pub(super) fn only_looks(&self) -> bool {
        match self.action {
            Action::List { .. } | Action::Show { .. } => true,
            Action::Approve { .. }
            | Action::RequestChanges { .. }
            | Action::Merge { .. }
            | Action::Close { .. } => false,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    match &arguments.action {
        Action::List { state, json } => list(&mut workspace, *state, *json)?,
        Action::Show { number, json } => {
            items::pull(&mut workspace.forge(), *number)?;
            items::show(&mut workspace, *number, *json)?;
        }
        Action::Approve { number, text } => {
            review(&mut workspace, *number, Review::Approved, text.as_deref())?;
            output::print(&format!("#{number} is approved"))?;
        }
        Action::RequestChanges { number, text } => {
            review(&mut workspace, *number, Review::ChangesRequested, Some(text))?;
            output::print(&format!("#{number} wants changes"))?;
        }
        Action::Merge { number, no_sandbox } => {
            merge(&mut workspace, *number, Walled::unless(*no_sandbox))?;
        }
        Action::Close { number, reason } => {
            let by = By::person_in(&workspace.place.root);
            let issue =
                items::pull(&mut workspace.forge(), *number)?.pull.as_ref().and_then(|pull| pull.issue);
            let open_again = workspace.close_pull(*number, by, reason.as_deref())?;
            output::print(&format!("#{number} is closed; its branch stays"))?;
            if let Some(issue) = issue.filter(|_| !open_again.is_empty()) {
                output::print(&format!("open again in issue {issue}: {}", open_again.join(", ")))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn review(
    workspace: &mut Workspace,
    number: u64,
    review: Review,
    text: Option<&str>,
) -> Result<(), CommandError> {
    let by = By::person_in(&workspace.place.root);
    workspace.forge().by(by).review(number, review, text)?;
    Ok(())
}

fn merge(workspace: &mut Workspace, number: u64, walled: Walled) -> Result<(), CommandError> {
    let sandbox = sandbox(walled)?;
    let pool = pool(workspace)?;
    let settings = consent::ask(workspace)?;
    let by = By::person_in(&workspace.place.root);
    let merged = workspace.merge_pull(&pool, number, by, &settings, |place, dirs, run| {
        content_shell(sandbox.as_ref(), place, dirs, run)
    })?;
    let MergedPull { target, commit, branch, behind, said, closed } = merged;
    output::print(&format!("#{number} is merged: `{target}` is at {commit} now, which was tested"))?;
    for line in said {
        output::print(&line)?;
    }
    if let Some(behind) = behind {
        output::note(&behind);
    }
    if let Some(issue) = closed {
        output::print(&format!("issue {issue} is closed"))?;
    }
    output::print(&format!("`git branch -D {branch}` removes the branch, if you like"))
}

impl From<MergeError> for CommandError {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Merged { .. } => Self::of(Exit::Refused, &error),
            MergeError::Closed { number } => {
                Self::of(Exit::Refused, &error).hint(format!("`warp issue reopen {number}` opens it again"))
            }
            MergeError::ChangesRequested { number, .. } => Self::of(Exit::Refused, &error)
                .hint(format!("`warp pr show {number}` shows what is wanted"))
                .hint(format!("`warp pr approve {number}` takes it as it is")),
            MergeError::Undecided { number, ref asked } => {
                let answers = asked.options.join("|");
                Self::of(Exit::Refused, &error)
                    .hint(format!("`warp answer {} {answers}`, then `warp pr merge {number}`", asked.id))
            }
            MergeError::NoRun { number } | MergeError::NoBranch { number, .. } => {
                Self::of(Exit::OutsideSaidNo, &error)
                    .hint(format!("merge it with git, then `warp pr close {number} --reason merged`"))
            }
            MergeError::Stuck { number, ref branch, ref mend, .. } => {
                let how = match mend {
                    Mend::Conflict { onto } => {
                        format!("`git switch {branch}` and `git rebase {onto}` let you bring them together")
                    }
                    Mend::Branch => format!("`git switch {branch}` lets you mend it"),
                    Mend::Target => "put that right".to_owned(),
                };
                Self::of(Exit::OutsideSaidNo, &error).hint(format!(
                    "no branch was moved; {how}, then `warp pr merge {number}` again, or `warp pr close {number}`"
                ))
            }
            MergeError::NotTaken { number, ref target, .. } => Self::of(Exit::OutsideSaidNo, &error)
                .hint(format!("`warp pr merge {number}` tries again"))
                .hint(format!("where `{target}` is protected, merge it at the remote: `warp config push=branch` lets warp push its branch"))
                .hint(format!("`WARP_PUSH=never warp pr merge {number}` merges it into your own `{target}` only")),
            MergeError::Slot(error) => error.into(),
            MergeError::Forge(error) => error.into(),
            MergeError::Next(error) => error.into(),
            MergeError::Failed(error) => error.into(),
        }
    }
}

fn list(workspace: &mut Workspace, state: State, json: bool) -> Result<(), CommandError> {
    let mut forge = workspace.forge();
    let mut pulls = state.items(&mut forge)?;
    pulls.retain(|item| item.pull.is_some());
    if json {
        let shown: Vec<_> =
            pulls.iter().map(|item| items::json(item, &Readiness::NotARequirement, None)).collect();
        return output::print_json(&shown);
    }
    let rows: Vec<_> = pulls.iter().map(|pull| items::pull_row(pull)).collect();
    let closed = forge.closed_pulls()?;
    let mut text = items::table(&rows);
    text.push_str(&match (state, pulls.len()) {
        (State::Open, 0) => "No open pull requests".to_owned(),
        (State::Open, shown) => format!("\n{shown} open"),
        (State::Closed | State::All, shown) => format!("\n{shown} shown"),
    });
    if state == State::Open && closed > 0 {
        text.push_str(&format!(", {closed} closed (`warp pr list --state closed`)"));
    }
    output::print(text.trim_start())
}
