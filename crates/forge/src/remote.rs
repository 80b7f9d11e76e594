//! Issues and pull requests on a server.
//!
//! What GitHub and Forgejo have in common: [`server`] says what is asked of them, and each has a file that asks it. What is
//! believed of the answers is decided here, once:
//!
//! - A marker counts in a text by this account, or by somebody who may write to the repository.
//! - A write whose answer was lost is looked up before it is said to have failed, and every answer is compared with what
//!   was asked.
//! - The account may be a person's own. So what warp does in nobody's name never sets the label that approves: whenever
//!   this account has set it, a person did.
//! - Whether somebody may write is asked of the server, or said in the [`Settings`]; unknown is not yes.

mod approval;
mod labels;
mod mirror;
mod pulls;
pub(crate) mod server;
mod tracker;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use engine::{Actor, Time};

use crate::{
    APPROVED, Author, Budget, Capabilities, Comment, Contexts, Forge, ForgeError, Hosting, Item, ItemId,
    ItemState, OwnVerdict, Refusal, SharedChecks, Tracker, Trust,
    marker::{self, Marks},
    text,
};
use mirror::{Covers, Mirror};
use server::{Issue, IssueEdit, Login, Note, Repository, Server};

pub use server::MergeMethod;

/// How long is believed what a server says about an account, in milliseconds.
const TRUST_LASTS: i64 = 10 * 60_000;
/// How much of a text is left to the marks at its end, in bytes.
const ROOM_FOR_MARKS: usize = 6 * 1024;
/// Marker of comments that say why something was closed.
const CLOSED: &str = "closed:";

/// What a project says about its forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Labels that approve an issue.
    pub approval: Vec<String>,
    /// Accounts that are known to have write access, for servers that do not tell.
    pub trusted: Vec<String>,
    /// The way of merging, if the repository allows it; otherwise the first that it allows.
    pub merge: MergeMethod,
}

impl Default for Settings {
    fn default() -> Self {
        Self { approval: vec![APPROVED.to_owned()], trusted: Vec::new(), merge: MergeMethod::default() }
    }
}

/// A repository on a server, accessed by one account in somebody's name.
#[derive(Clone, Debug)]
pub struct Remote {
    shared: Arc<Shared>,
    by: Author,
}

#[derive(Debug)]
struct Shared {
    server: Arc<dyn Server>,
    settings: Settings,
    account: OnceLock<Login>,
    mirror: Mutex<Mirror>,
    trust: Mutex<BTreeMap<String, (Trust, Time)>>,
    /// Items by the markers that they were filed or opened under; a marker stays with its item.
    markers: Mutex<BTreeMap<String, ItemId>>,
}

impl Remote {
    pub(crate) fn new(server: Arc<dyn Server>, settings: Settings) -> Self {
        let shared = Shared {
            server,
            settings,
            account: OnceLock::new(),
            mirror: Mutex::default(),
            trust: Mutex::default(),
            markers: Mutex::default(),
        };
        Self { shared: Arc::new(shared), by: Author::warp() }
    }

    /// Returns the same repository in somebody's name.
    #[must_use]
    pub fn by(&self, by: Author) -> Self {
        Self { shared: Arc::clone(&self.shared), by }
    }

    /// Returns the name of the account whose token this is.
    pub fn account(&self) -> Result<String, ForgeError> {
        Ok(self.login()?.name)
    }

    /// Returns whether this account may push to the repository; none if the server does not say.
    pub fn can_push(&self) -> Result<Option<bool>, ForgeError> {
        Ok(self.repository()?.can_push)
    }

    /// Returns the checks that the server runs, and what others report to it.
    pub fn actions(&self, contexts: Contexts) -> SharedChecks {
        Arc::clone(&self.shared.server).actions(contexts)
    }

    fn server(&self) -> &dyn Server {
        &*self.shared.server
    }

    fn capabilities(&self) -> Capabilities {
        let traits = self.server().traits();
        let longest = traits.longest.saturating_sub(ROOM_FOR_MARKS);
        Capabilities {
            name: traits.name,
            chooses_ids: false,
            shares_ids: true,
            moves_branches: true,
            reviews_own: OwnVerdict::CommitStatus,
            longest_text: longest.min(text::BODY),
            longest_comment: longest.min(text::COMMENT),
        }
    }

    fn unsupported(&self, what: &'static str) -> ForgeError {
        Refusal::Unsupported { forge: self.server().traits().name, what }.into()
    }

    fn login(&self) -> Result<Login, ForgeError> {
        if let Some(login) = self.shared.account.get() {
            return Ok(login.clone());
        }
        let login = self.server().account()?;
        Ok(self.shared.account.get_or_init(|| login).clone())
    }

    fn whoami(&self) -> Result<Author, ForgeError> {
        Ok(Author { actor: self.by.actor, name: self.login()?.name })
    }

    fn repository(&self) -> Result<Repository, ForgeError> {
        let gone = || Refusal::Said {
            why: "the forge knows no such repository, or does not show it to this account".to_owned(),
        };
        Ok(self.server().repository()?.ok_or_else(gone)?)
    }

    fn is_person(&self) -> bool {
        self.by.actor == Actor::Person
    }

    /// Returns an issue or a pull request as the server shows it; none only if the repository is there and it is not.
    fn raw(&self, id: ItemId) -> Result<Option<Issue>, ForgeError> {
        let Some(number) = id.number() else { return Ok(None) };
        match self.server().issue(number)? {
            Some(issue) => {
                self.mirror().put(issue.clone());
                Ok(Some(issue))
            }
            None => {
                // The server answers the same for both.
                self.repository()?;
                self.mirror().remove(number);
                Ok(None)
            }
        }
    }

    fn raw_there(&self, id: ItemId) -> Result<Issue, ForgeError> {
        self.raw(id)?.ok_or(ForgeError::NotThere { id })
    }

    /// Returns whether somebody may write to the repository.
    fn trust(&self, login: &Login) -> Result<Trust, ForgeError> {
        let is_own = self.login()?.name.eq_ignore_ascii_case(&login.name);
        if login.is_bot && !is_own {
            return Ok(Trust::Untrusted);
        }
        if self.shared.settings.trusted.iter().any(|name| name.eq_ignore_ascii_case(&login.name)) {
            return Ok(Trust::Trusted);
        }
        if login.is_outsider && !is_own {
            return Ok(Trust::Untrusted);
        }
        let key = login.name.to_ascii_lowercase();
        let now = self.server().now();
        if let Some((trust, at)) = locked(&self.shared.trust).get(&key)
            && now.millis_since(*at) < TRUST_LASTS
        {
            return Ok(*trust);
        }
        let told = if is_own { self.can_push()? } else { self.server().may_write(&login.name)? };
        let trust = match told {
            Some(true) => Trust::Trusted,
            Some(false) => Trust::Untrusted,
            // Where the server does not say, a list that names somebody is the whole answer.
            None if !self.shared.settings.trusted.is_empty() => Trust::Untrusted,
            None => Trust::Unknown,
        };
        locked(&self.shared.trust).insert(key, (trust, now));
        Ok(trust)
    }

    /// Returns whether what somebody did counts as a person's decision.
    fn trust_in_person(&self, login: &Login) -> Result<Trust, ForgeError> {
        if login.is_bot { Ok(Trust::Untrusted) } else { self.trust(login) }
    }

    /// Splits a text into words and marks. Marks by somebody who may not write are words.
    fn read<'a>(&self, text: &'a str, by: &Login) -> Result<(&'a str, Marks), ForgeError> {
        if !marker::may_have_marks(text) || !self.has_marks_of(by)? {
            return Ok((text, Marks::default()));
        }
        Ok(marker::split(text))
    }

    fn has_marks_of(&self, by: &Login) -> Result<bool, ForgeError> {
        let is_own = self.login()?.name.eq_ignore_ascii_case(&by.name);
        Ok(is_own || self.trust(by)?.is_trusted())
    }

    /// Returns an author as the ports know them: the account, and in whose name it acted.
    fn author(&self, by: &Login, marks: &Marks) -> Author {
        let actor = if by.is_bot && marks.by == Actor::Person { Actor::Agent } else { marks.by };
        Author { actor, name: by.name.clone() }
    }

    /// Makes an item of an issue, with these comments.
    fn item_of(&self, issue: &Issue, comments: Vec<Comment>) -> Result<Item, ForgeError> {
        let (body, marks) = self.read(&issue.body, &issue.author)?;
        let state = if issue.is_open { ItemState::Open } else { ItemState::Closed };
        let is_reason =
            |comment: &&Comment| comment.marker.as_deref().is_some_and(|marker| marker.starts_with(CLOSED));
        let reason = comments.iter().rev().find(is_reason).filter(|_| !issue.is_open);
        Ok(Item {
            id: ItemId::from(issue.number),
            title: issue.title.clone(),
            body: body.to_owned(),
            labels: issue.labels.iter().map(|label| label.name.clone()).collect(),
            state,
            closed_because: reason.map(|reason| reason.text.clone()),
            author: self.author(&issue.author, &marks),
            assignee: issue.assignees.first().cloned(),
            approved_by: None,
            trust: self.trust(&issue.author)?,
            comments,
            pull: None,
            opened_at: issue.opened_at,
            updated_at: issue.updated_at,
        })
    }

    /// Makes comments of what the server has, in the order of their times.
    fn comments_of(&self, notes: &[Note]) -> Result<Vec<Comment>, ForgeError> {
        let comment = |note: &Note| {
            let (text, marks) = self.read(&note.text, &note.author)?;
            let (author, trust) = (self.author(&note.author, &marks), self.trust(&note.author)?);
            Ok(Comment { author, at: note.at, text: text.to_owned(), marker: marks.marker, trust })
        };
        notes.iter().map(comment).collect()
    }

    /// Returns an item with all that belongs to it.
    fn whole(&self, issue: &Issue) -> Result<Item, ForgeError> {
        if issue.is_pull {
            let id = ItemId::from(issue.number);
            let pull = self.server().pull(issue.number)?.ok_or(ForgeError::NotThere { id })?;
            return self.pull_item(&pull);
        }
        let comments = self.comments_of(&self.server().comments(issue.number)?)?;
        self.item_of(issue, comments)
    }

    /// Returns the item with this marker, among issues or among pull requests.
    fn marked(&self, marker: &str, is_pull: bool) -> Result<Option<ItemId>, ForgeError> {
        let marker = text::marker(marker, |text| self.server().redact(text))?;
        if let Some(id) = locked(&self.shared.markers).get(&marker) {
            return Ok(Some(*id));
        }
        // What is looked for is mostly open, and that is a short list.
        for covers in [Covers::Open, Covers::All] {
            let found = self.search(covers, |marks| marks.marker.as_deref() == Some(&marker), is_pull)?;
            if let Some(first) = found.first() {
                let id = ItemId::from(first.number);
                locked(&self.shared.markers).insert(marker, id);
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Returns the issues or pull requests whose marks are meant, in the order of their numbers.
    fn search(
        &self,
        covers: Covers,
        is_meant: impl Fn(&Marks) -> bool,
        is_pull: bool,
    ) -> Result<Vec<Issue>, ForgeError> {
        let candidates: Vec<Issue> = {
            let mut mirror = self.mirror();
            mirror.refresh(self.server(), covers)?;
            let is_candidate = |issue: &&Issue| {
                issue.is_pull == is_pull
                    && marker::may_have_marks(&issue.body)
                    && is_meant(&marker::split(&issue.body).1)
            };
            mirror.issues().filter(is_candidate).cloned().collect()
        };
        let mut found = Vec::new();
        for issue in candidates {
            if self.has_marks_of(&issue.author)? {
                found.push(issue);
            }
        }
        Ok(found)
    }

    fn add_comment(&self, id: ItemId, text: &str, marker: Option<&str>) -> Result<(), ForgeError> {
        let redact = |text| self.server().redact(text);
        let text = text::comment(text, self.capabilities().longest_comment, redact)?;
        let marker = marker.map(|marker| text::marker(marker, redact)).transpose()?;
        let issue = self.raw_there(id)?;
        let notes = self.server().comments(issue.number)?;
        if self.has_note(&notes, marker.as_deref())? {
            return Ok(());
        }
        let own = self.login()?.name;
        let lengths = notes.iter().filter(|note| note.author.name == own).map(|note| note.text.len());
        text::check_comments(id, lengths.chain([text.len()]))?;
        let whole = Marks::new(marker.as_deref(), self.by.actor).append(&text);
        match self.server().add_comment(issue.number, &whole) {
            Ok(note) if is_same(&note.text, &whole) => Ok(()),
            Ok(_) => Err(changed("comment")),
            Err(failure) if failure.leaves_open() && marker.is_some() => {
                let notes = self.server().comments(issue.number)?;
                let is_there = self.has_note(&notes, marker.as_deref())?;
                if is_there { Ok(()) } else { Err(failure.into()) }
            }
            Err(failure) => Err(failure.into()),
        }
    }

    fn has_note(&self, notes: &[Note], marker: Option<&str>) -> Result<bool, ForgeError> {
        for note in notes.iter().filter(|_| marker.is_some()) {
            if self.read(&note.text, &note.author)?.1.marker.as_deref() == marker {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close_item(&self, id: ItemId, reason: Option<&str>) -> Result<(), ForgeError> {
        let reason = reason
            .map(|reason| text::line(text::TITLE, reason, |text| self.server().redact(text)))
            .transpose()?;
        let issue = self.raw_there(id)?;
        if !issue.is_open {
            return Ok(());
        }
        if let Some(reason) = reason {
            self.say_why(id, issue.number, &reason)?;
        }
        let edit = IssueEdit { is_open: Some(false), ..IssueEdit::default() };
        self.change(&issue, &edit)
    }

    /// Says why an item is closed, unless that was the last word already.
    fn say_why(&self, id: ItemId, number: u64, reason: &str) -> Result<(), ForgeError> {
        let notes = self.server().comments(number)?;
        if let Some(last) = notes.last() {
            let (text, marks) = self.read(&last.text, &last.author)?;
            if text == reason && marks.marker.is_some_and(|marker| marker.starts_with(CLOSED)) {
                return Ok(());
            }
        }
        self.add_comment(id, reason, Some(&format!("{CLOSED}{}", notes.len())))
    }

    /// Edits an issue or a pull request, and looks whether it is so then.
    fn change(&self, issue: &Issue, edit: &IssueEdit<'_>) -> Result<(), ForgeError> {
        let edit = &IssueEdit { version: issue.version.filter(|_| edit.body.is_some()), ..edit.clone() };
        let changed = match self.server().edit_issue(issue.number, edit) {
            Ok(changed) => changed,
            Err(failure) if edit.version.is_some() && failure.status() == Some(409) => {
                let id = ItemId::from(issue.number);
                return Err(ForgeError::Conflict {
                    id,
                    problem: "somebody has edited it just now".to_owned(),
                });
            }
            Err(failure) if failure.leaves_open() => {
                let found = self.server().issue(issue.number)?;
                match found.filter(|found| unfulfilled(found, edit).is_none()) {
                    Some(found) => found,
                    None => return Err(failure.into()),
                }
            }
            Err(failure) => return Err(failure.into()),
        };
        match unfulfilled(&changed, edit) {
            Some(what) => Err(self::changed(what)),
            None => {
                self.mirror().put(changed);
                Ok(())
            }
        }
    }

    fn mirror(&self) -> MutexGuard<'_, Mirror> {
        locked(&self.shared.mirror)
    }
}

impl Hosting for Remote {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker> {
        Arc::new(self.by(by))
    }

    fn forge(&self, by: Author) -> Arc<dyn Forge> {
        Arc::new(self.by(by))
    }

    fn budget(&self) -> Option<Budget> {
        Some(self.server().budget())
    }
}

/// Returns what of an edit is not so.
fn unfulfilled(issue: &Issue, edit: &IssueEdit<'_>) -> Option<&'static str> {
    let is_title = edit.title.is_none_or(|title| issue.title.trim() == title.trim());
    let is_body = edit.body.is_none_or(|body| is_same(&issue.body, body));
    let is_state = edit.is_open.is_none_or(|is_open| issue.is_open == is_open);
    let is_assigned = edit.assignees.as_ref().is_none_or(|names| {
        names.len() == issue.assignees.len()
            && names.iter().all(|name| issue.assignees.iter().any(|other| other.eq_ignore_ascii_case(name)))
    });
    [(is_title, "title"), (is_body, "text"), (is_state, "state"), (is_assigned, "assignee")]
        .into_iter()
        .find_map(|(is_so, what)| (!is_so).then_some(what))
}

/// Compares texts as forges keep them: the ends of lines, and of the text, may be others.
fn is_same(one: &str, other: &str) -> bool {
    one.replace("\r\n", "\n").trim_end() == other.replace("\r\n", "\n").trim_end()
}

fn changed(what: &str) -> ForgeError {
    ForgeError::BadAnswer { problem: format!("the forge has kept another {what} than it was given") }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
