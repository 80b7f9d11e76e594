//! The settings that a run is pinned to: names, defaults and purposes in one table, values checked once.
//!
//! Where a value came from (a file, the environment, a flag) is not known here: layers are put together
//! at the edge and handed over as checked [`Settings`].

mod kind;
mod order;
mod table;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
    ser::SerializeMap as _,
};
use serde_json::Value;

pub use kind::{Kind, List, SettingType, Table, Text, Word};
pub use order::{Limited, Rule, SetBy, Tighter};
pub(crate) use table::EFFORTS;
use table::TABLE;
pub use table::{Key, Setting, keys};

/// Who works in a role; what is not set is as it is for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Role {
    pub agent: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// Agents that take over where the first one cannot work.
    pub fallbacks: Vec<String>,
}

/// Why a setting was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSetting {
    #[error("`{key}` is not a setting")]
    Unknown { key: String },
    #[error("`{key}` must be {wanted}, not {found}")]
    Kind { key: String, wanted: String, found: String },
}

/// The settings of a run: every name of the table has a checked value. They stay as they are while it lasts, so copies
/// of a run share them.
///
/// They are written out whole with the first event of a run, which pins them. What is kept beside an open run is read and
/// written with every event: there they are abridged to what differs from the table, and the table's mark. A program with
/// another table does not read that, and goes by the first event.
#[derive(Clone, Debug)]
pub struct Settings {
    values: Arc<BTreeMap<String, Value>>,
    /// Whether what is not in the values is as the table has it.
    is_abridged: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { values: Arc::default(), is_abridged: true }
    }
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        if self.is_abridged == other.is_abridged && self.values == other.values {
            return true;
        }
        let known = TABLE.iter().map(|setting| setting.key);
        let mut keys = known.chain(self.values.keys().chain(other.values.keys()).map(String::as_str));
        keys.all(|key| self.value(key) == other.value(key))
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_abridged {
            return self.values.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(ABRIDGED, &MARK)?;
        map.serialize_entry("set", &*self.values)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Written)
    }
}

/// Settings as they are written, whole or abridged.
struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = Settings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
        let mut values = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == ABRIDGED && values.is_empty() {
                if map.next_value::<u64>()? != MARK {
                    return Err(A::Error::custom("they are abridged by another table"));
                }
                let set = map.next_entry::<String, BTreeMap<String, Value>>()?;
                let (_, values) = set.ok_or_else(|| A::Error::missing_field("set"))?;
                return Ok(Settings { values: Arc::new(values), is_abridged: true });
            }
            values.insert(key, map.next_value()?);
        }
        Ok(Settings { values: Arc::new(values), is_abridged: false })
    }
}

/// Under this name, which no setting has, abridged settings hold the mark of their table.
const ABRIDGED: &str = "table";

/// Tells tables apart that have other settings or other defaults.
const MARK: u64 = {
    let mut mark = 0xcbf2_9ce4_8422_2325;
    let mut index = 0;
    while index < TABLE.len() {
        mark = marked(marked(mark, TABLE[index].key), TABLE[index].default);
        index += 1;
    }
    mark
};

/// Goes on with a mark by a text and its end (FNV-1a).
const fn marked(mut mark: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut index = 0;
    while index <= bytes.len() {
        let byte = if index < bytes.len() { bytes[index] } else { 0 };
        mark = (mark ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
        index += 1;
    }
    mark
}

/// Returns a default of the table, which is read when it is first asked for.
fn default(key: &str) -> Option<&'static Value> {
    static DEFAULTS: [OnceLock<Value>; TABLE.len()] = [const { OnceLock::new() }; TABLE.len()];
    let index = TABLE.iter().position(|setting| setting.key == key)?;
    let read =
        || serde_json::from_str(TABLE[index].default).expect("the tests parse the default of every setting");
    Some(DEFAULTS[index].get_or_init(read))
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
        Arc::make_mut(&mut self.values).insert(key.to_owned(), value);
        Ok(())
    }

    /// Returns the value of `key`, if the table has it.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).or_else(|| default(key).filter(|_| self.is_abridged))
    }

    /// Returns the same settings, to be written whole.
    pub fn whole(self) -> Self {
        if !self.is_abridged {
            return self;
        }
        let default = |setting: &Setting| Some((setting.key.to_owned(), default(setting.key)?.clone()));
        let mut values: BTreeMap<String, Value> = TABLE.iter().filter_map(default).collect();
        values.extend(self.values.iter().map(|(key, value)| (key.clone(), value.clone())));
        Self { values: Arc::new(values), is_abridged: false }
    }

    /// Returns the same settings, to be written short. Those of a run that began by a table with fewer settings stay whole.
    pub fn abridged(self) -> Self {
        if self.is_abridged || !TABLE.iter().all(|setting| self.values.contains_key(setting.key)) {
            return self;
        }
        let differs = |(key, value): &(&String, &Value)| default(key) != Some(*value);
        let values = self.values.iter().filter(differs).map(|(key, value)| (key.clone(), value.clone()));
        Self { values: Arc::new(values.collect()), is_abridged: true }
    }

    /// Returns the value of a setting.
    pub fn get<T: SettingType>(&self, key: Key<T>) -> T::Value<'_> {
        self.value(key.name()).and_then(T::read).unwrap_or_default()
    }

    /// Returns who works in a role, where that is set.
    pub fn role(&self, name: Option<&str>) -> Role {
        let role = name.and_then(|name| self.get(keys::ROLES)?.get(name));
        role.and_then(|role| serde_json::from_value(role.clone()).ok()).unwrap_or_default()
    }

    /// Returns the names of all agents that may work.
    pub fn agents(&self) -> Vec<String> {
        let names = self.get(keys::ROLES).into_iter().flat_map(|roles| roles.keys());
        let of_roles = names
            .map(|name| self.role(Some(name)))
            .flat_map(|role| role.agent.into_iter().chain(role.fallbacks));
        std::iter::once(self.get(keys::AGENT).to_owned()).chain(of_roles).collect()
    }

    /// Tells whether any event needs shell commands to pass.
    pub fn has_verification_gates(&self) -> bool {
        self.get(keys::VERIFICATION_GATES).is_some_and(|gates| !gates.is_empty())
    }

    /// Returns the shell commands that must pass before `event` is accepted.
    pub fn verification_gates(&self, event: &str) -> Vec<String> {
        self.get(keys::VERIFICATION_GATES)
            .and_then(|gates| kind::texts(gates.get(event)?))
            .unwrap_or_default()
    }
}

fn shorten(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).chain("...".chars()).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn settings_are_the_same_whole_and_abridged() {
        let mut settings = Settings::default();
        settings.set("agent", json!("codex")).unwrap();
        settings.set("max_coding_cycles", json!(3)).unwrap();
        let whole = settings.clone().whole();
        assert_eq!(whole, settings);
        assert_eq!(whole.values.len(), TABLE.len());
        assert_eq!(serde_json::from_value::<Settings>(json!(whole)).unwrap(), settings);
        let abridged = whole.abridged();
        assert_eq!(abridged, settings);
        assert_eq!(json!(abridged), json!({ "table": MARK, "set": { "agent": "codex" } }));
        assert_eq!(serde_json::from_value::<Settings>(json!(abridged)).unwrap(), settings);
    }

    #[test]
    fn settings_that_another_table_abridged_are_not_read() {
        let settings = json!({ "table": MARK ^ 1, "set": {} });
        assert!(serde_json::from_value::<Settings>(settings).is_err());
    }

    #[test]
    fn settings_of_an_older_table_stay_as_they_are() {
        let older: Settings = serde_json::from_value(json!({ "agent": "claude", "gone": 1 })).unwrap();
        let older = older.abridged();
        assert_eq!(json!(older), json!({ "agent": "claude", "gone": 1 }));
        assert_eq!(older.value("auto_merge"), None);
        assert_ne!(older, Settings::default());
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
            ("roles", json!({"coder": {"agent": ""}})),
            ("roles", json!({"coder": {"who": "claude"}})),
            ("roles", json!({"coder": {"effort": "none"}})),
            ("roles", json!({"coder": {"fallbacks": "codex"}})),
            ("auto_merge", json!(1)),
        ] {
            assert!(settings.set(key, value).is_err(), "{key}");
        }
        assert_eq!(settings, Settings::default());
    }
}
