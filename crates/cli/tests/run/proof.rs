//! Before an agent works it is seen that the tests fail on broken source; where nothing shows that, a person decides.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rustix::process::{Signal, kill_process};
use testkit::processes::{find, has_begun};

use super::support::{GOOD, Project, has_walls, is_gone, mark};
use crate::support::{Ends as _, InProject as _};

/// A project with a source file, whose tests are these.
fn project(test: &str) -> Project {
    let Project { sandbox } = Project::new(GOOD);
    let project = Project { sandbox: sandbox.proving() };
    project.sandbox.write("greet.sh", "greet() { echo hello; }\n");
    project.sandbox.write("test.sh", test);
    project.sandbox.commit("feat: greet");
    project
}

const SOUND: &str = ". ./greet.sh\n[ \"$(greet)\" = hello ] && echo 'ok 1 - greets' || { echo 'not ok 1 - greets'; exit 1; }\n";

#[test]
fn tests_that_notice_broken_source_are_good_enough_once() {
    let project = project(SOUND);
    let ended = project.run(&[]).ends(0);
    let words = "the tests can fail: with 1 source file broken they did";
    assert!(ended.said.contains(words), "{}", ended.said);
    assert!(!project.tree().with_file_name("proof").exists());
    // The same command and environment are not looked at again.
    let said = project.run_another();
    assert!(!said.contains(words), "{said}");
}

#[test]
fn without_a_sandbox_the_tree_itself_is_broken_and_put_back() {
    let project = project(SOUND);
    let ended = project.run(&["--no-sandbox"]).ends(0);
    assert!(ended.said.contains("the tests can fail: with 1 source file broken they did"), "{}", ended.said);
    assert_eq!(project.sandbox.git(&["show", "main:greet.sh"]), "greet() { echo hello; }");
}

#[test]
fn tests_that_do_not_notice_broken_source_are_a_persons_decision() {
    let project = project("echo 'ok 1 - fine'\n");
    project.run(&[]).ends(5);
    let (id, question) = project.question();
    assert!(question.contains("with 1 source file broken, `make test` still passes"), "{question}");
    assert_eq!(project.count("turn_started"), 0);
    // What a person accepts is accepted for later runs too.
    project.sandbox.warp_ok(&["answer", &id, "accept"]);
    project.goes_on();
    project.run_another();
}

#[test]
fn a_command_that_reports_no_test_is_a_persons_decision() {
    let project = project("true\n");
    project.run(&[]).ends(5);
    let (id, question) = project.question();
    assert!(question.contains("`make test` passes, and no test was reported"), "{question}");
    project.sandbox.warp_ok(&["answer", &id, "stop"]);
    assert_eq!(project.count("turn_started"), 0);
}

#[test]
fn a_report_that_the_setting_names_is_read() {
    let report = r#"mkdir -p out; . ./greet.sh; [ "$(greet)" = hello ] || exit 1; echo '<testsuite tests="1"><testcase classname="a" name="greets"/></testsuite>' > out/r.xml"#;
    let project = project(&format!("{report}\n"));
    project.sandbox.write(".gitignore", "out/\n");
    project.sandbox.commit("chore: ignore");
    let ended = project.run(&["--set", "test_report=out/*.xml"]).ends(0);
    assert!(ended.said.contains("tests before the work: 1 passed"), "{}", ended.said);
}

#[test]
fn nothing_to_break_is_said() {
    let project = project("echo 'ok 1 - fine'\n");
    project.sandbox.git(&["rm", "--quiet", "greet.sh"]);
    project.sandbox.git(&["commit", "--quiet", "-m", "chore: no source"]);
    project.run(&[]).ends(5);
    assert!(project.question().1.contains("is known to be source code"), "{}", project.question().1);
}

#[test]
fn it_can_be_switched_off() {
    let project = project("true\n");
    project.run(&["--set", "test_proof=false"]).ends(0);
}

#[test]
fn doctor_tells_on_demand() {
    let doctor = |project: &Project| {
        let mut line = vec!["doctor", "--tests"];
        if !testkit::machine::has_walls() {
            line.push("--no-sandbox");
        }
        project.sandbox.warp(&line)
    };
    let said = doctor(&project(SOUND)).ends(0);
    assert!(said.out.contains("`make test`: 1 passed at "), "{}", said.out);
    assert!(said.out.contains("the tests can fail: with 1 source file broken they did"), "{}", said.out);
    let said = doctor(&project("true\n")).ends(1);
    assert!(said.out.contains("no test was reported"), "{}", said.out);
}

#[test]
fn a_run_that_is_killed_while_a_broken_copy_is_tested_leaves_nothing_behind() {
    if has_walls() {
        is_killed_and_resumed(&[], "proof", |tree| tree.with_file_name("proof").join("greet.sh"));
    }
}

#[test]
fn a_run_that_is_killed_while_its_own_tree_is_broken_puts_it_back() {
    is_killed_and_resumed(&["--no-sandbox"], "breaking", |tree| tree.join("greet.sh"));
}

/// Kills a run in the middle of its proof, and sees that the next one begins with a tree that is whole. `trace` is what lies
/// beside the tree meanwhile, and `broken` the file that is broken.
fn is_killed_and_resumed(more: &[&str], trace: &str, broken: impl Fn(&Path) -> PathBuf) {
    let mark = mark();
    // On broken source the tests wait, until somebody ends that.
    let project = project(&format!(
        "if (. ./greet.sh; [ \"$(greet)\" = hello ]); then echo 'ok 1 - greets'; else sleep {mark}; echo 'not ok 1 - greets'; exit 1; fi\n"
    ));
    let run = project.start(more);
    assert!(has_begun(&mark), "the broken source is never tested");
    let (tree, trace) = (project.tree(), project.tree().with_file_name(trace));
    let is_whole = |path: &Path| fs::read_to_string(path).unwrap() == "greet() { echo hello; }\n";
    assert!(trace.exists() && !is_whole(&broken(&tree)));
    run.signal(Signal::KILL);
    assert_eq!(run.end().code, None);
    // Without a sandbox nothing ends what the tests have started.
    if !more.is_empty() {
        end_sleep(&mark);
    }
    assert!(is_gone(&mark), "the tests outlive the run");
    assert!(trace.exists(), "{} was removed by whom?", trace.display());

    let run = project.start(more);
    assert!(has_begun(&mark), "the broken source is not tested again");
    end_sleep(&mark);
    let ended = run.end().ends(0);
    assert!(ended.said.contains("the tests can fail: with 1 source file broken they did"), "{}", ended.said);
    for name in ["proof", "breaking"] {
        assert!(!tree.with_file_name(name).exists(), "`{name}` is left: {}", ended.said);
    }
    assert!(is_whole(&tree.join("greet.sh")) && is_whole(&project.sandbox.root().join("greet.sh")));
    assert_eq!(project.sandbox.git(&["show", "main:greet.sh"]), "greet() { echo hello; }");
    assert_eq!(project.sandbox.git(&["show", "--format=", "--name-only", "main"]), "greeting.txt");
    assert_eq!(project.sandbox.git(&["status", "--porcelain"]), "");
}

fn end_sleep(mark: &str) {
    let sleep = find(|words| words.first() == Some(&b"sleep".as_slice()) && words.contains(&mark.as_bytes()));
    kill_process(sleep.unwrap(), Signal::TERM).unwrap();
}
