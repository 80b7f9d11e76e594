//! Workspaces for runs, with real git: taking, keeping, reusing, losing and finding again.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod left;
mod target;

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use adapters::git::{Git, integrate::Rebase};
use engine::Seen;
use journal::{Durable, MemoryStore, Store as _};
use project::{
    Dirs, Place, Request, Workspace,
    slots::{Kind, Pool, Slot, SlotError},
};
use testkit::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new("warp");
    sandbox.git(&["config", "user.name", "Ann \"A\" Lee"]);
    sandbox.git(&["config", "user.email", "ann@localhost"]);
    sandbox.git(&["switch", "--quiet", "main"]);
    sandbox.write("a.txt", "one\n");
    sandbox.write("b.txt", "one\n");
    sandbox.write(".gitignore", "ignored\n");
    commit(&sandbox, "feat: begin");
    sandbox
}

fn commit(sandbox: &Sandbox, message: &str) -> String {
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "--quiet", "-m", message]);
    sandbox.git(&["rev-parse", "HEAD"])
}

fn dirs(sandbox: &Sandbox) -> Dirs {
    Dirs::new(sandbox.home().join("state/warp"), sandbox.home().join("config/warp"))
}

fn pool(sandbox: &Sandbox) -> Pool {
    Pool::of(&Place::at(&sandbox.root()).unwrap(), &dirs(sandbox)).unwrap()
}

fn take(sandbox: &Sandbox) -> Slot {
    pool(sandbox).take(Kind::Clone, "main").unwrap()
}

/// Runs git on a slot's own repository, whatever its tree says.
fn git(slot: &Slot, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(slot.place.git_dir().unwrap()).arg("--work-tree").arg(slot.root());
    command.current_dir(slot.root()).env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Writes a file in a slot and commits it there, as the engine does.
fn commit_in(slot: &Slot, file: &str, text: &str) -> String {
    fs::write(slot.root().join(file), text).unwrap();
    let prepared = Git::new(slot.root());
    prepared.prepare(Vec::new()).unwrap().commit(&format!("feat: {file}")).unwrap()
}

fn salvage(sandbox: &Sandbox) -> Vec<String> {
    let refs = sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/warp/salvage/"]);
    refs.lines().map(str::to_owned).collect()
}

#[test]
fn a_slot_is_a_clone_beside_the_journal_that_opens_the_same_project() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let place = Place::at(&sandbox.root()).unwrap();
    let id = place.project_id().unwrap().unwrap();
    assert_eq!(slot.root(), dirs(&sandbox).project(&id).canonicalize().unwrap().join("slots/1/tree"));
    assert_eq!(slot.place.project_id().unwrap(), Some(id));
    assert_eq!(slot.place.name(), "demo");
    assert_eq!(fs::read_to_string(slot.root().join("a.txt")).unwrap(), "one\n");
    assert_eq!(slot.base(), Some(sandbox.git(&["rev-parse", "main"]).as_str()));
    assert_eq!(git(&slot, &["status", "--porcelain"]), "");
    assert_eq!(git(&slot, &["remote"]), "");
    assert_eq!(Git::new(slot.root()).branches().merge_target, "main");

    let branch = slot.begin_branch("feature/issue-42-x", slot.base().unwrap()).unwrap();
    assert_eq!(branch, "feature/issue-42-x");
    assert_eq!(slot.begin_branch(&branch, slot.base().unwrap()).unwrap(), branch);
    let made = commit_in(&slot, "c.txt", "new\n");
    assert_eq!(
        git(&slot, &["show", "--no-patch", "--format=%an <%ae>", &made]),
        "Ann \"A\" Lee <ann@localhost>"
    );
    assert_eq!(git(&slot, &["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(&["branch", "--list", "feature/issue-42-x"]), "");
}

#[test]
fn takers_at_once_get_different_slots_and_a_free_one_is_used_again() {
    let sandbox = sandbox();
    let pool = pool(&sandbox);
    let taken: Vec<Slot> = std::thread::scope(|scope| {
        let takers: Vec<_> =
            (0..6).map(|_| scope.spawn(|| pool.take(Kind::Clone, "main").unwrap())).collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    let mut numbers: Vec<usize> = taken.iter().map(Slot::number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    drop(taken);
    assert_eq!(pool.take(Kind::Clone, "main").unwrap().number(), 1);
}

#[test]
fn a_slot_with_an_open_run_is_not_free() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    slot.begin_branch("feature/x", slot.base().unwrap()).unwrap();
    let mut workspace = Workspace::open(slot.place.clone(), dirs(&sandbox)).unwrap();
    let request = Request { level: Some(3), owns_workspace: true, ..Request::default() };
    let run = workspace.begin(request).unwrap().current.run;
    assert_eq!(
        (run.root.as_str(), run.branches.branch.as_str()),
        (slot.root().to_str().unwrap(), "feature/x")
    );
    assert_eq!(git(&slot, &["status", "--porcelain"]), "", "the state file is kept out of commits");
    let root = slot.root().to_owned();
    drop(slot);
    let other = take(&sandbox);
    assert_eq!(other.number(), 2);
    let again = pool(&sandbox).reopen(&root).unwrap();
    assert_eq!(again.number(), 1);
    let error = pool(&sandbox).reopen(&root).unwrap_err();
    assert!(matches!(error, SlotError::InUse { .. }), "{error}");
}

#[test]
fn what_is_in_a_slot_is_kept_before_it_is_used_again() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    slot.note_run("r1").unwrap();
    slot.begin_branch("feature/x", slot.base().unwrap()).unwrap();
    let made = commit_in(&slot, "c.txt", "committed\n");
    fs::write(slot.root().join("a.txt"), "changed\n").unwrap();
    fs::write(slot.root().join("new.txt"), "untracked\n").unwrap();
    fs::write(slot.root().join("ignored"), "may go\n").unwrap();
    drop(slot);
    sandbox.write("b.txt", "two\n");
    let newest = commit(&sandbox, "feat: two");

    let slot = take(&sandbox);
    assert_eq!((slot.number(), slot.base()), (1, Some(newest.as_str())));
    assert_eq!(git(&slot, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(git(&slot, &["branch", "--format=%(refname:short)"]).lines().last(), Some("main"));
    assert_eq!(git(&slot, &["rev-parse", "main"]), newest);
    assert!(!slot.root().join("c.txt").exists());
    let kept = salvage(&sandbox);
    assert_eq!(kept, ["refs/warp/salvage/r1/1", "refs/warp/salvage/r1/2"]);
    assert_eq!(sandbox.git(&["show", "refs/warp/salvage/r1/1:a.txt"]), "changed");
    assert_eq!(sandbox.git(&["show", "refs/warp/salvage/r1/1:new.txt"]), "untracked");
    assert_eq!(sandbox.git(&["rev-parse", "refs/warp/salvage/r1/2"]), made);
    drop(slot);
    drop(take(&sandbox));
    assert_eq!(salvage(&sandbox).len(), 2, "nothing is kept twice");
}

#[test]
fn a_slot_that_is_given_back_keeps_its_work_at_once() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    slot.note_run("r1").unwrap();
    fs::write(slot.root().join("new.txt"), "untracked\n").unwrap();
    assert_eq!(slot.keep().unwrap(), ["refs/warp/salvage/r1/1"]);
    drop(slot);
    assert_eq!(take(&sandbox).keep().unwrap(), [""; 0]);
}

#[test]
fn a_repository_inside_a_slot_is_set_aside() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let nested = slot.root().join("nested");
    fs::create_dir(&nested).unwrap();
    assert!(Command::new("git").args(["init", "--quiet"]).current_dir(&nested).status().unwrap().success());
    fs::write(nested.join("work.txt"), "only here\n").unwrap();
    drop(slot);
    let slot = take(&sandbox);
    assert!(!slot.root().join("nested").exists());
    let aside = slot.root().ancestors().nth(3).unwrap().join("set-aside");
    let found: Vec<PathBuf> = fs::read_dir(aside).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(fs::read_to_string(found[0].join("work.txt")).unwrap(), "only here\n");
}

#[test]
fn what_an_agent_plants_in_its_tree_decides_nothing() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    slot.begin_branch("feature/x", slot.base().unwrap()).unwrap();
    let trap = sandbox.home().join("sprung");
    let program = sandbox.home().join("trap.sh");
    fs::write(&program, format!("#!/bin/sh\ntouch {}\n", trap.display())).unwrap();
    Command::new("chmod").arg("+x").arg(&program).status().unwrap();
    // A repository of the agent's own, with a monitor, a hook and a filter, in place of the link.
    let link = slot.root().join(".git");
    fs::remove_file(&link).unwrap();
    let evil = |arguments: &[&str]| {
        let mut command = Command::new("git");
        assert!(command.args(arguments).current_dir(slot.root()).status().unwrap().success());
    };
    evil(&["init", "--quiet"]);
    evil(&["config", "core.fsmonitor", program.to_str().unwrap()]);
    evil(&["config", "filter.evil.clean", program.to_str().unwrap()]);
    fs::create_dir_all(link.join("hooks")).unwrap();
    fs::copy(&program, link.join("hooks/post-commit")).unwrap();
    fs::create_dir_all(link.join("warp")).unwrap();
    fs::write(link.join("warp/project-id"), "0123456789abcdef\n").unwrap();
    fs::write(slot.root().join(".gitattributes"), "*.txt filter=evil\n").unwrap();

    let root = slot.root().to_owned();
    let place = Place::at(&root).unwrap();
    assert_eq!(place.project_id().unwrap(), slot.place.project_id().unwrap());
    assert_eq!(place.git_dir(), slot.place.git_dir());
    let made = commit_in(&slot, "c.txt", "new\n");
    assert_eq!(git(&slot, &["rev-parse", "HEAD"]), made);
    assert_eq!(git(&slot, &["show", "--format=", "--name-only", &made]), ".gitattributes\nc.txt");
    assert!(!trap.exists(), "a planted program was run");

    drop(slot);
    let slot = pool(&sandbox).reopen(&root).unwrap();
    let expected = format!("gitdir: {}\n", slot.place.git_dir().unwrap().display());
    assert_eq!(fs::read_to_string(&link).unwrap(), expected);
    fs::write(&link, "gitdir: /somewhere/else\n").unwrap();
    assert_eq!(Git::new(slot.root()).head(), Seen::Value(made));
    drop(slot);
    drop(take(&sandbox));
    assert!(!trap.exists(), "a planted program was run");
    assert_eq!(fs::read_to_string(&link).unwrap(), expected);
}

#[test]
fn a_slot_that_leads_elsewhere_is_refused() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let directory = slot.root().parent().unwrap().to_owned();
    drop(slot);
    let elsewhere = sandbox.home().join("elsewhere");
    fs::rename(&directory, &elsewhere).unwrap();
    symlink(&elsewhere, &directory).unwrap();
    let error = pool(&sandbox).take(Kind::Clone, "main").unwrap_err();
    assert!(matches!(&error, SlotError::NotContained { path } if *path == directory), "{error}");
    fs::remove_file(&directory).unwrap();
    fs::rename(&elsewhere, &directory).unwrap();
    fs::rename(directory.join("tree"), &elsewhere).unwrap();
    symlink(&elsewhere, directory.join("tree")).unwrap();
    let error = pool(&sandbox).take(Kind::Clone, "main").unwrap_err();
    assert!(matches!(&error, SlotError::NotContained { path } if path.ends_with("tree")), "{error}");
    let outside = pool(&sandbox).reopen(Path::new("/somewhere/1/tree")).unwrap_err();
    assert!(matches!(outside, SlotError::NotOurs { .. }), "{outside}");
}

#[test]
fn what_was_begun_and_never_made_is_removed() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let slots = slot.root().ancestors().nth(2).unwrap().to_owned();
    fs::create_dir_all(slots.join("making-old/git")).unwrap();
    drop(slot);
    fs::write(slots.join("1/git/index.lock"), "").unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::options().write(true).open(slots.join("1/git/index.lock")).unwrap().set_modified(old).unwrap();
    assert_eq!(take(&sandbox).number(), 1);
    assert!(!slots.join("making-old").exists());
}

#[test]
fn a_branch_is_rebased_or_its_conflicts_are_named() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    slot.begin_branch("feature/x", slot.base().unwrap()).unwrap();
    let made = commit_in(&slot, "a.txt", "mine\n");
    assert_eq!(slot.rebase("feature/x", slot.base().unwrap()).unwrap(), Rebase::Nothing);

    sandbox.write("b.txt", "two\n");
    let onto = commit(&sandbox, "feat: two");
    assert_eq!(slot.bring_target("main", None).unwrap(), onto);
    let Rebase::Done { from, to } = slot.rebase("feature/x", &onto).unwrap() else { panic!("not rebased") };
    assert_eq!((from, git(&slot, &["rev-parse", "feature/x~1"])), (made, onto.clone()));
    assert_eq!(git(&slot, &["rev-parse", "feature/x"]), to);
    assert_eq!(slot.rebase("feature/x", &onto).unwrap(), Rebase::Nothing);

    sandbox.write("a.txt", "theirs\n");
    let onto = commit(&sandbox, "feat: a");
    slot.bring_target("main", None).unwrap();
    let conflicts = Rebase::Conflicts { files: vec!["a.txt".to_owned()] };
    assert_eq!(slot.rebase("feature/x", &onto).unwrap(), conflicts);
    assert_eq!(git(&slot, &["rev-parse", "HEAD"]), to);
    assert_eq!(git(&slot, &["status", "--porcelain"]), "");

    // A rebase that a crash has interrupted is taken back first.
    let mut command = Command::new("git");
    command.args(["-c", "user.name=A", "-c", "user.email=a@b", "rebase", &onto]).current_dir(slot.root());
    assert!(!command.output().unwrap().status.success());
    assert!(slot.place.git_dir().unwrap().join("rebase-merge").exists());
    assert_eq!(slot.rebase("feature/x", &onto).unwrap(), conflicts);
    assert_eq!(git(&slot, &["symbolic-ref", "--short", "HEAD"]), "feature/x");
    assert_eq!(git(&slot, &["rev-parse", "HEAD"]), to);
}

#[test]
fn a_branch_is_delivered_under_a_name_that_is_free() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    slot.begin_branch("feature/x", slot.base().unwrap()).unwrap();
    sandbox.git(&["branch", "feature/x"]);
    let first = commit_in(&slot, "c.txt", "one\n");
    assert_eq!(slot.deliver("r1", &first, "feature/x", &durable()).unwrap(), "feature/x-2");
    assert_eq!(slot.deliver("r1", &first, "feature/x", &durable()).unwrap(), "feature/x-2");
    let second = commit_in(&slot, "c.txt", "two\n");
    assert_eq!(slot.deliver("r1", &second, "feature/x", &durable()).unwrap(), "feature/x-2");
    assert_eq!(sandbox.git(&["rev-parse", "feature/x-2"]), second);
    // Somebody goes on there by themselves: it is theirs then.
    sandbox.git(&["branch", "--force", "feature/x-2", &first]);
    let third = commit_in(&slot, "c.txt", "three\n");
    assert_eq!(slot.deliver("r1", &third, "feature/x", &durable()).unwrap(), "feature/x-3");
    assert_eq!(sandbox.git(&["rev-parse", "feature/x-2"]), first);
    assert_eq!(sandbox.git(&["rev-parse", "feature/x"]), sandbox.git(&["rev-parse", "main"]));
}

#[test]
fn a_slot_whose_work_was_merged_is_handed_on_as_it_is() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let base = slot.base().unwrap().to_owned();
    slot.note_run("r1").unwrap();
    slot.begin_branch("feature/x", &base).unwrap();
    let made = commit_in(&slot, "c.txt", "new\n");
    slot.keep_outside(&made, "r1").unwrap();
    slot.between().note_merge("r1", &base, &made).unwrap();
    slot.fast_forward(None, "main", (&base, &made), &durable()).unwrap();
    drop(slot);
    let slot = take(&sandbox);
    assert_eq!((slot.number(), slot.base()), (1, Some(made.as_str())));
    assert_eq!(git(&slot, &["branch", "--format=%(refname)"]).lines().last(), Some("refs/heads/main"));
    assert_eq!(git(&slot, &["rev-parse", "HEAD", "main", "origin/main"]), [&*made; 3].join("\n"));
    assert_eq!(fs::read_to_string(slot.place.git_dir().unwrap().join("HEAD")).unwrap().trim(), made);
    assert_eq!(git(&slot, &["status", "--porcelain", "--ignored"]), "");
    assert_eq!(salvage(&sandbox), Vec::<String>::new());

    // The person has gone on meanwhile.
    slot.note_run("r2").unwrap();
    drop(slot);
    sandbox.write("a.txt", "theirs\n");
    let theirs = commit(&sandbox, "feat: theirs");
    assert_eq!(take(&sandbox).base(), Some(theirs.as_str()));
}

#[test]
fn a_worktree_serves_as_a_slot_too() {
    let sandbox = sandbox();
    let pool = pool(&sandbox);
    let slot = pool.take(Kind::Worktree, "main").unwrap();
    assert_eq!((slot.kind, slot.number()), (Kind::Worktree, 1));
    assert_eq!(slot.place.project_id().unwrap(), Place::at(&sandbox.root()).unwrap().project_id().unwrap());
    let base = slot.base().unwrap().to_owned();
    sandbox.git(&["branch", "feature/x"]);
    assert_eq!(slot.begin_branch("feature/x", &base).unwrap(), "feature/x-2");
    let made = commit_in(&slot, "c.txt", "new\n");
    assert_eq!(sandbox.git(&["rev-parse", "feature/x-2"]), made);
    assert_eq!(slot.deliver("r1", &made, "feature/x-2", &durable()).unwrap(), "feature/x-2");
    slot.keep_outside(&made, "r1").unwrap();
    fs::write(slot.root().join("new.txt"), "untracked\n").unwrap();
    slot.note_run("r1").unwrap();
    slot.fast_forward(None, "main", (&base, &made), &durable()).unwrap();
    assert!(sandbox.read("c.txt").is_some());
    drop(slot);
    let slot = pool.take(Kind::Worktree, "main").unwrap();
    assert_eq!((slot.number(), slot.base()), (1, Some(made.as_str())));
    assert!(!slot.root().join("new.txt").exists());
    assert_eq!(salvage(&sandbox), ["refs/warp/salvage/r1/1"]);
    assert_eq!(pool.take(Kind::Clone, "main").unwrap().number(), 2);
}

#[test]
fn commits_of_a_worktree_are_not_signed_either() {
    let sandbox = sandbox();
    sandbox.git(&["config", "commit.gpgSign", "true"]);
    sandbox.git(&["config", "gpg.program", "/bin/false"]);
    let slot = pool(&sandbox).take(Kind::Worktree, "main").unwrap();
    let base = slot.base().unwrap().to_owned();
    slot.begin_branch("feature/x", &base).unwrap();
    commit_in(&slot, "c.txt", "new\n");
    sandbox.write("later.txt", "later\n");
    sandbox.git(&["add", "later.txt"]);
    sandbox.git(&["commit", "--quiet", "--no-gpg-sign", "-m", "feat: later"]);
    let onto = sandbox.git(&["rev-parse", "main"]);
    assert!(matches!(slot.rebase("feature/x", &onto).unwrap(), Rebase::Done { .. }));
}

#[test]
fn a_slot_that_cannot_be_made_ready_is_passed_over_and_named() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    fs::write(slot.root().join("new.txt"), "only here\n").unwrap();
    fs::write(slot.place.git_dir().unwrap().join("index"), "no index").unwrap();
    let root = slot.root().to_owned();
    drop(slot);
    let mut slot = take(&sandbox);
    assert_eq!(slot.number(), 2);
    let said = slot.take_passed_over();
    let [line] = said.as_slice() else { panic!("{said:?}") };
    assert!(line.contains(root.to_str().unwrap()) && line.contains("index"), "{line}");
    assert!(root.join("new.txt").exists());
}

#[test]
fn what_is_in_the_directory_of_a_submodule_is_set_aside() {
    let sandbox = sandbox();
    let entry = format!("160000,{},vendor", sandbox.git(&["rev-parse", "HEAD"]));
    sandbox.git(&["update-index", "--add", "--cacheinfo", &entry]);
    sandbox.git(&["commit", "--quiet", "-m", "feat: a submodule"]);
    let slot = take(&sandbox);
    slot.note_run("r1").unwrap();
    fs::write(slot.root().join("vendor/work.txt"), "only here\n").unwrap();
    drop(slot);
    let slot = take(&sandbox);
    assert_eq!(fs::read_dir(slot.root().join("vendor")).unwrap().count(), 0);
    let aside = pool(&sandbox).set_aside().unwrap();
    let [vendor] = aside.as_slice() else { panic!("{aside:?}") };
    assert_eq!(fs::read_to_string(vendor.join("work.txt")).unwrap(), "only here\n");
}

#[test]
fn a_lost_workspace_is_found_again_with_its_commits() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    slot.begin_branch("feature/x", slot.base().unwrap()).unwrap();
    let mut workspace = Workspace::open(slot.place.clone(), dirs(&sandbox)).unwrap();
    let request = Request { level: Some(3), owns_workspace: true, ..Request::default() };
    let mut run = workspace.begin(request).unwrap().current.run.as_ref().clone();
    let first = commit_in(&slot, "c.txt", "one\n");
    slot.keep_outside(&first, run.id.as_str()).unwrap();
    let second = commit_in(&slot, "c.txt", "two\n");
    run.commit_hashes = vec![first.clone(), second.clone()];
    run.chunk.first_base = Some(slot.base().unwrap().to_owned());
    let root = slot.root().to_owned();
    drop(slot);
    assert!(pool(&sandbox).recover(&run).unwrap().is_none(), "it is not lost");
    fs::remove_dir_all(root.parent().unwrap()).unwrap();
    assert!(matches!(pool(&sandbox).reopen(&root).unwrap_err(), SlotError::Lost { .. }));

    let recovered = pool(&sandbox).recover(&run).unwrap().unwrap();
    assert_eq!(recovered.slot.root(), root);
    assert_eq!((&recovered.tip, &recovered.found), (&first, &vec![first.clone()]));
    assert_eq!(recovered.missing, [second]);
    assert_eq!(git(&recovered.slot, &["rev-parse", "feature/x"]), first);
    assert_eq!(fs::read_to_string(root.join("c.txt")).unwrap(), "one\n");
    drop(recovered);

    // Only the repository is gone: the files that were not committed are kept.
    fs::write(root.join("new.txt"), "untracked\n").unwrap();
    fs::remove_dir_all(root.parent().unwrap().join("git")).unwrap();
    let recovered = pool(&sandbox).recover(&run).unwrap().unwrap();
    let kept = recovered.kept.unwrap();
    assert_eq!(sandbox.git(&["show", &format!("{kept}:new.txt")]), "untracked");
    assert!(recovered.remains.unwrap().join("tree/new.txt").exists());
}

#[test]
fn a_commit_that_only_a_remote_has_is_found_there() {
    let sandbox = sandbox();
    let remote = sandbox.home().join("remote.git");
    sandbox.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let slot = take(&sandbox);
    slot.begin_branch("feature/x", slot.base().unwrap()).unwrap();
    let mut workspace = Workspace::open(slot.place.clone(), dirs(&sandbox)).unwrap();
    let request = Request { level: Some(3), owns_workspace: true, ..Request::default() };
    let mut run = workspace.begin(request).unwrap().current.run.as_ref().clone();
    let made = commit_in(&slot, "c.txt", "one\n");
    git(&slot, &["push", "--quiet", remote.to_str().unwrap(), "feature/x"]);
    run.commit_hashes = vec![made.clone()];
    let directory = slot.root().parent().unwrap().to_owned();
    fs::remove_dir_all(&directory).unwrap();
    drop(slot);
    let elsewhere = remote.with_extension("away");
    fs::rename(&remote, &elsewhere).unwrap();
    let recovered = pool(&sandbox).recover(&run).unwrap().unwrap();
    assert_eq!(recovered.missing.len(), 1);
    assert!(recovered.unasked.len() == 1 && recovered.unasked[0].starts_with("`origin`: "), "{recovered:?}");
    drop(recovered);
    fs::rename(&elsewhere, &remote).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    let recovered = pool(&sandbox).recover(&run).unwrap().unwrap();
    assert_eq!((recovered.tip, recovered.missing.len(), recovered.unasked.len()), (made, 0, 0));
    assert_eq!(sandbox.git(&["for-each-ref", "--format=%(refname)", "refs/warp/runs/"]), "");
}

#[test]
fn a_lost_worktree_is_made_again_on_its_branch() {
    let sandbox = sandbox();
    let slot = pool(&sandbox).take(Kind::Worktree, "main").unwrap();
    slot.begin_branch("feature/x", slot.base().unwrap()).unwrap();
    let mut workspace = Workspace::open(slot.place.clone(), dirs(&sandbox)).unwrap();
    let request = Request { level: Some(3), owns_workspace: true, ..Request::default() };
    let mut run = workspace.begin(request).unwrap().current.run.as_ref().clone();
    let made = commit_in(&slot, "c.txt", "one\n");
    run.commit_hashes = vec![made.clone()];
    let root = slot.root().to_owned();
    fs::remove_dir_all(root.parent().unwrap()).unwrap();
    drop(slot);
    let recovered = pool(&sandbox).recover(&run).unwrap().unwrap();
    assert_eq!((recovered.slot.kind, recovered.slot.root()), (Kind::Worktree, root.as_path()));
    assert_eq!(git(&recovered.slot, &["symbolic-ref", "--short", "HEAD"]), "feature/x");
    assert_eq!(git(&recovered.slot, &["rev-parse", "HEAD"]), made);
    assert_eq!(sandbox.git(&["worktree", "list"]).lines().count(), 2);
    assert_eq!(
        Workspace::open(recovered.slot.place.clone(), dirs(&sandbox))
            .unwrap()
            .current()
            .unwrap()
            .unwrap()
            .run
            .id,
        run.id
    );
}

/// What a driver keeps in its journal between two starts.
#[derive(Default)]
struct Remembered {
    root: Option<PathBuf>,
    base: Option<String>,
}

/// Takes a run from its slot to the target, or goes on wherever that was stopped.
fn drive(sandbox: &Sandbox, remembered: &mut Remembered) {
    let pool = pool(sandbox);
    let slot = match &remembered.root {
        Some(root) => pool.reopen(root).unwrap(),
        None => pool.take(Kind::Clone, "main").unwrap(),
    };
    remembered.root = Some(slot.root().to_owned());
    let base = remembered.base.get_or_insert_with(|| slot.base().unwrap().to_owned()).clone();
    slot.note_run("r1").unwrap();
    let branch = slot.begin_branch("feature/x", &base).unwrap();
    let head = || git(&slot, &["rev-parse", "HEAD"]);
    if sandbox.read("b.txt").unwrap() != "theirs\n" {
        sandbox.write("b.txt", "theirs\n");
        commit(sandbox, "feat: theirs");
    }
    if head() == base {
        commit_in(&slot, "c.txt", "mine\n");
    } else {
        Git::new(slot.root()).prepare(Vec::new()).unwrap().put_index().unwrap();
    }
    slot.keep_outside(&head(), "r1").unwrap();
    let onto = slot.bring_target("main", None).unwrap();
    slot.rebase(&branch, &onto).unwrap();
    slot.keep_outside(&head(), "r1").unwrap();
    assert_eq!(slot.deliver("r1", &head(), &branch, &durable()).unwrap(), "feature/x");
    slot.fast_forward(None, "main", (&onto, &head()), &durable()).unwrap();
    slot.keep().unwrap();
    drop(slot);
}

#[cfg(debug_assertions)]
#[test]
fn a_crash_before_or_after_any_act_changes_nothing_of_the_end() {
    use std::{cell::RefCell, panic, rc::Rc};

    let points = Rc::new(RefCell::new(Vec::new()));
    let mut stop_at = 0;
    loop {
        let sandbox = sandbox();
        let mut remembered = Remembered::default();
        let (seen, mut count) = (Rc::clone(&points), 0);
        seen.borrow_mut().clear();
        adapters::boundary::watch(move |point| {
            seen.borrow_mut().push(point.to_owned());
            count += 1;
            // Not a panic of the test itself: nothing is printed.
            if count == stop_at {
                panic::resume_unwind(Box::new("stopped"));
            }
        });
        let stopped =
            panic::catch_unwind(panic::AssertUnwindSafe(|| drive(&sandbox, &mut remembered))).is_err();
        adapters::boundary::unwatch();
        let at = points.borrow().last().cloned();
        if stopped {
            drive(&sandbox, &mut remembered);
        }
        let log = sandbox.git(&["log", "--format=%s", "main"]);
        assert_eq!(log, "feat: c.txt\nfeat: theirs\nfeat: begin\nchore: begin", "after {at:?}");
        let branches = sandbox.git(&["branch", "--format=%(refname:short)"]);
        assert_eq!(branches, "feature/issue-42-parser\nfeature/x\nmain", "after {at:?}");
        assert_eq!(salvage(&sandbox), [""; 0], "after {at:?}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), "", "after {at:?}");
        let slots = remembered.root.unwrap().ancestors().nth(2).unwrap().to_owned();
        pool(&sandbox).take(Kind::Clone, "main").unwrap();
        assert_eq!(fs::read_dir(slots).unwrap().count(), 1, "after {at:?}");
        if !stopped && stop_at > 0 {
            break;
        }
        stop_at += 1;
    }
    assert!(stop_at > 15, "{stop_at} points");
}

/// Nothing here is recorded, so nothing has to be on disk before it.
pub(crate) fn durable() -> Durable {
    MemoryStore::new().flush().unwrap()
}
