//! Doubles of GitHub, Forgejo and Gitea as worlds.

use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use engine::Actor;
use forge::{Author, Forge, Hosting as _, Remote, Settings, Tracker};
use testkit::forges::{Double, ForgejoDouble, GitHubDouble, Kind, Role};

use crate::{net::Web, suite::World};

const REPO: &str = "acme/shop";
/// The people, and the account of warp, which the agents' acts are done with too.
const PEOPLE: [&str; 3] = ["Ada", "Bob", "warp"];

/// A double with a repository.
pub(crate) struct Doubled {
    server: Server,
    kind: &'static str,
    remotes: Mutex<Vec<(String, Remote)>>,
    commits: AtomicU64,
    pub(crate) settings: Settings,
    patience: Duration,
}

enum Server {
    GitHub(GitHubDouble),
    Forgejo(ForgejoDouble),
}

pub(crate) fn github() -> Doubled {
    let double = GitHubDouble::start();
    Doubled::new(Server::GitHub(double), "github")
}

pub(crate) fn forgejo() -> Doubled {
    Doubled::new(Server::Forgejo(ForgejoDouble::start()), "forgejo")
}

pub(crate) fn gitea() -> Doubled {
    Doubled::new(Server::Forgejo(ForgejoDouble::start_as(Kind::Gitea)), "gitea")
}

impl Doubled {
    fn new(server: Server, kind: &'static str) -> Self {
        let is_forgejo = matches!(server, Server::Forgejo(_));
        let trusted = if is_forgejo { PEOPLE.map(str::to_owned).to_vec() } else { Vec::new() };
        let world = Self {
            server,
            kind,
            remotes: Mutex::default(),
            commits: AtomicU64::new(0),
            settings: Settings { trusted, ..Settings::default() },
            patience: Duration::from_secs(20),
        };
        let double = world.double();
        for login in PEOPLE {
            double.add_user(login, Role::Write);
        }
        double.add_user("mallory", Role::None);
        double.create_repo("acme", "shop");
        world
    }

    /// The same world, whose clients wait only so long for an answer.
    pub(crate) fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    pub(crate) fn double(&self) -> &Double {
        match &self.server {
            Server::GitHub(double) => double,
            Server::Forgejo(double) => double,
        }
    }

    /// Returns which server this is a double of.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    pub(crate) fn repo(&self) -> &'static str {
        REPO
    }

    /// Returns the adapter with somebody's token, the same one again and again.
    pub(crate) fn remote(&self, login: &str) -> Remote {
        let mut remotes = self.remotes.lock().unwrap();
        if let Some((_, remote)) = remotes.iter().find(|(of, _)| of == login) {
            return remote.clone();
        }
        let remote = self.fresh(login);
        remotes.push((login.to_owned(), remote.clone()));
        remote
    }

    /// Returns an adapter that has read nothing yet.
    pub(crate) fn fresh(&self, login: &str) -> Remote {
        let token = format!("token-of-{login}-0123456789abcdef");
        let web = |path: &str| {
            Arc::new(Web::new(&format!("{}{path}", self.double().url()), &token).within(self.patience))
        };
        match &self.server {
            Server::GitHub(_) => Remote::github(web("/api/v3"), "acme", "shop", self.settings.clone()),
            Server::Forgejo(_) => Remote::forgejo(web("/api/v1"), "acme", "shop", self.settings.clone()),
        }
    }

    fn remote_of(&self, by: &Author) -> Remote {
        match by.actor {
            Actor::Person => self.remote(&by.name),
            Actor::Agent | Actor::Engine => self.remote("warp"),
        }
    }
}

impl World for Doubled {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker> {
        self.remote_of(&by).tracker(by)
    }

    fn forge(&self, by: Author) -> Arc<dyn Forge> {
        self.remote_of(&by).forge(by)
    }

    fn push(&self, branch: &str) -> String {
        let number = self.commits.fetch_add(1, Ordering::Relaxed);
        let (name, text) = (format!("file-{number}"), format!("{number}\n"));
        let sha = self.double().commit(REPO, "warp", branch, &[(&name, Some(&text))], "Add a file");
        self.double().settle();
        sha
    }
}

impl fmt::Debug for Doubled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Doubled")
    }
}
