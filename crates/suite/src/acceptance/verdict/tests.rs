//! What test programs print, and what it means.

use std::time::Duration;

use engine::TestsVerdict::{Errored, Failed, Passed};

use super::*;

fn of(command: &str, code: i32, printed: &str) -> (TestsVerdict, u64) {
    let Judged { verdict, passed } =
        judge(Whose::Feature, &Own::default(), command, &End::Exit(code), printed);
    (verdict, passed)
}

#[track_caller]
fn says(command: &str, cases: &[(i32, &str, TestsVerdict, u64)]) {
    for (code, printed, verdict, passed) in cases {
        assert_eq!(of(command, *code, printed), (*verdict, *passed), "exit {code}: {printed}");
    }
}

#[test]
fn a_program_that_did_not_end_by_itself_says_nothing() {
    says(
        "sh a.sh",
        &[(127, "sh: 1: ./greet: not found", Errored, 0), (126, "", Errored, 0), (139, "", Errored, 0)],
    );
    for end in [End::TimedOut(Duration::from_secs(9)), End::Signal(9)] {
        assert_eq!(judge(Whose::Feature, &Own::default(), "sh a.sh", &end, "").verdict, Errored);
    }
}

#[test]
fn a_script_without_a_report_goes_by_its_end() {
    says(
        "sh a.sh",
        &[
            (0, "", Passed, 0),
            (0, "all fine", Passed, 0),
            (1, "", Failed, 0),
            (1, "sh: 1: ./greet: not found", Failed, 0),
            (2, "x.sh: 3: Syntax error: end of file unexpected", Errored, 0),
            (2, "x.sh: line 3: syntax error near unexpected token `fi'", Errored, 0),
        ],
    );
}

#[test]
fn rust() {
    says(
        "cargo test --test greet",
        &[
            (101, "error[E0425]: cannot find function `greet`\nerror: could not compile `demo`", Errored, 0),
            (101, "error: no test target named `greet` in default-run packages", Errored, 0),
            (
                101,
                "test a ... FAILED\n\ntest result: FAILED. 0 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                Failed,
                0,
            ),
            (101, "test result: ok. 2 passed; 0 failed\ntest result: FAILED. 1 passed; 1 failed", Failed, 3),
            (0, "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 2 ignored; 0 measured", Errored, 0),
            (0, "test result: ok. 2 passed; 0 failed; 0 ignored", Passed, 2),
        ],
    );
}

#[test]
fn pytest() {
    says(
        "python -m pytest 'tests/a.py'",
        &[
            (1, "FAILED tests/a.py::test_a - assert False\n==== 2 failed, 1 passed in 0.12s ====", Failed, 1),
            (1, "2 failed in 0.12s", Failed, 0),
            (1, "=== 2 failed in 75.31s (0:01:15) ===", Failed, 0),
            (1, "=== 2 failed, 1 error in 0.10s ===", Errored, 0),
            (1, "/usr/bin/python: No module named pytest", Errored, 0),
            (
                2,
                "ERROR tests/a.py\n!!! Interrupted: 1 error during collection !!!\n=== 1 error in 0.10s ===",
                Errored,
                0,
            ),
            (2, "!!!!! KeyboardInterrupt !!!!!\n=== 1 failed in 0.10s ===", Errored, 0),
            (3, "INTERNALERROR> Traceback (most recent call last):\n", Errored, 0),
            (4, "ERROR: file or directory not found: tests/a.py\n\nno tests ran in 0.00s", Errored, 0),
            (5, "collected 0 items\n\n=== no tests ran in 0.01s ===", Errored, 0),
            (0, "=== 3 skipped in 0.01s ===", Errored, 0),
            (0, "=== 3 passed, 1 warning in 0.01s ===", Passed, 3),
        ],
    );
    // Whatever the command is called.
    let began = "=== test session starts ===\nplatform linux -- Python 3.11.7\n";
    says("make acceptance", &[(4, &format!("{began}ERROR: not found: a.py"), Errored, 0)]);
    says("sh a.sh", &[(2, "not there", Failed, 0)]);
}

#[test]
fn unittest() {
    says(
        "python3 -m unittest tests.a",
        &[
            (1, "F.s\nRan 3 tests in 0.000s\n\nFAILED (failures=1, skipped=1)", Failed, 1),
            (1, "Ran 2 tests in 0.000s\n\nFAILED (failures=2)", Failed, 0),
            (1, "Ran 3 tests in 0.000s\n\nFAILED (failures=2, errors=1)", Errored, 0),
            (
                1,
                "ERROR: a (unittest.loader._FailedTest.a)\nRan 1 test in 0.000s\n\nFAILED (errors=1)",
                Errored,
                0,
            ),
            (
                1,
                "  File \"/a/b.py\", line 1\n    def x(:\n          ^\nSyntaxError: invalid syntax",
                Errored,
                0,
            ),
            (0, "Ran 0 tests in 0.000s\n\nOK", Errored, 0),
            (0, "Ran 2 tests in 0.000s\n\nOK (skipped=2)", Errored, 0),
            (0, "Ran 2 tests in 0.000s\n\nOK", Passed, 2),
        ],
    );
}

/// The end of a report of Node's, in both of its forms.
fn node(pass: u64, fail: u64) -> [String; 2] {
    ["#", "ℹ"].map(|sign| {
        let count = pass + fail;
        format!("{sign} tests {count}\n{sign} suites 0\n{sign} pass {pass}\n{sign} fail {fail}\n{sign} cancelled 0\n")
    })
}

#[test]
fn node_tests() {
    let [tap, spec] = node(0, 1);
    let syntax = "TAP version 13\n# file:///a/syntax.mjs:2\n# SyntaxError: Unexpected end of input\n# Node.js v20.20.2\n\
                  not ok 1 - /a/syntax.mjs\n  ---\n  failureType: 'testCodeFailure'\n  exitCode: 1\n  signal: ~\n  error: 'test failed'\n  ...\n1..1\n";
    let loud = "SyntaxError: Unexpected end of input\n\nNode.js v20.20.2\n✖ /a/syntax.mjs (124.2ms)\n  'test failed'\n\n";
    let failing = "not ok 1 - c\n  ---\n  failureType: 'testCodeFailure'\n  error: \"Expected property name in JSON\"\n  name: 'SyntaxError'\n  ...\n";
    says(
        "node --test 'a.mjs'",
        &[
            (1, &format!("{syntax}{tap}"), Errored, 0),
            (1, &format!("{loud}{spec}"), Errored, 0),
            (1, "/a/b.mjs:2\n\nSyntaxError: Unexpected end of input\n    at x", Errored, 0),
            (
                1,
                &format!("# Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/a/greet.mjs'\n{tap}"),
                Errored,
                0,
            ),
            (1, &format!("{failing}{tap}"), Failed, 0),
            (1, &format!("✖ a (9.4ms)\n  AssertionError [ERR_ASSERTION]: falsy\n{spec}"), Failed, 0),
        ],
    );
    for report in node(1, 1) {
        assert_eq!(of("node --test 'a.mjs'", 1, &format!("not ok 1 - a\nok 2 - b\n{report}")), (Failed, 1));
    }
    for report in node(2, 0) {
        assert_eq!(of("node --test 'a.mjs'", 0, &report), (Passed, 2));
    }
}

#[test]
fn jest_vitest_and_mocha() {
    says(
        "npm test -- 'a.test.js'",
        &[
            (1, "FAIL tests/a.test.js\n  ● Test suite failed to run\n\nTests:       0 total", Errored, 0),
            (1, "Test Suites: 1 failed, 1 total\nTests:       2 failed, 1 passed, 3 total", Failed, 1),
            (0, "Tests:       3 skipped, 3 total", Errored, 0),
            (0, "Tests:       3 passed, 3 total", Passed, 3),
            (
                1,
                "⎯⎯ Failed Suites 1 ⎯⎯\nError: Failed to load url ./greet\n Test Files  1 failed (1)\n      Tests  no tests",
                Failed,
                0,
            ),
            (
                1,
                "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[31m1 failed\u{1b}[39m\u{1b}[22m | \u{1b}[32m2 passed\u{1b}[39m (3)",
                Failed,
                2,
            ),
            (1, "      Tests  2 passed (2)\n     Errors  1 error", Errored, 2),
            (0, "      Tests  2 passed (2)", Passed, 2),
            (1, "  1 passing (5ms)\n  2 failing\n\n  1) greets\n       AssertionError", Failed, 1),
            (1, "\n Exception during run: SyntaxError[ @/a/b.mjs ]", Errored, 0),
            (1, "\nSyntaxError: Unexpected token '}'\n    at wrapSafe (node:internal)", Errored, 0),
            (1, "\nError: Cannot find module '../greet'\nRequire stack:", Failed, 0),
            (0, "  0 passing (1ms)", Errored, 0),
            (0, "  2 passing (1ms)", Passed, 2),
            (1, "npm error Missing script: \"test\"", Errored, 0),
        ],
    );
}

#[test]
fn go() {
    says(
        "go test -v './tests/...'",
        &[
            (
                1,
                "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\nFAIL\nFAIL\texample.com/a\t0.002s\nFAIL",
                Failed,
                1,
            ),
            (1, "--- FAIL: TestB (0.00s)\n    a_test.go:5: no\nFAIL\nFAIL\texample.com/a\t0.002s", Failed, 0),
            (1, "FAIL\texample.com/a [build failed]", Errored, 0),
            (1, "FAIL\texample.com/a [setup failed]", Errored, 0),
            (0, "?   \texample.com/a\t[no test files]", Errored, 0),
            (
                0,
                "testing: warning: no tests to run\nPASS\nok  \texample.com/a\t0.002s [no tests to run]",
                Errored,
                0,
            ),
            (0, "--- PASS: TestA (0.00s)\nPASS\nok  \texample.com/a\t0.002s", Passed, 1),
        ],
    );
}

#[test]
fn ruby_and_elixir() {
    says(
        "bundle exec rspec 'spec/a_spec.rb'",
        &[
            (
                1,
                "Finished in 0.01 seconds (files took 0.1 seconds to load)\n3 examples, 1 failure",
                Failed,
                2,
            ),
            (1, "3 examples, 2 failures, 1 pending", Failed, 0),
            (1, "1 example, 1 failure", Failed, 0),
            (1, "0 examples, 0 failures, 1 error occurred outside of examples", Errored, 0),
            (0, "0 examples, 0 failures", Errored, 0),
            (0, "3 examples, 0 failures", Passed, 3),
        ],
    );
    says(
        "ruby 'tests/a.rb'",
        &[
            (1, "3 runs, 4 assertions, 1 failures, 0 errors, 1 skips", Failed, 1),
            (1, "3 runs, 2 assertions, 1 failures, 1 errors, 0 skips", Errored, 1),
            (
                1,
                "3 tests, 4 assertions, 3 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications",
                Failed,
                0,
            ),
            (1, "a.rb:3: syntax errors found (SyntaxError)", Errored, 0),
            (
                1,
                "a.rb:1:in 'Kernel#require_relative': cannot load such file -- /a/greet (LoadError)",
                Errored,
                0,
            ),
            (0, "3 runs, 4 assertions, 0 failures, 0 errors, 0 skips", Passed, 3),
        ],
    );
    says(
        "mix test 'test/a_test.exs'",
        &[
            (2, "Finished in 0.02 seconds\n3 tests, 1 failure", Failed, 2),
            (2, "1 doctest, 3 tests, 2 failures, 1 skipped, 1 excluded", Failed, 0),
            (2, "2 tests, 0 failures, 2 invalid", Errored, 0),
            (1, "** (CompileError) test/a_test.exs:3: undefined function greet/0", Errored, 0),
            (0, "3 tests, 0 failures, 3 excluded", Errored, 0),
            (0, "3 tests, 0 failures", Passed, 3),
        ],
    );
}

#[test]
fn tap() {
    says(
        "bats 'a.bats'",
        &[
            (1, "1..2\nok 1 - a\nnot ok 2 - b", Failed, 1),
            (1, "1..2\nok 1 a # skip no tool\nnot ok 2 b", Failed, 0),
            (1, "1..2\nok 1 a\nnot ok 2 b # TODO later", Errored, 1),
            (1, "Bail out!", Errored, 0),
            (0, "1..1\nok 1 a # SKIP", Errored, 0),
            (0, "1..1\nok 1 a", Passed, 1),
        ],
    );
}

#[test]
fn of_all_tests_of_a_project_it_is_not_said_which_are_new() {
    let judged =
        |code, printed| judge(Whose::Project, &Own::default(), "cargo test", &End::Exit(code), printed);
    assert_eq!(judged(101, "test result: FAILED. 7 passed; 1 failed"), Judged { verdict: Failed, passed: 0 });
    assert_eq!(judged(0, "test result: ok. 0 passed; 0 failed"), Judged { verdict: Passed, passed: 0 });
}
