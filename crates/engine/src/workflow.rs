//! Workflows: named machines of phases, events, budgets and tool rules. They are data.
//!
//! A [`Workflow`] can only be made by [`Workflow::parse`], which proves before it answers: every target
//! exists, every phase can be reached, an end can be reached from everywhere, every cycle is counted and
//! every wait has a deadline with a named outcome. Past it, an unknown phase cannot occur.

mod builtin;
mod job;
mod parse;
mod proof;
mod raw;
mod show;
mod tool;
mod word;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use builtin::{ATTACHED, BUILT_IN, BuiltIn, DEFAULT};
pub use job::{Job, JobOutcome};
pub use parse::{LARGEST, WorkflowError};
pub use proof::{Fault, Path, Proof};
pub use show::{Shown, ShownTransition};
pub use tool::Tool;
pub use word::Means;

use crate::{EventName, Key, PhaseName, Run, Settings, Time, Word};

/// A machine that was checked.
#[derive(Clone, Debug)]
pub struct Workflow {
    pub name: String,
    pub purpose: String,
    pub initial: PhaseName,
    /// A setting that, when on, lets a run begin elsewhere.
    pub initial_when: Option<(Key<bool>, PhaseName)>,
    pub finals: Vec<PhaseName>,
    /// The automation levels at which it may run; empty if it does not care.
    pub levels: Vec<u64>,
    pub state_file: Option<StateFile>,
    /// What a run is about.
    pub subject: Subject,
    /// The event that a stop fires. Without one, a stop leaves the phase and changes the standing.
    pub stop_event: Option<EventName>,
    /// The event that ends a run in a final phase which still has work to do.
    pub close_event: Option<EventName>,
    /// The tick that counts an agent's turn.
    pub turn_event: Option<EventName>,
    /// The tick that counts an agent in a terminal that has ended by itself.
    pub crash_event: Option<EventName>,
    /// Set when warp commits what an agent wrote before it offers the agent's answer.
    pub hands_in: bool,
    /// Set when an agent is asked again until the budgets of its turns are used up; otherwise a person decides after the second
    /// answer that cannot be used.
    pub retries_until_budget: bool,
    /// Set when what is used by agents that others start is looked up as chunks are taken and done.
    pub measures_usage: bool,
    /// The file in which checkpoints and errors are written down, unless the run names another.
    pub progress_file: Option<String>,
    pub phases: Vec<Phase>,
    pub ticks: Vec<Tick>,
    pub questions: Vec<Question>,
    pub approvals: Vec<Approval>,
    pub budgets: Vec<Budget>,
    /// Where a run goes on when a chunk is put off.
    pub deferral: Option<Deferral>,
    /// Counters that start again with every phase.
    pub phase_counters: Vec<String>,
    /// The text it was made from, and that text's digest: what a run is pinned to.
    pub text: String,
    pub digest: String,
}

/// Which of the originals' state files shows a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StateFile {
    WarpDrive,
    AutonomousLoop,
}

/// What a run of the workflow is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Issue,
    Feature,
}

/// Where a run can stand.
#[derive(Clone, Debug)]
pub struct Phase {
    pub name: PhaseName,
    pub purpose: String,
    pub activity: Activity,
    /// What a program does here: all of it in a phase of the engine's own, the beginning of it in an agent's.
    pub job: Option<Job>,
    /// The events by which this workflow says what came of the job, where they have other names than the job's own.
    pub says: Vec<(JobOutcome, EventName)>,
    /// What a person is asked, in a phase that is theirs.
    pub question: Option<String>,
    /// The answer that counts where nobody is there to be asked.
    pub unattended: Option<String>,
    /// What an agent answers with, in a phase that is theirs.
    pub answer: Answer,
    pub role: Option<String>,
    /// How hard an agent is to think there, unless a setting says otherwise.
    pub effort: Option<String>,
    /// The forge label that shows the phase.
    pub label: Option<String>,
    /// Operations that the phase gives permission for, such as `git_commit`.
    pub may: Vec<String>,
    /// What has to be shown before an agent may leave the phase.
    pub receipt: Option<ReceiptKind>,
    /// The entry of a run's artifacts that the phase's receipt is about.
    pub artifact: Option<String>,
    /// Set in a final phase that means that the work came to nothing.
    pub fails: bool,
    /// None only in a final phase.
    pub deadline: Option<Deadline>,
    pub rows: Vec<Row>,
}

/// Who does a phase's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    Engine,
    Agent,
    Person,
}

/// One allowed (phase, event) pair.
#[derive(Clone, Debug)]
pub struct Row {
    pub event: EventName,
    pub to: Target,
    /// A setting that, when on, sends the row elsewhere; see [`Workflow::under`].
    pub to_when: Option<(Key<bool>, PhaseName)>,
    /// Set when only a person may say so.
    pub by_person: bool,
    /// A setting that takes the person's word out again; the proof does not count on a person then.
    pub person_unless: Option<Key<bool>>,
    pub gate: Option<SemanticGate>,
    /// Whose criteria need evidence before an agent may say so.
    pub evidence: Option<EvidenceScope>,
    /// Set when the tests have to pass before an agent may say so.
    pub tests_pass: bool,
    pub acts: Vec<Act>,
    pub raises: Vec<String>,
    pub resets: Vec<String>,
    /// Never redirected by a budget.
    pub exempt: bool,
    /// Taken by itself after a budget whose setting says `abort` has led here.
    pub aborts: bool,
    /// Why the target is entered, where it can be entered for several reasons.
    pub reason: Option<String>,
    /// The review status that the event stands for.
    pub status: Option<String>,
    /// The word by which a person chooses it, in a phase that is a person's.
    pub answer: Option<String>,
    /// The tool by which an agent says it.
    pub tool: Option<Tool>,
}

/// What an agent answers with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// An approach; none is asked for where the issue is simple.
    Plan,
    /// The chunk's work.
    Work,
    /// What the phase's receipt names.
    Receipt,
    /// Findings, which decide between approval and changes.
    Verdict,
    /// One of the phase's events, with its data.
    #[default]
    Event,
    /// That all of it is done.
    Promise,
}

/// What an event of a workflow says, whatever its name is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// What came of the phase's job.
    Outcome(JobOutcome),
    /// An agent's plan.
    Plan,
    /// An agent's finished work.
    Work,
}

/// Where a row leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Phase(PhaseName),
    /// Back to the phase from which this one was entered.
    Origin,
}

/// A check built into the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SemanticGate {
    DiffRelevanceCheck,
    AcCountCheck,
}

impl SemanticGate {
    /// Returns the name that state files and workflows use.
    pub fn name(self) -> &'static str {
        match self {
            SemanticGate::DiffRelevanceCheck => "diff_relevance_check",
            SemanticGate::AcCountCheck => "ac_count_check",
        }
    }
}

/// The criteria that evidence has to cover, and since when a line counts as changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceScope {
    /// The current chunk's.
    Chunk,
    /// Those of all chunks of the issue.
    Issue,
}

/// What a phase's receipt has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptKind {
    /// A file that is not empty.
    File,
    /// A committed file of tests, every one of which fails.
    Tests,
    /// A file that an earlier phase made, with another content; or a note why not.
    Revision,
    /// A commit made in the phase; or a note why there is none.
    Commit,
    /// A summary in words.
    Summary,
}

impl ReceiptKind {
    /// Tells whether a run's end depends on it.
    pub fn is_required(self) -> bool {
        match self {
            ReceiptKind::File | ReceiptKind::Tests | ReceiptKind::Commit | ReceiptKind::Summary => true,
            ReceiptKind::Revision => false,
        }
    }
}

/// What a row means to the work itself, beside moving the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    SelectWork,
    DefineChunks,
    TakeNextChunk,
    CompleteChunk,
    MarkDocs,
    MarkTestsPassed,
    MarkTestsFailed,
    MarkDrift,
    MarkCommit,
    MarkMended,
    MarkReport,
    MarkFinalTest,
    MarkAborted,
    StartOver,
    RenewBudgets,
    RenewOrigin,
    CompletePhase,
}

/// An event that counts without moving, such as the end of an agent's turn.
#[derive(Clone, Debug)]
pub struct Tick {
    pub event: EventName,
    /// Empty means every phase that is not final.
    pub phases: Vec<PhaseName>,
    pub raises: Vec<String>,
}

/// An event that asks a person to look, and parks the run until they have.
#[derive(Clone, Debug)]
pub struct Question {
    pub event: EventName,
    pub phase: PhaseName,
    pub text: String,
    /// The event that an approval takes.
    pub approves: EventName,
    /// A setting that, when on, approves without a person.
    pub unless: Option<Key<bool>>,
    /// The tool by which an agent asks it.
    pub tool: Option<Tool>,
}

/// An agent's event that waits for a person's approval where a setting says so.
#[derive(Clone, Debug)]
pub struct Approval {
    pub phase: PhaseName,
    pub event: EventName,
    pub text: String,
    pub when: Key<bool>,
}

/// Where a run goes on when a chunk is put off because nobody answered its question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deferral {
    /// With the next chunk.
    pub next: PhaseName,
    /// When no chunk is left, and some are done.
    pub done: PhaseName,
    /// When nothing was done.
    pub none: PhaseName,
}

/// How long a phase may last, and what then.
#[derive(Clone, Debug)]
pub struct Deadline {
    pub minutes: Limit,
    pub outcome: DeadlineOutcome,
}

/// What a missed deadline does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadlineOutcome {
    /// Fires this event.
    Event(EventName),
    /// Trips this budget.
    Budget(String),
    /// Parks the run on a decision.
    Park,
}

/// A limit with a counter and a named outcome.
#[derive(Clone, Debug)]
pub struct Budget {
    pub reason: String,
    pub measure: Measure,
    pub limit: Limit,
    pub trips: Trips,
    /// A setting that tells how hard a timeout is: `warn`, `block` or `abort`.
    pub enforcement: Option<Key<Word>>,
    /// Set when following the outcome is a forced advance: an error is recorded with it.
    pub forced: bool,
    /// What a person is asked when it is used up, with `{used NOUNS}`, `{limit}` and `{phase}` to be filled in.
    pub question: Option<String>,
    pub outcomes: Vec<BudgetOutcome>,
}

/// What a budget measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measure {
    Counter(String),
    PhaseMinutes,
    SessionMinutes,
    /// Identical failures in a row.
    SameFailures,
}

/// When a budget trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trips {
    /// When the measure goes beyond the limit.
    Above,
    /// When the measure reaches the limit.
    At,
}

/// What a tripped budget does in one place.
#[derive(Clone, Debug)]
pub struct BudgetOutcome {
    pub phase: Option<PhaseName>,
    pub event: Option<EventName>,
    /// Only when this setting is on (or off).
    pub when: Option<(Key<bool>, bool)>,
    pub does: BudgetDoes,
}

/// The act of a tripped budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BudgetDoes {
    /// Goes there instead of taking the asked transition.
    Redirect(PhaseName),
    /// Takes the asked transition, then this event.
    Follow(EventName),
    /// Parks the run on a decision: instead of the asked transition if one is named, else after it.
    Park,
}

/// A number, or the setting that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Setting(Key<u64>),
    Number(u32),
}

impl Limit {
    /// Returns the number that is in force under `settings`.
    pub fn value(&self, settings: &Settings) -> u64 {
        match self {
            Limit::Number(number) => u64::from(*number),
            Limit::Setting(key) => settings.get(*key),
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Limit::Number(number) => write!(f, "{number}"),
            Limit::Setting(key) => key.fmt(f),
        }
    }
}

impl Phase {
    /// Returns the event that says an outcome of the phase's job; none if the workflow has no word for it.
    pub fn said(&self, outcome: JobOutcome) -> Option<&EventName> {
        let said = self.says.iter().find(|(said, _)| *said == outcome);
        let event = said.map_or(outcome.as_str(), |(_, event)| event.as_str());
        self.rows.iter().map(|row| &row.event).find(|known| known.as_str() == event)
    }

    /// Returns the outcome of the phase's job that an event says.
    pub fn outcome(&self, event: &str) -> Option<JobOutcome> {
        let (must, may) = self.job?.outcomes();
        must.iter().chain(may).find(|outcome| self.said(**outcome).is_some_and(|said| said == event)).copied()
    }

    /// Tells whether the phase's deadline trips `budget`.
    pub(crate) fn is_due_by(&self, budget: &Budget) -> bool {
        let due = self.deadline.as_ref().map(|deadline| &deadline.outcome);
        due == Some(&DeadlineOutcome::Budget(budget.reason.clone()))
    }
}

impl Row {
    /// Tells whether, under `settings`, only a person may say so.
    pub fn needs_person(&self, settings: &Settings) -> bool {
        self.by_person || self.person_unless.is_some_and(|setting| !settings.get(setting))
    }

    /// Tells whether the row completes its phase, so that a receipt belongs to it.
    pub fn completes_phase(&self) -> bool {
        self.acts.contains(&Act::CompletePhase)
    }
}

impl Budget {
    /// Asked where neither the budget nor the phase has words for it.
    pub(crate) const CONTINUE: &'static str = "Continue, or stop?";

    /// Asks a person how to continue after a phase in which so much was used; `otherwise` is asked where the workflow has
    /// no words for this budget.
    pub(crate) fn question(&self, run: &Run, phase: &PhaseName, used: u64, otherwise: &str) -> String {
        let limit = self.limit.value(&run.settings);
        let Some(words) = &self.question else {
            return format!("The limit of {} is reached ({used} of {limit}). {otherwise}", self.reason);
        };
        let mut question = words.replace("{limit}", &limit.to_string()).replace("{phase}", phase.as_str());
        if let Some((before, (noun, after))) =
            question.split_once("{used ").and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            let noun = if used == 1 { noun.strip_suffix('s').unwrap_or(noun) } else { noun };
            question = format!("{before}{used} {noun}{after}");
        }
        question
    }

    /// Returns how much of it was used at a moment, in a phase that was entered then.
    pub(crate) fn used(&self, run: &Run, entered: Time, at: Time) -> u64 {
        match &self.measure {
            Measure::Counter(counter) => run.counter(counter),
            Measure::SameFailures => run.without_progress(),
            Measure::PhaseMinutes => at.minutes_since(entered),
            Measure::SessionMinutes => at.minutes_since(run.session_clock),
        }
    }

    /// Returns what the budget does when the deadline of `phase` trips it.
    pub(crate) fn timeout(
        &self,
        phase: &Phase,
        fits: impl Fn(&BudgetOutcome) -> bool,
    ) -> Option<&BudgetDoes> {
        let here = |outcome: &&BudgetOutcome| {
            outcome.phase.as_ref().is_none_or(|name| *name == phase.name)
                && outcome.event.is_none()
                && !matches!(outcome.does, BudgetDoes::Follow(_))
                && fits(outcome)
        };
        self.outcomes.iter().find(here).map(|outcome| &outcome.does)
    }
}

impl BudgetOutcome {
    /// Tells whether the settings of a run let the outcome happen.
    pub(crate) fn is_on(&self, settings: &Settings) -> bool {
        self.when.is_none_or(|(setting, on)| settings.get(setting) == on)
    }
}

impl Workflow {
    /// Returns the built-in workflow of that name.
    pub fn built_in(name: &str) -> Option<Self> {
        let built_in = BUILT_IN.iter().find(|built_in| built_in.name == name)?;
        Some(Self::read_built_in(built_in))
    }

    /// Returns the phase of that name.
    pub fn phase(&self, name: &PhaseName) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.name == *name)
    }

    /// Tells whether a program does this job in one of its phases.
    pub fn has_job(&self, job: Job) -> bool {
        self.phases.iter().any(|phase| phase.job == Some(job))
    }

    /// Returns the rows that lead out of `phase`.
    pub fn rows(&self, phase: &PhaseName) -> &[Row] {
        self.phase(phase).map(|phase| phase.rows.as_slice()).unwrap_or_default()
    }

    /// Returns the row for a pair, if it is allowed.
    pub fn row(&self, phase: &PhaseName, event: &str) -> Option<&Row> {
        self.rows(phase).iter().find(|row| row.event == *event)
    }

    /// Tells whether a run that enters `phase` has come to its end.
    pub fn is_final(&self, phase: &PhaseName) -> bool {
        self.finals.contains(phase)
    }

    /// Tells whether nothing is left to do in `phase`: a final phase that no event has to close.
    pub fn ends_in(&self, phase: &PhaseName) -> bool {
        self.is_final(phase) && self.close_event.is_none()
    }

    /// Returns the phase that a new run under `settings` begins in.
    pub fn first_phase(&self, settings: &Settings) -> &PhaseName {
        match &self.initial_when {
            Some((setting, phase)) if settings.get(*setting) => phase,
            Some(_) | None => &self.initial,
        }
    }

    /// Returns the workflow as it is under a run's settings: its rows lead where those send them.
    #[must_use]
    pub fn under(self: Arc<Self>, settings: &Settings) -> Arc<Self> {
        if !self.switches().iter().any(|setting| settings.get(*setting)) {
            return self;
        }
        Arc::new(self.switched(|setting| settings.get(setting)))
    }

    /// Returns the settings that send rows elsewhere, each once.
    fn switches(&self) -> Vec<Key<bool>> {
        let mut found = Vec::new();
        let rows = self.phases.iter().flat_map(|phase| &phase.rows);
        for (setting, _) in rows.filter_map(|row| row.to_when.as_ref()) {
            if !found.contains(setting) {
                found.push(*setting);
            }
        }
        found
    }

    /// Returns the workflow with the rows of these settings sent elsewhere.
    fn switched(&self, is_on: impl Fn(Key<bool>) -> bool) -> Self {
        let mut workflow = self.clone();
        for row in workflow.phases.iter_mut().flat_map(|phase| &mut phase.rows) {
            if let Some((setting, to)) = &row.to_when
                && is_on(*setting)
            {
                row.to = Target::Phase(to.clone());
            }
        }
        workflow
    }

    /// Returns the phases from which `phase` can be entered: where a return to the origin may lead.
    pub fn origins(&self, phase: &PhaseName) -> Vec<&PhaseName> {
        let returns = |from: &Phase| {
            let into = self.phase(phase);
            self.remembers_origin(&from.name) && into.is_some_and(|into| self.leads(into, &from.name))
        };
        let enters = |from: &&Phase| self.leads(from, phase) || returns(from);
        self.phases.iter().filter(enters).map(|from| &from.name).collect()
    }

    /// Tells whether a row of `from` names `to`, or a budget may redirect there.
    fn leads(&self, from: &Phase, to: &PhaseName) -> bool {
        let redirects = |outcome: &BudgetOutcome| {
            outcome.does == BudgetDoes::Redirect(to.clone())
                && outcome.phase.as_ref().is_none_or(|name| *name == from.name)
        };
        let mut outcomes = self.budgets.iter().flat_map(|budget| &budget.outcomes);
        from.rows.iter().any(|row| row.to == Target::Phase(to.clone()))
            || (!from.rows.is_empty() && outcomes.any(redirects))
    }

    /// Returns every phase that `row` of `phase` may lead to.
    pub fn targets<'a>(&'a self, phase: &PhaseName, row: &'a Row) -> Vec<&'a PhaseName> {
        match &row.to {
            Target::Phase(to) => vec![to],
            Target::Origin => self.origins(phase),
        }
    }

    /// Tells whether `phase` remembers where it was entered from.
    pub fn remembers_origin(&self, phase: &PhaseName) -> bool {
        self.rows(phase).iter().any(|row| row.to == Target::Origin)
    }

    /// Returns every event name that a table row uses, each once, in order of first use.
    pub fn events(&self) -> Vec<&EventName> {
        let mut events: Vec<&EventName> = Vec::new();
        for row in self.phases.iter().flat_map(|phase| &phase.rows) {
            if !events.contains(&&row.event) {
                events.push(&row.event);
            }
        }
        events
    }

    /// Returns what counts when `event` ticks in `phase`; nothing if it does not tick there.
    pub fn ticks(&self, phase: &PhaseName, event: &str) -> Option<&Tick> {
        let applies = |tick: &&Tick| {
            tick.event == *event
                && if tick.phases.is_empty() { !self.ends_in(phase) } else { tick.phases.contains(phase) }
        };
        self.ticks.iter().find(applies)
    }

    /// Returns what `event` says in `phase`, where something depends on it.
    pub fn meaning(&self, phase: &PhaseName, event: &str) -> Option<Meaning> {
        let phase = self.phase(phase)?;
        if let Some(outcome) = phase.outcome(event) {
            return Some(Meaning::Outcome(outcome));
        }
        let means = |tool, meaning| {
            let row = self.answering(phase, tool).filter(|row| row.event == *event);
            row.map(|_| meaning)
        };
        match phase.answer {
            Answer::Plan => means(Tool::SubmitPlan, Meaning::Plan),
            Answer::Work => means(Tool::Done, Meaning::Work),
            Answer::Event => {
                means(Tool::SubmitPlan, Meaning::Plan).or_else(|| means(Tool::Done, Meaning::Work))
            }
            Answer::Receipt | Answer::Verdict | Answer::Promise => None,
        }
    }

    /// Returns the event by which an agent hands in its plan or its work in `phase`, where that is what it answers with.
    pub fn answer_event(&self, phase: &PhaseName) -> Option<&EventName> {
        let phase = self.phase(phase)?;
        let tool = match phase.answer {
            Answer::Plan => Tool::SubmitPlan,
            Answer::Work => Tool::Done,
            Answer::Receipt | Answer::Verdict | Answer::Event | Answer::Promise => return None,
        };
        self.answering(phase, tool).map(|row| &row.event)
    }

    /// Returns the row that a tool says in an agent's phase: the one that names it, or has its name; `done` says the only one.
    fn answering<'a>(&'a self, phase: &'a Phase, tool: Tool) -> Option<&'a Row> {
        if phase.activity != Activity::Agent {
            return None;
        }
        let is_agents = |row: &&Row| !row.by_person && self.stop_event.as_ref() != Some(&row.event);
        let mut rows = phase.rows.iter().filter(is_agents);
        let named = |row: &&Row| row.tool.map_or(row.event == tool.name(), |named| named == tool);
        rows.clone().find(named).or_else(|| match (rows.next(), rows.next()) {
            (Some(only), None) if tool == Tool::Done && only.tool.is_none() => Some(only),
            _ => None,
        })
    }

    /// Tells whether a review that wants changes leads to `phase`.
    pub fn mends(&self, phase: &PhaseName) -> bool {
        let mut rows = self.phases.iter().flat_map(|phase| &phase.rows);
        rows.any(|row| {
            row.status.as_deref() == Some("NEEDS_CHANGES") && row.to == Target::Phase(phase.clone())
        })
    }

    /// Tells whether a run works its issue off in chunks.
    pub fn works_in_chunks(&self) -> bool {
        self.phases.iter().flat_map(|phase| &phase.rows).any(|row| row.acts.contains(&Act::DefineChunks))
    }

    /// Tells whether a person decides in `phase` about a budget that is used up.
    pub fn decides_on_budgets(&self, phase: &PhaseName) -> bool {
        let is_persons = self.phase(phase).is_some_and(|phase| phase.activity == Activity::Person);
        let redirect = BudgetDoes::Redirect(phase.clone());
        is_persons
            && self.budgets.iter().flat_map(|budget| &budget.outcomes).any(|outcome| outcome.does == redirect)
    }

    /// Returns the approval that an agent's `event` waits for in the phase that the run is in.
    pub fn approval(&self, run: &Run, event: &EventName) -> Option<&Approval> {
        let waits = |approval: &&Approval| {
            approval.phase == run.phase && approval.event == *event && run.settings.get(approval.when)
        };
        self.approvals.iter().find(waits)
    }

    /// Returns what counts when a turn of an agent ends in `phase`; nothing if turns do not count there.
    pub fn turns(&self, phase: &PhaseName) -> Option<&Tick> {
        self.ticks(phase, self.turn_event.as_ref()?.as_str())
    }

    /// Returns the question that `event` asks in `phase`.
    pub fn question(&self, phase: &PhaseName, event: &str) -> Option<&Question> {
        self.questions.iter().find(|question| question.phase == *phase && question.event == *event)
    }

    /// Returns the outcome of a tripped budget for a run that stands where `run` stands.
    pub(crate) fn outcome<'a>(
        &self,
        budget: &'a Budget,
        run: &Run,
        phase: &PhaseName,
        event: Option<&EventName>,
    ) -> Option<&'a BudgetDoes> {
        let fits = |outcome: &&BudgetOutcome| {
            outcome.phase.as_ref().is_none_or(|wanted| wanted == phase)
                && outcome.event.as_ref().is_none_or(|wanted| Some(wanted) == event)
                && outcome.is_on(&run.settings)
                // What replaces the asked transition is looked up with its event, what follows it without.
                && (outcome.event.is_some() || matches!(outcome.does, BudgetDoes::Redirect(_))) == event.is_some()
        };
        budget.outcomes.iter().find(fits).map(|outcome| &outcome.does)
    }
}
