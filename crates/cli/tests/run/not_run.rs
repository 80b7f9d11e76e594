//! A test command that ends with 0 is not believed if tests that passed before the work did not run.

use testkit::agents::skip;

use super::support::{GOOD, Project};
use crate::support::{Ends as _, InProject as _};

const TESTS: &str = "import unittest\n\nimport calc\n\n\nclass Adding(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(2, 3), 5)\n\n    def test_zero(self):\n        self.assertEqual(calc.add(0, 0), 0)\n";
const BROKEN: &str = "def add(a, b):\n    return a * b\n";

/// A project in Python with two tests, whose agent writes these files besides what is wanted.
fn project(options: &str, files: &[(&str, &str)]) -> Option<Project> {
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        skip("python3 is not installed");
        return None;
    }
    let writes: String =
        files.iter().map(|(path, text)| format!("{{ write = {path:?}, text = {text:?} }}, ")).collect();
    let project = Project::new(&GOOD.replace("steps = [", &format!("steps = [{writes}")));
    let sandbox = &project.sandbox;
    sandbox.write("Makefile", format!("test:\n\t@python3 -B -m unittest {options}\n"));
    sandbox.write("calc.py", "def add(a, b):\n    return a + b\n");
    sandbox.write("test_calc.py", TESTS);
    sandbox.commit("feat: add");
    Some(project)
}

/// Runs the issue with nobody there to answer, and sees that the work is held for this reason and not merged.
fn held(project: &Project, why: &str) {
    project.run(&["--set", "decision_timeout_minutes=0"]).ends(5);
    let said = |event: &str, field: &str| {
        let (_, data) = project.log().into_iter().find(|(name, _)| name == event).unwrap();
        data[field].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(said("tests_failed", "check"), "commit_guard");
    let (failure, question) = (said("tests_failed", "failure"), said("question_asked", "question"));
    assert!(failure.contains(why) && failure.contains("undo what leaves them out"), "{failure}");
    assert!(question.contains(why) && question.contains("`accept` commits it as it is"), "{question}");
    let files = project.sandbox.git(&["ls-tree", "--name-only", "main"]);
    assert!(!files.contains("greeting.txt"), "{files}");
}

#[test]
fn source_that_ends_the_process_is_no_pass() {
    let source = format!("import os\n\nos._exit(0)\n\n\n{BROKEN}");
    let Some(project) = project("-v", &[("calc.py", &source)]) else { return };
    held(&project, "no test was reported; 2 tests passed before the work began");
}

#[test]
fn a_filter_of_tests_is_a_persons_decision_who_may_accept_it() {
    let filter = "\n\ndef load_tests(loader, tests, pattern):\n    return loader.loadTestsFromName('test_calc.Adding.test_zero')\n";
    let tests = format!("{TESTS}{filter}");
    let Some(project) = project("-v", &[("calc.py", BROKEN), ("test_calc.py", &tests)]) else { return };
    let mut run = project.start(&[]);
    run.until("`accept` commits it as it is");
    let (id, question) = project.question();
    assert!(question.contains("are still there did not run: test_calc.Adding.test_add"), "{question}");
    project.sandbox.warp_ok(&["answer", &id, "accept"]);
    run.end().ends(0);
    assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "hello\nworld");
}

#[test]
fn a_filter_is_seen_by_numbers_where_nothing_is_named() {
    let filter = "\n\ndef load_tests(loader, tests, pattern):\n    return loader.loadTestsFromName('test_calc.Adding.test_zero')\n";
    let tests = format!("{TESTS}{filter}");
    let Some(project) = project("", &[("calc.py", BROKEN), ("test_calc.py", &tests)]) else { return };
    held(&project, "only 1 test ran; 2 passed before the work began");
}

#[test]
fn tests_that_the_source_skips_as_they_run_are_held() {
    let source = "import unittest\n\n\ndef add(a, b):\n    if a:\n        raise unittest.SkipTest('later')\n    return a * b\n";
    let Some(project) = project("-v", &[("calc.py", source)]) else { return };
    held(&project, "are still there did not run: test_calc.Adding.test_add");
}

#[test]
fn failures_that_the_command_hides_are_failures() {
    let Some(project) = project("-v || exit 0", &[("calc.py", BROKEN)]) else { return };
    project.run(&["--set", "max_coding_cycles=1"]).ends(5);
    let words = "reports tests as failed: test_calc.Adding.test_add";
    let (_, told) = project.log().into_iter().find(|(event, _)| event == "tests_failed").unwrap();
    assert!(told["failure"].as_str().unwrap().contains(words), "{told}");
}

#[test]
fn tests_that_are_renamed_moved_or_added_are_merged() {
    let renamed = TESTS.replace("test_zero", "test_nothing").replace("Adding", "Sums");
    let more = TESTS.replace("test_zero", "test_more").replace("test_add", "test_again");
    for options in ["-v", ""] {
        let files = [("test_calc.py", "\n"), ("test_sums.py", &renamed), ("test_more.py", &more)];
        let Some(project) = project(options, &files) else { return };
        project.run(&[]).ends(0);
        assert_eq!(project.count("tests_failed"), 0);
    }
}

#[test]
fn go_source_that_ends_the_process_is_no_pass() {
    if !adapters::process::is_installed("go") {
        skip("go is not installed");
        return;
    }
    let broken = "package calc\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n\nfunc Add(a, b int) int { return a * b }\n";
    let write = format!("steps = [{{ write = \"calc.go\", text = {broken:?} }}, ");
    let project = Project::new(&GOOD.replace("steps = [", &write));
    let sandbox = &project.sandbox;
    sandbox.write("Makefile", "test:\n\t@go test ./...\n");
    sandbox.write("go.mod", "module example.com/calc\n\ngo 1.18\n");
    sandbox.write("calc.go", "package calc\n\nfunc Add(a, b int) int { return a + b }\n");
    sandbox.write(
        "calc_test.go",
        "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal()\n\t}\n}\n",
    );
    sandbox.commit("feat: add");
    held(&project, "TestAdd");
}
