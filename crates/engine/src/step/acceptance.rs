//! Acceptance tests: they fail before the work begins, stay as they are while it is done, and pass when it is.
//!
//! Warp runs them itself, so it needs nobody's word; where it cannot (no command is known, or tests are switched off) it
//! has the agent's. They change only with the plan and with a person's approval; where no person looks at tests
//! (`skip_test_review`) they stay as they are.

use super::{
    Refused, Step, acts,
    draft::Draft,
    notes::{APPROVE, REJECT},
    take_row,
};
use crate::{
    Actor, Ask, Change, Claim, Decision, Event, OfferedTests, Probe, Receipt, Run, Seen, Standing, TestsSeen,
    TestsVerdict, Workflow,
    workflow::{Phase, ReceiptKind, Row},
};

/// The gates' names in refusals.
const TESTS: &str = "tests";
const FROZEN: &str = "frozen_tests";
/// Why a run is parked whose acceptance tests have changed with the plan.
const CHANGED: &str = "tests_changed";
/// What the receipt of acceptance tests says that stay as they were, though the plan did not.
const REJECTED: &str = "a person rejected the tests that were changed with the plan";
/// What is kept of the data of an event that waits for a person: what it shows for its phase. What only warp or a person
/// can say is not among it.
const SHOWN: &[&str] =
    &["artifact", "git_sha", "summary", "failed_approaches", "note", "status", "failure", "reason"];
/// The entry of a run's artifacts that is the plan.
const PLAN: &str = "plan_file";
/// Why a changed plan changes no tests where nobody looks at them.
const UNSEEN: &str = ": no person looks at the tests of this run (`skip_test_review`), so they stay as they are even if the plan changes";
/// How many changed files are named.
const NAMED: usize = 5;

/// Whether tests were run.
pub(super) enum Looked {
    Seen,
    /// There was nothing to be run.
    Nothing,
}

/// What became of the frozen tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frozen {
    /// They are as they were.
    Same,
    /// They were changed, and so was the plan; a person has to look at them.
    WithPlan,
}

/// Names the run of new tests, in a phase that makes some.
pub(super) fn new_tests(phase: &Phase, file: Option<&str>) -> Option<Probe> {
    let makes = phase.receipt == Some(ReceiptKind::Tests);
    let file = file.filter(|_| makes)?;
    Some(Probe::Tests { file: Some(file.to_owned()), command: None, whole: false })
}

/// Names what has to be looked up about acceptance tests before a row is taken.
pub(super) fn probes(workflow: &Workflow, run: &Run, row: &Row) -> Vec<Probe> {
    let mut probes = if row.completes_phase() { frozen_probes(workflow, run) } else { Vec::new() };
    if row.tests_pass {
        let file = run.artifacts.acceptance_tests_file.clone();
        // The work that is judged may have changed what would be found.
        let command = frozen(workflow, run).and_then(|(_, _, receipt)| receipt.command.clone());
        probes.push(Probe::Tests { file, command, whole: true });
    }
    probes
}

/// Names what tells whether the acceptance tests are what they were when they were frozen.
pub(super) fn frozen_probes(workflow: &Workflow, run: &Run) -> Vec<Probe> {
    let Some((file, at, receipt)) = frozen(workflow, run) else { return Vec::new() };
    let tests = Probe::Frozen { file: file.clone(), at: at.clone(), since: receipt.since.clone() };
    plan_claim(run).map(Probe::Receipt).into_iter().chain([tests]).collect()
}

/// Judges a run of tests that were just written: each must fail, and none by an error.
pub(super) fn judge_new(ask: &Ask) -> Result<Looked, String> {
    let runs = match &ask.observations.tests {
        Some(Seen::Value(runs)) => runs,
        Some(Seen::Failed(why)) => return Err(format!("the tests could not be run: {why}")),
        Some(Seen::Absent(_)) | None => return Ok(Looked::Nothing),
    };
    for run in runs {
        match (run.verdict, run.passed) {
            (TestsVerdict::Failed, 0) => {}
            (TestsVerdict::Failed, passed) => {
                return Err(format!(
                    "{passed} of the tests pass before anything is written; every new test must fail{}",
                    printed(run)
                ));
            }
            (TestsVerdict::Passed, _) => {
                return Err(format!(
                    "the tests pass before anything is written, so they show nothing; every new test must fail{}",
                    printed(run)
                ));
            }
            (TestsVerdict::Errored, _) => {
                return Err(format!(
                    "the tests could not run, which is no failure; every new test must fail, and none by an error{}",
                    printed(run)
                ));
            }
        }
    }
    Ok(Looked::Seen)
}

/// Judges a row that an agent asks for: the tests must pass where the row wants it, and be what they were.
pub(super) fn check(workflow: &Workflow, run: &Run, row: &Row, ask: &Ask) -> Result<Frozen, Refused> {
    if ask.actor != Actor::Agent {
        return Ok(Frozen::Same);
    }
    let refuse = |gate: &str, reason: String| Refused::Gate {
        phase: run.phase.clone(),
        event: row.event.clone(),
        gate: gate.to_owned(),
        reason,
    };
    let frozen = if row.completes_phase() {
        judge_frozen(workflow, run, ask).map_err(|reason| refuse(FROZEN, reason))?
    } else {
        Frozen::Same
    };
    if row.tests_pass {
        judge_passing(workflow, run, ask).map_err(|reason| refuse(TESTS, reason))?;
    }
    Ok(frozen)
}

/// Judges a run of all tests, which have to pass. Acceptance tests that warp has run once are not believed unrun.
fn judge_passing(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<(), String> {
    let has_run = frozen(workflow, run).is_some_and(|(_, _, receipt)| receipt.ran);
    match &ask.observations.tests {
        Some(Seen::Value(runs)) => match runs.iter().find(|run| run.verdict != TestsVerdict::Passed) {
            Some(run) => Err(format!("the tests do not pass{}", printed(run))),
            None => Ok(()),
        },
        Some(Seen::Failed(why)) => Err(format!("the tests could not be run: {why}")),
        Some(Seen::Absent(why)) if has_run => Err(format!(
            "the acceptance tests could be run when they were written, and cannot any more: {why}"
        )),
        Some(Seen::Absent(_)) | None => Ok(()),
    }
}

/// Tells whether the frozen tests are what they were; the error says which are not.
pub(super) fn judge_frozen(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Frozen, String> {
    let Some((_, at, _)) = frozen(workflow, run) else { return Ok(Frozen::Same) };
    let changed = match &ask.observations.frozen {
        Some(Seen::Value(changed)) if changed.is_empty() => return Ok(Frozen::Same),
        Some(Seen::Value(changed)) => changed,
        Some(Seen::Failed(why)) => return Err(format!("the acceptance tests could not be looked at: {why}")),
        Some(Seen::Absent(_)) | None => return Ok(Frozen::Same),
    };
    let may_change = run.may_change_tests(workflow);
    if may_change && has_other_plan(workflow, run, ask) {
        return Ok(Frozen::WithPlan);
    }
    let named: Vec<String> = changed.iter().take(NAMED).map(|file| format!("`{file}`")).collect();
    let at = at.get(..10).unwrap_or(at);
    Err(format!(
        "the acceptance tests are frozen, and these have changed since {at}: {}; put them back{}",
        named.join(", "),
        if may_change { ", or change the plan first if that is what is wrong" } else { UNSEEN }
    ))
}

/// Returns the receipt of tests that were changed with the plan.
fn changed(draft: &Draft<'_>, ask: &Ask) -> Option<Receipt> {
    let (_, _, before) = frozen(draft.workflow, &draft.run)?;
    let phase = &draft.run.phase;
    Some(Receipt {
        git_sha: acts::head(ask).or_else(|| before.git_sha.clone()),
        timestamp: draft.at,
        digest: None,
        note: Some(format!("changed in `{phase}`, with the plan")),
        plan: plan_digest(&draft.run, ask),
        ..before.clone()
    })
}

/// Asks a person to look at tests that were changed with the plan. Until they have, nothing is taken and the others stay
/// frozen.
pub(super) fn offer(mut draft: Draft<'_>, row: &Row, ask: &Ask) -> Step {
    let phase = draft.run.phase.clone();
    if let Some(receipt) = changed(&draft, ask) {
        let shown = ask.data.iter().filter(|(field, _)| SHOWN.contains(&field.as_str()));
        let data = shown.map(|(field, value)| (field.clone(), value.clone())).collect();
        let offered = Some(Box::new(OfferedTests { event: row.event.clone(), data, receipt }));
        draft.change(Change::TestsOffered { offered });
    }
    let words = format!(
        "The plan and the acceptance tests were changed in `{phase}`. Do they still say what is wanted?"
    );
    draft.park(CHANGED, words, &[APPROVE, REJECT, "stop"]);
    draft.finish()
}

/// Returns the changed tests that an answer is about.
fn offered<'a>(run: &'a Run, decision: &Decision) -> Option<&'a OfferedTests> {
    run.offered_tests.as_ref().filter(|_| decision.reason == CHANGED)
}

/// Returns the changed tests that an answer approves of.
pub(super) fn approved<'a>(run: &'a Run, decision: &Decision, option: &str) -> Option<&'a OfferedTests> {
    offered(run, decision).filter(|_| option == APPROVE)
}

/// Takes a person's answer about tests that were changed with the plan; nothing if it is about something else.
pub(super) fn answered(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    decision: &Decision,
    option: &str,
) -> Option<Result<Step, Refused>> {
    let offered = offered(run, decision)?;
    let mut draft = Draft::new(workflow, run, ask);
    draft.change(Change::StandingSet { standing: Standing::Active });
    draft.change(Change::TestsOffered { offered: None });
    if option != APPROVE {
        return Some(reject(draft, ask, offered));
    }
    draft.change(Change::ReceiptAdded { receipt: offered.receipt.clone() });
    let freed = draft.finish();
    let (event, data) = (offered.event.clone(), offered.data.clone());
    let row = Ask { event: Event::Named(event.clone()), actor: Actor::Engine, data, ..ask.clone() };
    Some(take_row(workflow, &freed.run, &row, &event).map(|taken| {
        let records = freed.records.into_iter().chain(taken.records).collect();
        Step { records, ..taken }
    }))
}

/// Keeps the tests that are frozen, for the changed plan too, and lets the agent know why.
fn reject(mut draft: Draft<'_>, ask: &Ask, offered: &OfferedTests) -> Result<Step, Refused> {
    let why = acts::text(&ask.data, "note")?.unwrap_or_else(|| "no reason was given".to_owned());
    let before = frozen(draft.workflow, &draft.run).map(|(_, _, before)| before.clone());
    if let Some(before) = before {
        let (plan, note) = (offered.receipt.plan.clone(), Some(REJECTED.to_owned()));
        let receipt = Receipt { plan, note, timestamp: draft.at, ..before };
        draft.change(Change::ReceiptAdded { receipt });
    }
    let message = format!(
        "the acceptance tests that were changed with the plan were rejected by a person: {why}; those stay frozen that there \
         were before, and the work has to meet them"
    );
    acts::add_error(&mut draft, message);
    draft.change(Change::PhaseClockSet { at: draft.at });
    Ok(draft.finish())
}

/// Returns the frozen tests: the file, the commit in which they are, and their receipt. In their own phase they are free.
fn frozen<'a>(workflow: &Workflow, run: &'a Run) -> Option<(&'a String, &'a String, &'a Receipt)> {
    let made_by = workflow.phases.iter().find(|phase| phase.receipt == Some(ReceiptKind::Tests))?;
    if run.phase == made_by.name {
        return None;
    }
    let receipt = run.receipt(&made_by.name).filter(|receipt| !receipt.forced)?;
    Some((receipt.artifact.as_ref()?, receipt.git_sha.as_ref()?, receipt))
}

impl Run {
    /// Returns the acceptance tests that are frozen where the run stands.
    pub fn frozen_tests(&self, workflow: &Workflow) -> Option<FrozenTests> {
        let (file, at, receipt) = frozen(workflow, self)?;
        Some(FrozenTests { file: file.clone(), at: at.clone(), since: receipt.since.clone() })
    }

    /// Tells whether frozen tests may change with the plan: only where a person looks at them again.
    pub fn may_change_tests(&self, workflow: &Workflow) -> bool {
        let asks = workflow.questions.iter().find(|question| {
            workflow.phase(&question.phase).is_some_and(|phase| phase.receipt == Some(ReceiptKind::Tests))
        });
        asks.is_some_and(|question| !question.unless.is_some_and(|setting| self.settings.get(setting)))
    }

    /// Tells whether a person has rejected changes of the frozen tests, which may still lie in the tree.
    pub fn has_rejected_tests(&self, workflow: &Workflow) -> bool {
        frozen(workflow, self).is_some_and(|(_, _, receipt)| receipt.note.as_deref() == Some(REJECTED))
    }

    /// Returns the digest of the plan for which the acceptance tests are frozen, where it is known.
    pub fn frozen_plan(&self, workflow: &Workflow) -> Option<&str> {
        let of_plan = |receipt: &'_ &Receipt| {
            let phase = workflow.phase(&receipt.phase);
            let is_plans = phase.is_some_and(|phase| phase.artifact.as_deref() == Some(PLAN));
            receipt.plan.is_some() || (is_plans && receipt.digest.is_some())
        };
        let receipt = self.receipts.iter().rev().find(of_plan)?;
        receipt.plan.as_deref().or(receipt.digest.as_deref())
    }
}

/// Tells whether a file is a document: what is said about the work, and no part of it.
pub fn is_document(file: &str) -> bool {
    file.starts_with("docs/") || file.ends_with(".md")
}

/// Acceptance tests that must stay as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenTests {
    pub file: String,
    /// The commit that has them as they must be.
    pub at: String,
    /// What is new since that commit is frozen too.
    pub since: Option<String>,
}

fn plan_claim(run: &Run) -> Option<Claim> {
    let artifact = run.artifacts.plan_file.clone()?;
    Some(Claim { artifact: Some(artifact), git_sha: None, since: None })
}

fn plan_digest(run: &Run, ask: &Ask) -> Option<String> {
    match ask.observations.receipt(&plan_claim(run)?)?.file.as_ref()? {
        Seen::Value(file) => file.digest.clone(),
        Seen::Absent(_) | Seen::Failed(_) => None,
    }
}

/// Tells whether the plan is another one than its newest receipt says. Where that is not known it is not.
fn has_other_plan(workflow: &Workflow, run: &Run, ask: &Ask) -> bool {
    let (before, now) = (run.frozen_plan(workflow), plan_digest(run, ask));
    before.is_some() && now.is_some() && before != now.as_deref()
}

fn printed(run: &TestsSeen) -> String {
    let output = run.output.trim();
    let output = if output.is_empty() { String::new() } else { format!("\n{output}") };
    format!(" (`{}` ended with {}){output}", run.command, run.end)
}
