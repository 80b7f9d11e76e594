//! The user's own git hooks, run before warp commits or pushes.
//!
//! Warp's own git runs without hooks: its backstop would take it for the agent's. What the user wants to have checked is
//! checked all the same, by running their hook as git would.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use adapters::git::Prepared;
use project::{Place, Shell, rails::backstop};

use crate::JobError;

/// How long a hook may take: one that runs the tests takes its time.
const LIMIT: Duration = Duration::from_secs(15 * 60);
/// How much of what a hook prints is told.
const OUTPUT_KEPT: usize = 2000;
/// Starts a hook with a file as its input, as git starts hooks that read.
const WITH_INPUT: &str = r#"input=$1 hook=$2; shift 2; exec "$hook" "$@" <"$input""#;

/// Runs the user's `pre-commit` on what is about to be committed; it may change files.
pub(crate) fn pre_commit(shell: &Shell, place: &Place, prepared: &Prepared<'_>) -> Result<bool, JobError> {
    let Some(hook) = Hook::find(place, "pre-commit")? else { return Ok(false) };
    hook.run(shell, place, &[], Some(prepared.index()), None)?;
    Ok(true)
}

/// Lets the user's `commit-msg` look at a message, and returns the message as it then is.
pub(crate) fn commit_msg(
    shell: &Shell,
    place: &Place,
    prepared: &mut Prepared<'_>,
    message: &str,
) -> Result<String, JobError> {
    let Some(hook) = Hook::find(place, "commit-msg")? else { return Ok(message.to_owned()) };
    let failed = |error| JobError::World(format!("no room for a message: {error}"));
    let file = prepared.message_file(message).map_err(failed)?;
    let path = file.to_str().unwrap_or_default();
    hook.run(shell, place, &[path], Some(prepared.index()), None)?;
    prepared.forget_tree();
    fs::read_to_string(&file).map_err(failed)
}

/// Runs the user's `pre-push`.
pub(crate) fn pre_push(
    shell: &Shell,
    place: &Place,
    remote: (&str, &str),
    line: &str,
) -> Result<(), JobError> {
    let Some(hook) = Hook::find(place, "pre-push")? else { return Ok(()) };
    let input = tempfile::NamedTempFile::new().and_then(|file| {
        fs::write(file.path(), line)?;
        Ok(file)
    });
    let input = input.map_err(|error| JobError::World(format!("no room for a hook's input: {error}")))?;
    hook.run(shell, place, &[remote.0, remote.1], None, Some(input.path()))
}

/// Returns what a hook is told of a push: local and remote ref, each with its commit.
pub(crate) fn push_line(branch: &str, commit: &str, there: Option<&str>) -> String {
    let there = there.map_or_else(|| "0".repeat(commit.len()), str::to_owned);
    format!("refs/heads/{branch} {commit} refs/heads/{branch} {there}\n")
}

/// A hook of the user's.
struct Hook {
    name: &'static str,
    path: String,
}

impl Hook {
    fn find(place: &Place, name: &'static str) -> Result<Option<Self>, JobError> {
        let found = backstop::user_hook(place, name).map_err(|error| JobError::World(error.to_string()))?;
        let text = |path: PathBuf| path.into_os_string().into_string();
        let path = found.map(text).transpose();
        let path = path.map_err(|_| JobError::World(format!("the path of your {name} hook is not text")))?;
        Ok(path.map(|path| Self { name, path }))
    }

    fn run(
        &self,
        shell: &Shell,
        place: &Place,
        arguments: &[&str],
        index: Option<&Path>,
        input: Option<&Path>,
    ) -> Result<(), JobError> {
        let name = self.name;
        let input = input.and_then(Path::to_str).unwrap_or("/dev/null");
        let all = ["-c", WITH_INPUT, "sh", input, &self.path].into_iter().chain(arguments.iter().copied());
        // A hook that stashes for its own purposes is no agent.
        let mut environment = vec![
            ("GIT_EDITOR", ":"),
            ("GIT_CONFIG_COUNT", "1"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", "/dev/null"),
        ];
        environment.extend(index.and_then(Path::to_str).map(|index| ("GIT_INDEX_FILE", index)));
        let all: Vec<&str> = all.collect();
        let finished = shell
            .run(&place.root, &all, &environment, LIMIT)
            .map_err(|error| JobError::World(format!("your {name} hook could not be run: {error}")))?;
        if finished.is_success() {
            return Ok(());
        }
        Err(JobError::World(format!(
            "your {name} hook ended with {}; fix what it says, then `warp next`\n{}",
            finished.end,
            finished.last_words(OUTPUT_KEPT)
        )))
    }
}
