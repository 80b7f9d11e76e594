//! From a TOML text to a checked [`Workflow`].

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    Act, Activity, Budget, BudgetDoes, BudgetOutcome, BuiltIn, Deadline, DeadlineOutcome, EvidenceScope,
    Fault, Limit, Measure, Phase, Proof, Question, ReceiptKind, Row, SemanticGate, StateFile, Subject,
    Target, Tick, Trips, Workflow,
};
use crate::{Artifacts, Event, EventName, PhaseName, Settings, digest, settings::Kind};

/// The largest workflow text that is read, in bytes.
pub const LARGEST: usize = 256 * 1024;
const MOST_PHASES: usize = 200;
const MOST_ROWS: usize = 4000;
const MOST_OUTCOMES: usize = 100;

/// Why a text is no workflow.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    #[error("the workflow has {size} bytes; the most is {LARGEST}")]
    TooLarge { size: usize },
    #[error("{0}")]
    Syntax(String),
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Faults(Vec<Fault>),
}

impl Workflow {
    /// Reads a workflow and proves that it can be run.
    pub fn parse(text: &str) -> Result<Self, WorkflowError> {
        let workflow = Self::parse_proved(text)?;
        let faults = Proof::faults(&workflow);
        if faults.is_empty() { Ok(workflow) } else { Err(WorkflowError::Faults(faults)) }
    }

    /// Reads a workflow that was proved before: one that is built in, or that a run is pinned to.
    ///
    /// A run is loaded with every event, and the proof costs more than everything else about it.
    pub fn parse_proved(text: &str) -> Result<Self, WorkflowError> {
        if text.len() > LARGEST {
            return Err(WorkflowError::TooLarge { size: text.len() });
        }
        let raw: RawWorkflow = toml::from_str(text)
            .map_err(|error| WorkflowError::Syntax(error.to_string().trim_end().to_owned()))?;
        raw.read(text)
    }

    pub(super) fn read_built_in(built_in: &BuiltIn) -> Self {
        let proved = "the tests prove every built-in workflow";
        let raw: RawWorkflow = serde_json::from_str(built_in.compiled).expect(proved);
        raw.read(built_in.text).expect(proved)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWorkflow {
    name: String,
    purpose: String,
    initial: String,
    initial_when: Option<RawInitialWhen>,
    #[serde(rename = "final")]
    finals: Vec<String>,
    #[serde(default)]
    levels: Vec<u64>,
    state_file: Option<StateFile>,
    #[serde(default = "about_an_issue")]
    subject: Subject,
    stop_event: Option<String>,
    close_event: Option<String>,
    deadline: Option<RawDeadline>,
    #[serde(default)]
    phase_counters: Vec<String>,
    #[serde(rename = "phase", default)]
    phases: Vec<RawPhase>,
    #[serde(rename = "tick", default)]
    ticks: Vec<RawTick>,
    #[serde(rename = "question", default)]
    questions: Vec<RawQuestion>,
    #[serde(rename = "budget", default)]
    budgets: Vec<RawBudget>,
}

fn about_an_issue() -> Subject {
    Subject::Issue
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInitialWhen {
    setting: String,
    phase: String,
}

#[derive(Deserialize, Clone)]
#[serde(deny_unknown_fields)]
struct RawDeadline {
    minutes: Limit,
    outcome: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPhase {
    name: String,
    purpose: String,
    activity: Activity,
    role: Option<String>,
    label: Option<String>,
    #[serde(default)]
    may: Vec<String>,
    receipt: Option<ReceiptKind>,
    artifact: Option<String>,
    deadline: Option<RawDeadline>,
    #[serde(default)]
    on: Vec<RawRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    event: String,
    to: Option<String>,
    #[serde(default)]
    to_origin: bool,
    by: Option<RawBy>,
    unless: Option<String>,
    gate: Option<SemanticGate>,
    evidence: Option<EvidenceScope>,
    #[serde(default)]
    acts: Vec<Act>,
    #[serde(default)]
    raises: Vec<String>,
    #[serde(default)]
    resets: Vec<String>,
    #[serde(default)]
    exempt: bool,
    reason: Option<String>,
    status: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawBy {
    Person,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTick {
    event: String,
    #[serde(default)]
    phases: Vec<String>,
    raises: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQuestion {
    event: String,
    phase: String,
    text: String,
    approves: String,
    unless: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBudget {
    reason: String,
    counter: Option<String>,
    measure: Option<RawMeasure>,
    limit: Limit,
    #[serde(default = "above")]
    trips: Trips,
    enforcement: Option<String>,
    #[serde(default)]
    forced: bool,
    outcomes: Vec<RawOutcome>,
}

fn above() -> Trips {
    Trips::Above
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum RawMeasure {
    PhaseMinutes,
    SessionMinutes,
    SameFailures,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawOutcome {
    phase: Option<String>,
    event: Option<String>,
    when: Option<String>,
    unless: Option<String>,
    redirect: Option<String>,
    follow: Option<String>,
    #[serde(default)]
    park: bool,
}

impl RawWorkflow {
    fn read(self, text: &str) -> Result<Workflow, WorkflowError> {
        let mut faults = Vec::new();
        let workflow = self.check(text, &mut faults);
        if faults.is_empty() { Ok(workflow) } else { Err(WorkflowError::Faults(faults)) }
    }

    fn check(self, text: &str, faults: &mut Vec<Fault>) -> Workflow {
        let mut names = Names { faults };
        names.word("workflow", &self.name);
        let default_deadline = self.deadline;
        let finals: Vec<PhaseName> = self.finals.iter().map(|name| PhaseName::new(name.as_str())).collect();
        if self.phases.len() > MOST_PHASES {
            names.fault(format!("there are {} phases; the most is {MOST_PHASES}", self.phases.len()));
        }
        if self.phases.iter().map(|phase| phase.on.len()).sum::<usize>() > MOST_ROWS {
            names.fault(format!("there are more than {MOST_ROWS} rows"));
        }
        if self.budgets.iter().map(|budget| budget.outcomes.len()).sum::<usize>() > MOST_OUTCOMES {
            names.fault(format!("there are more than {MOST_OUTCOMES} outcomes of budgets"));
        }
        let budget_reasons: Vec<String> = self.budgets.iter().map(|budget| budget.reason.clone()).collect();
        for counter in &self.phase_counters {
            names.word("counter", counter);
        }
        if let Some(event) = &self.close_event {
            names.word("event", event);
        }
        // A final phase that an event closes is still a wait.
        let ends = if self.close_event.is_none() { finals.as_slice() } else { &[] };
        let phases = self
            .phases
            .into_iter()
            .map(|phase| phase.check(ends, default_deadline.as_ref(), &budget_reasons, &mut names))
            .collect();
        let ticks = self
            .ticks
            .into_iter()
            .map(|tick| Tick {
                event: names.event(&tick.event),
                phases: tick.phases.into_iter().map(PhaseName::new).collect(),
                raises: names.counters(tick.raises),
            })
            .collect();
        let questions = self.questions.into_iter().map(|question| question.check(&mut names)).collect();
        let budgets = self.budgets.into_iter().filter_map(|budget| budget.check(&mut names)).collect();
        let initial_when = self.initial_when.map(|when| {
            names.setting(&when.setting, |kind| kind == Kind::Flag, "a flag");
            (when.setting, PhaseName::new(when.phase))
        });
        Workflow {
            name: self.name,
            purpose: self.purpose,
            initial: PhaseName::new(self.initial),
            initial_when,
            finals,
            levels: self.levels,
            state_file: self.state_file,
            subject: self.subject,
            stop_event: self.stop_event.map(EventName::new),
            close_event: self.close_event.map(EventName::new),
            phases,
            ticks,
            questions,
            budgets,
            phase_counters: self.phase_counters,
            digest: digest(text),
            text: text.to_owned(),
        }
    }
}

impl RawPhase {
    fn check(
        self,
        ends: &[PhaseName],
        default_deadline: Option<&RawDeadline>,
        budgets: &[String],
        names: &mut Names<'_>,
    ) -> Phase {
        names.word("phase", &self.name);
        let name = PhaseName::new(self.name);
        for operation in &self.may {
            names.word("operation", operation);
        }
        if let Some(artifact) =
            self.artifact.as_deref().filter(|artifact| !Artifacts::FIELDS.contains(artifact))
        {
            let known = Artifacts::FIELDS.join(", ");
            names.fault(format!("`{name}` names the artifact `{artifact}`; there are {known}"));
        }
        let rows: Vec<Row> = self.on.into_iter().filter_map(|row| row.check(&name, names)).collect();
        let deadline = self.deadline.or_else(|| default_deadline.filter(|_| !ends.contains(&name)).cloned());
        let deadline = deadline.map(|deadline| {
            names.count(&deadline.minutes);
            let outcome = if deadline.outcome == "park" {
                DeadlineOutcome::Park
            } else if rows.iter().any(|row| row.event == deadline.outcome.as_str()) {
                DeadlineOutcome::Event(EventName::new(deadline.outcome))
            } else {
                if !budgets.contains(&deadline.outcome) {
                    names.fault(format!(
                        "the deadline of `{name}` has the outcome `{}`, which is no event of that phase, no budget and not `park`",
                        deadline.outcome
                    ));
                }
                DeadlineOutcome::Budget(deadline.outcome)
            };
            Deadline { minutes: deadline.minutes, outcome }
        });
        Phase {
            name,
            purpose: self.purpose,
            activity: self.activity,
            role: self.role,
            label: self.label,
            may: self.may,
            receipt: self.receipt,
            artifact: self.artifact,
            deadline,
            rows,
        }
    }
}

impl RawRow {
    fn check(self, phase: &PhaseName, names: &mut Names<'_>) -> Option<Row> {
        let event = names.event(&self.event);
        let to = match (self.to, self.to_origin) {
            (Some(to), false) => Target::Phase(PhaseName::new(to)),
            (None, true) => Target::Origin,
            (Some(_), true) | (None, false) => {
                names.fault(format!("`{event}` in `{phase}` needs either `to` or `to_origin`"));
                return None;
            }
        };
        if let Some(setting) = &self.unless {
            names.setting(setting, |kind| kind == Kind::Flag, "a flag");
            if self.by.is_none() {
                names.fault(format!("`{event}` in `{phase}` has `unless` without `by`"));
            }
        }
        Some(Row {
            event,
            to,
            by_person: self.by.is_some() && self.unless.is_none(),
            person_unless: self.unless,
            gate: self.gate,
            evidence: self.evidence,
            acts: self.acts,
            raises: names.counters(self.raises),
            resets: names.counters(self.resets),
            exempt: self.exempt,
            reason: self.reason,
            status: self.status,
        })
    }
}

impl RawQuestion {
    fn check(self, names: &mut Names<'_>) -> Question {
        if let Some(setting) = &self.unless {
            names.setting(setting, |kind| kind == Kind::Flag, "a flag");
        }
        Question {
            event: names.event(&self.event),
            phase: PhaseName::new(self.phase),
            text: self.text,
            approves: EventName::new(self.approves),
            unless: self.unless,
        }
    }
}

impl RawBudget {
    fn check(self, names: &mut Names<'_>) -> Option<Budget> {
        let reason = self.reason;
        names.word("budget", &reason);
        names.count(&self.limit);
        if let Some(setting) = &self.enforcement {
            names.setting(setting, |kind| matches!(kind, Kind::Choice(_)), "a choice");
        }
        let measure = match (self.counter, self.measure) {
            (Some(counter), None) => {
                names.word("counter", &counter);
                Measure::Counter(counter)
            }
            (None, Some(RawMeasure::PhaseMinutes)) => Measure::PhaseMinutes,
            (None, Some(RawMeasure::SessionMinutes)) => Measure::SessionMinutes,
            (None, Some(RawMeasure::SameFailures)) => Measure::SameFailures,
            (Some(_), Some(_)) | (None, None) => {
                names.fault(format!("budget `{reason}` needs either `counter` or `measure`"));
                return None;
            }
        };
        let outcomes =
            self.outcomes.into_iter().filter_map(|outcome| outcome.check(&reason, names)).collect();
        Some(Budget {
            reason,
            measure,
            limit: self.limit,
            trips: self.trips,
            enforcement: self.enforcement,
            forced: self.forced,
            outcomes,
        })
    }
}

impl RawOutcome {
    fn check(self, reason: &str, names: &mut Names<'_>) -> Option<BudgetOutcome> {
        let when = match (self.when, self.unless) {
            (Some(setting), None) => Some((setting, true)),
            (None, Some(setting)) => Some((setting, false)),
            (None, None) => None,
            (Some(_), Some(_)) => {
                names.fault(format!("an outcome of budget `{reason}` has both `when` and `unless`"));
                return None;
            }
        };
        if let Some((setting, _)) = &when {
            names.setting(setting, |kind| kind == Kind::Flag, "a flag");
        }
        let does = match (self.redirect, self.follow, self.park) {
            (Some(phase), None, false) => BudgetDoes::Redirect(PhaseName::new(phase)),
            (None, Some(event), false) => BudgetDoes::Follow(EventName::new(event)),
            (None, None, true) => BudgetDoes::Park,
            _ => {
                names.fault(format!(
                    "an outcome of budget `{reason}` needs one of `redirect`, `follow` and `park`"
                ));
                return None;
            }
        };
        Some(BudgetOutcome {
            phase: self.phase.map(PhaseName::new),
            event: self.event.map(EventName::new),
            when,
            does,
        })
    }
}

/// Collects what is wrong with names, so that one reading tells everything.
struct Names<'a> {
    faults: &'a mut Vec<Fault>,
}

impl Names<'_> {
    fn fault(&mut self, text: String) {
        self.faults.push(Fault::Shape(text));
    }

    fn word(&mut self, what: &str, name: &str) {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > 60 || !name.chars().all(fits) {
            let shown: String = name.chars().take(60).collect();
            self.fault(format!("{what} name {shown:?} must be 1 to 60 letters, digits, `_` or `-`"));
        }
    }

    fn event(&mut self, name: &str) -> EventName {
        self.word("event", name);
        if Event::RESERVED.contains(&name) {
            self.fault(format!("event `{name}` is the engine's own; give yours another name"));
        }
        EventName::new(name)
    }

    fn counters(&mut self, names: Vec<String>) -> Vec<String> {
        for name in &names {
            self.word("counter", name);
        }
        names
    }

    fn count(&mut self, limit: &Limit) {
        if let Limit::Setting(key) = limit {
            self.setting(key, |kind| kind == Kind::Count, "a number");
        }
    }

    fn setting(&mut self, key: &str, fits: impl Fn(Kind) -> bool, what: &str) {
        if !Settings::row(key).is_some_and(|row| fits(row.kind)) {
            self.fault(format!("`{key}` is not a setting that holds {what}"));
        }
    }
}

/// Counts how often each name occurs and returns those that occur twice.
pub(super) fn repeated<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *seen.entry(name).or_default() += 1;
    }
    seen.into_iter().filter(|(_, times)| *times > 1).map(|(name, _)| name).collect()
}
