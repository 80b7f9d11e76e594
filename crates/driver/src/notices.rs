//! Which notices a person gets while an agent works. Some things are told twice, by the client and by warp's own parts; they
//! are shown once, and in the same words for every client.

use std::{sync::Arc, time::Duration};

use adapters::agent::{AgentUpdate, Notice, notice::Silence};
use hooks::Server;
use meter::Retry;

/// The notices of one turn.
pub(crate) struct Notices {
    /// Knows what the rails refused, also where the client says nothing about it.
    server: Option<Arc<Server>>,
    /// Reasons of refusals that were shown and that the client may still repeat.
    shown: Vec<String>,
    silence: Silence,
    /// Whether the proxy sees every request, and so every retry.
    is_routed: bool,
    retries: u64,
}

impl Notices {
    pub(crate) fn new(server: Option<Arc<Server>>, silence: Duration, is_routed: bool) -> Self {
        Self { server, shown: Vec::new(), silence: Silence::new(silence), is_routed, retries: 0 }
    }

    /// Returns the notices that are due when the client has said something; `retry` is the last that the proxy has seen.
    pub(crate) fn due(&mut self, said: &AgentUpdate, retry: Option<Retry>) -> Vec<Notice> {
        let refused = self.server.as_ref().map(|server| server.take_refusals()).unwrap_or_default();
        self.told(refused, said, retry)
    }

    fn told(&mut self, refused: Vec<Notice>, said: &AgentUpdate, retry: Option<Retry>) -> Vec<Notice> {
        let mut due = refused;
        self.shown.extend(due.iter().filter_map(reason).map(str::to_owned));
        if let Some(retry) = retry.filter(|retry| retry.count > self.retries) {
            self.retries = retry.count;
            due.push(Notice::retry(&retry.words, retry.count, None));
        }
        due.extend(match said {
            AgentUpdate::Notice(notice) if self.is_new(notice) => Some(notice.clone()),
            AgentUpdate::Tick(quiet) => self.silence.look(*quiet),
            AgentUpdate::Notice(_)
            | AgentUpdate::Session(_)
            | AgentUpdate::Text(_)
            | AgentUpdate::Tool { .. }
            | AgentUpdate::Model(_)
            | AgentUpdate::Usage(_) => None,
        });
        due
    }

    fn is_new(&mut self, notice: &Notice) -> bool {
        match notice {
            Notice::Refused { why, .. } => match self.shown.iter().position(|shown| shown == why) {
                Some(index) => {
                    self.shown.remove(index);
                    false
                }
                None => true,
            },
            Notice::Retry { .. } => !self.is_routed,
            Notice::Wait { .. } | Notice::Silent { .. } => true,
        }
    }
}

fn reason(notice: &Notice) -> Option<&str> {
    match notice {
        Notice::Refused { why, .. } => Some(why),
        Notice::Retry { .. } | Notice::Wait { .. } | Notice::Silent { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notices(is_routed: bool) -> Notices {
        Notices::new(None, Duration::from_secs(600), is_routed)
    }

    fn texts(due: Vec<Notice>) -> Vec<String> {
        due.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_refusal_is_shown_once_whether_the_client_repeats_it_or_not() {
        let mut notices = notices(true);
        let refused = Notice::refused("Bash", "not now");
        let tick = AgentUpdate::Tick(Duration::ZERO);
        assert_eq!(texts(notices.told(vec![refused], &tick, None)), ["refused: Bash: not now"]);
        let repeated = AgentUpdate::Notice(Notice::refused("bash", "not now"));
        assert!(notices.told(Vec::new(), &repeated, None).is_empty());
        // The same words again are another refusal, which the rails know nothing of.
        assert_eq!(texts(notices.told(Vec::new(), &repeated, None)), ["refused: bash: not now"]);
    }

    #[test]
    fn a_retry_is_told_by_the_proxy_where_there_is_one_and_else_by_the_client() {
        let told = AgentUpdate::Notice(Notice::retry("overloaded", 1, Some(4)));
        let seen = |count| Some(Retry { count, words: "Overloaded".to_owned() });
        let mut routed = notices(true);
        assert_eq!(texts(routed.told(Vec::new(), &told, seen(1))), ["retries: Overloaded (retry 1)"]);
        assert!(routed.told(Vec::new(), &told, seen(1)).is_empty());
        assert_eq!(texts(routed.told(Vec::new(), &told, seen(2))), ["retries: Overloaded (retry 2)"]);
        let mut unrouted = notices(false);
        assert_eq!(texts(unrouted.told(Vec::new(), &told, None)), ["retries: overloaded (retry 1 of 4)"]);
    }

    #[test]
    fn silence_is_told_whoever_is_silent() {
        let mut notices = notices(false);
        let tick = |seconds| AgentUpdate::Tick(Duration::from_secs(seconds));
        assert!(notices.told(Vec::new(), &tick(59), None).is_empty());
        assert_eq!(
            texts(notices.told(Vec::new(), &tick(60), None)),
            ["silent: no output for 60 s, stopped at 600 s"]
        );
    }
}
