//! Users to begin with, as rows of a table.

use serde_json::{Map, Value};

/// Tells whether a text can be the name of a table or a column without being anything else.
pub(super) fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(is_letter)
}

/// Writes users as SQL that adds those who are not there yet; nothing if there are none.
pub(super) fn rows(text: &str, table: &str) -> Result<Option<String>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let list = value.get("users").unwrap_or(&value);
    let users = list.as_array().ok_or("it must be a list of users, or an object with a list `users`")?;
    let mut sql = String::new();
    for (index, user) in users.iter().enumerate() {
        let fields = user.as_object().filter(|fields| !fields.is_empty());
        let fields = fields.ok_or_else(|| format!("user {} must be an object with fields", index + 1))?;
        sql.push_str(&row(fields, table).map_err(|problem| format!("user {}: {problem}", index + 1))?);
    }
    Ok(Some(sql).filter(|sql| !sql.is_empty()))
}

fn row(fields: &Map<String, Value>, table: &str) -> Result<String, String> {
    if let Some(name) = fields.keys().find(|name| !is_name(name)) {
        return Err(format!("`{name}` is no name of a column"));
    }
    let columns: Vec<String> = fields.keys().map(|name| format!("\"{name}\"")).collect();
    let values: Vec<String> = fields.values().map(literal).collect();
    Ok(format!(
        "INSERT OR IGNORE INTO \"{table}\" ({}) VALUES ({});\n",
        columns.join(", "),
        values.join(", ")
    ))
}

fn literal(value: &Value) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Bool(flag) => u8::from(*flag).to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(_) | Value::Object(_) => quoted(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_become_rows_and_nothing_in_them_becomes_more() {
        let users =
            r#"{"users": [{"email": "o'neill@x", "admin": true, "age": 3, "tags": ["a"], "note": null}]}"#;
        let sql = rows(users, "users").unwrap().unwrap();
        assert_eq!(
            sql,
            "INSERT OR IGNORE INTO \"users\" (\"email\", \"admin\", \"age\", \"tags\", \"note\") \
             VALUES ('o''neill@x', 1, 3, '[\"a\"]', NULL);\n"
        );
        assert_eq!(rows("[]", "users"), Ok(None));
    }

    #[test]
    fn what_is_no_list_of_users_is_said() {
        for (text, problem) in [
            ("3", "it must be a list of users, or an object with a list `users`"),
            ("[3]", "user 1 must be an object with fields"),
            (r#"[{"a": 1}, {"a) --": 1}]"#, "user 2: `a) --` is no name of a column"),
        ] {
            assert_eq!(rows(text, "users"), Err(problem.to_owned()));
        }
    }
}
