//! Snapshots of a person's checkout outlive the checkout, and make it anew.

use std::{fs, path::Path};

use super::Project;
use crate::support::InProject as _;

/// Returns what git and the directory tell of a repository: refs, what is staged and changed, stashes, settings, files.
fn told(project: &Project, root: &Path) -> Vec<String> {
    let at = root.to_str().unwrap();
    let mut told: Vec<String> = [
        "for-each-ref",
        "symbolic-ref HEAD",
        "status --short --untracked-files=all --ignored=no",
        "stash list --format=%H%gs",
        "ls-files --stage",
        "config --local --list",
        "log --all --oneline",
    ]
    .iter()
    .map(|line| project.git(&[&["-C", at], line.split(' ').collect::<Vec<_>>().as_slice()].concat()))
    .collect();
    told.push(project.git(&["-C", at, "fsck", "--no-dangling"]));
    let mut files: Vec<String> = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() && !path.is_symlink() {
                true if path.ends_with(".git") || path.ends_with(".claude") => {}
                true => open.push(path),
                false if path.ends_with(".git") => {}
                false => {
                    let text = String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned();
                    files.push(format!("{}: {text}", path.strip_prefix(root).unwrap().display()));
                }
            }
        }
    }
    files.sort();
    told.extend(files);
    told
}

/// Makes a project with everything that git can hold.
fn full() -> Project {
    let project = Project::new();
    let git = |line: &str| project.git(&line.split(' ').collect::<Vec<_>>());
    project.sandbox.write("crlf.txt", "one\r\ntwo\n");
    project.sandbox.write(".gitattributes", "*.txt text=auto\n");
    git("add crlf.txt .gitattributes");
    git("commit --quiet -m crlf");
    git("tag -a -m x v1");
    git("branch other HEAD~1");
    for text in ["stash one\n", "stash two\n"] {
        project.sandbox.write("kept.txt", text);
        git("stash --quiet");
    }
    git("config demo.setting value");
    git("update-ref refs/remotes/origin/main HEAD~1");
    project.sandbox.write("kept.txt", "staged\n");
    git("add kept.txt");
    project.sandbox.write("kept.txt", "changed\n");
    project.sandbox.write("dir/new file.txt", "new\n");
    project.sandbox.write("run.sh", "#!/bin/sh\n");
    project.sandbox.write("hidden.txt", "one\n");
    project.sandbox.write("assumed.txt", "one\n");
    git("add hidden.txt assumed.txt");
    git("commit --quiet -m hidden hidden.txt assumed.txt");
    git("update-index --skip-worktree hidden.txt");
    git("update-index --assume-unchanged assumed.txt");
    project.sandbox.write("hidden.txt", "skipped\n");
    project.sandbox.write("assumed.txt", "assumed\n");
    std::os::unix::fs::symlink("kept.txt", project.sandbox.root().join("link")).unwrap();
    project
}

/// Takes the marks away that only the lost index had.
fn unmarked(project: &Project, root: &Path) {
    for mark in ["--no-skip-worktree", "--no-assume-unchanged"] {
        let at = root.to_str().unwrap();
        project.git(&["-C", at, "update-index", mark, "hidden.txt", "assumed.txt"]);
    }
}

#[test]
fn a_repository_is_rebuilt_whole_after_everything_in_it_is_gone() {
    let project = full();
    project.snapshot().unwrap();
    let root = project.sandbox.root();
    unmarked(&project, &root);
    let before = told(&project, &root);
    let id = project.place().project_id().unwrap();
    // Nothing of it is left, the directory itself is.
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(&path).unwrap() } else { fs::remove_file(&path).unwrap() }
    }
    let said = project.sandbox.warp_ok(&["salvage", "list"]);
    assert!(said.contains("Nothing is kept"), "{said}");
    let said = project.sandbox.warp_ok(&["salvage", "rebuild"]);
    assert!(said.contains("is as it was at"), "{said}");
    assert_eq!(told(&project, &root), before);
    assert_eq!(project.place().project_id().unwrap(), id, "it is the same project");
    assert!(project.workspace().current().unwrap().is_some(), "its run is known");
    assert!(root.join(".git/hooks/reference-transaction").exists());
    assert!(project.sandbox.warp_ok(&["salvage", "list"]).contains("refs/warp/salvage/"));
    // A second time it is refused: there is a repository.
    let said = project.sandbox.warp(&["salvage", "rebuild"]);
    assert!(said.code != Some(0) && said.err.contains("--to DIR"), "{said:?}");
}

#[test]
fn only_dot_git_is_made_anew_where_the_files_are_there_and_none_is_touched() {
    let project = full();
    project.snapshot().unwrap();
    let root = project.sandbox.root();
    fs::remove_dir_all(root.join(".git")).unwrap();
    project.sandbox.write("kept.txt", "written since\n");
    fs::remove_file(root.join("run.sh")).unwrap();
    insta::assert_snapshot!(project.sandbox.seen(&["salvage", "rebuild"]), @"
    [HOME]/demo is as it was at [TIME]: 5 refs, 1 missing files written
    left as it is, but differs from the snapshot: kept.txt
    ");
    assert_eq!(project.sandbox.read("kept.txt").unwrap(), "written since\n");
    assert_eq!(project.sandbox.read("run.sh").unwrap(), "#!/bin/sh\n");
    project.git(&["fsck", "--no-dangling"]);
}

#[test]
fn an_earlier_state_is_made_in_another_directory() {
    let project = full();
    let first = project.snapshot().unwrap();
    let root = project.sandbox.root();
    unmarked(&project, &root);
    let before = told(&project, &root);
    project.sandbox.write("kept.txt", "later\n");
    project.git(&["add", "kept.txt"]);
    project.snapshot().unwrap();
    let listed = project.sandbox.warp_ok(&["salvage", "rebuild", "--list"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let to = project.sandbox.home().join("anew");
    project.sandbox.warp_ok(&["salvage", "rebuild", "--at", &first, "--to", to.to_str().unwrap()]);
    assert_eq!(told(&project, &to), before);
}

#[test]
fn files_that_an_agent_makes_git_ignore_stay_in_snapshots() {
    for rule in ["*.txt", "dir/", "*", "/dir/**", "**/new*"] {
        let project = full();
        project.snapshot().unwrap();
        project.sandbox.write(".gitignore", format!("{rule}\n"));
        project.sandbox.write("dir/new file.txt", "newer\n");
        let kept = project.snapshot().unwrap();
        assert_eq!(project.vault_git(&["show", &format!("{kept}:dir/new file.txt")]), "newer", "{rule}");
    }
}

#[test]
fn a_snapshot_is_restored_to_a_branch_of_the_project() {
    let project = full();
    let kept = project.snapshot().unwrap();
    assert_eq!(project.vault_git(&["show", &format!("{kept}:hidden.txt")]), "skipped");
    assert_eq!(project.vault_git(&["show", &format!("{kept}:assumed.txt")]), "assumed");
    assert!(project.sandbox.warp_ok(&["salvage", "list"]).contains(&kept));
    project.sandbox.warp_ok(&["salvage", "restore", &kept, "--to", "back"]);
    assert_eq!(project.git(&["show", "back:dir/new file.txt"]), "new");
    project.sandbox.warp_ok(&["salvage", "drop", &kept]);
    assert!(!project.sandbox.warp_ok(&["salvage", "list"]).contains(&kept));
}

#[test]
fn a_copy_borrows_nothing_from_the_project() {
    let project = full();
    project.snapshot().unwrap();
    let id = project.place().project_id().unwrap().unwrap();
    let vault = super::dirs(&project.sandbox).project(&id).join("snapshots.git");
    assert!(!vault.join("objects/info/alternates").exists());
    fs::remove_dir_all(project.sandbox.root().join(".git")).unwrap();
    let git = ["--git-dir", vault.to_str().unwrap(), "fsck", "--full", "--no-dangling"];
    let out = project.sandbox.command("git").args(git).current_dir(project.sandbox.home()).output().unwrap();
    assert!(out.status.success(), "{out:?}");
}
