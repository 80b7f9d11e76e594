//! Pull requests: listed, opened, changed, merged, and the many words for not merging.

use serde_json::{Value, json};

use super::{Call, shapes};
use crate::forges::{
    git::Style,
    http::{Answer, Reply},
    traps::Trap,
    world::{
        Happened, Issue, Kind, Role,
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
            ("GET", [number]) if number.ends_with(".diff") || number.ends_with(".patch") => {
                let (number, kind) = number.split_once('.').unwrap_or((number, "diff"));
                let number = self.pull_number(repo, number)?;
                self.diff(repo, number, kind == "patch")
            }
            (method, [number, rest @ ..]) if number.parse::<u64>().is_ok() => {
                let number = self.pull_number(repo, number)?;
                self.one_pull(method, repo, number, rest)
            }
            // A pull request by its branches.
            ("GET", [base, head @ ..]) => {
                let head = head.join("/");
                let issues = self.repository(repo).issues.iter().rev();
                let found = issues.filter(|issue| issue.is_open).find(|issue| {
                    issue.pull.as_ref().is_some_and(|pull| pull.base == *base && pull.head == head)
                });
                let number = found.ok_or_else(|| self.not_found())?.number;
                Ok(Answer::json(200, &shapes::pull(self.world, repo, number)))
            }
            _ => Err(self.not_found()),
        }
    }

    fn one_pull(&mut self, method: &str, repo: usize, number: u64, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => {
                let shown = shapes::pull(self.world, repo, number);
                // Asking makes the server find out.
                self.world.mergeable(repo, number);
                Ok(Answer::json(200, &shown))
            }
            ("PATCH", []) => self.edit_pull(repo, number),
            ("GET", ["merge"]) => {
                let (_, pull) = self.repository(repo).pull(number).ok_or_else(|| self.not_found())?;
                if pull.merged.is_some() { Ok(Answer::empty(204)) } else { Err(self.not_found()) }
            }
            ("POST", ["merge"]) => self.merge(repo, number),
            ("POST", ["update"]) => self.update(repo, number),
            ("GET", ["files"]) => {
                let repository = self.repository(repo);
                let (base, head) = self.range(repo, number)?;
                let (api, web) = (shapes::api(self.world, repository), shapes::web(self.world, repository));
                self.list(repository.bare.changed(&base, &head), |file| {
                    let path = &file.path;
                    let status = match file.status {
                        "modified" => "changed",
                        "removed" => "deleted",
                        other => other,
                    };
                    json!({ "filename": path, "status": status, "additions": file.additions,
                        "deletions": file.deletions, "changes": file.additions + file.deletions,
                        "html_url": format!("{web}/src/commit/{head}/{path}"),
                        "contents_url": format!("{api}/contents/{path}?ref={head}"),
                        "raw_url": format!("{web}/raw/commit/{head}/{path}") })
                })
            }
            ("GET", ["commits"]) => {
                let (base, head) = self.range(repo, number)?;
                let mut all = self.repository(repo).bare.log(&base, &head);
                // The newest first, unlike GitHub.
                all.reverse();
                self.list(all, |commit| shapes::commit(self.world, repo, &commit))
            }
            ("POST", ["requested_reviewers"]) => {
                let login = self.need(repo, Role::Write)?;
                for who in self.texts("reviewers").unwrap_or_default() {
                    self.world.stamp();
                    if let Some(pull) = self.world.repos[repo].pull_mut(number) {
                        pull.requested.push(who.clone());
                    }
                    self.world.record(repo, number, &login, Happened::ReviewRequested(who));
                }
                Ok(Answer::json(201, &json!([])))
            }
            _ => Err(self.not_found()),
        }
    }

    /// Returns what a pull request's changes are counted between.
    fn range(&self, repo: usize, number: u64) -> Result<(String, String), Answer> {
        let repository = self.repository(repo);
        let (_, pull) = repository.pull(number).ok_or_else(|| self.not_found())?;
        let base = repository.branch(&pull.base).filter(|_| pull.merged.is_none());
        Ok((base.unwrap_or(&pull.base_sha).to_owned(), pull.head_sha.clone()))
    }

    fn diff(&self, repo: usize, number: u64, is_patch: bool) -> Reply {
        let (base, head) = self.range(repo, number)?;
        let bare = &self.repository(repo).bare;
        Ok(Answer::text(200, &if is_patch { bare.patch(&base, &head) } else { bare.diff(&base, &head) }))
    }

    fn list_pulls(&self, repo: usize) -> Reply {
        let query = |name| self.request.query(name);
        let is_wanted = |issue: &&Issue| {
            let Some(pull) = &issue.pull else { return false };
            let state = match query("state").unwrap_or("open") {
                "closed" => !issue.is_open,
                "all" => true,
                _ => issue.is_open,
            };
            let labels = self.request.query.iter().filter(|(name, _)| name == "labels");
            let mut ids = labels.filter_map(|(_, id)| id.parse::<u64>().ok());
            let poster = query("poster").is_none_or(|who| issue.author.eq_ignore_ascii_case(who));
            state
                && poster
                && ids.all(|id| issue.labels.contains(&id))
                && query("head").is_none_or(|head| head == pull.head)
        };
        let mut all: Vec<&Issue> = self.repository(repo).issues.iter().filter(is_wanted).collect();
        match query("sort") {
            Some("oldest") => all.sort_by_key(|issue| issue.id),
            Some("recentupdate") => all.sort_by_key(|issue| std::cmp::Reverse((issue.updated, issue.id))),
            Some("leastupdate") => all.sort_by_key(|issue| (issue.updated, issue.id)),
            _ => all.sort_by_key(|issue| std::cmp::Reverse(issue.id)),
        }
        let with_null = self.world.has(Trap::NullInPulls);
        self.list(all, |issue| {
            let is_broken = issue.pull.as_ref().is_some_and(|pull| pull.is_broken);
            if is_broken && with_null { Value::Null } else { shapes::pull(self.world, repo, issue.number) }
        })
    }

    fn open_pull(&mut self, repo: usize) -> Reply {
        let login = self.need(repo, Role::Write)?;
        let field = |call: &Self, name: &str, shown: &str| {
            let text = call.text(name).filter(|text| !text.is_empty());
            text.ok_or_else(|| call.refuse(422, &format!("[{shown}]: Required")))
        };
        let (head, base) = (field(self, "head", "Head")?, field(self, "base", "Base")?);
        let title = field(self, "title", "Title")?;
        let body = self.text("body").unwrap_or_default();
        let wanted = NewPull { title: &title, body: &body, head: &head, base: &base, is_draft: false };
        let number = self.world.create_pull(repo, &login, &wanted).map_err(|refused| match refused {
            NotOpened::NoHead | NotOpened::NoBase => self.not_found(),
            NotOpened::NoCommits => self.refuse(422, "there are no changes between the head and the base"),
            NotOpened::Exists(other) => {
                let repository = self.repository(repo);
                let issue_id = repository.issue(other).map_or(0, |issue| issue.id);
                let id = repository.id;
                let words = format!(
                    "pull request already exists for these targets [id: {other}, issue_id: {issue_id}, head_repo_id: {id}, base_repo_id: {id}, head_branch: {head}, base_branch: {base}]"
                );
                self.refuse(409, &words)
            }
        })?;
        let ids = self.body["labels"].as_array().cloned().unwrap_or_default();
        let ids: Vec<u64> = ids.iter().filter_map(Value::as_u64).collect();
        self.world.add_labels(repo, number, &login, &ids);
        let assignees = self.texts("assignees").unwrap_or_default();
        self.world.set_assignees(repo, number, &login, &assignees);
        Ok(Answer::json(201, &shapes::pull(self.world, repo, number)))
    }

    fn edit_pull(&mut self, repo: usize, number: u64) -> Reply {
        let login = self.login()?;
        let (issue, pull) = self.repository(repo).pull(number).ok_or_else(|| self.not_found())?;
        let is_writer = self.role(repo) >= Role::Write;
        if !is_writer && issue.author != login {
            return Err(self.refuse(403, "user should have a permission to write to a repo"));
        }
        let open = self.wanted_state()?;
        if open == Some(true) && pull.merged.is_some() {
            return Err(self.refuse(412, "cannot change state of this pull request, it was already merged"));
        }
        if let Some(base) = self.text("base") {
            if self.repository(repo).branch(&base).is_none() {
                return Err(self.not_found());
            }
            let asks = self.world.asks();
            if let Some(pull) = self.world.repos[repo].pull_mut(number) {
                (pull.base, pull.asks_left) = (base, asks);
            }
        }
        let edit = Edit {
            title: self.text("title").filter(|title| !title.is_empty()),
            body: self.text("body"),
            open,
            labels: self.body["labels"].as_array().map(|ids| ids.iter().filter_map(Value::as_u64).collect()),
            assignees: self.texts("assignees"),
            ..Edit::default()
        };
        self.world.edit_issue(repo, number, &login, edit);
        Ok(Answer::json(201, &shapes::pull(self.world, repo, number)))
    }

    fn merge(&mut self, repo: usize, number: u64) -> Reply {
        let login = self.login()?;
        // Gitea writes these words apart; both read them in any case.
        let (title_name, message_name) = if self.world.kind == Kind::Gitea {
            ("merge_title_field", "merge_message_field")
        } else {
            ("MergeTitleField", "MergeMessageField")
        };
        let style = self.any_case("Do");
        let style = match style.as_deref() {
            Some("merge") => Style::Merge,
            Some("squash") => Style::Squash,
            Some("rebase" | "rebase-merge") => Style::Rebase,
            Some("fast-forward-only") => Style::FastForward,
            _ => return Err(self.refuse(422, "[Do]: Required")),
        };
        let (head, title) = (self.text("head_commit_id"), self.any_case(title_name));
        let message = self.any_case(message_name);
        let wish = MergeWish {
            head: head.as_deref().filter(|head| !head.is_empty()),
            style,
            title: title.as_deref(),
            message: message.as_deref(),
        };
        if let Err(refused) = self.world.merge(repo, number, &login, &wish) {
            return Err(self.not_merged(&refused));
        }
        if self.body["delete_branch_after_merge"] == true {
            let repository = self.repository(repo);
            let head = repository.pull(number).map(|(_, pull)| pull.head.clone()).unwrap_or_default();
            if head != repository.default_branch && repository.branch(&head).is_some() {
                repository.bare.delete_ref(&format!("refs/heads/{head}"));
                self.world.refresh(repo, &login);
            }
        }
        Ok(Answer::empty(200))
    }

    /// Returns a text of the body whose name is written in any case.
    fn any_case(&self, name: &str) -> Option<String> {
        let mut fields = self.body.as_object()?.iter();
        let (_, value) = fields.find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        value.as_str().map(str::to_owned)
    }

    fn not_merged(&self, refused: &NotMerged) -> Answer {
        let reason = |words: &str| self.refuse(405, &format!("not allowed to merge [reason: {words}]"));
        match refused {
            NotMerged::AlreadyMerged if self.world.has(Trap::WordlessMerged) => Answer::empty(405),
            NotMerged::AlreadyMerged => self.refuse(405, "The PR is already merged"),
            NotMerged::Closed => self.not_found(),
            NotMerged::Draft => self.refuse(405, "Work in progress PRs cannot be merged"),
            NotMerged::NotAllowed => self.refuse(405, "User not allowed to merge PR"),
            NotMerged::HeadMoved => self.refuse(409, "head out of date"),
            // Not yet known, conflicting and behind are told alike.
            NotMerged::Unknown | NotMerged::Conflict | NotMerged::Behind => {
                self.refuse(405, "Please try again later")
            }
            NotMerged::Approvals(_) => reason("Does not have enough approvals"),
            NotMerged::ChangesRequested => reason("There are requested changes"),
            NotMerged::Checks { standing, .. } => match standing {
                Standing::Absent | Standing::Waiting | Standing::Failed | Standing::Passed => {
                    reason("Not all required status checks successful")
                }
            },
        }
    }

    fn update(&mut self, repo: usize, number: u64) -> Reply {
        let login = self.need(repo, Role::Write)?;
        let style = self.request.query("style").unwrap_or("merge").to_owned();
        let now = self.world.stamp().to_string();
        let repository = self.repository(repo);
        let (_, pull) = repository.pull(number).ok_or_else(|| self.not_found())?;
        let base = repository.branch(&pull.base).ok_or_else(|| self.not_found())?;
        let message = format!("Merge branch '{}' into {}", pull.base, pull.head);
        let merged = if style == "rebase" {
            repository.bare.merge(base, &pull.head_sha, Style::Rebase, "", &now)
        } else {
            repository.bare.merge(&pull.head_sha, base, Style::Merge, &message, &now)
        };
        let sha = merged.ok_or_else(|| self.refuse(409, "merge failed because of conflict"))?;
        repository.bare.set_ref(&format!("refs/heads/{}", pull.head), &sha);
        self.world.refresh(repo, &login);
        Ok(Answer::empty(200))
    }
}
