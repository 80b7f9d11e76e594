//! Agents that warp starts: turns, questions, chunks that are put off, a person's word.

use engine::Conversation;
use insta::assert_snapshot;

use crate::script::{play, play_to};

#[test]
fn a_turn_that_never_ended_is_replaced_by_the_next_attempt() {
    let (run, lines) = play_to("@coding, turn claude, turn claude, turned s1, turned s1");
    assert_snapshot!(lines, @"
    turn claude: coding
    turn claude: coding
    turned s1: coding
    turned s1: refused: `turn_ended` is refused: no turn of an agent is under way
    ");
    assert_eq!(run.effect.as_ref().map(|effect| effect.attempt), Some(2));
    assert_eq!(run.conversation.map(|conversation| conversation.session).as_deref(), Some("s1"));
    assert_eq!(run.usage.tokens(), 11);
}

#[test]
fn a_conversation_is_known_before_its_first_turn_has_ended() {
    let (run, lines) = play_to("@coding, converse s0, turn claude, converse s1");
    assert_snapshot!(lines, @"
    converse s0: refused: `conversation_begun` is refused: no turn of an agent is under way
    turn claude: coding
    converse s1: coding
    ");
    let conversation = run.conversation.unwrap();
    assert_eq!((conversation.session.as_str(), conversation.brief.len()), ("s1", 0), "it may lack the brief");
    let (run, _) = play_to("@coding, turn claude, converse s1, turned s1");
    assert_eq!(run.conversation.unwrap().brief, ["a digest"]);
}

#[test]
fn a_conversation_goes_on_to_the_next_phase_while_it_is_neither_too_full_nor_too_old() {
    let (run, _) = play_to("@coding, turn claude, turned s1");
    let conversation = run.conversation.clone().unwrap();
    let used = conversation.used_at.unwrap();
    let holding = |tokens| Conversation { tokens, ..conversation.clone() };
    let late = used.plus_minutes(6);
    assert!(holding(900_000).is_worth_resuming(&run, late), "the phase and the chunk are the same");
    let mut run = run;
    run.chunk.index += 1;
    for (tokens, at, is_worth) in [
        (60_000, used, true),
        (60_001, used, false),
        (15_000, late, true),
        (15_001, late, false),
        // How full it is nobody knows.
        (0, used, false),
    ] {
        assert_eq!(holding(tokens).is_worth_resuming(&run, at), is_worth, "{tokens} at {at}");
    }
}

#[test]
fn a_role_finds_its_conversation_again_after_another_role() {
    let sessions = |script: &str| -> Vec<String> {
        let (run, _) = play_to(&format!("autonomous-loop: {script}"));
        run.conversations().map(|conversation| conversation.session.clone()).collect()
    };
    let reviewed =
        "@plan, turn claude, turned s1, @work, turn claude, turned s2, @review, turn claude, turned s3";
    assert_eq!(sessions(reviewed), ["s3", "s1", "s2"], "the latest, and those of other roles");
    let fixed = format!("{reviewed}, @fix, turn claude, turned s2");
    assert_eq!(sessions(&fixed), ["s2", "s1", "s3"]);
    assert_eq!(
        sessions(&format!("{reviewed}, @fix, turn claude, turned s4")),
        ["s4", "s1", "s3"],
        "a new one"
    );
}

#[test]
fn an_outcome_of_a_replaced_turn_is_refused() {
    assert_snapshot!(play("@coding, turn claude, turn claude, agent code_complete effect=e4 attempt=1"), @"
    turn claude: coding
    turn claude: coding
    agent code_complete effect=e4 attempt=1: refused: outcome of attempt 1 of `e4` is refused: `e4` is at attempt 2
    ");
}

#[test]
fn what_a_person_says_is_kept_until_a_turn_has_heard_it() {
    let (run, _) = play_to("@coding, tell use the old parser, turn claude, tell and no regex");
    assert_eq!(run.told, ["use the old parser", "and no regex"]);
    let (run, _) = play_to("@coding, tell use the old parser, turn claude, tell and no regex, turned s1");
    assert_eq!(run.told, ["and no regex"]);
    assert_snapshot!(play("@coding, agent tell do it my way, tell  "), @"
    agent tell do it my way: refused: `told` is refused in `coding`: it needs a person; tell them, and wait
    tell: refused: `text` must say something
    ");
}

#[test]
fn a_question_parks_the_run_until_it_is_answered() {
    assert_snapshot!(play("@coding, engine question add a dependency?, code_complete, answer yes, question again?, answer abort"), @"
    engine question add a dependency?: coding, parked on r1.5: add a dependency?
    code_complete: refused: `code_complete` is refused: the run waits for decision r1.5: add a dependency? (yes, no, skip, abort)
    answer yes: coding
    question again?: coding, parked on r1.7: again?
    answer abort, then abort: aborted e9
    ");
}

#[test]
fn a_question_that_nobody_answers_puts_its_chunk_off() {
    assert_snapshot!(
        play("@chunking, chunks_defined acs=[[\"AC-01\"],[\"AC-02\"]], engine defer, engine question which one?, engine defer,
            +10m, engine defer, engine question and here?, +11m, engine defer"),
        @r#"
    chunks_defined acs=[["AC-01"],["AC-02"]]: coding e4
    engine defer: refused: `chunk_deferred` is refused: no question is open
    engine question which one?: coding, parked on r1.5: which one?
    engine defer: refused: `chunk_deferred` is refused: the question can be answered until 2026-05-08T16:06:59.401Z
    engine defer: coding e6
    engine question and here?: coding, parked on r1.7: and here?
    engine defer: session_ending e8
    "#
    );
}

#[test]
fn what_was_done_before_a_chunk_was_put_off_is_still_finished() {
    let (run, lines) = play_to(
        "@chunking, chunks_defined acs=[[\"AC-01\"],[\"AC-02\"]], @chunk_complete, next_chunk,
        engine question which one?, answer skip",
    );
    assert_snapshot!(lines, @r#"
    chunks_defined acs=[["AC-01"],["AC-02"]]: coding e4
    next_chunk: coding [total_chunks 1] e10
    engine question which one?: coding, parked on r1.11: which one? [total_chunks 1]
    answer skip: requirement_complete [total_chunks 1] e12
    "#);
    assert_eq!(run.deferred.iter().map(|chunk| chunk.index).collect::<Vec<_>>(), [2]);
}

#[test]
fn a_phase_that_is_a_persons_is_answered_in_their_words() {
    assert_snapshot!(play("@awaiting_continue, answer maybe, agent answer yes, answer yes"), @"
    answer maybe: refused: `option` must be one of yes, no
    agent answer yes: refused: `decision_answered` is refused in `awaiting_continue`: it needs a person; tell them, and wait
    answer yes: discovering [total_chunks 1] e13
    ");
    assert_snapshot!(play("warp-drive max_coding_cycles=0: @testing, tests_failed, answer continue"), @"
    tests_failed: budget_exceeded, redirected by coding_cycles_exceeded [coding_cycles 1, retry_count 1] e7
    answer continue: coding [retry_count 1] e8
    ");
    assert_snapshot!(play("warp-drive max_coding_cycles=0: @testing, tests_failed, answer abort"), @"
    tests_failed: budget_exceeded, redirected by coding_cycles_exceeded [coding_cycles 1, retry_count 1] e7
    answer abort: aborted [coding_cycles 1, retry_count 1] e8
    ");
}
