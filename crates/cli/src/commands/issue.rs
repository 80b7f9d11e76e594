use std::path::{Path, PathBuf};

use engine::Actor;
use forge::{
    Author, Edit, ForgeError, IssueFile, Item, ItemId, NewItem, Readiness, Refusal, import, readiness,
};
use project::{Workspace, actor, person_in, read_markdown};

use super::{
    items::{self, State},
    open,
};
use crate::{error::CommandError, exit::Exit, output};

/// File, list, show and change the issues of this project
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// File an issue; one with `- [ ]` criteria is labelled `req`
    New {
        /// The title, in one line
        #[arg(long, value_name = "TEXT")]
        title: String,
        /// The text, in Markdown
        #[arg(long, value_name = "TEXT", conflicts_with = "body_file", allow_hyphen_values = true)]
        body: Option<String>,
        /// A file with the text; `-` is the standard input
        #[arg(long, value_name = "FILE")]
        body_file: Option<PathBuf>,
        /// A label; may be given several times
        #[arg(long, value_name = "LABEL")]
        label: Vec<String>,
        /// Approve it at once
        #[arg(long)]
        approve: bool,
    },
    /// List issues, oldest first
    List {
        /// Only those with this label; may be given several times
        #[arg(long, value_name = "LABEL")]
        label: Vec<String>,
        /// Which ones
        #[arg(long, value_name = "STATE", default_value = "open")]
        state: State,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show an issue with its criteria and comments
    Show {
        /// Its number, as `warp issue list` shows it
        #[arg(value_parser = number)]
        number: ItemId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change an issue's title or text
    #[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
    Edit {
        /// Its number, as `warp issue list` shows it
        #[arg(value_parser = number)]
        number: ItemId,
        /// The title, in one line
        #[arg(long, value_name = "TEXT", group = "what")]
        title: Option<String>,
        /// A file with the text; `-` is the standard input
        #[arg(long, value_name = "FILE", group = "what")]
        body_file: Option<PathBuf>,
    },
    /// Add a comment
    Comment {
        /// Its number, as `warp issue list` shows it
        #[arg(value_parser = number)]
        number: ItemId,
        /// What to say
        text: String,
    },
    /// Add and remove labels
    #[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
    Label {
        /// Its number, as `warp issue list` shows it
        #[arg(value_parser = number)]
        number: ItemId,
        /// A label to add; may be given several times
        #[arg(long, value_name = "LABEL", group = "what")]
        add: Vec<String>,
        /// A label to remove; may be given several times
        #[arg(long, value_name = "LABEL", group = "what")]
        remove: Vec<String>,
    },
    /// Approve issues, so that they are worked on
    Approve {
        /// Their numbers, as `warp issue list` shows them
        #[arg(value_name = "NUMBER", value_parser = number, required = true)]
        numbers: Vec<ItemId>,
    },
    /// Close an issue
    Close {
        /// Its number, as `warp issue list` shows it
        #[arg(value_parser = number)]
        number: ItemId,
        /// Why, in a few words
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Open a closed issue again
    Reopen {
        /// Its number, as `warp issue list` shows it
        #[arg(value_parser = number)]
        number: ItemId,
    },
    /// File issues from Markdown files, or bring them up to date
    Import {
        /// Each with a title as `# ` heading; `42.md` becomes #42 if that number is free
        #[arg(value_name = "FILE.md", required = true)]
        files: Vec<PathBuf>,
        /// The number of the issue, for a single file
        #[arg(long, value_name = "N", value_parser = number)]
        number: Option<ItemId>,
        /// Approve them at once
        #[arg(long)]
        approve: bool,
    },
}

/// Reads `42` or `#42`.
pub(super) fn number(text: &str) -> Result<ItemId, String> {
    ItemId::typed(text).ok_or_else(|| "write a number like 42".to_owned())
}

impl Arguments {
    /// Tells whether an agent may do it: look, and file what a person has yet to approve.
    pub(super) fn is_agents(&self) -> bool {
        match self.action {
            Action::List { .. } | Action::Show { .. } | Action::New { approve: false, .. } => true,
            Action::New { approve: true, .. }
            | Action::Edit { .. }
            | Action::Comment { .. }
            | Action::Label { .. }
            | Action::Approve { .. }
            | Action::Close { .. }
            | Action::Reopen { .. }
            | Action::Import { .. } => false,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    if let Action::List { label, state, json } = &arguments.action {
        list(&mut workspace, label, *state, *json)?;
        return Ok(Exit::Done);
    }
    if let Action::Show { number, json } = &arguments.action {
        items::show(&mut workspace, *number, *json)?;
        return Ok(Exit::Done);
    }
    needs_project(&workspace)?;
    let root = workspace.place.root.clone();
    let by = match actor(&root) {
        Actor::Agent => Author::agent("agent"),
        Actor::Person | Actor::Engine => person_in(&root),
    };
    let tracker = workspace.tracker_as(by);
    match &arguments.action {
        Action::List { .. } | Action::Show { .. } => {}
        Action::New { title, body, body_file, label, approve } => {
            let body = match body_file {
                Some(file) => read(file)?,
                None => body.clone().unwrap_or_default(),
            };
            let filed = tracker.file(&NewItem::of(title, body, label.iter().cloned().collect()), None)?;
            if *approve {
                tracker.approve(filed.id)?;
            }
            if let Some(item) = tracker.item(filed.id)? {
                output::print(&items::line(&item))?;
                hint_criteria(&item);
                hint_approval(&item, readiness(&*tracker, item.id)?);
            }
        }
        Action::Edit { number, title, body_file } => {
            let body = body_file.as_deref().map(read).transpose()?;
            let item = tracker.edit(*number, &Edit { title: title.clone(), body, base: None })?;
            output::print(&items::line(&item))?;
            hint_criteria(&item);
        }
        Action::Comment { number, text } => {
            tracker.comment(*number, text, None)?;
            output::print(&format!("#{number} has your comment"))?;
        }
        Action::Label { number, add, remove } => {
            let item = tracker.ensure_labels(*number, &texts(add), &texts(remove))?;
            output::print(&format!("#{number} is labelled {}", items::labels(&item)))?;
        }
        Action::Approve { numbers } => {
            for number in numbers {
                let item = tracker.approve(*number)?;
                let readiness = readiness(&*tracker, *number)?;
                let who = item.approved_by.as_deref().unwrap_or_default();
                output::print(&format!("#{number} is approved by {who}: {readiness}"))?;
            }
        }
        Action::Close { number, reason } => {
            // What its branch alone meets is open again then.
            if tracker.item(*number)?.is_some_and(|item| item.pull.is_some()) {
                let error = CommandError::from(ForgeError::from(Refusal::NotAnIssue { id: *number }));
                return Err(error.hint(format!("`warp pr close {number}` closes it")));
            }
            tracker.close(*number, reason.as_deref())?;
            output::print(&format!("#{number} is closed"))?;
        }
        Action::Reopen { number } => {
            tracker.reopen(*number)?;
            output::print(&format!("#{number} is open"))?;
        }
        Action::Import { files, number, approve } => {
            if number.is_some() && files.len() > 1 {
                return Err(CommandError::new(Exit::Usage, "`--number` is for a single file"));
            }
            for path in files {
                let imported = import(&*tracker, &from_file(&root, path, *number)?)?;
                let number = imported.item.id;
                if *approve {
                    tracker.approve(number)?;
                }
                let what = if imported.was_there { "is up to date with" } else { "is filed from" };
                output::print(&format!("{} {what} {}", items::line(&imported.item), path.display()))?;
                hint_criteria(&imported.item);
            }
        }
    }
    Ok(Exit::Done)
}

/// Refuses to make a project of a directory by the way: one begins in a git repository, or with `warp init`.
fn needs_project(workspace: &Workspace) -> Result<(), CommandError> {
    if workspace.place.location().is_some() || workspace.place.own.is_dir() {
        return Ok(());
    }
    let root = workspace.place.root.display();
    let error = CommandError::new(
        Exit::Refused,
        format!("`{root}` is in no git repository, and no project of warp's"),
    );
    Err(error.hint("change to your repository, or `git init` makes this one; without git, `warp init` begins a project here"))
}

fn texts(labels: &[String]) -> Vec<&str> {
    labels.iter().map(String::as_str).collect()
}

/// Says that an issue has no criteria.
fn hint_criteria(item: &Item) {
    if items::lacks_criteria(item) {
        output::note(&items::without_criteria(item.id));
    }
}

/// Says what is missing before an issue is worked on.
fn hint_approval(item: &Item, readiness: Readiness) {
    if readiness == Readiness::NotApproved {
        output::note(&format!("`warp issue approve {}` lets it be worked on", item.id));
    }
}

fn list(workspace: &mut Workspace, labels: &[String], state: State, json: bool) -> Result<(), CommandError> {
    let taken = workspace.all_taken()?;
    let tracker = workspace.tracker();
    let mut issues = tracker.items(state.query())?;
    issues.retain(|item| state.is_meant(item) && labels.iter().all(|label| item.labels.contains(label)));
    if json {
        let mut shown = Vec::new();
        for item in &issues {
            shown.push(items::json(item, &readiness(&*tracker, item.id)?, taken.get(&item.id)));
        }
        return output::print_json(&shown);
    }
    let mut rows = Vec::new();
    for item in &issues {
        rows.push(items::row(item, &readiness(&*tracker, item.id)?, taken.get(&item.id)));
    }
    let (shown, closed) = (issues.len(), tracker.count_closed()?);
    let mut text = items::table(&rows);
    text.push_str(&match (state, shown) {
        (State::Open, 0) => "No open issues".to_owned(),
        (State::Open, _) => format!("\n{shown} open"),
        (State::Closed | State::All, _) => format!("\n{shown} shown"),
    });
    if state == State::Open && closed > 0 {
        text.push_str(&format!(", {closed} closed (`warp issue list --state closed`)"));
    }
    output::print(text.trim_start())?;
    if state == State::Open && shown == 0 && labels.is_empty() {
        output::note("`warp issue new --title TEXT --body-file FILE` files one");
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, CommandError> {
    read_markdown(path).map_err(|error| {
        CommandError::new(Exit::BadData, format!("`{}` cannot be read: {error}", path.display()))
    })
}

/// Reads a file that is to be imported. It is known by its place in the project, or by its path outside of it.
fn from_file(root: &Path, path: &Path, id: Option<ItemId>) -> Result<IssueFile, CommandError> {
    let text = read(path)?;
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let file = whole.strip_prefix(root).unwrap_or(&whole).to_string_lossy().into_owned();
    let hoped_for = path.file_stem().and_then(|stem| stem.to_str()).and_then(ItemId::typed);
    Ok(IssueFile { file, text, id, hoped_for })
}
