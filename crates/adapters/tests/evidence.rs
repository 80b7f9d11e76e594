//! What evidence and receipts name, looked up in a real repository.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{fs, os::unix::fs::symlink};

use adapters::git::{Git, ListingCache};
use engine::{Claim, CommitSeen, FileSeen, Line, Seen, digest};
use testkit::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new("warp");
    sandbox.write("src/a.rs", "one\ntwo\nthree\nfour\n");
    sandbox.write("with space é.rs", "one\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "--quiet", "-m", "feat: begin"]);
    sandbox
}

fn head(sandbox: &Sandbox) -> String {
    sandbox.git(&["rev-parse", "HEAD"])
}

fn changed(sandbox: &Sandbox, base: Option<&str>, file: &str) -> Vec<u64> {
    let root = sandbox.root();
    let lines: Vec<Line> = (1..10).map(|line| Line { file: file.to_owned(), line }).collect();
    match Git::new(&root).changed_lines(base, &lines, &mut ListingCache::default()) {
        Seen::Value(lines) => lines.into_iter().map(|line| line.line).collect(),
        Seen::Absent(why) | Seen::Failed(why) => panic!("{why}"),
    }
}

fn look(sandbox: &Sandbox, claim: &Claim) -> (Option<Seen<FileSeen>>, Option<Seen<CommitSeen>>) {
    let root = sandbox.root();
    let seen = Git::new(&root).claim(claim);
    assert_eq!(seen.claim, *claim);
    (seen.file, seen.commit)
}

fn file(sandbox: &Sandbox, artifact: &str, git_sha: Option<&str>) -> FileSeen {
    let claim =
        Claim { artifact: Some(artifact.to_owned()), git_sha: git_sha.map(str::to_owned), since: None };
    match look(sandbox, &claim).0.unwrap() {
        Seen::Value(file) => file,
        Seen::Absent(why) | Seen::Failed(why) => panic!("{artifact}: {why}"),
    }
}

fn commit(sandbox: &Sandbox, sha: &str, since: Option<&str>) -> Seen<CommitSeen> {
    let claim = Claim { artifact: None, git_sha: Some(sha.to_owned()), since: since.map(str::to_owned) };
    look(sandbox, &claim).1.unwrap()
}

#[test]
fn lines_count_if_they_were_changed_since_the_base_committed_or_not() {
    let sandbox = sandbox();
    let base = head(&sandbox);
    assert_eq!(changed(&sandbox, Some(&base), "src/a.rs"), [0; 0]);
    sandbox.write("src/a.rs", "one\nTWO\nthree\nfour\nfive\n");
    assert_eq!(changed(&sandbox, Some(&base), "src/a.rs"), [2, 5]);
    sandbox.git(&["commit", "--quiet", "-am", "feat: more"]);
    assert_eq!(changed(&sandbox, Some(&base), "src/a.rs"), [2, 5]);
    assert_eq!(changed(&sandbox, None, "src/a.rs"), [0; 0], "since the last commit");
    // A line that went leaves nothing to point at.
    sandbox.write("src/a.rs", "one\nthree\nfour\nfive\n");
    assert_eq!(changed(&sandbox, None, "src/a.rs"), [0; 0]);
    fs::remove_file(sandbox.root().join("src/a.rs")).unwrap();
    assert_eq!(changed(&sandbox, Some(&base), "src/a.rs"), [0; 0]);
}

#[test]
fn new_files_count_whole_and_names_are_taken_as_they_are() {
    let sandbox = sandbox();
    let base = head(&sandbox);
    sandbox.write("src/new.rs", "one\ntwo");
    sandbox.write("src/[ab].rs", "one\n");
    sandbox.write("with space é.rs", "two\n");
    assert_eq!(changed(&sandbox, Some(&base), "src/new.rs"), [1, 2]);
    assert_eq!(changed(&sandbox, Some(&base), "src/[ab].rs"), [1], "no pattern");
    assert_eq!(changed(&sandbox, Some(&base), "with space é.rs"), [1]);
    for file in [
        "src/none.rs",
        "src",
        "../demo/src/new.rs",
        "/etc/passwd",
        "src/../src/new.rs",
        ":(top)src/new.rs",
        "",
    ] {
        assert_eq!(changed(&sandbox, Some(&base), file), [0; 0], "{file}");
    }
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "--quiet", "-m", "feat: new"]);
    assert_eq!(changed(&sandbox, Some(&base), "src/new.rs"), [1, 2]);
}

#[test]
fn a_file_is_looked_at_in_the_tree_and_in_the_commit() {
    let sandbox = sandbox();
    let sha = head(&sandbox);
    sandbox.write("docs/plan.md", "a plan\n");
    let seen = file(&sandbox, "docs/plan.md", Some(&sha));
    assert_eq!((seen.is_inside, seen.in_tree, seen.at_commit), (true, Some(7), None));
    assert_eq!(seen.digest, Some(digest("a plan\n")));
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "--quiet", "-m", "docs: plan"]);
    let sha = head(&sandbox);
    fs::remove_file(sandbox.root().join("docs/plan.md")).unwrap();
    let seen = file(&sandbox, "docs/plan.md", Some(&sha[..10]));
    assert_eq!((seen.is_inside, seen.in_tree, seen.at_commit), (true, None, Some(7)));
    assert_eq!(seen.digest, Some(digest("a plan\n")), "from the commit");
    let none = file(&sandbox, "docs/none.md", Some(&sha));
    assert_eq!((none.is_inside, none.in_tree, none.at_commit, none.digest), (true, None, None, None));
    sandbox.write("docs/empty.md", "");
    assert_eq!(file(&sandbox, "docs/empty.md", None).in_tree, Some(0));
    let absolute = sandbox.root().join("src/a.rs");
    assert!(file(&sandbox, absolute.to_str().unwrap(), None).is_inside);
}

#[test]
fn a_file_outside_is_outside_however_it_is_named() {
    let sandbox = sandbox();
    fs::write(sandbox.home().join("secret.md"), "secret").unwrap();
    symlink(sandbox.home().join("secret.md"), sandbox.root().join("link.md")).unwrap();
    symlink(sandbox.home(), sandbox.root().join("up")).unwrap();
    symlink("src/a.rs", sandbox.root().join("inside.md")).unwrap();
    for artifact in
        ["link.md", "up/secret.md", "../secret.md", "/etc/passwd", "src", ".git/HEAD", "../none.md", "."]
    {
        let seen = file(&sandbox, artifact, Some("HEAD"));
        assert_eq!(seen, FileSeen::default(), "{artifact}");
    }
    assert!(file(&sandbox, "inside.md", None).is_inside);
}

#[test]
fn a_commit_must_be_there_and_in_the_history() {
    let sandbox = sandbox();
    let first = head(&sandbox);
    sandbox.git(&["switch", "--quiet", "-c", "other"]);
    sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "chore: other"]);
    let other = head(&sandbox);
    sandbox.git(&["switch", "--quiet", "-"]);
    sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "chore: next"]);
    let next = head(&sandbox);
    let seen = |sha: &str, since: Option<&str>| match commit(&sandbox, sha, since) {
        Seen::Value(commit) => (commit.hash, commit.is_in_history, commit.is_new),
        Seen::Absent(why) | Seen::Failed(why) => panic!("{why}"),
    };
    assert_eq!(seen(&first[..8], Some(&first)), (first.clone(), true, Some(false)));
    assert_eq!(seen(&next, Some(&first)), (next.clone(), true, Some(true)));
    assert_eq!(seen("HEAD", None), (next, true, None));
    assert_eq!(seen(&other, None), (other.clone(), false, None));
    for sha in ["0123456789abcdef", "main", "--all", "HEAD~1", ""] {
        assert!(matches!(commit(&sandbox, sha, None), Seen::Failed(_)), "{sha}");
    }
    let plain = tempfile::tempdir().unwrap();
    let claim = Claim { git_sha: Some("HEAD".to_owned()), ..Claim::default() };
    assert!(matches!(Git::new(plain.path()).claim(&claim).commit, Some(Seen::Absent(_))));
}

#[test]
fn a_change_in_the_second_of_the_checkout_is_seen_whatever_its_size() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let git = |arguments: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let identity = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
        assert!(command.args(identity).args(arguments).status().unwrap().success());
    };
    git(&["init", "--quiet"]);
    fs::write(root.join("a.txt"), "one\n").unwrap();
    git(&["add", "a.txt"]);
    git(&["commit", "--quiet", "-m", "chore: begin"]);
    // As if file, index and change were of one second, and the copy of the index of a later one.
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(5);
    let age = |name: &str| {
        fs::File::options().write(true).open(root.join(name)).unwrap().set_modified(then).unwrap()
    };
    age("a.txt");
    git(&["update-index", "--refresh"]);
    age(".git/index");
    fs::write(root.join("a.txt"), "two\n").unwrap();
    age("a.txt");
    assert!(!Git::new(root).prepare(Vec::new()).unwrap().is_empty().unwrap());
}

#[test]
fn a_file_of_a_branch_is_read_as_it_is_in_its_newest_commit() {
    let sandbox = sandbox();
    let (root, branch) = (sandbox.root(), sandbox.git(&["branch", "--show-current"]));
    let git = Git::new(&root);
    let commit = |name: &str, text: &str| {
        sandbox.write(name, text);
        sandbox.git(&["add", name]);
        sandbox.git(&["commit", "--quiet", "-m", "feat: more"]);
        git.file_in(&branch, "Makefile").unwrap()
    };
    assert_eq!(commit("other", "1\n"), None);
    assert_eq!(commit("Makefile", "test:\n").as_deref(), Some("test:\n"));
    assert_eq!(commit("other", "2\n").as_deref(), Some("test:\n"), "what is known of it still holds");
    assert_eq!(commit("Makefile", "check:\n").as_deref(), Some("check:\n"));
    assert_eq!(commit("Makefile", "test:\n").as_deref(), Some("test:\n"));
    // Whoever replaces an object does not decide what is in the branch.
    let object = sandbox.git(&["rev-parse", "HEAD:Makefile"]);
    sandbox.git(&["replace", &object, &sandbox.git(&["rev-parse", "HEAD:other"])]);
    assert_eq!(commit("other", "3\n").as_deref(), Some("test:\n"));
    sandbox.git(&["rm", "--quiet", "Makefile"]);
    assert_eq!(commit("other", "4\n"), None);
}

#[test]
fn a_file_that_cannot_be_read_is_not_taken_for_one_that_is_not_there() {
    let sandbox = sandbox();
    fs::write(sandbox.root().join("bytes"), [0xff, 0xfe]).unwrap();
    sandbox.git(&["add", "bytes"]);
    sandbox.git(&["commit", "--quiet", "-m", "feat: bytes"]);
    let (root, branch) = (sandbox.root(), sandbox.git(&["branch", "--show-current"]));
    let git = Git::new(&root);
    assert_eq!(git.file_in(&branch, "src/a.rs").unwrap().as_deref(), Some("one\ntwo\nthree\nfour\n"));
    for (branch, path) in [(branch.as_str(), "src/b.rs"), (&branch, "none"), ("no-such", "src/a.rs")] {
        assert_eq!(git.file_in(branch, path), Ok(None), "{branch} {path}");
    }
    let plain = tempfile::tempdir().unwrap();
    assert_eq!(Git::new(plain.path()).file_in("main", "a"), Ok(None));
    let problem = git.file_in(&branch, "bytes").unwrap_err();
    assert_eq!(problem, format!("`bytes` of `{branch}` cannot be read: it is not text"));
    let blob = sandbox.git(&["rev-parse", "HEAD:src/a.rs"]);
    fs::remove_file(root.join(".git/objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    let problem = git.file_in(&branch, "src/a.rs").unwrap_err();
    assert!(problem.starts_with(&format!("`src/a.rs` of `{branch}` cannot be read: ")), "{problem}");
}
