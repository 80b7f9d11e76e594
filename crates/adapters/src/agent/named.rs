//! Agents by their names.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Agent, Capabilities, NoAnswer,
    acp::Acp,
    claude::{self, Claude},
    codex::{self, Codex},
    command::Command,
    locate, look_for,
    opencode::{self, OpenCode},
    script::{Script, ScriptError, ScriptProcess},
};

/// An agent that warp knows.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub name: &'static str,
    /// How it is written where an agent is named.
    pub written: &'static str,
    /// The program of its client, and what to do when that is not there; none if it is named with the agent.
    pub client: Option<(&'static str, &'static str)>,
}

/// All agents, in the order in which they are shown.
pub const KNOWN: [Known; 6] = [
    Known { name: "claude", written: "claude", client: Some(("claude", claude::INSTALL)) },
    Known { name: "codex", written: "codex", client: Some(("codex", codex::INSTALL)) },
    Known { name: "opencode", written: "opencode", client: Some(("opencode", opencode::INSTALL)) },
    Known { name: "acp", written: "acp:LINE", client: None },
    Known { name: "command", written: "command:LINE", client: None },
    Known { name: "script", written: "script:FILE", client: None },
];

impl Known {
    /// Finds the program of its client.
    pub fn program(&self) -> Option<PathBuf> {
        self.client.and_then(|(program, _)| locate(OsStr::new(program), Path::new("/")))
    }

    /// Returns what works with it, as the person has set it up.
    pub fn capabilities(&self) -> Capabilities {
        match self.name {
            "claude" => Claude { program: self.name.into() }.capabilities(),
            "codex" => Codex { program: self.name.into() }.capabilities(),
            "opencode" => OpenCode { program: self.name.into() }.capabilities(),
            "acp" => Acp { line: String::new() }.capabilities(),
            "script" => ScriptProcess { file: PathBuf::new(), warp: PathBuf::new() }.capabilities(),
            _ => Command { line: String::new() }.capabilities(),
        }
    }
}

/// Why there is no such agent.
#[derive(Debug, thiserror::Error)]
pub enum NamedError {
    #[error("`{text}` is no agent: {}", names())]
    Unknown { text: String },
    #[error(transparent)]
    NotInstalled(NoAnswer),
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("`{}` cannot be found", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Makes an agent from its name, as [`KNOWN`] writes it, and sees that its client is there.
///
/// A script is looked for from `directory`, where the person works; `warp` is warp's own program.
pub fn named(text: &str, directory: &Path, warp: &Path) -> Result<Arc<dyn Agent>, NamedError> {
    let (name, rest) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest.trim())));
    let known = KNOWN.iter().find(|known| known.name == name);
    if let Some((program, hint)) = known.and_then(|known| known.client).filter(|_| rest.is_none()) {
        look_for(Path::new(program), hint).map_err(NamedError::NotInstalled)?;
    }
    match (name, rest) {
        ("claude", None) => Ok(Arc::new(Claude { program: name.into() })),
        ("codex", None) => Ok(Arc::new(Codex { program: name.into() })),
        ("opencode", None) => Ok(Arc::new(OpenCode { program: name.into() })),
        ("acp", Some(line)) if !line.is_empty() => Ok(Arc::new(Acp { line: line.to_owned() })),
        ("command", Some(line)) if !line.is_empty() => Ok(Arc::new(Command { line: line.to_owned() })),
        ("script", Some(file)) if !file.is_empty() => {
            let file = directory.join(file);
            Script::check(&file)?;
            // Behind walls there is only the file itself, and no way to it through other directories.
            let found = file.canonicalize();
            let file = found.map_err(|source| NamedError::File { path: file, source })?;
            Ok(Arc::new(ScriptProcess { file, warp: warp.to_owned() }))
        }
        _ => Err(NamedError::Unknown { text: text.to_owned() }),
    }
}

/// Lists how agents are written.
fn names() -> String {
    let all = KNOWN.map(|known| known.written);
    let (last, others) = all.split_last().expect("there are agents");
    format!("{} or {last}", others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_agent_is_told_with_all_that_are() {
        let named = |text: &str| named(text, Path::new("/"), Path::new("/bin/warp"));
        assert_eq!(named("command: make it ").map(|agent| agent.name()).unwrap(), "command");
        for text in ["", "claud", "acp:", "command:", "command", "script:", "claude:x"] {
            let Err(NamedError::Unknown { text: found }) = named(text) else { panic!("{text} is taken") };
            assert_eq!(found, text);
        }
        let words = named("gpt").map(|_| ()).unwrap_err().to_string();
        for known in KNOWN {
            assert!(words.contains(known.written), "{words}");
        }
        assert!(matches!(named("script:no-such-file"), Err(NamedError::Script(_))));
    }
}
