//! Texts about the work, and where they are filed: commit messages, chunk reports, summaries, what was learnt.

use engine::{Held, Objection, Run, one_line};
use forge::{ItemId, NewItem};
use project::{
    Current, counted,
    rails::{self, guard},
    spelled, unfinished_subject,
};
use serde_json::{Map, Value, json};

use crate::{
    Context, JobError,
    advance::{CLEANUP_FAILED, Report},
    issue,
};

/// The longest subject of a commit, in characters.
pub(crate) const LONGEST_SUBJECT: usize = 100;
/// The longest title of a report, in characters.
const LONGEST_TITLE: usize = 150;

/// What an agent may tell beside its work: the field of its answer, the label, and whether it is left to be done.
const NOTES: [(&str, &str, bool); 4] = [
    ("lessons", "lesson", false),
    ("decisions", "decision", false),
    ("deferred_bugs", "bug-deferred", true),
    ("risks", "risk", true),
];

/// Where the work of a run that was stopped is.
struct Saved {
    said: String,
    /// The branch in the person's repository.
    branch: Option<String>,
}

impl Context<'_> {
    /// Files the report of the chunk that was committed, and what the agent told beside it.
    pub(crate) fn report_chunk(&mut self, current: &Current) -> Result<Report, JobError> {
        let run = &current.run;
        let mut told: Vec<Map<String, Value>> = run.facts.chunk.accounts.iter().rev().cloned().collect();
        let summary =
            run.facts.chunk.accounts.last().and_then(|told| told.get("summary")).and_then(Value::as_str);
        let title = issue::title(&*self.tracker(), run)?;
        let name = key(run, &format!("chunk-{}", run.chunk.index));
        let about = run.issue.as_deref().map(|issue| format!(" of #{issue}")).unwrap_or_default();
        let heading = format!(
            "Chunk {}/{}{about}: {}",
            run.chunk.index,
            run.chunk.acs.len(),
            title.or_else(|| run.feature.clone()).unwrap_or_default()
        );
        let size = run.commit_hashes.last().map(|commit| self.size_of(commit)).unwrap_or_default();
        let number = self.file_away(&heading, chunk(run, summary, &size), &["warp-drive"], &name)?;
        let mut report = Report::new("report_filed")
            .with("report", json!(number))
            .say(format!("the chunk report is #{number}"));
        if run.chunk.index <= 1 {
            // What was decided while planning is told with the first chunk.
            told.extend(run.facts.issue.plan.clone());
        }
        for said in self.file_notes(run, &told)?.into_iter().chain(self.file_answers(current)?) {
            report = report.say(said);
        }
        Ok(report)
    }

    /// Files what people have decided about the issue so far, each decision once.
    fn file_answers(&mut self, current: &Current) -> Result<Vec<String>, JobError> {
        let mut said = Vec::new();
        for asked in current.run.facts.questions_about_issue().rev() {
            let Some(option) = asked.option() else { continue };
            let (question, note) = (asked.word("question"), asked.said("note").unwrap_or_default());
            let body = format!("{question}\n\nDecided: {option}\n{note}\n\n{}", origin(&current.run));
            let marker = format!("decision:{}", asked.word("decision"));
            if self.tracker().filed(&marker)?.is_none() {
                let title = format!("{question}: {option}");
                let number = self.file_away(&title, body, &["decision", "warp-drive"], &marker)?;
                said.push(format!("decision #{number}: {option}"));
            }
        }
        Ok(said)
    }

    /// Files lessons, decisions, bugs that were left and risks, each as an issue of its own.
    fn file_notes(&mut self, run: &Run, told: &[Map<String, Value>]) -> Result<Vec<String>, JobError> {
        let mut said = Vec::new();
        for (field, label, stays_open) in NOTES {
            // An attempt whose tests failed has taught something too, so all of them count, the first one first.
            let of = |told: &Map<String, Value>| told.get(field).and_then(Value::as_array).cloned();
            let notes: Vec<Value> = told.iter().rev().filter_map(of).flatten().collect();
            for (index, note) in notes.iter().enumerate() {
                let word = |field: &str| note.get(field).and_then(Value::as_str).unwrap_or_default();
                let marker = key(run, &format!("{label}-{}-{index}", run.chunk.index));
                let body = format!("{}\n\n{}", word("text"), origin(run));
                let labels = [label, "warp-drive"];
                let number = if stays_open {
                    self.file_open(word("title"), body, &labels, &marker)?
                } else {
                    self.file_away(word("title"), body, &labels, &marker)?
                };
                said.push(format!("{label} #{number}: {}", word("title")));
            }
        }
        Ok(said)
    }

    /// Files the summary of the session; one that has found nothing to do has none.
    pub(crate) fn summarise(&mut self, run: &Run) -> Result<Report, JobError> {
        if run.issue.is_none() && run.metrics.commits == 0 {
            return Ok(Report::new("session_ended").say("nothing was done, so there is no summary"));
        }
        let title = format!(
            "Session {}: {}, {}",
            run.id,
            counted(run.metrics.commits, "commit", "commits"),
            counted(run.metrics.chunks_completed, "chunk", "chunks")
        );
        let labels = ["session-summary", "warp-drive"];
        let number = self.file_away(&title, summary(run), &labels, &key(run, "summary"))?;
        Ok(Report::new("session_ended").say(format!("the session's summary is #{number}")))
    }

    /// Keeps what is not committed, and files the abort report. Where the workflow has a word for it, what could not be
    /// kept is told with the rest.
    pub(crate) fn clean_up(&mut self, run: &Run, may_fail: bool) -> Result<Report, JobError> {
        let open_again = self.untick_unfinished(run)?;
        let mut branch = None;
        let (mut said, failure) = match self.commit_unfinished(run) {
            Ok(Some(saved)) => {
                branch = saved.branch;
                (vec![saved.said], None)
            }
            Ok(None) => (vec![self.keep_unfinished(run)?], None),
            Err(JobError::World(why)) if may_fail => {
                let kept = self.keep_unfinished(run).unwrap_or_else(|error| spelled(&error));
                (vec![why.clone(), kept], Some(why))
            }
            Err(error) => return Err(error),
        };
        if !open_again.is_empty() {
            said.push(format!("open again in the issue: {}", open_again.join(", ")));
        }
        let title = format!("Session {} was stopped", run.id);
        let body = format!("{}\n{}\n", summary(run), said.join("\n"));
        let labels = ["session-summary", "warp-drive"];
        let number = self.file_away(&title, body, &labels, &key(run, "abort"))?;
        said.push(format!("the abort report is #{number}"));
        let report = match failure {
            Some(why) => Report::new(CLEANUP_FAILED).with("failure", json!(why)),
            None => Report::new("abort_resolved"),
        };
        let report = match branch {
            // The next run of the issue looks for it there.
            Some(branch) => report.with("branch", json!(branch)),
            None => report,
        };
        Ok(said.into_iter().fold(report, Report::say))
    }

    /// Keeps what is not committed, and says where.
    fn keep_unfinished(&self, run: &Run) -> Result<String, JobError> {
        Ok(match rails::snapshot(&self.place, &self.dirs, run.id.as_str())? {
            Some(kept) => format!("uncommitted work is kept as {kept}, and stays in the tree"),
            None => "there is no uncommitted work that is not kept already".to_owned(),
        })
    }

    /// Commits unfinished work and leaves its branch in the person's repository, where the next run of the issue finds it. The
    /// branch of a pull request stays as its reviewers know it, and so does the branch that the work goes to.
    fn commit_unfinished(&mut self, run: &Run) -> Result<Option<Saved>, JobError> {
        let branch = self.git().branch();
        let is_shared = branch == run.branches.main_branch || branch == run.branches.merge_target;
        if branch.is_empty() || is_shared || run.issue.is_none() {
            return Ok(None);
        }
        let offered = self.offered(run)?;
        let (_, prepared) = self.prepare_commit(run)?;
        if let Some(why) = self.left_out_by_git(&prepared) {
            return Err(JobError::World(why));
        }
        // What the commit guard holds stays out of every branch; the salvage has it.
        let is_held = !self.held(run, &prepared)?.is_empty();
        let kept = if is_held { Some(self.keep_unfinished(run)?) } else { None };
        let has_changes = !is_held && !prepared.is_empty().map_err(JobError::World)?;
        if has_changes {
            let issue = run.issue.as_deref().unwrap_or_default();
            let message = format!("{}\n\nStopped in {}.\n", unfinished_subject(issue), run.phase);
            prepared.commit(&message).map_err(JobError::World)?;
            rails::remember(&self.place)?;
        }
        let head = self.git().head_commit().map_err(JobError::World)?;
        let began = run.chunk.first_base.as_ref() == Some(&head) || run.chunk.first_base.is_none();
        if began && !has_changes {
            let nothing = || "nothing new was done, so there is nothing to keep".to_owned();
            return Ok(Some(Saved { said: kept.unwrap_or_else(nothing), branch: None }));
        }
        self.keep_outside(run, &head)?;
        let again = if self.slot.is_some() { "warp run" } else { "/warp-drive" };
        let again = format!("`{again} {}` continues it", run.issue.as_deref().unwrap_or_default());
        if let Some(pull) = offered {
            let said = format!("what was done for pull request #{} is kept; {again}", pull.id);
            return Ok(Some(Saved { said, branch: None }));
        }
        let branch = match &self.slot {
            Some(slot) => slot.deliver(run.id.as_str(), &head, &branch, &self.sync_journal()?)?,
            None => branch,
        };
        let what = if has_changes { "unfinished work is committed" } else { "what was committed is" };
        let kept = kept.map(|kept| format!("; {kept}")).unwrap_or_default();
        let said = format!("{what} on branch `{branch}`; {again}{kept}");
        Ok(Some(Saved { said, branch: Some(branch) }))
    }

    /// Files something that is only to be read again; it is closed at once, so that it is in nobody's way.
    fn file_away(
        &mut self,
        title: &str,
        body: String,
        labels: &[&str],
        marker: &str,
    ) -> Result<ItemId, JobError> {
        let new = NewItem { is_closed: true, ..titled(title, body, labels) };
        Ok(self.tracker().file(&new, Some(marker))?.id)
    }

    /// Files something that a person has to look at.
    fn file_open(
        &mut self,
        title: &str,
        body: String,
        labels: &[&str],
        marker: &str,
    ) -> Result<ItemId, JobError> {
        Ok(self.tracker().file(&titled(title, body, labels), Some(marker))?.id)
    }
}

fn titled(title: &str, body: String, labels: &[&str]) -> NewItem {
    let title: String = title.trim().chars().take(LONGEST_TITLE).collect();
    let title = if title.is_empty() { "Without a title".to_owned() } else { title };
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    NewItem { title, body, labels, ..NewItem::default() }
}

/// Names a report, so that it is filed once.
fn key(run: &Run, name: &str) -> String {
    format!("{name}:{}:{}", run.id, run.issue.as_deref().unwrap_or_default())
}

fn origin(run: &Run) -> String {
    let issue = run.issue.as_deref().map(|issue| format!(" of #{issue}")).unwrap_or_default();
    format!("From chunk {}{issue}, run {}.\n", run.chunk.index, run.id)
}

/// Makes a commit message: as the agent proposes it if that has the form, else from the issue's title.
pub(crate) fn commit_message(title: Option<&str>, proposed: Option<&Value>, run: &Run) -> String {
    let issue = run.issue.as_deref().unwrap_or_default();
    let criteria = run.current_criteria();
    let subject = proposed.and_then(proposed_subject).unwrap_or_else(|| {
        let what = match title.or(run.feature.as_deref()) {
            Some(title) => one_line(title),
            None => format!("chunk {} of issue {issue}", run.chunk.index),
        };
        let labels = if criteria.is_empty() { String::new() } else { format!(" ({})", criteria.join(", ")) };
        let room = LONGEST_SUBJECT.saturating_sub(6 + labels.chars().count());
        let what: String = what.chars().take(room).collect();
        format!("feat: {}{labels}", what.trim_end())
    });
    let texts =
        criteria.iter().map(|criterion| format!("- {criterion}: {}\n", run.criterion_text(criterion)));
    let body: String = texts.collect();
    let closes = if issue.is_empty() { String::new() } else { format!("\nRefs #{issue}\n") };
    format!("{subject}\n\n{body}{closes}")
}

/// Returns the subject that an agent proposes, if it has the form of one.
pub(crate) fn proposed_subject(commit: &Value) -> Option<String> {
    let word = |field: &str| commit.get(field).and_then(Value::as_str).map(str::trim);
    let scope = word("scope").filter(|scope| !scope.is_empty()).map(|scope| format!("({scope})"));
    let subject = format!("{}{}: {}", word("type")?, scope.unwrap_or_default(), word("subject")?);
    guard::message::problem(&subject).is_none().then_some(subject)
}

/// Describes the chunk that was just committed.
fn chunk(run: &Run, summary: Option<&str>, size: &str) -> String {
    let mut text = String::new();
    if let Some(summary) = summary {
        text.push_str(&format!("{}\n\n", summary.trim()));
    }
    if let Some(commit) = run.commit_hashes.last() {
        text.push_str(&format!("Commit: {commit}{size}\n"));
    }
    text.push_str(&format!("Run: {}\n\n## Criteria\n\n", run.id));
    for criterion in run.current_criteria() {
        text.push_str(&format!("- {criterion}: {}\n", run.criterion_text(criterion)));
    }
    let cycles = run.counter("coding_cycles");
    if cycles > 0 {
        text.push_str(&format!("\nThe tests failed {cycles} times on the way.\n"));
    }
    text.push_str(&checks(run.objections_here()));
    text.push_str(&accepted(run));
    if !run.doom_loop_events.is_empty() {
        text.push_str("\n## Files that were edited again and again\n\n");
        for event in &run.doom_loop_events {
            text.push_str(&format!("- {} ({} times in {})\n", event.file, event.count, event.phase));
        }
    }
    text
}

/// Describes the whole session.
fn summary(run: &Run) -> String {
    let metrics = run.metrics;
    let mut text = format!(
        "Run {} of {}\n\nStarted: {}\nCommits: {}  Chunks: {}  Tests: {}  Reports: {}\n",
        run.id,
        run.workflow,
        run.started_at,
        metrics.commits,
        metrics.chunks_completed,
        metrics.tests_run,
        metrics.reports_filed
    );
    if let Some(issue) = &run.issue {
        text.push_str(&format!("Issue: #{issue}\n"));
    }
    if !run.usage.is_zero() {
        text.push_str(&format!("Used: {}\n", run.usage));
    }
    text.push_str(&chunks(run));
    text
}

/// Describes what a pull request offers.
pub(crate) fn pull(run: &Run) -> String {
    let about = run.issue.as_deref().map(|issue| format!("For #{issue}.\n")).unwrap_or_default();
    let feature = run.feature.as_deref().filter(|feature| feature.trim().chars().count() > LONGEST_TITLE);
    let feature = feature.map(|feature| format!("{}\n", feature.trim())).unwrap_or_default();
    let tests = run.baseline.as_ref().map(|baseline| format!("\nTests before the work: {baseline}.\n"));
    format!("{about}{feature}{}{}{}", chunks(run), phases(run), tests.unwrap_or_default())
}

/// Makes a title of a feature, however much was said about it.
pub(crate) fn title_of(feature: &str) -> String {
    let line = feature.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_TITLE) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

/// Tells what the phases of a loop came to, and which were left by force or empty-handed.
fn phases(run: &Run) -> String {
    let mut text = String::new();
    if !run.checkpoints.is_empty() {
        text.push_str("\n## Phases\n\n");
    }
    for checkpoint in &run.checkpoints {
        let summary = checkpoint.summary.split_whitespace().collect::<Vec<_>>().join(" ");
        text.push_str(&format!("- {}: {summary}\n", checkpoint.phase));
    }
    let forced: Vec<&str> =
        run.receipts.iter().filter(|receipt| receipt.forced).map(|receipt| receipt.phase.as_str()).collect();
    if !forced.is_empty() {
        text.push_str(&format!("\nLeft by force, with nothing shown: {}\n", forced.join(", ")));
    }
    let empty: Vec<&str> = run.shown_nothing().into_iter().map(|phase| phase.as_str()).collect();
    if !empty.is_empty() {
        text.push_str(&format!("\nLeft with nothing shown: {}\n", empty.join(", ")));
    }
    text
}

fn chunks(run: &Run) -> String {
    let mut text = String::new();
    if !run.completed_chunks.is_empty() {
        text.push_str("\n## Chunks\n\n");
    }
    for chunk in &run.completed_chunks {
        let commit = chunk.commit.as_deref().map(|commit| format!(" ({commit})")).unwrap_or_default();
        text.push_str(&format!("- {}{commit}\n", chunk.acs.join(", ")));
    }
    if !run.deferred.is_empty() {
        text.push_str("\n## Put off\n\n");
    }
    for chunk in &run.deferred {
        text.push_str(&format!("- {}: {}\n", chunk.acs.join(", "), chunk.why));
    }
    text.push_str(&checks(run.objections.iter()));
    text.push_str(&accepted(run));
    text
}

/// Names what the commit guard held and a person has accepted: removed and skipped tests first.
fn accepted(run: &Run) -> String {
    let (tests, others): (Vec<&Held>, Vec<&Held>) =
        run.accepted_held.iter().partition(|held| held.kind.is_about_tests());
    let part = |title: &str, held: &[&Held]| {
        let lines: String = held.iter().map(|held| format!("- {held}\n")).collect();
        if lines.is_empty() { lines } else { format!("\n## {title}\n\n{lines}") }
    };
    format!(
        "{}{}",
        part("Removed and skipped tests, accepted by a person", &tests),
        part("Held by the commit guard, accepted by a person", &others)
    )
}

/// Tells what advisory checks said against the work, and who has accepted it.
fn checks<'a>(objections: impl Iterator<Item = &'a Objection>) -> String {
    let said: String = objections.map(|objection| format!("- {objection}\n")).collect();
    if said.is_empty() { said } else { format!("\n## What checks said\n\n{said}") }
}
