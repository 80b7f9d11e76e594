//! What a forge says about its own API, held against what was asked of a double and what it answered.
//!
//! The descriptions are data files that others publish. They are found by environment variables; without one its part is
//! not checked, and [`descriptions_are_at_hand`] says so.

use std::{
    collections::BTreeMap,
    env, fs,
    sync::{Mutex, OnceLock, PoisonError},
};

use jsonschema::{Draft, Registry, Validator};
use serde_json::{Map, Value, json};
use testkit::{agents::skip, forges::Exchange};

/// The name by which schemas refer to the description that they are in.
const SPEC: &str = "urn:description";

/// A published description of an API.
pub(crate) struct Description {
    variable: &'static str,
    loaded: OnceLock<Option<Loaded>>,
}

struct Loaded {
    spec: Value,
    /// Whether the server is written in Go.
    is_go: bool,
    registry: Registry<'static>,
    /// Validators by the place of their schema.
    validators: Mutex<BTreeMap<String, Option<&'static Validator>>>,
}

pub(crate) static GITHUB: Description = Description::new("WARP_TEST_GITHUB_OPENAPI");
pub(crate) static FORGEJO: Description = Description::new("WARP_TEST_FORGEJO_SWAGGER");
pub(crate) static GITEA: Description = Description::new("WARP_TEST_GITEA_OPENAPI");
pub(crate) static WOODPECKER: Description = Description::new("WARP_TEST_WOODPECKER_SWAGGER");

#[test]
fn descriptions_are_at_hand() {
    for description in [&GITHUB, &FORGEJO, &GITEA, &WOODPECKER] {
        if description.load().is_none() {
            skip(&format!(
                "{} is not set, so what a double says is not compared with it",
                description.variable
            ));
        }
    }
}

/// A description that takes everything would show nothing.
#[test]
fn a_wrong_answer_is_noticed() {
    if GITHUB.load().is_none() {
        return;
    }
    let exchange = |method: &str, path: &str, status: u16, request: &Value, response: &Value| Exchange {
        method: method.to_owned(),
        path: path.to_owned(),
        query: String::new(),
        account: None,
        is_conditional: false,
        status: Some(status),
        request: if request.is_null() { Vec::new() } else { request.to_string().into_bytes() },
        response: response.to_string().into_bytes(),
        content_type: "application/json".to_owned(),
        is_faulty: false,
    };
    let is_wrong = |exchange: Exchange| !GITHUB.faults(&[exchange]).is_empty();
    let labels = "/repos/a/b/labels";
    let label = json!({ "id": 1, "node_id": "x", "url": "http://x", "name": "n", "description": null, "color": "fff",
        "default": false });
    assert!(!is_wrong(exchange("GET", labels, 200, &Value::Null, &json!([label]))));
    assert!(is_wrong(exchange("GET", labels, 200, &Value::Null, &json!([{ "id": 1 }]))));
    assert!(is_wrong(exchange("POST", labels, 201, &json!({}), &label)));
    assert!(is_wrong(exchange("POST", labels, 201, &json!({ "name": "n", "colour": "x" }), &label)));
    assert!(is_wrong(exchange("GET", "/repos/a/b/lables", 200, &Value::Null, &json!([]))));
    assert!(is_wrong(exchange("GET", labels, 204, &Value::Null, &json!([]))));
}

impl Description {
    const fn new(variable: &'static str) -> Self {
        Self { variable, loaded: OnceLock::new() }
    }

    /// Panics if something was asked or answered that the description does not have.
    pub(crate) fn check(&self, exchanges: &[Exchange]) {
        let faults = self.faults(exchanges);
        assert!(faults.is_empty(), "not as described:\n{}", faults.join("\n"));
    }

    fn faults(&self, exchanges: &[Exchange]) -> Vec<String> {
        let Some(loaded) = self.load() else { return Vec::new() };
        // What a fault has spoilt is nobody's contract, nor is git's own protocol.
        let described = exchanges.iter().filter(|exchange| !exchange.is_faulty && is_api(&exchange.path));
        let mut faults: Vec<String> = described.flat_map(|exchange| loaded.faults(exchange)).collect();
        faults.sort();
        faults.dedup();
        faults
    }

    fn load(&self) -> Option<&Loaded> {
        self.loaded.get_or_init(|| env::var(self.variable).ok().map(|path| Loaded::read(&path))).as_ref()
    }
}

fn is_api(path: &str) -> bool {
    let is_git = path.contains(".git/") || path.ends_with("/info/refs");
    // A job's log is fetched from where the API sends the client, which is no part of it.
    !is_git && path != "/graphql" && !path.ends_with("/logs/text")
}

impl Loaded {
    fn read(path: &str) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut spec: Value = serde_json::from_str(&text).unwrap();

        // Servers in Go leave out what is empty, and their descriptions do not say what may be null.
        let is_go = spec.get("swagger").is_some() || spec["info"]["title"] == "Gitea API";
        rewrite(&mut spec, is_go);
        let registry =
            Registry::new().draft(Draft::Draft4).add(SPEC, spec.clone()).unwrap().prepare().unwrap();
        Self { spec, is_go, registry, validators: Mutex::default() }
    }

    fn faults(&self, exchange: &Exchange) -> Vec<String> {
        let name = format!("{} {}", exchange.method, exchange.path);
        let Some(status) = exchange.status else { return Vec::new() };
        let Some((template, operation)) = self.operation(exchange) else {
            let is_refused = status == 404 || status == 405;
            return if is_refused { Vec::new() } else { vec![format!("{name}: no such call")] };
        };
        let place = vec!["paths".to_owned(), template, exchange.method.to_lowercase()];
        let mut faults = Vec::new();
        if status < 400 {
            faults.extend(self.request(&place, operation, exchange));
        }
        faults.extend(self.response(place, operation, exchange, status));
        faults.into_iter().map(|fault| format!("{name}: {fault}")).collect()
    }

    /// Finds the call that a request is: the one with the most words of its own.
    fn operation(&self, exchange: &Exchange) -> Option<(String, &Value)> {
        let given: Vec<&str> = exchange.path.split('/').filter(|part| !part.is_empty()).collect();
        let paths = self.spec["paths"].as_object().unwrap();
        let fitting = paths.iter().filter_map(|(template, item)| {
            let operation = item.get(exchange.method.to_lowercase())?;
            let wanted: Vec<&str> = template.split('/').filter(|part| !part.is_empty()).collect();
            // The last parameter may be a path or a branch, with slashes of its own.
            let fits = wanted.len() == given.len()
                || (wanted.len() < given.len() && wanted.last().is_some_and(|last| last.starts_with('{')));
            let fits = fits && wanted.iter().zip(&given).all(|(one, other)| part_fits(one, other));
            let own = wanted.iter().filter(|part| !part.contains('{')).count();
            fits.then_some((own, wanted.len(), template, operation))
        });
        let best = fitting.max_by_key(|(own, length, _, _)| (*own, *length));
        best.map(|(_, _, template, operation)| (template.clone(), operation))
    }

    fn request(&self, place: &[String], operation: &Value, exchange: &Exchange) -> Vec<String> {
        if exchange.request.is_empty() {
            return Vec::new();
        }
        let body: Value = match serde_json::from_slice(&exchange.request) {
            Ok(body) => body,
            Err(error) => return vec![format!("the request is no JSON: {error}")],
        };
        let mut place = place.to_vec();
        if let Some(parameters) = operation["parameters"].as_array()
            && let Some(at) = parameters.iter().position(|parameter| parameter["in"] == "body")
        {
            place.extend(["parameters".to_owned(), at.to_string(), "schema".to_owned()]);
        } else if operation["requestBody"].is_object() {
            let mut found = &operation["requestBody"];
            place.push("requestBody".to_owned());
            if let Some(other) = found["$ref"].as_str() {
                place = pointer_of(other);
                found = self.at(&place);
            }
            if found["content"]["application/json"]["schema"].is_null() {
                return Vec::new();
            }
            place.extend(["content", "application/json", "schema"].map(str::to_owned));
        } else {
            // Clients send an empty object where nothing is wanted.
            let is_empty = body.as_object().is_some_and(Map::is_empty);
            return if is_empty { Vec::new() } else { vec!["no body is wanted".to_owned()] };
        }
        let known = self.fields(self.at(&place));
        let mut body = body;
        if let (true, Some(object)) = (self.is_go, body.as_object_mut()) {
            // Go reads the names of fields in any case.
            for (key, value) in std::mem::take(object) {
                let meant = known.iter().find(|known| known.eq_ignore_ascii_case(&key));
                object.insert(meant.cloned().unwrap_or(key), value);
            }
        }
        let mut faults: Vec<String> = self.compare(&place, &body, "request");
        if let (Some(object), false) = (body.as_object(), known.is_empty()) {
            let unknown = object.keys().filter(|key| !known.contains(key));
            faults.extend(unknown.map(|key| format!("the request has a field `{key}` that nobody knows")));
        }
        faults
    }

    /// Returns the fields that a schema names, whichever of its variants has them.
    fn fields(&self, schema: &Value) -> Vec<String> {
        if let Some(other) = schema["$ref"].as_str() {
            return self.fields(self.at(&pointer_of(other)));
        }
        let own = schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys().cloned());
        let variants =
            ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
        own.chain(variants.flat_map(|variant| self.fields(variant))).collect()
    }

    fn response(
        &self,
        mut place: Vec<String>,
        operation: &Value,
        exchange: &Exchange,
        status: u16,
    ) -> Vec<String> {
        let code = status.to_string();
        let mut found = &operation["responses"][&code];
        if found.is_null() {
            // Any call may be refused; what succeeds is described.
            return if status >= 400 || status == 304 {
                Vec::new()
            } else {
                vec![format!("nobody answers {status}")]
            };
        }
        place.extend(["responses".to_owned(), code]);
        if let Some(other) = found["$ref"].as_str() {
            place = pointer_of(other);
            found = self.at(&place);
        }
        if found["content"]["application/json"]["schema"].is_object() {
            place.extend(["content", "application/json", "schema"].map(str::to_owned));
        } else if found["schema"].is_object() {
            place.push("schema".to_owned());
        } else {
            let is_empty = exchange.response.is_empty() || status >= 300;
            let is_text = !exchange.content_type.contains("json");
            return if is_empty || is_text { Vec::new() } else { vec![format!("{status} has no body")] };
        }
        if !exchange.content_type.contains("json") {
            return Vec::new();
        }
        match serde_json::from_slice(&exchange.response) {
            Ok(body) => self.compare(&place, &body, "answer"),
            Err(error) => vec![format!("the answer is no JSON: {error}")],
        }
    }

    fn at(&self, place: &[String]) -> &Value {
        place.iter().fold(&self.spec, |value, key| match value {
            Value::Array(list) => &list[key.parse::<usize>().unwrap()],
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                &value[key]
            }
        })
    }

    fn compare(&self, place: &[String], body: &Value, what: &str) -> Vec<String> {
        let pointer: String = place.iter().map(|key| format!("/{}", escape(key))).collect();
        let mut validators = self.validators.lock().unwrap_or_else(PoisonError::into_inner);
        let validator = *validators.entry(pointer.clone()).or_insert_with(|| {
            let schema = json!({ "$ref": format!("{SPEC}#{pointer}") });
            let options = jsonschema::options().with_draft(Draft::Draft4);
            let built = options.with_registry(&self.registry).build(&schema);

            // Validators are few, and live as long as the tests do.
            Some(Box::leak(Box::new(built.unwrap_or_else(|error| panic!("{pointer}: {error}")))))
        });
        drop(validators);
        let Some(validator) = validator else { return Vec::new() };
        let errors = validator.iter_errors(body);
        errors
            .map(|error| {
                let text: String = error.to_string().chars().take(300).collect();
                format!("the {what} at `{}`: {text}", error.instance_path())
            })
            .collect()
    }
}

/// Says whether a word of a template stands for a word of a path: `{index}.{diffType}` has a dot of its own.
fn part_fits(wanted: &str, given: &str) -> bool {
    match wanted {
        _ if wanted.contains("}.{") => given.contains('.'),
        _ if wanted.starts_with('{') => true,
        _ => wanted == given,
    }
}

fn pointer_of(reference: &str) -> Vec<String> {
    let parts = reference.trim_start_matches("#/").split('/');
    parts
        .map(|part| part.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}"))
        .collect()
}

/// Writes a key so that it can stand in a reference.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1").replace('{', "%7B").replace('}', "%7D").replace('+', "%2B")
}

/// Turns what only such descriptions say into what every validator understands: what may be null.
fn rewrite(value: &mut Value, is_go: bool) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|one| rewrite(one, is_go)),
        Value::Object(object) => {
            for key in ["example", "examples", "description", "discriminator"] {
                // A field may have such a name; then it is a schema.
                if object.get(key).is_some_and(|found| !is_schema(found)) {
                    object.remove(key);
                }
            }
            object.values_mut().for_each(|one| rewrite(one, is_go));
            if is_go {
                // An empty text stands for none, whatever a text should be.
                if object.get("format").is_some_and(|format| format == "uri" || format == "email") {
                    object.remove("format");
                }
                if let Some(Value::Array(words)) = object.get_mut("enum") {
                    words.push(json!(""));
                }
            }
            // Where nothing says what may be null, it is what Go leaves out: lists, objects and times.
            if is_go && let Some(fields) = object.get_mut("properties").and_then(Value::as_object_mut) {
                for (name, field) in fields {
                    // Go writes a list of bytes as text.
                    if name == "data" && field["items"]["type"] == "integer" {
                        *field = json!({ "type": "string" });
                    }
                    let is_open = name == "merge_commit_sha"
                        || field.get("$ref").is_some()
                        || field["type"] == "array"
                        || field["type"] == "object"
                        || field["format"] == "date-time";
                    if is_open {
                        *field = json!({ "anyOf": [field.clone(), { "type": "null" }] });
                    }
                }
            }
            if object.get("nullable") == Some(&Value::Bool(true)) {
                object.remove("nullable");
                let plain = Value::Object(std::mem::take(object));
                *value = json!({ "anyOf": [plain, { "type": "null" }] });
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_schema(value: &Value) -> bool {
    value.as_object().is_some_and(|object| {
        ["type", "$ref", "anyOf", "oneOf", "allOf", "nullable", "enum"]
            .iter()
            .any(|key| object.contains_key(*key))
    })
}
