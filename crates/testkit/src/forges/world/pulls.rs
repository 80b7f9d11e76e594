//! Pull requests: opened, reviewed, merged or not.

use super::{
    Comment, Event, Happened, Issue, Kind, Merged, Pull, Repo, Review, ReviewComment, Role, Trap, Verdict,
    World, checks::Standing, issues::closes,
};
use crate::forges::{git::Style, hooks::Topic};

/// Why a pull request cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotOpened {
    NoHead,
    NoBase,
    NoCommits,
    Exists(u64),
}

/// Why a pull request is not merged, in the order in which a forge looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotMerged {
    AlreadyMerged,
    Closed,
    Draft,
    /// The one who asked may not write.
    NotAllowed,
    HeadMoved,
    /// The forge has not found out yet.
    Unknown,
    Conflict,
    Behind,
    Approvals(u32),
    ChangesRequested,
    Checks {
        context: String,
        standing: Standing,
    },
}

/// A pull request to be opened.
#[derive(Clone, Debug)]
pub(crate) struct NewPull<'a> {
    pub(crate) title: &'a str,
    pub(crate) body: &'a str,
    /// The branch, possibly after its owner's name.
    pub(crate) head: &'a str,
    pub(crate) base: &'a str,
    pub(crate) is_draft: bool,
}

/// A review to be made.
#[derive(Clone, Debug)]
pub(crate) struct NewReview<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) body: &'a str,
    pub(crate) commit: &'a str,
    /// Places and what is said about them.
    pub(crate) comments: Vec<(String, u64, String)>,
}

/// How somebody wants a pull request to be merged.
#[derive(Clone, Debug)]
pub(crate) struct MergeWish<'a> {
    /// The commit that the pull request's head must be.
    pub(crate) head: Option<&'a str>,
    pub(crate) style: Style,
    pub(crate) title: Option<&'a str>,
    pub(crate) message: Option<&'a str>,
}

impl World {
    pub(crate) fn create_pull(
        &mut self,
        repo: usize,
        author: &str,
        wanted: &NewPull,
    ) -> Result<u64, NotOpened> {
        let repository = &self.repos[repo];
        let head = wanted.head.split_once(':').map_or(wanted.head, |(_, branch)| branch);
        let head_sha = repository.branch(head).ok_or(NotOpened::NoHead)?.to_owned();
        let base_sha = repository.branch(wanted.base).ok_or(NotOpened::NoBase)?.to_owned();
        if self.has(Trap::OnePullPerBranch) {
            let same = |issue: &&Issue| {
                let pull = issue.pull.as_ref();
                issue.is_open && pull.is_some_and(|pull| pull.head == head && pull.base == wanted.base)
            };
            if let Some(other) = repository.issues.iter().find(same) {
                return Err(NotOpened::Exists(other.number));
            }
        }
        if repository.bare.is_ancestor(&head_sha, &base_sha) {
            return Err(NotOpened::NoCommits);
        }
        let commits: Vec<String> =
            repository.bare.log(&base_sha, &head_sha).into_iter().map(|commit| commit.sha).collect();
        let number = self.create_issue(repo, author, wanted.title, wanted.body);
        let id = self.id();
        let pull = Pull {
            id,
            head: head.to_owned(),
            head_sha: head_sha.clone(),
            base: wanted.base.to_owned(),
            base_sha,
            is_draft: wanted.is_draft,
            merged: None,
            reviews: Vec::new(),
            requested: Vec::new(),
            asks_left: self.asks(),
            is_broken: false,
        };
        let repository = &mut self.repos[repo];
        repository.bare.set_ref(&format!("refs/pull/{number}/head"), &head_sha);
        repository.refs = repository.bare.refs();
        if let Some(issue) = repository.issue_mut(number) {
            issue.pull = Some(pull);
        }
        for sha in commits {
            self.record(repo, number, author, Happened::Committed(sha));
        }
        self.start_workflows(repo, "pull_request", head, &head_sha, author);
        self.announce(Topic::Pull, "opened", repo, Some(number), author);
        Ok(number)
    }

    /// Returns how often somebody asks in vain whether a pull request can be merged.
    pub(crate) fn asks(&self) -> u32 {
        if self.has(Trap::LateMergeability) { self.mergeable_after } else { 0 }
    }

    /// Says whether a pull request's branches can be merged; none if the forge does not know yet. Asking makes it find out.
    pub(crate) fn mergeable(&mut self, repo: usize, number: u64) -> Option<bool> {
        let pull = self.repos[repo].pull_mut(number)?;
        if pull.asks_left > 0 {
            pull.asks_left -= 1;
            return None;
        }
        self.known_mergeable(repo, number)
    }

    /// Says the same, as lists do: without asking.
    pub(crate) fn known_mergeable(&self, repo: usize, number: u64) -> Option<bool> {
        let repository = &self.repos[repo];
        let (_, pull) = repository.pull(number)?;
        if pull.asks_left > 0 {
            return None;
        }
        let base = repository.branch(&pull.base)?;
        Some(repository.bare.merges(base, &pull.head_sha))
    }

    /// Says whether a pull request lacks commits of the branch that it is for.
    pub(crate) fn is_behind(&self, repo: usize, number: u64) -> bool {
        let repository = &self.repos[repo];
        let Some((_, pull)) = repository.pull(number) else { return false };
        let base = repository.branch(&pull.base);
        base.is_some_and(|base| !repository.bare.is_ancestor(base, &pull.head_sha))
    }

    /// Returns what forbids a merge by the branch's protection.
    pub(crate) fn blocked(&self, repo: usize, number: u64) -> Option<NotMerged> {
        let repository = &self.repos[repo];
        let (_, pull) = repository.pull(number)?;
        let protection = repository.protection(&pull.base)?;
        let reviews = self.effective_reviews(repository, pull);
        if reviews.iter().any(|review| review.verdict == Verdict::ChangesRequested)
            && protection.approvals > 0
        {
            return Some(NotMerged::ChangesRequested);
        }
        let approvals = reviews.iter().filter(|review| review.verdict == Verdict::Approved).count();
        if approvals < protection.approvals as usize {
            return Some(NotMerged::Approvals(protection.approvals));
        }
        for context in &protection.contexts {
            let standing = repository.standing(&pull.head_sha, context);
            if standing != Standing::Passed {
                return Some(NotMerged::Checks { context: context.clone(), standing });
            }
        }
        (protection.is_strict && self.is_behind(repo, number)).then_some(NotMerged::Behind)
    }

    /// Returns each writer's newest review that decides something.
    pub(crate) fn effective_reviews<'a>(&self, repository: &Repo, pull: &'a Pull) -> Vec<&'a Review> {
        let mut newest: Vec<&Review> = Vec::new();
        for review in &pull.reviews {
            let decides = matches!(review.verdict, Verdict::Approved | Verdict::ChangesRequested);
            if decides && self.role(repository, Some(&review.author)) >= Role::Write {
                newest.retain(|other| other.author != review.author);
                newest.push(review);
            }
        }
        newest.retain(|review| !review.is_dismissed);
        newest
    }

    pub(crate) fn review(
        &mut self,
        repo: usize,
        number: u64,
        author: &str,
        wanted: NewReview,
    ) -> Option<Review> {
        let id = self.id();
        let comments: Vec<(u64, (String, u64, String))> =
            wanted.comments.into_iter().map(|comment| (self.id(), comment)).collect();
        let at = self.stamp();
        let is_official = self.role(&self.repos[repo], Some(author)) >= Role::Write
            && matches!(wanted.verdict, Verdict::Approved | Verdict::ChangesRequested);
        let repository = &mut self.repos[repo];
        let issue = repository.issue_mut(number)?;
        issue.updated = at;
        let pull = issue.pull.as_mut()?;
        let comment = |(id, (path, line, body)): (u64, (String, u64, String))| ReviewComment {
            id,
            path,
            line,
            body,
            author: author.to_owned(),
            commit: wanted.commit.to_owned(),
            hunk: String::new(),
            reply_to: None,
            at,
        };
        let review = Review {
            id,
            author: author.to_owned(),
            verdict: wanted.verdict,
            body: wanted.body.to_owned(),
            commit: wanted.commit.to_owned(),
            at,
            is_dismissed: false,
            is_stale: wanted.commit != pull.head_sha,
            is_official,
            comments: comments.into_iter().map(comment).collect(),
        };
        pull.reviews.push(review.clone());
        if wanted.verdict != Verdict::Pending {
            pull.requested.retain(|login| login != author);
            self.record(repo, number, author, Happened::Reviewed(id));
            self.announce(Topic::Review, "submitted", repo, Some(number), author);
        }
        Some(review)
    }

    /// Publishes a draft review.
    pub(crate) fn submit_review(
        &mut self,
        repo: usize,
        number: u64,
        review: u64,
        verdict: Verdict,
        body: Option<&str>,
    ) -> Option<Review> {
        let at = self.stamp();
        let is_writer = {
            let repository = &self.repos[repo];
            let (_, pull) = repository.pull(number)?;
            let author = pull.reviews.iter().find(|other| other.id == review)?.author.clone();
            self.role(repository, Some(&author)) >= Role::Write
        };
        let pull = self.repos[repo].pull_mut(number)?;
        let found = pull.reviews.iter_mut().find(|other| other.id == review)?;
        (found.verdict, found.at) = (verdict, at);
        found.is_official = is_writer && verdict != Verdict::Commented;
        if let Some(body) = body {
            body.clone_into(&mut found.body);
        }
        let found = found.clone();
        self.record(repo, number, &found.author, Happened::Reviewed(review));
        self.announce(Topic::Review, "submitted", repo, Some(number), &found.author);
        Some(found)
    }

    pub(crate) fn dismiss(&mut self, repo: usize, number: u64, review: u64, actor: &str, message: &str) {
        self.stamp();
        let Some(pull) = self.repos[repo].pull_mut(number) else { return };
        if let Some(found) = pull.reviews.iter_mut().find(|other| other.id == review) {
            found.is_dismissed = true;
        }
        let message = message.to_owned();
        self.record(repo, number, actor, Happened::ReviewDismissed { review, message });
        self.announce(Topic::Review, "dismissed", repo, Some(number), actor);
    }

    /// Merges a pull request, or says why not. `admin` merges past what the branch asks for.
    pub(crate) fn merge(
        &mut self,
        repo: usize,
        number: u64,
        actor: &str,
        wish: &MergeWish,
    ) -> Result<String, NotMerged> {
        let repository = &self.repos[repo];
        let Some((issue, pull)) = repository.pull(number) else { return Err(NotMerged::Closed) };
        if pull.merged.is_some() {
            return Err(NotMerged::AlreadyMerged);
        }
        if !issue.is_open {
            return Err(NotMerged::Closed);
        }
        if self.role(repository, Some(actor)) < Role::Write {
            return Err(NotMerged::NotAllowed);
        }
        if pull.is_draft || (self.kind != Kind::GitHub && is_work_in_progress(&issue.title)) {
            return Err(NotMerged::Draft);
        }
        if wish.head.is_some_and(|head| head != pull.head_sha) {
            return Err(NotMerged::HeadMoved);
        }
        match self.mergeable(repo, number) {
            None => return Err(NotMerged::Unknown),
            Some(false) => return Err(NotMerged::Conflict),
            Some(true) => {}
        }
        if let Some(blocked) = self.blocked(repo, number) {
            return Err(blocked);
        }
        let now = self.stamp();
        let repository = &self.repos[repo];
        let Some((issue, pull)) = repository.pull(number) else { return Err(NotMerged::Closed) };
        let (head, base, author) = (pull.head_sha.clone(), pull.base.clone(), issue.author.clone());
        let usual = match wish.style {
            Style::Squash => format!("{} (#{number})", issue.title),
            Style::Merge | Style::Rebase | Style::FastForward => {
                format!(
                    "Merge pull request #{number} from {}/{}\n\n{}",
                    repository.owner, pull.head, issue.title
                )
            }
        };
        let mut message = wish.title.filter(|title| !title.is_empty()).map_or(usual, str::to_owned);
        if let Some(more) = wish.message.filter(|more| !more.is_empty()) {
            message = format!("{}\n\n{more}", message.trim_end());
        }
        let named = [issue.body.as_str(), &message].map(closes).concat();
        let onto = repository.branch(&base).ok_or(NotMerged::Conflict)?.to_owned();
        let merged = repository.bare.merge(&onto, &head, wish.style, &message, &now.to_string());
        let sha = merged.ok_or(NotMerged::Conflict)?;
        repository.bare.set_ref(&format!("refs/heads/{base}"), &sha);
        self.set_merged(repo, number, actor, &sha, &onto);
        if base == self.repos[repo].default_branch {
            for closed in named {
                self.close_named(repo, closed, actor);
            }
        }
        // What else waits for the branch is looked at again.
        self.refresh(repo, &author);
        Ok(sha)
    }

    pub(crate) fn set_merged(&mut self, repo: usize, number: u64, actor: &str, sha: &str, base_sha: &str) {
        let now = self.now;
        let Some(issue) = self.repos[repo].issue_mut(number) else { return };
        issue.is_open = false;
        issue.updated = now;
        issue.closed = Some((now, actor.to_owned()));
        if let Some(pull) = issue.pull.as_mut() {
            pull.merged = Some(Merged { at: now, by: actor.to_owned(), sha: sha.to_owned() });
            base_sha.clone_into(&mut pull.base_sha);
        }
        self.record(repo, number, actor, Happened::Merged(sha.to_owned()));
        self.record(repo, number, actor, Happened::Closed);
        self.announce(Topic::Pull, "closed", repo, Some(number), actor);
    }

    /// Closes an issue that a merged text has named.
    pub(crate) fn close_named(&mut self, repo: usize, number: u64, actor: &str) {
        let is_open = self.repos[repo].issue(number).is_some_and(|issue| issue.is_open && !issue.is_pull());
        if is_open {
            let edit = super::issues::Edit { open: Some(false), ..Default::default() };
            self.edit_issue(repo, number, actor, edit);
        }
    }

    /// Finds a comment of a review by its id, with the pull request's number and the review's.
    pub(crate) fn review_comment(&self, repo: usize, id: u64) -> Option<(u64, u64, &ReviewComment)> {
        let pulls =
            self.repos[repo].issues.iter().filter_map(|issue| Some((issue.number, issue.pull.as_ref()?)));
        let reviews =
            pulls.flat_map(|(number, pull)| pull.reviews.iter().map(move |review| (number, review)));
        let mut comments = reviews.flat_map(|(number, review)| {
            review.comments.iter().map(move |comment| (number, review.id, comment))
        });
        comments.find(|(_, _, comment)| comment.id == id)
    }
}

impl Pull {
    pub(crate) fn review(&self, id: u64) -> Option<&Review> {
        self.reviews.iter().find(|review| review.id == id)
    }

    /// Returns the reviews that somebody may see: drafts are their authors' alone.
    pub(crate) fn visible_reviews(&self, account: Option<&str>) -> Vec<&Review> {
        let is_visible =
            |review: &&Review| review.verdict != Verdict::Pending || account == Some(review.author.as_str());
        self.reviews.iter().filter(is_visible).collect()
    }
}

/// Says whether a title marks a pull request as unfinished, as Forgejo reads it.
pub(crate) fn is_work_in_progress(title: &str) -> bool {
    let title = title.to_ascii_lowercase();
    ["wip:", "[wip]"].iter().any(|start| title.starts_with(start))
}

/// What stands in a timeline, in order.
pub(crate) enum Entry<'a> {
    Comment(&'a Comment),
    Event(&'a Event),
}

impl Issue {
    pub(crate) fn timeline(&self) -> Vec<Entry<'_>> {
        let comments = self.comments.iter().map(|comment| (comment.id, Entry::Comment(comment)));
        let mut all: Vec<(u64, Entry)> =
            self.events.iter().map(|event| (event.id, Entry::Event(event))).chain(comments).collect();
        all.sort_by_key(|(id, _)| *id);
        all.into_iter().map(|(_, entry)| entry).collect()
    }
}
