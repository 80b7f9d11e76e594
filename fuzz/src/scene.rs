//! Where hooks are called: directories of their own, so that nothing of the machine is read or written.
//!
//! Targets leave the directories behind; `cargo xtask fuzz` has them in one that it removes, and sends warp's own
//! files there as well.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use adapters::machine;
use engine::{Owner, view::Head};
use tempfile::TempDir;

/// The commit that every ref of a scene is at. There is no such object.
pub const COMMIT: &str = "1111111111111111111111111111111111111111";
/// The refs of a scene.
pub const REFS: [&str; 3] = ["refs/heads/main", "refs/heads/other", "refs/tags/v1"];

/// A directory, perhaps with a repository, perhaps with a run in it.
#[derive(Debug)]
pub struct Scene {
    directory: TempDir,
}

impl Scene {
    /// Nothing at all.
    pub fn empty() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    /// A repository that never had a run.
    pub fn idle() -> Self {
        let scene = Self::empty();
        for directory in ["objects", "refs/heads", "refs/tags"] {
            fs::create_dir_all(scene.git().join(directory)).expect("a directory can be made");
        }
        scene.write(".git/HEAD", "ref: refs/heads/main\n");
        for name in REFS {
            scene.write(&format!(".git/{name}"), &format!("{COMMIT}\n"));
        }
        scene
    }

    /// A repository with a run that may not commit, carried on by whoever started this process.
    pub fn busy() -> Self {
        let scene = Self::idle();
        let head = Head {
            run: "k3".to_owned(),
            workflow: "warp-drive".to_owned(),
            phase: "coding".to_owned(),
            standing: "active".to_owned(),
            events: 9,
            owner: Owner { session: Some("a session".to_owned()), ..machine::owner(machine::parent()) },
            owns_workspace: false,
            stay: "k3.e8".to_owned(),
            most_edits: 5,
            may: Vec::new(),
            leave: vec![("git_commit".to_owned(), vec!["committing".to_owned()])],
        };
        scene.write(".git/warp/project-id", "demo-1\n");
        scene.write(".git/warp/head", &head.render());
        scene
    }

    /// Returns the scene's root.
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file of the scene.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        let directory = path.parent().expect("a file has a directory");
        fs::create_dir_all(directory).expect("a directory can be made");
        fs::write(path, text).expect("a file can be written");
    }

    /// Works in the scene from now on. The fuzzer's own paths have to be absolute for that.
    pub fn enter(&self) {
        env::set_current_dir(self.root()).expect("the scene can be entered");
    }

    fn git(&self) -> PathBuf {
        self.root().join(".git")
    }
}

/// The commands that are refused whatever is around them, and those that need leave.
pub static REFUSED: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    const OTHERS: [&str; 9] = [
        "echo {} > .claude/settings.json",
        "tee .warp/workflows/a.toml < a",
        "sed -i s/a/b/ .claude/settings.json",
        "cp a .claude/settings.json",
        "mv .claude/settings.json a",
        "warp answer 1 continue",
        "warp stop",
        "gh pr merge 1",
        "ln -sf /dev/null .claude/settings.json",
    ];
    let corpus = include_str!("../../crates/shell/tests/corpus/primitives.txt");
    let lines = corpus.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('\t')).map(|(_, command)| command).chain(OTHERS).collect()
});
