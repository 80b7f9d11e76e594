//! JSON that belongs to somebody else: changed where it must be, and nowhere else.
//!
//! A [`Document`] is a text with a map of its values. An edit replaces a few bytes of the text, in the text's own
//! indentation and line ends, so that the order of keys, blank lines and odd spacing all stay as they were.
//! Adding at the end and taking the same thing away again gives back the same bytes.

use serde_json::Value;

/// A JSON text whose top is an object, and where its values are.
#[derive(Clone, Debug)]
pub(super) struct Document {
    text: String,
    root: Node,
    style: Style,
}

/// Why a text cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("line {line}, column {column}: {problem}")]
    Syntax { line: usize, column: usize, problem: String },
    #[error("`{path}` must be {wanted}")]
    Shape { path: String, wanted: &'static str },
}

/// How a text is laid out.
#[derive(Clone, Debug)]
struct Style {
    indent: String,
    line_end: &'static str,
    /// Everything on one line.
    dense: bool,
}

/// A value's place in the text: its first byte and the one after its last.
#[derive(Clone, Debug)]
struct Node {
    start: usize,
    end: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

#[derive(Clone, Debug)]
struct Member {
    /// Where the key's quotation mark is.
    start: usize,
    key: String,
    value: Node,
}

impl Document {
    /// Reads a text; one without anything in it counts as an empty object.
    pub(super) fn parse(text: &str) -> Result<Self, JsonError> {
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        let value: Value = serde_json::from_str(text).map_err(|error| {
            // The place is said in fields of its own.
            let problem = error.to_string();
            let problem = problem.split(" at line ").next().unwrap_or_default().to_owned();
            JsonError::Syntax { line: error.line(), column: error.column(), problem }
        })?;
        if !value.is_object() {
            return Err(JsonError::Shape { path: "the file".to_owned(), wanted: "a JSON object" });
        }
        Ok(Self {
            root: Reader { bytes: text.as_bytes(), at: 0 }.value(),
            style: Style::of(text),
            text: text.to_owned(),
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the value at a path, if there is one.
    pub(super) fn value(&self, path: &[&str]) -> Option<Value> {
        self.node(path).map(|node| self.read(node))
    }

    /// Returns how many elements or members there are at a path; none if it holds neither.
    pub(super) fn len(&self, path: &[&str]) -> Option<usize> {
        match &self.node(path)?.kind {
            Kind::Object(members) => Some(members.len()),
            Kind::Array(elements) => Some(elements.len()),
            Kind::Scalar => None,
        }
    }

    /// Puts a member at the end of the object at `path`, or gives the one that is there another value.
    pub(super) fn set(&mut self, path: &[&str], key: &str, value: &Value) {
        if let Some(node) = self.node(&[path, &[key]].concat()) {
            let (start, end) = (node.start, node.end);
            let depth = self.depth_of_line(start);
            let rendered = self.style.render(value, &depth, self.style.dense);
            self.replace(start, end, &rendered);
            return;
        }
        let Some(node) = self.node(path) else { return };
        let Kind::Object(members) = &node.kind else { return };
        let places = members.iter().map(|member| (member.start, member.value.end)).collect();
        let (start, end) = (node.start, node.end);
        let key = format!("{}:{}", Value::from(key), if self.style.dense { "" } else { " " });
        self.append(start, end, places, ('{', '}'), &key, value);
    }

    /// Puts an element at the end of the array at `path`.
    pub(super) fn push(&mut self, path: &[&str], value: &Value) {
        let Some(node) = self.node(path) else { return };
        let Kind::Array(elements) = &node.kind else { return };
        let places = elements.iter().map(|element| (element.start, element.end)).collect();
        let (start, end) = (node.start, node.end);
        self.append(start, end, places, ('[', ']'), "", value);
    }

    /// Takes a member of an object or an element of an array away, with the comma that goes with it.
    pub(super) fn remove(&mut self, path: &[&str]) {
        let Some((last, above)) = path.split_last() else { return };
        let Some(node) = self.node(above) else { return };
        let places: Vec<(usize, usize)> = match &node.kind {
            Kind::Object(members) => members.iter().map(|member| (member.start, member.value.end)).collect(),
            Kind::Array(elements) => elements.iter().map(|element| (element.start, element.end)).collect(),
            Kind::Scalar => return,
        };
        let Some(index) = node.index(last) else { return };
        let (inside, outside) = ((node.start + 1, node.end - 1), places[index]);
        let (start, end) = match (index.checked_sub(1).map(|before| places[before]), places.get(index + 1)) {
            (Some((_, before)), _) => (before, outside.1),
            (None, Some((after, _))) => (outside.0, *after),
            (None, None) => inside,
        };
        self.replace(start, end, "");
    }

    /// Inserts after the last of `places` between the brackets at `start` and `end`.
    fn append(
        &mut self,
        start: usize,
        end: usize,
        places: Vec<(usize, usize)>,
        brackets: (char, char),
        key: &str,
        value: &Value,
    ) {
        let Some((last_start, last_end)) = places.last().copied() else {
            let outer = self.depth_of_line(start);
            let (open, close) = brackets;
            let text = if self.style.dense {
                format!("{open}{key}{}{close}", self.style.render(value, "", true))
            } else {
                let inner = format!("{outer}{}", self.style.indent);
                let value = self.style.render(value, &inner, false);
                let line_end = self.style.line_end;
                format!("{open}{line_end}{inner}{key}{value}{line_end}{outer}{close}")
            };
            self.replace(start, end, &text);
            return;
        };
        // What stands between the last entry and the one before is what will stand between the new and the last.
        let gap_start = places.len().checked_sub(2).map_or(start, |before| places[before].1);
        let gap = &self.text[gap_start..last_start];
        let text = if gap.contains('\n') {
            let depth = self.depth_of_line(last_start);
            let value = self.style.render(value, &depth, false);
            format!(",{}{depth}{key}{value}", self.style.line_end)
        } else {
            let space = if self.style.dense && !gap.ends_with(' ') { "" } else { " " };
            format!(",{space}{key}{}", self.style.render(value, "", true))
        };
        self.replace(last_end, last_end, &text);
    }

    fn replace(&mut self, start: usize, end: usize, with: &str) {
        self.text.replace_range(start..end, with);
        self.root = Reader { bytes: self.text.as_bytes(), at: 0 }.value();
    }

    /// Returns the white space at the beginning of the line that `at` is on.
    fn depth_of_line(&self, at: usize) -> String {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        self.text[line..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
    }

    fn node(&self, path: &[&str]) -> Option<&Node> {
        let mut node = &self.root;
        for step in path {
            let index = node.index(step)?;
            node = match &node.kind {
                Kind::Object(members) => &members[index].value,
                Kind::Array(elements) => &elements[index],
                Kind::Scalar => return None,
            };
        }
        Some(node)
    }

    fn read(&self, node: &Node) -> Value {
        serde_json::from_str(&self.text[node.start..node.end])
            .expect("every part of valid JSON is valid JSON")
    }
}

impl Node {
    /// Returns where a key, or an index written as text, is. Of equal keys the last one counts, as in every client.
    fn index(&self, step: &str) -> Option<usize> {
        match &self.kind {
            Kind::Object(members) => members.iter().rposition(|member| member.key == step),
            Kind::Array(elements) => step.parse().ok().filter(|index| *index < elements.len()),
            Kind::Scalar => None,
        }
    }
}

impl Style {
    fn of(text: &str) -> Self {
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indented = |line: &str| {
            let rest = line.trim_start_matches([' ', '\t']);
            (rest.len() < line.len() && rest.starts_with('"'))
                .then(|| line[..line.len() - rest.len()].to_owned())
        };
        let indent = text.lines().find_map(indented).unwrap_or_else(|| "  ".to_owned());
        let body = text.trim();
        Self { indent, line_end, dense: body.len() > 2 && !body.contains('\n') }
    }

    fn render(&self, value: &Value, depth: &str, dense: bool) -> String {
        if dense {
            return if self.dense { value.to_string() } else { spaced(value) };
        }
        let indent = self.indent.as_bytes();
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent);
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        serde::Serialize::serialize(value, &mut serializer).expect("a JSON value can be written");
        let text = String::from_utf8(bytes).expect("JSON is written as UTF-8");
        text.replace('\n', &format!("{}{depth}", self.line_end))
    }
}

/// Writes a value on one line, with a space after each comma and colon.
fn spaced(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(fields) => {
            let field =
                |(key, value): (&String, &Value)| format!("{}: {}", Value::from(key.as_str()), spaced(value));
            format!("{{{}}}", list(fields.iter().map(field).collect()))
        }
        Value::Array(elements) => format!("[{}]", list(elements.iter().map(spaced).collect())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

/// Walks through a text that is known to be valid JSON. It is at most 128 levels deep: the parser saw to that.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Node {
        self.space();
        let start = self.at;
        let kind = match self.peek() {
            b'{' => Kind::Object(self.entries(b'}', Self::member)),
            b'[' => Kind::Array(self.entries(b']', Self::value)),
            b'"' => {
                self.string();
                Kind::Scalar
            }
            _ => {
                while !matches!(self.peek(), b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' | 0) {
                    self.at += 1;
                }
                Kind::Scalar
            }
        };
        Node { start, end: self.at, kind }
    }

    fn entries<T>(&mut self, close: u8, mut entry: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut entries = Vec::new();
        self.at += 1;
        self.space();
        while self.peek() != close && self.at < self.bytes.len() {
            entries.push(entry(self));
            self.space();
            if self.peek() == b',' {
                self.at += 1;
                self.space();
            }
        }
        self.at += 1;
        entries
    }

    fn member(&mut self) -> Member {
        let start = self.at;
        self.string();
        let key = serde_json::from_slice(&self.bytes[start..self.at]).unwrap_or_default();
        self.space();
        // The colon.
        self.at += 1;
        Member { start, key, value: self.value() }
    }

    fn string(&mut self) {
        self.at += 1;
        while !matches!(self.peek(), b'"' | 0) {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    /// Returns the byte at hand; past the end, zero, which no valid JSON holds.
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
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
    fn an_addition_keeps_every_other_byte() {
        for (before, after) in [
            ("{}", "{\n  \"new\": [\n    1\n  ]\n}"),
            ("", "{\n  \"new\": [\n    1\n  ]\n}\n"),
            ("{\"a\":1}", "{\"a\":1,\"new\":[1]}"),
            ("{ \"a\": 1 }\n", "{ \"a\": 1, \"new\":[1] }\n"),
            ("{\r\n\t\"a\": 1\r\n}", "{\r\n\t\"a\": 1,\r\n\t\"new\": [\r\n\t\t1\r\n\t]\r\n}"),
            (
                "{\n     \"a\":   {}\n\n}\n",
                "{\n     \"a\":   {},\n     \"new\": [\n          1\n     ]\n\n}\n",
            ),
            (
                "{\n  \"a\\\"}\": \"}\\\\\",\n  \"b\": 2\n}",
                "{\n  \"a\\\"}\": \"}\\\\\",\n  \"b\": 2,\n  \"new\": [\n    1\n  ]\n}",
            ),
        ] {
            let mut edited = document(before);
            edited.set(&[], "new", &json!([1]));
            assert_eq!(edited.text(), after);
            let mut back = document(after);
            back.remove(&["new"]);
            if edited.len(&[]) != Some(1) {
                assert_eq!(back.text(), before);
            }
        }
    }

    #[test]
    fn elements_go_to_the_end_of_their_list_in_its_own_layout() {
        let mut edited = document("{\n  \"a\": [\"x\", \"y\"],\n  \"b\": [\n    1\n  ],\n  \"c\": []\n}\n");
        edited.push(&["a"], &json!({"k": [1]}));
        edited.push(&["b"], &json!(2));
        edited.push(&["c"], &json!("z"));
        assert_eq!(
            edited.text(),
            "{\n  \"a\": [\"x\", \"y\", {\"k\": [1]}],\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": [\n    \"z\"\n  ]\n}\n"
        );
        edited.remove(&["a", "0"]);
        edited.remove(&["a", "1"]);
        edited.remove(&["b", "1"]);
        edited.remove(&["c", "0"]);
        assert_eq!(edited.text(), "{\n  \"a\": [\"y\"],\n  \"b\": [\n    1\n  ],\n  \"c\": []\n}\n");
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
        assert_eq!(error.to_string(), "line 3, column 1: trailing comma");
        assert!(matches!(Document::parse("[1]"), Err(JsonError::Shape { .. })));
        assert!(Document::parse(&"[".repeat(500)).is_err());
    }

    #[test]
    fn of_equal_keys_the_last_one_counts() {
        let edited = document("{\"a\":1,\"a\":2}");
        assert_eq!(edited.value(&["a"]), Some(json!(2)));
    }
}
