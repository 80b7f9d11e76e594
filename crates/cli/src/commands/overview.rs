//! `warp` alone: where this directory stands and what to do next.

use std::path::PathBuf;

use engine::view;
use project::{Current, Dirs, Workspace, outlook::Would};

use super::{
    place,
    status::{about, table},
};
use crate::{error::CommandError, exit::Exit, output};

/// What helps wherever one is.
const MORE: &str = "`warp help` lists every command; `warp demo` shows a whole run without an account.";

/// Says where this directory stands and which command comes next.
pub(super) fn run(project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let place = place(project)?;
    let name = place.name();
    if place.location().is_none() {
        let text = format!(
            "{name} is not a git repository.\n\nNext:\n{}\n{MORE}\n",
            steps(&[
                ("cd YOUR-PROJECT", "warp works in a git repository"),
                ("warp demo", "shows a whole run")
            ])
        );
        output::print(&text)?;
        return Ok(Exit::Done);
    }
    let mut workspace = Workspace::open(place, Dirs::from_environment()?)?;
    super::refresh(&mut workspace);
    let mut open: Vec<Current> = workspace.current()?.into_iter().collect();
    if workspace.place.origin().is_none() {
        let here: Vec<_> = open.iter().map(|current| current.run.id.clone()).collect();
        open.extend(workspace.driven()?.into_iter().filter(|current| !here.contains(&current.run.id)));
    }
    let mut text = match open.as_slice() {
        [] => format!("No run is open in {name}.\n"),
        [one] => format!("1 run is open in {name}: {}, {}.\n", one.run.id, about(one)),
        several => format!("{} runs are open in {name}.\n\n{}", several.len(), table(several)),
    };
    text.push_str("\nNext:\n");
    text.push_str(&next(&mut workspace, &open)?);
    text.push_str(&format!("\n{MORE}\n"));
    output::print(&text)?;
    Ok(Exit::Done)
}

/// Returns the commands that come next, most urgent first.
fn next(workspace: &mut Workspace, open: &[Current]) -> Result<String, CommandError> {
    let mut next: Vec<(String, String)> = Vec::new();
    for current in open {
        if let Some(asked) = view::asked(&current.workflow, &current.run) {
            let question = asked.question.lines().next().unwrap_or_default();
            for (index, answer) in asked.commands().into_iter().enumerate() {
                let what = if index == 0 { format!(": {question}") } else { String::new() };
                next.push((answer.command, format!("answers `{}`{what}", answer.option)));
            }
        }
    }
    if let [current] = open {
        let name = current.run.issue.as_deref().unwrap_or(current.run.id.as_str());
        next.push((format!("warp status {name}"), "shows how far it is".to_owned()));
    }
    for (pull, title) in waiting_pulls(workspace)? {
        next.push((format!("warp pr show {pull}"), format!("is ready for your review: {title}")));
    }
    if workspace.place.origin().is_none() {
        let prospect = workspace.prospect()?;
        match &prospect.would {
            Would::GoOn { run, issue, .. } => {
                let name = issue.clone().unwrap_or_else(|| run.clone());
                next.push((format!("warp run {name}"), "resumes it".to_owned()));
            }
            Would::Take { issue, title } => {
                next.push(("warp run".to_owned(), format!("works on #{issue}, {title}")))
            }
            Would::Nothing { .. } if !open.is_empty() => {}
            Would::Nothing { .. } if prospect.queue.is_empty() => {
                let about = "files an issue; each `- [ ]` line is a criterion".to_owned();
                next.push(("warp issue new --title TEXT --body \"- [ ] ...\"".to_owned(), about));
                next.push(("warp run N".to_owned(), "works on issue N".to_owned()));
                next.push(("warp doctor".to_owned(), "checks agents, tests and the sandbox".to_owned()));
            }
            Would::Nothing { .. } => {
                next.push(("warp explain".to_owned(), "says why no issue is taken".to_owned()))
            }
        }
    }
    let next: Vec<(&str, &str)> =
        next.iter().map(|(command, does)| (command.as_str(), does.as_str())).collect();
    Ok(steps(&next))
}

/// Returns the open pull requests with their titles.
fn waiting_pulls(workspace: &mut Workspace) -> Result<Vec<(String, String)>, CommandError> {
    if workspace.store_path()?.is_none() {
        return Ok(Vec::new());
    }
    let pulls = workspace.forge().pulls(forge::Query::Open)?.into_iter().filter(|item| item.is_open());
    Ok(pulls.map(|item| (item.id.to_string(), item.title.clone())).collect())
}

/// Sets commands and what they do into columns.
fn steps(steps: &[(&str, &str)]) -> String {
    let width = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    steps.iter().map(|(command, does)| format!("  {command:<width$}  {does}\n")).collect()
}
