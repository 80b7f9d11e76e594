//! How the person is logged in to Codex, as far as it decides where the traffic can go.

use std::{env, fs, path::Path};

use serde_json::Value;

/// A login, by how it is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Login {
    /// The client knows the key itself.
    Own,
    /// The key is in this variable.
    Variable(&'static str),
    /// It is no key of OpenAI's interface: a ChatGPT account, or a provider of the person's own. Its traffic goes
    /// where the client takes it.
    Elsewhere,
}

impl Login {
    /// Looks how the person is logged in.
    pub(super) fn of_person() -> Self {
        let home = env::var_os("HOME").unwrap_or_default();
        let directory = Path::new(&home).join(".codex");
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        // A file that cannot be read is one that the client cannot read either.
        let text = |name: &str| fs::read_to_string(directory.join(name)).unwrap_or_default();
        Self::of(&text("config.toml"), &text("auth.json"), is_set)
    }

    fn of(config: &str, auth: &str, is_set: impl Fn(&str) -> bool) -> Self {
        let provider =
            config.parse::<toml::Table>().ok().and_then(|table| table.get("model_provider").cloned());
        if provider.is_some_and(|provider| provider.as_str() != Some("openai")) {
            return Self::Elsewhere;
        }
        let auth: Value = serde_json::from_str(auth).unwrap_or_default();
        let has = |field: &str| auth.get(field).is_some_and(|value| !value.is_null());
        match (is_set("CODEX_API_KEY") || has("OPENAI_API_KEY"), has("tokens"), is_set("OPENAI_API_KEY")) {
            (true, _, _) => Self::Own,
            (false, true, _) => Self::Elsewhere,
            (false, false, true) => Self::Variable("OPENAI_API_KEY"),
            (false, false, false) => Self::Own,
        }
    }

    pub(super) fn takes_route(self) -> bool {
        match self {
            Self::Own | Self::Variable(_) => true,
            Self::Elsewhere => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_takes_the_route_and_an_account_or_a_provider_of_ones_own_does_not() {
        let only = |name: &'static str| move |asked: &str| asked == name;
        let none = |_: &str| false;
        assert_eq!(Login::of("", "", none), Login::Own);
        assert_eq!(Login::of("", r#"{"OPENAI_API_KEY":"k"}"#, none), Login::Own);
        assert_eq!(Login::of("", "", only("CODEX_API_KEY")), Login::Own);
        assert_eq!(Login::of("", "", only("OPENAI_API_KEY")), Login::Variable("OPENAI_API_KEY"));
        let account = r#"{"OPENAI_API_KEY":null,"tokens":{"access_token":"t"}}"#;
        assert_eq!(Login::of("", account, only("OPENAI_API_KEY")), Login::Elsewhere);
        assert_eq!(Login::of("", account, only("CODEX_API_KEY")), Login::Own);
        assert_eq!(Login::of("model_provider = 'azure'", "", only("CODEX_API_KEY")), Login::Elsewhere);
        assert_eq!(Login::of("model_provider = 'openai'", "", none), Login::Own);
        assert!(Login::of("", "", none).takes_route() && !Login::Elsewhere.takes_route());
    }
}
