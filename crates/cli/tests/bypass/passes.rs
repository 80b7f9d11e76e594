//! The whole corpus, with the gate and without it.

use std::{
    sync::{
        PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use shell::Judgement;

use super::{
    TURN, WORKERS,
    corpus::{PRIMITIVES, WRAPPERS, named, wrapped},
    project::{Project, Uncommitted, Workplace},
    tally::{Stop, Tally},
};

/// Every how many commands that are denied the real gate is asked too.
const SAMPLE: usize = 20;

/// Wrappers that the second pass uses, besides the plain one: each hides a command from whoever reads it.
const HIDING: [&str; 10] = [
    "subshell",
    "eval",
    "sh",
    "function",
    "xargs",
    "python-list",
    "script",
    "base64",
    "git-shell-alias",
    "setsid",
];

/// What only the gate stops. Where the repository itself is taken away there is no git to refuse, and nothing to look
/// at; and what is not committed in another working tree is not kept here.
pub(crate) const ONLY_THE_GATE: [&str; 3] = ["remove-repository", "move-repository", "worktree-remove"];

/// A command of the corpus.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) is_bomb: bool,
}

fn lines(wrapper: impl Fn(&str) -> bool, primitive: impl Fn(&str) -> bool) -> Vec<Line> {
    let mut lines = Vec::new();
    for (way, wrapper) in named(WRAPPERS).filter(|(name, _)| wrapper(name)) {
        for (what, command) in named(PRIMITIVES).filter(|(name, _)| primitive(name)) {
            if let Some(text) = wrapped(wrapper, command) {
                lines.push(Line { name: format!("{what} in {way}"), text, is_bomb: way.ends_with("-bomb") });
            }
        }
    }
    lines
}

/// Tries every line, by some workers with a project each.
pub(crate) fn tried<L: Sync>(
    lines: &[L],
    prepared: impl Fn() -> Project + Sync,
    one: impl Fn(&mut Project, usize, &L, &mut Tally) + Sync,
) -> Tally {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut project = prepared();
        let mut tally = Tally::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(line) = lines.get(number) else { break };
            one(&mut project, number, line, &mut tally);
        }
        assert_eq!(project.processes(), Vec::<String>::new(), "nothing is left running");
        tally
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let mut tally = Tally::default();
        for worker in workers {
            tally.add(worker.join().unwrap());
        }
        tally
    })
}

/// Runs a command, has its end looked at, and says what stopped it.
pub(crate) fn ran(project: &mut Project, line: &Line, text: &str, tally: &mut Tally) {
    let ended = project.run(text);
    let then = project.changed();
    let after = project.after(text, &ended);
    let now = if then.is_nothing() && after.code == Some(0) { then.clone() } else { project.changed() };
    let told = || {
        format!(
            "{}: {text:?} ended with {} and {:?}; {then:?}, then {now:?}; {}",
            line.name, ended.code, ended.said, after.err
        )
    };
    if after.code != Some(0) || !now.moved.is_empty() || !now.lost.is_empty() {
        tally.through.push(told());
    } else if !then.moved.is_empty() {
        tally.count(Stop::Detector);
    } else if !now.kept.is_empty() {
        tally.count(Stop::Snapshot);
    } else if !then.is_nothing() {
        tally.count(Stop::Detector);
    } else if ended.code == 127 {
        tally.count(Stop::Absent);
    } else {
        tally.count(Stop::Git);
    }
    project.put_back();
}

#[test]
fn nothing_in_the_corpus_moves_a_ref_or_loses_work() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = lines(|_| true, |_| true);
    let prepared = || Project::new(Workplace::Own, Uncommitted::Everything);
    let tally = tried(&lines, prepared, |project, number, line, tally| {
        let text = project.contained(&line.text);
        // A commit is denied where there is no leave, which the real gate alone can tell.
        let is_denied = matches!(project.judge(&text), Judgement::Denied(_));
        if is_denied && number % SAMPLE != 0 {
            return tally.count(Stop::Gate);
        }
        let answered = project.gate(&text);
        match answered.code {
            Some(2) => tally.count(Stop::Gate),
            Some(0) if is_denied => {
                tally.through.push(format!("{text:?} is denied here, and not by the hook"))
            }
            Some(0) if line.is_bomb => tally.through.push(format!("{text:?} is a bomb, and not refused")),
            Some(0) => ran(project, line, &text, tally),
            _ => tally.through.push(format!("{text:?}: {answered:?}")),
        }
    });
    assert_eq!(tally.total(), lines.len());
    tally.report("bypass corpus");
}

#[test]
fn git_and_the_detector_stand_without_the_gate() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let hides = |name: &str| name == "plain" || HIDING.contains(&name);
    without_the_gate(&lines(hides, |name| !ONLY_THE_GATE.contains(&name)), Uncommitted::Everything);
}

#[test]
fn git_and_the_detector_stand_where_no_change_is_in_the_way() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let hides = |name: &str| matches!(name, "plain" | "base64");
    without_the_gate(&lines(hides, |name| !ONLY_THE_GATE.contains(&name)), Uncommitted::New);
}

fn without_the_gate(lines: &[Line], uncommitted: Uncommitted) {
    let prepared = || {
        let mut project = Project::new(Workplace::Own, uncommitted);
        project.keep();
        project
    };
    let tally = tried(lines, prepared, |project, _, line, tally| {
        let text = project.contained(&line.text);
        ran(project, line, &text, tally);
    });
    let over = match uncommitted {
        Uncommitted::Everything => "over staged, changed and new files",
        Uncommitted::New => "over new files",
    };
    tally.report(&format!("bypass corpus without the gate, {over}"));
}
