//! How an outlook is said.

use engine::{
    TimeFormat,
    view::{Asked, Used},
};
use forge::{ItemId, Review};

use super::{Blocker, Handed, Is, Outlook, Remedy, Todo, Worked};
use crate::counted;

impl Outlook {
    /// Writes the outlook as people read it.
    pub fn render(&self, write: TimeFormat) -> String {
        let title = self.title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default();
        let kind = if matches!(self.is, Is::PullRequest(_)) { "Pull request" } else { "Issue" };
        let mut text = format!("{kind} {}{title} {}\n", self.issue, said(&self.is, write));
        text.push_str(&steps(&self.next));
        if let Some(explanation) = &self.explanation {
            text.push_str(&format!("\n{}", explanation.render(write)));
        }
        text
    }
}

/// Sets commands and what they do into columns.
pub(super) fn steps(next: &[Remedy]) -> String {
    let width = next.iter().map(|remedy| remedy.command.chars().count()).max().unwrap_or(0);
    let mut text = if next.is_empty() { String::new() } else { "What to do:\n".to_owned() };
    for Remedy { command, does } in next {
        text.push_str(&format!("  {command:<width$}  {does}\n"));
    }
    text
}

/// Says where an issue is; the sentence begins with the issue.
fn said(is: &Is, write: TimeFormat) -> String {
    match is {
        Is::Missing => "is not there.".to_owned(),
        Is::NotARequirement => "is not labelled `req`, so it is not taken.".to_owned(),
        Is::NotApproved => "is not approved, so it is not taken.".to_owned(),
        Is::Met => "has every criterion ticked, so there is nothing left to do or to show.".to_owned(),
        Is::Blocked { on } => {
            format!("is blocked by {}.", on.iter().map(blocker).collect::<Vec<_>>().join(", "))
        }
        Is::Cycle { path } => format!("is blocked by itself: {}.", numbers(path, " -> ")),
        Is::PutOff { todos, after } => {
            let asks = todos.iter().map(|todo| format!("TODO #{} asks: {}", todo.issue, todo.question));
            let then = match after.as_slice() {
                [] => "The next run takes it up again.".to_owned(),
                after => format!("It is taken up again after {}.", numbers(after, ", ")),
            };
            format!("was skipped; {}\n{then}", asks.collect::<Vec<_>>().join("; "))
        }
        Is::Ready { after } if after.is_empty() => "is approved and ready, and the next one.".to_owned(),
        Is::Ready { after } => {
            let come = if after.len() == 1 { "comes" } else { "come" };
            format!("is approved and ready; before it {come} {}.", numbers(after, ", "))
        }
        Is::Claimed { pid, directory } => {
            let place = directory.as_ref().map(|path| format!(" in {}", path.display())).unwrap_or_default();
            format!("is claimed by process {pid}{place}, which has no run for it yet.")
        }
        Is::Working(by) => {
            format!("is being worked on, {}, by process {} in {}.", place(by), by.pid, by.root)
        }
        Is::InCheckout(by) => {
            let gone = if by.is_live { "" } else { ", which is gone" };
            format!("is worked on in {}, {}, by process {}{gone}.", by.root, place(by), by.pid)
        }
        Is::Interrupted(by) => {
            format!("was interrupted, {}: process {} has exited.", place(by), by.pid)
        }
        Is::Parked { by, decision } => {
            format!("waits for a decision, {}.\nQuestion: {}", place(by), question(decision, write))
        }
        Is::OverBudget { by, budgets, decision } => format!(
            "is stopped by a budget, {}.\nUsed up: {}\nQuestion: {}",
            place(by),
            budgets.iter().map(used).collect::<Vec<_>>().join(", "),
            question(decision, write)
        ),
        Is::Waiting { by, wait } => format!("waits, {}: {}.", place(by), wait.text(write)),
        Is::Halted(by) => format!("is stopped, {}; its work lies in {}.", place(by), by.root),
        Is::Stopped { run, at, branch, done, planned, .. } => {
            let left = match (branch, done) {
                (Some(branch), 0) => format!("its work is on branch `{branch}`"),
                (Some(branch), done) => {
                    let of = counted(*planned as u64, "chunk", "chunks");
                    format!("{done} of {of} done on branch `{branch}`")
                }
                (None, _) => "nothing was done by then".to_owned(),
            };
            format!("was stopped: run {run} ended at {}; {left}.", write(*at))
        }
        Is::Reverted { run, at } => {
            format!("was merged by run {run}, and taken back at {}.", write(*at))
        }
        Is::HandedOver(handed) => {
            format!("is ready for review as pull request #{} {}.", handed.pull, pull(handed))
        }
        Is::PullRequest(handed) => match handed.about {
            Some(issue) => format!("is about issue {issue} {}.", pull(handed)),
            None => format!("is {}.", pull(handed)),
        },
        Is::Done { at, run, merged, commits } => {
            let mut text = format!("is done: run {run}, merged as {merged} at {}.", write(*at));
            for commit in commits {
                text.push_str(&format!("\n  {commit}"));
            }
            text
        }
        Is::Closed { at, because } => {
            let because = because.as_ref().map(|because| format!(" ({because})")).unwrap_or_default();
            format!("is closed{because} since {}; no run of warp's has merged it.", write(*at))
        }
    }
}

/// Says what a person can do about where an issue is.
pub(super) fn remedies(issue: ItemId, is: &Is) -> Vec<Remedy> {
    let run = |does: &str| remedy(format!("warp run {issue}"), does);
    match is {
        Is::Missing => vec![
            remedy("warp issue list".to_owned(), "shows what there is"),
            remedy("warp issue new --title TEXT".to_owned(), "files one"),
        ],
        Is::NotARequirement => vec![
            run("labels and approves it, and begins at once"),
            remedy(format!("warp issue label {issue} --add req --add approved"), "puts it in the queue"),
        ],
        Is::NotApproved => vec![
            remedy(format!("warp issue approve {issue}"), "puts it in the queue"),
            run("approves it and begins at once"),
        ],
        Is::Met => vec![
            remedy(format!("warp issue close {issue}"), "closes it, if it is done"),
            remedy(format!("warp issue edit {issue} --body-file FILE"), "says what is left, as open boxes"),
        ],
        Is::Blocked { on } => on.iter().map(unblock).collect(),
        Is::Cycle { .. } => {
            vec![remedy(
                format!("warp issue edit {issue} --body-file FILE"),
                "gives it a text without one of these dependencies",
            )]
        }
        Is::PutOff { todos, .. } => {
            let answer = |todo: &Todo| {
                remedy(
                    format!("warp answer {}", todo.issue),
                    "shows the question and the commands that answer it",
                )
            };
            let mut next: Vec<Remedy> = todos.iter().map(answer).collect();
            next.push(remedy(
                format!("warp issue edit {issue} --body-file FILE"),
                "gives it a text that says what is wanted",
            ));
            next.push(run("takes it up again"));
            next
        }
        Is::Ready { after } if after.is_empty() => {
            vec![remedy("warp run".to_owned(), "takes it"), run("starts it ahead of the queue")]
        }
        Is::Ready { .. } => vec![run("takes it now"), remedy("warp explain".to_owned(), "shows the queue")],
        Is::Claimed { pid, .. } => vec![remedy(format!("ps -fp {pid}"), "shows what that process is")],
        Is::Working(_) => vec![
            remedy(format!("warp watch {issue}"), "follows it"),
            remedy(format!("warp tell {issue} TEXT"), "says something to its agent"),
            remedy(format!("warp stop {issue}"), "stops it; what is done is kept"),
        ],
        Is::InCheckout(by) => vec![
            remedy(format!("warp -C {} status", by.root), "shows how far it is"),
            remedy(
                format!("warp stop {issue} --hard"),
                "takes it off that checkout, so that warp can take it",
            ),
        ],
        Is::Interrupted(by) if by.cleans_up => vec![run("ends it, as it was asked to")],
        Is::Interrupted(_) => vec![
            run("resumes where it was"),
            remedy(format!("warp stop {issue} --hard"), "gives it up; its files are kept"),
        ],
        Is::Parked { by, decision } | Is::OverBudget { by, decision, .. } => {
            let mut next = answers(decision);
            if by.is_driven && !by.is_live {
                next.push(run("resumes after that"));
            }
            next
        }
        Is::Waiting { by, .. } => {
            let mut next =
                vec![remedy(format!("warp state resume {}", by.root), "resumes it at once, limit or not")];
            if by.is_driven && !by.is_live {
                next.push(run("resumes once that is over"));
            }
            next
        }
        Is::Halted(by) => vec![
            if by.is_driven {
                run("resumes where it was")
            } else {
                remedy(format!("warp state resume {}", by.root), "resumes it")
            },
            remedy(format!("warp log {issue} --all"), "shows what stopped it"),
            remedy(format!("warp stop {issue} --hard"), "gives it up; its files are kept"),
        ],
        Is::Stopped { branch, resumes, .. } => {
            let switch =
                |branch: &String| remedy(format!("git switch {branch}"), "lets you finish it yourself");
            let again = match (branch, resumes) {
                (Some(branch), true) => run(&format!("resumes from `{branch}`")),
                (Some(_) | None, _) => run("begins it again, on a branch of its own"),
            };
            std::iter::once(again).chain(branch.as_ref().map(switch)).collect()
        }
        Is::Reverted { .. } => vec![
            run("tries once more"),
            remedy(format!("warp log {issue}"), "shows what was done"),
            remedy(format!("warp issue close {issue}"), "closes it, if it is not wanted any more"),
        ],
        Is::HandedOver(handed) | Is::PullRequest(handed) => pull_remedies(handed),
        Is::Done { .. } => vec![
            remedy(format!("warp diff {issue}"), "shows what it changed"),
            remedy(format!("warp revert {issue}"), "undoes it"),
        ],
        Is::Closed { .. } => vec![remedy(format!("warp issue reopen {issue}"), "opens it again")],
    }
}

fn remedy(command: String, does: &str) -> Remedy {
    Remedy { command, does: does.to_owned() }
}

fn answers(decision: &Asked) -> Vec<Remedy> {
    let commands = decision.commands().into_iter();
    commands.map(|answer| remedy(answer.command, &format!("answers `{}`", answer.option))).collect()
}

fn unblock(blocker: &Blocker) -> Remedy {
    let issue = blocker.issue;
    match blocker.title {
        Some(_) => remedy(format!("warp explain {issue}"), "says what that one waits for"),
        None => remedy(format!("warp issue import FILE --number {issue}"), "files the one that is not there"),
    }
}

fn pull_remedies(handed: &Handed) -> Vec<Remedy> {
    let number = handed.pull;
    let look = remedy(format!("warp pr show {number}"), "shows it");
    if !handed.is_open {
        return vec![look];
    }
    let close = "closes it; its issue can be taken again then";
    let close = remedy(format!("warp pr close {number}"), close);
    let rework = |does: &str| handed.about.map(|issue| remedy(format!("warp run {issue}"), does));
    let update =
        || remedy(format!("warp pr update {number}"), "brings both together with an agent, and tests that");
    match handed.review {
        Review::ChangesRequested => {
            let made = rework("makes the changes, on the same branch");
            made.into_iter().chain([look, close]).collect()
        }
        Review::Pending | Review::Approved if handed.is_update_wanted => {
            let made = rework("brings it onto its target");
            made.into_iter().chain([look, close]).collect()
        }
        Review::Pending | Review::Approved if handed.is_refused => {
            let there = format!("shows it; the remote refuses pushes to `{}`: merge it there", handed.target);
            vec![
                remedy(format!("warp pr show {number}"), &there),
                remedy(
                    format!("warp pr close {number} --reason merged"),
                    "closes it once it is merged there",
                ),
                remedy(format!("warp pr merge {number}"), "tries again, if the remote takes it by now"),
            ]
        }
        Review::Pending | Review::Approved if !handed.conflicts.is_empty() => vec![update(), look, close],
        Review::Pending | Review::Approved => vec![
            look,
            remedy(format!("warp pr merge {number}"), "tests it and merges it"),
            remedy(format!("warp pr request-changes {number} TEXT"), "says what is to be changed"),
            close,
        ],
    }
}

fn blocker(blocker: &Blocker) -> String {
    match &blocker.title {
        Some(title) => format!("#{} ({title})", blocker.issue),
        None => format!("#{}, which is not there", blocker.issue),
    }
}

fn place(by: &Worked) -> String {
    match by.chunks {
        0 => format!("in `{}`", by.phase),
        chunks => format!("in `{}`, chunk {} of {chunks}", by.phase, by.chunk),
    }
}

fn question(decision: &Asked, write: TimeFormat) -> String {
    let until = decision.deadline.map(|until| format!(" (until {})", write(until)));
    format!("{}{}", decision.question, until.unwrap_or_default())
}

fn used(budget: &Used) -> String {
    format!("{} ({} of {})", budget.reason, budget.used, budget.limit)
}

fn pull(handed: &Handed) -> String {
    let is = match (&handed.merged, handed.is_open, handed.review) {
        (Some(commit), _, _) => format!("merged as {commit}"),
        (None, false, _) => "closed".to_owned(),
        (None, true, Review::Pending) => "waits for a person".to_owned(),
        (None, true, Review::Approved) => "approved".to_owned(),
        (None, true, Review::ChangesRequested) => "changes are wanted".to_owned(),
    };
    let conflicts = match handed.conflicts.as_slice() {
        [] => String::new(),
        files => format!("; both have changed the same lines of {}", files.join(", ")),
    };
    format!("(`{}` -> `{}`, {is}{conflicts})", handed.branch, handed.target)
}

pub(super) fn numbers(numbers: &[ItemId], between: &str) -> String {
    numbers.iter().map(|number| format!("#{number}")).collect::<Vec<_>>().join(between)
}
