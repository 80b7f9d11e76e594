//! `warp report`: the night at a glance.

mod page;

use std::path::PathBuf;

use adapters::machine;
use engine::{
    Time, Usage,
    ledger::dollars,
    view::{AnswerCommand, Asked},
};
use forge::ItemId;
use project::{
    outlook::AtRemote,
    report::{Report, ReportError, RunReport, RunState},
};

use super::open;
use crate::{colour::Colour, error::CommandError, exit::Exit, local_time, output};

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
        output::print_painted(&render(&report), painted)?;
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
            RunState::Reverted
            | RunState::ClosedUnmerged { .. }
            | RunState::Stopped
            | RunState::Failed { .. } => Self::Other,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting for you",
            Self::Review => "Ready for review",
            Self::Interrupted => "Interrupted",
            Self::Running => "Running",
            Self::Merged => "Merged",
            Self::Other => "Stopped, failed, closed or reverted",
        }
    }

    fn colour(self) -> Colour {
        match self {
            Self::Waiting | Self::Review | Self::Interrupted => Colour::Waiting,
            Self::Running => Colour::Phase,
            Self::Merged => Colour::Good,
            Self::Other => Colour::Bad,
        }
    }

    /// Returns the runs of a report that belong here.
    fn runs(self, report: &Report) -> Vec<&RunReport> {
        report.runs.iter().filter(|run| Self::of(&run.state) == self).collect()
    }
}

/// Gives the title of a part its colour.
fn painted(line: &str) -> String {
    let part = PARTS.iter().find(|part| line.strip_suffix(':') == Some(part.title()));
    part.map_or_else(|| line.to_owned(), |part| part.colour().paint(line))
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

/// A command that may come next, and what it does where it does not say so itself.
#[derive(Debug, PartialEq, Eq)]
struct Next {
    command: String,
    does: Option<String>,
}

impl Next {
    fn new(command: String) -> Self {
        Self { command, does: None }
    }

    /// Returns the commands that answer a question.
    fn answers(asked: &Asked) -> Vec<Self> {
        let commands = asked.commands().into_iter();
        let does = |answer: &AnswerCommand<'_>| answer.is_numbered.then(|| answer.option.to_owned());
        commands.map(|answer| Self { does: does(&answer), command: answer.command }).collect()
    }
}

/// Says what is so, and the commands that may come next.
fn state(run: &RunReport) -> (String, Vec<Next>) {
    let name = run.issue.as_deref().unwrap_or(&run.run);
    let next = |verb: &str| vec![Next::new(format!("warp {verb} {name}"))];
    let look = |pull: &ItemId| vec![Next::new(format!("warp pr show {pull}"))];
    match &run.state {
        RunState::Merged { commit: Some(commit) } => {
            let commit = commit.get(..7).unwrap_or(commit);
            (format!("merged as {commit}"), Vec::new())
        }
        RunState::Merged { commit: None } => ("merged".to_owned(), Vec::new()),
        RunState::Reverted => ("merged, and reverted since".to_owned(), Vec::new()),
        RunState::ReadyForReview { pull } => (format!("pull request #{pull}"), look(pull)),
        RunState::ClosedUnmerged { pull } => {
            (format!("pull request #{pull} was closed without a merge"), look(pull))
        }
        RunState::WaitingForYou { asked } => {
            let question = asked.question.lines().next().unwrap_or_default().to_owned();
            (question, Next::answers(asked))
        }
        RunState::Running { phase } => (format!("in {phase}"), next("status")),
        RunState::Interrupted { phase } => (format!("in {phase}"), next("run")),
        RunState::Stopped => ("stopped; its work is kept".to_owned(), next("explain")),
        RunState::Failed { phase } => (format!("ended in {phase}"), next("explain")),
    }
}

/// Something to know before one relies on the work.
#[derive(Debug, PartialEq, Eq)]
struct Remark {
    text: String,
    /// Whether something is missing.
    warns: bool,
}

/// Says which parts of the work are missing, which tests, and where it is.
fn remarks(run: &RunReport) -> Vec<Remark> {
    let skipped =
        run.skipped.iter().map(|part| format!("skipped {}: {}", part.criteria.join(", "), part.why));
    let tests = run.tests.iter().map(|held| format!("tests removed or skipped: {held}"));
    let mut remarks: Vec<Remark> = skipped.chain(tests).map(|text| Remark { text, warns: true }).collect();
    remarks.extend(run.pushed.as_ref().map(|at| {
        let AtRemote { remote, branch, has_it } = at;
        let text = match has_it {
            true => format!("pushed: {remote} has it on `{branch}`"),
            false => format!("not pushed: `{}` pushes it", at.push()),
        };
        Remark { text, warns: !has_it }
    }));
    remarks
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

/// Says what the report comes to, and what a merged issue has cost.
fn summary(report: &Report) -> String {
    let (mut total, mut merged) = (Usage::default(), Usage::default());
    report.runs.iter().for_each(|run| total.add(&run.spent));
    let issues = Part::Merged.runs(report);
    issues.iter().for_each(|run| merged.add(&run.spent));
    let counts =
        PARTS.iter().map(|part| (part.title(), part.runs(report).len())).filter(|(_, count)| *count > 0);
    let mut parts: Vec<String> =
        counts.map(|(title, count)| format!("{} {count}", title.to_lowercase())).collect();
    parts.push(cost(&total));
    let mut text = parts.join(", ");
    let count = issues.len() as u64;
    if count > 0 && !total.is_zero() {
        text.push_str(&format!("\nper merged issue: {} for its own runs", dollars(merged.micro_usd / count)));
        if merged != total {
            let all = dollars(total.micro_usd / count);
            text.push_str(&format!(", {all} with what was spent on everything else"));
        }
    }
    text
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
            for remark in remarks(run) {
                text.push_str(&format!("    {}\n", remark.text));
            }
            let width = next.iter().map(|next| next.command.chars().count()).max().unwrap_or(0);
            for Next { command, does } in next {
                let line = format!("    {command:<width$}  {}", does.unwrap_or_default());
                text.push_str(&format!("{}\n", line.trim_end()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn run(state: RunState, dollars: u64) -> RunReport {
        RunReport {
            run: "r1".to_owned(),
            issue: Some("1".to_owned()),
            title: "Words".to_owned(),
            state,
            criteria: 1,
            skipped: Vec::new(),
            tests: vec!["words.test: removed".to_owned()],
            pushed: Some(AtRemote { remote: "origin".to_owned(), branch: "main".to_owned(), has_it: false }),
            spent: Usage { micro_usd: dollars * 1_000_000, ..Usage::default() },
            started_at: Time::from_millis(0),
            updated_at: Time::from_millis(60_000),
        }
    }

    #[test]
    fn a_merged_issue_costs_its_own_runs_and_with_failures_more() {
        let merged = |dollars| run(RunState::Merged { commit: None }, dollars);
        let failed = run(RunState::Failed { phase: "coding".to_owned() }, 3);
        let report = |runs| {
            let (since, until) = (Time::from_millis(0), Time::from_millis(0));
            Report { version: 1, project: "demo".to_owned(), since, until, runs }
        };
        assert_eq!(
            summary(&report(vec![merged(1), merged(2), failed])),
            "merged 2, stopped, failed, closed or reverted 1, $6.00\n\
             per merged issue: $1.50 for its own runs, $3.00 with what was spent on everything else"
        );
        assert_eq!(
            summary(&report(vec![merged(1)])),
            "merged 1, $1.00\nper merged issue: $1.00 for its own runs"
        );
    }

    #[test]
    fn what_is_missing_of_a_run_is_said_beside_it() {
        let remarks = remarks(&run(RunState::Stopped, 0));
        let texts: Vec<&str> = remarks.iter().map(|remark| remark.text.as_str()).collect();
        assert_eq!(
            texts,
            ["tests removed or skipped: words.test: removed", "not pushed: `git push origin main` pushes it"]
        );
    }
}
