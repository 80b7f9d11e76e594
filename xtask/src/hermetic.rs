//! What tests see of the machine: its programs, and nothing of the person who runs them.
//!
//! Most tests make a home of their own. Those that call the product in their own process have this one: without it they
//! would read the person's git configuration, and a `gh` that is logged in would ask the network who that is.

use std::{env, ffi::OsStr, path::Path, process::Command};

/// Beginnings of the names of variables that change what the product does.
const FOREIGN: &[&str] = &[
    "AI_AGENT",
    "ANTHROPIC_",
    "CLAUDE",
    "CODEX_",
    "GH_",
    "GIT_",
    "GITHUB_TOKEN",
    "OPENAI_",
    "OPENCODE",
    "WARP_",
    "XDG_",
];
/// The beginning of the names by which tests are told where agents are.
const OURS: &str = "WARP_TEST_";
/// Where cargo and rustup keep their files, and where that is in a home unless a variable says otherwise.
const TOOLS: &[(&str, &str)] = &[("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];
/// Every run of the tests makes up the same inputs; looking for others is what `cargo xtask fuzz` is for.
const SEED: &str = "1";

/// Gives a cargo command that runs tests this empty home, and takes away what it knows of the person.
pub(crate) fn apply(command: &mut Command, home: &Path) {
    for (name, _) in env::vars_os().filter(|(name, _)| is_foreign(name)) {
        command.env_remove(name);
    }
    for (name, place) in TOOLS {
        let usual = env::var_os("HOME").map(|home| Path::new(&home).join(place).into_os_string());
        command.envs(env::var_os(name).or(usual).map(|place| (name, place)));
    }
    command
        .env("HOME", home)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        // A snapshot that differs fails; none is left beside the sources.
        .env("INSTA_UPDATE", "no")
        .env("PROPTEST_RNG_SEED", SEED);
}

fn is_foreign(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    !name.starts_with(OURS) && FOREIGN.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_keep_what_names_tools_and_agents() {
        for name in ["PATH", "CARGO_HOME", "RUSTUP_TOOLCHAIN", "WARP_TEST_CODEX", "TMPDIR", "https_proxy"] {
            assert!(!is_foreign(name.as_ref()), "{name}");
        }
        let foreign = [
            "WARP_AGENT",
            "GH_TOKEN",
            "GITHUB_TOKEN",
            "CLAUDE_CODE_USE_BEDROCK",
            "XDG_STATE_HOME",
            "GIT_DIR",
        ];
        for name in foreign {
            assert!(is_foreign(name.as_ref()), "{name}");
        }
    }

    #[test]
    fn tests_have_a_home_of_their_own_and_cargo_keeps_its_own() {
        let mut command = Command::new("cargo");
        apply(&mut command, Path::new("/nowhere"));
        let given = |name: &str| {
            let mut all = command.get_envs();
            all.find(|(known, _)| *known == name).and_then(|(_, value)| value?.to_str())
        };
        assert_eq!(given("HOME"), Some("/nowhere"));
        assert_eq!(given("GIT_CONFIG_GLOBAL"), Some("/dev/null"));
        assert_eq!(given("PROPTEST_RNG_SEED"), Some(SEED));
        for (name, _) in TOOLS {
            assert!(given(name).is_some_and(|place| !place.starts_with("/nowhere")), "{name}");
        }
    }
}
