//! Where a request goes, and whether it is metered.

use std::{fmt, str::FromStr as _};

use hyper::{Method, Uri, http::uri::InvalidUri};

use crate::{Api, ProxyError};

/// Where the providers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upstreams {
    /// Clients add `/v1/messages`.
    pub anthropic: String,
    /// Clients add `/responses` or `/chat/completions`.
    pub openai: String,
}

impl Default for Upstreams {
    /// Returns the providers' own addresses.
    fn default() -> Self {
        Self {
            anthropic: "https://api.anthropic.com".to_owned(),
            openai: "https://api.openai.com/v1".to_owned(),
        }
    }
}

/// A family of APIs: how paths and errors look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Anthropic,
    OpenAi,
}

/// What a request is about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) provider: Provider,
    pub(crate) target: Uri,
    pub(crate) toll: Billing,
}

/// How a request is billed, by its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Billing {
    Metered(Api),
    /// Nothing: it passes.
    Free,
    /// Possibly billed, at an unknown price: refused.
    Unknown,
}

/// Every way through the proxy.
pub(crate) struct Routes {
    token: String,
    anthropic: Base,
    openai: Base,
}

/// An upstream's address without its last slash.
#[derive(Debug)]
struct Base(String);

impl Routes {
    pub(crate) fn new(token: String, upstreams: &Upstreams) -> Result<Self, ProxyError> {
        Ok(Self { token, anthropic: Base::new(&upstreams.anthropic)?, openai: Base::new(&upstreams.openai)? })
    }

    /// Tells whether some upstream wants an encrypted connection.
    pub(crate) fn are_encrypted(&self) -> bool {
        [&self.anthropic, &self.openai].into_iter().any(|base| base.0.starts_with("https:"))
    }

    /// Returns the path that clients of a provider are pointed to.
    pub(crate) fn path(&self, provider: Provider) -> String {
        format!("/{}{}", self.token, prefix(provider))
    }

    /// Finds a request's way. None: it does not know the token, or names nothing that there is.
    pub(crate) fn find(&self, method: &Method, uri: &Uri) -> Option<Route> {
        let path = uri.path().strip_prefix('/')?;
        let (token, rest) = path.split_at_checked(self.token.len())?;
        if !is_same(token, &self.token) {
            return None;
        }
        let of = |provider| rest.strip_prefix(prefix(provider)).map(|rest| (provider, rest));
        let (provider, rest) = of(Provider::Anthropic).or_else(|| of(Provider::OpenAi))?;
        if !rest.is_empty() && !rest.starts_with('/') {
            return None;
        }
        let toll = if *method == Method::POST { toll(provider, rest)? } else { Billing::Free };
        let base = match provider {
            Provider::Anthropic => &self.anthropic,
            Provider::OpenAi => &self.openai,
        };
        let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        let target = Uri::from_str(&format!("{}{rest}{query}", base.0)).ok()?;
        Some(Route { provider, target, toll })
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Routes").field(&self.anthropic).field(&self.openai).finish()
    }
}

fn prefix(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "/anthropic",
        Provider::OpenAi => "/openai/v1",
    }
}

/// Says what a posted request costs; none if its path could be read in two ways.
fn toll(provider: Provider, path: &str) -> Option<Billing> {
    let is_plain =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains(['%', ';', '\\']);
    if !path.strip_prefix('/')?.split('/').all(is_plain) {
        return None;
    }
    Some(match (provider, path) {
        (Provider::Anthropic, "/v1/messages") => Billing::Metered(Api::Messages),
        // A conversation that is made shorter is paid for like any other.
        (Provider::OpenAi, "/responses" | "/responses/compact") => Billing::Metered(Api::Responses),
        (Provider::OpenAi, "/chat/completions") => Billing::Metered(Api::Chat),
        (Provider::Anthropic, "/v1/messages/count_tokens") => Billing::Free,
        (Provider::OpenAi, "/responses/input_tokens") => Billing::Free,
        (Provider::Anthropic | Provider::OpenAi, _) => Billing::Unknown,
    })
}

/// Compares two texts in a time that does not tell where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |seen, (a, b)| seen | (a ^ b));
    one.len() == other.len() && differences == 0
}

impl Base {
    fn new(address: &str) -> Result<Self, ProxyError> {
        let bad = |reason: String| ProxyError::Upstream { address: address.to_owned(), reason };
        let uri = Uri::from_str(address).map_err(|error: InvalidUri| bad(error.to_string()))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.query().is_some() {
            return Err(bad("it must be like https://HOST or https://HOST/PATH".to_owned()));
        }
        Ok(Self(address.trim_end_matches('/').to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes() -> Routes {
        let upstreams =
            Upstreams { anthropic: "http://a.test/".to_owned(), openai: "https://o.test:8443/v1".to_owned() };
        Routes::new("t0ken".to_owned(), &upstreams).unwrap()
    }

    fn find(method: Method, path: &str) -> Option<(String, Billing)> {
        let route = routes().find(&method, &Uri::from_str(path).unwrap())?;
        Some((route.target.to_string(), route.toll))
    }

    #[test]
    fn what_costs_money_is_metered_and_what_costs_nothing_passes() {
        let post = |path: &str| find(Method::POST, path).unwrap();
        let at = |target: &str, toll| (target.to_owned(), toll);
        assert_eq!(
            post("/t0ken/anthropic/v1/messages?beta=true"),
            at("http://a.test/v1/messages?beta=true", Billing::Metered(Api::Messages))
        );
        assert_eq!(
            post("/t0ken/anthropic/v1/messages/count_tokens"),
            at("http://a.test/v1/messages/count_tokens", Billing::Free)
        );
        assert_eq!(
            post("/t0ken/openai/v1/responses"),
            at("https://o.test:8443/v1/responses", Billing::Metered(Api::Responses))
        );
        assert_eq!(
            post("/t0ken/openai/v1/chat/completions"),
            at("https://o.test:8443/v1/chat/completions", Billing::Metered(Api::Chat))
        );
        assert_eq!(
            find(Method::GET, "/t0ken/openai/v1/models"),
            Some(at("https://o.test:8443/v1/models", Billing::Free))
        );
    }

    #[test]
    fn a_posted_request_of_which_nobody_knows_what_it_costs_does_not_pass() {
        for path in [
            "/anthropic/v1/messages/batches",
            "/anthropic/v1/complete",
            "/openai/v1/completions",
            "/openai/v1/embeddings",
            "/openai/v1/responses/resp_1/cancel",
        ] {
            let (_, toll) = find(Method::POST, &format!("/t0ken{path}")).unwrap();
            assert_eq!(toll, Billing::Unknown, "{path}");
        }
    }

    #[test]
    fn a_wrong_token_and_a_path_with_two_meanings_lead_nowhere() {
        for path in [
            "/",
            "/t0ke",
            "/t0kem/anthropic/v1/messages",
            "/t0kenx/anthropic/v1/messages",
            "/t0ken/anthropicx/v1/messages",
            "/t0ken/elsewhere/v1/messages",
            "/t0ken/anthropic//v1/messages",
            "/t0ken/anthropic/v1/messages/",
            "/t0ken/anthropic/v1/./messages",
            "/t0ken/anthropic/v1/x/../messages",
            "/t0ken/anthropic/v1/%6dessages",
        ] {
            assert_eq!(find(Method::POST, path), None, "{path}");
        }
    }

    #[test]
    fn an_upstream_is_an_address_with_a_scheme() {
        for address in ["", "api.anthropic.com", "ftp://a.test", "https://a.test?x=1", "https://"] {
            let upstreams = Upstreams { anthropic: address.to_owned(), ..Upstreams::default() };
            assert!(Routes::new(String::new(), &upstreams).is_err(), "{address}");
        }
    }
}
