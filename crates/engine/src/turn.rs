//! What follows when an agent wants to end its turn.
//!
//! [`end`] decides without asking anything of the world. Where the decision hangs on an event (a promise, a
//! turn that counts) it says which; the caller offers that event to the run and hands the answer to
//! [`asked`]. At most two events are asked for one turn.
//!
//! ```text
//! end ──> Allow | Block | Ask ──> asked ──> Allow | Block | Ask(turn_finished) ──> asked ──> Allow | Block
//! ```

use serde_json::{Map, Value};

use crate::{
    Actor, Event, Refused, Run, Standing, Time, Workflow, keys,
    view::{self, reanchor},
    workflow::{Activity, Tick},
};

/// What a tick says of a turn that has brought the run into its phase: it is no iteration of that phase.
pub(crate) const MOVED: &str = "moved";

/// How often a turn is kept going in a row without a tool call. Claude Code overrules the ninth block and does
/// not tell; a stop that is allowed before that is on record and says so.
const MOST_BLOCKS: u32 = 7;

/// How an agent's turn ended.
#[derive(Clone, Debug)]
pub struct TurnEnd<'a> {
    /// The last text that the agent wrote.
    pub last_message: &'a str,
    /// Whether the turn goes on only because it was blocked before. Where that is false the count of blocks
    /// starts again; a caller that is not told says true.
    pub stop_hook_active: bool,
    pub background_tasks: usize,
    /// Whether this is the session that the run belongs to.
    pub session_is_owner: bool,
    /// How often the turn was blocked in a row, with no tool call in between.
    pub blocks: u32,
    pub now: Time,
}

/// What to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnDecision {
    /// The turn may end; a word for the person who watches.
    Allow { note: Option<String> },
    /// The turn goes on; this is what the agent is told.
    Block { reason: String },
    /// This event has to be offered first; [`asked`] decides by the answer.
    Ask(Box<TurnAsk>),
}

/// An event that a turn's end stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnAsk {
    pub event: Event,
    pub data: Map<String, Value>,
    /// In whose name.
    pub actor: Actor,
    /// What the agent is told first, if its turn goes on.
    pub words: Option<String>,
}

/// Decides whether a turn may end.
pub fn end(workflow: &Workflow, run: &Run, turn: &TurnEnd<'_>) -> TurnDecision {
    // Another session's run is none of this one's business, and a turn with work under way comes back.
    if !turn.session_is_owner || turn.background_tasks > 0 {
        return TurnDecision::Allow { note: None };
    }
    if let Some(note) = rest(run) {
        return TurnDecision::Allow { note: Some(note) };
    }
    let Some((close, tick)) = workflow.close_event.as_ref().zip(workflow.turns(&run.phase)) else {
        return end_by_hand(workflow, run, turn);
    };
    match promised(workflow, run, turn.last_message) {
        Promised::Kept => TurnDecision::Ask(Box::new(TurnAsk {
            event: Event::Named(close.clone()),
            data: Map::new(),
            actor: Actor::Agent,
            words: None,
        })),
        Promised::Not(words) => count(run, tick, turn, Some(words)),
        Promised::Nothing => count(run, tick, turn, None),
    }
}

/// Tells whether the end of a turn is a time to wait for a person: the run asks one, and what they decide may keep the turn
/// going.
pub fn waits(workflow: &Workflow, run: &Run, turn: &TurnEnd<'_>) -> bool {
    let is_mine = turn.session_is_owner && !run.owner.is_driver() && turn.background_tasks == 0;
    is_mine && !is_wedged(turn) && view::asked(workflow, run).is_some()
}

/// What a message promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Promised {
    /// That all is done, where that may be said.
    Kept,
    /// The same where or how it does not count; this is what the agent is told.
    Not(String),
    Nothing,
}

/// Reads the promise in an agent's message.
pub fn promised(workflow: &Workflow, run: &Run, message: &str) -> Promised {
    let promise = run.settings.get(keys::COMPLETION_PROMISE);
    match told(message, promise) {
        Told::Promise if workflow.is_final(&run.phase) => Promised::Kept,
        Told::Promise => {
            let finals: Vec<&str> = workflow.finals.iter().map(|phase| phase.as_str()).collect();
            Promised::Not(format!(
                "The promise counts only in `{}`, with all receipts and the pull request; the loop is in `{}`.",
                finals.join(" or "),
                run.phase
            ))
        }
        Told::Bare => Promised::Not(format!(
            "`{promise}` without tags is no promise; it counts only as <promise>{promise}</promise>."
        )),
        Told::Nothing => Promised::Nothing,
    }
}

/// Decides by what became of the event that [`end`] named: `run` as it then stands, and why it was refused.
pub fn asked(
    workflow: &Workflow,
    run: &Run,
    ask: &TurnAsk,
    refused: Option<&Refused>,
    turn: &TurnEnd<'_>,
) -> TurnDecision {
    if let Some(note) = rest(run) {
        return TurnDecision::Allow { note: Some(note) };
    }
    if let Some(tick) = workflow.turns(&run.phase).filter(|tick| tick.event != ask.event.name()) {
        let problem = refused.map(|refused| format!("The promise is not kept yet: {refused}."));
        return count(run, tick, turn, problem);
    }
    let anchor = reanchor(workflow, run, turn.now);
    let refused = refused.map(|refused| format!("The turn was not counted: {refused}."));
    let parts: Vec<String> = ask.words.iter().cloned().chain(refused).chain([anchor]).collect();
    TurnDecision::Block { reason: parts.join("\n\n") }
}

/// Says what a run that does not go on by itself waits for.
fn rest(run: &Run) -> Option<String> {
    match &run.standing {
        Standing::Active => None,
        Standing::Parked { decision } => Some(format!(
            "Run {} waits for a person: {} ({})",
            run.id,
            decision.question,
            view::Asked::from(decision).inline_commands()
        )),
        Standing::Suspended { wait } => Some(format!("Run {} waits: {wait}", run.id)),
        Standing::Stopped => {
            Some(format!("Run {} is stopped in `{}`; `warp state resume` resumes it", run.id, run.phase))
        }
        Standing::Ended { how } => Some(format!("Run {} is over ({how})", run.id)),
    }
}

/// Counts the turn, unless the turn was kept going too often.
fn count(run: &Run, tick: &Tick, turn: &TurnEnd<'_>, words: Option<String>) -> TurnDecision {
    if is_wedged(turn) {
        return let_go(run);
    }
    let moved = run.facts.moved_by_agent.then(|| (MOVED.to_owned(), Value::from(true)));
    TurnDecision::Ask(Box::new(TurnAsk {
        event: Event::Named(tick.event.clone()),
        data: moved.into_iter().collect(),
        actor: Actor::Engine,
        words,
    }))
}

fn is_wedged(turn: &TurnEnd<'_>) -> bool {
    turn.stop_hook_active && turn.blocks >= MOST_BLOCKS
}

fn let_go(run: &Run) -> TurnDecision {
    let note = format!(
        "The turn was kept going {MOST_BLOCKS} times without a tool call and may end now. Run {} stays in `{}` and resumes with the next prompt",
        run.id, run.phase
    );
    TurnDecision::Allow { note: Some(note) }
}

/// A run that turns do not drive: only a report that is due keeps the turn going.
fn end_by_hand(workflow: &Workflow, run: &Run, turn: &TurnEnd<'_>) -> TurnDecision {
    let activity = workflow.phase(&run.phase).map(|phase| phase.activity);
    let is_persons = activity == Some(Activity::Person);
    if run.committed && !run.report_filed && !run.aborted && !is_persons {
        if is_wedged(turn) {
            return let_go(run);
        }
        let events: Vec<&str> = workflow.rows(&run.phase).iter().map(|row| row.event.as_str()).collect();
        let reason = format!(
            "The chunk report is missing: chunk {} of {} is committed and its report is not filed. File the chunk report first: `warp next` does it and tells what comes then. The run is in `{}`; possible: {}.",
            run.chunk.index,
            run.chunk.acs.len(),
            run.phase,
            events.join(", ")
        );
        return TurnDecision::Block { reason };
    }
    let note = format!(
        "Run {} of {} is in `{}`. Consider running session end protocol before stopping: `/stop-warp-drive` saves the work and files a report. The next session resumes the run otherwise",
        run.id, run.workflow, run.phase
    );
    TurnDecision::Allow { note: Some(note) }
}

/// What a last message says about the end of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The promise, in its tags.
    Promise,
    /// The promise's text, without tags.
    Bare,
    Nothing,
}

fn told(message: &str, promise: &str) -> Told {
    let promise = collapse(promise);
    if in_tags(message).is_some_and(|text| collapse(text) == promise) {
        return Told::Promise;
    }
    let last = message.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if collapse(message) == promise || collapse(last) == promise { Told::Bare } else { Told::Nothing }
}

/// Returns what the last pair of promise tags holds.
fn in_tags(message: &str) -> Option<&str> {
    let (before, _) = message.rsplit_once("</promise>")?;
    before.rsplit_once("<promise>").map(|(_, text)| text)
}

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
