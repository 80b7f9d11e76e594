//! Real clients see their own login in the sandbox, and no other client's.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use adapters::agent::{Agent, claude, codex, command};
use serde_json::json;
use testkit::{
    agents::{Claude, Codex},
    model::{Model, Script, Turn},
};

use super::hermetic::{Driver, again, again_with, drive, project};

/// Shows all that an agent can find of logins, in files and in its environment.
const LOOK: &str = "cd $HOME; find .claude .claude.json .codex .gemini .local/share/opencode .config/opencode -type f \
                    -exec cat {} + > \"$OLDPWD/seen\" 2>&1; cd \"$OLDPWD\"; env >> seen; cat $HOME/.codex/auth.json \
                    $HOME/.claude/.credentials.json $HOME/.gemini/oauth_creds.json >> seen 2>&1; true";

/// Where each client's login is, and a word that is in it.
const LOGINS: [(&str, &str); 6] = [
    (".claude/.credentials.json", "login-of-claude"),
    (".codex/auth.json", "login-of-codex"),
    (".gemini/oauth_creds.json", "login-of-gemini"),
    (".gemini/google_accounts.json", "account-of-gemini"),
    (".local/share/opencode/auth.json", "login-of-opencode"),
    (".config/opencode/opencode.json", "key-of-opencode"),
];
const KEYS: [(&str, &str); 3] = [
    ("ANTHROPIC_API_KEY", "key-of-anthropic"),
    ("OPENAI_API_KEY", "key-of-openai"),
    ("GEMINI_API_KEY", "key-of-google"),
];

fn write_logins(home: &Path) {
    for (path, word) in LOGINS {
        fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
        fs::write(home.join(path), json!({ "secret": word }).to_string()).unwrap();
    }
    fs::write(home.join(".codex/config.toml"), "model = 'gpt-5.5'\n").unwrap();
}

/// Asks an agent to look, and checks which of the words it has found.
fn sees(driver: &Driver, agent: &dyn Agent, own: &[&str]) {
    let (ended, said) = driver.ask(agent, "Look around.", None);
    assert!(ended.answer.is_ok(), "{:?} {said:#?} {}", ended.answer, ended.last_words);
    if driver.walls.is_none() {
        return;
    }
    // A client keeps databases beside its login.
    let seen = fs::read(driver.root.join("seen")).unwrap();
    let seen = String::from_utf8_lossy(&seen);
    for (_, word) in LOGINS.iter().chain(&KEYS) {
        assert_eq!(seen.contains(word), own.contains(word), "{word}: {seen}");
    }
}

#[test]
fn claude_code_sees_no_login_but_its_own() {
    let outside = || {
        Claude::or_skip()?;
        let sandbox = project();
        write_logins(sandbox.home());
        let done = Turn::call("StructuredOutput", json!({ "summary": "seen" }));
        let model = Model::start(Script::list([Turn::bash(LOOK), done]));
        let mut command = again_with(&sandbox, &model);
        command.env("WARP_TEST_CLAUDE", env::var_os("WARP_TEST_CLAUDE").unwrap()).envs(KEYS);
        Some(((sandbox, model), command))
    };
    drive("logins::claude_code_sees_no_login_but_its_own", outside, |driver| {
        let program = PathBuf::from(env::var_os("WARP_TEST_CLAUDE").unwrap());
        sees(driver, &claude::Claude { program }, &["login-of-claude", "key-of-anthropic"]);
    });
}

#[test]
fn codex_sees_no_login_but_its_own() {
    let outside = || {
        Codex::or_skip()?;
        let sandbox = project();
        write_logins(sandbox.home());
        fs::remove_file(sandbox.home().join(".codex/auth.json")).unwrap();
        let done = Turn::say(json!({ "summary": "seen" }).to_string());
        let model = Model::start(Script::list([Turn::exec_command(LOOK), done]));
        let mut command = again_with(&sandbox, &model);
        command.env("WARP_TEST_CODEX", env::var_os("WARP_TEST_CODEX").unwrap()).envs(KEYS);
        Some(((sandbox, model), command))
    };
    drive("logins::codex_sees_no_login_but_its_own", outside, |driver| {
        let program = PathBuf::from(env::var_os("WARP_TEST_CODEX").unwrap());
        sees(driver, &codex::Codex { program }, &["key-of-openai"]);
    });
}

#[test]
fn a_command_sees_the_login_of_the_client_that_it_starts() {
    for (name, starts, own) in [
        ("none", "true", &[][..]),
        ("codex", "true codex", &["login-of-codex"]),
        ("gemini", "true /opt/bin/gemini", &["login-of-gemini", "account-of-gemini"]),
        ("opencode", "true opencode", &["login-of-opencode", "key-of-opencode"]),
        ("two", "true claude || codex", &["login-of-claude", "login-of-codex"]),
    ] {
        let outside = || {
            let sandbox = project();
            write_logins(sandbox.home());
            let mut command = again(&sandbox);
            command.env("WARP_TEST_CASE", name);
            Some((sandbox, command))
        };
        drive("logins::a_command_sees_the_login_of_the_client_that_it_starts", outside, |driver| {
            if env::var("WARP_TEST_CASE").unwrap() != name {
                return;
            }
            // The line looks for all of them, and must not be taken to start what it looks for.
            let look = ["claude", "codex", "gemini", "opencode"]
                .iter()
                .fold(LOOK.to_owned(), |look, client| look.replace(client, &client.replacen('e', "''e", 1)));
            let line = format!("{starts}; {look}; echo '{{\"summary\":\"seen\"}}'");
            sees(driver, &command::Command { line }, own);
        });
    }
}
