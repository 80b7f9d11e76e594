//! What the fuzz targets share: runs to begin with, and what has to hold whatever happens to them.

pub mod scene;

use std::collections::BTreeMap;

use engine::{
    Actor, Advice, Ask, Beginning, Boxes, Branches, Breach, Change, Claim, ClaimSeen, CommandResult,
    CommitSeen, Diff, Event, EventName, FileSeen, Fold, Observations, Owner, Probe, Record, Run, RunId, Seen,
    Settings, Standing, Step, TestsSeen, TestsVerdict, Time, Usage, Workflow, begin, needs, step,
    view::{self, Head, LogRow, Owned},
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value};

const START: i64 = 1_778_255_819_401;

/// What a run begins with where it does not matter.
pub fn beginning(settings: Settings) -> Beginning {
    Beginning {
        id: RunId::new("r1"),
        parent: None,
        settings,
        root: "/home/ada/bodmail".to_owned(),
        owns_workspace: false,
        level: 3,
        owner: Owner { pid: 51506, boot_id: "b1".to_owned(), start_ticks: Some(7), session: None, host: None },
        github_user: "ada".to_owned(),
        issue: Some("42".to_owned()),
        feature: Some("Add a login".to_owned()),
        branches: Branches {
            branch: "feature/login".to_owned(),
            main_branch: "main".to_owned(),
            session_branch: None,
            merge_target: "main".to_owned(),
            merge_strategy: "ff-only".to_owned(),
        },
        found_test_command: None,
        found_setup_command: None,
        dirty: BTreeMap::new(),
        at: Time::from_millis(START),
    }
}

/// What probes see of the world.
#[derive(Clone, Copy, Debug)]
pub enum World {
    /// Whatever clears a gate.
    Clear,
    /// Nothing that could be looked at.
    Absent,
    /// It is there and cannot be read.
    Broken,
    /// Nobody has looked.
    Unseen,
}

impl World {
    /// Reads the word for a world; another word is a clear one.
    pub fn named(word: &str) -> Self {
        match word {
            "absent" => World::Absent,
            "broken" => World::Broken,
            "unseen" => World::Unseen,
            _ => World::Clear,
        }
    }

    fn see<T>(self, value: T) -> Option<Seen<T>> {
        match self {
            World::Clear => Some(Seen::Value(value)),
            World::Absent => Some(Seen::Absent("nothing is there".to_owned())),
            World::Broken => Some(Seen::Failed("it cannot be read".to_owned())),
            World::Unseen => None,
        }
    }

    fn observe(self, probes: &[Probe]) -> Observations {
        let mut seen = Observations::default();
        // A chunk begins on a commit with its boxes open; the gate at its end wants them ticked.
        let is_ticked = !probes.contains(&Probe::Head);
        for probe in probes {
            match probe {
                Probe::Diff { words, .. } => {
                    let files = vec!["src/login.rs".to_owned()];
                    seen.diff = self.see(Diff { files, count: 1, shared_words: words.clone() });
                }
                Probe::Boxes { .. } => {
                    let items = vec![(is_ticked, "a criterion".to_owned()); 12];
                    seen.boxes = self.see(Boxes { items });
                }
                Probe::Head => seen.head = self.see("4f1c".to_owned()),
                Probe::Commits { .. } => seen.commits = self.see(vec!["4f1c".to_owned()]),
                Probe::Tree => seen.tree = self.see("9a0b".to_owned()),
                Probe::Commands(commands) => seen.commands = self.run(commands),
                Probe::TestNames(_) => {}
                Probe::Usage { .. } => seen.usage = self.see(Usage { input_tokens: 7, ..Usage::default() }),
                Probe::Lines { lines, .. } => seen.lines = self.see(lines.clone()),
                Probe::Receipt(claim) => seen.receipts.push(self.find(claim)),
                Probe::Tests { whole, .. } => seen.tests = self.see(self.test(*whole)),
                Probe::Frozen { .. } => seen.frozen = self.see(Vec::new()),
                Probe::Seeds { .. } => seen.unseeded = self.see(Vec::new()),
                Probe::Criteria { .. } => seen.has_criteria = self.see(true),
            }
        }
        seen
    }

    fn find(self, claim: &Claim) -> ClaimSeen {
        let file = FileSeen { is_inside: true, in_tree: Some(9), at_commit: Some(9), digest: None };
        let (hash, at) = ("4f1c".to_owned(), Time::from_millis(START));
        let commit = CommitSeen { hash, at, is_in_history: true, is_new: Some(true) };
        ClaimSeen { claim: claim.clone(), file: self.see(file), commit: self.see(commit) }
    }

    fn test(self, whole: bool) -> Vec<TestsSeen> {
        let seen = TestsSeen {
            command: "make accept".to_owned(),
            end: "exit 0".to_owned(),
            verdict: TestsVerdict::Passed,
            passed: 3,
            output: String::new(),
        };
        vec![seen; if whole { 2 } else { 1 }]
    }

    fn run(self, commands: &[String]) -> Vec<CommandResult> {
        let passed = matches!(self, World::Clear);
        let result = |command: &String| CommandResult {
            command: command.clone(),
            passed,
            end: "exit 0".to_owned(),
            output: String::new(),
            names: vec!["logs_in".to_owned()],
        };
        if matches!(self, World::Unseen) { Vec::new() } else { commands.iter().map(result).collect() }
    }
}

/// A run that things happen to, with everything that was recorded about it.
#[derive(Debug)]
pub struct Walk {
    pub workflow: Workflow,
    pub run: Run,
    records: Vec<Record>,
    at: Time,
}

impl Walk {
    /// Begins a run.
    pub fn begin(workflow: Workflow, settings: Settings) -> Self {
        let first = begin(&workflow, beginning(settings));
        Self::from_step(workflow, first)
    }

    /// Goes on from the step with which a run began.
    pub fn from_step(workflow: Workflow, first: Step) -> Self {
        let at = Time::from_millis(START);
        let mut walk = Self { workflow, run: first.run.clone(), records: Vec::new(), at };
        walk.take(first);
        walk
    }

    /// Goes on with a run that was put together elsewhere.
    pub fn resume(workflow: Workflow, run: Run) -> Self {
        let at = run.updated_at;
        let changes = vec![Change::Began { run: Box::new(run), workflow_text: workflow.text.to_string() }];
        let mut fold = Fold::default();
        let record = Record {
            version: 1,
            event: EventName::new("adopted"),
            at,
            actor: Actor::Person,
            from: None,
            phase: workflow.initial.clone(),
            data: Map::new(),
            observations: Observations::default(),
            changes,
        };
        fold.add(&record).expect("a record that begins a run can be folded");
        let (run, _) = fold.finish().expect("a run has begun");
        Self { workflow, run, records: vec![record], at }
    }

    /// Lets something happen `minutes` after what happened before.
    pub fn ask(&mut self, event: Event, data: Map<String, Value>, minutes: u64, world: World) {
        self.at = self.at.plus_minutes(minutes);
        // Any number will do, as long as it is the same for the same input.
        let actor = if minutes % 4 == 3 { Actor::Agent } else { Actor::Person };
        let observations = world.observe(&needs(&self.workflow, &self.run, actor, &event, &data));
        let ask = Ask { event, actor, data, at: self.at, observations };
        let again = step(&self.workflow, &self.run, &ask);
        match (step(&self.workflow, &self.run, &ask), again) {
            (Ok(done), Ok(again)) => {
                assert_eq!((&done.run, &done.records), (&again.run, &again.records), "decided twice");
                self.take(done);
            }
            // A refusal says why; that nothing changed is in the types.
            (Err(refused), Err(again)) => {
                assert_eq!(refused, again, "decided twice");
                assert!(!refused.to_string().is_empty());
            }
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => panic!("the same ask was taken and refused"),
        }
    }

    fn take(&mut self, step: Step) {
        assert!(!step.records.is_empty(), "a step without a record");
        assert!(step.advice.iter().all(|Advice(text)| !text.is_empty()));
        assert!(self.workflow.phase(&step.run.phase).is_some(), "a phase that does not exist");
        let has_ended = self.workflow.ends_in(&step.run.phase);
        assert!(!(has_ended && step.run.is_open()), "a run that is over and still holds its workspace");
        self.records.extend(step.records);
        self.run = step.run;
    }

    /// Returns the id of the decision on which the run is parked.
    pub fn decision(&self) -> Option<String> {
        match &self.run.standing {
            Standing::Parked { decision } => Some(decision.id.clone()),
            Standing::Active | Standing::Suspended { .. } | Standing::Stopped | Standing::Ended { .. } => {
                None
            }
        }
    }

    /// Checks that what was recorded, written and read again, is the run, and that it can be shown.
    pub fn finish(self) {
        let mut fold = Fold::default();
        for record in &self.records {
            let json = serde_json::to_vec(record).expect("a record can be written");
            let read: Record = serde_json::from_slice(&json).expect("a record that was written can be read");
            assert_eq!(read, *record, "a record is read as it was written");
            fold.add(&read).expect("a record that was made can be folded");
        }
        let (run, text) = fold.finish().expect("a run has begun");
        assert_eq!(run, self.run, "the records fold to the run");
        assert_eq!(text, self.workflow.text, "a run is pinned to its workflow");
        let json = serde_json::to_vec(&self.run).expect("a run can be written");
        let read: Run = serde_json::from_slice(&json).expect("a run that was written can be read");
        assert_eq!(read, self.run, "a run is read as it was written");
        show(&self.workflow, &self.run, self.at);
        let rows: Vec<LogRow> = self.records.iter().zip(0..).map(|(one, seq)| LogRow::of(seq, one)).collect();
        view::render_log("project", &rows, Time::to_seconds);
    }
}

/// Shows a run in every way there is.
pub fn show(workflow: &Workflow, run: &Run, now: Time) {
    view::state_json(workflow, run);
    view::state_file(workflow, run);
    view::render_status(&view::status(workflow, run, "project", Owned::Live, "none"), Time::to_seconds);
    view::explain(workflow, run, now).render(Time::to_seconds);
    view::standing(workflow, run, Owned::Stale, now);
    view::reports(workflow, run, now);
    assert!(view::reanchor(workflow, run, now).chars().count() < 9_000);
    view::progress(run);
    Head::of(workflow, run).permission("git_commit");
}

/// Reads the name of an event as the command line does, and those of a person's own commands.
pub fn event(name: &str, data: &Map<String, Value>, walk: &Walk) -> Event {
    let text = |field: &str| data.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    match name {
        "file_edited" => Event::FileEdited { file: text("file") },
        "deadline_passed" => Event::DeadlinePassed,
        "attempt_started" => Event::AttemptStarted { effect: text("effect") },
        "decision_answered" => Event::DecisionAnswered {
            decision: walk.decision().unwrap_or_else(|| text("decision")),
            option: text("option"),
        },
        "stop_requested" => Event::StopRequested,
        "resumed" => Event::Resumed,
        "reset_requested" => Event::ResetRequested,
        "state_file_set_aside" => Event::StateFileSetAside { file: text("file"), kept_as: text("kept_as") },
        "owner_changed" => Event::OwnerChanged { owner: Owner::default() },
        "rail_broken" => {
            let breach = match text("breach").as_str() {
                "undone" => Breach::Undone,
                "stands" => Breach::Stands,
                _ => Breach::Doubtful,
            };
            Event::RailBroken { what: text("what"), kept: None, breach }
        }
        _ => Event::Named(EventName::new(name)),
    }
}

/// Numbers that look random and are the same for the same input.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// Starts from an input.
    pub fn of(input: &[u8]) -> Self {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        Self(input.iter().fold(0xcbf2_9ce4_8422_2325, mix) | 1)
    }

    /// Returns a number below `end`, or zero.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0).checked_rem(end).unwrap_or(0)
    }
}

/// Lets things happen that the workflow knows, and some that it does not, as an input has it.
pub fn wander(walk: &mut Walk, input: &[u8]) {
    let mut numbers = Numbers::of(input);
    let known: Vec<String> = walk.workflow.events().iter().map(ToString::to_string).collect();
    let ticks: Vec<String> = walk.workflow.ticks.iter().map(|tick| tick.event.to_string()).collect();
    let others = ["deadline_passed", "decision_answered", "stop_requested", "resumed", "file_edited"];
    let others = others.iter().map(|name| (*name).to_owned());
    let names: Vec<String> = known.into_iter().chain(ticks).chain(others).collect();
    let mut data = Map::new();
    data.insert("option".to_owned(), Value::from("continue"));
    data.insert("file".to_owned(), Value::from("src/a.rs"));
    data.insert("failure".to_owned(), Value::from("FAIL a"));
    for _ in 0..40 {
        // Mostly what the phase has, so that the walk gets somewhere.
        let here = walk.workflow.rows(&walk.run.phase);
        let name = match here.get(numbers.below(here.len() + 2)) {
            Some(row) => row.event.to_string(),
            None => names[numbers.below(names.len())].clone(),
        };
        let world = [World::Clear, World::Clear, World::Clear, World::Absent][numbers.below(4)];
        let minutes = [0, 1, 31, 5000][numbers.below(4)];
        walk.ask(event(&name, &data, walk), data.clone(), minutes, world);
    }
}

/// How much time of its own a command may need, in seconds: a hook that takes longer is no gate.
const SOON: f64 = 1.0;

/// Works, and checks that it does not take long.
pub fn soon<T>(work: impl FnOnce() -> T) -> T {
    let used = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let before = used();
    let done = work();
    let took = used() - before;
    assert!(took < SOON, "it took {took:.3} s");
    done
}
