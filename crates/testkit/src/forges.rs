//! Stateful doubles of forges and of a CI server, on loopback, with real git repositories.
//!
//! What they model, simplify and leave out is in `FIDELITY.md`, beside this crate's `Cargo.toml`. Their traps are switched
//! with [`Double::set_trap`], their faults set with [`Double::set_fault`].
//!
//! ```
//! use testkit::forges::{GitHubDouble, Role};
//!
//! let github = GitHubDouble::start();
//! let token = github.add_user("ada", Role::Write);
//! let shop = github.create_repo("acme", "shop");
//! let number = github.issue(&shop, "ada", "Prices are wrong", "- [ ] they are right", &["backlog"]);
//! assert_eq!(github.look(&shop, number).unwrap().labels, ["backlog"]);
//! # let _ = token;
//! ```

mod double;
mod faults;
mod forgejo;
mod git;
mod github;
mod hooks;
mod http;
mod server;
mod traps;
mod woodpecker;
mod world;

use std::ops::Deref;

pub use double::{Double, IssueView, PullView, Review};
pub use faults::{Call, Fault, FaultKind};
pub use hooks::{Delivery, hmac_sha256};
pub use server::Exchange;
pub use traps::Trap;
pub use woodpecker::{BuildState, WoodpeckerDouble};
pub use world::{
    Kind, Protection, Role,
    checks::{Outcome, State},
};

/// A double of GitHub: REST below the root and below `/api/v3`, GraphQL at `/graphql` and `/api/graphql`.
pub struct GitHubDouble(Double);

impl GitHubDouble {
    pub fn start() -> Self {
        Self(Double::start(Kind::GitHub))
    }
}

impl Deref for GitHubDouble {
    type Target = Double;

    fn deref(&self) -> &Double {
        &self.0
    }
}

/// A double of Forgejo or Gitea, with its API below `/api/v1`.
pub struct ForgejoDouble(Double);

impl ForgejoDouble {
    /// Starts a Forgejo 16.
    pub fn start() -> Self {
        Self::start_as(Kind::Forgejo(16))
    }

    /// Starts a Forgejo of another version, or a Gitea.
    pub fn start_as(kind: Kind) -> Self {
        assert_ne!(kind, Kind::GitHub, "that is another double");
        Self(Double::start(kind))
    }
}

impl Deref for ForgejoDouble {
    type Target = Double;

    fn deref(&self) -> &Double {
        &self.0
    }
}
