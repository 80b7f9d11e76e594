//! What a test says to a double: who there is, what people do, what goes wrong; and what it finds there afterwards.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

use super::{
    faults::Fault,
    forgejo, git,
    git::Style,
    github,
    hooks::{Delivery, Hook},
    http::{Answer, Credential, Request},
    server::{Exchange, Handled, Handler, Server},
    traps::Trap,
    world::{
        Kind, Protection, Role, Verdict, World,
        checks::{CheckRun, State, Status, Workflow},
        issues::Edit,
        pulls::{MergeWish, NewPull, NewReview},
    },
};

/// A forge on loopback, with real repositories; it ends when this is dropped.
///
/// People are named by their logins and repositories as `acme/shop`. What a test does here happens at once and is never
/// refused: rules are for clients.
pub struct Double {
    // Dropped first: its requests use the rest.
    server: Server,
    forge: Arc<Forge>,
    origin: String,
    directory: TempDir,
}

/// A forge as its server sees it.
pub(crate) struct Forge {
    kind: Kind,
    world: Mutex<World>,
    root: PathBuf,
}

/// What a review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Review {
    Approve,
    RequestChanges,
    Comment,
    /// A draft that only its author sees.
    Draft,
}

/// An issue or pull request as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueView {
    pub title: String,
    pub body: String,
    pub author: String,
    pub is_open: bool,
    /// Names, in the order in which they were attached.
    pub labels: Vec<String>,
    pub assignees: Vec<String>,
    /// Authors and texts, in order.
    pub comments: Vec<(String, String)>,
    pub is_pull: bool,
}

/// What is special about a pull request, as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullView {
    pub head: String,
    pub head_sha: String,
    pub base: String,
    pub is_draft: bool,
    /// The commit that merged it, and who did.
    pub merged: Option<(String, String)>,
    /// Authors, verdicts, commits, texts; drafts too.
    pub reviews: Vec<(String, Review, String, String)>,
}

impl Handler for Forge {
    fn route(&self, path: &str) -> String {
        match self.kind {
            Kind::GitHub => github::route(path).to_owned(),
            Kind::Forgejo(_) | Kind::Gitea => forgejo::route(path).to_owned(),
        }
    }

    fn answer(&self, request: &Request) -> Handled {
        if let Some((owner, name, rest)) = git_path(&request.path) {
            return self.git(request, &owner, &name, &rest);
        }
        let mut world = self.lock();
        let account = account(&world, request);
        let answer = match self.kind {
            Kind::GitHub => github::answer(&mut world, request, &account),
            Kind::Forgejo(_) | Kind::Gitea => forgejo::answer(&mut world, request, &account),
        };
        Handled { answer, account: account.login(), deliveries: std::mem::take(&mut world.outbox) }
    }
}

/// Who sends a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    Nobody,
    /// A token that the double does not know.
    Unknown,
    User(String),
}

impl Account {
    pub(crate) fn login(&self) -> Option<String> {
        match self {
            Self::User(login) => Some(login.clone()),
            Self::Nobody | Self::Unknown => None,
        }
    }
}

fn account(world: &World, request: &Request) -> Account {
    match request.credential() {
        Credential::None => Account::Nobody,
        Credential::Token(token) | Credential::Password(token) => {
            world.tokens.get(&token).map_or(Account::Unknown, |login| Account::User(login.clone()))
        }
    }
}

/// Reads which repository a git client means: owner, name, and what comes after it.
fn git_path(path: &str) -> Option<(String, String, String)> {
    let mut parts = path.trim_start_matches('/').splitn(3, '/');
    let (owner, name, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let is_git = rest == "info/refs" || rest == "git-upload-pack" || rest == "git-receive-pack";
    is_git.then(|| (owner.to_owned(), name.trim_end_matches(".git").to_owned(), rest.to_owned()))
}

impl Forge {
    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        // A request that panicked has answered 599; what it has changed stays to be looked at.
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets git's own server answer, outside of the lock: a push can be long.
    fn git(&self, request: &Request, owner: &str, name: &str, rest: &str) -> Handled {
        let handled = |answer, account| Handled { answer, account, deliveries: Vec::new() };
        let is_push = rest == "git-receive-pack" || request.query("service") == Some("git-receive-pack");
        let world = self.lock();
        let account = account(&world, request);
        let login = account.login();
        let Some(repo) = world.find(owner, name) else {
            return handled(Answer::text(404, "Repository not found"), login);
        };
        let role = world.role(&world.repos[repo], login.as_deref());
        let repository = &world.repos[repo];
        let is_refused =
            account == Account::Unknown || (account == Account::Nobody && (is_push || repository.is_private));
        if is_refused {
            let answer = Answer::text(401, "Authentication required");
            return handled(answer.with("www-authenticate", "Basic realm=\"forge\""), login);
        }
        if repository.is_private && role == Role::None {
            return handled(Answer::text(404, "Repository not found"), login);
        }
        if is_push && (role < Role::Write || repository.is_archived) {
            return handled(Answer::text(403, "You may not push to this repository"), login);
        }
        let path = format!("/{}/{}.git/{rest}", repository.owner, repository.name);
        drop(world);
        let answer = git::http_backend(&self.root, &path, request, login.as_deref());
        let mut world = self.lock();
        if rest == "git-receive-pack" {
            world.refresh(repo, login.as_deref().unwrap_or("ghost"));
        }
        Handled { answer, account: login, deliveries: std::mem::take(&mut world.outbox) }
    }
}

impl Double {
    pub(crate) fn start(kind: Kind) -> Self {
        let directory = TempDir::with_prefix("warp-forge-").expect("a temporary directory can be made");
        let root = directory.path().join("repos");
        fs::create_dir(&root).expect("a directory for repositories can be made");
        let (listener, origin) = Server::bind();
        let mut world = World::new(kind, root.clone());
        world.origin.clone_from(&origin);
        let forge = Arc::new(Forge { kind, world: Mutex::new(world), root });
        let socket = directory.path().join("http.sock");
        let server = Server::start(listener, &socket, &origin, Box::new(Arc::clone(&forge)));
        Self { server, forge, origin, directory }
    }

    pub(crate) fn forge(&self) -> &Arc<Forge> {
        &self.forge
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.forge.lock()
    }

    /// Does something as if a client had, and tells those who want to be told.
    fn act<T>(&self, repo: &str, act: impl FnOnce(&mut World, usize) -> T) -> T {
        let mut world = self.world();
        let index = index(&world, repo);
        let done = act(&mut world, index);
        let deliveries = std::mem::take(&mut world.outbox);
        drop(world);
        self.server.shared.deliver_later(deliveries);
        done
    }

    /// Returns the address of the server, such as `http://127.0.0.1:4000`.
    pub fn url(&self) -> &str {
        &self.origin
    }

    /// Returns the path of a Unix socket on which the same server listens.
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("http.sock")
    }

    /// Returns where a repository can be cloned from; a token is the password.
    pub fn clone_url(&self, repo: &str) -> String {
        format!("{}/{repo}.git", self.origin)
    }

    /// Returns the address of a clone that carries a token.
    pub fn clone_url_with(&self, repo: &str, token: &str) -> String {
        self.clone_url(repo).replacen("http://", &format!("http://git:{token}@"), 1)
    }

    /// Returns the bare repository; after a write there the double must [`refresh`](Self::refresh).
    pub fn repo_dir(&self, repo: &str) -> PathBuf {
        let world = self.world();
        world.repos[index(&world, repo)].bare.dir.clone()
    }

    /// Adds somebody, with a role in every repository that says nothing else; returns a token.
    pub fn add_user(&self, login: &str, role: Role) -> String {
        let mut world = self.world();
        world.add_user(login, role, false);
        let token = format!("token-of-{login}-0123456789abcdef");
        world.tokens.insert(token.clone(), login.to_owned());
        token
    }

    /// Makes a token worthless.
    pub fn revoke(&self, token: &str) {
        self.world().tokens.remove(token);
    }

    /// Gives somebody a role in one repository.
    pub fn set_role(&self, repo: &str, login: &str, role: Role) {
        let mut world = self.world();
        let repo = index(&world, repo);
        world.repos[repo].roles.insert(login.to_lowercase(), role);
    }

    /// Makes a repository with a commit on `main`; returns its name as the other methods take it.
    pub fn create_repo(&self, owner: &str, name: &str) -> String {
        self.world().create_repo(owner, name);
        format!("{owner}/{name}")
    }

    pub fn set_archived(&self, repo: &str, is_archived: bool) {
        self.act(repo, |world, repo| world.repos[repo].is_archived = is_archived);
    }

    pub fn set_private(&self, repo: &str, is_private: bool) {
        self.act(repo, |world, repo| world.repos[repo].is_private = is_private);
    }

    /// Makes a label; returns its id.
    pub fn label(&self, repo: &str, name: &str, color: &str) -> u64 {
        self.act(repo, |world, repo| world.add_label(repo, name, color, "").id)
    }

    /// Gives every label of a name another one.
    pub fn rename_label(&self, repo: &str, name: &str, to: &str) {
        self.act(repo, |world, repo| {
            for label in world.repos[repo].labels.iter_mut().filter(|label| label.name == name) {
                to.clone_into(&mut label.name);
            }
        });
    }

    /// Returns the names of a repository's labels, in order of their ids.
    pub fn labels(&self, repo: &str) -> Vec<String> {
        self.act(repo, |world, repo| {
            world.repos[repo].labels.iter().map(|label| label.name.clone()).collect()
        })
    }

    /// Files an issue; its author attaches the labels, which are made if need be.
    pub fn issue(&self, repo: &str, author: &str, title: &str, body: &str, labels: &[&str]) -> u64 {
        let number = self.act(repo, |world, repo| {
            let number = world.create_issue(repo, author, title, body);
            world.announce(super::hooks::Topic::Issue, "opened", repo, Some(number), author);
            number
        });
        for label in labels {
            self.attach(repo, number, author, label);
        }
        number
    }

    /// Attaches a label, which is made if need be.
    pub fn attach(&self, repo: &str, number: u64, actor: &str, label: &str) {
        self.act(repo, |world, repo| {
            let known = world.repos[repo].labels.iter().find(|other| other.name == label);
            let known = known.map(|label| label.id);
            let id = known.unwrap_or_else(|| world.add_label(repo, label, "ededed", "").id);
            world.add_labels(repo, number, actor, &[id]);
        });
    }

    /// Takes every label of a name off an issue.
    pub fn detach(&self, repo: &str, number: u64, actor: &str, label: &str) {
        self.act(repo, |world, repo| {
            let labels = world.repos[repo].labels.iter();
            let ids: Vec<u64> = labels.filter(|other| other.name == label).map(|label| label.id).collect();
            world.remove_labels(repo, number, actor, &ids);
        });
    }

    pub fn assign(&self, repo: &str, number: u64, actor: &str, assignees: &[&str]) {
        let assignees: Vec<String> = assignees.iter().map(|login| (*login).to_owned()).collect();
        self.act(repo, |world, repo| world.set_assignees(repo, number, actor, &assignees));
    }

    /// Comments on an issue or a pull request; returns the comment's id.
    pub fn comment(&self, repo: &str, number: u64, author: &str, body: &str) -> u64 {
        let comment = self.act(repo, |world, repo| world.comment(repo, number, author, body));
        comment.unwrap_or_else(|| panic!("there is no #{number}")).id
    }

    pub fn set_title(&self, repo: &str, number: u64, actor: &str, title: &str) {
        self.edit(repo, number, actor, Edit { title: Some(title.to_owned()), ..Edit::default() });
    }

    pub fn set_body(&self, repo: &str, number: u64, actor: &str, body: &str) {
        self.edit(repo, number, actor, Edit { body: Some(body.to_owned()), ..Edit::default() });
    }

    pub fn close(&self, repo: &str, number: u64, actor: &str) {
        self.edit(repo, number, actor, Edit { open: Some(false), ..Edit::default() });
    }

    pub fn reopen(&self, repo: &str, number: u64, actor: &str) {
        self.edit(repo, number, actor, Edit { open: Some(true), ..Edit::default() });
    }

    fn edit(&self, repo: &str, number: u64, actor: &str, edit: Edit) {
        self.act(repo, |world, repo| world.edit_issue(repo, number, actor, edit));
    }

    /// Lets an issue wait for another one.
    pub fn depend(&self, repo: &str, number: u64, on: u64) {
        self.act(repo, |world, repo| {
            world.repos[repo].issue_mut(number).expect("the issue is there").dependencies.push(on);
        });
    }

    /// Commits files to a branch, as if somebody had pushed; no text removes a file. Returns the commit.
    pub fn commit(
        &self,
        repo: &str,
        actor: &str,
        branch: &str,
        files: &[(&str, Option<&str>)],
        message: &str,
    ) -> String {
        self.act(repo, |world, repo| {
            let now = world.stamp().to_string();
            let sha = world.repos[repo].bare.commit(branch, files, message, &now);
            world.refresh(repo, actor);
            sha
        })
    }

    pub fn delete_branch(&self, repo: &str, actor: &str, branch: &str) {
        self.act(repo, |world, repo| {
            world.repos[repo].bare.delete_ref(&format!("refs/heads/{branch}"));
            world.refresh(repo, actor);
        });
    }

    /// Looks at a repository that a test has written to, as after a push.
    pub fn refresh(&self, repo: &str, actor: &str) {
        self.act(repo, |world, repo| world.refresh(repo, actor));
    }

    /// Returns the commit that a branch points to.
    pub fn branch(&self, repo: &str, branch: &str) -> Option<String> {
        self.act(repo, |world, repo| world.repos[repo].branch(branch).map(str::to_owned))
    }

    /// Opens a pull request; returns its number.
    pub fn pull(&self, repo: &str, author: &str, head: &str, base: &str, title: &str, body: &str) -> u64 {
        let wanted = NewPull { title, body, head, base, is_draft: false };
        let opened = self.act(repo, |world, repo| world.create_pull(repo, author, &wanted));
        opened.unwrap_or_else(|refused| panic!("the pull request cannot be opened: {refused:?}"))
    }

    /// Reviews a pull request's head; returns the review's id.
    pub fn review(&self, repo: &str, number: u64, author: &str, review: Review, body: &str) -> u64 {
        self.review_with(repo, number, author, review, body, &[])
    }

    /// Reviews with comments at places: paths, lines and texts.
    pub fn review_with(
        &self,
        repo: &str,
        number: u64,
        author: &str,
        review: Review,
        body: &str,
        comments: &[(&str, u64, &str)],
    ) -> u64 {
        let made = self.act(repo, |world, repo| {
            let commit = world.repos[repo].pull(number)?.1.head_sha.clone();
            let comments =
                comments.iter().map(|(path, line, body)| ((*path).to_owned(), *line, (*body).to_owned()));
            let comments = comments.collect();
            world.review(
                repo,
                number,
                author,
                NewReview { verdict: review.verdict(), body, commit: &commit, comments },
            )
        });
        made.unwrap_or_else(|| panic!("there is no pull request #{number}")).id
    }

    pub fn dismiss(&self, repo: &str, number: u64, review: u64, actor: &str) {
        self.act(repo, |world, repo| world.dismiss(repo, number, review, actor, ""));
    }

    /// Merges a pull request as a person would; panics if that is refused.
    pub fn merge(&self, repo: &str, number: u64, actor: &str) -> String {
        let wish = MergeWish { head: None, style: Style::Merge, title: None, message: None };
        let merged = self.act(repo, |world, repo| {
            if let Some(pull) = world.repos[repo].pull_mut(number) {
                pull.asks_left = 0;
            }
            world.merge(repo, number, actor, &wish)
        });
        merged.unwrap_or_else(|refused| panic!("#{number} cannot be merged: {refused:?}"))
    }

    /// Lets lists show null in place of a pull request, where [`Trap::NullInPulls`] is set.
    pub fn break_pull(&self, repo: &str, number: u64) {
        self.act(repo, |world, repo| {
            world.repos[repo].pull_mut(number).expect("the pull request is there").is_broken = true;
        });
    }

    /// Sets what a branch asks of whoever changes it, in place of what it asked before.
    pub fn protect(&self, repo: &str, protection: Protection) {
        self.act(repo, |world, repo| {
            let repository = &mut world.repos[repo];
            repository.protections.retain(|other| other.branch != protection.branch);
            repository.protections.push(protection);
            let closed = repository.protections.iter().filter(|protection| protection.refuses_pushes);
            let closed: Vec<String> = closed.map(|protection| protection.branch.clone()).collect();
            repository.bare.protect(&closed);
        });
    }

    /// Sets a commit status: `pending`, `success`, `failure` or `error`.
    pub fn status(&self, repo: &str, sha: &str, context: &str, state: &str) {
        self.act(repo, |world, repo| {
            let creator = world.repos[repo].owner.clone();
            let status = Status {
                id: 0,
                sha: sha.to_owned(),
                context: context.to_owned(),
                state: state.to_owned(),
                description: String::new(),
                target: String::new(),
                creator,
                at: world.now,
            };
            world.add_status(repo, &status);
        });
    }

    /// Sets a check run of an app that is not Actions; returns its id.
    pub fn check_run(&self, repo: &str, sha: &str, name: &str, state: State) -> u64 {
        self.act(repo, |world, repo| {
            let (id, suite, at) = (world.id(), world.id(), world.stamp());
            let branches = world.repos[repo].branches();
            let branch = branches.into_iter().find(|(_, other)| other == sha).map(|(branch, _)| branch);
            world.repos[repo].check_runs.push(CheckRun {
                id,
                suite,
                sha: sha.to_owned(),
                branch: branch.unwrap_or_default(),
                name: name.to_owned(),
                state,
                job: None,
                at,
            });
            id
        })
    }

    /// Adds a workflow, which begins at its events from now on.
    pub fn workflow(&self, repo: &str, name: &str, events: &[&str], jobs: &[&str]) {
        let owned = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        let file = if name.is_empty() { "unnamed.yml".to_owned() } else { format!("{name}.yml") };
        let workflow = Workflow { name: name.to_owned(), file, events: owned(events), jobs: owned(jobs) };
        self.act(repo, |world, repo| world.repos[repo].workflows.push(workflow));
    }

    /// Returns the ids of the runs for a commit, the oldest first.
    pub fn runs(&self, repo: &str, sha: &str) -> Vec<u64> {
        self.act(repo, |world, repo| {
            world.repos[repo].runs.iter().filter(|run| run.sha == sha).map(|run| run.id).collect()
        })
    }

    /// Moves a run's job, and keeps its log if there is one.
    pub fn set_job(&self, repo: &str, run: u64, job: &str, state: State, log: Option<&str>) {
        let done = self.act(repo, |world, repo| world.set_job(repo, run, job, state, log));
        assert!(done.is_some(), "there is no job `{job}` in run {run}");
    }

    /// Ends every job of a commit's runs that has not ended.
    pub fn finish(&self, repo: &str, sha: &str, state: State, log: &str) {
        let jobs = self.act(repo, |world, repo| {
            let runs = world.repos[repo].runs.iter().filter(|run| run.sha == sha);
            let jobs = runs.flat_map(|run| run.jobs.iter().map(move |job| (run.id, job)));
            let left = jobs.filter(|(_, job)| !job.state.is_over());
            left.map(|(run, job)| (run, job.name.clone())).collect::<Vec<_>>()
        });
        for (run, job) in jobs {
            self.set_job(repo, run, &job, state, Some(log));
        }
    }

    /// Tells a receiver on loopback what happens; of all events if none are named.
    pub fn hook(&self, repo: &str, url: &str, secret: &str, events: &[&str]) {
        self.act(repo, |world, repo| {
            let repo = world.repos[repo].id;
            let events = events.iter().map(|event| (*event).to_owned()).collect();
            world.hooks.push(Hook { repo, url: url.to_owned(), secret: secret.to_owned(), events });
        });
    }

    /// Returns what was sent to receivers, once nothing is on its way.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.server.shared.deliveries()
    }

    /// Lets everything happen that a forge does a moment later: approvals become stale, mergeability is known.
    pub fn settle(&self) {
        self.world().settle();
    }

    /// Switches a behaviour off, or on again.
    pub fn set_trap(&self, trap: Trap, is_set: bool) {
        let mut world = self.world();
        if is_set {
            world.traps.insert(trap);
        } else {
            world.traps.remove(&trap);
        }
    }

    /// Sets how often somebody asks in vain whether a pull request can be merged, after each push.
    pub fn set_mergeable_after(&self, asks: u32) {
        self.world().mergeable_after = asks;
    }

    /// Lets a later request go wrong.
    pub fn set_fault(&self, fault: Fault) {
        self.server.shared.set_fault(fault);
    }

    /// Takes back every fault whose turn has not come.
    pub fn clear_faults(&self) {
        self.server.shared.clear_faults();
    }

    /// Returns what was asked and answered so far, in order of the answers.
    pub fn requests(&self) -> Vec<Exchange> {
        self.server.shared.exchanges()
    }

    pub fn clear_requests(&self) {
        self.server.shared.clear_exchanges();
    }

    /// Returns the double's time.
    pub fn now(&self) -> Timestamp {
        self.world().now
    }

    pub fn set_now(&self, now: Timestamp) {
        self.world().now = now;
    }

    pub fn advance(&self, by: Duration) {
        self.world().now += by;
    }

    /// Sets how far each change moves the clock; a second is usual.
    pub fn set_tick(&self, tick: SignedDuration) {
        self.world().tick = tick;
    }

    /// Sets how many requests an account may still make in the present hour; GitHub counts them.
    pub fn set_remaining(&self, login: &str, remaining: u64) {
        let mut world = self.world();
        github::limits::rate(&mut world, login).remaining = remaining;
    }

    /// Returns how many requests an account may still make in the present hour.
    pub fn remaining(&self, login: &str) -> u64 {
        github::limits::rate(&mut self.world(), login).remaining
    }

    /// Returns an issue or a pull request as it is; none if there is none.
    pub fn look(&self, repo: &str, number: u64) -> Option<IssueView> {
        self.act(repo, |world, repo| {
            let repository = &world.repos[repo];
            let issue = repository.issue(number)?;
            let name = |id: &u64| repository.label(*id).map(|label| label.name.clone());
            let comment = |comment: &super::world::Comment| (comment.author.clone(), comment.body.clone());
            Some(IssueView {
                title: issue.title.clone(),
                body: issue.body.clone(),
                author: issue.author.clone(),
                is_open: issue.is_open,
                labels: issue.labels.iter().filter_map(name).collect(),
                assignees: issue.assignees.clone(),
                comments: issue.comments.iter().map(comment).collect(),
                is_pull: issue.is_pull(),
            })
        })
    }

    /// Returns what is special about a pull request; none if there is none of that number.
    pub fn look_pull(&self, repo: &str, number: u64) -> Option<PullView> {
        self.act(repo, |world, repo| {
            let (_, pull) = world.repos[repo].pull(number)?;
            let reviews = pull.reviews.iter();
            Some(PullView {
                head: pull.head.clone(),
                head_sha: pull.head_sha.clone(),
                base: pull.base.clone(),
                is_draft: pull.is_draft,
                merged: pull.merged.as_ref().map(|merged| (merged.sha.clone(), merged.by.clone())),
                reviews: reviews
                    .map(|review| {
                        let said = Review::of(review.verdict);
                        (review.author.clone(), said, review.commit.clone(), review.body.clone())
                    })
                    .collect(),
            })
        })
    }

    /// Returns the numbers of a repository's issues and pull requests.
    pub fn numbers(&self, repo: &str) -> Vec<u64> {
        self.act(repo, |world, repo| world.repos[repo].issues.iter().map(|issue| issue.number).collect())
    }
}

fn index(world: &World, repo: &str) -> usize {
    let (owner, name) = repo.split_once('/').expect("a repository is named `owner/name`");
    world.find(owner, name).unwrap_or_else(|| panic!("there is no repository `{repo}`"))
}

impl Review {
    fn verdict(self) -> Verdict {
        match self {
            Self::Approve => Verdict::Approved,
            Self::RequestChanges => Verdict::ChangesRequested,
            Self::Comment => Verdict::Commented,
            Self::Draft => Verdict::Pending,
        }
    }

    fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Approved => Self::Approve,
            Verdict::ChangesRequested => Self::RequestChanges,
            Verdict::Commented => Self::Comment,
            Verdict::Pending => Self::Draft,
        }
    }
}
