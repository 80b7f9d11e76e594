//! What an agent is told and asked in a loop that builds a feature.
//!
//! What it has to answer is said by the workflow (`answer`), and by the phase's receipt. Warp commits what was written before it offers the answer, and fills in which commit that is.

use engine::{
    Event, EventName, Run, Workflow, keys,
    turn::{self, Promised},
    workflow::{Answer, ReceiptKind},
};
use project::{
    Current, Workspace,
    brief::{last_problem, led_here},
    tools,
};
use serde_json::{Map, Value, json};

use crate::{
    answer::{self, Form},
    brief::{self, Brief, Work, text::Subject},
    driver::DriveError,
};

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
    let subject = Subject { issue: run.issue.clone(), text: run.feature.clone().unwrap_or_default() };
    let mut facts = project::brief::facts(workspace, current, subject)?;
    facts.guide = brief::guide(workspace, run);
    facts.led = led_here(current, &facts);
    facts.problem = last_problem(run).map(str::to_owned);
    Ok(Brief::Work(Work::new(facts, form(&current.workflow, run))))
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
    let event = match asked(workflow, run) {
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
    if matches!(receipt(workflow, run), Some(ReceiptKind::File | ReceiptKind::Tests | ReceiptKind::Commit)) {
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
    matches!(asked(&current.workflow, &current.run), Asked::Promise)
}

fn asked<'a>(workflow: &'a Workflow, run: &Run) -> Asked<'a> {
    let answer = workflow.phase(&run.phase).map(|phase| phase.answer).unwrap_or_default();
    match (answer, receipt(workflow, run)) {
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

fn receipt(workflow: &Workflow, run: &Run) -> Option<ReceiptKind> {
    workflow.phase(&run.phase).and_then(|phase| phase.receipt)
}

fn is_found_wanting(value: &Value) -> bool {
    let is_p1 =
        |event: &Event| matches!(event, Event::FindingReported { severity: engine::Severity::P1, .. });
    findings(value).iter().any(is_p1)
}

/// Returns what is to be answered.
pub(crate) fn form(workflow: &Workflow, run: &Run) -> Form {
    let receipt = receipt(workflow, run);
    let text = |most: u64| json!({ "type": "string", "maxLength": most });
    let mut properties = Map::new();
    properties.insert("summary".to_owned(), json!({ "type": "string", "minLength": 1, "maxLength": 1500 }));
    let tried = json!({ "type": "array", "items": text(500), "maxItems": 20 });
    properties.insert("failed_approaches".to_owned(), tried);
    if let Some(commit) = tools::work_properties().remove("commit") {
        properties.insert("commit".to_owned(), commit);
    }
    let mut required = vec!["summary"];
    let mut example = Map::new();
    let own = match asked(workflow, run) {
        Asked::File => {
            properties.insert("artifact".to_owned(), text(500));
            required.push("artifact");
            example.insert("artifact".to_owned(), json!("path/of/the/file"));
            if receipt == Some(ReceiptKind::Tests) {
                let count = json!({ "type": "integer", "minimum": 0 });
                let counts = json!({ "passed": count, "failed": count, "errored": count });
                let counts =
                    json!({ "type": "object", "required": ["failed", "errored"], "properties": counts });
                properties.insert("run".to_owned(), counts);
                "`artifact` is the file of the tests, by its path here. Every one of them must fail. Warp commits and runs them; if you \
                 know that it has no command for them, add `run`: how many `passed`, `failed` and `errored`."
                    .to_owned()
            } else {
                "`artifact` is the document, by its path here. Warp commits it.".to_owned()
            }
        }
        Asked::Words if receipt == Some(ReceiptKind::Revision) => {
            "Warp commits the plan. A plan that is what it was is sent back.".to_owned()
        }
        Asked::Words => {
            let unless = match run.may_change_tests(workflow) {
                true => ", unless the plan was wrong and you change it first; a person looks at them then",
                false => ", also if you change the plan",
            };
            format!(
                "Warp commits your work and runs the tests. The acceptance tests are frozen: what you change in them is put back{unless}."
            )
        }
        Asked::Findings => {
            let items = tools::finding_schema();
            let list = json!({ "type": "array", "items": items, "maxItems": MOST_FINDINGS });
            properties.insert("findings".to_owned(), list);
            required.push("findings");
            let finding = json!({ "severity": "p1", "file": "src/a.rs", "line": 40, "text": "…" });
            example.insert("findings".to_owned(), json!([finding]));
            "A p1 (or `bug`) sends the work back; without one it continues. An empty list of `findings` is an answer.".to_owned()
        }
        Asked::One(events) => {
            properties.insert("event".to_owned(), json!({ "type": "string", "enum": events }));
            properties.insert("failure".to_owned(), text(4000));
            required.push("event");
            example.insert("event".to_owned(), json!(events.first()));
            format!("`event` is one of {}; `failure` says what failed, if something did.", events.join(", "))
        }
        Asked::Promise => {
            let promise = run.settings.get(keys::COMPLETION_PROMISE);
            properties.insert("promise".to_owned(), text(1000));
            example.insert("promise".to_owned(), json!(promise));
            format!(
                "`promise` is exactly `{promise}`, if all of it is done: a statement of fact, which warp checks by every receipt. If it is \
                 not true, leave it out and say in `summary` what is missing. Change no file."
            )
        }
    };
    example.insert("summary".to_owned(), json!("…"));
    example.insert("failed_approaches".to_owned(), json!(["…"]));
    if matches!(
        receipt,
        Some(ReceiptKind::File | ReceiptKind::Tests | ReceiptKind::Revision | ReceiptKind::Commit)
    ) {
        let commit = json!({ "type": "feat", "scope": "cli", "subject": "…" });
        example.insert("commit".to_owned(), commit);
    }
    Form::of(&required, properties, &example.into(), &own)
}
