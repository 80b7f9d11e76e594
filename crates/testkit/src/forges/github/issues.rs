//! Issues and their comments.

use serde_json::{Value, json};

use super::{Call, error, invalid, not_found, people, shapes};
use crate::forges::{
    hooks::Topic,
    http::{Answer, Reply},
    world::{Issue, Role, issues::Edit},
};

impl Call<'_> {
    pub(super) fn issues(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => self.list_issues(repo),
            ("POST", []) => self.create_issue(repo),
            ("GET", ["comments"]) => {
                let since = self.request.query("since").map(str::to_owned);
                let issues = self.repository(repo).issues.iter();
                let all =
                    issues.flat_map(|issue| issue.comments.iter().map(|comment| (issue.number, comment)));
                let all = all.filter(|(_, comment)| {
                    since.as_ref().is_none_or(|since| shapes::time(comment.updated) >= *since)
                });
                self.list(all.collect(), |(number, comment)| {
                    shapes::comment(self.world, repo, number, comment)
                })
            }
            (method, ["comments", id]) => self.comment(method, repo, id),
            ("GET", [number]) => {
                let number = self.number(repo, number)?;
                Ok(Answer::json(200, &shapes::issue(self.world, repo, number)))
            }
            ("PATCH", [number]) => {
                let number = self.number(repo, number)?;
                self.edit_issue(repo, number)
            }
            ("GET", [number, "comments"]) => {
                let number = self.number(repo, number)?;
                let since = self.request.query("since").map(str::to_owned);
                let issue = self.repository(repo).issue(number).ok_or_else(not_found)?;
                let all = issue.comments.iter();
                let all = all.filter(|comment| {
                    since.as_ref().is_none_or(|since| shapes::time(comment.updated) >= *since)
                });
                self.list(all.collect(), |comment| shapes::comment(self.world, repo, number, comment))
            }
            ("POST", [number, "comments"]) => {
                let number = self.number(repo, number)?;
                let login = self.login()?;
                let body = self.bounded("IssueComment", "body")?.filter(|body| !body.trim().is_empty());
                let body = body.ok_or_else(|| invalid("IssueComment", "body", "missing_field", None))?;
                let comment = self.world.comment(repo, number, &login, &body).ok_or_else(not_found)?;
                Ok(Answer::json(201, &shapes::comment(self.world, repo, number, &comment)))
            }
            (method @ ("POST" | "DELETE"), [number, "assignees"]) => {
                let number = self.number(repo, number)?;
                let login = self.need(repo, Role::Write)?;
                let named = self.texts("assignees").unwrap_or_default();
                let issue = self.repository(repo).issue(number).ok_or_else(not_found)?;
                let mut wanted = issue.assignees.clone();
                wanted.retain(|who| !named.contains(who));
                if method == "POST" {
                    wanted.extend(self.assignable(repo, named));
                }
                self.world.set_assignees(repo, number, &login, &wanted);
                let status = if method == "POST" { 201 } else { 200 };
                Ok(Answer::json(status, &shapes::issue(self.world, repo, number)))
            }
            _ => Err(not_found()),
        }
    }

    /// Returns those who can be assigned; others are left out without a word.
    fn assignable(&self, repo: usize, named: Vec<String>) -> Vec<String> {
        let members = people::members(self.world, repo);
        let known = |name: String| members.iter().find(|member| member.eq_ignore_ascii_case(&name)).cloned();
        named.into_iter().filter_map(known).collect()
    }

    fn list_issues(&self, repo: usize) -> Reply {
        let query = |name| self.request.query(name);
        let repository = self.repository(repo);
        let names: Vec<&str> =
            query("labels").map(|names| names.split(',').map(str::trim).collect()).unwrap_or_default();
        // A label that is not there is on no issue.
        let wanted: Vec<Option<u64>> =
            names.iter().map(|name| self.label_named(repo, name).map(|label| label.id)).collect();
        let is_wanted = |issue: &&Issue| {
            let state = match query("state").unwrap_or("open") {
                "open" => issue.is_open,
                "closed" => !issue.is_open,
                _ => true,
            };
            let assigned = query("assignee").is_none_or(|who| match who {
                "none" => issue.assignees.is_empty(),
                "*" => !issue.assignees.is_empty(),
                who => issue.assignees.iter().any(|other| other.eq_ignore_ascii_case(who)),
            });
            state
                && assigned
                && wanted.iter().all(|id| id.is_some_and(|id| issue.labels.contains(&id)))
                && query("since").is_none_or(|since| shapes::time(issue.updated).as_str() >= since)
                && query("creator").is_none_or(|who| issue.author.eq_ignore_ascii_case(who))
        };
        let mut all: Vec<&Issue> = repository.issues.iter().filter(is_wanted).collect();
        match query("sort").unwrap_or("created") {
            "updated" => all.sort_by_key(|issue| (issue.updated, issue.number)),
            "comments" => all.sort_by_key(|issue| (issue.comments.len(), issue.number)),
            _ => all.sort_by_key(|issue| issue.number),
        }
        if query("direction") != Some("asc") {
            all.reverse();
        }
        self.list(all, |issue| shapes::issue(self.world, repo, issue.number))
    }

    fn create_issue(&mut self, repo: usize) -> Reply {
        let login = self.login()?;
        let title = self.title("Issue")?.ok_or_else(|| invalid("Issue", "title", "missing_field", None))?;
        let body = self.bounded("Issue", "body")?.unwrap_or_default();
        let (labels, assignees) = (self.texts("labels"), self.texts("assignees"));
        let number = self.world.create_issue(repo, &login, &title, &body);
        // Whoever may not push files the issue all the same, without them.
        if self.role(repo) >= Role::Write {
            let labels = self.label_ids(repo, &labels.unwrap_or_default())?;
            self.world.add_labels(repo, number, &login, &labels);
            let assignees = self.assignable(repo, assignees.unwrap_or_default());
            self.world.set_assignees(repo, number, &login, &assignees);
        }
        self.world.announce(Topic::Issue, "opened", repo, Some(number), &login);
        let shown = shapes::issue(self.world, repo, number);
        let url = shown["url"].as_str().unwrap_or_default().to_owned();
        Ok(Answer::json(201, &shown).with("location", url))
    }

    /// Returns the title in the body; none if there is none. It may also be a number.
    fn title(&self, resource: &str) -> Result<Option<String>, Answer> {
        let title = match &self.body["title"] {
            Value::String(title) => Some(title.clone()),
            Value::Number(title) => Some(title.to_string()),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        if title.as_ref().is_some_and(|title| title.chars().count() > 256) {
            return Err(invalid(
                resource,
                "title",
                "custom",
                Some("title is too long (maximum is 256 characters)"),
            ));
        }
        Ok(title.filter(|title| !title.trim().is_empty()))
    }

    pub(super) fn edit_issue(&mut self, repo: usize, number: u64) -> Reply {
        let login = self.login()?;
        let is_writer = self.role(repo) >= Role::Write;
        let author = self.repository(repo).issue(number).ok_or_else(not_found)?.author.clone();
        if !is_writer && author != login {
            return Err(error(403, "Must have admin rights to Repository."));
        }
        let open = match self.body["state"].as_str() {
            Some("open") => Some(true),
            Some("closed") => Some(false),
            Some(_) => return Err(invalid("Issue", "state", "invalid", None)),
            None => None,
        };
        let mut edit = Edit {
            title: self.title("Issue")?,
            body: self.bounded("Issue", "body")?,
            open,
            state_reason: self.text("state_reason"),
            labels: None,
            assignees: None,
        };
        if self.body.get("body").is_some_and(Value::is_null) {
            edit.body = Some(String::new());
        }
        if is_writer {
            edit.labels = self.texts("labels").map(|names| self.label_ids(repo, &names)).transpose()?;
            edit.assignees = self.texts("assignees").map(|named| self.assignable(repo, named));
        }
        self.world.edit_issue(repo, number, &login, edit);
        Ok(Answer::json(200, &shapes::issue(self.world, repo, number)))
    }

    fn comment(&mut self, method: &str, repo: usize, id: &str) -> Reply {
        let id = id.parse().map_err(|_| not_found())?;
        let (number, comment) = self.world.find_comment(repo, id).ok_or_else(not_found)?;
        let author = comment.author.clone();
        if method == "GET" {
            return Ok(Answer::json(200, &shapes::comment(self.world, repo, number, comment)));
        }
        let login = self.login()?;
        if author != login && self.role(repo) < Role::Write {
            return Err(error(403, "Must have admin rights to Repository."));
        }
        match method {
            "PATCH" => {
                let body = self.bounded("IssueComment", "body")?.filter(|body| !body.is_empty());
                let body = body.ok_or_else(|| invalid("IssueComment", "body", "missing_field", None))?;
                self.world.edit_comment(repo, number, id, &body, &login);
                let (_, comment) = self.world.find_comment(repo, id).ok_or_else(not_found)?;
                Ok(Answer::json(200, &shapes::comment(self.world, repo, number, comment)))
            }
            "DELETE" => {
                self.world.delete_comment(repo, number, id);
                Ok(Answer::empty(204))
            }
            _ => Err(error(405, &json!("Method Not Allowed").to_string())),
        }
    }
}
