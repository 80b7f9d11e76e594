//! The settings that a run is pinned to: names, defaults and purposes in one table, values checked once.
//!
//! Where a value came from (a file, the environment, a flag) is not known here: layers are put together
//! at the edge and handed over as checked [`Settings`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
    /// One of these words for each phase.
    Levels(&'static [&'static str]),
}

/// One row of the table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in `[workflow]` of `warp.toml`; `section.name` elsewhere.
    pub key: &'static str,
    pub kind: Kind,
    /// The default, as JSON.
    pub default: &'static str,
    pub purpose: &'static str,
}

/// Why a setting was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSetting {
    #[error("`{key}` is not a setting")]
    Unknown { key: String },
    #[error("`{key}` must be {wanted}, not {found}")]
    Kind { key: String, wanted: String, found: String },
}

/// The settings of a run: every name of the table has a checked value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(BTreeMap<String, Value>);

impl Default for Settings {
    fn default() -> Self {
        let value = |setting: &Setting| {
            serde_json::from_str(setting.default).expect("the tests parse the default of every setting")
        };
        Self(Settings::TABLE.iter().map(|setting| (setting.key.to_owned(), value(setting))).collect())
    }
}

impl Settings {
    /// Every setting there is, in the order in which it is shown.
    pub const TABLE: &'static [Setting] = TABLE;

    /// Returns the row of the table for `key`.
    pub fn row(key: &str) -> Option<&'static Setting> {
        TABLE.iter().find(|setting| setting.key == key)
    }

    /// Sets `key` if it is known and `value` is of its kind.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), BadSetting> {
        let setting = Self::row(key).ok_or_else(|| BadSetting::Unknown { key: key.to_owned() })?;
        setting.kind.check(&value).map_err(|wanted| BadSetting::Kind {
            key: key.to_owned(),
            wanted,
            found: shorten(&value),
        })?;
        self.0.insert(key.to_owned(), value);
        Ok(())
    }

    /// Returns the value of `key`, if the table has it.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Returns a number. An unknown name or another kind is zero: loading a workflow rules both out.
    pub fn count(&self, key: &str) -> u64 {
        self.value(key).and_then(Value::as_u64).unwrap_or(0)
    }

    /// Returns whether a flag is on.
    pub fn is_on(&self, key: &str) -> bool {
        self.value(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns a text.
    pub fn text(&self, key: &str) -> &str {
        self.value(key).and_then(Value::as_str).unwrap_or("")
    }

    /// Returns the shell commands that must pass before `event` is accepted.
    pub fn verification_gates(&self, event: &str) -> Vec<String> {
        let commands = self.value("verification_gates").and_then(|gates| gates.get(event));
        let commands = commands.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        commands.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

impl Kind {
    /// Reads a text (an environment variable, a flag) as a value of this kind; the check comes later.
    pub fn read(self, text: &str) -> Value {
        match self {
            Kind::Text | Kind::Choice(_) => json!(text),
            Kind::Count | Kind::Amount | Kind::Flag | Kind::Commands | Kind::Levels(_) => {
                serde_json::from_str(text).unwrap_or_else(|_| json!(text))
            }
        }
    }

    /// Checks a value; the error says what is wanted instead.
    fn check(self, value: &Value) -> Result<(), String> {
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
            Kind::Levels(words) => value.as_object().is_some_and(|phases| {
                phases.values().all(|level| level.as_str().is_some_and(|level| words.contains(&level)))
            }),
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
            Kind::Levels(words) => format!("a table of phases, each with one of {}", words.join(", ")),
        }
    }
}

fn shorten(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).chain("...".chars()).collect() }
}

const EFFORTS: &[&str] = &["low", "standard", "medium", "high", "xhigh", "max"];

const fn row(key: &'static str, kind: Kind, default: &'static str, purpose: &'static str) -> Setting {
    Setting { key, kind, default, purpose }
}

const TABLE: &[Setting] = &[
    row(
        "automation.active_level",
        Kind::Count,
        "1",
        "Automation level: 2 hands over a pull request, 3 merges",
    ),
    row("rdb.enabled", Kind::Flag, "false", "Wish for decisions in a remote channel; there is none yet"),
    row("max_acs_per_commit", Kind::Count, "3", "Most acceptance criteria in one chunk"),
    row("test_command", Kind::Text, "\"auto\"", "The shell command that tests the project; auto finds it"),
    row("test_before_commit", Kind::Flag, "true", "Run the tests before each commit"),
    row("auto_merge", Kind::Flag, "true", "Level 3: merge; if false, hand over a pull request"),
    row("max_phase_minutes", Kind::Count, "30", "Minutes in one phase before phase_timeout"),
    row(
        "phase_timeout_enforcement",
        Kind::Choice(&["warn", "block", "abort"]),
        "\"warn\"",
        "What a phase_timeout does: advice, a stop at budget_exceeded, or an abort",
    ),
    row("max_coding_cycles", Kind::Count, "3", "Code and test cycles per chunk"),
    row("max_retries_per_chunk", Kind::Count, "5", "Retries per chunk, of every kind"),
    row(
        "max_no_progress",
        Kind::Count,
        "3",
        "Identical failed attempts in a row (same failure, no new diff)",
    ),
    row("max_edits_per_file", Kind::Count, "5", "Edits of one file in one phase before a doom-loop warning"),
    row("pre_exit_verification", Kind::Flag, "true", "Check the evidence before a phase is left"),
    row("decision_timeout_minutes", Kind::Count, "10", "Minutes that a decision waits for a person"),
    row("heartbeat_on_commit", Kind::Flag, "true", "Notify at each commit while away"),
    row("reconcile_per_chunk", Kind::Flag, "true", "Correct progress counters at each chunk"),
    row("dev_health_check", Kind::Flag, "true", "Check the dev server's health between chunks"),
    row("dev_seed_check", Kind::Flag, "true", "Advise on missing seed data while coding"),
    row("max_total_chunks", Kind::Count, "20", "Chunks in one session"),
    row("max_session_minutes", Kind::Count, "480", "Minutes in one session"),
    row("doc_drift_gate", Kind::Flag, "false", "Go through doc_drift_check after each commit"),
    row(
        "verification_gates",
        Kind::Commands,
        "{}",
        "Shell commands that must pass before an event is accepted",
    ),
    row(
        "reasoning_budget",
        Kind::Levels(EFFORTS),
        r#"{"planning":"high","coding":"standard","testing":"high"}"#,
        "Reasoning effort by phase",
    ),
    row("planning_iterations", Kind::Count, "10", "coder: turns in PLANNING before BUDGET_REVIEW"),
    row("coding_iterations", Kind::Count, "8", "coder: turns in CODING before BUDGET_REVIEW"),
    row("fixing_iterations", Kind::Count, "3", "coder: turns in FIXING before BUDGET_REVIEW"),
    row(
        "max_budget_answers",
        Kind::Count,
        "6",
        "coder: budget reviews that may be granted before the next is abandoned",
    ),
    row("max_iterations", Kind::Count, "50", "autonomous-loop: turns in the whole loop"),
    row(
        "max_phase_iterations",
        Kind::Count,
        "10",
        "autonomous-loop: turns in one phase before a forced advance",
    ),
    row("max_fix_cycles", Kind::Count, "3", "autonomous-loop: fix and re_review cycles"),
    row("skip_brainstorm", Kind::Flag, "false", "autonomous-loop: start at plan"),
    row("skip_test_review", Kind::Flag, "false", "autonomous-loop: no person looks at the acceptance tests"),
    row("completion_promise", Kind::Text, "\"SHIPPED\"", "autonomous-loop: the text in the promise tags"),
    row("budget_limit_usd", Kind::Amount, "20", "Spend cap of a run, in dollars"),
    row("ci_timeout_minutes", Kind::Count, "30", "factory: minutes that checks may take"),
    row("review_timeout_minutes", Kind::Count, "180", "factory: minutes that a review may take"),
    row("agent_timeout_minutes", Kind::Count, "120", "factory: minutes that an agent may take for one issue"),
    row("human_timeout_minutes", Kind::Count, "1440", "factory: minutes that a person may take"),
    row("max_ci_fixes", Kind::Count, "3", "factory: repairs after failed checks"),
    row(
        "max_infra_retries",
        Kind::Count,
        "2",
        "factory: checks started again after an infrastructure failure",
    ),
    row("max_review_rounds", Kind::Count, "5", "factory: rounds of requested changes"),
    row("max_merge_attempts", Kind::Count, "3", "factory: rebases after a merge that did not go through"),
    row("max_agent_restarts", Kind::Count, "3", "factory: restarts of an agent that crashed"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_of_its_kind() {
        let mut settings = Settings::default();
        for setting in Settings::TABLE {
            let value = settings.value(setting.key).cloned().unwrap();
            settings.set(setting.key, value).unwrap();
            assert!(setting.purpose.len() < 90 && !setting.purpose.ends_with('.'), "{}", setting.key);
        }
    }

    #[test]
    fn a_value_of_another_kind_is_refused_and_says_what_is_wanted() {
        let mut settings = Settings::default();
        let error = settings.set("max_coding_cycles", json!("three")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`max_coding_cycles` must be a whole number from 0 to 4294967295, not \"three\""
        );
        for (key, value) in [
            ("max_session_minutes", json!(u64::MAX)),
            ("max_session_minutes", json!(-1)),
            ("phase_timeout_enforcement", json!("explode")),
            ("verification_gates", json!({"code_complete": "make"})),
            ("reasoning_budget", json!({"coding": "none"})),
            ("budget_limit_usd", json!(-0.5)),
            ("auto_merge", json!(1)),
        ] {
            assert!(settings.set(key, value).is_err(), "{key}");
        }
        assert_eq!(settings, Settings::default());
    }
}
