//! Settings under hostile merges: whatever a project's files come to say, caps and checks are never looser than what the
//! person has set, or than the safety defaults.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use std::{collections::BTreeMap, fs, path::Path};

use engine::{Kind, SetBy, Setting, Settings, Tighter, keys};
use project::{
    Dirs, Place,
    config::{self, Config},
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Values of settings, by name.
type Values = BTreeMap<&'static str, Value>;

/// Says how loose a value is: a larger number is looser. Written apart from the program's own order.
fn looseness(key: &str, value: &Value) -> Option<f64> {
    let flag = |is_tight: bool| Some(f64::from(u8::from(value.as_bool() != Some(is_tight))));
    let word = |words: &[&str]| words.iter().position(|word| value == word).map(|index| index as f64);
    let number = value.as_f64();
    match key {
        "test_before_commit"
        | "test_proof"
        | "commit_guard"
        | "pre_exit_verification"
        | "reconcile_per_chunk"
        | "metering"
        | "approve_plan"
        | "doc_drift_gate"
        | "dev_health_check"
        | "dev_seed_check"
        | "heartbeat_on_commit" => flag(true),
        "auto_merge" | "skip_test_review" => flag(false),
        "push" => word(&["never", "ask", "branch", "target"]),
        "phase_timeout_enforcement" => word(&["abort", "block", "warn"]),
        "diff_relevance" => word(&["enforce", "advise"]),
        "workspace" => word(&["clone", "worktree"]),
        "on_timeout" => word(&["skip", "default"]),
        "min_free_mb" => number.map(|number| -number),
        // It costs what a new conversation would, and is no cap.
        "conversation_tokens" => None,
        _ if key.contains("_usd") || key.contains("_tokens") || key.starts_with("max_agents") => {
            number.map(|number| if number == 0.0 { f64::MAX } else { number })
        }
        _ => number.filter(|_| matches!(Settings::row(key).unwrap().rule.tighter, Tighter::Smaller)),
    }
}

/// Returns values that a setting can have, those that loosen it most among them.
fn values_of(kind: Kind) -> BoxedStrategy<Value> {
    let words =
        |words: &'static [&'static str]| prop::sample::select(words).prop_map(|word| json!(word)).boxed();
    match kind {
        Kind::Count => prop_oneof![Just(0), 1_u64..10, Just(1000), Just(u64::from(u32::MAX))]
            .prop_map(|number| json!(number))
            .boxed(),
        Kind::Amount => {
            prop_oneof![Just(0.0), 0.01_f64..50.0, Just(1e12)].prop_map(|amount| json!(amount)).boxed()
        }
        Kind::Flag => any::<bool>().prop_map(|flag| json!(flag)).boxed(),
        Kind::Text => words(&["true", "auto", "none", "main"]),
        Kind::Choice(choices) => words(choices),
        Kind::Names | Kind::Paths => {
            prop::collection::vec(prop::sample::select(vec!["ops/", "a", "warp.toml"]), 0..3)
                .prop_map(|paths| json!(paths))
                .boxed()
        }
        Kind::Commands => prop::collection::btree_map(
            prop::sample::select(vec!["code_complete", "tests_passed"]),
            prop::collection::vec(prop::sample::select(vec!["true", "make lint", "make audit"]), 0..3),
            0..3,
        )
        .prop_map(|gates| json!(gates))
        .boxed(),
        Kind::Levels(levels) => words(levels).prop_map(|level| json!({ "coding": level })).boxed(),
        Kind::Roles => Just(json!({})).boxed(),
    }
}

/// Returns what a file may set, by its author's whim.
fn file(most: usize, by: SetBy) -> impl Strategy<Value = Values> {
    let is_settable =
        move |key: &str| by == SetBy::Person || Settings::row(key).unwrap().rule.set_by == SetBy::Project;
    let rows = Settings::TABLE.iter().filter(|row| row.key != "roles" && is_settable(row.key));
    let rows: Vec<_> = rows.map(|row| (row.key, row.kind)).collect();
    let one = prop::sample::select(rows).prop_flat_map(|(key, kind)| (Just(key), values_of(kind)));
    prop::collection::btree_map(0..usize::MAX, one, 0..most).prop_map(|rows| rows.into_values().collect())
}

fn toml_of(values: &Values) -> String {
    let mut tables: BTreeMap<&str, BTreeMap<&str, &Value>> = BTreeMap::new();
    for (key, value) in values {
        let (section, name) = key.split_once('.').unwrap_or(("workflow", key));
        tables.entry(section).or_default().insert(name, value);
    }
    toml::to_string(&tables).unwrap()
}

fn entries(value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Array(entries) => entries.iter().map(|entry| (String::new(), entry.to_string())).collect(),
        Value::Object(lists) => lists
            .iter()
            .flat_map(|(name, list)| entries(list).into_iter().map(move |(_, entry)| (name.clone(), entry)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// Checks every setting that has an order against what the person has set, or the safety default.
fn check(persons: &Values, config: &Config) {
    for Setting { key, rule, .. } in Settings::TABLE {
        let default = Settings::default().value(key).cloned().unwrap();
        let holds = match persons.get(key) {
            Some(value) => value.clone(),
            None if rule.default_holds => default,
            None => continue,
        };
        let found = config.settings.value(key).unwrap();
        match rule.tighter {
            Tighter::Unordered if rule.set_by == SetBy::Person => assert_eq!(*found, holds, "{}", key),
            Tighter::Unordered => {}
            Tighter::MoreEntries => {
                let found = entries(found);
                let lost: Vec<_> =
                    entries(&holds).into_iter().filter(|entry| !found.contains(entry)).collect();
                assert!(lost.is_empty(), "{}: {lost:?} is lost", key);
            }
            Tighter::On
            | Tighter::Off
            | Tighter::Smaller
            | Tighter::SmallerButNotZero
            | Tighter::Larger
            | Tighter::FirstOf(_) => {
                let of = |value: &Value| looseness(key, value).expect("every ordered setting is compared");
                assert!(of(found) <= of(&holds), "{}: {found}, and the person's is {holds}", key);
            }
        }
    }
}

fn place(root: &Path) -> (Place, Dirs) {
    let project = root.join("project");
    fs::create_dir_all(&project).unwrap();
    fs::create_dir_all(root.join("config")).unwrap();
    (Place::at(&project).unwrap(), Dirs::new(root.join("state"), root.join("config")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn months_of_hostile_merges_never_loosen_what_the_person_has_set(
        persons in file(12, SetBy::Person),
        merges in prop::collection::vec(file(20, SetBy::Project), 1..90),
    ) {
        let root = tempfile::tempdir().unwrap();
        let (place, dirs) = place(root.path());
        fs::write(dirs.config.join("config.toml"), toml_of(&persons)).unwrap();
        for merged in merges {
            let file = ("main:warp.toml".to_owned(), toml_of(&merged));
            let config = config::load(&place, &dirs, Some(file), &[]).unwrap();
            check(&persons, &config);
        }
    }
}

#[test]
fn every_order_is_compared_by_the_property() {
    for Setting { key, rule, .. } in Settings::TABLE {
        let default = Settings::default().value(key).cloned().unwrap();
        let is_compared = looseness(key, &default).is_some();
        let has_order = !matches!(rule.tighter, Tighter::Unordered | Tighter::MoreEntries);
        assert_eq!(is_compared, has_order, "{}", key);
    }
}

#[test]
fn a_project_that_loosens_is_told_and_what_is_the_persons_alone_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let (place, dirs) = place(root.path());
    fs::write(dirs.config.join("config.toml"), "[workflow]\ndaily_usd = 10\n").unwrap();
    let load = |text: &str| {
        config::load(&place, &dirs, Some(("warp.toml".to_owned(), text.to_owned())), &[])
            .map_err(|error| error.to_string())
    };
    let config = load(
        "[workflow]\ntest_before_commit = false\ndaily_usd = 0\nmetering = false\nmax_coding_cycles = 9\n",
    );
    let config = config.unwrap();
    assert_eq!(config.settings.get(keys::MAX_CODING_CYCLES), 9);
    let user = dirs.config.join("config.toml");
    assert_eq!(
        config.warnings,
        [
            format!(
                "warp.toml:3: `daily_usd` stays 10 (set in {}): a project may only tighten it; `warp config daily_usd=0` \
                 sets it for you",
                user.display()
            ),
            "warp.toml:4: `metering` stays true (the built-in safety default): a project may only tighten it; \
             `warp config metering=false` sets it for you"
                .to_owned(),
            "warp.toml:2: `test_before_commit` stays true (the built-in safety default): a project may only tighten it; \
             `warp config test_before_commit=false` sets it for you"
                .to_owned(),
        ]
    );
    for key in ["sandbox_show", "pool"] {
        let said = load(&format!("[workflow]\n{key} = \"x\"\n")).unwrap_err();
        assert!(said.contains(&format!("`{key}` is yours to set, not a project's")), "{said}");
    }
}
