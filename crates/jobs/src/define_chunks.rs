//! Splitting the issue's open criteria into chunks: as the agent proposed, if that fits, else in their order.

use engine::{keys, workflow::JobOutcome};
use journal::Durable;
use project::counted;
use serde_json::{Value, json};

pub(crate) use crate::job::leaves_no_trace as settle;
use crate::{
    Context, JobError, issue,
    job::{Report, Task},
};

/// What the chunks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What a pull request waits for is one chunk.
    Rework {
        pull: String,
    },
    /// The issue has no open criteria, so it is one chunk.
    Whole,
    Split {
        chunks: Vec<Vec<String>>,
        most: usize,
        grouping: Grouping,
    },
}

/// Who has grouped the criteria.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grouping {
    InOrder,
    Planned,
    /// The plan's grouping does not fit, for this reason.
    NotAsPlanned(String),
}

impl Outcome {
    pub(crate) fn report(self) -> Report {
        let report = Report::new(JobOutcome::ChunksDefined);
        match self {
            Self::Rework { pull } => report.say(format!("what pull request #{pull} waits for is one chunk")),
            Self::Whole => report.say("the issue has no open criteria, so it is one chunk"),
            Self::Split { chunks, most, grouping } => {
                let open = chunks.iter().map(Vec::len).sum::<usize>() as u64;
                let criteria = counted(open, "criterion", "criteria");
                let count = counted(chunks.len() as u64, "chunk", "chunks");
                report
                    .with("acs", json!(chunks))
                    .say(format!("{criteria} in {count} of at most {most}"))
                    .say_all(match grouping {
                        Grouping::InOrder => None,
                        Grouping::Planned => Some("as the plan groups them".to_owned()),
                        Grouping::NotAsPlanned(why) => Some(format!("the plan's grouping is ignored: {why}")),
                    })
            }
        }
    }
}

pub(crate) fn carry_out(cx: &mut Context<'_>, task: Task<'_>, _: &Durable) -> Result<Outcome, JobError> {
    let run = task.run();
    let most = usize::try_from(run.settings.get(keys::MAX_ACS_PER_COMMIT)).unwrap_or(usize::MAX).max(1);
    let open = match &run.issue {
        Some(issue) => issue::open_criteria(&*cx.tracker(), issue)?,
        None => Vec::new(),
    };
    if let Some(pull) = run.facts.issue.selected.get("pull") {
        return Ok(Outcome::Rework { pull: pull.to_string() });
    }
    if open.is_empty() {
        return Ok(Outcome::Whole);
    }
    let proposal = run.facts.issue.plan.as_ref().and_then(|plan| plan.get("chunks"));
    let (chunks, grouping) = match proposal.map(|chunks| proposed(chunks, &open, most)) {
        Some(Ok(chunks)) => (chunks, Grouping::Planned),
        Some(Err(why)) => (in_order(&open, most), Grouping::NotAsPlanned(why)),
        None => (in_order(&open, most), Grouping::InOrder),
    };
    Ok(Outcome::Split { chunks, most, grouping })
}

fn in_order(open: &[String], most: usize) -> Vec<Vec<String>> {
    open.chunks(most).map(<[String]>::to_vec).collect()
}

/// Checks a grouping that an agent proposes: each open criterion exactly once, and no chunk too large.
fn proposed(chunks: &Value, open: &[String], most: usize) -> Result<Vec<Vec<String>>, String> {
    let chunks: Vec<Vec<String>> = serde_json::from_value(chunks.clone())
        .map_err(|_| "it is no list of lists of criteria".to_owned())?;
    if let Some(chunk) = chunks.iter().find(|chunk| chunk.is_empty() || chunk.len() > most) {
        return Err(format!("a chunk has {} criteria; 1 to {most} are possible", chunk.len()));
    }
    let mut named: Vec<&String> = chunks.iter().flatten().collect();
    let mut wanted: Vec<&String> = open.iter().collect();
    named.sort();
    wanted.sort();
    if named != wanted {
        return Err("it does not have each open criterion exactly once".to_owned());
    }
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> Vec<String> {
        ["AC-01", "AC-02", "AC-03"].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_grouping_is_taken_if_each_open_criterion_is_in_it_once() {
        let chunks = proposed(&json!([["AC-03"], ["AC-02", "AC-01"]]), &open(), 2).unwrap();
        assert_eq!(chunks, [vec!["AC-03"], vec!["AC-02", "AC-01"]]);
    }

    #[test]
    fn a_grouping_that_leaves_out_repeats_or_overfills_is_not() {
        for (chunks, why) in [
            (json!([["AC-01"], ["AC-02"]]), "it does not have each open criterion exactly once"),
            (json!([["AC-01", "AC-01"], ["AC-02"]]), "it does not have each open criterion exactly once"),
            (json!([["AC-01", "AC-02", "AC-03"]]), "a chunk has 3 criteria; 1 to 2 are possible"),
            (json!([[], ["AC-01"]]), "a chunk has 0 criteria; 1 to 2 are possible"),
            (json!("all"), "it is no list of lists of criteria"),
        ] {
            assert_eq!(proposed(&chunks, &open(), 2), Err(why.to_owned()), "{chunks}");
        }
    }
}
