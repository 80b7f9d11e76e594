//! GitHub's JSON, as far as it is used.

use engine::Time;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    ChangedFile,
    client::Failure,
    remote::{
        MergeMethod,
        server::{
            self, IssueEdit, LabelEvent, Login, NewStatus, PullRequest, ReviewNote, StatusState, Verdict,
        },
    },
};

/// The name under which GitHub shows accounts that are gone.
const GHOST: &str = "ghost";

#[derive(Debug, Deserialize)]
pub(super) struct User {
    login: String,
    #[serde(rename = "type", default)]
    kind: String,
}

/// An account; a text without one is by an account that is gone.
pub(super) fn login(user: Option<User>) -> Login {
    let Some(user) = user else {
        return Login { name: GHOST.to_owned(), is_bot: false, is_outsider: true };
    };
    let is_bot = user.kind.eq_ignore_ascii_case("bot") || user.login.ends_with("[bot]");
    Login { name: user.login, is_bot, is_outsider: false }
}

/// An author, with what GitHub says about their part in the repository.
fn author(user: Option<User>, association: Option<&str>) -> Login {
    let known = login(user);
    let is_outsider = known.is_outsider
        || matches!(
            association,
            Some("NONE" | "CONTRIBUTOR" | "FIRST_TIMER" | "FIRST_TIME_CONTRIBUTOR" | "MANNEQUIN")
        );
    Login { is_outsider, ..known }
}

#[derive(Debug, Deserialize)]
pub(super) struct Permission {
    pub(super) permission: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repository {
    permissions: Option<Permissions>,
    allow_merge_commit: Option<bool>,
    allow_squash_merge: Option<bool>,
    allow_rebase_merge: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Permissions {
    #[serde(default)]
    push: bool,
}

impl From<Repository> for server::Repository {
    fn from(repository: Repository) -> Self {
        let allowed = [
            (MergeMethod::Merge, repository.allow_merge_commit),
            (MergeMethod::Squash, repository.allow_squash_merge),
            (MergeMethod::Rebase, repository.allow_rebase_merge),
        ];
        let merges = allowed.into_iter().filter(|(_, is_allowed)| *is_allowed == Some(true));
        Self {
            can_push: repository.permissions.map(|permissions| permissions.push),
            merges: merges.map(|(method, _)| method).collect(),
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Label {
    #[serde(default)]
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
    body: Option<String>,
    #[serde(default)]
    labels: Vec<Label>,
    state: String,
    user: Option<User>,
    author_association: Option<String>,
    assignees: Option<Vec<Assignee>>,
    created_at: String,
    updated_at: String,
    pull_request: Option<Value>,
    html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Assignee {
    login: String,
}

impl TryFrom<Issue> for server::Issue {
    type Error = Failure;

    fn try_from(issue: Issue) -> Result<Self, Failure> {
        Ok(Self {
            number: issue.number,
            title: issue.title,
            body: issue.body.unwrap_or_default(),
            labels: issue.labels.into_iter().map(server::Label::from).collect(),
            is_open: is_open(&issue.state)?,
            author: author(issue.user, issue.author_association.as_deref()),
            assignees: issue.assignees.unwrap_or_default().into_iter().map(|it| it.login).collect(),
            opened_at: time(&issue.created_at)?,
            updated_at: time(&issue.updated_at)?,
            is_pull: issue.pull_request.is_some_and(|pull| !pull.is_null()),
            url: issue.html_url,
            version: None,
        })
    }
}

/// What an edit sends: only what it changes.
#[derive(Debug, Serialize)]
pub(super) struct EditIssue<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assignees: Option<&'a [String]>,
}

impl<'a> EditIssue<'a> {
    pub(super) fn of(edit: &'a IssueEdit<'_>) -> Self {
        Self {
            title: edit.title,
            body: edit.body,
            state: edit.is_open.map(|is_open| if is_open { "open" } else { "closed" }),
            assignees: edit.assignees.as_deref(),
        }
    }
}

/// A comment, or a remark about a line.
#[derive(Debug, Deserialize)]
pub(super) struct Note {
    body: Option<String>,
    user: Option<User>,
    author_association: Option<String>,
    created_at: String,
    pull_request_review_id: Option<u64>,
    path: Option<String>,
    line: Option<u64>,
    original_line: Option<u64>,
}

impl Note {
    pub(super) fn note(self) -> Result<server::Note, Failure> {
        Ok(server::Note {
            author: author(self.user, self.author_association.as_deref()),
            at: time(&self.created_at)?,
            text: self.body.unwrap_or_default(),
        })
    }

    /// Returns a remark with its place.
    fn placed(&self) -> Result<server::Note, Failure> {
        let body = self.body.clone().unwrap_or_default();
        let line = self.line.or(self.original_line).map(|line| format!(":{line}")).unwrap_or_default();
        let text = match &self.path {
            Some(path) => format!("{path}{line}: {body}"),
            None => body,
        };
        let user = self.user.as_ref().map(|user| User { login: user.login.clone(), kind: user.kind.clone() });
        let author = author(user, self.author_association.as_deref());
        Ok(server::Note { author, at: time(&self.created_at)?, text })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Event {
    event: Option<String>,
    actor: Option<User>,
    label: Option<EventLabel>,
}

#[derive(Debug, Deserialize)]
struct EventLabel {
    name: String,
}

impl Event {
    pub(super) fn label_event(self) -> Option<LabelEvent> {
        let is_added = match self.event.as_deref()? {
            "labeled" => true,
            "unlabeled" => false,
            _ => return None,
        };
        Some(LabelEvent { label: self.label?.name, by: login(self.actor), is_added })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Pull {
    number: u64,
    title: String,
    body: Option<String>,
    #[serde(default)]
    labels: Vec<Label>,
    state: String,
    user: Option<User>,
    author_association: Option<String>,
    assignees: Option<Vec<Assignee>>,
    created_at: String,
    updated_at: String,
    html_url: Option<String>,
    head: End,
    base: End,
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
    mergeable: Option<bool>,
    draft: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct End {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
    /// None once the repository is gone.
    repo: Option<EndRepository>,
    label: Option<String>,
}

#[derive(Debug, Deserialize)]
struct EndRepository {
    id: u64,
}

impl TryFrom<Pull> for PullRequest {
    type Error = Failure;

    fn try_from(pull: Pull) -> Result<Self, Failure> {
        let is_foreign = match (&pull.head.repo, &pull.base.repo) {
            (Some(head), Some(base)) => head.id != base.id,
            (None, _) | (_, None) => true,
        };
        let merged = pull.merged_at.as_ref().map(|_| pull.merge_commit_sha.clone().unwrap_or_default());
        let issue = server::Issue {
            number: pull.number,
            title: pull.title,
            body: pull.body.unwrap_or_default(),
            labels: pull.labels.into_iter().map(server::Label::from).collect(),
            is_open: is_open(&pull.state)?,
            author: author(pull.user, pull.author_association.as_deref()),
            assignees: pull.assignees.unwrap_or_default().into_iter().map(|it| it.login).collect(),
            opened_at: time(&pull.created_at)?,
            updated_at: time(&pull.updated_at)?,
            is_pull: true,
            url: pull.html_url,
            version: None,
        };
        let branch = pull.head.label.filter(|_| is_foreign).unwrap_or(pull.head.name);
        Ok(Self {
            issue,
            branch,
            is_foreign,
            target: pull.base.name,
            head: pull.head.sha,
            merged,
            mergeable: pull.mergeable,
            is_draft: pull.draft.unwrap_or_default(),
        })
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Review {
    id: u64,
    user: Option<User>,
    author_association: Option<String>,
    body: Option<String>,
    state: String,
    commit_id: Option<String>,
    submitted_at: Option<String>,
}

impl Review {
    /// Returns whether others see it.
    pub(super) fn is_published(&self) -> bool {
        !self.state.eq_ignore_ascii_case("pending")
    }

    pub(super) fn with(self, inline: &[Note]) -> Result<ReviewNote, Failure> {
        let remarks = inline.iter().filter(|note| note.pull_request_review_id == Some(self.id));
        let inline = remarks.map(Note::placed).collect::<Result<_, _>>()?;
        let verdict = match self.state.to_ascii_uppercase().as_str() {
            "APPROVED" => Verdict::Approved,
            "CHANGES_REQUESTED" => Verdict::ChangesRequested,
            _ => Verdict::Commented,
        };
        let at = self.submitted_at.ok_or_else(|| Failure::Bad("a review has no time".to_owned()))?;
        Ok(ReviewNote {
            id: self.id,
            note: server::Note {
                author: author(self.user, self.author_association.as_deref()),
                at: time(&at)?,
                text: self.body.unwrap_or_default(),
            },
            verdict,
            is_dismissed: self.state.eq_ignore_ascii_case("dismissed"),
            commit: self.commit_id.unwrap_or_default(),
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
    pub(super) protection: Option<Protection>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Commit {
    pub(super) sha: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Protection {
    pub(super) required_status_checks: Option<RequiredChecks>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RequiredChecks {
    #[serde(default)]
    pub(super) contexts: Vec<String>,
    #[serde(default)]
    pub(super) checks: Vec<RequiredCheck>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RequiredCheck {
    pub(super) context: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Rule {
    pub(super) parameters: Option<RuleParameters>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RuleParameters {
    #[serde(default)]
    pub(super) required_status_checks: Vec<RequiredCheck>,
    #[serde(default)]
    pub(super) required_approving_review_count: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Status {
    context: String,
    state: String,
    creator: Option<User>,
    target_url: Option<String>,
}

impl From<Status> for server::Status {
    fn from(status: Status) -> Self {
        let state = match status.state.as_str() {
            "success" => StatusState::Success,
            "failure" => StatusState::Failure,
            "error" => StatusState::Error,
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

/// Writes a time as GitHub takes it.
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

pub(super) fn time(text: &str) -> Result<Time, Failure> {
    Time::parse(text).map_err(|error| Failure::Bad(error.to_string()))
}
