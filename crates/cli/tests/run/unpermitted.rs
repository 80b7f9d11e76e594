//! An agent without hooks and without a sandbox commits where it may not: nothing of that is merged, and no work is lost.

use crate::support::{Project, Running};

/// Answers as if the issue was done.
const DONE: &str = r#"echo '{"summary":"done","evidence":[
    {"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}'"#;
/// Git as one that goes past hooks.
const PAST: &str = "git -c core.hooksPath=/dev/null";

/// Runs an agent that does this, and the work that was asked for.
fn run(project: &Project, sneaky: &str) -> String {
    let script =
        format!("printf 'hello\\nworld\\n' > greeting.txt\n{{ {sneaky}\n}} >/dev/null 2>&1\n{DONE}\n");
    let file = project.sandbox.home().join("agent.sh");
    std::fs::write(&file, script).unwrap();
    let agent = format!("command:sh {}", file.display());
    let more = ["--no-sandbox", "--agent", &agent, "--set", "commit_guard=false"];
    let ended = Running::start(project.command(&more)).end();
    assert_eq!(ended.code, Some(0), "{sneaky}: {}", ended.said);
    ended.said
}

#[test]
fn what_an_agent_commits_without_permission_is_moved_back_and_not_merged() {
    let made = "$(git commit-tree -m sneaky -p HEAD 'HEAD^{tree}')";
    for sneaky in [
        format!("git add -A; {PAST} commit -q -m sneaky"),
        format!("{PAST} commit -q --allow-empty -m sneaky; {PAST} commit -q --allow-empty -m sneaky"),
        format!("{PAST} update-ref HEAD {made}"),
        format!("{PAST} checkout -q --detach; {PAST} commit -q --allow-empty -m sneaky"),
        format!("git add -A; {PAST} switch -q -c sneaky; {PAST} commit -q -m sneaky"),
        format!("echo {made} > \"$(git rev-parse --git-dir)/$(git symbolic-ref HEAD)\""),
        format!("{PAST} commit -q --amend --allow-empty -m sneaky"),
    ] {
        let project = Project::new("");
        let said = run(&project, &sneaky);
        let subjects = project.sandbox.git(&["log", "--format=%s", "main"]);
        assert!(!subjects.contains("sneaky"), "{sneaky}: {subjects}\n{said}");
        assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "hello\nworld", "{sneaky}");
        let broken: Vec<_> = project.log().into_iter().filter(|(name, _)| name == "rail_broken").collect();
        assert_eq!(broken.len(), 1, "{sneaky}: {broken:?}\n{said}");
        assert!(broken[0].1["restored"] == true, "{sneaky}: {broken:?}");
        assert!(said.contains("no permission, moved back"), "{sneaky}: {said}");
        let kept = project.sandbox.warp_ok(&["salvage", "list"]);
        assert!(kept.contains("refs/warp/salvage/"), "{sneaky}: {kept}");
    }
}

#[test]
fn git_itself_refuses_in_a_slot_what_the_agent_has_no_permission_for() {
    let project = Project::new("");
    let tries = [
        "git add -A; git commit -q -m sneaky",
        "git branch -f main HEAD~1",
        "git switch -q -c sneaky; git commit -q --allow-empty -m sneaky",
        "git reset -q --soft HEAD~1",
        "git update-ref -d HEAD",
        "git rebase -q --root",
    ];
    let said = tries.map(|line| format!("({line}) >> refused.txt 2>&1")).join("\n");
    run(&project, &format!("{said}\ntrue"));
    let refused = project.sandbox.git(&["show", "main:refused.txt"]);
    assert!(refused.matches("warp: ").count() >= 3, "{refused}");
    assert!(!project.sandbox.git(&["log", "--all", "--format=%s"]).contains("sneaky"));
}

#[test]
fn an_agent_in_a_slot_is_refused_in_the_persons_repository_and_the_person_is_not() {
    let project = Project::new("");
    project.sandbox.warp_ok(&["init", "--no-skills"]);
    project.sandbox.git(&["add", "-A"]);
    project.sandbox.git(&["commit", "--quiet", "-m", "chore: rails"]);
    let here = project.sandbox.root();
    let here = here.display();
    let tries = [
        format!("git -C {here} commit -q --allow-empty -m sneaky"),
        format!("cd {here} && git branch sneaky && git branch -D sneaky"),
        format!("git -C {here} tag sneaky HEAD"),
        format!("git --git-dir={here}/.git update-ref refs/heads/sneaky HEAD"),
        format!("env -C {here} git switch -q -c sneaky"),
    ];
    let lines = tries.map(|line| format!("({line}) >> refused.txt 2>&1")).join("\n");
    run(&project, &format!("{lines}\ntrue"));
    let refused = project.sandbox.git(&["show", "main:refused.txt"]);
    assert!(refused.matches("warp: ").count() >= 3, "{refused}");
    assert!(!project.sandbox.git(&["for-each-ref"]).contains("sneaky"));
    assert!(!project.sandbox.git(&["log", "--all", "--format=%s"]).contains("sneaky"));
    project.own_commit("mine.txt");
}
