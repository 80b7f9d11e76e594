use std::path::PathBuf;

use driver::{
    Interrupts, ReviewEnd, ReviewError, ReviewOptions, Reviewed, Show, Shown, StartError, Walled, review_pull,
};
use engine::view::Asked;
use forge::ItemId;
use project::{BeginError, Workspace, spend};
use review::{Known, Verdict};
use serde_json::{Value, json};

use super::{issue::number, items, open, person_place};
use crate::{
    error::CommandError,
    exit::Exit,
    live::{Form, Live},
    output,
};

/// Let an agent review a pull request
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Its number, as `warp pr list` shows it, or that of its issue
    #[arg(value_name = "PR", value_parser = number)]
    number: ItemId,
    /// Who reviews: claude, codex, opencode, acp:LINE, command:LINE or script:FILE [default: as set in `roles.reviewer`]
    #[arg(long)]
    agent: Option<String>,
    /// The model that reviews [default: as set in `roles.reviewer`]
    #[arg(long)]
    model: Option<String>,
    /// Review a commit again that was reviewed, and whatever the limits say
    #[arg(long)]
    force: bool,
    /// Let the reviewer work without the sandbox; it can then reach all that you can
    #[arg(long)]
    no_sandbox: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let opened = open(project)?;
    let dirs = opened.dirs.clone();
    let mut workspace = Workspace::open(person_place(&opened)?, dirs)?;
    drop(opened);
    spend::prices(&workspace.dirs)?;
    let number = items::pull(&mut workspace, arguments.number)?.id;
    let settings = workspace.configuration(&[]).map_err(BeginError::Config)?.settings;
    let interrupts = Interrupts::listen().map_err(|error| {
        CommandError::new(Exit::Internal, format!("signals cannot be listened to: {error}"))
    })?;
    let options = ReviewOptions {
        agent: arguments.agent.clone(),
        model: arguments.model.clone(),
        is_forced: arguments.force,
        walled: Walled::unless(arguments.no_sandbox),
    };
    let ended = if arguments.json {
        review_pull(&mut workspace, &settings, number, &options, &interrupts, &mut Aside)
    } else {
        let mut live = Live::new(Form::Text);
        let ended = review_pull(&mut workspace, &settings, number, &options, &interrupts, &mut live);
        live.end();
        ended
    };
    let ended = match ended {
        Err(ReviewError::Start(_)) if interrupts.is_asked() => ReviewEnd::Interrupted,
        ended => ended?,
    };
    if arguments.json {
        output::print_json(&as_json(number, &ended))?;
    } else {
        output::print(&as_text(number, &ended))?;
    }
    Ok(match ended {
        ReviewEnd::Reviewed(_) => Exit::Done,
        ReviewEnd::Failed { .. } => Exit::Failed,
        ReviewEnd::ForPerson { .. } | ReviewEnd::Held { .. } => Exit::Parked,
        ReviewEnd::Interrupted => Exit::Interrupted,
    })
}

fn as_text(number: ItemId, ended: &ReviewEnd) -> String {
    match ended {
        ReviewEnd::Reviewed(reviewed) => reviewed_text(reviewed),
        ReviewEnd::Failed { why, times, most } => {
            let then = if times < most {
                format!("`warp review {number}` tries again")
            } else {
                format!(
                    "a person reviews it: `warp pr approve {number}`, `warp pr request-changes {number} TEXT`"
                )
            };
            format!("#{number} has no verdict ({times} of {most}): {why}\n{then}")
        }
        ReviewEnd::ForPerson { why } => format!(
            "waits for you: {why}\n`warp pr approve {number}`, `warp pr request-changes {number} TEXT`, or `warp review {number} --force`"
        ),
        ReviewEnd::Held { why } => {
            format!("waits: {why}\n`warp review {number}` tries again; nothing was said")
        }
        ReviewEnd::Interrupted => format!("interrupted; `warp review {number}` begins anew"),
    }
}

fn reviewed_text(reviewed: &Reviewed) -> String {
    let Reviewed { number, round, verdict, .. } = reviewed;
    let head = reviewed.head.get(..10).unwrap_or(&reviewed.head);
    let already = if reviewed.is_new { "" } else { " already" };
    let mut lines =
        vec![format!("#{number} at {head} is reviewed{already} (round {round}): {}", verdict.words())];
    if !reviewed.reason.is_empty() {
        lines.push(reviewed.reason.clone());
    }
    lines.extend(reviewed.findings.iter().map(|known| format!("  {}", finding_text(known))));
    if !reviewed.follow_ups.is_empty() {
        let issues: Vec<String> = reviewed.follow_ups.iter().map(|id| format!("#{id}")).collect();
        lines.push(format!("follow-ups: {}", issues.join(", ")));
    }
    lines.extend(reviewed.notes.iter().map(|note| format!("note: {note}")));
    if !reviewed.is_formal {
        lines.push(
            "the account that opened it is the reviewer's too: the comment is all, and no formal review"
                .to_owned(),
        );
    }
    lines.push(match (verdict, reviewed.is_new) {
        (_, false) => format!("`warp review {number} --force` reviews it again"),
        (Verdict::Approve, true) => format!("`warp pr merge {number}` merges it"),
        (Verdict::RequestChanges, true) => format!("`warp pr show {number}` shows the review"),
    });
    lines.join("\n")
}

fn finding_text(known: &Known) -> String {
    let status = if known.status == review::Status::New { "" } else { known.status.words() };
    let status = if status.is_empty() { String::new() } else { format!(" [{status}]") };
    let unplaced = if known.is_placed { "" } else { " (no such place)" };
    let (severity, location) = (known.severity.word(), &known.location);
    format!("{} {severity}{status} {location}{unplaced}: {}", known.id, known.description)
}

fn as_json(number: ItemId, ended: &ReviewEnd) -> Value {
    match ended {
        ReviewEnd::Reviewed(reviewed) => json!({
            "pull": reviewed.number,
            "outcome": "reviewed",
            "head": reviewed.head,
            "round": reviewed.round,
            "verdict": reviewed.verdict,
            "reason": reviewed.reason,
            "findings": reviewed.findings,
            "follow_ups": reviewed.follow_ups,
            "notes": reviewed.notes,
            "formal": reviewed.is_formal,
            "new": reviewed.is_new,
        }),
        ReviewEnd::Failed { why, times, most } => {
            json!({ "pull": number, "outcome": "failed", "why": why, "times": times, "most": most })
        }
        ReviewEnd::ForPerson { why } => json!({ "pull": number, "outcome": "for_person", "why": why }),
        ReviewEnd::Held { why } => json!({ "pull": number, "outcome": "held", "why": why }),
        ReviewEnd::Interrupted => json!({ "pull": number, "outcome": "interrupted" }),
    }
}

/// Shows beside what is printed for a program.
struct Aside;

impl Show for Aside {
    fn show(&mut self, shown: Shown<'_>) {
        if let Shown::Did(text) | Shown::Warned(text) = shown {
            output::say(text);
        }
    }

    fn reply(&mut self, _: &Asked) -> Option<driver::Reply> {
        None
    }

    fn is_attended(&self) -> bool {
        false
    }
}

impl From<ReviewError> for CommandError {
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::Merged { .. } => Self::of(Exit::Refused, &error),
            ReviewError::Closed { number } => {
                Self::of(Exit::Refused, &error).hint(format!("`warp issue reopen {number}` opens it again"))
            }
            ReviewError::NoCommit { .. }
            | ReviewError::Spend(_)
            | ReviewError::Admission(_)
            | ReviewError::World(_) => Self::of(Exit::Failed, &error),
            ReviewError::Start(error) => error.into(),
            ReviewError::Agent(error) => StartError::from(error).into(),
            ReviewError::Forge(error) => error.into(),
            ReviewError::Slot(error) => error.into(),
            ReviewError::Failed(error) => error.into(),
        }
    }
}
