//! The lines at the bottom of a terminal that change: where the run is, what its budgets hold, what the agent does.

use std::time::{Duration, Instant};

use adapters::{
    agent::{AgentUpdate, Notice},
    machine,
};
use engine::{Run, Time, Workflow, view};
use rustix::termios::tcgetwinsize;

/// How often the lines are drawn anew when nothing happens.
const EVERY: Duration = Duration::from_millis(500);
/// How wide a bar is.
const BAR: usize = 8;
/// How wide a terminal is that does not say.
const WIDTH: usize = 80;

/// The changing part.
#[derive(Default)]
pub(super) struct Block {
    /// How many lines of it are on the screen.
    drawn: usize,
    at: Option<Instant>,
    run: Option<Snapshot>,
    /// What the agent does, since when.
    doing: Option<(String, Instant)>,
    tokens: u64,
    /// Set while a person types an answer: what they type must not be drawn over.
    rests: bool,
}

/// What of a run the lines show.
struct Snapshot {
    title: String,
    started_at: Time,
    phase_started_at: Time,
    budgets: Vec<(String, u64, u64)>,
    used: String,
}

impl Block {
    pub(super) fn follow(&mut self, run: &Run, workflow: &Workflow) {
        let mut title = run.issue.as_deref().map_or_else(|| run.id.to_string(), |issue| format!("#{issue}"));
        title.push_str(&format!("  {}", run.phase));
        if !run.chunk.acs.is_empty() {
            title.push_str(&format!("  chunk {}/{}", run.chunk.index, run.chunk.acs.len()));
        }
        let explained = view::explain(workflow, run, machine::now());
        let budgets = explained.budgets.into_iter().filter(|budget| budget.limit > 0);
        let used = if run.usage.is_zero() { String::new() } else { run.usage.to_string() };
        self.run = Some(Snapshot {
            title,
            started_at: run.started_at,
            phase_started_at: run.phase_started_at,
            budgets: budgets.map(|budget| (budget.reason, budget.used, budget.limit)).collect(),
            used,
        });
        self.doing = None;
        self.tokens = 0;
        self.rests = false;
    }

    /// Stays off the screen until something happens.
    pub(super) fn rest(&mut self) {
        self.rests = true;
    }

    pub(super) fn hear(&mut self, said: &AgentUpdate) {
        match said {
            AgentUpdate::Tool { name, about } => {
                self.doing = Some((format!("{name}: {about}"), Instant::now()))
            }
            AgentUpdate::Usage(usage) => {
                self.tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
            }
            AgentUpdate::Text(_) => self.doing = Some(("thinks".to_owned(), Instant::now())),
            AgentUpdate::Session(_)
            | AgentUpdate::Model(_)
            | AgentUpdate::Notice(_)
            | AgentUpdate::Tick(_) => {}
        }
    }

    /// Shows what the agent is held up by.
    pub(super) fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Retry { .. } | Notice::Wait { .. } => {
                self.doing = Some((notice.to_string(), Instant::now()));
            }
            Notice::Refused { .. } | Notice::Silent { .. } => {}
        }
    }

    /// Returns what takes the lines off the screen.
    pub(super) fn erase(&mut self) -> String {
        let lines = std::mem::take(&mut self.drawn);
        if lines == 0 { String::new() } else { format!("\x1b[{lines}A\r\x1b[J") }
    }

    /// Returns the lines.
    pub(super) fn draw(&mut self) -> String {
        let Some(run) = self.run.as_ref().filter(|_| !self.rests) else { return String::new() };
        let now = machine::now();
        let mut lines = vec![format!(
            "{}  {} in this phase, {} in all",
            run.title,
            span(now.millis_since(run.phase_started_at)),
            span(now.millis_since(run.started_at))
        )];
        let bars: Vec<String> = run
            .budgets
            .iter()
            .map(|(name, used, limit)| format!("{} {}", plain(name), bar(*used, *limit)))
            .collect();
        let mut bars = bars.into_iter().filter(|bar| !bar.contains(" 0/")).collect::<Vec<_>>();
        if !run.used.is_empty() {
            bars.push(run.used.clone());
        }
        if self.tokens > 0 {
            bars.push(format!("{} tokens in this turn", self.tokens));
        }
        let width = width();
        lines.extend(packed(&bars, width));
        if let Some((doing, since)) = &self.doing {
            let seconds = i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX);
            lines.push(format!("  {doing} ({})", span(seconds)));
        }
        let cut = |line: &String| {
            line.chars().filter(|c| !engine::is_deceptive(*c)).take(width - 1).collect::<String>()
        };
        let lines: Vec<String> = lines.iter().map(cut).collect();
        self.drawn = lines.len();
        self.at = Some(Instant::now());
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Returns how long the lines stay as they are; for ever while they are off the screen.
    pub(super) fn redraws(&self) -> Option<Duration> {
        (self.run.is_some() && !self.rests).then_some(EVERY)
    }

    /// Returns what draws the lines anew, if they have been there for a while.
    pub(super) fn redraw(&mut self) -> Option<String> {
        if self.rests || self.at.is_some_and(|at| at.elapsed() < EVERY) {
            return None;
        }
        let erased = self.erase();
        Some(format!("{erased}{}", self.draw()))
    }
}

/// Returns how wide the terminal is.
pub(super) fn width() -> usize {
    let size = tcgetwinsize(std::io::stdout()).map(|size| usize::from(size.ws_col));
    size.ok().filter(|width| *width > 0).unwrap_or(WIDTH).max(20)
}

/// Names a budget by what it counts, not by its end.
fn plain(reason: &str) -> String {
    let ends = ["_exceeded", "_exhausted", "_timeout"];
    ends.iter().find_map(|end| reason.strip_suffix(end)).unwrap_or(reason).replace('_', " ")
}

/// Puts as many parts into a line as fit.
fn packed(parts: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + part.chars().count() < width => {
                line.push_str(&format!("  {part}"));
            }
            Some(_) | None => lines.push(format!("  {part}")),
        }
    }
    lines
}

fn bar(used: u64, limit: u64) -> String {
    let share = usize::try_from(used.saturating_mul(BAR as u64) / limit.max(1)).unwrap_or(BAR).min(BAR);
    format!("{used}/{limit} [{}{}]", "#".repeat(share), ".".repeat(BAR - share))
}

/// Writes a span of time in two parts at most.
pub(crate) fn span(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_never_longer_than_it_is() {
        assert_eq!(bar(0, 3), "0/3 [........]");
        assert_eq!(bar(2, 4), "2/4 [####....]");
        assert_eq!(bar(9, 3), "9/3 [########]");
    }

    #[test]
    fn budgets_are_named_by_what_they_count_and_share_lines() {
        assert_eq!(["coding_cycles_exceeded", "no_progress"].map(plain), ["coding cycles", "no progress"]);
        let parts = ["12345678", "1234", "123456789012345678901"].map(str::to_owned);
        assert_eq!(packed(&parts, 20), ["  12345678  1234", "  123456789012345678901"]);
    }

    #[test]
    fn spans_have_two_parts_at_most() {
        assert_eq!([4_000, 64_000, 3_725_000].map(span), ["4s", "1m04s", "1h02m"]);
    }
}
