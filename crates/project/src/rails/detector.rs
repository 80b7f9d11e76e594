//! Seeing a move that nobody gave permission for, and putting it back.
//!
//! Git's hooks can be got round (`-c core.hooksPath=`, a file written by hand), so refs are compared after every tool
//! call. In a workspace of the run's own everything goes back: the commits are kept as salvage, and the files stay as
//! they are, so that no byte is lost. In a person's checkout nothing is moved, for it may have been that person: the
//! run waits, and they are asked.

use adapters::{
    git::{Location, mend, salvage},
    refs::{self, HeadAt, Refs, is_object},
};
use engine::{Breach, Event, Run, view::Permission};
use serde_json::Map;

use super::{Known, KnownError, Moved, backstop, known::Hold};
use crate::{Answer, AskError, Dirs, Error, Place, Workspace, spelled};

/// The most commits that one tool call makes with leave.
const MOST_COMMITS: usize = 50;
/// The most moves that are told one by one.
const MOST_TOLD: usize = 20;

/// A commit that was made with leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    pub hash: String,
}

/// What was moved without permission.
#[derive(Debug)]
pub struct Broken {
    pub what: String,
    /// The refs under which the commits concerned are kept.
    pub kept: Vec<String>,
    pub breach: Breach,
    /// The event as it was taken.
    pub answer: Answer,
}

/// After whose tool call the refs are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looker {
    Owner,
    Other,
}

/// What a look at the refs found.
#[derive(Debug, Default)]
pub struct After {
    /// Commits with leave that the run was not told of yet, oldest first.
    pub commits: Vec<Committed>,
    pub broken: Option<Broken>,
    /// What else moved, and is in order.
    pub notes: Vec<String>,
}

/// Why the refs could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    #[error(transparent)]
    Known(#[from] KnownError),
    #[error(transparent)]
    Git(#[from] refs::GitError),
    #[error(transparent)]
    Workspace(#[from] Error),
    #[error("what was moved without permission could not be recorded")]
    Record(#[source] AskError),
}

/// Moves, sorted by whether they are in order.
#[derive(Default)]
struct Sorted {
    commits: Vec<String>,
    notes: Vec<String>,
    wrong: Vec<Moved>,
    /// Stashes that are gone, and nobody can tell by whose hand.
    dropped: Vec<String>,
    made: Vec<String>,
}

/// Looks at the refs after a tool call: tells of commits with leave, and sees to whatever was moved without.
pub fn after_tool(workspace: &mut Workspace) -> Result<After, DetectError> {
    look(workspace, Looker::Owner)
}

/// Looks at the refs after a tool call of a session that does not carry the run on.
///
/// What was moved without permission is seen to; commits with leave stay untold until the owner looks.
pub fn after_others_tool(workspace: &mut Workspace) -> Result<After, DetectError> {
    look(workspace, Looker::Other)
}

fn look(workspace: &mut Workspace, looker: Looker) -> Result<After, DetectError> {
    let place = workspace.place.clone();
    let Some(location) = place.location() else { return Ok(After::default()) };
    let _hold = Hold::take(&place.own)?;
    // Nothing is announced while this is held, so it does not matter in which order refs and what is known are read.
    let now = refs::read(&location).map_err(KnownError::Refs)?;
    let known = match Known::load(&place.own) {
        Ok(Some(known)) if known.compare(&now).is_empty() && known.commits.is_empty() => {
            return Ok(After::default());
        }
        Ok(known) => known,
        Err(KnownError::NotKnown { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let Some(current) = workspace.current()? else { return Ok(After::default()) };
    let run = current.run.clone();
    let Some(mut known) = known else {
        let what = "the list of refs that is kept beside the run was taken away".to_owned();
        let breach = if run.owns_workspace { Breach::Stands } else { Breach::Doubtful };
        let broken = record(workspace, what, Vec::new(), breach)?;
        Known::now(&location, backstop::guard_in_force(&place))?.store(&place.own)?;
        return Ok(After { broken: Some(broken), ..After::default() });
    };
    let has_leave = run.permission(&current.workflow, "git_commit") == Permission::Allowed;
    let sorted = sort(&location, &known, &now, &run, has_leave)?;
    let mut after = After::default();
    let told = |hash: &String| !run.commit_hashes.contains(hash);
    let commits = known.commits.iter().chain(&sorted.commits).filter(|hash| told(hash));
    for hash in commits {
        let committed = Committed { hash: hash.clone() };
        if !after.commits.contains(&committed) {
            after.commits.push(committed);
        }
    }
    after.notes = sorted.notes;
    let floor = match sorted.dropped.is_empty() {
        true => 0,
        false => super::vault::highest(&place, &workspace.dirs, run.id.as_str())?,
    };
    for commit in &sorted.dropped {
        let kept = salvage::keep_from(&location, run.id.as_str(), commit, floor)?;
        let kept = kept.map(|kept| format!("; it is kept as {kept}")).unwrap_or_default();
        after.notes.push(format!("stash {} was dropped{kept}", refs::short(commit)));
    }
    known.made.extend(sorted.made);
    known.commits.clear();
    if looker == Looker::Other {
        known.commits.extend(after.commits.drain(..).map(|commit| commit.hash));
    }
    if sorted.wrong.is_empty() {
        known.refs = now;
    } else if !run.owns_workspace && was_unguarded(&known) {
        // Without git's hook a person's own move cannot be told from the agent's, and a person is not disturbed.
        let moves = sorted
            .wrong
            .iter()
            .map(|moved| format!("{moved}; the git backstop is not installed, so nobody knows by whom"));
        after.notes.extend(moves);
        known.refs = now;
    } else {
        after.broken = Some(mend(workspace, &location, &known, &sorted.wrong, &run)?);
        known.refs = refs::read(&location).map_err(KnownError::Refs)?;
    }
    known.store(&place.own)?;
    Ok(after)
}

/// Tells whether git's hook was not in force when the run began.
fn was_unguarded(known: &Known) -> bool {
    known.guard.is_none()
}

fn sort(
    location: &Location,
    known: &Known,
    now: &Refs,
    run: &Run,
    has_leave: bool,
) -> Result<Sorted, DetectError> {
    let mut sorted = Sorted::default();
    let moves = known.compare(now);
    let base = known.refs.head_commit();
    // The branch on which the agent may commit: the one it was on, or one that it made where it was.
    let own_branch = match (&known.refs.head, &now.head) {
        (HeadAt::Branch(was), HeadAt::Branch(is)) if was == is => Some(is),
        (_, HeadAt::Branch(is)) if known.made.contains(is) || !known.refs.refs.contains_key(is) => Some(is),
        _ => None,
    };
    let line = match own_branch.and_then(|branch| now.refs.get(branch)).filter(|tip| is_object(tip)) {
        Some(tip) => mend::straight_line(location, base, tip, MOST_COMMITS).unwrap_or_default(),
        None => None,
    };
    let in_order = line.as_ref().is_some_and(|line| line.is_empty() || has_leave);
    for moved in moves {
        match &moved {
            Moved::Head { to: HeadAt::Branch(to), .. } if Some(to) == own_branch && in_order => {
                sorted.notes.push(moved.to_string());
            }
            Moved::Ref { name, to: Some(_), from } if Some(name) == own_branch && in_order => {
                if from.is_none() {
                    sorted.made.push(name.clone());
                }
                sorted.notes.push(moved.to_string());
            }
            Moved::Ref { name, from: None, to: Some(_) } if is_kind_agents_make(name) => {
                // What was committed there without leave must not stay on a branch: it would be built on.
                let has_commits = Some(name) == own_branch;
                if has_commits {
                    sorted.wrong.push(moved);
                } else {
                    sorted.made.push(name.clone());
                    sorted.notes.push(moved.to_string());
                }
            }
            Moved::StashMade { .. } => sorted.notes.push(moved.to_string()),
            // Git tells no hook that a stash is dropped, so in a person's checkout it may well have been the person.
            Moved::StashDropped { commit } if !run.owns_workspace => sorted.dropped.push(commit.clone()),
            Moved::Head { .. } | Moved::Ref { .. } | Moved::StashDropped { .. } => sorted.wrong.push(moved),
        }
    }
    if in_order {
        sorted.commits = line.unwrap_or_default();
    }
    Ok(sorted)
}

fn is_kind_agents_make(name: &str) -> bool {
    name.starts_with("refs/heads/") || name.starts_with("refs/tags/")
}

/// Keeps what moved, puts it back where that may be done, and records it.
fn mend(
    workspace: &mut Workspace,
    location: &Location,
    known: &Known,
    wrong: &[Moved],
    run: &Run,
) -> Result<Broken, DetectError> {
    let (place, id) = (workspace.place.clone(), run.id.as_str());
    let mut kept = Vec::new();
    let mut problems = Vec::new();
    let floor = super::vault::highest(&place, &workspace.dirs, id)?;
    let mut keep = |object: &Option<String>, problems: &mut Vec<String>| {
        let Some(object) = object.as_deref().filter(|object| is_object(object)) else { return };
        match salvage::keep_from(location, id, object, floor) {
            Ok(Some(name)) if !kept.contains(&name) => kept.push(name),
            Ok(_) => {}
            Err(error) => problems.push(format!("{} could not be kept: {error}", refs::short(object))),
        }
    };
    for moved in wrong {
        match moved {
            Moved::Ref { from, to, .. } => {
                keep(to, &mut problems);
                // Where it is not put back, what it was is what might be lost.
                if !run.owns_workspace {
                    keep(from, &mut problems);
                }
            }
            Moved::Head { to: HeadAt::Commit(commit), .. } => keep(&Some(commit.clone()), &mut problems),
            Moved::StashDropped { commit } => keep(&Some(commit.clone()), &mut problems),
            Moved::Head { .. } | Moved::StashMade { .. } => {}
        }
    }
    if run.owns_workspace && problems.is_empty() {
        problems.extend(restore(&place, &workspace.dirs, location, known, wrong, id, &mut kept).err());
    }
    let breach = match run.owns_workspace {
        true if problems.is_empty() => Breach::Undone,
        true => Breach::Stands,
        false => Breach::Doubtful,
    };
    let what = [list(wrong)].into_iter().chain(problems).collect::<Vec<_>>().join("; ");
    record(workspace, what, kept, breach)
}

/// Lists moves in one line.
pub(super) fn list(moves: &[Moved]) -> String {
    let told: Vec<String> = moves.iter().take(MOST_TOLD).map(ToString::to_string).collect();
    let more = moves.len().saturating_sub(MOST_TOLD);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{}{more}", told.join("; "))
}

fn record(
    workspace: &mut Workspace,
    what: String,
    kept: Vec<String>,
    breach: Breach,
) -> Result<Broken, DetectError> {
    let shown = (!kept.is_empty()).then(|| kept.join(" "));
    let event = Event::RailBroken { what: what.clone(), kept: shown, breach };
    let answer = workspace.ask(event, Map::new()).map_err(DetectError::Record)?;
    Ok(Broken { what, kept, breach, answer })
}

/// Puts everything back; says what could not be.
fn restore(
    place: &Place,
    dirs: &Dirs,
    location: &Location,
    known: &Known,
    wrong: &[Moved],
    run: &str,
    kept: &mut Vec<String>,
) -> Result<(), String> {
    let root = place.root.as_path();
    let aside = place.own.join("set-aside");
    let head = wrong.iter().find_map(|moved| match moved {
        Moved::Head { to, .. } => Some(to),
        Moved::Ref { .. } | Moved::StashDropped { .. } | Moved::StashMade { .. } => None,
    });
    if head == Some(&HeadAt::Broken) {
        mend::put_head_back(root, location, &known.refs.head, &aside).map_err(|error| spelled(&error))?;
    }
    // What is staged lives in the index alone, which is about to be made anew.
    kept.extend(super::snapshot(place, dirs, run).map_err(|error| spelled(&error))?);
    // Branches first: HEAD can then go back to one that was deleted. The reverse order frees names that are in the way.
    for moved in wrong.iter().rev() {
        if let Moved::Ref { name, from, to } = moved {
            let back = mend::put_back(location, name, to.as_deref(), from.as_deref(), &aside);
            back.map_err(|error| format!("`{name}` could not be put back: {}", spelled(&error)))?;
        }
    }
    if let Some(to) = head {
        let then = &known.refs.head;
        let can_switch = holds_nothing_new(location, known, to).map_err(|error| spelled(&error))?;
        let is_back =
            can_switch && mend::switch_back(root, location, then).map_err(|error| spelled(&error))?;
        if !is_back {
            mend::put_head_back(root, location, then, &aside).map_err(|error| spelled(&error))?;
            mend::reset_index(root, location).map_err(|error| spelled(&error))?;
        }
    } else if wrong.iter().any(|moved| is_current(known, moved)) {
        mend::reset_index(root, location).map_err(|error| spelled(&error))?;
    }
    if wrong.iter().any(|moved| matches!(moved, Moved::StashDropped { .. })) {
        let back = mend::put_stashes_back(root, location, &known.refs.stashes);
        back.map_err(|error| spelled(&error))?;
    }
    Ok(())
}

/// Tells whether HEAD was only switched to something that was there before, so that the files can be switched back.
fn holds_nothing_new(location: &Location, known: &Known, to: &HeadAt) -> Result<bool, refs::GitError> {
    match to {
        HeadAt::Branch(name) => Ok(known.refs.refs.contains_key(name) && !known.made.contains(name)),
        HeadAt::Commit(commit) => {
            let tips: Vec<&str> =
                known.refs.refs.values().map(String::as_str).filter(|tip| is_object(tip)).collect();
            mend::is_in_history(location, commit, &tips)
        }
        HeadAt::Broken => Ok(false),
    }
}

fn is_current(known: &Known, moved: &Moved) -> bool {
    matches!((&known.refs.head, moved), (HeadAt::Branch(branch), Moved::Ref { name, .. }) if branch == name)
}
