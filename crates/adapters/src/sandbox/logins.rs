//! Whose login an agent sees: that of the client that runs, and no other's.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::table::{CLIENTS, KEYS};
use crate::process;

/// How much of a script is looked at, in bytes.
const LONGEST_SCRIPT: u64 = 16 * 1024;

/// Returns the clients that an agent is or starts. One that is a command line is looked at: the programs that it names,
/// and those that a script names which it starts.
pub(crate) fn clients(agent: &str, line: &str, home: &Path) -> Vec<&'static str> {
    if let Some(own) = CLIENTS.iter().find(|client| client.name == agent) {
        return vec![own.name];
    }
    let mut found = named_in(line);
    for script in words(line).filter_map(|word| program(word, home)) {
        found.extend(named_in(&script_text(&script)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Tells whether a variable is the login of another client than the one that runs. An agent that may be any client, or
/// asks any provider, is given all of them.
pub(crate) fn is_for_another(agent: &str, variable: &str) -> bool {
    let has_own = KEYS.iter().any(|(_, client)| *client == agent);
    has_own && KEYS.iter().any(|(name, client)| *name == variable && *client != agent)
}

/// Returns the clients by whose name a program is called.
fn named_in(text: &str) -> Vec<&'static str> {
    let file = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let is_named = |client: &str| words(text).any(|word| file(word).contains(client));
    CLIENTS.iter().map(|client| client.name).filter(|client| is_named(client)).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "'\"`;&|()=<>{}$".contains(c)).filter(|word| !word.is_empty())
}

fn program(word: &str, home: &Path) -> Option<PathBuf> {
    match word.strip_prefix("~/") {
        Some(rest) => Some(home.join(rest)),
        None if word.starts_with('/') => Some(word.into()),
        None => process::installed(word),
    }
}

/// Returns the beginning of a script; nothing of any other file.
fn script_text(path: &Path) -> String {
    let mut text = Vec::new();
    let is_file = path.metadata().is_ok_and(|data| data.is_file());
    let read = is_file.then(|| File::open(path)).and_then(Result::ok);
    // What cannot be read starts nothing.
    let _ = read.map(|file| file.take(LONGEST_SCRIPT).read_to_end(&mut text));
    if text.starts_with(b"#!") { String::from_utf8_lossy(&text).into_owned() } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_sees_its_own_login_and_a_command_that_of_what_it_starts() {
        let home = Path::new("/home/nobody");
        for (agent, line, wanted) in [
            ("claude", "", &["claude"][..]),
            ("codex", "claude", &["codex"]),
            ("opencode", "", &["opencode"]),
            ("script", "agent-script /tmp/x", &[]),
            ("acp", "gemini --acp", &["gemini"]),
            ("acp", "npx -y @zed-industries/claude-code-acp", &["claude"]),
            ("command", "cd /x && exec /opt/bin/codex exec -", &["codex"]),
            ("command", "sh -c 'claude -p || codex exec'", &["claude", "codex"]),
            ("command", "/home/claude/agent.sh", &[]),
            ("command", "python3 agent.py", &[]),
        ] {
            assert_eq!(clients(agent, line, home), wanted, "{agent} {line}");
        }
    }

    #[test]
    fn the_login_of_what_a_script_starts_is_seen() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("agent");
        std::fs::write(&script, "#!/bin/sh\nexec codex exec \"$@\"\n").unwrap();
        assert_eq!(clients("command", "~/agent --fast", directory.path()), ["codex"]);
        assert_eq!(clients("command", &script.display().to_string(), Path::new("/")), ["codex"]);
    }

    #[test]
    fn a_key_of_another_provider_is_not_passed_on() {
        assert!(
            is_for_another("claude", "OPENAI_API_KEY") && is_for_another("codex", "ANTHROPIC_AUTH_TOKEN")
        );
        assert!(!is_for_another("claude", "ANTHROPIC_API_KEY") && !is_for_another("claude", "PATH"));
        assert!(
            !is_for_another("opencode", "OPENAI_API_KEY") && !is_for_another("command", "GEMINI_API_KEY")
        );
    }
}
