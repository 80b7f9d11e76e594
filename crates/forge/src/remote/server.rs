//! What the adapters of GitHub and Forgejo have in common: the calls that they make of a server, and its answers.
//!
//! An answer says what the server said and no more. What may be believed of it is decided by whoever asks.

use std::{fmt, sync::Arc};

use engine::Time;

use crate::{Budget, ChangedFile, Contexts, Requirements, SharedChecks, client::Failure};

/// A server with one repository, accessed as one account.
pub(crate) trait Server: fmt::Debug + Send + Sync {
    fn traits(&self) -> Traits;
    fn now(&self) -> Time;
    fn redact(&self, text: String) -> String;
    fn budget(&self) -> Budget;

    /// Returns whose token this is.
    fn account(&self) -> Result<Login, Failure>;
    /// Returns the repository; none if there is none that this account can see.
    fn repository(&self) -> Result<Option<Repository>, Failure>;
    /// Returns whether an account may write; none if the server does not say.
    fn may_write(&self, login: &str) -> Result<Option<bool>, Failure>;
    /// Returns whether an issue can be given to an account.
    fn can_assign(&self, login: &str) -> Result<bool, Failure>;

    /// Returns an issue or a pull request.
    fn issue(&self, number: u64) -> Result<Option<Issue>, Failure>;
    /// Returns issues and pull requests: those that are open, or all.
    fn issues(&self, which: Which) -> Result<Vec<Issue>, Failure>;
    fn count_closed(&self, kind: Kind) -> Result<u64, Failure>;
    fn create_issue(&self, title: &str, body: &str, labels: &[Label]) -> Result<Issue, Failure>;
    fn edit_issue(&self, number: u64, edit: &IssueEdit<'_>) -> Result<Issue, Failure>;
    fn comments(&self, number: u64) -> Result<Vec<Note>, Failure>;
    fn add_comment(&self, number: u64, text: &str) -> Result<Note, Failure>;

    /// Returns the labels of the repository; several may have one name.
    fn labels(&self) -> Result<Vec<Label>, Failure>;
    fn create_label(&self, name: &str, colour: &str) -> Result<Label, Failure>;
    fn delete_label(&self, label: &Label) -> Result<(), Failure>;
    /// Attaches labels, and returns those that the issue has then.
    fn attach(&self, number: u64, labels: &[Label]) -> Result<Vec<Label>, Failure>;
    fn detach(&self, number: u64, label: &Label) -> Result<(), Failure>;
    /// Returns who set and took which label, oldest first.
    fn label_events(&self, number: u64) -> Result<Vec<LabelEvent>, Failure>;

    fn pull(&self, number: u64) -> Result<Option<PullRequest>, Failure>;
    fn pulls(&self, which: Which) -> Result<Vec<PullRequest>, Failure>;
    /// Returns the open pull requests of a branch of this repository.
    fn pulls_of(&self, branch: &str) -> Result<Vec<PullRequest>, Failure>;
    fn create_pull(
        &self,
        title: &str,
        body: &str,
        branch: &str,
        target: &str,
    ) -> Result<PullRequest, Failure>;
    /// Returns the reviews that are published, oldest first, with what was said about single lines.
    fn reviews(&self, number: u64) -> Result<Vec<ReviewNote>, Failure>;
    fn create_review(
        &self,
        number: u64,
        head: &str,
        verdict: Verdict,
        text: &str,
    ) -> Result<ReviewNote, Failure>;
    fn dismiss(&self, number: u64, review: u64, why: &str) -> Result<(), Failure>;
    /// Merges at this commit, and at no other.
    fn merge(&self, number: u64, head: &str, method: MergeMethod) -> Result<(), Failure>;
    fn files(&self, number: u64) -> Result<Vec<ChangedFile>, Failure>;

    /// Returns a branch's last commit.
    fn branch(&self, name: &str) -> Result<Option<String>, Failure>;
    fn delete_branch(&self, name: &str) -> Result<(), Failure>;
    fn requirements(&self, branch: &str) -> Result<Requirements, Failure>;

    /// Returns the statuses of a commit, newest first.
    fn statuses(&self, commit: &str) -> Result<Vec<Status>, Failure>;
    fn set_status(&self, commit: &str, status: &NewStatus<'_>) -> Result<(), Failure>;

    /// Returns the checks that the server itself runs, and what others report to it.
    fn actions(self: Arc<Self>, contexts: Contexts) -> SharedChecks;
}

/// What is the same for every repository of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits {
    pub(crate) name: &'static str,
    /// The longest text and comment, in bytes.
    pub(crate) longest: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    Open,
    All,
    /// All that have changed at this time or later.
    Since(Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Issue,
    Pull,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) name: String,
    pub(crate) is_bot: bool,
    /// Whether the server has said, beside a text of theirs, that they have no part in the repository.
    pub(crate) is_outsider: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// Whether this account may push; none if the server does not say.
    pub(crate) can_push: Option<bool>,
    /// The ways of merging that it allows; empty if the server does not say.
    pub(crate) merges: Vec<MergeMethod>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MergeMethod {
    #[default]
    Merge,
    Squash,
    Rebase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) labels: Vec<Label>,
    pub(crate) is_open: bool,
    pub(crate) author: Login,
    pub(crate) assignees: Vec<String>,
    pub(crate) opened_at: Time,
    pub(crate) updated_at: Time,
    pub(crate) is_pull: bool,
    pub(crate) url: Option<String>,
    /// The version of its text, on a server that refuses an edit of another one.
    pub(crate) version: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IssueEdit<'a> {
    pub(crate) title: Option<&'a str>,
    pub(crate) body: Option<&'a str>,
    pub(crate) is_open: Option<bool>,
    pub(crate) assignees: Option<Vec<String>>,
    /// The version of the text that was edited.
    pub(crate) version: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) author: Login,
    pub(crate) at: Time,
    pub(crate) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// Its number, or zero where names are unique.
    pub(crate) id: u64,
    pub(crate) name: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelEvent {
    pub(crate) label: String,
    pub(crate) by: Login,
    pub(crate) is_added: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PullRequest {
    pub(crate) issue: Issue,
    /// The branch's name; that of another repository begins with its owner.
    pub(crate) branch: String,
    pub(crate) is_foreign: bool,
    pub(crate) target: String,
    pub(crate) head: String,
    /// The commit on the target, if it is merged.
    pub(crate) merged: Option<String>,
    /// Whether it fits onto its target; none if the server does not know yet.
    pub(crate) mergeable: Option<bool>,
    pub(crate) is_draft: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Approved,
    ChangesRequested,
    Commented,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReviewNote {
    pub(crate) id: u64,
    pub(crate) note: Note,
    pub(crate) verdict: Verdict,
    pub(crate) is_dismissed: bool,
    /// The commit that was looked at.
    pub(crate) commit: String,
    /// What was said about single lines.
    pub(crate) inline: Vec<Note>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusState {
    Pending,
    Success,
    Failure,
    /// What reports it failed itself.
    Error,
    Skipped,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) context: String,
    pub(crate) state: StatusState,
    pub(crate) by: Option<Login>,
    pub(crate) url: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct NewStatus<'a> {
    pub(crate) context: &'a str,
    pub(crate) state: StatusState,
    pub(crate) description: &'a str,
}
