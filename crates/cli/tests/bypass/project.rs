//! A project with everything that could be moved or lost, and an agent in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use adapters::machine;
use engine::{Event, Owner, Standing};
use serde_json::{Map, json};
use shell::{Judgement, Protected, Scene, judge};
use tempfile::TempDir;
use testkit::Sandbox;

use super::{
    WARP,
    agent::{Agent, Ended, SESSION},
    tree::Tree,
};
use crate::support::{InProject as _, workspace};

/// Whose the workspace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workplace {
    /// Made for the run: what was moved without permission goes back.
    Own,
    /// A person's: nothing is moved, the run waits for a word.
    Persons,
}

/// What is not committed when a command is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uncommitted {
    /// Staged, changed and new files.
    Everything,
    /// New files only: git does what it would refuse over changed ones.
    New,
}

pub(crate) struct Project {
    sandbox: Sandbox,
    agent: Agent,
    template: Tree,
    work: Work,
    before: Refs,
    _notes: TempDir,
}

/// The work that is not committed.
struct Work {
    /// Files and their bytes, with the name that git gives those.
    files: Vec<(PathBuf, Vec<u8>, String)>,
    /// What is staged: path and object.
    staged: Vec<(String, String)>,
}

/// Where everything is, as git tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refs {
    pub(crate) head: String,
    pub(crate) refs: BTreeMap<String, String>,
    stashes: BTreeSet<String>,
    remote: String,
}

/// What is not where it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Refs that are elsewhere, of this repository or of the remote.
    pub(crate) moved: Vec<String>,
    /// Work that is neither in the tree nor in the index any more, but kept.
    pub(crate) kept: Vec<String>,
    /// Work that is nowhere.
    pub(crate) lost: Vec<String>,
}

impl Changed {
    pub(crate) fn is_nothing(&self) -> bool {
        self.moved.is_empty() && self.kept.is_empty() && self.lost.is_empty()
    }
}

/// What a hook answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) code: Option<i32>,
    pub(crate) err: String,
}

impl Project {
    /// Makes a project whose run stands in `coding`.
    pub(crate) fn new(workplace: Workplace, uncommitted: Uncommitted) -> Self {
        Self::with(workplace, uncommitted, Agent::start)
    }

    /// Makes one in a person's checkout, for commands that may remove anything: the agent can write nowhere else.
    pub(crate) fn contained_in_namespace() -> Self {
        Self::with(Workplace::Persons, Uncommitted::Everything, Agent::contained)
    }

    fn with(
        workplace: Workplace,
        uncommitted: Uncommitted,
        start: impl Fn(&Sandbox, &Path) -> Agent,
    ) -> Self {
        let sandbox = Sandbox::new(WARP);
        let notes = TempDir::with_prefix("warp-notes-").unwrap();
        history(&sandbox);
        let agent = start(&sandbox, notes.path());
        begin(&sandbox, &agent, workplace);
        let work = work(&sandbox, uncommitted);
        let mut project = Self {
            template: Tree::read(sandbox.home()),
            sandbox,
            agent,
            work,
            before: Refs::default(),
            _notes: notes,
        };
        project.before = project.refs().unwrap();
        project.sandbox.git(&["fsck", "--no-dangling"]);
        project.template = Tree::read(project.sandbox.home());
        assert_eq!(project.changed(), Changed::default());
        project
    }

    /// Goes on to `committing`; that is where everything goes back to from then on.
    pub(crate) fn go_to_committing(&mut self) {
        for event in ["code_complete", "docs_updated", "tests_passed"] {
            self.sandbox.warp_ok(&["state", "transition", ".", event]);
        }
        assert_eq!(self.phase(), "committing");
        self.template = Tree::read(self.sandbox.home());
    }

    /// Puts everything back as it was made.
    pub(crate) fn put_back(&self) {
        self.template.put_back();
    }

    /// Reads a command as the gate does, without a process.
    pub(crate) fn judge(&self, command: &str) -> Judgement {
        let (root, home) = (self.sandbox.root(), self.sandbox.home());
        let protect = |path: PathBuf| Protected { path, instead: "ask a person".to_owned() };
        let protected = [
            root.join(".git"),
            root.join(".claude/settings.json"),
            root.join(".claude/.warp-drive-state.json"),
            home.join("state/warp"),
            home.join("config/warp"),
        ];
        let protected = protected.map(protect);
        judge(
            command,
            &Scene {
                root: &root,
                cwd: &root,
                home: Some(home),
                protected: &protected,
                repository: &|_| None,
            },
        )
    }

    /// Asks the real gate about a command.
    pub(crate) fn gate(&self, command: &str) -> Answered {
        self.hook("pre-tool-use", command, None)
    }

    /// Has the real gate keep what is not committed, as it does before it lets something through. Everything goes back
    /// to this from then on, so that it need not be done for each command anew.
    pub(crate) fn keep(&mut self) {
        let answered = self.gate("./build.sh");
        assert_eq!(answered.code, Some(0), "{answered:?}");
        assert!(!self.kept_objects().is_empty());
        self.template = Tree::read(self.sandbox.home());
    }

    /// Tells the real hook that a command has ended.
    pub(crate) fn after(&self, command: &str, ended: &Ended) -> Answered {
        match ended.code {
            0 => self.hook("post-tool-use", command, None),
            code => self.hook("post-tool-use-failure", command, Some(code)),
        }
    }

    fn hook(&self, event: &str, command: &str, failed: Option<i32>) -> Answered {
        let mut input = json!({
            "session_id": SESSION, "cwd": self.sandbox.root(),
            "tool_name": "Bash", "tool_input": { "command": command },
        });
        if let Some(code) = failed {
            input["error"] = json!(format!("Exit code {code}"));
        }
        let mut process = self.sandbox.warp_command(&["hook", event]);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A command may have taken the project away.
        process.current_dir(self.sandbox.home());
        let mut child = process.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        Answered { code: output.status.code(), err: String::from_utf8_lossy(&output.stderr).into_owned() }
    }

    /// Runs a command as the agent.
    pub(crate) fn run(&mut self, command: &str) -> Ended {
        self.agent.run(command)
    }

    /// Spells a command of the corpus so that it writes nowhere but here.
    pub(crate) fn contained(&self, command: &str) -> String {
        command.replace("/tmp/", &format!("{}/tmp/", self.sandbox.home().display()))
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.sandbox.root()
    }

    pub(crate) fn home(&self) -> &Path {
        self.sandbox.home()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(arguments)
    }

    pub(crate) fn phase(&self) -> String {
        let current = workspace(&self.sandbox).current().unwrap().unwrap();
        current.run.phase.to_string()
    }

    pub(crate) fn standing(&self) -> Standing {
        workspace(&self.sandbox).current().unwrap().unwrap().run.standing.clone()
    }

    /// Says where everything is; nothing if git cannot.
    pub(crate) fn refs(&self) -> Option<Refs> {
        self.refs_in(&self.sandbox.root())
    }

    fn refs_in(&self, root: &Path) -> Option<Refs> {
        let refs = self.look(root, &["for-each-ref", "--format=%(refname) %(objectname) %(symref)"])?;
        let refs = refs
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, at)| (name.to_owned(), at.trim_end().to_owned()));
        let stashes = self.look(root, &["stash", "list", "--format=%H"])?;
        Some(Refs {
            head: self
                .look(root, &["symbolic-ref", "HEAD"])
                .or_else(|| self.look(root, &["rev-parse", "HEAD"]))?,
            refs: refs.filter(|(name, _)| is_held(name)).collect(),
            stashes: stashes.lines().map(str::to_owned).collect(),
            remote: self.look(&self.sandbox.home().join("remote.git"), &["for-each-ref"])?,
        })
    }

    /// Says what is not where it was.
    pub(crate) fn changed(&self) -> Changed {
        let now = Tree::read(self.sandbox.home());
        let mut changed = Changed::default();
        let git = self.sandbox.root().join(".git");
        let holds_refs = [
            "HEAD",
            "packed-refs",
            "refs/heads",
            "refs/tags",
            "refs/stash",
            "refs/replace",
            "refs/original",
            "logs/refs/stash",
            "reftable",
        ];
        let same_refs = holds_refs.iter().all(|path| now.is_same(&self.template, &git.join(path)))
            && now.is_same(&self.template, &self.sandbox.home().join("remote.git"));
        if !same_refs {
            match self.refs() {
                Some(refs) => changed.moved = moves(&self.before, &refs),
                None => changed.moved.push("git sees no repository".to_owned()),
            }
            let whole = ["rev-list", "--quiet", "--objects", "--all"];
            if changed.moved.is_empty() && self.look(&self.sandbox.root(), &whole).is_none() {
                changed.lost.push("an object of the history".to_owned());
            }
        }
        let mut gone: Vec<(String, &str)> = Vec::new();
        for (path, bytes, object) in &self.work.files {
            if now.file(path) != Some(bytes) {
                gone.push((path.display().to_string(), object));
            }
        }
        if !now.is_same(&self.template, &git.join("index")) {
            let staged = self.look(&self.sandbox.root(), &["ls-files", "--stage"]).unwrap_or_default();
            for (path, object) in &self.work.staged {
                if !staged.contains(&format!("{object} 0\t{path}")) {
                    gone.push((format!("{path} as staged"), object));
                }
            }
        }
        if !gone.is_empty() {
            let kept = self.kept_objects();
            for (what, object) in gone {
                let is_kept = kept.lines().any(|line| line.starts_with(object));
                if is_kept { changed.kept.push(what) } else { changed.lost.push(what) }
            }
        }
        changed
    }

    /// Lists every object that is kept, in the repository and outside of it.
    fn kept_objects(&self) -> String {
        let list = ["rev-list", "--objects", "--glob=refs/warp/salvage"];
        let projects = fs::read_dir(self.sandbox.home().join("state/warp/projects"));
        let vaults = projects.into_iter().flatten().flatten().map(|entry| entry.path().join("snapshots.git"));
        let places = std::iter::once(self.sandbox.root()).chain(vaults);
        let lists: Vec<String> = places.filter_map(|place| self.look(&place, &list)).collect();
        lists.join("\n")
    }

    /// Returns everything below the project as it was made, and as it is.
    pub(crate) fn files(&self) -> [BTreeMap<PathBuf, String>; 2] {
        let root = self.sandbox.root();
        [self.template.below(&root), Tree::read(self.sandbox.home()).below(&root)]
    }

    /// Makes the project anew beside itself, and returns what is there, and where its refs are. Nothing if warp cannot.
    pub(crate) fn rebuilt(&self) -> Result<(BTreeMap<PathBuf, String>, Refs), String> {
        let to = self.sandbox.home().join("rebuilt");
        let mut process = self.sandbox.warp_command(&["salvage", "rebuild", "--to"]);
        // The project may be gone.
        process.arg(&to).arg("--project").arg(self.sandbox.root()).current_dir(self.sandbox.home());
        let output = process.output().unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let refs = self.refs_in(&to).ok_or("git sees no repository")?;
        Ok((Tree::read(&to).below(&to), refs))
    }

    /// Returns where everything was.
    pub(crate) fn refs_before(&self) -> &Refs {
        &self.before
    }

    /// Says what has moved since; nothing if git sees no repository.
    pub(crate) fn moved_from(&self, before: &Refs) -> Option<Vec<String>> {
        self.refs().map(|now| moves(before, &now))
    }

    /// Runs git as a person who looks.
    fn look(&self, directory: &Path, arguments: &[&str]) -> Option<String> {
        let mut command = self.sandbox.command("git");
        command.args(arguments).current_dir(if directory.is_dir() { directory } else { self.sandbox.home() });
        // Whatever is above is no repository of this test.
        command.env("GIT_CEILING_DIRECTORIES", self.sandbox.home()).env("GIT_OPTIONAL_LOCKS", "0");
        let output = command.output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Returns the processes that work in this home, but for the agent itself.
    pub(crate) fn processes(&self) -> Vec<String> {
        let home = self.sandbox.home().canonicalize().unwrap();
        let works_here =
            |path: &PathBuf| fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&home));
        let is_agent = |path: &PathBuf| path.ends_with(self.agent.id().to_string());
        let all = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        let left = all.filter(|path| works_here(path) && !is_agent(path));
        left.map(|path| fs::read_to_string(path.join("cmdline")).unwrap_or_default())
            .filter(|line| !line.is_empty())
            .collect()
    }
}

/// Tells whether a ref is one of those that nobody moves without leave.
fn is_held(name: &str) -> bool {
    !name.starts_with("refs/warp/") && !name.starts_with("refs/remotes/")
}

/// Says what is elsewhere. A branch or a tag that was made is nothing moved.
pub(crate) fn moves(before: &Refs, now: &Refs) -> Vec<String> {
    let mut moved = Vec::new();
    if before.head != now.head {
        moved.push(format!("HEAD from {} to {}", before.head, now.head));
    }
    for (name, at) in &before.refs {
        match now.refs.get(name) {
            Some(now) if now == at => {}
            now => moved.push(format!("{name} from {at} to {now:?}")),
        }
    }
    let made = now.refs.keys().filter(|name| !before.refs.contains_key(*name));
    let is_wrong = |name: &&String| !name.starts_with("refs/heads/") && !name.starts_with("refs/tags/");
    moved.extend(made.filter(is_wrong).map(|name| format!("{name} was made")));
    moved.extend(before.stashes.difference(&now.stashes).map(|stash| format!("stash {stash} is gone")));
    if before.remote != now.remote {
        moved.push(format!("the remote's refs: {} to {}", before.remote, now.remote));
    }
    moved
}

/// Makes two commits on `main`, a branch `other`, tags, a remote that is one commit behind, two stashes, and a second
/// working tree; and installs the hooks.
fn history(sandbox: &Sandbox) {
    let git = |arguments: &[&str]| sandbox.git(arguments);
    git(&["switch", "--quiet", "main"]);
    git(&["branch", "--quiet", "-D", "feature/issue-42-parser"]);
    // Nothing here has to outlast a power cut, and waiting for the disk is most of what this would take.
    for (name, value) in [
        ("gc.auto", "0"),
        ("maintenance.auto", "false"),
        ("core.fsync", "none"),
        ("advice.detachedHead", "false"),
    ] {
        git(&["config", name, value]);
    }
    sandbox.write("README.md", "Read this.\n");
    sandbox.write("tracked.txt", "one\n");
    sandbox.write("kept.txt", "one\n");
    sandbox.write("docs/guide.md", "Guide.\n");
    sandbox.write(".gitignore", "ignored\n");
    sandbox.write("Makefile", "clean:\n\trm -rf .[!.]* *\n");
    sandbox.write("wipe.sh", "rm -rf .git notes *.txt\n");
    sandbox.warp_ok(&["init", "--no-skills"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "feat: one"]);
    git(&["switch", "--quiet", "-c", "other"]);
    sandbox.write("other.txt", "other\n");
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "feat: other"]);
    git(&["switch", "--quiet", "main"]);
    let remote = sandbox.home().join("remote.git");
    let remote = remote.to_str().unwrap();
    git(&["init", "--quiet", "--bare", "--initial-branch", "main", remote]);
    git(&["remote", "add", "origin", remote]);
    git(&["push", "--quiet", "origin", "main", "other"]);
    sandbox.write("tracked.txt", "two\n");
    git(&["commit", "--quiet", "-am", "feat: two"]);
    git(&["tag", "v1"]);
    git(&["tag", "-a", "-m", "two", "v2"]);
    for text in ["stash one\n", "stash two\n"] {
        sandbox.write("tracked.txt", text);
        git(&["stash", "--quiet"]);
    }
    let second = sandbox.home().join("second");
    git(&["worktree", "add", "--quiet", "-b", "second", second.to_str().unwrap()]);
    fs::write(second.join("kept.txt"), "changed in the second\n").unwrap();
    fs::write(second.join("new.txt"), "new in the second\n").unwrap();
}

/// Leaves work that is not committed in both working trees.
fn work(sandbox: &Sandbox, uncommitted: Uncommitted) -> Work {
    let root = sandbox.root();
    let second = sandbox.home().join("second");
    let mut paths = vec![
        root.join("untracked.txt"),
        root.join("notes/deep.txt"),
        second.join("kept.txt"),
        second.join("new.txt"),
    ];
    let mut staged = Vec::new();
    sandbox.write("untracked.txt", "not tracked\n");
    sandbox.write("notes/deep.txt", "deep\n");
    if uncommitted == Uncommitted::Everything {
        for (path, text) in [("tracked.txt", "staged\n"), ("added.txt", "added\n")] {
            sandbox.write(path, text);
            sandbox.git(&["add", path]);
            staged.push((path.to_owned(), sandbox.git(&["hash-object", path])));
        }
        sandbox.write("tracked.txt", "in the tree\n");
        sandbox.write("kept.txt", "changed\n");
        paths.extend(["tracked.txt", "kept.txt", "added.txt"].map(|path| root.join(path)));
    }
    let file = |path: PathBuf| {
        let object = sandbox.git(&["hash-object", path.to_str().unwrap()]);
        let bytes = fs::read(&path).unwrap();
        (path, bytes, object)
    };
    Work { files: paths.into_iter().map(file).collect(), staged }
}

/// Begins a run that the agent owns, and goes on to `coding`.
fn begin(sandbox: &Sandbox, agent: &Agent, workplace: Workplace) {
    let pid = agent.id().to_string();
    let mut arguments = vec!["state", "init", ".", "--level", "2", "--issue", "42", "--pid", &pid];
    if workplace == Workplace::Own {
        arguments.push("--own");
    }
    sandbox.warp_ok(&arguments);
    let owner = Owner { session: Some(SESSION.to_owned()), ..machine::owner(agent.id()) };
    workspace(sandbox).ask(Event::OwnerChanged { owner }, Map::new()).unwrap();
    sandbox.to_coding(r#"[["AC-01"],["AC-02"]]"#);
}
