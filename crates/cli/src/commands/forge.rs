use std::{
    io::{self, BufRead as _, IsTerminal as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use ::forge::{Budget, ForgeError, Site, SiteKind};
use project::{
    Dirs, Place,
    hosting::{Forged, HostingError, LoginError, Logins, Servers, Token},
};
use serde_json::json;

use super::{person_place, place};
use crate::{error::CommandError, exit::Exit, local_time, output};

/// Log in to GitHub or Forgejo, and see which forge and account a project uses
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Keep a token for a server, in a file that only you can read; it is read from the standard input
    Login {
        /// The kind of server
        #[arg(value_enum)]
        kind: Option<Kind>,
        /// The server, such as `https://codeberg.org` [default: that of this project's remote]
        url: Option<String>,
    },
    /// Forget the token of a server
    Logout {
        /// The server, such as `https://codeberg.org` [default: that of this project's remote]
        url: Option<String>,
    },
    /// Say which forge and account this project uses, and try them
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Github,
    Forgejo,
}

impl From<Kind> for SiteKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Github => Self::GitHub,
            Kind::Forgejo => Self::Forgejo,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, project: Option<PathBuf>) -> Result<Exit, CommandError> {
    let dirs = Dirs::from_environment()?;
    let logins = Logins::new(&dirs.config, Arc::new(|name: &str| std::env::var(name).ok()));
    match &arguments.action {
        Action::Login { kind, url } => login(&logins, project, *kind, url.as_deref())?,
        Action::Logout { url } => {
            let (host, _) = server(project, url.as_deref())?;
            let said = if logins.forget(&host)? { "is forgotten" } else { "was not kept here" };
            output::print(&format!("the token for {host} {said}"))?;
        }
        Action::Check { json } => return check(&dirs, project, *json),
    }
    Ok(Exit::Done)
}

fn login(
    logins: &Logins,
    project: Option<PathBuf>,
    kind: Option<Kind>,
    url: Option<&str>,
) -> Result<(), CommandError> {
    let (host, known) = server(project, url)?;
    let kind = kind.map(SiteKind::from).or(known).ok_or_else(|| {
        CommandError::new(Exit::Usage, format!("`{host}` may be GitHub or Forgejo"))
            .hint(format!("`warp forge login forgejo https://{host}`, or `github`"))
    })?;
    if io::stdin().is_terminal() {
        output::say(&format!(
            "Paste a token for {host} and press Enter: it needs to read and write issues, pull requests and code."
        ));
    }
    let mut typed = String::new();
    io::stdin()
        .lock()
        .read_line(&mut typed)
        .map_err(|error| CommandError::new(Exit::Failed, format!("the token cannot be read: {error}")))?;
    logins.keep(&host, kind, Token::parse(&typed)?)?;
    output::print(&format!("the token for {host} is kept; `warp forge check` tries it"))
}

/// Returns the host that is meant, and its kind if that is known.
fn server(project: Option<PathBuf>, url: Option<&str>) -> Result<(String, Option<SiteKind>), CommandError> {
    let address = match url {
        Some(url) => {
            let whole = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
            format!("{}/owner/repository", whole.trim_end_matches('/'))
        }
        None => {
            let place = place(project)?;
            let root = place.origin().unwrap_or(&place.root);
            remote(root)?
        }
    };
    let site = Site::of(&address).ok_or_else(|| {
        CommandError::new(Exit::Usage, format!("`{address}` names no server"))
            .hint("name it: `warp forge login forgejo https://codeberg.org`")
    })?;
    Ok((site.host, site.kind))
}

fn remote(root: &Path) -> Result<String, CommandError> {
    let (_, address) = Place::at(root)?.git().remote().map_err(|why| {
        CommandError::new(Exit::Failed, format!("this project has no remote: {why}"))
            .hint("name the server: `warp forge login github https://github.com`")
    })?;
    Ok(address)
}

fn check(dirs: &Dirs, project: Option<PathBuf>, as_json: bool) -> Result<Exit, CommandError> {
    let workspace = super::open(project)?;
    let place = person_place(&workspace)?;
    let servers = Servers::of_user(dirs, Arc::new(|name: &str| std::env::var(name).ok()));
    let (remote, site, source) = match servers.find(&place)? {
        Forged::Local { why, .. } => {
            if as_json {
                output::print_json(&json!({ "forge": "local", "why": why }))?;
            } else {
                output::print(&format!("issues and pull requests are in warp's journal: {why}"))?;
            }
            return Ok(Exit::Done);
        }
        Forged::Server { remote, site, source, .. } => (remote, site, source),
    };
    let account = remote.account()?;
    let can_push = remote.can_push()?;
    let budget = ::forge::Hosting::budget(&remote);
    if as_json {
        output::print_json(&json!({
            "forge": site.host,
            "repository": format!("{}/{}", site.owner, site.repository),
            "account": account,
            "token": source.to_string(),
            "can_push": can_push,
            "requests_left": budget.as_ref().and_then(|budget| budget.remaining),
        }))?;
        return Ok(Exit::Done);
    }
    output::print(&format!("forge       {}", site.host))?;
    output::print(&format!("repository  {}/{}", site.owner, site.repository))?;
    output::print(&format!("account     {account}, by the token in {source}"))?;
    output::print(&format!(
        "access      {}",
        match can_push {
            Some(true) => "may push",
            Some(false) => "may not push: warp can read issues here, and open no pull request",
            None => "the server does not say whether it may push",
        }
    ))?;
    if let Some(said) = budget.as_ref().and_then(requests) {
        output::print(&format!("requests    {said}"))?;
    }
    Ok(if can_push == Some(false) { Exit::Failed } else { Exit::Done })
}

/// Says how many requests the server still allows; nothing if it does not say.
pub(super) fn requests(budget: &Budget) -> Option<String> {
    let (left, limit) = (budget.remaining?, budget.limit?);
    let until = budget.resets_at.map(|at| format!(" until {}", local_time::minute(at))).unwrap_or_default();
    Some(format!("{left} of {limit} left{until}"))
}

impl From<LoginError> for CommandError {
    fn from(error: LoginError) -> Self {
        Self::of(Exit::Configuration, &error)
    }
}

impl From<HostingError> for CommandError {
    fn from(error: HostingError) -> Self {
        match error {
            HostingError::NoToken { ref host } => Self::of(Exit::Configuration, &error)
                .hint(format!("`warp forge login https://{host}` keeps one; GH_TOKEN, CODEBERG_TOKEN and others are read too")),
            HostingError::UnknownServer { ref host } => Self::of(Exit::Configuration, &error)
                .hint(format!("`warp forge login forgejo https://{host}` says which it is")),
            HostingError::Login(error) => error.into(),
            HostingError::Config(error) => error.into(),
            HostingError::Forge(error) => ForgeError::into(error),
            HostingError::NoRemote(_) | HostingError::NoWoodpeckerToken { .. } => {
                Self::of(Exit::Configuration, &error)
            }
        }
    }
}
