//! Playing one turn of a script.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    Hook, Script,
    file::{ScriptedTurn, Step},
};
use crate::{
    agent::{AgentUpdate, Notice, brief},
    boundary,
    process::{self, Control},
};

/// How long a command of a script may take.
const LIMIT: Duration = Duration::from_secs(600);

/// Where a turn is played, and for whom.
pub struct Stage<'a> {
    pub tree: &'a Path,
    pub facts: &'a [(String, String)],
    pub resume: Option<&'a str>,
    pub hook: &'a Hook,
}

/// Something that whoever plays has to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    Say(AgentUpdate),
    /// Print a line as it is.
    Print(String),
    Flood {
        megabytes: u64,
    },
    Wait(Duration),
}

/// Outcome of a scripted turn.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnOutcome {
    Answer(Value),
    /// It has no answer.
    Nothing,
    /// The script has no such turn.
    NoTurn(String),
    /// It is to end with this code,
    Exit(i32),
    /// or not at all,
    Hang,
    /// or by a signal.
    Killed,
    Stopped,
}

/// What a hook answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Why the tool may not run.
    pub denied: Option<String>,
    /// What the model is told.
    pub told: Option<String>,
}

impl Reply {
    /// Reads a hook's exit code and outputs as a client does.
    pub fn of(code: u8, out: &str, err: &str) -> Self {
        let json: Value = serde_json::from_str(out).unwrap_or_default();
        let told = json["hookSpecificOutput"]["additionalContext"].as_str().map(ToOwned::to_owned);
        Self { denied: (code == 2).then(|| err.trim().to_owned()), told }
    }
}

/// A tool as a client names it, and what it is to do.
struct Tool<'a> {
    name: &'a str,
    input: Value,
    about: String,
}

/// Ends a scripted turn early.
struct Interrupted(TurnOutcome);

impl Stage<'_> {
    /// Plays the turn that fits; `act` does what cannot be done here, and says whether to go on.
    pub fn play(&self, script: &Script, act: &mut dyn FnMut(Act) -> Control) -> TurnOutcome {
        let turn = match script.find(self.facts, self.resume.is_some()) {
            Ok(turn) => turn,
            Err(what) => return TurnOutcome::NoTurn(what),
        };
        match self.steps(turn, act) {
            Ok(()) => turn.answer.clone().map_or(TurnOutcome::Nothing, TurnOutcome::Answer),
            Err(Interrupted(played)) => played,
        }
    }

    /// Returns the name of the conversation.
    fn session(&self) -> String {
        let fact =
            |name: &str| self.facts.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        let new = || format!("script-{}-{}-{}", fact("WARP_PHASE"), fact("WARP_CHUNK"), fact("WARP_CYCLE"));
        self.resume.map_or_else(new, ToOwned::to_owned)
    }

    fn steps(&self, turn: &ScriptedTurn, act: &mut dyn FnMut(Act) -> Control) -> Result<(), Interrupted> {
        go(act(Act::Say(AgentUpdate::Session(self.session()))))?;
        for step in &turn.steps {
            self.step(step, act)?;
        }
        match turn.usage {
            Some(usage) => go(act(Act::Say(AgentUpdate::Usage(usage)))),
            None => Ok(()),
        }
    }

    fn step(&self, step: &Step, act: &mut dyn FnMut(Act) -> Control) -> Result<(), Interrupted> {
        match step {
            Step::Write { path, text } => {
                let path = self.tree.join(path);
                let tool = tool("Write", &path, json!({ "file_path": path, "content": text }));
                self.use_tool(&tool, act, || write(&path, text))
            }
            Step::Append { path, text } => {
                let path = self.tree.join(path);
                let input = json!({ "file_path": path, "old_string": "", "new_string": text });
                self.use_tool(&tool("Edit", &path, input), act, || append(&path, text))
            }
            Step::Edit { path, from, to } => {
                let path = self.tree.join(path);
                let input = json!({ "file_path": path, "old_string": from, "new_string": to });
                self.use_tool(&tool("Edit", &path, input), act, || edit(&path, from, to))
            }
            Step::Remove { path } => {
                let path = self.tree.join(path);
                let command = format!("rm -r '{}'", path.display());
                let input = json!({ "command": command });
                self.use_tool(&Tool { name: "Bash", about: command, input }, act, || remove(&path))
            }
            Step::Run { command } => {
                let tool = Tool { name: "Bash", about: brief(command), input: json!({ "command": command }) };
                self.use_tool(&tool, act, || self.run(command))
            }
            Step::Say { text } => go(act(Act::Say(AgentUpdate::Text(text.clone())))),
            Step::WaitMs(milliseconds) => go(act(Act::Wait(Duration::from_millis(*milliseconds)))),
            Step::Print { text } => go(act(Act::Print(text.clone()))),
            Step::FloodMb(megabytes) => go(act(Act::Flood { megabytes: *megabytes })),
            Step::Exit(code) => Err(Interrupted(TurnOutcome::Exit(*code))),
            Step::Hang => Err(Interrupted(TurnOutcome::Hang)),
            Step::KillSelf => Err(Interrupted(TurnOutcome::Killed)),
        }
    }

    /// Uses a tool as a client does: asks before, obeys, and tells afterwards.
    fn use_tool(
        &self,
        tool: &Tool<'_>,
        act: &mut dyn FnMut(Act) -> Control,
        doing: impl FnOnce() -> io::Result<String>,
    ) -> Result<(), Interrupted> {
        let name = tool.name.to_owned();
        if let Some(why) = self.ask("PreToolUse", "pre-tool-use", tool, json!({})).denied {
            return go(act(Act::Say(AgentUpdate::Notice(Notice::refused(name, &why)))));
        }
        go(act(Act::Say(AgentUpdate::Tool { name, about: tool.about.clone() })))?;
        let reply = match boundary::around(tool.name, doing) {
            Ok(out) => {
                self.ask("PostToolUse", "post-tool-use", tool, json!({ "tool_response": { "stdout": out } }))
            }
            Err(error) => {
                go(act(Act::Say(AgentUpdate::Text(format!("{} failed: {error}", tool.name)))))?;
                let more = json!({ "error": error.to_string() });
                self.ask("PostToolUseFailure", "post-tool-use-failure", tool, more)
            }
        };
        match reply.told {
            Some(told) => go(act(Act::Say(AgentUpdate::Text(told)))),
            None => Ok(()),
        }
    }

    fn ask(&self, name: &str, event: &str, tool: &Tool<'_>, more: Value) -> Reply {
        let mut input = json!({
            "hook_event_name": name,
            "session_id": self.session(),
            "cwd": self.tree,
            "tool_name": tool.name,
            "tool_input": tool.input,
        });
        if let (Value::Object(input), Value::Object(more)) = (&mut input, more) {
            input.extend(more);
        }
        (self.hook)(event, &input)
    }

    fn run(&self, command: &str) -> io::Result<String> {
        let facts: Vec<(&str, &str)> =
            self.facts.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let finished =
            process::run("sh", ["-c", command], self.tree, &facts, LIMIT).map_err(io::Error::other)?;
        if finished.is_success() {
            return Ok(finished.text());
        }
        Err(io::Error::other(format!("{}: {}", finished.end, finished.last_words(1000))))
    }
}

fn go(go: Control) -> Result<(), Interrupted> {
    match go {
        Control::On => Ok(()),
        Control::Stop | Control::Kill => Err(Interrupted(TurnOutcome::Stopped)),
    }
}

fn tool<'a>(name: &'a str, path: &Path, input: Value) -> Tool<'a> {
    Tool { name, input, about: path.display().to_string() }
}

fn write(path: &PathBuf, text: &str) -> io::Result<String> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, text)?;
    Ok(String::new())
}

fn append(path: &PathBuf, text: &str) -> io::Result<String> {
    fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())?;
    Ok(String::new())
}

fn edit(path: &PathBuf, from: &str, to: &str) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    if !text.contains(from) {
        return Err(io::Error::other("the text to replace is not there"));
    }
    write(path, &text.replacen(from, to, 1))
}

fn remove(path: &PathBuf) -> io::Result<String> {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path)?
    } else {
        fs::remove_file(path)?
    }
    Ok(String::new())
}
