//! The user's own git hooks, run before warp commits or pushes.
//!
//! Warp's own git runs without hooks: its backstop would take it for the agent's. What the user wants to have checked is
//! checked all the same, by running their hook as git would.

use std::{fs, path::Path, time::Duration};

use adapters::{
    git::Prepared,
    process::{self, Finished},
};

use super::NextError;
use crate::{Place, rails::backstop};

/// How long a hook may take: one that runs the tests takes its time.
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// How much of what a hook prints is told.
const OUTPUT_KEPT: usize = 2000;
/// Starts a hook with a file as its input, as git starts hooks that read.
const WITH_INPUT: &str = r#"input=$1 hook=$2; shift 2; exec "$hook" "$@" <"$input""#;

/// Runs the user's `pre-commit` on what is about to be committed; it may change files.
pub(super) fn pre_commit(place: &Place, prepared: &Prepared<'_>) -> Result<bool, NextError> {
    run(place, "pre-commit", &[], Some(prepared.index()), None)
}

/// Lets the user's `commit-msg` look at a message, and returns the message as it then is.
pub(super) fn commit_msg(place: &Place, prepared: &Prepared<'_>, message: &str) -> Result<String, NextError> {
    let file = prepared.message_file();
    let failed = |error| NextError::World(format!("{}: {error}", file.display()));
    fs::write(&file, message).map_err(failed)?;
    let path = file.to_str().unwrap_or_default();
    if !run(place, "commit-msg", &[path], Some(prepared.index()), None)? {
        return Ok(message.to_owned());
    }
    fs::read_to_string(&file).map_err(failed)
}

/// Runs the user's `pre-push`.
pub(super) fn pre_push(place: &Place, remote: (&str, &str), line: &str) -> Result<(), NextError> {
    let input = tempfile::NamedTempFile::new().and_then(|file| {
        fs::write(file.path(), line)?;
        Ok(file)
    });
    let input = input.map_err(|error| NextError::World(format!("no room for a hook's input: {error}")))?;
    run(place, "pre-push", &[remote.0, remote.1], None, Some(input.path())).map(drop)
}

/// Runs a hook if there is one, and tells whether there was.
fn run(
    place: &Place,
    name: &str,
    arguments: &[&str],
    index: Option<&str>,
    input: Option<&Path>,
) -> Result<bool, NextError> {
    let Some(hook) = backstop::user_hook(place, name).map_err(|error| NextError::World(error.to_string()))?
    else {
        return Ok(false);
    };
    let hook =
        hook.to_str().ok_or_else(|| NextError::World(format!("the path of your {name} hook is not text")))?;
    let input = input.and_then(Path::to_str).unwrap_or("/dev/null");
    let all = ["-c", WITH_INPUT, "sh", input, hook].into_iter().chain(arguments.iter().copied());
    let mut environment = vec![("GIT_EDITOR", ":")];
    environment.extend(index.map(|index| ("GIT_INDEX_FILE", index)));
    let finished: Finished = process::run("sh", all, &place.root, &environment, LIMIT)
        .map_err(|error| NextError::World(format!("your {name} hook could not be run: {error}")))?;
    if finished.is_success() {
        return Ok(true);
    }
    Err(NextError::World(format!(
        "your {name} hook ended with {}; mend what it says, then `warp next`\n{}",
        finished.end,
        finished.last_words(OUTPUT_KEPT)
    )))
}
