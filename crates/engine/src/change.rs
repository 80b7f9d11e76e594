//! Changes: what a decision did to a run. A run is its changes, folded.
//!
//! A [`Record`] is one event as the journal keeps it: what was asked, what was seen, and the changes that
//! were decided. Replay applies changes and decides nothing, so a later version of the engine that would
//! decide otherwise leaves history as it is.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Act, Actor, AgentTurn, Artifacts, Baseline, Checkpoint, ChunkUsage, CompletedChunk, Conversation,
    DeferredChunk, DevSeen, DoomLoop, Effect, EventName, Failure, Finding, Held, HistoryRow, LoopError,
    NamedTest, Objection, Observations, OfferedTests, Owner, PhaseName, Receipt, RefusedEvent, Run, Standing,
    Time, Trip, Usage, Workflow,
    run::{CONVERSATIONS_KEPT, EDITS_KEPT, ENTRIES_KEPT, HISTORY_KEPT, TESTS_KEPT},
};

/// The version of the record format that this engine writes.
const VERSION: u32 = 1;

/// One event of a run, as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub version: u32,
    pub event: EventName,
    pub at: Time,
    /// Who asked.
    #[serde(default)]
    pub actor: Actor,
    /// The phase before; none for the first event.
    pub from: Option<PhaseName>,
    /// The phase after.
    pub phase: PhaseName,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Observations::is_empty")]
    pub observations: Observations,
    pub changes: Vec<Change>,
}

/// Something that an event did to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// The run as it began, with the text of its workflow.
    Began {
        run: Box<Run>,
        workflow_text: String,
    },
    Moved {
        to: PhaseName,
    },
    OriginSet {
        phase: Option<PhaseName>,
    },
    ReasonSet {
        reason: Option<String>,
    },
    CounterSet {
        name: String,
        value: u64,
    },
    BudgetTripped {
        trip: Trip,
    },
    SessionClockSet {
        at: Time,
    },
    PhaseClockSet {
        at: Time,
    },
    FailureSeen {
        failure: Option<Failure>,
    },
    /// So many turns in a row have changed nothing.
    IdleTurnsSet {
        count: u64,
    },
    StandingSet {
        standing: Standing,
    },
    EffectSet {
        effect: Option<Effect>,
    },
    OwnerSet {
        owner: Owner,
    },
    IssueSelected {
        issue: Option<String>,
        branch: Option<String>,
    },
    ChunksDefined {
        acs: Vec<Vec<String>>,
        texts: Vec<String>,
    },
    ChunkTaken {
        index: u64,
        base: Option<String>,
        checked_before: Option<u64>,
    },
    ChunkCompleted {
        chunk: CompletedChunk,
    },
    ChunksCleared,
    DocsUpdated {
        done: bool,
    },
    TestsRun {
        passed: bool,
        /// The tree that they ran on, where warp itself ran them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    TestsUndone,
    /// Names of tests that were seen in a recorded run.
    TestsNamed {
        names: Vec<String>,
    },
    /// Tests that were named as evidence and have to pass before the chunk is committed.
    TestsExpected {
        tests: Vec<NamedTest>,
    },
    /// The commit guard holds something, and a person is asked about it.
    HeldRaised {
        held: Vec<Held>,
    },
    /// A person accepts what the commit guard holds.
    HeldAccepted,
    Committed {
        hash: Option<String>,
    },
    /// The commits that the current chunk has in git, and how many the session has with them.
    CommitsCorrected {
        hashes: Vec<String>,
        total: u64,
    },
    /// The chunks, without criteria that were met elsewhere.
    ChunksCorrected {
        acs: Vec<Vec<String>>,
    },
    ReportFiled,
    /// The commit that passed the final test, where it is known.
    FinallyTested {
        commit: Option<String>,
    },
    ReportsReset,
    Aborted {
        aborted: bool,
    },
    FileEdited {
        file: String,
        count: u64,
    },
    DoomLoopSeen {
        doom_loop: DoomLoop,
    },
    /// The edits of a tally are counted up to this line.
    TallyTaken {
        tally: String,
        lines: u64,
    },
    PhaseCompleted {
        phase: PhaseName,
    },
    /// The commit on which the next phase begins, where it was looked at.
    PhaseHeadSet {
        head: Option<String>,
    },
    ArtifactsSet {
        artifacts: Artifacts,
    },
    /// The pull request's address is an agent's word alone; with none, it is believed.
    PullRequestDoubted {
        url: Option<String>,
    },
    ReceiptAdded {
        receipt: Receipt,
    },
    /// A person is asked about changed acceptance tests; with none, they have answered.
    TestsOffered {
        offered: Option<Box<OfferedTests>>,
    },
    /// An advisory check said something against the work, or a person has accepted what it said.
    Objected {
        objection: Objection,
    },
    /// An advisory check has nothing more to say against an event of the chunk.
    ObjectionWithdrawn {
        gate: String,
        event: EventName,
    },
    /// A person is asked about an event that an advisory check refuses. It is forgotten with their answer.
    RefusalRaised {
        refused: Box<RefusedEvent>,
    },
    CheckpointAdded {
        checkpoint: Checkpoint,
    },
    ErrorAdded {
        error: LoopError,
    },
    ChunkDeferred {
        chunk: DeferredChunk,
    },
    /// A person said something to whoever works on the run.
    FindingReported {
        finding: Finding,
    },
    /// How the project's tests ended before an agent changed anything.
    BaselineSet {
        baseline: Box<Baseline>,
    },
    DevSet {
        dev: DevSeen,
    },
    Told {
        text: String,
    },
    TurnSet {
        turn: AgentTurn,
    },
    /// What was said up to here was heard.
    Heard {
        count: usize,
    },
    ConversationSet {
        conversation: Option<Conversation>,
    },
    Used {
        usage: Usage,
    },
    /// What the current chunk has used is put down.
    ChunkMeasured,
}

/// Why records could not be folded into a run.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    #[error(
        "event {seq} was written by a newer version (format {version}, this one knows {VERSION}): upgrade warp"
    )]
    Newer { seq: u64, version: u32 },
    #[error("event {seq} (`{event}`) comes before the run began")]
    NotBegun { seq: u64, event: EventName },
}

/// A run being folded from its records.
#[derive(Debug, Default)]
pub struct Fold {
    run: Option<Run>,
    workflow_text: String,
    /// The workflow, once it is needed.
    workflow: Option<Box<Workflow>>,
    folded: u64,
}

impl Record {
    /// Makes a record in the format of this version.
    pub(crate) fn new(event: EventName, at: Time, from: Option<PhaseName>, phase: PhaseName) -> Self {
        Self {
            version: VERSION,
            event,
            at,
            actor: Actor::Person,
            from,
            phase,
            data: Map::new(),
            observations: Observations::default(),
            changes: Vec::new(),
        }
    }

    /// Tells whether the event moved the run, if only back to where it was.
    pub fn moves(&self) -> bool {
        self.changes.iter().any(|change| matches!(change, Change::Moved { .. } | Change::Began { .. }))
    }

    /// Returns the budgets that redirected the event, if any did.
    pub fn trip(&self) -> Option<&Trip> {
        self.changes
            .iter()
            .find_map(|change| if let Change::BudgetTripped { trip } = change { Some(trip) } else { None })
    }
}

impl Record {
    /// Returns what advisory checks said with the event, and what a person accepted by it.
    pub fn objections(&self) -> impl Iterator<Item = &Objection> {
        self.changes.iter().filter_map(|change| {
            if let Change::Objected { objection } = change { Some(objection) } else { None }
        })
    }
}

impl Fold {
    /// Applies the next record.
    pub fn add(&mut self, record: &Record) -> Result<(), FoldError> {
        let seq = self.folded;
        let mut begins = false;
        if record.version > VERSION {
            return Err(FoldError::Newer { seq, version: record.version });
        }
        for change in &record.changes {
            if let Change::Began { run, workflow_text } = change {
                self.run = Some((**run).clone());
                self.workflow_text.clone_from(workflow_text);
                (self.workflow, begins) = (None, true);
            }
        }
        let run =
            self.run.as_mut().ok_or_else(|| FoldError::NotBegun { seq, event: record.event.clone() })?;
        for change in &record.changes {
            run.apply(change, &record.event, record.at);
        }
        // A record of an older version does not say what is to be done.
        if !begins || *run.act() == Act::Nothing {
            let text = &self.workflow_text;
            let workflow = self.workflow.take().or_else(|| Workflow::parse_proved(text).ok().map(Box::new));
            // A text that a later version cannot read any more says so where the run is to go on.
            match &workflow {
                Some(workflow) if begins => run.direct(workflow),
                Some(workflow) => run.learn(workflow, record),
                None => {}
            }
            self.workflow = workflow;
        }
        run.close_record(record.at);
        self.folded += 1;
        Ok(())
    }

    /// Returns the run as far as it was folded.
    pub fn run(&self) -> Option<&Run> {
        self.run.as_ref()
    }

    /// Returns the run and the text of its workflow; nothing if there was no record.
    pub fn finish(self) -> Option<(Run, String)> {
        Some((self.run?, self.workflow_text))
    }
}

impl Run {
    /// Applies one change that `event` made at `at`.
    pub(crate) fn apply(&mut self, change: &Change, event: &EventName, at: Time) {
        match change.clone() {
            Change::Began { .. } => {}
            Change::Moved { to } => self.move_to(to, event, at),
            Change::OriginSet { phase } => self.origin = phase,
            Change::ReasonSet { reason } => self.phase_reason = reason,
            Change::CounterSet { name, value } => {
                self.counters.insert(name, value);
            }
            Change::BudgetTripped { trip } => self.trip = Some(trip),
            Change::SessionClockSet { at } => self.session_clock = at,
            Change::PhaseClockSet { at } => self.phase_started_at = at,
            Change::FailureSeen { failure } => self.last_failure = failure,
            Change::IdleTurnsSet { count } => self.idle_turns = count,
            Change::StandingSet { standing } => {
                self.refused = None;
                self.standing = standing;
            }
            Change::EffectSet { effect } => self.effect = effect,
            Change::OwnerSet { owner } => self.owner = owner,
            Change::IssueSelected { issue, branch } => {
                self.issue = issue.or(self.issue.take());
                self.branches.branch = branch.unwrap_or_else(|| std::mem::take(&mut self.branches.branch));
            }
            Change::ChunksDefined { acs, texts } => {
                self.chunk.acs = acs;
                self.chunk.texts = texts;
            }
            Change::ChunkTaken { index, base, checked_before } => {
                self.chunk.index = index;
                self.chunk.first_base = self.chunk.first_base.take().or_else(|| base.clone());
                self.chunk.base = base;
                self.chunk.checked_before = checked_before;
                self.chunk.started_at = Some(at);
                self.chunk.usage_before = self.usage;
                self.named_tests.clear();
                self.held.clear();
                self.chunk.commits.clear();
                self.chunk.commits_before = Some(self.metrics.commits);
                (self.docs_updated, self.tests_passed, self.committed, self.report_filed) =
                    (false, false, false, false);
            }
            Change::ChunkCompleted { chunk } => {
                raise(&mut self.metrics.chunks_completed);
                push(&mut self.completed_chunks, chunk, ENTRIES_KEPT);
            }
            Change::ChunksCleared => {
                self.chunk = crate::ChunkPlan::default();
                self.completed_chunks.clear();
                self.deferred.clear();
                self.objections.clear();
                self.commit_hashes.clear();
                self.test_names.clear();
                self.named_tests.clear();
                self.held.clear();
                self.accepted_held.clear();
                self.tested_commit = None;
                self.baseline = None;
            }
            Change::DocsUpdated { done } => self.docs_updated = done,
            Change::TestsRun { passed, tree } => {
                self.tested_tree = tree.filter(|_| passed);
                raise(&mut self.metrics.tests_run);
                self.tests_passed = passed;
            }
            Change::TestsUndone => self.tests_passed = false,
            Change::TestsNamed { names } => self.name_tests(names),
            Change::TestsExpected { tests } => self.named_tests = tests,
            Change::HeldRaised { held } => self.held = held,
            Change::HeldAccepted => {
                for held in std::mem::take(&mut self.held) {
                    push(&mut self.accepted_held, held, ENTRIES_KEPT);
                }
            }
            Change::Committed { hash } => {
                raise(&mut self.metrics.commits);
                (self.committed, self.report_filed) = (true, false);
                if let Some(hash) = hash {
                    push(&mut self.chunk.commits, hash.clone(), ENTRIES_KEPT);
                    push(&mut self.commit_hashes, hash, ENTRIES_KEPT);
                }
            }
            Change::CommitsCorrected { hashes, total } => self.correct_commits(hashes, total),
            Change::ChunksCorrected { acs } => self.chunk.acs = acs,
            Change::ReportFiled => {
                raise(&mut self.metrics.reports_filed);
                self.report_filed = true;
            }
            Change::FinallyTested { commit } => self.tested_commit = commit,
            Change::ReportsReset => (self.committed, self.report_filed) = (false, false),
            Change::Aborted { aborted } => self.aborted = aborted,
            Change::FileEdited { file, count } => self.count_edit(file, count),
            Change::DoomLoopSeen { doom_loop } => push(&mut self.doom_loop_events, doom_loop, ENTRIES_KEPT),
            Change::TallyTaken { tally, lines } => self.tally_taken = Some((tally, lines)),
            Change::PhaseCompleted { phase } => push(&mut self.phases_completed, phase, ENTRIES_KEPT),
            Change::PhaseHeadSet { head } => self.phase_head = head,
            Change::ArtifactsSet { artifacts } => self.artifacts = artifacts,
            Change::PullRequestDoubted { url } => self.doubted_pr = url,
            Change::ReceiptAdded { receipt } => push(&mut self.receipts, receipt, ENTRIES_KEPT),
            Change::TestsOffered { offered } => self.offered_tests = offered.map(|offered| *offered),
            Change::Objected { objection } => self.object(objection),
            Change::ObjectionWithdrawn { gate, event } => self.withdraw(&gate, &event),
            Change::RefusalRaised { refused } => self.refused = Some(*refused),
            Change::CheckpointAdded { checkpoint } => push(&mut self.checkpoints, checkpoint, ENTRIES_KEPT),
            Change::ErrorAdded { error } => push(&mut self.errors, error, ENTRIES_KEPT),
            Change::ChunkDeferred { chunk } => push(&mut self.deferred, chunk, ENTRIES_KEPT),
            Change::BaselineSet { baseline } => self.baseline = Some(baseline),
            Change::DevSet { dev } => self.dev = Some(dev),
            Change::FindingReported { finding } => push(&mut self.findings, finding, ENTRIES_KEPT),
            Change::Told { text } => push(&mut self.told, text, ENTRIES_KEPT),
            Change::TurnSet { turn } => self.turn = Some(turn),
            Change::Heard { count } => {
                self.told.drain(..count.min(self.told.len()));
            }
            Change::ConversationSet { conversation } => self.converse(conversation),
            Change::Used { usage } => self.usage.add(&usage),
            Change::ChunkMeasured => self.measure_chunk(at),
        }
    }

    /// Counts the record as applied.
    pub(crate) fn close_record(&mut self, at: Time) {
        self.updated_at = at;
        raise(&mut self.events);
    }

    fn move_to(&mut self, to: PhaseName, event: &EventName, at: Time) {
        let from = Some(self.phase.clone());
        push(
            &mut self.history,
            HistoryRow { phase: to.clone(), at, from, event: Some(event.clone()) },
            HISTORY_KEPT,
        );
        // A phase that is entered again from itself goes on, and so does its clock.
        if self.phase != to {
            self.edit_counts.clear();
            self.phase_started_at = at;
        }
        self.phase = to;
    }

    /// Takes up a conversation; one in another role about the same issue is remembered.
    fn converse(&mut self, conversation: Option<Conversation>) {
        let before = std::mem::replace(&mut self.conversation, conversation);
        let Some(now) = &self.conversation else { return };
        let is_kept = |other: &Conversation| other.issue == now.issue && other.role != now.role;
        self.other_conversations.retain(is_kept);
        if let Some(before) = before.filter(is_kept) {
            push(&mut self.other_conversations, before, CONVERSATIONS_KEPT);
        }
    }

    fn correct_commits(&mut self, hashes: Vec<String>, total: u64) {
        self.metrics.commits = total;
        let wrong = std::mem::take(&mut self.chunk.commits);
        self.commit_hashes.retain(|hash| !wrong.contains(hash) && !hashes.contains(hash));
        for hash in hashes {
            push(&mut self.chunk.commits, hash.clone(), ENTRIES_KEPT);
            push(&mut self.commit_hashes, hash, ENTRIES_KEPT);
        }
    }

    /// Adds what a check says; it takes the place of what the same check said before, unless a person accepted that.
    fn object(&mut self, objection: Objection) {
        self.withdraw(&objection.gate, &objection.event);
        push(&mut self.objections, objection, ENTRIES_KEPT);
    }

    fn withdraw(&mut self, gate: &str, event: &EventName) {
        let chunk = self.chunk.index;
        self.objections.retain(|known| known.accepted_by.is_some() || !known.is_of(gate, event, chunk));
    }

    fn measure_chunk(&mut self, at: Time) {
        let measured = ChunkUsage {
            chunk: self.chunk.index,
            issue: self.issue.clone(),
            started_at: self.chunk.started_at,
            ended_at: at,
            usage: self.usage.since(&self.chunk.usage_before),
        };
        self.chunk.usage_before = self.usage;
        push(&mut self.chunk_usage, measured, ENTRIES_KEPT);
    }

    /// Keeps the newest names, each once.
    fn name_tests(&mut self, names: Vec<String>) {
        self.test_names.retain(|known| !names.contains(known));
        for name in names {
            push(&mut self.test_names, name, TESTS_KEPT);
        }
    }

    fn count_edit(&mut self, file: String, count: u64) {
        self.edit_counts.insert(file, count);
        if self.edit_counts.len() > EDITS_KEPT {
            let least =
                self.edit_counts.iter().min_by_key(|(_, count)| **count).map(|(file, _)| file.clone());
            self.edit_counts.retain(|file, _| Some(file) != least.as_ref());
        }
    }
}

/// Counts one more. Numbers come from records, and a record that nobody made may hold any.
fn raise(count: &mut u64) {
    *count = count.saturating_add(1);
}

/// Adds to a list that keeps only its newest entries.
fn push<T>(list: &mut Vec<T>, entry: T, kept: usize) {
    list.push(entry);
    if list.len() > kept {
        list.drain(..list.len() - kept);
    }
}
