//! Events that are not rows: ticks, deadlines, decisions, stops, and what observers report.

use serde_json::{Value, json};

use super::{
    Advice, Refused, Step, acceptance, acts, budgets, criteria, draft::Draft, overrule, promise, receipts,
    take_row, turns, waits,
};
use crate::{
    Actor, Ask, Breach, COMMIT_GUARD, Change, Decision, DoomLoop, Effect, Event, Run, Standing, Workflow,
    keys, turn,
    workflow::{Budget, DeadlineOutcome, Job, Question, Tick},
};

/// The most that is kept of a file's name.
const LONGEST_FILE: usize = 500;
/// The answers to a question.
pub(super) const APPROVE: &str = "approve";
pub(super) const REJECT: &str = "reject";

/// The most that is kept of what was said about a broken rail.
const LONGEST_WHAT: usize = 4000;
/// The most of it that a question repeats.
const LONGEST_ASKED: usize = 500;
/// The reason of a decision about a broken rail, and the answer by which a person takes it on themselves.
const RAIL_BROKEN: &str = "rail_broken";
const MINE: &str = "mine";

/// Counts, and follows what a used-up budget asks for. A turn that was spent on the phase before counts for the whole run,
/// but not for the phase that it has led to.
pub(super) fn tick(workflow: &Workflow, run: &Run, ask: &Ask, tick: &Tick) -> Step {
    let mut draft = Draft::new(workflow, run, ask);
    let moved = ask.data.get(turn::MOVED) == Some(&Value::Bool(true));
    let is_counted = |counter: &&String| !(moved && workflow.phase_counters.contains(counter));
    for counter in tick.raises.iter().filter(is_counted) {
        draft.raise(counter);
    }
    budgets::follow(&mut draft);
    draft.finish()
}

/// Asks a person to look at what the phase has made; with the setting on, it is approved as it is.
pub(super) fn question(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    question: &Question,
) -> Result<Step, Refused> {
    acts::artifacts(run, ask)?;
    acts::checkpoint(run, &ask.data, ask.at)?;
    let advice = receipts::check(workflow, run, ask)?;
    let mut draft = Draft::new(workflow, run, ask);
    draft.advise_all(advice);
    acts::show(&mut draft, ask);
    if question.unless.is_some_and(|setting| run.settings.get(setting)) {
        approve(&mut draft, question);
    } else {
        let shown = draft.run.receipt(&question.phase).and_then(|receipt| receipt.artifact.as_deref());
        let text = match shown {
            Some(artifact) => format!("{} ({artifact})", question.text),
            None => question.text.to_string(),
        };
        draft.park(question.event.as_str(), text, &[APPROVE, REJECT, "stop"]);
    }
    Ok(draft.finish())
}

fn approve(draft: &mut Draft<'_>, question: &Question) {
    let workflow = draft.workflow;
    if let Some(row) = workflow.row(&question.phase, question.approves.as_str()) {
        let has_receipt = receipts::is_recorded(&draft.run);
        budgets::take(draft, row);
        if row.completes_phase() && !has_receipt {
            receipts::record_followed(draft, &question.phase, question.event.as_str(), false);
        }
        budgets::follow(draft);
    }
}

/// Takes an event of the engine's own.
pub(super) fn note(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Step, Refused> {
    let event = &ask.event;
    if ask.actor == Actor::Agent && is_a_persons(event) {
        return Err(Refused::NeedsPerson { phase: run.phase.clone(), event: event.name() });
    }
    let mut ask = ask.clone();
    match event {
        Event::Named(name) => Err(Refused::not_possible(workflow, run, name)),
        Event::FileEdited { file } => {
            let file: String = file.chars().take(LONGEST_FILE).collect();
            ask.data.insert("file".to_owned(), json!(file));
            let mut draft = Draft::new(workflow, run, &ask);
            count_edit(&mut draft, file);
            Ok(draft.finish())
        }
        Event::EditsCounted { files, tally, lines } => {
            let mut draft = Draft::new(workflow, run, &ask);
            for file in files {
                count_edit(&mut draft, file.chars().take(LONGEST_FILE).collect());
            }
            draft.change(Change::TallyTaken { tally: tally.clone(), lines: *lines });
            Ok(draft.finish())
        }
        Event::DeadlinePassed => deadline_passed(workflow, run, &ask),
        Event::AttemptStarted { effect } => {
            ask.data.insert("effect".to_owned(), json!(effect));
            attempt_started(workflow, run, &ask, effect)
        }
        Event::DecisionAnswered { decision, option } => {
            // An option may be given by its number; what is recorded is its text.
            let asked = crate::view::asked(workflow, run).filter(|asked| asked.id == *decision);
            let option = asked.as_ref().and_then(|asked| asked.option(option)).unwrap_or(option);
            ask.data.insert("decision".to_owned(), json!(decision));
            ask.data.insert("option".to_owned(), json!(option));
            decision_answered(workflow, run, &ask, decision, option)
        }
        Event::QuestionAsked { kind, question, options } => {
            turns::asked(workflow, run, &ask, (kind, question, options))
        }
        Event::RefusalRaised { refused } => overrule::raised(workflow, run, &ask, refused),
        Event::ChunkDeferred { why } => turns::deferred(workflow, run, &ask, why),
        Event::CriteriaUnconfirmed => criteria::unconfirmed(workflow, run, &ask),
        Event::ChecksAwaited { commit } => {
            ask.data.insert("commit".to_owned(), json!(commit));
            checks_awaited(workflow, run, &ask)
        }
        Event::Told { text } => turns::told(workflow, run, &ask, text),
        Event::FindingReported { severity, file, line, text } => {
            turns::found(workflow, run, &ask, (*severity, file.as_deref(), *line, text))
        }
        Event::DevSeen { kind, text } => Ok(turns::dev_seen(workflow, run, &ask, *kind, text)),
        Event::BaselineTaken { baseline } => Ok(turns::baseline_taken(workflow, run, &ask, baseline)),
        Event::TurnStarted { worker } => turns::started(workflow, run, &ask, worker),
        Event::ConversationBegun { session } => turns::begun(workflow, run, &ask, session),
        Event::TurnEnded { how, session, brief, usage, context, is_idle } => {
            let session = session.as_deref();
            let end = turns::End { how, session, brief, usage, context: *context, is_idle: *is_idle };
            turns::ended(workflow, run, &ask, &end)
        }
        Event::Suspended { kind, why, until } => waits::suspended(workflow, run, &ask, (*kind, why, *until)),
        Event::WaitOver => match &run.standing {
            Standing::Suspended { wait } => Ok(waits::over(workflow, run, &ask, wait)),
            Standing::Parked { decision }
                if decision.reason == turns::PROVIDER && ask.actor == Actor::Engine =>
            {
                Ok(waits::served_again(workflow, run, &ask, decision))
            }
            Standing::Active | Standing::Parked { .. } | Standing::Stopped | Standing::Ended { .. } => {
                Err(not_now(&ask, "the run waits for nothing that ends by itself"))
            }
        },
        Event::CapReached { capped } => waits::cap_reached(workflow, run, &ask, capped),
        Event::StopRequested => stop(workflow, run, &ask),
        Event::Resumed => match &run.standing {
            Standing::Stopped => Ok(stand(workflow, run, &ask, Standing::Active)),
            Standing::Suspended { wait } => Ok(waits::over(workflow, run, &ask, wait)),
            Standing::Active => Err(not_now(&ask, "the run is not stopped")),
            Standing::Parked { decision } => {
                Err(Refused::Parked { event: ask.event.name(), decision: Box::new(decision.clone()) })
            }
            Standing::Ended { how } => Err(Refused::Ended { event: ask.event.name(), how: how.clone() }),
        },
        Event::ResetRequested => Ok(stand(workflow, run, &ask, Standing::Ended { how: "reset".to_owned() })),
        Event::StateFileSetAside { file, kept_as } => {
            ask.data.insert("file".to_owned(), json!(file));
            ask.data.insert("kept_as".to_owned(), json!(kept_as));
            Ok(Draft::new(workflow, run, &ask).finish())
        }
        Event::OwnerChanged { owner } => {
            ask.data.insert("pid".to_owned(), json!(owner.pid));
            let mut draft = Draft::new(workflow, run, &ask);
            draft.change(Change::OwnerSet { owner: owner.clone() });
            Ok(draft.finish())
        }
        Event::RailBroken { what, kept, breach } => {
            let what: String = what.chars().take(LONGEST_WHAT).collect();
            ask.data.insert("what".to_owned(), json!(what));
            if let Some(kept) = kept {
                let kept: String = kept.chars().take(LONGEST_WHAT).collect();
                ask.data.insert("kept".to_owned(), json!(kept));
            }
            ask.data.insert("restored".to_owned(), json!(*breach == Breach::Undone));
            Ok(rail_broken(workflow, run, &ask, &what, *breach))
        }
    }
}

/// Tells which events of the engine's own are a person's word.
fn is_a_persons(event: &Event) -> bool {
    match event {
        Event::DecisionAnswered { .. }
        | Event::StopRequested
        | Event::Resumed
        | Event::ResetRequested
        | Event::Told { .. } => true,
        Event::Named(_)
        | Event::FileEdited { .. }
        | Event::EditsCounted { .. }
        | Event::DeadlinePassed
        | Event::AttemptStarted { .. }
        | Event::StateFileSetAside { .. }
        | Event::OwnerChanged { .. }
        | Event::QuestionAsked { .. }
        | Event::RefusalRaised { .. }
        | Event::ChunkDeferred { .. }
        | Event::CriteriaUnconfirmed
        | Event::ChecksAwaited { .. }
        | Event::FindingReported { .. }
        | Event::DevSeen { .. }
        | Event::BaselineTaken { .. }
        | Event::TurnStarted { .. }
        | Event::ConversationBegun { .. }
        | Event::TurnEnded { .. }
        | Event::Suspended { .. }
        | Event::WaitOver
        | Event::CapReached { .. }
        | Event::RailBroken { .. } => false,
    }
}

fn not_now(ask: &Ask, why: impl Into<String>) -> Refused {
    Refused::NotNow { event: ask.event.name(), why: why.into() }
}

fn stand(workflow: &Workflow, run: &Run, ask: &Ask, standing: Standing) -> Step {
    let mut draft = Draft::new(workflow, run, ask);
    draft.change(Change::StandingSet { standing });
    draft.finish()
}

/// Notes that something moved without permission. Where it could not be put back, the run waits until a person has looked.
///
/// In a person's checkout it may have been that person, by a git without hooks: so they are asked.
fn rail_broken(workflow: &Workflow, run: &Run, ask: &Ask, what: &str, breach: Breach) -> Step {
    let mut draft = Draft::new(workflow, run, ask);
    let can_be_asked = match &run.standing {
        _ if breach == Breach::Undone => return draft.finish(),
        Standing::Active | Standing::Suspended { .. } => true,
        // A run has one question at a time; the other one comes back by itself.
        Standing::Parked { decision } => decision.reason == RAIL_BROKEN,
        Standing::Stopped | Standing::Ended { .. } => return draft.finish(),
    };
    if can_be_asked && breach == Breach::Doubtful {
        let what: String = what.chars().take(LONGEST_ASKED).collect();
        let question = format!("{what}, and nobody gave permission: was it you?");
        draft.park(RAIL_BROKEN, question, &[MINE, "stop"]);
    } else {
        draft.change(Change::StandingSet { standing: Standing::Stopped });
    }
    draft.finish()
}

/// Warns of a file that was edited too often in one phase.
pub fn doom_loop(file: &str, count: u64, phase: &str, limit: u64) -> String {
    format!(
        "doom loop: `{file}` was edited {count} times in `{phase}` (the threshold is {limit}); another approach may be needed"
    )
}

fn count_edit(draft: &mut Draft<'_>, file: String) {
    let limit = draft.run.settings.get(keys::MAX_EDITS_PER_FILE);
    let count = draft.run.edit_counts.get(&file).copied().unwrap_or(0).saturating_add(1);
    draft.change(Change::FileEdited { file: file.clone(), count });
    if count > limit {
        let phase = draft.run.phase.clone();
        draft.advise(doom_loop(&file, count, phase.as_str(), limit));
        let doom_loop = DoomLoop { file, count, phase, at: draft.at };
        draft.change(Change::DoomLoopSeen { doom_loop });
    }
}

fn deadline_passed(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Step, Refused> {
    super::check_standing(run, &ask.event.name())?;
    let deadline = workflow.phase(&run.phase).and_then(|phase| phase.deadline.as_ref());
    let deadline = deadline.ok_or_else(|| not_now(ask, format!("`{}` has no deadline", run.phase)))?;
    let minutes = deadline.minutes.value(&run.settings);
    let due = run.phase_started_at.plus_minutes(minutes);
    if ask.at <= due {
        return Err(not_now(ask, format!("the deadline of `{}` is {due}", run.phase)));
    }
    let mut draft = Draft::new(workflow, run, ask);
    match &deadline.outcome {
        DeadlineOutcome::Event(event) => {
            if let Some(row) = workflow.row(&run.phase, event.as_str()) {
                budgets::take(&mut draft, row);
                budgets::follow(&mut draft);
            }
        }
        DeadlineOutcome::Budget(reason) => {
            let tripped = workflow.budgets.iter().filter(|budget| {
                budget.reason == *reason && budgets::is_tripped(budget, &draft.run, draft.at)
            });
            let phase = workflow.phase(&run.phase).expect("the deadline was found there");
            let does =
                |budget: &Budget| budget.timeout(phase, |outcome| outcome.is_on(&run.settings)).cloned();
            let tripped = tripped.filter_map(|budget| Some((budget, does(budget)?))).collect();
            if let budgets::Enforced::Redirected = budgets::enforce(&mut draft, tripped) {
                budgets::follow(&mut draft);
            }
        }
        DeadlineOutcome::Park => {
            let question =
                format!("`{}` has waited longer than {minutes} minutes. Continue waiting?", run.phase);
            draft.park("deadline", question, &["continue", "stop"]);
        }
    }
    Ok(draft.finish())
}

fn attempt_started(workflow: &Workflow, run: &Run, ask: &Ask, id: &str) -> Result<Step, Refused> {
    super::check_standing(run, &ask.event.name())?;
    let Some(current) = run.effect.as_ref().filter(|effect| effect.id == id) else {
        return Err(not_now(ask, format!("`{id}` is not under way")));
    };
    let next = Effect { attempt: current.attempt.saturating_add(1), ..current.clone() };
    let mut draft = Draft::new(workflow, run, ask);
    draft.change(Change::EffectSet { effect: Some(next) });
    let mut step = draft.finish();
    step.effects = step.run.effect.clone().into_iter().collect();
    Ok(step)
}

/// Notes that checks run elsewhere; only the job that waits for them says so.
fn checks_awaited(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Step, Refused> {
    super::check_standing(run, &ask.event.name())?;
    super::check_attempt(run, ask)?;
    let awaits = workflow.phase(&run.phase).is_some_and(|phase| phase.job == Some(Job::AwaitChecks));
    if ask.actor != Actor::Engine || !awaits {
        return Err(not_now(ask, format!("`{}` waits for no checks", run.phase)));
    }
    Ok(Draft::new(workflow, run, ask).finish())
}

fn decision_answered(
    workflow: &Workflow,
    run: &Run,
    ask: &Ask,
    id: &str,
    option: &str,
) -> Result<Step, Refused> {
    let Standing::Parked { decision } = &run.standing else {
        return answer_phase(workflow, run, ask, id, option);
    };
    if decision.id != id {
        return Err(not_now(ask, format!("decision `{id}` is not open; `{}` is", decision.id)));
    }
    if !decision.options.iter().any(|known| known == option) {
        return Err(Refused::data("option", format!("must be one of {}", decision.options.join(", "))));
    }
    if option == turns::STOP || option == turns::ABORT {
        return stop(workflow, run, ask);
    }
    if let Some(answered) = acceptance::answered(workflow, run, ask, decision, option) {
        return answered;
    }
    if let Some(refused) = overrule::accepted(run, decision, option) {
        return overrule::accept(workflow, run, ask, (decision, option), refused);
    }
    let mut draft = Draft::new(workflow, run, ask);
    if waits::is_waited_out(decision) {
        waits::hold_clocks(&mut draft, decision.asked_at);
    }
    if decision.capped.is_some() && option == Decision::TOMORROW {
        waits::wait_for_tomorrow(&mut draft);
        return Ok(draft.finish());
    }
    draft.change(Change::StandingSet { standing: Standing::Active });
    criteria::confirmed(&mut draft, ask, decision, option);
    if decision.reason == COMMIT_GUARD && option == promise::ACCEPT {
        draft.change(Change::HeldAccepted);
    }
    if option == turns::SKIP && decision.deadline.is_some() {
        let asked = decision.question.lines().next().unwrap_or_default();
        turns::defer(&mut draft, ask, &format!("skipped by a person: {asked}"));
        return Ok(draft.finish());
    }
    if [promise::FORCED, promise::UNPROVED].contains(&decision.reason.as_str()) && option == promise::ACCEPT {
        let how = workflow.close_event.as_ref().map_or(option, |event| event.as_str());
        promise::end(&mut draft, how);
        return Ok(draft.finish());
    }
    if let Some(question) = workflow.question(&run.phase, &decision.reason) {
        if option == APPROVE {
            approve(&mut draft, question);
            return Ok(draft.finish());
        }
        let why = acts::text(&ask.data, "note")?.unwrap_or_else(|| "no reason was given".to_owned());
        acts::add_error(&mut draft, format!("`{}` was rejected by a person: {why}", question.event));
    }
    draft.change(Change::PhaseClockSet { at: draft.at });
    budgets::renew(&mut draft, workflow, std::slice::from_ref(&decision.reason), &[]);
    Ok(draft.finish())
}

/// Takes the row that an answer stands for, in a phase that is a person's.
fn answer_phase(workflow: &Workflow, run: &Run, ask: &Ask, id: &str, option: &str) -> Result<Step, Refused> {
    if let Some(event) = turns::answered_row(workflow, run, id, option) {
        let mut named = ask.clone();
        named.event = Event::Named(event.clone());
        return take_row(workflow, run, &named, &event);
    }
    match crate::view::asked(workflow, run) {
        Some(asked) if asked.id == id => {
            Err(Refused::data("option", format!("must be one of {}", asked.options.join(", "))))
        }
        Some(_) | None => Err(not_now(ask, format!("decision `{id}` is not open"))),
    }
}

/// Stops a run: by its workflow's own event where it has one, else where it stands.
fn stop(workflow: &Workflow, run: &Run, ask: &Ask) -> Result<Step, Refused> {
    let event =
        workflow.stop_event.as_ref().filter(|event| workflow.row(&run.phase, event.as_str()).is_some());
    if let Some(event) = event {
        let mut named = ask.clone();
        named.event = Event::Named(event.clone());
        if run.standing == Standing::Active {
            return take_row(workflow, run, &named, event);
        }
        // A decision that is still open falls away with the stop.
        let mut freed = stand(workflow, run, ask, Standing::Active);
        let taken = take_row(workflow, &freed.run, &named, event)?;
        freed.records.extend(taken.records);
        return Ok(Step { records: freed.records, ..taken });
    }
    if workflow.stop_event.is_some() {
        let mut step = Draft::new(workflow, run, ask).finish();
        step.advice.push(Advice(format!("`{}` is already on its way to the end", run.phase)));
        return Ok(step);
    }
    match &run.standing {
        Standing::Stopped => Err(not_now(ask, "the run is already stopped")),
        Standing::Active | Standing::Parked { .. } | Standing::Suspended { .. } => {
            Ok(stand(workflow, run, ask, Standing::Stopped))
        }
        Standing::Ended { how } => Err(Refused::Ended { event: ask.event.name(), how: how.clone() }),
    }
}
