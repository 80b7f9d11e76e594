//! Branches and what they ask for, commits, comparisons, files.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{Call, shapes};
use crate::forges::{
    http::{Answer, Reply},
    traps::Trap,
    world::{Kind, Protection, Role},
};

impl Call<'_> {
    pub(super) fn code(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", ["branches"]) => {
                self.list(self.repository(repo).branches(), |(name, _)| self.shown_branch(repo, &name))
            }
            ("GET", ["branches", name @ ..]) => {
                let name = name.join("/");
                if self.repository(repo).branch(&name).is_none() {
                    return Err(self.refuse(404, "The target couldn't be found."));
                }
                Ok(Answer::json(200, &self.shown_branch(repo, &name)))
            }
            ("POST", ["branches"]) => self.create_branch(repo),
            ("DELETE", ["branches", name @ ..]) => self.delete_branch(repo, &name.join("/")),
            ("GET", ["branch_protections", rest @ ..]) => self.protections(repo, rest),
            ("GET", ["commits"]) => {
                let name = self.request.query("sha").unwrap_or(&self.repository(repo).default_branch);
                let sha = self.commit_named(repo, name)?;
                self.list(self.repository(repo).bare.history(&sha, 1000), |commit| {
                    shapes::commit(self.world, repo, &commit)
                })
            }
            ("GET", ["git", "commits", name]) => {
                let sha = self.commit_named(repo, name)?;
                let commit =
                    self.repository(repo).bare.history(&sha, 1).pop().ok_or_else(|| self.not_found())?;
                Ok(Answer::json(200, &shapes::commit(self.world, repo, &commit)))
            }
            ("GET", ["compare", range @ ..]) => {
                let range = range.join("/");
                let (base, head) = range.split_once("...").ok_or_else(|| self.not_found())?;
                let (base, head) = (self.commit_named(repo, base)?, self.commit_named(repo, head)?);
                let commits = self.repository(repo).bare.log(&base, &head);
                let shown: Vec<Value> =
                    commits.iter().rev().map(|commit| shapes::commit(self.world, repo, commit)).collect();
                Ok(Answer::json(200, &json!({ "total_commits": shown.len(), "commits": shown, "files": [] })))
            }
            ("GET", ["contents", path @ ..]) => self.contents(repo, &path.join("/")),
            _ => Err(self.not_found()),
        }
    }

    fn shown_branch(&self, repo: usize, name: &str) -> Value {
        let repository = self.repository(repo);
        let protection = repository.protection(name);
        let commit = repository.branch(name).and_then(|sha| repository.bare.history(sha, 1).pop());
        let contexts = protection.map(|protection| protection.contexts.clone()).unwrap_or_default();
        let is_writer = self.role(repo) >= Role::Write;
        let may_push = is_writer && protection.is_none_or(|protection| !protection.refuses_pushes);
        json!({
            "name": name, "commit": commit.map(|commit| shapes::payload_commit(self.world, repo, &commit)),
            "protected": protection.is_some(), "user_can_push": may_push, "user_can_merge": is_writer,
            "required_approvals": protection.map_or(0, |protection| protection.approvals),
            "enable_status_check": !contexts.is_empty(), "status_check_contexts": contexts,
            "effective_branch_protection_name": protection.map(|protection| protection.branch.as_str()).unwrap_or(""),
        })
    }

    fn create_branch(&mut self, repo: usize) -> Reply {
        let login = self.need(repo, Role::Write)?;
        let name = self.text("new_branch_name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| self.refuse(422, "[BranchName]: Required"))?;
        let from = self.text("old_ref_name").or_else(|| self.text("old_branch_name"));
        let from = from.filter(|from| !from.is_empty());
        let from = from.unwrap_or_else(|| self.repository(repo).default_branch.clone());
        let sha = self.commit_named(repo, &from)?;
        if self.repository(repo).branch(&name).is_some() {
            return Err(self.refuse(409, "The branch already exists."));
        }
        self.repository(repo).bare.set_ref(&format!("refs/heads/{name}"), &sha);
        self.world.refresh(repo, &login);
        Ok(Answer::json(201, &self.shown_branch(repo, &name)))
    }

    fn delete_branch(&mut self, repo: usize, name: &str) -> Reply {
        let login = self.need(repo, Role::Write)?;
        let repository = self.repository(repo);
        if repository.branch(name).is_none() {
            return Err(self.not_found());
        }
        if name == repository.default_branch {
            return Err(self.refuse(403, "default branch can not be deleted"));
        }
        if repository.protection(name).is_some() {
            return Err(self.refuse(403, "branch protected"));
        }
        repository.bare.delete_ref(&format!("refs/heads/{name}"));
        self.world.refresh(repo, &login);
        Ok(Answer::empty(204))
    }

    fn protections(&self, repo: usize, rest: &[&str]) -> Reply {
        if self.world.has(Trap::HiddenProtection) {
            self.need(repo, Role::Admin)?;
        }
        let all: Vec<Value> =
            self.repository(repo).protections.iter().map(|one| self.shown_protection(repo, one)).collect();
        match rest {
            [] => Ok(Answer::json(200, &Value::Array(all))),
            name => {
                let name = name.join("/");
                let found = all.into_iter().find(|protection| protection["rule_name"] == name);
                Ok(Answer::json(200, &found.ok_or_else(|| self.not_found())?))
            }
        }
    }

    fn shown_protection(&self, repo: usize, protection: &Protection) -> Value {
        let at = shapes::time(self.repository(repo).created);
        let mut shown = json!({
            "branch_name": protection.branch, "rule_name": protection.branch,
            "enable_push": !protection.refuses_pushes, "enable_push_whitelist": false,
            "push_whitelist_usernames": [], "push_whitelist_teams": [], "push_whitelist_deploy_keys": false,
            "enable_merge_whitelist": false, "merge_whitelist_usernames": [], "merge_whitelist_teams": [],
            "enable_status_check": !protection.contexts.is_empty(), "status_check_contexts": protection.contexts,
            "required_approvals": protection.approvals, "enable_approvals_whitelist": false,
            "approvals_whitelist_username": [], "approvals_whitelist_teams": [],
            "block_on_rejected_reviews": true, "block_on_official_review_requests": false,
            "block_on_outdated_branch": protection.is_strict, "dismiss_stale_approvals": protection.dismisses_stale,
            "ignore_stale_approvals": false, "require_signed_commits": false, "protected_file_patterns": "",
            "unprotected_file_patterns": "", "created_at": at, "updated_at": at,
        });
        if self.world.kind != Kind::Gitea {
            shown["apply_to_admins"] = json!(true);
        }
        shown
    }

    fn contents(&self, repo: usize, path: &str) -> Reply {
        let repository = self.repository(repo);
        let name = self.request.query("ref").unwrap_or(&repository.default_branch);
        let sha = self.commit_named(repo, name)?;
        let text = repository.bare.file(&sha, path).ok_or_else(|| self.not_found())?;
        let blob = repository.bare.blob(&sha, path).ok_or_else(|| self.not_found())?;
        let (api, web) = (shapes::api(self.world, repository), shapes::web(self.world, repository));
        let (url, html) =
            (format!("{api}/contents/{path}?ref={name}"), format!("{web}/src/branch/{name}/{path}"));
        let git = format!("{api}/git/blobs/{blob}");
        let body = json!({
            "name": path.rsplit('/').next(), "path": path, "sha": blob, "last_commit_sha": sha, "type": "file",
            "size": text.len(), "encoding": "base64", "content": BASE64_STANDARD.encode(&text), "target": null,
            "url": url, "html_url": html, "git_url": git, "download_url": format!("{web}/raw/branch/{name}/{path}"),
            "submodule_git_url": null, "_links": { "self": url, "git": git, "html": html },
        });
        Ok(Answer::json(200, &body))
    }
}
