//! Warp's own commands: which of them are an agent's.

use super::{Judgement, denied, options::asks_help, parse::UNKNOWN, word::Field};

/// Judges `warp` and its arguments. What is not known to be an agent's is a person's.
pub(super) fn judge(arguments: &[Field]) -> Judgement {
    let words = words(arguments);
    let allowed = match words.as_slice() {
        [] | ["help" | "--version" | "-V", ..] => true,
        all if asks_help(all.iter().copied()) => true,
        ["status" | "log" | "explain" | "cost" | "workflow" | "mcp" | "next" | "diff", ..] => true,
        ["salvage", "list" | "show", ..] => true,
        ["dev", "up" | "check", ..] => true,
        ["rdb"] | ["rdb", "status", ..] => true,
        // The event `abort` ends the run, as `warp state abort` does.
        ["state", "transition", rest @ ..] => !rest.iter().any(|word| matches!(*word, "abort" | NOT_KNOWN)),
        ["state", "status" | "inject" | "gate" | "verify", ..] => true,
        ["issue" | "pr", "list" | "show", ..] => true,
        // An issue that an agent files waits for a person's approval.
        ["issue", "new", rest @ ..] => {
            !rest.iter().any(|word| *word == NOT_KNOWN || word.starts_with("--approve"))
        }
        ["config" | "doctor"] | ["config" | "doctor", "--json"] => true,
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

/// Stands for a word that is only known once the command runs.
const NOT_KNOWN: &str = "…";

/// Returns the arguments without the options that come before the command.
fn words(arguments: &[Field]) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = arguments.iter().map(|field| field.text.as_str());
    while let Some(word) = rest.next() {
        match word {
            "-C" | "--project" => _ = rest.next(),
            _ if word.starts_with("--project=") || (word.starts_with("-C") && words.is_empty()) => {}
            "--json" if words.is_empty() => {}
            _ if word.starts_with(UNKNOWN) && words.len() < 4 => words.push(NOT_KNOWN),
            _ => words.push(word),
        }
    }
    words
}
