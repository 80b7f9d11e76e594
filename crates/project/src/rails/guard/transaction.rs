//! `reference-transaction`: every move of a ref that git is about to make, or has made.

use std::path::PathBuf;

use adapters::{
    git::{Location, mend},
    refs::{self, HeadAt, ReadError, Refs, STASH, is_free, is_object},
};

use super::{Agent, Here, Verdict, refuse};
use crate::{
    rails::{Known, known, outside, watched, workspaces},
    spelled,
};

/// The most moves that one transaction of an agent may have.
const MOST: usize = 10_000;
/// From how many lines on all refs are read at once: one at a time, each would read the file of packed refs anew.
const MANY: usize = 8;

/// One line of a transaction.
#[derive(Clone, Debug)]
struct Line {
    /// What the ref is to be: an object, `ref:NAME`, or zeros for nothing.
    old: String,
    new: String,
    name: String,
}

impl Line {
    fn deletes(&self) -> bool {
        is_object(&self.new) && self.new.bytes().all(|byte| byte == b'0')
    }

    /// Tells whether git itself says that nothing moves.
    fn is_idle(&self) -> bool {
        self.old == self.new && !self.deletes()
    }
}

/// What refs are at this moment.
struct Values<'a> {
    location: &'a Location,
    all: Option<Refs>,
}

impl<'a> Values<'a> {
    /// Gets ready for as many questions as there are lines.
    fn of(location: &'a Location, lines: usize) -> Result<Self, ReadError> {
        let all = if lines >= MANY { Some(refs::read(location)?) } else { None };
        Ok(Self { location, all })
    }

    fn one(&self, name: &str) -> Result<Option<String>, ReadError> {
        match &self.all {
            Some(all) if name != STASH && !is_free(name) => Ok(all.refs.get(name).cloned()),
            Some(_) | None => refs::one(self.location, name),
        }
    }
}

fn parse(input: &[u8]) -> Vec<Line> {
    let text = String::from_utf8_lossy(input);
    let read = |line: &str| {
        let mut words = line.splitn(3, ' ').map(str::to_owned);
        Some(Line { old: words.next()?, new: words.next()?, name: words.next()? })
    };
    text.lines().filter_map(read).collect()
}

/// Writes down a move that is in order. A failure to do so disturbs nobody.
pub(super) fn note(here: &Here, agent: Option<&Agent>, arguments: &[&str], input: &[u8]) {
    let counts = |line: &Line| (line.name == "HEAD" || !is_free(&line.name)) && !line.is_idle();
    let lines: Vec<Line> = parse(input).into_iter().filter(counts).collect();
    let Some(state) = arguments.first().filter(|_| !lines.is_empty()) else { return };
    if agent.is_none() && matches!(lines.as_slice(), [line] if prunes(&here.location, line, state)) {
        return;
    }
    let Ok(values) = Values::of(&here.location, lines.len()) else { return };
    let heads = here.heads();
    for own in watched(&here.location) {
        let is_here = heads.contains(&own);
        let is_its = agent.is_some_and(|agent| agent.own == own);
        let change = |known: &mut Known| {
            for line in lines.iter().filter(|line| is_here || line.name != "HEAD") {
                match *state {
                    "prepared" if agent.is_some() && !moves(here, &values, line) => {}
                    "prepared" => announce(known, line),
                    "committed" => confirm(here, &values, known, line, agent, is_its),
                    _ => known.withdraw(&line.name),
                }
            }
        };
        // There is nobody to complain to: git goes on, and at worst the move looks like nobody's.
        let _ = known::change(&own, change);
    }
}

impl Here {
    /// Returns the directories in which the HEAD of this working tree is known; a HEAD is one workspace's own.
    fn heads(&self) -> Vec<PathBuf> {
        let mut all = vec![self.location.git_dir.join("warp")];
        all.extend(outside::notes(&self.location.git_dir));
        all
    }
}

/// Tells whether git only takes away the file of a ref that it has packed. To delete a ref, it locks the pack first.
fn prunes(location: &Location, line: &Line, state: &str) -> bool {
    let is_locked = || location.common_dir.join("packed-refs.lock").exists();
    let is_packed = || matches!(refs::packed(location, &line.name), Ok(Some(value)) if value == line.old);
    line.deletes() && (state == "committed" || (state == "prepared" && !is_locked())) && is_packed()
}

/// Writes down where HEAD is.
pub(super) fn note_head(here: &Here) {
    if let Ok(head) = refs::head(&here.location) {
        // There is nobody to complain to.
        for own in here.heads() {
            let _ = known::change(&own, |known| known.confirm_head(head.clone()));
        }
    }
}

/// Tells whether a line of an agent's moves anything. An announcement of what is so already would only serve to excuse
/// an earlier move; and of an agent's deletions only those pass that delete nothing.
fn moves(here: &Here, values: &Values<'_>, line: &Line) -> bool {
    let now = match line.name.as_str() {
        "HEAD" => refs::head(&here.location).map(|head| known::head_value(&head)),
        name => values.one(name),
    };
    !line.deletes() && now.is_ok_and(|now| now.as_deref() != Some(line.new.as_str()))
}

fn announce(known: &mut Known, line: &Line) {
    if line.name == STASH {
        return;
    }
    match line.new.strip_prefix("ref:").filter(|_| line.name != "HEAD") {
        Some(target) => known.announce(&line.name, &format!("ref: {target}")),
        None if line.deletes() => known.announce(&line.name, "-"),
        None => known.announce(&line.name, &line.new),
    }
}

fn confirm(
    here: &Here,
    values: &Values<'_>,
    known: &mut Known,
    line: &Line,
    agent: Option<&Agent>,
    is_its: bool,
) {
    // The line is not believed. What packing removes from its own file is still there in the other; and an agent may
    // call this by hand, so of its moves only those count that were judged before.
    let counts =
        |known: &Known, value: Option<&str>| agent.is_none() || known.is_announced(&line.name, value);
    match line.name.as_str() {
        "HEAD" => {
            if let Ok(head) = refs::head(&here.location)
                && counts(known, known::head_value(&head).as_deref())
            {
                known.confirm_head(head);
            }
        }
        // What is missing from the stash is looked at when the refs are compared.
        STASH if agent.is_some() => {}
        STASH => {
            if let Ok(stashes) = refs::stashes(&here.location) {
                known.refs.stashes = stashes;
            }
        }
        name => {
            let Ok(value) = values.one(name) else { return };
            if !counts(known, Some(value.as_deref().unwrap_or("-"))) {
                return known.withdraw(name);
            }
            let is_current = matches!(&known.refs.head, HeadAt::Branch(branch) if branch == name);
            let before = known.refs.refs.get(name).cloned();
            if let Some(value) = value.as_ref().filter(|value| is_its && before.as_ref() != Some(value)) {
                if is_current && !known.commits.contains(value) {
                    known.commits.push(value.clone());
                } else if before.is_none() {
                    known.made.insert(name.to_owned());
                }
            }
            known.confirm(name, value);
        }
    }
    known.withdraw(&line.name);
}

/// Judges what an agent's git is about to move.
pub(super) fn judge(here: &Here, agent: &Agent, arguments: &[&str], input: &[u8]) -> Verdict {
    let state = arguments.first().copied().unwrap_or_default();
    if state == "prepared" {
        let lines = parse(input);
        if lines.len() > MOST {
            return refuse(&format!("{} refs at once are more than an agent moves", lines.len()));
        }
        let counts = |line: &Line| (line.name == "HEAD" || !is_free(&line.name)) && !line.is_idle();
        if !workspaces(&here.location).contains(&agent.own) && lines.iter().any(counts) {
            return refuse(
                "this repository is a person's, and the run has another: work in the run's own tree",
            );
        }
        let values = match Values::of(&here.location, lines.len()) {
            Ok(values) => values,
            Err(error) => return super::unreadable(&spelled(&error)),
        };
        for line in &lines {
            match judge_line(here, agent, &values, line, &lines) {
                Ok(None) => {}
                Ok(Some(reason)) => {
                    if line.name == "HEAD" {
                        put_files_back(here, agent, line);
                    }
                    return refuse(&reason);
                }
                Err(problem) => return super::unreadable(&problem),
            }
        }
    }
    note(here, Some(agent), arguments, input);
    Verdict::Pass
}

/// Says why a move is refused; nothing if it is in order.
fn judge_line(
    here: &Here,
    agent: &Agent,
    values: &Values<'_>,
    line: &Line,
    lines: &[Line],
) -> Result<Option<String>, String> {
    let name = line.name.as_str();
    if name == "HEAD" {
        return judge_head(here, agent, line, lines);
    }
    if name.starts_with("refs/warp/") {
        return Ok(Some("`refs/warp` holds what warp keeps; only warp writes there".to_owned()));
    }
    if is_free(name) {
        return Ok(None);
    }
    let now = values.one(name).map_err(|error| spelled(&error))?;
    if line.deletes() {
        return judge_deletion(here, line, now.as_deref());
    }
    if now.as_deref() == Some(line.new.as_str()) {
        return Ok(None);
    }
    let short = refs::short_name(name);
    if name == STASH {
        let stashes = refs::stashes(&here.location).map_err(|error| spelled(&error))?;
        let back = stashes.contains(&line.new);
        return Ok(back.then(|| "an agent does not drop a stash: work would be lost".to_owned()));
    }
    let head = refs::head(&here.location).map_err(|error| spelled(&error))?;
    let is_current = matches!(&head, HeadAt::Branch(branch) if branch == name);
    match now {
        None if is_current => {
            // The first commit of a branch.
            judge_commit(here, agent, None, &line.new)
        }
        None if name.starts_with("refs/heads/") || name.starts_with("refs/tags/") => Ok(None),
        None => Ok(Some(format!("an agent makes branches and tags, not `{name}`"))),
        Some(now) if is_current => judge_commit(here, agent, Some(&now), &line.new),
        Some(_) if name.starts_with("refs/heads/") => {
            Ok(Some(format!("an agent moves only the branch it works on, not `{short}`")))
        }
        Some(_) => Ok(Some(format!("an agent does not move `{short}`"))),
    }
}

/// A deletion is refused, unless git only moves a ref from a file of its own into the pack.
fn judge_deletion(here: &Here, line: &Line, now: Option<&str>) -> Result<Option<String>, String> {
    let Some(now) = now else { return Ok(None) };
    let packed = refs::packed(&here.location, &line.name).map_err(|error| spelled(&error))?;
    if line.old == now && packed.as_deref() == Some(now) {
        return Ok(None);
    }
    let name = refs::short_name(&line.name);
    Ok(Some(match name {
        STASH => "an agent does not drop a stash: work would be lost".to_owned(),
        name => format!("an agent does not delete `{name}`"),
    }))
}

/// An ordinary commit on the current branch, with leave.
fn judge_commit(here: &Here, agent: &Agent, now: Option<&str>, new: &str) -> Result<Option<String>, String> {
    if let Err(reason) = here.leave(agent) {
        return Ok(Some(reason));
    }
    let parents = mend::parents(&here.location, new).map_err(|error| spelled(&error))?;
    let is_ordinary = match (parents.as_slice(), now) {
        ([parent], Some(now)) => parent == now,
        ([], None) => true,
        ([] | [_, ..], _) => false,
    };
    let reason = "an agent only adds ordinary commits: no amending, no reset, no rebase, no merge. \
                  Make another commit on top";
    Ok((!is_ordinary).then(|| reason.to_owned()))
}

/// HEAD may go along with its branch, or onto a branch that was made during the run where HEAD is.
fn judge_head(here: &Here, agent: &Agent, line: &Line, lines: &[Line]) -> Result<Option<String>, String> {
    let head = refs::head(&here.location).map_err(|error| spelled(&error))?;
    let at = |head: &HeadAt| -> Result<Option<String>, String> {
        match head {
            HeadAt::Branch(name) => refs::one(&here.location, name).map_err(|error| spelled(&error)),
            HeadAt::Commit(commit) => Ok(Some(commit.clone())),
            HeadAt::Broken => Ok(None),
        }
    };
    let now = at(&head)?;
    let Some(target) = line.new.strip_prefix("ref:") else {
        return match &head {
            // A new branch is about to have its first commit, or the branch moves along: its own line is judged.
            HeadAt::Branch(name)
                if lines.iter().any(|other| other.name == *name && other.new == line.new) =>
            {
                Ok(None)
            }
            HeadAt::Commit(commit) if *commit == line.new => Ok(None),
            HeadAt::Commit(commit) => judge_commit(here, agent, Some(commit), &line.new),
            HeadAt::Branch(_) | HeadAt::Broken => {
                Ok(Some("an agent does not leave the branch it works on".to_owned()))
            }
        };
    };
    if head == HeadAt::Branch(target.to_owned()) {
        return Ok(None);
    }
    let known = Known::load(&agent.own).map_err(|error| spelled(&error))?;
    let known = known.ok_or("it is not known where the refs were")?;
    let is_new = known.made.contains(target) || !known.refs.refs.contains_key(target);
    let there = refs::one(&here.location, target).map_err(|error| spelled(&error))?;
    if is_new && there == now && here.is_of(agent) {
        return Ok(None);
    }
    Ok(Some(format!(
        "an agent stays on the branch it works on; `{}` was there before the run",
        refs::short_name(target)
    )))
}

/// Git has the files of a branch in place before it asks whether HEAD may go there. Where it may not, they go back.
///
/// Only what is in the history of a known ref is taken out of the tree, so nothing can be lost by this; where it cannot
/// be done, the files stay as git left them.
fn put_files_back(here: &Here, agent: &Agent, line: &Line) {
    let put_back = || -> Option<()> {
        let location = &here.location;
        let root = super::root_of(&location.git_dir.join("warp"))?;
        let target = match line.new.strip_prefix("ref:") {
            Some(name) => refs::one(location, name).ok()??,
            None => line.new.clone(),
        };
        let head = match refs::head(location).ok()? {
            HeadAt::Branch(name) => refs::one(location, &name).ok()??,
            HeadAt::Commit(commit) => commit,
            HeadAt::Broken => return None,
        };
        let known = Known::load(&agent.own).ok()??;
        let tips: Vec<&str> =
            known.refs.refs.values().map(String::as_str).filter(|tip| is_object(tip)).collect();
        if target != head && is_object(&target) && mend::is_in_history(location, &target, &tips).ok()? {
            mend::switch_files(&root, location, &target, &head).ok()?;
        }
        Some(())
    };
    // The move is refused either way.
    let _ = put_back();
}
