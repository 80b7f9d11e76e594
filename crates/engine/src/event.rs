//! What is asked of a run, and what was seen in the world when it was asked.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Baseline, Capped, DevKind, EventName, Owner, RefusedEvent, Severity, Time, Usage, WaitKind, Worker,
};

/// Something that happened, offered to a run.
#[derive(Clone, Debug)]
pub struct Ask {
    pub event: Event,
    /// Who asks.
    pub actor: Actor,
    /// What came with it. Names of fields are those of the state files.
    pub data: Map<String, Value>,
    pub at: Time,
    pub observations: Observations,
}

impl Ask {
    /// Makes a person's ask without data or observations.
    pub fn new(event: Event, at: Time) -> Self {
        Self { event, actor: Actor::Person, data: Map::new(), at, observations: Observations::default() }
    }
}

/// Who offers an event. A person is believed; an agent has to show what it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actor {
    /// Someone at a keyboard. Records that are older than this word are theirs too.
    #[default]
    Person,
    /// A coding agent, or a process that descends from one.
    Agent,
    /// Warp itself: what it does, counts or follows from a budget.
    Engine,
}

/// What can happen to a run: the events of its workflow, and those of the engine itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A row or a tick of the workflow.
    Named(EventName),
    /// A file was edited.
    FileEdited { file: String },
    /// Files were edited, each as often as it is named, as a tally has counted them up to a line.
    EditsCounted { files: Vec<String>, tally: String, lines: u64 },
    /// The phase's deadline has passed.
    DeadlinePassed,
    /// An effect is tried again; outcomes of earlier attempts are refused from here on.
    AttemptStarted { effect: String },
    /// A person answered the decision on which the run is parked.
    DecisionAnswered { decision: String, option: String },
    /// A person stopped the run.
    StopRequested,
    /// A person lets a stopped run go on.
    Resumed,
    /// A person took the run off its workspace.
    ResetRequested,
    /// A state file that differed from the journal was set aside.
    StateFileSetAside { file: String, kept_as: String },
    /// Another process carries the run on.
    OwnerChanged { owner: Owner },
    /// Somebody who works on the run has a question for a person, and cannot go on without an answer.
    QuestionAsked {
        /// What it is about: `architecture`, `ambiguity`, `dependency`, `scope`, `blocked`, `plan`, `criteria`, `check`,
        /// `environment`, `baseline`, `proof`, `provider`, `second_look`, `escalation`. Those about a plan, the tests or the provider wait for
        /// as long as it takes.
        kind: String,
        question: String,
        options: Vec<String>,
    },
    /// An advisory check has refused an event, and retries did not help: a person is asked whether to accept it.
    RefusalRaised { refused: Box<RefusedEvent> },
    /// A chunk whose question nobody answered in time is put off.
    ChunkDeferred { why: String },
    /// Nobody is there to confirm the criteria that an agent proposes, and the work goes on with them.
    CriteriaUnconfirmed,
    /// The checks of a commit run at a server from here on; said again, they were started once more.
    ChecksAwaited { commit: String },
    /// A person says something to whoever works on the run.
    Told { text: String },
    /// Whoever looks at the work has found something.
    FindingReported {
        severity: Severity,
        file: Option<String>,
        /// From 1.
        line: Option<u64>,
        text: String,
    },
    /// Warp has looked after the project's dev environment; what came of it, in words.
    DevSeen { kind: DevKind, text: String },
    /// Warp has run the project's tests on the commit that the run builds on.
    BaselineTaken { baseline: Box<Baseline> },
    /// Warp has started an agent on the phase's work.
    TurnStarted { worker: Worker },
    /// That agent works in a new conversation, of which this is the id.
    ConversationBegun { session: String },
    /// That agent has ended.
    TurnEnded {
        /// How, in a few words.
        how: String,
        session: Option<String>,
        /// Digests of the parts of the brief that its conversation has.
        brief: Vec<String>,
        usage: Usage,
        /// Tokens that its conversation holds; 0 where the agent does not say.
        context: u64,
        /// Set when the agent says that its work is done, and the tree is as it was.
        is_idle: bool,
    },
    /// The run has to wait for something that ends by itself.
    Suspended { kind: WaitKind, why: String, until: Option<Time> },
    /// What was waited for is there; also that the provider which a question is about serves the agents again.
    WaitOver,
    /// What the run may spend is spent.
    CapReached { capped: Capped },
    /// A branch, a tag or HEAD was moved without permission.
    RailBroken {
        what: String,
        /// Where the commits concerned are kept.
        kept: Option<String>,
        breach: Breach,
    },
}

/// What has become of something that was moved or changed without permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Everything is back where it was.
    Undone,
    /// It was the agent, and it could not be put back: the run stops.
    Stands,
    /// It may have been the person, so nothing was put back: they are asked.
    Doubtful,
}

impl Event {
    /// The event that adds to what a run knows and moves nothing.
    pub const NOTED: &'static str = "noted";
    /// The name of a person's answer to a question.
    pub const ANSWERED: &'static str = "decision_answered";

    /// Names that are the engine's own; no workflow may use them.
    pub(crate) const RESERVED: &'static [&'static str] = &[
        "init",
        "adopted",
        "file_edited",
        "edits_counted",
        "deadline_passed",
        "attempt_started",
        Self::ANSWERED,
        "stop_requested",
        "resumed",
        "reset_requested",
        "state_file_set_aside",
        "owner_changed",
        Self::NOTED,
        "rail_broken",
        "question_asked",
        "chunk_deferred",
        "criteria_unconfirmed",
        "checks_awaited",
        "told",
        "finding_reported",
        "dev_came_up",
        "dev_checked",
        "dev_recovered",
        "dev_failed",
        "seeds_missing",
        "baseline_taken",
        "turn_started",
        "conversation_begun",
        "turn_ended",
        "suspended",
        "wait_over",
        "cap_reached",
    ];

    /// Returns the name under which the event is recorded.
    pub fn name(&self) -> EventName {
        let name = match self {
            Event::Named(name) => return name.clone(),
            Event::FileEdited { .. } => "file_edited",
            Event::EditsCounted { .. } => "edits_counted",
            Event::DeadlinePassed => "deadline_passed",
            Event::AttemptStarted { .. } => "attempt_started",
            Event::DecisionAnswered { .. } => Event::ANSWERED,
            Event::StopRequested => "stop_requested",
            Event::Resumed => "resumed",
            Event::ResetRequested => "reset_requested",
            Event::StateFileSetAside { .. } => "state_file_set_aside",
            Event::OwnerChanged { .. } => "owner_changed",
            Event::RailBroken { .. } => "rail_broken",
            // Both are questions to whoever reads the log.
            Event::QuestionAsked { .. } | Event::RefusalRaised { .. } => "question_asked",
            Event::ChunkDeferred { .. } => "chunk_deferred",
            Event::CriteriaUnconfirmed => "criteria_unconfirmed",
            Event::ChecksAwaited { .. } => "checks_awaited",
            Event::Told { .. } => "told",
            Event::FindingReported { .. } => "finding_reported",
            Event::DevSeen { kind, .. } => kind.event(),
            Event::BaselineTaken { .. } => "baseline_taken",
            Event::TurnStarted { .. } => "turn_started",
            Event::ConversationBegun { .. } => "conversation_begun",
            Event::TurnEnded { .. } => "turn_ended",
            Event::Suspended { .. } => "suspended",
            Event::WaitOver => "wait_over",
            Event::CapReached { .. } => "cap_reached",
        };
        EventName::new(name)
    }
}

/// The deepest nesting of JSON that a record takes in. Readers of JSON stop at 128 levels, and what is kept in a
/// record lies a few levels deep already: what is written must be read again.
pub(crate) const DEEPEST: usize = 64;

/// Tells whether a value has more than `levels` levels of lists and tables.
pub(crate) fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(entries) => entries.iter().any(|entry| is_deeper(entry, below)),
        Value::Object(fields) => fields.values().any(|field| is_deeper(field, below)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Something that has to be looked up before an event can be decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The change since `base` (or the last commit), and which of `words` occur in it.
    Diff { base: Option<String>, words: Vec<String> },
    /// The criteria of the issue, ticked or not.
    Boxes { issue: String },
    /// The current commit.
    Head,
    /// The commits that lead from one to the current one.
    Commits { since: String },
    /// A digest of everything in the working tree.
    Tree,
    /// The results of these shell commands.
    Commands(Vec<String>),
    /// Which of these names of tests occur in what the commands print.
    TestNames(Vec<String>),
    /// Which of these lines were changed since `base` (or the last commit).
    Lines { base: Option<String>, lines: Vec<Line> },
    /// What a receipt names.
    Receipt(Claim),
    /// How acceptance tests end that are run now, and the project's own tests if `whole` is set. Without the command that
    /// they were first run with, one is found.
    Tests { file: Option<String>, command: Option<String>, whole: bool },
    /// Which acceptance tests are not what they were in commit `at`: the file, and all that was new since `since`.
    Frozen { file: String, at: String, since: Option<String> },
    /// What agents that others started have used in the workspace since then.
    Usage { since: Time },
    /// The tables that the change since `base` (or the last commit) makes and no seed data fills.
    Seeds { base: Option<String> },
    /// Whether somebody wrote or confirmed acceptance criteria in the issue.
    Criteria { issue: String },
}

/// A line of a file in the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    pub file: String,
    /// From 1.
    pub line: u64,
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What a receipt names, to be looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_sha: Option<String>,
    /// The commit after which `git_sha` has to come, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// What was found of a [`Claim`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimSeen {
    pub claim: Claim,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Seen<FileSeen>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<Seen<CommitSeen>>,
}

/// An artifact, as it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSeen {
    /// Whether it lies in the workspace once links are resolved, and not in the repository's own directory.
    pub is_inside: bool,
    /// Its size in the working tree; none if it is not there.
    pub in_tree: Option<u64>,
    /// Its size in the claimed commit; none if it is not there.
    pub at_commit: Option<u64>,
    /// The digest of its content in the working tree, or else in the commit.
    pub digest: Option<String>,
}

/// A commit, as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitSeen {
    /// The whole hash.
    pub hash: String,
    pub at: Time,
    /// Whether it is the current commit or one before it.
    pub is_in_history: bool,
    /// Whether it comes after [`Claim::since`], where one was given.
    pub is_new: Option<bool>,
}

/// What a probe saw: something, nothing that could be looked at, or a failure to look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Seen<T> {
    Value(T),
    /// There is nothing to look at: no repository, no issue text.
    Absent(String),
    /// It is there, but could not be read.
    Failed(String),
}

impl<T> Seen<T> {
    /// Returns what was found, where nobody has to know why there is nothing.
    pub fn found(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent(_) | Self::Failed(_) => None,
        }
    }
}

/// What was seen in the world, recorded with the event that needed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observations {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<Seen<Diff>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boxes: Option<Seen<Boxes>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Seen<String>>,
    /// Oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<Seen<Vec<String>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<Seen<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandResult>,
    /// Those of the asked lines that were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Seen<Vec<Line>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<ClaimSeen>,
    /// How tests ended, those of the feature first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Seen<Vec<TestsSeen>>>,
    /// Frozen files that were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<Seen<Vec<String>>>,
    /// What was used since the run began, where warp does not start the agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Seen<Usage>>,
    /// Tables of the change that no seed data fills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseeded: Option<Seen<Vec<String>>>,
    /// Whether the issue has acceptance criteria that an agent may plan by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_criteria: Option<Seen<bool>>,
}

impl Observations {
    /// Tells whether nothing was looked up.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns what was found of a claim.
    pub(crate) fn receipt(&self, claim: &Claim) -> Option<&ClaimSeen> {
        self.receipts.iter().find(|seen| seen.claim == *claim)
    }
}

/// A change in a working tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// Changed and new files; at most the first few hundred.
    pub files: Vec<String>,
    /// How many files there are in all.
    pub count: usize,
    /// Which of the asked words occur in a path or an added line.
    pub shared_words: Vec<String>,
}

/// The acceptance criteria of an issue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boxes {
    /// Ticked or not, and the text.
    pub items: Vec<(bool, String)>,
}

impl Boxes {
    /// Returns how many are ticked.
    pub fn checked(&self) -> usize {
        self.items.iter().filter(|(checked, _)| *checked).count()
    }
}

/// How a verification command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResult {
    pub command: String,
    pub passed: bool,
    /// How it ended, in words: `exit 1`, `stopped after 600 s`.
    pub end: String,
    /// The last part of what it printed.
    pub output: String,
    /// Those of the asked names of tests that occur in all that it printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// How a run of tests ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestsSeen {
    pub command: String,
    /// How it ended, in words.
    pub end: String,
    pub verdict: TestsVerdict,
    /// How many tests passed, where the output tells.
    pub passed: u64,
    /// The last part of what was printed.
    pub output: String,
}

/// What a run of tests says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestsVerdict {
    Passed,
    /// A test ran, and what it asks for is not there.
    Failed,
    /// A test could not run, so nothing is said about the work.
    Errored,
}
