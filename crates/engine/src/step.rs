//! What a run does next.
//!
//! [`needs`] says what has to be looked up before an event can be decided; [`step`] decides: the run as it
//! then stands, the records for the journal, the effects to be started, and advice. The caller records first
//! and acts second.

mod acceptance;
mod acts;
mod budgets;
mod criteria;
mod draft;
pub(crate) mod evidence;
mod measure;
mod notes;
mod overrule;
mod promise;
pub(crate) mod receipts;
mod reconcile;
mod refused;
pub(crate) mod seeds;
mod turns;
mod waits;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use acceptance::{FrozenTests, is_document};
pub use criteria::{CRITERIA, MOST_CRITERIA};
pub use notes::doom_loop;
pub use refused::{Refused, note_of};
pub use turns::PROVIDER;

use crate::{
    Actor, Ask, Branches, Change, Effect, Event, EventName, Metrics, Observations, Owner, PhaseName, Probe,
    Record, Run, RunId, Settings, Severity, Standing, Time, Usage, Verdict, Workflow,
    change::Fold,
    event::{DEEPEST, is_deeper},
    gate,
    run::{Artifacts, ChunkPlan, HistoryRow},
    workflow::{Act, Activity, EvidenceScope, ReceiptKind, Row, SemanticGate, Target},
};
use draft::Draft;

/// The name in refusals of the commands that a project has configured.
pub const VERIFICATION_GATES: &str = "verification_gates";

/// The longest data that may come with an event, in bytes of JSON.
const LARGEST_DATA: usize = 256 * 1024;

/// A run after an event, and what is to be done about it.
#[derive(Debug)]
#[must_use = "what is dropped is never recorded"]
pub struct Step {
    pub run: Run,
    /// For the journal, in order; at least one.
    pub records: Vec<Record>,
    /// Work that now has to be done in the world.
    pub effects: Vec<Effect>,
    pub advice: Vec<Advice>,
    pub outcome: Outcome,
}

/// How an accepted event ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Moved,
    /// A budget sent the run elsewhere.
    Redirected {
        reasons: Vec<String>,
    },
    /// Recorded without a move.
    Noted,
    /// The run waits for a person.
    Parked {
        decision: String,
    },
}

/// A word to whoever asked; nothing depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice(pub String);

/// What a new run begins with.
#[derive(Clone, Debug)]
pub struct Beginning {
    pub id: RunId,
    pub parent: Option<RunId>,
    pub settings: Settings,
    /// The root directory of its workspace; empty if it has none.
    pub root: String,
    pub owns_workspace: bool,
    pub level: u64,
    pub owner: Owner,
    pub github_user: String,
    pub issue: Option<String>,
    pub feature: Option<String>,
    pub branches: Branches,
    /// The command that tests the project where none is set, if one was found.
    pub found_test_command: Option<String>,
    /// The command that installs what the tests need where none is set, if one was found.
    pub found_setup_command: Option<String>,
    /// Files that are not committed, each with its mode and the id of its content.
    pub dirty: BTreeMap<String, String>,
    pub at: Time,
}

/// Begins a run.
pub fn begin(workflow: &Workflow, beginning: Beginning) -> Step {
    let phase = workflow.first_phase(&beginning.settings).clone();
    let at = beginning.at;
    let branch = beginning.branches.branch.clone();
    let run = Run {
        id: beginning.id,
        parent: beginning.parent,
        workflow: workflow.name.to_string(),
        workflow_digest: workflow.digest.to_string(),
        settings: beginning.settings,
        root: beginning.root,
        owns_workspace: beginning.owns_workspace,
        level: beginning.level,
        owner: beginning.owner,
        github_user: beginning.github_user,
        issue: beginning.issue,
        feature: beginning.feature,
        branches: beginning.branches,
        found_test_command: beginning.found_test_command,
        found_setup_command: beginning.found_setup_command,
        dirty: beginning.dirty,
        phase: phase.clone(),
        standing: Standing::Active,
        origin: None,
        phase_reason: None,
        started_at: at,
        session_clock: at,
        phase_started_at: at,
        updated_at: at,
        events: 0,
        counters: BTreeMap::new(),
        trip: None,
        effect: Some(Effect {
            id: "e0".to_owned(),
            attempt: 1,
            phase: phase.clone(),
            act: crate::Act::Nothing,
        }),
        last_failure: None,
        history: vec![HistoryRow { phase, at, from: None, event: None }],
        chunk: ChunkPlan::default(),
        completed_chunks: Vec::new(),
        commit_hashes: Vec::new(),
        docs_updated: false,
        tests_passed: false,
        tested_tree: None,
        tested_commit: None,
        committed: false,
        report_filed: false,
        aborted: false,
        metrics: Metrics::default(),
        edit_counts: BTreeMap::new(),
        tally_taken: None,
        doom_loop_events: Vec::new(),
        test_names: Vec::new(),
        named_tests: Vec::new(),
        held: Vec::new(),
        accepted_held: Vec::new(),
        phase_head: None,
        phases_completed: Vec::new(),
        artifacts: Artifacts {
            branch: Some(branch).filter(|branch| !branch.is_empty()),
            ..Artifacts::default()
        },
        doubted_pr: None,
        deferred: Vec::new(),
        told: Vec::new(),
        findings: Vec::new(),
        dev: None,
        baseline: None,
        turn: None,
        conversation: None,
        other_conversations: Vec::new(),
        idle_turns: 0,
        usage: Usage::default(),
        chunk_usage: Vec::new(),
        receipts: Vec::new(),
        offered_tests: None,
        objections: Vec::new(),
        refused: None,
        facts: Box::default(),
        checkpoints: Vec::new(),
        errors: Vec::new(),
        unknown_fields: Map::new(),
    };
    begin_as(workflow, run, "init")
}

/// Begins a run that stands where `run` stands, as when a state file is adopted.
pub(crate) fn begin_as(workflow: &Workflow, run: Run, event: &str) -> Step {
    let mut run = Run { settings: run.settings.whole(), ..run };
    run.direct(workflow);
    let mut record =
        Record::new(EventName::new(event), run.started_at.max(run.updated_at), None, run.phase.clone());
    let effects = run.effect.clone().into_iter().collect();
    record.changes.push(Change::Began { run: Box::new(run), workflow_text: workflow.text.to_string() });
    let mut fold = Fold::default();
    fold.add(&record).expect("a record that begins a run can be folded");
    let (run, _) = fold.finish().expect("a run has begun");
    Step { run, records: vec![record], effects, advice: Vec::new(), outcome: Outcome::Moved }
}

/// Names what has to be looked up before `event` of `actor` can be decided.
pub fn needs(
    workflow: &Workflow,
    run: &Run,
    actor: Actor,
    event: &Event,
    data: &Map<String, Value>,
) -> Vec<Probe> {
    let mut probes = probes(workflow, run, event, data);
    // A person is believed, and need not wait for what proves nothing to anybody.
    let is_for_agents = |probe: &Probe| matches!(probe, Probe::Tests { .. } | Probe::Criteria { .. });
    probes.retain(|probe| actor == Actor::Agent || !is_for_agents(probe));
    probes
}

fn probes(workflow: &Workflow, run: &Run, event: &Event, data: &Map<String, Value>) -> Vec<Probe> {
    let Event::Named(name) = event else { return needs_of_note(workflow, run, event) };
    let Some(row) = workflow.row(&run.phase, name.as_str()) else {
        return needs_without_row(workflow, run, name, data);
    };
    let mut probes = evidence::probes(run, row, data);
    if row.completes_phase() {
        probes.extend(receipts::probes(workflow, run, data));
    }
    probes.extend(acceptance::probes(workflow, run, row));
    probes.extend(criteria::probe(workflow, run, row));
    match row.gate {
        Some(SemanticGate::DiffRelevanceCheck) => {
            probes.push(Probe::Diff { base: run.chunk.base.clone(), words: gate::criteria_words(run) });
        }
        Some(SemanticGate::AcCountCheck) => probes.extend(boxes_of(run)),
        None => {}
    }
    probes.extend(seeds::probe(run, row));
    for act in row.acts.iter() {
        match act {
            Act::DefineChunks | Act::TakeNextChunk => {
                probes.push(Probe::Head);
                probes.extend(boxes_of(run));
            }
            Act::MarkCommit | Act::MarkFinalTest | Act::CompletePhase => probes.push(Probe::Head),
            Act::CompleteChunk => probes.extend(reconcile::probes(run)),
            Act::MarkMended => probes.extend(reconcile::commit_probe(run)),
            Act::MarkTestsFailed | Act::MarkDrift if data.contains_key("failure") => probes.push(Probe::Tree),
            Act::SelectWork
            | Act::MarkDocs
            | Act::MarkTestsPassed
            | Act::MarkTestsFailed
            | Act::MarkDrift
            | Act::MarkReport
            | Act::MarkAborted
            | Act::StartOver
            | Act::RenewBudgets
            | Act::RenewOrigin => {}
        }
    }
    let commands = verification_gates(run, row);
    if !commands.is_empty() {
        probes.push(Probe::Commands(commands));
    }
    if measure::wants_usage(workflow, run, row) {
        probes.push(Probe::Usage { since: run.started_at });
    }
    probes
}

/// Names what an event wants that is no row: a question, the end of a run, a turn.
fn needs_without_row(
    workflow: &Workflow,
    run: &Run,
    event: &EventName,
    data: &Map<String, Value>,
) -> Vec<Probe> {
    if workflow.question(&run.phase, event.as_str()).is_some() {
        let mut probes = receipts::probes(workflow, run, data);
        probes.push(Probe::Head);
        return probes;
    }
    if workflow.close_event.as_ref() == Some(event) && workflow.is_final(&run.phase) {
        return promise::probes(workflow, run);
    }
    let revises =
        workflow.phase(&run.phase).is_some_and(|phase| phase.receipt == Some(ReceiptKind::Revision));
    if revises && workflow.ticks(&run.phase, event.as_str()).is_some() {
        // The phase may be left with this turn.
        return receipts::probes(workflow, run, data);
    }
    Vec::new()
}

/// Names what an event of the engine's own wants: an approval completes the phase.
fn needs_of_note(workflow: &Workflow, run: &Run, event: &Event) -> Vec<Probe> {
    let next_chunk = || std::iter::once(Probe::Head).chain(boxes_of(run)).collect();
    match (event, &run.standing) {
        (Event::ChunkDeferred { .. }, _) => next_chunk(),
        (Event::DecisionAnswered { option, .. }, Standing::Parked { decision }) => {
            if option == turns::SKIP && decision.deadline.is_some() {
                return next_chunk();
            }
            if let Some(offered) = acceptance::approved(run, decision, option) {
                return probes(workflow, run, &Event::Named(offered.event.clone()), &offered.data);
            }
            if let Some(refused) = overrule::taken(workflow, run, decision, option) {
                return probes(workflow, run, &Event::Named(refused.event.clone()), &refused.data);
            }
            workflow.question(&run.phase, &decision.reason).map(|_| Probe::Head).into_iter().collect()
        }
        (Event::DecisionAnswered { decision, option }, Standing::Active) => {
            match turns::answered_row(workflow, run, decision, option) {
                Some(row) => probes(workflow, run, &Event::Named(row), &Map::new()),
                None => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Returns the commands that must pass before a row is taken. What ends a run or cleans up is never held up.
fn verification_gates(run: &Run, row: &Row) -> Vec<String> {
    if row.exempt { Vec::new() } else { run.settings.verification_gates(row.event.as_str()) }
}

fn boxes_of(run: &Run) -> Option<Probe> {
    run.issue.clone().map(|issue| Probe::Boxes { issue })
}

/// Decides what `ask` does to `run`.
pub fn step(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Step, Refused> {
    let name = ask.event.name();
    if let Standing::Ended { how } = &run.standing {
        return Err(Refused::Ended { event: name, how: how.clone() });
    }
    let size = serde_json::to_vec(&ask.data).map(|json| json.len()).unwrap_or(usize::MAX);
    if size > LARGEST_DATA {
        return Err(Refused::data("data", format!("has {size} bytes; the most is {LARGEST_DATA}")));
    }
    if ask.data.values().any(|value| is_deeper(value, DEEPEST)) {
        return Err(Refused::data("data", format!("is nested deeper than {DEEPEST} levels")));
    }
    let Event::Named(event) = &ask.event else { return notes::note(workflow, run, ask) };
    if *event == *Event::NOTED {
        check_attempt(run, ask)?;
        return promise::noted(workflow, run, ask);
    }
    if workflow.row(&run.phase, event.as_str()).is_some() {
        check_standing(run, event)?;
        return take_row(workflow, run, ask, event);
    }
    if workflow.close_event.as_ref() == Some(event) && workflow.is_final(&run.phase) {
        check_standing(run, event)?;
        check_attempt(run, ask)?;
        return promise::close(workflow, run, ask);
    }
    if let Some(question) = workflow.question(&run.phase, event.as_str()) {
        check_standing(run, event)?;
        check_attempt(run, ask)?;
        return notes::question(workflow, run, ask, question);
    }
    let Some(tick) = workflow.ticks(&run.phase, event.as_str()) else {
        return Err(Refused::not_possible(workflow, run, event));
    };
    check_standing(run, event)?;
    check_attempt(run, ask)?;
    if ask.actor == Actor::Agent {
        let why = "warp counts turns and crashes by itself; say what the phase has done instead".to_owned();
        return Err(Refused::NotNow { event: event.clone(), why });
    }
    Ok(notes::tick(workflow, run, ask, tick))
}

/// A run that waits for a person takes no events of its workflow; stopping it is always possible.
fn check_standing(run: &Run, event: &EventName) -> Result<(), Refused> {
    match &run.standing {
        Standing::Active => Ok(()),
        Standing::Parked { decision } => {
            Err(Refused::Parked { event: event.clone(), decision: Box::new(decision.clone()) })
        }
        Standing::Suspended { wait } => {
            Err(Refused::Suspended { event: event.clone(), wait: Box::new(wait.clone()) })
        }
        Standing::Stopped => Err(Refused::Stopped { event: event.clone(), phase: run.phase.clone() }),
        Standing::Ended { how } => Err(Refused::Ended { event: event.clone(), how: how.clone() }),
    }
}

fn take_row(workflow: &Workflow, run: &Run, ask: &Ask, event: &EventName) -> Result<Step, Refused> {
    let row = workflow.row(&run.phase, event.as_str()).expect("the caller found the row");
    // To stop a run is a person's, by whatever name.
    let stops = workflow.stop_event.as_ref() == Some(event);
    if ask.actor == Actor::Agent && (stops || row.needs_person(&run.settings)) {
        return Err(Refused::NeedsPerson { phase: run.phase.clone(), event: event.clone() });
    }
    check_own_work(workflow, run, row, ask)?;
    check_attempt(run, ask)?;
    check_status(row, ask)?;
    check_findings(run, row, ask)?;
    criteria::check(run, row, ask)?;
    let mut draft = Draft::new(workflow, run, ask);
    overrule::note(&mut draft, row, check_gates(run, row, ask)?);
    draft.advise_all(evidence::check(workflow, run, row, ask)?);
    acts::check(row, run, ask)?;
    if row.completes_phase() {
        draft.advise_all(receipts::check(workflow, run, ask)?);
    }
    if acceptance::check(workflow, run, row, ask)? == acceptance::Frozen::WithPlan {
        return Ok(acceptance::offer(draft, row, ask));
    }
    draft.advise_all(seeds::check(run, row, ask)?.into_iter().map(Advice).collect());

    draft.count(row);
    if let Some(budget) = budgets::parking(&draft, row, event) {
        // The event is not taken, so it did nothing to the work either.
        budgets::park(&mut draft, budget);
        return Ok(draft.finish());
    }
    measure::note_usage(&mut draft, ask);
    if row.evidence == Some(EvidenceScope::Issue) {
        measure::chunk(&mut draft);
    }
    acts::perform(&mut draft, row, ask, acts::Taken::Asked);
    if let Some(tests) = evidence::expected(run, row, ask).filter(|tests| *tests != run.named_tests) {
        draft.change(Change::TestsExpected { tests });
    }
    if row.evidence.is_some() {
        let names = evidence::names(run, ask);
        if !names.is_empty() {
            draft.change(Change::TestsNamed { names });
        }
    }
    let tripped = budgets::replacing(&draft, row, event);
    match budgets::enforce(&mut draft, tripped) {
        budgets::Enforced::Nothing => {
            let to = target(workflow, run, row);
            let words = || words_for_person(workflow, &to, ask);
            let reason = row.reason.as_deref().map(str::to_owned).or_else(words);
            draft.enter(&to, reason.as_deref());
        }
        budgets::Enforced::Redirected => {}
        budgets::Enforced::Parked => return Ok(draft.finish()),
    }
    budgets::follow(&mut draft);
    Ok(draft.finish())
}

/// What warp does itself is not taken on an agent's word, unless a gate has looked at the work.
fn check_own_work(workflow: &Workflow, run: &Run, row: &Row, ask: &Ask) -> Result<(), Refused> {
    let is_own = workflow.phase(&run.phase).is_some_and(|phase| phase.activity == Activity::Engine);
    if ask.actor != Actor::Agent || !is_own {
        return Ok(());
    }
    match row.gate.map(|gate| gate::judge(gate, run, &ask.observations)) {
        // A refusal is told with its reason, where gates are checked.
        Some(Verdict::Cleared | Verdict::Doubted(_) | Verdict::Refused(_)) => Ok(()),
        Some(Verdict::NotChecked(_)) | None => {
            Err(Refused::OwnWork { phase: run.phase.clone(), event: row.event.clone() })
        }
    }
}

fn target(workflow: &Workflow, run: &Run, row: &Row) -> PhaseName {
    match &row.to {
        Target::Phase(to) if row.acts.contains(&Act::RenewBudgets) => {
            acts::renewed_at(workflow, run).unwrap_or_else(|| to.clone())
        }
        Target::Phase(to) => to.clone(),
        Target::Origin => {
            let fallback = || workflow.origins(&run.phase).into_iter().next().cloned();
            run.origin.clone().or_else(fallback).unwrap_or_else(|| run.phase.clone())
        }
    }
}

/// An outcome that names its effect and attempt counts only if that attempt was not replaced.
fn check_attempt(run: &Run, ask: &Ask) -> Result<(), Refused> {
    let Some(effect) = ask.data.get("effect") else { return Ok(()) };
    let id = effect.as_str().ok_or_else(|| Refused::data("effect", "must be an effect's id"))?;
    let attempt = ask.data.get("attempt").and_then(Value::as_u64);
    let attempt = attempt.ok_or_else(|| Refused::data("attempt", "must be the attempt's number, from 1"))?;
    match &run.effect {
        Some(current) if current.id == id && u64::from(current.attempt) == attempt => Ok(()),
        current => {
            let current = current.clone().map(Box::new);
            Err(Refused::StaleAttempt { effect: id.to_owned(), attempt, current })
        }
    }
}

/// A review status that comes along must be the one that the event stands for.
fn check_status(row: &Row, ask: &Ask) -> Result<(), Refused> {
    let (Some(wanted), Some(given)) = (&row.status, ask.data.get("status")) else { return Ok(()) };
    if given.as_str().map(plain_status) == Some(wanted) {
        return Ok(());
    }
    Err(Refused::data("status", format!("is {given}, but `{}` stands for \"{wanted}\"", row.event)))
}

/// What is wrong is not approved by whoever found it.
fn check_findings(run: &Run, row: &Row, ask: &Ask) -> Result<(), Refused> {
    let approves = row.status.as_deref() == Some("APPROVED");
    let worst = run.findings_here().find(|finding| finding.severity == Severity::P1);
    match worst.filter(|_| approves && ask.actor == Actor::Agent) {
        None => Ok(()),
        Some(finding) => Err(Refused::Gate {
            phase: run.phase.clone(),
            event: row.event.clone(),
            gate: "findings".to_owned(),
            reason: format!("a P1 was reported here, which forbids approval: {finding}"),
        }),
    }
}

/// Returns what whoever needs a person has to say to them, where a phase that is theirs is entered.
fn words_for_person(workflow: &Workflow, to: &PhaseName, ask: &Ask) -> Option<String> {
    workflow.phase(to).filter(|phase| phase.activity == Activity::Person)?;
    let words = ["question", "reason"].iter().find_map(|field| ask.data.get(*field)?.as_str())?;
    Some(turns::cut(words.trim(), turns::LONGEST_SAID)).filter(|words| !words.is_empty())
}

/// Reviewers of different tools say the same in different words.
fn plain_status(status: &str) -> &str {
    match status {
        "APPROVE" => "APPROVED",
        "REQUEST_CHANGES" | "DISCUSS" => "NEEDS_CHANGES",
        other => other,
    }
}

/// Judges the gates of a row; returns what is said about the event all the same.
fn check_gates(run: &Run, row: &Row, ask: &Ask) -> Result<Vec<overrule::Said>, Refused> {
    let mut said = Vec::new();
    if let Some(semantic) = row.gate {
        let gate = semantic.name();
        let (phase, event) = (run.phase.clone(), row.event.clone());
        match gate::judge(semantic, run, &ask.observations) {
            Verdict::Cleared => said.push(overrule::Said::Nothing { gate }),
            Verdict::NotChecked(why) => said.push(overrule::Said::NotChecked(why)),
            Verdict::Doubted(reason) => match run.accepted(gate, &row.event) {
                Some(objection) => said.push(overrule::Said::Accepted(objection.to_string())),
                None if gate::is_enforced(semantic, run) => {
                    return Err(Refused::Advisory { phase, event, gate: gate.to_owned(), reason });
                }
                None => said.push(overrule::Said::Doubt { gate, reason }),
            },
            Verdict::Refused(reason) => {
                return Err(Refused::Gate { phase, event, gate: gate.to_owned(), reason });
            }
        }
    }
    let wanted = verification_gates(run, row);
    match gate::judge_commands(&wanted, &ask.observations.commands) {
        Verdict::Cleared | Verdict::NotChecked(_) => Ok(said),
        Verdict::Doubted(reason) | Verdict::Refused(reason) => Err(Refused::Gate {
            phase: run.phase.clone(),
            event: row.event.clone(),
            gate: VERIFICATION_GATES.to_owned(),
            reason,
        }),
    }
}

/// Judges the configured verification commands of `event` alone, as `warp state verify` does.
pub(crate) fn verify(run: &Run, event: &str, observations: &Observations) -> Verdict {
    gate::judge_commands(&run.settings.verification_gates(event), &observations.commands)
}

impl Run {
    /// Judges the configured verification commands of `event` by their results.
    pub fn verify(&self, event: &str, observations: &Observations) -> Verdict {
        verify(self, event, observations)
    }
}
