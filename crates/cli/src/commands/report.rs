//! `warp report`: the night at a glance.

mod page;

use std::path::PathBuf;

use adapters::machine;
use engine::{Time, Usage, ledger::dollars};
use project::report::{Report, ReportError, RunReport, RunState};

use super::open;
use crate::{error::CommandError, exit::Exit, local_time, output};

/// How far back is looked where nobody says.
const HOURS: i64 = 12;

/// Show what became of every run: merged, ready for review, waiting for you, skipped, and what it cost
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Look back to then: 22:00, 2026-05-08, or how long ago, as 8h or 2d [default: 12h]
    #[arg(long, value_name = "TIME", value_parser = local_time::parse_since)]
    since: Option<Time>,
    /// Print a web page
    #[arg(long, conflicts_with = "json")]
    html: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    let since =
        arguments.since.unwrap_or_else(|| Time::from_millis(machine::now().millis() - HOURS * 3_600_000));
    let report = workspace.report(since)?;
    if arguments.json {
        output::print_json(&report)?;
    } else if arguments.html {
        output::print(&page::render(&report))?;
    } else {
        output::print(&render(&report))?;
    }
    Ok(Exit::Done)
}

/// The parts of a report, in the order in which somebody wants to read them.
const PARTS: &[Part] =
    &[Part::Waiting, Part::Review, Part::Interrupted, Part::Running, Part::Merged, Part::Other];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Waiting,
    Review,
    Interrupted,
    Running,
    Merged,
    Other,
}

impl Part {
    fn of(state: &RunState) -> Self {
        match state {
            RunState::WaitingForYou { .. } => Self::Waiting,
            RunState::ReadyForReview { .. } => Self::Review,
            RunState::Interrupted { .. } => Self::Interrupted,
            RunState::Running { .. } => Self::Running,
            RunState::Merged { .. } => Self::Merged,
            RunState::Reverted | RunState::Stopped | RunState::Failed { .. } => Self::Other,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting for you",
            Self::Review => "Ready for review",
            Self::Interrupted => "Interrupted",
            Self::Running => "Running",
            Self::Merged => "Merged",
            Self::Other => "Stopped, failed or reverted",
        }
    }

    /// Returns the runs of a report that belong here.
    fn runs(self, report: &Report) -> Vec<&RunReport> {
        report.runs.iter().filter(|run| Self::of(&run.state) == self).collect()
    }
}

/// Names what a run is about.
fn heading(run: &RunReport) -> String {
    let title = super::status::shortened_to(&run.title, 70);
    match &run.issue {
        Some(issue) => format!("#{issue} {title}"),
        None if title.is_empty() => run.run.clone(),
        None => title,
    }
}

/// Says what is so, and the command that comes next, if any.
fn state(run: &RunReport) -> (String, Option<String>) {
    let name = run.issue.as_deref().unwrap_or(&run.run);
    match &run.state {
        RunState::Merged { commit: Some(commit) } => {
            let commit = commit.get(..7).unwrap_or(commit);
            (format!("merged as {commit}"), None)
        }
        RunState::Merged { commit: None } => ("merged".to_owned(), None),
        RunState::Reverted => ("merged, and reverted since".to_owned(), None),
        RunState::ReadyForReview { pull } => {
            (format!("pull request #{pull}"), Some(format!("warp pr show {pull}")))
        }
        RunState::WaitingForYou { asked } => {
            let question = asked.question.lines().next().unwrap_or_default().to_owned();
            (question, Some(format!("warp answer {} {}", asked.id, asked.options.join("|"))))
        }
        RunState::Running { phase } => (format!("in {phase}"), Some(format!("warp status {name}"))),
        RunState::Interrupted { phase } => (format!("in {phase}"), Some(format!("warp run {name}"))),
        RunState::Stopped => ("stopped; its work is kept".to_owned(), Some(format!("warp explain {name}"))),
        RunState::Failed { phase } => (format!("ended in {phase}"), Some(format!("warp explain {name}"))),
    }
}

/// Says how much a run has done and what that took.
fn effort(run: &RunReport) -> String {
    let mut parts = Vec::new();
    if run.criteria > 0 {
        parts.push(project::counted(run.criteria as u64, "criterion met", "criteria met"));
    }
    parts.push(cost(&run.spent));
    parts.push(format!("{} min", run.updated_at.minutes_since(run.started_at)));
    parts.join(", ")
}

fn cost(spent: &Usage) -> String {
    if spent.is_zero() { "nothing metered".to_owned() } else { dollars(spent.micro_usd) }
}

/// Says in one line what the report comes to.
fn summary(report: &Report) -> String {
    let mut total = Usage::default();
    report.runs.iter().for_each(|run| total.add(&run.spent));
    let merged = Part::Merged.runs(report).len();
    let counts =
        PARTS.iter().map(|part| (part.title(), part.runs(report).len())).filter(|(_, count)| *count > 0);
    let mut parts: Vec<String> =
        counts.map(|(title, count)| format!("{} {count}", title.to_lowercase())).collect();
    parts.push(cost(&total));
    if merged > 0 && !total.is_zero() {
        parts.push(format!("{} per merged issue", dollars(total.micro_usd / merged as u64)));
    }
    parts.join(", ")
}

/// Says from when to when.
fn span(report: &Report) -> String {
    format!("{} to {}", local_time::minute(report.since), local_time::minute(report.until))
}

fn render(report: &Report) -> String {
    let mut text = format!("{}, {}\n", report.project, span(report));
    if report.runs.is_empty() {
        text.push_str("No run did anything in this time.\n");
        return text;
    }
    text.push_str(&format!("{}\n", summary(report)));
    for part in PARTS {
        let runs = part.runs(report);
        if runs.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{}:\n", part.title()));
        for run in runs {
            let (state, next) = state(run);
            text.push_str(&format!("  {}\n    {state} ({})\n", heading(run), effort(run)));
            for skipped in &run.skipped {
                text.push_str(&format!("    skipped {}: {}\n", skipped.criteria.join(", "), skipped.why));
            }
            if let Some(next) = next {
                text.push_str(&format!("    {next}\n"));
            }
        }
    }
    text
}

impl From<ReportError> for CommandError {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Failed(error) => error.into(),
            ReportError::Ledger(error) => error.into(),
        }
    }
}
