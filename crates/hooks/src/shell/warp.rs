//! Warp's own commands: which of them are an agent's.

use super::{Judgement, git::denied, parse::UNKNOWN, word::Field};

/// Judges `warp` and its arguments. What is not known to be an agent's is a person's.
pub(super) fn judge(arguments: &[Field]) -> Judgement {
    let words = words(arguments);
    let rest = words.get(1..).unwrap_or_default();
    let options = |allowed: &[&str]| {
        rest.iter().filter(|word| word.starts_with('-')).all(|word| allowed.contains(word))
    };
    let allowed =
        match (words.first().copied().unwrap_or_default(), rest.first().copied().unwrap_or_default()) {
            ("" | "help" | "--help" | "-h" | "--version" | "-V", _) => true,
            ("status" | "log" | "explain" | "workflow" | "mcp" | "next" | "hook", _) => true,
            ("state", "status" | "transition" | "inject" | "gate" | "verify" | "--help" | "-h") => true,
            ("config" | "doctor", _) => options(&["--json", "--help", "-h"]),
            _ => false,
        };
    if allowed {
        return Judgement::Allowed;
    }
    let shown: Vec<&str> = words.iter().take(2).copied().filter(|word| !word.starts_with('-')).collect();
    let shown = format!("`warp {}`", super::guard::readable(&shown.join(" ")));
    denied(
        &shown,
        "is a person's to run",
        "say what is needed, or report an event with `warp state transition`",
    )
}

/// Returns the arguments without the options that come before the command.
fn words(arguments: &[Field]) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = arguments.iter().map(|field| field.text.as_str());
    while let Some(word) = rest.next() {
        match word {
            "-C" | "--project" => _ = rest.next(),
            _ if word.starts_with("--project=") || (word.starts_with("-C") && words.is_empty()) => {}
            "--json" if words.is_empty() => {}
            _ if word.starts_with(UNKNOWN) && words.len() < 2 => words.push("…"),
            _ => words.push(word),
        }
    }
    words
}
