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
    pub key: &'static str,
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
    /// Returns the rule of a setting. One without a row is the person's alone.
    pub fn of(key: &str) -> Self {
        let unknown =
            Self { key: "", set_by: SetBy::Person, tighter: Tighter::Unordered, default_holds: true };
        RULES.iter().find(|rule| rule.key == key).copied().unwrap_or(unknown)
    }

    /// Every rule, in the order in which it is shown.
    pub const TABLE: &'static [Rule] = RULES;

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

const fn safety(key: &'static str, tighter: Tighter) -> Rule {
    Rule { key, set_by: SetBy::Project, tighter, default_holds: true }
}

const fn ordered(key: &'static str, tighter: Tighter) -> Rule {
    Rule { key, set_by: SetBy::Project, tighter, default_holds: false }
}

const fn unordered(key: &'static str) -> Rule {
    Rule { key, set_by: SetBy::Project, tighter: Tighter::Unordered, default_holds: false }
}

const fn persons(key: &'static str) -> Rule {
    Rule { key, set_by: SetBy::Person, tighter: Tighter::Unordered, default_holds: true }
}

const RULES: &[Rule] = &[
    safety("automation.active_level", Tighter::Smaller),
    unordered("rdb.enabled"),
    persons("rdb.chats"),
    persons("rdb.api"),
    ordered("max_acs_per_commit", Tighter::Smaller),
    unordered("test_command"),
    unordered("setup_command"),
    ordered("setup_minutes", Tighter::Smaller),
    safety("test_proof", Tighter::On),
    safety("test_before_commit", Tighter::On),
    unordered("test_report"),
    safety("commit_guard", Tighter::On),
    safety("guard_max_file_mb", Tighter::Smaller),
    safety("guard_max_new_files", Tighter::Smaller),
    safety("auto_merge", Tighter::Off),
    safety("review_paths", Tighter::MoreEntries),
    safety("push", Tighter::FirstOf(&["never", "ask", "branch", "target"])),
    unordered("base"),
    ordered("max_phase_minutes", Tighter::Smaller),
    safety("phase_timeout_enforcement", Tighter::FirstOf(&["abort", "block", "warn"])),
    ordered("max_coding_cycles", Tighter::Smaller),
    ordered("max_retries_per_chunk", Tighter::Smaller),
    ordered("max_no_progress", Tighter::Smaller),
    ordered("max_edits_per_file", Tighter::Smaller),
    safety("pre_exit_verification", Tighter::On),
    unordered("decision_timeout_minutes"),
    ordered("on_timeout", Tighter::FirstOf(&["skip", "default"])),
    ordered("heartbeat_on_commit", Tighter::On),
    safety("reconcile_per_chunk", Tighter::On),
    ordered("dev_health_check", Tighter::On),
    ordered("dev_seed_check", Tighter::On),
    ordered("max_total_chunks", Tighter::Smaller),
    ordered("max_session_minutes", Tighter::Smaller),
    ordered("doc_drift_gate", Tighter::On),
    unordered("doc_drift_fix"),
    unordered("docs_programs"),
    safety("diff_relevance", Tighter::FirstOf(&["enforce", "advise"])),
    safety("verification_gates", Tighter::MoreEntries),
    unordered("reasoning_budget"),
    unordered("agent"),
    ordered("agent_silence_seconds", Tighter::Smaller),
    safety("approve_plan", Tighter::On),
    safety("workspace", Tighter::FirstOf(&["clone", "worktree"])),
    persons("sandbox_show"),
    persons("sandbox_logins"),
    persons("sandbox_processes"),
    persons("sandbox_memory_percent"),
    persons("sandbox_temporary_mb"),
    persons("sandbox_file_mb"),
    ordered("planning_iterations", Tighter::Smaller),
    ordered("coding_iterations", Tighter::Smaller),
    ordered("fixing_iterations", Tighter::Smaller),
    ordered("max_budget_answers", Tighter::Smaller),
    ordered("max_iterations", Tighter::Smaller),
    ordered("max_phase_iterations", Tighter::Smaller),
    ordered("max_fix_cycles", Tighter::Smaller),
    unordered("skip_brainstorm"),
    unordered("acceptance_command"),
    safety("skip_test_review", Tighter::Off),
    unordered("completion_promise"),
    safety("budget_limit_usd", Tighter::SmallerButNotZero),
    safety("budget_limit_tokens", Tighter::SmallerButNotZero),
    safety("project_daily_usd", Tighter::SmallerButNotZero),
    safety("project_daily_tokens", Tighter::SmallerButNotZero),
    safety("pool_daily_usd", Tighter::SmallerButNotZero),
    safety("pool_daily_tokens", Tighter::SmallerButNotZero),
    safety("daily_usd", Tighter::SmallerButNotZero),
    safety("daily_tokens", Tighter::SmallerButNotZero),
    // Another pool would have caps of its own.
    persons("pool"),
    safety("metering", Tighter::On),
    unordered("pause_at_limit"),
    unordered("outage_minutes"),
    safety("max_requests", Tighter::Smaller),
    persons("mcp_tools"),
    safety("max_agents", Tighter::SmallerButNotZero),
    safety("max_agents_per_project", Tighter::SmallerButNotZero),
    safety("max_agents_per_pool", Tighter::SmallerButNotZero),
    safety("min_free_mb", Tighter::Larger),
    unordered("roles"),
    ordered("ci_timeout_minutes", Tighter::Smaller),
    unordered("review_timeout_minutes"),
    ordered("agent_timeout_minutes", Tighter::Smaller),
    unordered("human_timeout_minutes"),
    ordered("max_ci_fixes", Tighter::Smaller),
    ordered("max_infra_retries", Tighter::Smaller),
    ordered("max_review_rounds", Tighter::Smaller),
    ordered("max_merge_attempts", Tighter::Smaller),
    ordered("max_agent_restarts", Tighter::Smaller),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Settings;

    #[test]
    fn every_setting_has_one_rule_and_its_words_are_those_of_the_setting() {
        let settings: Vec<&str> = Settings::TABLE.iter().map(|row| row.key).collect();
        let rules: Vec<&str> = RULES.iter().map(|rule| rule.key).collect();
        assert_eq!(rules, settings, "add a row to RULES in the same place");
        for rule in RULES {
            if let Tighter::FirstOf(words) = rule.tighter {
                for word in words {
                    Settings::default().set(rule.key, json!(word)).unwrap();
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
            let found = match Rule::of(key).limit(&holds, &wanted) {
                Limited::Taken => wanted.clone(),
                Limited::Instead(value) => value,
            };
            assert_eq!(found, counts, "{key}: {holds} holds, {wanted} wanted");
        }
    }
}
