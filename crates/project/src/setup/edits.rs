//! What is wanted in a settings file, what of it had to be done, and how exactly that is taken out again.
//!
//! [`apply`] adds only what is not there and writes down each thing that it did; [`strip`] takes just those things
//! out of a text that somebody may have changed since. A hook counts as ours by the program that it runs, wherever
//! that lies: so an older path is replaced and no hook runs twice.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::json::{Document, JsonError};

/// Something that a settings file has to hold.
#[derive(Clone, Debug)]
pub(super) enum Want {
    /// A group with one handler under `hooks.EVENT`.
    Hook { event: &'static str, group: Value },
    /// An element of a list.
    Element { path: [&'static str; 2], value: Value },
    /// A member with this value.
    Member { path: [&'static str; 2], value: Value },
}

/// Something that was done to a settings file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub(super) enum Done {
    /// An object or a list was made to hold the rest.
    Made {
        path: Vec<String>,
    },
    Added {
        path: [String; 2],
        value: Value,
    },
    /// A handler of ours stood there already and got another form.
    Replaced {
        path: [String; 2],
        was: Value,
        value: Value,
    },
    Set {
        path: [String; 2],
        was: Option<Value>,
        value: Value,
    },
}

impl Want {
    /// Tells whether something that was done is still wanted.
    fn covers(&self, done: &Done) -> bool {
        match (self, done) {
            (_, Done::Made { .. }) => true,
            (Want::Hook { event, group }, Done::Added { path, value }) => path[1] == *event && group == value,
            (Want::Hook { event, group }, Done::Replaced { path, value, .. }) => {
                path[1] == *event && group["hooks"][0] == *value
            }
            (Want::Element { path: wanted, value: want }, Done::Added { path, value }) => {
                path == wanted && want == value
            }
            (Want::Member { path: wanted, value: want }, Done::Set { path, value, .. }) => {
                path == wanted && want == value
            }
            (Want::Hook { .. }, Done::Set { .. })
            | (Want::Element { .. }, Done::Replaced { .. } | Done::Set { .. })
            | (Want::Member { .. }, Done::Added { .. } | Done::Replaced { .. }) => false,
        }
    }
}

/// Tells whether anything was done that is no longer wanted.
pub(super) fn is_outdated(done: &[Done], wants: &[Want]) -> bool {
    done.iter().any(|done| !wants.iter().any(|want| want.covers(done)))
}

/// Adds to a text what it does not hold yet; returns the text and what was done.
pub(super) fn apply(text: &str, wants: &[Want]) -> Result<(String, Vec<Done>), JsonError> {
    let mut document = Document::parse(text)?;
    let mut done = Vec::new();
    for want in wants {
        match want {
            Want::Hook { event, group } => {
                need(&mut document, &["hooks"], &json!({}), &mut done)?;
                need(&mut document, &["hooks", event], &json!([]), &mut done)?;
                hook(&mut document, event, group, &mut done);
            }
            Want::Element { path, value } => {
                need(&mut document, &path[..1], &json!({}), &mut done)?;
                need(&mut document, path, &json!([]), &mut done)?;
                let there = document.value(path).unwrap_or_default();
                if !there.as_array().is_some_and(|elements| elements.contains(value)) {
                    document.push(path, value);
                    done.push(Done::Added { path: path.map(str::to_owned), value: value.clone() });
                }
            }
            Want::Member { path, value } => {
                need(&mut document, &path[..1], &json!({}), &mut done)?;
                let was = document.value(path);
                if was.as_ref() != Some(value) {
                    document.set(&path[..1], path[1], value);
                    done.push(Done::Set { path: path.map(str::to_owned), was, value: value.clone() });
                }
            }
        }
    }
    // An untouched text is handed back as it came, even one without anything in it.
    let text = if done.is_empty() { text.to_owned() } else { document.text() };
    Ok((text, done))
}

/// Takes out of a text what was done to it and is still there.
pub(super) fn strip(text: &str, done: &[Done]) -> Result<String, JsonError> {
    let mut document = Document::parse(text)?;
    for done in done.iter().rev() {
        match done {
            Done::Made { path } => {
                let path = borrowed(path);
                if document.len(&path) == Some(0) {
                    document.remove(&path);
                }
            }
            Done::Added { path, value } if path[0] == "hooks" => {
                for place in handlers(&document, &path[1], &value["hooks"][0]).into_iter().rev() {
                    drop_handler(&mut document, &path[1], place);
                }
            }
            Done::Added { path, value } => {
                let path = borrowed(path);
                let there = document.value(&path).unwrap_or_default();
                let index = there
                    .as_array()
                    .and_then(|elements| elements.iter().rposition(|element| element == value));
                if let Some(index) = index {
                    document.remove(&[&path[..], &[&index.to_string()]].concat());
                }
            }
            Done::Replaced { path, was, value } => {
                if let Some((group, handler)) = handlers(&document, &path[1], value).first() {
                    let group = group.to_string();
                    document.set(&["hooks", &path[1], &group, "hooks"], &handler.to_string(), was);
                }
            }
            Done::Set { path, was, value } => {
                let path = borrowed(path);
                if document.value(&path).as_ref() == Some(value) {
                    match was {
                        Some(was) => document.set(&path[..1], path[1], was),
                        None => document.remove(&path),
                    }
                }
            }
        }
    }
    Ok(document.text())
}

/// Tells whether a text is a JSON object without anything in it.
pub(super) fn is_empty(text: &str) -> bool {
    Document::parse(text).is_ok_and(|document| document.len(&[]) == Some(0))
}

/// Makes an object or a list if there is none; something of another kind is left alone.
fn need(
    document: &mut Document,
    path: &[&str],
    empty: &Value,
    done: &mut Vec<Done>,
) -> Result<(), JsonError> {
    match (document.value(path), empty) {
        (Some(Value::Object(_)), Value::Object(_)) | (Some(Value::Array(_)), Value::Array(_)) => Ok(()),
        (Some(_), _) => {
            let wanted = if empty.is_object() { "an object" } else { "a list" };
            Err(JsonError::Shape { path: path.join("."), wanted })
        }
        (None, _) => {
            let (last, above) = path.split_last().expect("what is needed has a name");
            document.set(above, last, empty);
            done.push(Done::Made { path: path.iter().map(|&step| step.to_owned()).collect() });
            Ok(())
        }
    }
}

fn hook(document: &mut Document, event: &str, group: &Value, done: &mut Vec<Done>) {
    let wanted = &group["hooks"][0];
    let path = ["hooks", event];
    let ours = handlers(document, event, wanted);
    let Some(((first, handler), more)) = ours.split_first() else {
        document.push(&path, group);
        done.push(Done::Added { path: path.map(str::to_owned), value: group.clone() });
        return;
    };
    for place in more.iter().rev() {
        drop_handler(document, event, *place);
    }
    let (first, handler) = (first.to_string(), handler.to_string());
    let list = ["hooks", event, &first, "hooks"];
    let was = document.value(&[&list[..], &[&handler]].concat()).unwrap_or_default();
    if was != *wanted || !more.is_empty() {
        document.set(&list, &handler, wanted);
        done.push(Done::Replaced { path: path.map(str::to_owned), was, value: wanted.clone() });
    }
}

/// Returns the places of our handlers of an event that run the same hook as `like`: the group's index and the handler's
/// within it.
fn handlers(document: &Document, event: &str, like: &Value) -> Vec<(usize, usize)> {
    let hook = warp_hook(like);
    let groups = document.value(&["hooks", event]).unwrap_or_default();
    let mut places = Vec::new();
    for (index, group) in groups.as_array().into_iter().flatten().enumerate() {
        for (number, handler) in group["hooks"].as_array().into_iter().flatten().enumerate() {
            if warp_hook(handler).is_some_and(|other| Some(other) == hook) {
                places.push((index, number));
            }
        }
    }
    places
}

/// Takes a handler away, and its group if nothing else is in it.
fn drop_handler(document: &mut Document, event: &str, (group, handler): (usize, usize)) {
    let (group, handler) = (group.to_string(), handler.to_string());
    if document.len(&["hooks", event, &group, "hooks"]) == Some(1) {
        document.remove(&["hooks", event, &group]);
    } else {
        document.remove(&["hooks", event, &group, "hooks", &handler]);
    }
}

/// Returns which `warp hook` a handler runs, from wherever and in whichever form; none if it is not ours.
fn warp_hook(handler: &Value) -> Option<&str> {
    let is_warp = |program: &str| Path::new(program).file_name().is_some_and(|name| name == "warp");
    let command = handler["command"].as_str()?;
    match handler["args"].as_array() {
        Some(arguments) => match &arguments[..] {
            [first, hook] if is_warp(command) && first == "hook" => hook.as_str(),
            _ => None,
        },
        None => {
            let (program, hook) = command.rsplit_once(" hook ")?;
            let is_ours = is_warp(program.trim().trim_matches(['\'', '"']));
            Some(hook.trim()).filter(|hook| is_ours && !hook.contains(char::is_whitespace))
        }
    }
}

fn borrowed(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(program: &str) -> Vec<Want> {
        let group = json!({"hooks": [{"type": "command", "command": program, "args": ["hook", "stop"]}]});
        vec![
            Want::Hook { event: "Stop", group },
            Want::Element { path: ["permissions", "deny"], value: json!("Bash(git push -f *)") },
            Want::Member { path: ["_automation", "active_level"], value: json!(2) },
        ]
    }

    #[test]
    fn what_was_added_is_taken_out_and_the_rest_stays() {
        let before =
            "{\n\t\"model\": \"x\",\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t\t{\"hooks\": []}\n\t\t]\n\t}\n}";
        let (after, done) = apply(before, &wants("/opt/warp")).unwrap();
        assert_eq!(apply(&after, &wants("/opt/warp")).unwrap(), (after.clone(), Vec::new()));
        assert_eq!(strip(&after, &done).unwrap(), before);
        let changed = after.replace("\"model\": \"x\"", "\"model\": \"y\",\n\t\"more\": [1]");
        let expected = before.replace("\"model\": \"x\"", "\"model\": \"y\",\n\t\"more\": [1]");
        assert_eq!(strip(&changed, &done).unwrap(), expected);
    }

    #[test]
    fn an_older_path_is_replaced_and_comes_back() {
        let (before, _) = apply("{}", &wants("/old/bin/warp")).unwrap();
        let (after, done) = apply(&before, &wants("/new/bin/warp")).unwrap();
        assert_eq!(after, before.replace("/old/", "/new/"));
        assert_eq!(done.len(), 1);
        assert_eq!(strip(&after, &done).unwrap(), before);
    }

    #[test]
    fn two_hooks_of_one_event_stand_side_by_side() {
        let waits =
            json!({"hooks": [{"type": "command", "command": "/opt/warp", "args": ["hook", "after-stop"]}]});
        let both: Vec<Want> =
            wants("/opt/warp").into_iter().chain([Want::Hook { event: "Stop", group: waits }]).collect();
        let (after, done) = apply("{}", &both).unwrap();
        assert_eq!(apply(&after, &both).unwrap(), (after.clone(), Vec::new()));
        assert!(after.contains("\"stop\"") && after.contains("\"after-stop\""), "{after}");
        assert_eq!(strip(&after, &done).unwrap(), "{}");
    }

    #[test]
    fn a_hook_of_ours_is_known_by_its_program() {
        let ours = [
            json!({"command": "/a b/warp", "args": ["hook", "stop"]}),
            json!({"command": "'/a b/warp' hook stop"}),
            json!({"command": "warp hook pre-tool-use"}),
        ];
        let others = [
            json!({"command": "/opt/warp", "args": ["status"]}),
            json!({"command": "/opt/unwarp hook stop"}),
            json!({"command": "echo warp hook stop now"}),
            json!({"type": "http", "url": "http://localhost/warp hook stop"}),
        ];
        assert_eq!(
            ours.map(|hook| warp_hook(&hook).map(str::to_owned)),
            [Some("stop".to_owned()), Some("stop".to_owned()), Some("pre-tool-use".to_owned())]
        );
        assert!(others.iter().all(|hook| warp_hook(hook).is_none()));
    }

    #[test]
    fn a_list_of_another_kind_is_refused() {
        let error = apply(r#"{"hooks": {"Stop": {}}}"#, &wants("/opt/warp")).unwrap_err();
        assert_eq!(error.to_string(), "`hooks.Stop` must be a list");
    }

    #[test]
    fn a_handler_that_somebody_put_beside_ours_stays() {
        let (after, done) = apply("{}", &wants("/opt/warp")).unwrap();
        let mut document = Document::parse(&after).unwrap();
        document.push(&["hooks", "Stop", "0", "hooks"], &json!({"command": "theirs"}));
        let stripped: Value = serde_json::from_str(&strip(&document.text(), &done).unwrap()).unwrap();
        assert_eq!(stripped, json!({"hooks": {"Stop": [{"hooks": [{"command": "theirs"}]}]}}));
    }

    /// A text of any shape, from a few numbers.
    fn any_json(seed: &mut u64, depth: u32) -> String {
        let mut next = |below: u64| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 33) % below
        };
        let space = ["", " ", "\n", "\r\n\t", "  \n    "][next(5) as usize];
        let keys =
            ["hooks", "permissions", "_automation", "Stop", "deny", "active_level", "a \\\" b", "é{[,"];
        let (kind, count) = (next(if depth == 0 { 4 } else { 7 }), next(4));
        let chosen: Vec<&str> = (0..count).map(|_| keys[next(8) as usize]).collect();
        let mut part = |open: &str, close: &str, keyed: bool| {
            let one = |key: &&str| {
                let value = any_json(seed, depth.saturating_sub(1));
                if keyed {
                    format!("{space}\"{key}\"{space}:{space}{value}{space}")
                } else {
                    format!("{space}{value}{space}")
                }
            };
            format!("{open}{space}{}{close}", chosen.iter().map(one).collect::<Vec<_>>().join(","))
        };
        match kind {
            0 => "1.50".to_owned(),
            1 => "\"}],{[\\\\\"".to_owned(),
            2 => "null".to_owned(),
            3 => "true".to_owned(),
            4 => part("[", "]", false),
            _ => part("{", "}", true),
        }
    }

    #[test]
    fn whatever_the_text_what_was_added_comes_out_again() {
        let wants = wants("/opt/warp");
        let (mut seed, mut edited) = (42, 0);
        for _ in 0..6_000 {
            let before = any_json(&mut seed, 4);
            let Ok(Value::Object(value)) = serde_json::from_str(&before) else { continue };
            let Ok((after, done)) = apply(&before, &wants) else { continue };
            edited += 1;
            let parsed: Value =
                serde_json::from_str(&after).unwrap_or_else(|error| panic!("{error}: {before} {after}"));
            assert_eq!(parsed["_automation"]["active_level"], 2, "{before}");
            assert_eq!(apply(&after, &wants).unwrap(), (after.clone(), Vec::new()), "{before}");
            let back: Value = serde_json::from_str(&strip(&after, &done).unwrap()).unwrap();
            assert_eq!(back, Value::Object(value), "{before}");
        }
        assert!(edited > 300, "{edited}");
    }
}
