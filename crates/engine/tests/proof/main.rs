//! What a workflow is refused for: one fault each, named with the path that shows it.

mod faults;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

use engine::{
    Settings, Workflow,
    workflow::{BUILT_IN, Proof},
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

/// Returns where an event leads from a phase of the loop.
fn next(workflow: &Workflow, phase: &str, event: &str) -> String {
    let phase = phase.into();
    let row = workflow.row(&phase, event).expect("there is such a row");
    workflow.targets(&phase, row)[0].to_string()
}

#[test]
fn a_setting_sends_rows_elsewhere_and_each_way_is_proved() {
    let deepening = support::settings([("deepen_first", serde_json::json!(true))]);
    let built_in = Arc::new(Workflow::built_in("autonomous-loop").unwrap());
    let steps = [("plan", "plan_written"), ("spec_test", "tests_approved"), ("deepen", "plan_deepened")];
    let ways = [Settings::default(), deepening].map(|settings| {
        let workflow = Arc::clone(&built_in).under(&settings);
        steps.map(|(phase, event)| next(&workflow, phase, event)).join(" ")
    });
    assert_eq!(ways, ["spec_test deepen work", "deepen work spec_test"]);

    let circle = small(
        &[
            ("open", r#"{ event = "go", to = "busy" }"#),
            (
                "busy",
                r#"{ event = "done", to = "closed", to_when = { setting = "deepen_first", phase = "open" } }"#,
            ),
            CLOSED,
        ],
        "",
    );
    assert!(refused(&circle).contains("busy --done--> open"), "{}", refused(&circle));
    let nowhere = circle.replace(r#"phase = "open""#, r#"phase = "nowhere""#);
    assert!(refused(&nowhere).contains("unknown phase `nowhere`"), "{}", refused(&nowhere));
}
