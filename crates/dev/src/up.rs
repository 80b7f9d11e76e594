//! Bringing the environment up: migrations, server, seed data, users. What is done is not done again.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use adapters::{
    boundary,
    hold::FileLock,
    loopback,
    process::{Control, End},
};
use engine::digest;
use serde::{Deserialize, Serialize};

use super::{
    Dev, DevError,
    manifest::{Auth, Provision, Seed, Server},
    seeds,
    server::{self, Keeper},
    users,
};
use workspace::{Place, atomic, counted, text};

/// How long one command may take: migrations, a seed file, users.
const LIMIT: Duration = Duration::from_secs(10 * 60);
/// How long the server may take for one answer.
const PROBE: Duration = Duration::from_secs(5);
/// How long a server that is kept may take to answer again when it is checked.
const CHECK: Duration = Duration::from_secs(10);
/// How long to wait between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// How long to wait for somebody else who brings the environment up or down.
const LOCK: Duration = Duration::from_secs(2);
/// How much of what a command prints is told.
const WORDS: usize = 1500;
/// The largest seed file and list of users that is read, in bytes.
const LARGEST: u64 = 256 * 1024 * 1024;
/// The file that says what was done.
const DONE: &str = "done.json";

/// Report of bringing the environment up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartReport {
    pub server: Option<ServerStart>,
    pub migrated: bool,
    /// Seed files that were applied.
    pub seeds: Vec<String>,
    /// Number of seed files applied earlier.
    pub seeds_before: usize,
    /// Whether users were created; `None` if none are configured.
    pub users: Option<bool>,
}

/// How the server was started or found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStart {
    pub port: u16,
    /// Whether it was started; otherwise it was already running.
    pub started: bool,
    /// Whose it is, if it is not warp's: that one is neither kept nor ended.
    pub others: Option<String>,
}

/// Health of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// There is none.
    NoServer,
    Healthy {
        port: u16,
        /// Whose it is, if it is not warp's.
        others: Option<String>,
    },
    Unhealthy {
        port: u16,
        why: String,
    },
}

/// What earlier calls provisioned.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ProvisionState {
    version: u32,
    /// The run for which it was done: another one begins with nothing.
    run: Option<String>,
    /// Digests of seed files, by name.
    seeds: BTreeMap<String, String>,
    users: Option<String>,
}

impl StartReport {
    /// Describes what was done, a line each.
    pub fn said(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.migrated {
            said.push("migrations are run".to_owned());
        }
        said.extend(self.server.as_ref().map(ToString::to_string));
        if !self.seeds.is_empty() {
            said.push(format!("seed data is applied: {}", self.seeds.join(", ")));
        } else if self.seeds_before > 0 {
            let files = counted(self.seeds_before as u64, "seed file", "seed files");
            said.push(format!("{files} applied before"));
        }
        match self.users {
            Some(true) => said.push("users are put in".to_owned()),
            Some(false) => said.push("users were put in before".to_owned()),
            None => {}
        }
        said
    }
}

impl fmt::Display for ServerStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.started { "is up" } else { "runs already" };
        write!(f, "the dev server {how} at {}", url(self.port))?;
        match &self.others {
            Some(others) => write!(f, "; it is not warp's, but that of {others}"),
            None => Ok(()),
        }
    }
}

/// Returns the address of a port of this machine.
pub fn url(port: u16) -> String {
    format!("http://localhost:{port}")
}

/// Lets one process at a time bring the environment of a workspace up or down.
pub(super) fn lock(place: &Place) -> Result<FileLock, DevError> {
    let directory = super::directory(place);
    server::make_directory(&directory)?;
    let path = directory.join("lock");
    let file = File::options().create(true).truncate(false).read(true).write(true).open(&path);
    let file = file.map_err(DevError::file(&path))?;
    FileLock::take(file, LOCK).map_err(DevError::file(&path))?.ok_or(DevError::Busy)
}

/// Whether to repeat earlier provisioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    No,
    Yes,
}

/// Data that can be provisioned alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataKind {
    Seeds,
    Users,
}

impl DataKind {
    /// Returns the key of `dev.json` that describes it.
    fn key(self) -> &'static str {
        match self {
            Self::Seeds => "seed",
            Self::Users => "auth",
        }
    }
}

impl Dev<'_> {
    /// Brings the environment of a person's checkout up; its server goes on in the background. With `again`, seed data and
    /// users that were put in before are put in again.
    pub fn up(&self, again: bool) -> Result<StartReport, DevError> {
        if self.place.origin().is_some() {
            return Err(DevError::InSlot { root: self.place.root.clone() });
        }
        self.bring_up(Keeper::Apart, if again { Repeat::Yes } else { Repeat::No })
    }

    /// Applies seed data alone, or puts users in alone, in a person's checkout. The server is left as it is.
    pub fn fill_with(&self, what: DataKind, again: bool) -> Result<StartReport, DevError> {
        if self.place.origin().is_some() {
            return Err(DevError::InSlot { root: self.place.root.clone() });
        }
        let _lock = lock(self.place)?;
        let configured = self.manifest.server.as_ref().map_or(0, |server| server.port);
        let port = server::last_port(self.place).unwrap_or(configured);
        let (mut up, mut done) =
            (StartReport::default(), self.done(if again { Repeat::Yes } else { Repeat::No }));
        match (what, &self.manifest.seed, &self.manifest.auth) {
            (DataKind::Seeds, Some(seed), _) => self.sow(seed, &mut up, &mut done, port)?,
            (DataKind::Users, _, Some(auth)) => self.provision(auth, &mut up, &mut done, port)?,
            (DataKind::Seeds, None, _) | (DataKind::Users, _, None) => {
                let problem = "is not there, so there is nothing to put in".to_owned();
                return Err(DevError::Key { key: what.key().to_owned(), problem });
            }
        }
        Ok(up)
    }

    /// Returns the tables that the project's schema makes and no seed file fills, by name.
    pub fn uncovered(&self) -> Result<Vec<String>, DevError> {
        let problem = |words| DevError::Failed {
            what: "listing the project's files".to_owned(),
            why: words,
            words: String::new(),
        };
        let files = self.place.git().files_like(&[]).map_err(problem)?;
        match self.manifest.seed {
            Some(_) => Ok(self.tables_without_seeds(&files)),
            None => {
                let problem = "is not there, so nothing can be compared".to_owned();
                Err(DevError::Key { key: DataKind::Seeds.key().to_owned(), problem })
            }
        }
    }

    /// Asks whether the server of a person's checkout is healthy, and changes nothing.
    pub fn check(&self) -> Health {
        self.health(&Keeper::Apart)
    }

    /// Starts whatever is not running yet.
    pub fn bring_up_for_run(&self, keeper: Keeper<'_>) -> Result<StartReport, DevError> {
        self.bring_up(keeper, Repeat::No)
    }

    fn bring_up(&self, mut keeper: Keeper<'_>, again: Repeat) -> Result<StartReport, DevError> {
        let _lock = lock(self.place)?;
        let mut up = StartReport::default();
        let server = self.manifest.server.as_ref();
        let port = match server {
            Some(server) => self.port(&keeper, server)?,
            None => 0,
        };
        let runs = server
            .is_some_and(|server| keeper.ended(self.place).is_none() && ask(server, port, PROBE).is_ok());
        let mut others = None;
        if let Some(server) = server.filter(|_| !runs) {
            keeper.stop(self.place)?;
            others = self.others(&keeper, server, port);
            if others.is_none() {
                check_free(port)?;
            }
        }
        if let Some(command) = &self.manifest.migrate {
            self.command("the migrations' command", command, &[], port)?;
            up.migrated = true;
        }
        if let Some(server) = server {
            let started = !runs && others.is_none();
            if started {
                self.start(&mut keeper, server, port)?;
            }
            up.server = Some(ServerStart { port, started, others });
        }
        self.fill(&mut up, port, again)?;
        Ok(up)
    }

    /// Returns the port for the server. A run whose command takes it from `$PORT` gets one of its own, so that runs and the
    /// person are not in each other's way.
    fn port(&self, keeper: &Keeper<'_>, server: &Server) -> Result<u16, DevError> {
        let is_told = server.command.contains("$PORT") || server.command.contains("${PORT");
        match (keeper, keeper.port(self.place)) {
            (_, Some(port)) if !loopback::is_taken(port) || keeper.ended(self.place).is_none() => Ok(port),
            (Keeper::Here(_), _) if is_told => loopback::free_port()
                .map_err(|error| DevError::NotUp { why: error.to_string(), words: String::new() }),
            (Keeper::Here(_) | Keeper::Apart, _) => Ok(server.port),
        }
    }

    /// Says whose server answers on a port that nobody keeps for warp. In a person's checkout one that is healthy is as good
    /// as warp's own; a run's has to be of the run's own code.
    fn others(&self, keeper: &Keeper<'_>, server: &Server, port: u16) -> Option<String> {
        let is_persons = matches!(keeper, Keeper::Apart) && self.place.origin().is_none();
        (is_persons && loopback::is_taken(port) && ask(server, port, PROBE).is_ok()).then(|| holder(port))
    }

    /// Starts the server and waits until it is healthy; one that does not come up is ended.
    fn start(&self, keeper: &mut Keeper<'_>, server: &Server, port: u16) -> Result<(), DevError> {
        keeper.start(self, port)?;
        let limit = Duration::from_secs(server.start_seconds);
        match self.until_healthy(keeper, server, port, limit) {
            Ok(()) => keeper.confirm(self.place),
            Err(why) => {
                let words = server::last_words(self.place);
                keeper.stop(self.place)?;
                Err(why.map_or(DevError::Interrupted, |why| DevError::NotUp { why, words }))
            }
        }
    }

    /// Waits until the server is healthy; says why it is not, or nothing if somebody wants an end.
    fn until_healthy(
        &self,
        keeper: &Keeper<'_>,
        server: &Server,
        port: u16,
        limit: Duration,
    ) -> Result<(), Option<String>> {
        let begun = Instant::now();
        loop {
            if self.shell.go() != Control::On {
                return Err(None);
            }
            if let Some(how) = keeper.ended(self.place) {
                return Err(Some(format!("`{}` {how}", server.command)));
            }
            let left = limit.saturating_sub(begun.elapsed());
            match ask(server, port, PROBE.min(left.max(PAUSE))) {
                Ok(()) => return Ok(()),
                Err(why) if left.is_zero() => {
                    return Err(Some(format!("after {} s {why}", limit.as_secs())));
                }
                Err(_) => std::thread::sleep(PAUSE.min(left)),
            }
        }
    }

    /// Asks whether the server is healthy. One that is just being started again may take a moment.
    pub fn health(&self, keeper: &Keeper<'_>) -> Health {
        let Some(server) = &self.manifest.server else { return Health::NoServer };
        let port = keeper.port(self.place).or_else(|| server::last_port(self.place)).unwrap_or(server.port);
        let is_kept = keeper.ended(self.place).is_none();
        let asked = match (keeper, is_kept) {
            (Keeper::Here(_), false) => Err(format!("it {}", keeper.ended(self.place).unwrap_or_default())),
            (_, true) => self
                .until_healthy(keeper, server, port, CHECK)
                .map_err(|why| why.unwrap_or_else(|| DevError::Interrupted.to_string())),
            (Keeper::Apart, false) => ask(server, port, PROBE),
        };
        match asked {
            Ok(()) => {
                // Behind walls nobody is to be seen who keeps one that warp has started.
                let is_warps = is_kept || server::last_port(self.place).is_some();
                let others = if is_warps { None } else { self.others(keeper, server, port) };
                Health::Healthy { port, others }
            }
            Err(why) => Health::Unhealthy { port, why },
        }
    }

    /// Returns the path of the server's log.
    pub fn log(&self) -> PathBuf {
        server::log(self.place)
    }

    /// Applies seed data and puts users in.
    fn fill(&self, up: &mut StartReport, port: u16, again: Repeat) -> Result<(), DevError> {
        let mut done = self.done(again);
        if let Some(seed) = &self.manifest.seed {
            self.sow(seed, up, &mut done, port)?;
        }
        match &self.manifest.auth {
            Some(auth) => self.provision(auth, up, &mut done, port),
            None => Ok(()),
        }
    }

    fn sow(
        &self,
        seed: &Seed,
        up: &mut StartReport,
        done: &mut ProvisionState,
        port: u16,
    ) -> Result<(), DevError> {
        let users_file = self.manifest.auth.as_ref().map(|auth| auth.users_file.as_str());
        let directory = self.within(&seed.directory)?;
        let names = seeds::files(&self.place.root, seed, users_file).map_err(DevError::file(&directory))?;
        for name in names {
            let path = directory.join(&name);
            let bytes = text::bytes(&path, LARGEST).map_err(DevError::file(&path))?;
            let seen = digest(&bytes);
            if done.seeds.get(&name) == Some(&seen) {
                up.seeds_before += 1;
                continue;
            }
            if seeds::is_empty(&name, &String::from_utf8_lossy(&bytes)) {
                continue;
            }
            self.apply(seed, &path.to_string_lossy(), &format!("seed file `{name}`"), port)?;
            up.seeds.push(name.clone());
            done.seeds.insert(name, seen);
            self.keep_done(done)?;
        }
        Ok(())
    }

    fn apply(&self, seed: &Seed, path: &str, what: &str, port: u16) -> Result<(), DevError> {
        let failed = |why| DevError::Failed { what: what.to_owned(), why, words: String::new() };
        let line = seeds::line(seed, path).map_err(failed)?;
        self.command(what, &line, &["sh", path], port)
    }

    /// Returns a path of the project; one that leads out of it by a link is refused, because warp reads it outside of the
    /// walls and an agent may have put the link there.
    fn within(&self, name: &str) -> Result<PathBuf, DevError> {
        let root = &self.place.root;
        let path = root.join(name);
        let real = |path: &Path| path.canonicalize().map_err(DevError::file(path));
        if path.symlink_metadata().is_ok() && !real(&path)?.starts_with(real(root)?) {
            let problem = "leads out of the project".to_owned();
            return Err(DevError::Key { key: name.to_owned(), problem });
        }
        Ok(path)
    }

    /// Puts users in, if they are others than before.
    fn provision(
        &self,
        auth: &Auth,
        up: &mut StartReport,
        done: &mut ProvisionState,
        port: u16,
    ) -> Result<(), DevError> {
        let path = self.within(&auth.users_file)?;
        let users = match text::read(&path, LARGEST) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && auth.by == Provision::Rows => {
                return Ok(());
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            users => users.map_err(DevError::file(&path))?,
        };
        let seen = digest(format!("{auth:?} {users}"));
        if done.users.as_ref() == Some(&seen) {
            up.users = Some(false);
            return Ok(());
        }
        if self.put_in(auth, &users, port)? {
            up.users = Some(true);
            done.users = Some(seen);
            self.keep_done(done)?;
        }
        Ok(())
    }

    /// Puts users in; tells whether there are any.
    fn put_in(&self, auth: &Auth, users: &str, port: u16) -> Result<bool, DevError> {
        let what = "putting users in";
        if let Provision::Command(command) = &auth.by {
            self.command(what, command, &[], port)?;
            return Ok(true);
        }
        let bad =
            |why| DevError::Failed { what: format!("`{}`", auth.users_file), why, words: String::new() };
        let Some(sql) = users::rows(users, &auth.table).map_err(bad)? else { return Ok(false) };
        let Some(seed) = &self.manifest.seed else { return Ok(false) };
        let path = self.directory().join("users.sql");
        fs::write(&path, sql).map_err(DevError::file(&path))?;
        self.apply(seed, &path.to_string_lossy(), what, port)?;
        Ok(true)
    }

    /// Runs a command line of the project's, with arguments; the first is its own name.
    fn command(&self, what: &str, line: &str, arguments: &[&str], port: u16) -> Result<(), DevError> {
        let mut environment = server::variables(&self.manifest, port);
        if let Some(auth) = &self.manifest.auth {
            environment.push(("USERS_FILE".to_owned(), auth.users_file.clone()));
            environment.push(("USERS_TABLE".to_owned(), auth.table.clone()));
        }
        let environment: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let all = [&["-c", line], arguments].concat();
        let finished =
            boundary::around("dev command", || self.shell.run(&self.place.root, &all, &environment, LIMIT));
        let failed = |why: String, words: String| DevError::Failed { what: what.to_owned(), why, words };
        let finished = finished.map_err(|error| failed(error, String::new()))?;
        match &finished.end {
            End::Exit(0) => Ok(()),
            End::Stopped => Err(DevError::Interrupted),
            end @ (End::Exit(_) | End::Signal(_) | End::TimedOut(_) | End::Silent(_)) => {
                Err(failed(format!("`{line}` ended with {end}"), finished.last_words(WORDS)))
            }
        }
    }

    /// Reads what was done before; what cannot be read was not done.
    fn done(&self, again: Repeat) -> ProvisionState {
        let run = self.run.map(str::to_owned);
        let text = text::read(&self.directory().join(DONE), LARGEST).unwrap_or_default();
        let before: Option<ProvisionState> = serde_json::from_str(&text).ok();
        let before = before.filter(|done| done.version == 1 && done.run == run && again == Repeat::No);
        before.unwrap_or(ProvisionState { version: 1, run, ..ProvisionState::default() })
    }

    fn keep_done(&self, done: &ProvisionState) -> Result<(), DevError> {
        let path = self.directory().join(DONE);
        let text = serde_json::to_string(done).expect("it can be written as JSON");
        atomic::replace(&path, &text).map_err(DevError::file(&path))
    }
}

fn ask(server: &Server, port: u16, limit: Duration) -> Result<(), String> {
    loopback::ask(port, server.health.as_deref(), limit).map_err(|error| error.to_string())
}

fn check_free(port: u16) -> Result<(), DevError> {
    if !loopback::is_taken(port) {
        return Ok(());
    }
    Err(DevError::PortTaken { port, by: holder(port) })
}

fn holder(port: u16) -> String {
    let holder = loopback::holder(port);
    holder.map_or_else(|| "a process that cannot be seen".to_owned(), |holder| holder.to_string())
}
