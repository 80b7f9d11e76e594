//! What whoever works on a run has to know.

use adapters::machine;
use engine::view::{self, Owned};

use crate::{Current, Workspace, prompts};

/// The most that is said of why a project's own text cannot be used, in characters.
const LONGEST_WHY: usize = 200;

impl Workspace {
    /// Returns what whoever works on a run has to know: where it stands, and the text for its phase.
    pub fn described(&self, current: &Current) -> String {
        let run = &current.run;
        let live = if machine::is_live(&run.owner) { Owned::Live } else { Owned::Stale };
        let mut text = view::inject(&current.workflow, run, live, self.dirs.clock.now());
        if !run.is_open() {
            return text;
        }
        let (workflow, phase) = (run.workflow.as_str(), run.phase.as_str());
        let own = match self.place.git_dir() {
            Some(_) => prompts::pinned(&self.place.git(), &run.branches.merge_target, workflow, phase)
                .map(|own| own.or_else(|| prompts::built_in(workflow, phase).map(str::to_owned))),
            None => prompts::prompt(&self.place.root, workflow, phase),
        };
        let prompt = own.unwrap_or_else(|error| {
            let built_in = prompts::built_in(workflow, phase);
            let instead = if built_in.is_some() { "the built-in text follows" } else { "there is no other" };
            let why: String = error.source.to_string().chars().take(LONGEST_WHY).collect();
            text.push_str(&format!("\n{error}: {why}; {instead}.\n"));
            built_in.map(str::to_owned)
        });
        if let Some(prompt) = prompt {
            text.push_str(&format!("\n{prompt}"));
        }
        text
    }
}
