//! Ways of logging in that an agent offers: which to try without a person, and what to tell one.

use std::collections::VecDeque;

use agent_client_protocol::v1::schema::{AuthMethod, AuthMethodAgent};

/// What a way is about that needs nobody: a key that is there already.
const UNATTENDED: [&str; 3] = ["key", "token", "env"];

/// Returns the ways that the agent carries out itself, those that need no person first. One in a terminal is a person's.
pub(super) fn unattended(offered: &[AuthMethod]) -> VecDeque<AuthMethodAgent> {
    let own = offered.iter().filter_map(|method| match method {
        AuthMethod::Agent(method) => Some(method.clone()),
        AuthMethod::Terminal(_) | _ => None,
    });
    let mut own: Vec<AuthMethodAgent> = own.collect();
    own.sort_by_key(|method| {
        let text = format!("{} {}", method.id, method.name).to_lowercase();
        !UNATTENDED.iter().any(|sign| text.contains(sign))
    });
    own.into()
}

/// Says what a person has to do.
pub(super) fn needed(offered: &[AuthMethod], why: &str) -> String {
    let ways: Vec<String> = offered
        .iter()
        .map(|method| match method.description() {
            Some(more) => format!("{} ({more})", method.name()),
            None => method.name().to_owned(),
        })
        .collect();
    let how = if ways.is_empty() { "as its documentation says".to_owned() } else { ways.join(", or ") };
    format!("{why}; start the agent yourself once and log in: {how}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(id: &str, name: &str, description: Option<&str>) -> AuthMethod {
        AuthMethod::Agent(
            AuthMethodAgent::new(id.to_owned(), name).description(description.map(str::to_owned)),
        )
    }

    #[test]
    fn a_key_is_tried_before_what_may_need_a_person() {
        let offered = [method("chat-gpt", "ChatGPT", None), method("api-key", "API Key", None)];
        let ids: Vec<String> = unattended(&offered).iter().map(|method| method.id.to_string()).collect();
        assert_eq!(ids, ["api-key", "chat-gpt"]);
    }

    #[test]
    fn a_person_is_told_every_way() {
        let offered = [
            method("o", "Login with opencode", Some("Run `opencode auth login` in the terminal")),
            method("k", "API Key", None),
        ];
        assert_eq!(
            needed(&offered, "Authentication required"),
            "Authentication required; start the agent yourself once and log in: Login with opencode (Run `opencode auth \
             login` in the terminal), or API Key"
        );
        assert_eq!(
            needed(&[], "Authentication required"),
            "Authentication required; start the agent yourself once and log in: as its documentation says"
        );
    }
}
