//! A run: one issue on its way through one workflow, as folded from its changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Baseline, Capped, Effect, EventName, Facts, Held, Objection, PhaseName, RefusedEvent, RunId, Settings,
    Time, Wait, keys,
};

/// How many rows of history a run carries with it; the journal keeps all of them.
pub(crate) const HISTORY_KEPT: usize = 50;
/// How many conversations are remembered beside the latest: one for each role.
pub(crate) const CONVERSATIONS_KEPT: usize = 4;
/// How many entries any other list of a run keeps.
pub(crate) const ENTRIES_KEPT: usize = 100;

/// How many files are counted in one phase; beyond it the least edited is forgotten.
pub(crate) const EDITS_KEPT: usize = 300;

/// How many names of tests are kept; those that evidence named are the last to go.
pub(crate) const TESTS_KEPT: usize = 200;

/// One issue on its way through one workflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    pub id: RunId,
    /// The run that waits for this one, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    pub workflow: String,
    /// The digest of the workflow text that the run is pinned to.
    pub workflow_digest: String,
    pub settings: Settings,
    /// The root directory of its workspace on the machine of its owner; empty if it has none. See [`Run::workspace`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub root: String,
    /// Set when the workspace was made for the run. In a person's own checkout branches are never moved back.
    #[serde(default)]
    pub owns_workspace: bool,
    pub level: u64,
    pub owner: Owner,
    pub github_user: String,
    pub issue: Option<String>,
    pub feature: Option<String>,
    pub branches: Branches,
    /// The command that tests the project where none is set, as it was found when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_test_command: Option<String>,
    /// The command that installs what the tests need where none is set, as it was found when the run began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_setup_command: Option<String>,

    /// Files that were not committed when the run began, each with its mode and the id of its content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dirty: BTreeMap<String, String>,

    pub phase: PhaseName,
    pub standing: Standing,
    /// The phase to return to, in phases that remember it.
    pub origin: Option<PhaseName>,
    /// Why the phase was entered, where it can be entered for several reasons.
    pub phase_reason: Option<String>,
    pub started_at: Time,
    /// When the session's clock was last set going.
    pub session_clock: Time,
    pub phase_started_at: Time,
    pub updated_at: Time,
    /// How many events the run has had.
    pub events: u64,
    pub counters: BTreeMap<String, u64>,
    pub trip: Option<Trip>,
    pub effect: Option<Effect>,
    pub last_failure: Option<Failure>,
    pub history: Vec<HistoryRow>,

    pub chunk: ChunkPlan,
    pub completed_chunks: Vec<CompletedChunk>,
    pub commit_hashes: Vec<String>,
    pub docs_updated: bool,
    pub tests_passed: bool,
    /// The tree that passed its tests last.
    #[serde(default)]
    pub tested_tree: Option<String>,
    /// The commit that passed the final test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested_commit: Option<String>,
    pub committed: bool,
    pub report_filed: bool,
    pub aborted: bool,
    pub metrics: Metrics,
    pub edit_counts: BTreeMap<String, u64>,
    /// The tally of edits that was counted last, and up to which line.
    #[serde(default)]
    pub tally_taken: Option<(String, u64)>,
    pub doom_loop_events: Vec<DoomLoop>,
    /// Names of tests that were seen in a recorded run of the current issue.
    #[serde(default)]
    pub test_names: Vec<String>,

    /// Tests that were named as evidence for the current chunk and have not been seen to pass yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named_tests: Vec<NamedTest>,
    /// What the commit guard holds, while a person is asked about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Held>,
    /// What a person has accepted of what the commit guard held, in the work on the current issue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted_held: Vec<Held>,

    /// The commit on which the current phase began, where it was looked at.
    #[serde(default)]
    pub phase_head: Option<String>,
    pub phases_completed: Vec<PhaseName>,
    pub artifacts: Artifacts,
    /// The pull request's address, if all that speaks for it is an agent's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubted_pr: Option<String>,
    /// Chunks that were put off.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<DeferredChunk>,
    /// What people said to whoever works on the run, and was not passed on yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
    /// What was found in the work, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// How the project's dev environment was when it was last looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<DevSeen>,
    /// How the project's tests ended before an agent changed anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Box<Baseline>>,
    /// The newest turn of an agent that warp itself started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<AgentTurn>,
    /// The agent's own conversation, for going on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// Conversations about the same issue with agents in other roles, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_conversations: Vec<Conversation>,
    /// How many turns in a row have changed nothing where something was to be written.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle_turns: u64,
    /// What agents have used so far, as far as it is known.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
    /// What each chunk has used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunk_usage: Vec<ChunkUsage>,
    pub receipts: Vec<Receipt>,
    /// Acceptance tests that were changed with the plan, and that a person looks at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_tests: Option<OfferedTests>,
    /// What advisory checks said against the work on the current issue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<Objection>,
    /// The event that an advisory check has refused, while a person is asked whether to accept it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedEvent>,
    /// What phases have to know of the work before them.
    #[serde(default)]
    pub facts: Box<Facts>,
    pub checkpoints: Vec<Checkpoint>,
    pub errors: Vec<LoopError>,

    /// Fields of an adopted state file that nothing here knows; they are shown again as they were.
    #[serde(default)]
    pub unknown_fields: Map<String, Value>,
}

impl Run {
    /// Returns a counter; one that was never raised is zero.
    pub fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    /// Returns how many attempts in a row came to nothing new: the same failure, or a turn that changed nothing.
    pub(crate) fn without_progress(&self) -> u64 {
        let failures = self.last_failure.as_ref().map_or(0, |failure| failure.times);
        failures.max(self.idle_turns)
    }

    /// Tells whether the run is not over. It still holds its workspace then.
    pub fn is_open(&self) -> bool {
        !matches!(self.standing, Standing::Ended { .. })
    }

    /// Returns when the current phase was entered. Its clock may have been set anew since.
    pub(crate) fn entered_at(&self) -> Time {
        self.history.last().map_or(self.phase_started_at, |row| row.at)
    }

    /// Returns when the run came to the present phase from another.
    pub fn came_here_at(&self) -> Time {
        let is_here = |row: &&HistoryRow| row.phase == self.phase;
        let stay = self.history.iter().rev().take_while(is_here);
        stay.last().map_or(self.started_at, |row| row.at)
    }

    /// Returns what was found since the present phase began.
    pub fn findings_here(&self) -> impl Iterator<Item = &Finding> {
        let since = self.entered_at();
        self.findings.iter().filter(move |finding| finding.phase == self.phase && finding.at >= since)
    }

    /// Tells whether the pull request's address came from warp's own push or from a person.
    pub fn has_proved_pr(&self) -> bool {
        let url = self.artifacts.pr_url.as_deref().filter(|url| !url.trim().is_empty());
        url.is_some() && url != self.doubted_pr.as_deref()
    }

    /// Returns the root directory of its workspace, if it has one.
    pub fn workspace(&self) -> Option<&str> {
        Some(self.root.as_str()).filter(|root| !root.is_empty())
    }

    /// Returns the conversations about its issue that can be resumed.
    pub fn conversations(&self) -> impl Iterator<Item = &Conversation> {
        self.conversation.iter().chain(&self.other_conversations)
    }

    /// Tells whether a commit is one of warp's own for this run: a chunk's, or what a phase has handed in.
    pub fn has_made(&self, commit: &str) -> bool {
        let of_chunks = self.completed_chunks.iter().map(|chunk| &chunk.commit);
        let mut all = of_chunks.chain(self.receipts.iter().map(|receipt| &receipt.git_sha)).flatten();
        all.any(|made| made == commit)
    }

    /// Returns the newest receipt of a phase.
    pub fn receipt(&self, phase: &PhaseName) -> Option<&Receipt> {
        self.receipts.iter().rev().find(|receipt| receipt.phase == *phase)
    }

    /// Returns the name of the present stay in the present phase; another stay has another.
    pub fn stay(&self) -> String {
        format!("{}.{}", self.id, self.effect.as_ref().map_or("-", |effect| effect.id.as_str()))
    }

    /// Returns the criteria of the current chunk.
    pub fn current_criteria(&self) -> &[String] {
        let index = usize::try_from(self.chunk.index).unwrap_or(usize::MAX);
        self.chunk.acs.get(index.wrapping_sub(1)).map(Vec::as_slice).unwrap_or_default()
    }
}

/// A test that was named as evidence before it has run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedTest {
    /// The criterion that it stands for.
    pub criterion: String,
    pub test: String,
}

impl std::fmt::Display for NamedTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}: the test `{}` was named as evidence, and no test of that name has passed",
            self.criterion, self.test
        )
    }
}

/// The process that carries a run on. A process id alone would be mistaken for a later one's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    /// The machine's boot id when the run began.
    pub boot_id: String,
    /// When the process started, in the kernel's ticks since boot.
    pub start_ticks: Option<u64>,
    /// The machine on which it runs; not known of runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The agent's own name for its session, if the process is an agent: whatever descends from it is the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl Owner {
    /// What stands in place of an agent's session when warp itself drives the run: whatever that process starts is an
    /// agent, whichever session it has.
    pub const DRIVER: &'static str = "warp run";
    /// The same where a person has let the agent go without walls.
    pub const DRIVER_WITHOUT_WALLS: &'static str = "warp run --no-sandbox";

    /// Tells whether warp itself drives the run.
    pub fn is_driver(&self) -> bool {
        [Some(Self::DRIVER), Some(Self::DRIVER_WITHOUT_WALLS)].contains(&self.session.as_deref())
    }
}

/// Branches, found when the run began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branches {
    pub branch: String,
    pub main_branch: String,
    /// The branch that the session began on, if that is not the main branch.
    pub session_branch: Option<String>,
    pub merge_target: String,
    /// How the work gets to the target: `ff-only`, `pull-request` or `manual`.
    pub merge_strategy: String,
}

/// The engine's own word beside the phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Standing {
    Active,
    /// Waits for a person's decision.
    Parked {
        decision: Decision,
    },
    /// Waits for something that ends by itself.
    Suspended {
        wait: Wait,
    },
    Stopped,
    /// Over; the workspace is free.
    Ended {
        how: String,
    },
}

/// A durable question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub id: String,
    pub question: String,
    pub options: Vec<String>,
    /// The budget or deadline that asks.
    pub reason: String,
    pub asked_at: Time,
    /// When it is too late for an answer, where somebody acts on that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Time>,
    /// The cap that asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<Capped>,
}

impl Decision {
    /// The answers at a cap that let more be spent.
    pub const MORE: &'static str = "more";
    pub const TOMORROW: &'static str = "tomorrow";
    /// The answers that leave out what was asked about, or end the run.
    pub const SKIP: &'static str = "skip";
    pub const ABORT: &'static str = "abort";
    pub const STOP: &'static str = "stop";

    /// Tells whether an option says what becomes of the run, and nothing about what was asked.
    pub fn leaves(option: &str) -> bool {
        [Self::SKIP, Self::ABORT, Self::STOP].contains(&option)
    }
}

/// That budgets were exceeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trip {
    pub reasons: Vec<String>,
    pub at: Time,
    pub from_phase: PhaseName,
}

/// The last failed attempt, as far as progress is concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub signature: String,
    pub tree: String,
    /// How often it was seen in a row.
    pub times: u64,
}

/// One move from phase to phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryRow {
    pub phase: PhaseName,
    pub at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<PhaseName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<EventName>,
}

/// The chunks of the current issue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkPlan {
    /// The current chunk, from 1; 0 before there are any.
    pub index: u64,
    pub acs: Vec<Vec<String>>,
    /// The texts of the issue's criteria, where they could be read.
    pub texts: Vec<String>,
    /// The commit on which the current chunk began.
    pub base: Option<String>,
    /// The commit on which the first chunk of the issue began.
    #[serde(default)]
    pub first_base: Option<String>,
    /// The commits of the current chunk.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// How many commits the session had when the current chunk began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits_before: Option<u64>,
    /// How many criteria were ticked when the current chunk began.
    pub checked_before: Option<u64>,
    pub started_at: Option<Time>,
    /// What the run had used when the current chunk was last measured.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage_before: Usage,
}

/// A chunk that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedChunk {
    pub index: u64,
    pub acs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    pub at: Time,
}

/// What was used while a chunk was worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChunkUsage {
    pub chunk: u64,
    pub issue: Option<String>,
    pub started_at: Option<Time>,
    pub ended_at: Time,
    pub usage: Usage,
}

/// A chunk that was put off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeferredChunk {
    pub index: u64,
    pub acs: Vec<String>,
    pub why: String,
    pub at: Time,
}

/// Who works in a turn, and on what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// The agent, as it is written where it is named.
    pub agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The commit on which the branch stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The commit on which the merge target stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// One turn of an agent: one try of the phase's effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentTurn {
    #[serde(flatten)]
    pub worker: Worker,
    pub effect: String,
    pub attempt: u32,
    /// How much of what people said was passed on with it.
    pub told: usize,
    pub is_over: bool,
}

/// A conversation with an agent. It is resumed only by the same agent and model, for the same issue, in the same role, and where
/// nobody but the run has changed what it worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    #[serde(flatten)]
    pub worker: Worker,
    /// The agent's own name for it.
    pub session: String,
    pub issue: Option<String>,
    /// What the agent was asked to be.
    pub role: Option<String>,
    /// Millionths of a dollar that it has cost so far, as the agent reckons.
    #[serde(default)]
    pub micro_usd: u64,
    /// The phase and the chunk that it was about last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseName>,
    #[serde(default)]
    pub chunk: u64,
    /// Tokens that its last request held, as the agent says; 0 where it does not.
    #[serde(default)]
    pub tokens: u64,
    /// When its last turn began or ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Time>,
    /// Digests of the parts of the brief that were in it at the end of its last turn. The next turn is sent the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub brief: Vec<String>,
}

/// What part of the limit a conversation may hold that no provider keeps any more: to read it anew costs as much as to write it.
const COLD: u64 = 4;

impl Conversation {
    /// Tells whether the run still stands where the conversation was used last: what it holds is then what is needed.
    fn is_about(&self, run: &Run) -> bool {
        self.phase.as_ref() == Some(&run.phase) && self.chunk == run.chunk.index
    }

    /// Tells whether it is cheaper to resume the conversation than to begin a new one, which has to read its own way into the
    /// work. For another phase or chunk that depends on how much it holds, and on whether the provider still has it.
    pub fn is_worth_resuming(&self, run: &Run, now: Time) -> bool {
        if self.is_about(run) {
            return true;
        }
        let most = run.settings.get(keys::CONVERSATION_TOKENS);
        let kept = run.settings.get(keys::CONVERSATION_MINUTES);
        let is_warm = self.used_at.is_some_and(|used| now <= used.plus_minutes(kept));
        let most = if is_warm { most } else { most / COLD };
        (1..=most).contains(&self.tokens)
    }
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// Millionths of a dollar, as the agent reckons.
    pub micro_usd: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    /// Tells whether nothing was used.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Returns all tokens together.
    pub fn tokens(&self) -> u64 {
        let parts = [self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens];
        parts.into_iter().fold(0, u64::saturating_add)
    }

    /// Adds more to it.
    pub fn add(&mut self, more: &Self) {
        self.change(more, u64::saturating_add);
    }

    /// Returns what came since.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        self.remove(before);
        self
    }

    /// Takes away what was added before.
    pub(crate) fn remove(&mut self, less: &Self) {
        self.change(less, u64::saturating_sub);
    }

    fn change(&mut self, by: &Self, change: impl Fn(u64, u64) -> u64) {
        self.input_tokens = change(self.input_tokens, by.input_tokens);
        self.output_tokens = change(self.output_tokens, by.output_tokens);
        self.cache_read_tokens = change(self.cache_read_tokens, by.cache_read_tokens);
        self.cache_write_tokens = change(self.cache_write_tokens, by.cache_write_tokens);
        self.micro_usd = change(self.micro_usd, by.micro_usd);
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tokens", self.tokens())?;
        if self.micro_usd > 0 {
            write!(f, ", {}", crate::ledger::dollars(self.micro_usd))?;
        }
        Ok(())
    }
}

/// What was done in the session so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    pub commits: u64,
    pub reports_filed: u64,
    pub tests_run: u64,
    pub chunks_completed: u64,
}

/// A file that was edited too often in one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoomLoop {
    pub file: String,
    pub count: u64,
    pub phase: PhaseName,
    pub at: Time,
}

/// What was seen of a project's dev environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DevSeen {
    pub kind: DevKind,
    pub text: String,
    pub at: Time,
}

/// What can be seen of a dev environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DevKind {
    CameUp,
    Checked,
    Recovered,
    Failed,
    SeedsMissing,
}

impl DevKind {
    /// Returns the name under which it is recorded.
    pub fn event(self) -> &'static str {
        match self {
            DevKind::CameUp => "dev_came_up",
            DevKind::Checked => "dev_checked",
            DevKind::Recovered => "dev_recovered",
            DevKind::Failed => "dev_failed",
            DevKind::SeedsMissing => "seeds_missing",
        }
    }
}

/// What a loop has produced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifacts {
    pub brainstorm_file: Option<String>,
    pub plan_file: Option<String>,
    pub acceptance_tests_file: Option<String>,
    pub progress_file: Option<String>,
    pub pr_url: Option<String>,
    pub branch: Option<String>,
}

impl Artifacts {
    /// The names of the entries, as state files and events use them.
    pub const FIELDS: &'static [&'static str] =
        &["brainstorm_file", "plan_file", "acceptance_tests_file", "progress_file", "pr_url", "branch"];

    /// Returns an entry by its name.
    pub fn entry(&self, name: &str) -> Option<&str> {
        let entry = match name {
            "brainstorm_file" => &self.brainstorm_file,
            "plan_file" => &self.plan_file,
            "acceptance_tests_file" => &self.acceptance_tests_file,
            "progress_file" => &self.progress_file,
            "pr_url" => &self.pr_url,
            "branch" => &self.branch,
            _ => return None,
        };
        entry.as_deref()
    }

    /// Sets an entry by its name; one that is not known is left out.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        let entry = match name {
            "brainstorm_file" => &mut self.brainstorm_file,
            "plan_file" => &mut self.plan_file,
            "acceptance_tests_file" => &mut self.acceptance_tests_file,
            "progress_file" => &mut self.progress_file,
            "pr_url" => &mut self.pr_url,
            "branch" => &mut self.branch,
            _ => return,
        };
        *entry = Some(value);
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It is wrong: nothing with it is approved.
    P1,
    P2,
    P3,
}

/// Something that was found in the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub severity: Severity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    pub text: String,
    /// The phase that it was found in.
    pub phase: PhaseName,
    pub at: Time,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let severity = match self.severity {
            Severity::P1 => "P1",
            Severity::P2 => "P2",
            Severity::P3 => "P3",
        };
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{severity} {file}:{line}: {}", self.text),
            (Some(file), None) => write!(f, "{severity} {file}: {}", self.text),
            (None, _) => write!(f, "{severity}: {}", self.text),
        }
    }
}

/// Proof that a phase did its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub phase: PhaseName,
    pub artifact: Option<String>,
    pub git_sha: Option<String>,
    pub timestamp: Time,
    /// Set when the phase was left by force: this is a receipt for nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// The digest of the artifact's content at that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why there is no artifact or commit, where one is usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Of acceptance tests: the commit on which their phase began. What is new since then is frozen with them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Of acceptance tests that were changed with the plan: the digest of that plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Of acceptance tests: whether warp has run them, so that it needs nobody's word later either.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran: bool,
    /// Of acceptance tests that warp has run: the command, which they are run with from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Acceptance tests that are not frozen yet: a person looks at them first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedTests {
    /// The event that is taken once they are approved.
    pub event: EventName,
    /// What came with it, as far as it is shown for the phase.
    pub data: Map<String, Value>,
    /// The receipt that freezes them, and the plan that they belong to.
    pub receipt: Receipt,
}

/// What the next context has to know about a phase that is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub phase: PhaseName,
    pub summary: String,
    pub failed_approaches: Vec<String>,
    pub timestamp: Time,
}

/// An error that a loop met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopError {
    pub phase: PhaseName,
    pub message: String,
    pub iteration: u64,
    pub timestamp: Time,
}
