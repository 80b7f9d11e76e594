//! What an agent is told, and what it is to answer.
//!
//! The text is made anew for every turn, from the run and its issue: an agent that remembers
//! nothing can go on with it. Words of people who wrote the issue are data, and stand between lines that nobody can
//! guess.

mod parts;

use adapters::machine;
use engine::{
    ACCEPT, Act, CRITERIA, Event, EventName, Facts, FailureText, Run, Standing, Time, keys, view,
    visible_text, workflow::Answer,
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

use crate::{answer, driver::DriveError, feature, second_look};

const RULES: &str = include_str!("../../../prompts/run/rules.md");
const PLANNING: &str = include_str!("../../../prompts/run/planning.md");
const CODING: &str = include_str!("../../../prompts/run/coding.md");
const REWORK: &str = include_str!("../../../prompts/run/rework.md");
const SECOND_LOOK: &str = include_str!("../../../prompts/run/second_look.md");

/// The level at which warp merges by itself.
pub(crate) const MERGES: u64 = 3;

/// What is asked of an agent whose issue has no criteria.
const PROPOSING: &str = "The issue has none: your answer needs `criteria`, 1 to 10 short lines that can be shown to hold. They are \
    AC-01, AC-02 and so on in their order.";

/// How an agent answers in a phase of any workflow.
const EVENTS: &str = "Where the text above ends with `warp state transition . EVENT --data DATA`, answer with \
    `event` and `data` instead: warp offers the event itself.";

/// The most that is shown of what came with the event that led to a phase, in characters.
const LONGEST_LED: usize = 8_000;

/// The most of an issue that an agent is shown, in characters.
const LONGEST_ISSUE: usize = 40_000;
/// The most of a change that an agent is shown, in characters.
const LONGEST_CHANGE: usize = 20_000;
/// An issue with more criteria than this gets an approach first.
const SIMPLE: usize = 3;

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
    pub(crate) schema: Value,
}

/// Why an agent is asked again.
#[derive(Clone, Copy, Default)]
pub(crate) struct Again<'a> {
    /// What was wrong with its answer.
    pub(crate) complaint: Option<&'a str>,
    /// How its turn ended before it had answered.
    pub(crate) cut_short: Option<&'a str>,
}

impl Again<'_> {
    fn words(&self) -> String {
        match (self.complaint, self.cut_short) {
            (Some(why), _) => {
                format!("Your answer could not be used: {why}\n\nFix that and answer again.\n\n")
            }
            (None, Some(how)) => format!("Your last turn ended before you had answered: {how}\n\n"),
            (None, None) => String::new(),
        }
    }
}

impl Work {
    /// Returns what each part of it is known by, the schema included.
    pub(crate) fn digests(&self) -> Vec<String> {
        let mut all = self.prompt.digests();
        all.push(self.schema_digest());
        all
    }

    /// Tells whether a conversation with these parts has the schema.
    pub(crate) fn knows_schema(&self, known: &[String]) -> bool {
        known.contains(&self.schema_digest())
    }

    fn schema_digest(&self) -> String {
        parts::short_digest(&self.schema.to_string())
    }

    /// Returns what a new conversation is told.
    pub(crate) fn whole(&self, again: Again<'_>) -> String {
        // Whoever is new has had no turn before.
        let again = Again { cut_short: None, ..again };
        again.words() + &self.prompt.whole()
    }

    /// Returns what a conversation is told that has parts of the brief already.
    pub(crate) fn since(&self, again: Again<'_>, known: &[String]) -> String {
        if known.is_empty() {
            return again.words() + &self.prompt.whole();
        }
        again.words() + &self.prompt.since(known)
    }

    /// Returns what a conversation is told that has forgotten it, in at most so many bytes.
    pub(crate) fn reminder(&self, again: Again<'_>, most: usize) -> String {
        let words = again.words();
        let rest = self.prompt.within(most.saturating_sub(words.len()));
        words + &rest
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
    let purpose = current.workflow.phase(&current.run.phase).map(|phase| phase.purpose.clone());
    let guide = workspace.described(current);
    let mut text = Text::new(&current.run, &purpose.unwrap_or_default());
    text.part("The phase", &guide);
    text.part("Your answer", EVENTS);
    text.part("The issue", &issue.fenced()?);
    if let Some(led) = led_here(&current.run) {
        text.part("What led here", &led);
    }
    text.history(&current.run);
    let names: Vec<&str> = possible.iter().map(EventName::as_str).collect();
    let schema = answer::event_schema(&names);
    Ok(Brief::Work(Work { prompt: text.finish(), schema }))
}

/// Returns what an agent is asked for where the run stands.
pub(crate) fn asks(run: &Run) -> Answer {
    match run.act() {
        Act::Agent { asks, .. } => *asks,
        Act::Nothing | Act::Job(_) | Act::Person { .. } | Act::Wait { .. } => Answer::Event,
    }
}

fn plan(workspace: &mut Workspace, current: &Current, issue: &Issue) -> Result<Brief, DriveError> {
    let facts = &current.run.facts;
    let decided = facts.answered(PLAN);
    if let Some(asked) = decided.filter(|asked| asked.option() == Some(APPROVE))
        && let Some(Value::Object(plan)) = asked.data.get("plan")
    {
        let why = "the plan is approved".to_owned();
        return Ok(Brief::Nothing { data: plan.clone(), why });
    }
    if ["pull", "as_is"].iter().any(|field| facts.issue.selected.contains_key(*field)) {
        let why = "what is to be done is known: no approach is drafted".to_owned();
        return Ok(Brief::Nothing { data: Map::new(), why });
    }
    let wanted = workspace.criteria_of(current)?;
    let proposal = proposal(facts);
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
    let mut text = Text::new(run, "draft an approach");
    text.part("What to do", &guide(workspace, run, PLANNING));
    let most = run.settings.get(keys::MAX_ACS_PER_COMMIT);
    let title = format!("Acceptance criteria, at most {most} in a chunk");
    match are_proposed {
        true => text.part(&title, PROPOSING),
        false => text.part(&title, &fenced(&issue.named_criteria().join("\n"))?),
    }
    text.part("The issue", &issue.fenced()?);
    if let Some((asked, option)) = decided.and_then(|asked| Some((asked, asked.option()?))) {
        let plan = asked.data.get("plan").map(ToString::to_string).unwrap_or_default();
        let note = asked.said("note").unwrap_or("no reason was given");
        text.part("Your plan before", &format!("{plan}\n\nA person said {option}: {note}"));
    }
    if let Some(Proposal { plan, note, is_taken: false, .. }) = &proposal {
        let before = fenced(&criteria::proposed(plan).join("\n"))?;
        let note = note.unwrap_or("no reason was given");
        text.part(
            "Your criteria before",
            &format!("{before}\n\nA person said that they are not right: {note}"),
        );
    }
    text.earlier(workspace, run)?;
    text.history(run);
    let schema = answer::plan_schema(are_proposed);
    Ok(Brief::Work(Work { prompt: text.finish(), schema }))
}

fn code(workspace: &mut Workspace, current: &Current, issue: &Issue) -> Result<Brief, DriveError> {
    let run = &current.run;
    if let Some(data) = as_is(run) {
        let why = "the work is there already: it is tested and committed".to_owned();
        return Ok(Brief::Nothing { data, why });
    }
    let facts = &run.facts.issue;
    let rework = Some(&facts.selected).filter(|selected| selected.contains_key("pull"));
    let (task, built_in) = match rework {
        Some(_) => ("rework the pull request", REWORK),
        None => ("implement the chunk", CODING),
    };
    let mut text = Text::new(run, task);
    let guide = match rework {
        // A project's own text is about criteria.
        Some(_) => built_in.to_owned(),
        None => guide(workspace, run, built_in),
    };
    text.part("What to do", &guide);
    let tests = suite::test_command(&workspace.place.root, run);
    let cycle = run.counter("coding_cycles");
    if let Some(failure) = facts.failure.as_ref().filter(|_| cycle > 0) {
        let most = run.settings.get(keys::MAX_CODING_CYCLES);
        text.part("What failed", &failed(failure, tests.as_deref(), cycle, most)?);
    }
    let criteria: Vec<String> = run
        .current_criteria()
        .iter()
        .map(|criterion| format!("- {}", view::in_words(run, criterion)))
        .collect();
    match rework {
        Some(selected) => text.rework(selected)?,
        None => text.part("Acceptance criteria of this chunk", &fenced(&criteria.join("\n"))?),
    }
    text.part("The issue's boxes", "They are warp's: they are ticked before the tests run.");
    text.part("The issue", &issue.fenced()?);
    let approach = facts.plan.as_ref().and_then(|plan| plan.get("approach")?.as_str());
    if let Some(approach) = approach {
        text.part("The approach", approach);
    }
    if let Some(command) = &tests {
        text.part("The tests", &about_tests(command, run));
    }
    text.part("The dev environment", &crate::dev::told(workspace, run));
    text.earlier(workspace, run)?;
    text.history(run);
    let schema = answer::code_schema();
    Ok(Brief::Work(Work { prompt: text.finish(), schema }))
}

/// Asks for a look at the whole issue.
fn look_again(workspace: &Workspace, current: &Current, issue: &Issue) -> Result<Brief, DriveError> {
    let run = &current.run;
    let mut text = Text::new(run, "look at the whole issue once more");
    text.part("What to do", SECOND_LOOK);
    let criteria = run.chunk.acs.iter().flatten();
    let criteria: Vec<String> =
        criteria.map(|criterion| format!("- {}", view::in_words(run, criterion))).collect();
    text.part("Acceptance criteria", &fenced(&criteria.join("\n"))?);
    text.part("The issue", &issue.fenced()?);
    if let Some(base) = &run.chunk.first_base {
        let git = workspace.place.git();
        let (change, is_cut) = git.change_between(base, "HEAD", &["--patch"]).map_err(DriveError::World)?;
        let shown: String = change.chars().take(LONGEST_CHANGE).collect();
        let more =
            if is_cut || shown.len() < change.len() { "Its beginning; the rest is shown by " } else { "" };
        let words = format!("{more}`git diff {base} HEAD`:\n\n{}", fenced(&shown)?);
        text.part("The change", &words);
    }
    Ok(Brief::Work(Work { prompt: text.finish_with(""), schema: answer::second_look_schema() }))
}

/// Says how the tests are run, and how they ended before anything was changed.
fn about_tests(command: &str, run: &Run) -> String {
    let mut text = format!("Warp runs them with `{command}`. You may do so yourself.");
    if let Some(baseline) = &run.baseline {
        text.push_str(&format!(" At the base: {}.", baseline.counts()));
        if baseline.tolerated {
            text.push_str(" Those may go on failing; no other may.");
        }
        match &baseline.example {
            Some(name) => text.push_str(&format!(" The runner names them like `{name}`.")),
            None => text.push_str(" The runner tells no names of tests: show changed lines as evidence."),
        }
    }
    text
}

/// Says what became of the last attempt.
fn failed(failure: &FailureText, tests: Option<&str>, cycle: u64, most: u64) -> Result<String, DriveError> {
    let what = match tests.filter(|_| failure.is_of_tests) {
        Some(command) => format!("`{command}`"),
        None => "A check".to_owned(),
    };
    let failure = fenced(&failure.text)?;
    Ok(format!(
        "{what} failed after your last answer. Nothing was committed; your changes are still there. This is \
         alternative {cycle} of {most}: mend it, or take another way.\n\n{failure}"
    ))
}

/// Makes an event of an answer; nothing if it names none.
pub(crate) fn event_of(
    current: &Current,
    criteria: &Criteria,
    value: &Value,
) -> Option<(Event, Map<String, Value>)> {
    let data = answer::data(value);
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
            let data = value.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
            Some((Event::Named(known), data))
        }
    }
}

/// Returns the text for a phase: the project's own as the merge target has it, else the built-in one.
pub(crate) fn guide(workspace: &Workspace, run: &Run, built_in: &str) -> String {
    let git = workspace.place.git();
    match prompts::pinned(&git, &run.branches.merge_target, &run.workflow, run.phase.as_str()) {
        Ok(own) => own.unwrap_or_else(|| built_in.to_owned()),
        Err(error) => format!("{error}: {}; the built-in text follows.\n\n{built_in}", error.source),
    }
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

/// Returns the event that led to the present phase, and what came with it.
pub(crate) fn led_here(run: &Run) -> Option<String> {
    let entry = run.facts.entry.as_ref().filter(|entry| !entry.data.is_empty())?;
    let data = serde_json::to_string_pretty(&entry.data).ok()?;
    let data: String = data.chars().take(LONGEST_LED).collect();
    Some(format!("`{}`:\n\n```json\n{data}\n```", entry.event))
}

/// Returns the newest criteria that were proposed, if that is settled.
fn proposal(facts: &Facts) -> Option<Proposal<'_>> {
    let asked = facts.questions_about_issue().rfind(|asked| asked.kind() == CRITERIA)?;
    let plan = asked.data.get("plan").and_then(Value::as_object)?;
    if asked.answer.is_none() && !asked.is_passed_over {
        return None;
    }
    let is_taken = asked.is_passed_over || asked.option() == Some(ACCEPT);
    Some(Proposal { plan, by: asked.said("by"), note: asked.said("note"), is_taken })
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

    fn named_criteria(&self) -> Vec<String> {
        let boxes = engine::read_boxes(&self.body).items;
        let named = boxes.iter().enumerate();
        named.map(|(index, (_, text))| format!("- {}: {text}", engine::criterion(index))).collect()
    }

    fn is_about_architecture(&self) -> bool {
        self.labels.iter().any(|label| label == "architecture")
            || self.body.to_lowercase().contains("architecture")
    }

    pub(crate) fn fenced(&self) -> Result<String, DriveError> {
        fenced(&format!("# {}\n\n{}", self.title, self.body))
    }
}

/// Returns a text as data, between lines that whoever wrote it cannot have known.
pub(crate) fn fenced(text: &str) -> Result<String, DriveError> {
    let mark = machine::random_text(12).map_err(|error| DriveError::World(error.to_string()))?;
    Ok(format!("<<<data {mark}\n{}\ndata {mark}>>>", text.trim_end()))
}

/// A prompt in the making.
pub(crate) struct Text(Parts);

impl Text {
    pub(crate) fn new(run: &Run, task: &str) -> Self {
        let about = match (&run.issue, run.chunk.acs.len()) {
            (Some(issue), 0) => format!(" for issue #{issue}"),
            (Some(issue), chunks) => format!(" for issue #{issue}, chunk {} of {chunks}", run.chunk.index),
            (None, _) => String::new(),
        };
        Self(Parts::new(format!(
            "You work in the phase `{}` of `{}`: {task}{about}.",
            run.phase, run.workflow
        )))
    }

    pub(crate) fn part(&mut self, title: &str, text: &str) {
        self.0.add(title, text);
    }

    /// Adds what people decided and said.
    pub(crate) fn history(&mut self, run: &Run) {
        let decided: Vec<String> = run
            .facts
            .questions_about_issue()
            .filter_map(|asked| {
                let (question, option) = (asked.word("question"), asked.option()?);
                let note = asked.said("note").map(|note| format!(" ({note})")).unwrap_or_default();
                Some(format!("- {question}\n  Decided: {option}{note}"))
            })
            .collect();
        self.part("What was decided", &decided.join("\n"));
        let told: Vec<String> = run.told.iter().map(|text| format!("- {text}")).collect();
        self.part("A person says", &told.join("\n"));
        // What was found and edited for another issue of the run says nothing about this one.
        let is_its = |at: Time| run.facts.issue.began_at.is_none_or(|began| at >= began);
        let found = run.findings.iter().filter(|finding| is_its(finding.at));
        let found: Vec<String> = found.map(|finding| format!("- {finding}")).collect();
        self.part("What was found in the work", &found.join("\n"));
        let edited = run.doom_loop_events.iter().filter(|event| is_its(event.at));
        let files: Vec<&str> = edited.map(|event| event.file.as_str()).collect();
        if !files.is_empty() && run.standing == Standing::Active {
            let words = format!("These were edited again and again without progress: {}", files.join(", "));
            self.part("Another way", &words);
        }
    }

    /// Adds what earlier runs of the issue have planned, tried and learnt.
    fn earlier(&mut self, workspace: &mut Workspace, run: &Run) -> Result<(), DriveError> {
        if let Some(earlier) = jobs::on(workspace).earlier(run)? {
            self.part("What earlier runs of this issue left", &fenced(&earlier)?);
        }
        let resumes = run.facts.issue.selected.get("resumes");
        let unfinished = resumes.and_then(|resumes| resumes.get("unfinished")).and_then(Value::as_str);
        let words = match unfinished {
            Some("restored") => {
                "What the last run had not finished is in your tree, not committed: `git status` and `git diff` show it. Nobody \
                 has tested it. Use what is right of it, and change or remove the rest."
            }
            Some(_) => "What the last run had not finished is kept elsewhere and is not in your tree.",
            None => "",
        };
        self.part("Unfinished work", words);
        Ok(())
    }

    /// Adds what is wanted of a pull request.
    fn rework(&mut self, selected: &Map<String, Value>) -> Result<(), DriveError> {
        let texts = |field: &str| -> Vec<&str> {
            let list = selected.get(field).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).collect()
        };
        let comments = texts("comments");
        let wanted: Vec<String> =
            comments.iter().enumerate().map(|(index, text)| format!("RC-{}: {text}", index + 1)).collect();
        if !wanted.is_empty() {
            self.part("Requested changes", &fenced(&wanted.join("\n\n"))?);
        }
        let files = texts("conflicts");
        if !files.is_empty() {
            let rest = fenced(&texts("rest").join("\n\n"))?;
            let words = format!(
                "These files have markers: {}. In the tree, not committed, are the commits of the pull request that do not go \
                 onto its target by themselves:\n\n{rest}",
                files.join(", ")
            );
            self.part("Conflicts", &words);
        }
        Ok(())
    }

    fn finish(self) -> Parts {
        self.finish_with(RULES)
    }

    pub(crate) fn finish_with(mut self, rules: &str) -> Parts {
        self.part("Rules", rules);
        self.0
    }
}
