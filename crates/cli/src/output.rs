//! Printing: data to the standard output, everything else to the standard error.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::{error::CommandError, exit::Exit};

/// Prints a text that ends with a line end, or is given one.
///
/// A reader that has gone away (`warp log | head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::new(Exit::OutsideSaidNo, format!("failed to print: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints one line that may be empty.
pub(crate) fn line(text: &str) {
    // A reader that has gone away is no error, and there is nowhere to complain about any other.
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), CommandError> {
    print(&serde_json::to_string_pretty(value).expect("what is printed can be written as JSON"))
}

/// Says in the end how something went, beside the data.
pub(crate) fn say(text: &str) {
    // There is nowhere left to complain if this fails.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says something beside the data.
pub(crate) fn note(text: &str) {
    // There is nowhere left to complain if this fails.
    let _ = writeln!(io::stderr().lock(), "note: {text}");
}

/// Prints an error and its hints.
pub(crate) fn error(error: &CommandError) {
    let mut text = format!("error: {error}\n");
    for hint in &error.hints {
        text.push_str(&format!("hint: {hint}\n"));
    }
    // There is nowhere left to complain if this fails.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints help, or what was wrong with the arguments.
pub(crate) fn usage(error: &clap::Error) -> Exit {
    // There is nowhere left to complain if this fails.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}
