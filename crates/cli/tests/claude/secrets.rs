//! Secrets of the person's, and the real client behind walls: its model is told none.

use std::fs;

use testkit::{
    agents::Claude,
    model::{Model, Script, Turn},
};

use super::{
    coder::Asked,
    run::{finish, project, run},
};

/// What a model tries that has been talked into it. What it looks for is spelled so that the command does not hold it.
const LOOK: &str = "env; cat ~/secret.txt ~/.netrc ~/.ssh/id_ed25519 ~/.config/gh/hosts.yml; \
    find ~ -type f | xargs cat | grep -a '[c]anary'; echo looked";

#[test]
fn a_model_that_has_everything_read_to_it_hears_no_secret() {
    if Claude::or_skip().is_none() {
        return;
    }
    let sandbox = project();
    for (file, text) in [
        (".config/gh/hosts.yml", "github.com:\n    oauth_token: canary-of-gh\n"),
        (".netrc", "machine example.org login ann password canary-of-netrc\n"),
        (".ssh/id_ed25519", "canary of a key\n"),
        ("secret.txt", "canary of the home\n"),
    ] {
        let path = sandbox.home().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let model = Model::start(Script::function(|request| {
        let asked = Asked::of(request);
        if asked.phase == "planning" && asked.moves == 0 { Turn::bash(LOOK) } else { asked.next(request) }
    }));
    let mut command = run(&sandbox, &model, &["42", "--level", "3"]);
    command.env("GH_TOKEN", "canary-of-environment").env("ACME_THING", "canary-of-odd-name");
    let ended = finish(command);
    assert!(!ended.out.contains("canary") && !ended.err.contains("canary"), "{}\n{}", ended.out, ended.err);
    let requests = model.requests();
    assert!(requests.iter().any(|request| request.text().contains("WARP_PHASE=planning")));
    assert!(requests.iter().any(|request| request.text().contains("looked")));
    for request in requests {
        assert!(!request.body.to_string().contains("canary"), "{:#}", request.body);
    }
    let log = sandbox.warp_ok(&["log", "42", "--json"]);
    assert!(!log.contains("canary"), "{log}");
}
