//! The first lines of a run: where its work begins and goes, what leaves the machine, and who works, for how much.

use adapters::secrets::redacted;
use engine::{Run, Settings, Usage, Workflow, keys, ledger, workflow::Activity};
use jobs::JobError;
use project::{
    Current, Workspace,
    base::Start,
    pushing::{Goal, Leaves, Outlet, Push},
    spend::{self, Prices},
};
use serde::Serialize;

use crate::crew::Crew;

/// The most of an agent's name that is shown, in characters: one may be a whole command line.
const LONGEST_AGENT: usize = 60;
/// How many characters of a hash are shown.
const HASH: usize = 7;

/// What a person knows about a run before anything happens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Header {
    pub run: String,
    pub issue: Option<String>,
    pub level: u64,
    pub base: String,
    pub target: String,
    pub push: String,
    /// The server and account that issues and pull requests are on; nothing where the journal has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forge: Option<String>,
    pub cap: String,
    pub agent: String,
    pub model: String,
    pub sandbox: String,
    /// Set in a session of several runs after the first: what all of them share was shown.
    #[serde(skip)]
    pub is_short: bool,
}

/// The cap that all runs of a session share; nothing is no cap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCap {
    pub micro_usd: Option<u64>,
    pub tokens: Option<u64>,
    /// Set once a run of the session has begun: the header is short then, and the cap is what is left.
    pub has_begun: bool,
}

impl Header {
    /// Puts it together for a run that begins or goes on.
    pub(crate) fn of(
        workspace: &mut Workspace,
        current: &Current,
        crew: &mut Crew,
        cap: Option<SessionCap>,
        is_walled: bool,
    ) -> Result<(Self, Option<String>), JobError> {
        let run = &current.run;
        let goal = Goal::of(run.level, run.settings.get(keys::AUTO_MERGE));
        let outlet = workspace.outlet(run, goal)?;
        let (base, unreached) = base(workspace, run)?;
        let prices = spend::prices(&workspace.dirs).ok();
        let (agent, model) = workers(crew, &run.settings, &current.workflow, prices.as_ref());
        let header = Self {
            run: run.id.to_string(),
            issue: run.issue.clone(),
            level: run.level,
            base,
            target: target(run, goal),
            push: push(&outlet, &run.branches.merge_target),
            forge: workspace.about_forge(),
            cap: cap_text(&run.settings, cap),
            agent,
            model,
            sandbox: if is_walled { "bubblewrap" } else { "none, as you said (--no-sandbox)" }.to_owned(),
            is_short: cap.is_some_and(|cap| cap.has_begun),
        };
        Ok((header, unreached))
    }

    /// Returns the lines, each a name and what there is to say.
    pub fn rows(&self) -> Vec<(&'static str, &str)> {
        if self.is_short {
            return vec![("base", &self.base), ("cap", &self.cap)];
        }
        let mut rows: Vec<(&'static str, &str)> =
            vec![("base", &self.base), ("target", &self.target), ("push", &self.push)];
        rows.extend(self.forge.as_deref().map(|forge| ("forge", forge)));
        rows.extend([
            ("cap", self.cap.as_str()),
            ("agent", &self.agent),
            ("model", &self.model),
            ("sandbox", &self.sandbox),
        ]);
        rows
    }
}

fn base(workspace: &mut Workspace, run: &Run) -> Result<(String, Option<String>), JobError> {
    let short = |commit: &str| commit.get(..HASH).unwrap_or(commit).to_owned();
    let target = &run.branches.merge_target;
    if !workspace.has_branch() {
        let start = jobs::on(workspace).look_at_base(run)?;
        if let Some(Start { name, commit, about, unreached }) = start {
            return Ok((format!("{name} {}, {about}", short(&commit)), unreached));
        }
    }
    let began = run.chunk.first_base.as_deref().map(|commit| format!(" {}", short(commit)));
    Ok((format!("{target}{}, as the run began", began.unwrap_or_default()), None))
}

fn target(run: &Run, goal: Goal) -> String {
    let target = &run.branches.merge_target;
    match goal {
        Goal::Stay => format!("{target}, merged by you (level {})", run.level),
        Goal::HandOver => format!("{target}, by a pull request (level {})", run.level),
        Goal::Merge => format!("{target}, merged when the tests pass (level {})", run.level),
    }
}

fn push(outlet: &Outlet, target: &str) -> String {
    let goal = outlet.goal;
    let Some(remote) = &outlet.remote else { return "nothing, there is no remote".to_owned() };
    match (outlet.leaves, outlet.push) {
        (Leaves::Target, _) => format!("{target} to {remote}"),
        (Leaves::Branch, _) if goal == Goal::Merge => format!("the branch to {remote}, not {target}"),
        (Leaves::Branch, _) => format!("the branch to {remote}"),
        (Leaves::Nothing, Push::Ask) if goal != Goal::Stay => {
            format!("nothing until you allow it: {}", outlet.how_to_allow())
        }
        (Leaves::Nothing, Push::Never) => "nothing (push = \"never\")".to_owned(),
        (Leaves::Nothing, _) => "nothing at level 1".to_owned(),
    }
}

fn cap_text(settings: &Settings, session: Option<SessionCap>) -> String {
    let run = spend::caps(settings).run;
    let of_session = session.filter(|cap| cap.micro_usd.is_some() || cap.tokens.is_some());
    let (usd, tokens, whose) = match of_session {
        Some(cap) if cap.has_begun => (cap.micro_usd, cap.tokens, "left for this session"),
        Some(cap) => (cap.micro_usd, cap.tokens, "for this session"),
        None => (run.micro_usd, run.tokens, "for this run"),
    };
    let parts = [usd.map(ledger::dollars), tokens.map(|tokens| format!("{tokens} tokens"))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "none".to_owned() } else { format!("{} {whose}", parts.join(", ")) }
}

/// Names who works in the roles of a workflow, and with which model.
fn workers(
    crew: &mut Crew,
    settings: &Settings,
    workflow: &Workflow,
    prices: Option<&Prices>,
) -> (String, String) {
    let phases = workflow.phases.iter().filter(|phase| phase.activity == Activity::Agent);
    let mut found: Vec<(String, String, String)> = Vec::new();
    for role in phases.map(|phase| phase.role.as_deref()) {
        let name = role.unwrap_or("agent").to_owned();
        // Whoever is missing was told before the run began.
        let Ok(hands) = crew.hands(settings, role) else { continue };
        let Some(hand) = hands.first().filter(|_| !found.iter().any(|(role, ..)| *role == name)) else {
            continue;
        };
        let guess = hand.model.as_ref().and_then(|model| prices?.guessed_from(model));
        let model = match (&hand.model, guess) {
            (Some(model), Some(from)) => format!("{model}, which has no price: {from} is taken"),
            (Some(model), None) => model.clone(),
            (None, _) => "the agent's default".to_owned(),
        };
        found.push((name, shortened(&redacted(hand.agent_name())), model));
    }
    let said = |of: fn(&(String, String, String)) -> &String| {
        let mut all: Vec<&String> = found.iter().map(of).collect();
        all.dedup();
        match all.as_slice() {
            [only] => (*only).clone(),
            _ => {
                let each = found.iter().map(|row| format!("{} ({})", of(row), row.0));
                each.collect::<Vec<_>>().join(", ")
            }
        }
    };
    (said(|row| &row.1), said(|row| &row.2))
}

fn shortened(name: &str) -> String {
    let line = name.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_AGENT) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

impl SessionCap {
    /// Reads the cap that a person has given for a session.
    pub(crate) fn of(set: &[(String, String)]) -> Self {
        let last =
            |key: &str| set.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        let some = |limit: u64| Some(limit).filter(|limit| *limit > 0);
        let usd = last("budget_limit_usd").and_then(|value| value.parse::<f64>().ok());
        let micro_usd = usd.and_then(|usd| some((usd * 1_000_000.0).ceil() as u64));
        let tokens = last("budget_limit_tokens").and_then(|value| value.parse().ok()).and_then(some);
        Self { micro_usd, tokens, has_begun: false }
    }

    /// Returns what is left after more was spent.
    pub(crate) fn after(self, spent: &Usage) -> Self {
        let left = |limit: Option<u64>, spent: u64| limit.map(|limit| limit.saturating_sub(spent));
        Self {
            micro_usd: left(self.micro_usd, spent.micro_usd),
            tokens: left(self.tokens, spent.tokens()),
            has_begun: true,
        }
    }

    /// Says which cap is used up, if one is.
    pub(crate) fn used_up(&self) -> Option<&'static str> {
        match (self.micro_usd, self.tokens) {
            (Some(0), _) => Some("budget_limit_usd"),
            (_, Some(0)) => Some("budget_limit_tokens"),
            _ => None,
        }
    }

    /// Puts what is left in the place of what was given.
    pub(crate) fn limit(&self, set: &mut Vec<(String, String)>) {
        if let Some(micro_usd) = self.micro_usd {
            set.push(("budget_limit_usd".to_owned(), format!("{}", micro_usd as f64 / 1_000_000.0)));
        }
        if let Some(tokens) = self.tokens {
            set.push(("budget_limit_tokens".to_owned(), tokens.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sessions_cap_is_what_its_runs_leave_of_it() {
        let set = |usd: &str| vec![("budget_limit_usd".to_owned(), usd.to_owned())];
        assert_eq!(SessionCap::of(&[]), SessionCap::default());
        let cap = SessionCap::of(&set("5"));
        assert_eq!(cap_text(&Settings::default(), Some(cap)), "$5.00 for this session");
        let spent = |micro_usd| Usage { micro_usd, ..Usage::default() };
        let left = cap.after(&spent(1_250_000));
        assert_eq!(cap_text(&Settings::default(), Some(left)), "$3.75 left for this session");
        let mut more = set("5");
        left.limit(&mut more);
        assert_eq!(more.last(), Some(&("budget_limit_usd".to_owned(), "3.75".to_owned())));
        assert_eq!(left.used_up(), None);
        assert_eq!(left.after(&spent(4_000_000)).used_up(), Some("budget_limit_usd"));
        assert_eq!(cap_text(&Settings::default(), None), "$20.00 for this run");
    }
}
