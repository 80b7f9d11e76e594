//! The turns of a reviewer: a fresh conversation for each part, in a sandbox in which the tree can only be read.

use std::{env, sync::Arc, time::Duration};

use adapters::{
    agent::{AgentUpdate, Extras, NoAnswer, Turn, TurnResult},
    process::{Control, Limits as TimeLimits},
    sandbox::Walls,
    secrets,
};
use engine::{Run, Settings, keys};
use project::{
    Place, Workspace,
    admission::{self, Limits, Seat},
    slots::Slot,
    spelled,
};
use review::{Answer, answer as wire};
use serde_json::Value;

use super::{
    ReviewError, ReviewOptions,
    prompt::{Asked, Facts, form},
};
use crate::{
    agents::{TRIES, shown, take_turn, tokens, used},
    answer::Form,
    brief::text::{self, Tries},
    crew::{Crew, Hand},
    interrupts::Interrupts,
    show::{Show, Shown},
    spend::{Cause, Hurdle, Spend},
    start::{self, Options, StartError},
};

/// The role in which a reviewer works, and what spend and scripts call its work.
pub(crate) const REVIEWER: &str = "reviewer";
pub(super) const REVIEW: &str = "review";
/// The role of whoever writes what is reviewed.
const CODER: &str = "coder";

/// Why there is no answer.
pub(super) enum Trouble {
    /// The reviewer has failed. It has said nothing.
    Failed(String),
    /// It was not the reviewer's fault, and may be over later.
    Held(String),
    /// The change is for a person to look at.
    ForPerson(String),
    Interrupted,
}

/// Whoever reviews, and what is needed for it.
pub(super) struct Reviewer<'a> {
    hand: Hand,
    walls: Option<Walls>,
    spend: Spend,
    settings: &'a Settings,
    place: Place,
    /// What its processes are marked with, and what its turns are booked as.
    mark: String,
    durable: journal::Durable,
    interrupts: &'a Interrupts,
    show: &'a mut dyn Show,
    turns: u64,
    _seat: Seat,
}

impl<'a> Reviewer<'a> {
    /// Finds somebody who can review in a workspace. `run` is the run that has made the pull request, if one has. What a
    /// person should know of the choice is added to `notes`.
    pub(super) fn find(
        here: &mut Workspace,
        slot: &Slot,
        (settings, wanted): (&'a Settings, &ReviewOptions),
        (run, number): (Option<&Run>, &str),
        interrupts: &'a Interrupts,
        show: &'a mut dyn Show,
        notes: &mut Vec<String>,
    ) -> Result<Result<Self, Trouble>, ReviewError> {
        let warp = env::current_exe().map_err(StartError::Program)?;
        let mut crew = Crew::new(&here.place.root, warp.clone(), wanted.agent.clone());
        let mut hands = crew.hands(settings, Some(REVIEWER))?;
        if let (Some(model), Some(first)) = (&wanted.model, hands.first_mut()) {
            first.model = Some(model.clone());
        }
        let mut cause = Cause::new(REVIEW, here.dirs.clock.now());
        if let Some(run) = run {
            cause =
                Cause { run: run.id.to_string(), issue: run.issue.clone(), since: run.started_at, ..cause };
        }
        let mut spend = Spend::open_for(here, settings, &cause)?;
        let mut held = None;
        let mut chosen = None;
        for hand in hands {
            match spend.paused(&hand.pool)? {
                Some(pause) => {
                    notes.push(format!("{} cannot review now: {}.", hand.agent_name(), pause.why));
                    held.get_or_insert(pause.why);
                }
                None => {
                    chosen = Some(hand);
                    break;
                }
            }
        }
        let Some(hand) = chosen else {
            return Ok(Err(Trouble::Held(held.unwrap_or_else(|| "nobody can review".to_owned()))));
        };
        let coders = Crew::new(&here.place.root, warp, None).hands(settings, Some(CODER));
        let is_same = |coder: &Hand| coder.name == hand.name && coder.model == hand.model;
        if coders.is_ok_and(|coders| coders.first().is_some_and(is_same)) {
            notes.push(format!(
                "The reviewer ({}) is the coder's agent and model too, in a conversation of its own: `roles.reviewer` sets another.",
                who(&hand)
            ));
        }
        if let Some(cap) = spend.begin_for(&cause, Some(REVIEWER), &hand.spender())? {
            return Ok(Err(Trouble::Held(format!("the spend cap is reached: {}", cap.cap))));
        }
        let project = here.place.ensure_project_id().map_err(project::Error::from)?;
        let seat = match admission::enter(&here.dirs, &Limits::of(settings), &project, &hand.pool)? {
            Ok(seat) => seat,
            Err(full) => return Ok(Err(Trouble::Held(full.to_string()))),
        };
        let walls = walls(here, slot, settings, wanted)?;
        let durable = here.sync_journal()?;
        Ok(Ok(Self {
            hand,
            walls,
            spend,
            settings,
            place: slot.place.clone(),
            mark: format!("{REVIEW}.{number}"),
            durable,
            interrupts,
            show,
            turns: 0,
            _seat: seat,
        }))
    }

    /// Says who reviews.
    pub(super) fn who(&self) -> String {
        who(&self.hand)
    }

    pub(super) fn tell(&mut self, text: &str) {
        self.show.show(Shown::Did(text));
    }

    /// Puts one part to the reviewer. An answer that cannot be used is asked for again, with all that is wrong with it.
    pub(super) fn ask(
        &mut self,
        facts: &Facts,
        asked: &Asked<'_>,
    ) -> Result<Result<Answer, Trouble>, ReviewError> {
        let form = form(facts.again.is_some());
        let prompt = facts.prompt(asked, &form);
        let mut refusal = String::new();
        let mut faults = Vec::new();
        for this in 1..=TRIES {
            let ended = self.turn(&format!("{prompt}{refusal}"))?;
            if self.interrupts.is_asked() {
                return Ok(Err(Trouble::Interrupted));
            }
            if let Some(trouble) = self.trouble(&ended) {
                return Ok(Err(trouble));
            }
            let said;
            (faults, said) = match ended.answer {
                Ok(value) => match self.read(value.clone(), asked, &form, facts.again.is_some()) {
                    Ok(answer) => return Ok(Ok(answer)),
                    Err(faults) => (faults, value.to_string()),
                },
                Err(no_answer) => (vec![spelled(&no_answer)], ended.last_words),
            };
            let next = this + 1;
            if next <= TRIES {
                self.show.show(Shown::Warned(&format!("{}; it is asked again", faults.join("; "))));
                let tries = Tries { this: next as u64, most: TRIES as u64 };
                refusal = format!("\n{}\n", text::refusal(&facts.mark, &faults, &[], &said, tries));
            }
        }
        let why = secrets::redacted(faults.join("; "));
        Ok(Err(Trouble::Failed(format!("no answer could be used after {TRIES} tries: {why}"))))
    }

    /// Reads an answer, or says all that is wrong with it.
    fn read(
        &mut self,
        value: Value,
        asked: &Asked<'_>,
        form: &Form,
        is_again: bool,
    ) -> Result<Answer, Vec<String>> {
        let (value, mut said) = wire::lenient(value, is_again);
        let read = form.read(value);
        said.extend(read.said);
        for slip in &said {
            self.show.show(Shown::Did(&format!("the answer: {slip}")));
        }
        if !read.faults.is_empty() {
            return Err(read.faults);
        }
        let Some(mut answer) = Answer::read(&read.value) else {
            return Err(vec!["answer: is not what was asked for".to_owned()]);
        };
        // Agents that think in whole paths name the place where they see the tree.
        let tree =
            format!("{}/", self.walls.as_ref().map_or(self.place.root.as_path(), Walls::inside).display());
        for finding in &mut answer.findings {
            finding.location = finding.location.replace(&tree, "");
        }
        let faults = answer.faults(asked.earlier);
        if faults.is_empty() { Ok(answer) } else { Err(faults) }
    }

    /// Says what has kept the reviewer from an answer, if that is more than its form.
    fn trouble(&self, ended: &TurnResult) -> Option<Trouble> {
        let words = match self.spend.hurdle(ended) {
            None => None,
            Some(Hurdle::Cap(cap)) => {
                return Some(Trouble::Failed(format!("the spend cap was reached: {}", cap.cap)));
            }
            Some(Hurdle::Ledger(words)) => Some(words),
            Some(Hurdle::NoAccess { words, .. }) => Some(format!("no access to the provider ({words})")),
            Some(Hurdle::Limit { words, .. }) => Some(format!("the provider's usage limit ({words})")),
            Some(Hurdle::Outage(words)) => Some(format!("the provider fails ({words})")),
        };
        if let Some(words) = words {
            return Some(Trouble::Held(secrets::redacted(words)));
        }
        match &ended.answer {
            Ok(_) | Err(NoAnswer::NotJson) => None,
            Err(missing @ (NoAnswer::Missing { .. } | NoAnswer::NotStarted(_))) => {
                Some(Trouble::Held(secrets::redacted(spelled(missing))))
            }
            Err(
                other @ (NoAnswer::Failed { .. }
                | NoAnswer::TimedOut(_)
                | NoAnswer::Silent(_)
                | NoAnswer::Stopped
                | NoAnswer::Provider(_)
                | NoAnswer::NoConversation),
            ) => Some(Trouble::Failed(secrets::redacted(spelled(other)))),
        }
    }

    /// Takes one turn in a new conversation, and books it.
    fn turn(&mut self, prompt: &str) -> Result<TurnResult, ReviewError> {
        let route = self.spend.route_for(self.settings, &self.hand.spender())?;
        let (agent, model) = (Arc::clone(&self.hand.agent), self.hand.model.clone());
        let session = agent.new_session().map_err(|error| ReviewError::World(error.to_string()))?;
        let schema = wire::loose_schema();
        let facts = [("WARP_RUN", self.mark.as_str()), ("WARP_PHASE", REVIEW)];
        let facts = facts.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes.max(1));
        let whole = minutes(self.settings.get(keys::MAX_PHASE_MINUTES));
        let silence = Duration::from_secs(self.settings.get(keys::AGENT_SILENCE_SECONDS).max(1));
        let prompt = match &self.walls {
            Some(walls) => walls.view().inside_text(prompt).into_owned(),
            None => prompt.to_owned(),
        };
        let turn = Turn {
            tree: &self.place.root,
            prompt: &prompt,
            schema: &schema,
            resume: None,
            session: session.as_deref(),
            effort: self.hand.effort.as_deref(),
            model: model.as_deref(),
            route: route.as_ref(),
            mcp: None,
            facts: &facts,
            walls: self.walls.as_ref(),
            limits: TimeLimits { whole, silence: silence.min(whole) },
            hooks: None,
            allowed: &[],
            extras: Extras::default(),
            mark: &self.mark,
        };
        let tree = format!("{}/", turn.walls.map_or(turn.tree, Walls::inside).display());
        let before = self.standing();
        let mut lines = secrets::Lines::default();
        let Self { spend, show, interrupts, durable, .. } = self;
        let mut watch = |said: AgentUpdate| {
            let said = shown(said, &tree, &mut lines);
            if matches!(said, AgentUpdate::Tick(_)) {
                show.show(Shown::Tick);
            } else {
                show.show(Shown::Agent(&said));
            }
            if let AgentUpdate::Model(model) = &said {
                spend.hear_model(model);
            }
            let is_capped = matches!(&said, AgentUpdate::Usage(usage)
                if route.is_none() && spend.hear(tokens(usage), model.as_deref()));
            if is_capped { Control::Stop } else { interrupts.go() }
        };
        let mut ended = take_turn(agent.as_ref(), &turn, &mut watch, durable);
        if let Ok(answer) = &mut ended.answer {
            secrets::redact_value(answer);
        }
        ended.last_words = secrets::redacted(ended.last_words);
        self.turns += 1;
        let id = format!("{}.{}.{}", self.mark, std::process::id(), self.turns);
        self.spend.end(&id, used(&ended, None), model.as_deref())?;
        if before != self.standing() {
            // Without the sandbox nothing else keeps it from that. The workspace is made anew afterwards.
            let words = "it has changed the tree that it was to read".to_owned();
            ended.answer = Err(NoAnswer::Failed { end: adapters::process::End::Exit(0), words });
        }
        Ok(ended)
    }

    /// Returns the commit and the files that the tree stands at.
    fn standing(&self) -> (Option<String>, Option<String>) {
        let git = self.place.git();
        (git.head().found(), git.tree().found())
    }
}

/// Names a reviewer with its model.
fn who(hand: &Hand) -> String {
    match &hand.model {
        Some(model) => format!("{} ({model})", hand.agent.name()),
        None => hand.agent.name().to_owned(),
    }
}

/// Builds the sandbox in which the tree can only be read.
fn walls(
    here: &Workspace,
    slot: &Slot,
    settings: &Settings,
    wanted: &ReviewOptions,
) -> Result<Option<Walls>, ReviewError> {
    let Some(sandbox) = start::sandbox(wanted.walled)? else { return Ok(None) };
    let mut walls = start::walls(&sandbox, &slot.place, &here.dirs, settings, None)?;
    let options = Options { agent: wanted.agent.clone(), ..Options::default() };
    start::show_agent(&mut walls, &options, settings)?;
    walls.reads_only = true;
    Ok(Some(walls))
}
