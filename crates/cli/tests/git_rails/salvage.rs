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
