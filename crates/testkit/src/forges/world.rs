//! What a forge knows: people, repositories, issues, pull requests, checks. The same for all doubles; each shows it in
//! its own shapes and adds its own rules.

pub(crate) mod checks;
pub(crate) mod issues;
pub(crate) mod pulls;
pub(crate) mod pushes;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use jiff::{SignedDuration, Timestamp};

use self::checks::{CheckRun, Run, Status, Workflow};
use super::{
    git::Bare,
    hooks::{Delivery, Hook},
    traps::Trap,
};

/// Which forge a double is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    GitHub,
    /// A Forgejo of this major version.
    Forgejo(u8),
    /// Gitea 1.27.
    Gitea,
}

/// What a person may do in a repository; each role includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A stranger: may read what is public, file issues and comment.
    None,
    Read,
    Write,
    Admin,
}

#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) login: String,
    pub(crate) is_bot: bool,
    pub(crate) is_organization: bool,
    /// What it may do where nothing else is said.
    pub(crate) role: Role,
}

#[derive(Clone, Debug)]
pub(crate) struct Label {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) color: String,
    pub(crate) description: String,
}

#[derive(Debug)]
pub(crate) struct Repo {
    pub(crate) id: u64,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) bare: Bare,
    /// Branches, tags and pull requests' heads, as git has them.
    pub(crate) refs: BTreeMap<String, String>,
    pub(crate) default_branch: String,
    pub(crate) is_private: bool,
    pub(crate) is_archived: bool,
    pub(crate) roles: BTreeMap<String, Role>,
    pub(crate) labels: Vec<Label>,
    pub(crate) issues: Vec<Issue>,
    pub(crate) statuses: Vec<Status>,
    pub(crate) check_runs: Vec<CheckRun>,
    pub(crate) runs: Vec<Run>,
    pub(crate) workflows: Vec<Workflow>,
    pub(crate) protections: Vec<Protection>,
    pub(crate) created: Timestamp,
    pub(crate) last_number: u64,
}

/// What a branch asks of whoever changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    pub branch: String,
    /// How many people with write access must approve.
    pub approvals: u32,
    /// The checks that must have passed.
    pub contexts: Vec<String>,
    /// Whether a pull request must contain the branch's newest commit.
    pub is_strict: bool,
    /// Whether a push takes approvals away.
    pub dismisses_stale: bool,
    /// Whether pushes are refused, so that everything comes by pull request.
    pub refuses_pushes: bool,
}

/// An issue or a pull request: they share their numbers.
#[derive(Debug)]
pub(crate) struct Issue {
    pub(crate) id: u64,
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) author: String,
    pub(crate) is_open: bool,
    pub(crate) state_reason: Option<String>,
    pub(crate) is_locked: bool,
    pub(crate) labels: Vec<u64>,
    pub(crate) assignees: Vec<String>,
    /// Who was assigned since the double settled, and by whom: nobody else's change takes them away yet.
    pub(crate) unsettled: Vec<(String, String)>,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
    pub(crate) closed: Option<(Timestamp, String)>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) events: Vec<Event>,
    /// The issues that must be closed before this one.
    pub(crate) dependencies: Vec<u64>,
    pub(crate) pull: Option<Pull>,
}

#[derive(Clone, Debug)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) body: String,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
}

/// Something that happened to an issue, with who did it.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) at: Timestamp,
    pub(crate) actor: String,
    pub(crate) what: Happened,
}

#[derive(Clone, Debug)]
pub(crate) enum Happened {
    Labeled(Label),
    Unlabeled(Label),
    Assigned(String),
    Unassigned(String),
    Closed,
    Reopened,
    Renamed {
        from: String,
        to: String,
    },
    /// Another issue or pull request names this one.
    Referenced(u64),
    Committed(String),
    ForcePushed {
        before: String,
        after: String,
    },
    HeadDeleted,
    Merged(String),
    ReviewRequested(String),
    ReviewDismissed {
        review: u64,
        message: String,
    },
    Reviewed(u64),
    Drafted(bool),
}

#[derive(Debug)]
pub(crate) struct Pull {
    pub(crate) id: u64,
    pub(crate) head: String,
    pub(crate) head_sha: String,
    pub(crate) base: String,
    /// The base branch's commit when it was opened or merged.
    pub(crate) base_sha: String,
    pub(crate) is_draft: bool,
    pub(crate) merged: Option<Merged>,
    pub(crate) reviews: Vec<Review>,
    pub(crate) requested: Vec<String>,
    /// How often somebody must still ask before the forge knows whether it can be merged.
    pub(crate) asks_left: u32,
    /// Whether lists show null in its place.
    pub(crate) is_broken: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Merged {
    pub(crate) at: Timestamp,
    pub(crate) by: String,
    pub(crate) sha: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Approved,
    ChangesRequested,
    Commented,
    /// A draft that only its author sees.
    Pending,
}

#[derive(Clone, Debug)]
pub(crate) struct Review {
    pub(crate) id: u64,
    pub(crate) author: String,
    pub(crate) verdict: Verdict,
    pub(crate) body: String,
    pub(crate) commit: String,
    pub(crate) at: Timestamp,
    pub(crate) is_dismissed: bool,
    /// Whether the pull request has changed since, as far as the forge has noticed.
    pub(crate) is_stale: bool,
    /// Whether the forge counts it; it does so for people with write access.
    pub(crate) is_official: bool,
    pub(crate) comments: Vec<ReviewComment>,
}

#[derive(Clone, Debug)]
pub(crate) struct ReviewComment {
    pub(crate) id: u64,
    pub(crate) path: String,
    pub(crate) line: u64,
    pub(crate) body: String,
    pub(crate) author: String,
    pub(crate) commit: String,
    pub(crate) hunk: String,
    pub(crate) reply_to: Option<u64>,
    pub(crate) at: Timestamp,
}

/// What an account may still ask in the present hour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) reset: Timestamp,
}

/// Everything that a double holds.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) kind: Kind,
    /// Where the repositories are.
    pub(crate) root: PathBuf,
    /// The server's address, without a path.
    pub(crate) origin: String,
    /// What stands before a path of the API, for the addresses in the present answer.
    pub(crate) api: String,
    pub(crate) now: Timestamp,
    /// How far each change moves the clock.
    pub(crate) tick: SignedDuration,
    pub(crate) users: Vec<User>,
    /// Tokens, and whose they are.
    pub(crate) tokens: BTreeMap<String, String>,
    pub(crate) repos: Vec<Repo>,
    pub(crate) last_id: u64,
    pub(crate) traps: BTreeSet<Trap>,
    pub(crate) mergeable_after: u32,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) outbox: Vec<Delivery>,
    pub(crate) rates: BTreeMap<String, Rate>,
    pub(crate) rate_limit: u64,
}

/// Where every double's clock begins: its answers are the same each time.
const BEGIN: i64 = 1_800_000_000;
/// How many requests an hour GitHub allows a person.
const RATE: u64 = 5000;

impl World {
    pub(crate) fn new(kind: Kind, root: PathBuf) -> Self {
        Self {
            kind,
            root,
            origin: String::new(),
            api: String::new(),
            now: Timestamp::from_second(BEGIN).expect("the beginning is a time"),
            tick: SignedDuration::from_secs(1),
            users: Vec::new(),
            tokens: BTreeMap::new(),
            repos: Vec::new(),
            last_id: 1000,
            traps: Trap::usual(),
            mergeable_after: 1,
            hooks: Vec::new(),
            outbox: Vec::new(),
            rates: BTreeMap::new(),
            rate_limit: RATE,
        }
    }

    pub(crate) fn has(&self, trap: Trap) -> bool {
        self.traps.contains(&trap)
    }

    pub(crate) fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Moves the clock for a change, and returns the time of it.
    pub(crate) fn stamp(&mut self) -> Timestamp {
        self.now += self.tick;
        self.now
    }

    pub(crate) fn user(&self, login: &str) -> Option<&User> {
        self.users.iter().find(|user| user.login.eq_ignore_ascii_case(login))
    }

    pub(crate) fn add_user(&mut self, login: &str, role: Role, is_organization: bool) -> u64 {
        let id = self.id();
        let is_bot = login.ends_with("[bot]");
        self.users.push(User { id, login: login.to_owned(), is_bot, is_organization, role });
        id
    }

    /// Returns what somebody may do in a repository; nobody has a role there without an account.
    pub(crate) fn role(&self, repo: &Repo, login: Option<&str>) -> Role {
        let Some(login) = login else { return Role::None };
        if repo.owner.eq_ignore_ascii_case(login) {
            return Role::Admin;
        }
        let said = repo.roles.get(&login.to_lowercase()).copied();
        said.or_else(|| self.user(login).map(|user| user.role)).unwrap_or(Role::None)
    }

    pub(crate) fn find(&self, owner: &str, name: &str) -> Option<usize> {
        self.repos
            .iter()
            .position(|repo| repo.owner.eq_ignore_ascii_case(owner) && repo.name.eq_ignore_ascii_case(name))
    }

    /// Makes a repository with one commit; an owner that nobody knows becomes an organization.
    pub(crate) fn create_repo(&mut self, owner: &str, name: &str) -> usize {
        if self.user(owner).is_none() {
            self.add_user(owner, Role::None, true);
        }
        let id = self.id();
        let created = self.stamp();
        let dir = self.root.join(owner).join(format!("{name}.git"));
        let bare = Bare::create(dir, "main", &created.to_string());
        let refs = bare.refs();
        self.repos.push(Repo {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            bare,
            refs,
            default_branch: "main".to_owned(),
            is_private: false,
            is_archived: false,
            roles: BTreeMap::new(),
            labels: Vec::new(),
            issues: Vec::new(),
            statuses: Vec::new(),
            check_runs: Vec::new(),
            runs: Vec::new(),
            workflows: Vec::new(),
            protections: Vec::new(),
            created,
            last_number: 0,
        });
        self.repos.len() - 1
    }

    pub(crate) fn add_label(&mut self, repo: usize, name: &str, color: &str, description: &str) -> Label {
        let label = Label {
            id: self.id(),
            name: name.to_owned(),
            color: color.trim_start_matches('#').to_owned(),
            description: description.to_owned(),
        };
        self.repos[repo].labels.push(label.clone());
        label
    }
}

impl Repo {
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    pub(crate) fn issue(&self, number: u64) -> Option<&Issue> {
        self.issues.iter().find(|issue| issue.number == number)
    }

    pub(crate) fn issue_mut(&mut self, number: u64) -> Option<&mut Issue> {
        self.issues.iter_mut().find(|issue| issue.number == number)
    }

    pub(crate) fn pull(&self, number: u64) -> Option<(&Issue, &Pull)> {
        let issue = self.issue(number)?;
        Some((issue, issue.pull.as_ref()?))
    }

    pub(crate) fn pull_mut(&mut self, number: u64) -> Option<&mut Pull> {
        self.issue_mut(number)?.pull.as_mut()
    }

    pub(crate) fn label(&self, id: u64) -> Option<&Label> {
        self.labels.iter().find(|label| label.id == id)
    }

    pub(crate) fn branch(&self, name: &str) -> Option<&str> {
        self.refs.get(&format!("refs/heads/{name}")).map(String::as_str)
    }

    pub(crate) fn branches(&self) -> Vec<(String, String)> {
        let heads = self.refs.iter();
        heads
            .filter_map(|(name, sha)| Some((name.strip_prefix("refs/heads/")?.to_owned(), sha.clone())))
            .collect()
    }

    pub(crate) fn protection(&self, branch: &str) -> Option<&Protection> {
        self.protections.iter().find(|protection| protection.branch == branch)
    }
}

impl Issue {
    pub(crate) fn is_pull(&self) -> bool {
        self.pull.is_some()
    }
}
