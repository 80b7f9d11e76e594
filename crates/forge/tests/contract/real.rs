//! A real Forgejo as a world: a server that others use too.
//!
//! `WARP_TEST_FORGEJO_URL` names it, and `…_TOKEN` and `…_REVIEWER_TOKEN` are tokens of two accounts that may write to
//! `…_REPO` (`owner/name`), which has a commit on `main`.

use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use adapters::machine;
use engine::Actor;
use forge::{
    Author, Forge, Hosting as _, Query, Remote, Settings, Tracker,
    http::{Method, Net as _, Request, Target},
};
use serde_json::{Value, json};

use crate::{net::Web, pulls, suite};
use suite::World;

/// A repository on a real server. Its reviewer is called Ada here, whatever the account's name is.
struct Real {
    api: String,
    root: String,
    token: String,
    author: Remote,
    reviewer: Remote,
    pushes: AtomicU64,
    mark: String,
}

impl Real {
    fn from_environment() -> Option<Self> {
        let value = |name: &str| env::var(format!("WARP_TEST_FORGEJO_{name}")).ok();
        let (url, token, reviewer, repo) =
            (value("URL")?, value("TOKEN")?, value("REVIEWER_TOKEN")?, value("REPO")?);
        let (owner, name) = repo.split_once('/')?;
        let api = format!("{}/api/v1", url.trim_end_matches('/'));
        let account = |token: &str| {
            let net = Arc::new(Web::new(&api, token));
            Remote::forgejo(net, owner, name, Settings::default()).account().unwrap()
        };
        let settings = Settings { trusted: vec![account(&token), account(&reviewer)], ..Settings::default() };
        let remote =
            |token: &str| Remote::forgejo(Arc::new(Web::new(&api, token)), owner, name, settings.clone());
        Some(Self {
            author: remote(&token),
            reviewer: remote(&reviewer),
            root: format!("/repos/{repo}"),
            mark: machine::random_text(8).unwrap(),
            api,
            token,
            pushes: AtomicU64::new(0),
        })
    }

    fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, Value) {
        let request = Request {
            method,
            target: Target::Api(format!("{}{path}", self.root)),
            headers: vec![("content-type", "application/json".to_owned())],
            body: body.map(|body| serde_json::to_vec(body).unwrap()),
            largest: 1 << 20,
        };
        let answer = Web::new(&self.api, &self.token).send(&request).unwrap();
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }
}

impl World for Real {
    fn tracker(&self, by: Author) -> Arc<dyn Tracker> {
        let is_reviewer = by.actor == Actor::Person;
        if is_reviewer { self.reviewer.tracker(by) } else { self.author.tracker(by) }
    }

    fn forge(&self, by: Author) -> Arc<dyn Forge> {
        let is_reviewer = by.actor == Actor::Person;
        if is_reviewer { self.reviewer.forge(by) } else { self.author.forge(by) }
    }

    fn push(&self, branch: &str) -> String {
        let number = self.pushes.fetch_add(1, Ordering::Relaxed);
        let is_there = self.ask(Method::Get, &format!("/branches/{branch}"), None).0 == 200;
        let from = if is_there {
            json!({"branch": branch})
        } else {
            json!({"branch": "main", "new_branch": branch})
        };
        let mut new = json!({"content": "eA==", "message": "Add a file"});
        new.as_object_mut().unwrap().extend(from.as_object().unwrap().clone());
        let (status, made) = self.ask(Method::Post, &format!("/contents/{}-{number}", self.mark), Some(&new));
        assert_eq!(status, 201, "{made}");
        made["commit"]["sha"].as_str().unwrap().to_owned()
    }

    fn unused(&self, text: &str) -> String {
        format!("{text}-{}", self.mark)
    }
}

/// What does not go by the names of accounts.
#[test]
fn a_real_forgejo_keeps_the_contract() {
    let Some(world) = Real::from_environment() else {
        println!("skipped: WARP_TEST_FORGEJO_URL and its tokens are not set");
        return;
    };
    suite::a_marker_files_once(&world);
    suite::what_is_not_there_is_none_and_acting_on_it_an_error(&world);
    suite::labels_are_ensured(&world);
    suite::ticking_changes_nothing_but_its_boxes(&world);
    suite::nobody_writes_over_an_edit(&world);
    suite::what_is_closed_stays_so_until_it_is_opened_again(&world);
    suite::lists_hold_what_was_asked_for_and_all_of_it(&world);
    pulls::a_marker_opens_one_pull_request(&world);
    pulls::an_issue_is_no_pull_request(&world);
    pulls::only_the_reviewed_commit_is_merged(&world);
    pulls::what_is_merged_stays_closed(&world);
    pulls::a_pull_request_is_closed_without_a_merge(&world);
    assert!(!world.author.tracker(Author::warp()).items(Query::Open).unwrap().is_empty());
}
