//! What a phase has to know of the work before it: the plan, what failed last, what people have decided.
//!
//! Facts are folded from a run's records as they come ([`Run::learn`]), by what an event means in the run's own workflow and
//! never by its name. They decide nothing by themselves: whatever a record changes is in the record.
//!
//! A run may take one issue after another, so what belongs to the present issue or to its present chunk lies apart, and is
//! forgotten when the next one begins.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Actor, DevKind, EventName, Held, PhaseName, Record, Run, Time, WaitKind, Workflow,
    run::ENTRIES_KEPT,
    step::{PROVIDER, seeds},
    workflow::{Act, Activity, Job, JobOutcome, Meaning, Row},
};

/// How many verdicts are kept of one issue.
const REVIEWS_KEPT: usize = 6;
/// How many accounts of its work an agent gives in one chunk until the oldest is forgotten.
const ACCOUNTS_KEPT: usize = 20;
/// How a turn ended in which the agent has answered.
pub const ANSWERED: &str = "answered";

/// What is known of the work so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    pub issue: IssueFacts,
    pub chunk: ChunkFacts,
    pub access: AccessFacts,
    /// What people were asked, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Inquiry>,
    /// The event that led to the present phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<Entry>,
    /// How the last turn of an agent that warp has started ended; none while one is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<String>,
    /// Who but warp itself has spoken last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_word: Option<Actor>,
    /// Whether an agent has made the last move since its last turn was counted.
    pub moved_by_agent: bool,
    /// Whether a person has sent the run on to another issue since it took the last one.
    pub wants_another: bool,
}

/// What is known of the present issue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IssueFacts {
    /// When it was taken, and how many events the run had until then.
    pub began_at: Option<Time>,
    pub began_after: u64,
    /// What was put down when it was taken.
    pub selected: Map<String, Value>,
    /// The newest plan.
    pub plan: Option<Map<String, Value>>,
    /// Why its work was sent back last, until the tests pass.
    pub failure: Option<FailureText>,
    /// The newest verdicts of reviewers, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<Review>,
    /// What agents decided and learnt, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// What people have said to whoever works on it, the oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
    /// Whether an agent that warp has started has worked on it.
    pub has_worked: bool,
    /// Whether its work has left the run's own branch.
    pub is_merged: bool,
    /// What came of its pull request.
    #[serde(skip_serializing_if = "PullFacts::is_empty")]
    pub pull: PullFacts,
    /// What a person has said last as they let it go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// What is known of the pull request of the present issue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PullFacts {
    /// How its checks ended last.
    pub checks: Option<CheckResult>,
    /// The checks that run at a server, and are waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaited: Option<AwaitedChecks>,
    /// What a reviewer has wanted last.
    pub review: Option<String>,
    /// Why it could not be merged.
    pub conflict: Option<String>,
}

/// Checks that run at a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitedChecks {
    pub commit: String,
    /// When they were started last, as far as warp knows.
    pub since: Time,
    /// How often warp has started them again.
    pub restarts: u32,
}

/// How the checks of a pull request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    Passed,
    /// With what they printed.
    Failed(String),
}

/// What is known of the present chunk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChunkFacts {
    /// What an agent said of its work, the oldest first.
    pub accounts: Vec<Map<String, Value>>,
    /// What the agent was told that the commit guard holds.
    pub held: Vec<Held>,
    /// How often the agent was told that the docs have drifted, since a person last decided something.
    pub drifts: u64,
    /// Whether the agent was told of tables without seed data, and what holds of the newest code.
    pub was_told_of_seeds: bool,
    pub seeds: Option<String>,
    /// What a person has answered last since a chunk was reported.
    pub answer: Option<String>,
}

/// What is known of the provider that serves the run's agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccessFacts {
    /// Waits since an agent or a person last gave an answer.
    pub limits: Setbacks,
    pub outages: Setbacks,
    /// What the run waited for last, if nothing has come of that yet.
    pub wait: Option<WaitKind>,
    /// The wait that a person has ended, if nothing has come of that yet.
    pub lifted: Option<WaitKind>,
    /// Whether a person was asked about the provider, and nothing has come of that yet.
    pub was_asked: bool,
}

/// Waits in a row that came to nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setbacks {
    pub count: u64,
    pub since: Option<Time>,
}

/// A question to a person, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inquiry {
    /// How many events the run had when it was asked.
    pub after: u64,
    pub at: Time,
    /// What came with it: its `kind`, `question` and `decision`, and what it is about.
    pub data: Map<String, Value>,
    /// What came with the answer: the `option`, and perhaps a `note` and who it is `by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Map<String, Value>>,
    /// Set when the work goes on without an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_passed_over: bool,
}

/// The event that has led to a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub event: EventName,
    pub actor: Actor,
    pub data: Map<String, Value>,
}

/// What a reviewer said of a plan or of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Review {
    pub phase: PhaseName,
    pub event: EventName,
    pub wants_changes: bool,
    /// What came with the verdict.
    pub data: Map<String, Value>,
    /// What whoever did the work has answered to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
}

/// A decision, a lesson or a risk that an agent has put down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    pub title: String,
    pub text: String,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    Decision,
    Lesson,
    Risk,
}

impl NoteKind {
    /// Each kind, with the field of an answer that holds such notes.
    const FIELDS: [(&str, Self); 3] =
        [("decisions", Self::Decision), ("lessons", Self::Lesson), ("risks", Self::Risk)];
}

/// Why work was sent back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureText {
    pub text: String,
    /// Whether the project's tests failed, and not another check.
    pub is_of_tests: bool,
}

impl Facts {
    /// Returns what people were asked about the present issue, the oldest first.
    pub fn questions_about_issue(&self) -> impl DoubleEndedIterator<Item = &Inquiry> {
        self.questions.iter().filter(|asked| asked.after >= self.issue.began_after)
    }

    /// Returns the newest question about the present issue that was answered, if it is of this kind.
    pub fn answered(&self, kind: &str) -> Option<&Inquiry> {
        let newest = self.questions_about_issue().rfind(|asked| asked.answer.is_some())?;
        (newest.kind() == kind).then_some(newest)
    }
}

impl PullFacts {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Inquiry {
    /// Returns what the question is about.
    pub fn kind(&self) -> &str {
        self.word("kind")
    }

    /// Returns a text that came with the question.
    pub fn word(&self, field: &str) -> &str {
        self.data.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns a text that came with the answer.
    pub fn said(&self, field: &str) -> Option<&str> {
        self.answer.as_ref()?.get(field)?.as_str()
    }

    /// Returns the option that was chosen.
    pub fn option(&self) -> Option<&str> {
        self.said("option")
    }
}

impl Run {
    /// Takes in what a record says of the work, after its changes were applied, and works out what is to be done then.
    pub(crate) fn learn(&mut self, workflow: &Workflow, record: &Record) {
        let phase = record.from.as_ref().unwrap_or(&record.phase);
        let row = workflow.row(phase, record.event.as_str());
        let meaning = workflow.meaning(phase, record.event.as_str());
        if matches!(meaning, Some(Meaning::Plan | Meaning::Work)) {
            self.facts.issue.put_down(record);
        }
        if let Some(row) = row.filter(|_| !matches!(meaning, Some(Meaning::Outcome(_)))) {
            self.facts.issue.hear_review(phase, row, record);
        }
        match meaning {
            Some(Meaning::Outcome(outcome)) => self.learn_outcome(outcome, record),
            Some(Meaning::Plan) => self.facts.issue.plan = Some(said(record)),
            Some(Meaning::Work) => {
                let accounts = &mut self.facts.chunk.accounts;
                accounts.push(said(record));
                keep_newest(accounts, ACCOUNTS_KEPT);
                // An agent was told before, and has handed its work in as it is.
                let missing = seeds::missing(&record.observations);
                self.facts.chunk.seeds = missing.filter(|_| record.actor != Actor::Agent);
            }
            None => self.learn_own(record),
        }
        if row.is_some_and(|row| row.acts.contains(&Act::RenewBudgets)) {
            self.facts.begin_chunk();
        }
        if record.actor != Actor::Engine {
            self.facts.last_word = Some(record.actor);
        }
        if record.moves() {
            self.facts.issue.pull.awaited = None;
            if record.actor == Actor::Person {
                self.facts.hear_answer(record);
            }
            let (event, actor) = (record.event.clone(), record.actor);
            self.facts.entry = Some(Entry { event, actor, data: said(record) });
            self.facts.moved_by_agent = record.actor == Actor::Agent;
            let is_sent = workflow.phase(phase).is_some_and(|from| from.activity == Activity::Person);
            if is_sent && actor == Actor::Person {
                let note = record.data.get("note").and_then(Value::as_str).unwrap_or("continue");
                self.facts.issue.answer = Some(note.to_owned());
            }
            let selects =
                workflow.phase(&record.phase).is_some_and(|phase| phase.job == Some(Job::SelectWork));
            self.facts.wants_another |= is_sent && selects && self.facts.issue.began_at.is_some();
        }
        if workflow.turn_event.as_ref() == Some(&record.event) {
            self.facts.moved_by_agent = false;
        }
        self.direct(workflow);
    }

    /// Takes in what came of a job.
    fn learn_outcome(&mut self, outcome: JobOutcome, record: &Record) {
        let facts = &mut self.facts;
        let text = |field: &str| {
            let text = record.data.get(field).and_then(Value::as_str).unwrap_or("nothing more was said");
            Some(text.to_owned())
        };
        match outcome {
            // Claimed once more after a wait, it is the same work.
            JobOutcome::Claimed if facts.issue.began_at.is_some() => {}
            JobOutcome::WorkSelected | JobOutcome::Claimed => {
                facts.issue = IssueFacts {
                    began_at: Some(record.at),
                    began_after: self.events,
                    selected: said(record),
                    ..IssueFacts::default()
                };
                facts.wants_another = false;
            }
            JobOutcome::TestsPassed => facts.issue.failure = None,
            JobOutcome::MergeFailed => facts.issue.failure = failure(record, false),
            JobOutcome::ChunksDefined | JobOutcome::NextChunk => {
                facts.begin_chunk();
                facts.chunk.answer = None;
            }
            JobOutcome::ReportFiled => facts.chunk.answer = None,
            JobOutcome::TestsFailed => {
                facts.issue.failure = failure(record, !record.data.contains_key("check"));
                let held = record.data.get("held").cloned();
                let held = held.and_then(|held| serde_json::from_value::<Vec<Held>>(held).ok());
                facts.chunk.held.extend(held.unwrap_or_default());
                facts.chunk.held.truncate(ENTRIES_KEPT);
            }
            JobOutcome::DriftBlocked => {
                facts.issue.failure = failure(record, false);
                facts.chunk.drifts = facts.chunk.drifts.saturating_add(1);
            }
            JobOutcome::ChecksPassed => facts.issue.pull.checks = Some(CheckResult::Passed),
            JobOutcome::ChecksFailed => facts.issue.pull.checks = text("failure").map(CheckResult::Failed),
            JobOutcome::ChangesRequested => facts.issue.pull.review = text("review"),
            JobOutcome::MergeConflicted => facts.issue.pull.conflict = text("failure"),
            JobOutcome::Merged => facts.issue.is_merged = true,
            JobOutcome::PrerequisitesOk
            | JobOutcome::NoWork
            | JobOutcome::DocsUpdated
            | JobOutcome::Committed
            | JobOutcome::CommitWithDocGate
            | JobOutcome::DriftClean
            | JobOutcome::RequirementDone
            | JobOutcome::MergeReady
            | JobOutcome::PushFailed
            | JobOutcome::SessionEnded
            | JobOutcome::DependencyUnmet
            | JobOutcome::AlreadyDone
            | JobOutcome::DependenciesClosed
            | JobOutcome::ChecksBroken
            | JobOutcome::Undecided
            | JobOutcome::AbortResolved
            | JobOutcome::AbortCleanupFailed => {}
        }
    }

    /// Takes in an event of the engine's own.
    fn learn_own(&mut self, record: &Record) {
        let after = self.events;
        let facts = &mut self.facts;
        let word = |field: &str| record.data.get(field).and_then(Value::as_str);
        match record.event.as_str() {
            "question_asked" => {
                let inquiry =
                    Inquiry { after, at: record.at, data: said(record), answer: None, is_passed_over: false };
                facts.access.was_asked = inquiry.kind() == PROVIDER;
                if facts.access.was_asked {
                    facts.access.forgive();
                }
                facts.questions.push(inquiry);
                keep_newest(&mut facts.questions, ENTRIES_KEPT);
            }
            "decision_answered" => {
                let decision = word("decision");
                let asked =
                    facts.questions.iter_mut().rfind(|asked| Some(asked.word("decision")) == decision);
                if let Some(asked) = asked {
                    asked.answer = Some(said(record));
                }
                facts.chunk.answer = word("option").map(str::to_owned);
                facts.chunk.drifts = 0;
                facts.access.forgive();
            }
            "criteria_unconfirmed" => {
                if let Some(asked) = facts.questions.last_mut() {
                    asked.is_passed_over = true;
                }
            }
            "checks_awaited" => {
                let commit = word("commit").unwrap_or_default().to_owned();
                let before = facts.issue.pull.awaited.take().filter(|before| before.commit == commit);
                let restarts = before.map_or(0, |before| before.restarts.saturating_add(1));
                facts.issue.pull.awaited = Some(AwaitedChecks { commit, since: record.at, restarts });
            }
            "chunk_deferred" => facts.begin_chunk(),
            "turn_started" => {
                facts.issue.has_worked = true;
                facts.last_turn = None;
                facts.access.was_asked = false;
            }
            "turn_ended" => {
                facts.last_turn = word("how").map(str::to_owned);
                (facts.access.wait, facts.access.lifted) = (None, None);
                if word("how") == Some(ANSWERED) {
                    facts.access.forgive();
                }
            }
            "told" => {
                let told = &mut facts.issue.told;
                told.extend(word("text").map(str::to_owned));
                keep_newest(told, ENTRIES_KEPT);
            }
            "suspended" => facts.access.suspended(record),
            "resumed" => facts.access.lifted = facts.access.wait.take(),
            "wait_over" | "stop_requested" => (facts.access.wait, facts.access.lifted) = (None, None),
            event if event == DevKind::SeedsMissing.event() => {
                facts.chunk.was_told_of_seeds = true;
                facts.chunk.seeds = word("text").map(str::to_owned);
            }
            _ => {}
        }
    }
}

impl Facts {
    /// Takes in what a person said with a move, and the question that it answers.
    fn hear_answer(&mut self, record: &Record) {
        let word = |data: &Map<String, Value>, field: &str| data.get(field)?.as_str().map(str::to_owned);
        let Some(note) = word(&record.data, "note").or_else(|| word(&record.data, "answer")) else { return };
        let question = self.entry.as_ref().and_then(|entry| word(&entry.data, "question"));
        self.issue.told.push(match question {
            Some(question) => format!("{question} {note}"),
            None => note,
        });
        keep_newest(&mut self.issue.told, ENTRIES_KEPT);
    }

    fn begin_chunk(&mut self) {
        self.chunk = ChunkFacts { answer: self.chunk.answer.take(), ..ChunkFacts::default() };
    }
}

impl IssueFacts {
    /// Takes in the decisions, lessons and risks that come with a plan or with work.
    fn put_down(&mut self, record: &Record) {
        for (field, kind) in NoteKind::FIELDS {
            let list = record.data.get(field).and_then(Value::as_array).into_iter().flatten();
            self.notes.extend(list.filter_map(|note| {
                let word = |name: &str| note.get(name).and_then(Value::as_str).map(str::to_owned);
                Some(Note { kind, title: word("title")?, text: word("text")? })
            }));
        }
        keep_newest(&mut self.notes, ENTRIES_KEPT);
    }

    /// Takes in a verdict, or what whoever did the work has answered to the last one.
    fn hear_review(&mut self, phase: &PhaseName, row: &Row, record: &Record) {
        if let Some(status) = &row.status {
            self.reviews.push(Review {
                phase: phase.clone(),
                event: record.event.clone(),
                wants_changes: status != "APPROVED",
                data: said(record),
                reply: None,
            });
            keep_newest(&mut self.reviews, REVIEWS_KEPT);
        } else if let Some(review) = self.reviews.last_mut().filter(|review| review.reply.is_none()) {
            review.reply = record.data.get("summary").and_then(Value::as_str).map(str::to_owned);
        }
    }
}

impl AccessFacts {
    fn forgive(&mut self) {
        (self.limits, self.outages) = Default::default();
    }

    fn suspended(&mut self, record: &Record) {
        let kind = record.data.get("kind").cloned();
        let kind = kind.and_then(|kind| serde_json::from_value::<WaitKind>(kind).ok());
        (self.wait, self.lifted, self.was_asked) = (kind, None, false);
        let setbacks = match kind {
            Some(WaitKind::Limit) => &mut self.limits,
            Some(WaitKind::Outage) => &mut self.outages,
            Some(_) | None => return,
        };
        setbacks.count = setbacks.count.saturating_add(1);
        setbacks.since = setbacks.since.or(Some(record.at));
    }
}

/// Returns what came with an event, without which effect it is the outcome of.
fn said(record: &Record) -> Map<String, Value> {
    let is_said = |field: &&String| !["effect", "attempt"].contains(&field.as_str());
    let fields = record.data.iter().filter(|(field, _)| is_said(field));
    fields.map(|(field, value)| (field.clone(), value.clone())).collect()
}

fn keep_newest<T>(list: &mut Vec<T>, most: usize) {
    list.drain(..list.len().saturating_sub(most));
}

fn failure(record: &Record, is_of_tests: bool) -> Option<FailureText> {
    let text = record.data.get("failure")?.as_str()?.to_owned();
    Some(FailureText { text, is_of_tests })
}
