//! What has happened to an issue, as events and as a timeline.

use serde_json::{Value, json};

use super::{Call, not_found, shapes};
use crate::forges::{
    http::Reply,
    traps::Trap,
    world::{Event, Happened, Repo, World, pulls::Entry},
};

impl Call<'_> {
    pub(super) fn history(&self, repo: usize, number: u64, is_timeline: bool) -> Reply {
        if is_timeline && !self.world.has(Trap::Timeline) {
            return Err(not_found());
        }
        let repository = self.repository(repo);
        let issue = repository.issue(number).ok_or_else(not_found)?;
        let mut shown = Vec::new();
        for entry in issue.timeline() {
            match entry {
                Entry::Comment(comment) if is_timeline => {
                    let comment_shown = shapes::comment(self.world, repo, number, comment);
                    let actor = shapes::user(self.world, &comment.author);
                    shown.push(shapes::with(
                        comment_shown,
                        &[("event", json!("commented")), ("actor", actor)],
                    ));
                }
                Entry::Comment(_) => {}
                Entry::Event(event) => shown.extend(self.event(repo, number, event, is_timeline)),
            }
        }
        self.list(shown, |entry| entry)
    }

    /// Shows an event; none where it is not shown.
    fn event(&self, repo: usize, number: u64, event: &Event, is_timeline: bool) -> Option<Value> {
        let (world, repository) = (&*self.world, self.repository(repo));
        let base = |name: &str| base(world, repository, event, name);
        let plain = |name: &str, more: &[(&str, Value)]| Some(shapes::with(base(name), more));
        match &event.what {
            Happened::Labeled(label) => {
                plain("labeled", &[("label", json!({ "name": label.name, "color": label.color }))])
            }
            Happened::Unlabeled(label) => {
                plain("unlabeled", &[("label", json!({ "name": label.name, "color": label.color }))])
            }
            Happened::Assigned(who) | Happened::Unassigned(who) => {
                let is_new = matches!(event.what, Happened::Assigned(_));
                let name = if is_new { "assigned" } else { "unassigned" };
                let assigner = shapes::user(world, &event.actor);
                plain(name, &[("assignee", shapes::user(world, who)), ("assigner", assigner)])
            }
            Happened::Closed => plain("closed", &[("state_reason", json!("completed"))]),
            Happened::Reopened => plain("reopened", &[]),
            Happened::Renamed { from, to } => {
                plain("renamed", &[("rename", json!({ "from": from, "to": to }))])
            }
            Happened::Merged(sha) => plain("merged", &[("commit_id", json!(sha))]),
            Happened::HeadDeleted => plain("head_ref_deleted", &[]),
            Happened::ForcePushed { after, .. } => {
                plain("head_ref_force_pushed", &[("commit_id", json!(after))])
            }
            Happened::Drafted(true) => plain("convert_to_draft", &[]),
            Happened::Drafted(false) => plain("ready_for_review", &[]),
            Happened::ReviewRequested(who) => {
                let requester = shapes::user(world, &event.actor);
                let reviewer = shapes::user(world, who);
                plain(
                    "review_requested",
                    &[("review_requester", requester), ("requested_reviewer", reviewer)],
                )
            }
            Happened::ReviewDismissed { review, message } => {
                let details =
                    json!({ "state": "approved", "review_id": review, "dismissal_message": message });
                plain("review_dismissed", &[("dismissed_review", details)])
            }
            // The rest is shown in the timeline alone, and has shapes of its own.
            Happened::Referenced(from) => {
                let source = json!({ "type": "issue", "issue": shapes::issue(world, repo, *from) });
                let at = shapes::time(event.at);
                let actor = shapes::user(world, &event.actor);
                is_timeline.then(|| {
                    json!({ "event": "cross-referenced", "actor": actor, "created_at": at, "updated_at": at,
                        "source": source })
                })
            }
            Happened::Committed(sha) => {
                let commit = repository.bare.history(sha, 1).pop().filter(|_| is_timeline)?;
                Some(committed(&shapes::commit(world, repo, &commit)))
            }
            Happened::Reviewed(id) => {
                let (_, pull) = repository.pull(number)?;
                let review = pull.review(*id).filter(|_| is_timeline)?;
                Some(shapes::with(
                    shapes::review(world, repo, number, review),
                    &[("event", json!("reviewed"))],
                ))
            }
        }
    }
}

fn base(world: &World, repository: &Repo, event: &Event, name: &str) -> Value {
    let url = format!("{}/issues/events/{}", shapes::repo_url(world, repository), event.id);
    json!({
        "id": event.id, "node_id": format!("E_{}", event.id), "url": url, "event": name,
        "actor": shapes::user(world, &event.actor), "commit_id": null, "commit_url": null,
        "created_at": shapes::time(event.at), "performed_via_github_app": null,
    })
}

/// Shows a commit as timelines do, without the objects around it.
fn committed(commit: &Value) -> Value {
    let inner = &commit["commit"];
    json!({
        "event": "committed", "sha": commit["sha"], "node_id": commit["node_id"], "url": inner["url"],
        "html_url": commit["html_url"], "author": inner["author"], "committer": inner["committer"],
        "tree": inner["tree"], "message": inner["message"], "parents": commit["parents"],
        "verification": inner["verification"],
    })
}
