//! GitHub's REST API over a forge's state: who may do what, conditional requests, limits.

mod checks;
mod code;
mod graphql;
mod issues;
mod labels;
pub(crate) mod limits;
mod people;
mod pulls;
mod reviews;
pub(crate) mod runs;
mod search;
pub(crate) mod shapes;
mod timeline;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    double::Account,
    http::{Answer, Page, Reply, Request},
    world::{Repo, Role, World},
};

/// How many entries a page has, unless the query says otherwise, and at most.
const PAGE: (usize, usize) = (30, 100);
/// The most characters that a text may have.
const LONGEST: usize = 65_536;
const DOCS: &str = "https://docs.github.com/rest";

/// A request on its way through the API.
pub(crate) struct Call<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) request: &'a Request,
    pub(crate) account: &'a Account,
    pub(crate) body: Value,
}

/// Returns the path without the prefix that GitHub Enterprise Server has.
pub(crate) fn route(path: &str) -> &str {
    match path {
        "/api/graphql" => "/graphql",
        _ => path.strip_prefix("/api/v3").unwrap_or(path),
    }
}

/// Answers a request: identity first, then the limit, then the call, then whether the client has the answer already.
pub(crate) fn answer(world: &mut World, request: &Request, account: &Account) -> Answer {
    let path = route(&request.path);
    let prefix = request.path.strip_suffix(path).unwrap_or_default();
    world.api = format!("{}{prefix}", world.origin);
    if *account == Account::Unknown {
        return error(401, "Bad credentials");
    }
    let who = account.login().unwrap_or_else(|| "nobody".to_owned());
    if path == "/rate_limit" {
        let shown = limits::show(world, &who);
        return limits::add(world, &who, shown);
    }
    if limits::is_spent(world, &who) {
        let words = "API rate limit exceeded for this account. Please wait for the reset.";
        return limits::add(world, &who, error(403, words));
    }
    let mut call = Call { world, request, account, body: request.json() };
    let answer = call.answer(path).unwrap_or_else(|refused| refused);
    let answer = conditional(request, answer);
    if answer.status != 304 {
        limits::count(world, &who);
    }
    limits::add(world, &who, answer)
}

/// Adds an ETag, or says that nothing has changed.
pub(crate) fn conditional(request: &Request, answer: Answer) -> Answer {
    if request.method != "GET" || answer.status != 200 {
        return answer;
    }
    let digest: String =
        Sha256::digest(&answer.body).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("W/\"{digest}\"");
    let bare = |text: &str| text.trim().trim_start_matches("W/").to_owned();
    let is_known = request
        .header("if-none-match")
        .is_some_and(|known| known.split(',').any(|one| bare(one) == bare(&tag) || one.trim() == "*"));
    if is_known {
        return Answer { headers: answer.headers, ..Answer::empty(304) }.with("etag", tag);
    }
    answer.with("etag", tag)
}

/// Refuses with a message as GitHub does.
pub(crate) fn error(status: u16, message: &str) -> Answer {
    let body = json!({ "message": message, "documentation_url": DOCS, "status": status.to_string() });
    Answer::json(status, &body)
}

/// Refuses what a client has sent, with the field and why.
pub(crate) fn invalid(resource: &str, field: &str, code: &str, message: Option<&str>) -> Answer {
    let mut problem = json!({ "resource": resource, "field": field, "code": code });
    if let Some(message) = message {
        problem["message"] = json!(message);
    }
    let body = json!({ "message": "Validation Failed", "errors": [problem], "documentation_url": DOCS, "status": "422" });
    Answer::json(422, &body)
}

pub(crate) fn not_found() -> Answer {
    error(404, "Not Found")
}

impl Call<'_> {
    fn answer(&mut self, path: &str) -> Reply {
        let segments = self.request.segments();
        let all: Vec<&str> = segments.iter().map(String::as_str).collect();
        let all =
            if path == self.request.path { all.as_slice() } else { &all[path_prefix(self.request, path)..] };
        let method = self.request.method.clone();
        match (method.as_str(), all) {
            ("POST", ["graphql"]) => graphql::answer(self),
            ("GET", ["user"]) => self.whoami(),
            ("GET", ["users", login]) => self.somebody(login),
            ("GET", ["search", "issues"]) => self.search(),
            ("GET", []) => {
                Ok(Answer::json(200, &json!({ "current_user_url": format!("{}/user", self.world.api) })))
            }
            (method, ["repos", owner, name, rest @ ..]) => {
                let repo = self.repo(owner, name)?;
                self.in_repo(method, repo, rest)
            }
            _ => Err(not_found()),
        }
    }

    fn in_repo(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        if method != "GET" {
            self.login()?;
            if self.world.repos[repo].is_archived {
                return Err(error(403, "Repository was archived so is read-only."));
            }
        }
        match rest {
            [] => {
                let account = self.account.login();
                Ok(Answer::json(200, &shapes::full_repo(self.world, repo, account.as_deref())))
            }
            ["collaborators", rest @ ..] | ["assignees", rest @ ..] => self.people(method, repo, rest),
            ["labels", rest @ ..] => self.labels(method, repo, rest),
            ["issues", number, "labels", rest @ ..] => {
                let number = self.number(repo, number)?;
                self.issue_labels(method, repo, number, rest)
            }
            ["issues", number, kind @ ("timeline" | "events")] if method == "GET" => {
                let number = self.number(repo, number)?;
                self.history(repo, number, *kind == "timeline")
            }
            ["issues", rest @ ..] => self.issues(method, repo, rest),
            ["pulls", number, kind @ ("reviews" | "comments" | "requested_reviewers"), rest @ ..] => {
                let number = self.pull_number(repo, number)?;
                self.reviews(method, repo, number, kind, rest)
            }
            ["pulls", "comments", rest @ ..] => self.review_comments(method, repo, rest),
            ["pulls", rest @ ..] => self.pulls(method, repo, rest),
            ["statuses", sha] if method == "POST" => self.set_status(repo, sha),
            ["commits", sha, kind @ ("status" | "statuses" | "check-runs" | "check-suites")]
                if method == "GET" =>
            {
                self.checks(repo, sha, kind)
            }
            ["check-runs", id] if method == "GET" => self.check_run(repo, id),
            ["actions", rest @ ..] => self.actions(method, repo, rest),
            _ => self.code(method, repo, rest),
        }
    }

    /// Returns the login of whoever asks, or refuses.
    pub(crate) fn login(&self) -> Result<String, Answer> {
        self.account.login().ok_or_else(|| error(401, "Requires authentication"))
    }

    pub(crate) fn role(&self, repo: usize) -> Role {
        self.world.role(&self.world.repos[repo], self.account.login().as_deref())
    }

    /// Refuses whoever may do less than that.
    pub(crate) fn need(&self, repo: usize, role: Role) -> Result<String, Answer> {
        let login = self.login()?;
        if self.role(repo) >= role {
            return Ok(login);
        }
        let words = if role == Role::Admin {
            "Must have admin rights to Repository."
        } else {
            "Must have push access to repository"
        };
        Err(error(403, words))
    }

    fn repo(&self, owner: &str, name: &str) -> Result<usize, Answer> {
        let repo = self.world.find(owner, name).ok_or_else(not_found)?;
        let is_hidden = self.world.repos[repo].is_private && self.role(repo) == Role::None;
        if is_hidden { Err(not_found()) } else { Ok(repo) }
    }

    pub(crate) fn number(&self, repo: usize, text: &str) -> Result<u64, Answer> {
        let number = text.parse().map_err(|_| not_found())?;
        self.world.repos[repo].issue(number).map(|issue| issue.number).ok_or_else(not_found)
    }

    pub(crate) fn pull_number(&self, repo: usize, text: &str) -> Result<u64, Answer> {
        let number = self.number(repo, text)?;
        self.world.repos[repo].pull(number).map(|_| number).ok_or_else(not_found)
    }

    pub(crate) fn repository(&self, repo: usize) -> &Repo {
        &self.world.repos[repo]
    }

    /// Returns a text of the body; none if it is absent or null.
    pub(crate) fn text(&self, field: &str) -> Option<String> {
        self.body[field].as_str().map(str::to_owned)
    }

    /// Returns a text of the body that is not too long.
    pub(crate) fn bounded(&self, resource: &str, field: &str) -> Result<Option<String>, Answer> {
        let text = self.text(field);
        if text.as_ref().is_some_and(|text| text.chars().count() > LONGEST) {
            let words = format!("{field} is too long (maximum is {LONGEST} characters)");
            return Err(invalid(resource, field, "custom", Some(&words)));
        }
        Ok(text)
    }

    /// Returns the texts of a list in the body; none if it is absent.
    pub(crate) fn texts(&self, field: &str) -> Option<Vec<String>> {
        let list = self.body[field].as_array()?;
        let text = |value: &Value| value.as_str().or_else(|| value["name"].as_str()).map(str::to_owned);
        Some(list.iter().filter_map(text).collect())
    }

    pub(crate) fn page(&self) -> Page {
        Page::of(self.request, "per_page", PAGE.0, PAGE.1)
    }

    /// Answers with one page of a list.
    pub(crate) fn list<T>(&self, all: Vec<T>, show: impl Fn(T) -> Value) -> Reply {
        let total = all.len();
        let shown: Vec<Value> = self.page().cut(all).into_iter().map(show).collect();
        Ok(self.linked(Answer::json(200, &Value::Array(shown)), total))
    }

    /// Answers with one page of a list that stands in an object beside its length.
    pub(crate) fn counted<T>(&self, key: &str, all: Vec<T>, show: impl Fn(T) -> Value) -> Reply {
        let total = all.len();
        let shown: Vec<Value> = self.page().cut(all).into_iter().map(show).collect();
        Ok(self.linked(Answer::json(200, &json!({ "total_count": total, key: shown })), total))
    }

    fn linked(&self, answer: Answer, total: usize) -> Answer {
        match self.page().link(self.request, &self.request.path, total) {
            Some(link) => answer.with("link", link),
            None => answer,
        }
    }
}

/// Returns how many segments stand before the API's own.
fn path_prefix(request: &Request, path: &str) -> usize {
    let count = |text: &str| text.split('/').filter(|part| !part.is_empty()).count();
    count(&request.path) - count(path)
}
