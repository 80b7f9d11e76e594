mod rebuild;

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
};

use adapters::git::salvage;
use engine::Time;
use project::{
    Workspace,
    rails::vault,
    slots::{Kept, KeptIn, Pool},
};
use serde::Serialize;

use super::{open, pool};
use crate::{error::CommandError, exit::Exit, local_time, output};

/// Look at work that was kept before something could have lost it, and get it back
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List everything that is kept, oldest first
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a kept entry holds, against what it was made on
    Show {
        /// Its ref, `RUN/N`, or its number in the list
        #[arg(value_name = "REF|N")]
        entry: String,
    },
    /// Put a kept entry onto a new branch; no file of yours is touched
    Restore {
        /// Its ref, `RUN/N`, or its number in the list
        #[arg(value_name = "REF|N")]
        entry: String,
        /// The branch's name, or a new directory to check it out in (with a `/` at its beginning or end, or a `.`)
        #[arg(long, value_name = "BRANCH|DIR")]
        to: Option<String>,
    },
    /// Make the whole repository anew as it was at a snapshot, also if its `.git` is gone; no file that is there is touched
    ///
    /// History, branches, tags, stashes, settings, hooks, what was staged, and the files that are missing.
    Rebuild {
        /// A directory without a repository; this project, if it is not named
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
        /// The snapshot: its number in `--list`, or the ref of kept work; the newest, if it is not named
        #[arg(long, value_name = "REF|N")]
        at: Option<String>,
        /// List the snapshots, newest first, and make nothing
        #[arg(long, conflicts_with_all = ["to", "at"])]
        list: bool,
    },
    /// Stop keeping an entry
    Drop {
        /// Its whole ref, as the list shows it
        #[arg(value_name = "REF")]
        entry: String,
    },
}

/// One entry as `--json` shows it.
#[derive(Debug, Serialize)]
struct Row<'a> {
    number: usize,
    r#ref: &'a str,
    commit: &'a str,
    run: &'a str,
    issue: Option<&'a str>,
    /// In UTC.
    at: String,
    /// As people read it.
    #[serde(skip)]
    local: String,
    files: usize,
    /// The slot that has not handed it over yet; nothing if it is in the project's own repository.
    slot: Option<usize>,
}

impl Arguments {
    /// Tells whether only a person may do it.
    pub(super) fn is_persons(&self) -> bool {
        match self.command {
            Command::List { .. } | Command::Show { .. } | Command::Rebuild { list: true, .. } => false,
            Command::Restore { .. } | Command::Drop { .. } | Command::Rebuild { .. } => true,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let base = project.clone();
    if let Command::Rebuild { to, at, list } = &arguments.command {
        return rebuild::run(base.unwrap_or_default(), to.as_deref(), at.as_deref(), *list);
    }
    let mut workspace = open(project)?;
    if let (Command::List { json }, None) = (&arguments.command, workspace.store_path()?) {
        if !json && vault::find(&workspace.dirs, &workspace.place.root).is_some() {
            output::note("the repository is gone; `warp salvage rebuild` makes it anew");
        }
        return list(&mut workspace, &[], &[], *json);
    }
    let pool = pool(&workspace)?;
    let all = pool.kept()?;
    match &arguments.command {
        // It was done above, without a look at the project.
        Command::Rebuild { .. } => Ok(Exit::Done),
        Command::List { json } => list(&mut workspace, &all, &pool.set_aside()?, *json),
        Command::Show { entry } => show(find(&all, entry)?),
        Command::Restore { entry, to } => restore(&pool, find(&all, entry)?, to.as_deref(), base),
        Command::Drop { entry } => drop_entry(&pool, &all, entry),
    }
}

fn list(
    workspace: &mut Workspace,
    all: &[Kept],
    set_aside: &[PathBuf],
    json: bool,
) -> Result<Exit, CommandError> {
    let issues = issues(workspace, all)?;
    let rows: Vec<Row<'_>> = all
        .iter()
        .enumerate()
        .map(|(index, kept)| Row {
            number: index + 1,
            r#ref: &kept.entry.name,
            commit: &kept.entry.object,
            run: &kept.entry.run,
            issue: issues.get(kept.entry.run.as_str()).map(String::as_str),
            at: Time::from_millis(kept.entry.seconds.saturating_mul(1000)).to_seconds(),
            local: local_time::minute(Time::from_millis(kept.entry.seconds.saturating_mul(1000))),
            files: kept.files,
            slot: match kept.kept_in {
                KeptIn::Project | KeptIn::Vault => None,
                KeptIn::Slot(number) => Some(number),
            },
        })
        .collect();
    if json {
        output::print_json(&rows)?;
    } else if rows.is_empty() && set_aside.is_empty() {
        output::print("Nothing is kept.")?;
    } else {
        let set_aside = set_aside.iter().map(|path| format!("set aside: {}\n", path.display()));
        output::print(&(table(&rows) + &set_aside.collect::<String>()))?;
    }
    Ok(Exit::Done)
}

fn table(rows: &[Row<'_>]) -> String {
    let wide = rows.iter().map(|row| row.r#ref.len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let issue = row.issue.map(|issue| format!("  issue {issue}")).unwrap_or_default();
        let slot = row.slot.map(|slot| format!("  in slot {slot}")).unwrap_or_default();
        let files = format!("{} {}", row.files, if row.files == 1 { "file" } else { "files" });
        text.push_str(&format!(
            "{:>3}  {:wide$}  {}  {files}{issue}{slot}\n",
            row.number, row.r#ref, row.local
        ));
    }
    text
}

/// Returns the issues of the runs whose work is kept.
fn issues(workspace: &mut Workspace, all: &[Kept]) -> Result<BTreeMap<String, String>, CommandError> {
    let mut issues = BTreeMap::new();
    let mut last = "";
    for run in all.iter().map(|kept| kept.entry.run.as_str()) {
        if run == last || issues.contains_key(run) {
            continue;
        }
        last = run;
        let current = workspace.select(Some(run))?.filter(|current| current.run.id.as_str() == run);
        if let Some(issue) = current.and_then(|current| current.run.issue.clone()) {
            issues.insert(run.to_owned(), issue);
        }
    }
    Ok(issues)
}

/// Finds an entry by its ref, by `RUN/N`, or by its number in the list.
fn find<'a>(all: &'a [Kept], entry: &str) -> Result<&'a Kept, CommandError> {
    let by_number = entry.parse::<usize>().ok().and_then(|number| all.get(number.checked_sub(1)?));
    let is_named = |kept: &&Kept| {
        kept.entry.name == entry || kept.entry.name.strip_prefix("refs/warp/salvage/") == Some(entry)
    };
    if by_number.is_none() && all.iter().filter(is_named).count() > 1 {
        let text = format!("`{entry}` is kept twice, in the repository and outside of it");
        return Err(CommandError::new(Exit::Usage, text).hint("name it by its number in the list"));
    }
    by_number.or_else(|| all.iter().find(is_named)).ok_or_else(|| not_kept(entry))
}

fn not_kept(entry: &str) -> CommandError {
    CommandError::new(Exit::Usage, format!("nothing is kept as `{entry}`"))
        .hint("`warp salvage list` shows everything that is kept")
}

fn show(kept: &Kept) -> Result<Exit, CommandError> {
    let shown = salvage::show(&kept.location, &kept.entry.object, &["--stat", "--patch"])?;
    let (name, commit) = (&kept.entry.name, &kept.entry.object);
    output::print(&format!("{name}\n{commit} {}\n\n", kept.entry.subject))?;
    output::print_patch(&String::from_utf8_lossy(&shown))?;
    Ok(Exit::Done)
}

fn restore(pool: &Pool, kept: &Kept, to: Option<&str>, base: Option<PathBuf>) -> Result<Exit, CommandError> {
    let default = format!("salvage/{}-{}", kept.entry.run, kept.entry.number);
    let is_path = |to: &str| to.starts_with(['/', '.']) || to.ends_with('/');
    let (branch, tree) = match to {
        Some(to) if is_path(to) => {
            let here = base.unwrap_or_default();
            let here = env::current_dir().map(|current| current.join(here)).unwrap_or_default();
            (default.as_str(), Some(here.join(to)))
        }
        Some(to) => (to, None),
        None => (default.as_str(), None),
    };
    pool.restore(kept, branch, tree.as_deref()).map_err(|error| {
        CommandError::from(error).hint("`--to` takes another branch, or a directory that is not there yet")
    })?;
    let next = match tree.as_deref().map(Path::display) {
        Some(tree) => format!("it is checked out in {tree}"),
        None => {
            format!("`git switch {branch}` goes there, `git cherry-pick --no-commit {branch}` brings it here")
        }
    };
    output::print(&format!("{} is on branch `{branch}`; {next}", kept.entry.name))?;
    Ok(Exit::Done)
}

fn drop_entry(pool: &Pool, all: &[Kept], entry: &str) -> Result<Exit, CommandError> {
    let Some(kept) = all.iter().find(|kept| kept.entry.name == entry) else {
        return Err(not_kept(entry).hint("to be dropped, an entry is named by its whole ref"));
    };
    pool.drop_kept(kept)?;
    output::print(&format!(
        "{entry} is not kept any more; until git cleans up, `git branch NAME {}` brings it back",
        kept.entry.object
    ))?;
    Ok(Exit::Done)
}
