//! Pull requests on a server.
//!
//! What counts as a review is judged here: it is published, not dismissed, by somebody who may write, and of the commit
//! that is offered, or of one that is the same work. What the server itself calls stale or official comes too late, or
//! means something else.

use std::{collections::BTreeMap, sync::Arc};

use engine::digest;

use super::{
    Remote, changed,
    mirror::Covers,
    server::{
        IssueEdit, Kind, MergeMethod, NewStatus, Note, PullRequest, ReviewNote, Status, StatusState, Verdict,
        Which,
    },
};
use crate::{
    Author, Capabilities, ChangedFile, Comment, FiledItem, Forge, ForgeError, Item, ItemId, Merge, NewPull,
    Pull, Query, REQUESTED, Refusal, Requirements, Review, Round, VERDICT,
    client::Failure,
    marker::{self, Marks},
    text,
};

/// Marker of comments that say as which commit a pull request was landed by somebody else than the server.
const LANDED: &str = "landed:";
/// How much of a status's description servers keep.
const LONGEST_DESCRIPTION: usize = 140;
/// What a review says that requests changes and gives no reason; servers refuse an empty one.
const NO_REASON: &str = "Changes are requested.";

impl Forge for Remote {
    fn capabilities(&self) -> Capabilities {
        self.capabilities()
    }

    fn whoami(&self) -> Result<Author, ForgeError> {
        self.whoami()
    }

    fn pull(&self, id: ItemId) -> Result<Option<Arc<Item>>, ForgeError> {
        match self.find_pull(id)? {
            Some(pull) => self.pull_item(&pull).map(Arc::new).map(Some),
            None => Ok(None),
        }
    }

    fn pulls(&self, query: Query<'_>) -> Result<Vec<Arc<Item>>, ForgeError> {
        let mut pulls = match query {
            Query::Open => self.server().pulls(Which::Open)?,
            Query::All => self.server().pulls(Which::All)?,
            Query::Marked(prefix) => {
                let is_meant =
                    |marks: &Marks| marks.marker.as_deref().is_some_and(|it| it.starts_with(prefix));
                let found = self.search(Covers::All, is_meant, true)?;
                let read = |issue: &super::Issue| self.server().pull(issue.number).transpose();
                found.iter().filter_map(read).collect::<Result<_, Failure>>()?
            }
        };
        pulls.sort_by_key(|pull| pull.issue.number);
        pulls.dedup_by_key(|pull| pull.issue.number);
        let item = |pull: &PullRequest| match query {
            Query::All if !pull.issue.is_open => self.bare_item(pull),
            Query::All | Query::Open | Query::Marked(_) => self.pull_item(pull),
        };
        pulls.iter().map(|pull| item(pull).map(Arc::new)).collect()
    }

    fn count_closed(&self) -> Result<u64, ForgeError> {
        Ok(self.server().count_closed(Kind::Pull)?)
    }

    fn opened(&self, marker: &str) -> Result<Option<ItemId>, ForgeError> {
        self.marked(marker, true)
    }

    fn ensure_pull(&self, new: &NewPull, marker: &str) -> Result<FiledItem, ForgeError> {
        let redact = |text| self.server().redact(text);
        let title = text::line(text::TITLE, &new.title, redact)?;
        let body = text::body(&new.body, self.capabilities().longest_text, redact)?;
        let branch = text::line(text::BRANCH, &new.branch, redact)?;
        let target = text::line(text::TARGET, &new.target, redact)?;
        if let Some(id) = self.marked(marker, true)? {
            return Ok(FiledItem { id, was_there: true, url: None });
        }
        let marks = Marks {
            issue: new.issue.map(|issue| issue.to_string()),
            run: new.run.clone(),
            ..Marks::new(Some(marker), self.by.actor)
        };
        if let Some(filed) = self.adopt(&branch, &target, &marks)? {
            return Ok(filed);
        }
        let pull = match self.server().create_pull(&title, &marks.append(&body), &branch, &target) {
            Ok(pull) => pull,
            // There is one already, or the answer was lost.
            Err(failure) if failure.leaves_open() || matches!(failure.status(), Some(409 | 422)) => {
                let is_lost = failure.leaves_open();
                let found = self.adopt(&branch, &target, &marks)?;
                return found.map(|filed| FiledItem { was_there: !is_lost, ..filed }).ok_or(failure.into());
            }
            Err(failure) => return Err(failure.into()),
        };
        let id = ItemId::from(pull.issue.number);
        if pull.branch != branch || pull.target != target {
            return Err(changed("pair of branches"));
        }
        self.note_marker(marker, id);
        self.mirror().put(pull.issue.clone());
        Ok(FiledItem { id, was_there: false, url: pull.issue.url })
    }

    /// The head is what was pushed; only what is the same work is said here.
    fn offer_head(&self, id: ItemId, head: &str, same_as: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        let head = text::line(text::COMMIT, head, |text| self.server().redact(text))?;
        let pull = self.unmerged(id)?;
        let (words, mut marks) = self.read(&pull.issue.body, &pull.issue.author)?;
        if let Some(old) = same_as.filter(|old| *old != head) {
            let pair = (old.to_owned(), head);
            if !self.has_marks_of(&pull.issue.author)? {
                let why = format!("#{id} was opened by somebody who may not write, so nothing is kept in it");
                return Err(Refusal::Said { why }.into());
            }
            if !marks.same.contains(&pair) {
                marks.same.push(pair);
                let body = marks.append(words);
                self.change(&pull.issue, &IssueEdit { body: Some(&body), ..IssueEdit::default() })?;
            }
        }
        let (item, _) = Forge::get(self, id)?;
        Ok(item)
    }

    fn comment(&self, id: ItemId, text: &str, marker: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        self.there(id)?;
        self.add_comment(id, text, marker)?;
        Ok(Forge::get(self, id)?.0)
    }

    fn review(
        &self,
        id: ItemId,
        head: &str,
        review: Review,
        text: Option<&str>,
    ) -> Result<Arc<Item>, ForgeError> {
        let longest = self.capabilities().longest_comment;
        let said =
            text.map(|text| text::comment(text, longest, |text| self.server().redact(text))).transpose()?;
        let pull = self.unmerged(id)?;
        check_head(id, &pull, head)?;
        let me = self.whoami()?;
        let (_, marks) = self.read(&pull.issue.body, &pull.issue.author)?;
        let opener = self.author(&pull.issue.author, &marks);
        if review == Review::Approved && opener == me {
            return Err(Refusal::OwnPull { id, name: me.name }.into());
        }
        if opener.name.eq_ignore_ascii_case(&me.name) {
            self.review_own(&pull, review, said.as_deref())?;
        } else {
            self.review_formally(id, &pull, review, said.as_deref())?;
        }
        Ok(Forge::get(self, id)?.0)
    }

    fn merge(&self, id: ItemId, merge: &Merge<'_>) -> Result<Arc<Item>, ForgeError> {
        let pull = self.there(id)?;
        if pull.merged.is_none() {
            let item = self.pull_item(&pull)?;
            if item.pull.as_ref().is_some_and(|pull| pull.merged.is_some()) {
                return Ok(Arc::new(item));
            }
            check_head(id, &pull, merge.head)?;
            match merge.landed {
                Some(commit) => self.note_landed(id, commit)?,
                None => self.merge_there(id, &pull)?,
            }
        }
        Ok(Forge::get(self, id)?.0)
    }

    fn close(&self, id: ItemId, reason: Option<&str>) -> Result<Arc<Item>, ForgeError> {
        self.there(id)?;
        self.close_item(id, reason)?;
        Ok(Forge::get(self, id)?.0)
    }

    fn ensure_branch_removed(&self, id: ItemId) -> Result<(), ForgeError> {
        let pull = self.there(id)?;
        if pull.is_foreign {
            return Ok(());
        }
        let is_merged = Forge::get(self, id)?.1.merged.is_some();
        if !is_merged {
            let why = format!("#{id} is not merged, so its branch stays");
            return Err(Refusal::Said { why }.into());
        }
        match self.server().branch(&pull.branch)? {
            Some(tip) if tip == pull.head => {}
            // It is gone, or there is other work on it.
            Some(_) | None => return Ok(()),
        }
        match self.server().delete_branch(&pull.branch) {
            Ok(()) => Ok(()),
            Err(failure) => match self.server().branch(&pull.branch)? {
                None => Ok(()),
                Some(_) => Err(failure.into()),
            },
        }
    }

    fn files(&self, id: ItemId) -> Result<Vec<ChangedFile>, ForgeError> {
        let pull = self.there(id)?;
        Ok(self.server().files(pull.issue.number)?)
    }

    fn requirements(&self, target: &str) -> Result<Requirements, ForgeError> {
        Ok(self.server().requirements(target)?)
    }
}

impl Remote {
    /// Returns a pull request; none only if there is no such item.
    fn find_pull(&self, id: ItemId) -> Result<Option<PullRequest>, ForgeError> {
        let Some(number) = id.number() else { return Ok(None) };
        if let Some(pull) = self.server().pull(number)? {
            return Ok(Some(pull));
        }
        match self.raw(id)? {
            Some(issue) if issue.is_pull => {
                Err(ForgeError::BadAnswer { problem: format!("the forge lists #{id} and does not show it") })
            }
            Some(_) => Err(Refusal::NotAPull { id }.into()),
            None => Ok(None),
        }
    }

    fn there(&self, id: ItemId) -> Result<PullRequest, ForgeError> {
        self.find_pull(id)?.ok_or(ForgeError::NotThere { id })
    }

    fn unmerged(&self, id: ItemId) -> Result<PullRequest, ForgeError> {
        let pull = self.there(id)?;
        if pull.merged.is_some() { Err(Refusal::Merged { id }.into()) } else { Ok(pull) }
    }

    /// Takes the open pull request of a branch for the one that was to be opened, and marks it so.
    fn adopt(&self, branch: &str, target: &str, marks: &Marks) -> Result<Option<FiledItem>, ForgeError> {
        let mut found = self.server().pulls_of(branch)?;
        found.retain(|pull| {
            pull.branch == branch && pull.target == target && !pull.is_foreign && pull.issue.is_open
        });
        let Some(pull) = found.into_iter().min_by_key(|pull| pull.issue.number) else { return Ok(None) };
        let id = ItemId::from(pull.issue.number);
        if !self.has_marks_of(&pull.issue.author)? {
            let problem =
                format!("`{branch}` is offered by {}, who may not write here", pull.issue.author.name);
            return Err(ForgeError::Conflict { id, problem });
        }
        let (words, known) = marker::split(&pull.issue.body);
        if known.marker != marks.marker {
            let body = Marks { by: known.by, same: known.same, ..marks.clone() }.append(words);
            self.change(&pull.issue, &IssueEdit { body: Some(&body), ..IssueEdit::default() })?;
        }
        if let Some(marker) = &marks.marker {
            self.note_marker(marker, id);
        }
        Ok(Some(FiledItem { id, was_there: true, url: pull.issue.url }))
    }

    /// Makes an item of a pull request, without what was said about it.
    fn bare_item(&self, pull: &PullRequest) -> Result<Item, ForgeError> {
        let mut item = self.item_of(&pull.issue, Vec::new())?;
        let (_, marks) = self.read(&pull.issue.body, &pull.issue.author)?;
        item.pull = Some(Pull {
            branch: pull.branch.clone(),
            target: pull.target.clone(),
            head: pull.head.clone(),
            issue: marks.issue.as_deref().and_then(ItemId::parse),
            run: marks.run,
            review: Review::Pending,
            reviewed_by: None,
            merged: pull.merged.clone(),
            rounds: Vec::new(),
        });
        Ok(item)
    }

    /// Makes an item of a pull request, with all that belongs to it.
    pub(super) fn pull_item(&self, pull: &PullRequest) -> Result<Item, ForgeError> {
        let number = pull.issue.number;
        let mut comments = self.comments_of(&self.server().comments(number)?)?;
        let reviews = self.server().reviews(number)?;
        let mut judged = Vec::new();
        for review in &reviews {
            let is_trusted = self.trust_in_person(&review.note.author)?.is_trusted()
                || self.login()?.name == review.note.author.name;
            comments.extend(self.comments_of_review(review, is_trusted)?);
            if is_trusted && !review.is_dismissed && review.verdict != Verdict::Commented {
                judged.push(review);
            }
        }
        comments.sort_by_key(|comment| comment.at);
        let landed = comments.iter().find_map(|comment| comment.marker.as_deref()?.strip_prefix(LANDED));
        let landed = landed.map(str::to_owned).filter(|_| !pull.issue.is_open);
        let mut item = self.item_of(&pull.issue, comments)?;
        let bare = self.bare_item(pull)?;
        let (_, marks) = self.read(&pull.issue.body, &pull.issue.author)?;
        item.pull = bare.pull.map(|known| {
            let mut known = Pull { merged: known.merged.or(landed), ..known };
            judge(&mut known, &judged, &marks.same, item.updated_at);
            known
        });
        if let Some(known) = &mut item.pull {
            self.judge_own(known, pull)?;
        }
        Ok(item)
    }

    fn comments_of_review(&self, review: &ReviewNote, is_trusted: bool) -> Result<Vec<Comment>, ForgeError> {
        let is_request = is_trusted && review.verdict == Verdict::ChangesRequested && !review.is_dismissed;
        let marker = is_request.then(|| format!("{REQUESTED}{}", review.id));
        let mut notes: Vec<&Note> = Vec::new();
        let has_words = !self.read(&review.note.text, &review.note.author)?.0.trim().is_empty();
        if has_words || is_request {
            notes.push(&review.note);
        }
        notes.extend(&review.inline);
        let notes: Vec<Note> = notes.into_iter().cloned().collect();
        let mut comments = self.comments_of(&notes)?;
        if let Some(first) = comments.first_mut() {
            first.marker = marker.or(first.marker.take());
        }
        Ok(comments)
    }

    /// Takes the verdict of the account that has opened a pull request from its commit's status.
    fn judge_own(&self, known: &mut Pull, pull: &PullRequest) -> Result<(), ForgeError> {
        let own = self.login()?.name;
        if known.merged.is_some() || !pull.issue.author.name.eq_ignore_ascii_case(&own) {
            return Ok(());
        }
        let statuses = self.server().statuses(&pull.head)?;
        let is_ours = |status: &&Status| {
            status.context == VERDICT
                && status.by.as_ref().is_some_and(|by| by.name.eq_ignore_ascii_case(&own))
        };
        let verdict = match statuses.iter().find(is_ours).map(|status| status.state) {
            Some(StatusState::Success) => Review::Approved,
            Some(StatusState::Failure | StatusState::Error) => Review::ChangesRequested,
            Some(StatusState::Pending | StatusState::Skipped) | None => return Ok(()),
        };
        // Somebody else's wish for changes is not outvoted by the account's own verdict.
        if known.review != Review::ChangesRequested {
            known.review = verdict;
            known.reviewed_by = Some(own.clone());
            if let Some(round) = known.rounds.last_mut() {
                round.review = Some((verdict, own));
            }
        }
        Ok(())
    }

    /// Puts down the verdict on what this account has opened itself as a status of the commit.
    fn review_own(&self, pull: &PullRequest, review: Review, said: Option<&str>) -> Result<(), ForgeError> {
        let id = ItemId::from(pull.issue.number);
        if let Some(said) = said {
            let kind = if review == Review::ChangesRequested { REQUESTED } else { "reviewed:" };
            let marker = format!("{kind}{}:{}", pull.head, digest(said));
            self.add_comment(id, said, Some(&marker))?;
        }
        let (state, words) = match review {
            Review::Pending => (StatusState::Pending, "Waits for a review"),
            Review::Approved => (StatusState::Success, "Approved"),
            Review::ChangesRequested => (StatusState::Failure, "Changes requested"),
        };
        let is_so = |statuses: &[Status]| {
            statuses
                .iter()
                .find(|status| status.context == VERDICT)
                .is_some_and(|status| status.state == state)
        };
        if is_so(&self.server().statuses(&pull.head)?) {
            return Ok(());
        }
        let description: String = words.chars().take(LONGEST_DESCRIPTION).collect();
        let status = NewStatus { context: VERDICT, state, description: &description };
        match self.server().set_status(&pull.head, &status) {
            Ok(()) => Ok(()),
            Err(failure) if failure.leaves_open() && is_so(&self.server().statuses(&pull.head)?) => Ok(()),
            Err(failure) => Err(failure.into()),
        }
    }

    fn review_formally(
        &self,
        id: ItemId,
        pull: &PullRequest,
        review: Review,
        said: Option<&str>,
    ) -> Result<(), ForgeError> {
        let own = self.login()?.name;
        let mine = |reviews: Vec<ReviewNote>| -> Vec<ReviewNote> {
            let is_mine = |it: &ReviewNote| it.note.author.name == own && it.commit == pull.head;
            reviews.into_iter().filter(is_mine).collect()
        };
        let number = pull.issue.number;
        let before = mine(self.server().reviews(number)?);
        let verdict = match review {
            Review::Approved => Verdict::Approved,
            Review::ChangesRequested => Verdict::ChangesRequested,
            Review::Pending => {
                for old in before.iter().filter(|it| it.verdict != Verdict::Commented && !it.is_dismissed) {
                    self.server().dismiss(number, old.id, "It is looked at again.")?;
                }
                return said.map_or(Ok(()), |said| self.add_comment(id, said, None));
            }
        };
        let words = match (said, verdict) {
            (None, Verdict::ChangesRequested) => NO_REASON,
            (said, _) => said.unwrap_or_default(),
        };
        let whole = Marks::new(None, self.by.actor).append(words);
        let is_it = |it: &ReviewNote| {
            it.verdict == verdict
                && !it.is_dismissed
                && (words.is_empty() || super::is_same(&it.note.text, &whole))
        };
        let decisive = before.iter().rev().find(|it| it.verdict != Verdict::Commented);
        if decisive.is_some_and(is_it) {
            return Ok(());
        }
        let created = match self.server().create_review(number, &pull.head, verdict, &whole) {
            Ok(created) => created,
            Err(failure) if failure.leaves_open() => {
                let known: Vec<u64> = before.iter().map(|it| it.id).collect();
                let after = mine(self.server().reviews(number)?);
                let found = after.into_iter().find(|it| !known.contains(&it.id) && is_it(it));
                found.ok_or(failure)?
            }
            Err(failure) => return Err(failure.into()),
        };
        if created.commit != pull.head {
            let problem = format!("the forge took the review for {}", created.commit);
            return Err(ForgeError::Conflict { id, problem });
        }
        if created.verdict == verdict { Ok(()) } else { Err(changed("verdict")) }
    }

    /// Says that the work is on the target already, and closes the pull request unless the server has seen it.
    fn note_landed(&self, id: ItemId, commit: &str) -> Result<(), ForgeError> {
        let commit = text::line(text::COMMIT, commit, |text| self.server().redact(text))?;
        self.add_comment(id, &format!("Landed as {commit}."), Some(&format!("{LANDED}{commit}")))?;
        self.close_item(id, None)
    }

    fn merge_there(&self, id: ItemId, pull: &PullRequest) -> Result<(), ForgeError> {
        let allowed = self.repository()?.merges;
        let wanted = self.shared.settings.merge;
        let method: MergeMethod =
            if allowed.contains(&wanted) { wanted } else { allowed.first().copied().unwrap_or(wanted) };
        let number = pull.issue.number;
        let failure = match self.server().merge(number, &pull.head, method) {
            Ok(()) => None,
            Err(failure @ (Failure::NotSent(_) | Failure::Later { .. })) => return Err(failure.into()),
            Err(failure) => Some(failure),
        };
        // Whatever was answered: what counts is what is there.
        let now = self.there(id)?;
        match (&now.merged, failure) {
            (Some(_), _) => Ok(()),
            (None, Some(failure)) => {
                check_head(id, &now, &pull.head)?;
                Err(why_not(id, &now, failure))
            }
            (None, None) => {
                Err(ForgeError::Later { until: None, why: format!("the forge has not merged #{id} yet") })
            }
        }
    }
}

/// Says why a merge was refused, from what the pull request says of itself and then from the answer.
fn why_not(id: ItemId, pull: &PullRequest, failure: Failure) -> ForgeError {
    let Failure::Status { status, message } = &failure else { return failure.into() };
    let said = message.to_ascii_lowercase();
    if pull.is_draft || said.contains("work in progress") {
        return Refusal::Said { why: format!("#{id} is a draft") }.into();
    }
    let is_early = said.contains("try again later") || said.contains("mergeability");
    match (status, pull.mergeable) {
        (405, Some(false)) if !said.contains("not allowed") && !said.contains("required") => {
            ForgeError::Conflict { id, problem: format!("it does not fit onto `{}`: {message}", pull.target) }
        }
        (405, None) => ForgeError::Later { until: None, why: format!("#{id} is being looked at: {message}") },
        (405, _) if is_early => {
            ForgeError::Later { until: None, why: format!("#{id} cannot be merged yet: {message}") }
        }
        (409, _) => ForgeError::Conflict { id, problem: message.clone() },
        _ => failure.into(),
    }
}

/// Refuses what is about another commit than the one that is offered.
fn check_head(id: ItemId, pull: &PullRequest, head: &str) -> Result<(), ForgeError> {
    if pull.head == head {
        return Ok(());
    }
    let problem = format!("it offers {} now, and not {head}", pull.head);
    Err(ForgeError::Conflict { id, problem })
}

/// Reads the rounds and the verdict off the reviews that count.
fn judge(pull: &mut Pull, reviews: &[&ReviewNote], same: &[(String, String)], at: engine::Time) {
    let mut latest: BTreeMap<&str, (Verdict, usize)> = BTreeMap::new();
    let mut rounds: Vec<Round> = Vec::new();
    for (index, review) in reviews.iter().enumerate() {
        let head = followed(&review.commit, same);
        let verdict = match review.verdict {
            Verdict::Approved => Review::Approved,
            Verdict::ChangesRequested => Review::ChangesRequested,
            Verdict::Commented => continue,
        };
        let name = review.note.author.name.as_str();
        if head == pull.head {
            latest.insert(name, (review.verdict, index));
        }
        let said = Some((verdict, name.to_owned()));
        match rounds.iter_mut().find(|round| round.head == head) {
            Some(round) => round.review = said,
            None => rounds.push(Round { head, at: review.note.at, review: said }),
        }
    }
    // The head is the last round, whatever was reviewed after it was pushed.
    match rounds.iter().position(|round| round.head == pull.head) {
        Some(place) => {
            let last = rounds.remove(place);
            rounds.push(last);
        }
        None => rounds.push(Round { head: pull.head.clone(), at, review: None }),
    }
    pull.rounds = rounds;
    let last_of = |verdict: Verdict| {
        let found =
            latest.iter().filter(|(_, (said, _))| *said == verdict).max_by_key(|(_, (_, index))| *index);
        found.map(|(name, _)| (*name).to_owned())
    };
    let (review, by) = match (last_of(Verdict::ChangesRequested), last_of(Verdict::Approved)) {
        (Some(name), _) => (Review::ChangesRequested, Some(name)),
        (None, Some(name)) => (Review::Approved, Some(name)),
        (None, None) => (Review::Pending, None),
    };
    (pull.review, pull.reviewed_by) = (review, by);
}

/// Returns the commit that took a commit's place as the same work.
fn followed(commit: &str, same: &[(String, String)]) -> String {
    let mut at = commit;
    // Each pair leads on at most once, so a circle ends.
    for _ in 0..same.len() {
        match same.iter().rev().find(|(old, _)| old == at) {
            Some((_, new)) => at = new,
            None => break,
        }
    }
    at.to_owned()
}
