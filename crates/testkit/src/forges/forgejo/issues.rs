//! Issues, comments, dependencies, timelines.

use serde_json::{Value, json};

use super::{Call, shapes};
use crate::forges::{
    hooks::Topic,
    http::{Answer, Page, Reply},
    traps::Trap,
    world::{Comment, Event, Happened, Issue, Kind, Role, issues::Edit, pulls::Entry},
};

/// The most characters that a text may have where texts have a limit.
const LONGEST: usize = 65_536;

impl Call<'_> {
    pub(super) fn issues(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => self.list_issues(repo),
            ("POST", []) => self.create_issue(repo),
            ("GET", ["comments"]) => {
                let issues = self.repository(repo).issues.iter();
                let all =
                    issues.flat_map(|issue| issue.comments.iter().map(|comment| (issue.number, comment)));
                let all: Vec<(u64, &Comment)> =
                    all.filter(|(_, comment)| self.is_since(comment.updated)).collect();
                self.list(all, |(number, comment)| shapes::comment(self.world, repo, number, comment))
            }
            (method, ["comments", id]) => self.comment(method, repo, id),
            (method, [number, rest @ ..]) => {
                let number = self.number(repo, number)?;
                self.one_issue(method, repo, number, rest)
            }
            _ => Err(self.not_found()),
        }
    }

    fn one_issue(&mut self, method: &str, repo: usize, number: u64, rest: &[&str]) -> Reply {
        let issue = self.repository(repo).issue(number).ok_or_else(|| self.not_found())?;
        match (method, rest) {
            ("GET", []) => Ok(Answer::json(200, &shapes::issue(self.world, repo, number))),
            ("PATCH", []) => self.edit_issue(repo, number),
            ("GET", ["comments"]) => {
                let all: Vec<&Comment> =
                    issue.comments.iter().filter(|comment| self.is_since(comment.updated)).collect();
                let show = |comment: &Comment| shapes::comment(self.world, repo, number, comment);
                if self.world.has(Trap::UnpaginatedComments) {
                    let total = all.len();
                    let shown = Value::Array(all.into_iter().map(show).collect());
                    return Ok(Answer::json(200, &shown).with("x-total-count", total.to_string()));
                }
                self.list(all, show)
            }
            ("POST", ["comments"]) => {
                let login = self.login()?;
                let body = self.bounded("body")?.filter(|body| !body.is_empty());
                let body = body.ok_or_else(|| self.refuse(422, "[Body]: Required"))?;
                let made = self.world.comment(repo, number, &login, &body);
                let comment = made.ok_or_else(|| self.not_found())?;
                Ok(Answer::json(201, &shapes::comment(self.world, repo, number, &comment)))
            }
            ("GET", ["timeline"]) if self.world.has(Trap::Timeline) => self.timeline(repo, number),
            (method @ ("GET" | "POST" | "DELETE"), ["dependencies"]) => {
                self.dependencies(method, repo, number)
            }
            (method @ ("POST" | "DELETE"), ["assignees"]) if self.world.kind == Kind::Gitea => {
                let login = self.need(repo, Role::Write)?;
                let named = self.texts("assignees").unwrap_or_default();
                let mut wanted = issue.assignees.clone();
                wanted.retain(|who| !named.contains(who));
                if method == "POST" {
                    wanted.extend(named);
                }
                self.world.set_assignees(repo, number, &login, &wanted);
                Ok(Answer::json(201, &shapes::issue(self.world, repo, number)))
            }
            _ => Err(self.not_found()),
        }
    }

    fn is_since(&self, at: jiff::Timestamp) -> bool {
        let since = self.request.query("since").and_then(|since| since.parse::<jiff::Timestamp>().ok());
        since.is_none_or(|since| at >= since)
    }

    fn bounded(&self, field: &str) -> Result<Option<String>, Answer> {
        let text = self.text(field);
        let is_long = text.as_ref().is_some_and(|text| text.chars().count() > LONGEST);
        if is_long && !self.world.has(Trap::UnlimitedText) {
            return Err(self.refuse(422, "the text is too long"));
        }
        Ok(text)
    }

    fn is_wanted(&self, repo: usize, issue: &Issue) -> bool {
        let query = |name| self.request.query(name);
        let repository = self.repository(repo);
        let state = match query("state").unwrap_or("open") {
            "closed" => !issue.is_open,
            "all" => true,
            _ => issue.is_open,
        };
        let kind = match query("type") {
            Some("issues") => !issue.is_pull(),
            Some("pulls") => issue.is_pull(),
            _ => true,
        };
        let named: Vec<&str> = query("labels").map(|names| names.split(',').collect()).unwrap_or_default();
        let drops = self.world.has(Trap::DroppedLabelFilter);
        let labels = named.iter().all(|name| {
            let ids: Vec<u64> =
                repository.labels.iter().filter(|label| label.name == *name).map(|label| label.id).collect();
            // A name that is not there asks for nothing.
            (ids.is_empty() && drops) || ids.iter().any(|id| issue.labels.contains(id))
        });
        let assigned = query("assigned_by")
            .is_none_or(|who| issue.assignees.iter().any(|other| other.eq_ignore_ascii_case(who)));
        let created = query("created_by").is_none_or(|who| issue.author.eq_ignore_ascii_case(who));
        let text = query("q").is_none_or(|word| {
            let word = word.to_lowercase();
            [&issue.title, &issue.body].iter().any(|text| text.to_lowercase().contains(&word))
        });
        state && kind && labels && assigned && created && text && self.is_since(issue.updated)
    }

    fn list_issues(&self, repo: usize) -> Reply {
        let issues = self.repository(repo).issues.iter();
        let mut all: Vec<&Issue> = issues.filter(|issue| self.is_wanted(repo, issue)).collect();
        let sort = if self.world.kind == Kind::Gitea { None } else { self.request.query("sort") };
        match sort {
            Some("oldest") => all.sort_by_key(|issue| issue.id),
            Some("recentupdate") => all.sort_by_key(|issue| std::cmp::Reverse((issue.updated, issue.id))),
            Some("leastupdate") => all.sort_by_key(|issue| (issue.updated, issue.id)),
            _ => all.sort_by_key(|issue| std::cmp::Reverse(issue.id)),
        }
        self.list(all, |issue| shapes::issue(self.world, repo, issue.number))
    }

    /// Lists the issues of all repositories.
    pub(super) fn search(&self) -> Reply {
        let mut found = Vec::new();
        for (repo, repository) in self.world.repos.iter().enumerate() {
            if !repository.is_private || self.role(repo) > Role::None {
                let issues = repository.issues.iter().filter(|issue| self.is_wanted(repo, issue));
                found.extend(issues.map(|issue| (repo, issue.number, issue.id)));
            }
        }
        found.sort_by_key(|(_, _, id)| std::cmp::Reverse(*id));
        self.list(found, |(repo, number, _)| shapes::issue(self.world, repo, number))
    }

    fn create_issue(&mut self, repo: usize) -> Reply {
        let login = self.login()?;
        let title = self.text("title").filter(|title| !title.trim().is_empty());
        let title = title.ok_or_else(|| self.refuse(422, "[Title]: Required"))?;
        let body = self.bounded("body")?.unwrap_or_default();
        let number = self.world.create_issue(repo, &login, &title, &body);
        if self.role(repo) >= Role::Write {
            let ids = self.body["labels"].as_array().cloned().unwrap_or_default();
            let ids: Vec<u64> = ids.iter().filter_map(Value::as_u64).collect();
            self.world.add_labels(repo, number, &login, &ids);
            let assignees = self.texts("assignees").unwrap_or_default();
            self.world.set_assignees(repo, number, &login, &assignees);
        }
        if self.body["closed"] == true {
            self.world.edit_issue(repo, number, &login, Edit { open: Some(false), ..Edit::default() });
        }
        self.world.announce(Topic::Issue, "opened", repo, Some(number), &login);
        Ok(Answer::json(201, &shapes::issue(self.world, repo, number)))
    }

    /// Reads the state that a body asks for; a word that is none is no change, or refused by Gitea.
    pub(super) fn wanted_state(&self) -> Result<Option<bool>, Answer> {
        match self.body["state"].as_str() {
            None => Ok(None),
            Some("open") => Ok(Some(true)),
            Some("closed") => Ok(Some(false)),
            Some(_) if self.world.kind != Kind::Gitea && self.world.has(Trap::IgnoredState) => Ok(None),
            Some(_) => Err(self.refuse(412, "unknown state")),
        }
    }

    pub(super) fn edit_issue(&mut self, repo: usize, number: u64) -> Reply {
        let login = self.login()?;
        let issue = self.repository(repo).issue(number).ok_or_else(|| self.not_found())?;
        let is_writer = self.role(repo) >= Role::Write;
        if !is_writer && issue.author != login {
            return Err(self.refuse(403, "user should have a permission to write to a repo"));
        }
        let open = self.wanted_state()?;
        let waits =
            self.world.has(Trap::OpenDependencies) && !self.world.open_dependencies(repo, number).is_empty();
        if open == Some(false) && waits {
            return Err(self.refuse(412, "cannot close this issue because it still has open dependencies"));
        }
        let assignees = self.texts("assignees").filter(|_| is_writer);
        if let Some(unknown) = assignees.iter().flatten().find(|who| self.world.user(who).is_none()) {
            return Err(self.refuse(422, &format!("Assignee does not exist: [name: {unknown}]")));
        }
        let edit = Edit {
            title: self.text("title").filter(|title| !title.is_empty()),
            body: self.bounded("body")?,
            open,
            assignees,
            ..Edit::default()
        };
        self.world.edit_issue(repo, number, &login, edit);
        Ok(Answer::json(201, &shapes::issue(self.world, repo, number)))
    }

    fn comment(&mut self, method: &str, repo: usize, id: &str) -> Reply {
        let id = id.parse().map_err(|_| self.not_found())?;
        let (number, comment) = self.world.find_comment(repo, id).ok_or_else(|| self.not_found())?;
        let author = comment.author.clone();
        if method == "GET" {
            return Ok(Answer::json(200, &shapes::comment(self.world, repo, number, comment)));
        }
        let login = self.login()?;
        if author != login && self.role(repo) < Role::Write {
            return Err(self.refuse(403, "user should have a permission to write to a repo"));
        }
        match method {
            "PATCH" => {
                let body = self.bounded("body")?.ok_or_else(|| self.refuse(422, "[Body]: Required"))?;
                self.world.edit_comment(repo, number, id, &body, &login);
                let (_, comment) = self.world.find_comment(repo, id).ok_or_else(|| self.not_found())?;
                Ok(Answer::json(200, &shapes::comment(self.world, repo, number, comment)))
            }
            "DELETE" => {
                self.world.delete_comment(repo, number, id);
                Ok(Answer::empty(204))
            }
            _ => Err(self.not_found()),
        }
    }

    fn dependencies(&mut self, method: &str, repo: usize, number: u64) -> Reply {
        if method == "GET" {
            let issue = self.repository(repo).issue(number).ok_or_else(|| self.not_found())?;
            return self.list(issue.dependencies.clone(), |other| shapes::issue(self.world, repo, other));
        }
        self.need(repo, Role::Write)?;
        let other = self.body["index"].as_u64().unwrap_or_default();
        if self.repository(repo).issue(other).is_none() {
            return Err(self.not_found());
        }
        let is_circular = method == "POST" && self.world.depends(repo, other, number);
        if is_circular {
            return Err(self.own_fault("circular dependencies exist"));
        }
        if let Some(issue) = self.world.repos[repo].issue_mut(number) {
            issue.dependencies.retain(|known| *known != other);
            if method == "POST" {
                issue.dependencies.push(other);
            }
        }
        let status = if method == "POST" { 201 } else { 200 };
        Ok(Answer::json(status, &shapes::issue(self.world, repo, number)))
    }

    /// Answers bad input as the server does: as if it were its own fault, without a word.
    pub(super) fn own_fault(&self, words: &str) -> Answer {
        if self.world.has(Trap::EmptyServerError) {
            return self.refuse(500, "");
        }
        self.refuse(422, words)
    }

    fn timeline(&self, repo: usize, number: u64) -> Reply {
        let issue = self.repository(repo).issue(number).ok_or_else(|| self.not_found())?;
        let mut shown = Vec::new();
        for entry in issue.timeline() {
            let entry = match entry {
                Entry::Comment(comment) => {
                    let mut entry =
                        self.entry(repo, number, comment.id, &comment.author, comment.created, "comment");
                    entry["body"] = json!(comment.body);
                    entry["updated_at"] = json!(shapes::time(comment.updated));
                    Some((comment.created, entry))
                }
                Entry::Event(event) => self.event(repo, number, event).map(|entry| (event.at, entry)),
            };
            shown.extend(entry.filter(|(at, _)| self.is_since(*at)).map(|(_, entry)| entry));
        }
        let total = shown.len();
        let page = Page::of(self.request, "limit", super::PAGE.0, super::PAGE.1);
        let shown = Value::Array(page.cut(shown));
        Ok(Answer::json(200, &shown).with("x-total-count", total.to_string()))
    }

    fn entry(
        &self,
        repo: usize,
        number: u64,
        id: u64,
        actor: &str,
        at: jiff::Timestamp,
        kind: &str,
    ) -> Value {
        let repository = self.repository(repo);
        let is_pull = repository.issue(number).is_some_and(Issue::is_pull);
        let web = shapes::web(self.world, repository);
        let page = if is_pull { format!("{web}/pulls/{number}") } else { format!("{web}/issues/{number}") };
        json!({
            "id": id, "type": kind, "html_url": format!("{page}#issuecomment-{id}"),
            "pull_request_url": if is_pull { page.as_str() } else { "" },
            "issue_url": if is_pull { "" } else { page.as_str() }, "user": shapes::user(self.world, actor),
            "body": "", "created_at": shapes::time(at), "updated_at": shapes::time(at), "old_project_id": 0,
            "project_id": 0, "old_milestone": null, "milestone": null, "tracked_time": null, "old_title": "",
            "new_title": "", "old_ref": "", "new_ref": "", "ref_issue": null, "ref_comment": null, "ref_action": "",
            "ref_commit_sha": "", "review_id": 0, "label": null, "assignee": null, "assignee_team": null,
            "removed_assignee": false, "resolve_doer": null, "dependent_issue": null,
        })
    }

    fn event(&self, repo: usize, number: u64, event: &Event) -> Option<Value> {
        let base = |kind: &str| self.entry(repo, number, event.id, &event.actor, event.at, kind);
        let with = |kind: &str, more: &[(&str, Value)]| {
            let mut entry = base(kind);
            for (key, value) in more {
                entry[*key] = value.clone();
            }
            Some(entry)
        };
        match &event.what {
            // What was added has the body "1", what was removed an empty one.
            Happened::Labeled(label) => {
                with("label", &[("body", json!("1")), ("label", shapes::label(self.world, repo, label))])
            }
            Happened::Unlabeled(label) => with("label", &[("label", shapes::label(self.world, repo, label))]),
            Happened::Assigned(who) => with("assignees", &[("assignee", shapes::user(self.world, who))]),
            Happened::Unassigned(who) => {
                let who = shapes::user(self.world, who);
                with("assignees", &[("assignee", who), ("removed_assignee", json!(true))])
            }
            Happened::Closed => with("close", &[]),
            Happened::Reopened => with("reopen", &[]),
            Happened::Renamed { from, to } => {
                with("change_title", &[("old_title", json!(from)), ("new_title", json!(to))])
            }
            Happened::Referenced(from) => {
                let is_pull = self.repository(repo).issue(*from).is_some_and(Issue::is_pull);
                let kind = if is_pull { "pull_ref" } else { "issue_ref" };
                with(
                    kind,
                    &[("ref_issue", shapes::issue(self.world, repo, *from)), ("ref_action", json!("none"))],
                )
            }
            Happened::Merged(sha) => with("merge_pull", &[("ref_commit_sha", json!(sha))]),
            Happened::HeadDeleted => with("delete_branch", &[]),
            Happened::Committed(sha) => {
                let text = json!({ "is_force_push": false, "commit_ids": [sha] }).to_string();
                with("pull_push", &[("body", json!(text))])
            }
            Happened::ForcePushed { before, after } => {
                let text = json!({ "is_force_push": true, "commit_ids": [before, after] }).to_string();
                with("pull_push", &[("body", json!(text))])
            }
            Happened::ReviewRequested(who) => {
                with("review_request", &[("assignee", shapes::user(self.world, who))])
            }
            Happened::Reviewed(id) => {
                let (_, pull) = self.repository(repo).pull(number)?;
                let review = pull.review(*id)?;
                with("review", &[("body", json!(review.body)), ("review_id", json!(id))])
            }
            Happened::ReviewDismissed { review, message } => {
                with("dismiss_review", &[("body", json!(message)), ("review_id", json!(review))])
            }
            // A draft is a title here.
            Happened::Drafted(_) => None,
        }
    }
}
