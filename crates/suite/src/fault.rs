//! Faults of the environment: a command failed for a reason that no change of the code can fix.
//!
//! Pure: the end of a command and what it printed go in, the fault and its remedy come out. Whether a fault counts as the
//! environment's is for the caller to say ([`Fault::outlives_a_baseline`]): once the tests have passed here, a missing
//! program or module is what the agent did, but a full disk is not.

use adapters::process::End;

/// A fault of the environment in which a command ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    NoSpace,
    ReadOnly {
        what: String,
    },
    /// A package registry or another server cannot be reached.
    Unreachable {
        what: String,
    },
    /// A program is missing or may not be run: what the shell said.
    NoProgram {
        what: String,
    },
    /// A module that the preparation should have installed is missing.
    NoModule {
        name: String,
    },
    /// Python cannot make virtual environments.
    NoVenv,
}

/// Lines by which programs say that there is no space.
const NO_SPACE: &[&str] =
    &["No space left on device", "ENOSPC", "Disk quota exceeded", "EDQUOT", "not enough space on the disk"];

const READ_ONLY: &[&str] = &["Read-only file system", "EROFS"];

/// Parts of lines by which package managers say that they reach nobody. The line is shown, so it names the server.
const UNREACHABLE: &[&str] = &[
    // pip, uv, poetry.
    "Temporary failure in name resolution",
    "Name or service not known",
    "nodename nor servname provided",
    "Failed to establish a new connection",
    "NewConnectionError",
    "ConnectTimeoutError",
    "Network is unreachable",
    "Could not fetch URL",
    "error sending request for url",
    "dns error",
    // npm, pnpm, yarn, bun.
    "getaddrinfo ENOTFOUND",
    "getaddrinfo EAI_AGAIN",
    "npm error code ENOTFOUND",
    "npm ERR! code ENOTFOUND",
    "npm error code ECONNREFUSED",
    "npm ERR! code ECONNREFUSED",
    "npm error code ETIMEDOUT",
    "npm ERR! code ETIMEDOUT",
    "npm error network request to",
    "npm ERR! network request to",
    "ERR_PNPM_META_FETCH_FAIL",
    "trouble with your network connection",
    // cargo and git.
    "Could not resolve host",
    "failed to download from",
    "Couldn't connect to server",
    "spurious network error",
    // go.
    "dial tcp: lookup",
    "proxyconnect tcp",
    "connect: connection refused",
    // bundler, composer, dotnet.
    "Could not reach host",
    "Could not fetch specs from",
    "curl error 6",
    "curl error 7",
    "error NU1301",
];

/// How programs say that a module is missing: what stands before its name, and what behind it.
const NO_MODULE: &[(&str, &[char])] = &[
    ("ModuleNotFoundError: No module named ", &['\'', '"', '\n', ';']),
    ("ImportError: No module named ", &['\'', '"', '\n']),
    (": No module named ", &['\'', '"', '\n']),
    ("Error: Cannot find module ", &['\'', '"', '\n']),
    ("Cannot find package ", &['\'', '"', '\n']),
    ("cannot load such file -- ", &['\'', '"', '\n', ' ', ')']),
    ("no required module provides package ", &[';', ':', '\n']),
];

/// Lines of Python where its module for virtual environments is not whole, as on Debian.
const NO_VENV: &[&str] = &["ensurepip is not available", "No module named venv", "No module named ensurepip"];

/// The longest line that is shown.
const LONGEST: usize = 300;

/// Tells which fault of the environment made a command fail, if any did.
pub(crate) fn classify(end: &End, output: &str) -> Option<Fault> {
    if *end == End::Exit(0) {
        return None;
    }
    let line = |signs: &[&str]| {
        let found = output.lines().find(|line| signs.iter().any(|sign| line.contains(sign)))?;
        Some(found.trim().chars().take(LONGEST).collect::<String>())
    };
    if line(NO_SPACE).is_some() {
        return Some(Fault::NoSpace);
    }
    if let Some(what) = line(READ_ONLY) {
        return Some(Fault::ReadOnly { what });
    }
    if line(NO_VENV).is_some() {
        return Some(Fault::NoVenv);
    }
    if let Some(what) = line(UNREACHABLE) {
        return Some(Fault::Unreachable { what });
    }
    if let End::Exit(126 | 127) = end {
        let what =
            line(&["not found", "No such file", "Permission denied", "cannot execute", "bad interpreter"]);
        return Some(Fault::NoProgram { what: what.unwrap_or_else(|| end.to_string()) });
    }
    // What runs another program tells that one's end in words: make, just, a script.
    if line(&["Error 127", "Error 126", "exit code 127", "bad interpreter: No such file"]).is_some() {
        let what = line(&["not found", "No such file", "Permission denied", "cannot execute", "Error 12"]);
        return Some(Fault::NoProgram { what: what.unwrap_or_else(|| end.to_string()) });
    }
    module(output).map(|name| Fault::NoModule { name })
}

/// Reads the name of a missing module.
fn module(output: &str) -> Option<String> {
    NO_MODULE.iter().find_map(|(before, ends)| {
        let (_, after) = output.split_once(before)?;
        let after = after.trim_start_matches(['\'', '"']);
        let name: String = after.chars().take_while(|letter| !ends.contains(letter)).collect();
        let name = name.trim().to_owned();
        (!name.is_empty() && name.len() <= LONGEST).then_some(name)
    })
}

impl Fault {
    /// Returns whether this remains an environment fault after the tests passed here before.
    pub fn outlives_a_baseline(&self) -> bool {
        match self {
            Self::NoSpace | Self::ReadOnly { .. } | Self::Unreachable { .. } => true,
            Self::NoProgram { .. } | Self::NoModule { .. } | Self::NoVenv => false,
        }
    }

    /// Returns whether this failure says nothing about the code.
    pub fn proves_nothing(&self) -> bool {
        match self {
            Self::NoSpace | Self::ReadOnly { .. } | Self::NoProgram { .. } => true,
            Self::Unreachable { .. } | Self::NoModule { .. } | Self::NoVenv => false,
        }
    }

    /// Says what is to be done about it.
    fn remedy(&self) -> String {
        match self {
            Self::NoSpace => "free some space".to_owned(),
            Self::ReadOnly { .. } => {
                "only the project's own tree and caches can be written in the sandbox: docs/sandbox.md".to_owned()
            }
            Self::Unreachable { .. } => "see that it can be reached".to_owned(),
            Self::NoProgram { .. } => {
                "install it, or set `test_command` or `setup_command` under [workflow] in warp.toml and begin anew"
                    .to_owned()
            }
            Self::NoModule { name } => format!(
                "name `{name}` among the project's dependencies, or set `setup_command` under [workflow] in warp.toml so \
                 that it is installed, and begin anew"
            ),
            Self::NoVenv => "install it, e.g. `apt-get install python3-venv`".to_owned(),
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoSpace => f.write_str("there is no space left on the disk")?,
            Self::ReadOnly { what } => write!(f, "a place cannot be written: {what}")?,
            Self::Unreachable { what } => write!(f, "a server cannot be reached: {what}")?,
            Self::NoProgram { what } => write!(f, "a program is missing or cannot be run: {what}")?,
            Self::NoModule { name } => write!(f, "the module `{name}` is not installed")?,
            Self::NoVenv => f.write_str("python cannot make virtual environments")?,
        }
        write!(f, "; {}", self.remedy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kind of fault, without its words.
    fn kind(code: i32, output: &str) -> &'static str {
        match classify(&End::Exit(code), output) {
            None => "none",
            Some(Fault::NoSpace) => "space",
            Some(Fault::ReadOnly { .. }) => "read-only",
            Some(Fault::Unreachable { .. }) => "unreachable",
            Some(Fault::NoProgram { .. }) => "program",
            Some(Fault::NoModule { .. }) => "module",
            Some(Fault::NoVenv) => "venv",
        }
    }

    #[test]
    fn what_tools_print_is_told_apart() {
        let table: &[(i32, &str, &str)] = &[
            (0, "OSError: [Errno 28] No space left on device", "none"),
            (1, "FAILED tests/test_a.py::test_b - assert 1 == 2", "none"),
            (1, "thread 'main' panicked at src/lib.rs:3", "none"),
            (101, "error: could not compile `a` (lib) due to 1 previous error", "none"),
            (1, "OSError: [Errno 28] No space left on device", "space"),
            (1, "npm error code ENOSPC\nnpm error syscall write", "space"),
            (101, "error: failed to write `/t/x.rlib`: No space left on device (os error 28)", "space"),
            (1, "OSError: [Errno 30] Read-only file system: '/usr/lib/x'", "read-only"),
            (1, "npm error code EROFS\nnpm error EROFS: read-only file system, mkdir", "read-only"),
            (
                1,
                "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3>: \
                 Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/x/\n\
                 ERROR: Could not find a version that satisfies the requirement x (from versions: none)",
                "unreachable",
            ),
            (
                1,
                "error: Failed to fetch: `http://localhost/simple/x/`\n  Caused by: error sending request for url",
                "unreachable",
            ),
            (
                1,
                "npm error code ENOTFOUND\nnpm error network request to http://registry.invalid/x failed",
                "unreachable",
            ),
            (1, "npm ERR! code ECONNREFUSED\nnpm ERR! syscall connect", "unreachable"),
            (1, "ERR_PNPM_META_FETCH_FAIL  GET http://registry.invalid/x: request failed", "unreachable"),
            (
                101,
                "error: failed to download from `http://index.invalid/x`\n\nCaused by:\n  [6] Could not resolve host: index.invalid",
                "unreachable",
            ),
            (
                1,
                "go: example.invalid/a@v1: Get \"http://proxy.invalid\": dial tcp: lookup proxy.invalid: no such host",
                "unreachable",
            ),
            (
                17,
                "Could not reach host rubygems.invalid. Check your network connection and try again.",
                "unreachable",
            ),
            (127, "sh: 1: pytest: not found", "program"),
            (
                127,
                "make: cargo: No such file or directory\nmake: *** [Makefile:2: test] Error 127",
                "program",
            ),
            (
                2,
                "make: no-such-runner: No such file or directory\nmake: *** [Makefile:2: test] Error 127",
                "program",
            ),
            (126, "sh: 1: ./run-tests: Permission denied", "program"),
            (1, "/bin/sh: ./t: /usr/bin/rubi: bad interpreter: No such file or directory", "program"),
            (1, "/usr/bin/python: No module named pytest", "module"),
            (1, "E   ModuleNotFoundError: No module named 'itsdangerous'", "module"),
            (
                1,
                "node:internal/modules/cjs/loader:1\nError: Cannot find module 'p-map'\nRequire stack:",
                "module",
            ),
            (1, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'ava' imported from /p/test.js", "module"),
            (1, "a.go:3:8: no required module provides package example.invalid/a; to add it:", "module"),
            (1, "cannot load such file -- rspec (LoadError)", "module"),
            (
                1,
                "The virtual environment was not created successfully because ensurepip is not available.",
                "venv",
            ),
        ];
        for (code, output, expected) in table {
            assert_eq!(kind(*code, output), *expected, "{output}");
        }
    }

    #[test]
    fn a_fault_names_what_is_missing_and_what_to_do() {
        let fault = classify(&End::Exit(1), "ModuleNotFoundError: No module named 'yaml'\n").unwrap();
        assert_eq!(
            fault.to_string(),
            "the module `yaml` is not installed; name `yaml` among the project's dependencies, or set `setup_command` under \
             [workflow] in warp.toml so that it is installed, and begin anew"
        );
        assert!(!fault.outlives_a_baseline() && !fault.proves_nothing());
        let fault = classify(&End::Exit(127), "sh: 1: tap: not found\n").unwrap();
        assert!(
            fault
                .to_string()
                .starts_with("a program is missing or cannot be run: sh: 1: tap: not found; install")
        );
    }
}
