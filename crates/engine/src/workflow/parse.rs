//! From a TOML text to a checked [`Workflow`].

use std::collections::BTreeMap;

use super::{
    Activity, Answer, Approval, Budget, BudgetDoes, BudgetOutcome, BuiltIn, Deadline, DeadlineOutcome,
    Deferral, Fault, Job, JobOutcome, Limit, Measure, Phase, Proof, Question, Row, Target, Tick, Workflow,
    raw::{
        RawBudget, RawDeadline, RawDeferral, RawLimit, RawMeasure, RawOutcome, RawPhase, RawQuestion, RawRow,
        RawWorkflow,
    },
};
use crate::{
    Artifacts, Event, EventName, Key, PhaseName, SettingType, digest, is_document, settings::EFFORTS,
};

/// The largest workflow text that is read, in bytes.
pub const LARGEST: usize = 256 * 1024;
/// How many settings may send rows elsewhere: each doubles the ways that are proved.
const MOST_SWITCHES: usize = 4;
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
        let mut faults = Proof::faults(&workflow);
        // Rows that settings send elsewhere make other machines, one for each way the settings can be.
        let switches = workflow.switches();
        if switches.len() > MOST_SWITCHES {
            let (count, most) = (switches.len(), MOST_SWITCHES);
            faults.push(Fault::Shape(format!("{count} settings send rows elsewhere; the most is {most}")));
        }
        for on in 1..1_usize << switches.len().min(MOST_SWITCHES) {
            let is_on =
                |setting| switches.iter().position(|one| *one == setting).is_some_and(|at| on >> at & 1 == 1);
            faults.extend(Proof::faults(&workflow.switched(is_on)));
        }
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
        raw.read(text.to_owned(), digest(text))
    }

    pub(super) fn read_built_in(built_in: &BuiltIn) -> Self {
        let proved = "the tests prove every built-in workflow";
        let raw: RawWorkflow = serde_json::from_str(built_in.json).expect(proved);
        raw.read(built_in.text.to_owned(), built_in.digest.to_owned()).expect(proved)
    }
}

impl RawWorkflow {
    fn read(&self, text: String, digest: String) -> Result<Workflow, WorkflowError> {
        let mut faults = Vec::new();
        let workflow = self.check(text, digest, &mut faults);
        if faults.is_empty() { Ok(workflow) } else { Err(WorkflowError::Faults(faults)) }
    }

    fn check(&self, text: String, digest: String, faults: &mut Vec<Fault>) -> Workflow {
        let mut names = Names { faults };
        names.word("workflow", &self.name);
        let finals: Vec<PhaseName> = self.finals.iter().map(PhaseName::new).collect();
        if self.phases.len() > MOST_PHASES {
            names.fault(format!("there are {} phases; the most is {MOST_PHASES}", self.phases.len()));
        }
        if self.phases.iter().map(|phase| phase.on.len()).sum::<usize>() > MOST_ROWS {
            names.fault(format!("there are more than {MOST_ROWS} rows"));
        }
        if self.budgets.iter().map(|budget| budget.outcomes.len()).sum::<usize>() > MOST_OUTCOMES {
            names.fault(format!("there are more than {MOST_OUTCOMES} outcomes of budgets"));
        }
        names.counters(&self.phase_counters);
        if let Some(event) = &self.close_event {
            names.word("event", event);
        }
        for (key, event) in [("turn_event", &self.turn_event), ("crash_event", &self.crash_event)] {
            let Some(event) = event else { continue };
            names.word("event", event);
            if !self.ticks.iter().any(|tick| tick.event == *event) {
                names.fault(format!("`{key}` names `{event}`, which is no tick"));
            }
        }
        for phase in self.phases.iter().filter(|phase| phase.fails && !self.finals.contains(&phase.name)) {
            names.fault(format!("`{}` has `fails`, but is not final", phase.name));
        }
        if let Some(file) = self.progress_file.as_deref().filter(|file| !is_document(file)) {
            names.fault(format!("`progress_file` is `{file}`; it must be a Markdown file in the project"));
        }
        // A final phase that an event closes is still a wait.
        let ends = if self.close_event.is_none() { finals.as_slice() } else { &[] };
        let deadlines = Deadlines { default: self.deadline.as_ref(), ends, budgets: &self.budgets };
        let phases: Vec<Phase> =
            self.phases.iter().map(|phase| phase.check(&deadlines, &mut names)).collect();
        let ticks = self
            .ticks
            .iter()
            .map(|tick| Tick {
                event: names.event(&tick.event),
                phases: tick.phases.iter().map(PhaseName::new).collect(),
                raises: names.counters(&tick.raises),
            })
            .collect();
        let (mut questions, mut approvals) = (Vec::new(), Vec::new());
        for question in &self.questions {
            question.check(&mut names, &mut questions, &mut approvals);
        }
        let budgets = self.budgets.iter().filter_map(|budget| budget.check(&mut names)).collect();
        let initial_when = self
            .initial_when
            .as_ref()
            .and_then(|when| Some((names.flag(&when.setting)?, PhaseName::new(&when.phase))));
        let deferral = self.deferral.as_ref().map(|deferral| deferral.check(&phases, &mut names));
        let workflow = Workflow {
            name: self.name.clone(),
            purpose: self.purpose.clone(),
            initial: PhaseName::new(&self.initial),
            initial_when,
            finals,
            levels: self.levels.clone(),
            state_file: self.state_file,
            subject: self.subject,
            stop_event: self.stop_event.as_ref().map(EventName::new),
            close_event: self.close_event.as_ref().map(EventName::new),
            turn_event: self.turn_event.as_ref().map(EventName::new),
            crash_event: self.crash_event.as_ref().map(EventName::new),
            hands_in: self.hands_in,
            retries_until_budget: self.retries_until_budget,
            measures_usage: self.measures_usage,
            progress_file: self.progress_file.clone(),
            phases,
            ticks,
            questions,
            approvals,
            budgets,
            deferral,
            phase_counters: self.phase_counters.clone(),
            digest,
            text,
        };
        for phase in &workflow.phases {
            check_answer(&workflow, phase, &mut names);
        }
        workflow
    }
}

/// What the deadlines of phases depend on.
struct Deadlines<'a> {
    default: Option<&'a RawDeadline>,
    /// Phases that have none unless they name it.
    ends: &'a [PhaseName],
    budgets: &'a [RawBudget],
}

impl Deadlines<'_> {
    /// Returns the deadline of a phase, its own or that of all.
    fn check(
        &self,
        name: &PhaseName,
        own: Option<&RawDeadline>,
        rows: &[Row],
        names: &mut Names<'_>,
    ) -> Option<Deadline> {
        let deadline = own.or(self.default.filter(|_| !self.ends.contains(name)))?;
        let minutes = names.limit(&deadline.minutes);
        let outcome = if deadline.outcome == "park" {
            DeadlineOutcome::Park
        } else if rows.iter().any(|row| row.event == *deadline.outcome) {
            DeadlineOutcome::Event(EventName::new(&deadline.outcome))
        } else {
            if !self.budgets.iter().any(|budget| budget.reason == deadline.outcome) {
                names.fault(format!(
                    "the deadline of `{name}` has the outcome `{}`, which is no event of that phase, no budget and not `park`",
                    deadline.outcome
                ));
            }
            DeadlineOutcome::Budget(deadline.outcome.clone())
        };
        Some(Deadline { minutes: minutes?, outcome })
    }
}

impl RawPhase {
    fn check(&self, deadlines: &Deadlines<'_>, names: &mut Names<'_>) -> Phase {
        names.word("phase", &self.name);
        let name = PhaseName::new(&self.name);
        for operation in self.may.iter() {
            names.word("operation", operation);
        }
        if let Some(artifact) =
            self.artifact.as_deref().filter(|artifact| !Artifacts::FIELDS.contains(artifact))
        {
            let known = Artifacts::FIELDS.join(", ");
            names.fault(format!("`{name}` names the artifact `{artifact}`; there are {known}"));
        }
        if let Some(effort) = self.effort.as_deref().filter(|effort| !EFFORTS.contains(effort)) {
            let known = EFFORTS.join(", ");
            names.fault(format!("`{name}` has the effort `{effort}`; there are {known}"));
        }
        let rows: Vec<Row> = self.on.iter().filter_map(|row| row.check(&name, names)).collect();
        check_job(&name, (self.activity, self.does), &self.says, &rows, names);
        let deadline = deadlines.check(&name, self.deadline.as_ref(), &rows, names);
        Phase {
            name,
            purpose: self.purpose.clone(),
            activity: self.activity,
            job: self.does,
            says: (self.says.iter())
                .filter_map(|(outcome, event)| Some((JobOutcome::named(outcome)?, EventName::new(event))))
                .collect(),
            question: self.question.clone(),
            unattended: self.unattended.clone(),
            answer: self.answer,
            role: self.role.clone(),
            effort: self.effort.clone(),
            label: self.label.clone(),
            may: self.may.clone(),
            receipt: self.receipt,
            artifact: self.artifact.clone(),
            fails: self.fails,
            deadline,
            rows,
        }
    }
}

/// A job belongs to a phase of the engine's own, and everything that must be said of it can be.
fn check_job(
    phase: &PhaseName,
    (activity, job): (Activity, Option<Job>),
    says: &BTreeMap<String, String>,
    rows: &[Row],
    names: &mut Names<'_>,
) {
    let (must, may) = job.map(Job::outcomes).unwrap_or_default();
    match job.filter(|job| !job.fits(activity)) {
        Some(Job::OpenPullRequest) => names
            .fault(format!("what `{phase}` does is done before an agent works, but it is not an agent's")),
        Some(_) => names.fault(format!("`{phase}` has `does`, but is not the engine's own")),
        None => {}
    }
    for outcome in
        says.keys().filter(|outcome| !must.iter().chain(may).any(|known| known.as_str() == *outcome))
    {
        let known: Vec<&str> = must.iter().chain(may).map(|outcome| outcome.as_str()).collect();
        let known = known.join(", ");
        names.fault(format!("`{phase}` says `{outcome}` in its own words; its job has {known}"));
    }
    for outcome in must {
        let event = says.get(outcome.as_str()).map_or(outcome.as_str(), String::as_str);
        if !rows.iter().any(|row| row.event == *event) {
            names.fault(format!("the job of `{phase}` may come to `{event}`, which is no event there"));
        }
    }
}

impl RawRow {
    fn check(&self, phase: &PhaseName, names: &mut Names<'_>) -> Option<Row> {
        let event = names.event(&self.event);
        let to = match (&self.to, self.to_origin) {
            (Some(to), false) => Target::Phase(PhaseName::new(to)),
            (None, true) => Target::Origin,
            (Some(_), true) | (None, false) => {
                names.fault(format!("`{event}` in `{phase}` needs either `to` or `to_origin`"));
                return None;
            }
        };
        let to_when = self.to_when.as_ref();
        let to_when =
            to_when.and_then(|when| Some((names.flag(&when.setting)?, PhaseName::new(&when.phase))));
        let person_unless = self.unless.as_deref().and_then(|setting| names.flag(setting));
        if self.unless.is_some() && self.by.is_none() {
            names.fault(format!("`{event}` in `{phase}` has `unless` without `by`"));
        }
        Some(Row {
            event,
            to,
            to_when,
            by_person: self.by.is_some() && self.unless.is_none(),
            person_unless,
            gate: self.gate,
            evidence: self.evidence,
            tests_pass: self.tests.is_some(),
            acts: self.acts.clone(),
            raises: names.counters(&self.raises),
            resets: names.counters(&self.resets),
            exempt: self.exempt,
            aborts: self.aborts,
            reason: self.reason.clone(),
            status: self.status.clone(),
            answer: self.answer.clone(),
            tool: self.tool,
        })
    }
}

impl RawDeferral {
    fn check(&self, phases: &[Phase], names: &mut Names<'_>) -> Deferral {
        let mut phase = |name: &String| {
            let name = PhaseName::new(name);
            if !phases.iter().any(|phase| phase.name == name) {
                names.fault(format!("`deferral` leads to `{name}`, which is no phase"));
            }
            name
        };
        Deferral { next: phase(&self.next), done: phase(&self.done), none: phase(&self.none) }
    }
}

impl RawQuestion {
    fn check(&self, names: &mut Names<'_>, questions: &mut Vec<Question>, approvals: &mut Vec<Approval>) {
        let (phase, text) = (PhaseName::new(&self.phase), self.text.clone());
        let approves = names.event(&self.approves);
        match (&self.event, &self.when, &self.unless) {
            (Some(event), None, unless) => {
                let unless = unless.as_deref().and_then(|setting| names.flag(setting));
                let event = names.event(event);
                questions.push(Question { event, phase, text, approves, unless, tool: self.tool });
            }
            (None, Some(when), None) => {
                let when = names.flag(when);
                approvals.extend(when.map(|when| Approval { phase, event: approves, text, when }));
            }
            (Some(_) | None, Some(_) | None, Some(_) | None) => names.fault(format!(
                "the question in `{phase}` about `{approves}` needs either `event` or `when`; `unless` goes with `event`"
            )),
        }
    }
}

/// What an agent is asked for can be answered, and what is said for nobody is an answer.
fn check_answer(workflow: &Workflow, phase: &Phase, names: &mut Names<'_>) {
    let name = &phase.name;
    if let Some(unattended) = &phase.unattended {
        let is_answer =
            phase.rows.iter().any(|row| row.answer.as_ref() == Some(unattended) && !row.by_person);
        if phase.activity != Activity::Person || !is_answer {
            names.fault(format!(
                "`{name}` has `unattended = \"{unattended}\"`, which is no `answer` there that others than a person may give"
            ));
        }
    }
    if phase.rows.iter().filter(|row| row.aborts).count() > 1 {
        names.fault(format!("more than one event in `{name}` has `aborts`"));
    }
    if phase.answer == Answer::Event {
        return;
    }
    if phase.activity != Activity::Agent {
        names.fault(format!("`{name}` has `answer`, but is not an agent's"));
        return;
    }
    let has_status = |status: &str| phase.rows.iter().any(|row| row.status.as_deref() == Some(status));
    let (fits, hands_in, wanted) = match phase.answer {
        Answer::Plan | Answer::Work => {
            (workflow.answer_event(name).is_some(), false, "an event that an agent says by its tool")
        }
        Answer::Receipt => {
            let is_asked = workflow.questions.iter().any(|question| question.phase == *name);
            (
                phase.receipt.is_some() && (is_asked || !phase.rows.is_empty()),
                true,
                "a `receipt` and an event",
            )
        }
        Answer::Verdict => (
            has_status("APPROVED") && has_status("NEEDS_CHANGES"),
            true,
            "events of the status APPROVED and NEEDS_CHANGES",
        ),
        Answer::Promise => {
            let closes = workflow.is_final(name) && workflow.close_event.is_some();
            (closes, true, "to be final, in a workflow with a `close_event`")
        }
        Answer::Event => (true, workflow.hands_in, ""),
    };
    if !fits {
        names.fault(format!("for its `answer`, `{name}` needs {wanted}"));
    }
    if hands_in != workflow.hands_in {
        let word = if hands_in { "goes only" } else { "does not go" };
        names.fault(format!("the `answer` of `{name}` {word} with `hands_in`"));
    }
}

impl RawBudget {
    fn check(&self, names: &mut Names<'_>) -> Option<Budget> {
        let reason = &self.reason;
        names.word("budget", reason);
        let limit = names.limit(&self.limit);
        let enforcement = self.enforcement.as_deref().and_then(|setting| names.setting(setting, "a choice"));
        let measure = match (&self.counter, &self.measure) {
            (Some(counter), None) => {
                names.word("counter", counter);
                Measure::Counter(counter.clone())
            }
            (None, Some(RawMeasure::PhaseMinutes)) => Measure::PhaseMinutes,
            (None, Some(RawMeasure::SessionMinutes)) => Measure::SessionMinutes,
            (None, Some(RawMeasure::SameFailures)) => Measure::SameFailures,
            (Some(_), Some(_)) | (None, None) => {
                names.fault(format!("budget `{reason}` needs either `counter` or `measure`"));
                return None;
            }
        };
        Some(Budget {
            reason: reason.clone(),
            measure,
            limit: limit?,
            trips: self.trips,
            enforcement,
            forced: self.forced,
            question: self.question.clone(),
            outcomes: self.outcomes.iter().filter_map(|outcome| outcome.check(reason, names)).collect(),
        })
    }
}

impl RawOutcome {
    fn check(&self, reason: &str, names: &mut Names<'_>) -> Option<BudgetOutcome> {
        let when = match (&self.when, &self.unless) {
            (Some(setting), None) => names.flag(setting).map(|setting| (setting, true)),
            (None, Some(setting)) => names.flag(setting).map(|setting| (setting, false)),
            (None, None) => None,
            (Some(_), Some(_)) => {
                names.fault(format!("an outcome of budget `{reason}` has both `when` and `unless`"));
                return None;
            }
        };
        let does = match (&self.redirect, &self.follow, self.park) {
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
            phase: self.phase.as_ref().map(PhaseName::new),
            event: self.event.as_ref().map(EventName::new),
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
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > 60 || !name.bytes().all(fits) {
            let shown: String = name.chars().take(60).collect();
            self.fault(format!("{what} name {shown:?} must be 1 to 60 letters, digits, `_` or `-`"));
        }
    }

    fn event(&mut self, name: &String) -> EventName {
        self.word("event", name);
        if Event::RESERVED.contains(&name.as_ref()) {
            self.fault(format!("event `{name}` is the engine's own; give yours another name"));
        }
        EventName::new(name)
    }

    fn counters(&mut self, names: &[String]) -> Vec<String> {
        for name in names.iter() {
            self.word("counter", name);
        }
        names.to_vec()
    }

    fn limit(&mut self, limit: &RawLimit) -> Option<Limit> {
        match limit {
            RawLimit::Number(number) => Some(Limit::Number(*number)),
            RawLimit::Setting(name) => self.setting(name, "a number").map(Limit::Setting),
        }
    }

    fn flag(&mut self, name: &str) -> Option<Key<bool>> {
        self.setting(name, "a flag")
    }

    fn setting<T: SettingType>(&mut self, name: &str, what: &str) -> Option<Key<T>> {
        let key = Key::find(name);
        if key.is_none() {
            self.fault(format!("`{name}` is not a setting that holds {what}"));
        }
        key
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
