//! What evidence and receipts name, looked up: changed lines, files and commits.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path},
};

use engine::{Claim, ClaimSeen, CommitSeen, FileSeen, Line, Seen, Time, digest, is_document};

use super::{Git, ListingCache, facts};
use crate::refs::is_object;

/// The most commits of one chunk that are listed.
const MOST_COMMITS: usize = 100;
/// The largest artifact whose content is read, in bytes.
const LARGEST_ARTIFACT: u64 = 16 * 1024 * 1024;

impl Git<'_> {
    /// Returns those of `lines` that were changed since `base` (or the last commit); new files count whole.
    pub fn changed_lines(
        &self,
        base: Option<&str>,
        lines: &[Line],
        listed: &mut ListingCache,
    ) -> Seen<Vec<Line>> {
        self.look(|| {
            let base = self.base(base)?;
            let mut changed: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
            for line in lines {
                if is_below(&line.file) && !changed.contains_key(line.file.as_str()) {
                    changed.insert(&line.file, self.ranges(&base, &line.file, listed)?);
                }
            }
            let is_changed = |line: &&Line| {
                let ranges = changed.get(line.file.as_str()).map(Vec::as_slice).unwrap_or_default();
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&line.line))
            };
            Ok(Seen::Value(lines.iter().filter(is_changed).cloned().collect()))
        })
    }

    /// Returns the ranges of lines of a file that were added or changed since `base`.
    fn ranges(&self, base: &str, file: &str, listed: &mut ListingCache) -> Result<Vec<(u64, u64)>, String> {
        let literal = [("GIT_LITERAL_PATHSPECS", "1")];
        let is_new = match &self.trusted {
            Some(_) => self.list(base, listed)?.new.iter().any(|name| name == file),
            // Here paths need not be those from the repository's root.
            None => {
                let ask = ["ls-files", "--others", "--exclude-standard", "-z", "--", file];
                self.text(&ask, &literal)?.split('\0').any(|name| name == file)
            }
        };
        if is_new {
            let count = match fs::metadata(self.root.join(file)) {
                Ok(data) if data.is_file() && data.len() <= LARGEST_ARTIFACT => {
                    let content =
                        fs::read(self.root.join(file)).map_err(|error| format!("{file}: {error}"))?;
                    content.split(|byte| *byte == b'\n').count() as u64 - u64::from(content.ends_with(b"\n"))
                }
                Ok(_) => return Err(format!("{file} is not a file that can be read")),
                Err(error) => return Err(format!("{file}: {error}")),
            };
            return Ok(vec![(1, count)]);
        }
        let arguments =
            ["diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"];
        let diff = self.run(&[arguments.as_slice(), &[base, "--", file]].concat(), &literal)?;
        if !diff.is_success() {
            return Err(format!("`git diff` ended with {}: {}", diff.end, diff.last_words(300)));
        }
        if diff.cut {
            return Err(format!("the change of {file} is too large to look through"));
        }
        Ok(String::from_utf8_lossy(&diff.stdout).lines().filter_map(added).collect())
    }

    /// Returns the commits by which the branch went on from `since`, oldest first. What a merge brought along counts as
    /// one.
    pub fn commits(&self, since: &str) -> Seen<Vec<String>> {
        if !is_object(since) {
            return Seen::Failed(format!("`{since}` is no commit's hash"));
        }
        if let Some(line) = self.head_in_files().and_then(|head| facts::line(since, &head, MOST_COMMITS)) {
            return Seen::Value(line);
        }
        self.look(|| {
            let (most, range) = (format!("--max-count={}", MOST_COMMITS + 1), format!("{since}..HEAD"));
            let list = self.text(&["rev-list", "--first-parent", "--parents", &most, &range, "--"], &[])?;
            let Some(oldest) = list.lines().last() else {
                return Ok(match self.head_commit()? == since {
                    true => Seen::Value(Vec::new()),
                    false => Seen::Absent(format!("the branch has gone back behind {since}")),
                });
            };
            if list.lines().count() > MOST_COMMITS {
                return Ok(Seen::Absent(format!("there are more than {MOST_COMMITS} commits")));
            }
            if oldest.split(' ').nth(1) != Some(since) {
                return Ok(Seen::Absent(format!("the branch does not lead on from {since} any more")));
            }
            let hash = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
            Ok(Seen::Value(list.lines().rev().map(hash).collect()))
        })
    }

    /// Looks up what a receipt names.
    pub fn claim(&self, claim: &Claim) -> ClaimSeen {
        let commit = claim.git_sha.as_deref().map(|sha| self.commit(sha, claim.since.as_deref()));
        let hash = match &commit {
            Some(Seen::Value(commit)) => Some(commit.hash.as_str()),
            Some(Seen::Absent(_) | Seen::Failed(_)) | None => None,
        };
        let file = claim.artifact.as_deref().map(|artifact| self.artifact(artifact, hash));
        ClaimSeen { claim: claim.clone(), file, commit }
    }

    /// Returns which frozen files are not what they were in `at`, in the working tree or in the current commit: the file
    /// itself, and all that was new in `at` since `since` and is no document.
    pub fn frozen(&self, file: &str, at: &str, since: Option<&str>) -> Seen<Vec<String>> {
        self.look(|| {
            let mut files: BTreeSet<String> = BTreeSet::from([file.to_owned()]);
            if let Some(since) = since {
                let new = self.names(&["--diff-filter=A", since, at])?;
                files.extend(new.into_iter().filter(|file| !is_document(file)));
            }
            let mut changed: BTreeSet<String> = BTreeSet::new();
            for against in [&[at][..], &[at, "HEAD"]] {
                let mut arguments = against.to_vec();
                arguments.push("--");
                arguments.extend(files.iter().map(String::as_str));
                changed.extend(self.names(&arguments)?);
            }
            Ok(Seen::Value(changed.into_iter().collect()))
        })
    }

    /// Returns the names of files in which two states differ, as arguments of `git diff` name them.
    pub fn names(&self, what: &[&str]) -> Result<Vec<String>, String> {
        let arguments = ["diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "-z"];
        let literal = [("GIT_LITERAL_PATHSPECS", "1")];
        let listed = self.text(&[&arguments[..], what].concat(), &literal)?;
        Ok(listed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    fn commit(&self, sha: &str, since: Option<&str>) -> Seen<CommitSeen> {
        let is_name = sha == "HEAD" || (!sha.is_empty() && sha.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if !is_name {
            return Seen::Failed("it is no commit's hash".to_owned());
        }
        self.look(|| {
            let found = self.run(&["rev-parse", "--verify", "--quiet", &format!("{sha}^{{commit}}")], &[])?;
            if !found.is_success() {
                return Ok(match sha {
                    "HEAD" => Seen::Absent("there is no commit yet".to_owned()),
                    _ => Seen::Failed("there is no such commit".to_owned()),
                });
            }
            let hash = found.text();
            let at = self.text(&["show", "--no-patch", "--format=%ct", &hash, "--"], &[])?;
            let seconds: i64 = at.trim().parse().map_err(|_| format!("git gave the time {at:?}"))?;
            let is_new = match since {
                Some(since) => Some(!self.is_ancestor(&hash, since)?),
                None => None,
            };
            let is_in_history = self.is_ancestor(&hash, "HEAD")?;
            let at = Time::from_millis(seconds.saturating_mul(1000));
            Ok(Seen::Value(CommitSeen { hash, at, is_in_history, is_new }))
        })
    }

    /// Tells whether `commit` is `of` or one before it.
    fn is_ancestor(&self, commit: &str, of: &str) -> Result<bool, String> {
        Ok(self.run(&["merge-base", "--is-ancestor", commit, of], &[])?.is_success())
    }

    /// Looks at a file in the working tree, with links resolved, and in a commit.
    fn artifact(&self, artifact: &str, commit: Option<&str>) -> Seen<FileSeen> {
        let root = match self.root.canonicalize() {
            Ok(root) => root,
            Err(error) => return Seen::Failed(error.to_string()),
        };
        let mut seen = FileSeen { is_inside: true, ..FileSeen::default() };
        let relative = match self.root.join(artifact).canonicalize() {
            Ok(path) => match path.strip_prefix(&root) {
                Ok(relative) if path.is_file() && !is_own(relative) => {
                    if let Err(problem) = read_file(&path, &mut seen) {
                        return Seen::Failed(problem);
                    }
                    relative.to_str().map(str::to_owned)
                }
                Ok(_) | Err(_) => return Seen::Value(FileSeen::default()),
            },
            Err(_) if is_below(artifact) => Some(artifact.to_owned()),
            Err(_) => return Seen::Value(FileSeen::default()),
        };
        if let (Some(commit), Some(path)) = (commit, relative)
            && let Err(problem) = self.read_blob(commit, &path, &mut seen)
        {
            return Seen::Failed(problem);
        }
        Seen::Value(seen)
    }

    /// Looks at a file in a commit; one that is not there is left out.
    fn read_blob(&self, commit: &str, path: &str, seen: &mut FileSeen) -> Result<(), String> {
        // `./` makes the path one from here, wherever in the repository that is.
        let name = format!("{commit}:./{path}");
        let size = self.run(&["cat-file", "-s", &name], &[])?;
        let kind = self.run(&["cat-file", "-t", &name], &[])?;
        if !size.is_success() || kind.text() != "blob" {
            return Ok(());
        }
        let size: u64 = size.text().trim().parse().map_err(|_| format!("git gave no size of {path}"))?;
        seen.at_commit = Some(size);
        if seen.digest.is_none() && size <= LARGEST_ARTIFACT {
            let content = self.run(&["cat-file", "blob", &name], &[])?;
            seen.digest = (content.is_success() && !content.cut).then(|| digest(&content.stdout));
        }
        Ok(())
    }
}

fn read_file(path: &Path, seen: &mut FileSeen) -> Result<(), String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > LARGEST_ARTIFACT {
        return Err(format!("it has {size} bytes; the most is {LARGEST_ARTIFACT}"));
    }
    let content = fs::read(path).map_err(|error| error.to_string())?;
    seen.in_tree = Some(content.len() as u64);
    seen.digest = Some(digest(&content));
    Ok(())
}

/// Tells whether a path stays below where it starts.
fn is_below(path: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.is_empty() && Path::new(path).components().all(is_plain)
}

/// Tells whether a path is in the repository's own directory.
fn is_own(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// Reads the added lines of `@@ -1,2 +3,4 @@`.
fn added(line: &str) -> Option<(u64, u64)> {
    let range = line.strip_prefix("@@ ")?.split(' ').nth(1)?.strip_prefix('+')?;
    let (first, count) = range.split_once(',').unwrap_or((range, "1"));
    let (first, count): (u64, u64) = (first.parse().ok()?, count.parse().ok()?);
    (count > 0).then(|| (first, first + count - 1))
}
