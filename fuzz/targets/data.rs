//! Events with whatever data comes with them, as `warp state transition EVENT --data JSON` offers them.
//!
//! The first line names a workflow, each line after it an event: `[+MINUTES] [absent|broken|unseen] EVENT [JSON]`.
#![no_main]

use std::{collections::BTreeMap, sync::LazyLock};

use engine::{Settings, Workflow, workflow::BUILT_IN};
use fuzz::{Walk, World, event};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};

static WORKFLOWS: LazyLock<BTreeMap<&str, Workflow>> = LazyLock::new(|| {
    let names = BUILT_IN.iter().map(|built_in| built_in.name);
    names.map(|name| (name, Workflow::built_in(name).expect("it is built in"))).collect()
});

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let name = lines.next().unwrap_or_default();
    let workflow = WORKFLOWS.get(name).unwrap_or(&WORKFLOWS["warp-drive"]);
    let mut walk = Walk::begin(workflow.clone(), Settings::default());
    for line in lines.take(60) {
        let (minutes, line) = match line.strip_prefix('+').and_then(|line| line.split_once(' ')) {
            Some((minutes, line)) => (minutes.parse().unwrap_or(u64::MAX), line),
            None => (0, line),
        };
        let (world, line) = match line.split_once(' ') {
            Some((word @ ("absent" | "broken" | "unseen"), line)) => (World::named(word), line),
            Some(_) | None => (World::Clear, line),
        };
        let (name, json) = line.split_once(' ').unwrap_or((line, "{}"));
        let Ok(data) = serde_json::from_str::<Map<String, Value>>(json) else { continue };
        walk.ask(event(name, &data, &walk), data, minutes, world);
    }
    walk.finish();
});
