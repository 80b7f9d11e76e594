//! The docs after a commit: what can be mended is mended, and drift that matters sends the run back to coding.

use adapters::{git::Prepared, history};
use drift::{Docs, DocsError, Finding, Severity};
use engine::{EventName, Refused, Run, keys, workflow::JobOutcome};
use journal::Durable;
use project::{AskError, counted, rails, spelled};

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError, git_hooks,
    job::{Report, Task},
    words::short,
};

/// How many findings an agent is told of at once.
const FINDINGS_TOLD: usize = 40;

/// The name under which a person accepts drift.
const GATE: &str = "doc_drift_check";
/// How often an agent is told of drift before a person is asked.
const TOLD: u64 = 2;

/// What became of the pages that were mended.
enum Mended {
    Nothing,
    /// In words, which commit they are in.
    Committed(String),
    /// The tests do not pass with them.
    Untested(String),
}

/// What the docs are like after a commit.
#[derive(Clone, Debug)]
pub enum Outcome {
    Clean {
        seen: Seen,
        /// Who has accepted drift that matters, in words.
        accepted: Option<String>,
        findings: Vec<Finding>,
        /// The commit that has what was fixed, in words.
        committed: Option<String>,
    },
    /// The work goes back to the agent, which is told why.
    Drifted {
        failure: String,
        /// Nothing if what was fixed does not pass the tests.
        seen: Option<Seen>,
    },
}

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Pages(usize),
    /// Places that were fixed.
    Fixed(usize),
}

impl Seen {
    fn said(self) -> String {
        match self {
            Self::Pages(count) => {
                format!("the docs were looked at: {}", counted(count as u64, "page", "pages"))
            }
            Self::Fixed(count) => format!("{} in the docs fixed", counted(count as u64, "place", "places")),
        }
    }
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        match self {
            Self::Clean { seen, accepted, findings, committed } => Report::new(JobOutcome::DriftClean)
                .say(seen.said())
                .say_all(accepted)
                .say_all(findings.iter().map(ToString::to_string))
                .say_all(committed),
            Self::Drifted { failure, seen } => Report::new(JobOutcome::DriftBlocked)
                .with("failure", failure.clone())
                .say_all(seen.map(Seen::said))
                .say(failure),
        }
    }
}

/// Fixes mechanical drift and audits the rest.
///
/// What was fixed before a crash lies in the tree, and is committed the next time.
pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let (run, workflow) = (task.run(), &task.current.workflow);
    // Warp drives the run, and its agent was told of drift often enough.
    let has_tried = cx.slot.is_some() && run.facts.chunk.drifts >= TOLD;
    let docs = Docs::new(&cx.place, &cx.shell, run.settings.get(keys::DOCS_PROGRAMS)).map_err(world)?;
    let fixed = docs.sync().map_err(world)?;
    let audit = docs.audit().map_err(world)?;
    let seen = if fixed.is_empty() { Seen::Pages(audit.pages) } else { Seen::Fixed(fixed.len()) };
    let clean = workflow.phase(&run.phase).and_then(|phase| phase.said(JobOutcome::DriftClean)).cloned();
    let clean = clean.unwrap_or_else(|| EventName::new(JobOutcome::DriftClean.as_str()));
    let accepted = run.accepted(GATE, &clean).map(ToString::to_string);
    if audit.has_high() && accepted.is_none() {
        let failure = failure(&audit.findings);
        if has_tried {
            let (phase, gate) = (run.phase.clone(), GATE.to_owned());
            let refused = Refused::Advisory { phase, event: clean, gate, reason: failure };
            return Err(AskError::Refused(refused).into());
        }
        return Ok(Outcome::Drifted { failure, seen: Some(seen) });
    }
    let committed = match cx.commit_docs(run, &docs)? {
        Mended::Nothing => None,
        Mended::Committed(said) => Some(said),
        // The fixed docs stay in the tree, where the coder finds them.
        Mended::Untested(failure) => return Ok(Outcome::Drifted { failure, seen: None }),
    };
    Ok(Outcome::Clean { seen, accepted, findings: audit.findings, committed })
}

impl Context<'_> {
    /// Commits the pages that were changed since the chunk's commit, or puts them into it.
    fn commit_docs(&self, run: &Run, docs: &Docs<'_>) -> Result<Mended, JobError> {
        let prepared = self.prepare_docs(run, docs).map_err(JobError::World)?;
        let mended = if prepared.is_empty().map_err(JobError::World)? {
            // A crash after the pages were put into the chunk's commit has left the index as it was before.
            prepared.put_index().map_err(JobError::World)?;
            Mended::Nothing
        } else {
            if let Some(why) = self.fails_with(run, &docs_tree(&prepared)?, docs)? {
                return Ok(Mended::Untested(why));
            }
            Mended::Committed(self.put_into_history(run, prepared)?)
        };
        // Also after a crash between a commit and this.
        rails::remember(&self.place)?;
        let head = self.git().head_commit().map_err(JobError::World)?;
        self.keep_outside(run, &head)?;
        Ok(mended)
    }

    /// Prepares a commit of the pages alone, without those that were there before the run and have not changed since.
    fn prepare_docs(&self, run: &Run, docs: &Docs<'_>) -> Result<Prepared<'_>, String> {
        let changed = self.git().not_committed()?;
        let mut left_out = self.git().unchanged(&run.dirty)?;
        left_out.extend(changed.into_keys().filter(|file| !docs.is_page(file)));
        left_out.sort();
        left_out.dedup();
        self.git().prepare(left_out)
    }

    /// Tests the mended pages, if commits are tested; says what is wrong if the tests do not pass.
    fn fails_with(&self, run: &Run, tree: &str, docs: &Docs<'_>) -> Result<Option<String>, JobError> {
        if !run.settings.get(keys::TEST_BEFORE_COMMIT) {
            return Ok(None);
        }
        let outcome = suite::run(&self.shell, &self.place, run)?;
        if !outcome.passed {
            let output = outcome.output;
            return Ok(Some(format!("with the docs fixed the tests fail: {}\n{output}", outcome.said)));
        }
        if docs_tree(&self.prepare_docs(run, docs).map_err(JobError::World)?)? == tree {
            return Ok(None);
        }
        Err(JobError::World(
            "the docs have changed while the tests ran; let nothing else write here".to_owned(),
        ))
    }

    fn put_into_history(&self, run: &Run, mut prepared: Prepared<'_>) -> Result<String, JobError> {
        let head = self.git().head_commit().map_err(JobError::World)?;
        let is_chunks = run.commit_hashes.last() == Some(&head);
        if run.settings.get(keys::DOC_DRIFT_FIX) == "amend" && is_chunks {
            let location = self.place.location().ok_or_else(|| world(DocsError::NoRepository))?;
            let amended = history::amend(&self.place.root, &location, &head, &docs_tree(&prepared)?);
            let new = amended.map_err(|error| world(error.into()))?;
            prepared.put_index().map_err(JobError::World)?;
            return Ok(format!("{} takes the place of {}, with the docs fixed", short(&new), short(&head)));
        }
        let issue = run.issue.as_deref().map(|issue| format!("\n\nRefs #{issue}")).unwrap_or_default();
        let message = format!("docs: fix what has drifted{issue}\n");
        let message = git_hooks::commit_msg(&self.shell, &self.place, &mut prepared, &message)?;
        let hash = prepared.commit(&message).map_err(JobError::World)?;
        Ok(format!("{} {}", short(&hash), message.lines().next().unwrap_or_default()))
    }
}

fn docs_tree(prepared: &Prepared<'_>) -> Result<String, JobError> {
    prepared.tree().map_err(JobError::World)
}

fn world(error: DocsError) -> JobError {
    JobError::World(spelled(&error))
}

/// Tells a coder what has to be mended, the worst first.
fn failure(findings: &[Finding]) -> String {
    let (high, rest): (Vec<&Finding>, _) =
        findings.iter().partition(|finding| finding.severity == Severity::High);
    let mut lines = vec!["The docs say what is no longer so:".to_owned()];
    lines.extend(high.iter().chain(&rest).take(FINDINGS_TOLD).map(|finding| format!("- {finding}")));
    if let Some(more) = findings.len().checked_sub(FINDINGS_TOLD).filter(|more| *more > 0) {
        lines.push(format!("- and {more} more: `warp docs audit` lists them all"));
    }
    lines.join("\n")
}
