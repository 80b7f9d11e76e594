//! Where OpenCode keeps its files, and where they are within walls.
//!
//! The client makes its directories when it starts, and gives up where it cannot. Within walls a directory that the
//! person does not have cannot be made, so there the client is told of others.

use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

/// The files of the person's configuration that are plain data.
const CONFIGURATION: [&str; 4] = ["opencode.json", "opencode.jsonc", "config.json", "AGENTS.md"];
/// The file by which the client knows a directory as made ready.
const READY: &str = ".gitignore";
/// Where of the kept caches conversations and the like go.
const KEPT: &str = ".cache/opencode/warp";

/// The person's directories.
#[derive(Clone, Debug)]
pub(super) struct Places {
    home: PathBuf,
    configuration: PathBuf,
    data: PathBuf,
}

impl Places {
    pub(super) fn of_person() -> Self {
        let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
        let named = |name: &str, usual: &str| {
            let given = env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
            given.unwrap_or_else(|| home.join(usual)).join("opencode")
        };
        let configuration = named("XDG_CONFIG_HOME", ".config");
        let data = named("XDG_DATA_HOME", ".local/share");
        Self { home, configuration, data }
    }

    /// Tells whether the person has chosen models, or addresses of them, whose traffic takes no route.
    pub(super) fn has_other_models(&self) -> bool {
        let names = CONFIGURATION.iter().filter(|name| name.contains(".json"));
        names
            .flat_map(|name| fs::read_to_string(self.configuration.join(name)))
            .any(|text| names_other(&text))
    }

    /// Copies the configuration to `to`, where the client finds it if the person's own directory is not ready.
    pub(super) fn copy_configuration(&self, to: &Path) -> io::Result<()> {
        let to = to.join("opencode");
        fs::create_dir_all(&to)?;
        fs::write(to.join(READY), "")?;
        for name in CONFIGURATION.iter().filter(|name| self.configuration.join(name).is_file()) {
            fs::copy(self.configuration.join(name), to.join(name))?;
        }
        Ok(())
    }

    /// Returns the variables that tell the client where it finds and keeps things within walls.
    pub(super) fn within_walls(&self, configuration: &Path) -> Vec<(OsString, OsString)> {
        let kept = self.home.join(KEPT);
        let mut all: Vec<(OsString, OsString)> = vec![
            ("OPENCODE_DB".into(), kept.join("conversations.db").into()),
            ("XDG_STATE_HOME".into(), kept.join("state").into()),
        ];
        if !self.data.is_dir() {
            all.push(("XDG_DATA_HOME".into(), kept.join("share").into()));
        }
        if !self.configuration.join(READY).is_file() {
            all.push(("XDG_CONFIG_HOME".into(), configuration.into()));
        }
        all
    }
}

/// Tells whether a configuration, which may have comments, names a model of a provider that takes no route, or another
/// address than the provider's own.
fn names_other(text: &str) -> bool {
    if text.contains("\"baseURL\"") {
        return true;
    }
    let mut models = text.split("\"model\"").skip(1).filter_map(|rest| {
        let rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
        rest.split('"').next()
    });
    models.any(super::is_other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_another_provider_is_noticed_wherever_it_is_named() {
        assert!(!names_other("{}"));
        assert!(!names_other(r#"{ "model" : "anthropic/claude", "small_model": "groq/x" }"#));
        let gateway =
            r#"{ "provider": { "anthropic": { "options": { "baseURL": "https://gate.test/v1" } } } }"#;
        assert!(names_other(gateway));
        assert!(names_other("{ // mine\n \"agent\": { \"build\": { \"model\": \"groq/llama\" } } }"));
    }

    #[test]
    fn a_directory_that_is_not_there_is_replaced_by_one_that_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let places = Places {
            home: home.path().to_owned(),
            configuration: home.path().join("config/opencode"),
            data: home.path().join("share/opencode"),
        };
        let names = || {
            let all = places.within_walls(Path::new("/c"));
            all.into_iter().map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(names(), ["OPENCODE_DB", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"]);
        fs::create_dir_all(&places.data).unwrap();
        fs::create_dir_all(&places.configuration).unwrap();
        fs::write(places.configuration.join("opencode.json"), "{}").unwrap();
        assert_eq!(names(), ["OPENCODE_DB", "XDG_STATE_HOME", "XDG_CONFIG_HOME"]);
        let copy = home.path().join("copy");
        places.copy_configuration(&copy).unwrap();
        assert!(copy.join("opencode/opencode.json").is_file() && copy.join("opencode/.gitignore").is_file());
        fs::write(places.configuration.join(".gitignore"), "").unwrap();
        assert_eq!(names(), ["OPENCODE_DB", "XDG_STATE_HOME"]);
    }
}
