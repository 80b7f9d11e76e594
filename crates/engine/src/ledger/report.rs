//! What was spent, added up by something, for people and programs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Usage;

use super::Line;

/// What a report adds up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    Phase,
    Chunk,
    Role,
    Model,
    Agent,
    Issue,
    Run,
    Day,
    Project,
}

/// Sums, the largest first; those of days and chunks in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    pub rows: Vec<Row>,
    pub total: Row,
}

/// One sum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What the sum is of; empty where what was spent has none.
    pub name: String,
    #[serde(flatten)]
    pub usage: Usage,
    pub requests: u64,
    /// Requests that are under way, or were never booked to their end: they count as estimated.
    pub open: u64,
    /// Requests whose usage was never told: they count at their upper bound.
    pub bounded: u64,
    /// What of it only an agent's word stands for, in tokens.
    pub unmetered_tokens: u64,
    /// What of the money is at a price that is not known.
    pub estimated_micro_usd: u64,
}

impl By {
    fn name<'a>(self, line: &Line<'a>) -> std::borrow::Cow<'a, str> {
        let tags = line.tags;
        match self {
            Self::Phase => tags.phase.as_str().into(),
            Self::Chunk => if tags.chunk == 0 { String::new() } else { tags.chunk.to_string() }.into(),
            Self::Role => tags.role.as_deref().unwrap_or_default().into(),
            Self::Model => line.model.into(),
            Self::Agent => tags.agent.as_str().into(),
            Self::Issue => tags.issue.as_deref().unwrap_or_default().into(),
            Self::Run => tags.run.as_str().into(),
            Self::Day => line.day.into(),
            Self::Project if tags.project_name.is_empty() => tags.project.as_str().into(),
            Self::Project => tags.project_name.as_str().into(),
        }
    }
}

impl Report {
    /// Adds up.
    pub fn of<'a>(lines: impl IntoIterator<Item = Line<'a>>, by: By) -> Self {
        let mut rows: BTreeMap<(u64, String), Row> = BTreeMap::new();
        let mut total = Row::default();
        for line in lines {
            let name = by.name(&line);
            // Chunks are in the order of their numbers.
            let place = if by == By::Chunk { line.tags.chunk } else { 0 };
            let row = rows.entry((place, name.clone().into_owned())).or_default();
            row.name = name.into_owned();
            row.add(&line);
            total.add(&line);
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        if !matches!(by, By::Day | By::Chunk) {
            rows.sort_by_key(|row| std::cmp::Reverse((row.usage.micro_usd, row.usage.tokens())));
        }
        Self { rows, total }
    }
}

impl Row {
    fn add(&mut self, line: &Line<'_>) {
        self.usage.add(&line.usage);
        self.requests += 1;
        self.open += u64::from(line.is_open);
        self.bounded += u64::from(line.is_bound);
        if line.is_unmetered {
            self.unmetered_tokens = self.unmetered_tokens.saturating_add(line.usage.tokens());
        }
        if line.is_price_estimated {
            self.estimated_micro_usd = self.estimated_micro_usd.saturating_add(line.usage.micro_usd);
        }
    }
}

/// Writes an amount in dollars, rounded up to the cent.
pub fn dollars(micro_usd: u64) -> String {
    let cents = micro_usd.div_ceil(10_000);
    format!("${}.{:02}", cents / 100, cents % 100)
}
