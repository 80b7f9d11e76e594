use std::path::PathBuf;

use driver::{After, Options, Walled, content_shell, sandbox};
use forge::{ForgeError, Item, ItemId, Readiness, Refusal, Review};
use jobs::{Mend, MergeError, MergedPull, NotGreen, UpdatedPull};
use project::{Workspace, person_in};

use super::{
    consent,
    issue::number,
    items::{self, State},
    open, person_place, pool, run,
};
use crate::{error::CommandError, exit::Exit, output, progress};

/// List, show, review and merge the pull requests of this project
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List pull requests, oldest first
    List {
        /// Which ones
        #[arg(long, value_name = "STATE", default_value = "open")]
        state: State,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a pull request with its comments
    Show {
        /// Its number, as `warp pr list` shows it, or that of its issue
        #[arg(value_parser = number)]
        number: ItemId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Approve a pull request
    Approve {
        /// Its number, as `warp pr list` shows it, or that of its issue
        #[arg(value_parser = number)]
        number: ItemId,
        /// A word to go with it
        text: Option<String>,
    },
    /// Say what has to change before a pull request is merged
    RequestChanges {
        /// Its number, as `warp pr list` shows it, or that of its issue
        #[arg(value_parser = number)]
        number: ItemId,
        /// What to say
        #[arg(required_unless_present = "message")]
        text: Option<String>,
        /// What to say, as often as there are separate changes
        #[arg(short, long, value_name = "TEXT", conflicts_with = "text")]
        message: Vec<String>,
    },
    /// Put a pull request on its newest target, tested; an agent resolves conflicts
    Update {
        /// Its number, as `warp pr list` shows it, or that of its issue
        #[arg(value_parser = number)]
        number: ItemId,
        /// Who resolves conflicts: claude, codex, opencode, acp:LINE, command:LINE or script:FILE [default: as set]
        #[arg(long)]
        agent: Option<String>,
        /// Run the project's tests and the agent outside the sandbox
        #[arg(long)]
        no_sandbox: bool,
    },
    /// Test a pull request on top of its target, and merge it
    Merge {
        /// Its number, as `warp pr list` shows it, or that of its issue
        #[arg(value_parser = number)]
        number: ItemId,
        /// Run the project's tests, which an agent may have changed, outside the sandbox
        #[arg(long)]
        no_sandbox: bool,
    },
    /// Close a pull request without merging it
    Close {
        /// Its number, as `warp pr list` shows it, or that of its issue
        #[arg(value_parser = number)]
        number: ItemId,
        /// Why, in a few words
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
}

impl Arguments {
    /// Tells whether nothing is changed: then it is an agent's as well.
    pub(super) fn only_looks(&self) -> bool {
        match self.action {
            Action::List { .. } | Action::Show { .. } => true,
            Action::Approve { .. }
            | Action::RequestChanges { .. }
            | Action::Update { .. }
            | Action::Merge { .. }
            | Action::Close { .. } => false,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let mut workspace = open(project)?;
    match &arguments.action {
        Action::List { state, json } => list(&mut workspace, *state, *json)?,
        Action::Show { number, json } => {
            let number = items::pull(&mut workspace, *number)?.id;
            items::show(&mut workspace, number, *json)?;
        }
        Action::Approve { number, text } => {
            let pull = items::pull(&mut workspace, *number)?;
            review(&workspace, &pull, Review::Approved, text.as_deref())?;
            output::print(&format!("#{} is approved", pull.id))?;
        }
        Action::RequestChanges { number, text, message } => {
            let pull = items::pull(&mut workspace, *number)?;
            let number = pull.id;
            for text in text.iter().chain(message) {
                review(&workspace, &pull, Review::ChangesRequested, Some(text))?;
            }
            let next = match pull.pull.as_ref().and_then(|pull| pull.issue) {
                Some(issue) => format!("; `warp run {issue}` makes them"),
                None => String::new(),
            };
            output::print(&format!("#{number} wants changes{next}"))?;
        }
        Action::Update { number, agent, no_sandbox } => {
            let pull = items::pull(&mut workspace, *number)?;
            return update(&mut workspace, &pull, agent.clone(), Walled::unless(*no_sandbox));
        }
        Action::Merge { number, no_sandbox } => {
            let number = items::pull(&mut workspace, *number)?.id;
            merge(&mut workspace, number, Walled::unless(*no_sandbox))?;
        }
        Action::Close { number, reason } => {
            let by = person_in(&workspace.place.root);
            let pull = items::pull(&mut workspace, *number)?;
            let number = pull.id;
            let issue = pull.pull.as_ref().and_then(|pull| pull.issue);
            let open_again = jobs::on(&mut workspace).close_pull(number, by, reason.as_deref())?;
            output::print(&format!("#{number} is closed; its branch stays"))?;
            if let Some(issue) = issue.filter(|_| !open_again.is_empty()) {
                output::print(&format!("open again in issue {issue}: {}", open_again.join(", ")))?;
            }
        }
    }
    Ok(Exit::Done)
}

fn review(
    workspace: &Workspace,
    item: &Item,
    review: Review,
    text: Option<&str>,
) -> Result<(), CommandError> {
    let by = person_in(&workspace.place.root);
    let pull = item.pull.as_ref().ok_or(ForgeError::from(Refusal::NotAPull { id: item.id }))?;
    workspace.forge_as(by).review(item.id, &pull.head, review, text)?;
    Ok(())
}

/// Brings a pull request onto its target. Where both have changed the same lines, a run with an agent does so.
fn update(
    workspace: &mut Workspace,
    item: &Item,
    agent: Option<String>,
    walled: Walled,
) -> Result<Exit, CommandError> {
    let number = item.id;
    let sandbox = sandbox(walled)?;
    let pool = pool(workspace)?;
    let settings = consent::ask(workspace)?;
    let progress = progress::start(&format!("bringing #{number} onto its target and testing that"));
    let updated = jobs::on(workspace).update_pull(&pool, number, &settings, |place, dirs, run| {
        content_shell(sandbox.as_ref(), place, dirs, run)
    })?;
    drop(progress);
    let files = match updated {
        UpdatedPull::Current { target, .. } => {
            output::print(&format!("#{number} is on top of the newest `{target}` already"))?;
            return Ok(Exit::Done);
        }
        UpdatedPull::Moved { target, branch, commit, tests, said, .. } => {
            output::print(&format!(
                "#{number} is on top of `{target}`: `{branch}` is at {commit} now; {tests}"
            ))?;
            if let Some(said) = said {
                output::print(&said)?;
            }
            return Ok(Exit::Done);
        }
        UpdatedPull::Conflicts { files } => files.join(", "),
    };
    let pull = item.pull.as_ref().ok_or(ForgeError::from(Refusal::NotAPull { id: number }))?;
    let (branch, target) = (&pull.branch, &pull.target);
    let Some(issue) = pull.issue else {
        let why = format!("`{branch}` and `{target}` have changed the same lines of {files}");
        return Err(CommandError::new(Exit::Failed, why).hint(format!(
            "it is about no issue that an agent could be given: `git switch {branch}` and `git rebase {target}`"
        )));
    };
    output::say(&format!(
        "`{branch}` and `{target}` have changed the same lines of {files}: an agent resolves that"
    ));
    let by = person_in(&workspace.place.root);
    workspace.request_update(number, by)?;
    let options =
        Options { issue: Some(issue.to_string()), agent, after: After::Once, walled, ..Options::default() };
    run::work_on(&person_place(workspace)?, &options)
}

fn merge(workspace: &mut Workspace, number: ItemId, walled: Walled) -> Result<(), CommandError> {
    let sandbox = sandbox(walled)?;
    let pool = pool(workspace)?;
    let settings = consent::ask(workspace)?;
    let by = person_in(&workspace.place.root);
    let progress = progress::start(&format!("testing #{number} on its newest target and merging it"));
    let merged = jobs::on(workspace).merge_pull(&pool, number, by, &settings, |place, dirs, run| {
        content_shell(sandbox.as_ref(), place, dirs, run)
    })?;
    drop(progress);
    let MergedPull { target, commit, branch, behind, said, closed } = merged;
    output::print(&format!("#{number} is merged: `{target}` is at {commit} now, which was tested"))?;
    for line in said {
        output::print(&line)?;
    }
    if let Some(behind) = behind {
        output::note(&behind);
    }
    if let Some(issue) = closed {
        output::print(&format!("issue {issue} is closed"))?;
    }
    output::print(&format!("`git branch -D {branch}` removes the branch, if you like"))
}

impl From<MergeError> for CommandError {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Merged { .. } => Self::of(Exit::Refused, &error),
            MergeError::Closed { number } => {
                Self::of(Exit::Refused, &error).hint(format!("`warp issue reopen {number}` opens it again"))
            }
            MergeError::ChangesRequested { number, issue, .. } => {
                let shown = Self::of(Exit::Refused, &error)
                    .hint(format!("`warp pr show {number}` shows what is wanted"));
                let made = match issue {
                    Some(issue) => shown.hint(format!("`warp run {issue}` lets an agent make the changes")),
                    None => shown,
                };
                made.hint(format!("`warp pr approve {number}` takes it as it is"))
            }
            MergeError::Undecided { number, ref asked } => {
                let answers = asked.inline_commands();
                Self::of(Exit::Refused, &error)
                    .hint(format!("{answers}, then `warp pr merge {number}`"))
            }
            MergeError::NoRun { number } | MergeError::NoBranch { number, .. } => {
                Self::of(Exit::Failed, &error)
                    .hint(format!("merge it with git, then `warp pr close {number} --reason merged`"))
            }
            MergeError::Stuck { number, ref branch, ref mend, .. } => {
                let how = match mend {
                    Mend::Conflict { onto } => {
                        format!(
                            "`warp pr update {number}` lets an agent bring them together, or `git switch {branch}` and `git \
                             rebase {onto}` let you do so"
                        )
                    }
                    Mend::Branch => format!("`git switch {branch}` lets you fix it"),
                    Mend::Target => "put that right".to_owned(),
                };
                Self::of(Exit::Failed, &error).hint(format!(
                    "no branch was moved; {how}, then `warp pr merge {number}` again, or `warp pr close {number}`"
                ))
            }
            MergeError::NotTaken { number, ref target, .. } => Self::of(Exit::Failed, &error)
                .hint(format!("`warp pr merge {number}` tries again"))
                .hint(format!("where `{target}` is protected, merge it at the remote: `warp config push=branch` lets warp push its branch"))
                .hint(format!("`WARP_PUSH=never warp pr merge {number}` merges it into your own `{target}` only")),
            MergeError::NotGreen { number, ref why } => {
                let then = match why {
                    NotGreen::Running | NotGreen::NotStarted => {
                        format!("`warp ci status {number}` shows them; `warp pr merge {number}` again once they are green")
                    }
                    NotGreen::Failed(_) => {
                        format!("`warp ci failures {number}` shows what failed; `warp run` lets an agent fix it")
                    }
                    NotGreen::Infra(_) => {
                        format!("`warp ci restart {number}` runs them again")
                    }
                    NotGreen::Untested => "`warp config test_command COMMAND` names the project's tests".to_owned(),
                };
                Self::of(Exit::Refused, &error).hint(then)
            }
            MergeError::Slot(error) => error.into(),
            MergeError::Forge(error) => error.into(),
            MergeError::Next(error) => error.into(),
            MergeError::Failed(error) => error.into(),
        }
    }
}

fn list(workspace: &mut Workspace, state: State, json: bool) -> Result<(), CommandError> {
    let forge = workspace.forge();
    let mut pulls = forge.pulls(state.query())?;
    pulls.retain(|item| state.is_meant(item));
    if json {
        let shown: Vec<_> =
            pulls.iter().map(|item| items::json(item, &Readiness::NotARequirement, None)).collect();
        return output::print_json(&shown);
    }
    let rows: Vec<_> = pulls.iter().map(|pull| items::pull_row(pull)).collect();
    let closed = forge.count_closed()?;
    let mut text = items::table(&rows);
    text.push_str(&match (state, pulls.len()) {
        (State::Open, 0) => "No open pull requests".to_owned(),
        (State::Open, shown) => format!("\n{shown} open"),
        (State::Closed | State::All, shown) => format!("\n{shown} shown"),
    });
    if state == State::Open && closed > 0 {
        text.push_str(&format!(", {closed} closed (`warp pr list --state closed`)"));
    }
    output::print(text.trim_start())
}
