//! A workflow as other tools read it: JSON, a table, a diagram.

use std::fmt::Write as _;

use serde::Serialize;

use super::{BudgetDoes, EvidenceScope, Measure, Phase, Trips, Workflow};
use crate::{EventName, Key, PhaseName, step::receipts};

/// The stable shape of `warp workflow show --json`.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    pub name: &'a str,
    pub initial: &'a PhaseName,
    #[serde(rename = "final")]
    pub finals: &'a [PhaseName],
    pub phases: Vec<&'a PhaseName>,
    pub transitions: Vec<ShownTransition<'a>>,
}

/// One transition; an event that returns to its origin is there once per possible target.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct ShownTransition<'a> {
    pub from: &'a PhaseName,
    pub event: &'a EventName,
    pub to: &'a PhaseName,
}

impl Workflow {
    /// Returns the workflow in the shape that other tools read. Redirects by the engine are not listed.
    pub fn shown(&self) -> Shown<'_> {
        Shown {
            name: &self.name,
            initial: &self.initial,
            finals: &self.finals,
            phases: self.phases.iter().map(|phase| &phase.name).collect(),
            transitions: self.transitions(),
        }
    }

    fn transitions(&self) -> Vec<ShownTransition<'_>> {
        let mut transitions = Vec::new();
        for phase in &self.phases {
            for row in &phase.rows {
                let targets = self.targets(&phase.name, row).into_iter();
                transitions.extend(targets.map(|to| ShownTransition {
                    from: &phase.name,
                    event: &row.event,
                    to,
                }));
            }
        }
        transitions
    }

    /// Writes the transition table, the budgets and the deadlines in Markdown.
    pub fn table(&self) -> String {
        let mut text = String::from("| Phase | Event | Next phase |\n|---|---|---|\n");
        for transition in self.transitions() {
            push(&mut text, format!("| {} | {} | {} |\n", transition.from, transition.event, transition.to));
        }
        for (phase, row) in
            self.phases.iter().flat_map(|phase| phase.rows.iter().map(move |row| (phase, row)))
        {
            if let Some((setting, to)) = &row.to_when {
                push(&mut text, format!("| {} | {} | {to}, with `{setting}` |\n", phase.name, row.event));
            }
        }
        text.push_str("\n| Phase | Purpose | Done by | Deadline (minutes) | Then |\n|---|---|---|---|---|\n");
        for phase in &self.phases {
            let (minutes, then) = match &phase.deadline {
                Some(deadline) => (deadline.minutes.to_string(), deadline.outcome.to_string()),
                None => ("–".to_owned(), "–".to_owned()),
            };
            let role = phase.role.as_deref().map(|role| format!(" ({role})")).unwrap_or_default();
            let activity = format!("{:?}", phase.activity).to_lowercase();
            push(
                &mut text,
                format!("| {} | {} | {activity}{role} | {minutes} | {then} |\n", phase.name, phase.purpose),
            );
        }
        self.push_proofs(&mut text);
        text.push_str("\n| Budget | Measures | Limit | Trips | Outcome |\n|---|---|---|---|---|\n");
        for budget in &self.budgets {
            let measure = match &budget.measure {
                Measure::Counter(counter) => counter.as_ref(),
                Measure::PhaseMinutes => "minutes in the phase",
                Measure::SessionMinutes => "minutes in the session",
                Measure::SameFailures => "identical failures in a row",
            };
            let trips = match budget.trips {
                Trips::Above => "above",
                Trips::At => "at",
            };
            let outcomes: Vec<String> = budget
                .outcomes
                .iter()
                .map(|outcome| {
                    let phase = outcome.phase.as_ref().map(|phase| format!("{phase}: ")).unwrap_or_default();
                    match &outcome.does {
                        BudgetDoes::Redirect(to) => format!("{phase}to {to}"),
                        BudgetDoes::Follow(event) => format!("{phase}{event}"),
                        BudgetDoes::Park => format!("{phase}a decision"),
                    }
                })
                .collect();
            push(
                &mut text,
                format!(
                    "| {} | {measure} | {} | {trips} | {} |\n",
                    budget.reason,
                    budget.limit,
                    outcomes.join("; ")
                ),
            );
        }
        text
    }

    /// Writes what has to be shown, what may be done and who is asked, where there is any of it.
    fn push_proofs(&self, text: &mut String) {
        let leave =
            |phase: &Phase| if phase.may.is_empty() { "–".to_owned() } else { phase.may.join(", ") };
        let shown = self.phases.iter().filter(|phase| phase.receipt.is_some() || !phase.may.is_empty());
        for (index, phase) in shown.enumerate() {
            if index == 0 {
                text.push_str("\n| Phase | Permission | What an agent has to show |\n|---|---|---|\n");
            }
            let wants = phase.receipt.map(receipts::wants).unwrap_or("–");
            push(text, format!("| {} | {} | {wants} |\n", phase.name, leave(phase)));
        }
        let tested: Vec<String> = self
            .phases
            .iter()
            .flat_map(|phase| phase.rows.iter().map(move |row| (phase, row)))
            .filter(|(_, row)| row.tests_pass)
            .map(|(phase, row)| format!("`{}` in `{}`", row.event, phase.name))
            .collect();
        if !tested.is_empty() {
            push(
                text,
                format!(
                    "\nWarp runs the tests before an agent may say {}; they have to pass.\n",
                    tested.join(", ")
                ),
            );
        }
        let rows = self.phases.iter().flat_map(|phase| phase.rows.iter().map(move |row| (phase, row)));
        for (index, (phase, row, scope)) in
            rows.filter_map(|(phase, row)| Some((phase, row, row.evidence?))).enumerate()
        {
            if index == 0 {
                text.push_str("\n| Phase | Event | Evidence wanted from an agent |\n|---|---|---|\n");
            }
            let scope = match scope {
                EvidenceScope::Chunk => "for each criterion of the chunk",
                EvidenceScope::Issue => "for each criterion of the issue",
            };
            push(text, format!("| {} | {} | {scope} |\n", phase.name, row.event));
        }
        for (index, question) in self.questions.iter().enumerate() {
            if index == 0 {
                text.push_str(
                    "\n| Phase | Event | Asks a person | Approves | Unless |\n|---|---|---|---|---|\n",
                );
            }
            let unless = question.unless.map_or("–", Key::name);
            let (phase, event, approves) = (&question.phase, &question.event, &question.approves);
            push(text, format!("| {phase} | {event} | {} | {approves} | {unless} |\n", question.text));
        }
    }

    /// Writes the workflow as a Mermaid state diagram.
    pub fn graph(&self) -> String {
        let mut text = format!("stateDiagram-v2\n    [*] --> {}\n", self.initial);
        for transition in self.transitions() {
            push(
                &mut text,
                format!("    {} --> {} : {}\n", transition.from, transition.to, transition.event),
            );
        }
        for phase in &self.finals {
            push(&mut text, format!("    {phase} --> [*]\n"));
        }
        text
    }
}

fn push(text: &mut String, line: String) {
    text.write_str(&line).expect("writing to a string cannot fail");
}
