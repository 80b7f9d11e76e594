//! A run of `autonomous-loop`, kept going by the end of each turn, to a promise that is kept.

use std::path::PathBuf;

use testkit::{
    Sandbox,
    agents::Claude,
    model::{Model, Turn},
};

use super::{
    project::{launch, project},
    script::{Move, bash, play, write},
};
use crate::support::{Ends as _, InProject as _};

fn say(text: &str, told: &'static [&'static str]) -> Move {
    Move { turn: Turn::say(text), told }
}

/// Makes a directory with a `gh` that opens pull requests and finds none.
fn forge(sandbox: &Sandbox) -> PathBuf {
    let directory = sandbox.home().join("forge");
    std::fs::create_dir_all(&directory).unwrap();
    let script = "case \"$1 $2\" in 'pr create') echo https://forge.localhost/pull/1;; *) exit 1;; esac";
    // Another process writes it: a descriptor of this one, inherited by a program that another test starts just then,
    // would keep it from being run.
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let mut command = sandbox.command("sh");
    let status = command.args(["-c", write, "sh", script]).arg(directory.join("gh")).status().unwrap();
    assert!(status.success());
    directory
}

#[test]
fn a_loop_goes_from_plan_to_a_promise_that_is_kept() {
    let Some(claude) = Claude::or_skip() else { return };
    let sandbox = project();
    sandbox.warp_ok(&["init", "--level", "2"]);
    sandbox.commit("chore: set up");
    sandbox.git(&["init", "--quiet", "--bare", "../remote.git"]);
    sandbox.git(&["remote", "add", "origin", "../remote.git"]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
    sandbox.warp_ok(&["config", "push=branch"]);
    let forge = forge(&sandbox);
    let file = |name: &str| sandbox.root().join(name).to_str().unwrap().to_owned();
    let report = |event: &str, data: &str| format!("warp state transition . {event} --data '{{{data}}}'");
    let head = r#""git_sha":"'$(git rev-parse HEAD)'""#;
    let moves = vec![
        // A turn that ends without anything done is kept going.
        say("I will think about it.", &["plan", "add a greeting"]),
        bash(
            &report("plan_written", r#""artifact":"docs/plans/greet.md","summary":"s""#),
            &["docs/plans/greet.md"],
        ),
        write(&file("docs/plans/greet.md"), "# Plan\n\nSay hello.\n", &[]),
        bash("git add docs && git commit -q -m 'docs: plan the greeting'", &[]),
        bash(
            &report("plan_written", r#""artifact":"docs/plans/greet.md","summary":"planned""#),
            &["plan -> spec_test"],
        ),
        write(&file("tests/acceptance/greet.sh"), "./greet | grep hello\n", &[]),
        bash("git add tests && git commit -q -m 'test: the greeting is wanted'", &[]),
        bash(
            &report(
                "tests_approved",
                &format!(
                    r#""artifact":"tests/acceptance/greet.sh",{head},"run":{{"failed":1,"errored":0}},"summary":"one test""#
                ),
            ),
            &["spec_test -> deepen"],
        ),
        write(&file("docs/plans/greet.md"), "# Plan\n\nSay hello, loudly.\n", &[]),
        bash(
            &report("plan_deepened", r#""artifact":"docs/plans/greet.md","summary":"deeper""#),
            &["deepen -> work"],
        ),
        say("All done: <promise>SHIPPED</promise>", &["counts only in `ship`"]),
        write(&file("greet"), "#!/bin/sh\necho hello\n", &[]),
        bash("git push origin HEAD", &["git push"]),
        // The tests have to pass, whatever the agent says.
        bash("git add -A && git commit -q -m 'feat: greet'", &[]),
        bash(&report("work_finished", &format!(r#"{head},"summary":"greets""#)), &["the tests do not pass"]),
        bash("chmod +x greet && git add -A && git commit -q -m 'fix: let it be run'", &[]),
        bash(
            &report(
                "work_finished",
                &format!(r#"{head},"summary":"greets","failed_approaches":["echo without a shebang"]"#),
            ),
            &["work -> review"],
        ),
        bash(&report("review_clean", r#""summary":"nothing to fix""#), &["review -> compound"]),
        write(&file("docs/solutions/shell/greet.md"), "# A greeting\n", &[]),
        bash("git add -A && git commit -q -m 'docs: what was learnt'", &[]),
        bash(
            &report("solution_noted", r#""artifact":"docs/solutions/shell/greet.md","summary":"learnt""#),
            &["compound -> test"],
        ),
        bash(&report("tests_passed", r#""summary":"greets as wanted""#), &["test -> ship"]),
        say("SHIPPED", &["without tags is no promise"]),
        say("<promise>SHIPPED</promise>", &["pr_url"]),
        // What the agent makes up is kept, and replaced by what warp has opened itself.
        bash(&report("noted", r#""pr_url":"https://made.up/pull/9""#), &["noted"]),
        bash("warp next", &["the pull request is https://forge.localhost/pull/1", "every receipt holds"]),
        say("It is shipped.", &[]),
    ];
    let wanted = moves.len();
    let (script, done) = play(moves);
    let model = Model::start(script);
    let prompt = "/auto-loop add a greeting --skip-brainstorm --skip-test-review";
    launch(&claude, &sandbox, &model, prompt).path_first(forge).run().ends(0);
    assert_eq!(*done.lock().unwrap(), wanted, "{}", model.text());

    let log = sandbox.json(&["log", "--json"]);
    let rows = log.as_array().unwrap();
    assert_eq!(rows.last().unwrap()["event"], "shipped");
    let turns = rows.iter().filter(|row| row["event"] == "turn_finished").count();
    assert!((4..=5).contains(&turns), "{turns} turns were counted");
    assert_eq!(sandbox.warp(&["status"]).code, Some(2), "the run is over");
    assert_eq!(sandbox.read(".claude/autonomous-loop.json"), None);
    let branch = "refs/heads/feature/issue-42-parser";
    let pushed = sandbox.git(&["ls-remote", "origin", branch]);
    assert!(pushed.starts_with(&sandbox.git(&["rev-parse", "HEAD"])), "{pushed}");
    let progress = sandbox.read("docs/progress.md").unwrap();
    assert!(progress.contains("- work: echo without a shebang"), "{progress}");
}
