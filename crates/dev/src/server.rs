//! The server: who keeps it, and how it is found again.

use std::{
    cell::Cell,
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::{
    boundary, machine, process,
    process::Control,
    service::{self, DetachedProgram, Service, State},
};
use engine::Owner;
use serde::{Deserialize, Serialize};

use super::{Dev, DevError, directory, manifest, read};
use workspace::{Place, Shell, atomic, text};

/// The file that says which server runs, its log, and who brings it up or down.
const RECORD: &str = "server.json";
const LOG: &str = "server.log";
/// The largest record that is read, in bytes.
const LARGEST: u64 = 16 * 1024;
/// How long whoever keeps a server has to end it, before everything is killed.
const PATIENCE: Duration = Duration::from_secs(15);

/// A server, as it is found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    version: u32,
    /// What it and all that it starts carry.
    mark: String,
    port: u16,
    /// Who keeps it; none for the moment in which it is started.
    owner: Option<Owner>,
    /// Who waits for it to come up: if they end before that, so does the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waits: Option<Owner>,
}

/// The server that this process runs, if any.
#[derive(Debug, Default)]
pub struct ServerHandle {
    pub(super) running: Option<Running>,
    /// Whether it was brought up by this process, or at least tried.
    pub was_tried: bool,
}

/// A server that this process keeps.
#[derive(Debug)]
pub(super) struct Running {
    service: Option<Service>,
    port: u16,
    record: PathBuf,
}

impl ServerHandle {
    /// Returns the address of the server.
    pub fn url(&self) -> Option<String> {
        self.running.as_ref().map(|running| super::url(running.port))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.service = None;
        // One that stays is found to be nobody's.
        let _ = atomic::remove(&self.record);
    }
}

/// The process that supervises the server.
#[derive(Debug)]
pub enum Keeper<'a> {
    /// This process, for as long as the value lives.
    Here(&'a mut ServerHandle),
    /// A process of its own, in the background.
    Apart,
}

/// The servers that were stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoppedServers {
    /// The port of the person's own server.
    pub port: Option<u16>,
    /// Ports of servers that runs have left behind.
    pub left_behind: Vec<u16>,
    /// Ports of servers of runs that are under way.
    pub of_runs: Vec<u16>,
}

impl Keeper<'_> {
    /// Returns the port of the server that is kept.
    pub(super) fn port(&self, place: &Place) -> Option<u16> {
        match self {
            Self::Here(kept) => kept.running.as_ref().map(|running| running.port),
            Self::Apart => Record::read(place).filter(Record::is_kept).map(|record| record.port),
        }
    }

    /// Says how the server has ended; nothing while it runs, or is about to be started again.
    pub(super) fn ended(&self, place: &Place) -> Option<String> {
        match self {
            Self::Here(kept) => match kept.running.as_ref().and_then(|running| running.service.as_ref()) {
                Some(service) => match service.state() {
                    State::Runs | State::Waits(_) => None,
                    State::Over(how) => Some(format!("ended with {how}")),
                },
                None => Some("was never started".to_owned()),
            },
            Self::Apart => match Record::read(place) {
                Some(record) if record.is_kept() => None,
                Some(_) => Some("has ended".to_owned()),
                None => Some("was never started".to_owned()),
            },
        }
    }

    /// Ends the server, and whatever an earlier one has left behind here.
    pub(super) fn stop(&mut self, place: &Place) -> Result<(), DevError> {
        if let Self::Here(kept) = self {
            kept.running = None;
        }
        match Record::read(place) {
            Some(record) => record.end(place),
            None => Ok(()),
        }
    }

    /// Notes that the server has come up.
    pub(super) fn confirm(&self, place: &Place) -> Result<(), DevError> {
        match Record::read(place) {
            Some(record) => Record { waits: None, ..record }.write(place),
            None => Ok(()),
        }
    }

    /// Starts the server; nothing of an earlier one is left.
    pub(super) fn start(&mut self, dev: &Dev<'_>, port: u16) -> Result<(), DevError> {
        match self {
            Self::Here(kept) => {
                let mark = dev.run.unwrap_or("dev").to_owned();
                let owner = Some(machine::owner(std::process::id()));
                let record = Record { version: 1, mark, port, owner, waits: None };
                record.write(dev.place)?;
                let plan = plan(dev.place, dev.shell, &dev.manifest, port, &record.mark)?;
                let started = boundary::around("dev server", || Service::start(plan));
                let service = started.map_err(|error| not_started(&error.to_string()))?;
                let record = directory(dev.place).join(RECORD);
                kept.running = Some(Running { service: Some(service), port, record });
                Ok(())
            }
            Self::Apart => start_apart(dev.place, port),
        }
    }
}

fn not_started(why: &str) -> DevError {
    DevError::NotUp { why: why.to_owned(), words: String::new() }
}

/// Starts the server with a process of its own that keeps it.
fn start_apart(place: &Place, port: u16) -> Result<(), DevError> {
    let failed = |error: std::io::Error| not_started(&error.to_string());
    let mark = format!("dev-{}", machine::random_text(10).map_err(failed)?);
    let waits = Some(machine::owner(std::process::id()));
    let mut record = Record { version: 1, mark, port, owner: None, waits };
    // Before there is anything to be found by it.
    record.write(place)?;
    let program = env::current_exe().map_err(failed)?;
    let arguments = ["-C", place.mark(), "dev", "keep", "--port", &port.to_string(), "--mark", &record.mark];
    let arguments = arguments.map(OsString::from);
    let detached = boundary::around("dev server", || {
        DetachedProgram::start(&program, &arguments, &place.root, &record.mark)
    });
    record.owner = Some(detached.map_err(failed)?.owner());
    record.write(place)
}

/// Keeps the server of a person's checkout until `go` says otherwise, as the process that [`Dev::up`] has started for it.
pub fn keep(place: &Place, port: u16, mark: &str, go: &dyn Fn() -> Control) -> Result<(), DevError> {
    service::leave_terminal();
    let manifest = read(&place.root)?.ok_or_else(|| DevError::None { root: place.root.clone() })?;
    let shell = Shell::default();
    let plan = plan(place, &shell, &manifest, port, mark)?;
    let is_up = Cell::new(false);
    let go = || {
        if !is_up.get() {
            let record = Record::read(place).filter(|record| record.mark == mark);
            match record.and_then(|record| record.waits) {
                Some(waits) if !machine::is_live(&waits) && is_awaited(place, mark) => return Control::Stop,
                Some(_) => {}
                None => is_up.set(true),
            }
        }
        go()
    };
    service::keep(&plan, &go, &mut |_| {});
    Ok(())
}

/// Tells whether a server has not come up yet. It is looked at after whoever waits for it: they note it before they leave.
fn is_awaited(place: &Place, mark: &str) -> bool {
    Record::read(place).is_some_and(|record| record.mark == mark && record.waits.is_some())
}

fn plan(
    place: &Place,
    shell: &Shell,
    manifest: &manifest::Manifest,
    port: u16,
    mark: &str,
) -> Result<service::Plan, DevError> {
    let Some(server) = &manifest.server else { return Err(not_started("the project has none")) };
    let environment = variables(manifest, port);
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let log = directory(place).join(LOG);
    let plan = shell.plan(&place.root, &server.command, &environment, server.restart, &log, mark);
    plan.map_err(|error| not_started(&error))
}

/// Returns what the server, and whatever belongs to it, knows of the environment.
pub(super) fn variables(manifest: &manifest::Manifest, port: u16) -> Vec<(String, String)> {
    let own = manifest.server.iter().flat_map(|server| &server.env);
    let own = own.map(|(name, value)| (name.clone(), value.clone()));
    let port = manifest.server.as_ref().map(|_| ("PORT".to_owned(), port.to_string()));
    own.chain(port).collect()
}

/// Returns the port of the server that was started last. Behind walls nobody is to be seen who keeps it.
pub(super) fn last_port(place: &Place) -> Option<u16> {
    Record::read(place).map(|record| record.port)
}

/// Returns the last words of the server.
pub(super) fn last_words(place: &Place) -> String {
    service::last_words(&log(place))
}

/// Returns the path of the server's log.
pub fn log(place: &Place) -> PathBuf {
    directory(place).join(LOG)
}

/// Ends the server of a person's checkout, and those that runs of the project have left behind in `trees`.
pub fn down(place: &Place, trees: &[PathBuf]) -> Result<StoppedServers, DevError> {
    let mut stopped = StoppedServers::default();
    let _lock = super::up::lock(place)?;
    if let Some(record) = Record::read(place) {
        stopped.port = Some(record.port).filter(|_| record.is_kept());
        record.end(place)?;
    }
    (stopped.left_behind, stopped.of_runs) = end_left_behind(trees)?;
    Ok(stopped)
}

/// Ends the servers in workspaces of runs whose keepers are gone; returns their ports, and those of servers that are kept.
pub fn end_left_behind(trees: &[PathBuf]) -> Result<(Vec<u16>, Vec<u16>), DevError> {
    let (mut ended, mut kept) = (Vec::new(), Vec::new());
    for tree in trees {
        // A workspace that is not whole has nothing that could be found by it.
        let Ok(place) = Place::at(tree) else { continue };
        let Some(record) = Record::read(&place) else { continue };
        if record.is_kept() {
            kept.push(record.port);
        } else {
            record.end(&place)?;
            ended.push(record.port);
        }
    }
    Ok((ended, kept))
}

impl Record {
    fn path(place: &Place) -> PathBuf {
        directory(place).join(RECORD)
    }

    /// Reads the record of a workspace. One that cannot be read leads to nothing, and is written over.
    fn read(place: &Place) -> Option<Self> {
        let text = text::read(&Self::path(place), LARGEST).ok()?;
        serde_json::from_str(&text)
            .ok()
            .filter(|record: &Self| record.version == 1 && !record.mark.is_empty())
    }

    fn write(&self, place: &Place) -> Result<(), DevError> {
        let path = Self::path(place);
        make_directory(&directory(place))?;
        let text = serde_json::to_string(self).expect("a record can be written as JSON");
        atomic::replace(&path, &text).map_err(DevError::file(&path))
    }

    /// Tells whether somebody keeps the server.
    fn is_kept(&self) -> bool {
        self.owner.as_ref().is_some_and(machine::is_live)
    }

    /// Ends the server, by whoever keeps it or else by its mark.
    fn end(&self, place: &Place) -> Result<(), DevError> {
        // What this process keeps ends with its value, and must not take the process with it.
        let others = self.owner.as_ref().filter(|owner| owner.pid != std::process::id());
        if let Some(owner) = others {
            service::end(owner, PATIENCE);
        }
        if others.is_some() || self.owner.is_none() {
            boundary::around("dev leftovers", || process::end_leftovers(&self.mark));
        }
        let path = Self::path(place);
        atomic::remove(&path).map_err(DevError::file(&path))
    }
}

pub(super) fn make_directory(directory: &Path) -> Result<(), DevError> {
    fs::create_dir_all(directory).map_err(DevError::file(directory))
}
