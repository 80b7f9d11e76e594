use project::rails::snapshot;

use crate::Project;

#[test]
fn a_snapshot_keeps_all_work_and_touches_nothing() {
    let project = Project::new();
    let (place, run) = (project.place(), project.run_id());
    assert_eq!(snapshot(&place, &run).unwrap(), None, "there is nothing to keep");
    project.sandbox.write(".gitignore", "ignored\n");
    project.sandbox.write("ignored", "x\n");
    project.sandbox.write("kept.txt", "staged\n");
    project.git(&["add", "kept.txt"]);
    project.sandbox.write("kept.txt", "in the tree\n");
    project.sandbox.write("dir/new file.txt", "new\n");
    project.git(&["init", "--quiet", "inner"]);
    let before = project.git(&["status", "--short"]);
    let index = std::fs::read(project.sandbox.root().join(".git/index")).unwrap();
    let kept = snapshot(&place, &run).unwrap().unwrap();
    assert_eq!(kept, format!("refs/warp/salvage/{run}/1"));
    assert_eq!(project.git(&["status", "--short"]), before);
    assert_eq!(std::fs::read(project.sandbox.root().join(".git/index")).unwrap(), index);
    let show = |what: &str| project.git(&["show", &format!("{kept}{what}")]);
    assert_eq!(show(":kept.txt"), "in the tree");
    assert_eq!(show("^2:kept.txt"), "staged");
    assert_eq!(show(":dir/new file.txt"), "new");
    assert_eq!(project.git(&["rev-parse", &format!("{kept}^1")]), project.git(&["rev-parse", "HEAD"]));
    assert_eq!(
        project.git(&["ls-tree", "-r", "--name-only", &kept]),
        ".gitignore\ndir/new file.txt\nkept.txt"
    );
    assert_eq!(snapshot(&place, &run).unwrap(), None, "it is kept already");
    project.sandbox.write("kept.txt", "later\n");
    assert_eq!(snapshot(&place, &run).unwrap(), Some(format!("refs/warp/salvage/{run}/2")));
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
    assert_eq!(snapshot(&place, "r1").unwrap(), None);
    std::fs::write(side.join("a.txt"), "a\n").unwrap();
    let kept = snapshot(&place, "r1").unwrap().unwrap();
    assert_eq!(project.git(&["show", &format!("{kept}:a.txt")]), "a");
    assert_eq!(snapshot(&place, "r1").unwrap(), None);
}

#[test]
fn work_that_cannot_be_read_is_an_error() {
    let project = Project::new();
    project.sandbox.write("kept.txt", "two\n");
    std::fs::create_dir_all(project.sandbox.root().join(".git/refs/warp/salvage")).unwrap();
    // A file stands where the run's directory would be.
    std::fs::write(project.sandbox.root().join(".git/refs/warp/salvage/r1"), "x").unwrap();
    let error = snapshot(&project.place(), "r1").unwrap_err();
    assert!(error.to_string().contains("could not be kept"), "{error}");
}

#[test]
fn work_in_repositories_inside_is_kept_in_each_of_them() {
    let project = Project::new();
    let (place, run) = (project.place(), project.run_id());
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
    let first = snapshot(&place, &run).unwrap();
    assert_eq!(first, Some(format!("refs/warp/salvage/{run}/1")), "the entries themselves are new");
    let name = format!("refs/warp/salvage/{run}/1");
    for (repository, file, text) in [
        ("empty", "a.txt", "in the one without a commit"),
        ("dir/inner", "b.txt", "inner"),
        ("dir/inner/innermost", "c.txt", "innermost"),
    ] {
        assert_eq!(project.git(&["-C", repository, "show", &format!("{name}:{file}")]), text);
    }
    assert_eq!(project.git(&["-C", "clean", "for-each-ref", "refs/warp"]), "");
    assert_eq!(project.git(&["show", &format!("refs/warp/salvage/{run}/2:d.txt")]), "beside");
    assert_eq!(snapshot(&place, &run).unwrap(), None, "all of it is kept already");
    assert_eq!(project.git(&["for-each-ref", "refs/warp"]).lines().count(), 2);
}
