//! Real clients as `warp run` finds them: a program in the search path, and how it finds its model.

use std::{ffi::OsString, path::PathBuf};

use testkit::{
    Sandbox,
    agents::{Acp, Claude, Codex, OpenCode},
    model::Model,
};

/// A real client.
pub(crate) struct Client {
    /// What warp is told to work with.
    pub(crate) agent: &'static str,
    /// The name that it has in the search path.
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    /// Variables of the person who runs warp.
    pub(crate) variables: Vec<(&'static str, OsString)>,
    /// Writes what the person has configured for it.
    pub(crate) configure: fn(&Sandbox, &Model),
}

impl Client {
    fn new(agent: &'static str, program: PathBuf) -> Self {
        let name = agent.rsplit(':').next().unwrap();
        Self { agent, name, program, variables: Vec::new(), configure: |_, _| {} }
    }

    pub(crate) fn claude() -> Option<Self> {
        Some(Self::new("claude", Claude::or_skip()?.program().to_owned()))
    }

    pub(crate) fn codex() -> Option<Self> {
        let mut client = Self::new("codex", Codex::or_skip()?.program().to_owned());
        client.configure = Codex::configure;
        Some(client)
    }

    pub(crate) fn opencode() -> Option<Self> {
        let mut client = Self::new("opencode", OpenCode::or_skip()?.program().to_owned());
        client.configure = OpenCode::configure;
        Some(client)
    }

    /// OpenCode by the Agent Client Protocol.
    pub(crate) fn opencode_acp() -> Option<Self> {
        let client = Self::opencode()?;
        Some(Self { agent: "acp:opencode acp", ..client })
    }

    pub(crate) fn acp() -> Option<Self> {
        let acp = Acp::or_skip()?;
        let mut client = Self::new("acp:claude-agent-acp", acp.program().to_owned());
        let (name, value) = acp.variable();
        client.variables.push((name, value.into()));
        Some(client)
    }
}
