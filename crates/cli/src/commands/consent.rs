//! Asks whoever sits at the terminal what may be pushed, for commands that move the merge target outside of a run.

use std::io::{self, BufRead as _, IsTerminal as _};

use engine::Settings;
use project::{
    BeginError, Workspace,
    pushing::{Consent, Decides, Goal},
};

use super::person_place;
use crate::{error::CommandError, output};

/// How often an answer that is none of the options may be typed.
const TRIES: usize = 3;

/// Returns the settings by which the merge target is pushed. At a terminal an unanswered `push = "ask"` is asked first, and
/// later questions about a push too; elsewhere nothing is pushed that nobody has allowed.
pub(super) fn ask(workspace: &mut Workspace) -> Result<Settings, CommandError> {
    let (mut config, target) = workspace.configuration_and_target(&[]).map_err(BeginError::Config)?;
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Ok(config.settings);
    }
    let place = person_place(workspace)?;
    if let Some(consent) = Consent::wanted(&place, &config.settings, (Goal::Merge, &target), true) {
        let options: Vec<&str> = consent.options.iter().map(String::as_str).collect();
        if let Some(answer) = choose(&consent.question, &options) {
            Consent::remember(&place, &workspace.dirs, &answer).map_err(BeginError::Config)?;
            config = workspace.configuration(&[]).map_err(BeginError::Config)?;
        }
    }
    workspace.decides = Decides::Here(Box::new(choose));
    Ok(config.settings)
}

/// Asks at the terminal; nothing if the input ends or no option is typed.
fn choose(question: &str, options: &[&str]) -> Option<String> {
    output::note(question);
    let mut lines = io::stdin().lock().lines();
    for _ in 0..TRIES {
        output::note(&format!("type one of: {}", options.join(", ")));
        let line = lines.next()?.ok()?;
        if let Some(option) = options.iter().find(|option| **option == line.trim()) {
            return Some((*option).to_owned());
        }
    }
    None
}
