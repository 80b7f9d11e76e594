//! What moves a branch. Only the engine calls these, and each checks the branch's old place first.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use engine::Seen;
use tempfile::TempPath;

use super::{EVERYTHING, Git, LIMIT, Location, facts, index, integrate::names, nested, own::Repository};
use crate::{boundary, process::End};

/// The commits that are looked through for one that was made and not recorded.
const MOST_COMMITS: usize = 100;

/// A commit in the making, in an index of its own: the person's stays as it is until there is a commit.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(super) git: Git<'a>,
    index: TempPath,
    left_out: Vec<String>,
    /// The submodules of a run's tree.
    submodules: Vec<String>,
    embedded: Vec<String>,
    /// Why something of a run's tree is not in it.
    refused: Option<String>,
    /// The tree that the commit would have, once it was asked for.
    tree: OnceCell<String>,
}

/// A prepared commit, kept out of the index while it is tested.
#[derive(Debug)]
pub struct PreparedCommit {
    index: TempPath,
    submodules: Vec<String>,
    embedded: Vec<String>,
    tree: String,
}

/// How git begins to say that a directory is a repository of its own.
const EMBEDDED: &str = "warning: adding embedded git repository: ";

impl<'a> Prepared<'a> {
    /// Takes in everything as it is now, but for what is left out. A hook may have changed files since the last time.
    pub fn take_in(&mut self) -> Result<(), String> {
        if !self.left_out.is_empty() {
            // What a person has put into their index by themselves is not part of this commit either.
            let mut arguments = vec!["reset".to_owned(), "--quiet".to_owned(), "--".to_owned()];
            arguments.extend(self.left_out.iter().map(|path| format!(":(top,literal){path}")));
            self.text(&words(&arguments))?;
        }
        self.forget_tree();
        let added = self.git.run(&words(&self.everything()), &self.environment())?;
        let said = String::from_utf8_lossy(&added.stderr);
        let refused: Vec<&str> = said
            .lines()
            .filter(|line| line.starts_with("error:") && nested::without_commit(line).is_none())
            .collect();
        // What an agent has put into its tree is for the agent to mend; all else is in the index.
        let is_partly = self.git.trusted.is_some() && added.end == End::Exit(1);
        if !added.is_success() && !is_partly {
            return Err(format!("`git add` ended with {}: {}", added.end, added.last_words(300)));
        }
        self.refused = (is_partly && !refused.is_empty()).then(|| refused.join("; "));
        let embedded = said
            .lines()
            .filter_map(|line| line.strip_prefix(EMBEDDED).or_else(|| nested::without_commit(line)));
        let embedded = embedded.map(|path| path.trim_end_matches('/').to_owned()).collect();
        self.take_in_submodules(embedded)
    }

    /// Takes in the commits at which the submodules of a run's tree stand. One that has another repository in its place than
    /// git keeps for it counts as embedded, and stays as it is.
    fn take_in_submodules(&mut self, mut embedded: Vec<String>) -> Result<(), String> {
        if let Some(location) = &self.git.trusted {
            let is_foreign = |path: &&String| nested::is_foreign(&self.git.root.join(path), location);
            let (foreign, own): (Vec<&String>, Vec<&String>) = self.submodules.iter().partition(is_foreign);
            if !own.is_empty() {
                let update = ["update-index", "--add", "--remove", "--replace", "--"];
                let own = own.into_iter().map(String::as_str);
                self.text(&update.into_iter().chain(own).collect::<Vec<_>>())?;
            }
            embedded.extend(foreign.into_iter().cloned());
            // Those from before are in the index already, and were left out.
            embedded.extend(self.embedded.iter().filter(|path| !self.submodules.contains(path)).cloned());
        }
        self.embedded = embedded;
        Ok(())
    }

    /// Lays it aside, for [`Git::take_up`]; nothing if it is no commit of everything, or its tree was not asked for.
    pub fn lay_aside(self) -> Option<PreparedCommit> {
        let Self { git, index, left_out, submodules, embedded, refused: _, tree } = self;
        let tree = tree.into_inner().filter(|_| git.trusted.is_some() && left_out.is_empty())?;
        Some(PreparedCommit { index, submodules, embedded, tree })
    }

    /// Returns the directories that are new repositories of their own: a commit would name them without their files.
    pub fn embedded(&self) -> &[String] {
        &self.embedded
    }

    /// Says which files git could not take in, in its own words, if there are any.
    pub fn whole(&self) -> Result<(), String> {
        match &self.refused {
            Some(words) => Err(format!("not everything can be committed: {words}")),
            None => Ok(()),
        }
    }

    /// Forgets which tree the commit would have: a hook was given the index.
    pub fn forget_tree(&mut self) {
        self.tree = OnceCell::new();
    }

    /// Returns the tree that the commit would have.
    pub fn tree(&self) -> Result<String, String> {
        self.whole()?;
        if let Some(tree) = self.tree.get() {
            return Ok(tree.clone());
        }
        let tree = self.text(&["write-tree"])?;
        Ok(self.tree.get_or_init(|| tree).clone())
    }

    /// Tells whether there is anything to commit.
    pub fn is_empty(&self) -> Result<bool, String> {
        if let Some(tree) = self.git.head_in_files().and_then(|head| facts::tree(&head)) {
            return Ok(self.tree()? == tree);
        }
        let finished = self.git.run(&["diff", "--cached", "--quiet"], &self.environment())?;
        Ok(finished.is_success())
    }

    /// Writes the message into a file beside the index, which a hook may change. It is gone when what is returned is.
    pub fn message_file(&self, message: &str) -> io::Result<TempPath> {
        let directory = self.index.parent().unwrap_or(self.git.root);
        let file = tempfile::Builder::new().prefix(index::OWN).tempfile_in(directory)?;
        fs::write(file.path(), message)?;
        Ok(file.into_temp_path())
    }

    /// Returns the index, for hooks that look at what is about to be committed.
    pub fn index(&self) -> &Path {
        &self.index
    }

    /// Makes the commit, and returns it.
    pub fn commit(self, message: &str) -> Result<String, String> {
        let nothing = || Err("there is nothing to commit".to_owned());
        self.whole()?;
        // In a repository of the run's own no merge is under way, so git itself refuses a commit of nothing.
        if self.git.trusted.is_none() && self.is_empty()? {
            return nothing();
        }
        let arguments = ["commit", "--quiet", "--no-verify", "--cleanup=strip", "--message", message];
        let made = boundary::around("commit", || self.text(&arguments));
        if made.is_err() && self.is_empty()? {
            return nothing();
        }
        made?;
        let (git, tree) = (self.git.clone(), self.tree.get().cloned());
        self.put_index()?;
        let commit = git.head_commit()?;
        // Nobody else moves the branch of a repository of the run's own.
        if let (Some(_), Some(tree)) = (&git.trusted, tree) {
            facts::learn_tree(&commit, &tree);
        }
        Ok(commit)
    }

    /// Lets the repository's own index follow a commit that was made.
    pub fn put_index(self) -> Result<(), String> {
        match &self.git.trusted {
            // Nobody else has put anything into this index, so the commit's own takes its place whole.
            Some(location) if self.left_out.is_empty() => {
                boundary::around("index", || index::put(self.index, &location.git_dir))
                    .map_err(|error| format!("the index could not be put in place: {error}"))
            }
            // The person's index follows; what they have put into it of the rest stays there.
            Some(_) | None => self.git.text(&words(&self.everything()), &[]).map(drop),
        }
    }

    fn everything(&self) -> Vec<String> {
        let mut left_out = [&self.left_out[..], &self.submodules].concat();
        if self.git.trusted.is_some() {
            left_out.extend_from_slice(&self.embedded);
        }
        let add: &[&str] = match self.git.trusted {
            Some(_) => &["add", "--all", "--ignore-errors"],
            None => &["add", "--all"],
        };
        let everything = add.iter().chain(EVERYTHING).map(ToString::to_string);
        everything.chain(nested::left_out(&left_out)).collect()
    }

    pub(super) fn environment(&self) -> [(&str, &str); 1] {
        [("GIT_INDEX_FILE", self.index.to_str().unwrap_or_default())]
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
        let (index, git_dir) = self.index_and_git_dir()?;
        let index =
            index::copy(&git_dir, &index).map_err(|error| format!("no room for an index: {error}"))?;
        index.to_str().ok_or("the repository's path is not text")?;
        let submodules = self.submodules()?;
        let (git, embedded, refused, tree) = (self.clone(), Vec::new(), None, OnceCell::new());
        let mut prepared = Prepared { git, index, left_out, submodules, embedded, refused, tree };
        prepared.take_in()?;
        Ok(prepared)
    }

    /// Returns the submodules of a run's tree, which git is kept out of.
    fn submodules(&self) -> Result<Vec<String>, String> {
        let Some(location) = &self.trusted else { return Ok(Vec::new()) };
        match self.head() {
            Seen::Value(head) => {
                nested::links(&Repository::bare(location, LIMIT), &head).map_err(|error| error.to_string())
            }
            Seen::Absent(_) => Ok(Vec::new()),
            Seen::Failed(error) => Err(error),
        }
    }

    /// Takes up a commit that was laid aside, if it has everything as it is now: that takes one look.
    pub fn take_up(&self, laid: PreparedCommit) -> Result<Option<Prepared<'a>>, String> {
        let PreparedCommit { index, submodules, embedded, tree } = laid;
        let (git, left_out, refused, tree) = (self.clone(), Vec::new(), None, OnceCell::from(tree));
        let prepared = Prepared { git, index, left_out, submodules, embedded, refused, tree };
        let status = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"];
        let how = [&status[..], EVERYTHING].concat();
        let found = self.run(&how, &prepared.environment())?;
        // The first letter is how the index differs from the last commit, the second how the files differ from the index.
        let is_taken_in = |entry: &[u8]| entry.is_empty() || entry.get(1) == Some(&b' ');
        let is_whole = found.is_success() && !found.cut;
        let is_same = is_whole && found.stdout.split(|byte| *byte == 0).all(is_taken_in);
        Ok(is_same.then_some(prepared))
    }

    /// Returns how everything as it is now differs from `base`, as a text; the second is set when its middle is left out.
    pub fn change(&self, base: &str, how: &[&str]) -> Result<(String, bool), String> {
        let prepared = self.prepare(Vec::new())?;
        self.difference(&[&["--cached"], how, &[base]].concat(), &prepared.environment())
    }

    /// Returns how one commit differs from another, as a text; the second is set when its middle is left out.
    pub fn change_between(&self, base: &str, tip: &str, how: &[&str]) -> Result<(String, bool), String> {
        self.difference(&[how, &[base, tip]].concat(), &[])
    }

    fn difference(&self, what: &[&str], environment: &[(&str, &str)]) -> Result<(String, bool), String> {
        let fixed = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"];
        let finished = self.run(&[&fixed, what, &["--"]].concat(), environment)?;
        if !finished.is_success() {
            return Err(format!("`git diff` ended with {}: {}", finished.end, finished.last_words(300)));
        }
        Ok((String::from_utf8_lossy(&finished.stdout).into_owned(), finished.cut))
    }

    /// Returns how these files differ between two commits, as a patch with the prefixes `a/` and `b/`, whatever is configured;
    /// the second is set when its middle is left out.
    pub fn patch_of(&self, base: &str, tip: &str, files: &[String]) -> Result<(String, bool), String> {
        let how = ["--patch", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/", base, tip, "--"];
        let fixed = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"];
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let finished = self.run(&[&fixed[..], &how, &files].concat(), &[("GIT_LITERAL_PATHSPECS", "1")])?;
        if !finished.is_success() {
            return Err(format!("`git diff` ended with {}: {}", finished.end, finished.last_words(300)));
        }
        Ok((String::from_utf8_lossy(&finished.stdout).into_owned(), finished.cut))
    }

    /// Returns the last commit that HEAD has in common with a branch.
    pub fn fork_of(&self, branch: &str) -> Option<String> {
        self.text(&["merge-base", "HEAD", &format!("refs/heads/{branch}")], &[]).ok()
    }

    /// Returns the last commit that HEAD has in common with another.
    pub fn fork_of_commit(&self, commit: &str) -> Option<String> {
        self.text(&["merge-base", "HEAD", commit], &[]).ok()
    }

    /// Returns a name that no branch has: the wanted one, or that with a number.
    pub fn free_branch(&self, wanted: &str) -> Result<String, String> {
        for name in names(wanted) {
            let full = format!("refs/heads/{name}");
            if !self.run(&["rev-parse", "--verify", "--quiet", &full], &[])?.is_success() {
                return Ok(name);
            }
        }
        Err(format!("there are too many branches like `{wanted}`: remove some with `git branch -D`"))
    }

    /// Makes a branch on a commit and stands on it, or stands on it if it is there. Git refuses where a changed file would be
    /// overwritten.
    pub fn begin_branch(&self, name: &str, onto: &str) -> Result<(), String> {
        let full = format!("refs/heads/{name}");
        let is_there = self.run(&["rev-parse", "--verify", "--quiet", &full], &[])?.is_success();
        let switch: &[&str] = if is_there {
            &["switch", "--quiet", "--no-guess", name]
        } else {
            &["switch", "--quiet", "--no-track", "-c", name, onto]
        };
        boundary::around("begin_branch", || self.text(switch, &[])).map(drop)
    }

    /// Returns the commits up to `tip` that refer to an issue as warp's own do, oldest first, at most `most`: hash and subject.
    pub fn commits_about(&self, tip: &str, issue: &str, most: usize) -> Result<Vec<String>, String> {
        let (grep, count) = (format!("--grep=^Refs #{issue}$"), format!("--max-count={most}"));
        let fixed = ["log", "--no-color", "--no-show-signature", "--format=%h %s"];
        let text = self.text(&[&fixed[..], &[&grep, &count, tip, "--"]].concat(), &[])?;
        let mut commits: Vec<String> = text.lines().map(str::to_owned).collect();
        commits.reverse();
        Ok(commits)
    }

    fn index_and_git_dir(&self) -> Result<(PathBuf, PathBuf), String> {
        if let Some(Location { git_dir, .. }) = &self.trusted {
            return Ok((git_dir.join("index"), git_dir.clone()));
        }
        let both = self.text(&["rev-parse", "--git-path", "index", "--git-dir"], &[])?;
        let (index, git_dir) = both.split_once('\n').ok_or("git does not say where its index is")?;
        Ok((self.root.join(index), self.root.join(git_dir)))
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

    /// Puts files of the working tree back to what `commit` has of them; those that it has not are removed.
    ///
    /// What can be lost by that must have been kept before.
    pub fn put_back(&self, commit: &str, files: &[String]) -> Result<(), String> {
        let literal = [("GIT_LITERAL_PATHSPECS", "1")];
        let all = || files.iter().map(String::as_str);
        let listed: Vec<&str> = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--"]
            .into_iter()
            .chain(all())
            .collect();
        let listed = self.text(&listed, &literal)?;
        let known: Vec<&str> = listed.split('\0').filter(|name| !name.is_empty()).collect();
        boundary::around("put_back", || {
            for file in files.iter().filter(|file| !known.contains(&file.as_str())) {
                match fs::remove_file(self.root.join(file)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(format!("{file}: {error}"));
                    }
                    Ok(()) | Err(_) => {}
                }
            }
            if known.is_empty() {
                return Ok(());
            }
            let arguments: Vec<&str> =
                ["checkout", "--quiet", commit, "--"].into_iter().chain(known.iter().copied()).collect();
            self.text(&arguments, &literal).map(drop)
        })
    }

    /// Tells whether everything is committed, as far as nothing is ignored.
    pub fn is_all_committed(&self) -> Result<bool, String> {
        Ok(self.text(&["status", "--porcelain", "-z", "--untracked-files=normal"], &[])?.is_empty())
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

    /// Returns the current commit.
    pub fn head_commit(&self) -> Result<String, String> {
        match self.head() {
            Seen::Value(head) => Ok(head),
            Seen::Absent(why) | Seen::Failed(why) => Err(why),
        }
    }

    /// Returns the current commit and its tree.
    pub fn head_and_tree(&self) -> Result<(String, String), String> {
        let both = self.text(&["rev-parse", "HEAD^{commit}", "HEAD^{tree}"], &[])?;
        let (head, tree) = both.split_once('\n').ok_or("git names no commit")?;
        Ok((head.to_owned(), tree.to_owned()))
    }

    /// Tells whether a file is in the index.
    pub fn is_tracked(&self, file: &str) -> Result<bool, String> {
        Ok(!self.text(&["ls-files", "--cached", "-z", "--", file], &[])?.is_empty())
    }

    /// Tells whether a commit is part of a branch. One that is not there, or no branch, is not.
    pub fn is_part(&self, commit: &str, branch: &str) -> Result<bool, String> {
        let branch = format!("refs/heads/{branch}");
        Ok(self.run(&["merge-base", "--is-ancestor", commit, &branch], &[])?.is_success())
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

    /// Returns what a name stands for: the whole name of a ref, or the hash of a commit; nothing if there is no such commit.
    pub fn named(&self, name: &str) -> Result<Option<String>, String> {
        let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let commit = self.run(&[&verify[..], &[&format!("{name}^{{commit}}")]].concat(), &[])?;
        if !commit.is_success() {
            return Ok(None);
        }
        let full = self.run(&["rev-parse", "--symbolic-full-name", "--end-of-options", name], &[])?;
        let full = full.text().lines().last().unwrap_or_default().to_owned();
        Ok(Some(if full.starts_with("refs/") { full } else { commit.text() }))
    }

    /// Returns the commit that a ref or a hash stands for.
    pub fn commit_of(&self, name: &str) -> Result<String, String> {
        self.text(
            &["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")],
            &[],
        )
    }

    /// Returns where a branch is pushed to: a remote's name and address.
    pub fn remote(&self) -> Result<(String, String), String> {
        if self.names_no_remote() {
            return Err("there is no remote to push to".to_owned());
        }
        let remotes = self.text(&["remote"], &[])?;
        let name = remotes.lines().find(|name| *name == "origin").or_else(|| remotes.lines().next());
        let name = name.ok_or("there is no remote to push to")?.to_owned();
        let address = self.text(&["remote", "get-url", "--push", &name], &[])?;
        Ok((name, address))
    }

    /// Tells whether the repository's own configuration, which has no other parts, names no remote.
    fn names_no_remote(&self) -> bool {
        let Some(location) = self.in_files() else { return false };
        let Ok(text) = fs::read_to_string(location.common_dir.join("config")) else { return false };
        let text = text.to_lowercase();
        !["remote", "include", "worktreeconfig"].iter().any(|word| text.contains(word))
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
}
