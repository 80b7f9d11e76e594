//! `warp salvage rebuild`: the whole repository anew, found by its path alone.

use std::{
    env,
    path::{Path, PathBuf},
};

use adapters::git::vault::Record;
use engine::Time;
use project::{Dirs, rails::vault};

use crate::{error::CommandError, exit::Exit, local_time, output};

/// Makes a repository anew out of its copy, which is found by the project's path.
pub(super) fn run(
    project: PathBuf,
    to: Option<&Path>,
    at: Option<&str>,
    lists: bool,
) -> Result<Exit, CommandError> {
    let current = env::current_dir().map_err(|error| {
        CommandError::new(Exit::Usage, format!("the current directory is gone: {error}"))
            .hint("make it again, or name the project with `--project`")
    })?;
    let project = current.join(project);
    let project = project.canonicalize().unwrap_or(project);
    let Some(snapshots) = vault::find(&Dirs::from_environment()?, &project) else {
        let text = format!("no snapshot of `{}` is kept", project.display());
        return Err(
            CommandError::new(Exit::Usage, text).hint("name the project's directory with `--project`")
        );
    };
    let records = snapshots.records()?;
    if lists {
        output::print(&listed(&records))?;
        return Ok(Exit::Done);
    }
    let record = meant(&records, at).ok_or_else(|| {
        CommandError::new(Exit::Usage, format!("there is no snapshot `{}`", at.unwrap_or_default()))
            .hint("`warp salvage rebuild --list` shows them")
    })?;
    let to = to.map_or_else(|| snapshots.root.clone(), |to| current.join(to));
    let rebuilt = snapshots
        .rebuild(record, &to)
        .map_err(|error| CommandError::from(error).hint("`--to DIR` makes it in another directory"))?;
    let at = time(record);
    let (refs, files) = (rebuilt.refs, rebuilt.files);
    let mut text =
        format!("{} is as it was at {at}: {refs} refs, {files} missing files written\n", to.display());
    for path in &rebuilt.differ {
        text.push_str(&format!("left as it is, but differs from the snapshot: {path}\n"));
    }
    for name in &rebuilt.lost {
        text.push_str(&format!("not in the snapshot: {name}\n"));
    }
    output::print(&text)?;
    Ok(Exit::Done)
}

fn time(record: &Record) -> String {
    local_time::minute(Time::from_millis(record.seconds.saturating_mul(1000)))
}

fn listed(records: &[Record]) -> String {
    let line = |(index, record): (usize, &Record)| {
        let entry = record.entry.as_ref().map(|entry| format!("  {entry}")).unwrap_or_default();
        format!("{:>3}  {}{entry}\n", index + 1, time(record))
    };
    records.iter().enumerate().map(line).collect()
}

/// Finds a snapshot by its number in the list, or by the ref of work that was kept with it.
fn meant<'a>(records: &'a [Record], at: Option<&str>) -> Option<&'a Record> {
    let Some(at) = at else { return records.first() };
    let is_meant = |record: &&Record| {
        let entry = record.entry.as_deref().unwrap_or_default();
        entry == at || entry.strip_prefix("refs/warp/salvage/") == Some(at)
    };
    let by_number = at.parse::<usize>().ok().and_then(|number| records.get(number.checked_sub(1)?));
    by_number.or_else(|| records.iter().find(is_meant))
}
