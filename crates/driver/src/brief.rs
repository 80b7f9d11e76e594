//! What an agent is told, and what it is to answer.
//!
//! Here the facts are gathered, from the run, its issue and its tree; [`text`] makes the text of them. It is made anew for every
//! turn: an agent that remembers nothing can work from it.

mod parts;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use adapters::machine;
use engine::{
    ACCEPT, Act, CRITERIA, Event, Run, Standing, Time, Workflow, keys, visible_text, with_names,
    workflow::{Answer, Measure, Trips},
};
use forge::ItemId;
use project::{
    Current, Workspace, counted,
    criteria::{self, Criteria},
    prompts,
    tools::{self, APPROVE, PLAN},
};
use serde_json::{Map, Value, json};

pub(crate) use parts::Parts;
use text::{Change, Chunk, Facts, Failure, Project, Rework, Subject, Tries};

use crate::{
    answer::{self, Form},
    driver::DriveError,
    feature, second_look,
};

const REWORK: &str = include_str!("../../../prompts/run/rework.md");
const SECOND_LOOK: &str = include_str!("../../../prompts/run/second_look.md");

/// The level at which warp merges by itself.
pub(crate) const MERGES: u64 = 3;

/// The part of a phase's text that is meant for an agent that moves the run itself.
const ENDS_WITH: &str = "## Ends with";
/// The most that is shown of what came with the event that led to a phase, in characters.
const LONGEST_LED: usize = 8_000;
/// The most of an issue that an agent is shown, in characters.
const LONGEST_ISSUE: usize = 40_000;
/// The most of a change that an agent is shown, in characters.
const LONGEST_CHANGE: usize = 20_000;
/// An issue with more criteria than this gets an approach first.
const SIMPLE: usize = 3;
/// How many characters of a commit's name are shown.
const HASH: usize = 10;
/// How much of a digest marks data.
const MARK: usize = 10;
/// Files in which projects say how they are written.
const CONVENTIONS: [&str; 6] = [
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
    "STYLE.md",
];

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
    if current.workflow.rows(&current.run.phase).iter().any(|row| row.status.is_some()) {
        facts.change = facts.project.base.as_ref().map(|base| Change {
            command: format!("`git diff {base}` (and `git status`, for new files)"),
            ..Change::default()
        });
    }
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

/// Gathers what every phase is told.
pub(crate) fn facts(
    workspace: &mut Workspace,
    current: &Current,
    subject: Subject,
) -> Result<Facts, DriveError> {
    let (run, workflow) = (&current.run, &*current.workflow);
    let known = &run.facts.issue;
    let phase = workflow.phase(&run.phase);
    let is_its = |at: Time| known.began_at.is_none_or(|began| at >= began);
    let edited = run.doom_loop_events.iter().filter(|event| is_its(event.at));
    let edited = edited.filter(|_| run.standing == Standing::Active).map(|event| event.file.clone());
    let completed = run.completed_chunks.iter();
    let unfinished = known.selected.get("resumes").and_then(|resumes| resumes.get("unfinished"));
    Ok(Facts {
        mark: mark(run),
        workflow: run.workflow.clone(),
        phase: run.phase.to_string(),
        purpose: phase.map(|phase| phase.purpose.clone()).unwrap_or_default(),
        subject,
        chunk: Chunk {
            index: run.chunk.index,
            count: run.chunk.acs.len(),
            criteria: run.current_criteria().to_vec(),
            met: completed.flat_map(|chunk| chunk.acs.clone()).collect(),
        },
        plan: known
            .plan
            .as_ref()
            .map(|plan| plan_text(&Value::Object(plan.clone())))
            .filter(|plan| !plan.is_empty()),
        project: project(workspace, run),
        notes: known.notes.clone(),
        said: said(run),
        earlier: jobs::on(workspace).earlier(run)?,
        unfinished: unfinished.and_then(Value::as_str).map(|unfinished| unfinished == "restored"),
        reviews: known.reviews.clone(),
        findings: run.findings.iter().filter(|finding| is_its(finding.at)).map(ToString::to_string).collect(),
        edited: edited.collect(),
        tries: tries(workflow, run),
        failure: known.failure.as_ref().map(|failure| Failure {
            command: suite::test_command(&workspace.place.root, run).filter(|_| failure.is_of_tests),
            text: failure.text.clone(),
            log: Some(&workspace.place)
                .filter(|_| failure.is_of_tests)
                .and_then(suite::log)
                .map(|log| log.display().to_string()),
        }),
        ..Facts::default()
    })
}

/// Returns the mark of data in the briefs of a run. Texts are shown without it, so it need not be a secret.
pub(crate) fn mark(run: &Run) -> String {
    mark_of(&format!("data of {}", run.id))
}

/// Returns the mark of data of whatever is named.
pub(crate) fn mark_of(name: &str) -> String {
    let mut mark = engine::digest(name);
    mark.truncate(MARK);
    mark
}

/// Returns a plan as a person would write it.
fn plan_text(plan: &Value) -> String {
    let word = |field: &str| plan.get(field).and_then(Value::as_str);
    word("approach").or_else(|| word("plan")).or_else(|| word("summary")).unwrap_or_default().to_owned()
}

fn project(workspace: &Workspace, run: &Run) -> Project {
    let root = &workspace.place.root;
    let short = |commit: &String| commit.get(..HASH).unwrap_or(commit).to_owned();
    let base = run.chunk.first_base.as_ref().or(run.baseline.as_ref().map(|baseline| &baseline.commit));
    let is_there = |file: &&&str| root.join(file).is_file();
    let setup = suite::Prepared::read(root).map(|prepared| prepared.setup);
    Project {
        base: base.map(short),
        target: run.branches.merge_target.clone(),
        setup: setup.filter(|setup| !setup.is_empty()),
        test: suite::test_command(root, run),
        baseline: run.baseline.as_ref().map(|baseline| text::Baseline {
            counts: baseline.counts(),
            seconds: baseline.seconds,
            tolerated: baseline.tolerated,
            example: baseline.example.clone(),
        }),
        conventions: CONVENTIONS.iter().filter(is_there).map(|file| (*file).to_owned()).collect(),
        files: Vec::new(),
        dev: crate::dev::told(workspace, run),
    }
}

/// Returns what people have said and decided since the issue began.
fn said(run: &Run) -> Vec<String> {
    let decided = run.facts.questions_about_issue().filter_map(|asked| {
        let (question, option) = (asked.word("question"), asked.option()?);
        let note = asked.said("note").map(|note| format!(" ({note})")).unwrap_or_default();
        Some(format!("{question}\n  Decided: {option}{note}"))
    });
    let told = &run.facts.issue.told;
    // What was said before the issue was taken.
    let early = run.told.iter().filter(|text| !told.contains(text));
    decided.chain(early.chain(told).cloned()).collect()
}

/// Says which try of the phase it is, by the budget that is nearest to its end.
fn tries(workflow: &Workflow, run: &Run) -> Option<Tries> {
    let ticks = workflow.turns(&run.phase).map(|tick| tick.raises.as_slice()).unwrap_or_default();
    let leads_here = |counter: &String| {
        workflow.phases.iter().any(|phase| {
            let is_here =
                |row: &&engine::workflow::Row| workflow.targets(&phase.name, row).contains(&&run.phase);
            phase.name != run.phase
                && phase.rows.iter().filter(is_here).any(|row| row.raises.contains(counter))
        })
    };
    let tries = workflow.budgets.iter().filter_map(|budget| {
        let Measure::Counter(counter) = &budget.measure else { return None };
        let used = run.counter(counter);
        if used == 0 || !(ticks.contains(counter) || leads_here(counter)) {
            return None;
        }
        let limit = budget.limit.value(&run.settings);
        let most = if budget.trips == Trips::At { limit } else { limit.saturating_add(1) };
        Some(Tries { this: used.saturating_add(1).min(most), most })
    });
    tries.min_by_key(|tries| tries.most.saturating_sub(tries.this))
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

/// Returns the text for the present phase: the project's own as the merge target has it, else the built-in one.
fn phase_text(workspace: &Workspace, run: &Run) -> String {
    let git = workspace.place.git();
    let built_in = || prompts::built_in(&run.workflow, run.phase.as_str()).unwrap_or_default().to_owned();
    match prompts::pinned(&git, &run.branches.merge_target, &run.workflow, run.phase.as_str()) {
        Ok(own) => own.unwrap_or_else(built_in),
        Err(error) => format!("{error}: {}; the built-in text follows.\n\n{}", error.source, built_in()),
    }
}

/// Takes out of a phase's text what is meant for an agent that moves the run itself.
pub(crate) fn headless(text: &str) -> String {
    let text = text.split(ENDS_WITH).next().unwrap_or_default();
    // The phase is named already.
    let text =
        text.strip_prefix("# ").map_or(text, |rest| rest.split_once('\n').map_or("", |(_, rest)| rest));
    text.trim().to_owned()
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

/// Returns the event that led to the present phase and what came with it, where the brief does not tell that otherwise.
pub(crate) fn led_here(current: &Current, facts: &Facts) -> Option<String> {
    let entry = current.run.facts.entry.as_ref().filter(|entry| !entry.data.is_empty())?;
    let is_review = facts.reviews.last().is_some_and(|review| review.event == entry.event);
    let is_plan = current.run.facts.issue.plan.as_ref().is_some_and(|plan| *plan == entry.data);
    let is_failure = facts.failure.is_some() && entry.data.contains_key("failure");
    let note = entry.data.get("note").or_else(|| entry.data.get("answer")).and_then(Value::as_str);
    let is_said = note.is_some_and(|note| facts.said.iter().any(|said| said.contains(note)));
    if is_review || is_plan || is_failure || is_said {
        return None;
    }
    let data = serde_json::to_string(&entry.data).ok()?;
    let data: String = data.chars().take(LONGEST_LED).collect();
    Some(format!("`{}`:\n\n{}", entry.event, facts.fence(&data)))
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

/// An issue, as far as an agent is shown it.
pub(crate) struct Issue {
    title: String,
    body: String,
    labels: Vec<String>,
}

impl Issue {
    pub(crate) fn read(workspace: &mut Workspace, run: &Run) -> Result<Self, DriveError> {
        let item = match run.issue.as_deref().and_then(ItemId::typed) {
            Some(number) => workspace.tracker().item(number)?,
            None => None,
        };
        Ok(match item {
            Some(item) => Self {
                title: item.title.clone(),
                body: visible_text(&item.body).chars().take(LONGEST_ISSUE).collect(),
                labels: item.labels.iter().cloned().collect(),
            },
            None => Self {
                title: run.feature.clone().unwrap_or_default(),
                body: String::new(),
                labels: Vec::new(),
            },
        })
    }

    fn criteria(&self) -> usize {
        engine::read_boxes(&self.body).items.len()
    }

    fn is_about_architecture(&self) -> bool {
        self.labels.iter().any(|label| label == "architecture")
            || self.body.to_lowercase().contains("architecture")
    }

    fn subject(&self, run: &Run) -> Subject {
        Subject {
            issue: run.issue.clone(),
            text: format!("# {}\n\n{}", self.title, with_names(&self.body)).trim_end().to_owned(),
        }
    }

    pub(crate) fn fenced(&self) -> Result<String, DriveError> {
        fenced(&format!("# {}\n\n{}", self.title, self.body))
    }
}

/// Returns a text as data, between lines that whoever wrote it cannot have known.
pub(crate) fn fenced(text: &str) -> Result<String, DriveError> {
    let mark = machine::random_text(MARK).map_err(|error| DriveError::World(error.to_string()))?;
    Ok(text::fence(&mark, text))
}
