//! Git whose repository is known without the tree, and work that is kept, with real git.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use adapters::git::{
    Git, ListingCache, Location,
    hooks::{self, Scope},
    locate, salvage,
    slot::{self, Kind},
};
use adapters::refs::GitError;
use engine::Seen;
use testkit::Sandbox;

/// A slot as it lies on disk: a clone of the sandbox's project, checked out.
fn slot(sandbox: &Sandbox) -> (PathBuf, Location) {
    let directory = sandbox.home().join("slot");
    let (tree, git_dir) = (directory.join("tree"), directory.join("git"));
    fs::create_dir_all(&tree).unwrap();
    let origin = locate(&sandbox.root()).unwrap();
    slot::clone(&origin, "main", &git_dir).unwrap();
    slot::mark(&directory, Kind::Clone, &git_dir, &sandbox.root()).unwrap();
    let location = Location { git_dir: git_dir.clone(), common_dir: git_dir };
    let nothing = |_: &Path| Ok::<_, GitError>(());
    let head = slot::Head::Detached("refs/heads/main");
    slot::check_out_only(&tree, &location, head, slot::Ignored::Removed, nothing).unwrap();
    (tree, location)
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new("warp");
    sandbox.git(&["config", "user.name", "Ann"]);
    sandbox.git(&["config", "user.email", "ann@localhost"]);
    sandbox.git(&["config", "core.fsmonitor", "/bin/false"]);
    sandbox.git(&["config", "alias.status", "!false"]);
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("a.txt", "one\n");
    sandbox.git(&["-c", "core.fsmonitor=false", "add", "."]);
    sandbox.git(&["commit", "--quiet", "-m", "feat: a"]);
    sandbox
}

#[test]
fn a_tree_with_a_marker_beside_it_has_the_repository_that_the_marker_names() {
    let sandbox = sandbox();
    let (tree, location) = slot(&sandbox);
    let head = sandbox.git(&["rev-parse", "main"]);
    assert_eq!(locate(&tree), Some(location.clone()));
    assert_eq!(Git::new(&tree).head(), Seen::Value(head.clone()));
    // There is no `.git` at all; one that leads elsewhere changes nothing.
    fs::write(tree.join(".git"), format!("gitdir: {}\n", sandbox.root().join(".git").display())).unwrap();
    assert_eq!(locate(&tree), Some(location.clone()));
    let git = Git::trusted(&tree, location);
    fs::write(tree.join("b.txt"), "two\n").unwrap();
    let made = git.prepare(Vec::new()).unwrap().commit("feat: b").unwrap();
    assert_eq!(git.head(), Seen::Value(made));
    assert_eq!(sandbox.git(&["rev-parse", "main"]), head);
    let nothing = git.prepare(Vec::new()).unwrap().commit("feat: nothing").unwrap_err();
    assert_eq!(nothing, "there is nothing to commit");
}

#[test]
fn a_commit_that_was_laid_aside_is_taken_up_only_while_the_files_are_as_it_has_them() {
    let sandbox = sandbox();
    let (tree, location) = slot(&sandbox);
    let git = Git::trusted(&tree, location);
    let put = |name: &str, text: &str| fs::write(tree.join(name), text).unwrap();
    let laid = || {
        let prepared = git.prepare(Vec::new()).unwrap();
        let tree = prepared.tree().unwrap();
        (prepared.lay_aside().unwrap(), tree)
    };
    let is_taken_up = |laid| git.take_up(laid).unwrap().is_some();
    assert!(git.prepare(Vec::new()).unwrap().lay_aside().is_none(), "its tree was not asked for");
    put("b.txt", "two\n");
    let (same, _) = laid();
    assert!(is_taken_up(same));
    let (changed, _) = laid();
    put("b.txt", "six\n");
    assert!(!is_taken_up(changed));
    let (more, _) = laid();
    put("c.txt", "new\n");
    assert!(!is_taken_up(more));
    let (less, _) = laid();
    fs::remove_file(tree.join("a.txt")).unwrap();
    assert!(!is_taken_up(less));
    let (last, wanted) = laid();
    // A person's own settings are in no commit.
    fs::create_dir(tree.join(".claude")).unwrap();
    put(".claude/settings.local.json", "{}");
    let taken = git.take_up(last).unwrap().unwrap();
    assert_eq!(taken.tree().unwrap(), wanted);
    taken.commit("feat: b and c").unwrap();
    assert_eq!(git.head_and_tree().unwrap().1, wanted);
    assert!(git.prepare(Vec::new()).unwrap().is_empty().unwrap());
}

#[test]
fn changed_and_new_files_are_listed_alike_from_the_last_commit_and_from_any_other() {
    let sandbox = sandbox();
    let (tree, location) = slot(&sandbox);
    let git = Git::trusted(&tree, location);
    let base = git.head_commit().unwrap();
    let listed = |since: &str| match git.diff(Some(since), &[], &mut ListingCache::default()) {
        Seen::Value(diff) => diff.files,
        Seen::Absent(why) | Seen::Failed(why) => panic!("{why}"),
    };
    fs::write(tree.join("a.txt"), "changed\n").unwrap();
    fs::create_dir(tree.join("d e")).unwrap();
    fs::write(tree.join("d e/\u{e4}.txt"), "new\n").unwrap();
    let files = ["a.txt", "d e/\u{e4}.txt"];
    assert_eq!(listed(&base), files);
    fs::write(tree.join("b.txt"), "two\n").unwrap();
    git.prepare(Vec::new()).unwrap().commit("feat: all").unwrap();
    assert_eq!(listed(&git.head_commit().unwrap()), Vec::<String>::new());
    assert_eq!(listed(&base), ["a.txt", "b.txt", files[1]]);
}

#[test]
fn where_hooks_are_is_told_however_often_it_is_asked() {
    let sandbox = sandbox();
    let (tree, location) = slot(&sandbox);
    let ask = || hooks::hooks_path(&tree, &location).unwrap().filter(|set| set.scope == Scope::Local);
    for _ in 0..3 {
        assert_eq!(ask(), None);
    }
    hooks::set_hooks_path(&tree, &location, Scope::Local, Some("/else/where")).unwrap();
    assert_eq!(ask().unwrap().value, "/else/where");
    hooks::set_hooks_path(&tree, &location, Scope::Local, None).unwrap();
    assert_eq!(ask(), None);
    // A file that another one names counts as much.
    let more = tree.with_file_name("more");
    fs::write(&more, "[core]\n\thooksPath = /by/another\n").unwrap();
    let config = location.common_dir.join("config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}[include]\n\tpath = {}\n", more.display())).unwrap();
    assert_eq!(ask().unwrap().value, "/by/another");
}

#[test]
fn a_clone_takes_over_who_commits_and_no_program() {
    let sandbox = sandbox();
    let (_, location) = slot(&sandbox);
    let config = fs::read_to_string(location.git_dir.join("config")).unwrap();
    assert!(config.contains("name = \"Ann\"") && config.contains("email = \"ann@localhost\""), "{config}");
    for word in ["/bin/false", "alias", "remote"] {
        assert!(!config.contains(word), "{word}: {config}");
    }
}

#[test]
fn a_marker_that_is_a_link_or_lies_elsewhere_is_none() {
    let sandbox = sandbox();
    let (tree, _) = slot(&sandbox);
    let marker = tree.with_file_name("warp-slot");
    fs::rename(&marker, sandbox.home().join("moved")).unwrap();
    std::os::unix::fs::symlink(sandbox.home().join("moved"), &marker).unwrap();
    assert_eq!(slot::marker(&tree), None);
    fs::rename(sandbox.home().join("moved"), sandbox.root().join("warp-slot")).unwrap();
    assert_eq!(slot::marker(&sandbox.root()), None);
}

#[test]
fn kept_work_comes_back_on_a_branch_without_what_was_staged_as_a_parent() {
    let sandbox = sandbox();
    let (tree, location) = slot(&sandbox);
    let origin = locate(&sandbox.root()).unwrap();
    fs::write(tree.join("a.txt"), "two\n").unwrap();
    let name = salvage::snapshot(&tree, &location, "r1").unwrap().unwrap();
    let entries = salvage::list(&location).unwrap();
    assert_eq!((entries.len(), &entries[0].name, entries[0].run.as_str()), (1, &name, "r1"));
    assert!(!salvage::is_reachable(&origin, &entries[0].object).unwrap());
    let shown = salvage::show(&location, &entries[0].object, &["--name-only"]).unwrap();
    assert_eq!(shown, b"a.txt\n");
    let commit = salvage::restore(&location, &origin, &entries[0].object, "back", None).unwrap();
    assert_eq!(sandbox.git(&["show", "back:a.txt"]), "two");
    assert_eq!(sandbox.git(&["rev-parse", "back^"]), sandbox.git(&["rev-parse", "main"]));
    assert!(salvage::is_reachable(&origin, &commit).unwrap());
    salvage::drop(&location, &name, &entries[0].object).unwrap();
    assert!(salvage::list(&location).unwrap().is_empty());
}
