//! Pull requests: listed, opened, changed, merged.

use serde_json::{Value, json};

use super::{Call, error, invalid, not_found, shapes};
use crate::forges::{
    git::Style,
    http::{Answer, Reply},
    world::{
        Happened, Issue, Pull, Role,
        checks::Standing,
        issues::Edit,
        pulls::{MergeWish, NewPull, NotMerged, NotOpened},
    },
};

impl Call<'_> {
    pub(super) fn pulls(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => self.list_pulls(repo),
            ("POST", []) => self.open_pull(repo),
            ("GET", [number]) => {
                let number = self.pull_number(repo, number)?;
                self.one_pull(repo, number)
            }
            ("PATCH", [number]) => {
                let number = self.pull_number(repo, number)?;
                self.edit_pull(repo, number)
            }
            ("GET", [number, "merge"]) => {
                let number = self.pull_number(repo, number)?;
                let (_, pull) = self.repository(repo).pull(number).ok_or_else(not_found)?;
                if pull.merged.is_some() { Ok(Answer::empty(204)) } else { Err(not_found()) }
            }
            ("PUT", [number, "merge"]) => {
                let number = self.pull_number(repo, number)?;
                self.merge(repo, number)
            }
            ("PUT", [number, "update-branch"]) => {
                let number = self.pull_number(repo, number)?;
                self.update_branch(repo, number)
            }
            ("GET", [number, kind @ ("files" | "commits")]) => {
                let number = self.pull_number(repo, number)?;
                let (_, pull) = self.repository(repo).pull(number).ok_or_else(not_found)?;
                if *kind == "files" { self.files(repo, pull) } else { self.commits_of(repo, pull) }
            }
            _ => Err(not_found()),
        }
    }

    fn list_pulls(&self, repo: usize) -> Reply {
        let query = |name| self.request.query(name);
        let is_wanted = |issue: &&Issue| {
            let Some(pull) = &issue.pull else { return false };
            let state = match query("state").unwrap_or("open") {
                "open" => issue.is_open,
                "closed" => !issue.is_open,
                _ => true,
            };
            // Without an owner before the branch, GitHub drops the filter.
            let head = query("head").and_then(|head| head.split_once(':')).is_none_or(|(owner, branch)| {
                owner.eq_ignore_ascii_case(&self.repository(repo).owner) && branch == pull.head
            });
            state && head && query("base").is_none_or(|base| base == pull.base)
        };
        let mut all: Vec<&Issue> = self.repository(repo).issues.iter().filter(is_wanted).collect();
        if query("sort") == Some("updated") {
            all.sort_by_key(|issue| (issue.updated, issue.number));
        }
        let is_rising = query("direction")
            .map_or(query("sort").is_some_and(|sort| sort != "created"), |way| way == "asc");
        if !is_rising {
            all.reverse();
        }
        self.list(all, |issue| shapes::pull(self.world, repo, issue.number, None))
    }

    fn open_pull(&mut self, repo: usize) -> Reply {
        let login = self.need(repo, Role::Write)?;
        let head = self.text("head").ok_or_else(|| invalid("PullRequest", "head", "missing_field", None))?;
        let base = self.text("base").ok_or_else(|| invalid("PullRequest", "base", "missing_field", None))?;
        let title = self.bounded("PullRequest", "title")?.filter(|title| !title.is_empty());
        let title = title.ok_or_else(|| invalid("PullRequest", "title", "missing_field", None))?;
        let body = self.bounded("PullRequest", "body")?.unwrap_or_default();
        let is_draft = self.body["draft"] == true;
        let wanted = NewPull { title: &title, body: &body, head: &head, base: &base, is_draft };
        let number = self.world.create_pull(repo, &login, &wanted).map_err(|refused| match refused {
            NotOpened::NoHead => invalid("PullRequest", "head", "invalid", None),
            NotOpened::NoBase => invalid("PullRequest", "base", "invalid", None),
            NotOpened::NoCommits => {
                let words = format!("No commits between {base} and {head}");
                invalid("PullRequest", "", "custom", Some(&words))
            }
            NotOpened::Exists(_) => {
                let owner = &self.world.repos[repo].owner;
                let branch = head.rsplit(':').next().unwrap_or_default();
                let words = format!("A pull request already exists for {owner}:{branch}.");
                invalid("PullRequest", "", "custom", Some(&words))
            }
        })?;
        let shown = shapes::pull(self.world, repo, number, Some(None));
        let url = shown["url"].as_str().unwrap_or_default().to_owned();
        Ok(Answer::json(201, &shown).with("location", url))
    }

    fn one_pull(&mut self, repo: usize, number: u64) -> Reply {
        let accepted = self.request.header("accept").unwrap_or_default();
        let repository = self.repository(repo);
        let (issue, pull) = repository.pull(number).ok_or_else(not_found)?;
        let base = base_of(repository.branch(&pull.base), pull);
        for (kind, is_patch) in [("diff", false), ("patch", true)] {
            if accepted.contains(&format!(".{kind}")) {
                let bare = &repository.bare;
                let text = if is_patch {
                    bare.patch(&base, &pull.head_sha)
                } else {
                    bare.diff(&base, &pull.head_sha)
                };
                let mut answer = Answer::text(200, &text);
                answer.headers = vec![(
                    "content-type".to_owned(),
                    format!("application/vnd.github.v3.{kind}; charset=utf-8"),
                )];
                return Ok(answer);
            }
        }
        let is_open = issue.is_open;
        let mergeable = if is_open { self.world.mergeable(repo, number) } else { None };
        Ok(Answer::json(200, &shapes::pull(self.world, repo, number, Some(mergeable))))
    }

    fn edit_pull(&mut self, repo: usize, number: u64) -> Reply {
        let login = self.login()?;
        let (issue, pull) = self.repository(repo).pull(number).ok_or_else(not_found)?;
        if issue.author != login && self.role(repo) < Role::Write {
            return Err(error(403, "Must have admin rights to Repository."));
        }
        let is_merged = pull.merged.is_some();
        let open = match self.body["state"].as_str() {
            Some("open") if is_merged => return Err(invalid("PullRequest", "state", "invalid", None)),
            Some("open") => Some(true),
            Some("closed") => Some(false),
            Some(_) => return Err(invalid("PullRequest", "state", "invalid", None)),
            None => None,
        };
        if let Some(base) = self.text("base") {
            if self.repository(repo).branch(&base).is_none() {
                return Err(invalid("PullRequest", "base", "invalid", None));
            }
            let asks = self.world.asks();
            if let Some(pull) = self.world.repos[repo].pull_mut(number) {
                (pull.base, pull.asks_left) = (base, asks);
            }
        }
        let edit = Edit {
            title: self.bounded("PullRequest", "title")?,
            body: self.bounded("PullRequest", "body")?,
            open,
            ..Edit::default()
        };
        self.world.edit_issue(repo, number, &login, edit);
        let mergeable = self.world.known_mergeable(repo, number);
        Ok(Answer::json(200, &shapes::pull(self.world, repo, number, Some(mergeable))))
    }

    fn merge(&mut self, repo: usize, number: u64) -> Reply {
        let login = self.need(repo, Role::Write)?;
        let style = match self.body["merge_method"].as_str().unwrap_or("merge") {
            "merge" => Style::Merge,
            "squash" => Style::Squash,
            "rebase" => Style::Rebase,
            _ => return Err(invalid("PullRequest", "merge_method", "invalid", None)),
        };
        let (head, title) = (self.text("sha"), self.text("commit_title"));
        let message = self.text("commit_message");
        let wish =
            MergeWish { head: head.as_deref(), style, title: title.as_deref(), message: message.as_deref() };
        match self.world.merge(repo, number, &login, &wish) {
            Ok(sha) => {
                let body =
                    json!({ "sha": sha, "merged": true, "message": "Pull Request successfully merged" });
                Ok(Answer::json(200, &body))
            }
            Err(refused) => Err(not_merged(&refused)),
        }
    }

    fn update_branch(&mut self, repo: usize, number: u64) -> Reply {
        let login = self.need(repo, Role::Write)?;
        let expected = self.text("expected_head_sha");
        let now = self.world.stamp().to_string();
        let repository = self.repository(repo);
        let (_, pull) = repository.pull(number).ok_or_else(not_found)?;
        if expected.is_some_and(|expected| expected != pull.head_sha) {
            return Err(invalid(
                "PullRequest",
                "head",
                "custom",
                Some("expected head sha didn’t match current head ref."),
            ));
        }
        let base = repository.branch(&pull.base).ok_or_else(not_found)?.to_owned();
        if repository.bare.is_ancestor(&base, &pull.head_sha) {
            let words = "There are no new commits on the base branch.";
            return Err(invalid("PullRequest", "base", "custom", Some(words)));
        }
        let message = format!("Merge branch '{}' into {}", pull.base, pull.head);
        let merged = repository.bare.merge(&pull.head_sha, &base, Style::Merge, &message, &now);
        let sha = merged.ok_or_else(|| error(422, "merge conflict between base and head"))?;
        repository.bare.set_ref(&format!("refs/heads/{}", pull.head), &sha);
        self.world.refresh(repo, &login);
        let url = format!("{}/pulls/{number}", shapes::repo_url(self.world, self.repository(repo)));
        Ok(Answer::json(202, &json!({ "message": "Updating pull request branch.", "url": url })))
    }

    fn files(&self, repo: usize, pull: &Pull) -> Reply {
        let repository = self.repository(repo);
        let base = base_of(repository.branch(&pull.base), pull);
        let (api, web) = (shapes::repo_url(self.world, repository), shapes::html_url(self.world, repository));
        let sha = pull.head_sha.as_str();
        self.list(repository.bare.changed(&base, sha), |file| {
            let path = &file.path;
            json!({
                "sha": file.blob, "filename": path, "status": file.status, "additions": file.additions,
                "deletions": file.deletions, "changes": file.additions + file.deletions,
                "blob_url": format!("{web}/blob/{sha}/{path}"), "raw_url": format!("{web}/raw/{sha}/{path}"),
                "contents_url": format!("{api}/contents/{path}?ref={sha}"), "patch": file.patch,
            })
        })
    }

    fn commits_of(&self, repo: usize, pull: &Pull) -> Reply {
        let repository = self.repository(repo);
        let base = base_of(repository.branch(&pull.base), pull);
        let all = repository.bare.log(&base, &pull.head_sha);
        self.list(all, |commit| shapes::commit(self.world, repo, &commit))
    }

    /// Makes a pull request a draft, or no draft any more.
    pub(super) fn set_draft(&mut self, repo: usize, number: u64, actor: &str, is_draft: bool) {
        self.world.stamp();
        if let Some(pull) = self.world.repos[repo].pull_mut(number) {
            pull.is_draft = is_draft;
        }
        self.world.record(repo, number, actor, Happened::Drafted(is_draft));
    }
}

/// Returns the commit that a pull request is compared with.
pub(super) fn base_of(branch: Option<&str>, pull: &Pull) -> String {
    let branch = if pull.merged.is_some() { None } else { branch };
    branch.unwrap_or(&pull.base_sha).to_owned()
}

/// Says why a pull request is not merged, in GitHub's words.
pub(super) fn words(refused: &NotMerged) -> (u16, String) {
    match refused {
        NotMerged::AlreadyMerged | NotMerged::Closed | NotMerged::Conflict => {
            (405, "Pull Request is not mergeable".to_owned())
        }
        NotMerged::Unknown => (405, "Base branch was modified. Review and try the merge again.".to_owned()),
        NotMerged::Draft => (405, "Pull Request is still a draft".to_owned()),
        NotMerged::NotAllowed => (403, "Must have push access to repository".to_owned()),
        NotMerged::HeadMoved => (409, "Head branch was modified. Review and try the merge again.".to_owned()),
        NotMerged::Behind => {
            let words =
                "Required status checks must be up to date: the head branch is behind the base branch.";
            (405, words.to_owned())
        }
        NotMerged::Approvals(count) => {
            let words = "approving review is required by reviewers with write access.";
            (405, format!("At least {count} {words}"))
        }
        NotMerged::ChangesRequested => {
            (405, "Changes were requested by a reviewer with write access.".to_owned())
        }
        NotMerged::Checks { context, standing } => {
            let state = match standing {
                Standing::Failed => "failing",
                Standing::Waiting => "in progress",
                Standing::Absent | Standing::Passed => "expected",
            };
            (405, format!("Required status check \"{context}\" is {state}."))
        }
    }
}

fn not_merged(refused: &NotMerged) -> Answer {
    let (status, words) = words(refused);
    error(status, &words)
}

/// Returns the value of a review's event, as clients send it.
pub(super) fn event_of(body: &Value) -> Option<&str> {
    body["event"].as_str().filter(|event| !event.is_empty())
}
