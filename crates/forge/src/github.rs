//! GitHub, and GitHub Enterprise Server.
//!
//! Every read is conditional: what has not changed costs nothing. What is particular to GitHub stays here and in the
//! module of its JSON: pull requests are issues too, a branch's rules come from two places, and a merge that is refused
//! answers 405 whatever the cause.

mod actions;
mod wire;

use std::sync::Arc;

use engine::Time;
use serde_json::{Value, json};

use crate::{
    Budget, ChangedFile, Contexts, Remote, Requirements, Settings, SharedChecks,
    client::{Client, Failure, escaped},
    http::{Method, SharedNet},
    remote::{
        MergeMethod,
        server::{
            Issue, IssueEdit, Kind, Label, LabelEvent, Login, NewStatus, Note, PullRequest, Repository,
            ReviewNote, Server, Status, Traits, Verdict, Which,
        },
    },
};

use actions::Actions;

/// The longest text of an issue and a comment: 65,536 characters, which may have one byte each.
const LONGEST: usize = 65_536;

/// A repository on GitHub.
#[derive(Debug)]
pub(crate) struct Github {
    pub(crate) client: Arc<Client>,
    pub(crate) owner: String,
    pub(crate) root: String,
}

impl Remote {
    /// Creates the adapter of a repository on GitHub. `net` reaches the API: `https://api.github.com`, or a server's own
    /// with `/api/v3`.
    pub fn github(net: SharedNet, owner: &str, repository: &str, settings: Settings) -> Self {
        Self::new(Arc::new(Github::new(net, owner, repository)), settings)
    }
}

impl Github {
    pub(crate) fn new(net: SharedNet, owner: &str, repository: &str) -> Self {
        let headers = vec![
            ("accept", "application/vnd.github+json".to_owned()),
            ("x-github-api-version", "2022-11-28".to_owned()),
        ];
        let root = format!("/repos/{}/{}", escaped(owner), escaped(repository));
        Self { client: Arc::new(Client::new(net, headers)), owner: owner.to_owned(), root }
    }

    fn at(&self, rest: impl AsRef<str>) -> String {
        format!("{}{}", self.root, rest.as_ref())
    }

    fn list<W, T>(&self, rest: &str, of: impl Fn(W) -> Result<T, Failure>) -> Result<Vec<T>, Failure>
    where
        W: serde::de::DeserializeOwned,
    {
        self.client.list::<W>(&self.at(rest))?.into_iter().map(of).collect()
    }
}

impl Server for Github {
    fn traits(&self) -> Traits {
        Traits { name: "GitHub", longest: LONGEST }
    }

    fn now(&self) -> Time {
        self.client.net.now()
    }

    fn redact(&self, text: String) -> String {
        self.client.net.redact(text)
    }

    fn budget(&self) -> Budget {
        self.client.budget()
    }

    fn account(&self) -> Result<Login, Failure> {
        match self.client.get::<wire::User>("/user") {
            // The token of an app's installation is nobody's; what it may do tells the repository.
            Err(Failure::Status { status: 403, message }) => Err(Failure::Status {
                status: 403,
                message: format!("the token does not say whose it is ({message}); take one of an account"),
            }),
            user => Ok(wire::login(user.map(Some)?)),
        }
    }

    fn repository(&self) -> Result<Option<Repository>, Failure> {
        Ok(self.client.find::<wire::Repository>(&self.root)?.map(Repository::from))
    }

    fn may_write(&self, login: &str) -> Result<Option<bool>, Failure> {
        let path = self.at(format!("/collaborators/{}/permission", escaped(login)));
        match self.client.get::<wire::Permission>(&path) {
            Ok(told) => Ok(Some(matches!(told.permission.as_str(), "admin" | "maintain" | "write"))),
            // 404 is the answer for an account that is gone.
            Err(failure) if failure.is_absent() => Ok(Some(false)),
            Err(Failure::Status { status: 403, .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn can_assign(&self, login: &str) -> Result<bool, Failure> {
        let found = self.client.text(&self.at(format!("/assignees/{}", escaped(login))))?;
        Ok(found.is_some())
    }

    fn issue(&self, number: u64) -> Result<Option<Issue>, Failure> {
        let found = self.client.find::<wire::Issue>(&self.at(format!("/issues/{number}")))?;
        found.map(Issue::try_from).transpose()
    }

    fn issues(&self, which: Which) -> Result<Vec<Issue>, Failure> {
        // In the order of creation nothing moves to another page while the pages are read.
        let query = match which {
            Which::Open => "state=open&sort=created&direction=asc".to_owned(),
            Which::All => "state=all&sort=created&direction=asc".to_owned(),
            Which::Since(since) => {
                format!("state=all&sort=updated&direction=desc&since={}", wire::in_seconds(since))
            }
        };
        self.list(&format!("/issues?{query}&per_page=100"), |issue: wire::Issue| issue.try_into())
    }

    /// The list of issues holds pull requests too, and nothing but a search counts them apart.
    fn count_closed(&self, kind: Kind) -> Result<u64, Failure> {
        let pulls = self.client.count::<Value>(&self.at("/pulls?state=closed&per_page=1"))?;
        if kind == Kind::Pull {
            return Ok(pulls);
        }
        let all = self.client.count::<Value>(&self.at("/issues?state=closed&per_page=1"))?;
        Ok(all.saturating_sub(pulls))
    }

    fn create_issue(&self, title: &str, body: &str, labels: &[Label]) -> Result<Issue, Failure> {
        let labels: Vec<&str> = labels.iter().map(|label| label.name.as_str()).collect();
        let new = json!({"title": title, "body": body, "labels": labels});
        self.client.write::<wire::Issue>(Method::Post, &self.at("/issues"), &new)?.try_into()
    }

    fn edit_issue(&self, number: u64, edit: &IssueEdit<'_>) -> Result<Issue, Failure> {
        let path = self.at(format!("/issues/{number}"));
        self.client.write::<wire::Issue>(Method::Patch, &path, &wire::EditIssue::of(edit))?.try_into()
    }

    fn comments(&self, number: u64) -> Result<Vec<Note>, Failure> {
        self.list(&format!("/issues/{number}/comments?per_page=100"), |note: wire::Note| note.note())
    }

    fn add_comment(&self, number: u64, text: &str) -> Result<Note, Failure> {
        let path = self.at(format!("/issues/{number}/comments"));
        self.client.write::<wire::Note>(Method::Post, &path, &json!({"body": text}))?.note()
    }

    fn labels(&self) -> Result<Vec<Label>, Failure> {
        self.list("/labels?per_page=100", |label: wire::Label| Ok(label.into()))
    }

    fn create_label(&self, name: &str, colour: &str) -> Result<Label, Failure> {
        let new = json!({"name": name, "color": colour});
        Ok(self.client.write::<wire::Label>(Method::Post, &self.at("/labels"), &new)?.into())
    }

    fn delete_label(&self, label: &Label) -> Result<(), Failure> {
        let path = self.at(format!("/labels/{}", escaped(&label.name)));
        self.client.write_only(Method::Delete, &path, &()).map(drop)
    }

    fn attach(&self, number: u64, labels: &[Label]) -> Result<Vec<Label>, Failure> {
        let names: Vec<&str> = labels.iter().map(|label| label.name.as_str()).collect();
        let path = self.at(format!("/issues/{number}/labels"));
        let attached: Vec<wire::Label> = self.client.write(Method::Post, &path, &json!({"labels": names}))?;
        Ok(attached.into_iter().map(Label::from).collect())
    }

    fn detach(&self, number: u64, label: &Label) -> Result<(), Failure> {
        let path = self.at(format!("/issues/{number}/labels/{}", escaped(&label.name)));
        self.client.write_only(Method::Delete, &path, &()).map(drop)
    }

    fn label_events(&self, number: u64) -> Result<Vec<LabelEvent>, Failure> {
        let events = self
            .list(&format!("/issues/{number}/timeline?per_page=100"), |event: wire::Event| {
                Ok(event.label_event())
            })?;
        Ok(events.into_iter().flatten().collect())
    }

    fn pull(&self, number: u64) -> Result<Option<PullRequest>, Failure> {
        let found = self.client.find::<wire::Pull>(&self.at(format!("/pulls/{number}")))?;
        found.map(PullRequest::try_from).transpose()
    }

    fn pulls(&self, which: Which) -> Result<Vec<PullRequest>, Failure> {
        let state = if which == Which::Open { "open" } else { "all" };
        let path = format!("/pulls?state={state}&sort=created&direction=asc&per_page=100");
        self.list(&path, |pull: wire::Pull| pull.try_into())
    }

    fn pulls_of(&self, branch: &str) -> Result<Vec<PullRequest>, Failure> {
        let head = escaped(&format!("{}:{branch}", self.owner));
        self.list(&format!("/pulls?state=open&head={head}&per_page=100"), |pull: wire::Pull| pull.try_into())
    }

    fn create_pull(
        &self,
        title: &str,
        body: &str,
        branch: &str,
        target: &str,
    ) -> Result<PullRequest, Failure> {
        let new = json!({"title": title, "body": body, "head": branch, "base": target});
        self.client.write::<wire::Pull>(Method::Post, &self.at("/pulls"), &new)?.try_into()
    }

    fn reviews(&self, number: u64) -> Result<Vec<ReviewNote>, Failure> {
        let reviews =
            self.list(&format!("/pulls/{number}/reviews?per_page=100"), |review: wire::Review| Ok(review))?;
        if reviews.is_empty() {
            return Ok(Vec::new());
        }
        let inline =
            self.list(&format!("/pulls/{number}/comments?per_page=100"), |note: wire::Note| Ok(note))?;
        let published = reviews.into_iter().filter(wire::Review::is_published);
        published.map(|review| review.with(&inline)).collect()
    }

    fn create_review(
        &self,
        number: u64,
        head: &str,
        verdict: Verdict,
        text: &str,
    ) -> Result<ReviewNote, Failure> {
        let event = match verdict {
            Verdict::Approved => "APPROVE",
            Verdict::ChangesRequested => "REQUEST_CHANGES",
            Verdict::Commented => "COMMENT",
        };
        let new = json!({"commit_id": head, "event": event, "body": text});
        let path = self.at(format!("/pulls/{number}/reviews"));
        self.client.write::<wire::Review>(Method::Post, &path, &new)?.with(&[])
    }

    fn dismiss(&self, number: u64, review: u64, why: &str) -> Result<(), Failure> {
        let path = self.at(format!("/pulls/{number}/reviews/{review}/dismissals"));
        self.client.write_only(Method::Put, &path, &json!({"message": why})).map(drop)
    }

    fn merge(&self, number: u64, head: &str, method: MergeMethod) -> Result<(), Failure> {
        let method = match method {
            MergeMethod::Merge => "merge",
            MergeMethod::Squash => "squash",
            MergeMethod::Rebase => "rebase",
        };
        let path = self.at(format!("/pulls/{number}/merge"));
        self.client.write_only(Method::Put, &path, &json!({"sha": head, "merge_method": method})).map(drop)
    }

    fn files(&self, number: u64) -> Result<Vec<ChangedFile>, Failure> {
        self.list(&format!("/pulls/{number}/files?per_page=100"), |file: wire::File| Ok(file.into()))
    }

    fn branch(&self, name: &str) -> Result<Option<String>, Failure> {
        let found = self.client.find::<wire::Branch>(&self.at(format!("/branches/{}", escaped(name))))?;
        Ok(found.map(|branch| branch.commit.sha))
    }

    fn delete_branch(&self, name: &str) -> Result<(), Failure> {
        let path = self
            .at(format!("/git/refs/heads/{}", name.split('/').map(escaped).collect::<Vec<_>>().join("/")));
        self.client.write_only(Method::Delete, &path, &()).map(drop)
    }

    /// A branch is protected by settings of its own, which its entry tells everybody, and by rules of the repository.
    fn requirements(&self, branch: &str) -> Result<Requirements, Failure> {
        let name = escaped(branch);
        let found: wire::Branch = self.client.get(&self.at(format!("/branches/{name}")))?;
        let mut wanted = Requirements::default();
        let checks = found.protection.and_then(|protection| protection.required_status_checks);
        if let Some(checks) = checks {
            wanted.contexts.extend(checks.contexts);
            wanted.contexts.extend(checks.checks.into_iter().map(|check| check.context));
        }
        // An older server has no rules.
        let rules: Option<Vec<wire::Rule>> =
            match self.client.list(&self.at(format!("/rules/branches/{name}?per_page=100"))) {
                Ok(rules) => Some(rules),
                Err(failure) if failure.is_absent() => None,
                Err(failure) => return Err(failure),
            };
        for rule in rules.unwrap_or_default() {
            let Some(parameters) = rule.parameters else { continue };
            let checks = parameters.required_status_checks;
            wanted.contexts.extend(checks.into_iter().map(|check| check.context));
            wanted.approvals = wanted.approvals.max(parameters.required_approving_review_count);
        }
        Ok(wanted)
    }

    fn statuses(&self, commit: &str) -> Result<Vec<Status>, Failure> {
        let path = format!("/commits/{}/statuses?per_page=100", escaped(commit));
        self.list(&path, |status: wire::Status| Ok(status.into()))
    }

    fn set_status(&self, commit: &str, status: &NewStatus<'_>) -> Result<(), Failure> {
        let path = self.at(format!("/statuses/{}", escaped(commit)));
        let new = wire::new_status(status);
        let set: wire::Status = self.client.write(Method::Post, &path, &new)?;
        wire::check_status(set.into(), status)
    }

    fn actions(self: Arc<Self>, contexts: Contexts) -> SharedChecks {
        Arc::new(Actions { github: self, contexts })
    }
}
