//! The first lines of a run, and where its work begins.

use std::path::Path;

use serde_json::Value;

use super::support::{Ended, GOOD, Project};
use crate::support::Ends as _;

/// Returns the line of the header with this name.
fn row<'a>(ended: &'a Ended, name: &str) -> &'a str {
    let start = format!("            {name:<8} ");
    let mut rows = ended.said.lines().filter_map(|line| line.strip_prefix(&start));
    rows.next().unwrap_or_else(|| panic!("`{name}` in {}", ended.said))
}

fn short(project: &Project, commit: &str) -> String {
    project.sandbox.git(&["rev-parse", "--short=7", commit])
}

#[test]
fn a_run_begins_with_what_a_person_has_to_know() {
    let (project, _) = Project::with_remote(Some("target"));
    let main = short(&project, "main");
    let ended = project.run(&["--set", "budget_limit_usd=5"]).ends(0);
    let script = project.sandbox.home().join("script.toml");
    let script = format!("script:{}", script.display());
    let rows = ["base", "target", "push", "cap", "agent", "model"].map(|name| row(&ended, name));
    assert_eq!(
        rows,
        [
            &format!("main {main}, same as origin/main"),
            "main, merged when the tests pass (level 3)",
            "main to origin",
            "$5.00 for this run",
            &script,
            "the agent's default",
        ]
    );
    let sandbox =
        if testkit::machine::has_walls() { "bubblewrap" } else { "none, as you said (--no-sandbox)" };
    assert_eq!(row(&ended, "sandbox"), sandbox);
    // It comes before anything is done.
    let at = |text: &str| ended.said.find(text).unwrap();
    assert!(at("base     main") < at("prerequisites_ok"), "{}", ended.said);
    assert!(ended.said.lines().take(8).all(|line| line.chars().count() < 100), "{}", ended.said);
}

#[test]
fn the_base_says_how_it_relates_to_the_remote() {
    let (project, _) = Project::with_remote(Some("never"));
    let base = |project: &Project| row(&project.run(&["--level", "2"]), "base").to_owned();
    project.own_commit("one.txt");
    project.own_commit("two.txt");
    let main = short(&project, "main");
    assert_eq!(base(&project), format!("main {main}, 2 commits ahead of origin/main"));

    let (project, _) = Project::with_remote(Some("never"));
    project.own_commit("theirs.txt");
    let theirs = short(&project, "main");
    project.sandbox.git(&["push", "--quiet", "origin", "main"]);
    project.sandbox.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(base(&project), format!("main {theirs}, from origin/main, 1 commit ahead of your main"));

    let project = Project::new(GOOD);
    let ended = project.run(&["--level", "2"]);
    assert_eq!(row(&ended, "base"), format!("main {}, no remote", short(&project, "main")));
    assert_eq!(row(&ended, "push"), "nothing, there is no remote");
    assert_eq!(row(&ended, "target"), "main, by a pull request (level 2)");
}

#[test]
fn as_json_the_header_is_one_object() {
    let (project, _) = Project::with_remote(None);
    let output = project.command(&["--json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let headers: Vec<Value> = lines.filter(|line| line["type"] == "header").collect();
    let [header] = headers.as_slice() else { panic!("one header in {text}") };
    let header = &header["header"];
    for field in ["run", "base", "target", "push", "cap", "agent", "model", "sandbox"] {
        assert!(header[field].as_str().is_some_and(|text| !text.is_empty()), "{field} in {header:#}");
    }
    assert_eq!((&header["issue"], &header["level"]), (&Value::from("1"), &Value::from(3)), "{header:#}");
    let push = header["push"].as_str().unwrap();
    assert_eq!(push, "nothing until you allow it: `warp config push=branch` or `push=target` allows it");
}

#[test]
fn a_base_that_is_a_branch_of_ones_own_is_the_merge_target_too() {
    let (project, remote) = Project::with_remote(Some("target"));
    let sandbox = &project.sandbox;
    sandbox.git(&["switch", "--quiet", "-c", "develop"]);
    project.own_commit("develop.txt");
    sandbox.git(&["push", "--quiet", "origin", "develop"]);
    sandbox.git(&["switch", "--quiet", "main"]);
    let (main, develop) = (short(&project, "main"), short(&project, "develop"));
    let ended = project.run(&["--set", "base=develop"]).ends(0);
    assert_eq!(row(&ended, "base"), format!("develop {develop}, same as origin/develop"));
    assert_eq!(row(&ended, "target"), "develop, merged when the tests pass (level 3)");
    assert_eq!(short(&project, "main"), main);
    let newest = |git_dir: &Path| project.subjects(git_dir, "develop")[0].clone();
    assert_eq!(newest(&sandbox.root().join(".git")), "feat: A greeting (AC-01, AC-02)");
    assert_eq!(newest(&remote), "feat: A greeting (AC-01, AC-02)");
}

#[test]
fn a_base_that_is_a_tag_is_where_the_work_begins() {
    let (project, _) = Project::with_remote(Some("never"));
    let sandbox = &project.sandbox;
    sandbox.git(&["tag", "v1.2"]);
    let tag = short(&project, "v1.2");
    project.own_commit("later.txt");
    let ended = project.run(&["--set", "base=v1.2", "--level", "2"]).ends(0);
    assert_eq!(row(&ended, "base"), format!("v1.2 {tag}, a tag"));
    assert_eq!(row(&ended, "target"), "main, by a pull request (level 2)");
    assert_eq!(short(&project, "feature/issue-1-a-greeting~1"), tag);

    // At level 3 it is put on top of the target as any other work.
    let (project, _) = Project::with_remote(Some("never"));
    project.sandbox.git(&["tag", "v1.2"]);
    project.own_commit("later.txt");
    let later = short(&project, "main");
    project.run(&["--set", "base=v1.2"]).ends(0);
    assert_eq!(short(&project, "main~1"), later);
}

#[test]
fn a_base_at_the_remote_is_asked_for() {
    let (project, remote) = Project::with_remote(Some("never"));
    let sandbox = &project.sandbox;
    project.own_commit("theirs.txt");
    sandbox.git(&["push", "--quiet", "origin", "main:next"]);
    sandbox.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let next = sandbox.git(&["--git-dir", remote.to_str().unwrap(), "rev-parse", "--short=7", "next"]);
    let ended = project.run(&["--set", "base=origin/next", "--level", "2"]).ends(0);
    assert_eq!(row(&ended, "base"), format!("origin/next {next}, as origin has it"));
}

#[test]
fn a_base_that_is_not_there_is_an_error_before_anything_begins() {
    let (project, _) = Project::with_remote(None);
    let ended = project.run(&["--set", "base=develpo"]).ends(78);
    assert!(
        ended.said.contains("`base` is \"develpo\", and that is no branch, tag or commit"),
        "{}",
        ended.said
    );
    assert!(ended.said.contains("hint: "), "{}", ended.said);
    let told = project.sandbox.warp_ok(&["explain", "1"]);
    assert!(told.contains("is approved and ready"), "{told}");
}

#[test]
fn a_file_of_settings_that_is_not_committed_is_said_not_to_count() {
    let project = Project::new(GOOD);
    let sandbox = &project.sandbox;
    sandbox.write("warp.toml", "[workflow]\nmax_coding_cycles = 4\n");
    sandbox.git(&["add", "warp.toml"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: settings"]);
    sandbox.write("warp.toml", "[workflow]\nmax_coding_cycles = 5\nauto_merge = false\n");
    let shown = sandbox.warp(&["config"]);
    let lines: Vec<&str> = shown.out.lines().collect();
    assert!(lines.contains(&"setting                    here       in runs    from"), "{shown:?}");
    let row = "max_coding_cycles          5          4          warp.toml; runs: main:warp.toml";
    assert!(lines.contains(&row), "{shown:?}");
    let told = "warp.toml differs from the one in `main`; the run goes by `main`: auto_merge is not set there, false \
                here; max_coding_cycles is 4 there, 5 here";
    assert!(shown.err.contains(told), "{shown:?}");
    let ended = project.run(&[]).ends(0);
    assert!(ended.said.contains(told), "{}", ended.said);
    assert!(ended.said.contains("`main` is at "), "it is merged, as main's settings have it: {}", ended.said);
}
