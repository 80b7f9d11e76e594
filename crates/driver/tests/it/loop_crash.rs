//! A loop that builds a feature comes to the same end wherever it is stopped on its way.
//!
//! One pass plays the whole loop: tests that pass at once, frozen tests that are changed, a fix cycle, a remote. At each point
//! before and after an act on the world the world is copied as it lies on the disk, which is what a killed process leaves;
//! in another process `warp run` goes on from each copy, and what a person can see in the end is compared.
//!
//! What is copied are files, so the store is SQLite's and the forge is in it; [`memory`] does the same in memory.

mod memory;

use std::{
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
};

use adapters::boundary;
use driver::{Finish, Options};
use engine::Standing;
use forge::Query;
use project::Workspace;
use tempfile::TempDir;
use testkit::Sandbox;

use crate::{
    crash::{
        COPIES, LEVEL, ROLE,
        world::{self, World},
    },
    world::{Nobody, drive, git, player},
};

const TEST: &str = "loop_crash::a_loop_that_stops_at_any_point_comes_to_the_same_end";
/// A loop has at least so many points; fewer mean that some acts are not looked at any more.
const FEWEST: usize = 200;
/// Every so many states of the disk one is gone on from; the acts that only this loop has are all looked at.
const EVERY: usize = 6;
/// Those acts: what is taken out, and the branch that is begun, delivered and pushed.
const OWN_ACTS: [&str; 6] = ["put_back", "begin_branch", "deliver", "delivered", "push", "pull_opened"];

const BRANCH: &str = "feature/say-hello";

/// What the agent does. Every step can be done again over what a turn before has left.
const SCRIPT: &str = r##"
[[turn]]
phase = "plan"
steps = [{ write = "docs/plans/plan.md", text = "# Plan\n" }]
answer = { artifact = "docs/plans/plan.md", summary = "planned" }
[[turn]]
phase = "spec_test"
steps = [{ run = "if test -e .once; then echo './hello | grep -q hello' > tests/hello.sh; else mkdir -p tests; touch .once; echo true > tests/hello.sh; fi" }]
answer = { artifact = "tests/hello.sh", summary = "one test" }
[[turn]]
phase = "deepen"
steps = [{ write = "docs/plans/plan.md", text = "# Plan, deeper\n" }]
answer = { summary = "deeper" }
[[turn]]
phase = "work"
steps = [
    { write = "hello", text = "#!/bin/sh\necho hello\n" }, { run = "chmod +x hello" },
    { run = "if test ! -e .twice; then touch .twice; echo true > tests/hello.sh; fi" },
]
answer = { summary = "it says hello" }
[[turn]]
phase = "review"
answer = { summary = "one P1", findings = [{ severity = "p1", text = "no comment" }] }
[[turn]]
phase = "fix"
steps = [{ write = "hello", text = "#!/bin/sh\n# greets\necho hello\n" }]
answer = { summary = "fixed" }
[[turn]]
phase = "re_review"
answer = { summary = "fixed indeed", findings = [] }
[[turn]]
phase = "compound"
steps = [{ write = "docs/solutions/shell/hello.md", text = "# Comments\n" }]
answer = { artifact = "docs/solutions/shell/hello.md", summary = "learnt" }
[[turn]]
phase = "test"
answer = { event = "tests_passed", summary = "it says hello" }
[[turn]]
phase = "ship"
answer = { promise = "SHIPPED", summary = "done" }
"##;

#[test]
fn a_loop_that_stops_at_any_point_comes_to_the_same_end() {
    match env::var(ROLE).as_deref() {
        Ok("record") => record(),
        Ok("go on") => go_on(),
        Ok(other) => panic!("there is no role `{other}`"),
        Err(_) => both(),
    }
}

/// Does both passes, each in a process with the sandbox's home and git settings.
fn both() {
    let sandbox = Sandbox::new("warp");
    world::prepare(&sandbox);
    ignore_marks(&sandbox);
    let copies = TempDir::with_prefix("warp-crash-").unwrap();
    for role in ["record", "go on"] {
        let mut command: Command = sandbox.command(env::current_exe().unwrap());
        command.args(["--exact", TEST, "--nocapture"]).stdin(Stdio::null());
        command.env(ROLE, role).env(COPIES, copies.path()).env(LEVEL, "2");
        let output = command.output().unwrap();
        let [out, err] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        assert!(output.status.success() && out.contains("1 passed"), "{role}:\n{out}{err}");
    }
    let number =
        |file: &str| -> usize { fs::read_to_string(copies.path().join(file)).unwrap().parse().unwrap() };
    let (points, states) = (number("points"), number("states"));
    println!("crash points: {points}, of which {states} were stopped at and resumed, all the same");
    assert!(points >= FEWEST, "{points} points");
}

/// Lets git ignore what the agent remembers its mistakes by.
fn ignore_marks(sandbox: &Sandbox) {
    sandbox.write(".gitignore", ".once\n.twice\n");
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "-m", "chore: ignore"]);
    sandbox.git(&["push", "--quiet", "origin", "main"]);
}

fn copies() -> PathBuf {
    PathBuf::from(env::var_os(COPIES).unwrap())
}

/// Plays the loop undisturbed, and copies the world wherever it is another one than before.
fn record() {
    let world = World::of_environment();
    let (watched, to) = (world.clone(), copies());
    let (mut points, mut states, mut before) = (0, 0, None);
    boundary::watch(move |point| {
        points += 1;
        fs::write(to.join("points"), points.to_string()).unwrap();
        let state = Some(watched.fingerprint());
        if state != before {
            (before, states) = (state, states + 1);
            let is_own = OWN_ACTS.iter().any(|act| point.ends_with(&format!(" {act}")));
            if is_own || states % EVERY == 0 {
                watched.copy_to(&to.join(format!("{points:04} {point}")));
            }
        }
    });
    to_the_end(&world);
    boundary::unwatch();
    let end = end(&world);
    for words in ["Ended { how: \"shipped\" }", "fix: findings about Say hello", "pulls: 1"] {
        assert!(end.contains(words), "{words}:\n{end}");
    }
    fs::write(copies().join("undisturbed"), end).unwrap();
}

/// Goes on from each copy, and compares.
fn go_on() {
    let world = World::of_environment();
    let copies = copies();
    let undisturbed = fs::read_to_string(copies.join("undisturbed")).unwrap();
    let names = fs::read_dir(&copies).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut points: Vec<String> =
        names.filter(|name| name.starts_with(|first: char| first.is_ascii_digit())).collect();
    points.sort();
    let (mut others, mut is_settled) = (Vec::new(), false);
    for point in &points {
        world.put_back(&copies.join(point));
        let end = catch_unwind(AssertUnwindSafe(|| {
            to_the_end(&world);
            is_settled |= is_pull_settled(&world);
            end(&world)
        }));
        match end {
            Ok(end) if end == undisturbed => {}
            Ok(end) => others.push(format!("{point}:\n{end}")),
            Err(_) => others.push(format!("{point}: it did not come to an end")),
        }
    }
    assert!(
        others.is_empty(),
        "{} of {} differ from\n{undisturbed}\n{}",
        others.len(),
        points.len(),
        others.join("\n")
    );
    assert!(is_settled, "the pull request was never found to be open already");
    fs::write(copies.join("states"), points.len().to_string()).unwrap();
}

/// Tells whether the run has found its pull request open already.
fn is_pull_settled(world: &World) -> bool {
    let mut workspace = Workspace::open(world.place(), world.dirs()).unwrap();
    let current = workspace.runs().unwrap().remove(0);
    let records = workspace.records(&current).unwrap();
    records.iter().any(|record| record.data.contains_key("settled") && record.data.contains_key("pr_url"))
}

/// Begins the loop or goes on with it, by the same words; what has come to its end stays as it is.
fn to_the_end(world: &World) {
    let runs = Workspace::open(world.place(), world.dirs()).unwrap().runs().unwrap();
    if runs.iter().any(|current| !current.run.is_open()) {
        return;
    }
    let on = |key: &str| (key.to_owned(), "true".to_owned());
    let options = Options {
        issue: Some("Say hello".to_owned()),
        workflow: Some("autonomous-loop".to_owned()),
        set: vec![on("skip_brainstorm"), on("skip_test_review"), ("push".to_owned(), "branch".to_owned())],
        ..Options::default()
    };
    let finish = drive(&world.place(), &world.dirs(), options, Arc::new(player(SCRIPT)), &mut Nobody);
    assert_eq!(finish.unwrap(), Finish::Done);
}

/// Returns what a person finds: the run's end, its commits here and at the remote, its files and its pull request.
fn end(world: &World) -> String {
    let mut workspace = Workspace::open(world.place(), world.dirs()).unwrap();
    let runs = workspace.runs().unwrap();
    let [current] = &runs[..] else { panic!("there are {} runs", runs.len()) };
    let Standing::Ended { .. } = &current.run.standing else { panic!("{:?}", current.run.standing) };
    let root = world.root();
    let files = git(&root, &["ls-tree", "-r", BRANCH]);
    assert!(
        !files.contains("docs/progress.md"),
        "what warp notes for agents is no part of the work: {files}"
    );
    let forced = current.run.receipts.iter().filter(|receipt| receipt.forced).count();
    let items = workspace.forge().pulls(Query::All).unwrap();
    let pulls: Vec<String> = items
        .iter()
        .filter_map(|item| item.pull.as_ref().map(|pull| format!("{} {}", item.title, pull.branch)))
        .collect();
    // Whether an agent makes its mistake once more after a crash is its own matter, and so is a commit of it.
    let subjects = git(&root, &["log", "--reverse", "--format=%s", &format!("main..{BRANCH}")]);
    let mut subjects: Vec<&str> = subjects.lines().collect();
    subjects.dedup();
    let head = git(&root, &["rev-parse", BRANCH]);
    assert_eq!(git(&world.remote(), &["rev-parse", BRANCH]), head, "the remote has it");
    assert!(items.iter().filter_map(|item| item.pull.as_ref()).all(|pull| pull.head == head));
    [
        format!("{:?}, {:?}, forced: {forced}", current.run.standing, current.run.phases_completed),
        subjects.join("\n"),
        files,
        format!("pulls: {} {pulls:?}", pulls.len()),
        git(&root, &["status", "--porcelain"]),
    ]
    .join("\n")
}
