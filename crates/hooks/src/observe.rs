//! After a tool has run: edits are counted, commits and branches that moved are noticed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use adapters::git::Git;
use engine::{Actor, Advice, Breach, Event, EventName, doom_loop, keys, workflow::JobOutcome};
use jobs::Wanted;
use project::{
    Answer as Taken, AskError, Current, Edits, Error, HeadLookup, Place, Workspace, count_edit,
    rails::{self, After, Broken},
    spelled,
};
use serde_json::Map;

use crate::{Answer, Failure, HookContext, Input, changes, gate, session::is_owner, stop, watched};

/// Tools that write the file that they name.
const WRITERS: &[&str] = &["Edit", "MultiEdit", "Write", "NotebookEdit"];
/// What an agent ticks criteria with where the issue is on a forge.
const EDITS_ISSUE: &str = "gh issue edit";
/// The note of the last commit outside a run that advice was given on.
const ADVISED: &str = "advised-commit";

pub(crate) fn post_tool_use(here: &HookContext, input: Input) -> Result<Answer, Failure> {
    let Some(mut watch) = WatchedRun::of(here, &input)? else { return outside_a_run(here, input) };
    watch.look_at_protected(&input)?;
    let name = input.tool_name.unwrap_or_default();
    let tool = input.tool_input;
    let command = tool.command.map(crate::input::Text::into_text);
    let mut edited: Vec<PathBuf> = Vec::new();
    if WRITERS.contains(&name.as_str()) {
        edited.extend([tool.file_path, tool.notebook_path].into_iter().flatten());
    }
    if let Some(patch) = command.as_ref().filter(|_| name == shell::PATCHES) {
        edited.extend(shell::patched(patch).map(PathBuf::from));
    }
    // What only looks, or only writes the files that it names, moves no ref.
    let may_move = edited.is_empty() && !gate::is_reader(&name);
    if may_move && !rails::is_quiet(&Place::at(&here.root).map_err(Error::from)?) {
        watch.look_at_refs()?;
    }
    if !watch.is_owners {
        return Ok(watch.answer("PostToolUse"));
    }
    for file in &edited {
        watch.edited(file)?;
    }
    if edited.iter().any(|file| drift::is_document(&file.to_string_lossy())) {
        watch.document_edited()?;
    }
    let ticks = command.as_deref().is_some_and(|command| command.contains(EDITS_ISSUE));
    if ticks {
        watch.docs_changed()?;
    }
    Ok(watch.answer("PostToolUse"))
}

/// Outside a run only commits matter, for what they leave undocumented. Each is told once.
fn outside_a_run(here: &HookContext, input: Input) -> Result<Answer, Failure> {
    let command = input.tool_input.command.map(crate::input::Text::into_text).unwrap_or_default();
    if !command.contains("commit") {
        return Ok(Answer::silent());
    }
    let git = Git::new(&here.root);
    let Some(commit) = git.newest_commit_made() else { return Ok(Answer::silent()) };
    let Some(advice) = git.changed_in(&commit).ok().and_then(|files| drift::advice_on_commit(&files)) else {
        return Ok(Answer::silent());
    };
    let file = here.own.join(ADVISED);
    if fs::read_to_string(&file).is_ok_and(|told| told == commit) {
        return Ok(Answer::silent());
    }
    let noted = fs::create_dir_all(&here.own).and_then(|()| fs::write(&file, commit));
    noted.map_err(|source| Failure::Count { file, source })?;
    Ok(Answer::context("PostToolUse", &advice))
}

/// A tool that has failed may still have moved something.
pub(crate) fn post_tool_use_failure(here: &HookContext, input: &Input) -> Result<Answer, Failure> {
    let Some(mut watch) = WatchedRun::of(here, input)? else { return Ok(Answer::silent()) };
    watch.look_at_protected(input)?;
    if input.tool_name.as_deref().is_some_and(|name| WRITERS.contains(&name)) {
        return Ok(watch.answer("PostToolUseFailure"));
    }
    watch.look_at_refs()?;
    Ok(watch.answer("PostToolUseFailure"))
}

/// The run whose state is compared before and after a tool call.
struct WatchedRun<'a> {
    here: &'a HookContext,
    workspace: Option<Workspace>,
    /// Whether it is the agent that carries the run on. Another session moves refs like any other, and does nothing
    /// that counts for the run.
    is_owners: bool,
    /// Whether warp drives the agent.
    is_driven: bool,
    words: Vec<String>,
}

impl<'a> WatchedRun<'a> {
    /// Begins to watch, if there is a run.
    fn of(here: &'a HookContext, input: &Input) -> Result<Option<Self>, Failure> {
        let mut workspace = None;
        let owner = match &here.head {
            HeadLookup::NoRun => return Ok(None),
            HeadLookup::Known(head) => head.owner.clone(),
            HeadLookup::Unsure => match workspace.insert(here.open()?).current()? {
                Some(current) => current.run.owner.clone(),
                None => return Ok(None),
            },
        };
        let (is_owners, is_driven) = (is_owner(&owner, input), owner.is_driver());
        if is_owners {
            stop::tool_was_used(&here.own)?;
        }
        Ok(Some(Self { here, workspace, is_owners, is_driven, words: Vec::new() }))
    }

    fn workspace(&mut self) -> Result<&mut Workspace, Failure> {
        if self.workspace.is_none() {
            self.workspace = Some(self.here.open()?);
        }
        Ok(self.workspace.as_mut().expect("it was opened just now"))
    }

    /// Offers an event; what is said about it is told to the agent.
    fn offer(&mut self, actor: Actor, event: Event) -> Result<Option<Taken>, Failure> {
        match self.workspace()?.ask_as(actor, event, Map::new()) {
            Ok(answer) => {
                self.words.extend(answer.advice.iter().map(|Advice(text)| text.clone()));
                Ok(Some(answer))
            }
            Err(AskError::Refused(refused)) => {
                self.words.push(refused.to_string());
                Ok(None)
            }
            Err(AskError::NoRun) => Ok(None),
            Err(AskError::Failed(error)) => Err(error.into()),
        }
    }

    fn edited(&mut self, file: &Path) -> Result<(), Failure> {
        let file = self.here.outside(file);
        let file = file.strip_prefix(&self.here.root).unwrap_or(&file).to_string_lossy().into_owned();
        match count_edit(&self.here.root, &self.here.own, &file)? {
            Some(Edits { times, most, phase }) => {
                if times > most {
                    self.words.push(doom_loop(&file, times, &phase, most));
                }
                // The state file in a person's checkout shows the count at once; a driver's run has none that is looked at.
                if !self.is_driven {
                    self.workspace()?.refresh()?;
                }
                Ok(())
            }
            None => self.offer(Actor::Agent, Event::FileEdited { file }).map(|_| ()),
        }
    }

    /// A document was edited where that is what the phase is for: the criteria are ticked, as by `warp next`.
    fn document_edited(&mut self) -> Result<(), Failure> {
        let Some(current) = self.workspace()?.current()? else { return Ok(()) };
        let Some(ticked) = said(&current, JobOutcome::DocsUpdated).filter(|_| !current.run.owner.is_driver())
        else {
            return Ok(());
        };
        match jobs::on(self.workspace()?).advance(&Wanted::default()) {
            Ok((said, taken)) => {
                self.words.extend(said);
                if let Some(answer) = taken {
                    self.words.push(moved_on(ticked.as_str(), &answer));
                }
            }
            Err(error) => self.words.push(spelled(&error)),
        }
        Ok(())
    }

    /// Moves on from the phase that ticks criteria once the criteria are ticked; the gate of that event decides.
    fn docs_changed(&mut self) -> Result<(), Failure> {
        let Some(current) = self.workspace()?.current()? else { return Ok(()) };
        if let Some(event) = said(&current, JobOutcome::DocsUpdated) {
            self.moved(Actor::Agent, Event::Named(event))?;
        }
        Ok(())
    }

    /// Puts protected files back that the call has changed.
    fn look_at_protected(&mut self, input: &Input) -> Result<(), Failure> {
        if changes::may_change(input) {
            let (place, dirs) = self.here.place()?;
            self.words.extend(watched::after(&place, &dirs, &changes::call(input))?);
        }
        Ok(())
    }

    fn look_at_refs(&mut self) -> Result<(), Failure> {
        let look = if self.is_owners { rails::after_tool } else { rails::after_others_tool };
        let After { commits, broken, notes } = look(self.workspace()?)?;
        self.words.extend(notes);
        for commit in commits {
            self.committed(&commit.hash)?;
        }
        if let Some(broken) = broken {
            self.words.push(told(&broken));
        }
        Ok(())
    }

    fn committed(&mut self, hash: &str) -> Result<(), Failure> {
        let Some(current) = self.workspace()?.current()? else { return Ok(()) };
        let wanted = if current.run.settings.get(keys::DOC_DRIFT_GATE) {
            JobOutcome::CommitWithDocGate
        } else {
            JobOutcome::Committed
        };
        if let Some(event) = said(&current, wanted) {
            // The commit was seen in git, not heard of.
            self.moved(Actor::Engine, Event::Named(event))?;
        }
        match Git::new(&self.here.root).changed_in(hash) {
            Ok(files) => self.words.extend(drift::advice_on_commit(&files)),
            Err(problem) => self.words.push(problem),
        }
        Ok(())
    }

    /// Offers an event that moves the run, and says where it stands then.
    fn moved(&mut self, actor: Actor, event: Event) -> Result<(), Failure> {
        let name = event.name();
        if let Some(answer) = self.offer(actor, event)? {
            self.words.push(moved_on(name.as_str(), &answer));
        }
        Ok(())
    }

    fn answer(self, event: &str) -> Answer {
        if self.words.is_empty() { Answer::silent() } else { Answer::context(event, &self.words.join("\n")) }
    }
}

/// Says where an event that was noticed has brought the run.
/// Returns the event by which the run says an outcome of its phase's job, if that job has it.
fn said(current: &Current, outcome: JobOutcome) -> Option<EventName> {
    let phase = current.workflow.phase(&current.run.phase)?;
    let event = phase.said(outcome)?;
    (phase.outcome(event.as_str()) == Some(outcome)).then(|| event.clone())
}

fn moved_on(event: &str, answer: &Taken) -> String {
    let phase = &answer.current.run.phase;
    format!("`{event}` was noticed: the run is in `{phase}` now; `warp next` continues")
}

/// Tells an agent what it has moved without permission.
fn told(broken: &Broken) -> String {
    let Broken { what, kept, breach, .. } = broken;
    let kept = if kept.is_empty() {
        String::new()
    } else {
        format!(" What was made is kept as {}.", kept.join(", "))
    };
    if *breach == Breach::Undone {
        format!(
            "{what}: nobody gave permission for that, so it was put back; the files are as they were.{kept}"
        )
    } else {
        format!(
            "{what}: nobody gave permission for that. The run waits until a person has looked at it.{kept}"
        )
    }
}
