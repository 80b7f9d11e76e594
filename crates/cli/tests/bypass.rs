//! Every primitive of the corpus in every wrapper, on real git: whatever an agent tries, no branch, tag or other ref
//! stays moved without permission, and every byte of work that is not committed is still there: in the tree, in the index,
//! or under `refs/warp/salvage`. Files that git ignores are no work.
//!
//! What the gate denies is not run. What it lets through is run for real, as a child of the agent, with git's hooks
//! installed and the hooks of the client called before and after it. A second pass does without the gate, to show that
//! git's hooks and the look at the refs stand by themselves.

mod agent;
mod carriers;
#[path = "../../shell/tests/corpus/mod.rs"]
mod corpus;
mod destroy;
mod harmless;
mod leave;
mod passes;
mod project;
mod tally;
mod tree;

use std::sync::Mutex;

const WARP: &str = env!("CARGO_BIN_EXE_warp");

/// How many commands are tried at once.
const WORKERS: usize = 2;

/// Held by the test that tries commands: two at once would only be in each other's way.
static TURN: Mutex<()> = Mutex::new(());
