use std::io::{Read as _, Write as _};

use hooks::{Answer, LARGEST};

use crate::{exit::Exit, output, person::AWAY};

/// Answer a coding agent's hook, which is on standard input
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// session-start, user-prompt-submit, pre-tool-use, post-tool-use, post-tool-use-failure, permission-request,
    /// stop, after-stop, stop-failure, subagent-stop, pre-compact, session-end or compacted
    event: String,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    answer(&arguments.event)
}

/// Answers the hook `event`.
pub(crate) fn answer(event: &str) -> Exit {
    let mut input = Vec::new();
    let answer = match std::io::stdin().lock().take(LARGEST as u64 + 1).read_to_end(&mut input) {
        Ok(_) => hooks::answer(event, &input, &AWAY),
        // What cannot be read is no hook's input; the gates refuse it.
        Err(_) => hooks::answer(event, b"", &AWAY),
    };
    let Answer { code, out, err } = answer;
    // The exit code counts even if nobody reads the rest.
    let _ = std::io::stdout().lock().write_all(out.as_bytes());
    if !err.is_empty() {
        output::say(&err);
    }
    if code == 2 { Exit::NoSessionOrDenied } else { Exit::Done }
}
