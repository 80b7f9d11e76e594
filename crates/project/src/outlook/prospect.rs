//! What `warp run` would do now.

use engine::view::{Asked, asked};
use forge::{ItemId, Readiness};
use serde::Serialize;

use super::{Remedy, words};
use crate::{Current, Error, Queued, Workspace, why_nothing};

/// What `warp run` would do now, and why nothing else.
#[derive(Debug, Serialize)]
pub struct Prospect {
    pub version: u32,
    pub project: String,
    #[serde(flatten)]
    pub would: Would,
    /// Every open requirement in the order in which they are taken.
    pub queue: Vec<Place>,
}

/// What `warp run` would do.
#[derive(Debug, Serialize)]
#[serde(tag = "would", rename_all = "snake_case")]
pub enum Would {
    GoOn {
        run: String,
        issue: Option<String>,
        phase: String,
        /// What has to be answered first, if it waits for that.
        asked: Option<Asked>,
    },
    Take {
        issue: ItemId,
        title: String,
    },
    Nothing {
        why: String,
    },
}

/// An issue in the queue.
#[derive(Debug, Serialize)]
pub struct Place {
    pub issue: ItemId,
    pub title: String,
    /// Why it is not taken now, or that it is next.
    pub is: String,
}

impl Workspace {
    /// Says what `warp run` would do now.
    pub fn prospect(&mut self) -> Result<Prospect, Error> {
        let project = self.place.name();
        let unfinished = self.unfinished()?;
        let queue = self.queue()?;
        let would = match (&unfinished, queue.iter().find(|queued| queued.is_free())) {
            (Some(Current { run, workflow, .. }), _) => Would::GoOn {
                run: run.id.to_string(),
                issue: run.issue.clone(),
                phase: run.phase.to_string(),
                asked: asked(workflow, run),
            },
            (None, Some(Queued { candidate, .. })) => {
                Would::Take { issue: candidate.item.id, title: candidate.item.title.clone() }
            }
            (None, None) => Would::Nothing { why: why_nothing(&queue) },
        };
        let next = match &would {
            Would::Take { issue, .. } => Some(*issue),
            Would::GoOn { .. } | Would::Nothing { .. } => None,
        };
        let queue = queue.iter().map(|queued| place(queued, next)).collect();
        Ok(Prospect { version: 1, project, would, queue })
    }
}

fn place(queued: &Queued, next: Option<ItemId>) -> Place {
    let item = &queued.candidate.item;
    let is_next = next == Some(item.id);
    let is = match (&queued.candidate.readiness, &queued.taken, queued.rework) {
        (_, None, Some(pull)) => {
            format!("{}pull request #{pull} waits for changes", if is_next { "next: " } else { "" })
        }
        (Readiness::Ready, None, None) if is_next => "next".to_owned(),
        (Readiness::Ready | Readiness::Met, Some(taken), _) => taken.to_string(),
        (readiness, _, _) => readiness.to_string(),
    };
    Place { issue: item.id, title: item.title.clone(), is }
}

impl Prospect {
    /// Writes the prospect as people read it.
    pub fn render(&self) -> String {
        let mut text = match &self.would {
            Would::GoOn { run, issue, phase, asked } => {
                let about = issue.as_ref().map(|issue| format!(" issue {issue}")).unwrap_or_default();
                let why = match asked {
                    Some(asked) => format!("once it is answered: {}", asked.inline_commands()),
                    None => "and its process has exited".to_owned(),
                };
                format!("`warp run` would resume{about}: run {run} stands in `{phase}`, {why}.\n")
            }
            Would::Take { issue, title } => format!("`warp run` would take issue {issue} ({title}).\n"),
            Would::Nothing { why } => format!("`warp run` would do nothing: {why}.\n"),
        };
        if self.queue.is_empty() {
            return text;
        }
        text.push_str("In this order:\n");
        let width = |of: fn(&Place) -> usize| self.queue.iter().map(of).max().unwrap_or(0);
        let (first, second) =
            (width(|place| place.issue.to_string().len()), width(|place| place.is.chars().count()));
        for Place { issue, title, is } in &self.queue {
            let number = format!("#{issue}");
            text.push_str(&format!("  {number:<first$}  {is:<second$}  {title}\n", first = first + 1));
        }
        let look = Remedy { command: "warp explain N".to_owned(), does: "says more about one".to_owned() };
        text.push_str(&words::steps(&[look]));
        text
    }
}
