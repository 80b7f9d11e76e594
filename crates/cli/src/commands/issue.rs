use std::{
    env,
    fmt::Display,
    fs,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
};

use adapters::process::{self, End};
use engine::{Actor, split_title};
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
    ///
    /// Without a text, at a terminal, your editor opens ($VISUAL, $EDITOR or vi).
    New {
        /// The title, in one line
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
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
    ///
    /// Without either, at a terminal, your editor opens ($VISUAL, $EDITOR or vi).
    Edit {
        /// Its number, as `warp issue list` shows it
        #[arg(value_parser = number)]
        number: ItemId,
        /// The title, in one line
        #[arg(long, value_name = "TEXT")]
        title: Option<String>,
        /// A file with the text; `-` is the standard input
        #[arg(long, value_name = "FILE")]
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
            let body = body_file.as_deref().map(read).transpose()?.or_else(|| body.clone());
            let (title, body) = match (title, body) {
                (Some(title), Some(body)) => (title.clone(), body),
                (title, None) if is_at_terminal() => {
                    match edited(title.as_deref().unwrap_or_default(), "- [ ] \n")? {
                        Some(written) => written,
                        None => {
                            output::note("nothing was written, so no issue is filed");
                            return Ok(Exit::Done);
                        }
                    }
                }
                (Some(title), None) => (title.clone(), String::new()),
                (None, _) => {
                    return Err(CommandError::new(Exit::Usage, "an issue needs a title: `--title TEXT`"));
                }
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
            let edit = match (title, body_file) {
                (None, None) if is_at_terminal() => {
                    let item = tracker.get(*number)?;
                    let Some((title, body)) = edited(&item.title, &item.body)? else {
                        output::note(&format!("#{number} stays as it is"));
                        return Ok(Exit::Done);
                    };
                    Edit { title: Some(title), body: Some(body), base: Some(item.body.clone()) }
                }
                (None, None) => {
                    let error = CommandError::new(Exit::Usage, "nothing is said to change");
                    return Err(
                        error.hint("`--title TEXT` or `--body-file FILE`; at a terminal an editor opens")
                    );
                }
                (title, file) => {
                    let body = file.as_deref().map(read).transpose()?;
                    Edit { title: title.clone(), body, base: None }
                }
            };
            let item = tracker.edit(*number, &edit)?;
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
                let who = tracker.approval(&item)?.unwrap_or_default();
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

fn is_at_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Lets the person edit a title and a text in their editor; returns nothing if both stay as they are, or all is deleted.
fn edited(title: &str, body: &str) -> Result<Option<(String, String)>, CommandError> {
    let before = format!("# {title}\n\n{body}");
    let failed = |problem: &dyn Display| {
        CommandError::new(Exit::Failed, format!("the issue cannot be edited: {problem}"))
    };
    let file = tempfile::Builder::new().prefix("issue-").suffix(".md").tempfile();
    let file = file.map_err(|error| failed(&error))?;
    fs::write(file.path(), &before).map_err(|error| failed(&error))?;
    let set = |name| env::var(name).ok().filter(|editor| !editor.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let line = format!("{editor} \"$1\"");
    let arguments = ["-c".as_ref(), line.as_ref(), "sh".as_ref(), file.path().as_os_str()];
    let end = process::run_at_terminal("sh", arguments).map_err(|error| failed(&error))?;
    if end != End::Exit(0) {
        return Err(failed(&format!("`{editor}` ended with {end}")));
    }
    let after = read(file.path())?;
    if after.trim().is_empty() || after == before {
        return Ok(None);
    }
    if let Some(written) = split_title(&after).filter(|(title, _)| !title.is_empty()) {
        return Ok(Some(written));
    }
    // What was written is not lost.
    let (_, path) = file.keep().map_err(|error| failed(&error))?;
    let error = CommandError::new(Exit::BadData, "the text has no `# ` heading for a title");
    Err(error.hint(format!("what you wrote is in {}", path.display())))
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
