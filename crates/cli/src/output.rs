//! Printing: data to the standard output, everything else to the standard error.
//!
//! What is printed holds text of others: titles, commits, files, what an agent says. All of it goes through
//! [`engine::shown`], so that nothing in it acts on a terminal.

use std::io::{self, IsTerminal as _, Write as _};

use engine::shown;
use serde::Serialize;

use crate::{
    colour::{self, Colour},
    error::CommandError,
    exit::Exit,
    progress,
};

/// Prints a text that ends with a line end, or is given one.
///
/// A reader that has gone away (`warp log | head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), CommandError> {
    put(&shown(text))
}

/// Prints a text, with colours at a terminal that shows them: `paint` gives a line its own.
pub(crate) fn print_painted(text: &str, paint: fn(&str) -> String) -> Result<(), CommandError> {
    let text = shown(text);
    if !colour::is_on_stdout() {
        return put(&text);
    }
    put(&text.lines().map(|line| paint(line) + "\n").collect::<String>())
}

/// Prints a patch: to the byte for a program, which may apply it, and like any other text at a terminal.
pub(crate) fn print_patch(text: &str) -> Result<(), CommandError> {
    if io::stdout().is_terminal() { print(text) } else { put(text) }
}

fn put(text: &str) -> Result<(), CommandError> {
    let mut out = io::stdout().lock();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .and_then(|()| out.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::new(Exit::Failed, format!("failed to print: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints one line that may be empty.
pub(crate) fn line(text: &str) {
    // A reader that has gone away is no error, and there is nowhere to complain about any other.
    let _ = writeln!(io::stdout().lock(), "{}", shown(text));
}

/// Prints a value as JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), CommandError> {
    print(&serde_json::to_string_pretty(value).expect("what is printed can be written as JSON"))
}

/// Says in the end how something went, beside the data.
pub(crate) fn say(text: &str) {
    progress::hush();
    // There is nowhere left to complain if this fails.
    let _ = writeln!(io::stderr().lock(), "{}", shown(text));
}

/// Says something beside the data.
pub(crate) fn note(text: &str) {
    say(&format!("note: {text}"));
}

/// Prints an error and its hints. Further lines of each are indented: what an error quotes cannot look like a hint.
pub(crate) fn error(error: &CommandError) {
    let mut text = labelled("error: ", &error.to_string());
    for hint in &error.hints {
        text.push_str(&labelled("hint: ", hint));
    }
    let mut text = shown(&text).into_owned();
    if colour::is_on_stderr() {
        text = text.replacen("error:", &Colour::Bad.paint("error:"), 1);
    }
    // There is nowhere left to complain if this fails.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

fn labelled(label: &str, text: &str) -> String {
    let mut lines = text.trim_end().lines();
    let mut labelled = format!("{label}{}\n", lines.next().unwrap_or_default());
    lines.for_each(|line| labelled.push_str(&format!("  {line}\n")));
    labelled
}

/// Prints help, or what was wrong with the arguments.
pub(crate) fn usage(error: &clap::Error) -> Exit {
    if error.use_stderr() {
        // It repeats the arguments.
        say(error.render().to_string().trim_end());
        return Exit::Usage;
    }
    // There is nowhere left to complain if this fails.
    let _ = error.print();
    Exit::Done
}
