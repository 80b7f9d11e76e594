//! What git's hooks are answered.
//!
//! Whoever runs git is told by descent: a process that was started by the agent of a run, or by something that was,
//! is the agent's. The marks of an agent in the environment count for the run of the workspace in which git runs, and
//! for no other: a second agent, in a working tree without a run, is nobody's concern. Anybody else is a person, who
//! is never refused and whose moves are written down as in order. What cannot be read refuses the agent and lets a
//! person pass.

pub mod message;
mod transaction;

use std::{
    env,
    path::{Path, PathBuf},
};

use adapters::{
    git::{self, Location},
    machine,
};
use engine::{
    Owner,
    view::{Head, Permission},
};

use super::{known, workspaces};
use crate::{Dirs, Place, Workspace, actor::looks_like_an_agent, spelled, text};

/// The largest head that is read, in bytes.
const LARGEST_HEAD: u64 = 64 * 1024;

/// The longest id of a project, in bytes.
const LONGEST_ID: u64 = 1024;

/// What git is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// With the reason, in words for whoever ran git.
    Refuse(String),
}

/// Who runs git.
enum Who {
    /// Nobody who has to be looked at: there is no run.
    NoRun,
    Person,
    Agent(Agent),
}

/// An agent, by its run.
struct Agent {
    run: String,
    /// The own directory of the run's workspace.
    own: PathBuf,
}

/// A run that may be open here.
struct Found {
    run: String,
    owner: Owner,
    owns_workspace: bool,
    own: PathBuf,
}

/// Where git was run.
struct Here {
    location: Location,
}

/// Answers one of git's hooks. `input` is what git wrote to it, for the hooks that get something.
pub fn answer(hook: &str, arguments: &[&str], input: &[u8]) -> Verdict {
    let Some(here) = Here::find() else { return Verdict::Pass };
    let who = match here.who() {
        Ok(who) => who,
        Err(problem) if looks_like_an_agent() => return unreadable(&problem),
        Err(_) => Who::Person,
    };
    match (hook, who) {
        (_, Who::NoRun) => Verdict::Pass,
        ("reference-transaction", Who::Person) => {
            transaction::note(&here, None, arguments, input);
            Verdict::Pass
        }
        ("post-checkout", Who::Person) => {
            transaction::note_head(&here);
            Verdict::Pass
        }
        (_, Who::Person) => Verdict::Pass,
        ("reference-transaction", Who::Agent(agent)) => transaction::judge(&here, &agent, arguments, input),
        ("pre-push", Who::Agent(_)) => refuse(
            "an agent does not push; warp pushes when the phase comes. `warp explain` says what is to be done now",
        ),
        ("pre-commit" | "pre-merge-commit", Who::Agent(agent)) => match here.leave(&agent) {
            Ok(()) => Verdict::Pass,
            Err(reason) => refuse(&reason),
        },
        ("commit-msg", Who::Agent(_)) => message::judge(arguments),
        ("pre-rebase", Who::Agent(_)) => refuse("an agent does not rewrite history"),
        (_, Who::Agent(_)) => Verdict::Pass,
    }
}

fn refuse(reason: &str) -> Verdict {
    Verdict::Refuse(format!("warp: {reason}"))
}

fn unreadable(problem: &str) -> Verdict {
    refuse(&format!("it cannot be told what the phase allows ({problem}); `warp doctor` says what is wrong"))
}

impl Here {
    /// Finds the repository in which git runs: git says so itself, or it is around the current directory.
    fn find() -> Option<Self> {
        let here = env::current_dir().ok()?;
        if let Some(git_dir) = env::var_os("GIT_DIR") {
            let git_dir = here.join(git_dir).canonicalize().ok()?;
            let common = text::read(&git_dir.join("commondir"), 4096).ok();
            let common_dir = match common {
                Some(common) => git_dir.join(common.trim()).canonicalize().ok()?,
                None => git_dir.clone(),
            };
            return Some(Self { location: Location { git_dir, common_dir } });
        }
        let root = here.ancestors().find(|path| path.join(".git").exists())?;
        let location = git::locate(root)?;
        let real = |path: &Path| path.canonicalize().ok();
        Some(Self {
            location: Location { git_dir: real(&location.git_dir)?, common_dir: real(&location.common_dir)? },
        })
    }

    /// Tells who runs git, as far as the runs of this repository are concerned.
    fn who(&self) -> Result<Who, String> {
        let shared = self.location.common_dir.join("warp");
        if !shared.join("project-id").exists() && !shared.join("head").exists() {
            return Ok(Who::NoRun);
        }
        let here = self.location.git_dir.join("warp");
        let mut found = Vec::new();
        let mut unsure = Vec::new();
        for own in workspaces(&self.location) {
            match text::read(&own.join("head"), LARGEST_HEAD).ok().as_deref().and_then(Head::parse) {
                Some(head) => found.push(Found {
                    run: head.run,
                    owner: head.owner,
                    owns_workspace: head.owns_workspace,
                    own,
                }),
                // No head, but known refs: a run may be open whose head is just being written.
                None if known::file(&own).exists() || (own == here && looks_like_an_agent()) => {
                    unsure.push(own);
                }
                None => {}
            }
        }
        for own in unsure {
            match run_in_store(&own) {
                Ok(run) => found.extend(run),
                Err(problem) if own == here => return Err(problem),
                // Another workspace's trouble is seen to there.
                Err(_) => {}
            }
        }
        // What was cut off from its parents may be anybody's; in a workspace of the run's own it is the agent's. In a person's
        // checkout it may be their editor, and they commit there at any time.
        let is_its = |found: &&Found| {
            let owner = &found.owner;
            let is_stray = || found.owns_workspace && machine::is_cut_off_from(owner);
            owner.session.is_some() && (machine::descends_from(owner) || is_stray())
        };
        let slots = self.runs_in_slots();
        let by_descent =
            found.iter().find(is_its).or_else(|| slots.iter().find(|run| machine::descends_from(&run.owner)));
        let by_looks = || found.iter().find(|found| found.own == here).filter(|_| looks_like_an_agent());
        Ok(match by_descent.or_else(by_looks) {
            Some(found) => Who::Agent(Agent { run: found.run.clone(), own: found.own.clone() }),
            None if found.is_empty() && slots.is_empty() => Who::NoRun,
            None => Who::Person,
        })
    }

    /// Returns the runs that warp drives in repositories of their own: their agents have no business in this one. Only what
    /// they have started counts here; a person may do what they like meanwhile.
    fn runs_in_slots(&self) -> Vec<Found> {
        let id = text::read(&self.location.common_dir.join("warp/project-id"), LONGEST_ID).ok();
        let (Some(id), Ok(dirs)) = (id, Dirs::from_environment()) else { return Vec::new() };
        let slots = dirs.project(id.trim()).join("slots");
        if self.location.git_dir.starts_with(&slots) {
            return Vec::new();
        }
        let entries = std::fs::read_dir(&slots).into_iter().flatten().flatten();
        let read = |slot: PathBuf| {
            let marker = git::slot::marker(&slot.join(git::slot::TREE))?;
            let own = marker.location.git_dir.join("warp");
            let head = Head::parse(&text::read(&own.join("head"), LARGEST_HEAD).ok()?)?;
            let driven = Found { run: head.run, owner: head.owner, owns_workspace: true, own };
            (marker.kind == git::slot::Kind::Clone && driven.owner.session.is_some()).then_some(driven)
        };
        entries.filter_map(|entry| read(entry.path())).collect()
    }

    /// Tells whether the agent may commit; if not, why.
    fn leave(&self, agent: &Agent) -> Result<(), String> {
        if !self.is_of(agent) {
            return Err("the run has another workspace; commits are made there".to_owned());
        }
        let read = || -> Result<Permission, String> {
            let root = root_of(&agent.own).ok_or("its workspace cannot be found")?;
            let mut workspace = open(&root)?;
            let current = workspace.select(Some(&agent.run)).map_err(|error| spelled(&error))?;
            let current = current.ok_or("the journal does not know the run")?;
            Ok(current.run.permission(&current.workflow, "git_commit"))
        };
        match read() {
            Ok(Permission::Allowed) => Ok(()),
            Ok(Permission::Denied(reason)) => {
                Err(format!("{reason}. The work stays in the tree; `warp explain` says what ends this phase"))
            }
            Err(problem) => Err(format!(
                "it cannot be told what the phase allows ({problem}); `warp doctor` says what is wrong"
            )),
        }
    }

    /// Tells whether git runs in the workspace of the agent's run.
    fn is_of(&self, agent: &Agent) -> bool {
        self.location.git_dir.join("warp") == agent.own
    }
}

/// Asks the store for the run of a workspace that has no head.
fn run_in_store(own: &Path) -> Result<Option<Found>, String> {
    let Some(root) = root_of(own).filter(|root| root.is_dir()) else { return Ok(None) };
    let mut workspace = open(&root)?;
    let current = workspace.current().map_err(|error| spelled(&error))?;
    let Some(current) = current else {
        // No run is open, so nobody needs to know; the next one takes the refs as they are then.
        let _ = std::fs::remove_file(known::file(own));
        return Ok(None);
    };
    let run = current.run;
    let owns_workspace = run.owns_workspace;
    Ok(Some(Found { run: run.id.to_string(), owner: run.owner.clone(), owns_workspace, own: own.to_owned() }))
}

fn open(root: &Path) -> Result<Workspace, String> {
    let place = Place::at(root).map_err(|error| spelled(&error))?;
    let dirs = Dirs::from_environment().map_err(|error| spelled(&error))?;
    let workspace = Workspace::open(place, dirs).map_err(|error| spelled(&error))?;
    if !workspace.has_store() {
        return Err("the journal is not where it should be".to_owned());
    }
    Ok(workspace)
}

/// Returns the working tree whose own directory this is.
fn root_of(own: &Path) -> Option<PathBuf> {
    let git_dir = own.parent()?;
    // A linked working tree's directory says where its link is.
    if let Ok(link) = text::read(&git_dir.join("gitdir"), 64 * 1024) {
        return git_dir.join(link.trim()).parent().map(Path::to_owned);
    }
    let root = git_dir.parent()?;
    let tree = root.join(git::slot::TREE);
    let root = if git::slot::marker(&tree).is_some() { tree.as_path() } else { root };
    let is_its = git::locate(root).is_some_and(|location| location.git_dir.join("warp") == own);
    is_its.then(|| root.to_owned())
}
