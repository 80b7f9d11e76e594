//! The JSON of Forgejo and Gitea, as far as it is used.

use engine::Time;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    ChangedFile, Requirements,
    client::Failure,
    remote::{
        MergeMethod,
        server::{self, LabelEvent, Login, NewStatus, PullRequest, ReviewNote, StatusState, Verdict},
    },
};

/// Which server this is, and how old: what it can do differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    pub is_forgejo: bool,
    pub major: u64,
    pub minor: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct VersionAnswer {
    version: String,
}

impl VersionAnswer {
    pub(super) fn version(&self) -> Result<Version, Failure> {
        Version::parse(&self.version).ok_or_else(|| Failure::Bad(format!("`{}` is no version", self.version)))
    }
}

impl Version {
    /// Parses what a server calls its version: `16.0.1+gitea-1.22.0` is Forgejo's, `1.27.0` Gitea's.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = text.split(['+', '-']).next()?;
        let mut numbers = numbers.split('.').map(|number| number.parse::<u64>().ok());
        let (major, minor) = (numbers.next()??, numbers.next().flatten().unwrap_or_default());
        Some(Self { is_forgejo: text.contains("gitea-") || major > 6, major, minor })
    }

    /// Whether a run of its own actions can be started again.
    pub fn reruns(self) -> bool {
        if self.is_forgejo { self.major >= 17 } else { (self.major, self.minor) >= (1, 26) }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct User {
    login: String,
}

/// An account; one that is gone is shown under a name of nobody.
pub(super) fn login(user: Option<User>) -> Login {
    let Some(user) = user else {
        return Login { name: "Ghost".to_owned(), is_bot: false, is_outsider: true };
    };
    let is_bot = user.login.ends_with("[bot]");
    Login { is_outsider: user.login == "Ghost", name: user.login, is_bot }
}

#[derive(Debug, Deserialize)]
pub(super) struct Permission {
    pub(super) permission: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repository {
    permissions: Option<Permissions>,
    allow_merge_commits: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_rebase: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Permissions {
    #[serde(default)]
    push: bool,
}

impl From<Repository> for server::Repository {
    fn from(repository: Repository) -> Self {
        let allowed = [
            (MergeMethod::Merge, repository.allow_merge_commits),
            (MergeMethod::Squash, repository.allow_squash_merge),
            (MergeMethod::Rebase, repository.allow_rebase),
        ];
        let merges = allowed.into_iter().filter(|(_, is_allowed)| *is_allowed == Some(true));
        Self {
            can_push: repository.permissions.map(|permissions| permissions.push),
            merges: merges.map(|(method, _)| method).collect(),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Label {
    id: u64,
    name: String,
}

impl From<Label> for server::Label {
    fn from(label: Label) -> Self {
        Self { id: label.id, name: label.name }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    number: u64,
    title: String,
    #[serde(default)]
    body: String,
    labels: Option<Vec<Label>>,
    state: String,
    user: Option<User>,
    assignees: Option<Vec<User>>,
    created_at: String,
    updated_at: String,
    pull_request: Option<Value>,
    html_url: Option<String>,
    content_version: Option<u64>,
}

impl TryFrom<Issue> for server::Issue {
    type Error = Failure;

    fn try_from(issue: Issue) -> Result<Self, Failure> {
        Ok(Self {
            number: issue.number,
            title: issue.title,
            body: issue.body,
            labels: labels(issue.labels),
            is_open: is_open(&issue.state)?,
            author: login(issue.user),
            assignees: logins(issue.assignees),
            opened_at: time(&issue.created_at)?,
            updated_at: time(&issue.updated_at)?,
            is_pull: issue.pull_request.is_some_and(|pull| !pull.is_null()),
            url: issue.html_url,
            version: issue.content_version,
        })
    }
}

fn labels(labels: Option<Vec<Label>>) -> Vec<server::Label> {
    labels.unwrap_or_default().into_iter().map(server::Label::from).collect()
}

fn logins(users: Option<Vec<User>>) -> Vec<String> {
    users.unwrap_or_default().into_iter().map(|user| user.login).collect()
}

/// A comment, or a remark about a line.
#[derive(Debug, Deserialize)]
pub(super) struct Note {
    #[serde(default)]
    body: String,
    user: Option<User>,
    created_at: String,
    path: Option<String>,
    position: Option<u64>,
    original_position: Option<u64>,
}

impl Note {
    pub(super) fn note(self) -> Result<server::Note, Failure> {
        Ok(server::Note { at: time(&self.created_at)?, author: login(self.user), text: self.body })
    }

    /// Returns a remark with its place.
    fn placed(self) -> Result<server::Note, Failure> {
        let position = self.position.filter(|line| *line > 0).or(self.original_position);
        let line = position.filter(|line| *line > 0).map(|line| format!(":{line}")).unwrap_or_default();
        let place = self.path.as_ref().map(|path| format!("{path}{line}: ")).unwrap_or_default();
        let note = self.note()?;
        Ok(server::Note { text: format!("{place}{}", note.text), ..note })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Event {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    body: String,
    user: Option<User>,
    label: Option<Label>,
}

impl Event {
    /// A label that was set has a `1` for a text, and one that was taken away has none.
    pub(super) fn label_event(self) -> Option<LabelEvent> {
        let label = self.label.filter(|_| self.kind == "label")?;
        Some(LabelEvent { label: label.name, by: login(self.user), is_added: self.body == "1" })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Pull {
    number: u64,
    title: String,
    #[serde(default)]
    body: String,
    labels: Option<Vec<Label>>,
    state: String,
    user: Option<User>,
    assignees: Option<Vec<User>>,
    created_at: String,
    updated_at: String,
    html_url: Option<String>,
    head: End,
    base: End,
    #[serde(default)]
    merged: bool,
    merge_commit_sha: Option<String>,
    mergeable: Option<bool>,
    draft: Option<bool>,
    content_version: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct End {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
    repo_id: Option<i64>,
    label: Option<String>,
    repo: Option<EndRepository>,
}

#[derive(Debug, Deserialize)]
struct EndRepository {
    owner: Option<User>,
}

impl TryFrom<Pull> for PullRequest {
    type Error = Failure;

    fn try_from(pull: Pull) -> Result<Self, Failure> {
        let is_foreign = match (pull.head.repo_id, pull.base.repo_id) {
            (Some(head), Some(base)) => head != base,
            (None, _) | (_, None) => true,
        };
        let issue = server::Issue {
            number: pull.number,
            title: pull.title,
            body: pull.body,
            labels: labels(pull.labels),
            is_open: is_open(&pull.state)?,
            author: login(pull.user),
            assignees: logins(pull.assignees),
            opened_at: time(&pull.created_at)?,
            updated_at: time(&pull.updated_at)?,
            is_pull: true,
            url: pull.html_url,
            version: pull.content_version,
        };
        // A branch that is gone is called by the pull request's own ref; its label keeps the name.
        let is_gone = pull.head.name.starts_with("refs/pull/");
        let name = if is_gone { pull.head.label.unwrap_or(pull.head.name) } else { pull.head.name };
        let owner = pull.head.repo.and_then(|repository| repository.owner).map(|owner| owner.login);
        let branch = match (is_foreign, owner) {
            (true, owner) => format!("{}:{name}", owner.unwrap_or_default()),
            (false, _) => name,
        };
        Ok(Self {
            issue,
            branch,
            is_foreign,
            target: pull.base.name,
            head: pull.head.sha,
            merged: pull.merged.then(|| pull.merge_commit_sha.unwrap_or_default()),
            mergeable: pull.mergeable,
            is_draft: pull.draft.unwrap_or_default(),
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Review {
    id: u64,
    user: Option<User>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    commit_id: String,
    submitted_at: Option<String>,
    #[serde(default)]
    dismissed: bool,
    #[serde(default)]
    comments_count: u64,
}

impl Review {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Returns whether others see it. A request for a review is in the same list.
    pub(super) fn is_published(&self) -> bool {
        !matches!(self.state.as_str(), "PENDING" | "REQUEST_REVIEW")
    }

    pub(super) fn has_remarks(&self) -> bool {
        self.comments_count > 0
    }

    pub(super) fn with(self, inline: Vec<Note>) -> Result<ReviewNote, Failure> {
        let inline = inline.into_iter().map(Note::placed).collect::<Result<_, _>>()?;
        let verdict = match self.state.as_str() {
            "APPROVED" => Verdict::Approved,
            "REQUEST_CHANGES" => Verdict::ChangesRequested,
            _ => Verdict::Commented,
        };
        let at = self.submitted_at.ok_or_else(|| Failure::Bad("a review has no time".to_owned()))?;
        Ok(ReviewNote {
            id: self.id,
            note: server::Note { author: login(self.user), at: time(&at)?, text: self.body },
            verdict,
            is_dismissed: self.dismissed,
            commit: self.commit_id,
            inline,
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct File {
    filename: String,
    #[serde(default)]
    additions: u64,
    #[serde(default)]
    deletions: u64,
}

impl From<File> for ChangedFile {
    fn from(file: File) -> Self {
        Self { path: file.filename, additions: file.additions, deletions: file.deletions }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Branch {
    pub(super) commit: Commit,
    #[serde(default)]
    required_approvals: u64,
    #[serde(default)]
    enable_status_check: bool,
    status_check_contexts: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Commit {
    pub(super) id: String,
}

impl Branch {
    pub(super) fn requirements(self) -> Requirements {
        let contexts = self.status_check_contexts.filter(|_| self.enable_status_check);
        Requirements {
            contexts: contexts.unwrap_or_default().into_iter().collect(),
            approvals: self.required_approvals,
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Status {
    #[serde(default)]
    id: u64,
    context: String,
    status: String,
    creator: Option<User>,
    target_url: Option<String>,
}

impl Status {
    pub(super) fn id(&self) -> u64 {
        self.id
    }
}

impl From<Status> for server::Status {
    fn from(status: Status) -> Self {
        let state = match status.status.as_str() {
            // A warning keeps nobody from merging.
            "success" | "warning" => StatusState::Success,
            "failure" => StatusState::Failure,
            "error" => StatusState::Error,
            "skipped" => StatusState::Skipped,
            _ => StatusState::Pending,
        };
        let by = status.creator.map(|creator| login(Some(creator)));
        Self { context: status.context, state, by, url: status.target_url }
    }
}

pub(super) fn new_status(status: &NewStatus<'_>) -> Value {
    let state = match status.state {
        StatusState::Pending | StatusState::Skipped => "pending",
        StatusState::Success => "success",
        StatusState::Failure => "failure",
        StatusState::Error => "error",
    };
    json!({"context": status.context, "state": state, "description": status.description})
}

/// Compares a status with what was asked for.
pub(super) fn check_status(set: server::Status, wanted: &NewStatus<'_>) -> Result<(), Failure> {
    if set.context == wanted.context && set.state == wanted.state {
        return Ok(());
    }
    Err(Failure::Bad("the forge has kept another status than it was given".to_owned()))
}

/// Writes a time in whole seconds.
pub(super) fn in_seconds(time: Time) -> String {
    let text = time.to_string();
    text.split_once('.').map_or(text.clone(), |(seconds, _)| format!("{seconds}Z"))
}

fn is_open(state: &str) -> Result<bool, Failure> {
    match state {
        "open" => Ok(true),
        "closed" => Ok(false),
        other => Err(Failure::Bad(format!("`{other}` is no state of an issue"))),
    }
}

fn time(text: &str) -> Result<Time, Failure> {
    Time::parse(text).map_err(|error| Failure::Bad(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_tell_who_it_is_and_what_it_can_do() {
        let parsed = |text| Version::parse(text).map(|it| (it.is_forgejo, it.major, it.minor, it.reruns()));
        assert_eq!(parsed("16.0.1+gitea-1.22.0"), Some((true, 16, 0, false)));
        assert_eq!(parsed("15.0.0-dev-123+gitea-1.22.0"), Some((true, 15, 0, false)));
        assert_eq!(parsed("17.1.0"), Some((true, 17, 1, true)));
        assert_eq!(parsed("1.27.0"), Some((false, 1, 27, true)));
        assert_eq!(parsed("1.21.0+dev-5"), Some((false, 1, 21, false)));
        assert_eq!([parsed(""), parsed("next")], [None; 2]);
    }
}
