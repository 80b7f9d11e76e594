//! Pushing: by warp, where the level allows it, and never to where the work goes in the end.

use testkit::{Said, Sandbox};

use super::{phase, project};
use crate::support::{Ends as _, InProject as _};

const WAY: [&str; 8] = [
    "brainstorm_written",
    "plan_written",
    "tests_approved",
    "plan_deepened",
    "work_finished",
    "review_clean",
    "solution_noted",
    "tests_passed",
];

/// A loop in `ship`, with a remote and a forge that opens pull requests.
fn shipping(level: &str) -> Sandbox {
    let sandbox = project();
    sandbox.git(&["init", "--quiet", "--bare", "../remote.git"]);
    sandbox.git(&["remote", "add", "origin", "../remote.git"]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    sandbox.warp_ok(&["config", "push=branch"]);
    let gh =
        "#!/bin/sh\ncase \"$1 $2\" in 'pr create') echo https://forge.localhost/pull/1;; *) exit 1;; esac\n";
    sandbox.program("../bin/gh", gh);
    begin(&sandbox, level);
    assert_eq!(phase(&sandbox), "ship");
    sandbox
}

/// Begins a loop and goes on to `ship`, as a person may.
fn begin(sandbox: &Sandbox, level: &str) {
    let workflow = ["--workflow", "autonomous-loop", "--level", level, "--feature", "Add a parser"];
    sandbox.warp_ok(&[&["state", "init", "."], &workflow[..]].concat());
    sandbox.transitions(&WAY);
}

/// Returns the branches that the remote has.
fn branches(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox.git(&["ls-remote", "--heads", "origin"]);
    listed.lines().filter_map(|line| line.split_whitespace().nth(1)).map(str::to_owned).collect()
}

fn next(sandbox: &Sandbox) -> Said {
    let path = std::env::join_paths(
        [sandbox.home().join("bin")]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let output = sandbox.warp_command(&["next"]).env("PATH", path.unwrap()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

#[test]
fn warp_pushes_and_knows_the_pull_request_which_an_agent_cannot_make_up() {
    let sandbox = shipping("2");
    let url = r#"{"pr_url":"https://made.up/pull/9"}"#;
    sandbox.as_agent(&["state", "transition", ".", "noted", "--data", url]).ends(0);
    let said = next(&sandbox).ends(0);
    assert!(said.out.contains("the pull request is https://forge.localhost/pull/1"), "{said:?}");
    assert!(said.out.contains("every receipt holds: <promise>SHIPPED</promise>"), "{said:?}");
    let branch = "refs/heads/feature/issue-42-parser";
    let pushed = sandbox.git(&["ls-remote", "origin", branch]);
    assert!(pushed.starts_with(&sandbox.git(&["rev-parse", "HEAD"])), "{pushed}");
    let log = sandbox.json(&["log", "--json"]);
    let rows = log.as_array().unwrap();
    assert_eq!(
        (&rows[rows.len() - 1]["event"], &rows[rows.len() - 1]["actor"]),
        (&"shipped".into(), &"engine".into())
    );
    assert_eq!(rows[rows.len() - 2]["data"]["pr_url"], "https://forge.localhost/pull/1");
}

#[test]
fn without_leave_the_pull_request_stays_in_the_repository() {
    for (push, words) in [("ask", "you have not said whether warp may push"), ("never", "push = \"never\"")] {
        let sandbox = shipping("2");
        sandbox.warp_ok(&["state", "reset", "."]);
        sandbox.warp_ok(&["config", &format!("push={push}")]);
        begin(&sandbox, "2");
        let said = next(&sandbox).ends(0);
        assert!(said.out.contains("`feature/issue-42-parser`: opened pull request #43"), "{said:?}");
        assert!(said.out.contains(&format!("not pushed: {words}")), "{said:?}");
        assert_eq!(branches(&sandbox), ["refs/heads/main"]);
    }
}

#[test]
fn neither_a_remote_nor_a_forge_is_needed() {
    for level in ["1", "2", "3"] {
        let sandbox = project();
        begin(&sandbox, level);
        let said = sandbox.warp(&["next"]).ends(0);
        let then = if level == "3" { "it is merged when the promise is given" } else { "`warp pr merge 43`" };
        assert!(said.out.contains("opened pull request #43") && said.out.contains(then), "{said:?}");
        let log = sandbox.json(&["log", "--json"]);
        let address = log.as_array().unwrap().iter().rfind(|row| row["event"] == "noted").unwrap();
        assert_eq!(address["data"]["pr_url"], "#43");
        assert_eq!(
            said.out.contains("is at ") && said.out.contains("which was tested"),
            level == "3",
            "{said:?}"
        );
        let pull = sandbox.warp_ok(&["pr", "show", "43"]);
        assert!(pull.contains("feature/issue-42-parser -> main"), "{pull}");
    }
}

#[test]
fn a_forge_that_opens_nothing_leaves_the_projects_own_pull_request() {
    let sandbox = shipping("2");
    sandbox.program("../bin/gh", "#!/bin/sh\nexit 1\n");
    let said = next(&sandbox).ends(0);
    assert!(said.out.contains("`gh` opened no pull request"), "{said:?}");
    assert!(said.out.contains("opened pull request #43"), "{said:?}");
}

#[test]
fn an_agent_cannot_allow_itself_to_push() {
    let sandbox = shipping("3");
    sandbox.warp_ok(&["config", "push=never"]);
    let said = sandbox.as_agent(&["config", "push=target"]);
    assert!(said.code != Some(0) && said.err.contains("only a person may run this command"), "{said:?}");
    assert_eq!(sandbox.as_agent(&["config"]).code, Some(0), "it may look");
    let shown = sandbox.warp_ok(&["config"]);
    assert!(shown.lines().any(|line| line.starts_with("push                       never ")), "{shown}");
}

#[test]
fn an_agents_own_pull_request_is_a_persons_to_accept() {
    let sandbox = shipping("3");
    let url = r#"{"pr_url":"https://made.up/pull/9"}"#;
    let said = sandbox.as_agent(&["state", "transition", ".", "shipped", "--data", url]);
    // A loop whose phases a person has moved on has receipts that name nothing; the question is asked all the same.
    assert_eq!(said.code, Some(5), "{said:?}");
    let status = sandbox.warp_ok(&["status"]);
    assert!(status.contains("is https://made.up/pull/9 the pull request?"), "{status}");
}

#[test]
fn at_level_one_nothing_is_pushed() {
    let sandbox = shipping("1");
    let said = next(&sandbox).ends(0);
    assert!(said.out.contains("opened pull request #43"), "{said:?}");
    assert_eq!(branches(&sandbox), ["refs/heads/main"]);
}

#[test]
fn neither_the_merge_target_nor_a_detached_head_is_pushed() {
    for (branch, words) in [
        (vec!["switch", "--quiet", "main"], "`main` is where the work goes in the end"),
        (vec!["switch", "--quiet", "--detach"], "HEAD is on no branch"),
        (vec!["switch", "--quiet", "-c", "master"], "`master` is where the work goes in the end"),
    ] {
        let sandbox = shipping("3");
        sandbox.git(&branch);
        let said = next(&sandbox).ends(1);
        assert!(said.err.contains(words), "{said:?}");
        assert_eq!(branches(&sandbox), ["refs/heads/main"]);
    }
}

#[test]
fn a_hook_before_the_push_is_told_what_is_pushed_and_may_refuse() {
    let sandbox = shipping("3");
    sandbox
        .program(".git/hooks/pre-push", "#!/bin/sh\necho \"$1 $2\" > .git/told\ncat >> .git/told\nexit 3\n");
    let said = next(&sandbox).ends(1);
    insta::assert_snapshot!(sandbox.stable(&said.err), @"error: your pre-push hook ended with exit 3; fix what it says, then `warp next`");
    let (head, zero) = (sandbox.git(&["rev-parse", "HEAD"]), "0".repeat(40));
    let branch = "refs/heads/feature/issue-42-parser";
    let told = format!("origin ../remote.git\n{branch} {head} {branch} {zero}\n");
    assert_eq!(sandbox.read(".git/told").unwrap(), told);
    assert_eq!(branches(&sandbox), ["refs/heads/main"]);
}

#[test]
fn a_phase_of_that_name_in_another_workflow_pushes_nothing() {
    let sandbox = project();
    let text = include_str!("../../../../workflows/autonomous-loop.toml")
        .replace("purpose = \"Pushes, opens", "purpose = \"Looks at, opens");
    sandbox.write(".warp/workflows/autonomous-loop.toml", text);
    sandbox.git(&["init", "--quiet", "--bare", "../remote.git"]);
    sandbox.git(&["remote", "add", "origin", "../remote.git"]);
    begin(&sandbox, "3");
    assert!(sandbox.warp_ok(&["next"]).contains("opened pull request #43"));
    assert_eq!(sandbox.git(&["ls-remote", "origin"]), "");
}
