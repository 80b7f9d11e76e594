//! A second, plain machine for each workflow, written from the documents and not from the engine.
//!
//! It knows no budgets, rows or acts as data: what happens is spelt out, phase by phase. Only the tables of
//! allowed moves are shared with the other tests (they too are written by hand).

mod autonomous_loop;
mod coder;
mod factory;
mod warp_drive;

use std::collections::{BTreeMap, BTreeSet};

use crate::oracle::Oracle;

pub(crate) const MINUTE: i64 = 60_000;

/// The settings of a walk, by name.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) counts: BTreeMap<&'static str, u64>,
    pub(crate) skip_brainstorm: bool,
    pub(crate) skip_test_review: bool,
    pub(crate) enforcement: &'static str,
}

/// Something that happens to a run.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    Event(Named),
    Edited {
        file: &'static str,
    },
    DeadlinePassed,
    AttemptStarted {
        current: bool,
    },
    Answered {
        option: &'static str,
        open: bool,
    },
    Stopped,
    Resumed,
    Reset,
    /// Noted and nothing else: a file set aside, another owner.
    Noted,
    /// Something was moved without permission, and put back or not.
    RailBroken {
        restored: bool,
    },
}

/// An event of the workflow, with what comes along.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) name: &'static str,
    /// The failure's text and the tree it was seen on, where they are known.
    pub(crate) failure: Option<(&'static str, &'static str)>,
    /// How many chunks there are.
    pub(crate) chunks: u64,
    /// Whether what was observed clears the gate, if there is one.
    pub(crate) clears: bool,
    pub(crate) attempt: Attempt,
    /// Whether an agent says so, which shows a commit where one is wanted and nothing else.
    pub(crate) by_agent: bool,
}

/// Which attempt an outcome names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    None,
    Current,
    Replaced,
}

/// What a run answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Moved,
    Redirected(Vec<&'static str>),
    Noted,
    Parked,
    Refused(Why),
}

/// Why it refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    NotPossible,
    Gate,
    Parked,
    Stopped,
    Over,
    StaleAttempt,
    Data,
    NeedsPerson,
    OwnWork,
    NotNow,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Active,
    Parked(&'static str),
    Stopped,
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trip {
    pub(crate) reasons: Vec<&'static str>,
    pub(crate) at: i64,
    pub(crate) from: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) oracle: &'static Oracle,
    pub(crate) limits: Limits,
    pub(crate) phase: &'static str,
    pub(crate) origin: Option<&'static str>,
    pub(crate) standing: Standing,
    pub(crate) counters: BTreeMap<&'static str, u64>,
    pub(crate) trip: Option<Trip>,
    pub(crate) phase_clock: i64,
    pub(crate) session_clock: i64,
    pub(crate) attempt: u32,
    pub(crate) edits: BTreeMap<&'static str, u64>,
    pub(crate) doom_loops: usize,
    /// Identical failures in a row: text, tree, how often.
    pub(crate) failure: Option<(&'static str, &'static str, u64)>,
    pub(crate) drive: warp_drive::Progress,
    pub(crate) forced: usize,
    pub(crate) rejected: usize,
    /// Phases of the loop that were last left by force, or with nothing shown.
    pub(crate) left_by_force: BTreeSet<&'static str>,
}

/// What only a person may say.
const PERSONS: [&str; 9] = [
    "start",
    "restart",
    "abort",
    "continue_yes",
    "budget_continue",
    "clarified",
    "answered",
    "answer",
    "completion_approved",
];

impl Model {
    pub(crate) fn new(oracle: &'static Oracle, limits: Limits, at: i64) -> Self {
        let skips = oracle.name == "autonomous-loop" && limits.skip_brainstorm;
        Self {
            oracle,
            limits,
            phase: if skips { "plan" } else { oracle.initial },
            origin: None,
            standing: Standing::Active,
            counters: BTreeMap::new(),
            trip: None,
            phase_clock: at,
            session_clock: at,
            attempt: 1,
            edits: BTreeMap::new(),
            doom_loops: 0,
            failure: None,
            drive: warp_drive::Progress::default(),
            forced: 0,
            rejected: 0,
            left_by_force: BTreeSet::new(),
        }
    }

    pub(crate) fn happen(&mut self, what: &Happening, at: i64) -> Answer {
        if self.standing == Standing::Over {
            return Answer::Refused(Why::Over);
        }
        match what {
            Happening::Event(named) => self.named(named, at),
            Happening::Edited { file } => {
                let count = self.edits.entry(file).or_default();
                *count += 1;
                self.doom_loops += usize::from(*count > self.limits.counts["max_edits_per_file"]);
                Answer::Noted
            }
            Happening::DeadlinePassed => self.deadline_passed(at),
            Happening::AttemptStarted { current } => match self.waits() {
                Some(why) => Answer::Refused(why),
                None if !current => Answer::Refused(Why::NotNow),
                None => {
                    self.attempt += 1;
                    Answer::Noted
                }
            },
            Happening::Answered { option, open } => self.answered(option, *open, at),
            Happening::Stopped => self.stopped(at),
            Happening::Resumed => match self.standing {
                Standing::Stopped => self.stand(Standing::Active),
                Standing::Parked(_) => Answer::Refused(Why::Parked),
                Standing::Active | Standing::Over => Answer::Refused(Why::NotNow),
            },
            Happening::Reset => self.stand(Standing::Over),
            Happening::Noted => Answer::Noted,
            Happening::RailBroken { restored } => {
                match self.standing {
                    _ if *restored => {}
                    // The checkout is a person's, who is asked.
                    Standing::Active | Standing::Parked("rail_broken") => return self.park("rail_broken"),
                    Standing::Parked(_) | Standing::Stopped => self.standing = Standing::Stopped,
                    Standing::Over => {}
                }
                Answer::Noted
            }
        }
    }

    /// Says when the current phase is due, if it ends by a deadline.
    pub(crate) fn due(&self) -> i64 {
        let minutes = match self.oracle.name {
            "warp-drive" => warp_drive::minutes(self),
            "coder" => coder::deadline(self.phase).0,
            "autonomous-loop" => 480,
            _ => factory::deadline(self).0,
        };
        self.phase_clock + i64::try_from(minutes).expect("few minutes") * MINUTE
    }

    pub(crate) fn count(&self, counter: &str) -> u64 {
        self.counters.get(counter).copied().unwrap_or(0)
    }

    fn raise(&mut self, counter: &'static str) {
        *self.counters.entry(counter).or_default() += 1;
    }

    fn clear(&mut self, counters: &[&'static str]) {
        for counter in counters {
            self.counters.insert(counter, 0);
        }
    }

    fn limit(&self, setting: &str) -> u64 {
        self.limits.counts[setting]
    }

    /// Tells whether a counter has gone beyond its setting.
    fn is_above(&self, counter: &str, setting: &str) -> bool {
        self.count(counter) > self.limit(setting)
    }

    /// Tells whether a counter has reached its setting; zero means "not even once".
    fn has_reached(&self, counter: &str, setting: &str) -> bool {
        self.count(counter) >= self.limit(setting).max(1)
    }

    /// Tells whether more than `minutes` have passed since `clock`.
    fn is_late(at: i64, clock: i64, minutes: u64) -> bool {
        at - clock > i64::try_from(minutes).expect("few minutes") * MINUTE
    }

    /// Says why an event of the workflow cannot be taken by a run that waits for a person.
    fn waits(&self) -> Option<Why> {
        match self.standing {
            Standing::Active => None,
            Standing::Parked(_) => Some(Why::Parked),
            Standing::Stopped => Some(Why::Stopped),
            Standing::Over => Some(Why::Over),
        }
    }

    fn stand(&mut self, standing: Standing) -> Answer {
        self.standing = standing;
        Answer::Noted
    }

    fn park(&mut self, reason: &'static str) -> Answer {
        self.standing = Standing::Parked(reason);
        Answer::Parked
    }

    /// Moves the run. Staying in a phase keeps its clock and its edits.
    fn enter(&mut self, to: &'static str, at: i64) {
        if self.phase != to {
            self.phase_clock = at;
            self.edits.clear();
            self.clear(&["phase_iteration"]);
        }
        self.origin = self.oracle.returns(to).then_some(self.phase);
        self.phase = to;
        self.attempt = 1;
        if self.oracle.finals.contains(&to) && self.oracle.close.is_none() {
            self.standing = Standing::Over;
        }
    }

    fn redirect(&mut self, to: &'static str, reasons: Vec<&'static str>, at: i64) -> Answer {
        self.trip = Some(Trip { reasons: reasons.clone(), at, from: self.phase });
        self.enter(to, at);
        Answer::Redirected(reasons)
    }

    fn named(&mut self, named: &Named, at: i64) -> Answer {
        let to = self.oracle.target(self.phase, named.name, self.origin);
        let ticks = self.oracle.tick(self.phase, named.name).is_some();
        let closes = self.oracle.close == Some(named.name) && self.oracle.finals.contains(&self.phase);
        let asks = self.oracle.ask(self.phase, named.name);
        if to.is_none() && !ticks && !closes && asks.is_none() {
            return Answer::Refused(Why::NotPossible);
        }
        if let Some(why) = self.waits() {
            return Answer::Refused(why);
        }
        let is_persons = PERSONS.contains(&named.name)
            || (named.name == "merged" && self.oracle.name == "factory")
            || (named.name == "tests_approved" && !self.limits.skip_test_review);
        if named.by_agent && to.is_some() && is_persons {
            return Answer::Refused(Why::NeedsPerson);
        }
        if named.by_agent && to.is_some() && self.is_warps() && named.name != "docs_updated" {
            return Answer::Refused(Why::OwnWork);
        }
        if named.attempt == Attempt::Replaced {
            return Answer::Refused(Why::StaleAttempt);
        }
        if named.by_agent && ticks {
            return Answer::Refused(Why::NotNow);
        }
        if named.by_agent && !self.is_shown(named.name) {
            return Answer::Refused(Why::Gate);
        }
        if let Some(to) = asks {
            return match self.oracle.name {
                "coder" => self.park("mark_story_complete"),
                _ => autonomous_loop::written(self, to, at),
            };
        }
        let Some(to) = to else {
            return match closes {
                true if named.by_agent && !self.left_by_force.is_empty() => self.park("forced_receipts"),
                // All that speaks for the pull request is the agent's word.
                true if named.by_agent => self.park("unproved_pull_request"),
                true => self.stand(Standing::Over),
                false => self.tick(at),
            };
        };
        match self.oracle.name {
            "warp-drive" => warp_drive::take(self, named, to, at),
            "coder" => coder::take(self, named.name, to, at),
            "autonomous-loop" => autonomous_loop::take(self, named.name, to, at),
            _ => factory::take(self, named.name, to, at),
        }
    }

    /// Tells whether warp does the work of the current phase itself.
    fn is_warps(&self) -> bool {
        match self.oracle.name {
            "warp-drive" => {
                !["idle", "planning", "coding", "awaiting_continue", "budget_exceeded"].contains(&self.phase)
            }
            "coder" => ["WAITING", "SETUP", "TESTING", "AWAIT_MERGE", "ERROR"].contains(&self.phase),
            "factory" => ["backlog", "blocked", "awaiting_ci"].contains(&self.phase),
            _ => false,
        }
    }

    /// Tells whether an agent that has nothing but commits has shown enough.
    fn is_shown(&self, event: &str) -> bool {
        match self.oracle.name {
            "warp-drive" => event != "code_complete" || self.drive.chunks == 0,
            "autonomous-loop" => ["work", "fix", "ship"].contains(&self.phase),
            _ => true,
        }
    }

    fn tick(&mut self, at: i64) -> Answer {
        match self.oracle.name {
            "coder" => coder::tick(self, at),
            "autonomous-loop" => autonomous_loop::tick(self, at),
            _ => factory::crash(self, at),
        }
    }

    fn deadline_passed(&mut self, at: i64) -> Answer {
        if let Some(why) = self.waits() {
            return Answer::Refused(why);
        }
        if at <= self.due() {
            return Answer::Refused(Why::NotNow);
        }
        match self.oracle.name {
            "warp-drive" => warp_drive::due(self, at),
            "coder" => coder::due(self, at),
            "autonomous-loop" => self.park("deadline"),
            _ => factory::due(self, at),
        }
    }

    fn answered(&mut self, option: &str, open: bool, at: i64) -> Answer {
        let Standing::Parked(reason) = self.standing else { return Answer::Refused(Why::NotNow) };
        let is_question = ["tests_written", "mark_story_complete"].contains(&reason);
        match option {
            _ if !open => return Answer::Refused(Why::NotNow),
            "stop" => return self.stopped(at),
            "approve" if reason == "tests_written" => return autonomous_loop::approved(self, at),
            "approve" if is_question => return coder::approved(self, at),
            "reject" if is_question => self.rejected += 1,
            "accept" if ["forced_receipts", "unproved_pull_request"].contains(&reason) => {
                return self.stand(Standing::Over);
            }
            "mine" if reason == "rail_broken" => {}
            "continue" if !is_question && reason != "rail_broken" => {}
            _ => return Answer::Refused(Why::Data),
        }
        // Going on starts the phase's clock again, and what ran out.
        self.phase_clock = at;
        match reason {
            "max_iterations" => self.clear(&["global_iteration"]),
            "max_phase_iterations" => self.clear(&["phase_iteration"]),
            "max_fix_cycles" => self.clear(&["fix_review_cycles"]),
            _ => {}
        }
        self.stand(Standing::Active)
    }

    fn stopped(&mut self, at: i64) -> Answer {
        match (self.oracle.name, self.phase, &self.standing) {
            ("warp-drive", "aborted", _) => Answer::Noted,
            // A graceful stop is an abort, even of a run that waits for an answer.
            ("warp-drive", _, _) => {
                self.standing = Standing::Active;
                warp_drive::abort(self, at);
                Answer::Moved
            }
            (_, _, Standing::Stopped) => Answer::Refused(Why::NotNow),
            (_, _, Standing::Active | Standing::Parked(_) | Standing::Over) => self.stand(Standing::Stopped),
        }
    }
}
