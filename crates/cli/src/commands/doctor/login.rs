//! Whether the agents that are set have access to their providers, and what their models cost.

use std::{collections::BTreeSet, env, time::Duration};

use adapters::{
    agent::{Agent, NoAnswer, ProviderFailure, named, probe},
    machine, secrets,
};
use engine::{Settings, Usage, keys};
use project::{
    Dirs, Place,
    spend::{Ledger, LedgerError, Tags, prices},
};

use super::Check;

/// How long an agent may take to answer with one word: clients start slowly.
const LIMIT: Duration = Duration::from_secs(90);

/// Asks each agent that is set for one word, and looks up the prices of all models that are named.
pub(super) fn checks(place: &Place, dirs: &Dirs, settings: &Settings) -> Vec<Check> {
    let mut checks = Vec::new();
    let roles = settings.get(keys::ROLES).into_iter().flat_map(|roles| roles.keys());
    let mut models: BTreeSet<String> = roles.filter_map(|role| settings.role(Some(role)).model).collect();
    let names: BTreeSet<String> = settings.agents().into_iter().collect();
    let warp = env::current_exe().unwrap_or_default();
    for name in names {
        // Whether a client is installed is said elsewhere.
        let Ok(agent) = named(&name, &place.root, &warp) else { continue };
        if probe::can(agent.as_ref()) {
            let (check, model) = login(place, dirs, &name, agent.as_ref());
            checks.push(check);
            models.extend(model);
        }
    }
    checks.extend(priced(dirs, &models));
    checks
}

fn login(place: &Place, dirs: &Dirs, name: &str, agent: &dyn Agent) -> (Check, Option<String>) {
    const AGAIN: &str = "try it in a terminal, then `warp doctor` again";
    let probed = match probe::ask(agent, LIMIT) {
        Ok(probed) => probed,
        Err(error) => return (Check::absent("login", format!("{name} was not tried: {error}"), AGAIN), None),
    };
    let booked = book(place, dirs, agent, &probed);
    let said = |why: &dyn std::fmt::Display| secrets::redacted(format!("{name}: {why}"));
    let check = match &probed.ended.answer {
        _ if booked.is_err() => {
            Check::failed("login", said(&"its answer cannot be booked"), "warp doctor --repair")
        }
        _ if probe::is_served(&probed.ended) => Check::ok("login", format!("{name}: its provider answers")),
        Err(NoAnswer::Provider(failure @ ProviderFailure::NoAccess { .. })) => {
            Check::failed("login", said(failure), agent.login_hint())
        }
        Err(why) => Check::absent("login", said(why), AGAIN),
        Ok(_) => Check::ok("login", format!("{name}: its provider answers")),
    };
    (check, probed.model)
}

/// Books what the word has cost.
fn book(
    place: &Place,
    dirs: &Dirs,
    agent: &dyn Agent,
    probed: &probe::ProbeResult,
) -> Result<(), LedgerError> {
    let used = &probed.ended.usage;
    let usage = Usage {
        input_tokens: used.input,
        output_tokens: used.output,
        cache_read_tokens: used.cache_read,
        cache_write_tokens: used.cache_write,
        micro_usd: 0,
    };
    if usage.is_zero() {
        return Ok(());
    }
    let tags = Tags {
        project: place.project_id().ok().flatten().unwrap_or_default(),
        phase: "doctor".to_owned(),
        agent: agent.name().to_owned(),
        pool: agent.provider().to_owned(),
        ..Tags::default()
    };
    let now = machine::now();
    let model = probed.model.as_deref().unwrap_or_default();
    let report = format!("doctor.{}.{}", std::process::id(), now.millis());
    Ledger::open(dirs)?.book_report(now, &report, &tags, usage, model).map(|_| ())
}

/// Says which models have no price of their own.
fn priced(dirs: &Dirs, models: &BTreeSet<String>) -> Vec<Check> {
    let prices = match prices(dirs) {
        Ok(prices) => prices,
        Err(error) => return vec![Check::failed("prices", error.to_string(), "correct it, or take it away")],
    };
    // A name such as `haiku` is the client's own word for a model.
    let is_name = |model: &&String| model.contains(|c: char| c.is_ascii_digit());
    let guesses =
        models.iter().filter(is_name).filter_map(|model| Some((model, prices.guessed_from(model)?)));
    let mut checks: Vec<Check> = guesses
        .map(|(model, from)| {
            let found = format!("`{model}` has no price: {from} is taken");
            Check::absent("prices", found, &format!("write it into {}", dirs.prices().display()))
        })
        .collect();
    if checks.is_empty() {
        checks.push(Check::ok("prices", format!("the list is of {}", prices.date)));
    }
    checks
}
