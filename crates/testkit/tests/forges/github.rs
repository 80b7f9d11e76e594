//! The double of GitHub: the life of an issue and its pull request, its rules, traps and faults.

use crate::contract;
use crate::support::{self, Client, clone, commit_and_push};
use serde_json::json;
use testkit::forges::{Fault, FaultKind, GitHubDouble, Outcome, Protection, Review, Role, State, Trap};

/// A double with two people who may write, one stranger and a repository.
struct Scene {
    github: GitHubDouble,
    ada: Client,
    bob: Client,
    eve: Client,
}

impl Scene {
    fn new() -> Self {
        let github = GitHubDouble::start();
        let client = |login, role| Client::new(github.url(), &github.add_user(login, role));
        let (ada, bob) = (client("ada", Role::Write), client("bob", Role::Write));
        let eve = client("eve", Role::None);
        github.create_repo("acme", "shop");
        Self { github, ada, bob, eve }
    }

    /// Opens a pull request of ada's for a branch with one file.
    fn pull(&self, branch: &str, body: &str) -> u64 {
        self.github.commit(SHOP, "ada", branch, &[("price.txt", Some("7\n"))], "feat: a price");
        let wanted = json!({ "title": "A price", "head": branch, "base": "main", "body": body });
        self.ada.post("/repos/acme/shop/pulls", &wanted).expect(201)["number"].as_u64().unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            contract::GITHUB.check(&self.github.requests());
        }
    }
}

const SHOP: &str = "acme/shop";

#[test]
fn an_issue_becomes_a_merged_pull_request() {
    let scene = Scene::new();
    let wanted = json!({ "title": "Prices", "body": "- [ ] right", "labels": ["backlog"] });
    let issue = scene.ada.post("/repos/acme/shop/issues", &wanted).expect(201);
    assert_eq!(issue["labels"][0]["name"], "backlog");

    let directory = clone(&scene.github.clone_url_with(SHOP, &scene.ada.token));
    let sha = commit_and_push(directory.path(), "fix/1", "price.txt", "7\n", "fix: the price");
    let wanted = json!({ "title": "Prices", "head": "fix/1", "base": "main", "body": "Closes #1" });
    let pull = scene.ada.post("/repos/acme/shop/pulls", &wanted).expect(201);
    assert_eq!((&pull["number"], &pull["head"]["sha"]), (&json!(2), &json!(sha)));

    let refused = scene.ada.post("/repos/acme/shop/pulls/2/reviews", &json!({ "event": "APPROVE" }));
    assert_eq!(refused.status, 422);
    let review = json!({ "event": "APPROVE", "commit_id": sha });
    let review = scene.bob.post("/repos/acme/shop/pulls/2/reviews", &review).expect(200);
    assert_eq!((&review["state"], &review["commit_id"]), (&json!("APPROVED"), &json!(sha)));

    let wrong = scene.bob.put("/repos/acme/shop/pulls/2/merge", &json!({ "sha": "0".repeat(40) }));
    assert_eq!(wrong.status, 409);
    let early = scene.bob.put("/repos/acme/shop/pulls/2/merge", &json!({ "sha": sha }));
    assert_eq!(
        (early.status, &early.body["message"]),
        (405, &json!("Base branch was modified. Review and try the merge again."))
    );
    let merged = scene.bob.put("/repos/acme/shop/pulls/2/merge", &json!({ "sha": sha })).expect(200);
    assert_eq!(merged["merged"], true);
    let again = scene.bob.put("/repos/acme/shop/pulls/2/merge", &json!({ "sha": sha }));
    assert_eq!((again.status, &again.body["message"]), (405, &json!("Pull Request is not mergeable")));

    assert!(!scene.github.look(SHOP, 1).unwrap().is_open);
    scene.ada.get("/repos/acme/shop/pulls/2/merge").expect(204);
    scene.ada.delete("/repos/acme/shop/git/refs/heads/fix/1").expect(204);
    assert_eq!(scene.github.branch(SHOP, "main").unwrap(), merged["sha"]);
}

#[test]
fn mergeability_is_known_after_somebody_has_asked() {
    let scene = Scene::new();
    scene.pull("a", "");
    let first = scene.ada.get("/repos/acme/shop/pulls/1").expect(200);
    assert_eq!((&first["mergeable"], &first["mergeable_state"]), (&json!(null), &json!("unknown")));
    let second = scene.ada.get("/repos/acme/shop/pulls/1").expect(200);
    assert_eq!((&second["mergeable"], &second["mergeable_state"]), (&json!(true), &json!("clean")));
    scene.github.commit(SHOP, "bob", "main", &[("price.txt", Some("8\n"))], "feat: another price");
    assert_eq!(scene.ada.get("/repos/acme/shop/pulls/1").expect(200)["mergeable"], json!(null));
    let dirty = scene.ada.get("/repos/acme/shop/pulls/1").expect(200);
    assert_eq!((&dirty["mergeable"], &dirty["mergeable_state"]), (&json!(false), &json!("dirty")));
}

#[test]
fn a_protected_branch_wants_reviews_and_checks() {
    let scene = Scene::new();
    scene.github.set_trap(Trap::LateMergeability, false);
    scene.github.protect(
        SHOP,
        Protection {
            branch: "main".to_owned(),
            approvals: 1,
            contexts: vec!["ci".to_owned()],
            dismisses_stale: true,
            refuses_pushes: true,
            ..Protection::default()
        },
    );
    let number = scene.pull("a", "");
    let merge = || scene.ada.put(&format!("/repos/acme/shop/pulls/{number}/merge"), &json!({}));
    let words = |answer: &support::Answer| answer.body["message"].as_str().unwrap().to_owned();
    assert!(words(&merge()).starts_with("At least 1 approving review"));
    scene.github.review(SHOP, number, "eve", Review::Approve, "me too");
    assert_eq!(merge().status, 405);
    scene.github.review(SHOP, number, "bob", Review::Approve, "");
    assert_eq!(words(&merge()), "Required status check \"ci\" is expected.");

    // A push takes the approval away.
    let sha = scene.github.commit(SHOP, "ada", "a", &[("more.txt", Some("x"))], "feat: more");
    let reviews = scene.ada.get(&format!("/repos/acme/shop/pulls/{number}/reviews")).expect(200);
    assert_eq!(reviews[1]["state"], "DISMISSED");
    scene.github.review(SHOP, number, "bob", Review::Approve, "");
    scene.github.check_run(SHOP, &sha, "ci", State::Running);
    assert_eq!(words(&merge()), "Required status check \"ci\" is in progress.");
    scene.github.check_run(SHOP, &sha, "ci", State::Ended(Outcome::Skipped));
    assert_eq!(merge().status, 200);

    let directory = clone(&scene.github.clone_url_with(SHOP, &scene.ada.token));
    let refused = support::push(directory.path(), "main", "y.txt", "y", "feat: past the rules");
    assert!(refused.contains("protected branch"), "{refused}");
}

#[test]
fn what_has_not_changed_costs_nothing() {
    let scene = Scene::new();
    scene.github.issue(SHOP, "ada", "One", "", &[]);
    let first = scene.ada.get("/repos/acme/shop/issues");
    let tag = first.header("etag").unwrap().to_owned();
    let left = scene.github.remaining("ada");
    let known = |tag: &str| scene.ada.with("GET", "/repos/acme/shop/issues", &[("if-none-match", tag)], None);
    let same = known(&tag);
    assert_eq!((same.status, scene.github.remaining("ada")), (304, left));
    scene.github.issue(SHOP, "ada", "Two", "", &[]);
    assert_eq!(known(&tag).status, 200);
    assert_eq!(scene.github.remaining("ada"), left - 1);
    let asked = scene.github.requests();
    assert_eq!(asked.iter().filter(|request| request.is_conditional).count(), 2);

    scene.github.set_remaining("ada", 0);
    let spent = scene.ada.get("/user");
    assert_eq!((spent.status, spent.header("x-ratelimit-remaining")), (403, Some("0")));
    scene.github.advance(std::time::Duration::from_secs(3600));
    scene.ada.get("/user").expect(200);
}

#[test]
fn lists_come_in_pages_and_can_be_filtered() {
    let scene = Scene::new();
    for number in 1..=35 {
        let labels: &[&str] = if number % 5 == 0 { &["Backlog"] } else { &[] };
        scene.github.issue(SHOP, "ada", &format!("Issue {number}"), "", labels);
    }
    let page = scene.ada.get("/repos/acme/shop/issues?state=all");
    assert_eq!(page.body.as_array().unwrap().len(), 30);
    let link = page.header("link").unwrap();
    assert!(link.contains("state=all&page=2>; rel=\"next\""), "{link}");
    let rest = scene.ada.get("/repos/acme/shop/issues?state=all&page=2");
    assert_eq!(rest.body.as_array().unwrap().len(), 5);
    let labelled = scene.ada.get("/repos/acme/shop/issues?labels=backlog").expect(200);
    assert_eq!(labelled.as_array().unwrap().len(), 7);
    let none = scene.ada.get("/repos/acme/shop/issues?labels=backlog,nope").expect(200);
    assert_eq!(none, json!([]));
    let since = scene.github.now();
    scene.github.comment(SHOP, 3, "bob", "hello");
    let changed = scene
        .ada
        .get(&format!("/repos/acme/shop/issues?since={}", since + jiff::SignedDuration::from_secs(1)));
    assert_eq!(changed.expect(200)[0]["number"], 3);
}

#[test]
fn strangers_may_file_and_comment_and_no_more() {
    let scene = Scene::new();
    let wanted = json!({ "title": "Mine", "labels": ["backlog"], "assignees": ["ada"] });
    let issue = scene.eve.post("/repos/acme/shop/issues", &wanted).expect(201);
    assert_eq!((&issue["labels"], &issue["assignees"]), (&json!([]), &json!([])));
    let labels = json!({ "labels": ["backlog"] });
    assert_eq!(scene.eve.post("/repos/acme/shop/issues/1/labels", &labels).status, 403);
    assert_eq!(scene.eve.get("/repos/acme/shop/collaborators/ada/permission").status, 403);
    let asked = scene.ada.get("/repos/acme/shop/collaborators/eve/permission").expect(200);
    assert_eq!(asked["permission"], "read");
    scene.ada.post("/repos/acme/shop/issues/1/labels", &labels).expect(200);
    scene.ada.delete("/repos/acme/shop/issues/1/labels/BACKLOG").expect(200);
    let timeline = scene.bob.get("/repos/acme/shop/issues/1/timeline").expect(200);
    let told: Vec<_> = timeline
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["event"].as_str().unwrap(), entry["actor"]["login"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("labeled", "ada"), ("unlabeled", "ada")]);
    assert_eq!(scene.eve.get("/repos/acme/other").status, 404);
    assert_eq!(Client::new(scene.github.url(), "nonsense").get("/user").status, 401);
}

#[test]
fn a_draft_review_is_its_authors_alone() {
    let scene = Scene::new();
    let number = scene.pull("a", "");
    let path = format!("/repos/acme/shop/pulls/{number}/reviews");
    let comments = json!([{ "path": "price.txt", "line": 1, "body": "why 7?" }]);
    let draft = scene.bob.post(&path, &json!({ "comments": comments })).expect(200);
    assert_eq!(draft["state"], "PENDING");
    assert_eq!(scene.ada.get(&path).expect(200), json!([]));
    let lines = format!("/repos/acme/shop/pulls/{number}/comments");
    assert_eq!(scene.ada.get(&lines).expect(200), json!([]));
    let submit = format!("{path}/{}/events", draft["id"]);
    scene.bob.post(&submit, &json!({ "event": "REQUEST_CHANGES", "body": "see there" })).expect(200);
    assert_eq!(scene.ada.get(&path).expect(200)[0]["state"], "CHANGES_REQUESTED");
    assert_eq!(scene.ada.get(&lines).expect(200)[0]["body"], "why 7?");
}

#[test]
fn actions_run_and_can_be_repeated() {
    let scene = Scene::new();
    scene.github.workflow(SHOP, "ci", &["push"], &["build", "unit"]);
    let number = scene.pull("a", "");
    let sha = scene.github.look_pull(SHOP, number).unwrap().head_sha;
    let runs = scene.ada.get(&format!("/repos/acme/shop/actions/runs?head_sha={sha}")).expect(200);
    assert_eq!((&runs["total_count"], &runs["workflow_runs"][0]["status"]), (&json!(1), &json!("queued")));
    let run = scene.github.runs(SHOP, &sha)[0];
    scene.github.set_job(SHOP, run, "build", State::Ended(Outcome::Success), Some("ok\n"));
    scene.github.set_job(SHOP, run, "unit", State::Ended(Outcome::Failure), Some("3 failed\n"));
    let checks = scene.ada.get(&format!("/repos/acme/shop/commits/{sha}/check-runs")).expect(200);
    let conclusions: Vec<_> =
        checks["check_runs"].as_array().unwrap().iter().map(|run| run["conclusion"].clone()).collect();
    assert_eq!(conclusions.len(), 2);
    assert!(conclusions.contains(&json!("failure")));
    let jobs = scene.ada.get(&format!("/repos/acme/shop/actions/runs/{run}/jobs")).expect(200);
    let log = scene.ada.get(&format!("/repos/acme/shop/actions/jobs/{}/logs", jobs["jobs"][1]["id"]));
    let at = log.header("location").unwrap().strip_prefix(scene.github.url()).unwrap().to_owned();
    assert_eq!((log.status, scene.ada.get(&at).text.as_str()), (302, "3 failed\n"));
    scene.ada.post(&format!("/repos/acme/shop/actions/runs/{run}/rerun-failed-jobs"), &json!({})).expect(201);
    let again = scene.ada.get(&format!("/repos/acme/shop/actions/runs/{run}")).expect(200);
    assert_eq!((&again["run_attempt"], &again["status"]), (&json!(2), &json!("in_progress")));
}

#[test]
fn faults_strike_where_they_are_set() {
    let scene = Scene::new();
    let issues = "POST /repos/*/*/issues";
    let file = || scene.ada.try_with("POST", "/repos/acme/shop/issues", &[], Some(&json!({ "title": "x" })));
    let count = || scene.github.numbers(SHOP).len();

    scene.github.set_fault(Fault::next(issues, FaultKind::ErrorBefore));
    assert!(file().is_err());
    assert_eq!(count(), 0);
    scene.github.set_fault(Fault::next(issues, FaultKind::ErrorAfterWrite));
    assert!(file().is_err());
    assert_eq!(count(), 1);
    scene.github.set_fault(Fault::next(issues, FaultKind::RateLimited429 { retry_after: 7 }));
    let limited = file().unwrap();
    assert_eq!((limited.status, limited.header("retry-after"), count()), (429, Some("7"), 1));
    scene.github.set_fault(Fault::next(issues, FaultKind::Secondary403 { retry_after: 60 }));
    assert_eq!(file().unwrap().status, 403);
    scene.github.set_fault(Fault::next(issues, FaultKind::ServerError5xx(502)));
    assert_eq!((file().unwrap().status, count()), (502, 1));
    scene.github.set_fault(Fault::next(issues, FaultKind::ServerErrorAfterWrite(503)));
    assert_eq!((file().unwrap().status, count()), (503, 2));
    scene.github.set_fault(Fault::next(issues, FaultKind::NullBody));
    let null = file().unwrap();
    assert_eq!((null.status, null.text.as_str(), count()), (201, "null", 3));
    scene.github.set_fault(Fault::next(issues, FaultKind::Duplicate));
    assert_eq!((file().unwrap().status, count()), (201, 5));
    scene.github.set_fault(Fault { nth: 2, ..Fault::next(issues, FaultKind::ServerError5xx(500)) });
    assert_eq!((file().unwrap().status, file().unwrap().status), (201, 500));
    scene.github.set_fault(Fault::next("GET /repos/*/*/issues", FaultKind::Duplicate));
    let list = scene.ada.get("/repos/acme/shop/issues").expect(200);
    assert_eq!(list[0]["number"], list[1]["number"]);
    scene.github.set_fault(Fault::next("GET /user", FaultKind::Timeout));
    let hung = scene.ada.impatient("GET", "/user");
    assert!(hung.is_err(), "{hung:?}");
}

#[test]
fn a_webhook_is_signed() {
    let scene = Scene::new();
    let receiver = support::Receiver::start();
    scene.github.hook(SHOP, &receiver.url(), "s3cret", &["issues"]);
    let number = scene.github.issue(SHOP, "ada", "One", "", &["backlog"]);
    scene.github.comment(SHOP, number, "ada", "not asked for");
    let told = scene.github.deliveries();
    let actions: Vec<_> = told
        .iter()
        .map(|delivery| serde_json::from_str::<serde_json::Value>(&delivery.body).unwrap()["action"].clone())
        .collect();
    assert_eq!(actions, ["opened", "labeled"]);
    assert!(told.iter().all(|delivery| delivery.status == Some(200)));
    let signature = format!("sha256={}", testkit::forges::hmac_sha256(b"s3cret", told[0].body.as_bytes()));
    assert!(told[0].headers.contains(&("X-Hub-Signature-256".to_owned(), signature)));
}

#[test]
fn deleting_a_branch_closes_its_pull_request_and_a_second_one_is_refused() {
    let scene = Scene::new();
    let number = scene.pull("a", "");
    let again = json!({ "title": "again", "head": "a", "base": "main" });
    let refused = scene.ada.post("/repos/acme/shop/pulls", &again);
    assert_eq!(
        (refused.status, &refused.body["errors"][0]["message"]),
        (422, &json!("A pull request already exists for acme:a."))
    );
    scene.github.delete_branch(SHOP, "ada", "a");
    assert!(!scene.github.look(SHOP, number).unwrap().is_open);
}
