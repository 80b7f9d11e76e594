//! What the tests need is installed in the run's workspace: once, again when a manifest changes, and never committed.

use std::{fs, path::PathBuf};

use super::support::{GOOD, Project, Running};
use crate::support::{Ends as _, InProject as _};

/// Counts how often it ran, in an ignored directory, and leaves a file that nobody ignores.
const SETUP: &str = "mkdir -p deps && echo run >> deps/runs && echo made > made.txt";

/// A project whose tests need what the setup makes.
fn project(script: &str) -> Project {
    let project = Project::new(script);
    project.sandbox.write("test.sh", "test -e deps/runs && echo 'ok 1 - has its dependencies'\n");
    project.sandbox.write("package.json", "{}\n");
    project.sandbox.write(".gitignore", "deps/\n");
    project.sandbox.write("warp.toml", format!("[workflow]\nsetup_command = \"{SETUP}\"\n"));
    project.sandbox.commit("chore: dependencies");
    project
}

fn setups(project: &Project) -> usize {
    fs::read_to_string(project.tree().join("deps/runs")).unwrap().lines().count()
}

#[test]
fn it_is_installed_once_and_stays_for_the_next_run() {
    let project = project(GOOD);
    let ended = project.run(&[]).ends(0);
    assert!(ended.said.contains(&format!("prepared with `{SETUP}` in ")), "{}", ended.said);
    assert_eq!(setups(&project), 1);
    let committed = project.sandbox.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(!committed.contains("made.txt") && !committed.contains("deps"), "{committed}");
    assert!(!project.sandbox.root().join("deps").exists());

    let said = project.run_another();
    assert!(said.contains("prepared before with "), "{said}");
    assert_eq!(setups(&project), 1);
}

#[test]
fn it_is_installed_again_when_the_work_changes_a_manifest() {
    let steps = r#"steps = [{ write = "package.json", text = "{ \"dependencies\": {} }\n" }, "#;
    let project = project(&GOOD.replace("steps = [", steps));
    project.run(&[]).ends(0);
    assert_eq!(setups(&project), 2);
}

#[test]
fn a_setup_that_fails_is_asked_about_before_an_agent_works() {
    let project = project(GOOD);
    project.run(&["--set", "setup_command=echo no such package; exit 3"]).ends(5);
    let (id, question) = project.question();
    assert!(question.contains("`echo no such package; exit 3` ended with exit 3"), "{question}");
    assert!(question.contains("no such package\n") || question.ends_with("no such package"), "{question}");
    assert_eq!((project.count("turn_started"), project.count("tests_failed")), (0, 0));
    project.sandbox.warp_ok(&["answer", &id, "stop"]);
    let explained = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(explained.contains("aborted") || explained.contains("stopped"), "{explained}");
}

#[test]
fn a_setup_whose_program_is_missing_is_said_at_once() {
    let project = project(GOOD);
    let ended = project.run(&["--set", "setup_command=no-such-installer install"]).ends(1);
    assert!(ended.said.contains("`no-such-installer` is not installed"), "{}", ended.said);
    assert!(ended.said.contains("set `setup_command`"), "{}", ended.said);
}

#[test]
fn work_that_cannot_be_installed_has_failed_its_tests() {
    // What it asks for is not to be had; the agent is told, because it was possible before.
    let setup = "grep -q nothing package.json && { echo no package of that name; exit 1; }; true";
    let steps =
        r#"steps = [{ write = "package.json", text = "{ \"dependencies\": { \"nothing\": 1 } }\n" }, "#;
    let project = Project::new(&GOOD.replace("steps = [", steps));
    project.sandbox.write("package.json", "{}\n");
    project.sandbox.commit("chore: a manifest");
    let set = format!("setup_command={setup}");
    let ended = project.run(&["--set", &set, "--set", "max_coding_cycles=1"]).ends(5);
    assert!(project.count("tests_failed") > 0, "{}", ended.said);
    assert!(ended.said.contains("no package of that name"), "{}", ended.said);
}

/// An agent that does the issue, and changes a file of Git LFS.
fn changes_data() -> String {
    GOOD.replace("steps = [", r#"steps = [{ write = "data.bin", text = "second content\n" }, "#)
}

/// A project with a file of Git LFS and a remote; nothing where git-lfs is not installed.
fn with_lfs(script: &str, test: &str) -> Option<(Project, PathBuf)> {
    if !adapters::process::is_installed("git-lfs") {
        testkit::agents::skip("git-lfs is not installed");
        return None;
    }
    let project = Project::new(script);
    let sandbox = &project.sandbox;
    sandbox.git(&["lfs", "install", "--local"]);
    sandbox.git(&["lfs", "track", "*.bin"]);
    sandbox.write("data.bin", "first content\n");
    sandbox.write("test.sh", test);
    sandbox.commit("feat: data");
    let remote = sandbox.home().join("remote.git");
    sandbox.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    sandbox.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    sandbox.warp_ok(&["config", "push=target"]);
    assert!(sandbox.git(&["show", "main:data.bin"]).starts_with(POINTER));
    Some((project, remote))
}

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n";
const READS_DATA: &str = "grep -q content data.bin && echo 'ok 1 - has its data'\n";

#[test]
fn files_of_git_lfs_have_their_content_and_are_committed_as_pointers() {
    let Some((project, remote)) = with_lfs(&changes_data(), READS_DATA) else { return };
    let ended = project.run(&[]).ends(0);
    assert!(ended.said.contains("tests before the work: 1 passed"), "{}", ended.said);
    let committed = project.sandbox.git(&["show", "main:data.bin"]);
    assert!(committed.starts_with(POINTER), "{committed}");
    // The person and the remote have the new content too.
    assert_eq!(project.sandbox.read("data.bin").as_deref(), Some("second content\n"));
    assert_eq!(project.sandbox.git(&["status", "--porcelain"]), "");
    let clone = project.sandbox.home().join("clone");
    let clone = clone.to_str().unwrap();
    project.sandbox.git(&["clone", "--quiet", "--branch=main", remote.to_str().unwrap(), clone]);
    project.sandbox.git(&["-C", clone, "lfs", "install", "--local"]);
    project.sandbox.git(&["-C", clone, "lfs", "pull"]);
    assert_eq!(fs::read_to_string(format!("{clone}/data.bin")).unwrap(), "second content\n");
    // The next run begins with it.
    assert!(!project.run_another().contains("Git LFS"));
}

#[test]
fn content_of_git_lfs_that_is_not_here_is_said_and_comes_later() {
    let Some((project, _)) = with_lfs(GOOD, "true\n") else { return };
    let store = project.sandbox.root().join(".git/lfs/objects");
    fs::rename(&store, store.with_file_name("away")).unwrap();
    let ended = project.run(&[]).ends(0);
    let words = "1 file of Git LFS is here without the content (data.bin): `git lfs pull` in your checkout";
    assert!(ended.said.contains(words), "{}", ended.said);
    assert!(project.sandbox.git(&["show", "main:data.bin"]).starts_with(POINTER));

    let _ = fs::remove_dir_all(&store);
    fs::rename(store.with_file_name("away"), &store).unwrap();
    let said = project.run_another();
    assert!(!said.contains("Git LFS"), "{said}");
    assert_eq!(fs::read_to_string(project.tree().join("data.bin")).unwrap(), "first content\n");
}

#[test]
fn without_git_lfs_there_are_pointers_and_no_content_is_committed() {
    let Some((project, _)) = with_lfs(&changes_data(), "true\n") else { return };
    let programs = project.sandbox.home().join("programs");
    fs::create_dir(&programs).unwrap();
    for directory in std::env::split_paths(&std::env::var_os("PATH").unwrap()) {
        for entry in fs::read_dir(directory).into_iter().flatten().map(Result::unwrap) {
            if entry.file_name() != "git-lfs" {
                // The first of a name counts.
                let _ = std::os::unix::fs::symlink(entry.path(), programs.join(entry.file_name()));
            }
        }
    }
    // In the sandbox, programs are not found below a home.
    let mut command = project.command(&["--no-sandbox", "--set", "decision_timeout_minutes=0"]);
    command.env("PATH", &programs);
    let ended = Running::start(command).end();
    let words =
        "1 file of Git LFS is here without the content (data.bin): git-lfs is not installed; install it";
    assert!(ended.said.contains(words), "{}", ended.said);
    assert!(ended.said.contains("data.bin: belongs to Git LFS"), "{}", ended.said);
    assert!(ended.said.contains("install git-lfs (`git lfs install`)"), "{}", ended.said);
    assert!(project.sandbox.git(&["show", "main:data.bin"]).starts_with(POINTER));
}
