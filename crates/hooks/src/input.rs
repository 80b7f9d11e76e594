//! What an agent's client tells a hook: one JSON object on standard input.
//!
//! Clients add fields and events with every release, so only what is needed is read, and whatever else is there
//! passes. A field of an unexpected type counts as absent where its absence is safe, and as bad input where a gate
//! would otherwise look away.

use std::{fmt, marker::PhantomData, path::PathBuf};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;

/// Maximum size of the input in bytes; it contains the tool's whole input.
pub const LARGEST: usize = 64 * 1024 * 1024;

/// The parsed input of a hook.
#[derive(Debug, Default, Deserialize)]
pub struct Input {
    #[serde(default, deserialize_with = "lenient")]
    pub session_id: Option<String>,
    /// The agent's working directory, which may differ from the hook's.
    #[serde(default, deserialize_with = "lenient")]
    pub cwd: Option<PathBuf>,
    #[serde(default, deserialize_with = "lenient")]
    pub tool_name: Option<String>,
    /// The client's id of the tool call.
    #[serde(default, deserialize_with = "lenient")]
    pub tool_use_id: Option<String>,
    #[serde(default)]
    pub tool_input: Tool,
    /// The person's prompt.
    #[serde(default, deserialize_with = "lenient")]
    pub prompt: Option<String>,
    /// Why a session starts: startup, resume, clear, compact.
    #[serde(default, deserialize_with = "lenient")]
    pub source: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub stop_hook_active: Option<bool>,
    #[serde(default, deserialize_with = "lenient")]
    pub last_assistant_message: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub background_tasks: Option<Vec<Value>>,
    /// Error of a failed tool or turn.
    #[serde(default, deserialize_with = "lenient")]
    pub error: Option<String>,
}

/// The part of a tool's input that a gate looks at. Here a wrong type is bad input, not an absence.
#[derive(Debug, Default)]
pub struct Tool {
    /// A shell command, or a patch.
    pub command: Option<Text>,
    pub file_path: Option<PathBuf>,
    pub notebook_path: Option<PathBuf>,
    /// Questions for the person.
    pub questions: Option<Value>,
    /// Short texts of other fields, wherever they are: with a tool that nobody knows, any may be a path.
    pub others: Vec<String>,
    /// Texts of other fields that are commands by their names, with the arguments beside them.
    pub scripts: Vec<String>,
    /// Directories in which such a command may run.
    pub directories: Vec<PathBuf>,
}

/// Fields by which a tool that is like a shell takes what it runs.
const SCRIPTS: &[&str] = &[
    "command",
    "commands",
    "cmd",
    "cmds",
    "commandline",
    "command_line",
    "script",
    "shell",
    "bash",
    "sh",
    "exec",
    "run",
    "shell_command",
    "argv",
];
/// Fields that name the directory of a command.
const DIRECTORIES: &[&str] =
    &["cwd", "workdir", "working_dir", "working_directory", "workingDirectory", "dir", "directory"];
/// Fields with the arguments of a command that stands beside them.
const ARGUMENTS: &[&str] = &["args", "arguments", "argv", "parameters"];

/// Fields that hold contents or words, and never a path that is written.
const CONTENTS: &[&str] =
    &["content", "old_string", "new_string", "new_source", "edits", "description", "prompt", "todos"];
/// The longest text that may be a path, in bytes.
const LONGEST_PATH: usize = 4096;
/// How many other texts are looked at; a tool that has more is looked at no further.
const MOST_OTHERS: usize = 1000;

impl<'de> Deserialize<'de> for Tool {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Tool;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tool, A::Error> {
                let mut tool = Tool::default();
                let mut beside: Vec<String> = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    match name.as_str() {
                        "command" => tool.command = map.next_value()?,
                        "file_path" => tool.file_path = map.next_value()?,
                        "notebook_path" => tool.notebook_path = map.next_value()?,
                        "questions" => {
                            let questions = map.next_value()?;
                            collect(&questions, &mut tool.others);
                            tool.questions = Some(questions);
                        }
                        name if CONTENTS.contains(&name) => _ = map.next_value::<IgnoredAny>()?,
                        _ => {
                            let value: Value = map.next_value()?;
                            collect(&value, &mut tool.others);
                            if is_one_of(ARGUMENTS, &name) {
                                words(&value, &mut beside);
                            } else if is_one_of(SCRIPTS, &name) {
                                scripts(&value, &mut tool.scripts);
                            }
                            if let (Value::String(directory), true) = (&value, is_one_of(DIRECTORIES, &name))
                            {
                                tool.directories.push(PathBuf::from(directory));
                            }
                            nested_scripts(&value, &mut tool.scripts);
                        }
                    }
                }
                if let (Some(Text::Whole(command)), false) = (&tool.command, beside.is_empty()) {
                    tool.scripts.push(quoted(
                        [command.as_str()].into_iter().chain(beside.iter().map(String::as_str)),
                    ));
                }
                with_arguments(&mut tool.scripts, &beside);
                Ok(tool)
            }
        }
        from.deserialize_map(Fields)
    }
}

/// Collects the short texts in a value.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() <= LONGEST_PATH && texts.len() < MOST_OTHERS => {
            texts.push(text.clone())
        }
        Value::Array(entries) => entries.iter().for_each(|entry| collect(entry, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, texts)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Collects the words of a list.
fn words(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Array(entries) => entries.iter().for_each(|entry| words(entry, into)),
        Value::String(text) => into.push(text.clone()),
        Value::Number(number) => into.push(number.to_string()),
        Value::Object(_) | Value::Null | Value::Bool(_) => {}
    }
}

/// Collects the commands in a field that is for them: one text, a list of them, or the words of one.
fn scripts(value: &Value, into: &mut Vec<String>) {
    let mut texts = Vec::new();
    words(value, &mut texts);
    if texts.len() > 1 {
        into.push(quoted(texts.iter().map(String::as_str)));
    }
    into.extend(texts);
}

/// Looks for such fields further down.
fn nested_scripts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Array(entries) => entries.iter().for_each(|entry| nested_scripts(entry, into)),
        Value::Object(fields) => {
            let mut found = Vec::new();
            let mut beside = Vec::new();
            for (name, field) in fields {
                if is_one_of(ARGUMENTS, name) {
                    words(field, &mut beside);
                } else if is_one_of(SCRIPTS, name) {
                    scripts(field, &mut found);
                }
                nested_scripts(field, &mut found);
            }
            with_arguments(&mut found, &beside);
            into.extend(found);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Adds to commands the same with the arguments that stand beside them.
fn with_arguments(commands: &mut Vec<String>, arguments: &[String]) {
    if arguments.is_empty() {
        return;
    }
    let arguments = || arguments.iter().map(String::as_str);
    let more: Vec<String> = match commands.as_slice() {
        [] => vec![quoted(arguments())],
        some => {
            some.iter().map(|command| quoted(std::iter::once(command.as_str()).chain(arguments()))).collect()
        }
    };
    commands.extend(more);
}

/// Puts words together so that a shell would read them as they are.
fn quoted<'w>(words: impl Iterator<Item = &'w str>) -> String {
    let quoted = words.map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// A text, or a list of words, which some clients send instead.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Text {
    Whole(String),
    Words(Vec<String>),
}

impl Text {
    /// Returns the text; words are put together so that a shell would read them as they are.
    pub fn into_text(self) -> String {
        match self {
            Text::Whole(text) => text,
            Text::Words(words) => quoted(words.iter().map(String::as_str)),
        }
    }
}

/// Why input is invalid.
#[derive(Debug, thiserror::Error)]
pub enum BadInput {
    #[error("the hook was given more than {} MiB", LARGEST / 1024 / 1024)]
    TooLarge,
    #[error("the hook was not given the JSON that it expects: {0}")]
    NotJson(#[from] serde_json::Error),
}

impl Input {
    /// Parses a hook's input.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadInput> {
        if bytes.len() > LARGEST {
            return Err(BadInput::TooLarge);
        }
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let input = object(&mut reader)?;
        reader.end()?;
        Ok(input)
    }
}

/// Reads a table. Fields without names, in a list, would be taken for the wrong ones.
fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    struct Table<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Table<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }
    from.deserialize_map(Table(PhantomData))
}

fn lenient<'de, D: Deserializer<'de>, T: for<'a> Deserialize<'a>>(from: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(serde_json::from_value(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_passes_and_a_wrong_type_counts_as_absent() {
        let text = br#"{"session_id":7,"cwd":"/w","news":{"a":[1]},"tool_input":{"command":"ls","x":1}}"#;
        let input = Input::parse(text).unwrap();
        assert_eq!((input.session_id, input.cwd), (None, Some(PathBuf::from("/w"))));
        assert_eq!(input.tool_input.command.unwrap().into_text(), "ls");
    }

    #[test]
    fn a_command_of_a_wrong_type_is_bad_input() {
        assert!(Input::parse(br#"{"tool_input":{"command":{"a":"git push"}}}"#).is_err());
        assert!(Input::parse(br#"{"tool_input":{"file_path":3}}"#).is_err());
        assert!(Input::parse(br#"{"tool_input":"git push"}"#).is_err());
        assert!(Input::parse(br#"{"tool_input":["git push"]}"#).is_err());
        assert!(Input::parse(b"[]").is_err());
        assert!(Input::parse(b"{} {}").is_err());
        assert!(Input::parse(b"{").is_err());
    }

    #[test]
    fn texts_of_unknown_fields_are_kept_and_contents_are_not() {
        let text = br#"{"tool_input":{"path":"/a","content":"/b","more":{"to":["/c",{"d":"/d"}]}}}"#;
        assert_eq!(Input::parse(text).unwrap().tool_input.others, ["/a", "/c", "/d"]);
    }

    #[test]
    fn commands_are_found_wherever_a_tool_takes_them() {
        let scripts = |input: &str| {
            let text = format!(r#"{{"tool_input":{input}}}"#);
            Input::parse(text.as_bytes()).unwrap().tool_input.scripts
        };
        assert_eq!(scripts(r#"{"cmd":"git push"}"#), ["git push"]);
        assert_eq!(scripts(r#"{"script":"a\nb","cwd":"/w"}"#), ["a\nb"]);
        assert_eq!(
            scripts(r#"{"steps":[{"name":"x","run":"make"},{"Cmd":["ls","-l"]}]}"#),
            ["make", "'ls' '-l'", "ls", "-l"]
        );
        assert!(scripts(r#"{"command":"git","args":["push"]}"#).contains(&"'git' 'push'".to_owned()));
        assert!(scripts(r#"{"x":{"cmd":"git","args":["push"]}}"#).contains(&"'git' 'push'".to_owned()));
        assert_eq!(scripts(r#"{"path":"/a","text":"git push"}"#), Vec::<String>::new());
    }

    #[test]
    fn words_are_one_command() {
        let words = Text::Words(vec!["bash".to_owned(), "-lc".to_owned(), "echo 'it'".to_owned()]);
        assert_eq!(words.into_text(), r"'bash' '-lc' 'echo '\''it'\'''");
    }
}
