//! Failures of a model's provider: its login, its limits, its outages. None of them is the agent's fault, so none of them
//! counts against the run.
//!
//! A client says them in one of two ways: by an HTTP status with a message ([`ProviderFailure::from_status`]), or in
//! a line of text ([`ProviderFailure::from_words`]).

use engine::Time;

/// The statuses that a text is searched for.
const STATUSES: [u16; 9] = [401, 402, 403, 429, 500, 502, 503, 504, 529];
/// The words that stand before a status, and the first words of its reason phrase: any other number is no status.
const BEFORE: [&str; 7] = ["status", "statuscode", "code", "error", "http", "rejected", "returned"];
const AFTER: [&str; 9] =
    ["unauthorized", "forbidden", "payment", "too", "internal", "bad", "service", "gateway", "overloaded"];

/// Texts that say that somebody has to pay, whatever the status is.
const CREDIT: [&str; 5] =
    ["credit balance", "insufficient_quota", "insufficient credits", "insufficient balance", "billing"];
/// Texts that say that the login or the key is not accepted.
const LOGIN: [&str; 14] = [
    "not logged in",
    "please run /login",
    "please log in",
    "login required",
    "authentication required",
    "authentication_error",
    "authentication_failed",
    "auth_required",
    "invalid api key",
    "invalid x-api-key",
    "incorrect api key",
    "oauth token",
    "could not resolve authentication",
    "organization has been disabled",
];
const LIMIT: [&str; 5] =
    ["usage limit", "rate limit", "rate_limit", "too many requests", "hit your session limit"];
const OUTAGE: [&str; 10] = [
    "overloaded",
    "econnrefused",
    "econnreset",
    "etimedout",
    "enotfound",
    "connection error",
    "connection refused",
    "service unavailable",
    "error sending request",
    "high demand",
];

/// Why a provider did not serve an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFailure {
    /// Only a person can fix it; waiting does not.
    #[error("its provider denies access: {words}")]
    NoAccess { lack: MissingAccess, words: String },
    /// A usage limit, until a time where the provider names one.
    #[error("its provider refuses more for now: {words}")]
    Limit { resets_at: Option<Time>, words: String },
    /// The provider fails, or cannot be reached.
    #[error("its provider fails: {words}")]
    Outage { words: String },
}

/// What the provider requires before it grants access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingAccess {
    /// A login or a key that the provider accepts.
    Login,
    /// Money in the account.
    Credit,
}

impl ProviderFailure {
    /// Reads an error status and the provider's message. Nothing if the request itself was at fault.
    pub fn from_status(status: u16, words: &str) -> Option<Self> {
        let (text, words) = (words.to_lowercase(), words.to_owned());
        let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
        match status {
            402 => Some(Self::NoAccess { lack: MissingAccess::Credit, words }),
            400..=499 if has(&CREDIT) => Some(Self::NoAccess { lack: MissingAccess::Credit, words }),
            401 | 403 => Some(Self::NoAccess { lack: MissingAccess::Login, words }),
            400 if has(&LOGIN) => Some(Self::NoAccess { lack: MissingAccess::Login, words }),
            429 => Some(Self::Limit { resets_at: None, words }),
            500..=599 => Some(Self::Outage { words }),
            _ => None,
        }
    }

    /// Reads a client's error message. Nothing if it is about something else.
    ///
    /// Only for what a client says of its requests: an agent's own prose may name any of these words.
    pub fn from_words(words: &str) -> Option<Self> {
        let text = words.to_lowercase();
        let has = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
        let words = words.to_owned();
        if has(&CREDIT) {
            return Some(Self::NoAccess { lack: MissingAccess::Credit, words });
        }
        if has(&LOGIN) {
            return Some(Self::NoAccess { lack: MissingAccess::Login, words });
        }
        if let Some(failure) = status_in(&text).and_then(|status| Self::from_status(status, &words)) {
            return Some(failure);
        }
        if has(&LIMIT) {
            return Some(Self::Limit { resets_at: None, words });
        }
        has(&OUTAGE).then_some(Self::Outage { words })
    }

    /// Returns what was said.
    pub fn words(&self) -> &str {
        match self {
            Self::NoAccess { words, .. } | Self::Limit { words, .. } | Self::Outage { words } => words,
        }
    }
}

/// Finds the status that an error message names.
fn status_in(text: &str) -> Option<u16> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let near = |index: Option<usize>, known: &[&str]| {
        index.and_then(|index| words.get(index)).is_some_and(|word| known.contains(word))
    };
    words.iter().enumerate().find_map(|(index, word)| {
        let status = word.parse().ok().filter(|status| STATUSES.contains(status))?;
        let is_status = near(index.checked_sub(1), &BEFORE) || near(Some(index + 1), &AFTER);
        is_status.then_some(status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names a failure in one word.
    fn kind(failure: Option<ProviderFailure>) -> &'static str {
        match failure {
            Some(ProviderFailure::NoAccess { lack: MissingAccess::Login, .. }) => "login",
            Some(ProviderFailure::NoAccess { lack: MissingAccess::Credit, .. }) => "credit",
            Some(ProviderFailure::Limit { .. }) => "limit",
            Some(ProviderFailure::Outage { .. }) => "outage",
            None => "none",
        }
    }

    #[test]
    fn a_status_and_its_message_say_what_is_missing() {
        let cases = [
            (400, "messages: too long", "none"),
            (400, "Your credit balance is too low to access the Anthropic API.", "credit"),
            (400, "This organization has been disabled.", "login"),
            (401, "invalid x-api-key", "login"),
            (402, "", "credit"),
            (403, "Your account does not have access to Claude", "login"),
            (404, "model: no-such-model", "none"),
            (
                429,
                "You exceeded your current quota (insufficient_quota), check your billing details",
                "credit",
            ),
            (429, "Number of requests has exceeded your rate limit", "limit"),
            (500, "Internal server error", "outage"),
            (529, "Overloaded", "outage"),
        ];
        for (status, words, expected) in cases {
            assert_eq!(kind(ProviderFailure::from_status(status, words)), expected, "{status} {words}");
        }
    }

    #[test]
    fn what_clients_say_is_told_apart() {
        let cases = [
            ("Not logged in · Please run /login", "login"),
            ("Invalid API key · Fix external API key", "login"),
            ("unexpected status 401 Unauthorized: bad key, url: http://127.0.0.1:4290/v1/responses", "login"),
            ("OAuth token has expired. Please obtain a new token", "login"),
            ("Credit balance is too low", "credit"),
            ("API Error: 529 Overloaded. This is a server-side issue", "outage"),
            ("API Error: Connection refused — a firewall may be blocking it (ECONNREFUSED)", "outage"),
            ("unexpected status 503 Service Unavailable: busy", "outage"),
            ("API Error: Request rejected (429) · rate limited", "limit"),
            ("You've hit your usage limit. Try again at 5 PM.", "limit"),
            ("TypeError: at run (/opt/agent/index.js:401:17)", "none"),
            ("Reached maximum number of turns (429)", "none"),
            ("the agent has no model `gpt-500`", "none"),
        ];
        for (words, expected) in cases {
            assert_eq!(kind(ProviderFailure::from_words(words)), expected, "{words}");
        }
    }
}
