//! What an agent in a person's session is told: the brief that a driven one gets, with where the run stands and how to report.
//!
//! A session remembers what it was told, so `warp next` and the events tell only what is new. What was told is noted in a small
//! file; one that is lost or torn only repeats something.

use std::{collections::BTreeSet, fs};

use adapters::machine;
use engine::{
    Act, Actor, Run, Time, Workflow,
    view::{self, Owned},
    workflow::{Activity, Answer},
};

use super::{
    ENDS_WITH, Issue, Parts, facts, headless, last_problem, led_here, text::Facts, text::Reader,
    text::Subject,
};
use crate::{Current, Error, Workspace, prompts, text};

/// The most that is told at once, in bytes. A client takes less than 10,000 characters from a hook, and a caller may add a word.
const LONGEST: usize = 9_000;
/// The most that is said of why a project's own text cannot be used, in characters.
const LONGEST_WHY: usize = 200;
/// How many accounts of work in the present chunk are told, and the most of one, in characters.
const ACCOUNTS: usize = 5;
const LONGEST_ACCOUNT: usize = 300;
/// Marks a part that lasts, in the file of what was told.
const LASTS: char = '=';
/// The largest file of what was told, in bytes.
const LARGEST: u64 = 10_000;

impl Workspace {
    /// Returns all that whoever works on a run has to know: for a session that begins, or has forgotten what it was told.
    pub fn described(&mut self, current: &Current, to: Actor) -> String {
        let Some(parts) = self.session_brief(current) else { return self.stands(current) };
        self.note_told(&current.run, to, &parts, &[]);
        parts.within(LONGEST)
    }

    /// Returns all of it, however long it is.
    pub fn described_whole(&mut self, current: &Current, to: Actor) -> String {
        let Some(parts) = self.session_brief(current) else { return self.stands(current) };
        self.note_told(&current.run, to, &parts, &[]);
        parts.whole()
    }

    /// Returns where a run stands, and what has changed of the rest since the session was told.
    pub fn news(&mut self, current: &Current, to: Actor) -> String {
        let Some(parts) = self.session_brief(current) else { return self.stands(current) };
        let before = self.told_before(&current.run, to);
        self.note_told(&current.run, to, &parts, &before);
        let known: Vec<String> =
            before.iter().map(|line| line.trim_start_matches(LASTS).to_owned()).collect();
        if known.is_empty() { parts.within(LONGEST) } else { parts.since(&known) }
    }

    /// Says where a run stands.
    fn stands(&self, current: &Current) -> String {
        let live = if machine::is_live(&current.run.owner) { Owned::Live } else { Owned::Stale };
        view::standing(&current.workflow, &current.run, live, self.dirs.clock.now())
    }

    /// Returns the brief of a run's phase; nothing once the run is over.
    fn session_brief(&mut self, current: &Current) -> Option<Parts> {
        if !current.run.is_open() {
            return None;
        }
        let standing = self.stands(current);
        Some(match self.session_facts(current, standing.clone()) {
            Ok(facts) => facts.parts(),
            Err(error) => {
                let reader = Reader::InSession { standing, works: false, may_commit: false };
                let answer = format!("The rest could not be read: {}.", crate::spelled(&error));
                Facts { reader, answer, ..Facts::default() }.parts()
            }
        })
    }

    fn session_facts(&mut self, current: &Current, standing: String) -> Result<Facts, Error> {
        let (run, workflow) = (&current.run, &current.workflow);
        let phase = workflow.phase(&run.phase);
        let subject = match &run.feature {
            Some(feature) if workflow.hands_in => Subject { issue: None, text: feature.clone() },
            Some(_) | None => Issue::read(self, run)?.subject(run),
        };
        let mut facts = facts(self, current, subject)?;
        let is_told_otherwise =
            phase.is_some_and(|phase| matches!(phase.answer, Answer::Plan | Answer::Work));
        facts.led = led_here(current, &facts).filter(|_| !is_told_otherwise);
        facts.done.extend(done(run));
        facts.problem = last_problem(run).map(str::to_owned);
        let guide = self.guide(run);
        Ok(in_session(facts, workflow, run, standing, &guide, self.dirs.clock.now()))
    }

    /// Returns the text for a phase: the project's own, else the built-in one.
    fn guide(&self, run: &Run) -> String {
        let (workflow, phase) = (run.workflow.as_str(), run.phase.as_str());
        let built_in = prompts::built_in(workflow, phase);
        let own = match self.place.git_dir() {
            Some(_) => prompts::pinned(&self.place.git(), &run.branches.merge_target, workflow, phase)
                .map(|own| own.or_else(|| built_in.map(str::to_owned))),
            None => prompts::prompt(&self.place.root, workflow, phase),
        };
        match own {
            Ok(own) => own.unwrap_or_default(),
            Err(error) => {
                let instead =
                    if built_in.is_some() { "the built-in text follows" } else { "there is no other" };
                let why: String = error.source.to_string().chars().take(LONGEST_WHY).collect();
                let built_in = built_in.unwrap_or_default();
                let title = built_in.lines().next().unwrap_or_default();
                // The title stays first, where it is left out.
                let rest = built_in.strip_prefix(title).unwrap_or_default();
                format!("{title}\n\n{error}: {why}; {instead}.\n{rest}")
            }
        }
    }

    /// Returns the parts that a session was told: those of the last time, and of all times those that last.
    fn told_before(&self, run: &Run, to: Actor) -> Vec<String> {
        let told = text::read(&self.told_file(to), LARGEST).unwrap_or_default();
        let mut lines = told.lines();
        if lines.next() != Some(session(run).as_str()) {
            return Vec::new();
        }
        lines.map(str::to_owned).collect()
    }

    /// Notes what a session was told, beside what it was told before.
    fn note_told(&self, run: &Run, to: Actor, parts: &Parts, before: &[String]) {
        let lasting = parts.lasting();
        let mut lines: BTreeSet<String> =
            before.iter().filter(|line| line.starts_with(LASTS)).cloned().collect();
        lines.extend(lasting.iter().map(|digest| format!("{LASTS}{digest}")));
        lines.extend(parts.digests().into_iter().filter(|digest| !lasting.contains(digest)));
        let lines = Vec::from_iter(lines).join("\n");
        // What cannot be noted is told again.
        let _ = fs::write(self.told_file(to), format!("{}\n{lines}\n", session(run)));
    }

    fn told_file(&self, to: Actor) -> std::path::PathBuf {
        self.place.own.join(match to {
            Actor::Person => "told-person",
            Actor::Agent | Actor::Engine => "told-agent",
        })
    }
}

/// Makes of the facts what a session is told in the phase that a run is in.
pub(super) fn in_session(
    mut facts: Facts,
    workflow: &Workflow,
    run: &Run,
    standing: String,
    guide: &str,
    now: Time,
) -> Facts {
    let phase = workflow.phase(&run.phase);
    let works = is_agents(workflow, run);
    let may_commit = phase.is_some_and(|phase| phase.may.iter().any(|may| may == "git_commit"));
    facts.answer = view::reports(workflow, run, now);
    facts.guide = headless(guide);
    if let Some((_, ends)) = guide.split_once(ENDS_WITH).filter(|_| works) {
        facts.answer = without_examples(&facts.answer) + "\n" + ends.trim();
    }
    facts.led = facts.led.filter(|_| works);
    facts.reader = Reader::InSession { standing, works, may_commit };
    facts
}

/// Takes out of what events need the examples, which the phase's own text has.
fn without_examples(reports: &str) -> String {
    reports.lines().fold(String::new(), |text, line| match line.split_once(": --data '") {
        Some((needs, _)) => text + needs + ")\n",
        None => text + line + "\n",
    })
}

/// Tells whether an agent does what comes next. A reviewer may, while warp waits for what people say.
fn is_agents(workflow: &Workflow, run: &Run) -> bool {
    match run.act_of_phase(workflow) {
        Act::Agent { .. } => true,
        Act::Wait { .. } => workflow.phase(&run.phase).is_some_and(|phase| phase.activity == Activity::Agent),
        Act::Nothing | Act::Job(_) | Act::Person { .. } => false,
    }
}

/// Names the conversation that carries a run on.
fn session(run: &Run) -> String {
    let session = run.owner.session.as_deref().unwrap_or_default();
    format!("{} {}", run.id, super::one_line(session))
}

/// Returns what is behind a run and a conversation may have forgotten: the chunks that are done, and what was tried in this one.
fn done(run: &Run) -> Vec<String> {
    let chunks = run.completed_chunks.iter().map(|chunk| {
        let commit = chunk
            .commit
            .as_deref()
            .map(|commit| format!(" as {}", commit.get(..super::HASH).unwrap_or(commit)));
        format!("chunk {} ({}){}", chunk.index, chunk.acs.join(", "), commit.unwrap_or_default())
    });
    let accounts = run.facts.chunk.accounts.iter();
    let tried = accounts.filter_map(|account| account.get("summary")?.as_str()).map(|summary| {
        let summary: String = super::one_line(summary).chars().take(LONGEST_ACCOUNT).collect();
        format!("handed in: {summary}")
    });
    let tried: Vec<String> = tried.collect();
    let newest = tried.len().saturating_sub(ACCOUNTS);
    chunks.chain(tried.into_iter().skip(newest)).collect()
}
