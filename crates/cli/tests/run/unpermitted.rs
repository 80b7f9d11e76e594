//! An agent without hooks and without a sandbox commits where it may not: nothing of that is merged, and no work is lost.

use super::support::{GOOD, Project, Running};
use crate::support::Ends as _;

/// Answers as if the issue was done.
const DONE: &str = r#"echo '{"summary":"done","evidence":[
    {"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}'"#;
/// Git as one that goes past hooks.
const PAST: &str = "git -c core.hooksPath=/dev/null";

/// Starts a run with an agent that does this, and the work that was asked for.
fn start(project: &Project, sneaky: &str) -> Running {
    let script =
        format!("printf 'hello\\nworld\\n' > greeting.txt\n{{ {sneaky}\n}} >/dev/null 2>&1\n{DONE}\n");
    let file = project.sandbox.home().join("agent.sh");
    std::fs::write(&file, script).unwrap();
    let agent = format!("command:sh {}", file.display());
    let more = ["--no-sandbox", "--agent", &agent, "--set", "commit_guard=false"];
    Running::start(project.command(&more))
}

/// Runs it to its merge.
fn run(project: &Project, sneaky: &str) -> String {
    let ended = start(project, sneaky).end();
    assert_eq!(ended.code, Some(0), "{sneaky}: {}", ended.said);
    ended.said
}

fn is_merged(project: &Project) -> bool {
    project.sandbox.git(&["ls-tree", "--name-only", "main"]).contains("greeting.txt")
}

/// Makes a project whose repository has git's hooks.
fn with_hooks() -> Project {
    let project = Project::new("");
    project.sandbox.warp_ok(&["init", "--no-skills"]);
    project.sandbox.git(&["add", "-A"]);
    project.sandbox.git(&["commit", "--quiet", "-m", "chore: rails"]);
    project
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
    let project = with_hooks();
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

#[test]
fn a_move_past_the_hooks_of_the_persons_repository_stops_the_run_with_a_question() {
    for sneaky in [
        "git -C HERE -c core.hooksPath=/dev/null commit -q --allow-empty -m sneaky",
        "git -C HERE -c core.hooksPath=/dev/null branch sneaky",
        "git -C HERE -c core.hooksPath=/dev/null tag sneaky",
        "git -C HERE -c core.hooksPath=/dev/null switch -q -c sneaky",
        "git -C HERE -c core.hooksPath=/dev/null checkout -q --detach",
        "echo $(git -C HERE rev-parse HEAD~1) > HERE/.git/refs/heads/main",
        "echo $(git -C HERE rev-parse HEAD) > HERE/.git/refs/heads/sneaky",
        "echo 'ref: refs/heads/sneaky' > HERE/.git/HEAD",
    ] {
        let project = with_hooks();
        let here = project.sandbox.root();
        let ended = start(&project, &sneaky.replace("HERE", &here.display().to_string())).end();
        assert_eq!(ended.code, Some(5), "{sneaky}: {}", ended.said);
        assert!(!is_merged(&project), "{sneaky}: {}", ended.said);
        let (id, question) = project.question();
        assert!(question.contains("in your repository") && question.contains("was it you?"), "{question}");
        assert_eq!(project.count("rail_broken"), 1, "{sneaky}");
        if sneaky.ends_with("tag sneaky") {
            project.sandbox.warp_ok(&["answer", &id, "mine"]);
            project.goes_on();
        } else {
            project.sandbox.warp_ok(&["answer", &id, "stop"]);
            assert!(!is_merged(&project), "{sneaky}");
        }
    }
}

#[test]
fn a_person_moves_what_they_like_while_an_agent_works() {
    let project = with_hooks();
    project.script(&format!(
        "[[turn]]\nphase = \"coding\"\nsteps = [{{ run = \"mkfifo .gate\" }}, {{ say = \"at the gate\" }}, \
         {{ run = \"cat .gate; rm .gate\" }}, {{ write = \"greeting.txt\", text = \"hello\\nworld\\n\" }}]\n\
         answer = {}\n",
        GOOD.split_once("answer = ").unwrap().1
    ));
    let mut running = project.start(&["--no-sandbox"]);
    running.until("at the gate");
    project.own_commit("mine.txt");
    project.sandbox.git(&["branch", "mine"]);
    project.sandbox.git(&["tag", "mine-too"]);
    project.sandbox.git(&["switch", "--quiet", "-c", "elsewhere"]);
    project.sandbox.git(&["commit", "--quiet", "--allow-empty", "-m", "chore: more of mine"]);
    project.sandbox.git(&["commit", "--quiet", "--amend", "--allow-empty", "-m", "chore: amended"]);
    project.sandbox.git(&["switch", "--quiet", "main"]);
    project.sandbox.git(&["branch", "--quiet", "-D", "mine"]);
    std::fs::write(project.tree().join(".gate"), "go").unwrap();
    running.end().ends(0);
    assert_eq!(project.count("rail_broken"), 0);
    let notes = project.sandbox.root().join(".git/warp/watched");
    assert_eq!(notes.read_dir().unwrap().count(), 0);
}
