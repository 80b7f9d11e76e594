//! The limit of requests that an account has in an hour.

use jiff::SignedDuration;
use serde_json::json;

use crate::forges::{
    http::Answer,
    world::{Rate, World},
};

/// After how long an account may begin again.
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Returns what an account has left; a new hour begins when the last one is over.
pub(crate) fn rate<'a>(world: &'a mut World, login: &str) -> &'a mut Rate {
    let (now, limit) = (world.now, world.rate_limit);
    let rate =
        world.rates.entry(login.to_owned()).or_insert(Rate { limit, remaining: limit, reset: now + HOUR });
    if now >= rate.reset {
        *rate = Rate { limit, remaining: limit, reset: now + HOUR };
    }
    rate
}

pub(super) fn is_spent(world: &mut World, login: &str) -> bool {
    rate(world, login).remaining == 0
}

pub(super) fn count(world: &mut World, login: &str) {
    let rate = rate(world, login);
    rate.remaining = rate.remaining.saturating_sub(1);
}

/// Adds the headers that tell what is left.
pub(super) fn add(world: &mut World, login: &str, answer: Answer) -> Answer {
    let date = world.now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    let rate = *rate(world, login);
    answer
        .with("date", date)
        .with("x-ratelimit-limit", rate.limit.to_string())
        .with("x-ratelimit-remaining", rate.remaining.to_string())
        .with("x-ratelimit-used", (rate.limit - rate.remaining.min(rate.limit)).to_string())
        .with("x-ratelimit-reset", rate.reset.as_second().to_string())
        .with("x-ratelimit-resource", "core")
        .with("x-github-api-version-selected", "2022-11-28")
        .with("x-oauth-scopes", "repo, workflow, read:org")
}

pub(super) fn show(world: &mut World, login: &str) -> Answer {
    let rate = *rate(world, login);
    let core = json!({ "limit": rate.limit, "remaining": rate.remaining, "reset": rate.reset.as_second(),
        "used": rate.limit - rate.remaining.min(rate.limit) });
    let body = json!({ "resources": { "core": core, "search": core, "graphql": core }, "rate": core });
    Answer::json(200, &body)
}
