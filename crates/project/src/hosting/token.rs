//! Tokens of forges: from the environment, from `gh`, or from a file that only its owner reads.
//!
//! A repository's remote can point anywhere, so a token is only ever taken for the server that it belongs to: a variable
//! that names no server counts for the one that its name stands for, or that another variable names.

use std::{
    collections::BTreeMap,
    fmt, fs,
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use adapters::process;
use engine::digest;
use forge::SiteKind;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

/// How long `gh` may take to name its token.
const PATIENCE: Duration = Duration::from_secs(10);
/// The largest file of tokens.
const LARGEST: u64 = 256 * 1024;

/// A token, which nothing shows.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

/// Returns a variable of the environment.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Where a token comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// This variable.
    Variable(&'static str),
    /// `gh auth token`.
    Gh,
    /// This file.
    File(PathBuf),
}

/// A token for a server.
#[derive(Clone, Debug)]
pub struct Found {
    pub token: Token,
    pub source: Source,
    /// What kind of server it was given for, if that was said.
    pub kind: Option<SiteKind>,
}

/// Why a token could not be looked up or kept.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("failed to read or write `{}`", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("others can read `{}`: `chmod 600` it, and replace the tokens in it", path.display())]
    Readable { path: PathBuf },
    #[error("`{}` is no file of tokens: {problem}", path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("a token is one word of visible characters")]
    NoToken,
}

/// The tokens that there are.
pub struct Logins {
    file: PathBuf,
    environment: Environment,
    asks_gh: bool,
}

/// The file of tokens.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tokens {
    format: u32,
    /// By host.
    hosts: BTreeMap<String, Kept>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    token: Token,
    kind: KeptKind,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KeptKind {
    Github,
    Forgejo,
}

/// The format of [`Tokens`].
const FORMAT: u32 = 1;

/// Variables with tokens: each counts for this host, or for the one of the address that another variable holds.
const VARIABLES: [(&str, Belongs); 8] = [
    ("WARP_FORGE_TOKEN", Belongs::ToAddressIn("WARP_FORGE_URL")),
    ("GH_TOKEN", Belongs::To("github.com")),
    ("GITHUB_TOKEN", Belongs::To("github.com")),
    ("GH_ENTERPRISE_TOKEN", Belongs::ToAddressIn("GH_HOST")),
    ("CODEBERG_TOKEN", Belongs::To("codeberg.org")),
    ("FORGEJO_TOKEN", Belongs::ToAddressIn("FORGEJO_URL")),
    ("GITEA_TOKEN", Belongs::ToAddressIn("GITEA_URL")),
    ("WOODPECKER_TOKEN", Belongs::ToAddressIn("WOODPECKER_SERVER")),
];

#[derive(Clone, Copy, Debug)]
enum Belongs {
    To(&'static str),
    ToAddressIn(&'static str),
}

impl Token {
    /// Takes a token as it was typed.
    pub fn parse(text: &str) -> Result<Self, LoginError> {
        let text = text.trim();
        let is_word = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_word { Ok(Self(text.to_owned())) } else { Err(LoginError::NoToken) }
    }

    /// Returns the token itself, for the request that it goes with.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns what tells tokens apart and cannot be turned back.
    pub(super) fn fingerprint(&self) -> String {
        digest(&self.0)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "`{name}`"),
            Self::Gh => f.write_str("`gh auth token`"),
            Self::File(path) => write!(f, "`{}`", path.display()),
        }
    }
}

impl Logins {
    /// Looks for tokens in this environment, at `gh`, and in the user's configuration directory.
    pub fn new(config: &Path, environment: Environment) -> Self {
        Self { file: config.join("forge-tokens.json"), environment, asks_gh: true }
    }

    /// Leaves `gh` out.
    #[must_use]
    pub fn without_gh(self) -> Self {
        Self { asks_gh: false, ..self }
    }

    /// Returns the token for a server: of the environment, then of the file, then of `gh`.
    pub fn find(&self, host: &str, kind: Option<SiteKind>) -> Result<Option<Found>, LoginError> {
        if let Some(found) = self.in_environment(host) {
            return found.map(Some);
        }
        if let Some(kept) = self.read()?.hosts.remove(host) {
            let kind = match kept.kind {
                KeptKind::Github => SiteKind::GitHub,
                KeptKind::Forgejo => SiteKind::Forgejo,
            };
            let source = Source::File(self.file.clone());
            return Ok(Some(Found { token: kept.token, source, kind: Some(kind) }));
        }
        if kind == Some(SiteKind::Forgejo) || !self.asks_gh {
            return Ok(None);
        }
        Ok(gh_token(host).map(|token| Found { token, source: Source::Gh, kind: Some(SiteKind::GitHub) }))
    }

    fn in_environment(&self, host: &str) -> Option<Result<Found, LoginError>> {
        VARIABLES.iter().find_map(|(name, belongs)| {
            let of = match belongs {
                Belongs::To(of) => (*of).to_owned(),
                Belongs::ToAddressIn(variable) => host_in(&(self.environment)(variable)?)?,
            };
            let value = (self.environment)(name).filter(|value| of == host && !value.trim().is_empty())?;
            let token = Token::parse(&value);
            Some(token.map(|token| Found { token, source: Source::Variable(name), kind: None }))
        })
    }

    /// Keeps a token for a server, in a file that only its owner reads.
    pub fn keep(&self, host: &str, kind: SiteKind, token: Token) -> Result<(), LoginError> {
        let kind = match kind {
            SiteKind::GitHub => KeptKind::Github,
            SiteKind::Forgejo => KeptKind::Forgejo,
        };
        let mut tokens = self.read()?;
        tokens.hosts.insert(host.to_ascii_lowercase(), Kept { token, kind });
        self.write(tokens)
    }

    /// Forgets the token of a server, and says whether there was one.
    pub fn forget(&self, host: &str) -> Result<bool, LoginError> {
        let mut tokens = self.read()?;
        let was_there = tokens.hosts.remove(host).is_some();
        if was_there {
            self.write(tokens)?;
        }
        Ok(was_there)
    }

    fn read(&self) -> Result<Tokens, LoginError> {
        let path = || self.file.clone();
        let failed = |source| LoginError::File { path: path(), source };
        let data = match fs::metadata(&self.file) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Tokens::default()),
            Err(error) => return Err(failed(error)),
        };
        if data.permissions().mode() & 0o077 != 0 {
            return Err(LoginError::Readable { path: path() });
        }
        let unreadable = |problem: String| LoginError::Unreadable { path: path(), problem };
        if data.len() > LARGEST {
            return Err(unreadable(format!("it has more than {LARGEST} bytes")));
        }
        let text = fs::read(&self.file).map_err(failed)?;
        // What is wrong is said without the text: there are tokens in it.
        let place = |error: serde_json::Error| {
            unreadable(format!("line {}, column {}", error.line(), error.column()))
        };
        let tokens: Tokens = serde_json::from_slice(&text).map_err(place)?;
        if tokens.format == FORMAT { Ok(tokens) } else { Err(unreadable("its format is another".to_owned())) }
    }

    fn write(&self, tokens: Tokens) -> Result<(), LoginError> {
        let failed = |source| LoginError::File { path: self.file.clone(), source };
        let directory = self.file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory).map_err(failed)?;
        let text = serde_json::to_vec_pretty(&Tokens { format: FORMAT, ..tokens })
            .map_err(|error| failed(error.into()))?;
        // Such a file is its owner's alone from the beginning.
        let mut file = NamedTempFile::new_in(directory).map_err(failed)?;
        file.write_all(&text).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
        file.persist(&self.file).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

impl fmt::Debug for Logins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Logins").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Returns the host of an address, or of a host alone.
pub(super) fn host_in(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split('/').next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).trim().to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

/// Asks GitHub's command line, which knows by itself for which server a token is.
fn gh_token(host: &str) -> Option<Token> {
    if !process::is_installed("gh") {
        return None;
    }
    let arguments = ["auth", "token", "--hostname", host];
    // Not being logged in is the usual failure, and the same as having no token.
    let finished =
        process::run("gh", arguments, Path::new("/"), &[("GH_PROMPT_DISABLED", "1")], PATIENCE).ok()?;
    if finished.is_success() { Token::parse(&finished.text()).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logins(config: &Path, variables: &'static [(&'static str, &'static str)]) -> Logins {
        let environment = move |name: &str| {
            variables.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned())
        };
        Logins::new(config, Arc::new(environment)).without_gh()
    }

    fn found(logins: &Logins, host: &str) -> Option<(String, Source)> {
        logins.find(host, None).unwrap().map(|found| (found.token.0, found.source))
    }

    #[test]
    fn a_token_is_only_taken_for_its_own_server() {
        let config = tempfile::tempdir().unwrap();
        let all = logins(
            config.path(),
            &[
                ("GITHUB_TOKEN", "a"),
                ("CODEBERG_TOKEN", "b"),
                ("FORGEJO_TOKEN", "c"),
                ("FORGEJO_URL", "https://git.example.org:3000/"),
                ("GITEA_TOKEN", "d"),
                ("WARP_FORGE_TOKEN", ""),
                ("WARP_FORGE_URL", "https://github.com"),
            ],
        );
        let of = |host| found(&all, host);
        assert_eq!(of("github.com"), Some(("a".to_owned(), Source::Variable("GITHUB_TOKEN"))));
        assert_eq!(of("codeberg.org"), Some(("b".to_owned(), Source::Variable("CODEBERG_TOKEN"))));
        assert_eq!(of("git.example.org:3000"), Some(("c".to_owned(), Source::Variable("FORGEJO_TOKEN"))));
        assert_eq!(
            [of("evil.example"), of("git.example.org"), of("github.com.evil.example")],
            [None, None, None]
        );
    }

    #[test]
    fn the_file_is_its_owners_alone() {
        let config = tempfile::tempdir().unwrap();
        let logins = logins(&config.path().join("warp"), &[]);
        assert_eq!(found(&logins, "git.example.org"), None);
        logins.keep("Git.example.org", SiteKind::Forgejo, Token::parse(" t1 \n").unwrap()).unwrap();
        logins.keep("github.com", SiteKind::GitHub, Token::parse("t2").unwrap()).unwrap();
        let kept = logins.find("git.example.org", None).unwrap().unwrap();
        assert_eq!((kept.token.reveal(), kept.kind), ("t1", Some(SiteKind::Forgejo)));
        assert_eq!(fs::metadata(&logins.file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(logins.forget("git.example.org").unwrap() && !logins.forget("git.example.org").unwrap());
        assert_eq!(found(&logins, "git.example.org"), None);
        fs::set_permissions(&logins.file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(logins.find("github.com", None), Err(LoginError::Readable { .. })));
    }

    #[test]
    fn nothing_shows_a_token() {
        let config = tempfile::tempdir().unwrap();
        let logins = logins(config.path(), &[("GITHUB_TOKEN", "hidden-word")]);
        let found = logins.find("github.com", None).unwrap().unwrap();
        assert!(!format!("{found:?} {logins:?}").contains("hidden-word"));
        fs::write(&logins.file, "{\"format\": 1, \"hosts\": {\"x\": \"hidden-word\"}}").unwrap();
        fs::set_permissions(&logins.file, fs::Permissions::from_mode(0o600)).unwrap();
        let error = logins.find("codeberg.org", None).unwrap_err();
        assert!(matches!(error, LoginError::Unreadable { .. }) && !error.to_string().contains("hidden-word"));
        assert!(matches!(Token::parse("two words"), Err(LoginError::NoToken)));
    }
}
