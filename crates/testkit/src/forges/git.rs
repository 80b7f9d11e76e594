//! The real repositories of a double: bare, with commits, merges and diffs by git itself, and git's own HTTP server.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use super::http::{Answer, Request};
use crate::agents::output;

/// How long one git command may take; a few milliseconds are usual.
const PATIENCE: Duration = Duration::from_secs(60);
/// Refuses a push to a protected branch: its name is a line of the file `protected`.
const UPDATE_HOOK: &str = r#"#!/bin/sh
if [ -f protected ] && grep -qxF "$1" protected; then
    echo "protected branch: changes must be made through a pull request" >&2
    exit 1
fi
"#;
/// How a merge is put into history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Merge,
    Squash,
    Rebase,
    FastForward,
}

/// A bare repository.
#[derive(Clone, Debug)]
pub(crate) struct Bare {
    pub(crate) dir: PathBuf,
}

/// A commit as a forge shows it.
#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub(crate) sha: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) date: String,
    pub(crate) message: String,
}

/// A file of a diff.
#[derive(Clone, Debug)]
pub(crate) struct Changed {
    pub(crate) path: String,
    pub(crate) status: &'static str,
    pub(crate) additions: u64,
    pub(crate) deletions: u64,
    pub(crate) blob: String,
    pub(crate) patch: String,
}

impl Bare {
    /// Makes a repository with one commit on its default branch.
    pub(crate) fn create(dir: PathBuf, branch: &str, now: &str) -> Self {
        fs::create_dir_all(&dir).expect("a repository's directory can be made");
        let bare = Self { dir };
        bare.git(&["init", "--quiet", "--bare", "--initial-branch", branch], &[]);
        for (key, value) in [
            ("http.receivepack", "true"),
            ("uploadpack.allowAnySHA1InWant", "true"),
            ("receive.denyDeleteCurrent", "true"),
            ("gc.auto", "0"),
            // A merge needs no other process that outlives the command.
            ("receive.autogc", "false"),
        ] {
            bare.git(&["config", key, value], &[]);
        }
        // Another process writes the hook: a descriptor of this one that a program inherits just then would keep it busy.
        let hook = "mkdir -p hooks && cat > hooks/update && chmod 755 hooks/update";
        let mut command = Command::new("sh");
        command.args(["-c", hook]).current_dir(&bare.dir).stdin(stdin(UPDATE_HOOK.as_bytes()));
        assert!(output(command, PATIENCE).status.success(), "the hook can be written");
        bare.commit(branch, &[("README.md", Some("# A project\n"))], "Initial commit", now);
        bare
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(&self.dir);
        hermetic(&mut command, &self.dir);
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str], input: &[u8], variables: &[(&str, &str)]) -> Output {
        let mut command = self.command(arguments);
        command.envs(variables.iter().copied());
        if !input.is_empty() {
            command.stdin(stdin(input));
        }
        output(command, PATIENCE)
    }

    /// Runs git and expects success; returns what it printed without the last line's end.
    fn git(&self, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        self.with_input(arguments, &[], variables)
    }

    fn with_input(&self, arguments: &[&str], input: &[u8], variables: &[(&str, &str)]) -> String {
        let output = self.run(arguments, input, variables);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?} in {}: {said}", self.dir.display());
        String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned()
    }

    /// Returns what git printed, or none if it failed.
    fn ask(&self, arguments: &[&str]) -> Option<String> {
        let output = self.run(arguments, &[], &[]);
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Returns every ref with what it points to.
    pub(crate) fn refs(&self) -> BTreeMap<String, String> {
        let all = self.git(&["for-each-ref", "--format=%(refname) %(objectname)"], &[]);
        let pairs = all.lines().filter_map(|line| line.split_once(' '));
        pairs.map(|(name, sha)| (name.to_owned(), sha.to_owned())).collect()
    }

    /// Returns the commit that a name or a digest stands for.
    pub(crate) fn resolve(&self, name: &str) -> Option<String> {
        if name.is_empty() || name.starts_with('-') {
            return None;
        }
        self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")])
    }

    /// Commits files on a branch, which it makes from the default branch if need be; no text removes a file.
    pub(crate) fn commit(
        &self,
        branch: &str,
        files: &[(&str, Option<&str>)],
        message: &str,
        now: &str,
    ) -> String {
        let parent = self.resolve(&format!("refs/heads/{branch}")).or_else(|| self.resolve("HEAD"));
        let index = tempfile::NamedTempFile::with_prefix_in("index-", &self.dir)
            .expect("an index can be made")
            .into_temp_path();
        // git takes an empty file for a broken index.
        fs::remove_file(&index).expect("the empty index can be removed");
        let place = index.to_str().expect("a temporary path is text").to_owned();
        let variables = [("GIT_INDEX_FILE", place.as_str())];
        if let Some(parent) = &parent {
            self.git(&["read-tree", parent], &variables);
        }
        for (path, text) in files {
            if let Some(text) = text {
                let blob = self.with_input(&["hash-object", "-w", "--stdin"], text.as_bytes(), &[]);
                self.git(
                    &["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")],
                    &variables,
                );
            } else {
                self.git(&["update-index", "--force-remove", path], &variables);
            }
        }
        let tree = self.git(&["write-tree"], &variables);
        let parents: Vec<&str> = parent.as_deref().into_iter().collect();
        let sha = self.commit_tree(&tree, &parents, message, now, None);
        self.set_ref(&format!("refs/heads/{branch}"), &sha);
        sha
    }

    fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
        now: &str,
        author: Option<&Commit>,
    ) -> String {
        let mut arguments = vec!["commit-tree", tree, "-F", "-"];
        for parent in parents {
            arguments.extend(["-p", parent]);
        }
        let mut variables = vec![("GIT_AUTHOR_DATE", now), ("GIT_COMMITTER_DATE", now)];
        if let Some(author) = author {
            variables = vec![
                ("GIT_AUTHOR_NAME", &author.name),
                ("GIT_AUTHOR_EMAIL", &author.email),
                ("GIT_AUTHOR_DATE", &author.date),
                ("GIT_COMMITTER_DATE", now),
            ];
        }
        self.with_input(&arguments, message.as_bytes(), &variables)
    }

    pub(crate) fn set_ref(&self, name: &str, sha: &str) {
        self.git(&["update-ref", name, sha], &[]);
    }

    pub(crate) fn delete_ref(&self, name: &str) {
        self.git(&["update-ref", "-d", name], &[]);
    }

    /// Says which branches refuse pushes.
    pub(crate) fn protect(&self, branches: &[String]) {
        let lines: String = branches.iter().map(|branch| format!("refs/heads/{branch}\n")).collect();
        fs::write(self.dir.join("protected"), lines).expect("the list of protected branches can be written");
    }

    pub(crate) fn is_ancestor(&self, ancestor: &str, of: &str) -> bool {
        self.ask(&["merge-base", "--is-ancestor", ancestor, of]).is_some()
    }

    pub(crate) fn merge_base(&self, one: &str, other: &str) -> Option<String> {
        self.ask(&["merge-base", one, other])
    }

    /// Merges `head` into `base` without moving a ref; none if they conflict.
    pub(crate) fn merge(
        &self,
        base: &str,
        head: &str,
        style: Style,
        message: &str,
        now: &str,
    ) -> Option<String> {
        match style {
            Style::Merge => {
                let tree = self.ask(&["merge-tree", "--write-tree", base, head])?;
                Some(self.commit_tree(&tree, &[base, head], message, now, None))
            }
            Style::Squash => {
                let tree = self.ask(&["merge-tree", "--write-tree", base, head])?;
                Some(self.commit_tree(&tree, &[base], message, now, None))
            }
            Style::Rebase => {
                let mut onto = base.to_owned();
                for commit in self.log(base, head) {
                    let parent = commit.parents.first()?;
                    let tree = self.ask(&[
                        "merge-tree",
                        "--write-tree",
                        "--merge-base",
                        parent,
                        &onto,
                        &commit.sha,
                    ])?;
                    onto = self.commit_tree(&tree, &[&onto], &commit.message, now, Some(&commit));
                }
                Some(onto)
            }
            Style::FastForward => self.is_ancestor(base, head).then(|| head.to_owned()),
        }
    }

    /// Says whether two commits can be merged without a conflict.
    pub(crate) fn merges(&self, base: &str, head: &str) -> bool {
        self.ask(&["merge-tree", "--write-tree", base, head]).is_some()
    }

    /// Returns the commits of `head` that `base` lacks, the oldest first.
    pub(crate) fn log(&self, base: &str, head: &str) -> Vec<Commit> {
        self.commits(&["--reverse", &format!("{base}..{head}")])
    }

    /// Returns the newest commits of a name, the newest first.
    pub(crate) fn history(&self, name: &str, most: usize) -> Vec<Commit> {
        self.commits(&["-n", &most.to_string(), name])
    }

    fn commits(&self, arguments: &[&str]) -> Vec<Commit> {
        let mut all = vec!["log", "-z", "--format=%H%n%T%n%P%n%an%n%ae%n%aI%n%B"];
        all.extend(arguments);
        all.push("--");
        let text = self.ask(&all).unwrap_or_default();
        text.split('\0').filter_map(commit).collect()
    }

    /// Returns the files that differ between the merge base and `head`.
    pub(crate) fn changed(&self, base: &str, head: &str) -> Vec<Changed> {
        let range = format!("{base}...{head}");
        let raw = self
            .ask(&["diff", "--raw", "--numstat", "--no-abbrev", "--no-renames", &range])
            .unwrap_or_default();
        let (mut kinds, mut counts) = (BTreeMap::new(), BTreeMap::new());
        for line in raw.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields.as_slice() {
                [head, path] if head.starts_with(':') => {
                    let words: Vec<&str> = head.split(' ').collect();
                    let status = match words.last() {
                        Some(&"A") => "added",
                        Some(&"D") => "removed",
                        _ => "modified",
                    };
                    let blob =
                        words.get(if status == "removed" { 2 } else { 3 }).copied().unwrap_or_default();
                    kinds.insert((*path).to_owned(), (status, blob.to_owned()));
                }
                [added, removed, path] => {
                    let count = |text: &str| text.parse::<u64>().unwrap_or_default();
                    counts.insert((*path).to_owned(), (count(added), count(removed)));
                }
                _ => {}
            }
        }
        let all = kinds.into_iter().map(|(path, (status, blob))| {
            let (additions, deletions) = counts.get(&path).copied().unwrap_or_default();
            let patch = self.ask(&["diff", "--no-renames", &range, "--", &path]).unwrap_or_default();
            // A forge leaves out what comes before the first hunk.
            let patch = patch.find("\n@@").map(|at| patch[at + 1..].to_owned()).unwrap_or_default();
            Changed { path, status, additions, deletions, blob, patch }
        });
        all.collect()
    }

    /// Returns what `head` changes since the merge base, as a diff.
    pub(crate) fn diff(&self, base: &str, head: &str) -> String {
        let text = self.ask(&["diff", &format!("{base}...{head}")]).unwrap_or_default();
        if text.is_empty() { text } else { text + "\n" }
    }

    /// Returns what `head` changes since the merge base, as mails.
    pub(crate) fn patch(&self, base: &str, head: &str) -> String {
        self.ask(&["format-patch", "--stdout", &format!("{base}..{head}")]).unwrap_or_default()
    }

    /// Returns a file's text at a commit.
    pub(crate) fn file(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        let output = self.run(&["cat-file", "blob", &format!("{commit}:{path}")], &[], &[]);
        output.status.success().then_some(output.stdout)
    }

    /// Returns the id of a file's blob at a commit.
    pub(crate) fn blob(&self, commit: &str, path: &str) -> Option<String> {
        self.ask(&["rev-parse", "--verify", "--quiet", &format!("{commit}:{path}")])
    }
}

/// Answers a request of a git client with git's own server. `path` begins with the repository's below `root`.
pub(crate) fn http_backend(root: &Path, path: &str, request: &Request, account: Option<&str>) -> Answer {
    let mut command = Command::new("git");
    command.arg("http-backend").current_dir(root).stdin(stdin(&request.body));
    hermetic(&mut command, root);
    command
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", &request.query_text)
        .env("REQUEST_METHOD", &request.method)
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("REMOTE_ADDR", "127.0.0.1");
    if let Some(account) = account {
        command.env("REMOTE_USER", account);
    }
    for (header, variable) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = request.header(header) {
            command.env(variable, value);
        }
    }
    let said = output(command, PATIENCE).stdout;
    let Some(end) = said.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Answer::text(500, "git http-backend gave no answer");
    };
    let mut answer = Answer { status: 200, headers: Vec::new(), body: said[end + 4..].to_vec() };
    for line in String::from_utf8_lossy(&said[..end]).lines() {
        let Some((name, value)) = line.split_once(": ") else { continue };
        if name.eq_ignore_ascii_case("status") {
            answer.status = value.get(..3).and_then(|code| code.parse().ok()).unwrap_or(500);
        } else {
            answer.headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
    }
    answer
}

/// Leaves a command nothing of the person who runs the tests.
fn hermetic(command: &mut Command, home: &Path) {
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("LANG", "C.UTF-8")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "Forge")
        .env("GIT_AUTHOR_EMAIL", "forge@localhost")
        .env("GIT_COMMITTER_NAME", "Forge")
        .env("GIT_COMMITTER_EMAIL", "forge@localhost");
}

fn stdin(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a command's input can be kept");
    file.write_all(bytes)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .expect("a command's input can be kept");
    file
}

fn commit(text: &str) -> Option<Commit> {
    let mut lines = text.trim_start_matches('\n').splitn(7, '\n');
    let mut next = || lines.next().map(str::to_owned);
    Some(Commit {
        sha: next()?,
        tree: next()?,
        parents: next()?.split_whitespace().map(str::to_owned).collect(),
        name: next()?,
        email: next()?,
        date: next()?,
        message: next()?.trim_end().to_owned(),
    })
}
