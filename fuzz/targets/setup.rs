//! Settings of somebody else, before a project is set up: what cannot be read is left alone; anything else is as it was,
//! to the byte, once the set-up is taken back.
#![no_main]

use std::{
    fs,
    sync::{LazyLock, OnceLock},
};

use fuzz::scene::Scene;
use libfuzzer_sys::fuzz_target;
use project::{
    Dirs, Place,
    setup::{self, Agent, Options, SetupError, Skills},
};
use serde_json::Value;

static DIRS: LazyLock<Scene> = LazyLock::new(Scene::empty);
static SCENE: OnceLock<Scene> = OnceLock::new();

fuzz_target!(|text: &str| {
    let scene = SCENE.get_or_init(Scene::empty);
    let (agent, name) = match text.len() % 2 {
        0 => (Agent::Claude, ".claude/settings.json"),
        _ => (Agent::Codex, ".codex/hooks.json"),
    };
    scene.write(name, text);
    let read = || fs::read_to_string(scene.root().join(name)).expect("the settings are there");
    let place = Place::at(scene.root()).expect("a directory is a place");
    let dirs = Dirs::new(DIRS.root().join("state"), DIRS.root().join("config"));
    let program = "/opt/warp/bin/warp".into();
    let options = Options { agent, level: None, skills: Skills::Elsewhere, program };
    let plan = match setup::plan(&place, &dirs, &options) {
        Ok(plan) => plan,
        Err(SetupError::Json { source, .. }) => return assert!(!source.to_string().is_empty()),
        Err(error) => panic!("{error:?}"),
    };
    plan.files.iter().for_each(|file| drop(file.diff()));
    setup::carry_out(&place, &plan).expect("it can be set up");
    // Comments are allowed, and stay; what was plain JSON still is.
    if serde_json::from_str::<Value>(text).is_ok() {
        let settings: Value = serde_json::from_str(&read()).expect("settings are still JSON");
        assert!(settings["hooks"]["PreToolUse"].is_array());
    }
    assert!(setup::plan(&place, &dirs, &options).expect("it is set up").is_empty(), "set up twice");
    let undo = setup::plan_undo(&place, None).expect("it can be taken back");
    assert_eq!(setup::carry_out(&place, &undo).expect("it can be taken back"), Vec::<String>::new());
    assert_eq!(read(), text);
});
