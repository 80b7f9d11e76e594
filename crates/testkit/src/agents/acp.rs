//! An agent that speaks the Agent Client Protocol: Claude Code behind its adapter.

use std::path::{Path, PathBuf};

use super::{Claude, Found, find_or_skip};

/// An installed agent that speaks the protocol on its standard input and output.
#[derive(Debug, Clone)]
pub struct Acp {
    program: PathBuf,
    claude: Claude,
}

impl Acp {
    /// Finds the agent that `WARP_TEST_ACP` names, and the Claude Code that it works with; where there is none that
    /// starts, says so and returns none.
    pub fn or_skip() -> Option<Self> {
        static FOUND: Found = Found::new();
        let program = find_or_skip(&FOUND, "WARP_TEST_ACP")?;
        Some(Self { program, claude: Claude::or_skip()? })
    }

    /// Returns the agent's program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Returns the variable that tells the agent where its Claude Code is, and the value.
    pub fn variable(&self) -> (&'static str, &Path) {
        ("CLAUDE_CODE_EXECUTABLE", self.claude.program())
    }
}
