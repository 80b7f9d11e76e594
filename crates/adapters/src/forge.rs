//! The forge, as far as its own command line reaches.

use std::{path::Path, time::Duration};

use crate::process;

/// How long the forge may take to answer.
const LIMIT: Duration = Duration::from_secs(60);

/// Tells whether GitHub's command line is there.
pub fn is_installed() -> bool {
    process::is_installed("gh")
}

/// Opens a pull request of a branch that was pushed, or finds the one that is open, and returns its address.
pub fn pull_request(root: &Path, base: &str, branch: &str, title: &str) -> Result<String, String> {
    let ask = |arguments: &[&str]| {
        process::run("gh", arguments, root, &[("GH_PROMPT_DISABLED", "1")], LIMIT)
            .map_err(|error| error.to_string())
    };
    let found = ask(&["pr", "view", branch, "--json", "url", "--jq", ".url"])?;
    if found.is_success() {
        return address(&found.text());
    }
    let made = ask(&["pr", "create", "--base", base, "--head", branch, "--title", title, "--body", title])?;
    if !made.is_success() {
        return Err(format!("`gh pr create` ended with {}: {}", made.end, made.last_words(300)));
    }
    address(&made.text())
}

/// The address is the last line that `gh` prints.
fn address(text: &str) -> Result<String, String> {
    let line = text.lines().last().map(str::trim).filter(|line| line.starts_with("http"));
    line.map(str::to_owned).ok_or_else(|| "`gh` told no address of the pull request".to_owned())
}
