//! The jobs by name, each in a file of its own: what carries it out, and what tells that it is done already.

use engine::{
    Event, EventName, Run,
    workflow::{Job, JobOutcome},
};
use journal::Durable;
use project::Current;
use serde_json::{Map, Value};

use crate::{
    Context, JobError, await_checks, await_dependencies, await_review, check_docs, check_prerequisites,
    claim, clean_up, commit, commit_and_merge, define_chunks, file_report, merge, open_pull_request,
    run_final_tests, run_tests, select_work, summarise, take_chunk, tick_criteria,
};

/// The effect of a run that a program carries out.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) current: &'a Current,
    /// The commit's message, if somebody has given one.
    pub(crate) message: Option<&'a str>,
}

impl<'a> Task<'a> {
    pub(crate) fn run(&self) -> &'a Run {
        &self.current.run
    }
}

/// An outcome, as data of an event, and in words for people.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) says: Says,
    pub(crate) data: Map<String, Value>,
    pub(crate) said: Vec<String>,
}

/// What is recorded of an outcome.
#[derive(Debug)]
pub(crate) enum Says {
    /// The workflow's word for it.
    Outcome(JobOutcome),
    /// An event of the engine's own: the run stays where it is, and knows more.
    Own(Event),
}

impl Report {
    pub(crate) fn new(outcome: JobOutcome) -> Self {
        Self { says: Says::Outcome(outcome), data: Map::new(), said: Vec::new() }
    }

    pub(crate) fn own(event: Event) -> Self {
        Self { says: Says::Own(event), data: Map::new(), said: Vec::new() }
    }

    pub(crate) fn noted() -> Self {
        Self::own(Event::Named(EventName::new(Event::NOTED)))
    }

    pub(crate) fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.data.insert(field.to_owned(), value.into());
        self
    }

    pub(crate) fn say(mut self, text: impl Into<String>) -> Self {
        self.said.push(text.into());
        self
    }

    pub(crate) fn say_all(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.said.extend(lines);
        self
    }
}

macro_rules! jobs {
    ($($job:ident: $module:ident),* $(,)?) => {
        /// What a job came to.
        #[derive(Clone, Debug)]
        pub enum Outcome {
            $($job($module::Outcome)),*
        }

        impl Outcome {
            pub(crate) fn report(self) -> Report {
                match self {
                    $(Self::$job(outcome) => outcome.report()),*
                }
            }
        }

        /// Does a job. What led to it is on disk.
        pub(crate) fn carry_out(
            cx: &mut Context<'_>,
            job: Job,
            task: Task<'_>,
            durable: &Durable,
        ) -> Result<Outcome, JobError> {
            match job {
                $(Job::$job => $module::carry_out(cx, task, durable).map(Outcome::$job)),*
            }
        }

        /// Looks whether an earlier attempt has done a job to its end, and returns what it came to. Only what a killed attempt
        /// may have left behind is put in order.
        pub(crate) fn settle(
            cx: &mut Context<'_>,
            job: Job,
            task: Task<'_>,
        ) -> Result<Option<Outcome>, JobError> {
            Ok(match job {
                $(Job::$job => $module::settle(cx, task)?.map(Outcome::$job)),*
            })
        }
    };
}

jobs! {
    CheckPrerequisites: check_prerequisites,
    SelectWork: select_work,
    DefineChunks: define_chunks,
    TickCriteria: tick_criteria,
    RunTests: run_tests,
    Commit: commit,
    CheckDocs: check_docs,
    FileReport: file_report,
    TakeChunk: take_chunk,
    RunFinalTests: run_final_tests,
    OpenPullRequest: open_pull_request,
    Merge: merge,
    CommitAndMerge: commit_and_merge,
    Summarise: summarise,
    CleanUp: clean_up,
    Claim: claim,
    AwaitDependencies: await_dependencies,
    AwaitChecks: await_checks,
    AwaitReview: await_review,
}

/// Tells that nothing outside remembers a job: done again, it comes to the same.
pub(crate) fn leaves_no_trace<T>(_: &mut Context<'_>, _: Task<'_>) -> Result<Option<T>, JobError> {
    Ok(None)
}
