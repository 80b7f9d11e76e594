//! A project's forge, found by its remote on doubles of servers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{path::Path, process::Command, sync::Arc};

use adapters::clock::Clock;
use forge::{Author, ForgeError, NewItem, Refusal, SiteKind};
use project::{
    Hosts as _, Place,
    hosting::{Choice, ForgeSettings, Forged, HostingError, Logins, Servers, Token},
};
use testkit::forges::{ForgejoDouble, GitHubDouble, Role};

fn git(directory: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Makes a checkout with this remote; none if there is no address.
fn checkout(home: &Path, remote: Option<&str>) -> Place {
    let root = home.join("shop");
    std::fs::create_dir_all(&root).unwrap();
    git(&root, &["init", "--quiet"]);
    if let Some(remote) = remote {
        git(&root, &["remote", "add", "origin", remote]);
    }
    Place::at(&root).unwrap()
}

fn servers(home: &Path, choice: Choice) -> Servers {
    let logins = Logins::new(&home.join("config"), Arc::new(|_: &str| None)).without_gh();
    Servers::new(logins, Clock::default(), move |_: &Place| {
        Ok(ForgeSettings { choice, ..ForgeSettings::default() })
    })
}

fn host(url: &str) -> String {
    url.trim_start_matches("http://").to_owned()
}

#[test]
fn servers_are_found_by_remotes_and_asked_what_they_are() {
    let (github, forgejo) = (GitHubDouble::start(), ForgejoDouble::start());
    for (double, kind) in [(&*github, SiteKind::GitHub), (&*forgejo, SiteKind::Forgejo)] {
        let home = tempfile::tempdir().unwrap();
        let token = double.add_user("ada", Role::Write);
        let repo = double.create_repo("acme", "shop");
        let place = checkout(home.path(), Some(&double.clone_url(&repo)));
        let servers = servers(home.path(), Choice::Auto);
        let Forged::Local { why, .. } = servers.find(&place).unwrap() else { panic!("there is no token") };
        assert!(why.contains("no token"), "{why}");
        let token = Token::parse(&token).unwrap();
        servers.logins().keep(&host(double.url()), kind, token).unwrap();
        let Forged::Server { remote, kind: found, .. } = servers.find(&place).unwrap() else {
            panic!("there is a token")
        };
        assert_eq!((found, remote.account().unwrap().as_str()), (kind, "ada"));
        let tracker = servers.of(&place).unwrap().tracker(Author::warp());
        let new = NewItem { title: "Prices are wrong".to_owned(), ..NewItem::default() };
        let filed = tracker.file(&new, Some("report:1")).unwrap();
        assert_eq!(double.look(&repo, filed.id.number().unwrap()).unwrap().title, "Prices are wrong");
        assert!(!format!("{servers:?} {remote:?}").contains("token-of-ada"), "nothing shows a token");
    }
}

#[test]
fn a_server_is_probed_where_nothing_names_it() {
    let forgejo = ForgejoDouble::start();
    let token = forgejo.add_user("ada", Role::Write);
    let repo = forgejo.create_repo("acme", "shop");
    let home = tempfile::tempdir().unwrap();
    let place = checkout(home.path(), Some(&forgejo.clone_url(&repo)));
    let url = forgejo.url().to_owned();
    let environment = move |name: &str| match name {
        "FORGEJO_TOKEN" => Some(token.clone()),
        "FORGEJO_URL" => Some(url.clone()),
        _ => None,
    };
    let logins = Logins::new(&home.path().join("config"), Arc::new(environment)).without_gh();
    let servers = Servers::new(logins, Clock::default(), |_: &Place| Ok(ForgeSettings::default()));
    let found = servers.find(&place).unwrap();
    assert!(matches!(found, Forged::Server { kind: SiteKind::Forgejo, .. }), "{found:?}");
}

#[test]
fn without_a_remote_the_journal_hosts_unless_a_server_was_named() {
    let home = tempfile::tempdir().unwrap();
    let place = checkout(home.path(), None);
    assert!(servers(home.path(), Choice::Auto).of(&place).is_none());
    let named = servers(home.path(), Choice::Server(Some(SiteKind::GitHub)));
    assert!(matches!(named.find(&place), Err(HostingError::NoRemote(_))));
    let refused = named.of(&place).unwrap().tracker(Author::warp()).items(forge::Query::Open);
    assert!(matches!(refused, Err(ForgeError::Refused(Refusal::Credentials { .. }))), "{refused:?}");
    let place = checkout(&home.path().join("other"), Some("/srv/git/shop.git"));
    assert!(servers(home.path(), Choice::Auto).of(&place).is_none());
    let place = checkout(&home.path().join("third"), Some("https://github.com/acme/shop.git"));
    assert!(servers(home.path(), Choice::Local).of(&place).is_none());
}
