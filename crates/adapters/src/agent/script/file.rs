//! The file of a scripted agent.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::Deserialize;
use serde_json::Value;

use crate::agent::Usage;

/// What a scripted agent does, turn by turn.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default, rename = "turn")]
    pub(super) turns: Vec<ScriptedTurn>,
}

/// What it does when it is asked in a phase.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptedTurn {
    phase: String,
    issue: Option<Value>,
    chunk: Option<u64>,
    cycle: Option<u64>,
    /// Whether it is asked anew, or goes on with a conversation.
    resumed: Option<bool>,
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    pub(super) answer: Option<Value>,
    pub(super) usage: Option<Usage>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawStep")]
pub(super) enum Step {
    Write { path: PathBuf, text: String },
    Append { path: PathBuf, text: String },
    Remove { path: PathBuf },
    Edit { path: PathBuf, from: String, to: String },
    Run { command: String },
    Say { text: String },
    WaitMs(u64),
    Print { text: String },
    FloodMb(u64),
    Exit(i32),
    Hang,
    KillSelf,
}

/// A step as it is written: one verb, and what belongs to it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep {
    write: Option<PathBuf>,
    append: Option<PathBuf>,
    remove: Option<PathBuf>,
    edit: Option<PathBuf>,
    run: Option<String>,
    say: Option<String>,
    wait_ms: Option<u64>,
    print: Option<String>,
    flood_mb: Option<u64>,
    exit: Option<i32>,
    hang: Option<bool>,
    kill: Option<String>,
    text: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

impl TryFrom<RawStep> for Step {
    type Error = String;

    fn try_from(raw: RawStep) -> Result<Self, String> {
        let mut steps = Vec::new();
        let text = || raw.text.clone().ok_or("`text` is missing");
        if let Some(path) = raw.write.clone() {
            steps.push(Self::Write { path, text: text()? });
        }
        if let Some(path) = raw.append.clone() {
            steps.push(Self::Append { path, text: text()? });
        }
        if let Some(path) = raw.edit {
            let from = raw.from.clone().ok_or("`from` is missing")?;
            steps.push(Self::Edit { path, from, to: raw.to.clone().ok_or("`to` is missing")? });
        }
        match raw.kill.as_deref() {
            Some("self") => steps.push(Self::KillSelf),
            Some(_) => return Err("`kill` can only be \"self\"".to_owned()),
            None => {}
        }
        steps.extend(raw.remove.map(|path| Self::Remove { path }));
        steps.extend(raw.run.map(|command| Self::Run { command }));
        steps.extend(raw.say.map(|text| Self::Say { text }));
        steps.extend(raw.wait_ms.map(Self::WaitMs));
        steps.extend(raw.print.map(|text| Self::Print { text }));
        steps.extend(raw.flood_mb.map(Self::FloodMb));
        steps.extend(raw.exit.map(Self::Exit));
        steps.extend(raw.hang.filter(|hang| *hang).map(|_| Self::Hang));
        match <[Self; 1]>::try_from(steps) {
            Ok([step]) => Ok(step),
            Err(steps) => Err(format!("a step does one thing, and this one does {}", steps.len())),
        }
    }
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("failed to read `{}`", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{}` is not a script", path.display())]
    Parse {
        path: PathBuf,
        #[source]
        source: Box<toml::de::Error>,
    },
}

fn text_of(path: &Path) -> Result<String, ScriptError> {
    fs::read_to_string(path).map_err(|source| ScriptError::Read { path: path.to_owned(), source })
}

impl Script {
    /// Reads a script from a file.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        Self::parse_of(path, &text_of(path)?)
    }

    /// Makes sure that a file is a script. Every run of a session asks, so a text that was one last time is not parsed
    /// again.
    pub fn check(path: &Path) -> Result<(), ScriptError> {
        static GOOD: Mutex<Option<String>> = Mutex::new(None);
        let text = text_of(path)?;
        let mut good = GOOD.lock().unwrap_or_else(PoisonError::into_inner);
        if good.as_ref() != Some(&text) {
            Self::parse_of(path, &text)?;
            *good = Some(text);
        }
        Ok(())
    }

    fn parse_of(path: &Path, text: &str) -> Result<Self, ScriptError> {
        Self::parse(text)
            .map_err(|source| ScriptError::Parse { path: path.to_owned(), source: Box::new(source) })
    }

    /// Reads a script from its text.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Finds the first turn that fits; else says what was looked for.
    pub(super) fn find(&self, facts: &[(String, String)], is_resumed: bool) -> Result<&ScriptedTurn, String> {
        let fact =
            |name: &str| facts.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let names = ["WARP_PHASE", "WARP_ISSUE", "WARP_CHUNK", "WARP_CYCLE"];
        let [phase, issue, chunk, cycle] = names.map(|name| fact(name).unwrap_or_default());
        let number = |wanted: Option<u64>, is: &str| wanted.is_none_or(|wanted| is.parse() == Ok(wanted));
        let fits = |turn: &&ScriptedTurn| {
            let same_issue = turn.issue.as_ref().is_none_or(|wanted| {
                let wanted = wanted.as_str().map_or_else(|| wanted.to_string(), ToOwned::to_owned);
                wanted.trim_start_matches('#') == issue.trim_start_matches('#')
            });
            turn.phase == phase
                && same_issue
                && number(turn.chunk, chunk)
                && number(turn.cycle, cycle)
                && turn.resumed.is_none_or(|resumed| resumed == is_resumed)
        };
        self.turns.iter().find(fits).ok_or_else(|| {
            let resumed = if is_resumed { ", resumed" } else { "" };
            format!(
                "the script has no turn for phase `{phase}`, issue `{issue}`, chunk {chunk}, cycle {cycle}{resumed}"
            )
        })
    }
}
