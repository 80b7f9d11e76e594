//! What an agent is told and asked in a loop that builds a feature.
//!
//! What it has to answer is said by the workflow (`answer`), and by the phase's receipt. Warp commits what was written before it offers the answer, and fills in which commit that is.

use engine::{
    Event, EventName, Run, keys,
    turn::{self, Promised},
    workflow::{Answer, ReceiptKind},
};
use project::{Current, Workspace, prompts, tools};
use serde_json::{Map, Value, json};

use crate::{
    answer,
    brief::{self, Brief, Text, Work},
    driver::DriveError,
};

const RULES: &str = include_str!("../../../prompts/run/loop.md");

/// The part of a phase's text that is meant for an agent that moves the run itself.
const ENDS_WITH: &str = "## Ends with";
/// How many phases are told of that came before.
const CHECKPOINTS: usize = 20;
/// The most findings of one review.
const MOST_FINDINGS: usize = 50;

/// What is asked for in a phase.
enum Asked<'a> {
    /// A file, perhaps of tests.
    File,
    /// Work that is told of in a few words.
    Words,
    Findings,
    /// Which of these events it came to.
    One(Vec<&'a str>),
    Promise,
}

/// Says what is to be done in the phase that a loop is in.
pub(crate) fn brief(workspace: &mut Workspace, current: &Current) -> Result<Brief, DriveError> {
    let run = &current.run;
    let phase = current.workflow.phase(&run.phase);
    let mut text = Text::new(run, phase.map(|phase| &*phase.purpose).unwrap_or_default());
    text.part("The feature", &brief::fenced(run.feature.as_deref().unwrap_or_default())?);
    let built_in = prompts::built_in(&run.workflow, run.phase.as_str()).unwrap_or_default();
    let guide = brief::guide(workspace, run, built_in);
    text.part("What to do", guide.split(ENDS_WITH).next().unwrap_or_default());
    text.part("What there is", &artifacts(run));
    text.part("What was done so far", &checkpoints(run));
    if let Some(led) = brief::led_here(run) {
        text.part("What led here", &led);
    }
    if let Some(problem) = last_problem(run) {
        text.part("What was wrong with the last answer", &brief::fenced(problem)?);
    }
    text.history(run);
    text.part("Your answer", &words(current));
    Ok(Brief::Work(Work { prompt: text.finish_with(RULES), schema: schema(current) }))
}

/// Makes an event of an answer whose work was committed as `head`; nothing if it names none.
pub(crate) fn event_of(
    current: &Current,
    value: &Value,
    head: &str,
) -> Option<(EventName, Map<String, Value>)> {
    let (workflow, run) = (&current.workflow, &current.run);
    let mut data = answer::data(value);
    // Some clients fill in what is not there.
    data.retain(|field, value| TAKEN.contains(&field.as_str()) && !value.is_null());
    let named = |name: &str| workflow.events_of_agent(run).into_iter().find(|event| event.as_str() == name);
    let event = match asked(current) {
        Asked::Promise => workflow.close_event.clone()?,
        Asked::Findings => {
            let wanted = if is_found_wanting(value) { "NEEDS_CHANGES" } else { "APPROVED" };
            let row = workflow.rows(&run.phase).iter().find(|row| row.status.as_deref() == Some(wanted))?;
            row.event.clone()
        }
        Asked::One(_) => named(value.get("event").and_then(Value::as_str)?)?,
        Asked::File | Asked::Words => {
            let question = workflow.questions.iter().find(|question| question.phase == run.phase);
            question
                .map(|question| question.event.clone())
                .or_else(|| workflow.rows(&run.phase).iter().map(|row| row.event.clone()).next())?
        }
    };
    if matches!(receipt(current), Some(ReceiptKind::File | ReceiptKind::Tests | ReceiptKind::Commit)) {
        data.insert("git_sha".to_owned(), json!(head));
    }
    Some((event, data))
}

/// The fields of an answer that are offered with its event.
const TAKEN: [&str; 5] = ["artifact", "run", "summary", "failed_approaches", "failure"];

/// Returns what an answer has found.
pub(crate) fn findings(value: &Value) -> Vec<Event> {
    let list = value.get("findings").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(Value::as_object).map(tools::found).collect()
}

/// Reads the promise in an answer, or in an agent's last words.
pub(crate) fn promised(current: &Current, words: &str) -> Promised {
    turn::promised(&current.workflow, &current.run, words)
}

/// Returns the promise that an answer gives where it is asked for, as an agent would say it in words.
pub(crate) fn promise(value: &Value) -> Option<String> {
    let text = value.get("promise").and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())?;
    let is_tagged = text.contains("<promise>");
    Some(if is_tagged { text.to_owned() } else { format!("<promise>{text}</promise>") })
}

/// Tells whether an answer is asked to promise.
pub(crate) fn wants_promise(current: &Current) -> bool {
    matches!(asked(current), Asked::Promise)
}

fn asked(current: &Current) -> Asked<'_> {
    let (workflow, run) = (&current.workflow, &current.run);
    match (brief::asks(run), receipt(current)) {
        (Answer::Promise, _) => Asked::Promise,
        (Answer::Verdict, _) => Asked::Findings,
        (Answer::Event, _) => {
            Asked::One(workflow.rows(&run.phase).iter().map(|row| row.event.as_str()).collect())
        }
        (Answer::Receipt, Some(ReceiptKind::File | ReceiptKind::Tests)) => Asked::File,
        // Plans and chunks are not handed in.
        (Answer::Receipt | Answer::Plan | Answer::Work, _) => Asked::Words,
    }
}

fn receipt(current: &Current) -> Option<ReceiptKind> {
    current.workflow.phase(&current.run.phase).and_then(|phase| phase.receipt)
}

fn is_found_wanting(value: &Value) -> bool {
    let is_p1 =
        |event: &Event| matches!(event, Event::FindingReported { severity: engine::Severity::P1, .. });
    findings(value).iter().any(is_p1)
}

fn schema(current: &Current) -> Value {
    let text = |most: u64| json!({ "type": "string", "maxLength": most });
    let mut properties = Map::new();
    properties.insert("summary".to_owned(), json!({ "type": "string", "minLength": 1, "maxLength": 1500 }));
    let tried = json!({ "type": "array", "items": text(500), "maxItems": 20 });
    properties.insert("failed_approaches".to_owned(), tried);
    let mut required = vec!["summary"];
    match asked(current) {
        Asked::File => {
            properties.insert("artifact".to_owned(), text(500));
            required.push("artifact");
            if receipt(current) == Some(ReceiptKind::Tests) {
                let count = json!({ "type": "integer", "minimum": 0 });
                let counts = json!({ "passed": count, "failed": count, "errored": count });
                let run =
                    json!({ "type": "object", "required": ["failed", "errored"], "properties": counts });
                properties.insert("run".to_owned(), run);
            }
        }
        Asked::Words => {}
        Asked::Findings => {
            let items = tools::finding_schema();
            let list = json!({ "type": "array", "items": items, "maxItems": MOST_FINDINGS });
            properties.insert("findings".to_owned(), list);
            required.push("findings");
        }
        Asked::One(events) => {
            properties.insert("event".to_owned(), json!({ "type": "string", "enum": events }));
            properties.insert("failure".to_owned(), text(4000));
            required.push("event");
        }
        Asked::Promise => {
            properties.insert("promise".to_owned(), text(1000));
        }
    }
    if let Some(commit) = tools::work_properties().remove("commit") {
        properties.insert("commit".to_owned(), commit);
    }
    properties.insert("question".to_owned(), tools::question_schema());
    json!({ "type": "object", "required": required, "properties": properties })
}

/// Says what is to be answered.
fn words(current: &Current) -> String {
    let run = &current.run;
    let receipt = receipt(current);
    let own = match (asked(current), receipt) {
        (Asked::File, Some(ReceiptKind::Tests)) => {
            "- `artifact`: the file of the tests, by its path in the project. Write tests and nothing else: there is no \
             implementation yet, and you do not write one. Warp commits the tests and runs them. Every one of them must \
             fail because what it asks for is not there; one that passes, or that cannot be loaded, built or collected, \
             sends them back to you.\n\
             - `run`, only if warp is known to have no command that runs them: how many `passed`, `failed` and `errored`.\n"
                .to_owned()
        }
        (Asked::File, _) => {
            "- `artifact`: the document, by its path in the project. Write documents and nothing else.\n".to_owned()
        }
        (Asked::Words, Some(ReceiptKind::Revision)) => {
            "The plan itself has to change: a plan that is what it was is sent back. Write documents and nothing else.\n"
                .to_owned()
        }
        (Asked::Words, _) => {
            let unless = match run.may_change_tests(&current.workflow) {
                true => ", unless the plan was wrong and you change it first; a person looks at them then",
                false => ", also if you change the plan",
            };
            format!(
                "The acceptance tests are frozen: what you change in them is put back{unless}. Warp runs them and all other \
                 tests; what fails comes back to you.\n"
            )
        }
        (Asked::Findings, _) => {
            "- `findings`: each with `severity`, `text`, and `file` and `line` where there is one. `p1` or `bug` is what must \
             be mended before this ships, and sends the work back; without one it goes on. An empty list is an answer. \
             Change no file.\n"
                .to_owned()
        }
        (Asked::One(events), _) => format!(
            "- `event`: one of {}. Warp runs the tests before it believes that they pass.\n\
             - `failure`: what failed, if something did. Change no file.\n",
            events.join(", ")
        ),
        (Asked::Promise, _) => {
            let promise = run.settings.get(keys::COMPLETION_PROMISE);
            format!(
                "- `promise`: exactly `{promise}`, if all of it is done. It is a statement of fact, and every receipt is \
                 looked at once more. If it is not true, leave it out and say in `summary` what is missing. Change no file.\n"
            )
        }
    };
    let commit = match receipt {
        Some(ReceiptKind::File | ReceiptKind::Tests | ReceiptKind::Revision | ReceiptKind::Commit) => {
            "- `commit`, if you like: the message, as `type`, `scope` if there is one, and a `subject` of at most 72 \
             characters.\n"
        }
        Some(ReceiptKind::Summary) | None => "",
    };
    format!(
        "{own}- `summary`: what was done, in a few sentences.\n\
         - `failed_approaches`: what was tried and did not work, and why, so that nobody tries it again.\n{commit}"
    )
}

fn artifacts(run: &Run) -> String {
    let named = [
        ("the brainstorm", "brainstorm_file"),
        ("the plan", "plan_file"),
        ("the acceptance tests", "acceptance_tests_file"),
        ("the branch", "branch"),
        ("the pull request", "pr_url"),
    ];
    let lines = named
        .iter()
        .filter_map(|(what, name)| run.artifacts.entry(name).map(|value| format!("- {what}: {value}")));
    lines.collect::<Vec<_>>().join("\n")
}

fn checkpoints(run: &Run) -> String {
    let first = run.checkpoints.len().saturating_sub(CHECKPOINTS);
    let mut lines = Vec::new();
    for checkpoint in &run.checkpoints[first..] {
        lines.push(format!("- {}: {}", checkpoint.phase, checkpoint.summary));
        lines.extend(checkpoint.failed_approaches.iter().map(|tried| format!("  - did not work: {tried}")));
    }
    lines.join("\n")
}

/// Returns the newest error of the present stay: why an answer was not taken, or what a person did not like.
fn last_problem(run: &Run) -> Option<&str> {
    let entered = run.history.last().map(|row| row.at);
    let newest = run.errors.last().filter(|error| error.phase == run.phase)?;
    entered.is_none_or(|entered| newest.timestamp >= entered).then_some(newest.message.as_str())
}
