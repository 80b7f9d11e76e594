//! Clients that others have written, against the doubles: each files an issue, labels it, opens a pull request, lets a
//! second person review it, and merges it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use tempfile::TempDir;
use testkit::{
    agents::{output, skip},
    forges::{Exchange, ForgejoDouble, GitHubDouble, Protection, Review, Role},
};

use crate::contract;

/// How long a client may take; a second is usual.
const PATIENCE: Duration = Duration::from_secs(120);
const SHOP: &str = "acme/shop";

/// Finds what is installed by a variable, or says that the test is skipped.
fn installed(variable: &str) -> Option<PathBuf> {
    let found = env::var_os(variable).map(PathBuf::from).filter(|path| path.exists());
    if found.is_none() {
        skip(&format!("{variable} is not set"));
    }
    found
}

/// Makes a command that knows nothing of the person who runs the tests.
fn command(program: impl AsRef<Path>, home: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    command
        .env_clear()
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("LANG", "C.UTF-8")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

#[track_caller]
fn succeed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{}\n{out}{err}", output.status);
    out
}

/// A double of GitHub with a repository that wants one approval, and a branch to merge.
struct Shop {
    github: GitHubDouble,
    ada: String,
    bob: String,
    home: TempDir,
}

impl Shop {
    fn new() -> Self {
        let github = GitHubDouble::start();
        let (ada, bob) = (github.add_user("ada", Role::Write), github.add_user("bob", Role::Write));
        github.create_repo("acme", "shop");
        github.label(SHOP, "backlog", "00ff00");
        let protection = Protection { branch: "main".to_owned(), approvals: 1, ..Protection::default() };
        github.protect(SHOP, protection);
        github.commit(SHOP, "ada", "fix/1", &[("price.txt", Some("7\n"))], "fix: the price");
        Self { github, ada, bob, home: tempfile::tempdir().unwrap() }
    }

    /// Looks at what a client has left behind, whichever it was.
    fn check(&self) {
        let issue = self.github.look(SHOP, 1).unwrap();
        assert_eq!(
            (issue.title.as_str(), issue.labels.as_slice()),
            ("Prices", ["backlog".to_owned()].as_slice())
        );
        assert!(!issue.is_open, "the pull request closes the issue");
        let pull = self.github.look_pull(SHOP, 2).unwrap();
        let (_, by) = pull.merged.unwrap();
        assert_eq!(by, "ada");
        let (reviewer, said, commit, _) = pull.reviews.last().unwrap();
        assert_eq!((reviewer.as_str(), *said, commit), ("bob", Review::Approve, &pull.head_sha));
        let asked = self.github.requests();
        let failed = asked.iter().filter(|request| request.status.is_some_and(|status| status >= 500));
        assert_eq!(failed.count(), 0);
        // GitHub also takes the bare list of names that PyGithub sends, which its description does not know.
        let is_bare = |request: &&Exchange| request.path.ends_with("/labels") && request.sent().is_array();
        let described: Vec<Exchange> = asked.iter().filter(|request| !is_bare(request)).cloned().collect();
        contract::GITHUB.check(&described);
    }
}

#[test]
fn the_command_line_of_github() {
    let Some(clients) = installed("WARP_TEST_FORGE_CLIENTS") else { return };
    let shop = Shop::new();
    let run = |token: &str, arguments: &[&str]| {
        let mut command = command(clients.join("bin/gh"), shop.home.path());
        command
            .args(arguments)
            .env("GH_CONFIG_DIR", shop.home.path().join("gh"))
            .env("GH_TOKEN", token)
            .env("GH_PROMPT_DISABLED", "1")
            .env("GH_NO_UPDATE_NOTIFIER", "1")
            .env("GH_TELEMETRY", "disabled")
            .env("DO_NOT_TRACK", "1")
            .env("NO_COLOR", "1");
        let done = output(command, PATIENCE);
        let last = shop.github.requests().pop().map(|request| (request.sent(), request.answered()));
        assert!(done.status.success(), "gh {arguments:?}: {done:?}\n{last:#?}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let socket = shop.github.socket();
    run(&shop.ada, &["config", "set", "http_unix_socket", socket.to_str().unwrap()]);
    let ada = |arguments: &[&str]| run(&shop.ada, &[arguments, &["-R", SHOP]].concat());
    let bob = |arguments: &[&str]| run(&shop.bob, &[arguments, &["-R", SHOP]].concat());

    let made = ada(&["issue", "create", "--title", "Prices", "--body", "- [ ] right"]);
    assert!(made.trim().ends_with("/acme/shop/issues/1"), "{made}");
    ada(&["issue", "edit", "1", "--add-label", "backlog"]);
    let listed = ada(&["issue", "list", "--label", "backlog", "--json", "number,title,labels"]);
    assert!(listed.contains("\"number\":1"), "{listed}");
    let shown = ada(&["issue", "view", "1"]);
    assert!(shown.contains("labels:\tbacklog"), "{shown}");
    let found = ada(&["issue", "list", "--search", "prices in:title"]);
    assert!(found.contains("Prices"), "{found}");
    ada(&["issue", "comment", "1", "--body", "on it"]);

    let made = ada(&[
        "pr",
        "create",
        "--title",
        "Prices",
        "--body",
        "Closes #1",
        "--head",
        "fix/1",
        "--base",
        "main",
    ]);
    assert!(made.trim().ends_with("/acme/shop/pull/2"), "{made}");
    let listed = bob(&["pr", "list", "--json", "number,headRefName,reviewDecision"]);
    assert!(listed.contains("REVIEW_REQUIRED"), "{listed}");
    bob(&["pr", "review", "2", "--approve", "--body", "good"]);
    let shown = ada(&["pr", "view", "2"]);
    assert!(shown.contains("reviewers:\tbob (Approved)"), "{shown}");
    let shown =
        ada(&["pr", "view", "2", "--json", "mergeable,statusCheckRollup,files,commits,headRefOid,state"]);
    assert!(shown.contains("\"state\":\"OPEN\""), "{shown}");
    let head = shop.github.look_pull(SHOP, 2).unwrap().head_sha;
    shop.github.settle();
    ada(&["pr", "merge", "2", "--merge", "--match-head-commit", &head]);
    shop.check();
}

#[test]
fn octokit() {
    let Some(octokit) = installed("WARP_TEST_OCTOKIT") else { return };
    let shop = Shop::new();
    let script = include_str!("fixtures/octokit.mjs");
    fs::write(shop.home.path().join("client.mjs"), script).unwrap();
    let mut node = command("node", shop.home.path());
    node.arg("client.mjs")
        .env("OCTOKIT", &octokit)
        .env("URL", shop.github.url())
        .env("ADA", &shop.ada)
        .env("BOB", &shop.bob);
    succeed(&output(node, PATIENCE));
    shop.check();
}

#[test]
fn pygithub() {
    let Some(clients) = installed("WARP_TEST_FORGE_CLIENTS") else { return };
    let shop = Shop::new();
    succeed(&python(
        &clients,
        shop.home.path(),
        include_str!("fixtures/pygithub.py"),
        shop.github.url(),
        &shop.ada,
        &shop.bob,
    ));
    shop.check();
}

#[test]
fn pyforgejo() {
    let Some(clients) = installed("WARP_TEST_FORGE_CLIENTS") else { return };
    let forge = ForgejoDouble::start();
    let (ada, bob) = (forge.add_user("ada", Role::Write), forge.add_user("bob", Role::Write));
    forge.create_repo("acme", "shop");
    forge.label(SHOP, "backlog", "00ff00");
    forge.commit(SHOP, "ada", "fix/1", &[("price.txt", Some("7\n"))], "fix: the price");
    let home = tempfile::tempdir().unwrap();
    succeed(&python(&clients, home.path(), include_str!("fixtures/pyforgejo.py"), forge.url(), &ada, &bob));
    let issue = forge.look(SHOP, 1).unwrap();
    assert_eq!((issue.labels.as_slice(), issue.is_open), (["backlog".to_owned()].as_slice(), false));
    let pull = forge.look_pull(SHOP, 2).unwrap();
    assert_eq!(pull.merged.unwrap().1, "ada");
    assert_eq!((pull.reviews[0].0.as_str(), pull.reviews[0].1), ("bob", Review::Approve));
    contract::FORGEJO.check(&forge.requests());
}

fn python(clients: &Path, home: &Path, script: &str, url: &str, ada: &str, bob: &str) -> Output {
    fs::write(home.join("client.py"), script).unwrap();
    let mut python = command("python3", home);
    python.arg("client.py").env("PYTHONPATH", clients).env("PYTHONDONTWRITEBYTECODE", "1");
    python.env("URL", url).env("ADA", ada).env("BOB", bob);
    output(python, PATIENCE)
}
