//! `warp next`: does what a program does better than a model, and says what comes then.
//!
//! One call does the work of one mechanical phase: it looks, acts, and reports the event as the engine's own. A phase
//! that is an agent's or a person's is described instead. Until there is a forge, an issue is a file,
//! `.warp/issues/N.md`, and reports are kept in the workspace's own directory.

mod hooks;
mod issue;
mod report;
mod suite;

use std::time::Duration;

use adapters::{
    forge,
    git::{Git, Prepared},
    machine,
};
use engine::{
    Actor, Event, EventName, Run, Seen, Standing, Workflow,
    view::{self, Owned},
    workflow::Activity,
};
use serde_json::{Map, Value, json};

use crate::{
    Answer, AskError, Current, Error, Workspace, prompts,
    rails::{self, guard},
};

/// The most that is said of why a project's own text cannot be used, in characters.
const LONGEST_WHY: usize = 200;

/// How many names of files are said.
const FILES_SHOWN: usize = 8;

/// What a person or an agent may add.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The commit's message, in the phase that commits.
    pub message: Option<String>,
}

/// What was done.
#[derive(Debug)]
pub struct Done {
    /// What happened, a line each.
    pub said: Vec<String>,
    /// The event that was reported, if the phase was mechanical.
    pub taken: Option<Answer>,
    /// What comes next: facts for whoever works on the phase that the run is in now.
    pub next: String,
}

/// Why nothing was done.
#[derive(Debug, thiserror::Error)]
pub enum NextError {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Failed(#[from] Error),
    #[error(transparent)]
    Known(#[from] rails::KnownError),
    #[error(transparent)]
    Snapshot(#[from] rails::SnapshotError),
    #[error("{0}")]
    World(String),
}

/// What a phase's work came to: the event to report, and what comes with it.
struct Report {
    event: &'static str,
    data: Map<String, Value>,
    said: Vec<String>,
}

impl Report {
    fn new(event: &'static str) -> Self {
        Self { event, data: Map::new(), said: Vec::new() }
    }

    fn with(mut self, field: &str, value: Value) -> Self {
        self.data.insert(field.to_owned(), value);
        self
    }

    fn say(mut self, text: impl Into<String>) -> Self {
        self.said.push(text.into());
        self
    }
}

impl Workspace {
    /// Does the work of the current phase if a program can do it, and says what comes next.
    pub fn next(&mut self, wanted: &Wanted) -> Result<Done, NextError> {
        let current = self.current()?.ok_or(AskError::NoRun)?;
        let is_open = current.run.standing == Standing::Active;
        if is_open && is_shipping(&current) && !current.run.has_proved_pr() {
            return self.open_pull_request(&current);
        }
        let is_mechanical = is_open
            && current
                .workflow
                .phase(&current.run.phase)
                .is_some_and(|phase| phase.activity == Activity::Engine);
        let report = if is_mechanical { self.work(&current, wanted)? } else { None };
        let Some(report) = report else {
            return Ok(Done { said: Vec::new(), taken: None, next: self.described(&current) });
        };
        let event = Event::Named(EventName::new(report.event));
        let answer = self.ask_as(Actor::Engine, event, report.data)?;
        let next = self.described(&answer.current);
        Ok(Done { said: report.said, taken: Some(answer), next })
    }

    /// Pushes the branch and opens a pull request, which the run then knows.
    fn open_pull_request(&mut self, current: &Current) -> Result<Done, NextError> {
        let run = &current.run;
        let branch = self.git().branches().branch;
        let told = "warp state transition . noted --data '{\"pr_url\":\"URL\"}'";
        let by_person = |problem: String| {
            NextError::World(format!(
                "{problem}; a person pushes `{branch}`, opens the pull request and says so: {told}"
            ))
        };
        let branches = &run.branches;
        if branch.is_empty() {
            return Err(NextError::World(
                "HEAD is on no branch: `git switch -c feature/NAME` makes one to push".to_owned(),
            ));
        }
        let is_shared = [branches.merge_target.as_str(), branches.main_branch.as_str(), "main", "master"]
            .contains(&branch.as_str());
        if is_shared {
            return Err(NextError::World(format!(
                "`{branch}` is where the work goes in the end, and is not pushed: `git switch -c feature/NAME` makes a \
                 branch for it"
            )));
        }
        if !(2..=3).contains(&run.level) {
            return Err(by_person(format!("at level {} warp does not push", run.level)));
        }
        let (remote, address) = self.git().remote().map_err(by_person)?;
        let line = self.git().push_line(&remote, &branch).map_err(by_person)?;
        hooks::pre_push(&self.place, (&remote, &address), &line)?;
        self.git().push(&remote, &branch).map_err(by_person)?;
        let title = run.feature.as_deref().unwrap_or(&branch);
        let url = forge::pull_request(&self.place.root, &run.branches.merge_target, &branch, title).map_err(
            |problem| {
                NextError::World(format!(
                    "`{branch}` is pushed, but {problem}; a person opens the pull request: {told}"
                ))
            },
        )?;
        let said = vec![format!("`{branch}` is pushed; the pull request is {url}")];
        let data = Map::from_iter([("pr_url".to_owned(), json!(url))]);
        let answer = self.ask_as(Actor::Engine, Event::Named(EventName::new(Event::NOTED)), data)?;
        let next = self.described(&answer.current);
        Ok(Done { said, taken: Some(answer), next })
    }

    /// Does a phase's work; nothing if it is not known how.
    fn work(&mut self, current: &Current, wanted: &Wanted) -> Result<Option<Report>, NextError> {
        let run = &current.run;
        if current.workflow.name != "warp-drive" {
            return Ok(None);
        }
        Ok(Some(match run.phase.as_str() {
            "prerequisites" => self.prerequisites(run)?,
            "discovering" => self.discover(run)?,
            "chunking" => self.chunk(run)?,
            "updating_docs" => self.tick(run)?,
            "testing" => self.test(run)?,
            "committing" => self.commit(run, wanted)?,
            "doc_drift_check" => Report::new("drift_clean").say(
                "no documentation check is configured; `verification_gates` can hold one for `drift_clean`",
            ),
            "reporting" => self.report_chunk(run)?,
            "chunk_complete" => take_chunk(run),
            "requirement_complete" => self.test_finally(run)?,
            "merging" => self.merge(run)?,
            "session_ending" => self.summarise(run)?,
            "aborted" => self.clean_up(run)?,
            _ => return Ok(None),
        }))
    }

    /// Returns what whoever works on a run has to know: where it stands, and the text for its phase.
    pub fn described(&self, current: &Current) -> String {
        let run = &current.run;
        let live = if machine::is_live(&run.owner) { Owned::Live } else { Owned::Stale };
        let mut text = view::inject(&current.workflow, run, live, machine::now());
        if !run.is_open() {
            return text;
        }
        let (workflow, phase) = (run.workflow.as_str(), run.phase.as_str());
        let prompt = prompts::prompt(&self.place.root, workflow, phase).unwrap_or_else(|error| {
            let built_in = prompts::built_in(workflow, phase);
            let instead = if built_in.is_some() { "the built-in text follows" } else { "there is no other" };
            let why: String = error.source.to_string().chars().take(LONGEST_WHY).collect();
            text.push_str(&format!("\n{error}: {why}; {instead}.\n"));
            built_in.map(str::to_owned)
        });
        if let Some(prompt) = prompt {
            text.push_str(&format!("\n{prompt}"));
        }
        text
    }

    fn git(&self) -> Git<'_> {
        Git::new(&self.place.root)
    }

    fn prerequisites(&self, run: &Run) -> Result<Report, NextError> {
        let mut report = Report::new("prerequisites_ok");
        match self.git().head() {
            Seen::Value(_) => {}
            Seen::Absent(why) | Seen::Failed(why) => {
                return Err(NextError::World(format!("{why}: make a first commit")));
            }
        }
        let branch = self.git().branches().branch;
        if branch.is_empty() {
            return Err(NextError::World(
                "HEAD is on no branch: `git switch -c feature/NAME` makes one".to_owned(),
            ));
        }
        if branch == run.branches.main_branch {
            return Err(NextError::World(format!(
                "Must not be on main/master: `git switch -c feature/NAME` leaves `{branch}`"
            )));
        }
        let command = suite::command(&self.place.root, &run.settings)?;
        report = report.say(format!("level {}, branch {branch}, tests by `{command}`", run.level));
        if let Seen::Value(diff) = self.git().diff(None, &[])
            && diff.count > 0
        {
            report = report.say(format!(
                "{} files are not committed; those that stay as they were when the run began are left out of its commits",
                diff.count
            ));
        }
        Ok(report)
    }

    fn discover(&self, run: &Run) -> Result<Report, NextError> {
        let branch = self.git().branches().branch;
        Ok(match &run.issue {
            Some(issue) => Report::new("work_selected")
                .with("requirement", json!(issue))
                .with("branch", json!(branch))
                .say(format!("issue {issue} was asked for")),
            None => Report::new("no_work").say("no issue was named, and there is no forge to look for one"),
        })
    }

    fn chunk(&self, run: &Run) -> Result<Report, NextError> {
        let most = usize::try_from(run.settings.count("max_acs_per_commit")).unwrap_or(usize::MAX).max(1);
        let open = match &run.issue {
            Some(issue) => issue::open_criteria(&self.place.root, issue)?,
            None => Vec::new(),
        };
        let report = Report::new("chunks_defined");
        if open.is_empty() {
            return Ok(report.say("the issue has no open criteria, so it is one chunk"));
        }
        let chunks: Vec<&[String]> = open.chunks(most).collect();
        let said = format!("{} criteria in {} chunks of at most {most}", open.len(), chunks.len());
        Ok(report.with("acs", json!(chunks)).say(said))
    }

    /// Ticks the criteria of the chunk in the issue.
    fn tick(&self, run: &Run) -> Result<Report, NextError> {
        let report = Report::new("docs_updated");
        let Some(issue) = &run.issue else {
            return Ok(report.say("the run has no issue to tick criteria in"));
        };
        Ok(match issue::tick(&self.place.root, issue, run.current_criteria())? {
            Some(ticked) => report.say(format!("{ticked} criteria are ticked in .warp/issues/{issue}.md")),
            None => report.say(format!("there is no .warp/issues/{issue}.md to tick criteria in")),
        })
    }

    fn test(&self, run: &Run) -> Result<Report, NextError> {
        if !run.settings.is_on("test_before_commit") {
            return Ok(Report::new("tests_passed").say("tests are switched off (test_before_commit)"));
        }
        let tree = self.prepare_commit(run)?.1.tree().map_err(NextError::World)?;
        let outcome = suite::run(&self.place.root, run)?;
        Ok(if outcome.passed {
            Report::new("tests_passed")
                .with("tests", json!(outcome.names))
                .with("tree", json!(tree))
                .say(outcome.said)
        } else {
            Report::new("tests_failed")
                .with("failure", json!(outcome.output))
                .say(outcome.said)
                .say(outcome.output)
        })
    }

    /// Commits everything that is the run's, if it is what was tested.
    fn commit(&mut self, run: &Run, wanted: &Wanted) -> Result<Report, NextError> {
        let event = if run.settings.is_on("doc_drift_gate") { "commit_with_doc_gate" } else { "committed" };
        let (left_out, prepared) = self.prepare_commit(run)?;
        if let Some(hash) = self.made_already(run, &prepared)? {
            rails::remember(&self.place)?;
            return Ok(
                Report::new(event).say(format!("{} was made before, and is recorded now", short(&hash)))
            );
        }
        let message = match &wanted.message {
            Some(message) => message.clone(),
            None => report::commit_message(&self.place.root, run),
        };
        if prepared.is_empty().map_err(NextError::World)? {
            return Err(NextError::World(format!("there is nothing to commit{}", and_left_out(&left_out))));
        }
        if hooks::pre_commit(&self.place, &prepared)? {
            // It may have changed files, as those do that format.
            prepared.take_in().map_err(NextError::World)?;
        }
        let message = hooks::commit_msg(&self.place, &prepared, &message)?;
        if let Some(problem) = guard::message::problem(message.lines().next().unwrap_or_default()) {
            return Err(NextError::World(format!(
                "{problem}: `warp next -m 'feat(scope): text'` gives another"
            )));
        }
        self.check_tested(run, &prepared)?;
        let hash = prepared.commit(&message).map_err(NextError::World)?;
        rails::remember(&self.place)?;
        let subject = message.lines().next().unwrap_or_default();
        let report = Report::new(event).say(format!("{} {subject}", short(&hash)));
        Ok(if left_out.is_empty() {
            report
        } else {
            report.say(format!("committed{}", and_left_out(&left_out)))
        })
    }

    /// Prepares a commit of all but what was there when the run began and has not changed since.
    fn prepare_commit(&self, run: &Run) -> Result<(Vec<String>, Prepared<'_>), NextError> {
        let look = || -> Result<(Vec<String>, Prepared<'_>), String> {
            let left_out = self.git().unchanged(&run.dirty)?;
            let prepared = self.git().prepare(left_out.clone())?;
            Ok((left_out, prepared))
        };
        look().map_err(NextError::World)
    }

    /// Returns the chunk's commit, if it was made and a crash kept it from being recorded.
    fn made_already(&self, run: &Run, prepared: &Prepared<'_>) -> Result<Option<String>, NextError> {
        let Some(base) = &run.chunk.base else { return Ok(None) };
        let look = || -> Result<Option<String>, String> {
            let (head, tree) = self.git().head_and_tree()?;
            let is_known = head == *base || run.commit_hashes.contains(&head);
            if is_known || prepared.tree()? != tree || !self.git().follows(base)? {
                return Ok(None);
            }
            Ok(Some(head))
        };
        let made = look().map_err(NextError::World)?;
        if made.is_some() {
            self.check_tested(run, prepared)?;
        }
        Ok(made)
    }

    /// Only the tree that passed its tests is committed; another one is tested first.
    fn check_tested(&self, run: &Run, prepared: &Prepared<'_>) -> Result<(), NextError> {
        if !run.settings.is_on("test_before_commit") {
            return Ok(());
        }
        let tree = prepared.tree().map_err(NextError::World)?;
        if run.tested_tree.as_ref() == Some(&tree) {
            return Ok(());
        }
        let outcome = suite::run(&self.place.root, run)?;
        if !outcome.passed {
            return Err(NextError::World(format!(
                "the files have changed since the tests passed, and the tests fail now; mend that first\n{}",
                outcome.output
            )));
        }
        if self.prepare_commit(run)?.1.tree().map_err(NextError::World)? == tree {
            return Ok(());
        }
        Err(NextError::World(
            "the files have changed while the tests ran; let nothing else write here, then `warp next`"
                .to_owned(),
        ))
    }

    fn report_chunk(&self, run: &Run) -> Result<Report, NextError> {
        let file =
            report::file(&self.place.own, run, &format!("chunk-{}", run.chunk.index), &report::chunk(run))?;
        Ok(Report::new("report_filed").with("report", json!(file)).say(format!("the chunk report is {file}")))
    }

    /// Tests what is committed: nothing else may lie in the tree, but for what was there when the run began.
    fn test_finally(&self, run: &Run) -> Result<Report, NextError> {
        let look = || -> Result<(Vec<String>, String), NextError> {
            let (left_out, prepared) = self.prepare_commit(run)?;
            let (head, tree) = self.git().head_and_tree().map_err(NextError::World)?;
            if prepared.tree().map_err(NextError::World)? == tree {
                return Ok((left_out, head));
            }
            let files = self.git().not_committed().map_err(NextError::World)?;
            let files: Vec<String> = files.into_keys().filter(|file| !left_out.contains(file)).collect();
            Err(NextError::World(format!(
                "what is merged is what is committed, and {} not: a person commits or removes them, then `warp next`",
                are(&files)
            )))
        };
        let (left_out, head) = look()?;
        let outcome = suite::run(&self.place.root, run)?;
        if !outcome.passed {
            return Err(NextError::World(format!(
                "{}; a person has to look at it\n{}",
                outcome.said, outcome.output
            )));
        }
        if self.git().head_and_tree().map_err(NextError::World)?.0 != head {
            return Err(NextError::World(
                "HEAD has moved while the tests ran; `warp next` tests again".to_owned(),
            ));
        }
        let report = Report::new("merge_ready").with("commit", json!(head)).say(format!(
            "{}: {}",
            short(&head),
            outcome.said
        ));
        Ok(if left_out.is_empty() {
            report
        } else {
            report.say(format!("{} not committed, and lay there during the test", are(&left_out)))
        })
    }

    /// Brings what was tested to the merge target where that is a matter of this repository alone.
    fn merge(&mut self, run: &Run) -> Result<Report, NextError> {
        let (branch, target) = (self.git().branches().branch, run.branches.merge_target.clone());
        if run.level < 3 || !run.settings.is_on("auto_merge") {
            return Ok(Report::new("merged")
                .with("handed_over", json!(branch))
                .say(format!("`{branch}` is handed over: a person merges it into `{target}`")));
        }
        let Some(commit) = &run.tested_commit else {
            return Err(NextError::World(format!(
                "it is not known which commit passed the final test: a person merges `{branch}` into `{target}`"
            )));
        };
        match self.git().fast_forward(&target, &branch, commit) {
            Ok(()) => {
                rails::remember(&self.place)?;
                Ok(Report::new("merged")
                    .say(format!("`{target}` is at {} now, which was tested", short(commit))))
            }
            Err(why) => Ok(Report::new("merge_failed").with("failure", json!(why)).say(why)),
        }
    }

    fn summarise(&self, run: &Run) -> Result<Report, NextError> {
        let file = report::file(&self.place.own, run, "summary", &report::summary(run))?;
        Ok(Report::new("session_ended").say(format!("the summary is {file}")))
    }

    /// Keeps what is not committed, and files the abort report.
    fn clean_up(&mut self, run: &Run) -> Result<Report, NextError> {
        let kept = rails::snapshot(&self.place, run.id.as_str())?;
        let mut text = report::summary(run);
        let said = match &kept {
            Some(kept) => format!("uncommitted work is kept as {kept}, and stays in the tree"),
            None => "there is no uncommitted work".to_owned(),
        };
        text.push_str(&format!("\n{said}\n"));
        let file = report::file(&self.place.own, run, "abort", &text)?;
        Ok(Report::new("abort_resolved").say(said).say(format!("the abort report is {file}")))
    }
}

/// Tells whether a run is in the phase of the built-in loop in which warp pushes.
fn is_shipping(current: &Current) -> bool {
    let run = &current.run;
    run.phase == "ship"
        && Workflow::built_in("autonomous-loop").is_some_and(|loops| loops.digest == run.workflow_digest)
}

fn short(hash: &str) -> &str {
    hash.get(..10).unwrap_or(hash)
}

/// Says which files are left out of a commit.
fn and_left_out(files: &[String]) -> String {
    if files.is_empty() {
        String::new()
    } else {
        format!(", without what was there before the run: {}", list(files))
    }
}

fn are(files: &[String]) -> String {
    format!("{} {}", list(files), if files.len() == 1 { "is" } else { "are" })
}

fn list(files: &[String]) -> String {
    let shown = files.iter().take(FILES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(FILES_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn take_chunk(run: &Run) -> Report {
    if run.chunk.index < run.chunk.acs.len() as u64 {
        Report::new("next_chunk").say(format!("chunk {} of {}", run.chunk.index + 1, run.chunk.acs.len()))
    } else {
        Report::new("requirement_done").say("every chunk is done")
    }
}

/// How long the project's tests may take: as long as the phase, and at least a minute.
fn patience(run: &Run) -> Duration {
    Duration::from_secs(60 * run.settings.count("max_phase_minutes").max(1))
}
