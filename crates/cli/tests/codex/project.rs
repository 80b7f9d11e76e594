//! A project that Codex works on, set up by `warp init --agent codex`.

use std::path::Path;

use serde_json::json;
use testkit::{
    Sandbox,
    agents::{Codex, Launch},
    model::{Model, Request, Turn},
};

use crate::support::{Ends as _, InProject as _};

/// One turn of the agent, and what it must have been told by the time of the next.
pub(crate) type Move = (Turn, &'static [&'static str]);

pub(crate) fn shell(command: &str, told: &'static [&'static str]) -> Move {
    (Turn::exec_command(command), told)
}

pub(crate) fn patch(body: &str, told: &'static [&'static str]) -> Move {
    (Turn::call("apply_patch", json!(format!("*** Begin Patch\n{body}\n*** End Patch\n"))), told)
}

pub(crate) fn say(text: &str, told: &'static [&'static str]) -> Move {
    (Turn::say(text), told)
}

/// A project with an issue of one criterion, tests that pass, and Codex's hooks.
pub(crate) fn project() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.write("Makefile", "test:\n\t@echo 'ok 1 - reads empty files'\n");
    sandbox.issue(42, "# Add a parser\n\n- [ ] parser reads empty files\n");
    let said = sandbox.warp(&["init", "--agent", "codex"]);
    assert!(said.code == Some(0) && said.err.contains("until a person trusts them"), "{said:?}");
    sandbox.commit("chore: set up");
    sandbox
}

/// Prepares the client in the project, with its hooks trusted and warp on its path.
pub(crate) fn launch(codex: &Codex, sandbox: &Sandbox, model: &Model, prompt: &str) -> Launch<Codex> {
    on_its_path(codex.launch(sandbox, model, prompt), sandbox)
}

/// Trusts the project's hooks and puts warp on the client's path.
pub(crate) fn on_its_path(launch: Launch<Codex>, sandbox: &Sandbox) -> Launch<Codex> {
    let bin = Path::new(env!("CARGO_BIN_EXE_warp")).parent().unwrap();
    launch
        .trust_hooks()
        .path_first(bin)
        .env("XDG_STATE_HOME", sandbox.home().join("state"))
        .env("XDG_CONFIG_HOME", sandbox.home().join("config"))
}

/// Lets Codex make the moves, and sees that each was answered as expected.
pub(crate) fn play(codex: &Codex, sandbox: &Sandbox, prompt: &str, moves: Vec<Move>) -> Model {
    let (turns, told): (Vec<Turn>, Vec<_>) = moves.into_iter().unzip();
    let model = Model::start(turns);
    launch(codex, sandbox, &model, prompt).run().ends(0);
    let requests = model.requests();
    for (index, words) in told.iter().enumerate() {
        let news = requests.get(index + 1).map(Request::news).unwrap_or_default();
        for words in *words {
            assert!(news.contains(words), "after move {}: `{words}` is not in: {news}", index + 1);
        }
    }
    model
}
