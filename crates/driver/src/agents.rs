//! What is an agent's: a turn is started, watched and ended, and its answer is offered in the agent's name.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use adapters::{
    agent::{Agent, AgentUpdate, NoAnswer, Turn, TurnResult},
    boundary,
    process::Control,
    refs, secrets,
};
use engine::{
    ANSWERED, Actor, Conversation, Effect, Event, Refused, RefusedEvent, Run, Usage, Worker, keys,
    workflow::{Answer as Asks, SemanticGate},
};
use journal::Durable;
use project::{AskError, Current, counted, criteria};
use serde_json::{Map, Value, json};

use crate::{
    answer::{self, Form, Question},
    brief::{
        self, Again, Brief, Work,
        text::{self, Tries},
    },
    briefing::{self, Earlier},
    crew::Hand,
    driver::{DriveError, Driver, Finish, Flow},
    notices::Notices,
    second_look,
    show::Shown,
    spend::Spend,
    work::{Given, Offered, Talk},
};

/// How often it is looked whether the run still stands where the agent works.
const LOOK_EVERY: Duration = Duration::from_millis(1000);

/// How long an agent that is refused more money has to end by itself.
const REFUSED: Duration = Duration::from_secs(5);

/// How long an agent may take for its last words after a tool call of its own has moved the run.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// How often an agent is asked for an answer that can be used, before a person is or the turn is charged.
pub(crate) const TRIES: usize = 3;
/// How often it may fail otherwise.
pub(crate) const FAILURES: usize = 2;

/// The most of a brief that a client takes from a hook, in bytes: Claude Code puts what is longer than 10,000 characters into a
/// file.
const REMINDER: usize = 9_500;

/// Whether an agent's turn may go on.
enum Wanted {
    Yes,
    /// It has said what came of the phase, and may finish its sentence.
    Over,
    No,
}

/// Why an answer is not taken, and whether it may help to ask again.
#[derive(Default)]
pub(crate) struct Complaint {
    /// Everything that is wrong with it.
    pub(crate) faults: Vec<String>,
    /// The answer, or what was said instead of one.
    pub(crate) answer: String,
    pub(crate) may_pass: bool,
    /// Set where the work may be good and only the answer is not: such a turn is not charged.
    pub(crate) is_form: bool,
    /// Set where a person may accept the answer all the same.
    pub(crate) refused: Option<Box<RefusedEvent>>,
}

impl Complaint {
    pub(crate) fn no_answer(no_answer: &NoAnswer, last_words: &str) -> Self {
        let why = secrets::redacted(project::spelled(no_answer));
        Self {
            answer: last_words.to_owned(),
            may_pass: no_answer.may_pass(),
            is_form: matches!(no_answer, NoAnswer::NotJson),
            ..format!("the agent gave no answer: {why}").into()
        }
    }

    /// An answer in which these things are wrong, whatever the work is.
    pub(crate) fn of_form(faults: Vec<String>, answer: &Value) -> Self {
        Self { faults, answer: answer.to_string(), may_pass: true, is_form: true, refused: None }
    }

    /// Says in one line what is wrong.
    pub(crate) fn why(&self) -> String {
        self.faults.join("; ")
    }
}

impl From<String> for Complaint {
    fn from(why: String) -> Self {
        Self { faults: vec![why], may_pass: true, ..Self::default() }
    }
}

impl Driver<'_> {
    /// Puts the phase's work to an agent. An answer that cannot be used is asked for again; then a person decides.
    pub(crate) fn agent_phase(&mut self, current: &Current) -> Result<Flow, DriveError> {
        if let Some(flow) = self.ask_about_isolation(current)? {
            return Ok(flow);
        }
        self.put_rejected_back(current)?;
        self.put_away_leftovers(current)?;
        self.ready_dev(current)?;
        if let Some(flow) = self.ready_tests(current)? {
            return Ok(flow);
        }
        let mut complaint: Option<Complaint> = None;
        let mut refusal: Option<String> = None;
        for attempt in 1..=TRIES {
            let Some(now) = self.still(current)? else { return Ok(Flow::On) };
            let work = match brief::of(&mut self.workspace, &now)? {
                Brief::Nothing { data, why } => return self.pass(current, data, &why),
                Brief::Criteria { plan, by } => return self.take_criteria(current, plan, by.as_deref()),
                Brief::Ask { event, data } => {
                    self.offer(Actor::Engine, event, data)?;
                    return Ok(Flow::On);
                }
                Brief::Work(work) => work,
            };
            if let Some(complaint) = &complaint {
                self.show.show(Shown::Warned(&format!("{}; asking again", complaint.why())));
            }
            let form = work.form.clone();
            let ready = match self.ready(&now)? {
                Ok(ready) => ready,
                Err(flow) => return Ok(flow),
            };
            let turn = self.turn(&now, work, refusal.take().as_deref(), &ready.hand)?;
            let Some((ended, effect)) = turn else { return Ok(Flow::On) };
            if self.interrupts.is_asked() {
                return Ok(Flow::End(Finish::Interrupted));
            }
            if !self.stands(current)? {
                return Ok(Flow::On);
            }
            if let Some(flow) = self.handle_provider_failure(current, &ready.hand, &ended)? {
                return Ok(flow);
            }
            if self.is_replaced(current, &ready.hand, &ended)? {
                return Ok(Flow::On);
            }
            match self.take(current, ended, &effect, &form)? {
                Ok(()) => return Ok(Flow::On),
                // What was looked at may have been cut short; it is looked at again later.
                Err(_) if self.interrupts.is_asked() => return Ok(Flow::End(Finish::Interrupted)),
                Err(wrong) if !wrong.may_pass => return self.escalate(current, &wrong.why(), &["continue"]),
                Err(wrong)
                    if current.workflow.retries_until_budget && (!wrong.is_form || attempt == TRIES) =>
                {
                    self.miss(current, &wrong.why(), attempt)?;
                    complaint = None;
                }
                Err(wrong) => {
                    if !wrong.is_form {
                        self.count_turn(current)?;
                    }
                    refusal = Some(self.refusal(current, &wrong, attempt + 1));
                    let is_enough = !wrong.is_form && attempt >= FAILURES;
                    complaint = Some(wrong);
                    if is_enough {
                        break;
                    }
                }
            }
        }
        if current.workflow.retries_until_budget || !self.stands(current)? {
            return Ok(Flow::On);
        }
        match complaint {
            Some(Complaint { refused: Some(refused), .. }) => self.raise(current, *refused),
            Some(complaint) => self.escalate(current, &complaint.why(), &["continue"]),
            None => Ok(Flow::On),
        }
    }

    /// Tells an agent all that is wrong with its answer, and what it needs to put that right.
    fn refusal(&self, current: &Current, wrong: &Complaint, next: usize) -> String {
        let run = &current.run;
        let base = run.chunk.base.as_deref().filter(|_| brief::asks(run) == Asks::Work);
        let changed = base.and_then(|base| self.workspace.place.git().change(base, &["--unified=0"]).ok());
        let changed = changed.map(|(diff, _)| text::changed_lines(&diff)).unwrap_or_default();
        let tries = Tries { this: next as u64, most: TRIES as u64 };
        text::refusal(&brief::mark(run), &wrong.faults, &changed, &wrong.answer, tries)
    }

    /// Leaves a phase in which there is nothing for an agent to do.
    fn pass(&mut self, current: &Current, data: Map<String, Value>, why: &str) -> Result<Flow, DriveError> {
        self.show.show(Shown::Did(why));
        let event = current.workflow.answer_event(&current.run.phase).cloned();
        let taken = match event {
            Some(event) => self.offer(Actor::Engine, Event::Named(event), data)?,
            None => None,
        };
        match taken {
            Some(_) => Ok(Flow::On),
            None => self.escalate(current, "the phase could not be left", &["continue"]),
        }
    }

    /// Writes proposed criteria into the issue and takes the plan that they came with.
    fn take_criteria(
        &mut self,
        current: &Current,
        plan: Map<String, Value>,
        by: Option<&str>,
    ) -> Result<Flow, DriveError> {
        let criteria = criteria::proposed(&plan);
        self.workspace.write_criteria(current, &criteria, by)?;
        let count = counted(criteria.len() as u64, "criterion", "criteria");
        let whose = by.map_or_else(|| "nobody has confirmed".to_owned(), |by| format!("confirmed by {by}"));
        let issue = current.run.issue.as_deref().unwrap_or_default();
        self.pass(current, plan, &format!("{count} written into issue {issue}: {whose}"))
    }

    /// Runs one turn, from its record to its record. Nothing if the run has gone elsewhere before it began.
    fn turn(
        &mut self,
        current: &Current,
        mut work: Work,
        refusal: Option<&str>,
        hand: &Hand,
    ) -> Result<Option<(TurnResult, Effect)>, DriveError> {
        let worker = self.worker(current, hand);
        let earlier = briefing::earlier(&current.run);
        let started = Event::TurnStarted { worker: worker.clone() };
        let Some(answer) = self.offer(Actor::Engine, started, Map::new())? else { return Ok(None) };
        let run = &answer.current.run;
        let Some(effect) = run.effect.clone() else { return Ok(None) };
        // Whatever was said before this record counts as heard, so it has to be in the prompt.
        if run.told != current.run.told
            && let Brief::Work(newer) = brief::of(&mut self.workspace, &answer.current)?
        {
            work = newer;
        }
        let again = Again { refusal, cut_short: earlier.cut_short.as_deref() };
        let role = current.workflow.phase(&run.phase).and_then(|phase| phase.role.as_deref());
        let before = run.conversations().find(|conversation| conversation.role.as_deref() == role);
        let before = before.filter(|before| self.resumes(before, &worker, run)).cloned();
        let resume = before.as_ref().map(|conversation| conversation.session.as_str());
        let prompt = match &before {
            Some(conversation) => work.since(again, &conversation.brief),
            None => work.whole(again, &self.briefing(current, &earlier)?),
        };
        self.confined.set_reminder(work.reminder(again, REMINDER));
        let tree = self.tree_to_change(current);
        let talk = Talk { prompt: &prompt, schema: &answer::ANY, resume, session: None };
        self.before_turn()?;
        let ran = self.run_agent(current, talk, hand);
        let (mut ended, mut is_heard) = self.after_turn(ran)?;
        if resume.is_some() && matches!(ended.answer, Err(NoAnswer::NoConversation)) {
            self.show.show(Shown::Did("the agent's conversation is gone; starting another"));
            let prompt = work.whole(again, &self.briefing(current, &earlier)?);
            let talk = Talk { prompt: &prompt, resume: None, ..talk };
            self.before_turn()?;
            let ran = self.run_agent(current, talk, hand);
            (ended, is_heard) = self.after_turn(ran)?;
        }
        let brief = match (self.confined.take_forgotten(), &before) {
            // What it was reminded of may be less than all of it.
            (true, _) => Vec::new(),
            (false, _) if is_heard => work.prompt.digests(),
            (false, before) => before.as_ref().map(|before| before.brief.clone()).unwrap_or_default(),
        };
        self.show_calls(&answer.current)?;
        let how = match &ended.answer {
            Ok(_) => ANSWERED.to_owned(),
            Err(no_answer) => secrets::redacted(project::spelled(no_answer)),
        };
        let reported = used(&ended, before.as_ref());
        let usage = match self.spend.as_mut() {
            Some(spend) => {
                let turn = format!("{}.{}.{}", run.id, effect.id, effect.attempt);
                spend.end(&turn, reported, worker.model.as_deref())?
            }
            None => reported,
        };
        let is_idle = ended.answer.is_ok() && tree.is_some() && tree == self.tree_to_change(current);
        let (session, context) = (ended.session.clone(), ended.context);
        let over = Event::TurnEnded { how, session, brief, usage, context, is_idle };
        let data = if self.is_unmetered(hand, &ended) {
            Map::from_iter([("unmetered".to_owned(), json!(true))])
        } else {
            Map::new()
        };
        self.offer(Actor::Engine, over, data)?;
        Ok(Some((ended, effect)))
    }

    /// Tells whether an agent has worked without a request that warp has seen. One that was given a way to its models, and
    /// tells nothing of another, is held by no cap: that is said.
    fn is_unmetered(&mut self, hand: &Hand, ended: &TurnResult) -> bool {
        let is_unseen = self.spend.as_ref().is_none_or(Spend::is_unseen);
        if !is_unseen || ended.answer.is_err() || hand.agent.name() == "script" {
            return false;
        }
        if ended.usage == adapters::agent::Usage::default() && !self.told_unmetered {
            self.told_unmetered = true;
            let agent = hand.agent.name();
            let text = format!("{agent} is not metered: no requests seen, so caps cannot be enforced");
            self.show.show(Shown::Warned(&text));
        }
        true
    }

    /// Tells whether a turn resumes a conversation: nothing but the run's own commits has come since, and it is worth it.
    fn resumes(&self, conversation: &Conversation, worker: &Worker, run: &Run) -> bool {
        let before = &conversation.worker;
        let is_same = conversation.issue == run.issue
            && (&before.agent, &before.model) == (&worker.agent, &worker.model)
            && worker.base.is_some()
            && before.base == worker.base;
        let (Some(head), Some(now)) = (&before.head, &worker.head) else { return false };
        let commits = || self.workspace.place.git().commits(head).found().unwrap_or_default();
        let is_own =
            |commits: Vec<String>| commits.contains(now) && commits.iter().all(|commit| run.has_made(commit));
        is_same && (head == now || is_own(commits())) && conversation.is_worth_resuming(run, self.now())
    }

    /// Says who works, and on what, as far as that can be read.
    fn worker(&self, current: &Current, hand: &Hand) -> Worker {
        let place = &self.workspace.place;
        let target = format!("refs/heads/{}", current.run.branches.merge_target);
        let base = place.location().and_then(|location| refs::one(&location, &target).ok().flatten());
        Worker {
            agent: hand.name.clone(),
            model: hand.model.clone(),
            head: place.git().head().found(),
            base: base.filter(|commit| commit != refs::BROKEN),
        }
    }

    /// Returns the working tree that a turn has to change, where an earlier turn has left one that was not enough.
    fn tree_to_change(&self, current: &Current) -> Option<String> {
        let rows = current.workflow.rows(&current.run.phase);
        let writes = rows.iter().any(|row| row.gate == Some(SemanticGate::DiffRelevanceCheck));
        if !writes || current.run.counter("coding_cycles") == 0 {
            return None;
        }
        self.workspace.place.git().tree().found()
    }

    /// Shows what an agent has said by its tools since its turn began.
    fn show_calls(&mut self, began: &Current) -> Result<(), DriveError> {
        let Some(now) = self.workspace.select(None)?.filter(|now| now.run.id == began.run.id) else {
            return Ok(());
        };
        let since = usize::try_from(now.events().saturating_sub(began.events())).unwrap_or(usize::MAX);
        let records = self.workspace.newest_records(&now, since)?;
        for record in records.iter().filter(|record| record.actor == Actor::Agent) {
            self.show.show(Shown::Recorded { record, run: &now.run, workflow: &now.workflow });
        }
        Ok(())
    }

    /// Asks an agent; tells also whether its model was asked, so that its conversation has the prompt.
    fn run_agent(
        &mut self,
        current: &Current,
        talk: Talk<'_>,
        hand: &Hand,
    ) -> Result<(TurnResult, bool), DriveError> {
        let named = match talk.resume {
            Some(_) => None,
            None => hand.agent.new_session().map_err(|error| DriveError::World(error.to_string()))?,
        };
        // Recorded before the client is started: whenever warp is killed, the conversation is found again.
        if let Some(session) = &named {
            self.offer(Actor::Engine, Event::ConversationBegun { session: session.clone() }, Map::new())?;
        }
        let durable = self.workspace.sync()?;
        let route = match self.spend.as_mut() {
            Some(spend) => spend.route(&current.run, &hand.spender())?,
            None => None,
        };
        if route.is_none() && hand.agent.name() != "script" && !self.told_unmetered {
            self.told_unmetered = true;
            let agent = hand.agent.name();
            let text = format!("{agent} is not metered: caps use the usage it reports");
            self.show.show(Shown::Warned(&text));
        }
        let confined = self.confined.clone();
        let tree = format!("{}/", confined.place().display());
        let prompt = &confined.told(talk.prompt);
        let mut facts = confined.facts(&current.run);
        facts.extend(self.workspace.shell.env());
        facts.extend(self.dev_facts());
        let effort = hand.effort.as_deref().or_else(|| current.run.effort(&current.workflow));
        let given = Given { model: hand.model.as_deref(), effort, route: route.as_ref() };
        let talk = Talk { prompt, session: named.as_deref(), ..talk };
        let offered = Offered::of(&current.run);
        let turn = confined.turn(&current.run, talk, &facts, &given);
        let turn = offered.to(turn);
        let mut known = talk.resume.or(talk.session).map(str::to_owned);
        let mut has_spoken = false;
        let mut lines = secrets::Lines::default();
        let mut failure = None;
        let mut looked = Instant::now();
        let agent = Arc::clone(&hand.agent);
        let mut refused_at = None;
        let mut said_so: Option<Instant> = None;
        let mut notices = Notices::new(confined.server.clone(), turn.limits.silence, route.is_some());
        let mut watch = |said: AgentUpdate| {
            has_spoken |= matches!(said, AgentUpdate::Text(_) | AgentUpdate::Tool { .. });
            // A script has nothing but a name for its conversation: there is nothing to lose.
            if let AgentUpdate::Session(session) = &said
                && known.as_ref() != Some(session)
                && failure.is_none()
                && hand.agent.name() != "script"
            {
                known = Some(session.clone());
                let begun = Event::ConversationBegun { session: session.clone() };
                failure = self.offer(Actor::Engine, begun, Map::new()).err();
            }
            let retry = self.spend.as_ref().and_then(|spend| spend.seen().retry);
            for notice in notices.due(&said, retry) {
                let notice = notice.cleaned(|text| clean(text, &tree));
                self.show.show(Shown::Notice(&notice));
            }
            let said = shown(said, &tree, &mut lines);
            match &said {
                // Those that are due were shown above.
                AgentUpdate::Notice(_) => {}
                AgentUpdate::Tick(_) => self.show.show(Shown::Tick),
                AgentUpdate::Session(_)
                | AgentUpdate::Text(_)
                | AgentUpdate::Tool { .. }
                | AgentUpdate::Model(_)
                | AgentUpdate::Usage(_) => {
                    self.show.show(Shown::Agent(&said));
                }
            }
            let go = self.interrupts.go();
            if go != Control::On || failure.is_some() {
                return go.max(Control::Stop);
            }
            if self.is_hopeless(current, &mut refused_at) {
                return Control::Stop;
            }
            if let (AgentUpdate::Model(model), Some(spend)) = (&said, self.spend.as_mut()) {
                spend.hear_model(model);
            }
            if let AgentUpdate::Usage(usage) = &said
                && route.is_none()
                && self.spend.as_mut().is_some_and(|spend| spend.hear(tokens(usage), hand.model.as_deref()))
            {
                return Control::Stop;
            }
            if looked.elapsed() < LOOK_EVERY {
                return Control::On;
            }
            looked = Instant::now();
            self.tell_guesses();
            match self.is_still_wanted(current) {
                Ok(Wanted::Yes) => Control::On,
                Ok(Wanted::No) => Control::Stop,
                // Its answer is taken already. What it has used is told with its end, so that is waited for.
                Ok(Wanted::Over) if said_so.get_or_insert_with(Instant::now).elapsed() < LAST_WORDS => {
                    Control::On
                }
                Ok(Wanted::Over) => Control::Stop,
                Err(error) => {
                    failure = Some(error);
                    Control::Stop
                }
            }
        };
        let mut ended = boundary::around("turn", || take_turn(agent.as_ref(), &turn, &mut watch, &durable));
        self.tell_guesses();
        // From here on it is recorded, shown and put into reports.
        if let Ok(answer) = &mut ended.answer {
            secrets::redact_value(answer);
        }
        ended.last_words = secrets::redacted(ended.last_words);
        let is_asked = has_spoken || self.spend.as_ref().is_some_and(|spend| !spend.is_unseen());
        match failure {
            Some(error) => Err(error),
            None => Ok((ended, is_asked)),
        }
    }

    /// Says which models have no price of their own.
    fn tell_guesses(&mut self) {
        for guess in self.spend.as_ref().map(Spend::take_guesses).unwrap_or_default() {
            self.show.show(Shown::Warned(&guess));
        }
    }

    /// Returns what a new conversation has to know of others before it.
    fn briefing(&mut self, current: &Current, earlier: &Earlier) -> Result<String, DriveError> {
        if !earlier.has_worked {
            return Ok(String::new());
        }
        briefing::of(&mut self.workspace, current)
    }

    /// Tells whether the agent has nothing more to hope for: its provider lets nobody in for longer than a client waits by itself, or
    /// it was refused more money a while ago and has not ended by itself.
    fn is_hopeless(&self, current: &Current, refused_at: &mut Option<Instant>) -> bool {
        let Some(seen) = self.spend.as_ref().map(Spend::seen) else { return false };
        let waits = current.run.settings.get(keys::PAUSE_AT_LIMIT);
        let patience = self.now().plus_minutes(1);
        if waits && seen.limit.and_then(|limit| limit.resets_at).is_some_and(|resets_at| resets_at > patience)
        {
            return true;
        }
        seen.refused.is_some() && refused_at.get_or_insert_with(Instant::now).elapsed() > REFUSED
    }

    /// Looks whether the turn may go on: the claim is ours, the run stands where it stood, the phase has time left.
    fn is_still_wanted(&mut self, current: &Current) -> Result<Wanted, DriveError> {
        self.check_claim()?;
        if !self.stands(current)? {
            return Ok(if self.is_agents_word()? { Wanted::Over } else { Wanted::No });
        }
        let due = current.run.deadline(&current.workflow).is_some_and(|due| self.now() > due);
        let is_enforced = current.run.settings.get(keys::PHASE_TIMEOUT_ENFORCEMENT) != "warn";
        if !due || !is_enforced {
            return Ok(Wanted::Yes);
        }
        self.offer(Actor::Engine, Event::DeadlinePassed, Map::new())?;
        Ok(if self.stands(current)? { Wanted::Yes } else { Wanted::No })
    }

    /// Tells whether an agent's own word was the last that anybody but warp has said.
    fn is_agents_word(&mut self) -> Result<bool, DriveError> {
        let Some(now) = self.workspace.select(None)? else { return Ok(false) };
        Ok(now.run.facts.last_word == Some(Actor::Agent))
    }

    /// Makes an event of an agent's answer.
    fn take(
        &mut self,
        current: &Current,
        ended: TurnResult,
        effect: &Effect,
        form: &Form,
    ) -> Result<Result<(), Complaint>, DriveError> {
        if current.workflow.hands_in {
            return self.take_of_loop(current, ended, effect, form);
        }
        let value = match ended.answer {
            Ok(value) => match self.read(value, form) {
                Ok(value) => value,
                Err(wrong) => return Ok(Err(*wrong)),
            },
            Err(NoAnswer::Stopped) => return Ok(Ok(())),
            Err(no_answer) => return Ok(Err(Complaint::no_answer(&no_answer, &ended.last_words))),
        };
        if second_look::is_due(current) {
            return self.take_second_look(current, &value);
        }
        if let Some(question) = answer::question(&value) {
            self.ask_for_agent(question)?;
            return Ok(Ok(()));
        }
        let criteria = self.workspace.criteria_of(current)?;
        let Some((event, data)) = brief::event_of(current, &criteria, &value) else {
            let why = vec!["the answer names no event of this phase".to_owned()];
            return Ok(Err(Complaint::of_form(why, &value)));
        };
        match self.workspace.ask_as(Actor::Agent, event, effect.outcome(data.clone())) {
            Ok(answer) => {
                self.took(&answer);
                Ok(Ok(()))
            }
            // Advice, which is in the prompt of the next turn: nothing was wrong with the answer.
            Err(AskError::Refused(Refused::Once { reason, .. })) => {
                self.show.show(Shown::Warned(&reason));
                Ok(Ok(()))
            }
            // It was replaced meanwhile.
            Err(AskError::Refused(Refused::StaleAttempt { .. })) => Ok(Ok(())),
            Err(AskError::Refused(refused)) => {
                let to_overrule = refused.to_overrule(Actor::Agent, &data);
                let wrong = Complaint::of_form(vec![refused.to_string()], &value);
                Ok(Err(Complaint { refused: to_overrule.map(Box::new), ..wrong }))
            }
            Err(AskError::NoRun) => Ok(Ok(())),
            Err(AskError::Failed(error)) => Err(error.into()),
        }
    }

    /// Reads an answer, and says what was read otherwise than it stands there.
    pub(crate) fn read(&mut self, answer: Value, form: &Form) -> Result<Value, Box<Complaint>> {
        let said = answer.clone();
        let read = form.read(self.with_plain_paths(answer));
        for slip in &read.said {
            self.show.show(Shown::Did(&format!("the answer: {slip}")));
        }
        if read.faults.is_empty() {
            Ok(read.value)
        } else {
            Err(Box::new(Complaint::of_form(read.faults, &said)))
        }
    }

    /// Names files in an answer by where they are in the project, as an agent that thinks in whole paths does not.
    fn with_plain_paths(&self, mut answer: Value) -> Value {
        let tree = format!("{}/", self.confined.place().display());
        let plain = |file: &mut Value| {
            if let Value::String(file) = file {
                let rest = file.strip_prefix(&tree).unwrap_or(file);
                *file = rest.strip_prefix("./").unwrap_or(rest).to_owned();
            }
        };
        answer.get_mut("artifact").into_iter().for_each(plain);
        for list in ["evidence", "findings"] {
            let entries = answer.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            entries.filter_map(|entry| entry.get_mut("file")).for_each(plain);
        }
        answer
    }

    /// Puts an agent's question to a person.
    pub(crate) fn ask_for_agent(&mut self, question: Question) -> Result<(), DriveError> {
        let Question { kind, text, options, default } = question;
        let data = default.map(|default| ("default".to_owned(), json!(default))).into_iter().collect();
        self.offer(Actor::Agent, Event::QuestionAsked { kind, question: text, options }, data)?;
        Ok(())
    }

    /// Counts a turn that came to nothing, where the workflow counts turns.
    pub(crate) fn count_turn(&mut self, current: &Current) -> Result<(), DriveError> {
        if let Some(tick) = current.workflow.turns(&current.run.phase) {
            let event = Event::Named(tick.event.clone());
            self.offer(Actor::Engine, event, Map::new())?;
        }
        Ok(())
    }

    /// Before a chunk's first turn, keeps what an earlier chunk that was put off left in the tree, and clears it away.
    fn put_away_leftovers(&mut self, current: &Current) -> Result<(), DriveError> {
        let run = &current.run;
        let has_begun = run
            .turn
            .as_ref()
            .is_some_and(|turn| Some(&turn.effect) == run.effect.as_ref().map(|effect| &effect.id));
        if has_begun {
            return Ok(());
        }
        if let Some(kept) = jobs::on(&mut self.workspace).put_away(run)? {
            self.show.show(Shown::Did(&format!("leftovers of the previous chunk saved as {kept}")));
        }
        Ok(())
    }
}

/// Lets an agent take a turn, which may change anything: what led to it is on disk.
pub(crate) fn take_turn(
    agent: &dyn Agent,
    turn: &Turn<'_>,
    watch: &mut dyn FnMut(AgentUpdate) -> Control,
    _: &Durable,
) -> TurnResult {
    agent.run(turn, watch)
}

/// Makes what an agent says fit to be shown: without secrets, and with files named by where they are in the tree, which
/// is what a person knows.
pub(crate) fn shown(said: AgentUpdate, tree: &str, lines: &mut secrets::Lines) -> AgentUpdate {
    match said {
        AgentUpdate::Tool { name, about } => AgentUpdate::Tool { name, about: clean(about, tree) },
        AgentUpdate::Text(text) => AgentUpdate::Text(lines.redacted(text.replace(tree, ""))),
        AgentUpdate::Session(session) => AgentUpdate::Session(secrets::redacted(session)),
        other @ (AgentUpdate::Notice(_)
        | AgentUpdate::Model(_)
        | AgentUpdate::Usage(_)
        | AgentUpdate::Tick(_)) => other,
    }
}

fn clean(text: String, tree: &str) -> String {
    secrets::redacted(text.replace(tree, ""))
}

/// Reckons what a turn has used: the agent tells what the conversation has cost, not the turn.
pub(crate) fn used(ended: &TurnResult, before: Option<&Conversation>) -> Usage {
    let same = before.filter(|before| Some(&before.session) == ended.session.as_ref());
    let spent = same.map_or(0, |before| before.micro_usd);
    let micro_usd = ended.cost_usd.map_or(0, micro_usd).saturating_sub(spent);
    Usage { micro_usd, ..tokens(&ended.usage) }
}

/// Returns tokens without a price.
pub(crate) fn tokens(usage: &adapters::agent::Usage) -> Usage {
    Usage {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_tokens: usage.cache_read,
        cache_write_tokens: usage.cache_write,
        micro_usd: 0,
    }
}

/// Dollars as whole millionths; what is no amount counts as nothing.
fn micro_usd(usd: f64) -> u64 {
    let micro = (usd * 1e6).round();
    if micro.is_finite() && micro >= 0.0 { format!("{micro:.0}").parse().unwrap_or(u64::MAX) } else { 0 }
}
