//! `warp rdb`: whether a person who is away can be reached.

use std::fs;

use testkit::{
    Sandbox,
    telegram::{Fault, Telegram},
};

use super::{coding, json, sandbox};
use crate::support::InProject as _;

const ANN: (i64, &str) = (501, "Ann");

fn config(sandbox: &Sandbox, text: &str) {
    fs::write(sandbox.home().join("config/warp/config.toml"), text).expect("the file can be written");
}

#[test]
fn a_bot_is_set_up_step_by_step_and_every_step_says_the_next() {
    let (sandbox, telegram) = (sandbox(), Telegram::start());
    insta::assert_snapshot!(sandbox.refused(78, &["rdb", "on"]), @"
    error: there is no bot token; put it into `[HOME]/config/warp/telegram-token`, or into WARP_TELEGRAM_TOKEN
    hint: docs/away.md says how a bot is made
    ");
    insta::assert_snapshot!(sandbox.seen(&["rdb"]), @"
    away mode     off (default)
    bot           cannot be used: there is no bot token; put it into `[HOME]/config/warp/telegram-token`, or into WARP_TELEGRAM_TOKEN
    ");
    assert_eq!(sandbox.read(".claude/settings.local.json"), None);
    telegram.set_up(&sandbox, "none");
    insta::assert_snapshot!(sandbox.seen(&["rdb", "test"]), @"
    the bot is @double_bot
    nobody has written to it yet: send it a message, then `warp rdb test` again
    ");
    telegram.write(ANN, None, "/start");
    insta::assert_snapshot!(sandbox.seen(&["rdb", "test"]), @r#"
    the bot is @double_bot
    Ann has written to it from chat 501
    if that is you: put `chats = "501"` under `[rdb]` in `[HOME]/config/warp/config.toml`
    "#);
    assert!(telegram.sent().is_empty());
    telegram.set_up(&sandbox, "501");
    insta::assert_snapshot!(sandbox.seen(&["rdb", "test"]), @"
    the bot is @double_bot
    chat 501 has a message
    away mode is off: `warp rdb on` switches it on
    ");
    assert_eq!(telegram.texts(501), ["[warp] test -- notices and decisions of demo come here"]);
    insta::assert_snapshot!(sandbox.seen(&["rdb", "on"]), @"you are away: every phase is told and every decision asked in Telegram (chats 501)");
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
    insta::assert_snapshot!(sandbox.seen(&["rdb", "status"]), @"
    away mode     on (.claude/settings.local.json)
    bot           7001, its token is found
    chats         501
    last contact  [TIME]
    listening     nobody; a run does while it asks
    ");
    let status = json(&sandbox.warp_ok(&["rdb", "status", "--json"]));
    assert_eq!(
        (&status["enabled"], &status["bot"], &status["chats"][0]),
        (&true.into(), &"7001".into(), &"501".into())
    );
    insta::assert_snapshot!(sandbox.seen(&["rdb", "off"]), @"you are back: decisions are asked at the terminal");
    assert_eq!(json(&sandbox.warp_ok(&["rdb", "status", "--json"]))["enabled"], false);
}

#[test]
fn a_bot_that_cannot_be_reached_is_said_to_be_so_and_its_token_is_not_shown() {
    let (sandbox, telegram) = (coding(), Telegram::start());
    telegram.set_up(&sandbox, "501");
    sandbox.warp_ok(&["rdb", "on"]);
    telegram.fail("sendMessage", Fault::Lost);
    insta::assert_snapshot!(sandbox.refused(1, &["rdb", "test"]), @"error: Telegram cannot be reached: the connection broke");
    telegram.block(501);
    let said = sandbox.warp(&["rdb", "test"]);
    insta::assert_snapshot!(sandbox.stable(&said.err), @"error: Telegram says: Forbidden: bot was blocked by the user (403)");
    fs::write(sandbox.home().join("config/warp/telegram-token"), "7001:not-the-token-of-it")
        .expect("it is there");
    insta::assert_snapshot!(sandbox.refused(1, &["rdb", "test"]), @"error: Telegram does not accept the bot's token; look at it, then `warp rdb test`");
}

#[test]
fn neither_a_project_nor_an_agent_says_who_decides() {
    let (sandbox, telegram) = (coding(), Telegram::start());
    telegram.set_up(&sandbox, "501");
    sandbox.write("warp.toml", "[rdb]\nchats = \"666\"\n");
    insta::assert_snapshot!(sandbox.refused(78, &["rdb", "status"]), @"
    error: warp.toml: `rdb.chats` is yours to set, not a project's: it goes into `[HOME]/config/warp/config.toml`
    hint: docs/reference/settings.md lists every setting with its default
    ");
    sandbox.write("warp.toml", "");
    config(&sandbox, "[rdb]\nchats = \"@ann\"\n");
    insta::assert_snapshot!(sandbox.seen(&["rdb", "status"]), @"
    away mode     off (default)
    bot           cannot be used: `@ann` is no chat id; an id is a number, and a group's has a minus before it
    ");
    for action in ["on", "off", "test"] {
        let mut command = sandbox.warp_command(&["rdb", action]);
        let output = command.env("CLAUDECODE", "1").output().expect("warp can be started");
        assert_eq!(output.status.code(), Some(2), "{action}: {output:?}");
    }
    let mut command = sandbox.warp_command(&["rdb", "status"]);
    assert_eq!(command.env("CLAUDECODE", "1").output().expect("warp can be started").status.code(), Some(0));
}
