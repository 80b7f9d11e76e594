//! Reviews of a pull request, and comments at its lines.

use serde_json::Value;

use super::{Call, error, invalid, not_found, pulls::event_of, shapes};
use crate::forges::{
    http::{Answer, Reply},
    traps::Trap,
    world::{Happened, ReviewComment, Role, Verdict, pulls::NewReview},
};

impl Call<'_> {
    pub(super) fn reviews(
        &mut self,
        method: &str,
        repo: usize,
        number: u64,
        kind: &str,
        rest: &[&str],
    ) -> Reply {
        match (kind, method, rest) {
            ("reviews", "GET", []) => {
                let (_, pull) = self.repository(repo).pull(number).ok_or_else(not_found)?;
                let account = self.account.login();
                let all = pull.visible_reviews(account.as_deref());
                self.list(all, |review| shapes::review(self.world, repo, number, review))
            }
            ("reviews", "POST", []) => self.create_review(repo, number),
            ("reviews", method, [id, rest @ ..]) => {
                let id = id.parse().map_err(|_| not_found())?;
                self.one_review(method, repo, number, id, rest)
            }
            ("comments", "GET", []) => {
                let (_, pull) = self.repository(repo).pull(number).ok_or_else(not_found)?;
                let published = pull.reviews.iter().filter(|review| review.verdict != Verdict::Pending);
                let all: Vec<_> = published
                    .flat_map(|review| review.comments.iter().map(|comment| (review.id, comment)))
                    .filter(|(_, comment)| {
                        let since = self.request.query("since");
                        since.is_none_or(|since| shapes::time(comment.at).as_str() >= since)
                    })
                    .collect();
                self.list(all, |(review, comment)| {
                    shapes::review_comment(self.world, repo, number, review, comment)
                })
            }
            ("comments", "POST", []) => self.comment_on_line(repo, number),
            ("comments", "POST", [id, "replies"]) => {
                let id = id.parse().map_err(|_| not_found())?;
                self.reply(repo, number, id)
            }
            ("requested_reviewers", "POST", []) => {
                let login = self.need(repo, Role::Write)?;
                for who in self.texts("reviewers").unwrap_or_default() {
                    self.world.stamp();
                    if let Some(pull) = self.world.repos[repo].pull_mut(number) {
                        pull.requested.push(who.clone());
                    }
                    self.world.record(repo, number, &login, Happened::ReviewRequested(who));
                }
                Ok(Answer::json(201, &shapes::pull(self.world, repo, number, None)))
            }
            _ => Err(not_found()),
        }
    }

    /// Reads what a review decides; a draft has no event.
    pub(super) fn verdict(event: Option<&str>) -> Result<Verdict, Answer> {
        match event {
            None => Ok(Verdict::Pending),
            Some("APPROVE") => Ok(Verdict::Approved),
            Some("REQUEST_CHANGES") => Ok(Verdict::ChangesRequested),
            Some("COMMENT") => Ok(Verdict::Commented),
            Some(_) => Err(invalid("PullRequestReview", "event", "invalid", None)),
        }
    }

    /// Refuses whoever decides about their own pull request.
    pub(super) fn may_decide(&self, repo: usize, number: u64, verdict: Verdict) -> Result<String, Answer> {
        let login = self.login()?;
        let issue = self.repository(repo).issue(number).ok_or_else(not_found)?;
        if issue.author == login && self.world.has(Trap::OwnApproval) {
            let words = match verdict {
                Verdict::Approved => "Can not approve your own pull request",
                Verdict::ChangesRequested => "Can not request changes on your own pull request",
                Verdict::Commented | Verdict::Pending => return Ok(login),
            };
            return Err(error(422, words));
        }
        Ok(login)
    }

    fn create_review(&mut self, repo: usize, number: u64) -> Reply {
        let verdict = Self::verdict(event_of(&self.body))?;
        let login = self.may_decide(repo, number, verdict)?;
        let body = self.bounded("PullRequestReview", "body")?.unwrap_or_default();
        let comments: Vec<(String, u64, String)> =
            self.body["comments"].as_array().map(|all| places(all)).unwrap_or_default();
        let needs_text = matches!(verdict, Verdict::ChangesRequested | Verdict::Commented);
        if needs_text && body.is_empty() && comments.is_empty() {
            return Err(error(422, "Unprocessable Entity: a body is required for this event"));
        }
        let (_, pull) = self.repository(repo).pull(number).ok_or_else(not_found)?;
        let has_draft =
            pull.reviews.iter().any(|review| review.verdict == Verdict::Pending && review.author == login);
        if has_draft {
            return Err(error(422, "User can only have one pending review per pull request"));
        }
        let commit = self.text("commit_id").unwrap_or_else(|| pull.head_sha.clone());
        if self.repository(repo).bare.resolve(&commit).is_none() {
            return Err(invalid("PullRequestReview", "commit_id", "invalid", None));
        }
        let wanted = NewReview { verdict, body: &body, commit: &commit, comments };
        let review = self.world.review(repo, number, &login, wanted).ok_or_else(not_found)?;
        Ok(Answer::json(200, &shapes::review(self.world, repo, number, &review)))
    }

    fn one_review(&mut self, method: &str, repo: usize, number: u64, id: u64, rest: &[&str]) -> Reply {
        let account = self.account.login();
        let (_, pull) = self.repository(repo).pull(number).ok_or_else(not_found)?;
        let visible = pull.visible_reviews(account.as_deref());
        let review = visible.into_iter().find(|review| review.id == id).cloned().ok_or_else(not_found)?;
        let is_draft = review.verdict == Verdict::Pending;
        match (method, rest) {
            ("GET", []) => Ok(Answer::json(200, &shapes::review(self.world, repo, number, &review))),
            ("GET", ["comments"]) => {
                let comments = review.comments;
                self.list(comments, |comment| shapes::review_comment(self.world, repo, number, id, &comment))
            }
            ("POST", ["events"]) => {
                let verdict = Self::verdict(event_of(&self.body))?;
                if verdict == Verdict::Pending {
                    return Err(invalid("PullRequestReview", "event", "missing_field", None));
                }
                if !is_draft {
                    return Err(error(422, "Can only submit a pending review"));
                }
                self.may_decide(repo, number, verdict)?;
                let body = self.text("body");
                let done = self.world.submit_review(repo, number, id, verdict, body.as_deref());
                let review = done.ok_or_else(not_found)?;
                Ok(Answer::json(200, &shapes::review(self.world, repo, number, &review)))
            }
            ("PUT", ["dismissals"]) => {
                let login = self.need(repo, Role::Write)?;
                let message = self.text("message").filter(|message| !message.is_empty());
                let message =
                    message.ok_or_else(|| invalid("PullRequestReview", "message", "missing_field", None))?;
                let decides = matches!(review.verdict, Verdict::Approved | Verdict::ChangesRequested);
                if !decides || review.is_dismissed {
                    return Err(error(422, "Can not dismiss a commented pull request review"));
                }
                self.world.dismiss(repo, number, id, &login, &message);
                let (_, pull) = self.repository(repo).pull(number).ok_or_else(not_found)?;
                let review = pull.review(id).ok_or_else(not_found)?;
                Ok(Answer::json(200, &shapes::review(self.world, repo, number, review)))
            }
            ("DELETE", []) if is_draft => {
                let shown = shapes::review(self.world, repo, number, &review);
                if let Some(pull) = self.world.repos[repo].pull_mut(number) {
                    pull.reviews.retain(|other| other.id != id);
                }
                Ok(Answer::json(200, &shown))
            }
            ("DELETE", []) => Err(error(422, "Can not delete a non-pending pull request review")),
            _ => Err(not_found()),
        }
    }

    /// Adds a comment at a line, which makes a review of its own.
    fn comment_on_line(&mut self, repo: usize, number: u64) -> Reply {
        let login = self.login()?;
        let body = self.bounded("PullRequestReviewComment", "body")?;
        let body = body.ok_or_else(|| invalid("PullRequestReviewComment", "body", "missing_field", None))?;
        if let Some(to) = self.body["in_reply_to"].as_u64() {
            return self.add_reply(repo, number, to, &body);
        }
        let path = self
            .text("path")
            .ok_or_else(|| invalid("PullRequestReviewComment", "path", "missing_field", None))?;
        let line = self.body["line"].as_u64().or_else(|| self.body["position"].as_u64()).unwrap_or(1);
        let (_, pull) = self.repository(repo).pull(number).ok_or_else(not_found)?;
        let commit = self.text("commit_id").unwrap_or_else(|| pull.head_sha.clone());
        let wanted = NewReview {
            verdict: Verdict::Commented,
            body: "",
            commit: &commit,
            comments: vec![(path, line, body)],
        };
        let review = self.world.review(repo, number, &login, wanted).ok_or_else(not_found)?;
        let comment = review.comments.first().ok_or_else(not_found)?;
        Ok(Answer::json(201, &shapes::review_comment(self.world, repo, number, review.id, comment)))
    }

    fn reply(&mut self, repo: usize, number: u64, to: u64) -> Reply {
        let body = self.bounded("PullRequestReviewComment", "body")?;
        let body = body.ok_or_else(|| invalid("PullRequestReviewComment", "body", "missing_field", None))?;
        self.add_reply(repo, number, to, &body)
    }

    fn add_reply(&mut self, repo: usize, number: u64, to: u64, body: &str) -> Reply {
        let login = self.login()?;
        let (found, review, first) = self.world.review_comment(repo, to).ok_or_else(not_found)?;
        if found != number {
            return Err(not_found());
        }
        let first = first.clone();
        let (id, at) = (self.world.id(), self.world.stamp());
        let comment =
            ReviewComment { id, at, author: login, body: body.to_owned(), reply_to: Some(to), ..first };
        let pull = self.world.repos[repo].pull_mut(number).ok_or_else(not_found)?;
        if let Some(found) = pull.reviews.iter_mut().find(|other| other.id == review) {
            found.comments.push(comment.clone());
        }
        Ok(Answer::json(201, &shapes::review_comment(self.world, repo, number, review, &comment)))
    }

    pub(super) fn review_comments(&self, method: &str, repo: usize, rest: &[&str]) -> Reply {
        let ("GET", [id]) = (method, rest) else { return Err(not_found()) };
        let id = id.parse().map_err(|_| not_found())?;
        let (number, review, comment) = self.world.review_comment(repo, id).ok_or_else(not_found)?;
        Ok(Answer::json(200, &shapes::review_comment(self.world, repo, number, review, comment)))
    }
}

/// Reads where comments stand and what they say.
fn places(all: &[Value]) -> Vec<(String, u64, String)> {
    let place = |comment: &Value| {
        let line = comment["line"].as_u64().or_else(|| comment["position"].as_u64()).unwrap_or(1);
        Some((comment["path"].as_str()?.to_owned(), line, comment["body"].as_str()?.to_owned()))
    };
    all.iter().filter_map(place).collect()
}
