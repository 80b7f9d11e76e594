//! The run, as a person lets it go on: by the issue's number if there is none yet, else by nothing.

use std::sync::Arc;

use adapters::agent::script::{Player, Reply, Script};
use driver::{After, Driver, Finish, Interrupts, Options, Show, Shown};
use engine::view::Asked;
use project::{Workspace, count_edit};
use serde_json::Value;

use crate::world::World;

/// What the agent does. Every step can be done again over what a turn before has left.
const SCRIPT: &str = r#"
[[turn]]
phase = "planning"
answer = { approach = "One file for each thing.", decisions = [{ title = "One file each", text = "Simple." }] }

[[turn]]
phase = "coding"
chunk = 1
cycle = 0
steps = [{ write = "number.txt", text = "broken number\n" }, { write = "name.txt", text = "name\n" }]
answer = { summary = "numbers and names", evidence = [
    { ac = "AC-01", file = "number.txt", line = 1 }, { ac = "AC-02", file = "name.txt", line = 1 },
] }

[[turn]]
phase = "coding"
chunk = 1
steps = [{ write = "number.txt", text = "number\n" }]
answer = { summary = "numbers and names", evidence = [
    { ac = "AC-01", file = "number.txt", line = 1 }, { ac = "AC-02", file = "name.txt", line = 1 },
], lessons = [{ title = "Broken numbers fail", text = "The tests look for them." }] }

[[turn]]
phase = "coding"
chunk = 2
steps = [{ write = "list.txt", text = "list\n" }, { write = "table.txt", text = "table\n" }]
answer = { summary = "lists and tables", evidence = [
    { ac = "AC-03", file = "list.txt", line = 1 }, { ac = "AC-04", file = "table.txt", line = 1 },
], commit = { type = "feat", scope = "parser", subject = "read lists and tables" } }

[[turn]]
phase = "coding"
chunk = 3
steps = [
    { run = "cd ../../../../../../../demo; test -e other.txt || { echo x > other.txt; git add other.txt; git commit -qm 'docs: other'; }" },
    { write = "comment.txt", text = "comment\n" },
]
answer = { summary = "comments", evidence = [{ ac = "AC-05", file = "comment.txt", line = 1 }] }
"#;

/// Nobody looks on.
struct Nobody;

impl Show for Nobody {
    fn show(&mut self, _shown: Shown<'_>) {}

    fn reply(&mut self, _asked: &Asked) -> Option<driver::Reply> {
        None
    }

    fn is_attended(&self) -> bool {
        false
    }
}

/// Begins the run or goes on with it; what has come to its end stays as it is.
pub(crate) fn to_the_end(world: &World) {
    let runs = Workspace::open(world.place(), world.dirs()).unwrap().runs().unwrap();
    if runs.iter().any(|current| !current.run.is_open()) {
        return;
    }
    let options = Options {
        issue: runs.is_empty().then(|| "1".to_owned()),
        level: Some(world.level),
        after: After::Once,
        ..Options::default()
    };
    let mut nobody = Nobody;
    let mut driver = Driver::start_with(
        Arc::new(agent()),
        &world.place(),
        &world.dirs(),
        options,
        Interrupts::default(),
        &mut nobody,
    )
    .unwrap();
    let finish = driver.drive().unwrap();
    driver.finish().unwrap();
    assert_eq!(finish, Finish::Done);
}

/// An agent that may do everything, and whose edits are counted.
fn agent() -> Player {
    let hook = |event: &str, input: &Value| {
        if event == "post-tool-use"
            && let Some(file) = input["tool_input"]["file_path"].as_str()
            && let Some(tree) = input["cwd"].as_str()
        {
            let place = project::Place::at(tree.as_ref()).unwrap();
            count_edit(&place.root, &place.own, file).unwrap();
        }
        Reply::default()
    };
    Player::new(Script::parse(SCRIPT).unwrap(), Box::new(hook))
}
