//! A loop that builds a feature: what an agent's turn left is committed, and its answer is offered.

use adapters::agent::{NoAnswer, TurnResult};
use engine::{Actor, Effect, Event, EventName, Inquiry, Refused, turn::Promised, workflow::ReceiptKind};
use jobs::JobError;
use project::{AskError, Current};
use serde_json::{Map, Value, json};

use crate::{
    agents::{Complaint, FAILURES},
    answer::{self, Form},
    driver::{DriveError, Driver, Flow},
    feature,
    show::Shown,
};

/// The kind of the question about work that was written before the tests, and the answer that lets it be.
const ISOLATION: &str = "isolation";
const ACCEPT: &str = "accept";

/// The most that is kept of why an answer was not taken, in bytes.
const LONGEST_WHY: usize = 1900;

impl Driver<'_> {
    /// Makes an event of an agent's answer, after what it wrote was committed.
    pub(crate) fn take_of_loop(
        &mut self,
        current: &Current,
        ended: TurnResult,
        effect: &Effect,
        form: &Form,
    ) -> Result<Result<(), Complaint>, DriveError> {
        let value = match ended.answer {
            Ok(value) => match self.read(value, form) {
                Ok(value) => value,
                Err(wrong) => return Ok(Err(*wrong)),
            },
            Err(NoAnswer::Stopped) => return Ok(Ok(())),
            Err(no_answer) => {
                let mut complaint = Complaint::no_answer(&no_answer, &ended.last_words);
                if let Promised::Not(words) = feature::promised(current, &ended.last_words) {
                    complaint.faults.insert(0, words);
                    complaint.is_form = false;
                }
                return Ok(Err(complaint));
            }
        };
        if let Some(question) = answer::question(&value) {
            self.ask_for_agent(question)?;
            return Ok(Ok(()));
        }
        if let Err(why) = is_promised(current, &value) {
            return Ok(Err(why.into()));
        }
        let handed = match jobs::on(&mut self.workspace).hand_in(current, value.get("commit")) {
            Ok(Ok(handed)) => handed,
            Ok(Err(why)) | Err(JobError::World(why)) => return Ok(Err(why.into())),
            Err(JobError::Held(held)) => {
                if let (_, Some(asked)) = jobs::on(&mut self.workspace).ask_about_held(current, &held)? {
                    self.took(&asked);
                }
                return Ok(Ok(()));
            }
            Err(error) => return Err(error.into()),
        };
        for said in handed.said.iter().chain(&handed.taken_out) {
            self.show.show(Shown::Did(said));
        }
        self.report_findings(current, &value)?;
        let Some((event, data)) = feature::event_of(current, &value, &handed.head) else {
            return Ok(Err("the answer names no event of this phase".to_owned().into()));
        };
        match self.workspace.ask_as(Actor::Agent, Event::Named(event), effect.outcome(data)) {
            Ok(answer) => {
                self.took(&answer);
                Ok(Ok(()))
            }
            // It was replaced meanwhile.
            Err(AskError::Refused(Refused::StaleAttempt { .. })) => Ok(Ok(())),
            Err(AskError::Refused(refused)) => {
                // What was taken out may be what is missing.
                let words = handed
                    .taken_out
                    .iter()
                    .fold(refused.to_string(), |words, more| format!("{more}\n{words}"));
                Ok(Err(words.into()))
            }
            Err(AskError::NoRun) => Ok(Ok(())),
            Err(AskError::Failed(error)) => Err(error.into()),
        }
    }

    /// Asks a person where acceptance tests are to be written and something but documents was written before; nothing if
    /// there is nothing to ask, or the person has accepted it.
    pub(crate) fn ask_about_isolation(&mut self, current: &Current) -> Result<Option<Flow>, DriveError> {
        let Some(why) = jobs::on(&mut self.workspace).why_not_isolated(current)? else { return Ok(None) };
        let accepted = current.run.facts.answered(ISOLATION).and_then(Inquiry::option);
        if accepted == Some(ACCEPT) {
            return Ok(None);
        }
        let event = Event::QuestionAsked {
            kind: ISOLATION.to_owned(),
            question: why,
            options: vec![ACCEPT.to_owned(), "continue".to_owned()],
        };
        self.offer(Actor::Engine, event, Map::new())?;
        Ok(Some(Flow::On))
    }

    /// Puts acceptance tests back that a person has rejected: whoever continues finds those that the work has to meet.
    pub(crate) fn put_rejected_back(&mut self, current: &Current) -> Result<(), DriveError> {
        if let Some(said) = jobs::on(&mut self.workspace).put_rejected_back(current)? {
            self.show.show(Shown::Did(&said));
        }
        Ok(())
    }

    /// Records what a review has found, each finding once.
    fn report_findings(&mut self, current: &Current, value: &Value) -> Result<(), DriveError> {
        for found in feature::findings(value) {
            let Event::FindingReported { file, line, text, .. } = &found else { continue };
            let is_known = current
                .run
                .findings_here()
                .any(|known| known.file == *file && known.line == *line && known.text == *text);
            if !is_known {
                self.offer(Actor::Agent, found, Map::new())?;
            }
        }
        Ok(())
    }

    /// Takes down why an answer was not taken, which the next prompt says, and counts the turn.
    ///
    /// A phase of one pass is left with its first turn that counts, so the agent may fix its answer first.
    pub(crate) fn miss(&mut self, current: &Current, why: &str, attempt: usize) -> Result<(), DriveError> {
        self.show.show(Shown::Warned(why));
        if !self.stands(current)? {
            return Ok(());
        }
        let data = Map::from_iter([("error".to_owned(), json!(cut(why)))]);
        self.offer(Actor::Engine, Event::Named(EventName::new(Event::NOTED)), data)?;
        let receipt = current.workflow.phase(&current.run.phase).and_then(|phase| phase.receipt);
        if receipt == Some(ReceiptKind::Revision) && attempt < FAILURES {
            return Ok(());
        }
        self.count_turn(current)
    }
}

/// Sees that an answer promises where it is asked to, and nowhere else.
fn is_promised(current: &Current, value: &Value) -> Result<(), String> {
    let summary = value.get("summary").and_then(Value::as_str).unwrap_or_default();
    let words = feature::promise(value).unwrap_or_else(|| summary.to_owned());
    match feature::promised(current, &words) {
        Promised::Not(words) => Err(words),
        Promised::Nothing if feature::wants_promise(current) => {
            Err(format!("the promise is not given, so the loop does not end: {summary}"))
        }
        Promised::Kept | Promised::Nothing => Ok(()),
    }
}

fn cut(why: &str) -> &str {
    let mut end = why.len().min(LONGEST_WHY);
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    &why[..end]
}
