//! Before the work begins: what it needs, which issue is taken, and how that is split.

use adapters::git::{Listed, slug};
use engine::{Actor, Event, EventName, Run, Seen, keys, workflow::Subject};
use forge::{Item, ItemId};
use project::{Current, counted, rails, why_nothing};
use serde_json::{Map, Value, json};

use crate::{Context, JobError, advance::Report, issue};

impl Context<'_> {
    pub(crate) fn prerequisites(&self, run: &Run) -> Result<Report, JobError> {
        let mut report = Report::new("prerequisites_ok");
        match self.git().head() {
            Seen::Value(_) => {}
            Seen::Absent(why) | Seen::Failed(why) => {
                return Err(JobError::World(format!("{why}: make a first commit")));
            }
        }
        let command = suite::command(&self.place.root, run)?;
        if let Some(why) =
            suite::cannot_begin(&command, run).filter(|_| run.settings.get(keys::TEST_BEFORE_COMMIT))
        {
            return Err(JobError::World(why));
        }
        // With an environment of the slot's own that is looked at once it is there.
        if run.settings.get(keys::TEST_BEFORE_COMMIT) && (self.slot.is_none() || !suite::prepares(run)) {
            suite::refuse_what_leads_back(&self.shell, &self.place, &command)?;
        }
        if self.slot.is_some() {
            let place =
                if run.settings.get(keys::WORKSPACE) == "worktree" { "a worktree" } else { "a clone" };
            return Ok(report.say(format!("level {}, {place} of its own, tests by `{command}`", run.level)));
        }
        let branch = self.git().branch();
        if branch.is_empty() {
            return Err(JobError::World(
                "HEAD is on no branch: `git switch -c feature/NAME` makes one".to_owned(),
            ));
        }
        let is_shared = branch == run.branches.main_branch;
        if is_shared && run.level < 3 {
            return Err(JobError::World(format!(
                "Must not be on main/master: `/start-work` or `git switch -c feature/NAME` leaves `{branch}`"
            )));
        }
        let place = if is_shared { "a branch for the issue" } else { &format!("branch {branch}") };
        report = report.say(format!("level {}, {place}, tests by `{command}`", run.level));
        if let Seen::Value(diff) = self.git().diff(None, &[], &mut Listed::default())
            && diff.count > 0
        {
            report = report.say(format!(
                "{} files are not committed; those that stay as they were when the run began are left out of its commits",
                diff.count
            ));
        }
        Ok(report)
    }

    /// Takes the issue that was asked for, or the next one that is ready.
    pub(crate) fn discover(&mut self, current: &Current) -> Result<Report, JobError> {
        let run = &current.run;
        let named = run.issue.clone().filter(|_| !run.facts.wants_another);
        let (issue, said) = match named {
            Some(issue) => {
                let item =
                    ItemId::typed(&issue).map(|number| self.tracker().item(number)).transpose()?.flatten();
                let said = item.as_deref().map_or_else(|| format!("issue {issue} was asked for"), next);
                (issue, said)
            }
            None => match self.take_next(&run.id)? {
                Some(item) => (item.id.to_string(), next(&item)),
                None => return Ok(Report::new("no_work").say(why_nothing(&self.queue()?))),
            },
        };
        let begun = self.begin_work(run, &issue, run.facts.wants_another)?;
        let mut report = Report::new("work_selected")
            .with("requirement", json!(issue))
            .with("branch", json!(begun.branch))
            .say(said);
        report.data.extend(begun.data);
        report.said.extend(begun.said);
        Ok(report)
    }

    /// Begins the branch of a feature, if there is none yet, and notes it. In a person's checkout it begins where they stand
    /// on the merge target, and any other branch is taken for the one that they want.
    pub fn begin_feature(&mut self, current: &Current) -> Result<(), JobError> {
        let run = &current.run;
        let Some(feature) = run.feature.as_ref().filter(|_| current.workflow.subject == Subject::Feature)
        else {
            return Ok(());
        };
        let mut branch = self.git().branch();
        let name = format!("feature/{}", slug(feature));
        if self.slot.is_some() && branch.is_empty() {
            let base = self.base_commit(run)?;
            let Some(slot) = &self.slot else { return Ok(()) };
            branch = slot.begin_branch(&name, &base)?;
        } else if self.slot.is_none() && branch == run.branches.merge_target {
            let free = self.git().free_branch(&name).map_err(JobError::World)?;
            self.git().begin_branch(&free, &branch).map_err(JobError::World)?;
            rails::remember(&self.place)?;
            branch = free;
        }
        if run.artifacts.branch.as_ref() != Some(&branch) {
            let data = Map::from_iter([("branch".to_owned(), json!(branch))]);
            self.ask_as(Actor::Engine, Event::Named(EventName::new(Event::NOTED)), data)?;
        }
        Ok(())
    }

    /// Splits the open criteria into chunks: as the agent proposed, if that fits, else in their order.
    pub(crate) fn chunk(&mut self, current: &Current) -> Result<Report, JobError> {
        let run = &current.run;
        let most = usize::try_from(run.settings.get(keys::MAX_ACS_PER_COMMIT)).unwrap_or(usize::MAX).max(1);
        let open = match &run.issue {
            Some(issue) => issue::open_criteria(&*self.tracker(), issue)?,
            None => Vec::new(),
        };
        let report = Report::new("chunks_defined");
        if let Some(pull) = run.facts.issue.selected.get("pull") {
            return Ok(report.say(format!("what pull request #{pull} waits for is one chunk")));
        }
        if open.is_empty() {
            return Ok(report.say("the issue has no open criteria, so it is one chunk"));
        }
        let proposal = run.facts.issue.plan.as_ref().and_then(|plan| plan.get("chunks"));
        let (chunks, said) = match proposal.map(|chunks| proposed(chunks, &open, most)) {
            Some(Ok(chunks)) => (chunks, Some("as the plan groups them".to_owned())),
            Some(Err(why)) => {
                (in_order(&open, most), Some(format!("the plan's own grouping is left: {why}")))
            }
            None => (in_order(&open, most), None),
        };
        let criteria = counted(open.len() as u64, "criterion", "criteria");
        let count =
            format!("{criteria} in {} of at most {most}", counted(chunks.len() as u64, "chunk", "chunks"));
        let report = report.with("acs", json!(chunks)).say(count);
        Ok(match said {
            Some(said) => report.say(said),
            None => report,
        })
    }
}

fn next(item: &Item) -> String {
    format!("issue {} is next: {}", item.id, item.title)
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
