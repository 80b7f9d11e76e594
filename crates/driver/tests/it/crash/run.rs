//! The run, as a person lets it go on: by the issue's number if there is none yet, else by nothing.

use std::sync::Arc;

use adapters::agent::script::{Player, Reply, Script};
use driver::{After, Finish, Options};
use project::{Workspace, count_edit};
use serde_json::Value;

use super::world::World;
use crate::world::{Nobody, drive};

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
    let finish = drive(&world.place(), &world.dirs(), options, Arc::new(agent()), &mut Nobody);
    assert_eq!(finish.unwrap(), Finish::Done);
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
