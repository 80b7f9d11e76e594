//! The status of a run: what phase it is in, how far it has come, who carries it on.

use std::{borrow::Cow, fmt::Write as _};

use serde::Serialize;

use super::{Asked, asked};
use crate::{
    Baseline, DevKind, DevSeen, Effect, PhaseName, Run, Standing, Time, TimeFormat, Trip, Usage, Workflow,
    workflow::DEFAULT,
};

/// Whether the process that owns a run is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Owned {
    Live,
    Stale,
}

/// What `warp status --json` prints.
#[derive(Debug, Serialize)]
pub struct Status<'a> {
    pub version: u32,
    pub project: &'a str,
    pub run: &'a str,
    pub workflow: &'a str,
    pub phase: &'a PhaseName,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase_reason: Option<&'a str>,
    pub standing: &'a Standing,
    /// What a person is asked, by whatever way.
    pub asked: Option<Asked>,
    pub issue: Option<&'a str>,
    pub feature: Option<&'a str>,
    /// The branch of the work; of an open run, the one that its workspace is on now.
    pub branch: Cow<'a, str>,
    pub level: u64,
    pub chunk: u64,
    pub chunks: usize,
    pub commits: u64,
    pub chunks_completed: u64,
    pub tests_run: u64,
    pub reports_filed: u64,
    pub chunks_deferred: usize,
    #[serde(skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dev: Option<&'a DevSeen>,
    /// How the project's tests ended before an agent changed anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<&'a Baseline>,
    pub started_at: Time,
    pub phase_started_at: Time,
    pub deadline: Option<Time>,
    pub budget: Option<&'a Trip>,
    pub effect: Option<&'a Effect>,
    pub pid: u32,
    pub owner: Owned,
    pub events: u64,
    pub root: &'a str,
    /// What holds an agent to its phase here.
    pub rails: &'a str,
    /// Set when `warp run` carries it on, in a workspace of the run's own.
    #[serde(skip)]
    pub is_driven: bool,
    #[serde(skip)]
    pub works_in_chunks: bool,
    #[serde(skip)]
    pub is_over_budget: bool,
}

/// Makes the status of a run.
pub fn status<'a>(
    workflow: &Workflow,
    run: &'a Run,
    project: &'a str,
    owner: Owned,
    rails: &'a str,
) -> Status<'a> {
    Status {
        version: 1,
        project,
        run: run.id.as_str(),
        workflow: &run.workflow,
        phase: &run.phase,
        phase_reason: run.phase_reason.as_deref(),
        standing: &run.standing,
        asked: asked(workflow, run),
        issue: run.issue.as_deref(),
        feature: run.feature.as_deref(),
        branch: Cow::Borrowed(&run.branches.branch),
        level: run.level,
        chunk: run.chunk.index,
        chunks: run.chunk.acs.len(),
        commits: run.metrics.commits,
        chunks_completed: run.metrics.chunks_completed,
        tests_run: run.metrics.tests_run,
        reports_filed: run.metrics.reports_filed,
        chunks_deferred: run.deferred.len(),
        usage: run.usage,
        // What went wrong stays; a server ends with whoever keeps it.
        dev: run.dev.as_ref().filter(|dev| owner == Owned::Live || dev.kind == DevKind::Failed),
        baseline: run.baseline.as_deref(),
        started_at: run.started_at,
        phase_started_at: run.phase_started_at,
        deadline: run.deadline(workflow),
        budget: run.trip.as_ref(),
        effect: run.effect.as_ref(),
        pid: run.owner.pid,
        owner,
        events: run.events,
        root: &run.root,
        rails,
        is_driven: run.owns_workspace,
        works_in_chunks: workflow.works_in_chunks(),
        is_over_budget: workflow.decides_on_budgets(&run.phase),
    }
}

/// Writes a status as people read it.
pub fn render_status(status: &Status<'_>, write: TimeFormat) -> String {
    let title = match (status.standing, &status.asked) {
        (Standing::Active, _) if status.owner == Owned::Live => "WARP DRIVE ACTIVE".to_owned(),
        (Standing::Active, None) if status.is_driven => {
            format!("INTERRUPTED: `warp run {}` resumes", status.issue.unwrap_or(status.run))
        }
        (Standing::Active, None) => "INTERRUPTED: the next session here resumes".to_owned(),
        (Standing::Active | Standing::Parked { .. }, Some(asked)) => {
            format!("WARP DRIVE WAITING FOR A DECISION ({})", asked.id)
        }
        (Standing::Parked { decision }, None) => {
            format!("WARP DRIVE WAITING FOR A DECISION ({})", decision.id)
        }
        (Standing::Suspended { wait }, _) => format!("WARP DRIVE WAITING ({})", wait.text(write)),
        (Standing::Stopped, _) => "WARP DRIVE STOPPED".to_owned(),
        (Standing::Ended { how }, _) => format!("WARP DRIVE ENDED ({how})"),
    };
    let mut text = format!("{title}\n");
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            writeln!(text, "{name}: {value}").expect("writing to a string cannot fail");
        }
    };
    line("Project", status.project);
    if status.workflow != DEFAULT {
        line("Workflow", status.workflow);
    }
    let reason = status.phase_reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    line("Phase", &format!("{}{reason}", status.phase));
    line("Issue", status.issue.unwrap_or(""));
    line("Feature", status.feature.unwrap_or(""));
    line("Branch", &status.branch);
    if status.works_in_chunks {
        line("Level", &status.level.to_string());
        line("Chunk", &format!("{} / {}", status.chunk, status.chunks));
        let counts = format!(
            "{} Chunks: {} Tests: {} Reports: {}",
            status.commits, status.chunks_completed, status.tests_run, status.reports_filed
        );
        line("Commits", &counts);
    }
    if let Some(trip) = status.budget.filter(|_| status.is_over_budget) {
        line("Exceeded", &format!("{} (from {})", trip.reasons.join(", "), trip.from_phase));
    }
    if status.chunks_deferred > 0 {
        let chunks = if status.chunks_deferred == 1 { "chunk" } else { "chunks" };
        line("Skipped", &format!("{} {chunks}", status.chunks_deferred));
    }
    if !status.usage.is_zero() {
        line("Used", &status.usage.to_string());
    }
    if let Some(baseline) = status.baseline {
        line("Baseline", &baseline.to_string());
    }
    if let Some(dev) = status.dev {
        line("Dev", dev.text.lines().next().unwrap_or_default());
    }
    if let Some(asked) = &status.asked {
        line("Question", &asked.question);
        let commands = asked.command_lines();
        let commands: String = commands.lines().map(|command| format!("\n  {command}")).collect();
        line("Answer with", commands.trim_end());
    }
    line("Started", &write(status.started_at));
    let gone = if status.owner == Owned::Stale { " (not running)" } else { "" };
    line("PID", &format!("{}{gone}", status.pid));
    line("Rails", status.rails);
    text
}

impl Run {
    /// Returns when the current phase is due to end. The clocks of a run that waits for what ends by itself stand still.
    pub fn deadline(&self, workflow: &Workflow) -> Option<Time> {
        if let Standing::Suspended { .. } = self.standing {
            return None;
        }
        let deadline = workflow.phase(&self.phase)?.deadline.as_ref()?;
        Some(self.phase_started_at.plus_minutes(deadline.minutes.value(&self.settings)))
    }
}
