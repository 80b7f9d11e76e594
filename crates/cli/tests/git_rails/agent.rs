use super::Project;

#[test]
fn a_commit_is_refused_in_coding_and_passes_in_committing() {
    let mut project = Project::new();
    project.sandbox.write("src/work.rs", "fn work() {}\n");
    project.git(&["add", "."]);
    let only = "git_commit is only allowed during committing phase; the run is in coding";
    project.refused("git commit -m 'feat: work'", only);
    project.refused("git commit --no-verify -m 'feat: work'", only);
    project.refused("sh -c \"eval 'git commit -m x'\"", only);
    let plumbing =
        "git update-ref refs/heads/feature/issue-42-parser $(git commit-tree HEAD^{tree} -p HEAD -m x)";
    project.refused(plumbing, only);
    project.refused("git update-ref --no-deref HEAD HEAD~1", "does not leave the branch");

    project.to_committing();
    project.git(&["add", "."]);
    project.refused("git commit -m 'did things'", "has no `type: `");
    project.passes("git commit --quiet -m 'feat(work): do it'");
    let head = project.git(&["rev-parse", "HEAD"]);
    let after = project.after_tool();
    assert_eq!(after.commits.iter().map(|commit| commit.hash.as_str()).collect::<Vec<_>>(), [&head]);
    assert!(after.broken.is_none(), "{after:?}");
    assert!(project.after_tool().commits.is_empty(), "it is told once");
}

#[test]
fn a_commit_that_was_told_already_is_not_told_again() {
    let mut project = Project::with(&["--set", "test_command=true"]);
    project.to_committing();
    project.git(&["add", "."]);
    // Commit and transition in one call: by the time anybody looks, the phase gives no leave any more.
    let warp = super::WARP;
    let line = format!("git commit --quiet -m 'feat: work' && '{warp}' next");
    project.passes(&line);
    let after = project.after_tool();
    assert!(after.broken.is_none() && after.commits.is_empty(), "{after:?}");
}

#[test]
fn with_leave_only_ordinary_commits_pass() {
    let mut project = Project::new();
    project.to_committing();
    project.git(&["add", "."]);
    let ordinary = "only adds ordinary commits";
    project.refused("git commit --amend -m 'feat: other'", ordinary);
    project.refused("git reset --soft HEAD~1", ordinary);
    project.refused("git update-ref refs/heads/feature/issue-42-parser main", ordinary);
    project.refused("git commit-tree HEAD^{tree} -p HEAD -p main -m x | xargs git update-ref HEAD", ordinary);
}

#[test]
fn what_moves_or_destroys_is_refused_in_every_phase() {
    let mut project = Project::new();
    project.git(&["tag", "v1"]);
    project.git(&["branch", "other"]);
    let remote = project.sandbox.home().join("remote.git");
    project.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    project.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    project.sandbox.write("kept.txt", "two\n");
    project.git(&["stash", "--quiet"]);
    for turn in ["coding", "committing"] {
        if turn == "committing" {
            project.to_committing();
        }
        project.refused("git push origin HEAD", "does not push");
        project.refused("git push --force origin HEAD", "does not push");
        project.refused("git branch -D other", "does not delete `other`");
        project.refused("git update-ref -d refs/heads/other", "does not delete `other`");
        project
            .refused("git update-ref -d refs/heads/other $(git rev-parse other)", "does not delete `other`");
        project.refused("git branch -m other renamed", "does not");
        project.refused("git branch -f other main", "not `other`");
        project.refused("git tag -d v1", "does not delete `v1`");
        project.refused("git tag -f v1 main", "does not move `v1`");
        project.refused("git rebase --force-rebase main", "does not rewrite history");
        project.refused("git stash drop", "does not drop a stash");
        project.refused("git stash clear", "does not drop a stash");
        project.refused("git switch main", "stays on the branch");
        project.refused("git checkout --detach", "does not leave the branch");
        project.refused("git symbolic-ref HEAD refs/heads/main", "stays on the branch");
        project.refused("git update-ref refs/warp/salvage/x/1 HEAD", "only warp writes there");
        project.refused("git replace HEAD main", "makes branches and tags, not");
        project.refused("git fetch . +main:other", "not `other`");
        // Packed refs are deleted by another way of git's.
        project.git(&["pack-refs", "--all"]);
        project.refused("git branch -D other", "does not delete `other`");
        project
            .refused("git update-ref -d refs/heads/other $(git rev-parse other)", "does not delete `other`");
        project.refused("git tag -d v1", "does not delete `v1`");
    }
}

#[test]
fn what_destroys_nothing_passes() {
    let mut project = Project::new();
    let remote = project.sandbox.home().join("remote.git");
    let remote = remote.to_str().unwrap();
    project.git(&["init", "--quiet", "--bare", remote]);
    project.git(&["remote", "add", "origin", remote]);
    project.git(&["push", "--quiet", "origin", "main"]);
    project.sandbox.write("kept.txt", "two\n");
    for line in [
        "git status",
        "git branch new",
        "git tag v2",
        "git fetch --quiet origin",
        "git stash --quiet",
        "git stash apply --quiet",
        "git add .",
        "git reset --quiet",
        "git gc --quiet",
        "git pack-refs --all",
        "git switch --quiet -c fresh",
    ] {
        project.passes(line);
        let after = project.after_tool();
        assert!(after.broken.is_none(), "{line}: {after:?}");
    }
    assert_eq!(project.git(&["symbolic-ref", "--short", "HEAD"]), "fresh");
    // It stands on a branch of its own making, and is held to the phase there too.
    project.refused("git commit --all -m 'feat: x'", "only allowed during committing");
    project.passes("git switch --quiet new");
    project.refused("git symbolic-ref HEAD refs/heads/main", "stays on the branch");
}

#[test]
fn the_rules_hold_from_another_directory_and_another_working_tree() {
    let mut project = Project::new();
    let root = project.sandbox.root();
    let (root, home) =
        (root.to_str().unwrap().to_owned(), project.sandbox.home().to_str().unwrap().to_owned());
    let only = "only allowed during committing";
    project.refused(&format!("cd /; git -C '{root}' commit --allow-empty -m 'feat: x'"), only);
    project.refused(
        &format!(
            "cd '{home}'; GIT_DIR='{root}/.git' GIT_WORK_TREE='{home}' git commit --allow-empty -m 'feat: x'"
        ),
        only,
    );
    project.git(&["worktree", "add", "--quiet", "-b", "side", &format!("{home}/side")]);
    project.refused(&format!("cd '{home}/side'; git commit --allow-empty -m 'feat: x'"), "another workspace");
    project.refused(&format!("cd '{home}/side'; git branch -f main side"), "not `main`");
    project.refused("setsid git commit --allow-empty -m 'feat: x'", only);
}

#[test]
fn a_journal_that_cannot_be_read_refuses_the_agent_and_not_the_person() {
    let mut project = Project::new();
    project.to_committing();
    std::fs::rename(project.sandbox.home().join("state"), project.sandbox.home().join("gone")).unwrap();
    project.git(&["add", "."]);
    let ended = project.agent.run("git commit -m 'feat: x'");
    assert_ne!(ended.code, 0);
    assert!(ended.said.contains("it cannot be told what the phase allows"), "{ended:?}");
    project.git(&["commit", "--quiet", "-m", "a person's"]);
}

#[test]
fn in_a_workspace_of_the_runs_own_a_command_that_was_cut_off_is_the_agents() {
    let mut project = Project::owned();
    // The command outlives its parents; that it has ended is told by the pipe that it held open.
    let line = "mkfifo ../pipe; setsid sh -c '(env -u CLAUDECODE git commit --allow-empty -m \"feat: x\"; echo $?) \
                >../pipe 2>&1 &' ; cat ../pipe";
    let before = project.git(&["rev-parse", "HEAD"]);
    let ended = project.passes(line);
    assert!(ended.said.contains("only allowed during committing"), "{ended:?}");
    assert_eq!(project.git(&["rev-parse", "HEAD"]), before);
}
