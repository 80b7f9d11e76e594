//! Issues, pull requests and checks, wherever a project has them.
//!
//! Three ports: [`Tracker`] for issues, [`Forge`] for pull requests, [`Checks`] for what tests a commit. They are apart
//! because a project may have its issues elsewhere than its code. [`LocalForge`] is both of the first, embedded in the
//! project's journal; [`Remote`] is both, and checks, on GitHub, Forgejo and Gitea; [`Woodpecker`] is checks; [`Gh`] opens
//! pull requests by GitHub's command line; [`CommandChecks`] runs the project's own tests; [`fake`] is a double that fails
//! when it is told to.
//!
//! Invariants:
//! - What could not be found out is an error. `None` and an empty list mean that there is nothing.
//! - A write that may be repeated takes a marker: whoever comes again with it is given what is there. What begins with
//!   `ensure`, and whatever only sets something, changes nothing when it is done again.
//! - Reviews and merges name the commit that they are about, and are refused for any other.
//! - Only a person approves an issue; the label alone, set by anybody else, approves nothing.
//! - A port acts in one account's name ([`Tracker::whoami`]); whoever acts for somebody else takes another one.
//!
//! What is deliberately absent: git, processes, the clock and the network. They are passed in.

mod checks;
mod client;
mod error;
pub mod fake;
mod forgejo;
mod gh;
mod github;
pub mod http;
mod id;
mod import;
mod item;
mod local;
mod marker;
mod plain;
mod readiness;
mod remote;
mod site;
mod text;
mod woodpecker;

use std::{collections::BTreeSet, fmt, sync::Arc};

use engine::{Actor, Boxes, Seen, Time, read_boxes};

pub use checks::{
    Cause, Checks, ChecksState, CommandChecks, CommandRun, CommandState, Contexts, SharedChecks, StepId,
    Unchecked, classify,
};
pub use client::Budget;
pub use error::{ForgeError, Refusal};
pub use forgejo::Version;
pub use gh::{Gh, GhAnswer};
pub use id::ItemId;
pub use import::{Imported, IssueFile, import};
pub use item::{Author, Comment, Item, ItemState, Pull, Review, Round, Trust};
pub use local::{Host, LocalForge};
pub use plain::plain_text;
pub use readiness::{
    APPROVED, Candidate, Priority, REQUIREMENT, Readiness, candidates, readiness, readiness_if_approved,
    ready,
};
pub use remote::{MergeMethod, Remote, Settings};
pub use site::{Site, SiteKind};
pub use text::BODY;
pub use woodpecker::Woodpecker;

use item::CAPABILITY;

/// Prefix of the marker of comments that request changes.
pub const REQUESTED: &str = "changes-requested:";

/// Name of the commit status that holds the verdict of the account that has opened the pull request.
pub const VERDICT: &str = "warp/review";

/// What hosts the issues and pull requests of a project, for whoever acts in it.
pub trait Hosting: fmt::Debug + Send + Sync {
    /// Returns the issues, in somebody's name.
    fn tracker(&self, by: Author) -> Arc<dyn Tracker>;

    /// Returns the pull requests, in somebody's name.
    fn forge(&self, by: Author) -> Arc<dyn Forge>;

    /// Returns the checks of commits at a server; none where there is no server that has any.
    fn checks(&self) -> Option<SharedChecks> {
        None
    }

    /// Returns what a server still allows; none where there is no server.
    fn budget(&self) -> Option<Budget> {
        None
    }
}

/// The issues of a project, accessed as one author.
///
/// Where issues and pull requests share their ids ([`Capabilities::shares_ids`]), a pull request is found here too.
pub trait Tracker: fmt::Debug + Send + Sync {
    /// Returns what this tracker can do.
    fn capabilities(&self) -> Capabilities;

    /// Returns in whose name it acts.
    fn whoami(&self) -> Result<Author, ForgeError>;

    /// Returns an item; none only where it is certain that there is none.
    fn item(&self, id: ItemId) -> Result<Option<Arc<Item>>, ForgeError>;

    /// Returns the issues that are asked for, all of them, in the order of their ids. Their comments may be left out.
    fn items(&self, query: Query<'_>) -> Result<Vec<Arc<Item>>, ForgeError>;

    /// Returns the issues and, where they share their ids, the pull requests that have changed at this time or later.
    /// What has changed twice is there once.
    fn changed_since(&self, since: Time) -> Result<Vec<Arc<Item>>, ForgeError>;

    /// Returns how many issues are closed, without reading them.
    fn count_closed(&self) -> Result<u64, ForgeError>;

    /// Returns the issue that was filed under a marker.
    fn filed(&self, marker: &str) -> Result<Option<ItemId>, ForgeError>;

    /// Files an issue, once for each marker.
    fn file(&self, new: &NewItem, marker: Option<&str>) -> Result<FiledItem, ForgeError>;

    /// Changes an item's title or text. An issue that gets its first criteria becomes a requirement.
    fn edit(&self, id: ItemId, edit: &Edit) -> Result<Arc<Item>, ForgeError>;

    /// Adds a comment, once for each marker.
    fn comment(&self, id: ItemId, text: &str, marker: Option<&str>) -> Result<Arc<Item>, ForgeError>;

    /// Sees to it that an item has these labels and has not those.
    fn ensure_labels(&self, id: ItemId, add: &[&str], remove: &[&str]) -> Result<Arc<Item>, ForgeError>;

    /// Approves an issue, in a person's name. The first approval stays.
    fn approve(&self, id: ItemId) -> Result<Arc<Item>, ForgeError>;

    /// Returns the person who has approved an item; none only where it is certain that nobody has who may.
    fn approval(&self, item: &Item) -> Result<Option<String>, ForgeError>;

    /// Says who works on an issue; none gives it back. This is a word to readers and no lock.
    fn assign(&self, id: ItemId, to: Option<&str>) -> Result<Arc<Item>, ForgeError>;

    /// Ticks criteria (`AC-01` is the first box), and changes nothing else in the text, whoever edits it meanwhile.
    fn tick(&self, id: ItemId, criteria: &[String]) -> Result<Arc<Item>, ForgeError>;

    /// Takes the ticks from criteria, in the same way.
    fn untick(&self, id: ItemId, criteria: &[String]) -> Result<Arc<Item>, ForgeError>;

    /// Closes an item. One that is closed stays as it is.
    fn close(&self, id: ItemId, reason: Option<&str>) -> Result<Arc<Item>, ForgeError>;

    /// Opens an item again.
    fn reopen(&self, id: ItemId) -> Result<Arc<Item>, ForgeError>;

    /// Returns an item that has to be there.
    fn get(&self, id: ItemId) -> Result<Arc<Item>, ForgeError> {
        self.item(id)?.ok_or(ForgeError::NotThere { id })
    }

    /// Looks at the criteria of an issue that is named in a run.
    fn boxes(&self, issue: &str) -> Seen<Boxes> {
        let absent = || Seen::Absent(format!("there is no issue {issue}"));
        let Some(id) = ItemId::typed(issue) else { return absent() };
        match self.item(id) {
            Ok(Some(item)) => Seen::Value(item.boxes()),
            Ok(None) => absent(),
            Err(error) => Seen::Failed(error.to_string()),
        }
    }
}

/// The pull requests of a project, accessed as one author.
pub trait Forge: fmt::Debug + Send + Sync {
    /// Returns what this forge can do.
    fn capabilities(&self) -> Capabilities;

    /// Returns in whose name it acts.
    fn whoami(&self) -> Result<Author, ForgeError>;

    /// Returns a pull request; none only where it is certain that there is no such item.
    fn pull(&self, id: ItemId) -> Result<Option<Arc<Item>>, ForgeError>;

    /// Returns the pull requests that are asked for, all of them, in the order of their ids. Those that are open come with
    /// their comments and reviews.
    fn pulls(&self, query: Query<'_>) -> Result<Vec<Arc<Item>>, ForgeError>;

    /// Returns how many pull requests are closed, without reading them.
    fn count_closed(&self) -> Result<u64, ForgeError>;

    /// Returns the pull request that was opened under a marker.
    fn opened(&self, marker: &str) -> Result<Option<ItemId>, ForgeError>;

    /// Sees to it that there is a pull request for this branch under this marker.
    fn ensure_pull(&self, new: &NewPull, marker: &str) -> Result<FiledItem, ForgeError>;

    /// Offers another commit, which is pushed before or after. `same_as` names the commit that was offered until then if
    /// this is the same work on a newer target: a review of that one stays good.
    fn offer_head(&self, id: ItemId, head: &str, same_as: Option<&str>) -> Result<Arc<Item>, ForgeError>;

    /// Adds a comment, once for each marker.
    fn comment(&self, id: ItemId, text: &str, marker: Option<&str>) -> Result<Arc<Item>, ForgeError>;

    /// Reviews a pull request at the commit that was looked at. Nobody approves their own.
    fn review(
        &self,
        id: ItemId,
        head: &str,
        review: Review,
        text: Option<&str>,
    ) -> Result<Arc<Item>, ForgeError>;

    /// Merges a pull request at the commit that was reviewed, and closes it. One that is merged already is merged.
    fn merge(&self, id: ItemId, merge: &Merge<'_>) -> Result<Arc<Item>, ForgeError>;

    /// Closes a pull request. One that is closed stays as it is.
    fn close(&self, id: ItemId, reason: Option<&str>) -> Result<Arc<Item>, ForgeError>;

    /// Sees to it that the branch of a merged pull request is gone, unless there is other work on it.
    fn ensure_branch_removed(&self, id: ItemId) -> Result<(), ForgeError>;

    /// Returns the files that a pull request changes, all of them.
    fn files(&self, id: ItemId) -> Result<Vec<ChangedFile>, ForgeError>;

    /// Returns what a target branch asks of a pull request.
    fn requirements(&self, target: &str) -> Result<Requirements, ForgeError>;

    /// Returns a pull request that has to be there.
    fn get(&self, id: ItemId) -> Result<(Arc<Item>, Pull), ForgeError> {
        let item = self.pull(id)?.ok_or(ForgeError::NotThere { id })?;
        let pull = item.pull.clone().ok_or(Refusal::NotAPull { id })?;
        Ok((item, pull))
    }
}

/// Capabilities of a tracker or forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Display name.
    pub name: &'static str,
    /// Whether the caller may choose an issue's id.
    pub chooses_ids: bool,
    /// Whether issues and pull requests share one sequence of ids.
    pub shares_ids: bool,
    /// Whether it moves branches itself. Where it does not, a merge says which commit the work was landed as.
    pub moves_branches: bool,
    /// What becomes of a verdict on what the same account has opened.
    pub reviews_own: OwnVerdict,
    /// The longest text of an item, in bytes.
    pub longest_text: usize,
    /// The longest comment, in bytes.
    pub longest_comment: usize,
}

/// What becomes of a verdict of the account that has opened the pull request, given in somebody else's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnVerdict {
    /// Accounts do not matter: the name alone does.
    None,
    /// A status of the commit ([`VERDICT`]), because the server refuses the review.
    CommitStatus,
}

/// A file that a pull request changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    pub additions: u64,
    pub deletions: u64,
}

/// What a branch asks of what is merged into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The names of the checks that have to pass; `*` stands for anything.
    pub contexts: BTreeSet<String>,
    /// How many people have to approve.
    pub approvals: u64,
}

/// A query for items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query<'a> {
    Open,
    All,
    /// Those whose marker begins like this.
    Marked(&'a str),
}

/// An issue to be filed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewItem {
    pub title: String,
    pub body: String,
    pub labels: BTreeSet<String>,
    /// Required id; otherwise the next free one.
    pub id: Option<ItemId>,
    /// Whether it is created closed, for the record.
    pub is_closed: bool,
}

impl NewItem {
    /// Makes an issue of a text. One with criteria is a requirement, unless it is a capability: the boxes of that are
    /// requirements.
    pub fn of(title: impl Into<String>, body: impl Into<String>, mut labels: BTreeSet<String>) -> Self {
        let body = body.into();
        if !labels.contains(CAPABILITY) && !read_boxes(&body).items.is_empty() {
            labels.insert(REQUIREMENT.to_owned());
        }
        Self { title: title.into(), body, labels, ..Self::default() }
    }
}

/// A pull request to be opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewPull {
    pub title: String,
    pub body: String,
    pub branch: String,
    pub target: String,
    /// The head commit.
    pub head: String,
    /// The issue it resolves.
    pub issue: Option<ItemId>,
    /// The run that opened it.
    pub run: Option<String>,
}

/// Changes to an item's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    pub title: Option<String>,
    pub body: Option<String>,
    /// The text that was edited; a conflict if it has changed since.
    pub base: Option<String>,
}

/// A merge of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge<'a> {
    /// The commit that was reviewed.
    pub head: &'a str,
    /// The commit on the target, if already landed.
    pub landed: Option<&'a str>,
}

/// A filed item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiledItem {
    pub id: ItemId,
    /// Whether it already existed under the same marker.
    pub was_there: bool,
    /// Web page, if the forge has one.
    pub url: Option<String>,
}

/// Refuses what only a person may do.
fn check_person(by: &Author) -> Result<(), Refusal> {
    let is_person = by.actor == Actor::Person;
    if is_person { Ok(()) } else { Err(Refusal::NotAPerson { name: by.name.clone() }) }
}
