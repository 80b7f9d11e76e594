//! A workflow under another name, with all its phases and events renamed.

use engine::Workflow;
use toml::{Table, Value};

/// What stands before every name in a renamed workflow, and nowhere else.
pub(crate) const MARK: &str = "zz_";

/// Renames a workflow, its phases and its events. What programs and tools say is mapped to the new names.
pub(crate) fn renamed(text: &str) -> String {
    let workflow = Workflow::parse(text).expect("it is proved");
    let mut table: Table = text.parse().expect("it is TOML");
    for key in ["name", "initial", "stop_event", "close_event", "turn_event", "crash_event"] {
        rename(&mut table, key);
    }
    rename_all(&mut table, "final");
    for key in ["initial_when", "deferral"] {
        for field in ["phase", "next", "done", "none"] {
            table
                .get_mut(key)
                .and_then(Value::as_table_mut)
                .into_iter()
                .for_each(|table| rename(table, field));
        }
    }
    for tick in tables(&mut table, "tick") {
        rename(tick, "event");
        rename_all(tick, "phases");
    }
    for question in tables(&mut table, "question") {
        if question.get("event").and_then(Value::as_str) == Some("mark_story_complete") {
            question.insert("tool".to_owned(), "mark_story_complete".into());
        }
        ["event", "phase", "approves"].iter().for_each(|key| rename(question, key));
    }
    for budget in tables(&mut table, "budget") {
        for outcome in tables(budget, "outcomes") {
            ["phase", "event", "redirect", "follow"].iter().for_each(|key| rename(outcome, key));
        }
    }
    let is_event = |name: &str| workflow.events().iter().any(|event| event.as_str() == name);
    let rename_outcome = |table: &mut Table| {
        if let Some(Value::Table(deadline)) = table.get_mut("deadline")
            && deadline["outcome"].as_str().is_some_and(is_event)
        {
            rename(deadline, "outcome");
        }
    };
    for phase in tables(&mut table, "phase") {
        let name = phase["name"].as_str().expect("a phase has a name").into();
        let phase_before = workflow.phase(&name).expect("it is there");
        let mut says = Table::new();
        if let Some(job) = phase_before.job {
            let (must, may) = job.outcomes();
            for outcome in must.iter().chain(may) {
                let event = phase_before.said(*outcome).map(|event| format!("{MARK}{event}").into());
                says.extend(event.map(|event: Value| (outcome.to_string(), event)));
            }
            phase.insert("says".to_owned(), says.into());
        }
        rename(phase, "name");
        rename_outcome(phase);
        for row in tables(phase, "on") {
            if row["event"].as_str() == Some("submit_plan") {
                row.insert("tool".to_owned(), "submit_plan".into());
            }
            ["event", "to"].iter().for_each(|key| rename(row, key));
            row.get_mut("to_when")
                .and_then(Value::as_table_mut)
                .into_iter()
                .for_each(|when| rename(when, "phase"));
        }
    }
    table.to_string()
}

fn rename(table: &mut Table, key: &str) {
    if let Some(Value::String(name)) = table.get_mut(key) {
        name.insert_str(0, MARK);
    }
}

fn rename_all(table: &mut Table, key: &str) {
    let names = table.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
    for name in names {
        if let Value::String(name) = name {
            name.insert_str(0, MARK);
        }
    }
}

fn tables<'a>(table: &'a mut Table, key: &str) -> impl Iterator<Item = &'a mut Table> {
    let list = table.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten();
    list.filter_map(Value::as_table_mut)
}
