//! What a person types to their agent: some of it is meant for warp.
//!
//! The client hands over the words before it does anything with them, and no model can put words there. So a run
//! that is begun or stopped here is begun or stopped by a person.

use std::collections::BTreeSet;

use engine::{Actor, Event, Run, Standing, view};
use forge::ItemId;
use project::{
    AskError, BeginError, DecideError, Dirs, Error, Given, HeadLookup, Place, Request, Workspace,
    setup::{self, Choice},
    spelled,
    spend::More,
    why_nothing,
};
use serde_json::Map;

use crate::{
    Answer, Failure, HookContext, Input, Reachability, caller,
    chat::{self, Departure, MessageMeaning},
    note_plugin,
    session::is_owner,
};

/// By which way an answer that was typed to the agent came.
pub(crate) const VIA: &str = "chat";
const FORGED: &str = "warp did nothing: these words are a person's to type, and they came from an agent.";

/// A request found in a person's prompt.
#[derive(Debug, PartialEq)]
enum PromptRequest {
    Begin(Request),
    Stop { reset: bool },
    Choice(Choice),
}

pub(crate) fn submitted(here: &HookContext, input: &Input) -> Result<Answer, Failure> {
    let prompt = input.prompt.as_deref().unwrap_or_default().trim();
    let text = match (prompt.strip_prefix('/'), command(prompt)) {
        (_, Some(_)) if project::is_forged(&here.root) => FORGED.to_owned(),
        (_, Some(Ok(PromptRequest::Begin(request)))) => begin(here, input, request)?,
        (_, Some(Ok(PromptRequest::Stop { reset: true }))) => reset(here)?,
        (_, Some(Ok(PromptRequest::Stop { reset: false }))) => stop(&mut here.open()?)?,
        (_, Some(Ok(PromptRequest::Choice(choice)))) => choose(here, choice)?,
        (_, Some(Err(problem))) => format!("warp did nothing: {problem}"),
        (Some(_), None) => return Ok(Answer::silent()),
        (None, None) => match said(here, input, prompt)? {
            Some(text) => text,
            None => return Ok(Answer::silent()),
        },
    };
    Ok(Answer::context("UserPromptSubmit", &text))
}

/// Acts on plain words that are meant for the run; nothing if they are the agent's alone.
fn said(here: &HookContext, input: &Input, prompt: &str) -> Result<Option<String>, Failure> {
    let mut workspace = if here.head == HeadLookup::NoRun { None } else { Some(here.open()?) };
    let current = match &mut workspace {
        Some(workspace) => workspace.current()?.filter(|current| is_theirs(&current.run, input)),
        None => None,
    };
    let asked = current.as_ref().and_then(|current| view::asked(&current.workflow, &current.run));
    let in_phase = current.as_ref().is_some_and(|current| current.run.standing == Standing::Active);
    let says = current.as_ref().and_then(|_| chat::heard(prompt, asked.as_ref(), in_phase));
    let leaves = match chat::leaves(prompt) {
        Departure::No => false,
        Departure::FromWork => current.is_some(),
        Departure::Surely => true,
    };
    if (leaves || says.is_some()) && project::is_forged(&here.root) {
        return Ok(Some(FORGED.to_owned()));
    }
    let mut texts = Vec::new();
    if leaves {
        texts.push(choose(here, Choice::RemoteDecisions(true))?);
    }
    if let Some(workspace) = &mut workspace {
        match (says, asked) {
            (Some(MessageMeaning::Stop), _) => texts.push(stop(workspace)?),
            (Some(MessageMeaning::Answer { option, note }), Some(asked)) => {
                texts.push(decide(workspace, &asked, option, note)?);
            }
            (None, Some(asked)) if !leaves => texts.push(format!(
                "The run waits for a person's decision {}: {}\nTheir words are none of the options, so nothing was recorded. \
                 They answer here with one of: {}",
                asked.id,
                asked.question,
                asked.options.join(", ")
            )),
            (Some(MessageMeaning::Answer { .. }) | None, _) => {}
        }
    }
    Ok((!texts.is_empty()).then(|| texts.join("\n")))
}

/// Tells whether whoever types in this session speaks for the run: another session's words are about something else.
fn is_theirs(run: &Run, input: &Input) -> bool {
    run.is_open() && !run.owner.is_driver() && is_owner(&run.owner, input)
}

/// Records a person's answer to the open decision.
fn decide(
    workspace: &mut Workspace,
    asked: &view::Asked,
    option: String,
    note: Option<String>,
) -> Result<String, Failure> {
    let by = workspace.person();
    let told = note.as_ref().map(|note| format!(" ({note})")).unwrap_or_default();
    let words = format!("{by} has decided: {option}{told}. It is recorded.");
    let (decision, via) = (asked.id.clone(), VIA.to_owned());
    match workspace.decide(&Given { decision, option, note, by, via }, More::default()) {
        Ok(answer) => Ok(format!("{words}\n{}", workspace.news(&answer.current, Actor::Agent))),
        Err(DecideError::Ask(AskError::Failed(error))) => Err(error.into()),
        Err(error) => Ok(format!("The person's answer was not taken: {}", spelled(&error))),
    }
}

/// Reads a command for warp; none if it is something else, and a problem if it is one but cannot be read.
fn command(prompt: &str) -> Option<Result<PromptRequest, String>> {
    let typed = prompt.strip_prefix('/')?;
    let (name, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    // A plugin's skill can be called by its full name.
    let name = name.strip_prefix("warp-drive:").unwrap_or(name);
    let rest = rest.trim();
    match name {
        "warp-drive" => Some(drive(rest)),
        "auto-loop" => Some(auto_loop(rest)),
        "stop-warp-drive" | "loop-cancel" => match rest {
            "" => Some(Ok(PromptRequest::Stop { reset: name == "loop-cancel" })),
            "reset" => Some(Ok(PromptRequest::Stop { reset: true })),
            other => Some(Err(format!("`/{name}` takes nothing or `reset`, not `{other}`"))),
        },
        "automation" => match rest.strip_prefix("level").unwrap_or(rest).trim().parse() {
            Ok(level @ 1..=3) => Some(Ok(PromptRequest::Choice(Choice::Level(level)))),
            Ok(_) | Err(_) if rest.is_empty() => None,
            Ok(_) | Err(_) => Some(Err(format!("`/automation` takes 1, 2 or 3, not `{rest}`"))),
        },
        "rdb" => match rest {
            "on" => Some(Ok(PromptRequest::Choice(Choice::RemoteDecisions(true)))),
            "off" => Some(Ok(PromptRequest::Choice(Choice::RemoteDecisions(false)))),
            "" | "status" | "test" => None,
            other => Some(Err(format!("`/rdb` takes on, off, status or test, not `{other}`"))),
        },
        _ => None,
    }
}

fn drive(rest: &str) -> Result<PromptRequest, String> {
    let mut request = Request { workflow: Some("warp-drive".to_owned()), ..Request::default() };
    let mut words = rest.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "--level" => request.level = Some(number(word, words.next())?),
            _ if word.starts_with('-') => return Err(format!("`/warp-drive` does not know `{word}`")),
            _ if request.issue.is_none() => request.issue = Some(word.trim_start_matches('#').to_owned()),
            _ => return Err(format!("`/warp-drive` takes one issue; `{word}` is too much")),
        }
    }
    Ok(PromptRequest::Begin(request))
}

fn auto_loop(rest: &str) -> Result<PromptRequest, String> {
    const NUMBERS: &[(&str, &str)] = &[
        ("--budget", "budget_limit_usd"),
        ("--max-iterations", "max_iterations"),
        ("--max-phase-iterations", "max_phase_iterations"),
        ("--max-fix-cycles", "max_fix_cycles"),
    ];
    const SWITCHES: &[(&str, &str)] =
        &[("--skip-brainstorm", "skip_brainstorm"), ("--skip-test-review", "skip_test_review")];
    let mut request = Request { workflow: Some("autonomous-loop".to_owned()), ..Request::default() };
    let mut feature = Vec::new();
    let mut words = rest.split_whitespace();
    while let Some(word) = words.next() {
        if let Some((_, key)) = NUMBERS.iter().find(|(flag, _)| *flag == word) {
            request.set.push(((*key).to_owned(), number(word, words.next())?.to_string()));
        } else if let Some((_, key)) = SWITCHES.iter().find(|(flag, _)| *flag == word) {
            request.set.push(((*key).to_owned(), "true".to_owned()));
        } else if word == "--completion-promise" {
            let promise = words.next().ok_or("`--completion-promise` needs a text")?;
            request.set.push(("completion_promise".to_owned(), unquoted(promise).to_owned()));
        } else if word.starts_with("--") {
            return Err(format!("`/auto-loop` does not know `{word}`"));
        } else {
            feature.push(word);
        }
    }
    let feature = feature.join(" ");
    let feature = unquoted(&feature);
    if feature.is_empty() {
        return Err("`/auto-loop` needs the feature to build: /auto-loop FEATURE".to_owned());
    }
    request.feature = Some(feature.to_owned());
    Ok(PromptRequest::Begin(request))
}

fn number(flag: &str, word: Option<&str>) -> Result<u64, String> {
    let word = word.ok_or_else(|| format!("`{flag}` needs a number"))?;
    word.parse().map_err(|_| format!("`{flag}` needs a number, not `{word}`"))
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

fn begin(here: &HookContext, input: &Input, request: Request) -> Result<String, Failure> {
    let owner = caller(input);
    let mut workspace = here.open()?;
    let number = request.issue.as_deref().and_then(ItemId::typed);
    if workspace.current()?.is_none()
        && let Some(why) = why_not(&mut workspace, &request, number)?
    {
        return Ok(format!("No run was begun: {why}."));
    }
    let request = Request { pid: Some(owner.pid), session: owner.session, ..request };
    match workspace.begin(request) {
        Ok(answer) => {
            if let Some(number) = number {
                workspace.approve_named(number)?;
            }
            note_plugin(here, input)?;
            let branch = jobs::on(&mut workspace).begin_feature(&answer.current);
            let current = workspace.current()?.unwrap_or(answer.current);
            let mut text = workspace.described(&current, Actor::Agent);
            if let Err(error) = branch {
                let why = spelled(&error);
                text.push_str(&format!("Note: the loop has no branch of its own yet: {why}\n"));
            }
            for engine::Advice(advice) in &answer.advice {
                text.push_str(&format!("Note: {advice}\n"));
            }
            Ok(text)
        }
        Err(error @ BeginError::Active { .. }) => {
            let told = match workspace.current()? {
                Some(current) => workspace.described(&current, Actor::Agent),
                None => String::new(),
            };
            Ok(format!("No run was begun: {error}.\n{told}"))
        }
        Err(BeginError::Failed(error)) => Err(error.into()),
        Err(error) => {
            Ok(format!("No run was begun: {}. `warp doctor` checks what is needed.", spelled(&error)))
        }
    }
}

/// Says why a run about an issue would have nothing to do; nothing if there is something.
fn why_not(
    workspace: &mut Workspace,
    request: &Request,
    number: Option<ItemId>,
) -> Result<Option<String>, Failure> {
    if request.feature.is_some() {
        return Ok(None);
    }
    match (&request.issue, number) {
        (Some(_), Some(number)) => {
            let open = workspace.select(Some(&number.to_string()))?.filter(|current| current.run.is_open());
            if let Some(current) = open {
                let run = &current.run;
                return Ok(Some(format!("run {} works on issue {number}, in `{}`", run.id, run.root)));
            }
            let why = workspace.why_not_ready(number, request.workflow.as_deref())?;
            let hint = "`warp issue list` lists the issues";
            Ok(why.map(|why| format!("issue {number} cannot be worked on: {why} ({hint})")))
        }
        (Some(issue), None) => Ok(Some(format!("`{issue}` is no number of an issue"))),
        (None, _) => match workspace.first_free(&BTreeSet::new())? {
            Some(_) => Ok(None),
            None => Ok(Some(why_nothing(&workspace.queue()?))),
        },
    }
}

fn reset(here: &HookContext) -> Result<String, Failure> {
    Ok(match here.open()?.reset()?.run {
        Some(run) => format!("Run {run} was taken off this project by the person; its journal is kept."),
        None => "There was no run to take off this project.".to_owned(),
    })
}

fn stop(workspace: &mut Workspace) -> Result<String, Failure> {
    match workspace.ask(Event::StopRequested, Map::new()) {
        Ok(answer) => {
            Ok(format!("The person stopped the run.\n{}", workspace.news(&answer.current, Actor::Agent)))
        }
        Err(AskError::NoRun) => Ok("There is no run to stop.".to_owned()),
        Err(AskError::Refused(refused)) => Ok(format!("The run was not stopped: {refused}")),
        Err(AskError::Failed(error)) => Err(error.into()),
    }
}

fn choose(here: &HookContext, choice: Choice) -> Result<String, Failure> {
    let place = Place::at(&here.root).map_err(Error::from)?;
    let plan = setup::plan_choice(&place, &setup::this_program()?, choice)?;
    setup::carry_out(&place, &plan)?;
    Ok(match choice {
        Choice::Level(level) => {
            let git = if plan.git.is_empty() { "" } else { " Git's hooks guard its branches now." };
            format!(
                "The person set the automation level to {level}, in .claude/settings.local.json with its permission rules; \
                 runs that begin from now on go by it.{git} `warp init --undo` takes that back."
            )
        }
        Choice::RemoteDecisions(on) => away_mode(here, &place, on)?,
    })
}

/// Says what away mode means from now on, and tells the person where they asked to be told.
fn away_mode(here: &HookContext, place: &Place, on: bool) -> Result<String, Failure> {
    if !on {
        return Ok(
            "The person is back: decisions are asked in the terminal, and no notices are sent.".to_owned()
        );
    }
    let dirs = Dirs::from_environment().map_err(Error::from)?;
    Ok(match here.away.reach(place, &dirs) {
        Reachability::Off => {
            "Away mode is switched on in this checkout, but something that goes before it says otherwise: \
                       `warp config` shows what."
                .to_owned()
        }
        Reachability::Unreachable(why) => format!(
            "The person wants decisions and notices in Telegram, but cannot be reached: {why}. Tell them that, and that \
             questions stay in the terminal until `warp rdb test` succeeds."
        ),
        Reachability::Reachable => {
            let mut workspace = Workspace::open(place.clone(), dirs.clone())?;
            if let Some(current) = workspace.current()? {
                here.away.tell(place, &dirs, current.run.id.as_str());
            }
            "The person is away: every phase is told and every question is asked in Telegram, also by AskUserQuestion. \
             Continue with the work, and do not wait for anybody at the terminal."
                .to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(prompt: &str) -> Request {
        match command(prompt) {
            Some(Ok(PromptRequest::Begin(request))) => request,
            other => panic!("{prompt}: {other:?}"),
        }
    }

    #[test]
    fn a_typed_command_is_read_as_the_person_means_it() {
        assert_eq!(begun("/warp-drive #42").issue.as_deref(), Some("42"));
        assert_eq!(begun("/warp-drive:warp-drive 42 --level 3").level, Some(3));
        assert_eq!(begun("/warp-drive").issue, None);
        let request = begun("/auto-loop \"add dark mode\" --max-iterations 7 --skip-brainstorm");
        assert_eq!(request.feature.as_deref(), Some("add dark mode"));
        assert_eq!(
            request.set,
            [("max_iterations", "7"), ("skip_brainstorm", "true")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
        );
        assert_eq!(command("/stop-warp-drive"), Some(Ok(PromptRequest::Stop { reset: false })));
        assert_eq!(command("/stop-warp-drive reset"), Some(Ok(PromptRequest::Stop { reset: true })));
        assert_eq!(command("/loop-cancel"), Some(Ok(PromptRequest::Stop { reset: true })));
        assert_eq!(command("/automation level 3"), Some(Ok(PromptRequest::Choice(Choice::Level(3)))));
        assert_eq!(command("/automation 2"), Some(Ok(PromptRequest::Choice(Choice::Level(2)))));
        assert_eq!(command("/rdb off"), Some(Ok(PromptRequest::Choice(Choice::RemoteDecisions(false)))));
    }

    #[test]
    fn what_is_not_for_warp_passes_and_what_cannot_be_read_is_said() {
        for prompt in ["", "fix the bug", "/help", "/automation", "/rdb status", "/warp-drives 4", "stop"] {
            assert_eq!(command(prompt), None, "{prompt}");
        }
        for prompt in [
            "/warp-drive 1 2",
            "/warp-drive --fast",
            "/auto-loop",
            "/auto-loop x --max-iterations many",
            "/automation 9",
            "/rdb maybe",
        ] {
            assert!(matches!(command(prompt), Some(Err(_))), "{prompt}");
        }
    }
}
