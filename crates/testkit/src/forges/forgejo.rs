//! Forgejo's API over a forge's state, and where Gitea differs.

mod checks;
mod code;
mod issues;
mod labels;
mod pulls;
mod reviews;
pub(crate) mod runs;
pub(crate) mod shapes;

use serde_json::{Value, json};

use super::{
    double::Account,
    http::{Answer, Page, Reply, Request},
    traps::Trap,
    world::{Kind, Repo, Role, World},
};

/// How many entries a page has, unless the query says otherwise, and at most.
const PAGE: (usize, usize) = (30, 50);

/// A request on its way through the API.
pub(crate) struct Call<'a> {
    pub(crate) world: &'a mut World,
    pub(crate) request: &'a Request,
    pub(crate) account: &'a Account,
    pub(crate) body: Value,
}

/// Returns the path without the API's prefix.
pub(crate) fn route(path: &str) -> &str {
    path.strip_prefix("/api/v1").unwrap_or(path)
}

pub(crate) fn answer(world: &mut World, request: &Request, account: &Account) -> Answer {
    let is_conditional = !world.has(Trap::NoConditionalRequests);
    let Some(path) = request.path.strip_prefix("/api/v1") else {
        return Answer::text(404, "404 page not found");
    };
    if *account == Account::Unknown {
        return refuse(world, 401, "user does not exist [uid: 0, name: ]");
    }
    let mut call = Call { world, request, account, body: request.json() };
    let answer = call.answer(path).unwrap_or_else(|refused| refused);
    if is_conditional { super::github::conditional(request, answer) } else { answer }
}

/// Refuses with a message, and the page that describes the API.
pub(crate) fn refuse(world: &World, status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({ "message": message, "url": format!("{}/api/swagger", world.origin) }))
}

impl Call<'_> {
    fn answer(&mut self, path: &str) -> Reply {
        let segments: Vec<String> = self.request.segments().into_iter().skip(2).collect();
        let all: Vec<&str> = segments.iter().map(String::as_str).collect();
        let method = self.request.method.clone();
        match (method.as_str(), all.as_slice()) {
            ("GET", ["version"]) => Ok(Answer::json(200, &json!({ "version": self.version() }))),
            ("GET", ["user"]) => {
                let login = self.login()?;
                Ok(Answer::json(200, &shapes::user(self.world, &login)))
            }
            ("GET", ["users", login]) => {
                let user = self.world.user(login).ok_or_else(|| self.not_found())?;
                Ok(Answer::json(200, &shapes::user(self.world, &user.login)))
            }
            ("GET", ["repos", "issues", "search"]) => self.search(),
            (method, ["repos", owner, name, rest @ ..]) => {
                let repo = self.repo(owner, name)?;
                self.in_repo(method, repo, rest)
            }
            _ => Err(refuse(self.world, 404, &format!("{path} is not there"))),
        }
    }

    /// Returns the version as the server says it.
    fn version(&self) -> String {
        match self.world.kind {
            Kind::Forgejo(major) => format!("{major}.0.0+gitea-1.22.0"),
            Kind::Gitea => "1.27.0".to_owned(),
            Kind::GitHub => String::new(),
        }
    }

    fn in_repo(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        if method != "GET" {
            self.login()?;
            if self.repository(repo).is_archived {
                return Err(refuse(
                    self.world,
                    423,
                    &format!("{} is archived", self.repository(repo).full_name()),
                ));
            }
        }
        match rest {
            [] if method == "GET" => {
                let account = self.account.login();
                Ok(Answer::json(200, &shapes::repo(self.world, repo, account.as_deref())))
            }
            ["collaborators", rest @ ..] if method == "GET" => self.collaborators(repo, rest),
            ["assignees"] if method == "GET" => {
                let people: Vec<Value> =
                    self.members(repo).iter().map(|login| shapes::user(self.world, login)).collect();
                Ok(Answer::json(200, &Value::Array(people)))
            }
            ["labels", rest @ ..] => self.labels(method, repo, rest),
            ["issues", number, "labels", rest @ ..] => {
                let number = self.number(repo, number)?;
                self.issue_labels(method, repo, number, rest)
            }
            ["issues", rest @ ..] => self.issues(method, repo, rest),
            ["pulls", number, "reviews", rest @ ..] => {
                let number = self.pull_number(repo, number)?;
                self.reviews(method, repo, number, rest)
            }
            ["pulls", rest @ ..] => self.pulls(method, repo, rest),
            ["statuses", sha] => self.statuses(method, repo, sha),
            ["commits", sha, kind @ ("status" | "statuses")] if method == "GET" => {
                self.checks(repo, sha, kind)
            }
            ["actions", rest @ ..] => self.actions(method, repo, rest),
            _ => self.code(method, repo, rest),
        }
    }

    pub(crate) fn not_found(&self) -> Answer {
        // The same words for everything that is not there.
        refuse(self.world, 404, "The target couldn't be found.")
    }

    pub(crate) fn refuse(&self, status: u16, message: &str) -> Answer {
        refuse(self.world, status, message)
    }

    pub(crate) fn login(&self) -> Result<String, Answer> {
        self.account.login().ok_or_else(|| refuse(self.world, 401, "token is required"))
    }

    pub(crate) fn role(&self, repo: usize) -> Role {
        self.world.role(self.repository(repo), self.account.login().as_deref())
    }

    /// Refuses whoever may do less than that.
    pub(crate) fn need(&self, repo: usize, role: Role) -> Result<String, Answer> {
        let login = self.login()?;
        if self.role(repo) >= role {
            return Ok(login);
        }
        let words = if role == Role::Admin {
            "user should be an owner or a collaborator with admin write of a repository"
        } else {
            "user should have a permission to write to a repo"
        };
        Err(refuse(self.world, 403, words))
    }

    fn repo(&self, owner: &str, name: &str) -> Result<usize, Answer> {
        let repo = self.world.find(owner, name).ok_or_else(|| self.not_found())?;
        let is_hidden = self.repository(repo).is_private && self.role(repo) == Role::None;
        if is_hidden { Err(self.not_found()) } else { Ok(repo) }
    }

    pub(crate) fn number(&self, repo: usize, text: &str) -> Result<u64, Answer> {
        let number = text.parse().map_err(|_| self.not_found())?;
        self.repository(repo).issue(number).map(|issue| issue.number).ok_or_else(|| self.not_found())
    }

    pub(crate) fn pull_number(&self, repo: usize, text: &str) -> Result<u64, Answer> {
        let number = self.number(repo, text)?;
        self.repository(repo).pull(number).map(|_| number).ok_or_else(|| self.not_found())
    }

    pub(crate) fn repository(&self, repo: usize) -> &Repo {
        &self.world.repos[repo]
    }

    pub(crate) fn text(&self, field: &str) -> Option<String> {
        self.body[field].as_str().map(str::to_owned)
    }

    pub(crate) fn texts(&self, field: &str) -> Option<Vec<String>> {
        let list = self.body[field].as_array()?;
        Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Answers with one page of a list and the length of the whole.
    pub(crate) fn list<T>(&self, all: Vec<T>, show: impl Fn(T) -> Value) -> Reply {
        let total = all.len();
        let page = Page::of(self.request, "limit", PAGE.0, PAGE.1);
        let shown: Vec<Value> = page.cut(all).into_iter().map(show).collect();
        let answer = Answer::json(200, &Value::Array(shown)).with("x-total-count", total.to_string());
        Ok(match page.link(self.request, &self.request.path, total) {
            Some(link) => answer.with("link", link),
            None => answer,
        })
    }

    /// Answers with one page of a list that stands in an object beside its length.
    pub(crate) fn counted<T>(&self, key: &str, all: Vec<T>, show: impl Fn(T) -> Value) -> Reply {
        let total = all.len();
        let page = Page::of(self.request, "limit", PAGE.0, PAGE.1);
        let shown: Vec<Value> = page.cut(all).into_iter().map(show).collect();
        Ok(Answer::json(200, &json!({ "total_count": total, key: shown })))
    }

    /// Returns who has a role in a repository.
    pub(crate) fn members(&self, repo: usize) -> Vec<String> {
        let people = self.world.users.iter().filter(|user| !user.is_organization);
        let logins = people.map(|user| user.login.clone());
        logins.filter(|login| self.world.role(self.repository(repo), Some(login)) > Role::None).collect()
    }

    fn collaborators(&self, repo: usize, rest: &[&str]) -> Reply {
        match rest {
            [] => {
                self.need(repo, Role::Write)?;
                self.list(self.members(repo), |login| shapes::user(self.world, &login))
            }
            [login] => {
                self.need(repo, Role::Write)?;
                let role = self.world.role(self.repository(repo), Some(login));
                if role == Role::None { Err(self.not_found()) } else { Ok(Answer::empty(204)) }
            }
            [login, "permission"] => {
                let own = self.login()?;
                let is_own = own.eq_ignore_ascii_case(login);
                if self.world.has(Trap::HiddenPermission) && self.role(repo) < Role::Admin && !is_own {
                    return Err(self.refuse(403, "Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own"));
                }
                let user = self.world.user(login).ok_or_else(|| self.not_found())?;
                let role = self.world.role(self.repository(repo), Some(&user.login));
                let is_public = !self.repository(repo).is_private;
                let words = match role {
                    Role::None if is_public => "read",
                    Role::None => "none",
                    Role::Read => "read",
                    Role::Write => "write",
                    Role::Admin if self.repository(repo).owner.eq_ignore_ascii_case(login) => "owner",
                    Role::Admin => "admin",
                };
                let shown = shapes::user(self.world, &user.login);
                Ok(Answer::json(200, &json!({ "permission": words, "role_name": words, "user": shown })))
            }
            _ => Err(self.not_found()),
        }
    }
}
