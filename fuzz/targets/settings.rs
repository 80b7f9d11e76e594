//! The layers of the configuration: `warp.toml`, then `.claude/settings.local.json`, then `KEY=VALUE` flags.
//!
//! The three are given in one input, apart by lines of `---`.
#![no_main]

use std::{fs, sync::LazyLock};

use engine::Settings;
use libfuzzer_sys::fuzz_target;
use project::{Dirs, Place, config};
use tempfile::TempDir;

static ROOT: LazyLock<TempDir> = LazyLock::new(|| {
    let root = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(root.path().join(".claude")).expect("a directory in it");
    root
});

fuzz_target!(|text: &str| {
    let root = ROOT.path();
    let mut layers = text.split("---\n");
    let toml = layers.next().unwrap_or_default();
    let json = layers.next().filter(|text| !text.is_empty()).unwrap_or("{}");
    let flags = layers.next().unwrap_or_default().lines().filter_map(|line| line.split_once('='));
    let flags: Vec<(String, String)> = flags.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    fs::write(root.join("warp.toml"), toml).expect("a file can be written");
    fs::write(root.join(".claude/settings.local.json"), json).expect("a file can be written");
    let dirs = Dirs::new(root.join("state"), root.join("config"));
    let place = Place::at(root).expect("the directory is there");
    let config = match config::load(&place, &dirs, None, &flags) {
        Ok(config) => config,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(config.origins.len(), Settings::TABLE.len());
    let mut settings = Settings::default();
    for row in Settings::TABLE {
        let value = config.settings.value(row.key).expect("every setting has a value").clone();
        settings.set(row.key, value).expect("what was accepted is of its kind");
    }
    assert_eq!(settings, config.settings);
});
