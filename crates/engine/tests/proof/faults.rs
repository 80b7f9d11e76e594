//! What is refused before anything is proved: names that are not there, settings, words, syntax, size.

use engine::{Workflow, WorkflowError, workflow::LARGEST};
use insta::assert_snapshot;

use crate::{CLOSE, CLOSED, bare, refused, small};

#[test]
fn everything_that_is_named_must_exist() {
    let budget = "[[budget]]\nreason = \"tired\"\ncounter = \"tries\"\nlimit = 3\n";
    let cases = [
        small(
            &[("open", r#"{ event = "go", to = "nowhere" }, { event = "close", to = "closed" }"#), CLOSED],
            "",
        ),
        small(&[("open", CLOSE), CLOSED], "").replace("initial = \"open\"", "initial = \"opne\""),
        small(&[("open", CLOSE), CLOSED], "").replace("[\"closed\"]", "[\"closed\", \"shut\"]"),
        bare(
            &[("open", CLOSE), CLOSED],
            "initial_when = { setting = \"skip_brainstorm\", phase = \"opne\" }\n",
        ),
        small(
            &[("open", CLOSE), CLOSED],
            "[[tick]]\nevent = \"tick\"\nphases = [\"opne\"]\nraises = [\"ticks\"]\n",
        ),
        small(&[("open", CLOSE), CLOSED], &format!("{budget}outcomes = [{{ redirect = \"shut\" }}]\n")),
        small(
            &[("open", CLOSE), CLOSED],
            &format!("{budget}outcomes = [{{ phase = \"opne\", park = true }}]\n"),
        ),
        small(
            &[("open", CLOSE), CLOSED],
            &format!("{budget}outcomes = [{{ phase = \"open\", follow = \"clsoe\" }}]\n"),
        ),
        bare(&[("open", CLOSE), CLOSED], "stop_event = \"abort\"\n"),
    ];
    assert_snapshot!(cases.map(|text| refused(&text)).join("\n"), @"
    unknown phase `nowhere`: open --go--> nowhere
    unknown phase `opne`: `initial`
    unknown phase `shut`: `final`
    unknown phase `opne`: `initial_when`
    unknown phase `opne`: tick `tick`
    unknown phase `shut`: budget `tired` redirects to `shut`
    unknown phase `opne`: budget `tired`
    budget `tired` follows `clsoe`, which is no event of the phase it names
    `stop_event` names `abort`, which is no event
    ");
}

#[test]
fn what_is_there_twice_or_contradicts_itself_is_refused() {
    let twice = r#"{ event = "close", to = "closed" }, { event = "close", to = "open", by = "person" }"#;
    let budget = "[[budget]]\nreason = \"tired\"\ncounter = \"tries\"\nlimit = 3\noutcomes = [{ redirect = \"closed\" }]\n";
    let outcome = |text: &str| budget.replace("redirect = \"closed\"", text);
    let cases = [
        small(&[("open", twice), CLOSED], ""),
        small(&[("open", CLOSE), ("open", CLOSE), CLOSED], ""),
        small(&[("open", CLOSE), CLOSED], &format!("{budget}{budget}")),
        small(&[("open", CLOSE), ("closed", CLOSE)], ""),
        small(&[("open", CLOSE), CLOSED], "[[tick]]\nevent = \"close\"\nraises = [\"ticks\"]\n"),
        small(&[("open", r#"{ event = "close", to = "closed", to_origin = true }"#), CLOSED], ""),
        small(&[("open", r#"{ event = "close" }"#), CLOSED], ""),
        small(
            &[
                ("open", r#"{ event = "back", to_origin = true }, { event = "close", to = "closed" }"#),
                CLOSED,
            ],
            "",
        ),
        small(&[("open", CLOSE), CLOSED], &budget.replace("counter = \"tries\"\n", "")),
        small(&[("open", CLOSE), CLOSED], &outcome("")),
        small(&[("open", CLOSE), CLOSED], &outcome("redirect = \"closed\", park = true")),
        small(
            &[("open", CLOSE), CLOSED],
            &outcome("park = true, when = \"auto_merge\", unless = \"auto_merge\""),
        ),
        small(&[("open", CLOSE), CLOSED], &budget.replace("[{ redirect = \"closed\" }]", "[]")),
        "name = \"none\"\npurpose = \"Has nothing\"\ninitial = \"open\"\nfinal = []".to_owned(),
    ];
    assert_snapshot!(cases.map(|text| refused(&text)).join("\n"), @"
    `close` in `open` is there twice
    phase `open` is there twice
    budget `tired` is there twice
    final phase `closed` has events
    `close` in `open` is both a row and a tick
    `close` in `open` needs either `to` or `to_origin`
    `close` in `open` needs either `to` or `to_origin`
    `open` returns to its origin, but nothing leads to it
    budget `tired` needs either `counter` or `measure`
    an outcome of budget `tired` needs one of `redirect`, `follow` and `park`
    an outcome of budget `tired` needs one of `redirect`, `follow` and `park`
    an outcome of budget `tired` has both `when` and `unless`
    budget `tired` has no outcome
    a workflow needs at least one `[[phase]]`
    unknown phase `open`: `initial`
    ");
}

#[test]
fn an_unknown_setting_or_one_of_another_kind_is_refused() {
    let budget = "[[budget]]\nreason = \"tired\"\ncounter = \"tries\"\nlimit = \"max_tries\"\noutcomes = [{ redirect = \"closed\" }]\n";
    let cases = [
        small(&[("open", CLOSE), CLOSED], budget),
        small(&[("open", CLOSE), CLOSED], &budget.replace("max_tries", "auto_merge")),
        small(&[("open", CLOSE), CLOSED], "").replace("minutes = 60", "minutes = \"max_minutes\""),
        small(
            &[("open", CLOSE), CLOSED],
            &budget.replace("\"max_tries\"", "3\nenforcement = \"max_retries_per_chunk\""),
        ),
        small(
            &[("open", CLOSE), CLOSED],
            &budget.replace("\"max_tries\"", "3").replace("redirect", "when = \"skip\", redirect"),
        ),
        bare(
            &[("open", CLOSE), CLOSED],
            "initial_when = { setting = \"max_retries_per_chunk\", phase = \"open\" }\n",
        ),
    ];
    assert_snapshot!(cases.map(|text| refused(&text)).join("\n"), @"
    `max_tries` is not a setting that holds a number
    `auto_merge` is not a setting that holds a number
    `max_minutes` is not a setting that holds a number
    `max_retries_per_chunk` is not a setting that holds a choice
    `skip` is not a setting that holds a flag
    `max_retries_per_chunk` is not a setting that holds a flag
    ");
}

#[test]
fn an_unknown_key_is_refused_with_its_line() {
    let text = small(&[("open", r#"{ event = "close", to = "closed", raise = ["tries"] }"#), CLOSED], "");
    assert_snapshot!(refused(&text), @r#"
    TOML parse error at line 12, column 41
       |
    12 | on = [{ event = "close", to = "closed", raise = ["tries"] }]
       |                                         ^^^^^
    unknown field `raise`, expected one of `event`, `to`, `to_origin`, `to_when`, `by`, `unless`, `gate`, `evidence`, `tests`, `acts`, `raises`, `resets`, `exempt`, `aborts`, `reason`, `status`, `answer`, `tool`
    "#);
}

#[test]
fn a_job_that_could_come_to_an_event_which_is_not_there_is_refused() {
    let phase = |more: &str, on: &str| {
        format!(
            "name = \"w\"\npurpose = \"p\"\ninitial = \"open\"\nfinal = [\"closed\"]\n\
             [deadline]\nminutes = 1\noutcome = \"park\"\n\
             [[phase]]\nname = \"open\"\npurpose = \"p\"\n{more}\non = [{on}]\n\
             [[phase]]\nname = \"closed\"\npurpose = \"p\"\nactivity = \"engine\"\n"
        )
    };
    let (passed, failed) = (r#"{ event = "green", to = "closed" }"#, r#"{ event = "red", to = "closed" }"#);
    let both = format!("{passed}, {failed}");
    let words = r#"says = { tests_passed = "green", tests_failed = "red" }"#;
    let engine = format!("activity = \"engine\"\ndoes = \"run_tests\"\n{words}");
    assert!(Workflow::parse(&phase(&engine, &both)).is_ok());
    assert_snapshot!(refused(&phase(&engine, passed)), @"the job of `open` may come to `red`, which is no event there");
    assert_snapshot!(refused(&phase(&engine.replace("engine", "agent"), &both)), @"`open` has `does`, but is not the engine's own");
    assert_snapshot!(refused(&phase(&engine.replace("tests_failed", "tests_lost"), &both)), @"
    `open` says `tests_lost` in its own words; its job has tests_passed, tests_failed
    the job of `open` may come to `tests_failed`, which is no event there
    ");
    assert_snapshot!(refused(&phase(&engine.replace("run_tests", "make_tea"), &both)), @r#"
    TOML parse error at line 12, column 8
       |
    12 | does = "make_tea"
       |        ^^^^^^^^^^
    unknown variant `make_tea`, expected one of `check_prerequisites`, `select_work`, `define_chunks`, `tick_criteria`, `run_tests`, `commit`, `check_docs`, `file_report`, `take_chunk`, `run_final_tests`, `merge`, `commit_and_merge`, `summarise`, `clean_up`, `open_pull_request`, `claim`, `await_dependencies`, `await_checks`, `await_review`
    "#);
}

#[test]
fn a_deferral_leads_to_phases_that_are_there() {
    let text = small(
        &[("open", r#"{ event = "close", to = "closed" }"#), CLOSED],
        "[deferral]\nnext = \"open\"\ndone = \"closed\"\nnone = \"nowhere\"\n",
    );
    assert_snapshot!(refused(&text), @"`deferral` leads to `nowhere`, which is no phase");
}

#[test]
fn a_word_that_the_engine_does_not_know_is_refused_with_its_line() {
    let text = small(&[("open", r#"{ event = "close", to = "closed", acts = ["launch"] }"#), CLOSED], "");
    assert_snapshot!(refused(&text), @r#"
    TOML parse error at line 12, column 49
       |
    12 | on = [{ event = "close", to = "closed", acts = ["launch"] }]
       |                                                 ^^^^^^^^
    unknown variant `launch`, expected one of `select_work`, `define_chunks`, `take_next_chunk`, `complete_chunk`, `mark_docs`, `mark_tests_passed`, `mark_tests_failed`, `mark_drift`, `mark_commit`, `mark_mended`, `mark_report`, `mark_final_test`, `mark_aborted`, `start_over`, `renew_budgets`, `renew_origin`, `complete_phase`
    "#);
}

#[test]
fn a_syntax_error_is_refused_with_line_and_column() {
    let text = small(&[("open", CLOSE), CLOSED], "").replace("initial = ", "initial ");
    assert_snapshot!(refused(&text), @r#"
    TOML parse error at line 3, column 9
      |
    3 | initial "open"
      |         ^
    key with no value, expected `=`
    "#);
}

#[test]
fn a_text_that_is_too_large_is_refused_unread() {
    let comment = |length: usize| format!("#{}", "x".repeat(length - 1));
    assert_snapshot!(refused(&comment(LARGEST + 1)), @"the workflow has 262145 bytes; the most is 262144");
    assert!(matches!(Workflow::parse(&comment(LARGEST)), Err(WorkflowError::Syntax(_))));
    let many: Vec<String> = (0..201).map(|number| format!("p{number}")).collect();
    let phases: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), CLOSE)).collect();
    assert_snapshot!(refused(&small(&phases, "")), @"there are 201 phases; the most is 200");
}

/// Names go into files of lines, tables, diagrams and terminals.
#[test]
fn hostile_names_are_refused() {
    let named = |name: &str| {
        small(&[("open", CLOSE), CLOSED], "").replace("\"small\"", &serde_json::json!(name).to_string())
    };
    let long = "x".repeat(61);
    let names = ["", "a b", "a\nb", "../up", "a|b", "ünd", "\u{1b}[31m", "'; drop", long.as_str()];
    assert_snapshot!(names.map(|name| refused(&named(name))).join("\n"), @r#"
    workflow name "" must be 1 to 60 letters, digits, `_` or `-`
    workflow name "a b" must be 1 to 60 letters, digits, `_` or `-`
    workflow name "a\nb" must be 1 to 60 letters, digits, `_` or `-`
    workflow name "../up" must be 1 to 60 letters, digits, `_` or `-`
    workflow name "a|b" must be 1 to 60 letters, digits, `_` or `-`
    workflow name "ünd" must be 1 to 60 letters, digits, `_` or `-`
    workflow name "\u{1b}[31m" must be 1 to 60 letters, digits, `_` or `-`
    workflow name "'; drop" must be 1 to 60 letters, digits, `_` or `-`
    workflow name "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" must be 1 to 60 letters, digits, `_` or `-`
    "#);
    let row = |more: &str| small(&[("open", &CLOSE.replace(" }", more)), CLOSED], "");
    let cases = [
        small(&[("open\\nend", CLOSE), CLOSED], ""),
        small(&[("open", r#"{ event = "clo se", to = "closed" }"#), CLOSED], ""),
        small(&[("open", CLOSE), CLOSED], "[[tick]]\nevent = \"ti\\tck\"\nraises = [\"ticks\"]\n"),
        small(
            &[("open", CLOSE), CLOSED],
            "[[budget]]\nreason = \"a b\"\ncounter = \"tries\"\nlimit = 3\noutcomes = [{ park = true }]\n",
        ),
        bare(&[("open", CLOSE), CLOSED], "close_event = \"shi\\npped\"\n"),
        row(", raises = [\"a b\"] }"),
        row(", resets = [\"a\\nb\"] }"),
        small(&[("open", CLOSE), CLOSED], "[[tick]]\nevent = \"tick\"\nraises = [\"a b\"]\n"),
        small(
            &[("open", CLOSE), CLOSED],
            "[[budget]]\nreason = \"tired\"\ncounter = \"a b\"\nlimit = 3\noutcomes = [{ park = true }]\n",
        ),
        bare(&[("open", CLOSE), CLOSED], "phase_counters = [\"a b\"]\n"),
        small(&[("open", CLOSE), CLOSED], "").replacen(
            "activity",
            "may = [\"git_push\\nleave git_commit open\"]\nactivity",
            1,
        ),
    ];
    assert_snapshot!(cases.map(|text| refused(&text)).join("\n"), @r#"
    phase name "open\nend" must be 1 to 60 letters, digits, `_` or `-`
    event name "clo se" must be 1 to 60 letters, digits, `_` or `-`
    event name "ti\tck" must be 1 to 60 letters, digits, `_` or `-`
    budget name "a b" must be 1 to 60 letters, digits, `_` or `-`
    event name "shi\npped" must be 1 to 60 letters, digits, `_` or `-`
    counter name "a b" must be 1 to 60 letters, digits, `_` or `-`
    counter name "a\nb" must be 1 to 60 letters, digits, `_` or `-`
    counter name "a b" must be 1 to 60 letters, digits, `_` or `-`
    counter name "a b" must be 1 to 60 letters, digits, `_` or `-`
    counter name "a b" must be 1 to 60 letters, digits, `_` or `-`
    operation name "git_push\nleave git_commit open" must be 1 to 60 letters, digits, `_` or `-`
    "#);
}

#[test]
fn what_an_agent_is_asked_for_can_be_answered() {
    let loops = "hands_in = true\nclose_event = \"shipped\"\n";
    let asked = |answer: &str, top: &str| {
        let text = bare(&[("open", CLOSE), CLOSED], top);
        let agents = format!("activity = \"agent\"\nanswer = \"{answer}\"");
        text.replacen("activity = \"engine\"", &agents, 1)
    };
    let persons = |more: &str| {
        let text = bare(&[("open", CLOSE), CLOSED], "");
        text.replacen("activity = \"engine\"", &format!("activity = \"person\"\n{more}"), 1)
    };
    let question = |more: &str| {
        let question = "[[question]]\nphase = \"open\"\ntext = \"Right?\"\n";
        small(&[("open", CLOSE), CLOSED], &format!("{question}{more}\n"))
    };
    let cases = [
        asked("plan", ""),
        asked("work", loops),
        asked("receipt", loops),
        asked("verdict", loops),
        asked("promise", loops),
        persons("answer = \"work\""),
        persons("unattended = \"no\""),
        persons("does = \"open_pull_request\""),
        bare(&[("open", CLOSE), CLOSED], "turn_event = \"turn\"\nprogress_file = \"../x\"\n"),
        question("approves = \"close\""),
        question("approves = \"shut\"\nwhen = \"approve_plan\""),
    ];
    assert_snapshot!(cases.map(|text| refused(&text)).join("\n"), @r#"
    for its `answer`, `open` needs an event that an agent says by its tool
    the `answer` of `open` does not go with `hands_in`
    for its `answer`, `open` needs a `receipt` and an event
    for its `answer`, `open` needs events of the status APPROVED and NEEDS_CHANGES
    for its `answer`, `open` needs to be final, in a workflow with a `close_event`
    `open` has `answer`, but is not an agent's
    `open` has `unattended = "no"`, which is no `answer` there that others than a person may give
    what `open` does is done before an agent works, but it is not an agent's
    `turn_event` names `turn`, which is no tick
    `progress_file` is `../x`; it must be a Markdown file in the project
    the question in `open` about `close` needs either `event` or `when`; `unless` goes with `event`
    the question in `open` approves `shut`, which is no event there
    "#);
}
