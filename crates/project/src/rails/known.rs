//! Known refs: where everything was when it was in order, in `refs` of the workspace's own directory.
//!
//! The file is made when a run begins. From then on a move that is in order is written down with it: by git's hook
//! when a person's own git, or the agent's with leave, has moved something, and by warp after its own moves. What is
//! then found elsewhere than it is known to be was moved by nobody who may.
//!
//! A move is announced before git makes it and confirmed after, so that a look in between takes it for what it is.
//! Announcements and confirmations touch only the refs that they name: they never excuse another move.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::{
    boundary,
    git::Location,
    machine,
    refs::{self, HeadAt, Refs, is_object},
};
use engine::Time;

use crate::{hold, text};

/// The largest list of known refs that is read, in bytes.
const LARGEST: u64 = 64 * 1024 * 1024;
const FIRST_LINE: &str = "warp-refs 1";
/// How long an announcement counts, in milliseconds; git makes the move right after it.
const ANNOUNCED: i64 = 120_000;
/// How long to wait for another process that looks at the refs. The longest thing done meanwhile is putting some back.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where everything was when it was in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub refs: Refs,
    /// Git's hook that was in force when the run began.
    pub guard: Option<PathBuf>,
    /// Refs that were made during the run.
    pub made: BTreeSet<String>,
    /// Commits that the agent made with leave and that nobody was told of yet, oldest first.
    pub commits: Vec<String>,
    /// Moves that git is about to make: names (or HEAD), what they will be (`-` for nothing), and when it said so.
    soon: BTreeMap<String, (String, Time)>,
}

/// Why known refs could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    #[error("failed to read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` does not say where the refs were", path.display())]
    NotKnown { path: PathBuf },
    #[error("failed to write `{}`", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("another process has held `{}` for {seconds} seconds", path.display())]
    Locked { path: PathBuf, seconds: u64 },
    #[error(transparent)]
    Refs(#[from] refs::ReadError),
}

/// Something that is not where it is known to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    /// A branch, a tag or another ref: moved, made (no `from`) or deleted (no `to`).
    Ref { name: String, from: Option<String>, to: Option<String> },
    /// HEAD is elsewhere.
    Head { from: HeadAt, to: HeadAt },
    /// A commit is gone from the stash.
    StashDropped { commit: String },
    /// There is one more commit in the stash.
    StashMade { commit: String },
}

/// The right to change a workspace's known refs, until it is dropped.
#[derive(Debug)]
pub(super) struct Hold {
    _file: File,
}

impl std::fmt::Display for Moved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = |name: &str| match name {
            _ if name.starts_with("refs/heads/") => "branch",
            _ if name.starts_with("refs/tags/") => "tag",
            _ => "ref",
        };
        match self {
            Moved::Ref { name, from, to } => {
                write!(f, "{} `{}` was ", kind(name), refs::short_name(name))?;
                match (from, to) {
                    (Some(from), Some(to)) => {
                        write!(f, "moved from {} to {}", refs::short(from), refs::short(to))
                    }
                    (Some(from), None) => write!(f, "deleted (it was at {})", refs::short(from)),
                    (None, Some(to)) => write!(f, "made at {}", refs::short(to)),
                    (None, None) => f.write_str("not moved"),
                }
            }
            Moved::Head { from, to } => write!(f, "HEAD was switched from {from} to {to}"),
            Moved::StashDropped { commit } => write!(f, "stash {} was dropped", refs::short(commit)),
            Moved::StashMade { commit } => write!(f, "stash {} was made", refs::short(commit)),
        }
    }
}

impl Known {
    /// Takes everything as it is.
    pub fn now(location: &Location, guard: Option<PathBuf>) -> Result<Self, KnownError> {
        let refs = refs::read(location)?;
        Ok(Self { refs, guard, made: BTreeSet::new(), commits: Vec::new(), soon: BTreeMap::new() })
    }

    /// Compares with what is there; what git has announced is in order.
    pub fn compare(&self, now: &Refs) -> Vec<Moved> {
        let known = &self.refs;
        let mut moves = Vec::new();
        let announced = self.is_announced("HEAD", head_value(&now.head).as_deref());
        if known.head != now.head && !announced {
            moves.push(Moved::Head { from: known.head.clone(), to: now.head.clone() });
        }
        let names: BTreeSet<&String> = known.refs.keys().chain(now.refs.keys()).collect();
        for name in names {
            let (from, to) = (known.refs.get(name), now.refs.get(name));
            if from != to && !self.is_announced(name, Some(to.map_or("-", String::as_str))) {
                moves.push(Moved::Ref { name: name.clone(), from: from.cloned(), to: to.cloned() });
            }
        }
        let lost = known.stashes.iter().filter(|commit| !now.stashes.contains(commit));
        moves.extend(lost.map(|commit| Moved::StashDropped { commit: commit.clone() }));
        let more = now.stashes.iter().filter(|commit| !known.stashes.contains(commit));
        moves.extend(more.map(|commit| Moved::StashMade { commit: commit.clone() }));
        moves
    }

    /// Tells whether git has announced that a ref will be what it is.
    pub(super) fn is_announced(&self, name: &str, value: Option<&str>) -> bool {
        value.is_some() && self.soon.get(name).map(|(value, _)| value.as_str()) == value
    }

    /// Writes down that git is about to move something.
    pub(super) fn announce(&mut self, name: &str, value: &str) {
        self.soon.insert(name.to_owned(), (value.to_owned(), machine::now()));
    }

    /// Forgets an announcement.
    pub(super) fn withdraw(&mut self, name: &str) {
        self.soon.remove(name);
    }

    /// Takes a ref as it is.
    pub(super) fn confirm(&mut self, name: &str, value: Option<String>) {
        self.soon.remove(name);
        match value {
            Some(value) => self.refs.refs.insert(name.to_owned(), value),
            None => self.refs.refs.remove(name),
        };
    }

    /// Takes HEAD as it is.
    pub(super) fn confirm_head(&mut self, head: HeadAt) {
        self.soon.remove("HEAD");
        self.refs.head = head;
    }

    fn render(&self) -> String {
        let mut text = format!("{FIRST_LINE}\n");
        let mut line = |kind: &str, rest: &str| {
            // No line of ours has a line end in it: git takes none in a name.
            if !rest.contains('\n') {
                text.push_str(&format!("{kind} {rest}\n"));
            }
        };
        line("head", &head_value(&self.refs.head).unwrap_or_else(|| "-".to_owned()));
        if let Some(guard) = self.guard.as_ref().and_then(|guard| guard.to_str()) {
            line("guard", guard);
        }
        self.refs.stashes.iter().for_each(|commit| line("stash", commit));
        self.commits.iter().for_each(|commit| line("commit", commit));
        self.made.iter().for_each(|name| line("made", name));
        let soon = self.soon.iter().map(|(name, (value, at))| format!("{} {name} {value}", at.millis()));
        soon.for_each(|rest| line("soon", &rest));
        self.refs.refs.iter().for_each(|(name, value)| line("ref", &format!("{name} {value}")));
        text.push_str("end\n");
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix("end\n")?.split_terminator('\n');
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let head = head_of(lines.next()?.strip_prefix("head ")?);
        let mut known = Self {
            refs: Refs { head, refs: BTreeMap::new(), stashes: Vec::new() },
            guard: None,
            made: BTreeSet::new(),
            commits: Vec::new(),
            soon: BTreeMap::new(),
        };
        for line in lines {
            let (kind, rest) = line.split_once(' ')?;
            let pair = || rest.split_once(' ').map(|(name, value)| (name.to_owned(), value.to_owned()));
            match kind {
                "guard" => known.guard = Some(rest.into()),
                "stash" => known.refs.stashes.push(rest.to_owned()),
                "commit" => known.commits.push(rest.to_owned()),
                "made" => drop(known.made.insert(rest.to_owned())),
                "soon" => {
                    let (at, rest) = rest.split_once(' ')?;
                    let (name, value) = rest.split_once(' ')?;
                    let at = Time::from_millis(at.parse().ok()?);
                    known.soon.insert(name.to_owned(), (value.to_owned(), at));
                }
                "ref" => known.refs.refs.extend([pair()?]),
                _ => return None,
            }
        }
        Some(known)
    }

    /// Reads a workspace's known refs; nothing if none were written.
    pub fn load(own: &Path) -> Result<Option<Self>, KnownError> {
        let path = file(own);
        match text::read(&path, LARGEST) {
            Ok(text) => {
                let mut known = Self::parse(&text).ok_or(KnownError::NotKnown { path })?;
                let now = machine::now().millis();
                known.soon.retain(|_, (_, at)| (now - at.millis()).abs() < ANNOUNCED);
                Ok(Some(known))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(KnownError::Read { path, source }),
        }
    }

    /// Replaces a workspace's known refs.
    pub fn store(&self, own: &Path) -> Result<(), KnownError> {
        let path = file(own);
        let failed = |source| KnownError::Write { path: path.clone(), source };
        let mut draft = in_directory(own, || tempfile::NamedTempFile::new_in(own)).map_err(failed)?;
        draft.write_all(self.render().as_bytes()).map_err(failed)?;
        boundary::around("refs", || draft.persist(&path)).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

impl Hold {
    /// Waits until no other process looks at a workspace's refs.
    pub(super) fn take(own: &Path) -> Result<Self, KnownError> {
        let path = own.join("refs.lock");
        let failed = |source| KnownError::Write { path: path.clone(), source };
        let open = || File::options().create(true).truncate(false).read(true).write(true).open(&path);
        let file = in_directory(own, open).map_err(failed)?;
        if hold::wait(&file, PATIENCE).map_err(failed)? {
            return Ok(Self { _file: file });
        }
        Err(KnownError::Locked { path, seconds: PATIENCE.as_secs() })
    }
}

/// Makes a file in a directory, which is made if it is not there.
fn in_directory<T>(directory: &Path, make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match make() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory)?;
            make()
        }
        made => made,
    }
}

/// Returns the file of a workspace's known refs.
pub(super) fn file(own: &Path) -> PathBuf {
    own.join("refs")
}

/// Says in one word where HEAD is.
pub(super) fn head_value(head: &HeadAt) -> Option<String> {
    match head {
        HeadAt::Branch(name) => Some(format!("ref:{name}")),
        HeadAt::Commit(commit) => Some(commit.clone()),
        HeadAt::Broken => None,
    }
}

fn head_of(value: &str) -> HeadAt {
    match value.strip_prefix("ref:") {
        Some(name) => HeadAt::Branch(name.to_owned()),
        None if is_object(value) => HeadAt::Commit(value.to_owned()),
        None => HeadAt::Broken,
    }
}

/// Changes the known refs of a workspace, if it has any.
pub(super) fn change(own: &Path, change: impl FnOnce(&mut Known)) -> Result<(), KnownError> {
    if !file(own).exists() {
        return Ok(());
    }
    let _hold = Hold::take(own)?;
    let Some(mut known) = Known::load(own)? else { return Ok(()) };
    let before = known.clone();
    change(&mut known);
    if known == before { Ok(()) } else { known.store(own) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let one = "1".repeat(40);
        let refs = [("refs/heads/main", one.as_str()), ("refs/tags/v1", &one)];
        Known {
            refs: Refs {
                head: HeadAt::Branch("refs/heads/main".to_owned()),
                refs: refs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
                stashes: vec!["2".repeat(40)],
            },
            guard: Some("/a b/hooks/reference-transaction".into()),
            made: ["refs/heads/new".to_owned()].into(),
            commits: vec![one],
            soon: [("HEAD".to_owned(), ("ref:refs/heads/new".to_owned(), Time::from_millis(5)))].into(),
        }
    }

    #[test]
    fn known_refs_are_read_as_they_were_written_and_torn_ones_are_not() {
        let known = known();
        let text = known.render();
        assert_eq!(Known::parse(&text), Some(known));
        for cut in 0..text.len() {
            assert_eq!(Known::parse(&text[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn every_kind_of_move_is_told_and_what_was_announced_is_not() {
        let known = known();
        let mut now = known.refs.clone();
        assert_eq!(known.compare(&now), []);
        now.head = HeadAt::Branch("refs/heads/new".to_owned());
        assert_eq!(known.compare(&now), [], "it was announced");
        now.head = HeadAt::Broken;
        let unannounced = Known { soon: BTreeMap::new(), ..known.clone() };
        assert_eq!(unannounced.compare(&now).len(), 1);
        now.head = HeadAt::Commit("3".repeat(40));
        now.refs.insert("refs/heads/main".to_owned(), "3".repeat(40));
        now.refs.insert("refs/heads/other".to_owned(), "3".repeat(40));
        now.refs.remove("refs/tags/v1");
        now.stashes = vec!["4".repeat(40)];
        let told: Vec<String> = known.compare(&now).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "HEAD was switched from branch `main` to commit 3333333333",
                "branch `main` was moved from 1111111111 to 3333333333",
                "branch `other` was made at 3333333333",
                "tag `v1` was deleted (it was at 1111111111)",
                "stash 2222222222 was dropped",
                "stash 4444444444 was made",
            ]
        );
    }
}
