//! Moving the merge target forward, here and at a remote.

use std::fs;

use adapters::git::{
    integrate::Rebase,
    target::{ForwardError, Forwarded},
};

use super::{commit, commit_in, durable, git, sandbox, take};

#[test]
fn the_target_moves_forward_and_a_checkout_only_when_that_costs_nothing() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let base = slot.base().unwrap().to_owned();
    slot.begin_branch("feature/x", &base).unwrap();
    let first = commit_in(&slot, "a.txt", "two\n");
    slot.keep_outside(&first, "r1").unwrap();
    assert_eq!(sandbox.git(&["rev-parse", "refs/warp/runs/r1"]), first);

    // The person stands on main and has changed a file that the work changes too.
    sandbox.write("a.txt", "mine\n");
    let error = slot.fast_forward(None, "main", (&base, &first), &durable()).unwrap_err();
    assert!(matches!(&error, ForwardError::InTheWay { files, .. } if files == &["a.txt"]), "{error}");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), base);
    assert_eq!(sandbox.read("a.txt").unwrap(), "mine\n");

    // Another file may be changed.
    sandbox.git(&["checkout", "--", "a.txt"]);
    sandbox.write("b.txt", "mine\n");
    slot.fast_forward(None, "main", (&base, &first), &durable()).unwrap();
    slot.fast_forward(None, "main", (&base, &first), &durable()).unwrap();
    assert_eq!(
        (sandbox.read("a.txt").unwrap(), sandbox.read("b.txt").unwrap()),
        ("two\n".into(), "mine\n".into())
    );
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M b.txt");

    // On another branch, only the ref moves.
    sandbox.git(&["switch", "--quiet", "-c", "other"]);
    let second = commit_in(&slot, "c.txt", "three\n");
    slot.fast_forward(None, "main", (&first, &second), &durable()).unwrap();
    assert_eq!(sandbox.git(&["rev-parse", "main"]), second);
    assert!(sandbox.read("c.txt").is_none());

    let error = slot.fast_forward(None, "main", (&first, &base), &durable()).unwrap_err();
    assert!(matches!(&error, ForwardError::MovedOn { now, .. } if *now == second), "{error}");
    let error = slot.fast_forward(None, "main", (&second, &base), &durable()).unwrap_err();
    assert!(matches!(error, ForwardError::NotAhead { .. }), "{error}");
    let error = slot.fast_forward(None, "none", (&first, &second), &durable()).unwrap_err();
    assert!(matches!(error, ForwardError::NoSuchBranch { .. }), "{error}");
}

#[test]
fn a_target_that_another_git_holds_is_moved_with_its_checkout_or_not_at_all() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let base = slot.base().unwrap().to_owned();
    slot.begin_branch("feature/x", &base).unwrap();
    let made = commit_in(&slot, "a.txt", "two\n");
    sandbox.write("b.txt", "mine\n");
    sandbox.git(&["add", "b.txt"]);
    let status = sandbox.git(&["status", "--porcelain"]);
    for lock in [".git/index.lock", ".git/refs/heads/main.lock"] {
        sandbox.write(lock, "");
        let error = slot.fast_forward(None, "main", (&base, &made), &durable()).unwrap_err();
        assert!(matches!(error, ForwardError::Locked { .. }) && error.is_overtaken(), "{error}");
        fs::remove_file(sandbox.root().join(lock)).unwrap();
        assert_eq!(sandbox.git(&["rev-parse", "main"]), base, "{lock}");
        assert_eq!(sandbox.git(&["status", "--porcelain"]), status, "{lock}");
        assert_eq!(sandbox.read("a.txt").unwrap(), "one\n", "{lock}");
    }
    slot.fast_forward(None, "main", (&base, &made), &durable()).unwrap();
    assert_eq!(sandbox.git(&["status", "--porcelain"]), status);
    assert_eq!(sandbox.read("a.txt").unwrap(), "two\n");

    // On another branch there is only the ref.
    sandbox.git(&["switch", "--quiet", "-c", "other"]);
    let next = commit_in(&slot, "c.txt", "three\n");
    sandbox.write(".git/refs/heads/main.lock", "");
    let error = slot.fast_forward(None, "main", (&made, &next), &durable()).unwrap_err();
    assert!(error.is_overtaken(), "{error}");
}

#[test]
fn a_checkout_is_found_wherever_the_target_is_checked_out() {
    let sandbox = sandbox();
    let slot = take(&sandbox);
    let base = slot.base().unwrap().to_owned();
    slot.begin_branch("feature/x", &base).unwrap();
    let other = sandbox.home().join("other");
    sandbox.git(&["switch", "--quiet", "-c", "mine"]);
    sandbox.git(&["worktree", "add", "--quiet", other.to_str().unwrap(), "main"]);
    let first = commit_in(&slot, "c.txt", "new\n");
    slot.fast_forward(None, "main", (&base, &first), &durable()).unwrap();
    assert!(other.join("c.txt").exists() && sandbox.read("c.txt").is_none());
    sandbox.git(&["worktree", "remove", other.to_str().unwrap()]);
    let second = commit_in(&slot, "d.txt", "new\n");
    slot.fast_forward(None, "main", (&first, &second), &durable()).unwrap();
    assert_eq!(sandbox.git(&["rev-parse", "main"]), second);
    assert!(sandbox.read("d.txt").is_none(), "nobody stands on it");
}

#[test]
fn what_keeps_the_persons_branch_back_keeps_the_remotes_back_until_it_has_it() {
    let sandbox = sandbox();
    let remote = sandbox.home().join("remote.git");
    sandbox.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    let there = || sandbox.git(&["--git-dir", remote.to_str().unwrap(), "rev-parse", "main"]);
    let slot = take(&sandbox);
    let base = slot.base().unwrap().to_owned();
    slot.begin_branch("feature/x", &base).unwrap();
    commit_in(&slot, "a.txt", "two\n");
    let made = commit_in(&slot, "c.txt", "new\n");
    let forward = || slot.fast_forward(Some("origin"), "main", (&base, &made), &durable());

    for name in ["a.txt", "c.txt"] {
        sandbox.write(name, "mine\n");
        let error = forward().unwrap_err();
        assert!(matches!(&error, ForwardError::InTheWay { files, .. } if files == &[name]), "{error}");
        assert_eq!((there(), sandbox.git(&["rev-parse", "main"])), (base.clone(), base.clone()));
        assert_eq!(sandbox.read(name).unwrap(), "mine\n");
        sandbox.git(&["stash", "--quiet", "--include-untracked"]);
    }
    sandbox.write(".git/MERGE_HEAD", "");
    assert!(matches!(forward().unwrap_err(), ForwardError::Busy { .. }));
    assert_eq!(there(), base);
    fs::remove_file(sandbox.root().join(".git/MERGE_HEAD")).unwrap();

    // A crash came after the push: what is in the way keeps only the checkout back.
    slot.between().bring(&[&made]).unwrap();
    slot.between().push("origin", &made, "main", Some(&base)).unwrap();
    sandbox.git(&["fetch", "--quiet", "origin"]);
    sandbox.write("c.txt", "mine\n");
    let forwarded = slot.fast_forward(Some("origin"), "main", (&made, &made), &durable()).unwrap();
    assert!(matches!(forwarded, Forwarded::AtRemote(ForwardError::InTheWay { .. })), "{forwarded:?}");
    assert_eq!(sandbox.git(&["rev-parse", "main"]), base);

    // Another file may be changed.
    fs::remove_file(sandbox.root().join("c.txt")).unwrap();
    sandbox.write("b.txt", "mine\n");
    assert!(matches!(forward().unwrap(), Forwarded::Everywhere));
    assert_eq!((there(), sandbox.git(&["rev-parse", "main"])), (made.clone(), made.clone()));
    assert_eq!(sandbox.git(&["status", "--porcelain"]), " M b.txt");
}

#[test]
fn a_remote_is_asked_and_pushed_to_without_force() {
    let sandbox = sandbox();
    let remote = sandbox.home().join("remote.git");
    sandbox.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    let slot = take(&sandbox);
    let base = slot.base().unwrap().to_owned();
    slot.begin_branch("feature/x", &base).unwrap();
    let made = commit_in(&slot, "c.txt", "mine\n");
    slot.between().bring(&[&made]).unwrap();
    let tip = |name: &str| slot.between().remote_tip("origin", name).unwrap();
    assert_eq!(tip("feature/x"), None);
    slot.between().push("origin", &made, "feature/x", None).unwrap();
    assert_eq!(tip("feature/x").as_deref(), Some(&*made));
    slot.between().push("origin", &made, "feature/x", Some(&made)).unwrap();
    assert_eq!(sandbox.git(&["--git-dir", remote.to_str().unwrap(), "rev-parse", "feature/x"]), made);

    // Somebody pushes to main from elsewhere.
    sandbox.git(&["switch", "--quiet", "-c", "theirs"]);
    sandbox.write("b.txt", "theirs\n");
    let theirs = commit(&sandbox, "feat: theirs");
    sandbox.git(&["push", "--quiet", "origin", "theirs:main"]);
    sandbox.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    for expected in [Some(&*theirs), Some(&*base), None] {
        let error = slot.between().push("origin", &made, "main", expected).unwrap_err();
        assert!(error.to_string().contains("commits in `main` that are not here"), "{error}");
    }
    assert_eq!(slot.bring_target("main", None).unwrap(), base);
    assert_eq!(slot.bring_target("main", Some("origin")).unwrap(), theirs);
    assert!(matches!(slot.rebase("feature/x", &theirs).unwrap(), Rebase::Done { .. }));

    // The remote has got the work, and a crash kept the person's own branch behind.
    let made = git(&slot, &["rev-parse", "HEAD"]);
    slot.between().bring(&[&made]).unwrap();
    slot.between().push("origin", &made, "main", Some(&theirs)).unwrap();
    assert_eq!(slot.bring_target("main", Some("origin")).unwrap(), made);
    slot.fast_forward(None, "main", (&made, &made), &durable()).unwrap();
    assert_eq!(sandbox.git(&["rev-parse", "main"]), made);
}
