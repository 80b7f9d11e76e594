//! What a query can change.

use serde_json::{Value, json};

use super::{Fault, Node, Query};
use crate::forges::{
    git::Style,
    github::pulls::words,
    http::Answer,
    world::{
        Happened, Role, Verdict,
        issues::Edit,
        pulls::{MergeWish, NewPull, NewReview, NotOpened},
    },
};

/// The fields of a mutation's answer.
type Done = Result<Vec<(&'static str, Node)>, Fault>;

fn text(input: &Value, name: &str) -> Option<String> {
    input[name].as_str().map(str::to_owned)
}

impl Query<'_, '_, '_> {
    pub(super) fn carry_out(&mut self, name: &str, input: &Value) -> Done {
        match name {
            "createIssue" => self.create_issue(input),
            "createPullRequest" => self.create_pull(input),
            "updateIssue" | "updatePullRequest" => self.update(input),
            "closeIssue" | "closePullRequest" => self.set_open(input, false),
            "reopenIssue" | "reopenPullRequest" => self.set_open(input, true),
            "addLabelsToLabelable" => self.label_item(input, true),
            "removeLabelsFromLabelable" => self.label_item(input, false),
            "addComment" => self.add_comment(input),
            "updateIssueComment" => self.update_comment(input),
            "addPullRequestReview" => self.add_review(input),
            "mergePullRequest" => self.merge(input),
            "markPullRequestReadyForReview" => self.set_draft(input, false),
            "convertPullRequestToDraft" => self.set_draft(input, true),
            "requestReviews" | "requestReviewsByLogin" => self.request_reviews(input),
            "replaceActorsForAssignable" => self.assign(input),
            _ => {
                Err(Fault::new("undefinedField", format!("Field '{name}' doesn't exist on type 'Mutation'")))
            }
        }
    }

    fn repo_of(&self, input: &Value) -> Result<usize, Fault> {
        let id = text(input, "repositoryId").unwrap_or_default();
        match self.node(&id) {
            Some(Node::Repo(repo)) => Ok(repo),
            _ => Err(missing(&id)),
        }
    }

    /// Finds the issue or pull request that an input names in one of several fields.
    fn item_of(&self, input: &Value) -> Result<(usize, u64), Fault> {
        let names = ["id", "issueId", "pullRequestId", "labelableId", "subjectId", "assignableId"];
        let id = names.into_iter().find_map(|name| text(input, name)).unwrap_or_default();
        match self.node(&id) {
            Some(Node::Issue(repo, number) | Node::Pull(repo, number)) => Ok((repo, number)),
            _ => Err(missing(&id)),
        }
    }

    fn item_node(&self, repo: usize, number: u64) -> (&'static str, Node) {
        let is_pull = self.call.repository(repo).pull(number).is_some();
        if is_pull { ("pullRequest", Node::Pull(repo, number)) } else { ("issue", Node::Issue(repo, number)) }
    }

    /// Reads the labels that a list of ids names.
    fn labels_of(&self, input: &Value) -> Result<Vec<u64>, Fault> {
        let ids = input["labelIds"].as_array().cloned().unwrap_or_default();
        let label = |id: &Value| match self.node(id.as_str().unwrap_or_default()) {
            Some(Node::Label(_, label)) => Ok(label),
            _ => Err(missing(&id.to_string())),
        };
        ids.iter().map(label).collect()
    }

    fn people_of(&self, input: &Value, names: &[&str]) -> Vec<String> {
        let lists = names.iter().filter_map(|name| input[*name].as_array());
        let ids = lists.flatten().filter_map(Value::as_str);
        ids.map(|id| match self.node(id) {
            Some(Node::User(login)) => login,
            _ => id.to_owned(),
        })
        .filter(|login| self.call.world.user(login).is_some())
        .collect()
    }

    fn create_issue(&mut self, input: &Value) -> Done {
        let repo = self.repo_of(input)?;
        let login = self.call.login()?;
        let title = text(input, "title").filter(|title| !title.trim().is_empty());
        let title = title.ok_or_else(|| Fault::unprocessable("Title can't be blank"))?;
        let labels = self.labels_of(input)?;
        let assignees = self.people_of(input, &["assigneeIds"]);
        let body = text(input, "body").unwrap_or_default();
        let number = self.call.world.create_issue(repo, &login, &title, &body);
        if self.call.role(repo) >= Role::Write {
            self.call.world.add_labels(repo, number, &login, &labels);
            self.call.world.set_assignees(repo, number, &login, &assignees);
        }
        let topic = crate::forges::hooks::Topic::Issue;
        self.call.world.announce(topic, "opened", repo, Some(number), &login);
        Ok(vec![("issue", Node::Issue(repo, number))])
    }

    fn create_pull(&mut self, input: &Value) -> Done {
        let repo = self.repo_of(input)?;
        let login = self.call.need(repo, Role::Write)?;
        let field = |name: &str| text(input, name).unwrap_or_default();
        let (title, body) = (field("title"), field("body"));
        let (head, base) = (field("headRefName"), field("baseRefName"));
        let is_draft = input["draft"] == true;
        let wanted = NewPull { title: &title, body: &body, head: &head, base: &base, is_draft };
        let opened = self.call.world.create_pull(repo, &login, &wanted);
        let number = opened.map_err(|refused| {
            Fault::unprocessable(match refused {
                NotOpened::NoHead => "Head sha can't be blank".to_owned(),
                NotOpened::NoBase => "Base ref must be a branch".to_owned(),
                NotOpened::NoCommits => format!("No commits between {base} and {head}"),
                NotOpened::Exists(_) => {
                    format!("A pull request already exists for {}:{head}.", self.call.repository(repo).owner)
                }
            })
        })?;
        Ok(vec![("pullRequest", Node::Pull(repo, number))])
    }

    /// Refuses whoever neither wrote an issue nor may write to its repository.
    fn may_edit(&self, repo: usize, number: u64) -> Result<String, Fault> {
        let login = self.call.login()?;
        let is_author = self.call.repository(repo).issue(number).is_some_and(|issue| issue.author == login);
        if is_author || self.call.role(repo) >= Role::Write {
            return Ok(login);
        }
        Err(Fault::new("FORBIDDEN", format!("{login} does not have the correct permissions to execute this")))
    }

    fn update(&mut self, input: &Value) -> Done {
        let (repo, number) = self.item_of(input)?;
        let login = self.may_edit(repo, number)?;
        let is_writer = self.call.role(repo) >= Role::Write;
        let labels =
            if input["labelIds"].is_array() && is_writer { Some(self.labels_of(input)?) } else { None };
        let assignees = input["assigneeIds"].is_array() && is_writer;
        let edit = Edit {
            title: text(input, "title"),
            body: text(input, "body"),
            labels,
            assignees: assignees.then(|| self.people_of(input, &["assigneeIds"])),
            ..Edit::default()
        };
        if let (Some(base), Some(pull)) =
            (text(input, "baseRefName"), self.call.world.repos[repo].pull_mut(number))
        {
            pull.base = base;
        }
        self.call.world.edit_issue(repo, number, &login, edit);
        Ok(vec![self.item_node(repo, number)])
    }

    fn set_open(&mut self, input: &Value, open: bool) -> Done {
        let (repo, number) = self.item_of(input)?;
        let login = self.may_edit(repo, number)?;
        let state_reason = text(input, "stateReason").map(|reason| reason.to_lowercase());
        self.call.world.edit_issue(
            repo,
            number,
            &login,
            Edit { open: Some(open), state_reason, ..Edit::default() },
        );
        Ok(vec![self.item_node(repo, number)])
    }

    fn label_item(&mut self, input: &Value, is_added: bool) -> Done {
        let (repo, number) = self.item_of(input)?;
        let login = self.call.need(repo, Role::Write)?;
        let labels = self.labels_of(input)?;
        if is_added {
            self.call.world.add_labels(repo, number, &login, &labels);
        } else {
            self.call.world.remove_labels(repo, number, &login, &labels);
        }
        let (_, node) = self.item_node(repo, number);
        Ok(vec![("labelable", node)])
    }

    fn add_comment(&mut self, input: &Value) -> Done {
        let (repo, number) = self.item_of(input)?;
        let login = self.call.login()?;
        let body = text(input, "body").filter(|body| !body.trim().is_empty());
        let body = body.ok_or_else(|| Fault::unprocessable("Body can't be blank"))?;
        let comment =
            self.call.world.comment(repo, number, &login, &body).ok_or_else(|| missing("subject"))?;
        let node = Node::Comment(repo, number, comment.id);
        let (_, subject) = self.item_node(repo, number);
        Ok(vec![("commentEdge", Node::Edge(Box::new(node), 1)), ("subject", subject)])
    }

    fn update_comment(&mut self, input: &Value) -> Done {
        let id = text(input, "id").unwrap_or_default();
        let Some(Node::Comment(repo, number, comment)) = self.node(&id) else { return Err(missing(&id)) };
        let login = self.call.login()?;
        let is_author =
            self.call.world.find_comment(repo, comment).is_some_and(|(_, found)| found.author == login);
        if !is_author && self.call.role(repo) < Role::Write {
            return Err(Fault::new(
                "FORBIDDEN",
                format!("{login} does not have the correct permissions to execute this"),
            ));
        }
        let body = text(input, "body").unwrap_or_default();
        self.call.world.edit_comment(repo, number, comment, &body, &login);
        Ok(vec![("issueComment", Node::Comment(repo, number, comment))])
    }

    fn add_review(&mut self, input: &Value) -> Done {
        let (repo, number) = self.item_of(input)?;
        let verdict = match input["event"].as_str() {
            Some("APPROVE") => Verdict::Approved,
            Some("REQUEST_CHANGES") => Verdict::ChangesRequested,
            Some("COMMENT") => Verdict::Commented,
            _ => Verdict::Pending,
        };
        let login = self.call.may_decide(repo, number, verdict)?;
        let commit = text(input, "commitOID");
        let head = self.call.repository(repo).pull(number).map(|(_, pull)| pull.head_sha.clone());
        let commit = commit.or(head).ok_or_else(|| missing("pull request"))?;
        let body = text(input, "body").unwrap_or_default();
        let wanted = NewReview { verdict, body: &body, commit: &commit, comments: Vec::new() };
        let made = self.call.world.review(repo, number, &login, wanted);
        let review = made.ok_or_else(|| missing("pull request"))?;
        Ok(vec![("pullRequestReview", Node::Review(repo, number, review.id))])
    }

    fn merge(&mut self, input: &Value) -> Done {
        let (repo, number) = self.item_of(input)?;
        let login = self.call.need(repo, Role::Write)?;
        let style = match input["mergeMethod"].as_str() {
            Some("SQUASH") => Style::Squash,
            Some("REBASE") => Style::Rebase,
            _ => Style::Merge,
        };
        let (head, title) = (text(input, "expectedHeadOid"), text(input, "commitHeadline"));
        let message = text(input, "commitBody");
        let wish =
            MergeWish { head: head.as_deref(), style, title: title.as_deref(), message: message.as_deref() };
        let merged = self.call.world.merge(repo, number, &login, &wish);
        merged.map_err(|refused| Fault::unprocessable(words(&refused).1))?;
        Ok(vec![("pullRequest", Node::Pull(repo, number))])
    }

    fn set_draft(&mut self, input: &Value, is_draft: bool) -> Done {
        let (repo, number) = self.item_of(input)?;
        let login = self.may_edit(repo, number)?;
        self.call.set_draft(repo, number, &login, is_draft);
        Ok(vec![("pullRequest", Node::Pull(repo, number))])
    }

    fn request_reviews(&mut self, input: &Value) -> Done {
        let (repo, number) = self.item_of(input)?;
        let login = self.call.need(repo, Role::Write)?;
        for who in self.people_of(input, &["userIds", "userLogins"]) {
            if let Some(pull) = self.call.world.repos[repo].pull_mut(number) {
                pull.requested.push(who.clone());
            }
            self.call.world.record(repo, number, &login, Happened::ReviewRequested(who));
        }
        Ok(vec![("pullRequest", Node::Pull(repo, number))])
    }

    fn assign(&mut self, input: &Value) -> Done {
        let (repo, number) = self.item_of(input)?;
        let login = self.call.need(repo, Role::Write)?;
        let people = self.people_of(input, &["actorIds", "actorLogins"]);
        self.call.world.set_assignees(repo, number, &login, &people);
        let (_, node) = self.item_node(repo, number);
        Ok(vec![("assignable", node)])
    }
}

fn missing(id: &str) -> Fault {
    let answer = Answer::json(
        404,
        &json!({ "message": format!("Could not resolve to a node with the global id of '{id}'") }),
    );
    Fault::from(answer)
}
