//! Filing the report of the chunk that was committed, what the agent told beside it, and what people have decided.

use engine::{Run, workflow::JobOutcome};
use forge::{ItemId, NewItem};
use journal::Durable;
use project::counted;
use serde_json::{Map, Value, json};

use crate::{
    Context, JobError, issue,
    job::{Report, Task},
    report::{accepted, checks, key, titled},
};

/// What an agent may tell beside its work: the field of its answer, the label, and whether it is left to be done.
const NOTES: [(&str, &str, bool); 4] = [
    ("lessons", "lesson", false),
    ("decisions", "decision", false),
    ("deferred_bugs", "bug-deferred", true),
    ("risks", "risk", true),
];

/// What was filed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub report: ItemId,
    pub others: Vec<Filed>,
}

/// Something that was filed beside a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filed {
    pub kind: &'static str,
    pub id: ItemId,
    pub title: String,
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        let others = self.others.iter().map(|filed| format!("{} #{}: {}", filed.kind, filed.id, filed.title));
        Report::new(JobOutcome::ReportFiled)
            .with("report", json!(self.report))
            .say(format!("the chunk report is #{}", self.report))
            .say_all(others)
    }
}

/// Something to be filed once.
struct Filing {
    kind: &'static str,
    /// How a person is told of it.
    title: String,
    item: NewItem,
    marker: String,
    /// Whether it is told only when it is filed: it may have been filed with an earlier chunk.
    is_told_once: bool,
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let (report, others) = cx.filings(task.run())?;
    let report = cx.tracker().file(&report.item, Some(&report.marker))?.id;
    let mut told = Vec::new();
    for Filing { kind, title, item, marker, is_told_once } in others {
        if !is_told_once || cx.tracker().filed(&marker)?.is_none() {
            let id = cx.tracker().file(&item, Some(&marker))?.id;
            told.push(Filed { kind, id, title });
        }
    }
    Ok(Outcome { report, others: told })
}

/// It is done if everything is filed.
pub(crate) fn settle(cx: &mut Context<'_>, task: Task<'_>) -> Result<Option<Outcome>, JobError> {
    let (report, all) = cx.filings(task.run())?;
    let Some(report) = cx.tracker().filed(&report.marker)? else { return Ok(None) };
    let mut others = Vec::new();
    for Filing { kind, title, marker, is_told_once, .. } in all {
        let Some(id) = cx.tracker().filed(&marker)? else { return Ok(None) };
        if !is_told_once {
            others.push(Filed { kind, id, title });
        }
    }
    Ok(Some(Outcome { report, others }))
}

impl Context<'_> {
    /// Returns the report of a chunk, and what is filed beside it.
    fn filings(&self, run: &Run) -> Result<(Filing, Vec<Filing>), JobError> {
        let mut told: Vec<&Map<String, Value>> = run.facts.chunk.accounts.iter().rev().collect();
        let summary =
            run.facts.chunk.accounts.last().and_then(|told| told.get("summary")).and_then(Value::as_str);
        let title = issue::title(&*self.tracker(), run)?;
        let about = run.issue.as_deref().map(|issue| format!(" of #{issue}")).unwrap_or_default();
        let heading = format!(
            "Chunk {}/{}{about}: {}",
            run.chunk.index,
            run.chunk.acs.len(),
            title.or_else(|| run.feature.clone()).unwrap_or_default()
        );
        let size = run.commit_hashes.last().map(|commit| self.size_of(commit)).unwrap_or_default();
        let body = chunk(run, summary, &size);
        let report = Filing {
            kind: "report",
            item: NewItem { is_closed: true, ..titled(&heading, body, &["warp-drive"]) },
            title: heading,
            marker: key(run, &format!("chunk-{}", run.chunk.index)),
            is_told_once: false,
        };
        if run.chunk.index <= 1 {
            // What was decided while planning is told with the first chunk.
            told.extend(&run.facts.issue.plan);
        }
        Ok((report, notes(run, &told).chain(answers(run)).collect()))
    }
}

/// Returns lessons, decisions, bugs that were left and risks, each as an issue of its own.
fn notes(run: &Run, told: &[&Map<String, Value>]) -> impl Iterator<Item = Filing> {
    let mut notes = Vec::new();
    for (field, label, stays_open) in NOTES {
        // An attempt whose tests failed has taught something too, so all of them count, the first one first.
        let of = |told: &&Map<String, Value>| told.get(field).and_then(Value::as_array).cloned();
        let found: Vec<Value> = told.iter().rev().filter_map(of).flatten().collect();
        for (index, note) in found.iter().enumerate() {
            let word = |field: &str| note.get(field).and_then(Value::as_str).unwrap_or_default();
            let body = format!("{}\n\n{}", word("text"), origin(run));
            notes.push(Filing {
                kind: label,
                item: NewItem {
                    is_closed: !stays_open,
                    ..titled(word("title"), body, &[label, "warp-drive"])
                },
                title: word("title").to_owned(),
                marker: key(run, &format!("{label}-{}-{index}", run.chunk.index)),
                is_told_once: false,
            });
        }
    }
    notes.into_iter()
}

/// Returns what people have decided about the issue so far.
fn answers(run: &Run) -> impl Iterator<Item = Filing> {
    run.facts.questions_about_issue().rev().filter_map(|asked| {
        let option = asked.option()?;
        let (question, note) = (asked.word("question"), asked.said("note").unwrap_or_default());
        let body = format!("{question}\n\nDecided: {option}\n{note}\n\n{}", origin(run));
        let title = format!("{question}: {option}");
        Some(Filing {
            kind: "decision",
            item: NewItem { is_closed: true, ..titled(&title, body, &["decision", "warp-drive"]) },
            title: option.to_owned(),
            marker: format!("decision:{}", asked.word("decision")),
            is_told_once: true,
        })
    })
}

/// Describes the chunk that was just committed.
fn chunk(run: &Run, summary: Option<&str>, size: &str) -> String {
    let mut text = String::new();
    if let Some(summary) = summary {
        text.push_str(&format!("{}\n\n", summary.trim()));
    }
    if let Some(commit) = run.commit_hashes.last() {
        text.push_str(&format!("Commit: {commit}{size}\n"));
    }
    text.push_str(&format!("Run: {}\n\n## Criteria\n\n", run.id));
    for criterion in run.current_criteria() {
        text.push_str(&format!("- {criterion}: {}\n", run.criterion_text(criterion)));
    }
    let cycles = run.counter("coding_cycles");
    if cycles > 0 {
        let times = counted(cycles, "time", "times");
        text.push_str(&format!("\nThe tests failed {times} on the way.\n"));
    }
    text.push_str(&checks(run.objections_here()));
    text.push_str(&accepted(run));
    if !run.doom_loop_events.is_empty() {
        text.push_str("\n## Files that were edited again and again\n\n");
        for event in &run.doom_loop_events {
            text.push_str(&format!(
                "- {} ({} in {})\n",
                event.file,
                counted(event.count, "time", "times"),
                event.phase
            ));
        }
    }
    text
}

fn origin(run: &Run) -> String {
    let issue = run.issue.as_deref().map(|issue| format!(" of #{issue}")).unwrap_or_default();
    format!("From chunk {}{issue}, run {}.\n", run.chunk.index, run.id)
}
