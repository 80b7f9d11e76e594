//! Agents that warp itself starts: their turns, their questions, and what people say to them.

use serde_json::json;

use super::{Refused, Step, acts, draft::Draft, measure};
use crate::{
    Actor, AgentTurn, Ask, Baseline, COMMIT_GUARD, Change, Conversation, Decision, DeferredChunk, DevKind,
    DevSeen, Effect, EventName, Finding, Held, Run, Severity, Standing, Time, Usage, Worker, Workflow, keys,
    workflow::Activity,
};

/// The answers that every question has beside its own, where they mean something.
pub(super) const SKIP: &str = Decision::SKIP;
pub(super) const ABORT: &str = Decision::ABORT;
pub(super) const STOP: &str = Decision::STOP;

/// The kind of the question whether a plan is right.
const PLAN: &str = "plan";
/// The kind of the question about a provider that serves nobody: about a login, a balance or an outage, not about the work.
pub const PROVIDER: &str = "provider";
/// Kinds of questions about tests that cannot run, fail before anything was changed, or cannot fail.
const ABOUT_TESTS: [&str; 3] = ["environment", "baseline", "proof"];

/// The most that is kept of what somebody says.
pub(super) const LONGEST_SAID: usize = 4000;
/// The longest option, and how many a question may have.
const LONGEST_OPTION: usize = 60;
const MOST_OPTIONS: usize = 8;
/// The most findings of the commit guard that one question is about.
const MOST_HELD: usize = crate::run::ENTRIES_KEPT;
/// The most that is kept of a file's name.
const LONGEST_FILE: usize = 500;
/// The longest name of an agent or of its session.
const LONGEST_NAME: usize = 200;
/// The most parts of a brief that are remembered.
const MOST_PARTS: usize = 40;

/// Starts a turn: a try of the phase's effect. An earlier one that never ended is replaced.
pub(super) fn started(workflow: &Workflow, run: &Run, ask: &Ask, worker: &Worker) -> Result<Step, Refused> {
    super::check_standing(run, &ask.event.name())?;
    let nothing = || Refused::NotNow {
        event: ask.event.name(),
        why: format!("nothing is to be done in `{}`", run.phase),
    };
    let effect = run.effect.as_ref().ok_or_else(nothing)?;
    let again = run.turn.as_ref().is_some_and(|turn| turn.effect == effect.id);
    let attempt = if again { effect.attempt.saturating_add(1) } else { effect.attempt };
    let name = |name: &String| cut(name, LONGEST_NAME);
    let worker = Worker {
        agent: name(&worker.agent),
        model: worker.model.as_ref().map(name),
        head: worker.head.as_ref().map(name),
        base: worker.base.as_ref().map(name),
    };
    let mut ask = ask.clone();
    ask.data.insert("agent".to_owned(), json!(worker.agent));
    if let Some(model) = &worker.model {
        ask.data.insert("model".to_owned(), json!(model));
    }
    ask.data.insert("attempt".to_owned(), json!(attempt));
    let mut draft = Draft::new(workflow, run, &ask);
    let effect = Effect { attempt, ..effect.clone() };
    let turn = AgentTurn { worker, effect: effect.id.clone(), attempt, told: run.told.len(), is_over: false };
    draft.change(Change::EffectSet { effect: Some(effect) });
    draft.change(Change::TurnSet { turn });
    Ok(draft.finish())
}

/// Records the id of a conversation that the turn under way has begun, so that it can be resumed if warp is killed.
pub(super) fn begun(workflow: &Workflow, run: &Run, ask: &Ask, session: &str) -> Result<Step, Refused> {
    let turn = under_way(run, ask)?;
    let conversation = conversation(workflow, run, ask, (turn, session));
    let mut draft = Draft::new(workflow, run, ask);
    draft.change(Change::ConversationSet { conversation: Some(conversation) });
    Ok(draft.finish())
}

fn under_way<'a>(run: &'a Run, ask: &Ask) -> Result<&'a AgentTurn, Refused> {
    run.turn.as_ref().filter(|turn| !turn.is_over).ok_or_else(|| Refused::NotNow {
        event: ask.event.name(),
        why: "no turn of an agent is under way".to_owned(),
    })
}

/// Describes the conversation of a turn, as nothing was said in it yet.
fn conversation(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    (turn, session): (&AgentTurn, &str),
) -> Conversation {
    Conversation {
        worker: turn.worker.clone(),
        session: cut(session, LONGEST_NAME),
        issue: run.issue.clone(),
        role: workflow.phase(&run.phase).and_then(|phase| phase.role.as_deref()).map(str::to_owned),
        micro_usd: 0,
        phase: Some(run.phase.clone()),
        chunk: run.chunk.index,
        tokens: 0,
        used_at: Some(ask.at),
        brief: Vec::new(),
    }
}

/// How a turn ended.
pub(super) struct End<'a> {
    pub(super) how: &'a str,
    pub(super) session: Option<&'a str>,
    pub(super) brief: &'a [String],
    pub(super) usage: &'a Usage,
    pub(super) context: u64,
    pub(super) is_idle: bool,
}

/// Ends the turn that is under way.
pub(super) fn ended(workflow: &Workflow, run: &Run, ask: &Ask, end: &End<'_>) -> Result<Step, Refused> {
    let turn = under_way(run, ask)?;
    let mut ask = ask.clone();
    ask.data.insert("how".to_owned(), json!(cut(end.how, LONGEST_SAID)));
    ask.data.insert("usage".to_owned(), json!(end.usage));
    let mut draft = Draft::new(workflow, run, &ask);
    draft.change(Change::TurnSet { turn: AgentTurn { is_over: true, ..turn.clone() } });
    if turn.told > 0 {
        draft.change(Change::Heard { count: turn.told });
    }
    if let Some(session) = end.session {
        let new = conversation(workflow, run, &ask, (turn, session));
        let before = run.conversations().find(|before| before.session == new.session);
        let (spent, held) = before.map_or((0, 0), |before| (before.micro_usd, before.tokens));
        let conversation = Conversation {
            micro_usd: spent.saturating_add(end.usage.micro_usd),
            // A turn that was cut short may not say.
            tokens: if end.context == 0 { held } else { end.context },
            brief: end.brief.iter().take(MOST_PARTS).map(|part| cut(part, LONGEST_NAME)).collect(),
            ..new
        };
        if run.conversation.as_ref() != Some(&conversation) {
            draft.change(Change::ConversationSet { conversation: Some(conversation) });
        }
    }
    if !end.usage.is_zero() {
        draft.change(Change::Used { usage: *end.usage });
    }
    let idle = if end.is_idle { run.idle_turns.saturating_add(1) } else { 0 };
    if idle != run.idle_turns {
        draft.change(Change::IdleTurnsSet { count: idle });
    }
    Ok(draft.finish())
}

/// Keeps what a person says until the next turn.
pub(super) fn told(workflow: &Workflow, run: &Run, ask: &Ask, text: &str) -> Result<Step, Refused> {
    let text = cut(text.trim(), LONGEST_SAID);
    if text.is_empty() {
        return Err(Refused::data("text", "must say something"));
    }
    let mut ask = ask.clone();
    ask.data.insert("text".to_owned(), json!(text));
    let mut draft = Draft::new(workflow, run, &ask);
    draft.change(Change::Told { text });
    Ok(draft.finish())
}

/// Keeps what was found in the work.
pub(super) fn found(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    (severity, file, line, text): (Severity, Option<&str>, Option<u64>, &str),
) -> Result<Step, Refused> {
    let text = cut(text.trim(), LONGEST_SAID);
    if text.is_empty() {
        return Err(Refused::data("text", "must say what was found"));
    }
    let file = file.map(|file| cut(file.trim(), LONGEST_FILE)).filter(|file| !file.is_empty());
    let line = line.filter(|line| *line > 0 && file.is_some());
    let finding = Finding { severity, file, line, text, phase: run.phase.clone(), at: ask.at };
    let mut ask = ask.clone();
    ask.data.insert("finding".to_owned(), json!(finding.to_string()));
    let mut draft = Draft::new(workflow, run, &ask);
    draft.change(Change::FindingReported { finding });
    Ok(draft.finish())
}

/// Keeps what was seen of the dev environment last.
pub(super) fn dev_seen(workflow: &Workflow, run: &Run, ask: &Ask, kind: DevKind, text: &str) -> Step {
    let text = cut(text.trim(), LONGEST_SAID);
    let mut ask = ask.clone();
    ask.data.insert("text".to_owned(), json!(text));
    let mut draft = Draft::new(workflow, run, &ask);
    draft.change(Change::DevSet { dev: DevSeen { kind, text, at: ask.at } });
    draft.finish()
}

/// Keeps how the project's tests ended before an agent changed anything.
pub(super) fn baseline_taken(workflow: &Workflow, run: &Run, ask: &Ask, baseline: &Baseline) -> Step {
    let baseline = Box::new(baseline.clone().bounded());
    let mut ask = ask.clone();
    ask.data.insert("baseline".to_owned(), json!(baseline));
    ask.data.insert("text".to_owned(), json!(baseline.to_string()));
    let mut draft = Draft::new(workflow, run, &ask);
    draft.change(Change::BaselineSet { baseline });
    // How long the tests take is not how long the phase's own work takes.
    draft.change(Change::PhaseClockSet { at: ask.at });
    draft.finish()
}

/// Parks the run on a question, until the time for decisions is over.
pub(super) fn asked(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    question: (&str, &str, &[String]),
) -> Result<Step, Refused> {
    Ok(ask_person(workflow, run, ask, question)?.finish())
}

/// Drafts a step that parks the run on a question: what it is about, its words and its own options.
pub(super) fn ask_person<'a>(
    workflow: &'a Workflow,
    run: &Run,
    ask: &Ask,
    (kind, question, options): (&str, &str, &[String]),
) -> Result<Draft<'a>, Refused> {
    super::check_standing(run, &ask.event.name())?;
    let question = cut(question.trim(), LONGEST_SAID);
    if question.is_empty() {
        return Err(Refused::data("question", "must ask something"));
    }
    let is_warps = [COMMIT_GUARD, PROVIDER].contains(&kind) || ABOUT_TESTS.contains(&kind);
    if is_warps && ask.actor == Actor::Agent {
        return Err(Refused::data("kind", format!("`{kind}` is for warp itself to ask about")));
    }
    let mut all: Vec<String> = Vec::new();
    let own = options.iter().map(|option| cut(option.trim(), LONGEST_OPTION));
    let waits = [PLAN, PROVIDER].contains(&kind) || ABOUT_TESTS.contains(&kind);
    let defers = defers(workflow, run, kind) && !waits;
    // Both end the run.
    let has_stop = options.iter().any(|option| option == STOP);
    let last = [defers.then_some(SKIP), (!has_stop).then_some(ABORT)];
    for option in own.take(MOST_OPTIONS).chain(last.into_iter().flatten().map(str::to_owned)) {
        if !option.is_empty() && !all.contains(&option) {
            all.push(option);
        }
    }
    let mut ask = ask.clone();
    ask.data.insert("kind".to_owned(), json!(kind));
    ask.data.insert("question".to_owned(), json!(question));
    ask.data.insert("decision".to_owned(), json!(format!("{}.{}", run.id, run.events)));
    let minutes = run.settings.get(keys::DECISION_TIMEOUT_MINUTES);
    let deadline = defers.then(|| ask.at.plus_minutes(minutes));
    let held = held(&ask, kind)?;
    let mut draft = Draft::new(workflow, run, &ask);
    if held != run.held {
        draft.change(Change::HeldRaised { held });
    }
    draft.park_until(kind, question, all, deadline);
    Ok(draft)
}

/// Tells whether work can be put off here: in a phase that is an agent's, or if the commit guard holds it. What warp does
/// itself can only wait, and so does a plan that a person wants to see.
fn defers(workflow: &Workflow, run: &Run, kind: &str) -> bool {
    let is_agents = workflow.phase(&run.phase).is_some_and(|phase| phase.activity == Activity::Agent);
    let is_held = kind == COMMIT_GUARD && run.chunk.index > 0;
    workflow.deferral.is_some() && (is_agents || is_held)
}

/// Reads `held`: what the commit guard asks about.
fn held(ask: &Ask, kind: &str) -> Result<Vec<Held>, Refused> {
    match ask.data.get("held").filter(|_| kind == COMMIT_GUARD) {
        Some(held) => serde_json::from_value::<Vec<Held>>(held.clone())
            .ok()
            .filter(|held| held.len() <= MOST_HELD)
            .ok_or_else(|| Refused::data("held", format!("must be a list of at most {MOST_HELD} findings"))),
        None => Ok(Vec::new()),
    }
}

/// Puts the current chunk off after its question was not answered in time.
pub(super) fn deferred(workflow: &Workflow, run: &Run, ask: &Ask, why: &str) -> Result<Step, Refused> {
    let not_now = |why: &str| Refused::NotNow { event: ask.event.name(), why: why.to_owned() };
    let Standing::Parked { decision } = &run.standing else {
        return Err(not_now("no question is open"));
    };
    let deadline = decision.deadline.ok_or_else(|| not_now("the question waits for as long as it takes"))?;
    if ask.at < deadline {
        return Err(not_now(&format!("the question can be answered until {deadline}")));
    }
    if workflow.deferral.is_none() {
        return Err(not_now("this workflow puts nothing off"));
    }
    let mut ask = ask.clone();
    ask.data.insert("why".to_owned(), json!(cut(why, LONGEST_SAID)));
    let mut draft = Draft::new(workflow, run, &ask);
    draft.change(Change::StandingSet { standing: Standing::Active });
    defer(&mut draft, &ask, why);
    Ok(draft.finish())
}

/// Leaves the current chunk as it is and goes on with the next, or with what there is.
pub(super) fn defer(draft: &mut Draft<'_>, ask: &Ask, why: &str) {
    let workflow = draft.workflow;
    let Some(deferral) = &workflow.deferral else { return };
    let chunk = DeferredChunk {
        index: draft.run.chunk.index,
        acs: draft.run.current_criteria().to_vec(),
        why: cut(why, LONGEST_SAID),
        at: draft.at,
    };
    draft.change(Change::ChunkDeferred { chunk });
    let next = draft.run.chunk.index.saturating_add(1);
    let to = if draft.run.chunk.index > 0 && next <= draft.run.chunk.acs.len() as u64 {
        measure::chunk(draft);
        acts::take_chunk(draft, next, ask);
        acts::reset_chunk_counters(draft);
        &deferral.next
    } else if draft.run.completed_chunks.is_empty() {
        &deferral.none
    } else {
        &deferral.done
    };
    draft.enter(to, None);
}

/// Returns the row that an answer stands for, in a phase that is a person's.
pub(super) fn answered_row(workflow: &Workflow, run: &Run, id: &str, option: &str) -> Option<EventName> {
    let asked = crate::view::asked(workflow, run)?;
    if asked.id != id || run.standing != Standing::Active {
        return None;
    }
    let row = workflow.rows(&run.phase).iter().find(|row| row.answer.as_deref() == Some(option))?;
    Some(row.event.clone())
}

pub(super) fn cut(text: &str, most: usize) -> String {
    text.chars().filter(|c| !c.is_control() || *c == '\n' || *c == '\t').take(most).collect()
}

impl Run {
    /// Returns when the open question is too late to answer, where somebody acts on that.
    pub fn question_deadline(&self) -> Option<Time> {
        match &self.standing {
            Standing::Parked { decision } => decision.deadline,
            Standing::Active | Standing::Suspended { .. } | Standing::Stopped | Standing::Ended { .. } => {
                None
            }
        }
    }

    /// Tells whether the run came to its present phase because a chunk was put off: what that one left is still there.
    pub fn comes_from_deferral(&self) -> bool {
        let last = self.history.last().and_then(|row| row.event.as_ref());
        let by = |event: &EventName| ["chunk_deferred", "decision_answered"].contains(&event.as_str());
        !self.deferred.is_empty() && last.is_some_and(by)
    }
}
