//! The pull request: the work is handed in, and what stands in the way is typed to the agent.

use engine::{Actor, Event, EventName};
use jobs::{JobError, Published};
use project::Current;
use serde_json::{Map, json};

use super::Terminal;
use crate::{
    driver::{DriveError, Driver},
    show::Shown,
};

impl Terminal {
    /// Hands the work in; what stands in the way is typed to the agent.
    pub(super) fn hand_in(
        &mut self,
        driver: &mut Driver<'_>,
        current: &Current,
        event: EventName,
    ) -> Result<(), DriveError> {
        let data = match publish(driver, current)? {
            Ok(published) => json!({
                "pull": published.number, "branch": published.branch, "commit": published.commit,
            }),
            Err(why) => return self.type_in(driver, &format!("The work could not be handed in: {why}")),
        };
        let data = data.as_object().cloned().unwrap_or_default();
        driver.offer(Actor::Agent, Event::Named(event), data)?;
        Ok(())
    }

    /// The agent says that the pull request is merged, which is looked up.
    pub(super) fn is_it_over(
        &mut self,
        driver: &mut Driver<'_>,
        current: &Current,
    ) -> Result<(), DriveError> {
        let pull = jobs::on(&mut driver.workspace).pull_of(&current.run)?;
        let merged = pull.as_ref().and_then(|item| item.pull.as_ref()?.merged.clone());
        match (merged, pull, current.workflow.merged_event(&current.run)) {
            (Some(commit), _, Some(event)) => {
                let data = Map::from_iter([("commit".to_owned(), json!(commit))]);
                jobs::on(&mut driver.workspace).close_merged(&current.run)?;
                driver.offer(Actor::Engine, Event::Named(event.clone()), data)?;
                Ok(())
            }
            (_, Some(pull), _) => {
                self.type_in(driver, &format!("Pull request #{} is not merged yet. Wait.", pull.id))
            }
            (_, None, _) => self.type_in(
                driver,
                "Nothing is handed in yet: write PHASE:awaiting_ci to $PHASE_FILE when the work can be checked.",
            ),
        }
    }
}

/// Commits what is there, and offers it; or says what stands in the way.
fn publish(driver: &mut Driver<'_>, current: &Current) -> Result<Result<Published, String>, DriveError> {
    let durable = driver.workspace.sync()?;
    match jobs::on(&mut driver.workspace).publish(current, &durable) {
        Ok(published) => {
            driver.show.show(Shown::Did(&published.said()));
            Ok(Ok(published))
        }
        Err(JobError::World(why)) => {
            driver.show.show(Shown::Warned(&why));
            Ok(Err(why))
        }
        Err(JobError::Held(held)) => {
            if let (_, Some(asked)) = jobs::on(&mut driver.workspace).ask_about_held(current, &held)? {
                driver.took(&asked);
            }
            Ok(Err("a person is asked about what the commit guard holds; wait".to_owned()))
        }
        Err(error) => Err(error.into()),
    }
}
