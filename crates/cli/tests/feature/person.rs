//! What a person decides on the way.

use testkit::Said;

use super::support::{FEATURE, PLAN, Project, TESTS, said};
use crate::support::{Ends as _, InProject as _};

#[test]
fn a_person_looks_at_the_tests_and_what_they_do_not_like_comes_back() {
    let project = Project::new();
    project.otherwise(
        r#"if test "$WARP_PHASE" = spec_test && grep -q 'greet somebody by name' .agent/prompt-spec_test-$n; then
            put $tests './greet Ann | grep -q Ann'; answer "{\"artifact\":\"$tests\",\"summary\":\"by name\"}"
        fi
        if test "$WARP_PHASE" = work; then
            put greet '#!/bin/sh
echo "hello $1"'; chmod +x greet; answer '{"summary":"it greets"}'
        fi"#,
    );
    let said = project.run(&["--skip-brainstorm"]).ends(5);
    let asks =
        format!("The acceptance tests are written, and they fail. Do they say what is wanted? ({TESTS})");
    assert!(said.err.contains(&asks) && said.err.contains(" reject\n"), "{said:?}");
    assert_eq!(project.question().1, asks);
    project.answer("reject", &["--note", "greet somebody by name"]);
    // The same words go on with the same run.
    let said = project.run(&[]).ends(5);
    assert!(said.out.contains("resumes in `spec_test`"), "{said:?}");
    assert_eq!(project.question().1, asks);
    project.answer("approve", &[]);
    project.run(&[]).ends(0);
    project.is_shipped();
    let tests = project.sandbox.git(&["show", &format!("feature/add-a-greeting:{TESTS}")]);
    assert_eq!(tests, "./greet Ann | grep -q Ann");
    let subjects = project.sandbox.git(&["log", "--format=%s", "main..feature/add-a-greeting"]);
    assert_eq!(subjects.matches("test: acceptance tests").count(), 2, "they were committed again");
}

/// An agent that changes the plan and the tests in its first turns at the work.
const LOUD: &str = r#"case $WARP_PHASE$n in work[12])
        put $plan '# A loud greeting'; put $tests './greet | grep -q HELLO'
        put greet '#!/bin/sh
echo HELLO'; chmod +x greet; answer '{"summary":"the plan was wrong: it has to be loud"}' ;; esac"#;

#[test]
fn who_stops_at_changed_tests_is_asked_again_and_who_rejects_them_gets_the_others_back() {
    let project = Project::new();
    project.otherwise(LOUD);
    project.run(&["--skip-brainstorm"]).ends(5);
    project.answer("approve", &[]);
    project.run(&[]).ends(5);
    let (first, question) = project.question();
    project.answer("stop", &[]);
    project.run(&[]).ends(5);
    assert_eq!(project.question().1, question, "it is asked again");
    assert_ne!(project.question().0, first);
    assert_eq!(project.phases().last().unwrap(), "work");

    project.answer("reject", &["--note", "it has to be said quietly"]);
    let said = project.run(&[]).ends(0);
    assert!(
        said.out.contains(&format!("the acceptance tests are frozen: {TESTS} was put back")),
        "before the agent continues: {said:?}"
    );
    let prompt = project.prompt("work", 3);
    assert!(prompt.contains("rejected by a person: it has to be said quietly"), "{prompt}");
    project.is_shipped();
    let shown = |file: &str| project.sandbox.git(&["show", &format!("feature/add-a-greeting:{file}")]);
    assert_eq!(shown(TESTS), "./greet | grep -q hello");
    assert_eq!(shown("greet"), "#!/bin/sh\necho hello");
    let turns = project.log().into_iter().filter(|row| row["event"] == "turn_finished");
    assert_eq!(turns.count(), 0, "no turn came to nothing");
}

#[test]
fn tests_that_change_with_the_plan_are_looked_at_again() {
    let project = Project::new();
    project.otherwise(LOUD);
    project.run(&["--skip-brainstorm"]).ends(5);
    project.answer("approve", &[]);
    project.run(&[]).ends(5);
    let (_, question) = project.question();
    assert_eq!(
        question,
        "The plan and the acceptance tests were changed in `work`. Do they still say what is wanted?"
    );
    project.answer("approve", &[]);
    project.run(&[]).ends(0);
    project.is_shipped();
    let turns =
        project.log().into_iter().filter(|row| row["event"] == "turn_started" && row["phase"] == "work");
    assert_eq!(turns.count(), 1, "the work is not asked for again");
    assert_eq!(
        project.sandbox.git(&["show", &format!("feature/add-a-greeting:{PLAN}")]),
        "# A loud greeting"
    );
}

#[test]
fn an_agents_question_is_answered_and_told() {
    let project = Project::new();
    project.otherwise(
        r#"if test "$WARP_PHASE" = plan && ! grep -q 'Decided: yes (in German)' .agent/prompt-plan-$n; then
            answer '{"artifact":"","summary":"","question":{"kind":"scope","text":"Other languages too?"}}'
        fi"#,
    );
    let said = project.run_alone(&[]);
    // The schema wants a summary, so this answer is asked for once more, and is then a question.
    assert_eq!(said.code, Some(5), "{said:?}");
    assert_eq!(project.question().1, "Other languages too?");
    project.answer("yes", &["--note", "in German"]);
    project.run(&[]).ends(0);
    project.is_shipped();
}

#[test]
fn a_loop_that_was_stopped_goes_on_by_its_words() {
    let project = Project::new();
    project.run(&["--skip-brainstorm"]).ends(5);
    project.answer("stop", &[]);
    project.run(&[]).ends(5);
    project.answer("approve", &[]);
    let said = project.sandbox.warp(&["status"]);
    assert!(said.out.contains(FEATURE), "{said:?}");
    project.run(&[]).ends(0);
    project.is_shipped();
}

#[test]
fn a_loop_that_was_stopped_goes_on_by_its_name_as_it_says_itself() {
    let project = Project::new();
    project.run(&["--skip-brainstorm"]).ends(5);
    let (asked, _) = project.question();
    let run = asked.split('.').next().unwrap();
    let said = project.sandbox.warp(&["explain"]);
    assert!(said.out.contains(&format!("once it is answered: `warp answer {asked} ")), "{said:?}");
    let said = project.sandbox.warp(&["stop"]);
    assert!(said.err.contains(&format!("`warp run {run}` resumes it")), "{said:?}");
    let refused = said_by(&project, &[run, "--set", "max_fix_cycles=x"]);
    assert_eq!(refused.code, Some(78), "what counts for nothing may not be wrong either: {refused:?}");
    let goes_on = said_by(&project, &[run]).ends(5);
    assert!(goes_on.out.contains(&format!("run {run} resumes")), "{goes_on:?}");
}

#[test]
fn a_feature_is_described_in_words() {
    let project = Project::new();
    let needs = "`autonomous-loop` needs a feature, described in words";
    let quotes = "`warp run --workflow autonomous-loop \"Add greeting\"`";
    let cases: [(&[&str], &str); 4] =
        [(&[], needs), (&[" "], needs), (&["7"], needs), (&["Add", "greeting"], quotes)];
    for (words, error) in cases {
        let refused = said_by(&project, &[&["--workflow", "autonomous-loop"], words].concat()).ends(64);
        assert!(refused.err.contains(error), "{refused:?}");
    }
    let refused = project.run(&["--level", "9"]);
    insta::assert_snapshot!(project.sandbox.stable(&refused.err), @"
    error: Automation level must be 1 or 2 or 3
    hint: run `/automation level 2` inside Claude Code first, or give `--level 2`
    ");
    assert_eq!(project.sandbox.warp(&["status"]).code, Some(2), "nothing was begun");
}

fn said_by(project: &Project, arguments: &[&str]) -> Said {
    said(project.command_of(arguments))
}
