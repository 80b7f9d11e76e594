//! Tools: what an agent calls while it works, and the event that each call becomes.
//!
//! A call is checked against its schema, then offered to the run in the agent's name, as any other event: what it means in
//! a phase is the workflow's to say ([`engine::workflow::Tool`]), and the engine asks for the same proof. A call that does
//! not fit is refused with the reason and with what is possible, and nothing has changed.
//!
//! An agent that warp drives has one turn, for one stay in one phase. Once a call has moved the run, further calls of that
//! turn are refused: who wrote a plan is not the one who approves it.

mod schema;

use adapters::{agent::schema::faults, machine};
use engine::{
    Actor, Event, EventName, Outcome, Run, Severity,
    view::{self, Owned},
    workflow::Tool,
};
use serde_json::{Map, Value, json};

pub use schema::{finding_schema, plan_properties, question_schema, work_properties};

use crate::{
    Answer, AskError, Current, Error, Workspace,
    criteria::{self, Criteria},
    rails,
};

/// The kind of the question whether a plan is right, and the answer that says so.
pub const PLAN: &str = "plan";
pub const APPROVE: &str = "approve";

/// The tool that reports what was found, and the one that tells where the run stands.
const REPORT_FINDING: &str = "report_finding";
const STATUS: &str = "status";

/// What a question is about when nobody says.
const KIND: &str = "ambiguity";

/// A tool as an agent is shown it.
#[derive(Clone, Debug)]
pub struct Offered {
    pub name: &'static str,
    pub about: &'static str,
    /// The schema of what it is given.
    pub input: Map<String, Value>,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    pub text: String,
    /// Set when nothing has changed.
    pub is_refused: bool,
}

impl Called {
    /// A call that was taken.
    pub fn taken(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_refused: false }
    }

    /// A call that was not taken, and why.
    pub fn refused(why: impl Into<String>) -> Self {
        Self { text: why.into(), is_refused: true }
    }
}

/// Returns every tool.
pub fn offered() -> Vec<Offered> {
    let tool = |name, about, input| Offered { name, about, input };
    vec![
        tool(Tool::SubmitPlan.name(), "Hand in the plan, in a phase that asks for one", schema::plan()),
        tool(
            Tool::AskQuestion.name(),
            "Ask a person what only a person can decide; the run waits for the answer, and your turn is over",
            schema::question(),
        ),
        tool(
            Tool::MarkStoryComplete.name(),
            "Say that nothing is left to do, because the work is there already",
            schema::completion(),
        ),
        tool(
            Tool::Done.name(),
            "Say that this phase's work is finished; name the event where the phase has more than one end",
            schema::done(),
        ),
        tool(REPORT_FINDING, "Record something that you found in the work; nothing moves", schema::finding()),
        tool(STATUS, "Tell where the run stands, why, and what is possible now", schema::nothing()),
    ]
}

/// What a call asks of a run.
enum Wish {
    Look,
    Offer(Event, Map<String, Value>),
    Not(String),
}

impl Workspace {
    /// Answers an agent's call.
    pub fn call_tool(&mut self, name: &str, input: &Value) -> Result<Called, Error> {
        let Some(tool) = offered().into_iter().find(|tool| tool.name == name) else {
            let known: Vec<&str> = offered().iter().map(|tool| tool.name).collect();
            return Ok(Called::refused(format!("there is no tool `{name}`; there are {}", known.join(", "))));
        };
        let found = faults(&Value::Object(tool.input), input);
        if !found.is_empty() {
            let each = found.iter().map(|fault| fault.to_string().replacen("answer", "input", 1));
            let each = each.collect::<Vec<_>>().join("; ");
            return Ok(Called::refused(format!("`{name}` is refused: {each}")));
        }
        let Some(current) = self.current()? else {
            return Ok(Called::refused(format!(
                "`{name}` is refused: no run is open here; a person begins one with `warp run ISSUE`"
            )));
        };
        let fields = input.as_object().cloned().unwrap_or_default();
        let criteria = match self.criteria_of(&current) {
            Ok(criteria) => criteria,
            Err(Error::Forge(error)) => {
                return Ok(Called::refused(format!("`{name}` is refused: {error}")));
            }
            Err(error) => return Err(error),
        };
        let (event, data) = match wish(&current, &criteria, name, fields) {
            Wish::Look => return Ok(Called::taken(self.standing(&current))),
            Wish::Not(why) => return Ok(Called::refused(format!("{why}\n{}", possible(&current)))),
            Wish::Offer(event, data) => (event, data),
        };
        match self.ask_as(Actor::Agent, event, data) {
            Ok(answer) => Ok(Called::taken(self.words_of(&answer))),
            Err(AskError::Refused(refused)) => {
                let now = self.current()?.unwrap_or(current);
                Ok(Called::refused(format!("{refused}\n{}", possible(&now))))
            }
            Err(AskError::NoRun) => Ok(Called::refused("the run is over; end your turn")),
            Err(AskError::Failed(error)) => Err(error),
        }
    }

    /// Says where a run stands, as `warp status` and `warp explain` do, and what can be called.
    fn standing(&self, current: &Current) -> String {
        let live = if machine::is_live(&current.run.owner) { Owned::Live } else { Owned::Stale };
        let (name, rails) = (self.place.name(), rails::in_force(&self.place, &current.run));
        let status = view::status(&current.workflow, &current.run, &name, live, rails);
        let explanation = view::explain(&current.workflow, &current.run, self.dirs.clock.now());
        format!(
            "{}\n{}\n{}",
            view::render_status(&status, engine::Time::to_seconds),
            explanation.render(engine::Time::to_seconds),
            possible(current)
        )
    }

    /// Says what a call has done, and what the agent has to do now.
    fn words_of(&mut self, answer: &Answer) -> String {
        let mut lines: Vec<String> = Vec::new();
        for record in &answer.records {
            let event = &record.event;
            lines.push(match (&record.from, record.trip()) {
                (Some(from), Some(trip)) => {
                    format!("{from} -> {} ({event}, redirected: {})", record.phase, trip.reasons.join(", "))
                }
                (Some(from), None) if record.moves() => format!("{from} -> {} ({event})", record.phase),
                (Some(_) | None, None) | (None, Some(_)) => {
                    format!("recorded in `{}` ({event})", record.phase)
                }
            });
        }
        lines.extend(answer.advice.iter().map(|advice| advice.0.clone()));
        let run = &answer.current.run;
        let has_moved = answer.records.iter().any(engine::Record::moves);
        let waits = matches!(answer.outcome, Outcome::Parked { .. });
        if let Some(asked) = view::asked(&answer.current.workflow, run) {
            lines.push(format!("A person is asked: {} (decision {})", asked.question, asked.id));
        }
        if run.owner.is_driver() && (has_moved || waits) {
            lines.push("Your turn is over: end it now, and change nothing more.".to_owned());
        } else if waits {
            lines.push("Wait for the answer: end your turn.".to_owned());
        } else if has_moved {
            lines.push(self.news(&answer.current, Actor::Agent));
        }
        lines.join("\n")
    }
}

/// Says what a call means in the phase that the run is in.
fn wish(current: &Current, criteria: &Criteria, name: &str, mut fields: Map<String, Value>) -> Wish {
    let run = &current.run;
    if name == STATUS {
        return Wish::Look;
    }
    if let Some(why) = out_of_turn(run) {
        return Wish::Not(format!("`{name}` is refused: {why}"));
    }
    if name == REPORT_FINDING {
        return Wish::Offer(found(&fields), Map::new());
    }
    let Some(tool) = [Tool::SubmitPlan, Tool::AskQuestion, Tool::MarkStoryComplete, Tool::Done]
        .into_iter()
        .find(|tool| tool.name() == name)
    else {
        return Wish::Not(format!("there is no tool `{name}`"));
    };
    let wanted = fields.remove("event").and_then(|event| event.as_str().map(EventName::new));
    let event = match wanted {
        Some(event) => current.workflow.events_of_agent(run).into_iter().find(|known| *known == event),
        None => current.workflow.event_of_tool(run, tool),
    };
    if let Some(Value::Object(data)) = fields.remove("data") {
        fields.extend(data);
    }
    if event.is_some() && tool != Tool::AskQuestion && is_handed_in(current) {
        return Wish::Not(format!(
            "`{name}` is refused: end your turn with your answer; warp commits what you wrote, and says it then"
        ));
    }
    match (tool, event) {
        (Tool::AskQuestion, None) => question(&fields),
        (_, None) => Wish::Not(format!("`{name}` is not possible in `{}`", run.phase)),
        (Tool::SubmitPlan, Some(event)) => {
            let approach = fields.remove("plan").unwrap_or_default();
            fields.insert("approach".to_owned(), approach);
            let (event, data) = planned(current, criteria, event, fields);
            Wish::Offer(event, data)
        }
        (Tool::Done | Tool::AskQuestion | Tool::MarkStoryComplete, Some(event)) => {
            Wish::Offer(Event::Named(event), fields)
        }
    }
}

/// Tells whether warp hands in what an agent writes: it commits first, and says what came of it then.
fn is_handed_in(current: &Current) -> bool {
    current.run.owner.is_driver() && current.workflow.hands_in
}

/// Returns the event that a plan becomes: where a person has to see it or its criteria first, the question whether they are
/// right.
pub fn planned(
    current: &Current,
    criteria: &Criteria,
    event: EventName,
    data: Map<String, Value>,
) -> (Event, Map<String, Value>) {
    if *criteria != Criteria::Given && !criteria::proposed(&data).is_empty() {
        return criteria::confirmation(&current.run, &Criteria::Missing, data);
    }
    let Some(approval) = current.workflow.approval(&current.run, &event) else {
        return (Event::Named(event), data);
    };
    let approach = data.get("approach").and_then(Value::as_str).unwrap_or_default();
    let question = format!("{}\n{approach}", approval.text);
    let options = vec![APPROVE.to_owned(), "reject".to_owned()];
    let event = Event::QuestionAsked { kind: PLAN.to_owned(), question, options };
    (event, Map::from_iter([("plan".to_owned(), json!(data))]))
}

fn question(fields: &Map<String, Value>) -> Wish {
    let text = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
    let options = fields.get("options").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut options: Vec<String> = options.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if options.is_empty() {
        options = vec!["yes".to_owned(), "no".to_owned()];
    }
    let question = match (text("question").unwrap_or_default(), text("context")) {
        (question, Some(context)) => format!("{question}\n{context}"),
        (question, None) => question,
    };
    let data = fields.iter().filter(|(field, _)| ["urgency", "default"].contains(&field.as_str()));
    let data = data.map(|(field, value)| (field.clone(), value.clone())).collect();
    let kind = text("kind").unwrap_or_else(|| KIND.to_owned());
    Wish::Offer(Event::QuestionAsked { kind, question, options }, data)
}

/// Returns the event that a finding becomes. A bug is a P1.
pub fn found(fields: &Map<String, Value>) -> Event {
    let text = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
    let severity = match text("severity").as_deref() {
        Some("p1" | "bug") => Severity::P1,
        Some("p2") => Severity::P2,
        Some(_) | None => Severity::P3,
    };
    let line = fields.get("line").and_then(Value::as_u64);
    Event::FindingReported { severity, file: text("file"), line, text: text("text").unwrap_or_default() }
}

/// Says why an agent that warp drives may not speak: its turn was for another stay, or there is none.
fn out_of_turn(run: &Run) -> Option<String> {
    if !run.owner.is_driver() {
        return None;
    }
    match run.turn.as_ref().filter(|turn| !turn.is_over) {
        None => Some("no turn of an agent is under way".to_owned()),
        Some(turn) if run.effect.as_ref().is_some_and(|effect| effect.id == turn.effect) => None,
        Some(_) => Some(format!("your turn is over, and the run is in `{}` by now: end it", run.phase)),
    }
}

/// Says which tools mean something in the phase that the run is in.
fn possible(current: &Current) -> String {
    let (run, workflow) = (&current.run, &*current.workflow);
    let mut tools: Vec<String> = Vec::new();
    if run.standing == engine::Standing::Active && out_of_turn(run).is_none() {
        let is_handed_in = is_handed_in(current);
        for tool in [Tool::SubmitPlan, Tool::MarkStoryComplete, Tool::Done].iter().filter(|_| !is_handed_in) {
            if let Some(event) = workflow.event_of_tool(run, *tool) {
                tools.push(format!("{} ({event})", tool.name()));
            }
        }
        let events = if is_handed_in { Vec::new() } else { workflow.events_of_agent(run) };
        let others: Vec<&str> = events.iter().map(EventName::as_str).collect();
        if others.len() > 1 {
            tools.push(format!("done with `event` as one of {}", others.join(", ")));
        }
        tools.push(Tool::AskQuestion.name().to_owned());
        tools.push(REPORT_FINDING.to_owned());
    }
    tools.push(STATUS.to_owned());
    format!("The run is in `{}`; possible now: {}", run.phase, tools.join("; "))
}
