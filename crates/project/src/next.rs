//! `warp next`: does what a program does better than a model, and says what comes then.
//!
//! One call does the work of one mechanical phase: it looks, acts, and reports the event as the engine's own. A phase
//! that is an agent's or a person's is described instead. Until there is a forge, an issue is a file,
//! `.warp/issues/N.md`, and reports are kept in the workspace's own directory.

mod issue;
mod report;
mod suite;

use std::time::Duration;

use adapters::{forge, git::Git, machine};
use engine::{
    Actor, Event, EventName, Run, Seen, Standing,
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
        if is_open && current.run.phase == "ship" && current.run.artifacts.pr_url.is_none() {
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
        self.git().push(&branch).map_err(|problem| {
            NextError::World(format!(
                "{problem}; a person pushes `{branch}` and opens the pull request: {told}"
            ))
        })?;
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
                "{} files are not committed; they will be part of the first chunk's commit",
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
        let tree = self.tree()?;
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

    /// Commits everything, if it is what was tested.
    fn commit(&mut self, run: &Run, wanted: &Wanted) -> Result<Report, NextError> {
        let message = match &wanted.message {
            Some(message) => message.clone(),
            None => report::commit_message(&self.place.root, run),
        };
        if let Some(problem) = guard::message::problem(message.lines().next().unwrap_or_default()) {
            return Err(NextError::World(format!(
                "{problem}: `warp next -m 'feat(scope): text'` gives another"
            )));
        }
        if run.settings.is_on("test_before_commit") {
            self.check_tested(run)?;
        }
        let hash = self.git().commit_all(&message).map_err(NextError::World)?;
        rails::remember(&self.place)?;
        let event = if run.settings.is_on("doc_drift_gate") { "commit_with_doc_gate" } else { "committed" };
        let subject = message.lines().next().unwrap_or_default();
        Ok(Report::new(event).say(format!("{} {subject}", hash.get(..10).unwrap_or(&hash))))
    }

    /// Returns what a commit of everything would hold.
    fn tree(&self) -> Result<String, NextError> {
        match self.git().tree() {
            Seen::Value(tree) => Ok(tree),
            Seen::Absent(why) | Seen::Failed(why) => Err(NextError::World(why)),
        }
    }

    /// Only the tree that passed its tests is committed; another one is tested first.
    fn check_tested(&self, run: &Run) -> Result<(), NextError> {
        if run.tested_tree == Some(self.tree()?) {
            return Ok(());
        }
        let outcome = suite::run(&self.place.root, run)?;
        if outcome.passed {
            return Ok(());
        }
        Err(NextError::World(format!(
            "the files have changed since the tests passed, and the tests fail now; mend that first\n{}",
            outcome.output
        )))
    }

    fn report_chunk(&self, run: &Run) -> Result<Report, NextError> {
        let file =
            report::file(&self.place.own, run, &format!("chunk-{}", run.chunk.index), &report::chunk(run))?;
        Ok(Report::new("report_filed").with("report", json!(file)).say(format!("the chunk report is {file}")))
    }

    fn test_finally(&self, run: &Run) -> Result<Report, NextError> {
        let outcome = suite::run(&self.place.root, run)?;
        if outcome.passed {
            return Ok(Report::new("merge_ready").say(outcome.said));
        }
        Err(NextError::World(format!("{}; a person has to look at it\n{}", outcome.said, outcome.output)))
    }

    /// Brings the work to the merge target where that is a matter of this repository alone.
    fn merge(&mut self, run: &Run) -> Result<Report, NextError> {
        let (branch, target) = (self.git().branches().branch, run.branches.merge_target.clone());
        if run.level < 3 || !run.settings.is_on("auto_merge") {
            return Ok(Report::new("merged")
                .with("handed_over", json!(branch))
                .say(format!("`{branch}` is handed over: a person merges it into `{target}`")));
        }
        match self.git().fast_forward(&target, &branch) {
            Ok(hash) => {
                rails::remember(&self.place)?;
                let short = hash.get(..10).unwrap_or(&hash).to_owned();
                Ok(Report::new("merged").say(format!("`{target}` is at {short} now")))
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
