//! Errors and numbers in words.

use std::error::Error;

/// Formats an error with its causes.
pub fn spelled(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// Formats a count with its noun: `1 chunk`, `2 chunks`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
