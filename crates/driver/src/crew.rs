//! Who works: an agent for each role, and others that take over where that one cannot.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use adapters::agent::{self, Agent, NamedError};
use engine::{Settings, Workflow, keys, workflow::Activity};

use crate::spend::Spender;

/// The agents of a run, each made when it is first needed.
pub(crate) struct Crew {
    /// The one agent that does everything.
    only: Option<Arc<dyn Agent>>,
    /// The agent that a person has named for this time, whatever is set.
    wanted: Option<String>,
    directory: PathBuf,
    warp: PathBuf,
    made: BTreeMap<String, Arc<dyn Agent>>,
    /// Those that turned out not to be there when they were asked.
    gone: BTreeSet<String>,
}

/// One that can work in a role.
#[derive(Clone)]
pub(crate) struct Hand {
    /// The agent as it is written where it is named.
    pub(crate) name: String,
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
    /// The pool of credentials that it uses.
    pub(crate) pool: String,
}

impl Hand {
    /// Returns the name by which a person knows it.
    pub(crate) fn agent_name(&self) -> String {
        if self.name.is_empty() { self.agent.name().to_owned() } else { self.name.clone() }
    }

    /// Says who spends when it works.
    pub(crate) fn spender(&self) -> Spender<'_> {
        let is_metered = self.agent.takes_route(self.model.as_deref());
        Spender { agent: self.agent.name(), pool: &self.pool, is_metered }
    }
}

impl Crew {
    /// Makes a crew for whoever works in `directory`; a person's own word is in `wanted`.
    pub(crate) fn new(directory: &Path, warp: PathBuf, wanted: Option<String>) -> Self {
        let (made, gone) = (BTreeMap::new(), BTreeSet::new());
        Self { only: None, wanted, directory: directory.to_owned(), warp, made, gone }
    }

    /// Makes a crew of one agent in this process.
    pub(crate) fn of_one(agent: Arc<dyn Agent>) -> Self {
        Self { only: Some(agent), ..Self::new(Path::new(""), PathBuf::new(), None) }
    }

    /// Sees to it that somebody can work in every role that a workflow asks for.
    pub(crate) fn check(&mut self, settings: &Settings, workflow: &Workflow) -> Result<(), NamedError> {
        let phases = workflow.phases.iter().filter(|phase| phase.activity == Activity::Agent);
        let roles: BTreeSet<Option<&str>> = phases.map(|phase| phase.role.as_deref()).collect();
        roles.into_iter().try_for_each(|role| self.hands(settings, role).map(|_| ()))
    }

    /// Does without an agent that is not there, if another can work in the role; tells whether one can.
    pub(crate) fn lose(
        &mut self,
        settings: &Settings,
        role: Option<&str>,
        name: &str,
    ) -> Result<bool, NamedError> {
        let has_others = self.hands(settings, role)?.iter().any(|hand| hand.name != name);
        if has_others {
            self.gone.insert(name.to_owned());
        }
        Ok(has_others)
    }

    /// Returns those that can work in a role, best first: at least one.
    pub(crate) fn hands(&mut self, settings: &Settings, role: Option<&str>) -> Result<Vec<Hand>, NamedError> {
        let role = settings.role(role);
        let usual = || settings.get(keys::AGENT).to_owned();
        let first = self.wanted.clone().or_else(|| role.agent.clone()).unwrap_or_else(usual);
        // A model is named for the role's own agent, and says nothing to another.
        let is_meant = role.agent.as_ref().is_none_or(|agent| *agent == first);
        let model = role.model.clone().filter(|_| is_meant);
        let named =
            [(first, model)].into_iter().chain(role.fallbacks.iter().cloned().map(|name| (name, None)));
        let (mut hands, mut missing) = (Vec::new(), None);
        for (name, model) in named {
            match self.agent(&name) {
                Ok(agent) => {
                    let pool = match settings.get(keys::POOL) {
                        // Nobody knows whose credentials such an agent uses, so it shares them with none.
                        "auto" if agent.provider() == "other" => name.clone(),
                        "auto" => agent.provider().to_owned(),
                        pool => pool.to_owned(),
                    };
                    hands.push(Hand { name, pool, agent, model, effort: role.effort.clone() });
                }
                Err(error @ NamedError::NotInstalled(_)) => missing = missing.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        if hands.iter().any(|hand| !self.gone.contains(&hand.name)) {
            hands.retain(|hand| !self.gone.contains(&hand.name));
        }
        match missing {
            Some(error) if hands.is_empty() => Err(error),
            Some(_) | None => Ok(hands),
        }
    }

    fn agent(&mut self, name: &str) -> Result<Arc<dyn Agent>, NamedError> {
        if let Some(agent) = self.only.as_ref().or_else(|| self.made.get(name)) {
            return Ok(Arc::clone(agent));
        }
        let agent = agent::named(name, &self.directory, &self.warp)?;
        self.made.insert(name.to_owned(), Arc::clone(&agent));
        Ok(agent)
    }
}
