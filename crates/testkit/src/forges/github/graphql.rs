//! GitHub's GraphQL, as far as its command line uses it: a query is read, and its fields are looked up one by one.
//!
//! A field that is not modelled is an error that names it, as on the real server: nothing is made up.

mod checks;
mod fields;
mod mutations;
mod types;

use std::collections::BTreeMap;

use graphql_parser::query::{
    Definition, Document, Field, FragmentDefinition, OperationDefinition, Selection, SelectionSet,
    TypeCondition, Value as Ast, parse_query,
};
use serde_json::{Map, Value, json};

use self::types::is_a;
use super::{Call, error};
use crate::forges::http::{Answer, Reply};

/// How many entries a list has where the query does not say.
const USUAL: usize = 30;
/// How deep a query may go.
const DEEPEST: usize = 24;

/// Something that has fields.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Query,
    User(String),
    Repo(usize),
    /// A branch of a repository.
    Branch(usize, String),
    Issue(usize, u64),
    Pull(usize, u64),
    Label(usize, u64),
    Comment(usize, u64, u64),
    Review(usize, u64, u64),
    Commit(usize, String),
    /// A commit as a pull request lists it.
    PullCommit(usize, String),
    Rollup(usize, String),
    Status(usize, u64),
    Check(usize, u64),
    Suite(usize, u64),
    File(usize, u64, usize),
    List {
        all: Vec<Node>,
        shown: Vec<Node>,
        has_next: bool,
        end: usize,
    },
    Edge(Box<Node>, usize),
    PageInfo {
        has_next: bool,
        end: usize,
    },
    /// What introspection asks for.
    Type(String),
    /// An object that has its fields already.
    Plain(Map<String, Value>, &'static str),
}

/// What a field is.
pub(super) enum Found {
    Leaf(Value),
    One(Node),
    Many(Vec<Node>),
    Connection(Vec<Node>),
}

/// Why a field has no value, with the kind that GitHub gives it.
#[derive(Debug)]
pub(super) struct Fault {
    kind: &'static str,
    message: String,
}

impl Fault {
    pub(super) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    fn unprocessable(message: impl Into<String>) -> Self {
        Self::new("UNPROCESSABLE", message)
    }
}

impl From<Answer> for Fault {
    fn from(answer: Answer) -> Self {
        let body = answer.value();
        let detail = body["errors"][0]["message"].as_str().or_else(|| body["message"].as_str());
        let kind = match answer.status {
            401 | 403 => "FORBIDDEN",
            404 => "NOT_FOUND",
            _ => "UNPROCESSABLE",
        };
        Self::new(kind, detail.unwrap_or("Something went wrong"))
    }
}

pub(super) type Looked = Result<Found, Fault>;

/// A query that is being answered.
pub(super) struct Query<'a, 'c, 'd> {
    pub(super) call: &'a mut Call<'c>,
    fragments: BTreeMap<&'d str, &'d FragmentDefinition<'d, String>>,
    variables: Map<String, Value>,
    errors: Vec<Value>,
}

/// Answers a request to the endpoint.
pub(super) fn answer(call: &mut Call) -> Reply {
    call.login().map_err(|_| error(401, "This endpoint requires you to be authenticated."))?;
    let text = call.text("query").unwrap_or_default();
    let document: Document<String> = match parse_query(&text) {
        Ok(document) => document,
        Err(broken) => {
            let body = json!({ "errors": [{ "message": format!("Parse error: {broken}") }] });
            return Ok(Answer::json(200, &body));
        }
    };
    let variables = call.body["variables"].as_object().cloned().unwrap_or_default();
    let mut query = Query { call, fragments: BTreeMap::new(), variables, errors: Vec::new() };
    let mut operation = None;
    for definition in &document.definitions {
        match definition {
            Definition::Fragment(fragment) => {
                query.fragments.insert(&fragment.name, fragment);
            }
            Definition::Operation(found) => operation = operation.or(Some(found)),
        }
    }
    let data = match operation {
        Some(OperationDefinition::SelectionSet(set)) => query.select(&Node::Query, set, &mut Vec::new()),
        Some(OperationDefinition::Query(found)) => {
            query.defaults(&found.variable_definitions);
            query.select(&Node::Query, &found.selection_set, &mut Vec::new())
        }
        Some(OperationDefinition::Mutation(found)) => {
            query.defaults(&found.variable_definitions);
            query.mutate(&found.selection_set)
        }
        Some(OperationDefinition::Subscription(_)) | None => Value::Null,
    };
    let mut body = json!({ "data": data });
    if !query.errors.is_empty() {
        body["errors"] = Value::Array(query.errors);
    }
    Ok(Answer::json(200, &body))
}

impl<'d> Query<'_, '_, 'd> {
    fn defaults(&mut self, wanted: &'d [graphql_parser::query::VariableDefinition<'d, String>]) {
        for variable in wanted {
            if let (Some(value), false) =
                (&variable.default_value, self.variables.contains_key(&variable.name))
            {
                let value = self.value(value);
                self.variables.insert(variable.name.clone(), value);
            }
        }
    }

    fn value(&self, ast: &Ast<'d, String>) -> Value {
        match ast {
            Ast::Variable(name) => self.variables.get(name).cloned().unwrap_or_default(),
            Ast::Int(number) => json!(number.as_i64()),
            Ast::Float(number) => json!(number),
            Ast::String(text) | Ast::Enum(text) => json!(text),
            Ast::Boolean(value) => json!(value),
            Ast::Null => Value::Null,
            Ast::List(all) => Value::Array(all.iter().map(|one| self.value(one)).collect()),
            Ast::Object(fields) => {
                Value::Object(fields.iter().map(|(name, value)| (name.clone(), self.value(value))).collect())
            }
        }
    }

    fn arguments(&self, field: &Field<'d, String>) -> Map<String, Value> {
        field.arguments.iter().map(|(name, value)| (name.clone(), self.value(value))).collect()
    }

    /// Looks up the fields that a query asks of something.
    fn select(&mut self, node: &Node, set: &'d SelectionSet<'d, String>, path: &mut Vec<String>) -> Value {
        let mut shown = Map::new();
        if path.len() < DEEPEST {
            self.select_into(node, set, path, &mut shown);
        } else {
            self.errors
                .push(json!({ "type": "MAX_NODE_LIMIT_EXCEEDED", "path": path, "message": "too deep" }));
        }
        Value::Object(shown)
    }

    fn select_into(
        &mut self,
        node: &Node,
        set: &'d SelectionSet<'d, String>,
        path: &mut Vec<String>,
        shown: &mut Map<String, Value>,
    ) {
        for selection in &set.items {
            match selection {
                Selection::Field(field) => {
                    let key = field.alias.as_ref().unwrap_or(&field.name).clone();
                    if self.is_left_out(field) {
                        continue;
                    }
                    path.push(key.clone());
                    let value = self.look_up(node, field, path);
                    path.pop();
                    merge(shown, key, value);
                }
                Selection::InlineFragment(fragment) => {
                    if self.applies(node, fragment.type_condition.as_ref()) {
                        self.select_into(node, &fragment.selection_set, path, shown);
                    }
                }
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = self.fragments.get(spread.fragment_name.as_str()).copied()
                        && self.applies(node, Some(&fragment.type_condition))
                    {
                        self.select_into(node, &fragment.selection_set, path, shown);
                    }
                }
            }
        }
    }

    /// Says whether a directive leaves a field out.
    fn is_left_out(&self, field: &Field<'d, String>) -> bool {
        field.directives.iter().any(|directive| {
            let condition = directive.arguments.iter().find(|(name, _)| name == "if");
            let condition = condition.map(|(_, value)| self.value(value) == true);
            matches!((directive.name.as_str(), condition), ("skip", Some(true)) | ("include", Some(false)))
        })
    }

    fn applies(&self, node: &Node, condition: Option<&TypeCondition<'d, String>>) -> bool {
        let Some(TypeCondition::On(wanted)) = condition else { return true };
        is_a(&self.type_name(node), wanted)
    }

    fn look_up(&mut self, node: &Node, field: &'d Field<'d, String>, path: &mut Vec<String>) -> Value {
        if field.name == "__typename" {
            return json!(self.type_name(node));
        }
        let arguments = self.arguments(field);
        match self.field(node, &field.name, &arguments) {
            Ok(found) => self.show(found, field, &arguments, path),
            Err(fault) => {
                self.errors.push(json!({ "type": fault.kind, "path": path, "message": fault.message }));
                Value::Null
            }
        }
    }

    fn show(
        &mut self,
        found: Found,
        field: &'d Field<'d, String>,
        arguments: &Map<String, Value>,
        path: &mut Vec<String>,
    ) -> Value {
        let set = &field.selection_set;
        match found {
            Found::Leaf(Value::Object(object)) if !set.items.is_empty() => {
                self.select(&Node::Plain(object, ""), set, path)
            }
            Found::Leaf(value) => value,
            Found::One(node) => self.select(&node, set, path),
            Found::Many(all) => Value::Array(all.iter().map(|node| self.select(node, set, path)).collect()),
            Found::Connection(all) => self.select(&page(all, arguments), set, path),
        }
    }

    fn mutate(&mut self, set: &'d SelectionSet<'d, String>) -> Value {
        let mut shown = Map::new();
        for selection in &set.items {
            let Selection::Field(field) = selection else { continue };
            let key = field.alias.as_ref().unwrap_or(&field.name).clone();
            let arguments = self.arguments(field);
            let input = arguments.get("input").cloned().unwrap_or_default();
            let value = match self.carry_out(&field.name, &input) {
                Ok(fields) => {
                    let mut done = Map::new();
                    for selection in &field.selection_set.items {
                        let Selection::Field(inner) = selection else { continue };
                        let value = match fields.iter().find(|(name, _)| *name == inner.name) {
                            Some((_, node)) => {
                                self.select(node, &inner.selection_set, &mut vec![key.clone()])
                            }
                            None => Value::Null,
                        };
                        done.insert(inner.alias.as_ref().unwrap_or(&inner.name).clone(), value);
                    }
                    Value::Object(done)
                }
                Err(fault) => {
                    self.errors.push(json!({ "type": fault.kind, "path": [key], "message": fault.message }));
                    Value::Null
                }
            };
            shown.insert(key, value);
        }
        Value::Object(shown)
    }
}

/// Adds a field; what two fragments ask of one object comes together.
fn merge(into: &mut Map<String, Value>, key: String, value: Value) {
    match (into.get_mut(&key), value) {
        (Some(Value::Object(known)), Value::Object(more)) => {
            for (key, value) in more {
                merge(known, key, value);
            }
        }
        (Some(Value::Array(known)), Value::Array(more)) if known.len() == more.len() => {
            for (known, more) in known.iter_mut().zip(more) {
                if let (Value::Object(known), Value::Object(more)) = (known, more) {
                    for (key, value) in more {
                        merge(known, key, value);
                    }
                }
            }
        }
        (_, value) => {
            into.insert(key, value);
        }
    }
}

/// Cuts the part out of a list that a query asks for.
fn page(all: Vec<Node>, arguments: &Map<String, Value>) -> Node {
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64).map(|number| number as usize);
    let after = arguments.get("after").and_then(Value::as_str).and_then(|cursor| cursor.parse().ok());
    let begin = match (number("last"), after) {
        (Some(last), _) => all.len().saturating_sub(last),
        (None, after) => after.unwrap_or(0).min(all.len()),
    };
    let size = number("first").or(number("last")).unwrap_or(USUAL);
    let end = (begin + size).min(all.len());
    Node::List { shown: all[begin..end].to_vec(), has_next: end < all.len(), end, all }
}
