//! The doubles of Forgejo and Gitea: every trap that was measured on a real one, by its number.

use serde_json::{Value, json};
use testkit::forges::{ForgejoDouble, Kind, Outcome, Protection, Review, Role, State, Trap};

use crate::contract;
use crate::support::{self, Answer, Client, clone, commit_and_push};

struct Scene {
    forge: ForgejoDouble,
    ada: Client,
    bob: Client,
    /// An admin of the repository.
    root: Client,
    eve: Client,
    is_gitea: bool,
}

const SHOP: &str = "acme/shop";

impl Drop for Scene {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let description = if self.is_gitea { &contract::GITEA } else { &contract::FORGEJO };
            description.check(&self.forge.requests());
        }
    }
}

impl Scene {
    fn new() -> Self {
        Self::of(Kind::Forgejo(16))
    }

    fn of(kind: Kind) -> Self {
        let forge = ForgejoDouble::start_as(kind);
        let api = format!("{}/api/v1/repos/acme/shop", forge.url());
        let client = |login, role| Client::new(&api, &forge.add_user(login, role));
        let (ada, bob) = (client("ada", Role::Write), client("bob", Role::Write));
        let (root, eve) = (client("root", Role::Admin), client("eve", Role::None));
        forge.create_repo("acme", "shop");
        Self { forge, ada, bob, root, eve, is_gitea: kind == Kind::Gitea }
    }

    fn pull(&self, branch: &str, body: &str) -> u64 {
        self.forge.commit(SHOP, "ada", branch, &[("price.txt", Some("7\n"))], "feat: a price");
        let wanted = json!({ "title": "A price", "head": branch, "base": "main", "body": body });
        self.ada.post("/pulls", &wanted).expect(201)["number"].as_u64().unwrap()
    }

    fn protect(&self, approvals: u32, contexts: &[&str]) {
        let contexts = contexts.iter().map(|context| (*context).to_owned()).collect();
        let branch = "main".to_owned();
        let protection =
            Protection { branch, approvals, contexts, dismisses_stale: true, ..Protection::default() };
        self.forge.protect(SHOP, protection);
    }

    fn merge(&self, number: u64, head: Option<&str>) -> Answer {
        let mut body = json!({ "Do": "merge" });
        if let Some(head) = head {
            body["head_commit_id"] = json!(head);
        }
        self.ada.post(&format!("/pulls/{number}/merge"), &body)
    }
}

fn message(answer: &Answer) -> &str {
    answer.body["message"].as_str().unwrap_or_default()
}

#[test]
fn an_issue_becomes_a_merged_pull_request() {
    lives(&Scene::new());
}

#[test]
fn an_issue_becomes_a_merged_pull_request_on_gitea() {
    let scene = Scene::of(Kind::Gitea);
    lives(&scene);
    scene.ada.post("/issues/1/comments", &json!({ "body": "done" })).expect(201);
    scene.ada.get("/issues/1/timeline").expect(200);
    scene.ada.get("/issues?state=all").expect(200);
    scene.ada.get("/pulls/2/reviews").expect(200);
    let branch = scene.ada.get("/branches/main").expect(200);
    let path = format!("/commits/{}/status", branch["commit"]["id"].as_str().unwrap());
    let none = scene.ada.get(&path).expect(200);
    assert_eq!((&none["state"], &none["statuses"]), (&json!(""), &Value::Null));
    scene.forge.workflow(SHOP, "ci", &["push"], &["unit"]);
    let sha = scene.forge.commit(SHOP, "ada", "b", &[("x", Some("x"))], "feat: x");
    scene.forge.finish(SHOP, &sha, State::Ended(Outcome::Failure), "3 failed\n");
    let run = scene.ada.get("/actions/runs").expect(200)["workflow_runs"][0].clone();
    assert_eq!((&run["status"], &run["conclusion"]), (&json!("completed"), &json!("failure")));
    let jobs = scene.ada.get(&format!("/actions/runs/{}/jobs", run["id"])).expect(200);
    assert_eq!(jobs["jobs"][0]["name"], "unit");
}

/// Takes an issue to its end, on any of the forges.
fn lives(scene: &Scene) {
    let backlog = scene.forge.label(SHOP, "backlog", "00ff00");
    let issue = scene.ada.post("/issues", &json!({ "title": "Prices", "labels": [backlog] })).expect(201);
    assert_eq!(issue["labels"][0]["name"], "backlog");
    let directory = clone(&scene.forge.clone_url_with(SHOP, &scene.ada.token));
    let sha = commit_and_push(directory.path(), "fix/1", "price.txt", "7\n", "fix: the price");
    let wanted = json!({ "title": "Prices", "head": "fix/1", "base": "main", "body": "Closes #1" });
    let pull = scene.ada.post("/pulls", &wanted).expect(201);
    assert_eq!((&pull["number"], &pull["head"]["sha"]), (&json!(2), &json!(sha)));
    let review = json!({ "event": "APPROVED", "commit_id": sha });
    let review = scene.bob.post("/pulls/2/reviews", &review).expect(200);
    assert_eq!(
        (&review["commit_id"], &review["official"], &review["stale"]),
        (&json!(sha), &json!(true), &json!(false))
    );
    let early = scene.merge(2, Some(&sha));
    assert_eq!((early.status, message(&early)), (405, "Please try again later"));
    assert_eq!(scene.merge(2, Some(&sha)).status, 200);
    assert!(!scene.forge.look(SHOP, 1).unwrap().is_open);
    scene.ada.get("/pulls/2/merge").expect(204);
    scene.ada.delete("/branches/fix%2F1").expect(204);
}

/// Row 1: an approval outlives a push for a moment, and a merge in that moment is of what nobody has read.
#[test]
fn an_approval_becomes_stale_late() {
    let scene = Scene::new();
    scene.forge.set_trap(Trap::LateMergeability, false);
    scene.protect(1, &[]);
    let push = |text: &str| scene.forge.commit(SHOP, "ada", "a", &[("more.txt", Some(text))], "feat: more");
    let number = scene.pull("a", "");
    let reviewed = scene.forge.look_pull(SHOP, number).unwrap().head_sha;
    scene.forge.review(SHOP, number, "bob", Review::Approve, "");
    push("unread");
    // With the commit that was read it is refused; without it is not.
    let refused = scene.merge(number, Some(&reviewed));
    assert_eq!((refused.status, message(&refused)), (409, "head out of date"));
    let reviews = scene.ada.get(&format!("/pulls/{number}/reviews")).expect(200);
    assert_eq!((&reviews[0]["stale"], &reviews[0]["official"]), (&json!(false), &json!(true)));
    scene.forge.settle();
    let refused = scene.merge(number, None);
    assert!(message(&refused).contains("enough approvals"), "{refused:?}");
    scene.forge.review(SHOP, number, "bob", Review::Approve, "");
    push("unread again");
    assert_eq!(scene.merge(number, None).status, 200);
}

/// Row 2: a name that is not there filters nothing.
#[test]
fn an_unknown_label_is_no_filter() {
    let scene = Scene::new();
    scene.forge.issue(SHOP, "ada", "One", "", &["backlog"]);
    scene.forge.issue(SHOP, "ada", "Two", "", &[]);
    let count = |labels: &str| {
        let found = scene.ada.get(&format!("/issues?labels={labels}")).expect(200);
        found.as_array().unwrap().len()
    };
    assert_eq!((count("backlog"), count("nope"), count("Backlog"), count("backlog,nope")), (1, 2, 2, 1));
    scene.forge.set_trap(Trap::DroppedLabelFilter, false);
    assert_eq!((count("nope"), count("backlog,nope")), (0, 0));
}

/// Row 3: an assignee is no lock.
#[test]
fn several_can_assign_themselves_at_once() {
    let scene = Scene::new();
    let number = scene.forge.issue(SHOP, "root", "One", "", &[]);
    let claim = |client: &Client, who: &str| {
        client.patch(&format!("/issues/{number}"), &json!({ "assignees": [who] })).expect(201);
    };
    claim(&scene.ada, "ada");
    claim(&scene.bob, "bob");
    let both = scene.forge.look(SHOP, number).unwrap().assignees;
    assert_eq!(both.len(), 2, "{both:?}");
    scene.forge.settle();
    claim(&scene.root, "root");
    assert_eq!(scene.forge.look(SHOP, number).unwrap().assignees, ["root"]);
    scene.ada.patch(&format!("/issues/{number}"), &json!({ "assignees": [] })).expect(201);
    assert_eq!(scene.forge.look(SHOP, number).unwrap().assignees, [""; 0]);
}

/// Rows 4 and 5: a name can be given twice, a name attaches all that have it, an unknown one attaches nothing.
#[test]
fn labels_can_be_doubled_and_missed() {
    let scene = Scene::new();
    let wanted = json!({ "name": "backlog", "color": "#00ff00" });
    let ids: Vec<Value> =
        (0..2).map(|_| scene.ada.post("/labels", &wanted).expect(201)["id"].clone()).collect();
    assert_ne!(ids[0], ids[1]);
    let number = scene.forge.issue(SHOP, "ada", "One", "", &[]);
    let path = format!("/issues/{number}/labels");
    let attached = scene.ada.post(&path, &json!({ "labels": ["backlog"] })).expect(200);
    assert_eq!(attached.as_array().unwrap().len(), 2);
    scene.ada.delete(&format!("{path}/{}", ids[0])).expect(204);
    scene.ada.delete(&format!("{path}/backlog")).expect(204);
    let attached = scene.ada.post(&path, &json!({ "labels": [9_999_999, "nope"] })).expect(200);
    assert_eq!(attached, json!([]));
    scene.forge.set_trap(Trap::DuplicateLabels, false);
    assert_eq!(scene.ada.post("/labels", &wanted).status, 409);
    scene.forge.set_trap(Trap::SilentUnknownLabel, false);
    assert_eq!(scene.ada.post(&path, &json!({ "labels": [9_999_999] })).status, 422);
}

/// Rows 6 and 7: what only admins may read, and where a writer reads it.
#[test]
fn permissions_and_protections_are_for_admins() {
    let scene = Scene::new();
    scene.protect(1, &["ci"]);
    assert_eq!(scene.ada.get("/collaborators/bob/permission").status, 403);
    assert_eq!(scene.root.get("/collaborators/bob/permission").expect(200)["permission"], "write");
    assert_eq!(scene.ada.get("/branch_protections").status, 403);
    assert_eq!(scene.root.get("/branch_protections").expect(200)[0]["required_approvals"], 1);
    let branch = scene.ada.get("/branches/main").expect(200);
    assert_eq!(branch["required_approvals"], 1);
    assert_eq!((&branch["status_check_contexts"], &branch["user_can_merge"]), (&json!(["ci"]), &json!(true)));
}

/// Row 8: five ways of not merging with two codes.
#[test]
fn a_merge_is_refused_in_many_words() {
    let scene = Scene::new();
    scene.protect(1, &["ci"]);
    let number = scene.pull("a", "");
    let sha = scene.forge.look_pull(SHOP, number).unwrap().head_sha;
    let refused = |words: &str| {
        let answer = scene.merge(number, None);
        assert_eq!((answer.status, message(&answer)), (405, words));
    };
    refused("Please try again later");
    refused("not allowed to merge [reason: Does not have enough approvals]");
    scene.forge.review(SHOP, number, "bob", Review::Approve, "");
    refused("not allowed to merge [reason: Not all required status checks successful]");
    scene.forge.status(SHOP, &sha, "ci", "success");
    scene.forge.set_title(SHOP, number, "ada", "WIP: A price");
    refused("Work in progress PRs cannot be merged");
    scene.forge.set_title(SHOP, number, "ada", "A price");
    assert_eq!(scene.merge(number, Some(&sha)).status, 200);
    let again = scene.merge(number, Some(&sha));
    assert_eq!((again.status, again.text.as_str()), (405, ""));
    assert_eq!(scene.ada.get(&format!("/pulls/{number}/merge")).status, 204);
}

/// Rows 9 and 10: nobody approves their own, and bad input can look like the server's fault.
#[test]
fn reviews_are_refused() {
    let scene = Scene::new();
    let number = scene.pull("a", "");
    let path = format!("/pulls/{number}/reviews");
    assert_eq!(scene.ada.post(&path, &json!({ "event": "APPROVED" })).status, 422);
    let unknown = json!({ "event": "APPROVED", "commit_id": "1".repeat(40) });
    let fault = scene.bob.post(&path, &unknown);
    assert_eq!((fault.status, message(&fault)), (500, ""));
    let (one, two) =
        (scene.forge.issue(SHOP, "ada", "1", "", &[]), scene.forge.issue(SHOP, "ada", "2", "", &[]));
    let depend = |from: u64, on: u64| {
        let on = json!({ "index": on, "owner": "acme", "repo": "shop" });
        scene.ada.post(&format!("/issues/{from}/dependencies"), &on).status
    };
    assert_eq!((depend(one, two), depend(two, one)), (201, 500));
    // Row 11: what waits cannot be closed.
    let close = json!({ "state": "closed" });
    assert_eq!(scene.ada.patch(&format!("/issues/{one}"), &close).status, 412);
    scene.ada.patch(&format!("/issues/{two}"), &close).expect(201);
    scene.ada.patch(&format!("/issues/{one}"), &close).expect(201);
}

/// Row 12: an unknown state is ignored, or refused by Gitea.
#[test]
fn an_unknown_state_changes_nothing() {
    for (kind, status) in [(Kind::Forgejo(16), 201), (Kind::Gitea, 412)] {
        let scene = Scene::of(kind);
        let number = scene.forge.issue(SHOP, "ada", "One", "", &[]);
        assert_eq!(
            scene.ada.patch(&format!("/issues/{number}"), &json!({ "state": "bogus" })).status,
            status
        );
        assert!(scene.forge.look(SHOP, number).unwrap().is_open);
    }
}

/// Rows 13, 14 and 17: lists have pages, comments have none; nothing is conditional; texts are kept as they are.
#[test]
fn comments_come_all_at_once() {
    let scene = Scene::new();
    let number = scene.forge.issue(SHOP, "ada", "One", "", &[]);
    for index in 0..60 {
        scene.forge.comment(SHOP, number, "ada", &format!("comment {index}"));
        scene.forge.issue(SHOP, "ada", "More", "", &[]);
    }
    let all = scene.ada.get(&format!("/issues/{number}/comments?limit=5&page=2"));
    assert_eq!(all.body.as_array().unwrap().len(), 60);
    let page = scene.ada.get("/issues?limit=100");
    assert_eq!((page.body.as_array().unwrap().len(), page.header("x-total-count")), (50, Some("61")));
    assert!(page.header("link").is_some_and(|link| link.contains("page=2")));
    assert_eq!((page.header("etag"), page.header("x-ratelimit-remaining")), (None, None));
    let huge = format!("<!-- marker -->{}", "x".repeat(1_200_000));
    scene.ada.post(&format!("/issues/{number}/comments"), &json!({ "body": huge })).expect(201);
    assert_eq!(scene.forge.look(SHOP, number).unwrap().comments.last().unwrap().1, huge);
    scene.forge.set_trap(Trap::UnpaginatedComments, false);
    let page = scene.ada.get(&format!("/issues/{number}/comments?limit=5&page=2"));
    assert_eq!(page.expect(200)[0]["body"], "comment 5");
}

/// Row 15: all forges' headers at once, no label in a label's event, nothing about a status.
#[test]
fn webhooks_say_little() {
    let scene = Scene::new();
    let receiver = support::Receiver::start();
    scene.forge.hook(SHOP, &receiver.url(), "s3cret", &[]);
    let number = scene.forge.issue(SHOP, "ada", "One", "", &[]);
    scene.forge.attach(SHOP, number, "ada", "backlog");
    let sha = scene.forge.branch(SHOP, "main").unwrap();
    scene.forge.status(SHOP, &sha, "ci", "success");
    let told = scene.forge.deliveries();
    assert_eq!(told.len(), 2, "{told:?}");
    let names: Vec<&str> = told[1].headers.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["X-Forgejo-Event", "X-Gitea-Event", "X-GitHub-Event", "X-Hub-Signature-256"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let body: Value = serde_json::from_str(&told[1].body).unwrap();
    assert_eq!((&body["action"], body.get("label")), (&json!("label_updated"), None));
}

/// Rows 16 and 18: a pull request outlives its branch, and a branch has one.
#[test]
fn a_pull_request_outlives_its_branch() {
    let scene = Scene::new();
    let number = scene.pull("a", "");
    let second = scene.ada.post("/pulls", &json!({ "title": "again", "head": "a", "base": "main" }));
    assert_eq!(second.status, 409);
    assert!(message(&second).contains(&format!("[id: {number}, issue_id: ")), "{second:?}");
    scene.ada.delete("/branches/a").expect(204);
    assert!(scene.forge.look(SHOP, number).unwrap().is_open);
    scene.forge.break_pull(SHOP, number);
    assert_eq!(scene.ada.get("/pulls").expect(200), json!([null]));
    // No description knows of that.
    scene.forge.clear_requests();
}

/// Row 19: the timeline says who set which label.
#[test]
fn the_timeline_says_who_labelled() {
    let scene = Scene::new();
    let label = scene.forge.label(SHOP, "backlog", "00ff00");
    let number = scene.forge.issue(SHOP, "eve", "One", "", &[]);
    assert_eq!(
        scene.eve.post(&format!("/issues/{number}/labels"), &json!({ "labels": [label] })).status,
        403
    );
    scene.forge.attach(SHOP, number, "ada", "backlog");
    scene.forge.detach(SHOP, number, "bob", "backlog");
    let timeline = scene.ada.get(&format!("/issues/{number}/timeline")).expect(200);
    let told: Vec<(&str, &str, &str)> = timeline
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["type"] == "label")
        .map(|entry| {
            let text = |value: &'static str| entry.pointer(value).and_then(Value::as_str).unwrap();
            (text("/user/login"), text("/label/name"), text("/body"))
        })
        .collect();
    assert_eq!(told, [("ada", "backlog", "1"), ("bob", "backlog", "")]);
}

/// Row 20, and what a run looks like: a status, no conclusion, a log in plain text.
#[test]
fn runs_are_repeated_from_17_on() {
    for (major, status) in [(15, 404), (16, 404), (17, 204)] {
        let scene = Scene::of(Kind::Forgejo(major));
        scene.forge.workflow(SHOP, "", &["push"], &["unit"]);
        let sha = scene.forge.commit(SHOP, "ada", "a", &[("x", Some("x"))], "feat: x");
        let waiting = scene.ada.get(&format!("/commits/{sha}/status")).expect(200);
        assert_eq!(
            (&waiting["state"], &waiting["statuses"][0]["status"]),
            (&json!("pending"), &json!("pending"))
        );
        assert_eq!(waiting["statuses"][0]["context"], "/ unit (push)");
        assert!(
            waiting["statuses"][0]["target_url"]
                .as_str()
                .unwrap()
                .starts_with("/acme/shop/actions/runs/1/jobs/")
        );
        scene.forge.finish(SHOP, &sha, State::Ended(Outcome::Failure), "3 failed\n");
        let runs = scene.ada.get("/actions/runs").expect(200);
        let run = &runs["workflow_runs"][0];
        assert_eq!((&run["status"], run.get("conclusion")), (&json!("failure"), None));
        let jobs = scene.ada.get(&format!("/actions/runs/{}/jobs", run["id"])).expect(200);
        let log = scene.ada.get(&format!("/actions/jobs/{}/logs", jobs[0]["id"]));
        assert_eq!((log.status, log.text.as_str()), (200, "3 failed\n"));
        let again = scene.ada.post(&format!("/actions/runs/{}/rerun", run["id"]), &json!({}));
        assert_eq!(again.status, status, "{major}");
    }
}

#[test]
fn gitea_differs() {
    let scene = Scene::of(Kind::Gitea);
    let number = scene.forge.issue(SHOP, "ada", "One", "", &["backlog"]);
    let path = format!("/issues/{number}");
    // A label goes by its id alone, and assignees have an address of their own.
    assert_eq!(scene.ada.delete(&format!("{path}/labels/backlog")).status, 422);
    let claimed = scene.ada.post(&format!("{path}/assignees"), &json!({ "assignees": ["ada"] })).expect(201);
    assert_eq!(claimed["assignees"][0]["login"], "ada");
    scene.forge.issue(SHOP, "ada", "Two", "", &[]);
    let sorted = scene.ada.get("/issues?sort=oldest").expect(200);
    assert_eq!(sorted[0]["title"], "Two");
    let forgejo = Scene::new();
    forgejo.forge.issue(SHOP, "ada", "One", "", &[]);
    assert_eq!(forgejo.ada.post("/issues/1/assignees", &json!({ "assignees": ["ada"] })).status, 404);
}

#[test]
fn an_archived_repository_is_locked() {
    let scene = Scene::new();
    scene.forge.set_archived(SHOP, true);
    assert_eq!(scene.ada.post("/issues", &json!({ "title": "x" })).status, 423);
    scene.ada.get("/issues").expect(200);
    assert_eq!(
        message(&scene.ada.get("/issues/77")),
        message(
            &Client::new(&format!("{}/api/v1", scene.forge.url()), &scene.ada.token).get("/repos/acme/none")
        )
    );
}
