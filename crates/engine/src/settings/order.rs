//! Who may set a setting, and which direction is tighter.
//!
//! A project's file comes with whatever was merged last, so it may only tighten what the person or a safety default says.
//! [`Rule::limit`] decides that for one value; the layers are put together elsewhere.

use std::fmt;

use serde_json::Value;

/// Who may set a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetBy {
    /// The person only: their own files, the environment, flags.
    Person,
    /// The person, and within the rule the project's `warp.toml`.
    Project,
}

/// Which of two values is tighter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tighter {
    /// `true` is tighter than `false`.
    On,
    /// `false` is tighter than `true`.
    Off,
    Smaller,
    /// A smaller number is tighter, and 0 is no limit at all.
    SmallerButNotZero,
    Larger,
    /// One of these words; the first is the tightest.
    FirstOf(&'static [&'static str]),
    /// More entries are tighter: a project adds, and never removes.
    MoreEntries,
    /// There is no order: the merge target's value counts, and a change is shown.
    Unordered,
}

impl fmt::Display for Tighter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::On => f.write_str("`true`"),
            Self::Off => f.write_str("`false`"),
            Self::Smaller => f.write_str("smaller"),
            Self::SmallerButNotZero => f.write_str("smaller; 0 is the loosest"),
            Self::Larger => f.write_str("larger"),
            Self::FirstOf(words) => f.write_str(&words.join(", then ")),
            Self::MoreEntries => f.write_str("more entries"),
            Self::Unordered => f.write_str("no order"),
        }
    }
}

/// What holds a project's value of one setting.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    pub set_by: SetBy,
    pub tighter: Tighter,
    /// Whether the built-in default is a safety default, which a project cannot loosen either.
    pub default_holds: bool,
}

/// What becomes of a project's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Limited {
    /// It counts as it is.
    Taken,
    /// Some of it would loosen what holds; this counts instead.
    Instead(Value),
}

impl Rule {
    /// Decides between what holds already and what a project wants.
    pub fn limit(&self, holds: &Value, wanted: &Value) -> Limited {
        let is_taken = match self.tighter {
            Tighter::Unordered => true,
            Tighter::MoreEntries => {
                let all = with_entries(holds, wanted);
                return if all == *wanted { Limited::Taken } else { Limited::Instead(all) };
            }
            Tighter::On | Tighter::Off => {
                wanted == holds || wanted.as_bool() == Some(self.tighter == Tighter::On)
            }
            Tighter::Smaller => wanted.as_f64() <= holds.as_f64(),
            Tighter::SmallerButNotZero => limit_of(wanted) <= limit_of(holds),
            Tighter::Larger => wanted.as_f64() >= holds.as_f64(),
            Tighter::FirstOf(words) => {
                let rank = |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
                rank(wanted).unwrap_or(usize::MAX) <= rank(holds).unwrap_or(usize::MAX)
            }
        };
        if is_taken { Limited::Taken } else { Limited::Instead(holds.clone()) }
    }
}

/// Reads a limit of which 0 is none.
fn limit_of(value: &Value) -> f64 {
    value.as_f64().filter(|limit| *limit > 0.0).unwrap_or(f64::INFINITY)
}

/// Adds the entries of a project to those that hold; tables are put together name by name.
fn with_entries(holds: &Value, wanted: &Value) -> Value {
    match (holds, wanted) {
        (Value::Array(holds), Value::Array(wanted)) => {
            let missing = holds.iter().filter(|entry| !wanted.contains(entry)).cloned();
            Value::Array(missing.chain(wanted.iter().cloned()).collect())
        }
        (Value::Object(holds), Value::Object(wanted)) => {
            let mut all = wanted.clone();
            for (name, held) in holds {
                let both = wanted.get(name).map(|wanted| with_entries(held, wanted));
                all.insert(name.clone(), both.unwrap_or_else(|| held.clone()));
            }
            Value::Object(all)
        }
        (_, wanted) => wanted.clone(),
    }
}

pub(super) const fn safety(tighter: Tighter) -> Rule {
    Rule { set_by: SetBy::Project, tighter, default_holds: true }
}

pub(super) const fn ordered(tighter: Tighter) -> Rule {
    Rule { set_by: SetBy::Project, tighter, default_holds: false }
}

pub(super) const UNORDERED: Rule = ordered(Tighter::Unordered);

pub(super) const PERSONS: Rule =
    Rule { set_by: SetBy::Person, tighter: Tighter::Unordered, default_holds: true };

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Settings;

    #[test]
    fn the_words_of_a_rule_are_those_of_its_setting() {
        for setting in Settings::TABLE {
            if let Tighter::FirstOf(words) = setting.rule.tighter {
                for word in words {
                    Settings::default().set(setting.key, json!(word)).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_project_tightens_and_never_loosens() {
        for (key, holds, wanted, counts) in [
            ("test_before_commit", json!(true), json!(false), json!(true)),
            ("test_before_commit", json!(false), json!(true), json!(true)),
            ("auto_merge", json!(false), json!(true), json!(false)),
            ("budget_limit_usd", json!(20), json!(0), json!(20)),
            ("budget_limit_usd", json!(20), json!(0.0), json!(20)),
            ("budget_limit_usd", json!(20), json!(5.5), json!(5.5)),
            ("daily_usd", json!(0), json!(7), json!(7)),
            ("daily_usd", json!(7), json!(7.01), json!(7)),
            ("max_coding_cycles", json!(3), json!(0), json!(0)),
            ("min_free_mb", json!(2000), json!(0), json!(2000)),
            ("push", json!("ask"), json!("target"), json!("ask")),
            ("push", json!("branch"), json!("never"), json!("never")),
            ("phase_timeout_enforcement", json!("block"), json!("warn"), json!("block")),
            ("review_paths", json!(["a"]), json!([]), json!(["a"])),
            ("review_paths", json!(["a"]), json!(["b"]), json!(["a", "b"])),
            ("verification_gates", json!({"x": ["a"]}), json!({}), json!({"x": ["a"]})),
            (
                "verification_gates",
                json!({"x": ["a"]}),
                json!({"x": ["b"], "y": ["c"]}),
                json!({"x": ["a", "b"], "y": ["c"]}),
            ),
            ("test_command", json!("make test"), json!("true"), json!("true")),
        ] {
            let found = match Settings::row(key).unwrap().rule.limit(&holds, &wanted) {
                Limited::Taken => wanted.clone(),
                Limited::Instead(value) => value,
            };
            assert_eq!(found, counts, "{key}: {holds} holds, {wanted} wanted");
        }
    }
}
