//! Where the runs of a test are: a home of its own, a store and a forge.
//!
//! Runs read the home and git's settings from their environment, so a test starts itself again in a sandbox.

use std::{
    collections::BTreeMap,
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use adapters::{
    agent::{
        Agent, AgentUpdate, Capabilities, ProviderFailure, Turn, TurnResult, Usage,
        script::{Player, Reply, Script},
    },
    clock::Clock,
    process::Control,
};
use driver::{After, DriveError, Driver, Finish, Interrupts, Options, Show, Shown};
use engine::{Time, view::Asked};
use forge::{Author, Hosting, NewItem, fake::Fake};
use journal::Stores;
use project::{Dirs, HOLDS, Hosts, Place, Workspace};
use testkit::Sandbox;

/// Set where the runs are, to what is behind their ports.
const BEHIND: &str = "WARP_TEST_BEHIND";
/// What is to be done there.
const TASK: &str = "WARP_TEST_TASK";
/// Longer than anything here takes: reaching it is a failure.
pub(crate) const LONG: Duration = Duration::from_secs(300);

/// What is behind the ports of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// SQLite files, with the embedded forge in them.
    Files,
    /// Stores in memory, with the embedded forge in them.
    Memory,
    /// Stores in memory, and a fake forge.
    Fake,
}

impl Behind {
    pub(crate) const ALL: [Self; 3] = [Self::Files, Self::Memory, Self::Fake];
}

/// A fake forge for each project.
#[derive(Debug, Default)]
struct Fakes(Mutex<BTreeMap<PathBuf, Fake>>);

impl Fakes {
    fn snapshot(&self) -> Self {
        let all = self.0.lock().unwrap();
        Self(Mutex::new(
            all.iter().map(|(project, fake)| (project.clone(), fake.snapshot(Author::warp()))).collect(),
        ))
    }
}

impl Hosts for Fakes {
    fn of(&self, place: &Place) -> Option<Arc<dyn Hosting>> {
        let project = place.origin().unwrap_or(&place.root).to_owned();
        let mut all = self.0.lock().unwrap();
        Some(Arc::new(all.entry(project).or_insert_with(|| Fake::new(Author::warp())).clone()))
    }

    fn about(&self, _: &Place) -> Option<String> {
        None
    }
}

/// A home with projects.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) home: PathBuf,
    pub(crate) dirs: Dirs,
    fakes: Option<Arc<Fakes>>,
    pub(crate) task: String,
}

impl World {
    /// Returns the home of a sandbox, or of this process if it is in one.
    pub(crate) fn new(home: &Path, behind: Behind, task: &str) -> Self {
        let home = home.canonicalize().unwrap();
        let mut dirs = Dirs::new(home.join("state/warp"), home.join("config/warp"));
        if behind != Behind::Files {
            dirs.stores = Stores::in_memory();
        }
        let fakes = (behind == Behind::Fake).then(Arc::<Fakes>::default);
        dirs.hosts = fakes.clone().map(|fakes| fakes as _);
        Self { home, dirs, fakes, task: task.to_owned() }
    }

    /// Returns what a crash at this moment leaves that is not in files, and a time at which leases have run out.
    pub(crate) fn crashed(&self) -> Dirs {
        let hosts = self.fakes.as_ref().map(|fakes| Arc::new(fakes.snapshot()) as _);
        Dirs { stores: self.dirs.stores.snapshot(), hosts, ..self.dirs.clone() }.with_clock(later())
    }

    /// Returns the home of this process; none outside of a sandbox.
    pub(crate) fn inside() -> Option<Self> {
        let name = env::var(BEHIND).ok()?;
        let behind = Behind::ALL.into_iter().find(|behind| format!("{behind:?}") == name).unwrap();
        let home = PathBuf::from(env::var_os("HOME").unwrap());
        Some(Self::new(&home, behind, &env::var(TASK).unwrap()))
    }

    /// Returns the sandbox's project.
    pub(crate) fn root(&self) -> PathBuf {
        self.home.join("demo")
    }

    pub(crate) fn workspace(&self, root: &Path) -> Workspace {
        Workspace::open(Place::at(root).unwrap(), self.dirs.clone()).unwrap()
    }

    /// Files approved issues from 1 on: each wants a word in a file of its own.
    pub(crate) fn file_issues(&self, root: &Path, count: u64) {
        let mut workspace = self.workspace(root);
        workspace.ensure_store().unwrap();
        let tracker = workspace.tracker_as(Author::person("Ann"));
        for issue in 1..=count {
            let body = format!("- [ ] the word word{issue} is in file{issue}.txt\n");
            let filed = tracker.file(&NewItem::of(format!("Word {issue}"), body, Default::default()), None);
            tracker.approve(filed.unwrap().id).unwrap();
        }
    }
}

/// Returns a clock on which more time has passed than a lease holds.
pub(crate) fn later() -> Clock {
    let clock = Clock::simulated();
    clock.pause(HOLDS * 2);
    clock
}

/// Makes a project on `main` whose tests pass.
pub(crate) fn project(settings: &str) -> Sandbox {
    let sandbox = Sandbox::new("warp");
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("test.sh", "true\n");
    sandbox.write("warp.toml", format!("[workflow]\ntest_command = \"sh test.sh\"\n{settings}"));
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: tests"]);
    sandbox
}

/// Does a task of a test in another process, which has the sandbox's home; tells whether it succeeded, and what it printed.
pub(crate) fn start(sandbox: &Sandbox, test: &str, behind: Behind, task: &str) -> (bool, String) {
    let mut command = sandbox.command(env::current_exe().unwrap());
    command.env(BEHIND, format!("{behind:?}")).env(TASK, task);
    command.args(["--exact", test, "--nocapture"]).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    (output.status.success() && text.contains("1 passed"), text)
}

/// Does the same, and expects success.
pub(crate) fn start_ok(sandbox: &Sandbox, test: &str, behind: Behind, task: &str) -> String {
    let (is_whole, text) = start(sandbox, test, behind, task);
    assert!(is_whole, "{behind:?}: {text}");
    text
}

/// Does something in a sandbox of its own with each thing that may be behind the ports.
pub(crate) fn with_each(test: &str, sandbox: impl Fn() -> Sandbox, inside: impl FnOnce(World)) {
    match World::inside() {
        Some(world) => inside(world),
        None => Behind::ALL.into_iter().for_each(|behind| drop(start_ok(&sandbox(), test, behind, ""))),
    }
}

/// Nobody looks on.
pub(crate) struct Nobody;

impl Show for Nobody {
    fn show(&mut self, _shown: Shown<'_>) {}

    fn reply(&mut self, _asked: &Asked) -> Option<driver::Reply> {
        None
    }

    fn is_attended(&self) -> bool {
        false
    }
}

/// Returns what a person asks for who wants one issue done.
pub(crate) fn once(issue: u64, level: u64) -> Options {
    Options { issue: Some(issue.to_string()), level: Some(level), after: After::Once, ..Options::default() }
}

/// Drives a run as far as it goes.
pub(crate) fn drive(
    place: &Place,
    dirs: &Dirs,
    options: Options,
    agent: Arc<dyn Agent>,
    show: &mut dyn Show,
) -> Result<Finish, DriveError> {
    let mut driver = Driver::start_with(agent, place, dirs, options, Interrupts::default(), show).unwrap();
    let finish = driver.drive()?;
    driver.finish()?;
    Ok(finish)
}

pub(crate) fn player(script: &str) -> Player {
    Player::new(Script::parse(script).unwrap(), Box::new(|_, _| Reply::default()))
}

/// Returns the turn of an agent that does an issue.
pub(crate) fn turn(issue: u64) -> String {
    format!(
        "[[turn]]\nphase = \"coding\"\nissue = {issue}\nsteps = [{{ write = \"file{issue}.txt\", text = \"word{issue}\\n\" }}]\n\
         answer = {{ summary = \"done\", evidence = [{{ ac = \"AC-01\", file = \"file{issue}.txt\", line = 1 }}] }}\n"
    )
}

/// An agent whose provider lets nobody in before a time.
pub(crate) struct Limited {
    pub(crate) clock: Clock,
    pub(crate) resets_at: Time,
    /// How often somebody was not let in.
    pub(crate) refused: Arc<AtomicUsize>,
    /// How many timers of the clock were due before somebody was let in.
    pub(crate) timers: Arc<OnceLock<u64>>,
    pub(crate) player: Player,
}

impl Agent for Limited {
    fn name(&self) -> &'static str {
        "limited"
    }

    fn provider(&self) -> &'static str {
        "anthropic"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn run(&self, turn: &Turn<'_>, watch: &mut dyn FnMut(AgentUpdate) -> Control) -> TurnResult {
        if self.clock.now() >= self.resets_at {
            self.timers.get_or_init(|| self.clock.wakeups());
            return self.player.run(turn, watch);
        }
        self.refused.fetch_add(1, Ordering::Relaxed);
        let limit =
            ProviderFailure::Limit { resets_at: Some(self.resets_at), words: "come back later".to_owned() };
        TurnResult {
            answer: Err(limit.into()),
            session: None,
            usage: Usage::default(),
            context: 0,
            cost_usd: None,
            last_words: String::new(),
        }
    }
}

pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(directory).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}
