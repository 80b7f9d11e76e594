//! Tools: what an agent can call while it works, and which events of a workflow they stand for.
//!
//! A row names its tool (`tool = "done"`), or has the tool's own name. Where a phase names none, and there is one thing
//! alone that an agent may say, `done` says it. So a workflow that knows nothing of tools has them all the same.

use serde::Deserialize;

use super::{Activity, Workflow};
use crate::{EventName, Run};

/// A tool that stands for events of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// Hands in what is to be done.
    SubmitPlan,
    /// Asks a person; the run waits for the answer.
    AskQuestion,
    /// Says that there is nothing left to do.
    MarkStoryComplete,
    /// Says that the phase's work is finished.
    Done,
}

impl Tool {
    /// Returns the name by which it is called.
    pub fn name(self) -> &'static str {
        match self {
            Tool::SubmitPlan => "submit_plan",
            Tool::AskQuestion => "ask_question",
            Tool::MarkStoryComplete => "mark_story_complete",
            Tool::Done => "done",
        }
    }
}

impl Workflow {
    /// Returns the events that an agent may say in the phase that the run is in: none where it is not the agent's.
    pub fn events_of_agent(&self, run: &Run) -> Vec<EventName> {
        let Some(phase) = self.phase(&run.phase).filter(|phase| phase.activity == Activity::Agent) else {
            return Vec::new();
        };
        let rows = phase.rows.iter().filter(|row| !row.needs_person(&run.settings));
        let rows = rows.map(|row| &row.event).filter(|event| self.stop_event.as_ref() != Some(*event));
        let asking = self.questions.iter().filter(|question| question.phase == run.phase);
        let closing = self.close_event.iter().filter(|_| self.is_final(&run.phase));
        rows.chain(asking.map(|question| &question.event)).chain(closing).cloned().collect()
    }

    /// Returns the event that a tool stands for in the phase that the run is in.
    pub fn event_of_tool(&self, run: &Run, tool: Tool) -> Option<EventName> {
        let events = self.events_of_agent(run);
        let marked = self.rows(&run.phase).iter().filter(|row| row.tool.is_some());
        let asking = self.questions.iter().filter(|question| question.phase == run.phase);
        let asking = asking.filter_map(|question| Some((question.tool?, &question.event)));
        let marked: Vec<(Tool, &EventName)> =
            marked.filter_map(|row| Some((row.tool?, &row.event))).chain(asking).collect();
        let by_mark = marked.iter().find(|(known, event)| *known == tool && events.contains(event));
        let by_name = || events.iter().find(|event| event.as_str() == tool.name()).cloned();
        let only = || match events.as_slice() {
            [only] if tool == Tool::Done && marked.is_empty() => Some(only.clone()),
            _ => None,
        };
        by_mark.map(|(_, event)| (*event).clone()).or_else(by_name).or_else(only)
    }
}
