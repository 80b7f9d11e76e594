use project::rails::snapshot;

use super::{Project, dirs};

#[test]
fn a_snapshot_keeps_all_work_and_touches_nothing() {
    let project = Project::new();
    let run = project.run_id();
    assert_eq!(project.snapshot(), None, "there is nothing to keep");
    project.sandbox.write(".gitignore", "ignored\n");
    project.sandbox.write("ignored", "x\n");
    project.sandbox.write("kept.txt", "staged\n");
    project.git(&["add", "kept.txt"]);
    project.sandbox.write("kept.txt", "in the tree\n");
    project.sandbox.write("dir/new file.txt", "new\n");
    project.git(&["init", "--quiet", "inner"]);
    let before = project.git(&["status", "--short"]);
    let index = std::fs::read(project.sandbox.root().join(".git/index")).unwrap();
    let kept = project.snapshot().unwrap();
    assert_eq!(kept, format!("refs/warp/salvage/{run}/1"));
    assert_eq!(project.git(&["for-each-ref", "refs/warp"]), "", "it is kept elsewhere");
    assert_eq!(project.git(&["status", "--short"]), before);
    assert_eq!(std::fs::read(project.sandbox.root().join(".git/index")).unwrap(), index);
    let show = |what: &str| project.vault_git(&["show", &format!("{kept}{what}")]);
    assert_eq!(show(":kept.txt"), "in the tree");
    assert_eq!(show("^2:kept.txt"), "staged");
    assert_eq!(show(":dir/new file.txt"), "new");
    assert_eq!(project.vault_git(&["rev-parse", &format!("{kept}^1")]), project.git(&["rev-parse", "HEAD"]));
    assert_eq!(
        project.vault_git(&["ls-tree", "-r", "--name-only", &kept]),
        ".gitignore\ndir/new file.txt\nkept.txt"
    );
    assert_eq!(project.snapshot(), None, "it is kept already");
    project.sandbox.write("kept.txt", "later\n");
    assert_eq!(project.snapshot(), Some(format!("refs/warp/salvage/{run}/2")));
    project.git(&["reset", "--quiet", "--hard"]);
    project.git(&["clean", "--quiet", "-ffd"]);
    project.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(show(":dir/new file.txt"), "new");
    assert_eq!(show("^2:kept.txt"), "staged");
    assert!(project.after_tool().broken.is_none(), "what warp keeps is no move");
}

#[test]
fn a_snapshot_before_the_first_commit_and_in_a_linked_working_tree() {
    let project = Project::new();
    let side = project.sandbox.home().join("side");
    project.git(&["worktree", "add", "--quiet", "--orphan", "-b", "side", side.to_str().unwrap()]);
    let place = project::Place::at(&side).unwrap();
    let dirs = dirs(&project.sandbox);
    assert_eq!(snapshot(&place, &dirs, "r1").unwrap(), None);
    std::fs::write(side.join("a.txt"), "a\n").unwrap();
    let kept = snapshot(&place, &dirs, "r1").unwrap().unwrap();
    assert_eq!(project.vault_git(&["show", &format!("{kept}:a.txt")]), "a");
    assert_eq!(snapshot(&place, &dirs, "r1").unwrap(), None);
}

#[test]
fn work_that_cannot_be_kept_is_an_error() {
    let project = Project::new();
    project.sandbox.write("kept.txt", "two\n");
    // A file stands where the copy would be.
    let id = project.place().project_id().unwrap().unwrap();
    std::fs::write(dirs(&project.sandbox).project(&id).join("snapshots.git"), "x").unwrap();
    let error = snapshot(&project.place(), &dirs(&project.sandbox), "r1").unwrap_err();
    assert!(error.to_string().contains("could not be kept"), "{error}");
}

#[test]
fn work_in_repositories_inside_is_kept_with_it() {
    let project = Project::new();
    for name in ["empty", "dir/inner", "clean"] {
        project.git(&["init", "--quiet", name]);
    }
    for name in ["dir/inner", "clean"] {
        project.git(&["-C", name, "commit", "--quiet", "--allow-empty", "-m", "one"]);
    }
    project.git(&["init", "--quiet", "dir/inner/innermost"]);
    project.sandbox.write("empty/a.txt", "in the one without a commit\n");
    project.sandbox.write("dir/inner/b.txt", "inner\n");
    project.sandbox.write("dir/inner/innermost/c.txt", "innermost\n");
    let side = project.sandbox.root().join("side");
    project.git(&["worktree", "add", "--quiet", "-b", "side", side.to_str().unwrap()]);
    project.sandbox.write("side/d.txt", "beside\n");
    assert!(project.snapshot().is_some(), "the entries themselves are new");
    let listed = project.vault_git(&["for-each-ref", "--format=%(refname)", "refs/warp/salvage"]);
    let shown: Vec<String> =
        listed.lines().map(|name| project.vault_git(&["ls-tree", "-r", "--name-only", name])).collect();
    for file in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        assert!(shown.iter().any(|names| names.lines().any(|name| name == file)), "{file}: {shown:?}");
    }
    for inner in [".", "empty", "dir/inner", "clean"] {
        assert_eq!(project.git(&["-C", inner, "for-each-ref", "refs/warp"]), "", "{inner}");
    }
    assert_eq!(project.snapshot(), None, "all of it is kept already");
    assert_eq!(project.vault_git(&["for-each-ref", "refs/warp/salvage"]).lines().count(), 5);
}
