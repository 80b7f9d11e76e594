//! What is seen in a run's sandbox: the run's own tree at the project's path, and nothing of the person's checkout.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::Signal;
use testkit::agents::skip;

use super::support::{Ended, GOOD, Project, Running, has_walls};
use crate::support::Ends as _;

const ANSWER: &str = r#"{"summary":"It greets.","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}"#;

/// A file of the person's checkout that git does not know.
const MINE: &str = "a private note";

/// Makes a project with a file and a password that git does not share, and moves it to a path below the home.
fn project(path: &str) -> (Project, PathBuf) {
    let project = Project::new(GOOD);
    project.sandbox.write(".git/info/exclude", "mine.txt\n");
    project.sandbox.write("mine.txt", MINE);
    project.sandbox.git(&["config", "forge.password", "sesame"]);
    let home = project.sandbox.home().canonicalize().unwrap();
    let root = home.join(path);
    fs::create_dir_all(root.parent().unwrap()).unwrap();
    moves(&home.join("demo"), &root);
    // Helpers are started there.
    fs::create_dir_all(home.join("demo")).unwrap();
    (project, root)
}

fn moves(from: &Path, to: &Path) {
    if from != to {
        fs::rename(from, to).unwrap();
    }
}

fn slot(project: &Project, root: &Path) -> PathBuf {
    let id = fs::read_to_string(root.join(".git/warp/project-id")).unwrap();
    let home = project.sandbox.home().canonicalize().unwrap();
    home.join("state/warp/projects").join(id.trim()).join("slots/1")
}

fn git(project: &Project, root: &Path, arguments: &[&str]) -> String {
    let mut command = project.sandbox.command("git");
    let output = command.current_dir(root).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Writes an agent's program, which does this and then what the issue wants.
fn agent(project: &Project, at: &Path, script: &str) -> String {
    let all = format!(
        "#!/bin/sh\ncat > prompt.txt\n{script}\nprintf 'hello\\nworld\\n' > greeting.txt\necho '{ANSWER}'\n"
    );
    format!("command:{}", project.sandbox.program(at, &all).display())
}

fn run(command: &mut Command, root: &Path) -> Ended {
    command.current_dir(root);
    let mut own = Command::new(command.get_program());
    own.args(command.get_args()).current_dir(root).env_clear();
    own.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Running::start(own).end()
}

/// What the agent looks at; what it finds is committed. `SLOT` is where the tree is outside.
const LOOKS: &str = r#"
{ pwd; git status --short; git log -1 --format=%s; git rev-parse --show-toplevel; } > seen.txt 2>&1
{ cat mine.txt "$PWD/mine.txt"; cat .git/config "$(git rev-parse --git-dir)/config"; git config --list; env | grep -v TOKEN; } > told.txt 2>&1
ls "SLOT/tree" > slot.txt 2>&1
grep -rIl "SLOT" . | grep -v -e slot.txt -e names.txt > names.txt
git commit --quiet --allow-empty -m no > commit.txt 2>&1
true"#;

/// Sees that an agent in a project at `root` sees its own tree there, whoever it is.
fn sees_its_own_tree(project: &Project, root: &Path, line: &str) {
    let slot = slot(project, root);
    run(&mut project.command(&["--agent", line]), root).ends(0);
    let show = |file: &str| git(project, root, &["show", &format!("main:{file}")]);
    let (seen, told, top) = (show("seen.txt"), show("told.txt"), root.display());
    assert!(seen.starts_with(&format!("{top}\n?? prompt.txt\n?? seen.txt\nchore: tests\n{top}\n")), "{seen}");
    let inside = slot.to_str().unwrap();
    for hidden in [MINE, "sesame", inside] {
        assert!(!told.contains(hidden), "{hidden}: {told}");
    }
    assert!(!show("prompt.txt").contains(inside), "{}", show("prompt.txt"));
    assert_eq!(show("names.txt"), "", "files in which the slot is named");
    assert!(show("slot.txt").contains("No such file"), "{}", show("slot.txt"));
    assert!(show("commit.txt").contains("Read-only file system"), "{}", show("commit.txt"));
    assert_eq!(fs::read_to_string(root.join("mine.txt")).unwrap(), MINE);
}

#[test]
fn an_agent_sees_its_own_tree_where_the_project_is() {
    if !has_walls() {
        return;
    }
    // All of it is below /tmp: the project, the home, the agent.
    for path in ["demo", "meine Größe/prüf ling", ".config/tool"] {
        let (project, root) = project(path);
        let script = LOOKS.replace("SLOT", slot(&project, &root).to_str().unwrap());
        let line = agent(&project, &project.sandbox.home().join("bin/agent"), &script);
        sees_its_own_tree(&project, &root, &line);
    }
}

#[test]
fn an_agent_and_a_project_elsewhere_below_tmp_are_there() {
    if !has_walls() {
        return;
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let (project, root) = project("demo");
    let moved = elsewhere.path().canonicalize().unwrap().join("demo");
    moves(&root, &moved);
    fs::create_dir(&root).unwrap();
    let script = LOOKS.replace("SLOT", slot(&project, &moved).to_str().unwrap());
    let line = agent(&project, &elsewhere.path().join("agents/agent"), &script);
    sees_its_own_tree(&project, &moved, &line);
}

#[test]
fn a_project_is_there_by_the_name_of_a_link_to_it() {
    if !has_walls() {
        return;
    }
    let (project, root) = project("code/demo");
    let link = project.sandbox.home().canonicalize().unwrap().join("link");
    symlink(&root, &link).unwrap();
    let script =
        format!("cd {} && cat Makefile > linked.txt; cat mine.txt >> linked.txt 2>&1", link.display());
    let line = agent(&project, &project.sandbox.home().join("bin/agent"), &script);
    let mut command = project.command(&["--agent", &line]);
    command.env("PWD", &link);
    run(&mut command, &link).ends(0);
    let linked = git(&project, &root, &["show", "main:linked.txt"]);
    assert!(linked.starts_with("test:") && !linked.contains(MINE), "{linked}");
}

#[test]
fn a_run_goes_on_after_its_project_was_moved() {
    let (project, root) = project("demo");
    let mut command = project.command(&["--agent", "command:echo at work; sleep 600"]);
    let mut running = Running::start({
        command.current_dir(&root);
        command
    });
    running.until("at work");
    running.signal(Signal::INT);
    assert_eq!(running.end().code, Some(130));
    let moved = root.with_file_name("moved");
    moves(&root, &moved);
    fs::create_dir(&root).unwrap();
    let line = agent(&project, &project.sandbox.home().join("bin/agent"), "pwd > seen.txt");
    run(&mut project.command(&["--agent", &line]), &moved).ends(0);
    if has_walls() {
        let seen = git(&project, &moved, &["show", "main:seen.txt"]);
        assert_eq!(seen.trim_end(), moved.to_str().unwrap());
    }
}

#[test]
fn what_cannot_be_seen_is_said_before_an_agent_works() {
    if !has_walls() {
        return;
    }
    let (project, root) = project("demo");
    let line = agent(&project, &root.join("mine.sh"), "true");
    let ended = run(&mut project.command(&["--agent", &line]), &root).ends(78);
    for said in ["demo/mine.sh`, which is in your checkout and not committed", "move it out of the project"] {
        assert!(ended.said.contains(said), "{said}: {}", ended.said);
    }

    let home = project.sandbox.home().canonicalize().unwrap();
    git(&project, &home, &["init", "--quiet", "--initial-branch", "main"]);
    git(&project, &home, &["commit", "--quiet", "--allow-empty", "-m", "chore: begin"]);
    let mut import = project.sandbox.warp_command(&["issue", "import", "issues/1.md", "--approve"]);
    assert!(import.current_dir(&home).output().unwrap().status.success());
    let ended = run(&mut project.command(&[]), &home).ends(78);
    assert!(ended.said.contains("move the project into a directory of its own"), "{}", ended.said);
}

#[test]
fn hooks_are_asked_and_answer_by_the_paths_that_the_agent_sees() {
    if !has_walls() {
        return;
    }
    let (project, root) = project("demo");
    let script = r#"
ask() { printf '{"hook_event_name":"PreToolUse","cwd":"%s","tool_name":"%s","tool_input":{"%s":"%s"}}' "$PWD" "$1" "$2" "$3" |
    WARP hook pre-tool-use >> answers.txt 2>&1; echo "$3 -> $?" >> answers.txt; }
ask Write file_path "$PWD/src/new.txt"
ask Write file_path "$PWD/.git/config"
ask Write file_path .git/hooks/pre-commit
ask Write file_path "$PWD/../demo/.git/HEAD"
ask Bash command "ls $PWD"
ask Bash command "echo x > $PWD/.git/HEAD"
ask Bash command "cd .. && rm -rf demo/.git"
"#;
    let script = script.replace("WARP", env!("CARGO_BIN_EXE_warp"));
    let line = agent(&project, &project.sandbox.home().join("bin/agent"), &script);
    run(&mut project.command(&["--agent", &line]), &root).ends(0);
    let answers = git(&project, &root, &["show", "main:answers.txt"]);
    let top = root.display();
    for allowed in [format!("{top}/src/new.txt -> 0"), format!("ls {top} -> 0")] {
        assert!(answers.contains(&allowed), "{allowed}: {answers}");
    }
    for denied in [
        format!("{top}/.git/config -> 2"),
        ".git/hooks/pre-commit -> 2".to_owned(),
        format!("{top}/../demo/.git/HEAD -> 2"),
        format!("echo x > {top}/.git/HEAD -> 2"),
        "cd .. && rm -rf demo/.git -> 2".to_owned(),
    ] {
        assert!(answers.contains(&denied), "{denied}: {answers}");
    }
    assert!(answers.contains(&format!("`{top}/.git/config` is not for an agent to write")), "{answers}");
    assert!(!answers.contains(slot(&project, &root).to_str().unwrap()), "{answers}");
}

/// Makes a Python project, whose tests import it by an editable install in a virtual environment outside of it; returns
/// how they are run there. None without Python.
fn editable(path: &str) -> Option<(Project, PathBuf, PathBuf)> {
    let (project, root) = project(path);
    let home = project.sandbox.home().canonicalize().unwrap();
    let venv = home.join("environments/demo");
    let made = project
        .sandbox
        .command("python3")
        .current_dir(&home)
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        skip("python3 with venv is not installed");
        return None;
    }
    let lib = fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap().path();
    fs::write(lib.join("site-packages/__editable__.demo-1.pth"), format!("{}\n", root.join("src").display()))
        .unwrap();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    };
    write("pyproject.toml", "[project]\nname = \"demo\"\nversion = \"1\"\n");
    write(".gitignore", "__pycache__/\n");
    write("src/demo.py", "def answer():\n    return 42\n");
    let test = "import unittest, demo\n\nclass Answers(unittest.TestCase):\n    def test_answer(self):\n        self.assertEqual(demo.answer(), 42)\n";
    write("tests/test_demo.py", test);
    // The environment of the person's own is used, so there is nothing to install.
    write(
        "warp.toml",
        "[workflow]\ntest_command = \"python -m unittest discover -s tests\"\nsetup_command = \"none\"\n",
    );
    git(&project, &root, &["add", "--all"]);
    git(&project, &root, &["commit", "--quiet", "-m", "chore: python"]);
    Some((project, root, venv))
}

fn run_with(project: &Project, root: &Path, venv: &Path, more: &[&str]) -> Ended {
    let path = std::env::var("PATH").unwrap();
    let mut command = project.command(more);
    command.env("PATH", format!("{}:{path}", venv.join("bin").display())).env("VIRTUAL_ENV", venv);
    run(&mut command, root)
}

#[test]
fn tests_with_an_editable_install_test_what_the_agent_writes() {
    if !has_walls() {
        return;
    }
    for (source, is_right) in [("def answer():\\n    return 40 + 2\\n", true), ("raise Broken\\n", false)] {
        let Some((project, root, venv)) = editable("code/demo") else { return };
        let script = GOOD
            .replace("steps = [", &format!("steps = [{{ write = \"src/demo.py\", text = \"{source}\" }}, "));
        project.script(&script);
        let ended = run_with(&project, &root, &venv, &[]);
        let merged = git(&project, &root, &["show", "main:src/demo.py"]);
        let expected = if is_right {
            (Some(0), "def answer():\n    return 40 + 2\n")
        } else {
            (Some(5), "def answer():\n    return 42\n")
        };
        assert_eq!((ended.code, merged.as_str()), expected, "{}", ended.said);
    }
}

#[test]
fn without_a_sandbox_an_editable_install_of_the_checkout_is_refused() {
    let Some((project, root, venv)) = editable("code/demo") else { return };
    for more in [&["--no-sandbox"][..], &["--set", "workspace=worktree"]] {
        // With a setup the run has an environment of its own.
        let more = &[more, &["--set", "setup_command=none"]].concat();
        let ended = run_with(&project, &root, &venv, more);
        assert_ne!(ended.code, Some(0), "{}", ended.said);
        for said in ["would test your checkout", "__editable__.demo-1.pth", "code/demo/src", "pip uninstall"]
        {
            assert!(ended.said.contains(said), "{more:?}: {said}: {}", ended.said);
        }
        assert!(!ended.said.contains("coding"), "no agent has worked: {}", ended.said);
    }
}
