//! Which server a repository's remote is on, read off its address.

use crate::{
    ForgeError,
    client::{Client, Failure},
    forgejo::Version,
    http::SharedNet,
};

/// What kind of server it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteKind {
    GitHub,
    /// Forgejo or Gitea.
    Forgejo,
}

/// A repository on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// None where the address does not tell; [`Site::probe`] asks the server.
    pub kind: Option<SiteKind>,
    /// The host, with its port if it has one, in lower case.
    pub host: String,
    /// Where the server's pages begin, without a slash at the end.
    pub web: String,
    pub owner: String,
    pub repository: String,
}

const GITHUB: &str = "github.com";
/// Servers whose kind is known.
const FORGEJO: [&str; 2] = ["codeberg.org", "gitea.com"];

impl Site {
    /// Reads a remote's address: `https://…`, `ssh://…`, or `git@host:owner/repository`. None for a path on this machine
    /// and for whatever names no owner and repository.
    pub fn of(remote: &str) -> Option<Self> {
        let remote = remote.trim();
        let (scheme, rest) = match remote.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => return Self::of_scp(remote),
        };
        let (authority, path) = rest.split_once('/')?;
        let host = host_of(authority)?;
        match scheme.as_str() {
            "https" | "http" => Self::new(&scheme, &host, path, true),
            // The port is that of another service.
            "ssh" | "git+ssh" | "git" => Self::new("https", without_port(&host), path, false),
            _ => None,
        }
    }

    /// Reads `git@host:owner/repository`. A letter before the colon is a drive.
    fn of_scp(remote: &str) -> Option<Self> {
        let (authority, path) = remote.split_once(':')?;
        if authority.len() < 2 || authority.contains('/') {
            return None;
        }
        Self::new("https", without_port(&host_of(authority)?), path, false)
    }

    fn new(scheme: &str, host: &str, path: &str, has_prefix: bool) -> Option<Self> {
        let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let mut parts = path.rsplitn(3, '/');
        let (repository, owner, prefix) = (parts.next()?, parts.next()?, parts.next());
        let is_name = |text: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !text.is_empty() && text.chars().all(is_plain) && !text.chars().all(|c| c == '.')
        };
        let owner = owner.strip_prefix('~').unwrap_or(owner);
        if !is_name(owner)
            || !is_name(repository)
            || !prefix.unwrap_or_default().split('/').all(|it| it.is_empty() || is_name(it))
        {
            return None;
        }
        // GitHub's second door, for networks that block SSH.
        let host = if host == "ssh.github.com" { GITHUB } else { host.strip_prefix("www.").unwrap_or(host) };
        let kind = match host {
            GITHUB => Some(SiteKind::GitHub),
            host if host.ends_with(".ghe.com") => Some(SiteKind::GitHub),
            host if FORGEJO.contains(&host) => Some(SiteKind::Forgejo),
            _ => None,
        };
        // Where pages are below a path, an SSH address does not say so.
        let prefix =
            prefix.filter(|_| has_prefix && kind.is_none()).map(|it| format!("/{it}")).unwrap_or_default();
        Some(Self {
            kind,
            host: host.to_owned(),
            web: format!("{scheme}://{host}{prefix}"),
            owner: owner.to_owned(),
            repository: repository.to_owned(),
        })
    }

    /// Returns where the API of a server of this kind is.
    pub fn api(&self, kind: SiteKind) -> String {
        match kind {
            SiteKind::GitHub if self.host == GITHUB => "https://api.github.com".to_owned(),
            SiteKind::GitHub if self.host.ends_with(".ghe.com") => format!("https://api.{}", self.host),
            SiteKind::GitHub => format!("{}/api/v3", self.web),
            SiteKind::Forgejo => format!("{}/api/v1", self.web),
        }
    }

    /// Asks a server which kind it is; none if it is neither. `net` reaches its pages, without credentials.
    pub fn probe(net: &SharedNet) -> Result<Option<SiteKind>, ForgeError> {
        let client = Client::new(net.clone(), vec![("accept", "application/json".to_owned())]);
        let version = answered(client.get::<serde_json::Value>("/api/v1/version"))?;
        if version.and_then(|it| Version::parse(it.get("version")?.as_str()?)).is_some() {
            return Ok(Some(SiteKind::Forgejo));
        }
        let meta = answered(client.get::<serde_json::Value>("/api/v3/meta"))?;
        let is_github = meta.is_some_and(|meta| {
            ["installed_version", "verifiable_password_authentication"]
                .iter()
                .any(|it| meta.get(*it).is_some())
        });
        Ok(is_github.then_some(SiteKind::GitHub))
    }
}

/// Tells an answer that is another than expected, which is one too, from none.
fn answered<T>(asked: Result<T, Failure>) -> Result<Option<T>, ForgeError> {
    match asked {
        Ok(found) => Ok(Some(found)),
        Err(Failure::Status { .. } | Failure::Bad(_)) => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

/// Returns the host of `user:password@host:port`.
fn host_of(authority: &str) -> Option<String> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_ascii_lowercase();
    let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ':' | '[' | ']' | '_');
    (!host.is_empty() && host.chars().all(is_host)).then_some(host)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::http::scripted::Scripted;

    fn read(remote: &str) -> Option<String> {
        let site = Site::of(remote)?;
        let kinds = site.kind.map_or(vec![SiteKind::GitHub, SiteKind::Forgejo], |kind| vec![kind]);
        let apis: Vec<String> = kinds.into_iter().map(|kind| site.api(kind)).collect();
        Some(format!("{:?} {}/{} {}", site.kind, site.owner, site.repository, apis.join(" ")))
    }

    #[test]
    fn an_address_tells_server_owner_and_repository() {
        let github = "Some(GitHub) acme/shop https://api.github.com";
        let codeberg = "Some(Forgejo) acme/shop https://codeberg.org/api/v1";
        for (remote, wanted) in [
            ("https://github.com/acme/shop.git", github),
            ("https://github.com/acme/shop/", github),
            ("https://x-access-token:secret@github.com/acme/shop", github),
            ("https://www.GitHub.com/acme/shop", github),
            ("git@github.com:acme/shop.git", github),
            ("github.com:acme/shop", github),
            ("ssh://git@github.com/acme/shop.git", github),
            ("ssh://git@ssh.github.com:443/acme/shop.git", github),
            ("git://github.com/acme/shop", github),
            ("git@codeberg.org:acme/shop.git", codeberg),
            ("ssh://git@codeberg.org:22/acme/shop.git", codeberg),
            ("https://acme.ghe.com/acme/shop", "Some(GitHub) acme/shop https://api.acme.ghe.com"),
            (
                "https://git.example.org:3000/acme/shop.git",
                "None acme/shop https://git.example.org:3000/api/v3 https://git.example.org:3000/api/v1",
            ),
            (
                "https://example.org/forge/acme/shop.git",
                "None acme/shop https://example.org/forge/api/v3 https://example.org/forge/api/v1",
            ),
            (
                "ssh://git@git.example.org:2222/acme/shop.js",
                "None acme/shop.js https://git.example.org/api/v3 https://git.example.org/api/v1",
            ),
            (
                "http://127.0.0.1:4000/acme/shop",
                "None acme/shop http://127.0.0.1:4000/api/v3 http://127.0.0.1:4000/api/v1",
            ),
            (
                "ssh://me@sr.example/~acme/shop",
                "None acme/shop https://sr.example/api/v3 https://sr.example/api/v1",
            ),
        ] {
            assert_eq!(read(remote).as_deref(), Some(wanted), "{remote}");
        }
    }

    #[test]
    fn what_is_on_this_machine_is_on_no_server() {
        for remote in [
            "/srv/git/shop.git",
            "../shop",
            "shop.git",
            "file:///srv/git/shop.git",
            "C:\\git\\shop",
            "https://github.com/shop",
            "https://github.com/acme/..",
            "https://github.com/acme/sh%2fop",
            "git@github.com:shop.git",
            "ext::sh -c evil",
            "./a:b/c",
            "",
        ] {
            assert_eq!(read(remote), None, "{remote}");
        }
    }

    #[test]
    fn a_server_is_asked_what_it_is() {
        let probe = |version: (u16, &str), meta: Option<(u16, &str)>| {
            let net = Arc::new(Scripted::default());
            net.answer("GET /api/v1/version", version.0, version.1);
            if let Some((status, body)) = meta {
                net.answer("GET /api/v3/meta", status, body);
            }
            let kind = Site::probe(&(Arc::clone(&net) as SharedNet)).unwrap();
            net.finish();
            kind
        };
        assert_eq!(probe((200, r#"{"version": "16.0.0+gitea-1.22.0"}"#), None), Some(SiteKind::Forgejo));
        let ghes = r#"{"verifiable_password_authentication": true, "installed_version": "3.20.1"}"#;
        assert_eq!(probe((404, ""), Some((200, ghes))), Some(SiteKind::GitHub));
        assert_eq!(probe((200, "<html>"), Some((404, "{}"))), None);
        assert_eq!(probe((302, ""), Some((200, "{}"))), None);
    }
}
