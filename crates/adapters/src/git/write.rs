//! What moves a branch. Only the engine calls these, and each checks the branch's old place first.

use std::{collections::BTreeMap, fs, path::PathBuf};

use engine::Seen;
use tempfile::TempDir;

use super::{EVERYTHING, Git};

/// The commits that are looked through for one that was made and not recorded.
const MOST_COMMITS: usize = 100;

/// A commit in the making, in an index of its own: the person's stays as it is until there is a commit.
#[derive(Debug)]
pub struct Prepared<'a> {
    git: Git<'a>,
    directory: TempDir,
    index: String,
    left_out: Vec<String>,
}

impl<'a> Prepared<'a> {
    /// Takes in everything as it is now, but for what is left out. A hook may have changed files since the last time.
    pub fn take_in(&self) -> Result<(), String> {
        if !self.left_out.is_empty() {
            // What a person has put into their index by themselves is not part of this commit either.
            let mut arguments = vec!["reset".to_owned(), "--quiet".to_owned(), "--".to_owned()];
            arguments.extend(self.left_out.iter().map(|path| format!(":(top,literal){path}")));
            self.text(&words(&arguments))?;
        }
        self.text(&words(&self.everything())).map(drop)
    }

    /// Returns the tree that the commit would have.
    pub fn tree(&self) -> Result<String, String> {
        self.text(&["write-tree"])
    }

    /// Tells whether there is anything to commit.
    pub fn is_empty(&self) -> Result<bool, String> {
        let finished = self.git.run(&["diff", "--cached", "--quiet"], &self.environment())?;
        Ok(finished.is_success())
    }

    /// Returns a file for the message, which a hook may change.
    pub fn message_file(&self) -> PathBuf {
        self.directory.path().join("COMMIT_EDITMSG")
    }

    /// Returns the index, for hooks that look at what is about to be committed.
    pub fn index(&self) -> &str {
        &self.index
    }

    /// Makes the commit, and returns it.
    pub fn commit(&self, message: &str) -> Result<String, String> {
        if self.is_empty()? {
            return Err("there is nothing to commit".to_owned());
        }
        self.text(&["commit", "--quiet", "--no-verify", "--cleanup=strip", "--message", message])?;
        // The person's index follows; what they have put into it of the rest stays there.
        self.git.text(&words(&self.everything()), &[])?;
        self.git.known_head()
    }

    fn everything(&self) -> Vec<String> {
        let left_out = self.left_out.iter().map(|path| format!(":(exclude,top,literal){path}"));
        EVERYTHING.iter().map(ToString::to_string).chain(left_out).collect()
    }

    fn environment(&self) -> [(&str, &str); 1] {
        [("GIT_INDEX_FILE", &self.index)]
    }

    fn text(&self, arguments: &[&str]) -> Result<String, String> {
        self.git.text(arguments, &self.environment())
    }
}

fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

impl<'a> Git<'a> {
    /// Prepares a commit of everything that is not ignored, but for the files that are left out.
    pub fn prepare(&self, left_out: Vec<String>) -> Result<Prepared<'a>, String> {
        let index = self.root.join(self.text(&["rev-parse", "--git-path", "index"], &[])?);
        let git_dir = self.root.join(self.text(&["rev-parse", "--git-dir"], &[])?);
        let directory = tempfile::Builder::new().prefix("warp-index-").tempdir_in(git_dir);
        let directory = directory.map_err(|error| format!("no room for an index: {error}"))?;
        let own = directory.path().join("index");
        // A copy of the index spares git from reading files that have not changed.
        match fs::copy(index, &own) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(format!("the index could not be copied: {error}")),
        }
        let index = own.to_str().ok_or("the repository's path is not text")?.to_owned();
        let prepared = Prepared { git: *self, directory, index, left_out };
        prepared.take_in()?;
        Ok(prepared)
    }

    /// Returns the files that are not committed, each with its mode and the id of its content.
    pub fn not_committed(&self) -> Result<BTreeMap<String, String>, String> {
        if !self.is_repository()? || self.text(&["status", "--porcelain"], &[])?.is_empty() {
            return Ok(BTreeMap::new());
        }
        let base = self.base(None)?;
        let prepared = self.prepare(Vec::new())?;
        let raw = prepared.text(&[
            "diff-index",
            "--cached",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            &base,
        ])?;
        let mut fields = raw.split('\0');
        let mut found = BTreeMap::new();
        // `:OLD-MODE NEW-MODE OLD-ID NEW-ID STATUS`, then the path.
        while let (Some(entry), Some(path)) = (fields.next(), fields.next()) {
            let entry: Vec<&str> = entry.split(' ').collect();
            if let [_, mode, _, id, _] = entry.as_slice() {
                found.insert(path.to_owned(), format!("{mode} {id}"));
            }
        }
        Ok(found)
    }

    /// Returns which of these files are still not committed, and as they were.
    pub fn unchanged(&self, dirty: &BTreeMap<String, String>) -> Result<Vec<String>, String> {
        if dirty.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.not_committed()?;
        Ok(dirty
            .iter()
            .filter(|(path, as_it_was)| now.get(*path) == Some(*as_it_was))
            .map(|(path, _)| path.clone())
            .collect())
    }

    /// Returns the current commit and its tree.
    pub fn head_and_tree(&self) -> Result<(String, String), String> {
        let tree = self.text(&["rev-parse", "--verify", "--quiet", "HEAD^{tree}"], &[])?;
        Ok((self.known_head()?, tree))
    }

    /// Tells whether the current commit follows `base` by ordinary commits, one or more.
    pub fn follows(&self, base: &str) -> Result<bool, String> {
        if !self.run(&["merge-base", "--is-ancestor", base, "HEAD"], &[])?.is_success() {
            return Ok(false);
        }
        let most = format!("--max-count={MOST_COMMITS}");
        let list = self.text(&["rev-list", "--parents", &most, &format!("{base}..HEAD")], &[])?;
        let is_ordinary = |line: &str| line.split(' ').count() == 2;
        Ok(!list.is_empty() && list.lines().all(is_ordinary))
    }

    /// Moves branch `target` forward to a commit of `branch`, if that loses nothing.
    pub fn fast_forward(&self, target: &str, branch: &str, commit: &str) -> Result<(), String> {
        let (to, from) = (format!("refs/heads/{target}"), format!("refs/heads/{branch}"));
        let new = self.text(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{commit}}")], &[])?;
        if !self.run(&["merge-base", "--is-ancestor", &new, &from], &[])?.is_success() {
            return Err(format!("{commit} is no commit of `{branch}` any more"));
        }
        if target == branch {
            return Ok(());
        }
        let old = self.text(&["rev-parse", "--verify", "--quiet", &format!("{to}^{{commit}}")], &[])?;
        if !self.run(&["merge-base", "--is-ancestor", &old, &new], &[])?.is_success() {
            return Err(format!("`{target}` has moved on: rebase `{branch}` onto it"));
        }
        if let Some(tree) = self.checked_out_at(&to)? {
            return Err(format!("`{target}` is checked out in {tree}, whose files would no longer fit"));
        }
        self.text(&["update-ref", "-m", "warp: merged", &to, &new, &old], &[])?;
        Ok(())
    }

    /// Returns where a branch is pushed to: a remote's name and address.
    pub fn remote(&self) -> Result<(String, String), String> {
        let remotes = self.text(&["remote"], &[])?;
        let name = remotes.lines().find(|name| *name == "origin").or_else(|| remotes.lines().next());
        let name = name.ok_or("there is no remote to push to")?.to_owned();
        let address = self.text(&["remote", "get-url", "--push", &name], &[])?;
        Ok((name, address))
    }

    /// Returns what a hook is told of a push: local and remote ref, each with its commit.
    pub fn push_line(&self, remote: &str, branch: &str) -> Result<String, String> {
        let local = format!("refs/heads/{branch}");
        let commit = self.text(&["rev-parse", "--verify", "--quiet", &format!("{local}^{{commit}}")], &[])?;
        let there = self.text(&["ls-remote", remote, &local], &[])?;
        let there = there.split_whitespace().next().map_or_else(|| "0".repeat(commit.len()), str::to_owned);
        Ok(format!("{local} {commit} {local} {there}\n"))
    }

    /// Pushes a branch to a remote, without force.
    pub fn push(&self, remote: &str, branch: &str) -> Result<(), String> {
        self.text(&["push", "--quiet", "--no-verify", remote, &format!("refs/heads/{branch}")], &[]).map(drop)
    }

    /// Returns the working tree in which a branch is checked out.
    fn checked_out_at(&self, branch: &str) -> Result<Option<String>, String> {
        let list = self.text(&["worktree", "list", "--porcelain"], &[])?;
        let mut tree = None;
        for line in list.lines() {
            if let Some(path) = line.strip_prefix("worktree ") {
                tree = Some(path.to_owned());
            } else if line.strip_prefix("branch ") == Some(branch) {
                return Ok(tree);
            }
        }
        Ok(None)
    }

    fn known_head(&self) -> Result<String, String> {
        match self.head() {
            Seen::Value(head) => Ok(head),
            Seen::Absent(why) | Seen::Failed(why) => Err(why),
        }
    }
}
