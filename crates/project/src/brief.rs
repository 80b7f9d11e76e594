//! What an agent is told about its work, whoever starts it: a driver that asks it headless, or a person's session.
//!
//! Here the facts are gathered, from the run, its issue and its tree; [`text`] makes the text of them. It is made anew for every
//! turn: an agent that remembers nothing can work from it.

mod parts;
mod session;
#[cfg(test)]
mod tests;
pub mod text;

use std::path::Path;

use dev::URL;
use engine::{
    Run, Standing, Time, Workflow, with_names,
    workflow::{Measure, Phase, ReceiptKind, Trips},
};
use forge::{ItemId, plain_text};
use serde_json::Value;

use crate::{Current, Error, Workspace, earlier, prompts};

pub use parts::{Parts, Words};
use text::{Change, Chunk, Facts, Failure, Project, Subject, Tries};

/// The part of a phase's text that is meant for an agent that moves the run itself.
const ENDS_WITH: &str = "## Ends with";
/// Fields of events that are no news to an agent.
const OF_PROGRAMS: [&str; 6] = ["tests", "tree", "branch", "onto", "commit", "git_sha"];
/// The most that is shown of what came with the event that led to a phase, in characters.
const LONGEST_LED: usize = 8_000;
/// The most of an issue that an agent is shown, in bytes.
const LONGEST_ISSUE: usize = 40_000;
/// The most of its title that an agent is shown, in bytes.
const LONGEST_TITLE: usize = 500;
/// How many characters of a commit's name are shown.
const HASH: usize = 10;
/// How much of a digest marks data.
const MARK: usize = 10;
/// How many phases are told of that came before.
const CHECKPOINTS: usize = 20;
/// Files in which projects say how they are written.
const CONVENTIONS: [&str; 6] = [
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
    "STYLE.md",
];

/// Gathers what every phase is told.
pub fn facts(workspace: &mut Workspace, current: &Current, subject: Subject) -> Result<Facts, Error> {
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
        project: Project { files: artifacts(run), ..project(workspace, run) },
        notes: known.notes.clone(),
        said: said(run),
        earlier: earlier::earlier(workspace, run)?,
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
        done: checkpoints(run),
        more: acceptance(phase, &workspace.place.root, run),
        change: change(workflow, run),
        ..Facts::default()
    })
}

/// Returns the mark of data in the briefs of a run. Texts are shown without it, so it need not be a secret.
pub fn mark(run: &Run) -> String {
    mark_of(&format!("data of {}", run.id))
}

/// Returns the mark of data of whatever is named.
pub fn mark_of(name: &str) -> String {
    let mut mark = engine::digest(name);
    mark.truncate(MARK);
    mark
}

/// Returns a plan as a person would write it.
pub fn plan_text(plan: &Value) -> String {
    let word = |field: &str| plan.get(field).and_then(Value::as_str);
    word("approach").or_else(|| word("plan")).or_else(|| word("summary")).unwrap_or_default().to_owned()
}

fn project(workspace: &Workspace, run: &Run) -> Project {
    let root = &workspace.place.root;
    let is_there = |file: &&&str| root.join(file).is_file();
    let setup = suite::Prepared::read(root).map(|prepared| prepared.setup);
    Project {
        base: base(run),
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
        dev: dev_words(workspace, run),
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

/// Returns the event that led to the present phase and what came with it, where the brief does not tell that otherwise.
pub fn led_here(current: &Current, facts: &Facts) -> Option<String> {
    let entry = current.run.facts.entry.as_ref().filter(|entry| !entry.data.is_empty())?;
    let is_review = facts.reviews.last().is_some_and(|review| review.event == entry.event);
    let is_plan = current.run.facts.issue.plan.as_ref().is_some_and(|plan| *plan == entry.data);
    let is_failure = facts.failure.is_some() && entry.data.contains_key("failure");
    let note = entry.data.get("note").or_else(|| entry.data.get("answer")).and_then(Value::as_str);
    let is_said = note.is_some_and(|note| facts.said.iter().any(|said| said.contains(note)));
    if is_review || is_plan || is_failure || is_said {
        return None;
    }
    // What a program found out by the way is of use to the run, and tells an agent nothing: names of passed tests, hashes.
    let mut told = entry.data.clone();
    told.retain(|field, _| !OF_PROGRAMS.contains(&field.as_str()));
    if told.is_empty() {
        return None;
    }
    let data = serde_json::to_string(&told).ok()?;
    let data: String = data.chars().take(LONGEST_LED).collect();
    Some(format!("`{}`:\n\n{}", entry.event, facts.fence(&data)))
}

/// An issue, as far as an agent is shown it.
pub struct Issue {
    title: String,
    body: String,
    labels: Vec<String>,
}

impl Issue {
    pub fn read(workspace: &mut Workspace, run: &Run) -> Result<Self, Error> {
        let item = match run.issue.as_deref().and_then(ItemId::typed) {
            Some(number) => workspace.tracker().item(number)?,
            None => None,
        };
        Ok(match item {
            Some(item) => Self {
                title: plain_text(&item.title, LONGEST_TITLE),
                body: plain_text(&item.body, LONGEST_ISSUE),
                labels: item.labels.iter().cloned().collect(),
            },
            None => Self {
                title: run.feature.clone().unwrap_or_default(),
                body: String::new(),
                labels: Vec::new(),
            },
        })
    }

    /// Counts its criteria.
    pub fn criteria(&self) -> usize {
        engine::read_boxes(&self.body).items.len()
    }

    pub fn is_about_architecture(&self) -> bool {
        self.labels.iter().any(|label| label == "architecture")
            || self.body.to_lowercase().contains("architecture")
    }

    /// Returns it as what the work is about.
    pub fn subject(&self, run: &Run) -> Subject {
        Subject {
            issue: run.issue.clone(),
            text: match (self.title.as_str(), self.body.as_str()) {
                ("", "") => String::new(),
                (title, body) => format!("# {title}\n\n{}", with_names(body)).trim_end().to_owned(),
            },
        }
    }

    /// Returns the issue as a person wrote it.
    pub fn text(&self) -> String {
        format!("# {}\n\n{}", self.title, self.body)
    }
}

/// Takes out of a phase's text what is meant for an agent that moves the run itself.
pub fn headless(text: &str) -> String {
    let text = text.split(ENDS_WITH).next().unwrap_or_default();
    // The phase is named already.
    let text =
        text.strip_prefix("# ").map_or(text, |rest| rest.split_once('\n').map_or("", |(_, rest)| rest));
    text.trim().to_owned()
}

/// Returns the text for the present phase: the project's own as the merge target has it, else the built-in one.
pub fn phase_text(workspace: &Workspace, run: &Run) -> String {
    let git = workspace.place.git();
    let built_in = || prompts::built_in(&run.workflow, run.phase.as_str()).unwrap_or_default().to_owned();
    match prompts::pinned(&git, &run.branches.merge_target, &run.workflow, run.phase.as_str()) {
        Ok(own) => own.unwrap_or_else(built_in),
        Err(error) => format!("{error}: {}; the built-in text follows.\n\n{}", error.source, built_in()),
    }
}

/// Says where acceptance tests go, in the phase that writes them.
fn acceptance(phase: Option<&Phase>, root: &Path, run: &Run) -> Vec<String> {
    let writes = phase.is_some_and(|phase| phase.receipt == Some(ReceiptKind::Tests));
    if writes { vec![suite::acceptance::advice(root, &run.settings)] } else { Vec::new() }
}

/// Returns how whoever gives a verdict sees the whole change.
fn change(workflow: &Workflow, run: &Run) -> Option<Change> {
    workflow.rows(&run.phase).iter().find(|row| row.status.is_some())?;
    let base = base(run)?;
    Some(Change {
        command: format!("`git diff {base}` (and `git status`, for new files)"),
        ..Change::default()
    })
}

/// Returns the commit that the work is based on.
fn base(run: &Run) -> Option<String> {
    let base = run.chunk.first_base.as_ref().or(run.baseline.as_ref().map(|baseline| &baseline.commit))?;
    Some(base.get(..HASH).unwrap_or(base).to_owned())
}

/// Says what an agent has to know of the dev environment: where the server is, and which tables were left without seed data.
fn dev_words(workspace: &Workspace, run: &Run) -> String {
    let mut told = Vec::new();
    if let Some((url, log)) = workspace.dev_server() {
        told.push(format!(
            "The dev server runs at {url} (`{URL}`); what it says is in `{log}`. Leave it to warp to start and end it."
        ));
    }
    let seeds = run.facts.chunk.seeds.as_deref();
    told.extend(seeds.map(|text| format!("Advice on the code so far: {text}.")));
    told.join("\n")
}

fn artifacts(run: &Run) -> Vec<(String, String)> {
    let named = [
        ("the brainstorm", "brainstorm_file"),
        ("the plan", "plan_file"),
        ("the acceptance tests", "acceptance_tests_file"),
        ("the branch", "branch"),
        ("the pull request", "pr_url"),
    ];
    let there = named.iter().filter_map(|(what, name)| Some((*what, run.artifacts.entry(name)?)));
    there.map(|(what, value)| (what.to_owned(), value.to_string())).collect()
}

fn checkpoints(run: &Run) -> Vec<String> {
    let first = run.checkpoints.len().saturating_sub(CHECKPOINTS);
    let mut lines = Vec::new();
    for checkpoint in &run.checkpoints[first..] {
        lines.push(format!("{}: {}", checkpoint.phase, checkpoint.summary));
        lines.extend(checkpoint.failed_approaches.iter().map(|tried| format!("  did not work: {tried}")));
    }
    lines
}

/// Returns the newest error of the present stay: why an answer was not taken, or what a person did not like.
pub fn last_problem(run: &Run) -> Option<&str> {
    let entered = run.history.last().map(|row| row.at);
    let newest = run.errors.last().filter(|error| error.phase == run.phase)?;
    entered.is_none_or(|entered| newest.timestamp >= entered).then_some(newest.message.as_str())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
