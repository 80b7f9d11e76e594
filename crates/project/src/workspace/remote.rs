//! Events of runs that work elsewhere: in another directory, or in none that is on this machine.

use adapters::machine;
use engine::{Actor, Advice, Event, Observations, Probe, Record};
use runs::{Answer, Current, Shown, Views, unseen};
use serde_json::{Map, Value};

use super::{AskError, Error, Workspace};
use crate::Place;

/// The views of a run whose directory is not on this machine: what the project keeps of it, from one of its workspaces.
struct Remote<'a>(&'a mut Workspace);

impl Workspace {
    /// Opens the workspace in which an open run of the project works; nothing if that is no directory on this machine.
    pub fn of_run(&self, current: &Current) -> Result<Option<Self>, Error> {
        let is_here = machine::is_here(&current.run.owner);
        let root = current.run.workspace().filter(|root| is_here || *root == self.place.mark());
        let Some(place) = root.and_then(|root| Place::at(root.as_ref()).ok()) else { return Ok(None) };
        let mut workspace = Self::open(place, self.dirs.clone())?;
        // Something else may be there by now.
        let is_its = workspace.current()?.is_some_and(|there| there.run.id == current.run.id);
        Ok(is_its.then_some(workspace))
    }

    /// Offers an event to a run of the project in a person's name, wherever it works.
    pub fn ask_run(
        &mut self,
        current: &Current,
        event: Event,
        data: Map<String, Value>,
    ) -> Result<Answer, AskError> {
        if current.run.workspace() == Some(self.place.mark()) {
            return self.ask(event, data);
        }
        if let Some(mut workspace) = self.of_run(current)? {
            return workspace.ask(event, data);
        }
        let runs = self.runs.clone();
        let answer = runs.ask(&mut Remote(self), &current.run.id, Actor::Person, event, data)?;
        self.announce(&answer);
        Ok(answer)
    }
}

impl Views for Remote<'_> {
    type Error = Error;
    type Lock = ();

    fn lock(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn look(&mut self, current: &Current, probes: &[Probe]) -> Result<(Observations, Vec<Advice>), Error> {
        let why = match current.run.workspace() {
            Some(root) => format!("the workspace of the run, `{root}`, is not on this machine"),
            None => "the run has no workspace".to_owned(),
        };
        let mut seen = unseen(probes, &why);
        for probe in probes {
            if let Probe::Boxes { issue } = probe {
                seen.boxes = Some(self.0.tracker().boxes(issue));
            }
        }
        Ok((seen, Vec::new()))
    }

    fn before_record(&mut self, before: &Current, after: &Current) -> Result<Shown, Error> {
        if !after.run.is_open() {
            self.0.note_session(&after.run)?;
        }
        Ok(before.shown.left_behind())
    }

    fn after_record(&mut self, current: &Current, _: &[Record]) -> Result<Vec<Advice>, Error> {
        Ok(self.0.settle_ended(current).into_iter().collect())
    }
}
