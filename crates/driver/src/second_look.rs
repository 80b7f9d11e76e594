//! A second look at a whole issue before it is merged, where no reviewer looks.
//!
//! Each chunk was judged by its own evidence, so an issue of one chunk was looked at whole already. Where there are more, a
//! later one may have broken an earlier one, and only a look at all of them tells. At level 2 a person reviews the pull
//! request; at level 3 an agent takes one short turn. What it finds unmet, a person decides about.

use engine::{
    Act, Actor, Event, Run, keys,
    workflow::{Answer, Job},
};
use project::{Current, counted};
use serde_json::{Map, Value};

use crate::{
    agents::Complaint,
    answer,
    brief::MERGES,
    driver::{DriveError, Driver},
    show::Shown,
};

/// The kind of the question about criteria that are not met.
pub(crate) const KIND: &str = "second_look";

/// Tells whether a run is where the whole issue is looked at once more.
pub(crate) fn is_due(current: &Current) -> bool {
    let run = &current.run;
    *run.act() == Act::Job(Job::TakeChunk)
        && is_whole(run)
        && run.level >= MERGES
        && run.settings.get(keys::PRE_EXIT_VERIFICATION)
}

/// Tells whether all of several chunks are done.
fn is_whole(run: &Run) -> bool {
    let chunks = run.chunk.acs.len() as u64;
    chunks > 1 && run.chunk.index >= chunks
}

impl Driver<'_> {
    /// Tells whether an agent has to look at the whole issue before the run goes on.
    pub(crate) fn looks_again(&mut self, current: &Current) -> Result<bool, DriveError> {
        if !is_due(current) || current.run.facts.answered(KIND).is_some() {
            return Ok(false);
        }
        // A script does what it says, and has no second thoughts.
        let did = current.workflow.phases.iter().find(|phase| phase.answer == Answer::Work);
        let role = did.and_then(|phase| phase.role.as_deref());
        let hands = self.crew.hands(&current.run.settings, role)?;
        Ok(hands.first().is_some_and(|hand| hand.agent.name() != "script"))
    }

    /// Continues after a second look; about criteria that are not met a person decides.
    pub(crate) fn take_second_look(
        &mut self,
        current: &Current,
        answer: &Value,
    ) -> Result<Result<(), Complaint>, DriveError> {
        let Some(unmet) = answer::unmet(answer) else {
            let why = vec!["`unmet` must be a list of criteria, each with `ac` and `why`".to_owned()];
            return Ok(Err(Complaint::of_form(why, answer)));
        };
        if unmet.is_empty() {
            self.show.show(Shown::Did("a second look at the whole issue: every criterion is met"));
            self.mechanical(current)?;
            return Ok(Ok(()));
        }
        let count = counted(unmet.len() as u64, "criterion is", "criteria are");
        let question = format!(
            "After a second look at the whole issue, {count} not met:\n{}\nMerge it as it is?",
            unmet.join("\n")
        );
        let event =
            Event::QuestionAsked { kind: KIND.to_owned(), question, options: vec!["merge".to_owned()] };
        self.offer(Actor::Engine, event, Map::new())?;
        Ok(Ok(()))
    }
}
