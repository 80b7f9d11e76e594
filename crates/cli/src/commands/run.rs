use std::path::PathBuf;

use adapters::agent::NamedError;
use driver::{After, DriveError, Finish, Interrupts, Options, SessionError, StartError, Walled};
use forge::ItemId;
use project::{Dirs, Place, spend};

use super::{config::key_value, place};
use crate::{
    error::CommandError,
    exit::Exit,
    live::{Form, Live, transcript::Transcript},
    output,
};

/// Take an issue or a feature through all its phases, or resume it where it was left
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The issue, the run to resume, or the feature in words with a workflow that builds one; without it, an
    /// unfinished run or the next issue that is approved
    #[arg(value_name = "ISSUE|RUN|FEATURE")]
    issue: Option<String>,
    /// More words, which are a mistake.
    #[arg(hide = true)]
    rest: Vec<String>,
    /// The automation level: 2 opens a pull request, 3 merges [default: as set, else 2]
    #[arg(long)]
    level: Option<u64>,
    /// Who works: claude, codex, opencode, acp:LINE, command:LINE or script:FILE [default: as set]
    #[arg(long)]
    agent: Option<String>,
    /// End when the issue is done
    #[arg(long, conflicts_with_all = ["until_empty", "continue_"])]
    once: bool,
    /// Ask whether to continue with the next issue, which is the default at a terminal
    #[arg(long = "continue")]
    continue_: bool,
    /// Continue with the next issue until none is ready
    #[arg(long, conflicts_with = "continue_")]
    until_empty: bool,
    /// Wait for a person's yes to the plan
    #[arg(long)]
    approve_plan: bool,
    /// Let the agent work in a terminal (tmux) that you can look at, and take its pull request to the merge
    #[arg(long, conflicts_with_all = ["until_empty", "approve_plan"])]
    attach: bool,
    /// Let the agent work without the sandbox; it can then reach all that you can
    #[arg(long)]
    no_sandbox: bool,
    /// Another workflow than warp-drive: autonomous-loop builds a feature that is described in words
    #[arg(long, value_name = "NAME")]
    workflow: Option<String>,
    /// Set a setting for this run
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    set: Vec<(String, String)>,
    /// Print every event as a line of JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    shorts: Shorts,
}

/// Short forms of settings that the loop is begun with.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Settings by a shorter name")]
struct Shorts {
    /// budget_limit_usd: what the run may cost, in dollars (20)
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    budget: Option<String>,
    /// max_iterations: turns of the whole loop that come to nothing (50)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_iterations: Option<String>,
    /// max_phase_iterations: turns of one phase that come to nothing (10)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_phase_iterations: Option<String>,
    /// max_fix_cycles: how often fixes are reviewed (3)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_fix_cycles: Option<String>,
    /// completion_promise: the word by which the agent says that all is done (SHIPPED)
    #[arg(long, value_name = "TEXT")]
    completion_promise: Option<String>,
    /// skip_brainstorm: begin with the plan
    #[arg(long)]
    skip_brainstorm: bool,
    /// skip_test_review: let nobody look at the acceptance tests
    #[arg(long)]
    skip_test_review: bool,
}

impl Shorts {
    fn settings(&self) -> Vec<(String, String)> {
        let on = |is_on: bool| is_on.then(|| "true".to_owned());
        let given = [
            ("budget_limit_usd", self.budget.clone()),
            ("max_iterations", self.max_iterations.clone()),
            ("max_phase_iterations", self.max_phase_iterations.clone()),
            ("max_fix_cycles", self.max_fix_cycles.clone()),
            ("completion_promise", self.completion_promise.clone()),
            ("skip_brainstorm", on(self.skip_brainstorm)),
            ("skip_test_review", on(self.skip_test_review)),
        ];
        given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

impl Arguments {
    /// Returns the command that continues with what this one began.
    fn again(&self) -> String {
        match &self.issue {
            Some(issue) if self.attach => format!("warp run --attach {issue}"),
            None if self.attach => "warp run --attach".to_owned(),
            Some(_) | None => "warp run".to_owned(),
        }
    }

    fn options(&self) -> Options {
        let after = match (self.once, self.until_empty) {
            (true, _) => After::Once,
            (false, true) => After::UntilEmpty,
            (false, false) => After::Ask,
        };
        let mut set = self.set.clone();
        set.extend(self.shorts.settings());
        if self.approve_plan {
            set.push(("approve_plan".to_owned(), "true".to_owned()));
        }
        Options {
            issue: self.issue.clone(),
            workflow: self.workflow.clone(),
            level: self.level,
            agent: self.agent.clone(),
            set,
            after,
            walled: Walled::unless(self.no_sandbox),
            attach: self.attach,
            session_cap: None,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    if let (Some(first), false) = (&arguments.issue, arguments.rest.is_empty()) {
        return Err(unquoted(first, &arguments.rest));
    }
    let place = place(project)?;
    let form = if arguments.json { Form::Json } else { Form::Text };
    work(&place, &arguments.options(), form, &arguments.again())
}

/// Takes a run to its end, for another command that needs an agent.
pub(super) fn work_on(place: &Place, options: &Options) -> Result<Exit, CommandError> {
    work(place, options, Form::Text, "warp run")
}

fn work(place: &Place, options: &Options, form: Form, again: &str) -> Result<Exit, CommandError> {
    let dirs = Dirs::from_environment()?;
    // What is wrong with it is said before anything begins, not when the first agent starts.
    spend::prices(&dirs)?;
    let interrupts = Interrupts::listen().map_err(|error| {
        CommandError::new(Exit::Internal, format!("signals cannot be listened to: {error}"))
    })?;
    let transcript = Transcript::new(place.clone(), dirs.clone());
    let mut show = Live::new(form).with_transcript(transcript);
    let outcome = driver::drive(place, &dirs, options, &interrupts, &mut show);
    show.end();
    let finish = match outcome {
        // What was to be begun was cut short; it is begun again later.
        Err(SessionError::Start(_)) if interrupts.is_asked() => Finish::Interrupted,
        outcome => outcome?,
    };
    close(finish, again)
}

fn unquoted(first: &str, rest: &[String]) -> CommandError {
    let words = format!("{first} {}", rest.join(" "));
    let error =
        CommandError::new(Exit::Usage, format!("one issue or one feature is worked on, not `{words}`"));
    match ItemId::typed(first) {
        Some(_) => error.hint("`warp run --until-empty` takes one approved issue after the other"),
        None => {
            error.hint(format!("a feature goes in quotes: `warp run --workflow autonomous-loop \"{words}\"`"))
        }
    }
}

/// Says how it ended, and what to do next: `again` continues.
fn close(finish: Finish, again: &str) -> Result<Exit, CommandError> {
    let (exit, text) = match finish {
        Finish::Done => (Exit::Done, "done".to_owned()),
        Finish::PutOff(chunks) => {
            let were = if chunks == 1 { "was" } else { "were" };
            let text =
                format!("over, but {chunks} of its chunks {were} skipped: the session's summary says why");
            (Exit::Parked, text)
        }
        Finish::Aborted => {
            (Exit::Failed, "stopped for good; what was done is kept, as said above".to_owned())
        }
        Finish::Ended(how) => (Exit::Failed, format!("the run is over ({how})")),
        Finish::Parked(asked) => {
            let commands: String = asked.command_lines().lines().map(|line| format!("  {line}\n")).collect();
            let text = format!("waits for you: {}\nanswer with:\n{commands}then `{again}`", asked.question);
            (Exit::Parked, text)
        }
        Finish::Stopped => (Exit::Done, "stopped; `warp status` says how to resume it".to_owned()),
        Finish::Interrupted => (Exit::Interrupted, format!("interrupted; `{again}` resumes")),
        Finish::Blocked(why) => {
            (Exit::Parked, format!("waits: {why}\n`{again}` resumes when that is done; nothing was skipped"))
        }
        Finish::Refused(problem) => return Err(CommandError::new(Exit::Failed, problem)),
    };
    output::say(&text);
    Ok(exit)
}

impl From<SessionError> for CommandError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Start(error) => error.into(),
            SessionError::Drive(error) => error.into(),
        }
    }
}

impl From<StartError> for CommandError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::NotANumber(_) => Self::of(Exit::Usage, &error)
                .hint("`warp run --workflow autonomous-loop \"FEATURE\"` builds a feature that you describe"),
            StartError::NoFeature { ref workflow } => Self::of(Exit::Usage, &error)
                .hint(format!("`warp run --workflow {workflow} \"FEATURE\"` says what is wanted"))
                .hint("`warp run ISSUE`, without a workflow, works on an issue"),
            StartError::NoTerminal(_)
            | StartError::NotAboutIssues { .. }
            | StartError::Agent(NamedError::Unknown { .. }) => Self::of(Exit::Usage, &error),
            StartError::NotReady { number, .. } => {
                Self::of(Exit::Refused, &error).hint(format!("`warp explain {number}` says more"))
            }
            StartError::InCheckout { .. } => Self::of(Exit::Claimed, &error)
                .hint("finish it there, or `warp stop --hard` takes it off that checkout"),
            StartError::OnTarget { .. } => Self::of(Exit::Refused, &error)
                .hint("`git switch -c feature/NAME` makes a branch for the work, then `warp run` resumes"),
            StartError::Claimed { .. } | StartError::Claim(_) => Self::of(Exit::Claimed, &error)
                .hint("`warp status` shows how far it is; `warp stop` stops it"),
            StartError::NoSandbox(ref none) => Self::of(Exit::Configuration, &error).hint(none.fix()).hint(
                "`--no-sandbox` runs without it: what agents do and write can then reach all that you can",
            ),
            StartError::Walls(_) => Self::of(Exit::Configuration, &error)
                .hint("`--set workspace=worktree` works beside the checkout, which agents can then read"),
            StartError::AgentInCheckout { .. } => {
                Self::of(Exit::Configuration, &error).hint("move it out of the project, or commit it")
            }
            StartError::Agent(NamedError::NotInstalled(_)) => Self::of(Exit::Configuration, &error)
                .hint("`warp agents` lists those that are")
                .hint("`--agent command:LINE` lets another program work; docs/agents.md says how"),
            StartError::NoTmux => Self::of(Exit::Configuration, &error)
                .hint("install it, e.g. `apt-get install tmux` or `brew install tmux`"),
            StartError::Agent(NamedError::Script(_) | NamedError::File { .. }) => {
                Self::of(Exit::BadData, &error)
            }
            StartError::Hooks(_)
            | StartError::Program(_)
            | StartError::PhaseFile { .. }
            | StartError::NotForTerminal { .. } => Self::of(Exit::Failed, &error),
            StartError::Dev(error) => error.into(),
            StartError::Begin(error) => error.into(),
            StartError::Slot(error) => error.into(),
            StartError::Forge(error) => error.into(),
            StartError::Next(error) => error.into(),
            StartError::Ask(error) => error.into(),
            StartError::Failed(error) => error.into(),
        }
    }
}

impl From<DriveError> for CommandError {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Failed(error) => error.into(),
            DriveError::Ask(error) => error.into(),
            DriveError::Next(error) => error.into(),
            DriveError::Forge(error) => error.into(),
            DriveError::Slot(error) => error.into(),
            DriveError::More(error) => error.into(),
            DriveError::Agent(error) => StartError::from(error).into(),
            DriveError::Spend(_) | DriveError::Admission(_) => Self::of(Exit::Failed, &error),
            DriveError::Claim(_) | DriveError::TakenOver { .. } => Self::of(Exit::Claimed, &error),
            DriveError::World(_) => Self::of(Exit::Failed, &error),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn what_goes_on_is_said_with_the_terminal_that_it_had() {
        let again = |line: &str| Line::parse_from(line.split(' ')).arguments.again();
        assert_eq!(again("run 42"), "warp run");
        assert_eq!(again("run 42 --attach"), "warp run --attach 42");
        assert_eq!(again("run --attach"), "warp run --attach");
    }
}
