//! What settings may hold, and how a value of each kind is read and checked.

use serde_json::{Map, Value, json};

use super::table::EFFORTS;

/// What a setting holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of zero or more.
    Count,
    /// An amount of money.
    Amount,
    /// True or false.
    Flag,
    /// Free text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Lists of shell commands, by event.
    Commands,
    /// A list of names.
    Names,
    /// A list of paths.
    Paths,
    /// One of these words for each phase.
    Levels(&'static [&'static str]),
    /// Who works in each role.
    Roles,
}

/// A type that settings are read as.
pub trait SettingType {
    /// What a lookup returns; its default where an old run's table did not have the setting.
    type Value<'a>: Default;

    /// Tells whether settings of this kind are read as this type.
    fn fits(kind: Kind) -> bool;

    /// Reads a checked value.
    fn read(value: &Value) -> Option<Self::Value<'_>>;
}

/// Free text.
pub type Text = &'static str;

/// One word of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {}

/// Names or paths.
pub type List = &'static [String];

/// Values by name.
pub type Table = &'static Map<String, Value>;

macro_rules! setting_types {
    ($($type:ty: $kinds:pat => $value:ty, $read:expr;)*) => {
        $(impl SettingType for $type {
            type Value<'a> = $value;

            fn fits(kind: Kind) -> bool {
                matches!(kind, $kinds)
            }

            fn read(value: &Value) -> Option<Self::Value<'_>> {
                $read(value)
            }
        })*
    };
}

setting_types! {
    bool: Kind::Flag => bool, Value::as_bool;
    u64: Kind::Count => u64, Value::as_u64;
    f64: Kind::Amount => f64, Value::as_f64;
    Text: Kind::Text => &'a str, Value::as_str;
    Word: Kind::Choice(_) => &'a str, Value::as_str;
    List: Kind::Names | Kind::Paths => Vec<String>, texts;
    Table: Kind::Commands | Kind::Levels(_) | Kind::Roles => Option<&'a Map<String, Value>>, table;
}

/// Reads a list of texts.
pub(super) fn texts(value: &Value) -> Option<Vec<String>> {
    Some(value.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn table(value: &Value) -> Option<Option<&Map<String, Value>>> {
    Some(value.as_object())
}

impl Kind {
    /// Reads a text (an environment variable, a flag) as a value of this kind; the check comes later.
    pub fn read(self, text: &str) -> Value {
        match self {
            Kind::Text | Kind::Choice(_) => json!(text),
            Kind::Count
            | Kind::Amount
            | Kind::Flag
            | Kind::Commands
            | Kind::Names
            | Kind::Paths
            | Kind::Levels(_)
            | Kind::Roles => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        }
    }

    /// Checks a value; the error says what is wanted instead.
    pub(super) fn check(self, value: &Value) -> Result<(), String> {
        let fits = match self {
            // Beyond 32 bits a limit is a slip of the hand, and minutes would leave the calendar.
            Kind::Count => value.as_u64().is_some_and(|count| u32::try_from(count).is_ok()),
            Kind::Amount => value.as_f64().is_some_and(|amount| amount.is_finite() && amount >= 0.0),
            Kind::Flag => value.is_boolean(),
            Kind::Text => value.as_str().is_some_and(|text| !text.trim().is_empty() && text.len() <= 1000),
            Kind::Choice(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Kind::Commands => value.as_object().is_some_and(|events| {
                events.values().all(|commands| {
                    commands.as_array().is_some_and(|commands| commands.iter().all(Value::is_string))
                })
            }),
            Kind::Names => value.as_array().is_some_and(|names| {
                names.iter().all(|name| name.as_str().is_some_and(|name| !name.trim().is_empty()))
            }),
            Kind::Paths => value.as_array().is_some_and(|paths| paths.iter().all(is_path)),
            Kind::Levels(words) => value.as_object().is_some_and(|phases| {
                phases.values().all(|level| level.as_str().is_some_and(|level| words.contains(&level)))
            }),
            Kind::Roles => value.as_object().is_some_and(|roles| roles.values().all(is_role)),
        };
        if fits { Ok(()) } else { Err(self.wanted()) }
    }

    /// Says in words what this kind takes.
    pub fn wanted(self) -> String {
        match self {
            Kind::Count => "a whole number from 0 to 4294967295".to_owned(),
            Kind::Amount => "an amount of zero or more".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Text => "a text of 1 to 1000 characters".to_owned(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Commands => "a table of events, each with a list of shell commands".to_owned(),
            Kind::Names => "a list of names".to_owned(),
            Kind::Paths => "a list of paths".to_owned(),
            Kind::Levels(words) => format!("a table of phases, each with one of {}", words.join(", ")),
            Kind::Roles => {
                format!(
                    "a table of roles, each with `agent`, `model`, `effort` ({}) or `fallbacks`",
                    EFFORTS.join(", ")
                )
            }
        }
    }
}

fn is_path(value: &Value) -> bool {
    value.as_str().is_some_and(|path| !path.trim_matches(['/', '*', ' ']).is_empty())
}

/// Tells whether a value says who works in a role, and nothing else.
fn is_role(value: &Value) -> bool {
    let is_name = |value: &Value| value.as_str().is_some_and(|name| !name.trim().is_empty());
    let fits = |(key, value): (&String, &Value)| match key.as_str() {
        "agent" | "model" => is_name(value),
        "effort" => value.as_str().is_some_and(|effort| EFFORTS.contains(&effort)),
        "fallbacks" => value.as_array().is_some_and(|names| names.iter().all(is_name)),
        _ => false,
    };
    value.as_object().is_some_and(|role| role.iter().all(fits))
}
