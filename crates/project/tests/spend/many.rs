//! Many at once, and one that is killed: real processes on one ledger.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
};

use project::{
    Dirs,
    spend::{AdmitError, Ledger},
};

use crate::support::{Home, MODEL, at, day_cap, spent, tags, tokens};

const STATE: &str = "SPEND_TEST_STATE";
const CAP: u64 = 4000;
/// What a request is expected to use, and what it does use.
const ESTIMATE: u64 = 30;
const USED: u64 = 70;

/// Not a test: what each of many processes does. Sends requests until it is refused, and says what it has used.
#[test]
fn spends_until_refused() {
    let Some(state) = std::env::var_os(STATE).map(PathBuf::from) else { return };
    let mut ledger = Ledger::open(&Dirs::new(state.clone(), state.join("config"))).unwrap();
    writeln!(std::io::stdout(), "used {}", spend(&mut ledger)).unwrap();
}

/// Not a test: what the process that is killed does. Books without end, and says what was taken.
#[test]
fn books_until_killed() {
    let Some(state) = std::env::var_os(STATE).map(PathBuf::from) else { return };
    let mut ledger = Ledger::open(&Dirs::new(state.clone(), state.join("config"))).unwrap();
    let mut stdout = std::io::stdout();
    let mut sum = 0;
    loop {
        let ticket =
            ledger.admit(at(16, 9), &tags("r"), &day_cap(u64::MAX), MODEL, tokens(ESTIMATE, 0)).unwrap();
        ledger.book(at(16, 9), &ticket, tokens(ESTIMATE, 1), false).unwrap();
        ledger.book(at(16, 9), &ticket, tokens(USED, 0), true).unwrap();
        sum += USED;
        writeln!(stdout, "used {sum}").unwrap();
        stdout.flush().unwrap();
    }
}

/// Sends one request after the other until the cap is reached; returns what was used.
fn spend(ledger: &mut Ledger) -> u64 {
    let (now, tags, caps) = (at(16, 9), tags("r"), day_cap(CAP));
    let mut used = 0;
    loop {
        match ledger.admit(now, &tags, &caps, MODEL, tokens(ESTIMATE, 0)) {
            Ok(ticket) => {
                ledger.book(now, &ticket, tokens(USED / 2, 0), false).unwrap();
                ledger.book(now, &ticket, tokens(USED, 0), true).unwrap();
                used += USED;
            }
            Err(AdmitError::Cap(_)) => return used,
            // The others under way hold what is left.
            Err(AdmitError::Full(_)) => thread::yield_now(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn start(home: &Home, test: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(STATE, &home.dirs.state)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn numbers(child: &mut Child) -> impl Iterator<Item = u64> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.filter_map(|line| line.strip_prefix("used ").and_then(|number| number.parse().ok()))
}

/// The cap is passed by no more than what the requests under way use beyond their estimates, and the last one.
fn assert_held(home: &Home, used: u64, at_once: u64) {
    let now = at(16, 9);
    let mut ledger = home.read();
    assert_eq!(spent(&ledger, now).tokens(), used, "what was used is what is booked");
    assert!(used >= CAP, "{used}");
    assert!(used < CAP + at_once * USED, "{used}");
    for _ in 0..3 {
        let next = ledger.admit(now, &tags("r"), &day_cap(CAP), MODEL, tokens(0, 0));
        assert!(matches!(next, Err(AdmitError::Cap(_))), "{next:?}");
    }
}

#[test]
fn twenty_processes_hold_one_cap_together() {
    let home = Home::new();
    let mut children: Vec<Child> = (0..20).map(|_| start(&home, "many::spends_until_refused")).collect();
    let used = children.iter_mut().map(|child| numbers(child).sum::<u64>()).sum();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_held(&home, used, 20);
}

#[test]
fn twenty_threads_hold_one_cap_together() {
    let home = Home::new();
    let used = thread::scope(|scope| {
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(|| spend(&mut home.ledger()))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_held(&home, used, 20);
}

#[test]
fn what_was_booked_survives_a_kill_and_what_was_under_way_counts_as_estimated() {
    let home = Home::new();
    let mut sure = 0;
    for rounds in [1, 4, 9] {
        let mut child = start(&home, "many::books_until_killed");
        let mut numbers = numbers(&mut child);
        let mut last = numbers.by_ref().nth(rounds).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said between the last line read and its end.
        last = numbers.last().unwrap_or(last);
        sure += last;
        let ledger = home.read();
        let found = spent(&ledger, at(16, 9)).tokens();
        assert!(found >= sure, "{found} of {sure}");
        assert!(found <= sure + 2 * USED, "{found} of {sure}");
        let open = ledger.books().lines().filter(|line| line.is_open).count();
        assert!(open <= 3, "{open}");
        sure = found;
    }
}
