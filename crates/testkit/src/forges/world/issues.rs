//! Issues, labels, comments: what changes them, and what is remembered of it.

use std::collections::BTreeSet;

use super::{Comment, Event, Happened, Issue, Trap, World};
use crate::forges::hooks::Topic;

/// What an issue is changed to; what is none stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edit {
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) open: Option<bool>,
    pub(crate) state_reason: Option<String>,
    pub(crate) labels: Option<Vec<u64>>,
    pub(crate) assignees: Option<Vec<String>>,
}

impl World {
    pub(crate) fn create_issue(&mut self, repo: usize, author: &str, title: &str, body: &str) -> u64 {
        let id = self.id();
        let now = self.stamp();
        let repository = &mut self.repos[repo];
        repository.last_number += 1;
        let number = repository.last_number;
        repository.issues.push(Issue {
            id,
            number,
            title: title.to_owned(),
            body: body.to_owned(),
            author: author.to_owned(),
            is_open: true,
            state_reason: None,
            is_locked: false,
            labels: Vec::new(),
            assignees: Vec::new(),
            unsettled: Vec::new(),
            created: now,
            updated: now,
            closed: None,
            comments: Vec::new(),
            events: Vec::new(),
            dependencies: Vec::new(),
            pull: None,
        });
        self.cross_reference(repo, number, author, body);
        number
    }

    /// Remembers in other issues that this one's text names them.
    pub(crate) fn cross_reference(&mut self, repo: usize, from: u64, actor: &str, text: &str) {
        for number in mentioned(text) {
            let is_known = |event: &Event| matches!(event.what, Happened::Referenced(by) if by == from);
            let other = self.repos[repo].issue(number);
            if number != from && other.is_some_and(|issue| !issue.events.iter().any(is_known)) {
                self.record(repo, number, actor, Happened::Referenced(from));
            }
        }
    }

    /// Adds to an issue's timeline without touching the issue.
    pub(crate) fn record(&mut self, repo: usize, number: u64, actor: &str, what: Happened) {
        let event = Event { id: self.id(), at: self.now, actor: actor.to_owned(), what };
        if let Some(issue) = self.repos[repo].issue_mut(number) {
            issue.events.push(event);
        }
    }

    fn touch(&mut self, repo: usize, number: u64) {
        let now = self.stamp();
        if let Some(issue) = self.repos[repo].issue_mut(number) {
            issue.updated = now;
        }
    }

    pub(crate) fn edit_issue(&mut self, repo: usize, number: u64, actor: &str, edit: Edit) {
        self.touch(repo, number);
        let Some(issue) = self.repos[repo].issue_mut(number) else { return };
        let (mut happened, mut is_text) = (Vec::new(), false);
        if let Some(title) = edit.title.filter(|title| *title != issue.title) {
            happened.push(Happened::Renamed { from: issue.title.clone(), to: title.clone() });
            (issue.title, is_text) = (title, true);
        }
        let named = edit.body.filter(|body| *body != issue.body);
        if let Some(body) = &named {
            (issue.body, is_text) = (body.clone(), true);
        }
        if edit.state_reason.is_some() {
            issue.state_reason = edit.state_reason;
        }
        if let Some(open) = edit.open.filter(|open| *open != issue.is_open) {
            issue.is_open = open;
            issue.closed = (!open).then(|| (issue.updated, actor.to_owned()));
            issue.state_reason = match (open, issue.state_reason.take()) {
                (true, _) => Some("reopened".to_owned()),
                (false, reason) => Some(reason.unwrap_or_else(|| "completed".to_owned())),
            };
            happened.push(if open { Happened::Reopened } else { Happened::Closed });
        }
        let is_pull = issue.is_pull();
        for what in happened {
            let action = [
                ("closed", matches!(what, Happened::Closed)),
                ("reopened", matches!(what, Happened::Reopened)),
            ];
            self.record(repo, number, actor, what);
            for (action, _) in action.iter().filter(|(_, is_it)| *is_it) {
                self.announce(Topic::item(is_pull), action, repo, Some(number), actor);
            }
        }
        if let Some(body) = named {
            self.cross_reference(repo, number, actor, &body);
        }
        if is_text {
            self.announce(Topic::item(is_pull), "edited", repo, Some(number), actor);
        }
        if let Some(labels) = edit.labels {
            self.set_labels(repo, number, actor, &labels);
        }
        if let Some(assignees) = edit.assignees {
            self.set_assignees(repo, number, actor, &assignees);
        }
    }

    pub(crate) fn set_labels(&mut self, repo: usize, number: u64, actor: &str, labels: &[u64]) {
        let Some(issue) = self.repos[repo].issue(number) else { return };
        let wanted: BTreeSet<u64> = labels.iter().copied().collect();
        let had: BTreeSet<u64> = issue.labels.iter().copied().collect();
        let added: Vec<u64> = wanted.difference(&had).copied().collect();
        let removed: Vec<u64> = had.difference(&wanted).copied().collect();
        self.remove_labels(repo, number, actor, &removed);
        self.add_labels(repo, number, actor, &added);
    }

    pub(crate) fn add_labels(&mut self, repo: usize, number: u64, actor: &str, labels: &[u64]) {
        for id in labels {
            let Some(label) = self.repos[repo].label(*id).cloned() else { continue };
            let Some(issue) = self.repos[repo].issue_mut(number) else { return };
            if !issue.labels.contains(id) {
                issue.labels.push(*id);
                let is_pull = issue.is_pull();
                self.touch(repo, number);
                self.record(repo, number, actor, Happened::Labeled(label.clone()));
                self.announce_label(Topic::item(is_pull), "labeled", repo, number, actor, &label);
            }
        }
    }

    pub(crate) fn remove_labels(&mut self, repo: usize, number: u64, actor: &str, labels: &[u64]) {
        for id in labels {
            let Some(label) = self.repos[repo].label(*id).cloned() else { continue };
            let Some(issue) = self.repos[repo].issue_mut(number) else { return };
            if let Some(at) = issue.labels.iter().position(|other| other == id) {
                issue.labels.remove(at);
                let is_pull = issue.is_pull();
                self.touch(repo, number);
                self.record(repo, number, actor, Happened::Unlabeled(label.clone()));
                self.announce_label(Topic::item(is_pull), "unlabeled", repo, number, actor, &label);
            }
        }
    }

    /// Takes a label out of the repository, and so off every issue.
    pub(crate) fn delete_label(&mut self, repo: usize, id: u64) {
        let repository = &mut self.repos[repo];
        repository.labels.retain(|label| label.id != id);
        for issue in &mut repository.issues {
            issue.labels.retain(|label| *label != id);
        }
    }

    pub(crate) fn set_assignees(&mut self, repo: usize, number: u64, actor: &str, wanted: &[String]) {
        let races = self.has(Trap::AssigneeRace) && self.kind != super::Kind::GitHub;
        let Some(issue) = self.repos[repo].issue_mut(number) else { return };
        let mut kept = wanted.to_vec();
        if races && !wanted.is_empty() {
            // Each of several requests at once adds its own and sees nothing of the others' to remove.
            let others = issue.unsettled.iter().filter(|(_, by)| by != actor);
            kept.extend(others.map(|(who, _)| who.clone()).filter(|who| !wanted.contains(who)));
        }
        let added: Vec<String> = kept.iter().filter(|who| !issue.assignees.contains(who)).cloned().collect();
        let removed: Vec<String> =
            issue.assignees.iter().filter(|who| !kept.contains(who)).cloned().collect();
        issue.unsettled.extend(added.iter().map(|who| (who.clone(), actor.to_owned())));
        issue.unsettled.retain(|(who, _)| !removed.contains(who));
        issue.assignees.retain(|who| !removed.contains(who));
        issue.assignees.extend(added.iter().cloned());
        let is_pull = issue.is_pull();
        if added.is_empty() && removed.is_empty() {
            return;
        }
        self.touch(repo, number);
        let gone = removed.into_iter().map(Happened::Unassigned);
        for what in gone.chain(added.into_iter().map(Happened::Assigned)) {
            let action = if matches!(what, Happened::Assigned(_)) { "assigned" } else { "unassigned" };
            self.record(repo, number, actor, what);
            self.announce(Topic::item(is_pull), action, repo, Some(number), actor);
        }
    }

    pub(crate) fn comment(&mut self, repo: usize, number: u64, author: &str, body: &str) -> Option<Comment> {
        let id = self.id();
        self.touch(repo, number);
        let now = self.now;
        let comment =
            Comment { id, author: author.to_owned(), body: body.to_owned(), created: now, updated: now };
        self.repos[repo].issue_mut(number)?.comments.push(comment.clone());
        self.cross_reference(repo, number, author, body);
        self.announce_comment(repo, number, author, "created", id);
        Some(comment)
    }

    /// Finds a comment by its id; returns its issue's number too.
    pub(crate) fn find_comment(&self, repo: usize, id: u64) -> Option<(u64, &Comment)> {
        let issues = self.repos[repo].issues.iter();
        issues
            .flat_map(|issue| issue.comments.iter().map(|comment| (issue.number, comment)))
            .find(|(_, comment)| comment.id == id)
    }

    pub(crate) fn edit_comment(&mut self, repo: usize, number: u64, id: u64, body: &str, actor: &str) {
        self.touch(repo, number);
        let now = self.now;
        let Some(issue) = self.repos[repo].issue_mut(number) else { return };
        if let Some(comment) = issue.comments.iter_mut().find(|comment| comment.id == id) {
            (comment.body, comment.updated) = (body.to_owned(), now);
        }
        self.announce_comment(repo, number, actor, "edited", id);
    }

    pub(crate) fn delete_comment(&mut self, repo: usize, number: u64, id: u64) {
        self.touch(repo, number);
        if let Some(issue) = self.repos[repo].issue_mut(number) {
            issue.comments.retain(|comment| comment.id != id);
        }
    }

    /// Returns the dependencies of an issue that are still open.
    pub(crate) fn open_dependencies(&self, repo: usize, number: u64) -> Vec<u64> {
        let repository = &self.repos[repo];
        let all = repository.issue(number).map(|issue| issue.dependencies.clone()).unwrap_or_default();
        all.into_iter().filter(|other| repository.issue(*other).is_some_and(|issue| issue.is_open)).collect()
    }

    /// Says whether `from` waits for `to`, directly or by way of others.
    pub(crate) fn depends(&self, repo: usize, from: u64, to: u64) -> bool {
        let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
        while let Some(number) = left.pop() {
            if number == to {
                return true;
            }
            if seen.insert(number) {
                let issue = self.repos[repo].issue(number);
                left.extend(issue.map(|issue| issue.dependencies.clone()).unwrap_or_default());
            }
        }
        false
    }
}

/// Returns the numbers that a text names as `#7`.
pub(crate) fn mentioned(text: &str) -> Vec<u64> {
    let parts = text.split('#').skip(1);
    parts.filter_map(leading_number).collect()
}

fn leading_number(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Returns the issues that a text says it closes.
pub(crate) fn closes(text: &str) -> Vec<u64> {
    const WORDS: &[&str] =
        &["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];
    let mut found = Vec::new();
    for (at, _) in text.match_indices('#') {
        let before = text[..at].trim_end_matches(' ');
        if before.len() == at {
            continue;
        }
        let before = before.strip_suffix(':').unwrap_or(before);
        let word = before.rsplit(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default();
        if WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)) {
            found.extend(leading_number(&text[at + 1..]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_words_are_found() {
        assert_eq!(closes("Closes #12, fixes: #3 and see #4\nResolved #5."), [12, 3, 5]);
        assert_eq!(closes("encloses #1 fix#2 closing #3"), [] as [u64; 0]);
        assert_eq!(mentioned("see #4, #x and a#5"), [4, 5]);
    }
}
