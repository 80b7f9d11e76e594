//! Webhooks: what a forge tells others of its own accord, signed.

use std::{
    io::{Read as _, Write as _},
    net::{TcpStream, ToSocketAddrs as _},
    time::Duration,
};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    forgejo, github,
    traps::Trap,
    world::{Kind, Label, World, checks::Status},
};

/// How long a receiver may take to accept a delivery and to answer it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The block size of SHA-256, in bytes.
const BLOCK: usize = 64;

/// Somebody who wants to be told.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    pub(crate) repo: u64,
    pub(crate) url: String,
    pub(crate) secret: String,
    /// The names of the events; all if there are none.
    pub(crate) events: Vec<String>,
}

/// What was sent to somebody who wants to be told.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub url: String,
    pub event: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
    /// What the receiver answered; none if it could not be reached.
    pub status: Option<u16>,
}

/// What a webhook is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Issue,
    Pull,
    Review,
    Run(u64),
}

impl Topic {
    pub(crate) fn item(is_pull: bool) -> Self {
        if is_pull { Self::Pull } else { Self::Issue }
    }

    fn event(self) -> &'static str {
        match self {
            Self::Issue => "issues",
            Self::Pull => "pull_request",
            Self::Review => "pull_request_review",
            Self::Run(_) => "workflow_run",
        }
    }
}

impl World {
    fn is_heard(&self, repo: usize) -> bool {
        let id = self.repos[repo].id;
        self.hooks.iter().any(|hook| hook.repo == id)
    }

    pub(crate) fn announce(
        &mut self,
        topic: Topic,
        action: &str,
        repo: usize,
        number: Option<u64>,
        actor: &str,
    ) {
        if !self.is_heard(repo) {
            return;
        }
        let mut payload = json!({ "action": action });
        if let Some(number) = number {
            let (key, item) = match topic {
                Topic::Pull | Topic::Review => ("pull_request", self.shown_pull(repo, number)),
                Topic::Issue | Topic::Run(_) => ("issue", self.shown_issue(repo, number)),
            };
            payload["number"] = json!(number);
            payload[key] = item;
        }
        if let Topic::Run(id) = topic {
            payload["workflow_run"] = match self.kind {
                Kind::GitHub => github::runs::run(self, repo, id),
                Kind::Forgejo(_) | Kind::Gitea => forgejo::runs::run(self, repo, id),
            };
        }
        self.post(repo, topic.event(), actor, payload);
    }

    pub(crate) fn announce_label(
        &mut self,
        topic: Topic,
        action: &str,
        repo: usize,
        number: u64,
        actor: &str,
        label: &Label,
    ) {
        if !self.is_heard(repo) {
            return;
        }
        let (key, item) = match topic {
            Topic::Pull | Topic::Review => ("pull_request", self.shown_pull(repo, number)),
            Topic::Issue | Topic::Run(_) => ("issue", self.shown_issue(repo, number)),
        };
        let mut payload = json!({ "action": action, "number": number, key: item });
        if self.kind == Kind::GitHub {
            payload["label"] = github::shapes::label(self, repo, label);
        } else {
            payload["action"] = json!("label_updated");
            if !self.has(Trap::LabellessHook) {
                payload["label"] = forgejo::shapes::label(self, repo, label);
            }
        }
        self.post(repo, topic.event(), actor, payload);
    }

    pub(crate) fn announce_comment(&mut self, repo: usize, number: u64, actor: &str, action: &str, id: u64) {
        if !self.is_heard(repo) {
            return;
        }
        let Some((_, comment)) = self.find_comment(repo, id) else { return };
        let shown = match self.kind {
            Kind::GitHub => github::shapes::comment(self, repo, number, comment),
            Kind::Forgejo(_) | Kind::Gitea => forgejo::shapes::comment(self, repo, number, comment),
        };
        let issue = self.shown_issue(repo, number);
        self.post(
            repo,
            "issue_comment",
            actor,
            json!({ "action": action, "issue": issue, "comment": shown }),
        );
    }

    pub(crate) fn announce_push(
        &mut self,
        repo: usize,
        actor: &str,
        branch: &str,
        old: Option<&str>,
        new: &str,
    ) {
        if !self.is_heard(repo) {
            return;
        }
        let zero = "0".repeat(40);
        let payload =
            json!({ "ref": format!("refs/heads/{branch}"), "before": old.unwrap_or(&zero), "after": new });
        self.post(repo, "push", actor, payload);
    }

    pub(crate) fn announce_status(&mut self, repo: usize, status: &Status) {
        if !self.is_heard(repo) {
            return;
        }
        let payload = json!({
            "id": status.id, "sha": status.sha, "context": status.context, "state": status.state,
            "description": status.description, "target_url": status.target,
        });
        let creator = status.creator.clone();
        self.post(repo, "status", &creator, payload);
    }

    fn shown_issue(&self, repo: usize, number: u64) -> Value {
        match self.kind {
            Kind::GitHub => github::shapes::issue(self, repo, number),
            Kind::Forgejo(_) | Kind::Gitea => forgejo::shapes::issue(self, repo, number),
        }
    }

    fn shown_pull(&self, repo: usize, number: u64) -> Value {
        match self.kind {
            Kind::GitHub => github::shapes::pull(self, repo, number, None),
            Kind::Forgejo(_) | Kind::Gitea => forgejo::shapes::pull(self, repo, number),
        }
    }

    /// Puts a payload into the outbox of everybody who wants it.
    fn post(&mut self, repo: usize, event: &str, actor: &str, mut payload: Value) {
        let (repository, sender) = match self.kind {
            Kind::GitHub => (github::shapes::repo(self, repo), github::shapes::user(self, actor)),
            Kind::Forgejo(_) | Kind::Gitea => {
                (forgejo::shapes::repo(self, repo, Some(actor)), forgejo::shapes::user(self, actor))
            }
        };
        payload["repository"] = repository;
        payload["sender"] = sender;
        let body = payload.to_string();
        let id = self.repos[repo].id;
        let wanted = |hook: &&Hook| {
            hook.repo == id
                && (hook.events.is_empty() || hook.events.iter().any(|other| other == event || other == "*"))
        };
        let hooks: Vec<Hook> = self.hooks.iter().filter(wanted).cloned().collect();
        for hook in hooks {
            let delivery = self.id();
            let headers = headers(self.kind, event, delivery, &hook.secret, &body);
            self.outbox.push(Delivery {
                url: hook.url,
                event: event.to_owned(),
                headers,
                body: body.clone(),
                status: None,
            });
        }
    }
}

fn headers(kind: Kind, event: &str, delivery: u64, secret: &str, body: &str) -> Vec<(String, String)> {
    let signature = hmac_sha256(secret.as_bytes(), body.as_bytes());
    let delivery = format!("00000000-0000-4000-8000-{delivery:012x}");
    let names: &[&str] = match kind {
        Kind::GitHub => &["GitHub"],
        Kind::Forgejo(_) => &["Forgejo", "Gitea", "Gogs", "GitHub"],
        Kind::Gitea => &["Gitea", "Gogs", "GitHub"],
    };
    let mut all = vec![("content-type".to_owned(), "application/json".to_owned())];
    for name in names {
        all.push((format!("X-{name}-Event"), event.to_owned()));
        all.push((format!("X-{name}-Delivery"), delivery.clone()));
        if *name != "GitHub" {
            all.push((format!("X-{name}-Signature"), signature.clone()));
        }
    }
    all.push(("X-Hub-Signature-256".to_owned(), format!("sha256={signature}")));
    all
}

/// Sends a delivery to its receiver, which is on loopback, and notes what that answers.
pub(crate) fn deliver(mut delivery: Delivery) -> Delivery {
    delivery.status = send(&delivery);
    delivery
}

/// Returns the status of the receiver's answer; a receiver that is not there is told nothing.
fn send(delivery: &Delivery) -> Option<u16> {
    let rest = delivery.url.strip_prefix("http://")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = authority.to_socket_addrs().ok()?.find(|address| address.ip().is_loopback())?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    let mut text = format!("POST /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n");
    for (name, value) in &delivery.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{}", delivery.body.len(), delivery.body));
    stream.write_all(text.as_bytes()).ok()?;
    let mut first = [0; 12];
    stream.read_exact(&mut first).ok()?;
    std::str::from_utf8(&first).ok()?.rsplit(' ').next()?.parse().ok()
}

/// Signs a text as webhooks are signed, in hexadecimal digits.
pub fn hmac_sha256(secret: &[u8], text: &[u8]) -> String {
    let mut key = [0_u8; BLOCK];
    if secret.len() > BLOCK {
        let digest = Sha256::digest(secret);
        key[..digest.len()].copy_from_slice(&digest);
    } else {
        key[..secret.len()].copy_from_slice(secret);
    }
    let padded = |pad: u8| key.map(|byte| byte ^ pad);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    let outer = Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize();
    outer.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_rfc_4231() {
        assert_eq!(
            hmac_sha256(b"Jefe", b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let long = hmac_sha256(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First");
        assert!(long.starts_with("60e431591ee0b67f0d8a26aacbf5b77f"), "{long}");
    }
}
