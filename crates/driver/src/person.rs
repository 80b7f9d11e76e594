//! What is a person's: a decision is asked, waited for, and acted on when nobody answers.

use std::{collections::BTreeSet, sync::Arc};

use engine::{
    Act, Actor, CRITERIA, Event, PhaseName, Record, Standing, keys,
    workflow::{Job, Target},
};
use project::{AskError, Current, DecideError, Given, Overdue, spend::More};
use serde_json::{Map, Value};

use crate::{
    brief::MERGES,
    driver::{DriveError, Driver, Finish, Flow},
    show::{Reply, Shown},
    start::After,
};

impl Driver<'_> {
    /// Asks a person, and waits as long as that makes sense.
    ///
    /// With nobody at the terminal only a question with a deadline is waited for: somebody may answer it from
    /// elsewhere, and if nobody does, the work goes on without that chunk. In away mode any other is waited for as long,
    /// and then the loop ends as it would have at once.
    pub(crate) fn person(&mut self, current: &Current) -> Result<Flow, DriveError> {
        let Some(asked) = Self::asked(current) else {
            let problem =
                format!("`{}` needs a person: `warp explain` says what is possible", current.run.phase);
            return Ok(Flow::End(Finish::Refused(problem)));
        };
        if let Act::Person { unattended: Some(option), .. } = current.run.act()
            && !self.asks_to_continue(current)?
        {
            return self.answer(&asked.id, Reply { option: option.clone(), note: None });
        }
        if self.leaves_criteria_unconfirmed(current) {
            self.offer(Actor::Engine, Event::CriteriaUnconfirmed, Map::new())?;
            return Ok(Flow::On);
        }
        if self.is_served_again(current)? {
            return Ok(Flow::On);
        }
        let until = current.run.question_deadline();
        let durable = self.workspace.sync()?;
        let is_away = self.ask_away(current.run.id.as_str(), &durable);
        let patience = match (until, self.show.is_attended() || self.terminal.is_some(), is_away) {
            (Some(_), _, _) | (None, true, _) => None,
            (None, false, false) => return Ok(Flow::End(Finish::Parked(asked))),
            (None, false, true) => {
                let minutes = current.run.settings.get(keys::DECISION_TIMEOUT_MINUTES);
                Some(self.now().plus_minutes(minutes))
            }
        };
        self.show.show(Shown::Asked(&asked));
        if is_away {
            self.show.show(Shown::Did("it is asked in Telegram too"));
        }
        loop {
            if let Some(reply) = self.show.reply(&asked) {
                return self.answer(&asked.id, reply);
            }
            if self.interrupts.is_asked() {
                return Ok(Flow::End(Finish::Interrupted));
            }
            let Some(now) = self.workspace.current()? else { return Ok(Flow::On) };
            if Self::asked(&now).is_none_or(|open| open.id != asked.id) {
                self.show_answer(&now, current.events(), &asked.id)?;
                return Ok(Flow::On);
            }
            if until.is_some_and(|until| self.now() >= until) {
                return self.put_off();
            }
            if patience.is_some_and(|patience| self.now() >= patience) {
                return Ok(Flow::End(Finish::Parked(asked)));
            }
            if self.terminal.is_some() && self.pass_deadline(&now)? {
                return Ok(Flow::On);
            }
            if self.is_served_again(&now)? {
                return Ok(Flow::On);
            }
            let probe = self.asks_about_provider(&now).then(|| self.next_probe());
            self.sleep([until, patience, probe].into_iter().flatten().min())?;
        }
    }

    /// Shows what somebody has answered from elsewhere since the run had so many events, and what came of it.
    fn show_answer(&mut self, current: &Current, since: u64, decision: &str) -> Result<(), DriveError> {
        let fresh = usize::try_from(current.events().saturating_sub(since)).unwrap_or(usize::MAX);
        let records = self.workspace.newest_records(current, fresh)?;
        let is_answer = |record: &Arc<Record>| {
            record.event == *Event::ANSWERED
                && record.data.get("decision").and_then(Value::as_str) == Some(decision)
        };
        let Some(answered) = records.iter().position(is_answer) else { return Ok(()) };
        let of = |name: &str| records[answered].data.get(name).and_then(Value::as_str).unwrap_or_default();
        self.show.show(Shown::Did(&format!("{} has answered: {}", of("by"), of("option"))));
        for record in &records[answered + 1..] {
            self.show.show(Shown::Recorded { record, run: &current.run, workflow: &current.workflow });
        }
        Ok(())
    }

    /// Tells whether somebody is asked what can be answered without them: they have to be there, and if it is whether to go
    /// on with more work, there has to be some.
    fn asks_to_continue(&mut self, current: &Current) -> Result<bool, DriveError> {
        let is_selecting = |phase: &PhaseName| {
            current.workflow.phase(phase).is_some_and(|phase| phase.job == Some(Job::SelectWork))
        };
        let mut rows = current.workflow.rows(&current.run.phase).iter();
        let takes_more = rows.any(|row| matches!(&row.to, Target::Phase(to) if is_selecting(to)));
        if !self.show.is_attended() || !takes_more {
            return Ok(self.show.is_attended());
        }
        Ok(self.options.after == After::Ask && self.workspace.first_free(&BTreeSet::new())?.is_some())
    }

    /// Tells whether the work goes on with criteria that nobody has confirmed: nobody is here, and a person merges.
    fn leaves_criteria_unconfirmed(&self, current: &Current) -> bool {
        let Standing::Parked { decision } = &current.run.standing else { return false };
        decision.reason == CRITERIA && current.run.level < MERGES && !self.show.is_attended()
    }

    pub(crate) fn answer(&mut self, decision: &str, reply: Reply) -> Result<Flow, DriveError> {
        let given = Given {
            decision: decision.to_owned(),
            option: reply.option,
            note: reply.note,
            by: self.workspace.person(),
            via: "terminal".to_owned(),
        };
        match self.workspace.decide(&given, More::default()) {
            Ok(answer) => self.took(&answer),
            // Another answer was faster, or it is no option: the question is asked again if it is still open.
            Err(DecideError::Ask(AskError::Refused(refused))) => {
                self.show.show(Shown::Warned(&refused.to_string()));
            }
            Err(DecideError::Ask(AskError::NoRun)) => {}
            Err(DecideError::Ask(AskError::Failed(error))) => return Err(error.into()),
            Err(DecideError::More(error)) => return Err(error.into()),
        }
        Ok(Flow::On)
    }

    /// Nobody answered in time: the question becomes an issue of its own, and the work goes on without the chunk.
    fn put_off(&mut self) -> Result<Flow, DriveError> {
        if let Some(Overdue::PutOff { why, answer }) = self.workspace.put_off()? {
            self.show.show(Shown::Did(&why));
            self.took(&answer);
        }
        Ok(Flow::On)
    }
}
