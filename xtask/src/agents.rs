//! The coding agents that tests drive: real clients, at pinned versions, outside the repository.
//!
//! A client is large (up to 400 MB), so it is installed once and shared by every checkout. The directory takes its
//! final name only when everything is in it, marker included: what has that name is whole. Nothing here is fatal: a
//! test that finds no client skips itself and says so.

use std::{
    env,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::run::{Result, say};

/// How long one installation may take. Ten seconds are usual; a slow line needs minutes.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often npm is asked whether it has ended.
const INTERVAL: Duration = Duration::from_millis(50);
/// The file, written last, that names the client's program relative to its directory.
const MARKER: &str = "installed";

struct Agent {
    name: &'static str,
    package: &'static str,
    version: &'static str,
    /// The environment variable that tells tests where the program is.
    variable: &'static str,
    /// Where the program lies; `*` at a component's end stands for anything.
    program: &'static [&'static str],
    /// Whether the packages are left out that it can do without.
    optional: Optional,
}

#[derive(PartialEq, Eq)]
enum Optional {
    Wanted,
    LeftOut,
}

const AGENTS: &[Agent] = &[
    Agent {
        name: "claude-code",
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        variable: "WARP_TEST_CLAUDE",
        program: &["node_modules", "@anthropic-ai", "claude-code-*", "claude"],
        optional: Optional::Wanted,
    },
    Agent {
        name: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        variable: "WARP_TEST_CODEX",
        program: &["node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex"],
        optional: Optional::Wanted,
    },
    Agent {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        variable: "WARP_TEST_OPENCODE",
        program: &["node_modules", "opencode-*", "bin", "opencode"],
        optional: Optional::Wanted,
    },
    Agent {
        name: "claude-agent-acp",
        package: "@agentclientprotocol/claude-agent-acp",
        version: "0.99.1",
        variable: "WARP_TEST_ACP",
        program: &["node_modules", "@agentclientprotocol", "claude-agent-acp", "dist", "index.js"],
        // A Claude Code of its own: tests give it the one above.
        optional: Optional::LeftOut,
    },
];

/// Installs what is not there and says where each client is.
pub(crate) fn run() -> Result {
    for (variable, program) in install() {
        say(&format!("{variable}={}", program.display()));
    }
    Ok(())
}

/// Installs what is not there; returns the environment variables by which tests find the clients.
pub(crate) fn install() -> Vec<(&'static str, PathBuf)> {
    let mut found = Vec::new();
    for agent in AGENTS {
        match agent.provide() {
            Ok(program) => found.push((agent.variable, program)),
            Err(error) => say(&format!("{} {} is not there: {error}", agent.name, agent.version)),
        }
    }
    found
}

impl Agent {
    fn provide(&self) -> Result<PathBuf> {
        if let Some(given) = env::var_os(self.variable) {
            return Ok(given.into());
        }
        let cache = cache()?;
        let directory = cache.join(format!("{}-{}", self.name, self.version));
        if let Some(program) = installed(&directory) {
            return Ok(program);
        }
        self.install(&cache, &directory)?;
        installed(&directory).ok_or_else(|| format!("`{}` holds no program", directory.display()))
    }

    fn install(&self, cache: &Path, directory: &Path) -> Result {
        let failed = |error| format!("`{}` cannot be written: {error}", cache.display());
        fs::create_dir_all(cache).map_err(failed)?;
        let temporary = tempfile::TempDir::with_prefix_in("installing-", cache).map_err(failed)?;
        let wanted = format!("{}@{}", self.package, self.version);
        say(&format!("installing {wanted}"));
        npm(temporary.path(), &wanted, &self.optional)?;
        let program = find(temporary.path(), self.program)
            .ok_or_else(|| format!("`{wanted}` has no program for this platform"))?;
        let relative = program.strip_prefix(temporary.path()).map_err(|error| error.to_string())?;
        fs::write(temporary.path().join(MARKER), relative.as_os_str().as_encoded_bytes()).map_err(failed)?;
        match fs::rename(temporary.path(), directory) {
            Ok(()) => Ok(()),
            // Another installation was faster; its files are the same.
            Err(_) if installed(directory).is_some() => Ok(()),
            // Something unfinished has the name; it did not come from here, so it is not removed.
            Err(error) => Err(format!("`{}` cannot be put in place: {error}", directory.display())),
        }
    }
}

fn cache() -> Result<PathBuf> {
    if let Some(given) = env::var_os("WARP_TEST_AGENTS") {
        return Ok(given.into());
    }
    let caches = match (env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")) {
        (Some(caches), _) => PathBuf::from(caches),
        (None, Some(home)) => Path::new(&home).join(".cache"),
        (None, None) => return Err("neither WARP_TEST_AGENTS nor HOME is set".to_owned()),
    };
    Ok(caches.join("warp-drive-tests"))
}

fn installed(directory: &Path) -> Option<PathBuf> {
    let relative = fs::read_to_string(directory.join(MARKER)).ok()?;
    let program = directory.join(relative);
    program.is_file().then_some(program)
}

/// Installs a package without running any of its scripts.
fn npm(directory: &Path, package: &str, optional: &Optional) -> Result {
    let log = tempfile::tempfile().map_err(|error| format!("npm's output cannot be kept: {error}"))?;
    let output = || log.try_clone().map_err(|error| format!("npm's output cannot be kept: {error}"));
    let mut child = Command::new("npm")
        .arg("install")
        .arg("--prefix")
        .arg(directory)
        .args(["--ignore-scripts", "--no-audit", "--no-fund"])
        // Without a line, the usual three tries would take minutes to say so.
        .args(["--fetch-retries", "1", "--fetch-retry-mintimeout", "1000"])
        .args((*optional == Optional::LeftOut).then_some("--omit=optional"))
        .arg(package)
        .stdin(Stdio::null())
        .stdout(output()?)
        .stderr(output()?)
        .spawn()
        .map_err(|error| format!("npm could not be started: {error}"))?;
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("npm failed ({status}): {}", complaint(log))),
            Ok(None) if begun.elapsed() < PATIENCE => thread::sleep(INTERVAL),
            Ok(None) => {
                let ended = child.kill().and_then(|()| child.wait());
                let ended =
                    ended.map_or_else(|error| format!(", and cannot be ended: {error}"), |_| String::new());
                return Err(format!("npm took longer than {} s{ended}", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("npm could not be waited for: {error}")),
        }
    }
}

/// Returns npm's error code, which is the shortest that it says of a failure.
fn complaint(mut log: File) -> String {
    use std::io::Seek as _;
    let mut text = String::new();
    if log.rewind().and_then(|()| log.read_to_string(&mut text)).is_err() {
        return "it cannot be told why".to_owned();
    }
    let code = text.lines().find_map(|line| line.strip_prefix("npm error code "));
    code.map_or_else(|| "it gave no error code".to_owned(), ToOwned::to_owned)
}

/// Finds the first file whose path matches a pattern.
fn find(directory: &Path, pattern: &[&str]) -> Option<PathBuf> {
    let Some((first, rest)) = pattern.split_first() else {
        return directory.is_file().then(|| directory.to_owned());
    };
    let Some(start) = first.strip_suffix('*') else { return find(&directory.join(first), rest) };
    let entries = fs::read_dir(directory).ok()?.flatten();
    let mut matching: Vec<_> =
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(start)).collect();
    matching.sort_by_key(fs::DirEntry::file_name);
    matching.iter().find_map(|entry| find(&entry.path(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_directory_with_a_marker_is_whole() {
        let cache = tempfile::tempdir().unwrap();
        let program = cache.path().join("node_modules/codex-linux-x64/bin/codex");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let pattern = ["node_modules", "codex-*", "bin", "codex"];
        assert_eq!(find(cache.path(), &pattern), None);
        fs::write(&program, "").unwrap();
        assert_eq!(find(cache.path(), &pattern).as_ref(), Some(&program));
        assert_eq!(installed(cache.path()), None);
        fs::write(cache.path().join(MARKER), "node_modules/codex-linux-x64/bin/codex").unwrap();
        assert_eq!(installed(cache.path()), Some(program));
    }
}
