//! What to show of an error text that a program printed.

use super::{brief, tail};

/// How much of a text without a stack trace is shown, in characters.
const MOST: usize = 300;

/// Returns the message of an error text. A stack trace is left out, wherever the message stands in it; without one the end
/// of the text is returned.
pub(super) fn message(text: &str) -> String {
    match traced(text) {
        Some(message) => brief(message),
        None => tail(text, MOST),
    }
}

/// Returns the first line of a text that says something, without a stack trace below it.
pub(super) fn first_line(text: &str) -> String {
    brief(traced(text).unwrap_or(text))
}

/// Finds the message that belongs to a stack trace.
fn traced(text: &str) -> Option<&str> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if let Some(start) = lines.iter().position(|line| line.starts_with("Traceback (most recent call last)")) {
        // Python says the message after the frames, which are indented.
        return lines[start + 1..].iter().find(|line| !line.starts_with(' ')).copied();
    }
    if let Some(start) = lines.iter().position(|line| line.contains("panicked at ")) {
        // Rust says it below the place.
        return lines.get(start + 1).copied();
    }
    // JavaScript and Java say it before the frames.
    let first = lines.iter().position(|line| is_frame(line))?;
    first.checked_sub(1).and_then(|index| lines.get(index)).copied()
}

fn is_frame(line: &str) -> bool {
    line.starts_with(char::is_whitespace) && line.trim_start().starts_with("at ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_trace_is_shown_by_its_message() {
        let node = "/opt/agent/index.js:10\n    throw new Error(\"no model\");\n    ^\n\nError: no model\n    at run (/opt/agent/index.js:10:11)\n    at main (/opt/agent/index.js:20:3)\n\nNode.js v22.1.0\n";
        assert_eq!(message(node), "Error: no model");
        let python = "starting\nTraceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    run()\nRuntimeError: no key\n";
        assert_eq!(message(python), "RuntimeError: no key");
        let rust = "\nthread 'main' panicked at src/main.rs:3:5:\nno configuration\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(message(rust), "no configuration");
        let frames = format!("Overloaded\n{}", "    at f (x.js:1:1)\n".repeat(100));
        assert_eq!(first_line(&frames), "Overloaded");
    }

    #[test]
    fn other_texts_are_shown_by_their_end_or_their_first_line() {
        assert_eq!(message("warming up\nno such option\n"), "warming up\nno such option");
        assert_eq!(first_line("\n  no such option\nsee --help\n"), "no such option");
        assert_eq!(message(""), "");
        assert_eq!(first_line(""), "");
    }
}
