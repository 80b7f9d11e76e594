//! The `warp.toml` that a project starts with: every setting, its purpose and its default, all in comments.

use std::fmt::Write as _;

use engine::Settings;
use serde_json::Value;

/// Returns the text of a `warp.toml` that changes nothing.
pub(super) fn warp_toml() -> String {
    let mut text = String::from(
        "# Warp Drive's settings of this project. A line that is not a comment changes one; `warp config` shows all\n\
         # that are in force, and where each comes from. Runs go by the file as it is in the branch they merge into.\n",
    );
    let mut add = |part: String| text.write_str(&part).expect("writing to a string cannot fail");
    for section in ["workflow", "automation", "rdb"] {
        add(format!("\n[{section}]\n"));
        for setting in Settings::TABLE {
            let (place, name) = setting.key.split_once('.').unwrap_or(("workflow", setting.key));
            if place == section {
                let default = serde_json::from_str(setting.default).unwrap_or(Value::Null);
                add(format!("# {}.\n# {name} = {}\n", setting.purpose, toml_value(&default)));
            }
        }
    }
    text
}

/// Writes a value on one line of TOML.
fn toml_value(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| format!("{key} = {}", toml_value(value));
            format!("{{ {} }}", list(fields.iter().map(field).collect()))
        }
        Value::Array(elements) => format!("[{}]", list(elements.iter().map(toml_value).collect())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_there_and_can_be_switched_on() {
        let text = warp_toml();
        let is_setting = |line: &&str| line.split(' ').nth(2) == Some("=");
        assert_eq!(text.lines().filter(is_setting).count(), Settings::TABLE.len());
        let on: String = text
            .lines()
            .map(|line| if is_setting(&line) { line.trim_start_matches("# ") } else { line })
            .map(|line| format!("{line}\n"))
            .collect();
        let tables: serde_json::Map<String, Value> = toml::from_str(&on).unwrap();
        let mut settings = Settings::default();
        for (section, values) in &tables {
            for (name, value) in values.as_object().unwrap() {
                let key = if section == "workflow" { name.clone() } else { format!("{section}.{name}") };
                settings.set(&key, value.clone()).unwrap();
            }
        }
        assert_eq!(settings, Settings::default());
        let off: serde_json::Map<String, Value> = toml::from_str(&text).unwrap();
        assert!(off.values().all(|section| section.as_object().unwrap().is_empty()));
    }
}
