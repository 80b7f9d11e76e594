//! Running programs and saying what is done.

use std::{
    env,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

/// Every task ends with success or with a sentence that says what failed.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// Returns the workspace's root directory.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().map(Path::to_owned).unwrap_or_else(|| here.to_owned())
}

/// Says something to whoever waits.
pub(crate) fn say(text: &str) {
    // There is nowhere left to complain if this fails.
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Makes a cargo command in the workspace's root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command whose output goes to the terminal; a failure is an error.
pub(crate) fn check(command: &mut Command) -> Result {
    let shown = shown(command);
    say(&format!("$ {shown}"));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed ({status})")),
        Err(error) => Err(format!("`{shown}` could not be started: {error}")),
    }
}

/// Runs a command and returns what it printed; a failure is an error.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command.output().map_err(|error| format!("`{shown}` could not be started: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("`{shown}` failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr)))
    }
}

/// Returns a command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let name =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}
