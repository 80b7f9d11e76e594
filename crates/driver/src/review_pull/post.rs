//! What a review says on the forge: follow-ups, the comment, then the formal review of the commit.

use forge::{Forge, ForgeError, ItemId, NewItem, Pull, Query, Refusal, Review, Tracker};
use review::{
    History, Judgement, PastReview, Posted, Verdict,
    comment::{failure, issue_body, requested},
    follow_up,
};

use super::{MOST_FAILURES, ReviewEnd, ReviewError, Reviewed, change::Change, requested_by};

/// How many characters of a digest are in a marker.
const DIGEST: usize = 12;

/// A pull request to be said something about, in the reviewer's name.
pub(super) struct Posting<'a> {
    pub(super) forge: &'a dyn Forge,
    pub(super) number: ItemId,
    pub(super) pull: &'a Pull,
    pub(super) history: &'a History,
}

/// What there is to be said.
pub(super) struct Conclusion<'a> {
    pub(super) change: &'a Change,
    pub(super) judged: &'a Judgement,
    pub(super) by: &'a str,
    pub(super) notes: &'a [String],
}

impl Posting<'_> {
    /// Says what a review has come to.
    pub(super) fn post(
        &self,
        tracker: &dyn Tracker,
        (round, most_rounds): (u64, u64),
        conclusion: &Conclusion<'_>,
    ) -> Result<Reviewed, ReviewError> {
        let Conclusion { change, judged, by, notes } = conclusion;
        let filed = self.file(tracker, judged)?;
        let named: Vec<(String, String)> =
            filed.iter().map(|(id, title)| (id.to_string(), title.clone())).collect();
        let is_read = |file: &&String| !change.binary.contains(file) && !change.generated.contains(file);
        let read: Vec<String> = change.files.iter().filter(is_read).cloned().collect();
        let posted = Posted {
            head: &self.pull.head,
            round,
            most_rounds,
            by,
            parts: change.parts.len(),
            read: &read,
            binary: &change.binary,
            generated: &change.generated,
            filed: &named,
            notes,
        };
        let times = self.history.reviews.iter().filter(|past| past.head == self.pull.head).count();
        let again = if times > 0 { format!(":{times}") } else { String::new() };
        let marker = format!("reviewed:{}{again}", self.pull.head);
        self.forge.comment(self.number, &posted.text(judged), Some(&marker))?;
        let requested = match judged.verdict {
            Verdict::Approve => String::new(),
            Verdict::RequestChanges => requested(judged),
        };
        let is_formal = self.review(judged.verdict, &requested)?;
        Ok(Reviewed {
            number: self.number,
            head: self.pull.head.clone(),
            round,
            verdict: judged.verdict,
            reason: judged.reason.clone(),
            findings: judged.findings.clone(),
            follow_ups: filed.into_iter().map(|(id, _)| id).collect(),
            notes: judged.notes.iter().chain(notes.iter()).cloned().collect(),
            requested,
            is_formal,
            is_new: true,
        })
    }

    /// Returns a review that was made before. One that was cut short between its comment and the formal review gets that.
    pub(super) fn settle(&self, past: &PastReview) -> Result<Reviewed, ReviewError> {
        let ledger = past.ledger.as_ref();
        let requested = requested_by(past);
        let is_formal = match ledger {
            Some(ledger) if self.pull.review == Review::Pending => self.review(ledger.verdict, &requested)?,
            Some(_) | None => self.pull.review != Review::Pending,
        };
        Ok(Reviewed {
            number: self.number,
            head: past.head.clone(),
            round: ledger.map_or(1, |ledger| ledger.round),
            // A watermark of which nothing more can be read approves nothing.
            verdict: ledger.map_or(Verdict::RequestChanges, |ledger| ledger.verdict),
            reason: String::new(),
            findings: ledger.map(|ledger| ledger.findings.clone()).unwrap_or_default(),
            follow_ups: Vec::new(),
            notes: Vec::new(),
            requested,
            is_formal,
            is_new: false,
        })
    }

    /// Says that a review has come to nothing.
    pub(super) fn fail(&self, why: String) -> Result<ReviewEnd, ReviewError> {
        let head = &self.pull.head;
        let times = self.history.failures_of(head) + 1;
        let text = failure(head, &why, times, MOST_FAILURES);
        self.forge.comment(self.number, &text, Some(&format!("review-error:{head}:{times}")))?;
        Ok(ReviewEnd::Failed { why, times, most: MOST_FAILURES })
    }

    /// Gives the formal review; tells whether the forge takes one. Nobody reviews what their own account has opened: then
    /// the comment is all there is.
    fn review(&self, verdict: Verdict, requested: &str) -> Result<bool, ReviewError> {
        let (review, text) = match verdict {
            Verdict::Approve => (Review::Approved, None),
            Verdict::RequestChanges => (Review::ChangesRequested, Some(requested)),
        };
        match self.forge.review(self.number, &self.pull.head, review, text) {
            Ok(_) => Ok(true),
            Err(ForgeError::Refused(Refusal::OwnPull { .. })) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Files follow-ups, but for those of which an open issue has the title.
    fn file(&self, tracker: &dyn Tracker, judged: &Judgement) -> Result<Vec<(ItemId, String)>, ReviewError> {
        if judged.follow_ups.is_empty() {
            return Ok(Vec::new());
        }
        let open = tracker.items(Query::Open)?;
        let marker = |title: &str| {
            let mut digest = engine::digest(follow_up::normalised(title));
            digest.truncate(DIGEST);
            format!("follow-up:{}:{digest}", self.number)
        };
        let titles: Vec<String> = open.iter().map(|item| item.title.clone()).collect();
        let mut filed = Vec::new();
        for one in follow_up::to_file(&judged.follow_ups, &titles) {
            let new = NewItem {
                title: one.title.clone(),
                body: issue_body(one, &self.number.to_string(), &self.pull.head),
                labels: [follow_up::LABEL.to_owned()].into(),
                ..NewItem::default()
            };
            filed.push((tracker.file(&new, Some(&marker(&one.title)))?.id, one.title.clone()));
        }
        Ok(filed)
    }
}
