//! Projects with runs of a given length, and the rows that ask about them.
//!
//! A run begins by adopting a state file, so that it stands at once where it is wanted. A short history is made
//! by the program itself, event by event. A long one is decided by the engine, event by event too, but appended
//! to the journal in large batches without a snapshot, as a repair leaves a stream; the last event goes through
//! the program, which folds the stream and writes the snapshot and the views that a run always has.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use engine::{Ask, Event, EventName, Record, Run, Time, step};
use journal::{NewEvent, Query, View};
use project::{Dirs, Place, Workspace};
use serde_json::json;

use super::{
    LONG, SHORT,
    measure::{Prepare, Row},
    sandbox::{Call, Sandbox},
};
use crate::run::Result;

/// How many events are appended at once.
const BATCH: usize = 5000;
/// How many transitions are measured on a short run before it begins again, so that it stays short.
const RENEWED: usize = 20;

/// Limits that no benchmark reaches.
const NO_LIMITS: &[(&str, &str)] = &[
    ("WARP_MAX_RETRIES_PER_CHUNK", "4000000000"),
    ("WARP_MAX_EDITS_PER_FILE", "4000000000"),
    ("WARP_MAX_SESSION_MINUTES", "4000000000"),
    ("WARP_MAX_PHASE_MINUTES", "4000000000"),
];

/// The product, in its sandbox.
#[derive(Clone, Copy)]
pub(super) struct Warp<'a> {
    pub(super) sandbox: &'a Sandbox,
    pub(super) program: &'a Path,
}

/// Where a run stands, and the event that makes its history longer.
#[derive(Clone, Copy)]
struct Stand {
    /// The project's name.
    name: &'static str,
    /// The phase that is adopted, and the event that leads on from there. No run can be adopted where it has leave.
    adopted: &'static str,
    leads_on: Option<&'static str>,
    phase: &'static str,
    event: &'static str,
    data: Option<&'static str>,
}

/// The file that is edited again and again where no event of the workflow fits, and what is said about it.
const EDITED: &str = "src/main.rs";
const EDIT: &str = r#"{"file":"src/main.rs"}"#;
const CODING: Stand = Stand {
    name: "coding",
    adopted: "coding",
    leads_on: None,
    phase: "coding",
    event: "file_edited",
    data: Some(EDIT),
};
const COMMITTING: Stand = Stand {
    name: "committing",
    adopted: "testing",
    leads_on: Some("tests_passed"),
    phase: "committing",
    event: "file_edited",
    data: Some(EDIT),
};
const MERGING: Stand = Stand {
    name: "merging",
    adopted: "merging",
    leads_on: None,
    phase: "merging",
    event: "merge_failed",
    data: None,
};

/// A run of its own for the hooks, whose history grows while they are measured.
const CODING_AGENT: Stand = Stand { name: "hooks", ..CODING };

/// What an agent's client asks and tells: the row's name, the hook, the tool, its input, the right answer.
type Hook = (&'static str, &'static str, &'static str, fn(&Path) -> serde_json::Value, i32);
const HOOKS: &[Hook] = &[
    ("hook, commit denied", "pre-tool-use", "Bash", |_| json!({ "command": COMMIT }), 2),
    (
        "hook, command allowed",
        "pre-tool-use",
        "Bash",
        |_| json!({ "command": "cargo check 2>&1 | tail -n 20" }),
        0,
    ),
    ("hook, edit counted", "post-tool-use", "Edit", |root| json!({ "file_path": root.join(EDITED) }), 0),
    ("hook, command watched", "post-tool-use", "Bash", |_| json!({ "command": "cargo check" }), 0),
];
pub(super) const COMMIT: &str = "git commit -m 'feat(parser): read headers'";

impl<'a> Warp<'a> {
    /// Makes the projects and the rows that ask about them.
    pub(super) fn rows(self) -> Result<Vec<Row<'a>>> {
        let mut rows = Vec::new();
        for (stand, name, exit) in [(CODING, "gate, denied", 2), (COMMITTING, "gate, allowed", 0)] {
            for events in [SHORT, LONG] {
                let root = self.project(stand, events)?;
                let call = self.call(&["state", "gate"], &root).word("git_commit");
                rows.push(Row::new(
                    format!("warp {name}"),
                    format!("{} events", grouped(events)),
                    call,
                    exit,
                ));
            }
        }
        for events in [SHORT, LONG] {
            let root = self.project(CODING_AGENT, events)?;
            for (name, hook, tool, input, exit) in HOOKS {
                let file = root.join(format!(".git/{}.json", name.replace(' ', "-")));
                let said =
                    json!({ "session_id": "s", "cwd": root, "tool_name": tool, "tool_input": input(&root) });
                fs::write(&file, said.to_string()).map_err(|error| format!("{}: {error}", file.display()))?;
                let call = self.sandbox.call(self.program).words(&["hook", hook]).reads(file);
                rows.push(Row::new(
                    format!("warp {name}"),
                    format!("{} events", grouped(events)),
                    call,
                    *exit,
                ));
            }
        }
        for events in [SHORT, LONG] {
            let root = self.project(MERGING, events)?;
            let call = self.call(&["state", "transition"], &root).word(MERGING.event);
            let mut row = Row::new("warp transition", format!("{} events", grouped(events)), call, 0);
            if events == SHORT {
                row.prepare = Prepare::Again { every: RENEWED, act: Box::new(move || self.renew(&root)) };
            }
            rows.push(row);
        }
        Ok(rows)
    }

    fn call(&self, action: &[&str], root: &Path) -> Call {
        self.sandbox.call(self.program).words(action).word(root)
    }

    fn project(&self, stand: Stand, events: u64) -> Result<PathBuf> {
        let root = self.sandbox.repository(&format!("{}-{events}", stand.name))?;
        self.begin(&root, stand)?;
        if events > SHORT {
            self.prolong(&root, stand, events - 1)?;
        }
        self.fill(&root, stand, events)?;
        Ok(root)
    }

    /// Takes the run off its project and makes a short one in its place.
    fn renew(&self, root: &Path) -> Result {
        self.call(&["state", "reset"], root).check(0)?;
        self.begin(root, MERGING)?;
        self.fill(root, MERGING, SHORT)
    }

    /// Begins a run that stands where it is wanted.
    fn begin(&self, root: &Path, stand: Stand) -> Result {
        let file = self.sandbox.path("adopted.json");
        let state = serde_json::json!({
            "version": 1, "session": { "level": 3 }, "phase": stand.adopted, "requirement": "42",
        });
        fs::write(&file, state.to_string()).map_err(|error| format!("{}: {error}", file.display()))?;
        self.call(&["-C"], root).word("adopt").word(file).with(NO_LIMITS).check(0)?;
        match stand.leads_on {
            Some(event) => self.call(&["state", "transition"], root).word(event).check(0),
            None => Ok(()),
        }
    }

    /// Gives a run events until it has so many, and makes sure that it stands where it should.
    fn fill(&self, root: &Path, stand: Stand, events: u64) -> Result {
        let transition = self.call(&["state", "transition"], root).word(stand.event);
        let transition = match stand.data {
            Some(data) => transition.words(&["--data", data]),
            None => transition,
        };
        let (mut had, _) = self.standing(root)?;
        while had < events {
            transition.check(0)?;
            had += 1;
        }
        match self.standing(root)? {
            (had, phase) if had == events && phase == stand.phase => Ok(()),
            (had, phase) => Err(format!("a run has {had} events and stands in {phase}, not {}", stand.phase)),
        }
    }

    fn open(&self, root: &Path) -> Result<Workspace> {
        let dirs =
            Dirs::new(self.sandbox.path("state").join("warp"), self.sandbox.path("config").join("warp"));
        let place = Place::at(root).map_err(said)?;
        Workspace::open(place, dirs).map_err(said)
    }

    fn standing(&self, root: &Path) -> Result<(u64, String)> {
        let current = self.open(root)?.current().map_err(said)?.ok_or("there is no run")?;
        Ok((current.events(), current.run.phase.to_string()))
    }

    /// Appends events to a run's stream until it has so many.
    fn prolong(&self, root: &Path, stand: Stand, events: u64) -> Result {
        let mut workspace = self.open(root)?;
        let current = workspace.current().map_err(said)?.ok_or("there is no run")?;
        let path = workspace.store_path().map_err(said)?.ok_or("there is no store")?;
        let store = workspace.dirs.stores.open(path).map_err(said)?;
        // Views that are not there are made again from the stream; old ones would be taken for somebody else's.
        for view in [root.join(".claude/.warp-drive-state.json"), workspace.place.head_file()] {
            fs::remove_file(&view).map_err(|error| format!("{}: {error}", view.display()))?;
        }
        drop(workspace);

        let stream = store.views(Query::Mark(&current.run.root)).map_err(said)?.pop();
        let stream = stream.ok_or("there is no stream")?;
        let (mut run, mut version) = (Run::clone(&current.run), stream.version);
        let view = View { snapshot: &[], mark: stream.mark.as_deref(), topic: stream.topic.as_deref() };
        let event = match stand.data {
            Some(_) => Event::FileEdited { file: EDITED.to_owned() },
            None => Event::Named(EventName::new(stand.event)),
        };
        while run.events < events {
            let mut batch = Vec::with_capacity(BATCH);
            while run.events < events && batch.len() < BATCH {
                let step = step(&current.workflow, &run, &Ask::new(event.clone(), now())).map_err(said)?;
                batch.extend(step.records.iter().map(new_event));
                run = step.run;
            }
            version = store.append(&stream.stream, &version, &batch, view).map_err(said)?;
        }
        Ok(())
    }
}

fn new_event(record: &Record) -> NewEvent {
    NewEvent {
        at: record.at.millis(),
        kind: record.event.to_string(),
        body: serde_json::to_vec(record).expect("what the engine makes can be written as JSON"),
    }
}

pub(super) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

pub(super) fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Writes a number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits are text"))
        .collect();
    groups.join(",")
}
