//! Asking a person once, for a project, what warp may push.

use engine::{Settings, keys};

use super::{
    PUSH,
    policy::{self, Goal, Push},
};
use crate::{
    Dirs, Place,
    config::{self, ConfigError},
};

/// The question what may be pushed from a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    pub question: String,
    pub options: Vec<String>,
}

impl Consent {
    /// Returns the question, if it has to be asked: there is a remote, somebody is there, and nobody has answered.
    pub fn wanted(
        place: &Place,
        settings: &Settings,
        (goal, target): (Goal, &str),
        is_attended: bool,
    ) -> Option<Self> {
        if !policy::asks(Push::parse(settings.get(keys::PUSH)), goal, is_attended) {
            return None;
        }
        let (remote, address) = place.git().remote().ok()?;
        let address = adapters::secrets::redacted(address);
        let question = format!(
            "What may warp push to {remote} ({address})?\n\
             never   nothing leaves this machine\n\
             branch  the branch of a run; `{target}` moves here only\n\
             target  level 2: the branch of a run; level 3: `{target}` itself\n\
             It is remembered for this project; `warp config push=never` changes it."
        );
        let options = [Push::Never, Push::Branch, Push::Target].map(|push| push.as_str().to_owned());
        Some(Self { question, options: options.to_vec() })
    }

    /// Remembers an answer for the project.
    pub fn remember(place: &Place, dirs: &Dirs, answer: &str) -> Result<(), ConfigError> {
        config::remember(place, dirs, PUSH, Some(answer)).map(drop)
    }
}
