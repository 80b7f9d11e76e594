//! A run that stops at any point of its way comes to the same end.
//!
//! One pass plays a whole run: five criteria in three chunks, a test that fails and is mended, a lesson that is filed,
//! somebody who moves the target meanwhile, a remote. A second run hands its work over instead of merging it; of that
//! one only what follows the last tests is looked at, because the rest is the same. At every point before and after an act on the world the world is
//! copied as it lies on the disk, which is what a killed process leaves. The process that made the copies has ended
//! when, in another one, `warp run` goes on from each of them; then everything that a person can see is compared.
//!
//! Jobs that this workflow has not are stopped elsewhere. `open_pull_request` is a step of [`crate::loop_crash`]. The jobs
//! that wait (`await_dependencies`, `await_review`) act on nothing: their `settle` is all that they do, each time they look.
//! `await_checks` looks in the same way, offers only what is not offered yet, and may at worst start a server's checks once
//! more ([`crate::checks`]). `commit_and_merge` settles as `commit` and `merge` do, by the same functions.
//!
//! What is copied are files, so the store is SQLite's and the forge is in it; [`memory`] does the same in memory.

mod end;
mod memory;
mod run;
pub(crate) mod world;

use std::{
    collections::BTreeSet,
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process::{Command, Stdio},
    thread,
};

use adapters::boundary;
use tempfile::TempDir;
use testkit::Sandbox;

use self::{end::End, world::World};

const TEST: &str = "crash::a_run_that_stops_at_any_point_comes_to_the_same_end";
/// What a process of a test is to do, at which level, and where the copies are.
pub(crate) const ROLE: &str = "WARP_TEST_ROLE";
pub(crate) const LEVEL: &str = "WARP_TEST_LEVEL";
pub(crate) const COPIES: &str = "WARP_TEST_COPIES";
/// How many processes share the points, and which of them one is.
const SHARES: usize = 2;
const SHARE: &str = "WARP_TEST_SHARE";
/// Levels differ from here on.
const TESTED: &str = "after merge_ready";
/// A run has at least so many points; fewer mean that some acts are not looked at any more.
const FEWEST: usize = 350;
/// Each of these is found to be done already after at least one of the points, and a run that goes on begins a new attempt.
const SETTLED: &[&str] = &[
    "attempt_started",
    "commit_with_doc_gate",
    "docs_updated",
    "merged",
    "pull request",
    "report_filed",
    "session_ended",
];

#[test]
fn a_run_that_stops_at_any_point_comes_to_the_same_end() {
    match env::var(ROLE).as_deref() {
        Ok("record") => record(),
        Ok("go on") => go_on(),
        Ok(other) => panic!("there is no role `{other}`"),
        Err(_) => {
            let shares: Vec<_> = (0..SHARES).map(|share| thread::spawn(move || one_share(share))).collect();
            let counts: Vec<Count> = shares.into_iter().map(|share| share.join().unwrap()).collect();
            let points: usize = counts.iter().map(|count| count.points).sum();
            let states: usize = counts.iter().map(|count| count.states).sum();
            println!(
                "crash points: {points} ({states} states of the disk) stopped and resumed, all the same"
            );
            assert!(points >= FEWEST, "{points} points");
            let settled: BTreeSet<&str> =
                counts.iter().flat_map(|count| &count.settled).map(String::as_str).collect();
            for outcome in SETTLED {
                assert!(settled.contains(outcome), "`{outcome}` was never found to be done: {settled:?}");
            }
        }
    }
}

/// How many points there were, at how many of them something was new on the disk, and which outcomes were found to be done
/// already when the run went on from one.
struct Count {
    points: usize,
    states: usize,
    settled: BTreeSet<String>,
}

/// Plays a run at each level and goes on from its share of the points.
fn one_share(share: usize) -> Count {
    let [merged, mut handed_over] = [3, 2].map(|level| at_level(level, share));
    handed_over.settled.extend(merged.settled);
    Count {
        points: merged.points + handed_over.points,
        states: merged.states + handed_over.states,
        settled: handed_over.settled,
    }
}

fn at_level(level: u64, share: usize) -> Count {
    let sandbox = Sandbox::new("warp");
    world::prepare(&sandbox);
    let copies = TempDir::with_prefix("warp-crash-").unwrap();
    for role in ["record", "go on"] {
        let mut command: Command = sandbox.command(env::current_exe().unwrap());
        command.args(["--exact", TEST, "--nocapture"]).stdin(Stdio::null());
        command.env(ROLE, role).env(COPIES, copies.path());
        command.env(SHARE, share.to_string()).env(LEVEL, level.to_string());
        let output = command.output().unwrap();
        let [out, err] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert!(output.status.success() && out.contains("1 passed"), "level {level}, {role}:\n{out}{err}");
    }
    let number = |file: &str| fs::read_to_string(copies.path().join(file)).unwrap().parse().unwrap();
    let settled = fs::read_to_string(copies.path().join("settled")).unwrap();
    let settled = settled.lines().map(str::to_owned).collect();
    Count { points: number("points"), states: number("states"), settled }
}

/// Plays a run undisturbed. At each point the world is copied, if it is another one than at the point before and in
/// this share: between the end of an act and the beginning of the next one nothing changes.
fn record() {
    let world = World::of_environment();
    let copies = PathBuf::from(env::var_os(COPIES).unwrap());
    let share: usize = env::var(SHARE).unwrap().parse().unwrap();
    let (watched, to) = (world.clone(), copies.clone());
    let (mut points, mut states, mut before) = (0, 0, None);
    let mut is_looked_at = world.level == 3;
    boundary::watch(move |point| {
        is_looked_at |= point == TESTED;
        if !is_looked_at {
            return;
        }
        let state = Some(watched.fingerprint());
        if state != before {
            (before, states) = (state, states + 1);
            if states % SHARES == share {
                watched.copy_to(&to.join(format!("{points:04} {point}")));
            }
        }
        if states % SHARES == share {
            points += 1;
            fs::write(to.join("points"), points.to_string()).unwrap();
        }
    });
    run::to_the_end(&world);
    boundary::unwatch();
    assert_eq!(end::settled(&world), BTreeSet::new(), "nothing was cut short");
    let end = End::of(&world).to_string();
    for words in ["Broken numbers fail [\"lesson\"", "One file each [\"decision\"", "journal: []"] {
        assert!(end.contains(words), "{words}:\n{end}");
    }
    fs::write(copies.join("undisturbed"), end).unwrap();
}

/// Goes on from each copy, and compares.
fn go_on() {
    let world = World::of_environment();
    let copies = PathBuf::from(env::var_os(COPIES).unwrap());
    let undisturbed = fs::read_to_string(copies.join("undisturbed")).unwrap();
    println!("{undisturbed}");
    let mut points: Vec<String> = fs::read_dir(&copies).unwrap().map(|entry| name(&entry.unwrap())).collect();
    points.retain(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    points.sort();
    let (mut others, mut settled) = (Vec::new(), BTreeSet::new());
    for point in &points {
        world.put_back(&copies.join(point));
        let end = catch_unwind(AssertUnwindSafe(|| {
            run::to_the_end(&world);
            settled.extend(end::settled(&world));
            End::of(&world).to_string()
        }));
        match end {
            Ok(end) if end == undisturbed => {}
            Ok(end) => others.push(format!("{point}:\n{}", difference(&undisturbed, &end))),
            Err(_) => others.push(format!("{point}: it did not come to an end")),
        }
    }
    assert!(others.is_empty(), "{} of {} differ\n{}", others.len(), points.len(), others.join("\n"));
    fs::write(copies.join("states"), points.len().to_string()).unwrap();
    fs::write(copies.join("settled"), settled.into_iter().collect::<Vec<_>>().join("\n")).unwrap();
}

fn name(entry: &fs::DirEntry) -> String {
    entry.file_name().into_string().unwrap()
}

/// Returns the lines in which two texts differ.
fn difference(before: &str, after: &str) -> String {
    let lost = before.lines().filter(|line| !after.lines().any(|other| other == *line));
    let more = after.lines().filter(|line| !before.lines().any(|other| other == *line));
    let lost = lost.map(|line| format!("- {line}\n"));
    let text: String = lost.chain(more.map(|line| format!("+ {line}\n"))).collect();
    if text.is_empty() { format!("the order or the number of lines:\n{after}") } else { text }
}
