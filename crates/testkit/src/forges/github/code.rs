//! Branches and their protection, refs, commits, comparisons, files.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{Call, error, invalid, not_found, shapes};
use crate::forges::{
    http::{Answer, Reply},
    world::{Protection, Role},
};

impl Call<'_> {
    pub(super) fn code(&mut self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", ["branches"]) => {
                let all = self.repository(repo).branches();
                let api = shapes::repo_url(self.world, self.repository(repo));
                self.list(all, |(name, sha)| {
                    let is_protected = self.repository(repo).protection(&name).is_some();
                    json!({ "name": name, "protected": is_protected,
                        "commit": { "sha": sha, "url": format!("{api}/commits/{sha}") } })
                })
            }
            // A branch's name may have slashes.
            ("GET", ["branches", name @ .., "protection"]) => self.protection(repo, &name.join("/")),
            ("GET", ["branches", name @ ..]) => self.branch(repo, &name.join("/")),
            ("GET", ["git", "ref", name @ ..]) => self.git_ref(repo, &name.join("/")),
            ("POST", ["git", "refs"]) => self.create_ref(repo),
            ("DELETE", ["git", "refs", name @ ..]) => self.delete_ref(repo, &name.join("/")),
            ("GET", ["commits"]) => {
                let name = self.request.query("sha").unwrap_or(&self.repository(repo).default_branch);
                let sha = self.commit_named(repo, name)?;
                let all = self.repository(repo).bare.history(&sha, 1000);
                self.list(all, |commit| shapes::commit(self.world, repo, &commit))
            }
            ("GET", ["commits", name @ ..]) => {
                let sha = self.commit_named(repo, &name.join("/"))?;
                let commit = self.repository(repo).bare.history(&sha, 1).pop().ok_or_else(not_found)?;
                Ok(Answer::json(200, &shapes::commit(self.world, repo, &commit)))
            }
            ("GET", ["compare", range @ ..]) => self.compare(repo, &range.join("/")),
            ("GET", ["contents", path @ ..]) => self.contents(repo, &path.join("/")),
            _ => Err(not_found()),
        }
    }

    fn branch(&self, repo: usize, name: &str) -> Reply {
        let repository = self.repository(repo);
        let sha = repository.branch(name).ok_or_else(|| error(404, "Branch not found"))?;
        let commit = repository.bare.history(sha, 1).pop().ok_or_else(not_found)?;
        let (api, web) = (shapes::repo_url(self.world, repository), shapes::html_url(self.world, repository));
        let protection = repository.protection(name);
        let contexts = protection.map(|protection| protection.contexts.clone()).unwrap_or_default();
        let body = json!({
            "name": name, "commit": shapes::commit(self.world, repo, &commit), "protected": protection.is_some(),
            "_links": { "self": format!("{api}/branches/{name}"), "html": format!("{web}/tree/{name}") },
            "protection_url": format!("{api}/branches/{name}/protection"),
            "protection": { "enabled": protection.is_some(),
                "required_status_checks": { "enforcement_level": if contexts.is_empty() { "off" } else { "non_admins" },
                    "contexts": contexts, "checks": checks(&contexts) } },
        });
        Ok(Answer::json(200, &body))
    }

    fn protection(&self, repo: usize, name: &str) -> Reply {
        // Only admins see the rules themselves; others see what the branch's page shows.
        if self.role(repo) < Role::Admin {
            return Err(not_found());
        }
        let repository = self.repository(repo);
        let protection = repository.protection(name).ok_or_else(|| error(404, "Branch not protected"))?;
        let url = format!("{}/branches/{name}/protection", shapes::repo_url(self.world, repository));
        let enabled = |is_set: bool| json!({ "enabled": is_set });
        let mut body = json!({
            "url": url, "enforce_admins": { "url": format!("{url}/enforce_admins"), "enabled": true },
            "required_linear_history": enabled(false), "allow_force_pushes": enabled(false),
            "allow_deletions": enabled(false), "block_creations": enabled(false),
            "required_conversation_resolution": enabled(false), "lock_branch": enabled(false),
            "allow_fork_syncing": enabled(false),
        });
        if protection.approvals > 0 {
            body["required_pull_request_reviews"] = reviews(&url, protection);
        }
        if !protection.contexts.is_empty() {
            body["required_status_checks"] = json!({
                "url": format!("{url}/required_status_checks"), "strict": protection.is_strict,
                "contexts": protection.contexts, "checks": checks(&protection.contexts),
                "contexts_url": format!("{url}/required_status_checks/contexts"),
            });
        }
        Ok(Answer::json(200, &body))
    }

    fn git_ref(&self, repo: usize, name: &str) -> Reply {
        let sha = self.repository(repo).refs.get(&format!("refs/{name}")).ok_or_else(not_found)?;
        Ok(Answer::json(200, &self.shown_ref(repo, &format!("refs/{name}"), sha)))
    }

    fn shown_ref(&self, repo: usize, name: &str, sha: &str) -> Value {
        let api = shapes::repo_url(self.world, self.repository(repo));
        json!({ "ref": name, "node_id": format!("REF_{name}"), "url": format!("{api}/git/{name}"),
            "object": { "type": "commit", "sha": sha, "url": format!("{api}/git/commits/{sha}") } })
    }

    fn create_ref(&mut self, repo: usize) -> Reply {
        let login = self.need(repo, Role::Write)?;
        let name =
            self.text("ref").filter(|name| name.starts_with("refs/heads/") || name.starts_with("refs/tags/"));
        let name = name.ok_or_else(|| {
            error(422, "Reference name must start with 'refs/' and contain at least three slashes.")
        })?;
        let sha = self.text("sha").ok_or_else(|| invalid("Reference", "sha", "missing_field", None))?;
        let repository = self.repository(repo);
        if repository.refs.contains_key(&name) {
            return Err(error(422, "Reference already exists"));
        }
        let sha = repository.bare.resolve(&sha).ok_or_else(|| error(422, "Object does not exist"))?;
        repository.bare.set_ref(&name, &sha);
        self.world.refresh(repo, &login);
        Ok(Answer::json(201, &self.shown_ref(repo, &name, &sha)))
    }

    fn delete_ref(&mut self, repo: usize, name: &str) -> Reply {
        let login = self.need(repo, Role::Write)?;
        let repository = self.repository(repo);
        let full = format!("refs/{name}");
        if !repository.refs.contains_key(&full) {
            return Err(error(422, "Reference does not exist"));
        }
        let branch = name.strip_prefix("heads/").unwrap_or(name);
        if repository.protection(branch).is_some() || branch == repository.default_branch {
            return Err(error(422, "Cannot delete this protected branch"));
        }
        repository.bare.delete_ref(&full);
        self.world.refresh(repo, &login);
        Ok(Answer::empty(204))
    }

    fn compare(&self, repo: usize, range: &str) -> Reply {
        let (base, head) = range.split_once("...").ok_or_else(not_found)?;
        let plain = |name: &str| name.rsplit(':').next().unwrap_or_default().to_owned();
        let (base, head) = (self.commit_named(repo, &plain(base))?, self.commit_named(repo, &plain(head))?);
        let repository = self.repository(repo);
        let bare = &repository.bare;
        let (ahead, behind) = (bare.log(&base, &head), bare.log(&head, &base).len());
        let status = match (ahead.len(), behind) {
            (0, 0) => "identical",
            (_, 0) => "ahead",
            (0, _) => "behind",
            _ => "diverged",
        };
        let one = |sha: &str| {
            let commit = bare.history(sha, 1).pop();
            commit.map_or(Value::Null, |commit| shapes::commit(self.world, repo, &commit))
        };
        let (api, web) = (shapes::repo_url(self.world, repository), shapes::html_url(self.world, repository));
        let merge_base = bare.merge_base(&base, &head).unwrap_or_else(|| base.clone());
        let (path, web) =
            (format!("{api}/compare/{base}...{head}"), format!("{web}/compare/{base}...{head}"));
        let files: Vec<Value> = bare
            .changed(&base, &head)
            .into_iter()
            .map(|file| {
                let name = &file.path;
                json!({ "sha": file.blob, "filename": name, "status": file.status, "additions": file.additions,
                    "deletions": file.deletions, "changes": file.additions + file.deletions, "patch": file.patch,
                    "blob_url": format!("{web}/{name}"), "raw_url": format!("{web}/{name}"),
                    "contents_url": format!("{api}/contents/{name}") })
            })
            .collect();
        let body = json!({
            "url": path, "html_url": web, "permalink_url": web, "diff_url": format!("{web}.diff"),
            "patch_url": format!("{web}.patch"), "base_commit": one(&base), "merge_base_commit": one(&merge_base),
            "status": status, "ahead_by": ahead.len(), "behind_by": behind, "total_commits": ahead.len(),
            "commits": ahead.iter().map(|commit| shapes::commit(self.world, repo, commit)).collect::<Vec<_>>(),
            "files": files,
        });
        Ok(Answer::json(200, &body))
    }

    fn contents(&self, repo: usize, path: &str) -> Reply {
        let repository = self.repository(repo);
        let name = self.request.query("ref").unwrap_or(&repository.default_branch);
        let sha = self.commit_named(repo, name)?;
        let text = repository.bare.file(&sha, path).ok_or_else(not_found)?;
        let blob = repository.bare.blob(&sha, path).ok_or_else(not_found)?;
        let (api, web) = (shapes::repo_url(self.world, repository), shapes::html_url(self.world, repository));
        let (url, html) = (format!("{api}/contents/{path}?ref={name}"), format!("{web}/blob/{name}/{path}"));
        let git = format!("{api}/git/blobs/{blob}");
        let body = json!({
            "type": "file", "encoding": "base64", "size": text.len(), "path": path, "sha": blob,
            "name": path.rsplit('/').next(), "content": BASE64_STANDARD.encode(&text), "url": url,
            "html_url": html, "git_url": git, "download_url": format!("{web}/raw/{name}/{path}"),
            "_links": { "self": url, "git": git, "html": html },
        });
        Ok(Answer::json(200, &body))
    }
}

fn checks(contexts: &[String]) -> Vec<Value> {
    contexts.iter().map(|context| json!({ "context": context, "app_id": null })).collect()
}

fn reviews(url: &str, protection: &Protection) -> Value {
    json!({
        "url": format!("{url}/required_pull_request_reviews"), "require_code_owner_reviews": false,
        "dismiss_stale_reviews": protection.dismisses_stale, "require_last_push_approval": false,
        "required_approving_review_count": protection.approvals,
    })
}
