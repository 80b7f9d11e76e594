//! Reports of toy suites, as the runners wrote them.

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("fixtures/", $name))
    };
}

fn of(output: &str) -> TestReport {
    TestReport::parse(output, &[])
}

fn of_file(name: &str, text: &str) -> TestReport {
    TestReport::parse("", &[ReportFile { path: name.to_owned(), text: text.to_owned() }])
}

/// Shows a report: counts, then names.
fn shown(report: &TestReport) -> String {
    let counts =
        report.counts.map(|counts| format!("{}/{}/{}", counts.passed, counts.failed, counts.skipped));
    let names = |names: &[String]| names.join(" | ");
    format!(
        "{}; +[{}] -[{}] ~[{}] {}",
        counts.unwrap_or_default(),
        names(&report.passed),
        names(&report.failed),
        names(&report.skipped),
        if report.tells_names() { "named" } else { "unnamed" }
    )
}

#[test]
fn pytest_is_read() {
    for output in [fixture!("pytest-v.txt"), fixture!("pytest-rA.txt")] {
        let report = of(output);
        let passed = ["test_adds", "TestX::test_y", "test_par[a b]", "test_par[c::d]"];
        assert_eq!(report.passed, passed.map(|name| format!("tests/test_a.py::{name}")));
        let mut failed = report.failed.clone();
        failed.sort();
        assert_eq!(failed, ["tests/test_a.py::TestX::test_fails", "tests/test_a.py::test_err"]);
        assert_eq!(report.counts, Some(Counts { passed: 4, failed: 2, skipped: 2 }));
        assert!(report.tells_names());
    }
    for output in [fixture!("pytest.txt"), fixture!("pytest-x.txt")] {
        let plain = of(output);
        assert_eq!((plain.passed.len(), plain.failed.len(), plain.ran()), (0, 2, 6));
        assert!(plain.tells_names(), "the short summary names the failures");
        assert!(!plain.names_every_pass());
    }
}

#[test]
fn pytests_report_has_node_ids_and_joins_its_output() {
    for (name, text) in [("xunit1", fixture!("pytest-xunit1.xml")), ("xunit2", fixture!("pytest-xunit2.xml"))]
    {
        let file = ReportFile { path: name.to_owned(), text: text.to_owned() };
        let report = TestReport::parse(fixture!("pytest.txt"), &[file]);
        assert_eq!(report.counts, Some(Counts { passed: 4, failed: 2, skipped: 2 }), "{name}");
        assert_eq!(report.failed.len(), 2, "{name}: {:?}", report.failed);
        assert!(report.passed.contains(&"tests/test_a.py::TestX::test_y".to_owned()), "{:?}", report.passed);
        assert!(report.tells_names() && report.names_every_pass());
    }
}

#[test]
fn a_file_that_pytest_cannot_import_has_no_names() {
    let report = of(
        "ERROR tests/test_a.py - ImportError: no\n!!! Interrupted: 1 error !!!\n=== 1 error in 0.05s ===\n",
    );
    assert_eq!(shown(&report), "0/1/0; +[] -[] ~[] unnamed");
}

#[test]
fn a_summary_that_counts_more_failures_than_are_listed_tells_no_names() {
    let report = of(
        "FAILED t.py::test_a - x\nFAILED t.py::test_b - x\nFAILED t.py::test_c - x\n=== 5 failed, 1 passed in 0.05s ===\n",
    );
    assert_eq!(shown(&report), "1/5/0; +[] -[t.py::test_a | t.py::test_b | t.py::test_c] ~[] unnamed");
}

#[test]
fn unittest_is_read() {
    let expected = "2/3/2; +[test_u.T.test_doc | test_u.T.test_ok] \
                    -[test_u.T.test_bad | test_u.T.test_err | test_u.T.test_sub (i=1)] \
                    ~[test_u.T.test_sk | test_u.T.test_xf] named";
    let mut report = of(fixture!("unittest-v.txt"));
    report.failed.sort();
    assert_eq!(shown(&report), expected);
    let plain = of(fixture!("unittest.txt"));
    assert_eq!((plain.ran(), plain.failed.len(), plain.tells_names()), (5, 3, true));
    assert_eq!(shown(&of("...\nRan 3 tests in 0.001s\n\nOK (skipped=1)\n")), "2/0/1; +[] -[] ~[] named");
    let older = of("test_a (t.T) ... ok\n\nRan 1 test in 0.001s\n\nOK\n");
    assert_eq!(shown(&older), "1/0/0; +[t.T.test_a] -[] ~[] named");
    let broken = of(
        "ERROR: tests.test_a (unittest.loader._FailedTest.tests.test_a)\n\nRan 1 test in 0.000s\n\nFAILED (errors=1)\n",
    );
    assert_eq!(shown(&broken), "0/1/0; +[] -[] ~[] unnamed");
    assert_eq!(of("\nRan 0 tests in 0.000s\n\nOK\n").ran(), 0);
}

#[test]
fn cargo_and_nextest_are_read() {
    assert_eq!(
        shown(&of(fixture!("cargo.txt"))),
        "3/1/1; +[tests::ok | tests::panics | src/lib.rs - f] -[tests::bad] ~[tests::later] named"
    );
    assert_eq!(
        shown(&of(fixture!("nextest.txt"))),
        "2/1/1; +[toy tests::ok | toy tests::panics] -[toy tests::bad] ~[] named"
    );
    let crashed = of("running 2 tests\ntest a ... ok\nerror: test failed, to rerun pass `--lib`\n");
    assert!(!crashed.tells_names(), "the binary never came to its result");
    let torn = of(
        "running 1 test\ntest a ... printed\nFAILED\n\nfailures:\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n",
    );
    assert_eq!(shown(&torn), "0/1/0; +[] -[a] ~[] named");
    assert_eq!(of("running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored\n").ran(), 0);
}

#[test]
fn jest_vitest_mocha_ava_and_node_are_read() {
    for (output, expected) in [
        (
            fixture!("jest.txt"),
            "3/1/2; +[jest/a.test.js > top level | jest/a.test.js > adds > two numbers | jest/a.test.js > adds > deep down > is found (3 ms)] \
             -[jest/a.test.js > adds > fails > here] ~[jest/a.test.js > adds > later | jest/a.test.js > adds > write me] named",
        ),
        (fixture!("vitest.txt"), "4/1/2; +[] -[a.test.mjs > adds > fails here] ~[] named"),
        (
            fixture!("vitest-v.txt"),
            "4/1/2; +[a.test.mjs > adds > two numbers | a.test.mjs > adds > deep down > is found | a.test.mjs > top level | b.test.mjs > other file] \
             -[a.test.mjs > adds > fails here] ~[a.test.mjs > adds > later | a.test.mjs > adds > write me] named",
        ),
        (
            fixture!("mocha.txt"),
            "2/1/1; +[adds > two numbers | adds > deep down > is found] -[adds > fails here] ~[adds > later] named",
        ),
        (
            fixture!("node-spec.txt"),
            "5/1/3; +[adds > two numbers | adds > deep down > is found | top level | with steps > step one] \
             -[adds > fails here] ~[adds > later | adds > write me | skips # itself] named",
        ),
        (
            fixture!("ava.txt"),
            "2/1/2; +[two numbers | nested > title] -[fails here] ~[later | write me] named",
        ),
    ] {
        assert_eq!(shown(&of(output)), expected);
    }
}

#[test]
fn tap_is_read_with_its_subtests() {
    for (output, expected) in [
        (
            fixture!("node-tap.txt"),
            "5/1/3; +[adds > two numbers | adds > deep down > is found | top level | with steps > step one] \
             -[adds > fails here] ~[adds > later | adds > write me | skips \\# itself] named",
        ),
        (
            fixture!("vitest.tap"),
            "; +[a.test.mjs > adds > two numbers | a.test.mjs > adds > deep down > is found | a.test.mjs > top level | b.test.mjs > other file] \
             -[a.test.mjs > adds > fails here] ~[a.test.mjs > adds > later | a.test.mjs > adds > write me] named",
        ),
        (
            fixture!("mocha.tap"),
            "2/1/1; +[adds two numbers | adds deep down is found] -[adds fails here] ~[adds later] named",
        ),
        (fixture!("prove-v.txt"), "2/1/2; +[first one | b] -[second] ~[todo one] named"),
        (fixture!("prove.txt"), "5/1/0; +[] -[] ~[] unnamed"),
        ("ok 1 - a\nnot ok 2\n1..2\n", "1/1/0; +[a] -[] ~[] unnamed"),
        ("1..3\nok 1 - a\nnot ok 2 - b\n", "1/2/0; +[a] -[b] ~[] unnamed"),
        ("ok 1 - a\nBail out! no database\n", "1/1/0; +[a] -[] ~[] unnamed"),
    ] {
        assert_eq!(shown(&of(output)), expected);
    }
    assert_eq!(shown(&of_file("a.tap", "1..1\r\nok 1 - a\r\n")), "1/0/0; +[a] -[] ~[] named");
}

#[test]
fn go_is_read() {
    let without = String::from_utf8(without_passes(fixture!("go-v.txt").as_bytes())).unwrap();
    assert!(!without.contains("=== RUN") && !without.contains("--- PASS"), "{without}");
    assert!(without.contains("--- FAIL"), "{without}");
    assert_eq!(
        shown(&of(fixture!("go.txt"))),
        "; +[toy/c] -[toy.TestBad | toy.TestSub | toy.TestSub/bad] ~[] named"
    );
    let expected = "; +[toy.TestOk | toy.TestSub/with_space | toy/c.TestC] \
                    -[toy.TestBad | toy.TestSub | toy.TestSub/bad] ~[toy.TestSkip] named";
    assert_eq!(shown(&of(fixture!("go-v.txt"))), expected);
    let mut json = of(fixture!("go-json.txt"));
    for names in [&mut json.passed, &mut json.failed] {
        names.sort();
    }
    let expected = "; +[toy.TestOk | toy.TestSub/with_space | toy/c.TestC] \
                    -[toy.TestBad | toy.TestSub | toy.TestSub/bad] ~[toy.TestSkip] named";
    assert_eq!(shown(&json), expected);
    assert!(
        !of("# toy\n./a.go:3: syntax error\nFAIL\ttoy [build failed]\nok  \ttoy/c\t0.002s\n").tells_names()
    );
    assert_eq!(of("?   \ttoy\t[no test files]\nok  \ttoy/b\t0.01s [no tests to run]\n").ran(), 0);
}

#[test]
fn junit_of_other_runners_is_read() {
    for (text, expected) in [
        (
            fixture!("jest.xml"),
            "4/1/1; +[adds two numbers | adds write me | adds deep down is found (3 ms) | top level] -[adds fails > here] ~[adds later] named",
        ),
        (
            fixture!("vitest.xml"),
            "4/1/2; +[a.test.mjs > adds > two numbers | a.test.mjs > adds > deep down > is found | a.test.mjs > top level | b.test.mjs > other file] \
             -[a.test.mjs > adds > fails here] ~[a.test.mjs > adds > later | a.test.mjs > adds > write me] named",
        ),
        (
            fixture!("node.xml"),
            "4/1/3; +[adds > two numbers | adds > deep down > is found | top level | with steps > step one] \
             -[adds > fails here] ~[adds > later | adds > write me | skips # itself] named",
        ),
        (
            "<testsuite name=\"com.x.FooTest\" tests=\"3\" errors=\"1\" failures=\"0\"><testcase classname=\"com.x.FooTest\" name=\"a\"/>\
             <testcase classname=\"com.x.FooTest\" name=\"b\"><error type=\"E\">x</error><system-out><![CDATA[<failure>]]></system-out></testcase>\
             <testcase classname=\"com.x.FooTest\" name=\"c\"><flakyFailure/></testcase></testsuite>",
            "2/1/0; +[com.x.FooTest.a | com.x.FooTest.c] -[com.x.FooTest.b] ~[] named",
        ),
        (
            "<testsuites><testsuite name=\"toy\" failures=\"1\"><testcase classname=\"toy\" name=\"TestSub/bad\"><failure/></testcase></testsuite></testsuites>",
            "0/1/0; +[] -[toy.TestSub/bad] ~[] named",
        ),
        (
            "<testsuite failures=\"2\"><testcase name=\"a\"><failure/></testcase></testsuite>",
            "0/2/0; +[] -[a] ~[] unnamed",
        ),
        ("<testsuite><error>no database</error></testsuite>", "0/1/0; +[] -[] ~[] unnamed"),
        ("<testsuite><testcase name=\"a\"/>", "; +[] -[] ~[] unnamed"),
    ] {
        assert_eq!(shown(&of_file("junit.xml", text)), expected);
    }
}

#[test]
fn a_report_and_the_output_of_one_run_are_counted_once() {
    let file = ReportFile { path: "junit.xml".to_owned(), text: fixture!("jest.xml").to_owned() };
    let report = TestReport::parse(fixture!("jest.txt"), &[file]);
    assert_eq!((report.ran(), report.failed.len(), report.tells_names()), (5, 1, true));
}

#[test]
fn reports_of_several_modules_stand_for_the_output_of_all() {
    let file = |class: &str, cases: &str| ReportFile {
        path: format!("TEST-{class}.xml"),
        text: format!("<testsuite name=\"{class}\">{cases}</testsuite>"),
    };
    let files = [
        file(
            "x.A",
            "<testcase classname=\"x.A\" name=\"a\"><failure/></testcase><testcase classname=\"x.A\" name=\"b\"/>",
        ),
        file("x.B", "<testcase classname=\"x.B\" name=\"c\"/>"),
    ];
    let output = "[ERROR] Failures: \n[ERROR]   A.a:12 expected\n[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0\n\
                  [INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n";
    assert_eq!(shown(&TestReport::parse(output, &files)), "2/1/0; +[x.A.b | x.B.c] -[x.A.a] ~[] named");
    let taps = [
        ReportFile {
            path: "a.tap".to_owned(),
            text: "ok 1 - a\nnot ok 2 - b\n# pass 1\n# fail 3\n".to_owned(),
        },
        ReportFile { path: "b.tap".to_owned(), text: "not ok 1 - c\nnot ok 2 - d\n1..2\n".to_owned() },
    ];
    assert_eq!(shown(&TestReport::parse("", &taps)), "1/5/0; +[a] -[b | c | d] ~[] unnamed");
}

#[test]
fn other_runners_summaries_are_read() {
    for (output, expected) in [
        (
            "F.*\n\nFinished in 0.1 seconds\n3 examples, 1 failure, 1 pending\n\nFailed examples:\n\nrspec ./spec/a_spec.rb:4 # Adder adds\n",
            "1/1/1; +[] -[Adder adds] ~[] named",
        ),
        ("0 examples, 0 failures, 1 error occurred outside of examples\n", "0/1/0; +[] -[] ~[] unnamed"),
        (
            "  1) Failure:\nTestX#test_y [a.rb:3]:\nExpected: 1\n\n3 runs, 4 assertions, 1 failures, 0 errors, 1 skips\n",
            "1/1/1; +[] -[TestX#test_y] ~[] named",
        ),
        (
            "There was 1 failure:\n\n1) App\\FooTest::testBar\nFailed\n\nTests: 3, Assertions: 4, Failures: 1.\n",
            "2/1/0; +[] -[App\\FooTest::testBar] ~[] named",
        ),
        ("OK (3 tests, 4 assertions)\n", "3/0/0; +[] -[] ~[] named"),
        (
            "  1) test adds (FooTest)\n     test/a.exs:3\n\n1 doctest, 3 tests, 1 failure, 1 skipped\n",
            "2/1/1; +[] -[FooTest > adds] ~[] named",
        ),
        (
            "  Failed Ns.Class.Bad [5 ms]\nFailed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4, Duration: 5 ms\n",
            "3/1/0; +[] -[Ns.Class.Bad] ~[] named",
        ),
        (
            "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in FooTest\n[ERROR] Failures: \n[ERROR]   FooTest.bar:12 expected\n[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\n",
            "2/1/0; +[] -[FooTest.bar] ~[] named",
        ),
        (
            "FooTest > bar() FAILED\n    x at FooTest.java:3\n\n3 tests completed, 1 failed\n",
            "2/1/0; +[] -[FooTest > bar()] ~[] named",
        ),
        (
            "1/2 Test #1: adds .............   Passed    0.00 sec\n2/2 Test #2: bad ..............***Failed    0.00 sec\n\n50% tests passed, 1 tests failed out of 2\n",
            "1/1/0; +[adds] -[bad] ~[] named",
        ),
        (
            "bun test v1.1\n\na.test.ts:\n(pass) adds > two [0.12ms]\n(fail) adds > bad [0.10ms]\n\n 1 pass\n 1 fail\n 2 expect() calls\nRan 2 tests across 1 files.\n",
            "1/1/0; +[a.test.ts > adds > two] -[a.test.ts > adds > bad] ~[] named",
        ),
        (
            "running 2 tests from ./a_test.ts\nadds ... ok (5ms)\nbad ... FAILED (1ms)\n\nFAILED | 1 passed | 1 failed (10ms)\n",
            "1/1/0; +[adds] -[bad] ~[] named",
        ),
    ] {
        assert_eq!(shown(&of(output)), expected, "{output}");
    }
    let json = r#"{"examples":[{"full_description":"Adder adds","status":"passed"},{"full_description":"Adder fails","status":"failed"}],"summary":{"errors_outside_of_examples_count":0}}"#;
    assert_eq!(shown(&of_file("rspec.json", json)), "1/1/0; +[Adder adds] -[Adder fails] ~[] named");
}

#[test]
fn an_output_that_nobody_can_read_tells_nothing() {
    for output in [
        "",
        "building…\ndone\n",
        "all good\n",
        "ok\n",
        "   Compiling toy v0.1.0\n    Finished `dev` profile in 0.3s\n",
        "PASSED\nFAILED\n",
    ] {
        let report = of(output);
        assert_eq!((report.ran(), report.tells_names()), (0, false), "{output}");
    }
    assert!(!of(fixture!("cargo.txt")).of_cut_output().tells_names());
}

#[test]
fn crlf_and_colours_change_nothing() {
    let coloured = fixture!("cargo.txt").replace("ok\n", "\u{1b}[32mok\u{1b}[0m\r\n");
    assert_eq!(of(&coloured), of(fixture!("cargo.txt")));
}
