//! What a workflow is refused for: one fault each, named with the path that shows it.

mod support;

use engine::{
    Settings, Workflow, WorkflowError,
    workflow::{BUILT_IN, LARGEST, Proof},
};
use insta::assert_snapshot;

/// A workflow that begins in `open`, ends in `closed` and parks after an hour anywhere.
fn small(phases: &[(&str, &str)], rest: &str) -> String {
    let deadline = "[deadline]\nminutes = 60\noutcome = \"park\"\n";
    bare(phases, &format!("{deadline}{rest}"))
}

fn bare(phases: &[(&str, &str)], rest: &str) -> String {
    let head = "name = \"small\"\npurpose = \"Is small\"\ninitial = \"open\"\nfinal = [\"closed\"]\n";
    let phase = |(name, rows): &(&str, &str)| {
        format!(
            "[[phase]]\nname = \"{name}\"\npurpose = \"Is there\"\nactivity = \"engine\"\non = [{rows}]\n"
        )
    };
    format!("{head}{rest}{}", phases.iter().map(phase).collect::<String>())
}

fn refused(text: &str) -> String {
    Workflow::parse(text).expect_err("this is no workflow").to_string()
}

const CLOSED: (&str, &str) = ("closed", "");
const CLOSE: &str = r#"{ event = "close", to = "closed" }"#;

#[test]
fn a_small_workflow_is_accepted_and_its_proof_can_be_read() {
    let text = small(
        &[
            ("open", r#"{ event = "start", to = "busy" }"#),
            (
                "busy",
                r#"{ event = "fail", to = "busy", raises = ["tries"] }, { event = "finish", to = "asked" }"#,
            ),
            (
                "asked",
                r#"{ event = "again", to = "busy", by = "person", resets = ["tries"] }, { event = "close", to = "closed" }"#,
            ),
            CLOSED,
        ],
        "[[budget]]\nreason = \"tired\"\ncounter = \"tries\"\nlimit = 2\noutcomes = [{ phase = \"busy\", redirect = \"asked\" }]\n",
    );
    let workflow = Workflow::parse(&text).unwrap();
    assert_snapshot!(Proof::of(&workflow), @"
    4 phases, 5 transitions; every target exists
    every phase can be reached, and every wait has a deadline with a named outcome
    a final phase is at most 3 events away from everywhere
    cycles through fail are bounded by `tries`
    cycles through again need a person
    so every run ends
    ");
    assert_eq!(workflow.digest, engine::digest(&text));
    assert_eq!(workflow.text, text);
}

#[test]
fn the_built_in_workflows_are_proved_to_end() {
    let proofs = BUILT_IN
        .iter()
        .map(|known| format!("{}\n{}\n\n", known.name, Proof::of(support::workflow(known.name))));
    assert_snapshot!(proofs.collect::<String>(), @"
    warp-drive
    19 phases, 46 transitions; every target exists
    every phase can be reached, and every wait has a deadline with a named outcome
    a final phase is at most 2 events away from everywhere
    cycles through drift_blocked, merge_failed, push_failed, tests_failed are bounded by `retry_count`
    cycles through report_filed are bounded by `total_chunks`
    cycles through budget_continue, continue_yes, restart, start need a person
    so every run ends

    coder
    13 phases, 38 transitions; every target exists
    every phase can be reached, and every wait has a deadline with a named outcome
    a final phase is at most 3 events away from everywhere
    cycles through continue, escalate, pivot are bounded by `budget_answers`
    cycles through fix_done are bounded by `fixing_iterations`
    cycles through submit_plan are bounded by `planning_iterations`
    cycles through answer need a person
    so every run ends

    autonomous-loop
    11 phases, 13 transitions; every target exists
    every phase can be reached, and every wait has a deadline with a named outcome
    a final phase is at most 8 events away from everywhere
    cycles through fixes_made are bounded by `fix_review_cycles`
    so every run ends

    factory
    9 phases, 27 transitions; every target exists
    every phase can be reached, and every wait has a deadline with a named outcome
    a final phase is at most 2 events away from everywhere
    cycles through ci_failed are bounded by `ci_fixes`
    cycles through ci_infra_failed are bounded by `infra_retries`
    cycles through merge_conflicted are bounded by `merge_attempts`
    cycles through changes_requested are bounded by `review_rounds`
    cycles through dependencies_closed are bounded by `unblocked`
    cycles through answered, clarified need a person
    so every run ends
    ");
}

#[test]
fn an_unreachable_phase_is_named() {
    let text = small(&[("open", CLOSE), ("lost", CLOSE), CLOSED], "");
    assert_snapshot!(refused(&text), @"unreachable phase `lost`: no path from `open` leads there");
}

#[test]
fn a_dead_end_is_named_with_the_path_to_it() {
    let text = small(
        &[
            ("open", r#"{ event = "go", to = "on" }, { event = "close", to = "closed" }"#),
            ("on", r#"{ event = "fall", to = "pit" }"#),
            ("pit", ""),
            CLOSED,
        ],
        "",
    );
    assert_snapshot!(refused(&text), @"
    dead end: open --go--> on, and no final phase can be reached from there
    dead end: open --go--> on --fall--> pit, and no final phase can be reached from there
    ");
}

#[test]
fn a_redirect_is_no_way_out_of_a_dead_end() {
    let text = small(
        &[
            ("open", r#"{ event = "go", to = "pit" }, { event = "close", to = "closed" }"#),
            ("pit", r#"{ event = "wait", to = "pit", raises = ["waits"] }"#),
            CLOSED,
        ],
        "[[budget]]\nreason = \"waited\"\ncounter = \"waits\"\nlimit = 1\noutcomes = [{ redirect = \"closed\" }]\n",
    );
    assert_snapshot!(
        refused(&text),
        @"dead end: open --go--> pit, and no final phase can be reached from there"
    );
}

#[test]
fn an_unbounded_cycle_is_named_with_the_path_into_it() {
    let text = small(
        &[
            ("open", r#"{ event = "go", to = "code" }"#),
            ("code", r#"{ event = "done", to = "test" }"#),
            ("test", r#"{ event = "fail", to = "code" }, { event = "pass", to = "closed" }"#),
            CLOSED,
        ],
        "",
    );
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --go--> code --done--> test --fail--> code, and nothing on it is counted or needs a person"
    );
}

#[test]
fn a_counter_without_a_budget_bounds_nothing() {
    let text = small(
        &[
            (
                "open",
                r#"{ event = "again", to = "open", raises = ["tries"] }, { event = "close", to = "closed" }"#,
            ),
            CLOSED,
        ],
        "",
    );
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --again--> open, and nothing on it is counted or needs a person"
    );
}

/// Two loops through `hub`, each of which resets the counter that bounds the other.
#[test]
fn two_cycles_that_reset_each_others_counter_bound_nothing() {
    let text = small(
        &[
            ("open", r#"{ event = "go", to = "hub" }"#),
            (
                "hub",
                r#"{ event = "left", to = "west", raises = ["lefts"], resets = ["rights"] }, { event = "right", to = "east", raises = ["rights"], resets = ["lefts"] }, { event = "close", to = "closed" }"#,
            ),
            ("west", r#"{ event = "home", to = "hub" }"#),
            ("east", r#"{ event = "home", to = "hub" }"#),
            CLOSED,
        ],
        "[[budget]]\nreason = \"many_lefts\"\ncounter = \"lefts\"\nlimit = 3\noutcomes = [{ redirect = \"closed\" }]\n\
         [[budget]]\nreason = \"many_rights\"\ncounter = \"rights\"\nlimit = 3\noutcomes = [{ redirect = \"closed\" }]\n",
    );
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --go--> hub --left--> west --home--> hub, and nothing on it is counted or needs a person"
    );
}

#[test]
fn a_redirect_back_into_its_own_loop_bounds_nothing() {
    let text = small(
        &[
            ("open", r#"{ event = "done", to = "test" }, { event = "close", to = "closed" }"#),
            ("test", r#"{ event = "fail", to = "open", raises = ["fails"] }"#),
            CLOSED,
        ],
        "[[budget]]\nreason = \"failing\"\ncounter = \"fails\"\nlimit = 3\noutcomes = [{ phase = \"test\", redirect = \"open\" }]\n",
    );
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --done--> test --failing--> open, and nothing on it is counted or needs a person"
    );
}

const TRYING: (&str, &str) =
    ("open", r#"{ event = "again", to = "open", raises = ["tries"] }, { event = "close", to = "closed" }"#);

#[test]
fn a_budget_that_a_setting_can_switch_off_bounds_nothing() {
    let budget =
        |more: &str| format!("[[budget]]\nreason = \"tired\"\ncounter = \"tries\"\nlimit = 3\n{more}\n");
    let conditional = budget(r#"outcomes = [{ redirect = "closed", when = "skip_brainstorm" }]"#);
    assert_snapshot!(
        refused(&small(&[TRYING, CLOSED], &conditional)),
        @"unbounded cycle: open --again--> open, and nothing on it is counted or needs a person"
    );
    // `warn` is advice, and the cycle goes on.
    let advice =
        budget("enforcement = \"phase_timeout_enforcement\"\noutcomes = [{ redirect = \"closed\" }]");
    assert_snapshot!(
        refused(&small(&[TRYING, CLOSED], &advice)),
        @"unbounded cycle: open --again--> open, and nothing on it is counted or needs a person"
    );
    let hard = budget(r#"outcomes = [{ redirect = "closed" }]"#);
    Workflow::parse(&small(&[TRYING, CLOSED], &hard)).unwrap();
}

#[test]
fn a_counter_that_starts_again_with_every_phase_bounds_no_cycle_of_phases() {
    let rest = "phase_counters = [\"turns\"]\n[deadline]\nminutes = 60\noutcome = \"park\"\n\
         [[budget]]\nreason = \"turned\"\ncounter = \"turns\"\nlimit = 3\noutcomes = [{ redirect = \"closed\" }]\n";
    let text = bare(
        &[
            (
                "open",
                r#"{ event = "go", to = "on", raises = ["turns"] }, { event = "close", to = "closed" }"#,
            ),
            ("on", r#"{ event = "back", to = "open", raises = ["turns"] }"#),
            CLOSED,
        ],
        rest,
    );
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --go--> on --back--> open, and nothing on it is counted or needs a person"
    );
}

/// `first` is asked before `second`, so where both are used up `out` is never taken.
#[test]
fn a_follow_that_another_budget_forestalls_bounds_nothing() {
    let rows = r#"{ event = "round", to = "back" }, { event = "out", to = "closed" }"#;
    let back = r#"{ event = "home", to = "open", raises = ["one", "two"] }"#;
    let rest = "[[budget]]\nreason = \"first\"\ncounter = \"one\"\nlimit = 1\noutcomes = [{ phase = \"open\", follow = \"round\" }]\n\
         [[budget]]\nreason = \"second\"\ncounter = \"two\"\nlimit = 1\noutcomes = [{ phase = \"open\", follow = \"out\" }]\n";
    let text = small(&[("open", rows), ("back", back), CLOSED], rest);
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --round--> back --home--> open, and nothing on it is counted or needs a person"
    );
}

fn budget(reason: &str, counter: &str, outcome: &str) -> String {
    format!(
        "[[budget]]\nreason = \"{reason}\"\ncounter = \"{counter}\"\nlimit = 1\noutcomes = [{{ {outcome} }}]\n"
    )
}

/// `home` is taken by `second`, not asked for, so `first` does not stop it.
#[test]
fn what_stands_in_the_way_of_an_ask_does_not_bound_what_a_budget_takes() {
    let rows = r#"{ event = "on", to = "busy" }, { event = "close", to = "closed" }"#;
    let busy = r#"{ event = "home", to = "open", raises = ["one"] }, { event = "more", to = "open", raises = ["two"] }"#;
    let first = budget("first", "one", r#"event = "home", park = true"#);
    let second = budget("second", "two", r#"phase = "busy", follow = "home""#);
    let text = small(&[("open", rows), ("busy", busy), CLOSED], &format!("{first}{second}"));
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --on--> busy --home--> open, and nothing on it is counted or needs a person"
    );
    let asked = small(
        &[("open", rows), ("busy", &busy.replace("two", "one")), CLOSED],
        &budget("first", "one", "park = true"),
    );
    Workflow::parse(&asked).unwrap();
}

#[test]
fn budgets_that_follow_each_other_in_a_circle_are_refused() {
    let there = r#"{ event = "there", to = "busy", raises = ["trips"] }, { event = "close", to = "closed" }"#;
    let back = r#"{ event = "back", to = "open" }"#;
    let first = budget("first", "trips", r#"phase = "open", follow = "there""#);
    let second = budget("second", "trips", r#"phase = "busy", follow = "back""#);
    let text = small(&[("open", there), ("busy", back), CLOSED], &format!("{first}{second}"));
    assert_snapshot!(refused(&text), @"
    budgets that follow each other in a circle: open --there--> busy --back--> open
    unbounded cycle: open --there--> busy --back--> open, and nothing on it is counted or needs a person
    ");
}

/// The redirected `over` resets what would end the loop.
#[test]
fn what_a_redirected_event_resets_is_reset() {
    let open = r#"{ event = "on", to = "busy", raises = ["ons"] }"#;
    let busy = r#"{ event = "over", to = "closed", raises = ["overs"], resets = ["ons"] }"#;
    let ons = budget("many_ons", "ons", r#"phase = "open", redirect = "closed""#);
    let overs = budget("many_overs", "overs", r#"event = "over", redirect = "open""#);
    let text = small(&[("open", open), ("busy", busy), CLOSED], &format!("{ons}{overs}"));
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --on--> busy --many_overs--> open, and nothing on it is counted or needs a person"
    );
}

/// `aside` is entered from `open` by a row and from `busy` by a redirect, and returns to either.
#[test]
fn a_redirect_is_an_origin_to_return_to() {
    let open = r#"{ event = "on", to = "busy" }, { event = "ask", to = "aside", by = "person" }"#;
    let busy = r#"{ event = "fail", to = "busy", raises = ["fails"] }, { event = "close", to = "closed" }"#;
    let aside = r#"{ event = "back", to_origin = true }"#;
    let fails = budget("failing", "fails", r#"phase = "busy", event = "fail", redirect = "aside""#);
    let text = small(&[("open", open), ("busy", busy), ("aside", aside), CLOSED], &fails);
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --on--> busy --failing--> aside --back--> busy, and nothing on it is counted or needs a person"
    );
}

/// `here` and `there` send a run back to each other once it has come from either.
#[test]
fn a_return_is_an_origin_to_return_to() {
    let open = r#"{ event = "on", to = "here", by = "person" }, { event = "close", to = "closed" }"#;
    let here = r#"{ event = "go", to = "there", raises = ["gos"] }, { event = "back", to_origin = true }"#;
    let there = r#"{ event = "back", to_origin = true }, { event = "close", to = "closed" }"#;
    let gos = budget("many_gos", "gos", r#"phase = "here", event = "go", redirect = "closed""#);
    let text = small(&[("open", open), ("here", here), ("there", there), CLOSED], &gos);
    assert_snapshot!(
        refused(&text),
        @"unbounded cycle: open --on--> here --back--> there --back--> here, and nothing on it is counted or needs a person"
    );
}

#[test]
fn a_question_approves_an_event_of_its_phase_and_is_nothing_else_there() {
    let open = r#"{ event = "close", to = "closed" }"#;
    let question = |event: &str, phase: &str, approves: &str, unless: &str| {
        let text = format!(
            "[[question]]\nevent = \"{event}\"\nphase = \"{phase}\"\ntext = \"Good?\"\napproves = \"{approves}\"\nunless = \"{unless}\"\n"
        );
        small(&[("open", open), CLOSED], &text)
    };
    assert!(Workflow::parse(&question("shown", "open", "close", "auto_merge")).is_ok());
    let wrong = [
        question("shown", "open", "never", "auto_merge"),
        question("close", "open", "close", "auto_merge"),
        question("shown", "nowhere", "close", "auto_merge"),
        question("shown", "open", "close", "max_iterations"),
        question("noted", "open", "close", "auto_merge"),
    ];
    assert_snapshot!(wrong.map(|text| refused(&text)).join("\n"), @"
    question `shown` approves `never`, which is no event of `open`
    `close` in `open` is a question and something else too
    question `shown` approves `close`, which is no event of `nowhere`
    unknown phase `nowhere`: question `shown`
    `max_iterations` is not a setting that holds a flag
    event `noted` is the engine's own; give yours another name
    ");
}

#[test]
fn a_row_that_a_setting_frees_of_a_person_bounds_no_cycle() {
    let open = r#"{ event = "again", to = "open", by = "person", unless = "auto_merge" }, { event = "close", to = "closed" }"#;
    let alone = open.replace("by = \"person\", ", "");
    let texts = [open, &alone].map(|open| refused(&small(&[("open", open), CLOSED], "")));
    assert_snapshot!(texts.join("\n"), @"
    unbounded cycle: open --again--> open, and nothing on it is counted or needs a person
    `again` in `open` has `unless` without `by`
    ");
}

#[test]
fn a_phase_is_about_an_artifact_that_there_is() {
    let text = small(&[("open", r#"{ event = "close", to = "closed" }"#), CLOSED], "");
    let text = text.replacen("activity = ", "artifact = \"novel\"\nactivity = ", 1);
    assert_snapshot!(refused(&text), @"`open` names the artifact `novel`; there are brainstorm_file, plan_file, acceptance_tests_file, progress_file, pr_url, branch");
}

#[test]
fn what_needs_a_person_is_never_taken_by_the_engine() {
    let open = r#"{ event = "again", to = "open", by = "person", raises = ["tries"] }, { event = "close", to = "closed" }"#;
    let followed =
        small(&[("open", open), CLOSED], &budget("tired", "tries", r#"phase = "open", follow = "again""#));
    let due = small(&[("open", open), CLOSED], "").replace("outcome = \"park\"", "outcome = \"again\"");
    let question = "[[question]]\nevent = \"shown\"\nphase = \"open\"\ntext = \"Good?\"\napproves = \"again\"\nunless = \"auto_merge\"\n";
    let asked = small(&[("open", open), CLOSED], question);
    assert_snapshot!([followed, due, asked].map(|text| refused(&text)).join("\n"), @"
    `again` in `open` needs a person, but a budget, a deadline, a question or an abort takes it unasked
    `again` in `open` needs a person, but a budget, a deadline, a question or an abort takes it unasked
    `again` in `open` needs a person, but a budget, a deadline, a question or an abort takes it unasked
    ");
}

#[test]
fn a_wait_without_a_deadline_is_named_with_the_path_to_it() {
    let on = "deadline = { minutes = 5, outcome = \"park\" }\n";
    let text = bare(&[("open", r#"{ event = "go", to = "on" }"#), ("on", CLOSE), CLOSED], "");
    let text = text.replacen("activity = \"engine\"\n", &format!("activity = \"engine\"\n{on}"), 1);
    assert_snapshot!(
        refused(&text),
        @"wait without a deadline: open --go--> on; give `on` a `deadline` with `minutes` and an `outcome`"
    );
}

#[test]
fn a_final_phase_that_still_has_work_is_a_wait_too() {
    let text = bare(&[("open", CLOSE), CLOSED], "close_event = \"shipped\"\n");
    let text = text.replacen("activity", "deadline = { minutes = 5, outcome = \"park\" }\nactivity", 1);
    assert_snapshot!(
        refused(&text),
        @"wait without a deadline: open --close--> closed; give `closed` a `deadline` with `minutes` and an `outcome`"
    );
}

#[test]
fn a_deadline_needs_an_outcome_that_happens() {
    let with = |deadline: &str, rest: &str| {
        let text = bare(&[("open", CLOSE), CLOSED], rest);
        text.replacen(
            "activity",
            &format!("deadline = {{ minutes = 5, outcome = \"{deadline}\" }}\nactivity"),
            1,
        )
    };
    assert_snapshot!(
        refused(&with("nothing", "")),
        @"the deadline of `open` has the outcome `nothing`, which is no event of that phase, no budget and not `park`"
    );
    // A counter does not rise by waiting.
    let counted = "[[budget]]\nreason = \"tired\"\ncounter = \"tries\"\nlimit = 5\noutcomes = [{ redirect = \"closed\" }]\n";
    assert_snapshot!(
        refused(&with("tired", counted)),
        @"the deadline of `open` trips `tired`, which must measure `phase_minutes` with the same limit and redirect or park there"
    );
    let timed = counted.replace("counter = \"tries\"", "measure = \"phase_minutes\"");
    Workflow::parse(&with("tired", &timed)).unwrap();
}

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
    unknown field `raise`, expected one of `event`, `to`, `to_origin`, `by`, `unless`, `gate`, `evidence`, `tests`, `acts`, `raises`, `resets`, `exempt`, `reason`, `status`, `answer`, `tool`
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
    unknown variant `make_tea`, expected one of `check_prerequisites`, `select_work`, `define_chunks`, `tick_criteria`, `run_tests`, `commit`, `check_docs`, `file_report`, `take_chunk`, `run_final_tests`, `merge`, `commit_and_merge`, `summarise`, `clean_up`
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

fn counter_after(text: &str, events: &[&str], counter: &str) -> u64 {
    let workflow = Workflow::parse(text).expect("this is a workflow");
    let begun = support::begun(&workflow, Settings::default());
    let run = events.iter().fold(begun, |run, event| {
        engine::step(&workflow, &run, &support::clear(event, run.updated_at)).expect(event).run
    });
    run.counter(counter)
}

/// What the proof takes for granted about counters, the step has to keep to.
#[test]
fn a_counter_that_is_raised_with_a_renewal_is_not_renewed() {
    let open = r#"{ event = "on", to = "open", raises = ["ons"] }, { event = "close", to = "closed" }"#;
    let asked = r#"{ event = "again", to = "open", by = "person", acts = ["renew_budgets"], raises = ["ons"] }, { event = "no", to = "closed" }"#;
    let ons = budget("many_ons", "ons", r#"phase = "open", redirect = "asked""#);
    let text = small(&[("open", open), ("asked", asked), CLOSED], &ons);
    assert_eq!(counter_after(&text, &["on", "on", "again"], "ons"), 3);
    assert_eq!(
        counter_after(
            &text.replace(", raises = [\"ons\"] }, { event = \"no\"", " }, { event = \"no\""),
            &["on", "on", "again"],
            "ons"
        ),
        0
    );
}

#[test]
fn a_counter_of_a_phase_goes_on_while_the_phase_does() {
    let rows = r#"{ event = "again", to = "open", raises = ["turns"] }, { event = "on", to = "busy" }"#;
    let turns = budget("turned", "turns", r#"phase = "open", redirect = "closed""#);
    let deadline = "phase_counters = [\"turns\"]\n[deadline]\nminutes = 60\noutcome = \"park\"\n";
    let text = bare(&[("open", rows), ("busy", CLOSE), CLOSED], &format!("{deadline}{turns}"));
    assert_eq!(counter_after(&text, &["again"], "turns"), 1);
    assert_eq!(counter_after(&text, &["again", "on"], "turns"), 0);
}
