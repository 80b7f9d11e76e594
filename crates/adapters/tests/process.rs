//! Programs that do not want to end, end; and nothing of them is left.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::{fs, path::Path, process::Command, sync::mpsc, time::Duration};

use adapters::process::{
    Control, End, Environment, Job, Limits, ProgramEvent, ProgramResult, Signal, SignalTarget, converse,
    end_leftovers, follow, has_cgroups,
};
use testkit::{
    agents::skip,
    processes::{is_running, mark},
};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);
const LADDER: &[(Signal, Duration)] = &[(Signal::INT, SHORT), (Signal::TERM, SHORT)];

fn job<'a>(script: &str, limits: Limits, mark: &'a str) -> Job<'a> {
    Job {
        program: "sh".into(),
        arguments: vec!["-c".into(), script.into()],
        directory: Path::new("/"),
        environment: Environment::Exactly(vec![("PATH".into(), std::env::var_os("PATH").unwrap())]),
        input: Vec::new(),
        limits,
        ladder: LADDER,
        reach: SignalTarget::Group,
        mark,
    }
}

fn sh(script: &str, limits: Limits) -> ProgramResult {
    follow(job(script, limits, "test"), &mut |_| Control::On).unwrap()
}

fn limits(whole: Duration, silence: Duration) -> Limits {
    Limits { whole, silence }
}

#[test]
fn lines_are_seen_while_the_program_runs_and_input_is_fed() {
    let mut seen = Vec::new();
    let fed = Job {
        input: b"one\ntwo\n".to_vec(),
        ..job("cat; echo wrong >&2; exit 3", limits(LONG, LONG), "test")
    };
    let followed = follow(fed, &mut |line| {
        match line {
            ProgramEvent::Out(line) => seen.push(format!("out {line}")),
            ProgramEvent::Err(line) => seen.push(format!("err {line}")),
            ProgramEvent::Tick { .. } => {}
        }
        Control::On
    })
    .unwrap();
    assert_eq!(followed.end, End::Exit(3));
    seen.sort();
    assert_eq!(seen, ["err wrong", "out one", "out two"]);
    assert_eq!(followed.stdout, b"one\ntwo\n");
}

#[test]
fn a_program_is_answered_while_it_runs_and_its_input_ends_when_nobody_speaks() {
    let (say, more) = mpsc::channel();
    let mut say = Some(say);
    let script = "echo name?; read name; echo hello $name; cat; echo end";
    let followed = converse(job(script, limits(LONG, LONG), "test"), Some(more), &mut |line| {
        match line {
            ProgramEvent::Out("name?") => say.as_ref().unwrap().send(b"warp\n".to_vec()).unwrap(),
            ProgramEvent::Out("hello warp") => say = None,
            ProgramEvent::Out(_) | ProgramEvent::Err(_) | ProgramEvent::Tick { .. } => {}
        }
        Control::On
    })
    .unwrap();
    assert_eq!((followed.end, followed.stdout.as_slice()), (End::Exit(0), &b"name?\nhello warp\nend\n"[..]));
}

#[test]
fn the_environment_is_exactly_what_was_given() {
    let followed = sh("echo [$HOME] [$WARP_CHILD]", limits(LONG, LONG));
    let text = String::from_utf8(followed.stdout).unwrap();
    assert!(text.starts_with("[] [test."), "{text}");
}

/// Runs a program that says `ready`, and asks it to end then.
fn stopped(script: &str, ladder: &[(Signal, Duration)]) -> ProgramResult {
    let job = Job { ladder, ..job(script, limits(LONG, LONG), "test") };
    follow(job, &mut |seen| if seen == ProgramEvent::Out("ready") { Control::Stop } else { Control::On })
        .unwrap()
}

#[test]
fn a_program_that_hangs_is_ended_when_its_time_is_up() {
    assert_eq!(sh("sleep 600", limits(SHORT, LONG)).end, End::TimedOut(SHORT));
}

#[test]
fn a_program_that_hears_no_signal_is_killed() {
    let followed = stopped("trap '' INT TERM; echo ready; while :; do sleep 0.05; done", LADDER);
    assert_eq!(followed.end, End::Stopped);
}

#[test]
fn a_program_that_obeys_the_first_signal_gets_no_second() {
    let followed = stopped(
        "trap 'echo bye; exit 0' INT; trap 'echo worse; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
        &[(Signal::INT, LONG), (Signal::TERM, LONG)],
    );
    assert_eq!((followed.end, followed.stdout), (End::Stopped, b"ready\nbye\n".to_vec()));
}

#[test]
fn silence_ends_a_program_and_a_sign_of_life_without_a_line_does_not() {
    let silent = sh("echo begin; sleep 600", limits(LONG, SHORT));
    assert_eq!(silent.end, End::Silent(SHORT));
    let dots = sh(
        "for i in 1 2 3 4 5 6 7 8; do printf .; sleep 0.1; done",
        limits(LONG, Duration::from_millis(700)),
    );
    assert_eq!(dots.end, End::Exit(0));
}

#[test]
fn whoever_watches_can_stop_it() {
    let watched = &mut |seen: ProgramEvent<'_>| {
        if seen == ProgramEvent::Out("enough") { Control::Stop } else { Control::On }
    };
    let followed = follow(job("echo enough; sleep 600", limits(LONG, LONG), "test"), watched).unwrap();
    assert_eq!(followed.end, End::Stopped);
    let mut ticks = 0;
    let ticking = &mut |seen: ProgramEvent<'_>| {
        ticks += usize::from(matches!(seen, ProgramEvent::Tick { .. }));
        if ticks == 2 { Control::Stop } else { Control::On }
    };
    let followed = follow(job("sleep 600", limits(LONG, LONG), "test"), ticking).unwrap();
    assert_eq!(followed.end, End::Stopped);
}

#[test]
fn what_left_for_another_session_ends_too() {
    let mark = mark();
    // The substitution ends when the child, in its own session by then, has let go of the output.
    let script = format!(
        "x=$(setsid -f sh -c 'exec >/dev/null 2>&1; sleep {mark}; :'); setsid sleep {mark} & echo done"
    );
    let followed = sh(&script, limits(LONG, LONG));
    assert_eq!(followed.end, End::Exit(0));
    assert!(followed.left_behind >= 1, "{followed:?}");
    assert!(!is_running(&mark));
}

#[test]
fn what_throws_its_environment_away_ends_too() {
    if !has_cgroups() {
        return skip("no control group can be made here");
    }
    let mark = mark();
    let script = format!(
        "cat /proc/self/cgroup; x=$(setsid -f env -i sh -c 'exec >/dev/null 2>&1; sleep {mark}; :'); echo done"
    );
    let followed = sh(&script, limits(LONG, LONG));
    assert_eq!(followed.end, End::Exit(0));
    assert!(followed.left_behind >= 1, "{followed:?}");
    assert!(!is_running(&mark));
    // Nothing is left of the group either.
    let text = String::from_utf8(followed.stdout).unwrap();
    let name = text.lines().find_map(|line| line.split('/').find(|group| group.starts_with("warp.test.")));
    let groups = Command::new("find").args(["/sys/fs/cgroup", "-name", name.unwrap()]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&groups.stdout), "");
}

#[test]
fn a_program_that_is_not_there_is_told_by_the_start() {
    let missing = Job { program: "no-such-program-here".into(), ..job("", limits(LONG, LONG), "test") };
    let error = follow(missing, &mut |_| Control::On).unwrap_err();
    assert_eq!(error.to_string(), "failed to start `no-such-program-here`");
}

#[test]
fn what_a_killed_driver_left_behind_is_found_by_its_mark() {
    // Marked as a driver would have, and left alone as if that driver had been killed.
    let mark = format!("r-{}", std::process::id());
    let mut child = Command::new("sleep")
        .arg(testkit::processes::mark())
        .env("WARP_CHILD", format!("{mark}.abc"))
        .spawn()
        .unwrap();
    let others = [end_leftovers(&format!("{mark}0")), end_leftovers(mark.trim_end_matches(char::is_numeric))];
    let runs = child.try_wait().unwrap().is_none();
    // It is ended before anything can fail here.
    let reaper = std::thread::spawn(move || child.wait().unwrap());
    assert_eq!(end_leftovers(&mark), 1);
    assert_eq!((others, runs), ([0, 0], true), "a mark is whole");
    assert!(!reaper.join().unwrap().success());
}

#[test]
fn a_flood_of_a_gigabyte_costs_no_memory() {
    let before = peak();
    let mut longest = 0;
    // One line without end, and many.
    let script = "head -c 1000000000 /dev/zero | tr '\\0' x; yes 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef | head -c 20000000";
    let followed = follow(job(script, limits(4 * LONG, LONG), "test"), &mut |seen| {
        if let ProgramEvent::Out(line) = seen {
            longest = longest.max(line.len());
        }
        Control::On
    })
    .unwrap();
    assert_eq!(followed.end, End::Exit(0));
    assert!(followed.cut && followed.stdout.len() < 4_000_000 && longest < 2_000_000);
    let grown = peak() - before;
    // Other tests run in this process too.
    assert!(grown < 200 * 1024, "{grown} kB more");
}

/// Returns the most memory that this process has used, in kB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
