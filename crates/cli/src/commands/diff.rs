use std::path::{Path, PathBuf};

use adapters::git::Git;
use forge::ItemId;
use project::{Account, Current, Stint, StintOutcome, Workspace};

use super::{open, person_place, pool};
use crate::{error::CommandError, exit::Exit, output};

/// Show what an issue or a run has changed, committed and not
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// An issue, with all runs that worked on it, or a run id; without it, this workspace's run, or the newest that warp
    /// drives
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// Show only which files, and how much of them
    #[arg(long)]
    stat: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let account = account(&mut workspace, arguments.selector.as_deref())?;
    let how: &[&str] = if arguments.stat { &["--stat"] } else { &["--patch"] };
    let root = person_place(&workspace)?.root;
    let mut shown = Vec::new();
    let live = live(&mut workspace, &account)?;
    let done = match &live {
        Some(_) => Account { stints: settled(&account).to_vec() },
        None => account.clone(),
    };
    for (base, tip) in done.ranges() {
        shown.push(Git::new(&root).change_between(&base, &tip, how));
    }
    if let Some((root, base)) = &live {
        shown.push(Git::new(root).change(base, how));
    }
    let mut is_cut = false;
    for part in shown {
        let (text, cut) = part.map_err(|problem| CommandError::new(Exit::Failed, problem))?;
        is_cut |= cut;
        output::print_patch(&text)?;
    }
    if live.is_none() {
        name_kept(&workspace, &account)?;
    }
    if is_cut {
        output::note("the middle is left out; `warp diff --stat` names every file");
    }
    Ok(Exit::Done)
}

/// Returns what a person means: all that was done for an issue, or by a run.
fn account(workspace: &mut Workspace, selector: Option<&str>) -> Result<Account, CommandError> {
    let none = || CommandError::no_run(selector, "run");
    let named = workspace.select(selector)?;
    let is_by_id = |current: &Current| selector == Some(current.run.id.as_str());
    let issue = match &named {
        Some(current) if is_by_id(current) => None,
        Some(_) | None => selector.and_then(ItemId::typed),
    };
    let account = match issue {
        Some(issue) => workspace.account(issue)?,
        None => Account { stints: workspace.stints(&named.ok_or_else(none)?)? },
    };
    if account.stints.is_empty() { Err(none()) } else { Ok(account) }
}

/// Returns the workspace in which the newest stint is still worked on, and the commit that it is based on.
fn live(workspace: &mut Workspace, account: &Account) -> Result<Option<(PathBuf, String)>, CommandError> {
    let is_live = |stint: &&Stint| stint.is_open && stint.outcome == StintOutcome::Pending;
    let Some(stint) = account.stints.last().filter(is_live) else { return Ok(None) };
    let Some(current) = workspace.select(Some(&stint.run))? else { return Ok(None) };
    let root = Path::new(&current.run.root);
    if !root.is_dir() {
        return Ok(None);
    }
    let fork = || Git::new(root).fork_of(&current.run.branches.merge_target).filter(|_| stint.in_slot);
    let base = stint.onto.clone().or_else(|| stint.first_base.clone()).or_else(fork);
    Ok(Some((root.to_owned(), base.unwrap_or_else(|| "HEAD".to_owned()))))
}

/// Returns the stints before those that the newest one continues.
fn settled(account: &Account) -> &[Stint] {
    let pending = account.pending().len();
    &account.stints[..account.stints.len() - pending]
}

/// Names work that was kept when runs were over.
fn name_kept(workspace: &Workspace, account: &Account) -> Result<(), CommandError> {
    let mut runs: Vec<&str> =
        account.stints.iter().filter(|stint| stint.in_slot).map(|stint| stint.run.as_str()).collect();
    runs.dedup();
    for run in runs {
        for name in pool(workspace)?.kept_of(run)? {
            let name = name.strip_prefix("refs/warp/salvage/").unwrap_or(&name).to_owned();
            output::note(&format!("`warp salvage show {name}` shows what was kept when it was over"));
        }
    }
    Ok(())
}
