//! Tests that are named as evidence in the chunk that writes them: they count once they have passed.

use super::support::Project;
use crate::support::Ends as _;

/// A project whose tests are files in `t/`, reported as TAP.
fn project(script: &str) -> Project {
    let project = Project::new(script);
    let sandbox = &project.sandbox;
    let test = "n=0\nfor file in t/*; do\n  test -e \"$file\" || break\n  n=$((n+1)); sh \"$file\" && echo \"ok $n - $(basename \"$file\")\" || exit 1\ndone\n\
                echo 1..$n\n";
    sandbox.write("test.sh", test);
    sandbox.git(&["commit", "--quiet", "--all", "-m", "test: report by name"]);
    project
}

/// A turn that writes these tests and names `says hello` and `names the world` as evidence.
fn turn(cycle: u64, tests: &[&str]) -> String {
    let writes: String = tests
        .iter()
        .map(|test| format!("    {{ write = \"t/{test}\", text = \"grep -q . greeting.txt\\n\" }},\n"))
        .collect();
    format!(
        "[[turn]]\nphase = \"coding\"\ncycle = {cycle}\nsteps = [\n    {{ write = \"greeting.txt\", text = \"hello world\\n\" }},\n{writes}]\n\
         answer = {{ summary = \"It greets.\", evidence = [\n    {{ ac = \"AC-01\", test = \"says hello\" }},\n    \
         {{ ac = \"AC-02\", test = \"names the world\" }},\n] }}\n"
    )
}

#[test]
fn a_test_of_the_same_chunk_is_evidence() {
    let project = project(&turn(0, &["says hello", "names the world"]));
    project.run(&[]).ends(0);
    assert_eq!(project.count("tests_failed"), 0);
    assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "hello world");
}

#[test]
fn a_test_that_was_named_and_did_not_run_sends_the_work_back() {
    let script = turn(0, &["says hello"]) + &turn(1, &["says hello", "names the world"]);
    let project = project(&script);
    let ended = project.run(&[]).ends(0);
    let why = "AC-02: the test `names the world` was named as evidence, and no test of that name has passed";
    assert!(ended.said.contains(why), "{}", ended.said);
    assert!(ended.said.contains("1 test passed, the first of them `says hello`"), "{}", ended.said);
    assert_eq!(project.count("tests_failed"), 1);
}
