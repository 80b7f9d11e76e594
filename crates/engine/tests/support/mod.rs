//! What the engine's tests share: runs to begin with, and asks that clear the gates.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::{collections::BTreeMap, sync::LazyLock};

use engine::{
    Ask, Beginning, Boxes, Branches, Claim, ClaimSeen, CommitSeen, Diff, Event, EventName, FileSeen,
    Observations, Owner, Probe, Run, RunId, Seen, Settings, Time, Workflow, begin, needs,
};
use serde_json::Value;

/// When every run of the tests begins: the moment of the state reference's example.
pub(crate) const START: i64 = 1_778_255_819_401;
pub(crate) const MINUTE: i64 = 60_000;

static BUILT_IN: LazyLock<BTreeMap<&str, Workflow>> = LazyLock::new(|| {
    let names = engine::workflow::BUILT_IN.iter().map(|built_in| built_in.name);
    names.map(|name| (name, Workflow::built_in(name).expect("it is built in"))).collect()
});

pub(crate) fn workflow(name: &str) -> &'static Workflow {
    BUILT_IN.get(name).expect("a built-in workflow")
}

pub(crate) fn settings<'a>(values: impl IntoIterator<Item = (&'a str, Value)>) -> Settings {
    let mut settings = Settings::default();
    for (key, value) in values {
        settings.set(key, value).expect("a setting of the table");
    }
    settings
}

pub(crate) fn beginning(settings: Settings) -> Beginning {
    Beginning {
        dirty: Default::default(),
        id: RunId::new("r1"),
        parent: None,
        settings,
        root: "/home/ada/bodmail".to_owned(),
        owns_workspace: false,
        level: 3,
        owner: Owner {
            pid: 51506,
            boot_id: "b1".to_owned(),
            start_ticks: Some(7),
            host: None,
            session: None,
        },
        github_user: "ann".to_owned(),
        issue: Some("42".to_owned()),
        feature: Some("Add a login".to_owned()),
        branches: Branches {
            branch: "feature/issue-42-title".to_owned(),
            main_branch: "master".to_owned(),
            session_branch: None,
            merge_target: "master".to_owned(),
            merge_strategy: "ff-only".to_owned(),
        },
        found_test_command: None,
        found_setup_command: None,
        at: Time::from_millis(START),
    }
}

pub(crate) fn begun(workflow: &Workflow, settings: Settings) -> Run {
    begin(workflow, beginning(settings)).run
}

/// Makes an ask with observations that clear every gate.
pub(crate) fn clear(event: &str, at: Time) -> Ask {
    let mut ask = Ask::new(Event::Named(EventName::new(event)), at);
    ask.observations = Observations {
        diff: (event == "code_complete").then(|| Seen::Value(code_diff())),
        boxes: (event == "docs_updated").then(|| Seen::Value(ticked(8))),
        ..Observations::default()
    };
    if event == "shipped" {
        ask.data.insert("pr_url".to_owned(), Value::from("https://forge.example/pull/7"));
    }
    ask
}

/// Adds to an ask whatever its evidence and receipts name, found as it should be.
pub(crate) fn find_all(workflow: &Workflow, run: &Run, ask: &mut Ask) {
    for probe in needs(workflow, run, ask.actor, &ask.event, &ask.data) {
        match probe {
            Probe::Receipt(claim) => ask.observations.receipts.push(found(claim)),
            Probe::Lines { lines, .. } => ask.observations.lines = Some(Seen::Value(lines)),
            Probe::Diff { .. }
            | Probe::Boxes { .. }
            | Probe::Head
            | Probe::Commits { .. }
            | Probe::Tree
            | Probe::Commands(_)
            | Probe::TestNames(_)
            | Probe::Tests { .. }
            | Probe::Frozen { .. }
            | Probe::Usage { .. }
            | Probe::Seeds { .. }
            | Probe::Criteria { .. } => {}
        }
    }
}

/// A claim whose file and commit are there; the content of a file is its name.
pub(crate) fn found(claim: Claim) -> ClaimSeen {
    let file = claim.artifact.as_ref().map(|artifact| {
        let digest = Some(format!("digest of {artifact}"));
        Seen::Value(FileSeen { is_inside: true, in_tree: Some(9), at_commit: Some(9), digest })
    });
    let commit = claim.git_sha.as_ref().map(|sha| {
        let (hash, at) = (sha.clone(), Time::from_millis(i64::MAX));
        Seen::Value(CommitSeen { hash, at, is_in_history: true, is_new: claim.since.as_ref().map(|_| true) })
    });
    ClaimSeen { claim, file, commit }
}

pub(crate) fn code_diff() -> Diff {
    Diff { files: vec!["src/login.rs".to_owned()], count: 1, shared_words: vec!["login".to_owned()] }
}

pub(crate) fn ticked(count: usize) -> Boxes {
    Boxes { items: vec![(true, "a criterion".to_owned()); count] }
}

/// A number that is used up bit by bit, as if by dice.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        let rolled = self.0 % sides;
        self.0 /= sides;
        rolled
    }

    pub(crate) fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == sides - 1
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.roll(of.len() as u64)).expect("an index")]
    }
}
