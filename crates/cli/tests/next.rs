//! What `warp next` does in the phases that are warp's own: it takes nobody's word, and tests what it commits.

mod chained;
mod checkout;
mod commit;
mod continuing;
mod finish;
mod hooks;
mod ship;
mod told;

use testkit::Sandbox;

use crate::support::{Ends as _, InProject as _};

/// A project with an issue of two criteria and a test that passes.
fn project() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_warp"));
    sandbox.write("Makefile", "test:\n\t@echo 'ok 1 - parses'\n");
    sandbox.write("mine.txt", "committed\n");
    sandbox.issue(42, "# Add a parser\n\n- [ ] parser reads empty files\n- [ ] parser reads lines\n");
    sandbox.commit("chore: tests");
    sandbox
}

/// Begins a run of the project's issue and goes on to `coding`.
fn to_coding(sandbox: &Sandbox, level: &str) {
    sandbox.warp_ok(&["state", "init", ".", "--level", level, "--issue", "42"]);
    next(sandbox);
    next(sandbox);
    sandbox.transitions(&["plan_ready"]);
    next(sandbox);
    assert_eq!(phase(sandbox), "coding");
}

/// Writes the chunk and goes on to `committing`.
fn to_committing(sandbox: &Sandbox, level: &str) {
    to_coding(sandbox, level);
    sandbox.write("parser.rs", "// parser reads empty files and lines\n");
    sandbox.transitions(&["code_complete"]);
    next(sandbox);
    next(sandbox);
    assert_eq!(phase(sandbox), "committing");
}

fn next(sandbox: &Sandbox) -> String {
    sandbox.warp_ok(&["next", "--step"])
}

/// Expects `warp next` to do nothing, and returns what it says.
fn refused(sandbox: &Sandbox) -> String {
    let before = phase(sandbox);
    let said = sandbox.warp(&["next", "--step"]).ends(1);
    assert_eq!(phase(sandbox), before);
    said.err
}

fn phase(sandbox: &Sandbox) -> String {
    let state = sandbox.json(&["state", "status", "."]);
    state["phase"].as_str().unwrap().to_owned()
}

/// Returns the files of the last commit.
fn committed(sandbox: &Sandbox) -> String {
    sandbox.git(&["show", "--name-only", "--format=", "HEAD"])
}
