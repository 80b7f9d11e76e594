//! Asks a person once, before a project's first run with a remote, what may be pushed.

use engine::{keys, view::Asked};
use project::{
    BeginError, Dirs, Place, Workspace, config,
    pushing::{Consent, Goal, PUSH},
};

use crate::{
    interrupts::Interrupts,
    show::{Show, Shown},
    start::{Options, StartError, chosen_level},
};

/// Asks what may be pushed, if that is not known and somebody is there to say; the answer is remembered for the project.
/// It can also be given by `warp config` from elsewhere. Whoever interrupts the question is asked again next time.
pub fn ask_push(
    place: &Place,
    dirs: &Dirs,
    options: &Options,
    interrupts: &Interrupts,
    show: &mut dyn Show,
) -> Result<(), StartError> {
    if !show.is_attended() {
        return Ok(());
    }
    let mut here = Workspace::open(place.clone(), dirs.clone())?;
    let (config, target) = here.configuration_and_target(&options.set).map_err(BeginError::Config)?;
    let level =
        chosen_level(options, &config).unwrap_or_else(|| config.settings.get(keys::AUTOMATION_ACTIVE_LEVEL));
    let goal = Goal::of(level, config.settings.get(keys::AUTO_MERGE));
    let Some(consent) = Consent::wanted(place, &config.settings, (goal, &target), true) else {
        return Ok(());
    };
    let asked = Asked {
        id: PUSH.to_owned(),
        question: consent.question.clone(),
        options: consent.options.clone(),
        deadline: None,
    };
    let bell = dirs.clock.bell();
    let rung = bell.clone();
    let _settings = config::watch(place, dirs, move || rung.ring()).map_err(BeginError::Config)?;
    interrupts.ring(bell.clone());
    show.ring(bell.clone());
    show.show(Shown::Consent(&asked));
    // A person who is at the terminal is waited for as long as they take; a signal ends it.
    while !interrupts.is_asked() {
        if let Some(reply) = show.reply(&asked) {
            Consent::remember(place, dirs, &reply.option).map_err(BeginError::Config)?;
            show.show(Shown::Did(&format!("push = \"{}\" is remembered for this project", reply.option)));
            return Ok(());
        }
        let config = here.configuration(&options.set).map_err(BeginError::Config)?;
        if config.settings.get(keys::PUSH) != "ask" {
            return Ok(());
        }
        bell.wait(None);
    }
    Ok(())
}
