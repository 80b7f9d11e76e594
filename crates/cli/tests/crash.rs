//! Crash safety, on the real binary: processes that are killed at any moment lose nothing and repeat nothing.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::Stdio,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use testkit::Sandbox;

use crate::support::InProject as _;

/// Eight processes at a time, on two workspaces of one project.
const WORKERS: u64 = 8;
/// How many each worker has to kill.
const KILLS: usize = 30;
const ROUNDS_AT_MOST: u64 = 1000;

#[test]
fn kills_at_random_moments_lose_no_acknowledged_event_and_repeat_none() {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    let tree = sandbox.home().join("tree");
    sandbox.git(&["worktree", "add", "--quiet", "-b", "feature/second", tree.to_str().unwrap()]);
    let roots = [sandbox.root(), tree];
    for root in &roots {
        let root = root.to_str().unwrap();
        sandbox.warp_ok(&["state", "init", root, "--level", "2", "--set", "max_retries_per_chunk=1000000"]);
        for event in ["prerequisites_ok", "work_selected", "plan_ready", "chunks_defined"] {
            sandbox.warp_ok(&["state", "transition", root, event]);
        }
        fs::write(Path::new(root).join("a.rs"), "fn a() {}\n").unwrap();
        for event in [
            "code_complete",
            "docs_updated",
            "tests_passed",
            "committed",
            "report_filed",
            "requirement_done",
            "merge_ready",
        ] {
            sandbox.warp_ok(&["state", "transition", root, event]);
        }
    }

    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let workers = (0..WORKERS).map(|worker| {
            let (sandbox, root) = (&sandbox, &roots[usize::try_from(worker % 2).unwrap()]);
            scope.spawn(move || work(sandbox, root, worker))
        });
        let workers: Vec<_> = workers.collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });

    let killed = outcomes.iter().filter(|outcome| outcome.killed).count();
    let acknowledged: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.acknowledged).collect();
    for outcome in outcomes.iter().filter(|outcome| !outcome.killed) {
        assert!(outcome.acknowledged, "{} was not killed, yet it failed: {}", outcome.tag, outcome.said);
    }

    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for root in &roots {
        let root = root.to_str().unwrap();
        let log = sandbox.rows(&["-C", root, "log", "--json"]);
        for (seq, row) in log.iter().enumerate() {
            assert_eq!(row["seq"], seq);
            if let Some(tag) = row["data"]["tag"].as_str() {
                *seen.entry(tag.to_owned()).or_default() += 1;
            }
        }
        let state = fs::read_to_string(Path::new(root).join(".claude/.warp-drive-state.json")).unwrap();
        let shown = sandbox.warp_ok(&["state", "status", root]);
        assert_eq!(sandbox.plain(&state), shown, "the state file equals the view");
        let state: Value = serde_json::from_str(&state).unwrap();
        let taken = log.iter().filter(|row| row["event"] == "merge_failed").count();
        assert_eq!(state["budgets"]["retry_count"], taken, "every recorded event was counted, once");
    }
    println!(
        "{} transitions: {killed} killed, {} acknowledged, {} recorded",
        outcomes.len(),
        acknowledged.len(),
        seen.len()
    );
    for outcome in &acknowledged {
        assert_eq!(seen.get(&outcome.tag), Some(&1), "{} was acknowledged", outcome.tag);
    }
    for (tag, times) in &seen {
        assert_eq!(*times, 1, "{tag}");
    }
    let doctor = sandbox.warp(&["doctor"]);
    assert!(doctor.out.contains("chain verified"), "{}", doctor.out);
    let set_aside = [".git/warp/set-aside", ".git/worktrees/tree/warp/set-aside"];
    for directory in set_aside {
        assert!(!sandbox.root().join(directory).exists(), "no view of our own was taken for a stranger's");
    }
}

struct Outcome {
    tag: String,
    killed: bool,
    acknowledged: bool,
    said: String,
}

/// Starts one transition after another and kills most of them, each after a different moment, until enough were
/// killed and enough were not.
fn work(sandbox: &Sandbox, root: &Path, worker: u64) -> Vec<Outcome> {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(worker + 1);
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut window = Duration::ZERO;
    let is_enough = |outcomes: &[Outcome]| {
        let killed = outcomes.iter().filter(|outcome| outcome.killed).count();
        killed >= KILLS && outcomes.iter().filter(|outcome| outcome.acknowledged).count() >= KILLS / 2
    };
    for round in 0..ROUNDS_AT_MOST {
        if is_enough(&outcomes) {
            break;
        }
        let tag = format!("w{worker}-{round}");
        let data = format!(r#"{{"tag":"{tag}"}}"#);
        let arguments = ["state", "transition", root.to_str().unwrap(), "merge_failed", "--data", &data];
        let mut command = sandbox.warp_command(&arguments);
        let started = Instant::now();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Some are spared, to see how long a transition takes here and now.
        let is_spared = round < 3 || (random >> 33).is_multiple_of(4);
        if !is_spared {
            // The moment of the kill: anywhere between the start of the process and its usual end.
            let moment = window.mul_f64(f64::from(u32::try_from(random >> 40).unwrap() % 1000) / 1000.0);
            let (_still_open, never) = mpsc::channel::<()>();
            let _ = never.recv_timeout(moment);
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let killed = output.status.code().is_none();
        window = match (is_spared, killed) {
            (true, _) => window.max(started.elapsed()),
            // Too late: the others have become faster since.
            (false, false) => window.mul_f64(0.8),
            (false, true) => window,
        };
        let acknowledged = output.status.success() && output.stdout.starts_with(b"#");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        outcomes.push(Outcome { tag, killed, acknowledged, said });
    }
    assert!(is_enough(&outcomes), "too few were killed or spared: the test shows nothing");
    outcomes
}
