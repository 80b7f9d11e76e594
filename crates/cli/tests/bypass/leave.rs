//! With leave only an ordinary commit passes; and in a person's own checkout nothing is put back, the run waits for a word.

use std::{sync::PoisonError, thread};

use engine::Standing;

use super::{
    TURN,
    corpus::{PRIMITIVES, named},
    passes::ONLY_THE_GATE,
    project::{Project, Uncommitted, Workplace, moves},
    tally::say,
};

/// Ordinary commits, whatever they are called by: they have leave in `committing`, even past git's hooks.
const ORDINARY: [&str; 6] =
    ["commit", "commit-empty", "commit-no-verify", "commit-no-verify-short", "hooks-path-once", "git-dir"];
/// Of those, the ones that the gate lets through where a commit has leave.
const PERMITTED: [&str; 2] = ["commit", "commit-empty"];

#[test]
fn with_leave_an_ordinary_commit_passes_and_nothing_else() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut project = Project::new(Workplace::Own, Uncommitted::Everything);
    project.go_to_committing();

    let text = "git commit --quiet -m 'feat: change'";
    let head = project.git(&["rev-parse", "main"]);
    assert_eq!(project.gate(text).code, Some(0));
    let ended = project.run(text);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert_eq!(project.after(text, &ended).code, Some(0));
    assert_eq!(project.git(&["rev-parse", "main~1"]), head, "the commit stays");
    assert_eq!(project.git(&["show", "main:tracked.txt"]), "staged");
    assert_eq!(project.phase(), "reporting", "the run was told");
    project.put_back();

    project.keep();
    let (mut denied, mut run) = (0, 0);
    for (name, text) in named(PRIMITIVES) {
        let answered = project.gate(text);
        let expected = if PERMITTED.contains(&name) { 0 } else { 2 };
        assert_eq!(answered.code, Some(expected), "{name}: {answered:?}");
        denied += usize::from(expected == 2);
        if ONLY_THE_GATE.contains(&name) {
            continue;
        }
        // Without the gate.
        let before = project.refs().unwrap();
        let ended = project.run(text);
        let answered = project.after(text, &ended);
        assert_eq!(answered.code, Some(0), "{name}: {answered:?}");
        let changed = project.changed();
        assert!(changed.lost.is_empty(), "{name}: {changed:?}");
        let moved = project.moved_from(&before).unwrap();
        if ORDINARY.contains(&name) && !moved.is_empty() {
            let on_top = project.git(&["rev-list", "--parents", "--max-count=1", "main"]);
            let old = before.refs["refs/heads/main"].clone();
            assert!(on_top.ends_with(&format!(" {old}")) && moved.len() == 1, "{name}: {moved:?}");
        } else {
            assert!(moved.is_empty(), "{name}: {moved:?}; {ended:?}");
        }
        run += 1;
        project.put_back();
    }
    assert_eq!(project.processes(), Vec::<String>::new());
    say(&format!(
        "bypass corpus with leave to commit: {denied} denied by the gate; {run} run without it: ordinary commits stay, the rest does not"
    ));
}

#[test]
fn in_a_persons_checkout_a_violation_holds_the_run_and_nothing_is_put_back() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    thread::scope(|scope| {
        for uncommitted in [Uncommitted::Everything, Uncommitted::New] {
            scope.spawn(move || in_a_persons_checkout(uncommitted));
        }
    });
}

fn in_a_persons_checkout(uncommitted: Uncommitted) {
    let mut project = Project::new(Workplace::Persons, uncommitted);
    project.keep();
    let before = project.refs().unwrap();
    let mut held = Vec::new();
    let mut total = 0;
    for (name, text) in named(PRIMITIVES).filter(|(name, _)| !ONLY_THE_GATE.contains(name)) {
        let ended = project.run(text);
        let then = project.refs();
        let answered = project.after(text, &ended);
        assert_eq!(answered.code, Some(0), "{name}: {answered:?}");
        // A HEAD that is broken is no ref that could have been moved.
        match &then {
            Some(then) => assert_eq!(project.refs().as_ref(), Some(then), "{name}: nothing is put back"),
            // Git saw no repository any more: it was put back from its copy.
            None => assert_eq!(project.refs().as_ref(), Some(&before), "{name}"),
        }
        let lost = project.changed().lost;
        assert!(lost.is_empty() || then.is_none(), "{name}: {lost:?}; {ended:?}");
        let moved = then.as_ref().map(|then| moves(&before, then));
        let is_held = project.standing() != Standing::Active;
        let is_dropped_stash = name.starts_with("stash-") || name == "reflog-expire";
        // Git tells nobody of a stash that is dropped, so it may have been the person.
        if !is_dropped_stash {
            assert_eq!(
                is_held,
                moved.is_some() && moved != Some(Vec::new()),
                "{name}: {moved:?}; {ended:?}; {answered:?}"
            );
        }
        if is_held {
            held.push(name);
        }
        total += 1;
        project.put_back();
    }
    // Without a change there is nothing to commit.
    let expected = if uncommitted == Uncommitted::Everything { "hooks-path-once" } else { "write-ref" };
    assert!(held.contains(&expected), "{held:?}");
    assert_eq!(project.processes(), Vec::<String>::new());
    say(&format!(
        "bypass corpus in a person's checkout, without the gate: {total} commands: {} held the run up, nothing was put back",
        held.len()
    ));
}
