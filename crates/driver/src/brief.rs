//! What an agent is told, and what it is to answer.
//!
//! [`project::brief`] gathers the facts and makes the text of them; here it is said what is asked for, and whether an agent is
//! needed at all.

#[cfg(test)]
mod tests;

use adapters::machine;
use engine::{ACCEPT, Act, CRITERIA, Event, Run, keys, workflow::Answer};
use project::{
    Current, Workspace,
    brief::{facts, headless, led_here, phase_text, plan_text},
    counted,
    criteria::{self, Criteria},
    tools::{self, APPROVE, PLAN},
};
use serde_json::{Map, Value, json};

pub(crate) use project::brief::{Issue, Parts, mark, mark_of, text};
use text::{Change, Chunk, Facts, Rework};

use crate::{
    answer::{self, Form},
    driver::DriveError,
    feature, second_look,
};

const REWORK: &str = include_str!("../../../prompts/run/rework.md");
const SECOND_LOOK: &str = include_str!("../../../prompts/run/second_look.md");

/// The level at which warp merges by itself.
pub(crate) const MERGES: u64 = 3;

/// The most of a change that an agent is shown, in characters.
const LONGEST_CHANGE: usize = 20_000;
/// An issue with more criteria than this gets an approach first.
const SIMPLE: usize = 3;
/// How much of a random text marks data.
const MARK: usize = 10;

/// What is to be done about a phase.
pub(crate) enum Brief {
    /// No agent is needed: what it would have answered with is known.
    Nothing {
        data: Map<String, Value>,
        why: String,
    },
    /// Proposed criteria are settled: they are written into the issue, and this plan follows. A person who confirmed them is
    /// named.
    Criteria {
        plan: Map<String, Value>,
        by: Option<String>,
    },
    /// A person is asked first.
    Ask {
        event: Event,
        data: Map<String, Value>,
    },
    Work(Work),
}

/// What is put to an agent.
pub(crate) struct Work {
    pub(crate) prompt: Parts,
    /// What its answer has to be.
    pub(crate) form: Form,
}

/// Why an agent is asked again.
#[derive(Clone, Copy, Default)]
pub(crate) struct Again<'a> {
    /// What was wrong with its answer.
    pub(crate) refusal: Option<&'a str>,
    /// How its turn ended before it had answered.
    pub(crate) cut_short: Option<&'a str>,
}

impl Again<'_> {
    /// Returns what stands at the end of the brief, where what is new is looked for.
    fn words(&self) -> String {
        match (self.refusal, self.cut_short) {
            (Some(refusal), _) => format!("\n{refusal}\n"),
            (None, Some(how)) => format!("\nYour last turn ended before you had answered: {how}\n"),
            (None, None) => String::new(),
        }
    }
}

impl Work {
    pub(crate) fn new(facts: Facts, form: Form) -> Self {
        let facts = Facts { answer: form.words.clone(), ..facts };
        Self { prompt: facts.parts(), form }
    }

    /// Returns what a new conversation is told, with what it has to know of others before it.
    pub(crate) fn whole(&self, again: Again<'_>, briefing: &str) -> String {
        // Whoever is new has had no turn before.
        let again = Again { cut_short: None, ..again };
        self.prompt.whole() + briefing + &again.words()
    }

    /// Returns what a conversation is told that has parts of the brief already.
    pub(crate) fn since(&self, again: Again<'_>, known: &[String]) -> String {
        let told = if known.is_empty() { self.prompt.whole() } else { self.prompt.since(known) };
        told + &again.words()
    }

    /// Returns what a conversation is told that has forgotten it, in at most so many bytes.
    pub(crate) fn reminder(&self, again: Again<'_>, most: usize) -> String {
        let words = again.words();
        self.prompt.within(most.saturating_sub(words.len())) + &words
    }
}

/// Says what is to be done in the phase that the run is in.
pub(crate) fn of(workspace: &mut Workspace, current: &Current) -> Result<Brief, DriveError> {
    if current.workflow.hands_in {
        return feature::brief(workspace, current);
    }
    let issue = Issue::read(workspace, &current.run)?;
    if second_look::is_due(current) {
        return look_again(workspace, current, &issue);
    }
    match asks(&current.run) {
        Answer::Plan => return plan(workspace, current, &issue),
        Answer::Work => return code(workspace, current, &issue),
        Answer::Receipt | Answer::Verdict | Answer::Event | Answer::Promise => {}
    }
    let possible = current.workflow.events_of_agent(&current.run);
    let asking = current.workflow.event_of_tool(&current.run, engine::workflow::Tool::AskQuestion);
    let guide = phase_text(workspace, &current.run);
    let form = Form::event(&possible, asking.as_ref(), &guide);
    let mut facts = facts(workspace, current, issue.subject(&current.run))?;
    facts.guide = headless(&guide);
    facts.led = led_here(current, &facts);
    Ok(Brief::Work(Work::new(facts, form)))
}

/// Returns what an agent is asked for where the run stands.
pub(crate) fn asks(run: &Run) -> Answer {
    match run.act() {
        Act::Agent { asks, .. } => *asks,
        Act::Nothing | Act::Job(_) | Act::Person { .. } | Act::Wait { .. } => Answer::Event,
    }
}

fn plan(workspace: &mut Workspace, current: &Current, issue: &Issue) -> Result<Brief, DriveError> {
    let known = &current.run.facts;
    let decided = known.answered(PLAN);
    if let Some(asked) = decided.filter(|asked| asked.option() == Some(APPROVE))
        && let Some(Value::Object(plan)) = asked.data.get("plan")
    {
        let why = "the plan is approved".to_owned();
        return Ok(Brief::Nothing { data: plan.clone(), why });
    }
    if ["pull", "as_is"].iter().any(|field| known.issue.selected.contains_key(*field)) {
        let why = "what is to be done is known: no approach is drafted".to_owned();
        return Ok(Brief::Nothing { data: Map::new(), why });
    }
    let wanted = workspace.criteria_of(current)?;
    let proposal = proposal(known);
    match (&wanted, &proposal) {
        (_, Some(Proposal { plan, by, is_taken: true, .. })) => {
            return Ok(Brief::Criteria { plan: (*plan).clone(), by: by.map(str::to_owned) });
        }
        (Criteria::Unconfirmed(lines), None) => {
            let plan = Map::from_iter([("criteria".to_owned(), json!(lines))]);
            let (event, data) = criteria::confirmation(&current.run, &wanted, plan);
            return Ok(Brief::Ask { event, data });
        }
        (Criteria::Given | Criteria::Missing | Criteria::Unconfirmed(_), _) => {}
    }
    let are_proposed = wanted != Criteria::Given;
    let criteria = issue.criteria();
    let is_simple = criteria <= SIMPLE && !issue.is_about_architecture() && !are_proposed;
    if is_simple && !current.run.settings.get(keys::APPROVE_PLAN) {
        let criteria = counted(criteria as u64, "criterion", "criteria");
        let why = format!("{criteria} and no choice of architecture: no approach is drafted");
        return Ok(Brief::Nothing { data: Map::new(), why });
    }
    let run = &current.run;
    let mut facts = facts(workspace, current, issue.subject(run))?;
    facts.purpose = "draft an approach".to_owned();
    facts.guide = guide(workspace, run);
    let most = run.settings.get(keys::MAX_ACS_PER_COMMIT);
    facts.more.push(format!("A chunk has at most {}.", counted(most, "criterion", "criteria")));
    let rejected = |what: &str, text: &str, option: &str, note: Option<&str>| {
        let note = note.unwrap_or("no reason was given");
        format!("{what}:\n\n{}\n\nA person said {option}: {note}", text::fence(&facts.mark, text))
    };
    if let Some((asked, option)) = decided.and_then(|asked| Some((asked, asked.option()?))) {
        let before = asked.data.get("plan").map(plan_text).unwrap_or_default();
        facts.more.push(rejected("Your plan before", &before, option, asked.said("note")));
    }
    if let Some(Proposal { plan, note, is_taken: false, .. }) = &proposal {
        let before = criteria::proposed(plan).join("\n");
        facts.more.push(rejected("Your criteria before", &before, "that they are not right", *note));
    }
    facts.more.reverse();
    Ok(Brief::Work(Work::new(facts, Form::plan(are_proposed))))
}

fn code(workspace: &mut Workspace, current: &Current, issue: &Issue) -> Result<Brief, DriveError> {
    let run = &current.run;
    if let Some(data) = as_is(run) {
        let why = "the work is there already: it is tested and committed".to_owned();
        return Ok(Brief::Nothing { data, why });
    }
    let mut facts = facts(workspace, current, issue.subject(run))?;
    let selected = &run.facts.issue.selected;
    let is_rework = selected.contains_key("pull");
    (facts.purpose, facts.guide) = match is_rework {
        // A project's own text is about criteria.
        true => ("rework the pull request".to_owned(), REWORK.to_owned()),
        false => ("implement the chunk".to_owned(), guide(workspace, run)),
    };
    facts.rework = is_rework.then(|| rework(selected));
    let criteria = run.current_criteria();
    let form = Form::work(criteria, is_rework || criteria.is_empty());
    Ok(Brief::Work(Work::new(facts, form)))
}

/// Asks for a look at the whole issue.
fn look_again(workspace: &mut Workspace, current: &Current, issue: &Issue) -> Result<Brief, DriveError> {
    let run = &current.run;
    let mut facts = facts(workspace, current, issue.subject(run))?;
    facts.purpose = "look at the whole issue once more".to_owned();
    facts.guide = SECOND_LOOK.to_owned();
    facts.chunk = Chunk::default();
    if let Some(base) = &run.chunk.first_base {
        let git = workspace.place.git();
        let (change, is_cut) = git.change_between(base, "HEAD", &["--patch"]).map_err(DriveError::World)?;
        let shown: String = change.chars().take(LONGEST_CHANGE).collect();
        let is_cut = is_cut || shown.len() < change.len();
        facts.change = Some(Change { command: format!("`git diff {base} HEAD`"), text: shown, is_cut });
    }
    Ok(Brief::Work(Work::new(facts, Form::second_look())))
}

/// Makes an event of an answer; nothing if it names none.
pub(crate) fn event_of(
    current: &Current,
    criteria: &Criteria,
    value: &Value,
) -> Option<(Event, Map<String, Value>)> {
    let mut data = answer::data(value);
    let event = current.workflow.answer_event(&current.run.phase).cloned();
    match asks(&current.run) {
        Answer::Plan => Some(tools::planned(current, criteria, event?, data)),
        Answer::Work => Some((Event::Named(event?), data)),
        Answer::Receipt | Answer::Verdict | Answer::Event | Answer::Promise => {
            let event = value.get("event").and_then(Value::as_str)?;
            let known = current
                .workflow
                .events_of_agent(&current.run)
                .into_iter()
                .find(|known| known.as_str() == event)?;
            data.remove("event");
            if let Some(Value::Object(more)) = data.remove("data") {
                data.extend(more);
            }
            Some((Event::Named(known), data))
        }
    }
}

/// Returns the text for the present phase, as far as it is meant for an agent that warp drives.
pub(crate) fn guide(workspace: &Workspace, run: &Run) -> String {
    headless(&phase_text(workspace, run))
}

/// Criteria that were proposed, and what became of that.
struct Proposal<'a> {
    plan: &'a Map<String, Value>,
    /// The person who answered.
    by: Option<&'a str>,
    note: Option<&'a str>,
    /// Whether the work goes on with them.
    is_taken: bool,
}

/// Returns what comes with the work of a chunk that lies in the tree already, until its tests have failed: an earlier run
/// has done it.
fn as_is(run: &Run) -> Option<Map<String, Value>> {
    let message = run.facts.issue.selected.get("as_is").filter(|_| run.chunk.index == 1)?;
    if run.counter("coding_cycles") > 0 {
        return None;
    }
    let mut data = Map::from_iter([("summary".to_owned(), json!("Done by an earlier run."))]);
    if message.is_string() {
        data.insert("message".to_owned(), message.clone());
    }
    Some(data)
}

/// Returns the newest criteria that were proposed, if that is settled.
fn proposal(facts: &engine::Facts) -> Option<Proposal<'_>> {
    let asked = facts.questions_about_issue().rfind(|asked| asked.kind() == CRITERIA)?;
    let plan = asked.data.get("plan").and_then(Value::as_object)?;
    if asked.answer.is_none() && !asked.is_passed_over {
        return None;
    }
    let is_taken = asked.is_passed_over || asked.option() == Some(ACCEPT);
    Some(Proposal { plan, by: asked.said("by"), note: asked.said("note"), is_taken })
}

/// Returns what is wanted of a pull request.
fn rework(selected: &Map<String, Value>) -> Rework {
    let texts = |field: &str| -> Vec<String> {
        let list = selected.get(field).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    Rework { requested: texts("comments"), conflicts: texts("conflicts"), rest: texts("rest") }
}

/// Returns a text as data, between lines that whoever wrote it cannot have known.
pub(crate) fn fenced(text: &str) -> Result<String, DriveError> {
    let mark = machine::random_text(MARK).map_err(|error| DriveError::World(error.to_string()))?;
    Ok(text::fence(&mark, text))
}
