//! `warp rdb`: whether a person who is away can be reached.

use std::fs;

use testkit::{
    Sandbox,
    telegram::{Fault, TOKEN, Telegram},
};

use super::{coding, json, sandbox};

const ANN: (i64, &str) = (501, "Ann");

fn config(sandbox: &Sandbox, text: &str) {
    fs::write(sandbox.home().join("config/warp/config.toml"), text).expect("the file can be written");
}

#[test]
fn a_bot_is_set_up_step_by_step_and_every_step_says_the_next() {
    let (sandbox, telegram) = (sandbox(), Telegram::start());
    let said = sandbox.warp(&["rdb", "on"]);
    assert_eq!(said.code, Some(78), "{said:?}");
    assert!(said.err.contains("[HOME]/config/warp/telegram-token"), "{said:?}");
    assert!(said.err.contains("docs/away.md says how a bot is made"), "{said:?}");
    let status = sandbox.warp_ok(&["rdb"]);
    assert!(status.starts_with("away mode     off (default)"), "nothing was changed: {status}");
    assert_eq!(sandbox.read(".claude/settings.local.json"), None);
    telegram.set_up(&sandbox, "none");
    let said = sandbox.warp_ok(&["rdb", "test"]);
    assert!(
        said.contains("the bot is @double_bot") && said.contains("nobody has written to it yet"),
        "{said}"
    );
    telegram.write(ANN, None, "/start");
    let said = sandbox.warp_ok(&["rdb", "test"]);
    assert!(said.contains("Ann has written to it from chat 501"), "{said}");
    assert!(
        said.contains("put `chats = \"501\"` under `[rdb]` in `[HOME]/config/warp/config.toml`"),
        "{said}"
    );
    assert!(telegram.sent().is_empty());
    telegram.set_up(&sandbox, "501");
    let said = sandbox.warp_ok(&["rdb", "test"]);
    assert!(said.contains("chat 501 has a message"), "{said}");
    assert_eq!(telegram.texts(501), ["[warp] test -- notices and decisions of demo come here"]);
    let said = sandbox.warp_ok(&["rdb", "on"]);
    assert!(said.contains("you are away"), "{said}");
}

#[test]
fn the_status_says_what_a_person_wants_to_know_before_they_leave() {
    let (sandbox, telegram) = (coding(), Telegram::start());
    assert_eq!(
        sandbox.warp_ok(&["rdb"]),
        "away mode     off (default)\nbot           cannot be used: there is no bot token; put it into \
         `[HOME]/config/warp/telegram-token`, or into WARP_TELEGRAM_TOKEN\n"
    );
    telegram.set_up(&sandbox, "501");
    sandbox.warp_ok(&["rdb", "on"]);
    sandbox.warp_ok(&["stop"]);
    telegram.until_sent("[warp-drive] aborted -- chunk 1/2 for #42 in demo");
    let status = sandbox.warp_ok(&["rdb", "status"]);
    assert!(status.contains("away mode     on (.claude/settings.local.json)"), "{status}");
    assert!(status.contains("bot           7001, its token is found\nchats         501\n"), "{status}");
    assert!(status.contains("last contact  [TIME]") && status.contains("listening     nobody"), "{status}");
    assert!(!status.contains(TOKEN) && !status.contains("double-token"), "{status}");
    let status = json(&sandbox.warp_ok(&["rdb", "status", "--json"]));
    assert_eq!(
        (&status["enabled"], &status["bot"], &status["chats"][0]),
        (&true.into(), &"7001".into(), &"501".into())
    );
    let said = sandbox.warp_ok(&["rdb", "off"]);
    assert!(said.contains("you are back"), "{said}");
    assert_eq!(json(&sandbox.warp_ok(&["rdb", "status", "--json"]))["enabled"], false);
}

#[test]
fn a_bot_that_cannot_be_reached_is_said_to_be_so_and_its_token_is_not_shown() {
    let (sandbox, telegram) = (coding(), Telegram::start());
    telegram.set_up(&sandbox, "501");
    sandbox.warp_ok(&["rdb", "on"]);
    telegram.fail("sendMessage", Fault::Lost);
    let said = sandbox.warp(&["rdb", "test"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("Telegram cannot be reached"), "{said:?}");
    telegram.block(501);
    let said = sandbox.warp(&["rdb", "test"]);
    assert!(said.err.contains("bot was blocked by the user"), "{said:?}");
    fs::write(sandbox.home().join("config/warp/telegram-token"), "7001:not-the-token-of-it")
        .expect("it is there");
    let said = sandbox.warp(&["rdb", "test"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.err.contains("does not accept the bot's token") && !said.err.contains("not-the-token"),
        "{said:?}"
    );
}

#[test]
fn neither_a_project_nor_an_agent_says_who_decides() {
    let (sandbox, telegram) = (coding(), Telegram::start());
    telegram.set_up(&sandbox, "501");
    sandbox.write("warp.toml", "[rdb]\nchats = \"666\"\n");
    let said = sandbox.warp(&["rdb", "status"]);
    assert_eq!(said.code, Some(78), "{said:?}");
    assert!(said.err.contains("`rdb.chats` is yours to set, not a project's"), "{said:?}");
    sandbox.write("warp.toml", "");
    config(&sandbox, "[rdb]\nchats = \"@ann\"\n");
    let said = sandbox.warp_ok(&["rdb", "status"]);
    assert!(said.contains("`@ann` is no chat id"), "{said}");
    for action in ["on", "off", "test"] {
        let mut command = sandbox.warp_command(&["rdb", action]);
        let output = command.env("CLAUDECODE", "1").output().expect("warp can be started");
        assert_eq!(output.status.code(), Some(2), "{action}: {output:?}");
    }
    let mut command = sandbox.warp_command(&["rdb", "status"]);
    assert_eq!(command.env("CLAUDECODE", "1").output().expect("warp can be started").status.code(), Some(0));
}
