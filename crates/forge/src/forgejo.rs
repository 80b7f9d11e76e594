//! Forgejo, Gitea and Codeberg.
//!
//! What is particular to them stays here and in the module of their JSON. Nothing is asked by a label's name, because an
//! unknown name drops the filter; an answer of 200 may have changed nothing; whether somebody may write is told to
//! administrators only, and what a branch asks for is told with the branch.

mod actions;
mod wire;

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use engine::Time;
use serde_json::{Map, Value, json};

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

pub use wire::Version;

/// The longest text that is sent. Servers take more than a megabyte, and readers do not.
const LONGEST: usize = 256 * 1024 + 8 * 1024;

/// A repository on Forgejo or Gitea.
#[derive(Debug)]
pub(crate) struct Forgejo {
    pub(crate) client: Arc<Client>,
    pub(crate) root: String,
    version: OnceLock<Version>,
    /// Whether the server has refused to tell who may write.
    keeps_permissions: AtomicBool,
}

impl Remote {
    /// Creates the adapter of a repository on Forgejo or Gitea. `net` reaches the API, whose address ends with `/api/v1`.
    pub fn forgejo(net: SharedNet, owner: &str, repository: &str, settings: Settings) -> Self {
        Self::new(Arc::new(Forgejo::new(net, owner, repository)), settings)
    }
}

impl Forgejo {
    pub(crate) fn new(net: SharedNet, owner: &str, repository: &str) -> Self {
        let headers = vec![("accept", "application/json".to_owned())];
        Self {
            client: Arc::new(Client::new(net, headers)),
            root: format!("/repos/{}/{}", escaped(owner), escaped(repository)),
            version: OnceLock::new(),
            keeps_permissions: AtomicBool::new(false),
        }
    }

    /// Returns which server this is, and how old.
    pub(crate) fn version(&self) -> Result<Version, Failure> {
        if let Some(version) = self.version.get() {
            return Ok(*version);
        }
        let answer: wire::VersionAnswer = self.client.get("/version")?;
        let version = answer.version()?;
        Ok(*self.version.get_or_init(|| version))
    }

    pub(crate) fn at(&self, rest: impl AsRef<str>) -> String {
        format!("{}{}", self.root, rest.as_ref())
    }

    fn list<W, T>(&self, rest: &str, of: impl Fn(W) -> Result<T, Failure>) -> Result<Vec<T>, Failure>
    where
        W: serde::de::DeserializeOwned,
    {
        self.client.list::<W>(&self.at(rest))?.into_iter().map(of).collect()
    }
}

impl Server for Forgejo {
    fn traits(&self) -> Traits {
        Traits { name: "Forgejo", longest: LONGEST }
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
        Ok(wire::login(Some(self.client.get("/user")?)))
    }

    fn repository(&self) -> Result<Option<Repository>, Failure> {
        Ok(self.client.find::<wire::Repository>(&self.root)?.map(Repository::from))
    }

    fn may_write(&self, login: &str) -> Result<Option<bool>, Failure> {
        if self.keeps_permissions.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let path = self.at(format!("/collaborators/{}/permission", escaped(login)));
        match self.client.get::<wire::Permission>(&path) {
            Ok(told) => Ok(Some(matches!(told.permission.as_str(), "owner" | "admin" | "write"))),
            Err(failure) if failure.is_absent() => Ok(Some(false)),
            Err(Failure::Status { status: 403, .. }) => {
                self.keeps_permissions.store(true, Ordering::Relaxed);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }

    fn can_assign(&self, login: &str) -> Result<bool, Failure> {
        let logins = self.list("/assignees", |user: wire::User| Ok(wire::login(Some(user)).name))?;
        Ok(logins.iter().any(|name| name.eq_ignore_ascii_case(login)))
    }

    fn issue(&self, number: u64) -> Result<Option<Issue>, Failure> {
        let found = self.client.find::<wire::Issue>(&self.at(format!("/issues/{number}")))?;
        found.map(Issue::try_from).transpose()
    }

    /// The newest come first, so that what is filed meanwhile only comes twice.
    fn issues(&self, which: Which) -> Result<Vec<Issue>, Failure> {
        let query = match which {
            Which::Open => "state=open".to_owned(),
            Which::All => "state=all".to_owned(),
            Which::Since(since) => format!("state=all&since={}", wire::in_seconds(since)),
        };
        let mut issues =
            self.list(&format!("/issues?{query}&limit=50"), |issue: wire::Issue| issue.try_into())?;
        issues.sort_by_key(|issue: &Issue| issue.number);
        issues.dedup_by_key(|issue| issue.number);
        Ok(issues)
    }

    fn count_closed(&self, kind: Kind) -> Result<u64, Failure> {
        let kind = if kind == Kind::Issue { "issues" } else { "pulls" };
        self.client.count::<Value>(&self.at(format!("/issues?state=closed&type={kind}&limit=1")))
    }

    fn create_issue(&self, title: &str, body: &str, labels: &[Label]) -> Result<Issue, Failure> {
        let labels: Vec<u64> = labels.iter().map(|label| label.id).collect();
        let new = json!({"title": title, "body": body, "labels": labels});
        self.client.write::<wire::Issue>(Method::Post, &self.at("/issues"), &new)?.try_into()
    }

    fn edit_issue(&self, number: u64, edit: &IssueEdit<'_>) -> Result<Issue, Failure> {
        let mut fields = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        set("title", edit.title.map(Value::from));
        set("body", edit.body.map(Value::from));
        set("state", edit.is_open.map(|is_open| if is_open { "open" } else { "closed" }.into()));
        set("assignees", edit.assignees.clone().map(Value::from));
        set("content_version", edit.version.map(Value::from));
        let path = self.at(format!("/issues/{number}"));
        self.client.write::<wire::Issue>(Method::Patch, &path, &fields)?.try_into()
    }

    fn comments(&self, number: u64) -> Result<Vec<Note>, Failure> {
        self.list(&format!("/issues/{number}/comments"), |note: wire::Note| note.note())
    }

    fn add_comment(&self, number: u64, text: &str) -> Result<Note, Failure> {
        let path = self.at(format!("/issues/{number}/comments"));
        self.client.write::<wire::Note>(Method::Post, &path, &json!({"body": text}))?.note()
    }

    fn labels(&self) -> Result<Vec<Label>, Failure> {
        self.list("/labels?limit=50", |label: wire::Label| Ok(label.into()))
    }

    fn create_label(&self, name: &str, colour: &str) -> Result<Label, Failure> {
        let new = json!({"name": name, "color": format!("#{colour}")});
        Ok(self.client.write::<wire::Label>(Method::Post, &self.at("/labels"), &new)?.into())
    }

    fn delete_label(&self, label: &Label) -> Result<(), Failure> {
        let path = self.at(format!("/labels/{}", label.id));
        self.client.write_only(Method::Delete, &path, &()).map(drop)
    }

    fn attach(&self, number: u64, labels: &[Label]) -> Result<Vec<Label>, Failure> {
        let ids: Vec<u64> = labels.iter().map(|label| label.id).collect();
        let path = self.at(format!("/issues/{number}/labels"));
        let attached: Option<Vec<wire::Label>> =
            self.client.write(Method::Post, &path, &json!({"labels": ids}))?;
        Ok(attached.unwrap_or_default().into_iter().map(Label::from).collect())
    }

    fn detach(&self, number: u64, label: &Label) -> Result<(), Failure> {
        let path = self.at(format!("/issues/{number}/labels/{}", label.id));
        self.client.write_only(Method::Delete, &path, &()).map(drop)
    }

    fn label_events(&self, number: u64) -> Result<Vec<LabelEvent>, Failure> {
        let events = self.list(&format!("/issues/{number}/timeline?limit=50"), |event: wire::Event| {
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
        self.list(&format!("/pulls?state={state}&limit=50"), |pull: wire::Pull| pull.try_into())
    }

    /// Older servers know no filter for the head, and one that is not known is dropped.
    fn pulls_of(&self, branch: &str) -> Result<Vec<PullRequest>, Failure> {
        let mut pulls = self.pulls(Which::Open)?;
        pulls.retain(|pull| pull.branch == branch);
        Ok(pulls)
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
            self.list(&format!("/pulls/{number}/reviews?limit=50"), |review: wire::Review| Ok(review))?;
        let published = reviews.into_iter().filter(wire::Review::is_published);
        let with_remarks = |review: wire::Review| {
            let remarks = if review.has_remarks() {
                let path = format!("/pulls/{number}/reviews/{}/comments", review.id());
                self.list(&path, |note: wire::Note| Ok(note))?
            } else {
                Vec::new()
            };
            review.with(remarks)
        };
        let mut reviews: Vec<ReviewNote> = published.map(with_remarks).collect::<Result<_, _>>()?;
        reviews.sort_by_key(|review| (review.note.at, review.id));
        Ok(reviews)
    }

    fn create_review(
        &self,
        number: u64,
        head: &str,
        verdict: Verdict,
        text: &str,
    ) -> Result<ReviewNote, Failure> {
        let event = match verdict {
            Verdict::Approved => "APPROVED",
            Verdict::ChangesRequested => "REQUEST_CHANGES",
            Verdict::Commented => "COMMENT",
        };
        let new = json!({"commit_id": head, "event": event, "body": text});
        let path = self.at(format!("/pulls/{number}/reviews"));
        self.client.write::<wire::Review>(Method::Post, &path, &new)?.with(Vec::new())
    }

    fn dismiss(&self, number: u64, review: u64, why: &str) -> Result<(), Failure> {
        let path = self.at(format!("/pulls/{number}/reviews/{review}/dismissals"));
        self.client.write_only(Method::Post, &path, &json!({"message": why})).map(drop)
    }

    fn merge(&self, number: u64, head: &str, method: MergeMethod) -> Result<(), Failure> {
        let method = match method {
            MergeMethod::Merge => "merge",
            MergeMethod::Squash => "squash",
            MergeMethod::Rebase => "rebase",
        };
        let path = self.at(format!("/pulls/{number}/merge"));
        self.client.write_only(Method::Post, &path, &json!({"Do": method, "head_commit_id": head})).map(drop)
    }

    fn files(&self, number: u64) -> Result<Vec<ChangedFile>, Failure> {
        self.list(&format!("/pulls/{number}/files?limit=50"), |file: wire::File| Ok(file.into()))
    }

    fn branch(&self, name: &str) -> Result<Option<String>, Failure> {
        let found = self.client.find::<wire::Branch>(&self.at(format!("/branches/{}", path_of(name))))?;
        Ok(found.map(|branch| branch.commit.id))
    }

    fn delete_branch(&self, name: &str) -> Result<(), Failure> {
        let path = self.at(format!("/branches/{}", path_of(name)));
        self.client.write_only(Method::Delete, &path, &()).map(drop)
    }

    fn requirements(&self, branch: &str) -> Result<Requirements, Failure> {
        let found: wire::Branch = self.client.get(&self.at(format!("/branches/{}", path_of(branch))))?;
        Ok(found.requirements())
    }

    fn statuses(&self, commit: &str) -> Result<Vec<Status>, Failure> {
        let path = format!("/commits/{}/statuses?limit=50", escaped(commit));
        let mut statuses = self.list(&path, |status: wire::Status| Ok(status))?;
        statuses.sort_by_key(|status| std::cmp::Reverse(status.id()));
        Ok(statuses.into_iter().map(Status::from).collect())
    }

    fn set_status(&self, commit: &str, status: &NewStatus<'_>) -> Result<(), Failure> {
        let path = self.at(format!("/statuses/{}", escaped(commit)));
        let new = wire::new_status(status);
        let set: wire::Status = self.client.write(Method::Post, &path, &new)?;
        wire::check_status(set.into(), status)
    }

    fn actions(self: Arc<Self>, contexts: Contexts) -> SharedChecks {
        Arc::new(Actions { forgejo: self, contexts })
    }
}

/// Writes a branch's name into a path; its slashes stay.
fn path_of(branch: &str) -> String {
    branch.split('/').map(escaped).collect::<Vec<_>>().join("/")
}
