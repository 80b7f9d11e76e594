//! How issues and pull requests are shown.

use std::sync::Arc;

use engine::{Actor, ledger::dollars};
use forge::{Item, ItemId, ItemState, Pull, Query, Readiness, Review, Round, readiness};
use project::{
    Taken, Workspace,
    pull_work::{Met, PullWork, PullWorkError},
};
use serde_json::{Value, json};

use crate::{error::CommandError, exit::Exit, local_time, output};

/// The longest title in a table, in characters.
const LONGEST_TITLE: usize = 60;

/// Which items are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum State {
    Open,
    Closed,
    All,
}

impl State {
    /// Returns what is asked for; closed ones are not read unless they are wanted.
    pub(super) fn query(self) -> Query<'static> {
        match self {
            Self::Open => Query::Open,
            Self::Closed | Self::All => Query::All,
        }
    }

    /// Tells whether an item that was found is wanted.
    pub(super) fn is_meant(self, item: &Item) -> bool {
        self != Self::Closed || !item.is_open()
    }
}

/// Prints an issue or a pull request.
pub(super) fn show(workspace: &mut Workspace, number: ItemId, as_json: bool) -> Result<(), CommandError> {
    let tracker = workspace.tracker();
    let item = tracker.get(number)?;
    let readiness = readiness(&*tracker, number)?;
    let item = match &item.approved_by {
        None if item.pull.is_none() => {
            Arc::new(Item { approved_by: tracker.approval(&item)?, ..Item::clone(&item) })
        }
        Some(_) | None => item,
    };
    let taken = workspace.all_taken()?.remove(&number);
    if as_json {
        let mut shown = json(&item, &readiness, taken.as_ref());
        if item.pull.is_some() {
            shown["work"] = json!(workspace.pull_work(&item)?);
        }
        return output::print_json(&shown);
    }
    let commits = jobs::on(workspace).pull_commits(&item)?;
    let work = item.pull.is_some().then(|| workspace.pull_work(&item)).transpose()?;
    output::print(&page(&item, &commits, work.as_ref(), &readiness, taken.as_ref()))
}

/// Returns the pull request that a person means by its own number or by that of its issue.
pub(super) fn pull(workspace: &mut Workspace, number: ItemId) -> Result<Arc<Item>, CommandError> {
    let item = workspace.tracker().get(number)?;
    if item.pull.is_some() {
        return Ok(item);
    }
    if let Some(pull) = jobs::on(workspace).pull_about(number)? {
        return Ok(workspace.forge().get(pull)?.0);
    }
    let error = CommandError::new(Exit::Refused, format!("#{number} is an issue, and has no pull request"));
    Err(error.hint(format!("`warp explain {number}` says where it is")))
}

pub(super) fn line(item: &Item) -> String {
    format!("#{} {}", item.id, item.title)
}

pub(super) fn labels(item: &Item) -> String {
    item.labels.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Tells whether an issue says nothing about when it is done. What warp files itself, and what gathers other issues, need not.
pub(super) fn lacks_criteria(item: &Item) -> bool {
    let is_meant = item.pull.is_none() && item.is_open() && !item.is_capability();
    is_meant && item.author.actor == Actor::Person && item.boxes().items.is_empty()
}

/// Says what happens to an issue without criteria, and what to do about it.
pub(super) fn without_criteria(number: ItemId) -> String {
    format!(
        "#{number} has no `- [ ]` criteria: `warp run {number}` has the agent propose some and asks you about them; \
         `warp issue edit {number} --body-file FILE` adds your own"
    )
}

/// An issue in a table: number, standing, criteria, title, labels.
pub(super) fn row(item: &Item, readiness: &Readiness, taken: Option<&Taken>) -> [String; 5] {
    let boxes = item.boxes();
    let criteria = match boxes.items.len() {
        0 if lacks_criteria(item) => "no criteria".to_owned(),
        0 => "-".to_owned(),
        all => format!("{}/{all}", boxes.checked()),
    };
    let standing = match (taken, readiness) {
        (Some(taken), _) => taken.to_string(),
        (None, Readiness::NotARequirement) => "open".to_owned(),
        (None, Readiness::Cycle { .. }) => "in a cycle".to_owned(),
        (
            None,
            Readiness::Ready
            | Readiness::Missing
            | Readiness::Closed
            | Readiness::NotApproved
            | Readiness::Met
            | Readiness::Blocked { .. },
        ) => readiness.to_string(),
    };
    [format!("#{}", item.id), standing, criteria, title(item), labels(item)]
}

/// A pull request in a table: number, standing, branches, title, issue.
pub(super) fn pull_row(item: &Item) -> [String; 5] {
    let (branches, issue) = item.pull.as_ref().map_or_else(Default::default, |pull| {
        let issue = pull.issue.map(|issue| format!("for #{issue}")).unwrap_or_default();
        (format!("{} -> {}", pull.branch, pull.target), issue)
    });
    [format!("#{}", item.id), pull_standing(item).to_owned(), branches, title(item), issue]
}

fn pull_standing(item: &Item) -> &'static str {
    match (&item.pull, item.state) {
        (Some(pull), _) if pull.merged.is_some() => "merged",
        (_, ItemState::Closed) => "closed",
        (Some(pull), ItemState::Open) => match pull.review {
            Review::Pending => "waits for review",
            Review::Approved => "approved",
            Review::ChangesRequested => "changes requested",
        },
        (None, ItemState::Open) => "open",
    }
}

fn title(item: &Item) -> String {
    if item.title.chars().count() <= LONGEST_TITLE {
        return item.title.clone();
    }
    let cut: String = item.title.chars().take(LONGEST_TITLE - 1).collect();
    format!("{}…", cut.trim_end())
}

/// Sets rows into columns.
pub(super) fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn page(
    item: &Item,
    commits: &[String],
    work: Option<&PullWork>,
    readiness: &Readiness,
    taken: Option<&Taken>,
) -> String {
    let mut text = format!("{}\n", line(item));
    let standing = match &item.pull {
        Some(_) => pull_standing(item).to_owned(),
        None if item.is_open() => {
            format!("open, {}", taken.map_or_else(|| readiness.to_string(), Taken::to_string))
        }
        None => "closed".to_owned(),
    };
    let because = item.closed_because.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    text.push_str(&format!("{standing}{because}\n"));
    if let Some(pull) = &item.pull {
        text.push_str(&format!("{} -> {} at {}", pull.branch, pull.target, pull.head));
        text.push_str(&pull.issue.map(|issue| format!(", for #{issue}")).unwrap_or_default());
        text.push_str(
            &pull.merged.as_ref().map(|commit| format!(", merged as {commit}")).unwrap_or_default(),
        );
        text.push('\n');
        commits.iter().for_each(|commit| text.push_str(&format!("  {commit}\n")));
        text.push_str(&rounds(pull));
        text.push_str(&work.map(offered).unwrap_or_default());
    }
    if !item.labels.is_empty() {
        text.push_str(&format!("labels: {}\n", labels(item)));
    }
    text.push_str(&format!("opened by {} at {}", item.author.name, local_time::minute(item.opened_at)));
    text.push_str(&item.approved_by.as_ref().map(|who| format!(", approved by {who}")).unwrap_or_default());
    text.push_str(&item.assignee.as_ref().map(|who| format!(", assigned to {who}")).unwrap_or_default());
    text.push('\n');
    if !item.body.trim().is_empty() {
        text.push_str(&format!("\n{}\n", item.body.trim_end()));
    }
    for comment in &item.comments {
        let (who, at) = (&comment.author.name, local_time::minute(comment.at));
        text.push_str(&format!("\n-- {who} at {at}\n{}\n", comment.text.trim_end()));
    }
    if lacks_criteria(item) {
        text.push_str(&format!("\n{}\n", without_criteria(item.id)));
    }
    if *readiness == Readiness::NotApproved {
        text.push_str(&format!("\n`warp issue approve {}` lets it be worked on\n", item.id));
    }
    text
}

/// Says what a pull request comes to.
fn offered(work: &PullWork) -> String {
    let mut text = String::new();
    if !work.criteria.is_empty() {
        text.push_str("criteria:\n");
    }
    for Met { name, text: words, evidence } in &work.criteria {
        text.push_str(&format!("  {}\n", format!("{name} {words}").trim_end()));
        let evidence =
            if evidence.is_empty() { "no evidence was given".to_owned() } else { evidence.join(", ") };
        text.push_str(&format!("    {evidence}\n"));
    }
    if !work.changes.trim().is_empty() {
        text.push_str("changes:\n");
        work.changes.lines().for_each(|line| text.push_str(&format!("  {}\n", line.trim())));
    }
    if let Some(commit) = &work.tested {
        let commit = commit.get(..7).unwrap_or(commit);
        let named = match work.tests {
            0 => String::new(),
            tests => format!(" ({})", project::counted(tests as u64, "test by name", "tests by name")),
        };
        text.push_str(&format!("tests: passed on {commit}{named}\n"));
    }
    let cost = work.spent.as_ref().map_or("nothing metered".to_owned(), |spent| dollars(spent.micro_usd));
    text.push_str(&format!("cost: {cost}\n"));
    text
}

/// Lists what a pull request has offered, if that was more than once, and what reviewers said.
fn rounds(pull: &Pull) -> String {
    if pull.rounds.len() < 2 {
        return String::new();
    }
    let row = |(index, round): (usize, &Round)| {
        let said = match &round.review {
            Some((Review::ChangesRequested, by)) => format!("changes requested by {by}"),
            Some((Review::Approved, by)) => format!("approved by {by}"),
            Some((Review::Pending, _)) | None => "not reviewed".to_owned(),
        };
        format!("round {}: {} at {}, {said}\n", index + 1, round.head, local_time::minute(round.at))
    };
    pull.rounds.iter().enumerate().map(row).collect()
}

/// An item as machines read it.
pub(super) fn json(item: &Item, readiness: &Readiness, taken: Option<&Taken>) -> Value {
    let boxes = item.boxes();
    let criteria: Vec<Value> = boxes
        .items
        .iter()
        .enumerate()
        .map(|(index, (ticked, text))| json!({ "id": engine::criterion(index), "ticked": ticked, "text": text }))
        .collect();
    let comments: Vec<Value> = item
        .comments
        .iter()
        .map(|comment| json!({ "author": comment.author, "at": comment.at, "text": comment.text }))
        .collect();
    json!({
        "number": item.id,
        "title": item.title,
        "body": item.body,
        "state": item.state,
        "closed_because": item.closed_because,
        "readiness": item.pull.is_none().then(|| readiness.to_string()),
        "taken": taken.map(Taken::to_string),
        "labels": item.labels,
        "author": item.author,
        "assignee": item.assignee,
        "approved_by": item.approved_by,
        "criteria": criteria,
        "depends_on": item.depends_on(),
        "comments": comments,
        "pull": item.pull,
        "opened_at": item.opened_at,
        "updated_at": item.updated_at,
    })
}

impl From<PullWorkError> for CommandError {
    fn from(error: PullWorkError) -> Self {
        match error {
            PullWorkError::Failed(error) => error.into(),
            PullWorkError::Ledger(error) => error.into(),
        }
    }
}
