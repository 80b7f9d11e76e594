//! The explanation of a run: where it is, why, what it waits for, and what can happen next.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use super::asked;
use crate::{
    Baseline, EventName, Finding, PhaseName, Run, Standing, Time, TimeFormat, Trip, Workflow, gate, keys,
    step::{evidence, receipts},
    workflow::{Act, Activity, Limit, Row, SemanticGate},
};

/// What `warp explain --json` prints.
#[derive(Debug, Serialize)]
pub struct Explanation {
    pub run: String,
    pub workflow: String,
    pub phase: PhaseName,
    pub purpose: String,
    pub because: Cause,
    pub waits_for: String,
    pub deadline: Option<Time>,
    pub after_deadline: Option<String>,
    pub possible: Vec<Possible>,
    /// How the project's tests ended before an agent changed anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Baseline>,
    /// What was found in the work, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What advisory checks said against the work on the issue, and who has accepted it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Budgets that are measured, with what is used of them.
    pub budgets: Vec<Used>,
}

/// How a run came to where it is.
#[derive(Debug)]
pub struct Cause {
    how: String,
    at: Option<Time>,
    /// The budgets that have sent it here.
    redirected_by: Vec<String>,
}

impl Cause {
    /// Says it, with the time written that way.
    pub fn text(&self, write: TimeFormat) -> String {
        let at = self.at.map(|at| format!(" at {}", write(at))).unwrap_or_default();
        let redirected = match self.redirected_by.as_slice() {
            [] => String::new(),
            budgets => format!(", redirected by {}", budgets.join(", ")),
        };
        format!("{}{at}{redirected}", self.how)
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text(Time::to_seconds))
    }
}

/// Something that can happen next.
#[derive(Debug, Serialize)]
pub struct Possible {
    pub event: EventName,
    pub to: Vec<PhaseName>,
    pub needs: Vec<String>,
}

/// How far a budget is used up.
#[derive(Debug, Serialize)]
pub struct Used {
    pub reason: String,
    pub used: u64,
    pub limit: u64,
}

/// Explains a run at a moment.
pub fn explain(workflow: &Workflow, run: &Run, now: Time) -> Explanation {
    let phase = workflow.phase(&run.phase);
    let last = run.history.last();
    let led = last.and_then(|row| Some((row.event.as_ref()?, row.from.as_ref()?)));
    let trip = run.trip.as_ref().filter(|trip| trip.at == run.phase_started_at);
    let because = Cause {
        how: match led {
            Some((event, from)) => format!("`{event}` led here from `{from}`"),
            None => "the run began here".to_owned(),
        },
        at: last.map(|row| row.at),
        redirected_by: trip.map(|trip| trip.reasons.clone()).unwrap_or_default(),
    };
    let possible = if run.is_open() { possible(workflow, run) } else { Vec::new() };
    Explanation {
        run: run.id.to_string(),
        workflow: run.workflow.clone(),
        phase: run.phase.clone(),
        purpose: phase.map(|phase| phase.purpose.to_string()).unwrap_or_default(),
        because,
        waits_for: waits_for(workflow, run),
        deadline: run.deadline(workflow).filter(|_| run.is_open()),
        after_deadline: phase
            .and_then(|phase| phase.deadline.as_ref())
            .map(|deadline| deadline.outcome.to_string()),
        possible,
        baseline: run.baseline.as_deref().cloned(),
        findings: run.findings.clone(),
        checks: run.objections.iter().map(ToString::to_string).collect(),
        budgets: used(workflow, run, run.phase_started_at, now),
    }
}

/// Returns the budgets that made the run ask a person, with what was used of them by then.
pub fn exceeded(workflow: &Workflow, run: &Run) -> Vec<Used> {
    let Some(trip) = run.trip.as_ref().filter(|trip| trip.at == run.phase_started_at) else {
        return Vec::new();
    };
    let mut budgets = used(workflow, run, entered(run, trip), trip.at);
    budgets.retain(|budget| trip.reasons.contains(&budget.reason));
    budgets
}

/// Returns when the phase was entered in which a budget was used up.
pub(super) fn entered(run: &Run, trip: &Trip) -> Time {
    let row = run.history.iter().rev().find(|row| row.phase == trip.from_phase);
    row.map_or(run.phase_started_at, |row| row.at)
}

fn waits_for(workflow: &Workflow, run: &Run) -> String {
    if let Some(asked) = asked(workflow, run) {
        return format!("a person's answer: {} ({})", asked.question, asked.inline_commands());
    }
    match &run.standing {
        Standing::Stopped if run.owns_workspace => {
            let name = run.issue.as_deref().unwrap_or(run.id.as_str());
            format!("a person: `warp run {name}` resumes it, `warp stop {name} --hard` archives it")
        }
        Standing::Stopped => {
            "a person: `warp state resume` resumes it, `warp state reset` archives it".to_owned()
        }
        Standing::Ended { how } => format!("nothing; it is over ({how})"),
        Standing::Active => match workflow.phase(&run.phase) {
            Some(phase) => match (phase.activity, &phase.role) {
                (Activity::Engine, _) => "the engine's own work in this phase".to_owned(),
                (Activity::Agent, Some(role)) => format!("an agent in the role of {role}"),
                (Activity::Agent, None) => "an agent".to_owned(),
                (Activity::Person, _) => "a person".to_owned(),
            },
            None => "nothing".to_owned(),
        },
        Standing::Parked { .. } => "a person's answer".to_owned(),
        Standing::Suspended { wait } => wait.to_string(),
    }
}

fn possible(workflow: &Workflow, run: &Run) -> Vec<Possible> {
    let mut possible: Vec<Possible> = workflow
        .rows(&run.phase)
        .iter()
        .map(|row| {
            let targets = match (&run.origin, workflow.targets(&run.phase, row)) {
                (Some(origin), targets) if targets.len() > 1 => vec![origin.clone()],
                (_, targets) => targets.into_iter().cloned().collect(),
            };
            Possible { event: row.event.clone(), to: targets, needs: needs(workflow, run, row) }
        })
        .collect();
    for question in workflow.questions.iter().filter(|question| question.phase == run.phase) {
        let kind = workflow.phase(&run.phase).and_then(|phase| phase.receipt);
        let needs = kind.map(|kind| format!("from an agent {}", receipts::wants(kind)));
        let event = question.event.clone();
        possible.push(Possible { event, to: vec![run.phase.clone()], needs: needs.into_iter().collect() });
    }
    if let Some(event) = workflow.close_event.as_ref().filter(|_| workflow.is_final(&run.phase)) {
        possible.push(Possible {
            event: event.clone(),
            to: Vec::new(),
            needs: vec![
                "`pr_url` from warp or a person, and from an agent every receipt; it ends the run".to_owned(),
            ],
        });
    }
    possible
}

fn needs(workflow: &Workflow, run: &Run, row: &Row) -> Vec<String> {
    let mut needs = Vec::new();
    match row.gate {
        Some(SemanticGate::DiffRelevanceCheck) => {
            let wanted = match gate::is_enforced(SemanticGate::DiffRelevanceCheck, run) {
                true => "a change that has to do with the chunk's criteria (diff_relevance_check)",
                false => "a change (diff_relevance_check)",
            };
            needs.push(wanted.to_owned());
        }
        Some(SemanticGate::AcCountCheck) => {
            needs.push("the chunk's criteria ticked in the issue (ac_count_check)".to_owned());
        }
        None => {}
    }
    for command in run.settings.verification_gates(row.event.as_str()) {
        needs.push(format!("`{command}` to pass"));
    }
    if row.needs_person(&run.settings) {
        needs.push("a person".to_owned());
    }
    if let Some(scope) = row.evidence.filter(|_| run.settings.get(keys::PRE_EXIT_VERIFICATION)) {
        let criteria = evidence::criteria(run, scope);
        if !criteria.is_empty() {
            let example = evidence::example(&criteria);
            needs.push(format!("from an agent evidence for {}: --data '{example}'", criteria.join(", ")));
        }
    }
    let receipt =
        workflow.phase(&run.phase).and_then(|phase| phase.receipt).filter(|_| row.completes_phase());
    if let Some(kind) = receipt {
        needs.push(format!("from an agent {}", receipts::wants(kind)));
    }
    if row.tests_pass {
        needs.push("from an agent the acceptance tests and all others to pass, which warp runs".to_owned());
    }
    if row.acts.contains(&Act::DefineChunks) {
        needs.push("the chunks: --data '{\"acs\":[[\"AC-01\",\"AC-02\"],[\"AC-03\"]]}'".to_owned());
    }
    needs
}

fn used(workflow: &Workflow, run: &Run, entered: Time, now: Time) -> Vec<Used> {
    let budgets = workflow.budgets.iter().filter(|budget| {
        // A fixed limit is a rule of the machine, not something that a person tunes.
        matches!(budget.limit, Limit::Setting(_))
    });
    budgets
        .map(|budget| Used {
            reason: budget.reason.to_string(),
            used: budget.used(run, entered, now),
            limit: budget.limit.value(&run.settings),
        })
        .collect()
}

impl Explanation {
    /// Writes the explanation as people read it.
    pub fn render(&self, write: TimeFormat) -> String {
        let mut text = format!(
            "Run {} of {} is in `{}`: {}.\n",
            self.run,
            self.workflow,
            self.phase,
            lower(&self.purpose)
        );
        let mut line = |line: String| writeln!(text, "{line}").expect("writing to a string cannot fail");
        line(format!("Why: {}.", self.because.text(write)));
        line(format!("Waits for: {}.", self.waits_for));
        if let (Some(deadline), Some(outcome)) = (self.deadline, &self.after_deadline) {
            line(format!("Until: {}; then {outcome}.", write(deadline)));
        }
        if !self.possible.is_empty() {
            line("Next:".to_owned());
        }
        for possible in &self.possible {
            let to: Vec<&str> = possible.to.iter().map(PhaseName::as_str).collect();
            let arrow = if to.is_empty() { String::new() } else { format!(" -> {}", to.join(" or ")) };
            let needs = if possible.needs.is_empty() {
                String::new()
            } else {
                format!("; needs {}", possible.needs.join(", "))
            };
            line(format!("  {}{arrow}{needs}", possible.event));
        }
        if let Some(baseline) = &self.baseline {
            line(format!("Tests before the work: {baseline}."));
        }
        if !self.findings.is_empty() {
            line("Found:".to_owned());
        }
        for finding in &self.findings {
            line(format!("  {finding} (in `{}`)", finding.phase));
        }
        if !self.checks.is_empty() {
            line("Checks:".to_owned());
        }
        for said in &self.checks {
            line(format!("  {said}"));
        }
        if !self.budgets.is_empty() {
            line("Budgets:".to_owned());
        }
        for budget in &self.budgets {
            line(format!("  {}: {} of {}", budget.reason, budget.used, budget.limit));
        }
        text
    }
}

fn lower(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}
