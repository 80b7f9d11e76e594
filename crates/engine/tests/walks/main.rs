//! Random walks through the four workflows, against a plain model of each.
//!
//! After every step engine and model must agree; at the end of a walk the run must be the one that its
//! records fold into. A failing walk is kept in `tests/walks.proptest-regressions`.

mod input;
mod model;
#[path = "../oracle/mod.rs"]
mod oracle;
#[path = "../support/mod.rs"]
mod support;

use std::{cell::RefCell, collections::BTreeSet};

use engine::{
    Actor, Ask, Breach, Decision, Event, Fold, Outcome, Owner, Record, Refused, Run, Seen, Settings,
    Standing, Step, Time, Workflow, begin, step,
};
use model::{Answer, Attempt, Happening, Limits, Model, Why};
use oracle::Oracle;
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{FileFailurePersistence, RngAlgorithm, TestRunner},
};
use serde_json::{Value, json};
use support::{Dice, START, beginning, clear, code_diff, find_all, settings, workflow};

/// However long a walk is, the run's JSON stays below this.
const LARGEST_RUN: usize = 64 * 1024;

fn config(cases: u32) -> ProptestConfig {
    let kept = FileFailurePersistence::Direct("tests/walks.proptest-regressions");
    ProptestConfig {
        failure_persistence: Some(Box::new(kept)),
        // The default takes longer to roll the dice than the engine to take the steps.
        rng_algorithm: RngAlgorithm::XorShift,
        ..ProptestConfig::with_cases(cases)
    }
}

#[test]
fn warp_drive_agrees_with_its_model() {
    let reasons = [
        "phase_timeout",
        "retry_exceeded",
        "coding_cycles_exceeded",
        "no_progress",
        "total_chunks_exceeded",
        "session_timeout",
        "NeedsPerson",
        "OwnWork",
        "Gate",
    ];
    agree("warp-drive", 150, &reasons);
}

#[test]
fn coder_agrees_with_its_model() {
    agree("coder", 80, &["OwnWork"]);
}

#[test]
fn autonomous_loop_agrees_with_its_model() {
    agree(
        "autonomous-loop",
        80,
        &[
            "max_fix_cycles",
            "Parked(\"max_iterations\")",
            "Parked(\"max_phase_iterations\")",
            "Parked(\"max_fix_cycles\")",
            "Parked(\"tests_written\")",
            "Parked(\"forced_receipts\")",
            "Parked(\"unproved_pull_request\")",
            "NeedsPerson",
            "Gate",
        ],
    );
}

#[test]
fn factory_agrees_with_its_model() {
    agree("factory", 80, &["ci_exhausted", "infra_exhausted", "OwnWork"]);
}

/// Takes many walks, and checks that they came to every phase and to what else is worth a walk.
fn agree(name: &str, longest: usize, worth: &[&str]) {
    let seen = RefCell::new(BTreeSet::new());
    let walks = (any::<[u16; 32]>(), vec(any::<u64>(), 1..longest));
    let result = TestRunner::new(config(500)).run(&walks, |(limits, numbers)| {
        let mut walk = Walk::new(name, input::limits(limits));
        walk.go(&numbers)?;
        seen.borrow_mut().append(&mut walk.seen);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    let places = Oracle::of(name).phases().into_iter().chain(worth.iter().copied());
    let refusals = ["NotPossible", "StaleAttempt", "NotNow", "Over"];
    let missed: Vec<&str> = places.chain(refusals).filter(|place| !seen.borrow().contains(*place)).collect();
    assert_eq!(missed, Vec::<&str>::new());
}

#[test]
fn a_run_does_not_grow_with_its_history() {
    let endless =
        ["max_total_chunks", "max_fix_cycles", "max_edits_per_file"].map(|key| (key, json!(u32::MAX)));
    let size = |run: &Run| serde_json::to_string(run).expect("a run is JSON").len();
    let play = |workflow: &Workflow, run: Run, events: &[&str]| {
        events.iter().fold(run, |run, event| {
            let mut ask = clear(event, run.updated_at);
            for field in ["artifact", "summary"] {
                ask.data.insert(field.to_owned(), json!("x".repeat(1000)));
            }
            ask.observations.head = Some(Seen::Value(format!("{:010}", run.events)));
            find_all(workflow, &run, &mut ask);
            step(workflow, &run, &ask).expect(event).run
        })
    };

    // A hundred of everything is kept; from then on only numbers have more digits.
    let drive = workflow("warp-drive");
    let run = begin(drive, beginning(settings(endless.clone()))).run;
    let run = play(drive, run, &["prerequisites_ok", "work_selected", "plan_ready", "chunks_defined"]);
    let chunk = ["code_complete", "docs_updated", "tests_passed", "committed", "report_filed", "next_chunk"];
    let full = play(drive, run, &chunk.repeat(120));
    let longer = play(drive, full.clone(), &chunk.repeat(80));
    assert!(size(&longer) < size(&full) + 50, "{} and {}", size(&full), size(&longer));

    let edit = |run: Run, number: u32| {
        let edited = Event::FileEdited { file: format!("{number}{}", "x".repeat(2000)) };
        step(drive, &run, &Ask::new(edited, run.updated_at)).expect("an edit").run
    };
    let edited = (0..320).fold(longer.clone(), edit);
    assert_eq!(edited.edit_counts.len(), 300);
    assert!(size(&edited) < size(&longer) + 300 * 510, "{}", size(&edited));

    let looping = workflow("autonomous-loop");
    let run = begin(looping, beginning(settings(endless))).run;
    let way = [
        "brainstorm_written",
        "plan_written",
        "tests_approved",
        "plan_deepened",
        "work_finished",
        "p1_found",
    ];
    let full = play(looping, play(looping, run, &way), &["fixes_made", "p1_found"].repeat(60));
    let longer = play(looping, full.clone(), &["fixes_made", "p1_found"].repeat(40));
    assert!(size(&longer) < size(&full) + 50, "{} and {}", size(&full), size(&longer));
}

/// A run and its model, side by side.
struct Walk {
    workflow: &'static Workflow,
    model: Model,
    run: Run,
    at: i64,
    /// Everything that was recorded, as the journal would keep it.
    journal: Vec<String>,
    /// Every effect that was to be started, with its attempt.
    started: BTreeSet<(String, u32)>,
    /// The answers that were given, and the phases and waits that were come to.
    seen: BTreeSet<String>,
}

impl Walk {
    fn new(name: &str, limits: Limits) -> Self {
        let workflow = workflow(name);
        let begun = begin(workflow, beginning(checked(&limits)));
        let model = Model::new(Oracle::of(name), limits, START);
        let mut walk = Self {
            workflow,
            model,
            run: begun.run.clone(),
            at: START,
            journal: Vec::new(),
            started: BTreeSet::new(),
            seen: BTreeSet::new(),
        };
        walk.keep(&begun).expect("a run begins well");
        walk
    }

    fn go(&mut self, walk: &[u64]) -> Result<(), TestCaseError> {
        let mut trace = Vec::new();
        for number in walk {
            let mut dice = Dice(*number);
            self.at = input::time(&mut dice, self.at, &self.model);
            let happening = input::happening(&mut dice, &self.model);
            trace.push((self.at - START, happening));
            self.take(&trace[trace.len() - 1].1).map_err(|error| {
                TestCaseError::fail(format!(
                    "{error}\nafter {trace:#?}\nthe model stands at {:#?}",
                    self.model
                ))
            })?;
        }
        let mut fold = Fold::default();
        for line in &self.journal {
            let record: Record = serde_json::from_str(line).expect("a record can be read back");
            fold.add(&record).expect("a record can be folded");
        }
        let (folded, text) = fold.finish().expect("a run has begun");
        prop_assert_eq!(&folded, &self.run, "replay equals live");
        prop_assert_eq!(&text, &self.workflow.text);
        let size = serde_json::to_string(&self.run).expect("a run is JSON").len();
        prop_assert!(size < LARGEST_RUN, "{} bytes", size);
        Ok(())
    }

    fn take(&mut self, happening: &Happening) -> Result<(), TestCaseError> {
        let ask = self.ask(happening);
        let wanted = self.model.happen(happening, self.at);
        let answered = step(self.workflow, &self.run, &ask);
        prop_assert_eq!(answer(&answered), wanted.clone());
        match wanted {
            Answer::Redirected(reasons) => self.seen.extend(reasons.into_iter().map(str::to_owned)),
            Answer::Refused(why) => drop(self.seen.insert(format!("{why:?}"))),
            Answer::Moved | Answer::Noted | Answer::Parked => {}
        }
        self.seen.insert(self.model.phase.to_owned());
        self.seen.insert(format!("{:?}", self.model.standing));
        match answered {
            Ok(step) => {
                self.keep(&step)?;
                self.run = step.run;
            }
            Err(refused) => prop_assert_eq!(step(self.workflow, &self.run, &ask).err(), Some(refused)),
        }
        self.compare()
    }

    /// Keeps the records, and checks what holds for every step.
    fn keep(&mut self, step: &Step) -> Result<(), TestCaseError> {
        prop_assert!(!step.records.is_empty());
        let mut from = self.journal.last().map(|_| self.run.phase.clone());
        for record in &step.records {
            prop_assert_eq!(&record.from, &from);
            from = Some(record.phase.clone());
            self.journal.push(serde_json::to_string(record).expect("a record is JSON"));
        }
        prop_assert_eq!(from.as_ref(), Some(&step.run.phase));
        prop_assert_eq!(step.run.events, self.journal.len() as u64);
        for effect in &step.effects {
            prop_assert!(
                self.started.insert((effect.id.clone(), effect.attempt)),
                "{} was started before",
                effect.id
            );
            prop_assert_eq!(Some(effect), step.run.effect.as_ref());
        }
        if step.run.is_open() {
            prop_assert_eq!(step.run.effect.as_ref().map(|effect| &effect.phase), Some(&step.run.phase));
        }
        Ok(())
    }

    fn ask(&self, happening: &Happening) -> Ask {
        let effect = self.run.effect.clone().map(|effect| (effect.id, effect.attempt));
        let (id, attempt) = effect.unwrap_or_else(|| ("e0".to_owned(), 1));
        let event = match happening {
            Happening::Event(named) => {
                let mut ask = clear(named.name, Time::from_millis(self.at));
                if !named.clears {
                    ask.observations.diff =
                        Some(Seen::Value(engine::Diff { files: Vec::new(), count: 0, ..code_diff() }));
                    ask.observations.boxes = Some(Seen::Failed("gh: exit 1".to_owned()));
                }
                if let Some((text, tree)) = named.failure {
                    // The same failure, with other numbers in it.
                    ask.data.insert("failure".to_owned(), json!(format!("{text} after {} ms", self.at)));
                    ask.observations.tree = Some(Seen::Value(tree.to_owned()));
                }
                if named.name == "chunks_defined" {
                    let acs: Vec<[String; 1]> =
                        (0..named.chunks).map(|chunk| [format!("AC-{chunk}")]).collect();
                    ask.data.insert("acs".to_owned(), json!(acs));
                }
                if named.by_agent {
                    ask.actor = Actor::Agent;
                }
                find_all(self.workflow, &self.run, &mut ask);
                let (id, attempt) = match named.attempt {
                    Attempt::None => return ask,
                    Attempt::Current => (id, attempt),
                    Attempt::Replaced if attempt > 1 => (id, attempt - 1),
                    Attempt::Replaced => ("e999999".to_owned(), 1),
                };
                ask.data.insert("effect".to_owned(), json!(id));
                ask.data.insert("attempt".to_owned(), json!(attempt));
                return ask;
            }
            Happening::Edited { file } => Event::FileEdited { file: (*file).to_owned() },
            Happening::DeadlinePassed => Event::DeadlinePassed,
            Happening::AttemptStarted { current } => {
                Event::AttemptStarted { effect: if *current { id } else { "e999999".to_owned() } }
            }
            Happening::Answered { option, open } => {
                let decision = self.decision().filter(|_| *open).map(|decision| decision.id.clone());
                let decision = decision.unwrap_or_else(|| "r1.999999".to_owned());
                Event::DecisionAnswered { decision, option: (*option).to_owned() }
            }
            Happening::Stopped => Event::StopRequested,
            Happening::Resumed => Event::Resumed,
            Happening::Reset => Event::ResetRequested,
            Happening::Noted => Event::OwnerChanged { owner: Owner { pid: 7, ..Owner::default() } },
            Happening::RailBroken { restored } => Event::RailBroken {
                what: "branch `main` was moved".to_owned(),
                kept: Some("refs/warp/salvage/k3/1".to_owned()),
                breach: if *restored { Breach::Undone } else { Breach::Doubtful },
            },
        };
        Ask::new(event, Time::from_millis(self.at))
    }

    fn decision(&self) -> Option<&Decision> {
        match &self.run.standing {
            Standing::Parked { decision } => Some(decision),
            Standing::Active | Standing::Suspended { .. } | Standing::Stopped | Standing::Ended { .. } => {
                None
            }
        }
    }

    /// Compares what the documents name.
    fn compare(&self) -> Result<(), TestCaseError> {
        let (model, run) = (&self.model, &self.run);
        prop_assert_eq!(run.phase.as_str(), model.phase);
        let standing = match &run.standing {
            Standing::Active => model::Standing::Active,
            Standing::Suspended { .. } => unreachable!("no walk waits for a provider"),
            Standing::Stopped => model::Standing::Stopped,
            Standing::Ended { .. } => model::Standing::Over,
            Standing::Parked { decision } => {
                let reasons = [
                    "deadline",
                    "max_iterations",
                    "max_phase_iterations",
                    "max_fix_cycles",
                    "tests_written",
                    "mark_story_complete",
                    "forced_receipts",
                    "rail_broken",
                    "unproved_pull_request",
                ];
                let reason = reasons.into_iter().find(|reason| *reason == decision.reason);
                model::Standing::Parked(reason.expect("a known reason"))
            }
        };
        prop_assert_eq!(&standing, &model.standing);
        prop_assert_eq!(run.origin.as_ref().map(|origin| origin.as_str()), model.origin);
        for name in run.counters.keys().map(String::as_str).chain(model.counters.keys().copied()) {
            prop_assert_eq!(run.counter(name), model.count(name), "{}", name);
        }
        let trip = run.trip.as_ref().map(|trip| {
            (
                trip.reasons.iter().map(String::as_str).collect::<Vec<_>>(),
                trip.at.millis(),
                trip.from_phase.as_str(),
            )
        });
        prop_assert_eq!(trip, model.trip.clone().map(|trip| (trip.reasons, trip.at, trip.from)));
        prop_assert_eq!(
            run.last_failure.as_ref().map(|failure| failure.times),
            model.failure.map(|failure| failure.2)
        );
        if run.is_open() {
            prop_assert_eq!(run.effect.as_ref().map(|effect| effect.attempt), Some(model.attempt));
        }
        let edits: Vec<(&str, u64)> =
            run.edit_counts.iter().map(|(file, count)| (file.as_str(), *count)).collect();
        prop_assert_eq!(edits, model.edits.iter().map(|(file, count)| (*file, *count)).collect::<Vec<_>>());
        prop_assert_eq!(run.doom_loop_events.len(), model.doom_loops.min(100));
        let drive = &model.drive;
        prop_assert_eq!((run.chunk.index, run.chunk.acs.len() as u64), (drive.chunk, drive.chunks));
        prop_assert_eq!(
            [run.committed, run.report_filed, run.aborted],
            [drive.committed, drive.report_filed, drive.aborted]
        );
        let metrics = [
            run.metrics.commits,
            run.metrics.reports_filed,
            run.metrics.tests_run,
            run.metrics.chunks_completed,
        ];
        prop_assert_eq!(metrics, [drive.commits, drive.reports, drive.tests, drive.chunks_completed]);
        let forced = run.receipts.iter().filter(|receipt| receipt.forced).count();
        prop_assert_eq!((run.errors.len(), forced), (model.forced + model.rejected, model.forced));
        Ok(())
    }
}

fn checked(limits: &Limits) -> Settings {
    let counts = limits.counts.iter().filter(|(name, _)| **name != "unblocked");
    let counts = counts.map(|(name, value)| (*name, json!(value)));
    let flags: [(&str, Value); 3] = [
        ("skip_brainstorm", json!(limits.skip_brainstorm)),
        ("skip_test_review", json!(limits.skip_test_review)),
        ("phase_timeout_enforcement", json!(limits.enforcement)),
    ];
    settings(counts.chain(flags))
}

/// Says in the model's words what the engine answered.
fn answer(answered: &Result<Step, Refused>) -> Answer {
    match answered {
        Ok(step) => match &step.outcome {
            Outcome::Moved => Answer::Moved,
            Outcome::Redirected { reasons } => {
                Answer::Redirected(reasons.iter().map(|reason| known(reason)).collect())
            }
            Outcome::Noted => Answer::Noted,
            Outcome::Parked { .. } => Answer::Parked,
        },
        Err(refused) => Answer::Refused(match refused {
            Refused::NotPossible { .. } => Why::NotPossible,
            Refused::Gate { .. } | Refused::Advisory { .. } | Refused::Once { .. } => Why::Gate,
            Refused::Parked { .. } => Why::Parked,
            Refused::Suspended { .. } => unreachable!("no walk waits for a provider"),
            Refused::Stopped { .. } => Why::Stopped,
            Refused::Ended { .. } => Why::Over,
            Refused::StaleAttempt { .. } => Why::StaleAttempt,
            Refused::Data { .. } => Why::Data,
            Refused::NeedsPerson { .. } => Why::NeedsPerson,
            Refused::OwnWork { .. } => Why::OwnWork,
            Refused::NotNow { .. } => Why::NotNow,
        }),
    }
}

/// Returns a reason as one of the names in the documents.
fn known(reason: &str) -> &'static str {
    let reasons = [
        "phase_timeout",
        "retry_exceeded",
        "coding_cycles_exceeded",
        "no_progress",
        "total_chunks_exceeded",
        "session_timeout",
        "max_fix_cycles",
        "ci_exhausted",
        "infra_exhausted",
        "review_exhausted",
        "merge_blocked",
        "blocked_again",
    ];
    reasons.into_iter().find(|known| *known == reason).unwrap_or("a reason that no document has")
}
