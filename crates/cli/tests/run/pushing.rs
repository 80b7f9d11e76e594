//! What leaves the machine: nothing that was not allowed, and nothing of the person's own without their word.

use std::path::{Path, PathBuf};

use super::support::{GOOD, Project, Running};
use crate::support::{Ends as _, InProject as _};

const BRANCH: &str = "feature/issue-1-a-greeting";
const GREETING: &str = "feat: A greeting (AC-01, AC-02)";

/// Makes the remote refuse a branch, as a forge does with a protected one.
fn protect(project: &Project, remote: &Path, branch: &str) {
    let hook = format!(
        "#!/bin/sh\nwhile read old new ref; do\n  case $ref in refs/heads/{branch})\n    \
         echo 'this branch is protected' >&2; exit 1 ;;\n  esac\ndone\n"
    );
    project.sandbox.program(remote.join("hooks/pre-receive"), &hook);
}

/// Takes the remote away, as if the network were gone.
fn unplug(project: &Project, remote: &Path) -> PathBuf {
    let away = project.sandbox.home().join("away.git");
    std::fs::rename(remote, &away).unwrap();
    away
}

fn newest(project: &Project, git_dir: &Path, branch: &str) -> String {
    project.subjects(git_dir, branch).into_iter().next().unwrap_or_default()
}

/// Returns whether the remote has the run's branch, and whether `main` was moved there and here.
fn left(project: &Project, remote: &Path) -> (bool, bool, bool) {
    let is_at = |git_dir: &Path, branch: &str| newest(project, git_dir, branch) == GREETING;
    let here = project.sandbox.root().join(".git");
    (is_at(remote, BRANCH), is_at(remote, "main"), is_at(&here, "main"))
}

fn short(project: &Project, git_dir: &Path, commit: &str) -> String {
    let git_dir = git_dir.to_str().unwrap();
    project.sandbox.git(&["--git-dir", git_dir, "rev-parse", "--short=7", commit])
}

#[test]
fn level_and_setting_say_what_the_remote_gets() {
    for (push, level, expected) in [
        ("never", "2", (false, false, false)),
        ("branch", "2", (true, false, false)),
        ("target", "2", (true, false, false)),
        ("never", "3", (false, false, true)),
        ("branch", "3", (true, false, true)),
        ("target", "3", (false, true, true)),
    ] {
        let (project, remote) = Project::with_remote(None);
        let ended = project.run(&["--level", level, "--set", &format!("push={push}")]).ends(0);
        assert_eq!(left(&project, &remote), expected, "push = {push}, level {level}: {}", ended.said);
        let says = |text: &str| assert!(ended.said.contains(text), "`{text}` in {}", ended.said);
        match (push, level) {
            ("never", _) => says("not pushed: push = \"never\"; `git push origin "),
            ("target", "3") => says("pushed: origin main "),
            _ => says(&format!("pushed: origin {BRANCH} ")),
        }
    }
}

#[test]
fn while_nobody_has_allowed_it_nothing_is_pushed_and_the_command_for_it_is_said() {
    let (project, remote) = Project::with_remote(None);
    let ended = project.run(&[]).ends(0);
    assert_eq!(left(&project, &remote), (false, false, true));
    let told = "not pushed: you have not said whether warp may push (`warp config push=branch` or `push=target` \
                allows it); `git push origin main` pushes it";
    assert!(ended.said.contains(told), "{}", ended.said);
    let told = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(told.contains("git push origin main  ") && told.contains("origin does not have it"), "{told}");
    project.sandbox.git(&["push", "--quiet", "origin", "main"]);
    let told = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(!told.contains("git push"), "{told}");
}

#[test]
fn a_pull_request_that_nobody_allowed_to_push_stays_here() {
    let (project, remote) = Project::with_remote(None);
    let ended = project.run(&["--level", "2"]).ends(0);
    assert_eq!(left(&project, &remote), (false, false, false));
    assert!(ended.said.contains(&format!("`git push origin {BRANCH}` pushes it")), "{}", ended.said);
    let told = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(told.contains(&format!("git push origin {BRANCH}  ")), "{told}");
    // The person's merge is no leave to push either.
    let said = project.sandbox.warp_ok(&["pr", "merge", &pull(&project)]);
    assert!(said.contains("not pushed: you have not said whether warp may push"), "{said}");
    assert_eq!(left(&project, &remote), (false, false, true));
}

/// Returns the number of the only pull request.
fn pull(project: &Project) -> String {
    let pulls = project.sandbox.warp_ok(&["pr", "list", "--json"]);
    let pulls: serde_json::Value = serde_json::from_str(&pulls).unwrap();
    pulls[0]["number"].to_string()
}

#[test]
fn what_is_pushed_is_said_to_the_commit() {
    let (project, remote) = Project::with_remote(Some("target"));
    let before = short(&project, &remote, "main");
    let ended = project.run(&[]);
    let after = short(&project, &remote, "main");
    let told = format!("pushed: origin main {before}..{after}, 1 commit\n");
    assert!(ended.said.contains(&told), "{told} in {}", ended.said);
    // What warp has merged before is nobody's own.
    project.sandbox.warp_ok(&["config", "push=never"]);
    project.sandbox.warp_ok(&["revert", "1"]);
    project.sandbox.warp_ok(&["config", "push=target"]);
    project.sandbox.warp_ok(&["issue", "approve", "1"]);
    let ended = project.run(&[]).ends(0);
    let told = format!("pushed: origin main {after}..{}, 2 commits\n", short(&project, &remote, "main"));
    assert!(ended.said.contains(&told), "{told} in {}", ended.said);
}

#[test]
fn commits_of_ones_own_are_not_pushed_by_the_way() {
    for level in ["2", "3"] {
        let (project, remote) = Project::with_remote(Some("target"));
        project.own_commit("notes.txt");
        let ended = project.run(&["--level", level]).ends(0);
        assert_eq!(left(&project, &remote), (false, false, level == "3"), "{}", ended.said);
        let told = "not pushed: that would take 1 commit of your own along; `git push origin ";
        assert!(ended.said.contains(told), "{}", ended.said);
    }
}

#[test]
fn at_a_terminal_ones_own_commits_go_along_by_ones_word() {
    for (answer, expected) in [("push", (false, true, true)), ("keep_local", (false, false, true))] {
        let (project, remote) = Project::with_remote(Some("target"));
        project.own_commit("notes.txt");
        let before = short(&project, &remote, "main");
        let Some(mut running) = Running::at_terminal(&project.sandbox, &project.command(&[])) else { return };
        running.until("or type here: 1 push, 2 keep_local, 3 abort");
        running.type_line(answer);
        let ended = running.end().ends(0);
        assert_eq!(left(&project, &remote), expected, "{}", ended.said);
        let told = match answer {
            "push" => {
                let after = short(&project, &remote, "main");
                format!("pushed: origin main {before}..{after}, 2 commits, 1 of them yours")
            }
            _ => "not pushed: you chose to keep it here".to_owned(),
        };
        assert!(ended.said.contains(&told), "{told} in {}", ended.said);
    }
}

#[test]
fn at_a_terminal_it_is_asked_once_for_a_project() {
    let (project, remote) = Project::with_remote(None);
    let Some(mut running) = Running::at_terminal(&project.sandbox, &project.command(&[])) else { return };
    running.until("What may warp push to origin");
    running.until("type: 1 never, 2 branch, 3 target");
    running.type_line("sometimes");
    running.until("`sometimes` is none of never, branch, target");
    running.type_line("branch");
    running.until("push = \"branch\" is remembered for this project");
    let ended = running.end().ends(0);
    assert_eq!(left(&project, &remote), (true, false, true), "{}", ended.said);
    let shown = project.sandbox.warp_ok(&["config"]);
    let row = shown.lines().find(|line| line.starts_with("push ")).unwrap();
    assert!(
        row.starts_with("push                       branch     branch     ")
            && row.ends_with("/settings.toml"),
        "{row}"
    );
    insta::assert_snapshot!(project.sandbox.refused(78, &["config", "push=sometimes"]), @r#"
    error: `warp config`: `push` must be one of ask, never, branch, target, not "sometimes"
    hint: docs/reference/settings.md lists every setting with its default
    "#);
    project.sandbox.warp_ok(&["config", "push="]);
    let shown = project.sandbox.warp_ok(&["config"]);
    assert!(
        shown.lines().any(|line| line == "push                       ask        ask        default"),
        "{shown}"
    );
}

#[test]
fn a_merge_by_hand_asks_at_a_terminal_too() {
    let (project, remote) = Project::with_remote(None);
    project.run(&["--level", "2"]).ends(0);
    let mut arguments = vec!["pr", "merge"];
    let number = pull(&project);
    arguments.push(&number);
    if !testkit::machine::has_walls() {
        arguments.push("--no-sandbox");
    }
    let merge = project.sandbox.warp_command(&arguments);
    let Some(mut running) = Running::at_terminal(&project.sandbox, &merge) else { return };
    running.until("type one of: never, branch, target");
    running.type_line("target");
    let ended = running.end().ends(0);
    assert!(ended.said.contains("pushed: origin main "), "{}", ended.said);
    assert_eq!(left(&project, &remote), (false, true, true), "{}", ended.said);
}

#[test]
fn a_change_of_mind_counts_for_a_run_that_has_begun() {
    let (project, remote) = Project::with_remote(Some("target"));
    project.script(
        "[[turn]]\nphase = \"coding\"\nresumed = false\nanswer = { summary = \"\", question = { kind = \"scope\", \
         text = \"Which?\", options = [\"a\", \"b\"] } }\n",
    );
    let mut running = project.start(&[]);
    running.until("? Which?");
    project.sandbox.warp_ok(&["config", "push=never"]);
    project.script(GOOD);
    let (id, _) = project.question();
    project.sandbox.warp_ok(&["answer", &id, "a"]);
    let ended = running.end();
    assert_eq!(left(&project, &remote), (false, false, true), "{}", ended.said);
    assert!(ended.said.contains("not pushed: push = \"never\""), "{}", ended.said);
}

#[test]
fn a_refused_target_is_handed_over_instead() {
    let (project, remote) = Project::with_remote(Some("target"));
    protect(&project, &remote, "main");
    let ended = project.run(&[]).ends(0);
    assert_eq!(left(&project, &remote), (true, false, false), "nothing has moved here: {}", ended.said);
    assert!(ended.said.contains("this branch is protected"), "{}", ended.said);
    assert!(ended.said.contains("nothing was moved, a pull request is opened instead"), "{}", ended.said);
    assert!(ended.said.contains(&format!("pushed: origin {BRANCH} ")), "{}", ended.said);
    let number = pull(&project);
    let told = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(told.contains(&format!("is ready for review as pull request #{number}")), "{told}");
    assert!(told.contains("the remote refuses pushes to `main`: merge it there"), "{told}");
    assert!(told.contains(&format!("warp pr close {number} --reason merged")), "{told}");
    // To merge it here would be refused as well, and moves nothing.
    let said = project.sandbox.warp(&["pr", "merge", &number]);
    assert!(said.code == Some(1) && said.err.contains("nothing was moved"), "{said:?}");
    assert_eq!(left(&project, &remote), (true, false, false));
}

#[test]
fn a_refused_branch_stays_here_as_a_pull_request() {
    let (project, remote) = Project::with_remote(Some("branch"));
    protect(&project, &remote, "*");
    let ended = project.run(&["--level", "2"]).ends(0);
    assert!(
        ended.said.contains("not pushed: `origin` refused `feature/issue-1-a-greeting`"),
        "{}",
        ended.said
    );
    assert!(ended.said.contains(&format!("`git push origin {BRANCH}` pushes it")), "{}", ended.said);
    assert_eq!(left(&project, &remote), (false, false, false));
}

#[test]
fn at_a_terminal_a_refused_push_can_be_tried_again_or_handed_over() {
    for answer in ["retry", "hand_over"] {
        let (project, remote) = Project::with_remote(Some("target"));
        protect(&project, &remote, "main");
        let Some(mut running) = Running::at_terminal(&project.sandbox, &project.command(&[])) else { return };
        running.until("or type here: 1 hand_over, 2 retry, 3 abort");
        let told = project.sandbox.warp_ok(&["explain", "1"]);
        assert!(told.contains("this branch is protected"), "{told}");
        assert!(told.contains(" retry      answers `retry`\n"), "{told}");
        if answer == "retry" {
            std::fs::remove_file(remote.join("hooks/pre-receive")).unwrap();
        }
        running.type_line(answer);
        let ended = running.end().ends(0);
        let expected = if answer == "retry" { (false, true, true) } else { (true, false, false) };
        assert_eq!(left(&project, &remote), expected, "{answer}: {}", ended.said);
    }
}

#[test]
fn without_the_remote_a_run_that_pushes_nothing_goes_on() {
    let (project, remote) = Project::with_remote(Some("never"));
    let away = unplug(&project, &remote);
    let ended = project.run(&[]).ends(0);
    assert_eq!(left(&project, &away), (false, false, true));
    assert!(ended.said.contains(", origin not reached, local main"), "{}", ended.said);
    assert!(ended.said.contains("! the remote was not reached: "), "{}", ended.said);
}

#[test]
fn without_the_remote_a_run_that_pushes_asks() {
    let (project, remote) = Project::with_remote(Some("target"));
    let away = unplug(&project, &remote);
    project.run(&[]).ends(5);
    assert_eq!(left(&project, &away), (false, false, false));
    let (id, question) = project.question();
    assert!(question.starts_with("`origin` cannot be reached"), "{question}");
    let told = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(told.contains(&format!("warp answer {id} keep_local  answers `keep_local`")), "{told}");
    assert!(told.contains("warp run 1 "), "{told}");
    project.sandbox.warp_ok(&["answer", &id, "keep_local"]);
    let ended = project.run(&[]).ends(0);
    assert!(ended.said.contains("not pushed: you chose to keep it here"), "{}", ended.said);
    assert_eq!(left(&project, &away), (false, false, true));
}

#[test]
fn a_remote_with_a_relative_path_is_found_from_the_checkout() {
    let (project, remote) = Project::with_remote(Some("target"));
    project.sandbox.git(&["remote", "set-url", "origin", "../remote.git"]);
    let mut command = project.command(&[]);
    command.current_dir(project.sandbox.home()).arg("--project").arg("demo");
    let ended = Running::start(command).end().ends(0);
    assert_eq!(left(&project, &remote), (false, true, true), "{}", ended.said);
    project.sandbox.warp_ok(&["revert", "1"]);
    assert!(newest(&project, &remote, "main").starts_with("revert: undo issue 1"));
}
