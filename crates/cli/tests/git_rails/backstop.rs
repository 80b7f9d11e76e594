use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use project::{
    Place,
    rails::backstop::{State, install, plan, remove, state},
};
use testkit::Sandbox;

use super::WARP;

type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Everything under a directory: modes and bytes, links as what they lead to.
fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let data = path.symlink_metadata().unwrap();
            let bytes = if data.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else if data.is_symlink() {
                fs::read_link(&path).unwrap().to_str().unwrap().as_bytes().to_vec()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path, (data.permissions().mode(), bytes));
        }
    }
    found
}

fn sandbox() -> (Sandbox, Place) {
    let sandbox = Sandbox::new(WARP);
    let place = Place::at(&sandbox.root()).unwrap();
    (sandbox, place)
}

/// Installs, sees to it that twice changes nothing, and removes: everything must be as it was.
fn there_and_back(sandbox: &Sandbox, place: &Place) {
    let before = tree(sandbox.home());
    assert!(matches!(state(place).unwrap(), State::Missing { .. }));
    assert!(!plan(place, Path::new(WARP)).unwrap().steps().is_empty());
    assert_eq!(tree(sandbox.home()), before, "a plan writes nothing");
    install(place, Path::new(WARP)).unwrap();
    assert!(matches!(state(place).unwrap(), State::Installed { .. }), "{:?}", state(place));
    let installed = tree(sandbox.home());
    assert_eq!(install(place, Path::new(WARP)).unwrap().steps(), []);
    assert_eq!(tree(sandbox.home()), installed, "twice changes nothing");
    // Another warp takes over.
    let other = sandbox.home().join("other 'warp");
    sandbox.program(&other, "#!/bin/sh\n");
    install(place, &other).unwrap();
    assert!(matches!(state(place).unwrap(), State::Installed { .. }));
    fs::remove_file(&other).unwrap();
    assert!(matches!(state(place).unwrap(), State::Missing { .. }), "the program is gone");
    assert_eq!(remove(place).unwrap(), Vec::<String>::new());
    let after = tree(sandbox.home());
    for (path, file) in &before {
        assert_eq!(after.get(path), Some(file), "{}", path.display());
    }
    assert_eq!(after.len(), before.len());
    assert_eq!(remove(place).unwrap(), Vec::<String>::new(), "nothing is left to do");
}

#[test]
fn installing_and_removing_leaves_everything_as_it_was() {
    let (sandbox, place) = sandbox();
    there_and_back(&sandbox, &place);
    let hooks = sandbox.root().join(".git/hooks");
    fs::remove_dir_all(&hooks).ok();
    there_and_back(&sandbox, &place);
    sandbox.program(hooks.join("pre-commit"), "#!/bin/sh\nexit 0\n");
    fs::write(hooks.join("commit-msg"), "not runnable").unwrap();
    fs::set_permissions(hooks.join("commit-msg"), fs::Permissions::from_mode(0o640)).unwrap();
    sandbox.program("scripts/pre-push", "#!/bin/sh\nexit 0\n");
    std::os::unix::fs::symlink("../../scripts/pre-push", hooks.join("pre-push")).unwrap();
    there_and_back(&sandbox, &place);
}

#[test]
fn another_hooks_path_is_passed_on_to_and_comes_back() {
    let (sandbox, place) = sandbox();
    sandbox.program(".husky/_/pre-commit", "#!/bin/sh\nexit 0\n");
    fs::write(
        sandbox.root().join(".git/config"),
        "[core]\n\trepositoryformatversion = 0\n\n; odd\n[core]\n  hooksPath = .husky/_\n",
    )
    .unwrap();
    there_and_back(&sandbox, &place);
    // Changed since: only our own setting goes.
    install(&place, Path::new(WARP)).unwrap();
    sandbox.git(&["config", "user.name", "Somebody"]);
    assert_eq!(remove(&place).unwrap(), Vec::<String>::new());
    assert_eq!(sandbox.git(&["config", "core.hooksPath"]), ".husky/_");
    assert_eq!(sandbox.git(&["config", "user.name"]), "Somebody");
}

#[test]
fn the_users_own_hooks_are_run_with_what_git_gave_them() {
    let (sandbox, place) = sandbox();
    let hooks = sandbox.root().join(".git/hooks");
    let log = "#!/bin/sh\necho \"$(basename \"$0\" .user) $*\" >> ../log\n";
    sandbox.program(hooks.join("reference-transaction"), &format!("{log}cat >> ../log\n"));
    sandbox.program(hooks.join("commit-msg"), &format!("{log}grep -q good \"$1\"\n"));
    // Without a first line it is for the shell.
    sandbox.program(hooks.join("pre-commit"), "echo plain >> ../log\n");
    sandbox.program(hooks.join("post-commit"), log);
    install(&place, Path::new(WARP)).unwrap();
    let commit = |message: &str| {
        let mut command = sandbox.command("git");
        command.args(["commit", "--allow-empty", "-m", message]).output().unwrap().status.success()
    };
    assert!(!commit("bad"));
    assert!(commit("good"));
    let log = fs::read_to_string(sandbox.home().join("log")).unwrap();
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    for line in [
        "plain",
        "commit-msg .git/COMMIT_EDITMSG",
        "post-commit ",
        "reference-transaction prepared",
        "reference-transaction committed",
    ] {
        assert!(log.lines().any(|known| known == line), "{line}: {log}");
    }
    let moved = format!("{head} refs/heads/feature/issue-42-parser");
    assert_eq!(log.lines().filter(|line| line.ends_with(&moved)).count(), 2, "{log}");
    // With warp gone, the user's own are still run.
    let gone = sandbox.home().join("gone");
    fs::copy(WARP, &gone).unwrap();
    install(&place, &gone).unwrap();
    fs::remove_file(&gone).unwrap();
    assert!(!commit("bad") && commit("good again"));
}

#[test]
fn a_tools_hooks_are_run_by_way_of_ours_even_if_they_come_later() {
    let (sandbox, place) = sandbox();
    let tool = sandbox.root().join(".husky/_");
    sandbox.program(tool.join("pre-commit"), "#!/bin/sh\necho \"$0\" >> ../log\n");
    sandbox.git(&["config", "core.hooksPath", ".husky/_"]);
    install(&place, Path::new(WARP)).unwrap();
    sandbox.program(tool.join("post-commit"), "#!/bin/sh\necho \"$0\" >> ../log\n");
    sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
    let log = fs::read_to_string(sandbox.home().join("log")).unwrap();
    assert_eq!(log, ".husky/_/pre-commit\n.husky/_/post-commit\n");
    // The tool sets itself up again: the backstop is missing, and comes back.
    sandbox.git(&["config", "core.hooksPath", ".husky/_"]);
    assert!(matches!(state(&place).unwrap(), State::Missing { .. }));
    install(&place, Path::new(WARP)).unwrap();
    assert!(matches!(state(&place).unwrap(), State::Installed { .. }));
    remove(&place).unwrap();
    assert_eq!(sandbox.git(&["config", "core.hooksPath"]), ".husky/_");
}

#[test]
fn a_hook_that_was_changed_since_is_left_and_said() {
    let (sandbox, place) = sandbox();
    let hooks = sandbox.root().join(".git/hooks");
    sandbox.program(hooks.join("pre-commit"), "#!/bin/sh\n# mine\n");
    install(&place, Path::new(WARP)).unwrap();
    sandbox.program(hooks.join("pre-commit"), "#!/bin/sh\n# newer\n");
    assert!(install(&place, Path::new(WARP)).unwrap_err().to_string().contains("are both there"));
    let left = remove(&place).unwrap();
    assert!(left.len() == 1 && left[0].contains("pre-commit was changed since"), "{left:?}");
    assert_eq!(fs::read_to_string(hooks.join("pre-commit")).unwrap(), "#!/bin/sh\n# newer\n");
    assert_eq!(fs::read_to_string(hooks.join("pre-commit.user")).unwrap(), "#!/bin/sh\n# mine\n");
    assert!(!hooks.join("reference-transaction").exists());
}

#[test]
fn linked_working_trees_share_the_backstop_or_have_their_own() {
    let (sandbox, place) = sandbox();
    let side = sandbox.home().join("side");
    sandbox.git(&["worktree", "add", "--quiet", "-b", "side", side.to_str().unwrap()]);
    let side_place = Place::at(&side).unwrap();
    install(&side_place, Path::new(WARP)).unwrap();
    assert!(matches!(state(&place).unwrap(), State::Installed { .. }));
    remove(&place).unwrap();
    assert!(matches!(state(&side_place).unwrap(), State::Installed { .. }), "it was the other that asked");
    remove(&side_place).unwrap();
    assert!(matches!(state(&side_place).unwrap(), State::Missing { .. }));

    sandbox.git(&["config", "extensions.worktreeConfig", "true"]);
    sandbox.git(&["-C", side.to_str().unwrap(), "config", "--worktree", "core.hooksPath", "tools"]);
    sandbox.program(side.join("tools/pre-commit"), "#!/bin/sh\necho tool >> ../log\n");
    there_and_back(&sandbox, &side_place);
    install(&side_place, Path::new(WARP)).unwrap();
    assert!(matches!(state(&place).unwrap(), State::Missing { .. }), "it is the other's own");
    sandbox.git(&["-C", side.to_str().unwrap(), "commit", "--quiet", "--allow-empty", "-m", "x"]);
    assert_eq!(fs::read_to_string(sandbox.home().join("log")).unwrap(), "tool\n");
}

#[test]
fn hooks_that_working_trees_share_go_with_the_last_of_them() {
    let (sandbox, place) = sandbox();
    sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "one"]);
    let before = fs::read_dir(sandbox.root().join(".git/hooks")).unwrap().count();
    let side = sandbox.home().join("side");
    let side = side.to_str().unwrap();
    sandbox.git(&["worktree", "add", "--quiet", "-b", "side", side]);
    sandbox.warp_ok(&["init", "--no-skills"]);
    // It was not set up there, so there is nothing to undo.
    let said = sandbox.warp(&["-C", side, "init", "--undo"]);
    assert!(said.out.contains("Nothing to undo") && said.err.contains("relies on them too"), "{said:?}");
    assert!(matches!(state(&place).unwrap(), State::Installed { .. }));
    let said = sandbox.warp_ok(&["-C", side, "init", "--no-skills"]);
    assert!(said.contains("relies on the hooks of this repository"), "{said}");
    let said = sandbox.warp_ok(&["-C", side, "init", "--no-skills"]);
    assert!(!said.contains("relies on"), "twice changes nothing: {said}");
    let said = sandbox.warp_ok(&["init", "--undo"]);
    assert!(said.contains("leave warp's hooks in git, because [HOME]/side relies on them too"), "{said}");
    assert!(matches!(state(&place).unwrap(), State::Installed { .. }));
    let said = sandbox.warp_ok(&["-C", side, "init", "--undo"]);
    assert!(said.contains("take warp's hooks out of git"), "{said}");
    assert!(matches!(state(&place).unwrap(), State::Missing { .. }));
    assert_eq!(fs::read_dir(sandbox.root().join(".git/hooks")).unwrap().count(), before);
    // One that is gone is waited for by nobody.
    sandbox.warp_ok(&["init", "--no-skills"]);
    sandbox.warp_ok(&["-C", side, "init", "--no-skills"]);
    sandbox.git(&["worktree", "remove", "--force", side]);
    assert!(sandbox.warp_ok(&["init", "--undo"]).contains("take warp's hooks out of git"));
}
