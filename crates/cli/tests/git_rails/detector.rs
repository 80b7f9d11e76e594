use std::fs;

use engine::{Breach, Standing};

use super::{Agent, Project, begin, open};

const PAST_HOOKS: &str = "git -c core.hooksPath=/dev/null";

/// Expects that everything was put back, and returns what was said.
fn put_back(project: &Project, refs: &str, head: &str) -> (String, Vec<String>) {
    let after = project.after_tool();
    let broken = after.broken.unwrap_or_else(|| panic!("nothing was seen: {:?}", after.notes));
    assert_eq!(broken.breach, Breach::Undone, "{broken:?}");
    assert!(after.commits.is_empty(), "{:?}", after.commits);
    assert_eq!(listed(project), refs);
    assert_eq!(project.git(&["symbolic-ref", "HEAD"]), head);
    assert_eq!(project.standing(), Standing::Active);
    assert!(project.after_tool().broken.is_none(), "it is told once");
    (broken.what, broken.kept)
}

fn listed(project: &Project) -> String {
    let refs = project.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    refs.lines().filter(|line| !line.starts_with("refs/warp/")).collect::<Vec<_>>().join("\n")
}

fn head(project: &Project) -> String {
    project.git(&["symbolic-ref", "HEAD"])
}

#[test]
fn a_commit_past_the_hooks_is_moved_back_and_nothing_is_lost() {
    let mut project = Project::owned();
    project.sandbox.write("kept.txt", "staged\n");
    project.git(&["add", "."]);
    project.sandbox.write("kept.txt", "in the tree\n");
    project.sandbox.write("new.txt", "new\n");
    let (refs, at) = (listed(&project), head(&project));
    project.passes(&format!("{PAST_HOOKS} commit --quiet -m sneaky"));
    let commit = project.git(&["rev-parse", "HEAD"]);
    let (what, kept) = put_back(&project, &refs, &at);
    assert!(what.contains("branch `feature/issue-42-parser` was moved from"), "{what}");
    assert_eq!(project.git(&["rev-parse", &kept[0]]), commit);
    assert_eq!(project.git(&["show", &format!("{}:kept.txt", kept[0])]), "staged");
    assert_eq!(project.sandbox.read("kept.txt").unwrap(), "in the tree\n");
    assert_eq!(project.sandbox.read("new.txt").unwrap(), "new\n");
    assert_eq!(project.git(&["status", "--short"]), " M kept.txt\n?? new.txt");
    let log = project.sandbox.warp_ok(&["log", "--json"]);
    assert!(log.contains("\"rail_broken\"") && log.contains(&kept[0]), "{log}");
}

#[test]
fn every_other_way_past_the_hooks_is_put_back_in_an_owned_workspace() {
    let mut project = Project::owned();
    project.git(&["tag", "v1"]);
    project.git(&["branch", "other"]);
    project.sandbox.write("kept.txt", "stash one\n");
    project.git(&["stash", "--quiet"]);
    project.sandbox.write("kept.txt", "stash two\n");
    project.git(&["stash", "--quiet"]);
    assert!(project.after_tool().broken.is_none());
    project.git(&["pack-refs", "--all"]);
    let zeros = "0".repeat(40);
    let (branch, bogus) = ("feature/issue-42-parser", "1".repeat(40));
    let branch_file = format!(".git/refs/heads/{branch}");
    for (line, words) in [
        (format!("{PAST_HOOKS} reset --quiet --hard main"), "was moved"),
        (format!("{PAST_HOOKS} branch -D other"), "branch `other` was deleted"),
        (format!("{PAST_HOOKS} branch -f other main"), "branch `other` was moved"),
        (format!("{PAST_HOOKS} tag -d v1"), "tag `v1` was deleted"),
        (format!("{PAST_HOOKS} tag -f v1 main"), "tag `v1` was moved"),
        (format!("{PAST_HOOKS} switch --quiet main"), "HEAD was switched"),
        (format!("{PAST_HOOKS} checkout --quiet --detach main"), "HEAD was switched"),
        (
            format!(
                "{PAST_HOOKS} checkout --quiet --detach && {PAST_HOOKS} commit --quiet --allow-empty -m x"
            ),
            "HEAD",
        ),
        (
            format!("{PAST_HOOKS} switch --quiet main && {PAST_HOOKS} commit --quiet --allow-empty -m x"),
            "HEAD",
        ),
        (format!("{PAST_HOOKS} commit --quiet --amend -m x"), "was moved"),
        (format!("{PAST_HOOKS} replace HEAD main"), "was made"),
        (format!("{PAST_HOOKS} symbolic-ref refs/heads/other refs/heads/main"), "branch `other` was moved"),
        (format!("mkdir -p .git/refs/heads/feature; git rev-parse main > {branch_file}"), "was moved"),
        (format!("mkdir -p .git/refs/heads/feature; echo {bogus} > {branch_file}"), "was moved"),
        (format!("mkdir -p .git/refs/heads/feature; echo garbage > {branch_file}"), "was moved"),
        (format!("mkdir -p .git/refs/heads/feature; echo {zeros} > {branch_file}"), "was moved"),
        ("sed -i '/refs.tags/d' .git/packed-refs".to_owned(), "tag `v1` was deleted"),
        ("rm .git/packed-refs; rm -rf .git/refs/heads/*".to_owned(), "was deleted"),
        ("echo 'ref: refs/heads/main' > .git/HEAD".to_owned(), "HEAD was switched"),
        ("rm .git/HEAD".to_owned(), "HEAD was switched"),
    ] {
        if line.contains("packed-refs") {
            project.git(&["pack-refs", "--all"]);
        }
        let (refs, at) = (listed(&project), head(&project));
        let stashes = project.git(&["stash", "list"]).lines().count();
        project.sandbox.write("untracked.txt", &line);
        project.passes(&line);
        let after = project.after_tool();
        let broken = after.broken.unwrap_or_else(|| panic!("{line}: nothing was seen: {:?}", after.notes));
        assert!(broken.breach == Breach::Undone && broken.what.contains(words), "{line}: {broken:?}");
        assert_eq!((listed(&project), head(&project)), (refs, at), "{line}");
        assert_eq!(project.sandbox.read("untracked.txt").unwrap(), line);
        assert_eq!(project.git(&["stash", "list"]).lines().count(), stashes, "{line}");
        assert!(project.after_tool().broken.is_none(), "{line}: it is told once");
        project.git(&["fsck", "--no-dangling"]);
        // Whatever the files are now is the agent's to see to; the next line begins from the same.
        project.git(&["reset", "--quiet", "--hard"]);
    }
    // Git runs no hook when a stash that is not the last one is dropped.
    for line in
        ["git stash drop --quiet", "git stash drop --quiet stash@{1}", &format!("{PAST_HOOKS} stash clear")]
    {
        let before = project.git(&["stash", "list", "--format=%H"]);
        project.passes(line);
        let broken = project.after_tool().broken.unwrap();
        assert!(broken.breach == Breach::Undone && broken.what.contains("was dropped"), "{line}: {broken:?}");
        let mut now: Vec<String> =
            project.git(&["stash", "list", "--format=%H"]).lines().map(str::to_owned).collect();
        let mut before: Vec<String> = before.lines().map(str::to_owned).collect();
        now.sort();
        before.sort();
        assert_eq!(now, before, "{line}");
    }
}

#[test]
fn with_leave_a_commit_past_the_hooks_counts_like_any_other() {
    let mut project = Project::owned();
    project.to_committing();
    let line = format!(
        "git add . && {PAST_HOOKS} commit --quiet -m one && {PAST_HOOKS} commit --quiet --allow-empty -m two"
    );
    project.passes(&line);
    let after = project.after_tool();
    assert!(after.broken.is_none(), "{after:?}");
    let hashes: Vec<String> = after.commits.into_iter().map(|commit| commit.hash).collect();
    assert_eq!(hashes, [project.git(&["rev-parse", "HEAD~1"]), project.git(&["rev-parse", "HEAD"])]);
}

#[test]
fn in_a_persons_checkout_nothing_is_moved_and_the_run_waits() {
    let mut project = Project::new();
    project.git(&["branch", "other"]);
    let other = project.git(&["rev-parse", "other"]);
    project.sandbox.write("kept.txt", "two\n");
    project.passes(&format!("{PAST_HOOKS} commit --quiet --all -m sneaky && {PAST_HOOKS} branch -D other"));
    let refs = listed(&project);
    let broken = project.after_tool().broken.unwrap();
    assert_ne!(broken.breach, Breach::Undone, "{broken:?}");
    assert_eq!(listed(&project), refs, "nothing is moved");
    assert!(broken.kept.iter().any(|kept| project.git(&["rev-parse", kept]) == other), "{broken:?}");
    let Standing::Parked { decision } = project.standing() else { panic!("nobody is asked") };
    let said = project.sandbox.warp(&["state", "transition", ".", "code_complete"]);
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(project.after_tool().broken.is_none(), "it is told once");
    let ended = project.passes(&format!("'{}' answer {} mine || echo refused", super::WARP, decision.id));
    assert!(ended.said.contains("refused"), "an agent does not answer: {ended:?}");
    project.sandbox.warp_ok(&["answer", &decision.id, "stop"]);
    assert_eq!(project.workspace().current().unwrap().unwrap().run.phase.as_str(), "aborted");
}

#[test]
fn another_session_is_watched_and_leaves_commits_to_the_owner() {
    let mut project = Project::owned();
    let look = |project: &Project| project::rails::after_others_tool(&mut project.workspace()).unwrap();
    let before = project.git(&["rev-parse", "HEAD"]);
    project.passes(&format!("{PAST_HOOKS} commit --quiet --allow-empty -m sneaky"));
    let input = format!(
        r#"{{"session_id":"another","cwd":"{}","tool_name":"Bash","tool_input":{{"command":"true"}}}}"#,
        project.sandbox.root().display()
    );
    let line = format!("echo '{input}' | '{}' hook post-tool-use", super::WARP);
    let ended = project.passes(&line);
    assert!(ended.said.contains("it was put back"), "{ended:?}");
    assert_eq!(project.git(&["rev-parse", "HEAD"]), before);
    project.to_committing();
    project.passes("git add . && git commit --quiet -m 'feat: work'");
    assert!(look(&project).commits.is_empty(), "it is not told");
    assert!(look(&project).commits.is_empty());
    let hashes: Vec<String> = project.after_tool().commits.into_iter().map(|commit| commit.hash).collect();
    assert_eq!(hashes, [project.git(&["rev-parse", "HEAD"])]);
}

#[test]
fn without_the_backstop_nobody_is_blamed_in_a_persons_checkout() {
    let project = Project::new();
    project::rails::backstop::remove(&project.place()).unwrap();
    project.sandbox.warp_ok(&["stop", "--hard"]);
    begin(&project.sandbox, &project.sandbox.root(), &project.agent, &[]);
    project.git(&["commit", "--quiet", "--allow-empty", "-m", "a person's"]);
    let after = project.after_tool();
    assert!(after.broken.is_none() && after.notes[0].contains("backstop is not installed"), "{after:?}");
    assert_eq!(project.standing(), Standing::Active);
}

#[test]
fn a_list_of_refs_that_was_taken_away_stops_the_run() {
    let project = Project::owned();
    for text in [None, Some("garbage")] {
        let path = project.sandbox.root().join(".git/warp/refs");
        match text {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        }
        let broken = project.after_tool().broken.unwrap();
        assert!(broken.breach != Breach::Undone && broken.what.contains("taken away"), "{broken:?}");
        assert_eq!(project.standing(), Standing::Stopped);
        assert!(project.after_tool().broken.is_none());
        project.sandbox.warp_ok(&["state", "resume", "."]);
    }
}

#[test]
fn a_linked_working_tree_has_known_refs_of_its_own() {
    let mut project = Project::owned();
    let side = project.sandbox.home().join("side");
    project.git(&["worktree", "add", "--quiet", "-b", "side", side.to_str().unwrap()]);
    let mut agent = Agent::start(&project.sandbox, &side);
    begin(&project.sandbox, &side, &agent, &["--own"]);
    // A person's commit in one of them is no violation in the other.
    project.git(&["commit", "--quiet", "--allow-empty", "-m", "a person's"]);
    assert!(project::rails::after_tool(&mut open(&project.sandbox, &side)).unwrap().broken.is_none());
    assert!(project.after_tool().broken.is_none());
    let ended = agent.run("git commit --allow-empty -m 'feat: x'");
    assert!(ended.code != 0 && ended.said.contains("only allowed during committing"), "{ended:?}");
    let before = project.git(&["rev-parse", "side"]);
    assert_eq!(agent.run(&format!("{PAST_HOOKS} commit --quiet --allow-empty -m x")).code, 0);
    let broken = project::rails::after_tool(&mut open(&project.sandbox, &side)).unwrap().broken.unwrap();
    assert_eq!(broken.breach, Breach::Undone, "{broken:?}");
    assert_eq!(project.git(&["rev-parse", "side"]), before);
    project.passes("git branch new-one");
    let after = project::rails::after_tool(&mut open(&project.sandbox, &side)).unwrap();
    assert!(after.broken.is_none(), "{after:?}");
}

#[test]
fn a_hook_called_by_hand_excuses_nothing() {
    let mut project = Project::owned();
    let before = project.git(&["rev-parse", "HEAD"]);
    project.passes(&format!("{PAST_HOOKS} commit --quiet --allow-empty -m sneaky"));
    let warp = super::WARP;
    let line = format!("{before} $(git rev-parse HEAD) refs/heads/feature/issue-42-parser");
    // It is where it is said to go, so there is nothing to refuse, and nothing to announce.
    project.passes(&format!("echo \"{line}\" | '{warp}' git-hook reference-transaction prepared"));
    project.passes(&format!("echo \"{line}\" | '{warp}' git-hook reference-transaction committed"));
    project.passes(&format!("'{warp}' git-hook post-checkout"));
    let broken = project.after_tool().broken.unwrap();
    assert_eq!(broken.breach, Breach::Undone, "{broken:?}");
    assert_eq!(project.git(&["rev-parse", "HEAD"]), before);
}
