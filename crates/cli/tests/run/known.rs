//! What an agent is told that was said, decided and learnt before: by a person, a reviewer or an earlier run.

use rustix::process::Signal;

use super::support::{Ends as _, Project};

/// Makes an agent of lines of shell, in which `has` tells whether the brief has some words.
fn agent(project: &Project, lines: &str) -> String {
    let has = "brief=$(cat)\nhas() { printf '%s' \"$brief\" | grep -qF -- \"$1\"; }\n";
    let file = project.sandbox.home().join("agent.sh");
    std::fs::write(&file, has.to_owned() + lines).unwrap();
    format!("command:sh {}", file.display())
}

#[test]
fn what_people_say_and_agents_decide_and_learn_is_in_every_later_brief_also_in_a_second_run() {
    let project = Project::new("");
    let lines = r#"
        known() { has 'use tabs, please' && has 'Shell: POSIX only'; }
        if test "$WARP_PHASE" = planning; then
            echo '{"approach":"A file for each word.","decisions":[{"title":"Shell","text":"POSIX only"}]}'
        elif has 'The criteria of this chunk: AC-01'; then
            known && has 'A file for each word.' || exit 3
            echo hello > hello.txt
            echo '{"summary":"hello","evidence":[{"ac":"AC-01","file":"hello.txt","line":1}],"lessons":[{"title":"Order","text":"one by one"}]}'
        elif has 'What earlier runs of this issue left'; then
            known && has 'Order: one by one' && has 'A file for each word.' || exit 4
            echo world > world.txt
            echo '{"summary":"world","evidence":[{"ac":"AC-02","file":"world.txt","line":1}]}'
        else
            known && has 'Order: one by one' || exit 5
            exit 6
        fi"#;
    let agent = agent(&project, lines);
    let run = |more: &[&str]| {
        let set = ["--agent", &agent, "--set", "max_acs_per_commit=1", "--set", "decision_timeout_minutes=0"];
        project.run(&[&set, more].concat())
    };
    let ended = run(&["--approve-plan"]);
    assert_eq!(ended.code, Some(5), "{}", ended.said);
    project.sandbox.warp_ok(&["tell", "1", "use tabs, please"]);
    project.sandbox.warp_ok(&["answer", &project.question().0, "approve"]);
    let ended = run(&[]);
    assert!(ended.said.contains("it failed (exit 6)"), "{}", ended.said);
    assert!(ended.said.contains("1 of its chunks was skipped"), "{}", ended.said);
    let ended = run(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert_eq!(project.sandbox.git(&["show", "main:world.txt"]), "world");
}

#[test]
fn after_a_kill_and_after_a_stop_the_next_brief_has_what_people_said_and_agents_decided_and_learnt() {
    for is_killed in [true, false] {
        let project = Project::new("");
        let first = r#"
            if test "$WARP_PHASE" = planning; then
                echo '{"approach":"A file for each word.","decisions":[{"title":"Shell","text":"POSIX only"}]}'
            elif has 'The criteria of this chunk: AC-01'; then
                echo hello > hello.txt
                echo '{"summary":"hello","evidence":[{"ac":"AC-01","file":"hello.txt","line":1}],"lessons":[{"title":"Order","text":"one by one"}]}'
            else
                exec tail -f /dev/null
            fi"#;
        let set = ["--set", "max_acs_per_commit=1", "--set", "decision_timeout_minutes=0"];
        let first = agent(&project, first);
        let asked = project.run(&[&set[..], &["--agent", &first, "--approve-plan"]].concat());
        assert_eq!(asked.code, Some(5), "{}", asked.said);
        project.sandbox.warp_ok(&["answer", &project.question().0, "approve"]);
        let mut running = project.start(&[&set[..], &["--agent", &first]].concat());
        running.until("chunk 2 of 2");
        project.sandbox.warp_ok(&["tell", "1", "use tabs, please"]);
        if is_killed {
            running.signal(Signal::KILL);
        } else {
            project.sandbox.warp_ok(&["stop", "1"]);
        }
        running.end();
        let second = r#"
            if has 'every criterion is met'; then echo '{"unmet":[]}'; exit; fi
            for words in 'use tabs, please' 'Shell: POSIX only' 'Order: one by one' 'A file for each word.'; do
                has "$words" || { echo "$words is missing" >&2; exit 3; }
            done
            echo world > world.txt
            echo '{"summary":"world","evidence":[{"ac":"AC-02","file":"world.txt","line":1}]}'"#;
        let ended = project.run(&[&set[..], &["--agent", &agent(&project, second)]].concat());
        assert_eq!(ended.code, Some(0), "killed: {is_killed}: {}", ended.said);
        assert_eq!(project.sandbox.git(&["show", "main:world.txt"]), "world");
    }
}

#[test]
fn an_askers_default_is_taken_when_nobody_answers_and_the_next_brief_says_so() {
    let project = Project::new("");
    let lines = r#"
        if has 'Decided: good day'; then
            printf 'good day\nworld\n' > greeting.txt
            echo '{"summary":"x","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}'
        else
            echo '{"question":{"kind":"ambiguity","text":"Which greeting?","options":["hello","good day"],"default":"good day"}}'
        fi"#;
    let set = ["--set", "on_timeout=default", "--set", "decision_timeout_minutes=0"];
    project.run(&[&set[..], &["--agent", &agent(&project, lines)]].concat()).ends(0);
    assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "good day\nworld");
    let todo = project.sandbox.warp_ok(&["issue", "show", "2"]);
    assert!(todo.contains("Which greeting?") && todo.contains("default `good day` was taken"), "{todo}");
}

#[test]
fn a_coder_has_the_plan_and_a_second_review_the_points_of_the_first_and_their_answers() {
    let project = Project::new("");
    let lines = r#"
        event() { printf '{"event":"%s","data":{"%s":"%s"}}\n' "$1" "$2" "$3"; exit 0; }
        plan='Write greeting.txt by hand.'
        case $WARP_PHASE in
        PLANNING) has 'say which words' && has "$plan" && event submit_plan plan "$plan It says hello, world."
            event submit_plan plan "$plan" ;;
        PLAN_REVIEW) has 'say which words' && has 'It says hello, world.' && event approve feedback fine
            event changes feedback '1. say which words' ;;
        CODING) has 'It says hello, world.' || exit 3
            printf 'hello\nworld\n' > greeting.txt; event code_complete summary 'two words' ;;
        CODE_REVIEW) has 'It says hello, world.' && has '`git diff ' || exit 4
            if has 'line 1 lacks a comma'; then has '1. the comma is there' || exit 5; event approve feedback fine; fi
            event changes feedback '1. line 1 lacks a comma' ;;
        FIXING) has 'line 1 lacks a comma' || exit 6
            printf 'hello,\nworld\n' > greeting.txt; event fix_done summary '1. the comma is there' ;;
        esac"#;
    let agent = agent(&project, lines);
    let ended = project.run(&["--workflow", "coder", "--agent", &agent]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert_eq!(project.sandbox.git(&["show", "main:greeting.txt"]), "hello,\nworld");
}

#[test]
fn failed_tests_are_told_by_name_and_their_whole_output_can_be_read() {
    let project = Project::new("");
    let test = "echo 1..2\necho 'ok 1 - says hello'\n\
        test ! -e broken || { echo 'not ok 2 - is whole'; exit 1; }\necho 'ok 2 - is whole'\n";
    project.sandbox.write("test.sh", test);
    project.sandbox.git(&["commit", "--quiet", "--all", "-m", "test: names"]);
    let lines = r#"
        printf 'hello\nworld\n' > greeting.txt
        if has '## What failed'; then
            has 'Failing, and not at the base:' && has '- is whole' || exit 3
            printf '%s' "$brief" | grep -q '^ok 1' && exit 4
            log=$(printf '%s' "$brief" | sed -n 's/.*Whole output: `\([^`]*\)`.*/\1/p')
            grep -q '^ok 1 - says hello' "$log" || exit 5
            rm broken
        else
            touch broken
        fi
        echo '{"summary":"x","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}'"#;
    let ended = project.run(&["--agent", &agent(&project, lines)]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert_eq!((project.count("tests_failed"), project.count("turn_started")), (1, 2));
}
