//! Reviews, with what the server believes of them: stale, official, dismissed.

use serde_json::Value;

use super::{Call, shapes};
use crate::forges::{
    http::{Answer, Reply},
    traps::Trap,
    world::{Role, Verdict, pulls::NewReview},
};

impl Call<'_> {
    pub(super) fn reviews(&mut self, method: &str, repo: usize, number: u64, rest: &[&str]) -> Reply {
        match (method, rest) {
            ("GET", []) => {
                let (_, pull) = self.repository(repo).pull(number).ok_or_else(|| self.not_found())?;
                let account = self.account.login();
                let all = pull.visible_reviews(account.as_deref());
                self.list(all, |review| shapes::review(self.world, repo, number, review))
            }
            ("POST", []) => self.create_review(repo, number),
            (method, [id, rest @ ..]) => {
                let id = id.parse().map_err(|_| self.not_found())?;
                self.one_review(method, repo, number, id, rest)
            }
            _ => Err(self.not_found()),
        }
    }

    /// Reads what a review decides; nothing and `PENDING` are a draft.
    fn verdict(&self, event: Option<&str>) -> Result<Verdict, Answer> {
        match event.unwrap_or_default() {
            "" | "PENDING" => Ok(Verdict::Pending),
            // Forgejo also takes GitHub's word.
            "APPROVED" | "APPROVE" => Ok(Verdict::Approved),
            "REQUEST_CHANGES" => Ok(Verdict::ChangesRequested),
            "COMMENT" => Ok(Verdict::Commented),
            _ => Err(self.refuse(422, "unknown review event")),
        }
    }

    fn may_decide(&self, repo: usize, number: u64, verdict: Verdict) -> Result<String, Answer> {
        let login = self.login()?;
        let issue = self.repository(repo).issue(number).ok_or_else(|| self.not_found())?;
        if issue.author != login || !self.world.has(Trap::OwnApproval) {
            return Ok(login);
        }
        match verdict {
            Verdict::Approved => Err(self.refuse(422, "approve your own pull is not allowed")),
            Verdict::ChangesRequested => Err(self.refuse(422, "reject your own pull is not allowed")),
            Verdict::Commented | Verdict::Pending => Ok(login),
        }
    }

    fn create_review(&mut self, repo: usize, number: u64) -> Reply {
        let verdict = self.verdict(self.body["event"].as_str())?;
        let login = self.may_decide(repo, number, verdict)?;
        let body = self.text("body").unwrap_or_default();
        let comments = self.body["comments"].as_array().cloned().unwrap_or_default();
        let comments: Vec<(String, u64, String)> = comments
            .iter()
            .filter_map(|comment| {
                let line = comment["new_position"].as_u64().unwrap_or_default();
                let line = if line > 0 { line } else { comment["old_position"].as_u64().unwrap_or_default() };
                Some((comment["path"].as_str()?.to_owned(), line, comment["body"].as_str()?.to_owned()))
            })
            .collect();
        let needs_text = matches!(verdict, Verdict::ChangesRequested | Verdict::Commented);
        if needs_text && body.trim().is_empty() && comments.is_empty() {
            return Err(self.refuse(422, "review event requires a body or a comment"));
        }
        let repository = self.repository(repo);
        let (_, pull) = repository.pull(number).ok_or_else(|| self.not_found())?;
        let commit = self.text("commit_id").filter(|commit| !commit.is_empty());
        let commit = commit.unwrap_or_else(|| pull.head_sha.clone());
        if repository.bare.resolve(&commit).as_ref() != Some(&commit) {
            return Err(self.own_fault("the commit is not there"));
        }
        let wanted = NewReview { verdict, body: &body, commit: &commit, comments };
        let made = self.world.review(repo, number, &login, wanted);
        let review = made.ok_or_else(|| self.not_found())?;
        Ok(Answer::json(200, &shapes::review(self.world, repo, number, &review)))
    }

    fn one_review(&mut self, method: &str, repo: usize, number: u64, id: u64, rest: &[&str]) -> Reply {
        let account = self.account.login();
        let (_, pull) = self.repository(repo).pull(number).ok_or_else(|| self.not_found())?;
        let visible = pull.visible_reviews(account.as_deref());
        let found = visible.into_iter().find(|review| review.id == id).cloned();
        let review = found.ok_or_else(|| self.not_found())?;
        match (method, rest) {
            ("GET", []) => Ok(Answer::json(200, &shapes::review(self.world, repo, number, &review))),
            ("GET", ["comments"]) => {
                let comments = review.comments.iter();
                let shown =
                    comments.map(|comment| shapes::review_comment(self.world, repo, number, id, comment));
                Ok(Answer::json(200, &Value::Array(shown.collect())))
            }
            ("POST", []) => {
                if review.verdict != Verdict::Pending {
                    return Err(self.refuse(422, "only a pending review can be submitted"));
                }
                let verdict = self.verdict(self.body["event"].as_str())?;
                self.may_decide(repo, number, verdict)?;
                let body = self.text("body");
                let done = self.world.submit_review(repo, number, id, verdict, body.as_deref());
                let review = done.ok_or_else(|| self.not_found())?;
                Ok(Answer::json(200, &shapes::review(self.world, repo, number, &review)))
            }
            ("POST", ["dismissals"]) => {
                let login = self.need(repo, Role::Admin).or_else(|refused| {
                    // Whoever may write can dismiss where the branch does not say otherwise.
                    if self.role(repo) >= Role::Write { self.login() } else { Err(refused) }
                })?;
                let message = self.text("message").unwrap_or_default();
                if matches!(review.verdict, Verdict::Commented | Verdict::Pending) {
                    return Err(self.refuse(
                        422,
                        "not need to dismiss this review because it's type is not Approve or change request",
                    ));
                }
                self.world.dismiss(repo, number, id, &login, &message);
                let (_, pull) = self.repository(repo).pull(number).ok_or_else(|| self.not_found())?;
                let review = pull.review(id).ok_or_else(|| self.not_found())?;
                Ok(Answer::json(200, &shapes::review(self.world, repo, number, review)))
            }
            ("DELETE", []) => {
                let login = self.login()?;
                if review.author != login && self.role(repo) < Role::Admin {
                    return Err(self.refuse(403, "only the author or an admin can delete a review"));
                }
                if let Some(pull) = self.world.repos[repo].pull_mut(number) {
                    pull.reviews.retain(|other| other.id != id);
                }
                Ok(Answer::empty(204))
            }
            _ => Err(self.not_found()),
        }
    }
}
