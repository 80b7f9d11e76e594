//! Issues on a server.

use std::{collections::BTreeSet, sync::Arc};

use engine::{Time, open_boxes, read_boxes, with_ticks, without_ticks};

use super::{
    Remote,
    approval::{Approval, approval},
    changed, labels, locked,
    mirror::Covers,
    server::{Issue, IssueEdit, Kind, Label, Which},
};
use crate::{
    Author, Capabilities, Edit, FiledItem, ForgeError, Item, ItemId, NewItem, Query, REQUIREMENT, Refusal,
    Tracker, check_person, client::Failure, marker::Marks, text,
};

/// How often a text is read and written again because somebody has edited it meanwhile.
const ATTEMPTS: usize = 5;

impl Tracker for Remote {
    fn capabilities(&self) -> Capabilities {
        self.capabilities()
    }

    fn whoami(&self) -> Result<Author, ForgeError> {
        self.whoami()
    }

    fn item(&self, id: ItemId) -> Result<Option<Arc<Item>>, ForgeError> {
        let Some(issue) = self.raw(id)? else { return Ok(None) };
        self.whole(&issue).map(Arc::new).map(Some)
    }

    fn items(&self, query: Query<'_>) -> Result<Vec<Arc<Item>>, ForgeError> {
        let issues = match query {
            Query::Marked(prefix) => {
                let is_meant =
                    |marks: &Marks| marks.marker.as_deref().is_some_and(|it| it.starts_with(prefix));
                self.search(Covers::All, is_meant, false)?
            }
            Query::Open | Query::All => {
                let is_all = query == Query::All;
                let covers = if is_all { Covers::All } else { Covers::Open };
                let mut mirror = self.mirror();
                mirror.refresh(self.server(), covers)?;
                let is_meant = |issue: &&Issue| !issue.is_pull && (is_all || issue.is_open);
                mirror.issues().filter(is_meant).cloned().collect()
            }
        };
        issues.iter().map(|issue| self.item_of(issue, Vec::new()).map(Arc::new)).collect()
    }

    fn changed_since(&self, since: Time) -> Result<Vec<Arc<Item>>, ForgeError> {
        let mut issues = self.server().issues(Which::Since(since))?;
        // A server that drops the filter lists everything.
        issues.retain(|issue| issue.updated_at >= since);
        issues.sort_by_key(|issue| issue.number);
        issues.dedup_by_key(|issue| issue.number);
        issues.iter().map(|issue| self.whole(issue).map(Arc::new)).collect()
    }

    fn count_closed(&self) -> Result<u64, ForgeError> {
        Ok(self.server().count_closed(Kind::Issue)?)
    }

    fn filed(&self, marker: &str) -> Result<Option<ItemId>, ForgeError> {
        self.marked(marker, false)
    }

    fn file(&self, new: &NewItem, marker: Option<&str>) -> Result<FiledItem, ForgeError> {
        let redact = |text| self.server().redact(text);
        if new.id.is_some() {
            return Err(self.unsupported("it numbers issues itself"));
        }
        let title = text::line(text::TITLE, &new.title, redact)?;
        let body = text::body(&new.body, self.capabilities().longest_text, redact)?;
        let names = self.label_names(new.labels.iter().map(String::as_str))?;
        if let Some(marker) = marker
            && let Some(id) = self.marked(marker, false)?
        {
            return Ok(FiledItem { id, was_there: true, url: None });
        }
        let labels = self.ensured(&names)?;
        let body = Marks::new(marker, self.by.actor).append(&body);
        let issue = match self.server().create_issue(&title, &body, &labels) {
            Ok(issue) => issue,
            Err(failure) => self.filed_after(failure, marker)?,
        };
        self.mirror().put(issue.clone());
        if issue.title.trim() != title || !super::is_same(&issue.body, &body) {
            return Err(changed("text"));
        }
        // Labels that a server leaves out in silence are set once more, where it says so.
        let missing: Vec<Label> =
            labels.into_iter().filter(|label| !has(&issue.labels, &label.name)).collect();
        self.attach(issue.number, &missing)?;
        if new.is_closed && issue.is_open {
            self.change(&issue, &IssueEdit { is_open: Some(false), ..IssueEdit::default() })?;
        }
        Ok(FiledItem { id: ItemId::from(issue.number), was_there: false, url: issue.url })
    }

    fn edit(&self, id: ItemId, edit: &Edit) -> Result<Arc<Item>, ForgeError> {
        let redact = |text| self.server().redact(text);
        let title = edit.title.as_deref().map(|title| text::line(text::TITLE, title, redact)).transpose()?;
        let longest = self.capabilities().longest_text;
        let body = edit.body.as_deref().map(|body| text::body(body, longest, redact)).transpose()?;
        let issue = self.raw_there(id)?;
        let (old, marks) = self.read(&issue.body, &issue.author)?;
        if edit.base.as_deref().is_some_and(|base| base != old) {
            return Err(ForgeError::Conflict { id, problem: "its text is another by now".to_owned() });
        }
        let gains_criteria = body
            .as_deref()
            .is_some_and(|body| read_boxes(old).items.is_empty() && !read_boxes(body).items.is_empty());
        let body = body.filter(|body| body != old).map(|body| marks.append(&body));
        let title = title.filter(|title| *title != issue.title);
        if title.is_some() || body.is_some() {
            self.check_unedited(id, &issue)?;
            let edit = IssueEdit { title: title.as_deref(), body: body.as_deref(), ..IssueEdit::default() };
            self.change(&issue, &edit)?;
        }
        let item = self.get(id)?;
        if gains_criteria && item.pull.is_none() && !item.is_capability() {
            return self.ensure_labels(id, &[REQUIREMENT], &[]);
        }
        Ok(item)
    }

    fn comment(&self, id: ItemId, text: &str, marker: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        self.add_comment(id, text, marker)?;
        self.get(id)
    }

    /// What warp does in nobody's name leaves out the labels that approve.
    fn ensure_labels(&self, id: ItemId, add: &[&str], remove: &[&str]) -> Result<Arc<Item>, ForgeError> {
        let add = self.label_names(add.iter().copied())?;
        let remove = self.cleaned(remove.iter().copied())?;
        let issue = self.raw_there(id)?;
        let missing: Vec<String> = add.iter().filter(|name| !has(&issue.labels, name)).cloned().collect();
        let mut present: Vec<&String> = add.iter().filter(|name| has(&issue.labels, name)).collect();
        present.retain(|name| self.is_approving(name));
        for label in
            issue.labels.iter().filter(|label| remove.contains(&label.name) && !add.contains(&label.name))
        {
            self.detach(issue.number, label)?;
        }
        let labels = self.ensured(&missing)?;
        self.attach(issue.number, &labels)?;
        for name in present {
            // The label may be there without an approval: somebody set it who may not.
            if self.approver(&issue)?.is_none() {
                for label in issue.labels.iter().filter(|label| label.name == *name) {
                    self.detach(issue.number, label)?;
                }
                let labels = self.ensured(std::slice::from_ref(name))?;
                self.attach(issue.number, &labels)?;
            }
        }
        let item = self.get(id)?;
        let is_there = add.iter().all(|name| item.labels.contains(name));
        let is_gone = remove.iter().all(|name| add.contains(name) || !item.labels.contains(name));
        if is_there && is_gone { Ok(item) } else { Err(changed("set of labels")) }
    }

    fn approve(&self, id: ItemId) -> Result<Arc<Item>, ForgeError> {
        check_person(&self.by)?;
        if self.raw_there(id)?.is_pull {
            return Err(Refusal::NotAnIssue { id }.into());
        }
        let names: Vec<&str> = self.shared.settings.approval.iter().take(1).map(String::as_str).collect();
        let item = self.ensure_labels(id, &names, &[])?;
        match self.approval(&item)? {
            Some(_) => Ok(item),
            None => {
                let why = "its label was set, and this account has no write access".to_owned();
                Err(Refusal::Forbidden { why }.into())
            }
        }
    }

    fn approval(&self, item: &Item) -> Result<Option<String>, ForgeError> {
        if !item.labels.iter().any(|label| self.is_approving(label)) {
            return Ok(None);
        }
        self.approver(&self.raw_there(item.id)?)
    }

    /// A name that is no account here gives the issue to this account: it is warp that works on it.
    fn assign(&self, id: ItemId, to: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        let issue = self.raw_there(id)?;
        let names =
            match to.map(|to| text::line(text::NAME, to, |text| self.server().redact(text))).transpose()? {
                None => Vec::new(),
                Some(to) => {
                    let is_login =
                        to.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
                    let is_account = is_login && self.server().can_assign(&to)?;
                    vec![if is_account { to } else { self.login()?.name }]
                }
            };
        if issue.assignees != names {
            self.change(&issue, &IssueEdit { assignees: Some(names), ..IssueEdit::default() })?;
        }
        self.get(id)
    }

    fn tick(&self, id: ItemId, criteria: &[String]) -> Result<Arc<Item>, ForgeError> {
        self.change_boxes(id, |body| with_ticks(body, &open_boxes(body, criteria)))
    }

    fn untick(&self, id: ItemId, criteria: &[String]) -> Result<Arc<Item>, ForgeError> {
        self.change_boxes(id, |body| without_ticks(body, criteria))
    }

    fn close(&self, id: ItemId, reason: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        self.close_item(id, reason)?;
        self.get(id)
    }

    fn reopen(&self, id: ItemId) -> Result<Arc<Item>, ForgeError> {
        let issue = self.raw_there(id)?;
        if issue.is_open {
            return self.get(id);
        }
        if issue.is_pull && self.server().pull(issue.number)?.is_some_and(|pull| pull.merged.is_some()) {
            return Err(Refusal::Merged { id }.into());
        }
        self.change(&issue, &IssueEdit { is_open: Some(true), ..IssueEdit::default() })?;
        self.get(id)
    }
}

impl Remote {
    /// Finds what a failed call may have filed after all.
    fn filed_after(&self, failure: Failure, marker: Option<&str>) -> Result<Issue, ForgeError> {
        if failure.leaves_open()
            && let Some(marker) = marker
            && let Some(id) = self.marked(marker, false)?
        {
            return self.raw_there(id);
        }
        Err(failure.into())
    }

    /// Refuses to write over what somebody has edited since it was read.
    fn check_unedited(&self, id: ItemId, read: &Issue) -> Result<(), ForgeError> {
        let now = self.raw_there(id)?;
        if now.body == read.body && now.title == read.title {
            return Ok(());
        }
        Err(ForgeError::Conflict { id, problem: "somebody has edited it just now".to_owned() })
    }

    /// Changes boxes of a text and nothing else in it, whoever edits it meanwhile.
    fn change_boxes(&self, id: ItemId, with: impl Fn(&str) -> String) -> Result<Arc<Item>, ForgeError> {
        let mut issue = self.raw_there(id)?;
        for _ in 0..ATTEMPTS {
            // What is behind the marks, which is nothing, has no boxes; so the text is taken as it is.
            let body = with(&issue.body);
            if body == issue.body {
                return self.get(id);
            }
            let mut now = self.raw_there(id)?;
            if now.body == issue.body {
                let edit = IssueEdit { body: Some(&body), ..IssueEdit::default() };
                match self.change(&now, &edit) {
                    Err(ForgeError::Conflict { .. }) => now = self.raw_there(id)?,
                    changed => return changed.and_then(|()| self.get(id)),
                }
            }
            issue = now;
        }
        Err(ForgeError::Conflict { id, problem: "it is being edited".to_owned() })
    }

    fn cleaned<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<BTreeSet<String>, ForgeError> {
        names.map(|name| text::label(name, |text| self.server().redact(text))).collect()
    }

    /// Returns the labels that may be set in this name.
    fn label_names<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<Vec<String>, ForgeError> {
        let names = self.cleaned(names)?.into_iter();
        Ok(names.filter(|name| self.is_person() || !self.is_approving(name)).collect())
    }

    fn is_approving(&self, label: &str) -> bool {
        self.shared.settings.approval.iter().any(|name| name == label)
    }

    fn ensured(&self, names: &[String]) -> Result<Vec<Label>, ForgeError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        labels::heal(self.server(), &mut self.mirror(), names, &self.shared.settings.approval)?;
        Ok(labels::ensure(self.server(), names)?)
    }

    /// Attaches labels, and looks whether they are there then.
    fn attach(&self, number: u64, labels: &[Label]) -> Result<(), ForgeError> {
        if labels.is_empty() {
            return Ok(());
        }
        let attached = match self.server().attach(number, labels) {
            Ok(attached) => attached,
            Err(failure) if failure.leaves_open() => match self.server().issue(number)? {
                Some(issue) if labels.iter().all(|label| has(&issue.labels, &label.name)) => issue.labels,
                Some(_) | None => return Err(failure.into()),
            },
            Err(failure) => return Err(failure.into()),
        };
        match labels.iter().find(|label| !has(&attached, &label.name)) {
            None => Ok(()),
            Some(label) => {
                let why = format!("the forge has not set the label `{}`", label.name);
                Err(Refusal::Said { why }.into())
            }
        }
    }

    fn detach(&self, number: u64, label: &Label) -> Result<(), ForgeError> {
        match self.server().detach(number, label) {
            Ok(()) => Ok(()),
            Err(failure) if failure.is_absent() => Ok(()),
            Err(failure) if failure.leaves_open() => match self.server().issue(number)? {
                Some(issue) if !issue.labels.contains(label) => Ok(()),
                Some(_) | None => Err(failure.into()),
            },
            Err(failure) => Err(failure.into()),
        }
    }

    /// Returns who has approved an issue that has the label.
    fn approver(&self, issue: &Issue) -> Result<Option<String>, ForgeError> {
        let approving = &self.shared.settings.approval;
        let present: Vec<String> =
            approving.iter().filter(|name| has(&issue.labels, name)).cloned().collect();
        if present.is_empty() {
            return Ok(None);
        }
        let events = self.server().label_events(issue.number)?;
        match approval(&events, &present, |event| self.trust_in_person(&event.by))? {
            Approval::None => Ok(None),
            Approval::By(name) => Ok(Some(name)),
            Approval::Unknown(names) => Err(ForgeError::BadAnswer {
                problem: format!(
                    "{} set the label that approves #{}, and the forge does not tell whether they may: name whom you \
                     trust in the settings",
                    names.join(", "),
                    issue.number
                ),
            }),
        }
    }

    /// Remembers under which marker an item is.
    pub(super) fn note_marker(&self, marker: &str, id: ItemId) {
        locked(&self.shared.markers).insert(marker.to_owned(), id);
    }
}

fn has(labels: &[Label], name: &str) -> bool {
    labels.iter().any(|label| label.name == name)
}
