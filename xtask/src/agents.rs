//! What tests use besides the system's packages, at pinned versions, outside the repository: real coding agents, a package
//! manager, and packages for the projects that tests make.
//!
//! A client is large (up to 400 MB), so it is installed once and shared by every checkout. The directory takes its
//! final name only when everything is in it, marker included: what has that name is whole. Nothing here is fatal: a
//! test that finds no client skips itself and says so. Only where the newest clients are asked for, one that cannot be had
//! is an error.

use std::{
    env,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    run::{Result, say},
    strangers,
};

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

/// Which versions of the clients are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    Pinned,
    /// Those that the registry has now.
    Newest,
}

const CLIENTS: &[Agent] = &[
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

const TOOLS: &[Agent] = &[
    Agent {
        name: "pnpm",
        package: "pnpm",
        version: "10.34.9",
        variable: "WARP_TEST_PNPM",
        program: &["node_modules", "pnpm", "bin", "pnpm.cjs"],
        optional: Optional::Wanted,
    },
    // GitHub's description of its API, and a client that others have written.
    Agent {
        name: "octokit-openapi",
        package: "@octokit/openapi",
        version: "23.0.2",
        variable: "WARP_TEST_GITHUB_OPENAPI",
        program: &["node_modules", "@octokit", "openapi", "generated", "api.github.com.json"],
        optional: Optional::Wanted,
    },
    Agent {
        name: "octokit-rest",
        package: "@octokit/rest",
        version: "22.0.1",
        variable: "WARP_TEST_OCTOKIT",
        program: &["node_modules", "@octokit", "rest", "dist-src", "index.js"],
        optional: Optional::Wanted,
    },
];

/// The Python package whose wheels the index of the tests has, with all that it needs.
const WHEELS: (&str, &str) = ("pytest", "9.2.0");

/// Installs what is not there and says where each client is.
pub(crate) fn run(versions: Versions) -> Result {
    for (variable, program) in install(versions)? {
        say(&format!("{variable}={}", program.display()));
    }
    Ok(())
}

/// Installs what is not there; returns the environment variables by which tests find the clients.
pub(crate) fn install(versions: Versions) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut found = Vec::new();
    let clients = CLIENTS.iter().map(|client| (client, versions));
    for (agent, versions) in clients.chain(TOOLS.iter().map(|tool| (tool, Versions::Pinned))) {
        match (agent.provide(versions), versions) {
            (Ok(program), _) => found.push((agent.variable, program)),
            (Err(error), Versions::Newest) => {
                return Err(format!("the newest {} is not there: {error}", agent.name));
            }
            (Err(error), Versions::Pinned) => {
                say(&format!("{} {} is not there: {error}", agent.name, agent.version));
            }
        }
    }
    found.extend(strangers::install());
    match wheels() {
        Ok(directory) => found.push(("WARP_TEST_WHEELS", directory)),
        Err(error) => say(&format!("the wheels of {} {} are not there: {error}", WHEELS.0, WHEELS.1)),
    }
    Ok(found)
}

/// Fetches the wheels that are not there; returns their directory.
fn wheels() -> Result<PathBuf> {
    if let Some(given) = env::var_os("WARP_TEST_WHEELS") {
        return Ok(given.into());
    }
    let (package, version) = WHEELS;
    let wanted = format!("{package}=={version}");
    let cache = cache()?;
    let directory = cache.join(format!("{package}-{version}"));
    if !directory.is_dir() {
        let temporary = fetching(&cache)?;
        say(&format!("fetching {wanted}"));
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest"]);
        bounded("pip", pip.arg(temporary.path()).arg(&wanted), pip_error).map(drop)?;
        put_in_place(temporary.path(), &directory, |directory| directory.is_dir())?;
    }
    Ok(directory)
}

/// Finds why pip has failed: the last error says it.
pub(crate) fn pip_error(log: &str) -> Option<String> {
    let mut errors = log.lines().filter(|line| line.starts_with("ERROR: "));
    errors.next_back().map(ToOwned::to_owned)
}

/// Makes a directory for what is not whole yet.
pub(crate) fn fetching(cache: &Path) -> Result<tempfile::TempDir> {
    let failed = |error| format!("`{}` cannot be written: {error}", cache.display());
    fs::create_dir_all(cache).map_err(failed)?;
    tempfile::TempDir::with_prefix_in("installing-", cache).map_err(failed)
}

/// Gives what is whole its name.
pub(crate) fn put_in_place(from: &Path, to: &Path, is_whole: impl Fn(&Path) -> bool) -> Result {
    match fs::rename(from, to) {
        Ok(()) => Ok(()),
        // Another installation was faster; its files are the same.
        Err(_) if is_whole(to) => Ok(()),
        // Something unfinished has the name; it did not come from here, so it is not removed.
        Err(error) => Err(format!("`{}` cannot be put in place: {error}", to.display())),
    }
}

impl Agent {
    fn provide(&self, versions: Versions) -> Result<PathBuf> {
        if let Some(given) = env::var_os(self.variable) {
            return Ok(given.into());
        }
        let version = match versions {
            Versions::Pinned => self.version.to_owned(),
            Versions::Newest => newest(self.package)?,
        };
        if versions == Versions::Newest {
            say(&format!("{} {version} is the newest; {} is pinned", self.name, self.version));
        }
        let cache = cache()?;
        let directory = cache.join(format!("{}-{version}", self.name));
        if let Some(program) = installed(&directory) {
            return Ok(program);
        }
        self.install(&version, &cache, &directory)?;
        installed(&directory).ok_or_else(|| format!("`{}` holds no program", directory.display()))
    }

    fn install(&self, version: &str, cache: &Path, directory: &Path) -> Result {
        let failed = |error| format!("`{}` cannot be written: {error}", cache.display());
        let temporary = fetching(cache)?;
        let wanted = format!("{}@{version}", self.package);
        say(&format!("installing {wanted}"));
        npm(temporary.path(), &wanted, &self.optional)?;
        let program = find(temporary.path(), self.program)
            .ok_or_else(|| format!("`{wanted}` has no program for this platform"))?;
        let relative = program.strip_prefix(temporary.path()).map_err(|error| error.to_string())?;
        fs::write(temporary.path().join(MARKER), relative.as_os_str().as_encoded_bytes()).map_err(failed)?;
        put_in_place(temporary.path(), directory, |directory| installed(directory).is_some())
    }
}

pub(crate) fn cache() -> Result<PathBuf> {
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

/// Asks the registry for the newest version of a package.
fn newest(package: &str) -> Result<String> {
    let mut npm = Command::new("npm");
    npm.args(["view", package, "version", "--loglevel", "error", "--fetch-retries", "1"]);
    let said = bounded("npm", &mut npm, npm_error)?;
    version(&said).ok_or_else(|| format!("npm names no version of `{package}`"))
}

/// Finds a version on a line of its own.
fn version(text: &str) -> Option<String> {
    let is_version = |line: &&str| {
        let is_known = |letter: char| letter.is_ascii_alphanumeric() || ".-+".contains(letter);
        line.starts_with(|first: char| first.is_ascii_digit())
            && line.contains('.')
            && line.chars().all(is_known)
    };
    text.lines().map(str::trim).rfind(is_version).map(ToOwned::to_owned)
}

/// Finds why npm has failed: the code is the shortest that it says.
fn npm_error(log: &str) -> Option<String> {
    log.lines().find_map(|line| line.strip_prefix("npm error code ")).map(ToOwned::to_owned)
}

/// Installs a package without running any of its scripts.
fn npm(directory: &Path, package: &str, optional: &Optional) -> Result {
    let mut npm = Command::new("npm");
    npm.arg("install")
        .arg("--prefix")
        .arg(directory)
        .args(["--ignore-scripts", "--no-audit", "--no-fund"])
        // Without a line, the usual three tries would take minutes to say so.
        .args(["--fetch-retries", "1", "--fetch-retry-mintimeout", "1000"])
        .args((*optional == Optional::LeftOut).then_some("--omit=optional"))
        .arg(package);
    bounded("npm", &mut npm, npm_error).map(drop)
}

/// Runs a package client until it ends or takes too long and returns what it said; `complaint` finds in that why it failed.
pub(crate) fn bounded(
    name: &str,
    command: &mut Command,
    complaint: impl Fn(&str) -> Option<String>,
) -> Result<String> {
    let log =
        tempfile::tempfile().map_err(|error| format!("the output of {name} cannot be kept: {error}"))?;
    let output = || log.try_clone().map_err(|error| format!("the output of {name} cannot be kept: {error}"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output()?)
        .stderr(output()?)
        .spawn()
        .map_err(|error| format!("{name} could not be started: {error}"))?;
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                let text = read(log).map_err(|error| format!("{name} ended with {status}: {error}"))?;
                if status.success() {
                    return Ok(text);
                }
                let why = complaint(&text).unwrap_or_else(|| "it does not say why".to_owned());
                return Err(format!("{name} failed ({status}): {why}"));
            }
            Ok(None) if begun.elapsed() < PATIENCE => thread::sleep(INTERVAL),
            Ok(None) => {
                let ended = child.kill().and_then(|()| child.wait());
                let ended =
                    ended.map_or_else(|error| format!(", and cannot be ended: {error}"), |_| String::new());
                return Err(format!("{name} took longer than {} s{ended}", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("{name} could not be waited for: {error}")),
        }
    }
}

fn read(mut log: File) -> std::io::Result<String> {
    use std::io::Seek as _;
    let mut text = String::new();
    log.rewind()?;
    log.read_to_string(&mut text)?;
    Ok(text)
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
    fn the_newest_version_is_found_among_what_npm_says() {
        assert_eq!(version("npm warn old config\n2.1.326\n").as_deref(), Some("2.1.326"));
        assert_eq!(version("0.170.0-alpha.1\n").as_deref(), Some("0.170.0-alpha.1"));
        assert_eq!(version("npm warn 1 thing\n"), None);
    }

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
