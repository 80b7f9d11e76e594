//! JSON that belongs to somebody else: changed where it must be, and nowhere else.
//!
//! A [`Document`] is a syntax tree that keeps every byte, comments too. What is added takes the text's own
//! indentation and line ends. Only comments are allowed beyond JSON.

use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode},
};
use serde_json::Value;

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A JSON text whose top is an object.
#[derive(Clone, Debug)]
pub(super) struct Document {
    root: CstRootNode,
}

/// Why a text cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("line {line}, column {column}: {problem}")]
    Syntax { line: usize, column: usize, problem: String },
    #[error("`{path}` must be {wanted}")]
    Shape { path: String, wanted: &'static str },
}

impl Document {
    /// Reads a text; one without anything in it counts as an empty object.
    pub(super) fn parse(text: &str) -> Result<Self, JsonError> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let root = CstRootNode::parse(text, &OPTIONS).map_err(|error| {
            let mut problem = error.kind().to_string();
            // What it says begins with a capital letter, which is one byte.
            problem[..1].make_ascii_lowercase();
            JsonError::Syntax { line: error.line_display(), column: error.column_display(), problem }
        })?;
        if root.object_value().is_none() {
            return Err(JsonError::Shape { path: "the file".to_owned(), wanted: "a JSON object" });
        }
        Ok(Self { root })
    }

    pub(super) fn text(&self) -> String {
        self.root.to_string()
    }

    /// Returns the value at a path, if there is one.
    pub(super) fn value(&self, path: &[&str]) -> Option<Value> {
        self.node(path)?.to_serde_value()
    }

    /// Returns how many elements or members there are at a path; none if it holds neither.
    pub(super) fn len(&self, path: &[&str]) -> Option<usize> {
        let node = self.node(path)?;
        let members = node.as_object().map(|object| object.properties().len());
        members.or_else(|| node.as_array().map(|array| array.elements().len()))
    }

    /// Puts a member at the end of the object at `path`, or gives the member or element that is there another value.
    pub(super) fn set(&mut self, path: &[&str], key: &str, value: &Value) {
        let Some(node) = self.node(path) else { return };
        if let Some(object) = node.as_object() {
            match member(&object, key) {
                Some(member) => member.set_value(input(value)),
                None => drop(object.append(key, input(value))),
            }
        } else if let (Some(array), Some(element)) = (node.as_array(), step(&node, key)) {
            // `replace_with` indents what it puts there by one level too few.
            array.insert(element.element_index().unwrap_or_default(), input(value));
            element.remove();
        }
    }

    /// Puts an element at the end of the array at `path`.
    pub(super) fn push(&mut self, path: &[&str], value: &Value) {
        if let Some(array) = self.node(path).and_then(|node| node.as_array()) {
            array.append(input(value));
        }
    }

    /// Takes a member of an object or an element of an array away, with the comma that goes with it.
    pub(super) fn remove(&mut self, path: &[&str]) {
        let Some((last, above)) = path.split_last() else { return };
        let Some(node) = self.node(above) else { return };
        match node.as_object() {
            Some(object) => member(&object, last).map(CstObjectProp::remove),
            None => step(&node, last).map(CstNode::remove),
        };
    }

    fn node(&self, path: &[&str]) -> Option<CstNode> {
        path.iter().try_fold(self.root.value()?, |node, key| step(&node, key))
    }
}

/// Returns the value of a member, or the element at an index that is written as text.
fn step(node: &CstNode, key: &str) -> Option<CstNode> {
    match node.as_object() {
        Some(object) => member(&object, key)?.value(),
        None => node.as_array()?.elements().into_iter().nth(key.parse().ok()?),
    }
}

/// Returns a member. Of equal keys the last one counts, as in every client.
fn member(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    object.properties().into_iter().rev().find(|member| member.decoded_name().as_deref() == Some(key))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(elements) => CstInputValue::Array(elements.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(text: &str) -> Document {
        Document::parse(text).unwrap()
    }

    #[test]
    fn an_addition_keeps_the_indentation_the_line_ends_and_the_comments() {
        for (before, after) in [
            ("{}", "{\n  \"new\": [1]\n}"),
            ("", "{\n  \"new\": [1]\n}\n"),
            ("{\r\n\t\"a\": 1\r\n}", "{\r\n\t\"a\": 1,\r\n\t\"new\": [1]\r\n}"),
            ("{\n     \"a\":   {}\n}\n", "{\n     \"a\":   {},\n     \"new\": [1]\n}\n"),
            (
                "{\n  \"a\\\"}\": \"}\\\\\",\n  \"b\": 2\n}",
                "{\n  \"a\\\"}\": \"}\\\\\",\n  \"b\": 2,\n  \"new\": [1]\n}",
            ),
            (
                "// theirs\n{\n  /* one */\n  \"a\": 1 // two\n}\n",
                "// theirs\n{\n  /* one */\n  \"a\": 1, // two\n  \"new\": [1]\n}\n",
            ),
        ] {
            let mut edited = document(before);
            edited.set(&[], "new", &json!([1]));
            assert_eq!(edited.text(), after);
            edited.remove(&["new"]);
            assert_eq!(edited.text().trim(), if before.is_empty() { "{}" } else { before.trim() });
        }
    }

    #[test]
    fn elements_go_to_the_end_of_their_list() {
        let mut edited = document("{\n  \"a\": [\"x\", \"y\"],\n  \"b\": [\n    1\n  ],\n  \"c\": []\n}\n");
        edited.push(&["a"], &json!("z"));
        edited.push(&["b"], &json!({"k": 2}));
        edited.push(&["c"], &json!("z"));
        assert_eq!(
            edited.text(),
            "{\n  \"a\": [\"x\", \"y\", \"z\"],\n  \"b\": [\n    1,\n    {\n      \"k\": 2\n    }\n  ],\n  \"c\": [\"z\"]\n}\n"
        );
        edited.remove(&["a", "2"]);
        edited.remove(&["a", "1"]);
        edited.remove(&["b", "1"]);
        edited.remove(&["c", "0"]);
        assert_eq!(edited.text(), "{\n  \"a\": [\"x\"],\n  \"b\": [\n    1\n  ],\n  \"c\": []\n}\n");
    }

    #[test]
    fn an_element_gets_another_value_in_its_place() {
        let mut edited = document("{\n  \"a\": [\n    1,\n    2, // two\n    3\n  ]\n}");
        edited.set(&["a"], "1", &json!({"k": 4}));
        assert_eq!(edited.value(&["a"]), Some(json!([1, {"k": 4}, 3])));
    }

    #[test]
    fn a_member_that_is_there_gets_another_value() {
        let mut edited = document("{\"a\": {\"level\":  1 , \"b\": 2}}");
        edited.set(&["a"], "level", &json!(3));
        assert_eq!(edited.text(), "{\"a\": {\"level\":  3 , \"b\": 2}}");
        assert_eq!(edited.value(&["a", "level"]), Some(json!(3)));
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        let error = Document::parse("{\n  \"a\": 1,\n}").unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 9: trailing commas are not allowed");
        assert!(matches!(Document::parse("[1]"), Err(JsonError::Shape { .. })));
        assert!(Document::parse(&"[".repeat(500)).is_err());
    }

    #[test]
    fn of_equal_keys_the_last_one_counts() {
        let edited = document("{\"a\":1,\"a\":2}");
        assert_eq!(edited.value(&["a"]), Some(json!(2)));
    }
}
