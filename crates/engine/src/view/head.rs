//! The head: the little that a hook has to know about a workspace's run, in one small file.
//!
//! A head may deny, or wave through what no phase forbids. Leave is always read from the store. It is plain
//! lines, so that reading it costs next to nothing.

use crate::{Owner, PhaseName, Run, Standing, Workflow, keys, workflow::Activity};

/// Operations that need leave. What no phase gives permission for, only the engine may do.
pub const OPERATIONS: &[&str] = &["git_commit", "git_push", "git_merge"];

const FIRST_LINE: &str = "warp-head 2";

/// What a hook has to know about a workspace's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub run: String,
    pub workflow: String,
    pub phase: String,
    pub standing: String,
    /// How many events the run had when the head was written.
    pub events: u64,
    /// Who carries the run on.
    pub owner: Owner,
    /// Whether the workspace was made for the run.
    pub owns_workspace: bool,
    /// The present stay in the phase, and how often one file may be edited in it.
    pub stay: String,
    pub most_edits: u64,
    /// What the phase gives permission for.
    pub may: Vec<String>,
    /// For each operation that some phase gives permission for: those phases.
    pub leave: Vec<(String, Vec<String>)>,
}

/// Whether an operation may go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    Allowed,
    Denied(String),
}

impl Head {
    /// Makes the head of a run.
    pub fn of(workflow: &Workflow, run: &Run) -> Self {
        let phase = workflow.phase(&run.phase);
        let standing = match &run.standing {
            Standing::Active => "active",
            Standing::Parked { .. } => "parked",
            Standing::Suspended { .. } => "suspended",
            Standing::Stopped => "stopped",
            Standing::Ended { .. } => "ended",
        };
        let giving = |operation: &str| -> Vec<String> {
            let gives = workflow.phases.iter().filter(|phase| phase.may.iter().any(|may| may == operation));
            gives.map(|phase| phase.name.to_string()).collect()
        };
        let leave = OPERATIONS.iter().map(|operation| ((*operation).to_owned(), giving(operation)));
        Self {
            run: run.id.to_string(),
            workflow: run.workflow.clone(),
            phase: run.phase.to_string(),
            standing: standing.to_owned(),
            events: run.events,
            owner: run.owner.clone(),
            owns_workspace: run.owns_workspace,
            stay: run.stay(),
            most_edits: run.settings.get(keys::MAX_EDITS_PER_FILE),
            may: phase.map(|phase| phase.may.iter().map(ToString::to_string).collect()).unwrap_or_default(),
            leave: leave.filter(|(_, phases)| !phases.is_empty()).collect(),
        }
    }

    /// Writes the head's lines.
    pub fn render(&self) -> String {
        let Self { run, workflow, phase, standing, events, owner, .. } = self;
        // The head is read on this machine alone.
        let Owner { pid, boot_id, start_ticks, session, host: _ } = owner;
        let ticks = start_ticks.map(|ticks| ticks.to_string()).unwrap_or_else(|| "-".to_owned());
        let session = session.as_deref().map(one_line).unwrap_or_default();
        let owns = if self.owns_workspace { "yes" } else { "no" };
        let Self { stay, most_edits, .. } = self;
        let may = self.may.join(" ");
        let mut text = format!(
            "{FIRST_LINE}\nrun {run}\nworkflow {workflow}\nphase {phase}\nstanding {standing}\nevents {events}\n\
             owner {pid} {ticks} {boot_id}\nsession {session}\nowns_workspace {owns}\nstay {stay}\nedits {most_edits}\nmay {may}\n"
        );
        for (operation, phases) in &self.leave {
            text.push_str(&format!("leave {operation} {}\n", phases.join(" ")));
        }
        text.push_str("end\n");
        text
    }

    /// Reads a head; nothing if the text is not a whole one of this version.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix("end\n")?.split_terminator('\n');
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let mut field = |name: &str| {
            let line = lines.next()?.strip_prefix(name)?;
            Some(line.strip_prefix(' ').unwrap_or(line).to_owned())
        };
        let (run, workflow, phase) = (field("run")?, field("workflow")?, field("phase")?);
        let (standing, events) = (field("standing")?, field("events")?.parse().ok()?);
        let words = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let (owner, session) = (field("owner")?, field("session")?);
        let mut owner = owner.split(' ');
        let owner = Owner {
            pid: owner.next()?.parse().ok()?,
            start_ticks: owner.next()?.parse().ok(),
            boot_id: owner.next()?.to_owned(),
            host: None,
            session: Some(one_line(&session)).filter(|session| !session.is_empty()),
        };
        let owns_workspace = field("owns_workspace")? == "yes";
        let (stay, most_edits) = (field("stay")?, field("edits")?.parse().ok()?);
        let may = words(&field("may")?);
        let mut leave = Vec::new();
        for line in lines {
            let mut parts = words(line.strip_prefix("leave ")?).into_iter();
            leave.push((parts.next()?, parts.collect()));
        }
        Some(Self {
            run,
            workflow,
            phase,
            standing,
            events,
            owner,
            owns_workspace,
            stay,
            most_edits,
            may,
            leave,
        })
    }

    /// Tells whether `operation` may go on where the run stands.
    pub fn permission(&self, operation: &str) -> Permission {
        if self.may.iter().any(|may| may == operation) && self.standing == "active" {
            return Permission::Allowed;
        }
        let phase = &self.phase;
        let reason = match self.leave.iter().find(|(known, _)| known == operation) {
            Some((_, phases)) => {
                let phases = phases.join(" or ");
                let parked = if self.standing == "active" { "" } else { self.standing.as_str() };
                let parked = if parked.is_empty() { String::new() } else { format!(", {parked}") };
                format!("{operation} is only allowed during {phases} phase; the run is in {phase}{parked}")
            }
            None => format!("{operation} is only done by warp itself; the run is in {phase}"),
        };
        Permission::Denied(reason)
    }
}

/// A session's name comes from outside, and a head has a line for each of its fields.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

impl Run {
    /// Tells whether `operation` may go on, by the run itself.
    pub fn permission(&self, workflow: &Workflow, operation: &str) -> Permission {
        Head::of(workflow, self).permission(operation)
    }
}

impl Workflow {
    /// Tells whether a phase gives permission for work that is warp's own, which what came before it has to earn.
    ///
    /// In a phase of an agent's work, leave to commit is part of that work.
    pub fn gives_leave(&self, phase: &PhaseName) -> bool {
        self.phase(phase).is_some_and(|phase| !phase.may.is_empty() && phase.activity != Activity::Agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written_and_a_torn_one_is_not() {
        let head = Head {
            run: "k3".to_owned(),
            workflow: "warp-drive".to_owned(),
            phase: "coding".to_owned(),
            standing: "active".to_owned(),
            events: 7,
            owner: Owner {
                pid: 9,
                boot_id: "b1".to_owned(),
                start_ticks: Some(8),
                host: None,
                session: Some("s1".to_owned()),
            },
            owns_workspace: true,
            stay: "k3.e6".to_owned(),
            most_edits: 5,
            may: Vec::new(),
            leave: vec![("git_commit".to_owned(), vec!["committing".to_owned()])],
        };
        let text = head.render();
        assert_eq!(Head::parse(&text).as_ref(), Some(&head));
        assert_eq!(
            Head::parse(&text.replace("session s1", "session s\u{0}1")),
            Some(head),
            "no control characters"
        );
        for cut in 0..text.len() {
            assert_eq!(Head::parse(&text[..cut]), None, "{cut}");
        }
    }
}
