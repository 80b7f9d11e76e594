//! The double of Woodpecker: what was measured on a real one.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use testkit::forges::{BuildState, Exchange, Fault, FaultKind, ForgejoDouble, Role, Trap, WoodpeckerDouble};

use crate::{contract, support::Client};

struct Scene {
    ci: WoodpeckerDouble,
    client: Client,
    repo: u64,
}

impl Scene {
    fn new() -> Self {
        let ci = WoodpeckerDouble::start();
        let client = Client::new(&format!("{}/api", ci.url()), WoodpeckerDouble::TOKEN);
        let repo = ci.add_repo("acme/shop");
        Self { ci, client, repo }
    }

    fn pipeline(&self, number: u64) -> Value {
        self.client.get(&format!("/repos/{}/pipelines/{number}", self.repo)).expect(200)
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // A log that is null at first is what servers do, and no description knows of it.
            let is_late =
                |request: &Exchange| request.path.contains("/logs/") && request.answered().is_null();
            let described: Vec<Exchange> =
                self.ci.requests().into_iter().filter(|request| !is_late(request)).collect();
            contract::WOODPECKER.check(&described);
        }
    }
}

const SHA: &str = "1111111111111111111111111111111111111111";

#[test]
fn a_log_is_null_at_first() {
    let scene = Scene::new();
    assert_eq!(scene.client.get("/repos/lookup/acme/shop").expect(200)["id"], scene.repo);
    let number = scene.ci.push(scene.repo, SHA, "main", &["clone", "test"]);
    assert_eq!(scene.pipeline(number)["status"], "pending");
    scene.ci.end_step(scene.repo, number, "clone", 0, "cloned\n");
    scene.ci.run_step(scene.repo, number, "test");
    assert_eq!(scene.pipeline(number)["status"], "running");
    scene.ci.end_step(scene.repo, number, "test", 1, "one\nzwei ü\n");
    let pipeline = scene.pipeline(number);
    let step = &pipeline["workflows"][0]["children"][1];
    assert_eq!((&pipeline["status"], &step["exit_code"]), (&json!("failure"), &json!(1)));
    let log = || scene.client.get(&format!("/repos/{}/logs/{number}/{}", scene.repo, step["id"])).expect(200);
    assert_eq!(log(), Value::Null);
    let lines = log();
    let data = BASE64_STANDARD.decode(lines[1]["data"].as_str().unwrap()).unwrap();
    assert_eq!(String::from_utf8(data).unwrap(), "zwei ü");
    scene.ci.set_trap(Trap::LateLog, false);
    scene.ci.end_step(scene.repo, number, "test", 1, "again\n");
    assert_eq!(log().as_array().unwrap().len(), 1);
}

#[test]
fn a_restart_has_a_number_of_its_own() {
    let scene = Scene::new();
    let number = scene.ci.push(scene.repo, SHA, "main", &["test"]);
    let path = format!("/repos/{}/pipelines/{number}", scene.repo);
    scene.client.post(&format!("{path}/cancel"), &json!({})).expect(200);
    assert_eq!(scene.pipeline(number)["status"], "killed");
    assert_eq!(scene.client.post(&format!("{path}/cancel"), &json!({})).status, 400);
    let again = scene.client.post(&path, &json!({})).expect(200);
    assert_eq!(
        (&again["number"], &again["parent"], &again["status"]),
        (&json!(2), &json!(1), &json!("pending"))
    );
    let broken = scene.ci.broken(scene.repo, SHA, "main", "yaml: line 3");
    let broken = scene.pipeline(broken);
    assert_eq!(
        (&broken["status"], &broken["errors"][0]["message"]),
        (&json!("error"), &json!("yaml: line 3"))
    );
    assert_eq!(broken.get("workflows"), None);
    let listed = scene.client.get(&format!("/repos/{}/pipelines", scene.repo)).expect(200);
    let numbers: Vec<&Value> =
        listed.as_array().unwrap().iter().map(|pipeline| &pipeline["number"]).collect();
    assert_eq!(numbers, [3, 2, 1]);
}

#[test]
fn a_commit_has_two_pipelines_and_two_statuses() {
    let scene = Scene::new();
    let forge = ForgejoDouble::start();
    forge.add_user("ada", Role::Write);
    forge.create_repo("acme", "shop");
    scene.ci.report_to(&forge);
    let sha = forge.commit("acme/shop", "ada", "fix/1", &[("a", Some("a"))], "fix: a");
    let pull = forge.pull("acme/shop", "ada", "fix/1", "main", "A", "");
    let push = scene.ci.push(scene.repo, &sha, "fix/1", &["test"]);
    let second = scene.ci.pull_request(scene.repo, &sha, "fix/1", pull, &["test"]);
    scene.ci.end_step(scene.repo, push, "test", 0, "");
    scene.ci.set_step(scene.repo, second, "test", BuildState::Killed, 137, "");
    let ada = Client::new(&format!("{}/api/v1", forge.url()), &forge.add_user("bob", Role::Write));
    let status = ada.get(&format!("/repos/acme/shop/commits/{sha}/status")).expect(200);
    let mut told: Vec<(&str, &str)> = status["statuses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|status| (status["context"].as_str().unwrap(), status["status"].as_str().unwrap()))
        .collect();
    told.sort_unstable();
    assert_eq!(
        told,
        [("ci/woodpecker/pr/woodpecker", "error"), ("ci/woodpecker/push/woodpecker", "success")]
    );
}

#[test]
fn it_wants_its_token_and_has_faults() {
    let scene = Scene::new();
    let stranger = Client::new(&format!("{}/api", scene.ci.url()), "nonsense");
    assert_eq!(stranger.get("/user").status, 401);
    scene.ci.set_fault(Fault::next("GET /user", FaultKind::ServerError5xx(502)));
    assert_eq!(scene.client.get("/user").status, 502);
    scene.client.get("/user").expect(200);
}
