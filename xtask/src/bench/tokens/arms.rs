//! The ways in which the same issue is put to the same client.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Duration,
};

use testkit::{
    Sandbox,
    agents::{Claude, Ended, Running},
    model::{Model, Sent},
};

use super::worker;
use crate::run::Result;

/// How long an arm may take. Nine criteria take half a minute; machines are shared.
const PATIENCE: Duration = Duration::from_secs(600);
/// The number of the issue.
const ISSUE: &str = "1";

/// A way in which an issue is worked on.
pub(super) struct Arm {
    pub(super) name: &'static str,
    /// What it may cost against the client alone, by the number of criteria.
    pub(super) aim: fn(usize) -> Option<f64>,
    run: fn(&Project<'_>) -> Result,
    /// Where the work lies at the end.
    lies: Lies,
}

enum Lies {
    InTree,
    InMain,
}

pub(super) const ARMS: [Arm; 4] = [
    Arm { name: "claude -p", aim: |_| None, run: plain, lies: Lies::InTree },
    Arm { name: "a while loop", aim: |_| None, run: repeated, lies: Lies::InTree },
    Arm {
        name: "headless, by warp",
        aim: |criteria| Some(if criteria < 9 { 1.05 } else { 0.8 }),
        run: headless,
        lies: Lies::InMain,
    },
    Arm { name: "in the agent, with warp", aim: |_| Some(1.3), run: in_agent, lies: Lies::InMain },
];

/// A project with an issue, a client and its model.
struct Project<'a> {
    claude: &'a Claude,
    sandbox: Sandbox,
    model: Model,
    /// Where warp is.
    warp: PathBuf,
    criteria: usize,
}

impl Arm {
    /// Tells whether the others are measured against it.
    pub(super) fn is_plain(&self) -> bool {
        self.name == ARMS[0].name
    }

    /// Has the issue worked on; returns what the model was asked.
    pub(super) fn run(&self, claude: &Claude, warp: &Path, criteria: usize) -> Result<Vec<Sent>> {
        let project = Project::new(claude, warp, criteria)?;
        (self.run)(&project)?;
        project.check(&self.lies)?;
        let strays = project.model.strays();
        if !strays.is_empty() {
            return Err(format!("{} asked for what no model serves: {strays:?}", self.name));
        }
        Ok(project.model.sent())
    }
}

impl<'a> Project<'a> {
    fn new(claude: &'a Claude, warp: &Path, criteria: usize) -> Result<Self> {
        let sandbox = Sandbox::new(warp);
        sandbox.git(&["switch", "--quiet", "main"]);
        sandbox.write("Makefile", "test:\n\t@for file in src/*.sh; do sh $$file || exit 1; done\n");
        for criterion in 1..=criteria {
            sandbox.write(&worker::file(criterion), worker::before(criterion));
        }
        sandbox.git(&["add", "--all"]);
        sandbox.git(&["commit", "--quiet", "-m", "chore: begin the words"]);
        let root = sandbox.root().canonicalize().map_err(|error| error.to_string())?;
        let model = Model::start(worker::script(&root, criteria));
        Ok(Self { claude, sandbox, model, warp: warp.to_owned(), criteria })
    }

    /// Makes sure that the work is done.
    fn check(&self, lies: &Lies) -> Result {
        for criterion in 1..=self.criteria {
            let file = worker::file(criterion);
            let text = match lies {
                Lies::InTree => self.sandbox.read(&file).unwrap_or_default(),
                Lies::InMain => self.sandbox.git(&["show", &format!("main:{file}")]),
            };
            if !worker::is_done(criterion, &text) {
                return Err(format!("criterion {criterion} of {} is not met", self.criteria));
            }
        }
        Ok(())
    }
}

/// Makes sure that a program ended well.
fn ended_well(ended: &Ended) -> Result {
    if ended.code == Some(0) {
        return Ok(());
    }
    Err(format!("it ended with {:?}: {}{}", ended.code.or(ended.signal), ended.out, ended.err))
}

/// One prompt with the whole issue.
fn plain(project: &Project<'_>) -> Result {
    let prompt = format!(
        "{} in this repository. Run `make test` before you are done.\n\n{}",
        worker::PLAIN,
        worker::issue(project.criteria)
    );
    ended_well(&project.claude.launch(&project.sandbox, &project.model, &prompt).run())
}

/// A prompt for one criterion of a list, until all of them are ticked.
fn repeated(project: &Project<'_>) -> Result {
    project.sandbox.write(worker::LIST, worker::issue(project.criteria));
    let prompt = format!(
        "{} of `{}` in this repository. Run `make test`, then tick it. Stop after one.",
        worker::LOOP,
        worker::LIST
    );
    let is_open = || project.sandbox.read(worker::LIST).is_some_and(|list| list.contains("- [ ]"));
    for _ in 0..project.criteria {
        if is_open() {
            ended_well(&project.claude.launch(&project.sandbox, &project.model, &prompt).run())?;
        }
    }
    Ok(())
}

/// `warp run`, up to the merge.
fn headless(project: &Project<'_>) -> Result {
    let Project { sandbox, model, .. } = project;
    sandbox.issue(1, &worker::issue(project.criteria));
    let bin = sandbox.home().join("bin");
    fs::create_dir_all(&bin)
        .and_then(|()| symlink(project.claude.program(), bin.join("claude")))
        .map_err(|error| format!("{}: {error}", bin.display()))?;
    let inherited = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([bin].into_iter().chain(env::split_paths(&inherited)))
        .map_err(|error| error.to_string())?;
    let mut command = sandbox.warp_command(&["run", ISSUE, "--level", "3"]);
    command.env("PATH", path).env("ANTHROPIC_BASE_URL", model.url()).env("ANTHROPIC_API_KEY", "dummy");
    let mut running = Running::start(command, PATIENCE).map_err(|error| error.to_string())?;
    ended_well(&running.wait())
}

/// A client that drives the run itself, in a project that is set up for it.
fn in_agent(project: &Project<'_>) -> Result {
    let Project { claude, sandbox, model, warp, .. } = project;
    sandbox.issue(1, &worker::issue(project.criteria));
    sandbox.warp_ok(&["config", "automation.active_level=3"]);
    sandbox.warp_ok(&["config", "push=never"]);
    sandbox.warp_ok(&["init", "--level", "3"]);
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: set up warp"]);
    Claude::trust(sandbox);
    let home = |name: &str| sandbox.home().join(name);
    let launch = claude
        .launch(sandbox, model, &format!("{} {ISSUE}", worker::COMMAND))
        .path_first(warp.parent().map(Path::to_owned).unwrap_or_default())
        .env("XDG_STATE_HOME", home("state"))
        .env("XDG_CONFIG_HOME", home("config"))
        .env("WARP_TEST_PROOF", "false")
        .patience(PATIENCE);
    ended_well(&launch.run())
}
