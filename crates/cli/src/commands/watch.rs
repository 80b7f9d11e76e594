use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use adapters::{
    clock::{Bell, after},
    machine,
    watch::Watch,
};
use driver::{Show as _, Shown};
use engine::{Record, Time};
use project::{Current, Workspace};

use super::{
    open,
    status::{meant, status_of},
};
use crate::{
    error::CommandError,
    exit::Exit,
    live::{
        self, Form, Live,
        transcript::{self, Reader, Told},
    },
    output,
};

/// How many lines of what has happened are shown first.
const EARLIER: usize = 20;
/// How often the clock of a terminal's changing part is moved.
const CLOCK: Duration = Duration::from_secs(1);
/// How long one wait takes where there is no clock to move.
const PATIENCE: Duration = Duration::from_secs(600);

/// Watch what agents say and do, live, from any terminal
///
/// It ends with Ctrl-C, or when the run is over. Without a run: the only one that is open, or all of them, with the issue
/// in front of each line.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A run id or an issue; without it, the only open run, or all
    #[arg(value_name = "RUN|ISSUE")]
    selector: Option<String>,
    /// Print every line as JSON
    #[arg(long)]
    json: bool,
}

/// Something to be shown, in the order of time.
enum Line<'a> {
    Event(&'a Record, &'a Current),
    Told(&'a Told),
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    watch(&mut open(project)?, arguments.selector.as_deref(), arguments.json)
}

/// Shows where runs are, what was last, and then everything as it happens.
pub(super) fn watch(
    workspace: &mut Workspace,
    selector: Option<&str>,
    json: bool,
) -> Result<Exit, CommandError> {
    let name = workspace.place.name();
    // What happens after this is followed, so nothing falls between the first look and the first wait.
    let Some(mut follower) = workspace.follower()? else { return Err(CommandError::no_session()) };
    let bell = workspace.dirs.clock.bell();
    let rung = bell.clone();
    let _journals = workspace.subscribe(Arc::new(move || rung.ring()))?;
    let unreadable = |error: io::Error| {
        CommandError::new(Exit::Failed, format!("what agents say cannot be read: {error}"))
    };
    let directory = transcript::directory(&workspace.place, &workspace.dirs).map_err(unreadable)?;
    let Some(directory) = directory else { return Err(CommandError::no_session()) };
    ring_when_written(&directory, bell.clone()).map_err(unreadable)?;

    let shown = meant(workspace, selector)?;
    let only = match (selector, shown.as_slice()) {
        (Some(selector), []) => return Err(CommandError::unknown(selector, &name)),
        (_, [current]) => Some(current.run.id.to_string()),
        _ => None,
    };
    let mut live = Live::new(if json { Form::Json } else { Form::Text });
    let mut reader = Reader::new(directory);
    let told = reader.read(only.as_deref()).map_err(unreadable)?;
    if shown.is_empty() {
        output::note("no run is open; what begins is shown");
    }
    let mut records = Vec::new();
    for current in &shown {
        live.begin(&status_of(current, &name), &current.run, &current.workflow);
        let newest = workspace.newest_records(current, EARLIER)?;
        records.extend(newest.into_iter().map(|record| (record, current)));
    }
    let mut lines: Vec<Line<'_>> =
        records.iter().map(|(record, current)| Line::Event(record, current)).collect();
    lines.retain(Line::is_worth_showing);
    let is_open = |told: &&Told| shown.iter().any(|current| current.run.id.as_str() == told.run);
    lines.extend(told.iter().filter(is_open).map(Line::Told));
    lines.sort_by_key(Line::at);
    lines.drain(..lines.len().saturating_sub(EARLIER));
    lines.iter().for_each(|line| line.show(&mut live, only.is_none()));

    let patience = if live.is_redrawn() { CLOCK } else { PATIENCE };
    let mut is_over = only.is_some() && shown.iter().all(|current| !current.run.is_open());
    while !is_over && !live.is_unheard() {
        bell.wait(Some(after(machine::now(), patience)));
        // The journal first: what was said before an event is there by the time that the event is.
        let events = workspace.follow(&mut follower, Duration::ZERO)?;
        let told = reader.read(only.as_deref()).map_err(unreadable)?;
        let is_meant = |current: &Current| only.as_deref().is_none_or(|only| only == current.run.id.as_str());
        let meant = events.iter().filter(|seen| is_meant(&seen.current));
        let mut lines: Vec<Line<'_>> = meant.map(|seen| Line::Event(&seen.record, &seen.current)).collect();
        is_over = only.is_some() && lines.iter().any(Line::ends_run);
        lines.extend(told.iter().map(Line::Told));
        lines.sort_by_key(Line::at);
        lines.iter().for_each(|line| line.show(&mut live, only.is_none()));
        live.show(Shown::Tick);
    }
    live.end();
    Ok(Exit::Done)
}

/// Rings a bell whenever a transcript is written, until the program ends.
fn ring_when_written(directory: &Path, bell: Bell) -> io::Result<()> {
    transcript::make(directory)?;
    let watch = Watch::over(&[directory])?;
    let ring = move || {
        while watch.wait(None, PATIENCE).is_ok() {
            bell.ring();
        }
    };
    thread::Builder::new().name("transcripts".to_owned()).spawn(ring).map(drop)
}

impl Line<'_> {
    fn at(&self) -> Time {
        match self {
            Self::Event(record, _) => record.at,
            Self::Told(told) => told.at,
        }
    }

    fn is_worth_showing(&self) -> bool {
        match self {
            Self::Event(record, current) => live::is_worth_a_line(record, &current.run, &current.workflow),
            Self::Told(_) => true,
        }
    }

    fn ends_run(&self) -> bool {
        matches!(self, Self::Event(_, current) if !current.run.is_open())
    }

    fn show(&self, live: &mut Live, is_labelled: bool) {
        let about = match self {
            Self::Event(_, current) => (current.run.issue.as_deref(), current.run.id.as_str()),
            Self::Told(told) => (told.value.get("issue").and_then(|issue| issue.as_str()), told.run.as_str()),
        };
        if is_labelled {
            let about = about.0.map_or_else(|| about.1.to_owned(), |issue| format!("#{issue}"));
            live.label(format!("{about:<5} "));
        }
        match self {
            Self::Event(record, current) => {
                let (run, workflow) = (&*current.run, &*current.workflow);
                live.show(Shown::Recorded { record, run, workflow });
            }
            Self::Told(told) => live.retell(told),
        }
    }
}
