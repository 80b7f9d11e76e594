//! A project with a remote: what is merged goes there too, and what is undone.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use super::support::Project;
use crate::support::{Ends as _, InProject as _};

/// A project with a remote that has its `main`, and to which `main` may be pushed.
fn project() -> (Project, PathBuf) {
    Project::with_remote(Some("target"))
}

/// Returns what the newest commit of `main` is about, here and at the remote.
fn newest(project: &Project, remote: &Path) -> (String, String) {
    let git =
        |git_dir: &str| project.sandbox.git(&["--git-dir", git_dir, "log", "-1", "--format=%s", "main"]);
    (git(".git"), git(remote.to_str().unwrap()))
}

fn is_open(project: &Project) -> bool {
    project.sandbox.warp_ok(&["issue", "show", "1"]).contains("\nopen, ")
}

#[test]
fn a_file_that_is_in_the_way_keeps_the_work_from_the_remote_too() {
    let (project, remote) = project();
    project.sandbox.write("greeting.txt", "mine\n");
    let ended = project.run(&[]).ends(5);
    assert!(ended.said.contains("greeting.txt is uncommitted and would be overwritten"), "{}", ended.said);
    let base = "chore: base".to_owned();
    assert_eq!(newest(&project, &remote), (base.clone(), base.clone()));
    let (question, _) = project.question();
    project.sandbox.warp_ok(&["answer", &question, "abort"]);
    project.run(&[]).ends(1);
    assert_eq!(newest(&project, &remote), (base.clone(), base));
    assert!(is_open(&project));
    assert_eq!(project.sandbox.read("greeting.txt").unwrap(), "mine\n");
}

#[test]
fn what_the_remote_has_is_merged_though_the_checkout_is_behind() {
    let (project, remote) = project();
    // Somebody begins to change the file while the work is pushed.
    let hook = remote.join("hooks/post-receive");
    let file = project.sandbox.root().join("greeting.txt");
    fs::write(&hook, format!("#!/bin/sh\necho mine > '{}'\n", file.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = project.run(&[]).ends(0);
    let (here, there) = newest(&project, &remote);
    assert_eq!((here.as_str(), there.starts_with("feat: A greeting")), ("chore: base", true), "{there}");
    assert!(ended.said.contains("only `origin` has it: `main` is checked out in "), "{}", ended.said);
    assert!(ended.said.contains("`git pull origin main` brings your own `main` along"), "{}", ended.said);
    assert!(!is_open(&project), "it is merged");
    assert_eq!(project.sandbox.read("greeting.txt").unwrap(), "mine\n");
}

#[test]
fn what_is_undone_is_undone_at_the_remote_too_and_the_issue_is_open_again() {
    let (project, remote) = project();
    let sandbox = &project.sandbox;
    project.run(&[]).ends(0);
    assert!(!is_open(&project));
    // Somebody else has gone on there.
    sandbox.git(&["switch", "--quiet", "-c", "theirs"]);
    sandbox.write("other.txt", "later\n");
    sandbox.commit("feat: theirs");
    sandbox.git(&["push", "--quiet", "origin", "theirs:main"]);
    sandbox.git(&["switch", "--quiet", "main"]);

    insta::assert_snapshot!(sandbox.seen(&["revert", "1"]), @"
    `main` is at [COMMIT] now, which undoes issue 1; `make test` ended with exit 0
    pushed: origin main [COMMIT]..[COMMIT], 1 commit
    issue 1 is open again; `warp run 1` tries once more
    ");
    let (here, there) = newest(&project, &remote);
    assert!(here.starts_with("revert: undo issue 1") && here == there, "{here}, {there}");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), sandbox.git(&["rev-parse", "origin/main"]));
    assert_eq!(sandbox.read("greeting.txt").unwrap(), "base\n");
    assert_eq!(sandbox.read("other.txt").unwrap(), "later\n");
    let shown = sandbox.warp_ok(&["issue", "show", "1"]);
    assert!(
        shown.contains("\nopen, ") && shown.contains("is reverted: its changes are no longer in `main`."),
        "{shown}"
    );
    assert!(shown.contains("[ ] AC-01") && shown.contains("[ ] AC-02"), "{shown}");
    insta::assert_snapshot!(sandbox.seen(&["issue", "list"]), @"
    #1  not approved  0/2  A greeting  req

    1 open, 2 closed (`warp issue list --state closed`)
    ");

    // A person has closed it meanwhile: to ask again changes nothing.
    sandbox.warp_ok(&["issue", "close", "1"]);
    sandbox.warp(&["revert", "1"]).ends(3);
    assert!(!is_open(&project));
    sandbox.warp_ok(&["issue", "reopen", "1"]);
    project.goes_on();
}

/// Puts a `git` before the real one whose `merge` can write no file of more than 2 KB, as on a disk that fills.
fn full_disk(project: &Project) -> String {
    let bin = project.sandbox.home().join("full");
    fs::create_dir(&bin).unwrap();
    let path = std::env::var("PATH").unwrap();
    let git = std::env::split_paths(&path).map(|path| path.join("git")).find(|git| git.is_file()).unwrap();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *' merge --quiet --ff-only '*) trap '' XFSZ; ulimit -f 4;; esac\nexec {} \"$@\"\n",
        git.display()
    );
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{path}", bin.display())
}

#[test]
fn a_disk_that_fills_while_the_checkout_moves_along_leaves_nothing_behind() {
    let project = Project::new(super::support::GOOD);
    project.sandbox.write("m-changed.txt", "as it was\n");
    project.sandbox.write("own.txt", "base\n");
    project.sandbox.commit("chore: base");
    let steps = "steps = [\n\
        { write = \"a/new.txt\", text = \"new\\n\" }, { write = \"m-changed.txt\", text = \"as it is\\n\" },\n\
        { run = \"seq 5000 > z-large.txt\" }, { remove = \"m-removed.txt\" },\n";
    project.sandbox.write("m-removed.txt", "was here\n");
    project.sandbox.commit("chore: another");
    project.script(&super::support::GOOD.replacen("steps = [", steps, 1));
    project.sandbox.write("own.txt", "the person's own change\n");
    let before = project.sandbox.git(&["rev-parse", "main"]);
    let mut command = project.command(&[]);
    command.env("PATH", full_disk(&project));
    let ended = super::support::Running::start(command).end();
    assert_ne!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.said.contains("unable to write file"), "{}", ended.said);
    assert_eq!(project.sandbox.git(&["rev-parse", "main"]), before);
    let status = project.sandbox.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(status.trim(), "M own.txt", "{}", ended.said);
    assert!(!project.sandbox.root().join("a").exists(), "the directory is git's, too");
    // With room again it is merged, and the person's own change stays.
    let (question, _) = project.question();
    project.sandbox.warp_ok(&["answer", &question, "continue"]);
    project.run(&[]).ends(0);
    let names = project.sandbox.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(
        names.contains("z-large.txt") && names.contains("a/new.txt") && !names.contains("m-removed.txt"),
        "{names}"
    );
    assert_eq!(project.sandbox.read("own.txt").unwrap(), "the person's own change\n");
}
