//! Which forge a project uses: found by its remote, asked with the token that belongs to that server.
//!
//! A project without a remote, or without a token for its server, has its issues in its own journal, unless it was said
//! that they are on the server: then every call says what is missing. A workspace's repository decides nothing here; the
//! person's checkout does.

mod chosen;
mod net;
mod token;
mod unusable;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use adapters::{clock::Clock, git::Git};
use forge::{
    Author, Budget, Forge, ForgeError, Hosting, Refusal, Remote, Settings, SharedChecks, Site, SiteKind,
    Tracker, Unchecked, Woodpecker, http::SharedNet,
};

use crate::{Dirs, Hosts, Place, config::ConfigError};
use unusable::Unusable;

pub use chosen::{CheckSource, ForgeSettings};
pub use net::ForgeNet;
pub use token::{Environment, Found, LoginError, Logins, Source, Token};

/// Where a project's issues and pull requests are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// On the remote's server if there is a token for it; otherwise in the journal.
    #[default]
    Auto,
    /// In the journal.
    Local,
    /// On the remote's server, of this kind if that cannot be found out.
    Server(Option<SiteKind>),
}

/// What was found for a project.
#[derive(Clone, Debug)]
pub enum Forged {
    /// The journal, for this reason; with the host of a server that could be used with a token.
    Local { why: String, host: Option<String> },
    /// A server.
    Server { remote: Remote, site: Site, kind: SiteKind, source: Source, checks: Option<SharedChecks> },
}

/// Why a project's server cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HostingError {
    #[error("the project has no remote on a server: {0}")]
    NoRemote(String),
    #[error("`{host}` is neither GitHub nor Forgejo, as far as it says")]
    UnknownServer { host: String },
    #[error("there is no token for `{host}`")]
    NoToken { host: String },
    #[error("there is no token for Woodpecker: WOODPECKER_TOKEN and WOODPECKER_SERVER (`{url}`) have it")]
    NoWoodpeckerToken { url: String },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Login(#[from] LoginError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
}

/// Finds servers by the remotes of projects. What was read of a server is shared by all who ask for it.
pub struct Servers {
    logins: Logins,
    clock: Clock,
    choose: Box<Choose>,
    known: Mutex<BTreeMap<String, Remote>>,
    kinds: Mutex<BTreeMap<String, SiteKind>>,
}

/// Says what a project has chosen.
type Choose = dyn Fn(&Place) -> Result<ForgeSettings, ConfigError> + Send + Sync;

impl Servers {
    /// Creates it; `choose` says what the settings of a project say.
    pub fn new(
        logins: Logins,
        clock: Clock,
        choose: impl Fn(&Place) -> Result<ForgeSettings, ConfigError> + Send + Sync + 'static,
    ) -> Self {
        Self { logins, clock, choose: Box::new(choose), known: Mutex::default(), kinds: Mutex::default() }
    }

    /// Creates it for a user: by their settings and their projects', and with their tokens.
    pub fn of_user(dirs: &Dirs, environment: Environment) -> Self {
        let (logins, clock) = (Logins::new(&dirs.config, environment), dirs.clock.clone());
        let dirs = dirs.clone();
        Self::new(logins, clock, move |place| ForgeSettings::read(place, &dirs))
    }

    /// Returns the tokens that there are.
    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    /// Finds the forge of a project.
    pub fn find(&self, place: &Place) -> Result<Forged, HostingError> {
        let chosen = match (self.choose)(place) {
            Ok(chosen) => chosen,
            // Settings that cannot be read stop what needs them; where there is no server, nothing here does.
            Err(error) if site_of(place).is_err() => {
                return Ok(Forged::Local { why: error.to_string(), host: None });
            }
            Err(error) => return Err(error.into()),
        };
        let wanted = match chosen.choice {
            Choice::Local => return Ok(Forged::Local { why: "the settings say so".to_owned(), host: None }),
            Choice::Auto => None,
            Choice::Server(kind) => Some(kind),
        };
        let found = self.server_of(place, wanted.flatten(), chosen);
        match found {
            Err(
                error @ (HostingError::NoRemote(_)
                | HostingError::NoToken { .. }
                | HostingError::UnknownServer { .. }),
            ) if wanted.is_none() => {
                let why = error.to_string();
                let host = if let HostingError::NoToken { host } = error { Some(host) } else { None };
                Ok(Forged::Local { why, host })
            }
            found => found,
        }
    }

    fn server_of(
        &self,
        place: &Place,
        kind: Option<SiteKind>,
        chosen: ForgeSettings,
    ) -> Result<Forged, HostingError> {
        let site = site_of(place)?;
        let no_token = || HostingError::NoToken { host: site.host.clone() };
        let login = self.logins.find(&site.host, site.kind)?.ok_or_else(no_token)?;
        let kind = match kind.or(site.kind).or(login.kind) {
            Some(kind) => kind,
            None => self.probe(&site)?,
        };
        let remote = self.remote(&site, kind, &login.token, chosen.access)?;
        let checks = self.checks(&remote, chosen.checks)?;
        Ok(Forged::Server { remote, site, kind, source: login.source, checks })
    }

    /// Returns what has to be green before the server merges; none where the project's own tests are all there is.
    fn checks(&self, remote: &Remote, source: CheckSource) -> Result<Option<SharedChecks>, HostingError> {
        Ok(match source {
            CheckSource::Command => None,
            CheckSource::None => Some(Arc::new(Unchecked)),
            CheckSource::Server(contexts) => Some(remote.actions(contexts)),
            CheckSource::Woodpecker { url, repository, required } => {
                let host = token::host_in(&url).unwrap_or_default();
                let login = self.logins.find(&host, Some(SiteKind::Forgejo))?;
                let login = login.ok_or_else(|| HostingError::NoWoodpeckerToken { url: url.clone() })?;
                let base = format!("{}/api", url.trim_end_matches('/'));
                let net: SharedNet = Arc::new(self.net(&base, Some(login.token))?);
                Some(Arc::new(Woodpecker::new(net, repository, required)))
            }
        })
    }

    fn remote(
        &self,
        site: &Site,
        kind: SiteKind,
        token: &Token,
        settings: Settings,
    ) -> Result<Remote, HostingError> {
        let api = site.api(kind);
        let key = format!("{api} {}/{} {settings:?} {}", site.owner, site.repository, token.fingerprint());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(remote) = known.get(&key) {
            return Ok(remote.clone());
        }
        let net: SharedNet = Arc::new(self.net(&api, Some(token.clone()))?);
        let remote = match kind {
            SiteKind::GitHub => Remote::github(net, &site.owner, &site.repository, settings),
            SiteKind::Forgejo => Remote::forgejo(net, &site.owner, &site.repository, settings),
        };
        known.insert(key, remote.clone());
        Ok(remote)
    }

    /// Asks a server what it is, once.
    fn probe(&self, site: &Site) -> Result<SiteKind, HostingError> {
        if let Some(kind) = self.kinds.lock().unwrap_or_else(PoisonError::into_inner).get(&site.web) {
            return Ok(*kind);
        }
        let net: SharedNet = Arc::new(self.net(&site.web, None)?);
        let unknown = || HostingError::UnknownServer { host: site.host.clone() };
        let kind = Site::probe(&net)?.ok_or_else(unknown)?;
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).insert(site.web.clone(), kind);
        Ok(kind)
    }

    fn net(&self, base: &str, token: Option<Token>) -> Result<ForgeNet, ForgeError> {
        ForgeNet::new(base, token, self.clock.clone()).map_err(ForgeError::unreachable)
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Servers").field("logins", &self.logins).finish_non_exhaustive()
    }
}

impl Hosts for Servers {
    fn of(&self, place: &Place) -> Option<Arc<dyn Hosting>> {
        match self.find(place) {
            Ok(Forged::Local { .. }) => None,
            Ok(Forged::Server { remote, checks, .. }) => Some(Arc::new(Hosted { remote, checks })),
            Err(error) => Some(Arc::new(Unusable::new(&error))),
        }
    }

    fn about(&self, place: &Place) -> Option<String> {
        match self.find(place) {
            Ok(Forged::Local { host, .. }) => host.map(|host| {
                format!("warp's journal: there is no token for {host} (`warp forge login` keeps one)")
            }),
            Ok(Forged::Server { remote, site, .. }) => {
                let account = match remote.account() {
                    Ok(account) => format!("as {account}"),
                    Err(error) => format!("unusable: {error}"),
                };
                Some(format!("{}/{}/{} {account}", site.host, site.owner, site.repository))
            }
            Err(error) => Some(format!("unusable: {error}")),
        }
    }
}

/// A server, and the checks that count there.
#[derive(Debug)]
struct Hosted {
    remote: Remote,
    checks: Option<SharedChecks>,
}

impl Hosting for Hosted {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker> {
        self.remote.tracker(by)
    }

    fn forge(&self, by: Author) -> Arc<dyn Forge> {
        self.remote.forge(by)
    }

    fn checks(&self) -> Option<SharedChecks> {
        self.checks.clone()
    }

    fn budget(&self) -> Option<Budget> {
        self.remote.budget()
    }
}

/// Reads off a project's remote which server it is on.
fn site_of(place: &Place) -> Result<Site, HostingError> {
    let checkout = place.origin().unwrap_or(&place.root);
    let (_, address) = Git::new(checkout).remote().map_err(HostingError::NoRemote)?;
    let on_disk = || HostingError::NoRemote("it is on this machine".to_owned());
    Site::of(&address).ok_or_else(on_disk)
}

impl From<&HostingError> for Refusal {
    fn from(error: &HostingError) -> Self {
        Self::Credentials { why: error.to_string() }
    }
}
