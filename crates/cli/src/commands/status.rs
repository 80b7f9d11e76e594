use std::path::{Path, PathBuf};

use adapters::machine;
use engine::{
    Standing,
    view::{self, Owned, Status},
};
use forge::ItemId;
use project::{Current, Place, Workspace, outlook::Is, rails};

use super::{items, open, watch};
use crate::{colour::Colour, error::CommandError, exit::Exit, local_time, output};

/// How much of a feature is shown beside its run.
const FEATURE: usize = 30;

/// Show what phase the run is in, and how far it has come
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue; without it, this workspace's run, or those that warp drives
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// The former name of `warp watch`.
    #[arg(long, hide = true)]
    watch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let selector = arguments.selector.as_deref();
    if arguments.watch {
        return watch::watch(&mut workspace, selector, arguments.json);
    }
    let shown = meant(&mut workspace, selector)?;
    let name = workspace.place.name();
    match shown.as_slice() {
        [] if arguments.json => output::print("null")?,
        [] => output::print(&nothing_here(&mut workspace, &name, selector)?)?,
        [current] => {
            let status = status_of(current, &name);
            if arguments.json {
                output::print_json(&status)?;
            } else {
                let mut text = view::render_status(&status, local_time::minute);
                if current.run.standing == Standing::Stopped {
                    let waits = view::explain(&current.workflow, &current.run, machine::now()).waits_for;
                    text.push_str(&format!("Waits for: {waits}\n"));
                }
                text.push_str(&which(&mut workspace, current)?);
                output::print_painted(&text, painted)?;
            }
        }
        several if arguments.json => {
            let all: Vec<Status<'_>> = several.iter().map(|current| status_of(current, &name)).collect();
            output::print_json(&all)?;
        }
        several => output::print(&table(several))?,
    }
    Ok(if shown.is_empty() { Exit::NoSessionOrDenied } else { Exit::Done })
}

/// Gives a line of a status its colour.
fn painted(line: &str) -> String {
    let heads = [
        ("WARP DRIVE ACTIVE", Colour::Good),
        ("INTERRUPTED", Colour::Waiting),
        ("WARP DRIVE WAITING", Colour::Waiting),
        ("Question: ", Colour::Waiting),
        ("Phase: ", Colour::Phase),
    ];
    let colour = heads.into_iter().find(|(head, _)| line.starts_with(head)).map(|(_, colour)| colour);
    colour.map_or_else(|| line.to_owned(), |colour| colour.paint(line))
}

/// Returns the runs that are meant: the named one, this workspace's, or all that warp drives.
pub(super) fn meant(workspace: &mut Workspace, selector: Option<&str>) -> Result<Vec<Current>, CommandError> {
    if selector.is_some() {
        return Ok(workspace.select(selector)?.into_iter().collect());
    }
    match workspace.current()? {
        Some(current) => Ok(vec![current]),
        None if workspace.place.origin().is_some() => Ok(Vec::new()),
        None => Ok(workspace.driven()?),
    }
}

pub(super) fn status_of<'a>(current: &'a Current, name: &'a str) -> Status<'a> {
    let place = Place::at(Path::new(&current.run.root)).ok();
    let rails = place.as_ref().map_or("", |place| rails::in_force(place, &current.run));
    let status = view::status(&current.workflow, &current.run, name, owned(current), rails);
    // A person may have renamed it, or switched to another, since the run last took note.
    let branch = place.filter(|_| current.run.is_open()).map(|place| place.git().branch());
    match branch.filter(|branch| !branch.is_empty()) {
        Some(branch) => Status { branch: branch.into(), ..status },
        None => status,
    }
}

/// Tells whether the process that carries a run on is still there, as far as that can be told from this machine.
pub(crate) fn owned(current: &Current) -> Owned {
    let owner = &current.run.owner;
    if machine::is_live(owner) || !machine::is_here(owner) { Owned::Live } else { Owned::Stale }
}

/// Says which run it is, and what a person can do about it, if anything.
fn which(workspace: &mut Workspace, current: &Current) -> Result<String, CommandError> {
    let run = &current.run;
    let mut text = format!("Run: {}\n", run.id);
    let number = run.issue.as_deref().and_then(ItemId::typed);
    if let Some(item) = number.map(|number| workspace.tracker().item(number)).transpose()?.flatten() {
        text.push_str(&format!("Title: {}\n", item.title));
    }
    let name = run.issue.as_deref().unwrap_or(run.id.as_str());
    let is_left = run.is_open() && run.owns_workspace && owned(current) == Owned::Stale;
    match (view::asked(&current.workflow, run), is_left) {
        (Some(_), true) => {
            text.push_str(&format!("Next: an answer, then `warp run {name}`\n"));
        }
        (None, true) => text.push_str(&format!("Next: `warp run {name}` resumes\n")),
        (Some(_) | None, false) => {}
    }
    Ok(text)
}

/// Shows several runs, a line each.
pub(super) fn table(runs: &[Current]) -> String {
    let mut rows = vec![["Run", "Issue", "Phase", "Chunk", "Process", "Waits for"].map(str::to_owned)];
    for current in runs {
        let run = &current.run;
        let chunk = match run.chunk.acs.len() {
            0 => "-".to_owned(),
            chunks => format!("{}/{chunks}", run.chunk.index),
        };
        let process = match owned(current) {
            Owned::Live => run.owner.pid.to_string(),
            Owned::Stale => format!("{} (gone)", run.owner.pid),
        };
        let issue = match (&run.issue, &run.feature) {
            (Some(issue), _) => format!("#{issue}"),
            (None, Some(feature)) => shortened(feature),
            (None, None) => "-".to_owned(),
        };
        rows.push([run.id.to_string(), issue, run.phase.to_string(), chunk, process, waits_for(current)]);
    }
    let mut text = items::table(&rows);
    if let Some((place, first)) =
        runs.first().and_then(|current| Some((Place::at(Path::new(&current.run.root)).ok()?, current)))
    {
        text.push_str(&format!("\nRails: {}\n", rails::in_force(&place, &first.run)));
    }
    text
}

/// Returns as much of a feature's text as a line has room for.
pub(crate) fn shortened(feature: &str) -> String {
    shortened_to(feature, FEATURE)
}

/// Returns as much of a text as so many characters have room for, on one line.
pub(super) fn shortened_to(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(char::is_control, "");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

fn waits_for(current: &Current) -> String {
    let run = &current.run;
    if let Some(asked) = view::asked(&current.workflow, run) {
        return format!("`warp answer {}`", asked.id);
    }
    let name = run.issue.as_deref().unwrap_or(run.id.as_str());
    match (&run.standing, owned(current)) {
        (Standing::Stopped, _) | (_, Owned::Stale) => format!("`warp run {name}`"),
        (_, Owned::Live) => view::explain(&current.workflow, run, machine::now()).waits_for,
    }
}

fn nothing_here(
    workspace: &mut Workspace,
    name: &str,
    selector: Option<&str>,
) -> Result<String, CommandError> {
    if let Some(selector) = selector {
        return named_nothing(workspace, name, selector);
    }
    let runs = workspace.runs()?;
    let mut text = match runs.is_empty() {
        true => "No run yet: `warp run N` starts one; `warp issue list` shows the issues.\n".to_owned(),
        false => format!("No open run in {name}.\n"),
    };
    for file in workspace.stray_state_files() {
        text.push_str(&format!("{0} is there; `warp adopt {0}` takes it over.\n", file.display()));
    }
    for other in runs.iter().filter(|other| other.run.is_open()) {
        let run = &other.run;
        text.push_str(&format!("Run {} ({}) is in {} at {}.\n", run.id, about(other), run.phase, run.root));
    }
    if let Some(last) = runs.iter().find(|other| !other.run.is_open()) {
        let at = local_time::minute(last.run.updated_at);
        text.push_str(&format!("The last one was run {} ({}), over at {at}.\n", last.run.id, about(last)));
    }
    if workspace.place.origin().is_none() && workspace.store_path()?.is_some() {
        let prospect = workspace.prospect()?.render();
        text.push_str(prospect.lines().next().unwrap_or_default());
    }
    Ok(text)
}

/// An issue that has no run is explained.
fn named_nothing(workspace: &mut Workspace, name: &str, selector: &str) -> Result<String, CommandError> {
    if let Some(number) = ItemId::typed(selector) {
        let outlook = workspace.outlook(number)?;
        if !matches!(outlook.is, Is::Missing) {
            return Ok(outlook.render(local_time::minute));
        }
    }
    Ok(format!("No run or issue `{selector}` in {name}.\n"))
}

/// Names what a run is about.
pub(super) fn about(current: &Current) -> String {
    let run = &current.run;
    match (&run.issue, &run.feature) {
        (Some(issue), _) => format!("issue {issue}"),
        (None, Some(feature)) => shortened(feature),
        (None, None) => "no issue".to_owned(),
    }
}
