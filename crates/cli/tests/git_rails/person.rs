use engine::Breach;

use super::Project;

/// A person's git, while the run stands in `coding`: nothing is refused, and nothing looks like a violation.
fn undisturbed(project: &Project) {
    let after = project.after_tool();
    assert!(after.broken.is_none(), "{after:?}");
    assert!(after.commits.is_empty(), "{after:?}");
    assert_eq!(project.standing(), engine::Standing::Active);
}

#[test]
fn a_persons_commits_switches_and_tags_are_undisturbed() {
    let project = Project::new();
    let sandbox = &project.sandbox;
    sandbox.write("a.txt", "a\n");
    project.git(&["add", "."]);
    project.git(&["commit", "--quiet", "-m", "not conventional at all"]);
    undisturbed(&project);
    project.git(&["commit", "--quiet", "--amend", "-m", "amended"]);
    undisturbed(&project);
    project.git(&["switch", "--quiet", "main"]);
    undisturbed(&project);
    project.git(&["switch", "--quiet", "-c", "another"]);
    project.git(&["checkout", "--quiet", "--detach"]);
    undisturbed(&project);
    project.git(&["switch", "--quiet", "feature/issue-42-parser"]);
    project.git(&["branch", "-D", "another"]);
    project.git(&["tag", "v1"]);
    project.git(&["tag", "--force", "v1", "HEAD~1"]);
    project.git(&["tag", "-d", "v1"]);
    project.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    project.git(&["update-ref", "refs/heads/made", "HEAD"]);
    undisturbed(&project);
}

#[test]
fn a_persons_rebase_merge_and_gc_are_undisturbed() {
    let project = Project::new();
    let sandbox = &project.sandbox;
    for name in ["a", "b", "c"] {
        sandbox.write(&format!("{name}.txt"), name);
        project.git(&["add", "."]);
        project.git(&["commit", "--quiet", "-m", name]);
    }
    project.git(&["switch", "--quiet", "main"]);
    sandbox.write("m.txt", "m");
    project.git(&["add", "."]);
    project.git(&["commit", "--quiet", "-m", "m"]);
    project.git(&["switch", "--quiet", "feature/issue-42-parser"]);
    project.git(&["rebase", "--quiet", "main"]);
    undisturbed(&project);
    project.git(&["merge", "--quiet", "--no-ff", "-m", "merged", "HEAD~1"]);
    project.git(&["gc", "--quiet", "--prune=now"]);
    undisturbed(&project);
    project.git(&["branch", "-D", "main"]);
    project.git(&["pack-refs", "--all"]);
    undisturbed(&project);
    sandbox.write("a.txt", "changed");
    project.git(&["stash", "--quiet"]);
    project.git(&["stash", "pop", "--quiet"]);
    project.git(&["stash", "--quiet"]);
    sandbox.write("a.txt", "changed again");
    project.git(&["stash", "--quiet"]);
    undisturbed(&project);
    // Git tells nobody of this one; the commit is kept all the same.
    project.git(&["stash", "drop", "--quiet", "stash@{1}"]);
    let after = project.after_tool();
    assert!(
        after.broken.is_none() && after.notes[0].contains("it is kept as refs/warp/salvage/"),
        "{after:?}"
    );
    undisturbed(&project);
}

#[test]
fn a_persons_push_and_fetch_are_undisturbed() {
    let project = Project::new();
    let remote = project.sandbox.home().join("remote.git");
    let remote = remote.to_str().unwrap();
    project.git(&["init", "--quiet", "--bare", remote]);
    project.git(&["remote", "add", "origin", remote]);
    project.git(&["push", "--quiet", "--set-upstream", "origin", "HEAD"]);
    project.git(&["push", "--quiet", "origin", "HEAD:main"]);
    project.git(&["fetch", "--quiet", "origin", "main:from-remote"]);
    project.git(&["push", "--quiet", "origin", "--delete", "main"]);
    undisturbed(&project);
}

#[test]
fn a_project_without_a_run_is_not_looked_at() {
    let mut project = Project::new();
    project.sandbox.warp_ok(&["stop", "--hard"]);
    project.sandbox.write("a.txt", "a\n");
    project.passes("git add . && git commit --quiet -m anything && git branch x && git branch -D x");
    assert_eq!(project.sandbox.read(".git/warp/refs"), None, "nobody needs it any more");
    project.passes("CLAUDECODE=1 git commit --quiet --amend -m 'not held to anything'");
}

#[test]
fn a_command_in_an_agents_environment_is_the_agents_even_without_descent() {
    let project = Project::new();
    project.sandbox.write("a.txt", "a\n");
    project.git(&["add", "."]);
    for (name, value) in
        [("CLAUDECODE", "1"), ("AI_AGENT", "claude-code_2_agent"), ("CODEX_SANDBOX", "seatbelt")]
    {
        let mut command = project.sandbox.command("git");
        let output = command.args(["commit", "-m", "feat: a"]).env(name, value).output().unwrap();
        assert!(!output.status.success(), "{name}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("git_commit is only allowed during committing phase"), "{said}");
    }
}

#[test]
fn a_look_in_the_middle_of_a_persons_commit_takes_it_for_what_it_is() {
    let project = Project::owned();
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            for _ in 0..150 {
                let after = project.after_tool();
                assert!(after.broken.is_none(), "{after:?}");
            }
        });
        for number in 0..8 {
            project.git(&["commit", "--quiet", "--allow-empty", "-m", "a person's"]);
            project.git(&["tag", "--force", &format!("v{}", number % 2)]);
            project.git(&[
                "switch",
                "--quiet",
                if number % 2 == 0 { "main" } else { "feature/issue-42-parser" },
            ]);
        }
        looking.join().unwrap();
    });
    undisturbed(&project);
    assert!(project::rails::is_quiet(&project.place()));
}

#[test]
fn packing_refs_asks_nobody_and_rewrites_nothing() {
    let project = Project::new();
    let (log, asked) = (project.sandbox.home().join("asked"), project.sandbox.home().join("warp-that-tells"));
    let text = format!("#!/bin/sh\necho \"$*\" >>'{}'\nexec '{}' \"$@\"\n", log.display(), super::WARP);
    project.sandbox.program(&asked, &text);
    project::rails::backstop::install(&project.place(), &asked).unwrap();
    let make = |from: usize, to: usize| {
        let line = format!(
            "for i in $(seq {from} {to}); do echo \"create refs/tags/v$i HEAD\"; done | git update-ref --stdin"
        );
        assert!(project.sandbox.command("sh").args(["-c", &line]).status().unwrap().success());
    };
    let lines = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    make(1, 40);
    assert_eq!(lines(), 2, "what moves in one transaction is told of at once");
    let known = project.sandbox.read(".git/warp/refs");
    project.git(&["pack-refs", "--all"]);
    project.git(&["gc", "--quiet"]);
    assert_eq!(lines(), 2, "packing moves nothing");
    assert_eq!(project.sandbox.read(".git/warp/refs"), known);
    undisturbed(&project);
    // A command that only looks like it is asked about.
    project.git(&["tag", "pack-refs--all"]);
    project.git(&["tag", "-d", "pack-refs--all", "v1"]);
    assert!(lines() > 2);
    make(1, 1);
    let known = project.sandbox.read(".git/warp/refs");
    project.git(&["-C", ".", "pack-refs", "--all"]);
    assert_eq!(project.sandbox.read(".git/warp/refs"), known, "asked or not");
    undisturbed(&project);
    make(41, 3040);
    undisturbed(&project);
}

#[test]
fn an_agent_in_another_working_tree_without_a_run_is_nobodys_concern() {
    let project = Project::new();
    let side = project.sandbox.home().join("side");
    project.git(&["worktree", "add", "--quiet", "-b", "side", side.to_str().unwrap()]);
    let commit = |directory: &std::path::Path| {
        let mut command = project.sandbox.command("git");
        command.current_dir(directory).args(["commit", "--quiet", "--allow-empty", "-m", "as it likes"]);
        command.env("CLAUDECODE", "1").output().unwrap()
    };
    let output = commit(&side);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    undisturbed(&project);
    assert!(!commit(&project.sandbox.root()).status.success(), "the run is here");
}

#[test]
fn a_persons_commit_without_hooks_is_asked_about_and_theirs_when_they_say_so() {
    let project = Project::new();
    let commit = ["-c", "core.hooksPath=/dev/null", "commit", "--quiet", "--allow-empty", "-m", "mine"];
    for _ in 0..2 {
        // A second one while the first is asked about is asked about too.
        project.git(&commit);
        let broken = project.after_tool().broken.unwrap();
        assert_eq!(broken.breach, Breach::Doubtful, "{broken:?}");
    }
    let commit = project.git(&["rev-parse", "HEAD"]);
    let engine::Standing::Parked { decision } = project.standing() else { panic!("nobody is asked") };
    assert!(decision.question.starts_with("branch `feature/issue-42-parser` was moved from"), "{decision:?}");
    assert!(decision.question.ends_with("and nobody gave permission: was it you?"), "{decision:?}");
    assert_eq!(decision.options, ["mine", "stop"]);
    let log = project.sandbox.warp_ok(&["log", "--json"]);
    assert!(log.contains("\"rail_broken\""), "{log}");
    project.sandbox.warp_ok(&["answer", &decision.id, "mine"]);
    undisturbed(&project);
    assert_eq!(project.git(&["rev-parse", "HEAD"]), commit);
}
